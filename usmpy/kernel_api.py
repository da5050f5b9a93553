"""What kernels written in Python call: ids of work-items, barriers, memory of work-groups, atomic operations.

The names follow OpenCL C. In a kernel that `usmpy.kernel` compiles, the calls become those of the device. In
``kernel.python[range](...)``, which runs the function in the interpreter, they are ordinary calls.

Examples
--------
>>> import usmpy
>>> from usmpy.kernel_api import get_global_id
>>> @usmpy.kernel
... def axpy(a, x, y):
...     i = get_global_id(0)
...     y[i] += a * x[i]
>>> x, y = (usmpy.ones(3, dtype="float32", device="host") for _ in range(2))
>>> event = axpy[3](2.0, x, y)
>>> event = axpy.python[3](2.0, x, y)
>>> y.tolist()
[5.0, 5.0, 5.0]
"""

from __future__ import annotations

import sys
from _thread import _local

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any, Literal

    from ._core import DType

    _Order = Literal["relaxed", "acquire", "release", "acq_rel", "seq_cst"]

__all__ = [
    "GLOBAL_MEM_FENCE",
    "LOCAL_MEM_FENCE",
    "atomic_add",
    "atomic_and",
    "atomic_compare_exchange",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_sub",
    "atomic_xor",
    "barrier",
    "get_global_id",
    "get_global_linear_id",
    "get_global_offset",
    "get_global_size",
    "get_group_id",
    "get_local_id",
    "get_local_linear_id",
    "get_local_size",
    "get_num_groups",
    "get_work_dim",
    "local_array",
    "mem_fence",
    "private_array",
]

LOCAL_MEM_FENCE: int = 1  # work-items of the group see what others wrote to local memory
GLOBAL_MEM_FENCE: int = 2  # and to arrays that are arguments

_running = _local()  # item: the work-item of the interpreter that runs in this thread, or None


def _current() -> Any:
    return getattr(_running, "item", None)


def _item(name: str) -> Any:
    """The work-item that calls the function of that name."""
    item = getattr(_running, "item", None)
    if item is None:
        raise RuntimeError(f"{name}() was called outside of a kernel")
    return item


def get_global_id(dimension: int) -> int:
    """The index of this work-item along a dimension of the range.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        From 0 to the extent of the range minus 1; 0 for a dimension that the range lacks.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id
    >>> @usmpy.kernel
    ... def number(x):
    ...     i, j = get_global_id(0), get_global_id(1)
    ...     x[j, i] = 10 * j + i
    >>> x = usmpy.zeros((2, 3), dtype="int64", device="host")
    >>> event = number[usmpy.Range(3, 2)](x)
    >>> x.tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    found: int = _item("get_global_id").id("get_global_id", dimension)
    return found


def get_global_size(dimension: int) -> int:
    """The number of work-items along a dimension of the range.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        The extent of the range; 1 for a dimension that the range lacks.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_global_size
    >>> @usmpy.kernel
    ... def mirror(x, y):
    ...     i = get_global_id(0)
    ...     y[get_global_size(0) - 1 - i] = x[i]
    >>> x = usmpy.arange(3, device="host")
    >>> y = usmpy.empty_like(x)
    >>> event = mirror[3](x, y)
    >>> y.tolist()
    [2, 1, 0]
    """
    found: int = _item("get_global_size").id("get_global_size", dimension)
    return found


def get_global_offset(dimension: int) -> int:
    """The first index of the range along a dimension, which is 0: ranges of usmpy have no offset.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        0.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_global_offset
    >>> @usmpy.kernel
    ... def count(x):
    ...     i = get_global_id(0) - get_global_offset(0)
    ...     x[i] = i
    >>> x = usmpy.zeros(3, dtype="int32", device="host")
    >>> event = count[3](x)
    >>> x.tolist()
    [0, 1, 2]
    """
    found: int = _item("get_global_offset").id("get_global_offset", dimension)
    return found


def get_local_id(dimension: int) -> int:
    """The index of this work-item in its work-group, along a dimension.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        From 0 to the extent of the work-group minus 1; 0 for a dimension that the range lacks.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_local_id
    >>> @usmpy.kernel
    ... def place(x):
    ...     x[get_global_id(0)] = get_local_id(0)
    >>> x = usmpy.zeros(6, dtype="int32", device="host")
    >>> event = place[usmpy.NdRange(6, 3)](x)
    >>> x.tolist()
    [0, 1, 2, 0, 1, 2]
    """
    found: int = _item("get_local_id").id("get_local_id", dimension)
    return found


def get_local_size(dimension: int) -> int:
    """The number of work-items of a work-group along a dimension.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        The extent of the work-group; 1 for a dimension that the range lacks. For a `Range`, the device
        chooses it.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_local_size
    >>> @usmpy.kernel
    ... def sizes(x):
    ...     x[get_global_id(0)] = get_local_size(0)
    >>> x = usmpy.zeros(4, dtype="int32", device="host")
    >>> event = sizes[usmpy.NdRange(4, 2)](x)
    >>> x.tolist()
    [2, 2, 2, 2]
    """
    found: int = _item("get_local_size").id("get_local_size", dimension)
    return found


def get_group_id(dimension: int) -> int:
    """The index of this work-item's work-group along a dimension.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        From 0 to the number of work-groups minus 1; 0 for a dimension that the range lacks.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_group_id
    >>> @usmpy.kernel
    ... def group(x):
    ...     x[get_global_id(0)] = get_group_id(0)
    >>> x = usmpy.zeros(6, dtype="int32", device="host")
    >>> event = group[usmpy.NdRange(6, 2)](x)
    >>> x.tolist()
    [0, 0, 1, 1, 2, 2]
    """
    found: int = _item("get_group_id").id("get_group_id", dimension)
    return found


def get_num_groups(dimension: int) -> int:
    """The number of work-groups along a dimension of the range.

    Parameters
    ----------
    dimension : int
        Which dimension of the range: 0, 1 or 2.

    Returns
    -------
    int
        The number; 1 for a dimension that the range lacks.

    Raises
    ------
    ValueError
        In the interpreter: `dimension` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_num_groups
    >>> @usmpy.kernel
    ... def groups(x):
    ...     x[get_global_id(0)] = get_num_groups(0)
    >>> x = usmpy.zeros(4, dtype="int32", device="host")
    >>> event = groups[usmpy.NdRange(4, 2)](x)
    >>> x.tolist()
    [2, 2, 2, 2]
    """
    found: int = _item("get_num_groups").id("get_num_groups", dimension)
    return found


def get_work_dim() -> int:
    """The number of dimensions of the range.

    Returns
    -------
    int
        1 to 3.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_work_dim
    >>> @usmpy.kernel
    ... def dimensions(x):
    ...     x[get_global_id(0)] = get_work_dim()
    >>> x = usmpy.zeros(2, dtype="int32", device="host")
    >>> event = dimensions[usmpy.Range(2, 3)](x)
    >>> x.tolist()
    [2, 2]
    """
    found: int = _item("get_work_dim").id("get_work_dim")
    return found


def get_global_linear_id() -> int:
    """The number of this work-item in the range; dimension 0 changes fastest.

    Returns
    -------
    int
        From 0 to the size of the range minus 1.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_global_linear_id
    >>> @usmpy.kernel
    ... def number(x):
    ...     x[get_global_linear_id()] = 10 * get_global_id(1) + get_global_id(0)
    >>> x = usmpy.zeros(6, dtype="int32", device="host")
    >>> event = number[usmpy.Range(3, 2)](x)
    >>> x.tolist()
    [0, 1, 2, 10, 11, 12]
    """
    found: int = _item("get_global_linear_id").id("get_global_linear_id")
    return found


def get_local_linear_id() -> int:
    """The number of this work-item in its work-group; dimension 0 changes fastest.

    Returns
    -------
    int
        From 0 to the size of the work-group minus 1.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, get_local_linear_id
    >>> @usmpy.kernel
    ... def number(x):
    ...     x[get_global_id(1), get_global_id(0)] = get_local_linear_id()
    >>> x = usmpy.zeros((2, 4), dtype="int32", device="host")
    >>> event = number[usmpy.NdRange((4, 2), (2, 2))](x)
    >>> x.tolist()
    [[0, 1, 0, 1], [2, 3, 2, 3]]
    """
    found: int = _item("get_local_linear_id").id("get_local_linear_id")
    return found


def barrier(flags: int = LOCAL_MEM_FENCE | GLOBAL_MEM_FENCE) -> None:
    """Wait until all work-items of the work-group have reached this call.

    Parameters
    ----------
    flags : int
        The memory whose contents the work-items of the group then agree on: ``LOCAL_MEM_FENCE``,
        ``GLOBAL_MEM_FENCE``, or by default both, with ``|``. A constant.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Notes
    -----
    All work-items of a group must reach the barrier, or none of them. Otherwise the launch does not end on
    some devices; a checked kernel and the interpreter raise a `KernelError`.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import LOCAL_MEM_FENCE, barrier, local_array
    >>> from usmpy.kernel_api import get_global_id, get_local_id, get_local_size
    >>> @usmpy.kernel
    ... def reverse(x):
    ...     i, n = get_local_id(0), get_local_size(0)
    ...     tile = local_array(4, "int32")
    ...     tile[i] = x[get_global_id(0)]
    ...     barrier(LOCAL_MEM_FENCE)
    ...     x[get_global_id(0)] = tile[n - 1 - i]
    >>> x = usmpy.arange(8, dtype="int32", device="host")
    >>> event = reverse[usmpy.NdRange(8, 4)](x)
    >>> x.tolist()
    [3, 2, 1, 0, 7, 6, 5, 4]
    """
    _item("barrier").wait(sys._getframe(1))


def mem_fence(flags: int = LOCAL_MEM_FENCE | GLOBAL_MEM_FENCE) -> None:
    """Order this work-item's accesses to memory before the call before those after it.

    Parameters
    ----------
    flags : int
        The memory whose accesses are ordered: ``LOCAL_MEM_FENCE``, ``GLOBAL_MEM_FENCE``, or by default both,
        with ``|``. A constant.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Notes
    -----
    It does not wait for other work-items: `barrier` does. The interpreter needs no fence and does nothing.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import GLOBAL_MEM_FENCE, atomic_exchange, get_global_id, mem_fence
    >>> @usmpy.kernel
    ... def publish(data, ready):
    ...     i = get_global_id(0)
    ...     data[i] = 10 * i
    ...     mem_fence(GLOBAL_MEM_FENCE)
    ...     atomic_exchange(ready, i, 1)
    >>> data, ready = (usmpy.zeros(3, dtype="int32", device="host") for _ in range(2))
    >>> event = publish[3](data, ready)
    >>> data.tolist(), ready.tolist()
    ([0, 10, 20], [1, 1, 1])
    """
    _item("mem_fence")


def local_array(shape: int | tuple[int, ...], dtype: DType | str | type) -> Any:
    """An array that the work-items of a work-group share. Its contents are undefined.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes, in elements. Constants: numbers, or names outside of the kernel that are numbers.
    dtype : DType, str, type or numpy.dtype
        The type of the elements, one of those that arrays of kernels have. A constant.

    Returns
    -------
    array
        ``x[i, j]`` reads and writes its elements, as those of an argument.

    Raises
    ------
    TypeError
        In the interpreter: `shape` or `dtype` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Notes
    -----
    Each call in the source is one array of the group, also in a loop. Put a `barrier` between writing an
    element and reading it in another work-item. A `LocalMemory` argument is an array whose length the launch
    gives.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import LOCAL_MEM_FENCE, barrier, local_array
    >>> from usmpy.kernel_api import get_global_id, get_group_id, get_local_id
    >>> @usmpy.kernel
    ... def sums(x, out):
    ...     i, tile = get_local_id(0), local_array(4, usmpy.int32)
    ...     tile[i] = x[get_global_id(0)]
    ...     barrier(LOCAL_MEM_FENCE)
    ...     if i == 0:
    ...         out[get_group_id(0)] = tile[0] + tile[1] + tile[2] + tile[3]
    >>> x = usmpy.arange(8, dtype="int32", device="host")
    >>> out = usmpy.zeros(2, dtype="int32", device="host")
    >>> event = sums[usmpy.NdRange(8, 4)](x, out)
    >>> out.tolist()
    [6, 22]
    """
    return _item("local_array").array("local_array", shape, dtype, sys._getframe(1))


def private_array(shape: int | tuple[int, ...], dtype: DType | str | type) -> Any:
    """An array of this work-item alone. Its contents are undefined.

    Parameters
    ----------
    shape : int or tuple of int
        Lengths of the axes, in elements. Constants: numbers, or names outside of the kernel that are numbers.
    dtype : DType, str, type or numpy.dtype
        The type of the elements, one of those that arrays of kernels have. A constant.

    Returns
    -------
    array
        ``x[i, j]`` reads and writes its elements, as those of an argument.

    Raises
    ------
    TypeError
        In the interpreter: `shape` or `dtype` is something else.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Notes
    -----
    Small arrays are kept in registers; larger ones are slow on most devices.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id, private_array
    >>> @usmpy.kernel
    ... def digits(x, out):
    ...     i, digit = get_global_id(0), private_array(3, "int32")
    ...     value = x[i]
    ...     for k in range(3):
    ...         digit[k] = value % 10
    ...         value //= 10
    ...     out[i] = 100 * digit[0] + 10 * digit[1] + digit[2]
    >>> x = usmpy.asarray([123, 450], dtype="int32", device="host")
    >>> out = usmpy.empty_like(x)
    >>> event = digits[2](x, out)
    >>> out.tolist()
    [321, 54]
    """
    return _item("private_array").array("private_array", shape, dtype, sys._getframe(1))


def atomic_add(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Add a number to an element, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64, uint64, float32 or float64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The number to add. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_add, get_global_id
    >>> @usmpy.kernel
    ... def histogram(x, counts):
    ...     atomic_add(counts, x[get_global_id(0)], 1)
    >>> x = usmpy.asarray([0, 2, 2, 1, 2], dtype="int32", device="host")
    >>> counts = usmpy.zeros(3, dtype="int32", device="host")
    >>> event = histogram[5](x, counts)
    >>> counts.tolist()
    [1, 1, 3]
    """
    return _item("atomic_add").atomic("atomic_add", x, index, value)


def atomic_sub(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Subtract a number from an element, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64, uint64, float32 or float64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The number to subtract. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_sub
    >>> @usmpy.kernel
    ... def consume(left):
    ...     atomic_sub(left, 0, 2)
    >>> left = usmpy.asarray([9], dtype="int32", device="host")
    >>> event = consume[3](left)
    >>> left.tolist()
    [3]
    """
    return _item("atomic_sub").atomic("atomic_sub", x, index, value)


def atomic_min(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Store the smaller one of an element and a number, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64, uint64, float32 or float64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The number to compare with. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_min, get_global_id
    >>> @usmpy.kernel
    ... def least(x, found):
    ...     atomic_min(found, 0, x[get_global_id(0)])
    >>> x = usmpy.asarray([5, 3, 8], dtype="int32", device="host")
    >>> found = usmpy.asarray([100], dtype="int32", device="host")
    >>> event = least[3](x, found)
    >>> found.tolist()
    [3]
    """
    return _item("atomic_min").atomic("atomic_min", x, index, value)


def atomic_max(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Store the greater one of an element and a number, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64, uint64, float32 or float64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The number to compare with. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_max, get_global_id
    >>> @usmpy.kernel
    ... def greatest(x, found):
    ...     atomic_max(found, 0, x[get_global_id(0)])
    >>> x = usmpy.asarray([0.5, 2.5, 1.5], dtype="float32", device="host")
    >>> found = usmpy.zeros(1, dtype="float32", device="host")
    >>> event = greatest[3](x, found)
    >>> found.tolist()
    [2.5]
    """
    return _item("atomic_max").atomic("atomic_max", x, index, value)


def atomic_and(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Clear the bits of an element that a number does not have, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64 or uint64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The bits to keep. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_and, get_global_id
    >>> @usmpy.kernel
    ... def common(x, bits):
    ...     atomic_and(bits, 0, x[get_global_id(0)])
    >>> x = usmpy.asarray([7, 6, 14], dtype="uint32", device="host")
    >>> bits = usmpy.asarray([255], dtype="uint32", device="host")
    >>> event = common[3](x, bits)
    >>> bits.tolist()
    [6]
    """
    return _item("atomic_and").atomic("atomic_and", x, index, value)


def atomic_or(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Set the bits of an element that a number has, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64 or uint64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The bits to set. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_or, get_global_id
    >>> @usmpy.kernel
    ... def seen(x, bits):
    ...     atomic_or(bits, 0, 1 << x[get_global_id(0)])
    >>> x = usmpy.asarray([0, 3, 3], dtype="int32", device="host")
    >>> bits = usmpy.zeros(1, dtype="int32", device="host")
    >>> event = seen[3](x, bits)
    >>> bits.tolist()
    [9]
    """
    return _item("atomic_or").atomic("atomic_or", x, index, value)


def atomic_xor(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Invert the bits of an element that a number has, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64 or uint64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The bits to invert. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_xor, get_global_id
    >>> @usmpy.kernel
    ... def parity(x, bits):
    ...     atomic_xor(bits, 0, x[get_global_id(0)])
    >>> x = usmpy.asarray([1, 2, 1], dtype="uint32", device="host")
    >>> bits = usmpy.zeros(1, dtype="uint32", device="host")
    >>> event = parity[3](x, bits)
    >>> bits.tolist()
    [2]
    """
    return _item("atomic_xor").atomic("atomic_xor", x, index, value)


def atomic_exchange(x: Any, index: Any, value: Any, *, order: _Order = "relaxed") -> Any:
    """Store a number in an element and return what was there, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64, uint64, float32 or float64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    value : number
        The number to store. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_exchange, get_global_id
    >>> @usmpy.kernel
    ... def swap(x, old):
    ...     i = get_global_id(0)
    ...     old[i] = atomic_exchange(x, i, 7)
    >>> x = usmpy.arange(3, dtype="int32", device="host")
    >>> old = usmpy.empty_like(x)
    >>> event = swap[3](x, old)
    >>> x.tolist(), old.tolist()
    ([7, 7, 7], [0, 1, 2])
    """
    return _item("atomic_exchange").atomic("atomic_exchange", x, index, value)


def atomic_compare_exchange(
    x: Any, index: Any, expected: Any, value: Any, *, order: _Order = "relaxed"
) -> Any:
    """Store a number in an element if that has an expected value, as one operation.

    Parameters
    ----------
    x : array
        An argument, or a local array, of int32, uint32, int64, uint64, float32 or float64.
    index : int or tuple of int
        The element, as in ``x[index]``.
    expected : number
        The value that the element must have.
    value : number
        The number to store. It is converted as ``x[index] = value`` does.
    order : {"relaxed", "acquire", "release", "acq_rel", "seq_cst"}
        How other accesses to memory are ordered around this one, as in C11. A constant.

    Returns
    -------
    number
        The element's value before the operation.

    Raises
    ------
    TypeError, IndexError
        In the interpreter: an argument is something else, or the index is outside of the array.
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import atomic_compare_exchange, get_global_id
    >>> @usmpy.kernel
    ... def claim(owner, won):
    ...     i = get_global_id(0)
    ...     won[i] = atomic_compare_exchange(owner, i // 2, -1, i) == -1
    >>> owner = usmpy.full(2, -1, dtype="int32", device="host")
    >>> won = usmpy.zeros(4, dtype="bool", device="host")
    >>> event = claim[4](owner, won)
    >>> usmpy.count_nonzero(won).item()
    2
    """
    return _item("atomic_compare_exchange").atomic("atomic_compare_exchange", x, index, expected, value)
