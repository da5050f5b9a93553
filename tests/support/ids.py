"""Names of parameters that are the same in every process: pytest-xdist compares the workers' tests."""

from __future__ import annotations

import re


def steady(value: object) -> str:
    """``repr`` without addresses."""
    return re.sub(r" at 0x[0-9a-f]+|(?<=<Queue )0x[0-9a-f]+ ", "", repr(value))
