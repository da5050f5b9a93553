"""NumPy: DLPack, the buffer protocol and dtypes, with and without a copy."""

from __future__ import annotations

import gc
import sys
import threading

import numpy as np
import pytest
from asleep import once_asleep
from dtypes import FORMATS as NUMBER_FORMATS
from libraries import need

import usmpy

ml_dtypes = need("ml_dtypes")

FORMATS = NUMBER_FORMATS | {
    "complex64": "Zf",
    "complex128": "Zd",
}

# -- read-only, four ways --------------------------------------------------------------------------


class Legacy:
    """Asks a producer, or is asked, without a version."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, stream=None):
        return self.x.__dlpack__()

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def ro_numpy():
    a = np.arange(4)
    a.flags.writeable = False
    return a


def ro_ours():
    return usmpy.broadcast_to(usmpy.arange(4), (2, 4))[0]


def test_read_only_and_writable_from_numpy_versioned():
    assert usmpy.from_dlpack(np.arange(4)).flags.writable
    x = usmpy.from_dlpack(ro_numpy())
    assert not x.flags.writable
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        usmpy.copyto(x, 1)


def test_read_only_and_writable_from_numpy_legacy():
    assert usmpy.from_dlpack(Legacy(np.arange(4))).flags.writable
    with pytest.raises(BufferError):
        usmpy.from_dlpack(Legacy(ro_numpy()))


def test_read_only_and_writable_to_numpy_versioned():
    x = usmpy.arange(4)
    assert np.from_dlpack(x).flags.writeable
    assert not np.from_dlpack(ro_ours()).flags.writeable


def test_read_only_and_writable_to_numpy_legacy():
    a = np.from_dlpack(Legacy(usmpy.arange(4)))
    assert a.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="read-only"):
        np.from_dlpack(Legacy(ro_ours()))


def test_read_only_round_trips_through_numpy():
    x = ro_ours()
    y = usmpy.from_dlpack(np.from_dlpack(x))
    assert y.data_ptr == x.data_ptr
    assert not y.flags.writable
    assert usmpy.from_dlpack(np.from_dlpack(x), copy=True).flags.writable


# -- layouts that NumPy alone has ------------------------------------------------------------------

VIEWS = {
    "negative": lambda a: a[::-1],
    "negative both": lambda a: a[::-2, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[:1], (5, 4)),
    "broadcast scalar": lambda a: np.broadcast_to(a[0, 0], (2, 3)),
    "diagonal": lambda a: a.diagonal(),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2)),
    "fortran": np.asfortranarray,
    "real part": lambda a: (a + 1j).real,
    "field": lambda a: np.zeros(3, [("a", "f4"), ("b", "f4")])["b"],
    "swapped axes": lambda a: np.swapaxes(a[None], 0, 2),
    "empty slice": lambda a: a[2:2, ::-1],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_numpy_are_taken_in_place(view):
    a = VIEWS[view](np.arange(12, dtype="float64").reshape(3, 4))
    for x in (usmpy.from_dlpack(a), usmpy.asarray(a, copy=False)):
        assert x.shape == a.shape
        assert x.tolist() == a.tolist()
        assert x.flags.writable == a.flags.writeable
        if a.size:
            assert x.data_ptr == a.__array_interface__["data"][0]
            steps = [s // a.itemsize for s in a.strides]
            assert [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1] == [
                s for s, n in zip(steps, a.shape, strict=True) if n > 1
            ]


def test_strides_that_are_no_multiple_of_the_item_are_refused():
    a = np.zeros(3, [("a", "i1"), ("b", "f4")])["b"]
    with pytest.raises(BufferError):
        usmpy.from_dlpack(a)


def test_unaligned_memory_is_taken_and_read_right():
    raw = np.zeros(33, "u1")
    a = raw[1:].view("f8")
    a[:] = [1, 2, 3, 4]
    x = usmpy.from_dlpack(a)
    assert x.data_ptr % 8 == raw[1:].__array_interface__["data"][0] % 8
    assert x.tolist() == [1, 2, 3, 4]
    assert usmpy.astype(x, "float32").tolist() == [1, 2, 3, 4]
    x[1:3] = 9
    assert a.tolist() == [1, 9, 9, 4]


@pytest.mark.parametrize("dtype", [">f4", ">i8", "M8[s]", "m8[us]", "S3", "U2", "O", "V5", "longdouble"])
def test_dtypes_that_cannot_be_held_are_buffer_error(dtype):
    a = np.zeros(3, dtype)
    with pytest.raises(BufferError):
        usmpy.from_dlpack(a)
    with pytest.raises((BufferError, TypeError)):
        usmpy.asarray(a)


def test_64_dimensions():
    a = np.zeros((1,) * 63 + (3,))
    assert usmpy.from_dlpack(a).shape == a.shape
    x = usmpy.zeros((1,) * 63 + (3,))
    assert np.from_dlpack(x).shape == x.shape
    assert np.asarray(x).shape == x.shape


# -- numpy's own ways of asking --------------------------------------------------------------------


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_numpy_asks_for_device_and_copy(copy, device):
    x = usmpy.arange(6, dtype="int32")
    a = np.from_dlpack(x, device=device, copy=copy)
    assert a.tolist() == [0, 1, 2, 3, 4, 5]
    assert (a.__array_interface__["data"][0] == x.data_ptr) == (copy is not True)
    assert a.flags.writeable


@pytest.mark.parametrize("dtype", FORMATS)
def test_asarray_of_numpy_shares_the_memory_through_the_buffer_protocol(dtype):
    x = usmpy.zeros((2, 3), dtype=dtype)
    a = np.asarray(x)
    assert a.dtype == np.dtype(dtype)
    assert a.__array_interface__["data"][0] == x.data_ptr
    assert a.flags.writeable
    a[0, 1] = 1
    assert x[0, 1].item() == 1
    assert np.array(x).__array_interface__["data"][0] != x.data_ptr


def test_asarray_refuses_unsupported_numpy_arrays():
    with pytest.raises(TypeError, match="asnumpy"):
        np.asarray(usmpy.zeros(3, dtype="bfloat16"))


def test_asarray_of_numpy_keeps_strides_and_read_only():
    x = usmpy.reshape(usmpy.arange(12), (3, 4))
    assert np.asarray(x[::-1, ::2].T).tolist() == x[::-1, ::2].T.tolist()
    a = np.asarray(usmpy.broadcast_to(x[0], (2, 4)))
    assert not a.flags.writeable
    assert a.strides[0] == 0


@pytest.mark.parametrize(
    "dtype", [*FORMATS, "bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu"]
)
def test_asnumpy_always_copies_and_has_the_dtype(dtype):
    x = usmpy.zeros((2, 3), dtype=dtype)
    a = x.asnumpy()
    assert (a.shape, a.dtype) == ((2, 3), np.dtype(getattr(ml_dtypes, dtype, dtype)))
    assert a.__array_interface__["data"][0] != x.data_ptr
    assert a.tobytes() == bytes(x.nbytes)


def test_numpy_waits_for_pending_work():
    queue = usmpy.Queue("host")
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    for read in (np.from_dlpack, np.asarray, lambda x: x.asnumpy()):
        go = threading.Event()

        def write(x, go=go):
            go.wait(60)
            np.asarray(x)[...] += 1

        queue.host_task(write, x)
        once_asleep(go.set)
        assert go.is_set() or read(x).tolist() == x.tolist()
    assert x.tolist() == [3, 3, 3]


# -- lives -----------------------------------------------------------------------------------------


def test_references_to_numpy_arrays_come_back():
    a = np.arange(10)
    before = sys.getrefcount(a)
    for take in (usmpy.from_dlpack, lambda a: usmpy.asarray(memoryview(a), copy=False)):
        x = take(a)
        assert sys.getrefcount(a) > before
        view = x[3:]
        del x
        assert view.tolist() == list(range(3, 10))
        del view
        gc.collect()
        assert sys.getrefcount(a) == before


def test_numpy_keeps_our_memory():
    before = usmpy._core._live_counts()
    for take in (np.from_dlpack, np.asarray, memoryview):
        kept = take(usmpy.arange(100))[50:]
        gc.collect()
        usmpy.zeros(100, dtype="int64").wait()
        assert kept.tolist() == list(range(50, 100))
        del kept
        gc.collect()
        assert usmpy._core._live_counts() == before


def test_many_threads_exchange_with_numpy():
    errors = []

    def work(seed):
        try:
            for i in range(200):
                a = np.full((3, 5), seed * 1000 + i)
                x = usmpy.from_dlpack(a)
                b = np.from_dlpack(x[1:])
                if b.tolist() != a[1:].tolist():
                    errors.append((seed, i))
        except Exception as error:  # reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "complex128"])
def test_numpy_asks_an_array_for_its_dtype(dtype):
    x = usmpy.zeros((2, 3), dtype=dtype)
    assert x.__numpy_dtype__ == np.dtype(dtype)


def test_numpy_has_no_dtype_for_packed_elements():
    x = usmpy.empty(4, dtype="float4_e2m1fn")
    with pytest.raises(TypeError, match="float4_e2m1fn"):
        _ = x.__numpy_dtype__
