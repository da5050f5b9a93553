"""No test sleeps to synchronise: it waits for a gate, an event, or until a thread sleeps (asleep.py).

A sleep in the body of a `while` loop is the pause between two looks. All others are listed here.
"""

import pathlib
import re
import threading
import time

import asleep
import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
CALLS = r"\b(?:u?sleep|nanosleep|sleep_ms|Timer)\s*\("
SLEEP = re.compile(CALLS + r"|\btime\.sleep\b|\.usleep\b|\bEvent\(\)\.wait\(\d")
YIELD = "asyncio.sleep(0)"
FUNCTION = re.compile(r"(?:async )?def |class ")
LENGTH = "work that takes this long"
ALLOWED = {  # how many, and why
    "cuda/cuda_peers.py": (1, LENGTH),
    "cuda/test_cuda_queue.py": (1, "the time during which the driver is held is what the test is about"),
    "cuda_driver/stream.c": (1, LENGTH),
    "drivers/test_level_zero_memory.py": (1, "the device's counter starts again meanwhile"),
    "gpu/test_gpu_collectives.py": (1, LENGTH),
    "gpu/test_gpu_share.py": (
        1,
        "a real driver frees memory after the call, and does not tell when",
    ),
    "interop/mpi_ranks.py": (1, LENGTH),
    "level_zero_driver/engine.c": (1, LENGTH),
    "runtime/test_leaks_heap.py": (1, LENGTH),
    "runtime/test_waiting_threads.py": (2, "timers that open gates where a failure would be a hang"),
    "unit/jobs.h": (1, "makes it likely that two threads are at rest at once, and the test holds without"),
    "unit/support.c": (4, "the pause of loops that look for something"),
    "unit/support.h": (1, "the pause of loops that look for something"),
    "unit/test_cpu.c": (2, "help comes to parts that take long; and a while in which too many could come"),
    "unit/test_hazard.c": (1, LENGTH),
    "unit/test_sync.c": (1, "a lock is held for longer than others look before they sleep"),
}


def is_pause(lines: list[str], at: int) -> bool:
    """Whether a `while` loop of the same function has the line in its body."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        own = len(line) - len(line.lstrip())
        if line.strip() and own < indent:
            if line.lstrip().startswith(("while ", "} while ")):
                return True
            if FUNCTION.match(line.lstrip()):
                return False
            indent = own
    return False


def sleeps() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("*.*")):
        if path.suffix in (".py", ".c", ".h") and path != pathlib.Path(__file__).resolve():
            lines = path.read_text().splitlines()
            for at, line in enumerate(lines):
                if SLEEP.search(line.replace(YIELD, "")) and not is_pause(lines, at):
                    name = path.relative_to(TESTS).as_posix()
                    found.setdefault(name, []).append(f"{name}:{at + 1}: {line.strip()}")
    return found


def test_no_test_sleeps_to_synchronise():
    found = {name: [] for name in ALLOWED} | sleeps()
    wrong = {name: lines for name, lines in found.items() if len(lines) != ALLOWED.get(name, (0,))[0]}
    assert wrong == {}, (
        "use a gate, an event or tests/support/asleep.py; a sleep that went leaves the list too"
    )


def test_a_thread_that_does_not_sleep_fails(monkeypatch):
    """What it would have waited for comes all the same: it must not hang."""
    monkeypatch.setattr(asleep, "PATIENCE", 0)
    gate = threading.Event()

    def wait():
        until = time.monotonic() + 60  # else a failure would be a hang
        asleep.once_asleep(gate.set)
        while time.monotonic() < until:
            pass

    with pytest.raises(asleep.NeverAsleep):
        wait()
    assert gate.wait(60)


def test_a_thread_that_sleeps_goes_on():
    gate = threading.Event()
    asleep.once_asleep(gate.set)
    assert gate.wait(asleep.PATIENCE)
