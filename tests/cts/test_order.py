"""Order of work on the same memory, also between queues, and what a failed write means for readers."""

import contextlib
import random
import threading
import time

import numpy as np
import ordering
import pytest
from draws import seeds

import usmpy

PATIENCE = 60
N = 20_000  # large enough not to be done within the submitting call


def held(queue, *arrays):
    gate = threading.Event()
    return gate, queue.host_task(lambda *_: gate.wait(PATIENCE), *arrays)


def fail(*_):
    raise ZeroDivisionError("the task's own")


@pytest.fixture
def queues(device):
    return [usmpy.Queue(device) for _ in range(2)]


# Two queues, one memory.


@pytest.mark.parametrize("in_order", [True, False])
def test_a_read_waits_for_a_write_of_another_queue(device, in_order):
    one, two = (usmpy.Queue(device, in_order=in_order) for _ in range(2))
    x = usmpy.zeros(N, dtype="int32", queue=one)
    y = usmpy.zeros(N, dtype="int32", queue=two)
    gate, _ = held(one, x)
    one.fill(x, 5)
    copied = two.memcpy(y, x)
    ordering.run_another_task(device)
    assert not copied.done
    gate.set()
    assert y.tolist() == [5] * N


@pytest.mark.parametrize("in_order", [True, False])
def test_a_write_waits_for_reads_of_other_queues(device, in_order):
    one, two, three = (usmpy.Queue(device, in_order=in_order) for _ in range(3))
    x = usmpy.full(N, 1, dtype="int32", queue=one)
    y = usmpy.zeros(N, dtype="int32", queue=two)
    x.wait()
    gate, _ = held(two, y)
    two.memcpy(y, x)
    written = three.fill(x, 9)
    ordering.run_another_task(device)
    assert not written.done
    gate.set()
    written.wait(PATIENCE)
    assert y.tolist() == [1] * N
    assert x.tolist() == [9] * N


def test_reads_do_not_wait_for_each_other(queues):
    one, two = queues
    x = usmpy.full(N, 1, dtype="int32", queue=one)
    y, z = (usmpy.zeros(N, dtype="int32", queue=q) for q in queues)
    gate, _ = held(one, y)
    slow = one.memcpy(y, x)
    two.memcpy(z, x).wait(PATIENCE)
    assert not slow.done
    gate.set()
    one.wait()
    assert y.tolist() == z.tolist() == [1] * N


def test_views_of_one_memory_are_ordered(queues):
    one, two = queues
    x = usmpy.zeros(N, dtype="int32", queue=one)
    gate, _ = held(one, x[:10])
    one.fill(x[: N // 2], 5)
    y = usmpy.zeros(N // 2, dtype="int32", queue=two)
    copied = two.memcpy(y, x[: N // 2])
    assert not copied.done
    gate.set()
    assert y.tolist() == [5] * (N // 2)


def test_an_unordered_queue_orders_work_on_one_memory(device):
    queue = usmpy.Queue(device, in_order=False)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    gate, _ = held(queue, x)
    for value in range(10):
        queue.fill(x, value)
    queue.memcpy(y, x)
    queue.fill(x, 99)
    gate.set()
    assert y.tolist() == [9] * N
    assert x.tolist() == [99] * N


def test_an_unordered_queue_runs_independent_tasks(device):
    queue = usmpy.Queue(device, in_order=False)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    gate, _ = held(queue, x)
    stuck = queue.fill(x, 1)
    queue.fill(y, 2).wait(PATIENCE)
    assert not stuck.done
    gate.set()
    queue.wait()


class Program:
    """Random steps on four arrays in one to four queues, and NumPy doing the same in sequence."""

    def __init__(self, device, seed):
        chance = self.chance = random.Random(seed)
        queues = [usmpy.Queue(device, in_order=chance.random() < 0.6) for _ in range(chance.randint(1, 4))]
        self.queues = queues
        self.sizes = [chance.choice([3, 1000, N]) for _ in range(4)]
        self.arrays = [
            usmpy.zeros(n, dtype="int64", queue=chance.choice(queues), usm_type="shared") for n in self.sizes
        ]
        self.model = [np.zeros(n, dtype="int64") for n in self.sizes]
        self.events = []
        self.log = [f"seed {seed}, arrays of {self.sizes} elements"]
        self.log += [f"  queue {i}: in_order={queue.in_order}" for i, queue in enumerate(queues)]
        homes = [queues.index(x.queue) for x in self.arrays]
        self.log.append(f"  queues of the arrays: {homes}")

    def __str__(self):
        return "\n".join(self.log)

    def run(self):
        for at in range(120):
            self.step(at)
        self.log.append("  the end")
        for array, expected in zip(self.arrays, self.model, strict=True):
            np.testing.assert_array_equal(array.asnumpy(), expected)
        for queue in self.queues:
            queue.wait(PATIENCE)

    def step(self, at):
        def add(x, amount):
            view = np.from_dlpack(x, device="cpu")  # waits inside a task, but never for the task itself
            view += amount

        chance, arrays, model, events = self.chance, self.arrays, self.model, self.events
        queue, i, j = chance.choice(self.queues), chance.randrange(4), chance.randrange(4)
        n = min(self.sizes[i], self.sizes[j])
        depends = chance.sample(events, min(len(events), chance.randrange(3)))
        action = chance.randrange(7)
        names = (
            f"fill {i}",
            f"memcpy {i}[:{n}] from {j}[:{n}]",
            f"copyto {i}[:{n}][::-1] from {j}[:{n}], in the queue of {i}",
            f"host task that adds to {i}",
            f"read an element of {i}",
            f"assign {i}[1:3], in its queue",
            f"memcpy {i}[:{n}] from the host",
        )
        after = [events.index(event) for event in depends] if action in (0, 1, 3) else []
        self.log.append(
            f"  step {at}: {names[action]}; queue {self.queues.index(queue)}, after events {after}"
        )
        if action == 0:
            value = chance.randrange(1000)
            events.append(queue.fill(arrays[i], value, depends=depends))
            model[i][...] = value
        elif action == 1:
            events.append(queue.memcpy(arrays[i], arrays[j], n * 8, depends=depends))
            model[i][:n] = model[j][:n]
        elif action == 2:
            usmpy.copyto(arrays[i][:n][::-1], arrays[j][:n])
            model[i][:n][::-1] = model[j][:n].copy()
        elif action == 3:
            amount = chance.randrange(100)
            events.append(queue.host_task(add, arrays[i], amount, depends=depends))
            model[i] += amount
        elif action == 4:
            index = chance.randrange(self.sizes[i])
            assert arrays[i][index].item() == model[i][index]
        elif action == 5:
            arrays[i][1:3] = chance.randrange(50)
            model[i][1:3] = arrays[i][1].item()
        else:
            source = np.arange(n)
            events.append(queue.memcpy(arrays[i], source, n * 8, blocking=False))
            model[i][:n] = source
            del source


@pytest.mark.parametrize("seed", seeds(12))
def test_random_programs_agree_with_sequential_execution(device, seed):
    ordering.run(lambda: Program(device, seed))


# Failed work.


def test_reading_memory_of_a_failed_task(queues):
    one, two = queues
    x = usmpy.zeros(N, queue=one)
    y = usmpy.zeros(N, queue=two)
    gate, _ = held(one, x)
    failed = one.host_task(fail, x)
    copied = two.memcpy(y, x)
    gate.set()
    with pytest.raises(usmpy.UsmError, match="not run") as caught:
        copied.wait(PATIENCE)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        failed.wait()
    for queue in queues:
        with pytest.raises((ZeroDivisionError, usmpy.UsmError)):
            queue.wait()


@pytest.mark.parametrize("read", ["asnumpy", "tolist", "item"])
def test_values_of_spoilt_memory(queue, read):
    x = usmpy.zeros(1, queue=queue)
    queue.host_task(fail, x)
    with pytest.raises((ZeroDivisionError, usmpy.UsmError)) as caught:
        getattr(x, read)()
    assert isinstance(caught.value, ZeroDivisionError) or isinstance(
        caught.value.__cause__, ZeroDivisionError
    )
    with pytest.raises(ZeroDivisionError):
        queue.wait()


@pytest.mark.parametrize("told_by", ["event", "queue", "exception"])
def test_memory_is_readable_after_its_error_was_retrieved(queue, told_by):
    x = usmpy.full(4, 2, queue=queue)
    event = queue.host_task(fail, x)
    if told_by == "event":
        with pytest.raises(ZeroDivisionError):
            event.wait()
    elif told_by == "queue":
        with pytest.raises(ZeroDivisionError):
            queue.wait()
    else:
        while not event.done:
            time.sleep(0.001)
        assert isinstance(event.exception(), ZeroDivisionError)
    assert x.tolist() == [2] * 4
    if told_by != "queue":
        with pytest.raises(ZeroDivisionError):
            queue.wait()


def test_memory_can_be_read_again_once_it_was_overwritten(queue):
    x = usmpy.zeros(4, queue=queue)
    queue.host_task(fail, x)
    queue.fill(x, 3)
    assert x.tolist() == [3] * 4
    with pytest.raises(ZeroDivisionError):
        queue.wait()


def test_work_submitted_while_its_dependency_fails(device):
    """The failure may come between the look at the dependencies and the hand-over to the driver."""
    tries, host = 30, usmpy.Queue("host")
    queue, other = usmpy.Queue(device, in_order=False), usmpy.Queue("host", in_order=False)
    arrays = [usmpy.zeros(4, dtype="int32", queue=queue) for _ in range(3000)]
    a, b, c = (usmpy.zeros(2 << 20, dtype="uint8", queue=host) for _ in range(3))
    queue.wait()
    host.wait()
    failed = host.host_task(fail)
    with pytest.raises(ZeroDivisionError):
        failed.wait(PATIENCE)
    for _ in range(tries):
        # It fails when the copy has ended, on a thread that needs no lock of Python's.
        failing = other.fill(c[:16], 1, depends=[failed, host.memcpy(b, a)])
        behind = []
        for x in arrays:
            if failing.done:
                break
            behind.append(queue.fill(x, 1, depends=failing))
        for event in behind:
            with pytest.raises(RuntimeError, match="not run"):
                event.wait(PATIENCE)
    for waited in (queue, other, host):
        with contextlib.suppress(RuntimeError, ZeroDivisionError):
            waited.wait(PATIENCE)


def test_a_write_after_a_failed_read_or_write_runs(queues):
    one, two = queues
    x = usmpy.zeros(N, queue=one)
    gate, _ = held(one, x)
    one.host_task(fail, x)
    written = two.fill(x, 4)
    gate.set()
    written.wait(PATIENCE)
    assert x.tolist() == [4] * N
    with pytest.raises(ZeroDivisionError):
        one.wait()


def test_memory_stays_readable_after_a_failed_reader(queue):
    x = usmpy._core._read_only(usmpy.full(4, 6, queue=queue))
    queue.host_task(fail, x)
    assert x.tolist() == [6] * 4
    with pytest.raises(ZeroDivisionError):
        queue.wait()


def test_a_skipped_task_makes_its_outputs_unreadable(queue):
    x, y, z = (usmpy.zeros(N, queue=queue) for _ in range(3))
    gate, _ = held(queue)
    queue.host_task(fail, x)
    queue.memcpy(y, x)
    last = queue.memcpy(z, y)
    gate.set()
    with pytest.raises(usmpy.UsmError) as caught:
        last.wait(PATIENCE)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        queue.wait()


def test_freed_memory_is_not_reused_while_work_on_it_is_pending(device, queue):
    gate, _ = held(queue)
    target = usmpy.empty(N, dtype="int32", queue=queue)
    for value in range(30):  # each array's block may go back to the pool before its work is done
        source = usmpy.full(N, value, dtype="int32", queue=queue)
        queue.memcpy(target, source)
        del source
        other = usmpy.full(N, -1, dtype="int32", device=device)
        other.wait()
        del other
    gate.set()
    assert target.tolist() == [29] * N


# USMArray.event.


@pytest.mark.parametrize("in_order", [True, False])
def test_the_event_of_an_array_ends_after_its_last_write(device, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    gate, _ = held(queue, x)
    out = x + 1
    event = out.event
    assert not event.done
    copied = queue.memcpy(y, out, depends=out[::2].event)
    gate.set()
    event.wait(PATIENCE)
    assert event.status == "complete"
    copied.wait(PATIENCE)
    assert y.tolist() == [1] * N


def test_the_event_of_an_array_does_not_wait_for_other_memory_of_an_unordered_queue(device):
    queue = usmpy.Queue(device, in_order=False)
    x, y = (usmpy.zeros(N, dtype="int32", queue=queue) for _ in range(2))
    gate, _ = held(queue, x)
    y.event.wait(PATIENCE)
    assert not x.event.done
    gate.set()
    x.event.wait(PATIENCE)


def test_the_event_of_an_array_fails_as_its_last_write(queue):
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    failed = queue.host_task(fail, x)
    with pytest.raises(usmpy.errors.UsmError) as caught:
        (x + 1).event.wait(PATIENCE)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        failed.wait(PATIENCE)
    queue.fill(x, 3)
    x.event.wait(PATIENCE)


@pytest.mark.parametrize("shape", [0, (), (3, 0)])
def test_the_event_of_a_small_array_ends(queue, shape):
    usmpy.ones(shape, queue=queue).event.wait(PATIENCE)


def test_the_event_of_a_borrow_that_has_ended_is_refused(queue):
    with usmpy.borrow(np.ones(3)) as x:
        x.event.wait(PATIENCE)
    with pytest.raises(ValueError, match="its borrow has ended"):
        x.event  # noqa: B018
