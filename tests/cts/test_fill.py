"""Queue.fill and fills through arrays: every dtype, any size, any strides."""

import array
import ctypes
import re

import numpy as np
import pytest
from together import together

import usmpy

SIZES = [0, 1, 2, 7, 63, 64, 65, 1000, 65_537, (1 << 19) + 1, (5 << 20) + 3]
VALUES = {
    "bool": [True, False],
    "int8": [-128, 127],
    "int16": [-(2**15), 2**15 - 1],
    "int32": [-(2**31), 2**31 - 1],
    "int64": [-(2**63), 2**63 - 1, 2**53 + 1],
    "uint8": [0, 255],
    "uint16": [65535],
    "uint32": [2**32 - 1],
    "uint64": [2**64 - 1, 2**53 + 1],
    "float16": [1.5, -65504.0, 1e6, float("inf")],
    "bfloat16": [1.5, 3.0e38, -0.0],
    "float32": [0.1, -3.4e38, 1e300],
    "float64": [0.1, 1.7e308],
    "complex64": [1 + 2j, 0.5],
    "complex128": [0.1 - 0.2j, 3],
}


@pytest.mark.parametrize("nbytes", SIZES)
def test_bytes_of_any_size(queue, nbytes):
    x = usmpy.zeros(nbytes + 2, dtype="uint8", queue=queue)
    queue.fill(x[1:-1], 0xA5)
    n = np.full(nbytes + 2, 0xA5, "uint8")
    n[0] = n[-1] = 0
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize("size", [1, 3, 1000, 65_537, (1 << 19) + 1])
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "complex128"])
def test_wide_elements_of_any_size(queue, size, dtype):
    x = usmpy.zeros(size + 2, dtype=dtype, queue=queue)
    queue.fill(x[1:-1], 0x0102)
    n = np.full(size + 2, 0x0102, dtype)
    n[0] = n[-1] = 0
    np.testing.assert_array_equal(x.asnumpy(), n)


@together("dtype, value", [(d, v) for d, values in VALUES.items() for v in values], thin=True)
def test_every_dtype(queue, dtype, value):
    numpy_dtype = np.dtype(usmpy.DType(dtype).dtype)
    with np.errstate(over="ignore"):
        expected = (
            np.array([value] * 5).astype(numpy_dtype)
            if dtype not in ("int64", "uint64")
            else np.array([value] * 5, dtype)
        )
    x = usmpy.zeros(5, dtype=dtype, queue=queue)
    queue.fill(x, value)
    assert x.asnumpy().tobytes() == expected.tobytes()
    assert usmpy.full(5, value, dtype=dtype, queue=queue).asnumpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "complex32", "int32", "complex128", "bool"])
def test_the_bytes_of_an_element(queue, dtype):
    x = usmpy.zeros(9, dtype=dtype, queue=queue)
    pattern = bytes(range(1, x.itemsize + 1)) if dtype != "bool" else b"\1"
    queue.fill(x, pattern)
    out = bytearray(x.nbytes)
    queue.memcpy(out, x).wait()
    assert out == pattern * 9


@pytest.mark.parametrize("value", [np.float32(2.5), np.array(2.5), np.int8(-3)], ids=repr)
def test_a_value_of_another_library(queue, value):
    x = usmpy.zeros(3, dtype="float64", queue=queue)
    queue.fill(x, value)
    assert x.tolist() == [value.item()] * 3


def test_an_array_is_no_value(queue):
    x = usmpy.zeros(3, queue=queue)
    with pytest.raises(TypeError, match="USMArray"):
        queue.fill(x, usmpy.ones((), queue=queue))
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "buffer", [bytearray(100), memoryview(bytearray(100))], ids=["bytearray", "memoryview"]
)
def test_bytes_of_a_buffer(queue, buffer):
    queue.fill(buffer, 7).wait()
    assert bytes(buffer) == b"\7" * 100
    queue.fill(buffer, b"\xff").wait()
    assert bytes(buffer) == b"\xff" * 100


BUFFERS = sorted({*VALUES} - {"bfloat16"})


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", BUFFERS)
def test_a_buffer_has_elements_of_its_own_format(queue, dtype, order):
    value = VALUES[dtype][0]
    n = np.zeros((3, 4), dtype, order=order)
    queue.fill(n, value).wait()
    np.testing.assert_array_equal(n, np.full((3, 4), value, dtype))


@pytest.mark.parametrize("value", [1.25, 2.0**-1074, 0.0])
def test_elements_that_are_not_aligned(queue, value):
    wanted = np.full(50, value).tobytes()
    memory = np.zeros(450, "uint8")
    queue.fill(memory[3:403].view("float64"), value).wait()
    assert memory.tobytes() == bytes(3) + wanted + bytes(47)


@pytest.mark.parametrize("code", "bBhHiIlLqQfd")
def test_elements_of_the_standard_library(queue, code):
    a = array.array(code, [0] * 5)
    queue.fill(a, 3).wait()
    assert a.tolist() == [3] * 5
    c = (ctypes.c_int32 * 4)()  # its format names the byte order
    queue.fill(c, -7).wait()
    assert list(c) == [-7] * 4
    view = memoryview(bytearray(4)).cast("c")
    queue.fill(view, ord("x")).wait()
    assert view.tobytes() == b"xxxx"


@pytest.mark.parametrize("dtype", [">f8", "i4,f4", "S3", "g"])
def test_elements_that_no_dtype_describes(queue, dtype):
    n = np.zeros(4, dtype)
    before = n.tobytes()
    with pytest.raises(TypeError, match=re.escape(f"format {memoryview(n).format!r}")):
        queue.fill(n, 1)
    assert n.tobytes() == before


def test_an_exporter_that_fails(queue):
    """The exporter's own exception is the cause: the object is contiguous and writable."""
    with pytest.raises(BufferError, match="dtype 'M'"):
        queue.fill(np.zeros(3, "M8[s]"), 1)


@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (0, 3), (2, 1, 2)])
def test_shapes_and_orders(queue, shape):
    for order in "CF":
        x = usmpy.USMArray(shape, "int16", order=order, queue=queue)
        queue.fill(x, -3)
        np.testing.assert_array_equal(x.asnumpy(), np.full(shape, -3, "int16"))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "complex128"])
def test_strided_fills(queue, dtype):
    x = usmpy.zeros((301, 607), dtype=dtype, queue=queue)
    n = np.zeros((301, 607), dtype)
    for i, key in enumerate(
        [np.s_[::2, ::3], np.s_[:, 5], np.s_[7], np.s_[::-1, 1:9], np.s_[1:1], np.s_[100:, 100:]], 1
    ):
        x[key] = i
        n[key] = i
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        ("uint8", 256, OverflowError),
        ("uint8", -1, OverflowError),
        ("int64", 2**63, OverflowError),
        ("int8", 1.5, TypeError),
        ("bool", 2, OverflowError),
        ("bool", 1.0, TypeError),
        ("float32", 1j, TypeError),
        ("float32", 10**400, OverflowError),
        ("int32", "1", TypeError),
        ("int32", None, TypeError),
        ("int32", b"123", ValueError),
        ("float8_e5m2", 1.0, TypeError),
        ("complex32", 1.0, TypeError),
        ("float64", [1.0], TypeError),
    ],
)
def test_values_that_do_not_fit(queue, dtype, value, error):
    x = usmpy.zeros(4, dtype=dtype, queue=queue)
    with pytest.raises(error):
        queue.fill(x, value)
    out = bytearray(x.nbytes)
    queue.memcpy(out, x).wait()
    assert not any(out)


def test_values_and_places_that_a_buffer_refuses(queue):
    with pytest.raises(OverflowError):
        queue.fill(bytearray(4), 256)
    with pytest.raises(TypeError):
        queue.fill(bytearray(4), 1.0)
    with pytest.raises(TypeError):
        queue.fill(np.zeros(4, "int32"), 1.5)
    with pytest.raises(OverflowError):
        queue.fill(np.zeros(4, "int8"), 255)
    with pytest.raises(ValueError, match="2 bytes"):
        queue.fill(np.zeros(4, "int32"), b"12")
    with pytest.raises(BufferError, match="copyto"):
        queue.fill(np.zeros((4, 4))[:, 1], 1)
    with pytest.raises(ValueError, match="read-only"):
        queue.fill(b"1234", 1)
    with pytest.raises(TypeError, match="dst"):
        queue.fill(None, 1)
    with pytest.raises(BufferError, match="copyto"):
        queue.fill(usmpy.zeros((4, 4), queue=queue)[:, 1], 1)
