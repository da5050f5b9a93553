"""Arrays of other libraries and ours on one GPU: the same memory, both ways, with every layout and dtype."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import usmpy

CUDA, CUDA_HOST, CUDA_MANAGED, CPU, ONEAPI = 2, 3, 13, 1, 14


def elements(dtype: str, n: int = 24) -> np.ndarray:
    a = np.arange(n) % 2 if dtype == "bool" else np.arange(n)
    return a.astype(dtype) if "complex" not in dtype else (a + 1j * a[::-1]).astype(dtype)


def ours(a: np.ndarray, device) -> usmpy.USMArray:
    x = usmpy.asarray(a, device=device, copy=True)
    x.wait()
    return x


DTYPES = ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_their_arrays_come_in_place(peer, device, dtype):
    if dtype not in peer.dtypes:
        pytest.skip(f"{peer.name} has no {dtype}")
    a = elements(dtype).reshape(4, 6)
    theirs = peer.make(a)
    x = usmpy.from_dlpack(theirs) if hasattr(theirs, "__dlpack__") else usmpy.asarray(theirs)
    assert x.data_ptr == peer.address(theirs)
    assert (x.shape, x.dtype.name, x.usm_type) == ((4, 6), dtype, "device")
    assert x.queue is device.queue
    np.testing.assert_array_equal(x.asnumpy(), a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_our_arrays_go_out_in_place(peer, device, dtype):
    if dtype not in peer.dtypes:
        pytest.skip(f"{peer.name} has no {dtype}")
    a = elements(dtype).reshape(4, 6)
    x = ours(a, device)
    theirs = peer.take(x)
    assert peer.address(theirs) == x.data_ptr
    np.testing.assert_array_equal(peer.numpy(theirs), a)


def test_writes_are_seen_on_the_other_side(peer, device):
    if not peer.writes:
        pytest.skip(f"arrays of {peer.name} are not written to")
    x = usmpy.zeros(1000, dtype="float32", device=device)
    theirs = peer.take(x)
    peer.add_one(theirs)
    peer.numpy(theirs)  # waits
    assert set(x.tolist()) == {1.0}
    x.queue.fill(x, 5.0).wait()
    assert set(peer.numpy(theirs).tolist()) == {5.0}


LAYOUTS = {
    "transposed": lambda a: a.T,
    "stepped": lambda a: a[::2, 1::3],
    "one row": lambda a: a[2],
    "nothing": lambda a: a[:0],
    "one element": lambda a: a[1:2, 3:4],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_ours(peer, device, layout):
    if not peer.views and layout == "stepped":
        pytest.skip(f"arrays of {peer.name} have no strides")
    a = np.arange(48, dtype="int32").reshape(6, 8)
    x = LAYOUTS[layout](ours(a, device))
    theirs = peer.take(x)
    expected = LAYOUTS[layout](a)
    assert peer.numpy(theirs).tolist() == expected.tolist()
    if expected.size:
        assert peer.address(theirs) == x.data_ptr


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_layouts_of_theirs(request, device, library, layout):
    module = request.getfixturevalue(library)
    a = np.arange(48, dtype="int32").reshape(6, 8)
    whole = module.asarray(a) if library == "cupy" else module.tensor(a, device="cuda")
    theirs = LAYOUTS[layout](whole)
    x = usmpy.from_dlpack(theirs)
    expected = LAYOUTS[layout](a)
    assert x.shape == expected.shape
    np.testing.assert_array_equal(x.asnumpy(), expected)
    if expected.size:
        assert x.data_ptr == (theirs.data.ptr if library == "cupy" else theirs.data_ptr())


def test_negative_strides_of_cupy(cupy, device):
    """CuPy 14 divides them as unsigned numbers: they are right modulo 2**64 bytes."""
    theirs = cupy.arange(10)[::-2]
    for x in (usmpy.from_dlpack(theirs), usmpy.asarray(theirs), usmpy.asarray(_Interface(theirs))):
        assert x.strides == (-2,)
        assert x.tolist() == [9, 7, 5, 3, 1]


class _Interface:
    """Only the other protocol of an array."""

    def __init__(self, array):
        self.array = array

    @property
    def __cuda_array_interface__(self):
        return self.array.__cuda_array_interface__


def test_zero_dimensions(cupy, torch, device):
    assert usmpy.from_dlpack(cupy.asarray(5.0)).tolist() == 5.0
    assert usmpy.from_dlpack(torch.tensor(6.0, device="cuda")).tolist() == 6.0
    x = usmpy.full((), 7.0, dtype="float32", device=device)
    x.wait()
    assert cupy.from_dlpack(x).get() == 7.0
    assert torch.from_dlpack(x).item() == 7.0


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_floats_of_torch_bit_for_bit(torch, device, name):
    bits = torch.arange(64, dtype=torch.uint8, device="cuda")
    theirs = bits.view(getattr(torch, name))
    try:
        x = usmpy.from_dlpack(theirs)
    except (TypeError, RuntimeError, BufferError) as error:
        if type(theirs).__module__ not in str(error) and "float8" not in name:
            raise
        pytest.skip(f"this PyTorch does not export {name}: {error}")
    assert x.dtype.name == name
    assert torch.from_dlpack(x).view(torch.uint8).tolist() == list(range(64))


# -- what the protocols say --------------------------------------------------------------------------------


def test_device_codes_of_each_kind_of_memory(device):
    codes = {"device": (CUDA, 0), "shared": (CUDA_MANAGED, 0), "host": (CUDA_HOST, 0)}
    assert device.dlpack_device == (CUDA, 0)
    for kind, code in codes.items():
        x = usmpy.zeros(3, dtype="int32", usm_type=kind, device=device)
        assert tuple(x.__dlpack_device__()) == code, kind


def test_views_on_request(device):
    x = usmpy.arange(3, dtype="int32", usm_type="shared", device=device)
    y = np.from_dlpack(x, device="cpu") if hasattr(np, "__array_namespace_info__") else np.from_dlpack(x)
    assert y.tolist() == [0, 1, 2]
    assert y.__array_interface__["data"][0] == x.data_ptr
    x.__dlpack__(dl_device=(CUDA_MANAGED, 0), max_version=(1, 0))
    ordinal = usmpy.get_devices().index(device)
    assert x.__dlpack__(dl_device=(ONEAPI, ordinal), max_version=(1, 0)) is not None
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(CUDA, 77), max_version=(1, 0))
    pinned = usmpy.arange(3, dtype="int32", usm_type="host", device=device)
    assert np.from_dlpack(pinned, device="cpu").__array_interface__["data"][0] == pinned.data_ptr


def test_device_memory_goes_to_the_host_by_a_copy_that_is_asked_for(device):
    x = usmpy.arange(5, dtype="float32", device=device)
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(CPU, 0), copy=False, max_version=(1, 0))
    assert np.from_dlpack(x, device="cpu", copy=True).tolist() == [0, 1, 2, 3, 4]
    y = usmpy.from_dlpack(x, device=(1, 0))
    assert y.device.backend == "host"
    assert y.tolist() == [0, 1, 2, 3, 4]


def test_the_cuda_array_interface(cupy, torch, device):
    x = usmpy.reshape(usmpy.arange(12, dtype="float32", device=device), (3, 4))
    facts = x.__cuda_array_interface__
    assert (facts["shape"], facts["typestr"], facts["version"]) == ((3, 4), "<f4", 3)
    assert facts["data"] == (x.data_ptr, False)
    assert facts["stream"] != 0
    assert facts.get("strides") is None
    assert x.T.__cuda_array_interface__["strides"] == (4, 16)
    assert x[:0].__cuda_array_interface__["data"][0] == 0
    assert cupy.asarray(x).data.ptr == x.data_ptr
    assert torch.as_tensor(x, device="cuda").data_ptr() == x.data_ptr
    host = usmpy.zeros(3, device="host")
    assert not hasattr(host, "__cuda_array_interface__")


def test_objects_with_the_cuda_array_interface_alone(cupy, device):
    class Alone:
        def __init__(self, owner):
            self.owner = owner
            self.__cuda_array_interface__ = owner.__cuda_array_interface__

    theirs = cupy.arange(6, dtype="int16").reshape(2, 3)
    x = usmpy.asarray(Alone(theirs))
    assert x.data_ptr == theirs.data.ptr
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with usmpy.borrow(Alone(theirs)) as y:
        y[...] = 3
    assert theirs.get().tolist() == [[3, 3, 3], [3, 3, 3]]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
def test_reversed_arrays_of_cupy(cupy, device, dtype):
    """CuPy 14 tells their strides modulo 2**64 bytes."""
    theirs = cupy.arange(48).astype(dtype).reshape(4, 3, 4)
    for view in (
        theirs.ravel()[::-1],
        theirs[::-1, :, ::-2],
        theirs.transpose(2, 0, 1)[::-3],
        theirs[1:2, ::-1],
        cupy.broadcast_to(theirs[::-1], (2, 4, 3, 4)),
        cupy.asfortranarray(theirs)[:, ::-1],
    ):
        x = usmpy.from_dlpack(view)
        assert x.data_ptr == view.data.ptr
        np.testing.assert_array_equal(x.asnumpy(), view.get())
        np.testing.assert_array_equal(usmpy.asarray(view).asnumpy(), view.get())
    part = theirs[::-1, 1]
    usmpy.from_dlpack(part)[...] = 7
    device.queue.wait()
    assert (part.get() == 7).all()
    assert (theirs[:, 0].get() != 7).sum() >= 15


@pytest.mark.parametrize("stream", ["default", "own"])
def test_cupy_is_asked_once(cupy, device, stream):
    """Its C interface tells the stream: neither of the other questions is asked, with any number of GPUs."""
    asked = []

    class Counting(cupy.ndarray):
        __module__ = "cupy"

        def __dlpack_device__(self):
            asked.append("device")
            return super().__dlpack_device__()

        @property
        def __cuda_array_interface__(self):
            asked.append("interface")
            return super().__cuda_array_interface__

    theirs = cupy.arange(1000, dtype="float32").view(Counting)
    cupy.cuda.runtime.deviceSynchronize()
    with cupy.cuda.Stream(non_blocking=True) if stream == "own" else cupy.cuda.Stream.null:
        theirs += 1
        assert usmpy.from_dlpack(theirs).tolist() == list(range(1, 1001))
        with usmpy.borrow(theirs) as x:
            x[...] = 5
        theirs += 1
    assert asked == []
    cupy.cuda.runtime.deviceSynchronize()
    assert set(theirs.get().tolist()) == {6.0}


def test_tables_of_the_exchange(torch, device):
    """PyTorch publishes one; ours names our queue's stream."""
    import ctypes

    import producers

    assert hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
    stream = ctypes.c_void_p()
    table = producers.our_table()
    assert producers.WORK_STREAM(table.current_work_stream)(CUDA, 0, ctypes.byref(stream)) == 0
    assert stream.value == device.queue.native_handle


def test_tvm_ffi_takes_ours_through_the_table(device):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    x = usmpy.arange(10, dtype="float32", device=device)
    assert tvm_ffi.from_dlpack(x).data_ptr() == x.data_ptr


# -- lives -------------------------------------------------------------------------------------------------


def test_memory_lives_as_long_as_the_last_side(peer, device):
    a = np.arange(1 << 18, dtype="float32")
    theirs = peer.make(a)
    x = usmpy.from_dlpack(theirs) if hasattr(theirs, "__dlpack__") else usmpy.asarray(theirs)
    del theirs
    gc.collect()
    others = [peer.make(np.zeros_like(a)) for _ in range(4)]  # would take the place
    np.testing.assert_array_equal(x.asnumpy(), a)
    y = peer.take(x.copy())
    gc.collect()
    more = [usmpy.zeros(a.size, dtype="float32", device=device) for _ in range(4)]
    np.testing.assert_array_equal(peer.numpy(y), a)
    del others, more


def test_a_round_trip_is_the_same_memory(stream_peer, device):
    theirs = stream_peer.make(np.arange(6, dtype="float32"))
    back = stream_peer.take(usmpy.from_dlpack(theirs))
    assert stream_peer.address(back) == stream_peer.address(theirs)
    x = usmpy.arange(6, dtype="float32", device=device)
    again = usmpy.from_dlpack(stream_peer.take(x))
    assert again.data_ptr == x.data_ptr
    assert again.tolist() == [0, 1, 2, 3, 4, 5]


def test_read_only_stays_read_only(device):
    import producers

    x = usmpy.arange(4, dtype="float32", device=device)
    producer, tensor = producers.producer(
        (4,), "float32", data=x.data_ptr, device=(CUDA, 0), flags=producers.READ_ONLY
    )
    y = usmpy.from_dlpack(producer)
    assert not y.flags.writable
    assert y.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1
    del y
    gc.collect()
    x.wait()
    assert tensor.deleted == 1


def test_copies_of_foreign_memory(cupy, torch, device):
    theirs = cupy.arange(5, dtype="float32")
    copied = usmpy.from_dlpack(theirs, copy=True)
    assert copied.data_ptr != theirs.data.ptr
    assert copied.tolist() == [0, 1, 2, 3, 4]
    assert usmpy.from_dlpack(theirs, copy=False).data_ptr == theirs.data.ptr
    queue = usmpy.Queue(device)
    on_ours = usmpy.from_dlpack(theirs, device=usmpy.Device.create_device(queue))
    assert on_ours.queue == queue
    assert on_ours.data_ptr == theirs.data.ptr
    on_host = usmpy.from_dlpack(torch.arange(5, device="cuda"), device="host")
    assert (on_host.device.backend, on_host.tolist()) == ("host", [0, 1, 2, 3, 4])


def test_pinned_and_managed_memory_of_others(cupy, torch, device):
    pinned = torch.arange(5, dtype=torch.float32).pin_memory()
    x = usmpy.from_dlpack(pinned)
    assert x.data_ptr == pinned.data_ptr()
    assert x.tolist() == [0, 1, 2, 3, 4]
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        managed = cupy.arange(5, dtype="float32")
    assert managed.__dlpack_device__()[0] == CUDA_MANAGED
    y = usmpy.from_dlpack(managed)
    assert (y.data_ptr, y.usm_type, y.device) == (managed.data.ptr, "shared", device)
    assert y.tolist() == [0, 1, 2, 3, 4]
    shared = usmpy.arange(6, dtype="float32", usm_type="shared", device=device)
    taken = cupy.from_dlpack(shared)
    assert taken.data.ptr == shared.data_ptr
    taken += 1
    cupy.cuda.runtime.deviceSynchronize()
    assert shared.tolist() == [1, 2, 3, 4, 5, 6]
