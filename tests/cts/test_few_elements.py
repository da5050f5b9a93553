"""A few elements by index or mask, which the host moves at once: the edges of that way, and its order."""

import numpy as np
import pytest
from asleep import until_asleep
from together import together

import usmpy

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
