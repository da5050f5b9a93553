"""Context: several devices of one platform."""

import os

import pytest

import usmpy


def test_default_context_holds_the_device_or_what_it_is_a_part_of(device):
    root = device
    while root.parent is not None:
        root = root.parent
    assert root in device.context.devices
    assert device.context.backend == device.backend
    assert "Context" in repr(device.context)


def test_default_contexts_are_equal_however_they_were_reached(device, queue):
    assert device.context == device.queue.context == queue.context == usmpy.empty(1, device=device).context
    assert len({device.context, queue.context}) == 1


def test_a_new_context_is_equal_to_itself_alone(device):
    first, second = usmpy.Context(device), usmpy.Context([device])
    assert first == first
    assert first != second
    assert first != device.context
    assert len({first, second, device.context}) == 3
    assert not first.is_default
    assert first.devices == second.devices == [device]
    assert first != "context"


def test_a_context_of_any_iterable(device):
    assert usmpy.Context(iter([device])).devices == [device]
    assert usmpy.Context(devices=(device,)).devices == [device]


def test_a_context_of_parts(device):
    parts = device.create_sub_devices(1)
    context = usmpy.Context(parts)
    assert context.devices == parts
    for part in parts:
        queue = usmpy.Queue(part, context=context)
        assert queue.context == context
        assert queue.device.filter_string == part.filter_string


def test_queues_in_a_context_of_ones_own(device):
    context = usmpy.Context(device)
    queue = usmpy.Queue(device, context=context)
    assert queue.context == context
    assert queue.device.context == context
    array = usmpy.full(100, 3, queue=queue)
    assert array.context == context
    assert usmpy.zeros(1, device=array.device).queue == queue
    assert array.tolist() == [3] * 100


def test_a_context_lives_as_long_as_its_queue_and_memory(device):
    array = usmpy.full(10, 1, queue=usmpy.Queue(device, context=usmpy.Context(device)))
    assert array.context.devices == [device]
    array[...] = 2
    assert array.tolist() == [2] * 10


def test_memory_of_two_contexts_is_copied_between(device):
    there = usmpy.Queue(device, context=usmpy.Context(device))
    source = usmpy.arange(50, device=device)
    moved = source.to_device(there)
    assert moved.context == there.context
    assert moved.queue == there
    assert moved.tolist() == list(range(50))
    target = usmpy.zeros(50, dtype="int64", device=device)
    usmpy.copyto(target, moved)
    assert target.tolist() == list(range(50))


def test_a_device_that_the_context_lacks(device):
    part = device.create_sub_devices(1)[0]
    context = usmpy.Context(part)
    with pytest.raises(ValueError, match="context"):
        usmpy.Queue(device, context=context)


@pytest.mark.parametrize("devices", [[], ()])
def test_no_device(devices):
    with pytest.raises(ValueError, match="at least one"):
        usmpy.Context(devices)


def test_a_device_twice(device):
    with pytest.raises(ValueError):
        usmpy.Context([device, device])


@pytest.mark.made_if(len(os.sched_getaffinity(0)) > 1, "the host device has two parts")
@pytest.mark.parametrize("where", [(0, 1), (0, 2), (1, 2)])
def test_a_part_twice_anywhere(where):
    parts = usmpy.Device("host:cpu:0").create_sub_devices(1)
    listed = [parts[1]] * 3
    listed[3 - sum(where)] = parts[0]
    match = rf"devices\[{where[0]}\] and devices\[{where[1]}\] are the same"
    with pytest.raises(ValueError, match=match):
        usmpy.Context(listed)


@pytest.mark.parametrize("devices", [None, 1, "cpu", ["cpu"], [None]])
def test_objects_that_are_not_devices(devices):
    with pytest.raises(TypeError, match="devices"):
        usmpy.Context(devices)


def test_an_error_of_the_iterable_is_the_callers(device):
    def broken():
        yield device
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        usmpy.Context(broken())


def test_devices_of_two_backends_make_no_context():
    others = [device for device in usmpy.get_devices() if device.backend != "host"]
    if not others:
        pytest.skip("the host is the only backend")
    with pytest.raises(ValueError, match="must be of one backend"):
        usmpy.Context([usmpy.Device("host"), others[0]])
