"""__cuda_array_interface__, version 3: what our arrays say, and what is taken from others."""

from __future__ import annotations

import ctypes
import gc
import time
import weakref

import cuda_peers
import numpy as np
import pytest

import usmpy

N = 100


# -- ours ------------------------------------------------------------------------------------------


def test_the_interface_of_an_array(device):
    x = usmpy.zeros((4, 5), dtype="float32", device=device)
    x.wait()
    assert x.__cuda_array_interface__ == {
        "shape": (4, 5),
        "typestr": "<f4",
        "descr": [("", "<f4")],
        "data": (x.data_ptr, False),
        "strides": None,
        "version": 3,
        "stream": None,
    }
    part = x[1::2, ::-1].__cuda_array_interface__
    assert (part["shape"], part["strides"]) == ((2, 5), (40, -4))
    assert part["data"] == (x[1::2, ::-1].data_ptr, False)
    transposed = x.T.__cuda_array_interface__
    assert (transposed["shape"], transposed["strides"]) == ((5, 4), (4, 20))
    assert usmpy.broadcast_to(x, (2, 4, 5)).__cuda_array_interface__["data"][1] is True


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_every_kind_of_cuda_memory_has_it(device, usm_type):
    x = usmpy.zeros(3, device=device, usm_type=usm_type)
    x.wait()
    assert x.__cuda_array_interface__["data"] == (x.data_ptr, False)


TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES += ["float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", TYPES)
def test_types_are_numpys(device, dtype):
    x = usmpy.zeros(3, dtype=dtype, device=device)
    assert np.dtype(x.__cuda_array_interface__["typestr"]) == np.dtype(dtype)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "complex32"])
def test_types_without_a_word_have_no_interface(device, dtype):
    x = usmpy.zeros(4, dtype=dtype, device=device)
    with pytest.raises(AttributeError, match=dtype):
        x.__cuda_array_interface__  # noqa: B018
    assert not hasattr(x, "__cuda_array_interface__")


def test_other_memory_has_no_interface():
    x = usmpy.zeros(3, device="host")
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="host"):
        x.__cuda_array_interface__  # noqa: B018


def test_an_empty_array_has_no_address(device):
    for shape in ((0,), (3, 0), (0, 2)):
        said = usmpy.zeros(shape, device=device).__cuda_array_interface__
        assert (said["shape"], said["data"], said["stream"]) == (shape, (0, False), None)
    assert usmpy.zeros((), device=device).__cuda_array_interface__["shape"] == ()


@pytest.mark.parametrize("where", ["its queue", "another queue", "two queues"])
def test_the_stream_comes_after_all_that_is_pending(peer, driver, device, where):
    queue, other = usmpy.Queue(device), usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    if where != "another queue":
        driver.late(queue.native_handle)
        queue.fill(x, 3)
    if where != "its queue":
        driver.late(other.native_handle)
        other.fill(x, 5)
    said = x.__cuda_array_interface__
    assert said["stream"] == queue.native_handle
    theirs = peer.stream()
    driver.wait_for(theirs, said["stream"])
    with driver.landing(N) as out:
        driver.copy(theirs, out, said["data"][0], N)
        assert driver.is_busy(theirs)
        driver.synchronize(theirs)
        assert ctypes.string_at(out, N) == (b"\3" if where == "its queue" else b"\5") * N
    x.wait()
    queue.wait()
    other.wait()
    assert x.__cuda_array_interface__["stream"] is None


def test_a_queue_over_the_legacy_stream_says_one(driver, device):
    queue = usmpy.Queue.from_stream(1)
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    driver.late(1)
    queue.fill(x, 3)
    assert x.__cuda_array_interface__["stream"] == 1


# -- those of others -------------------------------------------------------------------------------


@pytest.fixture
def theirs(peer):
    return peer.array(N, 7, cls=cuda_peers.Interface, late=True)


def test_asarray_takes_it_in_order(peer, driver, device, theirs):
    y = usmpy.zeros(N, dtype="int8", device=device)
    device.queue.wait()
    theirs.fill(7, late=True)
    x = usmpy.asarray(theirs)
    assert (x.data_ptr, x.queue, x.shape, x.dtype) == (theirs.address, device.queue, (N,), usmpy.int8)
    assert x.flags.writable
    device.queue.memcpy(y, x)
    assert driver.is_busy(theirs.stream)
    assert y.tolist() == [7] * N


def test_the_owner_lives_as_long_as_the_array(peer, device):
    owner = cuda_peers.Interface(peer, peer.array(N, 1).address, N, 0, "device")
    alive = weakref.ref(owner)
    x = usmpy.asarray(owner)
    del owner
    gc.collect()
    assert alive() is not None
    y = x[3:]
    del x
    gc.collect()
    assert alive() is not None
    del y
    gc.collect()
    deadline = time.monotonic() + 60
    while alive() is not None and time.monotonic() < deadline:
        time.sleep(0.001)  # pending work of its stream must complete
        usmpy.empty(1).wait()
    assert alive() is None


def test_from_dlpack_does_not_take_it(theirs):
    with pytest.raises(TypeError, match="asarray"):
        usmpy.from_dlpack(theirs)


def test_it_is_an_operand(peer, device, theirs):
    x = usmpy.zeros(N, dtype="int8", device=device)
    usmpy.copyto(x, theirs)
    assert x.tolist() == [7] * N
    theirs.fill(9, late=True)
    x[...] = theirs
    theirs.fill(1)
    assert x.tolist() == [9] * N
    usmpy.copyto(theirs, x)
    assert theirs.read() == b"\x09" * N
    assert usmpy.asarray(theirs, device="host").tolist() == [9] * N


def test_an_import_is_on_its_device_with_any_current_device(peer, driver, device):
    for number in (0, 1):
        for kind in ("device", "managed", "host"):
            array = peer.array(N, 4, cls=cuda_peers.Interface, device=number, kind=kind, late=True)
            for current in (0, 1, None):
                with driver.on(current):
                    x = usmpy.asarray(array)
                    assert x.queue is usmpy.Device(f"cuda:gpu:{number}").queue
                    assert x.tolist() == [4] * N


def changed(theirs, **changes):
    theirs.changes = changes
    return theirs


def test_layouts(peer, device):
    theirs = peer.array(24, 0, cls=cuda_peers.Interface)
    x = usmpy.asarray(theirs)
    x[...] = usmpy.asarray(np.arange(24, dtype="int8"), device=device)
    plain = np.arange(24, dtype="int8").view("int16").reshape(3, 4)
    kinds = {
        "C": ({"shape": (3, 4)}, plain),
        "strides": ({"shape": (2, 2), "strides": (16, 4)}, plain[::2, ::2]),
        "transposed": ({"shape": (4, 3), "strides": (2, 8)}, plain.T),
        "length 1": ({"shape": (1, 4), "strides": (7, 2)}, plain[:1]),
        "zero": ({"shape": (3, 4), "strides": (0, 2)}, np.broadcast_to(plain[0], (3, 4))),
        "no strides": ({"shape": (3, 4), "strides": None}, plain),
        "descr": ({"shape": (3, 4), "descr": [("", "<i2")]}, plain),
        "mask": ({"shape": (3, 4), "mask": None}, plain),
        "0-d": ({"shape": ()}, plain[0, 0]),
    }
    for name, (changes, expected) in kinds.items():
        taken = usmpy.asarray(changed(theirs, typestr="<i2", **changes))
        assert taken.asnumpy().tolist() == expected.tolist(), name
    backwards = changed(theirs, typestr="<i2", shape=(4,), strides=(-2,), data=(theirs.address + 6, True))
    taken = usmpy.asarray(backwards)
    assert taken.asnumpy().tolist() == plain[0, ::-1].tolist()
    assert not taken.flags.writable


def test_empty_arrays_are_taken_without_an_address(peer, device):
    for address in (0, 0x1000):
        theirs = changed(peer.array(0, 0, cls=cuda_peers.Interface), data=(address, False))
        x = usmpy.asarray(theirs)
        assert (x.shape, x.data_ptr, x.tolist()) == ((0,), 0, [])


BAD = {
    "stream 0": ({"stream": 0}, ValueError, "stream 0"),
    "stream": ({"stream": "x"}, TypeError, "int"),
    "mask": ({"mask": object()}, BufferError, "mask"),
    "no shape": ({"shape": None}, BufferError, "shape"),
    "shape": ({"shape": [3]}, BufferError, "shape"),
    "typestr": ({"typestr": "<U4"}, BufferError, "typestr"),
    "byte order": ({"typestr": ">f4", "shape": (2,)}, BufferError, "typestr"),
    "record": ({"typestr": "|V8", "shape": (2,)}, BufferError, "typestr"),
    "descr": ({"descr": [("a", "<i2"), ("b", "<i2")]}, BufferError, "descr"),
    "data": ({"data": None}, BufferError, "data"),
    "pair": ({"data": (1, 2, 3)}, BufferError, "data"),
    "address": ({"data": ("x", False)}, TypeError, "address"),
    "strides": ({"strides": (1, 1)}, BufferError, "strides"),
    "stride": ({"typestr": "<i2", "shape": (4,), "strides": (3,)}, BufferError, "stride of 3"),
    "version": ({"version": "3"}, BufferError, "version"),
    "unknown pointer": ({"data": (0xDEADBEEF000, False)}, BufferError, "does not know"),
    "beyond": ({"shape": (N + 1,)}, BufferError, "allocation of 100 bytes"),
}


@pytest.mark.parametrize("what", BAD)
def test_unsupported_arrays_are_refused(peer, what):
    changes, error, match = BAD[what]
    theirs = changed(peer.array(N, 1, cls=cuda_peers.Interface), **changes)
    for take in (usmpy.asarray, lambda x: usmpy.borrow(x).__enter__()):
        with pytest.raises(error, match=match):
            take(theirs)


@pytest.mark.parametrize("missing", ["data", "shape", "typestr", "version"])
def test_members_that_must_be_there(peer, missing):
    class Without(cuda_peers.Interface):
        @property
        def __cuda_array_interface__(self):
            said = dict(super().__cuda_array_interface__)
            del said[missing]
            return said

    with pytest.raises(BufferError, match=missing):
        usmpy.asarray(peer.array(N, 1, cls=Without))


def test_an_interface_that_is_not_a_dict_is_refused(peer):
    class Wrong:
        __cuda_array_interface__ = 5

    class Raises:
        @property
        def __cuda_array_interface__(self):
            raise KeyError("mine")

    with pytest.raises(BufferError, match="dict"):
        usmpy.asarray(Wrong())
    with pytest.raises(KeyError, match="mine"):
        usmpy.asarray(Raises())


def test_older_versions_tell_no_stream(peer, driver, device):
    """Their owners have to finish their work first; nothing is asked of the stream."""
    theirs = peer.array(N, 7, cls=cuda_peers.Interface)
    driver.synchronize(theirs.stream)
    theirs.version = 2
    before = driver.calls("cuStreamQuery")
    x = usmpy.asarray(changed(theirs, stream=0))
    assert driver.calls("cuStreamQuery") == before
    assert x.tolist() == [7] * N


def test_a_borrow_is_on_the_queue_that_is_asked_for(peer, device):
    queue = usmpy.Queue(device)
    with usmpy.borrow(peer.array(N, 7, cls=cuda_peers.Interface), queue=queue) as taken:
        assert taken.queue == queue
        assert taken.queue != device.queue
        assert taken.tolist() == [7] * N


def test_the_garbage_collector_sees_the_queues_that_the_module_keeps(peer):
    """Else a module that is loaded again in a process, or in a sub-interpreter, is never freed."""
    with usmpy.borrow(peer.array(N, 7, cls=cuda_peers.Interface, device=1)) as taken:
        queue = taken.queue
    assert queue.device == usmpy.Device("cuda:gpu:1")
    usmpy.from_dlpack(peer.array(N, 7, cls=cuda_peers.Dlpack, device=1))
    assert any(each is queue for each in gc.get_referents(usmpy._core))
