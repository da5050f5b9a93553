"""Queue.host_task: arguments, waits inside a task, KeyboardInterrupt, tasks that submit."""

import gc
import signal
import threading
import time
import weakref

import numpy as np
import ordering
import pytest

import usmpy

PATIENCE = 60


def held(queue):
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


def test_the_function_gets_its_arguments(queue):
    got = []
    queue.host_task(lambda *args: got.append(args), 1, "two", None, [3]).wait(PATIENCE)
    assert got == [(1, "two", None, [3])]


def test_the_result_is_dropped(queue):
    class Result:
        pass

    made = []

    def task():
        result = Result()
        made.append(weakref.ref(result))
        return result

    queue.host_task(task).wait(PATIENCE)
    gc.collect()
    assert made[0]() is None


def test_it_runs_on_another_thread(queue):
    threads = []
    queue.host_task(lambda: threads.append(threading.get_ident())).wait(PATIENCE)
    assert threads[0] != threading.get_ident()


@pytest.mark.parametrize(
    "callable_", [print, int, type("C", (), {"__call__": lambda self: None})(), [].append]
)
def test_anything_callable_will_do(queue, callable_):
    args = (1,) if callable_ in (int,) or getattr(callable_, "__name__", "") == "append" else ()
    queue.host_task(callable_, *args).wait(PATIENCE)


def test_an_array_of_a_task_is_seen_written(queue):
    array = usmpy.zeros(8, dtype="int32", queue=queue, usm_type="shared")
    gate, _ = held(queue)

    def task(x):
        np.from_dlpack(x, device="cpu")[...] = 5

    queue.host_task(task, array)
    gate.set()
    assert array.tolist() == [5] * 8


def test_a_task_of_another_queue_is_ordered_by_its_arrays(device, queue):
    array = usmpy.zeros(8, dtype="int32", queue=queue, usm_type="shared")
    other = usmpy.Queue(device)
    gate = threading.Event()
    seen = []

    def slow(x):
        gate.wait(PATIENCE)
        np.from_dlpack(x, device="cpu")[...] = 1

    queue.host_task(slow, array)
    after = other.host_task(lambda x: seen.append(x.tolist()), array)
    ordering.run_another_task(device)
    assert not after.done
    gate.set()
    after.wait(PATIENCE)
    assert seen == [[1] * 8]


def test_arrays_that_are_not_arguments_are_not_ordered(device, queue):
    array = usmpy.zeros(8, queue=queue)
    gate, event = held(queue)
    usmpy.Queue(device).fill(array, 3).wait(PATIENCE)
    assert not event.done
    gate.set()
    queue.wait()


def test_dependencies_are_waited_for(device):
    queue = usmpy.Queue(device, in_order=False)
    others = [held(usmpy.Queue(device)) for _ in range(20)]
    done = []
    event = queue.host_task(done.append, 1, depends=[event for _, event in others])
    for gate, _ in others:
        assert done == []
        gate.set()
    event.wait(PATIENCE)
    assert done == [1]
    assert all(dependency.done for _, dependency in others)


@pytest.mark.parametrize(
    "wrap", [list, tuple, set, iter, lambda events: (e for e in events), lambda events: dict.fromkeys(events)]
)
def test_dependencies_in_any_iterable(device, wrap):
    queue = usmpy.Queue(device, in_order=False)
    gates = [held(usmpy.Queue(device)) for _ in range(3)]
    event = queue.host_task(lambda: None, depends=wrap([event for _, event in gates]))
    assert not event.done
    for gate, _ in gates:
        gate.set()
    event.wait(PATIENCE)


def test_dependencies_that_only_an_iterator_has(device):
    queue = usmpy.Queue(device, in_order=False)
    gate = threading.Event()

    def fresh():
        for _ in range(50):
            yield usmpy.Queue(device).host_task(gate.wait, PATIENCE)
            gc.collect()

    done = []
    event = queue.host_task(done.append, 1, depends=fresh())
    barrier = queue.barrier(fresh())
    copied = queue.memcpy(bytearray(4), b"abcd", depends=fresh(), blocking=False)
    ordering.run_another_task(device)
    assert done == []
    assert not barrier.done
    assert not copied.done
    gate.set()
    usmpy.Event.wait_all([event, barrier, copied], PATIENCE)
    assert done == [1]


def test_one_event_alone_is_a_dependency(device, queue):
    gate, event = held(queue)
    later = usmpy.Queue(device).host_task(lambda: None, depends=event)
    assert not later.done
    gate.set()
    later.wait(PATIENCE)


@pytest.mark.parametrize("depends", [None, (), [], {}, ""])
def test_no_dependencies(queue, depends):
    queue.host_task(lambda: None, depends=depends).wait(PATIENCE)


# Waits inside a task.


def test_a_queue_can_be_waited_for_inside_its_own_task(queue):
    order = []
    queue.host_task(order.append, "before")

    def task():
        queue.wait()
        order.append("task")

    queue.host_task(task)
    queue.host_task(order.append, "after")
    queue.wait(PATIENCE)
    assert order == ["before", "task", "after"]


def test_an_unordered_queue_can_be_waited_for_inside_its_own_task(device):
    queue = usmpy.Queue(device, in_order=False)
    gate = threading.Event()
    order = []
    queue.host_task(lambda: (gate.wait(PATIENCE), order.append("before")))

    def task():
        gate.set()
        queue.wait(PATIENCE)
        order.append("task")

    event = queue.host_task(task)
    later = queue.host_task(order.append, "depends", depends=event)
    later.wait(PATIENCE)
    assert order == ["before", "task", "depends"]


def test_a_tasks_own_array_can_be_used_inside_it(queue):
    array = usmpy.zeros(4, dtype="int8", queue=queue, usm_type="shared")
    seen = []

    def task(x):
        seen.append(x.tolist())
        np.from_dlpack(x, device="cpu")[0] = 7
        memoryview(x)[1] = 8
        seen.append(x.tolist())
        seen.append(x[0].item())
        x.wait()

    queue.host_task(task, array).wait(PATIENCE)
    assert seen == [[0] * 4, [7, 8, 0, 0], 7]


def test_work_that_a_task_submits_on_its_own_arrays_runs_after_it(queue):
    array = usmpy.zeros(4, dtype="int8", queue=queue, usm_type="shared")
    seen = []

    def task(x):
        x[0] = 7
        seen.append(x.tolist())

    queue.host_task(task, array).wait(PATIENCE)
    assert seen == [[0] * 4]
    assert array.tolist() == [7, 0, 0, 0]


def test_a_copy_of_a_tasks_own_array_is_an_error_and_not_read_before_it_is_made(device, queue, backend):
    array = usmpy.full(4, 3, dtype="int8", queue=queue)
    neighbour = usmpy.full(4, 4, dtype="int8", queue=queue)
    other = usmpy.full(4, 5, dtype="int8", queue=usmpy.Queue(device))
    seen = []

    def task(x):
        for late in (x, neighbour):  # the queue is in order
            with pytest.raises(usmpy.UsmError, match="made after the task"):
                late.asnumpy()
        if "host-accessible" in backend.tags:
            seen.append(x.tolist())
        else:
            with pytest.raises(usmpy.UsmError, match="made after the task"):
                x.tolist()
            with pytest.raises(usmpy.UsmError, match="made after the task"):
                x[0].item()
            seen.append([3] * 4)
        seen.append(other.asnumpy().tolist())

    queue.host_task(task, array).wait(PATIENCE)
    assert seen == [[3] * 4, [5] * 4]


def test_a_blocking_copy_to_a_tasks_own_array_is_an_error_and_no_hang(device, queue):
    own = usmpy.full(4, 3, dtype="int8", queue=queue)
    other = usmpy.Queue(device)
    source = usmpy.full(4, 5, dtype="int8", queue=other)
    far = usmpy.full(4, 6, dtype="int8", device="host")
    seen = []

    def task(x):
        arrays, buffers = [(x, source), (source, x), (x, far), (far, x)], [(x, bytes(4)), (bytearray(4), x)]
        for target, given in [*arrays, *buffers]:
            with pytest.raises(usmpy.UsmError, match="itself waits for this task"):
                other.memcpy(target, given, 4, blocking=True)
        for target, given in arrays:  # the planner of copies finds a way there
            with pytest.raises(usmpy.UsmError, match="itself waits for this task"):
                usmpy.Queue("host").memcpy(target, given, 4, blocking=True)
        other.memcpy(source, bytes(range(4)), 4, blocking=True)
        seen.append(source.asnumpy().tolist())

    queue.host_task(task, own).wait(PATIENCE)
    assert seen == [[0, 1, 2, 3]]
    assert own.tolist() == [3] * 4  # no copy was submitted
    assert far.tolist() == [6] * 4


def test_waiting_for_ones_own_event_is_an_error_and_no_hang(queue):
    box = {}
    ready = threading.Event()

    def task():
        ready.wait(PATIENCE)
        box["event"].wait()

    box["event"] = queue.host_task(task)
    ready.set()
    with pytest.raises(usmpy.UsmError, match="wait"):
        box["event"].wait(PATIENCE)
    with pytest.raises(usmpy.UsmError):
        queue.wait()
    box.clear()


def test_waiting_for_a_follower_inside_a_task_is_an_error_and_no_hang(device, queue):
    other = usmpy.Queue(device)
    box, seen = {}, []
    ready = threading.Event()

    def task():
        ready.wait(PATIENCE)
        for event in box["followers"]:
            try:
                event.wait()
            except usmpy.UsmError as error:
                seen.append(str(error))

    first = queue.host_task(task)
    second = queue.host_task(lambda: None)
    third = other.host_task(lambda: None, depends=second)
    box["followers"] = [second, third]
    ready.set()
    third.wait(PATIENCE)
    assert len(seen) == 2
    assert first.status == "complete"
    box.clear()


def test_a_task_may_wait_for_other_queues(device, queue):
    other = usmpy.Queue(device)
    gate, event = held(other)
    order = []

    def task():
        gate.set()
        event.wait(PATIENCE)
        other.wait(PATIENCE)
        order.append(event.status)

    queue.host_task(task).wait(PATIENCE)
    assert order == ["complete"]


def test_a_task_may_submit_to_its_own_queue(queue):
    order = []

    def task(n):
        order.append(n)
        if n:
            queue.host_task(task, n - 1)

    queue.host_task(task, 10)
    deadline = time.monotonic() + PATIENCE
    while len(order) < 11 and time.monotonic() < deadline:
        queue.wait()
    assert order == list(range(10, -1, -1))


def test_a_task_may_wait_for_its_submissions_to_other_queues(device, queue):
    def task():
        inner = usmpy.Queue(device)
        x = usmpy.full(1000, 3, queue=inner)
        assert x.tolist() == [3] * 1000

    for _ in range(5):
        queue.host_task(task)
    queue.wait(PATIENCE)


def test_the_last_count_of_a_queue_may_go_inside_its_own_task(device):
    done = threading.Event()

    def submit():
        queue = usmpy.Queue(device)
        box = [queue]
        queue.host_task(lambda: (box.clear(), gc.collect(), done.set()))

    submit()
    assert done.wait(PATIENCE)


# Signals.


def test_keyboard_interrupt_out_of_a_task(queue):
    def task():
        raise KeyboardInterrupt("from the task")

    event = queue.host_task(task)
    with pytest.raises(KeyboardInterrupt, match="from the task"):
        event.wait(PATIENCE)
    with pytest.raises(KeyboardInterrupt):
        queue.wait()


@pytest.mark.parametrize("how", ["event", "queue", "array", "wait_all", "tolist"])
def test_a_signal_interrupts_a_wait(queue, how):
    class Interrupted(Exception):
        pass

    def handler(signum, frame):
        raise Interrupted

    array = usmpy.zeros(4, queue=queue)
    gate = threading.Event()
    event = queue.host_task(lambda x: gate.wait(PATIENCE), array)
    waits = {
        "event": event.wait,
        "queue": queue.wait,
        "array": array.wait,
        "wait_all": lambda: usmpy.Event.wait_all([event]),
        "tolist": array.tolist,
    }

    def wait():
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        waits[how]()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(Interrupted):
            wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not event.done
    gate.set()
    event.wait(PATIENCE)


# Bad arguments.


@pytest.mark.parametrize("fn", [None, 1, "print", []])
def test_objects_that_are_not_callable(queue, fn):
    with pytest.raises(TypeError, match="fn"):
        queue.host_task(fn)


def test_no_function_at_all(queue):
    with pytest.raises(TypeError, match="fn"):
        queue.host_task()


def test_keywords_other_than_depends(queue):
    with pytest.raises(TypeError, match="timeout"):
        queue.host_task(print, timeout=1)


@pytest.mark.parametrize(
    ("depends", "match"), [(1, "depends is an int"), ([1], r"depends\[0\]"), ("x", r"depends\[0\]")]
)
def test_dependencies_that_are_none(queue, depends, match):
    ran = []
    with pytest.raises(TypeError, match=match):
        queue.host_task(ran.append, 1, depends=depends)
    queue.wait()
    assert ran == []


def test_an_error_of_the_iterator_of_dependencies_is_the_callers(queue):
    def broken():
        yield queue.barrier()
        raise LookupError("mine")

    for submit in (
        lambda: queue.host_task(print, depends=broken()),
        lambda: queue.barrier(broken()),
        lambda: queue.fill(usmpy.empty(1, queue=queue), 1, depends=broken()),
        lambda: queue.keep_alive([], broken()),
    ):
        with pytest.raises(LookupError, match="mine"):
            submit()


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
