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
from .arithmetic import FOLD
from .expressions import Expressions
from .scope import number_of, wrap
from .types import BOOL, WEAK_INT, Type, promote
from .values import Number, Value, constant


def _fma(a: float, b: float, c: float) -> float:
    exact = all(map(math.isfinite, (a, b, c)))
    return float(Fraction(a) * Fraction(b) + Fraction(c)) if exact else a * b + c


def _guarded(function: Callable[[float], float], a: float, pole: float) -> float:
    try:
        return function(a)
    except OverflowError:
        return math.inf
    except ValueError:
        return pole


# Functions of the operands as they are; the result is converted.
_RAW: dict[str, Callable[..., Any]] = {
    **{"abs": abs, "complex": complex, "where": lambda test, a, b: a if test else b},
    **dict.fromkeys(("cast", "float", "bool"), lambda a: a),
    **{"real": lambda a: a.real, "imag": lambda a: a.imag, "signbit": lambda a: math.copysign(1, a) < 0},
    **{"isnan": math.isnan, "isinf": math.isinf, "isfinite": math.isfinite},
    **functions.TRUNCATED,
}
# Functions of operands that have the type of the result.
_CONVERTED: dict[str, Callable[..., Any]] = {
    **{"max": max, "min": min, "erf": math.erf, "erfc": math.erfc, "fma": _fma},
    "gamma": lambda a: _guarded(math.gamma, a, math.copysign(math.inf, a) if a == 0 else math.nan),
    "lgamma": lambda a: _guarded(math.lgamma, a, math.inf),
    "math remainder": lambda a, b: math.nan if b == 0 or math.isinf(a) else math.remainder(a, b),
}
_NUMPY = {own: name for name, own in functions.NUMPY.items()} | {"powr": "power", "math pow": "power"}


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


class Rules(Expressions):
    """The translator's rules for numbers, without a program. real: the kernel's floating-point type."""

    def __init__(self, real: Type) -> None:
        self.real = real
        self._types: dict[Any, Type] = {}  # of results, by function and operands
        self._stores: set[Any] = set()  # that are allowed

    # What the rules ask of a function that is compiled. The nodes of arguments hold the numbers themselves.

    def refuse(self, node: ast.AST, text: str, kind: Any = None) -> NoReturn:
        raise (kind or TypeError)(text)

    def need(self, part: str, number: Type) -> str:
        return part

    def temp(self, number: Number, copy: bool = False) -> Number:
        return number

    def fail_if(self, node: ast.AST, test: str) -> None:
        pass

    def many(self, nodes: Any) -> list[Value]:
        return [node.value for node in nodes]

    def _result(self, function: Any, *operands: tuple[Type, Any]) -> Number:
        """What the translator makes of the call."""
        nodes: list[Any] = [ast.Constant(_number(*key)) for key in operands]  # type: ignore[arg-type]
        node = ast.Call(ast.Name(getattr(function, "__name__", "")), nodes, [])
        found = calls.call_known(self, function, node)
        assert isinstance(found, Number)
        return found

    def _type(self, function: Any, *operands: tuple[Type, Any]) -> Type:
        key = (function, *operands)
        if key not in self._types:
            self._types[key] = self._result(function, *operands).type
        return self._types[key]

    def call(self, function: Any, *arguments: Any) -> Any:
        """A call of a function that calls.py knows, also of a dtype. Arguments are Typed, or constants.

        The result is Typed, or a constant if all arguments are constants.
        """
        name = functions.find(function) or "cast"
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
                return self.unwrapped(found)
        elif name in ("floor_divide", "remainder") and given[1].value == 0 and given[1].type.kind != "float":
            given[1] = given[1]._replace(constant=False)  # it may be that of a variable, and x // 0 is 0
        result = self._type(function, *[a.key for a in given])
        return Typed(self._evaluate(name, given, types.strong(result, self.real)), result, self)

    def unwrapped(self, number: Number) -> Any:
        """What a constant is in the interpreter."""
        weak = number.type.weak or number.type == BOOL
        return number.value if weak else Typed(number.value, number.type, self)

    def _evaluate(self, name: str, given: list[Operand], t: Type) -> Any:
        raw = [a.value for a in given]
        if name in functions.COMPARISONS:
            common = promote(given[0].type, given[1].type, self.real)
            if common is not None and common.kind in ("float", "complex"):  # others are exact
                raw = [convert(value, types.strong(common, self.real)) for value in raw]
            return FOLD[functions.COMPARISONS[name]](*raw)
        if name in _RAW:
            return convert(_RAW[name](*raw), t)
        if name in functions.ROUNDED and (t.whole or t == BOOL):
            return convert(raw[0], t)
        if t.whole and name == "pow":
            return types.wrap(pow(raw[0], raw[1], 1 << t.bits) if raw[1] >= 0 else 0, t)
        if name == "ldexp":
            return convert(math.ldexp(self._as(given[0], t), raw[1]), t)
        if name.endswith("_shift"):
            given[1] = Operand(t, False, raw[1] & (t.bits - 1))
        values = [self._as(a, t) for a in given]
        if name in _CONVERTED:
            return convert(_CONVERTED[name](*values), t)
        if name == "clip":
            return _numpy("minimum", t, _numpy("maximum", t, *values[:2]), values[2])
        return _numpy(_NUMPY.get(name, name), t, *values)

    def element(self, value: Any, dtype: str) -> Any:
        """The value as an element of that dtype, which is assigned, has it."""
        x = self._need(value)
        if (dtype, x.key) not in self._stores:
            self.stored(_number(*x.key), dtype, ast.Pass(), "x[i]")
            self._stores.add((dtype, x.key))
        return self._as(x, types.ELEMENTS[dtype])

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


def _method(function: Any, mirrored: bool = False) -> Callable[..., Any]:
    """A method of Typed that calls a function by the rules."""

    def call(self: Typed, *others: Any) -> Any:
        if any(operand(other) is None for other in others):
            return NotImplemented
        return self.rules.call(function, *((*others, self) if mirrored else (self, *others)))

    return call


for _name, _sign in {**functions.OPERATORS, **functions.COMPARISONS}.items():
    _special = FOLD[_sign].__name__.strip("_")
    setattr(Typed, f"__{_special}__", _method(getattr(usmpy, _name)))
    if _name in functions.OPERATORS:
        setattr(Typed, f"__r{_special}__", _method(getattr(usmpy, _name), mirrored=True))
for _name, _function in {"neg": usmpy.negative, "pos": usmpy.positive, "abs": abs, "round": round}.items():
    setattr(Typed, f"__{_name}__", _method(_function))
for _function in (math.floor, math.ceil, math.trunc):
    setattr(Typed, f"__{_function.__name__}__", _method(_function))
for _name in ("real", "imag"):
    setattr(Typed, _name, property(_method(getattr(usmpy, _name))))
for _name in ("conj", "conjugate"):
    setattr(Typed, _name, _method(usmpy.conj))
for _kind in (bool, int, float, complex, str, hash):
    setattr(Typed, f"__{_kind.__name__}__", lambda self, *, kind=_kind: kind(self.value))
