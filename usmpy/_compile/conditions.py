"""The condition of an #if: integers of 64 bits, signed or unsigned, as GCC computes them."""

from __future__ import annotations

import operator
import re
from typing import NamedTuple

# Binary operators by precedence, and unary ones.
_SIGNS = [(",",), ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="),
          ("<<", ">>"), ("+", "-"), ("*", "/", "%")]  # fmt: skip
_BINDS = {sign: level for level, signs in enumerate(_SIGNS) for sign in signs}
_IN_FRONT = ("!", "-", "+", "~")
_COMPARED = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt}
_COMPARED |= {"<=": operator.le, ">=": operator.ge}
_COMPUTED = {"|": operator.or_, "^": operator.xor, "&": operator.and_, "+": operator.add, "-": operator.sub}
_COMPUTED |= {"*": operator.mul}
_CHARACTER = re.compile(
    r"""([uUL]?)'((?:[^'\\\n]|\\(?:[0-7]{1,3}|x[0-9a-fA-F]+|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^0-7xuU]))+)'"""
)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|[uU]([0-9a-fA-F]+)|(.))|(.)", re.S)
_ESCAPED = {"a": 7, "b": 8, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_WIDTHS = {"L": 32, "u": 16, "U": 32}
_INTEGER = re.compile(
    r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)((?:[uU](?:ll?|LL?)?|(?:ll?|LL?)[uU]?)?)"
)


class _Number(NamedTuple):
    value: int | None  # None: a division by zero, which is an error where it is evaluated
    unsigned: bool = False


def _wrap(value: int, unsigned: bool = False, bits: int = 64) -> _Number:
    value &= (1 << bits) - 1
    return _Number(value if unsigned or not value >> (bits - 1) else value - (1 << bits), unsigned)


def _character(word: str) -> _Number:
    """The value of 'a'; of several characters, as GCC has it."""
    match = _CHARACTER.fullmatch(word)
    if match is None:
        raise ValueError(f"{word} is no character")
    codes: list[int] = []
    for octal, hexadecimal, universal, escaped, plain in _ESCAPE.findall(match[2]):
        if octal or hexadecimal:
            codes.append(int(octal, 8) if octal else int(hexadecimal, 16))
        elif escaped:
            codes.append(_ESCAPED.get(escaped, ord(escaped)))
        else:
            text = plain or chr(min(int(universal, 16), 0x10FFFF))
            if universal and text < "\xa0" and text not in "$@`":
                raise ValueError(f"{word}: write this character without an escape")
            codes += [ord(text)] if match[1] else text.encode("utf-8", "surrogateescape")
    if match[1]:
        return _wrap(codes[-1], match[1] != "L", _WIDTHS[match[1]])
    value = 0
    for code in codes:
        value = value << 8 | code & 0xFF
    return _wrap(value, bits=8 if len(codes) == 1 else 32)


def _integer(word: str) -> _Number:
    match = _INTEGER.fullmatch(word)
    if match is None or len(word) > 80:
        raise ValueError(f"{word[:20]} is no integer")
    digits = match[1]
    value = int(digits, 8 if digits.isdigit() and digits[0] == "0" else 0)
    if value >> 64:
        raise ValueError(f"{word[:20]} has more than 64 bits")
    return _Number(value, value >> 63 > 0 or "u" in match[2].lower())


def _value(word: str) -> _Number:
    if "'" in word and not word[:1].isdigit():
        return _character(word)
    if word[:1].isdigit():
        return _integer(word)
    if word[:1].isalpha() or word[:1] == "_":
        return _Number(int(word == "true"))  # 0: an undefined name
    raise ValueError(f"'{word}' is not expected")


def _alone(sign: str, a: _Number) -> _Number:
    if a.value is None:
        return a
    if sign == "!":
        return _Number(int(not a.value))
    return _wrap({"-": -a.value, "+": a.value, "~": ~a.value}[sign], a.unsigned)


def _apply(sign: str, a: _Number, b: _Number) -> _Number:
    if sign in ("&&", "||"):
        if a.value is None or bool(a.value) == (sign == "||"):  # b is not evaluated
            return _Number(a.value and int(bool(a.value)))
        return _Number(b.value and 1)
    unsigned = a.unsigned or b.unsigned
    if sign == "," and a.value is not None:
        return b
    if a.value is None or b.value is None or (sign in ("/", "%") and not b.value):
        return _Number(None, unsigned)
    if sign in ("<<", ">>"):
        count = max(-64, min(b.value if sign == "<<" else -b.value, 64))
        return _wrap(a.value << count if count > 0 else a.value >> -count, a.unsigned)
    x, y = (_wrap(value, unsigned).value or 0 for value in (a.value, b.value))
    if sign in _COMPARED:
        return _Number(int(_COMPARED[sign](x, y)))
    if sign in _COMPUTED:
        return _wrap(_COMPUTED[sign](x, y), unsigned)
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    return _wrap(quotient if sign == "/" else x - y * quotient, unsigned)


class Expression:
    """The condition from its words. Explicit stacks: a condition may nest deeply."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.values: list[_Number] = []
        self.signs: list[str] = []  # "u-" is a minus in front of a value; ":" is a whole a ? b : c

    def read(self) -> int:
        """The value. Raises ValueError."""
        value_wanted = True
        for word in self.words:
            value_wanted = self._before_value(word) if value_wanted else self._behind_value(word)
        if value_wanted:
            raise ValueError("it ends early")
        self._reduce(0)
        if self.signs:
            raise ValueError("')' is missing" if self.signs[-1] == "(" else "':' is missing")
        value = self.values[0].value
        if value is None:
            raise ValueError("a division by zero")
        return value

    def _before_value(self, word: str) -> bool:
        """Takes a word where a value is expected; whether the value is still missing."""
        if word == "(":
            self.signs.append(word)
            return True
        if word in _IN_FRONT:
            self.signs.append("u" + word)
            return True
        self.values.append(_value(word))
        return False

    def _behind_value(self, word: str) -> bool:
        if word in _BINDS:
            self._reduce(_BINDS[word])
            self.signs.append(word)
            return True
        self._reduce(1 if word == "?" else 0)
        opened = self.signs[-1] if self.signs else ""
        if word == "?":
            self.signs.append(word)
            return True
        if word == ":" and opened == "?":
            self.signs[-1] = word
            return True
        if word == ")" and opened == "(":
            self.signs.pop()
            return False
        raise ValueError("')' is missing" if opened == "(" else f"'{word}' is not expected")

    def _reduce(self, binds: int) -> None:
        """Applies the signs that bind as tightly or more tightly."""
        while self.signs:
            sign = self.signs[-1]
            if sign in ("(", "?") or (sign in _BINDS and _BINDS[sign] < binds) or (sign == ":" and binds > 0):
                return
            self.signs.pop()
            last = self.values.pop()
            if sign == ":":
                yes, condition = self.values.pop(), self.values.pop()
                chosen, unsigned = yes if condition.value else last, yes.unsigned or last.unsigned
                failed = condition.value is None or chosen.value is None
                self.values.append(_Number(None, unsigned) if failed else _wrap(chosen.value or 0, unsigned))
            elif sign in _BINDS:
                self.values.append(_apply(sign, self.values.pop(), last))
            else:
                self.values.append(_alone(sign[1:], last))
