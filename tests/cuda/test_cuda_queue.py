"""Queues over streams: what a submission enqueues, when tasks end, several streams, captures, two devices."""

from __future__ import annotations

import ctypes
import gc
import threading
import time

import numpy as np
import ordering
import pytest
from cuda_peers import until

import usmpy
from usmpy import _core

N = 1000
PATIENCE = 60
OTHERS = ("cuEventRecord", "cuEventCreate", "cuStreamWaitEvent")


@pytest.fixture
def x(queue):
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    queue.wait()
    return x


def test_a_submission_with_a_dropped_event_only_enqueues(driver, queue, x):
    with driver.held():
        for _ in range(3):
            queue.fill(x, 1)
        fills, others = driver.calls("cuMemsetD32Async"), sum(map(driver.calls, OTHERS))
        for i in range(5):
            queue.fill(x, i + 1)
        fills, others = driver.calls("cuMemsetD32Async") - fills, sum(map(driver.calls, OTHERS)) - others
    assert fills == 5
    assert others <= 4  # the thread that looks after the queue may have come by


def test_a_held_event_ends_before_later_work_does(driver, queue, x):
    first = queue.fill(x, 1)
    with driver.gate(queue.native_handle):
        second = queue.fill(x, 2)
        first.wait()
        assert not second.done
    second.wait()


def test_a_held_event_ends_before_later_work_of_ours(driver, device, queue, x):
    slow = usmpy.Program(
        "kernel void slow(global int *x, int n)"
        "{ int s = 0; for (int i = 0; i < n; i++) s += x[i % 100] ^ i; x[0] = s; }",
        device=device,
    ).slow
    first = queue.fill(x, 1)
    second = slow[1](x, 10_000_000)
    first.wait()
    assert not second.done
    second.wait()


def test_tasks_complete_without_a_waiter(queue):
    before = _core._live_counts()
    x = usmpy.full(N, 1, dtype="int32", queue=queue)
    y = x.copy()
    del x, y
    gc.collect()
    until(lambda: _core._live_counts() == before)


def test_done_becomes_true_by_itself(queue, x):
    event = queue.fill(x, 1)
    until(lambda: event.done)
    assert event.status == "complete"


def test_a_queue_that_stays_busy_gets_fences(driver, queue, x):
    """The thread that watches the queue records them, so that its tasks end one after another."""
    with driver.held():
        fences = driver.calls("cuEventRecord")
        queue.fill(x, 1)  # its event is dropped, so nobody else asks for its end
        until(lambda: driver.calls("cuEventRecord") > fences)


@pytest.mark.parametrize(("kind", "calls"), [("shared", 1), ("device", 0), ("host", 0)])
def test_only_managed_memory_is_prefetched(driver, queue, kind, calls):
    y = usmpy.zeros(N, dtype="int32", queue=queue, usm_type=kind)
    before = driver.calls("cuMemPrefetchAsync")
    queue.prefetch(y).wait(PATIENCE)
    assert driver.calls("cuMemPrefetchAsync") - before == calls


def test_two_queues_are_in_order_on_the_device(driver, device, queue, x):
    other = usmpy.Queue(device)
    y = usmpy.zeros(N, dtype="int32", queue=other)
    other.wait()
    before = {name: driver.calls(name) for name in ("cuStreamSynchronize", "cuEventSynchronize")}
    with driver.held():
        queue.fill(x, 5)
        event = other.memcpy(y, x)
        assert not event.done
        assert {name: driver.calls(name) for name in before} == before
    assert y.asnumpy().tolist() == [5] * N


def test_a_queue_out_of_order_has_several_streams(driver, device):
    queue = usmpy.Queue(device, in_order=False)
    before = driver.calls("cuStreamCreateWithPriority")
    with driver.held():
        arrays = [usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(6)]
        events = [queue.fill(x, i) for i, x in enumerate(arrays)]
        made = driver.calls("cuStreamCreateWithPriority") - before
        total = usmpy.concat(arrays)
        behind = queue.barrier()
        last = queue.fill(arrays[0], 9, depends=[behind])
    assert 1 <= made <= 3
    usmpy.Event.wait_all([*events, behind, last])
    assert total.asnumpy().tolist() == [i for i in range(6) for _ in range(N)]
    assert arrays[0].asnumpy().tolist() == [9] * N


def test_a_host_task_runs_in_a_queue_whose_stream_others_know(driver, device):
    queue = usmpy.Queue(device)
    assert queue.native_handle
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    first = queue.fill(x, 7)
    assert queue.host_task(lambda: 3, depends=[first]).result(60) == 3
    queue.wait()


@pytest.mark.parametrize("in_order", [True, False])
def test_host_tasks_come_between_work_of_the_device(driver, device, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    x = usmpy.zeros(N, dtype="int32", usm_type="shared", queue=queue)
    seen = []
    first = queue.fill(x, 3)
    task = queue.host_task(lambda: seen.append(np.asarray(memoryview(x)).tolist()[0]), depends=[first])
    last = queue.fill(x, 4, depends=[task])
    last.wait()
    assert seen == [3] or seen == [4]
    assert x.tolist() == [4] * N


@pytest.mark.parametrize("in_order", [True, False])
def test_tasks_delayed_by_the_host_are_enqueued_together(driver, device, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    queue.wait()
    gate = threading.Event()
    task = queue.host_task(gate.wait)
    before = driver.calls("cuMemsetD32Async")
    events = [queue.fill(x, i + 1, depends=[task]) for i in range(30)]
    y = x.copy()
    assert driver.calls("cuMemsetD32Async") == before
    with driver.held():
        gate.set()
        until(lambda: driver.calls("cuMemsetD32Async") == before + 30)
        assert not events[0].done
    usmpy.Event.wait_all(events)
    assert y.asnumpy().tolist() == [30] * N
    del events, y, x
    queue.wait()


def test_a_late_task_that_the_driver_has_is_not_enqueued_again(driver, device):
    """A task in front of it, in a queue out of order, reaches the driver after it."""
    queue = usmpy.Queue(device, in_order=False)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    queue.wait()
    gates = [threading.Event() for _ in range(2)]
    tasks = [usmpy.Queue(device).host_task(gate.wait, PATIENCE) for gate in gates]
    events = [queue.fill(x, 1, depends=[tasks[0]]), queue.fill(y, 2, depends=[tasks[1]])]
    before = driver.calls("cuMemsetD32Async")
    with driver.held():
        for done, gate in enumerate(reversed(gates), 1):
            gate.set()
            until(lambda done=done: driver.calls("cuMemsetD32Async") >= before + done)
    for event in events:
        event.wait(PATIENCE)
    assert driver.calls("cuMemsetD32Async") == before + 2


@pytest.mark.parametrize("nbytes", [100, 100_000, 20_000_000])
def test_pageable_memory_is_copied_without_waiting_for_earlier_work(driver, queue, nbytes):
    x = usmpy.zeros(nbytes, dtype="uint8", queue=queue)
    source = np.arange(nbytes, dtype="uint8")
    target = np.zeros_like(source)
    queue.wait()
    with driver.held():
        queue.fill(x, 1)
        there = queue.memcpy(x, source, blocking=False)
        back = queue.memcpy(target, x, blocking=False)
        assert not there.done
        assert not back.done
    back.wait()
    assert (target == source).all()


@pytest.mark.parametrize("shift", [1, 4, 400])
def test_a_copy_over_itself_is_memmove(queue, shift):
    x = usmpy.asarray(np.arange(N, dtype="int32"), queue=queue)
    queue.memcpy(x[shift:], x[:-shift]).wait()
    assert x.tolist() == [*range(shift), *range(N - shift)]


def test_the_current_context_is_left_alone(driver, device, queue, x):
    if len(usmpy.get_devices("cuda")) < 2:
        pytest.skip("one device")
    with driver.on(1):
        before = driver.current()
        queue.fill(x, 2).wait()
        usmpy.ones(5, queue=queue).asnumpy()
        assert driver.current() == before


def test_two_devices_reach_each_others_memory(device):
    if len(usmpy.get_devices("cuda")) < 2:
        pytest.skip("one device")
    other = usmpy.Device("cuda:gpu:1")
    assert usmpy.memory_connection(device, other) == usmpy.MemoryConnection.UNIFIED
    x = usmpy.asarray(np.arange(N), device=device)
    y = x.to_device(other)
    assert y.asnumpy().tolist() == list(range(N))
    assert usmpy.flip(y).to_device(device).asnumpy().tolist() == list(range(N))[::-1]
    both = usmpy.Context([device, other])
    assert both.native_handle == device.context.native_handle
    z = usmpy.ones(N, queue=usmpy.Queue(other, context=both))
    assert z.to_device(device).asnumpy().tolist() == [1] * N


# -- captures ----------------------------------------------------------------------------------------


@pytest.fixture
def captured(driver, queue, x):
    """Our queue's own stream, captured by another library."""
    stream = queue.native_handle
    queue.wait()
    driver.begin_capture(stream)
    yield queue
    assert driver.end_capture(stream) >= 0


def test_work_in_a_captured_stream_does_not_run(captured, x):
    event = captured.fill(x, 7)
    event.wait()  # it ended: it is a part of the graph
    other = usmpy.Queue(captured.device)
    assert x.to_device(other).asnumpy().tolist() == [0] * N


def test_operations_that_cannot_be_captured(captured, x):
    source = np.zeros(N, dtype="int32")
    for call in (
        lambda: captured.host_task(print),
        lambda: captured.memcpy(x, source),
        lambda: captured.wait(),
    ):
        with pytest.raises(BufferError, match="captured into a graph"):
            call()


def test_pending_work_of_others_cannot_be_waited_for(driver, device, captured, x):
    other = usmpy.Queue(device)
    y = usmpy.zeros(N, dtype="int32", queue=other)
    with driver.held():
        other.fill(y, 1)
        with pytest.raises(BufferError, match="captured into a graph"):
            captured.memcpy(x, y)
    other.wait()
    captured.memcpy(x, y)


def test_memory_of_a_graph_lives_as_long_as_the_graph(driver, device, queue):
    stream = queue.native_handle
    before = _core._live_counts()["allocs"]
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    queue.wait()
    driver.begin_capture(stream)
    queue.fill(x, 7)
    del x
    gc.collect()
    ordering.run_another_task(device)
    assert _core._live_counts()["allocs"] == before + 1
    driver.end_capture(stream)  # which destroys the graph
    until(lambda: _core._live_counts()["allocs"] == before)


def test_memory_that_a_graph_does_not_take_lives_as_long_as_the_queue(driver, device):
    queue = usmpy.Queue(device)
    stream = queue.native_handle
    before = _core._live_counts()["allocs"]
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    queue.wait()
    driver.begin_capture(stream)
    with driver.failing("cuGraphRetainUserObject", 2):
        queue.fill(x, 7)
    del x
    gc.collect()
    ordering.run_another_task(device)
    assert _core._live_counts()["allocs"] == before + 1
    driver.end_capture(stream)
    del queue
    until(lambda: _core._live_counts()["allocs"] == before)


def test_arrays_are_made_while_a_stream_is_captured(driver, device, captured):
    other = usmpy.Queue(device)
    for usm_type in ("device", "shared", "host"):
        x = usmpy.full(2_000_000, 3, dtype="int32", usm_type=usm_type, queue=other)
        assert x.asnumpy()[-1] == 3
        del x


def live(driver, kind):
    """Living objects of the driver in software."""
    counts = (ctypes.c_ulonglong * 8)()
    driver.library.cudasim_counts(counts)
    return counts[("bytes", "allocations", "streams", "events", "modules", "graphs").index(kind)]


@pytest.mark.parametrize("ordinal", [0, 1])
@pytest.mark.parametrize("in_order", [True, False])
def test_events_of_a_profiling_queue_are_destroyed_with_their_tasks(driver, device, in_order, ordinal):
    """Also in another device than that of the thread's context, which stays."""
    queue = usmpy.Queue(f"cuda:gpu:{ordinal}", profiling=True, in_order=in_order)
    x = usmpy.zeros(N, dtype="int32", queue=queue)

    def turns(n):
        for i in range(n):
            event = queue.fill(x, i)
            assert event.start_time_ns <= event.end_time_ns
        queue.wait()

    turns(20)
    before = live(driver, "events")
    turns(50)
    assert live(driver, "events") <= before + 20


def test_times_keep_their_order_where_the_clock_was_read_late(driver, device):
    """The driver measures from a moment that the host knows badly; copies of much memory run on the host."""
    with driver.held():  # so that it is known very badly
        queue = usmpy.Queue(device, profiling=True)
        x = usmpy.empty(1 << 20, dtype="uint8", queue=queue)
        y = usmpy.empty_like(x)
        events = [
            queue.fill(x, 1),
            queue.memcpy(y, x),
            queue.memcpy(y, bytes(y.nbytes), blocking=False),
            queue.barrier(),
            queue.memcpy(y, bytes(y.nbytes), blocking=False),
            queue.fill(x, 2),
        ]
        time.sleep(0.05)  # so long is the interval in which that moment may lie
    queue.wait()
    times = [moment for event in events for moment in (event.start_time_ns, event.end_time_ns)]
    assert times == sorted(times)
    assert all(event.submit_time_ns <= event.start_time_ns for event in events)


def test_memory_of_a_queue_s_tasks_is_given_back_to_the_driver(driver, device):
    """A queue and all that belonged to it leave nothing."""

    def use(**options):
        queue = usmpy.Queue(device, **options)
        x = usmpy.zeros(N, dtype="int32", queue=queue)
        queue.memcpy(bytearray(x.nbytes), x).wait()
        queue.memcpy(x, bytes(x.nbytes)).wait()
        queue.barrier().wait()

    variants = [{}, {"in_order": False}, {"profiling": True}, {"profiling": True, "in_order": False}]
    counts = []
    for _ in range(4):
        for options in variants:
            use(**options)
        gc.collect()
        usmpy.trim()  # queues end later
        counts.append([live(driver, kind) for kind in ("streams", "events")])
    assert counts[3] == counts[2]


# Copies from and to pageable memory go in pieces of 4 MiB, or of an eighth of the whole up to 16 MiB.
MIB = 1 << 20
SIZES = [64 << 10, (64 << 10) + 1, 4 * MIB - 1, 4 * MIB, 4 * MIB + 1, 8 * MIB, 12 * MIB + 1, 32 * MIB + 1]


@pytest.mark.parametrize("nbytes", SIZES)
def test_copies_in_pieces_are_whole(device, queue, nbytes):
    source = np.resize(np.arange(1, 252, dtype="uint8"), nbytes)  # 251 is prime: each piece begins otherwise
    x = usmpy.zeros(nbytes + 1, dtype="uint8", queue=queue)
    queue.memcpy(x[:nbytes], source).wait()
    target = np.zeros(nbytes + 1, "uint8")
    queue.memcpy(target[:nbytes], x[:nbytes]).wait()
    assert np.array_equal(target[:nbytes], source)
    assert (target[nbytes], x[nbytes].item()) == (0, 0)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (2, MemoryError, r"CUDA_ERROR_OUT_OF_MEMORY \(2\): out of memory$"),
        (801, usmpy.UsmError, r"CUDA_ERROR_NOT_SUPPORTED \(801\): operation not supported$"),
        (12345, usmpy.UsmError, r"CUDA_ERROR_UNKNOWN \(12345\): the driver does not say what that means$"),
        (900, BufferError, r"CAPTURE_UNSUPPORTED \(900\): a stream is being captured into a graph, and"),
    ],
)
def test_errors_have_the_driver_s_words(driver, queue, x, code, kind, words):
    with driver.failing("cuMemsetD32Async", code), pytest.raises(kind, match=words):
        queue.fill(x, 7)
    queue.fill(x, 8)
    assert x.tolist() == [8] * N


def test_work_behind_a_task_of_the_host_is_submitted(queue, x):
    """It is not in the driver yet, which has no answer about it."""
    gate = threading.Event()
    task = usmpy.Queue("host").host_task(gate.wait, PATIENCE)
    late = queue.fill(x, 3, depends=[task])
    assert (late.status, late.done) == ("submitted", False)
    gate.set()
    late.wait()
    assert late.status == "complete"


def test_a_large_copy_from_pageable_memory_that_fails_is_an_error(driver, queue):
    x = usmpy.zeros(1 << 20, dtype="uint8", queue=queue)
    queue.wait()
    with driver.failing("cuMemcpyAsync", 2):
        event = queue.memcpy(x, np.ones(1 << 20, "uint8"), blocking=False)
        for wait in (event.wait, queue.wait):  # the queue tells of it once
            with pytest.raises(MemoryError, match="cuMemcpyAsync failed with CUDA_ERROR_OUT_OF_MEMORY"):
                wait()
    queue.memcpy(x, np.ones(1 << 20, "uint8")).wait()
    assert x[-1].item() == 1


@pytest.mark.parametrize("in_order", [True, False])
def test_a_task_that_must_not_run_is_not_given_to_the_driver(device, driver, in_order):
    """Not even if the driver has what it waits for besides the task that has failed."""
    queue, other = usmpy.Queue(device, in_order=in_order), usmpy.Queue(device)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    queue.wait()
    failed = other.host_task(lambda: 1 / 0)
    for wait in (failed.wait, other.wait):
        with pytest.raises(ZeroDivisionError):
            wait()
    with driver.held():
        pending = queue.fill(x, 1)
        skipped = queue.fill(y, 2, depends=[pending, failed])
        behind = queue.fill(x, 3)
    behind.wait()
    for wait in (skipped.wait, queue.wait):
        with pytest.raises(usmpy.UsmError):
            wait()
    assert x.tolist() == [3] * N
    assert y.tolist() == [0] * N
