"""Calls of the array API standard, drawn by hypothesis, that any of its namespaces can make.

Each generator of ``CALLS`` draws arguments and gives ``call(xp, put)``: a call in the namespace ``xp``, whose
arrays ``put(source)`` makes. Some arguments are wrong on purpose: axes out of range, shapes that do not go
together.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layouts import Layout, drawn

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REALS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = ["bool", *INTEGERS, *REALS, *COMPLEX]
# Every type has kernels of its own, and drivers take their time to build them.
FEW = ["bool", "int8", "int64", "float32", "complex64"]
ODD = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, -2.0, 3.4e38]
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def random_calls(backend, device, few, many=50):
    """Decorator that runs a check of one random call, ``many`` times on the host and ``few`` times elsewhere.

    The check gets ``draw(strategy)``. ``draw.dtypes`` are the types to choose from; ``draw.checked`` tells
    whether the device checks indices, which others clip.
    """
    host = device.backend == "host" and device.parent is None

    def run(check):
        @settings(
            max_examples=many if host else few,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.data())
        def checks(data):
            def draw(strategy):
                return data.draw(strategy)

            draw.checked = "host-accessible" in backend.tags
            draw.dtypes = DTYPES if host else FEW
            check(draw)

        checks()

    return run


@dataclasses.dataclass
class Source:
    """An array of NumPy, and views of views of it that every namespace can make."""

    base: np.ndarray
    layout: Layout

    def seen(self, xp, x):
        return self.layout.seen(xp, x)

    @property
    def shape(self):
        return self.layout.shape

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def dtype(self):
        return self.base.dtype.name


def plain(base):
    return Source(base, Layout(base.shape, [], base.shape))


def values(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        n = np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
        return np.where(rng.random(shape) < 0.6, rng.integers(0, 4, shape).astype(dtype), n).astype(dtype)
    n = np.where(rng.random(shape) < 0.3, rng.choice(ODD, shape), rng.integers(-3, 4, shape) / 2)
    if dtype in COMPLEX:
        n = n + 1j * np.where(rng.random(shape) < 0.2, np.nan, rng.integers(-2, 2, shape))
    with np.errstate(all="ignore"):
        return np.asarray(n).astype(dtype)


def source(draw, shapes=SHAPES, dtypes=None, writable=False):
    shape = draw(shapes) if isinstance(shapes, st.SearchStrategy) else tuple(shapes)
    layout = drawn(draw, shape, writable)
    dtype = draw(st.sampled_from(dtypes or draw.dtypes))
    return Source(values(layout.base_shape, dtype, draw(st.integers(0, 10**6))), layout)


def axis_of(draw, ndim, wrong=1):
    if ndim == 0 and wrong:  # NumPy takes 0 and -1 here and there
        return draw(st.sampled_from([1, -2]))
    return draw(st.integers(-ndim - wrong, ndim - 1 + wrong))


def axes_of(draw, ndim):
    """None, one axis, or several."""
    if draw(st.integers(0, 2)) == 0:
        return draw(st.one_of(st.none(), st.just(axis_of(draw, ndim))))
    if draw(st.integers(0, 3)) == 0:  # some of them twice
        return tuple(draw(st.lists(st.integers(-ndim, max(ndim - 1, -ndim)), max_size=3))) if ndim else ()
    return tuple(axis - ndim * draw(st.booleans()) for axis in range(ndim) if draw(st.booleans()))


def same_kind(draw, dtype):
    kinds = next(kind for kind in (["bool"], INTEGERS, REALS + COMPLEX) if dtype in kind)
    return draw(st.sampled_from([d for d in kinds if d in draw.dtypes]))


def pair(draw, dtypes=None):
    """Two that mostly broadcast and promote; one thing is wrong at a time."""
    first = source(draw, dtypes=dtypes)
    wrong = draw(st.sampled_from(["nothing", "nothing", "nothing", "shape", "dtype"]))
    wider = hnp.broadcastable_shapes(first.shape, max_dims=4, min_side=0, max_side=4)
    shape = draw(SHAPES if wrong == "shape" else wider)
    dtype = draw(st.sampled_from(draw.dtypes)) if wrong == "dtype" else same_kind(draw, first.dtype)
    return first, source(draw, shape, [dtype])


# --- creation ---------------------------------------------------------------------------------------------


def creation(name):
    def make(draw):
        shape, dtype = draw(SHAPES), draw(st.sampled_from([None, *draw.dtypes]))
        return lambda xp, put: getattr(xp, name)(shape, dtype=kind(xp, dtype), device=put.device)

    return make


def kind(xp, name):
    return None if name is None else getattr(xp, name)


def like(name):
    def make(draw):
        x, dtype = source(draw), draw(st.sampled_from([None, *draw.dtypes]))
        return lambda xp, put: getattr(xp, name)(put(x), dtype=kind(xp, dtype))

    return make


def numbers_for(draw, dtype):
    if dtype == "bool":
        return draw(st.booleans())
    if dtype in INTEGERS:
        return draw(st.integers(*(int(getattr(np.iinfo(dtype), end)) for end in ("min", "max"))))
    real = st.floats(width=32)
    return draw(real if dtype in REALS else st.one_of(real, st.complex_numbers(max_magnitude=1e30)))


def full(draw):
    shape, dtype = draw(SHAPES), draw(st.sampled_from(draw.dtypes))
    number = numbers_for(draw, dtype)
    return lambda xp, put: xp.full(shape, number, dtype=kind(xp, dtype), device=put.device)


def full_like(draw):
    x = source(draw)
    number = numbers_for(draw, x.dtype)
    return lambda xp, put: xp.full_like(put(x), number)


def arange(draw):
    small = st.integers(-50, 50)
    step = small.filter(bool)
    limits = draw(st.one_of(st.tuples(small), st.tuples(small, small), st.tuples(small, small, step)))
    dtype = draw(st.sampled_from([None, "int32", "int64", "float32", "float64"]))
    if draw(st.booleans()):
        limits = tuple(n / 4 for n in limits)
        dtype = dtype if dtype is None or dtype in REALS else None
    return lambda xp, put: xp.arange(*limits, dtype=kind(xp, dtype), device=put.device)


def linspace(draw):
    ends = [draw(st.integers(-64, 64)) / 4 for _ in range(2)]
    num, endpoint = draw(st.integers(0, 20)), draw(st.booleans())
    dtype = draw(st.sampled_from([None, *REALS, *COMPLEX]))
    return lambda xp, put: xp.linspace(
        *ends, num, dtype=kind(xp, dtype), endpoint=endpoint, device=put.device
    )


def eye(draw):
    rows, columns = draw(st.integers(0, 5)), draw(st.one_of(st.none(), st.integers(0, 5)))
    k, dtype = draw(st.integers(-6, 6)), draw(st.sampled_from([None, *draw.dtypes]))
    return lambda xp, put: xp.eye(rows, columns, k=k, dtype=kind(xp, dtype), device=put.device)


def triangle(name):
    def make(draw):
        x, k = source(draw), draw(st.integers(-5, 5))
        return lambda xp, put: getattr(xp, name)(put(x), k=k)

    return make


def meshgrid(draw):
    dtype = draw(st.sampled_from(draw.dtypes))
    axes = [source(draw, (draw(st.integers(0, 3)),), [dtype]) for _ in range(draw(st.integers(1, 3)))]
    indexing = draw(st.sampled_from(["xy", "ij"]))
    return lambda xp, put: list(xp.meshgrid(*map(put, axes), indexing=indexing))


def asarray(draw):
    x, dtype, copy = source(draw), draw(st.sampled_from(draw.dtypes)), draw(st.sampled_from([None, True]))
    if draw(st.booleans()):
        listed = x.base.tolist()
        return lambda xp, put: xp.asarray(listed, dtype=kind(xp, x.dtype), device=put.device)
    dtype = x.dtype if dtype in INTEGERS or x.dtype in COMPLEX else dtype
    return lambda xp, put: xp.asarray(put(x), dtype=kind(xp, dtype), copy=copy)


def from_dlpack(draw):
    x = source(draw)
    return lambda xp, put: xp.from_dlpack(put(x))


# --- manipulation -----------------------------------------------------------------------------------------


def reshape(draw):
    x = source(draw)
    size = int(np.prod(x.shape, dtype=int))
    shapes = [(size,), (-1,), (1, size, 1), tuple(reversed(x.shape)), (2, -1), (-1, -1), (size + 1,)]
    shape, copy = draw(st.sampled_from(shapes)), draw(st.sampled_from([None, True]))
    return lambda xp, put: xp.reshape(put(x), shape, copy=copy)


def permute_dims(draw):
    x = source(draw)
    axes = tuple(draw(st.one_of(st.permutations(range(x.ndim)), st.just([0, 0]))))
    return lambda xp, put: xp.permute_dims(put(x), axes)


def moveaxis(draw):
    x = source(draw)
    at, to = axis_of(draw, x.ndim), axis_of(draw, x.ndim)
    if x.ndim > 1 and draw(st.booleans()):
        at, to = ([*draw(st.permutations(range(x.ndim)))][:2] for _ in range(2))
        at, to = tuple(at), tuple(to)
    return lambda xp, put: xp.moveaxis(put(x), at, to)


def one_axis(name, **more):
    """Functions of x and an axis."""

    def make(draw):
        x = source(draw)
        axis = axis_of(draw, x.ndim)
        return lambda xp, put: getattr(xp, name)(put(x), axis=axis, **more)

    return make


def unstack(draw):
    x = source(draw)
    axis = axis_of(draw, x.ndim)
    return lambda xp, put: tuple(xp.unstack(put(x), axis=axis))


def squeeze(draw):
    x = source(draw, hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=2))
    axis = axis_of(draw, x.ndim)
    if x.ndim and draw(st.booleans()):
        axis = tuple(draw(st.lists(st.integers(0, x.ndim - 1), max_size=2)))
    return lambda xp, put: xp.squeeze(put(x), axis)


def flip(draw):
    x = source(draw)
    axis = axes_of(draw, x.ndim)
    return lambda xp, put: xp.flip(put(x), axis=axis)


def roll(draw):
    x = source(draw)
    shift, axis = draw(st.integers(-9, 9)), draw(st.one_of(st.none(), st.just(axis_of(draw, x.ndim))))
    if x.ndim and draw(st.booleans()):
        axis = tuple(draw(st.lists(st.integers(-x.ndim, x.ndim - 1), min_size=1, max_size=2)))
        shift = tuple(draw(st.integers(-9, 9)) for _ in axis)
    return lambda xp, put: xp.roll(put(x), shift, axis=axis)


def repeat(draw):
    x = source(draw)
    axis = draw(st.one_of(st.none(), st.just(axis_of(draw, x.ndim, 0)))) if x.ndim else None
    length = x.shape[axis] if axis is not None else int(np.prod(x.shape, dtype=int))
    if draw(st.booleans()):
        count = draw(st.integers(0, 3))
        return lambda xp, put: xp.repeat(put(x), count, axis=axis)
    counts = plain(np.arange(length, dtype="int64") % 3)
    return lambda xp, put: xp.repeat(put(x), put(counts), axis=axis)


def tile(draw):
    x, repetitions = source(draw), tuple(draw(st.lists(st.integers(0, 2), max_size=4)))
    return lambda xp, put: xp.tile(put(x), repetitions)


def joined(name):
    def make(draw):
        x = source(draw)
        parts = [x]
        for _ in range(draw(st.integers(0, 2))):
            shape = draw(st.one_of(st.just(x.shape), st.just(x.shape), SHAPES))
            parts.append(source(draw, shape, [same_kind(draw, x.dtype)]))
        axis = axis_of(draw, x.ndim)
        if name == "concat" and draw(st.booleans()):
            axis = None
        return lambda xp, put: getattr(xp, name)([put(part) for part in parts], axis=axis)

    return make


def broadcast_to(draw):
    x = source(draw)
    wider = hnp.broadcastable_shapes(x.shape, min_dims=x.ndim, max_dims=5, min_side=0, max_side=3)
    shape = draw(st.one_of(wider, SHAPES))
    return lambda xp, put: xp.broadcast_to(put(x), shape)


def broadcast_arrays(draw):
    x, y = pair(draw)
    return lambda xp, put: list(xp.broadcast_arrays(put(x), put(y)))


def astype(draw):
    x = source(draw, dtypes=["bool", "int32", "float32"])
    x.base = np.nan_to_num(x.base, posinf=3, neginf=-3) if x.dtype == "float32" else x.base
    x.base = np.clip(x.base, -100, 100) if x.dtype != "bool" else x.base
    targets = ["bool", "int32", "float32", "float64", "complex64"]
    dtype, copy = draw(st.sampled_from(targets)), draw(st.booleans())
    return lambda xp, put: xp.astype(put(x), getattr(xp, dtype), copy=copy)


# --- comparison, selection and search ---------------------------------------------------------------------


def two(name):
    def make(draw):
        x, y = pair(draw)
        if draw(st.integers(0, 3)) == 0:
            number = numbers_for(draw, x.dtype)
            return lambda xp, put: getattr(xp, name)(put(x), number)
        return lambda xp, put: getattr(xp, name)(put(x), put(y))

    return make


def ordered(name):
    """Not of bool, whose order is ours alone; complex numbers have none."""

    def make(draw):
        if draw(st.integers(0, 5)) == 0:
            x = source(draw, dtypes=[d for d in draw.dtypes if d in COMPLEX])
            return lambda xp, put: getattr(xp, name)(put(x), put(x))
        real = [d for d in draw.dtypes if d in INTEGERS + REALS]
        x, y = pair(draw, real)
        if y.dtype in COMPLEX or y.dtype == "bool":
            y = x
        return lambda xp, put: getattr(xp, name)(put(x), put(y))

    return make


def truths(name):
    def make(draw):
        x = source(draw, dtypes=["bool", "bool", "int8"])
        shape = draw(hnp.broadcastable_shapes(x.shape, max_dims=4, max_side=4))
        y = source(draw, shape, ["bool"])
        return lambda xp, put: getattr(xp, name)(put(x), put(y))

    return make


def one(name):
    def make(draw):
        x = source(draw)
        return lambda xp, put: getattr(xp, name)(put(x))

    return make


def where(draw):
    x, y = pair(draw)
    condition = source(draw, draw(hnp.broadcastable_shapes(x.shape, max_dims=4, max_side=4)), ["bool"])
    if draw(st.integers(0, 3)) == 0:
        number = numbers_for(draw, x.dtype)
        return lambda xp, put: xp.where(put(condition), put(x), number)
    return lambda xp, put: xp.where(put(condition), put(x), put(y))


def reduction(name):
    def make(draw):
        several = hnp.array_shapes(min_dims=3, max_dims=4, min_side=1, max_side=4)
        x = source(draw, draw(st.sampled_from([SHAPES, several])))
        axis, keepdims = axes_of(draw, x.ndim), draw(st.booleans())
        return lambda xp, put: getattr(xp, name)(put(x), axis=axis, keepdims=keepdims)

    return make


def indices(draw, shape, length, checked=True):
    """Of either sign; now and then one that is out of range, where the function checks them."""
    low, high = (-length, length - 1) if length else (0, 0)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    base = rng.integers(low, high, shape, "int64", endpoint=True)
    if length == 0 and not checked:
        base = base[:0]
    if checked and base.size and draw(st.integers(0, 5)) == 0:
        base.flat[0] = length
    return plain(np.asarray(base))


def take(draw):
    x = source(draw)
    axis = axis_of(draw, x.ndim)
    length = x.shape[axis] if -x.ndim <= axis < x.ndim else 1
    full = 0 not in x.shape  # NumPy checks nothing where the result is empty
    index = indices(draw, (draw(st.integers(0, 4)),), length, draw.checked and full)
    return lambda xp, put: xp.take(put(x), put(index), axis=axis)


def take_along_axis(draw):
    x = source(draw, hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    axis = axis_of(draw, x.ndim, 0)
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 4))
    index = indices(draw, shape, x.shape[axis], draw.checked)
    return lambda xp, put: xp.take_along_axis(put(x), put(index), axis=axis)


# --- sorting and sets -------------------------------------------------------------------------------------


def sorting(name):
    """array_api_strict puts NaN first where it descends, and refuses bool: the standard leaves both open."""

    def call(draw):
        x = source(draw, dtypes=[dtype for dtype in draw.dtypes if dtype != "bool"])
        axis = axis_of(draw, x.ndim)
        descending = x.dtype in INTEGERS and draw(st.booleans())
        return lambda xp, put: getattr(xp, name)(put(x), axis=axis, descending=descending)

    return call


def searchsorted(draw):
    dtypes = [dtype for dtype in draw.dtypes if dtype in INTEGERS + REALS]
    x = source(draw, hnp.array_shapes(min_dims=1, max_dims=1, min_side=0, max_side=9), dtypes)
    values_ = source(draw, dtypes=[x.dtype])
    side = draw(st.sampled_from(["left", "right"]))
    return lambda xp, put: xp.searchsorted(xp.sort(put(x)), put(values_), side=side)


def unique(name):
    """NumPy's order of complex numbers with NaN is another one; its inverse numbers NaNs in any order."""

    def call(draw):
        without = COMPLEX + (REALS if name == "unique_inverse" else [])
        x = source(draw, dtypes=[dtype for dtype in draw.dtypes if dtype not in without])
        return lambda xp, put: getattr(xp, name)(put(x))

    return call


# --- indexing ---------------------------------------------------------------------------------------------


def key_of(draw, shape, newaxis=True):
    """A basic index that the standard has, of as many entries as there are axes, or an Ellipsis for some."""
    keys = []
    for length in shape:
        if draw(st.booleans()) or length == 0:
            bounds = st.one_of(st.none(), st.integers(0, length))
            step = draw(st.sampled_from([None, 1, 2, -1, -3]))
            start, stop = draw(bounds), draw(bounds)
            if step is not None and step < 0:  # the standard's bounds for these
                start, stop = (None if n in (None, length) else n for n in (start, stop))
            keys.append(slice(start, stop, step))
        else:
            keys.append(draw(st.integers(-length, length - 1 + (draw(st.integers(0, 9)) == 0))))
    if keys and draw(st.integers(0, 2)) == 0:
        at = draw(st.integers(0, len(keys) - 1))
        keys[at:] = [Ellipsis]
    if newaxis and draw(st.integers(0, 3)) == 0:
        keys.insert(draw(st.integers(0, len(keys))), None)
    return tuple(keys)


def getitem(draw):
    x = source(draw)
    key = key_of(draw, x.shape)
    return lambda xp, put: put(x)[key]


def mask_of(draw, x):
    shape = x.shape if draw(st.integers(0, 4)) else draw(SHAPES)
    return source(draw, shape, ["bool"])


def getitem_mask(draw):
    x = source(draw, hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    mask = mask_of(draw, x)
    return lambda xp, put: put(x)[put(mask)]


def arrays_of(draw, x):
    """An integer array, or an integer, for every axis."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3))
    return [
        draw(st.integers(-n, n - 1)) if i and draw(st.integers(0, 2)) == 0 else indices(draw, shape, n)
        for i, n in enumerate(x.shape)
    ]


def put_all(put, keys):
    return tuple(put(key) if isinstance(key, Source) else key for key in keys)


def getitem_integers(draw):
    x = source(draw, hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    keys = arrays_of(draw, x)
    return lambda xp, put: put(x)[put_all(put, keys)]


def assigned(draw, x, shape, dtype):
    """A value to assign: an array that broadcasts, or a number."""
    if draw(st.booleans()):
        return numbers_for(draw, x.dtype)
    return source(draw, draw(st.sampled_from([shape, shape[1:], ()])), [dtype])


def put_value(put, value):
    return put(value) if isinstance(value, Source) else value


def changed(x, key, value):
    x[key] = value
    return x


def setitem(draw):
    x = source(draw, writable=True)
    key = key_of(draw, x.shape, newaxis=False)
    n = np.empty(x.shape, "bool")
    try:
        shape, dtype = n[key].shape, same_kind(draw, x.dtype)
    except IndexError:  # one thing is wrong at a time
        shape, dtype = (), x.dtype
    value = assigned(draw, x, shape, dtype)
    return lambda xp, put: changed(put(x), key, put_value(put, value))


def setitem_mask(draw):
    x = source(draw, hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4), writable=True)
    mask, value = mask_of(draw, x), assigned(draw, x, (), x.dtype)
    return lambda xp, put: changed(put(x), put(mask), put_value(put, value))


CALLS = {
    **{name: creation(name) for name in ("zeros", "ones")},
    **{name: like(name) for name in ("zeros_like", "ones_like")},
    **{name: triangle(name) for name in ("tril", "triu")},
    **{f.__name__: f for f in (full, full_like, arange, linspace, eye, meshgrid, asarray, from_dlpack)},
    **{f.__name__: f for f in (reshape, permute_dims, moveaxis, unstack, squeeze, flip, roll, repeat, tile)},
    **{f.__name__: f for f in (broadcast_to, broadcast_arrays, astype, where, take, take_along_axis)},
    **{name: joined(name) for name in ("concat", "stack")},
    "expand_dims": one_axis("expand_dims"),
    **{n: two(n) for n in ("equal", "not_equal")},
    **{n: ordered(n) for n in ("less", "less_equal", "greater", "greater_equal")},
    **{n: truths(n) for n in ("logical_and", "logical_or", "logical_xor")},
    **{n: one(n) for n in ("logical_not", "isnan", "isinf", "isfinite", "matrix_transpose", "nonzero")},
    **{n: reduction(n) for n in ("all", "any", "count_nonzero")},
    **{name: sorting(name) for name in ("sort", "argsort")},
    **{n: unique(n) for n in ("unique_all", "unique_counts", "unique_inverse", "unique_values")},
    "searchsorted": searchsorted,
    **{f.__name__: f for f in (getitem, getitem_mask, getitem_integers)},
    **{f.__name__: f for f in (setitem, setitem_mask)},
}
