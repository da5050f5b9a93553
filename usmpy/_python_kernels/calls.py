"""Calls in Python kernels: built-in functions, casts, and those of usmpy.kernel_api."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

from .. import _core, kernel_api
from . import functions, types
from .scope import MISSING, get
from .types import BOOL, INT64, WEAK_FLOAT, WEAK_INT
from .values import Array, Number, Object, Tuple, Value, constant, describe, known, size

if TYPE_CHECKING:
    from .body import Body

_IDS = {
    kernel_api.get_global_id: 56,
    kernel_api.get_global_size: 56,
    kernel_api.get_global_offset: 56,
    kernel_api.get_local_id: 32,
    kernel_api.get_local_size: 32,
    kernel_api.get_group_id: 56,
    kernel_api.get_num_groups: 56,
}
_LINEAR = {
    kernel_api.get_global_linear_id: 56,
    kernel_api.get_local_linear_id: 32,
    kernel_api.get_work_dim: 2,
}
_FENCES = {kernel_api.barrier: "barrier", kernel_api.mem_fence: "mem_fence"}
_ATOMICS = {
    kernel_api.atomic_add: "add",
    kernel_api.atomic_sub: "sub",
    kernel_api.atomic_min: "min",
    kernel_api.atomic_max: "max",
    kernel_api.atomic_and: "and",
    kernel_api.atomic_or: "or",
    kernel_api.atomic_xor: "xor",
    kernel_api.atomic_exchange: "exchange",
    kernel_api.atomic_compare_exchange: "compare_exchange",
}
_ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
_MEMORY = (kernel_api.local_array, kernel_api.private_array)
# What changes memory, or waits: such calls keep their place among other operands.
EFFECTS = frozenset([*_FENCES, *_ATOMICS])
API = frozenset([*_IDS, *_LINEAR, *_FENCES, *_ATOMICS, *_MEMORY])
_MOST_PRIVATE = 1 << 20  # elements


def dtype_of(value: Any) -> str | None:
    """The name of a dtype that a kernel has, for a dtype of usmpy or NumPy, or its name; else None."""
    name = value if isinstance(value, str) else get(value, "name")
    name = get(value, "__name__") if name is MISSING else name
    if isinstance(value, str) or type(value).__module__ == "numpy" or get(value, "__module__") == "numpy":
        name = {"bool_": "bool"}.get(str(name), name)
    elif not isinstance(value, _core.DType):
        return None
    return name if isinstance(name, str) and name in types.ELEMENTS else None


def call(body: Body, function: Any, node: ast.Call) -> Value | None:
    """The value of a call; None: the function is not one of these."""
    try:
        own = function in API
    except Exception:
        own = False
    if own:
        return _api(body, function, node)
    found = functions.find(function)
    if found is not None:
        return _number(body, *found, node)
    if (name := dtype_of(function)) is not None and not isinstance(function, str):
        (number,) = _numbers(body, node, name, 1)
        return body.arith.explicit(number, types.ELEMENTS[name], node)
    return None


def _positional(body: Body, node: ast.Call, names: tuple[str, ...], least: int) -> list[ast.expr | None]:
    """The arguments in order; None where one is missing."""
    shown = f"{ast.unparse(node.func)}({', '.join(names)})"
    if len(node.args) > len(names):
        body.refuse(node, f"{shown} was given {len(node.args)} arguments")
    found: list[ast.expr | None] = [*node.args, *[None] * (len(names) - len(node.args))]
    for keyword in node.keywords:
        if keyword.arg not in names or found[names.index(keyword.arg)] is not None:
            body.refuse(keyword.value, f"{shown} takes no {keyword.arg}=, or got it twice")
        found[names.index(keyword.arg)] = keyword.value
    if any(value is None for value in found[:least]):
        body.refuse(node, f"{shown}: an argument is missing")
    return found


def _numbers(body: Body, node: ast.Call, name: str, least: int, most: int = 0) -> list[Number]:
    if node.keywords:
        body.refuse(node.keywords[0].value, f"{name} takes no arguments by name")
    if not least <= len(node.args) <= (most or least):
        wanted = (
            f"{least}" if most in (0, least) else f"{least} to {most}" if most < 99 else f"{least} or more"
        )
        body.refuse(
            node, f"{name} takes {wanted} argument{'s' * (wanted != '1')}, {len(node.args)} were given"
        )
    return [body.as_number(value, at) for value, at in zip(body.many(node.args), node.args, strict=True)]


def _number(body: Body, kind: str, name: str, node: ast.Call) -> Value:
    if kind == "builtin":
        return _builtin(body, name, node)
    if kind == "math integer":
        return _math_integer(body, name, node)
    arith = body.arith
    if name in functions.OPERATORS and kind == "array":
        a, b = _numbers(body, node, name, 2)
        return arith.binary(functions.OPERATORS[name], a, b, node)
    if name in functions.COMPARISONS:
        a, b = _numbers(body, node, name, 2)
        return arith.compare(functions.COMPARISONS[name], a, b, node)
    if name in functions.TESTS:
        (a,) = _numbers(body, node, name, 1)
        if a.type.kind == "complex":
            body.refuse(node, f"{name} of {describe(a)}: test .real and .imag")
        if a.type.kind != "float":
            return (
                constant(name == "isfinite")
                if name != "signbit"
                else arith.compare("<", a, constant(0), node)
            )
        a = arith.strong(a, node)
        return Number(BOOL, f"({functions.TESTS[name]}({a.text}) != 0)", None, 1, True)
    if name in functions.ROUNDED and kind == "array":
        (a,) = _numbers(body, node, name, 1)
        return a if a.type.whole or a.type == BOOL else apply(body, functions.ROUNDED[name], [a], node)
    if name == "ldexp":
        a, b = _numbers(body, node, name, 2)
        t = arith.strong(a, node).type if a.type.kind == "float" else arith.real
        if not b.type.whole or a.type.kind == "complex":
            body.refuse(
                node, f"ldexp of {describe(a)} and {describe(b)}: a real number and an integer are allowed"
            )
        return Number(t, f"ldexp({arith.cast(a, t, node).text}, (int){arith.strong(b, node).text})")
    if name == "log" and len(node.args) == 2:
        a, b = _numbers(body, node, name, 2)
        a, b = (apply(body, "log", [n], node, "log") for n in (a, b))
        return arith.binary("/", a, b, node)
    if name == "hypot" and len(node.args) > 2:
        result, *more = _numbers(body, node, name, 3, 99)
        for a in more:
            result = apply(body, "hypot", [result, a], node)
        return result
    if name in functions.REAL or name in functions.COMPLEX:
        (a,) = _numbers(body, node, name, 1)
        return apply(body, functions.REAL.get(name, "conj"), [a], node, name)
    if name in functions.REAL_PAIRS:
        return apply(body, functions.REAL_PAIRS[name], _numbers(body, node, name, 2), node)
    if name in functions.REAL_TRIPLES:
        return apply(body, functions.REAL_TRIPLES[name], _numbers(body, node, name, 3), node)
    return _elementwise(body, name, node)


def apply(body: Body, c: str, given: list[Number], node: ast.AST, name: str = "") -> Number:
    """A function of reals: numbers are promoted, integers become the kernel's floating-point type."""
    arith = body.arith
    if len(given) == 1 and given[0].type.kind == "complex":
        (a,) = given
        if name not in functions.COMPLEX:
            body.refuse(node, f"{name or c} of {describe(a)}: not for complex numbers")
        result, a, c = (
            arith.result(arith.strong(a, node).type, a),
            arith.strong(a, node),
            functions.COMPLEX[name],
        )
        c = arith.need(c[1:], a.type) if c[0] == "@" else c
        return Number(result, f"{c}({a.text})")
    if name == "conj":
        return given[0]
    t = given[0].type
    for a in given[1:]:
        t = arith.common(Number(t, ""), a, node, "and")
    if all(a.constant and a.type.weak for a in given) and hasattr(math, name or c) and t.kind != "complex":
        try:
            return constant(float(getattr(math, name or c)(*[a.value for a in given])))
        except (ArithmeticError, ValueError):
            pass  # as in a kernel: inf or nan
    if t.kind == "complex":
        body.refuse(node, f"{name or c} of {t}: not for complex numbers")
    t = arith.real if t.kind != "float" or t.weak else t
    c = arith.need(c[1:], t) if c[0] == "@" else c
    text = f"{c}({', '.join(arith.cast(a, t, node).text for a in given)})"
    return Number(arith.result(t, *given), text)


def _truncated(body: Body, number: Number, node: ast.AST, c: str) -> Number:
    """math.floor and the like, int, round: int64."""
    if number.type.kind == "complex":
        body.refuse(node, f"{describe(number)} becomes no integer: take .real or .imag")
    body.arith.finite(number, node)
    if number.constant and number.type.weak:
        convert = int if not c else round if c == "rint" else getattr(math, c)
        return constant(convert(number.value))
    if number.type == WEAK_INT:
        return number
    if number.type.kind != "float":
        return body.arith.cast(number, INT64, node)
    text = body.arith.strong(number, node).text
    return known(INT64, f"((long){c}({text}))" if c else f"((long){text})")


def _math_integer(body: Body, name: str, node: ast.Call) -> Value:
    if name == "gcd":
        a, b = _numbers(body, node, name, 2)
        t = body.arith.common(a, b, node, "and")
        if not t.whole:
            body.refuse(node, f"gcd of {a.type} and {b.type}: gcd takes integers")
        a, b = body.arith.cast(a, t, node), body.arith.cast(b, t, node)
        return known(t, f"{body.arith.need('gcd', t)}({a.text}, {b.text})")
    if name == "pow":
        return apply(body, "pow", _numbers(body, node, name, 2), node)
    (a,) = _numbers(body, node, name, 1)
    return _truncated(body, a, node, name)


def _choose(body: Body, name: str, given: list[Number], node: ast.AST) -> Number:
    """max, min, maximum, minimum of two or more numbers."""
    arith, result = body.arith, given[0]
    for b in given:
        if b.type.kind == "complex":
            body.refuse(node, f"{name} of {describe(b)}: complex numbers have no order")
    for b in given[1:]:
        if result.constant and b.constant and result.type.weak and b.type.weak:
            result = constant(max(result.value, b.value) if name[1] == "a" else min(result.value, b.value))
            continue
        t = arith.common(result, b, node, "and") if result.type != b.type else arith.strong(result, node).type
        kind, a, b = arith.result(t, result, b), arith.cast(result, t, node), arith.cast(b, t, node)
        part = name[:3] if t.kind != "float" else name
        result = Number(
            kind,
            f"{arith.need(part, t)}({a.text}, {b.text})",
            None,
            max(a.bits, b.bits),
            (a.positive or b.positive) if name[1] == "a" else a.positive and b.positive,
        )
    return result


def _absolute(body: Body, a: Number, node: ast.AST) -> Number:
    arith = body.arith
    if a.constant and a.type.weak:
        return constant(abs(a.value))
    if a.type.kind == "bool":
        return arith.cast(a, types.INT32, node)
    weak, a = a.type.weak and a.type != WEAK_INT, arith.strong(a, node)
    if a.type.kind == "uint" or a.positive:
        return a
    if a.type.kind == "int":
        return known(a.type, f"{arith.need('abs', a.type)}({a.text})")
    if a.type.kind == "complex":
        return Number(WEAK_FLOAT if weak else types.real_of(a.type), f"abs({a.text})")
    return Number(WEAK_FLOAT if weak else a.type, f"fabs({a.text})")


def _builtin(body: Body, name: str, node: ast.Call) -> Value:
    arith = body.arith
    if name == "print":
        return body.print(node)
    if name == "range":
        body.refuse(node, "range: only in for i in range(...)")
    if name == "len":
        if len(node.args) != 1 or node.keywords:
            body.refuse(node, "len takes one array or tuple")
        value = body.value(node.args[0])
        if isinstance(value, Tuple):
            return constant(len(value.items))
        if not isinstance(value, Array) or value.ndim == 0:
            body.refuse(node, f"len of {describe(value)}: len takes an array or a tuple")
        return value.extent(0)
    if name in ("max", "min"):
        if len(node.args) == 1 and isinstance(items := body.value(node.args[0]), Tuple) and items.items:
            return _choose(body, name, [body.as_number(item, node) for item in items.items], node)
        return _choose(body, name, _numbers(body, node, name, 2, 99), node)
    if name in ("sum", "prod"):
        return _folded(body, name, node)
    if name == "divmod":
        a, b = (body.temp(n) for n in _numbers(body, node, name, 2))
        return Tuple([arith.binary("//", a, b, node), arith.binary("%", a, b, node)])
    if name == "pow":
        a, b = _numbers(body, node, name, 2)
        return arith.binary("**", a, b, node)
    if name == "complex":
        parts = _numbers(body, node, name, 1, 2)
        if len(parts) == 1 and parts[0].type.kind == "complex":
            return parts[0]
        t = arith.common(parts[0], parts[-1], node, "and")
        t = arith.real if t.kind != "float" else t
        texts = [arith.cast(part, t, node).text for part in parts] + ["0"] * (2 - len(parts))
        return Number(types.complex_of(t), f"{types.complex_of(t).name}({', '.join(texts)})")
    if name == "round":
        if len(node.args) == 2:
            body.refuse(node.args[1], "round takes one number: write round(x * 100) / 100")
        (a,) = _numbers(body, node, name, 1)
        return _truncated(body, a, node, "rint")
    (a,) = _numbers(body, node, name, 1)
    if name == "abs":
        return _absolute(body, a, node)
    if name == "bool":
        return arith.truth(a, node)
    if name == "int":
        return _truncated(body, a, node, "")
    if a.type.kind == "complex":
        body.refuse(node, f"{describe(a)} becomes no float: take .real or .imag")
    if a.constant and a.type.weak:
        a = arith.cast(a, arith.real, node)  # an integer that does not fit is an OverflowError
        return constant(float(a.value))
    return arith.explicit(a, arith.real, node)


def _folded(body: Body, name: str, node: ast.Call) -> Number:
    """The sum or the product of a tuple."""
    value = body.value(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if not isinstance(value, Tuple):
        body.refuse(node, f"{name} takes one tuple; of an array, write a loop")
    result = constant(0 if name == "sum" else 1)
    for item in value.items:
        result = body.arith.binary("+" if name == "sum" else "*", result, body.as_number(item, node), node)
    return result


def _elementwise(body: Body, name: str, node: ast.Call) -> Value:
    """usmpy's functions of elements that are neither operators nor functions of reals."""
    arith = body.arith
    if name in ("maximum", "minimum"):
        return _choose(body, name, _numbers(body, node, name, 2), node)
    if name == "clip":
        a, low, high = _numbers(body, node, name, 3)
        return _choose(body, "minimum", [_choose(body, "maximum", [a, low], node), high], node)
    if name == "where":
        c, a, b = _numbers(body, node, name, 3)
        return body.choose(arith.truth(c, node), a, b, node)
    if name in ("logical_and", "logical_or", "logical_xor"):
        a, b = (arith.truth(n, node) for n in _numbers(body, node, name, 2))
        sign = {"logical_and": "&&", "logical_or": "||", "logical_xor": "!="}[name]
        texts = [str(int(n.value)) if n.constant else n.text for n in (a, b)]
        return Number(BOOL, f"({texts[0]} {sign} {texts[1]})", None, 1, True)
    (a,) = _numbers(body, node, name, 1)
    if name == "abs":
        return _absolute(body, a, node)
    if name == "logical_not":
        return body.negated(arith.truth(a, node))
    if name in ("positive", "negative", "bitwise_invert"):
        if name == "bitwise_invert" and a.type == BOOL:
            return body.negated(a)
        return arith.unary({"positive": "+", "negative": "-", "bitwise_invert": "~"}[name], a, node)
    if name == "square":
        return arith.binary("**", a, constant(2), node)
    if name == "reciprocal":
        return arith.binary("/", constant(1), a, node)
    if name in ("real", "imag"):
        return body.part(a, name, node)
    assert name == "sign", name
    a = arith.strong(a, node)
    if a.type.kind in ("complex", "bool"):
        body.refuse(node, f"sign of {describe(a)}: sign takes integers and reals")
    part = "sign_uint" if a.type.kind == "uint" else "sign"
    return known(a.type, f"{arith.need(part, a.type)}({a.text})")


def _constant_int(body: Body, node: ast.expr, what: str) -> int:
    value = body.value(node)
    if not isinstance(value, Number) or not value.constant or not isinstance(value.value, int):
        body.refuse(
            node, f"{what} is a constant integer: a number, or a name outside of the kernel that is one"
        )
    return int(value.value)


def _api(body: Body, function: Any, node: ast.Call) -> Value:
    name = function.__name__
    if function in _IDS:
        (at,) = _positional(body, node, ("dimension",), 1)
        assert at is not None
        number = body.as_number(body.value(at), at)
        if not number.type.whole:
            body.refuse(at, f"{name} of {describe(number)}: a dimension is an integer")
        if number.constant and not 0 <= number.value <= 2:
            body.refuse(at, f"{name}({number.value}): dimensions are 0, 1 and 2")
        text = str(number.value) if number.constant else f"(uint){number.text}"
        return size(f"(long){name}({text})", _IDS[function])
    if function in _LINEAR:
        _positional(body, node, (), 0)
        return size(f"(long){name}()", _LINEAR[function])
    if function in _FENCES:
        (at,) = _positional(body, node, ("flags",), 0)
        flags = 3 if at is None else _constant_int(body, at, "flags")
        if flags not in (1, 2, 3):
            body.refuse(at or node, f"flags is {flags}: LOCAL_MEM_FENCE, GLOBAL_MEM_FENCE, or both with |")
        names = [f"CLK_{space}_MEM_FENCE" for bit, space in ((1, "LOCAL"), (2, "GLOBAL")) if flags & bit]
        body.wait(function is kernel_api.barrier, f"{_FENCES[function]}({' | '.join(names)});", node)
        return Object(None)
    if function in _MEMORY:
        return _memory(body, function is kernel_api.local_array, name, node)
    return _atomic(body, name, _ATOMICS[function], node)


def _memory(body: Body, local: bool, name: str, node: ast.Call) -> Array:
    shape, dtype = _positional(body, node, ("shape", "dtype"), 2)
    assert shape is not None
    assert dtype is not None
    items = body.elements(shape)
    extents = [_constant_int(body, item, "the shape") for item in items] if items else None
    if extents is None:
        value = body.value(shape)
        numbers = value.items if isinstance(value, Tuple) else [value]
        if not all(isinstance(n, Number) and n.constant and isinstance(n.value, int) for n in numbers):
            body.refuse(shape, "the shape is a constant integer, or a tuple of them")
        extents = [int(n.value) for n in numbers if isinstance(n, Number)]
    if not extents or min(extents) < 1 or math.prod(extents) > _MOST_PRIVATE:
        body.refuse(shape, f"the shape is {tuple(extents)}: 1 to {_MOST_PRIVATE} elements are allowed")
    value = body.text_or_value(dtype)
    element = dtype_of(value.value) if isinstance(value, Object) else None
    if element is None:
        body.refuse(dtype, f"the dtype of {name} is one that numbers in kernels have, such as usmpy.float32")
    return body.declare_array(local, element, extents)


def _atomic(body: Body, name: str, what: str, node: ast.Call) -> Number:
    exchange = what == "compare_exchange"
    names = ("x", "index", *(("expected",) if exchange else ()), "value", "order")
    array_at, index_at, *rest = _positional(body, node, names, len(names) - 1)
    *numbers_at, order_at = rest
    order = "relaxed"
    if order_at is not None:
        value = body.text_or_value(order_at)
        order = value.value if isinstance(value, Object) else ""
        if order not in _ORDERS:
            body.refuse(order_at, f"order is one of {', '.join(map(repr, _ORDERS))}")
    assert array_at is not None
    assert index_at is not None
    given = body.many([n for n in numbers_at if n is not None])
    array = body.value(array_at)
    if not isinstance(array, Array):
        body.refuse(array_at, f"{name} of {describe(array)}: an array is allowed")
    t = types.ELEMENTS[array.element]
    allowed = ("int", "uint") if what in ("and", "or", "xor") else ("int", "uint", "float")
    if array.element not in types.BY_NAME or t.bits < 32 or t.kind not in allowed:
        shown = "int32, uint32, int64 and uint64" + ", float32 and float64" * ("float" in allowed)
        body.refuse(array_at, f"{name} of elements of {array.element}: {shown} are allowed")
    if array.space == "private":
        body.refuse(array_at, f"{name} of a private array, which no other work-item sees: write x[i] = ...")
    place = body.place(array, index_at, node)
    texts = []
    for value, at in zip(given, numbers_at, strict=True):
        assert at is not None
        texts.append(body.arith.stored(body.as_number(value, at), array.element, at, "x[i]"))
    memory = f"memory_order_{order}, memory_scope_{'work_group' if array.space == 'local' else 'device'}"
    if t.whole and order == "relaxed":  # those of OpenCL 1 are single instructions everywhere
        name = {"exchange": "xchg", "compare_exchange": "cmpxchg"}.get(what, what)
        return body.kept(known(t, f"atomic_{name}(&{place}, {', '.join(texts)})"))
    if not exchange:
        operation = "exchange" if what == "exchange" else f"fetch_{what}"
        text = f"atomic_{operation}_explicit(&{place}, {texts[0]}, {memory})"
        return body.kept(known(t, text))
    old = body.variable_of(t, texts[0])
    fail = {"release": "relaxed", "acq_rel": "acquire"}.get(order, order)
    scope = memory.replace(",", f", memory_order_{fail},")
    body.guarded(f"atomic_compare_exchange_strong_explicit(&{place}, &{old}, {texts[1]}, {scope});")
    return known(t, old)
