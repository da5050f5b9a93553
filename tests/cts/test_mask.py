"""Indexing with masks, and nonzero, against NumPy."""

import hypothesis
import hypothesis.strategies as st
import layouts
import numpy as np
import pytest
from hypothesis.extra import numpy as hnp

import usmpy

SIZES = ["uint8", "float16", "int32", "float64", "complex128"]  # one type for each size of elements


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def values_for(shape, dtype, start=0):
    return (np.arange(start, start + np.prod(shape, dtype=int)) % 101).reshape(shape).astype(dtype)


def masks_for(shape):
    rng = np.random.default_rng(3)
    for n in range(len(shape) + 1):
        yield rng.random(shape[:n]) < 0.5
        yield np.zeros(shape[:n], bool)
        yield np.ones(shape[:n], bool)


@pytest.mark.parametrize("dtype", SIZES)
@pytest.mark.parametrize("shape", [(6,), (3, 4), (2, 3, 4)])
def test_leading_axes(put, shape, dtype):
    values = values_for(shape, dtype)
    for mask in masks_for(shape):
        expected = values[mask]
        result = put(values)[put(mask)]
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result.asnumpy(), expected)
        for new in (values_for(expected.shape, dtype, 50), values_for(expected.shape[1:], dtype, 7), dtype):
            x, copy = put(values), values.copy()
            copy[mask] = 9 if new is dtype else new
            x[put(mask)] = 9 if new is dtype else put(new)
            np.testing.assert_array_equal(x.asnumpy(), copy)


def test_views_of_any_layout(put):
    values = values_for((4, 6), "int32")
    mask = values % 3 == 0
    for view in (np.s_[::-1, ::2], np.s_[1:3, 1:], np.s_[:, ::-1]):
        x, copy = put(values), values.copy()
        np.testing.assert_array_equal(x[view][put(mask)[view]].asnumpy(), values[view][mask[view]])
        x[view][put(mask)[view]] = -1
        copy[view][mask[view]] = -1
        np.testing.assert_array_equal(x.asnumpy(), copy)
        x[view][put(mask)[view]] = put(values_for((mask[view].sum(),), "int32", 3))
        copy[view][mask[view]] = values_for((mask[view].sum(),), "int32", 3)
        np.testing.assert_array_equal(x.asnumpy(), copy)
    np.testing.assert_array_equal(put(values).T[put(mask).T].asnumpy(), values.T[mask.T])


def test_masks_beside_basic_indices(put):
    values, mask = values_for((3, 4, 5), "float32"), np.array([True, False, True])
    wide = values_for((4, 5), "int64") % 2 == 0
    keys = [
        (mask, 0),
        (mask, slice(1, 3)),
        (mask, ..., None),
        (slice(None), wide),
        (1, wide),
        (wide[:3, 0], 1),
    ]
    for key in keys:
        ours = tuple(put(item) if isinstance(item, np.ndarray) else item for item in key)
        expected, x, copy = values[key], put(values), values.copy()
        np.testing.assert_array_equal(x[ours].asnumpy(), expected)
        x[ours], copy[key] = 5, 5
        np.testing.assert_array_equal(x.asnumpy(), copy)


def test_large_masks(put):
    values = np.arange(300_000, dtype=np.float32)
    for mask in (values % 7 == 0, values > 299_998, values < 0, values >= 0):
        np.testing.assert_array_equal(put(values)[put(mask)].asnumpy(), values[mask])
    assert put(values)[put(values) > 5].size == 299_994


def test_the_source_overlaps_the_destination(put):
    values = np.arange(10)
    x, copy = put(values), values.copy()
    x[x > 4] = x[4::-1]
    copy[5:] = values[4::-1]
    np.testing.assert_array_equal(x.asnumpy(), copy)
    square, own = put([[True, False], [True, True]]), np.array([[True, False], [True, True]])
    square[square.T] = False
    own[own.T.copy()] = False
    np.testing.assert_array_equal(square.asnumpy(), own)
    x = put(values)
    x[x > 4] = x[9]
    np.testing.assert_array_equal(x.asnumpy(), [0, 1, 2, 3, 4, 9, 9, 9, 9, 9])


def test_a_mask_of_length_0_selects_nothing(put):
    values = np.arange(12.0).reshape(3, 4)
    x = put(values)
    for shape in ((0,), (0, 0), (3, 0), (0, 4)):
        mask = put(np.zeros(shape, bool))
        assert x[mask].shape == (0, *values.shape[len(shape) :])
        x[mask] = 1.0
        x[mask] = put(np.zeros((0, *values.shape[len(shape) :])))
    np.testing.assert_array_equal(x.asnumpy(), values)


def test_values_of_other_types(put):
    x = put(np.zeros(4))
    x[put([True, False, True, False])] = put(np.array([1.0, 2.0]))
    x[put([False, False, False, True])] = np.float32(7)
    np.testing.assert_array_equal(x.asnumpy(), [1, 0, 2, 7])
    x[put([False, True, False, True])] = put(np.float32([5, 6]))
    np.testing.assert_array_equal(x.asnumpy(), [1, 5, 2, 6])


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float64", "complex64"])
def test_nonzero(put, dtype):
    values = (values_for((3, 4, 5), "int32") % 3).astype(dtype)
    for view in (np.s_[:], np.s_[::-1, 1:, ::2], np.s_[0, 0], np.s_[:0]):
        result = usmpy.nonzero(put(values)[view])
        assert [index.dtype for index in result] == [usmpy.int64] * values[view].ndim
        for ours, theirs in zip(result, values[view].nonzero(), strict=True):
            np.testing.assert_array_equal(ours.asnumpy(), theirs)


def test_bad_input_leaves_the_array_as_it_was(put, queue):
    values = np.arange(12.0).reshape(3, 4)
    x = put(values)

    def refused(error, match, key, *value):
        with pytest.raises(error, match=match):
            x[key]
        with pytest.raises(error, match=match):
            x[key] = 1.0
        np.testing.assert_array_equal(x.asnumpy(), values)

    refused(IndexError, r"mask of shape \(2,\).*shape \(3, 4\)", put([True, False]))
    refused(IndexError, r"mask of shape \(4, 3\)", put(np.ones((4, 3), bool)))
    refused(IndexError, "too many indices: 3", put(np.ones((3, 4, 1), bool)))
    refused(IndexError, "too many indices: 3", (put(np.ones((3, 4), bool)), 0))
    refused(usmpy.ExecutionPlacementError, "index", put([True] * 3).to_device(usmpy.Queue(queue.device)))
    whole = put(np.ones((3, 4), bool))
    for error, value in ((ValueError, put(np.ones(5))), (TypeError, 1j), (TypeError, put(np.complex64([1])))):
        with pytest.raises(error):
            x[whole] = value
    with pytest.raises(ValueError, match="read-only"):
        usmpy._core._read_only(x)[whole] = 1.0
    np.testing.assert_array_equal(x.asnumpy(), values)
    with pytest.raises(ValueError, match="0 dimensions"):
        usmpy.nonzero(put(1))


def drawn(data, values, writable=False):
    return layouts.both(data.draw, values, usmpy, lambda base: usmpy.asarray(base, copy=True), writable)


@hypothesis.given(data=st.data())
@hypothesis.settings(deadline=None, max_examples=60)
def test_random_masks_on_the_host(data):
    values = data.draw(hnp.arrays("int32", hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)))
    axes = data.draw(st.integers(0, values.ndim))
    mask = data.draw(hnp.arrays(bool, values.shape[:axes]))
    (x, values), (m, mask) = drawn(data, values, writable=True), drawn(data, mask)
    expected = values[mask]
    np.testing.assert_array_equal(x[m].asnumpy(), expected)
    y, new = drawn(data, data.draw(hnp.arrays("int32", expected.shape)))
    values[mask] = new
    x[m] = y
    np.testing.assert_array_equal(x.asnumpy(), values)
