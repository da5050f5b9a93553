"""Objects that a launch uses stay alive until it completes, and are then released without another call."""

import ctypes
import gc
import threading
import time
import weakref

import numpy as np
import pytest
from asleep import once_asleep
from kernel_sources import spun

import usmpy
from usmpy import _core

LONG = 100_000_000  # rounds of `spin`: a good part of a second
PATIENCE = 60


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_an_array_dropped_during_a_long_kernel(queue, program):
    x = usmpy.ones(2, dtype="uint32", queue=queue)
    y = usmpy.zeros(2, dtype="uint32", queue=queue)
    x.wait()
    y.wait()
    # In the pool: some drivers need a millisecond for a block.
    usmpy.stack([usmpy.full(2, 7, dtype="uint32", queue=queue) for _ in range(100)]).wait()
    until(lambda: _core._live_counts()["events"] == 0)
    allocs = _core._live_counts()["allocs"]
    event = program.spin[2](x, LONG)
    copied = queue.memcpy(y, x)
    del x
    # Others would take the memory, were it free.
    others = [usmpy.full(2, 7, dtype="uint32", queue=queue) for _ in range(100)]
    assert not event.done
    assert _core._live_counts()["allocs"] == allocs + 100
    del others
    copied.wait(PATIENCE)
    assert y.tolist() == [spun(1, LONG)] * 2
    until(lambda: _core._live_counts()["allocs"] == allocs - 1)


@pytest.mark.only_on("host")
def test_imported_memory_goes_without_a_later_call(queue, program):
    """The owner is a Python object: the main thread releases it between two bytecodes."""

    class Owned(np.ndarray):
        pass

    there = np.ones(2, dtype="uint32").view(Owned)
    gone = threading.Event()
    weakref.finalize(there, gone.set)
    x = usmpy.from_dlpack(there)
    del there
    gc.collect()  # before the launch: with large libraries loaded it may take as long as the kernel
    event = queue.submit(program.spin, (x, LONG), 2)
    del x
    assert not gone.is_set()
    assert not event.done
    until(gone.is_set)  # no call of ours in between: Python calls back
    assert event.done


@pytest.mark.only_on("host")
def test_imported_memory_goes_with_a_call_of_another_thread(queue):
    """The main thread, which alone runs Python's pending calls, is blocked outside Python."""
    there = np.ones(2, dtype="uint32")
    start, gone = threading.Event(), threading.Event()
    weakref.finalize(there, gone.set)
    held = queue.host_task(start.wait, PATIENCE)
    queue.fill(usmpy.from_dlpack(there), 1, depends=[held])
    del there
    assert not gone.is_set()

    def call():
        start.set()
        until(lambda: queue.wait() or gone.is_set())

    once_asleep(call)
    assert gone.wait(PATIENCE)


def test_a_thousand_small_arrays(queue, program):
    kept = usmpy.zeros(4, dtype="int32", queue=queue)
    queue.wait()
    before = _core._live_counts()
    for i in range(1000):
        x = usmpy.full(4, i, dtype="int32", queue=queue)
        program.add_one[4](x)
        if i % 100 == 99:
            queue.memcpy(kept, x)
            del x
            assert kept.tolist() == [i + 1] * 4
    x = None
    queue.wait()
    until(lambda: _core._live_counts() == before)


def test_kernel_program_queue_and_arguments_dropped(device):
    queue = usmpy.Queue(device)
    y = usmpy.zeros(2, dtype="uint32", queue=queue)
    y.wait()
    source = """
        kernel void spin(global uint *x, ulong n) {
            uint seed = x[get_global_id(0)];
            for (ulong i = 0; i < n; i++) { seed = seed * 1664525u + 1013904223u; }
            x[get_global_id(0)] = seed;
        }"""
    program = usmpy.Program(source, device=queue)
    kernel = program.spin
    event = kernel[2](y, LONG // 2)
    del program, kernel, queue
    gc.collect()
    assert not event.done
    assert y.tolist() == [spun(0, LONG // 2)] * 2


class Large(ctypes.Structure):
    _fields_ = (("values", ctypes.c_double * 32),)


def test_the_bytes_of_a_value_are_read_at_the_launch(queue, program, device):
    if not device.has_fp64:
        pytest.skip("the device has no float64")
    source = """
        typedef struct { double values[32]; } large;
        kernel void sum(global double *out, large v) {
            double s = 0;
            for (int i = 0; i < 32; i++) { s += v.values[i]; }
            out[0] = s;
        }"""
    own = usmpy.Program(source, device=device)
    out = usmpy.zeros(1, dtype="float64", queue=queue)
    gate = threading.Event()
    first = queue.host_task(gate.wait, PATIENCE)
    value = Large((ctypes.c_double * 32)(*range(32)))
    event = own.sum[usmpy.Range(1), [first]](out, value)
    for i in range(32):
        value.values[i] = -1
    del value
    gate.set()
    event.wait(PATIENCE)
    assert out.tolist() == [sum(range(32))]


def test_an_event_without_a_waiter(queue, program):
    before = _core._live_counts()["events"]
    x = usmpy.ones(2, dtype="uint32", queue=queue)
    for _ in range(20):
        program.spin[2](x, 1000)
    until(lambda: _core._live_counts()["events"] == before)
    assert x.tolist() == [spun(1, 20_000)] * 2


def test_no_growth_of_bound_kernels(queue, program):
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    before = len(gc.get_objects())
    for _ in range(500):
        program.add_one[4]
        with pytest.raises(TypeError):
            program.add_one[usmpy.Range(4), [1]](x)
    gc.collect()
    assert len(gc.get_objects()) < before + 200


def test_the_collector_sees_the_kernel_of_a_launch(queue, program):
    event = queue.barrier()
    launcher = program.add_one[4, [event]]
    assert any(item is program.add_one for item in gc.get_referents(launcher))
    assert any(item == [event] for item in gc.get_referents(launcher))


def test_a_program_takes_weak_references(queue):
    program = usmpy.Program("kernel void one(global int *x) { x[0] = 1; }", device=queue)
    gone = weakref.ref(program)
    assert gone() is program
    del program
    gc.collect()
    assert gone() is None
