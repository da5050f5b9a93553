"""Every public function and method of arrays 40 times, also refused: no Python object is left.

The refused calls are made from those that work: each argument in turn is an object of a wrong type, value
or shape, and there is one argument too many, and one with an unknown name. test_leaks.py has the calls of
devices, queues and events, exchange/test_import_leaks.py those of imports.
"""

import contextlib
import gc
import operator
import runpy
import sys
import warnings
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from asleep import until_others_sleep

import usmpy
from usmpy import _core

ROUNDS = 24
SLACK = ROUNDS // 2  # blocks and references: what the interpreter and other threads allocate meanwhile
FREE_THREADED = not getattr(sys, "_is_gil_enabled", lambda: True)()

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.skipif(FREE_THREADED, reason="counts of references are spread over threads there"),
    pytest.mark.not_sanitized("it counts Python's blocks"),
]


class Wrong:
    """No function takes it."""


class Number:
    """An integer that is converted to one."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


WRONG = Wrong()
DEVICE = usmpy.Device("host")
X = usmpy.ones((4, 4), dtype="float32", device=DEVICE)
I = usmpy.ones((4, 4), dtype="int32", device=DEVICE)  # noqa: E741
B = usmpy.ones((4, 4), dtype="bool", device=DEVICE)
C = usmpy.ones((4, 4), dtype="complex64", device=DEVICE)
V = usmpy.arange(8, dtype="int32", device=DEVICE)
T = V.copy()  # written to
N = np.ones(4, "float32")
ELSE = usmpy.ones((4, 4), dtype="float32", queue=usmpy.Queue(DEVICE))  # in another queue
# What an argument is replaced by, too. Some functions take some of it.
HUGE = 1 << 70
BAD = (
    *(None, "nonsense", -9, HUGE, float("nan"), 1j, [WRONG], [1, WRONG], (0, "nonsense"), [[1, WRONG]], {1}),
    *(V, C, ELSE, [X, ELSE], [X, V], N, np.ones((2, 3), "float16"), np.ones(2, "S3"), DEVICE, X.queue),
    *(ELSE.queue, [ELSE.queue], "int16", usmpy.int8),
    usmpy.empty((4, 4), dtype="float8_e5m2", device=DEVICE),  # a type that is only stored
)
SOURCE = "kernel void one(global int *x) {\n  x[get_global_id(0)] = 1;\n}\n"
PROGRAM = usmpy.Program(SOURCE, device=DEVICE)
KERNEL = PROGRAM["one"]


def by_name(table):
    return {name: lists for names, lists in table.items() for name in names.split()}


def of_row(row):
    """Lists of arguments for an operation of the table."""
    if row.inputs == 2:
        return [(X, X), (X, 2), (2.5, X)] if row.real else [(I, I), (I, 1)]
    x = C if row.complex and row.real == "x" else X if row.real else I
    return [(x,), (x, {"order": "F"}), *([(x, {"out": B if row.result == "bool" else x})] if x is X else [])]


TABLE = runpy.run_path(str(Path(__file__).parents[2] / "csrc/kernels/operations.py"))
# Names of functions: lists of arguments, with keywords as a dict at the end.
CALLS = {row.name: of_row(row) for row in TABLE["OPERATIONS"]} | by_name(
    {
        "isfinite isinf isnan": [(X,), (X, {"out": B}), (X, {"order": "F"})],
        "equal greater greater_equal less less_equal not_equal": [(X, X), (X, 2), (2.5, X)],
        "logical_and logical_or logical_xor": [(B, B)],
        "logical_not": [(B,)],
        "all any count_nonzero max mean min prod std sum var": [
            (X,),
            (X, {"axis": (0, 1)}),
            (X, {"axis": 0, "keepdims": True}),
        ],
        "argmax argmin": [(X,), (X, {"axis": 1, "keepdims": True})],
        "cumulative_prod cumulative_sum": [(V,), (X, {"axis": 0, "dtype": "float64"})],
        "argsort sort": [(X,), (X, {"axis": 0, "descending": True})],
        "diff": [(X,), (X, {"axis": 0, "n": 2, "prepend": X})],
        "arange": [(4,), (0, 4, 2, {"dtype": "int64", "device": DEVICE})],
        "asarray": [([1, 2.5],), (N, {"copy": True}), (((1, 2), (3, 4)), {"dtype": "int8"})],
        "astype": [(X, "int32"), (X, usmpy.float64, {"copy": False})],
        "broadcast_arrays": [(X, V[:4])],
        "broadcast_shapes": [((4, 1), (1, 4))],
        "broadcast_to": [(V, (2, 8))],
        "can_cast": [("int8", "int16"), (X, "float64")],
        "clip": [(X, 0, 1), (X, {"min": X})],
        "concat": [([X, X],), ((X, X), {"axis": None})],
        "stack": [([X, X],), ((X, X), {"axis": 1})],
        "copyto": [(T, V), (T, 1)],
        "empty ones zeros": [(3,), ((2, 2), {"dtype": "int8", "device": DEVICE})],
        "empty_like ones_like zeros_like": [(X,), (X, {"dtype": "int8"})],
        "full": [((2, 2), 3), (2, 1.5, {"dtype": "float16"})],
        "full_like": [(X, 3)],
        "expand_dims": [(X, {"axis": 1})],
        "explain_copy": [(X, X)],
        "explain_matmul": [(X, X)],
        "explain_operation": [("add", X, X)],
        "extract": [(B, X)],
        "eye": [(3,), (3, 4, {"k": 1})],
        "finfo": [("float32",), (X,)],
        "iinfo": [("int32",), (I,)],
        "flip": [(X,), (X, {"axis": (0, 1)})],
        "from_dlpack": [(N,), (X,), (N, {"copy": True})],
        "get_devices": [("host",)],
        "get_execution_queue": [([X.queue, X.queue],)],
        "isdtype": [("int8", "integral"), (usmpy.int8, ("bool", "real floating"))],
        "isin": [(V, V)],
        "linspace": [(0, 1, 5), (0.0, 1.0, 5, {"endpoint": False, "dtype": "float64"})],
        "live_allocations": [()],
        "matmul": [(X, X), (X, X[0])],
        "matrix_transpose": [(X,)],
        "memory_connection": [(DEVICE, DEVICE)],
        "memory_stats": [(DEVICE,)],
        "meshgrid": [(V, V), (V, V, {"indexing": "ij"})],
        "moveaxis": [(X, 0, 1), (X, (0, 1), (1, 0))],
        "nonzero": [(X,)],
        "permute_dims": [(X, (1, 0))],
        "place": [(I.copy(), B, V)],
        "put": [(T, V, V)],
        "put_along_axis": [(T, V.astype("int64"), V, {"axis": 0})],
        "take": [(X, V[:4], {"axis": 0}), (V, V)],
        "take_along_axis": [(V, V.astype("int64"), {"axis": 0})],
        "repeat": [(X, 2), (V, V, {"axis": 0})],
        "reshape": [(X, (2, 8)), (X, (16,), {"copy": True})],
        "result_type": [("int8", "int16"), (X, 1.0)],
        "roll": [(X, 1), (X, (1, 2), {"axis": (0, 1)})],
        "searchsorted": [(V, V), (V, V, {"side": "right"})],
        "select_default_device": [()],
        "select_device_with_aspects": [("cpu",)],
        "set_memory_limit": [(DEVICE, None)],
        "share": [(V,)],
        "squeeze": [(X[:1], 0)],
        "swapaxes": [(X, 0, 1)],
        "tensordot": [(X, X), (X, X, {"axes": ((0,), (1,))}), (X, X, {"axes": 1})],
        "tile": [(X, (2, 1))],
        "tril": [(X,), (X, {"k": 1})],
        "triu": [(X,), (X, {"k": -1})],
        "trim": [(DEVICE,)],
        "unique_all unique_counts unique_inverse unique_values": [(V,)],
        "unstack": [(X,), (X, {"axis": 1})],
        "vecdot": [(X, X), (X, X, {"axis": 0})],
        "where": [(B, X, X), (B, X, 1.0)],
        "__array_namespace_info__": [()],
    }
)
# Those that other files repeat, that build programs, or that only name what others do.
ELSEWHERE = {
    "from_arrow": "exchange/test_import_leaks.py",
    "diagnose": "test_leaks.py",
    "trace": "a context that the whole process is in: cts/test_trace.py",
    "track_allocations": "a switch of the whole process: cts/test_memory_stats.py",
    "get_include": "a path",
    "kernel": "cts/test_python_launches.py",
    "prebuild": "it builds programs",
}
METHODS = by_name(
    {
        "all any argmax argmin max mean min prod std sum var": [(X,), (X, {"axis": 0})],
        "argsort": [(X,)],
        "asnumpy": [(X,)],
        "astype": [(X, "int8")],
        "clip": [(X, 0, 1)],
        "copy": [(X,), (X, {"order": "F"})],
        "fill": [(T, 1)],
        "flatten": [(X,)],
        "get_ipc_handle": [(usmpy.share(V),)],
        "item": [(V[0],), (V, 3)],
        "nonzero": [(X,)],
        "put": [(T, V, V)],
        "ravel": [(X,)],
        "repeat": [(X, 2)],
        "reshape": [(X, (2, 8)), (X, 16)],
        "squeeze": [(X[:1],)],
        "swapaxes": [(X, 0, 1)],
        "take": [(V, V)],
        "to_device": [(X, DEVICE)],
        "tobytes": [(X,)],
        "tolist": [(X,)],
        "transpose": [(X,), (X, 1, 0)],
        "wait": [(X,)],
    }
)
METHODS_ELSEWHERE = {
    "from_pointer": "exchange/test_import_leaks.py",
    "lend": "exchange/test_import_leaks.py",
}
OPERATORS = [
    getattr(operator, name)
    for name in (
        *("add", "sub", "mul", "mod", "pow", "lshift", "rshift", "and_", "xor", "or_", "floordiv", "truediv"),
        *("eq", "ne", "lt", "le", "gt", "ge", "iadd", "isub", "imul", "iand", "ior", "ixor"),
    )
]
OTHERS = {
    "index": [
        *(lambda key=key: X[key] for key in (0, (0, 0), slice(1, 3), (..., None), (slice(None), 1), [0, 1])),
        *(lambda key=key: X[key] for key in (V[:4], B, (V[:4], V[:4]))),
    ],
    "a wrong index": [
        lambda key=key: X[key] for key in (9, (0, 0, 0), WRONG, (0, WRONG), slice(WRONG), [WRONG], X, "a")
    ],
    "store": [
        lambda: operator.setitem(X, 0, 1),
        lambda: operator.setitem(X, (..., 1), X[0]),
        lambda: operator.setitem(X, B, 2.0),
        lambda: operator.setitem(X, V[:4], X),
    ],
    "a wrong store": [
        lambda: operator.setitem(X, 0, WRONG),
        lambda: operator.setitem(X, WRONG, 1),
        lambda: operator.setitem(X, 0, V),
        lambda: operator.setitem(X, B, WRONG),
        lambda: operator.delitem(X, 0),
    ],
    "operators": [lambda f=f, y=y: f(I, y) for f in OPERATORS for y in (2, I)],
    "operators with numbers of NumPy": [
        lambda f=f, y=y: f(X, y)
        for f in OPERATORS
        for y in (np.float32(2.5), np.float64(1e300), np.int64(1 << 40))
    ],
    "reflected operators": [lambda: 2 + I, lambda: 2 - X, lambda: 2**X, lambda: 2 / X, lambda: 7 // I],
    "operators of a wrong type": [
        *(lambda f=f: f(X, WRONG) for f in (operator.add, operator.pow, operator.matmul, operator.iadd)),
        *(lambda f=f: f(WRONG, X) for f in (operator.sub, operator.and_, operator.mod, divmod)),
    ],
    "numbers of an array": [
        *(lambda f=f: f(V[0]) for f in (int, float, complex, bool, operator.index)),
        *(lambda f=f: f(X) for f in (int, float, complex, bool, operator.index, hash)),
    ],
    "attributes": [
        lambda n=n: getattr(X, n)
        for n in dir(X)
        if n[0] != "_" and not callable(getattr(usmpy.USMArray, n, None)) and n != "native_handle"
    ],
    "attributes that are not there": [lambda: X.nonsense, lambda: setattr(X, "shape", WRONG)],
    "exports": [
        lambda: X.__dlpack__(),
        lambda: X.__dlpack__(max_version=(1, 3), stream=None, copy=True),
        lambda: X.__dlpack__(stream=WRONG),
        lambda: X.__dlpack__(max_version=WRONG),
        lambda: X.__dlpack__(dl_device=(99, 0)),
        lambda: V.__arrow_c_array__(),
        lambda: V.__arrow_c_array__(WRONG),
        lambda: X.__array__("int8"),
        lambda: X.__array_interface__,
        lambda: memoryview(X),
        lambda: np.asarray(X),
    ],
    "text": [lambda: repr(X), lambda: str(V), lambda: f"{V[0]}", lambda: repr(usmpy.int8)],
    "iteration": [lambda: list(V), lambda: len(X), lambda: [*X[0]], lambda: 1 in V],
    "launches": [
        lambda: KERNEL[8](V),
        lambda: (repr(KERNEL), repr(KERNEL[8]), repr(PROGRAM)),
        lambda: KERNEL[8](x=V),
        lambda: KERNEL[usmpy.NdRange(8, 4)](V),
        lambda: KERNEL[8, ()](V),
        lambda: KERNEL[8](WRONG),
        lambda: KERNEL[8](V, V),
        lambda: KERNEL[8](y=V),
        lambda: KERNEL[WRONG],
        lambda: KERNEL[8, WRONG](V),
        lambda: KERNEL[-1],
    ],
    "programs": [
        lambda: PROGRAM["one"],
        lambda: PROGRAM["two"],
        lambda: PROGRAM[WRONG],
        lambda: usmpy.Program(SOURCE, device=DEVICE),
        lambda: usmpy.Program(SOURCE, device=DEVICE, options=f"-D A={ROUNDS}"),
        lambda: usmpy.Program(WRONG),
        lambda: usmpy.Program(SOURCE, device=WRONG),
        lambda: usmpy.Program(SOURCE, device=DEVICE, language="nonsense"),
        lambda: usmpy.Program(SOURCE, device=DEVICE, options=WRONG),
    ],
    "ranges": [
        *(lambda a=a: usmpy.Range(*a) for a in ((1,), (1, 2, 3), (WRONG,), (1, WRONG), (), (-1,), (1,) * 4)),
        *(lambda a=a: usmpy.NdRange(*a) for a in ((8, 2), (8, WRONG), (WRONG, 2), ((8, 8), 2), (7, 2))),
        *(lambda a=a: usmpy.NdRange(*a) for a in (([8, 8], [2, 2]), (iter([]), 2), ([8, WRONG], [2]))),
        *(lambda a=a: usmpy.LocalMemory(a) for a in (8, WRONG, -1)),
    ],
    "types": [
        *(lambda d=d: d.type for d in (usmpy.int8, usmpy.float64, usmpy.bfloat16)),
        *(
            lambda a=a: usmpy.DType(a)
            for a in ("int8", np.dtype("float32"), float, usmpy.int8, WRONG, "nonsense")
        ),
    ],
    "borrow": [
        *(lambda a=a: usmpy.borrow(a).__enter__() for a in (N, X)),
        lambda: usmpy.borrow(WRONG),
    ],
}


def split(given):
    keywords = given[-1] if given and isinstance(given[-1], dict) else {}
    return given[: len(given) - bool(keywords)], keywords


def remade(value):
    """The same of objects that a function converts: a new object, where a tuple would be used itself."""
    if isinstance(value, tuple):
        return [remade(item) for item in value]
    return Number(value) if type(value) is int else value


def variants(lists):
    """Argument lists that work, and wrong ones made from them: (arguments, keywords)."""
    for arguments, keywords in map(split, lists):
        yield arguments, keywords
        yield [remade(value) for value in arguments], {n: remade(value) for n, value in keywords.items()}
        for wrong in (WRONG, *BAD):
            for i in range(len(arguments)):
                yield (*arguments[:i], wrong, *arguments[i + 1 :]), keywords
            for name in keywords:
                if name != "n" or wrong is not HUGE:  # diff() would take differences as often
                    yield arguments, keywords | {name: wrong}
        yield (*arguments, *[WRONG] * 20), keywords  # more than have room on the stack
        yield arguments, keywords | {"nonsense": WRONG}


def parts(value):
    """The objects in it."""
    if isinstance(value, tuple | list):
        for item in value:
            yield from parts(item)
    elif isinstance(value, dict):
        yield from parts(list(value.values()))
    yield value


def try_all(calls):
    for call in calls:
        try:
            call()
        except Exception:
            continue


def dict_of(kind):
    """The dict of a class, of which Python shows a proxy."""
    return gc.get_referents(kind.__dict__)[0]


def functions():
    """The functions and classes of usmpy's own modules, which C code looks up."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "usmpy":
            yield from (thing for thing in vars(module).values() if isinstance(thing, type | FunctionType))


# All that may be referred to once too often, and once each. Immortal objects have no counts.
THINGS = list(
    {
        id(thing): thing
        for thing in (
            *(WRONG, DEVICE, X, I, B, C, V, T, N, PROGRAM, KERNEL, X.queue, X.queue.context),
            *(usmpy.empty(0).queue, True, False, NotImplemented, type(None)),
            *(TypeError, ValueError, IndexError, OverflowError, BufferError),
            *map(np.dtype, ("int8", "float64")),
            *(np.ndarray.__dlpack__, usmpy.USMArray.__dlpack__),
            *(part for kind in (Wrong, list, str, np.ndarray) for part in (kind.__mro__, dict_of(kind))),
            *functions(),
            *parts([*CALLS.values(), *METHODS.values(), *BAD]),
            *(thing for thing in vars(usmpy).values() if isinstance(thing, type | usmpy.DType)),
        )
    }.values()
)


def settle():
    """Ends all work, and releases what it held."""
    for queue in (X.queue, ELSE.queue):
        with contextlib.suppress(usmpy.UsmError):
            queue.wait()
    until_others_sleep()  # workers release the last task shortly after its completion is visible
    usmpy.empty(0)  # releases that wait for the GIL


def counts():
    settle()
    gc.collect()
    # CPython's cache of attributes keeps names, also those that C code made for one look-up.
    sys._clear_type_cache()
    live = _core._live_counts().values()
    return sys.getallocatedblocks(), [*map(sys.getrefcount, THINGS), *live]


def names(grown):
    """What has grown, for a message."""
    all_names = [*(type(thing).__name__ for thing in THINGS), *_core._live_counts()]
    return {f"{name} {i}": n for i, (name, n) in enumerate(zip(all_names, grown, strict=True)) if n > SLACK}


def check(calls):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(5):  # caches and free lists fill
            try_all(calls)
        for _ in range(3):  # a leak is there each time
            blocks, references = counts()
            for _ in range(ROUNDS):
                try_all(calls)
            more, more_references = counts()
            grown = [b - a for a, b in zip(references, more_references, strict=True)]
            if more - blocks <= SLACK and max(grown) <= SLACK:
                return
    raise AssertionError(f"{ROUNDS} rounds left {more - blocks} blocks and references {names(grown)}")


def check_function(function, lists):
    for arguments, keywords in map(split, lists):
        function(*arguments, **keywords)  # works: else errors alone would be repeated
    check([lambda a=a, k=k: function(*a, **k) for a, k in variants(lists)])


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    check_function(getattr(usmpy, name), CALLS[name])


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    check_function(getattr(usmpy.USMArray, name), METHODS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    check(OTHERS[name])


def test_every_function_is_repeated():
    functions = {n for n in usmpy.__all__ if callable(getattr(usmpy, n))}
    functions -= {n for n in functions if isinstance(getattr(usmpy, n), type | usmpy.DType)}
    assert functions == set(CALLS) | set(ELSEWHERE)
    methods = {n for n in dir(usmpy.USMArray) if n[0] != "_" and callable(getattr(usmpy.USMArray, n))}
    assert methods == set(METHODS) | set(METHODS_ELSEWHERE)


def test_leaks_are_found():
    kept = []
    with pytest.raises(AssertionError, match="blocks"):
        check([lambda: kept.append(object())])
    with pytest.raises(AssertionError, match="references"):
        check([lambda: kept.append(WRONG)])
