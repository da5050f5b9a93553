"""Loops of launches of one kernel on the same memory, and of points in the order, with events kept or not."""

from __future__ import annotations

import ctypes
import gc
import random
import threading

import numpy as np
import pytest
from cuda_peers import until
from draws import seeds

import usmpy
from usmpy import _core

N = 64
SOURCE = """
kernel void add(global const int *a, global int *b) { b[get_global_id(0)] += a[get_global_id(0)]; }
kernel void mul(global const int *a, global int *b) { b[get_global_id(0)] *= a[get_global_id(0)]; }
kernel void put(global int *b, int value) { b[get_global_id(0)] = value; }
"""


@pytest.fixture
def program(device):
    return usmpy.Program(SOURCE, device=device)


@pytest.fixture
def pair(queue):
    pair = (usmpy.ones(N, dtype="int32", queue=queue), usmpy.zeros(N, dtype="int32", queue=queue))
    queue.wait()
    return pair


def events():
    return _core._live_counts()["events"]


def allocations():
    return _core._live_counts()["allocs"]


def test_launches_with_kept_events_are_separate_tasks(driver, program, queue, pair):
    with driver.held():
        kept = [program.add[N](*pair) for _ in range(5)]
        assert events() >= 5
        assert not any(event.done for event in kept)
    for event in kept:
        event.wait()
    assert pair[1].tolist() == [5] * N


def test_a_kept_event_ends_before_later_launches_do(driver, program, queue, pair):
    first = program.add[N](*pair)
    with driver.gate(queue.native_handle):
        for _ in range(5):
            program.add[N](*pair)
        last = program.add[N](*pair)
        first.wait()
        assert not last.done
    last.wait()
    assert pair[1].tolist() == [7] * N


def test_memory_is_given_back_when_the_loop_has_ended(driver, program, queue):
    before = allocations()
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    with driver.held():
        for _ in range(10):
            program.add[N](x, y)
        del x, y
        gc.collect()
        assert allocations() == before + 2
    until(lambda: allocations() == before)


def test_a_kernel_that_was_let_go_of_stays_until_the_loop_has_ended(driver, device, queue, pair):
    built = usmpy.Program(SOURCE.replace("+=", "+= 2 *"), device=device)
    with driver.held():
        add = built.add
        for _ in range(10):
            add[N](*pair)
        del built, add
        gc.collect()
    queue.wait()
    assert pair[1].tolist() == [20] * N


def test_another_queue_comes_in_between(driver, device, program, queue, pair):
    """It reads earlier writes, and the loop continues after it."""
    x, y = pair
    other = usmpy.Queue(device)
    z = usmpy.zeros(N, dtype="int32", queue=other)
    other.wait()
    with driver.held():
        for _ in range(5):
            program.add[N](x, y)
        copied = other.memcpy(z, y)
        for _ in range(5):
            program.add[N](x, y)
        waits = driver.calls("cuStreamWaitEvent")
        assert waits >= 2
    copied.wait()
    assert z.tolist() == [5] * N
    assert y.tolist() == [10] * N


def test_the_host_reads_between_launches(program, queue, pair):
    for i in range(20):
        for _ in range(3):
            program.add[N](*pair)
        assert pair[1].tolist() == [3 * (i + 1)] * N


def test_a_launch_that_the_driver_refuses_leaves_the_loop_as_it_was(driver, program, queue, pair):
    with driver.held():
        for _ in range(3):
            program.add[N](*pair)
        with (
            driver.failing("cuLaunchKernel", 701),
            pytest.raises(usmpy.UsmError, match="add was not launched"),
        ):
            program.add[N](*pair)
        for _ in range(3):
            program.add[N](*pair)
    queue.wait()
    assert pair[1].tolist() == [6] * N
    until(lambda: events() == 0)


def test_times_and_traces_are_of_every_launch(program, device):
    queue = usmpy.Queue(device, profiling=True)
    x, y = (usmpy.ones(N, dtype="int32", queue=queue) for _ in range(2))
    ends = []
    for _ in range(3):
        event = program.add[N](x, y)
        event.wait()
        ends.append((event.submit_time_ns, event.start_time_ns, event.end_time_ns))
    assert ends == sorted(ends)
    assert len(set(ends)) == 3

    queue = usmpy.Queue(device)
    x, y = (usmpy.ones(N, dtype="int32", queue=queue) for _ in range(2))
    queue.wait()
    program.add[N](x, y)
    with usmpy.trace() as trace:
        for _ in range(4):
            program.add[N](x, y)
        queue.wait()
    program.add[N](x, y)
    queue.wait()
    assert sum(task.name == "add" for task in trace.tasks) == 4


def test_an_exported_stream_has_a_fence_after_every_task(driver, program, queue, pair):
    for _ in range(3):
        program.add[N](*pair)
    handle = queue.native_handle
    assert handle
    with driver.held():
        before = driver.calls("cuEventRecord")
        for _ in range(5):
            program.add[N](*pair)
        assert driver.calls("cuEventRecord") - before >= 5
    queue.wait()
    assert pair[1].tolist() == [8] * N


def test_sharing_it_while_a_loop_runs(driver, program, device, pair):
    """A consumer of the stream is ordered after all launches."""
    x, y = pair
    for _ in range(10):
        queue = usmpy.Queue(device)
        y[...] = 0
        y.wait()
        stop = threading.Event()

        def loop(queue=queue, stop=stop):
            while not stop.is_set():
                queue.submit(program.add, (x, y), N)

        thread = threading.Thread(target=loop)
        before = driver.calls("cuLaunchKernel")
        thread.start()
        until(lambda before=before: driver.calls("cuLaunchKernel") > before + 3)
        handle = queue.native_handle
        stop.set()
        thread.join()
        assert handle
        queue.wait()
        assert len(set(y.tolist())) == 1


def test_threads_launch_and_wait_in_one_queue(program, queue, pair):
    x, y = pair
    turns, threads = 150, 4

    def work(number):
        for i in range(turns):
            event = program.add[N](x, y)
            if (i + number) % 7 == 0:
                event.wait()
            del event
            if (i + number) % 50 == 0:
                queue.wait()

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(120)
        assert not thread.is_alive()
    queue.wait()
    assert y.tolist() == [turns * threads] * N


@pytest.mark.parametrize("seed", seeds(20))
def test_random_loops_against_a_sequential_model(driver, device, program, seed):
    """Two queues, three arrays, short loops of each kernel, events kept or not, and reads in between."""
    rng = random.Random(seed)
    queues = [usmpy.Queue(device) for _ in range(2)]
    arrays = [usmpy.full(N, i + 1, dtype="int32", queue=queues[0]) for i in range(3)]
    queues[0].wait()
    model = [np.full(N, i + 1, "int32") for i in range(3)]
    kept = []
    for _ in range(40):
        queue = rng.choice(queues)
        source, target = rng.sample(range(3), 2)
        what = rng.choice(["add", "mul", "put", "read", "copy"])
        for _ in range(rng.choice([1, 2, 5])):
            if what == "put":
                event = queue.submit(program.put, (arrays[target], np.int32(source)), N)
                model[target][...] = source
            elif what == "copy":
                event = queue.memcpy(arrays[target], arrays[source])
                model[target][...] = model[source]
            elif what == "read":
                event = None
                assert arrays[target].tolist() == model[target].tolist()
            else:
                event = queue.submit(program[what], (arrays[source], arrays[target]), N)
                with np.errstate(over="ignore"):
                    if what == "add":
                        model[target] += model[source]
                    else:
                        model[target] *= model[source]
            if event is not None and rng.random() < 0.2:
                kept.append(event)
            del event
    for event in kept:
        event.wait()
    for array, expected in zip(arrays, model, strict=True):
        assert array.tolist() == expected.tolist()
    del kept
    usmpy.Event.wait_all([queue.barrier() for queue in queues])


def test_an_export_is_ordered_after_the_whole_loop(peer, driver, program, queue, pair):
    x, y = pair
    stream = peer.stream()
    copied = driver.allocate(4 * N, "host")
    with driver.held():
        for _ in range(10):
            program.add[N](x, y)
        capsule = y.__dlpack__(stream=stream, max_version=(1, 0))
        driver.copy(stream, copied, y.data_ptr, 4 * N)
    driver.synchronize(stream)
    assert np.ctypeslib.as_array((ctypes.c_int32 * N).from_address(copied)).tolist() == [10] * N
    del capsule
    driver.call("cuMemFreeHost", ctypes.c_void_p(copied))


def test_a_point_that_is_kept_ends_before_later_work_of_others(driver, queue, pair):
    """Foreign work between two barriers belongs to the second one only."""
    stream = queue.native_handle
    queue.barrier()
    first = queue.barrier()
    with driver.gate(stream):
        second = queue.barrier()
        first.wait()
        assert not second.done
    second.wait()


def test_an_unreferenced_barrier_includes_later_foreign_work(driver, queue, pair):
    stream = queue.native_handle
    driver.late(stream)
    queue.barrier()
    driver.late(stream)
    event = queue.barrier()
    event.wait()
    assert not driver.is_busy(stream)


def test_a_stream_that_waits_for_a_point_does_not_wait_for_the_next(driver, device, queue, pair):
    stream = queue.native_handle
    other = usmpy.Queue(device)
    z = usmpy.zeros(N, dtype="int32", queue=other)
    other.wait()
    queue.barrier()
    point = queue.barrier()
    event = other.fill(z, 3, depends=[point])
    del point
    with driver.gate(stream):
        queue.barrier()
        event.wait()
        assert driver.is_busy(stream)
    queue.wait()


def test_points_while_others_capture_the_stream(driver, queue, pair):
    stream = queue.native_handle
    queue.barrier()
    driver.begin_capture(stream)
    for _ in range(3):
        queue.barrier()
    driver.end_capture(stream)
    for _ in range(3):
        queue.barrier()
    queue.wait()
    until(lambda: events() == 0)
