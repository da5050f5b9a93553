"""Operations that give the same bits on every device (docs/numerics.md), against NumPy on the host."""

import itertools

import numpy as np
import pytest

import usmpy

SOURCE = """
kernel void divide(global const T *x, global const T *y, global T *z)
{
    size_t i = get_global_id(0);
    z[i] = x[i] / y[i];
}
kernel void root(global const T *x, global T *z)
{
    size_t i = get_global_id(0);
    z[i] = sqrt(x[i]);
}
kernel void sums(global const T *x, global const T *y, global T *z)
{
    size_t i = get_global_id(0), n = get_global_size(0);
    z[i] = x[i] + y[i];
    z[n + i] = x[i] - y[i];
    z[2 * n + i] = x[i] * y[i];
}
static T weigh(T x, T y, T weight)
{
    return x + y * weight;
}
kernel void products(global const T *x, global const T *y, global const T *c, global T *z)
{
    size_t i = get_global_id(0), n = get_global_size(0);
    z[i] = x[i] * y[i] + c[i];
    z[n + i] = x[i] * y[i] - c[i];
    z[2 * n + i] = c[i] - x[i] * y[i];
    z[3 * n + i] = weigh(c[i], x[i], y[i]);
    z[4 * n + i] = x[i] * y[i] + c[i] * x[i];
    T sum = 0;
    for (int k = 0; k < 5; k++) {
        sum += x[(i + k) % n] * y[(i + k) % n];
    }
    z[5 * n + i] = sum;
    z[6 * n + i] = fma(x[i], y[i], c[i]);
}
"""


@pytest.fixture(params=["float32", "float64"])
def dtype(request, device):
    if request.param == "float64" and not device.has_fp64:
        pytest.skip("the device does not compute in float64")
    return np.dtype(request.param)


@pytest.fixture
def run(queue, dtype):
    """run(kernel, n, number of results of the size n, *arrays): the results, as rows."""
    name = {"float32": "float", "float64": "double"}[dtype.name]
    program = usmpy.Program(SOURCE, device=queue, options=f"-D T={name}")

    def launch(kernel, rows, *arrays):
        out = usmpy.zeros((rows, len(arrays[0])), dtype=dtype.name, queue=queue)
        given = [usmpy.asarray(array, queue=queue, copy=True) for array in arrays]
        program[kernel][len(arrays[0])](*given, out)
        return out.asnumpy()

    return launch


def random_bits(dtype, n, seed):
    bits = np.random.default_rng(seed).integers(0, 1 << 8 * dtype.itemsize, n, f"u{dtype.itemsize}")
    return bits.view(dtype)


def awkward(dtype):
    """Zeros, infinities, NaN, the ends of the range, numbers beside powers of two, and subnormal ones."""
    info = np.finfo(dtype)
    numbers = [0, 1, 1.5, 2, 3, 7, 10, 1 / 3, 1 + info.eps, 1 - info.epsneg, 2 - info.eps, info.max]
    numbers += [info.tiny, info.tiny * (1 + info.eps), 2 * info.tiny, np.inf, np.nan, info.max / 2]
    numbers += [info.smallest_subnormal, info.tiny - info.smallest_subnormal, info.tiny / 3]
    return np.array([*numbers, *(-x for x in numbers)], dtype)


def pairs(dtype, seed=1):
    """Two arrays: each awkward number with each, and random bits."""
    grid = np.array(list(itertools.product(awkward(dtype), repeat=2)), dtype).T
    return [np.concatenate([grid[k], random_bits(dtype, 8000, seed + k)]) for k in range(2)]


def is_subnormal(x):
    return (x != 0) & (abs(x) < np.finfo(x.dtype).tiny)


def check(device, found, expected, *operands):
    """Equal bits, or two NaNs. Without `denorm`, float32 results with a subnormal number are not compared."""
    bits = f"u{expected.dtype.itemsize}"
    same = (found.view(bits) == expected.view(bits)) | (np.isnan(found) & np.isnan(expected))
    if "denorm" not in device.single_fp_config and expected.dtype == np.float32:
        for x in (expected, *operands):
            same |= is_subnormal(x)
    wrong = np.flatnonzero(~same)
    shown = [(*(x[i].item().hex() for x in operands), found[i].item().hex()) for i in wrong[:3]]
    assert not len(wrong), f"{len(wrong)} differ, such as {shown}"


def ulps(found, expected):
    """The distance of float32 results from those in float64, in units in the last place."""
    with np.errstate(over="ignore", invalid="ignore"):
        spacing = np.spacing(np.maximum(abs(expected), np.finfo(np.float32).tiny).astype(np.float32))
        return abs(found.astype(np.float64) - expected) / spacing


def is_rounded(device, dtype):
    """Drivers for processors round correctly even if they do not report it."""
    named = "correctly_rounded_divide_sqrt" in device.single_fp_config
    return named or device.device_type == "cpu" or dtype == np.float64


def check_rounded(device, most_ulps, found, expected, exact, *operands):
    if is_rounded(device, expected.dtype):
        check(device, found, expected, *operands)
        return
    normal = np.isfinite(expected) & ~is_subnormal(expected) & (expected != 0)
    for x in operands:
        normal &= np.isfinite(x) & ~is_subnormal(x)
    assert np.all(ulps(found, exact)[normal] <= most_ulps)


def test_kernel_sums_and_products_have_the_same_bits(run, device, dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected = [x + y, x - y, x * y]
    for row, numbers in zip(run("sums", 3, x, y), expected, strict=True):
        check(device, row, numbers, x, y)


def test_kernel_division_is_correctly_rounded(run, device, dtype):
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        expected, exact = x / y, x.astype(np.float64) / y.astype(np.float64)
    check_rounded(device, 2.5, run("divide", 1, x, y)[0], expected, exact, x, y)


def test_kernel_square_roots_are_correctly_rounded(run, device, dtype):
    x = np.concatenate([awkward(dtype), random_bits(dtype, 8000, 3)])
    with np.errstate(all="ignore"):
        expected, exact = np.sqrt(x), np.sqrt(x.astype(np.float64))
    check_rounded(device, 3, run("root", 1, x)[0], expected, exact, x)


def test_kernel_quotients_of_multiples_are_whole(run, device, dtype):
    if not is_rounded(device, dtype):
        pytest.skip("the device does not round float32 division correctly: 7/7 may be 0.99999994")
    n = np.arange(1, 1001, dtype=dtype)
    assert np.array_equal(run("divide", 1, n, n)[0], np.ones(1000))
    multiples, d = (part.ravel() for part in np.meshgrid(n[:100], n[:100]))
    assert np.array_equal(run("divide", 1, multiples * d, d)[0], multiples)
    assert np.array_equal(run("root", 1, n * n)[0], n)


def test_kernel_products_and_sums_are_rounded_one_after_the_other(run, device, dtype):
    rng = np.random.default_rng(5)
    x, y = rng.normal(0, 1, (2, 4000)).astype(dtype)
    c = (-x * y * (1 + rng.normal(0, 1e-3, 4000))).astype(dtype)  # the product's low bits matter
    rows = run("products", 7, x, y, c)
    expected = [x * y + c, x * y - c, c - x * y, c + x * y, x * y + c * x]
    total = np.zeros_like(x)
    for k in range(5):
        total += np.roll(x * y, -k)
    for row, numbers in zip(rows, [*expected, total], strict=False):
        check(device, row, numbers, x, y, c)
    # fma() itself rounds once: it has other bits for most of these.
    assert np.count_nonzero(rows[6] != rows[0]) > 2000
    if dtype == np.float32:  # the product is exact in float64, and its sum with c nearly
        exact = x.astype(np.float64) * y + c
        assert np.all(ulps(rows[6], exact) <= 0.5001)


def test_kernel_contraction_is_an_option(queue, dtype):
    """-cl-mad-enable allows one rounding instead of two, and nothing else."""
    name = {"float32": "float", "float64": "double"}[dtype.name]
    rng = np.random.default_rng(6)
    x, y = rng.normal(0, 1, (2, 1000)).astype(dtype)
    c = (-x * y * (1 + rng.normal(0, 1e-3, 1000))).astype(dtype)
    given = [usmpy.asarray(array, queue=queue, copy=True) for array in (x, y, c)]
    rows = []
    for options in ("", " -cl-mad-enable"):
        out = usmpy.zeros((7, 1000), dtype=dtype.name, queue=queue)
        program = usmpy.Program(SOURCE, device=queue, options=f"-D T={name}{options}")
        program.products[1000](*given, out)
        rows.append(out.asnumpy())
    (apart, *_, once), (either, *_) = rows
    assert np.all((either == apart) | (either == once))


@pytest.mark.parametrize("target", ["int8", "uint32", "float16", "bfloat16", "complex64", "float64"])
def test_conversions_have_the_bits_of_the_host(queue, device, target):
    if target == "float64" and not device.has_fp64:
        pytest.skip("the device does not compute in float64")
    x = np.concatenate([awkward(np.dtype("float32")), random_bits(np.dtype("float32"), 5000, 7)])
    x = x[~np.isnan(x)]  # their sign and payload differ
    if "denorm" not in device.single_fp_config:
        x = x[~is_subnormal(x)]
    ours = usmpy.asarray(x, queue=queue, copy=True).astype(target)
    theirs = usmpy.asarray(x, device="host", copy=True).astype(target)
    assert ours.to_device("host").copy().tobytes() == theirs.tobytes()


def test_sequences_have_the_bits_of_the_host(queue, device):
    if not device.has_fp64:
        pytest.skip("the device does not compute in float64, in which the host computes sequences")
    for dtype in ("float32", "float64"):
        ours = usmpy.linspace(0.1, 7.3, 999, dtype=dtype, queue=queue).asnumpy()
        assert ours.tobytes() == usmpy.linspace(0.1, 7.3, 999, dtype=dtype, device="host").asnumpy().tobytes()
        ours = usmpy.arange(0.1, 80, 0.7, dtype=dtype, queue=queue).asnumpy()
        assert ours.tobytes() == usmpy.arange(0.1, 80, 0.7, dtype=dtype, device="host").asnumpy().tobytes()
