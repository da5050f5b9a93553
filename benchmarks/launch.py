"""Programs, launches, events and memory on OpenCL drivers, and kernels of the host: usmpy beside its peers.

    python benchmarks/launch.py                  the table
    python benchmarks/launch.py --json FILE      and the figures as JSON (- for standard output)
    python benchmarks/launch.py --markdown       the table of benchmarks/README.md
    python benchmarks/launch.py --quick          fewer rounds: to see that it runs, not for figures

Every row is measured on every OpenCL driver found: Intel's of the Python environment, and the system's. The
peers are a C program that makes the same calls of the same driver (launch_raw.c), PyOpenCL and dpctl.

Needs a release build (no USMPY_TESTING) with the extra "bench-launch", a C compiler and OpenCL headers. Peers
that are not installed are left out.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import timeit
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
from timing import Batch, Row, best_batches, best_sixth, report, timed_batches

HERE = pathlib.Path(__file__).resolve().parent
SMALL, LARGE = 8 << 10, 64 << 20  # bytes
LAUNCHES = 100  # as in launch_raw.c
PASSES = 16  # over all rows
TRACED = 10  # loops of LAUNCHES launches that one trace records
ELEMENTS = 1024
HOST_ELEMENTS = 16 << 20
SOURCE = """kernel void axpy(global const float *x, global float *y, float a, int n)
{
    size_t i = get_global_id(0);
    if (i < n)
        y[i] += a * x[i];
}
"""
HEAVY = """kernel void heavy(global const float *x, global float *y, float a)
{
    size_t i = get_global_id(0);
    y[i] = sqrt(x[i] * x[i] + a) / (sqrt(y[i]) + a);
}
"""
PLAIN = """kernel void plain(global const float *x, global float *y, float a)
{
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
"""

RAW, DPCTL = {"raw C": 1.1}, {"dpctl": 0.6}
POCL_LAUNCH = 1.5  # PoCL's enqueue takes 0.3 us, as long as a call from Python

CHAIN = """
events = [{launch_first}]
for _ in range({n} - 1):
    events.append({launch})
{wait}
"""


def find_drivers(folder: str) -> None:
    """Lets every loader in this process see Intel's runtime of the environment, besides the system's drivers.

    Before any of them is loaded. Nothing is changed where the user has said what loaders see.
    """
    intel = pathlib.Path(sys.prefix, "lib", "libintelocl.so")
    if {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"} & os.environ.keys() or not intel.exists():
        return
    for file in pathlib.Path("/etc/OpenCL/vendors").glob("*.icd"):
        pathlib.Path(folder, file.name).write_text(file.read_text())
    pathlib.Path(folder, "usmpy-intel.icd").write_text(f"{intel}\n")
    os.environ["OCL_ICD_VENDORS"] = folder


def headers() -> list[str]:
    """Compiler options that find CL/cl.h."""
    if "OPENCL_INCLUDE" in os.environ:
        return [f"-I{os.environ['OPENCL_INCLUDE']}"]
    spec = importlib.util.find_spec("nvidia")
    places = spec.submodule_search_locations if spec is not None else None
    found = (path for place in places or () for path in pathlib.Path(place).glob("*/include/CL/cl.h"))
    return [f"-I{path.parent.parent}" for path in found]


def compiled(folder: str, source: str, loader: str, includes: list[str]) -> ctypes.CDLL:
    """The C program, with the functions of ROWS declared; its calls go to the loader that usmpy uses."""
    library = pathlib.Path(folder) / f"{source}.so"
    compiler = os.environ.get("CC", "gcc")
    # As a C programmer would: no call of sqrtf looks at errno.
    flags = ["-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC", "-pthread", *includes]
    subprocess.run([compiler, *flags, HERE / source, "-o", library, "-lm"], check=True)
    ctypes.CDLL(loader, mode=ctypes.RTLD_GLOBAL)
    raw = ctypes.CDLL(str(library))
    pointer, size, count = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    for name in ("launches", "launch_wait", "wait_ended", "barrier_wait"):
        getattr(raw, f"raw_{name}").argtypes = [pointer, count]
    for name in ("copy_wait", "fill_wait", "allocate_free"):
        getattr(raw, f"raw_{name}").argtypes = [pointer, count, size]
    raw.raw_launches_depends.argtypes = [pointer, count, count]
    return raw


def raw_functions(folder: str) -> ctypes.CDLL:
    raw = compiled(folder, "launch_raw.c", "libOpenCL.so.1", headers())
    pointer, size, count = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    raw.raw_open.argtypes, raw.raw_open.restype = [ctypes.c_char_p, ctypes.c_char_p, size], pointer
    raw.raw_build_binary.argtypes = [pointer, count]
    raw.raw_build.argtypes = [pointer, ctypes.c_char_p]
    raw.raw_loop.argtypes = [pointer, pointer, ctypes.c_float, size, count, count]
    return raw


def calls(function: Callable[..., None], *arguments: Any) -> Batch:
    """A batch of the C function, which takes the number of runs behind its first argument."""
    first, *others = arguments

    def batch(n: int) -> float:
        start = time.perf_counter()
        function(first, n, *others)
        return time.perf_counter() - start

    return batch


def one_by_one(function: Callable[[], object]) -> Batch:
    return timeit.Timer(function).timeit


@dataclasses.dataclass
class Peer:
    """A library on one driver: statements by row, and the names that they use."""

    name: str
    statements: dict[str, str]
    names: dict[str, Any]

    def batch(self, row: str) -> Batch | None:
        statement = self.statements.get(row)
        return None if statement is None else timeit.Timer(statement, globals=self.names).timeit


def usmpy_peer(usmpy: ModuleType, device: Any, program: Any) -> Peer:
    queue, other = usmpy.Queue(device), usmpy.Queue(device, in_order=False)

    def arrays(n: int, queue: Any) -> list[Any]:
        return [usmpy.full(n // 4, 1.0, dtype="float32", queue=queue) for _ in range(2)]

    x, y = arrays(4 * ELEMENTS, queue)
    small_x, small_y = arrays(SMALL, queue)
    large_x, large_y = arrays(LARGE, queue)
    u, v = arrays(4 * ELEMENTS, other)
    ended = program.axpy[usmpy.Range(ELEMENTS)](x, y, 2.0, ELEMENTS)
    ended.wait()
    names = {**locals(), "axpy": program.axpy, "r": usmpy.Range(ELEMENTS)}
    launch = "axpy[r](x, y, 2.0, 1024)"
    statements = {
        "launch": f"for _ in range({LAUNCHES}): {launch}\nqueue.wait()",
        "launch, wait": f"{launch}.wait()",
        "wait, ended": "ended.wait()",
        "barrier": "queue.barrier().wait()",
        "memcpy small": "queue.memcpy(small_y, small_x).wait()",
        "memcpy large": "queue.memcpy(large_y, large_x).wait()",
        "fill small": "queue.fill(small_y, 7.0).wait()",
        "fill large": "queue.fill(large_y, 7.0).wait()",
        "allocate": f"usmpy.empty({SMALL}, dtype='uint8', queue=queue)",
    }
    for n in (1, 4):
        statements[f"depends {n}"] = CHAIN.format(
            launch_first="axpy[r](u, v, 2.0, 1024)",
            launch=f"axpy[r, events[-{n}:]](u, v, 2.0, 1024)",
            n=LAUNCHES,
            wait="other.wait()",
        )
    return Peer("usmpy", statements, names)


def pyopencl_peer(name: str) -> Peer | None:
    try:
        import pyopencl as cl
    except ImportError:
        return None
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    device = next((device for device in devices if device.name.strip() == name), None)
    if device is None:
        return None
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    other = cl.CommandQueue(context, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER

    def svm(n: int) -> Any:
        return cl.SVMAllocation(context, n, 64, flags, queue=None)

    x, y, small_x, small_y = svm(4 * ELEMENTS), svm(4 * ELEMENTS), svm(SMALL), svm(SMALL)
    large_x, large_y = svm(LARGE), svm(LARGE)
    for written in (large_x, large_y):  # pages that were never written are no memory yet
        cl.enqueue_svm_memfill(queue, written, np.float32(1)).wait()
    program = cl.Program(context, SOURCE).build()
    axpy = program.axpy
    axpy.set_scalar_arg_dtypes([None, None, np.float32, np.int32])
    pattern = np.float32(7)
    ended = axpy(queue, (ELEMENTS,), None, x, y, 2.0, ELEMENTS)
    ended.wait()
    launch = "axpy(queue, (1024,), None, x, y, 2.0, 1024)"
    copy = "cl.enqueue_copy(queue, {0}_y, {0}_x, is_blocking=False).wait()"
    fill = "cl.enqueue_svm_memfill(queue, {0}_y, pattern).wait()"
    statements = {
        "launch": f"for _ in range({LAUNCHES}): {launch}\nqueue.finish()",
        "launch, wait": f"{launch}.wait()",
        "wait, ended": "ended.wait()",
        "barrier": "cl.enqueue_barrier(queue).wait()",
        "memcpy small": copy.format("small"),
        "memcpy large": copy.format("large"),
        "fill small": fill.format("small"),
        "fill large": fill.format("large"),
        "allocate": f"cl.SVMAllocation(context, {SMALL}, 64, flags)",
    }
    for n in (1, 4):
        statements[f"depends {n}"] = CHAIN.format(
            launch_first="axpy(other, (1024,), None, x, y, 2.0, 1024)",
            launch=f"axpy(other, (1024,), None, x, y, 2.0, 1024, wait_for=events[-{n}:])",
            n=LAUNCHES,
            wait="other.finish()",
        )
    return Peer("pyopencl", statements, locals())


def dpctl_peer(name: str) -> Peer | None:
    """None, too, for a device without the memory that its kernels work on."""
    try:
        import dpctl
        import dpctl.memory
        import dpctl.program
    except ImportError:
        return None
    devices = [device for device in dpctl.get_devices("opencl") if device.name.strip() == name]
    if not devices or not devices[0].has_aspect_usm_device_allocations:
        return None
    queue, other = dpctl.SyclQueue(devices[0], property="in_order"), dpctl.SyclQueue(devices[0])

    def usm(n: int) -> Any:
        return dpctl.memory.MemoryUSMDevice(n, queue=queue)

    x, y, small_x, small_y = usm(4 * ELEMENTS), usm(4 * ELEMENTS), usm(SMALL), usm(SMALL)
    large_x, large_y = usm(LARGE), usm(LARGE)
    for written in (large_x, large_y):  # pages that were never written are no memory yet
        written.memset(1)
    program = dpctl.program.create_program_from_source(queue, SOURCE)
    axpy = program.get_sycl_kernel("axpy")
    a, n_elements = ctypes.c_float(2), ctypes.c_int(ELEMENTS)
    ended = queue.submit_async(axpy, [x, y, a, n_elements], [ELEMENTS])
    ended.wait()
    arguments = "axpy, [x, y, a, n_elements], [1024]"
    copy = "queue.memcpy_async({0}_y, {0}_x, {1}).wait()"
    statements = {
        "launch": f"for _ in range({LAUNCHES}): queue.submit_async({arguments})\nqueue.wait()",
        "launch, wait": f"queue.submit_async({arguments}).wait()",
        "wait, ended": "ended.wait()",
        "barrier": "queue.submit_barrier().wait()",
        "memcpy small": copy.format("small", SMALL),
        "memcpy large": copy.format("large", LARGE),
        "fill small": "small_y.memset(7)",
        "fill large": "large_y.memset(7)",
        "allocate": f"dpctl.memory.MemoryUSMDevice({SMALL}, queue=queue)",
    }
    for n in (1, 4):
        statements[f"depends {n}"] = CHAIN.format(
            launch_first=f"other.submit_async({arguments})",
            launch=f"other.submit_async({arguments}, None, events[-{n}:])",
            n=LAUNCHES,
            wait="other.wait()",
        )
    return Peer("dpctl", statements, locals())


# Key, name, the C function with its arguments, runs in one, and how large which ratio may be.
ROWS: list[tuple[str, str, tuple[Any, ...], int, dict[str, float]]] = [
    ("launch", f"launch, one of {LAUNCHES} and a finish", ("launches",), LAUNCHES, RAW | DPCTL),
    ("launch, wait", "launch and wait", ("launch_wait",), 1, RAW | DPCTL),
    ("depends 1", "launch behind 1 event", ("launches_depends", 1), LAUNCHES, RAW | DPCTL),
    ("depends 4", "launch behind 4 events", ("launches_depends", 4), LAUNCHES, RAW | DPCTL),
    ("wait, ended", "wait for an event that has ended", ("wait_ended",), 1, RAW | DPCTL),
    ("barrier", "barrier on an idle queue and wait", ("barrier_wait",), 1, RAW | DPCTL),
    ("memcpy small", "memcpy of 8 KiB and wait", ("copy_wait", SMALL), 1, RAW | DPCTL),
    ("memcpy large", "memcpy of 64 MiB and wait", ("copy_wait", LARGE), 1, RAW | DPCTL),
    ("fill small", "fill of 8 KiB and wait", ("fill_wait", SMALL), 1, RAW | DPCTL),
    ("fill large", "fill of 64 MiB and wait", ("fill_wait", LARGE), 1, RAW | DPCTL),
    ("allocate", "empty(8 KiB), and free", ("allocate_free", SMALL), 1, {"raw C": 0.1}),
]


def driver_rows(usmpy: ModuleType, raw: ctypes.CDLL, device: Any, only: str, rounds: int) -> list[Row]:
    name = device.name.strip()
    handle = raw.raw_open(name.encode(), SOURCE.encode(), LARGE)
    if handle is None:
        sys.exit(f"the raw program does not find {name}")
    peers = [peer for peer in (pyopencl_peer(name), dpctl_peer(name)) if peer is not None]
    program = usmpy.Program(SOURCE, device=device, language="opencl")
    ours = usmpy_peer(usmpy, device, program)
    rows = measured(ours, raw, handle, peers, only, rounds)
    if vendor(device) == "PoCL":
        limits = {"limit": POCL_LAUNCH, "also": {"raw C": POCL_LAUNCH}}
        rows = [dataclasses.replace(row, **limits) if row.name.startswith("launch") else row for row in rows]
    rows += traced_rows(usmpy, ours, only, rounds)
    return rows + (build_rows(usmpy, raw, handle, device, rounds) if only in "build" else [])


def measured(
    ours: Peer,
    raw: ctypes.CDLL,
    handle: int,
    peers: list[Peer],
    only: str,
    rounds: int,
    limit: dict[str, float] | None = None,
) -> list[Row]:
    """The rows of ROWS whose name has the words `only`; `limit` instead of theirs.

    Where threads wait for each other, times stay for seconds at one of a few levels: all rows are measured
    several times in turn, so that each candidate of each meets all of them. Means of the best sixth of all
    batches.
    """
    wanted = [row for row in ROWS if only in row[1]]
    every: dict[str, dict[str, list[float]]] = {}
    for _ in range(min(PASSES, rounds)):
        for key, _, (function, *arguments), runs, _ in wanted:
            candidates = {
                "usmpy": ours.batch(key),
                "raw C": calls(getattr(raw, f"raw_{function}"), handle, *arguments),
            }
            candidates |= {peer.name: peer.batch(key) for peer in peers}
            some = {name: batch for name, batch in candidates.items() if batch is not None}
            # Large, one run a batch: enough batches that some run while no other work uses the memory.
            few = max(2, rounds // (2 * PASSES))
            taken = timed_batches(some, few if key.endswith("large") else max(3, 4 * rounds // PASSES))
            known = every.setdefault(key, {name: [] for name in taken})
            for name, seconds in taken.items():
                known[name] += [value / runs for value in seconds]
    best = {
        key: {name: best_sixth(seconds) for name, seconds in known.items()} for key, known in every.items()
    }
    rows = []
    for key, title, _, _, limits in wanted:
        limits = {peer: most for peer, most in (limit or limits).items() if peer in best[key]}
        rows.append(Row(title, best[key].pop("usmpy"), best[key], *next(iter(limits.items())), also=limits))
    return rows


def traced_rows(usmpy: ModuleType, peer: Peer, only: str, rounds: int) -> list[Row]:
    """The loop of the first row in usmpy.trace(), with its begin and end, and without, in turn.

    Means of the best sixth of many batches: the difference is smaller than the weather, and one best batch is
    luck.
    """
    name = "launch loop while traced"
    if only not in name:
        return []
    loop = f"for _ in range({TRACED}):\n" + textwrap.indent(peer.statements["launch"], "    ")
    candidates = {
        "usmpy": timeit.Timer(f"with usmpy.trace():\n{textwrap.indent(loop, '    ')}", globals=peer.names),
        "not traced": timeit.Timer(loop, globals=peer.names),
    }
    taken = timed_batches({key: timer.timeit for key, timer in candidates.items()}, 6 * rounds)
    best = {key: best_sixth(seconds) / TRACED / LAUNCHES for key, seconds in taken.items()}
    return [Row(name, best.pop("usmpy"), best, "not traced", 1.1)]


def build_rows(usmpy: ModuleType, raw: ctypes.CDLL, handle: int, device: Any, rounds: int) -> list[Row]:
    """Cold: no cache has the source, which differs in a comment. Cached: another Program of one source.

    From a file: the same where the process has not built it yet.
    """
    counter = itertools.count(time.time_ns())
    context = None
    peers = {
        "usmpy": lambda text: usmpy.Program(text, device=device, language="opencl")["axpy"],
        "raw C": lambda text: raw.raw_build(handle, text.encode()),
    }
    pyopencl = pyopencl_peer(device.name.strip())
    if pyopencl is not None:
        cl, context = pyopencl.names["cl"], pyopencl.names["context"]
        peers["pyopencl"] = lambda text: cl.Program(context, text).build().axpy
    dpctl = dpctl_peer(device.name.strip())
    if dpctl is not None:
        build, queue = dpctl.names["dpctl"].program.create_program_from_source, dpctl.names["queue"]
        peers["dpctl"] = lambda text: build(queue, text).get_sycl_kernel("axpy")

    def cold(peer: Callable[[str], object]) -> Batch:
        return one_by_one(lambda: peer(f"// {next(counter)}\n{SOURCE}"))

    few = max(3, rounds // 8)
    colds = best_batches({name: cold(peer) for name, peer in peers.items()}, few, warm_up=1, runs=1)
    batches = {name: one_by_one(lambda peer=peer: peer(SOURCE)) for name, peer in peers.items()}
    batches["raw C"] = calls(raw.raw_build_binary, handle)  # from the binary, which the caller has to keep
    cached = best_batches(batches, few)
    with mock.patch.dict(os.environ, USMPY_CACHE="0"):  # only files, of a folder of this process
        disk = best_batches({name: batches[name] for name in ("usmpy", "raw C")}, few)
    cached["cold"] = disk["cold"] = colds["usmpy"]
    return [
        Row("build a program, cold", colds.pop("usmpy"), colds, "raw C", None),
        Row("build a program, cached", cached.pop("usmpy"), cached, "cold", 1 / 20),
        Row("build a program, from a file", disk.pop("usmpy"), disk, "cold", 1 / 20),
    ]


def host_traced_rows(usmpy: ModuleType, only: str, rounds: int) -> list[Row]:
    device = usmpy.Device("host")
    queue = usmpy.Queue(device)
    x, y = (usmpy.zeros(ELEMENTS, dtype="float32", queue=queue) for _ in range(2))
    plain = usmpy.Program(PLAIN, device=device, language="portable")["plain"]
    names = {"usmpy": usmpy, "plain": plain, "r": usmpy.Range(ELEMENTS), "x": x, "y": y, "queue": queue}
    loop = f"for _ in range({LAUNCHES}): plain[r](x, y, 2.0)\nqueue.wait()"
    return traced_rows(usmpy, Peer("usmpy", {"launch": loop}, names), only, rounds)


def host_rows(usmpy: ModuleType, raw: ctypes.CDLL, rounds: int) -> list[Row]:
    device, n, threads = usmpy.Device("host"), HOST_ELEMENTS, os.cpu_count() or 1
    # Both work on one piece of memory: where it lies in the caches makes more of a difference than the loops.
    raw_x, raw_y = np.ones(n, dtype=np.float32), np.ones(n, dtype=np.float32)
    x, y = usmpy.from_dlpack(raw_x), usmpy.from_dlpack(raw_y)
    rows = []
    sources = (("y += a * x", PLAIN, "plain"), ("y = sqrt(x * x + a) / (sqrt(y) + a)", HEAVY, "heavy"))
    for heavy, (what, source, function) in enumerate(sources):
        kernel = usmpy.Program(source, device=device, language="portable")[function]
        address = [array.ctypes.data for array in (raw_x, raw_y)]
        loop = f"raw.raw_loop({address[0]}, {address[1]}, 0.5, {n}, {heavy}, {threads})"
        names = {"raw": raw, "kernel": kernel, "r": usmpy.Range(n), "x": x, "y": y}
        candidates = {
            "usmpy": timeit.Timer("kernel[r](x, y, 0.5).wait()", globals=names).timeit,
            "raw C, all processors": timeit.Timer(loop, globals=names).timeit,
        }
        taken = timed_batches(candidates, 4 * rounds)
        best = {name: best_sixth(seconds) for name, seconds in taken.items()}
        mine = best.pop("usmpy")
        rows.append(
            Row(
                f"portable kernel, {n >> 20} M float32, {what}", mine, best, "raw C, all processors", 1 / 0.95
            )
        )
    return rows


def arguments_of(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures here, too; - for standard output")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that it runs, gives no figures"
    )
    parser.add_argument("--only", metavar="WORDS", default="", help="only rows whose name has these words")
    return parser


def refuse_slow_build(parser: argparse.ArgumentParser, quick: bool) -> None:
    from usmpy import _core

    if hasattr(_core, "_live_counts") and not quick:
        parser.error(
            f"{_core.__file__} is built for tests (USMPY_TESTING=1) and slower; install a release build"
        )


def main() -> None:
    parser = arguments_of(__doc__)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        find_drivers(folder)
        os.environ.setdefault("USMPY_CACHE_DIR", os.path.join(folder, "cache"))
        os.environ.setdefault("XDG_CACHE_HOME", os.path.join(folder, "others"))
        import usmpy

        refuse_slow_build(parser, arguments.quick)
        rounds = 3 if arguments.quick else 60
        raw = raw_functions(folder)
        rows = []
        for device in usmpy.get_devices("opencl"):
            of_driver = driver_rows(usmpy, raw, device, arguments.only, rounds)
            rows += [dataclasses.replace(row, name=f"{vendor(device)}: {row.name}") for row in of_driver]
        host = host_traced_rows(usmpy, arguments.only, rounds)
        rows += [dataclasses.replace(row, name=f"host: {row.name}") for row in host]
        if arguments.only in "portable kernel":
            rows += host_rows(usmpy, raw, rounds)
        modules = [
            sys.modules[name] for name in ("usmpy", "numpy", "pyopencl", "dpctl") if name in sys.modules
        ]
        report("Launches, and what stands around them", rows, modules, arguments.json, arguments.markdown)


def vendor(device: Any) -> str:
    return "PoCL" if device.name.startswith(("pthread-", "cpu-")) else device.vendor.partition("(")[0].strip()


if __name__ == "__main__":
    main()
