"""Event: states, errors that come out at wait, times."""

import gc
import threading
import time
import traceback
import weakref

import pytest
from asleep import once_asleep

import usmpy

PATIENCE = 60


class Trouble(Exception):
    pass


def fail(text="trouble"):
    raise Trouble(text)


def held(queue):
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


def settle(queue):
    """Takes the queue's error away, so that nothing is left to hear."""
    with pytest.raises(Exception):  # noqa: B017
        queue.wait()


def test_barrier_of_an_idle_queue(queue):
    event = queue.barrier()
    event.wait()
    assert event.done
    assert event.status == "complete"


def test_states_of_a_task(queue):
    started = threading.Event()
    gate = threading.Event()

    def task():
        started.set()
        gate.wait(PATIENCE)

    first = queue.host_task(task)
    second = queue.host_task(lambda: None)
    assert started.wait(PATIENCE)
    assert first.status == "running"
    assert second.status == "submitted"
    assert not first.done
    assert first.exception() is None
    gate.set()
    second.wait(PATIENCE)
    assert first.status == second.status == "complete"
    assert first.done
    assert first.exception() is None
    assert first.wait() is None


def test_every_submission_gives_an_event_of_its_own(queue):
    array = usmpy.zeros(4, queue=queue)
    events = [
        queue.fill(array, 1),
        queue.memcpy(array, array),
        queue.prefetch(array),
        queue.barrier(),
        queue.keep_alive([]),
        queue.host_task(lambda: None),
    ]
    assert all(type(event) is usmpy.Event for event in events)
    assert len({id(event) for event in events}) == len(events)
    usmpy.Event.wait_all(events)


def test_events_cannot_be_made_by_hand():
    with pytest.raises(TypeError):
        usmpy.Event()


def test_events_take_weak_references_and_are_hashable(queue):
    event = queue.barrier()
    reference = weakref.ref(event)
    assert {event: 1}[event] == 1
    assert event != queue.barrier()
    del event
    gc.collect()
    assert reference() is None


def test_repr_shows_the_state(queue):
    gate, event = held(queue)
    assert "submitted" in repr(event) or "running" in repr(event)
    gate.set()
    event.wait()
    assert "complete" in repr(event)


@pytest.mark.parametrize("name", ["status", "done", "submit_time_ns"])
def test_attributes_are_read_only(queue, name):
    with pytest.raises(AttributeError):
        setattr(queue.barrier(), name, 1)


# Errors.


def test_an_error_comes_out_of_wait_each_time(queue):
    event = queue.host_task(fail)
    for _ in range(3):
        with pytest.raises(Trouble, match="trouble") as caught:
            event.wait()
        assert caught.value.args == ("trouble",)
    assert isinstance(event.exception(), Trouble)
    assert event.exception() is event.exception()
    assert event.status == "error"
    assert event.done
    settle(queue)


def test_an_error_does_not_hold_the_frames_that_it_went_through(queue):
    class Local:
        pass

    def caller():
        mine = Local()
        event = queue.host_task(fail)
        with pytest.raises(Trouble):
            event.wait()
        with pytest.raises(Trouble):
            queue.wait()
        return weakref.ref(mine)

    reference = caller()
    gc.collect()
    assert reference() is None


def test_an_error_does_not_keep_the_tasks_objects_alive(queue):
    class Local:
        pass

    references = []

    def task(array):
        mine = Local()
        references.append(weakref.ref(mine))
        fail()

    event = queue.host_task(task, usmpy.zeros(4, queue=queue))
    with pytest.raises(Trouble):
        event.wait()
    gc.collect()
    assert references[0]() is None
    settle(queue)


class Detailed(Exception):
    """Its __init__ takes other arguments than it keeps."""

    def __init__(self, code, *, extra):
        super().__init__(f"code {code}")
        self.code = code
        self.extra = extra


class Slotted(Exception):
    __slots__ = ("detail",)


def slotted():
    error = Slotted("a", "b")
    error.detail = [1]
    return error


def noted():
    error = ValueError("noted")
    error.mine = 5
    error.__cause__ = KeyError("why")
    return error


@pytest.mark.parametrize(
    ("make", "look"),
    [
        (lambda: Detailed(3, extra="x"), lambda e: (str(e), e.code, e.extra)),
        (slotted, lambda e: (e.args, e.detail)),
        (noted, lambda e: (e.args, e.mine, type(e.__cause__), e.__cause__.args)),
        (lambda: FileNotFoundError(2, "gone", "name"), lambda e: (e.errno, e.filename, str(e))),
        (lambda: UnicodeDecodeError("utf-8", b"ab", 0, 1, "bad"), lambda e: (e.reason, e.object, str(e))),
        (lambda: SystemExit(7), lambda e: e.code),
        (lambda: StopIteration(8), lambda e: e.value),
        (lambda: ImportError("no", name="n", path="p"), lambda e: (e.name, e.path, str(e))),
        (lambda: KeyError("key"), str),
        (lambda: SyntaxError("bad", ("f", 1, 2, "text")), lambda e: (e.lineno, e.text, e.msg)),
        (
            lambda: usmpy.UsmError("text", backend="b", code=4, name="N"),
            lambda e: (e.backend, e.code, e.name, str(e)),
        ),
    ],
    ids=lambda value: None if value is str else getattr(value, "__name__", None),
)
def test_an_error_is_raised_with_all_that_it_had(queue, make, look):
    original = make()

    def task():
        raise original

    event = queue.host_task(task)
    for _ in range(2):
        with pytest.raises(type(original)) as caught:
            event.wait()
        assert look(caught.value) == look(original)
    with pytest.raises(type(original)):
        queue.wait()


def test_the_traceback_names_the_task(queue):
    event = queue.host_task(fail)
    with pytest.raises(Trouble) as caught:
        event.wait()
    assert "fail" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    settle(queue)


def test_a_queue_raises_the_first_error_once(queue):
    gate, _ = held(queue)
    queue.host_task(fail, "one")
    second = queue.host_task(fail, "two")
    gate.set()
    with pytest.raises(Trouble, match="one"):
        queue.wait()
    queue.wait()
    assert str(second.exception()) == "two"
    queue.host_task(fail, "three")
    with pytest.raises(Trouble, match="three"):
        queue.wait()
    queue.wait()


def test_event_and_queue_tell_of_an_error_independently(queue):
    event = queue.host_task(fail)
    with pytest.raises(Trouble):
        event.wait()
    with pytest.raises(Trouble):
        queue.wait()
    with pytest.raises(Trouble):
        event.wait()
    queue.wait()


def test_exception_is_none_while_running_and_then_the_error(queue):
    gate = threading.Event()

    def task():
        gate.wait(PATIENCE)
        fail()

    event = queue.host_task(task)
    assert event.exception() is None
    gate.set()
    with pytest.raises(Trouble):
        queue.wait()
    assert isinstance(event.exception(), Trouble)


def test_in_order_work_continues_after_an_error(queue):
    queue.host_task(fail)
    done = []
    event = queue.host_task(done.append, 1)
    event.wait(PATIENCE)
    assert done == [1]
    settle(queue)


@pytest.mark.parametrize("in_order", [True, False])
def test_dependents_of_failed_work_do_not_run(device, in_order):
    queue = usmpy.Queue(device, in_order=in_order)
    gate, start = held(queue)
    done = []
    failed = queue.host_task(fail, depends=start)
    second = queue.host_task(done.append, 2, depends=[failed])
    third = queue.host_task(done.append, 3, depends=(second,))
    fine = queue.host_task(done.append, 4, depends=[start])
    gate.set()
    fine.wait(PATIENCE)
    for event in (second, third):
        with pytest.raises(usmpy.UsmError, match="not run") as caught:
            event.wait(PATIENCE)
        assert caught.value.__cause__ is failed.exception()
        assert event.status == "error"
        assert event.exception().__cause__ is failed.exception()
    assert done == [4]
    settle(queue)


def test_dependence_on_work_that_failed_before(device, queue):
    failed = queue.host_task(fail)
    settle(queue)
    other = usmpy.Queue(device)
    done = []
    event = other.host_task(done.append, 1, depends=failed)
    with pytest.raises(usmpy.UsmError) as caught:
        event.wait(PATIENCE)
    assert isinstance(caught.value.__cause__, Trouble)
    assert done == []
    with pytest.raises(usmpy.UsmError):
        other.wait()


def test_the_first_of_several_errors_is_the_cause(device):
    first, second, third = (usmpy.Queue(device) for _ in range(3))
    one, two = first.host_task(fail, "one"), second.host_task(fail, "two")
    with pytest.raises(Trouble):
        one.wait()
    with pytest.raises(Trouble):
        two.wait()
    event = third.barrier([one, two])
    with pytest.raises(usmpy.UsmError) as caught:
        event.wait()
    assert str(caught.value.__cause__) == "one"
    for queue in (first, second, third):
        settle(queue)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, StopIteration])
def test_any_exception_comes_out(queue, error):
    def task():
        raise error

    event = queue.host_task(task)
    with pytest.raises(error) as caught:
        event.wait(PATIENCE)
    assert type(caught.value) is type(event.exception()) is error
    with pytest.raises(error):
        queue.wait()


def test_an_exception_class_that_is_odd(queue):
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(a, b)

        def __str__(self):
            raise RuntimeError("no text")

    def task():
        raise Odd(1, 2)

    event = queue.host_task(task)
    with pytest.raises(Odd):
        event.wait(PATIENCE)
    follower = queue.host_task(lambda: None, depends=event)
    with pytest.raises(usmpy.UsmError) as caught:
        follower.wait(PATIENCE)
    assert type(caught.value.__cause__) is Odd
    with pytest.raises(Odd):
        queue.wait()


# Several events.


def test_wait_all_waits_for_all_and_raises_the_first_of_the_list(device):
    queues = [usmpy.Queue(device) for _ in range(3)]
    gate, slow = held(queues[0])
    late = queues[1].host_task(lambda: (gate.wait(PATIENCE), fail("late")))
    early = queues[2].host_task(fail, "early")
    once_asleep(gate.set)
    with pytest.raises(Trouble, match="late"):
        usmpy.Event.wait_all([slow, late, early])
    assert slow.done
    assert early.done
    with pytest.raises(Trouble, match="early"):
        usmpy.Event.wait_all((early, late))
    for queue in queues[1:]:
        settle(queue)


def test_wait_all_of_nothing_and_of_any_iterable(queue):
    assert usmpy.Event.wait_all([]) is None
    assert usmpy.Event.wait_all(queue.barrier() for _ in range(5)) is None
    assert usmpy.Event.wait_all({queue.barrier()}, timeout=PATIENCE) is None


def test_wait_all_keeps_an_error_of_its_iterable(queue):
    def broken():
        yield queue.barrier()
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        usmpy.Event.wait_all(broken())


def test_wait_all_has_one_deadline(device):
    stuck = [held(usmpy.Queue(device)) for _ in range(3)]
    with pytest.raises(TimeoutError):
        usmpy.Event.wait_all([event for _, event in stuck], 0.05)
    for gate, _ in stuck:
        gate.set()
    usmpy.Event.wait_all([event for _, event in stuck], timeout=PATIENCE)


@pytest.mark.parametrize("events", [None, 1, [1], [None]])
def test_wait_all_of_other_objects(events):
    with pytest.raises(TypeError, match="events"):
        usmpy.Event.wait_all(events)


# Timeouts.


def test_a_timeout_leaves_the_event_as_it_was(queue):
    gate, event = held(queue)
    for timeout in (0, 0.0, 0.01):
        with pytest.raises(TimeoutError):
            event.wait(timeout)
    assert not event.done
    gate.set()
    event.wait(timeout=PATIENCE)
    event.wait(0)


@pytest.mark.parametrize("timeout", [float("inf"), 1e300, 10**30, None])
def test_timeouts_without_an_end(queue, timeout):
    queue.barrier().wait(timeout)
    queue.wait(timeout)


@pytest.mark.parametrize("timeout", [-1, -0.001, float("nan"), float("-inf")])
def test_timeouts_that_make_no_sense(queue, timeout):
    with pytest.raises(ValueError, match="timeout"):
        queue.barrier().wait(timeout)
    with pytest.raises(ValueError, match="timeout"):
        queue.wait(timeout)
    with pytest.raises(ValueError, match="timeout"):
        usmpy.empty(1, queue=queue).wait(timeout)


@pytest.mark.parametrize("timeout", ["1", [1], 1j])
def test_timeouts_of_a_wrong_type(queue, timeout):
    with pytest.raises(TypeError, match="timeout"):
        queue.barrier().wait(timeout)


# Times.


def test_times_are_ordered(device):
    queue = usmpy.Queue(device, profiling=True)
    array = usmpy.zeros(1 << 20, queue=queue)
    other = usmpy.zeros(1 << 20, queue=queue)
    ran = []
    events = [
        queue.fill(array, 1),
        queue.memcpy(other, array),
        queue.memcpy(other, bytes(other.nbytes), blocking=False),
        queue.barrier(),
        queue.host_task(lambda: ran.extend((time.monotonic_ns(), time.monotonic_ns()))),
    ]
    queue.wait()
    for event in events:
        times = (event.submit_time_ns, event.start_time_ns, event.end_time_ns)
        assert all(type(value) is int for value in times)
        assert 0 < times[0] <= times[1] <= times[2]
    assert events[-1].start_time_ns <= ran[0] <= ran[1] <= events[-1].end_time_ns
    submitted = [event.submit_time_ns for event in events]
    assert submitted == sorted(submitted)
    starts = [event.start_time_ns for event in events]
    assert starts == sorted(starts)


def test_asking_for_the_end_waits_for_it(device):
    queue = usmpy.Queue(device, profiling=True)
    gate, event = held(queue)
    assert event.submit_time_ns > 0
    once_asleep(gate.set)
    assert event.end_time_ns >= event.start_time_ns
    assert event.done


def test_failed_work_has_times_too(device):
    queue = usmpy.Queue(device, profiling=True)
    event = queue.host_task(fail)
    assert event.submit_time_ns <= event.start_time_ns <= event.end_time_ns
    settle(queue)


@pytest.mark.parametrize("name", ["submit_time_ns", "start_time_ns", "end_time_ns"])
def test_times_need_a_profiling_queue(queue, name):
    with pytest.raises(usmpy.UsmError, match="profiling=True"):
        getattr(queue.barrier(), name)
