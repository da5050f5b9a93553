"""USMArray.from_pointer over memory of ours: whose it is, of which kind, and how far it goes."""

from __future__ import annotations

import gc

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
