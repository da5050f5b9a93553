"""diagnose() and errors on a machine where Level Zero is missing or broken: docs/level-zero.md."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import shlex
import subprocess

import level_zero_drivers
import pytest
from level_zero_processes import needs_driver, run

SOURCE = pathlib.Path(__file__).parents[1] / "level_zero_programs" / "hidden.c"
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "level-zero.md"

pytestmark = needs_driver

PROGRAM = """
text = usmpy.diagnose().splitlines()
at = next(i for i, line in enumerate(text) if line.startswith("level_zero: "))
print(text[at])
print(text[at + 1])
try:
    usmpy.Device("level_zero")
except usmpy.UsmError as error:
    print(type(error).__name__, error)
assert all(device.backend != "level_zero" for device in usmpy.get_devices()) and usmpy.get_devices("host")
assert usmpy.ones(3, device="host").tolist() == [1, 1, 1]
for name in os.environ:
    assert not name.startswith("ZE_") or any(f"{name}={os.environ[name]!r}" in line for line in text), name
import sys
sys.stdout.flush()
os._exit(0)  # there is no driver that could tell of broken rules
"""
NO_DRIVER = {"ZE_ENABLE_ALT_DRIVERS": "/nonexistent/driver.so"}
PACKAGES = "to use it, install the Level Zero loader (Debian and Ubuntu: libze1) and the driver of the GPU"


@pytest.fixture(scope="module")
def hidden(tmp_path_factory):
    library = tmp_path_factory.mktemp("hidden") / "hidden.so"
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"]
    subprocess.run([*compiler, *flags, str(SOURCE), "-o", str(library), "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def old_loader(tmp_path_factory):
    """A library of the loader's name without its functions."""
    folder = tmp_path_factory.mktemp("old")
    source = folder / "old.c"
    source.write_text("int old_loader;\n")
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    command = [*compiler, "-fPIC", "-shared", str(source), "-o", str(folder / level_zero_drivers.LOADER)]
    subprocess.run(command, check=True)
    return folder


def told(hidden, **variables):
    text = run(PROGRAM, preload=str(hidden), **variables)
    report, advice, error = text.splitlines()
    assert PACKAGES in advice
    return report, error


START = "the Level Zero loader finds no driver that starts"
# Loaders from 1.19 on leave out drivers without a device.
NEWER = hasattr(ctypes.CDLL(level_zero_drivers.LOADER or None), "zeInitDrivers")
NO_DEVICE = START if NEWER else "no Level Zero driver has a device"
REFUSED = "zeInit:1+:0x{code:x},zeInitDrivers:1+:0x{code:x}"


@pytest.mark.parametrize(
    ("variables", "absent", "line"),
    [
        ({"HIDE_LOADER": "1"}, True, "libze_absent.so.1: cannot open shared object file"),
        ({**NO_DRIVER, "SHOW_NODES": "open"}, True, f"{START} (Debian and Ubuntu: libze-intel-gpu1"),
        (
            {**NO_DRIVER, "SHOW_NODES": "none"},
            True,
            f"{START}; the system shows no graphics processor in /dev/dri",
        ),
        (
            {**NO_DRIVER, "SHOW_NODES": "closed"},
            True,
            f'{START}; this user may not open /dev/dri/renderD129, which members of the group "render" may',
        ),
        (
            {"ZESIM_FAIL": REFUSED.format(code=0x70020000), "SHOW_NODES": "open"},
            False,
            "zeInit failed with ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE (0x70020000)",
        ),
        (
            {"ZESIM_FAIL": REFUSED.format(code=0x70010000), "SHOW_NODES": "closed"},
            False,
            "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS (0x70010000); this user may not open /dev",
        ),
        (  # of the second device: the first one is not listed either
            {"ZESIM_DEVICES": "2", "ZESIM_FAIL": "zeDeviceGetComputeProperties:2:0x70000001"},
            False,
            "zeDeviceGet, or what a device tells of itself, failed with ZE_RESULT_ERROR_DEVICE_LOST",
        ),
        (
            {"ZE_AFFINITY_MASK": "7", "SHOW_NODES": "open"},
            True,
            f"{NO_DEVICE}; ZE_AFFINITY_MASK may hide devices",
        ),
        (
            {"ZESIM_DEVICES": "0", "SHOW_NODES": "none"},
            True,
            f"{NO_DEVICE}; the system shows no graphics processor in /dev/dri",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_a_failure_has_its_line(hidden, variables, absent, line):
    report, error = told(hidden, **variables)
    assert report.startswith("level_zero: absent: " if absent else "level_zero: broken: ")
    assert line in report
    assert error.startswith("BackendUnavailable" if absent else "UsmError")
    assert line in error


def test_a_loader_that_is_too_old(hidden, old_loader):
    report, error = told(hidden, LD_LIBRARY_PATH=str(old_loader))
    for line in (report, error):
        assert (
            f"{level_zero_drivers.LOADER} has no function zeInit: it is too old, or not the library" in line
        )


def test_the_document_has_each_line():
    """The table of docs/level-zero.md, against the texts of the sources."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text[text.index("## What `usmpy.diagnose()` says") :].split("\n## ")[0]
    lines = re.findall(r"^\| `([^`]+)` \|", table, re.M)
    assert len(lines) >= 7
    sources = [pathlib.Path(DOCUMENT.parents[1], "csrc"), pathlib.Path(DOCUMENT.parents[1], "usmpy")]
    # Joined as the compiler joins them.
    texts = "".join(
        re.sub(r'"\s*"', "", path.read_text(encoding="utf-8")).replace('\\"', '"')
        for folder in sources
        for path in [*folder.rglob("*.c"), *folder.rglob("*.py")]
    )
    names = r"libze_loader\.so\.1|level_zero|/dev/dri/renderD128|ZE_RESULT_\.\.\.|\.\.\."
    for line in lines:
        if "cannot open" not in line:  # the system's words
            pattern = ".{1,8}".join(re.escape(part) for part in re.split(names, line) if part)
            assert re.search(pattern, texts), line
