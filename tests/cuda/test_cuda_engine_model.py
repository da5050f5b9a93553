"""Random programs that lend memory to streams, against the model of the engine (engine_programs.py).

A stream's work begins with a semaphore, which the program posts: its gate. So what is pending in the driver
is as certain as what is pending on the host.
"""

from __future__ import annotations

import ctypes
import threading

import cuda_peers
import engine_programs
import pytest
from draws import first_of, parts
from engine_model import Memory, Queue, Task

import usmpy

libc = ctypes.CDLL(None)
NOT_THERE = ("drop_event", "lend", "wait_for", "export", "refuse")  # tasks whose end the program cannot see
WEIGHTS = {name: weight for name, weight in engine_programs.WEIGHTS.items() if name not in NOT_THERE}
WEIGHTS |= {"lend_to_stream": 8, "drop_export": 2}
TIMELINES = 4


class Semaphore:
    """The gate of a stream's work, with the names of an `engine_programs.Gate`."""

    def __init__(self):
        self.memory = ctypes.create_string_buffer(64)  # a sem_t
        libc.sem_init(self.memory, 0, 0)
        self.expected, self.started, self.opened = [], threading.Event(), self
        self.started.set()

    def set(self):
        libc.sem_post(self.memory)


class Program(engine_programs.Program):
    streams = True

    def __init__(self, driver, handles, device, steps, shape):
        super().__init__(device, steps, shape)
        self.driver, self.handles = driver, handles
        self.model_streams = [Queue(len(self.queues) + i, True) for i in range(len(handles))]
        self.model.mortal = {
            stream
            for stream, handle in zip(self.model_streams, handles, strict=True)
            if handle != cuda_peers.LEGACY
        }
        self.semaphores = []  # the driver may use them until the end
        self.consumers = {}  # of exported memory, which nobody else uses until it is given back

    def reaches_driver(self, task: Task) -> bool:
        """The driver had it, and all that it waits for, at its submission."""
        if task.queue in self.model_streams:
            return True
        return not task.gated and task.cause is None and all(map(self.reaches_driver, task.links))

    def queue_of(self, a: int) -> Queue | None:
        """One out of order has a few streams of the driver: more tasks may wait for one another."""
        queue = super().queue_of(a)
        many = queue is not None and not queue.in_order and len(queue.pending) >= TIMELINES
        return None if many else queue

    def memory_of(self, a: int, count: int = 1) -> list[Memory]:
        self.untouched |= self.consumers.keys()
        found = super().memory_of(a, count)
        self.untouched -= self.consumers.keys()
        return found

    def drop_export(self, a: int, b: int, c: int) -> None:
        """The consumer gives the memory back: its stream is asked at the memory's next use."""
        if not self.exports:
            return
        memory = self.exports[a % len(self.exports)][0]
        self.model.lent[memory] = self.consumers.pop(memory)
        super().drop_export(a, b, c)

    def lend_to_stream(self, a: int, b: int, c: int) -> None:
        """With a loan, or by DLPack, whose consumer keeps the memory. The stream's work writes it."""
        used = [memory for memory in self.memory_of(b) if memory.failure is None]
        users = [task for memory in used for task in [memory.writer, *memory.readers] if task is not None]
        if not used or not all(self.reaches_driver(task) for task in users):
            return
        memory, array = used[0], self.arrays[used[0]]
        at, number = a % len(self.handles), self.number()
        stream, handle = self.model_streams[at], self.handles[at]
        by_dlpack, gated = c % 2 == 0, c % 3 > 0

        def effect() -> None:
            memory.value = (number, number)

        if self.model.lent.get(memory, stream) is not stream:
            self.model.join(memory)
            users = [memory.writer] if memory.writer is not None else users
        how = "by DLPack" if by_dlpack else "with a loan"
        what = f"task {number}: {'behind a gate, ' if gated else ''}fills it there"
        self.log.append(f"  lend {memory.number} to stream {stream.number} {how}; {what}")
        if by_dlpack:
            self.model.see(stream, users)
        work = Task(number, stream, {}, effect, gated)
        if gated:
            gate = Semaphore()
            self.semaphores.append(gate)
            self.gates[work] = gate
        self.model.submit(work, users, data=False)
        if by_dlpack:
            memory.references += 1
        else:
            self.model.mark(memory, stream)
        self.publish()

        def enqueue() -> None:
            if gated:
                self.driver.call(
                    "cuLaunchHostFunc",
                    ctypes.c_void_p(handle),
                    ctypes.cast(libc.sem_wait, ctypes.c_void_p),
                    gate.memory,
                )
            pattern = ctypes.c_uint32(number)  # the upper half of each element is 0
            for half, value in ((0, pattern), (4, ctypes.c_uint32(0))):
                self.driver.call(
                    "cuMemsetD2D32Async",
                    ctypes.c_uint64(array.data_ptr + half),
                    ctypes.c_size_t(8),
                    value,
                    ctypes.c_size_t(1),
                    ctypes.c_size_t(self.n),
                    ctypes.c_void_p(handle),
                )

        if by_dlpack:
            self.exports.append((memory, array.__dlpack__(stream=handle, max_version=(1, 3))))
            self.consumers[memory] = stream
            enqueue()
            if c % 5 < 3:
                self.drop_export(len(self.exports) - 1, 0, 0)
        else:
            with array.lend(handle):
                enqueue()

    def close(self) -> None:
        super().close()
        for handle in self.handles:
            self.driver.synchronize(handle)
        usmpy.trim()  # no memory waits for the streams in the next program


@pytest.fixture(scope="module")
def built(device):
    """The driver loads no module while a gate is closed: it would wait for the work behind it."""
    usmpy.prebuild(device)


@pytest.fixture
def handles(driver, built):
    handle = driver.stream()
    yield [handle, cuda_peers.LEGACY]
    driver.destroy_stream(handle)


@pytest.mark.parametrize("seeds", parts(200), ids=first_of)
def test_loans_to_streams(device, driver, handles, seeds):
    for seed in seeds:
        engine_programs.run_made(
            lambda steps, shape: Program(driver, handles, device, steps, shape), WEIGHTS, seed
        )
