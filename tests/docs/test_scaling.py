"""The formula of docs/scaling.md against its simulation (benchmarks/scaling.py), for many machines."""

from __future__ import annotations

import itertools
import pathlib
import sys

import pytest
from libraries import need

need("simpy")
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "benchmarks"))
from scaling import CHUNKS, Constants, Work, formula, most_workers, simulate  # noqa: E402


@pytest.mark.parametrize("workers", [1, 2, 3, 10, 40])
@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.3])
def test_the_formula_and_the_simulation_agree(workers, seconds):
    machines = [*itertools.product([1e-5, 5e-4, 5e-3], [1e-5, 2e-3], [1e8, 1e10])]
    for task, message, bandwidth in machines[workers % 3 :: 3]:
        constants = Constants(task=task, message=message, bandwidth=bandwidth, launch=1e-6)
        work = Work(seconds=seconds)
        expected, simulated = formula(constants, work, workers), simulate(constants, work, workers, 24)
        # A worker that is about as busy as the scheduler sometimes waits for it: a lower bound.
        busy = sorted([CHUNKS * seconds, workers * CHUNKS * task])
        slack = 1.1 if busy[0] < 0.2 * busy[1] else 2.0
        assert expected / 1.02 <= simulated <= slack * expected + 4 * task + 2 * message, (constants, workers)


def test_a_fast_scheduler_costs_nothing_and_a_slow_one_decides():
    work = Work(seconds=0.01)
    fast = Constants(task=1e-7, message=1e-7, bandwidth=1e12, launch=1e-7)
    assert simulate(fast, work, 50, 10) == pytest.approx(CHUNKS * work.seconds, rel=0.01)
    slow = Constants(task=0.01, message=1e-7, bandwidth=1e12, launch=1e-7)
    assert simulate(slow, work, 50, 10) == pytest.approx(50 * CHUNKS * 0.01, rel=0.02)
    assert most_workers(slow, work) == pytest.approx(1, rel=0.01)


def test_launches_count_where_they_take_longer_than_the_device():
    constants = Constants(task=1e-6, message=1e-6, bandwidth=1e12, launch=1e-3)
    work = Work(seconds=0.002, launches=5)
    assert formula(constants, work, 1) == pytest.approx(CHUNKS * 0.005)
    assert simulate(constants, work, 1, 10) == pytest.approx(CHUNKS * 0.005, rel=0.01)
