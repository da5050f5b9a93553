"""take and take_along_axis: against NumPy, on every layout; indices that are wrong."""

import numpy as np
import pytest

import usmpy

TYPES = ["bool", "int8", "uint16", "float32", "int64", "complex128"]
INDICES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [(7,), (4, 8), (5, 6), (3, 4, 5), (2, 1, 3, 2)]


def filled(queue, shape, dtype="float32"):
    n = (np.arange(np.prod(shape)) % 100).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n


def same(x, n):
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    np.testing.assert_array_equal(x.asnumpy(), n)


def indices(rng, length, shape, dtype):
    return rng.integers(0 if dtype[0] == "u" else -length, length, shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_take_along_every_axis(queue, dtype):
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        x, n = filled(queue, shape, dtype)
        for axis, length in enumerate(shape):
            i = indices(rng, length, 9, "int64")
            k = usmpy.asarray(i, queue=queue)
            same(usmpy.take(x, k, axis=axis), np.take(n, i, axis=axis))
            same(usmpy.take(x, usmpy.flip(k), axis=axis - n.ndim), np.take(n, i[::-1], axis=axis))
            turned = usmpy.permute_dims(x, tuple(range(n.ndim))[::-1])
            same(usmpy.take(turned, k, axis=n.ndim - 1 - axis), np.take(n.T, i, axis=n.ndim - 1 - axis))


@pytest.mark.parametrize("dtype", INDICES)
def test_every_type_of_index(queue, dtype):
    rng = np.random.default_rng(2)
    x, n = filled(queue, (6, 5))
    i = indices(rng, 5, 11, dtype)
    same(usmpy.take(x, usmpy.asarray(i, queue=queue), axis=1), np.take(n, i.astype("int64"), axis=1))
    i = indices(rng, 5, (6, 3), dtype)
    expected = np.take_along_axis(n, i.astype("int64"), axis=1)
    same(usmpy.take_along_axis(x, usmpy.asarray(i, queue=queue), axis=1), expected)


def test_indices_of_several_dimensions_replace_the_axis(queue):
    x, n = filled(queue, (3, 4, 2))
    i = np.array([[0, -1, 2], [3, 3, 1]])
    k = usmpy.asarray(i, queue=queue)
    same(usmpy.take(x, k, axis=1), np.take(n, i, axis=1))
    same(usmpy.take(x, usmpy.reshape(k[0, 0], ()), axis=1), np.take(n, i[0, 0], axis=1))


def test_take_along_axis_broadcasts_beside_the_axis(queue):
    x, n = filled(queue, (3, 1, 5))
    i = np.array([[[4, 0]], [[-1, 2]], [[3, 3]]])
    for key, other in ((np.s_[:], (3, 4, 2)), (np.s_[:1], (1, 4, 2))):
        k = np.broadcast_to(i[key], other).copy()
        taken = usmpy.take_along_axis(x, usmpy.asarray(k, queue=queue))
        same(taken, np.take_along_axis(np.broadcast_to(n, (3, 4, 5)), np.broadcast_to(k, (3, 4, 2)), axis=-1))


def test_more_axes_than_the_kernels_take(queue):
    shape = (2, 3, 2, 2, 3, 2, 2, 2)
    n = np.arange(np.prod(shape)).reshape(shape)
    x = usmpy.asarray(n, queue=queue)
    order = (3, 0, 5, 2, 7, 4, 1, 6)
    x, n = usmpy.permute_dims(x, order), n.transpose(order)
    i = np.array([1, 0, -1, 1])
    for axis in (0, 3, 7):
        same(usmpy.take(x, usmpy.asarray(i, queue=queue), axis=axis), np.take(n, i, axis=axis))


def test_memory_that_is_not_aligned(queue):
    raw = bytearray(8 * 7 + 3)
    n = np.frombuffer(raw, "float64", 7, 3)
    n[:] = range(7)
    x = usmpy.asarray(raw, queue=queue)[3:]
    assert x.size == 56  # bytes: views of other types come in from NumPy
    i = usmpy.asarray([6, 0, 3], queue=queue)
    same(usmpy.take(usmpy.asarray(n, queue=queue), i), n[[6, 0, 3]])


def test_nothing_is_taken_of_nothing(queue):
    x, n = filled(queue, (3, 0))
    none = usmpy.zeros(0, dtype="int64", queue=queue)
    same(usmpy.take(x, none, axis=0), np.take(n, np.zeros(0, "int64"), axis=0))
    same(usmpy.take(x, usmpy.asarray([1, 2], queue=queue), axis=0), n[[1, 2]])
    same(usmpy.take(x, none, axis=1), np.zeros((3, 0), "float32"))
    with pytest.raises(IndexError, match=r"length 0|out of range"):
        usmpy.take(x, usmpy.asarray([0], queue=queue), axis=1)


@pytest.mark.parametrize("bad", [5, -6, 2**40, -(2**63)])
@pytest.mark.parametrize("function", [usmpy.take, usmpy.take_along_axis])
def test_an_index_out_of_range(backend, queue, function, bad):
    x, _ = filled(queue, 5)
    i = usmpy.asarray([0, bad, 1], queue=queue, usm_type="host" if queue.device.has_usm_host else "device")
    i.wait()
    if i.usm_type == "host" or "host-accessible" in backend.tags:
        with pytest.raises(IndexError, match=r"out of range.*length 5"):
            function(x, i, axis=0)


def test_kernels_never_read_beyond_the_array(queue):
    """Indices that the host does not read are taken for the nearest element there is."""
    x, n = filled(queue, 5)
    i = usmpy.asarray([0, 99, -99, 2**62, -(2**63)], queue=queue)
    try:
        taken = usmpy.take(x, i)
    except IndexError:
        return  # the host reads them
    same(taken, n[[0, 4, 0, 4, 0]])


def test_bad_arguments(queue):
    x, _ = filled(queue, (2, 3))
    i = usmpy.asarray([0, 1], queue=queue)
    with pytest.raises(ValueError, match="axis is None"):
        usmpy.take(x, i)
    with pytest.raises(IndexError, match="axis"):
        usmpy.take(x, i, axis=2)
    with pytest.raises(TypeError, match="indices has dtype float32"):
        usmpy.take(x, usmpy.asarray([0.0], dtype="float32", queue=queue), axis=0)
    for wrong in ({0: 1}, {0}, "01", None, object()):
        with pytest.raises(TypeError, match="indices is a"):
            usmpy.take(x, wrong, axis=0)
    with pytest.raises(TypeError, match="indices has dtype bool"):
        usmpy.take(x, [True, False], axis=0)
    with pytest.raises(TypeError, match=r"x is a numpy\.ndarray"):
        usmpy.take(np.zeros(3), i)
    with pytest.raises(ValueError, match="dimensions"):
        usmpy.take_along_axis(x, i)
    with pytest.raises(ValueError, match="broadcast"):
        usmpy.take_along_axis(x, usmpy.zeros((3, 1), dtype="int32", queue=queue))
    other = usmpy.zeros(2, dtype="int64", queue=usmpy.Queue(queue.device, context=queue.context))
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"(?s)^take: .*x: .*indices: "):
        usmpy.take(x, other, axis=0)


@pytest.mark.parametrize("make", [list, tuple, np.asarray, lambda i: np.asarray(i, "uint8")[::1], range])
def test_indices_that_are_no_usmarrays(queue, make):
    x, n = filled(queue, (4, 5))
    index = range(1, 4) if make is range else make([3, 1, 2])
    same(usmpy.take(x, index, axis=1), n.take(np.asarray(index), axis=1))
    same(x.take(index, axis=0), n.take(np.asarray(index), axis=0))
    along = np.asarray([[1], [0], [3], [2]])
    same(usmpy.take_along_axis(x, along.tolist()), np.take_along_axis(n, along, 1))


def test_out(queue):
    x, n = filled(queue, (4, 5))
    out = usmpy.zeros((8, 3), dtype=x.dtype, queue=queue)
    assert usmpy.take(x, [4, 0, 2], axis=1, out=out[::-2]).queue is queue
    np.testing.assert_array_equal(out.asnumpy()[::-2], n[:, [4, 0, 2]])
    usmpy.take(x, [1, 0, 3, 2], axis=0, out=x)  # input and output are the same memory
    same(x, n[[1, 0, 3, 2]])
    with pytest.raises(ValueError, match=r"out has shape \(8, 3\); \(4, 1\) is needed"):
        usmpy.take(x, [0], axis=1, out=out)
    with pytest.raises(TypeError, match="out has dtype bool"):
        usmpy.take(x, [0], axis=1, out=usmpy.zeros((4, 1), dtype=bool, queue=queue))


def test_work_that_is_pending_comes_first(queue):
    x = usmpy.zeros(1 << 16, dtype="int32", queue=queue)
    for value in range(8):
        x[...] = value
        i = usmpy.arange(0, 1 << 16, 64, dtype="int64", queue=queue)
        assert usmpy.take(x, i).tolist() == [value] * 1024


def test_every_index_of_any_layout_is_checked(backend, queue):
    """What lies between the elements of a view is no index."""
    x, n = filled(queue, 5)
    parts = (slice(None, None, 2), slice(1, None, 3), slice(None, None, -2))
    room = np.full((4, 5, 6), 99)
    room[parts] = np.arange(12).reshape(2, 2, 3) % 5
    kind = "host" if queue.device.has_usm_host else "device"
    k = usmpy.asarray(room, queue=queue, usm_type=kind)
    same(usmpy.take(x, k[parts]), np.take(n, room[parts]))
    if kind != "host" and "host-accessible" not in backend.tags:
        return  # kernels take the nearest element
    for place in np.ndindex(2, 2, 3):
        room[parts][place] = 5
        k = usmpy.asarray(room, queue=queue, usm_type=kind)
        with pytest.raises(IndexError, match="out of range"):
            usmpy.take(x, k[parts])
        room[parts][place] = 4


class Index:
    def __index__(self):
        return -1


def test_an_int_is_an_index_of_no_dimensions(queue):
    for shape in SHAPES:
        x, n = filled(queue, shape)
        for axis in range(n.ndim):
            for i in (0, -1, np.int8(1), np.array(0, "uint64"), Index()):
                if i != 1 or shape[axis] > 1:
                    number = int(np.asarray(i)) if not isinstance(i, Index) else -1
                    same(usmpy.take(x, i, axis=axis), np.take(n, number, axis=axis))
                    same(x.take(i, axis=axis), np.take(n, number, axis=axis))
            with pytest.raises(IndexError, match="out of range"):
                usmpy.take(x, shape[axis], axis=axis)
    for wrong in (1.5, True, "1", None, object()):
        with pytest.raises(TypeError, match="indices"):
            usmpy.take(x, wrong, axis=0)
