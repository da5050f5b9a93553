"""from_dlpack: arrays of this library and capsules of others, onto a device of the suite."""

from __future__ import annotations

import gc
import struct
import threading
import time
import weakref

import producers
import pytest
from ids import steady
from producers import CPU, IS_COPIED, READ_ONLY, Producer, Tensor
from together import together

import usmpy

ALL_DTYPES = [name for name in usmpy.__all__ if isinstance(getattr(usmpy, name), usmpy.DType)]
FLOATS = struct.pack("<6f", 0, 1, 2, 3, 4, 5)


@pytest.fixture
def in_place(backend):
    """Whether memory of the CPU is taken in place; else from_dlpack copies it."""
    return "system-usm" in backend.tags


# -- arrays of our own -----------------------------------------------------------------------------


def test_our_own_array_comes_back_on_its_own_queue(queue):
    x = usmpy.arange(6, queue=queue)
    y = usmpy.from_dlpack(x)
    assert y is not x
    assert y.queue is x.queue
    assert (y.data_ptr, y.shape, y.strides, y.dtype, y.usm_type) == (
        x.data_ptr,
        x.shape,
        x.strides,
        x.dtype,
        x.usm_type,
    )
    assert y.flags.writable


def test_a_view_of_our_own_keeps_layout_and_read_only(queue):
    x = usmpy.broadcast_to(usmpy.arange(4, queue=queue)[::-2], (3, 2))
    y = usmpy.from_dlpack(x)
    assert (y.shape, y.strides, y.data_ptr) == (x.shape, x.strides, x.data_ptr)
    assert not y.flags.writable


@pytest.mark.parametrize("copy", [None, False, True])
def test_copy_of_our_own_array(queue, copy):
    x = usmpy.arange(5, dtype="int32", queue=queue)
    y = usmpy.from_dlpack(x, copy=copy)
    assert (y.data_ptr == x.data_ptr) == (copy is not True)
    assert y.queue is x.queue
    y[0] = 77
    assert x.tolist()[0] == (0 if copy else 77)


def test_device_moves_to_the_queue_that_a_device_object_stands_for(queue, device):
    x = usmpy.arange(5, queue=queue)
    other = usmpy.Queue(device)
    placed = usmpy.from_dlpack(x, device=usmpy.Device.create_device(other))
    assert placed.queue is other or placed.queue == other
    assert placed.data_ptr == x.data_ptr
    assert placed.tolist() == [0, 1, 2, 3, 4]


def test_a_copy_to_another_queue_belongs_there(queue, device):
    x = usmpy.arange(5, queue=queue)
    other = usmpy.Queue(device)
    y = usmpy.from_dlpack(x, device=other, copy=True)
    assert y.queue == other
    assert y.data_ptr != x.data_ptr
    assert y.tolist() == x.tolist()


def test_a_copy_of_read_only_is_writable(queue):
    x = usmpy.broadcast_to(usmpy.arange(4, queue=queue), (2, 4))
    y = usmpy.from_dlpack(x, copy=True)
    assert y.flags.writable
    y[0, 0] = 5
    assert x.tolist() == [[0, 1, 2, 3]] * 2


# -- capsules of others ----------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.only_on("system-usm")
def test_memory_of_the_host_is_taken_in_place(device, queue, versioned):
    producer, tensor = producers.producer((2, 3), "float32", memory=FLOATS, versioned=versioned)
    x = usmpy.from_dlpack(producer, device=usmpy.Device.create_device(queue))
    assert x.data_ptr == tensor.address
    assert x.queue == queue
    assert x.usm_type == "host"
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert x.flags.writable
    x[1, 1] = 40
    queue.wait()
    assert struct.unpack_from("<f", tensor.memory, 16) == (40.0,)
    assert tensor.deleted == 0
    queue.wait()
    del x
    assert tensor.deleted == 1


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.only_on("!system-usm")
def test_memory_out_of_reach_is_copied_unless_that_is_refused(queue, versioned, copy):
    producer, tensor = producers.producer((2, 3), "float32", memory=FLOATS, versioned=versioned)
    if copy is False:
        with pytest.raises(BufferError, match="copy=False"):
            usmpy.from_dlpack(producer, device=queue, copy=False)
    else:
        x = usmpy.from_dlpack(producer, device=queue, copy=copy)
        producers.ctypes.memset(tensor.memory, 9, 24)  # the copy has ended
        assert (x.queue, x.usm_type) == (queue, "device")
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert tensor.deleted == 1


def test_without_device_memory_of_the_host_lands_on_its_cached_queue():
    producer, _ = producers.producer((2, 3), "float32", memory=FLOATS)
    x = usmpy.from_dlpack(producer)
    assert x.queue is usmpy.Device("host:cpu:0").queue
    assert producer.calls == [{"max_version": (1, 3)}]


@pytest.mark.parametrize("placement", ["device", "queue", "array", "filter string", "pair"])
def test_device_takes_every_placement(device, queue, placement):
    producer, _ = producers.producer((6,), "float32", memory=FLOATS)
    given, expected = {
        "device": (device, device.queue),
        "queue": (queue, queue),
        "array": (usmpy.zeros(1, queue=queue), queue),
        "filter string": ("host:cpu:0", usmpy.Device("host:cpu:0").queue),
        "pair": ((CPU, 0), usmpy.Device("host:cpu:0").queue),
    }[placement]
    x = usmpy.from_dlpack(producer, device=given)
    assert x.queue == expected
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.only_on("system-usm")
def test_copy_of_foreign_memory(queue, copy):
    producer, tensor = producers.producer((6,), "float32", memory=FLOATS)
    x = usmpy.from_dlpack(producer, device=queue, copy=copy)
    assert x.queue == queue
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    if copy:
        assert x.data_ptr != tensor.address
        assert tensor.deleted == 1  # nothing of the producer's is held any more
        assert x.usm_type == "device"
    else:
        assert x.data_ptr == tensor.address
        assert tensor.deleted == 0


def test_a_copy_is_finished_when_the_call_returns(queue):
    count = 1_000_000
    producer, tensor = producers.producer((count,), "uint8", memory=b"\x07" * count)
    x = usmpy.from_dlpack(producer, device=queue, copy=True)
    producers.ctypes.memset(tensor.memory, 9, count)  # the owner keeps using its memory
    assert x[0].item() == 7
    assert x[count - 1].item() == 7


@together("dtype", ALL_DTYPES)
@pytest.mark.parametrize("versioned", [True, False])
def test_every_dtype_is_taken_bit_for_bit(queue, in_place, dtype, versioned):
    nbytes = (16 * usmpy.DType(dtype).bits + 7) // 8
    bits = bytes((37 * i + 11) % 2 if dtype == "bool" else (37 * i + 11) % 256 for i in range(nbytes))
    producer, tensor = producers.producer((4, 4), dtype, memory=bits, versioned=versioned)
    x = usmpy.from_dlpack(producer, device=queue)
    assert (x.dtype, x.shape, x.nbytes) == (usmpy.DType(dtype), (4, 4), nbytes)
    assert (x.data_ptr == tensor.address) == in_place
    copied = usmpy.from_dlpack(x, copy=True)
    managed = producers.peek(copied.__dlpack__(max_version=(1, 0)))
    assert managed.dl_tensor.describe()["dtype"] == usmpy.DType(dtype).dlpack
    assert producers.ctypes.string_at(copied.data_ptr, nbytes) == bits


LAYOUTS = [
    # shape, strides, byte offset, values of 0..23 as float32
    ((), None, 0, 0),
    ((), None, 20, 5),
    ((3,), None, 0, [0, 1, 2]),
    ((2, 3), None, 4, [[1, 2, 3], [4, 5, 6]]),
    ((3, 2), (1, 3), 0, [[0, 3], [1, 4], [2, 5]]),
    ((3,), (-2,), 40, [10, 8, 6]),
    ((2, 3), (0, 1), 0, [[0, 1, 2], [0, 1, 2]]),
    ((2, 2), (12, -1), 12, [[3, 2], [15, 14]]),
    ((1, 3, 1), (999, 2, -999), 0, [[[0], [2], [4]]]),
]


@pytest.mark.parametrize(("shape", "strides", "offset", "values"), LAYOUTS, ids=str)
def test_layouts_of_foreign_memory(queue, in_place, shape, strides, offset, values):
    memory = struct.pack("<24f", *range(24))
    producer, tensor = producers.producer(
        shape, "float32", memory=memory, strides=strides, byte_offset=offset
    )
    x = usmpy.from_dlpack(producer, device=queue)
    assert x.tolist() == values
    assert (x.data_ptr == tensor.address + offset) == in_place


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.only_on("system-usm")
def test_read_only_is_kept_and_legacy_is_writable(queue, versioned):
    flags = READ_ONLY if versioned else 0
    producer, _ = producers.producer((6,), "float32", memory=FLOATS, versioned=versioned, flags=flags)
    x = usmpy.from_dlpack(producer, device=queue)
    assert x.flags.writable == (not versioned)
    if versioned:
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        assert producers.peek(x.__dlpack__(max_version=(1, 0))).flags == READ_ONLY
    else:
        x[0] = 1


def test_unknown_flags_and_is_copied_are_ignored_and_not_passed_on(queue):
    producer, _ = producers.producer((6,), "float32", memory=FLOATS, flags=(1 << 63) | (1 << 17) | IS_COPIED)
    x = usmpy.from_dlpack(producer, device=queue)
    assert x.flags.writable
    assert producers.peek(x.__dlpack__(max_version=(1, 0))).flags == 0


# -- lives -----------------------------------------------------------------------------------------


@pytest.mark.only_on("system-usm")
def test_views_and_exports_keep_the_foreign_memory(queue):
    producer, tensor = producers.producer((6,), "float32", memory=FLOATS)
    x = usmpy.from_dlpack(producer, device=queue)
    view = x[2:]
    managed = producers.take(view.__dlpack__(max_version=(1, 0)))
    del x, view
    gc.collect()
    assert tensor.deleted == 0
    producers.delete(managed)
    assert tensor.deleted == 1


@pytest.mark.only_on("system-usm", "host-task")
def test_work_on_foreign_memory_keeps_it_until_the_work_has_ended(queue):
    producer, tensor = producers.producer((6,), "float32", memory=FLOATS)
    x = usmpy.from_dlpack(producer, device=queue)
    go = threading.Event()
    event = queue.host_task(lambda x: go.wait(60), x)
    del x
    gc.collect()
    assert tensor.deleted == 0
    go.set()
    event.wait()
    del event
    deadline = time.monotonic() + 60
    while not tensor.deleted and time.monotonic() < deadline:
        usmpy._core._live_counts()  # runs what workers put off
        time.sleep(0.001)
    assert tensor.deleted == 1


@pytest.mark.only_on("system-usm")
def test_imported_arrays_take_weak_references(queue):
    producer, tensor = producers.producer((6,), "float32", memory=FLOATS)
    x = usmpy.from_dlpack(producer, device=queue)
    seen = []
    reference = weakref.ref(x, lambda _: seen.append(tensor.deleted))
    assert reference() is x
    del x
    assert reference() is None
    assert seen == [0]  # the callback came before the memory went
    assert tensor.deleted == 1


def test_no_deleter_is_legal(queue):
    for versioned in (True, False):
        producer, tensor = producers.producer(
            (6,), "float32", memory=FLOATS, versioned=versioned, with_deleter=False
        )
        x = usmpy.from_dlpack(producer, device=queue)
        assert x.tolist() == [0, 1, 2, 3, 4, 5]
        del x
        assert tensor.deleted == 0
        producers._live.clear()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("thing", [[1, 2], (1,), 3, 2.5, None, "text", b"bytes", object()], ids=steady)
def test_an_object_without_dlpack_is_type_error(thing):
    with pytest.raises(TypeError, match="__dlpack__"):
        usmpy.from_dlpack(thing)


def test_arguments_of_from_dlpack(queue):
    x = usmpy.zeros(2, queue=queue)
    with pytest.raises(TypeError):
        usmpy.from_dlpack()
    with pytest.raises(TypeError):
        usmpy.from_dlpack(x, None)
    with pytest.raises(TypeError):
        usmpy.from_dlpack(x=x)
    with pytest.raises(TypeError, match="copy"):
        usmpy.from_dlpack(x, copy=1)
    with pytest.raises(TypeError):
        usmpy.from_dlpack(x, dtype="float32")


@pytest.mark.parametrize("pair", [(1,), (1, 0, 0), ("a", 0), (1.5, 0), (), 1, [1, 0], (None, None)], ids=str)
def test_device_of_another_kind_is_type_error(queue, pair):
    with pytest.raises(TypeError, match="device"):
        usmpy.from_dlpack(usmpy.zeros(2, queue=queue), device=pair)


@pytest.mark.parametrize("pair", [(99, 0), (0, 0), (-1, 0), (2**32 + 1, 0), (10**30, 0), (4, 0)], ids=str)
def test_a_pair_that_no_backend_has_is_buffer_error(queue, pair):
    with pytest.raises(BufferError, match="DLPack device"):
        usmpy.from_dlpack(usmpy.zeros(2, queue=queue), device=pair)


@pytest.mark.parametrize("which", ["shown", "of the device"])
def test_the_pair_of_where_it_is_means_where_it_is(device, which):
    """Memory of several devices may be seen as one pair: kDLCPU is the host's and OpenCL's processors'."""
    x = usmpy.arange(6, queue=usmpy.Queue(device))
    pair = x.__dlpack_device__() if which == "shown" else device.dlpack_device
    for copy in (None, False):
        same = usmpy.from_dlpack(x[1:], device=pair, copy=copy)
        assert (same.queue, same.data_ptr) == (x.queue, x.data_ptr + x.itemsize)
    copied = usmpy.from_dlpack(x, device=pair, copy=True)
    assert copied.queue == x.queue
    assert copied.data_ptr != x.data_ptr
    assert copied.tolist() == list(range(6))


class Index:
    """An int of another library's, such as NumPy's."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Raises:
    def __index__(self):
        raise KeyError("mine")


def test_ints_of_other_libraries_are_ints_of_a_pair(queue):
    x = usmpy.arange(6, dtype="float32", queue=queue)
    type_, id_ = x.__dlpack_device__()
    pair = (Index(type_), Index(id_))
    assert usmpy.from_dlpack(x, device=pair).data_ptr == x.data_ptr
    assert usmpy.from_dlpack(x, device=(Index(CPU), 0)).tolist() == list(range(6))
    producer, _ = producers.producer((6,), "float32", memory=FLOATS)
    producer.device = (Index(CPU), Index(0))
    assert usmpy.from_dlpack(producer, device=queue).tolist() == [0, 1, 2, 3, 4, 5]
    capsule = x.__dlpack__(max_version=(Index(1), Index(0)), dl_device=pair)
    assert producers.capsule_name(capsule) == "dltensor_versioned"
    for bad in ((Raises(), 0), (0, Raises())):
        with pytest.raises(KeyError, match="mine"):
            usmpy.from_dlpack(x, device=bad)
        with pytest.raises(KeyError, match="mine"):
            x.__dlpack__(max_version=bad)
        with pytest.raises(KeyError, match="mine"):
            x.__dlpack__(dl_device=bad)


@pytest.mark.parametrize("pair", [(2**70, 0), (1, 2**70), (-(2**70), 0), (2**32 + 1, 0), (1, 2**31)], ids=str)
def test_a_producers_pair_that_no_device_has_is_refused(pair):
    class Fresh(producers.Producer):
        """A new type: whose instances' place was not seen yet."""

    tensor = producers.Tensor((6,), "float32", memory=FLOATS)
    for _ in range(2):  # and nothing is remembered of it
        source = Fresh(tensor.capsule, device=pair)
        with pytest.raises(BufferError, match=r"__dlpack_device__.* no DLPack device has such a type or id"):
            usmpy.from_dlpack(source)
        assert source.calls == []
    assert tensor.deleted == 0


def test_a_refused_device_leaves_the_producer_uncalled(queue):
    producer, tensor = producers.producer((6,), "float32", memory=FLOATS)
    with pytest.raises(BufferError):
        usmpy.from_dlpack(producer, device=(99, 0))
    with pytest.raises(TypeError):
        usmpy.from_dlpack(producer, device=object())
    assert producer.calls == []
    assert tensor.deleted == 0


def test_as_many_elements_as_there_are_addresses():
    """Strides of 0 make them out of one."""
    one_byte = {"dtype": (1, 8, 1), "memory": b"\5" * 8}
    producer, _ = producers.producer((2**62,), strides=(0,), **one_byte)
    x = usmpy.from_dlpack(producer)
    assert (x.size, x[2**62 - 1].item()) == (2**62, 5)
    producer, _ = producers.producer((2**62, 2), strides=(0, 0), **one_byte)
    with pytest.raises(BufferError, match="beyond any address"):
        usmpy.from_dlpack(producer)


class Oldest:
    """Knows neither the stream nor the version of a consumer."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_a_producer_without_any_keyword(queue):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    x.wait()
    for _ in range(2):
        assert usmpy.from_dlpack(Oldest(x)).tolist() == [0, 1, 2, 3]


def test_empty_tensors(queue):
    x = usmpy.zeros((0, 3), dtype="int32", queue=queue)
    y = usmpy.from_dlpack(Producer(lambda: x.__dlpack__(max_version=(1, 3)), device=x.__dlpack_device__()))
    assert (y.shape, y.tolist()) == ((0, 3), [])


def test_strides_modulo_the_address_space(queue):
    """CuPy's, of reversed arrays: they are taken where the driver knows the bounds of the memory."""
    x = usmpy.arange(3, dtype="float32", queue=queue)
    x.wait()
    device = x.__dlpack_device__()

    def capsule():
        return Tensor((3,), strides=(2**62 - 1,), data=x.data_ptr + 8, device=device).capsule()

    try:
        y = usmpy.from_dlpack(Producer(capsule, device=device))
    except BufferError as error:
        y, text = None, str(error)
    if y is None:
        assert text.endswith("reach beyond any address")
    else:
        assert y.tolist() == [2, 1, 0]
