"""The rows of docs/design.md, section 8, that need no GPU: usmpy beside its peers, in one run.

    python benchmarks/exchange.py                  the table
    python benchmarks/exchange.py --json FILE      and the figures as JSON (- for standard output)
    python benchmarks/exchange.py --markdown       the table of benchmarks/README.md
    python benchmarks/exchange.py --quick          fewer rounds: to see that it runs, not for figures

Needs a release build (no USMPY_TESTING) with the extra "bench", and a C compiler for the raw loops.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import jax
import numpy as np
import raw
import torch
import tvm_ffi
from timing import Row, best_times, report

import usmpy
from usmpy import _core

HERE = pathlib.Path(__file__).resolve().parent
LARGE = 256 << 20  # bytes


# Name, our statement, statements of peers; the peer whose ratio counts, and how large it may be.
EXCHANGE: list[tuple[str, str, dict[str, str], str | None, float | None]] = [
    (
        "usmpy.from_dlpack(numpy)",
        "usmpy.from_dlpack(a)",
        {
            "numpy": "np.from_dlpack(a)",
            "tvm-ffi": "tvm_ffi.from_dlpack(a)",
            "torch": "torch.from_dlpack(a)",
            "jax": "jax.dlpack.from_dlpack(a)",
        },
        "numpy",
        0.65,
    ),
    (
        "usmpy.from_dlpack(torch)",
        "usmpy.from_dlpack(t)",
        {
            "tvm-ffi": "tvm_ffi.from_dlpack(t)",
            "numpy": "np.from_dlpack(t)",
            "torch": "torch.from_dlpack(t)",
            "jax": "jax.dlpack.from_dlpack(t)",
        },
        "tvm-ffi",
        0.55,
    ),
    (
        "usmpy.from_dlpack(usmpy)",
        "usmpy.from_dlpack(u)",
        {"np.from_dlpack(numpy)": "np.from_dlpack(a)"},
        "np.from_dlpack(numpy)",
        0.5,
    ),
    (
        "x.__dlpack__(max_version=(1, 1))",
        "u.__dlpack__(max_version=version)",
        {"numpy": "a.__dlpack__(max_version=version)", "torch": "t.__dlpack__(max_version=version)"},
        "numpy",
        1.0,
    ),
    (
        "x.__dlpack__()",
        "u.__dlpack__()",
        {"numpy": "a.__dlpack__()", "torch": "t.__dlpack__()"},
        "numpy",
        None,
    ),
    (
        "np.from_dlpack(usmpy)",
        "np.from_dlpack(u)",
        {"of numpy": "np.from_dlpack(a)", "of torch": "np.from_dlpack(t)"},
        "of numpy",
        1.0,
    ),
    (
        "torch.from_dlpack(usmpy)",
        "torch.from_dlpack(u)",
        {"of numpy": "torch.from_dlpack(a)", "of torch": "torch.from_dlpack(t)"},
        "of numpy",
        1.0,
    ),
    (
        "tvm_ffi.from_dlpack(usmpy)",
        "tvm_ffi.from_dlpack(u)",
        {"of torch": "tvm_ffi.from_dlpack(t)", "of numpy": "tvm_ffi.from_dlpack(a)"},
        "of torch",
        None,
    ),
    (
        "jax.dlpack.from_dlpack(usmpy)",
        "jax.dlpack.from_dlpack(u)",
        {"of numpy": "jax.dlpack.from_dlpack(a)"},
        "of numpy",
        None,
    ),
    ("memoryview(x)", "memoryview(u)", {"numpy": "memoryview(a)"}, "numpy", 1.0),
    ("x[1:5]", "u[1:5]", {"numpy": "a[1:5]", "torch": "t[1:5]"}, "numpy", 1.0),
    (
        "empty(1024), and free",
        "usmpy.empty(1024)",
        {"numpy": "np.empty(1024)", "torch": "torch.empty(1024)"},
        "numpy",
        0.8,
    ),
    ("barrier on an idle host queue", "queue.barrier()", {}, None, 1e-6),
    ("memcpy of 8 KiB on an idle host queue", "queue.memcpy(x, y)", {}, None, 1e-6),
]

# Seconds for the same bytes: 0.9 of the best peer's speed is 1 / 0.9 of its time.
LARGE_COPIES: list[tuple[str, str, dict[str, str]]] = [
    (
        "memcpy of 256 MiB",
        "queue.memcpy(y, x).wait()",
        {
            "numpy": "np.copyto(target, source)",
            "raw C, all processors": "raw.raw_copy(to, from_, n, threads)",
            "torch": "torch_target.copy_(torch_source)",
        },
    ),
    (
        "fill of 256 MiB",
        "queue.fill(y, 7).wait()",
        {
            "numpy": "target.fill(7)",
            "raw C, all processors": "raw.raw_fill(to, 7, n, threads)",
            "torch": "torch_target.fill_(7)",
        },
    ),
]


def exchange_rows(rounds: int) -> list[Row]:
    a = np.arange(1024, dtype=np.float32)
    queue = usmpy.Queue()
    names = {
        **{module.__name__: module for module in (usmpy, torch, jax, tvm_ffi)},
        "np": np,
        "a": a,
        "t": torch.arange(1024, dtype=torch.float32),
        "u": usmpy.from_dlpack(a).copy(),
        "version": (1, 1),
        "queue": queue,
        "x": usmpy.empty(2048, dtype="float32", queue=queue),
        "y": usmpy.empty(2048, dtype="float32", queue=queue),
    }
    rows = []
    for name, ours, peers, target, limit in EXCHANGE:
        best = best_times({"usmpy": ours, **peers}, names, rounds)
        rows.append(Row(name, best.pop("usmpy"), best, target, limit))
    return rows


def large_rows(rounds: int) -> list[Row]:
    n = LARGE // 4
    source, target = np.ones(n, dtype=np.uint32), np.zeros(n, dtype=np.uint32)
    x, y = usmpy.ones(n, dtype="uint32"), usmpy.zeros(n, dtype="uint32")
    names = {
        "np": np,
        "queue": x.queue,
        "x": x,
        "y": y,
        "source": source,
        "target": target,
        "torch_source": torch.from_dlpack(source),
        "torch_target": torch.from_dlpack(target),
        "to": target.ctypes.data,
        "from_": source.ctypes.data,
        "n": n,
        "threads": os.cpu_count() or 1,
    }
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        names["raw"] = raw.build(folder)
        for name, ours, peers in LARGE_COPIES:
            best = best_times({"usmpy": ours, **peers}, names, rounds)
            mine = best.pop("usmpy")
            fastest = min(("numpy", "raw C, all processors"), key=best.__getitem__)
            rows.append(Row(name, mine, best, fastest, 1 / 0.9))
    return rows


def import_row(rounds: int) -> Row:
    """Seconds that `import usmpy` adds to a bare interpreter: processes in turn, the best of each."""
    best = {"pass": float("inf"), "import usmpy": float("inf"), "import numpy": float("inf")}
    # Without site, whose .pth files import modules; away from the clone, whose sources would be found first.
    paths = [pathlib.Path(module.__file__).parent.parent for module in (usmpy, np)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    for _ in range(rounds):
        for code in best:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-S", "-c", code], check=True, env=environment, cwd="/")
            best[code] = min(best[code], time.perf_counter() - start)
    bare = best["pass"]
    return Row(
        "import usmpy, over a bare interpreter",
        best["import usmpy"] - bare,
        {"numpy": best["import numpy"] - bare, "bare interpreter": bare},
        None,
        0.010,
    )


def wheel_row() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            folder,
            HERE.parent,
        ]
        environment = {name: value for name, value in os.environ.items() if name != "USMPY_TESTING"}
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        return Row("wheel", wheel.stat().st_size, {}, None, 2.2e6, unit="B")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", metavar="FILE", help="write the figures here, too; - for standard output")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument(
        "--quick", action="store_true", help="few rounds: shows that it runs, gives no figures"
    )
    arguments = parser.parse_args()
    if hasattr(_core, "_live_counts") and not arguments.quick:
        parser.error(
            f"{_core.__file__} is built for tests (USMPY_TESTING=1) and slower; install a release build"
        )
    rounds = 3 if arguments.quick else 60
    rows = exchange_rows(rounds) + large_rows(max(3, rounds // 4)) + [import_row(max(3, rounds // 2))]
    if not arguments.quick:
        rows.append(wheel_row())
    title = "The exchange, and what stands around it"
    report(title, rows, [usmpy, np, torch, jax, tvm_ffi], arguments.json, arguments.markdown)


if __name__ == "__main__":
    main()
