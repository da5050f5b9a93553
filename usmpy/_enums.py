"""Enumerations of the public interface."""

from __future__ import annotations

import enum


class MemoryConnection(enum.Enum):
    """What memory of one place is to commands of another; see :func:`usmpy.memory_connection`."""

    NONE = 0
    """Not accessible: copies go through memory of the host."""
    MIGRATABLE = 1
    """Not accessible, but the driver copies it directly from device to device."""
    UNIFIED = 2
    """Accessible in place."""
