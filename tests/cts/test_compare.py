"""Comparisons, functions of truth values and of what numbers are, element by element, against NumPy."""

import operator

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from dtypes import DTYPES
from hypothesis.extra import numpy as hnp

import usmpy

OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
FUNCTIONS = {
    operator.eq: usmpy.equal,
    operator.ne: usmpy.not_equal,
    operator.lt: usmpy.less,
    operator.le: usmpy.less_equal,
    operator.gt: usmpy.greater,
    operator.ge: usmpy.greater_equal,
}


def special(dtype):
    """Every pair of these says something: signs, zeros, infinities, NaN, subnormals, extremes."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], dtype)
    if kind == "c":
        parts = np.array([0.0, -0.0, 1.5, np.nan, np.inf])
        values = np.empty((5, 5), dtype)
        values.real, values.imag = parts[:, None], parts
        return values.ravel()
    info = np.finfo(dtype)
    values = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -1.5, info.max, info.min, info.smallest_subnormal]
    return np.array([*values, -info.smallest_subnormal, info.tiny], dtype)


def ordered(dtype):
    return OPERATORS[:2] if np.dtype(dtype).kind == "c" else OPERATORS


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def agree(result, expected):
    assert result.dtype == usmpy.bool
    np.testing.assert_array_equal(result.asnumpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pair_of_special_values(put, dtype):
    values = special(dtype)
    column, row = values[:, None].repeat(len(values), 1), values[None].repeat(len(values), 0)
    a, b, x = put(column), put(row), put(values)
    for compare in ordered(dtype):
        expected = compare(values[:, None], values[None])
        agree(compare(a, b), expected)
        agree(compare(a, x), expected)  # broadcast
        agree(FUNCTIONS[compare](b[::-1, ::2], a[::-1, ::2]), compare(row, column)[::-1, ::2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_follow_the_array_on_either_side(put, dtype):
    values = special(dtype)
    x, number = put(values), values[1].item()
    for compare in ordered(dtype):
        agree(compare(x, number), compare(values, values[1]))
        agree(compare(number, x), compare(values[1], values))
        agree(FUNCTIONS[compare](number, x), compare(values[1], values))


def test_bfloat16_is_compared_by_value(put):
    values = np.array([0.0, -0.0, np.nan, 1.0, -2.0, np.inf], np.float32)
    x = put(values).astype(usmpy.bfloat16)
    for compare in OPERATORS:
        agree(compare(x, put(values[::-1]).astype(usmpy.bfloat16)), compare(values, values[::-1]))
        agree(compare(x, put(values[::-1])), compare(values, values[::-1]))  # promoted to float32
    agree(usmpy.isnan(x), np.isnan(values))
    agree(usmpy.isfinite(x), np.isfinite(values))


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
def test_what_numbers_are(put, dtype):
    values = special(dtype)
    x = put(values)
    agree(usmpy.isnan(x), np.isnan(values))
    agree(usmpy.isinf(x[::-2]), np.isinf(values[::-2]))
    agree(usmpy.isfinite(x), np.isfinite(values))


def test_functions_of_truth_values(put):
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for name in ("logical_and", "logical_or", "logical_xor"):
        for x, y in ((a, b), (np.repeat(a, 500), np.repeat(b, 500)), (a[::-2], b[::-2]), (a[:, None], b)):
            agree(getattr(usmpy, name)(put(x), put(y)), getattr(np, name)(x, y))
        agree(getattr(usmpy, name)(put(a), True), getattr(np, name)(a, True))
    agree(usmpy.logical_not(put(a)), ~a)


def test_any_byte_but_0_is_true(put):
    odd = usmpy._core._reinterpret(put(np.array([0, 1, 2, 255], np.uint8)), usmpy.bool)
    agree(odd == put(np.array([0, 1, 1, 1], bool)), [True] * 4)
    agree(usmpy.logical_not(odd), [True, False, False, False])


def test_types_that_differ_are_promoted(put):
    agree(put(np.array([1, 200], np.uint8)) > put(np.array([-1, 300], np.int16)), [True, False])
    agree(put(np.float32([0.1, 0.5])) == put(np.float64([0.1, 0.5])), [False, True])
    agree(put(np.complex64([1, 2j])) != put(np.float32([1, 2])), [False, True])


def test_layouts_of_many_axes_and_none(put):
    wide = np.arange(2**10).reshape((2,) * 10)
    x = put(wide)
    mixed = usmpy.permute_dims(x, (9, 0, 8, 1, 7, 2, 6, 3, 5, 4))
    agree(x <= mixed, wide <= wide.transpose(9, 0, 8, 1, 7, 2, 6, 3, 5, 4))
    agree(put(np.float32(3)) > 2, True)
    assert (put(np.ones((0, 3))) == 1).shape == (0, 3)
    assert (x == usmpy.zeros((1,) * 12, dtype="int64", queue=x.queue)).shape == (1, 1, *wide.shape)


def test_large_arrays(put):
    a = np.arange(200_001, dtype=np.int32) % 1000
    agree(put(a) < 500, a < 500)
    agree(put(a) == put(a[::-1].copy()), a == a[::-1])


def test_the_result_is_on_the_common_queue_in_the_widest_kind(queue):
    x = usmpy.zeros(3, queue=queue)
    result = x == usmpy.ones(3, queue=queue, usm_type="host" if queue.device.has_usm_host else "device")
    assert result.device == x.device
    assert result.usm_type == ("host" if queue.device.has_usm_host else "device")


def test_what_no_array_can_be_compared_with(put):
    x = put([1, 2])
    for other in (None, "text", object(), {}):
        assert (x == other) is False
        assert (x != other) is True
        with pytest.raises(TypeError):
            x < other  # noqa: B015


def test_bad_input(put, queue):
    x = put(np.float32([1, 2, 3]))
    with pytest.raises(ValueError, match=r"less\(\): shapes \(3,\) and \(2,\) do not broadcast"):
        usmpy.less(x, put(np.float32([1, 2])))
    with pytest.raises(TypeError, match=r"x2 has dtype int32.*no common type"):
        usmpy.equal(x, put(np.int32([1, 2, 3])))
    with pytest.raises(TypeError, match="have no order"):
        put(np.complex64([1, 2])) < 3  # noqa: B015
    with pytest.raises(TypeError, match="without losing its kind"):
        put(np.int8([1])) == 1.5  # noqa: B015
    with pytest.raises(OverflowError):
        put(np.int8([1])) == 1000  # noqa: B015
    with pytest.raises(TypeError, match="one argument at least"):
        usmpy.equal(1, 2)
    with pytest.raises(TypeError, match="x1 is a list"):
        usmpy.equal([1], x)
    with pytest.raises(TypeError, match="bool is allowed"):
        usmpy.logical_and(x, x)
    with pytest.raises(TypeError, match="numeric"):
        usmpy.isnan(x == 1)
    with pytest.raises(TypeError, match="only stored"):
        usmpy._core._reinterpret(put(np.uint8([1])), usmpy.float8_e5m2) == 1  # noqa: B015
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"x2 = x2\.to_device\(x1\.queue\)"):
        x == usmpy.ones(3, dtype="float32", queue=usmpy.Queue(queue.device))  # noqa: B015


def test_memory_that_is_not_aligned():
    raw = np.arange(41, dtype=np.uint8)
    values = raw[1:].view(np.float32)
    x = usmpy.asarray(values)
    assert x.data_ptr % 4 == 1
    agree(x == values[3].item(), values == values[3])
    agree(usmpy.isfinite(x), np.isfinite(values))


@hypothesis.given(data=st.data())
@hypothesis.settings(deadline=None, max_examples=60)
def test_random_arrays_on_the_host(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=5, max_side=4))
    a, b = (data.draw(hnp.arrays(dtype, shape)) for shape in shapes.input_shapes)
    compare = data.draw(st.sampled_from(ordered(dtype)))
    step = data.draw(st.sampled_from([1, -1, 2]))
    x, y = usmpy.asarray(a, copy=True), usmpy.asarray(b, copy=True)
    if a.ndim > 0:
        x, a = x[..., ::step], a[..., ::step]
    if b.ndim > 0:
        y, b = y[..., ::step], b[..., ::step]
    agree(compare(x, y), compare(a, b))
