"""What goes back to a driver goes back, or its failure is reported: each call fails in turn."""

from __future__ import annotations

import json
import pathlib

import another
import cuda_drivers
import level_zero_drivers
import level_zero_processes
import pytest

SCRIPT = str(pathlib.Path(__file__).parents[1] / "faults" / "reclaim.py")


@pytest.mark.parametrize(
    ("name", "missing", "variables", "kinds"),
    [
        pytest.param("cuda", cuda_drivers.missing(), cuda_drivers.environment, 7, id="cuda"),
        pytest.param("level_zero", level_zero_drivers.ABSENT, dict, 4, id="level_zero"),
    ],
)
def test_nothing_is_lost_in_silence(tmp_path, name, missing, variables, kinds):
    if missing:
        pytest.skip(missing)
    done = level_zero_processes.alone([SCRIPT, name], tmp_path / "report", **variables())
    assert done.returncode == 0, done.stdout
    figures = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(figures) == kinds
    assert all(of_kind["faults"] > 0 for of_kind in figures), figures
    assert sum(of_kind["kept"] for of_kind in figures) > 0, figures


OPENCL = """
import ctypes, gc, sys
import opencl_drivers
import usmpy

reports = []
sys.unraisablehook = lambda report: reports.append(str(report.exc_value))
library = ctypes.CDLL("libOpenCL.so.1")
library.clGetExtensionFunctionAddressForPlatform.restype = ctypes.c_void_p
for device in usmpy.get_devices("opencl"):
    platform, handle = ctypes.c_void_p(), ctypes.c_void_p(device.native_handle)
    code = library.clGetDeviceInfo(handle, 0x1031, ctypes.sizeof(platform), ctypes.byref(platform), None)
    assert code == 0  # of CL_DEVICE_PLATFORM
    address = library.clGetExtensionFunctionAddressForPlatform(platform, b"clMemFreeINTEL")
    if "Intel" not in device.platform.name or not address:
        continue
    free = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(address)
    for _ in range(2):
        x = usmpy.empty(64 << 20, dtype="int8", device=device)  # more than the pool keeps
        assert free(x.queue.context.native_handle, x.data_ptr) == 0  # so that it cannot be given back
        del x
        gc.collect()
        usmpy.trim()
    print(reports)
"""


def test_opencl_reports_what_the_driver_refuses():
    """Once, in the driver's own words. Another driver may end the process over such a call."""
    said = another.run(OPENCL)
    if not said:
        pytest.skip("Intel's OpenCL runtime is not here")
    assert said == "['clMemFreeINTEL failed with CL_INVALID_VALUE (-30)']\n"
