"""Programs in processes of their own. `another` can be imported in them too, for what they often do."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping

import usmpy

TESTS = pathlib.Path(__file__).resolve().parents[1]
SECONDS = 60  # for a child


def run(program: str, environment: Mapping[str, str] = os.environ, timeout: float = 120) -> str:
    """The output of the program, which must succeed."""
    places = [str(pathlib.Path(usmpy.__file__).parents[1]), str(TESTS), str(TESTS / "support")]
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
    """Calls the function in a forked child, which ends without the end of Python.

    Its exception, and a hang, are raised here as an AssertionError.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and later: a fork with threads
        child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(read)
            signal.alarm(SECONDS)
            function()
            status = 0
        except BaseException as error:
            os.write(write, "".join(traceback.format_exception(error)).encode()[-60_000:])
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    assert status == 0, text or f"the child ended with {status}"


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


def copy_while_refused(
    queue: usmpy.Queue,
    call: int,
    calls: Callable[[], int],
    fail: Callable[[int], object],
    hold: Callable[[int], object],
    blocks: Callable[[], int],
) -> None:
    """Copies of memory that overlaps, each refused at this call of the driver while it is early.

    A task behind a late one is given to the driver at once, and again later where that fails. `calls` counts
    the driver's copies, `fail` makes the n-th from now fail (0: none), `hold` lets no work begin,
    and `blocks` counts the blocks of memory that the driver has given, which must not become more.
    """
    host, expected = usmpy.Queue("host"), list(range(100))
    x, y = usmpy.arange(100, dtype="int32", queue=queue), usmpy.zeros(100, dtype="int32", queue=queue)
    before = []
    for _ in range(6):
        go = threading.Event()
        queue.wait()
        queue.memcpy(y, x, depends=[host.host_task(go.wait, 60)])
        event = queue.memcpy(x[1:], x[:-1])  # by way of other memory
        last = calls() + call
        fail(call)
        hold(1)  # the first copy does not end before the second is refused
        go.set()
        while calls() < last:
            time.sleep(0.001)
        hold(0)
        event.wait()
        fail(0)
        assert y.tolist() == expected
        expected = [0, *expected[:-1]]
        assert x.tolist() == expected
        before.append(blocks())
    assert before == before[:1] * 6, before
