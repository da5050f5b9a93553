"""Functions of numbers in Python kernels: those of Python, math and arrays, and casts."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import functions, types
from .c_text import quoted
from .types import BOOL, INT32, INT64, WEAK_FLOAT, WEAK_INT
from .values import Array, Number, Object, Tuple, Value, boolean, constant, describe, flat, known

if TYPE_CHECKING:
    from .expressions import Expressions


def call(body: Expressions, name: str, node: ast.Call) -> Value:
    """The value of a call of the function that functions.find gives this name."""
    if name in _OF_CALLS:
        return _OF_CALLS[name](body, name, node)
    handler = _OF_NUMBERS[name]
    given = numbers(body, node, name.removeprefix("math "), handler.__code__.co_argcount - 3)
    return handler(body, name, node, *given)


def numbers(body: Expressions, node: ast.Call, name: str, least: int, most: float = 0) -> list[Number]:
    """The arguments, all of which are numbers."""
    if node.keywords:
        body.refuse(node.keywords[0].value, f"{name} takes no arguments by name")
    if not least <= len(node.args) <= (most or least):
        more = " or more" if most == math.inf else f" to {most}" if most > least else ""
        wanted = f"{least}{more} argument{'s' * (least > 1 or bool(more))}"
        body.refuse(node, f"{name} takes {wanted}, {len(node.args)} were given")
    return [body.as_number(value, at) for value, at in zip(body.many(node.args), node.args, strict=True)]


# Functions of real numbers


def apply(body: Expressions, c: str, given: list[Number], node: ast.AST, name: str = "") -> Number:
    """A function of reals: numbers are promoted, integers become the kernel's floating-point type."""
    if len(given) == 1 and given[0].type.kind == "complex":
        (a,) = given
        if name not in functions.COMPLEX:
            body.refuse(node, f"{name or c} of {describe(a)}: not for complex numbers")
        a, c = body.strong(a, node), functions.COMPLEX[name]
        c = body.need(c[1:], a.type) if c[0] == "@" else c
        return Number(body.weakened(a.type, *given), f"{c}({a.text})")
    if name == "conj":
        return given[0]
    t = given[0].type
    for a in given[1:]:
        t = body.common(Number(t, ""), a, node, "and")
    if all(a.constant and a.type.weak for a in given) and hasattr(math, name or c) and t.kind != "complex":
        try:
            return constant(float(getattr(math, name or c)(*[a.value for a in given])))
        except (ArithmeticError, ValueError):
            pass  # as in a kernel: inf or nan
    if t.kind == "complex":
        body.refuse(node, f"{name or c} of {t}: not for complex numbers")
    t = body.real if t.kind != "float" or t.weak else t
    c = body.need(c[1:], t) if c[0] == "@" else c
    text = f"{c}({', '.join(body.cast(a, t, node).text for a in given)})"
    return Number(body.weakened(t, *given), text)


def _ldexp(body: Expressions, name: str, node: ast.Call, a: Number, b: Number) -> Number:
    t = body.strong(a, node).type if a.type.kind == "float" else body.real
    if not b.type.whole or a.type.kind == "complex":
        allowed = "a real number and an integer are allowed"
        body.refuse(node, f"ldexp of {describe(a)} and {describe(b)}: {allowed}")
    return Number(t, f"ldexp({body.cast(a, t, node).text}, (int){body.strong(b, node).text})")


def _test(body: Expressions, name: str, node: ast.Call, a: Number) -> Number:
    if a.type.kind == "complex":
        body.refuse(node, f"{name} of {describe(a)}: test .real and .imag")
    if a.type.kind != "float":
        negative = name == "signbit"
        return body.compare("<", a, constant(0), node) if negative else constant(name == "isfinite")
    return boolean(f"({name}({body.strong(a, node).text}) != 0)")


def _hypot(body: Expressions, name: str, node: ast.Call) -> Value:
    given = numbers(body, node, name, *((3, math.inf) if len(node.args) > 2 else (2,)))
    return functools.reduce(lambda a, b: apply(body, name, [a, b], node), given)


def _log(body: Expressions, name: str, node: ast.Call) -> Value:
    given = numbers(body, node, name, 2 if len(node.args) == 2 else 1)
    a, *base = (apply(body, name, [n], node, name) for n in given)
    return body.binary("/", a, base[0], node) if base else a


# Operators


def _logic(body: Expressions, name: str, node: ast.Call, a: Number, b: Number) -> Number:
    truths = [body.truth(n, node) for n in (a, b)]
    first, second = (str(int(n.value)) if n.constant else n.text for n in truths)
    return boolean(f"({first} {functions.LOGIC[name]} {second})")


def _divmod(body: Expressions, name: str, node: ast.Call, a: Number, b: Number) -> Value:
    a, b = body.temp(a), body.temp(b)
    return Tuple([body.binary(sign, a, b, node) for sign in ("//", "%")])


def _folded(body: Expressions, name: str, node: ast.Call) -> Value:
    """The sum or the product of a tuple."""
    value = body.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(value, Tuple):
        body.refuse(node, f"{name} takes one tuple; of an array, write a loop")
    sign, result = ("+", constant(0)) if name == "sum" else ("*", constant(1))
    for item in value.items:
        result = body.binary(sign, result, body.as_number(item, node), node)
    return result


# Magnitude and order


def _absolute(body: Expressions, name: str, node: ast.Call, a: Number) -> Number:
    if a.constant and a.type.weak:
        return constant(abs(a.value))
    if a.type == BOOL:
        return body.cast(a, INT32, node)
    weak, a = a.type.weak and a.type != WEAK_INT, body.strong(a, node)
    if a.type.kind == "uint" or a.positive:
        return a
    if a.type.kind == "int":
        return known(a.type, f"{body.need('abs', a.type)}({a.text})")
    c = "abs" if a.type.kind == "complex" else "fabs"
    return Number(WEAK_FLOAT if weak else types.real_of(a.type), f"{c}({a.text})")


def _sign(body: Expressions, name: str, node: ast.Call, a: Number) -> Number:
    a = body.strong(a, node)
    if a.type.kind in ("complex", "bool"):
        body.refuse(node, f"sign of {describe(a)}: sign takes integers and reals")
    part = "sign_uint" if a.type.kind == "uint" else "sign"
    return known(a.type, f"{body.need(part, a.type)}({a.text})")


def _extreme(body: Expressions, name: str, node: ast.Call, *given: Number) -> Number:
    """max, min, maximum, minimum of two or more numbers."""
    result, greatest = given[0], name.startswith("max")
    for b in given:
        if b.type.kind == "complex":
            body.refuse(node, f"{name} of {describe(b)}: complex numbers have no order")
    for b in given[1:]:
        if result.constant and b.constant and result.type.weak and b.type.weak:
            result = constant((max if greatest else min)(result.value, b.value))
            continue
        t = types.strong(b.type, body.real)
        t = t if result.type == b.type else body.common(result, b, node, "and")
        kind, a, b = body.weakened(t, result, b), body.cast(result, t, node), body.cast(b, t, node)
        part = body.need(name[:3] if t.kind != "float" else name, t)
        positive = (a.positive or b.positive) if greatest else (a.positive and b.positive)
        result = Number(kind, f"{part}({a.text}, {b.text})", None, max(a.bits, b.bits), positive)
    return result


def _max_min(body: Expressions, name: str, node: ast.Call) -> Value:
    if len(node.args) == 1 and isinstance(items := body.value(node.args[0]), Tuple) and items.items:
        return _extreme(body, name, node, *[body.as_number(item, node) for item in items.items])
    return _extreme(body, name, node, *numbers(body, node, name, 2, math.inf))


def _clip(body: Expressions, name: str, node: ast.Call, a: Number, low: Number, high: Number) -> Number:
    return _extreme(body, "minimum", node, _extreme(body, "maximum", node, a, low), high)


# Conversions


def _rounded(body: Expressions, name: str, node: ast.Call, a: Number) -> Number:
    whole = a.type.whole or a.type == BOOL
    return a if whole else apply(body, functions.ROUNDED[name], [a], node)


def _truncated(body: Expressions, name: str, node: ast.Call, a: Number) -> Number:
    """math.floor and the like, int, round: int64."""
    if a.type.kind == "complex":
        body.refuse(node, f"{describe(a)} becomes no integer: take .real or .imag")
    body.finite(a, node)
    if a.constant and a.type.weak:
        return constant(functions.TRUNCATED[name](a.value))
    if a.type == WEAK_INT:
        return a
    if a.type.kind != "float":
        return body.cast(a, INT64, node)
    c, text = functions.ROUNDED.get(name.removeprefix("math ")), body.strong(a, node).text
    return known(INT64, f"((long){c}({text}))" if c else f"((long){text})")


def _round(body: Expressions, name: str, node: ast.Call) -> Value:
    if len(node.args) == 2:
        body.refuse(node.args[1], "round takes one number: write round(x * 100) / 100")
    return _truncated(body, name, node, *numbers(body, node, "round", 1))


def _float(body: Expressions, name: str, node: ast.Call, a: Number) -> Number:
    if a.type.kind == "complex":
        body.refuse(node, f"{describe(a)} becomes no float: take .real or .imag")
    if a.constant and a.type.weak:  # an integer that does not fit is an OverflowError
        return constant(float(body.cast(a, body.real, node).value))
    return body.explicit(a, body.real, node)


def _complex(body: Expressions, name: str, node: ast.Call) -> Number:
    given = numbers(body, node, name, 1, 2)
    if len(given) == 1 and given[0].type.kind == "complex":
        return given[0]
    t = body.common(given[0], given[-1], node, "and")
    t = body.real if t.kind != "float" else t
    texts = [body.cast(part, t, node).text for part in given] + ["0"] * (2 - len(given))
    return Number(types.complex_of(t), f"{types.complex_of(t).name}({', '.join(texts)})")


def _gcd(body: Expressions, name: str, node: ast.Call, a: Number, b: Number) -> Number:
    t = body.common(a, b, node, "and")
    if not t.whole:
        body.refuse(node, f"gcd of {a.type} and {b.type}: gcd takes integers")
    a, b = body.cast(a, t, node), body.cast(b, t, node)
    return known(t, f"{body.need('gcd', t)}({a.text}, {b.text})")


# What takes other values than numbers


def _len(body: Expressions, name: str, node: ast.Call) -> Value:
    if len(node.args) != 1 or node.keywords:
        body.refuse(node, "len takes one array or tuple")
    value = body.value(node.args[0])
    if isinstance(value, Tuple):
        return constant(len(value.items))
    if not isinstance(value, Array) or value.ndim == 0:
        body.refuse(node, f"len of {describe(value)}: len takes an array or a tuple")
    return value.extent(0)


def _print(body: Expressions, name: str, node: ast.Call) -> Value:
    if node.keywords:
        body.refuse(node.keywords[0].value, "print takes no arguments by name")
    words: list[str] = []
    texts: list[str] = []
    for at in node.args:
        value = body.text_or_value(at)
        if isinstance(value, Object) and isinstance(value.value, str):
            if "\0" in value.value:
                body.refuse(at, "a text with the character 0: it ends the text in C")
            words.append(value.value.replace("%", "%%"))
            continue
        for item in flat(value):
            number = body.strong(body.as_number(item, at), at)
            if number.type.kind == "complex":
                number = body.temp(number)
                texts += [f"{number.text}.real", f"{number.text}.imag"]
            else:
                texts.append(_PRINTED_AS.get(number.type.kind, "(long)") + number.text)
            words.append(_FORMATS.get(number.type.kind, "%ld"))
    line = quoted(" ".join(words) + "\n")
    body.emit(f"printf({', '.join([line, *texts])});")
    return Object(None)


_FORMATS = {"float": "%g", "complex": "(%g%+gj)", "uint": "%lu"}
_PRINTED_AS = {"float": "", "uint": "(ulong)"}

_REAL, _BINARY, _COMPARE = functions.REAL, functions.OPERATORS, functions.COMPARISONS
_PAIRS = {**functions.REAL_PAIRS, "math pow": "pow", "math remainder": "remainder"}
# Handlers of calls, by the names of functions.find.
_OF_CALLS: dict[str, Callable[..., Value]] = {
    **{"hypot": _hypot, "log": _log, "math round": _round, "max": _max_min, "min": _max_min},
    "range": lambda body, name, node: body.refuse(node, "range: only in for i in range(...)"),
    **{"sum": _folded, "prod": _folded, "len": _len, "print": _print, "complex": _complex},
}
# Handlers of numbers. A function takes as many arguments as its handler has parameters after `at`.
_OF_NUMBERS: dict[str, Callable[..., Value]] = {
    **dict.fromkeys(_REAL, lambda body, f, at, a: apply(body, _REAL[f], [a], at, f)),
    **dict.fromkeys(_PAIRS, lambda body, f, at, a, b: apply(body, _PAIRS[f], [a, b], at)),
    "fma": lambda body, f, at, a, b, c: apply(body, f, [a, b, c], at),
    "conj": lambda body, f, at, a: apply(body, f, [a], at, f),
    **dict.fromkeys(functions.TESTS, _test),
    **dict.fromkeys(_BINARY, lambda body, f, at, a, b: body.binary(_BINARY[f], a, b, at)),
    **dict.fromkeys(_COMPARE, lambda body, f, at, a, b: body.compare(_COMPARE[f], a, b, at)),
    **dict.fromkeys(functions.LOGIC, _logic),
    **dict.fromkeys(functions.ROUNDED, _rounded),
    **dict.fromkeys(functions.TRUNCATED, _truncated),
    "bitwise_invert": lambda body, f, at, a: body.negated(a) if a.type == BOOL else body.unary("~", a, at),
    "positive": lambda body, f, at, a: body.unary("+", a, at),
    "negative": lambda body, f, at, a: body.unary("-", a, at),
    "logical_not": lambda body, f, at, a: body.negated(body.truth(a, at)),
    "bool": lambda body, f, at, a: body.truth(a, at),
    "square": lambda body, f, at, a: body.binary("**", a, constant(2), at),
    "reciprocal": lambda body, f, at, a: body.binary("/", constant(1), a, at),
    "where": lambda body, f, at, test, a, b: body.choose(body.truth(test, at), a, b, at),
    **dict.fromkeys(("maximum", "minimum"), lambda body, f, at, a, b: _extreme(body, f, at, a, b)),
    **dict.fromkeys(("real", "imag"), lambda body, f, at, a: body.part(a, f, at)),
    **{"abs": _absolute, "sign": _sign, "clip": _clip, "gcd": _gcd},
    **{"float": _float, "ldexp": _ldexp, "divmod": _divmod},
}
