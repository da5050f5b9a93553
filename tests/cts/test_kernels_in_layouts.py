"""ElementwiseKernel, ReductionKernel and ScanKernel against NumPy, in random shapes and memory layouts."""

import numpy as np
from backends import drawn
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layouts import Views
from standard_calls import random_calls, source

import usmpy

# Each type is a program of its own; sums of 64 bits wrap in C as in NumPy.
TYPES = ["bool", "int8", "uint32", "int64"]
SHAPES = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5)


def seen(x, queue):
    """(the array of NumPy, ours) of one drawn layout."""
    return x.seen(Views, x.base.copy()), x.seen(usmpy, usmpy.asarray(x.base, queue=queue, copy=True))


def type_of(draw, backend):
    """All of them on the host, another one on each other device."""
    return draw(st.sampled_from(drawn(backend, TYPES)))


def wide(array):
    return array.astype("uint64")


def test_elements(backend, device, queue):
    kernel = usmpy.ElementwiseKernel("T x, T y", "uint64 z", "z = (ulong)x - 3 * (ulong)y + (ulong)i", "mix")

    @random_calls(backend, device, few=10)
    def check(draw):
        dtype = type_of(draw, backend)
        a, x = seen(source(draw, SHAPES, [dtype]), queue)
        shape = draw(hnp.broadcastable_shapes(a.shape, max_dims=4, min_side=0, max_side=5))
        b, y = seen(source(draw, shape, [dtype]), queue)
        place = np.arange(np.broadcast(a, b).size, dtype="uint64").reshape(np.broadcast(a, b).shape)
        assert np.array_equal(kernel(x, y).asnumpy(), wide(a) - 3 * wide(b) + place)
        out = source(draw, place.shape, ["uint64"], writable=True)
        base = usmpy.asarray(out.base, queue=queue, copy=True)
        kernel(x, y, out=out.seen(usmpy, base))
        assert np.array_equal(out.seen(usmpy, base).asnumpy(), wide(a) - 3 * wide(b) + place)


def test_reductions(backend, device, queue, built_soon):
    operation = ("(ulong)x * (ulong)(i + 1)", "a + b", "y = a", 0, "sum")
    kernel = usmpy.ReductionKernel("T x", "uint64 y", *operation, **built_soon)

    @random_calls(backend, device, few=10)
    def check(draw):
        a, x = seen(source(draw, SHAPES, [type_of(draw, backend)]), queue)
        axes = tuple(d for d in range(a.ndim) if draw(st.booleans()))
        kept = tuple(d for d in range(a.ndim) if d not in axes)
        keepdims = draw(st.booleans())
        lines = wide(a).transpose(kept + axes).reshape(*(a.shape[d] for d in kept), -1) if a.size else None
        result = kernel(x, axis=tuple(d - a.ndim * draw(st.booleans()) for d in axes), keepdims=keepdims)
        shape = tuple(1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes)
        assert result.shape == shape
        if lines is None:
            assert not result.asnumpy().any()
            return
        wanted = (lines * np.arange(1, lines.shape[-1] + 1, dtype="uint64")).sum(axis=-1, dtype="uint64")
        assert np.array_equal(result.asnumpy().reshape(wanted.shape), wanted)


def test_scans(backend, device, queue, built_soon):
    kernel = usmpy.ScanKernel(
        "T x", "uint64 y", "(ulong)x", "a + b", identity=0, name="running", **built_soon
    )

    @random_calls(backend, device, few=10)
    def check(draw):
        a, x = seen(source(draw, SHAPES, [type_of(draw, backend)]), queue)
        axis = draw(st.integers(-a.ndim, a.ndim - 1))
        result = kernel(x, axis=axis, include_initial=True).asnumpy()
        zeros = np.zeros([1 if d == axis % a.ndim else n for d, n in enumerate(a.shape)], "uint64")
        assert np.array_equal(result, np.concatenate([zeros, wide(a).cumsum(axis=axis)], axis=axis))


def test_lengths_around_the_blocks(backend, device, queue, built_soon):
    total = usmpy.ReductionKernel("T x", "int64 y", "x", "a + b", "y = a", 0, "total", **built_soon)
    running = usmpy.ScanKernel("T x", "int64 y", "x", "a + b", identity=0, name="running", **built_soon)

    @random_calls(backend, device, few=10)
    def check(draw):
        n = draw(st.sampled_from([32, 256, 1024, 2048])) * draw(st.integers(1, 3)) + draw(st.integers(-1, 1))
        rows, step = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, -1, -2]))
        outer = draw(st.booleans())
        a = np.random.default_rng(n).integers(-9, 9, (rows, n * abs(step)), dtype="int64")
        x = usmpy.asarray(a.T if outer else a, queue=queue, copy=True)
        axis = 0 if outer else 1
        every = slice(None, None, step) if outer else (slice(None), slice(None, None, step))
        expected = (a.T if outer else a)[every]
        assert np.array_equal(total(x[every], axis=axis).asnumpy(), expected.sum(axis=axis))
        assert np.array_equal(running(x[every], axis=axis).asnumpy(), expected.cumsum(axis=axis))
