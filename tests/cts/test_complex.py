"""Complex numbers: the same bits on every backend, special values of C23's Annex G, sums and products."""

import numpy as np
import pytest

import usmpy
from usmpy import _core

TYPES = ["complex64", "complex128"]
INF, NAN = np.inf, np.nan
PI = np.pi
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, INF, -INF, NAN, 1e30, 1e-30]
GRID = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(params=TYPES)
def dtype(request, queue):
    if request.param == "complex128" and not queue.device.has_fp64:
        pytest.skip("no float64")
    return request.param


def put(values, queue):
    return usmpy.asarray(values, queue=queue, copy=True)


def numbers(dtype, n=300):
    rng = np.random.default_rng(3)
    z = rng.standard_normal(n) + 1j * rng.standard_normal(n)
    return np.concatenate([GRID, z * 10.0 ** rng.integers(-9, 9, n)]).astype(dtype)


def parts(z):
    return z.real, z.imag


def joined(re, im, dtype):
    z = np.empty(re.shape, dtype)
    z.real, z.imag = re, im
    return z


def textbook(x, y):
    (a, b), (c, d) = parts(x), parts(y)
    return joined(a * c - b * d, a * d + b * c, x.dtype)


def smith(x, y):
    (a, b), (c, d) = parts(x), parts(y)
    wide = np.abs(c) >= np.abs(d)
    r = np.where(wide, np.where(c == 0, c, d / c), c / d)
    by = np.where(wide, c + d * r, d + c * r)
    re = np.where(wide, a + b * r, a * r + b) / by
    return joined(re, np.where(wide, b - a * r, b * r - a) / by, x.dtype)


def same_bits(result, wanted):
    for own, other in zip(parts(result.asnumpy()), parts(wanted), strict=True):
        np.testing.assert_array_equal(own, other)
        defined = ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(own)[defined], np.signbit(other)[defined])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_has_the_same_bits_everywhere(name, dtype, queue):
    x = np.repeat(numbers(dtype), 3)
    y = np.random.default_rng(5).permutation(x)
    rules = {"add": np.add, "subtract": np.subtract, "multiply": textbook, "divide": smith}
    same_bits(getattr(_core, name)(put(x, queue), put(y, queue)), rules[name](x, y))


@pytest.mark.parametrize("name", ["conj", "negative", "positive", "square", "round"])
def test_simple_functions_have_the_same_bits_everywhere(name, dtype, queue):
    x = numbers(dtype)
    rules = {"round": np.rint, "square": lambda z: textbook(z, z)}
    same_bits(getattr(_core, name)(put(x, queue)), rules.get(name, getattr(np, name, None))(x))


@pytest.mark.parametrize("name", ["abs", "real", "imag"])
def test_real_results(name, dtype, queue):
    x = numbers(dtype)
    result, wanted = getattr(_core, name)(put(x, queue)), getattr(np, name)(x)
    assert result.dtype == wanted.dtype
    if name == "abs":
        np.testing.assert_allclose(result.asnumpy(), wanted, rtol=4 * np.finfo(dtype).eps)
    else:
        np.testing.assert_array_equal(result.asnumpy(), wanted)


@pytest.mark.parametrize("name", ["abs", "sqrt", "sign", "reciprocal"])
def test_functions_of_arithmetic_have_the_hosts_bits(name, dtype, queue):
    x = numbers(dtype)
    own = getattr(_core, name)(put(x, queue)).asnumpy()
    host = getattr(_core, name)(put(x, usmpy.Queue("host:cpu:0"))).asnumpy()
    same_bits(put(own.astype(dtype), queue), host.astype(dtype))


def test_imaginary_parts_of_real_numbers_are_zero(queue):
    for dtype in ("int8", "uint64", "float16", "float32"):
        result = _core.imag(put(np.array([1, 2, 3], dtype), queue))
        assert result.dtype == dtype
        assert result.tolist() == [0, 0, 0]


def test_real_operands_become_complex(queue):
    x = np.array([1 + 2j, -3j], "complex64")
    for dtype in ("int8", "uint16", "float16", "float32"):
        y = np.array([2, 5], dtype)
        same_bits(_core.multiply(put(x, queue), put(y, queue)), x * y.astype("complex64"))


# Rows of Annex G: {function: [(argument, result)]}.
ANNEX_G = {
    "exp": [
        (0, 1),
        (complex(-INF, INF), 0),
        (complex(INF, 0), complex(INF, 0)),
        (complex(INF, NAN), complex(INF, NAN)),
        (complex(1, INF), complex(NAN, NAN)),
        (complex(NAN, 0), complex(NAN, 0)),
        (complex(-INF, NAN), 0),
    ],
    "log": [
        (complex(-0.0, 0), complex(-INF, PI)),
        (0, complex(-INF, 0)),
        (complex(1, INF), complex(INF, PI / 2)),
        (complex(-INF, 1), complex(INF, PI)),
        (complex(INF, 1), complex(INF, 0)),
        (complex(-INF, INF), complex(INF, 3 * PI / 4)),
        (complex(INF, INF), complex(INF, PI / 4)),
        (complex(INF, NAN), complex(INF, NAN)),
        (complex(NAN, INF), complex(INF, NAN)),
    ],
    "sqrt": [
        (complex(-0.0, 0), 0),
        (complex(NAN, INF), complex(INF, INF)),
        (complex(-INF, 1), complex(0, INF)),
        (complex(INF, 1), complex(INF, 0)),
        (complex(INF, NAN), complex(INF, NAN)),
        (complex(-4, 0), 2j),
        (complex(-4, -0.0), complex(0, -2)),
    ],
    "cosh": [
        (0, 1),
        (complex(INF, 0), complex(INF, 0)),
        (complex(INF, INF), complex(INF, NAN)),
        (complex(1, INF), complex(NAN, NAN)),
    ],
    "sinh": [
        (0, 0),
        (complex(INF, 0), complex(INF, 0)),
        (complex(0, INF), complex(0, NAN)),
        (complex(INF, INF), complex(INF, NAN)),
        (complex(NAN, 0), complex(NAN, 0)),
    ],
    "tanh": [
        (0, 0),
        (complex(INF, 1), 1),
        (complex(INF, INF), 1),
        (complex(0, INF), complex(0, NAN)),
        (complex(2, INF), complex(NAN, NAN)),
        (complex(NAN, 0), complex(NAN, 0)),
        (complex(INF, NAN), 1),
        (complex(INF, 2), 1),  # the standard's: the sign of the zero is that of the argument (C: of sin(2b))
    ],
    "expm1": [
        (0, 0),
        (complex(-0.0, 0), 0),
        (complex(1, INF), complex(NAN, NAN)),
        (complex(-INF, 2), complex(-1, 0)),
        (complex(INF, 0), complex(INF, 0)),
        (complex(-INF, INF), -1),
        (complex(INF, INF), complex(INF, NAN)),
        (complex(NAN, 0), complex(NAN, 0)),
    ],
    "acos": [
        (0, complex(PI / 2, -0.0)),
        (complex(0, NAN), complex(PI / 2, NAN)),
        (complex(1, INF), complex(PI / 2, -INF)),
        (complex(-INF, 1), complex(PI, -INF)),
        (complex(INF, 1), complex(0, -INF)),
        (complex(-INF, INF), complex(3 * PI / 4, -INF)),
        (complex(INF, INF), complex(PI / 4, -INF)),
        (complex(NAN, INF), complex(NAN, -INF)),
    ],
    "acosh": [
        (0, complex(0, PI / 2)),
        (complex(1, INF), complex(INF, PI / 2)),
        (complex(-INF, 1), complex(INF, PI)),
        (complex(INF, 1), complex(INF, 0)),
        (complex(-INF, INF), complex(INF, 3 * PI / 4)),
        (complex(INF, NAN), complex(INF, NAN)),
    ],
    "asinh": [
        (0, 0),
        (complex(1, INF), complex(INF, PI / 2)),
        (complex(INF, 1), complex(INF, 0)),
        (complex(INF, INF), complex(INF, PI / 4)),
        (complex(NAN, 0), complex(NAN, 0)),
        (complex(INF, NAN), complex(INF, NAN)),
    ],
    "atanh": [
        (0, 0),
        (1, complex(INF, 0)),
        (complex(1, INF), complex(0, PI / 2)),
        (complex(INF, 1), complex(0, PI / 2)),
        (complex(INF, INF), complex(0, PI / 2)),
        (complex(0, NAN), complex(0, NAN)),
        (complex(NAN, INF), complex(0, PI / 2)),
    ],
}


@pytest.mark.parametrize("name", ANNEX_G)
def test_special_values_of_annex_g(name, dtype, queue):
    """The rows, and their conjugates; where a part is NaN, the sign of the other one is open."""
    x = np.array([z for z, _ in ANNEX_G[name]], dtype)
    wanted = np.array([w for _, w in ANNEX_G[name]], dtype)
    result = getattr(_core, name)(put(np.concatenate([x, x.conj()]), queue)).asnumpy()
    for own, right in ((result[: x.size], wanted), (result[x.size :].conj(), wanted)):
        for mine, other in zip(parts(own), parts(right), strict=True):
            np.testing.assert_allclose(mine, other, rtol=4 * np.finfo(dtype).eps)
        clear = ~np.isnan(right) & ~np.isnan(x) & ~((x.real == -INF) & (name == "exp"))
        for mine, other in zip(parts(own), parts(right), strict=True):
            np.testing.assert_array_equal(np.signbit(mine)[clear], np.signbit(other)[clear])


def test_symmetries(dtype, queue):
    """f(conj(z)) == conj(f(z)) with every sign; a cut is continuous from the side that the zero names."""
    x = np.array(
        [complex(a, b) for a in (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0) for b in (0.0, 1e-20, 0.5, 4.0)], dtype
    )
    for name in (
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "log1p",
    ):
        function = getattr(_core, name)
        above, below = function(put(x, queue)).asnumpy(), function(put(x.conj(), queue))
        same_bits(below, above.conj())
    function = {"asin": 3.0, "acos": 3.0, "atanh": 3.0, "log": -3.0, "sqrt": -3.0, "acosh": -3.0}
    for name, at in function.items():
        on, near = getattr(_core, name)(
            put(np.array([complex(at, 0.0), complex(at, 1e-30)], dtype), queue)
        ).asnumpy()
        np.testing.assert_allclose(on, near, rtol=4 * np.finfo(dtype).eps, atol=1e-20)


def test_nothing_overflows_on_the_way(dtype, queue):
    large, small = np.finfo(dtype).max, np.finfo(dtype).tiny
    z = (
        np.array([complex(large, large), complex(large, 1), complex(1, large), complex(small, small)], dtype)
        / 2
    )
    for name in (
        "sqrt",
        "log",
        "asin",
        "acos",
        "atan",
        "asinh",
        "acosh",
        "atanh",
        "sign",
        "reciprocal",
        "abs",
    ):
        result = getattr(_core, name)(put(z, queue)).asnumpy()
        wide = getattr(_core, name)(put(z.astype("complex128"), usmpy.Queue("host:cpu:0"))).asnumpy()
        assert np.isfinite(result).all() or name == "reciprocal", name
        if dtype == "complex64" and name != "reciprocal":
            np.testing.assert_allclose(result, wide, rtol=1e-6, atol=1e-38)
    near = np.log(large) + 0.5  # exp of it overflows; its product with cos(1.5) does not
    for name in ("exp", "sinh", "cosh"):
        assert np.isfinite(
            getattr(_core, name)(put(np.array([complex(near, 1.57)], dtype), queue)).asnumpy().real
        ).all()


@pytest.mark.parametrize("shape", [(1,), (7,), (33,), (1025,), (3000,), (50, 40), (40, 700)])
def test_sums_and_products(shape, dtype, queue):
    rng = np.random.default_rng(7)
    x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    unit = x / np.abs(x)
    host = usmpy.Queue("host:cpu:0")
    for axis in (None, 0, len(shape) - 1):
        for name, values in (("sum", x), ("prod", unit)):
            function = getattr(_core, name)
            result = function(put(values, queue), axis=axis)
            same_bits(result, function(put(values, host), axis=axis).asnumpy())
            wanted = getattr(np, name)(values.astype("complex128"), axis=axis)
            np.testing.assert_allclose(
                result.asnumpy(), wanted, rtol=1e-3 if dtype == "complex64" else 1e-10, atol=1e-3
            )
    for name, values in (("cumulative_sum", x), ("cumulative_prod", unit)):
        function = getattr(_core, name)
        result = function(put(values, queue), axis=0, include_initial=True)
        same_bits(result, function(put(values, host), axis=0, include_initial=True).asnumpy())
        wanted = getattr(np, name.replace("ulative_", ""))(values.astype("complex128"), axis=0)
        np.testing.assert_allclose(result.asnumpy()[1:], wanted, rtol=1e-3, atol=1e-3)


def test_products_with_one_leave_infinities_alone(dtype, queue):
    x = np.array([[complex(INF, 0), 1, complex(-0.0, 2)], [1, complex(0, -INF), 1]], dtype)
    same_bits(
        _core.prod(put(x, queue), axis=0),
        np.array([complex(INF, 0), complex(0, -INF), complex(-0.0, 2)], dtype),
    )
    same_bits(_core.prod(put(x[0, :1].copy(), queue)), x[0, 0].reshape(()))
    same_bits(_core.cumulative_prod(put(x[0, :2].copy(), queue)), x[0, [0, 0]])


def test_real_arrays_are_added_up_as_complex_ones(dtype, queue):
    x = put(np.arange(100, dtype="float32"), queue)
    assert _core.sum(x, dtype=dtype).item() == 4950
    assert _core.cumulative_sum(x, dtype=dtype).tolist()[3] == 6


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "floor_divide", "remainder", "atan2", "floor", "signbit"]
)
def test_what_needs_an_order_is_refused(name, dtype, queue):
    x = put(np.array([1j], dtype), queue)
    with pytest.raises(TypeError, match=f"{name}.*complex"):
        getattr(_core, name)(*[x] * (1 if name in ("floor", "signbit") else 2))


def test_powers(dtype, queue):
    x = np.array([1 + 2j, 1 + 2j, 1 + 2j, 0, 0, 2, 1j, -1], dtype)
    y = np.array([2, -3, 0, 2, 0, 0.5, 1j, 0.5], dtype)
    wanted = [-3 + 4j, 1 / (-11 - 2j), 1, 0, 1, 2**0.5, np.exp(-PI / 2), 1j]
    result = _core.pow(put(x, queue), put(y, queue)).asnumpy()
    np.testing.assert_allclose(result, wanted, rtol=20 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)
    with_zero = _core.pow(
        put(np.zeros(3, dtype), queue), put(np.array([-1, 1j, complex(NAN, 0)], dtype), queue)
    )
    assert np.isnan(with_zero.asnumpy()).all()


@pytest.mark.only_on("host")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_sign_of_complex_numbers_whose_size_overflows(queue, dtype):
    largest = float(np.finfo(dtype).max)
    x = usmpy.asarray([complex(largest, largest), complex(-largest, largest)], dtype=dtype, queue=queue)
    half = np.sqrt(np.asarray(0.5, np.finfo(dtype).dtype))
    expected = np.array([complex(half, half), complex(-half, half)], dtype)
    np.testing.assert_allclose(usmpy.sign(x).asnumpy(), expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.only_on("host")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_tanh_of_complex_numbers_far_from_the_imaginary_axis(queue, dtype):
    numbers = np.array([30 + 1j, -30 + 1j, 30 - 2j, 12 + 0.5j], dtype)
    result = usmpy.tanh(usmpy.asarray(numbers, queue=queue)).asnumpy()
    with np.errstate(all="ignore"):
        expected = np.tanh(numbers.astype("complex128")).astype(dtype)
    np.testing.assert_allclose(result.real, expected.real, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_allclose(result.imag, expected.imag, rtol=16 * np.finfo(dtype).eps)
