"""Functions along axes, and products of matrices."""

import builtins
from collections.abc import Sequence

from .array import USMArray
from .types import _Axes, _DTypeLike

def matmul(x1: USMArray, x2: USMArray, /) -> USMArray:
    """The product of matrices; ``x1 @ x2``.

    Parameters
    ----------
    x1 : USMArray
        Matrices in the last two axes, or a vector: an array of one dimension is a row.
    x2 : USMArray
        The same; a vector is a column. Types are promoted as in `result_type`.

    Returns
    -------
    USMArray
        New memory, row-major. The other axes broadcast; of a vector no axis is left.

    Raises
    ------
    ValueError
        `x1` has another number of columns than `x2` rows, the other axes do not broadcast, or an argument has
        no dimensions.
    TypeError
        The common type is bool, or an argument is not a USMArray.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, matmul. On the host and on OpenCL devices that are the host's processors,
    products in float32 and float64 are computed by OpenBLAS if it is found, on CUDA devices by cuBLAS,
    without TF32; `explain_matmul` names the library. All other products are computed by usmpy's own kernel,
    which adds in the order of the inner axis, so that every device gives the same bits. Integers wrap.
    float16 and bfloat16 are computed in float32 and rounded once. Complex products are four products of real
    and imaginary parts. ``x1 @= x2`` writes the product into `x1`, which must have its shape and type. A
    product of two vectors is computed as by `vecdot`, without the conjugate.

    Examples
    --------
    >>> usmpy.matmul(usmpy.asarray([[1, 2], [3, 4]]), usmpy.asarray([10, 1])).tolist()
    [12, 34]
    """

def tensordot(
    x1: USMArray,
    x2: USMArray,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
) -> USMArray:
    """The sum of products along several axes of both arrays.

    Parameters
    ----------
    x1, x2 : USMArray
        Types are promoted as in `result_type`.
    axes : int or tuple of two tuples, default 2
        An int: that many of the last axes of `x1` and of the first ones of `x2`, in order. A pair: axes of
        `x1`, and those of `x2` that they belong to, negative ones counted from the last.

    Returns
    -------
    USMArray
        New memory, row-major: the other axes of `x1`, then those of `x2`.

    Raises
    ------
    ValueError
        Lengths of axes that belong together differ, an axis is out of range or given twice, or the result has
        too many dimensions.
    TypeError
        The common type is bool, or an argument is not a USMArray.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, tensordot. It is computed as a product of matrices (`matmul`); an array
    whose axes do not merge into the two of a matrix is copied first.

    Examples
    --------
    >>> x = usmpy.ones((2, 3, 4))
    >>> usmpy.tensordot(x, x, axes=((1, 2), (1, 2))).tolist()
    [[12.0, 12.0], [12.0, 12.0]]
    """

def vecdot(x1: USMArray, x2: USMArray, /, *, axis: int = -1) -> USMArray:
    """The sum of products along one axis; of complex numbers, with the conjugate of `x1`.

    Parameters
    ----------
    x1, x2 : USMArray
        Types are promoted as in `result_type`, and the other axes broadcast.
    axis : int, default -1
        The axis, counted from the last where the arrays have different numbers of dimensions.

    Returns
    -------
    USMArray
        New memory, row-major, without the axis.

    Raises
    ------
    ValueError
        The axis is out of range or has different lengths, or the other axes do not broadcast.
    TypeError
        The common type is bool, or an argument is not a USMArray.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, vecdot. The products are stored (float16 and bfloat16 ones in float32) and
    added as by `sum`, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.vecdot(usmpy.asarray([[1, 2], [3, 4]]), usmpy.asarray([10, 1])).tolist()
    [12, 34]
    """

def explain_matmul(x1: USMArray, x2: USMArray, /) -> str:
    """Describe how `matmul` would compute a product, as text with a line for each fact; nothing is computed.

    Parameters
    ----------
    x1, x2 : USMArray
        As in `matmul`.

    Returns
    -------
    str
        The shapes and the type that is computed in; the file of the library, or that usmpy's own kernel is
        used, with the reason where a BLAS library would be but none was found; and which arguments are copied
        first.

    Raises
    ------
    ValueError, TypeError, ExecutionPlacementError
        As `matmul`.

    Notes
    -----
    On the host and on OpenCL devices that are the host's processors, OpenBLAS is looked for on the first call
    that could use it: in NumPy's package, in scipy-openblas64 and scipy-openblas32, then among the system's
    libraries. The environment variable ``USMPY_BLAS_LIBRARY`` names another file, or is ``none``.

    Examples
    --------
    >>> x = usmpy.ones((2, 3), dtype=usmpy.int32, device="host")
    >>> print(usmpy.explain_matmul(x, x.mT))
    matmul of (2, 3) and (3, 2), computed in int32
    by: usmpy's own kernel
    x1: in place
    x2: in place
    """

def sum(
    x: USMArray,
    /,
    axis: _Axes | None = None,
    *,
    keepdims: builtins.bool = False,
    dtype: _DTypeLike | None = None,
) -> USMArray:
    """The sum along axes.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.
    dtype : DType, str, type or numpy.dtype, optional
        The type of the result, to which elements are converted first. By default int64 or uint64 for
        integers and bool, and else the type of `x`.

    Returns
    -------
    USMArray
        On the queue of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or the operation is not defined for that of `x`.
    AxisError
        An axis is out of range.
    ValueError
        An axis occurs twice.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, sum. The order in which elements are joined depends on the length
    of the axes alone, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.sum(usmpy.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """

def prod(
    x: USMArray,
    /,
    axis: _Axes | None = None,
    *,
    keepdims: builtins.bool = False,
    dtype: _DTypeLike | None = None,
) -> USMArray:
    """The product along axes.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.
    dtype : DType, str, type or numpy.dtype, optional
        The type of the result, to which elements are converted first. By default int64 or uint64 for
        integers and bool, and else the type of `x`.

    Returns
    -------
    USMArray
        On the queue of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or the operation is not defined for that of `x`.
    AxisError
        An axis is out of range.
    ValueError
        An axis occurs twice.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, prod. The order in which elements are joined depends on the length
    of the axes alone, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.prod(usmpy.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [3, 8]
    """

def max(x: USMArray, /, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
    """The largest element along axes.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers that have an order.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.

    Returns
    -------
    USMArray
        On the queue of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or the operation is not defined for that of `x`.
    AxisError
        An axis is out of range.
    ValueError
        An axis occurs twice, or there are no elements.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, max. The order in which elements are joined depends on the length
    of the axes alone, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.max(usmpy.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [3, 4]
    """

def min(x: USMArray, /, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
    """The smallest element along axes.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers that have an order.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.

    Returns
    -------
    USMArray
        On the queue of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or the operation is not defined for that of `x`.
    AxisError
        An axis is out of range.
    ValueError
        An axis occurs twice, or there are no elements.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, min. The order in which elements are joined depends on the length
    of the axes alone, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.min(usmpy.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [1, 2]
    """

def argmax(
    x: USMArray,
    /,
    axis: int | None = None,
    keepdims: builtins.bool = False,
) -> USMArray:
    """Where the largest element along an axis is.

    Parameters
    ----------
    x : USMArray
        An array of bool or of numbers that have an order.
    axis : int, optional
        The axis, a negative one counted from the last. None: all of them, in row-major order.
    keepdims : bool, default False
        Keep the axes, with length 1.

    Returns
    -------
    USMArray
        Indices along the axis, as int64, on the queue of `x`. Of equal elements the first counts, and NaN
        before any number.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is refused; `axis` is no int.
    ValueError
        There are no elements along the axis.
    AxisError
        `axis` is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, argmax. It says nothing about NaN; NumPy has the same rule.

    Examples
    --------
    >>> usmpy.argmax(usmpy.asarray([[3, 1, 2], [4, 6, 5]]), axis=1).tolist()
    [0, 1]
    """

def argmin(
    x: USMArray,
    /,
    axis: int | None = None,
    keepdims: builtins.bool = False,
) -> USMArray:
    """Where the smallest element along an axis is.

    Parameters
    ----------
    x : USMArray
        An array of bool or of numbers that have an order.
    axis : int, optional
        The axis, a negative one counted from the last. None: all of them, in row-major order.
    keepdims : bool, default False
        Keep the axes, with length 1.

    Returns
    -------
    USMArray
        Indices along the axis, as int64, on the queue of `x`. Of equal elements the first counts, and NaN
        before any number.

    Raises
    ------
    TypeError
        `x` is not a USMArray, or its type is refused; `axis` is no int.
    ValueError
        There are no elements along the axis.
    AxisError
        `axis` is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, argmin. It says nothing about NaN; NumPy has the same rule.

    Examples
    --------
    >>> usmpy.argmin(usmpy.asarray([[3, 1, 2], [4, 6, 5]]), axis=1).tolist()
    [1, 0]
    """

def cumulative_sum(
    x: USMArray,
    /,
    *,
    axis: int | None = None,
    dtype: _DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> USMArray:
    """The sum of all elements up to each, along an axis.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers.
    axis : int, optional
        The axis; may be left out of arrays with one.
    dtype : DType, str, type or numpy.dtype, optional
        The type of the result, to which elements are converted first. By default int64 or uint64 for
        integers and bool, and else the type of `x`.
    include_initial : bool, default False
        Begin with 0: the axis gets one element more.

    Returns
    -------
    USMArray
        On the queue of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or the operation is not defined for that of `x`.
    AxisError
        The axis is out of range.
    ValueError
        The axis is omitted, and the array does not have exactly one dimension.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, cumulative_sum. The order in which elements are joined depends on the
    length of the axis alone, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.cumulative_sum(usmpy.asarray([1, 2, 3])).tolist()
    [1, 3, 6]
    """

def cumulative_prod(
    x: USMArray,
    /,
    *,
    axis: int | None = None,
    dtype: _DTypeLike | None = None,
    include_initial: builtins.bool = False,
) -> USMArray:
    """The product of all elements up to each, along an axis.

    Parameters
    ----------
    x : USMArray
        An array of any type with numbers.
    axis : int, optional
        The axis; may be left out of arrays with one.
    dtype : DType, str, type or numpy.dtype, optional
        The type of the result, to which elements are converted first. By default int64 or uint64 for
        integers and bool, and else the type of `x`.
    include_initial : bool, default False
        Begin with 1: the axis gets one element more.

    Returns
    -------
    USMArray
        On the queue of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or the operation is not defined for that of `x`.
    AxisError
        The axis is out of range.
    ValueError
        The axis is omitted, and the array does not have exactly one dimension.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, cumulative_prod. The order in which elements are joined depends on the
    length of the axis alone, so that every device gives the same bits.

    Examples
    --------
    >>> usmpy.cumulative_prod(usmpy.asarray([1, 2, 3])).tolist()
    [1, 2, 6]
    """

def all(x: USMArray, /, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
    """Whether all elements are true, along axes.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers: all but 0 is true, NaN too.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.

    Returns
    -------
    USMArray
        A new array of bool; True where there are no elements.

    Raises
    ------
    ValueError
        An axis occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type, or that of `x` is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, all.

    Examples
    --------
    >>> usmpy.all(usmpy.asarray([[1, 2], [3, 0]]), axis=1).tolist()
    [True, False]
    """

def any(x: USMArray, /, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
    """Whether any element is true, along axes.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers: all but 0 is true, NaN too.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.

    Returns
    -------
    USMArray
        A new array of bool; False where there are no elements.

    Raises
    ------
    ValueError
        An axis occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type, or that of `x` is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, any.

    Examples
    --------
    >>> bool(usmpy.any(usmpy.asarray([0, 3])))
    True
    """

def count_nonzero(x: USMArray, /, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
    """How many elements are not 0, along axes.

    Parameters
    ----------
    x : USMArray
        Of any type with numbers.
    axis : int or sequence of ints, optional
        Along which axes; by default all of them.
    keepdims : bool, default False
        Whether the result keeps these axes, with length 1.

    Returns
    -------
    USMArray
        A new array of int64.

    Raises
    ------
    ValueError
        An axis occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type, or that of `x` is only stored.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, count_nonzero.

    Examples
    --------
    >>> usmpy.count_nonzero(usmpy.asarray([[1, 0], [3, 4]]), axis=0).tolist()
    [2, 1]
    """
