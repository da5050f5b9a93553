"""Sorts and searches."""

import builtins
from typing import SupportsIndex

from .array import USMArray

def sort(
    x: USMArray,
    /,
    *,
    axis: SupportsIndex = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> USMArray:
    """The elements in order along an axis.

    Parameters
    ----------
    x : USMArray
        An array of bool, integers or real numbers, of at least one dimension.
    axis : int, default -1
        The axis; the last one by default.
    descending : bool, default False
        The largest element first.
    stable : bool, default True
        Has no effect: elements that are equal always keep their order, also with `descending`.

    Returns
    -------
    USMArray
        A new row-major array on the queue of `x`, in its type and shape.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is complex or only stored.
    ValueError
        `x` has no dimension, or an axis of 2**32 elements or more.
    AxisError
        The axis is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, sort. NaN comes last in both directions, and -0.0 equals 0.0. The sort
    goes by the bits of the elements, digit by digit, and gives the same result on every device.

    Examples
    --------
    >>> usmpy.sort(usmpy.asarray([3, 1, 2])).tolist()
    [1, 2, 3]
    >>> usmpy.sort(usmpy.asarray([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """

def argsort(
    x: USMArray,
    /,
    *,
    axis: SupportsIndex = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> USMArray:
    """The indices that put an axis in order.

    Parameters
    ----------
    x : USMArray
        An array of bool, integers or real numbers, of at least one dimension.
    axis : int, default -1
        The axis; the last one by default.
    descending : bool, default False
        The largest element first.
    stable : bool, default True
        Has no effect: elements that are equal always keep their order, also with `descending`.

    Returns
    -------
    USMArray
        Indices of int64 in the shape of `x`, on its queue.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is complex or only stored.
    ValueError
        `x` has no dimension, or an axis of 2**32 elements or more.
    AxisError
        The axis is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, argsort. NaN comes last in both directions, and -0.0 equals 0.0. The sort
    goes by the bits of the elements, digit by digit, and gives the same result on every device.

    Examples
    --------
    >>> usmpy.argsort(usmpy.asarray([3, 1, 2])).tolist()
    [1, 2, 0]
    """

def _search(x1: USMArray, x2: USMArray, sorter: USMArray | None, right: builtins.bool, /) -> USMArray:
    """usmpy.searchsorted of arrays of one queue and type; x1 and the sorter are vectors of one length."""

def nonzero(x: USMArray, /) -> tuple[USMArray, ...]:
    """The indices of the elements that are not 0, in row-major order.

    Parameters
    ----------
    x : USMArray
        At least one dimension.

    Returns
    -------
    tuple of USMArrays
        A vector of int64 for each axis.

    Raises
    ------
    ValueError
        `x` has 0 dimensions.
    TypeError
        `x` is not a USMArray, or its type is only stored.
    UsmError
        Work on the memory failed.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, nonzero. The call waits on the host, for the number of elements.

    Examples
    --------
    >>> [index.tolist() for index in usmpy.nonzero(usmpy.asarray([[0, 5], [7, 0]]))]
    [[0, 1], [1, 0]]
    """
