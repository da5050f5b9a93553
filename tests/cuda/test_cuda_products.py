"""Products of matrices by cuBLAS: what it is asked for, by a library in its place that computes slowly."""

from __future__ import annotations

import subprocess
import textwrap

import another
import cuda_drivers
import pytest

# As cuBLAS is documented: matrices by columns, C = op(A) op(B) of `batch` products. Elements are copied one
# by one, since the device's memory is the driver's. FAILS is the number of the product that is refused.
CUBLAS = """
#include <dlfcn.h>
#include <stdlib.h>
static void *stream;
static int (*synchronize)(void *), (*read_memory)(void *, unsigned long long, size_t);
static int (*write_memory)(unsigned long long, const void *, size_t);
int products;
int cublasCreate_v2(void **handle) { *handle = &products; return CREATES; }
int cublasSetStream_v2(void *handle, void *s) { stream = s; return handle == &products ? 0 : 1; }
static double of(const void *number, int type)
{
    return type == 1 ? *(const double *)number : *(const float *)number;
}
static double get(const void *data, long long at, int type)
{
    double element;
    size_t size = type == 1 ? 8 : 4;
    if (read_memory(&element, (unsigned long long)data + at * size, size) != 0) abort();
    return of(&element, type);
}
static void put(void *data, long long at, int type, double value)
{
    float single = value;
    size_t size = type == 1 ? 8 : 4;
    const void *element = type == 1 ? (void *)&value : &single;
    if (write_memory((unsigned long long)data + at * size, element, size) != 0) abort();
}
int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                               const void *a, int a_type, int lda, long long a_batch, const void *b,
                               int b_type, int ldb, long long b_batch, const void *beta, void *c, int c_type,
                               int ldc, long long c_batch, int batch, int compute, int algorithm)
{
    void *driver = dlopen(getenv("USMPY_CUDA_LIBRARY"), RTLD_NOW);
    *(void **)&synchronize = dlsym(driver, "cuStreamSynchronize");
    *(void **)&read_memory = dlsym(driver, "cuMemcpyDtoH_v2");
    *(void **)&write_memory = dlsym(driver, "cuMemcpyHtoD_v2");
    if (++products == FAILS || handle != &products || a_type != c_type || b_type != c_type) return 14;
    if (lda < (op_a ? k : m) || ldb < (op_b ? n : k) || ldc < m) return 7;
    if (compute != (c_type == 1 ? 70 : 69) || of(alpha, c_type) != 1 || of(beta, c_type) != 0) return 15;
    if (synchronize(stream) != 0) return 13;
    for (long long i = 0; i < batch; i++)
        for (long long row = 0; row < m; row++)
            for (long long column = 0; column < n; column++) {
                double sum = 0;
                for (long long l = 0; l < k; l++)
                    sum += get(a, i * a_batch + (op_a ? l + row * lda : row + l * lda), a_type) *
                           get(b, i * b_batch + (op_b ? column + l * ldb : l + column * ldb), b_type);
                put(c, i * c_batch + row + column * ldc, c_type, sum);
            }
    return 0;
}
"""
START = """
import ctypes, os
import numpy as np
import usmpy
device = usmpy.Device("cuda:gpu:0")
def products():
    return ctypes.c_int.in_dll(ctypes.CDLL(os.environ["USMPY_CUBLAS_LIBRARY"]), "products").value
def numbers(*shape):
    return np.arange(np.prod(shape), dtype="float64").reshape(shape) % 7 - 3
def check(a, b):
    '''Arrays of usmpy made of these, with their strides.'''
    def ours(x):
        base = x if x.base is None else x.base
        y = usmpy.asarray(np.ascontiguousarray(base), device=device)
        if x.base is None:
            return y
        assert x.T is not None and x.base.ndim == x.ndim
        return usmpy.permute_dims(y, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    np.testing.assert_array_equal(usmpy.matmul(ours(a), ours(b)).asnumpy(), a @ b)
"""


def run(library, script):
    environment = {**cuda_drivers.environment(version=13000), "USMPY_CUBLAS_LIBRARY": str(library)}
    another.run(START + textwrap.dedent(script), environment)


@pytest.fixture
def make(tmp_path):
    def make(creates=0, fails=0):
        source, library = tmp_path / "cublas.c", tmp_path / "libcublas.so.13"
        source.write_text(CUBLAS.replace("CREATES", str(creates)).replace("FAILS", str(fails)))
        command = [*cuda_drivers.compiler(), "-shared", "-fPIC", "-o", library, source, "-ldl"]
        subprocess.run(command, check=True)
        return library

    return make


PRODUCTS = """
for dtype in ("float32", "float64"):
    def of(*shape):
        return numbers(*shape).astype(dtype)
    def turned(*shape):
        return np.swapaxes(of(*shape), -1, -2)
    check(of(5, 6), of(6, 7))
    check(turned(6, 5), of(6, 7))
    check(of(5, 6), turned(7, 6))
    check(turned(6, 5), turned(7, 6))
    check(of(4, 5, 6), of(4, 6, 7))
    check(of(2, 3, 5, 6), of(3, 6, 7))
    check(turned(2, 3, 6, 5), of(6, 7))
    check(of(1, 6), of(6, 1))
"""


def test_products_are_asked_for_by_columns(make):
    run(make(), PRODUCTS + "assert products() >= 16, products()")


def test_strides_that_it_does_not_take(make):
    """These matrices are copied, or the built-in kernel computes the product."""
    run(
        make(),
        """
        a, b = numbers(6, 8), numbers(8, 10)
        x, y = (usmpy.asarray(each, device=device) for each in (a, b))
        expected = a[::2, ::2] @ b[::2, ::2]
        np.testing.assert_array_equal(usmpy.matmul(x[::2, ::2], y[::2, ::2]).asnumpy(), expected)
        np.testing.assert_array_equal(usmpy.matmul(x[::-1], y).asnumpy(), a[::-1] @ b)
        """,
    )


@pytest.mark.parametrize("settings", [{"creates": 1}, {"fails": 1}, {"fails": 3}], ids=str)
def test_a_library_that_fails_changes_no_result(make, settings):
    run(make(**settings), PRODUCTS)


@pytest.mark.parametrize("name", ["none", "/nowhere/libcublas.so.13"])
def test_without_the_library_the_built_in_kernel_computes(name):
    run(name, PRODUCTS)
