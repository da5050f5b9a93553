"""Arithmetic, reductions, scans, sorts, products of random types, layouts, axes and sizes, against NumPy."""

import math

import numpy as np
from hypothesis import strategies as st
from layouts import Views, drawn
from standard_calls import axes_of, axis_of, random_calls

import usmpy

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
# Where kernels and loops begin another block: lanes of a reduction, groups of a scan, rows of a sort.
BORDERS = [1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049]


def shape_of(draw):
    """Few elements in any number of dimensions, or one axis around the border of a block."""
    if draw(st.booleans()):
        return tuple(draw(st.lists(st.integers(0, 5), min_size=1, max_size=4)))
    shape = [draw(st.sampled_from(BORDERS))]
    shape.insert(draw(st.integers(0, 1)), draw(st.integers(1, 3)))
    return tuple(shape)


def numbers(shape, dtype, seed):
    """Small whole numbers: sums and products of a few are exact in every type."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    low = 0 if dtype.startswith("u") else -3
    n = rng.integers(low, 4, shape)
    return (n + 1j * rng.integers(-2, 3, shape) if dtype.startswith("complex") else n).astype(dtype)


def both(draw, device, shape, dtype):
    """Our array and NumPy's, of one layout."""
    layout = drawn(draw, shape)
    base = numbers(layout.base_shape, dtype, draw(st.integers(0, 10**6)))
    ours = layout.seen(usmpy, usmpy.asarray(base, device=device, copy=True))
    return ours, layout.seen(Views, base.copy())


def types_of(draw, device, *without):
    without += () if device.has_fp64 else ("float64", "complex128")
    types = {*draw.dtypes, "float16"} - set(without)
    return draw(st.sampled_from(sorted(types)))


def same(ours, theirs):
    theirs = np.asarray(theirs)
    assert (ours.shape, ours.dtype.name) == (theirs.shape, theirs.dtype.name)
    np.testing.assert_array_equal(ours.asnumpy(), theirs)


def test_elementwise(backend, device):
    @random_calls(backend, device, few=15, many=120)
    def check(draw):
        name = draw(st.sampled_from(["add", "subtract", "multiply", "square", "negative", "maximum", "abs"]))
        dtype = types_of(draw, device, "bool")
        if name == "maximum" and dtype.startswith("complex"):
            dtype = "float32"
        shape = shape_of(draw)
        x, a = both(draw, device, shape, dtype)
        operands, wanted = [x], [a]
        if name not in ("square", "negative", "abs"):
            other = tuple(1 if draw(st.booleans()) else length for length in shape)
            y, b = both(draw, device, other[draw(st.integers(0, len(other))) :], dtype)
            operands, wanted = [x, y], [a, b]
        with np.errstate(all="ignore"):
            expected = np.asarray(getattr(np, name)(*wanted))
        order = draw(st.sampled_from("CFAK"))
        function = getattr(usmpy, name)
        if name == "abs" and dtype.startswith("complex"):
            np.testing.assert_allclose(function(*operands).asnumpy(), expected, rtol=1e-6)
            return
        same(function(*operands, order=order), expected)
        out = usmpy.empty(expected.shape[::-1], dtype=expected.dtype.name, device=device)
        out = usmpy.permute_dims(out, tuple(range(expected.ndim))[::-1])
        assert function(*operands, out=out) is out
        same(out, expected)


def test_reductions(backend, device):
    @random_calls(backend, device, few=15, many=120)
    def check(draw):
        name = draw(st.sampled_from(["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin"]))
        orders = name in ("max", "min", "argmax", "argmin")
        dtype = types_of(draw, device, *(["complex64", "complex128"] if orders else []))
        dtype = "int16" if dtype == "bool" and name in ("max", "min") else dtype
        shape = shape_of(draw)
        x, a = both(draw, device, shape, dtype)
        ndim = len(shape)
        axis = axis_of(draw, ndim, wrong=0) if name.startswith("arg") else valid_axes(draw, ndim)
        keepdims = draw(st.booleans())
        if name == "prod":  # no product of many numbers, which would overflow differently in each order
            a = np.sign(a.real).astype(dtype) if dtype != "bool" else a
            x = usmpy.asarray(a.copy(), device=device)
        if (orders or name == "mean") and a.size == 0:
            return
        with np.errstate(all="ignore"):
            expected = np.asarray(getattr(np, name)(a, axis=axis, keepdims=keepdims))
        found = getattr(usmpy, name)(x, axis=axis, keepdims=keepdims)
        assert found.shape == expected.shape
        if name == "mean":
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=2e-3, atol=2e-3)
        elif name in ("sum", "prod") and np.dtype(dtype).kind in "biu":
            same(found, expected.astype("uint64" if dtype.startswith("u") else "int64"))
        elif name == "sum" and dtype == "float16":
            exact = a.astype("f4").sum(axis=axis, keepdims=keepdims).astype("f2")
            same(found, exact)
        else:
            same(found, expected)


def valid_axes(draw, ndim):
    axes = axes_of(draw, ndim)
    axes = (axes,) if isinstance(axes, int) else axes
    if axes is None:
        return None
    return tuple({axis % ndim: axis for axis in axes if -ndim <= axis < ndim}.values())


def test_scans(backend, device):
    @random_calls(backend, device, few=15, many=120)
    def check(draw):
        name = draw(st.sampled_from(["cumulative_sum", "cumulative_prod"]))
        dtype = types_of(draw, device, "float16")
        shape = shape_of(draw)
        x, a = both(draw, device, shape, dtype)
        if name == "cumulative_prod":
            a = np.sign(a.real).astype(dtype) if dtype != "bool" else a
            x = usmpy.asarray(a.copy(), device=device)
        axis, initial = axis_of(draw, len(shape), wrong=0), draw(st.booleans())
        wide = dtype
        if np.dtype(dtype).kind in "biu":
            wide = "uint64" if dtype.startswith("u") else "int64"
        numpys = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name]
        expected = numpys(a, axis=axis, dtype=wide)
        if initial:
            lengths = list(shape)
            lengths[axis] = 1
            first = np.full(lengths, name == "cumulative_prod", wide)
            expected = np.concatenate([first, expected], axis=axis)
        same(getattr(usmpy, name)(x, axis=axis, include_initial=initial), expected)


def test_sorts(backend, device):
    @random_calls(backend, device, few=15, many=120)
    def check(draw):
        dtype = types_of(draw, device, "complex64", "complex128")
        shape = shape_of(draw)
        x, a = both(draw, device, shape, dtype)
        axis, descending = axis_of(draw, len(shape), wrong=0), draw(st.booleans())
        expected = np.sort(a, axis=axis, kind="stable")
        same(
            usmpy.sort(x, axis=axis, descending=descending),
            np.flip(expected, axis) if descending else expected,
        )
        indices = usmpy.argsort(x, axis=axis, descending=descending).asnumpy()
        if descending:  # stable: the last of equals first in the reversed array
            back = np.argsort(np.flip(a, axis), axis=axis, kind="stable")
            np.testing.assert_array_equal(indices, shape[axis] - 1 - np.flip(back, axis))
        else:
            np.testing.assert_array_equal(indices, np.argsort(a, axis=axis, kind="stable"))
        # NumPy 2.4's other sort, which np.unique uses, is wrong for float16 on processors with AVX-512.
        flat = np.sort(a, axis=None, kind="stable")
        same(usmpy.unique_values(x), flat[np.concatenate([[True], flat[1:] != flat[:-1]])[: flat.size]])


def test_products(backend, device):
    @random_calls(backend, device, few=20, many=200)
    def check(draw):
        dtype = types_of(draw, device, "bool")
        lengths = st.sampled_from([0, 1, 2, 5, 7, 8, 9, 31, 33, 63, 65])
        m, k, n = (draw(lengths) for _ in range(3))
        batch = draw(st.sampled_from([(), (2,), (1, 3)]))
        x, a = both(draw, device, (*batch, m, k), dtype)
        y, b = both(draw, device, (k, n), dtype)
        with np.errstate(all="ignore"):
            expected = np.matmul(a.astype("f4"), b.astype("f4")).astype("f2") if dtype == "float16" else a @ b
        same(usmpy.matmul(x, y), expected)  # exact: whole numbers
        same(usmpy.tensordot(x, y, axes=1), expected)
        z, c = both(draw, device, (m, k), dtype)
        dots = (a.conj() * c).sum(-1, dtype="f4" if dtype == "float16" else dtype).astype(dtype)
        same(usmpy.vecdot(x, z), dots)


def test_operators_in_place(backend, device):
    @random_calls(backend, device, few=20, many=200)
    def check(draw):
        dtype = types_of(draw, device, "bool", "complex64", "complex128")
        shape = shape_of(draw)
        layout = drawn(draw, shape, writable=True)
        base = numbers(layout.base_shape, dtype, 1)
        memory, theirs = usmpy.asarray(base, device=device, copy=True), base.copy()
        x, a = layout.seen(usmpy, memory), layout.seen(Views, theirs)
        kept = x
        y, b = both(draw, device, shape, dtype)
        x += y
        x *= 2
        a += b
        a *= 2
        if math.prod(shape) and draw(st.booleans()):  # of its own memory, the other way round
            x -= usmpy.flip(x)
            a -= np.flip(a).copy()
        assert x is kept
        same(memory, theirs)
