"""Arrays against NumPy on inputs that hypothesis makes up: layouts, indices, copies, joins, ranges."""

import layouts as forms
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import usmpy

QUEUE = usmpy.Device("host").queue
SETTINGS = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
DTYPES = st.sampled_from(
    ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex128"]
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=6)


def numbers(shape, dtype):
    return (np.arange(np.prod(shape, dtype=int)) % 120).astype(dtype).reshape(shape)


@st.composite
def layouts(draw, shapes=SHAPES, writable=False):
    """One array twice: ours and NumPy's, laid out, cut, turned and transposed alike."""
    layout = forms.drawn(draw, draw(shapes), writable)
    n = numbers(layout.base_shape, draw(DTYPES))
    x = layout.seen(usmpy, usmpy.asarray(n, queue=QUEUE, copy=True))
    n = layout.seen(forms.Views, n.copy())
    for _ in range(draw(st.integers(0, 3))):
        action = draw(st.integers(0, 3))
        if action == 0:
            key = draw(
                hnp.basic_indices(n.shape, min_dims=0, max_dims=6, allow_newaxis=True, allow_ellipsis=True)
            )
            x, n = x[key], n[(..., *np.index_exp[key])] if not np.index_exp[key] else view(n, key)
        elif action == 1:
            axes = draw(st.permutations(range(n.ndim)))
            x, n = usmpy.permute_dims(x, axes), n.transpose(axes)
        elif action == 2 and n.ndim:
            axis = draw(st.integers(-n.ndim, n.ndim - 1))
            x, n = usmpy.flip(x, axis=axis), np.flip(n, axis)
        elif action == 3:
            axis = draw(st.integers(-n.ndim - 1, n.ndim))
            x, n = usmpy.expand_dims(x, axis=axis), np.expand_dims(n, axis)
    return x, n


def view(n, key):
    """A view also where NumPy would give a scalar."""
    key = np.index_exp[key]
    return n[key] if any(k is Ellipsis for k in key) else n[(*key, ...)]


def same(x, n):
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    np.testing.assert_array_equal(x.asnumpy(), n)


@SETTINGS
@given(layouts())
def test_layouts(pair):
    x, n = pair
    same(x, n)
    assert (x.flags.c_contiguous, x.flags.f_contiguous) == (n.flags.c_contiguous, n.flags.f_contiguous)
    assert x.tolist() == n.tolist()
    same(x.copy(), n)
    assert x.copy().flags.c_contiguous
    view = np.from_dlpack(x)
    np.testing.assert_array_equal(view, n)
    same(usmpy.from_dlpack(n), n)
    m = memoryview(x)
    assert m.shape == n.shape
    assert m.nbytes == n.nbytes
    if n.dtype != "float16" and n.dtype.kind != "c":
        assert m.tolist() == n.tolist()


@SETTINGS
@given(layouts(), st.data())
def test_indexing(pair, data):
    x, n = pair
    key = data.draw(hnp.basic_indices(n.shape, min_dims=0, max_dims=8, allow_newaxis=True))
    same(x[key], view(n, key))


@SETTINGS
@given(layouts(writable=True), st.data())
def test_assignment(pair, data):
    x, n = pair
    key = data.draw(hnp.basic_indices(n.shape, min_dims=0, max_dims=8, allow_newaxis=True))
    target = view(n, key)
    shape = data.draw(hnp.broadcastable_shapes(target.shape, max_dims=target.ndim, min_side=0, max_side=1))
    try:
        np.broadcast_to(np.empty(shape), target.shape)
    except ValueError:
        shape = ()
    value = numbers(shape, n.dtype)[..., ::-1] if shape else numbers(shape, n.dtype)
    x[key] = usmpy.asarray(value, queue=QUEUE)
    target[...] = value
    same(x, n)


@SETTINGS
@given(layouts(writable=True), st.data())
def test_assignment_of_overlapping_views(pair, data):
    x, n = pair
    if n.ndim == 0:
        return
    axis = data.draw(st.integers(0, n.ndim - 1))
    length = n.shape[axis]
    size = data.draw(st.integers(0, length))
    starts = [data.draw(st.integers(0, length - size)) for _ in range(2)]
    keys = []
    for start in starts:
        part = slice(start, start + size)
        if data.draw(st.booleans()):
            part = slice(start + size - 1, start - 1 if start else None, -1) if size else slice(0, 0)
        keys.append((slice(None),) * axis + (part,))
    value = n[keys[1]].copy()
    x[keys[0]] = x[keys[1]]
    n[keys[0]] = value
    same(x, n)


@SETTINGS
@given(layouts(), DTYPES)
def test_casts_that_lose_nothing(pair, dtype):
    x, n = pair
    y = usmpy.zeros(n.shape, dtype=dtype, queue=QUEUE)
    usmpy.copyto(y, x, casting="unsafe")
    expected = n.real.astype(dtype) if n.dtype.kind == "c" and dtype[0] not in "cb" else n.astype(dtype)
    same(y, expected)


@SETTINGS
@given(layouts(), st.data())
def test_reshape(pair, data):
    x, n = pair
    factors, rest = [], n.size
    while rest > 1 and data.draw(st.booleans()):
        divisor = data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
        factors.append(divisor)
        rest //= divisor
    shape = (*factors, rest) if n.size else (*factors, 0, *data.draw(st.lists(st.integers(0, 3), max_size=2)))
    expected = n.reshape(shape)
    y = usmpy.reshape(x, shape)
    same(y, expected)
    if n.size and not np.shares_memory(expected, n):
        assert not np.shares_memory(np.from_dlpack(y), np.from_dlpack(x))
    if n.size and np.shares_memory(expected, n):
        assert np.shares_memory(np.from_dlpack(y), np.from_dlpack(x))


@SETTINGS
@given(layouts(), st.data())
def test_broadcasting(pair, data):
    x, n = pair
    shape = data.draw(
        hnp.broadcastable_shapes(n.shape, min_dims=n.ndim, max_dims=n.ndim + 1, min_side=0, max_side=4)
    )
    try:
        expected = np.broadcast_to(n, shape)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            usmpy.broadcast_to(x, shape)
        return
    same(usmpy.broadcast_to(x, shape), expected)


@SETTINGS
@given(layouts(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4)), st.data())
def test_joins(pair, data):
    x, n = pair
    parts = [(x, n)]
    for _ in range(data.draw(st.integers(0, 2))):
        parts.append((usmpy.flip(x), np.flip(n)))
    axis = data.draw(st.integers(-n.ndim - 1, n.ndim))
    same(usmpy.stack([a for a, _ in parts], axis=axis), np.stack([b for _, b in parts], axis))
    if n.ndim:
        axis = data.draw(st.one_of(st.none(), st.integers(-n.ndim, n.ndim - 1)))
        same(usmpy.concat([a for a, _ in parts], axis=axis), np.concatenate([b for _, b in parts], axis))


INTS = st.integers(-(2**40), 2**40)


@SETTINGS
@given(INTS, st.integers(-300, 300), st.integers(-40, 40).filter(bool))
def test_integer_ranges(start, span, step):
    assert usmpy.arange(start, start + span, step, device="host").tolist() == list(
        range(start, start + span, step)
    )


@SETTINGS
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.integers(0, 200), st.booleans())
def test_lines(start, stop, num, endpoint):
    x = usmpy.linspace(start, stop, num, endpoint=endpoint, device="host").asnumpy()
    np.testing.assert_allclose(x, np.linspace(start, stop, num, endpoint=endpoint), rtol=1e-12, atol=1e-9)


@SETTINGS
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(0.01, 100), st.booleans())
def test_float_ranges(start, stop, step, down):
    step = -step if down else step
    n = np.arange(start, stop, step)
    x = usmpy.arange(start, stop, step, dtype="float64", device="host")
    assert x.shape == n.shape
    # NumPy's elements are farther off: it adds up a step that it rounded to the precision of start.
    np.testing.assert_allclose(x.asnumpy(), start + step * np.arange(n.size), rtol=0, atol=1e-12)


NESTED = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False)),
    lambda children: st.lists(children, max_size=4),
    max_leaves=20,
)


@SETTINGS
@given(NESTED)
def test_nested_lists(nested):
    try:
        n = np.asarray(nested)
    except (ValueError, OverflowError):
        with pytest.raises(ValueError, match="ragged"):
            usmpy.asarray(nested, device="host")
        return
    x = usmpy.asarray(nested, device="host")
    assert x.shape == n.shape
    np.testing.assert_array_equal(x.asnumpy(), n)


@SETTINGS
@given(st.binary(max_size=300), st.data())
def test_memcpy_of_parts(content, data):
    x = usmpy.asarray(bytearray(content), copy=True, device="host")
    model = bytearray(content)
    for _ in range(3):
        size = data.draw(st.integers(0, len(content)))
        to, of = (data.draw(st.integers(0, len(content) - size)) for _ in range(2))
        QUEUE.memcpy(x[to:], x[of:], size)
        model[to : to + size] = model[of : of + size]
    assert bytes(x) == bytes(model)
