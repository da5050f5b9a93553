"""Parameters that are numbers, of all public functions and methods: NumPy's and ctypes' scalars are taken.

A scalar is the number of Python that it stands for: the result and its type are the same. Lengths, counts and
axes are whatever has ``__index__``: ctypes' values have none, and are refused as Python and NumPy do.
"""

import ast
import ctypes
import inspect
import operator
import re
from pathlib import Path

import numpy as np
import pytest
from together import together

import usmpy

QUEUE = usmpy.Queue("host")
INTEGERS = [np.dtype(code).type for code in "bBhHiIlLqQ"]
INTEGERS += [getattr(ctypes, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]
LONG = [np.longdouble, ctypes.c_longdouble]  # which no array holds
FLOATS = [np.float16, np.float32, np.float64, ctypes.c_float, ctypes.c_double, *LONG]
COMPLEX = [np.complex64, np.complex128, np.clongdouble]
TRUTHS = [np.bool_, ctypes.c_bool]
# They read any object, and refuse numbers of long double with the call that rounds them.
READ = {"full.fill_value", "full_like.fill_value", "copyto.src", "place.values"}


def scalars(value):
    """The value as scalars of every type that may stand for it, and as NumPy's arrays of no dimensions."""
    kinds = {bool: [TRUTHS], int: [INTEGERS], float: [FLOATS], complex: [COMPLEX]}[type(value)]
    for types in kinds:
        for each in types:
            yield each(value)
            if issubclass(each, np.generic):
                yield np.array(value, each)


def array(values, dtype=None):
    return usmpy.asarray(values, dtype=dtype, queue=QUEUE)


N, F, B = array([3, 1, 2]), array([3.0, 1.0, 2.0], "float32"), array([True, False, True])
CUBE = usmpy.reshape(usmpy.arange(8, queue=QUEUE), (2, 2, 2))


def changed(x, change):
    """A copy of x that was changed."""
    y = x.copy()
    change(y)
    QUEUE.wait()
    return y


def drawn():
    return usmpy.random.Generator(1, queue=QUEUE)


def helper(kind, *texts, **options):
    return getattr(usmpy, f"{kind}Kernel")(*texts, **options)


def launched(value):
    source = "kernel void set(global float *x, float a) { x[get_global_id(0)] = a; }"
    kernel = usmpy.Program(source, device=QUEUE).set
    return changed(F, lambda y: kernel[usmpy.Range(3)](y, value))


# A call for each parameter that is the value of a number, and the number.
VALUES = {
    "Queue.fill.value": (lambda v: changed(F, lambda y: QUEUE.fill(y, v)), 2.0),
    "Queue.wait.timeout": (lambda v: QUEUE.wait(v), 60.0),
    "Event.wait.timeout": (lambda v: QUEUE.barrier().wait(v), 60.0),
    "Event.result.timeout": (lambda v: QUEUE.barrier().result(v), 60.0),
    "Event.wait_all.timeout": (lambda v: usmpy.Event.wait_all([QUEUE.barrier()], v), 60.0),
    "USMArray.wait.timeout": (lambda v: F.wait(v), 60.0),
    "USMArray.var.correction": (lambda v: F.var(correction=v), 2.0),
    "USMArray.std.correction": (lambda v: F.std(correction=v), 2.0),
    "USMArray.clip.min": (lambda v: F.clip(v), 2.0),
    "USMArray.clip.max": (lambda v: N.clip(max=v), 2),
    "USMArray.__setitem__.value": (lambda v: changed(F, lambda y: y.__setitem__(1, v)), 2.0),
    "USMArray.fill.value": (lambda v: changed(F, lambda y: y.fill(v)), 2.0),
    "USMArray.put.values": (lambda v: changed(F, lambda y: y.put([1], v)), 2.0),
    "full.fill_value": (lambda v: usmpy.full(2, v, dtype="float32", queue=QUEUE), 2.0),
    "full_like.fill_value": (lambda v: usmpy.full_like(F, v), 2.0),
    "arange.start": (lambda v: usmpy.arange(v, queue=QUEUE), 3),
    "arange.stop": (lambda v: usmpy.arange(1, v, queue=QUEUE), 3.0),
    "arange.step": (lambda v: usmpy.arange(1, 9, v, queue=QUEUE), 3.0),
    "linspace.start": (lambda v: usmpy.linspace(v, 9, 3, queue=QUEUE), 3.0),
    "linspace.stop": (lambda v: usmpy.linspace(1, v, 3, queue=QUEUE), 3 + 1j),
    "copyto.src": (lambda v: changed(F, lambda y: usmpy.copyto(y, v)), 2.0),
    "put.values": (lambda v: changed(F, lambda y: usmpy.put(y, array([1]), v)), 2.0),
    "put_along_axis.values": (
        lambda v: changed(F, lambda y: usmpy.put_along_axis(y, array([1]), v, axis=0)),
        2.0,
    ),
    "place.values": (lambda v: changed(F, lambda y: usmpy.place(y, B, v)), 2.0),
    "result_type.arrays_and_dtypes": (lambda v: array(0, usmpy.result_type(N, v)), 2.0),
    "explain_operation.x1": (lambda v: usmpy.explain_operation("add", v, F), 2.0),
    "explain_operation.x2": (lambda v: usmpy.explain_operation("add", F, v), 2.0),
    "where.x1": (lambda v: usmpy.where(B, v, F), 2.0),
    "where.x2": (lambda v: usmpy.where(B, N, v), 2.0),
    "clip.min": (lambda v: usmpy.clip(N, v), 2),
    "clip.max": (lambda v: usmpy.clip(F, None, v), 2.0),
    "var.correction": (lambda v: usmpy.var(F, correction=v), 2.0),
    "std.correction": (lambda v: usmpy.std(F, correction=v), 2),
    "searchsorted.x2": (lambda v: usmpy.searchsorted(usmpy.sort(F), v), 2.0),
    "isin.x1": (lambda v: usmpy.isin(v, N), 2),
    "isin.x2": (lambda v: usmpy.isin(F, v), 2.0),
    "ElementwiseKernel": (lambda v: helper("Elementwise", "T x, S a", "T z", "z = x + a")(F, v), 2.0),
    "ReductionKernel": (
        lambda v: helper("Reduction", "T x, S s", "T z", "x * s", "a + b", "z = a", 0)(N, v),
        2,
    ),
    "ScanKernel": (lambda v: helper("Scan", "T x, S s", "T z", "x * s", "a + b")(F, v), 2.0),
    "ReductionKernel.identity": (
        lambda v: helper("Reduction", "T x", "T z", "x", "a + b", "z = a", v)(F[:0]),
        2.0,
    ),
    "ScanKernel.identity": (
        lambda v: helper("Scan", "T x", "T z", "x", "a + b", identity=v)(N, include_initial=True),
        2,
    ),
    "Kernel": (launched, 2.0),
    "Generator.seed": (lambda v: usmpy.random.Generator(v, queue=QUEUE).random(3), 7),
    "Generator.normal.loc": (lambda v: drawn().normal(v, 1, 3), 2.0),
    "Generator.normal.scale": (lambda v: drawn().normal(0, v, 3), 2.0),
    "Generator.integers.low": (lambda v: drawn().integers(v, 9, size=3), 2),
    "Generator.integers.high": (lambda v: drawn().integers(0, v, size=3), 9),
}
# A call for each parameter that is a length, a count or an axis.
COUNTS = {
    "Device.create_sub_devices.units": lambda v: len(QUEUE.device.create_sub_devices(v)),
    "Queue.memcpy.nbytes": lambda v: changed(N, lambda y: QUEUE.memcpy(y, N, v)),
    "Range.__new__.global_range": lambda v: repr(usmpy.Range(v, 2)),
    "Range.__getitem__.key": lambda v: usmpy.Range(4, 5)[v],
    "NdRange.__new__.global_range": lambda v: repr(usmpy.NdRange(v, 1)),
    "NdRange.__new__.local_range": lambda v: repr(usmpy.NdRange(4, v)),
    "LocalMemory.__new__.n": lambda v: usmpy.LocalMemory(v).nbytes,
    "USMArray.__new__.shape": lambda v: usmpy.USMArray(v, queue=QUEUE).shape,
    "USMArray.reshape.shape": lambda v: F.reshape((v, 3)),
    "USMArray.item.args": lambda v: F.item(v),
    "USMArray.__getitem__.key": lambda v: F[v],
    "USMArray.swapaxes.axis1": lambda v: CUBE.swapaxes(v, 0),
    "USMArray.swapaxes.axis2": lambda v: CUBE.swapaxes(0, v),
    "USMArray.squeeze.axis": lambda v: CUBE[:, :1].squeeze(v),
    "USMArray.transpose.axes": lambda v: CUBE.transpose(0, v, 2),
    "USMArray.repeat.repeats": lambda v: F.repeat(v),
    "USMArray.repeat.axis": lambda v: CUBE.repeat(2, axis=v),
    "USMArray.take.axis": lambda v: CUBE.take([0], axis=v),
    "USMArray.put.axis": lambda v: changed(CUBE, lambda y: y.put([0], 1, axis=v)),
    "empty.shape": lambda v: usmpy.empty(v, queue=QUEUE).shape,
    "zeros.shape": lambda v: usmpy.zeros((2, v), queue=QUEUE),
    "ones.shape": lambda v: usmpy.ones(v, queue=QUEUE),
    "full.shape": lambda v: usmpy.full(v, 2, queue=QUEUE),
    "reshape.shape": lambda v: usmpy.reshape(F, (3, v)),
    "broadcast_to.shape": lambda v: usmpy.broadcast_to(F, (v, 3)),
    "broadcast_shapes.shapes": lambda v: usmpy.broadcast_shapes((2, 1), (v, 3)),
    "tile.repetitions": lambda v: usmpy.tile(F, v),
    "eye.n_rows": lambda v: usmpy.eye(v, queue=QUEUE),
    "eye.n_cols": lambda v: usmpy.eye(2, v, queue=QUEUE),
    "eye.k": lambda v: usmpy.eye(2, k=v, queue=QUEUE),
    "linspace.num": lambda v: usmpy.linspace(0, 1, v, queue=QUEUE),
    "tril.k": lambda v: usmpy.tril(CUBE, k=v),
    "triu.k": lambda v: usmpy.triu(CUBE, k=v),
    "roll.shift": lambda v: usmpy.roll(F, v),
    "roll.axis": lambda v: usmpy.roll(CUBE, 1, axis=v),
    "repeat.repeats": lambda v: usmpy.repeat(F, v),
    "diff.n": lambda v: usmpy.diff(F, n=v),
    "tensordot.axes": lambda v: usmpy.tensordot(CUBE, CUBE, axes=v),
    "vecdot.axis": lambda v: usmpy.vecdot(CUBE, CUBE, axis=v),
    "swapaxes.axis1": lambda v: usmpy.swapaxes(CUBE, v, 0),
    "swapaxes.axis2": lambda v: usmpy.swapaxes(CUBE, 0, v),
    "permute_dims.axes": lambda v: usmpy.permute_dims(CUBE, (0, v, 2)),
    "moveaxis.source": lambda v: usmpy.moveaxis(CUBE, v, 0),
    "moveaxis.destination": lambda v: usmpy.moveaxis(CUBE, 0, v),
    "squeeze.axis": lambda v: usmpy.squeeze(CUBE[:, :1], v),
    "stack.axis": lambda v: usmpy.stack([CUBE, CUBE], axis=v),
    "concat.axis": lambda v: usmpy.concat([CUBE, CUBE], axis=v),
    "take.axis": lambda v: usmpy.take(CUBE, array([0]), axis=v),
    "take_along_axis.axis": lambda v: usmpy.take_along_axis(CUBE, CUBE[:, :1] % 2, axis=v),
    "put.axis": lambda v: changed(CUBE, lambda y: usmpy.put(y, array([0]), 1, axis=v)),
    "put_along_axis.axis": lambda v: changed(
        CUBE, lambda y: usmpy.put_along_axis(y, CUBE[:, :1] % 2, 1, axis=v)
    ),
    "repeat.axis": lambda v: usmpy.repeat(CUBE, 2, axis=v),
    "argmax.axis": lambda v: usmpy.argmax(CUBE, axis=v),
    "Generator.random.size": lambda v: drawn().random(v),
    "Generator.integers.size": lambda v: drawn().integers(0, 9, v),
    "Generator.normal.size": lambda v: drawn().normal(0, 1, (v, 2)),
}
# Parameters that are not numbers of the caller, such as addresses, and those that another row stands for.
OTHER = {
    "Kernel.from_pointer.address": "an address",
    "USMArray.from_pointer.address": "an address",
    "USMArray.from_pointer.shape": "an address goes with it: test_from_pointer.py",
    "USMArray.from_pointer.strides": "an address goes with it: test_from_pointer.py",
    "USMArray.__reduce_ex__.protocol": "pickle's",
    "USMArray.__buffer__.flags": "the interpreter's",
    "USMArray.__dlpack__.stream": "the protocol's",
    "USMArray.__dlpack__.max_version": "the protocol's",
    "USMArray.__dlpack__.dl_device": "the protocol's",
    "from_dlpack.device": "the protocol's",
    "from_arrow.device": "the protocol's",
    "set_memory_limit.nbytes": "of the process: test_memory.py",
    "Queue.submit.args": "Kernel",
    "Queue.submit.range": "Range",
    "BoundKernel.__call__.args": "Kernel",
    "BoundKernel.__call__.kwargs": "Kernel",
    "Kernel.__getitem__.key": "Range",
    "USMArray.take.indices": "objects that the reader takes",
    "take.indices": "objects that the reader takes",
    "take_along_axis.indices": "objects that the reader takes",
    "USMArray.put.indices": "objects that the reader takes",
    "put.indices": "objects that the reader takes",
    "put_along_axis.indices": "objects that the reader takes",
    "USMArray.__setitem__.key": "USMArray.__getitem__.key",
    "USMArray.__setitem__.value": "VALUES",
    "asarray.obj": "objects that the reader takes",
}
VALUE = {"complex", "float", "_Number", "_Real", "_HostScalar", "_KernelArgument"}
COUNT = {
    "int",
    "SupportsIndex",
    "_Shape",
    "_Axes",
    "_Pair",
    "_Extents",
    "_Space",
    "_Range",
    "_Index",
    "_Indices",
}
BINARY = {"x1", "x2"}


def parameters():
    """(name, annotation) of each parameter of a public function or method, from the stub."""
    stub = Path(usmpy.__file__).with_name("_core.pyi")

    def of(function, owner=""):
        for given in ast.walk(function.args):
            if isinstance(given, ast.arg) and given.annotation is not None:
                words = {node.id for node in ast.walk(given.annotation) if isinstance(node, ast.Name)}
                yield f"{owner}{function.name}.{given.arg}", words

    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield from of(node)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield from of(method, f"{node.name}.")
    for module in ("statistics", "sets", "indexing"):
        source = Path(usmpy.__file__).with_name("_arrays") / f"{module}.py"
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in usmpy.__all__:
                yield from of(node)


def with_an_axis():
    """Functions and methods that have a parameter `axis` and need one array beside it."""
    for owner in (usmpy, usmpy.USMArray):
        for name in usmpy.__all__ if owner is usmpy else dir(owner):
            function = getattr(owner, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            given = inspect.signature(function).parameters if inspect.isroutine(function) else {}
            needed = [each for each in given.values() if each.default is each.empty and each.name != "axis"]
            if "axis" in given and len(needed) == 1 and needed[0].kind is not needed[0].VAR_POSITIONAL:
                yield f"{'USMArray.' if owner is usmpy.USMArray else ''}{name}.axis", function


AXES = {name: function for name, function in with_an_axis() if name not in COUNTS}
FUNCTIONS = [
    name.partition(".")[0]
    for name, words in parameters()
    if name.endswith(".x1") and words & VALUE and name not in VALUES
]
OPERATORS = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "iadd",
    "isub",
    "imul",
    "and_",
    "or_",
    "xor",
    "lshift",
)


def seen(result):
    if isinstance(result, tuple):
        return tuple(map(seen, result))
    return (result.dtype, result.shape, result.tolist()) if isinstance(result, usmpy.USMArray) else result


def check(call, value, name):
    expected = seen(call(value))
    for scalar in scalars(value):
        is_long = type(scalar) in LONG or getattr(scalar, "dtype", None) in (np.longdouble, np.clongdouble)
        if name in READ and is_long:
            continue
        try:
            got = seen(call(scalar))
        except Exception as error:
            raise AssertionError(f"{scalar!r} of {type(scalar)}: {error}") from error
        assert got == expected, f"{scalar!r} of {type(scalar)}"


@together("name", VALUES)
def test_values(name):
    call, value = VALUES[name]
    check(call, value, name)
    if type(value) is float:
        check(call, int(value), name)


@together("name", FUNCTIONS)
def test_functions_of_two(name):
    function = getattr(usmpy, name)
    x, value = (N, 2) if name.startswith("bitwise") else (B, True) if name.startswith("logical") else (F, 2.0)
    check(lambda v: function(x, v), value, name)
    check(lambda v: function(v, x), value, name)
    if value == 2.0:
        check(lambda v: function(N, v), 2, name)


@together("name", OPERATORS)
def test_operators(name):
    function = getattr(operator, name)
    if name in ("and_", "or_", "xor", "lshift"):
        cases = [(N, 2)]
    else:
        cases = [(F, 2.0), (N, 2)] if name != "truediv" else [(F, 2.0)]
    for x, value in cases:
        check(lambda v, x=x: function(x.copy(), v), value, name)
        if name[0] != "i":
            check(lambda v, x=x: function(v, x), value, name)


def counts():
    yield from COUNTS.items()
    for name, function in AXES.items():
        yield name, lambda v, function=function: function(CUBE[:, :1], axis=v)


@together("name, call", counts())
def test_counts(name, call):
    expected = seen(call(1))
    for scalar in scalars(1):
        if hasattr(scalar, "__index__") or name == "USMArray.__getitem__.key":
            assert seen(call(scalar)) == expected, repr(scalar)
        else:
            with pytest.raises((TypeError, IndexError)):
                call(scalar)


def test_no_parameter_is_forgotten():
    tested = {*VALUES, *COUNTS, *AXES, *OTHER, *(f"{name}.{x}" for name in FUNCTIONS for x in BINARY)}
    numbers = {name for name, words in parameters() if words & (VALUE | COUNT)}
    operators = {name for name in numbers if name.startswith("USMArray.__") and name.endswith("__.value")}
    assert numbers - operators - tested == set()


def test_split_and_tensordot_of_numpy():
    for n in (np.int64(3), np.uint8(3), np.array(3)):
        assert [part.tolist() for part in np.split(F, n)] == [[3.0], [1.0], [2.0]]
        assert len(np.array_split(F, n)) == 3
    with pytest.raises(ValueError, match="equal"):
        np.split(F, np.int64(2))
    one = np.int64(1)
    assert np.tensordot(CUBE, CUBE, one).tolist() == np.tensordot(CUBE, CUBE, 1).tolist()
    assert np.tensordot(CUBE, CUBE, (one, one)).tolist() == np.tensordot(CUBE, CUBE, (1, 1)).tolist()


class Raising:
    def __init__(self, kind):
        self.kind = kind

    def __index__(self):
        raise self.kind("mine")


# Some functions take arrays where others take an int or a tuple: their name begins with "array".
WRONG = {
    "float": 1.5,
    "str": "a",
    "bytes": b"a",
    "complex": 1j,
    "None": None,
    "object": object(),
    "list of str": ["a"],
    "NumPy's float": np.float32(1),
    "array of 2": np.array([1, 2]),
    "array of 1": np.array([1]),
    "array of USM": usmpy.asarray([1, 2], queue=QUEUE),
    "array of a float": np.array(1.0),
    "TypeError of __index__": Raising(TypeError),
}
MORE = {
    "Generator.seed": lambda v: usmpy.random.Generator(v, queue=QUEUE),
    "Generator.integers.low": lambda v: drawn().integers(v, 9),
    "Generator.integers.high": lambda v: drawn().integers(0, v),
    "Queue.fill.value": lambda v: changed(N, lambda y: QUEUE.fill(y, v)),
    "IPCHandle.from_bytes.fds": lambda v: usmpy.IPCHandle.from_bytes(
        bytes(usmpy.share(F).get_ipc_handle()), [v]
    ),
    "strides": lambda v: usmpy.USMArray.from_pointer(
        F.data_ptr, 3, F.dtype, strides=(v,), queue=QUEUE, owner=F
    ),
    "address": lambda v: usmpy.USMArray.from_pointer(v, 3, F.dtype, queue=QUEUE),
    "handle": lambda v: usmpy.Queue.from_native("opencl", v),
    "numpy.split.indices_or_sections": lambda v: np.split(F, v),
    "numpy.array_split.indices_or_sections": lambda v: np.array_split(F, [v]),
    "numpy.bincount.minlength": lambda v: np.bincount(N, minlength=v),
    "numpy.unravel_index.shape": lambda v: np.unravel_index(N, v),
    "numpy.median.axis": lambda v: np.median(CUBE, axis=v),
}
CALLS = dict(counts()) | MORE
# How messages call parameters of operators and methods that have no names of their own.
CALLED = {
    "Range.__new__.global_range": "Range",
    "Range.__getitem__.key": "index",
    "USMArray.item.args": "index",
}
KEYS = "USMArray.__getitem__.key"  # reads any object: tests/objects
RAW = re.compile("scalar arrays|interpreted as an integer|index-sized|C long|C ssize_t|0-dimensional")


def refused(name, what):
    """The class and the words of the refusal; None where the call takes the object."""
    try:
        CALLS[name](WRONG[what])
    except (TypeError, ValueError, IndexError) as error:
        return type(error), str(error)
    assert what == "None" or what.startswith("array"), "it is taken"
    return None, ""


@together("name, what", [(name, what) for name in CALLS for what in WRONG if name != KEYS])
def test_what_is_no_int_is_refused_by_the_name_of_the_parameter(name, what):
    error, told = refused(name, what)
    parameter = CALLED.get(name, name.rpartition(".")[2])
    assert not RAW.search(told), told
    assert len(told) <= 400
    if error is TypeError:
        assert re.search(rf"\b{parameter}\b", told), told
        assert re.search("allowed|; use |; give |only these", told), told


@together("name", [name for name in CALLS if name not in (KEYS, "Queue.fill.value")])
def test_other_errors_of_index_pass(name):
    with pytest.raises(RuntimeError, match="mine"):
        CALLS[name](Raising(RuntimeError))


@together("name", CALLS)
def test_ints_of_any_size_have_a_meaning_or_are_out_of_range(name):
    for value in (2**70, -(2**70)):
        told = ""
        try:
            CALLS[name](value)
        except (ValueError, IndexError, OverflowError, MemoryError) as error:
            told = str(error)
        assert not RAW.search(told), told
    QUEUE.wait()
