"""repr and str of arrays: short, never raising, never reading more than a corner of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import USMArray

EDGE = 3  # elements shown at each end of a long axis
THRESHOLD = 1000  # elements up to which all are shown, where no axis is long
LONG = 75
DEEP = 6  # dimensions up to which elements are shown


def _format(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _corner(array: USMArray, axis: int = 0) -> list[Any]:
    """Nested lists of strings of what is shown; None stands for what is left out."""
    if array.ndim == 0:
        return [_format(array.item())]
    length = array.shape[0]
    rows: list[Any]
    if length <= 2 * EDGE or (array.size <= THRESHOLD and length <= LONG):
        rows = list(range(length))
    else:
        rows = [*range(EDGE), None, *range(length - EDGE, length)]
    if array.ndim == 1:
        return [None if row is None else _format(array[row].item()) for row in rows]
    return [None if row is None else _corner(array[row], axis + 1) for row in rows]


def _join(nested: list[Any], indent: int, depth: int) -> str:
    if depth <= 1:
        return "[" + ", ".join("..." if item is None else item for item in nested) + "]"
    separator = "," + "\n" * (depth - 1) + " " * (indent + 1)
    items = ("..." if item is None else _join(item, indent + 1, depth - 1) for item in nested)
    return "[" + separator.join(items) + "]"


def _elements(array: USMArray, indent: int) -> str:
    if array.size == 0:
        return "[]"
    if array.ndim > DEEP:  # the corners alone would be too many
        return f"<{array.size} elements>"
    try:
        nested = _corner(array)
    except Exception as error:
        # A failed task, a lost device, a type without numbers: the rest is still worth showing.
        first = str(error).partition("\n")[0]
        return f"<{type(error).__name__}: {first[:120]}>"
    if array.ndim == 0:
        return str(nested[0])
    return _join(nested, indent, array.ndim)


def array_str(array: USMArray) -> str:
    return _elements(array, 0)


def array_repr(array: USMArray) -> str:
    try:
        place = f"device={array.device.filter_string!r}"
    except Exception as error:
        place = f"device=<{type(error).__name__}>"
    text = _elements(array, len("USMArray("))
    return f"USMArray({text}, shape={array.shape}, dtype={array.dtype}, {place}, usm_type={array.usm_type!r})"
