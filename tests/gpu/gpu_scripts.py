"""Running a script of these tests in a process of its own."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import usmpy

FOLDER = pathlib.Path(__file__).parent / "isolated"


def environment() -> dict[str, str]:
    here = pathlib.Path(__file__).parent
    paths = [pathlib.Path(usmpy.__file__).parent.parent, here, here.parent / "support"]
    before = os.environ.get("PYTHONPATH")
    joined = os.pathsep.join([*map(str, paths), *([before] if before else [])])
    return {**os.environ, "PYTHONPATH": joined, "PYTHONFAULTHANDLER": "1"}


def run_script(name: str, *arguments: str, timeout: float = 90) -> subprocess.CompletedProcess:
    command = [sys.executable, str(FOLDER / f"{name}.py"), *arguments]
    return subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=timeout, check=False
    )
