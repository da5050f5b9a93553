"""What a thread gives back or asks for while an unrelated kernel runs: the kernel still runs afterwards."""

from __future__ import annotations

import contextlib
import gc
import threading
import time

import pytest

import usmpy

MiB = 1 << 20
SECONDS = 2.0  # far longer than the calls, which take at most some tens of milliseconds (pinning 64 MiB)


@pytest.fixture(params=["queue", "stream"])
def busy(request, driver, device):
    """A kernel that usmpy knows of, in a queue of its own, or one in another library's stream."""

    @contextlib.contextmanager
    def run():
        queue = usmpy.Queue(device)
        with driver.stream() as other:
            stream = queue.native_handle if request.param == "queue" else other
            driver.delay(stream, SECONDS)
            if request.param == "queue":
                queue.barrier()
            yield lambda: not driver.idle(stream)
            driver.synchronize(stream)
            queue.wait()

    return run


@contextlib.contextmanager
def another_thread_goes_on():
    """Its steps never take the kernel's time: nobody held the GIL for that long."""
    longest, ended = [0.0], threading.Event()

    def step():
        before = time.perf_counter()
        while not ended.wait(0.005):
            now = time.perf_counter()
            longest[0], before = max(longest[0], now - before), now

    thread = threading.Thread(target=step)
    thread.start()
    try:
        yield longest
    finally:
        ended.set()
        thread.join()
    assert longest[0] < SECONDS / 2


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
@pytest.mark.parametrize("sizes", [(1,), (64,), (256,), (40,) * 20], ids=str)
def test_memory_is_given_back(device, busy, kind, sizes):
    usmpy.trim()
    arrays = [usmpy.zeros(size * MiB, dtype="uint8", usm_type=kind, device=device) for size in sizes]
    device.queue.wait()
    with busy() as runs, another_thread_goes_on() as longest:
        begin = time.perf_counter()
        arrays.clear()
        took = time.perf_counter() - begin
        assert runs()
    usmpy.trim()
    print(f"del {kind} {sizes}: {took * 1e3:.3f} ms, another thread's longest step {longest[0] * 1e3:.1f} ms")
    assert usmpy.memory_stats(device)[kind]["in_use"] == 0


@pytest.mark.parametrize("size", [1, 64])
def test_pinned_memory_is_allocated(device, busy, size):
    usmpy.trim()
    with busy() as runs, another_thread_goes_on() as longest:
        x = usmpy.empty(size * MiB, dtype="uint8", usm_type="host", device=device)
        assert runs()
    print(f"pinned {size}: another thread's longest step {longest[0] * 1e3:.1f} ms")
    del x
    usmpy.trim()


def test_queues_and_programs_end(device, busy):
    source = "kernel void f(global int *x) { x[get_global_id(0)] += %d; }"
    made = [usmpy.Queue(device), usmpy.Queue(device, in_order=False)]
    made += [usmpy.Program(source % number, device=device) for number in range(40)]
    with busy() as runs, another_thread_goes_on():
        made.clear()
        gc.collect()
        assert runs()
    usmpy.trim()


def test_a_kernel_is_loaded(device, busy):
    """That waits for the kernel, but no other thread does."""
    x = usmpy.zeros(1000, dtype="uint16", device=device)
    device.queue.wait()
    with busy(), another_thread_goes_on():
        y = usmpy.bitwise_xor(x, x)
    assert y.tolist() == [0] * 1000
