"""Every fallible call is made to fail in turn: the error is right, nothing leaks, and the next try works.

`_core._fault(entry, n)` makes the n-th call of an entry fail once: "python" are Python's own allocators,
"heap" those of the core, the others are entries of the backend's table. Each scenario runs with n from 1 up,
until it ends without having reached the fault.
"""

from __future__ import annotations

import ctypes
import gc
import pickle
import sys
import time

import numpy as np
import producers
import pytest

import usmpy
from usmpy import _core

DEVICE = usmpy.Device("host:cpu:0")
QUEUE = DEVICE.queue


class OldProducer:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()


class NewProducer:
    def __init__(self, x):
        self.x = x

    def __dlpack__(self, *, max_version=None, **others):
        return self.x.__dlpack__(max_version=max_version)


class Arrow:
    def __arrow_c_device_array__(self):
        return OWN.__arrow_c_device_array__()


OWN = usmpy.reshape(usmpy.arange(12, dtype="float32"), (3, 4))
THEIRS = np.arange(12, dtype="float32").reshape(3, 4)
# Made here: under a fault NumPy itself now and then fails without an exception.
OWN_LIST, TRANSPOSED, RAVELED = THEIRS.tolist(), THEIRS.T.tolist(), THEIRS.T.ravel().tolist()
VIEW = THEIRS[None, 1:, ::-2].swapaxes(-1, -2).tolist()
TABLE = producers.our_table()


def check(x, expected=OWN_LIST):
    assert x.tolist() == expected


def through_our_table():
    out = ctypes.c_void_p()
    producers.FROM_PY_OBJECT(TABLE.managed_tensor_from_py_object_no_sync)(OWN, ctypes.byref(out))
    address = out.value
    made = ctypes.py_object()
    producers.TO_PY_OBJECT(TABLE.managed_tensor_to_py_object_no_sync)(address, ctypes.byref(made))
    x = made.value
    producers.api.Py_DecRef(made)
    check(x)


def submit(call):
    """The event is waited for: what a task could not do comes out there."""

    def scenario():
        queue = usmpy.Queue(DEVICE)
        x = usmpy.zeros(4, dtype="int32", queue=queue)
        event = call(queue, x)
        event.wait()
        queue.wait()

    return scenario


def borrowing(x):
    with usmpy.borrow(x) as y:
        check(y)


def lending():
    with OWN.lend(QUEUE):
        pass
    with OWN.lend(None):
        pass


def assigning():
    x = usmpy.zeros((3, 4), dtype="float32")
    x[1:, ::2] = 5
    x[0] = OWN[1]
    x[...] = THEIRS
    check(x)


def depends():
    queue = usmpy.Queue(DEVICE)
    first = queue.barrier()
    second = queue.host_task(int, depends=[first])
    queue.barrier(depends=iter([first, second])).wait()


def failing_task():
    queue = usmpy.Queue(DEVICE)
    event = queue.host_task(int, "no number")
    for wait in (event.wait, queue.wait):
        try:
            wait()
        except ValueError:
            continue
        raise AssertionError("the failure did not come out")
    assert isinstance(event.exception(), (ValueError, MemoryError))


def sharing():
    x = usmpy.share(OWN)
    with x.get_ipc_handle() as handle:
        check(handle.open())
        with usmpy.IPCHandle.from_bytes(bytes(handle), handle.fds) as again:
            check(again.open(readonly=True))


EXCHANGE = {
    "share": sharing,
    "export": lambda: OWN.__dlpack__(max_version=(1, 0)),
    "export legacy": lambda: OWN.__dlpack__(),
    "export a copy": lambda: OWN.__dlpack__(max_version=(1, 0), copy=True),
    "export for a device": lambda: OWN.__dlpack__(dl_device=(1, 0), stream=None),
    "export to numpy": lambda: check(np.from_dlpack(OWN)),
    "export to Arrow": lambda: OWN.__arrow_c_array__(),
    "export to Arrow's device interface": lambda: OWN.__arrow_c_device_array__(),
    "import from Arrow": lambda: check(usmpy.from_arrow(Arrow())),
    "device pair": lambda: OWN.__dlpack_device__(),
    "our table": through_our_table,
    "import our own": lambda: check(usmpy.from_dlpack(OWN)),
    "import our own, copied": lambda: check(usmpy.from_dlpack(OWN, copy=True)),
    "import from numpy": lambda: check(usmpy.from_dlpack(THEIRS)),
    "import strided": lambda: check(usmpy.from_dlpack(THEIRS.T), TRANSPOSED),
    "import with a device": lambda: check(usmpy.from_dlpack(THEIRS, device=(1, 0))),
    "import onto a queue": lambda: check(usmpy.from_dlpack(THEIRS, device=usmpy.Queue(DEVICE))),
    "import and copy": lambda: check(usmpy.from_dlpack(THEIRS, copy=True)),
    "import from a class": lambda: check(usmpy.from_dlpack(NewProducer(OWN))),
    "import from an old class": lambda: check(usmpy.from_dlpack(OldProducer(OWN))),
    "asarray of numpy": lambda: check(usmpy.asarray(THEIRS)),
    "asarray with a cast": lambda: check(usmpy.asarray(THEIRS, dtype="float64")),
    "asarray of a buffer": lambda: check(usmpy.asarray(memoryview(b"abc")), [97, 98, 99]),
    "asarray of lists": lambda: check(usmpy.asarray([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    "buffer": lambda: memoryview(OWN.T).tolist(),
    "numpy's asarray": lambda: check(np.asarray(OWN)),
    "borrow ours": lambda: borrowing(OWN),
    "borrow numpy's": lambda: borrowing(THEIRS),
    "borrow a buffer": lambda: borrowing(memoryview(THEIRS)),
    "lend": lending,
}

CREATION = {
    "empty": lambda: usmpy.empty((3, 4)),
    "large": lambda: usmpy.empty(40_000_011, dtype="uint8"),
    "shared": lambda: usmpy.empty(100, usm_type="shared"),
    "zeros": lambda: check(usmpy.zeros((2, 2)), [[0, 0], [0, 0]]),
    "ones": lambda: check(usmpy.ones(3, dtype="int8"), [1, 1, 1]),
    "full": lambda: check(usmpy.full(3, 2.5), [2.5] * 3),
    "full_like": lambda: usmpy.full_like(OWN, 3),
    "zeros_like": lambda: usmpy.zeros_like(OWN, dtype="int64"),
    "arange": lambda: check(usmpy.arange(1, 7, 2), [1, 3, 5]),
    "linspace": lambda: check(usmpy.linspace(0, 1, 3), [0, 0.5, 1]),
    "eye": lambda: check(usmpy.eye(2), [[1, 0], [0, 1]]),
    "USMArray": lambda: usmpy.USMArray((2, 3), "int16", order="F"),
    "queue": lambda: usmpy.Queue(DEVICE, profiling=True).wait(),
    "context": lambda: usmpy.Context([DEVICE]),
    "queue of a context": lambda: usmpy.Queue(DEVICE, context=usmpy.Context([DEVICE])).wait(),
    "devices": lambda: usmpy.get_devices("host"),
    "device": lambda: usmpy.Device("host:cpu:0").filter_string,
    "info": lambda: DEVICE.info(),
}

COPIES = {
    "copy": lambda: check(OWN.copy()),
    "strided copy": lambda: check(OWN.T.copy(), TRANSPOSED),
    "astype": lambda: check(usmpy.astype(OWN, "complex64")),
    "to_device": lambda: check(OWN.to_device(usmpy.Queue(DEVICE))),
    "copyto": lambda: usmpy.copyto(usmpy.zeros((3, 4)), OWN),
    "concat": lambda: usmpy.concat([OWN, OWN]).wait(),
    "stack": lambda: usmpy.stack([OWN, OWN.copy()], axis=1).wait(),
    "reshape with a copy": lambda: check(usmpy.reshape(OWN.T, (12,)), RAVELED),
    "flip": lambda: usmpy.flip(OWN).tolist(),
    "asnumpy": lambda: check(OWN.asnumpy()),
    "tolist": lambda: OWN.tolist(),
    "item": lambda: OWN[1, 1].item(),
    "views": lambda: check(OWN[None, 1:, ::-2].mT, VIEW),
    "assignment": assigning,
    "broadcast": lambda: usmpy.broadcast_to(OWN, (2, 3, 4)),
    "permute": lambda: usmpy.permute_dims(OWN, (1, 0)),
    "expand and squeeze": lambda: usmpy.squeeze(usmpy.expand_dims(OWN, axis=0), axis=0),
    "repr": lambda: repr(OWN),
    "attributes": lambda: (OWN.shape, OWN.strides, OWN.flags, OWN.device, OWN.context, OWN.mT),
    "comparison of devices": lambda: (OWN.device == DEVICE, hash(OWN.device)),
    "pickle an array": lambda: check(pickle.loads(pickle.dumps(OWN))),
    "pickle out of band": lambda: pickle.dumps(OWN, protocol=5, buffer_callback=[].append),
    "pickle a device": lambda: pickle.loads(pickle.dumps(DEVICE)),
    "pickle a queue": lambda: pickle.loads(pickle.dumps(QUEUE)),
}

# A function that takes and does nothing: void f(size_t begin, size_t end, ...) may be any that only reads.
POINTER = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value
WORDS = ["int32* x", "const void*", "float64 a", "int32"]
KERNEL = usmpy.Kernel.from_pointer(POINTER, WORDS, owner=THEIRS)
NUMBERS = (*range(6), *map(np.int8, range(6)))
MANY = usmpy.Kernel.from_pointer(POINTER, ["int32*"] * 20 + ["int8"] * 12)
SOURCE = "kernel void put(global int *x, int v) { x[get_global_id(0)] = v; }"
usmpy.Program(SOURCE, device=DEVICE)  # on disk from here on


def building():
    program = usmpy.Program(SOURCE, device=DEVICE)
    x = usmpy.zeros(4, dtype="int32", queue=QUEUE)
    program.put[4](x, 7).wait()
    assert x.tolist() == [7] * 4
    assert program["put"].parameters == ("int32*", "int32")


def launching_from_two_queues(queue, x):
    y = usmpy.zeros(4, dtype="int32", queue=usmpy.Queue(DEVICE))
    first = queue.submit(KERNEL, (x, y, 1, np.int8(3)), usmpy.Range(4))
    return y.queue.submit(KERNEL, iter([y, None, 1.5, 2]), 4, depends=[first])


KERNELS = {
    "kernel from a pointer": lambda: usmpy.Kernel.from_pointer(POINTER, WORDS, name="f", owner=object()),
    "with_parameters": lambda: KERNEL.with_parameters(["int32*", "const int8* p", "float64", "int32 n"]),
    "parameters": lambda: (KERNEL.parameters, KERNEL.parameter_names, KERNEL.name, KERNEL.device),
    "repr of a kernel": lambda: repr(KERNEL),
    "index spaces": lambda: (usmpy.Range(3, 4), usmpy.NdRange((4, 4), [2, 2]), usmpy.LocalMemory(8)),
    "launch": submit(lambda q, x: KERNEL[4](x, x, 1.5, ctypes.c_int8(3))),
    "launch with an event": submit(lambda q, x: KERNEL[usmpy.Range(4), iter([q.barrier()])](x, None, 1, 2)),
    "launch of many": submit(lambda q, x: q.submit(MANY, (x,) * 20 + NUMBERS, 4)),
    "launch from two queues": submit(launching_from_two_queues),
}

PROGRAMS = {"program": building}


SUBMITS = {
    "memcpy": submit(lambda q, x: q.memcpy(x, usmpy.ones(4, dtype="int32", queue=q))),
    "memcpy from bytes": submit(lambda q, x: q.memcpy(x, b"\1\0\0\0" * 4)),
    "memcpy to a buffer": submit(lambda q, x: q.memcpy(bytearray(16), x)),
    "fill": submit(lambda q, x: q.fill(x, 7)),
    "host_task": submit(lambda q, x: q.host_task(len, x)),
    "barrier": submit(lambda q, x: q.barrier()),
    "keep_alive": submit(lambda q, x: q.keep_alive([x, object()])),
    "prefetch": submit(lambda q, x: q.prefetch(x)),
    "wait_for": submit(lambda q, x: q.wait_for(QUEUE) or q.barrier()),
    "out of order": lambda: usmpy.Queue(DEVICE, in_order=False).barrier().wait(),
    "depends": depends,
    "failing task": failing_task,
    "wait_all": lambda: usmpy.Event.wait_all([QUEUE.barrier(), QUEUE.barrier()]),
}


EVERY = {**EXCHANGE, **CREATION, **COPIES, **SUBMITS, **KERNELS, **PROGRAMS}

TYPES = (usmpy.USMArray, usmpy.Queue, usmpy.Event, usmpy.Device, usmpy.Context, usmpy.Kernel, usmpy.borrow)
COUNTED = getattr(sys, "_is_gil_enabled", lambda: True)()  # without it a type's count is spread over threads

# Their functions in Python lose a reference now and then when the interpreter itself has no memory left.
WRITTEN_IN_PYTHON = {
    "device",
    "devices",
    "repr",
    "program",
    *(name for name in COPIES if name.startswith("pickle")),
}


def objects():
    """Python objects: each holds a reference to its type."""
    return {kind.__name__: sys.getrefcount(kind) for kind in TYPES} if COUNTED else {}


def live():
    return _core._live_counts()


def settled(expected):
    """Workers release the last task shortly after its completion is visible."""
    deadline = time.monotonic() + 60
    while (now := live()) != expected and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.0005)
    return now


def attempt(scenario, entry, n):
    """(exception or None, was the fault reached)"""
    error = None
    _core._fault(entry, n)
    try:
        scenario()
    except BaseException as raised:  # the caller distinguishes them
        error = raised
    try:
        reached = _core._fault_calls(entry) >= n
    except MemoryError:  # the fault met this call
        reached = False
    finally:
        _core._fault(entry, 0)
    return error, reached


def run_all(name, entry, allowed):
    scenario = EVERY[name]
    gc.collect()
    before = live()
    scenario()  # creates the objects of which a process makes one
    assert settled(before) == before
    made = objects()
    for n in range(1, 2000):
        error, reached = attempt(scenario, entry, n)
        if error is not None:
            if not isinstance(error, allowed):
                raise AssertionError(f"call {n} of {entry} failed, and that came out") from error
            assert str(error) or type(error) is MemoryError
            error.__traceback__ = None
            error = None
        assert settled(before) == before, f"left behind after call {n} of {entry}"
        scenario()
        assert settled(before) == before, f"left behind by the run after call {n} of {entry}"
        if entry != "python" or name not in WRITTEN_IN_PYTHON:
            gc.collect()
            assert objects() == made, f"Python objects left behind after call {n} of {entry}"
        if not reached:
            return n - 1
    raise AssertionError("the scenario never ended without a fault")


@pytest.mark.parametrize("name", EVERY)
def test_memory_of_the_core_runs_out(name):
    run_all(name, "heap", MemoryError)


# What others make of our MemoryError: NumPy tries its next protocol, pickle wraps it.
OTHERS = {
    "numpy's asarray": TypeError,
    "pickle an array": pickle.PicklingError,
    "pickle out of band": pickle.PicklingError,
    "pickle a device": pickle.PicklingError,
    "pickle a queue": pickle.PicklingError,
}


# "our table" goes through ctypes, which loses what it was given when memory runs out between two calls.
without_gil = pytest.mark.made_if(COUNTED, reason="PyList_New itself crashes there when it gets no memory")


# A wait that gets no memory does not ask for the task's error.
@without_gil
@pytest.mark.filterwarnings("ignore:Exception ignored in a task:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", sorted(EVERY.keys() - {"our table"} - WRITTEN_IN_PYTHON))
def test_memory_of_python_runs_out(name):
    run_all(name, "python", (MemoryError, OTHERS.get(name, MemoryError)))


# An error that ends a generator only reaches the log, as Python defines it; from 3.12 on, Python crashes in
# any generator expression that does.
@pytest.mark.made_if(
    sys.version_info < (3, 12), reason="Python itself crashes when a generator gets no memory"
)
@pytest.mark.not_sanitized("what the interpreter itself loses would count as ours")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <generator:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", sorted(WRITTEN_IN_PYTHON - PROGRAMS.keys()))  # the compiler is a lot of it
def test_memory_of_python_runs_out_under_our_python_code(name):
    run_all(name, "python", (MemoryError, OTHERS.get(name, MemoryError)))


@without_gil
def test_the_faults_of_python_are_met():
    assert run_all("tolist", "python", MemoryError) > 5


def test_the_faults_are_met():
    """Scenarios that have these calls for sure: the loops above do fail something."""
    assert run_all("host_task", "heap", MemoryError) > 2
    assert run_all("large", "memory_allocate", MemoryError) == 1
    assert run_all("host_task", "queue_submit", usmpy.UsmError) >= 1
    assert run_all("queue of a context", "context_create", usmpy.UsmError) == 1


@pytest.mark.parametrize("name", [*EXCHANGE, *CREATION, *COPIES, "memcpy", "fill"])
def test_memory_of_the_device_runs_out(name):
    run_all(name, "memory_allocate", MemoryError)


@pytest.mark.parametrize(
    "name", [*SUBMITS, *KERNELS, "strided copy", "assignment", "concat", "import and copy"]
)
def test_a_submission_that_the_driver_refuses(name):
    run_all(name, "queue_submit", usmpy.UsmError)


@pytest.mark.parametrize("entry", ["queue_create", "context_create"])
@pytest.mark.parametrize("name", ["queue", "context", "queue of a context", "import onto a queue", "memcpy"])
def test_a_queue_or_context_that_the_driver_refuses(name, entry):
    run_all(name, entry, usmpy.UsmError)


@pytest.mark.parametrize("entry", ["program_build", "kernel_create"])
@pytest.mark.parametrize("name", ["program", "kernel from a pointer", "with_parameters"])
def test_a_program_or_kernel_that_the_driver_refuses(name, entry):
    run_all(name, entry, usmpy.UsmError)


def test_a_driver_error_says_what_failed():
    _core._fault("queue_create", 1)
    try:
        with pytest.raises(usmpy.UsmError, match="queue_create failed") as raised:
            usmpy.Queue(DEVICE)
    finally:
        _core._fault("queue_create", 0)
    assert (raised.value.backend, raised.value.name) == ("host", "INJECTED_FAULT")
    assert raised.value.code < 0


def test_every_entry_is_known_and_no_other():
    assert _core._fault_entries()[:2] == ["python", "heap"]
    with pytest.raises(ValueError):
        _core._fault("no such entry", 1)


# Producers in ctypes: under "heap" alone, since their callbacks are Python.


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("copy", [None, True])
def test_a_foreign_tensor_is_deleted_once_whatever_fails(versioned, copy):
    for entry in ("heap", "memory_allocate", "queue_submit"):
        for n in range(1, 100):
            source, tensor = producers.producer((50, 70), versioned=versioned, strides=(1, 50))

            def scenario(source=source):
                usmpy.from_dlpack(source, copy=copy)

            error, reached = attempt(scenario, entry, n)
            assert error is None or isinstance(error, (MemoryError, usmpy.UsmError))
            error = None
            gc.collect(0)
            assert tensor.deleted == 1
            if not reached:
                break
        assert not reached


@pytest.mark.parametrize("entry", ["heap", "queue_submit"])
def test_indices_are_right_or_an_error(entry):
    """nonzero() of more elements than the calling thread looks at itself."""
    x = usmpy.ones((64, 64), dtype="bool", device=DEVICE)
    expected = [axis.tolist() for axis in np.nonzero(np.ones((64, 64)))]
    QUEUE.wait()
    for n in range(1, 60):
        _core._fault(entry, n)
        try:
            axes = usmpy.nonzero(x)
        except (MemoryError, usmpy.UsmError):
            axes = None
        reached = _core._fault_calls(entry) >= n
        _core._fault(entry, 0)
        if axes is not None:
            assert [axis.tolist() for axis in axes] == expected
        if not reached:
            return
    raise AssertionError("it never ends")
