"""The seeds of random tests: the same in each run, so that a tree that passed passes again.

With --seed N the seeds begin at N, and Hypothesis draws anew (`.ci/run --soak`).
"""

from __future__ import annotations

import options
from hypothesis import settings

FIRST = options.value("seed", 0)


def seeds(count: int) -> range:
    """That many seeds, for ``pytest.mark.parametrize``."""
    return range(FIRST, FIRST + count)


def fix_hypothesis() -> None:
    """Makes Hypothesis draw the same examples in each run; it is called before any test is imported."""
    settings.register_profile("usmpy", derandomize=FIRST == 0, database=None, print_blob=True)
    settings.load_profile("usmpy")


# Programs against the model of the engine are drawn in parts, which are a test each.
EACH = 100
COUNT = options.value("model_programs", 0)


def parts(default: int) -> list[range]:
    count = COUNT or default
    return [seeds(count)[at : at + EACH] for at in range(0, count, EACH)]


def drawn(seeds: range, of: int) -> range:
    """One seed in `of`, unless --model-programs asks for a number."""
    return seeds if COUNT else seeds[::of]


def first_of(seeds: range) -> str:
    return f"from {seeds[0]}"
