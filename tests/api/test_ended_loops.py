"""An event loop that ended while somebody awaited an event leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref

import usmpy

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
