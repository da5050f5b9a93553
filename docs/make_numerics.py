"""Writes the table of errors of the elementwise functions in docs/numerics-table.md, between its markers.

    python docs/make_numerics.py             measure on all processors of this machine, and write
    python docs/make_numerics.py --print     the same, without writing
    python docs/make_numerics.py --print --device cuda    on another device

A cell is the largest error found on any of the devices, in units in the last place (tests/accuracy.py).
"""

from __future__ import annotations

import argparse
import pathlib
import sys

DOCS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from accuracy import FUNCTIONS, bound, is_defined, largest_error  # noqa: E402

import usmpy  # noqa: E402

PAGE = DOCS / "numerics-table.md"
BEGIN, END = "<!-- errors: begin -->\n", "<!-- errors: end -->\n"
TYPES = ("float16", "float32", "float64", "complex64", "complex128")
POINTS = 150  # of each of the kinds of arguments


def cell(name: str, dtype: str, queues: list[usmpy.Queue]) -> str:
    if not is_defined(name, dtype):
        return "–"
    return f"{max(largest_error(name, dtype, queue, POINTS) for queue in queues):.2f}"


def table(queues: list[usmpy.Queue]) -> str:
    lines = [f"| function | bound | {' | '.join(TYPES[:3])} | bound, complex | {' | '.join(TYPES[3:])} |\n"]
    lines.append(f"|{' --- |' * (3 + len(TYPES))}\n")
    for name in FUNCTIONS:
        real, complex_ = (
            f"{bound(name, dtype):g}" if is_defined(name, dtype) else "–"
            for dtype in ("float64", "complex128")
        )
        cells = [cell(name, dtype, queues) for dtype in TYPES]
        row = (f"`{name}`", real, *cells[:3], complex_, *cells[3:])
        lines.append(f"| {' | '.join(row)} |\n")
        print(lines[-1], end="", flush=True)
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", help="a filter string; without it, every processor")
    parser.add_argument("--print", action="store_true", help="write nothing")
    options = parser.parse_args()
    devices = [usmpy.Device(options.device)] if options.device else usmpy.get_devices(device_type="cpu")
    found = table([usmpy.Queue(device) for device in devices])
    if not options.print:
        text = PAGE.read_text(encoding="utf-8")
        before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        PAGE.write_text(f"{before}\n{found}\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
