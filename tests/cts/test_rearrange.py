"""roll, unstack, moveaxis, matrix_transpose, broadcast_arrays, broadcast_shapes, meshgrid, tril, triu."""

import itertools

import numpy as np
import pytest

import usmpy


def filled(queue, shape, dtype="int32"):
    n = np.arange(1, np.prod(shape, dtype=int) + 1).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n


def same(x, n):
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    np.testing.assert_array_equal(x.asnumpy(), n)


def layouts(x, n):
    yield x, n
    yield usmpy.permute_dims(x, tuple(range(n.ndim))[::-1]), n.T
    yield x[::-1], n[::-1]


@pytest.mark.parametrize("dtype", ["bool", "uint16", "float64", "complex128"])
def test_roll(queue, dtype):
    for shape in [(5,), (3, 4), (2, 3, 4)]:
        for x, n in layouts(*filled(queue, shape, dtype)):
            for shift in (0, 1, -2, 7, -(10**30), 10**30):
                few = shift % n.size
                same(usmpy.roll(x, shift), np.roll(n, few))
                for axis in range(-n.ndim, n.ndim):
                    same(usmpy.roll(x, shift, axis=axis), np.roll(n, shift % n.shape[axis], axis=axis))


def test_roll_of_several_axes(queue):
    x, n = filled(queue, (2, 3, 4, 2, 3))
    for shift, axis in [((1, 2), (0, 2)), (1, (1, -1)), ((1, 1, 2), (0, 0, 1)), ((1,) * 5, (0, 1, 2, 3, 4))]:
        same(usmpy.roll(x, shift, axis=axis), np.roll(n, shift, axis=axis))
    same(usmpy.roll(x, (1, 1), axis=2), np.roll(n, 2, axis=2))
    empty, none = filled(queue, (0, 3))
    same(usmpy.roll(empty, 2, axis=0), none)
    same(usmpy.roll(empty, 2), none)
    with pytest.raises(ValueError, match="must be equal"):
        usmpy.roll(x, (1, 2), axis=(0, 1, 2))
    with pytest.raises(IndexError, match="axis"):
        usmpy.roll(x, 1, axis=5)
    with pytest.raises(TypeError, match="shift"):
        usmpy.roll(x, 1.0, axis=0)
    with pytest.raises(TypeError, match="shift"):
        usmpy.roll(x, (1, 2))


def test_unstack_gives_views(queue):
    x, n = filled(queue, (2, 3, 4))
    for axis in range(-3, 3):
        parts = usmpy.unstack(x, axis=axis)
        assert type(parts) is tuple
        for part, expected in zip(parts, np.moveaxis(n, axis, 0), strict=True):
            same(part, expected)
    usmpy.unstack(x)[1][...] = 0
    assert not x.asnumpy()[1].any()
    assert usmpy.unstack(x[:0]) == ()
    assert [part.shape for part in usmpy.unstack(x[:, :0])] == [(0, 4), (0, 4)]
    with pytest.raises(ValueError, match="0 dimensions"):
        usmpy.unstack(usmpy.asarray(1, queue=queue))


def test_moveaxis_and_matrix_transpose(queue):
    x, n = filled(queue, (2, 3, 4))
    for source, destination in itertools.product(range(-3, 3), repeat=2):
        same(usmpy.moveaxis(x, source, destination), np.moveaxis(n, source, destination))
    for source, destination in itertools.product(itertools.permutations(range(3), 2), repeat=2):
        same(usmpy.moveaxis(x, source, destination), np.moveaxis(n, source, destination))
    same(usmpy.matrix_transpose(x), np.matrix_transpose(n))
    assert usmpy.moveaxis(x, 0, -1).data_ptr == usmpy.matrix_transpose(x).data_ptr == x.data_ptr
    with pytest.raises(ValueError, match="repeated"):
        usmpy.moveaxis(x, (0, 0), (1, 2))
    with pytest.raises(ValueError, match="must be equal"):
        usmpy.moveaxis(x, (0, 1), 2)
    with pytest.raises(IndexError, match="source"):
        usmpy.moveaxis(x, 3, 0)
    with pytest.raises(ValueError, match="2"):
        usmpy.matrix_transpose(x[0, 0])


def test_broadcast_arrays(queue):
    a, b = filled(queue, (3, 1)), filled(queue, (4,), "float32")
    for view, expected in zip(
        usmpy.broadcast_arrays(a[0], b[0]), np.broadcast_arrays(a[1], b[1]), strict=True
    ):
        same(view, expected)
        assert not view.flags.writable
    assert usmpy.broadcast_arrays() == ()
    assert usmpy.broadcast_arrays(a[0])[0].flags.writable
    with pytest.raises(ValueError, match="broadcast"):
        usmpy.broadcast_arrays(a[0], filled(queue, (2, 3, 2))[0][:, :2])
    other = usmpy.ones(4, queue=usmpy.Queue(queue.device, context=queue.context), dtype="float32")
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"(?s)^broadcast_arrays: .*arrays\[1\]"):
        usmpy.broadcast_arrays(a[0], other)


def test_broadcast_shapes():
    assert usmpy.broadcast_shapes() == ()
    assert usmpy.broadcast_shapes(3, (2, 1), [1]) == (2, 3)
    assert usmpy.broadcast_shapes((0, 1), (1, 4)) == (0, 4)
    with pytest.raises(ValueError, match="broadcast"):
        usmpy.broadcast_shapes((2, 3), (3, 2))
    with pytest.raises(ValueError, match="lengths"):
        usmpy.broadcast_shapes((2, -1))
    with pytest.raises(TypeError, match="shapes"):
        usmpy.broadcast_shapes("ab")


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(queue, indexing):
    pairs = [filled(queue, (n,)) for n in (3, 4, 2)]
    for n in range(4):
        ours = usmpy.meshgrid(*[x for x, _ in pairs[:n]], indexing=indexing)
        for x, expected in zip(ours, np.meshgrid(*[a for _, a in pairs[:n]], indexing=indexing), strict=True):
            same(x, expected)
            assert x.flags.writable
    with pytest.raises(ValueError, match="indexing"):
        usmpy.meshgrid(indexing="yx")
    with pytest.raises(ValueError, match="dimensions"):
        usmpy.meshgrid(usmpy.zeros((2, 2), dtype="float32", queue=queue))
    with pytest.raises(ValueError, match="dtype"):
        usmpy.meshgrid(pairs[0][0], usmpy.zeros(2, dtype="float32", queue=queue))
    other = usmpy.ones(4, queue=usmpy.Queue(queue.device, context=queue.context), dtype="int32")
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"(?s)^meshgrid: .*arrays\[1\]"):
        usmpy.meshgrid(pairs[0][0], other)


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(queue, name, dtype):
    ours, theirs = getattr(usmpy, name), getattr(np, name)
    for shape in [(1, 1), (3, 5), (5, 3), (2, 4, 4), (2, 2, 3, 4), (0, 3), (3, 0)]:
        for x, n in layouts(*filled(queue, shape, dtype)):
            if x.ndim < 2:
                continue
            for k in range(-6, 7):
                same(ours(x, k=k), theirs(n, k))
    x, n = filled(queue, (3, 4), dtype)
    columns = usmpy.asarray(x, order="F", copy=True)
    for k in range(-4, 5):
        same(ours(columns, k=k), theirs(n, k))
        same(ours(columns, k=k, order="C"), theirs(n, k))
        same(ours(x, k=k, order="F"), theirs(n, k))
    flags = [ours(columns).flags, ours(x, order="F").flags, ours(columns, order="C").flags, ours(x).flags]
    assert [flag.f_contiguous for flag in flags] == [True, True, False, False]
    assert [flag.c_contiguous for flag in flags] == [False, False, True, True]
    same(ours(x, k=10**30), theirs(n, 100))
    same(ours(x, k=-(10**30)), theirs(n, -100))
    same(x, n)  # as it was
    with pytest.raises(ValueError, match="1 dimension; 2 or more"):
        ours(x[0])
    with pytest.raises(TypeError, match="k is"):
        ours(x, k=0.5)
    host = ours(x, device="host")
    assert host.device == usmpy.Device("host")
    same(host, theirs(n))


def test_moved_axes_of_the_most_dimensions(queue):
    x = usmpy.zeros((2, *[1] * 62, 3), queue=queue)
    for source, destination in ((0, 63), ((0, 63), (63, 0)), ((), ())):
        y = usmpy.moveaxis(x, source, destination)
        assert y.shape == np.moveaxis(np.zeros(x.shape), source, destination).shape
