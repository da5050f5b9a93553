"""From records of the core to tasks with dependencies."""

from __future__ import annotations

from typing import NamedTuple

from ..._core import _Trace

READ, WRITE = 1, 2

# Smaller transfers do not measure bandwidth.
BANDWIDTH_BYTES = 4096

# The source of a task's times.
MEASURED = {
    "device": "measured by the device",
    "host": "measured on the host",
    "noticed": "at most: the end is the time at which usmpy noticed completion",
}

MOVES = frozenset({"copy", "fill", "strided", "sequence", "prefetch", "export", "import"})


class Task(NamedTuple):
    """One submission, or one export or import of an array.

    Times are nanoseconds of time.monotonic_ns().
    """

    id: int
    """Its place in the trace."""
    what: str
    """``kernel``, ``copy``, ``strided`` (a copy with strides or a cast), ``fill``, ``sequence``, ``host``,
    ``barrier``, ``marker``, ``prefetch``, ``export`` or ``import``."""
    name: str
    """Of the kernel or host function, or the protocol of an export or import; else the same as ``what``."""
    state: str
    """``complete``, ``error`` or ``pending``."""
    device: str
    """Filter string of the queue's device, or of the device whose memory was exported or imported."""
    queue: int
    """Number of the queue within the process; 0 for an export or import."""
    in_order: bool
    thread: int
    """Number of the thread that submitted it."""
    submit_ns: int
    start_ns: int | None
    """As measured by the device or the host; else the earliest possible start."""
    end_ns: int | None
    """As measured, or the time at which usmpy noticed completion; None while it is pending."""
    timed: str
    """Source of the times: ``device`` (profiling), ``host`` (it ran there), or ``noticed``."""
    nbytes: int | None
    """Bytes that were copied, filled, exported or imported; None for other tasks."""
    work_items: int | None
    """Of a kernel."""
    depends: tuple[tuple[int, str], ...]
    """(id, why) of tasks that it depends on: ``explicit``, ``data`` (it reads what that task writes) or
    ``order`` (a write after other uses of the memory, or the order of a queue)."""

    @property
    def passes(self) -> bool:
        """Whether this is an export or an import, and not work of a queue."""
        return self.what in ("export", "import")

    @property
    def duration_ns(self) -> int | None:
        """From start to end."""
        return None if self.start_ns is None or self.end_ns is None else self.end_ns - self.start_ns

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second, or None for transfers that are too small to measure it."""
        duration = self.duration_ns
        if self.nbytes is None or self.nbytes < BANDWIDTH_BYTES or not duration or self.passes:
            return None
        return self.nbytes / duration * 1e9


class _Memory:
    """The last task that wrote an allocation, and those that have read it since."""

    def __init__(self) -> None:
        self.writer: int | None = None
        self.readers: list[int] = []


def _from_memory(id: int, accesses: list[tuple[int, int]], memory: dict[int, _Memory]) -> dict[int, str]:
    """Dependencies by the memory that the task uses, also on tasks that had completed before."""
    found: dict[int, str] = {}
    for allocation, mode in accesses:
        at = memory.setdefault(allocation, _Memory())
        if mode & READ and at.writer is not None and at.writer != id:
            found[at.writer] = "data"
        if mode & WRITE:
            for other in at.readers or ([at.writer] if at.writer is not None else []):
                if other != id:
                    found.setdefault(other, "order")
            at.writer, at.readers = id, []
        elif not at.readers or at.readers[-1] != id:
            at.readers.append(id)
    return found


def read(trace: _Trace) -> list[Task]:
    """All tasks of a trace so far."""
    memory: dict[int, _Memory] = {}
    last: dict[int, int] = {}  # the latest task of a queue in order
    tasks: list[Task] = []
    for id, record in enumerate(trace.read()):
        what, state, name, device, queue, thread, submit, start, end, amount, profiled, in_order = record[:12]
        waits, uses = record[12:]
        depends = _from_memory(id, uses, memory)
        previous = last.get(queue) if queue and in_order else None
        for other, explicit in waits:
            if other == id:
                continue
            if explicit:
                depends[other] = "explicit"
            elif other != previous:
                depends.setdefault(other, "order")
        timed = "device" if profiled else "host"
        if start:  # submissions use another clock, which is slightly coarser
            submit = min(submit, start)
        begin: int | None = start
        if not start:
            timed = "noticed"
            first = list(depends) if previous is None else [*depends, previous]
            before = [tasks[other].end_ns or 0 for other in first]
            begin = max(submit, *before) if before else submit
            begin = min(begin, end) if end else None
        moves = what in MOVES
        tasks.append(
            Task(
                id=id,
                what=what,
                name=name or what,
                state=state,
                device=device.filter_string,
                queue=queue,
                in_order=in_order,
                thread=thread,
                submit_ns=submit,
                start_ns=begin,
                end_ns=end or None,
                timed=timed,
                nbytes=amount if moves else None,
                work_items=amount if what == "kernel" else None,
                depends=tuple(sorted(depends.items())),
            )
        )
        if queue and in_order:
            last[queue] = id
    return tasks


def bytes_text(n: float) -> str:
    """A number of bytes as text: ``64.0 KiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


def time_text(ns: float) -> str:
    """A time as text: ``1.50 ms``."""
    for unit, scale in (("ns", 1.0), ("µs", 1e3), ("ms", 1e6)):
        if ns < 1000 * scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def details(task: Task) -> list[tuple[str, str]]:
    """Details of a task as pairs of text (label, value)."""
    rows = [("state", task.state)]
    if task.duration_ns is not None and not task.passes:
        rows.append(("duration", f"{time_text(task.duration_ns)}, {MEASURED[task.timed]}"))
        rows.append(("from submission to start", time_text(max(0, (task.start_ns or 0) - task.submit_ns))))
    if task.nbytes is not None:
        rows.append(("bytes", f"{task.nbytes} ({bytes_text(task.nbytes)})"))
    if task.bandwidth is not None:
        rows.append(("bandwidth", f"{task.bandwidth / 1e9:.2f} GB/s"))
    if task.work_items is not None:
        rows.append(("work-items", str(task.work_items)))
    if task.depends:
        rows.append(("depends on", ", ".join(f"{other} ({why})" for other, why in task.depends)))
    return rows


def lanes(tasks: list[Task]) -> dict[int, str]:
    """Names of the queues, in the order of their first task; 0 is for exports and imports."""
    found: dict[int, str] = {}
    for task in tasks:
        if task.queue and task.queue not in found:
            order = "in order" if task.in_order else "out of order"
            found[task.queue] = f"{task.device}, queue {task.queue} ({order})"
    ways = sorted({f"{task.what}s" for task in tasks if task.passes})
    if ways:
        found[0] = f"other libraries, {' and '.join(ways)}"
    return found
