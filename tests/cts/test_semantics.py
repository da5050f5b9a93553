"""What C, OpenCL and CUDA leave undefined or do in ways of their own, and the array API standard does not."""

import math
import operator

import numpy as np
import pytest

import usmpy
from usmpy import _core

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIGNED = INTEGERS[:4]
REAL = ["float16", "float32", "float64"]
INF, NAN = math.inf, math.nan
REALS = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -3.0, 7.0, -7.5, 1e4, -1e4, INF, -INF, NAN]
LONG = 1100  # elements, so that loops of vectors and their rests are run


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def needs(dtype, queue):
    if dtype in ("float64", "complex128") and not queue.device.has_fp64:
        pytest.skip("no float64")


def wrapped(number, dtype):
    info = np.iinfo(dtype)
    return (number - int(info.min)) % 2**info.bits + int(info.min)


def integers_of(dtype):
    info = np.iinfo(dtype)
    near = [x for x in (-9, -2, -1, 0, 1, 2, 3, 7, 9) if x >= info.min]
    return [int(info.min), int(info.min) + 1, *near, int(info.max) - 1, int(info.max)]


def all_pairs(values, dtype, right=None):
    """Each with each, again and again, as two arrays."""
    pairs = [(a, b) for a in values for b in right or values]
    pairs *= -(-LONG // len(pairs))
    return np.array([a for a, _ in pairs], dtype), np.array([b for _, b in pairs], dtype)


def same_bits(result, wanted):
    """But for the sign and the payload of NaN."""
    result = result if isinstance(result, np.ndarray) else result.asnumpy()
    wanted = np.asarray(wanted)
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
    for own, other in [(result.real, wanted.real), (result.imag, wanted.imag)]:
        np.testing.assert_array_equal(own, other)
        if wanted.dtype.kind in "fc":
            known = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(own)[known], np.signbit(other)[known])


def every_form(function, a, b, queue, check):
    """Of arrays, of rows that are not contiguous, of one and many elements, with out= and in place."""
    x, y = put(a, queue), put(b, queue)
    named = {"floordiv": "floor_divide", "mod": "remainder", "lshift": "bitwise_left_shift"}
    called = getattr(usmpy, named.get(function.__name__, "bitwise_right_shift"))
    check(called(x, y), a, b)
    check(function(x[::-1], y[::-1]), a[::-1], b[::-1])
    out = usmpy.zeros(a.shape, dtype=x.dtype, queue=queue)
    assert called(x, y, out=out[::-1]) is not out
    check(out[::-1], a, b)
    for k in range(min(a.size, 24)):
        check(function(x, y[k]), a, np.broadcast_to(b[k], a.shape))
        check(function(x[k], y), np.broadcast_to(a[k], b.shape), b)
        check(function(x, int(b[k])), a, np.broadcast_to(b[k], a.shape))
    own = x.copy()
    getattr(operator, f"i{function.__name__}")(own, y)
    check(own, a, b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_by_zero_and_of_the_smallest_number(dtype, queue):
    """No signal either, which C's operators raise on x86."""
    a, b = all_pairs(integers_of(dtype), dtype)

    def quotients(result, a, b):
        same_bits(result, np.where(b == 0, b, a // np.where(b == 0, 1, b)))  # NumPy's wrap

    def rests(result, a, b):
        same_bits(result, np.where(b == 0, b, a % np.where(b == 0, 1, b)))

    with np.errstate(over="ignore"):
        every_form(operator.floordiv, a, b, queue, quotients)
        every_form(operator.mod, a, b, queue, rests)
        x, y = put(a[:9], queue), put(b[:9], queue)
        for ours, check in zip(divmod(x, y), (quotients, rests), strict=True):
            check(ours, a[:9], b[:9])
    if queue.device.has_fp64:
        with np.errstate(all="ignore"):
            same_bits(put(a, queue) / put(b, queue), a.astype("f8") / b.astype("f8"))


@pytest.mark.parametrize("dtype", SIGNED)
def test_the_smallest_integer_has_no_counterpart(dtype, queue):
    info = np.iinfo(dtype)
    x = put(np.array([info.min, info.max, -1] * 400, dtype), queue)
    for result in (-x, x * -1, 0 - x):
        same_bits(result, np.array([info.min, -info.max, 1] * 400, dtype))
    same_bits(abs(x), np.array([info.min, info.max, 1] * 400, dtype))
    same_bits(usmpy.square(x), np.array([0, 1, 1] * 400, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_the_width_and_more_and_by_negative_numbers(dtype, queue):
    info = np.iinfo(dtype)
    far = [0, 1, 3, info.bits - 1, info.bits, info.bits + 1, 31, 32, 33, 63, 64, 65, int(info.max)]
    far = [y for y in far if y <= info.max] + ([-1, -2, -31, -64, int(info.min)] if info.min else [])
    a, b = all_pairs(integers_of(dtype), dtype, far)

    def left(result, a, b):
        inside = (b >= 0) & (b < info.bits)
        same_bits(result, np.where(inside, a << np.where(inside, b, 0), np.zeros_like(a)))

    def right(result, a, b):
        inside = (b >= 0) & (b < info.bits)
        same_bits(result, np.where(inside, a >> np.where(inside, b, 0), -(a < 0).astype(dtype)))

    every_form(operator.lshift, a, b, queue, left)
    every_form(operator.rshift, a, b, queue, right)


def floor_quotient(a, b):
    """The standard's preference: the floor of the quotient, of infinities and zeros too."""
    if math.isnan(a) or math.isnan(b) or (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return NAN
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or b == 0:
        return sign * INF
    if math.isinf(b) or a == 0:
        return sign * 0.0
    return a // b


def rest_of_division(a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return NAN
    return math.copysign(0.0, b) if a == 0 else a % b  # Python's: 1 % -inf is -inf


@pytest.mark.parametrize("dtype", [*REAL, "bfloat16"])
def test_floor_divide_and_remainder_of_zeros_and_infinities(dtype, queue):
    needs(dtype, queue)
    wide = "float32" if dtype == "bfloat16" else dtype
    a, b = all_pairs(REALS, wide)
    x, y = (usmpy.astype(put(v, queue), dtype) for v in (a, b))
    a, b = (usmpy.astype(v, wide).asnumpy() for v in (x, y))
    for function, rule in ((usmpy.floor_divide, floor_quotient), (usmpy.remainder, rest_of_division)):
        wanted = np.array([rule(float(p), float(q)) for p, q in zip(a, b, strict=True)])
        exact = usmpy.astype(put(wanted.astype(wide), queue), dtype)
        for result in (function(x, y), function(x[::-1], y[::-1])[::-1]):
            assert result.dtype == dtype
            same_bits(usmpy.astype(result, wide), usmpy.astype(exact, wide).asnumpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_divide_is_exact(dtype, queue):
    """floor(x / y) is not: the quotient may be rounded up to the next integer."""
    needs(dtype, queue)
    rng = np.random.default_rng(1)
    b = rng.integers(1, 1000, 2000).astype(dtype)
    b /= 10
    a = b * rng.integers(-1000, 1000, 2000).astype(dtype)
    with np.errstate(all="ignore"):
        same_bits(usmpy.floor_divide(put(a, queue), put(b, queue)), np.floor_divide(a, b))
        same_bits(usmpy.remainder(put(a, queue), put(b, queue)), np.remainder(a, b))


def power(a, b):
    """C23, F.10.4.4, in Python's words."""
    if b == 0 or a == 1:
        return 1.0
    if math.isnan(a) or math.isnan(b):
        return NAN
    odd = math.isfinite(b) and b == math.floor(b) and b % 2 == 1
    if math.isinf(b):
        return 1.0 if abs(a) == 1 else INF if (abs(a) > 1) == (b > 0) else 0.0
    if a == 0 or math.isinf(a):
        sign = math.copysign(1, a) if odd else 1.0
        return sign * (INF if (a == 0) == (b < 0) else 0.0)
    return NAN if a < 0 and b != math.floor(b) else None  # an ordinary number


@pytest.mark.parametrize("dtype", [*REAL, "bfloat16"])
def test_powers_of_annex_f(dtype, queue):
    needs(dtype, queue)
    wide = "float32" if dtype == "bfloat16" else dtype
    a, b = all_pairs([*REALS, 4.0, -4.0, 3.0], wide)
    x, y = (usmpy.astype(put(v, queue), dtype) for v in (a, b))
    a, b = (usmpy.astype(v, wide).asnumpy() for v in (x, y))
    wanted = [power(float(p), float(q)) for p, q in zip(a, b, strict=True)]
    special = np.array([w is not None for w in wanted])
    for result in (usmpy.pow(x, y), x**y, usmpy.pow(x[::-1], y[::-1])[::-1]):
        found = usmpy.astype(result, wide).asnumpy()
        same_bits(found[special], np.array([w for w in wanted if w is not None], wide))
        with np.errstate(all="ignore"):
            exact = np.power(a[~special].astype("f8"), b[~special].astype("f8"))
            near = {"float16": 1e-3, "float32": 2e-6, "float64": 1e-14, "bfloat16": 8e-3}[dtype]
            np.testing.assert_allclose(found[~special], exact.astype(wide), rtol=near, atol=1e-7)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_powers_of_integers_wrap(dtype, queue):
    bases = integers_of(dtype)
    exponents = [0, 1, 2, 3, 7, 8, 31, 64, 100] + ([-1, -2, -3] if dtype in SIGNED else [])
    a, b = all_pairs(bases, dtype, exponents)

    def rule(p, q):
        if q >= 0:
            return wrapped(p**q, dtype)
        return p ** (q % 2) if p in (1, -1) else 0

    wanted = np.array([rule(int(p), int(q)) for p, q in zip(a, b, strict=True)], dtype)
    same_bits(usmpy.pow(put(a, queue), put(b, queue)), wanted)
    same_bits((put(a, queue)[::-1] ** put(b, queue)[::-1])[::-1], wanted)
    for exponent in exponents:
        wanted = np.array([rule(int(p), exponent) for p in bases], dtype)
        same_bits(put(np.array(bases, dtype), queue) ** exponent, wanted)


def test_complex_powers(queue):
    def powers(a, b):
        return usmpy.pow(put(np.complex64(a), queue), put(np.complex64(b), queue)).asnumpy()

    assert (powers([0, 1j, NAN, INF], [0, 0, 0, 0]) == 1).all()
    same_bits(powers([0, complex(-0.0, 0)], [2, 0.5]), np.complex64([0, 0]))
    same_bits(powers([2j, 1 + 1j, -3], [2, 4, 3]), np.complex64([-4, -4, -27]))  # exact, by squaring
    np.testing.assert_allclose(powers([-8], [1 / 3]), [1 + 3**0.5 * 1j], rtol=1e-5)
    np.testing.assert_allclose(powers([1j], [1j]), [math.exp(-math.pi / 2)], rtol=1e-6, atol=1e-6)
    above, below = powers([complex(-4, 0.0), complex(-4, -0.0)], [0.5, 0.5])  # the two sides of the cut
    np.testing.assert_allclose([above, below], [2j, -2j], atol=1e-6)


@pytest.mark.parametrize("dtype", [*REAL, "bfloat16"])
def test_nan_in_extremes(dtype, queue):
    needs(dtype, queue)
    wide = "float32" if dtype == "bfloat16" else dtype
    a, b = all_pairs([-INF, -2.5, 0.0, 1.0, INF, NAN], wide)
    x, y = (usmpy.astype(put(v, queue), dtype) for v in (a, b))
    for name in ("maximum", "minimum"):
        result = usmpy.astype(getattr(usmpy, name)(x, y), wide).asnumpy()
        np.testing.assert_array_equal(result, getattr(np, name)(a, b))
    for bounds in ((-1.0, 1.0), (NAN, 1.0), (-1.0, NAN), (NAN, None), (None, NAN), (1.0, -1.0)):
        with np.errstate(all="ignore"):
            wanted = np.clip(a, *bounds)
        np.testing.assert_array_equal(usmpy.astype(usmpy.clip(x, *bounds), wide).asnumpy(), wanted)
    low = put(np.where(np.arange(a.size) % 2, -1, NAN).astype(wide), queue)
    low = usmpy.astype(low, dtype)
    np.testing.assert_array_equal(
        usmpy.astype(usmpy.clip(x, low, y), wide).asnumpy(),
        np.minimum(np.maximum(a, usmpy.astype(low, wide).asnumpy()), b),
    )
    for n in (1, 2, 31, 33, 1024, 1025, 3000):
        row = np.arange(n).astype(wide) % 100
        for at in {0, n // 2, n - 1}:
            row[at] = NAN
            z = usmpy.astype(put(row, queue), dtype)
            assert math.isnan(z.max().item())
            assert math.isnan(z.min().item())
            assert z.argmax().item() == z.argmin().item() == np.isnan(row).argmax()
        columns = usmpy.broadcast_to(usmpy.expand_dims(z, axis=1), (n, 3))
        assert usmpy.all(usmpy.isnan(usmpy.astype(columns, "float32").max(axis=0)))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products_and_quotients_are_the_textbooks_and_smiths(dtype, queue):
    """Infinities and NaN too: C's own operators would recover infinities, at the price of other bits."""
    needs(dtype, queue)
    part = [0.0, -0.0, 1.5, -3.0, 1e30, 1e-30, INF, NAN]
    values = [complex(p, q) for p in part for q in part]
    x = np.repeat(np.array(values, dtype), len(values))
    y = np.tile(np.array(values, dtype), len(values))
    with np.errstate(all="ignore"):
        a, b, c, d = x.real, x.imag, y.real, y.imag
        product = np.empty_like(x)
        product.real, product.imag = a * c - b * d, a * d + b * c
        wide = np.abs(c) >= np.abs(d)
        ratio = np.where(wide, np.where(c == 0, c, d / c), c / d)
        by = np.where(wide, c + d * ratio, d + c * ratio)
        quotient = np.empty_like(x)
        quotient.real = np.where(wide, a + b * ratio, a * ratio + b) / by
        quotient.imag = np.where(wide, b - a * ratio, b * ratio - a) / by
    p, q = put(x, queue), put(y, queue)
    for step in (1, -1):
        same_bits((p[::step] * q[::step])[::step], product)
        same_bits((p[::step] / q[::step])[::step], quotient)
    own = p.copy()
    own *= q
    same_bits(own, product)
    own = p.copy()
    own /= q
    same_bits(own, quotient)


ANNEX_G = ["exp", "log", "sqrt", "cosh", "sinh", "tanh", "cos", "sin", "tan"]
ANNEX_G += ["acosh", "asinh", "atanh", "acos", "asin", "atan"]
NUMPYS = {"acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh"}
NUMPYS |= {"acos": "arccos", "asin": "arcsin", "atan": "arctan"}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ANNEX_G)
def test_complex_functions_by_the_tables_of_c23(name, dtype, queue):
    """All of zeros, finite numbers, infinities and NaN in both parts, beside the C library's (by NumPy)."""
    # Where C23 gives tanh(inf + yj) the sign of sin(2y) in its zero, the array API standard gives that of y.
    needs(dtype, queue)
    part = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 3.0, -3.0, INF, -INF, NAN]
    z = np.array([complex(p, q) for p in part for q in part] * 10, dtype)
    with np.errstate(all="ignore"):
        wanted = getattr(np, NUMPYS.get(name, name))(z)
    if name == "acosh":  # NumPy before 2.3 gives NaN there
        wanted.imag = np.where((z.real == 0) & np.isnan(z.imag), np.pi / 2, wanted.imag)
    if name == "tanh":
        wanted.imag = np.where(np.isinf(z.real) & np.isfinite(z.imag), np.copysign(0, z.imag), wanted.imag)
    if name == "tan":  # -j * tanh(j * z)
        wanted.real = np.where(np.isinf(z.imag) & np.isfinite(z.real), np.copysign(0, z.real), wanted.real)
    found = getattr(_core, name)(put(z, queue)).asnumpy()
    wrong = []
    for at, own, other in zip(z, found, wanted, strict=True):
        for mine, theirs in ((own.real, other.real), (own.imag, other.imag)):
            same = (np.isnan(mine) and np.isnan(theirs)) or mine == theirs
            same = same or abs(mine - theirs) <= 8 * np.finfo(dtype).eps * max(abs(theirs), 1e-7)
            signed = np.isnan(theirs) or np.signbit(mine) == np.signbit(theirs) or is_open(name, at, other)
            if not (same and signed):
                wrong.append((complex(at), complex(own), complex(other)))
    assert not wrong, f"{len(wrong)}: {wrong[:8]}"


def is_open(name, z, w):
    """Does C23 leave the sign of a zero or an infinity of the result open?"""
    return bool(np.isnan(z.real) or np.isnan(z.imag) or np.isnan(w.real) or np.isnan(w.imag)) or (
        np.isinf(z.real) and np.isinf(z.imag)
    )


@pytest.mark.parametrize("dtype", [*REAL, "bfloat16", "complex64", "complex128"])
def test_rounding_half_way_is_to_even(dtype, queue):
    needs(dtype, queue)
    halves = np.array([0.5, 1.5, 2.5, 3.5, 126.5, 127.5, 0.0, 0.25, 0.75, 100.0, INF, NAN] * 100)
    halves = np.concatenate([halves, -halves])
    if dtype.startswith("complex"):
        z = (halves + 1j * 2.5).astype(dtype)
        z.imag[0] = -0.5
        same_bits(usmpy.round(put(z, queue)), np.rint(z))
        return
    wide = "float32" if dtype == "bfloat16" else dtype
    x = usmpy.astype(put(halves.astype(wide), queue), dtype)
    same_bits(usmpy.astype(usmpy.round(x), wide), np.rint(halves.astype(wide)))
    assert usmpy.round(x).dtype == dtype
    for kind in INTEGERS:
        n = put(np.array([0, 1, 100], kind), queue)
        assert usmpy.round(n).dtype == kind
        assert usmpy.round(n).tolist() == [0, 1, 100]


@pytest.mark.parametrize("n", [2, 31, 1024, 1025, 5000, 70_001])
def test_the_first_of_equal_extremes(n, queue):
    for dtype in ("bool", "int8", "uint64", "float16", "float32"):
        x = np.zeros(n, dtype)
        x[n // 2 :: 7] = 1
        assert usmpy.argmax(put(x, queue)).item() == n // 2
        assert usmpy.argmin(put(1 - x if dtype != "bool" else ~x, queue)).item() == n // 2
    x = put(np.array([0.0, -0.0] * (n // 2), "float32"), queue)
    assert x.argmax().item() == x.argmin().item() == 0  # the two zeros are equal


def test_reductions_of_nothing(queue):
    default = usmpy.__array_namespace_info__().default_dtypes(device=queue)
    for dtype in ("bool", "int8", "uint16", "float16", "float32", "complex64", "bfloat16"):
        x = usmpy.zeros((0, 3), dtype=dtype, queue=queue)
        for axis, shape in ((None, ()), (0, (3,)), ((0, 1), ())):
            total, product = usmpy.sum(x, axis=axis), usmpy.prod(x, axis=axis)
            assert total.shape == product.shape == shape
            assert usmpy.all(total == 0)
            assert usmpy.all(product == 1)
        assert usmpy.sum(x, axis=1).shape == (0,)
        assert usmpy.sum(x, axis=0, keepdims=True).shape == (1, 3)
        assert usmpy.cumulative_sum(x, axis=0).shape == (0, 3)
        for function, start in ((usmpy.cumulative_sum, 0), (usmpy.cumulative_prod, 1)):
            first = function(x, axis=0, include_initial=True)
            assert first.shape == (1, 3)
            assert usmpy.all(first == start)
        assert usmpy.all(x).item() is True
        assert usmpy.any(x).item() is False
        if dtype not in ("complex64", "bool"):
            assert usmpy.max(x, axis=1).shape == (0,)
            for function in (usmpy.max, usmpy.min, usmpy.argmax, usmpy.argmin):
                with pytest.raises(
                    ValueError, match=rf"{function.__name__}\(\): x has shape \(0, 3\).*no ele"
                ):
                    function(x, axis=0)
        if dtype in ("float16", "float32", "bfloat16"):
            assert usmpy.all(usmpy.isnan(usmpy.astype(usmpy.mean(x, axis=0), "float32")))
            assert usmpy.isnan(usmpy.astype(usmpy.std(x), "float32")).item()
    assert (
        usmpy.matmul(usmpy.zeros((2, 0), queue=queue), usmpy.zeros((0, 3), queue=queue)).tolist()
        == [[0.0] * 3] * 2
    )
    assert default["real floating"] == usmpy.matmul(*[usmpy.zeros((0, 0), queue=queue)] * 2).dtype


@pytest.mark.parametrize(("dtype", "stuck"), [("float16", 2048), ("bfloat16", 256)])
def test_narrow_floats_are_accumulated_in_float32(dtype, stuck, queue):
    """In their own type a sum of ones would not pass `stuck`."""
    n = 4 * stuck
    ones = usmpy.ones((n, 2), dtype=dtype, queue=queue)
    for result in (
        ones.sum(axis=0),
        usmpy.cumulative_sum(ones, axis=0)[-1, :],
        usmpy.vecdot(ones, ones, axis=0),
        (ones.mT @ ones)[0],
        usmpy.tensordot(ones, ones, axes=((0,), (0,)))[1],
    ):
        assert result.dtype == dtype
        assert result.tolist() == [n, n]
    assert ones.mean().tolist() == 1
    assert ones.var().tolist() == 0
    x = usmpy.full(100, 60000, dtype=dtype, queue=queue)  # squares and the sum overflow float16
    assert usmpy.astype(x.std(), "float32").item() == 0
    assert x.mean().item() == x[0].item()
    alternating = usmpy.concat([x, -x])
    assert alternating.sum().item() == 0
    assert usmpy.astype(alternating.std(), "float32").item() == x[0].item()


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS])
def test_sums_of_small_integers_are_wide(dtype, queue):
    wide = "uint64" if dtype.startswith("u") else "int64"
    most = 1 if dtype == "bool" else int(np.iinfo(dtype).max)
    x = put(np.full((2, 40), most, dtype), queue)
    for result in (x.sum(axis=1), usmpy.cumulative_sum(x, axis=1)[:, -1]):
        assert result.dtype == wide
        assert result.tolist() == [wrapped(40 * most, wide)] * 2
    for result in (x.prod(axis=1), usmpy.cumulative_prod(x, axis=1)[:, -1]):
        assert result.dtype == wide
        assert result.tolist() == [wrapped(most**40, wide)] * 2
    assert x.sum(dtype="int16").tolist() == wrapped(80 * most, "int16")
    if dtype != "bool":
        assert x.max().dtype == x.min().dtype == dtype
        assert usmpy.diff(x, axis=1).dtype == dtype


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1024, 1025, 3000])
def test_scans_that_include_the_initial_value(n, queue):
    rng = np.random.default_rng(n)
    for dtype in ("int8", "float32", "complex64"):
        x = rng.integers(-1, 2, (3, n)).astype(dtype)
        y = put(x, queue)
        for a, b in ((x, y), (x[:, ::-1], y[:, ::-1]), (x.T.copy().T, put(x.T.copy(), queue).T)):
            for name, start in (("cumulative_sum", 0), ("cumulative_prod", 1)):
                for axis in (0, 1, -1):
                    result = getattr(usmpy, name)(b, axis=axis, include_initial=True).asnumpy()
                    wanted = getattr(np, name)(a, axis=axis, include_initial=True)
                    if dtype == "int8":
                        wanted = wanted.astype("int64")
                    assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
                    np.testing.assert_array_equal(result, wanted)
                    assert (np.take(result, [0], axis) == start).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_python_integers_follow_the_array_or_are_refused(dtype, queue):
    info = np.iinfo(dtype)
    n = np.array([0, 1, 5, info.max], dtype)
    x = put(n, queue)
    arithmetic = ["add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum", "pow"]
    bits = ["and", "or", "xor", "left_shift", "right_shift"]
    for name in arithmetic + [f"bitwise_{bit}" for bit in bits]:
        function = getattr(usmpy, name)
        for number in (int(info.min), int(info.max), 0, 1):
            assert function(x, number).dtype == function(number, x).dtype == dtype
        for number in (int(info.min) - 1, int(info.max) + 1, -(2**70), 10**5000):
            for call in (lambda f, k: f(x, k), lambda f, k: f(k, x), lambda f, k: f(x, k, out=x)):
                with pytest.raises(
                    OverflowError, match=rf"{name}\(\): x[12]: .*does not fit into dtype {dtype}"
                ):
                    call(function, number)
    with pytest.raises(OverflowError, match=rf"{info.min} to {info.max} are allowed"):
        x += int(info.max) + 1
    for compare, number, wanted in (
        (usmpy.less, int(info.max) + 1, True),
        (usmpy.less, int(info.min) - 1, False),
        (usmpy.equal, 2**80, False),
        (usmpy.greater_equal, -(2**80), True),
    ):
        assert compare(x, number).tolist() == [wanted] * 4
    same_bits(x, n)


def test_python_floats_and_complex_numbers_choose_the_kind(queue):
    wide = "float64" if queue.device.has_fp64 else "float32"
    for dtype in ("bool", "int8", "uint64"):
        x = usmpy.ones(3, dtype=dtype, queue=queue)
        assert usmpy.add(x, 0.5).dtype == usmpy.add(0.5, x).dtype == wide
        assert usmpy.add(x, 1j).dtype == ("complex128" if queue.device.has_fp64 else "complex64")
    for dtype in ("float16", "bfloat16", "float32"):
        x = usmpy.ones(3, dtype=dtype, queue=queue)
        assert (x + 1).dtype == (x + 0.1).dtype == (x * True).dtype == dtype
        assert (x * 2**200).dtype == dtype
        assert (x + 1j).dtype == "complex64"
        with pytest.raises(OverflowError, match=r"add\(\): x2: "):
            x + 10**400
    m = usmpy.ones(3, dtype="bool", queue=queue)
    assert (m + 1).dtype == "int64"
    assert (m & True).dtype == "bool"
