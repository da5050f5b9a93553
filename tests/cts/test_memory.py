"""Allocations: kinds, alignment, sizes, sharing, limits, what a memory connection is."""

import gc
import itertools

import pytest
from together import together

import usmpy

KINDS = ["device", "shared", "host"]


@pytest.mark.parametrize("usm_type", KINDS)
@pytest.mark.parametrize("make", [usmpy.empty, usmpy.zeros, usmpy.ones, usmpy.USMArray])
def test_memory_has_the_requested_kind(queue, usm_type, make):
    array = make(10, usm_type=usm_type, queue=queue)
    assert array.usm_type == usm_type
    array[...] = 3
    assert array.tolist() == [3] * 10


def test_device_memory_is_the_default(queue):
    assert usmpy.empty(1, queue=queue).usm_type == "device"
    assert usmpy.USMArray(1, queue=queue).usm_type == "device"


@pytest.mark.parametrize("usm_type", KINDS)
@together("nbytes", [1, 63, 64, 65, 1000, 4095, 4096, 65_537, 1 << 20, (2 << 20) + 1, (5 << 20) + 3])
def test_alignment(queue, usm_type, nbytes):
    for _ in range(3):
        array = usmpy.empty(nbytes, dtype="uint8", usm_type=usm_type, queue=queue)
        assert array.data_ptr % 64 == 0
        if nbytes >= 4096:
            assert array.data_ptr % 256 == 0


def test_live_memory_does_not_overlap(queue):
    sizes = [1, 7, 64, 100, 4096, 5000, 100_000, 3 << 20]
    arrays = [usmpy.full(n, i, dtype="uint8", queue=queue) for i, n in enumerate(sizes * 3)]
    spans = sorted((x.data_ptr, x.data_ptr + x.nbytes) for x in arrays)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    for i, x in enumerate(arrays):
        assert (x.asnumpy() == i).all()


def test_memory_is_reused(queue):
    seen = set()
    for _ in range(100):
        seen.add(usmpy.empty(1000, queue=queue).data_ptr)
    assert len(seen) < 20


def test_zeros_are_zeros_also_in_memory_that_was_used(queue):
    for nbytes in (100, 5000, 1 << 16, 3 << 20):
        for _ in range(3):
            usmpy.full(nbytes, 255, dtype="uint8", queue=queue).wait()
            gc.collect()
            assert not usmpy.zeros(nbytes, dtype="uint8", queue=queue).asnumpy().any()


@pytest.mark.parametrize("shape", [0, (0,), (3, 0), (0, 3), (2, 0, 5)])
def test_no_elements(queue, shape):
    array = usmpy.empty(shape, queue=queue)
    assert array.size == array.nbytes == array.data_ptr == 0
    array[...] = 1
    assert array.flags.c_contiguous
    assert array.flags.f_contiguous
    assert array.copy().shape == array.shape
    assert array.asnumpy().shape == array.shape


def test_too_much_memory(queue):
    with pytest.raises(MemoryError):
        usmpy.empty(1 << 60, dtype="uint8", queue=queue)
    with pytest.raises(MemoryError):
        usmpy.zeros(1 << 60, dtype="uint8", queue=queue)
    assert usmpy.zeros(3, queue=queue).tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [1 << 63, (1 << 40, 1 << 40), (1 << 62, 2), -1, (3, -1)])
def test_shapes_that_no_memory_has(queue, shape):
    for make in (usmpy.empty, usmpy.zeros, usmpy.USMArray):
        with pytest.raises((ValueError, MemoryError)):
            make(shape, queue=queue)


def test_an_empty_axis_does_not_excuse_the_others(queue):
    with pytest.raises(ValueError):
        usmpy.empty((0, -1), queue=queue)


def test_views_share_memory(queue):
    array = usmpy.arange(100, queue=queue)
    view = array[10:20]
    assert view.data_ptr == array.data_ptr + 10 * array.itemsize
    view[...] = 0
    assert array.tolist() == [0 if 10 <= i < 20 else i for i in range(100)]
    del array
    gc.collect()
    view[0] = 5
    assert view.tolist() == [5] + [0] * 9


def test_data_ptr_does_not_wait(queue):
    import threading

    gate = threading.Event()
    array = usmpy.empty(4, queue=queue)
    event = queue.host_task(lambda x: gate.wait(60), array)
    assert array.data_ptr > 0
    assert not event.done
    gate.set()
    event.wait()


# Connections.


def test_a_place_is_unified_with_itself(device, queue):
    array = usmpy.empty(1, queue=queue)
    for a in (device, queue, array, device.filter_string):
        for b in (device, device.queue, array):
            assert usmpy.memory_connection(a, b) is usmpy.MemoryConnection.UNIFIED


def test_connections_are_symmetric_between_contexts(device):
    other = usmpy.Queue(device, context=usmpy.Context(device))
    there, back = usmpy.memory_connection(device, other), usmpy.memory_connection(other, device)
    assert there is back
    assert isinstance(there, usmpy.MemoryConnection)


def test_to_device_agrees_with_the_connection(device):
    array = usmpy.arange(5, device=device)
    for queue in (usmpy.Queue(device), usmpy.Queue(device, context=usmpy.Context(device))):
        moved = array.to_device(queue)
        in_place = moved.data_ptr == array.data_ptr
        assert in_place is (usmpy.memory_connection(array, queue) is usmpy.MemoryConnection.UNIFIED)
        assert moved.queue == queue
        assert moved.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("bad", [1, 1.5, [], object()])
def test_invalid_places(device, bad):
    with pytest.raises(TypeError, match=r"^a is"):
        usmpy.memory_connection(bad, device)
    with pytest.raises(TypeError, match=r"^b is"):
        usmpy.memory_connection(device, bad)


def test_the_enumeration():
    assert [member.name for member in usmpy.MemoryConnection] == ["NONE", "MIGRATABLE", "UNIFIED"]
