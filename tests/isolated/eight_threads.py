"""Eight threads exchange, submit, wait, allocate and release at once, on objects that they share.

``--seconds 600`` runs longer. Without the GIL, the threads run in parallel: tests/tools/free_threaded.py runs
this script under ThreadSanitizer. Therefore it uses no library but usmpy, since others are not instrumented.
"""

import argparse
import faulthandler
import gc
import pathlib
import random
import sys
import threading
import time
import weakref

import usmpy
from usmpy import _core

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from asleep import until_others_sleep

THREADS = 8
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=2)
seconds = parser.parse_args().seconds
faulthandler.dump_traceback_later(seconds + 100, exit=True)


class Producer:
    """Hands out a capsule of its own for each import, also in a version without flags."""

    def __init__(self, array, version):
        self.array, self.version = array, version

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**{**keywords, "max_version": self.version})

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def exchange(chance):
    n = chance.randrange(1, 300)
    x = usmpy.arange(n, dtype="int64", device="host")
    assert usmpy.from_dlpack(x)[n - 1].item() == n - 1
    # A new type each time: the cache of types is written while others read it.
    kind = chance.choice([Producer, type("Producer", (Producer,), {})])
    assert usmpy.from_dlpack(kind(x, chance.choice([(1, 0), None]))).tolist() == list(range(n))
    assert memoryview(x)[n - 1] == n - 1
    memory = bytearray(8 * n)
    y = usmpy.asarray(memory, copy=False, device="host")
    y[...] = 1
    y.wait()
    assert memory[-1] == 1
    with usmpy.borrow(memory) as borrowed:
        assert borrowed[0].item() == 1
    with x.lend() as pointer:
        assert pointer == x.data_ptr


def exchange_shared(chance):
    i = chance.randrange(len(shared))
    x = usmpy.from_dlpack(shared)
    assert x.data_ptr == shared.data_ptr
    assert memoryview(shared[i:]).nbytes == 8 * (len(shared) - i)
    assert usmpy.from_dlpack(Producer(shared[::2], (1, 0))).shape == (len(shared) // 2,)
    assert repr(shared.flags)


def cached_queue(chance):
    device = usmpy.Device("host")
    assert device.queue is usmpy.Device(device.filter_string).queue is usmpy.empty(1, device="host").queue
    assert usmpy.get_execution_queue((device.queue, usmpy.from_dlpack(shared[:1]))) is None
    assert usmpy.Context([device]).devices == [device]
    queue = usmpy.Queue("host", in_order=chance.random() < 0.5, profiling=chance.random() < 0.5)
    x = usmpy.full(chance.choice([1, 100, 10_000]), 3, queue=queue)
    del queue
    assert x[-1].item() == 3


def events(chance):
    queue, other = chance.choice(queues), chance.choice(queues)
    value = chance.randrange(1000)
    seen = []
    fill = queue.fill(shared, value)
    task = other.host_task(lambda: value, depends=fill)
    task.add_done_callback(seen.append)
    assert task.result() == value
    barrier = queue.barrier([fill, task])
    other.wait_for(barrier)
    usmpy.Event.wait_all([fill, task, barrier])
    while not seen:  # the callback follows the end of the task
        time.sleep(0)
    assert seen == [task]


def events_shared(chance):
    with chosen_lock:
        event = chosen[0]
    event.add_done_callback(called.append)
    assert event.done in (True, False)
    event.wait()
    assert event.done
    assert event.result() is not None
    with chosen_lock:
        if chosen[0] is event:
            chosen[0] = chance.choice(queues).host_task(object)


def values(chance):
    copy = shared.copy()  # each write is of the whole array
    first = copy[0].item()
    assert usmpy.all(copy == first).item()


def allocation(chance):
    x = usmpy.empty(chance.choice([1, 63, 4096, 100_000]), dtype="uint8", device="host")
    x[...] = 7
    y = usmpy.concat([x, x])
    assert y[-1].item() == 7
    if chance.random() < 0.1:
        usmpy.trim("host")
    if chance.random() < 0.1:
        assert usmpy.memory_stats("host")
        usmpy.live_allocations()


def release(chance):
    """Objects are released by another thread than the one that made them."""
    x = usmpy.zeros(chance.randrange(1, 3000), device="host")
    new = chance.choice(
        [
            lambda: x,
            lambda: x[::2],
            lambda: x.__dlpack__(),
            lambda: memoryview(x),
            lambda: usmpy.from_dlpack(x),
            lambda: usmpy.Queue("host"),
            lambda: chance.choice(queues).fill(x, 1),
            lambda: chance.choice(queues).host_task(len, x),
            lambda: chance.choice(queues).keep_alive([x]),
        ]
    )()
    reference = weakref.ref(x)
    cells[chance.randrange(len(cells))] = new
    x = new = None
    seen = reference()
    assert seen is None or seen[0].item() in (0, 1)
    if chance.random() < 0.01:
        gc.collect()


def failures(chance):
    queue = usmpy.Queue("host")

    def task():
        raise LookupError("on purpose")

    event = queue.host_task(task)
    follower = queue.barrier([event])
    for waited, kind in ((event, LookupError), (follower, usmpy.UsmError), (queue, LookupError)):
        try:
            waited.wait()
        except kind:
            continue
        raise AssertionError("the failure was not raised")


BODIES = [
    exchange,
    exchange_shared,
    cached_queue,
    events,
    events_shared,
    values,
    allocation,
    release,
    failures,
]


def run(seed):
    chance = random.Random(seed)
    gate.wait()
    try:
        while time.monotonic() < end and not errors:
            chance.choice(BODIES)(chance)
    except BaseException as error:
        errors.append(error)


def settled():
    """The counts of core objects: workers release the last task shortly after its end is seen."""
    deadline = time.monotonic() + 30
    while True:
        gc.collect()
        counts = _core._live_counts()
        if counts == before or time.monotonic() > deadline:
            return counts
        time.sleep(0.01)


def warm_up():
    """Creates what the process keeps: cached queues, and the queue that callbacks run in."""
    seen = []
    usmpy.Device("host").queue.host_task(gate.wait).add_done_callback(seen.append)
    gate.wait()
    while not seen:
        time.sleep(0.001)


def steady():
    """The counts of core objects, once all threads have come to rest."""
    earlier = None
    while earlier != (earlier := (gc.collect(), _core._live_counts())[1]):
        until_others_sleep()
    return earlier


gate = threading.Barrier(2)
warm_up()
before = steady()
queues = [usmpy.Queue("host", in_order=i % 2 == 0) for i in range(4)]
shared = usmpy.zeros(8_000, dtype="int64", queue=queues[0], usm_type="shared")
cells, called, errors = [None] * 16, [], []
chosen, chosen_lock = [queues[0].host_task(object)], threading.Lock()
gate = threading.Barrier(THREADS)
end = time.monotonic() + seconds
threads = [threading.Thread(target=run, args=(seed,)) for seed in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if errors:
    raise errors[0]
for queue in queues:
    queue.wait()
shared = queues = queue = threads = thread = None
for kept in (cells, called, chosen):
    kept.clear()
assert settled() == before, (before, settled())
faulthandler.cancel_dump_traceback_later()
print("ok")
