"""The buffer protocol in both directions: imports of bytes, array.array, memoryview and ctypes; exports."""

from __future__ import annotations

import array
import ctypes
import gc
import io
import struct
import sys
import threading
import weakref

import numpy as np
import pytest
from asleep import once_asleep
from dtypes import FORMATS
from ids import steady
from producers import Buffer

import usmpy

# -- in --------------------------------------------------------------------------------------------


BUFFERS = pytest.mark.parametrize(
    ("thing", "dtype", "values", "writable"),
    [
        (b"abc", "uint8", [97, 98, 99], False),
        (bytearray(b"abc"), "uint8", [97, 98, 99], True),
        (memoryview(b"abcdef")[::2], "uint8", [97, 99, 101], False),
        (memoryview(bytearray(b"abc"))[::-1], "uint8", [99, 98, 97], True),
        (memoryview(bytearray(b"abc")).toreadonly(), "uint8", [97, 98, 99], False),
        (memoryview(b"abcdef").cast("B", (2, 3)), "uint8", [[97, 98, 99], [100, 101, 102]], False),
        (memoryview(struct.pack("2d", 1, 2)).cast("d"), "float64", [1.0, 2.0], False),
        (memoryview(struct.pack("q", 7)).cast("q", ()), "int64", 7, False),
        (array.array("d", [1, 2]), "float64", [1.0, 2.0], True),
        (array.array("b", [-1]), "int8", [-1], True),
        (array.array("l", [-1, 5]), "int64", [-1, 5], True),
        (array.array("L", [2**63]), "uint64", [2**63], True),
        ((ctypes.c_int16 * 3)(1, 2, 3), "int16", [1, 2, 3], True),
        (((ctypes.c_float * 2) * 2)((1, 2), (3, 4)), "float32", [[1, 2], [3, 4]], True),
        (ctypes.c_double(2.5), "float64", 2.5, True),
        (np.float32(3), "float32", 3.0, False),
        (b"", "uint8", [], False),
        (array.array("i"), "int32", [], True),
    ],
    ids=lambda value: steady(value)[:30],
)


@BUFFERS
def test_buffers_are_shared_on_demand(thing, dtype, values, writable):
    x = usmpy.asarray(thing, copy=False)
    assert (x.dtype, x.tolist(), x.usm_type) == (usmpy.DType(dtype), values, "host")
    assert x.flags.writable == writable
    assert x.queue is usmpy.Device("host:cpu:0").queue


@BUFFERS
def test_buffers_are_copied(thing, dtype, values, writable):
    x = usmpy.asarray(thing)
    assert (x.dtype, x.tolist(), x.usm_type) == (usmpy.DType(dtype), values, "device")
    assert x.flags.writable
    assert x.queue is usmpy.select_default_device().queue


def test_the_memory_is_shared_and_locked_while_it_is():
    data = bytearray(b"abc")
    x = usmpy.asarray(data, copy=False)
    x[0] = 65
    assert data == b"Abc"
    data[1] = 66
    assert x.tolist() == [65, 66, 99]
    with pytest.raises(BufferError):
        data.append(1)
    view = x[1:]
    del x
    with pytest.raises(BufferError):
        data.append(1)
    del view
    gc.collect()
    data.append(1)


def test_a_read_only_buffer_gives_a_read_only_array():
    x = usmpy.asarray(b"abc", copy=False)
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    assert usmpy.asarray(b"abc", copy=True).flags.writable


@pytest.mark.parametrize("copy", [None, True, False])
def test_copy_of_asarray(copy):
    data = bytearray(b"abc")
    x = usmpy.asarray(data, copy=copy)
    data[0] = 0
    assert x.tolist()[0] == (0 if copy is False else 97)
    if copy is False:
        with pytest.raises(ValueError, match="copy"):
            usmpy.asarray(data, copy=False, dtype="int32")


@pytest.mark.parametrize(
    "thing",
    [
        array.array("u" if sys.version_info < (3, 13) else "w", "ab"),
        memoryview(b"abc").cast("c"),
        np.zeros(2, [("a", "i4"), ("b", "f4")]),
        np.zeros(2, ">i4"),
        np.zeros(2, "M8[s]").view("V8"),
        (ctypes.c_void_p * 2)(),
        (ctypes.c_int32.__ctype_be__ * 2)(),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_formats_that_are_no_numbers_of_this_machine_are_buffer_error(thing):
    with pytest.raises(BufferError):
        usmpy.asarray(thing)


def test_from_dlpack_takes_no_buffers():
    for thing in (b"abc", bytearray(3), array.array("d", [1])):
        with pytest.raises(TypeError, match="asarray takes other objects"):
            usmpy.from_dlpack(thing)


def test_an_error_of_the_exporter_is_the_cause_of_a_refusal():
    released = memoryview(b"abc")
    released.release()
    with pytest.raises(BufferError, match="released") as caught:
        usmpy.asarray(released)
    assert isinstance(caught.value.__cause__, ValueError)


def test_work_on_a_buffer_holds_it():
    queue = usmpy.Queue("host")
    data = bytearray(64)
    x = usmpy.asarray(data, queue=queue, copy=False)
    go = threading.Event()
    queue.host_task(lambda x: go.wait(60), x)
    event = queue.fill(x, 7)
    del x
    gc.collect()
    with pytest.raises(BufferError):
        data.clear()
    go.set()
    event.wait()
    assert data == b"\7" * 64


# -- out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FORMATS)
def test_formats_shapes_and_strides(dtype):
    x = usmpy.zeros((2, 3), dtype=dtype)
    view = memoryview(x)
    size = x.itemsize
    assert (view.format, view.itemsize, view.shape, view.strides) == (
        FORMATS[dtype],
        size,
        (2, 3),
        (3 * size, size),
    )
    assert (view.ndim, view.nbytes, view.readonly, view.c_contiguous) == (2, 6 * size, False, True)
    assert view.obj is x
    assert view.tobytes() == bytes(6 * size)


@pytest.mark.parametrize(("dtype", "format"), [("complex64", "Zf"), ("complex128", "Zd")])
def test_complex_numbers_have_the_format_of_numpy(dtype, format):
    x = usmpy.ones(3, dtype=dtype)
    assert memoryview(x).format == format
    assert np.asarray(x).dtype == dtype


@pytest.mark.parametrize("dtype", ["bfloat16", "complex32", "float8_e4m3fn", "float4_e2m1fn"])
def test_dtypes_without_a_format_are_buffer_error(dtype):
    with pytest.raises(BufferError, match=dtype):
        memoryview(usmpy.zeros(4, dtype=dtype))


VIEWS = {
    "0-d": lambda x: x[0, 0, 0],
    "vector": lambda x: x[0, 0],
    "stepped": lambda x: x[0, 0, ::2],
    "backwards": lambda x: x[0, 0, ::-1],
    "transposed": lambda x: x[0].T,
    "all": lambda x: x,
    "inner": lambda x: x[:, 1:2, ::-2],
    "empty": lambda x: x[:, :0],
    "repeated": lambda x: usmpy.broadcast_to(x[0, 0], (2, 4)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_seen_as_they_are(name):
    x = VIEWS[name](usmpy.reshape(usmpy.arange(24, dtype="int32"), (2, 3, 4)))
    view = memoryview(x)
    assert view.tolist() == x.tolist()
    assert view.shape == x.shape
    if x.size:
        assert [s // 4 for s, n in zip(view.strides, x.shape, strict=True) if n > 1] == [
            s for s, n in zip(x.strides, x.shape, strict=True) if n > 1
        ]
        assert view.readonly == (not x.flags.writable)
        assert view.c_contiguous == x.flags.c_contiguous
        assert view.f_contiguous == x.flags.f_contiguous
    assert np.asarray(x).tolist() == x.tolist()
    view.release()


def get_buffer(x, flags):
    """PyObject_GetBuffer with these flags; what the exporter filled in."""
    buffer = Buffer()
    status = ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(buffer), flags)
    assert status == 0
    seen = {
        "len": buffer.len,
        "readonly": bool(buffer.readonly),
        "format": buffer.format,
        "shape": buffer.shape[: buffer.ndim] if buffer.shape else None,
        "strides": buffer.strides[: buffer.ndim] if buffer.strides else None,
    }
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    assert buffer.obj is None
    return seen


SIMPLE, WRITABLE, FORMAT, ND, STRIDES, C, F, ANY = 0, 1, 4, 8, 24, 0x38, 0x58, 0x98


def test_only_requested_fields_are_filled_in():
    x = usmpy.zeros((2, 3), dtype="int16")
    assert get_buffer(x, SIMPLE) == {
        "len": 12,
        "readonly": False,
        "format": None,
        "shape": None,
        "strides": None,
    }
    assert get_buffer(x, ND)["shape"] == [2, 3]
    assert get_buffer(x, ND)["strides"] is None
    assert get_buffer(x, STRIDES)["strides"] == [6, 2]
    assert get_buffer(x, FORMAT | STRIDES)["format"] == b"h"
    assert get_buffer(x.T, F)["strides"] == [2, 6]
    assert get_buffer(x.T, ANY)["strides"] == [2, 6]
    assert get_buffer(x[0], STRIDES)["strides"] == [2]


def test_a_contradicting_request_is_buffer_error():
    x = usmpy.zeros((2, 3), dtype="int16")
    read_only = usmpy.broadcast_to(x, (1, 2, 2, 3))[0, 0]
    for y, flags, match in (
        (read_only, WRITABLE, "read-only"),
        (x.T, SIMPLE, "contiguous"),
        (x.T, ND, "contiguous"),
        (x.T, C, "row-major"),
        (x, F, "column-major"),
        (x[:, ::2], ANY, "not contiguous"),
    ):
        with pytest.raises(BufferError, match=match):
            get_buffer(y, flags)


def test_buffers_with_readers_and_writers():
    x = usmpy.asarray(bytearray(8), copy=True)
    assert io.BytesIO(b"12345678").readinto(x) == 8
    assert bytes(x) == b"12345678"
    assert struct.unpack_from("<H", x, 2) == (0x3433,)
    struct.pack_into("<B", x, 0, 255)
    assert x.tolist()[0] == 255
    sink = io.BytesIO()
    sink.write(x)
    assert sink.getvalue() == b"\xff2345678"
    assert (ctypes.c_uint8 * 8).from_buffer(x)[7] == ord("8")
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"1").readinto(usmpy.asarray(b"abc", copy=False))


def test_a_view_waits_for_pending_work_and_brings_its_failure():
    queue = usmpy.Queue("host")
    x = usmpy.zeros(4, dtype="int64", queue=queue)
    go = threading.Event()
    queue.host_task(lambda x: go.wait(60), x)
    queue.fill(x, 3)
    once_asleep(go.set)
    assert memoryview(x).tolist() == [3, 3, 3, 3]
    event = queue.host_task(lambda x: 1 // 0, x)
    with pytest.raises(ZeroDivisionError):
        memoryview(x)
    with pytest.raises(ZeroDivisionError):
        event.wait()


def test_a_view_keeps_the_array():
    x = usmpy.arange(5)
    reference = weakref.ref(x)
    view = memoryview(x)[1:3]
    del x
    gc.collect()
    assert reference() is not None
    assert view.tolist() == [1, 2]
    del view
    assert reference() is None


@pytest.mark.parametrize("shape", [(1,), (1, 2), (0, 2)])
def test_a_stride_that_leads_nowhere_may_be_any_number(shape):
    """CPython's and NumPy's exporters put another number there."""
    data = np.arange(8, dtype="float32")
    lengths = (ctypes.c_ssize_t * len(shape))(*shape)
    strides = (ctypes.c_ssize_t * len(shape))(5, *(4,) * (len(shape) - 1))
    n = int(np.prod(shape))
    buffer = Buffer(data.ctypes.data, None, 4 * n, 4, 0, len(shape), b"f", lengths, strides)
    make = ctypes.pythonapi.PyMemoryView_FromBuffer
    make.restype = ctypes.py_object
    x = usmpy.asarray(make(ctypes.byref(buffer)), copy=True)
    assert (x.shape, x.reshape(-1).tolist()) == (shape, [0, 1][:n])


@pytest.mark.parametrize(
    ("thing", "advice"),
    [
        (np.arange(3, dtype=">i4"), 'numpy.asarray(obj).astype("=i")'),
        (np.arange(3, dtype=">f8"), 'numpy.asarray(obj).astype("=d")'),
        (
            np.arange(3, dtype="longdouble"),
            'numpy.asarray(obj).astype("float64")',
        ),
        (np.array([(1, 2.0)], dtype="i4,f8"), 'numpy.ascontiguousarray(obj).view("uint8")'),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.dtype),
)
def test_advice_for_types_that_no_array_has(thing, advice):
    with pytest.raises(BufferError) as caught:
        usmpy.asarray(memoryview(thing))
    assert f" allowed: {advice} has " in str(caught.value)
    made = eval(advice, {"numpy": np, "obj": memoryview(thing)})
    assert usmpy.asarray(made, device="host").tolist() == made.tolist()


@pytest.mark.parametrize("ndim", [1, 2])
def test_rows_behind_pointers_are_refused(ndim):
    """Suboffsets (PEP 3118), as libraries of images had them."""
    rows = [(ctypes.c_int8 * 4)(*range(i, i + 4)) for i in range(3)]
    table = (ctypes.c_void_p * 3)(*map(ctypes.addressof, rows))
    shape, strides = (ctypes.c_ssize_t * 2)(3, 4), (ctypes.c_ssize_t * 2)(8, 1)
    suboffsets = (ctypes.c_ssize_t * 2)(0, -1)
    size = 12 if ndim == 2 else 3
    buffer = Buffer(ctypes.addressof(table), None, size, 1, 0, ndim, b"b", shape, strides, suboffsets)
    make = ctypes.pythonapi.PyMemoryView_FromBuffer
    make.restype = ctypes.py_object
    view = make(ctypes.byref(buffer))
    assert view.suboffsets == (0, -1)[:ndim]
    with pytest.raises(BufferError, match=f"the buffer has {ndim} dimensions? ?with suboffsets"):
        usmpy.asarray(view)
