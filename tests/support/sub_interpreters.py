"""Sub-interpreters, for the scripts of tests/isolated.

A script adds the folder of this file to its path. Code that runs in a sub-interpreter is text, and reports by
an exception or through a pipe.
"""

from __future__ import annotations

import gc
import os
import sys
import threading

from asleep import until_others_sleep

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

# What run_string raises before 3.13, which returns it.
_FAILED = getattr(interpreters, "RunFailedError", ())
# Which GIL a sub-interpreter has: that of the main one, or its own.
GILS = ("shared", "own")
# Interpreters with a GIL of their own refuse some extension modules, and the standard library had not adapted
# all of its own before 3.13.
HAS_CTYPES = {"shared": True, "own": sys.version_info >= (3, 13)}

_PATH = f"import sys\nsys.path[:] = {sys.path!r}\n"


def create(gil: str) -> object:
    """Create a sub-interpreter."""
    if sys.version_info >= (3, 13):
        return interpreters.create("legacy" if gil == "shared" else "isolated")
    return interpreters.create(isolated=gil == "own")


def run(interpreter: object, code: str) -> None:
    """Run the code, with the path of this script; an exception becomes an AssertionError."""
    try:
        problem = interpreters.run_string(interpreter, _PATH + code)
    except _FAILED as error:
        problem = error
    assert problem is None, problem


def destroy(interpreter: object) -> None:
    """End the interpreter."""
    interpreters.destroy(interpreter)


def once(gil: str, code: str) -> None:
    """Run the code in an interpreter of its own, which ends afterwards."""
    interpreter = create(gil)
    try:
        run(interpreter, code)
    finally:
        destroy(interpreter)


def live() -> dict[str, int]:
    """Return how many objects of the core are alive, once releases in other threads have come through."""
    from usmpy import _core  # here: one script's main interpreter never imports usmpy

    gc.collect()
    seen = None
    while seen != (seen := _core._live_counts()):
        until_others_sleep()
    return seen


def at_once(n: int, function) -> None:
    """Call function(i) on n threads; the first exception is raised."""
    problems = []

    def call(i):
        try:
            function(i)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


class Pipe:
    """Bytes from a sub-interpreter: `os.write(fd, ...)` there, `read()` here."""

    def __init__(self):
        self.source, self.fd = os.pipe()

    def read(self) -> bytes:
        os.close(self.fd)
        with open(self.source, "rb") as file:
            return file.read()
