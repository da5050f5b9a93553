"""Sums, products, extremes and scans along axes on every backend: the bits that are promised, and NumPy's."""

import numpy as np
import pytest
from backends import drawn

import usmpy
from usmpy import _core

LENGTHS = [0, 1, 2, 5, 31, 32, 33, 63, 64, 65, 1000, 1023, 1024, 1025, 5000, 1024 * 1024 + 7]
SHAPES = [(3, 4, 5), (40, 3), (1100, 7), (7, 1100), (2, 1030, 3), (33, 2, 33)]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["float16", "float32", "float64"]


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def skip_without(queue, dtype):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")


def numbers(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return (rng.standard_normal(shape) * 9).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    info = np.iinfo(dtype)
    return rng.integers(max(info.min, -99), 99, shape).astype(dtype)


def tree(x, join, identity):
    """What csrc/kernels/abi/accumulate.h says: blocks of 1,024 in 32 lanes, then blocks of their results."""
    while True:
        results = []
        for at in range(0, len(x), 1024):
            block = x[at : at + 1024]
            rows = np.full(-(-len(block) // 32) * 32, identity, x.dtype)
            rows[: len(block)] = block
            rows = rows.reshape(-1, 32)
            lanes = rows[0].copy()
            for row in rows[1:]:
                lanes = join(lanes, row)
            half = 16
            while half:
                lanes[:half] = join(lanes[:half], lanes[half : 2 * half])
                half //= 2
            results.append(lanes[0])
        x = np.array(results, x.dtype)
        if len(x) == 1:
            return x[0]


def scanned(x, exclusive=False):
    """What csrc/kernels/abi/scan.h says: groups of 32, then the totals of groups in the same way."""
    groups = -(-len(x) // 32)
    rows = np.full(groups * 32, -0.0, x.dtype)
    rows[: len(x)] = x
    rows = rows.reshape(-1, 32)
    sums, so_far = np.empty_like(rows), np.full(groups, -0.0, x.dtype)
    for k in range(32):
        following = so_far + rows[:, k]
        sums[:, k] = so_far if exclusive else following
        so_far = following
    if groups > 1:
        sums = scanned(so_far, exclusive=True)[:, None] + sums
    return sums.ravel()[: len(x)]


def same_bits(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes() or (np.array_equal(a, b, equal_nan=True) and np.isnan(a).any())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_have_the_bits_of_the_tree(dtype, queue):
    skip_without(queue, dtype)
    for n in LENGTHS[1:]:
        x = numbers(dtype, n)
        same_bits(_core.sum(put(x, queue)).asnumpy(), np.array(tree(x, np.add, np.array(-0.0, dtype))))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scans_have_the_bits_of_groups(dtype, queue):
    skip_without(queue, dtype)
    for n in LENGTHS[1:]:
        x = numbers(dtype, n)
        same_bits(_core.cumulative_sum(put(x, queue)).asnumpy(), scanned(x))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_of_every_length(backend, dtype, queue):
    wide = "uint64" if dtype[0] == "u" else "int64"
    lengths = LENGTHS if dtype in ("int8", "uint32") else LENGTHS[:-1]
    for n in drawn(backend, lengths, INTEGERS.index(dtype)):
        x = numbers(dtype, n)
        y = put(x, queue)
        same_bits(_core.sum(y).asnumpy(), np.asarray(x.sum(dtype=wide)))
        same_bits(_core.prod(y).asnumpy(), np.asarray(x.prod(dtype=wide)))
        same_bits(_core.cumulative_sum(y).asnumpy(), x.cumsum(dtype=wide))
        if n:
            for name in ("max", "min"):
                same_bits(getattr(_core, name)(y).asnumpy(), np.asarray(getattr(x, name)()))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_bits_depend_on_lengths_alone(backend, name, dtype, queue):
    function = getattr(_core, name)
    for shape in drawn(backend, SHAPES, len(name + dtype)):
        x = numbers(dtype, shape)
        y = put(x, queue)
        for axis, keepdims in [(None, False), (0, True), (-1, False), ((0, -1), True)]:
            for a, b in [
                (x, y),
                (x.T, usmpy.permute_dims(y, tuple(range(x.ndim))[::-1])),
                (x[::2], y[::2]),
                (x[..., ::-1], y[..., ::-1]),
            ]:
                result = function(b, axis=axis, keepdims=keepdims).asnumpy()
                with np.errstate(all="ignore"):
                    wanted = getattr(np, name)(a, axis=axis, keepdims=keepdims)
                assert result.shape == wanted.shape
                if dtype == "int32" or name in ("max", "min"):
                    np.testing.assert_array_equal(result, wanted)
                else:  # the same elements in one order, contiguous
                    again = function(put(np.ascontiguousarray(a), queue), axis=axis, keepdims=keepdims)
                    same_bits(result, again.asnumpy())
                    if name == "sum":
                        exact = a.astype("f8").sum(axis=axis, keepdims=keepdims)
                        np.testing.assert_allclose(result, exact, rtol=1e-4, atol=1e-2)


def test_every_device_gives_the_bits_of_the_host(queue):
    host = usmpy.Queue("host")
    x = numbers("float32", (1025, 70))
    for name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
        for axis in (0, 1):
            results = [getattr(_core, name)(put(x, on), axis=axis).asnumpy() for on in (queue, host)]
            same_bits(*results)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_nan_infinity_and_signed_zeros(dtype, queue):
    for n in (3, 33, 1025, 3000):
        x = np.ones(n, dtype)
        for at in {0, n // 2, n - 1}:
            for special in (np.nan, np.inf, -np.inf):
                x[:] = 1
                x[at] = special
                y = put(x, queue)
                for name in ("sum", "prod", "max", "min"):
                    np.testing.assert_array_equal(getattr(_core, name)(y).asnumpy(), getattr(np, name)(x))
        x[:] = -0.0
        assert np.signbit(_core.sum(put(x, queue)).asnumpy())
        assert np.signbit(_core.cumulative_sum(put(x, queue)).asnumpy()).all()


def test_no_elements(queue):
    y = put(np.empty((0, 3), "float32"), queue)
    assert _core.sum(y).tolist() == 0
    assert _core.prod(y, axis=0).tolist() == [1, 1, 1]
    assert _core.max(y, axis=1).shape == (0,)
    assert _core.cumulative_sum(y, axis=0, include_initial=True).tolist() == [[0, 0, 0]]
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match="no elements"):
            getattr(_core, name)(y, axis=0)


@pytest.mark.parametrize("to", ["int8", "int32", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"])
def test_dtype(dtype, to, queue):
    skip_without(queue, dtype)
    skip_without(queue, to)
    for shape in [(40,), (3, 50)]:
        x = np.abs(numbers(dtype, shape)) if dtype != "bool" else numbers(dtype, shape)
        y = put(x, queue)
        computed = "float32" if to == "float16" else to
        with np.errstate(all="ignore"):
            added = x.astype(computed).sum(axis=-1, dtype=computed).astype(to)
            running = x.astype(computed).cumsum(axis=-1, dtype=computed).astype(to)
        near = {"rtol": 2e-3} if to[0] == "f" else {"rtol": 0}
        result = _core.sum(y, axis=-1, dtype=to).asnumpy()
        assert result.dtype == to
        np.testing.assert_allclose(result.astype("f8"), added.astype("f8"), **near)
        result = _core.cumulative_sum(y, axis=-1, dtype=to).asnumpy()
        assert result.dtype == to
        np.testing.assert_allclose(result.astype("f8"), running.astype("f8"), **near)


@pytest.mark.parametrize("dtype", ["bool", "float16", "bfloat16"])
def test_scans_of_types_that_are_not_computed_in(dtype, queue):
    x = numbers("bool" if dtype == "bool" else "float32", (3, 70))
    y = usmpy.astype(put(x, queue), dtype)
    for initial in (False, True):
        result = _core.cumulative_sum(y, axis=1, include_initial=initial)
        assert result.dtype == ("int64" if dtype == "bool" else dtype)
        wanted = usmpy.astype(y, "int64" if dtype == "bool" else "float32")
        wanted = usmpy.astype(_core.cumulative_sum(wanted, axis=1, include_initial=initial), result.dtype)
        assert usmpy.all(usmpy.equal(result, wanted))


@pytest.mark.parametrize("dtype", ["bool", "complex64", "float8_e4m3"])
def test_dtypes_that_are_refused(dtype, queue):
    if dtype == "complex64":
        pytest.skip("complex sums have tests of their own")
    for name in ("sum", "cumulative_sum"):
        with pytest.raises(TypeError, match=dtype):
            getattr(_core, name)(put(np.ones(3, "f4"), queue), dtype=dtype)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *REAL])
def test_first_extremes(backend, name, dtype, queue):
    skip_without(queue, dtype)
    function = getattr(usmpy, name)
    lengths = LENGTHS[1:] if dtype in ("int32", "float32") else LENGTHS[1:-1]
    for n in drawn(backend, lengths, len(dtype)):
        x = numbers(dtype, n)
        assert function(put(x, queue)).tolist() == getattr(x, name)()
        x[:] = 1
        assert function(put(x, queue)).tolist() == 0
        x[-1] = 0
        x[n // 3] = 0
        assert function(put(x, queue)).tolist() == getattr(x, name)()


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_extremes_along_axes(backend, name, queue):
    function = getattr(usmpy, name)
    for shape in drawn(backend, [*SHAPES, (70, 300), (3000, 7)], name == "argmin"):
        x = numbers("int8", shape)
        y = put(x, queue)
        for axis in (None, *range(-x.ndim, x.ndim)):
            for keepdims in (False, True):
                for a, b in [
                    (x, y),
                    (x.T, usmpy.permute_dims(y, tuple(range(x.ndim))[::-1])),
                    (x[1:, ::2], y[1:, ::2]),
                ]:
                    result = function(b, axis=axis, keepdims=keepdims).asnumpy()
                    same_bits(result, np.asarray(getattr(np, name)(a, axis=axis, keepdims=keepdims)))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_nan_is_the_extreme(name, queue):
    function = getattr(usmpy, name)
    for shape in [(5,), (2000,), (200_000,), (300, 40), (70, 2)]:
        x = numbers("float32", shape)
        x.flat[:: max(2, x.size // 5)] = np.nan
        x.flat[0] = 1
        x.flat[1::7] = -0.0
        for axis in (None, *range(x.ndim)):
            result = function(put(x, queue), axis=axis).asnumpy()
            np.testing.assert_array_equal(result, getattr(np, name)(x, axis=axis))
    assert function(put(np.array([-0.0, 0.0, -0.0], "f4"), queue)).tolist() == 0


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_extremes_refuse(name, queue):
    function = getattr(usmpy, name)
    with pytest.raises(TypeError):
        function(put(np.ones(3, "c8"), queue))
    with pytest.raises(TypeError):
        function(put(np.ones((3, 3), "f4"), queue), axis=(0, 1))
    with pytest.raises(usmpy.AxisError):
        function(put(np.ones(3, "f4"), queue), axis=1)
    assert function(put(np.float32(3), queue)).tolist() == 0
    assert getattr(put(np.array([[3, 5, 4]], "i2"), queue), name)(1, keepdims=True).shape == (1, 1)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_few_candidates_for_each_of_many_results(name):
    x = usmpy.zeros((2, 1 << 16), dtype="int8", device="host")
    x[1] = 1
    x[0, ::2] = 2
    found = getattr(usmpy, name)(x, axis=0)
    even = 0 if name == "argmax" else 1
    assert found[:4].tolist() == [even, 1 - even] * 2
    assert usmpy.sum(found).item() == 1 << 15


def test_many_blocks_of_candidates():
    x = usmpy.zeros((2048, 4096), dtype="int8", device="host")
    x[2047] = 1
    assert usmpy.unique_values(usmpy.argmax(x, axis=0)).tolist() == [2047]
    assert usmpy.unique_values(usmpy.argmin(x, axis=0)).tolist() == [0]
