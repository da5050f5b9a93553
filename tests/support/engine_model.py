"""A model of the engine (csrc/core/tasks): which task runs, waits or fails after each call.

A task is ordered after the tasks that use its memory, after those that it names, and after earlier ones of a
queue in order. Only a dependency on data passes a failure on. A task of the host runs until its gate is
opened; every other task ends as soon as nothing is left that it waits for. `settle` carries that out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from itertools import takewhile

READ, WRITE = 1, 2
SUBMITTED, RUNNING, COMPLETE, ERROR = "submitted", "running", "complete", "error"
FORKED, REFUSED = "the fork", "the refusal"


@dataclasses.dataclass(eq=False)
class Failure:
    """Why a task has no result. `root`: the task whose function raised, FORKED or REFUSED."""

    root: object
    cause: Failure | None = None  # the first of all, not the one before
    delivered: bool = False
    covered: bool = False  # by a wait for several tasks, which raised another one
    certain: bool = True  # False: two failures were passed on at once, and either may be the cause
    overtakes: bool = False  # the failure before it in the queue may have come after it

    @property
    def first(self) -> Failure:
        return self.cause or self

    def inherited(self) -> Failure:
        """The failure of a task that does not run because of this one."""
        return Failure(self.root, self.first, certain=self.certain)

    def deliver(self) -> None:
        self.delivered = self.first.delivered = True

    def cover(self) -> None:
        self.covered = self.first.covered = True


@dataclasses.dataclass(eq=False)
class Queue:
    number: int
    in_order: bool
    pending: list[Task] = dataclasses.field(default_factory=list)
    barrier: Task | None = None
    failure: Failure | None = None  # that the next wait for the queue raises
    failed_in: int = -1  # the step that set it
    failed: Task | None = None  # whose failure it is
    certain: bool = True  # False: two tasks failed at once, and either may have set it
    raised: list[Failure] = dataclasses.field(default_factory=list)  # by functions of its tasks
    raised_by: Task | None = None  # the last of them
    raised_in: int = -1

    def reports(self) -> list[object]:
        """The failures that nobody asked for, of which the first is reported: those that may be the first."""
        left = [failure for failure in self.raised if not failure.delivered and not failure.covered]
        return [failure.root for failure in left[:1] + list(takewhile(lambda f: f.overtakes, left[1:]))]


@dataclasses.dataclass(eq=False)
class Memory:
    number: int
    value: tuple[int, int] = (0, 0)  # of the elements of its first half, and of the others
    writer: Task | None = None
    readers: list[Task] = dataclasses.field(default_factory=list)
    failure: Failure | None = None  # of the last write
    references: int = 1  # of the program; tasks have their own

    def refusal(self) -> Failure | None:
        """The failure that a read raises now."""
        told = self.failure is None or self.failure.delivered or self.writer is not None
        return None if told else self.failure


@dataclasses.dataclass(eq=False)
class Task:
    number: int  # 0: a marker in a stream
    queue: Queue
    accesses: dict[Memory, int]
    effect: Callable[[], None] = lambda: None
    gated: bool = False  # it runs on the host until its gate is opened
    fails: bool = False  # by raising, when its gate is opened
    refused: bool = False
    links: dict[Task, bool] = dataclasses.field(default_factory=dict)  # what it waits for; True: for data
    cause: Failure | None = None
    caused_by: Task | None = None
    after_refused: bool = False  # one that it needs for data was refused
    state: str = SUBMITTED
    failure: Failure | None = None
    held: bool = False  # the program has its event

    @property
    def ended(self) -> bool:
        return self.state in (COMPLETE, ERROR)

    def left_before(self) -> Failure | None:
        """What it reads, once all writes of that have ended: of those, a refused one changed nothing."""
        failures = (memory.failure for memory, mode in self.accesses.items() if mode & READ)
        return next((failure for failure in failures if failure is not None and not failure.delivered), None)


class Model:
    def __init__(self) -> None:
        self.step = 0
        self.unfinished: list[Task] = []  # in the order of submission
        self.lent: dict[Memory, Queue] = {}  # to a stream: the next use comes after what is in it then
        self.mortal: set[Queue] = set()  # streams that others may destroy
        self.waiting: list[tuple[Memory, Queue]] = []  # freed, until the stream is known to live
        # Freed when its last task is seen to have ended, which may be later: by then more is in the stream.
        self.lingering: list[tuple[Memory, Queue]] = []

    def submit(
        self,
        task: Task,
        depends: Iterable[Task] = (),
        *,
        data: bool = True,
        barrier: bool = False,
        after_all: bool = False,
    ) -> bool:
        """False: a dependency has failed already and none is pending, so that the task ends at once."""
        queue, links = task.queue, task.links
        for memory in task.accesses if task.number else ():
            self.join(memory)
        for memory, mode in task.accesses.items():
            if mode & READ and task.cause is None:
                task.cause = memory.refusal()
            if memory.writer is not None:
                links[memory.writer] = bool(mode & READ) or links.get(memory.writer, False)
            for reader in memory.readers if mode & WRITE else ():
                links.setdefault(reader, False)
        for other in depends:
            if not other.ended:
                links[other] = data or links.get(other, False)
            elif data and task.cause is None:
                task.cause = other.failure
        earlier = queue.pending[-1:] if queue.in_order else queue.pending if after_all else []
        for other in [*earlier, *([queue.barrier] if queue.barrier is not None else [])]:
            links.setdefault(other, False)
        if task.cause is not None and not links:
            task.refused = False
            self.end(task, task.cause.inherited())
            return False
        for memory, mode in task.accesses.items():
            if mode & WRITE:
                memory.writer, memory.readers = task, []
            else:
                one_after_another = [r for r in memory.readers if r.queue is queue and queue.in_order]
                memory.readers = [r for r in memory.readers if r not in one_after_another] + [task]
        queue.pending.append(task)
        self.unfinished.append(task)
        if barrier and not queue.in_order:
            queue.barrier = task
        if task.refused:
            task.cause = Failure(REFUSED, delivered=True)
        self.settle()
        return True

    def join(self, memory: Memory) -> None:
        """Before the memory is used: the stream that has it may be at work on it."""
        stream = self.lent.pop(memory, None)
        if stream is not None:
            self.mark(memory, stream)

    def see(self, stream: Queue, before: Iterable[Task]) -> None:
        """The stream lives: its work, and what it waits for, keeps the memory that waits for it."""
        found = [memory for memory, other in self.waiting if other is stream]
        self.waiting = [pair for pair in self.waiting if pair[1] is not stream]
        self.lingering += [(memory, stream) for memory in found]
        for memory in found:
            self.mark(memory, stream, [task for task in before if not task.ended])

    def mark(self, memory: Memory, stream: Queue, before: Iterable[Task] = ()) -> None:
        """Makes what is in the stream now, and before it, a task on the memory."""
        if stream.pending or before:
            self.submit(Task(0, stream, {memory: READ | WRITE}), before, data=False)

    def settle(self) -> None:
        def ready() -> Iterable[Task]:
            waiting = [task for task in self.unfinished if task.state == SUBMITTED]
            return (task for task in waiting if all(link.ended for link in task.links))

        while (task := next(iter(ready()), None)) is not None:
            if task.after_refused and task.cause is None:
                task.cause = task.left_before()
            if task.refused:
                self.end(task, task.cause)
            elif task.cause is not None:
                self.end(task, task.cause.inherited())
            elif task.gated:
                task.state = RUNNING
            else:
                task.effect()
                self.end(task, None)
        for memory in [memory for memory in self.lent if not self.lives(memory)]:
            if self.lent[memory] in self.mortal:
                self.waiting.append((memory, self.lent.pop(memory)))
            else:
                self.lingering.append((memory, self.lent[memory]))
                self.join(memory)  # the stream's work keeps it

    def open(self, task: Task) -> None:
        """Lets the function of a running task return, or raise."""
        if not task.fails:
            task.effect()
        self.end(task, Failure(task.number) if task.fails else None)
        self.settle()

    def end(self, task: Task, failure: Failure | None) -> None:
        task.state, task.failure = COMPLETE if failure is None else ERROR, failure
        for memory, mode in task.accesses.items():
            memory.writer = None if memory.writer is task else memory.writer
            memory.readers = [reader for reader in memory.readers if reader is not task]
            if mode & WRITE and (failure is None or not failure.delivered):
                memory.failure = failure
        queue = task.queue
        queue.barrier = None if queue.barrier is task else queue.barrier
        if task in self.unfinished:
            self.unfinished.remove(task)
            queue.pending.remove(task)
        if failure is not None:
            self.remember(task, failure)
            for other in self.unfinished:
                if other.links.get(task, False):
                    self.inherit(other, task)

    def remember(self, task: Task, failure: Failure) -> None:
        queue = task.queue
        if failure.cause is None and failure.root not in (FORKED, REFUSED):
            last = queue.raised_by
            failure.overtakes = (
                last is not None and not queue.in_order and self.is_late(last, queue.raised_in)
            )
            queue.raised.append(failure)
            queue.raised_by, queue.raised_in = task, self.step
        if queue.failure is None and not failure.delivered:
            queue.failure, queue.failed_in, queue.certain = failure, self.step, failure.certain
            queue.failed = task
        elif queue.failed is not None and self.is_late(queue.failed, queue.failed_in) and not queue.in_order:
            queue.certain = False

    def is_late(self, task: Task, ended_in: int) -> bool:
        """What ended in that step may do so only now: where its event was dropped, nobody waited for it."""
        return ended_in == self.step or not task.held

    def inherit(self, task: Task, failed: Task) -> None:
        failure = failed.failure
        if failed.refused:  # whoever submitted it was told, and it changed nothing
            task.after_refused = True
        elif task.cause is None:
            task.cause, task.caused_by = failure, failed
        elif task.cause.first is not failure.first and task.caused_by is not None:
            # A thread shows the end of its task before it passes the failure on, so another may be first.
            task.cause = dataclasses.replace(task.cause, certain=False)

    def fork(self) -> None:
        """In the child: every pending task ends, oldest first."""
        for task in self.unfinished[:]:
            self.end(task, Failure(FORKED))

    def read(self, memory: Memory) -> Failure | None:
        """What a read on the host raises, once no write is pending."""
        failure = memory.refusal()
        if failure is not None:
            failure.deliver()
        if memory.writer is None:
            memory.failure = None
        return failure

    def wait_for_queue(self, queue: Queue) -> Failure | None:
        failure, queue.failure = queue.failure, None
        if failure is not None:
            failure.deliver()
            failure.certain = failure.certain and queue.certain
        return failure

    def lives(self, memory: Memory) -> bool:
        return memory.references > 0 or any(memory in task.accesses for task in self.unfinished)
