"""Values of the elementwise operations that C, OpenCL C and CUDA leave open."""

import ml_dtypes
import numpy as np
import pytest

import usmpy
from usmpy import _core

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIGNED = INTEGERS[:4]
HALVES = ["float16", "bfloat16"]
REALS = ["float16", "float32", "float64"]
INF, NAN = np.inf, np.nan
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def call(name, queue, *arguments):
    return getattr(_core, name)(*[usmpy.asarray(x, queue=queue, copy=True) for x in arguments]).asnumpy()


def supports(queue, dtype):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")


def same(result, wanted):
    """Equal with the signs of zeros."""
    np.testing.assert_array_equal(result, wanted)
    clear = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result[clear]), np.signbit(wanted[clear]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_by_zero_gives_zero(dtype, queue):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1], dtype)
    for name in ("floor_divide", "remainder"):
        assert call(name, queue, x, np.zeros(4, dtype)).tolist() == [0] * 4


@pytest.mark.parametrize("dtype", SIGNED)
def test_the_smallest_number_divided_by_minus_one(dtype, queue):
    least = np.iinfo(dtype).min
    x, y = np.array([least, least + 1, 5], dtype), np.full(3, -1, dtype)
    assert call("floor_divide", queue, x, y).tolist() == [least, -(least + 1), -5]
    assert call("remainder", queue, x, y).tolist() == [0, 0, 0]
    assert call("negative", queue, x)[0] == call("abs", queue, x)[0] == least


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_the_width_and_more(dtype, queue):
    info = np.iinfo(dtype)
    by = np.array([0, info.bits - 1, info.bits, info.bits + 1, info.max], dtype)
    for x in (info.max, info.min, 1):
        values = np.full(by.size, x, dtype)
        left, right = (
            call("bitwise_left_shift", queue, values, by),
            call("bitwise_right_shift", queue, values, by),
        )
        assert left[2:].tolist() == [0, 0, 0]
        assert right[2:].tolist() == [-1 if x < 0 else 0] * 3
        np.testing.assert_array_equal(left[:2], np.left_shift(values[:2], by[:2]))
        np.testing.assert_array_equal(right[:2], np.right_shift(values[:2], by[:2]))


@pytest.mark.parametrize("dtype", SIGNED)
def test_a_negative_shift_is_a_shift_by_more_than_the_width(dtype, queue):
    x, by = np.array([5, -5], dtype), np.array([-1, -3], dtype)
    assert call("bitwise_left_shift", queue, x, by).tolist() == [0, 0]
    assert call("bitwise_right_shift", queue, x, by).tolist() == [0, -1]


@pytest.mark.parametrize("dtype", REALS)
def test_quotients_and_remainders_of_zeros_and_infinities(dtype, queue):
    supports(queue, dtype)
    values = np.array([0.0, -0.0, 1, -1, 3, -3, 0.1, INF, -INF, NAN], dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    same(call("remainder", queue, x, y), np.remainder(x, y))
    # The standard prefers floor(x / y) where an operand is infinite; NumPy's results there are NaN and -1.
    finite = np.isfinite(x) & np.isfinite(y)
    wanted = np.where(finite, np.floor_divide(x, y), np.floor(x / y))
    same(call("floor_divide", queue, x, y), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap(dtype, queue):
    x = np.array([0, 0, 1, 2, 3, 7, 10, np.iinfo(dtype).min], dtype)
    y = np.array([0, 1, 100, np.iinfo(dtype).bits - 1, 5, 3, 2, 3], dtype)
    np.testing.assert_array_equal(call("pow", queue, x, y), np.power(x, y))


@pytest.mark.parametrize("dtype", SIGNED)
def test_negative_powers_of_integers_are_cut_to_whole_numbers(dtype, queue):
    """NumPy raises ValueError: that needs the elements, which a device may not have computed yet."""
    x = np.array([1, -1, -1, 2, -2, 0, 100], dtype)
    y = np.array([-5, -5, -4, -1, -3, -1, -2], dtype)
    assert call("pow", queue, x, y).tolist() == [1, -1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", REALS)
def test_powers_of_annex_f(dtype, queue):
    supports(queue, dtype)
    values = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, INF, -INF, NAN], dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    result, wanted = call("pow", queue, x, y), np.power(x, y)
    np.testing.assert_allclose(result, wanted, rtol=16 * np.finfo(dtype).eps)
    clear = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result[clear]), np.signbit(wanted[clear]))


@pytest.mark.parametrize("dtype", REALS)
def test_a_nan_is_the_largest_and_the_smallest(dtype, queue):
    supports(queue, dtype)
    values = np.array([0.0, -0.0, 1, -1, INF, -INF, NAN], dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    for name in ("maximum", "minimum"):
        np.testing.assert_array_equal(call(name, queue, x, y), getattr(np, name)(x, y))
    for length in (1, 7, 40, 3000):
        for at in {0, length // 2, length - 1}:
            z = np.arange(length).astype(dtype)
            z[at] = NAN
            assert np.isnan(call("max", queue, z)).all()
            assert np.isnan(call("min", queue, z)).all()


@pytest.mark.parametrize("dtype", REALS)
def test_half_way_goes_to_the_even_number(dtype, queue):
    supports(queue, dtype)
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49, -0.49, 1023.5, -0.0, INF, NAN], dtype)
    for name, own in (("round", np.rint), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc)):
        same(call(name, queue, x), own(x))


def half(dtype):
    return np.dtype(dtype if dtype == "float16" else ml_dtypes.bfloat16)


def all_halves(dtype):
    return np.arange(65536, dtype="uint16").view(half(dtype))


def halves(name, queue, dtype, *arguments):
    """The bits as they are: NumPy's DLPack has no name for bfloat16."""
    bits = [usmpy.asarray(x.view("uint16"), queue=queue, copy=True) for x in arguments]
    result = getattr(_core, name)(*[_core._reinterpret(x, dtype) for x in bits])
    return _core._reinterpret(result, "uint16").asnumpy().view(half(dtype))


@pytest.mark.parametrize("dtype", HALVES)
def test_the_next_number_of_the_half_types(dtype, queue):
    x = all_halves(dtype)
    for toward in (INF, -INF, 0.0, -0.0, 1.0, NAN):
        y = np.full(x.size, toward, half(dtype))
        result = halves("nextafter", queue, dtype, x, y)
        wanted = np.nextafter(x, y)
        moved = x != y  # NumPy's nextafter(-0.0, 0.0) is -0.0 in float16, and C's is 0.0
        same(result[moved].astype("f4"), wanted[moved].astype("f4"))
        np.testing.assert_array_equal(result[~moved].astype("f4"), y[~moved].astype("f4"))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["sqrt", "square", "reciprocal", "negative", "abs", "round", "floor"])
def test_half_types_are_rounded_once_from_float32(name, dtype, queue):
    x = all_halves(dtype)
    own = {"round": np.rint}.get(name) or getattr(np, name)
    result, wanted = halves(name, queue, dtype, x), own(x.astype("f4")).astype(half(dtype))
    same(result.astype("f4"), wanted.astype("f4"))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "remainder", "maximum"])
def test_two_half_numbers_are_rounded_once_from_float32(name, dtype, queue):
    rng = np.random.default_rng(2)
    x, y = (rng.integers(0, 65536, 20000).astype("uint16").view(half(dtype)) for _ in range(2))
    result = halves(name, queue, dtype, x, y)
    wanted = getattr(np, name)(x.astype("f4"), y.astype("f4")).astype(half(dtype))
    np.testing.assert_array_equal(result.astype("f4"), wanted.astype("f4"))


def test_sums_of_halves_do_not_stop_at_2048(queue):
    assert call("sum", queue, np.ones(5000, "float16")) == 5000
    assert call("sum", queue, np.full(60000, 1, "float16")) == 60000


@pytest.mark.parametrize("dtype", REALS)
def test_sums_of_exponentials(dtype, queue):
    supports(queue, dtype)
    large = np.finfo(dtype).max
    x = np.array([INF, INF, -INF, -INF, NAN, 1, 0, large, -large, 3, -INF], dtype)
    y = np.array([INF, -INF, -INF, 5, 1, NAN, 0, large, -large, 3, NAN], dtype)
    result, wanted = call("logaddexp", queue, x, y), np.logaddexp(x, y)
    np.testing.assert_allclose(result, wanted, rtol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(result, call("logaddexp", queue, y, x))
