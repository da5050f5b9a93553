"""Writes the tables of docs/exchange.md, by running every exchange that they are about.

    python docs/make_exchange_matrix.py            write them; every library has to be there
    python docs/make_exchange_matrix.py --check    compare them with what runs here; 1 where a cell differs

In place: the address on both sides is the same. Ordered: what was submitted before the exchange, and is held
up until it has begun, is seen by the other side. The table of GPUs is from docs/gpu-report.md.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import pathlib
import re
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

from matrix_opencl import pyopencl_cells
from matrix_rows import COUNT, IN, OUT, In, Out

import usmpy

DOCS = pathlib.Path(__file__).resolve().parent
PAGE = DOCS / "exchange.md"
BEGIN, END = "<!-- matrix: begin -->\n", "<!-- matrix: end -->\n"
HELD_S = 0.1  # an exchange that waits for nothing is over long before
PACKAGES = (
    *("numpy", "torch", "jax", "apache-tvm-ffi", "numba", "pyarrow", "mpi4py", "ml_dtypes", "pyopencl"),
)
PLACES = ("host", "Intel's OpenCL", "PoCL")
INTO, FROM = "From a library to usmpy", "From usmpy to a library"
COLUMNS = {INTO: (*PLACES, "writable", "ordered"), FROM: (*PLACES, "ordered")}

GPU_TABLE = "Arrays on NVIDIA's GPUs"
# The peers of tests/gpu/gpu_peers.py, all of which are in place both ways in tests/gpu/test_gpu_exchange.py.
GPU_ROWS = (
    ("CuPy", "usmpy.from_dlpack(theirs)", "cupy.from_dlpack(x)"),
    ("PyTorch", "usmpy.from_dlpack(theirs)", "torch.from_dlpack(x)"),
    ("JAX", "usmpy.from_dlpack(theirs)", "jax.dlpack.from_dlpack(x)"),
    ("Numba", "usmpy.asarray(theirs)", "cuda.as_cuda_array(x, sync=False)"),
    ("cuda.core", "usmpy.from_dlpack(theirs)", "StridedMemoryView.from_any_interface(x, stream_ptr=...)"),
)

Cells = dict[tuple[str, str, str], str]  # (table, row, column); a row begins "library | call"


def places() -> dict[str, usmpy.Device]:
    found = {"host": usmpy.Device("host")}
    with contextlib.suppress(usmpy.UsmError):
        for device in usmpy.get_devices("opencl", "cpu"):
            found.setdefault(PLACES[1] if device.has_usm_system else PLACES[2], device)
    return found


def there(needs: tuple[str, ...]) -> bool:
    for name in needs:
        try:
            importlib.import_module(name)
        except (ImportError, RuntimeError):  # RuntimeError: mpi4py without an MPI library
            return False
    return True


def said(call: Callable[[], str]) -> str:
    """What the call finds, or the error that it raises."""
    try:
        return call()
    except (BufferError, TypeError, ValueError) as error:
        return f"`{type(error).__name__}`"


def held(work: Callable[[threading.Event], Any]) -> Any:
    """What `work` returns, given an event that is set a moment after it has begun."""
    gate = threading.Event()
    timer = threading.Timer(HELD_S, gate.set)
    timer.start()
    try:
        return work(gate)
    finally:
        gate.set()
        timer.join()


def run_in(row: In, found: dict[str, usmpy.Device]) -> dict[str, str]:
    cells = {}
    for place, device in found.items():
        if place != "host" and not row.elsewhere:
            cells[place] = ""
            continue

        def taken(device: Any = None if place == "host" else device) -> str:
            theirs = row.make()
            x = row.take(theirs, device)
            assert [float(value) for value in x.tolist()] == list(range(COUNT))
            return "in place" if x.data_ptr == row.address(theirs) else "copy"

        cells[place] = said(taken)
    if "`" in cells["host"]:
        return cells | {"writable": "", "ordered": ""}
    cells["writable"] = "yes" if row.take(row.make(), None).flags.writable else "no"
    cells["ordered"] = "at once"
    if row.pending is not None:
        values = held(lambda gate: row.take(row.pending(gate), None).tolist())
        cells["ordered"] = "yes" if values == [7] * COUNT else "no"
    if row.since is not None:
        cells[row.since.column] = row.since.text(cells[row.since.column])
    return cells


def run_out(row: Out, found: dict[str, usmpy.Device]) -> dict[str, str]:
    cells, orders = {}, set()
    for place, device in found.items():

        def shown(device: Any = device) -> str:
            x = usmpy.ones(COUNT, dtype=row.dtype, queue=usmpy.Queue(device))
            theirs = row.take(x)
            assert row.first(theirs) == 1
            return "in place" if row.address(theirs) == x.data_ptr else "copy"

        def ordered(gate: threading.Event, device: Any = device) -> bool:
            seven = usmpy.full(COUNT, 7, dtype=row.dtype, queue=usmpy.Queue(device))
            x = usmpy.zeros(COUNT, dtype=row.dtype, queue=seven.queue)
            x.wait()
            x.queue.memcpy(x, seven, depends=[x.queue.host_task(gate.wait, 10)])
            return row.first(row.take(x)) == 7

        cells[place] = said(shown)
        if "`" not in cells[place]:
            orders.add(held(ordered))
    cells["ordered"] = {True: "yes", False: "no"}[orders == {True}]
    return cells


def run() -> Cells:
    cells: Cells = {}
    found = places()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries about themselves
        for table, rows, work in ((INTO, IN, run_in), (FROM, OUT, run_out)):
            for row in rows:
                if there(row.needs):
                    for column, text in work(row, found).items():
                        cells[table, f"{row.library} | `{row.call}`", column] = text
        if there(("pyopencl", "numpy")):
            for (table, row, place), text in pyopencl_cells(found, held).items():
                cells[table, row, place] = text
    return cells


def versions() -> str:
    found = []
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found)


def render(cells: Cells) -> str:
    lines = []
    for table, columns in COLUMNS.items():
        lines += [f"### {table}", "", f"| library | call | {' | '.join(columns)} |"]
        lines.append("| --- " * (2 + len(columns)) + "|")
        for row in dict.fromkeys(row for name, row, _ in cells if name == table):
            lines.append(
                f"| {row} | {' | '.join(cells.get((table, row, column), '') for column in columns)} |"
            )
        lines.append("")
    lines += [f"Run with {versions()}.", "", *gpu_table(), ""]
    return "\n".join(lines)


def gpu_table() -> list[str]:
    report = dict(re.findall(r"^\| (\w+) \| (.*?) \|$", (DOCS / "gpu-report.md").read_text("utf-8"), re.M))
    lines = [
        f"### {GPU_TABLE}",
        "",
        "| library | into usmpy | | from usmpy | |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [f"| {name} | `{into}` | in place | `{out}` | in place |" for name, into, out in GPU_ROWS]
    lines += ["", f"As of the [run on a GPU](gpu-report.md) of {report['date']}: {report['libraries']}."]
    return lines


def committed() -> Cells:
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    cells: Cells = {}
    table = ""
    for line in text.splitlines():
        if line.startswith("### "):
            table = line[4:]
        elif table in COLUMNS and line.startswith("| ") and not line.startswith(("| ---", "| library")):
            library, call, *values = [cell.strip() for cell in line.strip("|").split(" | ")]
            for column, value in zip(COLUMNS[table], values, strict=True):
                cells[table, f"{library} | {call}", column] = value
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    if not check:
        missing = [row.library for row in (*IN, *OUT) if not there(row.needs)]
        missing += [place for place in PLACES if place not in places()]
        if missing:
            print(f"not here: {', '.join(missing)}", file=sys.stderr)
            return 2
    cells = run()
    if not check:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + render(cells) + END + rest.partition(END)[2], encoding="utf-8")
        return 0
    page = committed()
    wrong = {key for key, text in cells.items() if page.get(key) != text}
    for key in sorted(wrong):
        print(f"{' | '.join(key)}: the page has {page.get(key)!r}, and running gives {cells[key]!r}")
    rows = {key[:2] for key in cells}
    print(f"{len(cells)} cells compared; rows that did not run: {sorted({k[:2] for k in page} - rows)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
