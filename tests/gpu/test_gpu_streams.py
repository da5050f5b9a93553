"""Stream order between libraries on the GPU, and that no exchange waits on the host for it."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from gpu_driver import LEGACY, PER_THREAD, SOFTWARE

import usmpy

N = 32 if SOFTWARE else 1024
MANY = 256 if SOFTWARE else 1 << 20
LONG = 1.0  # duration of a kernel in seconds: after a wait the stream would be idle
LONG_NS = int(LONG * 1e9)


@pytest.fixture(autouse=True)
def quiet(driver):
    """Kernels of a failed test must not run into the next one."""
    yield
    driver.synchronize()


def floats(device, value=0.0, n=N):
    x = usmpy.full(n, value, dtype="float32", device=device)
    x.wait()
    return x


# -- no host wait ------------------------------------------------------------------------------------------


def test_an_import_waits_for_the_producer_on_the_gpu_alone(stream_peer, device, driver):
    theirs = stream_peer.make(np.zeros(N, "float32"))
    stream = stream_peer.stream()
    pointer = stream_peer.pointer(stream)
    with stream_peer.on(stream):
        driver.delay(pointer, LONG)
        driver.add(pointer, stream_peer.address(theirs), N, 1)
        x = usmpy.from_dlpack(theirs)
        y = x.copy()
    assert not driver.idle(pointer), "the exchange waited on the host"
    assert y.tolist() == [1.0] * N
    assert driver.idle(pointer)


def test_an_export_waits_for_our_work_on_the_gpu_alone(stream_peer, device, driver, late):
    x = floats(device)
    stream = stream_peer.stream()
    warm = stream_peer.make(np.zeros(N, "float32"))
    with stream_peer.on(stream):
        stream_peer.add_one(warm)  # compiles
        event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS)
        theirs = stream_peer.take(x)
        stream_peer.add_one(theirs)
    assert not event.done, "the exchange waited on the host"
    assert stream_peer.numpy(theirs).tolist() == [4.0] * N
    assert event.done


def test_cuda_core_imports_after_our_pending_work(core, cupy, device, driver, late):
    from gpu_peers import CudaCore

    peer = CudaCore()
    x = floats(device)
    target = floats(device)
    event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS)
    view = peer.take(x)
    driver.copy(int(peer.queue.handle), target.data_ptr, view.ptr, 4 * N)
    assert not event.done
    assert driver.read(target.data_ptr, N) == [3.0] * N


def test_the_cuda_array_interface_names_the_stream_to_follow(cupy, device, driver, late):
    """CuPy waits for it on the host: the data are right, at CuPy's price."""
    x = floats(device)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS // 4)
        assert x.__cuda_array_interface__["stream"] == device.queue.native_handle
        assert not event.done, "asking for the interface waited"
        theirs = cupy.asarray(x)
        theirs += 1
    stream.synchronize()
    assert x.tolist() == [4.0] * N


def test_the_stream_of_a_cuda_array_interface_is_followed(cupy, device, driver):
    theirs = cupy.zeros(N, dtype="float32")
    cupy.cuda.runtime.deviceSynchronize()
    with driver.stream() as pointer:

        class Alone:
            def __init__(self):
                facts = {**theirs.__cuda_array_interface__, "stream": pointer}
                self.__cuda_array_interface__ = facts

        driver.delay(pointer, LONG)
        driver.add(pointer, theirs.data.ptr, N, 1)
        y = usmpy.asarray(Alone()).copy()
        assert not driver.idle(pointer)
        assert y.tolist() == [1.0] * N


@pytest.mark.parametrize("stream", [None, LEGACY, PER_THREAD, "created"])
def test_the_consumer_names_its_stream(device, driver, late, stream):
    x, target = floats(device), floats(device)
    handle = driver.create_stream()
    named = handle if stream == "created" else stream
    consumer = LEGACY if stream is None else named
    event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS)
    capsule = x.__dlpack__(stream=named, max_version=(1, 0))
    driver.copy(consumer, target.data_ptr, x.data_ptr, 4 * N)
    assert not event.done, "the export waited on the host"
    assert driver.read(target.data_ptr, N) == [3.0] * N
    del capsule
    driver.destroy_stream(handle)


def test_minus_one_means_no_order(device, driver, late):
    x = floats(device)
    with driver.stream() as pointer:
        event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS)
        capsule = x.__dlpack__(stream=-1, max_version=(1, 0))
        assert driver.idle(pointer)
        assert not event.done
        del capsule


@pytest.mark.parametrize(
    ("stream", "error"),
    [(0, ValueError), (-2, (ValueError, BufferError)), ("1", TypeError), (1.5, TypeError)],
)
def test_streams_that_do_not_exist_are_refused(device, stream, error):
    x = floats(device)
    with pytest.raises(error, match="stream"):
        x.__dlpack__(stream=stream, max_version=(1, 0))


def test_where_nothing_is_pending_nothing_is_enqueued(device, driver):
    x = floats(device)
    with driver.stream() as pointer:
        with driver.capture(pointer) as graph:
            capsule = x.__dlpack__(stream=pointer, max_version=(1, 0))
        assert graph == [0]
        del capsule


def test_a_producer_is_passed_our_stream(device):
    """Not None, and not the default stream: the stream that our work goes into."""
    seen = []

    class Recorder:
        def __init__(self, x):
            self.x = x

        def __dlpack_device__(self):
            return self.x.__dlpack_device__()

        def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            seen.append(stream)
            return self.x.__dlpack__(stream=-1, max_version=max_version)

    x = usmpy.from_dlpack(Recorder(floats(device)))
    assert seen == [device.queue.native_handle]
    assert x.queue is device.queue


def test_managed_memory_without_a_stream_is_finished_data(device, late):
    x = usmpy.zeros(N, dtype="float32", usm_type="shared", device=device)
    event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS // 4)
    assert np.from_dlpack(x, device="cpu").tolist() == [3.0] * N
    assert event.done


def test_the_end_of_an_export_is_ordered(stream_peer, device, driver):
    """Both sides release the memory before the consumer's last kernel has run."""
    stream = stream_peer.stream()
    pointer = stream_peer.pointer(stream)
    x = floats(device, n=MANY)
    address = x.data_ptr
    with stream_peer.on(stream):
        theirs = stream_peer.take(x)
        driver.delay(pointer, LONG / 2)
        driver.add(pointer, address, MANY, 1)
        del theirs
    del x
    gc.collect()
    others = [usmpy.zeros(MANY, dtype="float32", device=device) for _ in range(3)]
    assert not driver.idle(pointer), "somebody waited on the host"
    driver.synchronize()
    for y in others:
        assert not y.asnumpy().any(), "memory was used again before the consumer was done with it"


def test_the_end_of_an_import_is_ordered(stream_peer, device, driver, late):
    """The producer takes its memory back, into its pool, while our kernel that writes it is still to come."""
    stream = stream_peer.stream()
    n = MANY
    with stream_peer.on(stream):
        theirs = stream_peer.make(np.zeros(n, "float32"))
        x = usmpy.from_dlpack(theirs)
        event = late[usmpy.Range(n)](x, n, 3.0, LONG_NS // 2)
        del theirs, x
        gc.collect()
        others = [stream_peer.make(np.zeros(n, "float32")) for _ in range(3)]
    event.wait()
    for other in others:
        assert not stream_peer.numpy(other).any(), "our kernel wrote to memory of somebody else"


# -- queues and streams ------------------------------------------------------------------------------------


def streams_of(library, request):
    """A stream object of the library, and its pointer."""
    module = request.getfixturevalue(library)
    if library == "cupy":
        stream = module.cuda.Stream(non_blocking=True)
        return stream, stream.ptr
    if library == "torch":
        stream = module.cuda.Stream()
        return stream, stream.cuda_stream
    if library == "numba_cuda":
        stream = module.stream()
        return stream, stream.__cuda_stream__()[1]
    device = module.Device(0)
    device.set_current()
    stream = device.create_stream()
    return stream, int(stream.handle)


LIBRARIES = ["cupy", "torch", "numba_cuda", "core"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_streams_of_other_libraries_as_queues(request, device, driver, library):
    stream, pointer = streams_of(library, request)
    q = usmpy.Queue.from_stream(stream)
    assert q.native_handle == pointer
    assert q.device == device or q.device.dlpack_device == device.dlpack_device
    assert (q.backend, q.in_order) == ("cuda", True)
    x = usmpy.zeros(N, dtype="float32", queue=q)
    q.wait()
    driver.delay(pointer, LONG / 4)
    driver.add(pointer, x.data_ptr, N, 2)  # their work, in their stream
    y = x.copy()  # ours, behind it
    assert not driver.idle(pointer)
    assert y.tolist() == [2.0] * N


@pytest.mark.parametrize("library", LIBRARIES)
def test_default_streams_as_queues(request, device, driver, library):
    """Objects that call the legacy default stream 0, and those that call it 1."""
    module = request.getfixturevalue(library)
    stream = {
        "cupy": lambda: module.cuda.Stream.null,
        "torch": lambda: module.cuda.default_stream(),
        "numba_cuda": lambda: module.default_stream(),
        "core": lambda: module.LEGACY_DEFAULT_STREAM,
    }[library]()
    q = usmpy.Queue.from_stream(stream)
    x = usmpy.zeros(N, dtype="float32", queue=q)
    q.wait()
    driver.delay(LEGACY, LONG / 4)
    driver.add(LEGACY, x.data_ptr, N, 2)
    assert x.copy().tolist() == [2.0] * N


def test_pointers_as_queues(device, driver):
    with driver.stream() as pointer:
        for q in (usmpy.Queue.from_stream(pointer), usmpy.Queue.from_native("cuda", pointer)):
            assert q.native_handle == pointer
            x = usmpy.ones(8, dtype="float32", queue=q)
            assert x.tolist() == [1.0] * 8
            q.wait()
        del q, x


@pytest.mark.parametrize("library", LIBRARIES)
def test_our_queues_as_their_streams(request, device, driver, late, library):
    module = request.getfixturevalue(library)
    q = usmpy.Queue(device)
    version, pointer = q.__cuda_stream__()
    assert (version, pointer) == (0, q.native_handle)
    x = usmpy.zeros(N, dtype="float32", queue=q)
    target = floats(device)
    late[usmpy.Range(N)](x, N, 3.0, LONG_NS // 4)
    if library == "cupy":
        with module.cuda.Stream.from_external(q):
            module.from_dlpack(x).__iadd__(1)
            module.cuda.get_current_stream().synchronize()
    elif library == "torch":
        with module.cuda.stream(module.cuda.ExternalStream(q.native_handle)):
            module.from_dlpack(x).add_(1)
        module.cuda.synchronize()
    elif library == "numba_cuda":
        driver.add(q.native_handle, x.data_ptr, N, 1)
        module.external_stream(q.native_handle).synchronize()
    else:
        core_device = module.Device(0)
        core_device.set_current()
        stream = core_device.create_stream(q)
        driver.add(int(stream.handle), x.data_ptr, N, 1)
        stream.sync()
        del stream
    driver.copy(q.native_handle, target.data_ptr, x.data_ptr, 4 * N)
    assert driver.read(target.data_ptr, N) == [4.0] * N


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_queue_waits_for_their_stream(request, device, driver, library):
    stream, pointer = streams_of(library, request)
    x = floats(device)
    q = usmpy.Queue(device)
    target = usmpy.zeros(N, dtype="float32", queue=q)
    q.wait()
    driver.delay(pointer, LONG / 2)
    driver.add(pointer, x.data_ptr, N, 1)
    q.wait_for(stream)
    q.memcpy(target, x)
    assert not driver.idle(pointer), "wait_for() waited on the host"
    assert target.tolist() == [1.0] * N
    q.wait_for(pointer)
    q.wait()


def test_their_stream_waits_for_our_queue(cupy, device, driver, late):
    """CuPy's stream waits through the queue that stands for it."""
    stream = cupy.cuda.Stream(non_blocking=True)
    x = floats(device)
    event = late[usmpy.Range(N)](x, N, 3.0, LONG_NS // 2)
    usmpy.Queue.from_stream(stream).wait_for(device.queue)
    driver.add(stream.ptr, x.data_ptr, N, 1)
    assert not event.done
    assert driver.read(x.data_ptr, N) == [4.0] * N


def test_priorities(device):
    for priority in ("low", "normal", "high"):
        q = usmpy.Queue(device, priority=priority)
        assert q.priority == priority
        assert usmpy.ones(5, queue=q).tolist() == [1.0] * 5


def test_profiling_times(device, late):
    q = usmpy.Queue(device, profiling=True)
    x = usmpy.zeros(N, dtype="float32", queue=q)
    event = late[usmpy.Range(N)](x, N, 1.0, 50_000_000)
    event.wait()
    assert event.submit_time_ns <= event.start_time_ns <= event.end_time_ns
    assert 40_000_000 < event.end_time_ns - event.start_time_ns < 1_000_000_000
    copied = q.memcpy(usmpy.empty(N, dtype="float32", queue=q), x)
    copied.wait()
    assert event.end_time_ns <= copied.end_time_ns


def test_an_out_of_order_queue_runs_side_by_side(device, driver, late):
    q = usmpy.Queue(device, in_order=False)
    arrays = [usmpy.zeros(N, dtype="float32", queue=q) for _ in range(4)]
    q.wait()
    slow = late[usmpy.Range(N)](arrays[0], N, 1.0, LONG_NS)
    quick = [late[usmpy.Range(N)](x, N, 2.0, 0) for x in arrays[1:]]
    for event in quick:
        event.wait()
    assert not slow.done, "an independent task waited for the slow one"
    after = late[usmpy.Range(N)](arrays[0], N, 5.0, 0)  # the same memory: behind it
    after.wait()
    assert slow.done
    assert arrays[0].tolist() == [5.0] * N
