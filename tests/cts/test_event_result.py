"""Event.result() and Event.add_done_callback(): values, errors, threads, lifetimes."""

import asyncio
import contextlib
import gc
import sys
import threading
import time
import weakref

import ordering
import pytest
from asleep import once_asleep

import usmpy

PATIENCE = 60


class Trouble(Exception):
    pass


class Value:
    """Something that takes weak references and may be part of a cycle."""


def fail():
    raise Trouble("trouble")


def held(queue):
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


def collected(reference):
    deadline = time.monotonic() + PATIENCE
    while reference() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.001)
    return reference() is None


# Results.


@pytest.mark.parametrize("value", [None, 0, "text", (1, [2])], ids=repr)
def test_a_host_task_has_the_value_that_its_function_returned(queue, value):
    event = queue.host_task(lambda: value)
    assert event.result() is value
    assert event.result(timeout=PATIENCE) is value
    assert event.wait() is None


def test_the_arguments_reach_the_function(queue):
    assert queue.host_task(divmod, 17, 5).result(PATIENCE) == (3, 2)


def test_other_work_has_no_value(queue):
    x = usmpy.zeros(4, queue=queue)
    for event in (
        queue.fill(x, 1),
        queue.memcpy(x, x),
        queue.prefetch(x),
        queue.barrier(),
        queue.keep_alive(1),
    ):
        assert event.result() is None


def test_result_waits_and_takes_a_timeout(queue):
    gate, event = held(queue)
    with pytest.raises(TimeoutError):
        event.result(0.01)
    with pytest.raises(TimeoutError):
        event.result(timeout=0)
    once_asleep(gate.set)
    assert event.result() is True
    with pytest.raises(ValueError, match="timeout"):
        event.result(-1)
    with pytest.raises(TypeError, match="timeout"):
        event.result("1")


def test_result_raises_the_error_of_the_work(queue):
    failed = queue.host_task(fail)
    skipped = queue.host_task(lambda: 1, depends=failed)
    for _ in range(2):
        with pytest.raises(Trouble, match="trouble"):
            failed.result()
        with pytest.raises(usmpy.UsmError, match="not run"):
            skipped.result()
    with pytest.raises(Trouble):
        queue.wait()


def test_await_gives_the_result(queue):
    async def main():
        gate = threading.Event()
        late = queue.host_task(lambda: (gate.wait(PATIENCE), "late")[1])
        asyncio.get_running_loop().call_soon(gate.set)
        return await late, await late, await queue.barrier()

    assert asyncio.run(main()) == ("late", "late", None)


def test_the_value_lives_as_long_as_the_event(queue):
    event = queue.host_task(Value)
    reference = weakref.ref(event.result())
    gc.collect()
    assert reference() is event.result()
    del event
    assert collected(reference)


def test_the_value_of_an_event_that_is_gone(queue):
    gate, kept = threading.Event(), []

    def task():
        gate.wait(PATIENCE)
        value = Value()
        kept.append(weakref.ref(value))
        return value

    queue.host_task(task)
    gate.set()
    queue.wait()
    assert collected(kept[0])


def test_a_value_that_leads_to_its_event(queue):
    value = Value()
    value.event = queue.host_task(list, (value,))
    value.event.wait()
    reference = weakref.ref(value)
    del value
    assert collected(reference)


class Leads(Exception):
    """An exception whose arguments lead anywhere."""


class Owner:
    """Reaches its event, and is reached by what the event has."""

    def run(self):
        raise Trouble("trouble")

    def lead(self):
        raise Leads(self)


def no_gate(queue):
    return threading.Event(), None


TASKS = {
    "result": lambda queue, owner, after: queue.host_task(lambda: owner, depends=after),
    "closure": lambda queue, owner, after: queue.host_task(lambda: owner.run(), depends=after),
    "method": lambda queue, owner, after: queue.host_task(owner.run, depends=after),
    "argument": lambda queue, owner, after: queue.host_task(Owner.run, owner, depends=after),
    "exception": lambda queue, owner, after: queue.host_task(owner.lead, depends=after),
}
ASK = {
    "wait": lambda queue, event: event.wait(),
    "result": lambda queue, event: event.result(),
    "exception": lambda queue, event: event.exception(),
    "wait_all": lambda queue, event: usmpy.Event.wait_all([event]),
    "queue": lambda queue, event: None,
}


def ask_all(queue, ask, *events):
    for event in events:
        with contextlib.suppress(Trouble, Leads, usmpy.UsmError):
            event.wait() if ask == "queue" and event is not events[0] else ASK[ask](queue, event)
    with contextlib.suppress(Trouble, Leads, usmpy.UsmError):
        queue.wait()  # else the queue keeps its first failure for this call


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("gate", [held, no_gate], ids=["pending", "ended"])
@pytest.mark.parametrize("task", TASKS)
def test_what_a_task_leaves_is_collected_with_its_event(queue, task, gate, ask):
    references = []
    for _ in range(3):
        owner = Owner()
        opened, after = gate(queue)
        owner.event = TASKS[task](queue, owner, after)
        opened.set()
        ask_all(queue, ask, owner.event)
        references.append(weakref.ref(owner))
        del owner, after
    assert all(collected(reference) for reference in references)


@pytest.mark.parametrize("kept", ["both", "first", "second"])
@pytest.mark.parametrize("gate", [held, no_gate], ids=["pending", "ended"])
@pytest.mark.parametrize("task", ["closure", "exception"])
def test_an_inherited_failure_is_collected_with_its_events(queue, task, gate, kept):
    references = []
    for _ in range(3):
        owner = Owner()
        opened, after = gate(queue)
        first = TASKS[task](queue, owner, after)
        second = queue.host_task(owner.run, depends=first)
        third = queue.barrier([second])
        opened.set()
        ask_all(queue, "wait", first, second, third)
        owner.events = {"both": (first, second, third), "first": (first,), "second": (second, third)}[kept]
        references.append(weakref.ref(owner))
        del owner, first, second, third, after
    assert all(collected(reference) for reference in references)


@pytest.mark.parametrize("task", ["closure", "exception"])
def test_an_exception_lives_as_long_as_one_of_its_events(queue, task):
    owner = Owner()
    owner.event = first = TASKS[task](queue, owner, None)
    second = queue.host_task(owner.run, depends=first)
    ask_all(queue, "wait", first, second)
    reference = weakref.ref(owner)
    del owner, first
    for _ in range(3):
        gc.collect()
    cause = second.exception().__cause__
    assert isinstance(cause, Leads if task == "exception" else Trouble)
    assert task == "closure" or cause.args[0] is reference()
    assert task == "closure" or isinstance(reference().event.exception(), Leads)
    del cause, second
    assert collected(reference)


def test_a_long_chain_of_results(queue):
    """Each result is the event before; deallocation does not use the C stack for each."""
    event = None
    for _ in range(20_000):
        event = queue.host_task(lambda event: event, event)
    event.wait()
    del event
    gc.collect()


# Callbacks.


class Calls:
    """A callback that notes its calls."""

    def __init__(self):
        self.seen = []
        self.called = threading.Event()

    def __call__(self, event):
        self.seen.append((event, event.status, threading.get_ident()))
        self.called.set()


def test_a_callback_is_called_once_after_the_end(queue):
    gate, event = held(queue)
    calls = Calls()
    assert event.add_done_callback(calls) is None
    ordering.run_another_task(queue.device)
    assert calls.seen == []
    gate.set()
    assert calls.called.wait(PATIENCE)
    queue.wait()
    ordering.run_another_task(queue.device)
    ((got, status, thread),) = calls.seen
    assert got is event
    assert status == "complete"
    assert thread != threading.get_ident()


def test_a_callback_of_an_event_that_has_ended_is_called_at_once(queue):
    event = queue.barrier()
    event.wait()
    calls = Calls()
    event.add_done_callback(calls)
    assert calls.seen == [(event, "complete", threading.get_ident())]


def test_a_callback_of_work_that_fails(queue):
    gate = threading.Event()
    failed = queue.host_task(lambda: (gate.wait(PATIENCE), fail()))
    skipped = queue.host_task(print, depends=failed)
    errors = []
    done = threading.Event()
    failed.add_done_callback(lambda event: errors.append(event.exception()))
    skipped.add_done_callback(lambda event: (errors.append(event.exception()), done.set()))
    gate.set()
    assert done.wait(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while len(errors) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert {type(error) for error in errors} == {Trouble, usmpy.UsmError}
    with pytest.raises(Trouble):
        queue.wait()


def test_callbacks_of_one_event_are_called_one_after_another_in_order(queue):
    gate, event = held(queue)
    seen, inside = [], []
    done = threading.Event()

    def make(i):
        def call(_):
            inside.append(i)
            ordering.run_another_task("host")
            seen.append((i, len(inside)))
            inside.clear()
            if i == 7:
                done.set()

        return call

    for i in range(8):
        event.add_done_callback(make(i))
    gate.set()
    assert done.wait(PATIENCE)
    assert seen == [(i, 1) for i in range(8)]


def test_a_callback_added_by_a_callback_runs_after_it(queue):
    gate, event = held(queue)
    inside, go, seen = threading.Event(), threading.Event(), []
    done = threading.Event()
    event.add_done_callback(lambda _: (inside.set(), go.wait(PATIENCE), seen.append(1)))
    gate.set()
    assert inside.wait(PATIENCE)
    event.add_done_callback(lambda _: (seen.append(2), done.set()))
    assert seen == []
    go.set()
    assert done.wait(PATIENCE)
    assert seen == [1, 2]


def test_a_callback_that_waits_does_not_stop_others(device):
    """Among them the one that it waits for."""
    gate, event = held(usmpy.Queue(device))
    calls = [threading.Event() for _ in range(20)]
    chain = [usmpy.Queue(device).host_task(event.wait, PATIENCE) for _ in calls]
    for i, waiting in enumerate(chain):
        waiting.add_done_callback(lambda _, i=i: ([chain[-1].wait(PATIENCE)], calls[i].set()))
    gate.set()
    assert all(call.wait(PATIENCE) for call in calls)


def test_a_callback_may_submit_and_wait(device, queue):
    gate, event = held(queue)
    x = usmpy.zeros(100, dtype="int32", queue=usmpy.Queue(device))
    seen = []
    done = threading.Event()

    def call(ended):
        ended.wait()
        x.queue.fill(x, 5)
        seen.extend(x.tolist())
        done.set()

    event.add_done_callback(call)
    gate.set()
    assert done.wait(PATIENCE)
    assert seen == [5] * 100


@pytest.mark.parametrize("late", [False, True])
def test_a_callback_that_raises(queue, monkeypatch, late):
    seen = []
    noted = threading.Event()

    def hook(args):
        seen.append((args.exc_type, args.object))
        noted.set()

    monkeypatch.setattr(sys, "unraisablehook", hook)

    def call(_):
        raise Trouble

    gate, event = held(queue)
    if late:
        gate.set()
        event.wait()
    event.add_done_callback(call)
    gate.set()
    assert noted.wait(PATIENCE)
    queue.wait()
    assert seen == [(Trouble, call)]
    assert event.exception() is None


def test_ctrl_c_in_a_callback_of_this_thread(queue):
    event = queue.barrier()
    event.wait()

    def call(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        event.add_done_callback(call)


@pytest.mark.parametrize("fn", [None, 1, "text", []], ids=repr)
def test_callbacks_that_are_not_callable(queue, fn):
    gate, event = held(queue)
    with pytest.raises(TypeError, match="fn"):
        event.add_done_callback(fn)
    gate.set()


def test_a_callback_keeps_the_event_alive_until_the_call(queue):
    gate, event = held(queue)
    called = threading.Event()
    value = Value()
    value.event = event
    event.add_done_callback(lambda event, value=value: called.set())
    reference = weakref.ref(value)
    del event, value
    gc.collect()
    assert reference() is not None
    gate.set()
    assert called.wait(PATIENCE)
    assert collected(reference)


def test_callbacks_of_kernels_and_copies(device):
    queue = usmpy.Queue(device)
    other = usmpy.Queue(device)
    gate, start = held(other)
    x = usmpy.zeros(1 << 16, queue=queue)
    y = usmpy.empty_like(x)
    calls = [Calls() for _ in range(3)]
    events = [queue.fill(x, 1, depends=start), queue.memcpy(y, x), queue.barrier()]
    for event, call in zip(events, calls, strict=True):
        event.add_done_callback(call)
    gate.set()
    for event, call in zip(events, calls, strict=True):
        assert call.called.wait(PATIENCE)
        assert call.seen[0][:2] == (event, "complete")


def test_callbacks_from_many_threads(queue):
    gate, event = held(queue)
    seen = []
    everything = threading.Event()

    def call(_):
        seen.append(1)
        if len(seen) == 200:
            everything.set()

    threads = [
        threading.Thread(target=lambda: [event.add_done_callback(call) for _ in range(50)]) for _ in range(4)
    ]
    for thread in threads[:2]:
        thread.start()
    gate.set()
    for thread in threads[2:]:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert everything.wait(PATIENCE)


class Odd(Exception):
    """Cannot be made from its own args."""

    def __new__(cls, first, second):
        return super().__new__(cls, first)

    def __init__(self, first, second):
        super().__init__(first)


def throw(exception):
    raise exception


def test_an_exception_that_cannot_be_copied(queue):
    event = queue.host_task(throw, Odd(1, 2))
    with pytest.raises(Odd, match="1") as caught:
        event.wait(PATIENCE)
    caught.value.__traceback__ = None  # the exception is the task's own, which must not keep this frame
    del caught
