"""The deadline of a process: a test that hangs while it holds the GIL ends it, with all threads' stacks.

pytest's own timeout needs Python to run. faulthandler's thread does not, and there is one of it in a process:
everything that sets a deadline does it here.
"""

from __future__ import annotations

import faulthandler
import os
import time

STDERR = os.dup(2)  # pytest's capture takes the other one
_deadline = 0.0  # by time.monotonic()


def allow(seconds: float, spare: float = 0) -> None:
    """At least this time from now on. A deadline starts a thread: one serves the calls of `spare` seconds."""
    global _deadline
    now = time.monotonic()
    if now + seconds > _deadline:
        limit(seconds + spare)


def limit(seconds: float) -> None:
    """Exactly this time from now on, until `allow` or `limit` is called again after `free`."""
    global _deadline
    _deadline = time.monotonic() + seconds
    faulthandler.dump_traceback_later(seconds, exit=True, file=STDERR)


def free() -> None:
    """No deadline, until the next test sets its own."""
    global _deadline
    _deadline = 0.0
    faulthandler.cancel_dump_traceback_later()
