"""Programs in streams that are captured, what a graph refuses, and events for others that cannot be made."""

from __future__ import annotations

import gc
import threading

import pytest
from arrow_structures import structure
from cuda_peers import until

import usmpy
from usmpy import _core

N = 64
PATIENCE = 60
SOURCE = "kernel void f(global int *x) { x[get_global_id(0)] += 1; }"


@pytest.fixture
def x(queue):
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    queue.wait()
    return x


def test_a_kernel_lives_as_long_as_the_graph_that_has_it(driver, device, queue, x):
    before = {name: _core._live_counts()[name] for name in ("kernels", "programs")}
    program = usmpy.Program(SOURCE, device=device)
    driver.begin_capture(queue.native_handle)
    program["f"][N](x)
    del program
    gc.collect()
    assert _core._live_counts()["kernels"] > before["kernels"]
    driver.end_capture(queue.native_handle)  # which destroys the graph
    until(lambda: {name: _core._live_counts()[name] for name in before} == before)
    assert x.tolist() == [0] * N


def test_a_kernel_lives_as_long_as_a_launch_that_has_not_ended(driver, device, queue, x):
    """Its module is loaded until then, whoever has dropped the program."""
    before = {name: _core._live_counts()[name] for name in ("kernels", "programs")}
    with driver.held():
        program = usmpy.Program(SOURCE, device=device)
        program["f"][N](x)
        del program
        gc.collect()
        assert _core._live_counts()["kernels"] > before["kernels"]
        assert _core._live_counts()["programs"] > before["programs"]
    assert x.tolist() == [1] * N
    until(lambda: {name: _core._live_counts()[name] for name in before} == before)


def test_what_a_captured_task_may_wait_for(driver, device, queue, x):
    """Work that has ended, and no other."""
    gate, y = threading.Event(), usmpy.empty_like(x)
    ended = usmpy.Queue(device).host_task(lambda: None)
    ended.wait()
    pending = usmpy.Queue("host").host_task(gate.wait, PATIENCE)
    driver.begin_capture(queue.native_handle)
    queue.fill(x, 1, depends=[ended])
    try:
        with pytest.raises(BufferError, match="waits for work outside of it"):
            queue.fill(x, 2, depends=[pending])
    finally:
        gate.set()
    pending.wait()

    def is_taken():
        """The refused task ends on another thread after `pending`; until then others are refused too."""
        try:
            queue.fill(y, 3, depends=[pending])
        except BufferError:
            return False
        return True

    until(is_taken)
    assert driver.end_capture(queue.native_handle) == 2


def test_a_task_that_the_driver_does_not_capture(driver, queue, x):
    y = usmpy.empty_like(x)
    driver.begin_capture(queue.native_handle)
    with driver.failing("cuMemsetD32Async", 999), pytest.raises(usmpy.UsmError, match="CUDA_ERROR_UNKNOWN"):
        queue.fill(x, 1)
    queue.fill(y, 2)
    assert driver.end_capture(queue.native_handle) == 1


@pytest.mark.parametrize("name", ["cuEventCreate", "cuEventRecord", "cuCtxPushCurrent"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_data_without_an_event_are_exported_once_they_are_ready(driver, device, name, n):
    """The driver refuses the event by which Arrow's consumers wait, or one of usmpy's own."""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    x.wait()
    driver.brief(queue.native_handle, 0.01)
    queue.fill(x, 7)
    with driver.on(1):  # so that the device's context has to be made current
        driver.library.cudasim_fail(name.encode(), n, 2)
        try:
            pair = x.__arrow_c_device_array__()
        except MemoryError:
            assert name == "cuCtxPushCurrent"  # without a context there is nothing to wait with
        else:
            has_event = structure(pair[1]).sync_event is not None
            assert has_event or not driver.is_busy(queue.native_handle)
        driver.library.cudasim_fail(name.encode(), 0, 0)
    assert x.tolist() == [7] * N


def test_memory_that_the_driver_refuses_to_describe_is_unknown(driver, device, queue, peer):
    """Some drivers return CUDA_ERROR_INVALID_VALUE for addresses that are not theirs."""
    address = driver.allocate(4 * N)
    peer.memory.append((address, "device"))

    def make():
        return usmpy.USMArray.from_pointer(address, (N,), "int32", queue=queue, owner=peer)

    with driver.failing("cuPointerGetAttributes", 1), pytest.raises(ValueError, match="does not know"):
        make()
    assert make().shape == (N,)


def test_a_stream_that_the_driver_does_not_make(driver, device):
    """Independent tasks of a queue out of order go to streams of their own."""
    queue = usmpy.Queue(device, in_order=False)
    arrays = [usmpy.empty(N, dtype="int32", queue=queue) for _ in range(2)]
    with driver.held():
        queue.fill(arrays[0], 1)
        with (
            driver.failing("cuStreamCreateWithPriority", 2),
            pytest.raises(MemoryError, match="cuStreamCreate"),
        ):
            queue.fill(arrays[1], 2)
        queue.fill(arrays[1], 3)
    assert [x.tolist() for x in arrays] == [[1] * N, [3] * N]
