"""Level Zero's memory, queues and contexts, shared with another library on the same loader; kDLOneAPI."""

from __future__ import annotations

import ctypes
import gc
import pathlib
import threading
import time
import weakref

import level_zero_drivers
import numpy as np
import pytest
from asleep import until_asleep
from level_zero_library import Library
from level_zero_processes import run
from producers import ONEAPI, Producer, producer

import usmpy

DEVICES = usmpy.get_devices("level_zero") if level_zero_drivers.LIBRARY is not None else []
pytestmark = [
    pytest.mark.skipif(not DEVICES, reason=level_zero_drivers.ABSENT or "there is no Level Zero device"),
    pytest.mark.leaves_objects("queues of devices are cached"),
]

KINDS = ["device", "shared", "host"]
INT32 = (0, 32, 1)


@pytest.fixture(scope="module")
def library():
    return Library()


def contexts() -> int:
    return usmpy._core._live_counts()["contexts"]


@pytest.fixture
def theirs(library):
    """A context of the other library's."""
    for device in DEVICES:
        _ = device.queue  # its default context stays
    before = contexts()
    context = library.context()
    yield context
    deadline = time.monotonic() + 30
    while contexts() > before and time.monotonic() < deadline:
        time.sleep(0.001)  # the thread that ends tasks may have the last count of a queue
    library.destroy_context(context)


@pytest.fixture
def paused():
    """No command begins, until the function that the test gets is called."""
    pause = ctypes.CDLL(str(level_zero_drivers.LIBRARY)).zesimPause
    pause(1)
    yield lambda: pause(0)
    pause(0)


# Devices and contexts.


def test_devices_are_found_by_handles_and_give_them(library):
    assert [device.native_handle for device in DEVICES] == library.devices
    for device, handle in zip(DEVICES, library.devices, strict=True):
        assert usmpy.Device.from_native("level_zero", handle) == device
    units = DEVICES[0].max_compute_units
    parts = DEVICES[0].create_sub_devices(units // 2)
    DEVICES[0].create_sub_devices(units)[0].create_sub_devices(units // 2)  # the same, by another way
    handles = library.sub_devices(library.devices[0])
    assert [part.native_handle for part in parts] == handles
    assert [usmpy.Device.from_native("level_zero", handle) for handle in handles] == parts


def test_a_context_of_theirs_is_one_of_all_devices_and_one_object(library, theirs):
    context = usmpy.Context.from_native("level_zero", theirs)
    assert context.native_handle == theirs
    assert context == usmpy.Context.from_native("level_zero", theirs)
    assert [usmpy.Queue(device, context=context).device.filter_string for device in DEVICES] == [
        device.filter_string for device in DEVICES
    ]
    queue = usmpy.Queue(DEVICES[1], context=context)
    x = usmpy.arange(1000, dtype="int32", queue=queue)
    assert int(x.asnumpy().sum()) == 499_500
    assert not context.is_default


def test_a_handle_that_is_not_a_context_is_refused():
    for handle in (8, 1 << 40, 12345):
        with pytest.raises(usmpy.UsmError, match="ze_context_handle_t"):
            usmpy.Context.from_native("level_zero", handle)


# Memory.


@pytest.mark.parametrize("kind", KINDS)
def test_their_memory_in_their_context_is_an_array(library, theirs, kind):
    pointer = library.allocate(theirs, kind, 4000)
    commands = library.list_of_commands(theirs)
    library.fill(commands, pointer, 7, 4000)
    queue = usmpy.Queue(DEVICES[0], context=usmpy.Context.from_native("level_zero", theirs))
    x = usmpy.USMArray.from_pointer(pointer, (10, 100), "int32", queue=queue)
    assert (x.usm_type, x.data_ptr) == (kind, pointer)
    x[:, 1] = 8
    assert x.asnumpy().sum() == 990 * 7 + 80
    with pytest.raises(ValueError, match="allocation of 4096 bytes"):  # drivers count pages
        usmpy.USMArray.from_pointer(pointer, 1025, "int32", queue=queue)
    other = next(other for other in KINDS if other != kind)
    with pytest.raises(ValueError, match=f"is {kind} memory"):
        usmpy.USMArray.from_pointer(pointer, 1000, "int32", queue=queue, usm_type=other)
    queue.wait()
    del x
    library.free(theirs, pointer)
    library.destroy(commands)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("usm_type", [None, "device", "host"])
def test_their_memory_is_refused_in_our_context(library, theirs, kind, usm_type):
    pointer = library.allocate(theirs, kind, 400)
    with pytest.raises(ValueError, match=r"does not know 0x[0-9a-f]+ as memory of the queue's context"):
        usmpy.USMArray.from_pointer(pointer, 100, "int32", queue=DEVICES[0].queue, usm_type=usm_type)
    library.free(theirs, pointer)


def test_their_commands_work_on_our_memory(library):
    queue = usmpy.Queue(DEVICES[0])
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    commands = library.list_of_commands(x.context.native_handle)
    queue.wait()
    with x.lend(queue) as pointer:
        library.fill(commands, pointer, 5, 4000)
        assert set(x.tolist()) == {5}
    library.destroy(commands)


# Queues.


def test_the_handle_of_a_queue_is_the_list_that_its_commands_are_in(library):
    queue = usmpy.Queue(DEVICES[0])
    x, y = (usmpy.zeros(1000, dtype="int32", queue=queue) for _ in range(2))
    queue.memcpy(x, np.full(1000, 3, np.int32))
    handle = queue.native_handle
    library.barrier(handle)
    library.fill(handle, x.data_ptr, 4, 2000)
    library.barrier(handle)
    queue.memcpy(y, x).wait()
    assert y.tolist() == [4] * 500 + [3] * 500
    library.fill(handle, y.data_ptr, 6, 4000)
    queue.wait()  # theirs, too
    assert y.tolist() == [6] * 1000


def can_inspect(library):
    return library.has("zeCommandListGetDeviceHandle")


def test_a_foreign_immediate_list_is_a_queue(library, theirs):
    commands = library.list_of_commands(theirs, waits=False, device=library.devices[1])
    if not can_inspect(library):
        with pytest.raises(usmpy.UsmError, match=r"version 1.15 or later does"):
            usmpy.Queue.from_native("level_zero", commands)
        library.destroy(commands)
        return
    queue = usmpy.Queue.from_native("level_zero", commands)
    assert (queue.native_handle, queue.context.native_handle) == (commands, theirs)
    assert queue.device.native_handle == library.devices[1]
    assert queue != usmpy.Queue.from_native("level_zero", commands)
    x = usmpy.arange(1000, dtype="int32", queue=queue)
    library.barrier(commands)
    library.fill(commands, x.data_ptr, 9, 2000)
    y = usmpy.empty_like(x)
    queue.memcpy(y, x)
    assert y.tolist() == [9] * 500 + list(range(500, 1000))
    library.fill(commands, y.data_ptr, 1, 4000)
    queue.wait()
    assert set(y.tolist()) == {1}
    del x, y, queue
    library.barrier(commands)  # still theirs
    library.wait(commands)
    library.destroy(commands)


def test_a_regular_command_list_is_refused_if_the_loader_tells(library, theirs):
    if not can_inspect(library):  # before 1.15: no list is taken (the test above)
        return
    commands = library.list_of_commands(theirs, immediate=False)
    with pytest.raises(ValueError, match="regular command list; pass an immediate one"):
        usmpy.Queue.from_native("level_zero", commands)
    library.destroy(commands)


# kDLOneAPI.


class Hidden(Producer):
    """An array of an unknown class."""

    def __init__(self, array, **keywords):
        place = keywords.get("dl_device", array.__dlpack_device__())
        super().__init__(lambda: array.__dlpack__(max_version=(1, 3), **keywords), place)


@pytest.mark.parametrize("index", range(len(DEVICES)))
@pytest.mark.parametrize("kind", KINDS)
def test_memory_comes_back_to_the_device_that_its_number_names(index, kind):
    x = usmpy.arange(100, dtype="int32", device=DEVICES[index], usm_type=kind)
    assert x.__dlpack_device__() == (ONEAPI, index)
    y = usmpy.from_dlpack(Hidden(x))
    assert (y.device, y.data_ptr, y.usm_type) == (DEVICES[index], x.data_ptr, kind)
    y[3] = 50
    y.queue.wait()  # x does not know the owner
    assert x.tolist()[:5] == [0, 1, 2, 50, 4]


def test_a_part_s_memory_has_its_parent_s_number_and_comes_back_there():
    part = DEVICES[1].create_sub_devices(DEVICES[1].max_compute_units // 2)[1]
    x = usmpy.arange(10, dtype="int32", device=part)
    assert x.__dlpack_device__() == (ONEAPI, 1)
    y = usmpy.from_dlpack(Hidden(x))
    assert (y.device, y.data_ptr) == (DEVICES[1], x.data_ptr)
    assert y.tolist() == list(range(10))


@pytest.mark.not_sanitized("it starts an interpreter")
def test_memory_of_another_context_is_refused_with_the_reason():
    """In a process without OpenCL: the kind of SVM cannot be queried, so any host pointer may be SVM."""
    run(
        f"""
        import sys
        sys.path.insert(0, {str(pathlib.Path(__file__).parents[1] / "support")!r})
        from level_zero_library import Library
        from producers import ONEAPI, producer
        usmpy.zeros(1, device="level_zero").queue.wait()
        library = Library()
        theirs = library.context()
        for kind in ("device", "shared", "host"):
            pointer = library.allocate(theirs, kind, 400)
            source, tensor = producer((100,), (0, 32, 1), data=pointer, device=(ONEAPI, 0))
            try:
                usmpy.from_dlpack(source)
            except BufferError as error:
                assert "use memory of another context in that context" in str(error), error
            else:
                raise AssertionError(kind)
            assert tensor.deleted == 1
            library.free(theirs, pointer)
        library.destroy_context(theirs)
        """
    )


def test_memory_that_contradicts_its_capsule_is_refused(library):
    context = DEVICES[0].context.native_handle
    pointer = library.allocate(context, "device", 4096)
    for arguments in [{"shape": (1025,)}, {"shape": (1024,), "byte_offset": 4}]:
        source, tensor = producer(dtype=INT32, data=pointer, memory=8, device=(ONEAPI, 0), **arguments)
        with pytest.raises(BufferError, match="allocation of 4096 bytes"):
            usmpy.from_dlpack(source)
        assert tensor.deleted == 1
    source, tensor = producer((100,), INT32, data=pointer, device=(ONEAPI, 0))
    x = usmpy.from_dlpack(source)
    assert (x.usm_type, x.device, tensor.deleted) == ("device", DEVICES[0], 0)
    x[...] = 3
    x.queue.wait()
    del x
    assert tensor.deleted == 1
    library.free(context, pointer)


def test_a_number_that_no_device_has():
    source, tensor = producer((1,), INT32, device=(ONEAPI, 77))
    with pytest.raises(BufferError, match="no backend of this process has such a device"):
        usmpy.from_dlpack(source)
    assert tensor.deleted == 1


def test_memory_of_a_context_of_one_s_own_is_not_shown_as_that_of_the_default_one():
    queue = usmpy.Queue(DEVICES[0], context=usmpy.Context(DEVICES[:2]))
    x = usmpy.ones(3, dtype="int32", queue=queue, usm_type="shared")
    with pytest.raises(BufferError, match="not its device's default context"):
        x.__dlpack__(max_version=(1, 3))
    with pytest.raises(BufferError, match="not its device's default context"):
        x.__dlpack__(dl_device=(ONEAPI, 0))
    # Of this view, no context is part.
    assert np.from_dlpack(Hidden(x, dl_device=(1, 0), copy=False)).tolist() == [1, 1, 1]
    assert usmpy.from_dlpack(Hidden(x.to_device(DEVICES[0]))).tolist() == [1, 1, 1]


def test_host_readable_memory_is_also_host_memory():
    shared = usmpy.ones(3, dtype="int32", device=DEVICES[0], usm_type="shared")
    view = np.from_dlpack(Hidden(shared, dl_device=(1, 0), copy=False))
    shared[1] = 5
    shared.queue.wait()
    assert view.tolist() == [1, 5, 1]
    device = usmpy.ones(3, dtype="int32", device=DEVICES[0])
    assert np.from_dlpack(Hidden(device, dl_device=(1, 0))).tolist() == [1, 1, 1]
    with pytest.raises(BufferError):
        device.__dlpack__(dl_device=(1, 0), copy=False)


def test_an_export_is_finished_data(paused):
    """The consumer has no stream that could be made to wait."""
    x = usmpy.empty(1000, dtype="int32", device=DEVICES[0], usm_type="shared")
    x.queue.fill(x, 9)
    unfinished = x.__dlpack__(max_version=(1, 3), stream=-1)  # asks for no order
    seen = []
    thread = threading.Thread(target=lambda: seen.append(Hidden(x).__dlpack__()))
    thread.start()
    until_asleep(thread=thread.native_id)
    assert not seen
    paused()
    thread.join(60)
    assert seen
    view = (ctypes.c_int32 * 1000).from_address(x.data_ptr)
    assert set(view) == {9}
    del unfinished


class Owner:
    pass


def test_a_context_keeps_each_of_its_owners_alive(library, theirs):
    owners = [Owner() for _ in range(3)]
    references = [weakref.ref(owner) for owner in owners]
    context = usmpy.Context.from_native("level_zero", theirs, owner=owners[0])
    for owner in (*owners, owners[0]):  # one that it keeps already is not kept again
        assert usmpy.Context.from_native("level_zero", theirs, owner=owner) == context
    del owner, owners
    gc.collect()
    assert all(reference() is not None for reference in references)
    del context
    while not all(reference() is None for reference in references):  # it ends on a thread of usmpy
        usmpy.trim()
        gc.collect()
