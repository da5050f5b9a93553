"""repeat and tile: against NumPy."""

import threading

import numpy as np
import pytest
from asleep import once_asleep
from together import together

import usmpy


def filled(queue, shape, dtype="int32"):
    n = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n


def same(x, n):
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex128"])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_element_as_often(queue, dtype, count):
    for shape in [(5,), (3, 4), (2, 3, 2)]:
        x, n = filled(queue, shape, dtype)
        for axis in [None, *range(-n.ndim, n.ndim)]:
            same(usmpy.repeat(x, count, axis=axis), np.repeat(n, count, axis=axis))
        turned = usmpy.permute_dims(x, tuple(range(n.ndim))[::-1])
        same(usmpy.repeat(turned, count, axis=0), np.repeat(n.T, count, axis=0))
        same(usmpy.repeat(turned, count), np.repeat(n.T, count))


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32", "uint64"])
def test_each_element_as_often_as_its_count_says(queue, dtype):
    x, n = filled(queue, (4, 3))
    for axis, counts in ((0, [2, 0, 1, 3]), (1, [0, 0, 5]), (1, [4]), (0, [0])):
        k = usmpy.asarray(np.array(counts, dtype), queue=queue)
        same(usmpy.repeat(x, k, axis=axis), np.repeat(n, counts, axis=axis))
        same(usmpy.repeat(x, counts, axis=axis), np.repeat(n, counts, axis=axis))
        same(usmpy.repeat(x, tuple(counts), axis=axis), np.repeat(n, counts, axis=axis))
    k = np.arange(12).astype(dtype)
    same(usmpy.repeat(x, usmpy.asarray(k, queue=queue)[::-1]), np.repeat(n, k[::-1].astype("int64")))


def test_counts_of_a_long_axis(queue):
    rng = np.random.default_rng(3)
    x, n = filled(queue, (5000, 2))
    counts = rng.integers(0, 6, 5000)
    same(usmpy.repeat(x, usmpy.asarray(counts, queue=queue), axis=0), np.repeat(n, counts, axis=0))


def test_bad_repeats(queue):
    x, _ = filled(queue, (4, 3))
    for bad, error, match in (
        (-1, ValueError, "repeats is -1"),
        ([1, -2, 3], ValueError, r"repeats\[1\]"),
        ([1, 2], ValueError, "elements"),
        ([[1, 2, 3]], ValueError, "dimensions"),
        ([1.0, 2.0, 3.0], TypeError, "repeats"),
        (1.5, TypeError, "repeats"),
        (2**62, ValueError, None),
        ([2**62, 2**62, 2**62], ValueError, None),
        (None, TypeError, "repeats"),
    ):
        with pytest.raises(error, match=match):
            usmpy.repeat(x, bad, axis=1)
    with pytest.raises(IndexError, match="axis"):
        usmpy.repeat(x, 2, axis=2)
    other = usmpy.ones(3, dtype="int64", queue=usmpy.Queue(queue.device, context=queue.context))
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"(?s)^repeat: .*x: .*repeats: "):
        usmpy.repeat(x, other, axis=1)


@pytest.mark.parametrize("counts", [2, (), (1,), (3, 2), (2, 1, 3), (0, 2), (2, 1, 1, 2)], ids=repr)
@together("dtype", ["int8", "float32", "complex64"])
def test_tile(queue, counts, dtype):
    for shape in [(), (3,), (2, 3), (1, 4, 1), (0, 2)]:
        x, n = filled(queue, shape, dtype)
        same(usmpy.tile(x, counts), np.tile(n, counts))
        turned = usmpy.permute_dims(x, tuple(range(n.ndim))[::-1])
        same(usmpy.tile(turned, counts), np.tile(n.T, counts))


def test_bad_repetitions(queue):
    x, _ = filled(queue, (4, 3))
    with pytest.raises(ValueError, match="repetitions"):
        usmpy.tile(x, (2, -1))
    with pytest.raises(ValueError, match="2\\*\\*63"):
        usmpy.tile(x, (2**62, 2**62))
    with pytest.raises(TypeError, match="repetitions"):
        usmpy.tile(x, (2.0,))
    with pytest.raises(TypeError, match="x is a list"):
        usmpy.tile([1], 2)


@together("counts", [np.array([1, 2, 3]), np.array([2]), np.array([[1]]), range(3), b"abc", np.zeros(0, int)])
def test_counts_in_an_array_of_another_library_name_the_call_that_brings_them(queue, counts):
    x = usmpy.arange(3, queue=queue)
    with pytest.raises(TypeError, match=r"repeats is .*asarray\(repeats, device=...\)"):
        usmpy.repeat(x, counts)


@together("count", [np.int8(2), np.array(2), usmpy.asarray])
def test_a_count_of_any_library_is_one(queue, count):
    count = count(2, queue=queue) if count is usmpy.asarray else count
    assert usmpy.repeat(usmpy.arange(2, queue=queue), count).tolist() == [0, 0, 1, 1]


def test_counts_that_are_not_there_yet(queue):
    x = usmpy.arange(4, queue=queue)
    counts = usmpy.zeros(4, dtype="int64", queue=queue)
    gate = threading.Event()
    queue.host_task(gate.wait, 60)
    queue.fill(counts, 2)
    once_asleep(gate.set)
    assert usmpy.repeat(x, counts).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
