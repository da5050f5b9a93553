"""Native handles of CUDA: ordinals, primary contexts, streams; ours for others and theirs for us."""

from __future__ import annotations

import ctypes
import threading

import another
import c_api
import cuda_drivers
import pytest
from asleep import once_asleep
from c_api import READ, READ_WRITE, accesses

import usmpy

N = 256


@pytest.fixture
def foreign_context(driver):
    """A context that is no primary one."""
    context = ctypes.c_void_p()
    driver.call("cuCtxCreate_v4", ctypes.byref(context), None, 0, 0)
    driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    yield context
    driver.call("cuCtxDestroy_v2", context)


def test_devices_are_ordinals_and_0_is_one(device):
    for index, each in enumerate(usmpy.get_devices("cuda")):
        assert each.native_handle == index
        assert usmpy.Device.from_native("cuda", index) == each
    with pytest.raises(usmpy.DeviceNotFound):
        usmpy.Device.from_native("cuda", 99)


def test_the_context_is_the_primary_one(driver, device):
    assert device.context.native_handle == driver.contexts[0]
    assert usmpy.Context.from_native("cuda", driver.contexts[0]) == device.context
    own = usmpy.Context([device])
    assert own.native_handle == device.context.native_handle
    assert usmpy.Context.from_native("cuda", own.native_handle) == device.context


def test_a_foreign_context_is_refused_by_name(foreign_context):
    with pytest.raises(ValueError, match="primary"):
        usmpy.Context.from_native("cuda", foreign_context.value)


def test_a_stream_of_such_a_context_is_refused_by_name(driver, device, foreign_context):
    stream = ctypes.c_void_p()
    driver.call("cuCtxPushCurrent_v2", foreign_context)
    driver.call("cuStreamCreate", ctypes.byref(stream), 1)
    driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
    for make in (
        lambda: usmpy.Queue.from_native("cuda", stream.value),
        lambda: device.queue.wait_for(stream.value),
    ):
        with pytest.raises((ValueError, BufferError), match="primary"):
            make()
    driver.call("cuCtxPushCurrent_v2", foreign_context)
    driver.call("cuStreamDestroy_v2", stream)
    driver.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


def test_a_queue_over_a_stream_enqueues_in_it(driver, device):
    stream = driver.stream()
    queue = usmpy.Queue.from_native("cuda", stream)
    assert (queue.native_handle, queue.context) == (stream, device.context)
    assert queue.device.filter_string == device.filter_string
    assert queue.in_order
    x = usmpy.empty(N, dtype="uint8", queue=queue)
    with driver.gate(stream):
        event = queue.fill(x, 7)
        assert not event.done  # behind the other library's kernel
    assert x.asnumpy().tolist() == [7] * N
    del x, queue, event
    driver.synchronize(stream)
    driver.destroy_stream(stream)


FIRST = """
    import sys
    import another, usmpy
    from usmpy import _core
    sys.path.append(str(another.TESTS / "cuda"))
    import cuda_peers
    driver = cuda_peers.Driver()
    with driver.on(1):
        stream = driver.made("cuStreamCreate", 1)
    assert _core._live_counts()["contexts"] == 0
"""
QUEUE = """
    queue = usmpy.Queue.from_native("cuda", stream)
    assert queue.device.filter_string == "cuda:gpu:1" and queue.context == queue.device.context
    assert queue.context.native_handle == driver.contexts[1]
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    assert (x + 1).tolist() == [1] * 4
"""
CONTEXT = """
    context = usmpy.Context.from_native("cuda", driver.contexts[1])
    assert context == usmpy.Device("cuda:gpu:1").context
"""


@pytest.mark.parametrize("use", [QUEUE, CONTEXT], ids=["queue", "context"])
def test_a_handle_is_the_first_that_a_process_has_of_a_device(driver, use):
    """There is one context for the device, the default one, which is not counted."""
    last = '    while _core._live_counts()["contexts"] != 0:\n        usmpy.trim()'
    another.run(FIRST + use + last, cuda_drivers.environment())


def test_each_queue_has_a_priority_and_a_stream(device):
    queues = [usmpy.Queue(device, priority=name) for name in ("low", "normal", "high")]
    assert len({queue.native_handle for queue in queues}) == 3
    for queue in queues:
        assert usmpy.ones(5, queue=queue).tolist() == [1] * 5
    assert usmpy.Queue.from_native("cuda", queues[2].native_handle).priority == "high"


def test_the_default_stream_of_a_thread_takes_work_from_that_thread_alone(device):
    queue = usmpy.Queue.from_native("cuda", 2)
    x = usmpy.full(N, 3, dtype="int32", queue=queue)
    assert x.tolist() == [3] * N
    said = []

    def elsewhere():
        try:
            queue.fill(x, 4)
        except ValueError as error:
            said.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "another thread" in said[0]
    gate = threading.Event()
    waiting = usmpy.Queue(device).host_task(gate.wait, 60)
    try:
        with pytest.raises(ValueError, match="per-thread default stream"):
            queue.barrier(depends=[waiting])
        assert x.tolist() == [3] * N, "what was refused is not in the way"
    finally:
        gate.set()
    waiting.wait()
    assert x.tolist() == [3] * N


def test_invalid_objects_are_refused(device):
    for handle in (12345, 2**63 + 8):
        with pytest.raises(usmpy.UsmError, match="no stream of CUDA"):
            usmpy.Queue.from_native("cuda", handle)
    with pytest.raises(ValueError, match="handle is 0"):
        usmpy.Queue.from_native("cuda", 0)
    with pytest.raises(ValueError, match="parts"):
        device.create_sub_devices(1)


@pytest.mark.parametrize(("current", "ordinal"), [(None, 0), (0, 0), (1, 1)])
@pytest.mark.parametrize("stream", [1, 2])
def test_the_default_streams_are_of_the_current_context_s_device(driver, stream, current, ordinal):
    """Without a context they are of the first device, as CUDA's runtime has it."""
    with driver.on(current):
        queue = usmpy.Queue.from_native("cuda", stream)
        assert queue.device.filter_string == f"cuda:gpu:{ordinal}"
        assert usmpy.ones(5, dtype="int32", queue=queue).tolist() == [1] * 5


def test_the_priority_of_another_library_s_stream(device, driver):
    """CUDA has no low one; a stream without a priority is of the normal one, as the default streams are."""
    high, theirs = usmpy.Queue(device, priority="high"), driver.stream()
    for stream, priority in ((theirs, "normal"), (high.native_handle, "high"), (1, "normal"), (2, "normal")):
        assert usmpy.Queue.from_native("cuda", stream).priority == priority
    driver.destroy_stream(theirs)


LENGTH = 200


@pytest.fixture
def api():
    return c_api.table()


@pytest.fixture
def queue(device):
    return usmpy.Queue(device)


def test_foreign_work_is_ordered_between_earlier_and_later_work(api, driver, device, queue):
    x = usmpy.zeros(LENGTH, dtype="uint8", queue=queue)
    other = usmpy.Queue(device)
    stream = api.queue_native(queue)
    driver.late(other.native_handle)
    other.fill(x, 1)  # late, in another stream
    assert api.queue_begin(queue, *accesses((x, READ_WRITE))) == 0
    assert driver.is_busy(other.native_handle)  # no wait on the host
    driver.late(stream)
    driver.fill(stream, x.data_ptr, LENGTH // 2, 2)
    event = api.queue_end(queue, *accesses((x, READ_WRITE)))
    assert not event.done
    y = usmpy.zeros(LENGTH, dtype="uint8", queue=other)
    other.memcpy(y, x)  # behind the work of others, without a word
    assert y.tolist() == [2] * (LENGTH // 2) + [1] * (LENGTH // 2)
    assert event.done


def test_the_arrays_live_until_the_work_has_ended(api, driver, queue):
    x = usmpy.zeros(LENGTH, dtype="uint8", queue=queue)
    address, stream = x.data_ptr, api.queue_native(queue)
    assert api.queue_begin(queue, *accesses((x, READ_WRITE))) == 0
    driver.late(stream)
    driver.fill(stream, address, LENGTH, 2)
    event = api.queue_end(queue, *accesses((x, READ_WRITE)))
    before = usmpy._core._live_counts()["allocs"]
    del x
    assert usmpy._core._live_counts()["allocs"] == before
    event.wait()
    assert usmpy._core._live_counts()["allocs"] == before - 1


def test_dependencies_on_other_drivers_are_waited_for_on_the_host(api, driver, device, queue):
    x = usmpy.zeros(LENGTH, dtype="uint8", queue=queue)
    gate, stream = threading.Event(), api.queue_native(queue)
    usmpy.Queue(device).host_task(lambda a: gate.wait(60), x)
    once_asleep(gate.set)
    assert api.queue_begin(queue, *accesses((x, READ))) == 0
    assert gate.is_set()
    driver.fill(stream, x.data_ptr, LENGTH, 3)
    api.queue_end(queue, *accesses((x, READ_WRITE)))
    assert x.tolist() == [3] * LENGTH
