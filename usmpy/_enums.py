"""Enumerations of the public interface."""

from __future__ import annotations

import enum


class MemoryConnection(enum.Enum):
    """How commands of one place can use memory of another, as `memory_connection` returns it.

    Examples
    --------
    >>> import usmpy
    >>> usmpy.memory_connection("host", "host") is usmpy.MemoryConnection.UNIFIED
    True
    """

    NONE = 0
    """Not accessible: copies go through memory of the host."""
    MIGRATABLE = 1
    """Not accessible, but the driver copies it directly from device to device."""
    UNIFIED = 2
    """Accessible in place."""
