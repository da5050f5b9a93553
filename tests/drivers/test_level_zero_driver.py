"""The software Level Zero driver through the real loader: programs of level_zero_programs/, one test each."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys

import level_zero_drivers
import level_zero_sim
import pytest

PROGRAMS = pathlib.Path(__file__).parents[1] / "level_zero_programs"

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


def devices(expected, parts, part_of, **variables):
    return {"EXPECT_DEVICES": expected, "EXPECT_PARTS": parts, "EXPECT_FLAG": part_of, **variables}


# The environment of tests that depend on it: each runs once in each of these.
SETTINGS = {
    "counts": [
        devices("2", "2", "0"),
        devices("3", "0", "0", ZESIM_DEVICES="3", ZESIM_SUB_DEVICES="0"),
        devices("0", "0", "0", ZESIM_DEVICES="0"),
        devices("4", "0", "0", ZE_FLAT_DEVICE_HIERARCHY="FLAT"),
        devices("4", "0", "1", ZE_FLAT_DEVICE_HIERARCHY="COMBINED"),
        devices("2", "2", "0", ZE_FLAT_DEVICE_HIERARCHY="COMPOSITE"),
        devices("1", "2", "0", ZE_AFFINITY_MASK="1"),
        devices("1", "0", "0", ZE_AFFINITY_MASK="1.0"),
        devices("1", "2", "0", ZE_AFFINITY_MASK="0.1,0.0", ZESIM_SUB_DEVICES="4"),
        devices("2", "0", "0", ZE_AFFINITY_MASK="3,0", ZE_FLAT_DEVICE_HIERARCHY="FLAT"),
        devices("0", "0", "0", ZE_AFFINITY_MASK="2,7"),
    ],
    "peers": [{"EXPECT_PEER": "1"}, {"EXPECT_PEER": "0", "ZESIM_PEER": "0"}],
    "kinds_that_are_asked_for": [{"EXPECT_GPU": "1"}, {"EXPECT_GPU": "0", "ZESIM_TYPE": "npu"}],
    "version_of_the_interface": [{"EXPECT_MINOR": "12"}, {"EXPECT_MINOR": "3", "ZESIM_API": "1.3"}],
    "limits": [{"ZESIM_MEMORY_MIB": "64", "ZESIM_MAX_ALLOC_MIB": "16"}],
    "calls_fail_by_the_environment": [
        {"ZESIM_FAIL": "zeEventCreate:2:0x70000002,zeFenceCreate:1+:0x78000003"}
    ],
    "a_function_that_the_driver_lacks": [{"ZESIM_WITHOUT": "zeCommandListAppendMemAdvise"}],
    # The second: there is no such processor, and the engines run anywhere.
    "engines_stay_on_their_processor": [
        {"ZESIM_PROCESSOR": str(max(os.sched_getaffinity(0))), "EXPECT_THREADS": "1"},
        {"ZESIM_PROCESSOR": "1023", "EXPECT_THREADS": "0"},
    ],
    "memory_of_another_process": [{}, {"ZESIM_IPC_PROCESS": "1"}],
    # What begins late shows what nothing orders.
    "lists_wait_for_each_other_by_events": [{}, {"ZESIM_JITTER_US": "200", "ZESIM_OVERLAP": "4"}],
    "a_barrier_waits_for_all_before_it": [{}, {"ZESIM_JITTER_US": "2000", "ZESIM_OVERLAP": "4"}],
}

# The validation layer of 1.8 refuses lists in order by itself, whatever the driver would say.
NOT_CHECKED = {"version_of_the_interface"}

CASES = [
    pytest.param(
        source, name, settings, layers, id=f"{source}-{name}-{number}-{'checked' if layers else 'plain'}"
    )
    for source in ("devices", "memory", "work", "kernels", "failures")
    for name in names(source)
    for number, settings in enumerate(SETTINGS.get(name, [{}]))
    for layers in LAYERS[: 1 if name in NOT_CHECKED else 2]
]


@pytest.mark.parametrize(("source", "name", "settings", "layers"), CASES)
def test_program(folder, source, name, settings, layers):
    if layers and not level_zero_drivers.has_validation_layer():
        pytest.skip("the loader's validation layer is not installed")
    if source == "kernels" and not opencl_runtime():
        pytest.skip("there is no OpenCL runtime that kernels could run through (intel-opencl-rt)")
    done = run(built(source, folder), name, KERNELS=str(PROGRAMS / "kernels.spv"), **settings, **layers)
    assert done.returncode == 0, done.stdout
    if name not in TELLING:
        assert "misuse" not in done.stdout


# Their subject is that the driver tells of broken rules.
TELLING = {
    "broken_rules_are_told",
    "wrong_frees_are_told",
    "memory_that_the_device_does_not_know_is_told",
    "what_is_left_is_counted",
}


def opencl_runtime():
    return os.environ.get("ZESIM_OPENCL")


def test_places_of_functions_are_those_of_the_header():
    """tables.inc against the structs of ze_ddi.h, whatever version is installed."""
    header = pathlib.Path(os.environ.get("LEVEL_ZERO_INCLUDE", "/usr/include")) / "level_zero" / "ze_ddi.h"
    structs = re.findall(r"typedef struct _ze_(\w+)_dditable_t\s*\{(.*?)\n\} ", header.read_text(), re.S)
    places = {
        (table.replace("_", ""), place): "ze" + function
        for table, body in structs
        for place, function in enumerate(re.findall(r"ze_pfn(\w+)_t\s+pfn\w+;", body))
    }
    text = (level_zero_sim.SOURCES / "tables.inc").read_text()
    entries = re.findall(r"SIM_(ENTRY|EMPTY)\((\w+), (\d+), (\d+)(?:, (\w+))?\)", text)
    assert len(entries) > 150
    listed = {(table.lower(), int(place)): function for _, table, place, _, function in entries}
    wrong = {
        place: function
        for place, function in places.items()
        if place in listed and listed[place] not in ("", function)
    }
    assert not wrong
    # What this header has and 1.4 had is listed: loaders leave what drivers do not write as it was.
    first = {(table.lower(), int(place)) for _, table, place, since, _ in entries if int(since) <= 4}
    assert {place for place in first if place not in places} == set()


def test_tables_are_filled_as_far_as_the_version_goes():
    driver = ctypes.CDLL(str(level_zero_drivers.LIBRARY))
    filled = {}
    for minor in (0, 4, 9, 99):
        table = (ctypes.c_void_p * 64)(*[1] * 64)
        assert driver.zeGetCommandListProcAddrTable((1 << 16) | minor, table) == 0
        filled[minor] = 64 - list(table).count(1)
    assert filled[0] <= 26 < filled[4] == 28 < filled[9] < filled[99] == 52
    assert driver.zeGetCommandListProcAddrTable(2 << 16, table) == 0x78000002
    assert driver.zeGetCommandListProcAddrTable(1 << 16, None) == 0x78000007


def test_the_environment_is_printed():
    command = [sys.executable, level_zero_sim.__file__, "--layers", "--set", "ZESIM_DEVICES=3"]
    lines = subprocess.run(command, check=True, text=True, capture_output=True).stdout.splitlines()
    assert f"export ZE_ENABLE_ALT_DRIVERS={shlex.quote(str(level_zero_drivers.LIBRARY))}" in lines
    assert "export ZE_ENABLE_VALIDATION_LAYER=1" in lines
    assert "export ZESIM_DEVICES=3" in lines
    shown = subprocess.run(
        [*command, "--", "sh", "-c", "echo $ZESIM_DEVICES"], check=True, text=True, capture_output=True
    )
    assert shown.stdout == "3\n"


def test_without_sources_the_tool_says_where_they_are(tmp_path):
    command = [sys.executable, level_zero_sim.__file__, "--sources", str(tmp_path)]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode == 1
    assert "they come with the source tree" in done.stderr
