"""Programs of Python functions for one set of argument types: their texts, and what a launch passes."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from .._compile.included import own_text
from . import types
from .body import Body
from .c_text import Names, c_name
from .compiled import Helper, Kernel
from .source import Origin
from .statements import Function
from .types import INT64, WEAK_INT, Type
from .values import Array, Number, Object, Tuple, Value, known

# What an argument is specialised for: ("array", dtype, ndim, contiguous), ("number", Type), ("none",),
# ("local", dtype)
Signature = tuple[Any, ...]


class Unit:
    """Functions that are compiled together.

    real: the type of floating-point numbers that nothing else decides; checked: the backend of a checked
    kernel, else "".
    """

    def __init__(self, real: Type, checked: str = "") -> None:
        self.real, self.checked = real, checked
        self.names = Names()
        self._helpers: dict[Any, Helper] = {}
        self._active: list[FunctionType] = []
        self._origins: dict[FunctionType, Origin] = {}
        self._written: set[Any] = set()

    def origin(self, function: FunctionType) -> Origin:
        if function not in self._origins:
            self._origins[function] = Origin(function)
        return self._origins[function]

    def call(self, body: Body, function: FunctionType, values: dict[str, Value], node: ast.Call) -> Value:
        if function in self._active:
            body.refuse(node, f"{function.__name__} calls itself: kernels have no recursion; write a loop")
        key = (function, tuple((name, _key(value)) for name, value in values.items()))
        helper = self._helpers.get(key)
        if helper is None:
            self._active.append(function)
            helper = Helper(self, function, values)
            helper.compile()
            self._active.pop()
            self._helpers[key] = helper
        return helper.write_call(body, values)

    def record_name(self, body: Body) -> str:
        return f"struct {self.names.make(f'{body.function.__name__}_result', body)}"

    def definitions(self, *roots: Function) -> str:
        """What the functions need in front of them, but what was written before."""
        reached, waiting = set(roots), list(roots)
        while waiting:
            called = {*waiting.pop().called} - reached
            reached |= called
            waiting += called
        needed = {part for function in reached for part in function.needed}
        found: list[tuple[Any, str]] = [(key, self._part(*key)) for key in sorted(needed)]
        # A helper is complete before its caller.
        found += [(helper, helper.text()) for helper in self._helpers.values() if helper in reached]
        texts = [text for key, text in found if key not in self._written]
        self._written |= {key for key, _ in found}
        return "".join(texts)

    def _part(self, name: str, t: Type) -> str:
        c = c_name(t)
        words = {"T": c, "F": f"usm_{name}_{c}", "R": c_name(types.real_of(t))}
        words["U"] = c_name(Type("uint", t.bits)) if t.whole else c
        return re.sub(r"\b[TFRU]\b", lambda word: words[word[0]], _PARTS[name])


class Program(Unit):
    """The program of a kernel, for one set of argument types."""

    def __init__(
        self, function: FunctionType, origin: Origin, signature: list[Signature], real: Type, checked: str
    ) -> None:
        super().__init__(real, checked)
        self._active.append(function)
        self._origins[function] = origin
        names = inspect.signature(function).parameters
        self._indices = {name: k for k, name in enumerate(names)}
        values = {name: _argument(name, kind) for name, kind in zip(names, signature, strict=True)}
        self.kernel = Kernel(self, function, values)
        self.name = self.kernel.name
        self.kernel.compile()

    def slots(self) -> list[tuple[int, int, int]]:
        """What a launch passes for each parameter in C but the record, as usmpy_slot: (kind, argument, axis).

        The kinds: 0 is the argument itself, 1 an extent, 2 a stride, 3 the length of local memory.
        """
        found = []
        for parameter, value in self.kernel.taken:
            k = self._indices[parameter.where[0]]
            found.append((0, k, 0))
            extent = 3 if isinstance(value, Array) and value.space == "local" else 1
            found += [(extent, k, axis) for axis in sorted(parameter.extents)]
            found += [(2, k, axis) for axis in sorted(parameter.strides)]
        return found

    def limits(self) -> list[tuple[int, int, int]]:
        """The arguments that are Python ints, and the numbers that fit into what they meet."""
        found: list[tuple[int, int, int]] = []
        for parameter, value in self.kernel.taken:
            passed = isinstance(value, Number) and value.type == WEAK_INT
            if passed and parameter.met - {self.kernel.value_type(parameter, WEAK_INT)}:
                ranges = [types.limits(t) for t in (INT64, *parameter.met)]
                low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
                found.append((self._indices[parameter.where[0]], low, high))
        return found

    def text(self) -> str:
        """The whole program in the portable language."""
        self._written.clear()
        front = own_text("portable_checked.h") if self.checked else ""
        return front + self.definitions(self.kernel) + self.kernel.text()


class HelperProgram(Unit):
    """Python functions in place of the texts of kernel helpers (usmpy/_kernels).

    elements: the dtypes of the arguments and results. double: whether the device has double precision.
    """

    def __init__(self, elements: Sequence[str], double: bool) -> None:
        super().__init__(types.kernel_real(elements, double))
        self.names = Names("py_")  # beside those of the user's texts

    def write(
        self, function: FunctionType, given: Sequence[tuple[str, str, bool]], results: Sequence[str] | None
    ) -> tuple[str, str, list[str]]:
        """(definitions, statement, values): the statement comes first, the values are those of the results.

        given: of each argument the expression in C, the dtype's name, and whether it is a raw array. results:
        the names of their dtypes; None: the function stores into raw arrays, and returns nothing.
        """
        origin = self.origin(function)
        names = list(inspect.signature(function).parameters)
        if len(names) != len(given):
            origin.refuse(origin.tree, f"it has {len(names)} arguments, and {len(given)} are given")
        kinds = [("array", t, 1, True) if raw else ("number", types.ELEMENTS[t]) for _, t, raw in given]
        helper = Helper(self, function, dict(zip(names, map(_argument, names, kinds), strict=True)))
        helper.compile()
        if any(parameter.extents for parameter, _ in helper.taken):
            origin.refuse(origin.tree, "the length of a raw array is not known here: pass it as a number")
        text = f"{helper.name}({', '.join(text for text, _, _ in given)})"
        front = self.definitions(helper) + helper.text()
        if results is None and helper.result is None:
            return front, f"{text};", []
        if results is None or helper.result is None:
            wanted = "nothing" if results is None else f"{len(results)} value{'s' * (len(results) != 1)}"
            found = "nothing" if results else "a value"
            origin.refuse(origin.tree, f"it returns {found}; {wanted} is expected")
        found_types = helper.result_types()
        if len(found_types) != len(results):
            origin.refuse(origin.tree, f"it returns {len(found_types)} values for {len(results)} outputs")
        for t, element in zip(found_types, results, strict=True):
            helper.stored(Number(t, "0"), element, origin.tree, "an output")
        if not isinstance(helper.result, Tuple):
            return front, "", [_cast(text, results[0])]
        statement = f"const {self.record_name(helper)} usm_found = {text};"
        return front, statement, [_cast(f"usm_found.m{k}", element) for k, element in enumerate(results)]


def _argument(name: str, kind: Signature) -> Value:
    """What a launch passes."""
    if kind[0] == "none":
        return Object(None)
    if kind[0] == "number":
        return known(kind[1], "")
    local = kind[0] == "local"
    ndim, contiguous = (1, True) if local else kind[2:]
    return Array(name, kind[1], "", "local" if local else "global", (None,) * ndim, contiguous)


def _read_parts() -> dict[str, str]:
    """The functions of portable_python.h by their names."""
    path = os.path.join(os.path.dirname(__file__), "portable_python.h")
    with open(path, encoding="utf-8") as file:
        return dict(part.split("\n", 1) for part in file.read().split("// --- ")[1:])


_PARTS = _read_parts()  # this module is loaded with the first kernel


def _key(value: Value) -> Any:
    """What a helper that gets the value is specialised for."""
    if isinstance(value, Array):
        return value.key
    if isinstance(value, Tuple):
        return ("tuple", *map(_key, value.items))
    if isinstance(value, Object):
        return ("object", id(value.value))
    return ("number", value.type, repr(value.value), value.positive)  # 0.0 and -0.0 are equal


def _cast(text: str, element: str) -> str:
    return f"({'half' if element == 'float16' else c_name(types.ELEMENTS[element])})({text})"
