"""Queue: properties, waiting, barriers, what is kept alive and for how long."""

import gc
import threading
import time
import weakref

import ordering
import pytest
from asleep import once_asleep, until_asleep

import usmpy

PATIENCE = 60  # a limit for what must end, not a measure


class Kept:
    """Something that takes weak references."""


def held(queue):
    """A task that runs until the returned gate is set."""
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


def test_a_queue_is_equal_to_itself_alone(device):
    first, second = usmpy.Queue(device), usmpy.Queue(device)
    assert first == first
    assert first != second
    assert first != device.queue
    assert first != "queue"
    assert len({first, second, device.queue}) == 3


def test_the_default_device_is_where_a_queue_is_made():
    assert usmpy.Queue().device.filter_string == usmpy.select_default_device().filter_string
    assert usmpy.Queue() != usmpy.Queue()


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("profiling", [True, False])
@pytest.mark.parametrize("priority", ["low", "normal", "high"])
def test_properties_are_as_asked_for(device, in_order, profiling, priority):
    queue = usmpy.Queue(device, in_order=in_order, profiling=profiling, priority=priority)
    assert queue.in_order is in_order
    assert queue.profiling is profiling
    assert queue.priority == priority
    assert queue.backend == device.backend
    assert queue.context == device.context
    assert queue.device.filter_string == device.filter_string
    array = usmpy.full(10, 4, queue=queue)
    queue.fill(array, 5).wait()
    assert array.tolist() == [5] * 10


def test_properties_are_as_documented_by_default(queue):
    assert (queue.in_order, queue.profiling, queue.priority) == (True, False, "normal")


@pytest.mark.parametrize("name", ["device", "context", "backend", "in_order", "profiling", "priority"])
def test_properties_are_read_only(queue, name):
    with pytest.raises(AttributeError):
        setattr(queue, name, None)


def test_a_queue_is_made_from_any_placement(device):
    model = usmpy.Queue(device, context=usmpy.Context(device))
    array = usmpy.empty(1, queue=model)
    for placement in (device, device.filter_string, model, model.device, array):
        queue = usmpy.Queue(placement)
        assert queue != model
        assert queue.device.filter_string == device.filter_string
    assert usmpy.Queue(model).context == usmpy.Queue(array).context == model.context


def test_repr_shows_unusual_properties(device):
    assert device.filter_string in repr(usmpy.Queue(device))
    assert "out of order" in repr(usmpy.Queue(device, in_order=False))
    assert "profiling" in repr(usmpy.Queue(device, profiling=True))
    assert "cached" in repr(device.queue)


def test_queues_take_weak_references(device):
    queue = usmpy.Queue(device)
    reference = weakref.ref(queue)
    assert reference() is queue
    del queue
    gc.collect()
    assert reference() is None


def test_an_array_keeps_its_queue(device):
    array = usmpy.full(3, 1, queue=usmpy.Queue(device, profiling=True))
    gc.collect()
    assert array.queue.profiling
    array[...] = 2
    assert array.tolist() == [2, 2, 2]


# Waiting.


def test_wait_of_an_idle_queue_returns(queue):
    assert queue.wait() is None
    assert queue.wait(0) is None
    assert queue.wait(timeout=0.5) is None


def test_wait_is_for_everything_so_far(queue):
    done = []
    events = [queue.host_task(done.append, i) for i in range(50)]
    queue.wait()
    assert done == list(range(50))
    assert all(event.done for event in events)


@pytest.mark.parametrize("in_order", [True, False])
def test_wait_runs_out_of_time_and_can_be_repeated(device, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    gate, event = held(queue)
    for timeout in (0, 0.001, 0.06):
        with pytest.raises(TimeoutError):
            queue.wait(timeout)
    assert not event.done
    gate.set()
    queue.wait(PATIENCE)
    assert event.done


def test_wait_of_one_queue_does_not_wait_for_another(device, queue):
    gate, stuck = held(queue)
    other = usmpy.Queue(device)
    done = []
    for i in range(20):
        other.host_task(done.append, i)
    other.wait(PATIENCE)
    assert done == list(range(20))
    assert not stuck.done
    gate.set()
    stuck.wait()


def test_many_stuck_queues_do_not_stop_one_more(device):
    stuck = [held(usmpy.Queue(device, in_order=i % 2 == 0)) for i in range(16)]
    other = usmpy.Queue(device)
    array = usmpy.zeros(1 << 16, queue=other)
    other.fill(array, 3)
    other.wait(PATIENCE)
    assert array[-1].item() == 3
    for gate, event in stuck:
        assert not event.done
        gate.set()
    usmpy.Event.wait_all([event for _, event in stuck], PATIENCE)


def test_threads_may_wait_for_one_queue(queue):
    gate, event = held(queue)
    seen = []
    threads = [threading.Thread(target=lambda: (queue.wait(), seen.append(event.done))) for _ in range(4)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert seen == [True] * 4


# Barriers and markers.


def test_a_barrier_ends_after_everything_before(device):
    queue = usmpy.Queue(device, in_order=False)
    gate, event = held(queue)
    barrier = queue.barrier()
    later = queue.host_task(lambda: None)
    ordering.run_another_task(device)
    assert not barrier.done
    assert not later.done
    gate.set()
    later.wait(PATIENCE)
    assert event.done
    assert barrier.done


def test_a_barrier_with_dependencies_waits_for_these_alone(device):
    queue, other = usmpy.Queue(device, in_order=False), usmpy.Queue(device)
    gate, stuck = held(queue)
    other_gate, foreign = held(other)
    barrier = queue.barrier([foreign])
    later = queue.host_task(lambda: None)
    ordering.run_another_task(device)
    assert not barrier.done
    assert not later.done
    other_gate.set()
    later.wait(PATIENCE)
    assert barrier.done
    assert not stuck.done
    gate.set()
    queue.wait()


def keep_one(queue):
    """The gate of a task that holds the queue up, a reference to an object that it keeps, and the event."""
    gate, _ = held(queue)
    thing = Kept()
    return gate, weakref.ref(thing), queue.keep_alive(thing)


def test_keep_alive_does_not_hold_up_an_unordered_queue(device):
    queue = usmpy.Queue(device, in_order=False)
    gate, _ = held(queue)
    kept = queue.keep_alive([1, 2])
    queue.host_task(lambda: None).wait(PATIENCE)
    assert not kept.done
    gate.set()
    kept.wait(PATIENCE)


def test_keep_alive_holds_until_its_dependencies_ended(device, queue):
    gate, event = held(queue)
    thing = Kept()
    reference = weakref.ref(thing)
    kept = usmpy.Queue(device).keep_alive([thing], [event])
    del thing
    gc.collect()
    assert reference() is not None
    assert not kept.done
    gate.set()
    kept.wait(PATIENCE)
    assert gone(reference)


def test_keep_alive_without_dependencies_is_for_all_work_so_far(queue):
    gate, reference, kept = keep_one(queue)
    gc.collect()
    ordering.run_another_task(queue.device)
    assert reference() is not None
    gate.set()
    kept.wait(PATIENCE)
    assert gone(reference)


def gone(reference) -> bool:
    """A task's objects are released shortly after its completion is visible."""
    deadline = time.monotonic() + PATIENCE
    while reference() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.002)
    return reference() is None


# Keep-alive of arguments (demand: no use after free).


def test_a_buffer_lives_until_its_copy_has_ended(queue):
    gate, _ = held(queue)
    array = usmpy.zeros(1 << 16, dtype="uint8", queue=queue)
    event = queue.memcpy(array, bytearray(b"x") * (1 << 16), blocking=False)
    gc.collect()
    filler = [bytearray(1 << 16) for _ in range(8)]  # reuses the memory if it was freed
    assert not event.done
    gate.set()
    event.wait(PATIENCE)
    assert array.tolist() == [ord("x")] * (1 << 16)
    assert len(filler) == 8


def test_arrays_live_until_the_work_on_them_has_ended(device, queue):
    gate, _ = held(queue)
    result = usmpy.empty(1 << 18, dtype="int32", queue=queue)
    middle = usmpy.full(1 << 18, 11, dtype="int32", queue=queue)
    queue.memcpy(result, middle)
    reference = weakref.ref(middle)
    del middle
    gc.collect()
    assert reference() is None  # the object is gone, the memory is not
    others = [usmpy.full(1 << 18, 99, dtype="int32", device=device) for _ in range(4)]
    gate.set()
    assert result.tolist() == [11] * (1 << 18)
    assert len(others) == 4


def test_a_dropped_event_does_not_stop_its_work(queue):
    gate, _ = held(queue)
    done = []
    for i in range(100):
        queue.host_task(done.append, i)
    gc.collect()
    gate.set()
    queue.wait()
    assert done == list(range(100))


def test_a_dropped_queue_does_not_stop_its_work(device):
    gate = threading.Event()
    array = usmpy.zeros(10, device=device)

    def submit():
        queue = usmpy.Queue(device)
        queue.host_task(gate.wait, PATIENCE)
        return queue.fill(array, 8)

    event = submit()
    gc.collect()
    gate.set()
    event.wait(PATIENCE)
    assert array.tolist() == [8] * 10


def test_arguments_of_a_task_are_let_go_of_at_its_end(queue):
    things = [Kept() for _ in range(5)]
    references = [weakref.ref(thing) for thing in things]
    event = queue.host_task(lambda *args: None, *things)
    del things
    event.wait(PATIENCE)
    assert all(gone(reference) for reference in references)


def test_arguments_of_a_task_that_was_not_run_are_let_go_of_too(queue):
    failed = queue.host_task(lambda: 1 / 0)
    thing = Kept()
    reference = weakref.ref(thing)
    event = queue.host_task(print, thing, depends=failed)
    del thing
    with pytest.raises(usmpy.UsmError):
        event.wait(PATIENCE)
    assert gone(reference)
    with pytest.raises(ZeroDivisionError):
        queue.wait()


# Order with others.


def test_wait_for_a_queue_orders_later_work(device):
    first, second = usmpy.Queue(device), usmpy.Queue(device)
    gate, _ = held(first)
    order = []
    first.host_task(order.append, "first")
    assert second.wait_for(first) is None
    event = second.host_task(order.append, "second")
    ordering.run_another_task(device)
    assert not event.done
    gate.set()
    event.wait(PATIENCE)
    assert order == ["first", "second"]


def test_wait_for_an_event_is_order_and_not_data(device):
    first, second = usmpy.Queue(device), usmpy.Queue(device)
    gate, held_up = held(first)
    failing = first.host_task(lambda: 1 / 0)
    second.wait_for(held_up)
    second.wait_for(failing)
    done = []
    event = second.host_task(done.append, 1)
    gate.set()
    event.wait(PATIENCE)
    assert done == [1]
    with pytest.raises(ZeroDivisionError):
        first.wait()


def test_wait_for_includes_earlier_work_only(device):
    first, second = usmpy.Queue(device), usmpy.Queue(device)
    second.wait_for(first)
    gate, later = held(first)
    second.host_task(lambda: None).wait(PATIENCE)
    assert not later.done
    gate.set()
    first.wait()


def test_wait_for_holds_an_unordered_queue_too(device):
    first, second = usmpy.Queue(device), usmpy.Queue(device, in_order=False)
    gate, _ = held(first)
    second.wait_for(first)
    events = [second.host_task(lambda: None) for _ in range(3)]
    ordering.run_another_task(device)
    assert not any(event.done for event in events)
    gate.set()
    usmpy.Event.wait_all(events, PATIENCE)


def test_queues_may_wait_for_each_other_in_turn(device):
    first, second = usmpy.Queue(device), usmpy.Queue(device)
    order = []
    for i in range(20):
        first.host_task(order.append, 2 * i)
        second.wait_for(first)
        second.host_task(order.append, 2 * i + 1)
        first.wait_for(second)
    first.wait(PATIENCE)
    assert order == list(range(40))


def test_waiting_for_oneself_changes_nothing(queue):
    gate, _ = held(queue)
    queue.wait_for(queue)
    event = queue.host_task(lambda: None)
    gate.set()
    event.wait(PATIENCE)


def test_prefetch_is_ordered_and_harmless(queue):
    array = usmpy.full(1000, 5, queue=queue, usm_type="shared")
    event = queue.prefetch(array)
    event.wait(PATIENCE)
    assert array.tolist() == [5] * 1000


def test_a_stream_for_others_has_all_work(backend, queue):
    """A library asks for it, and enqueues behind what was submitted before: also behind tasks of the host."""
    try:
        queue.__cuda_stream__()
    except TypeError:
        assert backend.name != "cuda"
        return
    x = usmpy.zeros(4, dtype="float32", queue=queue)
    gate = threading.Event()
    task = queue.host_task(gate.wait, PATIENCE)
    x += 1
    once_asleep(gate.set)
    stream = queue.__cuda_stream__()
    assert task.done
    assert stream == queue.__cuda_stream__()
    inside = queue.host_task(lambda: queue.__cuda_stream__())  # a wait there would never end
    assert inside.result() == stream


def test_native_handle_of_a_queue_without_one(queue):
    assert queue.native_handle is None or type(queue.native_handle) is int


def test_kept_objects_go_without_another_call(queue):
    """The thread that ends the task has no interpreter: it asks the main thread to release them."""
    gate, reference, kept = keep_one(queue)
    gate.set()
    assert gone(reference)
    kept.wait(PATIENCE)


def test_kept_objects_go_with_the_next_call_of_another_thread(queue):
    """The main thread may be in a wait that does nothing of Python's."""
    found = []

    def call():
        until_asleep()  # the main thread, in `join`
        gate, reference, kept = keep_one(queue)
        gate.set()
        deadline = time.monotonic() + PATIENCE
        while reference() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
            kept.wait(PATIENCE)
        found.append(reference())

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert found == [None]


def test_a_queue_waits_for_every_task_of_a_queue_out_of_order():
    queue, other = usmpy.Queue("host", in_order=False), usmpy.Queue("host")
    first_gate, last_gate = threading.Event(), threading.Event()
    first = queue.host_task(first_gate.wait, PATIENCE)
    last = queue.host_task(last_gate.wait, PATIENCE)
    other.wait_for(queue)
    seen = other.host_task(lambda: first.done)
    last_gate.set()
    last.wait(PATIENCE)
    with pytest.raises(TimeoutError):  # the end of the last task is not enough
        seen.wait(0.01)
    first_gate.set()
    assert seen.result(PATIENCE) is True
