"""The deadline of a process: when it passes, faulthandler prints the stacks of all threads and exits.

pytest's own timeout needs the GIL, so it cannot end a test that hangs with the GIL held; faulthandler's
thread can. A process has only one such timer: everything that sets a deadline does it here.
"""

from __future__ import annotations

import faulthandler
import os
import time

STDERR = os.dup(2)  # pytest's capture takes the other one
_deadline = 0.0  # by time.monotonic()


def allow(seconds: float, spare: float = 0) -> None:
    """Moves the deadline to at least `seconds` from now, and if it moves, to `spare` seconds more.

    Each new deadline starts a thread; `spare` makes them rarer.
    """
    global _deadline
    now = time.monotonic()
    if now + seconds > _deadline:
        limit(seconds + spare)


def limit(seconds: float) -> None:
    """Sets the deadline to `seconds` from now. A later `allow` may extend it; `free` ends it."""
    global _deadline
    _deadline = time.monotonic() + seconds
    faulthandler.dump_traceback_later(seconds, exit=True, file=STDERR)


def free() -> None:
    """No deadline, until the next test sets its own."""
    global _deadline
    _deadline = 0.0
    faulthandler.cancel_dump_traceback_later()
