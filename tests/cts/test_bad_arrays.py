"""Refused arguments of array functions and indices: the exception's class, the argument's name, no write."""

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
