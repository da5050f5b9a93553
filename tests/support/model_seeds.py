"""The seeds of programs against the model of the engine, in parts, which are a test each.

USMPY_MODEL_PROGRAMS says how many programs a device runs, instead of the number that the test names.
"""

from __future__ import annotations

import os

import draws

EACH = 100
COUNT = int(os.environ.get("USMPY_MODEL_PROGRAMS", "0"))


def parts(default: int) -> list[range]:
    count = COUNT or default
    return [draws.seeds(count)[at : at + EACH] for at in range(0, count, EACH)]


def drawn(seeds: range, of: int) -> range:
    """One seed in `of`, unless USMPY_MODEL_PROGRAMS asks for a number."""
    return seeds if COUNT else seeds[::of]


def first_of(seeds: range) -> str:
    return f"from {seeds[0]}"
