"""await event: no thread for each, cancellation, errors, loops that come and go."""

import asyncio
import gc
import os
import resource
import threading
import time
import weakref

import pytest

import usmpy

PATIENCE = 60


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def held(queue):
    gate = threading.Event()
    return gate, queue.host_task(gate.wait, PATIENCE)


def run(main):
    return asyncio.run(asyncio.wait_for(main, PATIENCE))


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_an_event_that_has_ended(queue):
    async def main():
        event = queue.barrier()
        event.wait()
        assert await event is None
        await event

    run(main())


def test_the_event_loop_runs_during_await(queue):
    async def main():
        gate, event = held(queue)
        ticks = 0

        async def ticker():
            nonlocal ticks
            while ticks < 5:
                await asyncio.sleep(0)
                ticks += 1
            gate.set()

        ticking = asyncio.create_task(ticker())
        await event
        assert ticks == 5
        assert event.done
        await ticking

    run(main())


def test_a_thousand_events_need_no_thread_each(queue):
    async def main():
        gate, _ = held(queue)
        done = []
        events = [queue.host_task(done.append, i) for i in range(1000)]
        threads = threading.active_count()
        tasks = len(os.listdir("/proc/self/task"))

        async def one(event):
            await event

        waiting = [asyncio.create_task(one(event)) for event in events]
        await asyncio.sleep(0)  # they have begun to wait
        assert threading.active_count() == threads
        assert len(os.listdir("/proc/self/task")) <= tasks + 1
        assert not any(task.done() for task in waiting)
        gate.set()
        await asyncio.gather(*waiting)
        assert done == list(range(1000))

    run(main())


def test_one_event_awaited_by_many(queue):
    async def main():
        gate, event = held(queue)

        async def one():
            await event
            return event.done

        waiting = [asyncio.create_task(one()) for _ in range(50)]
        await asyncio.sleep(0)
        gate.set()
        assert await asyncio.gather(*waiting) == [True] * 50

    run(main())


def test_an_error_comes_out_of_await(queue):
    async def main():
        gate = threading.Event()

        def task():
            gate.wait(PATIENCE)
            raise LookupError("awaited")

        event = queue.host_task(task)
        waiting = asyncio.ensure_future(wrap(event))
        await asyncio.sleep(0)
        gate.set()
        for awaitable in (waiting, wrap(event), wrap(event)):
            with pytest.raises(LookupError, match="awaited"):
                await awaitable
        with pytest.raises(LookupError):
            queue.wait()

    async def wrap(event):
        await event

    run(main())


def test_cancelling_leaves_the_event_alone(queue):
    async def main():
        gate, event = held(queue)

        async def one():
            await event

        waiting = [asyncio.create_task(one()) for _ in range(100)]
        await asyncio.sleep(0)
        for task in waiting[::2]:
            task.cancel()
        await asyncio.sleep(0)
        assert [task.cancelled() for task in waiting[::2]] == [True] * 50
        assert not event.done
        gate.set()
        await asyncio.gather(*waiting[1::2])
        await event

    run(main())


def test_a_timeout_of_asyncio(queue):
    async def main():
        gate, event = held(queue)

        async def one():
            await event

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(one(), 0.01)
        gate.set()
        await event

    run(main())


def test_many_loops_one_after_another_leave_no_files_open(queue):
    async def main():
        gate, event = held(queue)
        asyncio.get_running_loop().call_soon(gate.set)
        await event

    run(main())
    gc.collect()
    before = open_files()
    for _ in range(30):
        run(main())
    # The thread that completed the last event releases the descriptor shortly after.
    deadline = time.monotonic() + PATIENCE
    while open_files() > before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert open_files() <= before


def test_loops_in_several_threads(queue):
    failures = []

    async def main():
        for _ in range(20):
            gate = threading.Event()
            events = [usmpy.Queue("host").host_task(gate.wait, PATIENCE) for _ in range(5)]
            waits = asyncio.gather(*(wrap(event) for event in events))
            await asyncio.sleep(0)  # they have begun to wait
            gate.set()
            await waits

    async def wrap(event):
        await event
        assert event.done

    def thread():
        try:
            run(main())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=thread) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(PATIENCE)
    assert failures == []


def test_a_loop_that_closes_before_the_event_ends(queue):
    gate, event = held(queue)

    async def one():
        await event

    async def main():
        task = asyncio.create_task(one())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(main())
    gc.collect()
    gate.set()
    event.wait(PATIENCE)
    gc.collect()


def test_awaiting_outside_a_loop_is_an_error(queue):
    gate, event = held(queue)

    async def one():
        await event

    with pytest.raises(RuntimeError, match="loop"):
        one().send(None)
    gate.set()
    event.wait(PATIENCE)


class Kept:
    """What a notifier keeps for an event."""


@pytest.mark.parametrize("first", ["the notifier", "the event"])
def test_a_notifier_that_is_gone_keeps_nothing(queue, first):
    gate, event = held(queue)
    notifier, kept = usmpy._core._Notifier(), Kept()
    gone = weakref.ref(kept)
    assert notifier.watch(event, kept)
    del kept
    if first == "the event":
        gate.set()
        event.wait(PATIENCE)  # nobody collects
    del notifier
    gate.set()
    event.wait(PATIENCE)
    queue.host_task(int).wait(PATIENCE)  # a call of usmpy releases what other threads could not
    gc.collect()
    assert gone() is None


def test_no_file_is_left_for_a_loop():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            usmpy._core._Notifier()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


QUEUE = usmpy.Queue("host")


def loop_that_ends(gate):
    """A weak reference to a loop in which a task awaits an event, and the event, which has not ended."""
    event = QUEUE.host_task(gate.wait, 60)

    async def waits():
        await event

    async def main():
        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
        task.cancel()
        return weakref.ref(asyncio.get_running_loop())

    return asyncio.run(main()), event


def settle():
    for _ in range(3):
        gc.collect()
        QUEUE.host_task(int).wait()


def test_loops_end_before_the_event():
    gate = threading.Event()
    loops = [loop_that_ends(gate)[0] for _ in range(3)]
    try:
        gc.collect()
        assert [loop() for loop in loops] == [None] * 3
    finally:
        gate.set()
        settle()


def test_no_descriptor_is_left():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        gate = threading.Event()
        _, event = loop_that_ends(gate)
        gate.set()
        event.wait(60)
    del event
    settle()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_a_task_that_nobody_else_keeps_goes_on():
    done = []

    async def waits(event):
        await event
        done.append(True)

    async def main():
        gate = threading.Event()
        asyncio.create_task(waits(QUEUE.host_task(gate.wait, 60)))  # noqa: RUF006
        await asyncio.sleep(0)
        gc.collect()
        gate.set()
        while not done:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), 60))
    assert done == [True]
