"""Programs in Python, each in a process of its own in front of software Level Zero devices of its own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap

import level_zero_drivers
import pytest

HERE = pathlib.Path(__file__).resolve().parent
TREE = pathlib.Path(__file__).resolve().parents[2]
SPIRV = TREE / "tests" / "level_zero_programs" / "kernels.spv"

needs_driver = [
    pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built"),
    pytest.mark.not_sanitized("it starts interpreters"),
]

# What a program begins with: `calls`, `made` and `live` are the driver's counters, `broken` what it says of
# rules that were not kept.
HEAD = """
import ctypes, os
import usmpy
def _ask(function, *arguments):
    found = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"].split(",")[0])[function]
    found.restype = ctypes.c_int64
    return found(*arguments)
def calls(function): return _ask("zesimCalls", function.encode())
def made(kind): return _ask("zesimMade", kind.encode())
def live(kind): return _ask("zesimLive", kind.encode())
def broken():
    text = ctypes.create_string_buffer(4096)
    return text.value.decode() if _ask("zesimMisuse", text, 4096) else ""
"""


def environment(**variables: str | None) -> dict[str, str]:
    """This process's, with the variables; None takes one away."""
    own = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(TREE), str(TREE / "tests"), str(HERE), os.environ.get("PYTHONPATH", "")]
        ),
    }
    for name in ("USMPY_DEVICE", "ONEAPI_DEVICE_SELECTOR", "ZE_AFFINITY_MASK", "ZE_FLAT_DEVICE_HIERARCHY"):
        own.pop(name, None)
    own.update({name: value for name, value in variables.items() if value is not None})
    for name in (name for name, value in variables.items() if value is None):
        own.pop(name, None)
    return own


def run(program: str, *, preload: str | None = None, **variables: str | None) -> str:
    """The program's output. It must succeed and follow the rules of Level Zero."""
    text = HEAD + textwrap.dedent(program) + "\nassert not broken(), broken()\n"
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**environment(**variables), **({"LD_PRELOAD": preload} if preload else {})},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alone(
    arguments: list[str], report: pathlib.Path, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """Python with these arguments; the driver writes to ``report`` what is left at the end of the process."""
    report.unlink(missing_ok=True)
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *arguments],
        env=environment(ZESIM_REPORT=str(report), USMPY_CACHE="0", **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def left_behind(report: pathlib.Path) -> dict[str, int]:
    """Living objects by kind when that process had ended; "made": all that it ever made."""
    lines = (line.split() for line in report.read_text().splitlines())
    return {kind: int(count) for kind, count in lines}
