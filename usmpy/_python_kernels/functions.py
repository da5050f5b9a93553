"""Functions that Python kernels may call on numbers, and what each becomes in the portable language."""

from __future__ import annotations

import builtins
import cmath
import math
from collections.abc import Callable
from typing import Any


def _table(words: str) -> dict[str, str]:
    """Words `name:value`; a name alone stands for itself."""
    return {name: value or name for name, _, value in (word.partition(":") for word in words.split())}


# Of real numbers: integers become the kernel's floating-point type, and a constant stays one.
REAL = _table("""
    cos cosh acos acosh sin sinh asin asinh tan tanh atan atanh cbrt erf erfc exp exp2 expm1 fabs lgamma
    log log10 log1p log2 sqrt degrees radians rsqrt gamma:tgamma
""")
REAL_PAIRS = _table("""
    atan2 copysign fmod hypot nextafter remainder logaddexp:@logaddexp powr:pow
""")
# Of complex numbers: those of the portable language, and ours.
COMPLEX = _table("exp conj sqrt:@csqrt log:@clog sin:@csin cos:@ccos sinh:@csinh cosh:@ccosh")
TESTS = _table("isnan isinf isfinite signbit")
# Integers are what they are, reals are rounded.
ROUNDED = _table("ceil floor trunc round:rint")
TRUNCATED: dict[str, Callable[[float], int]] = {
    **{"int": int, "math round": round},
    **{f"math {function.__name__}": function for function in (math.ceil, math.floor, math.trunc)},
}
OPERATORS = _table("""
    add:+ subtract:- multiply:* divide:/ floor_divide:// remainder:% pow:** bitwise_left_shift:<<
    bitwise_right_shift:>> bitwise_and:& bitwise_or:| bitwise_xor:^
""")
COMPARISONS = _table("equal:== not_equal:!= less:< less_equal:<= greater:> greater_equal:>=")
LOGIC = _table("logical_and:&& logical_or:|| logical_xor:!=")
_OTHERS = _table("""
    positive negative bitwise_invert logical_not abs maximum minimum clip sign square reciprocal where
    real imag
""")
# NumPy's other names for the same functions.
NUMPY = _table("""
    absolute:abs true_divide:divide power:pow mod:remainder left_shift:bitwise_left_shift
    right_shift:bitwise_right_shift invert:bitwise_invert arccos:acos arccosh:acosh arcsin:asin arcsinh:asinh
    arctan:atan arctanh:atanh arctan2:atan2 conjugate:conj rint:round deg2rad:radians rad2deg:degrees
""")
_BUILTIN = _table("abs min max divmod pow int float bool complex len print sum range")

# The names of built-in functions in programs, which variables do not take.
EMITTED = {*REAL.values(), *REAL_PAIRS.values(), *COMPLEX.values(), *TESTS, *ROUNDED.values()}
EMITTED |= {"fma", "ldexp"}

# Objects of Python, by identity: the names of the functions. Some of math differ from those of arrays.
_KNOWN: dict[int, str] = {}
_ARRAY = {*REAL, *REAL_PAIRS, *TESTS, *ROUNDED, *OPERATORS, *COMPARISONS, *COMPLEX, *LOGIC, *_OTHERS}
_ARRAY |= {"ldexp"}


def _fill() -> None:
    import usmpy

    of_math = dict.fromkeys([*REAL, *REAL_PAIRS, *TESTS, "ldexp", "fma", "gcd", "prod"])
    of_math |= {name: f"math {name}" for name in ("ceil", "floor", "trunc", "pow", "remainder")}
    sources: list[tuple[Any, dict[str, Any]]] = [
        (math, {**of_math, "fsum": "sum"}),
        (cmath, dict.fromkeys(COMPLEX)),
        (usmpy, dict.fromkeys(_ARRAY)),
        (builtins, {**dict.fromkeys(_BUILTIN), "round": "math round"}),
    ]
    found = {}  # other threads see all of it or nothing
    for module, names in sources:
        for name, own in names.items():
            if hasattr(module, name):
                found[id(getattr(module, name))] = own or name
    _KNOWN.update(found)


def find(value: Any) -> str | None:
    """The name of a function on numbers; None: the object is no such function."""
    if not _KNOWN:
        _fill()
    if (found := _KNOWN.get(id(value))) is not None:
        return found
    if getattr(value, "__module__", "") == "numpy" or type(value).__name__ == "ufunc":
        name = NUMPY.get(value.__name__, value.__name__)
        return name if name in _ARRAY else None
    return None
