"""Our exchange table: what a C consumer of DLPack 1.3 finds on the type USMArray."""

from __future__ import annotations

import ctypes
import gc
import threading

import producers
import pytest
from asleep import once_asleep
from ids import steady
from producers import CPU, READ_ONLY, DLManagedTensorVersioned, DLTensor, Tensor, lasting_counts, make_table

import usmpy

TABLE = producers.our_table()
from_py_object = producers.FROM_PY_OBJECT(TABLE.managed_tensor_from_py_object_no_sync)
to_py_object = producers.TO_PY_OBJECT(TABLE.managed_tensor_to_py_object_no_sync)
lend = producers.LEND(TABLE.dltensor_from_py_object_no_sync)
work_stream = producers.WORK_STREAM(TABLE.current_work_stream)
allocator = producers.ALLOCATOR(TABLE.managed_tensor_allocator)


def export(x) -> DLManagedTensorVersioned:
    out = ctypes.c_void_p()
    assert from_py_object(x, ctypes.byref(out)) == 0
    return DLManagedTensorVersioned.from_address(out.value)


def import_(tensor) -> usmpy.USMArray:
    out = ctypes.py_object()
    assert to_py_object(tensor.give(), ctypes.byref(out)) == 0
    x = out.value  # a reference of its own
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(x))  # the one that the table gave
    return x


# -- the table -------------------------------------------------------------------------------------


def test_the_table_is_on_the_type_under_both_names_and_static():
    capsule = usmpy.USMArray.__dlpack_c_exchange_api__
    assert producers.capsule_name(capsule) == "dlpack_exchange_api"
    assert usmpy.USMArray.__c_dlpack_exchange_api__ is capsule
    assert (TABLE.version.major, TABLE.version.minor) == (1, 3)
    assert TABLE.prev_api is None
    for field, _ in producers.DLPackExchangeAPI._fields_[2:]:
        assert getattr(TABLE, field), field


def test_the_table_cannot_be_taken_off_the_type():
    with pytest.raises(TypeError):
        usmpy.USMArray.__dlpack_c_exchange_api__ = None
    with pytest.raises(TypeError):
        del usmpy.USMArray.__dlpack_c_exchange_api__


# -- managed_tensor_from_py_object_no_sync ---------------------------------------------------------


def test_an_export_through_the_table_is_that_of_dlpack(queue):
    x = usmpy.zeros((3, 4), dtype="int16", queue=queue)[:, ::-2]
    x.wait()
    managed = export(x)
    theirs = producers.peek(x.__dlpack__(max_version=(1, 0)))
    assert managed.dl_tensor.describe() == theirs.dl_tensor.describe()
    assert (managed.version.major, managed.version.minor, managed.flags) == (1, 3, 0)
    producers.delete(managed)


def test_read_only_is_flagged_by_the_table(queue):
    x = usmpy.broadcast_to(usmpy.zeros(3, queue=queue), (2, 3))
    managed = export(x)
    assert managed.flags == READ_ONLY
    assert managed.dl_tensor.describe()["strides"] == (0, 1)
    producers.delete(managed)


@pytest.mark.only_on("host-accessible")
def test_an_exported_tensor_outlives_its_array(queue):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    managed = export(x)
    del x
    gc.collect()
    assert list((ctypes.c_int32 * 4).from_address(managed.dl_tensor.data)) == [0, 1, 2, 3]
    thread = threading.Thread(target=producers.delete, args=(managed,))
    thread.start()
    thread.join()


@pytest.mark.parametrize("function", [from_py_object, lend], ids=["from_py_object", "lend"])
@pytest.mark.parametrize("thing", [None, 3, "text", [1], usmpy.USMArray, usmpy.float32, object()], ids=steady)
def test_an_object_of_another_type_is_type_error(function, thing):
    room = DLTensor()
    pointer = ctypes.c_void_p()
    with pytest.raises(TypeError, match="exchange table of USMArray"):
        function(thing, ctypes.byref(pointer if function is from_py_object else room))
    assert pointer.value is None


@pytest.mark.only_on("host-task", "host-accessible")
def test_cpu_memory_through_the_table_is_finished(queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    for function in (export, lambda x: lend(x, ctypes.byref(DLTensor()))):
        go = threading.Event()
        queue.host_task(lambda x, go=go: go.wait(60), x)
        once_asleep(go.set)
        managed = function(x)
        assert go.is_set()
        if managed:
            producers.delete(managed)


@pytest.mark.only_on("host-task", "host-accessible")
def test_a_failed_task_comes_out_of_the_table(queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    event = queue.host_task(lambda x: 1 // 0, x)
    pointer = ctypes.c_void_p()
    with pytest.raises(ZeroDivisionError):
        from_py_object(x, ctypes.byref(pointer))
    assert pointer.value is None
    with pytest.raises(ZeroDivisionError):
        event.wait()


# -- dltensor_from_py_object_no_sync ---------------------------------------------------------------


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x[1],
        lambda x: x[0, 0],
        lambda x: x.T,
        lambda x: x[::-1, 1:2],
        lambda x: x[:0],
        lambda x: x[None, :, None],
    ],
)
def test_a_loan_points_into_the_array_and_allocates_nothing(queue, view):
    x = view(usmpy.zeros((2, 3), dtype="float32", queue=queue))
    x.wait()
    before, events = lasting_counts(), usmpy._core._live_counts()["events"]
    usmpy._core._fault("heap", 1)  # the core's next allocation would fail
    try:
        tensor = DLTensor()
        assert lend(x, ctypes.byref(tensor)) == 0
    finally:
        usmpy._core._fault("heap", 0)
    exported = producers.peek(x.__dlpack__(max_version=(1, 0))).dl_tensor.describe()
    lent = tensor.describe()
    if x.ndim == 0:
        exported["shape"] = exported["strides"] = lent["shape"] = lent["strides"] = ()
    assert lent == exported
    if x.ndim:
        shape = ctypes.cast(tensor.shape, ctypes.c_void_p).value
        assert id(x) < shape < id(x) + x.__sizeof__() + 8 * 2 * x.ndim
    assert lasting_counts() == before
    assert usmpy._core._live_counts()["events"] <= events


# -- managed_tensor_to_py_object_no_sync -----------------------------------------------------------


def test_a_foreign_tensor_becomes_an_array_that_owns_it():
    tensor = producers.Tensor((2, 2), "int32", memory=bytes(range(16)))
    x = import_(tensor)
    assert isinstance(x, usmpy.USMArray)
    assert (x.data_ptr, x.shape, x.dtype) == (tensor.address, (2, 2), usmpy.int32)
    assert x.queue is usmpy.Device("host:cpu:0").queue
    assert tensor.deleted == 0
    del x
    assert tensor.deleted == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"version": (2, 0)},
        {"version": (0, 8)},
        {"dtype": (2, 80, 1)},
        {"dtype": (2, 32, 4)},
        {"device": (2, 77)},
        {"device": (99, 0)},
        {"shape": (-1,)},
        {"ndim": 65},
        {"data": 0},
    ],
    ids=str,
)
def test_a_tensor_that_is_refused_is_deleted_once(fields):
    tensor = producers.Tensor(**fields)
    out = ctypes.py_object()
    with pytest.raises(BufferError):
        to_py_object(tensor.give(), ctypes.byref(out))
    assert tensor.deleted == 1
    with pytest.raises(ValueError, match="NULL"):
        _ = out.value


def test_round_trip_through_the_table(queue):
    x = usmpy.arange(6, dtype="int32", queue=queue)
    managed = export(x)
    out = ctypes.py_object()
    assert to_py_object(ctypes.addressof(managed), ctypes.byref(out)) == 0
    y = out.value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(y))
    assert (y.data_ptr, y.shape, y.dtype, y.strides) == (x.data_ptr, x.shape, x.dtype, x.strides)
    assert y.tolist() == [0, 1, 2, 3, 4, 5]


# -- managed_tensor_allocator ----------------------------------------------------------------------


def allocate(prototype):
    """(tensor or None, what SetError was told); called without the GIL."""
    told = []

    @producers.SET_ERROR
    def set_error(context, kind, message):
        told.append((context, kind.decode(), message.decode()))

    out = ctypes.c_void_p(0xDEAD)
    status = allocator(ctypes.byref(prototype), ctypes.byref(out), 1234, set_error)
    assert (status, out.value is None) in ((0, False), (-1, True))
    return (DLManagedTensorVersioned.from_address(out.value) if out.value else None), told


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 4), (1,) * 64], ids=lambda shape: str(shape[:3]))
@pytest.mark.parametrize("dtype", ["bool", "int64", "complex128", "bfloat16", "float4_e2m1fn"])
def test_the_allocator_makes_compact_memory(shape, dtype):
    prototype = producers.Tensor(shape, dtype, memory=0, data=0, strides=None)
    managed, told = allocate(prototype.managed.dl_tensor)
    assert told == []
    made = managed.dl_tensor.describe()
    assert (made["shape"] or ()) == shape
    assert made["dtype"] == usmpy.DType(dtype).dlpack
    assert made["device"] == (CPU, 0)
    assert (made["data"] is None) == (0 in shape)
    assert (made["data"] or 0) % 64 == 0
    assert managed.flags == 0
    expected = tuple(1 if n == 1 else s for n, s in zip(shape, producers.compact(shape), strict=True))
    if 0 not in shape:
        assert (made["strides"] or ()) == expected
        ctypes.memset(made["data"], 1, (usmpy.DType(dtype).bits + 7) // 8)  # it is ours
    producers.delete(managed)


BAD_PROTOTYPES = {
    "device": ({"device": (2, 77)}, "BufferError"),
    "unknown device": ({"device": (99, 0)}, "BufferError"),
    "dtype": ({"dtype": (2, 80, 1)}, "BufferError"),
    "lanes": ({"dtype": (2, 32, 2)}, "BufferError"),
    "dimensions": ({"ndim": 65}, "BufferError"),
    "negative length": ({"shape": (2, -1)}, "ValueError"),
    "size": ({"shape": (2**62, 8)}, "ValueError"),
    "memory": ({"shape": (2**50,)}, "MemoryError"),
}


@pytest.mark.parametrize("what", BAD_PROTOTYPES)
def test_the_allocator_says_once_what_went_wrong(what):
    fields, kind = BAD_PROTOTYPES[what]
    prototype = producers.Tensor(**{"memory": 0, "data": 0, **fields})
    managed, told = allocate(prototype.managed.dl_tensor)
    assert managed is None
    assert len(told) == 1
    context, told_kind, message = told[0]
    assert (context, told_kind) == (1234, kind)
    assert len(message) > 20


@pytest.mark.parametrize("entry", ["heap", "memory_allocate"])
def test_the_allocator_reports_that_memory_ran_out(entry):
    prototype = producers.Tensor((10_000_003,), memory=0, data=0)  # more than a pool keeps
    failures = 0
    for n in range(1, 20):
        usmpy._core._fault(entry, n)
        try:
            managed, told = allocate(prototype.managed.dl_tensor)
            reached = usmpy._core._fault_calls(entry) >= n
        finally:
            usmpy._core._fault(entry, 0)
        if managed is not None:
            assert told == []
            producers.delete(managed)
        else:
            failures += 1
            assert [kind for _, kind, _ in told] == ["MemoryError"]
        if not reached:
            break
    assert failures > 0
    assert not reached


# -- current_work_stream ---------------------------------------------------------------------------


def test_the_cpu_has_no_stream():
    out = ctypes.c_void_p(1)
    assert work_stream(CPU, 0, ctypes.byref(out)) == 0
    assert out.value is None


@pytest.mark.parametrize("device", [(2, 77), (14, 99), (99, 0), (0, 0), (-1, -1)], ids=str)
def test_the_stream_of_a_device_that_is_not_here_is_buffer_error(device):
    with pytest.raises(BufferError, match="DLPack device"):
        work_stream(*device, ctypes.byref(ctypes.c_void_p()))


class WithTable:
    __dlpack_c_exchange_api__ = make_table(producers.ask_for_tensor)

    def __init__(self, array):
        self.array = array

    def make_tensor(self):
        x = self.array
        return Tensor(x.shape, x.dtype.name, data=x.data_ptr, device=x.__dlpack_device__())


def test_a_table_on_every_device(queue):
    x = usmpy.arange(6, dtype="int32", queue=queue).reshape(2, 3)
    x.wait()
    assert usmpy.from_dlpack(WithTable(x)).tolist() == [[0, 1, 2], [3, 4, 5]]
