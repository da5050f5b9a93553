"""Arrow by pyarrow: both ways, in place, with what only one side can express refused."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from libraries import need

import usmpy

pa = need("pyarrow")

TYPES = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "bool": pa.bool8(),
}


@pytest.fixture(params=["host", "opencl:cpu"])
def queue(request):
    try:
        return usmpy.Device(request.param).queue
    except (usmpy.BackendUnavailable, usmpy.DeviceNotFound) as error:
        pytest.skip(str(error))


def address(array):
    return array.buffers()[-1].address + array.offset * array.type.bit_width // 8


@pytest.mark.parametrize("dtype", TYPES)
def test_to_pyarrow(queue, dtype):
    x = usmpy.asarray([1, 0, 1, 1], dtype=dtype, queue=queue)
    theirs = pa.array(x)
    theirs.validate(full=True)
    assert theirs.type == TYPES[dtype]
    assert theirs.null_count == 0
    assert theirs.buffers()[-1].address == x.data_ptr
    assert theirs.buffers()[-1].is_cpu
    assert theirs.to_numpy(zero_copy_only=dtype != "bool").tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [*TYPES])
def test_from_pyarrow(queue, dtype):
    values = np.array([1, 0, 1, 1]).astype(dtype)
    theirs = (
        pa.array(values)
        if dtype != "bool"
        else pa.ExtensionArray.from_storage(pa.bool8(), pa.array(values.astype("int8")))
    )
    x = usmpy.from_arrow(theirs, device=queue)
    storage = theirs.storage if dtype == "bool" else theirs
    assert (x.dtype.name, x.queue) == (dtype, queue)
    assert x.tolist() == values.tolist()
    in_place = usmpy.memory_connection(usmpy.Device("host"), queue) is usmpy.MemoryConnection.UNIFIED
    assert (x.data_ptr == address(storage)) == in_place
    assert x.flags.writable == (not in_place)


def test_more_dimensions_are_lists_of_fixed_size(queue):
    x = usmpy.arange(24, dtype="float32", queue=queue).reshape(2, 3, 4)
    theirs = pa.array(x)
    theirs.validate(full=True)
    assert theirs.type == pa.list_(pa.list_(pa.float32(), 4), 3)
    assert theirs.to_pylist() == x.tolist()
    back = usmpy.from_arrow(theirs[1:], device=queue)
    assert back.tolist() == x[1:].tolist()
    assert usmpy.from_arrow(pa.array([[1, 2], [3, 4]], pa.list_(pa.int32(), 2))[1:]).tolist() == [[3, 4]]


def test_slices_of_pyarrow():
    theirs = pa.array(range(100), pa.int16())
    for part in (theirs[10:], theirs[3:7], theirs[:0], theirs[99:]):
        x = usmpy.from_arrow(part)
        assert x.tolist() == part.to_pylist()
        assert len(part) == 0 or x.data_ptr == address(part)


def test_slices_without_the_nulls_of_the_whole():
    theirs = pa.array([1, 2, None, 4, 5])
    assert usmpy.from_arrow(theirs[:2]).tolist() == [1, 2]
    assert usmpy.from_arrow(theirs[3:]).tolist() == [4, 5]
    with pytest.raises(BufferError, match="has nulls"):
        usmpy.from_arrow(theirs[1:4])
    assert usmpy.from_arrow(theirs.fill_null(0)).tolist() == [1, 2, 0, 4, 5]
    assert usmpy.from_arrow(theirs.drop_null()).tolist() == [1, 2, 4, 5]


def test_the_advice_works():
    for bad, good in (
        (pa.array([True, False]), lambda x: x.cast("uint8")),
        (pa.array([1, 2], pa.timestamp("s")), lambda x: x.cast("int64")),
        (pa.array([1, 1]).dictionary_encode(), lambda x: x.dictionary_decode()),
        (pa.record_batch({"a": [1, 2]}), lambda x: x.column("a")),
        (
            pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12).reshape(2, 2, 3)),
            lambda x: x.storage,
        ),
    ):
        with pytest.raises(BufferError):
            usmpy.from_arrow(bad)
        assert len(usmpy.from_arrow(good(bad))) == 2
    chunked = pa.chunked_array([[1], [2]])
    with pytest.raises(TypeError, match="combine_chunks"):
        usmpy.from_arrow(chunked)
    assert usmpy.from_arrow(chunked.combine_chunks()).tolist() == [1, 2]


def test_each_side_keeps_the_memory(queue):
    theirs = pa.array(usmpy.arange(5, dtype="int32", queue=queue))
    gc.collect()
    assert theirs.to_pylist() == [0, 1, 2, 3, 4]
    source = pa.array([1, 2, 3])
    seen = weakref.ref(source)
    x = usmpy.from_arrow(source, device="host")
    del source
    gc.collect()
    assert seen() is None
    assert x.tolist() == [1, 2, 3]
    pool = pa.total_allocated_bytes()
    del x
    gc.collect()
    assert pa.total_allocated_bytes() < pool


def test_pending_work_is_seen(queue):
    x = usmpy.zeros(1 << 16, dtype="int32", queue=queue)
    for i in range(20):
        queue.fill(x, i)
    assert set(pa.array(x).to_numpy().tolist()) == {19}


def test_the_own_type_may_be_asked_for(queue):
    x = usmpy.asarray([1, 2, 3], dtype="int32", queue=queue)
    assert pa.array(x, type=pa.int32()).buffers()[1].address == x.data_ptr


def test_record_batches_and_tables_of_arrays(queue):
    columns = {"a": usmpy.arange(3, queue=queue), "b": usmpy.ones((3, 2), dtype="float32", queue=queue)}
    batch = pa.record_batch([pa.array(x) for x in columns.values()], names=list(columns))
    assert batch.column("a").buffers()[1].address == columns["a"].data_ptr
    assert usmpy.from_arrow(batch.column("b")).tolist() == [[1, 1]] * 3


def test_asarray_takes_objects_with_arrow_alone():
    class Column:
        def __init__(self, array):
            self.array = array

        def __arrow_c_array__(self, requested_schema=None):
            return self.array.__arrow_c_array__(requested_schema)

    column = Column(pa.array([1, 2, 3]))
    assert usmpy.asarray(column, device="host").tolist() == [1, 2, 3]
    x = usmpy.zeros(3, dtype="int64", device="host")
    x[...] = column
    assert x.tolist() == [1, 2, 3]
    assert usmpy.asarray([column, column]).shape == (2, 3)
