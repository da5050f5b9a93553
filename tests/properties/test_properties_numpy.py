"""Functions of NumPy and dpctl beyond the array API standard, against NumPy, in random memory layouts."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from layouts import Views
from standard_calls import INTEGERS, Source, assigned, axis_of, random_calls, source, values

import usmpy

ERRORS = (IndexError, ValueError, TypeError, OverflowError)
SOLID = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


class Ours:
    xp = usmpy

    def __init__(self, device):
        self.device = device

    def __call__(self, source):
        return source.seen(usmpy, usmpy.asarray(source.base, device=self.device, copy=True))


class Theirs:
    xp = np

    def __call__(self, source):
        return source.seen(Views, source.base.copy())


def result_of(call, put):
    try:
        return call(put), None
    except ERRORS as error:
        return None, error


def same(ours, theirs):
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for x, n in zip(ours, theirs, strict=True):
            same(x, n)
    elif isinstance(ours, usmpy.USMArray):
        theirs = np.asarray(theirs)
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype.name
        np.testing.assert_array_equal(ours.asnumpy(), theirs)
    else:
        assert ours == theirs


# --- shapes and orders ------------------------------------------------------------------------------------


def swapaxes(draw):
    x = source(draw)
    a, b = axis_of(draw, x.ndim), axis_of(draw, x.ndim)
    return lambda put: (put.xp.swapaxes(put(x), a, b), put(x).swapaxes(a, b))


def expand_dims(draw):
    x, n = source(draw), draw(st.integers(0, 3))
    ndim = x.ndim + n
    axes = draw(st.lists(st.integers(-ndim - 1, ndim), min_size=n, max_size=n)) if ndim else []
    return lambda put: put.xp.expand_dims(put(x), axis=tuple(axes))


def squeeze(draw):
    x = source(draw, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=2))
    return lambda put: (put.xp.squeeze(put(x)), put(x).squeeze())


def shape_of_as_many(draw, x):
    size = int(np.prod(x.shape))
    first = draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0] or [0, 3]))
    rest = -1 if first and draw(st.booleans()) else size // first if first else 2
    return draw(st.permutations([first, rest]))


def reshape(draw):
    x, order = source(draw), draw(st.sampled_from("CFA"))
    shape = tuple(shape_of_as_many(draw, x))
    return lambda put: (
        put.xp.reshape(put(x), shape, order=order),
        put(x).reshape(*shape, order=order),
        put(x).ravel(order=order),
        put(x).flatten(order=order),
    )


def bytes_of(draw):
    x, order = source(draw), draw(st.sampled_from("CFA"))
    return lambda put: put(x).tobytes(order)


def in_order(result):
    """An array, and how it lies in memory where that can be told apart."""
    flags = result.flags
    lies = flags.c_contiguous, flags.f_contiguous
    return result, lies if 0 not in result.shape else None


def copies(draw):
    x, order = source(draw), draw(st.sampled_from("CFA"))
    dtype = x.dtype if "complex" in x.dtype else draw(st.sampled_from(["float32", "complex64"]))
    return lambda put: (
        *in_order(put(x).copy(order=order)),
        *in_order(put(x).astype(dtype, order=order)),
        *in_order(put.xp.asarray(put(x), order=order, copy=True)),
        *in_order(put.xp.zeros_like(put(x), order=order)),
        *in_order(put.xp.zeros(x.shape, order="F")),
    )


def kept(draw):
    """Order "K" of what is compact in some order of its axes."""
    x = source(draw, SOLID)
    plain = all(kind == "permute_dims" for kind, _ in x.layout.views)
    if not plain:
        return lambda put: (put(x).copy(order="K"), put.xp.zeros_like(put(x)))
    return lambda put: (
        *in_order(put(x).copy(order="K")),
        *in_order(put.xp.ones_like(put(x))),
        *in_order(put.xp.full_like(put(x), 1)),
    )


def triangles(draw):
    x = source(draw, hnp.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4))
    k = draw(st.integers(-5, 5))
    return lambda put: (put.xp.tril(put(x), k=k), put.xp.triu(put(x), k=k))


def filled(draw):
    x = source(draw)
    value = source(draw, x.shape[draw(st.integers(0, x.ndim)) :], [x.dtype])
    return lambda put: (put.xp.full(x.shape, put(value)), put.xp.full_like(put(x), put(value)))


# --- truth and comparisons --------------------------------------------------------------------------------


def mixed(draw):
    """Any two real types, also integers without a common integer type."""
    real = [name for name in draw.dtypes if "complex" not in name and name != "bool"]
    x = source(draw, dtypes=[name for name in real if "int" in name])
    y = source(draw, draw(hnp.broadcastable_shapes(x.shape, max_dims=4, min_side=0, max_side=4)), real)
    if "float" in y.dtype:
        y.base[...] = np.nan_to_num(y.base)
        x.base[...] = x.base % 100  # what every type of floating point holds
    relations = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    name = draw(st.sampled_from(relations))
    return lambda put: (getattr(put.xp, name)(put(x), put(y)), getattr(put.xp, name)(put(y), put(x)))


def beyond(draw):
    """Integers that the type of the array may not hold."""
    x = source(draw, dtypes=[name for name in draw.dtypes if name in INTEGERS])
    number = draw(st.sampled_from([0, -1, 255, 256, -129, 2**63, 2**64, -(2**63) - 1, 10**30, -(10**30)]))
    name = draw(st.sampled_from(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]))
    return lambda put: getattr(put.xp, name)(put(x), number)


def logical(draw):
    x = source(draw)
    y = source(draw, draw(hnp.broadcastable_shapes(x.shape, max_dims=4, min_side=0, max_side=4)))
    name = draw(st.sampled_from(["logical_and", "logical_or", "logical_xor"]))
    return lambda put: (getattr(put.xp, name)(put(x), put(y)), put.xp.logical_not(put(x)))


def bits(draw):
    x = source(draw, dtypes=["bool"])
    y = source(draw, draw(hnp.broadcastable_shapes(x.shape, max_dims=4, min_side=0, max_side=4)), ["bool"])

    def in_place(a, b):
        a &= b
        return a

    wide = np.broadcast_shapes(x.shape, y.shape) == x.shape and x.layout.writable
    return lambda put: (
        *(put(x) & put(y), put(x) | put(y), put(x) ^ put(y), ~put(x), put(x) & True, False | put(x)),
        *((in_place(put(x), put(y)),) if wide else ()),
    )


def chosen(draw):
    """where() with conditions of any type, numbers on either side, and alone."""
    condition, x = source(draw), source(draw, ())
    number = draw(st.sampled_from([0, 1])) if x.dtype == "bool" else 1
    x = x if x.dtype != "bool" else source(draw, (), ["int8"])
    y = source(draw, condition.shape, [x.dtype])
    solid = condition if condition.ndim else source(draw, (1,))
    return lambda put: (
        put.xp.where(put(condition), put(x), number),
        put.xp.where(put(condition), number, put(y)),
        put.xp.where(put(condition), put(x), put(y)),
        put.xp.where(put(solid)),
    )


def in_out(put, function, dtype, *sources):
    """Into an array that lies elsewhere, and into one over the same memory, backwards."""
    arrays = [put(x) for x in sources]
    shape = np.broadcast_shapes(*(x.shape for x in sources))
    apart = put(Source(np.zeros(shape[::-1], dtype), drawn_over(shape)))
    results = [function(*arrays, out=apart)]
    first = sources[0]
    if first.shape == shape and first.dtype == dtype and first.layout.writable and shape:
        function(*arrays, out=arrays[0][::-1])
        results.append(arrays[0])
    return (*results, apart)


class drawn_over:
    """A column-major array of a shape, from a row-major base of the shape turned."""

    def __init__(self, shape):
        self.shape = shape

    def seen(self, xp, x):
        return xp.permute_dims(x, tuple(range(len(self.shape)))[::-1])


def out(draw):
    name = draw(st.sampled_from(["logical_and", "equal", "logical_not", "isnan", "where", "take"]))
    if name == "take":
        x = source(draw, SOLID, draw.dtypes)
        axis = draw(st.integers(0, x.ndim - 1))
        index = np.asarray([draw(st.integers(0, x.shape[axis] - 1)) for _ in range(x.shape[axis])])

        def take(a, out):
            return (usmpy if isinstance(a, usmpy.USMArray) else np).take(a, index, axis=axis, out=out)

        return lambda put: in_out(put, take, x.dtype, x)
    if name == "where":
        x = source(draw)
        y = source(draw, x.shape, [x.dtype])
        condition = source(draw, x.shape, ["bool"])
        return lambda put: in_out(put, where_into(put), x.dtype, x, y, condition)
    x = source(draw, dtypes=["bool", draw(st.sampled_from(draw.dtypes))])
    others = [source(draw, x.shape, [x.dtype])] if name in ("logical_and", "equal") else []
    return lambda put: in_out(put, getattr(put.xp, name), "bool", x, *others)


def where_into(put):
    def where(x, y, condition, out):
        if put.xp is usmpy:
            return usmpy.where(condition, x, y, out=out)
        out[...] = np.where(condition, x, y)  # NumPy's has no out
        return out

    return where


# --- indices ----------------------------------------------------------------------------------------------


def distinct(draw, length, n=None):
    """Indices of either sign that name different places; now and then one is out of range."""
    places = draw(st.permutations(range(length)))[: draw(st.integers(0, length)) if n is None else n]
    indices = [place - length * draw(st.booleans()) for place in places]
    if indices and draw.checked and draw(st.integers(0, 5)) == 0:
        indices[0] = length
    return indices


def form_of(draw, indices):
    """A list, a tuple of an array, an array of NumPy, or a Source."""
    form = draw(st.sampled_from(["list", "array", "usm"]))
    array = np.asarray(indices, "int64")
    return indices if form == "list" else array if form == "array" else Source(array, plain_layout(array))


class plain_layout:
    def __init__(self, array):
        self.shape = array.shape

    def seen(self, xp, x):
        return x


def given_as(put, key):
    return put(key) if isinstance(key, Source) else key


def put_(draw):
    x = source(draw, SOLID, writable=True)
    axis = draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    length = int(np.prod(x.shape)) if axis is None else x.shape[axis]
    indices = distinct(draw, length)
    form = form_of(draw, indices)
    shape = (
        (len(indices),)
        if axis is None
        else tuple(len(indices) if i == axis % x.ndim else n for i, n in enumerate(x.shape))
    )
    vals = assigned(draw, x, shape, x.dtype)
    if isinstance(vals, Source) and vals.shape != shape:
        vals = source(draw, shape, [x.dtype])

    def call(put):
        array, content = put(x), given_as(put, vals)
        if put.xp is usmpy:
            usmpy.put(array, given_as(put, form), content, axis=axis)
        elif axis is None:
            np.put(array, np.asarray(indices, int), content)
        else:
            array[(slice(None),) * (axis % x.ndim) + (np.asarray(indices, int),)] = content
        return array

    return call


def put_along_axis(draw):
    x = source(draw, SOLID, writable=True)
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    n = draw(st.integers(0, x.shape[axis]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    order = np.argsort(rng.random(x.shape), axis=axis)
    index = np.take(order, range(n), axis=axis) - (x.shape[axis] if draw(st.booleans()) else 0)
    vals = assigned(draw, x, index.shape, x.dtype)
    if isinstance(vals, Source) and vals.shape not in (index.shape, ()):
        vals = source(draw, index.shape, [x.dtype])
    form = Source(index, plain_layout(index)) if draw(st.booleans()) else index

    def call(put):
        array = put(x)
        put.xp.put_along_axis(array, given_as(put, form), given_as(put, vals), axis=axis)
        return array

    return call


def place(draw):
    x = source(draw, SOLID, writable=True)
    mask = source(draw, x.shape)
    vals = source(draw, (draw(st.integers(0, 5)),), [x.dtype])

    def call(put):
        array = put(x)
        put.xp.place(array, put(mask), put(vals))
        return array

    return lambda put: (call(put), put.xp.extract(put(mask), put(x)))


def key_of_lists(draw, shape):
    """Lists, ranges, NumPy's arrays and booleans beside basic indices."""
    n = draw(st.integers(0, 3))
    keys = []
    for length in shape:
        form = draw(st.sampled_from(["list", "range", "numpy", "slice", "int", "mask", "nested"]))
        indices = [draw(st.integers(-length, length - 1)) for _ in range(n)]
        if form == "range":
            keys.append(range(min(n, length)) if n <= length else indices)
        elif form == "mask":  # as many as the others have
            trues = draw(st.permutations(range(length)))[:n]
            keys.append([i in trues for i in range(length)] if n <= length else indices)
        elif form == "nested":
            keys.append([indices])
        elif form == "slice":
            keys.append(draw(st.slices(length)))
        elif form == "int":
            keys.append(draw(st.integers(-length, length - 1 + (draw(st.integers(0, 9)) == 0))))
        else:
            keys.append(np.asarray(indices, "int32") if form == "numpy" else indices)
    keys = keys[: draw(st.integers(1, len(keys)))]
    if draw(st.integers(0, 3)) == 0:
        keys.insert(draw(st.integers(0, len(keys))), draw(st.sampled_from([None, Ellipsis])))
    return keys[0] if len(keys) == 1 and draw(st.booleans()) else tuple(keys)


def by_lists(draw):
    x = source(draw, SOLID)
    key = key_of_lists(draw, x.shape)
    return lambda put: put(x)[numpy_key(put, key)]


def numpy_key(put, key):
    """NumPy asks for lists where usmpy takes ranges."""
    if put.xp is usmpy:
        return key
    keys = key if isinstance(key, tuple) else (key,)
    keys = tuple(list(k) if isinstance(k, range) else k for k in keys)
    return keys if isinstance(key, tuple) else keys[0]


def set_by_lists(draw):
    x = source(draw, SOLID, writable=True)
    key = key_of_lists(draw, x.shape)
    value = draw(st.sampled_from(["number", "list", "numpy", "usm"]))
    try:
        one = np.empty(x.shape)[numpy_key(Theirs(), key)].shape == ()
    except IndexError:
        one = True
    content = values((1,), x.dtype, 5)
    value = "number" if one else value  # NumPy puts no list into one element
    given = {"number": content[0].item(), "list": content.tolist(), "numpy": content}
    given["usm"] = Source(content, plain_layout(content))

    def call(put):
        array = put(x)
        array[numpy_key(put, key)] = given_as(put, given[value])
        return array

    return call


# --- sequences of arrays ----------------------------------------------------------------------------------


def sequences(draw):
    shape = draw(
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3)
    )  # [] tells less than a shape
    first = source(draw, shape)
    deep, n = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    wrong = draw(st.integers(0, 9)) == 0

    def leaf():
        form = draw(st.sampled_from(["usm", "usm", "numpy", "list"]))
        x = source(draw, (*shape, 2) if wrong and draw(st.booleans()) else shape, [first.dtype])
        if form == "usm":
            return x
        array = x.seen(Views, x.base)
        return array if form == "numpy" else array.tolist()

    tree = [[leaf() for _ in range(n)] if deep == 2 else leaf() for _ in range(draw(st.integers(1, 3)))]
    tree[0] = first if deep == 1 else [first, *tree[0][1:]]

    def filled(put, node):
        if isinstance(node, list) and any(isinstance(item, (Source, list, np.ndarray)) for item in node):
            return [filled(put, item) for item in node]
        return given_as(put, node)

    if first.dtype != "bool" and any(kind in first.dtype for kind in ("float32", "complex64", "int")):
        # Python's numbers in lists follow the arrays, which NumPy's do not everywhere.
        return lambda put: put.xp.asarray(filled(put, tree), dtype=first.dtype)
    return lambda put: put.xp.asarray(filled(put, tree))


CASES = [swapaxes, expand_dims, squeeze, reshape, bytes_of, copies, kept, triangles, filled]
CASES += [mixed, beyond, logical, bits, chosen, out]
CASES += [put_, put_along_axis, place, by_lists, set_by_lists, sequences]


@pytest.mark.parametrize("case", CASES, ids=[case.__name__.strip("_") for case in CASES])
def test_as_numpy_has_it(backend, device, case):
    @random_calls(backend, device, few=8)
    def check(draw):
        call = case(draw)
        theirs, refused = result_of(call, Theirs())
        ours, error = result_of(call, Ours(device))
        assert (error is None) == (refused is None), repr(error or refused)
        if error is None:
            same(ours, theirs)
