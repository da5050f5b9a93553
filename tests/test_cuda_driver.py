"""The CUDA driver in software (tests/cuda_driver): what tests rely on when they use it."""

from __future__ import annotations

import ctypes

import cuda_drivers
import pytest

pytestmark = pytest.mark.skipif(cuda_drivers.missing() is not None, reason=str(cuda_drivers.missing()))


class Failed(Exception):
    """A call of the driver failed, with this code."""


VERSIONED = {"cuMemAlloc": "_v2"}


@pytest.fixture(scope="module")
def library():
    library = ctypes.CDLL(str(cuda_drivers.library()))
    assert library.cuInit(0) == 0
    return library


def test_it_starts(library):
    n = ctypes.c_int()
    assert library.cuDeviceGetCount(ctypes.byref(n)) == 0
    assert n.value == 2
