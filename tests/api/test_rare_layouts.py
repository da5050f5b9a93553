"""Layouts and sizes that the functions of arrays refuse, and rare values, on the host."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

import usmpy

AXES = 10  # more than kernels have for axes that cannot be merged


@pytest.fixture(scope="module")
def queue():
    return usmpy.Queue("host")


@pytest.fixture
def separate(queue):
    """An array, two elements along each axis, of which no two axes can be merged."""
    base = usmpy.arange(3**AXES, dtype="int32", queue=queue).reshape((3,) * AXES)
    return base[(slice(None, 2),) * AXES]


def test_a_mask_of_too_many_axes(queue, separate):
    chosen = usmpy.ones(separate.shape, dtype="bool", queue=queue)
    with pytest.raises(ValueError, match="more than 8 axes that cannot be merged; copy both first"):
        separate[chosen]
    copy = separate.copy()
    assert np.array_equal(copy[chosen].asnumpy(), separate.asnumpy().ravel())


def test_an_index_beside_too_many_axes(queue, separate):
    index = usmpy.asarray([1, 0], queue=queue)
    before = separate.asnumpy()
    with pytest.raises(ValueError, match=r"more than 7 axes beside the index .* copy it first"):
        separate[index] = 0
    assert np.array_equal(separate.asnumpy(), before)
    copy = separate.copy()
    copy[index] = 0
    assert not copy.any().item()


def test_take_from_as_many_axes_as_there_are(queue, separate):
    index = usmpy.asarray([1, 0, 1], queue=queue)
    widest = separate[(None,) * (64 - AXES)]
    with pytest.raises(ValueError, match=r"arrays of 64 dimensions .* copy x first"):
        usmpy.take(widest, index, axis=60)
    taken = usmpy.take(widest.copy(), index, axis=60)
    assert np.array_equal(taken.asnumpy().ravel(), np.take(separate.asnumpy(), [1, 0, 1], 6).ravel())


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_indices_with_gaps_are_checked_row_by_row(queue, dtype):
    x = usmpy.arange(60, queue=queue)
    index = usmpy.arange(60, dtype=dtype, queue=queue).reshape(3, 4, 5)[:, ::2, ::2]
    assert usmpy.take(x, index).tolist() == index.tolist()
    with pytest.raises(IndexError, match="axis of length 50"):
        usmpy.take(x[:50], index)  # the last row alone is outside


@pytest.mark.not_sanitized("it reserves 8 GiB of addresses")
def test_an_axis_that_is_too_long_to_sort(queue):
    try:
        x = usmpy.empty(2**32, dtype="int8", queue=queue)  # it is never touched
        with pytest.raises(ValueError, match=r"4294967296 elements is too long to sort"):
            usmpy.sort(x)
    except MemoryError:
        pytest.skip("the machine has no 8 GiB")


def test_a_list_of_arrow_that_is_too_long(queue):
    x = usmpy.zeros((0, 1, 2**31), dtype="int8", queue=queue)  # the schema has begun when axis 2 is refused
    with pytest.raises(BufferError, match="axis 2 has length 2147483648"):
        x.__arrow_c_array__()


@pytest.mark.parametrize("word", ["float 32 *x", "float32*x", "x" * 40, "x" * 40 + " *y"])
def test_words_that_are_no_parameters(word):
    function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: None)
    address = ctypes.cast(function, ctypes.c_void_p).value
    with pytest.raises(ValueError, match="is not known; allowed are pointers"):
        usmpy.Kernel.from_pointer(address, [word], owner=function)


@pytest.mark.parametrize("word", ["float32*", "  const float32 *  ", "float32* x\t"])
def test_blanks_around_parameters(word):
    function = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)(lambda *_: None)
    address = ctypes.cast(function, ctypes.c_void_p).value
    kernel = usmpy.Kernel.from_pointer(address, [word], owner=function)
    assert "float32*" in repr(kernel)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_the_sign_of_complex_numbers_whose_size_overflows(queue, dtype):
    largest = float(np.finfo(dtype).max)
    x = usmpy.asarray([complex(largest, largest), complex(-largest, largest)], dtype=dtype, queue=queue)
    half = np.sqrt(np.asarray(0.5, np.finfo(dtype).dtype))
    expected = np.array([complex(half, half), complex(-half, half)], dtype)
    np.testing.assert_allclose(usmpy.sign(x).asnumpy(), expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_tanh_of_complex_numbers_far_from_the_imaginary_axis(queue, dtype):
    numbers = np.array([30 + 1j, -30 + 1j, 30 - 2j, 12 + 0.5j], dtype)
    result = usmpy.tanh(usmpy.asarray(numbers, queue=queue)).asnumpy()
    with np.errstate(all="ignore"):
        expected = np.tanh(numbers.astype("complex128")).astype(dtype)
    np.testing.assert_allclose(result.real, expected.real, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_allclose(result.imag, expected.imag, rtol=16 * np.finfo(dtype).eps)


def test_devices_of_two_backends_make_no_context():
    others = [device for device in usmpy.get_devices() if device.backend != "host"]
    if not others:
        pytest.skip("the host is the only backend")
    with pytest.raises(ValueError, match="must be of one backend"):
        usmpy.Context([usmpy.Device("host"), others[0]])


PRODUCT = """
import usmpy
x = usmpy.ones((200, 200), device="host", dtype="float32")
assert "own kernel" in usmpy.explain_matmul(x, x), usmpy.explain_matmul(x, x)
assert ((x @ x).asnumpy() == 200).all()
"""


@pytest.mark.not_sanitized("it runs another program")
def test_a_blas_library_that_is_missing_leaves_the_own_kernel(tmp_path):
    environment = {**os.environ, "USMPY_BLAS_LIBRARY": str(tmp_path / "missing.so")}
    subprocess.run([sys.executable, "-c", PRODUCT], check=True, env=environment, timeout=60)


@pytest.mark.not_sanitized("it runs another program")
def test_a_library_without_products_leaves_the_own_kernel():
    environment = {**os.environ, "USMPY_BLAS_LIBRARY": "libc.so.6"}
    subprocess.run([sys.executable, "-c", PRODUCT], check=True, env=environment, timeout=60)


@pytest.mark.parametrize(("planes", "rows", "width"), [(66, 512, 32), (20, 128, 500)])
def test_large_copies_into_rows_with_gaps(queue, planes, rows, width):
    """Rows of whole lines, and others, past the caches."""
    x = usmpy.arange(planes * rows * width, dtype="float32", queue=queue).reshape(planes, rows, width)
    base = usmpy.zeros((planes, rows + 1, (width + 127) // 64 * 64), dtype="float32", queue=queue)
    for view in (base[:, 1:, 12 : 12 + width], base[:, :-1, :width]):
        view[...] = x
        assert np.array_equal(view.asnumpy(), x.asnumpy())


def test_a_mask_without_axes_beside_an_index(queue):
    x = usmpy.arange(6, queue=queue)
    index, mask = usmpy.asarray([0, 1], queue=queue), usmpy.asarray(True, queue=queue)
    with pytest.raises(IndexError, match="a mask of 0 dimensions beside other arrays"):
        x[mask, index]
    assert x[True].tolist() == [list(range(6))]
