"""Launches of kernels in Python: arguments, ranges, placement, events, traces."""

import copy
import enum
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import usmpy
from usmpy import kernel
from usmpy.kernel_api import atomic_add, barrier, get_global_id, get_local_id


def axpy(a, x, y, *, shift=0):
    i = get_global_id(0)
    y[i] += a * x[i] + shift


def add(x, n):
    i = get_global_id(0)
    x[i] = x[i] + n


def kind(x, value):
    if value is None:
        x[0] = 1
    elif value > 2:
        x[0] = 2
    else:
        x[0] = 3


def from_local(x, part):
    i = get_local_id(0)
    part[i] = x[get_global_id(0)]
    barrier()
    x[get_global_id(0)] = part[len(part) - 1 - i]


def nothing():
    barrier()  # NVIDIA's OpenCL builds no empty kernel


@usmpy.kernel
def never_launched(a, x, *, shift=0):
    x[0] = a + shift


class Level(enum.IntEnum):
    LOW = 2


def arrays(queue, n=4, dtype="float32"):
    return usmpy.arange(n, dtype=dtype, queue=queue), usmpy.ones(n, dtype=dtype, queue=queue)


def test_arguments_by_position_and_name(queue):
    x, y = arrays(queue)
    kernel(axpy)[4](2.0, x, y)
    kernel(axpy)[usmpy.Range(4)](2, y=y, x=x)
    kernel(axpy)[4](0.0, x, y, shift=1).wait()
    assert y.tolist() == [2.0, 6.0, 10.0, 14.0]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1.0,), {}, "missing"),
        ((1.0, 2, 3, 4, 5), {}, "too many|takes"),
        ((1.0, 2, 3), {"z": 1}, "unexpected"),
        ((1.0, 2), {"x": 1}, "multiple"),
    ],
)
def test_wrong_arguments(args, kwargs, message):
    with pytest.raises(TypeError, match=rf"axpy\(a, x, y, \*, shift=0\): .*({message})"):
        kernel(axpy)[4](*args, **kwargs)


@pytest.mark.parametrize("value", [[1], "x", b"x", {}, object(), np.zeros(3), np.datetime64("2020-01-01")])
def test_objects_that_are_no_arguments(queue, value):
    x, y = arrays(queue)
    with pytest.raises(TypeError, match=r"argument 0 \(a\) of axpy: "):
        kernel(axpy)[4](value, x, y)
    assert y.tolist() == [1.0] * 4


DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_ints_fit_into_what_they_meet(queue, dtype):
    info = usmpy.iinfo(dtype)
    x = usmpy.zeros(2, dtype=dtype, queue=queue)
    for value in (info.min, info.max, 0, 1):
        x[...] = 0
        kernel(add)[2](x, value).wait()
        assert x.tolist() == [value, value]
    for value in (info.min - 1, info.max + 1, 2**70):
        with pytest.raises(OverflowError, match="argument 1"):
            kernel(add)[2](x, value)


NUMBERS = [
    True,
    1,
    Level.LOW,
    1.5,
    np.float32(1.5),
    np.int8(2),
    np.bool_(True),
    np.float16(1.5),
    np.uint64(2),
]


@pytest.mark.parametrize("value", NUMBERS, ids=lambda value: type(value).__name__)
def test_numbers_of_all_kinds(queue, value):
    x = usmpy.zeros(2, dtype="float32", queue=queue)
    kernel(add)[2](x, value).wait()
    assert x.tolist() == [float(value)] * 2


def test_none(queue):
    x = usmpy.zeros(1, dtype="int32", queue=queue)
    found = []
    for value in (None, 3, 1):
        kernel(kind)[1](x, value).wait()
        found.append(x.tolist()[0])
    assert found == [1, 2, 3]


def test_local_memory_has_a_dtype(queue):
    x = usmpy.arange(8, dtype="int16", queue=queue)
    memory = usmpy.LocalMemory(4, "int16")
    assert memory.dtype == usmpy.int16
    kernel(from_local)[usmpy.NdRange(8, 4)](x, memory).wait()
    assert x.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    assert usmpy.LocalMemory(3).dtype == usmpy.uint8


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x[1:5],
        lambda x: usmpy.broadcast_to(x[:1], (4,)),
        lambda x: x[:0],
    ],
)
def test_arrays_of_any_strides(queue, view):
    source = view(usmpy.arange(8, dtype="float32", queue=queue))
    y = usmpy.ones(max(len(source), 1), dtype="float32", queue=queue)
    kernel(axpy)[len(source)](2.0, source, y).wait()
    expected = 1 + 2 * source.asnumpy()
    assert y.asnumpy()[: len(source)].tolist() == expected.tolist()


def test_arrays_that_are_written_must_be_writable(queue):
    x, y = arrays(queue)
    fixed = usmpy.broadcast_to(usmpy.ones(1, dtype="float32", queue=queue), (4,))
    kernel(axpy)[4](1.0, fixed, y)
    with pytest.raises(ValueError, match=r"argument 2 \(y\) of axpy: a read-only USMArray"):
        kernel(axpy)[4](1.0, x, fixed)


def test_arrays_of_two_queues_are_refused(device):
    x, _ = arrays(usmpy.Queue(device))
    _, y = arrays(usmpy.Queue(device))
    with pytest.raises(usmpy.ExecutionPlacementError, match="axpy"):
        kernel(axpy)[4](1.0, x, y)


def test_submit(queue):
    x, y = arrays(queue)
    first = queue.submit(kernel(axpy), (1.0, x, y, 0), usmpy.Range(4))
    queue.submit(kernel(axpy), [1.0, x, y, 0], 4, depends=[first]).wait()
    assert y.tolist() == [1.0, 3.0, 5.0, 7.0]
    queue.submit(kernel(nothing), (), 4).wait()
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"queue\.submit"):
        kernel(nothing)[4]()
    with pytest.raises(TypeError, match="a Kernel or a PythonKernel is allowed"):
        queue.submit(len, (), 4)


def test_events_order_launches(queue):
    x, y = arrays(queue)
    gate = threading.Event()
    waiting = queue.host_task(gate.wait)
    event = kernel(axpy)[4, [waiting]](1.0, x, y)
    assert not event.done
    gate.set()
    event.wait()


@pytest.mark.parametrize("key", [(4, 4), "4", 1.5, (4, 5, 6), None])
def test_keys_that_are_no_ranges(key):
    with pytest.raises(TypeError, match=r"axpy\["):
        kernel(axpy)[key]


def test_calls_without_a_range():
    with pytest.raises(TypeError, match=r"axpy\[range\]"):
        kernel(axpy)(1.0)


def test_traces_have_the_name_and_the_line(queue):
    x, y = arrays(queue)
    with usmpy.trace() as trace:
        kernel(axpy)[4](1.0, x, y).wait()
    line = axpy.__code__.co_firstlineno
    assert [task.name for task in trace.tasks if task.what == "kernel"] == [
        f"axpy (test_python_launches.py:{line})"
    ]


def test_a_kernel_is_built_once_for_each_set_of_types(queue):
    def function(x):
        atomic_add(x, 0, 1)

    count = kernel(function)

    x = usmpy.zeros(4, dtype="int32", queue=queue)
    threads = [threading.Thread(target=count[4], args=(x,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.tolist()[0] == 32
    count[4](x[::2])
    count[4](usmpy.zeros(4, dtype="uint32", queue=queue)).wait()
    assert len({built.parameters for built in count.specialisations}) == len(count.specialisations) == 3
    reference = weakref.ref(count)
    del count, thread, threads
    gc.collect()
    assert reference() is None


def test_copies_and_pickles_are_the_kernel_itself():
    assert pickle.loads(pickle.dumps(never_launched)) is never_launched
    assert copy.deepcopy(never_launched) is copy.copy(never_launched) is never_launched
    assert repr(never_launched) == "<PythonKernel never_launched(a, x, *, shift=0)>"
    assert repr(never_launched[4]).startswith("<BoundKernel never_launched[Range(4)]")
