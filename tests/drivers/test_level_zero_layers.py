"""The loader's validation layer under the tests: what it says fails the test that it is said of."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import level_zero_drivers
import pytest
from level_zero_processes import environment, needs_driver

WRONG = pathlib.Path(__file__).parents[1] / "level_zero_programs" / "wrong_call.py"

pytestmark = [
    *needs_driver,
    pytest.mark.skipif(
        not level_zero_drivers.has_validation_layer(), reason="the loader's validation layer is not installed"
    ),
]


def test_a_wrong_call_fails_the_test_that_makes_it():
    call = "zeMemFree"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--level-zero=layers",
        str(WRONG),
    ]
    # The driver is shown anew, with layers.
    own = environment(WRONG_CALL=call, ZE_ENABLE_ALT_DRIVERS=None)
    done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "reports of Level Zero's validation layer" in done.stdout
    assert f"{call}: 0x7800000" in done.stdout
    assert "3 passed, 1 error" in done.stdout  # each behaved as named, and the last one was detected
