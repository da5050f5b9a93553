"""The end of a child of multiprocessing: it leaves by os._exit, which runs no function of atexit.

Without this, tasks that are pending then would be lost, and errors that nobody retrieved not reported.
"""

from __future__ import annotations

import os
import sys

from .._core import _finish

_prepared = False


def _arm(_: object) -> None:
    """Let the work of this process complete, after the queues of multiprocessing (-5 and -10) have ended."""
    sys.modules["multiprocessing.util"].Finalize(None, _finish, exitpriority=-100)


def _prepare() -> None:
    """Have each child call _arm when multiprocessing starts it, which drops what was there to call before."""
    global _prepared
    util = sys.modules.get("multiprocessing.util")
    if util is not None and not _prepared:
        util.register_after_fork(_arm, _arm)
        _prepared = True


os.register_at_fork(after_in_child=_prepare)
_prepare()  # a child of forkserver imports usmpy before multiprocessing starts it
if (_process := sys.modules.get("multiprocessing.process")) is not None and _process.parent_process():
    _arm(None)  # or later
