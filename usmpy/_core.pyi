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
    overload,
)

import numpy as np
from _typeshed import structseq
from typing_extensions import Buffer, CapsuleType, Self

from ._enums import MemoryConnection
from ._inspection.platform import Platform
from ._processes.share import IPCHandle

# Words.

# The table of usmpy/include/usmpy.h.
_C_API: Final[CapsuleType]

_Backend: TypeAlias = Literal["host", "opencl", "level_zero", "cuda"]
_CacheType: TypeAlias = Literal["none", "read_only", "read_write"]
_Casting: TypeAlias = Literal["no", "safe", "same_kind", "unsafe"]
_DeviceType: TypeAlias = Literal["cpu", "gpu", "accelerator"]
_Language: TypeAlias = Literal["portable", "opencl", "cuda", "c", "spirv", "ptx", "native"]
_Order: TypeAlias = Literal["C", "F"]
_CopyOrder: TypeAlias = Literal["C", "F", "A", "K"]
_Priority: TypeAlias = Literal["low", "normal", "high"]
_Status: TypeAlias = Literal["submitted", "running", "complete", "error"]
_UsmType: TypeAlias = Literal["device", "shared", "host"]

# What other libraries' objects need to have.

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _SupportsArrow(Protocol):
    def __arrow_c_array__(self) -> tuple[CapsuleType, CapsuleType]: ...

class _SupportsArrowDevice(Protocol):
    def __arrow_c_device_array__(self) -> tuple[CapsuleType, CapsuleType]: ...

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
_Arrow: TypeAlias = _SupportsArrow | _SupportsArrowDevice
_Handle: TypeAlias = SupportsIndex | _SupportsIntPtr
_HandleOrSycl: TypeAlias = _Handle | _SupportsSyclCapsule | CapsuleType
_Number: TypeAlias = complex | _HostScalar
_Numbers: TypeAlias = _Number | SupportsIndex | Sequence[_Numbers]
_ArrayLike: TypeAlias = _Array | Buffer | _SupportsSyclInterface | _SupportsCudaInterface | _Arrow | _Numbers
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
_Axes: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Placement: TypeAlias = Device | Queue | USMArray | str | None
_Pair: TypeAlias = tuple[SupportsIndex, SupportsIndex]
_Stream: TypeAlias = Queue | int | _CudaStream | _StreamOfTorch | _StreamOfCuPy | _StreamOfNumba
_Extents: TypeAlias = Range | SupportsIndex | Sequence[SupportsIndex]
_Space: TypeAlias = NdRange | Range | SupportsIndex
_Range: TypeAlias = NdRange | _Extents
_KernelArgument: TypeAlias = USMArray | LocalMemory | _Number | _HostScalar | Buffer | None
_Depends: TypeAlias = Event | Iterable[Event] | None
_Indices: TypeAlias = USMArray | _Array | Buffer | Sequence[_Indices] | SupportsIndex
_IndexPart: TypeAlias = slice | EllipsisType | _Indices | None
_Index: TypeAlias = _IndexPart | tuple[_IndexPart, ...]
_Real: TypeAlias = float | _HostScalar

# Devices and contexts.

class _Immutable:
    """A base of classes whose objects do not change."""
    def __copy__(self) -> Self:
        """The object itself."""
    def __deepcopy__(self, memo: object, /) -> Self:
        """The object itself."""

@final
class Device(_Immutable):
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
    after a backend must occur in the name or the vendor of the platform, in any letter case:
    ``"opencl[intel]"``, ``"opencl[pocl]:cpu"``. The index counts the devices that match the other parts.

    Two devices are equal if they are the same hardware with the same queue, so
    ``zeros(n, device=x.device)`` always uses the place of ``x``. `same_device` compares the hardware only.

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

        Examples
        --------
        >>> import usmpy
        >>> for device in usmpy.get_devices("opencl"):
        ...     assert usmpy.Device.from_native("opencl", device.native_handle) == device
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
        """Whether `other` is on this device, on any queue.

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
            Sizes are in bytes. A value is None if the driver does not report it.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.Device("host").info()["backend"]
        'host'
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
        """Highest clock frequency in MHz; None if it is unknown, as in many virtual machines."""
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

        None if the driver does not report it. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_2d_max_height(self) -> int | None:
        """Largest height of a 2-D image in pixels; 0 if the device has no images.

        None if the driver does not report it. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_3d_max_width(self) -> int | None:
        """Largest width of a 3-D image in pixels; 0 if the device has no images.

        None if the driver does not report it. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_3d_max_height(self) -> int | None:
        """Largest height of a 3-D image in pixels; 0 if the device has no images.

        None if the driver does not report it. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_3d_max_depth(self) -> int | None:
        """Largest depth of a 3-D image in pixels; 0 if the device has no images.

        None if the driver does not report it. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def image_max_buffer_size(self) -> int | None:
        """Largest 1-D image over a buffer, in pixels; 0 if the device has no images.

        None if the driver does not report it. On CUDA, the limit of textures. usmpy itself makes no images.
        """
    @property
    def max_read_image_args(self) -> int | None:
        """Number of images that one kernel can read; 0 if the device has no images.

        None on CUDA, whose driver does not report it.
        """
    @property
    def max_write_image_args(self) -> int | None:
        """Number of images that one kernel can write; 0 if the device has no images.

        None on CUDA, whose driver does not report it.
        """
    @property
    def profiling_timer_resolution(self) -> int | None:
        """Resolution of the times of events in nanoseconds; None on CUDA, whose driver does not report it."""
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
    def single_fp_config(self) -> frozenset[str]:
        """What arithmetic in float32 can do on the device (SYCL 2020, info::fp_config).

        Any of denorm, inf_nan, round_to_nearest, round_to_zero, round_to_inf, fma,
        correctly_rounded_divide_sqrt and soft_float, as the driver reports them. With
        correctly_rounded_divide_sqrt, division and square root in programs of the language portable give the
        same bits as on the host; without denorm, subnormal numbers may become zero.

        Examples
        --------
        >>> import usmpy
        >>> "correctly_rounded_divide_sqrt" in usmpy.Device("host").single_fp_config
        True
        """
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
        """Pickle by `filter_string`: unpickling gives the device of that name, with its cached queue.

        Notes
        -----
        Unpickling raises `DeviceNotFound` where there is no such device; `unpickle_device` takes another one.
        """

@final
class Context(_Immutable):
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

        Examples
        --------
        >>> import usmpy
        >>> for device in usmpy.get_devices("opencl"):
        ...     context = usmpy.Context.from_native("opencl", device.context.native_handle)
        ...     assert context == device.context
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

# Queues and events.

@final
class Queue(_Immutable):
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
        library that keeps it longer must retain it, as PyOpenCL's from_int_ptr does. Tasks of the host, and
        work behind them, are not in the driver's queue until they run: `wait` for them first.
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
        Work of both libraries runs in the order of the calls, except for host tasks, and for work that
        waits for them or for other drivers: such work is enqueued when its dependencies have completed.
        `wait`, `wait_for` and `barrier` include the work of other libraries.

        Examples
        --------
        >>> import usmpy
        >>> for device in usmpy.get_devices("opencl"):
        ...     queue = usmpy.Queue.from_native("opencl", device.queue.native_handle)
        ...     assert queue.native_handle == device.queue.native_handle
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

        Examples
        --------
        >>> import usmpy
        >>> if usmpy.get_devices("cuda"):
        ...     assert usmpy.Queue.from_stream(1).backend == "cuda"  # the legacy default stream
        """
    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, the driver's stream as an int), by which other libraries enqueue in this queue.

        What was submitted so far is in the stream when this returns. Tasks of the host, and work behind them,
        cannot be, so the call waits for their end.

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
        blocking: builtins.bool | None = None,
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
        blocking : bool, optional
            Whether the call returns only once the copy has completed. None stands for True if a side is a
            buffer, since usmpy cannot order what its owner does with the memory, and for False between
            USMArrays. With False, the caller must not write `src`, nor use `dst`, before the event completes.

        Returns
        -------
        Event
            The copy. It has completed if the call blocks.

        Raises
        ------
        Exception
            The call blocks, and the copy fails: the error that ``event.wait()`` raises.
        UsmError
            The call blocks, and is made inside a host task after which the copy would be ordered.
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
        >>> queue.memcpy(data, x).done
        True
        >>> data
        bytearray(b'\\x00\\x01\\x02\\x03')
        >>> event = queue.memcpy(data, x, blocking=False)  # other work of the host may overlap the copy
        >>> event.wait()
        """
    def fill(
        self,
        dst: USMArray | Buffer,
        value: _Number | bytes,
        *,
        depends: _Depends = (),
        blocking: builtins.bool | None = None,
    ) -> Event:
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
        blocking : bool, optional
            Whether the call returns only once the fill has completed. None stands for True if `dst` is a
            buffer, since usmpy cannot order what its owner does with the memory, and for False otherwise.
            With False, the caller must not use the buffer before the event completes.

        Returns
        -------
        Event
            The fill. It has completed if the call blocks.

        Raises
        ------
        Exception
            The call blocks, and the fill fails: the error that ``event.wait()`` raises.
        UsmError
            The call blocks, and is made inside a host task after which the fill would be ordered.
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
        >>> usmpy.Queue("host").fill(numbers, 1.5).done
        True
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

        Examples
        --------
        >>> import usmpy
        >>> source = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }"
        >>> program = usmpy.Program(source, device="host")
        >>> queue = usmpy.Queue("host")
        >>> x = usmpy.arange(3, dtype="int32", device=queue)
        >>> event = queue.submit(program.twice, [x], 3)
        >>> x.tolist()
        [0, 2, 4]
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

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> queue.prefetch(usmpy.zeros(3, device=queue, usm_type="shared")).wait()
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

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host", in_order=False)
        >>> tasks = [queue.host_task(pow, 2, n) for n in range(3)]
        >>> queue.barrier().wait()
        >>> all(task.done for task in tasks)
        True
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

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> buffer = bytearray(8)
        >>> queue.keep_alive(buffer).wait()
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
            The first error of the queue's work since this method raised last (of any class).
        TimeoutError
            The work has not completed when the time runs out; it continues.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Notes
        -----
        Inside a host task of this queue, the wait skips that task and everything that depends on it.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> event = queue.host_task(pow, 2, 10)
        >>> queue.wait(timeout=60)
        >>> event.done
        True
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
        Only the order is affected: if the other work fails, work in this queue still runs.

        Examples
        --------
        >>> import usmpy
        >>> first, second = usmpy.Queue("host"), usmpy.Queue("host")
        >>> values = []
        >>> event = first.host_task(values.append, 1)
        >>> second.wait_for(event)
        >>> second.host_task(values.append, 2).wait()
        >>> values
        [1, 2]
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by device and properties; the cached queue of a device stays the cached one.

        Raises
        ------
        PicklingError
            The queue is in a private context, which other processes lack.
        """

@final
class Range(_Immutable):
    """The index space of a launch: 1 to 3 dimensions of work-items (SYCL 2020, 4.9.1.1).

    The device chooses the work-groups; an `NdRange` says how large they are.

    Parameters
    ----------
    *global_range : int or tuple of int
        Work-items along each dimension, as 1 to 3 ints or as one tuple of them, such as an array's shape.
        Their product is at most 2**63 - 1.

    Raises
    ------
    ValueError
        An extent is negative, there are not 1 to 3 of them, or the product is too large.
    TypeError
        Something is not an int.

    Notes
    -----
    ``get_global_id(i)`` runs from 0 to ``global_range[i] - 1``. The first dimension is dimension 0 of
    OpenCL and x of CUDA, whose neighbours run side by side. In an array in C order these are neighbours
    of the last axis.

    A launch with an extent of 0 checks its arguments and runs nothing; its event follows `depends`.

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
class NdRange(_Immutable):
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
        The dimensions differ, a global extent is negative, a local one is below 1, or a local extent does not
        divide the global one.
    TypeError
        Something is not an int.

    Notes
    -----
    The limits of the device are checked at the launch (`Kernel.max_work_group_size`). A launch with a global
    extent of 0 checks its arguments and runs nothing.

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
class LocalMemory(_Immutable):
    """The argument for a kernel's pointer to local memory (SYCL 2020, 4.7.6.11, local_accessor).

    Each work-group gets separate memory, which is not initialised. The launch needs an `NdRange`, or a
    kernel that requires a size of its work-groups.

    Parameters
    ----------
    n : int
        Elements for each work-group, at least 1.
    dtype : DType, str or type, optional
        The type of the elements; by default uint8, so that `n` is a number of bytes.

    Raises
    ------
    ValueError
        n is below 1, or the memory above 2**32 - 1 bytes.
    TypeError
        n is not an int, or dtype is no type.

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
    >>> event = program.reverse[usmpy.NdRange(8, 4)](x, usmpy.LocalMemory(4, "int32"))
    >>> x.tolist()
    [3, 2, 1, 0, 7, 6, 5, 4]
    """
    def __new__(cls, n: SupportsIndex, dtype: _DTypeLike | None = None) -> Self: ...
    @property
    def nbytes(self) -> int:
        """Size for each work-group, in bytes."""
    @property
    def dtype(self) -> DType:
        """The type of the elements: that which kernels written in Python see."""

@final
class _Dispatch:
    """The kernels that were built from a Python function, by the types of their arguments.

    Parameters
    ----------
    owner : PythonKernel
        Builds them.
    name : str
    n : int
        The number of arguments.
    checked : bool
    """
    def __new__(cls, owner: object, name: str, n: int, checked: builtins.bool, /) -> Self: ...
    @property
    def built(self) -> list[Kernel]:
        """The kernels, the oldest first."""
    def __getitem__(self, key: Any, /) -> BoundKernel: ...

@final
class Program(_Immutable):
    """Kernels in source or binary form, built for one device.

    ``program.add`` and ``program["add"]`` are the `Kernel` of that name.

    Parameters
    ----------
    source : str or bytes-like
        The source as str; bytes for the languages ``"spirv"`` and ``"native"``.
    device : None, str, Device, Queue or USMArray, optional
        The target of the build: the default device, a filter string such as ``"gpu"``, a device, or the
        device and context of a queue or an array.
    language : str, optional
        ``"portable"`` is OpenCL C without vector types, images and pipes, and runs on every backend. OpenCL
        and Level Zero devices also take ``"opencl"`` (all of OpenCL C) and ``"spirv"``. CUDA devices take
        ``"cuda"`` (CUDA C++) and ``"ptx"``. The host takes ``"c"``: each function
        ``void f(size_t begin, size_t end, ...)`` is a kernel. ``"native"`` is what `binary` returns, or the
        driver's own binary (on CUDA a cubin or fatbin).
    options : str, optional
        Options of the compiler, as a shell takes them, such as ``"-D N=4"``.
    check : bool, optional
        Whether kernels look at each index, integer division and barrier: a launch's event then ends with
        `KernelError` for the first that is wrong, on every backend. For the portable language. Default:
        whether ``USMPY_CHECK=1`` is in the environment.

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
    Built programs are kept on disk (``$USMPY_CACHE_DIR``, else ``$XDG_CACHE_HOME/usmpy``, else
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
        check: builtins.bool | None = None,
    ) -> Self: ...
    language: Final[str]
    """The language of the source."""
    options: Final[str]
    """The compiler's options."""
    check: Final[builtins.bool]
    """Whether its kernels are checked."""
    @property
    def device(self) -> Device:
        """The Device that the program was built for."""
    @property
    def context(self) -> Context:
        """The Context that the program was built in."""
    @property
    def kernel_names(self) -> list[str]:
        """List of the kernels' names; empty if the driver does not report them."""
    @property
    def binary(self) -> bytes:
        """The built program as bytes, for ``language="native"`` on an equal device.

        Raises
        ------
        UsmError
            The backend has no such form, or the program is checked.
        """
    def __getitem__(self, key: str, /) -> Kernel: ...
    def __getattr__(self, name: str, /) -> Kernel: ...
    def __dir__(self) -> list[str]:
        """Attributes and names of kernels."""
    def _ipython_key_completions_(self) -> list[str]:
        """Names of kernels, for completion of program["..."]."""
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by source, language, options and device: unpickling builds it, or loads it from the cache.

        Raises
        ------
        DeviceNotFound
            By unpickling: the device is missing; `unpickle_device` takes another one.
        BuildError, ValueError
            By unpickling: the source does not build there, or the device does not take the language.
        """

@final
class Kernel(_Immutable):
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
        a type that the program does not describe.
        """
    @property
    def parameter_names(self) -> tuple[str | None, ...]:
        """The names of the parameters, for arguments by name; None if the program does not name one."""
    def max_work_group_size(self, device: _Placement = None) -> int:
        """The most work-items of this kernel that fit into one work-group of the device.

        Parameters
        ----------
        device : Device, optional
            The device that the kernel is built for, which is the default.

        Returns
        -------
        int

        Raises
        ------
        TypeError
            `device` names no device.
        ValueError
            The kernel is built for another device.

        Examples
        --------
        >>> import usmpy
        >>> source = "kernel void f(global float *x) { x[get_global_id(0)] = 1; }"
        >>> kernel = usmpy.Program(source, device="host").f
        >>> kernel.max_work_group_size("host") >= 1
        True
        """
    def preferred_work_group_size_multiple(self, device: _Placement = None) -> int:
        """Work-groups of a multiple of this number of work-items use the device best.

        Parameters
        ----------
        device : Device, optional
            The device that the kernel is built for, which is the default.

        Returns
        -------
        int

        Raises
        ------
        TypeError
            `device` names no device.
        ValueError
            The kernel is built for another device.

        Examples
        --------
        >>> import usmpy
        >>> source = "kernel void f(global float *x) { x[get_global_id(0)] = 1; }"
        >>> kernel = usmpy.Program(source, device="host").f
        >>> kernel.preferred_work_group_size_multiple("host") >= 1
        True
        """
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by program, name and parameters.

        Raises
        ------
        TypeError
            The kernel is a function in memory (`from_pointer`), whose address means nothing elsewhere.
        """
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
            One for each parameter after the first two, such as ``["const float32*", "float32*", "int32"]``:
            pointers (``"void*"`` for any element), bool, integers, float32 and float64. What is const is only
            read. A name may follow the type: ``"int32 n"``.
        name : str, optional
            For messages.
        owner : object, optional
            The object that keeps the function in memory; the kernel and each of its launches keep it alive.
            Without an owner, the function must stay in memory until they have completed.

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
            ``"bytes[n]"`` for a struct of n bytes. They may complete the program's description, but not
            contradict it.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            There are more or fewer parameters, one is not known, or one contradicts the program.
        TypeError
            Something is not a str.

        Examples
        --------
        >>> import ctypes, usmpy
        >>> @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int32))
        ... def double(begin, end, x):
        ...     for i in range(begin, end):
        ...         x[i] *= 2
        >>> address = ctypes.cast(double, ctypes.c_void_p).value
        >>> kernel = usmpy.Kernel.from_pointer(address, ["int32*"], name="double", owner=double)
        >>> kernel.with_parameters(["int32* x"]).parameter_names
        ('x',)
        """
    def __getitem__(self, key: _Space | tuple[_Space, _Depends], /) -> BoundKernel: ...

@final
class BoundKernel(_Immutable):
    """A `Kernel` with its index space and the Events that it depends on: call it with the arguments."""
    def __call__(self, *args: _KernelArgument, **kwargs: _KernelArgument) -> Event: ...

@final
class Event(_Immutable):
    """A piece of asynchronous work: what a submission returns (SYCL 2020, 4.6.6).

    Notes
    -----
    An event can be dropped: its work runs all the same. It can be awaited, and gives its result.

    If the work fails, `wait` and `result` raise its error each time. Work that depends on it is skipped, and
    fails with that error as the ``__cause__``. An error that is never retrieved is reported once through
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
            The error of the work, every time (of any class).
        TimeoutError
            The work has not completed when the time runs out; it continues.
        UsmError
            The call is inside a host task that the event waits for.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Examples
        --------
        >>> import usmpy
        >>> event = usmpy.Queue("host").host_task(int, "x")
        >>> try:
        ...     event.wait(timeout=60)
        ... except ValueError as error:
        ...     print(error)
        invalid literal for int() with base 10: 'x'
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
            The value that the function of `Queue.host_task` returned; None for other work. It lives as long
            as the event.

        Raises
        ------
        Exception
            The error of the work, every time, as `wait` raises it.
        TimeoutError
            The work has not completed when the time runs out; it continues.
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
        """Return the exception that `wait` raises.

        Returns
        -------
        BaseException or None
            None while the work runs, and if it has succeeded.

        Examples
        --------
        >>> import usmpy
        >>> event = usmpy.Queue("host").host_task(int, "x")
        >>> try:
        ...     event.wait()
        ... except ValueError:
        ...     print(repr(event.exception()))
        ValueError("invalid literal for int() with base 10: 'x'")
        """
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
            The error of that event (of any class).
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
    def __reduce__(self) -> NoReturn:
        """Events are not pickled: TypeError, since no other process can wait for work of this one.

        Arrays are pickled after the work on them has completed.
        """

# Data types.

@final
class DType:
    """A data type, such as usmpy.float32: one object for each type.

    Held and exchanged bit for bit are the types of DLPack 1.3 with one lane: bool, integers, float16 to
    float64, complex32 to complex128, bfloat16, float8, and the packed float6 and float4.

    Parameters
    ----------
    name : DType, str, type or numpy.dtype
        A name (``"float32"``), a code or word of NumPy (``"f4"``, ``"<f4"``, ``"?"``, ``"double"``), a scalar
        type of Python, NumPy or ctypes, or a numpy.dtype, in little-endian byte order.

    Raises
    ------
    TypeError
        For anything else, big-endian types among it.

    Notes
    -----
    A DType is equal to what DType() makes it from, and has the hash of its name.

    Examples
    --------
    >>> usmpy.DType("f4")
    usmpy.float32
    >>> usmpy.float32 == "float32", usmpy.float32.itemsize, usmpy.float32.kind
    (True, 4, 'f')
    """
    def __new__(cls, name: _DTypeLike, /) -> DType: ...
    @property
    def name(self) -> builtins.str:
        """The name, such as 'float32'."""
    @property
    def kind(self) -> Literal["b", "i", "u", "f", "c"]:
        """The kind of numbers in one letter, as NumPy has it: bool 'b', signed 'i' and unsigned integers 'u',
        real 'f' and complex 'c' floating-point numbers (all of them: bfloat16 is 'f').
        """
    @property
    def char(self) -> builtins.str:
        """NumPy's letter for the type, such as 'f'.

        Raises
        ------
        AttributeError
            For types that NumPy has no letter for.
        """
    @property
    def str(self) -> builtins.str:
        """NumPy's code with byte order, kind and size in bytes, such as '<f4'.

        Raises
        ------
        AttributeError
            For types that NumPy has no code for.
        """
    @property
    def type(self) -> builtins.type[Any]:
        """The class of NumPy's scalars, such as numpy.float32.

        Raises
        ------
        TypeError
            As `dtype` raises it.
        """
    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, rounded up: 1 for the packed types of 4 and 6 bits."""
    @property
    def bits(self) -> int:
        """Size of one element in bits."""
    @property
    def hasobject(self) -> builtins.bool:
        """False: no element is a Python object. For code that was written for numpy.dtype."""
    @property
    def fields(self) -> None:
        """None: no type has fields. For code that was written for numpy.dtype."""
    @property
    def names(self) -> None:
        """None, as `fields`."""
    @property
    def dlpack(self) -> tuple[int, int, int]:
        """(type code, bits, lanes) of the elements (DLPack 1.3, DLDataType)."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy.dtype of the same elements, for which numpy.dtype(self) asks.

        bfloat16, float8 and narrower types need the package ml_dtypes.

        Raises
        ------
        TypeError
            Neither NumPy nor ml_dtypes has the type.
        ImportError
            NumPy is not installed.
        """
    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """The numpy.dtype of the same elements (the protocol of NumPy 2.4).

        Raises
        ------
        TypeError, ImportError
            As `dtype` does.
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
    # The operators of the table: csrc/kernels/tools/make_stubs.py writes them from operations.py.
    def __add__(self, value: USMArray | complex, /) -> USMArray: ...
    def __radd__(self, value: complex, /) -> USMArray: ...
    def __iadd__(self, value: USMArray | complex, /) -> Self: ...
    def __sub__(self, value: USMArray | complex, /) -> USMArray: ...
    def __rsub__(self, value: complex, /) -> USMArray: ...
    def __isub__(self, value: USMArray | complex, /) -> Self: ...
    def __mul__(self, value: USMArray | complex, /) -> USMArray: ...
    def __rmul__(self, value: complex, /) -> USMArray: ...
    def __imul__(self, value: USMArray | complex, /) -> Self: ...
    def __truediv__(self, value: USMArray | complex, /) -> USMArray: ...
    def __rtruediv__(self, value: complex, /) -> USMArray: ...
    def __itruediv__(self, value: USMArray | complex, /) -> Self: ...
    def __floordiv__(self, value: USMArray | complex, /) -> USMArray: ...
    def __rfloordiv__(self, value: complex, /) -> USMArray: ...
    def __ifloordiv__(self, value: USMArray | complex, /) -> Self: ...
    def __mod__(self, value: USMArray | complex, /) -> USMArray: ...
    def __rmod__(self, value: complex, /) -> USMArray: ...
    def __imod__(self, value: USMArray | complex, /) -> Self: ...
    def __pow__(self, value: USMArray | complex, mod: None = None, /) -> USMArray: ...
    def __rpow__(self, value: complex, mod: None = None, /) -> USMArray: ...
    def __ipow__(self, value: USMArray | complex, /) -> Self: ...  # type: ignore[misc]
    def __and__(self, value: USMArray | int, /) -> USMArray: ...
    def __rand__(self, value: int, /) -> USMArray: ...
    def __iand__(self, value: USMArray | int, /) -> Self: ...
    def __or__(self, value: USMArray | int, /) -> USMArray: ...
    def __ror__(self, value: int, /) -> USMArray: ...
    def __ior__(self, value: USMArray | int, /) -> Self: ...
    def __xor__(self, value: USMArray | int, /) -> USMArray: ...
    def __rxor__(self, value: int, /) -> USMArray: ...
    def __ixor__(self, value: USMArray | int, /) -> Self: ...
    def __lshift__(self, value: USMArray | int, /) -> USMArray: ...
    def __rlshift__(self, value: int, /) -> USMArray: ...
    def __ilshift__(self, value: USMArray | int, /) -> Self: ...
    def __rshift__(self, value: USMArray | int, /) -> USMArray: ...
    def __rrshift__(self, value: int, /) -> USMArray: ...
    def __irshift__(self, value: USMArray | int, /) -> Self: ...
    def __abs__(self) -> USMArray: ...
    def __neg__(self) -> USMArray: ...
    def __pos__(self) -> USMArray: ...
    def __invert__(self) -> USMArray: ...
    # End of the operators of the table.
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

        exception: passed by the with statement; it propagates.

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
            Passed by the with statement. An exception propagates.

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

def get_execution_queue(queues: Sequence[Queue | USMArray], /) -> Queue | None:
    """The queue that queues and arrays share, in which a function of them runs.

    Parameters
    ----------
    queues : sequence of Queues and USMArrays
        An array stands for its queue.

    Returns
    -------
    Queue or None
        None if they differ, or if there are none.

    Raises
    ------
    TypeError
        `queues` is not a sequence, or an item is neither a Queue nor a USMArray.

    Examples
    --------
    >>> x = usmpy.zeros(3)
    >>> usmpy.get_execution_queue([x, x.queue]) == x.queue
    True
    >>> usmpy.get_execution_queue([x, usmpy.zeros(3, queue=usmpy.Queue())]) is None
    True
    """

def memory_connection(a: _Placement, b: _Placement, /) -> MemoryConnection:
    """Tell whether memory of one place can be used from another.

    Parameters
    ----------
    a : USMArray, Device, Queue or str
        The place of the memory. An array stands for its own memory, on any queue; other placements stand
        for memory of kind 'device' that they allocate.
    b : USMArray, Device, Queue or str
        The place of the commands that use it: a device in its context. An array stands for its queue.

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

def from_arrow(
    x: _Arrow, /, *, device: _Placement | _Pair = None, copy: builtins.bool | None = None
) -> USMArray:
    """Take an array of Arrow as a USMArray (Arrow's C data interface and C device data interface).

    Parameters
    ----------
    x : array
        An object with the method `__arrow_c_device_array__` or `__arrow_c_array__`. The first is preferred.
    device : str, Device, Queue, USMArray or tuple of two ints, optional
        As in `from_dlpack`.
    copy : bool, optional
        As in `from_dlpack`.

    Returns
    -------
    USMArray
        Over the memory of `x`, which it keeps alive, and read-only; or over a copy. Lists of fixed size
        become further dimensions.

    Raises
    ------
    BufferError
        The array has nulls, or a type that is not here, or its memory cannot be used; or a copy is necessary
        and `copy` is False.
    TypeError
        `x` has no such method, or an argument has a wrong type.
    MemoryError
        Memory is exhausted.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Integers, float16 to float64, lists of fixed size of them, and the extension type 'arrow.bool8' are taken.
    Work on the result is ordered after the `sync_event` of `x`, on the device. Exceptions of the methods of
    `x` are passed on.

    Examples
    --------
    >>> import usmpy
    >>> import pyarrow as pa
    >>> x = usmpy.from_arrow(pa.array([1, 2, 3]))
    >>> x.tolist()
    [1, 2, 3]
    >>> pa.array(usmpy.ones(3, dtype="int8", device="host")).type
    DataType(int8)
    """

def from_dlpack(
    x: _Array, /, *, device: _Placement | _Pair = None, copy: builtins.bool | None = None
) -> USMArray:
    """Take any library's array as a USMArray (array API standard 2025.12, from_dlpack; DLPack 1.3).

    Parameters
    ----------
    x : array
        An object with DLPack's C exchange table or the method `__dlpack__`.
    device : str, Device, Queue, USMArray or tuple of two ints, optional
        Anything that `Device.create_device` takes, or a DLPack device such as (1, 0). None leaves the memory
        where it is, on the cached queue of its device; so does the DLPack device of the memory.
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

def reshape(
    x: USMArray,
    /,
    shape: _Shape,
    *,
    order: Literal["C", "F", "A"] | None = "C",
    copy: builtins.bool | None = None,
) -> USMArray:
    """The same elements in another shape.

    Parameters
    ----------
    x : USMArray
        The array.
    shape : int or sequence of ints
        The new lengths; one of them may be -1 and is computed from the size.
    order : {"C", "F", "A"}, optional
        The order in which elements are read and placed: the last axis fastest, the first one, or "F" for
        column-major arrays and else "C".
    copy : bool, optional
        True always copies, False never does; by default the result is a view where strides allow it.

    Returns
    -------
    USMArray
        A view or a copy of `x`.

    Raises
    ------
    ValueError
        The numbers of elements differ, or ``copy=False`` and a copy is needed.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, reshape. `order` is NumPy's.

    Examples
    --------
    >>> usmpy.reshape(usmpy.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    >>> usmpy.reshape(usmpy.arange(6), (2, 3), order="F").tolist()
    [[0, 2, 4], [1, 3, 5]]
    """

def permute_dims(x: USMArray, /, axes: _Axes) -> USMArray:
    """A view with the axes in another order.

    Parameters
    ----------
    x : USMArray
        The array.
    axes : sequence of ints
        The axis of `x` that each axis of the result is; every one occurs once.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice, or one is left out.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, permute_dims.

    Examples
    --------
    >>> usmpy.permute_dims(usmpy.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """

def swapaxes(x: USMArray, /, axis1: SupportsIndex, axis2: SupportsIndex) -> USMArray:
    """A view with two axes exchanged.

    Parameters
    ----------
    x : USMArray
        The array.
    axis1, axis2 : int
        The axes; negative ones count from the end.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    As NumPy's and dpctl's swapaxes.

    Examples
    --------
    >>> usmpy.swapaxes(usmpy.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """

def squeeze(x: USMArray, /, axis: _Axes | None = None) -> USMArray:
    """A view without axes of length 1.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int or sequence of ints, optional
        The axes that go; by default all of length 1.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis has another length, or occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, squeeze. The default of `axis` is NumPy's.

    Examples
    --------
    >>> usmpy.squeeze(usmpy.zeros((1, 3, 1))).shape
    (3,)
    """

def expand_dims(x: USMArray, /, axis: _Axes = 0) -> USMArray:
    """A view with more axes, of length 1.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int or sequence of ints, default 0
        The positions of the new axes in the result; negative ones count from its end.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice, or there would be more than 64.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, expand_dims.

    Examples
    --------
    >>> usmpy.expand_dims(usmpy.zeros(3), axis=(0, -1)).shape
    (1, 3, 1)
    """

def flip(x: USMArray, /, *, axis: _Axes | None = None) -> USMArray:
    """A view with the order of elements reversed.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int or sequence of ints, optional
        Along which axes; by default all.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, flip.

    Examples
    --------
    >>> usmpy.flip(usmpy.arange(3)).tolist()
    [2, 1, 0]
    """

def broadcast_to(x: USMArray, /, shape: _Shape) -> USMArray:
    """A view in a larger shape, in which elements repeat.

    Parameters
    ----------
    x : USMArray
        The array.
    shape : int or sequence of ints
        The new shape.

    Returns
    -------
    USMArray
        A view of `x`, read-only where elements repeat.

    Raises
    ------
    ValueError
        `x` does not broadcast to `shape`.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, broadcast_to.

    Examples
    --------
    >>> usmpy.broadcast_to(usmpy.arange(2), (3, 2)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """

def astype(
    x: USMArray,
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
    x : USMArray
        The array.
    dtype : DType, str, type or numpy.dtype
        The new type.
    copy : bool, default True
        With False, an array that needs no change is returned itself.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of
        `x`.
    device : Device, Queue, USMArray or str, optional
        The place of the result; by default that of `x`.

    Returns
    -------
    USMArray
        A new array, or `x` itself.

    Raises
    ------
    TypeError
        A complex type would become a real one, a type is only stored and exchanged, or an argument has a
        wrong type.
    ValueError
        A word is not one of those above, or neither device has double precision where a cast needs it.
    DeviceNotFound, BackendUnavailable
        As Device() raises them.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, astype. Floating point to integer rounds towards zero, saturates at
    the ends of the type, and makes 0 of NaN.

    Examples
    --------
    >>> usmpy.astype(usmpy.asarray([1.9, -1.9]), "int32").tolist()
    [1, -1]
    """

def concat(arrays: Iterable[USMArray], /, *, axis: SupportsIndex | None = 0) -> USMArray:
    """Arrays joined along an axis that they have.

    Parameters
    ----------
    arrays : iterable of USMArrays
        Equal shapes but for `axis`; one queue.
    axis : int, default 0
        Along which axis; None joins them flat, in row-major order.

    Returns
    -------
    USMArray
        A new array, with the widest usm_type of theirs (device < shared < host).

    Raises
    ------
    ValueError
        There are none, or shapes differ.
    ExecutionPlacementError
        They share no queue.
    TypeError
        They have no common type, or are not USMArrays.
    AxisError
        An axis is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, concat. Types are promoted as in result_type.

    Examples
    --------
    >>> x = usmpy.arange(2)
    >>> usmpy.concat([x, x]).tolist()
    [0, 1, 0, 1]
    """

def stack(arrays: Iterable[USMArray], /, *, axis: SupportsIndex = 0) -> USMArray:
    """Arrays joined along a new axis.

    Parameters
    ----------
    arrays : iterable of USMArrays
        Equal shapes; one queue.
    axis : int, default 0
        The position of the new axis in the result.

    Returns
    -------
    USMArray
        A new array, with the widest usm_type of theirs (device < shared < host).

    Raises
    ------
    ValueError
        There are none, or shapes differ.
    ExecutionPlacementError
        They share no queue.
    TypeError
        They have no common type, or are not USMArrays.
    AxisError
        An axis is out of range.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, stack. Types are promoted as in result_type.

    Examples
    --------
    >>> x = usmpy.arange(2)
    >>> usmpy.stack([x, x], axis=1).tolist()
    [[0, 0], [1, 1]]
    """

def unstack(x: USMArray, /, *, axis: SupportsIndex = 0) -> tuple[USMArray, ...]:
    """Views of the parts of an array along an axis.

    Parameters
    ----------
    x : USMArray
        The array.
    axis : int, default 0
        The axis, which the parts lack.

    Returns
    -------
    tuple of USMArrays
        A view for each index of the axis.

    Raises
    ------
    ValueError
        `x` has 0 dimensions.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, unstack.

    Examples
    --------
    >>> [part.tolist() for part in usmpy.unstack(usmpy.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """

def matrix_transpose(x: USMArray, /) -> USMArray:
    """A view with the last two axes exchanged.

    Parameters
    ----------
    x : USMArray
        The array.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        `x` has fewer than two axes.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, matrix_transpose.

    Examples
    --------
    >>> usmpy.matrix_transpose(usmpy.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """

def moveaxis(x: USMArray, source: _Axes, destination: _Axes, /) -> USMArray:
    """A view with axes moved to other places; the others keep their order.

    Parameters
    ----------
    x : USMArray
        The array.
    source : int or sequence of ints
        The axes that move.
    destination : int or sequence of ints
        Their positions in the result, one for each.

    Returns
    -------
    USMArray
        A view of `x`.

    Raises
    ------
    ValueError
        An axis occurs twice, or their numbers differ.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, moveaxis.

    Examples
    --------
    >>> usmpy.moveaxis(usmpy.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """

def roll(x: USMArray, /, shift: _Axes, *, axis: _Axes | None = None) -> USMArray:
    """Elements moved along axes; those that leave at one end enter at the other.

    Parameters
    ----------
    x : USMArray
        The array.
    shift : int or sequence of ints
        By how many elements, for each axis.
    axis : int or sequence of ints, optional
        Along which axes; by default the array is rolled as if it were flat.

    Returns
    -------
    USMArray
        A new array.

    Raises
    ------
    ValueError
        The numbers of shifts and axes differ.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, roll.

    Examples
    --------
    >>> usmpy.roll(usmpy.arange(5), 2).tolist()
    [3, 4, 0, 1, 2]
    """

def repeat(
    x: USMArray,
    repeats: SupportsIndex | USMArray | Sequence[SupportsIndex],
    /,
    *,
    axis: SupportsIndex | None = None,
) -> USMArray:
    """Each element several times, one after the other.

    Parameters
    ----------
    x : USMArray
        The array.
    repeats : int, USMArray or sequence of ints
        The number of repetitions, 0 or more: for all elements, or for each index of the axis. An array is
        on the queue of `x`; the host waits for it and reads it.
    axis : int, optional
        Along which axis; by default the array is taken as flat.

    Returns
    -------
    USMArray
        A new array.

    Raises
    ------
    ValueError
        A number is negative, or there are too few or too many.
    ExecutionPlacementError
        `repeats` is an array on another queue.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, repeat.

    Examples
    --------
    >>> usmpy.repeat(usmpy.asarray([7, 8]), [1, 3]).tolist()
    [7, 8, 8, 8]
    """

def tile(x: USMArray, repetitions: _Shape, /) -> USMArray:
    """The whole array several times along its axes.

    Parameters
    ----------
    x : USMArray
        The array.
    repetitions : int or sequence of ints
        The number of repetitions, 0 or more, for each axis, aligned with the last one. If there are more
        than `x` has axes, axes are added in front.

    Returns
    -------
    USMArray
        A new array.

    Raises
    ------
    ValueError
        A number is negative.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, tile.

    Examples
    --------
    >>> usmpy.tile(usmpy.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """

def take(
    x: USMArray,
    indices: _Indices,
    /,
    *,
    axis: SupportsIndex | None = None,
    out: USMArray | None = None,
) -> USMArray:
    """Elements by index along one axis.

    Parameters
    ----------
    x : USMArray
        The array.
    indices : int, USMArray, sequence or array of integers
        The indices of the elements, in any shape; negative ones count from the end. An int is an index of no
        dimensions, so the result has no `axis`.
    axis : int, optional
        Along which axis; it may be left out where `x` has one dimension.
    out : USMArray, optional
        An array of the shape and dtype of the result, on the same queue, that it is written into.

    Returns
    -------
    USMArray
        `out`, or a new array, in which the axes of `indices` stand in the place of `axis`.

    Raises
    ------
    IndexError
        An index is out of range, as far as the host can read them; kernels take the nearest element for
        others.
    ValueError
        `axis` is left out for several dimensions, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, take. Arrays of any number of dimensions as `indices`, and `out`, are
    NumPy's.

    Examples
    --------
    >>> usmpy.take(usmpy.asarray([10, 20, 30]), [2, 0, -1]).tolist()
    [30, 10, 30]
    """

def take_along_axis(x: USMArray, indices: _Indices, /, *, axis: SupportsIndex = -1) -> USMArray:
    """Elements by index along one axis, an index for each element of the other axes.

    Parameters
    ----------
    x : USMArray
        The array.
    indices : USMArray, sequence or array of integers
        Indices with as many dimensions as `x`; the other axes broadcast against those of `x`.
    axis : int, default -1
        Along which axis.

    Returns
    -------
    USMArray
        A new array in the common shape.

    Raises
    ------
    IndexError
        An index is out of range, as far as the host can read them.
    ValueError
        The numbers of dimensions differ, or shapes do not broadcast.
    ExecutionPlacementError
        The arrays share no queue.
    AxisError
        An axis is out of range.
    TypeError
        An argument has a wrong type.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, take_along_axis.

    Examples
    --------
    >>> x = usmpy.asarray([[1, 2], [3, 4]])
    >>> usmpy.take_along_axis(x, [[1], [0]]).tolist()
    [[2], [3]]
    """

def broadcast_arrays(*arrays: USMArray) -> tuple[USMArray, ...]:
    """Views of arrays in the shape that all of them broadcast to.

    Parameters
    ----------
    *arrays : USMArray
        Arrays on one queue.

    Returns
    -------
    tuple of USMArrays
        A view for each, read-only where elements repeat.

    Raises
    ------
    ValueError
        The shapes do not broadcast.
    ExecutionPlacementError
        The arrays share no queue.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, broadcast_arrays.

    Examples
    --------
    >>> x, y = usmpy.broadcast_arrays(usmpy.zeros((2, 1)), usmpy.zeros(3))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """

def broadcast_shapes(*shapes: _Shape) -> tuple[int, ...]:
    """The shape that several shapes broadcast to.

    Parameters
    ----------
    *shapes : int or sequence of ints
        Shapes of arrays.

    Returns
    -------
    tuple of ints
        The common shape.

    Raises
    ------
    ValueError
        There is none, or a length is negative.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    As NumPy's broadcast_shapes; the rules are those of the array API standard 2025.12.

    Examples
    --------
    >>> usmpy.broadcast_shapes((2, 1), 3)
    (2, 3)
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
    """The type that arrays, types and Python numbers promote to.

    Parameters
    ----------
    *arrays_and_dtypes : USMArray, DType, str, type or number
        At least one array or type among them. Python numbers follow these: they decide only by being of a
        higher kind.

    Returns
    -------
    DType
        The common type; it does not depend on the order of the arguments.

    Raises
    ------
    TypeError
        There is no common type (uint64 with signed integers, types that are only stored with others), no
        array or type, or an argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, result_type. Where it leaves the result open, since the kinds differ,
    NumPy's rules hold: bool with any type is that type; integers of 8 bits go into every floating-point
    type, of 16 bits into float32, wider ones into float64, on devices that have it. bfloat16 promotes as
    float16 does; the two give float32.

    Examples
    --------
    >>> usmpy.result_type("int8", "uint8"), usmpy.result_type("int32", "float32")
    (usmpy.int16, usmpy.float64)
    >>> usmpy.result_type(usmpy.zeros(1, dtype="float32"), 1.5)
    usmpy.float32
    """

def can_cast(from_: _DTypeLike | USMArray, to: _DTypeLike, /) -> builtins.bool:
    """Whether promotion turns one type into another.

    Parameters
    ----------
    from_ : DType, str, type or USMArray
        The type to cast.
    to : DType, str or type
        The type that it is cast to.

    Returns
    -------
    bool
        ``result_type(from_, to) == to``.

    Raises
    ------
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, can_cast.

    Examples
    --------
    >>> usmpy.can_cast("int8", "int16"), usmpy.can_cast("float64", "float32")
    (True, False)
    """

def isdtype(dtype: _DTypeLike, kind: _DTypeLike | tuple[_DTypeLike, ...]) -> builtins.bool:
    """Whether a type is of a kind.

    Parameters
    ----------
    dtype : DType, str or type
        The type.
    kind : str, DType or tuple of these
        "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
        "numeric", a type, or several, one of which is enough.

    Returns
    -------
    bool
        Whether the type is of this kind.

    Raises
    ------
    ValueError
        `kind` is another word.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, isdtype.

    Examples
    --------
    >>> usmpy.isdtype(usmpy.float32, "real floating"), usmpy.isdtype(usmpy.int8, ("bool", usmpy.int8))
    (True, True)
    """

def finfo(type: _DTypeLike | USMArray, /) -> FloatLimits:
    """Limits of a floating-point type.

    Parameters
    ----------
    type : DType, str, type or USMArray
        A real or complex floating-point type, or an array of one.

    Returns
    -------
    FloatLimits
        bits, eps, max, min, smallest_normal and dtype; of a complex type those of its parts.

    Raises
    ------
    TypeError
        `type` is not such a type.

    Notes
    -----
    The array API standard 2025.12, finfo.

    Examples
    --------
    >>> usmpy.finfo("float32").bits, usmpy.finfo("float16").max
    (32, 65504.0)
    """

def iinfo(type: _DTypeLike | USMArray, /) -> IntegerLimits:
    """Limits of an integer type.

    Parameters
    ----------
    type : DType, str, type or USMArray
        An integer type, or an array of one.

    Returns
    -------
    IntegerLimits
        bits, max, min and dtype.

    Raises
    ------
    TypeError
        `type` is not an integer type.

    Notes
    -----
    The array API standard 2025.12, iinfo.

    Examples
    --------
    >>> usmpy.iinfo("int8").min, usmpy.iinfo("uint16").max
    (-128, 65535)
    """

def copyto(
    dst: USMArray | _ArrayLike,
    src: _ArrayLike,
    casting: _Casting = "same_kind",
) -> None:
    """Copy elements between any two places, and between libraries: ``dst[...] = src``.

    Parameters
    ----------
    dst : USMArray or array of another library
        The destination.
    src : USMArray, array, number or sequence
        The source; it broadcasts to the shape of `dst`.
    casting : {"no", "safe", "same_kind", "unsafe"}, default "same_kind"
        The allowed casts: none, those that keep every value, those within a kind of numbers or to a
        higher kind, all. A Python number has the type of `dst` if its kind allows it.

    Raises
    ------
    TypeError
        `casting` does not allow the cast, or an argument has a wrong type.
    OverflowError
        `dst` does not hold the int.
    ValueError
        `src` does not broadcast, `dst` is read-only, or neither device has double precision where a cast
        needs it.
    BufferError
        Memory of another library cannot be exchanged.
    UsmError
        A side is memory of another library, so that the call waits for the copy, and it is made inside a host
        task after which the copy would be ordered. Nothing is submitted.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The copy runs on the queue of `dst`, and may cross devices. Memory of other libraries is finished with
    on return.

    Examples
    --------
    >>> x = usmpy.zeros(3)
    >>> usmpy.copyto(x, np.arange(3))
    >>> x.tolist()
    [0.0, 1.0, 2.0]
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
    Memory in use stays, also by other processes. Memory that the driver itself keeps after it was freed
    (CUDA's pools) becomes available to other libraries and processes, too.

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
    An allocation beyond the limit first frees pooled blocks. If that is not enough, it raises a
    `MemoryError` that names the limit. Memory in use is kept, also if it exceeds a new limit.

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
        Whether allocations are recorded from now on.

    Returns
    -------
    bool
        The previous value.

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

# The operations of the table: csrc/kernels/tools/make_stubs.py writes them from operations.py.

def add(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 + x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, add. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.add(usmpy.asarray([1, 2, 3]), usmpy.asarray([10, 20, 30])).tolist()
    [11, 22, 33]
    """

def subtract(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 - x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, subtract. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.subtract(usmpy.asarray([10, 20, 30]), usmpy.asarray([1, 2, 3])).tolist()
    [9, 18, 27]
    """

def multiply(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 * x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, multiply. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.multiply(usmpy.asarray([1, 2, 3]), usmpy.asarray([10, 20, 30])).tolist()
    [10, 40, 90]
    """

def divide(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 / x2, of floating-point numbers, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, divide. Integers are computed as floating-point numbers. The result is the
    same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.divide(usmpy.asarray([1.0, 2.0, 3.0]), 2).tolist()
    [0.5, 1.0, 1.5]
    """

def floor_divide(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The largest integer that is not above x1 / x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, floor_divide. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.floor_divide(usmpy.asarray([-3, 3, 7]), 2).tolist()
    [-2, 1, 3]
    """

def remainder(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 - x2 * floor_divide(x1, x2), with the sign of x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, remainder. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.remainder(usmpy.asarray([-3, 3, 7]), 2).tolist()
    [1, 1, 1]
    """

def pow(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 to the power of x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, pow. The largest error is 16 units in the last place of the result, or
    less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.pow(usmpy.asarray([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
    """

def maximum(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The larger of two numbers; NaN where either is, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, maximum. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.maximum(usmpy.asarray([1, 5, 3]), usmpy.asarray([4, 2, 3])).tolist()
    [4, 5, 3]
    """

def minimum(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The smaller of two numbers; NaN where either is, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, minimum. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.minimum(usmpy.asarray([1, 5, 3]), usmpy.asarray([4, 2, 3])).tolist()
    [1, 2, 3]
    """

def atan2(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The angle of the point (x2, x1), element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, atan2. Integers are computed as floating-point numbers. The largest error
    is 6 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.atan2(usmpy.asarray([0.0, 1.0]), usmpy.asarray([1.0, 0.0])).tolist()
    [0.0, 1.5707963267948966]
    """

def hypot(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute sqrt(x1**2 + x2**2), without overflow on the way, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, hypot. Integers are computed as floating-point numbers. The result is the
    same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.hypot(usmpy.asarray([3.0, 5.0]), usmpy.asarray([4.0, 12.0])).tolist()
    [5.0, 13.0]
    """

def logaddexp(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute log(exp(x1) + exp(x2)), element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, logaddexp. Integers are computed as floating-point numbers. The largest
    error is 8 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.logaddexp(usmpy.asarray([0.0, 1.0]), usmpy.asarray([0.0, 1.0])).tolist()
    [0.6931471805599453, 1.6931471805599454]
    """

def copysign(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 with the sign of x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, copysign. Integers are computed as floating-point numbers. The result is
    the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.copysign(usmpy.asarray([1.0, 2.0]), usmpy.asarray([-1.0, 3.0])).tolist()
    [-1.0, 2.0]
    """

def nextafter(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The next number after x1 towards x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, nextafter. Integers are computed as floating-point numbers. The largest
    error is 0 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.nextafter(usmpy.asarray([1.0]), usmpy.asarray([2.0])).tolist()
    [1.0000000000000002]
    """

def bitwise_and(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 & x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, bitwise_and. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.bitwise_and(usmpy.asarray([1, 2, 3]), usmpy.asarray([3, 3, 5])).tolist()
    [1, 2, 1]
    """

def bitwise_or(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 | x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, bitwise_or. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.bitwise_or(usmpy.asarray([1, 2, 3]), usmpy.asarray([3, 3, 5])).tolist()
    [3, 3, 7]
    """

def bitwise_xor(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 ^ x2, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, bitwise_xor. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.bitwise_xor(usmpy.asarray([1, 2, 3]), usmpy.asarray([3, 3, 5])).tolist()
    [2, 1, 6]
    """

def bitwise_left_shift(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 << x2; 0 where x2 is not below the number of bits, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, bitwise_left_shift. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.bitwise_left_shift(usmpy.asarray([1, 2, 3]), 2).tolist()
    [4, 8, 12]
    """

def bitwise_right_shift(
    x1: USMArray | complex,
    x2: USMArray | complex,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x1 >> x2, which keeps the sign, element by element.

    Parameters
    ----------
    x1, x2 : USMArray or number
        At least one array. Shapes broadcast, and types are promoted as in result_type.
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, bitwise_right_shift. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.bitwise_right_shift(usmpy.asarray([4, 8, -8]), 2).tolist()
    [1, 2, -2]
    """

def abs(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The absolute value, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, abs. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.abs(usmpy.asarray([-1, 2, -3])).tolist()
    [1, 2, 3]
    """

def negative(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute -x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, negative. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.negative(usmpy.asarray([1, -2, 3])).tolist()
    [-1, 2, -3]
    """

def positive(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute +x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, positive. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.positive(usmpy.asarray([1, -2, 3])).tolist()
    [1, -2, 3]
    """

def bitwise_invert(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute ~x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, bitwise_invert. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.bitwise_invert(usmpy.asarray([0, 1, 2])).tolist()
    [-1, -2, -3]
    """

def sign(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute -1, 0 or 1; x / abs(x) of complex numbers, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, sign. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.sign(usmpy.asarray([-2.5, 0.0, 3.0])).tolist()
    [-1.0, 0.0, 1.0]
    """

def signbit(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """True where the sign bit is set, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of bool in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, signbit. Integers are computed as floating-point numbers. The result is
    the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.signbit(usmpy.asarray([-1.0, -0.0, 2.0])).tolist()
    [True, True, False]
    """

def square(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x * x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, square. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.square(usmpy.asarray([1, 2, 3])).tolist()
    [1, 4, 9]
    """

def reciprocal(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute 1 / x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, reciprocal. Integers are computed as floating-point numbers. The result is
    the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.reciprocal(usmpy.asarray([1.0, 2.0, 4.0])).tolist()
    [1.0, 0.5, 0.25]
    """

def floor(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The largest integer that is not above x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, floor. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.floor(usmpy.asarray([-1.5, 0.5, 2.5])).tolist()
    [-2.0, 0.0, 2.0]
    """

def ceil(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The smallest integer that is not below x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, ceil. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.ceil(usmpy.asarray([-1.5, 0.5, 2.5])).tolist()
    [-1.0, 1.0, 3.0]
    """

def trunc(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute x without its fraction, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, trunc. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.trunc(usmpy.asarray([-1.5, 0.5, 2.5])).tolist()
    [-1.0, 0.0, 2.0]
    """

def round(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The nearest integer; the even one half way, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, round. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.round(usmpy.asarray([-1.5, 0.5, 2.5])).tolist()
    [-2.0, 0.0, 2.0]
    """

def conj(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The complex conjugate, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, conj. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.conj(usmpy.asarray([1 + 2j])).tolist()
    [(1-2j)]
    """

def real(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The real part, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, real. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.real(usmpy.asarray([1 + 2j])).tolist()
    [1.0]
    """

def imag(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The imaginary part; 0 of real numbers, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, imag. The result is the same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.imag(usmpy.asarray([1 + 2j])).tolist()
    [2.0]
    """

def sqrt(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The square root, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, sqrt. Integers are computed as floating-point numbers. The result is the
    same on every device, bit for bit.

    Examples
    --------
    >>> usmpy.sqrt(usmpy.asarray([1.0, 4.0, 9.0])).tolist()
    [1.0, 2.0, 3.0]
    """

def exp(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute e to the power of x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, exp. Integers are computed as floating-point numbers. The largest error is
    4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.exp(usmpy.asarray([0.0])).tolist()
    [1.0]
    """

def expm1(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute exp(x) - 1, exact near 0, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, expm1. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.expm1(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def log(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The natural logarithm, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, log. Integers are computed as floating-point numbers. The largest error is
    4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.log(usmpy.asarray([1.0])).tolist()
    [0.0]
    """

def log1p(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """Compute log(1 + x), exact near 0, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, log1p. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.log1p(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def log2(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The logarithm to base 2, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, log2. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.log2(usmpy.asarray([1.0, 8.0])).tolist()
    [0.0, 3.0]
    """

def log10(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The logarithm to base 10, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, log10. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.log10(usmpy.asarray([1.0, 100.0])).tolist()
    [0.0, 2.0]
    """

def sin(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The sine of an angle in radians, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, sin. Integers are computed as floating-point numbers. The largest error is
    4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.sin(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def cos(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The cosine of an angle in radians, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, cos. Integers are computed as floating-point numbers. The largest error is
    4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.cos(usmpy.asarray([0.0])).tolist()
    [1.0]
    """

def tan(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The tangent of an angle in radians, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, tan. Integers are computed as floating-point numbers. The largest error is
    5 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.tan(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def asin(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The angle whose sine is x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, asin. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.asin(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def acos(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The angle whose cosine is x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, acos. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.acos(usmpy.asarray([0.0])).tolist()
    [1.5707963267948966]
    """

def atan(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The angle whose tangent is x, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, atan. Integers are computed as floating-point numbers. The largest error
    is 5 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.atan(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def sinh(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The hyperbolic sine, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, sinh. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.sinh(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def cosh(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The hyperbolic cosine, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, cosh. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.cosh(usmpy.asarray([0.0])).tolist()
    [1.0]
    """

def tanh(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The hyperbolic tangent, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, tanh. Integers are computed as floating-point numbers. The largest error
    is 5 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.tanh(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def asinh(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The inverse of sinh, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, asinh. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.asinh(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

def acosh(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The inverse of cosh, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, acosh. Integers are computed as floating-point numbers. The largest error
    is 4 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.acosh(usmpy.asarray([1.0])).tolist()
    [0.0]
    """

def atanh(
    x: USMArray,
    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """The inverse of tanh, element by element.

    Parameters
    ----------
    x : USMArray
    out : USMArray, optional
        An array of the type of the result in its shape, on the same queue, that it is written into.
    order : {"C", "F", "A", "K"}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
    The array API standard 2025.12, atanh. Integers are computed as floating-point numbers. The largest error
    is 5 units in the last place of the result, or less (docs/numerics.md).

    Examples
    --------
    >>> usmpy.atanh(usmpy.asarray([0.0])).tolist()
    [0.0]
    """

# End of the operations of the table.

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

def _number(value: object, /) -> Any:
    """The Python number that a number of Python, NumPy or ctypes stands for; None for anything else."""

def _raise_placement(function: str, /, **arrays: USMArray) -> NoReturn:
    """Raise ExecutionPlacementError for arguments of a function, by name, that are on different queues."""

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

def share(x: USMArray, /) -> USMArray:
    """Return `x` in memory that other processes of this machine can open.

    Parameters
    ----------
    x : USMArray
        Any array.

    Returns
    -------
    USMArray
        `x` itself if its memory can be opened by others, as `x.shareable` says; otherwise a copy in new
        memory, on the same queue, with the same kind of memory and order of axes.

    Raises
    ------
    BufferError
        The device shares no memory between processes; the message says why.
    TypeError
        `x` is not a USMArray.
    MemoryError
        Memory is exhausted.

    See Also
    --------
    USMArray.get_ipc_handle

    Notes
    -----
    On the host, and on devices that use all of the host's memory (`Device.has_usm_system`), the new memory is
    a sealed file in memory (memfd_create), which needs no ``/dev/shm``. Level Zero devices share memory of
    kind 'device', which belongs to this process. The copy is asynchronous.

    Examples
    --------
    >>> x = usmpy.share(usmpy.arange(3, device="host"))
    >>> x.shareable, usmpy.share(x) is x
    (True, True)
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
    """Wakes an event loop when events end; for usmpy._events.awaiting."""
    def __new__(cls) -> Self: ...
    def fileno(self) -> int:
        """The descriptor, which is readable while collect() has objects."""
    def watch(self, event: Event, object: object, /) -> builtins.bool:
        """Have collect() return `object` once the event has ended. Returns False if it has ended already."""
    def collect(self) -> list[Any]:
        """The objects whose events ended since the last call, in the order of their ends."""

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
    """Records the first `limit` things from now on; for usmpy._inspection.trace."""
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

def _finish() -> None:
    """Waits for all tasks and reports errors that nobody retrieved, as the end of the process does."""

def _backends(name: str | None = None, /) -> list[_BackendReport]:
    """One dict for each backend, or for that of this name alone, which are started: name, built, absent (why,
    or None), broken, devices, environment (variables that filter), libraries (that were opened, a line each).
    """

def _share_descriptors(data: bytes, fds: tuple[int, ...] | None, /) -> tuple[int, ...]:
    """Duplicates of the handle's descriptors, the caller's to close; without fds those of the exporter."""

def _share_exporter(data: bytes, device: _Placement, /) -> Queue | tuple[str, bytes]:
    """The exporter for _share_open, or the filter string and the identity of its device."""

def _share_open(
    data: bytes, fds: tuple[int, ...], exporter: _Placement, device: _Placement, readonly: builtins.bool, /
) -> USMArray:
    """The array of a handle; the descriptors stay the caller's. exporter: where it was exported."""

def _read_only(x: USMArray, /) -> USMArray:
    """View of x that cannot be written. TypeError for other objects."""

def _peek(x: USMArray, /) -> Any:
    """x.tolist() for display: an error of a task that it raises stays unretrieved.
    TypeError for other objects.
    """

def _reinterpret(x: USMArray, dtype: _DTypeLike, /) -> USMArray:
    """View of x with elements of another dtype of as many bits. ValueError where the sizes differ."""

def _to_bytes(x: USMArray, /) -> USMArray:
    """The bytes of x in one dimension, which the host reads and on which no work is pending.

    x's own memory if the host reads it and x is contiguous, else a copy, column-major if x is only that.
    """

def _adopt_bytes(data: Buffer, usm_type: _UsmType, /) -> USMArray:
    """The bytes of a contiguous buffer in one dimension, without a copy; read-only if the buffer is.

    Memory of a USMArray of this kind stays memory of that array's allocation; other memory becomes memory of
    the host device. BufferError, or what else its exporter raises, if the buffer has gaps.
    """

def _of_bytes(x: USMArray, dtype: _DTypeLike, shape: tuple[int, ...], order: _Order, /) -> USMArray:
    """The bytes of x as elements of a type and shape. ValueError where their numbers of bytes differ."""

def _set_default_device(device: Device, /) -> None:
    """Creation functions that name no place use `device` from now on. TypeError for other objects."""
