"""Random programs have the same bits on the host and on each driver; tests/tools/soak.py draws more."""

import drawn
import numpy as np
import pytest
from draws import seeds

import usmpy

pytestmark = pytest.mark.not_sanitized("the drivers' compilers are no part of it")

PROGRAM = 10  # kernels of one program
DRIVERS = [d for name in ("level_zero", "cuda") for d in usmpy.get_devices(name)[:1]]
TURNS = [d for d in usmpy.get_devices("opencl") for _ in range(3 if "Intel" in d.vendor else 1)] + DRIVERS


def compare(number, barriers):
    """The program of this number, on the host and on a driver, of which each has its turn."""
    some = range(PROGRAM * number, PROGRAM * (number + 1))
    expected = drawn.run(some, usmpy.Device("host"), barriers)
    assert all(len(np.unique(row)) > 1 for row in expected)
    turns = [device for device in TURNS if drawn.runs(device, barriers)]
    turn = (number + 3 * barriers) % max(len(turns), 1)
    for device in turns[turn : turn + 1]:
        found = drawn.run(some, device, barriers)
        wrong = [seed for seed, row, other in zip(some, expected, found, strict=True) if (row != other).any()]
        assert wrong == [], f"seeds of kernels that differ on {device}"


@pytest.mark.parametrize("number", seeds(16))
def test_random_kernels(number):
    compare(number, barriers=False)


@pytest.mark.parametrize("number", seeds(4))
def test_random_kernels_with_barriers(number):
    compare(number, barriers=True)


@pytest.mark.parametrize("barriers", [False, True])
def test_checked_programs_have_the_same_bits(monkeypatch, barriers):
    some, turns = range(PROGRAM), [usmpy.Device("host"), *(d for d in DRIVERS if drawn.runs(d, barriers))]
    expected = drawn.run(some, turns[0], barriers)
    monkeypatch.setenv("USMPY_CHECK", "1")
    for device in turns:
        assert (drawn.run(some, device, barriers) == expected).all(), device


def test_a_difference_is_found(monkeypatch):
    text = drawn.program(range(2))
    other = text.replace("ulong h = 1;\nint", "ulong h = 2;\nint").replace("h * 31", "h * 33")
    host = usmpy.Device("host")
    expected = drawn.run(range(2), host)
    monkeypatch.setattr(drawn, "program", lambda _: other)
    assert (drawn.run(range(2), host) != expected).any(axis=1).all()
