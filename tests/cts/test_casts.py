"""Casts between all types: at the edges of each, in rows and in strides, by astype and copyto."""

import functools
import warnings

import ml_dtypes
import numpy as np
import pytest
from dtypes import NUMBERS

import usmpy

EDGES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, 127.9, 128, -128.9, 255.9, 256, -0.99, 65503.9, 65520]
EDGES += [1e-8, 3e38, float("inf"), float("-inf"), float("nan"), 2.0**31, -(2.0**31), 2.0**32, 2.0**53]
EDGES += [2.0**63, -(2.0**63), 2.0**64, 9.3e18, 1.1e-40, 1e300, 5e-324, 1 / 3]
EDGES += [1 + 2.0**-8, 1 + 2.0**-9, 1 + 2.0**-24]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if name == "bfloat16" else np.dtype(name)


def samples(name):
    """Values at the edges of every type that can hold them."""
    dtype = numpy_dtype(name)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 100, 127]
        powers = [(1 << k) + d for k in range(1, 63) for d in (-1, 0, 1) if (1 << k) + d <= info.max]
        return np.array([*near, *powers, *(-p for p in [*powers, 1] if info.min)], dtype)
    parts = np.array(EDGES)
    with np.errstate(all="ignore"):
        if dtype.kind == "c":
            whole = np.empty(parts.shape, "complex128")
            whole.real, whole.imag = parts, parts[::-1]
            return whole.astype(dtype)
        return parts.astype(dtype)


def make(n, queue):
    """NumPy's DLPack has no name for bfloat16."""
    if n.dtype != ml_dtypes.bfloat16:
        return usmpy.asarray(n, queue=queue)
    return usmpy._core._reinterpret(usmpy.asarray(n.view("uint16"), queue=queue), "bfloat16")


@functools.cache
def expected_samples(source, target):
    """Once for all devices."""
    return expected_cast(samples(source), target)


def targets_of(backend, source):
    """All types; where a compiler builds each cast, a third of them: each type meets five others."""
    step = 3 if "builds" in backend.tags else 1
    return [name for name in NUMBERS if (NUMBERS.index(name) + NUMBERS.index(source)) % step == 0]


def expected_cast(n, name):
    """NumPy's cast, with the rules of usmpy where NumPy has none: saturation, and 0 for NaN."""
    dtype = numpy_dtype(name)
    if n.dtype.kind == "c" and dtype.kind not in "bc":
        n = n.real
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if dtype.kind in "iu" and n.dtype.kind not in "biu":
            info, wide = np.iinfo(dtype), n.astype("float64")
            out = np.zeros(n.shape, dtype)
            for i, value in np.ndenumerate(wide):
                if not np.isnan(value):
                    out[i] = info.max if value >= info.max else info.min if value <= info.min else int(value)
            return out
        if dtype.kind == "b":
            return (n.astype("float64") if n.dtype.kind not in "biuc" else n) != 0
        if name == "bfloat16" and n.dtype.kind in "iu":
            return np.array([round_to_bfloat16(int(v)) for v in n.ravel()]).reshape(n.shape).astype(dtype)
        if name == "bfloat16" and n.dtype == "float64":
            return np.array([round_to_bfloat16(float(v)) for v in n.ravel()]).reshape(n.shape).astype(dtype)
        if name == "float16" and n.dtype.kind in "iu":
            return n.astype("float64").astype("float16") if n.dtype.itemsize < 8 else n.astype(dtype)
        return n.astype(dtype)


def round_to_bfloat16(value):
    """To 8 bits of precision, half to even, in one step: as a float that bfloat16 holds exactly."""
    if value == 0 or value != value or value in (float("inf"), float("-inf")):
        return float(value)
    from fractions import Fraction
    from math import floor, frexp

    exact = Fraction(value)
    exponent = max(frexp(float(abs(exact)))[1], -125)
    while abs(exact) >= Fraction(2) ** exponent:
        exponent += 1
    unit = Fraction(2) ** (exponent - 8)
    scaled = exact / unit
    whole = floor(scaled)
    rest = scaled - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    rounded = whole * unit
    return float("inf") * (1 if rounded > 0 else -1) if abs(rounded) >= 2**128 else float(rounded)


def bits(array):
    return array.view(f"V{array.dtype.itemsize}")


def assert_same(got, expected):
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected)
        return
    with np.errstate(all="ignore"):
        got, expected = (
            a.astype("complex128" if a.dtype.kind == "c" else "float64") for a in (got, expected)
        )
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(*(np.signbit(a.real) & ~np.isnan(a.real) for a in (got, expected)))


@pytest.mark.parametrize("source", NUMBERS)
def test_casts_between_all_types(backend, queue, source):
    n = samples(source)
    x = make(n, queue)
    for target in targets_of(backend, source):
        expected = expected_samples(source, target)
        if n.dtype.kind == "c" and numpy_dtype(target).kind != "c":
            with pytest.raises(TypeError, match="imaginary"):
                x.astype(target)
        else:
            assert_same(x.astype(target).asnumpy(), expected)
            assert_same(usmpy.astype(x, target).asnumpy(), expected)
        y = usmpy.zeros(n.shape, dtype=target, queue=queue)
        usmpy.copyto(y, x, casting="unsafe")
        assert_same(y.asnumpy(), expected)


@pytest.mark.parametrize("source", NUMBERS)
def test_casts_of_strided_arrays(backend, queue, source):
    for target in targets_of(backend, source):
        check_strided(queue, source, target)


def check_strided(queue, source, target):
    n = np.resize(samples(source), (6, 4, 10))
    x = make(n, queue)
    y = usmpy.zeros((10, 12, 4), dtype=target, queue=queue)
    m = np.zeros((10, 12, 4), numpy_dtype(target))
    for key, axes in ((np.s_[::-1, :, ::3], (2, 0, 1)), (np.s_[::2, 1:3, 1:9:2], (1, 2, 0))):
        a, b = x[key], n[key].transpose(axes)
        a = usmpy.permute_dims(a, axes)
        to = tuple(slice(None, None, -1) if i == 1 else slice(0, length) for i, length in enumerate(b.shape))
        to = tuple(
            slice(length - 1, None, -1) if i == 1 else s
            for i, (s, length) in enumerate(zip(to, b.shape, strict=True))
        )
        usmpy.copyto(y[to], a, casting="unsafe")
        m[to] = expected_cast(np.ascontiguousarray(b), target)
    assert_same(y.asnumpy(), m)


def test_every_float16_to_float32_and_back(queue):
    n = np.arange(65536, dtype="uint16").view("float16")
    x = usmpy.asarray(n, queue=queue)
    with np.errstate(all="ignore"):
        wide = n.astype("float32")
    assert_same(x.astype("float32").asnumpy(), wide)
    back = x.astype("float64").astype("float16").asnumpy()
    ok = ~np.isnan(n)
    np.testing.assert_array_equal(bits(back)[ok], bits(n)[ok])
    assert np.isnan(back[~ok]).all()


def test_every_bfloat16_to_float32_and_back(queue):
    n = np.arange(65536, dtype="uint16").view(ml_dtypes.bfloat16)
    x = make(n, queue)
    with np.errstate(all="ignore"):
        wide = n.astype("float32")
    assert_same(x.astype("float32").asnumpy(), wide)
    back = x.astype("float32").astype("bfloat16").asnumpy()
    ok = ~np.isnan(wide)
    np.testing.assert_array_equal(back.view("uint16")[ok], n.view("uint16")[ok])


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "complex32", "float4_e2m1fn"])
def test_types_that_are_only_stored_have_no_casts(queue, dtype):
    x = usmpy.zeros(4, dtype=dtype, queue=queue)
    with pytest.raises(TypeError, match=dtype):
        x.astype("float32")
    with pytest.raises(TypeError, match=dtype):
        usmpy.zeros(4, queue=queue).astype(dtype)
    assert x.astype(dtype).dtype == dtype


@pytest.mark.parametrize(
    ("casting", "source", "target", "allowed"),
    [
        ("no", "int32", "int32", True),
        ("no", "int32", "int64", False),
        ("safe", "int32", "int64", True),
        ("safe", "int64", "int32", False),
        ("safe", "int32", "float64", True),
        ("same_kind", "int64", "int32", True),
        ("same_kind", "float64", "float32", True),
        ("same_kind", "float64", "int64", False),
        ("same_kind", "int64", "float32", True),
        ("same_kind", "complex64", "float64", False),
        ("unsafe", "complex64", "int8", True),
        ("unsafe", "float64", "bool", True),
    ],
)
def test_casting_rules_of_copyto(queue, casting, source, target, allowed):
    assert allowed is np.can_cast(source, target, casting)
    x, y = usmpy.ones(3, dtype=source, queue=queue), usmpy.zeros(3, dtype=target, queue=queue)
    if allowed:
        usmpy.copyto(y, x, casting=casting)
        assert y.asnumpy().tolist() == [1, 1, 1]
    else:
        with pytest.raises(TypeError, match=f"casting='{casting}'"):
            usmpy.copyto(y, x, casting=casting)
        assert y.asnumpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_in_the_middle_of_two_bfloat16(queue, dtype):
    """A double does not hold those beside the middle, so that one rounding to it must not decide."""
    sign, top = (-1, 2**62) if dtype == "int64" else (1, 2**63)
    middles = [top + (2 * k + 1) * top // 256 for k in range(6)]
    whole = [sign * (middle + more) for middle in middles for more in (-1, 0, 1)]
    x = usmpy.asarray(np.array(whole, dtype), queue=queue, copy=True).astype(usmpy.bfloat16)
    assert x.astype("float32").tolist() == [round_to_bfloat16(value) for value in whole]
