"""Commands behind work of the host, which a driver cannot wait for: they reach it later, in their order."""

import threading

import numpy as np
import pytest
from asleep import once_asleep

import usmpy

N = 256


@pytest.fixture(params=[True, False], ids=["in-order", "out-of-order"])
def late_queue(device, request):
    queue = usmpy.Queue(device, in_order=request.param)
    yield queue
    queue.wait()


def test_a_chain_behind_a_host_task_runs_in_its_order(late_queue, program):
    gate = threading.Event()
    x = usmpy.zeros(N, dtype="int32", queue=late_queue)
    y = usmpy.zeros(N, dtype="int32", queue=late_queue)
    held = late_queue.host_task(lambda _: gate.wait(60), x)
    events = []
    for i in range(10):
        events.append(late_queue.fill(x, i, depends=[held]))
        events.append(program.add_one[N](x))
        events.append(late_queue.memcpy(y, x))
    assert not any(event.done for event in events)
    gate.set()
    late_queue.wait()
    assert all(event.status == "complete" for event in events)
    assert x.tolist() == y.tolist() == [10] * N


def test_a_chain_behind_host_tasks_of_two_queues(late_queue, device, program):
    """Each link ends at another time: what was given to the driver early ends behind all of them."""
    gates = [threading.Event() for _ in range(3)]
    x = usmpy.zeros(N, dtype="int32", queue=late_queue)
    first = late_queue.host_task(gates[0].wait, 60)
    others = [usmpy.Queue(device).host_task(gate.wait, 60) for gate in gates[1:]]
    events = [late_queue.fill(x, 1, depends=[first]), program.add_one[N, others[0]](x)]
    events += [program.add_one[N, others](x), program.add_one[N](x)]
    for gate in gates:
        assert not events[-1].done
        gate.set()
    usmpy.Event.wait_all(events)
    assert x.tolist() == [4] * N


def test_a_failed_host_task_skips_the_chain_behind_it(late_queue, program):
    gate = threading.Event()

    def fail(_):
        gate.wait(60)
        raise ValueError("on purpose")

    x = usmpy.zeros(N, dtype="int32", queue=late_queue)
    z = usmpy.zeros(N, dtype="int32", queue=late_queue)
    late_queue.wait()
    failed = late_queue.host_task(fail, x)
    behind = [program.add_one[N](x) for _ in range(4)]
    beside = late_queue.fill(z, 3)
    gate.set()
    with pytest.raises(ValueError, match="on purpose"):
        failed.wait()
    for event in behind:
        with pytest.raises(usmpy.UsmError):
            event.wait()
        assert event.status == "error"
    beside.wait()
    assert np.all(z.asnumpy() == 3)
    with pytest.raises(ValueError, match="on purpose"):
        late_queue.wait()


def test_a_wait_that_began_before_the_driver_had_the_task(late_queue, program):
    gate = threading.Event()
    x = usmpy.zeros(N, dtype="int32", queue=late_queue)
    late_queue.host_task(lambda _: gate.wait(60), x)
    event = program.add_one[N](x)
    once_asleep(gate.set)
    event.wait(60)
    assert x.tolist() == [1] * N


@pytest.mark.only_on("host-task")
@pytest.mark.parametrize("early", [True, False], ids=["failed-before", "fails-meanwhile"])
def test_a_task_that_must_not_run_does_not_follow_one_that_may(late_queue, device, early):
    """Both wait for the same task of the host. One names, besides, a task that has failed."""
    gate, other = threading.Event(), usmpy.Queue(device)

    def fail(*_):
        gate.wait(60)
        raise ValueError("on purpose")

    x, y = (usmpy.zeros(N, dtype="int32", queue=late_queue) for _ in range(2))
    late_queue.wait()
    if early:
        gate.set()
        failed = other.host_task(fail)
        with pytest.raises(ValueError):
            failed.wait()
        gate.clear()
        held = other.host_task(lambda *_: gate.wait(60), x)
    else:
        failed = held = other.host_task(fail, x)
    may_run = late_queue.fill(x, 1)
    skipped = late_queue.fill(y, 2, depends=[held, failed])
    gate.set()
    may_run.wait()
    with pytest.raises(usmpy.UsmError):
        skipped.wait()
    assert x.tolist() == [1] * N
    assert y.tolist() == [0] * N
    for queue in (other, late_queue):
        with pytest.raises((ValueError, usmpy.UsmError)):
            queue.wait()
