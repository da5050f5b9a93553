"""The trace event format of Chrome and Perfetto: one track for each queue, flow events for dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tasks import Task, details, lanes

if TYPE_CHECKING:
    from ..trace import Trace

QUEUES, THREADS = 1, 2  # the two "processes"


def _name(process: int, thread: int, kind: str, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": process, "tid": thread, "name": kind, "args": {"name": name}}


def _arguments(task: Task) -> dict[str, Any]:
    rows: dict[str, Any] = {"id": task.id, "kind": task.what, **dict(details(task))}
    if task.nbytes is not None:
        rows["bytes"] = task.nbytes
    if task.bandwidth is not None:
        rows["GB/s"] = round(task.bandwidth / 1e9, 3)
    return rows


def to_chrome(trace: Trace) -> dict[str, Any]:
    import os

    begin, end = trace.span_ns
    tasks = trace.tasks
    last = max([end, *(task.end_ns or 0 for task in tasks)])

    def at(ns: int) -> float:
        return (ns - begin) / 1e3  # microseconds

    events = [
        _name(QUEUES, 0, "process_name", f"usmpy queues (process {os.getpid()})"),
        _name(THREADS, 0, "process_name", "usmpy submissions by thread"),
    ]
    events += [_name(QUEUES, queue, "thread_name", label) for queue, label in lanes(tasks).items()]
    events += [
        _name(THREADS, thread, "thread_name", f"thread {thread}")
        for thread in sorted({task.thread for task in tasks})
    ]
    for task in tasks:
        common = {"name": task.name, "cat": task.what, "args": _arguments(task)}
        submit = {"ph": "i", "pid": THREADS, "tid": task.thread, "ts": at(task.submit_ns), "s": "t"}
        events.append({**common, **submit})
        start = task.start_ns if task.start_ns is not None else task.submit_ns
        if task.passes:
            events.append({**common, "ph": "i", "pid": QUEUES, "tid": 0, "ts": at(start), "s": "t"})
        else:
            duration = ((task.end_ns or last) - start) / 1e3
            slice = {"ph": "X", "pid": QUEUES, "tid": task.queue, "ts": at(start), "dur": max(duration, 0)}
            if task.state == "error":
                slice["cname"] = "terrible"
            events.append({**common, **slice})
        for other, why in task.depends:
            source = tasks[other]
            if task.passes or source.passes:
                continue
            flow = {"name": why, "cat": "depends", "id": f"{other}-{task.id}", "pid": QUEUES}
            left = source.end_ns if source.end_ns is not None else source.start_ns or source.submit_ns
            # Inside the slice, not at its end: otherwise viewers do not find the slice.
            left = max(source.start_ns or source.submit_ns, left - 1)
            events.append({**flow, "ph": "s", "tid": source.queue, "ts": at(left)})
            events.append({**flow, "ph": "f", "bp": "e", "tid": task.queue, "ts": at(max(start, left))})
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"dropped": trace.dropped, "pending": trace.pending, "begin_monotonic_ns": begin},
    }
