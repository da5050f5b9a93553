"""dpctl's names over usmpy, thin enough to measure usmpy by dpctl's own tests (``dpctl_suite.py``).

A name of dpctl is the usmpy name of ``docs/from-dpctl.md``: renamed, with its arguments renamed. Nothing is
implemented here that usmpy lacks: such a name raises ``Missing``, which the report counts as a reason.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import gc
import os
import sys
import types

import numpy as np

import usmpy


class Missing(AttributeError):
    """usmpy has no such function."""


def missing(name):
    def function(*args, **kwargs):
        raise Missing(f"usmpy has no {name}")

    return function


# --- devices and queues -----------------------------------------------------------------------------------

BACKENDS = os.environ.get("DPCTL_SUITE_BACKENDS", "host opencl:intel").split()


def listed(device):
    """The devices that the suite runs on; 'opencl:intel': those whose name begins so."""
    words = [word.partition(":") for word in BACKENDS]
    return any(device.backend == backend and named(device, name) for backend, _, name in words)


def named(device, name):
    return device.name.lower().startswith(name.lower())


class _Word(enum.Enum):
    """Enumerations of dpctl are words in usmpy: a member is equal to its name."""

    def __eq__(self, other):
        return self.name == getattr(other, "name", other)

    def __hash__(self):
        return hash(self.name)


device_type = _Word("device_type", "all accelerator automatic cpu custom gpu")
backend_type = _Word("backend_type", "all host opencl level_zero cuda hip")
event_status_type = _Word("event_status_type", "unknown_status submitted running complete")
global_mem_cache_type = _Word("global_mem_cache_type", "indeterminate none read_only read_write")

DEVICE_ERRORS = (usmpy.DeviceNotFound, usmpy.BackendUnavailable, ValueError)


def word(value):
    return None if value is None or getattr(value, "name", value) == "all" else getattr(value, "name", value)


class Alias(type):
    """isinstance() asks for usmpy's class; a call is `make`."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls.real)

    def __eq__(cls, other):
        return other in (cls.real,) or type.__eq__(cls, other)

    __hash__ = type.__hash__

    def __call__(cls, *args, **kwargs):
        return cls.make(*args, **kwargs)

    def __getattr__(cls, name):
        return getattr(cls.real, name)


class SyclDevice(metaclass=Alias):
    real = usmpy.Device

    @staticmethod
    def make(selector=None):
        if not isinstance(selector, str | usmpy.Device | None):
            raise TypeError("selector")
        return usmpy.Device(selector)


def properties(text):
    wanted = text if isinstance(text, list | tuple) else [text]
    known = {"in_order", "enable_profiling", "default", 0, None}
    if any(isinstance(item, tuple | list | float) or item not in known for item in wanted):
        raise ValueError(text)
    return {"in_order": "in_order" in wanted, "profiling": "enable_profiling" in wanted}


class SyclQueue(metaclass=Alias):
    real = usmpy.Queue

    @staticmethod
    def make(*args, property=None):
        if len(args) == 2 and isinstance(args[0], usmpy.Context) and isinstance(args[1], usmpy.Device):
            return usmpy.Queue(args[1], context=args[0], **properties(property))
        if len(args) > 1 or (args and type(args[0]).__name__ == "PyCapsule"):
            raise TypeError(args)
        return usmpy.Queue(*args, **properties(property))


class SyclContext(metaclass=Alias):
    real = usmpy.Context

    @staticmethod
    def make(devices=None):
        if devices is None or isinstance(devices, str):
            return usmpy.Device(devices).context
        return usmpy.Context([devices] if isinstance(devices, usmpy.Device) else list(devices))


class SyclEvent(metaclass=Alias):
    real = usmpy.Event

    @staticmethod
    def make(*args):
        if args:
            raise TypeError(args)
        return usmpy.Queue().barrier()

    @staticmethod
    def wait_for(events):
        usmpy.Event.wait_all([events] if isinstance(events, usmpy.Event) else events)


def get_devices(backend=None, device_type=None):
    return [device for device in usmpy.get_devices(word(backend), word(device_type)) if listed(device)]


def plain(device):
    """The device without the queue that usmpy's remembers."""
    return usmpy.Device(device.filter_string)


def patched(cls, **names):
    """More names on one of usmpy's classes, in this process."""
    gc.get_referents(cls.__dict__)[0].update(names)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def same(name):
    return property(lambda self: getattr(self, name))


class SyclPlatform:
    """dpctl's platform is the `platform` and the context of a device in usmpy."""

    def __init__(self, selector=None):
        try:
            self.device = selector if isinstance(selector, usmpy.Device) else usmpy.Device(selector)
        except DEVICE_ERRORS as error:
            raise ValueError(selector) from error
        self.name, self.vendor, self.version = self.device.platform
        self.backend, self.default_context = self.device.backend, self.device.context

    def __eq__(self, other):
        return isinstance(other, SyclPlatform) and self.device.platform == other.device.platform

    def __hash__(self):
        return hash(self.device.platform)

    def print_platform_info(self):
        print(self.device.platform)

    def get_devices(self, device_type="all"):
        return [d for d in get_devices(self.backend, device_type) if d.platform == self.device.platform]


def get_platforms():
    return list({device.platform: SyclPlatform(plain(device)) for device in get_devices()}.values())


def select_device_with_aspects(required_aspects, excluded_aspects=()):
    return usmpy.select_device_with_aspects(required_aspects, excluded=excluded_aspects)


def create_sub_devices(self, partition, create_sub_devices=usmpy.Device.create_sub_devices):
    if isinstance(partition, int):
        return create_sub_devices(self, partition)
    raise Missing("usmpy has no create_sub_devices() by counts or affinity")


# What dpctl's tests ask for by name (SYCL 2020, 4.6.4.5).
ASPECTS = """
    cpu gpu accelerator custom fp16 fp64 atomic64 image online_compiler online_linker queue_profiling
    usm_device_allocations usm_host_allocations usm_shared_allocations usm_system_allocations
    usm_atomic_host_allocations usm_atomic_shared_allocations host_debuggable emulated
""".split()  # noqa: SIM905


def sizes(n):
    """Of dpctl's dimensions the last one is usmpy's dimension 0 (docs/from-dpctl.md)."""
    return property(lambda self: tuple(self.max_work_item_sizes[:n][::-1]))


patched(
    usmpy.Device,
    sycl_device=property(plain),
    sycl_queue=same("queue"),
    sycl_context=same("context"),
    **{f"has_aspect_{name}": property(lambda self, name=name: self.has_aspect(name)) for name in ASPECTS},
    **{
        f"is_{kind}": property(lambda self, kind=kind: self.device_type == kind)
        for kind in ("cpu", "gpu", "accelerator")
    },
    **{f"max_work_item_sizes{n}d": sizes(n) for n in (1, 2, 3)},
    max_mem_alloc_size=same("max_alloc_size"),
    create_sub_devices=create_sub_devices,
    default_selector_score=property(lambda self: 1),
    sycl_platform=property(lambda self: SyclPlatform(plain(self))),
    get_filter_string=lambda self, include_backend=True, include_device_type=True: self.filter_string,
    print_device_info=lambda self: print(self.info()),
    parent_device=same("parent"),
    get_device_id=lambda self: get_devices().index(plain(self)),
)
patched(
    usmpy.Queue,
    sycl_device=property(lambda self: plain(self.device)),
    sycl_context=same("context"),
    get_sycl_device=lambda self: plain(self.device),
    get_sycl_context=lambda self: self.context,
    is_in_order=same("in_order"),
    has_enable_profiling=same("profiling"),
    submit_barrier=lambda self, dependent_events=(): self.barrier(dependent_events),
    print_device_info=lambda self: print(plain(self.device).info()),
    name=property(lambda self: self.device.name),
    driver_version=property(lambda self: self.device.driver_version),
    # dpctl's memcpy and submit block; memcpy_async and submit_async do not.
    memcpy=lambda self, dst, src, n, memcpy=usmpy.Queue.memcpy: memcpy(self, dst, src, n).wait(),
    memcpy_async=lambda self, dst, src, n, depends=(), memcpy=usmpy.Queue.memcpy: memcpy(
        self, dst, src, n, depends=depends, blocking=False
    ),
    prefetch=lambda self, memory, n=0, prefetch=usmpy.Queue.prefetch: prefetch(self, memory),
    mem_advise=missing("mem_advise"),
    submit=lambda self, *args, submit=usmpy.Queue.submit, **more: launch(submit, self, *args, **more),
    submit_async=lambda self, *args, submit=usmpy.Queue.submit, **more: launch(submit, self, *args, **more),
    _submit_keep_args_alive=lambda self, objects, events: self.keep_alive(objects, events),
)
patched(
    usmpy.Context,
    device_count=property(lambda self: len(self.devices)),
    get_devices=lambda self: list(self.devices),
)
patched(
    usmpy.Event,
    execution_status=property(lambda self: event_status_type[self.status]),
    profiling_info_submit=same("submit_time_ns"),
    profiling_info_start=same("start_time_ns"),
    profiling_info_end=same("end_time_ns"),
)


def launch(submit, queue, kernel, args, global_size, local_size=None, dEvents=()):
    """Of dpctl's three dimensions the last one is OpenCL's dimension 0 (docs/from-dpctl.md)."""
    extent = usmpy.Range(*global_size[::-1])
    if local_size is not None:
        extent = usmpy.NdRange(tuple(global_size[::-1]), tuple(local_size[::-1]))
    return submit(queue, kernel, args, extent, depends=dEvents or ())


# --- memory -----------------------------------------------------------------------------------------------


class _Memory(metaclass=Alias):
    """MemoryUSMShared and its like: an array of bytes, which has dpctl's methods (below)."""

    real = usmpy.USMArray

    def __init_subclass__(cls):
        words = cls.__name__.removeprefix("MemoryUSM").lower()
        cls.make = staticmethod(functools.partial(make_memory, words if words != "dummy" else "shared"))


def make_memory(kind, size, *, alignment=0, queue=None, copy=False):
    if isinstance(size, int | np.integer):
        return usmpy.empty(int(size), dtype="uint8", usm_type=kind, queue=queue)
    source = usmpy.asarray(size)
    if source.usm_type != kind and not copy:
        raise ValueError(source.usm_type)
    return usmpy.asarray(source, usm_type=kind)


class MemoryUSMDevice(_Memory):
    pass


class MemoryUSMShared(_Memory):
    pass


class MemoryUSMHost(_Memory):
    pass


def as_usm_memory(obj):
    """All of a contiguous array's memory as bytes."""
    array = usmpy.asarray(obj)
    if array.dtype == "uint8" and array.ndim == 1:
        return array
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise Missing("usmpy has no object for the memory behind an array")
    return usmpy.USMArray.from_pointer(
        array.data_ptr, (array.nbytes,), "uint8", queue=array.queue, usm_type=array.usm_type, owner=array
    )


def copy_to_host(self, obj=None):
    if obj is None:
        return self.asnumpy()
    self.queue.memcpy(obj, self, self.nbytes)
    return obj


patched(
    usmpy.USMArray,
    copy_to_host=copy_to_host,
    copy_from_host=lambda self, obj: self.queue.memcpy(self, obj, memoryview(obj).nbytes),
    copy_from_device=lambda self, other: self.queue.memcpy(self, usmpy.asarray(other), other.nbytes),
    memset=lambda self, value=0: self.queue.fill(self, value).wait(),
    get_usm_type=lambda self, syclobj=None: self.usm_type,
    reference_obj=None,
    _queue=same("queue"),
    _context=same("context"),
)

# --- arrays -----------------------------------------------------------------------------------------------


class usm_ndarray(metaclass=Alias):
    real = usmpy.USMArray

    @staticmethod
    def make(shape, dtype=None, strides=None, buffer="device", offset=0, order="C", buffer_ctor_kwargs=None):
        more = {} if dtype is None else {"dtype": dtype}
        queue = (buffer_ctor_kwargs or {}).get("queue")
        if isinstance(buffer, str | bytes):
            kind = buffer.decode() if isinstance(buffer, bytes) else buffer
            if strides is None:
                return usmpy.USMArray(shape, usm_type=kind, queue=queue, order=order, **more)
            lengths = shape if isinstance(shape, tuple | list) else (shape,)
            steps = strides if isinstance(strides, tuple | list) else (strides,)
            ends = [(n - 1) * step for n, step in zip(lengths, steps, strict=True) if n > 1]
            first = -sum(end for end in ends if end < 0)
            buffer = usmpy.empty(1 + sum(map(abs, ends)), usm_type=kind, queue=queue, **more)
            offset += first * buffer.itemsize
        if not isinstance(buffer, usmpy.USMArray):
            raise ValueError(buffer)
        address = buffer.data_ptr + offset * usmpy.DType(dtype or "float64").itemsize
        return usmpy.USMArray.from_pointer(
            address,
            shape,
            dtype or buffer.dtype,
            strides=strides,
            queue=buffer.queue,
            usm_type=buffer.usm_type,
            owner=buffer,
            readonly=not buffer.flags.writable,
        )


patched(
    usmpy.USMArray,
    sycl_queue=same("queue"),
    sycl_device=property(lambda self: plain(self.device)),
    sycl_context=same("context"),
    usm_data=property(as_usm_memory),
    _pointer=same("data_ptr"),
)

NAMES = {"sycl_queue": "queue"}


def renamed(function):
    """A function whose arguments have dpctl's names."""

    def call(*args, **kwargs):
        return function(*args, **{NAMES.get(name, name): value for name, value in kwargs.items()})

    call.__name__ = function.__name__
    return call


def from_numpy(array, /, *, device=None, usm_type="device", sycl_queue=None):
    return usmpy.asarray(array, device=device, usm_type=usm_type, queue=sycl_queue, copy=True)


def to_numpy(array, /):
    return array.asnumpy()


def copy(array, /, *, order="K"):
    return array.copy(order=order)


def from_dlpack(x, /, *, device=None, copy=None):
    if isinstance(device, tuple) and device[0] == 1:
        return np.from_dlpack(x, copy=copy)  # dpctl has NumPy's arrays on the host
    return usmpy.from_dlpack(x, device=device, copy=copy)


class DLDeviceType(enum.IntEnum):
    kDLCPU = 1
    kDLCUDA = 2
    kDLOneAPI = 14


# --- modules ----------------------------------------------------------------------------------------------


def module(name, **members):
    made = sys.modules[name] if name in sys.modules else types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, made)
    return made


def get_num_devices(backend=None, device_type=None):
    return len(get_devices(backend, device_type))


def get_coerced_usm_type(kinds):
    if not isinstance(kinds, list | tuple):
        raise TypeError(kinds)
    arrays = [usmpy.empty(1, usm_type=kind) for kind in kinds]
    return usmpy.concat(arrays).usm_type if arrays else None


def validate_usm_type(usm_type, allow_none=True):
    if not allow_none and usm_type is None:
        raise TypeError(usm_type)
    usmpy.empty(0, usm_type=usm_type)


def create_program_from_source(queue, source, options=""):
    return usmpy.Program(source, device=queue.device, language="opencl", options=options)


def create_program_from_spirv(queue, module, options=""):
    return usmpy.Program(module, device=queue.device, language="spirv", options=options)


def supported(dtype, device):
    """The skip that dpctl's tests expect on a device that lacks a type."""
    dtype = usmpy.DType(dtype)
    narrower = {"float64": "float32", "complex128": "complex64"}
    return dtype if device.has_aspect_fp64 else usmpy.DType(narrower.get(dtype.name, dtype.name))


def can_cast(from_, to, fp16, fp64, casting="safe"):
    """dpctl's own helper of its tests: NumPy's rule."""
    return bool(np.can_cast(np.dtype(from_), np.dtype(to), casting))


def all_types(fp16, fp64):
    lacking = [*([] if fp16 else ["float16"]), *([] if fp64 else ["float64", "complex128"])]
    return [dtype for name, dtype in usmpy.__array_namespace_info__().dtypes().items() if name not in lacking]


def install(names):
    """Fills the package ``dpctl``, whose public names are given by module, and its modules."""
    public = {
        "SyclDevice": SyclDevice,
        "SyclQueue": SyclQueue,
        "SyclContext": SyclContext,
        "SyclEvent": SyclEvent,
        "SyclPlatform": SyclPlatform,
        "get_platforms": get_platforms,
        "lsplatform": lambda verbosity=0: [print(platform.name) for platform in get_platforms()],
        "SyclDeviceCreationError": DEVICE_ERRORS,
        "SyclQueueCreationError": (*DEVICE_ERRORS, usmpy.UsmError),
        "SyclContextCreationError": (*DEVICE_ERRORS, usmpy.UsmError),
        "SyclSubDeviceCreationError": ValueError,
        "SyclKernelSubmitError": usmpy.UsmError,
        "SyclKernelInvalidRangeError": ValueError,
        "get_devices": get_devices,
        "get_num_devices": get_num_devices,
        "has_cpu_devices": lambda: bool(get_devices(None, "cpu")),
        "has_gpu_devices": lambda: bool(get_devices(None, "gpu")),
        "has_accelerator_devices": lambda: bool(get_devices(None, "accelerator")),
        "select_default_device": usmpy.select_default_device,
        "select_cpu_device": lambda: usmpy.Device("cpu"),
        "select_gpu_device": lambda: usmpy.Device("gpu"),
        "select_accelerator_device": lambda: usmpy.Device("accelerator"),
        "select_device_with_aspects": select_device_with_aspects,
        "get_device_cached_queue": lambda device: usmpy.Device(device).queue,
        "get_include": usmpy.get_include,
        "device_type": device_type,
        "backend_type": backend_type,
        "event_status_type": event_status_type,
        "global_mem_cache_type": global_mem_cache_type,
    }
    fill("dpctl", names, public)
    module("dpctl._sycl_queue", SyclKernelSubmitError=usmpy.UsmError, kernel_arg_type=missing)
    module("dpctl._sycl_queue_manager", get_device_cached_queue=public["get_device_cached_queue"])
    memory = {cls.__name__: cls for cls in (MemoryUSMDevice, MemoryUSMShared, MemoryUSMHost)}
    fill("dpctl.memory", names, dict(memory, as_usm_memory=as_usm_memory, USMAllocationError=MemoryError))
    module("dpctl.memory._memory", _Memory=_Memory)
    fill(
        "dpctl.program",
        names,
        {
            "SyclProgram": usmpy.Program,
            "SyclKernel": usmpy.Kernel,
            "SyclProgramCompilationError": usmpy.BuildError,
            "create_program_from_source": create_program_from_source,
            "create_program_from_spirv": create_program_from_spirv,
        },
    )
    patched(usmpy.Program, get_sycl_kernel=lambda self, name: self[name])
    patched(usmpy.Program, has_sycl_kernel=lambda self, name: name in self)
    patched(usmpy.Kernel, get_function_name=lambda self: self.name)
    patched(usmpy.Kernel, get_num_args=lambda self: len(self.parameters), num_args=same("parameters"))
    fill(
        "dpctl.utils",
        names,
        {
            "ExecutionPlacementError": usmpy.ExecutionPlacementError,
            "get_execution_queue": usmpy.get_execution_queue,
            "get_coerced_usm_type": get_coerced_usm_type,
            "validate_usm_type": validate_usm_type,
            "intel_device_info": lambda device: device.info(),
        },
    )
    tensor = {
        "Device": usmpy.Device,
        "usm_ndarray": usm_ndarray,
        "dtype": usmpy.DType,
        "from_numpy": from_numpy,
        "to_numpy": to_numpy,
        "asnumpy": to_numpy,
        "copy": copy,
        "from_dlpack": from_dlpack,
        "DLDeviceType": DLDeviceType,
        "usm_ndarray_repr": repr,
        "usm_ndarray_str": str,
        "dldevice_to_sycl_device": lambda pair: usmpy.from_dlpack(np.empty(0), device=pair).device,
        "sycl_device_to_dldevice": lambda device: device.dlpack_device,
        "__array_namespace_info__": usmpy.__array_namespace_info__,
        "__array_api_version__": usmpy.__array_api_version__,
    }
    for name in names["dpctl.tensor"]:
        ours = getattr(usmpy, name, None)
        if ours is not None and name not in tensor:
            named = callable(ours) and not isinstance(ours, usmpy.DType)
            tensor[name] = renamed(ours) if named and hasattr(ours, "__name__") else ours
    fill("dpctl.tensor", names, dict(tensor, newaxis=None))
    absent(
        "dpctl.tensor._type_utils",
        _to_device_supported_dtype=supported,
        _can_cast=can_cast,
        _all_data_types=all_types,
    )
    module("dpctl.tensor._numpy_helper", AxisError=getattr(usmpy, "AxisError", IndexError))
    module("dpctl.tensor._usmarray", DLDeviceType=DLDeviceType)
    for name in ("_tensor_impl", "_copy_utils", "_dlpack", "_search_functions", "_elementwise_common"):
        absent(f"dpctl.tensor.{name}")
    absent("dpctl.tensor._tensor_elementwise_impl")
    absent("dpctl._diagnostics")


def absent(name, **members):
    """A private module of dpctl: whatever else is asked of it is missing."""

    def __getattr__(member):
        if member.startswith("__"):
            raise AttributeError(member)
        return missing(f"private {name}.{member}")

    module(name, __getattr__=__getattr__, **members)


def fill(name, names, members):
    lacking = {each: missing(each) for each in names[name] if each not in members}
    module(name, **{**lacking, **members}, __all__=sorted({*lacking, *members}))
