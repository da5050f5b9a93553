"""Exchanges with streams from many threads at once, and deleters on threads that Python does not know."""

from __future__ import annotations

import ctypes
import gc
import threading

import cuda_peers
import producers
import pytest

import usmpy

N = 64


def run(threads, work):
    """Run work(number) on several threads, and raise the first exception."""
    failures = []

    def body(number):
        try:
            work(number)
        except BaseException as failure:
            failures.append(failure)

    running = [threading.Thread(target=body, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(120)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy, cuda_peers.Dlpack, cuda_peers.Interface])
def test_one_import_is_used_first_by_many_queues_at_once(peer, driver, device, cls):
    """They bring it into order at the same time; every one of them comes after the producer."""
    queues = [usmpy.Queue(device, in_order=number % 2 == 0) for number in range(4)]
    outs = [usmpy.zeros(N, dtype="int8", queue=queue) for queue in queues]
    for queue in queues:
        queue.wait()
    for turn in range(30):
        theirs = peer.array(N, turn, cls=cls, late=True)
        x = usmpy.asarray(theirs) if cls is cuda_peers.Interface else usmpy.from_dlpack(theirs)
        start = threading.Barrier(len(queues))

        def work(number, x=x, start=start):
            start.wait()
            queues[number].memcpy(outs[number], x)

        run(len(queues), work)
        assert [out.tolist() for out in outs] == [[turn] * N] * len(queues)


def test_exports_imports_loans_and_borrows_of_one_array_at_once(peer, driver, device):
    x = usmpy.zeros(N, dtype="int8", device=device)
    theirs = peer.array(N, 5)
    streams = [driver.stream() for _ in range(4)]

    def work(number):
        queue = usmpy.Queue(device)
        for _ in range(60):
            with driver.on(0):
                managed = producers.take(x.__dlpack__(stream=streams[number], max_version=(1, 0)))
                driver.fill(streams[number], managed.dl_tensor.data, N, 7)
                producers.delete(managed)
                with x.lend(streams[number]) as pointer:
                    driver.fill(streams[number], pointer, N, 7)
                assert x.__cuda_array_interface__["data"][0] == x.data_ptr
                with usmpy.borrow(theirs, queue) as y:
                    queue.fill(y, 5)
                queue.fill(x, 7)
                usmpy.from_dlpack(theirs, copy=True)
        queue.wait()

    run(4, work)
    assert x.tolist() == [7] * N
    assert theirs.read() == b"\5" * N
    for stream in streams:
        driver.synchronize(stream)
        driver.destroy_stream(stream)


def test_deleters_run_on_threads_without_python(peer, driver, device):
    """A thread of C calls them, with no context of CUDA current, while the consumer's work is pending."""
    library = ctypes.CDLL(None)
    stream = peer.stream()
    kept = []
    for _ in range(20):
        x = usmpy.zeros(N, dtype="int8", device=device)
        x.wait()
        managed = producers.take(x.__dlpack__(stream=stream, max_version=(1, 0)))
        address = ctypes.c_void_p(ctypes.addressof(managed))
        kept.append(managed)
        driver.brief(stream, 0.002)
        driver.fill(stream, x.data_ptr, N, 9)
        del x
        thread = ctypes.c_ulong()
        start = ctypes.c_void_p(managed.deleter)
        assert library.pthread_create(ctypes.byref(thread), None, start, address) == 0
        assert library.pthread_join(thread, None) == 0
    gc.collect()
    driver.synchronize(stream)
