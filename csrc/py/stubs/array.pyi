"""USMArray and its flags."""

import builtins
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar, Literal, NoReturn, SupportsIndex, final

import numpy as np
from typing_extensions import CapsuleType, Self

from usmpy._processes.share import IPCHandle

from .device import Device
from .dtype import DType
from .event import Event
from .exchange import _Loan
from .queue import Context, Queue
from .types import (
    _ArrayLike,
    _Axes,
    _CopyOrder,
    _DTypeLike,
    _Index,
    _Indices,
    _Order,
    _Pair,
    _Placement,
    _Shape,
    _Stream,
    _UsmType,
)

@final
class Flags:
    """What USMArray.flags gives: how the elements lie in memory, and whether they may be written.

    The flags are attributes, and items by NumPy's keys: ``flags["C"]``, ``flags["F_CONTIGUOUS"]``,
    ``flags["W"]``.

    Examples
    --------
    >>> flags = usmpy.zeros((2, 3), order="F").flags
    >>> flags.f_contiguous, flags["C"], flags.writable
    (True, False, True)
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]
    @property
    def c_contiguous(self) -> builtins.bool:
        """Elements lie side by side in row-major order."""
    @property
    def f_contiguous(self) -> builtins.bool:
        """Elements lie side by side in column-major order."""
    @property
    def contiguous(self) -> builtins.bool:
        """The same as c_contiguous."""
    @property
    def fc(self) -> builtins.bool:
        """Both c_contiguous and f_contiguous."""
    @property
    def fnc(self) -> builtins.bool:
        """Column-major and not row-major."""
    @property
    def forc(self) -> builtins.bool:
        """Either c_contiguous or f_contiguous."""
    @property
    def writable(self) -> builtins.bool:
        """Elements may be written through this array. False can be assigned; True only to writable arrays.

        Raises
        ------
        ValueError
            True is assigned to a read-only array.
        TypeError
            The assigned value is not a bool.
        """
    @writable.setter
    def writable(self, value: builtins.bool, /) -> None: ...
    @property
    def writeable(self) -> builtins.bool:
        """The same as writable, in NumPy's spelling."""
    @writeable.setter
    def writeable(self, value: builtins.bool, /) -> None: ...
    def __getitem__(self, key: str, /) -> builtins.bool: ...
    def __setitem__(self, key: str, value: builtins.bool, /) -> None: ...
    def __delitem__(self, key: str, /) -> NoReturn: ...
    def __eq__(self, value: object, /) -> builtins.bool: ...

@final
class USMArray:
    """A strided array over one allocation of unified shared memory, whose elements are not initialised.

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
    usm_type : {"device", "shared", "host"}, default "device"
        The kind of memory.
    order : {"C", "F"}, default "C"
        Row-major or column-major.

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
    SYCL 2020, 4.8, and the array object of the array API standard 2025.12. An array carries the queue
    that work on it runs in; creation functions such as zeros and asarray make arrays with elements.

    Examples
    --------
    >>> x = usmpy.USMArray((2, 3), "f4", order="F")
    >>> x.shape, x.strides, x.usm_type
    ((2, 3), (1, 2), 'device')
    """

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]
    __c_dlpack_exchange_api__: ClassVar[CapsuleType]
    def __new__(
        cls,
        shape: _Shape,
        dtype: _DTypeLike | None = None,
        *,
        usm_type: _UsmType | None = "device",
        device: _Placement = None,
        queue: Queue | None = None,
        order: _Order | None = "C",
    ) -> Self: ...
    @classmethod
    def from_pointer(
        cls,
        address: SupportsIndex,
        shape: _Shape,
        dtype: _DTypeLike | None = None,
        *,
        strides: _Shape | None = None,
        queue: Queue,
        usm_type: _UsmType | None = None,
        owner: object = None,
        readonly: builtins.bool = False,
    ) -> USMArray:
        """Make an array over memory that exists, given by its address, without a copy.

        Parameters
        ----------
        address : int
            Address of the first element, such as the `svm_ptr` of PyOpenCL's SVMAllocation.
        shape : int or sequence of ints
            Lengths in elements.
        dtype : DType, str or type, optional
            Type of the elements, as `USMArray` takes it; None is the default floating-point type.
        strides : int or sequence of ints, optional
            Distances between neighbours along each axis, in elements; None is row-major.
        queue : Queue
            Queue of the array. Its device must be able to use the memory in place.
        usm_type : {'device', 'shared', 'host'}, optional
            Kind of the memory. With None it is looked up: usmpy knows its own memory, and drivers know
            theirs. SVM of other libraries needs it, since no driver identifies SVM. On the host, None stands
            for 'host'.
        owner : object, optional
            Kept alive until the last array over the memory and its last task are gone. It must not reference
            the array: the garbage collector cannot break that cycle.
        readonly : bool, default False
            Whether the array is read-only.

        Returns
        -------
        USMArray
            On `queue`, over the memory itself.

        Raises
        ------
        ValueError
            The address is 0, is not aligned to `dtype`, or is unknown to the driver; elements lie outside of
            the allocation; the memory was freed; `queue` cannot use it; or it is of another kind than
            `usm_type`.
        TypeError
            An argument has a wrong type.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        Elements must be inside the allocation: usmpy's own allocations have the size that was requested,
        others the size that the driver reports. The bounds of plain memory of the process and of other
        libraries' SVM are known to the caller alone.

        Work that other libraries have enqueued in the native queue of `queue` (`Queue.from_native`)
        runs first. Wait for any other work on the memory before the call.

        Examples
        --------
        >>> import ctypes
        >>> import usmpy
        >>> memory = (ctypes.c_float * 6)(0, 1, 2, 3, 4, 5)
        >>> queue = usmpy.Queue("host")
        >>> address = ctypes.addressof(memory)
        >>> x = usmpy.USMArray.from_pointer(address, (2, 3), "float32", queue=queue, owner=memory)
        >>> x.tolist()
        [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
        """
    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes in elements, a tuple of ints."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next, for each axis: a tuple of ints.

        Notes
        -----
        They are those of row-major order where a length is 0 or 1.
        """
    @property
    def ndim(self) -> int:
        """Number of axes."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def nbytes(self) -> int:
        """Size of the elements side by side in bytes; packed types share bytes."""
    @property
    def itemsize(self) -> int:
        """Size of one element in bytes; 1 for packed types."""
    @property
    def dtype(self) -> DType:
        """The DType of the elements."""
    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """The numpy.dtype of the elements (the protocol of NumPy 2.4).

        Raises
        ------
        TypeError
            Neither NumPy nor ml_dtypes has the type.
        """
    @property
    def device(self) -> Device:
        """The Device, with the queue of this array: zeros(n, device=x.device) is on the same queue."""
    @property
    def queue(self) -> Queue:
        """The Queue that work on this array runs in."""
    @property
    def event(self) -> Event:
        """An Event that ends when everything submitted so far that writes to the array has ended.

        For `depends=` of later work and for `await`. It is a task of the array's queue; in a queue in order
        it also ends after earlier work. It ends in error if the last write failed.

        Raises
        ------
        ValueError
            The array was borrowed, and its borrow has ended.

        Examples
        --------
        >>> x = usmpy.ones(3) + 1
        >>> x.event.wait()
        >>> x.event.status
        'complete'
        """
    @property
    def context(self) -> Context:
        """The Context of the queue."""
    @property
    def usm_type(self) -> _UsmType:
        """Kind of the allocation: 'device', 'shared' or 'host' (SYCL 2020, 4.8)."""
    @property
    def shareable(self) -> builtins.bool:
        """Whether other processes can open the memory, as that of share() and of opened handles."""
    @property
    def flags(self) -> Flags:
        """The Flags: c_contiguous, f_contiguous, writable and their like."""
    @property
    def T(self) -> USMArray:
        """View with the two axes exchanged (array API standard 2025.12, T).

        Raises
        ------
        ValueError
            There are not two axes; transpose() reverses any number of them.
        """
    @property
    def mT(self) -> USMArray:
        """View with the last two axes exchanged (array API standard 2025.12, mT).

        Raises
        ------
        ValueError
            There are fewer than two axes.
        """
    @property
    def real(self) -> USMArray:
        """The real parts: a view for complex types, else the array itself.

        Raises
        ------
        TypeError
            The type is only stored.

        Examples
        --------
        >>> x = usmpy.asarray([1 + 2j, 3j])
        >>> x.real.tolist()
        [1.0, 0.0]
        """
    @property
    def imag(self) -> USMArray:
        """The imaginary parts: a view for complex types, else a new array of zeros.

        Raises
        ------
        TypeError
            The type is only stored.

        Examples
        --------
        >>> x = usmpy.asarray([1 + 2j, 3j])
        >>> x.imag.tolist()
        [2.0, 3.0]
        """
    @property
    def data_ptr(self) -> int:
        """Address of the first element as an int; 0 where there is none. Does not wait for pending work."""
    @property
    def __array_priority__(self) -> float:
        """Always 100.0. Of several arrays, dask.array calls the functions of the one with the largest."""
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Dict of address, shape, strides in bytes and type (NumPy, array interface protocol, version 3).

        Raises
        ------
        AttributeError
            The host cannot read the memory in place, or NumPy has no code for the type.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Notes
        -----
        Waits for pending work on the memory. Strides are None for row-major arrays.
        """
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Description of CUDA memory for other libraries (Numba, CUDA Array Interface, version 3).

        Returns
        -------
        dict
            Pointer, shape, strides in bytes, type string and `stream`. The stream is None where no work on
            the memory is pending. Otherwise it is that of this array's queue, which is first ordered after
            all pending work: a consumer waits for that stream.

        Raises
        ------
        AttributeError
            The memory is not CUDA's, or NumPy has no type string for the dtype.

        Examples
        --------
        >>> import usmpy
        >>> hasattr(usmpy.zeros(3, device="host"), "__cuda_array_interface__")
        False
        """
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """Description of memory for SYCL libraries (dpctl's documentation, version 1).

        Returns
        -------
        dict
            Pointer, shape, strides in elements, type string and `syclobj`: the SyclQueue that this array's
            Queue was made from, otherwise the Queue, whose `_get_capsule` gives dpctl a SYCL queue over the
            same native one.

        Raises
        ------
        AttributeError
            The memory is neither OpenCL's nor Level Zero's, or NumPy has no type string for the dtype.

        Notes
        -----
        Pending work on the memory completes first, and its error is raised here: the interface cannot express
        order.

        Examples
        --------
        >>> import usmpy
        >>> hasattr(usmpy.zeros(3, device="host"), "__sycl_usm_array_interface__")
        False
        """
    def copy(self, order: _CopyOrder | None = "C") -> USMArray:
        """The same elements in new memory of the same kind, on the same queue.

        Parameters
        ----------
        order : {"C", "F", "A", "K"}, optional
            Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
            this one.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError
            `order` is another word.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> x = usmpy.arange(3)
        >>> x.copy().data_ptr == x.data_ptr
        False
        """
    def to_device(self, device: _Placement, /, *, stream: _Stream | None = None) -> USMArray:
        """Get the same elements on another placement (array API standard 2025.12, to_device).

        Parameters
        ----------
        device : str, Device, Queue or USMArray
            Anything that `Device.create_device` takes.
        stream : Queue or CUDA stream, optional
            The move is ordered after the present work of this stream, and before its later work. As in
            `Queue.wait_for`.

        Returns
        -------
        USMArray
            A view of the same memory where a copy would be no closer to the target, otherwise a copy. It is
            ordered after pending work on the memory.

        Raises
        ------
        TypeError
            An argument has a wrong type.
        MemoryError
            Memory is exhausted.
        DeviceNotFound, BackendUnavailable
            As `Device` raises them.

        Notes
        -----
        The result is a view between queues of one device, between a device and its parts, onto a processor
        that can use the memory, and for memory of kind 'shared' and 'host' between devices of one driver.
        Between two GPUs it is always a copy of memory of kind 'device'; `from_dlpack` gives a view, with
        copy=False, where `memory_connection` is UNIFIED.

        Examples
        --------
        >>> import usmpy
        >>> x = usmpy.arange(3, device="host")
        >>> y = x.to_device(usmpy.Queue("host"))
        >>> y.data_ptr == x.data_ptr
        True
        """
    def astype(
        self,
        dtype: _DTypeLike,
        /,
        *,
        copy: builtins.bool = True,
        order: _CopyOrder | None = "K",
        device: _Placement = None,
    ) -> USMArray:
        """The elements cast to another type.

        Parameters
        ----------
        dtype : DType, str, type or numpy.dtype
            The new type.
        copy : bool, default True
            With False, an array that needs no change is returned itself.
        order : {"C", "F", "A", "K"}, optional
            Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
            this one.
        device : Device, Queue, USMArray or str, optional
            The place of the result; by default that of this array.

        Returns
        -------
        USMArray
            A new array, or this one.

        Raises
        ------
        TypeError
            A complex type would become a real one, a type is only stored and exchanged, or an argument
            has a wrong type.
        ValueError
            A word is not one of those above, or neither device has double precision where a cast needs
            it.
        DeviceNotFound, BackendUnavailable
            As Device() raises them.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        The array API standard 2025.12, astype. Floating point to integer rounds towards zero, saturates
        at the ends of the type, and makes 0 of NaN.

        Examples
        --------
        >>> usmpy.asarray([1.9, -1.9]).astype("i4").tolist()
        [1, -1]
        """
    def reshape(
        self, *shape: _Shape, order: Literal["C", "F", "A"] | None = "C", copy: builtins.bool | None = None
    ) -> USMArray:
        """The same elements in another shape: ``reshape(x, shape, ...)``.

        Parameters
        ----------
        *shape : ints, or one sequence of ints
            The new lengths; one of them may be -1.
        order : {"C", "F", "A"}, optional
            The order in which elements are read and placed.
        copy : bool, optional
            Whether to copy; by default only if the strides require it.

        Returns
        -------
        USMArray
            A view or a copy.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As reshape() raises them.

        Examples
        --------
        >>> usmpy.arange(6).reshape(2, -1).shape
        (2, 3)
        """
    def ravel(self, order: Literal["C", "F", "A"] | None = "C") -> USMArray:
        """The elements in one dimension, as a view where strides allow it.

        Parameters
        ----------
        order : {"C", "F", "A"}, optional
            The order in which elements are read.

        Returns
        -------
        USMArray
            A view or a copy.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As reshape() raises them.

        Examples
        --------
        >>> usmpy.zeros((2, 3)).ravel().shape
        (6,)
        """
    def flatten(self, order: Literal["C", "F", "A"] | None = "C") -> USMArray:
        """The elements in one dimension, as a copy.

        Parameters
        ----------
        order : {"C", "F", "A"}, optional
            The order in which elements are read.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As reshape() raises them.

        Examples
        --------
        >>> usmpy.zeros((2, 3)).flatten().shape
        (6,)
        """
    def squeeze(self, axis: _Axes | None = None) -> USMArray:
        """A view without axes of length 1: ``squeeze(x, axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            The axes that go; by default all of length 1.

        Returns
        -------
        USMArray
            A view.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As squeeze() raises them.

        Examples
        --------
        >>> usmpy.zeros((1, 3)).squeeze().shape
        (3,)
        """
    def transpose(self, *axes: _Axes | None) -> USMArray:
        """A view with the axes in another order: ``permute_dims(x, axes)``.

        Parameters
        ----------
        *axes : ints, or one sequence of ints
            The axis of this array that each axis of the result is; by default the axes in reverse order.

        Returns
        -------
        USMArray
            A view.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As permute_dims() raises them.

        Examples
        --------
        >>> usmpy.zeros((2, 3, 4)).transpose().shape
        (4, 3, 2)
        """
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex) -> USMArray:
        """A view with two axes exchanged: ``swapaxes(x, axis1, axis2)``.

        Parameters
        ----------
        axis1, axis2 : int
            The axes.

        Returns
        -------
        USMArray
            A view.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As swapaxes() raises them.

        Examples
        --------
        >>> usmpy.zeros((2, 3, 4)).swapaxes(0, 1).shape
        (3, 2, 4)
        """
    def repeat(
        self,
        repeats: SupportsIndex | USMArray | Sequence[SupportsIndex],
        /,
        *,
        axis: SupportsIndex | None = None,
    ) -> USMArray:
        """Each element several times: ``repeat(x, repeats, axis=axis)``.

        Parameters
        ----------
        repeats : int, USMArray or sequence of ints
            The number of repetitions of each element.
        axis : int, optional
            Along which axis; by default the array is taken as flat.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, IndexError, TypeError, ExecutionPlacementError, MemoryError
            As repeat() raises them.

        Examples
        --------
        >>> usmpy.arange(2).repeat(2).tolist()
        [0, 0, 1, 1]
        """
    def take(
        self, indices: _Indices, /, *, axis: SupportsIndex | None = None, out: USMArray | None = None
    ) -> USMArray:
        """Elements by index: ``take(x, indices, axis=axis)``.

        Parameters
        ----------
        indices : int, USMArray, sequence or array of integers
            The indices of the elements.
        axis : int, optional
            Along which axis; it may be left out for one dimension.
        out : USMArray, optional
            An array that the result is written into.

        Returns
        -------
        USMArray
            `out`, or a new array.

        Raises
        ------
        ValueError, IndexError, TypeError, ExecutionPlacementError, MemoryError
            As take() raises them.

        Examples
        --------
        >>> usmpy.arange(5).take([4, 0]).tolist()
        [4, 0]
        """
    def put(self, indices: _Indices, vals: _ArrayLike, /, *, axis: SupportsIndex | None = None) -> None:
        """Write values at indices: ``put(x, indices, vals, axis=axis)``.

        Parameters
        ----------
        indices : USMArray, sequence or array of integers
            The indices of the elements.
        vals : number or array
            The new values.
        axis : int, optional
            The axis that the indices are along; by default the array is taken as flat.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As put() raises them.

        Examples
        --------
        >>> x = usmpy.zeros(3, dtype="i4")
        >>> x.put([0, 2], [5, 7])
        >>> x.tolist()
        [5, 0, 7]
        """
    def fill(self, value: _ArrayLike, /) -> None:
        """Set every element: ``x[...] = value``.

        Parameters
        ----------
        value : number or array
            The new value of the elements.

        Raises
        ------
        ValueError, TypeError, OverflowError, MemoryError
            As ``x[...] = value`` raises them.

        Examples
        --------
        >>> x = usmpy.empty(2)
        >>> x.fill(3)
        >>> x.tolist()
        [3.0, 3.0]
        """
    def nonzero(self) -> tuple[USMArray, ...]:
        """The indices of the elements that are not 0: ``nonzero(x)``.

        Returns
        -------
        tuple of USMArrays
            A vector of int64 for each axis.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As nonzero() raises them.

        Examples
        --------
        >>> usmpy.asarray([0, 5]).nonzero()[0].tolist()
        [1]
        """
    def argmax(self, axis: int | None = None, keepdims: builtins.bool = False) -> USMArray:
        """Where the largest element is, along an axis: ``argmax(x, axis)``.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all of them, in row-major order.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            Indices, as int64.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As argmax() raises them.

        Examples
        --------
        >>> usmpy.asarray([3, 8, 5]).argmax().tolist()
        1
        """
    def argmin(self, axis: int | None = None, keepdims: builtins.bool = False) -> USMArray:
        """Where the smallest element is, along an axis: ``argmin(x, axis)``.

        Parameters
        ----------
        axis : int, optional
            Along which axis; by default all of them, in row-major order.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            Indices, as int64.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As argmin() raises them.

        Examples
        --------
        >>> usmpy.asarray([3, 8, 5]).argmin().tolist()
        0
        """
    def mean(self, axis: _Axes | None = None, keepdims: builtins.bool = False) -> USMArray:
        """The arithmetic mean along axes: ``mean(x, axis)``.

        Parameters
        ----------
        axis : int or tuple of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As mean() raises them.

        Examples
        --------
        >>> usmpy.asarray([1.0, 2.0, 6.0]).mean().tolist()
        3.0
        """
    def var(
        self, axis: _Axes | None = None, *, correction: float = 0.0, keepdims: builtins.bool = False
    ) -> USMArray:
        """The variance along axes: ``var(x, axis)``.

        Parameters
        ----------
        axis : int or tuple of ints, optional
            Along which axes; by default all of them.
        correction : float, default 0.0
            What the number of elements is reduced by, as the divisor.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As var() raises them.

        Examples
        --------
        >>> usmpy.asarray([1.0, 2.0]).var().tolist()
        0.25
        """
    def std(
        self, axis: _Axes | None = None, *, correction: float = 0.0, keepdims: builtins.bool = False
    ) -> USMArray:
        """The standard deviation along axes: ``std(x, axis)``.

        Parameters
        ----------
        axis : int or tuple of ints, optional
            Along which axes; by default all of them.
        correction : float, default 0.0
            What the number of elements is reduced by, as the divisor.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, TypeError, MemoryError
            As std() raises them.

        Examples
        --------
        >>> usmpy.asarray([1.0, 2.0]).std().tolist()
        0.5
        """
    def clip(self, min: USMArray | float | None = None, max: USMArray | float | None = None) -> USMArray:
        """Elements confined to a range: ``clip(x, min, max)``.

        Parameters
        ----------
        min, max : USMArray or number, optional
            The bounds, which belong to the range. None: there is none.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, TypeError, OverflowError, MemoryError
            As clip() raises them.

        Examples
        --------
        >>> usmpy.asarray([-2, 0, 3]).clip(-1, 1).tolist()
        [-1, 0, 1]
        """
    def argsort(
        self, *, axis: SupportsIndex = -1, descending: builtins.bool = False, stable: builtins.bool = True
    ) -> USMArray:
        """The indices that put an axis in order: ``argsort(x, axis=axis, descending=descending)``.

        Parameters
        ----------
        axis : int, default -1
            The axis; the last one by default.
        descending : bool, default False
            The largest element first.
        stable : bool, default True
            Has no effect: elements that are equal always keep their order.

        Returns
        -------
        USMArray
            Indices of int64 in the shape of the array.

        Raises
        ------
        TypeError, ValueError, AxisError, MemoryError
            As argsort() raises them.

        Examples
        --------
        >>> usmpy.asarray([3, 1, 2]).argsort().tolist()
        [1, 2, 0]
        """

    def all(self, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
        """Whether all elements are true, along axes: ``all(x, axis=axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array of bool.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As all() raises them.

        Examples
        --------
        >>> bool(usmpy.asarray([True, False]).all())
        False
        """
    def any(self, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
        """Whether any element is true, along axes: ``any(x, axis=axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array of bool.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As any() raises them.

        Examples
        --------
        >>> bool(usmpy.asarray([True, False]).any())
        True
        """
    def sum(
        self, axis: _Axes | None = None, *, keepdims: builtins.bool = False, dtype: _DTypeLike | None = None
    ) -> USMArray:
        """The sum along axes: ``sum(x, axis=axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.
        dtype : DType, str, type or numpy.dtype, optional
            The type of the result; by default that of the function.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As sum() raises them.

        Examples
        --------
        >>> int(usmpy.asarray([1, 2, 3]).sum())
        6
        """
    def prod(
        self, axis: _Axes | None = None, *, keepdims: builtins.bool = False, dtype: _DTypeLike | None = None
    ) -> USMArray:
        """The product along axes: ``prod(x, axis=axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.
        dtype : DType, str, type or numpy.dtype, optional
            The type of the result; by default that of the function.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As prod() raises them.

        Examples
        --------
        >>> int(usmpy.asarray([2, 3, 4]).prod())
        24
        """
    def max(self, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
        """The largest element along axes: ``max(x, axis=axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As max() raises them.

        Examples
        --------
        >>> int(usmpy.asarray([1, 3, 2]).max())
        3
        """
    def min(self, axis: _Axes | None = None, *, keepdims: builtins.bool = False) -> USMArray:
        """The smallest element along axes: ``min(x, axis=axis)``.

        Parameters
        ----------
        axis : int or sequence of ints, optional
            Along which axes; by default all of them.
        keepdims : bool, default False
            Whether the result keeps these axes, with length 1.

        Returns
        -------
        USMArray
            A new array.

        Raises
        ------
        ValueError, IndexError, TypeError, MemoryError
            As min() raises them.

        Examples
        --------
        >>> int(usmpy.asarray([2, 1, 3]).min())
        1
        """
    # Which type of number they return is not known before the program runs.
    def item(self, *args: SupportsIndex) -> Any:
        """One element as a Python number. Waits for pending work.

        Parameters
        ----------
        *args : ints
            Nothing for the only element; else its index, one int in row-major order or one for each axis.

        Returns
        -------
        bool, int, float or complex
            The element.

        Raises
        ------
        ValueError
            There is not exactly one element, or the number of ints is wrong.
        IndexError
            The index is out of range.
        TypeError
            The type is packed, or an argument is not an int.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Examples
        --------
        >>> usmpy.asarray([[1, 2], [3, 4]]).item(1, 0)
        3
        """
    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for 0 dimensions. Waits for pending work.

        Returns
        -------
        list or number
            The elements.

        Raises
        ------
        TypeError
            The type has no Python number.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Examples
        --------
        >>> usmpy.arange(3).tolist()
        [0, 1, 2]
        """
    def tobytes(self, order: Literal["C", "F", "A"] | None = "C") -> bytes:
        """The elements side by side as bytes, wherever they are. Waits for pending work.

        Parameters
        ----------
        order : {"C", "F", "A"}, optional
            The order of the elements.

        Returns
        -------
        bytes
            A copy.

        Raises
        ------
        ValueError
            `order` is another word.
        MemoryError
            Memory is exhausted.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Examples
        --------
        >>> usmpy.asarray([1, 258], dtype="u2").tobytes()
        b'\\x01\\x00\\x02\\x01'
        """
    def asnumpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """A copy of the elements as a numpy.ndarray, wherever they are. Waits for pending work.

        Returns
        -------
        numpy.ndarray
            New memory on the host.

        Raises
        ------
        ImportError
            NumPy is not installed.
        TypeError
            Neither NumPy nor ml_dtypes has the type.
        MemoryError
            Memory is exhausted.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Examples
        --------
        >>> usmpy.arange(3).asnumpy()
        array([0, 1, 2])
        """
    def wait(self, timeout: float | None = None) -> None:
        """Block until pending work on the memory has completed.

        Parameters
        ----------
        timeout : float, optional
            Seconds; by default the call waits as long as it takes.

        Raises
        ------
        TimeoutError
            The time ran out.
        ValueError
            `timeout` is negative.
        TypeError
            `timeout` is not a number.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Examples
        --------
        >>> usmpy.zeros(3).wait()
        """
    def get_ipc_handle(self) -> IPCHandle:
        """Make a handle, by which another process of this machine opens this array's memory.

        Returns
        -------
        IPCHandle
            Of this array: its shape, strides and type, on the whole block of memory that it lies in. A handle
            of a read-only array opens as a read-only one.

        Raises
        ------
        BufferError
            The memory cannot be opened by others: `share` copies it into memory that can.
        MemoryError
            No descriptor is left.
        UsmError
            Work on the memory failed; the error of that work is raised.

        Notes
        -----
        The call waits for pending work on the memory, unless the driver lets the other process wait for it
        on the device.

        Examples
        --------
        >>> x = usmpy.share(usmpy.arange(3, device="host"))
        >>> with x.get_ipc_handle() as handle:
        ...     handle.open().tolist()
        [0, 1, 2]
        """
    def lend(self, stream: Event | _Stream | None = None) -> _Loan:
        """Lend the memory to a kernel of another library, for the time of a with block.

        Parameters
        ----------
        stream : Queue, Event or CUDA stream, optional
            The stream of that kernel: a Queue, a CUDA stream as `Queue.wait_for` takes it, or an Event that
            completes with it. None stands for the host.

        Returns
        -------
        context manager
            Entering it gives the address of the first element, as an int.

        Raises
        ------
        BufferError
            Memory of this backend has no such streams.
        ValueError
            The stream is 0.
        TypeError
            `stream` is none of the above.

        Notes
        -----
        The kernel is ordered after pending work on the array, and later work on the array after the kernel.
        With a stream or Queue both orders are made on the device; without one, entering blocks until pending
        work completes.

        Examples
        --------
        >>> import ctypes
        >>> import usmpy
        >>> x = usmpy.zeros(3, dtype="float32", device="host")
        >>> with x.lend() as address:
        ...     ctypes.c_float.from_address(address).value = 7
        >>> x.tolist()
        [7.0, 0.0, 0.0]
        """
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: _Pair | None = None,
        dl_device: _Pair | None = None,
        copy: builtins.bool | None = None,
    ) -> CapsuleType:
        """Export the memory as a DLPack capsule (array API standard 2025.12, __dlpack__; DLPack 1.3).

        Parameters
        ----------
        stream : int, optional
            Stream of the consumer. For CUDA memory: 1 or None is the legacy default stream, 2 the calling
            thread's, other numbers are addresses of streams; their later work is ordered after pending work
            here, on the device. -1 makes no order. For managed and pinned memory, None gives finished data.
            For memory of the CPU, None gives finished data and -1 does not wait. With ``copy=False``, -1
            gives finished data for every memory: this is how mpi4py asks, which has no stream.
        max_version : tuple of two ints, optional
            Highest version that the consumer understands. A major version of 1 or more gives a capsule named
            'dltensor_versioned', a lower one or None one named 'dltensor'.
        dl_device : tuple of two ints, optional
            Device that the consumer wants: another view of the memory, or (1, 0) for a copy on the host.
        copy : bool, optional
            True always copies, False never copies, None copies only if necessary.

        Returns
        -------
        capsule
            It owns the memory until a consumer takes it.

        Raises
        ------
        BufferError
            The memory cannot be exchanged as asked.
        ValueError
            The stream is not valid, such as 0.
        TypeError
            An argument has a wrong type.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        An error of work on the memory is raised here where the call waits for that work.

        Examples
        --------
        >>> import usmpy
        >>> x = usmpy.zeros(3, device="host")
        >>> capsule = x.__dlpack__(max_version=(1, 3))
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """Tell the DLPack device of the memory (array API standard 2025.12; DLPack 1.3).

        Returns
        -------
        tuple of two ints
            (device type, device id) that most consumers of the memory understand, such as (1, 0) for memory
            of the CPU and (2, 0) for the first CUDA GPU.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.zeros(3, device="host").__dlpack_device__()
        (1, 0)
        """
    def __arrow_c_array__(
        self, requested_schema: CapsuleType | None = None, **kwargs: None
    ) -> tuple[CapsuleType, CapsuleType]:
        """Export memory that the host reads as an array of Arrow (the Arrow PyCapsule interface).

        Parameters
        ----------
        requested_schema : capsule, optional
            The type that the consumer would like. It is not followed: an array has one type of Arrow.
        **kwargs
            Keywords of later versions of the interface, which must be None.

        Returns
        -------
        tuple of two capsules
            Named 'arrow_schema' and 'arrow_array'. They own the memory until a consumer takes it.

        Raises
        ------
        BufferError
            Arrow has no type for the array, the array is not contiguous or has no dimensions, or the host
            cannot read its memory.
        NotImplementedError
            A keyword is not None.
        TypeError
            `requested_schema` is not such a capsule.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        The call waits for pending writes to the array, and passes their errors on. `__arrow_c_device_array__`
        describes the types.

        Examples
        --------
        >>> import usmpy
        >>> schema, array = usmpy.zeros(3, device="host").__arrow_c_array__()
        """
    def __arrow_c_device_array__(
        self, requested_schema: CapsuleType | None = None, **kwargs: None
    ) -> tuple[CapsuleType, CapsuleType]:
        """Export the memory as an array of Arrow (the Arrow PyCapsule interface, C device data interface).

        Parameters
        ----------
        requested_schema : capsule, optional
            The type that the consumer would like. It is not followed: an array has one type of Arrow.
        **kwargs
            Keywords of later versions of the interface, which must be None.

        Returns
        -------
        tuple of two capsules
            Named 'arrow_schema' and 'arrow_device_array'. They own the memory until a consumer takes it.

        Raises
        ------
        BufferError
            Arrow has no type for the array, or the array is not contiguous or has no dimensions.
        NotImplementedError
            A keyword is not None.
        TypeError
            `requested_schema` is not such a capsule.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        Integers and float16 to float64 have Arrow's types, bool the extension type 'arrow.bool8'. An array
        of more dimensions is a list of fixed size for each axis but the first. Consumers must not write.
        Device type and id are those of `__dlpack_device__`, but memory that the host reads is that of the
        CPU, whose id is -1.

        On CUDA devices, `sync_event` is an event behind pending writes to the array, or NULL if there are
        none; the call does not wait. Elsewhere it waits for pending writes, and `sync_event` is NULL.

        Examples
        --------
        >>> import usmpy
        >>> schema, array = usmpy.zeros(3, device="host").__arrow_c_device_array__()
        """
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module usmpy (array API standard 2025.12).

        Parameters
        ----------
        api_version : str, optional
            A version of the standard, such as "2025.12".

        Returns
        -------
        module
            usmpy.

        Raises
        ------
        ValueError
            usmpy does not follow that version.

        Examples
        --------
        >>> usmpy.zeros(1).__array_namespace__() is usmpy
        True
        """
    def _repr_html_(self) -> str:
        """What notebooks show: properties, corners of the values, and a small picture of 2-D data.

        Notes
        -----
        A few kilobytes are copied for it. Waits for pending work; errors are part of the text.
        """
    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Refuses: NumPy asks for it where the host cannot read the memory in place, and nothing is copied
        implicitly.

        Parameters
        ----------
        dtype, copy
            NumPy's, ignored.

        Raises
        ------
        TypeError
            Always.
        """
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any, /) -> Any:
        """Computes functions of NumPy by those of usmpy, as in ``numpy.sum(x, axis=0)`` (NumPy's NEP 18).

        Parameters
        ----------
        func, types, args, kwargs
            As NumPy passes them.

        Returns
        -------
        USMArray, or what else the function of usmpy returns
            NotImplemented, if an argument is of another library that NumPy should ask.

        Raises
        ------
        TypeError
            usmpy has no such function, or not with this argument; nothing is converted. The message says how
            to compute with NumPy.

        Examples
        --------
        >>> import numpy as np
        >>> np.concatenate([usmpy.arange(2), usmpy.arange(3)])
        USMArray([0, 1, 0, 1, 2], shape=(5,), dtype=int64, device='host:cpu:0', usm_type='device')
        """
    def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **keywords: Any) -> Any:
        """Computes ufuncs of NumPy by functions of usmpy, as in ``numpy.sqrt(x)`` (NumPy's NEP 13).

        Parameters
        ----------
        ufunc, method, *inputs, **keywords
            As NumPy passes them: a call, ``reduce``, ``accumulate`` or ``outer``, with `out`, `where`,
            `dtype`, `casting` and `order`.

        Returns
        -------
        USMArray
            NotImplemented, if an argument is of another library that NumPy should ask.

        Raises
        ------
        TypeError
            usmpy has no such function, or not with these arguments; nothing is converted. The message says
            how to compute with NumPy.

        Examples
        --------
        >>> import numpy as np
        >>> np.hypot(usmpy.asarray([3.0, 5.0]), usmpy.asarray([4.0, 12.0])).tolist()
        [5.0, 13.0]
        """
    def __buffer__(self, flags: int, /) -> memoryview: ...
    # Element by element; False and True for what has no elements.
    def __eq__(self, value: object, /) -> Any: ...
    def __ne__(self, value: object, /) -> Any: ...
    def __lt__(self, value: USMArray | complex, /) -> USMArray: ...
    def __le__(self, value: USMArray | complex, /) -> USMArray: ...
    def __gt__(self, value: USMArray | complex, /) -> USMArray: ...
    def __ge__(self, value: USMArray | complex, /) -> USMArray: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    # The build puts the operators of csrc/kernels/operations.py here.
    def __divmod__(self, value: USMArray | float, /) -> tuple[USMArray, USMArray]: ...
    def __rdivmod__(self, value: float, /) -> tuple[USMArray, USMArray]: ...
    def __matmul__(self, value: USMArray, /) -> USMArray: ...
    def __rmatmul__(self, value: USMArray, /) -> USMArray: ...
    def __imatmul__(self, value: USMArray, /) -> Self: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[USMArray]: ...
    def __getitem__(self, key: _Index, /) -> USMArray: ...
    def __setitem__(self, key: _Index, value: _ArrayLike, /) -> None: ...
    def __delitem__(self, key: Any, /) -> NoReturn: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex:
        """complex() of the element of an array of 0 dimensions. Waits for pending work.

        Raises
        ------
        TypeError
            The array has dimensions, and one element; ``x.item()`` is that element.
        ValueError
            There is not exactly one element.
        UsmError
            Work on the memory failed; the error of that work is raised.
        """
    def __index__(self) -> int: ...
    def __format__(self, format_spec: str, /) -> str:
        """The only element of an array of 0 dimensions in a format; without one, str().

        Parameters
        ----------
        format_spec : str
            As format() takes it for the Python number.

        Raises
        ------
        TypeError
            The array has dimensions.
        ValueError
            The format is not one of that number.

        Examples
        --------
        >>> x = usmpy.asarray([1.23456])
        >>> f"{x[0]:.2f}"
        '1.23'
        """
    def __copy__(self) -> USMArray:
        """``copy(order="K")``: `copy.copy` gives a new, writable array on the same queue."""
    def __deepcopy__(self, memo: object, /) -> USMArray:
        """``copy(order="K")``: `copy.deepcopy` gives a new, writable array on the same queue.

        Parameters
        ----------
        memo : object
            Unused: an array holds no other objects.

        Raises
        ------
        MemoryError
            Memory is exhausted.
        """
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickle by elements and place (`Device.filter_string`), after pending work.

        Parameters
        ----------
        protocol : int
            From 5 on, the data are a `pickle.PickleBuffer`: the array's own memory if the host can read it
            and the array is contiguous, else one copy in memory that the host can read.

        Raises
        ------
        UsmError
            Work on the memory failed; the error of that work is raised.

        Notes
        -----
        Unpickling uses the memory of a buffer in place on processors that can use all memory of the process
        (`Device.has_usm_system`, such as the host) if its address is a multiple of the item size. The array
        keeps the buffer alive, and is read-only if the buffer is. Otherwise the data are copied once.
        Unpickling raises `DeviceNotFound` if the device is missing (`unpickle_device` takes another one), and
        ValueError if the buffer is of another size than the array.
        """
