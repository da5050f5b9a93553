"""USMPY_TRACK_ALLOCATIONS: allocations are tracked from the import on."""

import os
import subprocess
import sys

import pytest

PROGRAM = "import usmpy; x = usmpy.zeros(5, device='host'); print(len(usmpy.live_allocations()) > 0)"


@pytest.mark.parametrize(("value", "tracked"), [("1", "True"), ("0", "False"), ("", "False")])
def test_the_variable(value, tracked):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "USMPY_TRACK_ALLOCATIONS": value},
        capture_output=True,
        text=True,
    )
    assert (done.stdout.strip(), done.stderr) == (tracked, "")
