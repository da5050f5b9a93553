"""Casts that go past the caches by whole lines give what short ones do, for every pair of types."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import usmpy

TYPES = [
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "float32",
    "float64",
]
# A third of all: each type meets four others on both sides.
PAIRS = [
    (source, target)
    for (i, source), (j, target) in itertools.product(enumerate(TYPES), repeat=2)
    if source != target and (i + j) % 3 == 0
]
LARGE = 4 << 20  # bytes of a result that leaves the caches
SHORT = 10_000  # elements of one that does not


def values(dtype, n):
    rng = np.random.default_rng(7)
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.startswith("float"):
        x = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 12, n)).astype(dtype)
        special = [
            np.nan,
            np.inf,
            -np.inf,
            2.0**31,
            -(2.0**31),
            2.0**31 - 128,
            2.0**63,
            -(2.0**63),
            255.5,
            -0.5,
        ]
        x[: len(special)] = x[-len(special) :] = special
        return x
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    x[:3] = x[-3:] = limits.min, limits.max, 1
    return x


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_large_cast_is_many_short_ones(pair):
    source, target = pair
    queue = usmpy.Queue("host")
    n = LARGE // np.dtype(target).itemsize + 1003
    x = usmpy.asarray(values(source, n + 3), queue=queue, copy=True)[3:]  # of no whole line
    whole, parts = (usmpy.zeros(n + 5, dtype=target, queue=queue) for _ in range(2))
    usmpy.copyto(whole[5:], x, casting="unsafe")
    for at in range(0, n, SHORT):
        usmpy.copyto(parts[5 + at : 5 + min(at + SHORT, n)], x[at : at + SHORT], casting="unsafe")
    queue.wait()
    np.testing.assert_array_equal(whole.asnumpy(), parts.asnumpy())
    if not source.startswith("float") or target.startswith("float"):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(whole[5:].asnumpy(), x.asnumpy().astype(target))


@pytest.fixture(scope="module")
def queue():
    return usmpy.Queue("host")


@pytest.mark.not_sanitized("it reserves 8 GiB of addresses")
def test_an_axis_that_is_too_long_to_sort(queue):
    try:
        x = usmpy.empty(2**32, dtype="int8", queue=queue)  # it is never touched
        with pytest.raises(ValueError, match=r"4294967296 elements is too long to sort"):
            usmpy.sort(x)
    except MemoryError:
        pytest.skip("the machine has no 8 GiB")


@pytest.mark.parametrize(("planes", "rows", "width"), [(66, 512, 32), (20, 128, 500)])
def test_large_copies_into_rows_with_gaps(queue, planes, rows, width):
    """Rows of whole lines, and others, past the caches."""
    x = usmpy.arange(planes * rows * width, dtype="float32", queue=queue).reshape(planes, rows, width)
    base = usmpy.zeros((planes, rows + 1, (width + 127) // 64 * 64), dtype="float32", queue=queue)
    for view in (base[:, 1:, 12 : 12 + width], base[:, :-1, :width]):
        view[...] = x
        assert np.array_equal(view.asnumpy(), x.asnumpy())
