"""Random kernels (random_kernels.py) give what CPython gives, and so do statements one by one."""

import pytest
from python_kernels import random_kernels

import usmpy

SEEDS = [*range(40), 196, 304, 365, 380, 455]  # the latter found errors


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels(seed):
    random_kernels.check(seed, usmpy.Queue("host"), check=seed % 5 == 0, options="-O0")
