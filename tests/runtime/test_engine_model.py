"""Random programs against the model of the engine (engine_programs.py), a hundred a test.

USMPY_MODEL_PROGRAMS says how many programs a device runs, instead of the numbers below; USMPY_TEST_SEED is
the first seed.
"""

from __future__ import annotations

import os

import draws
import engine_programs
import pytest

import usmpy

EACH = 100
FORK = 10  # each tenth program, again with a fork


def parts(default: int) -> list[range]:
    """The seeds of each test."""
    count = int(os.environ.get("USMPY_MODEL_PROGRAMS", default))
    return [draws.seeds(count)[at : at + EACH] for at in range(0, count, EACH)]


def first_of(seeds: range) -> str:
    return f"from {seeds[0]}"


@pytest.mark.parametrize("seeds", parts(1000), ids=first_of)
def test_the_host(seeds):
    for seed in seeds:
        engine_programs.run(usmpy.Device("host:cpu:0"), seed)


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
@pytest.mark.parametrize("seeds", parts(1000), ids=first_of)
def test_forks(seeds):
    for seed in seeds[::FORK]:
        engine_programs.run(usmpy.Device("host:cpu:0"), seed, forks=True)
