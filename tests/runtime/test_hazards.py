"""Random programs over views of shared blocks, on several queues, against NumPy doing the same in sequence.

--hazard-programs says how many programs a test runs (unless it does: 5,000 on the host, a share of
them elsewhere), --seed with which one it begins. A failure names the seed, all steps with their
queues and views, and the tasks that met when the program is run again under a trace.
"""

from __future__ import annotations

import functools
import random
import threading

import backends
import draws
import numpy as np
import options
import ordering
import pytest

import usmpy

PATIENCE = 60
FIRST = draws.FIRST


def count_of(default):
    return options.value("hazard_programs", default)


def device_of(name):
    try:
        return next(backend for backend in backends.BACKENDS if backend.name == name).device()
    except StopIteration:
        pytest.skip(f"this run has no registration {name}")
    except backends.Absent as absent:
        pytest.skip(str(absent))


class Block:
    """One allocation and its model, seen from one or more queues of its place."""

    def __init__(self, name, log, chance, queues, n, dtype):
        self.name, self.log = name, log
        self.model = np.arange(n, dtype=dtype) % 100
        first = usmpy.asarray(self.model, queue=queues[0], copy=True)
        self.arrays = [first, *(first.to_device(queue) for queue in queues[1:])]
        self.chance = chance

    def run(self, n):
        """The same n neighbours: of a random array, and of the model."""
        at = self.chance.randint(0, self.model.size - n)
        seen_from = self.chance.randrange(len(self.arrays))
        self.log.append((self, seen_from, self.model[at : at + n]))
        return self.arrays[seen_from][at : at + n], self.model[at : at + n]

    def view(self, shape):
        """A random view of this shape."""
        x, model = self.strided_view(shape)
        self.log[-1] = (*self.log[-1][:2], model)
        return x, model

    def text(self, seen_from, model):
        """A view of the log."""
        at = (model.ctypes.data - self.model.ctypes.data) // model.itemsize
        strides = tuple(stride // model.itemsize for stride in model.strides)
        return (
            f"    {self.name}[{at}] shape {model.shape} strides {strides} in queue {seen_from} of {self.name}"
        )

    def strided_view(self, shape):
        """With steps, reversed, transposed."""
        chance, size = self.chance, self.model.size
        if len(shape) == 1:
            n = shape[0]
            step = chance.randint(1, max(1, min(3, (size - 1) // max(1, n - 1))))
            x, model = self.run((n - 1) * step + 1)
            step *= chance.choice((1, -1))
            return x[::step], model[::step]
        turned = chance.random() < 0.5
        rows, columns = shape[::-1] if turned else shape
        wide = chance.randint(columns, size // rows)
        x, model = self.run(rows * wide)
        at = chance.randint(0, wide - columns)
        x, model = usmpy.reshape(x, (rows, wide)), model.reshape(rows, wide)
        turn = chance.choice((1, -1))
        x, model = x[::turn, at : at + columns], model[::turn, at : at + columns]
        return (x.T, model.T) if turned else (x, model)


class Program:
    """Some steps; each is done by usmpy, in whatever queue it falls to, and at once by the model."""

    def __init__(self, seed, groups):
        chance = self.chance = random.Random(seed)
        self.seed = seed
        self.log = []  # names of steps, each followed by the views that it drew
        n = 40_000 if chance.random() < 0.02 else chance.choice((7, 40, 300))
        dtypes = ("int32", "float32")
        self.groups = [[chance.choice(pair) for pair in queues] for queues in groups]
        self.blocks = [
            Block("ab"[i], self.log, chance, self.groups[i % len(groups)], n, dtypes[i]) for i in range(2)
        ]
        self.queues = [queue for queues in self.groups for queue in queues]
        self.n = n
        self.events = []
        self.gate = None

    def shape(self):
        if self.chance.random() < 0.5:
            return (self.chance.randint(1, self.n),)
        rows = self.chance.randint(1, min(self.n, 9))
        return (rows, self.chance.randint(1, self.n // rows))

    def depends(self):
        chance = self.chance
        return chance.sample(self.events, 1) if self.events and chance.random() < 0.2 else ()

    def copyto(self):
        shape = self.shape()
        dst, to = self.chance.choice(self.blocks).view(shape)
        src, values = self.chance.choice(self.blocks).view(shape)
        usmpy.copyto(dst, src, casting="unsafe")
        np.copyto(to, values.copy(), casting="unsafe")  # NumPy is wrong where steps differ

    def memcpy(self):
        block, other = self.chance.choice(self.blocks), self.chance.choice(self.blocks)
        if block.model.dtype != other.model.dtype:
            other = block
        n = self.chance.randint(1, self.n)
        (dst, to), (src, values) = block.run(n), other.run(n)
        queue = self.chance.choice([array.queue for array in block.arrays])
        self.events.append(queue.memcpy(dst, src, depends=self.depends()))
        to[...] = values.copy()

    def fill(self):
        block, value = self.chance.choice(self.blocks), self.chance.randrange(100)
        dst, to = block.run(self.chance.randint(1, self.n))
        self.events.append(dst.queue.fill(dst, value, depends=self.depends()))
        to[...] = value

    def assign(self):
        value = self.chance.randrange(100)
        dst, to = self.chance.choice(self.blocks).view(self.shape())
        dst[...] = value
        to[...] = value

    def assign_view(self):
        shape = self.shape()
        block = self.chance.choice(self.blocks)
        dst, to = block.view(shape)
        src, values = block.view(shape)
        if src.queue is not dst.queue:
            src = src.to_device(dst.queue)
        dst[...] = src
        to[...] = values.copy()

    def take_away(self):
        """Data that was copied in between differ from the block's later contents."""
        block = self.chance.choice(self.blocks)
        src, values = block.view(self.shape())
        kept, model = src.astype("int64", copy=True), values.astype("int64")
        dst, to = block.view(kept.shape)
        usmpy.copyto(dst, kept, casting="unsafe")
        np.copyto(to, model, casting="unsafe")

    def barrier(self):
        self.events.append(self.chance.choice(self.queues).barrier())

    def read(self):
        self.open()
        x, model = self.chance.choice(self.blocks).view(self.shape())
        assert x.asnumpy().tolist() == model.tolist()

    def close(self):
        """Block one queue, and with it all tasks that wait for it."""
        if self.gate is None:
            gate = self.gate = threading.Event()
            block = self.chance.choice(self.blocks)
            queue = self.chance.choice([array.queue for array in block.arrays])
            held = [block.arrays[0]] if self.chance.random() < 0.5 else []
            queue.host_task(lambda *_: gate.wait(PATIENCE), *held)

    def open(self):
        if self.gate is not None:
            self.gate.set()
            self.gate = None

    STEPS = (copyto, copyto, copyto, memcpy, memcpy, fill, assign, assign_view, take_away, barrier, read)

    def run(self):
        try:
            self.run_steps()
        finally:
            self.open()

    def run_steps(self):
        chance = self.chance
        gated, opens = chance.random() < 0.1, chance.randint(4, 10)
        for i in range(12):
            if gated and i == 1:
                self.close()
            if i == opens:
                self.open()
            step = chance.choice(self.STEPS)
            self.log.append(f"  step {i}: {step.__name__}")
            step(self)
        self.open()
        for block in self.blocks:
            np.testing.assert_array_equal(chance.choice(block.arrays).asnumpy(), block.model)

    def __str__(self):
        lines = [f"seed {self.seed}, {self.n} elements"]
        for block in self.blocks:
            queues = [f"{x.queue.device.filter_string} in_order={x.queue.in_order}" for x in block.arrays]
            lines.append(f"  queues of {block.name}: {', '.join(queues)}")
        for entry in self.log:
            lines.append(entry if isinstance(entry, str) else entry[0].text(*entry[1:]))
        return "\n".join(lines)


def run_programs(groups, count):
    for seed in range(FIRST, FIRST + count):
        ordering.run(functools.partial(Program, seed, groups))
    for queue in {queue for queues in groups for pair in queues for queue in pair}:
        queue.wait(PATIENCE)


def pairs_of_queues(device, n):
    """For each of n queues one in order and one out of order, to choose from."""
    return [[usmpy.Queue(device, in_order=in_order) for in_order in (True, False)] for _ in range(n)]


@pytest.mark.parametrize("name", [backend.name for backend in backends.BACKENDS])
def test_two_queues_of_one_device(name):
    run_programs([pairs_of_queues(device_of(name), 2)], count_of(5_000 if name == "host" else 300))


BETWEEN = [
    ("host", "opencl-intel"),
    ("host", "opencl-pocl"),
    ("host", "cuda-software"),
    ("host", "level-zero-sim"),
    ("opencl-intel", "opencl-pocl"),
    ("opencl-intel", "cuda-software"),
    ("opencl-pocl", "level-zero-sim"),
    ("cuda-software", "level-zero-sim"),
]


@pytest.mark.parametrize("names", BETWEEN, ids="-".join)
def test_queues_of_two_backends(names):
    groups = [pairs_of_queues(device_of(name), 2) for name in names]
    run_programs(groups, count_of(100))


@pytest.mark.parametrize("driver", ["cuda", "level_zero"])
def test_two_devices_of_one_backend(driver):
    devices = usmpy.get_devices(driver)[:2]
    if len(devices) < 2:
        pytest.skip(f"this machine has {len(devices)} devices of {driver}")
    run_programs([pairs_of_queues(device, 2) for device in devices], count_of(100))
