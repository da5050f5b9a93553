"""The kernels that the files about launches share: built once a backend."""

import pytest
from kernel_sources import KERNELS, PORTABLE

import usmpy


@pytest.fixture(scope="session")
def program(device):
    program = usmpy.Program(PORTABLE, device=device)
    for name in KERNELS:
        assert program[name].name == name  # made here: a test must not leave one behind
    return program


@pytest.fixture
def built_soon(device):
    """Options with which the host's compiler needs a quarter of the time of its -O3."""
    return {"options": "-O1"} if device.backend == "host" else {}
