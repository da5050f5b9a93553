"""Behaviour of a whole process: each case of the scripts of tests/isolated runs in one of its own.

A case fails by its exit status; its standard output ends with "ok". A case may be run by hand too:
``python tests/isolated/SCRIPT.py [CASE]`` with usmpy on the path.
"""

import ast
import os
import pathlib
import subprocess
import sys

import pytest

import usmpy

FOLDER = pathlib.Path(__file__).parents[1] / "isolated"


def found() -> dict[str, list[str]]:
    """By the name of a case, the script and its arguments. A script has one case, or a function for each."""
    cases = {}
    for script in sorted(FOLDER.glob("*.py")):
        text = script.read_text()
        if text.endswith("\nglobals()[sys.argv[1]]()\n"):
            functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
            cases |= {function.name: [str(script), function.name] for function in functions}
        else:
            cases[script.stem] = [str(script)]
    return cases


CASES = found()
# Cases with output on standard error: the required text.
SAID = {
    "exit_by_signal": "KeyboardInterrupt",
    "exit_with_failed_work": "nobody asked for its result; call event.wait() or queue.wait()",
}
# Cases that tests/tools/sanitize.py leaves out, and why.
NOT_SANITIZED = {
    "chain_of_a_million": "the sanitizers need larger stacks",
    "fork_after_kernels": "GCC's AddressSanitizer breaks in the children of busy forks that start threads",
    "little_memory": "the sanitizers reserve address space",
    "leak_of_submissions": "memory that was freed is kept there for a while",
    "sub_interpreter_memory": "memory that was freed is kept there for a while",
    "needs_libc_alone": "the sanitizers' libraries are needed there",
}


SLOW = {"chain_of_a_million": "it takes ten seconds"}


def marks(name: str) -> list[pytest.MarkDecorator]:
    kinds = (pytest.mark.not_sanitized, NOT_SANITIZED), (pytest.mark.release, SLOW)
    other = "sub_interpreter" in name and name.startswith("refused") != (sys.version_info < (3, 12))
    skip = pytest.mark.skipif(other, reason="usmpy supports sub-interpreters from CPython 3.12 on")
    return [skip, *(mark(reasons[name]) for mark, reasons in kinds if name in reasons)]


PARAMETERS = [pytest.param(name, id=name, marks=marks(name)) for name in CASES]


def run(name: str) -> subprocess.CompletedProcess:
    package = pathlib.Path(usmpy.__file__).parent.parent
    environment = {k: v for k, v in os.environ.items() if k not in ("USMPY_DEVICE", "ONEAPI_DEVICE_SELECTOR")}
    environment["PYTHONPATH"] = os.pathsep.join([str(package), environment.get("PYTHONPATH", "")])
    environment["PYTHONWARNINGS"] = "error"
    environment["PYTHONFAULTHANDLER"] = "1"
    return subprocess.run(
        [sys.executable, *CASES[name]],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        check=False,
    )


def test_there_are_cases():
    assert len(CASES) > 20
    assert {*SAID, *NOT_SANITIZED} <= {*CASES}


@pytest.mark.parametrize("name", PARAMETERS)
def test_script(name):
    done = run(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    if name in SAID:
        assert SAID[name] in done.stderr
    else:
        assert done.stderr == ""
