"""Constants of the portable language: macros that are defined while the user's text is preprocessed."""

from __future__ import annotations

from .included import own_parts

CONSTANTS = own_parts("portable_constants.h")["host"]


def constants(device: str = "") -> str:
    """For devices that have half, where NULL is an integer. device: instead of the host's macro."""
    text = CONSTANTS.replace("#define USMPY_HOST 1\n", device).replace("((void *)0)", "0")
    return text.replace("#ifdef __FLT16_MAX__", "#if 1")
