"""Arrow's C data interface: what a consumer is given of every device, and the way back."""

from __future__ import annotations

import ctypes
import gc
import threading

import arrow_structures
import pytest
from arrow_structures import Capsules, release, structure
from asleep import once_asleep

import usmpy
from usmpy import _core

FORMATS = {
    "bool": b"c",
    "int8": b"c",
    "int16": b"s",
    "int32": b"i",
    "int64": b"l",
    "uint8": b"C",
    "uint16": b"S",
    "uint32": b"I",
    "uint64": b"L",
    "float16": b"e",
    "float32": b"f",
    "float64": b"g",
}


def exports():
    return _core._live_counts()["exports"]


def place(x, backend):
    """Device type and id in the structure."""
    return (1, -1) if "host-accessible" in backend.tags else x.__dlpack_device__()


@pytest.fixture
def kinds(device):
    return [kind for kind in ("device", "shared", "host") if getattr(device, f"has_usm_{kind}")]


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_vector(queue, dtype, backend):
    x = usmpy.zeros(5, dtype=dtype, queue=queue)
    pair = x.__arrow_c_device_array__()
    schema, whole = (structure(capsule) for capsule in pair)
    assert (schema.format, schema.name, schema.flags, schema.n_children) == (FORMATS[dtype], b"", 2, 0)
    assert bool(schema.metadata) == (dtype == "bool")
    array = whole.array
    assert (array.length, array.null_count, array.offset) == (5, 0, 0)
    assert (array.n_buffers, array.n_children) == (2, 0)
    assert array.buffers[0] is None
    assert array.buffers[1] == x.data_ptr
    assert (whole.device_type, whole.device_id) == place(x, backend)
    assert list(whole.reserved) == [0, 0, 0]


def test_memory_that_the_host_reads_is_the_cpus(queue, kinds, backend):
    for kind in kinds:
        x = usmpy.ones(5, queue=queue, usm_type=kind)
        pair = x.__arrow_c_device_array__()
        whole = structure(pair[1])
        expected = place(x, backend) if kind == "device" else (1, -1)
        assert (whole.device_type, whole.device_id) == expected


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3), (2, 0), (0, 2), (2, 3, 4), (1, 1, 1, 2)], ids=str)
def test_the_way_back(queue, kinds, shape):
    size = 1
    for n in shape:
        size *= n
    for kind in kinds:
        x = usmpy.arange(size, dtype="float32", queue=queue, usm_type=kind).reshape(shape)
        y = usmpy.from_arrow(Capsules(x.__arrow_c_device_array__()))
        assert (y.shape, y.dtype, y.flags.writable) == (shape, usmpy.float32, False)
        assert size == 0 or y.data_ptr == x.data_ptr
        assert y.tolist() == x.tolist()


def test_lists_are_the_levels_of_more_dimensions(queue):
    x = usmpy.zeros((2, 3, 4), dtype="int16", queue=queue)
    pair = x.__arrow_c_device_array__()
    schema, array = structure(pair[0]), structure(pair[1]).array
    formats, lengths = [], []
    for _ in range(2):
        formats.append(schema.format)
        lengths.append((array.length, array.n_buffers, array.null_count))
        schema, array = schema.children[0].contents, array.children[0].contents
    assert formats == [b"+w:3", b"+w:4"]
    assert lengths == [(2, 1, 0), (6, 1, 0)]
    assert (schema.format, schema.name, array.length, array.n_buffers) == (b"s", b"item", 24, 2)
    assert array.buffers[1] == x.data_ptr


def test_a_view_begins_at_its_first_element(queue):
    x = usmpy.arange(10, dtype="int32", queue=queue)
    pair = x[3:7].__arrow_c_device_array__()
    array = structure(pair[1]).array
    assert (array.length, array.offset, array.buffers[1]) == (4, 0, x.data_ptr + 12)


def test_the_host_reads_what_the_plain_interface_gives(queue, backend):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    x += 1
    if "host-accessible" not in backend.tags:
        with pytest.raises(BufferError, match="to_device"):
            x.__arrow_c_array__()
        if not queue.device.has_usm_host:
            return
        x = usmpy.arange(1, 5, dtype="int32", queue=queue, usm_type="host")
    pair = x.__arrow_c_array__()
    array = structure(pair[1])
    assert isinstance(array, arrow_structures.ArrowArray)
    assert list((ctypes.c_int32 * 4).from_address(array.buffers[1])) == [1, 2, 3, 4]
    assert usmpy.from_arrow(Capsules(pair, "__arrow_c_array__")).tolist() == [1, 2, 3, 4]


def test_the_memory_lives_until_the_release(queue):
    x = usmpy.arange(6, dtype="int32", queue=queue).reshape(2, 3)
    before = exports()
    schema, capsule = x.__arrow_c_device_array__()
    assert exports() == before + 2
    moved = arrow_structures.move(structure(capsule))
    del x, capsule, schema
    gc.collect()
    assert exports() == before + 2
    y = usmpy.USMArray.from_pointer(
        moved.array.children[0].contents.buffers[1], 6, "int32", queue=queue, usm_type="device"
    )
    assert y.tolist() == [0, 1, 2, 3, 4, 5]
    del y
    thread = threading.Thread(target=release, args=(moved,))
    thread.start()
    thread.join()
    assert exports() == before


def test_a_child_outlives_its_parent(queue):
    x = usmpy.arange(6, dtype="int32", queue=queue).reshape(2, 3)
    before = exports()
    pair = x.__arrow_c_device_array__()
    array = structure(pair[1]).array
    child = arrow_structures.move(array.children[0].contents)
    schema = structure(pair[0])
    item = arrow_structures.move(schema.children[0].contents)
    release(array)
    release(schema)
    assert exports() == before + 1
    assert (child.length, item.format) == (6, b"i")
    release(child)
    release(item)
    assert exports() == before


def test_capsules_that_nobody_takes_release(queue):
    x = usmpy.zeros((2, 2), queue=queue)
    before = exports()
    pair = x.__arrow_c_device_array__()
    del pair
    assert exports() == before


def test_a_pair_is_taken_once(queue):
    pair = usmpy.zeros(3, queue=queue).__arrow_c_device_array__()
    usmpy.from_arrow(Capsules(pair))
    with pytest.raises(BufferError, match="another consumer took it"):
        usmpy.from_arrow(Capsules(pair))


def test_pending_work_comes_first(queue):
    release_it = threading.Event()
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    x.wait()
    if x.__dlpack_device__()[0] == 2:
        pytest.skip("tests/cuda has the events of CUDA's devices")
    other = usmpy.Queue(queue.device)
    held = other.host_task(release_it.wait, 60)
    other.fill(x, 7, depends=[held])
    once_asleep(release_it.set)
    pair = x.__arrow_c_device_array__()
    assert held.done
    assert structure(pair[1]).sync_event is None
    assert usmpy.from_arrow(Capsules(pair)).tolist() == [7] * 4


def test_arrays_without_a_type_of_arrow(queue):
    for x, advice in (
        (usmpy.zeros((), queue=queue), r"x\.reshape\(1\)"),
        (usmpy.zeros((2, 3), queue=queue).T, r"x\.copy\(\)"),
        (usmpy.zeros(6, queue=queue)[::2], r"x\.copy\(\)"),
        (usmpy.zeros(2, dtype="complex64", queue=queue), r"x\.real\.copy\(\)"),
        (usmpy.zeros(2, dtype="bfloat16", queue=queue), r"x\.astype\('float32'\)"),
        (usmpy.zeros(2, dtype="float8_e4m3fn", queue=queue), "float8_e4m3fn"),
        (usmpy.broadcast_to(usmpy.zeros(1, queue=queue), (2**31, 1)).T, r"x\.copy\(\)"),
    ):
        with pytest.raises(BufferError, match=advice):
            x.__arrow_c_device_array__()


def test_lists_have_fewer_than_two_to_the_31_elements(queue):
    x = usmpy.empty((0, 2**31), dtype="int8", queue=queue)
    before = exports()
    with pytest.raises(BufferError, match=r"axis 1 has length 2147483648.*x\.reshape"):
        x.__arrow_c_device_array__()
    assert exports() == before


@pytest.mark.parametrize("method", ["__arrow_c_device_array__", "__arrow_c_array__"])
def test_arguments(queue, method, backend):
    readable = "host-accessible" in backend.tags or queue.device.has_usm_host
    if method == "__arrow_c_array__" and not readable:
        pytest.skip("the device has no memory that the host reads")
    x = usmpy.zeros(3, queue=queue, usm_type="host" if queue.device.has_usm_host else "device")
    export = getattr(x, method)
    schema, _ = export()
    for pair in (export(None), export(schema), export(requested_schema=schema), export(None, future=None)):
        assert len(pair) == 2
    with pytest.raises(NotImplementedError, match="stream=1"):
        export(stream=1)
    with pytest.raises(TypeError, match="requested_schema is an int"):
        export(1)
    with pytest.raises(TypeError, match="requested_schema"):
        export(x.__dlpack__())
    with pytest.raises(TypeError, match="1 positional"):
        export(None, None)


def test_from_arrow_places(queue, device):
    x = usmpy.arange(3, dtype="int32", queue=queue)
    theirs = lambda: Capsules(x.__arrow_c_device_array__())  # noqa: E731
    y = usmpy.from_arrow(theirs(), device=queue)
    assert y.queue is queue
    assert y.data_ptr == x.data_ptr
    copied = usmpy.from_arrow(theirs(), copy=True)
    assert copied.data_ptr != x.data_ptr
    assert copied.flags.writable
    assert usmpy.from_arrow(theirs(), device=x.__dlpack_device__()).data_ptr == x.data_ptr
    assert usmpy.from_arrow(x).data_ptr == x.data_ptr
    assert usmpy.asarray(theirs(), device=device).tolist() == [0, 1, 2]
    x[...] = theirs()
    with pytest.raises(TypeError, match="copy"):
        usmpy.from_arrow(x, copy=1)


def test_the_longest_axis_of_a_list(queue):
    longest = 2**31 - 1
    x = usmpy.empty((0, longest, 1), dtype="int8", queue=queue)
    assert x.__arrow_c_device_array__()
    x = usmpy.empty((0, longest + 1, 1), dtype="int8", queue=queue)
    with pytest.raises(BufferError, match=f"axis 1 has length {longest + 1}"):
        x.__arrow_c_device_array__()
