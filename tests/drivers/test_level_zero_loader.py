"""Which Level Zero loader is opened. newer_level_zero.py runs tests with the one of Debian testing."""

from __future__ import annotations

import ctypes
import pathlib
import re
import shutil

import level_zero_drivers
import level_zero_processes

pytestmark = level_zero_processes.needs_driver

TELL = "print([line for line in usmpy.diagnose().splitlines() if line.startswith('level_zero')][0])"


def opened() -> pathlib.Path:
    """The file of the loader that this process has open."""
    ctypes.CDLL(level_zero_drivers.LOADER)
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return pathlib.Path(next(line.split()[-1] for line in lines if "libze_loader" in line))


def test_a_loader_by_its_path(tmp_path):
    other = tmp_path / "another_loader.so"
    shutil.copyfile(opened(), other)
    script = """
    assert usmpy.arange(3, device="level_zero").tolist() == [0, 1, 2]
    print([line.split()[-1] for line in open("/proc/self/maps") if "loader" in line])
    """
    said = level_zero_processes.run(script, USMPY_LEVEL_ZERO_LOADER=str(other))
    assert str(other) in said
    assert "libze_loader" not in said


def test_a_missing_loader():
    said = level_zero_processes.run(TELL, USMPY_LEVEL_ZERO_LOADER="/nowhere/libze_loader.so.1")
    assert said.startswith("level_zero: absent: /nowhere/libze_loader.so.1: cannot open")
    assert "USMPY_LEVEL_ZERO_LOADER" in said


def test_a_loader_that_is_another_library():
    said = level_zero_processes.run(TELL, USMPY_LEVEL_ZERO_LOADER="libc.so.6")
    assert re.match(r"level_zero: broken: /\S+/libc\.so\.6 has no function ze", said)
    assert "USMPY_LEVEL_ZERO_LOADER" in said
