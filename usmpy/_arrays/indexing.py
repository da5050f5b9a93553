"""put, put_along_axis, extract and place, as in NumPy and dpctl; they are written with ``x[...]``."""

from __future__ import annotations

from .. import _core
from ..errors import AxisError
from .objects import as_int, shown

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any, SupportsIndex

    from .._core import USMArray


def _checked(x: object, function: str, parameter: str = "x") -> USMArray:
    if not isinstance(x, _core.USMArray):
        raise TypeError(
            f"{function}(): {parameter} is a {type(x).__name__:.80}; a USMArray is allowed "
            f"(asarray({parameter}, device=...) makes a USMArray, and asnumpy() an array of NumPy)"
        )
    return x


def _array_of(value: Any, x: USMArray) -> USMArray:
    """The value as an array, on the queue of `x` if it is none yet."""
    return value if isinstance(value, _core.USMArray) else _core.asarray(value, queue=x.queue)


def _axis_of(x: USMArray, axis: SupportsIndex) -> int:
    try:
        return range(x.ndim)[as_int(axis, "axis")]
    except IndexError:
        raise AxisError(
            f"axis is {shown(axis)}; the array has {x.ndim} dimensions, so {-x.ndim} to {x.ndim - 1} are "
            "allowed"
        ) from None


def _integers(ind: Any, x: USMArray) -> Any:
    """Integers as a key; masks, slices and None, which a key may be, too, would select other elements."""
    if type(ind) is int:
        return ind
    index = _array_of(ind, x)
    if index.dtype == "bool":
        raise IndexError("put(): ind has dtype bool; integers are allowed (x[mask] = v takes a mask)")
    return index if index.size else _core.astype(index, "int64")


def put(x: USMArray, /, ind: Any, v: Any, *, axis: SupportsIndex | None = None) -> None:
    _checked(x, "put")
    ind = _integers(ind, x)
    if axis is not None:
        x[(slice(None),) * _axis_of(x, axis) + (ind,)] = v
    elif x.ndim == 1:
        x[ind] = v
    else:
        flat = _core.reshape(x, (-1,))
        flat[ind] = v
        if not x.flags.c_contiguous:  # reshape has copied
            x[...] = _core.reshape(flat, x.shape)


def put_along_axis(x: USMArray, /, indices: Any, values: Any, axis: SupportsIndex = -1) -> None:
    _checked(x, "put_along_axis")
    at = _axis_of(x, axis)
    index = _array_of(indices, x)
    if index.ndim != x.ndim:
        raise ValueError(
            f"put_along_axis(): x has {x.ndim} dimensions and indices {index.ndim}; the same number is needed"
        )
    key: list[USMArray] = []
    for i, length in enumerate(x.shape):
        shape = tuple(-1 if k == i else 1 for k in range(x.ndim))
        places = _core.reshape(_core.arange(length, queue=x.queue), shape)
        key.append(index if i == at else places)
    x[tuple(key)] = values


def _truths(mask: USMArray) -> USMArray:
    return mask if mask.dtype == "bool" else _core.not_equal(mask, 0)


def extract(condition: Any, arr: USMArray) -> USMArray:
    _checked(arr, "extract", "arr")
    mask = _array_of(condition, arr)
    if mask.size != arr.size:
        raise ValueError(
            f"extract(): condition has {mask.size} elements and arr {arr.size}; the same number is needed"
        )
    return _core.reshape(arr, (-1,))[_core.reshape(_truths(mask), (-1,))]


def place(x: USMArray, /, mask: Any, vals: Any) -> None:
    _checked(x, "place")
    where = _array_of(mask, x)
    if where.shape != x.shape:
        raise ValueError(f"place(): mask has shape {where.shape} and x {x.shape}; they must be equal")
    where = _truths(where)
    if _core._number(vals) is not None:
        x[where] = vals
        return
    dtype = x.dtype if isinstance(vals, (list, tuple)) else None  # its numbers must fit
    values = _core.reshape(_core.asarray(vals, dtype=dtype, queue=x.queue), (-1,))
    count = int(_core.count_nonzero(where))
    if count == 0:
        return
    if values.size == 0:
        raise ValueError("place(): vals is empty, and the mask has true elements")
    x[where] = _core.tile(values, -(-count // values.size))[:count]
