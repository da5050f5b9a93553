"""Whole programs of the portable language do what NumPy says, on the host and on drivers."""

import numpy as np
import pytest
from dialect import Host, drivers, find_devices
from programs import PROGRAMS

pytestmark = [
    pytest.mark.not_sanitized("the drivers' compilers are no part of it"),
    pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning") if find_devices() else (),
]
pytestmark = [mark for mark in pytestmark if mark]


def prepare(arguments):
    return [a.copy() if isinstance(a, np.ndarray) and a.ndim else a for a in arguments]


def kernel_name(program):
    return "f_x" if "_x)(" in program.source else "f"


def run(device, program):
    given = prepare(program.arguments)
    options = "-cl-std=CL1.2"
    device.run(
        program.source, kernel_name(program), program.size, *given, local=program.local, options=options
    )
    return [a for a in given if isinstance(a, np.ndarray) and a.ndim]


DRIVERS = drivers()


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request):
    make, device = DRIVERS[request.param]
    return make(device)


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.expected], ids=lambda p: p.name.replace(" ", "-")
)
def test_on_the_host(program):
    for result, expected in zip(run(Host(), program), program.expected, strict=True):
        if expected is not None:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name.replace(" ", "-"))
def test_drivers_and_the_host_agree(program, driver):
    for host, theirs in zip(run(Host(), program), run(driver, program), strict=True):
        np.testing.assert_array_equal(host, theirs)
