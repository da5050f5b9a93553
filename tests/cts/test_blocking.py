"""Queue.memcpy and Queue.fill: which calls wait, and what that promises of memory of other owners."""

import array
import itertools
import mmap
import threading

import numpy as np
import pytest
from asleep import once_asleep

import usmpy

PATIENCE = 60
N = 4096  # bytes


def view(buffer):
    return memoryview(buffer).cast("B")


# Writable memory of others of N bytes.
BUFFERS = {
    "numpy": lambda: np.zeros(N // 4, "int32"),
    "bytearray": lambda: bytearray(N),
    "memoryview": lambda: memoryview(bytearray(N)),
    "array.array": lambda: array.array("b", bytes(N)),
    "mmap": lambda: mmap.mmap(-1, N),
    "usmpy": lambda: memoryview(usmpy.zeros(N, dtype="uint8", device="host")),
}


def fill(buffer, byte):
    view(buffer)[:] = bytes([byte]) * N


def held(queue):
    """An event that ends a task of the queue."""
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


def later(queue, seen, call):
    """Makes the call while a task is pending that ends once this thread sleeps, and notes whether it did."""
    gate, task = held(queue)
    returned = []

    def end():
        seen.append(not returned)
        gate.set()

    once_asleep(end)
    event = call()
    returned.append(True)
    task.wait(PATIENCE)
    return event


@pytest.mark.parametrize("kind", BUFFERS)
def test_a_source_may_be_changed_at_return(queue, kind):
    x = usmpy.zeros(N, dtype="uint8", queue=queue)
    source, seen = BUFFERS[kind](), []
    fill(source, 3)
    event = later(queue, seen, lambda: queue.memcpy(x, view(source)))
    done = event.done
    fill(source, 9)
    assert seen == [True]
    assert done
    assert x.tolist() == [3] * N


def test_bytes_are_a_source(queue):
    x, seen = usmpy.zeros(N, dtype="uint8", queue=queue), []
    assert later(queue, seen, lambda: queue.memcpy(x, b"\4" * N)).done
    assert seen == [True]
    assert x.tolist() == [4] * N


@pytest.mark.parametrize("kind", BUFFERS)
def test_a_destination_may_be_read_at_return(queue, kind):
    x = usmpy.full(N, 5, dtype="uint8", queue=queue)
    target, seen = BUFFERS[kind](), []
    event = later(queue, seen, lambda: queue.memcpy(view(target), x))
    assert bytes(view(target)) == b"\5" * N
    assert event.done
    assert seen == [True]


@pytest.mark.parametrize("kind", BUFFERS)
def test_a_filled_buffer_may_be_read_at_return(queue, kind):
    target, seen = BUFFERS[kind](), []
    event = later(queue, seen, lambda: queue.fill(view(target), 6))
    assert bytes(view(target)) == b"\6" * N
    assert event.done
    assert seen == [True]


def foreign(device, nbytes):
    """Memory of zeros that the device's driver did not allocate for the context of its queues."""
    yield np.zeros(nbytes, "uint8")
    yield usmpy.zeros(nbytes, dtype="uint8", device="host")
    if device.has_usm_host:
        other = usmpy.Queue(device, context=usmpy.Context(device))
        yield usmpy.zeros(nbytes, dtype="uint8", usm_type="host", queue=other)


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("nbytes", [4096, 160 << 10, 4 << 20])  # by this thread, the driver, all processors
def test_fills_of_memory_of_others(device, nbytes, pending):
    """Also at addresses that are no multiple of the pattern's size, and in queues of a part of the device."""
    queues = [usmpy.Queue(device)]
    if device.partition_max_sub_devices > 0 and device.max_compute_units > 1:
        queues.append(usmpy.Queue(device.create_sub_devices(1)[0]))
    for queue, offset in itertools.product(queues, (0, 1)):
        for target in foreign(device, nbytes + 16):
            gate, _ = held(queue)
            if not pending:
                gate.set()
                queue.wait()
            part, pattern = target[offset : offset + nbytes], b"\1\2\3\4"
            if isinstance(target, np.ndarray):
                event = queue.fill(part.view("int32"), int.from_bytes(pattern, "little"), blocking=False)
            else:
                event, pattern = queue.fill(part, 5, blocking=False), b"\5"
            gate.set()
            event.wait(PATIENCE)
            expected = bytes(offset) + pattern * (nbytes // len(pattern)) + bytes(16 - offset)
            assert np.asarray(target).tobytes() == expected


def test_between_two_buffers(queue):
    source, target, seen = bytearray(b"\7" * N), np.zeros(N, "uint8"), []
    assert later(queue, seen, lambda: queue.memcpy(target, source)).done
    assert bytes(target) == bytes(source)
    assert seen == [True]


def test_dependencies_are_waited_for(device, queue):
    source, target, seen = bytearray(N), bytearray(N), []
    other = usmpy.Queue(device)
    gate, task = held(other)

    def end():
        seen.append("end")
        fill(source, 8)
        gate.set()

    once_asleep(end)
    assert queue.memcpy(target, source, depends=task).done
    assert seen == ["end"]
    assert target == source == b"\10" * N


CALLS = {
    "memcpy to a buffer": lambda s, **how: s.queue.memcpy(s.buffer, s.x, **how),
    "memcpy from a buffer": lambda s, **how: s.queue.memcpy(s.x, s.buffer, **how),
    "memcpy from bytes": lambda s, **how: s.queue.memcpy(s.x, b"\1" * 4, **how),
    "memcpy of a part": lambda s, **how: s.queue.memcpy(s.buffer, s.x, 2, **how),
    "memcpy of buffers": lambda s, **how: s.queue.memcpy(s.buffer, bytes(4), **how),
    "fill of a buffer": lambda s, **how: s.queue.fill(s.buffer, 1, **how),
    "fill of no elements": lambda s, **how: s.queue.fill(bytearray(), 1, **how),
    "memcpy of arrays": lambda s, **how: s.queue.memcpy(s.y, s.x, **how),
    "fill of an array": lambda s, **how: s.queue.fill(s.x, 1, **how),
    "fill of an array by bytes": lambda s, **how: s.queue.fill(s.x, b"\1", **how),
}
ARRAYS = {name for name in CALLS if name.endswith(("arrays", "array", "array by bytes"))}


class Sides:
    def __init__(self, queue):
        self.queue, self.buffer = queue, bytearray(4)
        self.x = usmpy.ones(4, dtype="uint8", queue=queue)
        self.y = usmpy.zeros(4, dtype="uint8", queue=queue)
        queue.wait()


@pytest.mark.parametrize("blocking", [None, True, False])
@pytest.mark.parametrize("name", CALLS)
def test_which_calls_wait(queue, name, blocking):
    sides, seen = Sides(queue), []
    waits = blocking if blocking is not None else name not in ARRAYS
    if waits:
        event = later(queue, seen, lambda: CALLS[name](sides, blocking=blocking))
        assert event.done
        assert seen == [True]
    else:
        gate, _ = held(queue)
        event = CALLS[name](sides, blocking=blocking)
        assert not event.done
        gate.set()
    event.wait(PATIENCE)


@pytest.mark.parametrize("name", CALLS)
def test_the_default_is_none(queue, name):
    seen = []
    if name in ARRAYS:
        gate, _ = held(queue)
        assert not CALLS[name](Sides(usmpy.Queue(queue.device)), depends=queue.barrier()).done
        gate.set()
    else:
        sides = Sides(queue)
        assert later(queue, seen, lambda: CALLS[name](sides)).done
        assert seen == [True]
    queue.wait()


@pytest.mark.parametrize("blocking", [0, 1, 1.0, "yes", [], np.True_, ...], ids=repr)
@pytest.mark.parametrize(
    "name", ["memcpy to a buffer", "memcpy of arrays", "fill of a buffer", "fill of an array"]
)
def test_other_values_are_refused(queue, name, blocking):
    sides = Sides(queue)
    with usmpy.trace() as trace, pytest.raises(TypeError) as caught:
        CALLS[name](sides, blocking=blocking)
    assert str(caught.value) == f"{name.split()[0]}(): blocking is {blocking!r}; True or False are allowed"
    assert [task.what for task in trace.tasks if not task.passes] == []
    assert bytes(sides.buffer) == bytes(4)


def test_it_is_keyword_only(queue):
    sides = Sides(queue)
    with pytest.raises(TypeError):
        queue.memcpy(sides.y, sides.x, 4, (), True)
    with pytest.raises(TypeError):
        queue.fill(sides.x, 1, (), True)


@pytest.mark.only_on("host-task")
@pytest.mark.parametrize("blocking", [None, True])
@pytest.mark.parametrize("name", ["memcpy to a buffer", "memcpy of a part"])
def test_the_error_of_the_work_is_raised(queue, name, blocking):
    def task(_):
        raise ZeroDivisionError("of the task")

    sides = Sides(queue)
    fails = queue.host_task(task, sides.x)
    with pytest.raises(usmpy.UsmError, match="not run") as caught:
        CALLS[name](sides, blocking=blocking)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert bytes(sides.buffer) == bytes(4)
    assert fails.exception() is not None
    with pytest.raises(ZeroDivisionError):
        queue.wait()


def test_an_array_that_only_the_planner_reaches(device):
    """Between devices of different drivers, blocking=True waits for all steps."""
    far = usmpy.Queue("host" if device.backend != "host" else device)
    x = usmpy.full(N, 3, dtype="uint8", queue=usmpy.Queue(device))
    y = usmpy.zeros(N, dtype="uint8", queue=far)
    gate, task = held(far)
    once_asleep(gate.set)
    assert far.memcpy(y, x, depends=[task], blocking=True).done
    assert y.tolist() == [3] * N
