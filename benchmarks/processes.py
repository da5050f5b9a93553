"""Arrays between processes: usmpy beside NumPy and PyTorch.

    python benchmarks/processes.py               the table
    python benchmarks/processes.py --json FILE   and the figures as JSON (- for standard output)
    python benchmarks/processes.py --markdown    the table of benchmarks/README.md
    python benchmarks/processes.py --quick       fewer rounds: to see that it runs, not for figures
    python benchmarks/processes.py --only WORDS  the rows whose names contain WORDS

Each row is one function of ROWS, which returns None where a package is missing. The candidates of a row take
turns, and the best time of each counts. Needs a release build (no USMPY_TESTING), NumPy, and torch 2.13.0 for
the CPU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from timing import Batch, Row, best_batches, report

import usmpy
from usmpy import _core

HERE = str(pathlib.Path(__file__).resolve().parent)
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


ROWS: list[Callable[[int], Row | None]] = [
    shared_through_a_queue,
    by_value_through_a_queue,
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
    modules = [usmpy, *(sys.modules[name] for name in ("numpy", "torch") if name in sys.modules)]
    report("Arrays between processes", rows, modules, options.json, options.markdown)


if __name__ == "__main__":
    main()
