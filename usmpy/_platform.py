"""The platform that a device belongs to; a module of its own, since typing takes a millisecond to import."""

from __future__ import annotations

from typing import NamedTuple


class Platform(NamedTuple):
    """What a driver says of itself; see :attr:`usmpy.Device.platform`."""

    name: str
    """Such as ``"Intel(R) OpenCL"``, ``"NVIDIA CUDA"``, ``"Level Zero"`` or ``"Host"``."""
    vendor: str
    """The maker of the driver; empty where it does not tell."""
    version: str
    """Version of the interface, as the driver writes it."""
