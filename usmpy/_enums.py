"""Enumerations of the public interface."""

from __future__ import annotations

import enum


class MemoryConnection(enum.Enum):
    """What memory of one (context, device) pair means for another; see :func:`usmpy.memory_connection`."""

    NONE = 0
    """Not addressable: copies go through the host."""
    MIGRATABLE = 1
    """The driver's peer copy moves it."""
    UNIFIED = 2
    """Usable in place."""
