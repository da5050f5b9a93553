"""repr and str of arrays: short; they never raise, and read only the corners of large arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._core import USMArray

THRESHOLD = 500  # largest number of elements that are all shown, if no axis is long
LONG = 75
# Elements shown at each end of a long axis, by the number of dimensions: some hundreds in all.
EDGES = (0, 3, 3, 3, 2, 1, 1)

Nested = list[Any]


def read(array: USMArray) -> Any:
    """Nested lists of the elements: the one place where memory is copied for display.

    A debugger may show an array at any time, so an error that is raised here stays unretrieved.
    """
    from .._core import _peek

    return _peek(array)


def _format(value: Any) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _texts(nested: Any) -> Any:
    return [_texts(item) for item in nested] if isinstance(nested, list) else _format(nested)


def _corner(array: USMArray, whole: bool, edge: int) -> Nested:
    """Nested lists of the shown strings; None marks omitted elements."""
    length = array.shape[0]
    if length <= 2 * edge or (whole and length <= LONG):
        parts = [array]
    else:
        parts = [array[:edge], array[length - edge :]]
    rows: Nested = []
    for part in parts:
        rows += [None] if part is not parts[0] else []
        if part.ndim == 1 or (whole and max(part.shape) <= LONG):
            rows += _texts(read(part))
        else:
            rows += [_corner(part[i], whole, edge) for i in range(part.shape[0])]
    return rows


def _join(nested: Nested, indent: int, depth: int) -> str:
    if depth <= 1:
        return "[" + ", ".join("..." if item is None else item for item in nested) + "]"
    separator = "," + "\n" * (depth - 1) + " " * (indent + 1)
    items = ("..." if item is None else _join(item, indent + 1, depth - 1) for item in nested)
    return "[" + separator.join(items) + "]"


def error_text(error: Exception) -> str:
    """The text in place of the elements: a failed task, a lost device, a type without numbers."""
    try:
        first = str(error).partition("\n")[0]
    except Exception:
        first = ""
    return f"<{type(error).__name__:.80}: {first[:120]}>"


def elements(array: USMArray, indent: int) -> str:
    try:
        if array.size == 0:
            return "[]"
        if array.ndim >= len(EDGES):  # even the corners would be too many
            return f"<{array.size} elements>"
        if array.ndim == 0:
            return _format(read(array))
        return _join(_corner(array, array.size <= THRESHOLD, EDGES[array.ndim]), indent, array.ndim)
    except Exception as error:
        return error_text(error)


def place(array: USMArray) -> str:
    try:
        return repr(array.device.filter_string)
    except Exception as error:
        return f"<{type(error).__name__:.80}>"


def array_str(array: USMArray) -> str:
    return elements(array, 0)


def array_repr(array: USMArray) -> str:
    text = elements(array, len("USMArray("))
    more = f"shape={array.shape}, dtype={array.dtype}, device={place(array)}, usm_type={array.usm_type!r}"
    return f"USMArray({text}, {more})"
