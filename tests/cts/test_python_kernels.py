"""Random kernels in Python give what CPython gives for the same function."""

import pytest
from python_kernels import random_kernels

pytestmark = pytest.mark.not_sanitized("each case builds a program: test_python_launches.py has the C code")


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_random_kernels(device, queue, seed):
    if not device.has_fp64:
        pytest.skip("the device lacks double precision")
    random_kernels.check(seed, queue)
