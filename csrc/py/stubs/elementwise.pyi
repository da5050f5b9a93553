"""Comparisons and logic, element by element; csrc/kernels/operations.py has the other operations."""

from collections.abc import Callable
from typing import Any, overload

from .array import USMArray
from .types import _CopyOrder

def explain_operation(
    function: Callable[..., Any] | str,
    x1: USMArray | complex,
    x2: USMArray | complex = ...,
    /,
) -> str:
    """Describe how a function would compute, as text with a line for each fact; nothing is computed.

    Parameters
    ----------
    function : callable or str
        A function of usmpy or its name: one of arithmetic or mathematics element by element, ``sum``,
        ``prod``, ``max``, ``min``, ``argmax``, ``argmin``, ``cumulative_sum``, ``cumulative_prod``, ``sort``,
        ``argsort`` or ``matmul``.
    x1 : USMArray or number
        Its first argument.
    x2 : USMArray or number, optional
        Its second argument, where it takes two arrays; one of them may be a number.

    Returns
    -------
    str
        The types of the arguments, of the computation and of the result; then what computes. These are loops
        of the host with their set of instructions, and the file of the library (libmvec) whose functions they
        call or the C library's scalar functions; or built-in kernels of the device, by their module; or a
        copy. Of ``matmul`` the text of `explain_matmul`.

    Raises
    ------
    ValueError
        The function is another one, or shapes do not broadcast.
    TypeError
        The function does not take these arguments or types.
    OverflowError
        A number does not fit into the type of the array.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    Other functions are put together from these: ``mean`` from ``sum`` and ``divide``, ``unique_values`` from
    ``sort`` and a comparison. `explain_copy` describes copies. The first call for a function that libmvec may
    have opens that library.

    Examples
    --------
    >>> x = usmpy.ones(3, dtype=usmpy.float32, device="host")
    >>> print(usmpy.explain_operation(usmpy.exp, x))
    exp of float32, computed in float32, result in float32
    by: loops of the host, ...
    """

def equal(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Which elements are equal: ``x1 == x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array; shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        No argument is a USMArray, or an argument is neither an array nor a number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, equal. Integers are compared by value, also
    ``uint64`` with signed types, and ints that the type of the array does not hold.
    NaN equals nothing.

    Examples
    --------
    >>> usmpy.equal(usmpy.arange(3), 1).tolist()
    [False, True, False]
    """

def not_equal(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Which elements differ: ``x1 != x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array; shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        No argument is a USMArray, or an argument is neither an array nor a number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, not_equal. Ints that an integer type does not hold are compared by
    value. NaN equals nothing.

    Examples
    --------
    >>> usmpy.not_equal(usmpy.arange(3), 1).tolist()
    [True, False, True]
    """

def less(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Which elements are less than others: ``x1 < x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array; shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        An argument is complex, since complex numbers have no order; no argument is a USMArray, or an
        argument is neither an array nor a number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, less. Integers are compared by value, also
    ``uint64`` with signed types, and ints that the type of the array does not hold.
    NaN equals nothing.

    Examples
    --------
    >>> usmpy.less(usmpy.arange(3), 1).tolist()
    [True, False, False]
    """

def less_equal(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Which elements are less than or equal to others: ``x1 <= x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array; shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        An argument is complex, since complex numbers have no order; no argument is a USMArray, or an
        argument is neither an array nor a number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, less_equal. Ints that an integer type does not hold are compared by
    value. NaN equals nothing.

    Examples
    --------
    >>> usmpy.less_equal(usmpy.arange(3), 1).tolist()
    [True, True, False]
    """

def greater(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Which elements are greater than others: ``x1 > x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array; shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        An argument is complex, since complex numbers have no order; no argument is a USMArray, or an
        argument is neither an array nor a number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, greater. Ints that an integer type does not hold are compared by
    value. NaN equals nothing.

    Examples
    --------
    >>> usmpy.greater(usmpy.arange(3), 1).tolist()
    [False, False, True]
    """

def greater_equal(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Which elements are greater than or equal to others: ``x1 >= x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array; shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        An argument is complex, since complex numbers have no order; no argument is a USMArray, or an
        argument is neither an array nor a number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, greater_equal. Ints that an integer type does not hold are compared by
    value. NaN equals nothing.

    Examples
    --------
    >>> usmpy.greater_equal(usmpy.arange(3), 1).tolist()
    [False, True, True]
    """

def logical_and(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Truth values joined by and; of arrays of bool also ``x1 & x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array, of any type with numbers: all but 0 is true. Shapes broadcast.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        No argument is a USMArray, an argument is neither an array nor a number, or its type is only
        stored.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, logical_and. Other types than bool are NumPy's.

    Examples
    --------
    >>> usmpy.logical_and(usmpy.asarray([True, False, True]), usmpy.asarray([0, 1, 2])).tolist()
    [False, False, True]
    """

def logical_or(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Truth values joined by or; of arrays of bool also ``x1 | x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array, of any type with numbers: all but 0 is true. Shapes broadcast.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        No argument is a USMArray, an argument is neither an array nor a number, or its type is only
        stored.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, logical_or. Other types than bool are NumPy's.

    Examples
    --------
    >>> usmpy.logical_or(usmpy.asarray([True, False, True]), usmpy.asarray([0, 1, 2])).tolist()
    [True, True, True]
    """

def logical_xor(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Truth values joined by xor; of arrays of bool also ``x1 ^ x2``.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array, of any type with numbers: all but 0 is true. Shapes broadcast.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        No argument is a USMArray, an argument is neither an array nor a number, or its type is only
        stored.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, logical_xor. Other types than bool are NumPy's.

    Examples
    --------
    >>> usmpy.logical_xor(usmpy.asarray([True, False, True]), usmpy.asarray([0, 1, 2])).tolist()
    [True, True, False]
    """

def logical_not(x: USMArray, /, *, out: USMArray | None = None, order: _CopyOrder | None = "K") -> USMArray:
    """The opposite truth values; of arrays of bool also ``~x``.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers: all but 0 is true.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    ValueError
        `out` has another shape or is read-only.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, logical_not. Other types than bool are NumPy's.

    Examples
    --------
    >>> usmpy.logical_not(usmpy.asarray([0, 2])).tolist()
    [True, False]
    """

def isnan(x: USMArray, /, *, out: USMArray | None = None, order: _CopyOrder | None = "K") -> USMArray:
    """Which elements are NaN.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers; integers and bool are finite. A complex number is NaN or infinite where
        a part of it is.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    ValueError
        `out` has another shape or is read-only.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, isnan.

    Examples
    --------
    >>> usmpy.isnan(usmpy.asarray([1.0, usmpy.nan, usmpy.inf])).tolist()
    [False, True, False]
    """

def isinf(x: USMArray, /, *, out: USMArray | None = None, order: _CopyOrder | None = "K") -> USMArray:
    """Which elements are infinite.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers; integers and bool are finite. A complex number is NaN or infinite where
        a part of it is.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    ValueError
        `out` has another shape or is read-only.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, isinf.

    Examples
    --------
    >>> usmpy.isinf(usmpy.asarray([1.0, usmpy.nan, usmpy.inf])).tolist()
    [False, False, True]
    """

def isfinite(x: USMArray, /, *, out: USMArray | None = None, order: _CopyOrder | None = "K") -> USMArray:
    """Which elements are finite.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers; integers and bool are finite. A complex number is NaN or infinite where
        a part of it is.
    out : USMArray, optional
        An array of bool in the shape of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array, of bool.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is only stored.
    ValueError
        `out` has another shape or is read-only.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, isfinite.

    Examples
    --------
    >>> usmpy.isfinite(usmpy.asarray([1.0, usmpy.nan, usmpy.inf])).tolist()
    [True, False, False]
    """

@overload
def where(condition: USMArray, /) -> tuple[USMArray, ...]: ...
@overload
def where(
    condition: USMArray,
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Elements of one array or another, by a condition.

    Parameters
    ----------
    condition : USMArray
        All but 0 is true. Alone, as nonzero takes it.
    x1, x2 : USMArray or number
        The values where the condition is true, and where it is false. Shapes broadcast; types are
        promoted as in `result_type`.
    out : USMArray, optional
        An array in the shape and dtype of the result, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray, or tuple of USMArrays
        `out`, or a new array; without `x1` and `x2` what nonzero(condition) returns.

    Raises
    ------
    TypeError
        There is no common type, or `condition` is not a USMArray, or an argument is neither an array nor a
        number.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, where. Conditions of other types than bool, two numbers, and calls
    with the condition only follow NumPy.

    Examples
    --------
    >>> x = usmpy.arange(4)
    >>> usmpy.where(x > 1, x, 0).tolist()
    [0, 0, 2, 3]
    """
