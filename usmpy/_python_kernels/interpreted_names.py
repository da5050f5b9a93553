"""Names of a kernel's Python function in the interpreter: what they stand for, as a kernel sees it."""

from __future__ import annotations

import builtins
import dis
import enum
import functools
from collections.abc import Iterator
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any

from .. import kernel_api
from .functions import find
from .interpreted_arrays import Cast, Elements
from .library import FUNCTIONS
from .numbers import Rules, Typed, operand
from .scope import dtype_of, number_of, wrap
from .types import BOOL, INT64

# Packages whose Python functions are called as they are.
_LIBRARIES = ("numpy", "usmpy", "pdb", "ipdb", "pudb", "IPython", "debugpy")


class _Attributes:
    """A module or a class, whose attributes are as a kernel sees them."""

    def __init__(self, value: Any, names: Names) -> None:
        self._value, self._names = value, names

    def __getattr__(self, name: str) -> Any:
        return self._names.replaced(getattr(self._value, name))


class Names:
    """Makes copies of functions: they have the same code, and their names stand for what a kernel sees.

    Functions of numbers follow the rules of the language, and a kernel is its function.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.waits = False  # whether a function may reach a barrier
        self._made: dict[FunctionType, FunctionType] = {}

    def function(self, function: FunctionType) -> FunctionType:
        if function in self._made:
            return self._made[function]
        code, names = function.__code__, {**vars(builtins), **function.__globals__}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(code, names, function.__name__, None, cells)
        self._made[function] = copy
        read = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
        for name in read.intersection(names):
            if name[0] != "@":  # of pytest
                names[name] = self._found(names[name], code.co_names)
        for cell, own in zip(function.__closure__ or (), cells, strict=True):
            own.cell_contents = self._found(cell.cell_contents, code.co_names)
        copy.__defaults__ = self.replaced(function.__defaults__)
        copy.__kwdefaults__ = {k: self.replaced(v) for k, v in (function.__kwdefaults__ or {}).items()}
        return copy

    def _found(self, value: Any, names: tuple[str, ...]) -> Any:
        """names: of the attributes that the code may read, where barriers may be."""
        if isinstance(value, (ModuleType, type)):
            for name in {*names} & {*vars(value)}:
                inner = vars(value)[name]
                function = isinstance(getattr(inner, "__wrapped__", inner), FunctionType)
                if function or isinstance(inner, (ModuleType, type)):
                    self._found(inner, tuple(n for n in names if n != name))
        return self.replaced(value)

    def replaced(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.replaced, value))
        if (found := find(value)) is not None:
            special: dict[str, Any] = {"len": self._len, "range": self._range, "print": print}
            return special.get(found) or functools.partial(self.rules.call, value)
        if not isinstance(value, str) and dtype_of(value) is not None:
            return Cast(value, self.rules)
        if isinstance(value, BuiltinFunctionType) and value in FUNCTIONS:
            return self.function(FUNCTIONS[value])
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            self.waits = self.waits or value is kernel_api.barrier
            own = str(inner.__module__).partition(".")[0] not in _LIBRARIES
            return self.function(inner) if own else value
        if isinstance(value, (ModuleType, type)) and value not in vars(builtins).values():
            return _Attributes(value, self)
        wrapped = wrap(value)
        if isinstance(wrapped, str):
            raise TypeError(wrapped)
        number = number_of(wrapped)
        if number is None:
            return value
        if isinstance(value, enum.Enum) and (kind := type(number.value)) in (int, float, complex):
            return type(kind.__name__, (kind,), {"value": property(kind)})(number.value)
        return self.rules.unwrapped(number)

    def _len(self, value: Any) -> Any:
        return value.shape[0] if isinstance(value, Elements) and value.shape else len(value)

    def _range(self, *limits: Any) -> Iterator[Typed]:
        for limit in limits:
            if (number := operand(limit)) and not (number.type.whole or number.type == BOOL):
                raise TypeError(f"range of {number.type}: integers are allowed")
        given = [self.rules.call(int, limit) if operand(limit) else limit for limit in limits]
        return (Typed(k, INT64, self.rules) for k in range(*map(int, given)))
