"""What conftest.py says of core objects that tests left."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.not_sanitized("it runs another program")

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A task of the first test ends two tests later, as one does whose driver is slow.
TESTS = """
import threading

import pytest

import usmpy

gate = threading.Event()


@pytest.mark.leaves_objects("its task goes on")
def test_leaves():
    usmpy.Queue("host").host_task(gate.wait)


def test_between():
    pass


def test_releases():
    before = usmpy._core._live_counts()["events"]
    gate.set()
    while usmpy._core._live_counts()["events"] == before:
        pass
"""


def test_what_a_marked_test_left_may_be_released_in_any_later_test(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), str(tmp_path / "test_it.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_nothing_else_may_come_or_go(pytestconfig):
    suite = pytestconfig.pluginmanager.get_plugin("suite")
    now = suite.live_counts()
    (kind, n), *_ = ((kind, n) for kind, n in now.items() if n > 0)
    assert not suite.changed(now, {})
    assert not suite.changed({**now, kind: n + 2}, {kind: 2})
    assert suite.changed({**now, kind: n + 2}, {kind: 1}) == {kind: (n + 2, n)}
    assert suite.changed({**now, kind: n - 1}, {kind: 2}) == {kind: (n - 1, n)}
