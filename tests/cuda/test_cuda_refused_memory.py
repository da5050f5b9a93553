"""The error of an allocation that the driver refuses names the function of the driver."""

import pytest

import usmpy

SIZE = 3_000_001


@pytest.mark.parametrize(
    ("usm_type", "function"), [("host", "cuMemHostAlloc"), ("shared", "cuMemAllocManaged")]
)
def test_the_function_is_named(device, driver, usm_type, function):
    usmpy.trim(device)  # else a block that another test has freed is used again, and the driver is not asked
    with driver.failing(function, 999), pytest.raises(usmpy.UsmError, match=function):
        usmpy.empty(SIZE, dtype="uint8", device=device, usm_type=usm_type)
    assert usmpy.empty(SIZE, dtype="uint8", device=device, usm_type=usm_type).nbytes == SIZE
