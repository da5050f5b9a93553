"""Single elements in bulk: taken by vectors of indices, repeated, chosen by small masks, side by side."""

import layouts
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import usmpy

SIZES = ["uint8", "int16", "float32", "float64", "complex128"]
FEW, MANY = 1000, (1 << 20) + 77  # elements; of four bytes and more, the second is what counts as large
SETTINGS = {
    "max_examples": 15,
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
}


def numbers(n, dtype):
    return (np.arange(n) * 7919 % 120).astype(dtype)


def on(queue, array):
    return usmpy.asarray(array, queue=queue, copy=True)


def drawn(queue, data, array):
    return layouts.both(data.draw, array, usmpy, lambda base: on(queue, base))


def large(queue, cases):
    """Cases that are there for processors, whose large results go past the caches, are theirs alone."""
    return cases if queue.device.device_type == "cpu" else []


def same(x, n):
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", SIZES)
def test_elements_taken_by_a_vector(queue, dtype, index):
    rng = np.random.default_rng(3)
    for length, count in [(5, 3), (FEW, 64), *large(queue, [(FEW, MANY), (MANY, MANY)])]:
        n, i = numbers(length, dtype), rng.integers(-length, length, count).astype(index)
        x, k = on(queue, n), on(queue, i)
        same(usmpy.take(x, k), n[i])
        same(x[k], n[i])
    few = i[:50] % 7
    same(x[::-3][on(queue, few)], n[::-3][few])


@settings(**SETTINGS)
@given(data=st.data())
def test_integers_alone_as_an_index(queue, data):
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    of = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2)))
    dtype = data.draw(st.sampled_from(["int8", "int16", "int32", "int64", "uint8", "uint64"]))
    low = 0 if dtype[0] == "u" else -shape[0]
    size = int(np.prod(of))
    i = np.array(data.draw(st.lists(st.integers(low, shape[0] - 1), min_size=size, max_size=size)), dtype)
    k, i = drawn(queue, data, i.reshape(of))
    x, n = drawn(queue, data, numbers(int(np.prod(shape)), "float32").reshape(shape))
    same(x[k], n[i])


@pytest.mark.parametrize("index", ["int8", "int64", "uint64"])
def test_an_index_just_outside_is_refused(queue, index):
    x = on(queue, numbers(5, "float32"))
    limits = np.iinfo(index)
    for wrong in [5, 100, limits.max, *([] if limits.min == 0 else [-6, limits.min])]:
        with pytest.raises(IndexError, match="out of range"):
            x[on(queue, np.array([0, wrong, 1], index))]
        with pytest.raises(IndexError, match="out of range"):
            x[on(queue, np.array([[0, 0], [wrong, 0]], index))[:, 0]]


@pytest.mark.parametrize("dtype", SIZES)
def test_every_element_repeated(queue, dtype):
    for length, count in [(9, 2), (700, 17), (5, 3000), *large(queue, [(1 << 19, 7), (MANY, 4)])]:
        n = numbers(length, dtype)
        same(usmpy.repeat(on(queue, n), count), np.repeat(n, count))
    n = numbers(60 * 33, dtype).reshape(60, 33)
    x = on(queue, n)
    same(usmpy.repeat(x.T, 5), np.repeat(n.T, 5))
    same(usmpy.repeat(x[:, ::-2], 3, axis=1), np.repeat(n[:, ::-2], 3, axis=1))
    same(usmpy.repeat(x.T, 4, axis=0), np.repeat(n.T, 4, axis=0))


@settings(**SETTINGS)
@given(data=st.data())
def test_small_masks(queue, data):
    shape = tuple(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3)))
    size = int(np.prod(shape))
    of = data.draw(st.integers(1, len(shape)))
    x, n = drawn(queue, data, numbers(size, "int16").reshape(shape))
    lengths = int(np.prod(shape[:of]))
    flat = np.array(data.draw(st.lists(st.booleans(), min_size=lengths, max_size=lengths)), bool)
    mask, m = drawn(queue, data, flat.reshape(shape[:of]))
    same(x[mask], n[m])
    turned = tuple(range(n.ndim))[::-1]
    same(usmpy.permute_dims(x, turned)[usmpy.permute_dims(x > 50, turned)], n.T[n.T > 50])
    for ours, theirs in zip(usmpy.nonzero(x > 50), np.nonzero(n > 50), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), theirs)


@pytest.mark.parametrize("order", ["C", "F"])
def test_operands_side_by_side_and_single_ones(queue, order):
    n = np.asarray(numbers(12, "float32").reshape(3, 4), order=order)
    x = usmpy.permute_dims(on(queue, n.T), (1, 0)) if order == "F" else on(queue, n)
    one, mask = on(queue, np.array([[n[1, 2]]])), on(queue, n > 40)
    for other, expected in [
        (x, n),
        (one, n[1:2, 2:3]),
        (one[0, 0], n[1, 2]),
        (x[:1], n[:1]),
        (x[:, :1], n[:, :1]),
    ]:
        same(usmpy.equal(x, other), n == expected)
        same(usmpy.less(other, x), expected < n)
        same(usmpy.where(mask, x, other), np.where(n > 40, n, expected))
        same(usmpy.where(mask, other, x), np.where(n > 40, expected, n))
    same(usmpy.logical_and(mask, mask.T.T), n > 40)
    same(usmpy.isnan(x), np.isnan(n))
    same(usmpy.equal(one, one[0]), np.ones((1, 1), bool))
