"""where against NumPy: types by their size, layouts, numbers, kinds of memory, bad input."""

import numpy as np
import pytest
from dtypes import DTYPES

import usmpy


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(put, dtype):
    a, b = np.arange(12).reshape(3, 4).astype(dtype), np.arange(100, 112).reshape(3, 4).astype(dtype)
    c = np.arange(12).reshape(3, 4) % 3 == 0
    result = usmpy.where(put(c), put(a), put(b))
    assert result.dtype == getattr(usmpy, dtype)
    np.testing.assert_array_equal(result.asnumpy(), np.where(c, a, b))
    np.testing.assert_array_equal(usmpy.where(put(c).T, put(a).T, put(b).T).asnumpy(), np.where(c, a, b).T)
    np.testing.assert_array_equal(
        usmpy.where(put(c[:, :1]), put(a)[::-1], put(b[0])).asnumpy(), np.where(c[:, :1], a[::-1], b[0])
    )


def test_bits_are_kept(put):
    nan = np.array([0x7FC00001, 0xFFC00002], np.uint32).view(np.float32)
    result = usmpy.where(put([True, False]), put(nan), put(nan))
    assert result.asnumpy().view(np.uint32).tolist() == [0x7FC00001, 0xFFC00002]


def test_numbers_and_promotion(put):
    c = put([True, False])
    assert usmpy.where(c, put(np.int8([1, 2])), 5).tolist() == [1, 5]
    assert usmpy.where(c, 5.0, put(np.float16([1, 2]))).tolist() == [5, 2]
    joined = usmpy.where(c, put(np.int8([1, 2])), put(np.uint8([200, 201])))
    assert joined.dtype == usmpy.int16
    assert joined.tolist() == [1, 201]
    assert usmpy.where(put(True), put(1.5), put(2.5)).item() == 1.5
    assert usmpy.where(put(np.zeros((0, 2), bool)), 1.0, put(2.5)).shape == (0, 2)


def test_conditions_of_other_types_numbers_alone_and_kinds_that_differ(put):
    c, f = np.array([0, 2, 0, -1]), np.array([0.5, np.nan, 0, 1], "float32")
    for condition in (c, f, c.astype("complex64"), c.astype("uint8")):
        result = usmpy.where(put(condition), put(c), put(f))
        assert result.dtype == np.result_type(c, f)
        np.testing.assert_array_equal(result.asnumpy(), np.where(condition, c, f))
    for a, b in ((1, 0), (True, False), (1, 2.5), (0.0, 1j)):
        result = usmpy.where(put(c), a, b)
        assert result.dtype == np.where(c, a, b).dtype
        np.testing.assert_array_equal(result.asnumpy(), np.where(c, a, b))
    assert usmpy.where(put(c), put(c), 0.5).dtype == "float64"
    assert [index.tolist() for index in usmpy.where(put(c.reshape(2, 2)))] == [[0, 1], [1, 1]]


def test_out(put, queue):
    c, a, b = np.array([True, False, True]), np.array([1, 2, 3]), np.array([4, 5, 6])
    out = usmpy.zeros(6, dtype="int64", queue=queue)
    assert usmpy.where(put(c), put(a), put(b), out=out[::-2]).tolist() == [1, 5, 3]
    assert out.tolist() == [0, 3, 0, 5, 0, 1]
    x = put(a)
    assert usmpy.where(put(c), x, put(b), out=x) is x
    assert x.tolist() == [1, 5, 3]
    y = put(np.arange(5))
    usmpy.where(put(c), y[:3], -1, out=y[2:])  # it overlaps an input
    assert y.tolist() == [0, 1, 0, -1, 2]
    with pytest.raises(TypeError, match="out has dtype int64; float64 is needed"):
        usmpy.where(put(c), 0.5, put(b), out=out[:3])


def test_large_arrays(put):
    a = np.arange(200_003, dtype=np.float32)
    np.testing.assert_array_equal(
        usmpy.where(put(a % 2 == 0), put(a), 0).asnumpy(), np.where(a % 2 == 0, a, 0)
    )


def test_bad_input(put, queue):
    c, x = put([True, False]), put([1.0, 2.0])
    with pytest.raises(TypeError, match="condition is a list"):
        usmpy.where([True], x, x)
    with pytest.raises(TypeError, match=r"missing required argument .x2."):
        usmpy.where(c, 1)
    with pytest.raises(TypeError, match="no common type"):
        usmpy.where(c, put(np.uint64([1, 2])), put(np.int8([1, 2])))
    with pytest.raises(ValueError, match=r"shapes \(2,\), \(2,\) and \(3,\) do not broadcast"):
        usmpy.where(c, x, put([1.0, 2.0, 3.0]))
    with pytest.raises(usmpy.ExecutionPlacementError, match="condition"):
        usmpy.where(put([True, True]).to_device(usmpy.Queue(queue.device)), x, x)
