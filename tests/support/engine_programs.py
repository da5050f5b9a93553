"""Random programs of submissions, waits, loans, frees, failures and forks, against the model of the engine.

A program is a list of steps, each a name and numbers that choose among what exists, so that it stays a
program if steps are left out. The model carries out a step first. Then usmpy does, and all that can be seen
has to be as the model says: which functions have started, the status of each event, what memory holds, what
waits raise, how many events and allocations are alive. Functions of host tasks run until the program opens
their gate, so the model leaves no choice, and nothing is timed.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import gc
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable

import producers
from another import in_child
from engine_model import FORKED, READ, REFUSED, RUNNING, WRITE, Failure, Memory, Model, Queue, Task

import usmpy
from usmpy import _core

PATIENCE = 60.0
INT64 = (0, 64, 1)
Step = tuple[str, int, int, int]
Shape = tuple[list[bool], int]  # which queues are in order; the number of elements


class Wrong(AssertionError):
    """The engine did something else than the model."""


class Undecided(Exception):
    """Two failures reached one task at once, so that the model allows more than one history from here."""


class Trouble(Exception):
    """What functions of failing tasks raise; its argument is the task's number."""


def until(condition: Callable[[], bool], what: Callable[[], str], patience: float | None = None) -> None:
    """Waits for what threads do soon."""
    deadline, pause = time.monotonic() + (PATIENCE if patience is None else patience), 0.0
    while not condition():
        if time.monotonic() > deadline:
            raise Wrong(what())
        time.sleep(pause)
        pause = min(pause + 2e-6, 1e-3)


def first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def outcome(call: Callable[[], object]) -> object:
    """What the call raised: "timeout", or the root of the failure, and whether the root itself was raised.

    None: it returned.
    """
    try:
        call()
    except TimeoutError:
        return "timeout"
    except (Trouble, usmpy.UsmError, RuntimeError) as error:
        if isinstance(first_cause(error), Trouble):
            return first_cause(error).args[0], isinstance(error, Trouble)
        for text, root in (("forked", FORKED), ("because a test asked for it", REFUSED)):
            if text in str(first_cause(error)):
                return root, error.__cause__ is None
        raise
    return None


def predicted(failure: Failure | None) -> object:
    return None if failure is None else (failure.root, failure.cause is None)


class Elements:
    """The memory of an array as the host sees it without usmpy. It does not keep the array alive."""

    def __init__(self, array: usmpy.USMArray) -> None:
        self.n = array.size
        self.elements = (ctypes.c_int64 * self.n).from_address(array.data_ptr)

    def read(self) -> tuple[int, ...]:
        elements, half = self.elements, self.n // 2
        return elements[0], elements[half - 1], elements[half], elements[self.n - 1]

    def write(self, value: int) -> None:
        for at in (0, self.n // 2 - 1, self.n // 2, self.n - 1):
            self.elements[at] = value


def seen(memory: Memory) -> tuple[int, ...]:
    """The elements that Elements.read gives."""
    one, two = memory.value
    return one, one, two, two


class Gate:
    """The function of a host task. It holds no array, so that the traceback of its exception holds none."""

    def __init__(self, number: int, fails: bool, uses: list[tuple[Elements, bool]], wrong: list[str]) -> None:
        self.number, self.fails, self.uses, self.wrong = number, fails, uses, wrong  # True: it writes them
        self.expected: list[tuple[int, ...]] | None = None  # what it sees; None: it must not start
        self.opened, self.started = threading.Event(), threading.Event()

    def __call__(self, *arrays: object) -> None:
        del arrays
        if self.expected is None:
            self.wrong.append(f"task {self.number} started, although it has to wait or must not run")
        self.look()
        self.started.set()
        if not self.opened.wait(2 * PATIENCE):  # whatever else waits too long is found first
            self.wrong.append(f"nobody opened the gate of task {self.number}")
        self.look()
        if self.fails:
            raise Trouble(self.number)
        for elements, writes in self.uses:
            if writes:
                elements.write(self.number)

    def look(self) -> None:
        found = [elements.read() for elements, _ in self.uses]
        if self.expected is not None and found != self.expected:
            self.wrong.append(f"task {self.number} saw {found} instead of {self.expected}")


@dataclasses.dataclass(eq=False)
class Wait:
    text: str
    target: Task | Queue | Memory
    call: Callable[..., object]
    tasks: list[Task]  # it returns when they have ended
    raised: Callable[[], Failure | None]  # in the model

    @property
    def ended(self) -> bool:
        return all(task.ended for task in self.tasks)


class Waiter:
    """A thread that waits for work which is pending."""

    def __init__(self, wait: Wait) -> None:
        self.wait = wait
        self.may_return = False
        self.found: list[object] = []
        self.beside: list[Task] = []  # that have ended, which a queue may not have forgotten when it began
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        self.found.append(outcome(self.wait.call))
        if not self.may_return:
            self.found.append("too early")


WEIGHTS = {
    "new": 4,
    "host_task": 12,
    "fill": 6,
    "copy": 5,
    "open": 10,
    "barrier": 2,
    "keep_alive": 1,
    "marker": 2,
    "wait_for": 2,
    "lend": 2,
    "refuse": 3,
    "drop": 2,
    "drop_event": 2,
    "export": 1,
    "drop_export": 1,
    "wait": 6,
    "wait_all": 2,
    "wait_in_thread": 4,
    "exception": 1,
}


class Program:
    """Steps on up to four queues."""

    streams = False  # whether what is in streams of others becomes tasks, which the program does not count

    def __init__(self, device: usmpy.Device, steps: list[Step], shape: Shape) -> None:
        self.device, self.steps = device, steps
        orders, self.n = shape
        self.host = device.backend == "host"
        self.before = _core._live_counts()
        self.model = Model()
        self.model_queues = [Queue(i, in_order) for i, in_order in enumerate(orders)]
        self.queues = [usmpy.Queue(device, in_order=in_order) for in_order in orders]
        self.tasks: list[Task] = []  # the program has their events
        self.events: dict[Task, usmpy.Event] = {}
        self.gates: dict[Task, Gate] = {}
        self.arrays: dict[Memory, usmpy.USMArray] = {}  # that the program has
        self.elements: dict[Memory, Elements] = {}
        self.exports: list[tuple[Memory, object]] = []
        self.imports: dict[Memory, producers.Tensor] = {}
        self.numbers = 0
        # Tasks without an event that ought to have ended; only pending tasks that wait for them count them.
        self.unseen: set[Task] = set()
        self.links: dict[Task, set[Task]] = {}  # of those, the ones that a task may wait for, too
        self.waiter: Waiter | None = None
        self.untouched: set[object] = set()  # what the waiter waits for: its result stays certain
        self.forked = False  # this is the child
        self.children = 0
        self.wrong: list[str] = []
        self.log: list[str] = []
        self.threads = 1 if self.host else 3  # of a queue out of order, that host tasks may take

    def __str__(self) -> str:
        orders = ["in order" if queue.in_order else "out of order" for queue in self.model_queues]
        queues = [f"  queue {i}: {order}" for i, order in enumerate(orders)]
        return "\n".join(
            [f"  on {self.device.filter_string}", *queues, f"  arrays of {self.n} elements", *self.log]
        )

    # -- drawing

    def number(self) -> int:
        self.numbers += 1
        return self.numbers

    def queue_of(self, a: int) -> Queue | None:
        queue = self.model_queues[a % len(self.model_queues)]
        return None if queue in self.untouched else queue

    def memory_of(self, a: int, count: int = 1) -> list[Memory]:
        """Different ones; fewer than that many where there are no more."""
        found = [memory for memory in self.arrays if memory not in self.untouched]
        return [found.pop(a // (i + 1) % len(found)) for i in range(min(count, len(found)))]

    def dependencies(self, a: int) -> list[Task]:
        """None in most cases, else one or two."""
        found = list(self.events)
        return [found[(a + 7 * i) % len(found)] for i in range(max(0, a % 7 - 4))] if found else []

    # -- submissions

    def submit(
        self,
        text: str,
        queue: Queue,
        accesses: list[tuple[Memory, int]],
        call: Callable[[list[usmpy.Event]], usmpy.Event | None],
        depends: list[Task] = (),  # type: ignore[assignment]
        *,
        number: int | None = None,
        effect: Callable[[], None] = lambda: None,
        gate: Gate | None = None,
        refused: bool = False,
        **order: bool,
    ) -> None:
        modes: dict[Memory, int] = {}
        for memory, mode in accesses:
            modes[memory] = modes.get(memory, 0) | mode
        number = number if number is not None else self.number()
        fails = gate is not None and gate.fails
        task = Task(number, queue, modes, effect, gate is not None, fails, refused)
        after = f" after {[other.number for other in depends]}" if depends else ""
        self.log.append(f"  task {number}: {text}{after}, in queue {queue.number}")
        if gate is not None:
            self.gates[task] = gate
        with_events = [self.events[other] for other in depends if other in self.events]
        self.links[task] = set(self.unseen)
        recorded = self.model.submit(task, depends, **order)
        self.publish()
        if refused and recorded:
            _core._fault("queue_submit", 1)
            try:
                found = outcome(lambda: call(with_events))
            finally:
                _core._fault("queue_submit", 0)
            self.same("the refused submission raised", found, (REFUSED, True))
        else:
            event = call(with_events)
            if event is not None:
                self.events[task], task.held = event, True

    def publish(self) -> None:
        """Tells the functions that may run now, before usmpy learns of what lets them."""
        for task, gate in self.gates.items():
            if task.state == RUNNING and gate.expected is None:
                gate.expected = [seen(memory) for memory in task.accesses]

    def host_task(self, a: int, b: int, c: int, refused: bool = False) -> None:
        queue = self.queue_of(a)
        if queue is None:
            return
        busy = sum(task.gated and task.queue is queue for task in self.model.unfinished)
        if not queue.in_order and busy >= self.threads:
            return
        used = self.memory_of(b, (0, 1, 1, 2, 3)[b % 5])
        reads = {memory for i, memory in enumerate(used) if (b >> i) % 3 == 0}  # those that it only reads
        fails = c % 4 == 0 and not refused
        number = self.number()

        def effect() -> None:
            for memory in used:
                if memory not in reads:
                    memory.value = (number, number)

        uses = [(self.elements[memory], memory not in reads) for memory in used]
        gate = Gate(number, fails, uses, self.wrong)
        arrays = [self.read_only(memory) if memory in reads else self.arrays[memory] for memory in used]
        names = [f"{memory.number}{' (reads)' if memory in reads else ''}" for memory in used]
        text = f"host task{' that fails' if fails else ''} on {', '.join(names) or 'no memory'}"
        self.submit(
            text + (", refused" if refused else ""),
            queue,
            [(memory, READ if memory in reads else READ | WRITE) for memory in used],
            lambda events: self.queues[queue.number].host_task(gate, *arrays, depends=events),
            self.dependencies(c // 4),
            number=number,
            effect=effect,
            gate=gate,
            refused=refused,
        )

    def read_only(self, memory: Memory) -> usmpy.USMArray:
        view = self.arrays[memory][:]
        view.flags.writable = False
        return view

    def refuse(self, a: int, b: int, c: int) -> None:
        """A wait in a thread may deliver the failure that a task behind the refused one finds in memory."""
        if self.host and not self.forked and self.waiter is None:
            self.host_task(a, b, c, refused=True)

    def fill(self, a: int, b: int, c: int) -> None:
        queue, used = self.queue_of(a), self.memory_of(b)
        if queue is None or not used:
            return
        (memory,), number = used, self.number()
        array, half = self.arrays[memory], self.n // 2
        part = (array, array, array[:half], array[half:])[c % 4]

        def effect() -> None:
            one, two = memory.value
            memory.value = ((number, number), (number, number), (number, two), (one, number))[c % 4]

        self.submit(
            f"fill {('all', 'all', 'the first half', 'the second half')[c % 4]} of {memory.number}",
            queue,
            [(memory, WRITE if c % 4 < 2 else READ | WRITE)],
            lambda events: self.queues[queue.number].fill(part, number, depends=events),
            self.dependencies(c // 4),
            number=number,
            effect=effect,
        )

    def copy(self, a: int, b: int, c: int) -> None:
        queue, used = self.queue_of(a), self.memory_of(b, 2)
        if queue is None or len(used) < 2:
            return
        dst, src = used
        arrays = self.arrays[dst], self.arrays[src]

        def effect() -> None:
            dst.value = src.value

        self.submit(
            f"copy {src.number} to {dst.number}",
            queue,
            [(dst, WRITE), (src, READ)],
            lambda events: self.queues[queue.number].memcpy(*arrays, depends=events),
            self.dependencies(c),
            effect=effect,
        )

    def barrier(self, a: int, b: int, c: int) -> None:
        queue, depends = self.queue_of(a), self.dependencies(c)
        if queue is not None:
            ours = self.queues[queue.number]
            self.submit("barrier", queue, [], ours.barrier, depends, barrier=True, after_all=not depends)

    def keep_alive(self, a: int, b: int, c: int) -> None:
        queue, depends = self.queue_of(a), self.dependencies(c)
        if queue is not None:
            ours = self.queues[queue.number]
            self.submit(
                "keep_alive",
                queue,
                [],
                lambda events: ours.keep_alive(object(), events),
                depends,
                after_all=not depends,
            )

    def marker(self, a: int, b: int, c: int) -> None:
        used = self.memory_of(b)
        if not used:
            return
        array = self.arrays[used[0]]
        queue = self.model_queues[self.queues.index(array.queue)]
        if queue not in self.untouched:
            text = f"marker of {used[0].number}"
            self.submit(text, queue, [(used[0], READ)], lambda events: array.event)

    def wait_for(self, a: int, b: int, c: int) -> None:
        """Orders a queue after another, or after one task."""
        queue, other = self.queue_of(a), self.queue_of(b)
        if queue is None or other is None:
            return
        if c % 2 and self.events:
            depends = [list(self.events)[c // 2 % len(self.events)]]
            target = self.events[depends[0]]
        else:
            depends = other.pending[-1:] if other.in_order else other.pending[:]
            if not depends:
                return
            target = self.queues[other.number]
        self.submit(
            f"wait_for {target if c % 2 and self.events else f'queue {other.number}'}",
            queue,
            [],
            lambda events: self.queues[queue.number].wait_for(target),
            depends,
            data=False,
            barrier=True,
        )

    def lend(self, a: int, b: int, c: int) -> None:
        """To a queue: a barrier on the memory at both ends."""
        queue, used = self.queue_of(a), self.memory_of(b)
        if queue is None or not used:
            return
        array = self.arrays[used[0]]
        loan, access = array.lend(self.queues[queue.number]), [(used[0], READ | WRITE)]
        number = used[0].number

        def enter(events: list[usmpy.Event]) -> None:
            loan.__enter__()

        def leave(events: list[usmpy.Event]) -> None:
            loan.__exit__(None, None, None)

        self.submit(f"lend {number}", queue, access, enter, barrier=True, after_all=True)
        self.submit(f"end of the loan of {number}", queue, access, leave, barrier=True, after_all=True)

    # -- memory

    def new(self, a: int, b: int, c: int) -> None:
        queue = self.queue_of(a)
        if queue is None or len(self.arrays) >= 3:
            return
        number, tensor = self.number(), None
        if self.host and c % 3 == 0:
            producer, tensor = producers.producer((self.n,), INT64, memory=8 * self.n)
            array = usmpy.from_dlpack(producer, device=self.queues[queue.number])
            assert array.data_ptr == tensor.address
        else:
            kind = "host" if self.host else "shared"
            array = usmpy.empty(self.n, dtype="int64", usm_type=kind, queue=self.queues[queue.number])
        memory = Memory(number)
        self.arrays[memory], self.elements[memory] = array, Elements(array)
        self.elements[memory].write(0)
        if tensor is not None:
            self.imports[memory] = tensor
        name = "memory" if tensor is None else "borrowed memory"
        self.log.append(f"  {name} {number} in queue {queue.number}")

    def drop(self, a: int, b: int, c: int) -> None:
        """The program's array goes; tasks may still use its memory."""
        for memory in self.memory_of(a):
            self.log.append(f"  drop memory {memory.number}")
            memory.references -= 1
            del self.arrays[memory]
            self.model.settle()

    def drop_event(self, a: int, b: int, c: int) -> None:
        found = [task for task in self.events if task not in self.untouched]
        if found and not self.forked:
            task = found[a % len(found)]
            self.log.append(f"  drop the event of task {task.number}")
            task.held = False
            del self.events[task]

    def export(self, a: int, b: int, c: int) -> None:
        """A capsule, which keeps the memory."""
        for memory in self.memory_of(a):
            if memory.writer is None and not memory.readers and memory.failure is None:
                self.log.append(f"  export memory {memory.number}")
                self.exports.append((memory, self.arrays[memory].__dlpack__()))
                memory.references += 1

    def drop_export(self, a: int, b: int, c: int) -> None:
        if self.exports:
            memory, _ = self.exports.pop(a % len(self.exports))
            self.log.append(f"  drop an export of memory {memory.number}")
            memory.references -= 1
            self.model.settle()

    # -- waits

    def open(self, a: int, b: int, c: int) -> None:
        running = [task for task in self.gates if task.state == RUNNING]
        if running:
            task = running[a % len(running)]
            self.log.append(f"  open the gate of task {task.number}")
            self.model.open(task)
            self.publish()
            if self.waiter is not None and self.waiter.wait.ended:
                self.waiter.may_return = True
            self.gates[task].opened.set()

    def waits(self, a: int, b: int, pending: bool) -> Wait | None:
        """A call that waits; with `pending`, for what has not ended if there is such."""
        what = a % 6
        tasks = [task for task in self.events if not (pending and task.ended)]
        if what < 2 and tasks:
            task = tasks[b % len(tasks)]

            def raised() -> Failure | None:
                if task.failure is not None:
                    task.failure.deliver()
                return task.failure

            if task.failure is not None and not task.failure.certain:
                return None
            return Wait(f"wait for task {task.number}", task, self.events[task].wait, [task], raised)
        if what < 4:
            queues = [queue for queue in self.model_queues if queue.pending or not pending]
            queue = queues[b % len(queues)] if queues else None
            if queue is None or queue in self.untouched or not queue.certain:
                return None
            return Wait(
                f"wait for queue {queue.number}",
                queue,
                self.queues[queue.number].wait,
                queue.pending[:],
                lambda: self.model.wait_for_queue(queue),
            )
        used = self.memory_of(b)
        if not used or (used[0].failure is not None and not used[0].failure.certain):
            return None
        memory, array = used[0], self.arrays[used[0]]
        if memory in self.model.lent:
            if pending or (what != 4 and self.model.lent[memory].pending):
                return None
            self.model.join(memory)
        tasks = [memory.writer] if memory.writer is not None else []
        call, text = (lambda: array[:1].tolist()), "read"
        if what == 4:
            call, text, tasks = array.wait, "wait for", tasks + memory.readers
        return Wait(f"{text} memory {memory.number}", memory, call, tasks, lambda: self.model.read(memory))

    def wait(self, a: int, b: int, c: int) -> None:
        wait = self.waits(a, b, pending=False)
        if wait is None or wait.target in self.untouched:
            return
        if wait.ended:
            self.log.append(f"  {wait.text}")
            self.same(wait.text, outcome(wait.call), predicted(wait.raised()))
        elif not wait.text.startswith("read"):
            self.log.append(f"  {wait.text}, which is pending, at most 0 s")
            self.same(wait.text, outcome(lambda: wait.call(timeout=0)), "timeout")

    def wait_all(self, a: int, b: int, c: int) -> None:
        """Raises the first failure, and covers the others."""
        tasks = [task for task in self.events if task.ended and task not in self.untouched]
        first = a % (len(tasks) + 1)
        tasks = (tasks[first:] + tasks[:first])[: b % 8]
        failures = [task.failure for task in tasks if task.failure is not None]
        if not tasks or not all(failure.certain for failure in failures):
            return
        text = f"wait for all of {[task.number for task in tasks]}"
        self.log.append(f"  {text}")
        for failure in failures:
            failure.cover()
        for failure in failures[:1]:
            failure.deliver()
        events = [self.events[task] for task in tasks]
        raised = failures[0] if failures else None
        self.same(text, outcome(lambda: usmpy.Event.wait_all(events)), predicted(raised))

    def wait_in_thread(self, a: int, b: int, c: int) -> None:
        if self.waiter is not None or self.forked or any(task.refused for task in self.model.unfinished):
            return
        wait = self.waits(a, b, pending=True)
        if wait is not None and not wait.ended:
            self.log.append(f"  a thread: {wait.text}")
            self.untouched = {wait.target}
            self.waiter = Waiter(wait)
            known = [*self.events, *self.unseen]
            self.waiter.beside = [task for task in known if task.queue is wait.target]

    def exception(self, a: int, b: int, c: int) -> None:
        """Event.exception(), which does not wait."""
        if self.events:
            task = list(self.events)[a % len(self.events)]
            if task in self.untouched or (task.failure is not None and not task.failure.certain):
                return
            self.log.append(f"  exception of task {task.number}")
            error = self.events[task].exception()

            def again() -> None:
                if error is not None:
                    raise error

            if task.failure is not None:
                task.failure.deliver()
            self.same("the exception of the event is", outcome(again), predicted(task.failure))

    def join(self) -> None:
        waiter = self.waiter
        if waiter is None or not waiter.wait.ended:
            return
        waiter.thread.join(PATIENCE)
        self.waiter, self.untouched = None, set()
        if waiter.thread.is_alive():
            raise Wrong(f"a thread still waits: {waiter.wait.text}")
        failure = waiter.wait.raised()
        if failure is not None and not failure.certain:
            raise Undecided
        self.same(f"in a thread: {waiter.wait.text}", waiter.found, [predicted(failure)])

    # -- forks

    def fork(self, a: int, b: int, c: int) -> None:
        """The child goes on with the program, in which all that was pending has failed."""
        if not self.host or self.forked or self.waiter is not None or self.children:
            return
        self.children += 1
        self.log.append("  fork")

        def go_on() -> None:
            self.forked = True
            try:
                self.model.fork()
                self.check()
                with contextlib.suppress(Undecided):
                    for step in self.steps[self.at + 1 :]:
                        self.do(step)
            except BaseException as error:
                raise Wrong("\n".join([str(error), "in the child of:", *self.log])) from error

        try:
            in_child(go_on)
        except AssertionError as error:
            raise Wrong(f"in the child of a fork: {error}") from None

    # -- what can be seen

    def same(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise Wrong(f"{what}: {found!r}; the model says {expected!r}")

    def check(self) -> None:
        for task, gate in self.gates.items():
            if task.state == RUNNING and not gate.started.wait(PATIENCE):
                raise Wrong(f"task {task.number} does not start")
        for task in self.events:
            if task.ended:
                self.await_end(task)
        self.join()
        if not self.forked:  # objects of threads that are in the parent stay
            self.check_counts()
            for memory, tensor in self.imports.items():
                self.check_deleter(memory, tensor)
        for task, event in self.events.items():
            states = (task.state,) if task.ended or task.gated else ("submitted", "running")
            if event.status not in states:
                raise Wrong(f"task {task.number} is {event.status}; the model says {task.state}")
        for memory in self.arrays:
            self.await_value(memory)
        if self.wrong:
            raise Wrong("\n".join(self.wrong))

    def await_end(self, task: Task) -> None:
        until(lambda: self.events[task].done, lambda: f"task {task.number} does not end")

    def await_value(self, memory: Memory) -> None:
        """A task whose event the program has not may write it a little later."""
        read, value = self.elements[memory].read, seen(memory)
        text = f"memory {memory.number} holds"
        until(lambda: read() == value, lambda: f"{text} {read()}; the model says {value}")

    def lingering(self) -> set[Memory]:
        return {freed for freed, stream in self.model.lingering if stream.pending}

    def check_deleter(self, memory: Memory, tensor: producers.Tensor) -> None:
        if memory in self.lingering():
            return
        calls = int(not self.model.lives(memory))
        text = f"calls of the deleter of memory {memory.number}"
        until(lambda: tensor.deleted >= calls, lambda: f"{text}: 0")
        self.same(text, tensor.deleted, calls)

    def check_counts(self) -> None:
        model = self.model
        links = {link for task in model.unfinished for link in task.links}
        events = links.union(model.unfinished, self.events)
        held = events.union(*(self.links.get(task, ()) for task in model.unfinished))
        if self.waiter is not None:
            held.update(self.waiter.wait.tasks, self.waiter.beside)
        memory = {memory for task in model.unfinished for memory in task.accesses}
        memory.update(self.arrays, (exported for exported, _ in self.exports))
        lingering = memory | self.lingering()
        counts: list[int] = []

        def settled() -> bool:
            live = _core._live_counts()
            counts[:] = (live[name] - self.before[name] for name in ("events", "allocs"))
            events_fit = self.streams or len(events) <= counts[0] <= len(held)
            return events_fit and len(memory) <= counts[1] <= len(lingering)

        until(
            settled,
            lambda: f"{counts} events and allocations live; the model says {[len(events), len(memory)]}",
        )
        self.unseen = {task for task in held if task.ended and task not in self.events}

    # -- running

    def do(self, step: Step) -> None:
        self.model.step += 1
        name, *numbers = step
        getattr(self, name)(*numbers)
        self.check()

    def run(self) -> None:
        reports: list[object] = []

        def note(report: sys.UnraisableHookArgs) -> None:
            error = report.exc_value
            reports.append(error.args[0] if isinstance(error, Trouble) else str(error))

        hook, sys.unraisablehook = sys.unraisablehook, note
        try:
            if self.run_steps():
                self.finish(reports)
            else:
                self.close()
                until(lambda: self.left() == {}, lambda: f"left behind: {self.left()}")
        finally:
            self.close()
            sys.unraisablehook = hook

    def run_steps(self) -> bool:
        """False: the history is not certain to the end."""
        try:
            for at, step in enumerate(self.steps):
                self.at = at
                self.do(step)
            while any(task.state == RUNNING for task in self.gates):
                self.do(("open", 7 * self.number(), 0, 0))
        except Undecided:
            return False
        return True

    def close(self) -> None:
        """After a failure nothing runs on."""
        for gate in self.gates.values():
            gate.opened.set()
        if self.waiter is not None:
            self.waiter.thread.join(PATIENCE)
        for queue in self.queues:
            with contextlib.suppress(Exception):
                queue.wait(PATIENCE)
        for held in (self.gates, self.arrays, self.exports, self.events, self.queues):
            held.clear()

    def finish(self, reports: list[object]) -> None:
        """All is dropped: each queue reports the first failure that nobody asked for, and nothing stays."""
        expected = [queue.reports() for queue in self.model_queues if queue.reports()]
        self.log.append("  the end")
        for held in (self.gates, self.arrays, self.exports, self.events, self.queues):
            held.clear()
        until(
            lambda: self.left() == {} and len(reports) >= len(expected),
            lambda: f"left behind: {self.left()}; reports {reports}; the model says {expected}",
        )
        of_queues = [next((roots for roots in expected if root in roots), root) for root in reports]
        self.same("queues that reported failures", sorted(of_queues, key=str), sorted(expected, key=str))

    def left(self) -> dict[str, int]:
        return {
            name: n - self.before[name]
            for name, n in _core._live_counts().items()
            if name in ("queues", "events", "allocs", "exports", "failures") and n != self.before[name]
        }


def draw(seed: int, weights: dict[str, float], forks: bool) -> tuple[list[Step], Shape]:
    chance = random.Random(seed)
    orders = [chance.random() < 0.5 for _ in range(chance.randint(1, 4))]
    n = chance.choice((8, 9000, 9000))  # the host runs short work in the submitting call
    names = ["new", "new", *chance.choices([*weights], [*weights.values()], k=chance.randint(10, 60))]
    if forks:
        names.insert(chance.randint(2, len(names)), "fork")
    steps = [(name, *(chance.randrange(1 << 16) for _ in range(3))) for name in names]
    return steps, (orders, n)


Make = Callable[[list[Step], Shape], Program]


def attempt(program: Program) -> str | None:
    """What went wrong in a program, and its steps; None: nothing."""
    try:
        program.run()
        return None
    except Exception as error:
        what = str(error) if isinstance(error, Wrong) else "".join(traceback.format_exception(error))
    gc.collect()  # what frames of the traceback held
    with contextlib.suppress(Wrong):  # else the next program counts what is left
        until(lambda: program.left() == {}, str, PATIENCE / 10)
    return f"{what}\n{program}"


def run(device: usmpy.Device, seed: int, *, forks: bool = False) -> None:
    run_made(lambda steps, shape: Program(device, steps, shape), WEIGHTS, seed, forks)


def run_made(make: Make, weights: dict[str, float], seed: int, forks: bool = False) -> None:
    """Runs the program of this seed. A failure names it, and the steps that are needed for the failure."""
    steps, shape = draw(seed, weights, forks)
    text = attempt(make(steps, shape))
    if text is not None:
        raise Wrong(f"seed {seed}: {text}\n\n{shrink(make, steps, shape)}")


def shrink(make: Make, steps: list[Step], shape: Shape) -> str:
    """Leaves out one step after the other while the program still fails, for a minute."""
    shortest, end = "it passes with fewer steps", time.monotonic() + PATIENCE
    for at in reversed(range(len(steps))):
        fewer = steps[:at] + steps[at + 1 :]
        text = attempt(make(fewer, shape)) if time.monotonic() < end else None
        if text is not None:
            shortest, steps = f"with {len(fewer)} steps: {text}", fewer
    return shortest
