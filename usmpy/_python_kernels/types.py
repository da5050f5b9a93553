"""Types of numbers in Python kernels, and how they promote (docs/python-kernels.md has the table).

A weak type is that of a Python number: it takes the type of what it meets. Its number of bits is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple


class Type(NamedTuple):
    kind: str  # "bool", "int", "uint", "float" or "complex"
    bits: int  # of the whole number; 0: weak

    @property
    def weak(self) -> bool:
        return self.bits == 0

    @property
    def whole(self) -> bool:
        """An integer, but no bool."""
        return self.kind in ("int", "uint")

    @property
    def name(self) -> str:
        """The dtype's name, or that of Python's type."""
        return self.kind if self.weak or self.kind == "bool" else f"{self.kind}{self.bits}"

    def __str__(self) -> str:
        return f"a Python {self.kind}" if self.weak else self.name


BOOL = Type("bool", 8)
INT32, INT64, UINT64 = Type("int", 32), Type("int", 64), Type("uint", 64)
FLOAT32, FLOAT64 = Type("float", 32), Type("float", 64)
COMPLEX64, COMPLEX128 = Type("complex", 64), Type("complex", 128)
WEAK_INT, WEAK_FLOAT, WEAK_COMPLEX = (Type(kind, 0) for kind in ("int", "float", "complex"))

_NUMBERS = [Type(kind, bits) for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_NUMBERS += [BOOL, FLOAT32, FLOAT64, COMPLEX64, COMPLEX128]
BY_NAME = {number.name: number for number in _NUMBERS}
# Elements of arrays: halves are read as float32 and rounded when they are stored.
ELEMENTS = {**BY_NAME, "float16": FLOAT32, "bfloat16": FLOAT32}


def real_of(number: Type) -> Type:
    """The type of a complex number's parts."""
    return Type("float", number.bits // 2) if number.kind == "complex" else number


def complex_of(number: Type) -> Type:
    return Type("complex", 2 * number.bits)


def strong(number: Type, real: Type) -> Type:
    """The type in which a number travels: a weak one is int64, or the kernel's floating-point type."""
    if not number.weak:
        return number
    return INT64 if number.kind == "int" else real if number.kind == "float" else complex_of(real)


def kernel_real(elements: Iterable[str], double: bool) -> Type:
    """The kernel's floating-point type, for arrays of these dtypes. double: the device has float64."""
    found = [real_of(ELEMENTS[name]) for name in elements if name in ELEMENTS]
    return max((t for t in found if t.kind == "float"), default=FLOAT64 if double else FLOAT32)


_LEVELS = ("bool", "int", "uint", "float", "complex")


def promote(a: Type, b: Type, real: Type) -> Type | None:
    """The type of the result of an operation on both; None: there is none.

    real: the kernel's type of floating-point numbers, which weak ones become beside integers.
    """
    if a == b:
        return a
    if _LEVELS.index(a.kind) > _LEVELS.index(b.kind):
        a, b = b, a
    if a.kind == "bool":
        return b
    if a.weak and b.weak:
        return b
    if b.weak:  # a number with bits is of a lower kind, or of the same
        if b.kind in ("int", a.kind):
            return a
        if b.kind == "float":
            return real
        return complex_of(a if a.kind == "float" else real)
    if a.weak or (b.kind in ("float", "complex") and a.whole):
        return b
    if b.kind == "complex":
        return Type("complex", max(b.bits, 2 * a.bits if a.kind == "float" else a.bits))
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    if a.bits > b.bits:  # a signed and an unsigned integer
        return a
    return Type("int", 2 * b.bits) if b.bits < 64 else None


def limits(number: Type) -> tuple[int, int]:
    """The least and the greatest number of an integer type."""
    if number.kind == "uint":
        return 0, (1 << number.bits) - 1
    return -(1 << number.bits - 1), (1 << number.bits - 1) - 1


def fits(value: complex, number: Type) -> bool:
    """Whether a number of Python is in the range of the type."""
    if number.whole:
        least, most = limits(number)
        return least <= int(value.real) <= most
    most_real = 3.4028235677973366e38 if real_of(number).bits == 32 else math.inf
    try:
        parts = (complex(value).real, complex(value).imag)
    except OverflowError:
        return False
    return all(abs(part) < most_real or math.isinf(part) or part != part for part in parts)


def wrap(value: int, number: Type) -> int:
    """The integer of that type with the same low bits."""
    value &= (1 << number.bits) - 1
    return value - (1 << number.bits) if number.kind == "int" and value >> number.bits - 1 else value
