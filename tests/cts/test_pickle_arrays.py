"""Pickles of arrays: protocol 5 out of band and in band, in place where the device can, and elsewhere."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest
from asleep import once_asleep

import usmpy

DTYPES = ["bool", "int8", "uint16", "float32", "complex64", "bfloat16", "complex32", "float8_e4m3fn"]
KEYS = np.s_[::2], np.s_[..., ::-1], np.s_[:, 1], np.s_[1, 2, 3], np.s_[0:0]


def split(x):
    """The pickle of x, and its buffers out of band."""
    buffers = []
    return pickle.dumps(x, 5, buffer_callback=buffers.append), buffers


def address_of(buffer):
    return np.frombuffer(buffer, np.uint8).__array_interface__["data"][0]


def host_reads(x):
    try:
        memoryview(x)
    except BufferError:
        return False
    return True


def kinds(device):
    return [kind for kind in ("device", "shared", "host") if getattr(device, f"has_usm_{kind}")]


def aligned(nbytes, offset=0):
    """Writable memory whose address is a multiple of 64, plus the offset."""
    room = np.zeros(nbytes + 128, np.uint8)
    start = -room.__array_interface__["data"][0] % 64 + offset
    return room[start : start + nbytes]


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_in_band(device, protocol):
    n = np.arange(24, dtype="int32").reshape(2, 3, 4)
    for kind in kinds(device):
        for order in "CF":
            x = usmpy.asarray(n, device=device, usm_type=kind, order=order, copy=True)
            y = pickle.loads(pickle.dumps(x, protocol))
            assert (y.dtype, y.shape, y.usm_type, y.device) == (x.dtype, x.shape, kind, x.device)
            assert y.strides == x.strides
            assert y.flags.writable
            y[...] = y + 1
            np.testing.assert_array_equal(y.asnumpy(), n + 1)
            np.testing.assert_array_equal(x.asnumpy(), n)


def test_the_array_itself_is_what_travels_where_the_host_reads_it(device):
    for kind in kinds(device):
        x = usmpy.asarray(np.arange(5000, dtype="int32"), device=device, usm_type=kind, copy=True)
        data, (buffer,) = split(x)
        assert len(data) < 200
        assert buffer.raw().nbytes == x.nbytes
        assert (address_of(buffer) == x.data_ptr) == host_reads(x)
        y = pickle.loads(data, buffers=[buffer])
        assert (y.data_ptr == x.data_ptr) == host_reads(x)
        assert y.usm_type == kind
        assert y.device == device
        np.testing.assert_array_equal(y.asnumpy(), np.arange(5000))


@pytest.mark.only_on("host-accessible", "host-task")
def test_memory_that_a_pickle_shares_is_ordered(queue):
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    data, buffers = split(x)
    y = pickle.loads(data, buffers=buffers)
    gate = threading.Event()
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 3)
    z = y + 1  # on another queue: the device's own
    gate.set()
    assert z.tolist() == [4] * 1000


@pytest.mark.only_on("host-task")
def test_pending_work_is_waited_for(queue):
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    for key in (Ellipsis, slice(None, None, 2)):
        gate = threading.Event()
        queue.host_task(lambda gate=gate: gate.wait(60))
        queue.fill(x, 3)
        once_asleep(gate.set)
        _, (buffer,) = split(x[key])
        assert set(np.frombuffer(buffer, np.int32)) == {3}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_sort_of_type(device, dtype):
    x = usmpy.empty((3, 5), dtype=dtype, device=device)
    x.queue.memcpy(x, bytes(i % 2 for i in range(x.nbytes))).wait()
    for y in (pickle.loads(pickle.dumps(x, 5)), pickle.loads(split(x)[0], buffers=split(x)[1])):
        assert (y.dtype, y.shape) == (x.dtype, x.shape)
        assert y.tobytes() == x.tobytes()


def test_gaps_are_left_out(device):
    n = np.arange(60, dtype="int16").reshape(3, 4, 5)
    x = usmpy.asarray(n, device=device, copy=True)
    for key in KEYS:
        data, (buffer,) = split(x[key])
        assert buffer.raw().nbytes == n[key].nbytes
        np.testing.assert_array_equal(pickle.loads(data, buffers=[buffer]).asnumpy(), n[key])
    y = pickle.loads(pickle.dumps(usmpy.permute_dims(x, (2, 1, 0)), 5))
    assert y.flags.f_contiguous
    np.testing.assert_array_equal(y.asnumpy(), n.T)


@pytest.mark.only_on("host-accessible")
def test_read_only_stays_so(device):
    x = usmpy._core._read_only(usmpy.arange(4, dtype="int32", device=device))
    data, (buffer,) = split(x)
    assert buffer.raw().readonly
    for y in (pickle.loads(data, buffers=[buffer]), pickle.loads(pickle.dumps(x, 5))):
        assert not y.flags.writable
        assert y.tolist() == [0, 1, 2, 3]


@pytest.mark.only_on("system-usm")
@pytest.mark.parametrize("make", [bytearray, memoryview, pickle.PickleBuffer])
def test_a_buffer_is_used_in_place_and_kept(device, make):
    x = usmpy.arange(512, dtype="int32", device=device)
    data, (buffer,) = split(x)
    memory = aligned(2048)
    memory[...] = np.frombuffer(buffer, np.uint8)
    source = bytearray(memory) if make is bytearray else make(memory)
    address = address_of(source)
    y = pickle.loads(data, buffers=[source])
    assert y.data_ptr == address
    assert y.queue is device.queue
    y[0] = 9
    y.wait()
    assert memoryview(source)[0] == 9
    if make is bytearray:
        with pytest.raises(BufferError):
            source.append(0)
    alive = weakref.ref(memory)
    del memory, source
    gc.collect()
    assert (alive() is None) == (make is bytearray)
    assert y[:3].tolist() == [9, 1, 2]
    del y
    gc.collect()
    assert alive() is None


@pytest.mark.only_on("system-usm")
def test_a_read_only_buffer_gives_a_read_only_array(device):
    x = usmpy.arange(512, dtype="int32", device=device)
    data, (buffer,) = split(x)
    memory = aligned(2048)
    memory[...] = np.frombuffer(buffer, np.uint8)
    memory.flags.writeable = False
    y = pickle.loads(data, buffers=[memory])
    assert y.data_ptr == address_of(memory)
    assert not y.flags.writable
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1
    assert (y + 1)[3].item() == 4


@pytest.mark.parametrize(
    ("dtype", "offset", "in_place"),
    [
        ("int32", 4, True),
        ("int32", 2, False),
        ("float64", 4, False),
        ("complex128", 8, False),
        ("bool", 1, True),
    ],
)
def test_a_buffer_at_an_address_that_is_no_multiple_of_the_item_size_is_copied(
    device, dtype, offset, in_place
):
    x = usmpy.zeros(64, dtype=dtype, device=device)
    x.queue.memcpy(x, bytes(i % 2 for i in range(x.nbytes)))
    data, (buffer,) = split(x)
    memory = aligned(x.nbytes, offset)
    memory[...] = np.frombuffer(buffer, np.uint8)
    y = pickle.loads(data, buffers=[memory])
    adopts = device.device_type == "cpu" and device.has_usm_system
    assert (y.data_ptr == address_of(memory)) == (in_place and adopts)
    assert y.flags.writable
    if not in_place:
        memory[...] = 0  # it was read before
    assert y.tobytes() == x.tobytes()


def test_elsewhere_a_buffer_is_read_before_the_array_is_there(device):
    x = usmpy.arange(100_000, dtype="int32", device=device)
    data, (buffer,) = split(x)
    memory = bytearray(buffer)
    y = pickle.loads(data, buffers=[memory])
    if y.data_ptr != address_of(memory):
        memory[:] = bytes(len(memory))
    np.testing.assert_array_equal(y.asnumpy(), np.arange(100_000))


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b + b"\0", lambda b: b[:0]])
def test_a_buffer_of_another_size(device, change):
    x = usmpy.arange(10, dtype="int32", device=device)
    data, (buffer,) = split(x)
    wrong = bytearray(change(bytes(buffer)))
    with pytest.raises(
        ValueError, match=rf"the buffer has {len(wrong)} bytes; shape \(10,\) of int32 has 40"
    ):
        pickle.loads(data, buffers=[wrong])
    wrong.append(0)  # nothing holds it
    assert x.tolist() == list(range(10))


def test_what_is_no_buffer_in_one_block(device):
    x = usmpy.arange(10, dtype="int32", device=device)
    data, _ = split(x)
    with pytest.raises(BufferError, match="contiguous"):
        pickle.loads(data, buffers=[memoryview(bytes(80))[::2]])
    with pytest.raises(TypeError, match="bytes-like"):
        pickle.loads(data, buffers=[7])
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(data, buffers=[])


def test_elsewhere_and_back(device):
    n = np.arange(12, dtype="int32").reshape(3, 4)
    x = usmpy.asarray(n, device=device, copy=True)
    here, there = pickle.dumps(x, 5), pickle.dumps(usmpy.asarray(n, device="host", copy=True), 5)
    with usmpy.unpickle_device("host"):
        y = pickle.loads(here)
    assert y.queue is usmpy.Device("host").queue
    np.testing.assert_array_equal(y.asnumpy(), n)
    own = usmpy.Queue(device)
    with usmpy.unpickle_device({"host:cpu:0": own}):
        z = pickle.loads(there)
    assert z.queue == own
    np.testing.assert_array_equal((z + 1).asnumpy(), n + 1)


SOURCE = "kernel void twice(global int *x) { size_t i = get_global_id(0); x[i] = FACTOR * x[i]; }"


def test_programs_and_kernels(device):
    program = usmpy.Program(SOURCE, device=device, options="-D FACTOR=2")
    again, kernel = pickle.loads(pickle.dumps((program, program.twice)))
    assert again is not program
    assert kernel.program is again
    assert (again.device, again.language, again.options) == (device, "portable", "-D FACTOR=2")
    x = usmpy.arange(3, dtype="int32", device=device)
    kernel[usmpy.Range(3)](x)
    assert x.tolist() == [0, 2, 4]


@pytest.mark.parametrize("shape", [(12,), (3, 4)])
def test_buffers_of_any_type_are_bytes(device, shape):
    n = np.arange(12, dtype="int32")
    data, _ = split(usmpy.asarray(n, device=device, copy=True))
    for buffer in (n.reshape(shape), memoryview(n.reshape(shape)), n.reshape(shape).view("float32")):
        np.testing.assert_array_equal(pickle.loads(data, buffers=[buffer]).asnumpy(), n)
