"""copy.copy and copy.deepcopy of all public classes: which give the object itself, and which a new one."""

import copy
import types

import pytest

import usmpy
from usmpy import _core

QUEUE = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))


def unchanging():
    """An object of each class whose objects do not change."""
    program = usmpy.Program("kernel void fill(global float *x) { x[get_global_id(0)] = 1; }", device="host")
    return [
        QUEUE,
        QUEUE.context,
        QUEUE.device,
        QUEUE.barrier(),
        usmpy.Device("host"),
        usmpy.float32,
        usmpy.MemoryConnection.UNIFIED,
        usmpy.Range(2, 3),
        usmpy.NdRange(4, 2),
        usmpy.LocalMemory(4),
        program,
        program.fill,
        program.fill[usmpy.Range(3)],
        usmpy.ElementwiseKernel("T x", "T z", "z = x"),
        usmpy.ReductionKernel("T x", "T z", "x", "a + b", "z = a", "0"),
        usmpy.ScanKernel("T x", "T z", "x", "a + b"),
    ]


# Classes whose objects have a state of their own, or stand for something open: new objects, or a TypeError.
OTHER = {
    usmpy.USMArray: "new memory: test_arrays",
    usmpy.IPCHandle: "open descriptors",
    usmpy.Trace: "records",
    usmpy.borrow: "a block",
    usmpy.unpickle_device: "a block",
}


def test_objects_that_do_not_change_stay_the_same():
    for thing in unchanging():
        assert copy.copy(thing) is thing
        state = {"list": [thing], "object": types.SimpleNamespace(thing=thing), "tuple": (thing, [])}
        again = copy.deepcopy(state)
        assert again["list"][0] is again["object"].thing is again["tuple"][0] is thing
        assert again["list"] is not state["list"]


def test_no_public_class_is_forgotten():
    public = {value for name in usmpy.__all__ if isinstance(value := getattr(usmpy, name), type)}
    public |= {
        value
        for value in vars(_core).values()
        if isinstance(value, type) and not value.__name__.startswith("_")
    }
    tuples = {cls for cls in public if issubclass(cls, (tuple, BaseException))}
    views = {_core.Flags}  # of an array
    assert public - tuples - views == {type(thing) for thing in unchanging()} | set(OTHER)


def layouts(x):
    yield x
    yield x[::2, ::-1]
    yield usmpy.permute_dims(x, (1, 0))
    yield usmpy.broadcast_to(x[0], (2, 4))
    yield x[1, 1]
    yield x[:0]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_arrays(make):
    for usm_type in ("device", "shared", "host"):
        whole = usmpy.reshape(usmpy.arange(12, queue=QUEUE, usm_type=usm_type), (3, 4))
        for x in layouts(whole):
            for writable in (False, True):
                x.flags.writable = writable and x.flags.writable
                y = make(x)
                assert (y.queue, y.context, y.usm_type) == (QUEUE, QUEUE.context, usm_type)
                assert (y.dtype, y.shape, y.tolist()) == (x.dtype, x.shape, x.tolist())
                y[...] = -1
                assert not x.size or (x.tolist() != y.tolist())


def test_arrays_of_a_state():
    x = usmpy.arange(4, queue=QUEUE)
    state = copy.deepcopy({"x": x, "again": [x], "queue": x.queue})
    assert state["x"] is state["again"][0] is not x
    assert state["x"].queue is state["queue"] is QUEUE


def test_a_copy_is_ordered_after_pending_work():
    queue = usmpy.Queue("host", in_order=False)
    x = usmpy.zeros(4, dtype="int64", queue=queue)
    for i in range(1, 20):
        x[...] = i
        y = copy.deepcopy(x)
        x[...] = -1
        assert y.tolist() == [i] * 4


def test_a_copy_moves_nowhere():
    x = usmpy.arange(4, queue=QUEUE)
    with usmpy.unpickle_device(usmpy.Queue("host")):
        assert copy.copy(x).queue is copy.deepcopy(x).queue is QUEUE


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_generator_goes_on_by_itself(make):
    one = usmpy.random.Generator(3, queue=QUEUE)
    one.random(5)
    two = make(one)
    numbers = one.random(7)
    again = two.random(7)
    assert again.tolist() == numbers.tolist()
    assert again.queue is QUEUE
