"""The software Level Zero driver through the real loader: programs of level_zero_programs/, one test each."""

from __future__ import annotations

import functools
import os
import pathlib
import shlex
import subprocess
import sys

import level_zero_drivers
import pytest

from usmpy import level_zero_sim

PROGRAMS = pathlib.Path(__file__).parent / "level_zero_programs"

pytestmark = [
    pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built"),
    pytest.mark.not_sanitized("it runs other programs"),
]

# Without layers; and as every call is checked by the loader's validation layer.
LAYERS = [{}, level_zero_sim.LAYERS]


def names(source):
    """The tests in a program: its TEST(name) entries."""
    text = (PROGRAMS / f"{source}.c").read_text()
    return [part.partition(")")[0] for part in text.split("TEST(")[1:]]


@functools.cache
def built(source, folder):
    program = folder / source
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    command = [*compiler, "-std=gnu11", "-g", "-Wall", "-Wextra", "-Werror", PROGRAMS / f"{source}.c"]
    if "LEVEL_ZERO_INCLUDE" in os.environ:
        command.append(f"-I{os.environ['LEVEL_ZERO_INCLUDE']}")
    # By name: a machine without libze-dev has no libze_loader.so to link with.
    subprocess.run([*command, "-o", program, f"-l:{level_zero_drivers.LOADER}", "-ldl"], check=True)
    return program


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("level_zero_programs")


def run(program, *arguments, **variables):
    return subprocess.run(
        [program, *arguments],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )


CASES = [(source, name) for source in ("work",) for name in names(source)]


@pytest.mark.parametrize("layers", LAYERS, ids=["plain", "checked"])
@pytest.mark.parametrize(("source", "name"), CASES, ids=lambda part: part)
def test_program(folder, source, name, layers):
    if layers and not level_zero_drivers.has_validation_layer():
        pytest.skip("the loader's validation layer is not installed")
    done = run(built(source, folder), name, **layers)
    assert done.returncode == 0, done.stdout


def test_the_environment_is_printed():
    command = [sys.executable, "-m", "usmpy.level_zero_sim", "--layers", "--set", "ZESIM_DEVICES=3"]
    lines = subprocess.run(command, check=True, text=True, capture_output=True).stdout.splitlines()
    assert f"export ZE_ENABLE_ALT_DRIVERS={shlex.quote(str(level_zero_drivers.LIBRARY))}" in lines
    assert "export ZE_ENABLE_VALIDATION_LAYER=1" in lines
    assert "export ZESIM_DEVICES=3" in lines
    shown = subprocess.run(
        [*command, "--", "sh", "-c", "echo $ZESIM_DEVICES"], check=True, text=True, capture_output=True
    )
    assert shown.stdout == "3\n"


def test_without_sources_the_tool_says_where_they_are(tmp_path):
    command = [sys.executable, "-m", "usmpy.level_zero_sim", "--sources", str(tmp_path)]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 1
    assert "they come with the source tree" in done.stderr
