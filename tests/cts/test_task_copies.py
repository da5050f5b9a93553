"""Calls that copy and then wait, inside a host task that the copy would be ordered after: an error."""

import pickle
import threading

import numpy as np
import pytest

import usmpy

PATIENCE = 60
REFUSED = "this task cannot wait for an event that itself waits for this task"
pytestmark = pytest.mark.only_on("host-task")


class Sides:
    """The array that the task holds, another one on its queue, and memory of other libraries."""

    def __init__(self, x):
        self.x, self.queue = x, x.queue
        self.y = usmpy.full(4, 6, dtype="int32", queue=x.queue)
        self.out = np.full(4, 7, dtype="int32")
        self.values = np.arange(4, dtype="int32")

    def assign(self, key, value):
        self.x[key] = value


# These use x: they wait for whatever holds it.
FROM_X = {
    "memcpy(array, x)": lambda s: s.queue.memcpy(s.out, s.x),
    "memcpy(bytearray, x)": lambda s: s.queue.memcpy(bytearray(16), s.x),
    "memcpy(array, x, nbytes)": lambda s: s.queue.memcpy(s.out, s.x, 8),
    "memcpy(y, x, blocking=True)": lambda s: s.queue.memcpy(s.y, s.x, blocking=True),
    "copyto(array, x)": lambda s: usmpy.copyto(s.out, s.x),
    "copyto(array, x[::-1])": lambda s: usmpy.copyto(s.out, s.x[::-1]),
    "copyto(array, x), cast": lambda s: usmpy.copyto(s.out.view("float32"), s.x, casting="unsafe"),
    "np.from_dlpack(x, copy=True)": lambda s: np.from_dlpack(s.x, device="cpu", copy=True),
}
TO_X = {
    "memcpy(x, array)": lambda s: s.queue.memcpy(s.x, s.values),
    "memcpy(x, bytes)": lambda s: s.queue.memcpy(s.x, bytes(16)),
    "memcpy(x, y, blocking=True)": lambda s: s.queue.memcpy(s.x, s.y, blocking=True),
    "fill(x, blocking=True)": lambda s: s.queue.fill(s.x, 5, blocking=True),
    "copyto(x, array)": lambda s: usmpy.copyto(s.x, s.values),
    "copyto(x, array), cast": lambda s: usmpy.copyto(s.x, s.values.astype("int8")),
    "copyto(x[1:3], array)": lambda s: usmpy.copyto(s.x[1:3], s.values[:2]),
    "x[...] = array": lambda s: s.assign(..., s.values),
    "x[::2] = array": lambda s: s.assign(slice(None, None, 2), s.values[::2]),
    "x[...] = memoryview": lambda s: s.assign(..., memoryview(s.values)),
    "x.fill(array)": lambda s: s.x.fill(s.values),
}
# These use the queue of x alone.
ON_THE_QUEUE = {
    "fill(array)": lambda s: s.queue.fill(s.out, 5),
    "memcpy(array, array)": lambda s: s.queue.memcpy(s.out, s.values),
    "asarray(array, copy=True)": lambda s: usmpy.asarray(s.values, queue=s.queue, copy=True),
    "asarray([array, array])": lambda s: usmpy.asarray([s.values, s.values], queue=s.queue),
    "from_dlpack(array, copy=True)": lambda s: usmpy.from_dlpack(s.values, device=s.queue, copy=True),
    "full(array)": lambda s: usmpy.full(4, s.values, queue=s.queue),
    "y[array]": lambda s: s.y[s.values],
    "y[array] = array": lambda s: s.y.__setitem__(s.values, s.values),
}

# Work of the queue that memory of the host is on, or of the cached queue of the device.
OFF_THE_QUEUE = ("copyto(array", "np.from_dlpack")


def run_in_a_task(device, hold, function):
    """What the function returns for the Sides of an array of ones that the task holds, and these sides.

    `hold`: the array is an argument of the task, a later task that uses an argument writes it, or it is on
    the queue of the task, which is in order.
    """
    ready = threading.Event()

    def task(*_):
        ready.wait(PATIENCE)
        return function(sides)

    queue = usmpy.Queue(device)
    sides = Sides(usmpy.ones(4, dtype="int32", queue=queue))
    queue.wait()
    if hold == "argument":
        event = usmpy.Queue(device).host_task(task, sides.x)
    elif hold == "queue":
        event = queue.host_task(task)
    else:
        argument = usmpy.ones(4, dtype="int32", queue=usmpy.Queue(device))
        argument.wait()
        event = usmpy.Queue(device).host_task(task, argument)
        usmpy.Queue(device).memcpy(sides.x, argument)
    ready.set()
    return event.result(PATIENCE), sides


def is_refused(call):
    def function(sides):
        with usmpy.trace() as trace, pytest.raises(usmpy.UsmError, match=REFUSED):
            call(sides)
        return [task.what for task in trace.tasks if not task.passes]

    return function


CALLS = [(hold, name) for hold in ("argument", "follower") for name in {**FROM_X, **TO_X}]
CALLS += [
    ("queue", name) for name in {**FROM_X, **TO_X, **ON_THE_QUEUE} if not name.startswith(OFF_THE_QUEUE)
]


@pytest.mark.parametrize(("hold", "name"), CALLS)
def test_it_is_refused_and_nothing_is_submitted(device, hold, name):
    call = {**FROM_X, **TO_X, **ON_THE_QUEUE}[name]
    submitted, sides = run_in_a_task(device, hold, is_refused(call))
    assert submitted == []
    assert sides.x.tolist() == [1] * 4
    assert sides.y.tolist() == [6] * 4
    assert sides.out.tolist() == [7] * 4
    assert sides.values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "call",
    [
        lambda s, e: s.queue.memcpy(s.out, s.x, depends=e),
        lambda s, e: s.queue.fill(s.out, 5, depends=[e]),
        lambda s, e: s.queue.memcpy(s.x, s.y, depends=e, blocking=True),
    ],
    ids=["memcpy", "fill", "memcpy between arrays"],
)
def test_the_tasks_own_event_as_a_dependency(device, call):
    sides, box = Sides(usmpy.ones(4, dtype="int32", queue=usmpy.Queue(device))), []
    ready = threading.Event()

    def task():
        ready.wait(PATIENCE)
        return is_refused(lambda sides: call(sides, box.pop()))(sides)

    event = usmpy.Queue(device).host_task(task)
    box.append(event)
    ready.set()
    assert event.result(PATIENCE) == []


# What a task computes from what it holds runs after the task.
COMPUTED = {
    "x[mask]": lambda x: x[x > 1],
    "x[mask] = ...": lambda x: x.__setitem__(x > 1, x[:2]),
    "x[indices]": lambda x: x[usmpy.argsort(x)].tolist(),
    "tolist": lambda x: (x + 1).tolist(),
    "float": lambda x: float(usmpy.sum(x)),
    "bool": lambda x: bool(usmpy.all(x > 0)),
    "item": lambda x: (x + 1)[0].item(),
    "format": lambda x: format(usmpy.sum(x), ".1f"),
    "in": lambda x: 3 in (x + 1),
    "asnumpy": lambda x: (x + 1).asnumpy(),
    "pickle": lambda x: pickle.dumps(x + 1),
    "to_device": lambda x: (x + 1).to_device(usmpy.Device("host").queue).tolist(),
    "nonzero": lambda x: usmpy.nonzero(x),
    "unique_values": lambda x: usmpy.unique_values(x),
    "unique_inverse": lambda x: usmpy.unique_inverse(x),
}


@pytest.mark.parametrize("kind", ["device", "shared"])
@pytest.mark.parametrize("name", COMPUTED)
def test_what_a_task_computes_cannot_be_read_in_it(device, name, kind):
    queue = usmpy.Queue(device)
    x = usmpy.asarray([3, 1, 2], queue=queue, usm_type=kind)
    with pytest.raises(usmpy.UsmError, match=f"{REFUSED}|made after the task"):
        queue.host_task(COMPUTED[name], x).result(PATIENCE)


@pytest.mark.parametrize("name", [*FROM_X, *TO_X, *ON_THE_QUEUE])
def test_it_works_on_what_the_task_does_not_hold(device, name):
    sides = Sides(usmpy.ones(4, dtype="int32", queue=usmpy.Queue(device)))
    expected = Sides(usmpy.ones(4, dtype="int32", queue=usmpy.Queue(device)))
    call = {**FROM_X, **TO_X, **ON_THE_QUEUE}[name]
    usmpy.Queue(device).host_task(call, sides).wait(PATIENCE)
    call(expected)
    for name in ("x", "y"):
        assert getattr(sides, name).tolist() == getattr(expected, name).tolist()
    assert sides.out.tolist() == expected.out.tolist()


@pytest.mark.only_on("host")
def test_a_copy_to_memory_of_the_host_on_the_queue_of_the_task(queue):
    sides = Sides(usmpy.ones(4, dtype="int32", queue=queue))
    call = is_refused(FROM_X["copyto(array, x)"])
    assert usmpy.Device("host").queue.host_task(call, sides).result(PATIENCE) == []
    assert sides.out.tolist() == [7] * 4


@pytest.mark.parametrize("hold", ["argument", "follower", "queue"])
def test_between_arrays_the_work_runs_after_the_task(device, hold):
    def submit(s):
        s.queue.memcpy(s.y, s.x)
        usmpy.copyto(s.x, s.y)
        s.x[1:] = s.y[:3]
        s.queue.fill(s.y, 3)
        s.x[0] = 9
        s.x[2:] = [4, 5]
        return s.queue.fill(s.y[:2], 2, blocking=False)

    _, sides = run_in_a_task(device, hold, submit)
    assert sides.x.tolist() == [9, 1, 4, 5]
    assert sides.y.tolist() == [2, 2, 3, 3]


@pytest.mark.parametrize("hold", ["argument", "follower", "queue"])
def test_without_blocking_the_copy_runs_after_the_task(device, hold):
    def submit(s):
        return s.queue.memcpy(s.out, s.x, blocking=False), s.queue.memcpy(s.x, s.values, blocking=False)

    events, sides = run_in_a_task(device, hold, submit)
    usmpy.Event.wait_all(events, PATIENCE)
    assert sides.out.tolist() == [1] * 4
    assert sides.x.tolist() == [0, 1, 2, 3]
