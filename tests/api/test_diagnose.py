"""diagnose(): what is there, what is not, and why."""

import os
import subprocess
import sys
from pathlib import Path

import cuda_drivers
import pytest

import usmpy
from usmpy import _core


def test_every_backend_has_a_line():
    lines = usmpy.diagnose().splitlines()
    for name in ("host", "opencl", "level_zero", "cuda"):
        assert any(line.startswith(f"{name}: ") for line in lines)
    assert lines[0].startswith(f"usmpy {usmpy.__version__}, Python ")


def test_devices_are_listed_by_filter_string():
    text = usmpy.diagnose()
    for device in usmpy.get_devices():
        platform = device.platform.name
        assert f"  {device.filter_string}: {device.name} ({device.driver_version}), {platform}" in text


def test_the_host_comes_first():
    assert usmpy.diagnose().splitlines()[1] == "host: 1 device(s)"


def test_a_missing_backend_names_the_reason_and_the_remedy():
    text = usmpy.diagnose()
    for report in usmpy._core._backends():
        if report["absent"]:
            assert report["absent"] in text
            assert not report["devices"]
            if report["built"]:
                assert "to use it, install" in text


def test_the_variables_that_filter_are_shown(monkeypatch):
    monkeypatch.setenv("USMPY_DEVICE", "host")
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "host:*")
    text = usmpy.diagnose()
    assert "USMPY_DEVICE='host'" in text
    assert "ONEAPI_DEVICE_SELECTOR='host:*'" in text
    monkeypatch.delenv("USMPY_DEVICE")
    assert "USMPY_DEVICE" not in usmpy.diagnose()


def test_variables_that_are_malformed_do_not_stop_the_report(monkeypatch):
    monkeypatch.setenv("USMPY_DEVICE", "rubbish")
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "::")
    assert "USMPY_DEVICE='rubbish'" in usmpy.diagnose()


# Files of libraries: those that were opened, and those that were tried.


def test_library_files_of_working_backends_are_named_and_open():
    mapped = {line.split(None, 5)[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()}
    mapped = {str(Path(path).resolve()) for path in mapped if path.startswith("/")}
    text = usmpy.diagnose()
    for report in usmpy._core._backends():
        if report["absent"] is not None:  # a loader may be open that has found no driver
            continue
        files = [line.partition(": ") for line in report["libraries"].splitlines()]
        assert bool(files) == (report["name"] != "host")
        for what, _, path in files:
            assert what in ("library", "loader", "driver", "layer")
            assert str(Path(path).resolve()) in mapped, path
            assert f"  {what}: {path}\n" in f"{text}\n"


def test_every_driver_behind_opencl_s_loader_is_named():
    (report,) = usmpy._core._backends("opencl")
    platforms = {device.driver_version for device in report["devices"]}
    assert report["libraries"].count("driver: ") == len(platforms)


ERROR = """
import usmpy
try:
    usmpy.Device("cuda")
except usmpy.UsmError as error:
    print(error)
"""


@pytest.mark.skipif(cuda_drivers.missing() is not None, reason=cuda_drivers.missing() or "built")
def test_an_error_names_the_library_that_was_opened():
    environment = cuda_drivers.environment(devices=0)
    environment["PYTHONPATH"] = str(Path(usmpy.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", ERROR], env=environment, capture_output=True, text=True)
    assert f"library: {environment['USMPY_CUDA_LIBRARY']}" in done.stdout, done.stdout + done.stderr


def test_an_error_names_the_library_that_was_tried():
    environment = {**os.environ, "USMPY_CUDA_LIBRARY": "/nowhere/libcuda.so"}
    environment["PYTHONPATH"] = str(Path(usmpy.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", ERROR], env=environment, capture_output=True, text=True)
    assert "/nowhere/libcuda.so: cannot open" in done.stdout, done.stdout + done.stderr


def test_a_backend_with_devices_is_built():
    """Advice to install a driver is for backends that the build has."""
    reports = {report["name"]: report for report in _core._backends()}
    assert reports["host"]["built"] is True
    for name, report in reports.items():
        assert report["built"] is True or report["devices"] == [], name
        assert not (report["absent"] and report["devices"]), name
