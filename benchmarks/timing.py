"""How benchmarks of this folder measure: candidates in turn, in one process, and ratios of their best times.

These machines are noisy: a single figure says little. Every candidate of a row runs in short batches, one
after the other, many rounds over, so that all of them see the same weather; the best batch of each counts,
since noise only adds.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
import sys
import timeit
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

BATCH_SECONDS = 0.004  # long against the clock, short against the weather

Batch = Callable[[int], float]  # takes a number of runs; returns the seconds that they took


@dataclasses.dataclass
class Row:
    """One line of the table: our time against the first of the peers that `target` names.

    Times are seconds a call. `limit` is the largest ratio (or, without a target, the most seconds) that
    docs/design.md allows. `also` has the limits for more peers, where one is not all.
    """

    name: str
    ours: float
    peers: dict[str, float]
    target: str | None
    limit: float | None
    unit: str = "s"
    also: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        return self.ours / self.peers[self.target] if self.target is not None else None

    @property
    def reached(self) -> bool | None:
        if self.limit is None:
            return None
        first = (self.ours if self.ratio is None else self.ratio) <= self.limit
        return first and all(self.ours <= limit * self.peers[peer] for peer, limit in self.also.items())


def timed_batches(
    candidates: dict[str, Batch], rounds: int, warm_up: int = 3, runs: int = 0
) -> dict[str, list[float]]:
    """Seconds a run of each candidate in each of `rounds` batches, taken in turn.

    They are of `runs` runs, or of as many as take a moment together.
    """
    counts = dict.fromkeys(candidates, runs)
    for name, batch in candidates.items():
        batch(warm_up)  # first calls fill caches and start threads
        if runs == 0:
            count = 1
            while (seconds := batch(count)) < BATCH_SECONDS / 4:
                count *= 4
            counts[name] = max(1, int(count * BATCH_SECONDS / max(seconds, 1e-9)))
    seconds_of: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, batch in candidates.items():
            seconds_of[name].append(batch(counts[name]) / counts[name])
    return seconds_of


def best_batches(
    candidates: dict[str, Batch], rounds: int, warm_up: int = 3, runs: int = 0
) -> dict[str, float]:
    """Seconds a run of each candidate in the best of its batches."""
    return {name: min(every) for name, every in timed_batches(candidates, rounds, warm_up, runs).items()}


def best_sixth(seconds: list[float]) -> float:
    """Where times stay at one of a few levels, one best batch is luck, and most batches are the weather."""
    return statistics.fmean(sorted(seconds)[: max(1, len(seconds) // 6)])


def best_times(candidates: dict[str, str], names: dict[str, Any], rounds: int) -> dict[str, float]:
    """The same for statements, not functions: a call of a function would be a third of what is measured."""
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in candidates.items()}
    return best_batches({name: timer.timeit for name, timer in timers.items()}, rounds)


def show_time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def show(value: float, unit: str) -> str:
    return (
        show_time(value)
        if unit == "s"
        else f"{value / 1e9:.1f} GB/s"
        if unit == "B/s"
        else f"{value / 1e3:.0f} kB"
    )


def show_limit(row: Row) -> str:
    if row.limit is None:
        return ""
    if row.also:
        return ", ".join(f"{name} ≤ {limit:.2f}" for name, limit in row.also.items())
    return f"≤ {row.limit:.2f}" if row.target is not None else f"≤ {show(row.limit, row.unit)}"


def cells(row: Row) -> list[str]:
    peers = ", ".join(f"{name} {show(value, row.unit)}" for name, value in row.peers.items())
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    if row.also:
        ratio = ", ".join(f"{name} {row.ours / row.peers[name]:.2f}" for name in row.also)
    reached = {True: "yes", False: "NO", None: ""}[row.reached]
    return [row.name, show(row.ours, row.unit), peers, ratio, show_limit(row), reached]


HEADERS = ["what", "usmpy", "peers in the same run", "ratio", "target", "reached"]


def machine() -> str:
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{model}, {os.cpu_count()} processors, {system}"


def versions(modules: list[Any]) -> str:
    return ", ".join(f"{module.__name__} {module.__version__}" for module in modules)


def report(title: str, rows: list[Row], modules: list[Any], json_path: str | None, markdown: bool) -> None:
    """The table for people, and the same figures for programs."""
    if markdown:
        print(f"{machine()}; {versions(modules)}\n")
        print("| " + " | ".join(HEADERS) + " |\n|" + " --- |" * len(HEADERS))
        for row in rows:
            print("| " + " | ".join(cells(row)) + " |")
    else:
        table = Table(title=title, caption=f"{machine()}\n{versions(modules)}", title_justify="left")
        for header in HEADERS:
            table.add_column(header, overflow="fold")
        for row in rows:
            table.add_row(*cells(row))
        size = {} if sys.stdout.isatty() else {"width": 150, "height": 60}
        Console(highlight=False, **size).print(table)
    if json_path is not None:
        result = {
            "title": title,
            "machine": machine(),
            "versions": {module.__name__: module.__version__ for module in modules},
            "rows": [{**dataclasses.asdict(row), "ratio": row.ratio, "reached": row.reached} for row in rows],
        }
        text = json.dumps(result, indent=2, ensure_ascii=False)
        if json_path == "-":
            print(text)
        else:
            with open(json_path, "w", encoding="utf-8") as file:
                file.write(text + "\n")
