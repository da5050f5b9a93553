"""Functions that create arrays."""

import builtins
from typing import Literal, SupportsIndex

from .array import USMArray
from .queue import Queue
from .types import (
    _Array,
    _ArrayLike,
    _CopyOrder,
    _DTypeLike,
    _HostScalar,
    _Number,
    _Order,
    _Placement,
    _Real,
    _Shape,
    _UsmType,
)

def empty(
    shape: _Shape,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _Order | None = "C",
) -> USMArray:
    """A new array whose elements are not initialised.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes, in elements.
    dtype : DType, str, type or numpy.dtype, optional
        The data type, in any form that DType() takes; by default float64, or float32 where the device
        lacks that.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default
        `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".
    order : {"C", "F"}, optional
        Row-major, which is the default, or column-major.

    Returns
    -------
    USMArray
        An array of that shape.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A length is negative, a word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, empty. `order` is NumPy's.

    Examples
    --------
    >>> usmpy.empty((2, 3), dtype="f4", usm_type="shared").shape
    (2, 3)
    """

def zeros(
    shape: _Shape,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _Order | None = "C",
) -> USMArray:
    """A new array of zeros.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes, in elements.
    dtype : DType, str, type or numpy.dtype, optional
        The data type, in any form that DType() takes; by default float64, or float32 where the device
        lacks that.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default
        `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".
    order : {"C", "F"}, optional
        Row-major, which is the default, or column-major.

    Returns
    -------
    USMArray
        An array of that shape.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A length is negative, a word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, zeros. The elements may have any type, also one that is only stored.

    Examples
    --------
    >>> usmpy.zeros(3, dtype="int32").tolist()
    [0, 0, 0]
    """

def ones(
    shape: _Shape,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _Order | None = "C",
) -> USMArray:
    """A new array of ones.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes, in elements.
    dtype : DType, str, type or numpy.dtype, optional
        The data type, in any form that DType() takes; by default float64, or float32 where the device
        lacks that.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default
        `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".
    order : {"C", "F"}, optional
        Row-major, which is the default, or column-major.

    Returns
    -------
    USMArray
        An array of that shape.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A length is negative, a word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, ones.

    Examples
    --------
    >>> usmpy.ones((2, 2), dtype=bool).tolist()
    [[True, True], [True, True]]
    """

def full(
    shape: _Shape,
    fill_value: _Number | _Array,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _Order | None = "C",
) -> USMArray:
    """A new array with every element set to a value.

    Parameters
    ----------
    shape : int or sequence of ints
        Lengths of the axes, in elements.
    fill_value : number or array
        The value of the elements. An array broadcasts to the shape, and is cast to `dtype`.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default that of an array, and for numbers bool, int64, or the default float or
        complex type.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default where an array
        `fill_value` is, else select_default_device().
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".
    order : {"C", "F"}, optional
        Row-major, which is the default, or column-major.

    Returns
    -------
    USMArray
        An array of that shape.

    Raises
    ------
    TypeError
        An argument has a wrong type, or a number is of a kind that `dtype` does not hold (1.5 in
        integers).
    OverflowError
        `dtype` does not hold the int.
    ValueError
        A length is negative, a word is not one of those above, an array does not broadcast, or `device`
        and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, full. Arrays as `fill_value` are NumPy's.

    Examples
    --------
    >>> usmpy.full(3, 1.5).tolist()
    [1.5, 1.5, 1.5]
    >>> usmpy.full((2, 3), usmpy.asarray([1, 2, 3])).tolist()
    [[1, 2, 3], [1, 2, 3]]
    """

def empty_like(
    x: USMArray,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """A new array whose elements are not initialised, in the shape of another.

    Parameters
    ----------
    x : USMArray
        The array that lends its shape.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default that of `x`.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `x`.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `x`.

    Returns
    -------
    USMArray
        An array in the shape of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, empty_like. `order` is NumPy's; a kind of memory that another device
    lacks becomes its "device" memory.

    Examples
    --------
    >>> usmpy.empty_like(usmpy.asarray([5, 6])).shape
    (2,)
    """

def zeros_like(
    x: USMArray,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """A new array of zeros, in the shape of another.

    Parameters
    ----------
    x : USMArray
        The array that lends its shape.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default that of `x`.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `x`.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `x`.

    Returns
    -------
    USMArray
        An array in the shape of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, zeros_like. `order` is NumPy's; a kind of memory that another device
    lacks becomes its "device" memory.

    Examples
    --------
    >>> usmpy.zeros_like(usmpy.asarray([5, 6])).tolist()
    [0, 0]
    """

def ones_like(
    x: USMArray,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """A new array of ones, in the shape of another.

    Parameters
    ----------
    x : USMArray
        The array that lends its shape.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default that of `x`.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `x`.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `x`.

    Returns
    -------
    USMArray
        An array in the shape of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, ones_like. `order` is NumPy's; a kind of memory that another device
    lacks becomes its "device" memory.

    Examples
    --------
    >>> usmpy.ones_like(usmpy.asarray([5, 6])).tolist()
    [1, 1]
    """

def full_like(
    x: USMArray,
    /,
    fill_value: _Number | _Array,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """A new array with every element set to a value, in the shape of another.

    Parameters
    ----------
    x : USMArray
        The array that lends its shape.
    fill_value : number or array
        The value of the elements. An array broadcasts to the shape, and is cast to `dtype`.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default that of `x`.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `x`.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `x`.

    Returns
    -------
    USMArray
        An array in the shape of `x`.

    Raises
    ------
    TypeError
        An argument has a wrong type, or a number is of a kind that `dtype` does not hold.
    OverflowError
        `dtype` does not hold the int.
    ValueError
        An array does not broadcast, a word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, full_like.

    Examples
    --------
    >>> usmpy.full_like(usmpy.zeros(2, dtype="int8"), 7).tolist()
    [7, 7]
    """

def eye(
    n_rows: SupportsIndex,
    n_cols: SupportsIndex | None = None,
    /,
    *,
    k: SupportsIndex = 0,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _Order | None = "C",
) -> USMArray:
    """A new matrix with ones on one diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_cols : int, optional
        Number of columns; by default as many as rows.
    k : int, default 0
        The diagonal: 0 is the main one, 1 the one above, -1 the one below.
    dtype : DType, str, type or numpy.dtype, optional
        The data type, in any form that DType() takes; by default float64, or float32 where the device
        lacks that.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default
        `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".
    order : {"C", "F"}, optional
        Row-major, which is the default, or column-major.

    Returns
    -------
    USMArray
        A matrix of `n_rows` and `n_cols`.

    Raises
    ------
    TypeError
        An argument has a wrong type.
    ValueError
        A length is negative, a word is not one of those above, or `device` and `queue` disagree.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, eye.

    Examples
    --------
    >>> usmpy.eye(2, 3, k=1, dtype="int8").tolist()
    [[0, 1, 0], [0, 0, 1]]
    """

def arange(
    start: _Real,
    /,
    stop: _Real | None = None,
    step: _Real = 1,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """Numbers from one to before another, evenly spaced.

    Parameters
    ----------
    start : number
        The first number; where `stop` is left out, the end, and 0 is the first.
    stop : number, optional
        The end, which is left out.
    step : number, default 1
        The difference of neighbouring elements.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default int64 for ints, else the default float type.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default
        `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".

    Returns
    -------
    USMArray
        A vector of start + i * step for each i with which that is before `stop`.

    Raises
    ------
    ValueError
        `step` is 0, a limit is not finite, or `device` and `queue` disagree.
    OverflowError
        `dtype` does not hold an int of them.
    TypeError
        An argument is not a real number, or `dtype` has no such numbers (bool among them).
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, arange.

    Examples
    --------
    >>> usmpy.arange(5).tolist()
    [0, 1, 2, 3, 4]
    >>> usmpy.arange(1, 2, 0.25).tolist()
    [1.0, 1.25, 1.5, 1.75]
    """

def linspace(
    start: complex | _HostScalar,
    stop: complex | _HostScalar,
    /,
    num: SupportsIndex,
    *,
    dtype: _DTypeLike | None = None,
    endpoint: builtins.bool = True,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """So many numbers from one to another, evenly spaced.

    Parameters
    ----------
    start, stop : number
        The first number, and the last, or, with ``endpoint=False``, the one after the last.
    num : int
        The number of elements.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default the default float type, or complex type for complex limits.
    endpoint : bool, default True
        Whether `stop` is the last element.
    device : Device, Queue, USMArray or str, optional
        The place of the result: anything that `Device.create_device` takes; by default
        `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default "device".

    Returns
    -------
    USMArray
        A vector of `num` elements.

    Raises
    ------
    ValueError
        `num` is negative, or `device` and `queue` disagree.
    TypeError
        An argument is not a number, a limit is complex and `dtype` real, or `dtype` has no such numbers.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, linspace. Into integer types the numbers are truncated.

    Examples
    --------
    >>> usmpy.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

def asarray(
    obj: _ArrayLike,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    copy: builtins.bool | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """An array from an array of any library, a buffer, numbers, or nested sequences of all these.

    Parameters
    ----------
    obj : array, buffer, number or sequence
        An object with DLPack, ``__cuda_array_interface__`` or ``__sycl_usm_array_interface__``, a buffer,
        an array of Arrow, an object that NumPy reads (``__array_interface__``, ``__array__``), a number, or
        nested sequences of numbers and arrays, which are stacked.
    dtype : DType, str, type or numpy.dtype, optional
        The data type; by default that of `obj`, and of sequences the type that their arrays and NumPy
        scalars promote to. Python numbers follow these; alone they are bool, int64, or the default float
        or complex type. A Python int must fit the type; a scalar of another library is cast, as by
        `astype`.
    device : Device, Queue, USMArray or str, optional
        Where the result is. By default memory of a device stays where it is, the arrays of a sequence
        share one queue, and host data go to `select_default_device`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `obj` if it stays where it is, the widest of a sequence's
        arrays, else "device".
    copy : bool, optional
        True always copies, False never does. By default memory of the host that another library owns is
        copied, on each device, and of other memory only what must be: a USMArray, and memory whose producer
        orders it (CUDA's, SYCL's), stay what they are.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `obj`.

    Returns
    -------
    USMArray
        `obj` itself, a view of its memory, or new memory, which can be written.

    Raises
    ------
    TypeError
        `obj` cannot be made into an array, its elements have no common type, or an argument has a wrong
        type.
    ValueError
        ``copy=False`` and a copy is needed, sequences are ragged, or `device` and `queue` disagree.
    ExecutionPlacementError
        The arrays of a sequence share no queue, and no place is named.
    OverflowError
        `dtype` does not hold an int.
    BufferError
        Memory of another library cannot be exchanged.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, asarray, but for the default of `copy` with memory of the host: there
    the standard shares where it can. A view would change with its owner's writes, which are not ordered
    with tasks, and only some devices have one. ``copy=False`` and `from_dlpack` share. `order` is NumPy's.
    Strings, sets and mappings are not sequences.

    Examples
    --------
    >>> usmpy.asarray([[1, 2], [3, 4.5]]).tolist()
    [[1.0, 2.0], [3.0, 4.5]]
    >>> usmpy.asarray([np.float32(1), 2]).dtype
    usmpy.float32
    >>> x = usmpy.arange(3)
    >>> usmpy.asarray([x, x]).shape, usmpy.asarray(x) is x
    ((2, 3), True)
    """

def meshgrid(*arrays: USMArray, indexing: Literal["xy", "ij"] = "xy") -> tuple[USMArray, ...]:
    """Grids of coordinates from vectors of them.

    Parameters
    ----------
    *arrays : USMArray
        Vectors of one dtype, on one queue.
    indexing : {"xy", "ij"}, default "xy"
        ``"xy"`` exchanges the first two axes, as in pictures; ``"ij"`` keeps the order of the arrays.

    Returns
    -------
    tuple of USMArrays
        For each vector a new array with as many dimensions as there are vectors.

    Raises
    ------
    ValueError
        An array has more than 1 dimension, dtypes differ, or `indexing` is another word.
    ExecutionPlacementError
        The arrays share no queue.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, meshgrid.

    Examples
    --------
    >>> x, y = usmpy.meshgrid(usmpy.arange(2), usmpy.arange(3))
    >>> x.tolist()
    [[0, 1], [0, 1], [0, 1]]
    """

def tril(
    x: USMArray,
    /,
    *,
    k: SupportsIndex = 0,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Lower triangles of matrices: a copy with zeros above a diagonal.

    Parameters
    ----------
    x : USMArray
        A matrix, or a stack of them.
    k : int, default 0
        The diagonal: 0 is the main one, 1 the one above, -1 the one below.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `x`.
    order : {"K", "C", "F", "A"}, default "K"
        The order of the result in memory: row-major ("C"), or column-major ("F") for one matrix, as `x` is
        by default; of stacks, always row-major.

    Returns
    -------
    USMArray
        A new array in the shape of `x`.

    Raises
    ------
    ValueError
        `x` has fewer than 2 dimensions, a word is not one of those above, or `device` and `queue`
        disagree.
    TypeError
        An argument has a wrong type.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, tril.

    Examples
    --------
    >>> usmpy.tril(usmpy.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """

def triu(
    x: USMArray,
    /,
    *,
    k: SupportsIndex = 0,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Upper triangles of matrices: a copy with zeros below a diagonal.

    Parameters
    ----------
    x : USMArray
        A matrix, or a stack of them.
    k : int, default 0
        The diagonal: 0 is the main one, 1 the one above, -1 the one below.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.
    queue : Queue, optional
        The queue of the result; it must be the device's if both are given.
    usm_type : {"device", "shared", "host"}, optional
        The kind of memory; by default that of `x`.
    order : {"K", "C", "F", "A"}, default "K"
        The order of the result in memory: row-major ("C"), or column-major ("F") for one matrix, as `x` is
        by default; of stacks, always row-major.

    Returns
    -------
    USMArray
        A new array in the shape of `x`.

    Raises
    ------
    ValueError
        `x` has fewer than 2 dimensions, a word is not one of those above, or `device` and `queue`
        disagree.
    TypeError
        An argument has a wrong type.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, triu.

    Examples
    --------
    >>> usmpy.triu(usmpy.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
