"""Python functions in place of the texts of kernel helpers (usmpy/_kernels)."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from types import FunctionType

from . import types
from .program import Helper, Unit
from .source import Origin
from .types import c_name
from .values import Array, Number, Parameter, Tuple, Value, known


class Expressions:
    """The functions of one program. double: whether the device has double precision."""

    def __init__(self, elements: Sequence[str], double: bool) -> None:
        reals = [types.real_of(t) for t in map(types.ELEMENTS.__getitem__, elements)]
        reals = [t for t in reals if t.kind == "float"]
        self._unit = Unit(max(reals, default=types.FLOAT64 if double else types.FLOAT32))
        self._unit.names.prefix = "py_"  # beside those of the user's texts

    def write(
        self, function: FunctionType, given: Sequence[tuple[str, str, bool]], results: Sequence[str] | None
    ) -> tuple[str, str, list[str]]:
        """(definitions, statement, values): the statement comes first, the values are those of the results.

        given: of each argument the expression in C, the dtype's name, and whether it is a raw array. results:
        the names of their dtypes; None: the function stores into raw arrays, and returns nothing.
        """
        unit, origin = self._unit, Origin(function)
        names = list(inspect.signature(function).parameters)
        if len(names) != len(given):
            origin.refuse(origin.tree, f"it has {len(names)} arguments, and {len(given)} are given")
        values: dict[str, Value] = {}
        for name, (_, element, raw) in zip(names, given, strict=True):
            values[name] = known(types.ELEMENTS[element], "")
            if raw:
                values[name] = Array(name, element, "", "global", (None,), True, Parameter(name))
        helper = Helper(unit, function, origin, values)
        helper.compile()
        if any(parameter.extents for parameter in helper.parameters):
            origin.refuse(origin.tree, "the length of a raw array is not known here: pass it as a number")
        text = f"{helper.name}({', '.join(text for text, _, _ in given)})"
        front = unit.definitions(helper) + helper.text()
        if results is None or helper.result is None:
            if results is not None or helper.result is not None:
                wanted = "nothing" if results is None else f"{len(results)} value{'s' * (len(results) != 1)}"
                origin.refuse(
                    origin.tree, f"it returns {'nothing' if results else 'a value'}; {wanted} is expected"
                )
            return front, f"{text};", []
        found = helper.result_types()
        if len(found) != len(results):
            origin.refuse(origin.tree, f"it returns {len(found)} values for {len(results)} outputs")
        for t, element in zip(found, results, strict=True):
            helper.arith.stored(Number(t, "0"), element, origin.tree, "an output")
        if not isinstance(helper.result, Tuple):
            return front, "", [_cast(text, results[0])]
        statement = f"const {unit.record_name(helper)} usm_found = {text};"
        return front, statement, [_cast(f"usm_found.m{k}", element) for k, element in enumerate(results)]


def _cast(text: str, element: str) -> str:
    return f"({'half' if element == 'float16' else c_name(types.ELEMENTS[element])})({text})"
