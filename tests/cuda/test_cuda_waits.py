"""Nothing in the calling thread waits for unrelated work of the driver.

While the driver is held no stream goes on, and calls that wait for the work of a context (cuMemFree,
cuMemFreeHost, cuMemHostAlloc, cuModuleLoadData) do not return, as on a GPU where a long kernel runs; what
others enqueue waits for such a call, too. A test that fails hangs, and tests/support/hang.py prints where.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading

import cuda_peers
import numpy as np
import pytest
from asleep import once_asleep

import usmpy

KINDS = ["device", "shared", "host"]
MiB = 1 << 20


@contextlib.contextmanager
def busy(driver, work):
    """The driver is held with this work pending; in between, another Python thread goes on."""
    ticks, ended = [], threading.Event()

    def tick():
        while not ended.wait(0.001):
            ticks.append(None)

    with driver.held():
        work()
        thread = threading.Thread(target=tick)
        thread.start()
        try:
            yield
            seen = len(ticks)
            while len(ticks) == seen:  # it still does
                ended.wait(0.001)
        finally:
            ended.set()
            thread.join()


@pytest.fixture(params=["queue", "default stream", "private stream"])
def work(request, driver, device, peer):
    """Enqueues work of usmpy, or of another library, which does not use what the tests free."""
    if request.param == "queue":
        other = usmpy.Queue(device)
        x = usmpy.zeros(1000, dtype="uint8", queue=other)
        other.wait()
        yield lambda: other.fill(x, 1)
        other.wait()
    else:
        theirs = peer.array(1000, 1)
        stream = cuda_peers.LEGACY if request.param == "default stream" else theirs.stream
        driver.synchronize(theirs.stream)
        yield lambda: driver.fill(stream, theirs.address, 1000, 2)
        driver.synchronize(stream)


def stats(device, kind):
    found = usmpy.memory_stats(device)
    return found["held"], found[kind]["in_use"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sizes"), [(1 * MiB,), (64 * MiB,), (40 * MiB,) * 5, (20 * MiB,) * 8], ids=str)
def test_the_last_reference_goes(driver, device, work, kind, sizes):
    usmpy.trim()
    before = stats(device, kind)
    arrays = [usmpy.empty(size, dtype="uint8", device=device, usm_type=kind) for size in sizes]
    with busy(driver, work):
        arrays.clear()
        assert stats(device, kind)[1] == before[1]
    usmpy.trim()
    assert stats(device, kind) == before


@pytest.mark.parametrize("kind", KINDS)
def test_work_goes_on_while_blocks_wait_for_their_end(driver, device, kind):
    """They are not given to the driver while it works for usmpy, since it would let no other work in."""
    mine, other = usmpy.Queue(device), usmpy.Queue(device)
    x, y = (usmpy.zeros(1000, dtype="uint8", queue=queue) for queue in (mine, other))
    block = usmpy.empty(64 * MiB, dtype="uint8", device=device, usm_type=kind)
    for queue in (mine, other):
        queue.wait()
    with busy(driver, lambda: other.fill(y, 1)):
        del block
        events = [mine.fill(x, number) for number in range(20)]
    events[-1].wait()
    assert x.tolist() == [19] * 1000


@pytest.mark.parametrize("work", ["queue", "default stream"], indirect=True)
@pytest.mark.parametrize("kind", ["shared", "host"])
def test_a_block_that_waits_for_its_end_is_used_again(driver, device, work, kind):
    """But for the one that the thread just asks about."""
    usmpy.trim()
    block = usmpy.empty(64 * MiB, dtype="uint8", device=device, usm_type=kind)
    freed = set()
    with busy(driver, work):
        while block.data_ptr not in freed:
            freed.add(block.data_ptr)
            del block
            block = usmpy.empty(64 * MiB, dtype="uint8", device=device, usm_type=kind)
        assert len(freed) < 4
    del block
    usmpy.trim()
    assert stats(device, kind)[1] == 0


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_allocated_without_the_gil(driver, device, work, kind):
    usmpy.trim()
    made = []
    with busy(driver, work):
        thread = threading.Thread(
            target=lambda: made.append(usmpy.empty(48 * MiB, dtype="uint8", device=device, usm_type=kind))
        )
        thread.start()
    thread.join()
    assert made[0].nbytes == 48 * MiB


def test_a_kernel_is_used_first(driver, device, work):
    """Its module is loaded, which waits for the driver."""
    x = usmpy.asarray(np.arange(100, dtype="int16"), device=device)
    x.queue.wait()
    with busy(driver, work):
        thread = threading.Thread(target=lambda: usmpy.bitwise_xor(x, x))
        thread.start()
    thread.join()


def test_small_copies_between_pageable_memory(driver, device):
    """The first ones need pinned memory, which is allocated where nobody waits for it."""
    queues = [usmpy.Queue(device) for _ in range(40)]
    arrays = [usmpy.zeros(1000, dtype="uint8", queue=queue) for queue in queues]
    sources = [np.full(1000, number, "uint8") for number in range(len(queues))]
    for queue in queues:
        queue.wait()
    with busy(driver, lambda: queues[0].fill(arrays[0], 1)):
        for queue, x, source in zip(queues, arrays, sources, strict=True):
            queue.memcpy(x, source, blocking=False)
    for queue in queues:
        queue.wait()
    assert [x[0].item() for x in arrays] == list(range(len(queues)))


def test_trim_and_limits_wait_without_the_gil(driver, device, work):
    gc.collect()
    usmpy.trim()
    held = usmpy.memory_stats(device)["held"]
    blocks = [usmpy.empty(64 * MiB, dtype="uint8", device=device, usm_type=kind) for kind in KINDS]
    for call in (usmpy.trim, lambda: usmpy.set_memory_limit(device, held)):
        with busy(driver, work):
            blocks.clear()
            thread = threading.Thread(target=call)
            thread.start()
        thread.join()
        usmpy.set_memory_limit(device, None)
        assert usmpy.memory_stats(device)["held"] == held
        blocks = [usmpy.empty(64 * MiB, dtype="uint8", device=device, usm_type=kind) for kind in KINDS]


def test_a_signal_ends_the_wait_of_an_allocation(driver, device):
    """Where memory is short, it waits for tasks, which may keep some alive."""

    def handle(*_):
        raise ZeroDivisionError

    queue = usmpy.Queue(device)
    x = usmpy.zeros(1000, dtype="uint8", queue=queue)
    queue.wait()
    usmpy.trim()
    usmpy.set_memory_limit(device, usmpy.memory_stats(device)["held"] + MiB)
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with driver.held():
            queue.fill(x, 1)
            once_asleep(lambda: os.kill(os.getpid(), signal.SIGUSR1))
            with pytest.raises(ZeroDivisionError):
                usmpy.empty(64 * MiB, dtype="uint8", queue=queue)
        with pytest.raises(MemoryError):
            usmpy.empty(64 * MiB, dtype="uint8", queue=queue)
    finally:
        usmpy.set_memory_limit(device, None)
        signal.signal(signal.SIGUSR1, before)
    assert usmpy.empty(64 * MiB, dtype="uint8", queue=queue).nbytes == 64 * MiB


def test_a_limit_counts_what_the_driver_still_has(driver, device, work):
    """Memory that is asked for beyond it is there once the driver has the rest back."""
    usmpy.trim()
    held = usmpy.memory_stats(device)["held"]
    usmpy.set_memory_limit(device, held + 70 * MiB)
    made = []
    try:
        block = usmpy.empty(64 * MiB, dtype="uint8", device=device, usm_type="shared")
        with busy(driver, work):
            del block
            thread = threading.Thread(
                target=lambda: made.append(
                    usmpy.empty(48 * MiB, dtype="uint8", device=device, usm_type="host")
                )
            )
            thread.start()
        thread.join()
        assert made[0].nbytes == 48 * MiB
    finally:
        usmpy.set_memory_limit(device, None)


# The number makes another program of it, without a compiler.
SOURCE = "// %d\n.version 7.0\n.target sm_50\n.address_size 64\n.visible .entry f()\n{\n\tret;\n}\n"


def programs(device):
    """Some of them are kept."""
    return [usmpy.Program(SOURCE % n, device=device, language="ptx") for n in range(40)]


def in_a_context(device):
    queue = usmpy.Queue(device, context=usmpy.Context([device]))
    return [usmpy.zeros(40 * MiB, dtype="uint8", queue=queue, usm_type=kind) for kind in KINDS]


OBJECTS = {
    "queue": usmpy.Queue,
    "queue out of order": lambda device: usmpy.Queue(device, in_order=False),
    "context": lambda device: usmpy.Context([device]),
    "memory of a context": in_a_context,
    "programs": programs,
    "kernels": lambda device: [program["f"] for program in programs(device)],
    "shared memory": lambda device: usmpy.share(usmpy.zeros(1000, device=device)),
    "event": lambda device: usmpy.Queue(device).barrier(),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_the_end_of_an_object(driver, device, work, name):
    before = driver.streams()
    made = OBJECTS[name](device)
    for each in usmpy.get_devices("cuda"):
        each.queue.wait()
    with busy(driver, work):
        del made
        gc.collect()
    usmpy.trim()
    assert driver.streams() <= before + 1  # the device's own queue
