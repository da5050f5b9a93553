"""Expressions of Python kernels, compiled for known types of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from . import calls, types
from .arithmetic import sign_of
from .arrays import Arrays
from .body import Lines
from .c_text import bare
from .scope import MISSING, attribute, dtype_of, find_name, number_of
from .types import BOOL, INT64, WEAK_FLOAT, WEAK_INT
from .values import (
    Array,
    Number,
    Object,
    Tuple,
    Value,
    alike,
    boolean,
    constant,
    describe,
    filled,
    flat,
    known,
)

_Arms = tuple[list[Number], list[Number]]


class Expressions(Arrays):
    """Names, operators and conditions, in one function."""

    def _Constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            self.refuse(node, "a text: allowed in print, in assert, and as the name of a dtype")
        if node.value is ...:
            self.refuse(node, "'...': write an index for each dimension")
        return self.wrapped(node.value, node)

    def _Name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.origin.sites:
            if self.assigned is not None and name not in self.assigned:
                where = "on every path, before the loop or branch"
                self.refuse(node, f"{name} may have no value here: assign it {where}")
            return self.arguments[name] if (value := self.read(name)) is None else value
        value = find_name(self.function, name)
        if value is MISSING:
            self.refuse(node, f"{name}: no such name")
        return self.wrapped(value, node)

    def _Attribute(self, node: ast.Attribute) -> Value:
        base = self.raw(node.value)
        if base is not MISSING:
            found = attribute(base, node.attr)
            if found is MISSING:
                self.refuse(node, f"{ast.unparse(node)}: no such name")
            return self.wrapped(found, node)
        value = self.value(node.value)
        if isinstance(value, Array):
            return self.array_attribute(value, node.attr, node)
        number = number_of(value)
        if number is not None and node.attr in ("real", "imag"):
            return self.part(number, node.attr, node)
        self.refuse(node, f"{describe(value)} has no attribute {node.attr} in a kernel")

    def part(self, number: Number, name: str, node: ast.AST) -> Number:
        if number.constant and number.type.weak:
            return constant(getattr(number.value, name))
        weak, number = number.type.weak, self.strong(number, node)
        if number.type.kind == "complex":
            t = WEAK_FLOAT if weak else types.real_of(number.type)
            return Number(t, f"({number.text}).{name}")
        return number if name == "real" else self.cast(constant(0), number.type, node)

    def _Tuple(self, node: ast.Tuple) -> Value:
        return Tuple(self.many(node.elts))

    def _Call(self, node: ast.Call) -> Value:
        return calls.call(self, node)

    # Operators

    def _UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.negated(self.condition(node.operand))
        return self.unary(sign_of(node.op), self.number(node.operand), node)

    def negated(self, number: Number) -> Number:
        return constant(not number.value) if number.constant else boolean(f"(!{number.text})")

    def _BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.many([node.left, node.right])
        if isinstance(a, Tuple) and isinstance(b, Tuple) and isinstance(node.op, ast.Add):
            return Tuple([*a.items, *b.items])
        first, second = self.as_number(a, node.left), self.as_number(b, node.right)
        return self.binary(sign_of(node.op), first, second, node)

    def condition(self, node: ast.expr) -> Number:
        """The truth of an expression."""
        if isinstance(node, ast.BoolOp):
            return self._logic(node, self.condition)
        value = self.value(node)
        if isinstance(value, Tuple):
            return constant(bool(value.items))
        if isinstance(value, Object) and value.value is None:
            return constant(False)
        return self.truth(self.as_number(value, node), node)

    def _BoolOp(self, node: ast.BoolOp) -> Value:
        return self._logic(node, self.number)

    def _logic(self, node: ast.BoolOp, read: Callable[[ast.expr], Number]) -> Number:
        """and, or: the value of the operand that decides."""
        both = isinstance(node.op, ast.And)
        result = read(node.values[0])
        for operand in node.values[1:]:
            result = self.short(result)
            truth = self.truth(result, node)
            if truth.constant:
                result = read(operand) if truth.value == both else result
                continue
            if result.type != BOOL:
                result = self.temp(result)
                truth = self.truth(result, node)
            other, lines = self.captured(read, operand)
            if not lines and result.type == other.type == BOOL:
                text = str(int(other.value)) if other.constant else other.text
                result = boolean(f"({truth.text} {'&&' if both else '||'} {text})")
                continue
            arms, blocks = (([other], [result]), (lines, [])) if both else (([result], [other]), ([], lines))
            (result,) = self._either(truth, arms, blocks, node)
        return result

    def _either(self, test: Number, arms: _Arms, blocks: Sequence[Lines], node: ast.AST) -> list[Number]:
        """The numbers of arms[0] if test else those of arms[1], after the statements that each arm needs."""
        if not any(blocks):
            return [self.choose(test, a, b, node) for a, b in zip(*arms, strict=True)]
        found = []
        for a, b in zip(*arms, strict=True):
            t = self.shared_type(a, b, node)
            found.append(known(INT64 if t == WEAK_INT else t, self.fresh("v")))
            self.emit(f"{self.c_type(t)} {found[-1].text};")
        heads = (f"if ({bare(test.text)}) {{", "} else {")
        for head, numbers, lines in zip(heads, arms, blocks, strict=True):
            self.emit(head)
            self.out += lines
            for number, place in zip(numbers, found, strict=True):
                target = types.strong(place.type, self.real)
                self.emit(f"{place.text} = {bare(self.cast(number, target, node).text)};")
        self.emit("}")
        return found

    def _IfExp(self, node: ast.IfExp) -> Value:
        test = self.condition(node.test)
        if test.constant:
            return self.value(node.body if test.value else node.orelse)
        test = self.temp(test)
        a, first = self.captured(self.value, node.body)
        b, second = self.captured(self.value, node.orelse)
        if isinstance(a, Tuple) != isinstance(b, Tuple) or (isinstance(a, Tuple) and not alike(a, b)):
            self.refuse(node, f"{describe(a)} or {describe(b)}: numbers, or tuples of as many, are allowed")
        arms = ([self.as_number(leaf, node.body) for leaf in flat(a)],
                [self.as_number(leaf, node.orelse) for leaf in flat(b)])  # fmt: skip
        return filled(a, iter(self._either(test, arms, (first, second), node)))

    # Comparisons

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
        rest, lines = self.captured(lambda _: self._chain(node, k + 1, right), node)
        if lines:
            return self._either(test, ([rest], [constant(False)]), (lines, []), node)[0]
        return self._both(test, rest)

    def _both(self, test: Number, other: Number) -> Number:
        """Whether both hold, of truths that emit nothing."""
        for one, rest in ((test, other), (other, test)):
            if one.constant:
                return rest if one.value else one
        return boolean(f"({test.text} && {other.text})")

    def _compared(self, operator: ast.cmpop, left: Value, right: Value, node: ast.AST) -> Number:
        a, b = number_of(left), number_of(right)
        if isinstance(operator, (ast.Is, ast.IsNot)):
            nones = [isinstance(v, Object) and v.value is None for v in (left, right)]
            return constant(all(nones) == isinstance(operator, ast.Is))
        if a is not None and b is not None:
            return self.compare(sign_of(operator), a, b, node)
        test = None
        if isinstance(operator, (ast.Eq, ast.NotEq)):
            test = self._equal(left, right, node)
        if test is None:
            sign = sign_of(operator)
            self.refuse(node, f"{describe(left)} {sign} {describe(right)}: numbers are compared")
        return test if isinstance(operator, ast.Eq) else self.negated(test)

    def _equal(self, left: Value, right: Value, node: ast.AST) -> Number | None:
        """Of objects, such as dtypes, and of tuples; None: they cannot be compared."""
        if isinstance(left, Object) and isinstance(right, Object):
            one, other = (dtype_of(v.value) or v.value for v in (left, right))
            try:
                return constant(bool(one == other))
            except Exception:
                return None
        if not (isinstance(left, Tuple) and isinstance(right, Tuple)):
            return None
        test = constant(len(left.items) == len(right.items))
        if test.value:
            for x, y in zip(left.items, right.items, strict=True):
                test = self._both(test, self._compared(ast.Eq(), x, y, node))
        return test
