"""Objects that x[...] takes as arrays: lists, truth values, arrays of the host, in reading and writing."""

import layouts
import numpy as np
import pytest
from ids import steady
from together import together

import usmpy

N = np.arange(24, dtype="float32").reshape(2, 3, 4)
KEYS = [
    [0, 1],
    [1],
    [-1, 0, 1],
    [],
    [True, False],
    [[0, 1], [1, 0]],
    True,
    False,
    np.True_,
    range(2),
    np.array([1, 0]),
    np.array([1, 0], "uint8"),
    np.array([[1, 0], [0, 1]])[::-1],
    np.array([[True, False, True], [False, True, False]]),
    np.int32(1),
    (np.int64(1), [2, 0]),
    (slice(None), [0, 2]),
    (0, [0, 2], [1, 1]),
    ([0, 1], slice(1, None), [1, 0]),
    ([[0], [1]], [0, 2]),
    (slice(None), True),
    (0, True),
    (..., False),
    (None, [1, 0]),
    (range(2), (0, 1)),
    (..., np.array([3, 0])),
    ([True, False], [1]),
    (slice(None), np.array([[True, False, False, True]] * 3)),
]


@together("key", KEYS, thin=True)
def test_reading_and_writing(queue, key):
    for kind, x, n in layouts.pairs(N, usmpy, lambda n: usmpy.asarray(n, queue=queue, copy=True)):
        expected, result = n[key], x[key]
        assert result.shape == expected.shape, kind
        assert result.queue is queue
        np.testing.assert_array_equal(result.asnumpy(), expected, kind)
        if kind == "broadcast":
            continue
        values = np.arange(expected.size, dtype="float32").reshape(expected.shape) + 100
        lists = [values.tolist()] if values.size else []  # of no elements they have no shape
        chosen = np.arange(N.size).reshape(N.shape)[key]
        # Of several values for one element a device may keep any.
        arrays = [values, usmpy.asarray(values, queue=queue), *lists]
        for value in (-1, *(arrays if np.unique(chosen).size == chosen.size else [])):
            y, m = x.copy(order="K"), n.copy()
            y[key] = value
            m[key] = value.asnumpy() if isinstance(value, usmpy.USMArray) else value
            np.testing.assert_array_equal(y.asnumpy(), m, kind)


@pytest.mark.parametrize(
    "key",
    [
        "a",
        {0},
        {0: 1},
        1.5,
        [1.5],
        ["a"],
        [7],
        np.array([0.5]),
        object(),
        [True] * 5,
        ([0, 1], [0, 1, 2]),
        np.array(["a"]),
    ],
    ids=steady,
)
def test_invalid_indices(queue, key):
    x = usmpy.asarray(N, queue=queue, copy=True)
    for call in (lambda: x[key], lambda: x.__setitem__(key, 0)):
        with pytest.raises((IndexError, TypeError, BufferError)):
            call()
    np.testing.assert_array_equal(x.asnumpy(), N)


def test_arrays_of_the_host_may_change_as_soon_as_the_call_returns(queue):
    x = usmpy.arange(1000, dtype="int32", queue=queue)
    index = np.arange(0, 1000, 7)
    expected = index.copy()
    y = x[index]
    x[index] = 0
    index[...] = 1
    assert y.tolist() == expected.tolist()
    assert not x[expected.tolist()].any()


def test_arrays_of_other_queues_are_refused(queue):
    x = usmpy.arange(5, queue=usmpy.Queue(queue.device))
    index = usmpy.asarray([0, 1], queue=queue)
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"index = index\.to_device\(x\.queue\)"):
        x[index]


@pytest.mark.parametrize("key", [True, False, (True, 1), (1, True), (False, 1)], ids=repr)
def test_a_bool_is_no_index_of_an_axis(queue, key):
    n = np.arange(4)
    x = usmpy.asarray(n, queue=queue, copy=True)
    expected = n[key]
    assert x[key].shape == expected.shape
    assert x[key].tolist() == expected.tolist()
    n[key] = 7
    x[key] = 7
    assert x.tolist() == n.tolist()


class IndexOf:
    """An index that is no int."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Word(str):
    """A str that is an index too."""

    def __index__(self):
        return 1


@pytest.mark.parametrize("key", [Word("a"), IndexOf("a")], ids=["a str", "no int"])
def test_a_key_that_is_no_index_after_all(queue, key):
    x = usmpy.arange(4, queue=queue)
    with pytest.raises(IndexError, match="is not an index"):
        x[key, ...]


def test_an_index_beyond_any_array(queue):
    x = usmpy.arange(4, queue=queue)
    for key in (2**70, -(2**70)):
        with pytest.raises(IndexError):
            x[key]
        with pytest.raises(IndexError):
            x[key, ...]
