"""Statements of Python kernels: assignments, branches, loops, and which names have a value where."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field, replace
from types import FunctionType

from . import types
from .arithmetic import sign_of
from .body import Body, Variable, _bare
from .types import FLOAT32, INT64, WEAK_INT, promote, quoted
from .values import UNKNOWN, Array, Number, Object, Tuple, Value, alike, constant, describe, flat, known


@dataclass
class _Loop:
    before: str = ""  # of an unrolled loop, the label behind this round
    behind: str = ""  # and that behind the loop
    leave: list[set[str]] = field(default_factory=list)  # the names that have a value at each break
    again: list[set[str]] = field(default_factory=list)
    jumped: bool = False


class Function(Body):
    """A function: its statements, compiled until the types are stable."""

    is_kernel = False

    def reset(self) -> None:
        super().reset()
        self.assigned: set[str] | None = set(self.arguments)  # None: no way leads here
        self.loops: list[_Loop] = []
        self.returns = False  # on one way at least
        self.result: Value | None = None
        self.waits = False

    def compile(self) -> None:
        while True:
            self.changed = False
            self.reset()
            for name, value in self.arguments.items():
                if self.origin.sites[name] > 1 and isinstance(value, (Number, Tuple)):
                    self.assign_name(name, value, self.origin.tree)
            try:
                self.block(self.origin.tree.body)
            except RecursionError:
                self.refuse(self.origin.tree, "is nested too deeply: give parts of long expressions a name")
            if self.assigned is not None and self.returns and self.result is not None:
                self.refuse(self.origin.tree, "returns a value on some paths, and nothing at its end")
            if not self.changed and not self._settle():
                return

    def _settle(self) -> bool:
        """Python ints that met nothing are int64. Whether there was one."""
        found = False
        for variable in self.variables.values():
            if variable.type == WEAK_INT:
                variable.type, found = INT64, True
        return found

    # Names

    def check_assigned(self, name: str, node: ast.AST) -> None:
        if self.assigned is not None and name not in self.assigned:
            self.refuse(
                node,
                f"{name} may have no value here: assign it on every path, before the loop or branch",
            )

    def assign_name(self, name: str, value: Value, node: ast.AST) -> None:
        root = name.partition(".")[0]
        single = self.origin.sites.get(root, 2) == 1
        if isinstance(value, Tuple):
            for k, item in enumerate(value.items):
                self.assign_name(f"{name}.{k}", item, node)
            read = [self._read(f"{name}.{k}") for k in range(len(value.items))]
            self._keep(name, Tuple(read), node, single)
        elif not isinstance(value, Number) or (value.constant and single):
            if isinstance(value, Array) and value.offset:  # a row: the name keeps its place
                sizes = enumerate(value.extents)
                value = replace(
                    value,
                    offset=self._variable(f"{name}.place", known(INT64, value.offset), node).text,
                    extents=tuple(
                        n if n is None or n.constant else self._variable(f"{name}.n{k}", n, node)
                        for k, n in sizes
                    ),
                )
            self._keep(name, value, node, single)
        else:
            if self.static.pop(name, None) is not None and not single:
                self.refuse(node, f"{root} was something else before, and is {describe(value)} here: use "
                                  "another name")  # fmt: skip
            self._variable(name, value, node)
        if self.assigned is not None:
            self.assigned.add(name)

    def _keep(self, name: str, value: Value, node: ast.AST, single: bool) -> None:
        """A name for what is no variable in C. Each round of an unrolled loop may give it another meaning."""
        old = self.static.get(name)
        if not single and (name in self.variables or (old is not None and not alike(old, value))):
            self.refuse(node, f"{name} was something else before, and is {describe(value)} here: use another "
                              "name")  # fmt: skip
        self.static[name] = value

    def _read(self, name: str) -> Value:
        if name in self.static:
            return self.static[name]
        v = self.variables[name]
        return Number(v.type, v.name, None, v.bits, v.positive)

    def _variable(self, name: str, value: Number, node: ast.AST) -> Number:
        text = self._assign_variable(name, value, node)
        v = self.variables[name]
        self.emit(f"{v.name} = {text};")
        return Number(v.type, v.name, None, v.bits, v.positive)

    def _assign_variable(self, name: str, value: Number, node: ast.AST) -> str:
        """Widens the variable's type; the text to assign."""
        found = self.variables.get(name)
        if found is None:
            stem = name.replace(".", "_")
            found = self.variables[name] = Variable(self.program.names.make(stem, self), value, node)
            self.changed = True
        t = promote(found.type, value.type, self.arith.real)
        if t is None:
            first = self.origin.message(found.node, f"{found.type} here")
            self.refuse(
                node,
                f"{name} is {found.type} at line {self.origin.line(found.node)}, and {value.type} here: they "
                f"have no common type; cast one, such as usmpy.int64(...)\n{first}",
            )
        bits, positive = max(found.bits, value.bits), found.positive and value.positive
        if t != found.type or bits != found.bits or positive != found.positive:
            found.grown += 1
            if found.grown > 4:
                bits, positive = UNKNOWN, False
            self.changed = self.changed or (found.type, found.bits, found.positive) != (t, bits, positive)
            found.type, found.bits, found.positive = t, bits, positive
        return _bare(self._as(value, found.type, node).text)

    def _as(self, value: Number, target: types.Type, node: ast.AST) -> Number:
        return self.arith.cast(value, self.arith.strong(Number(target, "", 0), node).type, node)

    # Statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.assigned is None:  # behind return, break or continue
                return
            self.line = self.origin.line(statement)
            method = getattr(self, f"_{type(statement).__name__}", None)
            if method is None:
                self.refuse(statement, f"{type(statement).__name__}: not in the language of kernels")
            method(statement)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, type(...))):
            return  # a docstring
        value = self.value(node.value)
        if isinstance(value, Number) and not value.simple and self.has_effects(node.value):
            self.emit(f"{_bare(value.text)};")

    def _Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        if isinstance(value, Tuple):
            value = self.frozen(value, copy=True)  # the assignments do not change one another's values
        elif len(node.targets) > 1 and isinstance(value, Number):
            value = self.temp(value)
        for target in node.targets:
            self.store(target, value, node)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value), node)

    def store(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value, node)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, Tuple) or len(value.items) != len(target.elts):
                self.refuse(target, f"{len(target.elts)} names for {describe(value)}")
            for inner, item in zip(target.elts, value.items, strict=True):
                self.store(inner, item, node)
        elif isinstance(target, ast.Subscript):
            if isinstance(value, Number):
                value = self.temp(value) if self.has_effects(target) or self.program.checked else value
            array = self._target(target)
            place = self.place(array, target.slice, target)
            number = self.as_number(value, getattr(node, "value", node))
            self._write(array, place, number, node, ast.unparse(target))
        else:
            self.refuse(target, f"{ast.unparse(target)}: names, x[i] and tuples of them can be assigned")

    def _target(self, target: ast.Subscript) -> Array:
        array = self.value(target.value)
        if not isinstance(array, Array):
            self.refuse(target.value, f"{describe(array)}: elements of arrays can be assigned")
        return array

    def _write(self, array: Array, place: str, value: Number, node: ast.AST, shown: str) -> None:
        text = self.arith.stored(value, array.element, node, shown)
        statement = f"{place} = {_bare(text)};"
        if array.element == "float16":
            statement = f"vstore_half({text}, {place[len(array.pointer) + 1 : -1]}, {array.pointer});"
        elif array.element == "bfloat16":
            statement = f"{place} = {self.need('bfloat16', FLOAT32)}({text});"
        self.guarded(statement)

    def _AugAssign(self, node: ast.AugAssign) -> None:
        sign = sign_of(node.op)
        if isinstance(node.target, ast.Name):
            read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            if sign == "+" and isinstance(self.value(read), Tuple):
                joined = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
                self.assign_name(node.target.id, self.value(joined), node)
                return
            old = self.number(read)
            if self.has_effects(node.value):
                old = self.temp(old, copy=True)
            result = self.arith.binary(sign, old, self.number(node.value), node)
            self.assign_name(node.target.id, result, node)
            return
        if not isinstance(node.target, ast.Subscript):
            self.refuse(node.target, f"{ast.unparse(node.target)}: names and x[i] can be assigned")
        array = self._target(node.target)
        offset = self.temp(
            known(INT64, self.offset(array, self.indices(node.target.slice), node.target))
        ).text
        ok = self.ok
        if array.parameter is not None:
            array.parameter.written = True
        old = self.load(array, offset)
        if self.has_effects(node.value):
            old = self.temp(old)
        result = self.arith.binary(sign, old, self.number(node.value), node)
        self.ok = ok
        self._write(array, f"{array.pointer}[{offset}]", result, node, ast.unparse(node.target))

    def _If(self, node: ast.If) -> None:
        test = self.condition(node.test)
        if test.constant:
            self.block(node.body if test.value else node.orelse)
            return
        self.emit(f"if ({_bare(test.text)}) {{")
        before = self._copy()
        self.block(node.body)
        after, self.assigned = self.assigned, before
        if node.orelse:
            self.emit("} else {")
            self.block(node.orelse)
        self.emit("}")
        self.assigned = _both(after, self.assigned)

    def _copy(self) -> set[str] | None:
        return None if self.assigned is None else set(self.assigned)

    def _While(self, node: ast.While) -> None:
        with self.captured() as lines:
            test = self.condition(node.test)
        if test.constant and not test.value:
            return
        before, loop = self._copy(), _Loop()
        self.loops.append(loop)
        if lines:
            self.emit("for (;;) {")
            self.out += lines
            self.emit(f"if (!{test.text}) {{ break; }}")
        else:
            self.emit(f"while ({'1' if test.constant else _bare(test.text)}) {{")
        self.block(node.body)
        self.emit("}")
        self.loops.pop()
        self.assigned = None if test.constant else before
        for names in loop.leave:
            self.assigned = _both(self.assigned, names)

    def _For(self, node: ast.For) -> None:
        if isinstance(node.iter, ast.Call) and self.raw(node.iter.func) is builtins.range:
            self._range(node, node.iter)
            return
        value = self.value(node.iter)
        if isinstance(value, Tuple):
            self._unrolled(node, Tuple([self.frozen(item, copy=True) for item in value.items]))
            return
        hint = (
            ": write for i in range(len(x))" if isinstance(value, Array) else ": range and tuples are allowed"
        )
        self.refuse(node.iter, f"a loop over {describe(value)}{hint}")

    def _range(self, node: ast.For, call: ast.Call) -> None:
        if call.keywords or not 1 <= len(call.args) <= 3:
            self.refuse(call, "range takes 1 to 3 integers")
        given = []
        for value, at in zip(self.many(call.args), call.args, strict=True):
            number = self.as_number(value, at)
            if not number.type.whole and number.type != types.BOOL:
                self.refuse(at, f"range of {describe(number)}: integers are allowed")
            given.append(self.arith.explicit(number, INT64, at) if number.type == types.UINT64 else
                         self.arith.cast(self.arith.strong(number, at), INT64, at))  # fmt: skip
        start, stop, step = (constant(0, INT64), given[0], constant(1, INT64))
        if len(given) > 1:
            start, stop, step = given[0], given[1], given[2] if len(given) == 3 else step
        if step.constant and step.value == 0:
            self.refuse(call.args[2], "the step of range is 0")
        if all(n.constant for n in (start, stop, step)):
            last = range(start.value, stop.value, step.value)[-1:]
            if any(not types.fits(i + step.value, INT64) for i in last):
                self.refuse(call, "this range ends beyond int64")
        stop, step = self.temp(stop, copy=not stop.constant), self.temp(step, copy=not step.constant)
        runs = (
            all(n.constant for n in (start, stop, step))
            and len(range(start.value, stop.value, step.value)) > 0
        )
        name = self.fresh("i")
        sign = "<" if step.constant and step.value > 0 else ">"
        test = f"{name} {sign} {stop.text}"
        if not step.constant:
            test = f"{step.text} > 0 ? {name} < {stop.text} : {step.text} < 0 && {name} > {stop.text}"
        change = f"{name}++" if step.constant and step.value == 1 else f"{name} += {step.text}"
        self.emit(f"for (long {name} = {_bare(start.text)}; {test}; {change}) {{")
        up = step.constant and step.value > 0
        bits = (
            max(stop.bits, 1)
            if up and start.positive
            else max(start.bits, stop.bits)
            if step.constant
            else UNKNOWN
        )
        number = Number(INT64, name, None, bits, start.positive if up else stop.positive and step.constant)
        before, loop = self._copy(), _Loop()
        self.loops.append(loop)
        self.store(node.target, number, node.target)
        self.block(node.body)
        self.emit("}")
        self.loops.pop()
        ended = self.assigned
        for names in loop.again:
            ended = _both(ended, names)
        self.assigned = ended if runs else before
        for names in loop.leave:
            self.assigned = _both(self.assigned, names)

    def _unrolled(self, node: ast.For, value: Tuple) -> None:
        """A loop over a tuple: its body once for each item."""
        loop = _Loop(behind=self.fresh("behind"))
        self.loops.append(loop)
        for item in value.items:
            if self.assigned is None and not loop.again:
                break
            loop.before, loop.again, loop.jumped = self.fresh("next"), [], False
            self.emit("{")
            self._bind_item(node.target, item, node)
            self.block(node.body)
            for names in loop.again:
                self.assigned = _both(self.assigned, names)
            self.emit("}")
            if loop.again:
                self.emit(f"{loop.before}: ;")
        self.loops.pop()
        for names in loop.leave:
            self.assigned = _both(self.assigned, names)
        if loop.leave:
            self.emit(f"{loop.behind}: ;")

    def _bind_item(self, target: ast.expr, item: Value, node: ast.For) -> None:
        """The name of the loop is the item itself, if nothing else assigns it."""
        if isinstance(target, ast.Name) and self.origin.sites[target.id] == 1:
            self.static[target.id] = item
            assert self.assigned is not None
            self.assigned.add(target.id)
        elif (
            isinstance(target, ast.Tuple) and isinstance(item, Tuple) and len(target.elts) == len(item.items)
        ):
            for inner, one in zip(target.elts, item.items, strict=True):
                self._bind_item(inner, one, node)
        else:
            self.store(target, item, node)

    def _Break(self, node: ast.Break) -> None:
        loop = self.loops[-1]
        if self.assigned is not None:
            loop.leave.append(self.assigned)
        self.emit(f"goto {loop.behind};" if loop.behind else "break;")
        self.assigned = None

    def _Continue(self, node: ast.Continue) -> None:
        loop = self.loops[-1]
        if self.assigned is not None:
            loop.again.append(self.assigned)
        self.emit(f"goto {loop.before};" if loop.behind else "continue;")
        self.assigned = None

    def _Return(self, node: ast.Return) -> None:
        value = Object(None) if node.value is None else self.value(node.value)
        nothing = isinstance(value, Object) and value.value is None
        if self.is_kernel and not nothing:
            self.refuse(node, "a kernel returns nothing: store the value in an array")
        if self.returns and nothing != (self.result is None):
            self.refuse(node, "returns a value here, and nothing elsewhere" if not nothing else
                              "returns nothing here, and a value elsewhere")  # fmt: skip
        if nothing:
            self.returns = True
            self.emit("return;")
        else:
            self._return_value(value, node)
        self.assigned = None

    def _return_value(self, value: Value, node: ast.Return) -> None:
        leaves = flat(value)
        if not leaves:
            self.refuse(node, "returns an empty tuple: numbers and tuples of numbers are allowed")
        for item in leaves:
            if not isinstance(item, Number):
                self.refuse(node, f"returns {describe(item)}: numbers and tuples of numbers are allowed")
        old = self.result
        if old is not None and not alike(old, value):
            self.refuse(node, f"returns {describe(value)} here, and {describe(old)} elsewhere")
        texts = []
        for k, item in enumerate(leaves):
            assert isinstance(item, Number)
            texts.append(self._assign_variable(f"return.{k}", item, node))
        self.result, self.returns = value, True
        if isinstance(value, Tuple):
            self.emit(f"return ({self.program.record_name(self)}){{{', '.join(texts)}}};")
        else:
            self.emit(f"return {texts[0]};")

    def result_types(self) -> list[types.Type]:
        """Of the numbers that it returns, as they are in C."""
        assert self.result is not None
        count = len(flat(self.result))
        return [self.variables[f"return.{k}"].type for k in range(count)]

    def _Assert(self, node: ast.Assert) -> None:
        if not self.program.checked:
            return
        test = self.condition(node.test)
        words = ""
        if node.msg is not None:
            message = self.text_or_value(node.msg)
            words = (
                str(message.value)
                if isinstance(message, (Object, Number)) and message.value is not None
                else ""
            )
        if test.constant and test.value:
            return
        self.fail("1" if test.constant else f"!{test.text}", 4, self.line, words)

    def print(self, node: ast.Call) -> Value:
        if node.keywords:
            self.refuse(node.keywords[0].value, "print takes no arguments by name")
        words: list[str] = []
        texts: list[str] = []
        for at in node.args:
            value = self.text_or_value(at)
            if isinstance(value, Object) and isinstance(value.value, str):
                if "\0" in value.value:
                    self.refuse(at, "a text with the character 0: it ends the text in C")
                words.append(value.value.replace("%", "%%"))
                continue
            for item in flat(value):
                number = self.arith.strong(self.as_number(item, at), at)
                self._print_number(number, words, texts, at)
        line = quoted(" ".join(words) + "\n")
        self.emit(f"printf({line}{''.join(f', {text}' for text in texts)});")
        return Object(None)

    def _print_number(self, number: Number, words: list[str], texts: list[str], at: ast.AST) -> None:
        kind = number.type.kind
        if kind == "complex":
            number = self.temp(number)
            words.append("(%g%+gj)")
            texts += [f"{number.text}.real", f"{number.text}.imag"]
            return
        words.append({"float": "%g", "uint": "%lu"}.get(kind, "%ld"))
        texts.append(
            number.text if kind == "float" else f"({'ulong' if kind == 'uint' else 'long'}){number.text}"
        )

    def wait(self, barrier: bool, text: str, node: ast.AST) -> None:
        self.waits = self.waits or barrier
        if barrier and self.program.checked == "host":  # which alone can tell who does not reach it
            line = self.origin.line(node)
            self.fail(f"usm_ck_wait{text[len('barrier') : -2]}, {line})", 3, line)
        else:
            self.emit(text)

    def call_helper(self, function: FunctionType, values: dict[str, Value], node: ast.Call) -> Value:
        return self.program.call(self, function, values, node)

    # The text

    def declarations(self) -> list[str]:
        """The variables, and the arrays of one work-item."""
        lines = [
            f"{self.c_type(variable.type)} {variable.name};"
            for name, variable in self.variables.items()
            if not name.startswith("return.")
        ]
        for local, element, name, length in self.arrays:
            if not local or self.is_kernel:
                stored = "ushort" if element == "float16" else types.stored_name(element)
                lines.append(f"{'local ' * local}{stored} {name}[{length}];")
        return lines


def _both(a: set[str] | None, b: set[str] | None) -> set[str] | None:
    """The names that have a value whichever way was taken; None: a way that leads nowhere."""
    return b if a is None else a if b is None else a & b
