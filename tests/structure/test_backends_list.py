"""The lists of ``tests/support/backends.py``: each key names tests of ``tests/cts`` that exist."""

from __future__ import annotations

import ast
import functools
import os
import pathlib
import re
import subprocess
import sys

import backends
import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
CTS = TESTS / "cts"
pytestmark = pytest.mark.not_sanitized("it reads files and collects tests")

LISTS = {
    name: value
    for name, value in vars(backends).items()
    if isinstance(value, dict) and name.isupper() and all(isinstance(key, str) for key in value)
}
KEYS = sorted({key for value in LISTS.values() for key in value})


@functools.cache
def functions() -> set[str]:
    """``file.py::test`` of every function of ``tests/cts``, without what is in brackets."""
    return {
        f"{path.name}::{node.name}"
        for path in CTS.glob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_the_lists_are_found_and_every_registration_uses_them():
    assert {"COARSE", "PARTLESS", "CUDA", "LEVEL_ZERO", "MINIMAL", "NVIDIA"} <= set(LISTS)
    listed = [list_ for backend in backends.BACKENDS for list_ in (backend.unsupported, backend.xfail)]
    assert {key for list_ in listed for key in list_} <= set(KEYS)


@pytest.mark.parametrize("key", [key for key in KEYS if "[" not in key])
def test_a_key_is_the_beginning_of_a_test(key):
    assert any(name.startswith(key) for name in functions())


def test_keys_with_parameters_name_tests_as_pytest_does(tmp_path):
    keys = [key for key in KEYS if "[" in key]
    assert keys
    # conftest.py takes the listed tests away after this hook has seen them.
    (tmp_path / "all_collected.py").write_text(
        "def pytest_itemcollected(item):\n    print('collected', item.nodeid.rpartition('/')[2])\n"
    )
    files = sorted({CTS / key.partition("::")[0] for key in keys})
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-s",
            "-p",
            "all_collected",
            "-p",
            "no:cacheprovider",
            "--collect-only",
            *map(str, files),
        ],
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    collected = re.findall(r"^collected (.+)$", done.stdout, re.M)
    assert not [key for key in keys if not any(name.startswith(key) for name in collected)]


@pytest.mark.parametrize("name", sorted((backends.PLACEMENT or set()) | (backends.SECOND or set())))
def test_a_file_of_a_part_exists(name):
    assert (CTS / f"{name}.py").is_file()
