"""Compute follows data: where functions of several arrays run, and what they say when they cannot."""

import re

import numpy as np
import pytest
from ids import steady

import usmpy


@pytest.fixture
def other(device):
    return usmpy.Queue(device)


def test_the_common_queue(device, queue, other):
    x, y = usmpy.zeros(1, queue=queue), usmpy.zeros(2, queue=queue)
    z = usmpy.zeros(1, queue=other)
    assert usmpy.get_execution_queue([x, y]) is queue
    assert usmpy.get_execution_queue([x]) is queue
    assert usmpy.get_execution_queue((queue, x, y, queue)) is queue
    assert usmpy.get_execution_queue(iter([x, y])) is queue
    assert usmpy.get_execution_queue([x, z]) is None
    assert usmpy.get_execution_queue([queue, other]) is None
    assert usmpy.get_execution_queue([]) is None
    assert usmpy.get_execution_queue([device.queue, usmpy.zeros(1, device=device)]) is device.queue


@pytest.mark.parametrize(
    "queues",
    [None, 1, "queue", [1], [None], [np.zeros(1)], {}, {1: 2}, set(), {usmpy.Device("host").queue}],
    ids=steady,
)
def test_objects_without_a_queue(queues):
    with pytest.raises(TypeError, match="queues"):
        usmpy.get_execution_queue(queues)
    with pytest.raises(TypeError, match="queues"):
        usmpy.get_execution_queue(usmpy.zeros(1, device="host"))


def test_an_error_of_the_iterable_is_the_callers(queue):
    def broken():
        yield queue
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        usmpy.get_execution_queue(broken())


def test_results_are_on_the_common_queue(queue):
    x, y = usmpy.zeros(3, queue=queue), usmpy.ones(3, queue=queue)
    for result in (
        usmpy.concat([x, y]),
        usmpy.stack([x, y]),
        x.copy(),
        x.astype("int8"),
        usmpy.reshape(x, (3, 1)),
        x[1:],
    ):
        assert result.queue is queue


CALLS = {
    "concat": lambda x, y: usmpy.concat([x, y]),
    "stack": lambda x, y: usmpy.stack([x, y]),
    "asarray": lambda x, y: usmpy.asarray([x, y]),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_says_where_everything_is(queue, other, name):
    x, y = usmpy.zeros((2, 3), queue=queue), usmpy.ones((2, 3), queue=other)
    with pytest.raises(usmpy.ExecutionPlacementError) as caught:
        CALLS[name](x, y)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(name)
    assert len(lines) == 4
    for line, array in zip(lines[1:3], (x, y), strict=True):
        assert "shape (2, 3)" in line
        assert array.device.filter_string in line
        address = re.search(r"0x[0-9a-f]+", repr(array.queue))[0]
        assert f"queue {address}" in line
        assert re.search(r"context 0x[0-9a-f]+", line)
    assert re.search(r"= (arrays|obj)\[1\]\.to_device\((arrays|obj)\[0\]\.queue\)$", lines[3])
    assert not x.asnumpy().any()
    CALLS[name](x, y.to_device(x.queue))


def test_the_error_names_the_first_that_differs(queue, other):
    x, y = usmpy.zeros(1, queue=queue), usmpy.zeros(1, queue=other)
    with pytest.raises(
        usmpy.ExecutionPlacementError, match=r"arrays\[2\] = arrays\[2\]\.to_device\(arrays\[0\]\.queue\)"
    ):
        usmpy.concat([x, x, y, x])


def test_the_cached_queue_is_common_however_it_was_reached(device):
    name = device.filter_string
    x, y, z = usmpy.zeros(1, device=name), usmpy.ones(1, device=device), usmpy.ones(1, queue=device.queue)
    assert usmpy.concat([x, y, z]).queue is device.queue


def test_two_contexts_differ_also_on_one_device(device):
    x = usmpy.zeros(1, device=device)
    y = usmpy.zeros(1, queue=usmpy.Queue(device, context=usmpy.Context(device)))
    with pytest.raises(usmpy.ExecutionPlacementError):
        usmpy.concat([x, y])


def test_calls_that_name_a_destination_may_move(queue, other):
    x, y = usmpy.arange(3, queue=queue), usmpy.zeros(3, dtype="int64", queue=other)
    usmpy.copyto(y, x)
    assert y.tolist() == [0, 1, 2]
    queue.memcpy(y, x).wait()
    assert usmpy.from_dlpack(x, device=other.device).queue == other
    assert x.to_device(other).queue is other
    assert y.queue is other


def test_a_placement_error_is_no_usm_error():
    assert not issubclass(usmpy.ExecutionPlacementError, usmpy.UsmError)
    assert issubclass(usmpy.ExecutionPlacementError, Exception)
