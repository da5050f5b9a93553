"""The kernels that the files about launches share: built once a backend."""

import kernel_calls
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


@pytest.fixture
def quick_options(request, monkeypatch):
    """test_sums has what the others are built with for users."""
    if "device" in request.fixturenames:
        for name, value in request.getfixturevalue("built_soon").items():
            monkeypatch.setitem(kernel_calls.OPTIONS, name, value)
