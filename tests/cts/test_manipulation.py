"""reshape, permute_dims, squeeze, expand_dims, flip, broadcast_to, concat, stack: against NumPy."""

import itertools

import numpy as np
import pytest

import usmpy


def pair(queue, shape=(2, 3, 4), dtype="int32"):
    n = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n.copy()


def same(x, n):
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    np.testing.assert_array_equal(x.asnumpy(), n)


def shares(x, view):
    """Whether writing to the view is seen in x."""
    before = x.asnumpy()
    view[...] = 99
    return not np.array_equal(before, x.asnumpy())


LAYOUTS = [np.s_[...], np.s_[::2], np.s_[:, ::-1], np.s_[..., 1:3], np.s_[::-1, :, ::3], np.s_[:, 1:2]]
TARGETS = [
    (-1,),
    (4, -1),
    (-1, 2),
    (2, 3, 4),
    (24,),
    (6, 4),
    (2, 12),
    (1, 24, 1),
    (2, 2, 2, 3),
    (12, 2),
    (2, 3, 2, 2),
    (0, -1),
]


@pytest.mark.parametrize("key", LAYOUTS, ids=repr)
@pytest.mark.parametrize("transposed", [False, True])
def test_reshape(queue, key, transposed):
    for target in TARGETS:
        x, n = pair(queue)
        x, n = x[key], n[key]
        if transposed:
            x, n = usmpy.permute_dims(x, (2, 0, 1)), n.transpose(2, 0, 1)
        try:
            expected = n.reshape(target)
        except ValueError:
            with pytest.raises(ValueError, match="shape"):
                usmpy.reshape(x, target)
            continue
        same(usmpy.reshape(x, target), expected)
        same(usmpy.reshape(x, target, copy=True), expected)
        assert not shares(x, usmpy.reshape(x, target, copy=True))
        if np.shares_memory(expected, n):
            assert shares(x, usmpy.reshape(x, target, copy=False))
        else:
            with pytest.raises(ValueError, match="copy=False"):
                usmpy.reshape(x, target, copy=False)
            assert not shares(x, usmpy.reshape(x, target))


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((0,), (0, 5)),
        ((0, 3), (3, 0)),
        ((0,), (-1,)),
        ((), (1, 1)),
        ((1,), ()),
        ((1, 1), (1,)),
        ((6,), 6),
        ((6,), [2, 3]),
    ],
)
def test_reshape_of_small_things(queue, shape, target):
    x, n = pair(queue, shape)
    same(usmpy.reshape(x, target), n.reshape(target))


@pytest.mark.parametrize(
    "target", [(5,), (-1, -1), (-2, 3), (0,), (0, -1), (7, -1), (2**40, 2**40), (2**62, 8)]
)
def test_reshape_to_another_size(queue, target):
    x, _ = pair(queue, (6,))
    with pytest.raises(ValueError, match=r"shape|reshaped"):
        usmpy.reshape(x, target)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_permute_dims(queue, axes):
    x, n = pair(queue)
    y = usmpy.permute_dims(x, axes)
    same(y, n.transpose(axes))
    assert shares(x, y)
    same(usmpy.permute_dims(x, tuple(a - 3 for a in axes)), x.asnumpy().transpose(axes))


def test_squeeze_and_expand_dims(queue):
    x, n = pair(queue, (1, 3, 1, 2))
    for axis in (0, 2, -2, (0, 2), (-4, -2), ()):
        same(usmpy.squeeze(x, axis), np.squeeze(n, axis))
    for axis in (0, 1, 4, -1, -5, 2):
        same(usmpy.expand_dims(x, axis=axis), np.expand_dims(n, axis))
    same(usmpy.expand_dims(x), np.expand_dims(n, 0))
    assert shares(x, usmpy.squeeze(x, 0))
    with pytest.raises(ValueError, match="length 3"):
        usmpy.squeeze(x, 1)
    for axis in (5, -6):
        with pytest.raises(IndexError, match="axis"):
            usmpy.expand_dims(x, axis=axis)


@pytest.mark.parametrize("key", LAYOUTS, ids=repr)
def test_flip(queue, key):
    x, n = pair(queue)
    for axis in (None, 0, 1, -1, (0, 2), (), (0, 1, 2)):
        same(usmpy.flip(x[key], axis=axis), np.flip(n[key], axis=axis))
    assert shares(x, usmpy.flip(x))
    empty, m = pair(queue, (0, 3))
    same(usmpy.flip(empty), np.flip(m))


@pytest.mark.parametrize(
    ("shape", "target"),
    [
        ((3,), (2, 3)),
        ((3, 1), (3, 4)),
        ((1,), (5,)),
        ((), (2, 2)),
        ((2, 3), (2, 3)),
        ((1, 3, 1), (4, 2, 3, 5)),
        ((1,), (0,)),
        ((0,), (3, 0)),
    ],
)
def test_broadcast_to(queue, shape, target):
    x, n = pair(queue, shape)
    y = usmpy.broadcast_to(x, target)
    same(y, np.broadcast_to(n, target))
    assert y.flags.writable is (y.size <= x.size)
    assert y.data_ptr in (x.data_ptr, 0)


@pytest.mark.parametrize(
    ("shape", "target"),
    [((3,), (2,)), ((2, 3), (3,)), ((3,), (3, 2)), ((3,), ()), ((3,), (0,)), ((3,), (-1,))],
)
def test_broadcast_to_an_incompatible_shape(queue, shape, target):
    x, _ = pair(queue, shape)
    with pytest.raises(ValueError, match="shape"):
        usmpy.broadcast_to(x, target)


def test_a_broadcast_larger_than_memory(queue):
    y = usmpy.broadcast_to(usmpy.ones(1, dtype="int8", queue=queue), (1 << 40,))
    assert y[1 << 39].item() == 1
    assert y.nbytes == 1 << 40
    with pytest.raises(MemoryError):
        y.copy()


# concat and stack.


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_concat_along_an_axis(queue, axis):
    shapes = [[2, 3, 4] for _ in range(4)]
    for i, shape in enumerate(shapes):
        shape[axis] = i
    arrays = [pair(queue, tuple(shape)) for shape in shapes]
    same(usmpy.concat([x for x, _ in arrays], axis=axis), np.concatenate([n for _, n in arrays], axis))


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -4])
def test_stack(queue, axis):
    arrays = [pair(queue) for _ in range(3)]
    views = [(x[::-1, :, ::2], n[::-1, :, ::2]) for x, n in arrays]
    same(usmpy.stack([x for x, _ in views], axis=axis), np.stack([n for _, n in views], axis))


def test_concat_as_vectors(queue):
    arrays = [pair(queue, shape) for shape in ((2, 3), (), (4,), (0, 2))]
    same(usmpy.concat(tuple(x for x, _ in arrays), axis=None), np.concatenate([n for _, n in arrays], None))
    x, n = pair(queue, (3, 4))
    same(usmpy.concat([x.T, x[::2]], axis=None), np.concatenate([n.T, n[::2]], None))


def test_concat_of_one_is_a_copy(queue):
    x, n = pair(queue)
    y = usmpy.concat([x])
    same(y, n)
    assert not shares(x, y)
    same(usmpy.concat(iter([x, x])), np.concatenate([n, n]))


@pytest.mark.parametrize(
    ("dtypes", "result"),
    [
        (["int8", "int16"], "int16"),
        (["uint8", "int8"], "int16"),
        (["uint32", "int8", "int16"], "int64"),
        (["float16", "float64"], "float64"),
        (["float32", "complex64"], "complex64"),
        (["float64", "complex64"], "complex128"),
        (["bool", "bool"], "bool"),
    ],
)
def test_promotion(queue, dtypes, result):
    arrays = [pair(queue, (4,), dtype) for dtype in dtypes]
    for join, reference in ((usmpy.concat, np.concatenate), (usmpy.stack, np.stack)):
        x = join([x for x, _ in arrays])
        assert x.dtype == result
        np.testing.assert_array_equal(x.asnumpy(), reference([n for _, n in arrays]).astype(result))


@pytest.mark.parametrize("dtypes", [("uint64", "int64"), ("int8", "uint64")])
def test_no_common_type(queue, dtypes):
    arrays = [usmpy.zeros(3, dtype=dtype, queue=queue) for dtype in dtypes]
    for join in (usmpy.concat, usmpy.stack):
        with pytest.raises(TypeError, match=f"{dtypes[1]}.*{dtypes[0]}"):
            join(arrays)


def test_the_widest_kind_of_memory_wins(queue):
    kinds = ["device", "shared", "host"]
    for a, b in itertools.product(kinds, kinds):
        arrays = [usmpy.zeros(2, usm_type=kind, queue=queue) for kind in (a, b)]
        expected = kinds[max(kinds.index(a), kinds.index(b))]
        assert usmpy.concat(arrays).usm_type == usmpy.stack(arrays).usm_type == expected


@pytest.mark.parametrize("join", [usmpy.concat, usmpy.stack])
def test_arrays_that_cannot_be_joined(queue, join):
    x = usmpy.zeros((2, 3), queue=queue)
    with pytest.raises(ValueError, match="empty"):
        join([])
    with pytest.raises(ValueError, match=r"arrays\[1\] has shape \(3, 2\)"):
        join([x, usmpy.zeros((3, 2), queue=queue)])
    with pytest.raises(ValueError, match=r"arrays\[1\]"):
        join([x, x[0]])
    for axis in (9, -9, 2**70):
        with pytest.raises(IndexError, match="axis"):
            join([x, x], axis=axis)
    for bad in (x, None, 1, [x, 1], [x, [1]], [x, np.zeros((2, 3))]):
        with pytest.raises(TypeError, match="arrays"):
            join(bad)
    with pytest.raises(TypeError, match="axis"):
        join([x, x], axis="0")


def test_concat_of_no_dimensions(queue):
    x = usmpy.asarray(1, queue=queue)
    with pytest.raises(ValueError, match="0 dimensions"):
        usmpy.concat([x, x])
    assert usmpy.stack([x, x]).tolist() == [1, 1]


@pytest.mark.parametrize(
    "axes", [(0, 1), (0, 1, 1), (0, 1, 2, 3), (0, 1, 3), (0, 1, -4), (), 0, ("a", 1, 2), None]
)
def test_axes_that_make_no_permutation(queue, axes):
    x, _ = pair(queue)
    with pytest.raises((ValueError, IndexError, TypeError), match="axes"):
        usmpy.permute_dims(x, axes)


@pytest.mark.parametrize("dtype", ["float4_e2m1fn", "float6_e3m2fn"])
def test_packed_types_have_no_views(queue, dtype):
    x = usmpy.zeros((2, 4), dtype=dtype, queue=queue)
    for call in (
        lambda: usmpy.reshape(x, (8,)),
        lambda: usmpy.permute_dims(x, (1, 0)),
        lambda: usmpy.flip(x),
        lambda: usmpy.concat([x, x]),
        lambda: x[0],
        lambda: x.T,
        lambda: x.tolist(),
    ):
        with pytest.raises(TypeError, match=dtype):
            call()
    assert x.copy().shape == x[...].shape == (2, 4)


def test_large_joins(backend, queue):
    side = 1000 if "host-accessible" in backend.tags else 300  # several threads, but for drivers in software
    n = np.arange(3 * side * side, dtype="float32").reshape(3, side, side)
    x = usmpy.asarray(n, queue=queue)
    same(usmpy.stack([x[0].T, x[1], x[2][::-1]], axis=-1), np.stack([n[0].T, n[1], n[2][::-1]], axis=-1))
    same(usmpy.reshape(usmpy.permute_dims(x, (2, 1, 0)), (-1,)), n.transpose(2, 1, 0).reshape(-1))


@pytest.mark.parametrize("ndim", range(5))
def test_matrix_transpose_of_any_dimensions(queue, ndim):
    shape = (2, 3, 4, 5)[:ndim]
    n = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    x = usmpy.asarray(n, queue=queue, copy=True)
    if ndim < 2:
        with pytest.raises(ValueError, match=f"matrix_transpose\\(\\): x has {ndim} dimension"):
            usmpy.matrix_transpose(x)
    else:
        assert usmpy.matrix_transpose(x).tolist() == x.mT.tolist() == np.swapaxes(n, -1, -2).tolist()


DEEPEST = 64  # dimensions


def deep(queue, ndim):
    return usmpy.arange(2, dtype="int32", queue=queue).reshape((2,) + (1,) * (ndim - 1))


def test_results_with_too_many_dimensions(queue):
    x, rows = deep(queue, DEEPEST), usmpy.asarray([[0, 1]], queue=queue)
    calls = [
        lambda: x[rows],
        lambda: usmpy.take(x, rows, axis=0),
        lambda: usmpy.stack([x, x]),
        lambda: usmpy.expand_dims(x, axis=0),
        lambda: usmpy.meshgrid(*[rows[0]] * (DEEPEST + 1)),
        lambda: usmpy.asarray([x], queue=queue),
    ]
    for call in calls:
        with pytest.raises((IndexError, ValueError), match=rf"(more than|at most|deeper than) {DEEPEST}"):
            call()
    assert x.reshape(-1).tolist() == [0, 1]


def test_no_common_type_names_the_array(queue):
    x, y = usmpy.zeros(1, dtype="uint64", queue=queue), usmpy.zeros(1, dtype="int8", queue=queue)
    with pytest.raises(TypeError, match=r"arrays\[1\] has dtype int8"):
        usmpy.concat([x, y, x])


def test_concat_of_more_elements_than_an_int64(queue):
    huge = usmpy.broadcast_to(usmpy.zeros((), dtype="int8", queue=queue), (2**62,))
    for axis in (0, None):
        with pytest.raises((ValueError, MemoryError), match=r"2\*\*63"):
            usmpy.concat([huge, huge], axis=axis)
