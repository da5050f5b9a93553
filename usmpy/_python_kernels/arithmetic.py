"""Operators of Python kernels on numbers: results as types.promote says, with Python's values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from . import types
from .types import BOOL, INT32, INT64, UINT64, WEAK_COMPLEX, WEAK_FLOAT, WEAK_INT, Type, c_name, promote
from .values import UNKNOWN, Number, constant, describe, known

_SIGNS: dict[type[ast.AST], str] = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"},
    **{ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"},
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.UAdd: "+", ast.USub: "-", ast.Invert: "~"},
}
_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod, "**": operator.pow},
    **{"<<": operator.lshift, ">>": operator.rshift},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor},
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"==": operator.eq, "!=": operator.ne},
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def sign_of(node: ast.AST) -> str:
    return _SIGNS[type(node)]


class Arithmetic:
    """Operators for one function.

    real: the kernel's type of floating-point numbers. refuse: raises the error for a node. need: notes a
    function of portable_python.h that the program needs, and returns its name. temp: gives a number a name.
    """

    def __init__(
        self,
        real: Type,
        refuse: Callable[..., NoReturn],
        need: Callable[[str, Type], str],
        temp: Callable[[Number], Number],
        failed: Callable[[ast.AST, str], None],
    ) -> None:
        self.real, self.refuse, self.need, self.temp, self.failed = real, refuse, need, temp, failed

    # Conversions

    def cast(self, number: Number, target: Type, node: ast.AST) -> Number:
        """The number as that type, which has bits, as an operation converts it."""
        source = number.type
        if source == target:
            return number
        if number.constant and (source.weak or source == BOOL):
            value = number.value
            if target.whole and not types.fits(int(value), target):
                self.refuse(node, f"{value} does not fit into {target}", OverflowError)
            if target.kind in ("float", "complex") and not self._finite(value, target):
                self.refuse(node, f"{value} does not fit into {target}", OverflowError)
            return constant(value, target)
        if source == WEAK_INT and target.whole and number.origin is not None:
            number.origin.met.add(target)
        if target.kind == "complex":
            part = types.real_of(target)
            text = f"({target.name})({number.text})"
            if source.kind != "complex":
                text = f"{target.name}({self.cast(number, part, node).text}, 0)"
            return Number(target, text)
        if target == BOOL:
            return Number(BOOL, f"({number.text} != 0)", None, 1, True)
        if source.weak and target == (INT64 if source.kind == "int" else self.real):  # as it is
            return Number(target, number.text, None, number.bits, number.positive)
        kept = source.kind != "float" and target.bits > number.bits
        kept = kept and (number.positive or target.kind == "int")
        return Number(
            target,
            f"(({c_name(target)}){number.text})",
            None,
            min(number.bits, target.bits) if kept else target.bits,
            number.positive and (kept or target.kind == "uint"),
        )

    def _finite(self, value: complex, target: Type) -> bool:
        most = 3.4028235677973366e38 if types.real_of(target).bits == 32 else math.inf
        try:
            parts = (complex(value).real, complex(value).imag)
        except OverflowError:
            return False
        return all(abs(part) < most or math.isinf(part) or part != part for part in parts)

    def strong(self, number: Number, node: ast.AST) -> Number:
        """The number with a type of its own: int64, or the kernel's floating-point type."""
        if not number.type.weak:
            return number
        kind = number.type.kind
        target = INT64 if kind == "int" else self.real if kind == "float" else types.complex_of(self.real)
        return self.cast(number, target, node)

    def finite(self, number: Number, node: ast.AST) -> None:
        """Refuses a constant that becomes no integer."""
        if isinstance(number.value, float) and not math.isfinite(number.value):
            self.refuse(node, f"{number.value} becomes no integer")

    def explicit(self, number: Number, target: Type, node: ast.AST) -> Number:
        """A cast that the user writes. Integers wrap, reals are truncated."""
        value = number.value
        if target == BOOL:
            return self.truth(number, node)
        if number.type.kind == "complex" and target.kind != "complex":
            self.refuse(node, f"a complex number becomes no {target}: take .real or .imag")
        if number.constant and target.whole and number.type.kind != "complex":
            self.finite(number, node)
            return constant(types.wrap(int(value), target), target)
        number = self.strong(number, node)
        if number.type.kind == "float" and target.whole and target.bits < 64:  # C leaves the others undefined
            return known(target, f"(({c_name(target)})(long){number.text})")
        if number.type.kind == "complex":
            return known(target, f"(({target.name})({number.text}))")
        return self.cast(number, target, node)

    def stored(self, number: Number, element: str, node: ast.AST, where: str) -> str:
        """The text of the number as it is stored in an element of that dtype. where: for messages."""
        target, source = types.ELEMENTS[element], number.type
        if source.kind == "complex" and target.kind != "complex":
            self.refuse(node, f"{describe(number)} is stored in {element}: take .real or .imag")
        if target == BOOL and source != BOOL:
            self.refuse(node, f"{describe(number)} is stored in bool: write {where} = bool(...)")
        if source.kind == "float" and target.whole:
            self.refuse(
                node, f"{describe(number)} is stored in {element}: write {where} = usmpy.{element}(...)"
            )
        if source.whole and target.whole and not source.weak:
            return self.explicit(number, target, node).text
        return self.cast(number, target, node).text

    def truth(self, number: Number, node: ast.AST) -> Number:
        if number.type == BOOL:
            return number
        if number.constant:
            return constant(bool(number.value))
        if number.type.kind == "complex":
            zero = f"{number.type.name}(0, 0)"
            return Number(BOOL, f"({number.text} != {zero})", None, 1, True)
        return Number(BOOL, f"({number.text} != 0)", None, 1, True)

    # Operators

    def common(self, a: Number, b: Number, node: ast.AST, sign: str) -> Type:
        """The type of the result of an operation, which has bits."""
        found = promote(a.type, b.type, self.real)
        if found is None:
            other = "int64" if a.type == UINT64 else "uint64"
            signed = "left" if a.type != UINT64 else "right"
            self.refuse(
                node,
                f"{a.type} {sign} {b.type} has no common type: cast one, such as usmpy.{other}(...) of the "
                f"{'left' if other == 'int64' else signed} side",
            )
        if found == BOOL:
            return INT32
        return self.strong(Number(found, "", None), node).type if found.weak else found

    def result(self, t: Type, *given: Number) -> Type:
        """The type of a result that is computed as t: weak, if the operands are."""
        strong = [n for n in given if not n.type.weak and n.type != BOOL]
        if strong or not any(n.type.weak for n in given):
            return t
        return {self.real: WEAK_FLOAT, types.complex_of(self.real): WEAK_COMPLEX}.get(t, t)

    def binary(self, sign: str, a: Number, b: Number, node: ast.AST) -> Number:
        if a.constant and b.constant and (a.type.weak or a.type == BOOL) and (b.type.weak or b.type == BOOL):
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
            return Number(BOOL, f"({a.text} {sign} {b.text})", None, 1, True)
        t = self.common(a, b, node, sign)
        if sign == "/" and t.whole:
            t = self.real
        result = self.result(t, a, b)
        # A real number beside a complex one stays real: each part is computed with it.
        kinds = [t if n.type.kind == "complex" else types.real_of(t) for n in (a, b)]
        quotient = sign == "/" and b.type.kind == "complex"
        kinds = [t, t] if quotient else kinds
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
            result = constant(_FOLD[sign](a.value, b.value))
            both = a.type == b.type == BOOL and result.type == WEAK_INT
            return constant(result.value, INT32) if both else result
        except (ArithmeticError, TypeError, ValueError) as error:
            self.refuse(node, f"{a.value} {sign} {b.value}: {error}")

    def _wrapping(self, sign: str, a: Number, b: Number, t: Type) -> Number:
        """+, -, *, &, |, ^ of integers of one type."""
        both = a.positive and b.positive
        if sign in ("&", "|", "^"):
            positive = both or (sign == "&" and (a.positive or b.positive))
            bits = max(a.bits, b.bits)
            text = f"({a.text} {sign} {b.text})"
            return Number(t, text if t.bits > 16 else f"(({c_name(t)}){text})", None, bits, positive)
        bits = a.bits + b.bits if sign == "*" else max(a.bits, b.bits) + 1
        text = f"({a.text} {sign} {b.text})"
        if t.bits <= 16:
            text = f"(({c_name(t)})((uint){a.text} {sign} (uint){b.text}))"
        elif t.kind == "int" and bits > t.bits - 2:
            u = c_name(Type("uint", t.bits))
            text = f"({c_name(t)})(({u}){a.text} {sign} ({u}){b.text})"
            return known(t, f"({text})")
        if bits > t.bits - 2 or (t.kind == "uint" and sign == "-"):
            return known(t, text)
        return Number(t, text, None, bits, (both and sign != "-") or t.kind == "uint")

    def _division(self, sign: str, a: Number, b: Number, t: Type, node: ast.AST) -> Number:
        """// rounds down, % has the sign of the divisor; // 0 and % 0 of integers are 0."""
        if t.kind == "float":
            return Number(t, f"{self.need('floordiv' if sign == '//' else 'mod', t)}({a.text}, {b.text})")
        c_sign = "/" if sign == "//" else "%"
        both = a.positive and b.positive
        bits = a.bits if sign == "//" else min(a.bits, b.bits) if both else b.bits
        nonzero = b.constant and b.value != 0
        if b.constant and b.value == 0:
            self.refuse(node, f"an integer {sign} 0")
        if not nonzero:
            b = self.temp(b)
            self.failed(node, f"{b.text} == 0")
        if both or t.kind == "uint":
            text = (
                f"({a.text} {c_sign} {b.text})"
                if nonzero
                else f"({b.text} != 0 ? {a.text} {c_sign} {b.text} : 0)"
            )
            if t.bits <= 16:
                text = f"(({c_name(t)}){text})"
            return Number(t, text, None, bits, True)
        name = self.need("floordiv" if sign == "//" else "mod", t)
        positive = sign == "%" and b.positive
        return Number(t, f"{name}({a.text}, {b.text})", None, min(bits + 1, UNKNOWN), positive)

    def _shift(self, sign: str, a: Number, b: Number, node: ast.AST) -> Number:
        """The left operand's type; the count is taken modulo its width."""
        a = self.cast(a, INT32, node) if a.type == BOOL else self.strong(a, node)
        t, b = a.type, self.strong(b, node)
        if t.bits >= 32:
            count = f"({b.text} & {t.bits - 1})" if not b.constant else str(b.value & (t.bits - 1))
            text = f"({a.text} {sign} {count})"
            if sign == "<<" and t.kind == "int":
                u = c_name(Type("uint", t.bits))
                text = f"(({c_name(t)})(({u}){a.text} << {count}))"
        else:
            u = c_name(t if sign == ">>" else Type("uint", t.bits))
            text = f"(({c_name(t)})(({u}){a.text} {sign} ({b.text} & {t.bits - 1})))"
        if sign == ">>":
            return Number(t, text, None, a.bits, a.positive)
        if b.constant and b.value >= 0 and a.bits + b.value < t.bits - 1:
            return Number(t, text, None, a.bits + b.value, a.positive)
        return known(t, text)

    def _power(self, a: Number, b: Number, node: ast.AST) -> Number:
        exponent = b.value if b.constant and b.type.kind == "int" else None
        t = self.common(a, b, node, "**")
        result = self.result(t, a, b)
        base = self.cast(a, t, node)
        if exponent == 2:
            base = self.temp(base)
            square = self.binary("*", base, base, node)
            square.type = result
            return square
        if t.whole:
            if exponent is not None and exponent < 0:
                self.refuse(node, f"an integer to the power of {exponent}: write float(...) ** {exponent}")
            if b.type == UINT64:  # the powers modulo 2 ** 64 have periods that divide 2 ** 62
                n = self.temp(b).text
                power = Number(INT64, f"((long)(({n} << 1 >> 1) | ({n} >> 63 << 62)))")
            else:
                power = self.cast(b, INT64, node)
            return known(t, f"{self.need('power', t)}({base.text}, {power.text})")
        if t.kind == "complex":
            if exponent is None or abs(exponent) >= 1 << 31:
                return Number(result, f"{self.need('cpow', t)}({base.text}, {self.cast(b, t, node).text})")
            text = f"{self.need('cpown', t)}({base.text}, {abs(exponent)})"
            if exponent < 0:
                text = f"{self.need('cdiv', t)}({t.name}(1, 0), {text})"
            return Number(result, text)
        if exponent is not None and abs(exponent) < 1 << 24:
            text = f"pown({base.text}, {exponent})"
        else:
            text = f"pow({base.text}, {self.cast(b, t, node).text})"
        return Number(result, text)

    def unary(self, sign: str, a: Number, node: ast.AST) -> Number:
        if a.constant and (a.type.weak or a.type == BOOL):
            if sign == "~" and not isinstance(a.value, int):
                self.refuse(node, f"~ of {describe(a)}: ~ takes integers")
            value = a.value if a.type != BOOL else int(a.value)
            value = +value if sign == "+" else -value if sign == "-" else ~value
            return constant(value, INT32 if a.type == BOOL else None)
        if sign == "~" and not (a.type.whole or a.type == BOOL):
            self.refuse(node, f"~ of {describe(a)}: ~ takes integers")
        given, a = a, self.cast(a, INT32, node) if a.type == BOOL else self.strong(a, node)
        t = a.type
        result = self.result(t, given)
        if sign == "+":
            return replace(a, type=result)
        if sign == "~":
            return known(t, f"(~{a.text})" if t.bits > 16 else f"(({c_name(t)})~{a.text})")
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
                return constant(bool(_FOLD[sign](a.value, b.value)))
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
                return constant(bool(_FOLD[sign](*pair)))
        else:
            a, b = (
                n if n.constant or n.type != WEAK_INT else Number(INT64, n.text, None, n.bits) for n in (a, b)
            )
            t = promote(a.type, b.type, self.real) if not (a.type == b.type == BOOL) else INT32
        if t is None:
            if a.type != UINT64:
                a, b, sign = b, a, _MIRRORED[sign]
            order = self.need("order", UINT64)
            return Number(
                BOOL, f"({order}({a.text}, {self.cast(b, INT64, node).text}) {sign} 0)", None, 1, True
            )
        if t.weak:
            t = self.strong(Number(t, ""), node).type
        a, b = self.cast(a, t, node), self.cast(b, t, node)
        return Number(BOOL, f"({a.text} {sign} {b.text})", None, 1, True)
