"""Arithmetic, reductions, scans, sorting and matrix products beside NumPy and, on devices, other libraries.

    python benchmarks/compute.py [--json FILE] [--markdown] [--quick] [--only WORDS] [--place NAME]
                                 [--dpnp PYTHON]

64 MiB of elements, and 1,000, on the host, OpenCL devices and CUDA GPUs. Peers are NumPy on processors,
dpnp on Intel's OpenCL device, and CuPy and PyTorch on GPUs, where they are installed; dpnp may be in another
environment (compute_peer.py). A limit is the reciprocal of the speed that is to be reached. `taskset -c 0` in
front of it measures one core. Rows of functions that usmpy does not have yet are left
out. The last rows are the first use of an operation in a new process, with an empty folder of built
programs and with the one that it left.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from typing import Any

import arrays  # shows Intel's runtime to OpenCL's loader
import compute_peer
import numpy as np
import timing
from timing import Row

import usmpy
from usmpy import _core

# CuPy imports NVIDIA's package cuda, not the script of that name beside this one.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if pathlib.Path(entry).resolve() != HERE]
try:
    import cupy
except ImportError:
    cupy = None
try:
    import torch
except ImportError:
    torch = None

dpnp = arrays.dpnp

# Statements, and the least speeds beside NumPy, beside dpnp, and beside the faster of CuPy and PyTorch.
ELEMENTWISE, COSTLY, SMALL = (1.0, 1.0, 0.95), (0.8, 1.0, 0.9), (0.8, 5.0, 1.8)
LARGE_ROWS = [
    ("add(a, b)", ELEMENTWISE),
    ("subtract(a, b)", ELEMENTWISE),
    ("multiply(a, b)", ELEMENTWISE),
    ("divide(a, b)", ELEMENTWISE),
    ("exp(d)", COSTLY),
    ("log(d)", COSTLY),
    ("sin(d)", COSTLY),
    ("pow(d, d)", COSTLY),
    ("sum(a)", (1.5, 1.0, 0.9)),
    ("max(a)", (1.5, 1.0, 0.9)),
    ("sum(m, axis=0)", (1.5, 1.0, 0.8)),
    ("max(m, axis=0)", (1.5, 1.0, 0.8)),
    ("sum(r, axis=1)", (1.0, 1.0, 0.8)),
    ("max(r, axis=1)", (1.0, 1.0, 0.8)),
    ("mean(a)", None),
    ("std(a)", None),
    ("argmax(a)", None),
    ("cumulative_sum(a)", (1.0, 1.0, 0.65)),
    ("sort(a, stable=True)", (1.5, 1.0, 0.5)),  # as the standard's default
    ("sort(a)", None),  # NumPy's own default is not stable
    ("argsort(a, stable=True)", (3.0, 1.0, 0.5)),
    ("matmul(p, p)", (0.98, None, 0.98)),
    ("matmul(o, o)", (0.98, None, 0.98)),
    ("matmul(o.T, o)", (0.98, None, 0.98)),
    ("matmul(q, q)", None),
]
SMALL_ROWS = [
    ("s + s", SMALL),
    ("s * 2.0", SMALL),
    ("add(s, s)", SMALL),
    ("exp(s)", SMALL),
    ("sum(s)", SMALL),
    ("max(s)", SMALL),
    ("log(s)", SMALL),
    ("sum(t, axis=0)", SMALL),
    ("argmax(s)", SMALL),
    ("mean(s)", SMALL),
    ("std(s)", SMALL),
    ("clip(s, 0.25, 0.75)", SMALL),
    ("cumulative_sum(s)", SMALL),
]

FIRST_USE = """
import sys, time
import usmpy
queue = usmpy.Queue(sys.argv[1])
x = usmpy.zeros(1000, dtype="float32", queue=queue)
queue.wait()
begin = time.perf_counter()
(x + x).wait()
print(time.perf_counter() - begin)
"""


def our_names() -> dict[str, Any]:
    return {name: getattr(_core, name) for name in dir(_core) if not name.startswith("_")} | {
        name: getattr(usmpy, name) for name in usmpy.__all__
    }


def names_of(library: Any) -> dict[str, Any]:
    """The functions under the standard's names."""
    names = compute_peer.names_of(library)
    if library is torch:
        names |= {"max": torch.amax, "concat": torch.cat}
        names["cumulative_sum"] = lambda x: torch.cumsum(x, 0)
    if library is cupy:  # its sort is stable
        names |= {"argsort": lambda x, stable: cupy.argsort(x), "sort": lambda x, stable=True: cupy.sort(x)}
    return names


class Other:
    """dpnp in another environment: a process of compute_peer.py."""

    def __init__(self, python: str, n: int) -> None:
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compute_peer.py")
        hidden = ("OCL_ICD_VENDORS", "PYTHONPATH")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        self._process = subprocess.Popen(
            [python, program, str(n)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.__name__, self.__version__ = "dpnp", self._read()
        if not self.__version__:
            sys.exit(f"{python} has no dpnp")

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def run(self, statement: str, count: int) -> float | None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{count} {statement}\n")
        self._process.stdin.flush()
        seconds = self._read()
        return float(seconds) if seconds else None

    def batch(self, statement: str) -> timing.Batch | None:
        """None: dpnp has no such function."""
        return None if self.run(statement, 1) is None else lambda count: self.run(statement, count) or 0.0


Peer = tuple[str, dict[str, Any], str, Callable[[np.ndarray], Any]]  # name, names, how to wait, how to copy


def peers_of(place: str, queue: usmpy.Queue) -> list[Peer]:
    if place == "CUDA":
        found: list[Peer] = []
        if cupy is not None:
            stream = cupy.cuda.get_current_stream()
            found.append(
                ("cupy", names_of(cupy) | {"stream": stream}, "; stream.synchronize()", cupy.asarray)
            )
        if torch is not None and torch.cuda.is_available():
            names = names_of(torch) | {"wait": torch.cuda.synchronize}
            found.append(("torch", names, "; wait()", lambda x: torch.as_tensor(x, device="cuda")))
        return found
    found = [("numpy", names_of(np), "", lambda x: x)]
    if place == "Intel" and dpnp is not None:
        made = dpnp.asarray(0, device="opencl:cpu")
        names = names_of(dpnp) | {"theirs": made.sycl_queue}
        found.append(
            ("dpnp", names, "; theirs.wait()", lambda x: dpnp.asarray(x, sycl_queue=made.sycl_queue))
        )
    return found


def limits(speeds: tuple[float | None, ...] | None, times: dict[str, float]) -> dict[str, float]:
    """The largest ratio to each peer; of CuPy and PyTorch the faster counts."""
    if speeds is None:
        return {}
    least = dict(zip(("numpy", "dpnp"), speeds, strict=False))
    gpu = [name for name in times if name in ("cupy", "torch")]
    if gpu:
        least[min(gpu, key=times.__getitem__)] = speeds[2]
    return {name: 1 / least[name] for name in times if least.get(name)}


def rows_of(
    place: str,
    queue: usmpy.Queue,
    data: dict[str, np.ndarray],
    table: list[tuple[str, tuple[float | None, ...] | None]],
    rounds: int,
    only: str,
    other: Other | None,
) -> list[Row]:
    ours = our_names() | {"queue": queue}
    ours |= {name: usmpy.asarray(value, queue=queue, copy=True) for name, value in data.items()}
    peers = [
        (name, names | {key: copy(value) for key, value in data.items()}, wait)
        for name, names, wait, copy in peers_of(place, queue)
    ]
    rows = []
    for statement, speeds in table:
        function = statement.partition("(")[0]
        label = f"{place}: {statement}"
        if only not in label or (function.isidentifier() and function not in ours):
            continue
        small = table is SMALL_ROWS
        candidates = {"usmpy": timeit.Timer(f"{statement}; queue.wait()", globals=ours).timeit}
        for name, names, wait in peers:
            if not function.isidentifier() or names.get(function) is not None:
                candidates[name] = timeit.Timer(statement + wait, globals=names).timeit
        batch = other.batch(statement) if other is not None and place == "Intel" else None
        if batch is not None:
            candidates["dpnp"] = batch
        for name in list(candidates):
            try:
                candidates[name](1)
            except NotImplementedError:  # the peer does not have this type
                del candidates[name]
        times = timing.best_batches(candidates, rounds, warm_up=2, runs=0 if small else 1)
        mine = times.pop("usmpy")
        also = limits(speeds, times)
        target = next(iter(also or times), None)
        limit = also.get(target) if target is not None else None
        rows.append(Row(label, mine, times, target, limit, also=also if len(also) > 1 else {}))
    return rows


def first_use(place: str, queue: usmpy.Queue, only: str) -> list[Row]:
    label = f"{place}: first x + x"
    if only not in label:
        return []
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for how in ("cold", "from the disk cache"):
            command = [sys.executable, "-c", FIRST_USE, queue.device.filter_string]
            environment = os.environ | {"USMPY_CACHE_DIR": folder}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            seconds[how] = float(done.stdout)
    most = {"cold": 0.3, "from the disk cache": 0.02} if place in ("GPU", "CUDA") else {}
    return [Row(f"{label}, {how}", value, {}, None, most.get(how)) for how, value in seconds.items()]


def places() -> dict[str, usmpy.Queue]:
    found = arrays.places()
    for backend, name in (("cuda", "CUDA"), ("opencl", "GPU")):
        for device in usmpy.get_devices(backend, "gpu"):
            found.setdefault(name, usmpy.Queue(device))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the figures; '-' is standard output")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    parser.add_argument("--quick", action="store_true", help="one short round: does it run at all?")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows with these words")
    parser.add_argument("--place", default="", metavar="NAME", help="host, Intel, PoCL, CUDA or GPU alone")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each candidate, in turn")
    parser.add_argument(
        "--dpnp", metavar="PYTHON", help="time dpnp too, with the Python of an environment that has it"
    )
    options = parser.parse_args()
    if hasattr(_core, "_live_counts") and not options.quick:
        sys.exit(f"{_core.__file__} is built for tests (USMPY_TESTING=1) and slower; install a release build")
    rounds, n = (1, 1 << 16) if options.quick else (options.rounds, 1 << 24)
    usmpy.select_default_device()
    data, rows = compute_peer.values(n), []
    other = Other(options.dpnp, n) if options.dpnp else None
    for place, queue in places().items():
        if options.place not in place:
            continue
        for table in (SMALL_ROWS, LARGE_ROWS):
            rows += rows_of(place, queue, data, table, rounds, options.only, other)
        rows += first_use(place, queue, options.only)
    modules = [module for module in (usmpy, np, other or dpnp, cupy, torch) if module is not None]
    timing.report("Computing", rows, modules, options.json, options.markdown)


if __name__ == "__main__":
    main()
