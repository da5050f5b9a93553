"""borrow() and lend(): memory for the length of a with block."""

from __future__ import annotations

import ctypes
import gc
import threading

import numpy as np
import producers
import pytest
from asleep import once_asleep, until_asleep
from ids import steady

import usmpy

pytestmark = pytest.mark.only_on("host-accessible", "host-task")


# -- borrow ----------------------------------------------------------------------------------------


@pytest.mark.only_on("system-usm")
def test_foreign_memory_is_borrowed_in_place_and_let_go(queue):
    producer, tensor = producers.producer((3,), "int32", memory=bytes(12))
    with usmpy.borrow(producer, queue) as x:
        assert (x.data_ptr, x.queue, x.usm_type) == (tensor.address, queue, "host")
        x[...] = 7
        assert tensor.deleted == 0
    assert list((ctypes.c_int32 * 3).from_buffer(tensor.memory)) == [7, 7, 7]  # no wait on the host
    del x
    assert tensor.deleted == 1


def test_without_a_queue_it_is_where_the_memory_is(queue):
    a = np.arange(3)
    with usmpy.borrow(a) as x:
        assert x.queue is usmpy.Device("host:cpu:0").queue
    y = usmpy.arange(3, queue=queue)
    with usmpy.borrow(y) as x:
        assert x.queue == queue


@pytest.mark.parametrize("make", [bytearray, lambda n: memoryview(bytearray(n)), lambda n: np.zeros(n, "u1")])
@pytest.mark.only_on("system-usm")
def test_buffers_and_arrays_are_borrowed_and_free_afterwards(queue, make):
    data = make(16)
    with usmpy.borrow(data, queue) as x:
        queue.host_task(lambda x: until_asleep(), x)
        queue.fill(x, 5)
    assert bytes(data) == b"\5" * 16  # the exit waited for the work
    if isinstance(data, bytearray):
        del x
        data.append(1)


@pytest.mark.only_on("system-usm")
def test_read_only_memory_is_borrowed_read_only(queue):
    with usmpy.borrow(b"abc", queue) as x:
        assert x.tolist() == [97, 98, 99]
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1


@pytest.mark.only_on("!system-usm")
@pytest.mark.parametrize("source", ["capsule", "buffer", "numpy", "array on the host"])
def test_memory_out_of_reach_is_refused_and_let_go(queue, source):
    """borrow() never copies: what the block writes is the owner's memory."""
    producer, tensor = producers.producer((3,), "int32", memory=bytes(12))
    owner = {
        "capsule": producer,
        "buffer": bytearray(12),
        "numpy": np.zeros(3, "int32"),
        "array on the host": usmpy.zeros(3, dtype="int32", device="host"),
    }[source]
    borrow = usmpy.borrow(owner, queue)
    with pytest.raises(BufferError, match=r"in place; from_dlpack\(x, device=queue\)"):
        borrow.__enter__()
    assert tensor.deleted == (source == "capsule")
    if source == "buffer":
        owner.append(1)  # no reference remains
    with pytest.raises(RuntimeError):
        borrow.__exit__(None, None, None)


def uses(x, queue):
    return [
        lambda: x.tolist(),
        lambda: x[0].item(),
        lambda: x.copy().wait(),
        lambda: memoryview(x),
        lambda: x.__dlpack__(),
        lambda: usmpy.copyto(usmpy.zeros(3, dtype=x.dtype, queue=queue), x),
        lambda: x.__setitem__(0, 1),
        lambda: queue.fill(x, 1),
        lambda: x.asnumpy(),
        lambda: np.from_dlpack(x),
        lambda: queue.host_task(len, x).wait(),
    ]


@pytest.mark.parametrize("i", range(11))
def test_after_the_block_any_use_is_value_error(backend, queue, i):
    for owner in [usmpy.arange(3, queue=queue), *([np.arange(3)] if "system-usm" in backend.tags else [])]:
        with usmpy.borrow(owner, queue) as x:
            view = x[:]
            assert x.tolist() == [0, 1, 2]
        for array in (x, view):
            with pytest.raises(ValueError):
                uses(array, queue)[i]()
        assert owner.tolist() == [0, 1, 2]
        assert repr(x)


def test_our_own_array_is_ordered_on_both_ends(device, queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    other = usmpy.Queue(device)
    go = threading.Event()
    queue.host_task(lambda x: go.wait(60), x)
    queue.fill(x, 5)  # pending when the borrow begins
    with usmpy.borrow(x, other) as y:
        assert y.queue == other
        assert y.data_ptr == x.data_ptr
        seen = []
        other.host_task(lambda y: seen.append(np.asarray(y).tolist()), y)
        other.fill(y, 6)
    assert seen == []  # no wait on the host
    queue.host_task(lambda x: seen.append(np.asarray(x).tolist()), x)
    go.set()
    queue.wait()
    assert seen == [[5, 5, 5], [6, 6, 6]]
    assert x.tolist() == [6, 6, 6]


@pytest.mark.only_on("system-usm")
def test_the_end_comes_with_an_exception_too(queue):
    data = bytearray(3)
    seen = []

    def block():
        with usmpy.borrow(data, queue) as x:
            seen.append(x)
            queue.fill(x, 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert data == b"\2\2\2"
    with pytest.raises(ValueError):
        seen[0].tolist()


@pytest.mark.only_on("system-usm")
def test_a_failure_of_the_work_comes_out_of_the_exit(queue):
    with pytest.raises(ZeroDivisionError), usmpy.borrow(bytearray(3), queue) as x:
        event = queue.host_task(lambda x: 1 // 0, x)
    with pytest.raises(ZeroDivisionError):
        event.wait()


def test_one_borrow_is_entered_once(queue):
    borrow = usmpy.borrow(usmpy.zeros(3, queue=queue), queue)
    with pytest.raises(RuntimeError, match="not entered"):
        borrow.__exit__(None, None, None)
    with borrow, pytest.raises(RuntimeError, match="once"):
        borrow.__enter__()
    with pytest.raises(RuntimeError, match="once"):
        borrow.__enter__()
    with pytest.raises(RuntimeError, match="not entered"):
        borrow.__exit__(None, None, None)


@pytest.mark.parametrize("thing", [None, 3, [1, 2], "text", object()], ids=steady)
def test_an_object_that_is_not_an_array_is_type_error(queue, thing):
    borrow = usmpy.borrow(thing, queue)
    with pytest.raises(TypeError):
        borrow.__enter__()


def test_arguments_are_checked(queue):
    for call in (lambda: usmpy.borrow(), lambda: usmpy.borrow(b"", 3), lambda: usmpy.borrow(b"", queue, 1)):
        with pytest.raises(TypeError):
            call()


@pytest.mark.only_on("system-usm")
def test_a_borrow_that_is_never_left_keeps_nothing_for_ever(queue):
    producer, tensor = producers.producer((3,), "int32")
    borrow = usmpy.borrow(producer, queue)
    x = borrow.__enter__()
    assert x.tolist() == [0, 0, 0]
    del borrow, x
    gc.collect()
    assert tensor.deleted == 1


@pytest.mark.only_on("system-usm")
def test_a_borrow_in_a_cycle_is_collected(queue):
    class Node:
        def __dlpack__(self, **keywords):
            return self.tensor.capsule()

    node = Node()
    node.tensor = tensor = producers.Tensor()
    node.borrow = usmpy.borrow(node, queue)
    node.borrow.__enter__()
    del node
    gc.collect()
    assert tensor.deleted == 1


# -- lend ------------------------------------------------------------------------------------------


def test_lend_yields_the_pointer_of_finished_memory(queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    go = threading.Event()
    queue.host_task(lambda x: go.wait(60), x)
    queue.fill(x, 4)
    once_asleep(go.set)
    with x.lend(None) as pointer:
        assert pointer == x.data_ptr
        memory = (ctypes.c_int64 * 3).from_address(pointer)
        assert list(memory) == [4, 4, 4]
        memory[1] = 9
    assert x.tolist() == [4, 9, 4]


def test_lend_to_a_queue_orders_on_the_device(device, queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    other = usmpy.Queue(device)
    go = threading.Event()
    seen = []
    queue.host_task(lambda x: go.wait(60), x)
    queue.fill(x, 4)
    with x.lend(other) as pointer:
        # Somebody's kernel, of which x knows nothing but the queue.
        def kernel():
            memory = (ctypes.c_int64 * 3).from_address(pointer)
            seen.append(list(memory))
            memory[0] = 8

        other.host_task(kernel)
    assert seen == []
    go.set()
    assert x.tolist() == [8, 4, 4]
    assert seen == [[4, 4, 4]]


def test_lend_to_an_event_makes_later_work_wait_for_it(device, queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    x.wait()
    other = usmpy.Queue(device)
    go = threading.Event()
    pointer = x.data_ptr

    def kernel():
        go.wait(60)
        (ctypes.c_int64 * 3).from_address(pointer)[2] = 3

    event = other.host_task(kernel)
    with x.lend(event):
        pass
    once_asleep(go.set)
    assert x.tolist() == [0, 0, 3]


def test_lend_refuses_streams_that_the_device_does_not_have(queue):
    x = usmpy.zeros(3, queue=queue)

    class Stream:
        def __cuda_stream__(self):
            return (0, 1)

    for stream in (0, 1, 12345, Stream()):
        with pytest.raises(BufferError, match="stream"):
            x.lend(stream)
    for stream in ("q", 1.5, object()):
        with pytest.raises(TypeError):
            x.lend(stream)


def test_one_loan_is_entered_once_and_needs_its_entry(queue):
    loan = usmpy.zeros(3, queue=queue).lend(None)
    with pytest.raises(RuntimeError, match="not entered"):
        loan.__exit__(None, None, None)
    with loan, pytest.raises(RuntimeError, match="once"):
        loan.__enter__()
    with pytest.raises(RuntimeError):
        loan.__exit__(None, None, None)
    with pytest.raises(TypeError):
        type(loan)()


def test_a_read_only_array_is_lent_after_its_writers_alone(device, queue):
    x = usmpy.arange(4, queue=queue)
    shown = usmpy.broadcast_to(x, (2, 4))
    go = threading.Event()
    reader = usmpy.Queue(device)
    y = usmpy.zeros(4, dtype=x.dtype, queue=reader)
    x.wait()
    reader.host_task(go.wait, 60)
    reader.memcpy(y, x)  # reads x, and has not begun
    with shown.lend(None) as pointer:
        assert list((ctypes.c_int64 * 4).from_address(pointer)) == [0, 1, 2, 3]
    go.set()
    assert y.tolist() == [0, 1, 2, 3]


def test_lend_keeps_an_unreferenced_array_alive(queue):
    with usmpy.arange(3, dtype="int32", queue=queue).lend(None) as pointer:
        gc.collect()
        assert list((ctypes.c_int32 * 3).from_address(pointer)) == [0, 1, 2]
