"""kernel.python: the interpreter has the types, the values and the errors of the language."""

import ast
import enum
import functools
import importlib
import itertools
import math
import sys
import threading

import libraries
import numpy as np
import pytest

import usmpy
from usmpy import kernel_api
from usmpy._python_kernels import functions, types
from usmpy._python_kernels.arithmetic import FOLD, Arithmetic
from usmpy._python_kernels.interpreter import Interpreter
from usmpy._python_kernels.numbers import Rules, Typed
from usmpy._python_kernels.types import BOOL, FLOAT32, FLOAT64, INT64
from usmpy._python_kernels.values import Number, constant
from usmpy.kernel_api import (
    LOCAL_MEM_FENCE,
    atomic_add,
    atomic_and,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    barrier,
    get_global_id,
    get_global_linear_id,
    get_global_offset,
    get_global_size,
    get_group_id,
    get_local_id,
    get_local_linear_id,
    get_local_size,
    get_num_groups,
    get_work_dim,
    local_array,
    mem_fence,
    private_array,
)

rules_of = functools.cache(Rules)

WEAK = [types.WEAK_INT, types.WEAK_FLOAT, types.WEAK_COMPLEX]
KINDS = [*types.BY_NAME.values(), *WEAK]
CONSTANTS = [True, 3, 200, -1, 1.5, 2j]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"]
COMPARISONS = ["<", "<=", ">", ">=", "==", "!="]
HOST = usmpy.Device("host:cpu:0")
PATIENCE = 60


def launch(function, space, *args, **kwargs):
    event = Interpreter(function, function.__name__)[space](*args, **kwargs)
    assert isinstance(event, usmpy.Event)
    assert event.done
    return event


def array(values, dtype):
    return usmpy.asarray(np.asarray(values), dtype=dtype, device=HOST)


class Translated(Arithmetic):
    """The translator's rules, with a refusal that is a Python exception."""

    def __init__(self, real):
        self.real = real

    def refuse(self, node, text, kind=None):
        raise (kind or TypeError)(text)

    def need(self, part, number):
        return part

    def temp(self, number, copy=False):
        return number

    def fail_if(self, node, test):
        pass


def outcome(function, *args):
    """The type of the result, or the exception's class and text."""
    try:
        found = function(*args)
    except (TypeError, OverflowError) as error:
        return type(error), str(error)
    return found.type


def operands(value):
    """The same operand for the translator and for the interpreter."""
    if isinstance(value, types.Type):
        number = {"bool": True, "float": 2.0, "complex": 2 + 0j}.get(value.kind, 2)
        return Number(value, "x"), number
    return constant(value), None


def typed(value, t, real=FLOAT64):
    return Typed(value, t, rules_of(real))


def of(kind, real):
    if not isinstance(kind, types.Type):
        return kind
    return typed(operands(kind)[1], kind, real)


PAIRS = [
    (a, b) for a, b in itertools.product([*KINDS, *CONSTANTS], repeat=2) if types.Type in (type(a), type(b))
]


@pytest.mark.parametrize("real", [FLOAT32, FLOAT64], ids=str)
@pytest.mark.parametrize("sign", [*BINARY, *COMPARISONS])
def test_the_type_of_a_result_is_that_of_the_translator(sign, real):
    arith, node = Translated(real), ast.Pass()
    rule = arith.compare if sign in COMPARISONS else arith.binary
    different = {}
    for a, b in PAIRS:
        wanted = outcome(rule, sign, operands(a)[0], operands(b)[0], node)
        found = outcome(FOLD[sign], of(a, real), of(b, real))
        if sign in COMPARISONS and not isinstance(a, types.Type):  # Python asks the right operand
            wanted, found = wanted[:1], found[:1]
        if wanted != found:
            different[a, b] = (wanted, found)
    assert not different


@pytest.mark.parametrize("real", [FLOAT32, FLOAT64], ids=str)
def test_the_types_of_unary_operators_are_those_of_the_translator(real):
    arith, node = Translated(real), ast.Pass()
    python = {"-": lambda a: -a, "+": lambda a: +a, "~": lambda a: ~a}
    for sign, kind in itertools.product(python, KINDS):
        wanted = outcome(arith.unary, sign, operands(kind)[0], node)
        assert outcome(python[sign], of(kind, real)) == wanted, (sign, kind)


@pytest.mark.parametrize("element", types.ELEMENTS)
def test_stores_are_refused_where_the_translator_refuses_them(element):
    arith, node, rules = Translated(FLOAT64), ast.Pass(), rules_of(FLOAT64)
    for kind in [*KINDS, *CONSTANTS]:
        wanted = outcome(lambda n: (arith.stored(n, element, node, "x[i]"), n)[1], operands(kind)[0])
        found = outcome(lambda k: (rules.element(of(k, FLOAT64), element), operands(k)[0])[1], kind)
        assert found == wanted, kind


def wrapped(value, t):
    return types.wrap(value, t)


@pytest.mark.parametrize("name", ["int8", "uint8"])
@pytest.mark.parametrize("sign", ["+", "-", "*", "//", "%", "&", "|", "^"])
def test_integers_of_one_byte_wrap(name, sign):
    t = types.BY_NAME[name]
    low, high = types.limits(t)
    for a, b in itertools.product([low, low + 1, -3, -1, 0, 1, 2, 7, 100, high], repeat=2):
        if not (low <= a <= high and low <= b <= high):
            continue
        wanted = 0 if b == 0 and sign in ("//", "%") else wrapped(FOLD[sign](a, b), t)
        found = FOLD[sign](typed(a, t), typed(b, t))
        assert (found.value, found.type) == (wanted, t), (a, b)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%"])
@pytest.mark.parametrize(
    "pair", list(itertools.product(["int8", "int32", "uint16", "float32", "float64"], repeat=2))
)
def test_values_are_those_of_numpy_in_the_type_of_the_result(sign, pair):
    for a, b in itertools.product([0, 1, 3, 7, 100], [1, 2, 3, 7, 90]):
        x, y = (typed(v, types.BY_NAME[name]) for v, name in zip((a, b), pair, strict=True))
        found = FOLD[sign](x, y)
        kind = np.dtype(found.type.name).type
        with np.errstate(all="ignore"):
            wanted = FOLD[sign](kind(a), kind(b))
        assert kind(found.value) == kind(wanted)
        assert kind(found.value).item() == found.value


def test_values_that_the_language_defines():
    i8, i32, u64, i64 = (types.BY_NAME[name] for name in ("int8", "int32", "uint64", "int64"))
    cases = [
        (typed(-7, i32) // 2, -4, i32),
        (typed(-7, i32) % 3, 2, i32),
        (typed(-(2**31), i32) // -1, -(2**31), i32),
        (typed(5, i32) // 0, 0, i32),
        (5 % typed(0, i32), 0, i32),
        (typed(5, i32) // typed(False, BOOL), 0, i32),
        (typed(1, i32) << 33, 2, i32),
        (typed(1, i8) << typed(2**40 + 1, i64), 2, i8),
        (typed(-8, i8) >> 1, -4, i8),
        (typed(True, BOOL) + typed(True, BOOL), 2, types.INT32),
        (typed(True, BOOL) & typed(False, BOOL), False, BOOL),
        (typed(3, i8) ** 5, -13, i8),
        (2 ** typed(-1, i64), 0, i64),
        (typed(2**63, u64) > typed(-1, i64), True, BOOL),
        (typed(2**53 + 1, i64) == typed(2**53, i64), False, BOOL),
        (typed(1, i8) < 300, True, BOOL),
        (typed(7, i32) / 2, 3.5, FLOAT64),
        (typed(0.1, FLOAT64) * typed(2, i32), 0.2, FLOAT64),
        (typed(1.0, FLOAT32) / 0, math.inf, FLOAT32),
        (typed(16777216.0, FLOAT32) + typed(1, i64), 16777216.0, FLOAT32),
        (typed(float(np.float32(0.1)), FLOAT32) == 0.1, True, BOOL),
        (typed(1 + 2j, types.COMPLEX64).imag, 2.0, FLOAT32),
        (1j * typed(1 + 2j, types.COMPLEX64).conjugate(), 2 + 1j, types.COMPLEX64),
        (abs(typed(3 + 4j, types.COMPLEX128)), 5.0, FLOAT64),
        (abs(typed(-128, i8)), -128, i8),
        (round(typed(2.5, FLOAT32)), 2, INT64),
        (math.floor(typed(-0.5, FLOAT32)), -1, INT64),
    ]
    for k, (found, value, t) in enumerate(cases):
        assert (found.value, found.type) == (value, t), k
    with pytest.raises(OverflowError, match="300 does not fit into int8"):
        typed(1, i8) + 300
    with pytest.raises(OverflowError, match="300 does not fit into int8"):
        typed(1, i8) + typed(300, types.WEAK_INT)
    with pytest.raises(TypeError, match=r"cast one, such as usmpy\.int64"):
        typed(1, u64) + typed(1, i64)
    with pytest.raises(TypeError):
        _ = typed(1, i8) + "a"


def test_a_number_is_one_of_python_as_well():
    x, y = typed(3, INT64), typed(1.5, FLOAT32)
    assert (int(y), float(x), complex(y), bool(typed(0, INT64))) == (1, 3.0, 1.5 + 0j, False)
    assert ([10, 20, 30, 40][x], hash(x), str(y), f"{y:.2f}", repr(y)) == (
        40,
        hash(3),
        "1.5",
        "1.50",
        "float32(1.5)",
    )
    with pytest.raises(TypeError):
        [1][y]


# Functions


@pytest.mark.parametrize("name", [n for n in functions.REAL if hasattr(math, n) or hasattr(usmpy, n)])
def test_functions_of_reals(name):
    function = getattr(usmpy, name, None) or getattr(math, name)
    x = 1.25 if name == "acosh" else 0.25
    wanted = getattr(np, {"gamma": ""}.get(name, name), None) or getattr(math, name)
    for t in (FLOAT32, FLOAT64):
        found = rules_of(t).call(function, typed(x, t, t))
        assert found.type == t
        assert math.isclose(found.value, wanted(x), rel_tol=1e-6 if t == FLOAT32 else 1e-13)


def test_functions_of_numbers():
    rules, f, i = rules_of(FLOAT32), typed(2.5, FLOAT32, FLOAT32), typed(-3, types.INT32, FLOAT32)
    truth, nan = typed(True, BOOL, FLOAT32), typed(math.nan, FLOAT32, FLOAT32)
    cases = [
        ((min, f, i), -3.0, FLOAT32),
        ((max, 1, i, 2), 2, types.INT32),
        ((max, 1.0, nan), 1.0, FLOAT32),
        ((max, (1, i)), 1, types.INT32),
        ((max, (i,)), -3, types.INT32),
        ((math.gamma, typed(0.0, FLOAT32, FLOAT32)), math.inf, FLOAT32),
        ((usmpy.clip, nan, 0, 1), math.nan, FLOAT32),
        ((usmpy.sign, f), 1.0, FLOAT32),
        ((usmpy.floor_divide, i, 0), 0, types.INT32),
        ((usmpy.bitwise_left_shift, i, 33), -6, types.INT32),
        ((usmpy.maximum, 1.0, nan), math.nan, FLOAT32),
        ((usmpy.clip, i, -1, 1), -1, types.INT32),
        ((usmpy.clip, f, 0, 1), 1.0, FLOAT32),
        ((usmpy.where, truth, i, f), -3.0, FLOAT32),
        ((usmpy.sign, i), -1, types.INT32),
        ((usmpy.square, i), 9, types.INT32),
        ((usmpy.reciprocal, f), float(np.float32(0.4)), FLOAT32),
        ((usmpy.negative, truth), -1, types.INT32),
        ((usmpy.bitwise_invert, truth), False, BOOL),
        ((usmpy.logical_and, f, i), True, BOOL),
        ((usmpy.logical_xor, f, truth), False, BOOL),
        ((usmpy.logical_not, i), False, BOOL),
        ((usmpy.isnan, nan), True, BOOL),
        ((usmpy.isfinite, i), True, BOOL),
        ((usmpy.less, i, f), True, BOOL),
        ((usmpy.remainder, i, 2), 1, types.INT32),
        ((np.remainder, i, 2), 1, types.INT32),
        ((np.arctan2, f, f), math.pi / 4, FLOAT32),
        ((math.remainder, f, 2), 0.5, FLOAT32),
        ((math.fmod, i, 2), -1.0, FLOAT32),
        ((math.sqrt, typed(-1.0, FLOAT32, FLOAT32)), math.nan, FLOAT32),
        ((math.log, typed(0.0, FLOAT32, FLOAT32)), -math.inf, FLOAT32),
        ((math.lgamma, typed(0.0, FLOAT32, FLOAT32)), math.inf, FLOAT32),
        ((math.gamma, typed(-1.0, FLOAT32, FLOAT32)), math.nan, FLOAT32),
        ((math.gamma, typed(1000.0, FLOAT32, FLOAT32)), math.inf, FLOAT32),
        ((math.floor, f), 2, INT64),
        ((usmpy.floor, f), 2.0, FLOAT32),
        ((usmpy.round, i), -3, types.INT32),
        ((math.gcd, i, 6), 3, types.INT32),
        ((math.pow, f, 2), 6.25, FLOAT32),
        ((pow, i, 3), -27, types.INT32),
        ((int, f), 2, INT64),
        ((float, i), -3.0, FLOAT32),
        ((bool, f), True, BOOL),
        ((complex, f, 1), 2.5 + 1j, types.COMPLEX64),
        ((usmpy.uint8, i), 253, types.BY_NAME["uint8"]),
        ((usmpy.int16, f), 2, types.BY_NAME["int16"]),
        ((usmpy.float64, 0.1), 0.1, FLOAT64),
        ((np.float32, 0.1), float(np.float32(0.1)), FLOAT32),
        ((usmpy.real, typed(1 + 2j, types.COMPLEX64, FLOAT32)), 1.0, FLOAT32),
        ((usmpy.conj, typed(1 + 2j, types.COMPLEX64, FLOAT32)), 1 - 2j, types.COMPLEX64),
        ((usmpy.exp, typed(0j, types.COMPLEX64, FLOAT32)), 1 + 0j, types.COMPLEX64),
    ]
    for (function, *args), value, t in cases:
        found = rules.call(function, *args)
        assert found.type == t, function
        assert found.value == pytest.approx(value, rel=1e-6, nan_ok=True), function
    quotient, rest = rules.call(divmod, i, 2)
    assert (quotient.value, rest.value, rest.type) == (-2, 1, types.INT32)
    assert rules.call(math.sqrt, 4.0) == 2.0
    with pytest.raises(TypeError, match="complex numbers have no order"):
        rules.call(max, 1j, f)
    with pytest.raises(TypeError, match="round takes one number"):
        rules.call(round, f, 2)
    with pytest.raises(TypeError, match="where a number is allowed"):
        rules.call(abs, "a")


# Launches


def axpy(a, x, y):
    i = get_global_id(0)
    y[i] += a * x[i]


@pytest.mark.parametrize("space", [4, usmpy.Range(4), usmpy.NdRange(4, 2)], ids=repr)
def test_a_launch(space):
    x, y = array([0, 1, 2, 3], "float32"), array([1, 1, 1, 1], "float32")
    launch(axpy, space, 0.5, x, y=y)
    assert y.tolist() == [1.0, 1.5, 2.0, 2.5]


@pytest.mark.parametrize("device", usmpy.get_devices(), ids=repr)
def test_a_launch_on_each_device(device):
    x, y = (usmpy.ones(3, dtype="float32", device=device) for _ in range(2))
    launch(axpy, 3, 2.0, x, y)
    assert y.asnumpy().tolist() == [3.0, 3.0, 3.0]


def test_a_launch_waits_for_events_and_pending_work():
    queue = usmpy.Queue(HOST, in_order=False)
    x = usmpy.zeros(1, dtype="float32", queue=queue)
    gate = threading.Event()
    task = usmpy.Queue("host").host_task(gate.wait, PATIENCE)
    pending = queue.fill(x, 2.0, depends=task)
    thread = threading.Thread(target=lambda: launch(axpy, (1, [task]), 1.0, x, x))
    thread.start()
    assert not task.done
    gate.set()
    thread.join()
    assert pending.done
    assert x.tolist() == [4.0]


def test_a_failed_dependency_runs_nothing():
    x = usmpy.ones(1, dtype="float32", device=usmpy.Queue("host"))
    failed = usmpy.Queue("host").host_task(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        launch(axpy, (1, failed), 1.0, x, x)
    assert x.tolist() == [1.0]


@pytest.mark.parametrize("key", ["a", 1.5, (4, 2), (4, "a"), (4, [1]), (4, None), None], ids=repr)
def test_brackets_that_are_refused(key):
    with pytest.raises(TypeError, match=r"axpy\["):
        Interpreter(axpy, "axpy")[key]


def test_calls_that_are_refused():
    python, x = Interpreter(axpy, "axpy"), array([1], "float32")
    with pytest.raises(TypeError, match=r"axpy\(a, x, y\): missing"):
        python[1](1, x)
    with pytest.raises(TypeError, match="x of axpy: a str was given"):
        python[1](1, "x", x)
    with pytest.raises(TypeError, match="y of axpy: a USMArray of float8_e5m2"):
        python[1](1, x, usmpy.zeros(1, dtype="float8_e5m2", device=HOST))
    with pytest.raises(TypeError, match="numpy"):
        python[1](1, x, np.zeros(1))
    with pytest.raises(usmpy.ExecutionPlacementError):
        python[1](1, x, usmpy.zeros(1, device=usmpy.Queue("host")))
    with pytest.raises(OverflowError, match="does not fit into float32"):
        python[1](1e300, x, x)
    assert kernel_api._current() is None


@pytest.mark.parametrize("name", [n for n in kernel_api.__all__ if n.islower()])
def test_outside_of_a_kernel_the_names_raise(name):
    function = getattr(kernel_api, name)
    counts = {"barrier": 0, "mem_fence": 0, "get_work_dim": 0, "local_array": 2, "private_array": 2}
    count = counts.get(name, 0 if "linear" in name else 1 if name.startswith("get") else 3)
    with pytest.raises(RuntimeError, match=rf"{name}\(\) was called outside of a kernel"):
        function(*range(count + (name == "atomic_compare_exchange")))


def ids(out):
    row = get_global_linear_id()
    for k in range(3):
        out[row, k] = get_global_id(k)
        out[row, 3 + k] = get_local_id(k)
        out[row, 6 + k] = get_group_id(k)
        out[row, 9 + k] = get_global_size(k)
        out[row, 12 + k] = get_local_size(k)
        out[row, 15 + k] = get_num_groups(k)
    out[row, 18] = get_local_linear_id()
    out[row, 19] = get_work_dim() + get_global_offset(0)


def test_ids():
    out = usmpy.zeros((24, 20), dtype="int32", device=HOST)
    launch(ids, usmpy.NdRange((6, 4), (3, 2)), out)
    for row, found in enumerate(out.tolist()):
        i, j = row % 6, row // 6
        assert found[:9] == [i, j, 0, i % 3, j % 2, 0, i // 3, j // 2, 0]
        assert found[9:] == [6, 4, 1, 3, 2, 1, 2, 2, 1, i % 3 + 3 * (j % 2), 2]
    out = usmpy.zeros((6, 20), dtype="int32", device=HOST)
    launch(ids, usmpy.Range(3, 2, 1), out)
    assert out.asnumpy()[4].tolist() == [1, 1, 0, 0, 0, 0, 1, 1, 0, 3, 2, 1, 1, 1, 1, 3, 2, 1, 0, 3]


def bad_id(x):
    x[0] = get_global_id(3)


def test_a_dimension_that_does_not_exist():
    with pytest.raises(ValueError, match=r"get_global_id\(3\): dimensions are 0, 1 and 2"):
        launch(bad_id, 1, array([0], "int32"))


# Arrays


def shift(x, y):
    i = get_global_id(0)
    y[i] = x[i] + 1


def test_arrays_that_share_memory_share_it_in_the_interpreter():
    x = usmpy.arange(6, dtype="int32", device=HOST)
    launch(shift, 5, x[:5], x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    x = usmpy.zeros(6, dtype="int32", device=HOST)
    launch(shift, 5, x[:5], x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    x = usmpy.zeros(6, dtype="int32", device=HOST)
    launch(shift, 3, x[::-2], x[::2])
    assert x.tolist() == [1, 0, 1, 0, 1, 0]


def transpose(x, y):
    i, j = get_global_id(0), get_global_id(1)
    row = x[i]
    y[j, i] = row[j]
    if i == 0 and j == 0:
        y[-1, -1] = row.size + 10 * x.ndim + 100 * len(x) + 1000 * x.shape[1]


def test_strides_rows_and_sizes():
    x = usmpy.arange(12, dtype="int64", device=HOST).reshape((3, 4))[::-1, ::2]
    y = usmpy.zeros((4, 3), dtype="int64", device=HOST)[::2]
    launch(transpose, usmpy.Range(3, 2), x, y)
    expected = x.asnumpy().T
    assert y.asnumpy()[:, :2].tolist() == expected[:, :2].tolist()
    launch(transpose, usmpy.Range(1, 1), x, y)
    assert y.asnumpy()[-1, -1] == 2 + 20 + 300 + 2000


def steps(x, y):
    row = x[0]
    y[0], y[1], y[2] = *x.strides, row.strides[0]


def test_strides_are_in_elements():
    y = array([0, 0, 0], "int32")
    launch(steps, 1, usmpy.zeros((3, 4), dtype="float64", device=HOST)[::-1, ::2], y)
    assert y.tolist() == [-4, 2, 2]


def scalar(x, n):
    x[()] = x[()] + n
    if x.dtype == usmpy.float32 and x.dtype == "float32" and x.dtype != usmpy.int32:
        x[()] *= 2


def test_an_array_without_dimensions():
    x = usmpy.ones((), dtype="float32", device=HOST)
    launch(scalar, 1, x, 2)
    assert x.asnumpy() == 6.0


def halves(x, y):
    i = get_global_id(0)
    y[i] = x[i] * 1.0009765625 + 0.00048828125


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_computed_in_float32_and_rounded_when_stored(dtype):
    ml_dtypes = libraries.need("ml_dtypes")
    kind = np.dtype("float16") if dtype == "float16" else np.dtype(ml_dtypes.bfloat16)
    x = np.linspace(0, 3, 32).astype(kind)
    y = usmpy.zeros(32, dtype=dtype, device=HOST)
    launch(halves, 32, usmpy.asarray(x, device=HOST), y)
    expected = (x.astype("float32") * np.float32(1.0009765625) + np.float32(0.00048828125)).astype(kind)
    assert (y.asnumpy() == expected).all()


def element(x, i):
    x[i] = 1


def element_of(x, n):
    x[get_global_id(0) - n] = 1


def element_by(x, i):
    x[get_global_id(0) + 0.5] = i


def rows(x, i):
    x[0] = i


def too_many(x, i):
    x[0, 0, 0] = i


def test_wrong_indices():
    x = usmpy.zeros((2, 3), dtype="int32", device=HOST)
    with pytest.raises(
        IndexError, match="index -1 is outside axis 0 of x, whose length is 4; computed indices do"
    ):
        launch(element_of, 1, array([0] * 4, "int32"), 1)
    with pytest.raises(IndexError, match="index 4 is outside axis 0 of x, whose length is 4"):
        launch(element, 1, array([0] * 4, "int32"), 4)
    with pytest.raises(TypeError, match="float64 as an index of x: integers are allowed"):
        launch(element_by, 1, array([0] * 4, "int32"), 4)
    for function in (rows, too_many):
        with pytest.raises(IndexError, match="of 2 indices"):
            launch(function, 1, x, 1)
    assert not x.asnumpy().any()


def test_an_exception_copies_nothing_back_and_names_the_work_item():
    x = array([0, 0, 0], "int32")
    with pytest.raises(IndexError) as caught:
        launch(element_of, 4, x, 0)
    assert x.tolist() == [0, 0, 0]
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["in work-item (3,) of element_of"]


def test_a_read_only_array():
    x = usmpy.asarray(np.zeros(2, "int32"), device=HOST)
    data = np.zeros(2, "int32")
    data.flags.writeable = False
    x = usmpy.from_dlpack(data)
    if not x.flags.writable:
        with pytest.raises(ValueError, match="x is read-only"):
            launch(element, 1, x, 0)


def store(x, value):
    x[0] = value


def test_stores():
    x = array([0], "uint8")
    launch(store, 1, x, np.int64(257))
    assert x.tolist() == [1]
    with pytest.raises(OverflowError, match="257 does not fit into uint8"):
        launch(store, 1, x, 257)
    with pytest.raises(TypeError, match=r"uint8\(\.\.\.\)"):
        launch(store, 1, x, 1.5)
    with pytest.raises(TypeError, match=r"take \.real or \.imag"):
        launch(store, 1, array([0], "float32"), 1j)


# Names


SCALE = np.float64(2)
EXTRA = np.int8(1)
OFFSETS = (1, np.int32(2))
TABLE = np.zeros(3)


class Mode(enum.Enum):
    FAST = 3


class Tools:
    FACTOR = 2.0

    @staticmethod
    def double(x):
        return x * Tools.FACTOR


def helper(x, k=OFFSETS[0]):
    return math.sqrt(x) + k


class FakeKernel:
    """As a kernel, it has the function in __wrapped__."""

    def __init__(self, function):
        self.__wrapped__ = function


inner = FakeKernel(store)


def names(x, y, n):
    i = get_global_id(0)
    x[i] = helper(x[i]) + Tools.double(x[i]) + Mode.FAST
    for offset in OFFSETS:
        x[i] += offset
    y[i] = x[i] * SCALE
    if n is None:
        inner(y, 5)
    y[1] = kernel_api.get_global_size(0) + len(OFFSETS) + np.pi - np.float32(math.pi)


def test_names_are_those_of_the_function():
    x, y = array([4], "float32"), array([0, 0], "float64")
    launch(names, 1, x, y, None)
    assert x.tolist() == [2 + 1 + 8 + 3 + 1 + 2]
    assert y.tolist() == [5.0, 3 + np.pi - float(np.float32(math.pi))]
    launch(names, 1, x, y, n=1)
    assert y.asnumpy()[0] == x.asnumpy()[0] * 2


def closure():
    factor = 3
    types_of = (usmpy.int8, "int16")

    def function(x, *, extra=EXTRA):
        x[0] = usmpy.int8(factor * 100) + extra
        for dtype in types_of:
            tile = private_array((2, 2), dtype)
            tile[1, 1] = 7
            x[1] += tile[1, 1]

    return function


def test_closures_and_defaults():
    x = array([0, 0], "int64")
    launch(closure(), 1, x)
    assert x.tolist() == [45, 14]


def array_in_a_global(x):
    x[0] = TABLE[0]


def test_an_array_of_a_global_is_refused():
    with pytest.raises(TypeError, match="pass it to the kernel"):
        launch(array_in_a_global, 1, array([0], "float64"))


def weak(x, y, a):
    y[0] = a * x[0]
    y[1] = 0.5 * get_global_size(0)
    y[2] = x[0] * len(x)
    y[3] = usmpy.float32(0.1) + a
    y[4] = get_global_size(0) / 3


def test_python_numbers_are_weak():
    x, y = array([0.1], "float32"), array([0] * 5, "float64")
    launch(weak, 1, x, y, 0.1)
    tenth = np.float32(0.1)
    # The kernel's float is float64, and an array of float32 keeps its type beside Python's numbers.
    expected = [tenth * tenth, 0.5, tenth, tenth + tenth, 1 / 3]
    assert y.tolist() == [float(value) for value in expected]
    y = array([0] * 5, "float32")
    launch(weak, 1, x, y, 0.1)
    assert y.asnumpy()[4] == np.float32(1) / np.float32(3)


def printing(x):
    print("x =", x[0], get_global_id(0))
    assert x[0] > 0, "x is positive"


def test_print_and_assert(capsys):
    launch(printing, 1, array([1.5], "float32"))
    assert capsys.readouterr().out == "x = 1.5 0\n"
    with pytest.raises(AssertionError, match="x is positive"):
        launch(printing, 1, array([-1.5], "float32"))


def nested(x):
    Interpreter(store, "store")[1](x, 1)


def test_a_launch_in_a_kernel_is_refused():
    def function(x):
        launch_it()

    def launch_it():
        return run()

    run = type("Run", (), {"__call__": lambda self: Interpreter(store, "store")[1](array([0], "int32"), 1)})()
    with pytest.raises(RuntimeError, match="store is launched in a kernel"):
        launch(function, 1, array([0], "int32"))


# Work-groups


TILE = 4


def matmul(a, b, c):
    i, j = get_global_id(1), get_global_id(0)
    li, lj = get_local_id(1), get_local_id(0)
    ta, tb = local_array((TILE, TILE), usmpy.float32), local_array((TILE, TILE), "float32")
    s = 0.0
    for t in range(a.shape[1] // TILE):
        ta[li, lj] = a[i, t * TILE + lj]
        tb[li, lj] = b[t * TILE + li, j]
        barrier(LOCAL_MEM_FENCE)
        for k in range(TILE):
            s += ta[li, k] * tb[k, lj]
        barrier(LOCAL_MEM_FENCE)
    c[i, j] = s


def test_a_tiled_matrix_product():
    a, b = (np.random.default_rng(k).integers(-9, 9, (8, 8)).astype("float32") for k in range(2))
    c = usmpy.zeros((8, 8), dtype="float32", device=HOST)
    launch(matmul, usmpy.NdRange((8, 8), (4, 4)), array(a, "float32"), array(b, "float32"), c)
    assert (c.asnumpy() == a @ b).all()


def total(tile, n):
    i, step = get_local_id(0), n // 2
    while step > 0:
        if i < step:
            tile[i] += tile[i + step]
        kernel_api.barrier()
        step //= 2


def reduction(x, out, tile):
    tile[get_local_id(0)] = x[get_global_id(0)]
    mem_fence()
    barrier()
    total(tile, get_local_size(0))
    if get_local_id(0) == 0:
        out[get_group_id(0)] = tile[0]


def test_a_reduction_whose_barrier_is_in_a_helper():
    x, out = usmpy.arange(16, dtype="int32", device=HOST), array([0, 0], "int32")
    memory = usmpy.LocalMemory(8, "uint8" if not hasattr(usmpy.LocalMemory, "dtype") else "int32")
    launch(reduction, usmpy.NdRange(16, 8), x, out, memory)
    assert out.tolist() == [28, 92]
    with pytest.raises(ValueError, match="NdRange"):
        launch(reduction, 16, x, out, memory)


def only_some(x):
    if get_local_id(0) < 2:
        barrier()
    x[get_global_id(0)] = 1


def different(x):
    if get_local_id(0) < 2:
        barrier()
    else:
        barrier()


@pytest.mark.parametrize("function", [only_some, different])
def test_a_barrier_that_not_all_reach(function):
    x = array([0] * 4, "int32")
    before = threading.active_count()
    with pytest.raises(
        usmpy.KernelError, match="not all work-items of the group reach this barrier"
    ) as caught:
        launch(function, usmpy.NdRange(4, 4), x)
    error = caught.value
    line = function.__code__.co_firstlineno + 2
    assert (error.reason, error.work_item, error.lineno, error.filename) == ("barrier", (0,), line, __file__)
    assert x.tolist() == [0] * 4
    assert threading.active_count() == before


HIDDEN = {"barrier": barrier}


def hidden(x):
    HIDDEN["barrier"]()


def test_a_barrier_that_the_interpreter_does_not_find():
    x = array([0] * 4, "int32")
    with pytest.raises(RuntimeError, match=r"name barrier\(\) in the function"):
        launch(hidden, usmpy.NdRange(4, 2), x)
    launch(hidden, usmpy.NdRange(4, 1), x)  # a work-item alone waits for nobody


class Namespace:
    @staticmethod
    def swap(x, y):
        i = get_local_id(0)
        y[i] = x[i]
        barrier()
        x[i] = y[get_local_size(0) - 1 - i]


def through_a_class(x, y):
    this.Namespace.swap(x, y)


this = sys.modules[__name__]


def test_a_barrier_behind_modules_and_classes_is_found():
    x, y = array([1, 2, 3], "int32"), array([0, 0, 0], "int32")
    launch(through_a_class, usmpy.NdRange(3, 3), x, y)
    assert x.tolist() == [3, 2, 1]


def truth(x):
    if x:
        pass


def wrong_dtype(x):
    private_array(3, "float8_e5m2")


def row_of_private(x):
    table = private_array((2, 2), usmpy.float16)
    table[1, 0] = 0.1
    row = table[1]
    x[0] = row[0]


def test_arrays_where_others_are_allowed():
    x = array([0], "float32")
    with pytest.raises(TypeError, match=r"x is an array: write x\[i\]"):
        launch(truth, 1, x)
    with pytest.raises(TypeError, match="the dtype of private_array"):
        launch(wrong_dtype, 1, x)
    launch(row_of_private, 1, x)
    assert x.tolist() == [float(np.float16(0.1))]


def late(x):
    barrier()
    x[get_global_id(0) + 2] = 1
    barrier()


def test_an_exception_between_barriers():
    before = threading.active_count()
    with pytest.raises(IndexError, match="index 4 is outside axis 0 of x"):
        launch(late, usmpy.NdRange(4, 4), array([0] * 4, "int32"))
    assert threading.active_count() == before


def memory_of(x, out):
    for k in range(2):
        tile, own = local_array(1, "int32"), private_array(1, "float32")
        if get_local_id(0) == 0 and k == 0:
            tile[0] = x[0]
        out[get_global_id(0)] = tile[0]
    x[get_global_id(0)] = own[0] == own[0]


def test_local_arrays_belong_to_the_group_and_the_call():
    x, out = array([5, 0, 0, 0], "int32"), array([0] * 4, "int32")
    launch(memory_of, usmpy.NdRange(4, 4), x, out)
    assert out.tolist() == [5] * 4
    assert x.tolist() == [0] * 4  # undefined memory is NaN


def atomics(x, f, old):
    i = get_global_id(0)
    old[i] = atomic_add(x, 0, 2)
    atomic_sub(x, 1, i)
    atomic_min(x, (2,), i)
    atomic_max(x, 3, i)
    atomic_and(x, 4, 12)
    atomic_or(x, 5, 1 << i)
    atomic_xor(x, 6, i)
    atomic_exchange(x, 7, i, order="acq_rel")
    atomic_compare_exchange(x, 8, 1, 50)
    atomic_add(f, 0, 0.5)
    atomic_max(f, 1, x[3])


def test_atomics():
    x, f, old = (
        array([0, 10, 5, 1, 15, 0, 0, 0, 1], "int32"),
        array([0, 0], "float32"),
        array([0] * 3, "int32"),
    )
    launch(atomics, 3, x, f, old)
    assert x.tolist() == [6, 7, 0, 2, 12, 7, 3, 2, 50]
    assert f.tolist() == [1.5, 2.0]
    assert old.tolist() == [0, 2, 4]


def wrong_atomic(x):
    atomic_add(x[0], 0, 1)


def atomic_bits(x):
    atomic_and(x, 0, 1)


def test_wrong_atomics():
    with pytest.raises(TypeError, match=r"atomic_add of .*: an array is allowed"):
        launch(wrong_atomic, 1, array([0], "int32"))
    with pytest.raises(TypeError, match="& takes integers"):
        launch(atomic_bits, 1, array([0], "float32"))


# Debugging


@pytest.mark.parametrize(("function", "arguments"), [(axpy, (1.0,)), (only_some, ())])
def test_a_tracer_sees_the_lines_of_the_function(function, arguments):
    seen = set()

    def trace(frame, event, argument):
        if frame.f_code is function.__code__:
            seen.add((frame.f_lineno - function.__code__.co_firstlineno, threading.get_ident()))
        return trace

    x = array([0] * 2, "float32")
    kept = sys.gettrace()
    sys.settrace(trace)
    try:
        launch(function, usmpy.NdRange(2, 2), *arguments, x, *([x] if arguments else []))
    finally:
        sys.settrace(kept)
    lines = {line for line, _ in seen}
    assert {1, 2} <= lines
    if function is axpy:
        assert {thread for _, thread in seen} == {threading.get_ident()}


def stopped(x):
    i = get_global_id(0)
    breakpoint()
    x[i] = i + 10


def test_breakpoint_shows_the_work_item(monkeypatch):
    seen = []

    def hook():
        frame = sys._getframe(1)
        seen.append((frame.f_code.co_name, frame.f_locals["i"].value, str(frame.f_locals["x"])))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    x = array([0, 0], "int32")
    launch(stopped, 2, x)
    assert [(name, i) for name, i, _ in seen] == [("stopped", 0), ("stopped", 1)]
    assert "array([10,  0]" in seen[1][2]
    assert x.tolist() == [10, 11]


def test_globals_are_read_at_each_launch(monkeypatch):
    x = array([0], "float64")
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 5)
    launch(names, 1, array([4], "float32"), array([0, 0], "float64"), 1)
    launch(scaled, 1, x)
    assert x.tolist() == [5.0]


def scaled(x):
    x[0] = SCALE


def test_without_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.delitem(sys.modules, Interpreter.__module__)
    with pytest.raises(ImportError, match=r"kernel\.python needs NumPy: pip install numpy"):
        importlib.import_module(Interpreter.__module__)


# Compiled kernels


def of_integers(x, y, whole, real):
    i = get_global_id(0)
    a, b = x[i], y[i]
    whole[0, i] = usmpy.int64(a + b)
    whole[1, i] = usmpy.int64(a - b)
    whole[2, i] = usmpy.int64(a * b)
    whole[3, i] = usmpy.int64(a // b)
    whole[4, i] = usmpy.int64(a % b)
    whole[5, i] = usmpy.int64(a << b)
    whole[6, i] = usmpy.int64(a >> b)
    whole[7, i] = usmpy.int64(a & b) + usmpy.int64(a | b) + usmpy.int64(a ^ b)
    whole[8, i] = usmpy.int64(a**b)
    whole[9, i] = usmpy.int64(min(a, b)) + usmpy.int64(-a) + usmpy.int64(~b) + usmpy.int64(abs(a))
    whole[10, i] = usmpy.int64(a + 3) + usmpy.int64(7 - a) + usmpy.int64(a // 3) + usmpy.int64(a % 7)
    whole[11, i] = usmpy.int64(usmpy.int8(a)) + usmpy.int64(usmpy.uint16(b))
    real[0, i] = a / b
    real[1, i] = a * 0.5
    real[2, i] = usmpy.float32(a) + b


def of_reals(x, y, whole, real):
    i = get_global_id(0)
    a, b = x[i], y[i]
    real[0, i] = a + b
    real[1, i] = a - b
    real[2, i] = a * b
    real[3, i] = a / b
    real[4, i] = a // b
    real[5, i] = a % b
    real[6, i] = min(a, b) + usmpy.maximum(a, b)
    real[7, i] = usmpy.clip(a, b, 3) - usmpy.sign(a)
    real[8, i] = a * 3 + 0.1 * b
    real[9, i] = math.fmod(a, b)
    real[10, i] = math.remainder(a, b)
    whole[0, i] = round(a) + math.floor(b) + math.ceil(a) + int(a)


def of_both(x, y, whole, real):
    i = get_global_id(0)
    a, b = x[i], y[i]
    whole[0, i] = (a < b) + 2 * (a <= b) + 4 * (a > b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b)
    whole[1, i] = (a < 100) + 2 * (a > -1) + 4 * (b == 3) + 8 * (a < 0.1) + 16 * (b < 300)
    whole[2, i] = bool(a) + 2 * usmpy.logical_xor(a, b) + 4 * usmpy.logical_and(a, b)


def numbers_of(name):
    kind, generator = np.dtype(name), np.random.default_rng(len(name))
    if kind.kind == "f":
        return np.array([0.0, -0.0, 1.0, -1.5, 2.5, 100.0, *generator.normal(0, 10, 18)]).astype(kind)
    limits = np.iinfo(kind)
    ends = [0, 1, 2, 3, limits.min, limits.max]
    return np.array([*ends, *generator.integers(max(-100, limits.min), 100, 18).tolist()], kind)


INTEGERS = ["int8 int8", "int32 uint8", "int64 int32", "uint64 uint64"]
REALS = ["float32 int64", "float32 float64", "uint8 float32"]
CASES = [(of_integers, names) for names in INTEGERS]
CASES += [(of_reals, names) for names in REALS]
CASES += [(of_both, names) for names in INTEGERS + REALS]


@pytest.mark.parametrize(("function", "names"), CASES)
def test_a_compiled_kernel_gives_the_same(function, names):
    first, second = map(numbers_of, names.split())
    second = np.roll(second, 5)
    results = []
    for kernel in (usmpy.kernel(function), Interpreter(function, function.__name__)):
        outputs = [usmpy.zeros((12, 24), dtype=dtype, device=HOST) for dtype in ("int64", "float64")]
        kernel[24](usmpy.asarray(first, device=HOST), usmpy.asarray(second, device=HOST), *outputs).wait()
        results.append([output.asnumpy() for output in outputs])
    for compiled, interpreted in zip(*results, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)
