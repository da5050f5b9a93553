"""What an expression of a Python kernel is while it is compiled: a number, an array, a tuple, an object."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import types
from .c_text import literal
from .types import INT64, Type

UNKNOWN = 64  # bits of an integer of which nothing is known


class Parameter:
    """A parameter of a kernel or a helper, and what its body does with it."""

    def __init__(self, name: str, where: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.where = where  # the argument, and indices of tuples
        self.met: set[Type] = set()  # integer types that a Python int becomes
        self.extents: set[int] = set()  # axes whose length is used
        self.strides: set[int] = set()
        self.written = False

    def extent(self, axis: int) -> str:
        self.extents.add(axis)
        return f"{self.name}_n{axis}"

    def stride(self, axis: int) -> str:
        self.strides.add(axis)
        return f"{self.name}_s{axis}"

    def sizes(self) -> list[str]:
        """The parameters that follow an array's pointer."""
        return [*map(self.extent, sorted(self.extents)), *map(self.stride, sorted(self.strides))]


@dataclass(slots=True)
class Number:
    """A number: an expression of C."""

    type: Type
    text: str
    value: Any = None  # if it is a constant
    bits: int = UNKNOWN  # its magnitude is below 2 ** bits
    positive: bool = False  # it is not negative
    origin: Parameter | None = None  # of a Python int that was passed

    @property
    def constant(self) -> bool:
        return self.value is not None

    @property
    def simple(self) -> bool:
        """May be written twice."""
        return self.constant or self.text.isidentifier()


def constant(value: complex, number: Type | None = None) -> Number:
    """number: its type; None: that of Python."""
    if number is None:
        kind = "bool" if isinstance(value, bool) else type(value).__name__
        number = types.BOOL if kind == "bool" else Type(kind, 0)
    if not number.whole:
        return Number(number, "" if number.weak else literal(value, number), value)
    whole = int(value.real)
    text = "" if number.weak else literal(whole, number)
    return Number(number, text, whole, whole.bit_length(), whole >= 0)


def known(number: Type, text: str) -> Number:
    """A number of which only the type is known."""
    return Number(number, text, None, number.bits or UNKNOWN, number.kind in ("uint", "bool"))


def boolean(text: str) -> Number:
    return Number(types.BOOL, text, None, 1, True)


def size(text: str, bits: int = 63) -> Number:
    """An id or a size: not negative."""
    return Number(INT64, text, None, bits, True)


@dataclass(slots=True)
class Array:
    """An array: a pointer, and where its elements are.

    `extents` and `strides` are constants, or None where the parameter is asked for it.
    """

    name: str  # as the user knows it
    element: str  # the dtype's name
    pointer: str
    space: str  # "global", "local" or "private"
    extents: tuple[Number | None, ...]
    contiguous: bool
    parameter: Parameter | None = None
    first: int = 0  # the parameter's axis that is axis 0 here
    offset: str = ""  # in elements

    @property
    def ndim(self) -> int:
        return len(self.extents)

    def extent(self, axis: int) -> Number:
        found = self.extents[axis]
        if found is not None:
            return found
        assert self.parameter is not None
        return size(self.parameter.extent(axis + self.first))

    def stride(self, axis: int) -> str:
        """Of an array that is not contiguous."""
        assert self.parameter is not None
        return self.parameter.stride(axis + self.first)

    @property
    def key(self) -> tuple[object, ...]:
        """What a helper that gets the array is specialised for."""
        extents = tuple(None if e is None else e.value for e in self.extents)
        return ("array", self.element, self.space, extents, self.contiguous)


@dataclass(slots=True)
class Tuple:
    items: list[Value] = field(default_factory=list)


@dataclass(slots=True)
class Object:
    """A Python object that is known when the kernel is compiled: None, a dtype, a function, a module."""

    value: Any


Value = Number | Array | Tuple | Object


def flat(value: Value) -> list[Value]:
    """The leaves of a tuple; the value itself, if it is none."""
    return [leaf for item in value.items for leaf in flat(item)] if isinstance(value, Tuple) else [value]


def filled(shape: Value, leaves: Iterator[Value]) -> Value:
    """A value of that shape, of these leaves."""
    if isinstance(shape, Tuple):
        return Tuple([filled(item, leaves) for item in shape.items])
    return next(leaves)


def alike(a: Value, b: Value) -> bool:
    """Whether both are numbers, or tuples of such, or the same object."""
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return len(a.items) == len(b.items) and all(map(alike, a.items, b.items))
    if isinstance(a, Object) and isinstance(b, Object):
        return a.value is b.value
    if isinstance(a, Array) and isinstance(b, Array):
        return a == b
    return isinstance(a, Number) and isinstance(b, Number)


def describe(value: Value) -> str:
    """The value's type, for messages."""
    if isinstance(value, Number):
        shown = f" ({value.value})" if value.constant and value.type.weak else ""
        return f"{value.type}{shown}"
    if isinstance(value, Array):
        return f"an array of {value.element} with {value.ndim} dimension{'s' * (value.ndim != 1)}"
    if isinstance(value, Tuple):
        return f"a tuple of {len(value.items)}"
    return "None" if value.value is None else f"the object {value.value!r:.60}"
