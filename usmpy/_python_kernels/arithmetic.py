"""Operators of Python kernels on numbers: results as types.promote says, with Python's values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from . import types
from .c_text import c_name
from .types import BOOL, INT32, INT64, UINT64, WEAK_COMPLEX, WEAK_FLOAT, WEAK_INT, Type, promote
from .values import UNKNOWN, Number, boolean, constant, describe, known

# Each operator: its class in ast, its sign, and its function in operator.
_OPERATORS = """
Add + add, Sub - sub, Mult * mul, Div / truediv, FloorDiv // floordiv, Mod % mod, Pow ** pow,
LShift << lshift, RShift >> rshift, BitAnd & and_, BitOr | or_, BitXor ^ xor,
Lt < lt, LtE <= le, Gt > gt, GtE >= ge, Eq == eq, NotEq != ne
"""
_ROWS = [row.split() for row in _OPERATORS.split(",")]
_SIGNS = {getattr(ast, name): sign for name, sign, _ in _ROWS}
_SIGNS |= {ast.UAdd: "+", ast.USub: "-", ast.Invert: "~"}
FOLD: dict[str, Callable[[Any, Any], Any]] = {sign: getattr(operator, name) for _, sign, name in _ROWS}
_FOLD_UNARY: dict[str, Callable[[Any], Any]] = {"+": operator.pos, "-": operator.neg, "~": operator.invert}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def sign_of(node: ast.AST) -> str:
    return _SIGNS[type(node)]


def _passed(number: Number) -> bool:
    """Whether it is a Python int that is known at the launch."""
    return number.type == WEAK_INT and not number.constant


class Arithmetic:
    """Operators in one function. real: the kernel's type of floating-point numbers."""

    real: Type
    refuse: Callable[..., NoReturn]  # raises the error for a node
    need: Callable[[str, Type], str]  # the name of a function of portable_python.h, which the program gets
    temp: Callable[..., Number]  # the number with a name, so that it may be written twice
    fail_if: Callable[[ast.AST, str], None]  # in a checked kernel, keeps a division by zero

    # Conversions

    def cast(self, number: Number, target: Type, node: ast.AST) -> Number:
        """The number as that type, which has bits, as an operation converts it."""
        source = number.type
        if source == target:
            return number
        if number.constant and (source.weak or source == BOOL):
            if not types.fits(number.value, target):
                self.refuse(node, f"{number.value} does not fit into {target}", OverflowError)
            return constant(number.value, target)
        if source == WEAK_INT and target.whole and number.origin is not None:
            number.origin.met.add(target)
        if target.kind == "complex":
            if source.kind == "complex":
                return Number(target, f"({target.name})({number.text})")
            real = self.cast(number, types.real_of(target), node)
            return Number(target, f"{target.name}({real.text}, 0)")
        if target == BOOL:
            return boolean(f"({number.text} != 0)")
        if source.weak and target == types.strong(source, self.real):  # as it is
            return replace(number, type=target, origin=None)
        kept = source.kind != "float" and target.bits > number.bits
        kept = kept and (number.positive or target.kind == "int")
        bits = min(number.bits, target.bits) if kept else target.bits
        positive = number.positive and (kept or target.kind == "uint")
        return Number(target, f"(({c_name(target)}){number.text})", None, bits, positive)

    def strong(self, number: Number, node: ast.AST) -> Number:
        """The number with a type of its own: int64, or the kernel's floating-point type."""
        return self.cast(number, types.strong(number.type, self.real), node)

    def finite(self, number: Number, node: ast.AST) -> None:
        """Refuses a constant that becomes no integer."""
        if isinstance(number.value, float) and not math.isfinite(number.value):
            self.refuse(node, f"{number.value} becomes no integer")

    def explicit(self, number: Number, target: Type, node: ast.AST) -> Number:
        """A cast that the user writes. Integers wrap, reals are truncated."""
        if target == BOOL:
            return self.truth(number, node)
        if number.type.kind == "complex" and target.kind != "complex":
            self.refuse(node, f"a complex number becomes no {target}: take .real or .imag")
        if number.constant and target.whole:
            self.finite(number, node)
            return constant(types.wrap(int(number.value), target), target)
        number = self.strong(number, node)
        if number.type.kind == "float" and target.whole and target.bits < 64:  # C leaves the others undefined
            return known(target, f"(({c_name(target)})(long){number.text})")
        if number.type.kind == "complex":
            return known(target, f"(({target.name})({number.text}))")
        return self.cast(number, target, node)

    def stored(self, number: Number, element: str, node: ast.AST, where: str) -> str:
        """The text of the number as it is stored in an element of that dtype. where: for messages."""
        target, source = types.ELEMENTS[element], number.type
        hint = ""
        if source.kind == "complex" and target.kind != "complex":
            hint = "take .real or .imag"
        elif target == BOOL and source != BOOL:
            hint = f"write {where} = bool(...)"
        elif source.kind == "float" and target.whole:
            hint = f"write {where} = usmpy.{element}(...)"
        if hint:
            self.refuse(node, f"{describe(number)} is stored in {element}: {hint}")
        if source.whole and target.whole and not source.weak:
            return self.explicit(number, target, node).text
        return self.cast(number, target, node).text

    def truth(self, number: Number, node: ast.AST) -> Number:
        if number.type == BOOL:
            return number
        if number.constant:
            return constant(bool(number.value))
        zero = f"{number.type.name}(0, 0)" if number.type.kind == "complex" else "0"
        return boolean(f"({number.text} != {zero})")

    # Operators

    def common(self, a: Number, b: Number, node: ast.AST, sign: str) -> Type:
        """The type of the result of an operation, which has bits."""
        found = promote(a.type, b.type, self.real)
        if found is None:
            hint = f"usmpy.{'int64' if a.type == UINT64 else 'uint64'}(...) of the left side"
            self.refuse(node, f"{a.type} {sign} {b.type} has no common type: cast one, such as {hint}")
        return INT32 if found == BOOL else types.strong(found, self.real)

    def weakened(self, t: Type, *given: Number) -> Type:
        """The type of a result that is computed as t: weak, if the operands are."""
        strong = [n for n in given if not n.type.weak and n.type != BOOL]
        if strong or not any(n.type.weak for n in given):
            return t
        return {self.real: WEAK_FLOAT, types.complex_of(self.real): WEAK_COMPLEX}.get(t, t)

    def choose(self, test: Number, a: Number, b: Number, node: ast.AST) -> Number:
        """a if test else b, of numbers that emit nothing."""
        t = self.shared_type(a, b, node)
        if test.constant:
            chosen = a if test.value else b
            return chosen if t.weak else self.cast(chosen, t, node)
        target = types.strong(t, self.real)
        texts = [self.cast(n, target, node).text for n in (a, b)]
        bits, positive = max(a.bits, b.bits), a.positive and b.positive
        t = INT64 if t == WEAK_INT else t
        return Number(t, f"({test.text} ? {texts[0]} : {texts[1]})", None, bits, positive)

    def shared_type(self, a: Number, b: Number, node: ast.AST) -> Type:
        t = promote(a.type, b.type, self.real)
        if t is None:
            given = f"{describe(a)} or {describe(b)}"
            self.refuse(node, f"{given}: no common type; cast one, such as usmpy.int64(...)")
        return t

    def binary(self, sign: str, a: Number, b: Number, node: ast.AST) -> Number:
        if all(n.constant and (n.type.weak or n.type == BOOL) for n in (a, b)):
            return self._fold(sign, a, b, node)
        for number in (a, b):
            if number.type.kind == "complex" and sign in ("//", "%", "<<", ">>", "&", "|", "^"):
                self.refuse(node, f"{a.type} {sign} {b.type}: complex numbers have no {sign}")
            if number.type.kind == "float" and sign in ("<<", ">>", "&", "|", "^"):
                self.refuse(node, f"{a.type} {sign} {b.type}: {sign} takes integers")
        if sign in ("<<", ">>"):
            return self._shift(sign, a, b, node)
        if sign == "**":
            return self._power(a, b, node)
        if sign in ("&", "|", "^") and a.type == b.type == BOOL:
            return boolean(f"({a.text} {sign} {b.text})")
        t = self.common(a, b, node, sign)
        t = self.real if sign == "/" and t.whole else t
        result = self.weakened(t, a, b)
        quotient = sign == "/" and b.type.kind == "complex"
        # A real number beside a complex one stays real: each part is computed with it.
        kinds = [t if quotient or n.type.kind == "complex" else types.real_of(t) for n in (a, b)]
        a, b = self.cast(a, kinds[0], node), self.cast(b, kinds[1], node)
        if quotient:
            number = Number(t, f"{self.need('cdiv', t)}({a.text}, {b.text})")
        elif sign in ("//", "%"):
            number = self._division(sign, a, b, t, node)
        elif t.whole:
            number = self._wrapping(sign, a, b, t)
        else:
            number = Number(t, f"({a.text} {sign} {b.text})")
        number.type = result
        return number

    def _fold(self, sign: str, a: Number, b: Number, node: ast.AST) -> Number:
        if sign == "<<" and b.value > 1000:
            self.refuse(node, f"a shift by {b.value}")
        if sign == "**" and isinstance(b.value, int) and abs(b.value) > 10000:
            self.refuse(node, f"a power of {b.value}")
        try:
            result = constant(FOLD[sign](a.value, b.value))
        except (ArithmeticError, TypeError, ValueError) as error:
            self.refuse(node, f"{a.value} {sign} {b.value}: {error}")
        both = a.type == b.type == BOOL and result.type == WEAK_INT
        return constant(result.value, INT32) if both else result

    def _wrapping(self, sign: str, a: Number, b: Number, t: Type) -> Number:
        """+, -, *, &, |, ^ of integers of one type."""
        both = a.positive and b.positive
        text = f"({a.text} {sign} {b.text})"
        if sign in ("&", "|", "^"):
            positive = both or (sign == "&" and (a.positive or b.positive))
            text = text if t.bits > 16 else f"(({c_name(t)}){text})"
            return Number(t, text, None, max(a.bits, b.bits), positive)
        bits = a.bits + b.bits if sign == "*" else max(a.bits, b.bits) + 1
        large = bits > t.bits - 2
        if t.bits <= 16:
            text = f"(({c_name(t)})((uint){a.text} {sign} (uint){b.text}))"
        elif t.kind == "int" and large:
            u = c_name(Type("uint", t.bits))
            text = f"(({c_name(t)})(({u}){a.text} {sign} ({u}){b.text}))"
        if large or (t.kind == "uint" and sign == "-"):
            return known(t, text)
        return Number(t, text, None, bits, (both and sign != "-") or t.kind == "uint")

    def _division(self, sign: str, a: Number, b: Number, t: Type, node: ast.AST) -> Number:
        """// rounds down, % has the sign of the divisor; // 0 and % 0 of integers are 0."""
        part, c_sign = ("floordiv", "/") if sign == "//" else ("mod", "%")
        if t.kind == "float":
            return Number(t, f"{self.need(part, t)}({a.text}, {b.text})")
        both = a.positive and b.positive
        bits = a.bits if sign == "//" else min(a.bits, b.bits) if both else b.bits
        if b.constant and b.value == 0:
            self.refuse(node, f"an integer {sign} 0")
        if not b.constant:
            b = self.temp(b)
            self.fail_if(node, f"{b.text} == 0")
        if both or t.kind == "uint":
            text = f"{a.text} {c_sign} {b.text}"
            text = f"({text})" if b.constant else f"({b.text} != 0 ? {text} : 0)"
            return Number(t, text if t.bits > 16 else f"(({c_name(t)}){text})", None, bits, True)
        text, bits = f"{self.need(part, t)}({a.text}, {b.text})", min(bits + 1, UNKNOWN)
        return Number(t, text, None, bits, sign == "%" and b.positive)

    def _shift(self, sign: str, a: Number, b: Number, node: ast.AST) -> Number:
        """The left operand's type; the count is taken modulo its width."""
        a = self.cast(a, INT32, node) if a.type == BOOL else self.strong(a, node)
        t, b = a.type, self.strong(b, node)
        c, u = c_name(t), c_name(Type("uint", t.bits))
        count = f"({b.text} & {t.bits - 1})"
        if t.bits < 32:
            text = f"(({c})(({c if sign == '>>' else u}){a.text} {sign} {count}))"
        else:
            count = str(b.value & (t.bits - 1)) if b.constant else count
            text = f"({a.text} {sign} {count})"
            if sign == "<<" and t.kind == "int":
                text = f"(({c})(({u}){a.text} << {count}))"
        if sign == ">>":
            return Number(t, text, None, a.bits, a.positive)
        if b.constant and b.value >= 0 and a.bits + b.value < t.bits - 1:
            return Number(t, text, None, a.bits + b.value, a.positive)
        return known(t, text)

    def _power(self, a: Number, b: Number, node: ast.AST) -> Number:
        exponent = b.value if b.constant and b.type.kind == "int" else None
        t = self.common(a, b, node, "**")
        result = self.weakened(t, a, b)
        base = self.cast(a, t, node)
        if exponent == 2:
            base = self.temp(base)
            return replace(self.binary("*", base, base, node), type=result)
        if t.whole:
            if exponent is not None and exponent < 0:
                self.refuse(node, f"an integer to the power of {exponent}: write float(...) ** {exponent}")
            if b.type == UINT64:  # the powers modulo 2 ** 64 have periods that divide 2 ** 62
                n = self.temp(b).text
                power = f"((long)(({n} << 1 >> 1) | ({n} >> 63 << 62)))"
            else:
                power = self.cast(b, INT64, node).text
            return known(t, f"{self.need('power', t)}({base.text}, {power})")
        if exponent is not None and abs(exponent) < 1 << (31 if t.kind == "complex" else 24):
            if t.kind == "float":
                return Number(result, f"pown({base.text}, {exponent})")
            text = f"{self.need('cpown', t)}({base.text}, {abs(exponent)})"
            if exponent < 0:
                text = f"{self.need('cdiv', t)}({t.name}(1, 0), {text})"
            return Number(result, text)
        name = "pow" if t.kind == "float" else self.need("cpow", t)
        return Number(result, f"{name}({base.text}, {self.cast(b, t, node).text})")

    def unary(self, sign: str, a: Number, node: ast.AST) -> Number:
        if sign == "~" and not (a.type.whole or a.type == BOOL):
            self.refuse(node, f"~ of {describe(a)}: ~ takes integers")
        if a.constant and (a.type.weak or a.type == BOOL):
            value = a.value if a.type != BOOL else int(a.value)
            return constant(_FOLD_UNARY[sign](value), INT32 if a.type == BOOL else None)
        given, a = a, self.cast(a, INT32, node) if a.type == BOOL else self.strong(a, node)
        t = a.type
        if sign == "~":
            return known(t, f"(~{a.text})" if t.bits > 16 else f"(({c_name(t)})~{a.text})")
        result = self.weakened(t, given)
        if sign == "+":
            return replace(a, type=result)
        if t.whole:
            return self._wrapping("-", Number(t, "0", 0, 0, True), a, t)
        if t.kind == "complex":
            text = f"{t.name}(-({a.text}).real, -({a.text}).imag)" if a.simple else f"(0 - {a.text})"
            return Number(result, text)
        return Number(result, f"(-{a.text})")

    def compare(self, sign: str, a: Number, b: Number, node: ast.AST) -> Number:
        """Comparisons are exact, also of integers with and without a sign."""
        if a.constant and b.constant:
            try:
                return constant(bool(FOLD[sign](a.value, b.value)))
            except TypeError as error:
                self.refuse(node, str(error))
        if "complex" in (a.type.kind, b.type.kind) and sign not in ("==", "!="):
            self.refuse(node, f"{a.type} {sign} {b.type}: complex numbers have no order")
        t: Type | None
        for one, other in ((a, b), (b, a)):
            if one.constant and one.type == WEAK_INT and other.type.whole and not other.type.weak:
                if types.fits(one.value, INT64 if other.type != UINT64 else UINT64):
                    t = other.type if types.fits(one.value, other.type) else INT64
                    break
                pair = (one.value, 0) if one is a else (0, one.value)  # no number of the type lies between
                return constant(bool(FOLD[sign](*pair)))
        else:
            # A Python int that is passed is compared as int64: it need not fit into the other type.
            a, b = (replace(n, type=INT64, origin=None) if _passed(n) else n for n in (a, b))
            t = promote(a.type, b.type, self.real) if not (a.type == b.type == BOOL) else INT32
        if t is None:
            if a.type != UINT64:
                a, b, sign = b, a, _MIRRORED[sign]
            order = self.need("order", UINT64)
            return boolean(f"({order}({a.text}, {self.cast(b, INT64, node).text}) {sign} 0)")
        t = types.strong(t, self.real)
        return boolean(f"({self.cast(a, t, node).text} {sign} {self.cast(b, t, node).text})")
