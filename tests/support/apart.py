"""Worker processes of one run (pytest -n 2): each starts with the environment that the run started with.

Imported before the modules that add drivers to the environment, such as level_zero_drivers. A worker
inherits the environment of the process that started it. Without this module, those modules would find the
drivers that the first process has added, and take them for the system's.
"""

from __future__ import annotations

import os

IN_WORKER = "PYTEST_XDIST_WORKER" in os.environ
if IN_WORKER:
    for name in os.environ.pop("USMPY_TEST_ADDED", "").split():
        os.environ.pop(name, None)
    # readline set these in the process that started the workers; programs that tests start obey them.
    os.environ.pop("COLUMNS", None)
    os.environ.pop("LINES", None)
_BEFORE = frozenset(os.environ)


def before_workers() -> None:
    """Tells workers which names this process has added to the environment."""
    os.environ["USMPY_TEST_ADDED"] = " ".join(sorted(set(os.environ) - _BEFORE))
