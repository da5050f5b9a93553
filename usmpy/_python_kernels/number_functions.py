"""Functions of numbers in Python kernels: those of Python, math and arrays, and casts."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from . import functions, types
from .types import BOOL, INT32, INT64, WEAK_FLOAT, WEAK_INT
from .values import Array, Number, Object, Tuple, Value, boolean, constant, describe, flat, known

if TYPE_CHECKING:
    from .expressions import Expressions

_Handler = Callable[["Expressions", str, list[Number], ast.Call], Value]
_H = TypeVar("_H", bound=_Handler)
_MANY = 99
# By name: the least and the greatest number of arguments, and what makes the value.
_HANDLERS: dict[str, tuple[int, int, _Handler]] = {}


def _takes(least: int, *names: str, most: int = 0) -> Callable[[_H], _H]:
    def register(handler: _H) -> _H:
        _HANDLERS.update(dict.fromkeys(names, (least, most or least, handler)))
        return handler

    return register


def call(body: Expressions, name: str, node: ast.Call) -> Value:
    """The value of a call of the function that functions.find gives this name."""
    if name in _SPECIAL:
        return _SPECIAL[name](body, name, node)
    least, most, handler = _HANDLERS[name]
    own = name.removeprefix("math ")
    return handler(body, name, numbers(body, node, own, least, most), node)


def numbers(body: Expressions, node: ast.Call, name: str, least: int, most: int = 0) -> list[Number]:
    """The arguments, all of which are numbers."""
    if node.keywords:
        body.refuse(node.keywords[0].value, f"{name} takes no arguments by name")
    if not least <= len(node.args) <= (most or least):
        wanted = f"{least} or more" if most == _MANY else f"{least} to {most}" if most > least else f"{least}"
        given = f"{len(node.args)} were given"
        body.refuse(node, f"{name} takes {wanted} argument{'s' * (wanted != '1')}, {given}")
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


@_takes(1, *functions.REAL, "conj")
def _real(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    return apply(body, functions.REAL.get(name, "conj"), given, node, name)


@_takes(2, *functions.REAL_PAIRS, "math pow", "math remainder")
@_takes(3, "fma")
def _reals(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    name = name.removeprefix("math ")
    return apply(body, functions.REAL_PAIRS.get(name, name), given, node)


@_takes(2, "ldexp")
def _ldexp(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    a, b = given
    t = body.strong(a, node).type if a.type.kind == "float" else body.real
    if not b.type.whole or a.type.kind == "complex":
        allowed = "a real number and an integer are allowed"
        body.refuse(node, f"ldexp of {describe(a)} and {describe(b)}: {allowed}")
    return Number(t, f"ldexp({body.cast(a, t, node).text}, (int){body.strong(b, node).text})")


@_takes(1, *functions.TESTS)
def _test(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    (a,) = given
    if a.type.kind == "complex":
        body.refuse(node, f"{name} of {describe(a)}: test .real and .imag")
    if a.type.kind != "float":
        negative = name == "signbit"
        return body.compare("<", a, constant(0), node) if negative else constant(name == "isfinite")
    return boolean(f"({name}({body.strong(a, node).text}) != 0)")


# Operators


@_takes(2, *functions.OPERATORS)
def _operator(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    a, b = given
    return body.binary(functions.OPERATORS[name], a, b, node)


@_takes(2, *functions.COMPARISONS)
def _comparison(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    a, b = given
    return body.compare(functions.COMPARISONS[name], a, b, node)


@_takes(1, *functions.UNARY)
def _unary(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    (a,) = given
    inverted = name == "bitwise_invert" and a.type == BOOL
    return body.negated(a) if inverted else body.unary(functions.UNARY[name], a, node)


@_takes(2, *functions.LOGIC)
def _logic(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    truths = [body.truth(n, node) for n in given]
    a, b = (str(int(n.value)) if n.constant else n.text for n in truths)
    return boolean(f"({a} {functions.LOGIC[name]} {b})")


@_takes(1, "logical_not", "bool")
def _truth(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    truth = body.truth(given[0], node)
    return body.negated(truth) if name == "logical_not" else truth


@_takes(2, "divmod")
def _divmod(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Value:
    a, b = map(body.temp, given)
    return Tuple([body.binary(sign, a, b, node) for sign in ("//", "%")])


@_takes(1, "square")
def _square(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    return body.binary("**", given[0], constant(2), node)


@_takes(1, "reciprocal")
def _reciprocal(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    return body.binary("/", constant(1), given[0], node)


@_takes(3, "where")
def _where(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    test, a, b = given
    return body.choose(body.truth(test, node), a, b, node)


# Parts, magnitudes and order


@_takes(1, "real", "imag")
def _part(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    return body.part(given[0], name, node)


@_takes(1, "abs")
def _absolute(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    (a,) = given
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


@_takes(1, "sign")
def _sign(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    a = body.strong(given[0], node)
    if a.type.kind in ("complex", "bool"):
        body.refuse(node, f"sign of {describe(a)}: sign takes integers and reals")
    part = "sign_uint" if a.type.kind == "uint" else "sign"
    return known(a.type, f"{body.need(part, a.type)}({a.text})")


@_takes(2, "maximum", "minimum")
def _choose(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
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


@_takes(3, "clip")
def _clip(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    a, low, high = given
    return _choose(body, "minimum", [_choose(body, "maximum", [a, low], node), high], node)


# Conversions


@_takes(1, *functions.ROUNDED)
def _rounded(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    whole = given[0].type.whole or given[0].type == BOOL
    return given[0] if whole else apply(body, functions.ROUNDED[name], given, node)


_WHOLE: dict[str, Callable[[float], int]] = {
    **{"int": int, "round": round, "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc}
}


@_takes(1, "int", "math ceil", "math floor", "math trunc")
def _truncated(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    """math.floor and the like, int, round: int64."""
    (number,) = given
    name = name.removeprefix("math ")
    if number.type.kind == "complex":
        body.refuse(node, f"{describe(number)} becomes no integer: take .real or .imag")
    body.finite(number, node)
    if number.constant and number.type.weak:
        return constant(_WHOLE[name](number.value))
    if number.type == WEAK_INT:
        return number
    if number.type.kind != "float":
        return body.cast(number, INT64, node)
    c, text = functions.ROUNDED.get(name), body.strong(number, node).text
    return known(INT64, f"((long){c}({text}))" if c else f"((long){text})")


@_takes(1, "float")
def _float(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    (a,) = given
    if a.type.kind == "complex":
        body.refuse(node, f"{describe(a)} becomes no float: take .real or .imag")
    if a.constant and a.type.weak:
        # An integer that does not fit is an OverflowError.
        return constant(float(body.cast(a, body.real, node).value))
    return body.explicit(a, body.real, node)


@_takes(1, "complex", most=2)
def _complex(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    if len(given) == 1 and given[0].type.kind == "complex":
        return given[0]
    t = body.common(given[0], given[-1], node, "and")
    t = body.real if t.kind != "float" else t
    texts = [body.cast(part, t, node).text for part in given] + ["0"] * (2 - len(given))
    return Number(types.complex_of(t), f"{types.complex_of(t).name}({', '.join(texts)})")


@_takes(2, "gcd")
def _gcd(body: Expressions, name: str, given: list[Number], node: ast.Call) -> Number:
    a, b = given
    t = body.common(a, b, node, "and")
    if not t.whole:
        body.refuse(node, f"gcd of {a.type} and {b.type}: gcd takes integers")
    a, b = body.cast(a, t, node), body.cast(b, t, node)
    return known(t, f"{body.need('gcd', t)}({a.text}, {b.text})")


# Functions whose number of arguments depends, or whose arguments are no numbers


def _hypot(body: Expressions, name: str, node: ast.Call) -> Value:
    given = numbers(body, node, name, *((3, _MANY) if len(node.args) > 2 else (2,)))
    return functools.reduce(lambda a, b: apply(body, name, [a, b], node), given)


def _log(body: Expressions, name: str, node: ast.Call) -> Value:
    given = numbers(body, node, name, 2 if len(node.args) == 2 else 1)
    a, *base = (apply(body, name, [n], node, name) for n in given)
    return body.binary("/", a, base[0], node) if base else a


def _round(body: Expressions, name: str, node: ast.Call) -> Value:
    if len(node.args) == 2:
        body.refuse(node.args[1], "round takes one number: write round(x * 100) / 100")
    return _truncated(body, name, numbers(body, node, "round", 1), node)


def _extreme(body: Expressions, name: str, node: ast.Call) -> Value:
    if len(node.args) == 1 and isinstance(items := body.value(node.args[0]), Tuple) and items.items:
        return _choose(body, name, [body.as_number(item, node) for item in items.items], node)
    return _choose(body, name, numbers(body, node, name, 2, _MANY), node)


def _folded(body: Expressions, name: str, node: ast.Call) -> Value:
    """The sum or the product of a tuple."""
    value = body.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(value, Tuple):
        body.refuse(node, f"{name} takes one tuple; of an array, write a loop")
    sign, result = ("+", constant(0)) if name == "sum" else ("*", constant(1))
    for item in value.items:
        result = body.binary(sign, result, body.as_number(item, node), node)
    return result


def _len(body: Expressions, name: str, node: ast.Call) -> Value:
    if len(node.args) != 1 or node.keywords:
        body.refuse(node, "len takes one array or tuple")
    value = body.value(node.args[0])
    if isinstance(value, Tuple):
        return constant(len(value.items))
    if not isinstance(value, Array) or value.ndim == 0:
        body.refuse(node, f"len of {describe(value)}: len takes an array or a tuple")
    return value.extent(0)


def _range(body: Expressions, name: str, node: ast.Call) -> Value:
    body.refuse(node, "range: only in for i in range(...)")


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
    line = types.quoted(" ".join(words) + "\n")
    body.emit(f"printf({', '.join([line, *texts])});")
    return Object(None)


_FORMATS = {"float": "%g", "complex": "(%g%+gj)", "uint": "%lu"}
_PRINTED_AS = {"float": "", "uint": "(ulong)"}
_SPECIAL: dict[str, Callable[[Expressions, str, ast.Call], Value]] = {
    **{"hypot": _hypot, "log": _log, "math round": _round, "max": _extreme, "min": _extreme},
    **{"sum": _folded, "prod": _folded, "len": _len, "range": _range, "print": _print},
}
