"""Expressions of Python kernels, compiled for known types of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import BuildError
from . import calls, functions, types
from .arithmetic import Arithmetic, sign_of
from .scope import MISSING, Scope, attribute, get, number_of, wrap
from .types import BOOL, INT64, UINT64, WEAK_FLOAT, WEAK_INT, Type, c_name, promote
from .values import Array, Number, Object, Tuple, Value, alike, constant, describe, filled, flat, known, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .program import Unit
    from .source import Origin

_FILE = 150  # bytes of a file's name that errors show
_LONG = 300  # characters of an expression, from which on it gets a name


class Variable:
    """A local variable: its type is the promotion of all that is assigned to it."""

    def __init__(self, name: str, number: Number, node: ast.AST) -> None:
        self.name, self.node = name, node
        self.type, self.bits, self.positive = number.type, number.bits, number.positive
        self.grown = 0


class Body:
    """One function, for one set of argument types. statements.py has its statements.

    It is compiled several times, until the types of its variables do not change.
    """

    def __init__(
        self, program: Unit, function: FunctionType, origin: Origin, values: dict[str, Value]
    ) -> None:
        self.program, self.origin, self.function = program, origin, function
        self.scope = Scope(function)
        self.arguments = values
        self.variables: dict[str, Variable] = {}
        self.changed = False
        self.arith = Arithmetic(program.real, self.refuse, self.need, self.temp, self.fail_if)
        self._effects: dict[int, bool] = {}
        self.line = origin.first
        self.reset()

    def reset(self) -> None:
        """Before each compilation."""
        self.out: list[tuple[int, str]] = []
        self.static: dict[str, Value] = {}
        self.count = 0
        self.arrays: list[tuple[bool, str, str, int]] = []  # local or private, element, name, length
        self.called: list[Any] = []
        self.needed: set[tuple[str, Type]] = set()
        self.ok = ""  # in checked kernels, the name of the test of the last place

    def refuse(self, node: ast.AST, text: str, kind: Any = None) -> NoReturn:
        if kind is not None:
            self.origin.refuse(node, text, kind)
        self.origin.refuse(node, text)

    # Output

    def emit(self, text: str) -> None:
        self.out.append((self.line, text))

    def fresh(self, stem: str) -> str:
        self.count += 1
        return self.program.names.make(f"{stem}{self.count}", (self, "fresh"))

    def need(self, part: str, number: Type) -> str:
        """The name of a function in front of the program."""
        part = f"{part}_real" if number.kind == "float" and part in ("floordiv", "mod") else part
        self.needed.add((part, number))
        return f"usm_{part}_{c_name(number)}"

    def temp(self, number: Number, copy: bool = False) -> Number:
        """The number with a name, so that it may be written twice; a copy: it does not change later."""
        if number.constant or (number.simple and not copy):
            return number
        name = self.fresh("t")
        self.emit(f"const {self.c_type(number.type)} {name} = {_bare(number.text)};")
        return Number(number.type, name, None, number.bits, number.positive, number.origin)

    def c_type(self, number: Type) -> str:
        if number.weak:
            number = self.arith.strong(Number(number, "", 0), self.origin.tree).type
        return c_name(number)

    def variable_of(self, number: Type, text: str) -> str:
        name = self.fresh("v")
        self.emit(f"{self.c_type(number)} {name} = {_bare(text)};")
        return name

    @contextmanager
    def captured(self) -> Iterator[list[tuple[int, str]]]:
        """What is emitted within, apart."""
        kept, self.out = self.out, []
        inner = self.out
        try:
            yield inner
        finally:
            self.out = kept

    # Values

    def value(self, node: ast.expr) -> Value:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, f"{type(node).__name__}: not in the language of kernels")
        found: Value = method(node)
        return self.short(found) if isinstance(found, Number) else found

    def short(self, number: Number) -> Number:
        """The number, with a name if its text is long: compilers limit how deep brackets are nested."""
        return self.temp(number) if len(number.text) > _LONG else number

    def number(self, node: ast.expr) -> Number:
        return self.as_number(self.value(node), node)

    def as_number(self, value: Value, node: ast.AST) -> Number:
        number = number_of(value)
        if number is None:
            hint = ": write x[()]" if isinstance(value, Array) and not value.ndim else ": write x[i]"
            hint = hint if isinstance(value, Array) else ""
            self.refuse(node, f"{describe(value)} where a number is allowed{hint}")
        return number

    def has_effects(self, node: ast.AST) -> bool:
        """Whether evaluating it may change what other expressions read."""
        found = self._effects.get(id(node))
        if found is None:
            found = False
            for inner in ast.walk(node):
                if isinstance(inner, ast.Call) and not found:
                    function = self.raw(inner.func)
                    if function is MISSING or functions.find(function) or calls.dtype_of(function):
                        found = get(function, "__name__") == "print"
                    else:
                        found = not (_hashable(function) and function in calls.API - calls.EFFECTS)
            self._effects[id(node)] = found
        return found

    def many(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Values from left to right: what is read before a call is not changed by it."""
        values: list[Value] = []
        for k, node in enumerate(nodes):
            value = self.value(node)
            if any(self.has_effects(later) for later in nodes[k + 1 :]):
                value = self.frozen(value)
            values.append(value)
        return values

    def frozen(self, value: Value, copy: bool = False) -> Value:
        """The value, which nothing that comes later changes; a copy: assignments neither."""
        if isinstance(value, Tuple):
            return Tuple([self.frozen(item, copy) for item in value.items])
        return self.temp(value, copy) if isinstance(value, Number) else value

    def elements(self, node: ast.expr) -> list[ast.expr] | None:
        return node.elts if isinstance(node, ast.Tuple) else None

    def raw(self, node: ast.expr) -> Any:
        """The Python object of a dotted name that is not of the function's own; else MISSING."""
        if isinstance(node, ast.Name):
            if node.id in self.origin.sites:
                static = self.static.get(node.id, self.arguments.get(node.id))
                return static.value if isinstance(static, Object) else MISSING
            return self.scope.find(node.id)
        if isinstance(node, ast.Attribute):
            base = self.raw(node.value)
            return MISSING if base is MISSING else attribute(base, node.attr)
        return MISSING

    def text_or_value(self, node: ast.expr) -> Value:
        """A text, which is allowed in a few places, or any other value."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Object(node.value)
        return self.value(node)

    def wrapped(self, value: Any, node: ast.AST) -> Value:
        found = wrap(value)
        if isinstance(found, str):
            self.refuse(node, found)
        return found

    def _Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            self.refuse(node, "a text: allowed in print, in assert, and as the name of a dtype")
        if node.value is ...:
            self.refuse(node, "'...': write an index for each dimension")
        return self.wrapped(node.value, node)

    def _Name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.origin.sites:
            self.check_assigned(name, node)
            if name in self.static:
                return self.static[name]
            if name in self.variables:
                v = self.variables[name]
                return Number(v.type, v.name, None, v.bits, v.positive)
            return self.arguments[name]
        value = self.scope.find(name)
        if value is MISSING:
            self.refuse(node, f"{name}: no such name")
        return self.wrapped(value, node)

    def check_assigned(self, name: str, node: ast.AST) -> None:
        raise NotImplementedError

    def _Attribute(self, node: ast.Attribute) -> Value:
        base = self.raw(node.value)
        if base is not MISSING:
            found = attribute(base, node.attr)
            if found is MISSING:
                self.refuse(node, f"{ast.unparse(node)}: no such name")
            return self.wrapped(found, node)
        value = self.value(node.value)
        if isinstance(value, Array):
            return self._array_attribute(value, node)
        number = number_of(value)
        if number is not None and node.attr in ("real", "imag"):
            return self.part(number, node.attr, node)
        self.refuse(node, f"{describe(value)} has no attribute {node.attr} in a kernel")

    def _array_attribute(self, array: Array, node: ast.Attribute) -> Value:
        if node.attr == "ndim":
            return constant(array.ndim)
        if node.attr == "shape":
            return Tuple([array.extent(axis) for axis in range(array.ndim)])
        if node.attr == "strides":
            return Tuple([self._stride(array, axis, node) for axis in range(array.ndim)])
        if node.attr == "size":
            count = constant(1, INT64)
            for axis in range(array.ndim):
                count = (
                    self.arith.binary("*", count, array.extent(axis), node) if axis else array.extent(axis)
                )
            return Number(INT64, count.text, count.value, count.bits, True)
        if node.attr == "dtype":
            import usmpy

            return Object(getattr(usmpy, array.element))
        self.refuse(node, f"arrays have shape, strides, size, ndim and dtype in a kernel, not {node.attr}")

    def _stride(self, array: Array, axis: int, node: ast.AST) -> Number:
        """In elements, as USMArray.strides."""
        if not array.contiguous:
            return known(INT64, array.stride(axis))
        stride = constant(1, INT64)
        for inner in range(axis + 1, array.ndim):
            stride = self.arith.binary("*", stride, array.extent(inner), node)
        return stride

    def part(self, number: Number, name: str, node: ast.AST) -> Number:
        if number.constant and number.type.weak:
            return constant(getattr(number.value, name))
        weak, number = number.type.weak, self.arith.strong(number, node)
        if number.type.kind == "complex":
            t = WEAK_FLOAT if weak else types.real_of(number.type)
            return Number(t, f"({number.text}).{name}")
        return number if name == "real" else self.arith.cast(constant(0), number.type, node)

    def _Tuple(self, node: ast.Tuple) -> Value:
        return Tuple(self.many(node.elts))

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.negated(self.condition(node.operand))
        return self.arith.unary(sign_of(node.op), self.number(node.operand), node)

    def negated(self, number: Number) -> Number:
        if number.constant:
            return constant(not number.value)
        return Number(BOOL, f"(!{number.text})", None, 1, True)

    def _BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.many([node.left, node.right])
        if isinstance(a, Tuple) and isinstance(b, Tuple) and isinstance(node.op, ast.Add):
            return Tuple([*a.items, *b.items])
        return self.arith.binary(
            sign_of(node.op), self.as_number(a, node.left), self.as_number(b, node.right), node
        )

    def condition(self, node: ast.expr) -> Number:
        """The truth of an expression."""
        if isinstance(node, ast.BoolOp):
            return self._logic(node, self.condition)
        value = self.value(node)
        if isinstance(value, Tuple):
            return constant(bool(value.items))
        if isinstance(value, Object) and value.value is None:
            return constant(False)
        return self.arith.truth(self.as_number(value, node), node)

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        return self._logic(node, self.number)

    def _logic(self, node: ast.BoolOp, read: Callable[[ast.expr], Number]) -> Number:
        """and, or: the value of the operand that decides."""
        both = isinstance(node.op, ast.And)
        result = read(node.values[0])
        for operand in node.values[1:]:
            result = self.short(result)
            truth = self.arith.truth(result, node)
            if truth.constant:
                result = read(operand) if truth.value == both else result
                continue
            if result.type != BOOL:
                result = self.temp(result)
                truth = self.arith.truth(result, node)
            with self.captured() as lines:
                other = read(operand)
            if not lines and result.type == other.type == BOOL:
                text = str(int(other.value)) if other.constant else other.text
                result = Number(BOOL, f"({truth.text} {'&&' if both else '||'} {text})", None, 1, True)
                continue
            arms, blocks = (([other], [result]), (lines, [])) if both else (([result], [other]), ([], lines))
            (result,) = self._either(truth, arms, blocks, node)
        return result

    def choose(self, test: Number, a: Number, b: Number, node: ast.AST) -> Number:
        """a if test else b, of numbers that emit nothing."""
        t = self._shared_type(a, b, node)
        if test.constant:
            return (
                self.arith.cast(a if test.value else b, t, node) if not t.weak else (a if test.value else b)
            )
        target = self.arith.strong(Number(t, "", 0), node).type if t.weak else t
        texts = [self.arith.cast(n, target, node).text for n in (a, b)]
        bits, positive = max(a.bits, b.bits), a.positive and b.positive
        result = WEAK_INT if t == WEAK_INT else t
        if result == WEAK_INT:
            result = INT64
        return Number(result, f"({test.text} ? {texts[0]} : {texts[1]})", None, bits, positive)

    def _shared_type(self, a: Number, b: Number, node: ast.AST) -> Type:
        t = promote(a.type, b.type, self.arith.real)
        if t is None:
            self.refuse(
                node, f"{describe(a)} or {describe(b)}: no common type; cast one, such as usmpy.int64(...)"
            )
        return t

    def _either(
        self, test: Number, arms: tuple[list[Number], list[Number]], blocks: Sequence[Any], node: ast.AST
    ) -> list[Number]:
        """The numbers of arms[0] if test else those of arms[1], after the statements that each arm needs."""
        if not any(blocks):
            return [self.choose(test, a, b, node) for a, b in zip(*arms, strict=True)]
        found = []
        for a, b in zip(*arms, strict=True):
            t = self._shared_type(a, b, node)
            found.append(known(INT64 if t == WEAK_INT else t, self.fresh("v")))
            self.emit(f"{self.c_type(t)} {found[-1].text};")
        for k, (numbers, lines) in enumerate(zip(arms, blocks, strict=True)):
            self.emit("} else {" if k else f"if ({_bare(test.text)}) {{")
            self.out += lines
            for number, place in zip(numbers, found, strict=True):
                target = self.arith.strong(place, node).type
                self.emit(f"{place.text} = {_bare(self.arith.cast(number, target, node).text)};")
        self.emit("}")
        return found

    def _IfExp(self, node: ast.IfExp) -> Value:
        test = self.condition(node.test)
        if test.constant:
            return self.value(node.body if test.value else node.orelse)
        test = self.temp(test)
        values: list[Value] = []
        blocks: list[list[tuple[int, str]]] = []
        for arm in (node.body, node.orelse):
            with self.captured() as lines:
                values.append(self.value(arm))
            blocks.append(lines)
        a, b = values
        if isinstance(a, Tuple) != isinstance(b, Tuple) or (isinstance(a, Tuple) and not alike(a, b)):
            self.refuse(node, f"{describe(a)} or {describe(b)}: numbers, or tuples of as many, are allowed")
        first = [self.as_number(leaf, node.body) for leaf in flat(a)]
        second = [self.as_number(leaf, node.orelse) for leaf in flat(b)]
        return filled(a, iter(self._either(test, (first, second), blocks, node)))

    def _Compare(self, node: ast.Compare) -> Value:
        return self._chain(node, 0, self.value(node.left))

    def _chain(self, node: ast.Compare, k: int, left: Value) -> Number:
        """The comparisons from the k-th on; an operand is read if all before it hold."""
        if self.has_effects(node.comparators[k]):
            left = self.frozen(left)
        right = self.text_or_value(node.comparators[k])
        last = k + 1 == len(node.ops)
        right = right if last else self.frozen(right)
        test = self._compared(node.ops[k], left, right, node)
        if last or (test.constant and not test.value):
            return test
        if test.constant:
            return self._chain(node, k + 1, right)
        with self.captured() as lines:
            rest = self._chain(node, k + 1, right)
        if lines:
            return self._either(test, ([rest], [constant(False)]), (lines, []), node)[0]
        if rest.constant:
            return test if rest.value else rest
        return Number(BOOL, f"({test.text} && {rest.text})", None, 1, True)

    def _compared(self, operator: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Number:
        a, b = number_of(left), number_of(right)
        if isinstance(operator, (ast.Is, ast.IsNot)):
            nones = [isinstance(v, Object) and v.value is None for v in (left, right)]
            return constant(all(nones) == isinstance(operator, ast.Is))
        if a is not None and b is not None:
            return self.arith.compare(sign_of(operator), a, b, node)
        equal = isinstance(operator, (ast.Eq, ast.NotEq))
        if equal and isinstance(left, Object) and isinstance(right, Object):
            one, other = (calls.dtype_of(v.value) or v.value for v in (left, right))
            try:
                return constant(bool(one == other) == isinstance(operator, ast.Eq))
            except Exception:
                pass
        if equal and isinstance(left, Tuple) and isinstance(right, Tuple):
            test = constant(len(left.items) == len(right.items))
            if test.value:
                for x, y in zip(left.items, right.items, strict=True):
                    one = self._compared(ast.Eq(), x, y, node)
                    test = one if test.constant and test.value else test
                    if one is not test and not (one.constant and one.value):
                        test = (
                            one
                            if one.constant
                            else Number(BOOL, f"({test.text} && {one.text})", None, 1, True)
                        )
            return test if isinstance(operator, ast.Eq) else self.negated(test)
        self.refuse(node, f"{describe(left)} {sign_of(operator)} {describe(right)}: numbers are compared")

    # Calls

    def _Call(self, node: ast.Call) -> Value:
        function = self.raw(node.func)
        is_method = isinstance(node.func, ast.Attribute) and function is MISSING
        if is_method and isinstance(node.func, ast.Attribute) and node.func.attr in ("conjugate", "conj"):
            return calls.apply(self, "conj", [self.number(node.func.value)], node, "conj")
        if function is MISSING:
            if isinstance(node.func, ast.Name) and node.func.id not in self.origin.sites:
                self.refuse(node.func, f"{node.func.id}: no such name")
            value = self._Attribute(node.func) if isinstance(node.func, ast.Attribute) else None
            if not isinstance(value, Object):  # x.dtype is one
                self.refuse(node.func, f"{ast.unparse(node.func)} is no function of this kernel")
            function = value.value
        found: Value | None = calls.call(self, function, node)
        return self._call_python(function, node) if found is None else found

    def _call_python(self, function: Any, node: ast.Call) -> Value:
        """A call of a Python function or of another kernel, which is compiled for these arguments."""
        shown = ast.unparse(node.func)
        if isinstance(function, MethodType):
            self.refuse(node.func, f"{shown} is a method, which has an object: use @staticmethod")
        from .library import FUNCTIONS

        own = FUNCTIONS.get(function) if _hashable(function) else None
        wrapped = get(function, "__wrapped__")  # a kernel, or what a decorator made
        function = own or (function if wrapped is MISSING else wrapped)
        package = str(get(function, "__module__")).partition(".")[0]
        if not isinstance(function, FunctionType) or (package in ("numpy", "usmpy") and own is None):
            self.refuse(
                node.func,
                f"{shown}: kernels call Python functions, and those that docs/python-kernels.md names",
            )
        values = self.many([*node.args, *[keyword.value for keyword in node.keywords]])
        names = [keyword.arg or "" for keyword in node.keywords]
        taken = self.program.bind(function, values, names, node, self)
        try:
            return self.call_helper(function, taken, node)
        except BuildError:
            if own is None:
                raise
            given = " and ".join(map(describe, values))
            self.refuse(node, f"{shown} of {given}: not for these types")

    def call_helper(self, function: FunctionType, values: dict[str, Value], node: ast.Call) -> Value:
        raise NotImplementedError

    # Arrays

    def _Subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        if isinstance(value, Tuple):
            if self.has_effects(node.slice):
                value = Tuple([self.frozen(item) for item in value.items])
            return self._item(value, node)
        if not isinstance(value, Array):
            self.refuse(node.value, f"{describe(value)} has no elements")
        indices = self.indices(node.slice)
        if len(indices) < value.ndim:
            return self._row(value, indices, node)
        offset = self.offset(value, indices, node, False)
        return self.load(value, offset)

    def _item(self, value: Tuple, node: ast.Subscript) -> Value:
        index, n = self.number(node.slice), len(value.items)
        if not index.type.whole:
            self.refuse(node.slice, f"{describe(index)} as the index of a tuple: an integer is allowed")
        if index.constant:
            if not -n <= index.value < n:
                self.refuse(node.slice, f"index {index.value} of a tuple of {n}")
            item: Value = value.items[index.value]
            return item
        if not n:
            self.refuse(node, "an empty tuple has no items")
        index = self.temp(self.arith.strong(index, node))
        numbers = [self.as_number(item, node) for item in value.items]
        if self.program.checked:
            self.emit(f"{self.in_range(index, constant(n, INT64), 0, 'the tuple', node)};")
        result = numbers[-1]
        for k in range(n - 2, -1, -1):
            result = self.choose(Number(BOOL, f"({index.text} == {k})"), numbers[k], self.short(result), node)
        return result

    def indices(self, node: ast.expr) -> list[Number]:
        values = self.many(node.elts) if isinstance(node, ast.Tuple) else [self.value(node)]
        if len(values) == 1 and isinstance(values[0], Tuple):
            values = list(values[0].items)
        found = []
        for value in values:
            number = self.as_number(value, node)
            if not number.type.whole:
                self.refuse(node, f"{describe(number)} as an index: integers are allowed")
            found.append(number)
        return found

    def offset(self, array: Array, indices: list[Number], node: ast.AST, whole: bool = True) -> str:
        """The element's number from the pointer on."""
        if len(indices) > array.ndim or (whole and len(indices) < array.ndim):
            dimensions = f"{array.ndim} dimension{'s' * (array.ndim != 1)}"
            given = f"{len(indices)} ind{'ices were' if len(indices) != 1 else 'ex was'} given"
            self.refuse(node, f"{array.name} has {dimensions}, {given}")
        texts, tests = [], []
        for axis, index in enumerate(indices):
            extent, given = array.extents[axis], index.value
            if index.constant and index.value < 0 and extent is not None and extent.constant:
                index = constant(index.value + extent.value, INT64)
            elif index.constant and index.value < 0:
                index = self.arith.binary("+", array.extent(axis), constant(index.value), node)
            n = extent.value if extent is not None else None
            if index.constant and n is not None and not 0 <= index.value < n:
                self.refuse(node, f"index {given} of {array.name}, whose axis {axis} has {n}")
            number = self.arith.cast(index, INT64, node) if index.type != UINT64 else index
            text = number.text if number.type == INT64 else f"((long){number.text})"
            if self.program.checked:
                number = self.temp(Number(INT64, text, number.value))
                text = number.text
                tests.append(self.in_range(number, array.extent(axis), axis, array.name, node))
            texts.append(text)
        if self.program.checked:
            self.ok = self.fresh("ok")
            self.emit(f"const bool {self.ok} = {' & '.join(tests) or '1'};")
        return self._sum(array, texts)

    def _sum(self, array: Array, texts: list[str]) -> str:
        terms = [array.offset] if array.offset else []
        if array.contiguous:
            found = ""
            for axis in range(array.ndim):
                part = texts[axis] if axis < len(texts) else ""
                if found:
                    scaled = f"({found})" if " " in found else found
                    part = f"{scaled} * {array.extent(axis).text}" + (f" + {part}" if part else "")
                found = part
            terms += [found] if found else []
        else:
            terms += [f"{text} * {array.stride(axis)}" for axis, text in enumerate(texts)]
        return " + ".join(terms) or "0"

    def in_range(self, index: Number, extent: Number, axis: int, name: str, node: ast.AST) -> str:
        """In a checked kernel, a test that keeps the first failure."""
        number = f"{index.text}, (ulong){extent.text}, {axis}"
        return f"usm_ck_in(usm_ck, {number}, {self.origin.line(node)}, {self.where(name)})"

    def fail_if(self, node: ast.AST, test: str) -> None:
        """In a checked kernel, keeps a division by zero."""
        if self.program.checked:
            self.fail(test, 2, self.origin.line(node))

    def fail(self, test: str, reason: int, line: int, words: str = "") -> None:
        self.emit(f"if ({test}) usm_ck_fail(usm_ck, {reason}, -1, 0, 0, 0, {line}, {self.where(words)});")

    def _row(self, array: Array, indices: list[Number], node: ast.AST) -> Array:
        offset = self.temp(Number(INT64, self.offset(array, indices, node, False))).text
        n, extents = len(indices), array.extents[len(indices) :]
        if self.program.checked:  # a row that does not exist has no elements
            kept = [array.extent(axis).text for axis in range(n, array.ndim)]
            extents = tuple(self.temp(size(f"({self.ok} ? {text} : 0)")) for text in kept)
        return Array(
            *(array.name, array.element, array.pointer, array.space, extents),
            *(array.contiguous, array.parameter, array.first + n, offset),
        )

    def place(self, array: Array, index_node: ast.expr, node: ast.AST) -> str:
        """An element to write to."""
        offset = self.offset(array, self.indices(index_node), node)
        if array.parameter is not None:
            array.parameter.written = True
        return f"{array.pointer}[{offset}]"

    def load(self, array: Array, offset: str) -> Number:
        t = types.ELEMENTS[array.element]
        text = f"{array.pointer}[{offset}]"
        if array.element == "bool":
            text = f"({text} != 0)"
        elif array.element == "float16":
            text = f"vload_half({offset}, {array.pointer})"
        elif array.element == "bfloat16":
            text = f"as_float((uint){text} << 16)"
        if self.program.checked:
            zero = types.literal(0, t)
            return self.temp(known(t, f"({self.ok} ? {text} : {zero})"))
        return known(t, text)

    def kept(self, number: Number) -> Number:
        """The result of a call with an effect, at once."""
        if self.program.checked:
            number.text = f"({self.ok} ? {number.text} : {types.literal(0, number.type)})"
        return self.temp(number, copy=True)

    def guarded(self, statement: str) -> None:
        self.emit(f"if ({self.ok}) {{ {statement} }}" if self.program.checked else statement)

    def declare_array(self, local: bool, element: str, extents: list[int]) -> Array:
        name = self.fresh("local" if local else "private")
        length = 1
        for extent in extents:
            length *= extent
        self.arrays.append((local, element, name, length))
        sizes = tuple(constant(extent, INT64) for extent in extents)
        shown = "the local array" if local else "the private array"
        pointer = f"(({'local ' * local}half *){name})" if element == "float16" else name
        return Array(shown, element, pointer, "local" if local else "private", sizes, True)

    def print(self, node: ast.Call) -> Value:
        raise NotImplementedError

    def where(self, words: str) -> str:
        """The last argument of usm_ck_fail: what is wrong, and the file. The record keeps 255 bytes of it."""
        file = self.origin.filename.replace("|", " ").encode()[-_FILE:].decode(errors="ignore")
        words = words.encode(errors="replace")[: 254 - len(file.encode())].decode(errors="ignore")
        return types.quoted(f"{words}|{file}".replace("\n", " ").replace("\0", " "))

    def wait(self, barrier: bool, text: str, node: ast.AST) -> None:
        raise NotImplementedError


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:
        return False
    return True


def _bare(text: str) -> str:
    """Without parentheses around all of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 else text
    return text
