"""Indexing with arrays of integers, and what x[...] takes as one, against NumPy: alone or with slices."""

import hypothesis
import hypothesis.strategies as st
import layouts
import numpy as np
import pytest
from hypothesis.extra import numpy as hnp
from ids import steady
from together import together

import usmpy

s_ = np.s_
ALL = slice(None)
PAIR, BACK = np.array([0, 2]), np.array([-1, 0, 1])
GRID = np.array([[0], [1]])
KEYS = [
    PAIR,
    GRID,
    np.array([], np.int64),
    (PAIR,),
    (PAIR, PAIR),
    (PAIR, PAIR, PAIR),
    (GRID, BACK),
    (BACK, 1),
    (1, BACK, -1),
    (..., BACK),
    (PAIR, ...),
    (ALL, PAIR),
    (ALL, PAIR, s_[1:3]),
    (PAIR, ALL, PAIR),
    (0, ALL, PAIR),
    (ALL, GRID, BACK),
    (None, ALL, PAIR),
    (PAIR, None, PAIR),
    (s_[::-1], PAIR, s_[::2]),
]


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def ours(put, key):
    items = key if isinstance(key, tuple) else (key,)
    items = tuple(put(item) if isinstance(item, np.ndarray) else item for item in items)
    return items if isinstance(key, tuple) else items[0]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_getitem_and_setitem(put, key):
    values = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    expected = values[key]
    x, copy = put(values), values.copy()
    result = x[ours(put, key)]
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.asnumpy(), expected)
    x[ours(put, key)], copy[key] = -1, -1
    np.testing.assert_array_equal(x.asnumpy(), copy)
    new = np.arange(expected.size).reshape(expected.shape) + 1000
    if len(np.unique(expected)) == expected.size:  # else the last of several writes is not said
        x[ours(put, key)], copy[key] = put(new), new
        np.testing.assert_array_equal(x.asnumpy(), copy)
    np.testing.assert_array_equal(x[..., ::-1][ours(put, key)].asnumpy(), copy[..., ::-1][key])


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("index", ["int8", "uint8", "int32", "int64", "uint64"])
def test_types_of_elements_and_indices(put, dtype, index):
    values = np.arange(10).astype(dtype)
    at = np.array([3, 9, 0, 3], index)
    np.testing.assert_array_equal(put(values)[put(at)].asnumpy(), values[at])
    x = put(values)
    x[put(at[:3])] = put(values[:3])
    values[at[:3]] = values[:3].copy()
    np.testing.assert_array_equal(x.asnumpy(), values)


def test_arrays_of_0_dimensions_are_integers(put):
    values = np.arange(12).reshape(3, 4)
    x = put(values)
    assert x[put(1), put(-1)].item() == 7
    np.testing.assert_array_equal(x[put(2)].asnumpy(), values[2])
    np.testing.assert_array_equal(x[put([0, 2]), put(1)].asnumpy(), values[[0, 2], 1])


def test_large_indices(put):
    values = np.arange(100_000, dtype=np.float32)
    at = np.random.default_rng(1).integers(-100_000, 100_000, 150_000)
    np.testing.assert_array_equal(put(values)[put(at)].asnumpy(), values[at])
    wide = values.reshape(1000, 100)
    np.testing.assert_array_equal(put(wide)[put(at[:500] % 1000)].asnumpy(), wide[at[:500] % 1000])


def test_the_source_overlaps_the_destination(put):
    values = np.arange(10)
    x = put(values)
    x[put([0, 1, 2, 3])] = x[3::-1]
    np.testing.assert_array_equal(x.asnumpy(), [3, 2, 1, 0, *range(4, 10)])
    order = put([1, 2, 0])
    order[order] = order
    np.testing.assert_array_equal(order.asnumpy(), [0, 1, 2])


BAD = [
    (IndexError, "index 3 .*out of range for an axis of length 3", [3]),
    (IndexError, "index -4", [0, -4]),
    (IndexError, "index 18446744073709551615", np.array([2**64 - 1], np.uint64)),
    (IndexError, "index 9223372036854775807", [2**63 - 1]),
    (IndexError, "dtype float64; integers and bool", [0.0]),
]


@pytest.mark.parametrize(("error", "match", "index"), BAD)
def test_out_of_range_leaves_the_array_as_it_was(put, error, match, index):
    values = np.arange(12.0).reshape(3, 4)
    x, index = put(values), put(index)
    for key in (index, (index, 0), (slice(None), ..., index[:0]), (0, index)):
        if key is index or (isinstance(key, tuple) and key[0] is index):
            with pytest.raises(error, match=match):
                x[key]
            with pytest.raises(error, match=match):
                x[key] = 1.0
    np.testing.assert_array_equal(x.asnumpy(), values)


def test_bad_input(put, queue):
    x = put(np.arange(12.0).reshape(3, 4))
    one = put([0])
    with pytest.raises(IndexError, match="too many indices: 3"):
        x[one, one, one]
    with pytest.raises(IndexError, match=r"shapes \(2,\) and \(3,\) do not broadcast"):
        x[put([0, 1]), put([0, 1, 2])]
    with pytest.raises(ValueError, match="does not broadcast"):
        x[one] = put(np.ones((2, 4)))
    with pytest.raises(IndexError, match="several Ellipses"):
        x[..., one, ...]
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"index = index\.to_device\(x\.queue\)"):
        x[one.to_device(usmpy.Queue(queue.device))]
    with pytest.raises(IndexError, match="out of range"):
        put(np.zeros((0, 3)))[one]
    assert put(np.zeros((3, 0)))[one].shape == (1, 0)


def drawn(data, values, writable=False):
    return layouts.both(data.draw, values, usmpy, lambda base: usmpy.asarray(base, copy=True), writable)


@hypothesis.given(data=st.data())
@hypothesis.settings(deadline=None, max_examples=60)
def test_random_indices_on_the_host(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    x, values = drawn(data, np.arange(np.prod(shape)).reshape(shape), writable=True)
    n = data.draw(st.integers(1, len(shape)))
    common = data.draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    pairs = [
        drawn(data, data.draw(hnp.arrays("int64", common, elements=st.integers(-length, length - 1))))
        for length in shape[:n]
    ]
    ours, key = (tuple(side) for side in zip(*pairs, strict=True))
    np.testing.assert_array_equal(x[ours].asnumpy(), values[key])
    x[ours] = values[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), values)


def test_axes_of_length_1_need_no_room(queue):
    """Beside the indices there may be a few axes that do not merge: these are none."""
    n = np.arange(1 << 9, dtype="int32").reshape([2, 1] * 9)
    i = np.array([1, 0, 1])
    x, k = (usmpy.asarray(values, queue=queue, copy=True) for values in (n, i))
    np.testing.assert_array_equal(x[(k, ALL) * 9].asnumpy(), n[(i, ALL) * 9])
    x[(k[:2], ALL) * 9] = 7
    n[(i[:2], ALL) * 9] = 7
    np.testing.assert_array_equal(x.asnumpy(), n)


PATIENCE = 60


class Callable:
    """A task without a name, as functools.partial is."""

    def __init__(self, exception=None):
        self.exception = exception

    def __call__(self, *args):
        if self.exception is not None:
            raise self.exception


def test_indices_that_a_failed_task_should_have_written(queue):
    x, index = usmpy.arange(100, queue=queue), usmpy.zeros(100, dtype="int64", queue=queue)
    event = queue.host_task(Callable(ZeroDivisionError()), index)
    with pytest.raises((ZeroDivisionError, usmpy.UsmError)):
        x[index].wait()
    with pytest.raises(ZeroDivisionError):
        event.wait(PATIENCE)


N = np.arange(24, dtype="float32").reshape(2, 3, 4)
ARRAY_LIKES = [
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


@together("key", ARRAY_LIKES, thin=True)
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
