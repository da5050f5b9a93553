"""A thread that waits does short work itself where the queue's own threads have not begun it."""

import threading

import numpy as np
import pytest

import usmpy

PATIENCE = 60
N = 1 << 18  # bytes: more than the submitting thread does in the call


@pytest.fixture
def stuck():
    """A queue out of order all of whose threads are in tasks that end when `open_gate` is called."""
    queue = usmpy.Queue("host", in_order=False)
    gate, begun = threading.Event(), threading.Semaphore(0)
    n = max(2, queue.device.max_compute_units)

    def task():
        begun.release()
        assert gate.wait(PATIENCE)

    tasks = [queue.host_task(task) for _ in range(n)]
    for _ in range(n):
        assert begun.acquire(timeout=PATIENCE)
    timer = threading.Timer(10, gate.set)  # else a failure would be a hang
    timer.start()
    yield queue, gate
    timer.cancel()
    timer.join()
    gate.set()
    for event in tasks:
        event.wait(PATIENCE)


def pair(queue):
    x = usmpy.asarray(np.arange(N, dtype="uint8"), queue=queue, copy=True)
    return x, usmpy.zeros(N, dtype="uint8", queue=queue)


def test_a_copy_a_fill_and_a_function(stuck):
    queue, gate = stuck
    x, y = pair(queue)
    queue.memcpy(y, x).wait()
    queue.fill(x, 7).wait()
    mask = usmpy.equal(y, x)
    mask.wait()
    assert not gate.is_set()
    np.testing.assert_array_equal(y.asnumpy(), np.arange(N, dtype="uint8"))
    np.testing.assert_array_equal(mask.asnumpy(), y.asnumpy() == 7)


def test_one_behind_the_other(stuck):
    queue, gate = stuck
    x, y = pair(queue)
    events = [queue.fill(x, 1), queue.memcpy(y, x), queue.fill(x, 2), queue.memcpy(y, x)]
    events[-1].wait()
    assert not gate.is_set()
    assert [event.status for event in events] == ["complete"] * 4
    assert y.asnumpy().tolist() == [2] * N


def test_a_task_that_waits_stays_the_task_that_it_is(stuck):
    queue, gate = stuck
    x, y = pair(queue)
    other, box, seen, ready = usmpy.Queue("host"), {}, [], threading.Event()

    def task():
        assert ready.wait(PATIENCE)
        queue.memcpy(y, x).wait()
        try:
            box["event"].wait()  # its own
        except usmpy.UsmError as error:
            seen.append(str(error))

    box["event"] = other.host_task(task)
    ready.set()
    box["event"].wait()
    assert not gate.is_set()
    assert len(seen) == 1
    assert "wait" in seen[0]
    box.clear()


def test_what_may_take_long_is_left_to_the_queue(stuck):
    """A thread that waits can be interrupted: it takes neither others' functions nor large copies."""
    queue, gate = stuck
    x, y = (usmpy.empty(16 << 20, dtype="uint8", queue=queue) for _ in range(2))
    ran = []
    event = queue.host_task(lambda: ran.append(threading.get_ident()))
    with pytest.raises(TimeoutError):
        event.wait(0.05)
    copy = queue.memcpy(y, x)
    threading.Timer(0.05, gate.set).start()
    copy.wait()
    assert gate.is_set()
    event.wait(PATIENCE)
    assert ran != [threading.get_ident()]
