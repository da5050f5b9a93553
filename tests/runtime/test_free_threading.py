"""Threads that use one thing at the same moment. Python's lock makes most of this easy; without it
(free-threaded builds of CPython) they really do, and what holds then must hold everywhere.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import os
import subprocess
import sys
import sysconfig
import threading
import time
import weakref

import hang
import numpy as np
import pytest
from producers import Tensor

import usmpy

HANG = 120
SECONDS = 0.4
pool = None  # of threads: starting them takes longer than what they do
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.fixture(autouse=True)
def _watchdog():
    hang.limit(HANG)
    yield
    hang.free()


@pytest.fixture(scope="module", autouse=True)
def _threads():
    global pool
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield


def together(*bodies):
    """Calls all of them at the same moment, each in a thread; what they return, or raise."""
    gate = threading.Barrier(len(bodies))

    def run(body):
        gate.wait()
        try:
            return body()
        except Exception as error:
            return error.with_traceback(None)  # it would hold what the threads had

    return [future.result() for future in [pool.submit(run, body) for body in bodies]]


def soon(condition):
    """Threads release results shortly after completion; without the GIL, perhaps only when they run again."""
    end = time.monotonic() + HANG / 2
    while not condition() and time.monotonic() < end:
        gc.collect()
        time.sleep(0.001)
    return condition()


def for_a_while(*bodies):
    """Calls each again and again in a thread of its own; the first error is raised."""
    end = time.monotonic() + SECONDS

    def loop(body):
        def run():
            while time.monotonic() < end:
                body()

        return run

    for result in together(*map(loop, bodies)):
        if result is not None:
            raise result


def in_a_new_process(script):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}  # the default
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.made_if(FREE, reason="other Pythons have their lock built in")
def test_the_gil_stays_off():
    shown = in_a_new_process(
        "import sys, usmpy\n"
        "before = sys._is_gil_enabled()\n"
        "usmpy.from_dlpack(usmpy.zeros(3, device='host'))\n"
        "print(before, sys._is_gil_enabled())\n"
    )
    assert shown.split() == ["False", "False"]


def test_the_first_uses_of_all():
    """Objects that are made on first use are made once, whichever thread is first."""
    shown = in_a_new_process(
        "import threading, numpy, usmpy\n"
        "uses = [lambda: usmpy.Device('host').queue, lambda: usmpy.from_dlpack(numpy.ones(3)).queue,\n"
        "        lambda: usmpy.empty(1).queue, lambda: usmpy.asarray([1.5]).queue]\n"
        "gate, found = threading.Barrier(8), []\n"
        "def first():\n"
        "    for use in uses:\n"
        "        gate.wait()\n"
        "        found.append(use())\n"
        "threads = [threading.Thread(target=first) for _ in range(8)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
        "print(len(found), len(set(map(id, found))))\n"
    )
    assert shown.split() == ["32", "1"]


# -- objects that can be used once -----------------------------------------------------------------


def test_one_borrow_is_entered_and_left_once():
    for make in (lambda: np.zeros(4), lambda: usmpy.zeros(4, device="host"), lambda: bytearray(4)):
        for _ in range(30):
            borrow = usmpy.borrow(make())
            entered = together(*[borrow.__enter__] * 4)
            refused = [result for result in entered if isinstance(result, RuntimeError)]
            assert len(refused) == 3, entered
            left = together(*[lambda borrow=borrow: borrow.__exit__(None, None, None)] * 4)
            assert left.count(False) == 1, left
            (array,) = (result for result in entered if isinstance(result, usmpy.USMArray))
            with pytest.raises(ValueError):
                array.tolist()
            del array, entered


def test_a_borrow_is_left_while_it_is_entered():
    for _ in range(100):
        borrow = usmpy.borrow(usmpy.zeros(4, device="host"))
        entered, *_ = together(
            borrow.__enter__, *[lambda borrow=borrow: borrow.__exit__(None, None, None)] * 2
        )
        assert isinstance(entered, usmpy.USMArray)
        del entered, borrow


def test_one_loan_is_entered_and_left_once():
    x = usmpy.zeros(4, device="host")
    for _ in range(100):
        loan = x.lend()
        entered = together(*[loan.__enter__] * 4)
        assert entered.count(x.data_ptr) == 1, entered
        left = together(*[lambda loan=loan: loan.__exit__(None, None, None)] * 4)
        assert left.count(False) == 1, left


def test_one_capsule_is_taken_once():
    class Producer:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack__(self, **keywords):
            return self.capsule

    for _ in range(100):
        tensor = Tensor()
        producer = Producer(tensor.capsule())
        taken = together(*[lambda producer=producer: usmpy.from_dlpack(producer)] * 4)
        assert sum(isinstance(result, usmpy.USMArray) for result in taken) == 1, taken
        assert sum(isinstance(result, BufferError) for result in taken) == 3, taken
        del taken, producer
        assert soon(lambda: tensor.deleted == 1)  # noqa: B023


# -- arguments that change while they are read -----------------------------------------------------

LARGE = 10**6  # ints that no cache of Python's has


def changing(fill, *readers, errors=()):
    """`fill` gives new objects to a list, whose old ones die, while readers read it."""

    def quietly(reader):
        def run():
            with contextlib.suppress(*errors):
                reader()

        return run

    for_a_while(fill, *map(quietly, readers))


@pytest.mark.parametrize("nested", [False, True])
def test_asarray_of_a_list_that_changes(nested):
    items = []

    def fill():
        items[:] = [[LARGE + i] if nested else LARGE + i for i in range(len(items) % 7 + 3)]

    def read():
        x = usmpy.asarray(items, dtype="int64", device="host")
        values = x.tolist()
        assert all((value[0] if nested else value) >= LARGE for value in values)

    changing(fill, read, read, errors=(RuntimeError, ValueError))


def test_axes_and_shifts_in_lists_that_change():
    x = usmpy.zeros((1, 1, 1, 3), device="host")
    axes, shifts = [], []

    class Axis:
        def __init__(self, axis):
            self.axis = axis

        def __index__(self):
            return self.axis

    def fill():
        axes[:] = [Axis(i) for i in range(len(axes) % 3 + 1)]
        shifts[:] = [LARGE + i for i in range(len(axes))]

    changing(
        fill,
        lambda: usmpy.squeeze(x, axis=axes),
        lambda: usmpy.flip(x, axis=axes),
        lambda: usmpy.roll(x, shifts, axis=axes),
        lambda: usmpy.roll(x, shifts, axis=0),
        errors=(TypeError, ValueError, IndexError),
    )


def test_events_devices_and_shapes_in_lists_that_change():
    queue = usmpy.Queue("host")
    events, devices, shape = [], [], []

    def fill():
        events[:] = [queue.barrier() for _ in range(len(events) % 5 + 1)]
        devices[:] = [usmpy.Device("host") for _ in range(len(devices) % 3 + 1)]
        shape[:] = [LARGE + i for i in range(len(shape) % 3)]

    changing(
        fill,
        lambda: usmpy.Event.wait_all(events),
        lambda: queue.barrier(events),
        lambda: queue.host_task(len, (), depends=events),
        lambda: usmpy.get_execution_queue(devices),
        lambda: usmpy.Context(devices),
        lambda: usmpy.broadcast_to(usmpy.zeros((), device="host"), shape),
        errors=(TypeError, ValueError),
    )
    queue.wait()


def test_a_type_that_changes_while_it_is_exchanged():
    class Changing:
        def __dlpack__(self, **keywords):
            return Tensor().capsule()

    def change():
        def method(self, **keywords):
            return Tensor().capsule()

        Changing.__dlpack__ = method

    class A(Changing):
        pass

    class B(Changing):
        pass

    class Child(A):
        pass

    def rebase():
        Child.__bases__ = (B,) if Child.__bases__ == (A,) else (A,)

    def exchange():
        assert usmpy.from_dlpack(Changing()).shape == usmpy.from_dlpack(Child()).shape

    for_a_while(change, rebase, exchange, exchange)


def test_a_list_that_its_own_items_change():
    """The same in one thread, where Python's lock is of no help."""
    items = []

    class Emptying:
        def __index__(self):
            items.clear()
            return 0

    x = usmpy.zeros((1, 1, 1), device="host")
    for call in (
        lambda: usmpy.flip(x, axis=items),
        lambda: usmpy.squeeze(x, axis=items),
        lambda: usmpy.permute_dims(x, items),
        lambda: usmpy.roll(x, items, axis=0),
        lambda: usmpy.roll(x, 1, axis=items),
        lambda: usmpy.roll(x, (1, 1, 1), axis=items),
        lambda: usmpy.asarray(items, device="host"),
        lambda: usmpy.empty(items, device="host"),
    ):
        items[:] = [Emptying(), Emptying(), Emptying()]
        with contextlib.suppress(ValueError, RuntimeError):
            call()
        assert items == []


# -- objects that all share ------------------------------------------------------------------------


def test_one_kernel_of_one_program():
    program = usmpy.Program("kernel void f(global int *x) { x[get_global_id(0)] += 1; }", device="host")
    for _ in range(20):
        kernels = together(*[lambda: program.f] * 4, *[lambda: program["f"]] * 4)
        assert len({id(kernel) for kernel in kernels}) == 1, kernels
    x = usmpy.zeros(100, dtype="int32", device="host", usm_type="shared")
    bound = program.f[100]
    launches = together(*[lambda: [bound(x) for _ in range(200)]] * 4)
    for events in launches:
        usmpy.Event.wait_all(events)
    assert x.tolist() == [800] * 100


def test_one_program_built_by_all():
    source = "kernel void f(global int *x) { x[get_global_id(0)] = 42; }"
    programs = together(*[lambda: usmpy.Program(source, device="host")] * 4)
    for program in programs:
        x = usmpy.zeros(3, dtype="int32", device="host")
        program.f[3](x).wait()
        assert x.tolist() == [42] * 3


def test_weak_references_while_the_last_strong_one_goes():
    queue = usmpy.Queue("host")

    def run(make):
        cell = [make()]
        reference = weakref.ref(cell[0])

        def look():
            seen = reference()
            return seen is None or repr(seen) != ""

        assert together(look, cell.pop, look)[::2] == [True, True]
        assert soon(lambda: reference() is None)

    for _ in range(40):
        run(lambda: usmpy.zeros(3, queue=queue))
        run(queue.barrier)
        run(lambda: usmpy.Queue("host"))


def test_the_default_device_is_asked_for_by_all(monkeypatch):
    monkeypatch.setenv("USMPY_DEVICE", "host")
    host = usmpy.Device("host").queue

    def ask():
        usmpy.select_default_device()

    def create():
        assert usmpy.empty(3).queue is host

    for_a_while(ask, ask, create, create)


def test_one_event_is_waited_for_by_all():
    queue = usmpy.Queue("host")
    for _ in range(50):
        gate = threading.Event()
        event = queue.host_task(gate.wait, HANG)
        results = together(
            *[event.wait] * 3,
            lambda: queue.wait(),
            lambda event=event: queue.barrier([event]).wait(),
            gate.set,
        )
        assert results == [None] * len(results)
        assert event.done


def test_traces_and_memory_are_looked_at_while_all_work():
    queue = usmpy.Queue("host")
    before = usmpy.track_allocations(True)

    def work():
        x = usmpy.zeros(100, queue=queue)
        x[...] = 3
        assert usmpy.from_dlpack(x)[0].item() == 3

    def trace():
        with usmpy.trace() as seen:
            work()
        assert len(seen.to_dot()) > 0

    def memory():
        stats = usmpy.memory_stats("host")
        assert stats
        for allocation in usmpy.live_allocations():
            assert allocation.nbytes >= 0
        usmpy.trim("host")

    try:
        for_a_while(work, work, trace, trace, memory)
    finally:
        usmpy.track_allocations(before)
