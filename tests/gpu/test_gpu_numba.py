"""usmpy.numba on the GPU: Numba's PTX as a program, launched in the queue of the arrays."""

from __future__ import annotations

import numpy as np
import pytest

import usmpy
from usmpy.numba import get_global_id, get_global_size, kernel

pytestmark = pytest.mark.usefixtures("numba_cuda")


def array(device, values, dtype):
    return usmpy.asarray(np.asarray(values, dtype), device=device)


def test_arrays_and_scalars(device):
    @kernel
    def add(a, b, c, scale, flag):
        i = get_global_id(0)
        if flag:
            c[i] = a[i] + b[i] * scale

    a, b = array(device, range(1009), "f4"), array(device, np.ones(1009), "f4")
    for dtype, scale in (("f4", 2.0), ("f8", 3), ("f4", np.float32(4))):
        c = array(device, np.zeros(1009), dtype)
        add[1009](a, b, c, scale, True).wait()
        np.testing.assert_array_equal(c.asnumpy(), np.arange(1009) + float(scale))
        add[1009](a, b, c, 100.0, False).wait()
        assert c.tolist()[0] == float(scale)


def test_helpers_shapes_orders_and_the_size_of_the_range(device):
    from numba import cuda

    @cuda.jit(device=True)
    def place():
        return get_global_id(0) * 10 + get_global_id(1)

    @kernel
    def grid(x, y):
        i, j = get_global_id(0), get_global_id(1)
        x[i, j] = place() + 1000 * get_global_size(0) + 100000 * get_global_size(1)
        y[i, j] = x.shape[0] * x.shape[1]

    x = array(device, np.zeros((5, 7)), "i8")
    y = usmpy.USMArray((5, 7), "int32", device=device, order="F")
    grid[usmpy.Range(5, 7)](x, y).wait()
    i, j = np.indices((5, 7))
    np.testing.assert_array_equal(x.asnumpy(), i * 10 + j + 5000 + 700000)
    np.testing.assert_array_equal(y.asnumpy(), np.full((5, 7), 35))


def test_dependencies_and_read_only_arrays(device):
    @kernel
    def copy(x, y):
        y[get_global_id(0)] = x[get_global_id(0)]

    @kernel
    def double(x):
        x[get_global_id(0)] *= 2

    x, y = array(device, range(100), "f8"), array(device, np.zeros(100), "f8")
    event = double[100](x)
    copy[usmpy.Range(100), [event]](x, y).wait()
    assert y.tolist() == [2.0 * i for i in range(100)]
    repeated = usmpy.broadcast_to(array(device, [5], "f8"), (1,))
    copy[1](repeated, y).wait()
    assert y.tolist()[0] == 5


def test_numbas_errors_are_shown_in_full(device):
    @kernel
    def wrong(x):
        x[get_global_id(0)] = no_such_name  # noqa: F821

    with pytest.raises(usmpy.BuildError, match="no_such_name"):
        wrong[3](array(device, np.zeros(3), "f4"))


def test_one_function_for_the_host_and_the_gpu(device):
    @kernel
    def triple(x):
        x[get_global_id(0)] *= 3

    for place in (device, usmpy.Device("host:cpu:0")):
        x = usmpy.ones(10, dtype="float32", device=place)
        triple[10](x).wait()
        assert x.tolist() == [3.0] * 10
