"""Blocks of C that no Python object stands for, in rare places: the heap does not grow.

test_leaks_heap.py has the objects of each backend.
"""

import mmap
import os
from pathlib import Path

import c_heap
import pytest
from backends import Absent, level_zero

import usmpy
from usmpy._compile import drivers

ROUNDS = 200
BUILDS = 4
PATIENCE = 60

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("its heap is another"),
]


@pytest.fixture(scope="module")
def used():
    return c_heap.bytes_in_use()


def test_threads_that_a_pinned_thread_starts(used):
    """They get the processors that it had before: a set, which is a block."""
    host = usmpy.Device("host:cpu:0")
    if host.max_compute_units < 2:
        pytest.skip("the host has one processor")
    queue = usmpy.Queue(host.create_sub_devices(1)[0])

    def grown():
        before = used()
        for _ in range(ROUNDS):
            usmpy.Queue("host").host_task(int).wait(PATIENCE)
        return used() - before

    sizes = [queue.host_task(grown).result(PATIENCE) for _ in range(8)]
    assert min(sizes[1:]) < 128 * ROUNDS, sizes  # threads end late: a leak is there each time


def test_binaries_of_builtin_kernels(used, monkeypatch):
    try:
        device = level_zero(0)()
    except Absent as absent:
        pytest.skip(str(absent))
    kept = []
    monkeypatch.setattr(drivers, "load_builtin", lambda *_: None)
    monkeypatch.setattr(drivers, "keep_builtin", lambda binary, *_: kept.append(len(binary)))

    def grown():
        before = used()
        for _ in range(BUILDS):
            queue = usmpy.Queue(device, context=usmpy.Context(device))
            x = usmpy.zeros((4, 4), dtype="int32", queue=queue)
            assert usmpy.greater(x, x.mT).tolist()[0] == [False] * 4
            del x, queue
        usmpy.trim()  # programs and contexts end on a thread of their own
        return used() - before

    sizes = [grown() for _ in range(3)]
    assert len(kept) >= 3 * BUILDS
    assert min(sizes[1:]) < sum(kept) / 3 / 2, (sizes, kept)


def test_addresses_around_large_blocks():
    """Blocks begin at huge pages: what was mapped before and behind them is given back."""
    queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host:cpu:0")))

    def mapped():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * os.sysconf("SC_PAGESIZE")

    def grown():
        before = mapped()
        for i in range(64):
            # A mapping of the test's own in between: the next one begins elsewhere within a huge page.
            between = mmap.mmap(-1, (i + 1) * 12345)
            x = usmpy.empty((4 << 20) + i * 4096, dtype="uint8", queue=queue)
            del x
            usmpy.trim(queue)
            between.close()
        return mapped() - before

    assert min(grown() for _ in range(3)) < 16 << 20


def test_blocks_that_pools_give_back(used):
    """With the records of them, of which a block keeps one in the pool."""
    queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host:cpu:0")))

    def grown():
        before = used()
        for _ in range(ROUNDS):
            x = usmpy.empty(1000, dtype="uint8", queue=queue)
            del x
            assert usmpy.trim(queue) > 0
        return used() - before

    sizes = [grown() for _ in range(3)]
    assert min(sizes) < 32 * ROUNDS, sizes
