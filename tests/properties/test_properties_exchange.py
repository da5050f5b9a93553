"""Properties of the exchange over random layouts and random nonsense."""

from __future__ import annotations

import ctypes
import gc
import itertools
import time

import numpy as np
import producers
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import usmpy

quick = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

DTYPES = [
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@st.composite
def arrays(draw):
    """A NumPy array of random dtype and shape, and a random view of it: slices, steps, axes, broadcasts."""
    shape = tuple(draw(st.lists(st.integers(0, 5), max_size=5)))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    count = int(np.prod(shape, dtype=int))
    bits = np.arange(count * dtype.itemsize, dtype=np.uint64) * 37 % 251
    a = (bits.astype(np.uint8) & (1 if dtype.name == "bool" else 255)).view(dtype).reshape(shape)
    index = []
    for length in shape:
        start = draw(st.integers(-length - 1, length + 1))
        stop = draw(st.one_of(st.none(), st.integers(-length - 1, length + 1)))
        step = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
        index.append(draw(st.sampled_from([slice(None), slice(None), slice(start, stop, step)])))
    a = a[(*index, ...)]
    a = a.transpose(draw(st.permutations(range(a.ndim))))
    if a.ndim < 5 and draw(st.booleans()):
        a = np.expand_dims(a, draw(st.integers(0, a.ndim)))
    if draw(st.integers(0, 4)) == 0:
        a = np.broadcast_to(a, (draw(st.integers(0, 3)), *a.shape))
    return a


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


@quick
@given(arrays())
@example(np.zeros((0, 3)).T)
@example(np.broadcast_to(np.float32(3), (2, 0)))
def test_numpy_to_ours_to_numpy_is_the_same_array(a):
    x = usmpy.from_dlpack(a)
    assert (x.shape, x.dtype, x.flags.writable) == (a.shape, usmpy.DType(a.dtype.name), a.flags.writeable)
    assert (x.flags.c_contiguous, x.flags.f_contiguous) == (a.flags.c_contiguous, a.flags.f_contiguous)
    back = np.from_dlpack(x)
    assert same(back, a)
    if a.size:  # NumPy makes an array of its own of one without elements
        assert back.flags.writeable == a.flags.writeable
        address = a.__array_interface__["data"][0]
        assert x.data_ptr == address
        assert back.__array_interface__["data"][0] == address
    assert same(np.asarray(x), a)
    assert same(x.asnumpy(), a)


@quick
@given(arrays(), st.sampled_from([None, (1, 0)]))
def test_a_copy_has_the_elements_and_its_own_memory(a, device):
    x = usmpy.from_dlpack(a, copy=True, device=device)
    assert same(x.asnumpy(), a)
    assert x.flags.writable
    assert x.size == 0 or not np.shares_memory(np.asarray(x), a)
    capsule = usmpy.from_dlpack(a).__dlpack__(max_version=(1, 0), copy=True)
    assert same(np.from_dlpack(producers.Producer(lambda: capsule, (1, 0))), a)


@quick
@given(arrays(), st.data())
def test_views_taken_here_and_there_are_the_same(a, data):
    x = usmpy.from_dlpack(a)
    index = []
    for length in a.shape:
        choices = [slice(None), slice(None, None, -1), slice(1, None, 2), slice(0, 0)]
        index.append(data.draw(st.sampled_from(choices + ([0, -1] if length else []))))
    index = (*index, ...)
    assert same(np.from_dlpack(x[index]), a[index])


@quick
@given(arrays())
def test_the_buffer_protocol_agrees_with_numpy(a):
    x = usmpy.from_dlpack(a)
    ours, theirs = memoryview(x), memoryview(a)
    assert (ours.shape, ours.readonly, ours.itemsize) == (theirs.shape, theirs.readonly, theirs.itemsize)
    assert (ours.c_contiguous, ours.f_contiguous) == (theirs.c_contiguous, theirs.f_contiguous)
    assert ours.tobytes() == theirs.tobytes()
    assert same(np.asarray(usmpy.asarray(theirs)), a)


# -- nonsense --------------------------------------------------------------------------------------

MEMORY = 1 << 16
ODD = [0, 1, 2, 3, 5, 7, -1, -2, 64, 65, 2**31 - 1, 2**31, 2**32, 2**61, 2**62, 2**63 - 1, -(2**63), -(2**62)]
lengths = st.one_of(st.integers(0, 4), st.integers(0, 4), st.sampled_from(ODD))
strides = st.one_of(st.integers(-8, 8), st.sampled_from(ODD))


HELD = [getattr(usmpy, n).dlpack for n in usmpy.__all__ if isinstance(getattr(usmpy, n), usmpy.DType)]
any_dtype = st.tuples(st.integers(0, 255), st.integers(0, 255), st.sampled_from([1, 1, 0, 2, 65535]))


@st.composite
def tensors(draw):
    shape = draw(st.one_of(st.none(), st.lists(lengths, max_size=6)))
    fields = {
        "shape": None if shape is None else tuple(shape),
        "dtype": draw(st.one_of(st.sampled_from(HELD), st.sampled_from(HELD), any_dtype)),
        "version": (draw(st.sampled_from([*[1] * 8, 0, 2])), draw(st.integers(0, 9))),
        "flags": draw(st.one_of(st.just(0), st.integers(0, 2**64 - 1))),
        "device": (
            draw(st.sampled_from([*[1] * 12, 0, 2, 4, 14, -1, 77])),
            draw(st.sampled_from([0, 0, 1, -1])),
        ),
        "byte_offset": draw(st.sampled_from([0, 0, 0, 1, 8, 1000, 2**63, 2**64 - 1])),
        "versioned": draw(st.booleans()),
        "memory": MEMORY,
    }
    if shape is None or draw(st.integers(0, 9)) == 0:
        known = len(shape or ())
        fields["ndim"] = draw(st.sampled_from([0, known, -1, 65, 2**31 - 1, -(2**31)])) if shape else 0
        if shape is None:
            fields["ndim"] = draw(st.sampled_from([0, 1, 3, 64, 65, -1]))
        elif 0 < fields["ndim"] <= 64:
            fields["ndim"] = known
    if shape is None or draw(st.booleans()):
        # Room for as many as may be read.
        fields["strides"] = draw(
            st.one_of(st.none(), st.lists(strides, min_size=6, max_size=6).map(lambda six: six + [1] * 59))
        )
    fields["data"] = draw(st.sampled_from([None, None, None, None, None, 0]))
    return fields


def reach(shape, steps):
    """Bounds, in elements, of what an array touches."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(shape, steps, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(shape, steps, strict=True))
    return low, high


def counts_become(before):
    """Are the objects of before the only ones left? A driver's threads are done soon."""
    deadline = time.monotonic() + 60
    while usmpy._core._live_counts() != before and time.monotonic() < deadline:
        time.sleep(0.001)
    return usmpy._core._live_counts() == before


@pytest.fixture(scope="module")
def opened():
    """The cached queue of every device that a tensor may name is there before anything is counted."""
    return [device.queue for device in usmpy.get_devices()]


@settings(quick, max_examples=200)
@given(fields=tensors())
def test_a_random_tensor_is_refused_or_taken_right_and_deleted_once(opened, fields):
    tensor = producers.Tensor(**fields)
    # A type of its own: one that is known for memory of the host would be asked twice for memory of a device.
    source = type("Source", (producers.Producer,), {})(tensor.capsule, fields["device"])
    before = usmpy._core._live_counts()
    try:
        x = usmpy.from_dlpack(source)
    except BufferError:
        assert tensor.deleted == 1
        assert counts_become(before)
        return
    told = tensor.managed.dl_tensor.describe()
    shape = (told["shape"] or ())[: tensor.managed.dl_tensor.ndim]
    assert tensor.deleted == 0
    assert x.shape == tuple(shape)
    assert x.dtype.dlpack == told["dtype"]
    assert not fields["versioned"] or fields["version"][0] == 1
    assert x.flags.writable == (not fields["versioned"] or not fields["flags"] & producers.READ_ONLY)
    if x.size:
        assert x.data_ptr == told["data"] + told["byte_offset"]
        low, high = reach(x.shape, x.strides)
        inside = fields["byte_offset"] + low * x.itemsize >= 0
        inside = inside and fields["byte_offset"] + (high + 1) * x.itemsize <= MEMORY
        if inside and x.size < 5000 and x.dtype.bits >= 8:
            expected = b"".join(
                ctypes.string_at(
                    x.data_ptr + sum(i * s for i, s in zip(at, x.strides, strict=True)) * x.itemsize,
                    x.itemsize,
                )
                for at in itertools.product(*map(range, x.shape))
            )
            copied = usmpy.from_dlpack(x, copy=True)
            flat = usmpy.empty(x.shape, dtype=x.dtype)
            usmpy.copyto(flat, copied)
            assert memory_of(flat) == expected
            del copied, flat
    del x
    gc.collect(0)
    assert tensor.deleted == 1
    assert counts_become(before)


def memory_of(x):
    into = bytearray(x.nbytes)
    x.queue.memcpy(into, x).wait()
    return bytes(into)


@quick
@given(
    st.text(alphabet="dltensor_vusi ", max_size=20).filter(
        lambda name: name not in ("dltensor", "dltensor_versioned")
    )
)
def test_a_capsule_of_any_other_name_is_left_alone(name):
    tensor = producers.Tensor()
    capsule = tensor.capsule(name)
    try:
        usmpy.from_dlpack(producers.Producer(lambda: capsule))
    except BufferError:
        pass
    else:
        raise AssertionError("it was taken")
    assert tensor.deleted == 0
    assert producers.capsule_name(capsule) == name
    producers._live.clear()


versions = st.one_of(
    st.none(),
    st.tuples(st.integers(), st.integers()),
    st.tuples(st.integers(-2, 3), st.integers(-2, 3)),
    st.lists(st.integers(), max_size=3),
    st.integers(),
    st.text(max_size=3),
    st.tuples(st.integers()),
    st.tuples(st.floats(), st.integers()),
)
things = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.tuples(st.integers(0, 2), st.integers(-1, 1)),
    versions,
)


@quick
@given(versions, things, things, things)
def test_random_keywords_of_dlpack_give_a_capsule_or_a_plain_error(max_version, stream, dl_device, copy):
    x = usmpy.arange(4)
    try:
        capsule = x.__dlpack__(max_version=max_version, stream=stream, dl_device=dl_device, copy=copy)
    except (TypeError, BufferError):
        return
    assert max_version is None or isinstance(max_version, tuple)
    major = 0 if max_version is None else max_version[0]
    versioned = major >= 1
    assert producers.capsule_name(capsule) == ("dltensor_versioned" if versioned else "dltensor")
    assert stream in (None, -1)
    assert dl_device in (None, (1, 0))
    assert (producers.peek(capsule).dl_tensor.data != x.data_ptr) == (copy is True)
