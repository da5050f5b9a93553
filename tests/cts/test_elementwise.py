"""Elementwise operations: values that C leaves open, no and many dimensions, memory of outputs."""

import operator

import ml_dtypes
import numpy as np
import pytest

import usmpy
from usmpy import _core

SMALL = np.arange(24, dtype="float32").reshape(2, 3, 4)


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def same(ours, theirs):
    theirs = np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours.asnumpy(), theirs)


@pytest.mark.parametrize("ndim", [10, 31, 64])
def test_many_dimensions(ndim, queue):
    """Those of SMALL are the first, the middle and the last one; all others have one element."""
    shape, axes = [1] * ndim, (0, ndim // 2, ndim - 1)
    for axis, length in zip(axes, SMALL.shape, strict=True):
        shape[axis] = length
    x = usmpy.reshape(put(SMALL, queue), tuple(shape))
    turned = tuple(reversed(range(ndim)))

    def check(result, wanted):
        same(usmpy.reshape(result, wanted.shape), wanted)

    row = put(SMALL[1, 2], queue)
    check(x + row, SMALL + SMALL[1, 2])
    y = usmpy.permute_dims(x, turned)
    check(usmpy.permute_dims(y * y, turned), SMALL * SMALL)
    check(usmpy.where(x > 3, x, -x), np.where(SMALL > 3, SMALL, -SMALL))
    check(usmpy.clip(x, 2, 7), np.clip(SMALL, 2, 7))
    for k, axis in enumerate(axes):
        for name in ("sum", "max", "argmin", "all", "count_nonzero"):
            check(getattr(usmpy, name)(y, axis=ndim - 1 - axis), getattr(np, name)(SMALL.T, axis=2 - k))
        check(usmpy.sort(x, axis=axis, descending=True), np.flip(SMALL, k))
        check(usmpy.argsort(x, axis=axis, descending=True), np.argsort(-SMALL, k))
        check(usmpy.cumulative_sum(x, axis=axis), np.cumsum(SMALL, k))
        check(usmpy.diff(x, axis=axis), np.diff(SMALL, axis=k))
    check(usmpy.sum(x, axis=tuple(range(1, ndim))), SMALL.sum((1, 2)))
    check(usmpy.vecdot(x, x), (SMALL * SMALL).sum(-1))
    check(usmpy.matmul(x, x.mT), (SMALL[:, :, None] @ SMALL[..., None]))
    check(usmpy.isin(x, row), np.isin(SMALL, SMALL[1, 2]))
    same(usmpy.unique_values(x), SMALL.reshape(-1))
    if ndim == 64:
        with pytest.raises(ValueError, match=r"tensordot\(\): the result has more than 64 dimensions"):
            usmpy.tensordot(x, x, axes=0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
def test_no_dimensions(dtype, queue):
    one = np.array(1, dtype)
    x = put(one, queue)
    ordered = dtype != "complex64"
    for name in ("sum", "prod", "all", "any", "count_nonzero", "max", "min", "argmax", "argmin"):
        if name in ("max", "min") and (not ordered or dtype == "bool"):
            continue
        if name.startswith("arg") and not ordered:
            continue
        function, numpys = getattr(usmpy, name), getattr(np, name)
        same(function(x), numpys(one))
        same(function(x, keepdims=True), numpys(one, keepdims=True))
        if not name.startswith("arg"):
            same(function(x, axis=()), numpys(one, axis=()))
        with pytest.raises(usmpy.AxisError):
            function(x, axis=0)
    for name in ("sort", "argsort", "cumulative_sum", "cumulative_prod", "diff"):
        if ordered or "sort" not in name:
            with pytest.raises(ValueError, match=r"dimension"):
                getattr(usmpy, name)(x)
    found = usmpy.unique_all(x)
    same(found.values, one.reshape(1))
    assert found.inverse_indices.shape == ()
    same(usmpy.isin(x, x), True)
    same(usmpy.isin(x, x[None][:0]), False)
    if ordered:
        same(usmpy.searchsorted(put(np.array([0, 1, 1], dtype), queue), x), np.int64(1))
    for function in (usmpy.matmul, usmpy.vecdot):
        with pytest.raises((ValueError, TypeError), match=r"0 dimensions|bool"):
            function(x, x)
    if dtype != "bool":
        same(usmpy.tensordot(x, x, axes=0), one)
        x += x
        same(x, one + one)


IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.ior, operator.ilshift]


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda function: function.__name__)
@pytest.mark.parametrize("length", [5, 1030])
def test_in_place_with_a_part_of_the_same_array_that_broadcasts(function, length, queue):
    n = np.arange(3 * length, dtype="int32").reshape(3, length) % 7 + 1
    parts = [
        np.s_[0],
        np.s_[2:],
        np.s_[:, :1],
        np.s_[:, -1:],
        np.s_[1, 1],
        np.s_[1:2, ::-1],
        np.s_[::-1, 2:3],
    ]
    for key in parts:
        for view in (np.s_[:, :], np.s_[::-1], np.s_[:, ::-1], np.s_[:, :]):
            theirs, ours = n.copy(), put(n, queue)
            expected = function(theirs[view].copy(), theirs[key].copy())
            own = ours[view]
            assert function(own, ours[key]) is own
            theirs[view] = expected
            np.testing.assert_array_equal(ours.asnumpy(), theirs, f"{key} {view}")


def test_outputs_in_any_view_of_the_memory_of_their_operands(queue):
    """Random views of one block: with steps, reversed, turned, of some axes repeated."""
    rng = np.random.default_rng(5)
    n = rng.integers(-20, 20, 750).astype("int16")

    def view(shape):
        lengths = [int(length * rng.integers(1, 3) + rng.integers(0, 2)) for length in shape]
        start = int(rng.integers(0, 750 - np.prod(lengths) + 1))
        keys = []
        for length, room in zip(shape, lengths, strict=True):
            step = int(rng.integers(1, 3)) if room >= 2 * length else 1
            first = int(rng.integers(0, room - (length - 1) * step))
            keys.append(slice(first, first + (length - 1) * step + 1, step))
        turned = [bool(turn) for turn in rng.integers(0, 2, len(shape))]

        def make(memory):
            block = memory[start : start + int(np.prod(lengths))].reshape(tuple(lengths))[tuple(keys)]
            return block[tuple(slice(None, None, -1 if turn else 1) for turn in turned)]

        return make

    for _ in range(60):
        shape = tuple(int(length) for length in rng.integers(1, 5, rng.integers(1, 4)))
        makers = [view(shape), view(shape), view(tuple(1 if rng.random() < 0.3 else k for k in shape))]
        name = ["add", "subtract", "multiply", "maximum", "bitwise_xor"][rng.integers(5)]
        theirs, ours = n.copy(), put(n, queue)
        out, x, y = (make(theirs) for make in makers)
        expected = getattr(np, name)(x, y)
        out[...] = expected
        out, x, y = (make(ours) for make in makers)
        assert getattr(usmpy, name)(x, y, out=out) is out
        np.testing.assert_array_equal(ours.asnumpy(), theirs)


INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIGNED = INTEGERS[:4]
HALVES = ["float16", "bfloat16"]
REALS = ["float16", "float32", "float64"]
INF, NAN = np.inf, np.nan


def call(name, queue, *arguments):
    return getattr(_core, name)(*[usmpy.asarray(x, queue=queue, copy=True) for x in arguments]).asnumpy()


def supports(queue, dtype):
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")


def same_with_signs(result, wanted):
    """Equal with the signs of zeros."""
    np.testing.assert_array_equal(result, wanted)
    clear = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result[clear]), np.signbit(wanted[clear]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_by_zero_gives_zero(dtype, queue):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1], dtype)
    for name in ("floor_divide", "remainder"):
        assert call(name, queue, x, np.zeros(4, dtype)).tolist() == [0] * 4


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", SIGNED)
def test_the_smallest_number_divided_by_minus_one(dtype, queue):
    least = np.iinfo(dtype).min
    x, y = np.array([least, least + 1, 5], dtype), np.full(3, -1, dtype)
    assert call("floor_divide", queue, x, y).tolist() == [least, -(least + 1), -5]
    assert call("remainder", queue, x, y).tolist() == [0, 0, 0]
    assert call("negative", queue, x)[0] == call("abs", queue, x)[0] == least


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", SIGNED)
def test_a_negative_shift_is_a_shift_by_more_than_the_width(dtype, queue):
    x, by = np.array([5, -5], dtype), np.array([-1, -3], dtype)
    assert call("bitwise_left_shift", queue, x, by).tolist() == [0, 0]
    assert call("bitwise_right_shift", queue, x, by).tolist() == [0, -1]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS)
def test_quotients_and_remainders_of_zeros_and_infinities(dtype, queue):
    supports(queue, dtype)
    values = np.array([0.0, -0.0, 1, -1, 3, -3, 0.1, INF, -INF, NAN], dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    same_with_signs(call("remainder", queue, x, y), np.remainder(x, y))
    # The standard prefers floor(x / y) where an operand is infinite; NumPy's results there are NaN and -1.
    finite = np.isfinite(x) & np.isfinite(y)
    wanted = np.where(finite, np.floor_divide(x, y), np.floor(x / y))
    same_with_signs(call("floor_divide", queue, x, y), wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap(dtype, queue):
    x = np.array([0, 0, 1, 2, 3, 7, 10, np.iinfo(dtype).min], dtype)
    y = np.array([0, 1, 100, np.iinfo(dtype).bits - 1, 5, 3, 2, 3], dtype)
    np.testing.assert_array_equal(call("pow", queue, x, y), np.power(x, y))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", SIGNED)
def test_negative_powers_of_integers_are_cut_to_whole_numbers(dtype, queue):
    """NumPy raises ValueError: that needs the elements, which a device may not have computed yet."""
    x = np.array([1, -1, -1, 2, -2, 0, 100], dtype)
    y = np.array([-5, -5, -4, -1, -3, -1, -2], dtype)
    assert call("pow", queue, x, y).tolist() == [1, -1, 1, 0, 0, 0, 0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS)
def test_powers_of_annex_f(dtype, queue):
    supports(queue, dtype)
    values = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, INF, -INF, NAN], dtype)
    x, y = np.repeat(values, values.size), np.tile(values, values.size)
    result, wanted = call("pow", queue, x, y), np.power(x, y)
    np.testing.assert_allclose(result, wanted, rtol=16 * np.finfo(dtype).eps)
    clear = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(result[clear]), np.signbit(wanted[clear]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS)
def test_half_way_goes_to_the_even_number(dtype, queue):
    supports(queue, dtype)
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49, -0.49, 1023.5, -0.0, INF, NAN], dtype)
    for name, own in (("round", np.rint), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc)):
        same_with_signs(call(name, queue, x), own(x))


def half(dtype):
    return np.dtype(dtype if dtype == "float16" else ml_dtypes.bfloat16)


def all_halves(dtype):
    return np.arange(65536, dtype="uint16").view(half(dtype))


def halves(name, queue, dtype, *arguments):
    """The bits as they are: NumPy's DLPack has no name for bfloat16."""
    bits = [usmpy.asarray(x.view("uint16"), queue=queue, copy=True) for x in arguments]
    result = getattr(_core, name)(*[_core._reinterpret(x, dtype) for x in bits])
    return _core._reinterpret(result, "uint16").asnumpy().view(half(dtype))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", HALVES)
def test_the_next_number_of_the_half_types(dtype, queue):
    x = all_halves(dtype)
    for toward in (INF, -INF, 0.0, -0.0, 1.0, NAN):
        y = np.full(x.size, toward, half(dtype))
        result = halves("nextafter", queue, dtype, x, y)
        wanted = np.nextafter(x, y)
        moved = x != y  # NumPy's nextafter(-0.0, 0.0) is -0.0 in float16, and C's is 0.0
        same_with_signs(result[moved].astype("f4"), wanted[moved].astype("f4"))
        np.testing.assert_array_equal(result[~moved].astype("f4"), y[~moved].astype("f4"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["sqrt", "square", "reciprocal", "negative", "abs", "round", "floor"])
def test_half_types_are_rounded_once_from_float32(name, dtype, queue):
    x = all_halves(dtype)
    own = {"round": np.rint}.get(name) or getattr(np, name)
    result, wanted = halves(name, queue, dtype, x), own(x.astype("f4")).astype(half(dtype))
    same_with_signs(result.astype("f4"), wanted.astype("f4"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "remainder", "maximum"])
def test_two_half_numbers_are_rounded_once_from_float32(name, dtype, queue):
    rng = np.random.default_rng(2)
    x, y = (rng.integers(0, 65536, 20000).astype("uint16").view(half(dtype)) for _ in range(2))
    result = halves(name, queue, dtype, x, y)
    wanted = getattr(np, name)(x.astype("f4"), y.astype("f4")).astype(half(dtype))
    np.testing.assert_array_equal(result.astype("f4"), wanted.astype("f4"))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_of_halves_do_not_stop_at_2048(queue):
    assert call("sum", queue, np.ones(5000, "float16")) == 5000
    assert call("sum", queue, np.full(60000, 1, "float16")) == 60000


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", REALS)
def test_sums_of_exponentials(dtype, queue):
    supports(queue, dtype)
    large = np.finfo(dtype).max
    x = np.array([INF, INF, -INF, -INF, NAN, 1, 0, large, -large, 3, -INF], dtype)
    y = np.array([INF, -INF, -INF, 5, 1, NAN, 0, large, -large, 3, NAN], dtype)
    result, wanted = call("logaddexp", queue, x, y), np.logaddexp(x, y)
    np.testing.assert_allclose(result, wanted, rtol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(result, call("logaddexp", queue, y, x))
