"""The order of tasks: what a trace says of those on the same memory, and checks that one has not begun."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Protocol

import usmpy
from usmpy._inspection.timeline.tasks import WRITE, Task

WAITS, ACCESSES = 12, 13  # of a record of the core


def dependencies(trace: usmpy.Trace) -> list[set[int]]:
    """Of each task those that it waits for, itself or through others.

    Unlike `Task.depends` they do not include those that the use of memory ought to cause.
    """
    found: list[set[int]] = []
    for record in trace._core.read():
        waits = [id for id, _ in record[WAITS] if id < len(found)]
        found.append({*waits, *(other for id in waits for other in found[id])})
    return found


def met(trace: usmpy.Trace) -> list[str]:
    """The pairs of tasks on one memory, one of which writes it, that nothing brings into order."""
    waits, found = dependencies(trace), []
    users = collections.defaultdict(list)
    for task, record in zip(trace.tasks, trace._core.read(), strict=True):
        modes = collections.defaultdict(int)
        for memory, mode in [] if task.passes else record[ACCESSES]:
            modes[memory] |= mode
        for memory, mode in modes.items():
            for earlier, earlier_mode in users[memory]:
                had_ended = earlier.end_ns is not None and earlier.end_ns <= (task.start_ns or task.submit_ns)
                if (mode | earlier_mode) & WRITE and earlier.id not in waits[task.id] and not had_ended:
                    found.append(f"{text(earlier)} and {text(task)} met on memory {memory}")
            users[memory].append((task, mode))
    return found


def text(task: Task) -> str:
    order = "in order" if task.in_order else "out of order"
    return f"task {task.id} ({task.name}, {task.device}, queue {task.queue}, {order})"


def run_another_task(device: object) -> None:
    """Runs a task of another queue to its end.

    Before a check that something has not begun, this gives what wrongly could begin the time that a task
    takes. The check holds however long that is.
    """
    usmpy.Queue(device).host_task(lambda: None).wait(60)


class Program(Protocol):
    """Random steps; its text lists them."""

    def run(self) -> None: ...


def run(make: Callable[[], Program]) -> None:
    """Runs a program. A failure's message also lists its steps, and the tasks that met in a second run."""
    program = make()
    try:
        program.run()
    except Exception as error:
        error.args = (f"{error}\n{program}\n{explain(make().run)}",)
        raise


def explain(again: Callable[[], object]) -> str:
    """For the message of a failure: runs the program again under a trace, and says which tasks met."""
    with usmpy.trace() as trace:
        try:
            again()
            how = "passes"
        except Exception:
            how = "fails too"
    return "\n".join(
        [f"run again under a trace, it {how}; tasks without an order:", *(met(trace) or ["none"])]
    )
