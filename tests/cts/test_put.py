"""put, put_along_axis, place, extract, swapaxes and fill against NumPy, in every layout."""

import layouts
import numpy as np
import pytest
from dtypes import DTYPES

import usmpy

WRITABLE = [kind for kind in layouts.KINDS if kind != "broadcast"]


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def numbers(shape, dtype="float32"):
    return (np.arange(np.prod(shape, dtype=int)) % 100).astype(dtype).reshape(shape)


def same(x, n, kind=None):
    assert (x.shape, x.dtype) == (n.shape, n.dtype)
    np.testing.assert_array_equal(x.asnumpy(), n, kind)


@pytest.mark.parametrize("index", [[0, 5], [-1], [[0, 1], [2, 3]], np.array([4, 0]), 3, [], "ours"], ids=repr)
def test_put_without_an_axis(put, index):
    for kind, x, n in layouts.pairs(numbers((2, 3, 4)), usmpy, put, WRITABLE):
        m = n.copy()
        where = put([7, 1]) if isinstance(index, str) else index
        at = [7, 1] if isinstance(index, str) else index
        values = numbers(np.shape(at)) + 50
        usmpy.put(x, where, values)
        np.put(m, np.asarray(at, int), values)
        same(x, m, kind)
        x.put(where, -1)
        np.put(m, np.asarray(at, int), -1)
        same(x, m, kind)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_put_along_an_axis(put, axis):
    for kind, x, n in layouts.pairs(numbers((2, 3, 4)), usmpy, put, WRITABLE):
        m, key = n.copy(), [slice(None)] * 3
        key[axis] = [0, -1]
        values = numbers(m[tuple(key)].shape) + 50
        usmpy.put(x, [0, -1], put(values), axis=axis)
        m[tuple(key)] = values
        same(x, m, kind)


@pytest.mark.parametrize("axis", [0, 1, 2, -3])
def test_put_along_axis(put, axis):
    for kind, x, n in layouts.pairs(numbers((2, 3, 4)), usmpy, put, WRITABLE):
        m = n.copy()
        index = np.expand_dims(n.argmin(axis), axis) * 0 + 1
        for values in (-5, numbers(index.shape) + 50):
            usmpy.put_along_axis(x, put(index), values, axis=axis)
            np.put_along_axis(m, index, values, axis)
            same(x, m, kind)


@pytest.mark.parametrize("dtype", DTYPES)
def test_place_and_extract(put, dtype):
    for kind, x, n in layouts.pairs(numbers((3, 4), dtype), usmpy, put, WRITABLE):
        mask = numbers((3, 4)) % 3 == 0
        same(usmpy.extract(put(mask), x), np.extract(mask, n), kind)
        same(usmpy.extract(mask.astype("int8"), x), np.extract(mask, n), kind)
        for values in ([1, 0], [1] * 10, [0]):
            m = n.copy()
            y = x.copy()
            usmpy.place(y, put(mask), np.asarray(values, dtype))
            np.place(m, mask, np.asarray(values, dtype))
            same(y, m, kind)
        usmpy.place(x, put(np.zeros((3, 4), bool)), [])
        same(x, n, kind)


def test_swapaxes_and_methods_are_views(put):
    for kind, x, n in layouts.pairs(numbers((2, 3, 4)), usmpy, put):
        for a in range(-3, 3):
            for b in range(-3, 3):
                same(usmpy.swapaxes(x, a, b), n.swapaxes(a, b), kind)
        same(x.transpose(), n.transpose(), kind)
        same(x.transpose(2, 0, 1), n.transpose(2, 0, 1), kind)
        same(x.transpose([1, 0, 2]), n.transpose(1, 0, 2), kind)
        same(x.swapaxes(0, 2), n.swapaxes(0, 2), kind)


def test_bad_input(put, queue):
    x = put(numbers((2, 3)))
    for error, match, call in [
        (TypeError, r"put\(\): x is a list", lambda: usmpy.put([1], [0], 1)),
        (
            TypeError,
            r"extract\(\): arr is a ndarray",
            lambda: usmpy.extract(x, np.zeros(3)),
        ),
        (IndexError, "index 6", lambda: usmpy.put(x, [0, 6], 1)),
        (IndexError, "index 3", lambda: usmpy.put(x, [0, 3], 1, axis=1)),
        (IndexError, "dtype float64|float32", lambda: usmpy.put(x, [0.5], 1)),
        (usmpy.AxisError, "axis is 2", lambda: usmpy.put(x, [0], 1, axis=2)),
        (usmpy.AxisError, "axis is -3", lambda: usmpy.put_along_axis(x, [[0]], 1, axis=-3)),
        (TypeError, "axis is 'a'", lambda: usmpy.put_along_axis(x, [[0]], 1, axis="a")),
        (ValueError, "x has 2 dimensions and indices 1", lambda: usmpy.put_along_axis(x, [0], 1)),
        (ValueError, "does not broadcast", lambda: usmpy.put(x, [0, 1], [1, 2, 3])),
        (TypeError, "same_kind", lambda: usmpy.put(x, [0], put(np.complex64([1])))),
        (ValueError, "condition has 3 elements and arr 6", lambda: usmpy.extract([1, 0, 1], x)),
        (ValueError, r"mask has shape \(3,\) and x \(2, 3\)", lambda: usmpy.place(x, [True] * 3, 1)),
        (ValueError, "vals is empty", lambda: usmpy.place(x, x == x, [])),
        (ValueError, "read-only", lambda: usmpy.put(usmpy.broadcast_to(x[0], (2, 3)), [0], 1)),
    ]:
        with pytest.raises(error, match=match):
            call()
    same(x, numbers((2, 3)))


def test_put_takes_integers_in_any_form_and_no_other_keys(put, queue):
    n = numbers((2, 3))
    for ind in (
        1,
        -1,
        (0, 4),
        [0, 4],
        range(2, 5),
        np.array([[0, 1], [2, 3]]),
        np.int8(2),
        np.uint16([5, 0]),
    ):
        for given in (ind, put(ind)):
            x, m = put(n), n.copy()
            usmpy.put(x, given, 9)
            np.put(m, ind, 9)
            same(x, m)
    for empty in ([], (), np.zeros(0, "int32")):
        x = put(n)
        usmpy.put(x, empty, 9)
        same(x, n)
    for wrong in (
        True,
        [True, False],
        np.array([True] * 6),
        put(np.array([True] * 6)),
        None,
        ...,
        slice(2),
        "a",
        0.5,
    ):
        x = put(n)
        for axis in (None, 0):
            with pytest.raises((IndexError, TypeError)):
                usmpy.put(x, wrong, 9, axis=axis)
            same(x, n)
