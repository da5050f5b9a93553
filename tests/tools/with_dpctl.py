"""Runs the tests with dpctl and dpnp in an environment of their own (2.9 GB, about two minutes to fetch).

    python tests/tools/with_dpctl.py                        makes the environment, runs the tests, removes it
    python tests/tools/with_dpctl.py --venv .venv-dpctl     keeps it there, and uses it again
    python tests/tools/with_dpctl.py -- -k borrow           what comes after -- is pytest's

usmpy is the build in place of this source tree (USMPY_TESTING=1) for the Python that runs this script.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = [
    "dpctl==0.22.*",
    "dpnp==0.20.*",
    "pyopencl",
    "pytest>=8",
    "pytest-timeout>=2.3",
    "hypothesis>=6.100",
]


def make(venv: pathlib.Path) -> pathlib.Path:
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def run(python: pathlib.Path, arguments: list[str]) -> int:
    """SYCL sees Intel's OpenCL runtime alone: PoCL and the software driver of Level Zero make it crash."""
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--level-zero=system",
        "tests/interop/test_dpctl.py",
        *arguments,
    ]
    with tempfile.TemporaryDirectory(prefix="usmpy-opencl-") as drivers:
        intel = python.parent.parent / "lib" / "libintelocl.so"
        (pathlib.Path(drivers) / "intel.icd").write_text(f"{intel}\n")
        environment = dict(os.environ, PYTHONPATH=str(ROOT), OCL_ICD_VENDORS=drivers)
        return subprocess.run(command, cwd=ROOT, env=environment).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--venv", type=pathlib.Path, help="where the environment is, or shall stay")
    parser.add_argument("pytest", nargs="*")
    arguments = parser.parse_args()
    if arguments.venv is not None:
        return run(make(arguments.venv.absolute()), arguments.pytest)
    with tempfile.TemporaryDirectory(prefix="usmpy-dpctl-") as folder:
        return run(make(pathlib.Path(folder) / "venv"), arguments.pytest)


if __name__ == "__main__":
    sys.exit(main())
