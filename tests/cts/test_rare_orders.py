"""Short cases in which one wrong step would be seen: queues, few candidates, memory of a new context."""

import threading

import pytest

import usmpy

PATIENCE = 60


def test_a_queue_waits_for_every_task_of_a_queue_out_of_order():
    queue, other = usmpy.Queue("host", in_order=False), usmpy.Queue("host")
    first_gate, last_gate = threading.Event(), threading.Event()
    first = queue.host_task(first_gate.wait, PATIENCE)
    last = queue.host_task(last_gate.wait, PATIENCE)
    other.wait_for(queue)
    seen = other.host_task(lambda: first.done)
    last_gate.set()
    last.wait(PATIENCE)
    with pytest.raises(TimeoutError):  # the end of the last task is not enough
        seen.wait(0.01)
    first_gate.set()
    assert seen.result(PATIENCE) is True


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("where", ["host", "opencl", "cuda"])
def test_a_task_of_the_host_is_running_while_it_runs(where, late):
    devices = usmpy.get_devices(where)
    if not devices:
        pytest.skip("no such device")
    queue, other = usmpy.Queue(devices[0]), usmpy.Queue("host")
    gate, started, end = threading.Event(), threading.Event(), threading.Event()
    held = other.host_task(gate.wait, PATIENCE)

    def task():
        started.set()
        return end.wait(PATIENCE)

    event = queue.host_task(task, depends=[held] if late else [])
    gate.set()
    assert started.wait(PATIENCE)
    assert event.status == "running"
    end.set()
    assert event.result(PATIENCE)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_few_candidates_for_each_of_many_results(name):
    x = usmpy.zeros((2, 1 << 16), dtype="int8", device="host")
    x[1] = 1
    x[0, ::2] = 2
    found = getattr(usmpy, name)(x, axis=0)
    even = 0 if name == "argmax" else 1
    assert found[:4].tolist() == [even, 1 - even] * 2
    assert usmpy.sum(found).item() == 1 << 15


def test_many_blocks_of_candidates():
    x = usmpy.zeros((2048, 4096), dtype="int8", device="host")
    x[2047] = 1
    assert usmpy.unique_values(usmpy.argmax(x, axis=0)).tolist() == [2047]
    assert usmpy.unique_values(usmpy.argmin(x, axis=0)).tolist() == [0]
