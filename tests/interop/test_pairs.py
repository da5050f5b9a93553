"""Arrays to and from every peer: dtypes bit for bit, shapes, strides, read-only, addresses, lives."""

from __future__ import annotations

import gc
import re
import weakref

import numpy as np
import pytest
from peers import PEERS, our_bytes, ours, pattern, peer_of

import usmpy


@pytest.fixture(scope="session", params=PEERS)
def peer(request):
    return peer_of(request.param)


DTYPES = [(name, dtype) for name, peer in PEERS.items() for dtype in getattr(peer, "dtypes", [])]
every_dtype = pytest.mark.parametrize(("name", "dtype"), DTYPES, ids=str)


SHAPES = [
    (),
    (0,),
    (1,),
    (5,),
    (0, 3),
    (3, 0),
    (1, 4),
    (4, 1),
    (1, 1),
    (1, 2, 3),
    (2, 1, 3),
    (2, 3, 1),
    (0, 2, 3),
    (2, 0, 3),
    (2, 3, 0),
    (1, 0, 1),
    (1, 1, 1, 1),
    (2, 3, 4, 5),
]


# -- elements --------------------------------------------------------------------------------------


@every_dtype
def test_every_common_dtype_from_the_peer(name, dtype):
    peer = peer_of(name)
    if dtype == "complex32":  # NumPy has no such elements: by way of ours
        theirs = peer.take(ours(pattern((2, 3), dtype), dtype))
        expected = pattern((2, 3), dtype).tobytes()
    else:
        theirs, expected = peer.make(pattern((2, 3), dtype)), pattern((2, 3), dtype).tobytes()
    x = usmpy.from_dlpack(theirs)
    assert (x.dtype, x.shape) == (usmpy.DType(dtype), (2, 3))
    assert x.data_ptr == peer.address(theirs)
    assert our_bytes(x) == expected


@every_dtype
def test_every_common_dtype_to_the_peer(name, dtype):
    peer = peer_of(name)
    a = pattern((2, 3), dtype)
    x = ours(a, dtype)
    theirs = peer.take(x)
    assert tuple(theirs.shape) == (2, 3)
    assert str(theirs.dtype).removeprefix("torch.") == dtype
    assert peer.address(theirs) == x.data_ptr
    assert peer.tobytes(theirs) == a.tobytes()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_from_the_peer(peer, shape):
    a = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)
    theirs = peer.make(a)
    x = usmpy.from_dlpack(theirs)
    assert (x.shape, x.size) == (shape, a.size)
    assert x.tolist() == a.tolist()
    assert x.flags.c_contiguous
    if a.size:
        assert x.data_ptr == peer.address(theirs)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_to_the_peer(peer, shape):
    a = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)
    x = ours(a)
    theirs = peer.take(x)
    assert tuple(theirs.shape) == shape
    assert peer.tobytes(theirs) == a.tobytes()
    if a.size:
        assert peer.address(theirs) == x.data_ptr


# -- layouts ---------------------------------------------------------------------------------------

LAYOUTS = {
    "transposed": lambda a: a.T,
    "Fortran": lambda a: a.T.T if a.ndim == 0 else a.T,
    "stepped": lambda a: a[:, ::2],
    "offset": lambda a: a[1:, 1:],
    "column": lambda a: a[:, 1],
    "new axes": lambda a: a[:, None, :, None],
}
KIND = {"transposed": "transposed", "Fortran": "transposed", "new axes": None}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_from_the_peer(peer, layout):
    if not peer.views:
        assert usmpy.from_dlpack(peer.make(LAYOUTS[layout](np.ones((3, 4))))).flags.c_contiguous
        return
    if peer.name == "tvm_ffi":
        a = np.arange(12, dtype="int32").reshape(3, 4)
        theirs = peer.take(LAYOUTS[layout](a))  # a view of another library
    else:
        a = peer.make(np.arange(12, dtype="int32").reshape(3, 4))
        theirs = LAYOUTS[layout](a)
    expected = LAYOUTS[layout](np.arange(12, dtype="int32").reshape(3, 4))
    x = usmpy.from_dlpack(theirs)
    assert x.shape == expected.shape
    assert x.data_ptr == peer.address(theirs)
    assert x.tolist() == expected.tolist()
    assert our_bytes(x) == expected.tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_to_the_peer(peer, layout):
    kind = KIND.get(layout, "stepped")
    a = np.arange(12, dtype="int32").reshape(3, 4)
    x = LAYOUTS[layout](ours(a))
    expected = LAYOUTS[layout](a)
    if kind is not None and kind not in peer.strides:
        with pytest.raises(Exception, match="stri"):
            peer.take(x)
        assert x.tolist() == expected.tolist()
        return
    theirs = peer.take(x)
    assert tuple(theirs.shape) == expected.shape
    assert peer.address(theirs) == x.data_ptr
    assert peer.tobytes(theirs) == expected.tobytes()


@pytest.mark.parametrize("name", ["numpy", "tvm_ffi"])  # the others take none, or end the process
def test_negative_strides(name):
    peer = peer_of(name)
    a = np.arange(12, dtype="int32").reshape(3, 4)
    x = ours(a)[::-1, ::-2]
    theirs = peer.take(x)
    assert peer.tobytes(theirs) == a[::-1, ::-2].tobytes()
    back = usmpy.from_dlpack(theirs)
    assert (back.strides, back.data_ptr) == ((-4, -2), x.data_ptr)
    assert back.tolist() == a[::-1, ::-2].tolist()


def test_broadcast_arrays_are_read_only_and_of_stride_zero(peer):
    a = np.arange(4, dtype="int32")
    x = usmpy.broadcast_to(ours(a), (3, 4))
    if not peer.read_only:
        with pytest.raises(BufferError, match="read-only"):
            peer.take(x)
    elif "repeated" not in peer.strides:
        with pytest.raises(RuntimeError, match="broadcasting"):
            peer.take(x)
    else:
        theirs = peer.take(x)
        assert peer.tobytes(theirs) == np.broadcast_to(a, (3, 4)).tobytes()
        assert peer.address(theirs) == x.data_ptr


def test_read_only_arrays_are_taken_in_place_or_refused(peer):
    a = np.arange(4, dtype="int32")
    x = ours(a)
    fixed = usmpy._core._read_only(x)
    if not peer.read_only:
        with pytest.raises(BufferError, match="read-only"):
            peer.take(fixed)
        return
    theirs = peer.take(fixed)
    assert peer.tobytes(theirs) == a.tobytes()
    assert peer.address(theirs) == x.data_ptr
    if peer.name not in ("torch", "tvm_ffi"):  # which drop it
        assert not usmpy.from_dlpack(theirs).flags.writable


# -- one memory ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["numpy", "torch", "tvm_ffi"])  # jax's arrays cannot be written to
def test_both_sides_see_each_others_writes(name):
    peer = peer_of(name)
    x = usmpy.zeros(4, dtype="int32")
    theirs = peer.take(x)
    x[1] = 5
    x.wait()
    assert peer.tobytes(theirs) == np.array([0, 5, 0, 0], "int32").tobytes()
    if peer.name != "tvm_ffi":
        theirs[2] = 7
        assert x.tolist() == [0, 5, 7, 0]


def test_pending_work_has_ended_when_the_peer_gets_the_memory(peer):
    x = usmpy.zeros(1_000_000, dtype="int32")
    for value in range(1, 20):
        x[...] = value
    assert set(np.frombuffer(peer.tobytes(peer.take(x)), "int32")) == {19}


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("device", [None, (1, 0), "host:cpu:0"], ids=str)
def test_copy_and_device(peer, copy, device):
    theirs = peer.make(np.arange(6, dtype="float64").reshape(2, 3))
    x = usmpy.from_dlpack(theirs, device=device, copy=copy)
    assert (x.data_ptr == peer.address(theirs)) == (copy is not True)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    if copy:
        assert x.flags.writable


# -- lives -----------------------------------------------------------------------------------------


def test_ours_outlives_the_peers_array(peer):
    theirs = peer.make(np.arange(1000, dtype="int64"))
    x = usmpy.from_dlpack(theirs)
    del theirs
    gc.collect()
    peer.make(np.full(1000, -1, dtype="int64"))  # would take the memory, were it free
    assert x.tolist() == list(range(1000))


def test_the_peers_array_outlives_ours(peer):
    before = usmpy._core._live_counts()
    x = ours(np.arange(1000, dtype="int64"))
    theirs = peer.take(x)
    del x
    gc.collect()
    usmpy.full(1000, -1, dtype="int64").wait()
    assert peer.tobytes(theirs) == np.arange(1000, dtype="int64").tobytes()
    assert usmpy._core._live_counts()["exports"] == before["exports"] + 1
    del theirs
    gc.collect()
    assert usmpy._core._live_counts()["exports"] == before["exports"]


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])  # tvm-ffi's arrays take no weak references
def test_the_peers_array_is_let_go(name):
    peer = peer_of(name)
    theirs = peer.make(np.arange(8, dtype="int64"))
    reference = weakref.ref(theirs)
    x = usmpy.from_dlpack(theirs)
    view = x[2:]
    del x, view, theirs
    gc.collect()
    assert reference() is None


def test_chains_of_exports_and_imports(peer):
    theirs = peer.make(np.arange(8, dtype="int64"))
    address = peer.address(theirs)
    for _ in range(20):
        theirs = peer.take(usmpy.from_dlpack(theirs))
    assert peer.address(theirs) == address
    assert peer.tobytes(theirs) == np.arange(8, dtype="int64").tobytes()


@pytest.mark.parametrize("second", PEERS)
def test_from_one_peer_through_ours_to_another(peer, second):
    second = peer_of(second)
    for dtype in ("float32", "int64", "bool"):
        a = pattern((3, 4), dtype)
        theirs = peer.make(a)
        x = usmpy.from_dlpack(theirs)
        other = second.take(x)
        if second.name != "jax":  # it copies memory that is not aligned for it
            assert second.address(other) == peer.address(theirs)
        del theirs, x
        gc.collect()
        assert second.tobytes(other) == a.tobytes()


def test_asarray_copies_it_or_shares_it_on_demand(peer):
    theirs = peer.make(np.arange(6, dtype="float32"))
    assert usmpy.asarray(theirs, copy=False).data_ptr == peer.address(theirs)
    x = usmpy.asarray(theirs)
    assert x.data_ptr != peer.address(theirs)
    assert (x.flags.writable, x.usm_type, x.tolist()) == (True, "device", [0, 1, 2, 3, 4, 5])
    wide = usmpy.asarray(theirs, dtype="float64")
    assert (wide.dtype, wide.tolist()) == (usmpy.float64, [0, 1, 2, 3, 4, 5])


def test_assignment_from_the_peers_array(peer):
    x = usmpy.zeros((2, 3), dtype="float32")
    x[...] = peer.make(np.arange(6, dtype="float32").reshape(2, 3))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


# Where a release of the peer has learnt the type, as NumPy 2.5 those of ml_dtypes, its array has that type.
LACKING = [
    *(("numpy", dtype) for dtype in ("float4_e2m1fn", "float6_e2m3fn", "float8_e4m3fn", "bfloat16")),
    *(("torch", dtype) for dtype in ("float4_e2m1fn", "float6_e3m2fn", "float8_e3m4")),
    *(("jax", dtype) for dtype in ("float4_e2m1fn", "float6_e2m3fn", "complex32")),
]


@pytest.mark.parametrize(("name", "dtype"), LACKING)
def test_a_dtype_that_the_peer_lacks_is_its_error_and_costs_nothing(name, dtype):
    peer = peer_of(name)
    x = usmpy.zeros(4, dtype=dtype)
    before = usmpy._core._live_counts()
    try:
        taken = peer.take(x)
        found = f"{taken.dtype} {tuple(taken.shape)}"
        del taken
    except Exception as error:
        found = str(error)
    assert re.search(r"(?i)unsupported|unknown|unimplemented", found) or found == f"{dtype} (4,)"
    gc.collect()
    assert usmpy._core._live_counts() == before
