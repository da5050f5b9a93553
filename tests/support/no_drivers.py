"""Python in a process of its own that finds no driver but the host's, whatever this machine has."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

NOWHERE = "/nonexistent/driver.so"
HIDDEN = {
    "USMPY_CUDA_LIBRARY": NOWHERE,
    "USMPY_LEVEL_ZERO_LOADER": NOWHERE,
    "OCL_ICD_VENDORS": NOWHERE,
    "OCL_ICD_FILENAMES": "",
}
# The packages of this environment bring drivers: usmpy is imported while their folders are not to be seen.
HEAD = """
import os, sys
prefix, path = sys.prefix, sys.path[:]
sys.prefix, sys.path[:] = "/nonexistent", [entry for entry in path if not entry.endswith("-packages")]
import usmpy
sys.prefix, sys.path[:] = prefix, path
assert [device.backend for device in usmpy.get_devices()] == ["host"]
"""


def run(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(program)],
        env={**os.environ, **HIDDEN, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
