"""Python functions in place of the texts of ElementwiseKernel, ReductionKernel and ScanKernel."""

import math

import numpy as np
import pytest
from python_kernels.written import functions

import usmpy

REALS = ("float16", "float32", "float64")
DTYPES = ("int8", "uint8", "int32", "int64", "uint64", *REALS, "complex64")
FACTOR = 3


def scaled(v):
    return v * FACTOR


def distance(x, y):
    d = scaled(x) - y
    return d * d


def both(x, y):
    if x > y:
        return x, y
    return y, x


def root(a, n):
    return math.sqrt(a / n)


def total(a, b):
    return a + b


def larger(a, b):
    return max(a, b)


def scatter(x, at, y):
    y[at] = x


def supported(device, dtype):
    return (dtype != "float64" or device.has_fp64) and (dtype != "float16" or device.has_fp16)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ["whole", "strided", "scalar"])
def test_elementwise(device, queue, dtype, shape):
    if not supported(device, dtype):
        pytest.skip(f"the device has no {dtype}")
    kernel = usmpy.ElementwiseKernel("T x, T y", "T z", distance)
    a, b = np.arange(12).reshape(3, 4).astype(dtype), np.ones(4, dtype)
    x, y = usmpy.asarray(a, queue=queue), usmpy.asarray(b, queue=queue)
    if shape == "strided":
        x, a = x[:, ::2], a[:, ::2]
        y, b = y[:2], b[:2]
    if shape == "scalar":
        y, b = 1, b[0]
    expected = (a * np.array(FACTOR, dtype) - b) ** 2
    assert np.array_equal(kernel(x, y).asnumpy(), expected.astype(dtype))


def test_several_outputs_and_helpers_of_texts(queue):
    kernel = usmpy.ElementwiseKernel("T x, T y", "T high, float32 low", both, "both")
    x = usmpy.asarray([1, 5, 3], dtype="int32", queue=queue)
    high, low = kernel(x, 3)
    assert high.tolist() == [3, 5, 3]
    assert low.tolist() == [1.0, 3.0, 3.0]
    assert low.dtype == usmpy.float32


def test_raw_arrays(queue):
    kernel = usmpy.ElementwiseKernel("T x, int64 at, raw T y", "", scatter)
    y = usmpy.zeros(4, dtype="int32", queue=queue)
    kernel(5, usmpy.asarray([0, 2], queue=queue), y)
    assert y.tolist() == [5, 0, 5, 0]
    table = usmpy.ElementwiseKernel("int32 i_, raw T t", "T z", lambda_of("i, t", "t[i] + t[0]"))
    assert table(usmpy.asarray([1, 0], dtype="int32", queue=queue), y).tolist() == [5, 10]


def lambda_of(arguments, text):
    return functions(f"def f({arguments}):\n    return {text}\n")["f"]


@pytest.mark.parametrize("texts", range(8))
def test_reductions_of_texts_and_functions(queue, texts):
    """Each of map, reduce and post is a text or a function."""
    parts = [("x * x", lambda_of("x", "x * x")), ("a + b", total), ("y = sqrt(a / n)", root)]
    chosen = [part[texts >> k & 1] for k, part in enumerate(parts)]
    kernel = usmpy.ReductionKernel("T x", "T y", *chosen, 0, "rms")
    numbers = np.random.default_rng(3).random((5, 70), "float32")
    x = usmpy.asarray(numbers, queue=queue)
    for axis in (0, 1, None):
        expected = np.sqrt((numbers.astype("float64") ** 2).mean(axis))
        assert np.allclose(kernel(x, axis=axis).asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("texts", range(8))
def test_scans_of_texts_and_functions(queue, texts):
    parts = [("x", lambda_of("x", "x")), ("max(a, b)", larger), ("y = a + 1", lambda_of("a", "a + 1"))]
    chosen = [part[texts >> k & 1] for k, part in enumerate(parts)]
    kernel = usmpy.ScanKernel("T x", "T y", *chosen)
    numbers = np.random.default_rng(3).integers(0, 1000, 700).astype("int32")
    assert np.array_equal(
        kernel(usmpy.asarray(numbers, queue=queue)).asnumpy(), np.maximum.accumulate(numbers) + 1
    )


@pytest.mark.parametrize(
    ("function", "outputs", "message"),
    [
        (lambda_of("x", "x / 2"), "int32 z", "float.* is stored in int32"),
        (lambda_of("x, y", "x"), "T z", "has 2 arguments, and 1 are given"),
        (lambda_of("x", "(x, x)"), "T z", "returns 2 values for 1 outputs"),
        (lambda_of("x", "x + unknown"), "T z", "unknown: no such name"),
        (functions("def f(x):\n    x += 1\n")["f"], "T z", "returns nothing"),
    ],
)
def test_refusals(queue, function, outputs, message):
    kernel = usmpy.ElementwiseKernel("T x", outputs, function)
    with pytest.raises(usmpy.BuildError, match=message):
        kernel(usmpy.ones(3, dtype="int32", queue=queue))


def test_the_length_of_a_raw_array_is_unknown(queue):
    kernel = usmpy.ElementwiseKernel("T x, raw T t", "T z", lambda_of("x, t", "x + len(t)"))
    x = usmpy.ones(3, dtype="int64", queue=queue)
    with pytest.raises(usmpy.BuildError, match="pass it as a number"):
        kernel(x, x)


def test_types_of_a_preamble_are_refused(queue):
    kernel = usmpy.ReductionKernel(
        *("float32 x", "float32 y", lambda_of("x", "x"), "a", "y = a.v", None),
        reduce_type="struct pair",
        preamble="struct pair { float v; int i; };",
    )
    with pytest.raises(TypeError, match="a dtype is allowed"):
        kernel(usmpy.ones(3, dtype="float32", queue=queue))


def test_kernels_are_functions_too(queue):
    kernel = usmpy.ElementwiseKernel("T x, T y", "T z", usmpy.kernel(distance))
    x = usmpy.ones(3, dtype="float32", queue=queue)
    assert kernel(x, x).tolist() == [4.0, 4.0, 4.0]
