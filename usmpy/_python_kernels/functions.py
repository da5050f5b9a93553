"""Functions that Python kernels may call on numbers, and what each becomes in the portable language."""

from __future__ import annotations

import builtins
import cmath
import math
from typing import Any

# Of real numbers: integers become the kernel's floating-point type, and a constant stays one.
REAL: dict[str, str] = {
    **{
        f"{a}{name}{h}": f"{a}{name}{h}"
        for name in ("cos", "sin", "tan")
        for a in ("", "a")
        for h in ("", "h")
    },
    **{
        name: name
        for name in ("cbrt", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "lgamma", "log", "log10")
    },
    **{name: name for name in ("log1p", "log2", "sqrt", "degrees", "radians", "rsqrt")},
    "gamma": "tgamma",
}
REAL_PAIRS = {
    "atan2": "atan2",
    "copysign": "copysign",
    "fmod": "fmod",
    "hypot": "hypot",
    "nextafter": "nextafter",
}
REAL_PAIRS |= {"ldexp": "ldexp", "remainder": "remainder", "logaddexp": "@logaddexp", "powr": "pow"}
REAL_TRIPLES = {"fma": "fma"}
# Of complex numbers: those of the portable language, and ours.
COMPLEX = {"exp": "exp", "conj": "conj", "sqrt": "@csqrt", "log": "@clog", "sin": "@csin", "cos": "@ccos"}
COMPLEX |= {"sinh": "@csinh", "cosh": "@ccosh"}
TESTS = {"isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "signbit": "signbit"}
# Integers are what they are, reals are rounded.
ROUNDED = {"ceil": "ceil", "floor": "floor", "trunc": "trunc", "round": "rint"}
OPERATORS = {
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%"},
    **{"pow": "**", "bitwise_left_shift": "<<", "bitwise_right_shift": ">>", "bitwise_and": "&"},
    **{"bitwise_or": "|", "bitwise_xor": "^"},
}
COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}
_LOGIC = ("logical_and", "logical_or", "logical_xor", "logical_not")
_OTHERS = ("abs", "positive", "negative", "bitwise_invert", "maximum", "minimum", "clip", "sign")
_MORE = ("square", "reciprocal", "where", "real", "imag")
# NumPy's other names for the same functions.
_NUMPY = {"absolute": "abs", "fabs": "fabs", "true_divide": "divide", "power": "pow", "mod": "remainder"}
_NUMPY |= {
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "invert": "bitwise_invert",
}
_NUMPY |= {f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")}
_NUMPY |= {
    "arctan2": "atan2",
    "conjugate": "conj",
    "rint": "round",
    "deg2rad": "radians",
    "rad2deg": "degrees",
}

# The names of built-in functions in programs, which variables do not take.
EMITTED = {*REAL.values(), *REAL_PAIRS.values(), *COMPLEX.values(), *TESTS.values(), *ROUNDED.values(), "fma"}

_INTEGERS = ("ceil", "floor", "trunc")  # of math: they return integers

# Objects of Python, by identity: (kind, name).
_KNOWN: dict[int, tuple[str, str]] = {}


def _fill() -> None:
    import usmpy

    found: dict[int, tuple[str, str]] = {}  # other threads see all of it or nothing
    for name in {**REAL, **REAL_PAIRS, **REAL_TRIPLES, **TESTS}:
        if hasattr(math, name):
            found[id(getattr(math, name))] = ("math", name)
    for name in (*_INTEGERS, "gcd", "pow"):
        found[id(getattr(math, name))] = ("math integer", name)
    for name in COMPLEX:
        if hasattr(cmath, name):
            found[id(getattr(cmath, name))] = ("array", name)
    for name in {**REAL, **REAL_PAIRS, **TESTS, **ROUNDED, **OPERATORS, **COMPARISONS, **COMPLEX}:
        if hasattr(usmpy, name):
            found[id(getattr(usmpy, name))] = ("array", name)
    for name in (*_LOGIC, *_OTHERS, *_MORE):
        if hasattr(usmpy, name):
            found[id(getattr(usmpy, name))] = ("array", name)
    for name in (
        "abs",
        "min",
        "max",
        "round",
        "divmod",
        "pow",
        "int",
        "float",
        "bool",
        "complex",
        "len",
        "print",
        "sum",
    ):
        found[id(getattr(builtins, name))] = ("builtin", name)
    for function, name in ((builtins.range, "range"), (math.fsum, "sum"), (math.prod, "prod")):
        found[id(function)] = ("builtin", name)
    _KNOWN.update(found)


def find(value: Any) -> tuple[str, str] | None:
    """The kind and the name of a function on numbers; None: the object is no such function."""
    if not _KNOWN:
        _fill()
    if (found := _KNOWN.get(id(value))) is not None:
        return found
    if getattr(value, "__module__", "") == "numpy" or type(value).__name__ == "ufunc":
        name = _NUMPY.get(value.__name__, value.__name__)
        if name in REAL or name in REAL_PAIRS or ("array", name) in _KNOWN.values():
            return "array", name
    return None
