"""Single elements in bulk: taken by vectors of indices, repeated, chosen by small masks, side by side."""

import layouts
import numpy as np
import pytest
from asleep import until_asleep
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from together import together

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


TYPES = ["bool", "int8", "uint16", "float16", "float32", "int64", "complex64", "complex128"]


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def keys(n):
    yield np.arange(n)[::-1].copy()
    yield (np.arange(n) % 3).astype("int32") - 3
    yield np.arange(n) % 2 == 0
    yield np.zeros(n, bool)


@pytest.mark.parametrize("dtype", TYPES)
@together("n", [1, 12, 256, 257])
def test_as_numpy_on_both_sides_of_the_limit(put, n, dtype):
    values = np.arange(n).astype(dtype)
    for key in keys(max(n, 3)) if n > 2 else keys(1):
        key = key % n if key.dtype != bool else key
        x, copy = put(values), values.copy()
        np.testing.assert_array_equal(x[put(key)].asnumpy(), values[key])
        number = True if dtype == "bool" else 1
        x[put(key)], copy[key] = number, number
        np.testing.assert_array_equal(x.asnumpy(), copy)
        if key.dtype == bool or len(set(key)) == n:
            new = values[key][::-1]
            x[put(key)], copy[key] = put(new), new
            np.testing.assert_array_equal(x.asnumpy(), copy)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (2, 3, 4), (4, 0)])
def test_rows_and_views(put, shape):
    values = np.arange(np.prod(shape)).reshape(shape)
    index, mask = np.array([[0, -1], [-1, 0]]), np.arange(shape[0]) % 2 == 0
    for view in (lambda a: a, lambda a: a[::-1], lambda a: a[..., ::2]):
        x = view(put(values))
        for key in (index, mask):
            assert x[put(key)].shape == view(values)[key].shape
            np.testing.assert_array_equal(x[put(key)].asnumpy(), view(values)[key])


@pytest.mark.parametrize("dtype", TYPES)
def test_nonzero_of_signed_zeros_and_parts(put, dtype):
    values = np.arange(12).reshape(3, 4).astype(dtype) * np.array([0, 1, 0, 2], dtype)
    if np.issubdtype(values.dtype, np.inexact):
        values[0] = -values[0]
        values[2, 2] = np.nan
    if np.issubdtype(values.dtype, np.complexfloating):
        values[1] = [complex(-0.0, -0.0), 1j, complex(0.0, -0.0), complex(-0.0, np.nan)]
    for array in (values, values.reshape(-1), np.zeros((2, 2), dtype), np.tile(values, (8, 8))):
        found = usmpy.nonzero(put(array))
        expected = np.nonzero(array)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == usmpy.int64
            np.testing.assert_array_equal(ours.asnumpy(), theirs)


def test_nothing_is_written_when_one_is_bad(put):
    x = put(np.arange(5, dtype="int8"))
    for key, value, error in (
        ([0, 5], 1, IndexError),
        ([0, -6], 1, IndexError),
        ([0, 1], 300, OverflowError),
        ([0, 1], 1.5, TypeError),
        ([True, False], 1, IndexError),
        ([0, 1], put(np.zeros(3, "int8")), ValueError),
    ):
        with pytest.raises(error):
            x[put(key)] = value
    with pytest.raises(IndexError):
        x[put([4, 5])]
    np.testing.assert_array_equal(x.asnumpy(), np.arange(5))


def test_an_array_is_its_own_key_and_value(put):
    x = put(np.arange(5))
    x[x] = x[::-1]
    np.testing.assert_array_equal(x.asnumpy(), [4, 3, 2, 1, 0])
    x[x] = 7
    np.testing.assert_array_equal(x.asnumpy(), [7] * 5)
    mask = put(np.array([True, False, True]))
    mask[mask] = False
    assert not mask.asnumpy().any()


@pytest.mark.only_on("host")  # arrays of other backends are no memory of a Python task
@pytest.mark.parametrize("in_order", [True, False])
def test_pending_work_comes_first(device, in_order):
    """A pending write, passed as an argument; in an ordered queue also one that no argument names."""
    queue = usmpy.Queue(device, in_order=in_order)
    for told in (True, False) if in_order else (True,):
        x, key = (usmpy.asarray(np.arange(n), queue=queue, copy=True) for n in (4, 2))
        memory = np.from_dlpack(x)

        def work(*_, memory=memory):
            until_asleep()  # the main thread, which waits for this
            memory[...] += 10

        queue.host_task(work, *([x] if told else []))
        np.testing.assert_array_equal(x[key].asnumpy(), [10, 11])
        queue.host_task(work, *([x] if told else []))
        x[key], x[3] = 0, 1
        queue.wait()
        np.testing.assert_array_equal(x.asnumpy(), [0, 0, 22, 1])
        del memory, work


@pytest.mark.parametrize("dtype", TYPES)
def test_one_element_by_integers(put, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    number = True if dtype == "bool" else 7
    for view in (lambda a: a, lambda a: a[::-1, :, ::2], lambda a: a[1, 2], lambda a: a[0, 0, 0:1]):
        x, copy = put(values), values.copy()
        key = (-1,) * view(copy).ndim
        view(x)[key], view(copy)[key] = number, number
        np.testing.assert_array_equal(x.asnumpy(), copy)
    x = put(values)
    for key, value, error in (
        ((0, 3, 0), number, IndexError),
        ((0, 0, -5), number, IndexError),
        ((0, 0, 0), "7", (TypeError, ValueError)),
        ((0, 0, 0, 0), number, IndexError),
        ((0, 0, 0), 1j if "complex" not in dtype else None, TypeError),
    ):
        with pytest.raises(error):
            x[key] = value
    np.testing.assert_array_equal(x.asnumpy(), values)
    for key in ((0, 1, True), (True, 0, 1), (0, 1, False)):  # masks, which are no integers
        x[key] = values[key] = number
        np.testing.assert_array_equal(x.asnumpy(), values)
    x[0, 0, :][True] = values[0, 0, :][True] = number
    np.testing.assert_array_equal(x.asnumpy(), values)
