"""sort, argsort and searchsorted against NumPy's stable sorts; unique_* and isin against NumPy."""

import numpy as np
import pytest
from backends import drawn

import usmpy
from usmpy import _core

REAL = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, *REAL]
# Around the lengths at which another algorithm takes over: insertion, small and large rows, ranks, chunks.
LENGTHS = [1, 2, 40, 41, 256, 257, 1024, 1025, 2048, 2049, 5000]


def needs(dtype, queue):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")


def values(dtype, n, seed=0):
    """Many equal elements, and for real numbers every kind of special one."""
    rng = np.random.default_rng(seed + n)
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype in REAL:
        x = rng.standard_normal(n).astype(dtype)
        for special in (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, np.finfo(dtype).smallest_subnormal, 1.5):
            x[rng.integers(0, n, n // 12 + 1)] = special
        return x
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x[: n // 2] = x[rng.integers(0, min(n, 7), n // 2)]
    rng.shuffle(x)
    return x


def order(x, descending=False):
    """The stable order of a vector; descending, of the ranks of its values, with NaN behind them."""
    if not descending:
        return np.argsort(x, kind="stable")
    nan = x != x
    _, ranks = np.unique(x[~nan], return_inverse=True)
    at = np.arange(x.size)
    return np.concatenate([at[~nan][np.argsort(-ranks.ravel(), kind="stable")], at[nan]])


def put(x, queue):
    return usmpy.asarray(x, queue=queue, copy=True)


def agree(x, queue, descending=False):
    a, wanted = put(x, queue), order(x, descending)
    indices = usmpy.argsort(a, descending=descending)
    assert (indices.dtype, indices.queue) == (usmpy.int64, a.queue)
    np.testing.assert_array_equal(indices.asnumpy(), wanted)
    result = usmpy.sort(a, descending=descending)
    assert result.dtype == a.dtype
    assert result.asnumpy().tobytes() == x[wanted].tobytes()  # zeros keep their signs, and NaN its bits
    assert a.asnumpy().tobytes() == x.tobytes()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_of_each_type_and_length(backend, dtype, descending, queue):
    needs(dtype, queue)
    for n in drawn(backend, LENGTHS, DTYPES.index(dtype) + descending):
        agree(values(dtype, n), queue, descending)


# In this order the software CUDA driver, which takes longest, draws the shortest type.
@pytest.mark.parametrize("dtype", ["int64", "float32", "int16"])
def test_long_vectors(dtype, queue):
    agree(values(dtype, 70001), queue)
    agree(values(dtype, 70001), queue, descending=True)


@pytest.mark.only_on("host")
@pytest.mark.parametrize("dtype", ["uint8", "float16", "uint32", "float64"])
def test_two_million_elements(dtype, queue):
    agree(values(dtype, (2 << 20) + 3), queue)


def test_rows_that_are_sorted_already(queue):
    x = np.arange(3000, dtype="int32")
    for row in (x, x[::-1].copy(), np.zeros(3000, "int32"), x // 256, x % 2):
        agree(row, queue)


def test_bfloat16(queue):
    bits = np.array([0x3F80, 0x0000, 0x8000, 0xFF80, 0x7F80, 0x7FC0, 0xBF80, 0xFFC0, 0x3F80], "uint16")
    a = _core._reinterpret(put(bits, queue), usmpy.bfloat16)
    assert usmpy.argsort(a).tolist() == a.argsort().tolist() == [3, 6, 1, 2, 0, 8, 4, 5, 7]
    assert a.argsort(descending=True).tolist() == usmpy.argsort(a, descending=True).tolist()
    assert usmpy.argsort(a, descending=True).tolist() == [4, 0, 8, 1, 2, 6, 3, 5, 7]
    np.testing.assert_array_equal(
        _core._reinterpret(usmpy.sort(a), usmpy.uint16).asnumpy(), bits[[3, 6, 1, 2, 0, 8, 4, 5, 7]]
    )


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("shape", [(7, 65, 3), (300, 4, 5), (2, 1, 2300), (1, 2300, 1)])
def test_axes(shape, axis, queue):
    x = np.random.default_rng(5).integers(0, 40, shape).astype("int32")
    a = put(x, queue)
    np.testing.assert_array_equal(usmpy.sort(a, axis=axis).asnumpy(), np.sort(x, axis=axis))
    np.testing.assert_array_equal(
        usmpy.argsort(a, axis=axis).asnumpy(), np.argsort(x, axis=axis, kind="stable")
    )


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::-1],
        lambda x: x[:, ::-2],
        lambda x: x.T,
        lambda x: x[1:, 3:],
        lambda x: x[:, :1],
        lambda x: x[3],
    ],
)
def test_layouts(view, queue):
    x = values("float32", 40 * 50).reshape(40, 50)
    a = view(put(x, queue))
    for axis in range(a.ndim):
        np.testing.assert_array_equal(usmpy.sort(a, axis=axis).asnumpy(), np.sort(view(x), axis=axis))
        np.testing.assert_array_equal(
            usmpy.argsort(a, axis=axis).asnumpy(), np.argsort(view(x), axis=axis, kind="stable")
        )


def test_a_broadcast_vector(queue):
    a = usmpy.broadcast_to(put(np.array([3, 1, 2], "int16"), queue), (4, 3))
    assert usmpy.sort(a).tolist() == [[1, 2, 3]] * 4
    assert usmpy.argsort(a, axis=0).tolist() == [[0] * 3, [1] * 3, [2] * 3, [3] * 3]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_no_elements(shape, queue):
    a = usmpy.zeros(shape, dtype="float32", queue=queue)
    for axis in range(len(shape)):
        assert usmpy.sort(a, axis=axis).shape == shape
        assert usmpy.argsort(a, axis=axis).shape == shape


def test_what_is_refused(queue):
    a = usmpy.zeros((2, 3), dtype="complex64", queue=queue)
    for function in (usmpy.sort, usmpy.argsort):
        with pytest.raises(TypeError, match="complex numbers have no order"):
            function(a)
        with pytest.raises(TypeError):
            function(usmpy.empty(3, dtype=usmpy.float8_e4m3fn, queue=queue))
        with pytest.raises(ValueError, match="0 dimensions"):
            function(usmpy.zeros((), dtype="int32", queue=queue))
        with pytest.raises(usmpy.AxisError):
            function(a.real, axis=2)
        with pytest.raises(TypeError, match="descending"):
            function(a.real, descending=1)
        with pytest.raises(TypeError, match="stable"):
            function(a.real, stable="yes")
        with pytest.raises(TypeError, match="USMArray"):
            function([3, 1])
    assert usmpy.sort(a.real, stable=False).shape == (2, 3)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(dtype, side, queue):
    needs(dtype, queue)
    row = np.sort(values(dtype, 1000), kind="stable")
    wanted = values(dtype, 300, seed=1)
    result = usmpy.searchsorted(put(row, queue), put(wanted, queue), side=side)
    assert result.dtype == usmpy.int64
    np.testing.assert_array_equal(result.asnumpy(), np.searchsorted(row, wanted, side=side))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_with_a_sorter_and_layouts(side, queue):
    x, wanted = values("int32", 777), values("int32", 600, seed=2).reshape(20, 30)
    sorter = np.argsort(x, kind="stable")
    for index_type in ("int64", "int32", "uint16"):
        result = usmpy.searchsorted(
            put(x, queue)[::1],
            put(wanted, queue).T[::-1],
            side=side,
            sorter=put(sorter.astype(index_type), queue),
        )
        expected = np.searchsorted(x, wanted.T[::-1], side=side, sorter=sorter)
        np.testing.assert_array_equal(result.asnumpy(), expected)


def test_searchsorted_of_numbers_types_and_nothing(queue):
    row = put(np.array([1, 3, 3, 5], "int32"), queue)
    assert usmpy.searchsorted(row, 3).tolist() == 1
    assert usmpy.searchsorted(row, 2.5).tolist() == 1
    assert usmpy.searchsorted(row, put(np.array([4, 0], "int8"), queue), side="right").tolist() == [3, 0]
    assert usmpy.searchsorted(row[:0], row).tolist() == [0] * 4
    assert usmpy.searchsorted(row, row[:0]).shape == (0,)
    assert usmpy.searchsorted(row[::-1], row, sorter=put(np.array([3, 2, 1, 0]), queue)).tolist() == [
        0,
        1,
        1,
        3,
    ]


def test_searchsorted_never_reads_outside_the_row(queue):
    row = put(np.array([1, 3, 5], "int32"), queue)
    wild = put(np.array([-9, 1, 1 << 40]), queue)
    assert usmpy.searchsorted(row, 4, sorter=wild).tolist() == 2


def test_what_searchsorted_refuses(queue):
    row = put(np.array([1.0, 3.0], "float32"), queue)
    with pytest.raises(ValueError, match="side"):
        usmpy.searchsorted(row, row, side="middle")
    with pytest.raises(ValueError, match="2 dimensions"):
        usmpy.searchsorted(usmpy.reshape(row, (1, 2)), row)
    with pytest.raises(ValueError, match="sorter"):
        usmpy.searchsorted(row, row, sorter=put(np.array([0]), queue))
    with pytest.raises(ValueError, match="sorter"):
        usmpy.searchsorted(row, row, sorter=row)
    with pytest.raises(TypeError, match="x2"):
        usmpy.searchsorted(row, [1.0])
    with pytest.raises(TypeError, match="x1"):
        usmpy.searchsorted(3.0, row)
    with pytest.raises(TypeError, match="complex"):
        usmpy.searchsorted(row, usmpy.zeros(2, dtype="complex64", queue=queue))


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


def test_what_sets_refuse(queue):
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
