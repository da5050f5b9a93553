"""Array functions beside NumPy, and beside dpnp on the same OpenCL device, in one run.

    python benchmarks/arrays.py [--json FILE] [--markdown] [--quick] [--only WORDS] [--place NAME]

Copies of 64 MiB, strided, transposed and with a cast, against the contiguous copy of as many bytes and
against NumPy; functions that join and move data; and what a function costs whose arrays are small. dpnp is a
peer where it is installed (the extra `bench-arrays`).
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time
import timeit
from typing import Any


def show_intel() -> None:
    """Intel's runtime of this environment, where OpenCL's loader does not look for it by itself."""
    library = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"
    if library.is_file() and "OCL_ICD_VENDORS" not in os.environ:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="usmpy-opencl-"))
        for listed in pathlib.Path("/etc/OpenCL/vendors").glob("*.icd"):
            shutil.copy(listed, folder)
        (folder / "intel.icd").write_text(f"{library}\n")
        os.environ["OCL_ICD_VENDORS"] = str(folder)
        import atexit

        atexit.register(shutil.rmtree, folder, ignore_errors=True)


show_intel()

import numpy as np  # noqa: E402
import raw  # noqa: E402
import timing  # noqa: E402
from timing import Row  # noqa: E402

import usmpy  # noqa: E402

try:
    import dpnp
except ImportError:
    dpnp = None

# What is copied, as NumPy says it: destination, source. n: elements of 4 bytes in 64 MiB. The first line is
# what the others are measured by; those with `True` have runs of 64 bytes or more on both sides.
CONTIGUOUS = "contiguous"
COPIES = [
    (CONTIGUOUS, True, "empty(n, f4)", "ones(n, f4)"),
    ("every other 64 bytes", True, "empty((n // 16, 16), f4)", "ones((n // 16, 2, 16), f4)[:, 0]"),
    ("every other 256 bytes", True, "empty((n // 64, 64), f4)", "ones((n // 64, 2, 64), f4)[:, 0]"),
    ("into every other 64 bytes", True, "empty((n // 16, 2, 16), f4)[:, 0]", "ones((n // 16, 16), f4)"),
    ("into a frame of rows", True, "empty((4200, 4200), f4)[50:4146, 50:4146]", "ones((4096, 4096), f4)"),
    ("rows of 4 KiB from behind", True, "empty((n // 1024, 1024), f4)", "ones((n // 1024, 1024), f4)[::-1]"),
    ("axes swapped, 64 bytes", True, "empty((1024, 1024, 16), f4)", "swap(ones((1024, 1024, 16), f4))"),
    ("axes swapped, 256 bytes", True, "empty((512, 512, 64), f4)", "swap(ones((512, 512, 64), f4))"),
    ("cast float32 to float64", True, "empty(n // 2, f8)", "ones(n // 2, f4)"),
    ("cast float64 to float32", True, "empty(n, f4)", "ones(n, f8)"),
    ("cast int32 to float32", True, "empty(n, f4)", "ones(n, i4)"),
    ("cast float32 to int32", True, "empty(n, i4)", "ones(n, f4)"),
    ("cast int64 to int32", True, "empty(n, i4)", "ones(n, i8)"),
    ("cast uint8 to float32", True, "empty(n, f4)", "ones(n, u1)"),
    ("transposed, float32", False, "empty((4096, 4096), f4)", "ones((4096, 4096), f4).T"),
    ("transposed, float64", False, "empty((2048, 4096), f8)", "ones((4096, 2048), f8).T"),
    ("transposed, uint8", False, "empty((8192, 8192), u1)", "ones((8192, 8192), u1).T"),
    ("transposed, float32 to float64", False, "empty((2048, 4096), f8)", "ones((4096, 2048), f4).T"),
    ("every other float32", False, "empty(n, f4)", "ones(2 * n, f4)[::2]"),
    ("float32 from behind", False, "empty(n, f4)", "ones(n, f4)[::-1]"),
]

# Bytes of a run where as many lie between two: a C loop on all processors is a peer on the host, with memory
# asked for ahead and without. What it takes, the processor takes to read memory in this way.
GAPS = {"every other 64 bytes": 64, "every other 256 bytes": 256}
AHEAD = {"raw C": 0, "raw C, 8 KiB ahead": 8 << 10}
# These are also measured this many at a time: the last cache of large machines holds part of a copy.
AGAIN = 10

# On 16 MiB; x and y are float32, i an index array. None of them may be slower than the peer.
MOVES = [
    ("concat, axis 0", "concat([x, y])"),
    ("concat, axis 1", "concat([x2, y2], axis=1)"),
    ("stack, axis 0", "stack([x, y])"),
    ("stack, last axis", "stack([x, y], axis=-1)"),
    ("repeat, each element", "repeat(x, 4)"),
    ("repeat, rows", "repeat(x2, 4, axis=0)"),
    ("roll", "roll(x, 1000)"),
    ("roll, axis 1", "roll(x2, 7, axis=1)"),
    ("take, elements", "take(x, i)"),
    ("take, rows", "take(x2, rows, axis=0)"),
]

# Of 1 Mi elements, and of 8 Mi; d and e are float64, m a mask, half of it true, d2 and m2 the same of two
# axes. On the host none may be slower than NumPy.
TRUTHS = [
    ("nonzero of a mask", "nonzero(m)"),
    ("nonzero of a mask of two axes", "nonzero(m2)"),
    ("nonzero of float64", "nonzero(d)"),
    ("elements by a mask", "d[m]"),
    ("elements by a mask of two axes", "d2[m2]"),
    ("a number by a mask", "e[m] = 1"),
    ("count_nonzero of a mask", "count_nonzero(m)"),
    ("count_nonzero of float64", "count_nonzero(d)"),
    ("all of a mask", "all(t)"),
    ("all of float64", "all(d)"),
    ("any, axis 0", "any(m2, axis=0)"),
    ("all, axis 1", "all(m2, axis=1)"),
    ("isnan", "isnan(d)"),
    ("isfinite", "isfinite(d)"),
    ("equal", "equal(d, e)"),
    ("less", "less(d, e)"),
    ("less than a number", "d < 0.5"),
    ("logical_and", "logical_and(m, t)"),
    ("where", "where(m, d, e)"),
]

# What gives its argument back costs what calling a C function does: this one looks at the argument alone.
CALLS = {"asarray(x)": "callable(x)"}

# x is (3, 4) float32, v has 12 elements. The second is NumPy's way where it is another one.
SMALL = [
    ("empty((3, 4), dtype=f4)", None),
    ("zeros((3, 4), dtype=f4)", None),
    ("ones((3, 4), dtype=f4)", None),
    ("full((3, 4), 2.0, dtype=f4)", None),
    ("arange(12, dtype=f4)", None),
    ("linspace(0, 1, 12, dtype=f4)", None),
    ("eye(3, dtype=f4)", None),
    ("empty_like(x)", None),
    ("zeros_like(x)", None),
    ("reshape(x, (4, 3))", None),
    ("permute_dims(x, (1, 0))", None),
    ("matrix_transpose(x)", None),
    ("moveaxis(x, 0, 1)", None),
    ("squeeze(x1, axis=0)", None),
    ("expand_dims(x, axis=0)", None),
    ("flip(x)", None),
    ("broadcast_to(v, (5, 12))", None),
    ("broadcast_arrays(x, x1)", None),
    ("concat([x, x])", None),
    ("stack([x, x])", None),
    ("unstack(x)", None),
    ("roll(v, 3)", None),
    ("repeat(v, 2)", None),
    ("tile(v, (2,))", None),
    ("take(v, i)", None),
    ("tril(x)", None),
    ("astype(x, f8)", None),
    ("astype(x, f8, copy=False)", None),
    ("where(c, x, x)", None),
    ("equal(x, x)", None),
    ("isnan(x)", None),
    ("logical_and(c, c)", None),
    ("logical_or(c, c)", None),
    ("logical_not(c)", None),
    ("all(c)", None),
    ("nonzero(x)", None),
    ("nonzero(v)", None),
    ("asarray(x)", None),
    ("finfo(f4)", None),
    ("iinfo(i4)", None),
    ("isdtype(f4, 'real floating')", None),
    ("result_type(x, f8)", None),
    ("can_cast(f4, f8)", None),
    ("x.copy()", None),
    ("x[1]", None),
    ("x[1:, ::2]", None),
    ("x.T", None),
    ("x[c]", None),
    ("v[i]", None),
    ("x == x", None),
    ("x[...] = 1", None),
    ("x[c] = 1", None),
    ("v[i] = 1", None),
]


def numpy_names() -> dict[str, Any]:
    names = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    return {**names, "f4": np.float32, "f8": np.float64, "i4": np.int32, "i8": np.int64, "u1": np.uint8,
            "swap": lambda x: x.transpose(1, 0, 2)}  # fmt: skip


def our_names(queue: usmpy.Queue) -> dict[str, Any]:
    def create(function: Any) -> Any:
        return lambda shape, dtype: function(shape, dtype=dtype, queue=queue)

    names = {name: getattr(usmpy, name) for name in usmpy.__all__}
    names |= {
        "f4": usmpy.float32,
        "f8": usmpy.float64,
        "i4": usmpy.int32,
        "i8": usmpy.int64,
        "u1": usmpy.uint8,
    }
    return {**names, "empty": create(usmpy.empty), "ones": create(usmpy.ones),
            "swap": lambda x: usmpy.permute_dims(x, (1, 0, 2))}  # fmt: skip


CLOCK = time.perf_counter


def timer(statement: str, names: dict[str, Any]) -> timing.Batch:
    return timeit.Timer(statement, timer=CLOCK, globals=names).timeit


def raw_gaps(run: int, n: int) -> dict[str, timing.Batch]:
    """On memory of its own, of which the caches hold as little as of the others'."""
    if shutil.which(os.environ.get("CC", "gcc")) is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        loops = raw.build(folder)
    threads = len(os.sched_getaffinity(0))

    def batch(ahead: int) -> timing.Batch:
        dst, src = (usmpy.full(size, 1, dtype="float32", device="host") for size in (n, 2 * n))
        dst.wait(), src.wait()
        statement = "copy(dst.data_ptr, src.data_ptr, n, run, ahead, threads)"
        names = {"copy": loops.raw_copy_gaps, "dst": dst, "src": src, "n": n, "run": run}
        return timer(statement, names | {"ahead": ahead, "threads": threads})

    return {name: batch(ahead) for name, ahead in AHEAD.items()}


def copy_rows(place: str, queue: usmpy.Queue, rounds: int, n: int, only: str) -> list[Row]:
    """Our contiguous copy of as many bytes, and on the host NumPy, are the peers; the two of them in turn."""
    rows = []
    for name, runs, dst, src in COPIES:
        if only not in name:
            continue
        ours, theirs = our_names(queue) | {"n": n}, numpy_names() | {"n": n}
        ours |= {"dst": eval(dst, ours), "src": eval(src, ours)}
        theirs |= {"dst": eval(dst, theirs), "src": eval(src, theirs)}
        theirs["dst"][...] = 0  # pages that were never written are no memory yet
        whole = ours["dst"].nbytes + ours["src"].nbytes
        for name_of in "ab":  # written, so that they are memory and not pages to come
            ours[name_of] = usmpy.full(whole // 2, 1, dtype="uint8", queue=queue)
        ours["queue"] = queue
        usmpy.copyto(ours["dst"], ours["src"], casting="unsafe")
        candidates = {
            "usmpy": timer("copyto(dst, src, casting='unsafe'); queue.wait()", ours),
            CONTIGUOUS: timer("copyto(a, b); queue.wait()", ours),
            "numpy": timer("copyto(dst, src, casting='unsafe')", theirs),
        }
        if name == CONTIGUOUS:
            del candidates[CONTIGUOUS]
        if place == "host" and name in GAPS:
            candidates |= raw_gaps(GAPS[name], n)
        limits = {"numpy": 1.0} if place == "host" else {}
        if runs and name != CONTIGUOUS:
            limits[CONTIGUOUS] = 1 / 0.8
        first = next(iter(limits), None)
        for how, run in ("", 1), (", one after another", AGAIN):
            if run > 1 and name not in GAPS:
                continue
            times = timing.best_batches(candidates, max(3, rounds // run), warm_up=1, runs=run)
            title = f"{place}: {name}{how}"
            rows.append(Row(title, times.pop("usmpy"), times, first, limits.get(first), also=limits))
    return rows


def operands(library: Any, n: int, array: Any) -> dict[str, Any]:
    values = np.arange(n, dtype="float32")
    order = np.random.default_rng(1).permutation(n)
    names = {"x": values, "y": values + 1, "x2": values.reshape(-1, 1024), "y2": values.reshape(-1, 1024) + 1}
    names |= {"i": order, "rows": order[order < n // 1024]}
    return {name: array(value) for name, value in names.items()}


def dpnp_names(queue: usmpy.Queue, n: int) -> dict[str, Any] | None:
    """dpnp on the device of this name; None where it is not installed or sees no such device."""
    if dpnp is None:
        return None
    import dpctl

    devices = [
        device
        for device in dpctl.get_devices("opencl")
        if device.name == queue.device.name and device.has_aspect_usm_device_allocations
    ]
    if not devices:
        return None
    names = {name: getattr(dpnp, name) for name in dir(dpnp) if not name.startswith("_")}
    sycl = dpctl.SyclQueue(devices[0])
    return {**names, **operands(dpnp, n, lambda x: dpnp.asarray(x, sycl_queue=sycl)), "queue": sycl}


def move_rows(place: str, queue: usmpy.Queue, rounds: int, n: int, only: str) -> list[Row]:
    ours = our_names(queue) | operands(usmpy, n, lambda x: usmpy.asarray(x, queue=queue, copy=True))
    ours["queue"] = queue
    peers = {"numpy": numpy_names() | operands(np, n, np.array)}
    if place != "host":
        peers["dpnp"] = dpnp_names(queue, n)
    rows = []
    for name, statement in MOVES:
        if only not in name or statement.partition("(")[0] not in ours:
            continue
        candidates = {"usmpy": timer(f"{statement}; queue.wait()", ours)}
        for peer, names in peers.items():
            if names is not None:
                candidates[peer] = timer(statement + ("; queue.wait()" if peer == "dpnp" else ""), names)
        times = timing.best_batches(candidates, rounds, warm_up=2, runs=1)
        target = "numpy" if place == "host" else "dpnp"
        limits = {target: 1.0} if target in candidates else {}
        label = f"{place}: {name}" + ("" if target in candidates else " (dpnp is not installed)")
        rows.append(
            Row(label, times.pop("usmpy"), times, target if limits else None, limits.get(target), also=limits)
        )
    return rows


def truths(library: Any, n: int, array: Any) -> dict[str, Any]:
    values = np.random.default_rng(2).random(n) + 2.0**-60
    names = {"d": values, "e": 1 - values, "m": values > 0.5, "t": np.ones(n, bool)}
    names |= {f"{name}2": names[name].reshape(-1, 1024) for name in "dm"}
    return {name: array(value) for name, value in names.items()}


def truth_rows(place: str, queue: usmpy.Queue, rounds: int, n: int, only: str) -> list[Row]:
    rows = []
    for size in (n, 8 * n):
        ours = our_names(queue) | truths(usmpy, size, lambda x: usmpy.asarray(x, queue=queue, copy=True))
        ours["queue"] = queue
        theirs = numpy_names() | truths(np, size, np.array)
        for name, statement in TRUTHS:
            label = f"{place}: {name}, {size >> 20} Mi"
            if only not in label:
                continue
            candidates = {
                "usmpy": timer(f"{statement}; queue.wait()", ours),
                "numpy": timer(statement, theirs),
            }
            times = timing.best_batches(candidates, rounds, warm_up=2, runs=1)
            limit = 1.0 if place == "host" else None
            rows.append(Row(label, times.pop("usmpy"), times, "numpy", limit))
    return rows


def small_rows(rounds: int, only: str) -> list[Row]:
    values = np.arange(12, dtype="float32")
    names = {"v": values, "x": values.reshape(3, 4), "x1": values.reshape(1, 3, 4)}
    names |= {"c": values.reshape(3, 4) > 3, "i": np.array([1, 5, 2])}
    theirs = numpy_names() | names
    ours = {name: getattr(usmpy, name) for name in usmpy.__all__}
    ours |= {"f4": usmpy.float32, "f8": usmpy.float64, "i4": usmpy.int32}
    ours |= {name: usmpy.asarray(value, device="host", copy=True) for name, value in names.items()}
    rows = []
    for statement, other in SMALL:
        if only not in statement or statement.partition("(")[0].isidentifier() > (
            statement.partition("(")[0] in ours
        ):
            continue
        candidates = {"usmpy": timer(statement, ours), "numpy": timer(other or statement, theirs)}
        if statement in CALLS:
            candidates[CALLS[statement]] = timer(CALLS[statement], theirs)
        times = timing.best_batches(candidates, rounds)
        limit = 0.6 if statement.partition("(")[0] in ours else 1.0  # functions; methods and operators
        rows.append(Row(statement, times.pop("usmpy"), times, "numpy", limit))
    return rows


def places() -> dict[str, usmpy.Queue]:
    found = {"host": usmpy.Queue("host")}
    for device in usmpy.get_devices("opencl", "cpu"):
        found["Intel" if "Intel(R)" in device.vendor else "PoCL"] = usmpy.Queue(device)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="also write the figures; '-' is standard output")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    parser.add_argument("--quick", action="store_true", help="one short round: does it run at all?")
    parser.add_argument("--only", default="", metavar="WORDS", help="rows with these words")
    parser.add_argument(
        "--place", default="", metavar="NAME", help="host, Intel or PoCL alone; small: the last part"
    )
    parser.add_argument("--rounds", type=int, default=20, help="runs of each candidate, in turn")
    parser.add_argument(
        "--processor-time", action="store_true", help="of all threads, on a machine that others use too"
    )
    options = parser.parse_args()
    if options.processor_time:
        global CLOCK
        CLOCK = time.process_time
    rounds, n, m = (1, 1 << 24, 1 << 14) if options.quick else (options.rounds, 1 << 24, 1 << 22)
    usmpy.select_default_device()
    rows = []
    for place, queue in places().items():
        if options.place in place:
            rows += copy_rows(place, queue, rounds, n, options.only)
            rows += move_rows(place, queue, rounds, m, options.only)
            rows += truth_rows(place, queue, rounds, m // 4, options.only)
    if options.place in "small":
        rows += small_rows(rounds, options.only)
    modules = [usmpy, np] + ([dpnp] if dpnp is not None else [])
    timing.report("Array functions", rows, modules, options.json, options.markdown)


if __name__ == "__main__":
    main()
