"""Threads that do everything at once for a while. A watchdog ends the process when they hang."""

import gc
import random
import threading
import time
import weakref

import hang
import numpy as np
import pytest

import usmpy

SECONDS = 1.0
HANG = 120


@pytest.fixture(autouse=True)
def _watchdog():
    hang.limit(HANG)
    yield
    hang.free()


def run(workers):
    """Each worker again and again in a thread of its own, whose number is its seed."""
    failures = []
    deadline = time.monotonic() + SECONDS

    def body(worker, seed):
        chance = random.Random(seed)
        step = 0
        try:
            while time.monotonic() < deadline and not failures:
                worker(chance)
                step += 1
        except BaseException as error:
            error.args = (f"{error}\nin step {step} of {worker.__name__}, seed {seed}",)
            failures.append(error)

    threads = [threading.Thread(target=body, args=(worker, seed)) for seed, worker in enumerate(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        if failures:
            raise failures[0]
    finally:
        failures.clear()


def test_eight_threads_of_everything():
    shared_queues = [usmpy.Queue("host", in_order=i != 1) for i in range(3)]
    shared = usmpy.zeros(20_000, dtype="int64", queue=shared_queues[0], usm_type="shared")
    shared.wait()
    filled = []  # the queue of each fill of the shared memory, of all of it

    def exchange(chance):
        n = np.arange(chance.randrange(1, 500))
        x = usmpy.from_dlpack(n)
        back = np.from_dlpack(x)
        assert back is not n
        assert back.ctypes.data == n.ctypes.data
        y = usmpy.from_dlpack(np.from_dlpack(usmpy.asarray(n, copy=True)[::-1]))
        assert y.tolist() == n[::-1].tolist()

    def submit(chance):
        queue = chance.choice(shared_queues)
        filled.append(f"queue {shared_queues.index(queue)}, in_order={queue.in_order}")
        event = queue.fill(shared, len(filled) << 32)
        queue.host_task(lambda x: np.from_dlpack(x).__iadd__(1), shared)
        if chance.random() < 0.2:
            event.wait()

    def read(chance):
        values = set(shared.asnumpy().tolist())
        if len(values) != 1:  # every write is of the whole array
            raise AssertionError(f"tasks that met: {', '.join(writer(value) for value in sorted(values))}")

    def writer(value):
        n, added = value >> 32, value & 0xFFFFFFFF
        fill = f"fill {n} ({filled[n - 1]})" if n else "the zeros"
        return f"{fill} and {added} host tasks that add 1"

    def queues(chance):
        queue = usmpy.Queue("host", in_order=chance.random() < 0.5, profiling=chance.random() < 0.5)
        x = usmpy.full(chance.choice([1, 100, 100_000]), 3, queue=queue)
        y = x.to_device(chance.choice(shared_queues))
        del x, queue
        assert y[-1].item() == 3

    def waits(chance):
        queue = chance.choice(shared_queues)
        queue.wait()
        usmpy.Event.wait_all([q.barrier() for q in shared_queues])
        queue.wait_for(chance.choice(shared_queues))

    def drops(chance):
        x = usmpy.zeros(chance.randrange(1, 3000), device="host")
        views = [x[i::3] for i in range(3)]
        reference = weakref.ref(x)
        queue = chance.choice(shared_queues)
        queue.host_task(lambda *args: None, *views)
        queue.keep_alive(views)
        del x
        assert reference() is None
        if chance.random() < 0.01:
            gc.collect()

    def fails(chance):
        queue = usmpy.Queue("host")

        def task(x):
            raise LookupError("on purpose")

        event = queue.host_task(task, usmpy.zeros(10, queue=queue))
        follower = queue.barrier([event])
        with pytest.raises(LookupError):
            event.wait()
        with pytest.raises(usmpy.UsmError):
            follower.wait()
        with pytest.raises(LookupError):
            queue.wait()

    def names(chance):
        device = usmpy.Device("host")
        assert device.queue is usmpy.Device(device.filter_string).queue
        assert usmpy.empty(1, device=device).queue is device.queue
        usmpy.get_devices()

    run([exchange, submit, read, queues, waits, drops, fails, names])
    for queue in shared_queues:
        queue.wait(HANG)


def test_tasks_that_submit_and_wait_for_each_other():
    queues = [usmpy.Queue("host", in_order=i % 2 == 0) for i in range(4)]
    ran = []

    def task(depth, seed):
        chance = random.Random(seed)
        ran.append(depth)
        if depth:
            events = [chance.choice(queues).host_task(task, depth - 1, seed + i) for i in range(2)]
            inner = usmpy.Queue("host")
            inner.host_task(ran.append, -1)
            inner.wait()
            if chance.random() < 0.3:
                chance.choice(queues).barrier(events)

    def worker(chance):
        chance.choice(queues).host_task(task, 3, chance.randrange(10**6)).wait()

    run([worker] * 3)
    last = -1
    while last != len(ran):
        last = len(ran)
        for queue in queues:
            queue.wait(HANG)
    assert ran.count(3) * 8 == ran.count(0)


def test_one_array_indexed_and_exported_by_many_threads():
    x = usmpy.arange(1000, device="host", usm_type="shared")
    expected = list(range(1000))

    def worker(chance):
        i, j = sorted((chance.randrange(1000), chance.randrange(1000)))
        assert x[i:j].tolist() == expected[i:j]
        assert memoryview(x)[i] == i
        assert np.from_dlpack(x[i:])[0] == i
        assert usmpy.from_dlpack(x[i:])[0].item() == i
        assert usmpy.reshape(x, (10, 100))[i // 100, i % 100].item() == i

    run([worker] * 6)
