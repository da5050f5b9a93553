"""tvm-ffi: the C exchange table from both sides."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from libraries import need

import usmpy
from usmpy import _core

tvm_ffi = need("tvm_ffi")


def test_tvm_ffi_takes_our_table():
    x = usmpy.reshape(usmpy.arange(6, dtype="float32"), (2, 3))
    view = tvm_ffi.from_dlpack(x)
    assert view.data_ptr() == x.data_ptr
    assert tuple(view.shape) == (2, 3)
    assert tuple(view.strides) == (3, 1)
    assert np.from_dlpack(view).tolist() == x.tolist()


def test_a_function_of_tvm_ffi_takes_our_array_as_argument():
    x = usmpy.arange(6, dtype="float32")
    seen = []

    def look(tensor):
        seen.append((tensor.data_ptr(), tuple(tensor.shape), str(tensor.dtype)))
        return tensor

    function = tvm_ffi.convert(look)
    back = function(x)
    assert seen == [(x.data_ptr, (6,), "float32")]
    # What comes back is made by our table, or is the tensor of tvm-ffi over the same memory.
    again = back if isinstance(back, usmpy.USMArray) else usmpy.from_dlpack(back)
    assert again.data_ptr == x.data_ptr
    assert again.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_tensor_of_tvm_ffi_made_from_ours_comes_back():
    x = usmpy.arange(6, dtype="int64")
    view = tvm_ffi.from_dlpack(x)
    back = usmpy.from_dlpack(view)
    del view
    assert back.data_ptr == x.data_ptr
    back[0] = 9
    assert x.tolist()[0] == 9


@pytest.mark.parametrize(
    "dtype", ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "bfloat16"]
)
def test_dtypes_that_numpy_lacks_survive_the_way_there_and_back(dtype):
    x = usmpy.zeros(8, dtype=dtype)
    back = usmpy.from_dlpack(tvm_ffi.from_dlpack(x))
    assert (back.dtype, back.shape, back.data_ptr) == (x.dtype, (8,), x.data_ptr)


def test_read_only_arrays_are_handed_out():
    x = usmpy.broadcast_to(usmpy.arange(3), (2, 3))
    view = tvm_ffi.from_dlpack(x)
    assert tuple(view.strides) == (0, 1)


def test_lives():
    before = usmpy._core._live_counts()
    view = tvm_ffi.from_dlpack(usmpy.arange(100))
    gc.collect()
    usmpy.zeros(100, dtype="int64").wait()
    assert np.from_dlpack(view).tolist() == list(range(100))
    del view
    gc.collect()
    assert usmpy._core._live_counts() == before


def test_an_error_of_our_table_is_no_success_in_c():
    """tvm_ffi looks at what the function returns, where ctypes sees the exception."""

    class Other:
        __dlpack_c_exchange_api__ = usmpy.USMArray.__dlpack_c_exchange_api__

    with pytest.raises(TypeError, match="exchange table of USMArray"):
        tvm_ffi.from_dlpack(Other())


def test_a_consumer_in_c_hears_that_memory_has_run_out():
    x = usmpy.arange(3)
    _core._fault("heap", 1)
    try:
        with pytest.raises(MemoryError):
            tvm_ffi.from_dlpack(x)
    finally:
        _core._fault("heap", 0)
    assert np.from_dlpack(tvm_ffi.from_dlpack(x)).tolist() == [0, 1, 2]
