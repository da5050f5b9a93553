"""fork: the child has a host backend that works, and what was pending fails there."""

import asyncio
import ctypes
import os
import threading
import time
import warnings

import pytest
from another import in_child

import usmpy

PATIENCE = 60
pytestmark = [
    pytest.mark.leaves_objects("a child's copies are its own; threads of the parent go on"),
    pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang"),
]


def held(queue, *arrays):
    gate = threading.Event()
    started = threading.Event()

    def task(*_):
        started.set()
        gate.wait(PATIENCE)

    event = queue.host_task(task, *arrays)
    assert started.wait(PATIENCE)
    return gate, event


def test_the_child_works_on_old_and_new_objects():
    queue = usmpy.Queue("host")
    x = usmpy.arange(100_000, queue=queue)
    x.wait()

    def check():
        assert x[5].item() == 5
        queue.fill(x, 7).wait(60)
        assert x.tolist()[:3] == [7, 7, 7]
        seen = []
        queue.host_task(seen.append, 1).wait(60)
        other = usmpy.Queue("host", in_order=False)
        other.host_task(seen.append, 2).wait(60)
        assert seen == [1, 2]
        y = usmpy.zeros(3_000_000, queue=other)  # large enough for several threads
        y[...] = 2
        usmpy.copyto(y[::2], y[1::2])
        assert y[-1].item() == 2
        queue.wait(60)

    in_child(check)
    assert x.tolist() == list(range(100_000))


@pytest.mark.parametrize("in_order", [True, False])
def test_pending_work_fails_in_the_child_alone(in_order):
    queue = usmpy.Queue("host", in_order=in_order)
    x = usmpy.zeros(1000, queue=queue)
    gate, running = held(queue, x)
    pending = queue.fill(x, 5)
    dependent = queue.host_task(int, depends=pending)

    def check():
        for event in (running, pending, dependent):
            assert event.done
            with pytest.raises(RuntimeError) as caught:
                event.wait(60)
            assert "fork" in str(caught.value) + str(caught.value.__cause__)
            assert event.status == "error"
        with pytest.raises(RuntimeError, match="fork"):
            queue.wait(60)
        queue.fill(x, 3).wait(60)
        assert x.tolist() == [3] * 1000

    in_child(check)
    assert not running.done
    gate.set()
    dependent.wait(PATIENCE)
    assert x.tolist() == [5] * 1000


def test_a_fork_of_a_fork():
    x = usmpy.full(10, 1, device="host")
    x.wait()

    def grandchild():
        x[...] = 3
        assert x.tolist() == [3] * 10

    def child():
        x[...] = 2
        in_child(grandchild)
        assert x.tolist() == [2] * 10

    in_child(child)
    assert x.tolist() == [1] * 10


def test_many_forks_under_load():
    stop = threading.Event()
    failures = []

    def load():
        try:
            queue = usmpy.Queue("host")
            x = usmpy.zeros(50_000, queue=queue)
            while not stop.is_set():
                queue.fill(x, 1)
                queue.host_task(len, x)
                usmpy.from_dlpack(x)
                x[::2].copy().wait(PATIENCE)
        except BaseException as error:
            failures.append(error)

    def check():
        queue = usmpy.Queue("host")
        x = usmpy.full(100_000, 4, queue=queue)
        assert x[-1].item() == 4
        queue.host_task(len, x).wait(60)
        usmpy.Device("host").queue.barrier().wait(60)

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            in_child(check)
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert failures == []


def test_a_fork_inside_a_task():
    queue = usmpy.Queue("host")
    x = usmpy.zeros(10, queue=queue)

    def task():
        def check():
            usmpy.Queue("host").fill(x, 9).wait(60)
            assert x.tolist() == [9] * 10

        in_child(check)

    queue.host_task(task).wait(PATIENCE)
    assert x.tolist() == [0] * 10


def test_a_child_that_ends_by_itself():
    queue = usmpy.Queue("host")
    gate, event = held(queue)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    gate.set()
    event.wait(PATIENCE)


def test_a_fork_inside_a_task_with_waiting_tasks():
    """They end in the child, while the task continues in the parent."""
    queue = usmpy.Queue("host")
    x, other = (usmpy.zeros(1 << 16, dtype="int32", queue=queue) for _ in range(2))
    gate = threading.Event()

    def task(array):
        gate.wait(PATIENCE)
        in_child(lambda: usmpy.Queue("host").fill(other, 9).wait(60))
        array[...] = 1

    first = queue.host_task(task, x)
    second = queue.fill(x, 2)
    third = queue.memcpy(usmpy.empty(1 << 16, dtype="int32", queue=queue), x)
    del x
    gate.set()
    for event in (first, second, third):
        event.wait(PATIENCE)


def test_multiprocessing_by_fork():
    import multiprocessing

    x = usmpy.arange(1000, device="host")
    x.wait()
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        receive, send = context.Pipe(False)

        def work():
            x[...] = 2
            send.send((x.tolist()[:2], usmpy.concat([x, x]).size))

        process = context.Process(target=work)
        process.start()
    deadline = time.monotonic() + PATIENCE
    while not receive.poll(0.05):
        assert process.is_alive() or receive.poll(), process.exitcode
        assert time.monotonic() < deadline
    assert receive.recv() == ([2, 2], 2000)
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert x[3].item() == 3


def test_a_fork_inside_a_task_that_a_coroutine_awaits():
    queue, gate = usmpy.Queue("host"), threading.Event()

    def task():
        gate.wait(PATIENCE)
        in_child(lambda: usmpy.ones(3, device="host").tolist())
        return 5

    async def result(event):
        return await event

    async def main():
        waiting = asyncio.create_task(result(queue.host_task(task)))
        await asyncio.sleep(0)  # it has begun to wait
        gate.set()
        return await waiting

    assert asyncio.run(main()) == 5


def test_a_fork_inside_a_kernel_keeps_its_memory():
    """Tasks behind it, which end in the child, had taken over its place in the list of the memory."""
    queue, gate, wrong = usmpy.Queue("host"), threading.Event(), []

    @ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
    def function(begin, end, address):
        def check():
            others = [usmpy.empty(1 << 16, dtype="int32", queue=queue) for _ in range(4)]
            assert address not in [other.data_ptr for other in others]

        gate.wait(PATIENCE)
        try:
            in_child(check)
        except BaseException as error:
            wrong.append(error)  # the caller is no Python

    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = usmpy.Kernel.from_pointer(address, ["int32*"], owner=function)
    x = usmpy.zeros(1 << 16, dtype="int32", queue=queue)
    queue.wait()
    events = [kernel[usmpy.Range(1)](x), queue.fill(x, 2)]
    del x
    gate.set()
    for event in events:
        event.wait(PATIENCE)
    assert wrong == []
