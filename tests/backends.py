"""The registrations of the conformance suite: one a device that the suite runs on.

``tests/cts`` knows no backend. Each registration gives a name, a factory, tags, and two lists of tests by
``file.py::test`` (or the prefix of one), each with its reason: ``unsupported`` for what this device can never
do (left out), ``xfail`` for what it ought to do and does not yet (strict: a pass is a failure).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

import usmpy


class Absent(Exception):
    """This machine has no such device: the tests are skipped with this reason. Other errors are failures."""


@dataclasses.dataclass(frozen=True)
class Backend:
    name: str
    device: Callable[[], usmpy.Device]
    tags: frozenset[str] = frozenset()
    unsupported: dict[str, str] = dataclasses.field(default_factory=dict)
    xfail: dict[str, str] = dataclasses.field(default_factory=dict)


def host() -> usmpy.Device:
    return usmpy.Device("host:cpu:0")


def host_part() -> usmpy.Device:
    device = host()
    if device.max_compute_units < 2:
        raise Absent("the host device has one compute unit: it has no part smaller than itself")
    return device.create_sub_devices(1)[0]


def opencl(vendor: str) -> Callable[[], usmpy.Device]:
    def find() -> usmpy.Device:
        for device in usmpy.get_devices("opencl"):
            if vendor in device.vendor + device.name:
                return device
        raise Absent(f"no OpenCL device of {vendor}: see usmpy.diagnose()")

    return find


# Tags: "host-accessible": the host reads all memory of the device; "host-task": host tasks run; "system-usm":
# its commands use any memory of the host in place; "sub-device": a part of a device.
EVERY_PROCESSOR = frozenset({"host-accessible", "host-task"})

BACKENDS = [
    Backend("host", host, EVERY_PROCESSOR | {"system-usm"}),
    Backend("host-part", host_part, EVERY_PROCESSOR | {"system-usm", "sub-device"}),
    Backend("opencl-intel", opencl("Intel"), EVERY_PROCESSOR | {"system-usm"}),
    Backend("opencl-pocl", opencl("pthread"), EVERY_PROCESSOR),
]

# With USMPY_TEST_COARSE_SVM=1 all OpenCL devices have memory of kind "device" alone, which the host does not
# read: what drivers of graphics cards without the USM extension have.
if os.environ.get("USMPY_TEST_COARSE_SVM"):
    BACKENDS = [Backend("opencl-coarse", opencl("pthread"), frozenset({"host-task"}))]
