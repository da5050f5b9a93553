"""The seeds of programs against the model of the engine, in parts, which are a test each.

--model-programs says how many programs a device runs, instead of the number that the test names.
"""

from __future__ import annotations

import draws
import options

EACH = 100
COUNT = options.value("model_programs", 0)


def parts(default: int) -> list[range]:
    count = COUNT or default
    return [draws.seeds(count)[at : at + EACH] for at in range(0, count, EACH)]


def drawn(seeds: range, of: int) -> range:
    """One seed in `of`, unless --model-programs asks for a number."""
    return seeds if COUNT else seeds[::of]


def first_of(seeds: range) -> str:
    return f"from {seeds[0]}"
