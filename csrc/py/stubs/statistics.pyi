"""Statistics, written in Python."""

import builtins
from typing import SupportsIndex

from .array import USMArray

def mean(
    x: USMArray, /, axis: int | tuple[int, ...] | None = None, keepdims: builtins.bool = False
) -> USMArray:
    """Calculate the arithmetic mean along axes.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers.
    axis : int or tuple of int, optional
        The axes, negative ones counted from the last. None: all of them.
    keepdims : bool, default False
        Keep the axes, with length 1.

    Returns
    -------
    USMArray
        On the queue of `x`, in its type; integers give float64, or float32 where the device has no double
        precision. NaN where there are no elements.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is refused.
    ValueError
        An axis is out of range or given twice.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, mean. The sum has the order of sum(), so that every device gives the same
    bits; float16 and bfloat16 are added up in float32.

    Examples
    --------
    >>> usmpy.mean(usmpy.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [2.0, 3.0]
    """

def var(
    x: USMArray,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: builtins.bool = False,
) -> USMArray:
    """Calculate the variance along axes: the mean of the squared distances from the mean.

    Parameters
    ----------
    x : USMArray
        An array of integers or real numbers.
    axis : int or tuple of int, optional
        The axes, negative ones counted from the last. None: all of them.
    correction : float, default 0.0
        What the number of elements is reduced by, as the divisor: 1.0 for samples.
    keepdims : bool, default False
        Keep the axes, with length 1.

    Returns
    -------
    USMArray
        On the queue of `x`, in its type; integers give float64, or float32 where the device has no double
        precision. NaN or infinity where the divisor is 0 or below.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is refused; `correction` is no number.
    ValueError
        An axis is out of range or given twice.
    MemoryError
        Memory is exhausted, also that of the distances.

    Notes
    -----
    The array API standard 2025.12, var. The bits are the same on every device; float16 and bfloat16 are
    computed in float32.

    Examples
    --------
    >>> usmpy.var(usmpy.asarray([1.0, 2.0, 3.0, 4.0])).tolist()
    1.25
    """

def std(
    x: USMArray,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: builtins.bool = False,
) -> USMArray:
    """Calculate the standard deviation along axes: the square root of the variance.

    Parameters
    ----------
    x : USMArray
        An array of integers or real numbers.
    axis : int or tuple of int, optional
        The axes, negative ones counted from the last. None: all of them.
    correction : float, default 0.0
        What the number of elements is reduced by, as the divisor: 1.0 for samples.
    keepdims : bool, default False
        Keep the axes, with length 1.

    Returns
    -------
    USMArray
        On the queue of `x`, in the type of var().

    Raises
    ------
    TypeError, ValueError, MemoryError
        As in var().

    Notes
    -----
    The array API standard 2025.12, std. The bits are the same on every device.

    Examples
    --------
    >>> usmpy.std(usmpy.asarray([1.0, 3.0, 1.0, 3.0])).tolist()
    1.0
    """

def clip(
    x: USMArray,
    /,
    min: USMArray | float | None = None,
    max: USMArray | float | None = None,
) -> USMArray:
    """Confine elements to a range.

    Parameters
    ----------
    x : USMArray
        An array of integers or real numbers.
    min, max : USMArray or number, optional
        The bounds, which belong to the range and broadcast with `x`. None: there is none. An integer beyond
        those that the type of `x` holds bounds nothing. Where `min` is above `max`, the result is `max`.

    Returns
    -------
    USMArray
        A new array in the type of `x`, on its queue. NaN where `x` or a bound is NaN.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is refused; a bound is of a wider type.
    ValueError
        Shapes do not broadcast.
    OverflowError
        `min` is an int above all integers of the type of `x`, or `max` is one below them.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, clip.

    Examples
    --------
    >>> usmpy.clip(usmpy.asarray([-2, 0, 3]), -1, 1).tolist()
    [-1, 0, 1]
    """

def diff(
    x: USMArray,
    /,
    *,
    axis: SupportsIndex = -1,
    n: int = 1,
    prepend: USMArray | None = None,
    append: USMArray | None = None,
) -> USMArray:
    """Calculate differences of neighbours along an axis.

    Parameters
    ----------
    x : USMArray
        An array of one dimension or more.
    axis : int, default -1
        The axis.
    n : int, default 1
        How many times differences are taken, of differences then.
    prepend, append : USMArray, optional
        Elements that are put before and after those of `x` along the axis, with the lengths of `x` along the
        others.

    Returns
    -------
    USMArray
        On the queue of `x`, shorter by `n` along the axis. For bool, whether neighbours differ.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is refused.
    ValueError
        `n` is negative, or lengths differ.
    AxisError
        `axis` is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, diff.

    Examples
    --------
    >>> usmpy.diff(usmpy.asarray([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """
