"""Computing functions of arrays with no dimensions and with many; outputs in the memory of operands."""

import operator

import numpy as np
import pytest

import usmpy

SMALL = np.arange(24, dtype="float32").reshape(2, 3, 4)


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def same(ours, theirs):
    theirs = np.asarray(theirs)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours.asnumpy(), theirs)


@pytest.mark.parametrize("ndim", [10, 31, 64])
def test_many_dimensions(ndim, queue):
    """Those of SMALL are the first, the middle and the last one; all others have one element."""
    shape, axes = [1] * ndim, (0, ndim // 2, ndim - 1)
    for axis, length in zip(axes, SMALL.shape, strict=True):
        shape[axis] = length
    x = usmpy.reshape(put(SMALL, queue), tuple(shape))
    turned = tuple(reversed(range(ndim)))

    def check(result, wanted):
        same(usmpy.reshape(result, wanted.shape), wanted)

    row = put(SMALL[1, 2], queue)
    check(x + row, SMALL + SMALL[1, 2])
    y = usmpy.permute_dims(x, turned)
    check(usmpy.permute_dims(y * y, turned), SMALL * SMALL)
    check(usmpy.where(x > 3, x, -x), np.where(SMALL > 3, SMALL, -SMALL))
    check(usmpy.clip(x, 2, 7), np.clip(SMALL, 2, 7))
    for k, axis in enumerate(axes):
        for name in ("sum", "max", "argmin", "all", "count_nonzero"):
            check(getattr(usmpy, name)(y, axis=ndim - 1 - axis), getattr(np, name)(SMALL.T, axis=2 - k))
        check(usmpy.sort(x, axis=axis, descending=True), np.flip(SMALL, k))
        check(usmpy.argsort(x, axis=axis, descending=True), np.argsort(-SMALL, k))
        check(usmpy.cumulative_sum(x, axis=axis), np.cumsum(SMALL, k))
        check(usmpy.diff(x, axis=axis), np.diff(SMALL, axis=k))
    check(usmpy.sum(x, axis=tuple(range(1, ndim))), SMALL.sum((1, 2)))
    check(usmpy.vecdot(x, x), (SMALL * SMALL).sum(-1))
    check(usmpy.matmul(x, x.mT), (SMALL[:, :, None] @ SMALL[..., None]))
    check(usmpy.isin(x, row), np.isin(SMALL, SMALL[1, 2]))
    same(usmpy.unique_values(x), SMALL.reshape(-1))
    if ndim == 64:
        with pytest.raises(ValueError, match=r"tensordot\(\): the result has more than 64 dimensions"):
            usmpy.tensordot(x, x, axes=0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex64"])
def test_no_dimensions(dtype, queue):
    one = np.array(1, dtype)
    x = put(one, queue)
    ordered = dtype != "complex64"
    for name in ("sum", "prod", "all", "any", "count_nonzero", "max", "min", "argmax", "argmin"):
        if name in ("max", "min") and (not ordered or dtype == "bool"):
            continue
        if name.startswith("arg") and not ordered:
            continue
        function, numpys = getattr(usmpy, name), getattr(np, name)
        same(function(x), numpys(one))
        same(function(x, keepdims=True), numpys(one, keepdims=True))
        if not name.startswith("arg"):
            same(function(x, axis=()), numpys(one, axis=()))
        with pytest.raises(usmpy.AxisError):
            function(x, axis=0)
    for name in ("sort", "argsort", "cumulative_sum", "cumulative_prod", "diff"):
        if ordered or "sort" not in name:
            with pytest.raises(ValueError, match=r"dimension"):
                getattr(usmpy, name)(x)
    found = usmpy.unique_all(x)
    same(found.values, one.reshape(1))
    assert found.inverse_indices.shape == ()
    same(usmpy.isin(x, x), True)
    same(usmpy.isin(x, x[None][:0]), False)
    if ordered:
        same(usmpy.searchsorted(put(np.array([0, 1, 1], dtype), queue), x), np.int64(1))
    for function in (usmpy.matmul, usmpy.vecdot):
        with pytest.raises((ValueError, TypeError), match=r"0 dimensions|bool"):
            function(x, x)
    if dtype != "bool":
        same(usmpy.tensordot(x, x, axes=0), one)
        x += x
        same(x, one + one)


IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.ior, operator.ilshift]


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda function: function.__name__)
@pytest.mark.parametrize("length", [5, 1030])
def test_in_place_with_a_part_of_the_same_array_that_broadcasts(function, length, queue):
    n = np.arange(3 * length, dtype="int32").reshape(3, length) % 7 + 1
    parts = [
        np.s_[0],
        np.s_[2:],
        np.s_[:, :1],
        np.s_[:, -1:],
        np.s_[1, 1],
        np.s_[1:2, ::-1],
        np.s_[::-1, 2:3],
    ]
    for key in parts:
        for view in (np.s_[:, :], np.s_[::-1], np.s_[:, ::-1], np.s_[:, :]):
            theirs, ours = n.copy(), put(n, queue)
            expected = function(theirs[view].copy(), theirs[key].copy())
            own = ours[view]
            assert function(own, ours[key]) is own
            theirs[view] = expected
            np.testing.assert_array_equal(ours.asnumpy(), theirs, f"{key} {view}")


def test_outputs_in_any_view_of_the_memory_of_their_operands(queue):
    """Random views of one block: with steps, reversed, turned, of some axes repeated."""
    rng = np.random.default_rng(5)
    n = rng.integers(-20, 20, 750).astype("int16")

    def view(shape):
        lengths = [int(length * rng.integers(1, 3) + rng.integers(0, 2)) for length in shape]
        start = int(rng.integers(0, 750 - np.prod(lengths) + 1))
        keys = []
        for length, room in zip(shape, lengths, strict=True):
            step = int(rng.integers(1, 3)) if room >= 2 * length else 1
            first = int(rng.integers(0, room - (length - 1) * step))
            keys.append(slice(first, first + (length - 1) * step + 1, step))
        turned = [bool(turn) for turn in rng.integers(0, 2, len(shape))]

        def make(memory):
            block = memory[start : start + int(np.prod(lengths))].reshape(tuple(lengths))[tuple(keys)]
            return block[tuple(slice(None, None, -1 if turn else 1) for turn in turned)]

        return make

    for _ in range(60):
        shape = tuple(int(length) for length in rng.integers(1, 5, rng.integers(1, 4)))
        makers = [view(shape), view(shape), view(tuple(1 if rng.random() < 0.3 else k for k in shape))]
        name = ["add", "subtract", "multiply", "maximum", "bitwise_xor"][rng.integers(5)]
        theirs, ours = n.copy(), put(n, queue)
        out, x, y = (make(theirs) for make in makers)
        expected = getattr(np, name)(x, y)
        out[...] = expected
        out, x, y = (make(ours) for make in makers)
        assert getattr(usmpy, name)(x, y, out=out) is out
        np.testing.assert_array_equal(ours.asnumpy(), theirs)
