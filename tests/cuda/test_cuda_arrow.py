"""Arrow's C device data interface on CUDA: sync_event orders the two sides on the device."""

from __future__ import annotations

import ctypes
import gc
import threading
import time

import pytest
from arrow_structures import Capsules, Exported, move, release, structure
from asleep import once_asleep
from cuda_peers import CUDA, _pointer
from dlpack_type import NAME

import usmpy
from usmpy import _core

N = 100


def event_of(whole) -> int:
    return ctypes.c_void_p.from_address(whole.sync_event).value


def read_after(driver, whole, stream):
    """What a consumer's stream reads behind the event."""
    driver.call("cuStreamWaitEvent", _pointer(stream), _pointer(event_of(whole)), 0)
    with driver.landing(N) as out:
        driver.copy(stream, out, whole.array.buffers[1], N)
        driver.synchronize(stream)
        return ctypes.string_at(out, N)


def pending(device, peer):
    """An int8 array on whose memory a late kernel of the library, then ours, are pending."""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    x.wait()
    driver = peer.driver
    driver.late(peer.stream())
    queue.wait_for(usmpy.Queue.from_stream(Stream(peer.stream())))
    queue.fill(x, 7)
    return x


class Stream:
    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


def test_finished_data_have_no_event(device, driver):
    x = usmpy.zeros(N, dtype="int8", device=device)
    x.wait()
    made = driver.calls("cuEventCreate")
    pair = x.__arrow_c_device_array__()
    assert structure(pair[1]).sync_event is None
    assert driver.calls("cuEventCreate") == made


def test_a_consumer_waits_for_pending_work_on_the_device(device, driver, peer):
    x = pending(device, peer)
    consumer = driver.stream()
    pair = x.__arrow_c_device_array__()
    whole = structure(pair[1])
    assert (whole.device_type, whole.device_id) == (CUDA, 0)
    assert driver.is_busy(peer.stream()), "the export waited"
    assert driver.library.cuEventQuery(_pointer(event_of(whole))) == 600
    assert read_after(driver, whole, consumer) == b"\7" * N
    driver.destroy_stream(consumer)


def test_the_event_and_the_memory_live_until_the_release(device, driver, peer):
    x = pending(device, peer)
    capsules = x.__arrow_c_device_array__()
    whole = move(structure(capsules[1]))
    del x, capsules
    gc.collect()
    destroyed = driver.calls("cuEventDestroy")
    consumer = driver.stream()
    assert read_after(driver, whole, consumer) == b"\7" * N
    thread = threading.Thread(target=release, args=(whole,))
    thread.start()
    thread.join()
    end = time.monotonic() + 60  # a thread of usmpy's destroys the event
    while driver.calls("cuEventDestroy") == destroyed and time.monotonic() < end:
        time.sleep(0.01)
    assert driver.calls("cuEventDestroy") > destroyed
    driver.destroy_stream(consumer)


@pytest.mark.parametrize("kind", ["shared", "host"])
def test_other_kinds_are_finished(device, peer, kind):
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int8", queue=queue, usm_type=kind)
    peer.driver.late(peer.stream())
    queue.wait_for(usmpy.Queue.from_stream(Stream(peer.stream())))
    queue.fill(x, 3)
    pair = x.__arrow_c_device_array__()
    whole = structure(pair[1])
    assert whole.sync_event is None
    assert (whole.device_type, whole.device_id) == (1, -1), "pyarrow refuses CUDA's types of such memory"
    assert ctypes.string_at(whole.array.buffers[1], N) == b"\3" * N
    assert x.__arrow_c_array__()


def test_work_of_the_host_is_waited_for(device):
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    go = threading.Event()
    held = usmpy.Queue("host").host_task(go.wait, 60)
    queue.fill(x, 4, depends=[held])
    once_asleep(go.set)
    pair = x.__arrow_c_device_array__()
    assert held.done
    assert structure(pair[1]).sync_event is None
    assert x.tolist() == [4] * N


def test_failed_work_raises(device):
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    failed = queue.host_task(lambda _: 1 / 0, x)
    with pytest.raises(ZeroDivisionError):
        x.__arrow_c_device_array__()
    assert isinstance(failed.exception(), ZeroDivisionError)


def test_during_a_capture_finished_data_are_exported(device, driver, peer):
    x = usmpy.zeros(N, dtype="int8", device=device)
    x.wait()
    driver.begin_capture(peer.stream())
    pair = x.__arrow_c_device_array__()
    assert structure(pair[1]).sync_event is None
    assert driver.end_capture(peer.stream()) == 0


# -- import ----------------------------------------------------------------------------------------


def theirs(peer, byte, late, *, event=True, device=0, kind="device", **fields):
    """An array of Arrow over memory that the library fills late, and the event behind that."""
    array = peer.array(N, byte, device=device, kind=kind, late=late)
    driver = peer.driver
    handle = None
    if event:
        with driver.on(device):
            handle = ctypes.c_void_p(driver.made("cuEventCreate", 2))
            driver.call("cuEventRecord", handle, _pointer(peer.stream(device)))
    exported = Exported(
        array.address,
        b"c",
        N,
        device=fields.pop("where", array.dlpack_device),
        sync_event=None if handle is None else ctypes.addressof(handle),
        **fields,
    )
    exported.handle, exported.source = handle, array
    return exported


def test_an_import_waits_for_the_event_on_the_device(device, driver, peer):
    exported = theirs(peer, 6, True)
    x = usmpy.from_arrow(exported)
    assert driver.is_busy(peer.stream()), "the import waited"
    assert (x.queue, x.data_ptr, x.flags.writable) == (device.queue, exported.address, False)
    assert x.tolist() == [6] * N
    del x
    gc.collect()
    assert exported.released == 1
    driver.call("cuEventDestroy_v2", exported.handle)


def test_every_queue_is_ordered_after_the_event(device, driver, peer):
    exported = theirs(peer, 6, True)
    x = usmpy.from_arrow(exported, device=usmpy.Queue(device, in_order=False))
    y = usmpy.empty(N, dtype="int8", queue=usmpy.Queue(device))
    y.queue.memcpy(y, x)
    assert driver.is_busy(peer.stream())
    assert y.tolist() == [6] * N
    driver.call("cuEventDestroy_v2", exported.handle)


def test_the_event_may_go_once_the_import_returned(device, driver, peer):
    exported = theirs(peer, 6, True)
    x = usmpy.from_arrow(exported)
    driver.call("cuEventDestroy_v2", exported.handle)
    exported.handle.value = 0
    assert x.tolist() == [6] * N


def test_the_producer_keeps_its_memory_while_work_is_pending(device, driver, peer):
    exported = theirs(peer, 6, True)
    x = usmpy.from_arrow(exported)
    y = usmpy.empty(N, dtype="int8", device=device)
    y.queue.memcpy(y, x)
    del x
    gc.collect()
    assert exported.released == 0
    assert y.tolist() == [6] * N
    y.queue.wait()
    gc.collect()
    assert exported.released == 1
    driver.call("cuEventDestroy_v2", exported.handle)


@pytest.mark.parametrize("kind", ["managed", "host"])
def test_memory_of_other_kinds(device, driver, peer, kind):
    exported = theirs(peer, 6, True, kind=kind)
    x = usmpy.from_arrow(exported)
    assert x.usm_type == {"managed": "shared", "host": "host"}[kind]
    assert x.tolist() == [6] * N
    driver.call("cuEventDestroy_v2", exported.handle)


def test_without_an_event_the_data_are_finished(device, driver, peer):
    exported = theirs(peer, 6, False, event=False)
    driver.synchronize(peer.stream())
    waits = driver.calls("cuStreamWaitEvent")
    assert usmpy.from_arrow(exported).data_ptr == exported.address
    assert driver.calls("cuStreamWaitEvent") == waits


def test_our_own_way_back(device, driver, peer):
    x = pending(device, peer)
    y = usmpy.from_arrow(Capsules(x.__arrow_c_device_array__()))
    assert driver.is_busy(peer.stream())
    assert y.data_ptr == x.data_ptr
    assert y.tolist() == [7] * N


def test_bad_events_and_devices(device, driver, peer):
    before, nothing = _core._live_counts(), ctypes.c_void_p()
    for fields, match in (
        ({"sync_event": 16}, "sync_event 0x10, which points to no event"),
        ({"sync_event": ctypes.addressof(nothing)}, "points to no event"),
        ({"where": (CUDA, 7)}, rf"{NAME} \({CUDA}\), id 7"),
        ({"where": (CUDA, -1)}, rf"{NAME} \({CUDA}\), id -1"),
    ):
        exported = theirs(peer, 6, False, event=False, where=fields.pop("where", (CUDA, 0)))
        for name, value in fields.items():
            setattr(exported.top, name, value)
        with pytest.raises(BufferError, match=match):
            usmpy.from_arrow(exported)
        gc.collect()
        assert exported.released == 1
    assert _core._live_counts() == before


def test_memory_of_another_device_or_of_the_host_is_refused(device, driver, peer):
    if len(usmpy.get_devices("cuda")) > 1:
        exported = theirs(peer, 6, False, event=False, device=1, where=(CUDA, 0))
        with pytest.raises(BufferError, match=r"on device 1|cannot use in place"):
            usmpy.from_arrow(exported)
    plain = ctypes.create_string_buffer(N)
    exported = Exported(ctypes.addressof(plain), b"c", N, device=(CUDA, 0))
    with pytest.raises(BufferError, match="the driver does not know"):
        usmpy.from_arrow(exported)
    assert exported.released == 1


def test_more_elements_than_the_allocation_has(device, driver, peer):
    exported = theirs(peer, 6, False, event=False)
    exported.top.array.length = 10 * N
    with pytest.raises(BufferError, match=f"of an allocation of {N} bytes"):
        usmpy.from_arrow(exported)


def test_the_driver_refuses_the_event(device, driver, peer):
    exported = theirs(peer, 6, False)
    with driver.failing("cuStreamWaitEvent", 400), pytest.raises(usmpy.UsmError, match="cuStreamWaitEvent"):
        usmpy.from_arrow(exported)
    gc.collect()
    assert exported.released == 1
    driver.call("cuEventDestroy_v2", exported.handle)


@pytest.mark.parametrize("name", ["cuEventCreate", "cuEventRecord"])
def test_without_an_event_of_the_driver_the_export_waits(device, driver, peer, name):
    x = pending(device, peer)
    with driver.failing(name, 999 if name == "cuEventRecord" else 2):
        pair = x.__arrow_c_device_array__()
    whole = structure(pair[1])
    if whole.sync_event is None:
        assert not driver.is_busy(peer.stream())
    assert usmpy.from_arrow(Capsules(pair)).tolist() == [7] * N


def test_nulls_on_the_device_cannot_be_counted(device, driver, peer):
    exported = theirs(peer, 6, False, event=False, validity=b"\xff" * 13)
    exported.top.array.null_count = -1
    with pytest.raises(BufferError, match="a bitmap of nulls that nobody has counted"):
        usmpy.from_arrow(exported)
