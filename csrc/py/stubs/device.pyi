"""Device: what a backend's device is and can do."""

import builtins
import uuid
from typing import Any, SupportsIndex, final

from typing_extensions import Self

from usmpy._inspection.platform import Platform

from .queue import Context, Queue
from .types import _Backend, _CacheType, _DeviceType, _Handle, _Placement

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
        """Whether a sub-group makes progress while another one of the work-group waits.

        None on Level Zero, and on OpenCL below 2.1, whose drivers do not tell.
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
        """Highest clock frequency in MHz.

        None if it is unknown, as on the host and with OpenCL in many virtual machines.
        """
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
