"""Numbers of the interpreter: values with a type. The translator's rules give the types of results."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy

import usmpy

from . import calls, functions, types
from .arithmetic import Arithmetic
from .body import Body
from .scope import number_of, wrap
from .types import BOOL, INT64, WEAK_INT, Type, promote
from .values import Number, Value, constant

# Of special methods: the functions of usmpy that operators are.
_ARITHMETIC = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
}
_ARITHMETIC |= {
    "mod": "remainder",
    "pow": "pow",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_ARITHMETIC |= {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"}
_ORDER = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
# Functions of the operands as they are; the result is converted.
_RAW: dict[str, Callable[..., Any]] = {
    **{"abs": abs, "complex": complex, "where": lambda test, a, b: a if test else b},
    **dict.fromkeys(("cast", "int", "float", "bool"), lambda a: a),
    **{"real": lambda a: a.real, "imag": lambda a: a.imag, "signbit": lambda a: math.copysign(1, a) < 0},
    **{"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite},
}
# Functions of operands that have the type of the result.
_CONVERTED: dict[str, Callable[..., Any]] = {
    **{"max": max, "min": min, "erf": math.erf, "erfc": math.erfc},
    "fma": lambda *v: (
        float(Fraction(v[0]) * Fraction(v[1]) + Fraction(v[2])) if _finite(v) else v[0] * v[1] + v[2]
    ),
    "gamma": lambda a: _guarded(math.gamma, a, math.copysign(math.inf, a) if a == 0 else math.nan),
    "lgamma": lambda a: _guarded(math.lgamma, a, math.inf),
    "math remainder": lambda a, b: math.nan if b == 0 or math.isinf(a) else math.remainder(a, b),
}
_NUMPY = {"pow": "power", "powr": "power", "round": "rint", "bitwise_invert": "invert"}
_NUMPY |= {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
_NUMPY |= {name: f"arc{name[1:]}" for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "atan2")}

_COMPARE: dict[str, Callable[..., Any]] = {name: getattr(operator, sign) for sign, name in _ORDER.items()}


def _finite(values: tuple[float, ...]) -> bool:
    return all(map(math.isfinite, values))


def _guarded(function: Callable[[float], float], a: float, pole: float) -> float:
    try:
        return function(a)
    except OverflowError:
        return math.inf
    except ValueError:
        return pole


class Operand(NamedTuple):
    """A number that an operation is given."""

    type: Type
    constant: bool
    value: Any

    @property
    def key(self) -> tuple[Type, Any]:
        """What the type of a result depends on."""
        return self.type, self.value if self.constant else None


def operand(value: Any) -> Operand | None:
    """None: the object is no number."""
    if isinstance(value, Typed):
        return Operand(value.type, False, value.value)
    found = wrap(value)
    number = None if isinstance(found, str) else number_of(found)
    if number is None:
        return None
    return Operand(number.type, number.type.weak or number.type == BOOL, number.value)


class Rules(Body):
    """The translator's rules for numbers, without a program. real: the kernel's floating-point type."""

    def __init__(self, real: Type) -> None:
        self.real = real
        self._types: dict[Any, Type] = {}  # of results, by function and operands
        self._stores: set[Any] = set()  # that are allowed
        self.arith = Arithmetic(real, self.refuse, self.need, self.temp, lambda node, test: None)

    # What the rules ask of a function that is compiled. The nodes of arguments hold the numbers themselves.

    def refuse(self, node: ast.AST, text: str, kind: Any = None) -> NoReturn:
        raise (kind or TypeError)(text)

    def need(self, part: str, number: Type) -> str:
        return part

    def temp(self, number: Number, copy: bool = False) -> Number:
        return number

    def many(self, nodes: Any) -> list[Value]:
        return [node.value for node in nodes]

    def strong(self, t: Type) -> Type:
        """The type in which numbers of that type travel."""
        if not t.weak:
            return t
        return INT64 if t.kind == "int" else self.real if t.kind == "float" else types.complex_of(self.real)

    def _result(self, function: Any, *operands: tuple[Type, Any]) -> Number:
        """What the translator makes of the call."""
        nodes: list[Any] = [ast.Constant(_number(*key)) for key in operands]  # type: ignore[arg-type]
        found = calls.call(self, function, ast.Call(ast.Name(getattr(function, "__name__", "")), nodes, []))
        assert isinstance(found, Number)
        return found

    def _type(self, function: Any, *operands: tuple[Type, Any]) -> Type:
        key = (function, *operands)
        if key not in self._types:
            self._types[key] = self._result(function, *operands).type
        return self._types[key]

    def _check_stored(self, element: str, stored: tuple[Type, Any]) -> None:
        if (element, stored) not in self._stores:
            self.arith.stored(_number(*stored), element, ast.Pass(), "x[i]")
            self._stores.add((element, stored))

    def call(self, function: Any, *arguments: Any) -> Any:
        """A call of a function that calls.py knows, also of a dtype. Arguments are Typed, or constants.

        The result is Typed, or a constant if all arguments are constants.
        """
        kind, name = functions.find(function) or ("cast", "cast")
        if name in ("min", "max") and len(arguments) == 1 and isinstance(arguments[0], tuple):
            arguments = arguments[0] if len(arguments[0]) > 1 else arguments[0] * 2
        if name == "log" and len(arguments) == 2:
            return self.call(function, arguments[0]) / self.call(function, arguments[1])
        if name in ("hypot", "sum", "prod") and len(arguments) != 2:
            pair = functools.partial(self.call, function)
            combine = {"sum": operator.add, "prod": operator.mul}.get(name, pair)
            return functools.reduce(combine, arguments if name == "hypot" else arguments[0])
        if name == "divmod" and len(arguments) == 2:
            return arguments[0] // arguments[1], arguments[0] % arguments[1]
        given = [self._need(a) for a in arguments]
        if all(a.constant for a in given):
            found = self._result(function, *[a.key for a in given])
            if found.constant:
                weak = found.type.weak or found.type == BOOL
                return found.value if weak else Typed(found.value, found.type, self)
        elif (
            name in ("floor_divide", "remainder") and given[-1].value == 0 and given[-1].type.kind != "float"
        ):
            given[-1] = given[-1]._replace(constant=False)  # it may be that of a variable, and x // 0 is 0
        result = self._type(function, *[a.key for a in given])
        return Typed(self._evaluate(kind, name, given, self.strong(result)), result, self)

    def _evaluate(self, kind: str, name: str, given: list[Operand], t: Type) -> Any:
        raw = [a.value for a in given]
        if name in _COMPARE:
            common = promote(given[0].type, given[1].type, self.real)
            if common is not None and common.kind in ("float", "complex"):  # others are exact
                raw = [convert(value, self.strong(common)) for value in raw]
            return _COMPARE[name](*raw)
        if name in _RAW:
            return convert(_RAW[name](*raw), t)
        if name in functions.ROUNDED and (kind != "array" or t.whole or t == BOOL):
            return convert(round(raw[0]) if name == "round" else getattr(math, name)(raw[0]), t)
        if t.whole and name == "pow":
            return types.wrap(pow(raw[0], raw[1], 1 << t.bits) if raw[1] >= 0 else 0, t)
        if name == "ldexp":
            return convert(math.ldexp(self._as(given[0], t), raw[1]), t)
        if name.endswith("_shift"):
            given[1] = Operand(t, False, raw[1] & (t.bits - 1))
        values = [self._as(a, t) for a in given]
        if (kind, name) == ("math", "remainder") or name in _CONVERTED:
            return convert(
                _CONVERTED[name if kind != "math" or name != "remainder" else "math remainder"](*values), t
            )
        if name == "clip":
            return _numpy("minimum", t, _numpy("maximum", t, *values[:2]), values[2])
        return _numpy(_NUMPY.get(name, name), t, *values)

    def stored(self, value: Any, element: str) -> Any:
        """The value as an element of that dtype, which is assigned, has it."""
        x = self._need(value)
        self._check_stored(element, x.key)
        return self._as(x, types.ELEMENTS[element])

    def _need(self, value: Any) -> Operand:
        found = operand(value)
        if found is None:
            raise TypeError(f"{value!r:.80} where a number is allowed")
        return found

    def _as(self, x: Operand, t: Type) -> Any:
        """The operand's value as an operation converts it."""
        if x.type == WEAK_INT and t.whole and not types.fits(x.value, t):
            raise OverflowError(f"{x.value} does not fit into {t}")
        return convert(x.value, t)


def _number(t: Type, value: Any) -> Number:
    return Number(t, "x") if value is None else constant(value)


def convert(value: Any, t: Type) -> Any:
    """The value as a number of that type, which has bits: integers wrap, reals are truncated or rounded."""
    if t == BOOL:
        return bool(value)
    if t.whole:
        return types.wrap(int(value), t)
    return _numpy("positive", t, value.real if t.kind == "float" else value)


def _numpy(name: str, t: Type, *values: Any) -> Any:
    kind = numpy.dtype(t.name).type
    with numpy.errstate(all="ignore"):
        return getattr(numpy, name)(*map(kind, values)).item()


class Typed:
    """A number of an interpreted kernel: a value, its type, and the rules for operators."""

    __slots__ = ("rules", "type", "value")

    def __init__(self, value: Any, kind: Type, rules: Rules) -> None:
        self.value, self.type, self.rules = value, kind, rules

    def __repr__(self) -> str:
        return f"{self.type.name}({self.value!r})"

    def __format__(self, form: str) -> str:
        return format(self.value, form)

    def __index__(self) -> int:
        if not self.type.whole:
            raise TypeError(f"{self.type} as an index: integers are allowed")
        return int(self.value)

    def __invert__(self) -> Any:
        return self.rules.call(usmpy.bitwise_invert, +self if self.type == BOOL else self)  # type: ignore[operator]


def _define() -> None:
    def method(name: str, function: Any, mirrored: bool = False) -> None:
        def call(self: Typed, *others: Any) -> Any:
            if any(operand(other) is None for other in others):
                return NotImplemented
            return self.rules.call(function, *((*others, self) if mirrored else (self, *others)))

        setattr(Typed, name, property(call) if name in ("real", "imag") else call)

    for name, function in {**_ARITHMETIC, **_ORDER, "neg": "negative", "pos": "positive"}.items():
        method(f"__{name}__", getattr(usmpy, function))
        if name in _ARITHMETIC:
            method(f"__r{name}__", getattr(usmpy, function), True)
    for built in (abs, round, math.floor, math.ceil, math.trunc):
        method(f"__{built.__name__}__", built)
    for name in ("real", "imag", "conj"):
        method(name, getattr(usmpy, name))
    method("conjugate", usmpy.conj)
    for kind in (bool, int, float, complex, str, hash):
        setattr(Typed, f"__{kind.__name__}__", lambda self, *, kind=kind: kind(self.value))


_define()
