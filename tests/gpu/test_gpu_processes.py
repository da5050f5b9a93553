"""Behaviour of a whole process: kernels that fault, exits with running work, forks, the driver's start."""

from __future__ import annotations

import subprocess
import sys

import pytest
from gpu_scripts import environment, run_script


@pytest.mark.parametrize(
    "script",
    [
        "fault_in_a_kernel",
        "exit_with_late_kernels",
        "fork_after_use",
        "driver_is_opened_late",
        pytest.param(
            "sub_interpreters_on_a_gpu",
            marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="they need CPython 3.12"),
        ),
    ],
)
def test_script(script):
    done = run_script(script)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_exit_with_an_export_alive(request, library):
    request.getfixturevalue(library)
    done = run_script("exit_with_late_kernels", library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr


def test_the_report_names_the_driver():
    done = subprocess.run(
        [sys.executable, "-c", "import usmpy; print(usmpy.diagnose())"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "cuda:gpu:0" in done.stdout
