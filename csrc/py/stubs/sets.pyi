"""Sets, written in Python."""

import builtins
from typing import Literal

from usmpy._arrays.sets import UniqueAll, UniqueCounts, UniqueInverse

from .array import USMArray

def searchsorted(
    x1: USMArray,
    x2: USMArray | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: USMArray | None = None,
) -> USMArray:
    """Where values belong in a sorted vector.

    Parameters
    ----------
    x1 : USMArray
        A vector in ascending order, or one that `sorter` puts in order.
    x2 : USMArray or number
        The values.
    side : {"left", "right"}, default "left"
        Whether a value goes before elements that equal it, or behind them.
    sorter : USMArray, optional
        Indices of `x1` in ascending order of its elements, as argsort gives them.

    Returns
    -------
    USMArray
        Indices of int64 in the shape of `x2`, from 0 to the length of `x1`.

    Raises
    ------
    TypeError
        An argument has another type than these, or the common type of `x1` and `x2` is complex.
    ValueError
        `x1` is not a vector, `sorter` has another shape or no integers, or `side` is another word.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, searchsorted. NaN counts as larger than every number, and -0.0 equals 0.0.
    Indices in `sorter` that are out of range stand for the nearest one.

    Examples
    --------
    >>> x = usmpy.asarray([1, 3, 3, 5])
    >>> usmpy.searchsorted(x, usmpy.asarray([0, 3, 9])).tolist()
    [0, 1, 4]
    >>> usmpy.searchsorted(x, 3, side="right").tolist()
    3
    """

def unique_values(x: USMArray, /) -> USMArray:
    """The values that an array has, each once.

    Parameters
    ----------
    x : USMArray
        An array of any shape, of any type with numbers.

    Returns
    -------
    USMArray
        A vector in ascending order, on the queue of `x`.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, unique_values. Each NaN is a value of its own, and 0.0 and -0.0 are one
    value, of which the first that occurs is returned. Complex numbers are in order of their real parts, and
    then of their imaginary ones. The call waits on the host, for the number of values.

    Examples
    --------
    >>> usmpy.unique_values(usmpy.asarray([3, 1, 3])).tolist()
    [1, 3]
    """

def unique_counts(x: USMArray, /) -> UniqueCounts:
    """The values that an array has, and how often.

    Parameters
    ----------
    x : USMArray
        An array of any shape, of any type with numbers.

    Returns
    -------
    UniqueCounts
        ``values``, in ascending order, and ``counts``, of int64: vectors on the queue of `x`.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, unique_counts. NaN, zeros and complex numbers are treated as by
    unique_values.

    Examples
    --------
    >>> values, counts = usmpy.unique_counts(usmpy.asarray([3, 1, 3]))
    >>> values.tolist(), counts.tolist()
    ([1, 3], [1, 2])
    """

def unique_inverse(x: USMArray, /) -> UniqueInverse:
    """The values that an array has, and which of them each element is.

    Parameters
    ----------
    x : USMArray
        An array of any shape, of any type with numbers.

    Returns
    -------
    UniqueInverse
        ``values``, a vector in ascending order, and ``inverse_indices``, of int64 in the shape of `x`, so
        that ``take(values, inverse_indices)`` gives `x`.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, unique_inverse. NaN, zeros and complex numbers are treated as by
    unique_values.

    Examples
    --------
    >>> values, inverse = usmpy.unique_inverse(usmpy.asarray([3, 1, 3]))
    >>> values.tolist(), inverse.tolist()
    ([1, 3], [1, 0, 1])
    """

def unique_all(x: USMArray, /) -> UniqueAll:
    """The values that an array has, where and how often.

    Parameters
    ----------
    x : USMArray
        An array of any shape, of any type with numbers.

    Returns
    -------
    UniqueAll
        ``values`` in ascending order; ``indices`` of the first element of each value in the flattened `x`;
        ``inverse_indices`` in the shape of `x`; ``counts``. The last three are of int64.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, unique_all. NaN, zeros and complex numbers are treated as by
    unique_values.

    Examples
    --------
    >>> found = usmpy.unique_all(usmpy.asarray([3, 1, 3]))
    >>> found.values.tolist(), found.indices.tolist(), found.counts.tolist()
    ([1, 3], [1, 0], [1, 2])
    """

def isin(x1: USMArray | complex, x2: USMArray | complex, /, *, invert: builtins.bool = False) -> USMArray:
    """Whether each element is one of some values.

    Parameters
    ----------
    x1 : USMArray or number
        The elements.
    x2 : USMArray or number
        The values, of any shape. At least one of the two is an array.
    invert : bool, default False
        Whether it is none of them.

    Returns
    -------
    USMArray
        An array of bool in the shape of `x1`.

    Raises
    ------
    TypeError
        An argument has another type than these, or the two types have no common one.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, isin. NaN is none of any values, and -0.0 equals 0.0.

    Examples
    --------
    >>> usmpy.isin(usmpy.asarray([1, 2, 3]), usmpy.asarray([3, 1])).tolist()
    [True, False, True]
    """
