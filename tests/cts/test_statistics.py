"""mean, var, std, clip and diff on every backend, against NumPy in float64."""

import numpy as np
import pytest
from backends import drawn

import usmpy

REAL = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NEAR = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-11}


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def skip_without(queue, dtype):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")


@pytest.mark.parametrize("dtype", [*REAL, "int8", "uint32"])
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_along_axes(backend, name, dtype, queue):
    skip_without(queue, dtype)
    result_type = dtype if dtype in REAL else "float64" if queue.device.has_fp64 else "float32"
    for shape in drawn(backend, [(7,), (40, 3), (3, 40, 33), (1025, 2)], len(name + dtype)):
        x = (np.random.default_rng(1).standard_normal(shape) * 9 + 30).astype(dtype)
        y = put(x, queue)
        for axis in [None, 0, -1, (0, x.ndim - 1)[: x.ndim]]:
            for keepdims in (False, True):
                for correction in (0, 1, 0.5) if name != "mean" else (None,):
                    more = {} if correction is None else {"correction": correction}
                    wanted_more = {} if correction is None else {"ddof": correction}
                    result = getattr(usmpy, name)(y, axis=axis, keepdims=keepdims, **more)
                    wanted = getattr(np, name)(x.astype("f8"), axis=axis, keepdims=keepdims, **wanted_more)
                    assert result.dtype == result_type
                    assert result.shape == wanted.shape
                    np.testing.assert_allclose(result.asnumpy(), wanted, rtol=NEAR[result_type])


def test_bits_are_those_of_the_host(queue):
    x = np.random.default_rng(2).standard_normal((1025, 33)).astype("f4")
    for name in ("mean", "var", "std"):
        for axis in (None, 0, 1):
            a, b = (
                getattr(usmpy, name)(put(x, on), axis=axis).asnumpy() for on in (queue, usmpy.Queue("host"))
            )
            assert a.tobytes() == b.tobytes()


def test_half_types_do_not_overflow(queue):
    x = usmpy.full(3000, 60000, dtype="float16", queue=queue)
    assert x.mean().tolist() == 60000
    assert x.std().tolist() == 0
    assert usmpy.mean(usmpy.astype(x, "bfloat16")).dtype == "bfloat16"


def test_none_and_few_elements(queue):
    empty = put(np.empty((0, 2), "f4"), queue)
    assert np.isnan(usmpy.mean(empty, axis=0).asnumpy()).all()
    assert np.isnan(usmpy.var(empty).asnumpy())
    assert usmpy.mean(empty, axis=1).shape == (0,)
    one = put(np.array([3], "f4"), queue)
    assert np.isnan(usmpy.var(one, correction=1).asnumpy())
    assert one.var().tolist() == 0
    assert np.isnan(usmpy.mean(put(np.array([1, np.nan], "f4"), queue)).asnumpy())
    assert usmpy.mean(put(np.array([1, np.inf], "f4"), queue)).tolist() == np.inf


def test_refused(queue):
    z = put(np.ones(3, "c8"), queue)
    for function in (usmpy.var, usmpy.std, usmpy.clip):
        with pytest.raises(TypeError, match="complex64"):
            function(z)
    x = put(np.ones(3, "f4"), queue)
    with pytest.raises(TypeError, match="correction"):
        usmpy.var(x, correction="1")
    with pytest.raises(usmpy.AxisError):
        usmpy.mean(x, axis=1)
    with pytest.raises(TypeError, match="list"):
        usmpy.mean([1.0])


@pytest.mark.parametrize("dtype", [*INTEGERS, *REAL])
def test_clip(dtype, queue):
    skip_without(queue, dtype)
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((5, 33)) * 40 + 60).clip(0, 120).astype(dtype)
    low, high = x[::-1] // 2, x[:, ::-1]
    y = put(x, queue)
    for a, b in [(30, 70), (None, 50), (50, None), (70, 30), (0, 0)]:
        result = usmpy.clip(y, a, b)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.asnumpy(), np.clip(x, a, b))
    result = usmpy.clip(y, put(low, queue), put(high, queue))
    np.testing.assert_array_equal(result.asnumpy(), np.minimum(np.maximum(x, low), high))
    result = y.clip(put(low[0], queue), 90)
    np.testing.assert_array_equal(result.asnumpy(), np.clip(x, low[0], 90))
    same = usmpy.clip(y)
    same[...] = 1
    np.testing.assert_array_equal(y.asnumpy(), x)


def test_clip_bounds_beyond_the_type(queue):
    x = put(np.array([-128, 0, 127], "i1"), queue)
    assert usmpy.clip(x, -1000, 1000).tolist() == [-128, 0, 127]
    assert usmpy.clip(x, -(2**70), 5).tolist() == [-128, 0, 5]
    for bounds in [(1000, None), (None, -1000)]:
        with pytest.raises(OverflowError):
            usmpy.clip(x, *bounds)
    for bound in (1.5, put(np.array([1], "i4"), queue), put(np.array([1], "f4"), queue)):
        with pytest.raises(TypeError, match="wider"):
            usmpy.clip(x, bound)


def test_clip_nan(queue):
    x = put(np.array([1, np.nan, -np.inf, np.inf], "f4"), queue)
    np.testing.assert_array_equal(usmpy.clip(x, -2, 2).asnumpy(), [1, np.nan, -2, 2])
    assert np.isnan(usmpy.clip(x, float("nan")).asnumpy()).all()


@pytest.mark.parametrize("dtype", ["bool", "int16", "uint8", "float16", "float32"])
def test_diff(dtype, queue):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 100, (4, 33)).astype(dtype)
    y = put(x, queue)
    for axis in (0, 1, -1):
        for n in (0, 1, 2, 5):
            result = usmpy.diff(y, axis=axis, n=n)
            assert result.dtype == dtype
            np.testing.assert_array_equal(result.asnumpy(), np.diff(x, axis=axis, n=n))
        result = usmpy.diff(y, axis=axis, prepend=y, append=y)
        np.testing.assert_array_equal(result.asnumpy(), np.diff(x, axis=axis, prepend=x, append=x))
    with pytest.raises(ValueError, match="n is -1"):
        usmpy.diff(y, n=-1)
    with pytest.raises(usmpy.AxisError):
        usmpy.diff(y[0, 0])


def test_more_differences_than_elements(queue):
    x = usmpy.arange(3, queue=queue)
    for n in (3, 1 << 70):
        assert usmpy.diff(x, n=n).shape == (0,)
        assert usmpy.diff(x[:0], n=n).shape == (0,)
