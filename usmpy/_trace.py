"""usmpy.trace(): what was submitted, when it ran, and what it waited for."""

from __future__ import annotations

import os

from ._core import _Trace

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any

    from ._timeline.tasks import Task

LIMIT = 100_000


class Trace:
    """What happened between the beginning and the end of a ``with usmpy.trace() as t:``.

    It may be looked at any time; tasks that have not ended then are pending. In a notebook it shows itself
    as a timeline.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._core: _Trace | None = None
        self._seen: tuple[Any, list[Task]] | None = None

    def __enter__(self) -> Trace:
        if self._core is not None:
            raise RuntimeError("this trace was used before; make another one with usmpy.trace()")
        self._core = _Trace(self._limit)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._core is not None:
            self._core.stop()

    def _counts(self) -> tuple[int, int, int, int, int]:
        if self._core is None:
            raise RuntimeError("this trace has not begun; use it as 'with usmpy.trace() as t:'")
        return self._core.counts()

    @property
    def tasks(self) -> list[Task]:
        """Tasks, exports and imports, in the order of submission."""
        from ._timeline.tasks import read

        counts = self._counts()
        if self._seen is None or self._seen[0] != counts:
            assert self._core is not None
            self._seen = counts, read(self._core)
        return list(self._seen[1])

    @property
    def dropped(self) -> int:
        """How many tasks, exports and imports came after the limit, and are missing."""
        return self._counts()[1]

    @property
    def pending(self) -> int:
        """How many recorded tasks have not ended yet, as far as is known."""
        return self._counts()[2]

    @property
    def span_ns(self) -> tuple[int, int]:
        """From the beginning to the end of the ``with``, in nanoseconds of time.monotonic_ns().

        While it lasts, the end is now.
        """
        import time

        counts = self._counts()
        return counts[3], counts[4] or time.monotonic_ns()

    def to_chrome(self) -> dict[str, Any]:
        """The trace in the JSON form of Chrome's tracing, which Perfetto reads too."""
        from ._timeline.chrome import to_chrome

        return to_chrome(self)

    def to_svg(self) -> str:
        """The timeline as a picture: one lane a queue, arrows for dependencies."""
        from ._timeline.svg import to_svg

        return to_svg(self)

    def to_dot(self) -> str:
        """The graph of tasks in the language of graphviz."""
        from ._timeline.dot import to_dot

        return to_dot(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, by its ending: ``.json`` for Chrome and Perfetto, ``.svg``, or ``.dot``.

        Raises ValueError for any other ending, and OSError where the file cannot be written.
        """
        name = os.fspath(path)
        if name.endswith(".json"):
            import json

            text = json.dumps(self.to_chrome(), separators=(",", ":"))
        elif name.endswith(".svg"):
            text = self.to_svg()
        elif name.endswith(".dot"):
            text = self.to_dot()
        else:
            raise ValueError(f"path is {name!r}; a name that ends in .json, .svg or .dot is allowed")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __repr__(self) -> str:
        if self._core is None:
            return "<Trace that has not begun>"
        records, dropped, pending, start, stop = self._counts()
        parts = [f"{records} recorded"]
        parts += [f"{n} {what}" for n, what in ((pending, "pending"), (dropped, "dropped")) if n]
        parts.append(f"{(stop - start) / 1e6:.3f} ms" if stop else "recording")
        return f"<Trace: {', '.join(parts)}>"


def trace(limit: int = LIMIT) -> Trace:
    """Records what queues are asked to do: ``with usmpy.trace() as t:``, then ``t.save("trace.json")``.

    Tasks of all queues and threads: kernels, copies, fills, host tasks, barriers, with what they depend on;
    arrays that are shown to others, and those of others that are taken. Times are those of
    time.monotonic_ns(): the device's own in queues with profiling=True, else of the submission and of when
    the end was noticed. limit is how many are recorded; later ones are counted in ``t.dropped``. Traces may
    be nested, and used in several threads.

    Raises ValueError, at the beginning of the ``with``, for a limit below 1.
    """
    return Trace(limit)
