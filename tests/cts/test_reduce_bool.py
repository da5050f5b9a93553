"""all, any and count_nonzero against NumPy, along every choice of axes."""

import itertools

import layouts
import numpy as np
import pytest
from backends import drawn
from dtypes import DTYPES
from together import together

import usmpy

PAIRS = [(usmpy.all, np.all), (usmpy.any, np.any), (usmpy.count_nonzero, np.count_nonzero)]


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def choices(ndim):
    yield None
    for n in range(ndim + 1):
        yield from itertools.combinations(range(ndim), n)
    yield from range(-ndim, ndim)


@pytest.mark.parametrize("shape", [(), (7,), (3, 4), (2, 3, 4), (0, 3), (2, 1, 0, 3)])
def test_every_choice_of_axes(put, shape):
    rng = np.random.default_rng(5)
    for density in (0.2, 0.8):
        values = rng.random(shape) < density
        x = put(values)
        for (ours, theirs), axis in itertools.product(PAIRS, choices(len(shape))):
            expected = theirs(values, axis=axis)
            result = ours(x, axis=axis)
            assert result.dtype == (usmpy.int64 if ours is usmpy.count_nonzero else usmpy.bool)
            np.testing.assert_array_equal(result.asnumpy(), expected)
            assert ours(x, axis=axis, keepdims=True).shape == theirs(values, axis=axis, keepdims=True).shape


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_every_choice_of_axes_in_every_layout(put, dtype):
    values = np.random.default_rng(3).integers(0, 2, (4, 3, 5)).astype(dtype)
    for kind, x, n in layouts.pairs(values, usmpy, put):
        for (ours, theirs), axis in itertools.product(PAIRS, choices(3)):
            np.testing.assert_array_equal(ours(x, axis=axis).asnumpy(), theirs(n, axis=axis), kind)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_nonzero_elements_are_true(put, dtype):
    values = np.array([[0, 1], [0, 0], [1, 1]], "float32" if dtype == "bfloat16" else dtype)
    x = put(values).astype(dtype)
    for ours, theirs in PAIRS:
        np.testing.assert_array_equal(ours(x, axis=1).asnumpy(), theirs(values, axis=1))
        np.testing.assert_array_equal(ours(x.T, axis=1).asnumpy(), theirs(values.T, axis=1))
        assert ours(x).item() == theirs(values)
    if "float" in dtype or "complex" in dtype:
        odd = put(np.array([-0.0, np.nan], "float32")).astype("float32" if dtype == "bfloat16" else dtype)
        assert usmpy.any(odd[:1]).item() is False
        assert usmpy.all(odd[1:]).item() is True
        assert usmpy.count_nonzero(odd).item() == 1


@pytest.mark.parametrize("size", [255, 256, 257, 200_001, 2_000_003])
def test_one_element_decides_wherever_it_is(put, size):
    for at in (0, size // 2, size - 1):
        zeros = np.zeros(size, bool)
        zeros[at] = True
        assert usmpy.any(put(zeros)).item() is True
        assert usmpy.all(put(~zeros)).item() is False
    assert usmpy.any(put(np.zeros(size, bool))).item() is False
    assert usmpy.all(put(np.ones(size, bool))).item() is True


def test_counts_of_long_and_short_rows(backend, put):
    for shape in drawn(backend, [(70_001,), (3, 70_001), (40, 5_000), (5_000, 40), (5_000, 2, 3)]):
        check_counts(put, shape)


def check_counts(put, shape):
    values = np.random.default_rng(7).integers(0, 3, shape, "int16")
    x = put(values)
    for axis in choices(len(shape)):
        np.testing.assert_array_equal(
            usmpy.count_nonzero(x, axis=axis).asnumpy(), np.count_nonzero(values, axis=axis)
        )
    np.testing.assert_array_equal(
        usmpy.count_nonzero(usmpy.flip(x)[::2], axis=0).asnumpy(),
        np.count_nonzero(np.flip(values)[::2], axis=0),
    )
    assert usmpy.count_nonzero(x == 1).item() == np.count_nonzero(values == 1)


def test_long_axes_beside_short_ones(put):
    values = np.zeros((3, 200_000, 2), bool)
    values[1, 199_999, 1] = True
    np.testing.assert_array_equal(usmpy.any(put(values), axis=1).asnumpy(), values.any(axis=1))
    np.testing.assert_array_equal(usmpy.all(put(~values), axis=(0, 1)).asnumpy(), (~values).all(axis=(0, 1)))


# Rows beside each other, by the widths and heights that are taken at once, and one more or less.
@together("inner", [1, 2, 63, 64, 65, 1023, 1024, 1025, 2300])
@pytest.mark.parametrize("reduced", [1, 3, 4, 5, 64, 130])
def test_columns_of_any_width_and_height(put, inner, reduced):
    rng = np.random.default_rng(inner * reduced)
    for outer in (1, 3):
        for density in (0.5 / reduced, 1 - 0.5 / reduced):
            # Bytes of a mask made elsewhere: all but 0 are true.
            values = np.where(rng.random((outer, reduced, inner)) < density, rng.integers(1, 256), 0)
            x = put(values.astype("uint8").view(bool))
            for ours, theirs in PAIRS[:2]:
                result = ours(x, axis=1).asnumpy()
                np.testing.assert_array_equal(result, theirs(values, axis=1))
                assert set(result.view("uint8").ravel().tolist()) <= {0, 1}


def test_many_columns_are_processed_in_parts(put):
    values = np.zeros((7001, 1030), bool)
    values[7000, 1029] = values[0, 0] = values[3500, 1024] = True
    np.testing.assert_array_equal(usmpy.any(put(values), axis=0).asnumpy(), values.any(axis=0))
    np.testing.assert_array_equal(usmpy.all(put(~values), axis=0).asnumpy(), (~values).all(axis=0))


def test_bad_input(put):
    x = put([[True]])
    with pytest.raises(IndexError, match="axis is 2"):
        usmpy.all(x, axis=2)
    with pytest.raises(ValueError, match="axis 0 is repeated"):
        usmpy.any(x, axis=(0, -2))
    with pytest.raises(TypeError, match="keepdims"):
        usmpy.any(x, keepdims=1)
    with pytest.raises(TypeError, match="x is a bool"):
        usmpy.all(True)
    with pytest.raises(IndexError, match="axis is -3"):
        usmpy.count_nonzero(x, axis=(0, -3))
    with pytest.raises(TypeError, match=r"count_nonzero\(\): x is a list"):
        usmpy.count_nonzero([True])
    with pytest.raises(TypeError, match="only stored"):
        usmpy.count_nonzero(usmpy._core._reinterpret(put(np.uint8([1])), usmpy.float8_e5m2))
    with pytest.raises(TypeError, match="only stored"):
        usmpy.all(usmpy._core._reinterpret(put(np.uint8([1])), usmpy.float8_e5m2))
