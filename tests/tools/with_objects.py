"""Runs the matrix of objects with libraries that the environment of all tests lacks, in its own environments.

    python tests/tools/with_objects.py                    with pandas 2, then with pandas 3
    python tests/tools/with_objects.py pandas3            with one of them
    python tests/tools/with_objects.py --venvs FOLDER     keeps the environments there, and uses them again
    python tests/tools/with_objects.py -- --write         runs test_matrix.py with these arguments

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

import level_zero_sim  # noqa: E402
import opencl_drivers  # noqa: E402, F401 (shows them to the environments)

PACKAGES = [
    "pytest>=8",
    "pytest-timeout>=2.3",
    "hypothesis>=6.100",
    "numpy>=2.1",
    "ml_dtypes>=0.4",
    "nvidia-cuda-runtime>=13.0",
    "astropy",
    "awkward",
    "h5py",
    "mlx[cpu]",
    "polars",
    "pyarrow>=18",
    "scipy",
    "sparse",
    "tinygrad",
    "xarray",
    "zarr>=3",
]
ENVIRONMENTS = {"pandas2": "pandas>=2,<3", "pandas3": "pandas>=3,<4"}


def run(name: str, venv: pathlib.Path, command: list[str]) -> int:
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    install = [python, "-m", "pip", "install", "--quiet", *PACKAGES, ENVIRONMENTS[name]]
    subprocess.run(install, check=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if runtime := level_zero_sim.opencl():
        environment.setdefault("ZESIM_OPENCL", runtime)
    print(name, flush=True)
    return subprocess.run([python, *command], cwd=ROOT, env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--venvs", type=pathlib.Path, help="where the environments are, or shall stay")
    parser.add_argument("names", nargs="*", help=", ".join(ENVIRONMENTS))
    own = sys.argv[1:]
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/objects"]
    if "--" in own:
        command = ["tests/objects/test_matrix.py", *own[own.index("--") + 1 :]]
        own = own[: own.index("--")]
    arguments = parser.parse_args(own)
    unknown = set(arguments.names) - set(ENVIRONMENTS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(ENVIRONMENTS)}")
    with tempfile.TemporaryDirectory(prefix="usmpy-objects-") as folder:
        place = arguments.venvs.absolute() if arguments.venvs else pathlib.Path(folder)
        return max([run(name, place / name, command) for name in arguments.names or ENVIRONMENTS])


if __name__ == "__main__":
    sys.exit(main())
