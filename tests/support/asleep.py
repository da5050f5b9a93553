"""Threads that sleep: tests act once a call blocks, not after a time in which it may have begun to block."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

PATIENCE = 60  # seconds
PAUSE = 0.002  # seconds between two looks


def _sleeps(process: int, thread: int) -> str | None:
    """How often the thread went to sleep; None: it runs, is ready to, or has ended."""
    try:
        with open(f"/proc/{process}/task/{thread}/status", "rb") as file:
            fields = dict(line.split(":", 1) for line in file.read().decode(errors="replace").splitlines())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return fields["voluntary_ctxt_switches"] if fields["State"].strip().startswith("S") else None


def _until_asleep(process: int, threads: Callable[[], list[int]]) -> None:
    """Until all of them sleep at two looks, and none ran in between.

    A thread that only waits for the GIL runs in between, since this thread releases the GIL.
    """
    deadline = time.monotonic() + PATIENCE
    seen: dict[int, str | None] = {}
    while None in (now := {thread: _sleeps(process, thread) for thread in threads()}).values() or now != seen:
        assert time.monotonic() < deadline, f"threads do not go to sleep: {now}"
        seen = now
        time.sleep(PAUSE)


def until_asleep(process: int | None = None, thread: int | None = None) -> None:
    """Waits until a thread sleeps: the main thread, if none is named, of this process or of another."""
    process = os.getpid() if process is None else process
    _until_asleep(process, lambda: [thread or process])


def until_others_sleep() -> None:
    """Waits until all other threads of the process sleep: they have released what they were to release."""
    own = threading.get_native_id()
    _until_asleep(os.getpid(), lambda: [n for n in map(int, os.listdir("/proc/self/task")) if n != own])


class NeverAsleep(AssertionError):
    """A thread did not sleep within PATIENCE."""


def once_asleep(call: Callable[[], object]) -> None:
    """Calls the function from another thread once this thread sleeps.

    If it does not within PATIENCE, the function is called, so that nothing waits for it any more, and this
    thread raises NeverAsleep.
    """

    def wait() -> None:
        started.wait()  # an exception within Thread.start() would leave threading's lists half done
        try:
            until_asleep(thread=sleeper)
        except AssertionError:
            import ctypes  # here: sub-interpreters of CPython 3.12 with a GIL of their own lack it

            raised = ctypes.py_object(NeverAsleep)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(identity), raised)
        finally:
            call()

    sleeper, identity, started = threading.get_native_id(), threading.get_ident(), threading.Event()
    threading.Thread(target=wait, daemon=True).start()
    started.set()
