"""Runs the Python tests under more interpreters, each with an extension and an environment of its own.

    python tests/tools/pythons.py python3.10 python3.13 /opt/python3.13t/bin/python3

It runs what depends on the interpreter: the exchange, the tests of CHOSEN, and under the first and the last
interpreter the conformance suite on the host device. Drivers and kernels see nothing of the interpreter, and
the README's command runs everything with one. --all runs everything but tests/structure. The builds are quick
ones (USMPY_DEBUG=1) in one copy of the tree, where only csrc/py is compiled for each interpreter. The large
libraries (PyTorch, JAX) are left out, so their tests are skipped.
Interpreters that are missing, and failures, end the script with 1; else a package index that does not answer
with 77.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", ".venv*", "build", "*.so", "*.egg-info", ".*_cache", "__pycache__"
)


# Free-threaded CPython 3.13 has no packages of these, and of others only older ones. Where usmpy is built,
# the running interpreter's has dlpack/dlpack.h.
LACKING = ("apache-tvm-ffi",)
ASK = (
    "import sys, sysconfig\n"
    "print(sys.version_info < (3, 14) and bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
)


CHOSEN = [
    "tests/interop",
    "tests/python_kernels",
    *(
        str(next(ROOT.glob(f"tests/*/test_{name}.py")).relative_to(ROOT))
        for name in (
            *("asyncio", "c_api", "capsules", "exit_reports", "faults", "fork", "free_threading"),
            *("hostile_interfaces", "import_leaks", "inspection", "isolated", "leaks", "pickle", "programs"),
            *(
                "properties_exchange",
                "repr",
                "selectors",
                "specification",
                "stress",
                "type_cache",
                "waiting_threads",
            ),
        )
    ),
]


class Absent(Exception):
    """The package index does not give what the tests need."""


def requirements(interpreter: str, environment: dict[str, str]) -> list[str]:
    """What usmpy's build and its tests need of the package index."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [*project["build-system"]["requires"], *project["project"]["optional-dependencies"]["test-base"]]
    asked = subprocess.run([interpreter, "-c", ASK], capture_output=True, text=True, check=True)
    if asked.stdout.strip() == "True":
        (folder,) = importlib.util.find_spec("tvm_ffi").submodule_search_locations
        environment["DLPACK_INCLUDE"] = f"{folder}/include"
        needed = [name for name in needed if not name.startswith(LACKING)]
    return needed


def variables() -> dict[str, str]:
    """The environment of builds and tests."""
    return {
        **os.environ,
        **dict.fromkeys(("USMPY_TESTING", "USMPY_WERROR", "USMPY_DEBUG"), "1"),
        "PYTEST_ADDOPTS": "",
    }


def copy_tree(tree: pathlib.Path) -> None:
    """Copies the sources to `tree`, where objects of an earlier run are used again."""
    for path in tree.glob("*"):
        if path.name != "build":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(ROOT, tree, ignore=LEFT_BEHIND, dirs_exist_ok=True)


def install(
    interpreter: str, tree: pathlib.Path, venv: pathlib.Path, environment: dict[str, str]
) -> pathlib.Path | None:
    """Installs the sources in `tree` in the environment `venv`.

    Returns the environment's interpreter; None if a command failed.
    """
    python = venv / "bin" / "python"
    if not python.exists():
        subprocess.run([interpreter, "-m", "venv", venv], check=True)
    pip = [python, "-m", "pip", "install", "-q"]
    for names in (["-U", "pip"], ["--prefer-binary", *requirements(interpreter, environment)]):
        if subprocess.run([*pip, *names], env=environment).returncode != 0:
            raise Absent
    own = [*pip, "--no-build-isolation", "--no-deps", "-e", "."]
    return python if subprocess.run(own, cwd=tree, env=environment).returncode == 0 else None


def run(interpreter: str, folder: pathlib.Path, conformance: bool, everything: bool) -> bool:
    environment, tree = variables(), folder / "tree"
    with tempfile.TemporaryDirectory(prefix="venv-", dir=folder) as venv:
        python = install(interpreter, tree, pathlib.Path(venv), environment)
        if python is None:
            return False
        test = [python, "-m", "pytest", "-q", "-n", "2"]
        # The structure of the sources is the same for every interpreter.
        runs = [[*test, "--ignore=tests/structure"]]
        if not everything:
            runs = [[*test, *CHOSEN]]
            if conformance:
                runs.append([*test, "--devices=host", "tests/cts"])
        return all(subprocess.run(command, cwd=tree, env=environment).returncode == 0 for command in runs)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("interpreters", nargs="+", help="names on the PATH, or paths")
    parser.add_argument("--all", action="store_true", help="run everything but tests/structure")
    arguments = parser.parse_args()
    failed, absent = [], []
    with tempfile.TemporaryDirectory(prefix="usmpy-python-") as place:
        folder = pathlib.Path(place)
        copy_tree(folder / "tree")
        for interpreter in arguments.interpreters:
            found = shutil.which(interpreter)
            version = found and subprocess.run([found, "-VV"], capture_output=True, text=True).stdout.strip()
            print(f"== {interpreter}: {version or 'not found'}", flush=True)
            conformance = interpreter in (arguments.interpreters[0], arguments.interpreters[-1])
            try:
                if not version or not run(found, folder, conformance, arguments.all):
                    failed.append(interpreter)
            except Absent:
                absent.append(interpreter)
    if absent:
        print(f"the package index did not give what the tests need: {' '.join(absent)}")
    print(f"failed: {' '.join(failed)}" if failed else "all others passed" if absent else "all passed")
    return 1 if failed else 77 if absent else 0


if __name__ == "__main__":
    sys.exit(main())
