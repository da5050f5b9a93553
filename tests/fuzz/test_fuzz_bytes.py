"""IPC handles and pickles with changed bytes: opened as what they say, or refused with a plain error."""

import io
import os
import pickle
import struct

import numpy as np
import pytest
from fuzz_settings import examples
from hypothesis import given
from hypothesis import strategies as st

import usmpy

PLAIN = (BufferError, TypeError, ValueError, OverflowError, LookupError, MemoryError, usmpy.UsmError)
CHECK = 16
changes = st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=3)
ODD = [0, 1, -1, 4096, 2**31, 2**62, 2**63 - 1, -(2**63)]


def sealed(data):
    """The bytes with the check that belongs to them."""
    check = 14695981039346656037
    for i, byte in enumerate(data):
        if not CHECK <= i < CHECK + 8:
            check = ((check ^ byte) * 1099511628211) % 2**64
    struct.pack_into("Q", data, CHECK, check)
    return bytes(data)


@pytest.fixture
def shared():
    array = usmpy.share(usmpy.reshape(usmpy.arange(96, dtype="int32", device="host"), (8, 12)))
    with array.get_ipc_handle() as handle:
        yield bytes(handle), handle.fds


def opened(data, fds):
    """What the handle opens to, read from its first element to its last; None: it is refused."""
    try:
        with usmpy.IPCHandle.from_bytes(data, fds) as handle:
            x = handle.open()
            return x.asnumpy() if x.size < 10**6 else x
    except PLAIN:
        return None


def test_handles_that_were_damaged(shared):
    data, fds = shared

    @examples(60)
    @given(changes, st.one_of(st.none(), st.integers(0, len(data) - 1)))
    def check(changes, end):
        damaged = bytearray(data)
        for at, byte in changes:
            damaged[at % len(data)] ^= byte
        damaged = bytes(damaged[:end])
        assert damaged == data or opened(damaged, fds) is None

    check()
    np.testing.assert_array_equal(opened(data, fds), np.arange(96).reshape(8, 12))


def test_handles_that_say_anything(shared):
    """Sealed again: what they open to lies in the memory that there is, and can be read."""
    data, fds = shared
    members = st.one_of(
        st.tuples(st.integers(80, len(data) - 1), st.just("B"), st.integers(0, 255)),
        st.tuples(
            st.integers(10, len(data) // 8 - 1).map(lambda i: i * 8), st.just("q"), st.sampled_from(ODD)
        ),
        st.tuples(st.integers(1, 4).map(lambda i: len(data) - 8 * i), st.just("q"), st.integers(-200, 200)),
    )

    @examples(100)
    @given(st.lists(members, min_size=1, max_size=4))
    def check(members):
        changed = bytearray(data)
        for at, form, value in members:
            struct.pack_into(form, changed, at, value)
        opened(sealed(changed), fds)

    check()


class Unpickler(pickle.Unpickler):
    """Finds nothing but what usmpy's own pickles name."""

    def find_class(self, module, name):
        if module.partition(".")[0] != "usmpy":
            raise pickle.UnpicklingError(module)
        return super().find_class(module, name)


def values():
    array = usmpy.reshape(usmpy.arange(12, dtype="int16", device="host"), (3, 4))
    return {
        "array": array,
        "view": array[::2, ::-1],
        "empty": array[3:],
        "device": array.device,
        "dtype": array.dtype,
        "error": usmpy.BuildError("no", "log"),
    }


@pytest.mark.parametrize("name", values())
@pytest.mark.parametrize("protocol", [2, 5])
def test_pickles(name, protocol):
    try:
        data = pickle.dumps(values()[name], protocol)
    except TypeError:
        pytest.fail(f"{name} has no pickle")

    @examples(40)
    @given(changes, st.one_of(st.none(), st.integers(0, len(data) - 1)))
    def check(changes, end):
        damaged = bytearray(data)
        for at, byte in changes:
            damaged[at % len(data)] ^= byte
        try:
            x = Unpickler(io.BytesIO(bytes(damaged[:end]))).load()
        except SystemError:
            raise  # a function that failed without an exception
        except Exception:
            return  # those of pickle are of any class
        if isinstance(x, usmpy.USMArray) and x.size < 10**6:
            assert x.asnumpy().shape == x.shape

    check()


@examples(50)
@given(st.data())
def test_arguments_of_pickles(data):
    """The function that arrays are restored by, with other arguments than their pickles have."""
    array = values()[data.draw(st.sampled_from(["array", "view", "empty"]))]
    function, arguments, *_ = array.__reduce_ex__(data.draw(st.sampled_from([2, 5])))
    thing = st.one_of(
        st.integers(-2, 5),
        st.sampled_from(ODD),
        st.none(),
        st.binary(max_size=30),
        st.text(max_size=8),
        st.sampled_from(arguments),
        st.lists(st.integers(-1, 9), max_size=3).map(tuple),
        st.sampled_from(ODD).map(lambda n: (n, n)),
    )
    given = [data.draw(thing) if data.draw(st.integers(0, 2)) == 0 else argument for argument in arguments]
    try:
        x = function(*given)
    except PLAIN:
        return
    assert isinstance(x, usmpy.USMArray)
    assert x.size > 10**6 or x.asnumpy().shape == x.shape


def test_descriptors_are_as_many_as_before(shared):
    data, fds = shared
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        opened(data[:-1], fds)
        opened(data, (*fds, *fds))
        opened(data, fds)
    assert len(os.listdir("/proc/self/fd")) == before
