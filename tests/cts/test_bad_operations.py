"""Refused calls of arithmetic, reductions, scans, sorts and products: the exception, its text, no write."""

import numpy as np
import pytest

import usmpy

N = np.arange(12, dtype="float32").reshape(3, 4)


class Things:
    """x: float32, i: int8, c: complex64, m: bool, s: a type that is only stored; far: x on another queue."""

    def __init__(self, queue):
        self.x = usmpy.asarray(N, queue=queue, copy=True)
        self.i, self.c, self.m = (self.x.astype(dtype) for dtype in ("int8", "complex64", "bool"))
        self.s = usmpy.empty((3, 4), dtype=usmpy.float8_e5m2, queue=queue)
        self.far = usmpy.asarray(N, queue=usmpy.Queue(queue.device), copy=True)


@pytest.fixture
def things(queue):
    things = Things(queue)
    yield things
    for x in (things.x, things.i, things.c, things.far):
        np.testing.assert_array_equal(x.asnumpy(), N.astype(x.dtype.name))
    np.testing.assert_array_equal(things.m.asnumpy(), N != 0)


def refused(error, match, call, things):
    with pytest.raises(error, match=match) as caught:
        call(things)
    assert type(caught.value) is error


BINARY = ["add", "multiply", "floor_divide", "maximum", "pow", "atan2", "less", "equal"]
BINARY += ["matmul", "tensordot", "vecdot", "isin"]


@pytest.mark.parametrize("name", BINARY)
def test_arrays_of_two_queues(name, things):
    function = getattr(usmpy, name)
    for call in (lambda t: function(t.x, t.far), lambda t: function(t.far, t.x)):
        refused(usmpy.ExecutionPlacementError, rf"{name}.*(x1[\s\S]*x2|queue)", call, things)


def test_other_arguments_of_another_queue(things):
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
        refused(usmpy.ExecutionPlacementError, match, call, things)


COMPLEX_HAS_NO_ORDER = ["max", "min", "argmax", "argmin", "sort", "argsort", "clip", "var", "std"]
STORED = ["sum", "prod", "max", "argmin", "mean", "var", "clip", "sort", "argsort", "unique_values", "diff"]
STORED += ["sqrt", "negative", "abs", "isfinite", "std", "argmax", "cumulative_sum"]
STORED += ["unique_counts", "unique_inverse", "unique_all"]


def test_types_without_the_operation(things):
    for name in COMPLEX_HAS_NO_ORDER:
        refused(
            TypeError,
            rf"{name}\(\): x has dtype complex64; ",
            lambda t, n=name: getattr(usmpy, n)(t.c),
            things,
        )
    for name in STORED:
        refused(TypeError, rf"^{name}\(\): .*float8_e5m2", lambda t, n=name: getattr(usmpy, n)(t.s), things)
    for name in ("isin", "searchsorted"):
        for i in (1, 2):
            for other in ("x", "s"):

                def call(t, name=name, other=other, i=i):
                    other = getattr(t, other).reshape((-1,))
                    return getattr(usmpy, name)(*((t.s, other) if i == 1 else (other, t.s)))

                refused(TypeError, rf"^{name}\(\): x[12] has dtype float8_e5m2", call, things)
        refused(
            TypeError,
            rf"^{name}\(\): .*no common type",
            lambda t, n=name: getattr(usmpy, n)(t.i[0], t.i.astype("uint64")),
            things,
        )
    for name in ("maximum", "floor_divide", "remainder", "atan2", "hypot", "less"):
        refused(TypeError, rf"{name}\(\).*complex64", lambda t, n=name: getattr(usmpy, n)(t.c, t.c), things)
    for name in ("add", "subtract", "multiply", "pow", "floor_divide", "maximum", "bitwise_left_shift"):
        match = rf"{name}\(\) is not defined for dtype bool.*allowed"
        refused(TypeError, match, lambda t, n=name: getattr(usmpy, n)(t.m, t.m), things)
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
        refused(TypeError, match, call, things)


AXES = ["sum", "prod", "max", "min", "argmax", "argmin", "mean", "var", "std", "cumulative_sum"]
AXES += ["cumulative_prod", "sort", "argsort", "diff"]


@pytest.mark.parametrize("name", AXES)
def test_axes(name, things):
    function = getattr(usmpy, name)
    for axis in (2, -3, 2**70):
        refused(
            usmpy.AxisError,
            rf"axis is {axis}; .*-2 to 1 are allowed",
            lambda t, a=axis: function(t.x, axis=a),
            things,
        )
    for axis in (0.5, "0", (0, "1"), things.x):
        refused(TypeError, "axis", lambda t, a=axis: function(t.x, axis=a), things)
    several = name in ("sum", "prod", "max", "min", "mean", "var", "std")
    for axis in ((0, 0), (1, -1), (0, 1, 0)):
        error, match = (ValueError, "is repeated") if several else (TypeError, "an int is allowed")
        refused(error, match, lambda t, a=axis: function(t.x, axis=a), things)
    if not several:
        refused(TypeError, r"axis is \(0, 1\); an int", lambda t: function(t.x, axis=(0, 1)), things)


def test_axes_of_products_and_differences(things):
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
        refused(error, match, call, things)


def test_no_elements_have_no_extreme(things):
    for name in ("max", "min", "argmax", "argmin"):
        function = getattr(usmpy, name)
        for key, axis in ((np.s_[:0], None), (np.s_[:0], 0), (np.s_[:, :0], 1), (np.s_[:0, :0], None)):
            match = rf"{name}\(\): x has shape .*0.*; 1 or more are needed"
            refused(ValueError, match, lambda t, f=function, k=key, a=axis: f(t.x[k], axis=a), things)
        assert function(things.x[:0], axis=1).shape == (0,)


def test_python_numbers_that_do_not_fit(things):
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
        refused(OverflowError, match, call, things)
    t = things
    for match, call in {
        r"clip\(\): min is of a wider type": lambda: usmpy.clip(t.i, 1.5),
        r"var\(\): correction is a str; a number": lambda: usmpy.var(t.x, correction="1"),
        r"diff\(\): n is 1\.5; an int": lambda: usmpy.diff(t.x, n=1.5),
        r"sum\(\): keepdims is 1; True or False": lambda: usmpy.sum(t.x, keepdims=1),
        r"sum\(\): x is a list; a USMArray is allowed": lambda: usmpy.sum([1]),
        r"mean\(\): x is a ndarray|numpy": lambda: usmpy.mean(N),
        r"add\(\): x2 is a list": lambda: usmpy.add(t.x, [1]),
        r"dtype is 'abc'": lambda: usmpy.sum(t.x, dtype="abc"),
    }.items():
        with pytest.raises(TypeError, match=match):
            call()


def test_outputs_that_do_not_fit(things, queue):
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
            refused(error, match, lambda t, c=call, o=out: c(t, o), things)
        assert not np.asarray(out if isinstance(out, np.ndarray) else out.asnumpy()).any()
    refused(TypeError, "out has dtype float32; bool", lambda t: usmpy.less(t.x, 1, out=t.x), things)


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
