"""Comparisons, functions of truth values and of what numbers are, element by element, against NumPy."""

import operator

import hypothesis
import hypothesis.strategies as st
import layouts
import numpy as np
import pytest
from dtypes import DTYPES
from hypothesis.extra import numpy as hnp

import usmpy

SIGNS = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le"}
SIGNS |= {"greater": "gt", "greater_equal": "ge"}

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
def test_kinds_of_numbers(put, dtype):
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_kinds_that_differ_are_promoted(put, dtype):
    a = np.array([0, 1, 2, 1, 0], dtype)
    for other in DTYPES:
        b = np.array([0, 2, 1, 1, 1], other)
        for name in ("equal", "not_equal"):
            agree(getattr(usmpy, name)(put(a), put(b)), getattr(np, name)(a, b))
        for name in ("less", "greater_equal") if "complex" not in dtype + other else ():
            agree(getattr(usmpy, name)(put(a), put(b)), getattr(np, name)(a, b))
        for name in ("logical_and", "logical_or", "logical_xor"):
            agree(getattr(usmpy, name)(put(a), put(b)), getattr(np, name)(a, b))
    agree(usmpy.logical_not(put(a)), np.logical_not(a))
    agree(usmpy.logical_and(put(a), 1), np.logical_and(a, 1))


@pytest.mark.parametrize("name", SIGNS)
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_unsigned_beside_signed_integers_by_value(put, name, dtype):
    """No integer type holds both, and float64 not all of either."""
    unsigned = np.array([0, 1, 5, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 5], "uint64")
    info = np.iinfo(dtype)
    signed = np.array([0, 1, 5, -1, -5, info.min, info.max], dtype)
    a, b = unsigned[:, None], signed
    expected = np.array([[getattr(operator, SIGNS[name])(int(n), int(m)) for m in signed] for n in unsigned])
    agree(getattr(usmpy, name)(put(a), put(b)), expected)
    mirrored = np.array([[getattr(operator, SIGNS[name])(int(m), int(n)) for n in unsigned] for m in signed])
    agree(getattr(usmpy, name)(put(signed[:, None]), put(unsigned)), mirrored)
    out = put(np.zeros((7, 7), bool))
    assert getattr(usmpy, name)(put(a), put(b), out=out) is out
    agree(out, expected)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_bool_and_integers_are_finite(put, name):
    for dtype in ("bool", "int8", "uint64"):
        a = np.array([[0, 1]], dtype)
        agree(getattr(usmpy, name)(put(a)), getattr(np, name)(a))


def test_out_of_another_form_or_place(put, queue):
    """In every way that a result is computed."""
    x = put(np.array([1, 2, 3], "int8"))
    calls = [
        lambda out: usmpy.equal(x, x, out=out),
        lambda out: usmpy.less(1, x, out=out),
        lambda out: usmpy.equal(x, 300, out=out),
        lambda out: usmpy.less(x.astype("uint64"), x, out=out),
        lambda out: usmpy.logical_and(x, True, out=out),
        lambda out: usmpy.isnan(x, out=out),
    ]
    elsewhere = usmpy.zeros(3, dtype="bool", queue=usmpy.Queue(queue.device))
    for call in calls:
        with pytest.raises(ValueError, match=r"^\w+\(\): out has shape \(2,\); \(3,\) is needed"):
            call(put(np.zeros(2, bool)))
        with pytest.raises(TypeError, match=r"^\w+\(\): out has dtype int8; bool is needed"):
            call(put(np.zeros(3, "int8")))
        with pytest.raises(
            usmpy.ExecutionPlacementError, match=r"x\d?: shape \(3,\).*\n +out: shape"
        ) as caught:
            call(elsewhere)
        assert "out = out.to_device(x" in str(caught.value)
        with pytest.raises(TypeError, match=r"^\w+\(\): out is a list; a USMArray is allowed"):
            call([False] * 3)


def test_out_and_order(put, queue):
    a, b = np.arange(12).reshape(3, 4), np.arange(12)[::-1].reshape(3, 4)
    x, y = put(a), put(b)
    out = usmpy.zeros((6, 8), dtype=bool, queue=queue)
    for kind, view, seen in layouts.pairs(
        np.zeros((3, 4), bool), usmpy, put, ["C", "F", "reversed", "strided"]
    ):
        assert usmpy.less(x, y, out=view) is view
        agree(view, a < b)
        assert usmpy.logical_not(x, out=view) is view
        agree(view, a == 0)
        assert usmpy.isfinite(x.astype("float32"), out=view) is view
        assert view.all()
        assert seen.shape == view.shape, kind
    assert usmpy.equal(x, 2**70, out=out[::2, ::2]).any().item() is False
    for order, flag in (("C", "C"), ("F", "F"), ("A", "C"), ("K", "C")):
        assert usmpy.less(x, y, order=order).flags[flag]
    assert usmpy.less(x.T, y.T).flags["F"]
    m = put([True, True, False, False])
    assert usmpy.logical_xor(m[:2], m[2:], out=m[1:3]).tolist() == [True, True]
    assert m.tolist() == [True, True, True, False]
    for wrong, error, match in [
        (usmpy.zeros((3, 4), queue=queue), TypeError, "out has dtype float64; bool is needed"),
        (
            usmpy.zeros((3, 3), dtype=bool, queue=queue),
            ValueError,
            r"out has shape \(3, 3\); \(3, 4\) is needed",
        ),
        (np.zeros((3, 4), bool), TypeError, "out is a numpy.ndarray"),
        (usmpy.broadcast_to(m, (3, 4)), ValueError, "read-only"),
    ]:
        with pytest.raises(error, match=match):
            usmpy.less(x, y, out=wrong)
    with pytest.raises(usmpy.ExecutionPlacementError, match="out"):
        usmpy.less(x, y, out=usmpy.zeros((3, 4), dtype=bool, queue=usmpy.Queue(queue.device)))
    with pytest.raises(ValueError, match="order is 'Z'"):
        usmpy.less(x, y, order="Z")


def test_operators_of_bool(put):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    x, y = put(a), put(b)
    agree(x & y, a & b)
    agree(x | y, a | b)
    agree(x ^ y, a ^ b)
    agree(~x, ~a)
    agree(x & True, a)
    agree(True ^ x, ~a)
    same = x
    x &= y
    x |= put([True, False, False, False])
    x ^= True
    assert x is same
    agree(x, [False, True, True, False])
    with pytest.raises(ValueError, match="read-only"):
        operator.iand(usmpy.broadcast_to(x[:1], (4,)), y)


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


def test_operands_that_cannot_be_compared(put):
    x = put([1, 2])
    for other in (None, "text", object(), {}, {1, 2}, int, Ellipsis):
        assert (x == other) is False
        assert (x != other) is True
        with pytest.raises(TypeError):
            x < other  # noqa: B015


@pytest.mark.parametrize(
    "other", [[1, 2], (1, 2), range(2), np.array([1, 2]), bytearray(2), [[1], [2]]], ids=repr
)
def test_comparison_with_foreign_arrays_raises(put, other):
    x = put([1, 2])
    for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
        for a, b in ((x, other), (other, x))[
            : 1 if isinstance(other, bytearray) else 2
        ]:  # it compares buffers
            with pytest.raises(TypeError, match=r"asarray\(other, device=x.device\)|numpy\.from_dlpack"):
                compare(a, b)
    assert (x == usmpy.asarray(other, device=x.device)).shape[-1] == 2


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_ints_that_the_type_does_not_hold_are_compared_by_value(put, dtype):
    info = np.iinfo(dtype)
    values = np.array([[0, 1, info.max], [info.min, 5, 7]], dtype)
    for kind, x, n in layouts.pairs(values, usmpy, put):
        for number in (int(info.min) - 1, int(info.max) + 1, 2**70, -(2**70)):
            for compare in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
                for ours, theirs in (
                    (compare(x, number), compare(n.astype(object), number)),
                    (compare(number, x), compare(number, n.astype(object))),
                ):
                    agree(ours, theirs.astype(bool)), kind


def test_bad_input(put, queue):
    x = put(np.float32([1, 2, 3]))
    with pytest.raises(ValueError, match=r"less\(\): shapes \(3,\) and \(2,\) do not broadcast"):
        usmpy.less(x, put(np.float32([1, 2])))
    with pytest.raises(TypeError, match="have no order"):
        put(np.complex64([1, 2])) < 3  # noqa: B015
    with pytest.raises(TypeError, match="at least one argument"):
        usmpy.equal(1, 2)
    with pytest.raises(TypeError, match="x1 is a list"):
        usmpy.equal([1], x)
    with pytest.raises(TypeError, match="only stored"):
        usmpy._core._reinterpret(put(np.uint8([1])), usmpy.float8_e5m2) == 1  # noqa: B015
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"x2 = x2\.to_device\(x1\.queue\)"):
        x == usmpy.ones(3, dtype="float32", queue=usmpy.Queue(queue.device))  # noqa: B015


def test_memory_that_is_not_aligned():
    raw = np.arange(41, dtype=np.uint8)
    values = raw[1:].view(np.float32)
    x = usmpy.from_dlpack(values)
    assert x.data_ptr % 4 == 1
    agree(x == values[3].item(), values == values[3])
    agree(usmpy.isfinite(x), np.isfinite(values))


def drawn(data, values):
    return layouts.both(data.draw, values, usmpy, lambda base: usmpy.asarray(base, copy=True))


@hypothesis.given(data=st.data())
@hypothesis.settings(deadline=None, max_examples=60)
def test_random_arrays_on_the_host(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=5, max_side=4))
    (x, a), (y, b) = (drawn(data, data.draw(hnp.arrays(dtype, shape))) for shape in shapes.input_shapes)
    compare = data.draw(st.sampled_from(ordered(dtype)))
    agree(compare(x, y), compare(a, b))
