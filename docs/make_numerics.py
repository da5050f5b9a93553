"""Writes the tables of errors of the elementwise functions in docs/numerics-table.md, between its markers.

    python docs/make_numerics.py                           measure every backend of this machine, and write
    python docs/make_numerics.py --print                   the same, without writing
    python docs/make_numerics.py --backend cuda            this column alone (tests/support/backends.py)
    python docs/make_numerics.py --new                     only functions that the page lacks
    python docs/make_numerics.py --print --points 100      fewer numbers, for a first look

A cell is the largest error found, in units in the last place (tests/support/accuracy.py). Columns that are
not measured keep the figures of the page: a machine with another device adds its own.
"""

from __future__ import annotations

import argparse
import pathlib
import platform
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent / "tests" / "support"), str(DOCS.parent / "tests")]

import opencl_drivers  # noqa: E402, F401, I001  shows the drivers before usmpy is imported
from backends import BACKENDS, Absent  # noqa: E402
from accuracy import FUNCTIONS, bound, is_defined, largest_error, with_kernels  # noqa: E402

import usmpy  # noqa: E402

PAGE = DOCS / "numerics-table.md"
BEGIN, END = "<!-- errors: begin -->\n", "<!-- errors: end -->\n"
TYPES = ("float32", "float64", "complex64", "complex128")
HALF = ("float16", "bfloat16")  # computed in float32: one row for all functions
POINTS = 1000  # of each of the kinds of arguments
COLUMNS = {
    "host": "host",
    "opencl-intel": "OpenCL, Intel",
    "opencl-pocl": "OpenCL, PoCL",
    "level-zero-sim": "Level Zero",
    "cuda-software": "CUDA in software",
    "cuda": "CUDA",
}
Page = dict[tuple[str, str, str], str]  # cells by the title of the table, the row and the column


def split() -> tuple[str, str, str]:
    """The text before the tables, the tables, and the text after them."""
    before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    tables, end, after = rest.partition(END)
    return before + begin, tables, end + after


def read(tables: str) -> Page:
    """The cells of the tables."""
    page, title, columns = {}, "", []
    for line in tables.splitlines():
        if line.startswith("###"):
            title, columns = line.strip("# "), []
        elif line.startswith("|") and " --- " not in line:
            row, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            columns = columns or cells
            page |= {(title, row, column): cell for column, cell in zip(columns, cells, strict=True)}
    return page


def describe(queue: usmpy.Queue) -> tuple[str, str]:
    """The device, and what computes its functions."""
    device, x = queue.device, usmpy.ones(1, dtype="float32", queue=queue)
    by = usmpy.explain_operation("exp", x).partition("by: ")[2]
    by = "the built-in kernels" if by.startswith("built-in") else re.sub(r"/\S*/", "", by)
    driver = " ".join(platform.libc_ver()) if device.backend == "host" else device.driver_version
    return f"{device.name}, {driver}", by


def new(page: Page) -> list[str]:
    """Functions that the page lacks."""
    return [name for name in FUNCTIONS if not any(row == f"`{name}`" for _, row, _ in page)]


def measure(column: str, queue: usmpy.Queue, points: int, page: Page, functions: list[str]) -> None:
    if functions == FUNCTIONS:
        for name, text in zip(("device", "computed by"), describe(queue), strict=True):
            page["Devices", column, name] = text
    for dtype in (*TYPES, *HALF):
        if dtype in ("float64", "complex128") and not queue.device.has_fp64:
            continue
        half = ("float16 and bfloat16", f"`{dtype}`", column)
        worst = 0.0 if functions == FUNCTIONS else float(page.get(half, "0"))
        for name in functions:
            if not is_defined(name, dtype):
                continue
            error = largest_error(name, dtype, queue, points)
            worst = max(worst, error)
            if dtype in TYPES:
                page[dtype, f"`{name}`", column] = f"{error:.2f}"
            if error > bound(name, dtype):
                print(f"{column}: {name} of {dtype}: {error:.2f} is above the bound {bound(name, dtype)}")
        if dtype in HALF:
            page[half] = f"{worst:.2f}"
        print(f"{column}: {dtype}", flush=True)


def write(page: Page) -> str:
    columns = [title for title in COLUMNS.values() if ("Devices", title, "device") in page]
    lines = ["### Devices\n\n", "| column | device | computed by |\n", "| --- | --- | --- |\n"]
    for column in columns:
        cells = (page["Devices", column, name] for name in ("device", "computed by"))
        lines.append(f"| {column} | {' | '.join(cells)} |\n")

    def table(title: str, rows: dict[str, str]) -> None:
        lines.append(f"\n### {title}\n\n| function | bound | {' | '.join(columns)} |\n")
        lines.append(f"| --- |{' --- |' * (1 + len(columns))}\n")
        for row, limit in rows.items():
            cells = (page.get((title, row, column), "–") for column in columns)
            lines.append(f"| {row} | {limit} | {' | '.join(cells)} |\n")

    for dtype in TYPES:
        table(
            dtype, {f"`{name}`": f"{bound(name, dtype):g}" for name in FUNCTIONS if is_defined(name, dtype)}
        )
    limits = [max(bound(name, dtype) for name in FUNCTIONS if is_defined(name, dtype)) for dtype in HALF]
    table(
        "float16 and bfloat16",
        {f"`{dtype}`": f"{limit:g}" for dtype, limit in zip(HALF, limits, strict=True)},
    )
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", nargs="+", choices=COLUMNS, help="without it, all of this machine")
    parser.add_argument("--points", type=int, default=POINTS, help="of each kind of arguments (%(default)s)")
    parser.add_argument("--new", action="store_true", help="only functions that the page lacks")
    parser.add_argument("--print", action="store_true", help="write nothing")
    options = parser.parse_args()
    before, tables, after = split()
    page = read(tables)
    functions = new(page) if options.new else FUNCTIONS
    for backend in BACKENDS if functions else ():
        if backend.name not in (options.backend or COLUMNS):
            continue
        try:
            queue = with_kernels(usmpy.Queue(backend.device()))
        except Absent as absent:
            print(f"{backend.name}: {absent}")
            continue
        measure(COLUMNS[backend.name], queue, options.points, page, functions)
    if options.print:
        print(write(page))
    else:
        PAGE.write_text(f"{before}\n{write(page)}\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
