"""Where the header of the C API is."""

from __future__ import annotations

import os


def get_include() -> str:
    """The folder that holds ``usmpy.h``, the C API (docs/c-api.md): for an extension's include path."""
    return os.path.join(os.path.dirname(__file__), "include")
