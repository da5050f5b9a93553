"""Functions of usmpy.kernel_api in Python kernels: ids, barriers, memory of the kernel's own, and atomics."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import kernel_api
from . import types
from .c_text import bare
from .scope import dtype_of
from .values import Array, Number, Object, Tuple, Value, describe, known, size

if TYPE_CHECKING:
    from .expressions import Expressions

_BITS = {"get_local_id": 32, "get_local_size": 32, "get_local_linear_id": 32, "get_work_dim": 2}
_ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
_MOST_PRIVATE = 1 << 20  # elements


def _arguments(body: Expressions, function: Any, node: ast.Call) -> list[Any]:
    """The arguments in the order of the function's parameters; None for a default."""
    parameters = inspect.signature(function).parameters
    shown = f"{ast.unparse(node.func)}({', '.join(parameters)})"
    if len(node.args) > len(parameters):
        body.refuse(node, f"{shown} was given {len(node.args)} arguments")
    found: dict[Any, ast.expr] = dict(zip(parameters, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in parameters or keyword.arg in found:
            body.refuse(keyword.value, f"{shown} takes no {keyword.arg}=, or got it twice")
        found[keyword.arg] = keyword.value
    if any(p.default is p.empty and name not in found for name, p in parameters.items()):
        body.refuse(node, f"{shown}: an argument is missing")
    return [found.get(name) for name in parameters]


def _constant_int(body: Expressions, node: ast.expr, what: str) -> int:
    value = body.value(node)
    if not isinstance(value, Number) or not isinstance(value.value, int):
        allowed = "a number, or a name outside of the kernel that is one"
        body.refuse(node, f"{what} is a constant integer: {allowed}")
    return int(value.value)


def _id(body: Expressions, function: Any, node: ast.Call) -> Value:
    name = function.__name__
    (at,) = _arguments(body, function, node)
    number = body.number(at)
    if not number.type.whole:
        body.refuse(at, f"{name} of {describe(number)}: a dimension is an integer")
    if number.constant and not 0 <= number.value <= 2:
        body.refuse(at, f"{name}({number.value}): dimensions are 0, 1 and 2")
    text = str(number.value) if number.constant else f"(uint){number.text}"
    return size(f"(long){name}({text})", _BITS.get(name, 56))


def _linear_id(body: Expressions, function: Any, node: ast.Call) -> Value:
    _arguments(body, function, node)
    return size(f"(long){function.__name__}()", _BITS.get(function.__name__, 56))


def _fence(body: Expressions, function: Any, node: ast.Call) -> Value:
    (at,) = _arguments(body, function, node)
    flags = 3 if at is None else _constant_int(body, at, "flags")
    if flags not in (1, 2, 3):
        body.refuse(at or node, f"flags is {flags}: LOCAL_MEM_FENCE, GLOBAL_MEM_FENCE, or both with |")
    names = [f"CLK_{space}_MEM_FENCE" for bit, space in ((1, "LOCAL"), (2, "GLOBAL")) if flags & bit]
    body.wait(function is kernel_api.barrier, f"{function.__name__}({' | '.join(names)});", node)
    return Object(None)


def _array(body: Expressions, function: Any, node: ast.Call) -> Value:
    """local_array, private_array."""
    shape, dtype = _arguments(body, function, node)
    if isinstance(shape, ast.Tuple):
        extents = [_constant_int(body, item, "the shape") for item in shape.elts]
    else:
        value = body.value(shape)
        numbers = value.items if isinstance(value, Tuple) else [value]
        extents = [int(n.value) for n in numbers if isinstance(n, Number) and isinstance(n.value, int)]
        if len(extents) < len(numbers):
            body.refuse(shape, "the shape is a constant integer, or a tuple of them")
    if not extents or min(extents) < 1 or math.prod(extents) > _MOST_PRIVATE:
        body.refuse(shape, f"the shape is {tuple(extents)}: 1 to {_MOST_PRIVATE} elements are allowed")
    value = body.text_or_value(dtype)
    element = dtype_of(value.value) if isinstance(value, Object) else None
    if element is None:
        allowed = "is one that numbers in kernels have, such as usmpy.float32"
        body.refuse(dtype, f"the dtype of {function.__name__} {allowed}")
    return body.declare_array(function is kernel_api.local_array, element, extents)


def _atomic(body: Expressions, function: Any, node: ast.Call) -> Value:
    name = function.__name__
    what, whole = name.removeprefix("atomic_"), name in ("atomic_and", "atomic_or", "atomic_xor")
    compares = what == "compare_exchange"
    array_at, index_at, *numbers_at, order_at = _arguments(body, function, node)
    order = "relaxed"
    if order_at is not None:
        value = body.text_or_value(order_at)
        order = value.value if isinstance(value, Object) else ""
        if order not in _ORDERS:
            body.refuse(order_at, f"order is one of {', '.join(map(repr, _ORDERS))}")
    given = body.many(numbers_at)
    array = body.value(array_at)
    if not isinstance(array, Array):
        body.refuse(array_at, f"{name} of {describe(array)}: an array is allowed")
    t = types.ELEMENTS[array.element]
    allowed = t.whole or (t.kind == "float" and not whole)
    if array.element not in types.BY_NAME or t.bits < 32 or not allowed:
        shown = "int32, uint32, int64 and uint64" + ", float32 and float64" * (not whole)
        body.refuse(array_at, f"{name} of elements of {array.element}: {shown} are allowed")
    if array.space == "private":
        body.refuse(array_at, f"{name} of a private array, which no other work-item sees: write x[i] = ...")
    place = f"&{array.pointer}[{body.place(array, index_at, node)}]"
    pairs = zip(map(body.as_number, given, numbers_at), numbers_at, strict=True)
    texts = [body.stored(number, array.element, at, "x[i]") for number, at in pairs]
    if t.whole and order == "relaxed":  # those of OpenCL 1 are single instructions everywhere
        name = {"exchange": "xchg", "compare_exchange": "cmpxchg"}.get(what, what)
        return body.kept(known(t, f"atomic_{name}({place}, {', '.join(texts)})"))
    memory = f"memory_order_{order}"
    scope = f"memory_scope_{'work_group' if array.space == 'local' else 'device'}"
    if not compares:
        operation = "exchange" if what == "exchange" else f"fetch_{what}"
        return body.kept(known(t, f"atomic_{operation}_explicit({place}, {texts[0]}, {memory}, {scope})"))
    old = body.fresh("v")
    body.emit(f"{body.c_type(t)} {old} = {bare(texts[0])};")
    on_failure = {"release": "relaxed", "acq_rel": "acquire"}.get(order, order)
    orders = f"{memory}, memory_order_{on_failure}, {scope}"
    body.guarded(f"atomic_compare_exchange_strong_explicit({place}, &{old}, {texts[1]}, {orders});")
    return known(t, old)


_IDS = ["global_id", "global_size", "global_offset", "local_id", "local_size", "group_id", "num_groups"]
_LINEAR = ["get_global_linear_id", "get_local_linear_id", "get_work_dim"]
HANDLERS: dict[Any, Callable[..., Value]] = {
    **{getattr(kernel_api, f"get_{name}"): _id for name in _IDS},
    **{getattr(kernel_api, name): _linear_id for name in _LINEAR},
    **dict.fromkeys((kernel_api.barrier, kernel_api.mem_fence), _fence),
    **dict.fromkeys((kernel_api.local_array, kernel_api.private_array), _array),
    **{getattr(kernel_api, name): _atomic for name in kernel_api.__all__ if name.startswith("atomic_")},
}
# The others change memory, or wait: such calls keep their place among other operands.
PURE = (_id, _linear_id, _array)
