"""Arrays of CuPy 14: asked once, in the order of their stream, and right where they are reversed."""

from __future__ import annotations

import cuda_cupy
import cuda_peers
import numpy as np
import producers
import pytest

import usmpy

N = 64


@pytest.fixture
def capi(peer):
    with cuda_cupy.Capi(peer).loaded() as capi:
        yield capi


@pytest.fixture
def ndarray():
    return cuda_cupy.array_type()


@pytest.mark.parametrize("current", [0, 1, None])
@pytest.mark.parametrize("where", [0, 1])
@pytest.mark.parametrize("take", [usmpy.from_dlpack, usmpy.asarray])
def test_one_question_is_enough(peer, driver, capi, ndarray, where, current, take):
    """Neither __dlpack_device__ nor __cuda_array_interface__, on any number of GPUs."""
    theirs = peer.array(N, 7, cls=ndarray, device=where, late=True)
    before = [driver.calls(name) for name in ("cuStreamWaitEvent", "cuPointerGetAttributes")]
    with driver.on(current):
        x = take(theirs)
    assert theirs.calls == [("dlpack", -1)]
    assert capi.asked == [where]
    assert x.queue is usmpy.Device(f"cuda:gpu:{where}").queue
    assert x.data_ptr == theirs.address
    after = [driver.calls(name) for name in ("cuStreamWaitEvent", "cuPointerGetAttributes")]
    assert after == [before[0], before[1] + 1]
    assert driver.is_busy(theirs.stream)
    assert x.tolist() == [7] * N


def test_its_work_comes_before_ours(peer, driver, device, capi, ndarray):
    for where in (0, 1):
        theirs = peer.array(N, 1, cls=ndarray, device=where)
        driver.synchronize(theirs.stream)
        theirs.fill(7, late=True)
        queue = usmpy.Queue(f"cuda:gpu:{where}")
        y = usmpy.zeros(N, dtype="int8", queue=queue)
        event = queue.memcpy(y, usmpy.from_dlpack(theirs, device=queue))
        assert not event.done
        assert y.tolist() == [7] * N


def test_the_legacy_default_stream_is_reported_as_0(peer, driver, device, capi, ndarray):
    peer.streams[0] = cuda_peers.LEGACY
    try:
        theirs = peer.array(N, 3, cls=ndarray, late=True)
        x = usmpy.from_dlpack(theirs)
        assert driver.is_busy(cuda_peers.LEGACY)
        assert x.copy().tolist() == [3] * N
    finally:
        driver.synchronize(cuda_peers.LEGACY)
        del peer.streams[0]


@pytest.mark.parametrize("kind", ["managed", "host"])
def test_kinds_of_memory(peer, driver, capi, ndarray, kind):
    theirs = peer.array(N, 5, cls=ndarray, device=1, kind=kind, late=True)
    x = usmpy.from_dlpack(theirs)
    assert x.usm_type == {"managed": "shared", "host": "host"}[kind]
    assert x.queue is usmpy.Device("cuda:gpu:1").queue
    assert x.tolist() == [5] * N
    assert capi.asked == [1]


def test_a_borrow_gives_back_in_its_stream(peer, driver, device, capi, ndarray):
    queue = usmpy.Queue(device)
    theirs = peer.array(N, 1, cls=ndarray, late=True)
    with usmpy.borrow(theirs, queue) as x:
        driver.late(queue.native_handle)
        queue.fill(x, 5)
    theirs.fill(9)  # in its stream, which waits for ours
    assert theirs.read() == b"\x09" * N
    assert theirs.calls == [("dlpack", -1)]
    assert capi.asked == [0, 0]


@pytest.mark.parametrize("signature", [b"intptr_t (void)", b"size_t (int)"])
@pytest.mark.parametrize("name", ["get_stream_ptr", "get_current_stream_ptr"])
def test_other_functions_are_not_called(peer, ndarray, name, signature):
    """Of older versions: their arrays are asked for stream and device."""
    with cuda_cupy.Capi(peer, name, signature).loaded() as capi:
        theirs = peer.array(N, 7, cls=ndarray)
        assert usmpy.from_dlpack(theirs).tolist() == [7] * N
        assert theirs.calls == ["device", "interface", ("dlpack", theirs.stream)]
        assert capi.asked == []


# -- strides modulo 2**64 --------------------------------------------------------------------------

TYPES = ["int8", "int16", "float32", "float64", "complex128"]
SLICES = {
    "reversed": lambda a: a[::-1],
    "every second, from behind": lambda a: a[::-2],
    "both axes": lambda a: a.reshape(4, -1)[::-1, ::-1],
    "rows": lambda a: a.reshape(4, -1)[::-1],
    "columns": lambda a: a.reshape(4, -1)[:, ::-3],
    "transposed and reversed": lambda a: a.reshape(2, 2, -1).transpose(2, 0, 1)[::-1, :, ::-1],
    "Fortran": lambda a: a.reshape((4, -1), order="F")[::-1, ::2],
    "repeated": lambda a: np.broadcast_to(a.reshape(4, -1)[::-1], (3, 4, a.size // 4)),
    "one row, backwards": lambda a: a.reshape(4, -1)[2:3, ::-1],
}


@pytest.fixture(params=["alone", "C interface"])
def maybe_capi(request, peer):
    if request.param == "alone":
        yield
    else:
        with cuda_cupy.Capi(peer).loaded():
            yield


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", SLICES)
def test_reversed_arrays_are_taken_right(peer, device, ndarray, maybe_capi, name, dtype):
    values = (np.arange(N) % 100).astype(dtype)
    part = SLICES[name](values)
    theirs = peer.array(values.nbytes, 0, cls=ndarray)
    device.queue.memcpy(usmpy.from_dlpack(theirs), values.view("int8")).wait()
    view = theirs.view(part, values)
    x = usmpy.from_dlpack(view)
    assert (x.shape, x.dtype) == (part.shape, usmpy.DType(dtype))
    assert x.data_ptr == theirs.address + view.offset
    np.testing.assert_array_equal(x.asnumpy(), part)
    if part.flags.writeable:
        x[...] = part[...] = 3
        np.testing.assert_array_equal(usmpy.from_dlpack(theirs).asnumpy().view(dtype), values)


def test_random_views_are_taken_right(peer, device, capi, ndarray):
    random = np.random.default_rng(7)
    values = np.arange(4 * 5 * 6, dtype="int32")
    theirs = peer.array(values.nbytes, 0, cls=ndarray)
    device.queue.memcpy(usmpy.from_dlpack(theirs), values.view("int8")).wait()
    for _ in range(200):
        part = values.reshape(random.permutation([4, 5, 6]), order=random.choice(["C", "F"]))
        steps = [random.choice([-3, -2, -1, 1, 2]) for _ in range(3)]
        part = part[tuple(slice(None, None, step) for step in steps)].transpose(random.permutation(3))
        np.testing.assert_array_equal(usmpy.from_dlpack(theirs.view(part, values)).asnumpy(), part)


def table_type():
    """A type whose exchange table tells strides so: tables are believed, but for this."""

    class Wraps(cuda_peers.Torch):
        def make_tensor(self):
            tensor = self.tensor()
            tensor.managed.dl_tensor.dtype = producers.DLDataType(0, 16, 1)
            tensor.managed.dl_tensor.data = self.address + self.at
            tensor._shape[0], tensor._strides[0] = 4, 2**63 - 1  # -1, modulo 2**64 bytes
            return tensor

    return Wraps


def test_bounds_of_the_allocation_hold(peer, driver, device, capi, ndarray):
    """Elements outside of the bounds modulo 2**64 are refused, and so is memory of unknown bounds."""
    values = np.arange(N, dtype="int32")
    theirs = peer.array(values.nbytes, 0, cls=ndarray)
    view = theirs.view(values[::-1], values)
    assert usmpy.from_dlpack(view).shape == (N,)
    view.offset -= 4
    with pytest.raises(BufferError, match=r"are bytes -4 to 251 of an allocation of 256 bytes"):
        usmpy.from_dlpack(view)
    view.offset, view.shape = 252, (N + 1,)
    with pytest.raises(BufferError, match="of an allocation of 256 bytes"):
        usmpy.from_dlpack(view)
    wraps = peer.array(N, 0, cls=table_type())
    wraps.at = 6
    assert usmpy.from_dlpack(wraps).strides == (-1,)
    wraps.at = 4
    with pytest.raises(BufferError, match="of an allocation of 64 bytes"):
        usmpy.from_dlpack(wraps)
    host, tensor = producers.producer((4,), "int32", memory=16, strides=(2**62 - 1,), byte_offset=12)
    with pytest.raises(BufferError, match="beyond any address"):
        usmpy.from_dlpack(host)
    assert tensor.deleted == 1
