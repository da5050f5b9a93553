"""tests/sources.txt: every source of the extension and of the package once, with tests that exist."""

import subprocess
import sys

import tests_of

ROOT = tests_of.ROOT
FOLDERS = [("csrc", "*.c"), ("csrc", "*.py"), ("csrc", "*.inc"), ("usmpy", "*.py")]


def sources():
    paths = [path for folder, files in FOLDERS for path in (ROOT / folder).rglob(files)]
    written = [path for path in paths if "generated" not in path.parts]
    # An __init__.py that is a docstring alone has nothing to test.
    return {str(path.relative_to(ROOT)) for path in written if len(path.read_text().splitlines()) > 1}


def test_every_source_has_a_row_in_order():
    rows = tests_of.table()  # a source that is there twice is an error
    assert sources() - {*rows} == set(), "say which tests run them"
    assert {*rows} - sources() == set(), "these are gone"
    assert list(rows) == sorted(rows)


def test_the_tests_exist():
    rows = tests_of.table()
    assert not [source for source, files in rows.items() if not files]
    assert not [file for files in rows.values() for file in files if not (ROOT / file).is_file()]


def test_every_c_test_is_named():
    named = {file for files in tests_of.table().values() for file in files}
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "unit").glob("test_*.c")}
    assert files - named == set(), "say which sources they are about"


def test_commands():
    def run(*names):
        command = [sys.executable, ROOT / "tests" / "tools" / "tests_of.py", *names]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    done = run("csrc/core/tasks/hazard.h", "tests/cts/test_copy.py", "README.md")
    assert done.returncode == 0, done.stderr
    unit, python = done.stdout.splitlines()
    assert unit.startswith("python tests/unit/run.py hazard")
    assert python.startswith("pytest tests/")
    assert "tests/cts/test_copy.py" in python
    assert "README.md" in done.stderr
    assert run("README.md").returncode == 1
