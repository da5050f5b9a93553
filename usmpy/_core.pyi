"""Types of the extension, checked against the built module by tests/structure/test_stubs.py.

What only a testing build has (``_fault`` and its kin, ``_live_counts``) is left out. Names with an underscore
that the module itself lacks are aliases for the annotations here.
"""

import builtins
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from types import EllipsisType, ModuleType
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NoReturn,
    Protocol,
    SupportsIndex,
    TypeAlias,
    TypedDict,
    final,
)

import numpy as np
from _typeshed import structseq
from typing_extensions import Buffer, CapsuleType, Self

from ._enums import MemoryConnection
from ._platform import Platform

# Words.

# The table of usmpy/include/usmpy.h.
_C_API: Final[CapsuleType]

_Backend: TypeAlias = Literal["host", "opencl", "level_zero", "cuda"]
_CacheType: TypeAlias = Literal["none", "read_only", "read_write"]
_Casting: TypeAlias = Literal["no", "safe", "same_kind", "unsafe"]
_DeviceType: TypeAlias = Literal["cpu", "gpu", "accelerator"]
_Language: TypeAlias = Literal["portable", "opencl", "cuda", "c", "spirv", "ptx", "native"]
_Order: TypeAlias = Literal["C", "F"]
_Priority: TypeAlias = Literal["low", "normal", "high"]
_Status: TypeAlias = Literal["submitted", "running", "complete", "error"]
_UsmType: TypeAlias = Literal["device", "shared", "host"]

# What other libraries' objects need to have.

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _SupportsSyclInterface(Protocol):
    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]: ...

class _SupportsCudaInterface(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

class _CudaStream(Protocol):
    """cuda.core's, PyTorch's, CuPy's."""

    def __cuda_stream__(self) -> tuple[int, int]: ...

class _StreamOfTorch(Protocol):
    @property
    def cuda_stream(self) -> int: ...

class _StreamOfCuPy(Protocol):
    @property
    def ptr(self) -> int: ...
    def synchronize(self) -> Any: ...

class _StreamOfNumba(Protocol):
    @property
    def handle(self) -> Any: ...
    def synchronize(self) -> Any: ...

class _SupportsIntPtr(Protocol):
    """An object of PyOpenCL."""

    @property
    def int_ptr(self) -> int: ...

class _SupportsSyclCapsule(Protocol):
    """A SyclQueue or SyclContext of dpctl."""

    def _get_capsule(self) -> CapsuleType: ...

class _SupportsExchangeTable(Protocol):
    __dlpack_c_exchange_api__: ClassVar[Any]

class _HostScalar(Protocol):
    """A zero-dimensional value on the host, such as numpy.float32(1)."""

    @property
    def ndim(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def item(self) -> Any: ...

class _NumPyDType(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def isnative(self) -> builtins.bool: ...

_Array: TypeAlias = _SupportsDLPack | _SupportsExchangeTable
_Handle: TypeAlias = SupportsIndex | _SupportsIntPtr
_HandleOrSycl: TypeAlias = _Handle | _SupportsSyclCapsule | CapsuleType
_Number: TypeAlias = complex | _HostScalar
_Numbers: TypeAlias = _Number | SupportsIndex | Sequence[_Numbers]
_ArrayLike: TypeAlias = _Array | Buffer | _SupportsSyclInterface | _SupportsCudaInterface | _Numbers
_DTypeLike: TypeAlias = (
    DType
    | str
    | type[builtins.bool]
    | type[int]
    | type[float]
    | type[complex]
    | type[_HostScalar]
    | _NumPyDType
)
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Axes: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | list[SupportsIndex]
_Placement: TypeAlias = Device | Queue | USMArray | str | None
_Pair: TypeAlias = tuple[SupportsIndex, SupportsIndex]
_Stream: TypeAlias = Queue | int | _CudaStream | _StreamOfTorch | _StreamOfCuPy | _StreamOfNumba
_Extents: TypeAlias = Range | SupportsIndex | Sequence[SupportsIndex]
_Space: TypeAlias = NdRange | Range | SupportsIndex
_Range: TypeAlias = NdRange | _Extents
_KernelArgument: TypeAlias = USMArray | LocalMemory | _Number | _HostScalar | Buffer | None
_Depends: TypeAlias = Event | Iterable[Event] | None
_IndexPart: TypeAlias = SupportsIndex | slice | EllipsisType | None
_Index: TypeAlias = _IndexPart | tuple[_IndexPart, ...]
_Real: TypeAlias = float | _HostScalar

# Devices and contexts.

@final
class Device:
    """A device, and the queue that arrays made on it get (SYCL 2020, 4.6.4).

    Parameters
    ----------
    selector : str or Device, optional
        A filter string (see Notes); None stands for `select_default_device`.

    Raises
    ------
    ValueError
        The filter string is malformed.
    DeviceNotFound
        No device matches the filter string.
    BackendUnavailable
        The library or the driver of the backend is missing; the message names it.
    UsmError
        The driver of the backend is broken.
    TypeError
        `selector` is something else.

    Notes
    -----
    A filter string has parts of ``backend:type:index`` in this order, at least one of them: ``"gpu"``,
    ``"opencl"``, ``"cuda:1"``. Alternatives are separated by commas, and the first that matches is taken.
    That is the grammar of SYCL's extension sycl_ext_oneapi_filter_selector. In addition, a word in brackets
    behind a backend must occur in the name or the vendor of the platform, in any letter case:
    ``"opencl[intel]"``, ``"opencl[pocl]:cpu"``. The index counts the devices that match the other parts.

    Two devices are equal if they are the same hardware with the same queue, so
    ``zeros(n, device=x.device)`` always lands beside ``x``. `same_device` compares the hardware alone.

    Examples
    --------
    >>> import usmpy
    >>> device = usmpy.Device("host")
    >>> device.filter_string, device.device_type
    ('host:cpu:0', 'cpu')
    >>> usmpy.Device("no_such_backend,host") == device
    Traceback (most recent call last):
        ...
    ValueError: selector is 'no_such_backend,host': 'no_such_backend' is not a backend, type or index. ...
    """
    def __new__(cls, selector: str | Device | None = None) -> Self: ...
    @classmethod
    def create_device(cls, obj: _Placement = None) -> Device:
        """Return the placement that array creation uses for ``device=obj``.

        Parameters
        ----------
        obj : str, Device, Queue or USMArray, optional
            A filter string; a Device, which is returned as it is; a Queue or a USMArray, whose device comes
            with that queue; None for the default device.

        Returns
        -------
        Device

        Raises
        ------
        TypeError
            `obj` is something else.
        ValueError, DeviceNotFound, BackendUnavailable, UsmError
            As `Device` raises them for a filter string.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> usmpy.zeros(3, device=usmpy.Device.create_device(queue)).queue == queue
        True
        """
    @classmethod
    def from_native(cls, backend: _Backend, handle: _Handle) -> Device:
        """Return the device that a driver's object stands for, with its cached queue.

        Parameters
        ----------
        backend : str
            ``"opencl"``, ``"level_zero"`` or ``"cuda"``.
        handle : int or object
            The driver's device as an int, such as a cl_device_id (on CUDA, the number of the device), or an
            object whose `int_ptr` is one, such as PyOpenCL's Device.

        Returns
        -------
        Device
            Equal to the one that `get_devices` lists or that `create_sub_devices` made. Parts that another
            library made of a device are not known to usmpy.

        Raises
        ------
        DeviceNotFound
            usmpy knows no device with this handle.
        ValueError
            The handle is 0, except on CUDA, or the backend has no native devices.
        TypeError
            An argument has a wrong type.
        BackendUnavailable
            The backend is missing.
        """
    def create_sub_devices(self, units: SupportsIndex) -> list[Device]:
        """Divide the device into equal parts (SYCL 2020, 4.6.4, partition_equally).

        Parameters
        ----------
        units : int
            Compute units of each part. Units that are left over are not used.

        Returns
        -------
        list of Device
            The same call returns equal devices.

        Raises
        ------
        ValueError
            `units` is below 1 or above `max_compute_units`, or the driver cannot make such parts.
        TypeError
            `units` is not an int.

        Examples
        --------
        >>> import usmpy
        >>> device = usmpy.Device("host")
        >>> part = device.create_sub_devices(1)[0]
        >>> part.filter_string, part.parent == device
        ('host:cpu:0.0@1', True)
        """
    def same_device(self, other: _Placement) -> builtins.bool:
        """Whether `other` is on this device, whatever its queue is.

        Parameters
        ----------
        other : Device, Queue, USMArray or str
            Anything that `create_device` takes.

        Returns
        -------
        bool
            True for the same hardware. A part of a device is another device than the whole.

        Raises
        ------
        TypeError
            `other` is something else.
        ValueError, DeviceNotFound, BackendUnavailable, UsmError
            As `Device` raises them for a filter string.

        Notes
        -----
        dpctl's ``x.sycl_device == y.sycl_device`` is ``x.device.same_device(y)``.

        Examples
        --------
        >>> import usmpy
        >>> x = usmpy.zeros(3, queue=usmpy.Queue("host"))
        >>> device = usmpy.Device("host")
        >>> x.device == device, device.same_device(x)
        (False, True)
        """
    def has_aspect(self, aspect: str, /) -> builtins.bool:
        """Whether the device has an aspect (SYCL 2020, 4.6.4.5).

        Parameters
        ----------
        aspect : str
            Name of the aspect, such as ``"fp64"``; `aspects` lists them.

        Returns
        -------
        bool

        Raises
        ------
        ValueError
            There is no such aspect; the message lists all of them.
        TypeError
            `aspect` is not a str.

        Notes
        -----
        dpctl's ``device.has_aspect_fp64`` is ``device.has_aspect("fp64")``.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.Device("host").has_aspect("gpu")
        False
        """
    def info(self) -> dict[str, Any]:
        """Return all properties that are plain facts, by name.

        Returns
        -------
        dict
            Sizes are in bytes. A value is None if the driver does not tell it.
        """
    @property
    def queue(self) -> Queue:
        """The queue of arrays that are made with this device.

        The queue that this placement was made from, or else the cached queue of the device. The process has
        one cached queue for each context and device.
        """
    @property
    def context(self) -> Context:
        """The context of `queue`; for root devices the default context of the platform."""
    @property
    def native_handle(self) -> int | None:
        """The driver's device as an int, for other libraries.

        A cl_device_id, ze_device_handle_t or CUdevice; None on the host. Valid for the life of the process.
        """
    @property
    def parent(self) -> Device | None:
        """The device that this sub-device is a part of; None for a root device."""
    @property
    def platform(self) -> Platform:
        """The driver of the device: a named tuple of `name`, `vendor` and `version` (SYCL 2020, 4.6.2).

        Examples
        --------
        >>> import usmpy
        >>> usmpy.Device("host").platform.name
        'Host'
        """
    @property
    def backend(self) -> _Backend:
        """Name of the backend: 'host', 'opencl', 'level_zero' or 'cuda'."""
    @property
    def device_type(self) -> _DeviceType:
        """Type of the device: 'cpu', 'gpu' or 'accelerator'."""
    @property
    def name(self) -> str:
        """The driver's name of the device."""
    @property
    def vendor(self) -> str:
        """The maker of the device."""
    @property
    def driver_version(self) -> str:
        """Version of the driver, as it writes it; for the host, that of the kernel."""
    @property
    def filter_string(self) -> str:
        """'backend:type:index', from which `Device` makes the same device again.

        A sub-device adds '.K@UNITS': part K of ``create_sub_devices(UNITS)``.
        """
    @property
    def uuid(self) -> uuid.UUID:
        """Identity of the hardware, the same in every process: a uuid.UUID."""
    @property
    def aspects(self) -> frozenset[str]:
        """Names of the aspects that the device has (SYCL 2020, 4.6.4.5).

        Any of cpu, gpu, accelerator, custom, fp16, fp64, atomic64, image, online_compiler, online_linker,
        queue_profiling, usm_device_allocations, usm_host_allocations, usm_shared_allocations,
        usm_system_allocations, usm_atomic_host_allocations, usm_atomic_shared_allocations, host_debuggable
        and emulated, as far as the driver tells of them. On the host, online_compiler needs a C compiler.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.Device("host").aspects >= {"cpu", "usm_shared_allocations"}
        True
        """
    @property
    def max_compute_units(self) -> int:
        """Number of compute units; processors on the host (SYCL 2020, 4.6.4)."""
    @property
    def max_work_group_size(self) -> int:
        """Largest number of work-items in a work-group (SYCL 2020, 4.6.4)."""
    @property
    def max_work_item_dims(self) -> int | None:
        """Number of dimensions of an index space that the driver allows; usmpy uses 3 at most."""
    @property
    def max_work_item_sizes(self) -> tuple[int, int, int]:
        """Largest number of work-items of a work-group along each of three dimensions (SYCL 2020, 4.6.4)."""
    @property
    def sub_group_sizes(self) -> tuple[int, ...]:
        """Sub-group sizes that kernels can use, in work-items (SYCL 2020, 4.6.4)."""
    @property
    def max_num_sub_groups(self) -> int | None:
        """Largest number of sub-groups in a work-group (SYCL 2020, 4.6.4).

        None for OpenCL drivers that do not tell (those below OpenCL 2.1 or without sub-groups).
        """
    @property
    def sub_group_independent_forward_progress(self) -> builtins.bool | None:
        """Whether a sub-group makes progress while another one of the work-group waits; None if not told.

        Level Zero and OpenCL drivers below 2.1 do not tell.
        """
    @property
    def preferred_vector_width_char(self) -> int | None:
        """Preferred vector width for 8-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def preferred_vector_width_short(self) -> int | None:
        """Preferred vector width for 16-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def preferred_vector_width_int(self) -> int | None:
        """Preferred vector width for 32-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def preferred_vector_width_long(self) -> int | None:
        """Preferred vector width for 64-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def preferred_vector_width_float(self) -> int | None:
        """Preferred vector width for float32, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def preferred_vector_width_double(self) -> int | None:
        """Preferred vector width for float64, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def preferred_vector_width_half(self) -> int | None:
        """Preferred vector width for float16, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_char(self) -> int | None:
        """Native vector width for 8-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_short(self) -> int | None:
        """Native vector width for 16-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_int(self) -> int | None:
        """Native vector width for 32-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_long(self) -> int | None:
        """Native vector width for 64-bit integers, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_float(self) -> int | None:
        """Native vector width for float32, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_double(self) -> int | None:
        """Native vector width for float64, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def native_vector_width_half(self) -> int | None:
        """Native vector width for float16, in elements; 0 if the device lacks the type.

        None on CUDA and Level Zero, whose drivers do not tell (SYCL 2020, 4.6.4).
        """
    @property
    def max_clock_frequency(self) -> int | None:
        """Highest clock frequency in MHz; None if the driver does not tell, as in many virtual machines."""
    @property
    def address_bits(self) -> int | None:
        """Number of bits of an address on the device."""
    @property
    def global_mem_size(self) -> int:
        """Size of the device's memory in bytes."""
    @property
    def global_mem_cache_type(self) -> _CacheType | None:
        """Kind of the cache of the device's memory: 'none', 'read_only' or 'read_write'; None if not told."""
    @property
    def global_mem_cache_size(self) -> int | None:
        """Size of the last cache before the device's memory in bytes; None if not told."""
    @property
    def global_mem_cache_line_size(self) -> int | None:
        """Size of a line of that cache in bytes; None on CUDA and Level Zero, whose drivers do not tell."""
    @property
    def local_mem_size(self) -> int:
        """Size of the local memory of a work-group in bytes."""
    @property
    def max_alloc_size(self) -> int:
        """Largest size of one allocation in bytes."""
    @property
    def image_2d_max_width(self) -> int | None:
        """Largest width of a 2-D image in pixels; 0 if the device has no images.

        None if the driver does not tell. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_2d_max_height(self) -> int | None:
        """Largest height of a 2-D image in pixels; 0 if the device has no images.

        None if the driver does not tell. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_3d_max_width(self) -> int | None:
        """Largest width of a 3-D image in pixels; 0 if the device has no images.

        None if the driver does not tell. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_3d_max_height(self) -> int | None:
        """Largest height of a 3-D image in pixels; 0 if the device has no images.

        None if the driver does not tell. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_3d_max_depth(self) -> int | None:
        """Largest depth of a 3-D image in pixels; 0 if the device has no images.

        None if the driver does not tell. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_max_buffer_size(self) -> int | None:
        """Largest 1-D image over a buffer, in pixels; 0 if the device has no images.

        None if the driver does not tell. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def max_read_image_args(self) -> int | None:
        """Number of images that one kernel can read; 0 if the device has no images.

        None on CUDA, whose driver does not tell.
        """
    @property
    def max_write_image_args(self) -> int | None:
        """Number of images that one kernel can write; 0 if the device has no images.

        None on CUDA, whose driver does not tell.
        """
    @property
    def profiling_timer_resolution(self) -> int | None:
        """Resolution of the times of events in nanoseconds; None on CUDA, whose driver does not tell."""
    @property
    def partition_max_sub_devices(self) -> int | None:
        """Largest number of sub-devices that the device can be divided into; 0 if it cannot."""
    @property
    def has_fp16(self) -> builtins.bool:
        """Whether kernels can compute with half precision. Such data can be held and exchanged anyway."""
    @property
    def has_fp64(self) -> builtins.bool:
        """Whether kernels can compute with double precision. Such data can be held and exchanged anyway."""
    @property
    def has_usm_device(self) -> builtins.bool:
        """Whether usm_type='device' is available (SYCL 2020, 4.8)."""
    @property
    def has_usm_shared(self) -> builtins.bool:
        """Whether usm_type='shared' is available (SYCL 2020, 4.8)."""
    @property
    def has_usm_host(self) -> builtins.bool:
        """Whether usm_type='host' is available (SYCL 2020, 4.8)."""
    @property
    def has_usm_system(self) -> builtins.bool:
        """Whether kernels can use any pointer of the process (SYCL 2020, 4.8)."""
    @property
    def dlpack_device(self) -> tuple[int, int]:
        """The pair (device type, device id) of memory on this device (DLPack 1.3, DLDevice)."""
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by `filter_string`: unpickling gives the device of that name, with its cached queue."""

@final
class Context:
    """Several devices of one platform that share memory and events (SYCL 2020, 4.6.3).

    Parameters
    ----------
    devices : Device or sequence of Device
        Devices of one backend, without repeats.

    Raises
    ------
    ValueError
        There are no devices, one is repeated, or they are of different backends or platforms.
    TypeError
        `devices` is something else.

    Notes
    -----
    Contexts are equal if they are the same native context. Each call makes a new one, so two
    ``Context(devices)`` differ; ``device.context`` is the default context of the platform.

    Examples
    --------
    >>> import usmpy
    >>> context = usmpy.Context(usmpy.Device("host"))
    >>> usmpy.Queue("host", context=context).context == context
    True
    >>> context.is_default, usmpy.Device("host").context.is_default
    (False, True)
    """
    def __new__(cls, devices: Device | Iterable[Device]) -> Self: ...
    @property
    def devices(self) -> list[Device]:
        """The devices of the context."""
    @property
    def backend(self) -> _Backend:
        """Name of the backend: 'host', 'opencl', 'level_zero' or 'cuda'."""
    @property
    def is_default(self) -> builtins.bool:
        """Whether this is the default context of the platform."""
    @property
    def native_handle(self) -> int | None:
        """The driver's context as an int, for other libraries.

        A cl_context, ze_context_handle_t or CUcontext; None on the host. Valid for the life of this context:
        a library that keeps it longer must retain it, as PyOpenCL's from_int_ptr does.
        """
    @classmethod
    def from_native(cls, backend: _Backend, handle: _HandleOrSycl, *, owner: object = None) -> Context:
        """Make a context over a driver's context of another library.

        Parameters
        ----------
        backend : str
            ``"opencl"``, ``"level_zero"`` or ``"cuda"``.
        handle : int or object
            The driver's context as an int, such as a cl_context; an object whose `int_ptr` is one, such as
            PyOpenCL's Context; or a SyclContext of dpctl.
        owner : object, optional
            Kept alive as long as the context. It must not reference the context: the garbage collector cannot
            break that cycle.

        Returns
        -------
        Context
            There is one Context for each native context: those of one handle are equal, and memory of one
            is memory of the other. The handle is retained, and never destroyed.

        Raises
        ------
        ValueError
            The handle is 0, or the backend has no native contexts.
        TypeError
            An argument has a wrong type.
        UsmError
            The handle is not a context, as far as the driver can tell (CL_INVALID_CONTEXT).
        DeviceNotFound
            The context has a device that usmpy does not list.
        BackendUnavailable
            The backend is missing.
        MemoryError
            Memory is exhausted.
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

# Queues and events.

@final
class Queue:
    """Where work is submitted (SYCL 2020, 4.6.5).

    Each call makes a new queue, which compares equal only to itself.

    Parameters
    ----------
    device : str, Device, Queue or USMArray, optional
        Anything that `Device.create_device` takes.
    context : Context, optional
        A context that has the device; None stands for the context of `device`.
    in_order : bool, default True
        Whether work runs in the order of submission. With False, only `depends` and the memory that tasks use
        order them.
    profiling : bool, default False
        Whether events have times.
    priority : {'normal', 'low', 'high'}, default 'normal'
        Priority of the work. On the host, 'low' lowers the priority of the threads, and 'high' is 'normal',
        since raising it needs a privilege.

    Raises
    ------
    ValueError
        The context does not have the device, or the priority is none of the three.
    TypeError
        An argument has a wrong type.
    UsmError
        The driver refuses to make a queue.
    MemoryError
        Memory is exhausted.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Every submission returns an `Event` at once, and keeps the memory that it uses alive until it completes.
    It is ordered after earlier work on the same memory, also in other queues. Errors of the work are raised
    by `Event.wait` and `Queue.wait`.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host")
    >>> x = usmpy.zeros(4, dtype="int32", queue=queue)
    >>> event = queue.fill(x, 7)
    >>> event.wait()
    >>> x.tolist()
    [7, 7, 7, 7]
    """
    def __new__(
        cls,
        device: _Placement = None,
        *,
        context: Context | None = None,
        in_order: builtins.bool = True,
        profiling: builtins.bool = False,
        priority: _Priority = "normal",
    ) -> Self: ...
    @property
    def device(self) -> Device:
        """The device, with this queue: arrays that are made with it are on this queue."""
    @property
    def context(self) -> Context:
        """The context of the queue's device and memory."""
    @property
    def backend(self) -> _Backend:
        """Name of the backend: 'host', 'opencl', 'level_zero' or 'cuda'."""
    @property
    def in_order(self) -> builtins.bool:
        """Whether work runs in the order of submission (SYCL 2020, property::queue::in_order)."""
    @property
    def profiling(self) -> builtins.bool:
        """Whether events have times (SYCL 2020, property::queue::enable_profiling)."""
    @property
    def priority(self) -> _Priority:
        """Priority of the work: 'low', 'normal' or 'high'."""
    @property
    def native_handle(self) -> int | None:
        """The driver's queue or stream as an int, in which other libraries can enqueue.

        A cl_command_queue, a ze_command_list_handle_t or a CUstream. None on the host, whose queues are
        threads, and for queues over plain command lists of Level Zero. Valid for the life of this queue: a
        library that keeps it longer must retain it, as PyOpenCL's from_int_ptr does.
        """
    @classmethod
    def from_native(cls, backend: _Backend, handle: _HandleOrSycl, *, owner: object = None) -> Queue:
        """Make a queue that enqueues in a driver's queue of another library.

        Parameters
        ----------
        backend : str
            ``"opencl"``, ``"level_zero"`` or ``"cuda"``.
        handle : int or object
            The driver's queue as an int, such as a cl_command_queue; an object whose `int_ptr` is one, such
            as PyOpenCL's CommandQueue; or a SyclQueue of dpctl.
        owner : object, optional
            Kept alive as long as the queue. It must not reference the queue: the garbage collector cannot
            break that cycle.

        Returns
        -------
        Queue
            Always a new one. The handle is retained, and never destroyed.

        Raises
        ------
        ValueError
            The handle is 0, or the backend has no native queues.
        TypeError
            An argument has a wrong type.
        UsmError
            The handle is not a queue, as far as the driver can tell (CL_INVALID_COMMAND_QUEUE).
        DeviceNotFound
            The queue is on a device that usmpy does not list.
        BackendUnavailable
            The backend is missing.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        Work of both libraries runs in the order of the calls, except for host tasks and for what waits for
        them or for other drivers: such work is enqueued when what it waits for has completed. `wait`,
        `wait_for` and `barrier` count the work of others too.
        """
    @classmethod
    def from_stream(cls, stream: _Stream) -> Queue:
        """Make a queue that enqueues in a CUDA stream of another library.

        Parameters
        ----------
        stream : object or int
            An object with ``__cuda_stream__`` (cuda.core, PyTorch, CuPy); a stream of CuPy, PyTorch or Numba;
            or an int: the address of a stream, 1 (the legacy default stream) or 2 (that of the calling
            thread).

        Returns
        -------
        Queue
            A queue on the stream's device, as `from_native` makes it; a Queue is returned as it is. The
            object is kept alive as long as the stream is used, and the stream is never destroyed.

        Raises
        ------
        TypeError
            `stream` is something else.
        ValueError
            `stream` is 0, or belongs to no primary context of a device.
        UsmError
            The address is not a stream, as far as the driver can tell.
        BackendUnavailable
            CUDA is missing.
        """
    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, the driver's stream as an int), by which other libraries enqueue in this queue.

        Raises
        ------
        TypeError
            The queue is not a CUDA stream.
        """
    def _get_capsule(self) -> CapsuleType:
        """Return a capsule 'SyclQueueRef' as dpctl takes it: a SYCL queue that enqueues in this one.

        For queues of backend opencl, in a process that has loaded dpctl, and for queues that `from_native`
        made of a SyclQueue.

        Raises
        ------
        BufferError
            There can be no such SYCL queue.
        """
    def memcpy(
        self,
        dst: USMArray | Buffer,
        src: USMArray | Buffer,
        nbytes: SupportsIndex | None = None,
        *,
        depends: _Depends = (),
    ) -> Event:
        """Copy bytes between contiguous pieces of memory (SYCL 2020, 4.6.5, memcpy).

        Parameters
        ----------
        dst, src : USMArray or buffer
            Contiguous arrays, or objects with the buffer protocol (PEP 3118). They may overlap, and are kept
            alive until the copy completes.
        nbytes : int, optional
            Number of bytes; None stands for all, and the sizes must be equal then.
        depends : Event or sequence of Event, optional
            Events that must complete before the copy begins.

        Returns
        -------
        Event
            The copy, which is asynchronous.

        Raises
        ------
        TypeError
            The elements have different types, unless those of one side are uint8 or bytes; or an argument has
            a wrong type. `copyto` converts elements.
        ValueError
            The sizes do not fit, or `dst` is read-only.
        BufferError
            A side is not contiguous; `copyto` takes any strides.
        ExecutionPlacementError
            The memory is not accessible to the queue's device, and the other side is a buffer.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> x = usmpy.arange(4, dtype="uint8", queue=queue)
        >>> data = bytearray(4)
        >>> queue.memcpy(data, x).wait()
        >>> data
        bytearray(b'\\x00\\x01\\x02\\x03')
        """
    def fill(self, dst: USMArray | Buffer, value: _Number | bytes, *, depends: _Depends = ()) -> Event:
        """Set every element of contiguous memory to one value (SYCL 2020, 4.6.5, fill).

        Parameters
        ----------
        dst : USMArray or buffer
            A contiguous array, or a writable object with the buffer protocol. The elements of a buffer have
            the type that its format says; those of bytearray and memoryview are bytes.
        value : number or bytes
            A number that the type of the elements can hold, or the bytes of one element.
        depends : Event or sequence of Event, optional
            Events that must complete before the memory is written.

        Returns
        -------
        Event
            The fill, which is asynchronous.

        Raises
        ------
        TypeError
            The type of the elements cannot hold the number, no DType describes the buffer's format, or an
            argument has a wrong type.
        OverflowError
            The number is out of range for the type.
        ValueError
            `dst` is read-only, or `value` has not as many bytes as an element.
        BufferError
            `dst` is not contiguous; ``x[...] = value`` and `copyto` take any strides.
        ExecutionPlacementError
            The memory is not accessible to the queue's device.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import array, usmpy
        >>> numbers = array.array("d", [0, 0, 0])
        >>> usmpy.Queue("host").fill(numbers, 1.5).wait()
        >>> numbers
        array('d', [1.5, 1.5, 1.5])
        """
    def submit(
        self, kernel: Kernel, args: Iterable[_KernelArgument], range: _Range, *, depends: _Depends = ()
    ) -> Event:
        """Launch a kernel in this queue.

        Parameters
        ----------
        kernel : Kernel
            A kernel that was built for this queue's device.
        args : sequence
            One argument for each parameter, as `Kernel` takes them. The arrays may be on other queues whose
            memory is accessible to this one; work on the same memory is ordered.
        range : Range, NdRange, int or sequence of int
            The index space.
        depends : Event or sequence of Event, optional
            Events that must complete before the kernel runs.

        Returns
        -------
        Event
            The launch, which is asynchronous.

        Raises
        ------
        TypeError, ValueError, OverflowError, BufferError, ExecutionPlacementError
            As `Kernel` says, before anything is enqueued.
        """
    def prefetch(self, x: USMArray) -> Event:
        """Ask for memory to be moved to the queue's device (SYCL 2020, 4.6.5, prefetch).

        Parameters
        ----------
        x : USMArray
            The array whose memory is wanted there. A hint: on the host nothing moves.

        Returns
        -------
        Event

        Raises
        ------
        TypeError
            `x` is something else.
        MemoryError
            Memory is exhausted.
        """
    def barrier(self, depends: _Depends = ()) -> Event:
        """Make later work in this queue wait (SYCL, ext_oneapi_submit_barrier).

        Parameters
        ----------
        depends : Event or sequence of Event, optional
            Events that the barrier waits for; without any, it waits for all work submitted so far.

        Returns
        -------
        Event
            Completes when the barrier is passed. Later work of the queue is ordered after it, also if the
            queue is out of order.

        Raises
        ------
        TypeError
            `depends` is something else.
        MemoryError
            Memory is exhausted.
        """
    def host_task(self, fn: Callable[..., object], /, *args: Any, depends: _Depends = ()) -> Event:
        """Call a Python function on a thread of the queue, in the order of its work (SYCL 2020, 4.10).

        Parameters
        ----------
        fn : callable
            Called as ``fn(*args)``. `Event.result` returns its value or raises its exception.
        *args : object
            Arguments of the function. Arrays among them count as read and written.
        depends : Event or sequence of Event, optional
            Events that must complete before the call, besides earlier work of an in-order queue and work on
            the same memory.

        Returns
        -------
        Event
            The call, which is asynchronous.

        Raises
        ------
        TypeError
            `fn` cannot be called, or `depends` is something else.
        RuntimeError
            The interpreter is shutting down.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        A wait inside `fn` skips this task and everything that depends on it. What `fn` submits on its own
        arguments (``x[0] = 1`` too) runs after it. To use their memory inside `fn`, take a view of it:
        ``numpy.from_dlpack(x)`` or ``memoryview(x)``.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> x = usmpy.arange(4, dtype="int32", queue=queue)
        >>> queue.host_task(lambda x: sum(memoryview(x)), x).result()
        6
        """
    def keep_alive(self, objects: object, depends: _Depends = ()) -> Event:
        """Keep objects alive until work has completed.

        Parameters
        ----------
        objects : object
            Anything.
        depends : Event or sequence of Event, optional
            Events that must complete first (in an in-order queue, earlier work too); without any, all work
            submitted so far.

        Returns
        -------
        Event
            Completes when the objects are released.

        Raises
        ------
        TypeError
            `depends` is something else.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        `memcpy`, `host_task` and the other submissions do this for their own arguments.
        """
    def wait(self, timeout: float | None = None) -> None:
        """Block until all work submitted so far has completed (SYCL 2020, 4.6.5, wait_and_throw).

        Parameters
        ----------
        timeout : float, optional
            Seconds; None waits as long as it takes.

        Raises
        ------
        Exception
            The first error of the queue's work since this method raised last, whatever its class is.
        TimeoutError
            The work has not completed when the time runs out; it goes on.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Notes
        -----
        Inside a host task of this queue, the wait skips that task and everything that depends on it.
        """
    def wait_for(self, other: Event | _Stream, /) -> None:
        """Make later work in this queue wait for work elsewhere. Does not block.

        Parameters
        ----------
        other : Queue, Event, object or int
            An event; a queue, of which all work submitted so far counts; or a CUDA stream, as `from_stream`
            takes it (the ints 1 and 2 are the default streams of this queue's device).

        Raises
        ------
        TypeError
            `other` is something else.
        ValueError
            `other` is the stream 0.
        BufferError
            The stream is being captured into a graph.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        This is order alone: if the other work fails, work in this queue runs all the same.
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by device and properties; the cached queue of a device stays the cached one.

        Raises
        ------
        PicklingError
            The queue is in a context of its own, which no other process has.
        """

@final
class Range:
    """The index space of a launch: 1 to 3 dimensions of work-items (SYCL 2020, 4.9.1.1).

    The device chooses the work-groups; an `NdRange` says how large they are.

    Parameters
    ----------
    *global_range : int or tuple of int
        Work-items along each dimension, as 1 to 3 ints or as one tuple of them, such as an array's shape.
        Each is at least 1, and their product is at most 2**63 - 1.

    Raises
    ------
    ValueError
        An extent is below 1, there are not 1 to 3 of them, or the product is too large.
    TypeError
        Something is not an int.

    Notes
    -----
    ``get_global_id(i)`` runs from 0 to ``global_range[i] - 1``. The first dimension is dimension 0 of
    OpenCL and x of CUDA, whose neighbours run side by side. In an array in C order these are neighbours
    of the last axis.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.Range(640, 480) == usmpy.Range((640, 480))
    True
    >>> usmpy.Range(640, 480).size
    307200
    """
    def __new__(cls, *global_range: SupportsIndex | Sequence[SupportsIndex]) -> Self: ...
    @property
    def size(self) -> int:
        """Work-items in all: the product of the extents."""
    def __len__(self) -> int: ...
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

@final
class NdRange:
    """An index space cut into work-groups (SYCL 2020, 4.9.1.2).

    Work-items of one group share local memory and can wait for each other at barriers.

    Parameters
    ----------
    global_range : Range, int or sequence of int
        Work-items along each dimension.
    local_range : Range, int or sequence of int
        Work-items of a group along each dimension: as many dimensions, each of which divides the global one.

    Raises
    ------
    ValueError
        The dimensions differ, an extent is below 1, or a local extent does not divide the global one.
    TypeError
        Something is not an int.

    Notes
    -----
    The limits of the device are checked at the launch (`Kernel.max_work_group_size`).

    Examples
    --------
    >>> import usmpy
    >>> usmpy.NdRange(1024, 64)
    NdRange((1024,), (64,))
    >>> usmpy.NdRange((640, 480), (16, 16)).local_range
    (16, 16)
    """
    def __new__(cls, global_range: _Extents, local_range: _Extents) -> Self: ...
    @property
    def size(self) -> int:
        """Work-items in all: the product of the global extents."""
    @property
    def global_range(self) -> tuple[int, ...]:
        """Work-items in each dimension, as a tuple."""
    @property
    def local_range(self) -> tuple[int, ...]:
        """Work-items of a work-group in each dimension, as a tuple."""
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

@final
class LocalMemory:
    """The argument for a kernel's pointer to local memory (SYCL 2020, 4.7.6.11, local_accessor).

    Each work-group gets memory of its own, which is not initialised. The launch needs an `NdRange`, or a
    kernel that requires a size of its work-groups.

    Parameters
    ----------
    nbytes : int
        Bytes for each work-group, at least 1.

    Raises
    ------
    ValueError
        nbytes is below 1, or above 2**32 - 1.
    TypeError
        nbytes is not an int.

    Examples
    --------
    >>> import usmpy
    >>> program = usmpy.Program('''
    ... kernel void reverse(global int *x, local int *t) {
    ...     int i = get_local_id(0), n = get_local_size(0);
    ...     t[i] = x[get_global_id(0)];
    ...     barrier(CLK_LOCAL_MEM_FENCE);
    ...     x[get_global_id(0)] = t[n - 1 - i];
    ... }''', device="host")
    >>> x = usmpy.arange(8, dtype="int32", device="host")
    >>> event = program.reverse[usmpy.NdRange(8, 4)](x, usmpy.LocalMemory(4 * x.itemsize))
    >>> x.tolist()
    [3, 2, 1, 0, 7, 6, 5, 4]
    """
    def __new__(cls, nbytes: SupportsIndex) -> Self: ...
    @property
    def nbytes(self) -> int:
        """Size for each work-group, in bytes."""

@final
class Program:
    """Kernels in source or binary form, built for one device.

    ``program.add`` and ``program["add"]`` are the `Kernel` of that name.

    Parameters
    ----------
    source : str or bytes-like
        The source as str; bytes for the languages ``"spirv"`` and ``"native"``.
    device : None, str, Device, Queue or USMArray, optional
        What the program is built for: the default device, a filter string such as ``"gpu"``, a device, or the
        device and context of a queue or an array.
    language : str, optional
        ``"portable"`` is OpenCL C without vector types, images and pipes, and runs on every backend. OpenCL
        and Level Zero devices also take ``"opencl"`` (all of OpenCL C) and ``"spirv"``. CUDA devices take
        ``"cuda"`` (CUDA C++) and ``"ptx"``. The host takes ``"c"``: each function
        ``void f(size_t begin, size_t end, ...)`` is a kernel. ``"native"`` is what `binary` returns, or the
        driver's own binary (on CUDA a cubin or fatbin).
    options : str, optional
        Options of the compiler, as a shell takes them, such as ``"-D N=4"``.

    Raises
    ------
    BuildError
        The program does not build, or has no kernel; the message and ``log`` hold all that the compiler
        wrote.
    ValueError
        The device does not take the language, or the compiler may not be given an option.
    TypeError
        An argument has a wrong type.
    BackendUnavailable
        No compiler from OpenCL C to SPIR-V is installed (Level Zero), or no libnvrtc (CUDA).

    Notes
    -----
    What was built is kept on disk (``$USMPY_CACHE_DIR``, else ``$XDG_CACHE_HOME/usmpy``, else
    ``~/.cache/usmpy``) under a digest of everything that the result depends on.

    Examples
    --------
    >>> import usmpy
    >>> program = usmpy.Program('''
    ... kernel void scale(global const float *x, global float *y, float a) {
    ...     size_t i = get_global_id(0);
    ...     y[i] = a * x[i];
    ... }''', device="host")
    >>> program.kernel_names
    ['scale']
    >>> x = usmpy.ones(3, dtype="float32", device="host")
    >>> y = usmpy.empty_like(x)
    >>> event = program.scale[usmpy.Range(3)](x, y, 2.5)
    >>> y.tolist()
    [2.5, 2.5, 2.5]
    """
    def __new__(
        cls,
        source: str | Buffer,
        *,
        device: _Placement = None,
        language: _Language = "portable",
        options: str = "",
    ) -> Self: ...
    language: Final[str]
    """The language of the source."""
    options: Final[str]
    """The compiler's options."""
    @property
    def device(self) -> Device:
        """The Device that the program was built for."""
    @property
    def context(self) -> Context:
        """The Context that the program was built in."""
    @property
    def kernel_names(self) -> list[str]:
        """List of the kernels' names; empty where the driver does not tell."""
    @property
    def binary(self) -> bytes:
        """The built program as bytes, for ``language="native"`` on an equal device.

        Raises
        ------
        UsmError
            The backend has no such form.
        """
    def __getitem__(self, key: str, /) -> Kernel: ...
    def __getattr__(self, name: str, /) -> Kernel: ...
    def __dir__(self) -> list[str]:
        """Attributes and names of kernels."""
    def _ipython_key_completions_(self) -> list[str]:
        """Names of kernels, for completion of program["..."]."""

@final
class Kernel:
    """A function of a `Program`, launched by ``kernel[range](*args)`` or ``kernel[range, events](*args)``.

    The launch is asynchronous and returns its `Event`. In brackets stand the index space, and optionally
    Events that it depends on:

    range : Range, NdRange or int
        The index space; an int is a `Range` of one dimension. Several ints are a TypeError, since
        ``[a, b]`` is a range to SYCL, and blocks and threads to CUDA.
    events : Event or sequence of Event
        Events that must complete before the kernel runs; it does not run where one of them fails. Also empty.

    In parentheses stand the arguments, by position or by the names of the parameters:

    - for pointers, contiguous USMArrays of the element's type; None is a null pointer;
    - for values, numbers of Python, NumPy and ctypes that the parameter can hold;
    - for structs, bytes or ctypes structures of their size;
    - for local memory, `LocalMemory`.

    The kernel runs in the queue that the arrays share; `Queue.submit` names one. Arrays and program stay
    alive until it has completed.

    Raises
    ------
    TypeError
        The brackets hold something else, arguments are missing, unknown or too many, or one has a wrong type.
    OverflowError
        The parameter cannot hold a number.
    ValueError
        An array is read-only and the kernel may write to it, a struct has another size, the range is
        beyond the limits of the device, or there is local memory and no size of work-groups.
    BufferError
        An array is not contiguous: a kernel sees no strides.
    ExecutionPlacementError
        The arrays are on several queues, or the program was built for another device.

    Notes
    -----
    Everything is checked before anything is enqueued; a refused launch changes nothing. How far a kernel
    reads and writes beside that is up to its source, as in C.

    Examples
    --------
    >>> import usmpy
    >>> add = usmpy.Program('''
    ... kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }
    ... ''', device="host").add
    >>> add.parameters
    ('int32*', 'int32')
    >>> x = usmpy.zeros(3, dtype="int32", device="host")
    >>> first = add[usmpy.Range(3)](x, 5)
    >>> second = add[3, [first]](x, n=2)
    >>> x.tolist()
    [7, 7, 7]
    """
    @property
    def name(self) -> str:
        """The function's name in the program."""
    @property
    def program(self) -> Program | None:
        """The Program that the kernel belongs to; None for one from a pointer."""
    @property
    def device(self) -> Device:
        """The Device that the kernel was built for."""
    @property
    def parameters(self) -> tuple[str, ...]:
        """The types of the parameters, as a tuple of str in the words of `from_pointer`.

        ``"local float32*"`` takes `LocalMemory`, ``"bytes[n]"`` a struct of n bytes; ``"unknown"`` stands for
        what the program does not tell.
        """
    @property
    def parameter_names(self) -> tuple[str | None, ...]:
        """The names of the parameters, for arguments by name; None where the program does not tell one."""
    @property
    def max_work_group_size(self) -> int:
        """The most work-items of this kernel that fit into one work-group of the device."""
    @classmethod
    def from_pointer(
        cls, address: int, parameters: Iterable[str], *, name: str | None = None, owner: object = None
    ) -> Kernel:
        """A kernel for the host device from a function in memory, such as one of ctypes, cffi or numba.cfunc.

        Parameters
        ----------
        address : int
            Address of a C function ``void f(size_t begin, size_t end, <parameters>)``, which does the part
            ``begin <= i < end`` of a one-dimensional range. It is called on disjoint parts, from several
            threads, without the GIL.
        parameters : sequence of str
            One for each parameter behind the first two, such as ``["const float32*", "float32*", "int32"]``:
            pointers (``"void*"`` for any element), bool, integers, float32 and float64. What is const is only
            read. A name may follow the type: ``"int32 n"``.
        name : str, optional
            For messages.
        owner : object, optional
            What keeps the function in memory; the kernel and each of its launches hold it. Without an owner,
            the function must stay until they have completed.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            The address is 0, or a parameter is not known.
        TypeError
            An argument has a wrong type.

        Examples
        --------
        >>> import ctypes, usmpy
        >>> @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32))
        ... def double(begin, end, x):
        ...     for i in range(begin, end):
        ...         x[i] *= 2
        >>> address = ctypes.cast(double, ctypes.c_void_p).value
        >>> kernel = usmpy.Kernel.from_pointer(address, ["int32* x"], name="double", owner=double)
        >>> x = usmpy.arange(4, dtype="int32", device="host")
        >>> kernel[4](x).wait()
        >>> x.tolist()
        [0, 2, 4, 6]
        """
    def with_parameters(self, parameters: Iterable[str], /) -> Kernel:
        """The same kernel with its parameters said in words, for programs that do not tell them.

        Parameters
        ----------
        parameters : sequence of str
            One for each parameter, as in `from_pointer`; also ``"local float32*"`` for local memory and
            ``"bytes[n]"`` for a struct of n bytes. They may add to what the program tells, not contradict it.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            There are more or fewer parameters, one is not known, or one contradicts the program.
        TypeError
            Something is not a str.
        """
    def __getitem__(self, key: _Space | tuple[_Space, _Depends], /) -> BoundKernel: ...

@final
class BoundKernel:
    """A `Kernel` with its index space and the Events that it depends on: call it with the arguments."""
    def __call__(self, *args: _KernelArgument, **kwargs: _KernelArgument) -> Event: ...

@final
class Event:
    """A piece of asynchronous work: what a submission returns (SYCL 2020, 4.6.6).

    Notes
    -----
    An event can be dropped: its work runs all the same. It can be awaited, and gives its result.

    If the work fails, `wait` and `result` raise its error each time. Work that depends on it is skipped, and
    fails with that error as the ``__cause__``. An error that nobody asks for is reported once through
    ``sys.unraisablehook`` when the queue ends, or at exit.

    Examples
    --------
    >>> import usmpy
    >>> event = usmpy.Queue("host").host_task(pow, 2, 10)
    >>> event.result()
    1024
    >>> event.status, event.done
    ('complete', True)
    """
    @property
    def status(self) -> _Status:
        """State of the work: 'submitted', 'running', 'complete' or 'error'."""
    @property
    def done(self) -> builtins.bool:
        """Whether the work has completed or failed."""
    @property
    def submit_time_ns(self) -> int:
        """Time of submission in nanoseconds of ``time.monotonic_ns()`` (SYCL 2020, 4.6.6, command_submit).

        Raises
        ------
        UsmError
            The queue was made without ``profiling=True``.
        """
    @property
    def start_time_ns(self) -> int:
        """Time at which the work began, in nanoseconds (command_start). Blocks until it has completed.

        Raises
        ------
        UsmError
            The queue was made without ``profiling=True``.
        """
    @property
    def end_time_ns(self) -> int:
        """Time at which the work ended, in nanoseconds (command_end). Blocks until then.

        Raises
        ------
        UsmError
            The queue was made without ``profiling=True``.
        """
    def wait(self, timeout: float | None = None) -> None:
        """Block until the work has completed (SYCL 2020, 4.6.6, wait_and_throw).

        Parameters
        ----------
        timeout : float, optional
            Seconds; None waits as long as it takes.

        Raises
        ------
        Exception
            The error of the work, every time, whatever its class is.
        TimeoutError
            The work has not completed when the time runs out; it goes on.
        UsmError
            The call is inside a host task that the event waits for.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.
        """
    def result(self, timeout: float | None = None) -> Any:
        """Wait, and return the value of a host task's function.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None waits as long as it takes.

        Returns
        -------
        object
            What the function of `Queue.host_task` returned; None for other work. The value lives as long as
            the event.

        Raises
        ------
        Exception
            What `wait` raises: the error of the work, every time.
        TimeoutError
            The work has not completed when the time runs out; it goes on.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.Queue("host").host_task(divmod, 17, 5).result()
        (3, 2)
        """
    def add_done_callback(self, fn: Callable[[Event], object], /) -> None:
        """Call a function with the event once the work has completed or failed.

        Parameters
        ----------
        fn : callable
            Called once, as ``fn(event)``. An exception that it raises goes to ``sys.unraisablehook``.

        Raises
        ------
        TypeError
            `fn` cannot be called.
        RuntimeError
            The interpreter is shutting down.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        The call is made on a thread of usmpy. If the work has already ended, it is made at once, in the
        calling thread. Callbacks of one event are called one after another, in the order in which they were
        added; those of different events may run at the same time. A callback may wait and submit. The event
        and `fn` are kept alive until the call. All callbacks are called before the process ends.

        Examples
        --------
        >>> import threading, usmpy
        >>> called = threading.Event()
        >>> event = usmpy.Queue("host").host_task(pow, 2, 10)
        >>> event.add_done_callback(lambda event: called.set())
        >>> called.wait(timeout=60)
        True
        """
    def exception(self) -> BaseException | None:
        """Return the exception that `wait` raises; None while the work runs and if it has succeeded."""
    @classmethod
    def wait_all(cls, events: Iterable[Event], timeout: float | None = None) -> None:
        """Block until all events have completed, then raise the error of the first one that failed.

        Parameters
        ----------
        events : sequence of Event
            The events; "first" is meant in this order.
        timeout : float, optional
            Seconds for all of them together; None waits as long as it takes.

        Raises
        ------
        Exception
            The error of that event, whatever its class is.
        TimeoutError
            An event has not completed when the time runs out.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            An argument has a wrong type.

        Examples
        --------
        >>> import usmpy
        >>> queues = [usmpy.Queue("host") for _ in range(2)]
        >>> usmpy.Event.wait_all([queue.barrier() for queue in queues])
        """
    def __await__(self) -> Generator[Any, None, Any]: ...

# Data types.

@final
class DType:
    """A data type: usmpy.float32 and its siblings, one object each.

    name: a name, a DType, a Python or NumPy scalar type, or a numpy.dtype of native byte order.
    A DType is equal to its name and to the numpy.dtype of the same elements. Held and exchanged
    bit for bit are the types of DLPack 1.3 with one lane: bool, integers, float16 to float64,
    complex32 to complex128, bfloat16, float8, and the packed float6 and float4.

    Raises TypeError for anything else.
    """
    def __new__(cls, name: _DTypeLike, /) -> DType: ...
    @property
    def name(self) -> str:
        """The name, such as 'float32'."""
    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, rounded up: 1 for the packed types of 4 and 6 bits."""
    @property
    def bits(self) -> int:
        """Size of one element in bits."""
    @property
    def dlpack(self) -> tuple[int, int, int]:
        """(type code, bits, lanes) of the elements (DLPack 1.3, DLDataType)."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy.dtype of the same elements, which is what numpy.dtype(self) asks for.

        bfloat16, float8 and narrower types need the package ml_dtypes. Raises TypeError where
        neither has the type, ImportError without NumPy.
        """
    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """The numpy.dtype of the same elements (the protocol of NumPy 2.4).

        Raises what `dtype` raises.
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: unpickling gives the same object."""

bool: Final[DType]
int8: Final[DType]
int16: Final[DType]
int32: Final[DType]
int64: Final[DType]
uint8: Final[DType]
uint16: Final[DType]
uint32: Final[DType]
uint64: Final[DType]
float16: Final[DType]
float32: Final[DType]
float64: Final[DType]
complex32: Final[DType]
complex64: Final[DType]
complex128: Final[DType]
bfloat16: Final[DType]
float8_e3m4: Final[DType]
float8_e4m3: Final[DType]
float8_e4m3b11fnuz: Final[DType]
float8_e4m3fn: Final[DType]
float8_e4m3fnuz: Final[DType]
float8_e5m2: Final[DType]
float8_e5m2fnuz: Final[DType]
float8_e8m0fnu: Final[DType]
float6_e2m3fn: Final[DType]
float6_e3m2fn: Final[DType]
float4_e2m1fn: Final[DType]

# Arrays.

@final
class Flags(structseq[builtins.bool], tuple[builtins.bool, builtins.bool, builtins.bool]):
    """Flags of a USMArray."""

    __match_args__: Final = ("c_contiguous", "f_contiguous", "writable")
    @property
    def c_contiguous(self) -> builtins.bool:
        """Elements lie side by side in row-major order."""
    @property
    def f_contiguous(self) -> builtins.bool:
        """Elements lie side by side in column-major order."""
    @property
    def writable(self) -> builtins.bool:
        """Elements may be written through this array."""

@final
class USMArray:
    """A strided array over one allocation of unified shared memory (SYCL 2020, 4.8), not
    initialised.

    shape: an int or a sequence of ints, lengths in elements. dtype: a DType, its name, a Python
    or NumPy type; None is float64, or float32 where the device lacks that. usm_type: 'device',
    'shared' or 'host'. device: anything that Device.create_device takes. queue: a Queue, which
    must be the device's if both are given. order: 'C' (row-major) or 'F' (column-major).

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
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
        Elements must lie inside of the allocation: of usmpy's own memory it ends where it was asked to end,
        of other memory where the driver says. The bounds of plain memory of the process and of other
        libraries' SVM are known to the caller alone.

        Work that other libraries have enqueued in the driver's queue behind `queue` (`Queue.from_native`)
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
        """Elements from one index to the next, for each axis: a tuple of ints, row-major where a
        length is 0 or 1.
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
        """The numpy.dtype of the elements; TypeError where NumPy and ml_dtypes have none."""
    @property
    def device(self) -> Device:
        """The Device, with this array's queue: zeros(n, device=x.device) lands beside x."""
    @property
    def queue(self) -> Queue:
        """The Queue that work on this array runs in."""
    @property
    def context(self) -> Context:
        """The Context of the queue."""
    @property
    def usm_type(self) -> _UsmType:
        """Kind of the allocation: 'device', 'shared' or 'host' (SYCL 2020, 4.8)."""
    @property
    def flags(self) -> Flags:
        """c_contiguous, f_contiguous and writable: a named tuple of bools."""
    @property
    def T(self) -> USMArray:
        """View with the two axes exchanged (array API standard 2024.12, T).

        Raises ValueError unless there are two.
        """
    @property
    def mT(self) -> USMArray:
        """View with the last two axes exchanged (array API standard 2024.12, mT).

        Raises ValueError for fewer than two.
        """
    @property
    def data_ptr(self) -> int:
        """Address of the first element as an int; 0 where there is none. Does not wait for pending work."""
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
    def copy(self) -> USMArray:
        """A new array of the same shape, dtype, usm_type and queue, in row-major order.

        Raises MemoryError when memory runs out.
        """
    def to_device(self, device: _Placement, /, *, stream: _Stream | None = None) -> USMArray:
        """Get the same elements on another placement (array API standard 2024.12, to_device).

        Parameters
        ----------
        device : str, Device, Queue or USMArray
            Anything that `Device.create_device` takes.
        stream : Queue or CUDA stream, optional
            The move is ordered after what is in it so far, and before its later work. As `Queue.wait_for`
            takes it.

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
        Between two GPUs it is always a copy of memory of kind 'device'; ``from_dlpack(x, device=gpu,
        copy=False)`` gives a view where `memory_connection` is UNIFIED.

        Examples
        --------
        >>> import usmpy
        >>> x = usmpy.arange(3, device="host")
        >>> y = x.to_device(usmpy.Queue("host"))
        >>> y.data_ptr == x.data_ptr
        True
        """
    def astype(self, dtype: _DTypeLike, /, *, copy: builtins.bool = True) -> USMArray:
        """The elements cast to another type, on the same queue (array API standard 2024.12, astype).

        dtype: a DType, its name, a Python or NumPy type. copy=False returns self where the dtype is
        the same. Floating point to integer rounds towards zero, saturates, and makes 0 of NaN.

        Raises TypeError for complex to real, for types that are only stored and exchanged and for
        arguments of a wrong type, MemoryError when memory runs out.
        """
    # Which type of number they return is not known before the program runs.
    def item(self, *args: SupportsIndex) -> Any:
        """One element as a Python number. Waits for pending work.

        args: nothing for the only element; else its index, one int in row-major order or one for
        each axis.

        Raises ValueError where there is not exactly one, IndexError where the index is out of
        range, TypeError for packed types, and the error of work on the memory.
        """
    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for 0 dimensions. Waits for pending work.

        Raises TypeError for types that have no Python number, and the error of work on the memory.
        """
    def asnumpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """A numpy.ndarray with a copy of the elements, wherever they are. Waits for pending work.

        Raises ImportError without NumPy, TypeError for types that neither NumPy nor ml_dtypes has,
        MemoryError when memory runs out, and the error of work on the memory.
        """
    def wait(self, timeout: float | None = None) -> None:
        """Block until pending work on the memory has ended.

        timeout: seconds; None waits for as long as it takes.

        Raises the error of that work; TimeoutError when the time runs out, ValueError for a
        negative timeout, TypeError for what is no number.
        """
    def lend(self, stream: Event | _Stream | None = None) -> _Loan:
        """Lend the memory to a kernel of another library, for the time of a with block.

        Parameters
        ----------
        stream : Queue, Event or CUDA stream, optional
            Where that kernel runs: a Queue, a CUDA stream as `Queue.wait_for` takes it, or an Event that
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
        """Export the memory as a DLPack capsule (array API standard 2024.12, __dlpack__; DLPack 1.3).

        Parameters
        ----------
        stream : int, optional
            Stream of the consumer. For CUDA memory: 1 or None is the legacy default stream, 2 the calling
            thread's, other numbers are addresses of streams; their later work is ordered after pending work
            here, on the device. -1 makes no order. For managed and pinned memory, None gives finished data.
            For memory of the CPU, None gives finished data and -1 does not wait.
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
        """Tell the DLPack device of the memory (array API standard 2024.12; DLPack 1.3).

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
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module usmpy (array API standard 2024.12).

        api_version: None, or a version of the standard such as '2024.12'.

        Raises ValueError for a version that it does not follow.
        """
    def _repr_html_(self) -> str:
        """What notebooks show: properties, corners of the values, and a small picture of 2-D data, for which
        a few kilobytes are copied. Waits for pending work; errors are part of the text.
        """
    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        """Refuses: NumPy asks for it where the host cannot read the memory in place, and nothing is
        copied implicitly.

        dtype, copy: NumPy's, ignored.

        Raises TypeError, always.
        """
    def __buffer__(self, flags: int, /) -> memoryview: ...
    # Element by element; False and True for what no array can be compared with.
    def __eq__(self, value: object, /) -> Any: ...
    def __ne__(self, value: object, /) -> Any: ...
    def __lt__(self, value: USMArray | complex, /) -> USMArray: ...
    def __le__(self, value: USMArray | complex, /) -> USMArray: ...
    def __gt__(self, value: USMArray | complex, /) -> USMArray: ...
    def __ge__(self, value: USMArray | complex, /) -> USMArray: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[USMArray]: ...
    def __getitem__(self, key: _Index, /) -> USMArray: ...
    def __setitem__(self, key: _Index, value: _ArrayLike, /) -> None: ...
    def __delitem__(self, key: Any, /) -> NoReturn: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex:
        """complex() of the only element. Waits for pending work.

        Raises ValueError unless there is exactly one, and the error of work on the memory.
        """
    def __index__(self) -> int: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickled by elements and place (filter_string). Waits for pending work.

        protocol: an int; from 5 on there is no further copy in memory.

        Raises the error of work on the memory. Unpickling raises what Device() does where the place
        is missing.
        """

@final
class _Loan:
    """What `USMArray.lend` returns.

    Entering it gives the pointer; leaving it orders later work on the array after the borrower's.
    """
    def __enter__(self) -> int:
        """The pointer, an int: the address of the first element.

        Raises RuntimeError the second time, and the error of work on the memory.
        """
    def __exit__(self, *exception: object) -> Literal[False]:
        """End of the loan: later work on the array waits for the stream.

        exception: what the with statement passes; it propagates.

        Raises RuntimeError unless it was entered.
        """

@final
class borrow:
    """Use another library's array, or a buffer, as a USMArray for the time of a with block.

    Parameters
    ----------
    x : array or buffer
        An object with DLPack's C exchange table or `__dlpack__` (DLPack 1.3), with
        `__cuda_array_interface__`, or with the buffer protocol (PEP 3118).
    queue : Queue, optional
        Queue of the array; None is the cached queue of the device that the memory is on.

    Raises
    ------
    TypeError
        `x` has none of these protocols, or `queue` is not a Queue.

    Notes
    -----
    Entering it gives the array. On entry, the queue is ordered after the owner's work. On exit, the owner's
    later work is ordered after work here: on the device where the owner has streams, otherwise by a wait on
    the host. The owner may change or free the memory right after the block. The array cannot be used then:
    `ValueError`.

    The memory is never copied. PyTorch's tensors that require grad are taken, and gradients do not see what
    is written.

    Examples
    --------
    >>> import numpy as np
    >>> import usmpy
    >>> a = np.zeros(4)
    >>> with usmpy.borrow(a) as x:
    ...     x[1:3] = 5
    >>> a
    array([0., 5., 5., 0.])
    """
    def __new__(cls, x: _Array | Buffer | _SupportsCudaInterface, queue: Queue | None = None) -> Self: ...
    def __enter__(self) -> USMArray:
        """Begin the borrow.

        Returns
        -------
        USMArray
            The borrowed array.

        Raises
        ------
        BufferError
            The queue cannot use the memory in place, or the memory cannot be exchanged.
        RuntimeError
            The borrow was entered before.

        Notes
        -----
        The error of work on the memory is raised here, too.
        """
    def __exit__(self, *exception: object) -> Literal[False]:
        """End the borrow: the owner's later work is ordered after work here.

        Parameters
        ----------
        exception : object
            What the with statement passes. An exception goes on.

        Returns
        -------
        bool
            Always False.

        Raises
        ------
        RuntimeError
            The borrow is not entered.

        Notes
        -----
        The error of work on the memory is raised here, too.
        """

# Placement.

def get_execution_queue(queues: Iterable[Queue | USMArray], /) -> Queue | None:
    """The queue that all of `queues` share; None where they differ or there are none.

    queues: Queues and USMArrays. This is what functions of several arrays ask to know where to
    run.

    Raises TypeError for anything else.
    """

def memory_connection(a: _Placement, b: _Placement, /) -> MemoryConnection:
    """Tell whether memory of one place can be used from another.

    Parameters
    ----------
    a : USMArray, Device, Queue or str
        Whose memory. An array stands for its own memory, whatever its queue; other placements stand for
        memory of kind 'device' that they allocate.
    b : USMArray, Device, Queue or str
        Who uses it: commands of this device, in its context. An array stands for its queue.

    Returns
    -------
    MemoryConnection
        `UNIFIED`: commands use the memory in place. `MIGRATABLE`: they do not, but the driver copies it
        directly from device to device. `NONE`: copies go through memory of the host.

    Raises
    ------
    TypeError
        An argument is not a placement.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    The backend of `b` answers, also for memory of other backends, and each direction has an answer of its
    own. `from_dlpack` and `asarray` with ``copy=False``, `borrow` and the plans of copies (`explain_copy`)
    follow the same answer. The terms are those of SYCL 2020, 4.8.

    Examples
    --------
    >>> import usmpy
    >>> x = usmpy.zeros(3, device="host")
    >>> usmpy.memory_connection(x, "host")
    <MemoryConnection.UNIFIED: 2>
    """

# Creation.

def empty(
    shape: _Shape,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """An array whose elements are not initialised (array API standard 2024.12, empty).

    shape: an int or a sequence of ints, lengths in elements. dtype: a DType, its name, a Python
    or NumPy type; None is float64, or float32 where the device lacks that.
    device: anything that Device.create_device takes. queue: a Queue, which must be the device's
    if both are given; None for both is the default placement (select_default_device). usm_type:
    'device' (also for None), 'shared' or 'host'.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    """

def zeros(
    shape: _Shape,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """An array of zeros, of any dtype (array API standard 2024.12, zeros).

    shape, dtype, device, queue and usm_type are as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    """

def ones(
    shape: _Shape,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """An array of ones (array API standard 2024.12, ones).

    shape, dtype, device, queue and usm_type are as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    TypeError also for a dtype that is only stored and exchanged.
    """

def full(
    shape: _Shape,
    fill_value: _Number,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """An array of one value (array API standard 2024.12, full).

    fill_value: a Python number, or a zero-dimensional value of another library on the host.
    dtype: None is bool, int64, or the default float or complex type, as fill_value is. shape,
    device, queue and usm_type are as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    TypeError and OverflowError for a value that the dtype cannot hold.
    """

def empty_like(
    x: USMArray,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """An array of x's shape whose elements are not initialised (array API standard 2024.12,
    empty_like).

    dtype, usm_type and the placement, device or queue, are those of x (a USMArray) where they
    are None; else as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    """

def zeros_like(
    x: USMArray,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """Zeros in x's shape (array API standard 2024.12, zeros_like).

    dtype, usm_type and the placement, device or queue, are those of x (a USMArray) where they
    are None; else as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    """

def ones_like(
    x: USMArray,
    /,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """Ones in x's shape (array API standard 2024.12, ones_like).

    dtype, usm_type and the placement, device or queue, are those of x (a USMArray) where they
    are None; else as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    """

def full_like(
    x: USMArray,
    /,
    fill_value: _Number,
    *,
    dtype: _DTypeLike | None = None,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """One value in x's shape (array API standard 2024.12, full_like).

    fill_value is as in full.
    dtype, usm_type and the placement, device or queue, are those of x (a USMArray) where they
    are None; else as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
    TypeError and OverflowError for a value that the dtype cannot hold.
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
) -> USMArray:
    """Ones on one diagonal, zeros elsewhere (array API standard 2024.12, eye).

    n_rows, n_cols: lengths in elements; n_cols None is n_rows. k: which diagonal, above the
    main one where k > 0. dtype, device, queue and usm_type are as in empty.

    Raises TypeError for arguments of a wrong type, ValueError for a shape or words that cannot
    be and for device and queue that disagree, MemoryError when memory runs out, and what
    Device() raises.
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
    """start + i * step for as long as that is before stop (array API standard 2024.12, arange).

    start, stop, step: real numbers; where stop is None, start is where to stop, and 0 the
    first. dtype: None is int64 for ints, else the default float type. device, queue and
    usm_type are as in empty.

    Raises ValueError for step 0 and for limits that are not finite, OverflowError where an int
    does not fit the dtype, TypeError for what is no real number and for a dtype without
    numbers, MemoryError when memory runs out, and what Device() raises.
    """

def linspace(
    start: _Number,
    stop: _Number,
    /,
    num: SupportsIndex,
    *,
    dtype: _DTypeLike | None = None,
    endpoint: builtins.bool = True,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """num numbers from start to stop, evenly spaced (array API standard 2024.12, linspace).

    start, stop: numbers. num: how many, an int. endpoint: True has stop, exactly, as the last
    element; False leaves it out. dtype: None is the default float type, or complex where a
    limit is. device, queue and usm_type are as in empty.

    Raises ValueError for a negative num, TypeError for what is no number, for complex limits of a
    real dtype and for a dtype without numbers, OverflowError for an int beyond floating point,
    MemoryError when memory runs out, and what Device() raises.
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
) -> USMArray:
    """An array from a USMArray, any library's array, a buffer, a number or nested sequences (array
    API standard 2024.12, asarray).

    obj is taken without a copy where dtype, placement (device, queue) and usm_type, which are
    those of obj where they are None, allow it. Python numbers become bool, int64, or the
    default float or complex type. An object with __sycl_usm_array_interface__ counts, too, where
    its syclobj is usmpy's or dpctl's. copy: True always copies, False never does, None copies only
    if it must.

    Raises ValueError where copy=False and a copy is needed, for ragged sequences and for device
    and queue that disagree, TypeError for what is no array and for kinds of numbers that the
    dtype cannot hold, OverflowError for ints that do not fit, BufferError for memory that
    cannot be exchanged, MemoryError when memory runs out, and what Device() raises.
    """

def from_dlpack(
    x: _Array, /, *, device: _Placement | _Pair = None, copy: builtins.bool | None = None
) -> USMArray:
    """Take any library's array as a USMArray (array API standard 2024.12, from_dlpack; DLPack 1.3).

    Parameters
    ----------
    x : array
        An object with DLPack's C exchange table or the method `__dlpack__`.
    device : str, Device, Queue, USMArray or tuple of two ints, optional
        Anything that `Device.create_device` takes, or a DLPack device such as (1, 0). None leaves the memory
        where it is, on the cached queue of its device; so does the DLPack device that the memory has.
    copy : bool, optional
        True always copies. False never copies, and takes every memory that the device can use in place. None
        copies where memory of the device would be closer to it, as `USMArray.to_device` does.

    Returns
    -------
    USMArray
        Over the memory of `x`, which it keeps alive, or over a copy.

    Raises
    ------
    BufferError
        The memory cannot be exchanged, or a copy is necessary and `copy` is False.
    TypeError
        `x` has no such protocol, or an argument has a wrong type.
    MemoryError
        Memory is exhausted.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Work on the result is ordered after work that was pending in the stream of `x`. Exceptions of the methods
    of `x` are passed on. A PyTorch tensor that requires grad is refused with `BufferError`, since work here
    is not recorded: pass ``x.detach()``.

    Examples
    --------
    >>> import numpy as np
    >>> import usmpy
    >>> a = np.arange(3)
    >>> x = usmpy.from_dlpack(a)
    >>> x[0] = 7
    >>> x.wait()
    >>> a
    array([7, 1, 2])
    """

# Manipulation.

def reshape(x: USMArray, /, shape: _Shape, *, copy: builtins.bool | None = None) -> USMArray:
    """The elements of x, in row-major order, in another shape (array API standard 2024.12,
    reshape).

    shape: an int or a sequence of ints, lengths in elements; one may be -1 and is computed. The
    result is a view where the strides allow it: copy=False insists on that, copy=True always
    copies, copy=None copies only if it must.

    Raises ValueError for a shape of another size and where copy=False and a copy is needed,
    TypeError for arguments of a wrong type and packed types, MemoryError when memory runs out.
    """

def permute_dims(x: USMArray, /, axes: _Axes) -> USMArray:
    """View with axis axes[i] of x as axis i (array API standard 2024.12, permute_dims).

    axes: a tuple or list of ints, in which each axis occurs once; negative ones count from the
    last.

    Raises ValueError where an axis is missing or repeated, IndexError for an axis that x lacks,
    TypeError for arguments of a wrong type.
    """

def squeeze(x: USMArray, /, axis: _Axes) -> USMArray:
    """View without the named axes, which must have length 1 (array API standard 2024.12, squeeze).

    x: a USMArray. axis: an int, or a tuple or list of ints; negative ones count from the last.

    Raises ValueError for an axis of another length and for repeated ones, IndexError for an
    axis that x lacks, TypeError for arguments of a wrong type.
    """

def expand_dims(x: USMArray, /, axis: SupportsIndex = 0) -> USMArray:
    """View with a new axis of length 1 (array API standard 2024.12, expand_dims).

    x: a USMArray. axis: the place of the new axis in the result, an int; negative ones count
    from the last.

    Raises IndexError for a place that the result lacks, ValueError above 64 dimensions,
    TypeError for arguments of a wrong type.
    """

def flip(x: USMArray, /, *, axis: _Axes | None = None) -> USMArray:
    """View with the order of elements reversed (array API standard 2024.12, flip).

    x: a USMArray. axis: an int, a tuple or list of ints, or None for all axes.

    Raises IndexError for an axis that x lacks, ValueError for repeated ones, TypeError for
    arguments of a wrong type.
    """

def broadcast_to(x: USMArray, /, shape: _Shape) -> USMArray:
    """View of x in a larger shape (array API standard 2024.12, broadcast_to).

    shape: an int or a sequence of ints, lengths in elements. The view is read-only where an
    element appears more than once.

    Raises ValueError for a shape that x does not broadcast to, TypeError for arguments of a
    wrong type.
    """

def astype(
    x: USMArray, dtype: _DTypeLike, /, *, copy: builtins.bool = True, device: _Placement = None
) -> USMArray:
    """The elements of x cast to another type (array API standard 2024.12, astype).

    dtype: a DType, its name, a Python or NumPy type. copy=False gives x itself where nothing
    changes. device: where the result is to be; None is x's queue. Floating point to integer
    rounds towards zero, saturates, and makes 0 of NaN.

    Raises TypeError for complex to real, for types that are only stored and exchanged and for
    arguments of a wrong type, MemoryError when memory runs out, and what Device() raises.
    """

def concat(arrays: Iterable[USMArray], /, *, axis: SupportsIndex | None = 0) -> USMArray:
    """Join arrays along an axis, on the queue that they share (array API standard 2024.12,
    concat).

    arrays: USMArrays, at least one. axis: an int; None joins them as vectors. The result has
    the promoted dtype and the widest usm_type (device < shared < host).

    Raises ValueError for shapes that differ elsewhere and for no arrays, IndexError for an axis
    that they lack, TypeError where there is no common dtype, ExecutionPlacementError where
    there is no common queue, MemoryError when memory runs out.
    """

def stack(arrays: Iterable[USMArray], /, *, axis: SupportsIndex = 0) -> USMArray:
    """Join arrays of one shape along a new axis, on the queue that they share (array API standard
    2024.12, stack).

    arrays: USMArrays, at least one. axis: the place of the new axis in the result, an int.
    dtype and usm_type are as in concat.

    Raises ValueError for shapes that differ and for no arrays, IndexError for a place that the
    result lacks, TypeError where there is no common dtype, ExecutionPlacementError where there
    is no common queue, MemoryError when memory runs out.
    """

def unstack(x: USMArray, /, *, axis: SupportsIndex = 0) -> tuple[USMArray, ...]:
    """The parts of x along an axis, as a tuple of views (array API standard 2024.12, unstack).

    x: a USMArray of 1 dimension or more. axis: an int.

    Raises IndexError for an axis that x lacks, ValueError for 0 dimensions, TypeError for
    arguments of a wrong type.
    """

def matrix_transpose(x: USMArray, /) -> USMArray:
    """View with the last two axes exchanged (array API standard 2024.12, matrix_transpose).

    x: a USMArray of 2 dimensions or more.

    Raises ValueError for fewer dimensions, TypeError for arguments of a wrong type.
    """

def moveaxis(x: USMArray, source: _Axes, destination: _Axes, /) -> USMArray:
    """View with axes at other places; the rest keeps its order (array API standard 2024.12,
    moveaxis).

    source, destination: an int each, or tuples or lists of as many ints; negative ones count
    from the last.

    Raises IndexError for an axis that x lacks, ValueError for repeated ones and for different
    numbers of them, TypeError for arguments of a wrong type.
    """

def roll(x: USMArray, /, shift: _Axes, *, axis: _Axes | None = None) -> USMArray:
    """Elements moved along axes; what leaves at one end comes in at the other (array API standard
    2024.12, roll).

    shift: by how many places, an int, or a tuple or list of ints for as many axes. axis: an int,
    a tuple or list of ints, or None for x as a vector. Shifts of one axis add up.

    Raises IndexError for an axis that x lacks, ValueError for different numbers of shifts and
    axes, TypeError for arguments of a wrong type, MemoryError when memory runs out.
    """

def repeat(
    x: USMArray,
    repeats: SupportsIndex | USMArray | Sequence[SupportsIndex],
    /,
    *,
    axis: SupportsIndex | None = None,
) -> USMArray:
    """Each element of x several times, one behind the other (array API standard 2024.12, repeat).

    repeats: how often, an int; or a USMArray of integers or a sequence of ints, one for each place along
    the axis (or one for all), which the host reads, after a wait, since the result's length depends on
    them. axis: an int; None takes x as a vector.

    Raises ValueError for negative numbers and for another count of them, IndexError for an axis that x
    lacks, TypeError for arguments of a wrong type, ExecutionPlacementError where x and repeats share
    no queue, MemoryError when memory runs out.
    """

def tile(x: USMArray, repetitions: _Shape, /) -> USMArray:
    """The whole of x several times along each axis (array API standard 2024.12, tile).

    repetitions: how often, an int or a sequence of ints, which belong to the last axes of x, or
    to new ones in front of it.

    Raises ValueError for negative numbers, TypeError for arguments of a wrong type, MemoryError
    when memory runs out.
    """

def take(x: USMArray, indices: USMArray, /, *, axis: SupportsIndex | None = None) -> USMArray:
    """The elements of x at these indices along an axis, as a new array (array API standard 2024.12,
    take).

    indices: a USMArray of an integer type, of any number of dimensions, which replace the axis in
    the result; negative ones count from the end. axis: an int; None where x has one dimension.
    Indices that the host can read are checked, after a wait for pending work on them; of others,
    which kernels alone see, those out of range are taken for the nearest.

    Raises IndexError for an index out of range and for an axis that x lacks, ValueError where axis is
    missing, TypeError for indices of another type, ExecutionPlacementError where the two share no
    queue, MemoryError when memory runs out.
    """

def take_along_axis(x: USMArray, indices: USMArray, /, *, axis: SupportsIndex = -1) -> USMArray:
    """Elements of x by an index each: result[i, j, k] is x[i, indices[i, j, k], k] for the axis in the
    middle (array API standard 2024.12, take_along_axis).

    indices: a USMArray of an integer type with as many dimensions as x, whose other axes broadcast
    against those of x; checked as in take. axis: an int.

    Raises IndexError for an index out of range and for an axis that x lacks, ValueError for shapes
    that do not fit, TypeError for indices of another type, ExecutionPlacementError where the two
    share no queue, MemoryError when memory runs out.
    """

def broadcast_arrays(*arrays: USMArray) -> list[USMArray]:
    """Views of the arrays in the one shape that they broadcast to, as a list (array API standard 2024.12,
    broadcast_arrays).

    arrays: USMArrays on one queue. Views in which an element appears more than once are read-only.

    Raises ValueError for shapes that do not broadcast, ExecutionPlacementError where there is no
    common queue, TypeError for arguments of a wrong type.
    """

def broadcast_shapes(*shapes: _Shape) -> tuple[int, ...]:
    """The shape that these shapes broadcast to, as a tuple (array API standard 2025.12,
    broadcast_shapes).

    shapes: ints or sequences of ints, lengths in elements.

    Raises ValueError for shapes that do not broadcast, TypeError for what is no shape.
    """

def meshgrid(*arrays: USMArray, indexing: Literal["xy", "ij"] = "xy") -> list[USMArray]:
    """Coordinates of the points of a grid, from those along each axis (array API standard 2024.12,
    meshgrid).

    arrays: USMArrays of one dimension and of one dtype, on one queue. indexing: 'xy' exchanges
    the first two axes of the result, 'ij' does not. A list with a new array for each; its memory
    is of the kind that the array's is.

    Raises ValueError for arrays of more dimensions, for different dtypes and for another
    indexing, ExecutionPlacementError where there is no common queue, TypeError for arguments of
    a wrong type, MemoryError when memory runs out.
    """

def tril(
    x: USMArray,
    /,
    *,
    k: SupportsIndex = 0,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """The lower triangle of a matrix or of each of a stack, zeros elsewhere (array API standard
    2024.12, tril).

    x: a USMArray of 2 dimensions or more. k: the last diagonal that is kept, an int; above 0 is
    above the main one. device, queue and usm_type are x's where they are left out.

    Raises ValueError for fewer dimensions, TypeError for arguments of a wrong type, MemoryError
    when memory runs out, and what Device() raises.
    """

def triu(
    x: USMArray,
    /,
    *,
    k: SupportsIndex = 0,
    device: _Placement = None,
    queue: Queue | None = None,
    usm_type: _UsmType | None = None,
) -> USMArray:
    """The upper triangle of a matrix or of each of a stack, zeros elsewhere (array API standard
    2024.12, triu).

    x: a USMArray of 2 dimensions or more. k: the first diagonal that is kept, an int; below 0 is
    below the main one. device, queue and usm_type are x's where they are left out.

    Raises ValueError for fewer dimensions, TypeError for arguments of a wrong type, MemoryError
    when memory runs out, and what Device() raises.
    """

@final
class FloatLimits(structseq[Any], tuple[int, float, float, float, float, DType]):
    """Limits of a floating-point type, from finfo()."""

    __match_args__: Final = ("bits", "eps", "max", "min", "smallest_normal", "dtype")
    @property
    def bits(self) -> int:
        """The size of one number in bits."""
    @property
    def eps(self) -> float:
        """The distance from 1 to the next larger number."""
    @property
    def max(self) -> float:
        """The largest finite number."""
    @property
    def min(self) -> float:
        """The smallest finite number."""
    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with full precision."""
    @property
    def dtype(self) -> DType:
        """The type of real numbers."""

@final
class IntegerLimits(structseq[Any], tuple[int, int, int, DType]):
    """Limits of an integer type, from iinfo()."""

    __match_args__: Final = ("bits", "max", "min", "dtype")
    @property
    def bits(self) -> int:
        """The size of one number in bits."""
    @property
    def max(self) -> int:
        """The largest number."""
    @property
    def min(self) -> int:
        """The smallest number."""
    @property
    def dtype(self) -> DType:
        """The type."""

def result_type(*arrays_and_dtypes: USMArray | _DTypeLike | complex) -> DType:
    """The type that these promote to (array API standard 2024.12, result_type).

    arrays_and_dtypes: USMArrays, dtypes and Python numbers, which follow the others; one at least that
    is no number. bfloat16 promotes as float16 does; the two give float32.

    Raises TypeError where the standard knows no common type, such as for integers and floating-point
    types.
    """

def can_cast(from_: _DTypeLike | USMArray, to: _DTypeLike, /) -> builtins.bool:
    """Does promotion turn one type into the other (array API standard 2024.12, can_cast)?

    from_: a dtype or a USMArray. to: a dtype. False where the two have no common type.

    Raises TypeError for what is no dtype.
    """

def isdtype(dtype: _DTypeLike, kind: _DTypeLike | tuple[_DTypeLike, ...]) -> builtins.bool:
    """Is a dtype of a kind (array API standard 2024.12, isdtype)?

    kind: a dtype, 'bool', 'signed integer', 'unsigned integer', 'integral', 'real floating',
    'complex floating', 'numeric', or a tuple of them. bfloat16 and shorter types are 'real
    floating'.

    Raises ValueError for another kind, TypeError for what is no dtype.
    """

def finfo(type: _DTypeLike | USMArray, /) -> FloatLimits:
    """Limits of a floating-point type: bits, eps, max, min, smallest_normal, dtype (array API standard
    2024.12, finfo).

    type: a dtype, or a USMArray, whose dtype it is; complex types have those of their parts.

    Raises TypeError for other types.
    """

def iinfo(type: _DTypeLike | USMArray, /) -> IntegerLimits:
    """Limits of an integer type: bits, max, min, dtype (array API standard 2024.12, iinfo).

    type: a dtype, or a USMArray, whose dtype it is.

    Raises TypeError for other types.
    """

def copyto(
    dst: _Array | Buffer,
    src: _ArrayLike,
    /,
    *,
    casting: _Casting = "same_kind",
) -> None:
    """dst[...] = src, with broadcasting, between any two places.

    dst: a USMArray, or another library's writable array. src: a USMArray, any library's array,
    a number or nested sequences. casting: 'no', 'safe', 'same_kind' or 'unsafe'. Runs in dst's
    queue; memory of other libraries is finished with on return.

    Raises ValueError for a read-only dst, for shapes that do not broadcast and for another
    casting, TypeError where casting forbids it and for what is no array, BufferError for memory
    that cannot be exchanged, MemoryError when memory runs out.
    """

def explain_copy(
    dst: _Array | Buffer,
    src: _ArrayLike,
    /,
    *,
    casting: _Casting = "same_kind",
) -> str:
    """Describe how `copyto` would copy, as text with a line for each fact; nothing is copied.

    Parameters
    ----------
    dst : array
        As in `copyto`.
    src : array, number or nested sequence
        As in `copyto`.
    casting : {'same_kind', 'no', 'safe', 'unsafe'}, optional
        As in `copyto`.

    Returns
    -------
    str
        The axes after merging; memory and strides (in bytes) of both sides; their connection as
        `memory_connection` tells it; the path; the number of pieces; runs of neighbouring elements; buffers
        with their bytes; each step with its command, cast and queue; and the events that it would wait for
        now.

    Raises
    ------
    ValueError
        `dst` is read-only, the shapes do not broadcast, or `casting` is none of the four.
    TypeError
        The cast is not allowed, or an argument is not an array.
    BufferError
        The memory cannot be exchanged.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    `copyto` follows the same plan.

    Examples
    --------
    >>> import usmpy
    >>> x, y = usmpy.zeros(8, device="host"), usmpy.ones(8, device="host")
    >>> print(usmpy.explain_copy(x, y))
    copy of 8 elements, 64 bytes in dst; axes merged to (8,)
    ...
    connection: UNIFIED
    path: direct, one command
    ...
    """

# Memory.

class _KindStats(TypedDict):
    in_use: int
    pooled: int
    peak: int
    blocks: int

class _MemoryStats(TypedDict):
    held: int
    peak: int
    limit: int | None
    device: _KindStats
    shared: _KindStats
    host: _KindStats

def memory_stats(device: _Placement = None) -> _MemoryStats:
    """Count the memory that this process holds of a device, in bytes.

    Parameters
    ----------
    device : str, Device, Queue or USMArray, optional
        A placement as for array creation; it names a (context, device) pair. None is the default placement.

    Returns
    -------
    dict
        `held`, the bytes that the driver gave, in use and pooled; `peak`, the most that it ever was; `limit`,
        that of `set_memory_limit` or None. Under 'device', 'shared' and 'host', the kinds of memory, a dict
        with `in_use`, `pooled` (spare blocks for later allocations), `peak` (the most in use so far), and
        `blocks`, the number of blocks in use.

    Raises
    ------
    TypeError
        `device` is not a placement.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Sizes are those of blocks, which are at most a quarter larger than what was asked for. Imported memory
    belongs to its owner, and is not counted.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    >>> x = usmpy.zeros(1024, dtype="uint8", queue=queue)
    >>> usmpy.memory_stats(queue)["device"]["in_use"]
    1024
    """

def trim(device: _Placement = None) -> int:
    """Give pooled blocks back to the driver.

    Parameters
    ----------
    device : str, Device, Queue or USMArray, optional
        A placement as for array creation; None stands for all devices.

    Returns
    -------
    int
        Bytes given back.

    Raises
    ------
    TypeError
        `device` is not a placement.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Memory in use stays. Memory that the driver itself keeps after it was freed (CUDA's pools) becomes
    available to other libraries and processes, too.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    >>> x = usmpy.zeros(1024, dtype="uint8", queue=queue)
    >>> x.wait()
    >>> del x
    >>> usmpy.trim(queue)
    1024
    """

def set_memory_limit(device: _Placement, nbytes: SupportsIndex | None) -> None:
    """Limit the memory that usmpy takes from the driver of a device.

    Parameters
    ----------
    device : str, Device, Queue or USMArray
        A placement as for array creation; it names a (context, device) pair.
    nbytes : int or None
        The most bytes that may be held, pooled blocks included; None removes the limit.

    Raises
    ------
    ValueError
        `nbytes` is negative.
    TypeError
        An argument has a wrong type.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    An allocation beyond the limit first frees pooled blocks. Where that is not enough, it raises a
    `MemoryError` that names the limit. Memory that is in use stays, also where it exceeds a new limit.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    >>> usmpy.set_memory_limit(queue, 1 << 20)
    >>> usmpy.memory_stats(queue)["limit"]
    1048576
    """

def track_allocations(on: builtins.bool, /) -> builtins.bool:
    """Choose whether later allocations remember the line of code that made them.

    Parameters
    ----------
    on : bool
        Whether they do.

    Returns
    -------
    bool
        Whether they did before.

    Raises
    ------
    TypeError
        `on` is not a bool.

    Notes
    -----
    The environment variable ``USMPY_TRACK_ALLOCATIONS=1`` switches it on from the start. An allocation then
    takes about a microsecond longer; switched off, it costs nothing. `live_allocations` lists what was
    remembered.

    Examples
    --------
    >>> import usmpy
    >>> before = usmpy.track_allocations(True)
    >>> x = usmpy.zeros(1024, device="host")
    >>> usmpy.live_allocations()[-1].nbytes >= 8192
    True
    >>> usmpy.track_allocations(before)
    True
    """

def equal(x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Whether x1 == x2, element by element, as bool (array API standard 2024.12, equal).

    x1, x2: USMArrays of one queue that broadcast, of any types; one of them may be a Python number,
    which follows the other's type. NaN equals nothing. The result is on their queue, in the widest of their
    kinds of memory.

    Raises TypeError for types that have no common one and for what is only stored, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def not_equal(x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Whether x1 != x2, element by element, as bool (array API standard 2024.12, not_equal).

    x1, x2: USMArrays of one queue that broadcast, of any types; one of them may be a Python number,
    which follows the other's type. NaN differs from all. The result is on their queue, in the widest of their
    kinds of memory.

    Raises TypeError for types that have no common one and for what is only stored, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def less(x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Whether x1 < x2, element by element, as bool (array API standard 2024.12, less).

    x1, x2: USMArrays of one queue that broadcast, not complex; one of them may be a Python number,
    which follows the other's type. The result is on their queue, in the widest of their
    kinds of memory.

    Raises TypeError for types that have no common one and for what is only stored, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def less_equal(x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Whether x1 <= x2, element by element, as bool (array API standard 2024.12, less_equal).

    x1, x2: USMArrays of one queue that broadcast, not complex; one of them may be a Python number,
    which follows the other's type. The result is on their queue, in the widest of their
    kinds of memory.

    Raises TypeError for types that have no common one and for what is only stored, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def greater(x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Whether x1 > x2, element by element, as bool (array API standard 2024.12, greater).

    x1, x2: USMArrays of one queue that broadcast, not complex; one of them may be a Python number,
    which follows the other's type. The result is on their queue, in the widest of their
    kinds of memory.

    Raises TypeError for types that have no common one and for what is only stored, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def greater_equal(x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Whether x1 >= x2, element by element, as bool (array API standard 2024.12, greater_equal).

    x1, x2: USMArrays of one queue that broadcast, not complex; one of them may be a Python number,
    which follows the other's type. The result is on their queue, in the widest of their
    kinds of memory.

    Raises TypeError for types that have no common one and for what is only stored, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def logical_and(x1: USMArray | builtins.bool, x2: USMArray | builtins.bool, /) -> USMArray:
    """AND of truth values, element by element (array API standard 2024.12,
    logical_and).

    x1, x2: of dtype bool, USMArrays of one queue that broadcast, or one of two True or False.

    Raises TypeError for other types, ValueError for shapes that do not broadcast,
    ExecutionPlacementError for arrays of different queues.
    """

def logical_or(x1: USMArray | builtins.bool, x2: USMArray | builtins.bool, /) -> USMArray:
    """OR of truth values, element by element (array API standard 2024.12,
    logical_or).

    x1, x2: of dtype bool, USMArrays of one queue that broadcast, or one of two True or False.

    Raises TypeError for other types, ValueError for shapes that do not broadcast,
    ExecutionPlacementError for arrays of different queues.
    """

def logical_xor(x1: USMArray | builtins.bool, x2: USMArray | builtins.bool, /) -> USMArray:
    """XOR of truth values, element by element (array API standard 2024.12,
    logical_xor).

    x1, x2: of dtype bool, USMArrays of one queue that broadcast, or one of two True or False.

    Raises TypeError for other types, ValueError for shapes that do not broadcast,
    ExecutionPlacementError for arrays of different queues.
    """

def logical_not(x: USMArray, /) -> USMArray:
    """NOT of truth values, element by element (array API standard 2024.12,
    logical_not).

    x: of dtype bool, USMArrays of one queue that broadcast, or one of two True or False.

    Raises TypeError for other types.
    """

def isnan(x: USMArray, /) -> USMArray:
    """Not a number, element by element, as bool (array API standard 2024.12, isnan).

    x: a USMArray of any numeric type; of complex numbers either part counts (isfinite: both).

    Raises TypeError for bool, for types that are only stored and for what is no USMArray.
    """

def isinf(x: USMArray, /) -> USMArray:
    """Plus or minus infinity, element by element, as bool (array API standard 2024.12, isinf).

    x: a USMArray of any numeric type; of complex numbers either part counts (isfinite: both).

    Raises TypeError for bool, for types that are only stored and for what is no USMArray.
    """

def isfinite(x: USMArray, /) -> USMArray:
    """Neither NaN nor infinite, element by element, as bool (array API standard 2024.12, isfinite).

    x: a USMArray of any numeric type; of complex numbers either part counts (isfinite: both).

    Raises TypeError for bool, for types that are only stored and for what is no USMArray.
    """

def where(condition: USMArray, x1: USMArray | complex, x2: USMArray | complex, /) -> USMArray:
    """Elements of x1 where condition is true, else of x2 (array API standard 2024.12, where).

    condition: a USMArray of bool. x1, x2: USMArrays, or one of them a Python number, which follows
    the other's type. All are of one queue and broadcast. The result is on their queue, of the
    common type, in the widest of their kinds of memory.

    Raises TypeError for other conditions and for types that have no common one, ValueError for
    shapes that do not broadcast, OverflowError for a number that the type does not hold,
    ExecutionPlacementError for arrays of different queues.
    """

def all(x: USMArray, /, *, axis: _Axes | None = None, keepdims: builtins.bool = False) -> USMArray:
    """Whether all elements are true, along axes (array API standard 2024.12, all).

    x: a USMArray; what is not 0 is true, NaN too. axis: an int, a tuple of ints, or None for all
    axes. keepdims: they stay, with length 1. Of no elements the result is True.

    Raises IndexError for an axis that x lacks, ValueError for a repeated one, TypeError for arguments
    of a wrong type and for types that are only stored.
    """

def any(x: USMArray, /, *, axis: _Axes | None = None, keepdims: builtins.bool = False) -> USMArray:
    """Whether any elements are true, along axes (array API standard 2024.12, any).

    x: a USMArray; what is not 0 is true, NaN too. axis: an int, a tuple of ints, or None for all
    axes. keepdims: they stay, with length 1. Of no elements the result is False.

    Raises IndexError for an axis that x lacks, ValueError for a repeated one, TypeError for arguments
    of a wrong type and for types that are only stored.
    """

def count_nonzero(x: USMArray, /, *, axis: _Axes | None = None, keepdims: builtins.bool = False) -> USMArray:
    """How many elements are true, as int64, along axes (array API standard 2024.12, count_nonzero).

    x: a USMArray; what is not 0 is true, NaN too. axis: an int, a tuple of ints, or None for all
    axes. keepdims: they stay, with length 1. Of no elements the result is 0.

    Raises IndexError for an axis that x lacks, ValueError for a repeated one, TypeError for arguments
    of a wrong type and for types that are only stored.
    """

def nonzero(x: USMArray, /) -> tuple[USMArray, ...]:
    """Indices of the elements that are not 0, in row-major order (array API standard 2024.12, nonzero).

    x: a USMArray of one dimension or more. The result is a tuple of vectors of int64, one for each
    axis. Waits on the host once, for their number.

    Raises ValueError for 0 dimensions, TypeError for what is no USMArray and for types that are
    only stored, MemoryError when memory runs out, and the error of work on the memory.
    """

# For the Python part of usmpy.

class _BackendReport(TypedDict):
    name: _Backend
    built: builtins.bool
    absent: str | None
    broken: builtins.bool
    devices: list[Device]
    environment: list[str]
    libraries: str

@final
class _Notifier:
    """A pipe that tells an event loop of ended events; for usmpy._asyncio."""
    def __new__(cls) -> Self: ...
    def fileno(self) -> int:
        """Readable when collect() has something."""
    def watch(self, event: Event, object: object, /) -> builtins.bool:
        """collect() will return `object` once the event has ended. False when it has already."""
    def collect(self) -> list[Any]:
        """Objects whose events have ended since the last call, in the order of their ends."""

_TraceRecord: TypeAlias = tuple[
    str,  # what
    str,  # state
    str | None,  # name
    Device,
    int,  # queue
    int,  # thread
    int,  # submit_ns
    int,  # start_ns
    int,  # end_ns
    int,  # amount
    builtins.bool,  # profiled
    builtins.bool,  # in_order
    list[tuple[int, builtins.bool]],  # waits
    list[tuple[int, int]],  # accesses
]

@final
class _Trace:
    """Records the first `limit` things from now on; for usmpy._trace."""
    def __new__(cls, limit: int, /) -> Self: ...
    def stop(self) -> None:
        """Nothing new is recorded; how tasks end still is. May be called again."""
    def counts(self) -> tuple[int, int, int, int, int]:
        """(records, dropped, pending, start in nanoseconds, stop in nanoseconds or 0)."""
    def read(self) -> list[_TraceRecord]:
        """(what, state, name, device, queue, thread, submit_ns, start_ns, end_ns, amount, profiled, in_order,
        waits, accesses) of each record; waits are (record, explicit), accesses (allocation, mode).
        """

def _live_allocations() -> list[tuple[int, _UsmType, Device, int, builtins.bool, int, str | None]]:
    """(nbytes, usm_type, device, address, imported, born_ns, where) of each that is tracked, oldest first."""

def _backends(name: str | None = None, /) -> list[_BackendReport]:
    """One dict for each backend, or for that of this name alone, which are started: name, built, absent (why,
    or None), broken, devices, environment (variables that filter), libraries (that were opened, a line each).
    """

def _read_only(x: USMArray, /) -> USMArray:
    """View of x that cannot be written. TypeError for what is no USMArray."""

def _peek(x: USMArray, /) -> Any:
    """x.tolist() for display: the error of a task that it raises counts as one that nobody asked for.
    TypeError for what is no USMArray.
    """

def _reinterpret(x: USMArray, dtype: _DTypeLike, /) -> USMArray:
    """View of x with elements of another dtype of as many bits. ValueError where the sizes differ."""

def _set_default_device(device: Device, /) -> None:
    """Creation functions that name no place use `device` from now on. TypeError for what is no placement."""
