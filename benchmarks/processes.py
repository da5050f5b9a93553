"""Arrays between processes: usmpy beside NumPy and PyTorch.

    python benchmarks/processes.py               the table
    python benchmarks/processes.py --json FILE   and the figures as JSON (- for standard output)
    python benchmarks/processes.py --markdown    the table of benchmarks/README.md
    python benchmarks/processes.py --quick       fewer rounds: to see that it runs, not for figures
    python benchmarks/processes.py --only WORDS  the rows whose names contain WORDS

Each row is one function of ROWS, which returns None where a package is missing. The candidates of a row take
turns, and the best time of each counts. Needs a release build (no USMPY_TESTING) and NumPy; torch 2.13.0 for
the CPU, Dask with distributed, Ray, and mpi4py with an MPI library for the rows that name them; an OpenCL
device for one of them, and a CUDA device and CuPy for two.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from timing import Batch, Row, best_batches, report

import usmpy
from usmpy import _core

HERE = str(pathlib.Path(__file__).resolve().parent)
sys.path[:] = [entry for entry in sys.path if str(pathlib.Path(entry).resolve()) != HERE]  # it has a cuda.py
MIB = 1 << 20
LARGE = 256 * MIB


def echo(inbox: Any, outbox: Any) -> None:
    """The other process: answers each array with its first element."""
    while (x := inbox.get()) is not None:
        outbox.put(float(x[0]))
        del x


@contextmanager
def other_process(context: Any) -> Iterator[Callable[[Any], None]]:
    """A call sends an array through a queue and waits until the other process has read an element."""
    if HERE not in sys.path:
        sys.path.insert(0, HERE)  # torch removes the first entry, and the other process imports this file
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=echo, args=(inbox, outbox), daemon=True)
    process.start()

    def send(x: Any) -> None:
        inbox.put(x)
        outbox.get(timeout=60)

    yield send
    inbox.put(None)
    process.join()


def repeated(send: Callable[[Any], None], x: Any) -> Batch:
    def batch(runs: int) -> float:
        begin = time.perf_counter()
        for _ in range(runs):
            send(x)
        return time.perf_counter() - begin

    return batch


def shared_through_a_queue(rounds: int) -> Row | None:
    """A block that both processes keep: the queue carries its handle and its descriptor."""
    try:
        import torch.multiprocessing
    except ImportError:
        return None
    import usmpy.multiprocessing

    x = usmpy.share(usmpy.ones(LARGE // 4, dtype="float32", device="host"))
    x.wait()
    theirs = torch.ones(LARGE // 4).share_memory_()
    with (
        other_process(multiprocessing.get_context("spawn")) as ours,
        other_process(torch.multiprocessing.get_context("spawn")) as to_torch,
    ):
        best = best_batches(
            {"usmpy": repeated(ours, x), "torch": repeated(to_torch, theirs)}, rounds, runs=20
        )
    return Row(
        "256 MiB through a multiprocessing queue, shared",
        best.pop("usmpy"),
        best,
        target="torch",
        limit=1.0,
    )


def by_value_through_a_queue(rounds: int) -> Row:
    """An array that the other process gets as a copy."""
    import numpy

    import usmpy.multiprocessing

    x = usmpy.ones(LARGE // 4, dtype="float32", device="host")
    x.wait()
    theirs = numpy.ones(LARGE // 4, dtype="float32")
    with other_process(multiprocessing.get_context("spawn")) as send:
        best = best_batches(
            {"usmpy": repeated(send, x), "numpy": repeated(send, theirs)}, max(rounds // 8, 2), 1, runs=1
        )
    return Row(
        "256 MiB through a multiprocessing queue, by value",
        best.pop("usmpy"),
        best,
        target="numpy",
        limit=0.5,
    )


def no_reading(x: Any) -> int:
    """What a task of the receiver does: it has the array."""
    return int(x.nbytes)


def moved_by_dask(client: Any, make: Callable[[], Any]) -> Batch:
    """A new array of the first worker becomes the argument of a task of the second one."""
    import distributed

    first, second = sorted(client.scheduler_info(n_workers=-1)["workers"])

    def batch(runs: int) -> float:
        total = 0.0
        for _ in range(runs):
            x = client.submit(make, workers=[first], pure=False)
            distributed.wait(x)
            begin = time.perf_counter()
            client.submit(no_reading, x, workers=[second], pure=False).result()
            total += time.perf_counter() - begin
            x.release()
        return total

    return batch


def numpy_chunk() -> Any:
    import numpy

    return numpy.ones(LARGE // 4, dtype="float32")


def host_chunk() -> Any:
    x = usmpy.ones(LARGE // 4, dtype="float32", device="host")
    x.wait()
    return x


def opencl_chunk() -> Any:
    x = usmpy.ones(LARGE // 4, dtype="float32", device=device_apart())
    x.wait()
    return x


def cuda_chunk() -> Any:
    x = usmpy.ones(LARGE // 4, dtype="float32", device="cuda")
    x.wait()
    return x


def cupy_chunk() -> Any:
    import cupy

    x = cupy.ones(LARGE // 4, dtype="float32")
    cupy.cuda.Device().synchronize()
    return x


def has_cuda_and_cupy() -> bool:
    return importlib.util.find_spec("cupy") is not None and bool(usmpy.get_devices("cuda"))


def device_apart() -> usmpy.Device | None:
    """The first OpenCL device that cannot use all memory of the process."""
    try:
        devices = usmpy.get_devices("opencl")
    except usmpy.UsmError:
        return None
    return next((device for device in devices if not device.has_usm_system), None)


def copied() -> Batch:
    """One copy of as many bytes into memory that is new each time, as a receiver has it."""
    x = numpy_chunk()

    def batch(runs: int) -> float:
        begin = time.perf_counter()
        for _ in range(runs):
            x.copy()
        return time.perf_counter() - begin

    return batch


def dask_rows(
    rounds: int, make: Callable[[], Any], peer: Callable[[], Any] = numpy_chunk
) -> dict[str, float] | None:
    try:
        import distributed
    except ImportError:
        return None
    sys.path.insert(0, HERE)
    import processes  # under the name that the workers import

    sys.path.insert(0, HERE)  # the import took it out, as it does in the other processes, which begin with it
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        if peer is cupy_chunk:
            client.run(importlib.import_module, "cupy")  # while CUDA's package has no namesake
        client.run(exec, f"import sys; sys.path.append({HERE!r})")
        candidates = {
            "usmpy": moved_by_dask(client, getattr(processes, make.__name__)),
            peer.__name__.split("_")[0]: moved_by_dask(client, getattr(processes, peer.__name__)),
            "one memcpy": copied(),
        }
        return best_batches(candidates, max(rounds // 5, 2), 1, runs=1)


def dask_host(rounds: int) -> Row | None:
    best = dask_rows(rounds, host_chunk)
    if best is None:
        return None
    best.pop("one memcpy")
    name = "Dask, 256 MiB chunk between two workers over TCP, host"
    return Row(name, best.pop("usmpy"), best, target="numpy", limit=1.05)


def dask_opencl(rounds: int) -> Row | None:
    """The receiver copies the frame to the device."""
    if device_apart() is None or (best := dask_rows(rounds, opencl_chunk)) is None:
        return None
    best["numpy and one memcpy"] = best["numpy"] + best.pop("one memcpy")
    name = "Dask, 256 MiB chunk between two workers over TCP, OpenCL device"
    return Row(name, best.pop("usmpy"), best, target="numpy and one memcpy", limit=1.05)


def dask_cuda(rounds: int) -> Row | None:
    """The frames of TCP are the host's: the GPU's memory is copied there, and back."""
    if not has_cuda_and_cupy() or (best := dask_rows(rounds, cuda_chunk, cupy_chunk)) is None:
        return None
    best.pop("one memcpy")
    name = "Dask, 256 MiB chunk between two workers over TCP, CUDA device"
    return Row(name, best.pop("usmpy"), best, target="cupy", limit=1.0)


def pickled(x: Any, there_alone: bool = False) -> Batch:
    """Protocol 5 with the data out of band, and back."""
    import pickle

    def batch(runs: int) -> float:
        begin = time.perf_counter()
        for _ in range(runs):
            buffers: list[pickle.PickleBuffer] = []
            data = pickle.dumps(x, protocol=5, buffer_callback=buffers.append)
            if not there_alone:
                pickle.loads(data, buffers=buffers)
        return time.perf_counter() - begin

    return batch


def pickle_out_of_band(rounds: int) -> Row:
    """The buffer is the memory of the array."""
    import numpy

    x = usmpy.ones(4 * LARGE // 4, dtype="float32", device="host")
    x.wait()
    candidates = {"usmpy": pickled(x), "numpy": pickled(numpy.ones(4 * LARGE // 4, "float32"))}
    best = best_batches(candidates, rounds, runs=200)
    return Row("pickle, protocol 5, 1 GiB out of band", best.pop("usmpy"), best, target="numpy", limit=1.05)


def pickle_of_cuda(rounds: int) -> Row | None:
    """The buffer is new memory of the host, into which the data are copied, as the driver's call does."""
    if not has_cuda_and_cupy():
        return None
    import ctypes

    import cupy
    import numpy

    x, theirs = usmpy.ones(LARGE, dtype="float32", device="cuda"), cupy.ones(LARGE, dtype="float32")
    x.wait()
    cupy.cuda.Device().synchronize()  # and its context is this thread's from here on
    copy = ctypes.CDLL(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1")).cuMemcpyDtoH_v2
    copy.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]

    def copied_by_driver(runs: int) -> float:
        begin = time.perf_counter()
        for _ in range(runs):
            y = numpy.empty(LARGE, "float32")
            assert copy(y.ctypes.data, x.data_ptr, x.nbytes) == 0
            del y
        return time.perf_counter() - begin

    candidates = {
        "usmpy": pickled(x, there_alone=True),
        "raw copy": copied_by_driver,
        "cupy": pickled(theirs, there_alone=True),
    }
    best = best_batches(candidates, max(rounds // 4, 2), 1, runs=1)
    name = "pickle, protocol 5, 1 GiB of a CUDA device"
    return Row(name, best.pop("usmpy"), best, target="raw copy", limit=1.05)


def ray_put_and_get(rounds: int) -> Row | None:
    try:
        import ray
    except ImportError:
        return None

    def there_and_back(x: Any) -> Batch:
        def batch(runs: int) -> float:
            total = 0.0
            for _ in range(runs):
                begin = time.perf_counter()
                reference = ray.put(x)
                y = ray.get(reference)
                total += time.perf_counter() - begin
                del y, reference
            return total

        return batch

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=4 * LARGE)
    try:
        candidates = {"usmpy": there_and_back(host_chunk()), "numpy": there_and_back(numpy_chunk())}
        best = best_batches(candidates, max(rounds // 5, 2), 1, runs=1)
    finally:
        ray.shutdown()
    return Row("Ray, 256 MiB put and get", best.pop("usmpy"), best, target="numpy", limit=1.05)


@functools.cache
def mpi_figures(rounds: int) -> dict[str, dict[str, float]] | None:
    """Seconds of two ranks (mpi_peer.py), with the MPI library of this environment; None: there is none."""
    launcher = pathlib.Path(sys.executable).with_name("mpiexec")
    if importlib.util.find_spec("mpi4py") is None or not launcher.exists():
        return None
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=True).stdout
    environment, options = dict(os.environ), []
    if "HYDRA" not in version:  # MPICH's launcher; the other is Open MPI's
        environment["MPI4PY_MPIABI"] = "openmpi"
        options = ["--allow-run-as-root", "--oversubscribe"]
    command = [launcher, *options, "-n", "2", sys.executable, f"{HERE}/mpi_peer.py", str(rounds)]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    figures: dict[str, dict[str, float]] = json.loads(done.stdout)
    return figures


def mpi_row(what: str, title: str, rounds: int, more: float = 0.0) -> Row | None:
    """`more`: the seconds that usmpy may take above NumPy's; 0: a fiftieth."""
    figures = mpi_figures(rounds)
    if figures is None:
        return None
    best = dict(figures[what])
    limit = 1 + more / best["numpy"] if more else 1.02
    return Row(f"mpi4py, {title}", best.pop("usmpy"), best, target="numpy", limit=limit)


def mpi4py_large(rounds: int) -> Row | None:
    return mpi_row("64 MiB", "Send and Recv of 64 MiB", rounds)


def mpi4py_small(rounds: int) -> Row | None:
    return mpi_row("8 bytes", "Send and Recv of 8 bytes", rounds, more=1e-6)


def mpi4py_sum(rounds: int) -> Row | None:
    return mpi_row("sum of 64 MiB", "Allreduce of 64 MiB", rounds)


ROWS: list[Callable[[int], Row | None]] = [
    shared_through_a_queue,
    by_value_through_a_queue,
    pickle_out_of_band,
    pickle_of_cuda,
    dask_host,
    dask_opencl,
    dask_cuda,
    ray_put_and_get,
    mpi4py_large,
    mpi4py_small,
    mpi4py_sum,
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the figures; '-' is standard output")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    parser.add_argument("--quick", action="store_true", help="one short round: does it run at all?")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows with these words")
    options = parser.parse_args()
    if hasattr(_core, "_live_counts") and not options.quick:
        sys.exit(f"{_core.__file__} is built for tests (USMPY_TESTING=1) and slower; install a release build")
    chosen = [row for row in ROWS if options.only.replace(" ", "_") in row.__name__]
    rows = [row for make in chosen if (row := make(4 if options.quick else 40)) is not None]
    modules = [
        usmpy,
        *(sys.modules[name] for name in ("numpy", "torch", "cupy", "dask", "ray") if name in sys.modules),
    ]
    report("Arrays between processes", rows, modules, options.json, options.markdown)


if __name__ == "__main__":
    main()
