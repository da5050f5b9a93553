"""Devices without double and half precision, and without correctly rounded division: a process of its own."""

import os
import pathlib
import subprocess
import sys

import pytest

NAMES = ("wide_floats", "numerics", "random", "semantics")
FILES = [f"tests/cts/test_{name}.py" for name in NAMES]
TESTS = pathlib.Path(__file__).resolve().parents[1]


@pytest.mark.not_sanitized("it starts an interpreter")
@pytest.mark.release("it runs a part of the suite again")
def test_devices_without_fp64():
    if "USMPY_TEST_WITHOUT_FP64" in os.environ:
        return  # this is such a process
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES],
        cwd=TESTS.parent,
        env={**os.environ, "USMPY_TEST_WITHOUT_FP64": "1", "ZESIM_FP64": "0"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if " passed" not in done.stdout:
        pytest.skip("there is no OpenCL device and no Level Zero device")
