"""Streams of other libraries: what counts as one, queues over them, waits for them, captures of theirs."""

from __future__ import annotations

import gc
import weakref

import cuda_peers
import dlpack_type
import pytest
from cuda_peers import LEGACY, PER_THREAD
from ids import steady

import usmpy

N = 500


@pytest.fixture(params=cuda_peers.STREAMS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


# -- queues over streams ---------------------------------------------------------------------------


def test_a_queue_enqueues_in_the_stream(peer, driver, device, kind):
    """Earlier work of its library is ordered before ours, later work after it."""
    handle = peer.stream()
    queue = usmpy.Queue.from_stream(kind(handle))
    assert (queue.native_handle, queue.device.filter_string) == (handle, "cuda:gpu:0")
    assert queue.in_order
    theirs = peer.array(N, 1, cls=cuda_peers.Torch, late=True)
    x = usmpy.from_dlpack(theirs, device=queue)
    y = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.memcpy(y, x)
    queue.fill(x, 2)
    before = driver.calls("cuStreamWaitEvent")
    assert theirs.read() == b"\2" * N
    assert driver.calls("cuStreamWaitEvent") == before
    assert y.tolist() == [1] * N
    assert queue != usmpy.Queue.from_stream(kind(handle))  # as from_native: always a new one


@pytest.mark.parametrize("number", [LEGACY, PER_THREAD])
def test_default_streams(peer, driver, device, kind, number):
    if kind is cuda_peers.StreamOfTorch:
        queue = usmpy.Queue.from_stream(kind(number, index=1))
        assert queue.device.filter_string == "cuda:gpu:1"
    for current in (0, 1):
        with driver.on(current):
            queue = usmpy.Queue.from_stream(kind(number))
            expected = 0 if kind is cuda_peers.StreamOfTorch else current  # which says its device itself
            assert queue.device.filter_string == f"cuda:gpu:{expected}"
            assert queue.native_handle == number
            x = usmpy.zeros(N, dtype="int8", queue=queue)
            queue.fill(x, 3)
            assert x.tolist() == [3] * N


def test_the_queue_is_on_the_streams_device_with_any_current_device(peer, driver, device, kind):
    handle = peer.stream(1)
    for current in (0, 1, None):
        with driver.on(current):
            queue = usmpy.Queue.from_stream(kind(handle))
            assert queue.device.filter_string == "cuda:gpu:1"
            x = usmpy.zeros(N, dtype="int8", queue=queue)
            queue.fill(x, 3)
            assert x.tolist() == [3] * N


def test_the_stream_object_lives_as_long_as_the_queue_and_its_work(peer, driver, device):
    stream = cuda_peers.Protocol(peer.stream())
    alive = weakref.ref(stream)
    queue = usmpy.Queue.from_stream(stream)
    del stream
    gc.collect()
    assert alive() is not None
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    driver.late(peer.stream())
    event = queue.fill(x, 3)
    del queue, x
    assert alive() is not None
    event.wait()
    del event
    for _ in range(500):
        gc.collect()
        usmpy.empty(1).wait()
        if alive() is None:
            break
    assert alive() is None
    assert not driver.is_busy(peer.stream())  # it is still there


def test_our_queues_are_streams_for_others(device):
    queue = usmpy.Queue(device)
    assert queue.__cuda_stream__() == (0, queue.native_handle)
    assert usmpy.Queue.from_stream(queue) is queue
    with pytest.raises(TypeError, match="host"):
        usmpy.Queue("host").__cuda_stream__()


@pytest.mark.parametrize("bad", [None, "1", 1.5, True, object(), [1]], ids=steady)
def test_objects_that_are_not_streams_are_refused(device, bad):
    x = usmpy.zeros(3, device=device)
    calls = [usmpy.Queue.from_stream, device.queue.wait_for]
    if bad is not None:
        calls += [x.lend, lambda stream: x.to_device(device, stream=stream)]
    for call in calls:
        with pytest.raises(TypeError, match="stream"):
            call(bad)


@pytest.mark.parametrize("bad", [dlpack_type.NO_STREAM, -1, 1 << 64], ids=repr)
def test_numbers_that_no_stream_has_are_refused(device, bad):
    x = usmpy.zeros(3, device=device)
    calls = usmpy.Queue.from_stream, device.queue.wait_for, x.lend, lambda s: x.to_device(device, stream=s)
    for call in calls:
        with pytest.raises(ValueError, match="stream is"):
            call(bad)


def test_malformed_protocols_are_refused(device):
    for answer in (1, (1,), ("a", 1), (0, "a"), (0, 1, 2), None, (0, 1.5), (0, -3)):
        stream = cuda_peers.Protocol(1)
        stream.answer = answer
        with pytest.raises(TypeError, match="stream"):
            usmpy.Queue.from_stream(stream)
    with pytest.raises(TypeError, match="version 1"):
        usmpy.Queue.from_stream(cuda_peers.Protocol(1, version=1))

    class Raises:
        def __cuda_stream__(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        usmpy.Queue.from_stream(Raises())


# -- waits -----------------------------------------------------------------------------------------


def test_a_queue_waits_for_a_stream_on_the_device(peer, driver, device, kind):
    x = usmpy.zeros(N, dtype="int8", device=device)
    y = usmpy.zeros(N, dtype="int8", device=device)
    device.queue.wait()
    stream = peer.stream()
    driver.late(stream)
    driver.fill(stream, x.data_ptr, N, 5)
    device.queue.wait_for(kind(stream))
    device.queue.memcpy(y, x)
    assert driver.is_busy(stream)
    assert y.tolist() == [5] * N


def test_a_queue_of_the_host_waits_for_a_stream_object(peer, driver, device):
    host = usmpy.Queue("host")
    driver.late(peer.stream())
    host.wait_for(cuda_peers.Protocol(peer.stream()))
    seen = []
    host.host_task(lambda: seen.append(driver.library.cudasim_calls(b"cuInit")))
    host.wait()
    with driver.on(0):
        assert not driver.is_busy(peer.stream())
    with pytest.raises(TypeError, match="other is an int"):
        host.wait_for(peer.stream())


def test_to_device_runs_in_the_order_of_a_stream(peer, driver, device, kind):
    """Behind what is in it so far, before what comes later, without a wait on the host."""
    x = usmpy.zeros(N, dtype="int8", device=device)
    other = usmpy.Queue(device)
    device.queue.wait()
    stream = peer.stream()
    driver.late(stream)
    driver.fill(stream, x.data_ptr, N, 5)
    y = x.to_device(other, stream=kind(stream))
    driver.fill(stream, x.data_ptr, N, 6)
    assert driver.is_busy(stream)
    z = y.copy()
    assert z.tolist() in ([5] * N, [6] * N)
    assert y.queue == other


# -- captures --------------------------------------------------------------------------------------


@pytest.fixture(params=[0, 1, 2], ids=["global", "thread", "relaxed"])
def capture(request, peer, driver):
    """A stream that is being captured; `end` gives the number of nodes of the graph."""
    stream = peer.stream()

    class Capture:
        def __enter__(self):
            driver.begin_capture(stream, request.param)
            return stream

        def __exit__(self, *exception):
            self.nodes = driver.end_capture(stream)

    return Capture()


def test_finished_arrays_go_into_a_capture_and_out_of_it(peer, driver, device, capture):
    x = usmpy.zeros(N, dtype="int8", device=device)
    x.wait()
    with capture as stream:
        managed = x.__dlpack__(stream=stream, max_version=(1, 0))
        driver.fill(stream, x.data_ptr, N, 5)
        del managed
        gc.collect()
    assert capture.nodes == 1
    assert x.tolist() == [0] * N


def test_pending_arrays_are_refused_in_a_capture_by_name(peer, driver, device, capture):
    x = usmpy.zeros(N, dtype="int8", device=device)
    device.queue.wait()
    driver.late(device.queue.native_handle)
    device.queue.fill(x, 7)
    with capture as stream:
        with pytest.raises(BufferError, match="captured"):
            x.__dlpack__(stream=stream, max_version=(1, 0))
        with pytest.raises(BufferError, match="captured"):
            device.queue.wait_for(stream)
        driver.fill(stream, x.data_ptr, N, 5)
    assert capture.nodes == 1
    assert x.tolist() == [7] * N


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy])
def test_arrays_of_a_capturing_library_are_taken_and_used_after_it(peer, driver, device, cls, capture):
    theirs = peer.array(N, 3, cls=cls)
    driver.synchronize(theirs.stream)
    with capture:
        x = usmpy.from_dlpack(theirs)
        theirs.fill(5)
        with pytest.raises(BufferError, match="captured"):
            x.copy()
    assert capture.nodes == 1
    assert x.tolist() == [3] * N


def test_a_queue_of_the_captured_stream_becomes_part_of_the_graph(peer, driver, device, capture):
    queue = usmpy.Queue.from_stream(peer.stream())
    theirs = peer.array(N, 3, cls=cuda_peers.Torch)
    driver.synchronize(theirs.stream)
    with capture:
        x = usmpy.from_dlpack(theirs, device=queue)
        event = queue.fill(x, 5)
    assert capture.nodes == 1
    event.wait()
    assert theirs.read() == b"\3" * N


def test_a_handle_that_comes_back_is_another_stream(peer, driver, device):
    """Pending work of the first is not counted as work of the second, nor delayed by it."""
    for _ in range(20):
        stream = driver.stream()
        queue = usmpy.Queue.from_stream(stream)
        x = usmpy.zeros(N, dtype="int8", device=device)
        x.wait()
        x.__dlpack__(stream=stream)
        queue.wait()
        del queue
        driver.destroy_stream(stream)


# -- copies in the order of a stream ---------------------------------------------------------------


def test_a_copy_to_another_device_comes_before_later_work_of_the_stream(peer, driver, device, kind):
    x = usmpy.full(N, 5, dtype="int8", device=device)
    device.queue.wait()
    other = usmpy.Queue("cuda:gpu:1")
    stream = peer.stream(1)
    driver.late(other.native_handle)
    y = x.to_device(other, stream=kind(stream))
    assert y.data_ptr != x.data_ptr
    with driver.on(1):
        driver.fill(stream, y.data_ptr, N, 6)
        assert driver.is_busy(stream)
        driver.synchronize(stream)
    assert y.tolist() == [6] * N


def test_a_stream_of_another_version_is_named(device):
    with pytest.raises(TypeError, match="has version 3; version 0"):
        usmpy.Queue.from_stream(cuda_peers.Protocol(5, version=3))
