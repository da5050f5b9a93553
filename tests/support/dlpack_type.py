"""CUDA's devices under another of DLPack's types, as those of another driver with streams would be.

With the option --dlpack-type=10 they are ROCm's for the whole process (``exchange/test_another_type.py``).
"""

from __future__ import annotations

import options

import usmpy
from usmpy import _core

CUDA, ROCM = 2, 10
TYPE = options.value("dlpack_type", CUDA)
# DLPack has no type for managed memory of ROCm: it goes by that of the device.
MANAGED, HOST = {CUDA: (13, 3), ROCM: (ROCM, 11)}[TYPE]
NAME = {CUDA: "kDLCUDA", ROCM: "kDLROCM"}[TYPE]
# The driver's handles of the default streams by what __dlpack__(stream=) takes for them, and a number that no
# stream has.
DEFAULT_STREAMS = {CUDA: {None: 1, 1: 1, 2: 2}, ROCM: {None: 1, 0: 1}}[TYPE]
NO_STREAM = {CUDA: 0, ROCM: 1}[TYPE]


def give(devices: list[usmpy.Device]) -> list[usmpy.Device]:
    """The devices, of this process's type."""
    for device in devices if TYPE != CUDA else ():
        _core._set_dlpack_types(device, TYPE, 0, HOST)
    return devices
