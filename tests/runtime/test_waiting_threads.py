"""A thread that waits does short work itself where the queue's own threads have not begun it."""

import contextlib
import ctypes
import os
import threading

import numpy as np
import pytest
from asleep import once_asleep, until_asleep

import usmpy

PATIENCE = 60
N = 1 << 18  # bytes: more than the submitting thread does in the call


@pytest.fixture
def queue():
    return usmpy.Queue("host", in_order=False)


@pytest.fixture
def stuck(queue):
    """The queue, all of whose threads are in tasks that end when the gate is opened."""
    with held(queue) as gate:
        yield queue, gate


@contextlib.contextmanager
def held(queue):
    gate, begun = threading.Event(), threading.Semaphore(0)
    n = max(2, queue.device.max_compute_units)

    def task():
        begun.release()
        assert gate.wait(PATIENCE)

    tasks = [queue.host_task(task) for _ in range(n)]
    for _ in range(n):
        assert begun.acquire(timeout=PATIENCE)
    timer = threading.Timer(PATIENCE, gate.set)  # else a failure would be a hang
    timer.start()
    try:
        yield gate
    finally:
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


def test_one_after_the_other(stuck):
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


def test_long_work_runs_on_the_queues_thread(stuck):
    """A thread that waits can be interrupted: it takes neither others' functions nor large copies."""
    queue, gate = stuck
    x, y = (usmpy.empty(16 << 20, dtype="uint8", queue=queue) for _ in range(2))
    ran = []
    event = queue.host_task(lambda: ran.append(threading.get_ident()))
    with pytest.raises(TimeoutError):
        event.wait(0.05)
    copy = queue.memcpy(y, x)
    once_asleep(gate.set)
    copy.wait()
    assert gate.is_set()
    event.wait(PATIENCE)
    assert ran != [threading.get_ident()]


ADD = "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }"
SPIN = """kernel void add(global int *x, int n)
{
    for (volatile int i = 0; i < n; i++)
        ;
    x[get_global_id(0)] += 1;
}"""


def test_a_kernel_that_was_quick_before(queue):
    """At this size, and smaller ones, in this queue; its own threads have to find out about it."""
    add = usmpy.Program(ADD, device=queue.device)["add"]
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    for _ in range(3):
        add[usmpy.Range(N // 2)](x, 1).wait(PATIENCE)  # with a time limit, the waiting thread does not help
    with held(queue) as gate:
        for n in (N // 2, N // 4):
            add[usmpy.Range(n)](x, 1).wait()
        assert not gate.is_set()
        larger = add[usmpy.Range(N)](x, 1)
        with pytest.raises(TimeoutError):
            larger.wait(0.05)
        once_asleep(gate.set)
        larger.wait()
        assert gate.is_set()
    assert x.asnumpy().tolist() == [6] * (N // 4) + [5] * (N // 4) + [1] * (N // 2)


def test_a_kernel_that_took_long_is_left_to_the_queue(queue):
    spin = usmpy.Program(SPIN, device=queue.device)["add"]
    x = usmpy.zeros(1, dtype="int32", queue=queue)
    for n in (1, 1, 1, 200_000_000):
        spin[usmpy.Range(1)](x, n).wait(PATIENCE)
    with held(queue) as gate:
        event = spin[usmpy.Range(1)](x, 1)
        once_asleep(gate.set)
        event.wait()
        assert gate.is_set()
    assert x.tolist() == [5]


def test_a_kernel_runs_in_a_task_that_waits(queue):
    """And the task is itself again afterwards."""
    add = usmpy.Program(ADD, device=queue.device)["add"]
    x = usmpy.zeros(N, dtype="int32", queue=queue)
    for _ in range(3):
        add[usmpy.Range(N)](x, 1).wait(PATIENCE)
    other, said = usmpy.Queue("host"), []
    box, ready = {}, threading.Event()

    def task():
        assert ready.wait(PATIENCE)
        add[usmpy.Range(N)](x, 1).wait()
        try:
            box["event"].wait()
        except usmpy.UsmError as error:
            said.append(str(error))

    with held(queue) as gate:
        box["event"] = other.host_task(task)
        ready.set()
        box["event"].wait()
        assert not gate.is_set()
    assert len(said) == 1
    assert x.asnumpy().tolist() == [4] * N
    box.clear()


FLAG = """kernel void add(volatile global const int *flag, global int *x)
{
    while (*flag == 0)
        ;
    x[0] += 1;
}"""


def test_a_kernel_without_a_waiter_runs_on_the_queues_thread(queue):
    """It may be waiting for what this thread does next."""
    add = usmpy.Program(FLAG, device=queue.device)["add"]
    flag, x = usmpy.ones(1, dtype="int32", queue=queue), usmpy.zeros(1, dtype="int32", queue=queue)
    source, copy = pair(queue)
    queue.wait()
    word, late = ctypes.c_int32.from_address(flag.data_ptr), threading.Event()
    for _ in range(4):
        add[usmpy.Range(1)](flag, x).wait(PATIENCE)

    def rescue():
        late.set()
        word.value = 1

    watchdog = threading.Timer(PATIENCE, rescue)  # else a failure would be a hang
    with held(queue) as gate:
        word.value = 0
        spins = add[usmpy.Range(1)](flag, x)
        other = queue.memcpy(copy, source)
        once_asleep(gate.set)
        watchdog.start()
        other.wait()
    watchdog.cancel()
    assert not late.is_set()
    assert not spins.done
    word.value = 1
    spins.wait()
    assert x.tolist() == [5]


def test_functions_that_may_be_python_run_on_the_queues_thread(queue):
    """A signal that comes meanwhile is raised in the wait, not in a callback, which cannot raise it."""
    threads = []

    @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
    def note(begin, end, x):
        threads.append(threading.get_ident())

    address = ctypes.cast(note, ctypes.c_void_p).value
    kernel = usmpy.Kernel.from_pointer(address, ["int32*"], owner=note)
    x = usmpy.zeros(1, dtype="int32", queue=queue)
    for _ in range(4):
        kernel[usmpy.Range(1)](x).wait(PATIENCE)
    with held(queue) as gate:
        event = kernel[usmpy.Range(1)](x)
        once_asleep(gate.set)
        event.wait()
        assert gate.is_set()
    assert len(threads) == 5
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("timeout", [None, PATIENCE])
def test_a_thread_that_waits_sleeps(queue, timeout):
    """A deadline by another clock than the condition variable's would make it go round and round."""
    gate = threading.Event()
    event = queue.host_task(gate.wait, PATIENCE)
    thread = threading.Thread(target=event.wait, args=[timeout])
    thread.start()
    try:
        until_asleep(thread=thread.native_id)
    finally:
        gate.set()
    thread.join()


@pytest.fixture
def pinned():
    """A queue of one processor."""
    host = usmpy.Device("host:cpu:0")
    if host.max_compute_units < 2:
        pytest.skip("the host has one processor")
    queue = usmpy.Queue(host.create_sub_devices(1)[0])
    yield queue
    queue.wait()


def processors():
    return os.sched_getaffinity(0)


@pytest.mark.leaves_objects("queues of devices are cached")
def test_where_threads_run(pinned):
    def task():
        return processors(), usmpy.Queue("host").host_task(processors).result(PATIENCE)

    own, started = pinned.host_task(task).result(PATIENCE)
    assert len(own) == 1
    assert started == processors()
