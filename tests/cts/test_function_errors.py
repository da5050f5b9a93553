"""The errors of the elementwise functions are within the bounds of csrc/kernels/operations.py."""

import pytest
from accuracy import FUNCTIONS, TYPES, bound, is_defined, largest_error, with_kernels

POINTS = 40  # docs/make_numerics.py looks at thousands
CASES = [(name, dtype) for name in FUNCTIONS for dtype in TYPES if is_defined(name, dtype)]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_errors_are_within_the_bounds(backend, name, dtype, queue):
    if dtype in ("float64", "complex128") and not queue.device.has_fp64:
        pytest.skip("no float64")
    assert largest_error(name, dtype, queue, POINTS) <= bound(name, dtype)
    kernels = with_kernels(queue)
    if kernels is not queue:  # the driver's compiler, beside the host's loops
        assert largest_error(name, dtype, kernels, POINTS) <= bound(name, dtype)
