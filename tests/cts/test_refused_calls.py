"""Refused arguments of indices, array functions, arithmetic, reductions, sorts and products.

The class of the exception and its text, and that nothing is written.
"""

import numpy as np
import pytest

import usmpy

# s.x: int64 (3, 4); s.f: the same in float32; s.b: x > 4; s.v(...): a vector of int64, s.m(...): a mask.
INDICES = [
    (IndexError, r"index 3 is out of range for axis 0 with length 3", lambda s: 3),
    (IndexError, r"index -4 is out of range for axis 0", lambda s: -4),
    (IndexError, r"index 4 is out of range for axis 1 with length 4", lambda s: (0, 4)),
    (IndexError, r"index 3 is out of range", lambda s: (None, 3)),
    (IndexError, r"too many indices: 3 given, the array has 2", lambda s: (0, 0, 0)),
    (IndexError, r"several Ellipses", lambda s: (..., 0, ...)),
    (IndexError, r"a mask of shape \(2,\) does not fit axes 0", lambda s: s.m(1, 0)),
    (IndexError, r"a mask of shape \(2, 4\) does not fit axes 0 to 1 of", lambda s: s.b[:2]),
    (IndexError, r"a mask of shape \(3,\) does not fit axes 1", lambda s: (slice(None), s.m(1, 0, 1))),
    (IndexError, r"index 99 in an index array is out of range", lambda s: s.v(0, 99)),
    (IndexError, r"index -4 in an index array is out of range", lambda s: s.v(-4)),
    (IndexError, r"index 99 in an index array .* length 4", lambda s: (0, s.v(99))),
    (IndexError, r"shapes \(2,\) and \(3,\) do not broadcast", lambda s: (s.v(0, 1), s.v(0, 1, 2))),
    (IndexError, r"an index array has dtype float32", lambda s: s.f),
    (IndexError, r"'a' is not an index", lambda s: "a"),
    (IndexError, r"1.0 is not an index", lambda s: 1.0),
    (ValueError, r"slice step cannot be zero", lambda s: slice(None, None, 0)),
]

# In the order of the errors: which value, where, why not.
VALUES = [
    (ValueError, r"value of shape \(3,\) does not broadcast to shape \(4,\)", lambda s: (0, s.v(1, 2, 3))),
    (ValueError, r"value of shape \(3,\) does not broadcast", lambda s: (s.m(1, 0, 1), s.v(1, 2, 3))),
    (ValueError, r"value of shape \(3,\) does not broadcast", lambda s: (s.v(0, 1), s.v(1, 2, 3))),
    (TypeError, r"dtype float32, .*same_kind.* cast to int64", lambda s: (0, s.f[0])),
    (TypeError, r"dtype float32, .*same_kind.* cast to int64", lambda s: (s.b, s.f[0, 0])),
    (TypeError, r"float cannot be converted to dtype int64", lambda s: (0, 1.5)),
    (TypeError, r"float cannot be converted to dtype int64", lambda s: (s.b, 1.5)),
    (TypeError, r"complex cannot be converted to dtype int64", lambda s: (s.v(0), 1j)),
    (OverflowError, r"does not fit into dtype int64", lambda s: (0, 2**70)),
    (OverflowError, r"does not fit into dtype int64", lambda s: (s.b, 2**70)),
    (TypeError, r"neither an array nor a number", lambda s: (0, "a")),
]

BROADCAST = [
    (r"equal\(\): shapes \(3, 4\) and \(3,\)", lambda s: usmpy.equal(s.x, s.v(1, 2, 3))),
    (r"where\(\): shapes", lambda s: usmpy.where(s.m(1, 0), s.x, s.x)),
    (r"\(3, 4\) does not broadcast to \(2, 4\)", lambda s: usmpy.broadcast_to(s.x, (2, 4))),
    (r"argument 1 of shape \(3,\)", lambda s: usmpy.broadcast_arrays(s.x, s.v(1, 2, 3))),
    (r"argument 1 of shape \(4,\)", lambda s: usmpy.broadcast_shapes((2, 3), (4,))),
    (r"copyto\(\): src of shape \(2, 4\)", lambda s: usmpy.copyto(s.x, s.x[:2])),
    (
        r"arrays\[1\] has shape \(3, 3\) and .* \(3, 4\); they may differ along axis 0 only",
        lambda s: usmpy.concat([s.x, s.x[:, :3]], axis=0),
    ),
    (
        r"arrays\[1\] has shape \(2, 4\) and .* \(3, 4\); they may differ along axis 1 only",
        lambda s: usmpy.concat([s.x, s.x[:2]], axis=1),
    ),
    (
        r"arrays\[1\] has shape \(4,\) and .* \(3, 4\); they must be equal",
        lambda s: usmpy.stack([s.x, s.x[0]]),
    ),
    (r"indices of shape \(2, 3\)", lambda s: usmpy.take_along_axis(s.x, s.x[:2, :3], axis=0)),
]

# Functions of an axis: the name of the argument, and calls by axis.
AXES = {
    "concat": ("axis", lambda s, a: usmpy.concat([s.x, s.x], axis=a)),
    "stack": ("axis", lambda s, a: usmpy.stack([s.x[0], s.x[0]], axis=a)),
    "unstack": ("axis", lambda s, a: usmpy.unstack(s.x, axis=a)),
    "flip": ("axis", lambda s, a: usmpy.flip(s.x, axis=a)),
    "roll": ("axis", lambda s, a: usmpy.roll(s.x, 1, axis=a)),
    "moveaxis from": ("source", lambda s, a: usmpy.moveaxis(s.x, a, 0)),
    "moveaxis to": ("destination", lambda s, a: usmpy.moveaxis(s.x, 0, a)),
    "permute_dims": ("axes", lambda s, a: usmpy.permute_dims(s.x, (0, a))),
    "expand_dims": ("axis", lambda s, a: usmpy.expand_dims(s.x[0], axis=a)),
    "squeeze": ("axis", lambda s, a: usmpy.squeeze(s.x, a)),
    "repeat": ("axis", lambda s, a: usmpy.repeat(s.x, 2, axis=a)),
    "take": ("axis", lambda s, a: usmpy.take(s.x, s.v(0), axis=a)),
    "take_along_axis": ("axis", lambda s, a: usmpy.take_along_axis(s.x, s.x, axis=a)),
    "all": ("axis", lambda s, a: usmpy.all(s.x, axis=a)),
    "any": ("axis", lambda s, a: usmpy.any(s.x, axis=a)),
    "count_nonzero": ("axis", lambda s, a: usmpy.count_nonzero(s.x, axis=a)),
}
REPEATED = [
    (r"axis is \(0, 0\); axis 0 is repeated", lambda s: usmpy.flip(s.x, axis=(0, 0))),
    (r"axis is \(0, -2\); axis 0 is repeated", lambda s: usmpy.any(s.x, axis=(0, -2))),
    (r"axis is \(1, 1\); axis 1 is repeated", lambda s: usmpy.count_nonzero(s.x, axis=(1, 1))),
    (r"axes is \(0, 0\); axis 0 is repeated", lambda s: usmpy.permute_dims(s.x, (0, 0))),
    (r"source is \(0, 0\); axis 0", lambda s: usmpy.moveaxis(s.x, (0, 0), (0, 1))),
    (r"destination is \(1, -1\); axis 1", lambda s: usmpy.moveaxis(s.x, (0, 1), (1, -1))),
    (r"axis is \(0, 0\); axis 0", lambda s: usmpy.squeeze(s.x[:1], (0, 0))),
]
SIZES = [
    (r"shape \(1099511627776, 1099511627776\)", lambda s: usmpy.zeros((2**40, 2**40), queue=s.q)),
    (r"more bytes than an address", lambda s: usmpy.empty(2**61, dtype="float32", queue=s.q)),
    (r"shape \(1099511627776, 1099511627776\)", lambda s: usmpy.eye(2**40, 2**40, queue=s.q)),
    (r"arange\(\) would have more than 2", lambda s: usmpy.arange(0, 2**63, queue=s.q)),
    (r"start and stop must be finite", lambda s: usmpy.arange(0, float("inf"), queue=s.q)),
    (r"repeat\(\): the result", lambda s: usmpy.repeat(s.x, 2**62)),
    (r"tile\(\): the result", lambda s: usmpy.tile(s.x, (2**62, 4))),
    (r"12 elements cannot be reshaped", lambda s: usmpy.reshape(s.x, (2**62, 2**62))),
]
DTYPES = [
    (r"x1 and x2 .* complex64", lambda s: usmpy.less(s.f.astype("complex64"), s.f)),
    (r"x2 has dtype uint64", lambda s: usmpy.where(s.b, s.x, s.x.astype("uint64"))),
    (r"indices has dtype float32", lambda s: usmpy.take(s.x, s.f[0], axis=0)),
    (r"indices has dtype float32", lambda s: usmpy.take_along_axis(s.x, s.f, axis=0)),
    (r"arrays\[1\] has dtype uint64", lambda s: usmpy.concat([s.x, s.x.astype("uint64")])),
    (
        r"dtype int64 and uint64, which have no common type",
        lambda s: usmpy.asarray([s.x, s.x.astype("uint64")]),
    ),
    (r"src has dtype float32", lambda s: usmpy.copyto(s.x, s.f)),
    (r"dtype is bool", lambda s: usmpy.arange(3, dtype="bool", queue=s.q)),
    (r"dtype is bool", lambda s: usmpy.linspace(0, 1, 3, dtype="bool", queue=s.q)),
    (r"complex64 cannot be cast to float32", lambda s: s.f.astype("complex64").astype("float32")),
    (r"^fill_value: .*\bstr\b", lambda s: usmpy.full(2, "a", queue=s.q)),
    (r"^fill_value: .*\bobject\b", lambda s: usmpy.full_like(s.x, [object()])),
    (r"type is usmpy.int8", lambda s: usmpy.finfo(usmpy.int8)),
    (r"type is usmpy.float32", lambda s: usmpy.iinfo(usmpy.float32)),
]


class Things:
    def __init__(self, queue):
        self.q = queue
        self.n = np.arange(12).reshape(3, 4)
        self.x = usmpy.asarray(self.n, queue=queue, copy=True)
        self.f = usmpy.asarray(self.n.astype("float32"), queue=queue, copy=True)
        self.b = self.x > 4

    def v(self, *numbers):
        return usmpy.asarray(np.asarray(numbers, "int64"), queue=self.q, copy=True)

    def m(self, *bits):
        return usmpy.asarray(np.asarray(bits, bool), queue=self.q, copy=True)


@pytest.fixture
def things(queue):
    things = Things(queue)
    yield things
    np.testing.assert_array_equal(things.x.asnumpy(), things.n)
    np.testing.assert_array_equal(things.f.asnumpy(), things.n)


def refused(error, match, call, *arguments):
    with pytest.raises(error, match=match) as caught:
        call(*arguments)
    assert type(caught.value) is error


def test_indices(things):
    for error, match, key in INDICES:
        refused(error, match, things.x.__getitem__, key(things))
        refused(error, match, things.x.__setitem__, key(things), 1)
        refused(error, match, things.x.__setitem__, key(things), things.x[:1, :1])


def test_values_that_are_put_in(things):
    for error, match, make in VALUES:
        refused(error, match, things.x.__setitem__, *make(things))


def test_read_only_arrays(things):
    y = usmpy.broadcast_to(things.x[0], (3, 4))
    for key in (0, things.b, things.v(0)):
        refused(ValueError, "read-only", y.__setitem__, key, 1)
    refused(ValueError, "read-only", usmpy.copyto, y, things.x)


def test_shapes_that_do_not_broadcast(things):
    for match, call in BROADCAST:
        refused(ValueError, match, call, things)


@pytest.mark.parametrize("name", AXES)
def test_axes_out_of_range(things, name):
    argument, call = AXES[name]
    for axis in (2, -3, 2**70):
        refused(usmpy.AxisError, rf"{argument} is", call, things, axis)
    for axis in ("0", 0.5):
        refused(TypeError, argument, call, things, axis)


def test_an_axis_error_is_both_of_numpys_bases():
    assert issubclass(usmpy.AxisError, ValueError)
    assert issubclass(usmpy.AxisError, IndexError)
    assert usmpy.AxisError.__mro__[1:3] == np.exceptions.AxisError.__mro__[1:3]


def test_axes_that_are_repeated(things):
    for match, call in REPEATED:
        refused(ValueError, match, call, things)


def test_sizes_that_overflow(things):
    for match, call in SIZES:
        refused(ValueError, match, call, things)


def test_types_that_a_function_does_not_take(things):
    for match, call in DTYPES:
        refused(TypeError, match, call, things)


def test_sources_and_destinations_that_overlap(queue):
    n = np.arange(1000).reshape(20, 50)
    for dst, src in [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[:, ::-1], np.s_[:, :]),
        (np.s_[:10, 5:], np.s_[4:14, :-5]),
        (np.s_[::2], np.s_[:10]),
    ]:
        x, m = usmpy.asarray(n, queue=queue, copy=True), n.copy()
        x[dst] = x[src]
        m[dst] = n[src]
        np.testing.assert_array_equal(x.asnumpy(), m)
    x, m = usmpy.asarray(n, queue=queue, copy=True), n.copy()
    x[x[:, 0] > 500] = x[0]
    m[m[:, 0] > 500] = n[0]
    order = usmpy.asarray(np.arange(20)[::-1].copy(), queue=queue)
    x[order] = x
    m = m[::-1]
    np.testing.assert_array_equal(x.asnumpy(), m)


NUMBERS = np.arange(12, dtype="float32").reshape(3, 4)


class Operands:
    """x: float32, i: int8, c: complex64, m: bool, s: a type that is only stored; far: x on another queue."""

    def __init__(self, queue):
        self.x = usmpy.asarray(NUMBERS, queue=queue, copy=True)
        self.i, self.c, self.m = (self.x.astype(dtype) for dtype in ("int8", "complex64", "bool"))
        self.s = usmpy.empty((3, 4), dtype=usmpy.float8_e5m2, queue=queue)
        self.far = usmpy.asarray(NUMBERS, queue=usmpy.Queue(queue.device), copy=True)


@pytest.fixture
def operands(queue):
    operands = Operands(queue)
    yield operands
    for x in (operands.x, operands.i, operands.c, operands.far):
        np.testing.assert_array_equal(x.asnumpy(), NUMBERS.astype(x.dtype.name))
    np.testing.assert_array_equal(operands.m.asnumpy(), NUMBERS != 0)


BINARY = ["add", "multiply", "floor_divide", "maximum", "pow", "atan2", "less", "equal"]
BINARY += ["matmul", "tensordot", "vecdot", "isin"]


@pytest.mark.parametrize("name", BINARY)
def test_arrays_of_two_queues(name, operands):
    function = getattr(usmpy, name)
    for call in (lambda t: function(t.x, t.far), lambda t: function(t.far, t.x)):
        refused(usmpy.ExecutionPlacementError, rf"{name}.*(x1[\s\S]*x2|queue)", call, operands)


def test_other_arguments_of_another_queue(operands):
    calls = {
        "clip[\\s\\S]*min": lambda t: usmpy.clip(t.x, t.far, 1),
        "clip[\\s\\S]*max": lambda t: t.x.clip(1, t.far),
        "diff[\\s\\S]*prepend": lambda t: usmpy.diff(t.x, prepend=t.far),
        "diff[\\s\\S]*append": lambda t: usmpy.diff(t.x, append=t.far),
        "searchsorted[\\s\\S]*x1[\\s\\S]*x2": lambda t: usmpy.searchsorted(t.x[0], t.far[0]),
        "add[\\s\\S]*out": lambda t: usmpy.add(t.x, 1, out=t.far),
        "sqrt[\\s\\S]*out": lambda t: usmpy.sqrt(t.x, out=t.far),
        "subtract[\\s\\S]*x1[\\s\\S]*x2": lambda t: t.x.__isub__(t.far),
        "matmul[\\s\\S]*x2": lambda t: t.x @ t.far.mT,
    }
    for match, call in calls.items():
        refused(usmpy.ExecutionPlacementError, match, call, operands)


COMPLEX_HAS_NO_ORDER = ["max", "min", "argmax", "argmin", "sort", "argsort", "clip", "var", "std"]
STORED = ["sum", "prod", "max", "argmin", "mean", "var", "clip", "sort", "argsort", "unique_values", "diff"]
STORED += ["sqrt", "negative", "abs", "isfinite", "std", "argmax", "cumulative_sum"]
STORED += ["unique_counts", "unique_inverse", "unique_all"]


def test_types_without_the_operation(operands):
    for name in COMPLEX_HAS_NO_ORDER:
        refused(
            TypeError,
            rf"{name}\(\): x has dtype complex64; ",
            lambda t, n=name: getattr(usmpy, n)(t.c),
            operands,
        )
    for name in STORED:
        refused(TypeError, rf"^{name}\(\): .*float8_e5m2", lambda t, n=name: getattr(usmpy, n)(t.s), operands)
    for name in ("isin", "searchsorted"):
        for i in (1, 2):
            for other in ("x", "s"):

                def call(t, name=name, other=other, i=i):
                    other = getattr(t, other).reshape((-1,))
                    return getattr(usmpy, name)(*((t.s, other) if i == 1 else (other, t.s)))

                refused(TypeError, rf"^{name}\(\): x[12] has dtype float8_e5m2", call, operands)
        refused(
            TypeError,
            rf"^{name}\(\): .*no common type",
            lambda t, n=name: getattr(usmpy, n)(t.i[0], t.i.astype("uint64")),
            operands,
        )
    for name in ("maximum", "floor_divide", "remainder", "atan2", "hypot", "less"):
        refused(TypeError, rf"{name}\(\).*complex64", lambda t, n=name: getattr(usmpy, n)(t.c, t.c), operands)
    for name in ("add", "subtract", "multiply", "pow", "floor_divide", "maximum", "bitwise_left_shift"):
        match = rf"{name}\(\) is not defined for dtype bool.*allowed"
        refused(TypeError, match, lambda t, n=name: getattr(usmpy, n)(t.m, t.m), operands)
    others = {
        r"negative\(\) is not defined for dtype bool, which x has": lambda t: -t.m,
        r"max\(\): x has dtype bool": lambda t: usmpy.max(t.m),
        r"bitwise_invert\(\) is not defined for dtype float32": lambda t: ~t.x,
        r"bitwise_and\(\) is not defined for dtype float32.*bool and integers": lambda t: t.x & t.x,
        r"matmul\(\): the common type of x1 and x2 is bool": lambda t: t.m @ t.m.mT,
        r"dtype is bool; types of integers": lambda t: usmpy.sum(t.x, dtype="bool"),
        r"dtype is float32, and x has complex": lambda t: usmpy.sum(t.c, dtype="float32"),
        r"dtype is float8_e5m2": lambda t: usmpy.cumulative_sum(t.x[0], dtype=usmpy.float8_e5m2),
        r"add\(\): .* no common type": lambda t: usmpy.add(t.i, t.i.astype("uint64")),
        r"does not cast to int8, the dtype of x1, in place": lambda t: t.i.__iadd__(t.x),
        r"divide\(\).*does not cast to int8": lambda t: t.i.__itruediv__(2),
        r"^isin\(\): x1 has dtype float8_e5m2": lambda t: usmpy.isin(t.s, 1),
        r"^searchsorted\(\): x1 has dtype float8_e5m2": lambda t: usmpy.searchsorted(t.s, 1),
        r"^clip\(\): max has dtype float8_e5m2": lambda t: usmpy.clip(t.x, None, t.s),
        r"^clip\(\): .*no common type": lambda t: usmpy.clip(t.i, t.i.astype("uint64")),
        r"^diff\(\): prepend has dtype float8_e5m2": lambda t: usmpy.diff(t.x, prepend=t.s),
        r"^diff\(\): .*no common type": lambda t: usmpy.diff(t.i, append=t.i.astype("uint64")),
    }
    for match, call in others.items():
        refused(TypeError, match, call, operands)


REDUCED_AXES = ["sum", "prod", "max", "min", "argmax", "argmin", "mean", "var", "std", "cumulative_sum"]
REDUCED_AXES += ["cumulative_prod", "sort", "argsort", "diff"]


@pytest.mark.parametrize("name", REDUCED_AXES)
def test_axes(name, operands):
    function = getattr(usmpy, name)
    for axis in (2, -3, 2**70):
        refused(
            usmpy.AxisError,
            rf"axis is {axis}; .*-2 to 1 are allowed",
            lambda t, a=axis: function(t.x, axis=a),
            operands,
        )
    for axis in (0.5, "0", (0, "1"), operands.x):
        refused(TypeError, "axis", lambda t, a=axis: function(t.x, axis=a), operands)
    several = name in ("sum", "prod", "max", "min", "mean", "var", "std")
    for axis in ((0, 0), (1, -1), (0, 1, 0)):
        error, match = (ValueError, "is repeated") if several else (TypeError, "an int is allowed")
        refused(error, match, lambda t, a=axis: function(t.x, axis=a), operands)
    if not several:
        refused(TypeError, r"axis is \(0, 1\); an int", lambda t: function(t.x, axis=(0, 1)), operands)


def test_axes_of_products_and_differences(operands):
    calls = [
        (usmpy.AxisError, "axis is 2", lambda t: usmpy.vecdot(t.x, t.x, axis=2)),
        (usmpy.AxisError, "axis is -3", lambda t: usmpy.vecdot(t.x, t.x, axis=-3)),
        (usmpy.AxisError, "axes is 5", lambda t: usmpy.tensordot(t.x, t.x, axes=((5,), (0,)))),
        (ValueError, "axis 0 is repeated", lambda t: usmpy.tensordot(t.x, t.x, axes=((0, 0), (0, 1)))),
        (ValueError, "axes is -1", lambda t: usmpy.tensordot(t.x, t.x, axes=-1)),
        (ValueError, r"cumulative_sum\(\): x has 2 dimensions", lambda t: usmpy.cumulative_sum(t.x)),
        (ValueError, "x1 has 4 columns and x2 3 rows", lambda t: t.x @ t.x),
        (ValueError, r"diff\(\): append has shape \(4,\)", lambda t: usmpy.diff(t.x, append=t.x[0])),
        (ValueError, r"along axis 0 only", lambda t: usmpy.diff(t.x, axis=0, prepend=t.x[:, 1:])),
    ]
    for error, match, call in calls:
        refused(error, match, call, operands)


def test_no_elements_have_no_extreme(operands):
    for name in ("max", "min", "argmax", "argmin"):
        function = getattr(usmpy, name)
        for key, axis in ((np.s_[:0], None), (np.s_[:0], 0), (np.s_[:, :0], 1), (np.s_[:0, :0], None)):
            match = rf"{name}\(\): x has shape .*0.*; 1 or more are needed"
            refused(ValueError, match, lambda t, f=function, k=key, a=axis: f(t.x[k], axis=a), operands)
        assert function(operands.x[:0], axis=1).shape == (0,)


def test_python_numbers_that_do_not_fit(operands):
    calls = {
        r"add\(\): x2: 128 does not fit into dtype int8; -128 to 127 are allowed": lambda t: t.i + 128,
        r"subtract\(\): x1: -129 does not": lambda t: -129 - t.i,
        r"multiply\(\): x2: 999": lambda t: t.i.__imul__(999),
        r"where\(\): x2: 300": lambda t: usmpy.where(t.m, t.i, 300),
        r"clip\(\): min does not fit into dtype int8": lambda t: usmpy.clip(t.i, 1000),
        r"clip\(\): max does not fit into dtype int8": lambda t: usmpy.clip(t.i, None, -1000),
        r"isin\(\): x2: 300": lambda t: usmpy.isin(t.i, 300),
        r"maximum\(\): x1: .*does not": lambda t: usmpy.maximum(10**5000, t.i),
        r"add\(\): x2: an integer does not fit into dtype float32": lambda t: t.x + 10**400,
    }
    for match, call in calls.items():
        refused(OverflowError, match, call, operands)
    t = operands
    for match, call in {
        r"clip\(\): min is of a wider type": lambda: usmpy.clip(t.i, 1.5),
        r"var\(\): correction is a str; a number": lambda: usmpy.var(t.x, correction="1"),
        r"diff\(\): n is 1\.5; an int": lambda: usmpy.diff(t.x, n=1.5),
        r"sum\(\): keepdims is 1; True or False": lambda: usmpy.sum(t.x, keepdims=1),
        r"sum\(\): x is a list; a USMArray is allowed": lambda: usmpy.sum([1]),
        r"mean\(\): x is a ndarray|numpy": lambda: usmpy.mean(NUMBERS),
        r"add\(\): x2 is a list": lambda: usmpy.add(t.x, [1]),
        r"dtype is 'abc'": lambda: usmpy.sum(t.x, dtype="abc"),
    }.items():
        with pytest.raises(TypeError, match=match):
            call()


def test_outputs_that_do_not_fit(operands, queue):
    def zeros(shape, dtype):
        return usmpy.zeros(shape, dtype=dtype, queue=queue)

    locked = zeros((3, 4), "float32")
    locked.flags.writable = False
    outs = [
        (ValueError, r"out has shape \(4, 3\); \(3, 4\) is needed", zeros((4, 3), "float32")),
        (ValueError, r"out has shape \(1, 3, 4\)", zeros((1, 3, 4), "float32")),
        (ValueError, r"out has shape \(\)", zeros((), "float32")),
        (TypeError, r"out has dtype int32; float32 is needed", zeros((3, 4), "int32")),
        (TypeError, r"out has dtype complex64; float32", zeros((3, 4), "complex64")),
        (ValueError, r"^(add|multiply|exp|abs)\(\): out is read-only", locked),
        (ValueError, "out is read-only", usmpy.broadcast_to(zeros((1, 4), "float32"), (3, 4))),
        (TypeError, r"out is a numpy\.ndarray; a USMArray", np.zeros((3, 4), "float32")),
    ]
    for error, match, out in outs:
        for call in (
            lambda t, o: usmpy.add(t.x, t.x, out=o),
            lambda t, o: usmpy.multiply(t.x, 2, out=o),
            lambda t, o: usmpy.exp(t.x, out=o),
            lambda t, o: usmpy.abs(t.c, out=o),
        ):
            refused(error, match, lambda t, c=call, o=out: c(t, o), operands)
        assert not np.asarray(out if isinstance(out, np.ndarray) else out.asnumpy()).any()
    refused(TypeError, "out has dtype float32; bool", lambda t: usmpy.less(t.x, 1, out=t.x), operands)


def overlapping(memory):
    """An operand and an output in the same memory."""
    square = memory[:16].reshape(4, 4)
    yield memory[:12], memory[:12]
    yield memory[:12], memory[1:13]
    yield memory[4:16], memory[:12]
    yield memory[:12], memory[11::-1]
    yield memory[:24:2], memory[1:25:2]
    yield memory[:24:2], memory[:12]
    yield square[:3], square.T[1:]
    yield square[:3], square[::-1][:3]


@pytest.mark.parametrize("name", ["add", "subtract", "divide", "sqrt", "exp", "negative"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
def test_an_output_over_its_operands_has_the_right_result(name, dtype, queue):
    n = np.arange(1, 33).astype(dtype) / 7
    function, alone = getattr(usmpy, name), name in ("sqrt", "exp", "negative")
    for k in range(8):
        memory = usmpy.asarray(n, queue=queue, copy=True)
        x, out = list(overlapping(memory))[k]
        operands = (x,) if alone else (x, x[::-1])
        wanted = function(*[operand.copy() for operand in operands]).asnumpy()
        assert function(*operands, out=out) is out
        np.testing.assert_array_equal(out.asnumpy(), wanted)
