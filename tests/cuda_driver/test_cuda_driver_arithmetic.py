"""The PTX interpreter on what NVRTC makes of CUDA C++: arithmetic and conversions, against NumPy."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import cuda_calls
import numpy as np
import pytest
from cuda_calls import ptx
from cuda_sources import C_TYPES, FLOATS, INTEGERS, N, computed, computed_all, every, same, sample

pytestmark = pytest.mark.skipif(
    cuda_calls.nvrtc_library() is None, reason="no NVRTC: the package nvidia-cuda-nvrtc-cu12 has it"
)


# Arithmetic.

BINARY = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic(driver, dtype):
    a, b = sample(dtype), sample(dtype, 1)
    expected = {f"a {operator} b": numpy(a, b) for operator, numpy in BINARY.items()}
    expected |= {"-a": np.negative(a), "~a": ~a, "a < b ? a : b": np.minimum(a, b)}
    same(computed_all(driver, dtype, expected, a, b), np.array([*expected.values()]))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division(driver, dtype):
    a, b = sample(dtype), sample(dtype, 1)
    b[(b == 0) | ((b == -1) if dtype.startswith("int") else False)] = 3
    wide_a, wide_b = a.astype(object), b.astype(object)
    quotient = np.array(
        [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(wide_a, wide_b, strict=True)]
    )
    same(computed(driver, every("a / b", dtype, dtype, dtype), a.copy(), a, b), quotient.astype(dtype))
    same(
        computed(driver, every("a % b", dtype, dtype, dtype), a.copy(), a, b),
        (wide_a - quotient * wide_b).astype(dtype),
    )


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_shifts(driver, dtype):
    a, b = sample(dtype), (sample("uint32", 1) % np.iinfo(dtype).bits).astype(dtype)
    same(computed(driver, every("a << b", dtype, dtype, dtype), a.copy(), a, b), a << b)
    same(computed(driver, every("a >> b", dtype, dtype, dtype), a.copy(), a, b), a >> b)


COUNTS = {
    "__popc(a)": lambda x: bin(x).count("1"),
    "__clz(a)": lambda x: 32 - x.bit_length(),
    "__ffs(a)": lambda x: (x & -x).bit_length(),
    "__brev(a)": lambda x: int(f"{x:032b}"[::-1], 2),
    "__byte_perm(a, 0x89abcdef, 0x3715)": lambda x: int.from_bytes(
        [(x.to_bytes(4, "little") + bytes.fromhex("efcdab89"))[j] for j in (5, 1, 7, 3)], "little"
    ),
    "__funnelshift_l(a, 0x12345678, 12)": lambda x: ((0x12345678 << 32 | x) << 12 >> 32) & 0xFFFFFFFF,
    "__umulhi(a, 0xdeadbeef)": lambda x: x * 0xDEADBEEF >> 32,
    "(a ^ 0xff00ff00) & (a | 0x0f0f0f0f) | ~a & 0x12345678": lambda x: (
        ((x ^ 0xFF00FF00) & (x | 0x0F0F0F0F)) | (~x & 0x12345678)
    ),
    "a >> 5 & 0x7f": lambda x: x >> 5 & 0x7F,
    "min(max(a, 10u), 1000000u)": lambda x: min(max(x, 10), 1000000),
}


@pytest.mark.parametrize("expression", COUNTS)
def test_bits(driver, expression):
    a = sample("uint32")
    expected = np.array([COUNTS[expression](int(x)) for x in a], "uint32")
    same(computed(driver, every(expression, "uint32", "uint32"), a.copy(), a), expected)


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("__popcll(a)", lambda x: bin(x).count("1")),
        ("__clzll(a)", lambda x: 64 - x.bit_length()),
        ("__brevll(a)", lambda x: int(f"{x:064b}"[::-1], 2)),
        ("__umul64hi(a, 0xdeadbeefcafebabeull)", lambda x: x * 0xDEADBEEFCAFEBABE >> 64),
        ("(unsigned __int128)a * 12345678987654321ull % 1000003", lambda x: x * 12345678987654321 % 1000003),
        (
            "((unsigned __int128)a << 17) + a * (unsigned __int128)a >> 21",
            lambda x: (((x << 17) + x * x) % 2**128) >> 21,
        ),
    ],
)
def test_bits_of_long_integers(driver, expression, function):
    a = sample("uint64")
    expected = np.array([function(int(x)) % 2**64 for x in a], "uint64")
    source = every(expression, "uint64", "uint64")
    same(computed(driver, source, a.copy(), a, options=("--device-int128",)), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_arithmetic(driver, dtype):
    a, b = sample(dtype), sample(dtype, 1)
    with np.errstate(all="ignore"):
        expected = {"a + b": a + b, "a - b": a - b, "a * b": a * b, "a / b": a / b, "-a": -a}
        expected |= {"fabs(a)": np.abs(a), "sqrt(a)": np.sqrt(a), "copysign(a, b)": np.copysign(a, b)}
        expected |= {f"{name}(a, b)": getattr(np, name)(a, b) for name in ("fmin", "fmax")}
        expected |= {f"{name}(a)": getattr(np, name)(a) for name in ("floor", "ceil", "trunc", "rint")}
    same(computed_all(driver, dtype, expected, a, b), np.array([*expected.values()]))


def test_a_product_and_a_sum_are_rounded_once(driver):
    a, b, c = (sample("float64", seed)[np.isfinite(sample("float64", seed))] for seed in range(3))
    n = min(map(len, (a, b, c)))
    a, b, c = (np.resize(values[:n], N) for values in (a, b, c))
    expected = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    got = computed(
        driver, every("fma(a, b, c)", "float64", "float64", "float64", "float64"), a.copy(), a, b, c
    )
    same(got, np.array(expected))


@pytest.mark.parametrize(("suffix", "steps"), [("rn", 0), ("ru", 1), ("rd", -1), ("rz", 0)])
def test_directions_of_rounding(driver, suffix, steps):
    a = np.full(N, 1.0, "float32")
    got = computed(driver, every(f"__fadd_{suffix}(a, 0x1p-30f)", "float32", "float32"), a.copy(), a)
    expected = np.nextafter(np.float32(1), np.float32(2)) if steps > 0 else np.float32(1)
    assert (got == expected).all()
    got = computed(driver, every(f"__fadd_{suffix}(a, -0x1p-30f)", "float32", "float32"), a.copy(), a)
    down = np.nextafter(np.float32(1), np.float32(0))
    assert (got == (down if suffix in ("rd", "rz") else np.float32(1))).all()


FUNCTIONS = ["sin", "cos", "exp", "log", "tanh", "erf", "cbrt", "exp2", "log2", "atan", "sinh", "lgamma"]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_the_library(driver, name, dtype):
    a = np.abs(sample(dtype, 3))
    a = np.clip(a[np.isfinite(a) & (a > 0)], 1e-5, 80).astype(dtype)
    a = np.resize(a, N)
    reference = getattr(math, name, None) or (lambda x: x ** (1 / 3) if name == "cbrt" else 2.0**x)
    suffix = "f" if dtype == "float32" else ""
    got = computed(driver, every(f"{name}{suffix}(a)", dtype, dtype), a.copy(), a)
    expected = np.array([reference(float(x)) for x in a])
    np.testing.assert_allclose(
        got, expected, rtol=2e-6 if dtype == "float32" else 1e-14, atol=1e-7 if dtype == "float32" else 1e-15
    )


def test_large_arguments_of_sine_are_reduced(driver):
    a = np.geomspace(1e5, 1e30, N)
    got = computed(driver, every("sin(a)", "float64", "float64"), a.copy(), a)
    np.testing.assert_allclose(got, [math.sin(x) for x in a], rtol=1e-13, atol=1e-15)


# Conversions.


# A third of all pairs: each type meets three or four on both sides.
@pytest.mark.parametrize(
    ("source", "target"),
    [(a, b) for (i, a), (j, b) in itertools.product(enumerate(C_TYPES), repeat=2) if (i + j) % 3 == 0],
)
def test_conversions(driver, source, target):
    a = sample(source)
    if "float" in source and "int" in target:
        a = np.clip(a, -120 if target.startswith("int") else 0, 120).astype(source)
    got = computed(driver, every(f"({C_TYPES[target]})a", target, source), np.zeros(N, target), a)
    with np.errstate(over="ignore"):
        same(got, a.astype(target))


def test_floats_out_of_range_saturate(driver):
    a = np.resize(np.array([1e30, -1e30, np.nan, np.inf, -np.inf, 2147483648.0, -2147483649.0, 0.5]), N)
    got = computed(driver, every("__double2int_rn(a)", "int32", "float64"), np.zeros(N, "int32"), a)
    most, least = 2**31 - 1, -(2**31)
    assert got[:8].tolist() == [most, least, 0, most, least, most, least, 0]
    got = computed(driver, every("__double2ull_ru(a)", "uint64", "float64"), np.zeros(N, "uint64"), a)
    assert got[:8].tolist()[:2] == [2**64 - 1, 0]
    assert got[7] == 1


def test_every_half_and_rounding_to_halves(driver):
    halves = np.arange(65536, dtype="uint16")
    source = """extern "C" __global__ void k(unsigned short *out, const unsigned short *in, float *wide) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(in[i]));
        wide[i] = f;
        unsigned short back;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(back) : "f"(f * 1.0009f));
        out[i] = back;
    }"""
    module = driver.load(ptx(source))
    out, there, wide = driver.put(halves * 0), driver.put(halves), driver.put(np.zeros(65536, "float32"))
    driver.launch(driver.kernel(module, "k"), 256, 256, out, there, wide)
    values = driver.get(wide, 65536, "float32")
    np.testing.assert_array_equal(values, halves.view("float16").astype("float32"))
    with np.errstate(over="ignore"):
        expected = (values * np.float32(1.0009)).astype("float16")
    np.testing.assert_array_equal(driver.get(out, 65536, "uint16").view("float16"), expected)
    for memory in (out, there, wide):
        driver.call("cuMemFree", memory)
    driver.call("cuModuleUnload", module)
