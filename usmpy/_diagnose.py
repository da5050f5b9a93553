"""Why a device is or is not there."""

from __future__ import annotations

import os
import sys

from ._core import _backends

_SELECTION = ("USMPY_DEVICE", "ONEAPI_DEVICE_SELECTOR")
_INSTALL = {
    "cuda": "NVIDIA's driver (libcuda.so.1)",
    "level_zero": "the Level Zero loader (Debian and Ubuntu: libze1) and the driver of the GPU "
    "(intel-opencl-icd, libze-intel-gpu1)",
    "opencl": "an OpenCL loader (ocl-icd-libopencl1) and a driver: pocl-opencl-icd, or the package "
    "intel-opencl-rt",
}


def diagnose() -> str:
    """For each backend: libraries tried and their errors, device count, environment variables that filter,
    what to install. Starts every backend; never raises because of one."""
    import platform

    from . import __version__

    lines = [
        f"usmpy {__version__}, Python {platform.python_version()} at {sys.executable}, {platform.platform()}"
    ]
    for report in sorted(_backends(), key=lambda report: report["name"] != "host"):
        name = report["name"]
        if report["absent"] is None:
            lines.append(f"{name}: {len(report['devices'])} device(s)")
            lines += [
                f"  {device.filter_string}: {device.name} ({device.driver_version})"
                for device in report["devices"]
            ]
        else:
            lines.append(f"{name}: {'broken' if report['broken'] else 'absent'}: {report['absent']}")
            if report["built"] and name in _INSTALL:
                lines.append(f"  to use it, install {_INSTALL[name]}")
        lines += [
            f"  {variable}={os.environ[variable]!r}"
            for variable in report["environment"]
            if variable in os.environ
        ]
    lines += [f"{variable}={os.environ[variable]!r}" for variable in _SELECTION if variable in os.environ]
    return "\n".join(lines)
