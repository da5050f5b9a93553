"""Tables and bars: rich on terminals where it is installed, plain text elsewhere (pipes, files)."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

# rich's styles for words in tables; plain text has none.
STYLES = {"ok": "green", "FAILED": "bold red", "skipped": "yellow"}
LEAST = 8  # the smallest width of a column


class Progress(Protocol):
    def __call__(self, what: str) -> None: ...


def _rich() -> Any:
    """The console of rich, or None for plain text."""
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(highlight=False)  # respects NO_COLOR and COLUMNS


def _fit(rows: list[list[str]], width: int) -> list[int]:
    """Widths of columns; the widest ones are reduced until the line fits."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _plain(columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    cells = [list(columns), *([*row] for row in rows)]
    # A pipe has no width: other programs read one line for each row.
    narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    widths = _fit(cells, shutil.get_terminal_size().columns if narrow else sys.maxsize)
    lines = []
    for number, row in enumerate(cells):
        wrapped = [textwrap.wrap(cell, widths[i]) or [""] for i, cell in enumerate(row)]
        for k in range(max(map(len, wrapped))):
            parts = [part[k] if k < len(part) else "" for part in wrapped]
            aligned = [
                part.rjust(widths[i]) if i in right else part.ljust(widths[i]) for i, part in enumerate(parts)
            ]
            lines.append("  ".join(aligned).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join(lines)


def table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "", right: Sequence[int] = ()
) -> None:
    """Prints a table; the columns in `right` are aligned to that side."""
    console = _rich()
    if console is None:
        if title:
            print(title)
        print(_plain(columns, rows, right))
        return
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title or None, title_justify="left")
    for i, column in enumerate(columns):
        shown.add_column(column, justify="right" if i in right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    console.print(shown)


@contextmanager
def progress(total: int, title: str) -> Iterator[Progress]:
    """Show a progress bar on standard error if it is a terminal. Call it before each step."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda what: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar
    except ImportError:
        done = 0

        def step(what: str) -> None:
            nonlocal done
            width = shutil.get_terminal_size().columns - 1
            text = f"{title} {done}/{total} {what}"[:width]
            print(f"\r{text.ljust(width)}", end="", file=sys.stderr, flush=True)
            done += 1

        yield step
        print(
            "\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r", end="", file=sys.stderr, flush=True
        )
        return
    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def step_bar(what: str) -> None:
            nonlocal begun
            bar.update(task, description=what, advance=1 if begun else 0, refresh=True)
            begun = True

        yield step_bar
