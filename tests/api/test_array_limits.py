"""How many axes masks, indices and take allow, on the host: the limits, and what works below them."""

import numpy as np
import pytest

import usmpy

AXES = 10  # more than kernels have for axes that cannot be merged


@pytest.fixture(scope="module")
def queue():
    return usmpy.Queue("host")


@pytest.fixture
def separate(queue):
    """An array, two elements along each axis, of which no two axes can be merged."""
    base = usmpy.arange(3**AXES, dtype="int32", queue=queue).reshape((3,) * AXES)
    return base[(slice(None, 2),) * AXES]


def test_a_mask_of_too_many_axes(queue, separate):
    chosen = usmpy.ones(separate.shape, dtype="bool", queue=queue)
    with pytest.raises(ValueError, match="more than 8 axes that cannot be merged; copy both first"):
        separate[chosen]
    copy = separate.copy()
    assert np.array_equal(copy[chosen].asnumpy(), separate.asnumpy().ravel())


def test_an_index_beside_too_many_axes(queue, separate):
    index = usmpy.asarray([1, 0], queue=queue)
    before = separate.asnumpy()
    with pytest.raises(ValueError, match=r"more than 7 axes beside the index .* copy it first"):
        separate[index] = 0
    assert np.array_equal(separate.asnumpy(), before)
    copy = separate.copy()
    copy[index] = 0
    assert not copy.any().item()


def test_take_from_as_many_axes_as_there_are(queue, separate):
    index = usmpy.asarray([1, 0, 1], queue=queue)
    widest = separate[(None,) * (64 - AXES)]
    with pytest.raises(ValueError, match=r"arrays of 64 dimensions .* copy x first"):
        usmpy.take(widest, index, axis=60)
    taken = usmpy.take(widest.copy(), index, axis=60)
    assert np.array_equal(taken.asnumpy().ravel(), np.take(separate.asnumpy(), [1, 0, 1], 6).ravel())


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_indices_with_gaps_are_checked_row_by_row(queue, dtype):
    x = usmpy.arange(60, queue=queue)
    index = usmpy.arange(60, dtype=dtype, queue=queue).reshape(3, 4, 5)[:, ::2, ::2]
    assert usmpy.take(x, index).tolist() == index.tolist()
    with pytest.raises(IndexError, match="axis of length 50"):
        usmpy.take(x[:50], index)  # the last row alone is outside


def test_a_mask_without_axes_beside_an_index(queue):
    x = usmpy.arange(6, queue=queue)
    index, mask = usmpy.asarray([0, 1], queue=queue), usmpy.asarray(True, queue=queue)
    with pytest.raises(IndexError, match="a mask of 0 dimensions beside other arrays"):
        x[mask, index]
    assert x[True].tolist() == [list(range(6))]
