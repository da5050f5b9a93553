"""Every type of device in DLPack 1.3 through every entry of the exchange, with every kind of stream.

The tables are those of dlpack.h and of the array API standard 2025.12 (__dlpack__, "Device-specific values of
stream"), written apart from the ones in ``csrc/core/exchange/dlpack_types.c``. Devices get other types for
the time of a test (``_set_dlpack_types``): CUDA's, whose queues are streams, and one of Level Zero, whose are
not.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools

import producers
import pytest
from arrow_structures import Exported, structure
from producers import CPU, peek

import usmpy
from usmpy import _core

NAMES = {
    1: "kDLCPU",
    2: "kDLCUDA",
    3: "kDLCUDAHost",
    4: "kDLOpenCL",
    7: "kDLVulkan",
    8: "kDLMetal",
    9: "kDLVPI",
    10: "kDLROCM",
    11: "kDLROCMHost",
    12: "kDLExtDev",
    13: "kDLCUDAManaged",
    14: "kDLOneAPI",
    15: "kDLWebGPU",
    16: "kDLHexagon",
    17: "kDLMAIA",
    18: "kDLTrn",
}
CUDA, ROCM = (1, 2), (0,)  # the numbers of default streams; those above 2 are handles
PROTOCOLS = {2: CUDA, 3: CUDA, 13: CUDA, 10: ROCM, 11: ROCM}
# (type, type of shared memory, type of host memory) of a device, and the kind of memory, for each type
DEVICES = {3: ((2, 13, 3), "host"), 13: ((2, 13, 3), "shared"), 11: ((10, 0, 11), "host")}
OBJECT = object()
# No made-up handle: drivers look at one once work is pending, and NVIDIA's takes it for an address.
STREAMS = (None, -1, 0, 1, 2, -2, 2**63, 2**64, True, False, 1.0, "x", OBJECT)

by_type = pytest.mark.parametrize("kind", NAMES, ids=NAMES.get)
with_streams = pytest.mark.parametrize("kind", PROTOCOLS, ids=NAMES.get)
table = producers.our_table()
work_stream = producers.WORK_STREAM(table.current_work_stream)
from_py_object = producers.FROM_PY_OBJECT(table.managed_tensor_from_py_object_no_sync)


def first(backend: str) -> usmpy.Device:
    devices = usmpy.get_devices(backend)
    if not devices:
        pytest.skip(f"no {backend} device, and no driver in software")
    return devices[0]


@contextlib.contextmanager
def named(device: usmpy.Device, types: tuple[int, int, int]):
    """The device has these types: of its memory, and of memory of kinds shared and host."""
    before = _core._set_dlpack_types(device, *types)
    try:
        yield device
    finally:
        device.queue.wait()
        _core._set_dlpack_types(device, *before)


@pytest.fixture
def source(kind):
    """An array whose memory has the type, on a device whose queues are streams; on the host for its type."""
    types, usm_type = DEVICES.get(kind, ((kind, 0, 0), "device"))
    with contextlib.nullcontext(first("host")) if kind == CPU else named(first("cuda"), types) as device:
        x = usmpy.arange(4, dtype="int32", device=device, usm_type=usm_type)
        x.wait()
        yield x


def expected(kind: int, stream: object) -> type[Exception] | None:
    """What __dlpack__(stream=) of memory of the type raises, if its queues are streams."""
    if stream is None or (type(stream) is int and stream == -1):
        return None
    if kind not in PROTOCOLS:
        return BufferError
    if type(stream) is not int:
        return TypeError
    return None if stream in PROTOCOLS[kind] or 2 < stream < 2**63 else ValueError


def check(call, stream: object, error: type[Exception] | None, *words: str):
    """The call raises this exception, with the stream and the words in its message, or none."""
    if error is None:
        return call()
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error, stream
    message = str(caught.value)
    given = (
        f"stream is {'a str' if stream == 'x' else ''}" if error is TypeError else f"stream is {stream!r};"
    )
    assert given in message
    assert not [word for word in words if word not in message], message
    return None


# -- exports ---------------------------------------------------------------------------------------


@by_type
def test_exports(kind, source):
    pair = (kind, 0)
    queue = usmpy.Queue(source.device)
    allowed = {
        None: ("None or -1 is allowed", "the CPU" if kind == CPU else f"{NAMES[kind]} ({kind})"),
        CUDA: ("None, -1, 1 (the legacy default stream), 2 ", "or the address of a CUDA stream"),
        ROCM: ("None, -1, 0 (the default stream) or the address of a HIP stream",),
    }[PROTOCOLS.get(kind)]
    assert source.__dlpack_device__() == pair
    handle = queue.native_handle or 3  # the host's queues are no streams, whatever the number
    for stream, device, copy in itertools.product((*STREAMS, handle), (None, pair), (None, True)):
        keywords = {"dl_device": device, "copy": copy, "max_version": (1, 0), "stream": stream}
        error = expected(kind, stream)
        capsule = check(lambda k=keywords: source.__dlpack__(**k), stream, error, *allowed)
        if error is None:
            assert peek(capsule).dl_tensor.describe()["device"] == pair


@by_type
@pytest.mark.parametrize("driver", ["level_zero", "minimal"])
def test_exports_of_backends_without_streams(kind, driver):
    device = usmpy.Device("minimal:cpu:0") if driver == "minimal" else first(driver)
    with named(device, (kind, 0, 0)):
        x = usmpy.zeros(4, device=device, usm_type="device")
        shown = x.__dlpack_device__()[0]
        assert shown == (CPU if driver == "minimal" else kind)  # the host reads that memory
        name = "the CPU" if shown == CPU else f"{NAMES[kind]} ({kind})"
        for stream in STREAMS:
            error = None if stream is None or stream == -1 else BufferError
            check(lambda s=stream: x.__dlpack__(stream=s), stream, error, f"memory of {name} has no streams")


@by_type
def test_other_devices_in_an_export(kind, source):
    """The type itself, that of its device, CUDA's second name, and the CPU: by a copy if it has to be."""
    own = {kind, source.device.dlpack_device[0], CPU} | (set() if kind == CPU else {14})
    for other in (*NAMES, 0, 5, 19, -1):
        call = lambda other=other: source.__dlpack__(dl_device=(other, 0), max_version=(1, 0))  # noqa: E731
        if other in own:
            assert peek(call()).dl_tensor.describe()["device"] == (other, 0)
        else:
            with pytest.raises(BufferError, match=rf"dl_device is \({other}, 0\).* {NAMES[kind]} \({kind}\)"):
                call()
    if kind != CPU:  # the consumer is on the CPU
        for stream in STREAMS:
            error = None if stream is None or stream == -1 else BufferError
            check(
                lambda s=stream: source.__dlpack__(dl_device=(CPU, 0), stream=s),
                stream,
                error,
                "memory of the CPU has no streams",
            )


@by_type
def test_the_table_names_the_streams_of_backends(kind, source):
    out, tensor = ctypes.c_void_p(1), ctypes.c_void_p()
    assert work_stream(kind, 0, ctypes.byref(out)) == 0
    assert out.value == (None if kind == CPU else source.device.queue.native_handle)
    assert from_py_object(source, ctypes.byref(tensor)) == 0
    managed = producers.DLManagedTensorVersioned.from_address(tensor.value)
    assert managed.dl_tensor.describe()["device"] == (kind, 0)
    producers.delete(managed)


# -- imports ---------------------------------------------------------------------------------------


def share(x, kind, *, data=None, old=False):
    """A producer of a type of its own, which shares the memory of x as that of the device type."""

    class Of(producers.Producer):
        if old:

            def __dlpack__(self, stream=None):
                self.calls.append({"stream": stream})
                return self.make_capsule()

    def make():
        address = x.data_ptr if data is None else data
        tensor = producers.Tensor(x.shape, x.dtype.name, data=address, memory=0, device=(kind, 0))
        tensors.append(tensor)
        return tensor.capsule()

    tensors: list[producers.Tensor] = []
    return Of(make, (kind, 0)), tensors


@by_type
@pytest.mark.parametrize("old", [False, True], ids=["versioned", "legacy"])
def test_imports(kind, source, old):
    producer, _ = share(source, kind, old=old)
    for _ in range(2):
        producer.calls.clear()
        y = usmpy.from_dlpack(producer)
        assert (y.data_ptr, y.queue, y.usm_type) == (
            source.data_ptr,
            source.device.queue,
            "host" if kind == CPU else source.usm_type,
        )
        assert y.tolist() == [0, 1, 2, 3]
        told = source.device.queue.native_handle if kind in PROTOCOLS else None
        assert [call.get("stream") for call in producer.calls] == [told]
        assert old or ("stream" in producer.calls[0]) == (kind in PROTOCOLS)


class Stream:
    """A stream of a library: its handle is the driver's, which is 1 and 2 for the default streams."""

    def __init__(self, handle):
        self.cuda_stream = handle


@with_streams
@pytest.mark.parametrize("handle", [0, 1, 2])
def test_default_streams_are_told_by_number(kind, source, handle):
    queue = usmpy.Queue.from_stream(Stream(handle))
    assert queue.native_handle == (handle or 1)
    producer, _ = share(source, kind)
    assert usmpy.from_dlpack(producer, device=queue).queue == queue
    numbers = PROTOCOLS[kind]  # ROCm's protocol names one default stream
    assert producer.calls[0]["stream"] == numbers[min(max(handle - 1, 0), len(numbers) - 1)]


@pytest.mark.parametrize("kind", [*NAMES, 0, 5, 6, 19, -1, 2**31 - 1, -(2**31)])
def test_imports_of_types_that_no_backend_has(kind):
    x = usmpy.arange(4, dtype="int32", device="host")
    x.wait()
    producer, tensors = share(x, kind)
    producer.device = (kind, 7)
    make = producer.make_capsule

    def elsewhere():
        capsule = make()
        tensors[-1].managed.dl_tensor.device.id = 7
        return capsule

    producer.make_capsule = elsewhere
    if kind == CPU:  # it has one device, whatever the number says
        assert usmpy.from_dlpack(producer).tolist() == [0, 1, 2, 3]
        return
    name = rf"device type {NAMES.get(kind, 'unknown')} \({kind}\), id 7.*usmpy\.diagnose"
    with pytest.raises(BufferError, match=name):
        usmpy.from_dlpack(producer)
    assert producer.calls
    assert not [call for call in producer.calls if "stream" in call]
    assert [tensor.deleted for tensor in tensors] == [1]
    with pytest.raises(BufferError, match=name):
        usmpy.from_arrow(Exported(x.data_ptr, length=16, device=(kind, 7)))
    with pytest.raises(BufferError, match=rf"{NAMES.get(kind, 'unknown')} \({kind}\), id 7"):
        work_stream(kind, 7, ctypes.byref(ctypes.c_void_p()))


# -- Arrow, and streams as arguments ---------------------------------------------------------------


@by_type
def test_arrow(kind, source):
    whole = structure((pair := source.__arrow_c_device_array__())[1])
    reads = kind == CPU or source.usm_type != "device"
    assert (whole.device_type, whole.device_id) == ((CPU, -1) if reads else (kind, 0))
    assert whole.sync_event is None
    del pair
    y = usmpy.from_arrow(Exported(source.data_ptr, b"i", 4, device=(kind, 0)))
    assert (y.data_ptr, y.queue, y.tolist()) == (source.data_ptr, source.device.queue, [0, 1, 2, 3])


@pytest.mark.parametrize("kind", [2, 10], ids=NAMES.get)
def test_numbers_of_streams_as_arguments(kind, source):
    """Where a stream is wanted, an int is a number of the protocol, and no order is no answer."""
    device = source.device
    queue = usmpy.Queue(device)  # as long as it lives, its stream does
    handle = queue.native_handle
    words = {CUDA: "1 (the legacy default stream), 2 ", ROCM: "0 (the default stream) or"}[PROTOCOLS[kind]]
    calls = (
        usmpy.Queue.from_stream,
        device.queue.wait_for,
        lambda stream: source.to_device(device, stream=stream),
        lambda stream: source.lend(stream=stream).__enter__(),
    )
    for stream, call in itertools.product((0, 1, 2, -1, -2, 2**64, handle), calls):
        error = None if stream in PROTOCOLS[kind] or stream == handle else ValueError
        check(lambda c=call, s=stream: c(s), stream, error, words)


@pytest.mark.parametrize("kind", sorted(NAMES.keys() - PROTOCOLS.keys()), ids=NAMES.get)
def test_streams_without_numbers_as_arguments(kind, source):
    """An int is no stream where no protocol says which one; a queue is one."""
    device = source.device
    refused = TypeError, f"an int, but backend {device.backend} has no streams with numbers"
    calls = {
        device.queue.wait_for: refused,
        lambda stream: source.to_device(device, stream=stream): refused,
        lambda stream: source.lend(stream=stream).__enter__(): refused
        if kind != CPU
        else (BufferError, "memory of backend host has no such streams"),
    }
    for call, (error, words) in calls.items():
        for stream in (0, 1, 2, -1, 2**64, device.queue.native_handle or 3):
            with pytest.raises(error) as caught:
                call(stream)
            assert words in str(caught.value)
        with pytest.raises(TypeError, match="a Queue") as caught:
            call("x")
        assert "CUDA" not in str(caught.value)
    device.queue.wait_for(usmpy.Queue(device))
    if kind != CPU:  # the first device that has streams
        with pytest.raises(TypeError, match="stream is an int, but backend cuda has no streams with numbers"):
            usmpy.Queue.from_stream(1)


@pytest.mark.parametrize("kind", [2, 10], ids=NAMES.get)
def test_interfaces_of_cuda_are_those_of_its_type_alone(kind, source):
    queue = usmpy.Queue(source.device)
    if kind == 2:
        assert queue.__cuda_stream__() == (0, queue.native_handle)
        assert source.__cuda_array_interface__["version"] == 3
    else:
        with pytest.raises(TypeError, match="is not a CUDA stream"):
            queue.__cuda_stream__()
        assert not hasattr(source, "__cuda_array_interface__")
