"""Memory in use by another queue, priorities of threads, and waits for many tasks."""

import os
import sys
import threading

import pytest

import usmpy

PATIENCE = 60


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def held(queue):
    """A task that runs until the gate opens."""
    gate, started = threading.Event(), threading.Event()

    def task():
        started.set()
        gate.wait(PATIENCE)

    queue.host_task(task)
    assert started.wait(PATIENCE)
    return gate


@pytest.mark.parametrize("few", [False, True])
def test_a_write_of_few_elements_waits_for_another_queue(queue, few):
    x = usmpy.zeros(5, dtype="int32", queue=queue)
    key = usmpy.asarray([1, 2], queue=queue) if few else 1
    queue.wait()
    other = usmpy.Queue("host")
    gate = held(other)
    other.fill(x, 9)
    x[key] = 5  # an idle queue lets the calling thread write, unless the memory is in use
    gate.set()
    assert x.tolist() == ([9, 5, 5, 9, 9] if few else [9, 5, 9, 9, 9])


@pytest.mark.made_if(sys.platform == "linux", "priorities of threads")
def test_threads_of_a_queue_of_low_priority_give_way():
    queue = usmpy.Queue("host", priority="low")
    seen = []
    queue.host_task(lambda: seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))).wait()
    assert seen[0] >= 10 > 0
    queue = usmpy.Queue("host")
    queue.host_task(lambda: seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))).wait()
    assert seen[1] == os.getpriority(os.PRIO_PROCESS, os.getpid())


@pytest.mark.parametrize("name", ["host", "opencl", "level_zero"])
def test_a_wait_for_many_tasks_runs_out_of_time(name):
    devices = usmpy.get_devices(name)
    if not devices:
        pytest.skip(f"{name} has no device")
    queue = usmpy.Queue(devices[0])
    x = usmpy.zeros(100, dtype="int32", queue=queue)
    gate = held(queue)
    for i in range(100):
        queue.fill(x, i)
    for timeout in (0, 0.005):
        with pytest.raises(TimeoutError):
            queue.wait(timeout)
    gate.set()
    queue.wait(PATIENCE)
    assert x.tolist() == [99] * 100
