"""Programs in processes of their own. `another` can be imported in them too, for what they often do."""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping

import usmpy

TESTS = pathlib.Path(__file__).resolve().parent


def run(program: str, environment: Mapping[str, str] = os.environ, timeout: float = 120) -> str:
    """The output of the program, which must succeed."""
    places = [str(pathlib.Path(usmpy.__file__).parents[1]), str(TESTS)]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**environment, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def said(call: Callable[[], object], kind: type[BaseException] = usmpy.UsmError) -> str:
    """The text of the exception that the call raises."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def in_child(function: Callable[[], object]) -> None:
    """Calls the function in a forked child, which must succeed and ends without the end of Python."""
    child = os.fork()
    if child == 0:
        try:
            function()
            os._exit(0)
        except BaseException as error:
            sys.__excepthook__(type(error), error, error.__traceback__)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextlib.contextmanager
def no_descriptors(left: int = 0) -> Iterator[list[int]]:
    """Inside, the process may open `left` files more; closing one of those that it gives makes room."""
    taken: list[int] = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        for _ in range(left):
            os.close(taken.pop())
        yield taken
    finally:
        for file in taken:
            os.close(file)
