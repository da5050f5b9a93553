"""USMArray.from_pointer over memory of ours: whose it is, of which kind, and how far it goes."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import producers
import pytest
from together import together

import usmpy

KINDS = ("device", "shared", "host")


@pytest.fixture(params=KINDS)
def kind(request, device):
    if not getattr(device, f"has_usm_{request.param}"):
        pytest.skip(f"the device has no {request.param} memory")
    return request.param


@pytest.fixture(params=[12, 100, 5000, 33 << 20], ids="{}B".format)
def memory(request, queue, kind):
    """So many bytes: less than the pool's and the driver's blocks have, or the driver's own."""
    zeros = usmpy.zeros(request.param, dtype="uint8", usm_type=kind, queue=queue)
    zeros.wait()  # an array over an address is not ordered after work on the memory
    return zeros


def adopt(memory, at, shape, dtype="uint8", **more):
    return usmpy.USMArray.from_pointer(
        memory.data_ptr + at, shape, dtype, queue=memory.queue, owner=memory, **more
    )


def test_all_of_an_allocation_is_taken_and_known(memory, kind):
    n = memory.size
    whole = adopt(memory, 0, n)
    assert (whole.data_ptr, whole.usm_type, whole.device) == (memory.data_ptr, kind, memory.device)
    assert whole.__dlpack_device__() == memory.__dlpack_device__()
    assert adopt(memory, 4, (n - 4) // 4, "int32", usm_type=kind).size == (n - 4) // 4
    backwards = adopt(memory, n - 1, n, strides=(-1,))
    memory[n - 3 :] = usmpy.asarray([3, 4, 5], dtype="uint8", queue=memory.queue)
    memory.wait()
    assert whole[n - 3 :].tolist() == [3, 4, 5]
    assert backwards[:3].tolist() == [5, 4, 3]


OUTSIDE = {
    "one byte more": lambda n: (0, n + 1, 1),
    "begins behind the middle": lambda n: (n - 1, 2, 1),
    "backwards from the beginning": lambda n: (3, 5, -1),
    "strided": lambda n: (0, 3, n // 2),
    "a million": lambda n: (0, n + 1_000_000, 1),
    "the lowest stride": lambda n: (0, 2, -(2**63)),
    "the highest stride": lambda n: (0, 2, 2**63 - 1),
    "round the address space, down": lambda n: (0, 2, -(1 << 62)),
    "round the address space, up": lambda n: (n - 1, 5, 1 << 62),
}


@together("how", OUTSIDE)
def test_layouts_beyond_the_bounds_are_refused(memory, how):
    at, length, stride = OUTSIDE[how](memory.size)
    with pytest.raises(ValueError, match=f"of an allocation of {memory.size} bytes|beyond any address"):
        adopt(memory, at, length, strides=(stride,))
    with pytest.raises(ValueError, match=f"of an allocation of {memory.size} bytes|beyond any address"):
        adopt(memory, at, (length, 1, 2), strides=(stride, 7, 0))


def test_a_stride_to_the_other_end_of_the_address_space(memory):
    """Past 0, and from the last addresses to the first: where the sums of addresses wrap."""
    for stride in (-(memory.data_ptr + 4096), -memory.data_ptr - 1, 2**64 - memory.data_ptr - 4096):
        if -(2**63) <= stride < 2**63:
            with pytest.raises(ValueError, match=r"of an allocation of|beyond any address"):
                adopt(memory, 0, 2, strides=(stride,))


def test_elements_count_by_their_size(queue, kind):
    x = usmpy.zeros(3, dtype="float32", usm_type=kind, queue=queue)
    x.wait()  # as above
    assert adopt(x, 0, 3, "float32").tolist() == [0.0] * 3
    for shape, dtype in ((4, "float32"), (2, "float64"), (1_000_000, "float32"), ((3, 2), "float16")):
        if dtype != "float16":
            with pytest.raises(ValueError, match="of an allocation of 12 bytes"):
                adopt(x, 0, shape, dtype)
        else:
            assert adopt(x, 0, shape, dtype).shape == shape
    assert adopt(x, 0, 24, "float4_e2m1fn").size == 24
    with pytest.raises(ValueError, match="of an allocation of 12 bytes"):
        adopt(x, 0, 25, "float4_e2m1fn")
    assert adopt(x, 12, (0, 5), "float32").shape == (0, 5)


def test_the_kind_must_be_that_of_the_memory(memory, kind):
    other = KINDS[KINDS.index(kind) - 1]
    with pytest.raises(ValueError, match=f"usm_type is '{other}', and 0x[0-9a-f]+ is {kind} memory"):
        adopt(memory, 0, 1, usm_type=other)


def test_memory_that_was_freed_is_refused(queue, kind):
    """As long as the pool has the block: what the driver got back may be anything."""
    x = usmpy.empty(1000, dtype="uint8", usm_type=kind, queue=queue)
    address = x.data_ptr
    assert usmpy.USMArray.from_pointer(address, 1000, "uint8", queue=queue).size == 1000
    x.wait()
    del x
    gc.collect()
    with pytest.raises(ValueError, match="was freed"):
        usmpy.USMArray.from_pointer(address, 1000, "uint8", queue=queue)
    again = usmpy.empty(900, dtype="uint8", usm_type=kind, queue=queue)
    if again.data_ptr == address:
        with pytest.raises(ValueError, match="of an allocation of 900 bytes"):
            adopt(again, 0, 901)


def test_on_another_queue_it_keeps_its_place(device, memory, kind):
    """The queue's device must be able to use the memory; the memory stays where it is."""
    n = min(memory.size, 100)
    for queue in (usmpy.Queue(device), usmpy.Queue(device, context=usmpy.Context(device)), "host"):
        queue = queue if queue != "host" else usmpy.Device("host").queue
        if usmpy.memory_connection(memory, queue) is usmpy.MemoryConnection.UNIFIED:
            there = usmpy.USMArray.from_pointer(memory.data_ptr, n, "uint8", queue=queue, owner=memory)
            assert (there.queue, there.usm_type) == (queue, kind)
            assert there.__dlpack_device__() == memory.__dlpack_device__()
            assert there.copy().tolist() == memory[:n].tolist()
        else:
            with pytest.raises(ValueError, match="cannot use in place"):
                usmpy.USMArray.from_pointer(memory.data_ptr, n, "uint8", queue=queue)


def test_an_owner_whose_memory_is_given_back_without_the_gil(queue):
    class Owner:
        pass

    memory, owner = usmpy.zeros(4, dtype="int32", queue=queue), Owner()
    memory.wait()
    gone = weakref.ref(owner)
    x = usmpy.USMArray.from_pointer(memory.data_ptr, 4, "int32", queue=queue, owner=owner)
    managed = producers.take(x.__dlpack__(max_version=(1, 3)))
    del x, owner
    gc.collect()
    assert gone() is not None
    producers.delete(managed)
    usmpy.zeros(1, queue=queue).wait()  # a call of usmpy releases what other threads could not
    assert gone() is None


def test_arguments_of_from_pointer(queue):
    x = usmpy.zeros(4, dtype="uint8", queue=queue)
    make = usmpy.USMArray.from_pointer
    with pytest.raises(TypeError, match="queue is an int; a Queue is allowed"):
        make(x.data_ptr, 4, "uint8", queue=1)
    with pytest.raises(ValueError, match="packs several elements into a byte"):
        make(x.data_ptr, 4, "float4_e2m1fn", strides=(1,), queue=queue)
    for shape in ((2**40, 2**40), (2**62, 4)):
        with pytest.raises((ValueError, MemoryError)):
            make(x.data_ptr, shape, "uint8", queue=queue)


class Exporter:
    """Has an array's interface of SYCL, with another object that names the queue."""

    def __init__(self, array, syclobj):
        self.__sycl_usm_array_interface__ = {**array.__sycl_usm_array_interface__, "syclobj": syclobj}


def test_a_context_stands_for_a_queue_of_it(queue):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    if not hasattr(x, "__sycl_usm_array_interface__"):
        with pytest.raises(AttributeError, match="which SYCL does not know"):
            _ = x.__sycl_usm_array_interface__
        return
    for place in (queue.context, queue, queue.device):
        y = usmpy.asarray(Exporter(x, place))
        assert (y.data_ptr, y.queue.context, y.tolist()) == (x.data_ptr, queue.context, [0, 1, 2, 3])


def test_the_syclobj_is_of_the_context_of_the_memory(queue):
    other = usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))
    x = usmpy.zeros(4, queue=queue)
    x.wait()
    y = x.to_device(other)
    if hasattr(y, "__sycl_usm_array_interface__"):
        owner = queue if y.data_ptr == x.data_ptr else other
        assert y.__sycl_usm_array_interface__["syclobj"].context == owner.context


def test_addresses_of_other_memory(queue):
    """Memory that the driver does not know is of the kind that is given, if the device has it."""
    n = np.zeros(4, "uint8")
    for kind in ("device", "shared", "host"):
        refused = ""
        try:
            x = usmpy.USMArray.from_pointer(n.ctypes.data, 4, "uint8", queue=queue, usm_type=kind, owner=n)
        except ValueError as error:
            refused = str(error)
        if getattr(queue.device, f"has_usm_{kind}"):
            assert "the driver does not know" in refused if refused else x.usm_type == kind
        else:
            assert refused


def test_an_interface_over_other_memory(queue):
    """The same, where the producer's interface says that it is unified shared memory."""
    n, x = np.zeros(4, "uint8"), usmpy.zeros(4, dtype="uint8", queue=queue)
    if not hasattr(x, "__sycl_usm_array_interface__"):
        return
    exporter = Exporter(x, queue)
    exporter.__sycl_usm_array_interface__["data"] = (n.ctypes.data, False)
    try:
        y = usmpy.asarray(exporter)
    except BufferError:
        y = None
    assert y is None or (y.data_ptr == n.ctypes.data and y.usm_type in ("shared", "device"))


def test_a_borrow_that_the_collector_clears_first(queue):
    """A dict is tracked once it has an object that is: here, after the borrow."""

    class Sentinel:
        pass

    sentinel, cycle = Sentinel(), {}
    gone = weakref.ref(sentinel)
    borrow = usmpy.borrow(cycle, queue)
    cycle["borrow"], cycle["sentinel"] = borrow, sentinel
    del borrow, sentinel, cycle
    gc.collect()
    assert gone() is None
