"""Contiguous copies and fills that leave the caches: patterns of every size, odd ends, overlaps."""

import numpy as np
import pytest

import usmpy

LARGE = 4 << 20  # bytes from which on the host's processors go past the caches
N = LARGE + 1003


# The others, in software, have no path of their own for large blocks.
pytestmark = pytest.mark.only_on("host-accessible")


@pytest.mark.parametrize("offset", [0, 1, 16, 61])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64", "complex128"])
def test_large_fills(queue, dtype, offset):
    n = LARGE // np.dtype(dtype).itemsize + offset + 77
    x = usmpy.zeros(n + 9, dtype=dtype, queue=queue)
    queue.fill(x[offset : offset + n], 93)
    expected = np.zeros(n + 9, dtype)
    expected[offset : offset + n] = 93
    np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.parametrize("size", [N, 2 * LARGE, 3 * LARGE + 1])
def test_large_copies(queue, size):
    values = np.arange(size, dtype="uint8")
    x = usmpy.asarray(values, queue=queue, copy=True)
    y = usmpy.full(size + 5, 7, dtype="uint8", queue=queue)
    event = queue.memcpy(y[3 : 3 + size], x)
    event.wait()
    assert event.done
    got = y.asnumpy()
    np.testing.assert_array_equal(got[3:-2], values)
    assert got[[0, 1, 2, -2, -1]].tolist() == [7] * 5


@pytest.mark.parametrize("distance", [1, 64, 1 << 20])
@pytest.mark.parametrize("forward", [True, False])
def test_large_copies_that_overlap(queue, distance, forward):
    values = np.random.default_rng(3).integers(0, 256, N + distance, dtype="uint8")
    x = usmpy.asarray(values, queue=queue, copy=True)
    first, second = x[:N], x[distance : distance + N]
    queue.memcpy(*((second, first) if forward else (first, second)))
    expected = values.copy()
    if forward:
        expected[distance:] = values[:N]
    else:
        expected[:N] = values[distance:]
    np.testing.assert_array_equal(x.asnumpy(), expected)


def test_large_blocks_are_in_order(queue):
    """Each is ordered after the one before, also with short work in between."""
    x, y = (usmpy.zeros(N, dtype="uint8", queue=queue) for _ in range(2))
    for i in range(1, 9):
        queue.fill(x, i)
        queue.memcpy(y, x)
        queue.fill(x[:16], 0)
        queue.memcpy(x[:8], y[8:16])
    assert y.asnumpy().tolist()[::4096] == [8] * len(range(0, N, 4096))
    assert x.asnumpy()[:17].tolist() == [8] * 8 + [0] * 8 + [8]
