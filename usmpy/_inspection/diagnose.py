"""diagnose(): which devices are available, and why others are missing."""

from __future__ import annotations

import os
import sys

from .._core import _backends

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from .._core import _BackendReport

_VENDORS = "/etc/OpenCL/vendors"
_SELECTION = ("USMPY_DEVICE", "ONEAPI_DEVICE_SELECTOR")
_INSTALL = {
    "cuda": "NVIDIA's driver (libcuda.so.1)",
    "level_zero": "the Level Zero loader (Debian and Ubuntu: libze1) and the driver of the GPU "
    "(intel-opencl-icd, libze-intel-gpu1)",
    "opencl": "an OpenCL loader (ocl-icd-libopencl1) and a driver: pocl-opencl-icd, or the package "
    "intel-opencl-rt",
}


def _opencl_drivers() -> list[str]:
    """Libraries that the OpenCL loader opens, by its variables or by the system's folder."""
    listed = [name for name in os.environ.get("OCL_ICD_FILENAMES", "").split(":") if name]
    variables = ("OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH")
    vendors = next((os.environ[name] for name in variables if os.environ.get(name)), None)
    if vendors is None and not os.path.isdir(_VENDORS):
        return listed
    vendors = vendors or _VENDORS
    files = [vendors]
    try:
        if os.path.isdir(vendors):
            names = sorted(name for name in os.listdir(vendors) if name.endswith(".icd"))
            files = [os.path.join(vendors, name) for name in names]
    except OSError:
        files = []
    for file in files:
        if not file.endswith(".icd"):
            listed.append(file)
            continue
        try:
            with open(file, errors="replace") as text:
                listed.append(text.readline().strip())
        except OSError as error:
            listed.append(str(error))
    return [name for name in listed if name and not os.path.isdir(name)]


def _broken_drivers() -> list[str]:
    """One line for each driver that does not load; loaders skip those silently."""
    import ctypes

    broken = []
    for name in _opencl_drivers():
        try:
            ctypes.CDLL(name)
        except OSError as error:
            broken.append(f"{_BROKEN}{error}")
    return broken


def in_order(reports: list[_BackendReport]) -> list[_BackendReport]:
    """The reports with the host first, since it always works."""
    return sorted(reports, key=lambda report: report["name"] != "host")


def state(report: _BackendReport) -> str:
    """``works``, ``absent`` or ``broken``."""
    return "works" if report["absent"] is None else "broken" if report["broken"] else "absent"


_BROKEN = "driver that does not load: "


def libraries(report: _BackendReport) -> list[str]:
    """The opened files of the backend's libraries with their role: ``loader: /usr/lib/...``."""
    return [line for line in report["libraries"].splitlines() if not line.startswith(_BROKEN)]


def reasons(report: _BackendReport) -> list[str]:
    """Why devices of the backend may be missing. If it does not work, the first line is the error."""
    name = report["name"]
    lines = []
    if report["absent"] is not None:
        lines.append(report["absent"])
        if report["built"] and name in _INSTALL:
            lines.append(f"to use it, install {_INSTALL[name]}")
    if name == "opencl" and report["built"]:
        lines += _broken_drivers()
    if report["absent"] is None:
        lines += [line for line in report["libraries"].splitlines() if line.startswith(_BROKEN)]
    lines += [
        f"{variable}={os.environ[variable]!r}" for variable in report["environment"] if variable in os.environ
    ]
    return lines


def diagnose() -> str:
    import platform

    from .. import __version__

    lines = [
        f"usmpy {__version__}, Python {platform.python_version()} at {sys.executable}, {platform.platform()}"
    ]
    for report in in_order(_backends()):
        rest = reasons(report)
        if report["absent"] is None:
            lines.append(f"{report['name']}: {len(report['devices'])} device(s)")
            lines += [
                f"  {device.filter_string}: {device.name} ({device.driver_version}), {device.platform.name}"
                for device in report["devices"]
            ]
            lines += [f"  {line}" for line in libraries(report)]
        else:
            lines.append(f"{report['name']}: {state(report)}: {rest.pop(0)}")
        lines += [f"  {line}" for line in rest]
    lines += [f"{variable}={os.environ[variable]!r}" for variable in _SELECTION if variable in os.environ]
    return "\n".join(lines)
