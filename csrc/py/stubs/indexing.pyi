"""Functions that read and write elements by index or mask, written in Python."""

from typing import Any, SupportsIndex

from .array import USMArray

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
