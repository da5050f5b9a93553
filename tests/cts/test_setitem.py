"""__setitem__: broadcasting, casting, overlap with itself, what follows the array's dtype."""

import ctypes
import mmap
import threading

import numpy as np
import pytest
from ids import steady
from together import together

import usmpy

s_ = np.s_
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
STANDARD = ["bool", *INTEGERS, *FLOATS, *COMPLEX]

KEYS = [
    0,
    (1, 2),
    s_[:, 1],
    s_[..., 0],
    s_[1:3],
    s_[::-1],
    s_[::2, ::-2],
    ...,
    s_[2:2],
    s_[None, :, 1:2],
    s_[:, None, 0],
    (),
]


def pair(queue, shape=(4, 5), dtype="int32"):
    n = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n.copy()


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_number_goes_everywhere(queue, key):
    x, n = pair(queue)
    x[key] = n[key] = 77
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_an_array_of_the_same_shape(queue, key):
    x, n = pair(queue)
    value = (-1 - np.arange(n[key].size, dtype="int32")).reshape(n[key].shape)
    x[key] = usmpy.asarray(value, queue=queue)
    n[key] = value
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_foreign_arrays_and_lists(queue, key):
    if queue != usmpy.Device("host:cpu:0").queue:
        queue = usmpy.Device("host:cpu:0").queue  # where imported host memory lands
    x, n = pair(queue)
    value = (-1 - np.arange(n[key].size, dtype="int32")).reshape(n[key].shape)
    x[key] = value
    n[key] = value
    np.testing.assert_array_equal(x.asnumpy(), n)
    y, m = pair(queue, dtype="int64")
    if value.size:  # an empty list has no second dimension
        y[key] = value.tolist()
        m[key] = value.tolist()
    np.testing.assert_array_equal(y.asnumpy(), m)


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        (..., (5,)),
        (..., (1, 5)),
        (..., (4, 1)),
        (..., ()),
        (..., (1, 1, 5)),
        (s_[1], (1, 1, 5)),
        (s_[:, 0], (1,)),
        (s_[2:2], (7, 0, 5)[1:]),
    ],
)
def test_broadcasting(queue, key, shape):
    x, n = pair(queue)
    value = np.arange(100, 100 + np.prod(shape, dtype=int), dtype="int32").reshape(shape)
    x[key] = usmpy.asarray(value, queue=queue)
    n[key] = value
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize(
    ("key", "shape"), [(..., (4,)), (..., (2, 4, 5)), (0, (4,)), (s_[:, 0], (5,)), ((0, 0), (2,))]
)
def test_shapes_that_do_not_broadcast(queue, key, shape):
    x, n = pair(queue)
    with pytest.raises(ValueError, match="does not broadcast"):
        x[key] = usmpy.zeros(shape, dtype="int32", queue=queue)
    np.testing.assert_array_equal(x.asnumpy(), n)


# Overlap: as if the value had been copied first.


@pytest.mark.parametrize(
    ("to", "of"),
    [
        (s_[1:], s_[:-1]),
        (s_[:-1], s_[1:]),
        (s_[::-1], s_[:]),
        (s_[:], s_[::-1]),
        (s_[2:], s_[:-2]),
        (s_[:300:3], s_[:100]),
        (s_[:100], s_[:300:3]),
        (s_[200:100:-1], s_[100:300:2]),
        (s_[:], s_[0:1]),
        (s_[:], s_[-1:]),
        (s_[:], s_[:]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", ["uint8", "int32", "complex128"])
def test_a_value_that_overlaps_its_target(queue, to, of, dtype):
    for length in (1, 2, 3, 300, 70_001):
        x, n = pair(queue, (length,), dtype)
        value = n[of].copy()
        if value.shape in (n[to].shape, (1,)):  # else the slices of this pair need more
            x[to] = x[of]
            n[to] = value
            np.testing.assert_array_equal(x.asnumpy(), n)


def test_a_matrix_that_overlaps_its_transpose(queue):
    x, n = pair(queue, (300, 300))
    x[...] = x.T
    np.testing.assert_array_equal(x.asnumpy(), n.T)
    x[:, 1:] = x[:, :-1]
    m = n.T.copy()
    m[:, 1:] = m[:, :-1].copy()
    np.testing.assert_array_equal(x.asnumpy(), m)
    x[1:] = usmpy.broadcast_to(x[0], (299, 300))
    m[1:] = m[0]
    np.testing.assert_array_equal(x.asnumpy(), m)


# Kinds of numbers.

# None: refused. The array keeps its dtype; a scalar follows it, if its kind is not above the array's.
KIND = {"bool": 0, **dict.fromkeys(INTEGERS, 1), **dict.fromkeys(FLOATS, 2), **dict.fromkeys(COMPLEX, 3)}


@together("dtype", STANDARD)
@pytest.mark.parametrize(("scalar", "kind"), [(True, 0), (1, 1), (1.5, 2), (1.5 + 2j, 3)], ids=repr)
def test_scalars_follow_the_array(queue, dtype, scalar, kind):
    x = usmpy.zeros(3, dtype=dtype, queue=queue)
    values = [scalar, np.asarray(scalar), np.asarray(scalar)[()]]
    for value in values:
        if kind > KIND[dtype] and (kind, dtype) != (1, "bool"):
            with pytest.raises(TypeError, match=dtype):
                x[1] = value
            assert x.asnumpy().tolist() == [0, 0, 0]
        else:
            x[1] = value
            n = np.zeros(3, dtype)
            n[1] = value
            np.testing.assert_array_equal(x.asnumpy(), n)
            x[1] = 0 if KIND[dtype] else False
    assert x.dtype == dtype


@together("dtype", STANDARD)
@pytest.mark.parametrize(
    ("values", "kind"), [([True, False], 0), ([3, 0], 1), ([1.5, True], 2), ([1, 2j], 3)]
)
def test_lists_of_scalars_follow_the_array_too(queue, dtype, values, kind):
    x = usmpy.ones((2, 2), dtype=dtype, queue=queue)
    if kind > KIND[dtype]:
        with pytest.raises(OverflowError if (kind, dtype) == (1, "bool") else TypeError, match=dtype):
            x[...] = values
        return
    x[...] = values
    np.testing.assert_array_equal(x.asnumpy(), np.asarray([values, values], dtype))
    x[:, 2:] = [[], []]
    x[:, :1] = [[values[0]], (values[1],)]
    np.testing.assert_array_equal(x[:, 0].asnumpy(), np.asarray(values, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_must_fit(queue, dtype):
    info = np.iinfo(dtype)
    x = usmpy.zeros(2, dtype=dtype, queue=queue)
    x[0], x[1] = int(info.min), int(info.max)
    assert x.tolist() == [info.min, info.max]
    for value in (int(info.min) - 1, int(info.max) + 1, 2**100, -(2**100)):
        with pytest.raises(OverflowError, match=dtype):
            x[0] = value
    assert x.tolist() == [info.min, info.max]


def test_0_and_1_are_truth_values(queue):
    x = usmpy.zeros(4, dtype="bool", queue=queue)
    x[1], x[2:] = 1, [0, 1]
    assert x.tolist() == [False, True, False, True]
    assert usmpy.asarray([1, 0, True], dtype="?", queue=queue).tolist() == [True, False, True]
    assert usmpy.full(2, 1, dtype=bool, queue=queue).tolist() == [True, True]
    for value in (2, -1, 2**100):
        with pytest.raises(OverflowError, match=r"does not fit into dtype bool; .*0 and 1.*x != 0"):
            x[0] = value
    assert x.tolist() == [False, True, False, True]


def test_numbers_of_ctypes_are_numbers(queue):
    x = usmpy.zeros(3, dtype="int32", queue=queue)
    x[1] = ctypes.c_int(7)
    x[2:] = ctypes.c_uint8(9)
    assert x.tolist() == [0, 7, 9]
    assert (x == ctypes.c_int64(9)).tolist() == [False, False, True]
    assert usmpy.where(x == 0, ctypes.c_float(0.5), x.astype("float32")).tolist() == [0.5, 7, 9]
    assert usmpy.full(1, ctypes.c_float(1.5), queue=queue).tolist() == [1.5]


@pytest.mark.parametrize("source", STANDARD)
def test_casts_are_those_of_the_same_kind(queue, source):
    """As copyto's are, and NumPy's."""
    value = np.asarray([0, 1], source)
    for target in STANDARD:
        x = usmpy.zeros(2, dtype=target, queue=queue)
        if np.can_cast(source, target, "same_kind"):
            x[...] = usmpy.asarray(value, queue=queue)
            np.testing.assert_array_equal(x.asnumpy(), value.astype(target))
        else:
            with pytest.raises(TypeError, match=f"{source}.*same_kind.*{target}"):
                x[...] = usmpy.asarray(value, queue=queue)
            assert not x.asnumpy().any()


# Order, places, refusals.


def test_an_assignment_is_asynchronous_and_ordered(queue):
    gate = threading.Event()
    x = usmpy.zeros(1000, dtype="int32", queue=queue)
    queue.host_task(lambda x: gate.wait(60), x)
    x[...] = 1
    x[10:20] = 2
    x[500:] = x[:500]
    gate.set()
    n = np.ones(1000, "int32")
    n[10:20] = n[510:520] = 2
    np.testing.assert_array_equal(x.asnumpy(), n)


def test_a_foreign_value_may_change_as_soon_as_the_assignment_returns():
    queue = usmpy.Device("host:cpu:0").queue
    x = usmpy.zeros(100_000, dtype="int64", queue=queue)
    value = np.arange(100_000)
    for _ in range(20):
        x[...] = value
        value += 1
        assert x[0].item() == value[0] - 1
        assert x[-1].item() == value[-1] - 1


@pytest.mark.parametrize("shape", [(3,), (5, 7), (400, 300)])
def test_values_of_other_places(device, queue, shape):
    """It takes two places, as copyto does: other queues, the host, other libraries' memory."""
    value = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    keys = [..., slice(None), np.arange(shape[0]), [*range(shape[0])], usmpy.arange(shape[0], queue=queue)]
    makers = (
        lambda: usmpy.asarray(value, queue=usmpy.Queue(device), copy=True),
        lambda: usmpy.asarray(value, device="host", copy=True),
        lambda: usmpy.asarray(value.T.copy(), queue=usmpy.Queue(device), copy=True).transpose(),
        lambda: value,
        lambda: value[::-1][::-1],
        value.tolist,
    )
    for at, make in enumerate(makers):
        for key in keys if value.size < 1000 else [keys[at % len(keys)]]:
            x = usmpy.zeros(shape, dtype="float32", queue=queue)
            x[key] = make()
            np.testing.assert_array_equal(x.asnumpy(), value)
            assert x.queue == queue
        mask = value % 3 == 0
        x, n = usmpy.zeros(shape, dtype="float32", queue=queue), np.zeros(shape, "float32")
        x[mask], n[mask] = usmpy.asarray(make(), queue=usmpy.Queue(device))[mask], value[mask]
        np.testing.assert_array_equal(x.asnumpy(), n)
    x, y = usmpy.zeros(3, queue=queue), usmpy.zeros(3, device="host")
    x[1:], y[1:] = usmpy.ones(2, device="host"), usmpy.ones(2, queue=queue)
    assert x.tolist() == y.tolist() == [0, 1, 1]


def test_values_of_other_queues_are_read_after_pending_writes(device, queue):
    gate = threading.Event()
    other = usmpy.Queue(device)
    x, y = usmpy.zeros(1000, queue=queue), usmpy.zeros(1000, queue=other)
    other.host_task(lambda: gate.wait(60))
    y[...] = 1
    x[...] = y
    y[...] = 2
    gate.set()
    assert set(x.tolist()) == {1}
    assert set(y.tolist()) == {2}


@pytest.mark.parametrize("value", ["a", None, object(), {}, [1, [2]], [None]], ids=steady)
def test_invalid_values(queue, value):
    x = usmpy.zeros(3, queue=queue)
    with pytest.raises((TypeError, ValueError)):
        x[...] = value
    assert x.tolist() == [0, 0, 0]


def test_a_value_for_no_elements(queue):
    x = usmpy.zeros((0, 3), dtype="int8", queue=queue)
    x[...] = 1
    x[...] = usmpy.zeros(3, dtype="int8", queue=queue)
    with pytest.raises(OverflowError):
        x[...] = 1000


@pytest.mark.parametrize("key", [0, (0, 1), slice(1), (..., 1), "mask", "numbers"], ids=str)
def test_values_of_another_queue_and_device(device, queue, key):
    n = np.arange(6, dtype="int32").reshape(2, 3)
    keys = {"mask": n > 2, "numbers": np.array([1, 0])}
    for other in (usmpy.Queue(device), usmpy.Queue("host")):
        x, m = usmpy.asarray(n, queue=queue, copy=True), n.copy()
        own = usmpy.asarray(keys[key], queue=queue, copy=True) if key in ("mask", "numbers") else key
        m[keys.get(key, key) if isinstance(key, str) else key] = 70
        x[own] = usmpy.asarray(70, dtype="int32", queue=other)
        assert x.tolist() == m.tolist()


def test_a_value_whose_memory_is_closed(queue):
    x = usmpy.zeros(4, queue=queue)
    closed = mmap.mmap(-1, 8)
    closed.close()
    with pytest.raises(BufferError, match="closed"):
        x[...] = closed
    assert x.tolist() == [0] * 4
