"""Threads that sleep: tests act once a call blocks, not after a time in which it may have begun to block."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

PATIENCE = 60  # seconds
PAUSE = 0.002  # seconds between two looks


def _sleeps(process: int, thread: int) -> str | None:
    """How often the thread went to sleep; None: it runs, or is ready to."""
    with open(f"/proc/{process}/task/{thread}/status", "rb") as file:
        fields = dict(line.split(":", 1) for line in file.read().decode(errors="replace").splitlines())
    return fields["voluntary_ctxt_switches"] if fields["State"].strip().startswith("S") else None


def until_asleep(process: int | None = None, thread: int | None = None) -> None:
    """Waits until a thread sleeps: the main thread, if none is named, of this process or of another.

    A thread that only waits for the GIL runs between the two looks, since this thread releases the GIL.
    """
    process = os.getpid() if process is None else process
    deadline, seen = time.monotonic() + PATIENCE, None
    while (now := _sleeps(process, thread or process)) is None or now != seen:
        assert time.monotonic() < deadline, "the thread does not go to sleep"
        seen = now
        time.sleep(PAUSE)


def once_asleep(call: Callable[[], object]) -> None:
    """Calls the function from another thread once this thread sleeps, or after PATIENCE."""

    def wait() -> None:
        try:
            until_asleep(thread=sleeper)
        finally:
            call()

    sleeper = threading.get_native_id()
    threading.Thread(target=wait, daemon=True).start()


def until_others_sleep() -> None:
    """Waits until all other threads of the process sleep: they have released what they were to release."""
    for thread in os.listdir("/proc/self/task"):
        if int(thread) != threading.get_native_id():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                until_asleep(thread=int(thread))
