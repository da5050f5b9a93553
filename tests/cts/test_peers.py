"""The kernels of numba-dpex, numba-cuda and cupyx.jit give NumPy's results on every backend."""

import collections

import numpy as np
import pytest
from python_kernels import cases, peers_cupy_jit, peers_dpex, peers_numba_cuda

import usmpy

pytestmark = pytest.mark.not_sanitized("each case builds a program: test_python_launches.py has the C code")

PEERS = {"dpex": peers_dpex, "numba_cuda": peers_numba_cuda, "cupy_jit": peers_cupy_jit}
CASES = [
    pytest.param(case, id=f"{peer}-{case.name}") for peer, module in PEERS.items() for case in module.CASES
]
WIDE = {np.dtype("float64"), np.dtype("complex128")}


def range_of(given):
    return usmpy.NdRange(*given) if cases.is_nd_range(given) else usmpy.Range(given)


def on_device(argument, queue):
    """The argument of the launch, and the array whose contents are compared."""
    if isinstance(argument, cases.Local):
        return usmpy.LocalMemory(argument.n, argument.dtype), None
    numbers = cases.numbers_of(argument)
    if numbers is None:
        return argument, None
    array = usmpy.asarray(numbers, queue=queue, copy=True)
    return (argument.view(array) if isinstance(argument, cases.View) else array), array


@pytest.mark.parametrize("case", CASES)
def test_results(device, queue, case):
    given, arguments = case.make(np.random.default_rng(5))
    arrays = [numbers for numbers in map(cases.numbers_of, arguments) if numbers is not None]
    if not device.has_fp64 and any(array.dtype in WIDE for array in arrays):
        pytest.skip("the device lacks double precision")
    placed = [on_device(argument, queue) for argument in arguments]
    kernel = usmpy.kernel(case.function)
    kernel[range_of(given)](*[argument for argument, _ in placed])
    results = [None if array is None else array.asnumpy() for _, array in placed]
    cases.check(case, arguments, results)


def covered(module):
    """The peer's kernels that usmpy runs and refuses, of those that it promises to run."""
    promised = getattr(module, "PROMISED", ("",))
    unsupported = {"::".join(key) for key in module.UNSUPPORTED}
    supported = {name for name in cases.sources(module.CASES) if name.startswith(promised)} - unsupported
    return supported, {name for name in map("::".join, module.REFUSED) if name.startswith(promised)}


@pytest.mark.parametrize("peer", PEERS)
def test_the_lists_are_consistent(peer):
    module = PEERS[peer]
    counts = collections.Counter(case.name for case in module.CASES)
    assert [name for name, count in counts.items() if count > 1] == []
    supported, refused = covered(module)
    assert supported.isdisjoint(refused)
    assert module.REFUSED.keys().isdisjoint(module.UNSUPPORTED)
    assert all(name.count("::") == 1 for name in cases.sources(module.CASES))


def test_at_least_95_percent_are_covered():
    supported, refused = (sum(map(len, sets)) for sets in zip(*map(covered, PEERS.values()), strict=True))
    assert supported >= 0.95 * (supported + refused), f"{supported} of {supported + refused}"
