"""The platform of a device. A module of its own, since typing takes a millisecond to import."""

from __future__ import annotations

from typing import NamedTuple


class Platform(NamedTuple):
    """A driver's description of itself, as `Device.platform` returns it."""

    name: str
    """Such as ``"Intel(R) OpenCL"``, ``"NVIDIA CUDA"``, ``"Level Zero"`` or ``"Host"``."""
    vendor: str
    """The maker of the driver; empty if the driver does not report it."""
    version: str
    """Version of the interface, as the driver writes it."""
