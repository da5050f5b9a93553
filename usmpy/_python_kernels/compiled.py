"""Kernels and helpers, the functions that they call, in C: parameters, texts, and calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any

from . import types
from .body import Body, Lines
from .c_text import c_name, declared_name, of_kernel, quoted, stored_name
from .statements import Function
from .types import BOOL, UINT64, WEAK_INT, Type
from .values import UNKNOWN, Array, Number, Object, Parameter, Tuple, Value, filled, known

if TYPE_CHECKING:
    from .program import Unit


def _render(lines: Lines, filename: str) -> str:
    """Statements, with the numbers of the Python file's lines; those of one line stand in one line."""
    text: list[str] = []
    depth, last, expected = 1, -1, -1
    file = quoted(os.path.basename(filename))
    for line, statement in lines:
        if line == last:
            text[-1] += f" {statement}"
        else:
            if line != expected:
                text.append(f"#line {line} {file}")
            text.append(f"{'    ' * (depth - statement.startswith('}'))}{statement}")
        last, expected = line, line + 1
        depth += statement.endswith("{") - statement.startswith("}")
    return "\n".join(text) + "\n" * bool(text)


class Compiled(Function):
    """A function with parameters in C."""

    def __init__(self, program: Unit, function: FunctionType, values: dict[str, Value]) -> None:
        name = of_kernel(function.__name__) if self.is_kernel else function.__name__
        self.name = program.names.make(name, self)
        # In the order of C, and what the body sees of each.
        self.taken: list[tuple[Parameter, Number | Array]] = []
        inner = {name: self._inner(name, value, (name,), program) for name, value in values.items()}
        super().__init__(program, function, inner)

    def _inner(self, name: str, value: Value, where: tuple[Any, ...], program: Unit) -> Value:
        """What the body sees for an argument. where: the argument, and indices of tuples."""
        if isinstance(value, Tuple):
            items = enumerate(value.items)
            return Tuple([self._inner(f"{name}_{k}", item, (*where, k), program) for k, item in items])
        if isinstance(value, Object) or (isinstance(value, Number) and value.constant):
            return value
        parameter = Parameter(program.names.make(name, (self, where)), where)
        seen: Number | Array
        if isinstance(value, Array):
            extents = tuple(e if e is not None and e.constant else None for e in value.extents)
            seen = replace(value, name=name, pointer=parameter.name, extents=extents, parameter=parameter)
            seen.first, seen.offset = 0, ""
        else:
            t = value.type
            text = f"({parameter.name} != 0)" if t == BOOL and self.is_kernel else parameter.name
            origin = parameter if t == WEAK_INT else None
            seen = Number(t, text, None, t.bits or UNKNOWN, value.positive, origin)
        self.taken.append((parameter, seen))
        return seen

    def value_type(self, parameter: Parameter, t: Type) -> Type:
        """The type in which a number of that type is passed."""
        if self.is_kernel and t == WEAK_INT and parameter.met == {UINT64}:
            return UINT64
        return types.strong(t, self.real)

    def parameters(self) -> list[str]:
        """Their declarations."""
        found = []
        for parameter, value in self.taken:
            if isinstance(value, Number):
                t = self.value_type(parameter, value.type)
                found.append(f"{'uchar' if t == BOOL and self.is_kernel else c_name(t)} {parameter.name}")
                continue
            space = "" if value.space == "private" else f"{value.space} "
            written = parameter.written or (self.is_kernel and value.space == "local")
            kind = f"{space}{'' if written else 'const '}{stored_name(value.element)}"
            found.append(f"{kind} *{parameter.name}")
            found += [f"long {name}" for name in parameter.sizes()]
        return found

    def written(self, head: str, parameters: list[str], setup: list[str]) -> str:
        """The text of the function. setup: statements before its own."""
        first = self.origin.line(self.origin.tree)
        lines = [(first, line) for line in [*self.declarations(), *setup]]
        body = _render([*lines, *self.out], self.origin.filename)
        return f"{head} {self.name}({', '.join(parameters) or 'void'})\n{{\n{body}}}\n"


class Kernel(Compiled):
    """The function of a work-item. Its arguments are what a launch passes."""

    is_kernel = True

    def text(self) -> str:
        if not self.program.checked:
            return self.written("kernel void", self.parameters(), [])
        ids = ", ".join(f"(long)get_global_id({d})" for d in range(3))
        setup = f"struct usm_ck usm_ck_own = {{usm_record, 0, 0, {{{ids}}}}}, *usm_ck = &usm_ck_own;"
        return self.written("kernel void", [*self.parameters(), "global long *usm_record"], [setup])


class Helper(Compiled):
    """A Python function that a kernel calls, for one set of argument types."""

    def text(self) -> str:
        head, result = "", "void"
        if self.result is not None:
            names = [self.c_type(t) for t in self.result_types()]
            result = names[0]
            if isinstance(self.result, Tuple):
                result = self.program.record_name(self)
                members = " ".join(f"{t} m{k};" for k, t in enumerate(names))
                head = f"{result} {{ {members} }};\n"
        own = [f"local {declared_name(e)} *{name}" for local, e, name, _ in self.arrays if local]
        record = ["struct usm_ck *usm_ck"] * bool(self.program.checked)
        return self.written(f"{head}static inline {result}", [*self.parameters(), *own, *record], [])

    def write_call(self, body: Body, values: dict[str, Value]) -> Value:
        texts = []
        for parameter, _ in self.taken:
            value: Any = values[parameter.where[0]]
            for k in parameter.where[1:]:
                value = value.items[k]
            if isinstance(value, Number):
                if value.origin is not None:
                    value.origin.met |= parameter.met
                texts.append(value.text)
                continue
            if value.parameter is not None:
                value.parameter.written = value.parameter.written or parameter.written
            texts.append(f"{value.pointer} + {value.offset}" if value.offset else value.pointer)
            texts += [value.extent(axis).text for axis in sorted(parameter.extents)]
            texts += [value.stride(axis) for axis in sorted(parameter.strides)]
        for local, element, name, length in self.arrays:
            if local:
                own = body.fresh(name)
                body.arrays.append((True, element, own, length))
                texts.append(own)
        texts += ["usm_ck"] * bool(self.program.checked)
        body.called.append(self)
        body.waits = body.waits or self.waits
        text = f"{self.name}({', '.join(texts)})"
        if self.result is None:
            body.emit(f"{text};")
            return Object(None)
        kinds = self.result_types()
        if not isinstance(self.result, Tuple):
            return body.temp(known(kinds[0], text), copy=True)
        name = body.fresh("r")
        body.emit(f"const {self.program.record_name(self)} {name} = {text};")
        items: Iterator[Value] = iter([known(t, f"{name}.m{k}") for k, t in enumerate(kinds)])
        return filled(self.result, items)
