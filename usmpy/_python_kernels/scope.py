"""Names of a Python function that are not its own: closures, globals and built-in names are constants."""

from __future__ import annotations

import builtins
import enum
from types import FunctionType
from typing import Any, TypeVar

from .. import _core
from . import types
from .values import Number, Object, Tuple, Value, constant

MISSING = object()

_T = TypeVar("_T")


def get(value: Any, name: str) -> Any:
    """The attribute of an object, or MISSING, also where a property raises."""
    try:
        return getattr(value, name)
    except Exception:
        return MISSING


def entry(table: dict[Any, _T], key: Any) -> _T | None:
    """The table's entry for an object, which may be unhashable; None if there is none."""
    try:
        return table.get(key)
    except Exception:
        return None


def find_name(function: FunctionType, name: str) -> Any:
    """The object of a name that is not the function's own, or MISSING."""
    free = function.__code__.co_freevars
    if name in free and function.__closure__ is not None:
        return get(function.__closure__[free.index(name)], "cell_contents")  # MISSING: it is assigned later
    return function.__globals__.get(name, getattr(builtins, name, MISSING))


def wrap(value: Any) -> Value | str:
    """The constant that an object is in a kernel; a text that says why it is none."""
    if isinstance(value, type) or (isinstance(value, enum.Enum) and not isinstance(value, (int, float))):
        return Object(value)
    if any((t.__module__, t.__name__) == ("numpy", "generic") for t in type(value).__mro__):
        name = str(value.dtype)
        if name in types.ELEMENTS:
            return constant(value.item(), types.ELEMENTS[name])
        return f"a NumPy scalar of {name}: kernels have no such numbers"
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    for kind in kinds:
        if isinstance(value, kind):
            return constant(kind(value))
    if isinstance(value, tuple):
        items = [wrap(item) for item in value]
        wrong = next((item for item in items if isinstance(item, str)), None)
        return wrong if wrong is not None else Tuple([item for item in items if not isinstance(item, str)])
    arrays = ("__dlpack__", "__array_interface__")
    if isinstance(value, _core.USMArray) or any(get(value, name) is not MISSING for name in arrays):
        return "an array that is no argument: pass it to the kernel"
    return Object(value)


def number_of(value: Value) -> Number | None:
    """The number that a value is; members of an Enum are their values."""
    if isinstance(value, Object) and isinstance(value.value, enum.Enum):
        found = wrap(value.value.value)
        return found if isinstance(found, Number) else None
    return value if isinstance(value, Number) else None


def attribute(value: Any, name: str) -> Any:
    """The attribute of a constant object, or MISSING."""
    return MISSING if isinstance(value, (_core.DType, FunctionType)) else get(value, name)


def dtype_of(value: Any) -> str | None:
    """The name of a dtype that a kernel has, for a dtype of usmpy or NumPy, or its name; else None."""
    name = value if isinstance(value, str) else get(value, "name")
    name = get(value, "__name__") if name is MISSING else name
    if isinstance(value, str) or type(value).__module__ == "numpy" or get(value, "__module__") == "numpy":
        name = {"bool_": "bool"}.get(str(name), name)
    elif not isinstance(value, _core.DType):
        return None
    return name if isinstance(name, str) and name in types.ELEMENTS else None
