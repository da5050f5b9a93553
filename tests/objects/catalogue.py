"""The objects of the matrix: for each library, named functions that make one, and what each object means.

An object means what ``numpy.asarray`` makes of it, in a type that usmpy has. Where that type is missing, or
NumPy refuses, usmpy refuses too. The catalogue states what differs from this rule.
"""

from __future__ import annotations

import array
import collections
import ctypes
import dataclasses
import decimal
import enum
import fractions
import functools
import importlib
import io
import mmap
import pathlib
import tempfile
import unittest.mock as mock
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from libraries import need

ml_dtypes = need("ml_dtypes")
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
PLAIN = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]
NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]
OURS = {np.dtype(getattr(ml_dtypes, name, name)) for name in [*PLAIN, *NARROW]}

CALL = r"\w\(|asarray|copyto"  # the message names a call that works
WORDS = {  # by the kind of a NumPy type that usmpy lacks
    "M": r"astype\(|view\(",
    "m": r"astype\(|view\(",
    "S": r"view\(|astype\(|frombuffer\(",
    "V": r"view\(",
    "O": r"astype\(|asarray\(",
}


@dataclasses.dataclass(frozen=True)
class Refused:
    """The object is refused, with a message that the pattern is found in."""

    words: str = CALL
    errors: tuple[type[Exception], ...] = (TypeError, ValueError, BufferError, OverflowError)


NOTHING = Refused("")  # no call makes an array of it


@dataclasses.dataclass(frozen=True)
class Object:
    name: str
    make: Callable[[], Any]
    stated: tuple[
        np.ndarray | Refused, ...
    ] = ()  # where NumPy's answer is not the rule; any of them is right

    @functools.cached_property
    def meanings(self) -> tuple[np.ndarray | Refused, ...]:
        return self.stated or (self._as_numpy(),)

    def _as_numpy(self) -> np.ndarray | Refused:
        try:
            read = np.array(self.make(), copy=None)
        except Exception:
            return Refused()
        if not read.dtype.isnative:
            return Refused(r"astype\(|byteswap\(|newbyteorder\(")
        if read.dtype not in OURS:
            return Refused(WORDS.get(read.dtype.kind, CALL))
        return np.array(read, order="K")  # a copy: the object may be written to


CATALOGUE: dict[str, Callable[[], Iterator[tuple]]] = {}  # yields (name, make, meaning, ...)


def library(make: Callable[[], Iterator[tuple]]) -> Callable[[], Iterator[tuple]]:
    CATALOGUE[make.__name__] = make
    return make


def objects_of(name: str) -> list[Object]:
    """The library's objects; ImportError if it is not installed."""
    return [Object(f"{name} {row[0]}", row[1], row[2:]) for row in CATALOGUE[name]()]


def small(shape: Any, dtype: Any) -> np.ndarray:
    """Small numbers that differ from their neighbours; all are valid indices of a long array."""
    count = int(np.prod(shape, dtype=int))
    return (
        (np.arange(count) % 2 if np.dtype(dtype) == bool else np.arange(1, count + 1))
        .astype(dtype)
        .reshape(shape)
    )


# -- NumPy and Python -------------------------------------------------------------------------------


@library
def numpy() -> Iterator[tuple]:
    for dtype in PLAIN:
        yield f"array {dtype}", lambda dtype=dtype: small((2, 3), dtype)
        yield f"scalar {dtype}", lambda dtype=dtype: np.dtype(dtype).type(1)
        yield f"0-d {dtype}", lambda dtype=dtype: np.array(1, dtype)
    yield "vector", lambda: small(4, "int64")
    yield "scalar uint64 above int64", lambda: np.uint64(2**64 - 1)
    yield "empty (0, 3)", lambda: np.zeros((0, 3), "float32")
    yield "empty (0,)", lambda: np.zeros(0, "int64")
    yield "F order", lambda: np.asfortranarray(small((2, 3), "float32"))
    yield "negative strides", lambda: small((4, 3), "int32")[::-1, ::-2]
    yield "stepped", lambda: small((4, 6), "float64")[::2, ::3]
    yield "odd strides", lambda: np.zeros(3, [("a", "u1"), ("b", "<i4")])["b"]
    yield "unaligned", lambda: np.frombuffer(bytes(9), "u1")[1:].view("int64")
    yield "broadcast", lambda: np.broadcast_to(small(3, "float32"), (2, 3))
    yield "read-only", lambda: _read_only(small((2, 3), "float32"))
    yield "memmap", lambda: _memmap("r+")
    yield "memmap read-only", lambda: _memmap("r")
    yield "fields, turned", lambda: np.zeros((2, 3), [("a", "u1"), ("b", "<i4")])["b"].T
    yield "subclass with a unit", lambda: _with_unit(object()), Refused("unit")
    yield "subclass with a unit that is called", lambda: _with_unit(lambda: 1, True), Refused("unit")
    yield "subclass with a unit in words", lambda: _with_unit("m"), Refused("unit")
    yield "bfloat16 of odd strides", lambda: np.zeros(2, [("a", "u1"), ("b", ml_dtypes.bfloat16)])["b"]
    yield "subclass with a mask", lambda: _with_mask(True), Refused(r"filled\(")
    yield "subclass with a mask, not set", lambda: _with_mask(False)
    yield "matrix", lambda: np.matrix([[1.0, 2.0], [3.0, 4.0]])
    yield "subclass", lambda: small((2, 3), "float64").view(type("Sub", (np.ndarray,), {}))
    yield "masked, none masked", lambda: np.ma.array([1.0, 2.0], mask=[False, False])
    yield "masked, no mask", lambda: np.ma.array([1.0, 2.0])
    yield "masked, one masked", lambda: np.ma.array([1.0, 2.0], mask=[False, True]), Refused(r"filled\(")
    yield "masked constant", lambda: np.ma.masked, Refused(r"filled\(|masked")
    yield "other byte order", lambda: small(3, ">i4")
    yield "other byte order float", lambda: small((2, 2), ">f8")
    yield "records", lambda: np.zeros(2, [("a", "i4"), ("b", "f4")])
    yield "record", lambda: np.zeros(2, [("a", "i4"), ("b", "f4")])[0]
    yield "recarray", lambda: np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])
    yield "void", lambda: np.void(b"abcd")
    for unit in ("s", "ns", "D"):
        yield f"datetime64 {unit}", lambda unit=unit: np.array([3, 4], f"M8[{unit}]")
        yield f"timedelta64 {unit}", lambda unit=unit: np.array([3, 4], f"m8[{unit}]")
    yield "datetime64 scalar", lambda: np.datetime64(3, "s")
    yield "timedelta64 scalar", lambda: np.timedelta64(3, "s")
    yield "timedelta64 0-d", lambda: np.array(3, "m8[s]")
    yield "bytes_", lambda: np.bytes_(b"12")
    yield "bytes array", lambda: np.array([b"1", b"2"])
    yield "str_", lambda: np.str_("12")
    yield "str array", lambda: np.array(["1", "2"])
    yield "string array", lambda: np.array(["1", "2"], np.dtypes.StringDType())
    yield "object of numbers", lambda: np.array([1, 2.5], object)
    yield "object of arrays", lambda: _objects([np.zeros(2), np.zeros(3)]), NOTHING
    yield "object 0-d", lambda: np.array(None, object)
    yield "longdouble", lambda: np.ones(2, np.longdouble)
    yield "longdouble scalar", lambda: np.longdouble(1), Refused(), np.array(1.0)
    yield "clongdouble scalar", lambda: np.clongdouble(1), Refused(), np.array(1 + 0j)
    yield "masked 0-d", lambda: np.ma.array(1, mask=True), Refused(r"filled\(|masked")
    yield "masked 0-d, not masked", lambda: np.ma.array(1.5, mask=False)
    yield (
        "masked records",
        lambda: np.ma.array(np.zeros(2, "i4,f4"), mask=[(1, 0), (0, 0)]),
        Refused(r"filled\("),
    )
    yield "void with fields", lambda: np.zeros((), "i4,f4")[()]
    yield "flatiter", lambda: small((2, 2), "int32").flat
    for dtype in NARROW:
        yield dtype, lambda dtype=dtype: small((2, 2), getattr(ml_dtypes, dtype))
        yield f"scalar {dtype}", lambda dtype=dtype: getattr(ml_dtypes, dtype)(1)


class _Masked(np.ndarray):
    """As astropy's Masked."""

    unmasked = property(lambda self: self.view(np.ndarray))

    def filled(self, value: float) -> np.ndarray:
        return np.where(self.mask, value, self.unmasked)  # type: ignore[attr-defined]


def _with_mask(masked: bool) -> np.ndarray:
    made = small(2, "float64").view(_Masked)
    made.mask = np.array([False, masked])  # type: ignore[attr-defined]
    return made


def _with_unit(unit: Any, called: bool = False) -> np.ndarray:
    made = small(2, "float64").view(type("Sub", (np.ndarray,), {}))
    made.unit = type("Unit", (), {"__call__": unit})() if called else unit  # type: ignore[attr-defined]
    return made


def _read_only(a: np.ndarray) -> np.ndarray:
    a.flags.writeable = False
    return a


def _objects(values: list) -> np.ndarray:
    made = np.empty(len(values), object)
    made[:] = values
    return made


@functools.cache
def _folder() -> pathlib.Path:
    """For files of objects, as long as the process."""
    _folder.kept = tempfile.TemporaryDirectory(prefix="usmpy-objects-")  # type: ignore[attr-defined]
    return pathlib.Path(_folder.kept.name)  # type: ignore[attr-defined]


def _memmap(mode: str) -> np.memmap:
    path = _folder() / "memmap"
    small((2, 3), "float32").tofile(path)
    return np.memmap(path, "float32", mode, shape=(2, 3))


def _mmap() -> mmap.mmap:
    made = mmap.mmap(-1, 8)
    made[:] = bytes(range(8))
    return made


class _Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


class _Packed(ctypes.Structure):  # its buffer has the format 'B', as has that of a union
    _pack_ = 1
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


class _Union(ctypes.Union):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_float))


@library
def python() -> Iterator[tuple]:
    u1 = lambda *values: np.array(values, "uint8")  # noqa: E731
    yield "int", lambda: 3
    yield "bool", lambda: True
    yield "float", lambda: 1.5
    yield "complex", lambda: 1 + 2j
    yield "int of 64 bits", lambda: 2**63, Refused("uint64"), np.array(2**63, "uint64")
    yield "Fraction", lambda: fractions.Fraction(1, 2), Refused(), np.array(0.5)
    yield "Decimal", lambda: decimal.Decimal("1.5"), Refused(), np.array(1.5)
    yield "None", lambda: None, NOTHING
    yield "object", object, NOTHING
    yield "type", lambda: int, NOTHING
    yield "function", lambda: len, NOTHING
    yield "ellipsis", lambda: ..., NOTHING
    yield "list", lambda: [1, 2, 3]
    yield "list of float", lambda: [1, 2.5]
    yield "list of bool", lambda: [True, False]
    yield "list of complex", lambda: [1, 2j]
    yield "list, nested", lambda: [[1, 2], [3, 4]]
    yield "list, empty", lambda: []
    yield "list, two empty", lambda: [[], []]
    yield "list, ragged", lambda: [[1], [2, 3]]
    yield "list of int of 64 bits", lambda: [2**63], Refused("uint64"), np.array([2**63], "uint64")
    yield "list of str", lambda: ["1", "2"], NOTHING
    yield "list of None", lambda: [1, None], NOTHING
    yield "list of dict", lambda: [{1: 2}], NOTHING
    yield "list of object", lambda: [object()], NOTHING
    yield "list of Decimal", lambda: [decimal.Decimal(1)], NOTHING
    for dtype in PLAIN:
        yield (
            f"list of scalars {dtype}",
            lambda dtype=dtype: [np.dtype(dtype).type(1), np.dtype(dtype).type(0)],
        )
    yield "list of two types", lambda: [np.float32(1), np.int8(2)]
    yield "list of scalar and float", lambda: [np.float32(1), 2.5], np.array([1, 2.5], "float32")
    yield "list, nested, of scalars", lambda: [[np.int16(1)], [np.int16(2)]]
    yield "list of arrays", lambda: [small(2, "float32"), small(2, "float32")]
    yield "list of 0-d arrays", lambda: [np.array(1, "int8"), np.array(2, "int8")]
    yield "list of datetime64", lambda: [np.datetime64(3, "s")]
    yield "list of timedelta64", lambda: [np.timedelta64(3, "s")]
    yield "list of bytes_", lambda: [np.bytes_(b"12")]
    yield "list of records", lambda: [np.zeros(1, [("a", "i4")])[0]]
    yield "list of longdouble", lambda: [np.longdouble(1)]
    yield "list of masked 0-d", lambda: [np.ma.array(1, mask=True)], Refused(r"filled\(|masked")
    yield "BytesIO", lambda: io.BytesIO(b"12"), Refused(r"getbuffer\(")
    yield "StringIO", lambda: io.StringIO("12"), NOTHING
    yield "list of masked", lambda: [np.ma.masked, 1.0], Refused(r"filled\(|masked")
    yield "tuple", lambda: (1, 2, 3)
    yield "range", lambda: range(1, 4)
    yield "deque", lambda: collections.deque([1, 2, 3]), np.array([1, 2, 3])
    yield "UserList", lambda: collections.UserList([1, 2, 3]), np.array([1, 2, 3])
    yield "namedtuple", lambda: collections.namedtuple("Point", "x y")(1, 2)
    yield "generator", lambda: (i for i in range(3)), Refused()
    yield "iterator", lambda: iter([1, 2]), Refused()
    yield "dict", lambda: {5: 7}, Refused()
    yield "UserDict", lambda: collections.UserDict({5: 7}), Refused()
    yield "OrderedDict", lambda: collections.OrderedDict({5: 7}), Refused()
    yield "Counter", lambda: collections.Counter([1, 1]), Refused()
    yield "dict_keys", lambda: {5: 7}.keys(), Refused()
    yield "dict_values", lambda: {5: 7}.values(), Refused()
    yield "set", lambda: {1, 2}, Refused()
    yield "frozenset", lambda: frozenset({1}), Refused()
    yield "str", lambda: "12", NOTHING
    yield "str, long", lambda: "1" * 10_000, NOTHING
    yield "str, empty", lambda: "", NOTHING
    yield "UserString", lambda: collections.UserString("12"), NOTHING
    yield "bytes", lambda: b"\1\2", u1(1, 2)
    yield "bytes, empty", lambda: b"", u1()
    yield "bytearray", lambda: bytearray(b"\1\2"), u1(1, 2)
    yield "mmap", _mmap, u1(*range(8))
    for code in "bBhHiIlLqQfd":
        yield f"array.array {code}", lambda code=code: array.array(code, [1, 2, 3])
    yield "array.array u", lambda: array.array("u", "ab")
    for code in "bBhHiIlLqQfd":
        yield f"memoryview {code}", lambda code=code: memoryview(bytearray(16)).cast(code)
    yield "memoryview of bool", lambda: memoryview(bytearray([1, 0])).cast("?")
    yield "memoryview of ssize_t", lambda: memoryview(bytearray(16)).cast("n")
    yield "memoryview c", lambda: memoryview(b"12").cast("c"), Refused(r"cast\(|view\(|frombuffer\(")
    yield "memoryview 2-d", lambda: memoryview(bytearray(range(1, 7))).cast("B", (2, 3))
    yield "memoryview 0-d", lambda: memoryview(ctypes.c_int(3))
    yield "memoryview read-only", lambda: memoryview(b"\1\2")
    yield "memoryview stepped", lambda: memoryview(bytearray(range(1, 7)))[::2]
    yield "memoryview of records", lambda: memoryview(np.zeros(2, [("a", "i4"), ("b", "f4")]))
    for kind in ("c_bool", "c_int8", "c_uint16", "c_int", "c_uint64", "c_float", "c_double"):
        yield f"ctypes {kind}", lambda kind=kind: getattr(ctypes, kind)(1)
        yield f"ctypes array of {kind}", lambda kind=kind: (getattr(ctypes, kind) * 2)(1, 0)
    yield "ctypes array 2-d", lambda: ((ctypes.c_int * 2) * 2)((1, 2), (3, 4))
    yield "ctypes Structure", lambda: _Pair(1, 2.0), Refused(r"view\(|asarray\(")
    yield "ctypes array of Structure", lambda: (_Pair * 2)(), Refused(r"view\(|asarray\(")
    for kind in _Packed, _Union:
        name = f"ctypes {kind.__name__[1:].lower()}"
        yield name, kind, Refused(r"view\(|asarray\(")
        yield f"{name} array", lambda kind=kind: (kind * 2)(), Refused(r"view\(|asarray\(")
    for kind in ("c_void_p", "c_char_p", "c_wchar_p"):
        yield f"ctypes {kind}", lambda kind=kind: getattr(ctypes, kind)(), NOTHING
        yield f"ctypes array of {kind}", lambda kind=kind: (getattr(ctypes, kind) * 2)(), NOTHING
        yield f"memoryview of {kind}", lambda kind=kind: memoryview(getattr(ctypes, kind)()), NOTHING
    yield "ctypes py_object", lambda: (ctypes.py_object * 2)(1, 2), NOTHING
    yield "ctypes c_wchar array", lambda: ctypes.create_unicode_buffer("12"), NOTHING
    yield "ctypes c_longdouble", lambda: ctypes.c_longdouble(1), Refused("value"), np.array(1.0)
    yield "ctypes array of c_longdouble", lambda: (ctypes.c_longdouble * 2)(1, 2), Refused(r"list\(")
    yield "ctypes big-endian", lambda: (ctypes.c_int.__ctype_be__ * 2)(1, 2), Refused(r"astype\(")
    for name, a in (
        ("F order", np.zeros((2, 3), "i4,f4").T),
        ("empty", np.zeros((0, 2), "i4,f4")),
        ("stepped", np.zeros(4, "i4,f4")[::2]),
    ):
        yield f"memoryview of records, {name}", lambda a=a: memoryview(a), Refused(r"view\(")
    yield "memoryview of text", lambda: memoryview(np.array([["ab", "c"]]).T), Refused(r"view\(")
    yield "memoryview of clongdouble", lambda: memoryview(np.ones(2, np.clongdouble)), Refused(r"astype\(")
    yield "memoryview of longdouble", lambda: memoryview(np.ones(2, np.longdouble)), Refused(r"astype\(")
    yield "ctypes pointer", lambda: ctypes.pointer(ctypes.c_int(3)), NOTHING
    yield (
        "ctypes c_char array",
        lambda: ctypes.create_string_buffer(b"12"),
        Refused(r"cast\(|view\(|frombuffer\("),
    )


# -- objects with one protocol, or several ----------------------------------------------------------


def _thing(**methods: Any) -> Any:
    """An object of a new class with these methods (functions of the object) and attributes."""
    return type("Thing", (), methods)()


def _raises(error: Exception) -> Callable[..., Any]:
    def method(self: Any, *_args: Any, **_keywords: Any) -> Any:
        raise type(error)(*error.args)  # a new one: its traceback keeps frames alive

    return method


def _sequence(*values: Any) -> dict[str, Callable[..., Any]]:
    return {"__len__": lambda self: len(values), "__getitem__": lambda self, i: values[i]}


def _with_attribute(**attributes: Any) -> Any:
    made = _thing()
    vars(made).update(attributes)
    return made


def _interface(protocol: str, a: np.ndarray, **methods: Any) -> Any:
    """An object with `__array_interface__` or `__array_struct__` of an array."""
    return _thing(**{protocol: property(lambda self: getattr(a, protocol))}, **methods)


@library
def protocols() -> Iterator[tuple]:
    a = _read_only(small((2, 3), "float32"))
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    yield (
        "__array__ of a masked array",
        lambda: _thing(__array__=lambda self, *_, **__: masked),
        Refused("filled"),
    )
    yield (
        "__array__ with a unit",
        lambda: _thing(__array__=lambda self, *_, **__: _with_unit(1.5)),
        Refused("unit"),
    )
    yield "wrapper with units", lambda: _thing(units=1.5, __array__=lambda self, *_, **__: a), Refused("unit")
    array = {"__array__": lambda self, dtype=None, copy=None: np.array(a, dtype)}
    yield "__array__", lambda: _thing(**array)
    yield "__array__ without keywords", lambda: _thing(__array__=lambda self: a.copy()), a
    yield "__array__ 0-d", lambda: _thing(__array__=lambda self, dtype=None, copy=None: np.array(3, "int16"))
    yield "__array__ and sequence", lambda: _thing(**array, **_sequence(7, 8))
    yield "__array__ and __float__", lambda: _thing(**array, __float__=lambda self: 7.0)
    yield "__array__ and __index__", lambda: _thing(**array, __index__=lambda self: 7)
    yield (
        "__array__ of records",
        lambda: _thing(__array__=lambda self, dtype=None, copy=None: np.zeros(2, "i4,f4")),
    )
    yield (
        "__array__ of times",
        lambda: _thing(__array__=lambda self, dtype=None, copy=None: np.zeros(2, "m8[s]")),
    )
    yield (
        "__array__ of objects",
        lambda: _thing(__array__=lambda self, dtype=None, copy=None: _objects([1, 2])),
    )
    yield (
        "__array__ no array",
        lambda: _thing(__array__=lambda self, dtype=None, copy=None: 3),
        Refused("__array__"),
    )
    any_error = Refused("mine", (Exception,))
    for error in (TypeError("mine"), ValueError("mine"), RuntimeError("mine"), AttributeError("mine")):
        name = f"raising {type(error).__name__}"
        yield f"__array__ {name}", lambda error=error: _thing(__array__=_raises(error)), any_error
        yield (
            f"__array__ {name}, sequence",
            lambda error=error: _thing(__array__=_raises(error), **_sequence(7, 8)),
            any_error,
        )
        yield f"__dlpack__ {name}", lambda error=error: _dlpack(__dlpack__=_raises(error)), Refused("mine")
        yield (
            f"__dlpack__ {name}, __array__",
            lambda error=error: _dlpack(__dlpack__=_raises(error), **array),
        )
        yield (
            f"__dlpack__ {name}, sequence",
            lambda error=error: _dlpack(__dlpack__=_raises(error), **_sequence(7, 8)),
            Refused("mine"),
        )
    yield "__dlpack__ = None", lambda: _thing(__dlpack__=None, __dlpack_device__=None), NOTHING
    yield "__dlpack__ = None, __array__", lambda: _thing(__dlpack__=None, __dlpack_device__=None, **array)
    yield "__dlpack__ = None, sequence", lambda: _thing(__dlpack__=None, **_sequence(7, 8)), np.array([7, 8])
    yield "__array__ = None", lambda: _thing(__array__=None, **_sequence(7, 8)), NOTHING, np.array([7, 8])
    yield "__dlpack__", lambda: _wrapped(a.copy()), a
    yield "__dlpack__ 0-d", lambda: _wrapped(np.array(3, "int16")), np.array(3, "int16")
    yield (
        "__dlpack__ and __array__ of another value",
        lambda: _wrapped(a.copy(), __array__=lambda self, *_a, **_k: np.zeros(2)),
        a,
    )
    yield "__array_interface__", lambda: _interface("__array_interface__", a.copy())
    yield "__array_interface__ of records", lambda: _interface("__array_interface__", np.zeros(2, "i4,f4"))
    yield "__array_interface__ of times", lambda: _interface("__array_interface__", np.zeros(2, "M8[s]"))
    yield (
        "__array_interface__ of another byte order",
        lambda: _interface("__array_interface__", np.zeros(2, ">i4")),
    )
    yield (
        "__array_interface__ malformed",
        lambda: _thing(__array_interface__={}, **_sequence(7, 8)),
        Refused(""),
    )
    yield "__array_struct__", lambda: _interface("__array_struct__", a.copy())
    yield "__array_struct__ and sequence", lambda: _interface("__array_struct__", a.copy(), **_sequence(7, 8))
    yield (
        "__array__ of the instance",
        lambda: _with_attribute(__array__=lambda dtype=None, copy=None: a.copy()),
    )
    kept = _read_only(a.copy())
    yield (
        "__array_interface__ of the instance",
        lambda: _with_attribute(__array_interface__=kept.__array_interface__),
    )
    yield "__index__", lambda: _thing(__index__=lambda self: 3), np.array(3)
    yield "__float__", lambda: _thing(__float__=lambda self: 1.5), Refused(), np.array(1.5)
    yield "__complex__", lambda: _thing(__complex__=lambda self: 1j), Refused(), np.array(1j)
    yield (
        "__index__ and sequence",
        lambda: _thing(__index__=lambda self: 3, **_sequence(7, 8)),
        np.array([7, 8]),
    )
    yield (
        "__index__ and sequence with a shape",
        lambda: _thing(__index__=lambda self: 3, shape=(2,), **_sequence(7, 8)),
        NOTHING,
    )
    for kind in (mock.Mock, mock.MagicMock, mock.NonCallableMagicMock, mock.AsyncMock):
        yield kind.__name__, kind, NOTHING
    yield "MagicMock of an array", lambda: mock.MagicMock(spec=np.ndarray), NOTHING
    yield "__len__ and __getitem__", lambda: _thing(**_sequence(7, 8)), np.array([7, 8])
    yield "__len__ and __getitem__, empty", lambda: _thing(**_sequence()), np.array([])
    yield "class of items", lambda: enum.IntEnum("Count", "ONE TWO"), NOTHING
    yield "__module__ no str", lambda: _thing(__module__=7), NOTHING
    yield "__len__ alone", lambda: _thing(__len__=lambda self: 2), Refused("")
    yield "__getitem__ alone", lambda: _thing(__getitem__=lambda self, i: [7, 8][i]), Refused("")
    yield (
        "__len__ raising",
        lambda: _thing(__len__=_raises(RuntimeError("mine")), __getitem__=_raises(IndexError("mine"))),
        any_error,
    )
    yield (
        "mapping by keys",
        lambda: _thing(keys=lambda self: [5], __len__=lambda self: 1, __getitem__=lambda self, k: {5: 7}[k]),
        any_error,
    )
    yield "repr, long", lambda: _thing(__repr__=lambda self: "x" * 10_000), NOTHING
    yield (
        "repr, long, sequence",
        lambda: _thing(__repr__=lambda self: "x" * 10_000, **_sequence("a")),
        NOTHING,
    )
    yield "repr, raising", lambda: _thing(__repr__=_raises(RuntimeError("mine"))), NOTHING
    yield "attributes of any name", lambda: _thing(__getattr__=lambda self, name: 3), NOTHING


def _dlpack(**methods: Any) -> Any:
    return _thing(__dlpack_device__=lambda self: (1, 0), **methods)


def _wrapped(a: np.ndarray, **methods: Any) -> Any:
    return _dlpack(__dlpack__=lambda self, **keywords: a.__dlpack__(**keywords), **methods)


# -- other libraries --------------------------------------------------------------------------------


@library
def pandas() -> Iterator[tuple]:
    pd = importlib.import_module("pandas")
    yield "DataFrame", lambda: pd.DataFrame(np.arange(6.0).reshape(3, 2))
    yield "DataFrame float32, names", lambda: pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]}, dtype="float32")
    yield "DataFrame of bool", lambda: pd.DataFrame({"a": [True, False]})
    yield "DataFrame of two types", lambda: pd.DataFrame({"a": [1, 2], "b": [1.5, 2.5]})
    yield "DataFrame with str", lambda: pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    yield "DataFrame with times", lambda: pd.DataFrame({"a": pd.to_datetime(["2026-01-01"])})
    yield "DataFrame, empty", lambda: pd.DataFrame(np.zeros((0, 3)))
    yield "DataFrame, nullable", lambda: pd.DataFrame({"a": [1, None]}, dtype="Int64")
    yield "list of DataFrame", lambda: [pd.DataFrame({"a": [1.0, 2]}), pd.DataFrame({"a": [3.0, 4]})]
    for dtype in PLAIN:
        if dtype not in ("float16",):
            yield f"Series {dtype}", lambda dtype=dtype: pd.Series([1, 0], dtype=dtype)
    nullable = ["Int8", "UInt16", "Int64", "Float32", "Float64", "boolean"]
    arrow = [f"{name}[pyarrow]" for name in ("int8", "int64", "float", "double", "bool")]
    for dtype in [*nullable, *(arrow if importlib.util.find_spec("pyarrow") else [])]:
        name = dtype.replace("[pyarrow]", " of Arrow")
        yield f"Series {name}", lambda dtype=dtype: pd.Series([1, 0], dtype=dtype)
        yield f"Series {name} with NA", lambda dtype=dtype: pd.Series([1, None], dtype=dtype)
    yield "Series str", lambda: pd.Series(["x", "y"])
    yield "Series object", lambda: pd.Series([1, 2], dtype=object)
    yield "Series datetime", lambda: pd.Series(pd.to_datetime(["2026-01-01"]))
    yield "Series timezone", lambda: pd.Series(pd.to_datetime(["2026-01-01"], utc=True))
    yield "Series timedelta", lambda: pd.Series(pd.to_timedelta([1], unit="s"))
    yield "Series period", lambda: pd.Series(pd.period_range("2026", periods=2, freq="D"))
    yield "Series interval", lambda: pd.Series(pd.interval_range(0, 2))
    yield "Series sparse", lambda: pd.Series(pd.arrays.SparseArray([0.0, 1.0]))
    yield "Series category of int", lambda: pd.Series([1, 2], dtype="category")
    yield "Series category of str", lambda: pd.Series(["x", "y"], dtype="category")
    yield "Series, other labels", lambda: pd.Series([1.5, 2.5], index=[7, 8])
    yield "Series, empty", lambda: pd.Series([], dtype="float32")
    yield "Index int64", lambda: pd.Index([1, 2])
    yield "Index float32", lambda: pd.Index([1, 2], dtype="float32")
    yield "Index str", lambda: pd.Index(["x", "y"])
    yield "RangeIndex", lambda: pd.RangeIndex(3)
    yield "MultiIndex", lambda: pd.MultiIndex.from_tuples([(1, 2), (3, 4)])
    yield "DatetimeIndex", lambda: pd.to_datetime(["2026-01-01", "2026-01-02"])
    yield "Categorical of int", lambda: pd.Categorical([1, 2])
    yield "Categorical of str", lambda: pd.Categorical(["x", "y"])
    yield "array Int32", lambda: pd.array([1, 2], dtype="Int32")
    yield "array Float32 with NA", lambda: pd.array([1, None], dtype="Float32")
    yield "NA", lambda: pd.NA, NOTHING
    yield "Timestamp", lambda: pd.Timestamp("2026-01-01"), NOTHING
    yield "Timedelta", lambda: pd.Timedelta(1, "s"), NOTHING


@library
def polars() -> Iterator[tuple]:
    pl = importlib.import_module("polars")
    yield "DataFrame", lambda: pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]})
    yield "DataFrame of two types", lambda: pl.DataFrame({"a": [1, 2], "b": [1.5, 2.5]})
    yield "DataFrame with str", lambda: pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    yield "LazyFrame", lambda: pl.DataFrame({"a": [1.0]}).lazy(), Refused(r"collect\(|asarray\(")
    for name in ("Int8", "UInt16", "Int64", "Float32", "Float64", "Boolean"):
        yield f"Series {name}", lambda name=name: pl.Series([1, 0]).cast(getattr(pl, name))
        yield f"Series {name} with null", lambda name=name: pl.Series([1, None]).cast(getattr(pl, name))
    yield "Series, empty", lambda: pl.Series([], dtype=pl.Float32)
    yield "Series of Array", lambda: pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int16, 2))
    yield "Series of List", lambda: pl.Series([[1], [2, 3]])
    yield "Series str", lambda: pl.Series(["x", "y"])
    yield "Series Date", lambda: pl.Series([1, 2]).cast(pl.Date)
    yield "Series Categorical", lambda: pl.Series(["x", "y"], dtype=pl.Categorical)


@library
def pyarrow() -> Iterator[tuple]:
    pa = importlib.import_module("pyarrow")
    for dtype in PLAIN[1:-2]:
        yield f"array {dtype}", lambda dtype=dtype: pa.array(np.array([1, 2], dtype))
    nulls = Refused(r"fill_null\(|drop_null\(")
    yield "array bool", lambda: pa.array([True, False]), Refused(r"cast\(")
    yield "array with null", lambda: pa.array([1, None]), nulls
    yield "array, all null", lambda: pa.nulls(2), Refused()
    yield "array of str", lambda: pa.array(["x", "y"]), Refused()
    yield "array of times", lambda: pa.array([1, 2], pa.timestamp("s")), Refused()
    yield "array of decimals", lambda: pa.array([decimal.Decimal("1.5")]), Refused()
    yield "array, dictionary", lambda: pa.array(["x", "y", "x"]).dictionary_encode(), Refused()
    yield "array of struct", lambda: pa.array([{"a": 1}]), Refused()
    yield "array of list", lambda: pa.array([[1], [2, 3]]), Refused()
    rows = small((2, 2), "int8")
    yield "array of fixed lists", lambda: pa.array(rows.tolist(), pa.list_(pa.int8(), 2)), rows
    yield "array of fixed lists with null", lambda: pa.array([[1, None]], pa.list_(pa.int8(), 2)), Refused()
    yield "array, sliced", lambda: pa.array([1.0, 2, 3, 4])[1:3]
    yield "array, empty", lambda: pa.array([], pa.float32())
    yield "array bool8", lambda: pa.array([1, 0], pa.int8()).cast(pa.bool8()), np.array([True, False])
    yield "FixedShapeTensorArray", lambda: pa.FixedShapeTensorArray.from_numpy_ndarray(rows), rows
    yield "Tensor", lambda: pa.Tensor.from_numpy(rows.copy()), rows
    yield "ChunkedArray float32", lambda: pa.chunked_array([np.array([1, 2], "f4"), np.array([3], "f4")])
    yield "ChunkedArray int8", lambda: pa.chunked_array([np.array([1, 2], "i1")])
    yield "ChunkedArray of str", lambda: pa.chunked_array([["x", "y"]]), NOTHING
    yield "ChunkedArray bool", lambda: pa.chunked_array([[True, False]])
    yield "ChunkedArray with null", lambda: pa.chunked_array([[1, None]])
    yield "Table", lambda: pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    yield "Table of two types", lambda: pa.table({"a": [1, 2], "b": [1.5, 2.5]})
    yield "Table with str", lambda: pa.table({"a": [1, 2], "b": ["x", "y"]}), NOTHING
    yield (
        "RecordBatch",
        lambda: pa.record_batch({"a": [1.0, 2.0], "b": [3.0, 4.0]}),
        Refused(),
        np.array([[1.0, 3], [2, 4]]),
    )
    yield "buffer", lambda: pa.py_buffer(b"\1\2")
    yield "scalar", lambda: pa.scalar(3), np.array(3), Refused(r"as_py\(|asarray\(")
    yield "scalar with null", lambda: pa.scalar(None, pa.int8()), Refused("")


@library
def pillow() -> Iterator[tuple]:
    image = importlib.import_module("PIL.Image")
    for mode in (
        "1",
        "L",
        "P",
        "RGB",
        "RGBA",
        "CMYK",
        "YCbCr",
        "LAB",
        "HSV",
        "I",
        "F",
        "LA",
        "PA",
        "RGBX",
        "RGBa",
        "La",
    ):
        yield f"mode {mode}", lambda mode=mode: image.new(mode, (5, 3), 1)
    yield "mode I;16", lambda: image.new("I;16", (5, 3), 1)
    yield "mode I;16B", lambda: image.new("I;16B", (5, 3), 1)
    yield "mode RGB, colours", lambda: image.new("RGB", (5, 3), (1, 2, 3))
    yield "no pixel", lambda: image.new("RGB", (0, 3))


def _h5py_file() -> Any:
    h5py = importlib.import_module("h5py")
    return (
        h5py.File.in_memory()
        if hasattr(h5py.File, "in_memory")
        else h5py.File("x", "w", driver="core", backing_store=False)
    )


@library
def h5py() -> Iterator[tuple]:
    importlib.import_module("h5py")
    for dtype in ("bool", "int8", "uint64", "float32", "complex64"):
        yield (
            f"Dataset {dtype}",
            lambda dtype=dtype: _h5py_file().create_dataset("x", data=small((2, 3), dtype)),
        )
    yield "Dataset 0-d", lambda: _h5py_file().create_dataset("x", data=np.float32(3))
    yield "Dataset, empty", lambda: _h5py_file().create_dataset("x", (0, 3), "float32")
    yield "Dataset of another byte order", lambda: _h5py_file().create_dataset("x", data=small(3, ">i4"))
    yield "Dataset of str", lambda: _h5py_file().create_dataset("x", data=["x", "y"])
    yield "Dataset of records", lambda: _h5py_file().create_dataset("x", data=np.zeros(2, "i4,f4"))
    yield "Group", lambda: _h5py_file().create_group("g"), Refused("")


@library
def zarr() -> Iterator[tuple]:
    zarr = importlib.import_module("zarr")
    for dtype in ("bool", "int8", "uint64", "float32", "complex64"):
        yield f"Array {dtype}", lambda dtype=dtype: zarr.array(small((2, 3), dtype))
    yield "Array 0-d", lambda: zarr.array(np.array(3, "float32"))
    yield "Group", lambda: zarr.group(), Refused("")


@library
def xarray() -> Iterator[tuple]:
    xr = importlib.import_module("xarray")
    yield "DataArray", lambda: xr.DataArray(small((2, 3), "float32"), dims=("a", "b"))
    yield "DataArray 0-d", lambda: xr.DataArray(np.float32(3))
    yield "DataArray of times", lambda: xr.DataArray(np.array([1], "M8[ns]"))
    yield "Variable", lambda: xr.Variable(("a",), small(3, "int16"))
    yield "Dataset", lambda: xr.Dataset({"a": ("t", [1.0, 2.0]), "b": ("t", [3.0, 4.0])}), Refused()


@library
def torch() -> Iterator[tuple]:
    torch = importlib.import_module("torch")
    t = torch.tensor
    for dtype in PLAIN:
        yield f"tensor {dtype}", lambda dtype=dtype: torch.from_numpy(small((2, 3), dtype))
        yield f"0-d {dtype}", lambda dtype=dtype: torch.from_numpy(np.array(1, dtype))
    for dtype in NARROW:
        means = small((2, 2), getattr(ml_dtypes, dtype))
        yield dtype, lambda dtype=dtype: t([[1.0, 2], [3, 4]]).to(getattr(torch, dtype)), means
    yield "tensor, empty (0, 3)", lambda: torch.zeros((0, 3))
    yield "tensor, transposed", lambda: t([[1.0, 2, 3], [4, 5, 6]]).T
    yield "tensor, expanded", lambda: t([1.0, 2]).expand(2, 2)
    grad = Refused(r"detach\(")
    yield "requires_grad", lambda: torch.ones(2, requires_grad=True), grad
    yield "requires_grad 0-d", lambda: torch.tensor(1.0, requires_grad=True), grad
    yield "Parameter", lambda: torch.nn.Parameter(torch.ones(2)), grad
    yield "conj", lambda: t([1 + 2j, 3j]).conj(), Refused(r"resolve_conj\(")
    yield "neg", lambda: t([1 + 2j, 3j]).conj().imag, Refused(r"resolve_neg\(")
    yield "sparse COO", lambda: t([[0.0, 1], [2, 0]]).to_sparse(), Refused(r"to_dense\(")
    yield "sparse CSR", lambda: t([[0.0, 1], [2, 0]]).to_sparse_csr(), Refused(r"to_dense\(")
    yield "sparse CSC", lambda: t([[0.0, 1], [2, 0]]).to_sparse_csc(), Refused(r"to_dense\(")
    yield "sparse BSR", lambda: t([[0.0, 1], [2, 0]]).to_sparse_bsr((1, 1)), Refused(r"to_dense\(")
    yield "mkldnn", lambda: t([[0.0, 1], [2, 0]]).to_mkldnn(), Refused(r"to_dense\(")
    yield "masked", lambda: torch.masked.masked_tensor(t([1.0, 2]), t([True, False])), Refused(r"to_tensor\(")
    yield "meta", lambda: torch.empty(2, device="meta"), Refused("")
    yield (
        "quantized",
        lambda: torch.quantize_per_tensor(t([1.0, 2]), 0.1, 0, torch.quint8),
        Refused(r"dequantize\("),
    )
    yield "nested", lambda: torch.nested.nested_tensor([t([1.0]), t([1.0, 2])]), Refused()
    yield "subclass", lambda: t([1.0, 2]).as_subclass(type("Sub", (torch.Tensor,), {}))
    yield "list of tensors", lambda: [t([1.0, 2]), t([3.0, 4])]
    yield "list of 0-d tensors", lambda: [t(1.0), t(2.0)]
    yield "Size", lambda: torch.Size([1, 2])
    yield "storage", lambda: t([1, 2], dtype=torch.uint8).untyped_storage(), np.array([1, 2])


@library
def jax() -> Iterator[tuple]:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    for dtype in PLAIN:
        yield f"array {dtype}", lambda dtype=dtype: jax.numpy.asarray(small((2, 3), dtype))
        yield f"0-d {dtype}", lambda dtype=dtype: jax.numpy.asarray(np.array(1, dtype))
    for dtype in NARROW:
        yield (
            dtype,
            lambda dtype=dtype: jax.numpy.asarray(small((2, 2), getattr(ml_dtypes, dtype))),
        )
    yield "array, empty (0, 3)", lambda: jax.numpy.zeros((0, 3))
    yield "key", lambda: jax.random.key(0), Refused()
    yield "ShapeDtypeStruct", lambda: jax.ShapeDtypeStruct((2,), "float32"), NOTHING


@library
def array_api_strict() -> Iterator[tuple]:
    xp = importlib.import_module("array_api_strict")
    for dtype in PLAIN:
        if dtype != "float16":
            yield f"array {dtype}", lambda dtype=dtype: xp.asarray(small((2, 3), dtype))
    yield "0-d", lambda: xp.asarray(1.5)
    yield "empty", lambda: xp.zeros((0, 3))


@library
def scipy() -> Iterator[tuple]:
    sparse = importlib.import_module("scipy.sparse")
    yield "sparse csr_array", lambda: sparse.csr_array(np.eye(2)), Refused(r"toarray\(|todense\(")
    yield "sparse coo_matrix", lambda: sparse.coo_matrix(np.eye(2)), Refused(r"toarray\(|todense\(")


@library
def awkward() -> Iterator[tuple]:
    ak = importlib.import_module("awkward")
    yield "Array, regular", lambda: ak.Array(small((2, 3), "float32"))
    yield "Array, ragged", lambda: ak.Array([[1], [2, 3]])
    yield "Array of records", lambda: ak.Array([{"x": 1}, {"x": 2}])
    yield "Array with None", lambda: ak.Array([1, None])
    yield "Array of str", lambda: ak.Array(["x", "y"])
    yield "Record", lambda: ak.Record({"x": 1}), Refused("")


@library
def sparse() -> Iterator[tuple]:
    sparse = importlib.import_module("sparse")
    yield "COO", lambda: sparse.COO.from_numpy(np.eye(2)), Refused("todense")
    yield "COO 0-d", lambda: sparse.COO.from_numpy(np.array(3.0)), Refused("todense")
    yield "GCXS", lambda: sparse.GCXS.from_numpy(np.eye(2)), Refused("todense")


@library
def astropy() -> Iterator[tuple]:
    units = importlib.import_module("astropy.units")
    unit = Refused(r"to_value\(|\.value")
    yield "Quantity", lambda: small(3, "float32") * units.m, unit
    yield "Quantity 0-d", lambda: 3.0 * units.m, unit
    yield "Quantity without dimension", lambda: small(3, "float32") * units.one, unit
    yield "Angle", lambda: importlib.import_module("astropy.coordinates").Angle([1.0, 2.0], "deg"), unit
    yield "Time", lambda: importlib.import_module("astropy.time").Time([1.0, 2.0], format="mjd"), Refused("")
    yield "Column", lambda: importlib.import_module("astropy.table").Column([1.0, 2.0])
    yield "Table", lambda: importlib.import_module("astropy.table").Table({"a": [1.0, 2.0]})


@library
def mlx() -> Iterator[tuple]:
    mx = importlib.import_module("mlx.core")
    for dtype in PLAIN:
        if dtype not in ("float64", "complex128"):  # on GPUs alone, or nowhere
            yield f"array {dtype}", lambda dtype=dtype: mx.array(small((2, 3), dtype))
    yield "0-d", lambda: mx.array(1.5)
    yield "empty", lambda: mx.zeros((0, 3))
    yield "lazy", lambda: mx.array([1.0, 2.0]) * 2
    yield "bfloat16", lambda: mx.array([1.0, 2.0], dtype=mx.bfloat16), small(2, ml_dtypes.bfloat16)


@library
def tinygrad() -> Iterator[tuple]:
    tensor = importlib.import_module("tinygrad").Tensor
    yield "Tensor", lambda: tensor([1.0, 2.0], device="PYTHON"), Refused(r"numpy\(\)")
    yield "Tensor 0-d", lambda: tensor(1.0, device="PYTHON"), Refused(r"numpy\(\)")


@library
def pyopencl() -> Iterator[tuple]:
    cl = importlib.import_module("pyopencl")
    arrays = importlib.import_module("pyopencl.array")

    @functools.cache
    def queue() -> Any:
        return cl.CommandQueue(cl.Context([cl.get_platforms()[0].get_devices()[0]]))

    refused = Refused(r"from_pointer\(|get\(")
    yield "Array", lambda: arrays.to_device(queue(), small(3, "float32")), refused
    yield "Array, empty", lambda: arrays.zeros(queue(), (0, 3), "float32"), refused
    yield "Buffer", lambda: cl.Buffer(queue().context, cl.mem_flags.READ_WRITE, 16), NOTHING
