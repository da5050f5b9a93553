"""python tests/support/level_zero_sim.py: builds the software driver, and shows it to programs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import level_zero_drivers
import level_zero_sim
import pytest
from level_zero_processes import environment, needs_driver

pytestmark = needs_driver

LIST = "import usmpy; print([d.filter_string for d in usmpy.get_devices('level_zero')])"


def tool(*arguments, **variables):
    own = environment(ZE_ENABLE_ALT_DRIVERS=None, ZE_ENABLE_VALIDATION_LAYER=None, **variables)
    command = [sys.executable, level_zero_sim.__file__, *map(str, arguments)]
    return subprocess.run(command, env=own, text=True, capture_output=True, timeout=120)


def test_help_has_every_variable_that_the_driver_reads():
    text = tool("--help").stdout
    for word in ("--layers", "--set NAME=VALUE", "--folder", "--sources", 'eval "$(python tests/'):
        assert word in text
    read = {
        name
        for file in level_zero_sim.SOURCES.glob("*.c")
        for name in re.findall(r'(?:getenv|number)\("(ZE\w+)"', file.read_text())
    }
    assert len(read) > 15
    assert read <= set(re.findall(r"ZE\w+", text))


def test_a_program_runs_before_the_devices_that_were_asked_for():
    done = tool("--set", "ZESIM_DEVICES=3", "--set", "ZESIM_TYPE=npu", "--", sys.executable, "-c", LIST)
    assert done.stdout == f"{[f'level_zero:accelerator:{i}' for i in range(3)]}\n", done.stderr


def test_the_printed_line_works_in_a_shell():
    shell = f'eval "$("$0" {level_zero_sim.__file__} --set ZE_AFFINITY_MASK=1)" && exec "$0" -c "{LIST}"'
    own = environment(ZE_ENABLE_ALT_DRIVERS=None)
    done = subprocess.run(["sh", "-c", shell, sys.executable], env=own, text=True, capture_output=True)
    assert done.stdout == "['level_zero:gpu:0']\n", done.stderr


def test_the_program_s_status_is_the_tool_s():
    assert tool("--", "sh", "-c", "exit 7").returncode == 7
    done = tool("--", "/nonexistent/program")
    assert done.returncode == 127
    assert "/nonexistent/program does not run" in done.stderr


@pytest.mark.parametrize("setting", ["ZESIM_DEVICES", "nothing", "--layers"])
def test_invalid_settings(setting):
    done = tool("--set", setting)
    assert done.returncode == 2
    assert "usage: python tests/support/level_zero_sim.py" in done.stderr


def test_a_library_is_built_once_and_anew_when_its_sources_change(tmp_path):
    sources, folder = tmp_path / "sources", tmp_path / "built"
    sources.mkdir()
    (sources / "hierarchy.c").write_text("int zeInit(int flags) { return flags; }\n")
    shutil.copy(level_zero_sim.SOURCES / "exports.map", sources)
    for _ in range(2):
        assert tool("--sources", sources, "--folder", folder).returncode == 0
    assert len(list(folder.iterdir())) == 1
    (sources / "hierarchy.c").write_text("#error mine\n")
    done = tool("--sources", sources, "--folder", folder)
    assert (done.returncode, len(list(folder.iterdir()))) == (1, 1)
    assert "mine" in done.stderr


@pytest.mark.parametrize(
    ("header", "hint"),
    [("level_zero/ze_api.h", "Debian's libze-dev"), ("CL/cl.h", "Debian's opencl-headers")],
)
def test_a_header_that_is_missing_is_named_with_its_package(tmp_path, header, hint):
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\necho 'x.c:1: fatal error: {header}: No such file' >&2\nexit 1\n")
    compiler.chmod(0o755)
    done = tool("--folder", tmp_path / "built", CC=str(compiler))
    assert done.returncode == 1
    assert hint in done.stderr
    assert not list((tmp_path / "built").iterdir())


def test_a_compiler_that_is_missing_is_named(tmp_path):
    done = tool("--folder", tmp_path / "built", CC="/nonexistent/cc")
    assert done.returncode == 1
    assert "no C compiler" in done.stderr


def test_the_suite_runs_on_the_library_of_the_tree():
    assert level_zero_sim.build() == level_zero_drivers.LIBRARY
