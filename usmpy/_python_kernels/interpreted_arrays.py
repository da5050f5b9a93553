"""Arrays of the interpreter: copies on the host, and local and private ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy

from .. import _core
from .._kernels.call import with_article
from . import types
from .numbers import Rules, Typed, operand
from .scope import dtype_of
from .types import INT64

if TYPE_CHECKING:
    from .._core import USMArray


class Memory:
    """What an array and its rows have in common."""

    def __init__(self, name: str, element: str, rules: Rules, writable: bool = True) -> None:
        self.name, self.element, self.rules, self.writable = name, element, rules, writable
        self.type, self.written = types.ELEMENTS[element], False


class Elements:
    """An array in the interpreter. Its elements are read as Typed, and stored as the kernel stores them."""

    __slots__ = ("data", "memory")
    __iter__ = __contains__ = None

    def __init__(self, data: Any, memory: Memory) -> None:
        self.data, self.memory = data, memory

    def __repr__(self) -> str:
        return f"{self.memory.name}: {self.data!r}"

    def __bool__(self) -> bool:
        raise TypeError(f"{self.memory.name} is an array: write {self.memory.name}[i]")

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    @property
    def shape(self) -> tuple[Typed, ...]:
        return tuple(Typed(extent, INT64, self.memory.rules) for extent in self.data.shape)

    @property
    def strides(self) -> tuple[Typed, ...]:
        """In elements, as USMArray.strides."""
        data = self.data
        return tuple(Typed(step // data.itemsize, INT64, self.memory.rules) for step in data.strides)

    @property
    def size(self) -> Typed:
        return Typed(self.data.size, INT64, self.memory.rules)

    @property
    def dtype(self) -> Any:
        return Cast(_core.DType(self.memory.element), self.memory.rules)

    def place(self, key: Any, least: int = 0) -> tuple[int, ...]:
        """The indices, in range. A constant, but no computed one, counts from the end if it is negative."""
        keys = key if isinstance(key, tuple) else (key,)
        name, shape = self.memory.name, self.data.shape
        if not least <= len(keys) <= len(shape):
            raise IndexError(f"{name}: {len(keys)} given of {len(shape)} indices")
        found = []
        for axis, (index, extent) in enumerate(zip(keys, shape, strict=False)):
            number = operand(index)
            if number is None or not number.type.whole:
                shown = str(number.type) if number else with_article(index)
                raise TypeError(f"{shown} as an index of {name}: integers are allowed")
            at = number.value + (extent if number.constant and number.value < 0 else 0)
            if not 0 <= at < extent:
                hint = "; computed indices do not count from the end" * (at < 0 and not number.constant)
                where = f"outside axis {axis} of {name}, whose length is {extent}{hint}"
                raise IndexError(f"index {number.value} is {where}")
            found.append(at)
        return tuple(found)

    def __getitem__(self, key: Any) -> Any:
        place, memory = self.place(key), self.memory
        if len(place) < self.data.ndim:
            return Elements(self.data[place], memory)
        value = self.data[place].item()
        return Typed(float(value) if memory.type.kind == "float" else value, memory.type, memory.rules)

    def __setitem__(self, key: Any, value: Any) -> None:
        place, memory = self.place(key, self.data.ndim), self.memory
        if not memory.writable:
            raise ValueError(f"{memory.name} is read-only")
        number = numpy.dtype(memory.type.name).type(memory.rules.element(value, memory.element))
        memory.written = True
        with numpy.errstate(all="ignore"):
            self.data[place] = number


def copies(arrays: dict[str, USMArray], rules: Rules) -> dict[str, Elements]:
    """Copies on the host. Arrays whose memory overlaps have one buffer, in which they overlap as well."""
    spans = []
    for name, x in arrays.items():
        steps = [(n - 1) * stride * x.itemsize for n, stride in zip(x.shape, x.strides, strict=True)]
        if x.size:
            begin, end = (x.data_ptr + sum(pick(step, 0) for step in steps) for pick in (min, max))
            spans.append((begin, end + x.itemsize, name))
    places: dict[str, tuple[bytearray, int]] = {}
    buffer, first = bytearray(), 0
    for begin, end, name in sorted(spans):
        if begin >= first + len(buffer):
            buffer, first = bytearray(), begin
        buffer += bytes(max(0, end - first - len(buffer)))
        places[name] = buffer, arrays[name].data_ptr - first
    found = {}
    for name, x in arrays.items():
        data: Any = x.asnumpy()
        if x.size:
            place, strides = places[name], [stride * x.itemsize for stride in x.strides]
            values, data = data, numpy.ndarray(x.shape, data.dtype, place[0], place[1], strides)
            data[...] = values
        found[name] = Elements(data, Memory(name, x.dtype.name, rules, x.flags.writable))
    return found


def undefined(name: str, shape: Any, element: str, rules: Rules) -> Elements:
    """A new array: its elements are NaN, or 85."""
    t = types.ELEMENTS[element]
    data = numpy.full(shape, math.nan if t.kind in ("float", "complex") else 85, _core.DType(element).type)
    return Elements(data, Memory(name, element, rules))


class Cast:
    """A dtype: it converts numbers, and is compared."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, dtype: Any, rules: Rules) -> None:
        self.dtype, self.rules = dtype, rules

    def __call__(self, value: Any) -> Any:
        return self.rules.call(self.dtype, value)

    def __eq__(self, other: object) -> bool:
        other = other.dtype if isinstance(other, Cast) else other
        return dtype_of(self.dtype) == dtype_of(other)
