"""Statements of Python kernels: branches and loops, which names have a value where, and what is returned."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from . import types
from .assignments import Assignments
from .body import Names
from .c_text import bare, declared_name
from .types import BOOL, INT64, UINT64, WEAK_INT, Type
from .values import UNKNOWN, Array, Number, Object, Tuple, Value, alike, constant, describe, flat


@dataclass
class _Loop:
    before: str = ""  # of an unrolled loop, the label behind this round
    behind: str = ""  # and that behind the loop
    leave: list[Names] = field(default_factory=list)  # the names that have a value at each break
    again: list[Names] = field(default_factory=list)


class Function(Assignments):
    """A function: its statements, compiled until the types are stable."""

    is_kernel = False

    def reset(self) -> None:
        super().reset()
        self.loops: list[_Loop] = []
        self.returns = False  # on one way at least
        self.result: Value | None = None

    def compile(self) -> None:
        while True:
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
            if not self.changed:
                weak = {name: v for name, v in self.variables.items() if v.type == WEAK_INT}
                if not weak:
                    return
                # Python ints that met nothing
                self.variables |= {name: replace(v, type=INT64) for name, v in weak.items()}

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            if self.assigned is None:  # behind return, break or continue
                return
            self.line = self.origin.line(statement)
            self.visit(statement)

    def _Pass(self, node: ast.Pass) -> None:
        pass

    def _Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, type(...))):
            return  # a docstring
        value = self.value(node.value)
        if isinstance(value, Number) and not value.simple and self.has_effects(node.value):
            self.emit(f"{bare(value.text)};")

    def _Assert(self, node: ast.Assert) -> None:
        if not self.program.checked:
            return
        test = self.condition(node.test)
        message = Object(None) if node.msg is None else self.text_or_value(node.msg)
        words = message.value if isinstance(message, (Object, Number)) else None
        if not (test.constant and test.value):
            failed = "1" if test.constant else f"!{test.text}"
            self.fail(failed, 4, self.line, "" if words is None else str(words))

    # Branches

    def _If(self, node: ast.If) -> None:
        test = self.condition(node.test)
        if test.constant:
            self.block(node.body if test.value else node.orelse)
            return
        self.emit(f"if ({bare(test.text)}) {{")
        before = self.assigned
        self.block(node.body)
        after, self.assigned = self.assigned, before
        if node.orelse:
            self.emit("} else {")
            self.block(node.orelse)
        self.emit("}")
        self._join(after)

    def _join(self, *ways: Names) -> None:
        """Joins other paths: a name has a value if it has one on each path that leads here."""
        for way in ways:
            if way is not None:
                self.assigned = way if self.assigned is None else self.assigned & way

    # Loops

    @contextmanager
    def _loop(self, behind: str = "") -> Iterator[_Loop]:
        """The loop that break and continue refer to within; its breaks lead behind it."""
        loop = _Loop(behind=behind)
        self.loops.append(loop)
        yield loop
        self.loops.pop()
        self._join(*loop.leave)

    def _While(self, node: ast.While) -> None:
        test, lines = self.captured(self.condition, node.test)
        if test.constant and not test.value:
            return
        before = self.assigned
        with self._loop():
            if lines:
                self.emit("for (;;) {")
                self.out += lines
                self.emit(f"if (!{test.text}) {{ break; }}")
            else:
                self.emit(f"while ({'1' if test.constant else bare(test.text)}) {{")
            self.block(node.body)
            self.emit("}")
            self.assigned = None if test.constant else before

    def _For(self, node: ast.For) -> None:
        if isinstance(node.iter, ast.Call) and self.raw(node.iter.func) is builtins.range:
            self._range(node, node.iter)
            return
        value = self.value(node.iter)
        if isinstance(value, Tuple):
            self._unrolled(node, [self.frozen(item, copy=True) for item in value.items])
            return
        array = isinstance(value, Array)
        hint = ": write for i in range(len(x))" if array else ": range and tuples are allowed"
        self.refuse(node.iter, f"a loop over {describe(value)}{hint}")

    def _limit(self, value: Value, node: ast.expr) -> Number:
        """An argument of range, as int64."""
        number = self.as_number(value, node)
        if not number.type.whole and number.type != BOOL:
            self.refuse(node, f"range of {describe(number)}: integers are allowed")
        if number.type == UINT64:
            return self.explicit(number, INT64, node)
        return self.cast(self.strong(number, node), INT64, node)

    def _range(self, node: ast.For, call: ast.Call) -> None:
        if call.keywords or not 1 <= len(call.args) <= 3:
            self.refuse(call, "range takes 1 to 3 integers")
        given = [*map(self._limit, self.many(call.args), call.args)]
        given = [constant(0, INT64), *given] if len(given) == 1 else given
        start, stop, step = given if len(given) == 3 else [*given, constant(1, INT64)]
        if step.constant and step.value == 0:
            self.refuse(call.args[2], "the step of range is 0")
        runs = False  # at least once
        if all(n.constant for n in (start, stop, step)):
            steps = range(start.value, stop.value, step.value)
            runs = len(steps) > 0
            if runs and not types.fits(steps[-1] + step.value, INT64):
                self.refuse(call, "this range ends beyond int64")
        stop, step = self.temp(stop, copy=not stop.constant), self.temp(step, copy=not step.constant)
        up, name = step.constant and step.value > 0, self.fresh("i")
        test = f"{name} {'<' if up else '>'} {stop.text}"
        if not step.constant:
            test = f"{step.text} > 0 ? {name} < {stop.text} : {step.text} < 0 && {name} > {stop.text}"
        change = f"{name}++" if step.constant and step.value == 1 else f"{name} += {step.text}"
        self.emit(f"for (long {name} = {bare(start.text)}; {test}; {change}) {{")
        if up:
            bits = max(stop.bits, 1 if start.positive else start.bits)
        else:
            bits = max(start.bits, stop.bits) if step.constant else UNKNOWN
        positive = start.positive if up else stop.positive and step.constant
        before = self.assigned
        with self._loop() as loop:
            self.store(node.target, Number(INT64, name, None, bits, positive), node.target)
            self.block(node.body)
            self.emit("}")
            self._join(*loop.again)
            self.assigned = self.assigned if runs else before

    def _unrolled(self, node: ast.For, items: list[Value]) -> None:
        """A loop over a tuple: its body once for each item."""
        with self._loop(self.fresh("behind")) as loop:
            for item in items:
                if self.assigned is None:
                    break
                loop.before, loop.again = self.fresh("next"), []
                self.emit("{")
                self.store(node.target, item, node, alias=True)
                self.block(node.body)
                self._join(*loop.again)
                self.emit("}")
                if loop.again:
                    self.emit(f"{loop.before}: ;")
        if loop.leave:
            self.emit(f"{loop.behind}: ;")

    def _Break(self, node: ast.Break) -> None:
        loop = self.loops[-1]
        self._jump(loop.leave, f"goto {loop.behind};" if loop.behind else "break;")

    def _Continue(self, node: ast.Continue) -> None:
        loop = self.loops[-1]
        self._jump(loop.again, f"goto {loop.before};" if loop.behind else "continue;")

    def _jump(self, ways: list[Names], statement: str) -> None:
        ways.append(self.assigned)
        self.emit(statement)
        self.assigned = None

    # What a function returns

    def _Return(self, node: ast.Return) -> None:
        value = Object(None) if node.value is None else self.value(node.value)
        nothing = isinstance(value, Object) and value.value is None
        if self.is_kernel and not nothing:
            self.refuse(node, "a kernel returns nothing: store the value in an array")
        if self.returns and nothing != (self.result is None):
            here, elsewhere = ("nothing", "a value") if nothing else ("a value", "nothing")
            self.refuse(node, f"returns {here} here, and {elsewhere} elsewhere")
        if nothing:
            self.emit("return;")
        else:
            self._return_value(value, node)
        self.returns, self.assigned = True, None

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
        numbers = [item for item in leaves if isinstance(item, Number)]
        texts = [self.widen(f"return.{k}", item, node) for k, item in enumerate(numbers)]
        self.result = value
        record = isinstance(value, Tuple)
        made = f"({self.program.record_name(self)}){{{', '.join(texts)}}}" if record else texts[0]
        self.emit(f"return {made};")

    def result_types(self) -> list[Type]:
        """Of the numbers that it returns, as they are in C."""
        assert self.result is not None
        return [self.variables[f"return.{k}"].type for k in range(len(flat(self.result)))]

    # The text

    def declarations(self) -> list[str]:
        """The variables, and the arrays of one work-item."""
        variables = [v for name, v in self.variables.items() if not name.startswith("return.")]
        lines = [f"{self.c_type(variable.type)} {variable.text};" for variable in variables]
        for local, element, name, length in self.arrays:
            if not local or self.is_kernel:
                lines.append(f"{'local ' * local}{declared_name(element)} {name}[{length}];")
        return lines
