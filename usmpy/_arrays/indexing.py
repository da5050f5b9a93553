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
    """Write values at indices, along one axis or in the whole array.

    Parameters
    ----------
    x : USMArray
        The array that is written to.
    ind : USMArray, sequence or array of integers
        Indices along `axis`; negative ones count from the end. With ``axis=None``, they index the array in
        row-major order.
    v : number or array
        The new values. They broadcast to the shape of the selection, and are cast as by
        ``x[...] = v``.
    axis : int, optional
        The axis that the indices are along.

    Raises
    ------
    IndexError
        An index is out of range, or `ind` has no integers; nothing is written then.
    ValueError
        `v` does not broadcast, or `x` is read-only.
    TypeError
        `x` is not a USMArray, or ``casting="same_kind"`` does not allow the cast of `v`.

    Notes
    -----
    If an index occurs several times, any of its values may remain. NumPy's ``put`` repeats `v` if there are
    too few; this function does not.

    Examples
    --------
    >>> x = usmpy.zeros((2, 3), dtype="int32")
    >>> usmpy.put(x, [0, -1], [5, 7])
    >>> usmpy.put(x, [1], 9, axis=1)
    >>> x.tolist()
    [[5, 9, 0], [0, 9, 7]]
    """
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
    """Write values at indices along one axis, with separate indices for each position on the other axes.

    Parameters
    ----------
    x : USMArray
        The array that is written to.
    indices : USMArray or array of integers
        As many dimensions as `x`; its other axes have the lengths of `x`, or 1.
    values : number or array
        The new values; they broadcast to the shape of `indices`.
    axis : int, default -1
        The axis that the indices are along.

    Raises
    ------
    AxisError
        `axis` is out of range.
    IndexError
        An index is out of range; nothing is written then.
    ValueError
        The numbers of dimensions differ, shapes do not broadcast, or `x` is read-only.
    TypeError
        As in `put`.

    Examples
    --------
    >>> x = usmpy.zeros((2, 3), dtype="int32")
    >>> usmpy.put_along_axis(x, [[2], [0]], [[5], [7]], axis=1)
    >>> x.tolist()
    [[0, 0, 5], [7, 0, 0]]
    """
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
    """Return the elements of an array at which a condition is true, in one dimension.

    Parameters
    ----------
    condition : USMArray or array
        Its nonzero elements, in row-major order, select elements of `arr`.
    arr : USMArray
        An array with as many elements as `condition`.

    Returns
    -------
    USMArray
        A vector in new memory; equal to ``arr[condition]`` if the shapes are equal.

    Raises
    ------
    ValueError
        The sizes differ.
    TypeError
        `arr` is not a USMArray.

    Examples
    --------
    >>> x = usmpy.arange(6)
    >>> usmpy.extract(x > 3, x).tolist()
    [4, 5]
    """
    _checked(arr, "extract", "arr")
    mask = _array_of(condition, arr)
    if mask.size != arr.size:
        raise ValueError(
            f"extract(): condition has {mask.size} elements and arr {arr.size}; the same number is needed"
        )
    return _core.reshape(arr, (-1,))[_core.reshape(_truths(mask), (-1,))]


def place(x: USMArray, /, mask: Any, vals: Any) -> None:
    """Write consecutive values at the true elements of a mask.

    Parameters
    ----------
    x : USMArray
        The array that is written to.
    mask : USMArray or array
        A mask of the shape of `x`; its nonzero elements are true.
    vals : number or array
        The new values, in row-major order: one for each true element. They are repeated if there are too few.

    Raises
    ------
    ValueError
        The shapes differ, `vals` is empty although the mask has true elements, or `x` is read-only.
    TypeError
        As in `put`.

    Notes
    -----
    ``x[mask] = vals`` is the same if `vals` is a number, or has as many elements as the mask has true
    ones.

    Examples
    --------
    >>> x = usmpy.arange(5)
    >>> usmpy.place(x, x > 1, [10, 20])
    >>> x.tolist()
    [0, 1, 10, 20, 10]
    """
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
