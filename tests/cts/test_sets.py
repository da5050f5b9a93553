"""unique_all, unique_counts, unique_inverse, unique_values and isin against NumPy."""

import numpy as np
import pytest
from test_sorting import DTYPES, needs, put, values

import usmpy

SHAPES = [(1,), (30,), (7, 11), (3000,), (2, 3, 700)]


def check(x, queue):
    """All four functions against NumPy's unique, which treats NaN like the standard with equal_nan=False."""
    a = put(x, queue)
    wanted = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    found = usmpy.unique_all(a)
    assert found._fields == ("values", "indices", "inverse_indices", "counts")
    assert found.values.dtype == a.dtype
    for got, right in zip(found, wanted, strict=True):
        assert (got.queue, got.usm_type) == (a.queue, a.usm_type)
        np.testing.assert_array_equal(got.asnumpy(), right.reshape(got.shape))
    assert {part.dtype for part in found[1:]} == {usmpy.int64}
    assert found.inverse_indices.shape == a.shape
    np.testing.assert_array_equal(usmpy.unique_values(a).asnumpy(), wanted[0])
    counted = usmpy.unique_counts(a)
    assert counted._fields == ("values", "counts")
    np.testing.assert_array_equal(counted.values.asnumpy(), wanted[0])
    np.testing.assert_array_equal(counted.counts.asnumpy(), wanted[3])
    inverse = usmpy.unique_inverse(a)
    assert inverse._fields == ("values", "inverse_indices")
    np.testing.assert_array_equal(inverse.values.asnumpy()[inverse.inverse_indices.asnumpy()], x)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(dtype, shape, queue):
    needs(dtype, queue)
    check(values(dtype, int(np.prod(shape))).reshape(shape), queue)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_unique_of_complex_numbers(dtype, queue):
    if dtype == "complex128":
        needs("float64", queue)
    rng = np.random.default_rng(0)
    x = (rng.integers(-2, 3, 400) + 1j * rng.integers(-2, 3, 400)).astype(dtype)
    x[5] = complex(-0.0, 1)
    x[6] = complex(0.0, -0.0)
    check(x, queue)
    x[7] = complex(np.nan, 1)
    x[8] = complex(1, np.nan)
    found = usmpy.unique_all(put(x, queue))
    assert found.values.shape == (27,)
    assert found.counts.asnumpy().sum() == 400
    np.testing.assert_array_equal(found.values.asnumpy()[found.inverse_indices.asnumpy()], x)
    np.testing.assert_array_equal(x[found.indices.asnumpy()], found.values.asnumpy())


def test_each_nan_is_a_value_and_zeros_are_one(queue):
    found = usmpy.unique_all(put(np.array([np.nan, -0.0, 0.0, np.nan, 1.0], "float32"), queue))
    assert found.counts.tolist() == [2, 1, 1, 1]
    assert found.indices.tolist() == [1, 4, 0, 3]
    assert found.inverse_indices.tolist() == [2, 0, 0, 3, 1]
    assert np.signbit(found.values.asnumpy()[0])  # the first that occurs


@pytest.mark.parametrize("shape", [(0,), (2, 0), ()])
def test_unique_of_few(shape, queue):
    a = usmpy.full(shape, 3, dtype="int32", queue=queue)
    found = usmpy.unique_all(a)
    assert found.values.shape == found.indices.shape == found.counts.shape == (a.size,)
    assert found.inverse_indices.shape == shape
    assert usmpy.unique_values(a).tolist() == [3] * a.size
    assert usmpy.unique_counts(a).counts.tolist() == [1] * a.size


def test_unique_of_layouts(queue):
    x = values("int16", 600).reshape(20, 30)
    found = usmpy.unique_inverse(put(x, queue).T[::-1, ::3])
    y = x.T[::-1, ::3]
    np.testing.assert_array_equal(found.values.asnumpy()[found.inverse_indices.asnumpy()], y)


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_isin(dtype, invert, queue):
    needs(dtype, queue)
    x, y = values(dtype, 500).reshape(50, 10), values(dtype, 60, seed=3).reshape(6, 10)
    result = usmpy.isin(put(x, queue), put(y, queue), invert=invert)
    assert result.dtype == usmpy.bool
    np.testing.assert_array_equal(result.asnumpy(), np.isin(x, y, invert=invert))


def test_isin_of_numbers_mixed_types_and_nothing(queue):
    a = put(np.array([[1, 2], [3, 300]], "int16"), queue)
    assert usmpy.isin(a, 2).tolist() == [[False, True], [False, False]]
    assert usmpy.isin(3, a).tolist() is True
    assert usmpy.isin(a, put(np.array([2.0, 2.5], "float32"), queue)).tolist() == [
        [False, True],
        [False, False],
    ]
    assert usmpy.isin(a, put(np.array([44], "uint8"), queue)).tolist() == [[False, False], [False, False]]
    assert usmpy.isin(a, a[:0], invert=True).tolist() == [[True, True], [True, True]]
    assert usmpy.isin(a[:0], a).shape == (0, 2)


def test_isin_of_complex_numbers(queue):
    x = np.array([1 + 1j, complex(np.nan, 0), 0, 2j, complex(0, -0.0)], "complex64")
    y = np.array([2j, complex(-0.0, 0), complex(np.nan, 0)], "complex64")
    assert usmpy.isin(put(x, queue), put(y, queue)).tolist() == [False, False, True, True, True]


def test_what_is_refused(queue):
    a = usmpy.zeros(3, dtype="int32", queue=queue)
    stored = usmpy.empty(3, dtype=usmpy.float8_e4m3fn, queue=queue)
    for function in (usmpy.unique_all, usmpy.unique_counts, usmpy.unique_inverse, usmpy.unique_values):
        with pytest.raises(TypeError, match="USMArray"):
            function([1, 2])
        with pytest.raises(TypeError):
            function(stored)
    with pytest.raises(TypeError, match="x2"):
        usmpy.isin(a, [1])
    with pytest.raises(TypeError):
        usmpy.isin(1, 2)
    with pytest.raises(TypeError, match="invert"):
        usmpy.isin(a, a, invert=1)
