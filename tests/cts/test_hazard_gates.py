"""Commands on overlapping views of one memory, each behind a gate of its own, opened in every order.

After each step exactly those commands have ended that may have. A command that runs too early is found in
three ways: its dependencies in a trace do not lead to each command that it conflicts with; it is done,
although one of them is not, after another queue has done a whole task; values differ from NumPy's at the end.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading

import numpy as np
import ordering

import usmpy

PATIENCE = 60
N = 100
VIEWS = [slice(0, 60), slice(40, 100), slice(20, 80), slice(0, 100)]  # all overlap in 40:60
TO, FROM = slice(40, 50), slice(50, 60)


@dataclasses.dataclass
class Command:
    """One task of a program.

    `what`: it reads or writes a view; "read twice": two views in this one are arguments of one kernel;
    "move": it reads one view and writes another.
    """

    what: str
    queue: int
    view: slice
    gate: threading.Event | None = None
    event: usmpy.Event | None = None
    task: int = -1  # its number in the trace
    over: bool = False  # its end was awaited


class Program:
    """Commands in the order of submission, and the order in which their gates are opened."""

    def __init__(self, device, n_queues):
        self.queues = [usmpy.Queue(device, in_order=i % 2 == 0) for i in range(n_queues)]
        self.probe = usmpy.zeros(N, dtype="int32", queue=usmpy.Queue(device))
        x = usmpy.zeros(N, dtype="int32", queue=self.queues[0])
        x.wait()
        self.memory = [x, *(x.to_device(queue) for queue in self.queues[1:])]  # seen from each queue
        self.model = np.zeros(N, dtype="int32")
        self.value = 0

    def __str__(self):
        lines = [f"  gates opened in the order {[*self.order]}, {self.early} of them before the last command"]
        for i, command in enumerate(self.commands):
            order = "in order" if self.queues[command.queue].in_order else "out of order"
            view, over = f"{command.view.start}:{command.view.stop}", ", has ended" if command.over else ""
            lines.append(f"  {i}: {command.what} {view} in queue {command.queue}, {order}{over}")
        return "\n".join(lines)

    def conflict(self, i, j):
        one, other = self.commands[i], self.commands[j]
        in_turn = one.queue == other.queue and self.queues[one.queue].in_order
        return in_turn or not {one.what, other.what} <= {"read", "read twice"}

    def blockers(self, at):
        return [i for i in range(at) if not self.commands[i].over and self.conflict(i, at)]

    def submit(self, at, trace):
        command = self.commands[at]
        queue, x, view = self.queues[command.queue], self.memory[command.queue], command.view
        gates = []
        if at in self.order:
            gate = command.gate = threading.Event()

            def pass_gate():
                if not gate.wait(PATIENCE):
                    raise TimeoutError("nobody opened the gate")

            gates = [queue.host_task(pass_gate)]
        if command.what == "write":
            self.value += 1
            command.event = queue.fill(x[view], self.value, depends=gates)
            self.model[view] = self.value
        elif command.what == "move":
            command.event = queue.memcpy(x[TO], x[FROM], depends=gates)
            self.model[TO] = self.model[FROM]
        elif command.what == "read":
            copy = usmpy.empty(view.stop - view.start, dtype="int32", queue=queue)
            command.event = queue.memcpy(copy, x[view], depends=gates)
            self.copies.append((at, copy, self.model[view].copy()))
        else:
            queue.barrier(gates)  # what follows in the queue comes after it
            one, two = slice(view.start, view.stop - 20), slice(view.start + 20, view.stop)
            total = usmpy.add(x[one], x[two])
            command.event = total.event
            self.copies.append((at, total, self.model[one] + self.model[two]))
        if trace is not None:
            # The last task but the marker of an array's event.
            command.task = [task.id for task in trace.tasks if task.what != "marker"][-1]
            waits = ordering.dependencies(trace)[command.task]
            for i in self.blockers(at):
                assert self.commands[i].task in waits, f"{at} does not wait for {i}:\n{self}"

    def open(self, which, submitted):
        self.commands[which].gate.set()
        for at, command in enumerate(self.commands[:submitted]):
            if command.over:
                continue
            blockers = self.blockers(at)
            if not blockers and (command.gate is None or command.gate.is_set()):
                command.event.wait(PATIENCE)
                command.over = True
            elif blockers:
                self.probe.queue.fill(self.probe, at).wait(PATIENCE)
                assert not command.event.done, f"{at} is done, although {blockers} are not:\n{self}"

    def run(self, commands, order, early, traced):
        self.commands, self.order, self.early, self.copies = commands, order, early, []
        try:
            with usmpy.trace() if traced else contextlib.nullcontext() as trace:
                for at in range(len(commands) - 1):
                    self.submit(at, trace)
                for which in order[:early]:
                    self.open(which, len(commands) - 1)
                self.submit(len(commands) - 1, trace)
            for which in order[early:]:
                self.open(which, len(commands))
            for at, copy, expected in self.copies:
                assert copy.tolist() == expected.tolist(), f"what {at} read:\n{self}"
            assert self.memory[0].tolist() == self.model.tolist(), f"what the memory holds:\n{self}"
        finally:
            for command in commands:
                if command.gate is not None:
                    command.gate.set()
            for queue in self.queues:
                queue.wait(PATIENCE)


def test_four_commands_in_every_order(device):
    """Every row of four that read and write, the gates of the first three in every order."""
    program = Program(device, 4)
    rows = itertools.product(("read", "write"), repeat=4)
    orders = itertools.permutations(range(3))
    for run, (row, order, early) in enumerate(itertools.product(rows, orders, range(4))):
        names = {"read": ("read", "read twice")[run % 3 == 0], "write": ("write", "move")[run % 5 < 2]}
        commands = [
            Command(names[what], (i + run) % 4, VIEWS[(i + run // 4) % 4]) for i, what in enumerate(row)
        ]
        program.run(commands, order, early, traced=run // 4 % 2 == 0)


def test_each_of_many_readers_is_the_last_before_a_writer(device):
    """More than a list of readers has room for at first; two queues have two of them."""
    program, n = Program(device, 7), 8
    for last in range(n):
        queues = (0, 1, 2, 3, 4, 5, 2, 3)
        commands = [Command("read", queue, VIEWS[i % 4]) for i, queue in enumerate(queues)]
        commands.append(Command("write", 6, VIEWS[2]))
        order = [(last + 1 + i) % n for i in range(n)]
        program.run(commands, order, last % 3, traced=last % 2 == 0)
