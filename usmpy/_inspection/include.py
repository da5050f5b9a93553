"""The folder of the C API's header."""

from __future__ import annotations

import os


def get_include() -> str:
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), "include")
