"""Short cases in which one wrong step would be seen: orders of queues, few candidates, memory of a new context."""

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


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_few_candidates_for_each_of_many_results(name):
    x = usmpy.zeros((2, 1 << 16), dtype="int8", device="host")
    x[1] = 1
    x[0, ::2] = 2
    found = getattr(usmpy, name)(x, axis=0)
    even = 0 if name == "argmax" else 1
    assert found[:4].tolist() == [even, 1 - even] * 2
    assert usmpy.sum(found).item() == 1 << 15
