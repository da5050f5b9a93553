"""Complex numbers of Python kernels far from 1: what NumPy gives, also where squares overflow."""

import itertools

import pytest

import usmpy
from usmpy.kernel_api import get_global_id

pytestmark = pytest.mark.not_sanitized("each case builds a program: test_python_launches.py has the C code")

np = pytest.importorskip("numpy")


def divide(x, y, results):
    i = get_global_id(0)
    results[i, 0] = x[i] / y[i]
    results[i, 1] = 1 / y[i]
    results[i, 2] = y[i] ** -1
    results[i, 3] = x[i] / y[i].real if y[i].real != 0 else 0
    results[i, 4] = usmpy.sqrt(y[i])


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_divisions(device, name):
    if name == "complex128" and not device.has_fp64:
        pytest.skip("the device lacks double precision")
    far = 30 if name == "complex64" else 300
    parts = [0, 1, -2.5, 10.0**far, 10.0**-far, 10.0 ** (far // 2 + 5), -(10.0 ** -(far // 2 + 5))]
    y = np.array([complex(*pair) for pair in itertools.product(parts, parts)][1:], name)
    x = np.full(len(y), 0.5 - 2j, name)
    with np.errstate(all="ignore"):
        real = np.where(y.real != 0, x / np.where(y.real != 0, y.real, 1), 0)
        expected = np.stack([x / y, 1 / y, 1 / y, real, np.sqrt(y)], axis=1)
    results = usmpy.zeros(expected.shape, dtype=name, device=device)
    kernel = usmpy.kernel(divide)
    kernel[len(y)](usmpy.asarray(x, device=device), usmpy.asarray(y, device=device), results).wait()
    near = np.finfo(name).eps * 8
    size = np.where(np.isfinite(expected), np.maximum(np.abs(expected), np.finfo(name).tiny), 1)
    np.testing.assert_allclose(results.asnumpy() / size, expected / size, near, near)


def test_zeros_and_infinities(device):
    values = np.array([0, complex(0, np.inf), complex(-1, -np.inf)], "complex64")
    results = usmpy.zeros((3, 5), dtype="complex64", device=device)
    ones = usmpy.ones(3, dtype="complex64", device=device)
    usmpy.kernel(divide)[3](ones, usmpy.asarray(values, device=device), results).wait()
    with np.errstate(all="ignore"):
        expected = np.stack([np.ones(3, "complex64") / values, np.sqrt(values)], axis=1)
    np.testing.assert_array_equal(results.asnumpy()[:, [0, 4]], expected)
