"""CUDA memory between two processes: the figures of cuda.py that need another one.

    python cuda_peer.py RAW NBYTES ROUNDS

RAW is cuda_raw.c, compiled. Prints seconds a call as JSON, for each row those of usmpy and of its peers. This
file is the main module of both processes, so it imports nothing of this folder before main() runs.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import pathlib
import sys
import time
from multiprocessing.reduction import DupFd
from typing import Any

import usmpy
import usmpy.multiprocessing

HERE = pathlib.Path(__file__).resolve().parent
# Its file cuda.py would hide the package `cuda`, which torch imports.
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry).resolve() != HERE]


def raw_library(path: str) -> ctypes.CDLL:
    """The raw program, in the device's primary context."""
    ctypes.CDLL(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
    raw = ctypes.CDLL(path)
    handle, size, count = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int
    raw.raw_share_new.argtypes, raw.raw_share_new.restype = [size, ctypes.POINTER(size)], handle
    raw.raw_share_export.argtypes = [count, handle]
    raw.raw_share_descriptor.argtypes = [handle]
    raw.raw_share_import.argtypes = [count, count, size]
    raw.raw_share_enter()
    return raw


def serve(connection: Any, path: str) -> None:
    """The other process: opens and closes handles and descriptors, and answers how long it took."""
    raw = raw_library(path)
    nbytes, duplicate = connection.recv()
    descriptor = duplicate.detach()
    while (request := connection.recv()) is not None:
        handle, n = request
        if handle is None:
            begin = time.perf_counter()
            raw.raw_share_import(n, descriptor, nbytes)
        else:
            handle.open()
            begin = time.perf_counter()
            for _ in range(n):
                handle.open()
        connection.send(time.perf_counter() - begin)
        if handle is not None:
            handle.close()


def handle_times(path: str, nbytes: int, rounds: int, best_batches: Any) -> dict[str, float]:
    """Export in this process, and open and close in another."""
    raw, context = raw_library(path), multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=serve, args=(far, path), daemon=True)
    process.start()
    x = usmpy.share(usmpy.zeros(nbytes, dtype="uint8", device=usmpy.get_devices("cuda")[0]))
    x.wait()
    whole = ctypes.c_size_t()
    block = raw.raw_share_new(nbytes, ctypes.byref(whole))
    descriptor = raw.raw_share_descriptor(block)
    near.send((whole.value, DupFd(descriptor)))

    def ours(n: int) -> float:
        begin = time.perf_counter()
        for _ in range(n):
            x.get_ipc_handle().close()
        seconds = time.perf_counter() - begin
        with x.get_ipc_handle() as handle:
            near.send((handle, n))
            return seconds + near.recv()

    def theirs(n: int) -> float:
        begin = time.perf_counter()
        raw.raw_share_export(n, block)
        seconds = time.perf_counter() - begin
        near.send((None, n))
        return seconds + near.recv()

    best = best_batches({"usmpy": ours, "raw C": theirs}, rounds)
    near.send(None)
    process.join()
    os.close(descriptor)
    return best


def echo(inbox: Any, outbox: Any) -> None:
    """The other process: answers each array with its first element."""
    while (x := inbox.get()) is not None:
        outbox.put(float(x[0]))
        del x


def queue_times(nbytes: int, rounds: int, best_batches: Any) -> dict[str, float]:
    """An array through a queue of multiprocessing, and one element of it back."""
    x = usmpy.share(usmpy.ones(nbytes // 4, dtype="float32", device=usmpy.get_devices("cuda")[0]))
    x.wait()
    arrays: dict[str, tuple[Any, Any]] = {"usmpy": (multiprocessing.get_context("spawn"), x)}
    try:
        import torch
        import torch.multiprocessing
    except ImportError:
        pass
    else:
        if torch.cuda.is_available():
            tensor = torch.ones(nbytes // 4, device="cuda")
            torch.cuda.synchronize()
            arrays["torch"] = torch.multiprocessing.get_context("spawn"), tensor
    batches, ends = {}, []
    for name, (context, array) in arrays.items():
        inbox, outbox = context.Queue(), context.Queue()
        process = context.Process(target=echo, args=(inbox, outbox), daemon=True)
        process.start()

        def batch(n: int, array: Any = array, inbox: Any = inbox, outbox: Any = outbox) -> float:
            begin = time.perf_counter()
            for _ in range(n):
                inbox.put(array)
                outbox.get(timeout=60)
            return time.perf_counter() - begin

        batches[name] = batch
        ends.append((inbox, process))
    best = best_batches(batches, rounds, runs=20)
    for inbox, process in ends:
        inbox.put(None)
        process.join()
    return best


def main() -> None:
    sys.path.insert(0, str(HERE))
    from timing import best_batches

    sys.path.remove(str(HERE))
    path, nbytes, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    figures = {
        "handle": handle_times(path, nbytes, rounds, best_batches),
        "queue": queue_times(nbytes, rounds, best_batches),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
