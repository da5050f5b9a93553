"""What the tests of ReductionKernel and ScanKernel share."""

import numpy as np

import usmpy

OPTIONS = {}  # of kernels that a test makes: see `quick_options` in cts/conftest.py


def on(queue, array):
    return usmpy.asarray(array, queue=queue, copy=True)


def twice(kernel, *args, **keywords):
    """The result of a call, and of the next one, which repeats the launches that the first one recorded."""
    first, second = kernel(*args, **keywords), kernel(*args, **keywords)
    for one, other in zip(*((x if isinstance(x, tuple) else (x,)) for x in (first, second)), strict=True):
        assert one.asnumpy().tobytes() == other.asnumpy().tobytes()
    return second


def whole(shape, dtype="float32"):
    """Whole numbers whose sums are exact."""
    return np.random.default_rng(5).integers(0, 9, size=shape).astype(dtype)
