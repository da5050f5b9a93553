"""usmpy.trace(): records tasks, their times and their dependencies."""

from __future__ import annotations

import os

from .._core import _Trace

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any

    from .timeline.tasks import Task

LIMIT = 100_000


class Trace:
    """The tasks that were submitted during ``with usmpy.trace() as t:``.

    A trace can be read at any time, also while it records; tasks that have not completed by then are pending.
    A notebook displays it as a timeline.

    Parameters
    ----------
    limit : int, default 100000
        The largest number of tasks, exports and imports that are recorded; `dropped` counts later ones.

    Raises
    ------
    ValueError
        At the beginning of the ``with``: `limit` is below 1.
    RuntimeError
        The trace is used for a second ``with``, or read before the first.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host")
    >>> with usmpy.trace() as t:
    ...     queue.barrier().wait()
    >>> [task.what for task in t.tasks], t.pending, t.dropped
    (['barrier'], 0, 0)
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
        from .timeline.tasks import read

        counts = self._counts()
        if self._seen is None or self._seen[0] != counts:
            assert self._core is not None
            self._seen = counts, read(self._core)
        return list(self._seen[1])

    @property
    def dropped(self) -> int:
        """Number of tasks, exports and imports beyond the limit, which were not recorded."""
        return self._counts()[1]

    @property
    def pending(self) -> int:
        """Number of recorded tasks whose completion usmpy has not noticed yet."""
        return self._counts()[2]

    @property
    def span_ns(self) -> tuple[int, int]:
        """Beginning and end of the ``with``, in nanoseconds of ``time.monotonic_ns()``.

        While the trace records, the end is the present time.
        """
        import time

        counts = self._counts()
        return counts[3], counts[4] or time.monotonic_ns()

    def to_chrome(self) -> dict[str, Any]:
        """Return the trace in the Trace Event Format, which Chrome and Perfetto display.

        Returns
        -------
        dict
            For ``json.dump``; times are in microseconds.

        Examples
        --------
        >>> import usmpy
        >>> with usmpy.trace() as t:
        ...     usmpy.Queue("host").barrier().wait()
        >>> "traceEvents" in t.to_chrome()
        True
        """
        from .timeline.chrome import to_chrome

        return to_chrome(self)

    def to_svg(self) -> str:
        """Return the timeline as a picture: one row for each queue, arrows for dependencies.

        Returns
        -------
        str
            An SVG document.

        Examples
        --------
        >>> import usmpy
        >>> with usmpy.trace() as t:
        ...     usmpy.Queue("host").barrier().wait()
        >>> t.to_svg().startswith("<svg")
        True
        """
        from .timeline.svg import to_svg

        return to_svg(self)

    def to_dot(self) -> str:
        """Return the graph of tasks and dependencies in the language of Graphviz.

        Returns
        -------
        str

        Examples
        --------
        >>> import usmpy
        >>> with usmpy.trace() as t:
        ...     usmpy.Queue("host").barrier().wait()
        >>> t.to_dot().startswith("digraph")
        True
        """
        from .timeline.dot import to_dot

        return to_dot(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trace to a file whose format is chosen by the suffix of its name.

        Parameters
        ----------
        path : str or os.PathLike
            A name that ends in ``.json`` (as `to_chrome`), ``.svg`` (as `to_svg`) or ``.dot`` (as `to_dot`).

        Raises
        ------
        ValueError
            The name has another suffix.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> import os, tempfile, usmpy
        >>> with usmpy.trace() as t:
        ...     usmpy.Queue("host").barrier().wait()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     t.save(os.path.join(folder, "trace.json"))
        ...     os.listdir(folder)
        ['trace.json']
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
            raise ValueError(f"path is {name!r:.60}; a name that ends in .json, .svg or .dot is allowed")
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
    """Record the tasks of all queues: ``with usmpy.trace() as t:``, then ``t.save("trace.json")``.

    Kernels, copies, fills, host tasks and barriers of every thread are recorded with their dependencies,
    and so are exports of arrays to other libraries and imports from them.

    Parameters
    ----------
    limit : int, default 100000
        The largest number of tasks, exports and imports that are recorded; ``t.dropped`` counts later ones.

    Returns
    -------
    Trace
        A context manager, which returns itself.

    Raises
    ------
    ValueError
        At the beginning of the ``with``: `limit` is below 1.

    Notes
    -----
    Times are in nanoseconds of ``time.monotonic_ns()``. In queues with ``profiling=True`` they are measured
    by the device; in others they are the times of submission and of noticed completion. Traces may be
    nested, and used in several threads.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host")
    >>> with usmpy.trace() as t:
    ...     queue.host_task(print, "hello").wait()
    hello
    >>> t
    <Trace: 1 recorded, ... ms>
    """
    return Trace(limit)
