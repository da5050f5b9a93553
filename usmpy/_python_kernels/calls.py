"""Calls in Python kernels: which function is called, its arguments, and calls of Python functions."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ..errors import BuildError
from . import functions, number_functions, types, work_item_functions
from .scope import MISSING, dtype_of, entry, get, wrap
from .values import Object, Value, describe

if TYPE_CHECKING:
    from .expressions import Expressions


def is_pure(function: Any) -> bool:
    """Whether the function is one of usmpy.kernel_api that neither changes memory nor waits."""
    handler = entry(work_item_functions.HANDLERS, function)
    return handler is not None and handler in work_item_functions.PURE


def call(body: Expressions, node: ast.Call) -> Value:
    function, at = body.raw(node.func), node.func
    if function is MISSING:
        if isinstance(at, ast.Attribute) and at.attr in ("conjugate", "conj"):
            return number_functions.apply(body, "conj", [body.number(at.value)], node, "conj")
        if isinstance(at, ast.Name) and at.id not in body.origin.sites:
            body.refuse(at, f"{at.id}: no such name")
        value = body.value(at) if isinstance(at, ast.Attribute) else None
        if not isinstance(value, Object):  # x.dtype is one
            body.refuse(at, f"{ast.unparse(at)} is no function of this kernel")
        function = value.value
    found = call_known(body, function, node)
    return _call_python(body, function, node) if found is None else found


def call_known(body: Expressions, function: Any, node: ast.Call) -> Value | None:
    """The value of a call; None: the function is none of this package's tables, and no dtype."""
    if (handler := entry(work_item_functions.HANDLERS, function)) is not None:
        return handler(body, function, node)
    if (name := functions.find(function)) is not None:
        return number_functions.call(body, name, node)
    if (name := dtype_of(function)) is not None and not isinstance(function, str):
        (number,) = number_functions.numbers(body, node, name, 1)
        return body.explicit(number, types.ELEMENTS[name], node)
    return None


def _call_python(body: Expressions, function: Any, node: ast.Call) -> Value:
    """A call of a Python function or of another kernel, which is compiled for these arguments."""
    shown = ast.unparse(node.func)
    if isinstance(function, MethodType):
        body.refuse(node.func, f"{shown} is a method, which has an object: use @staticmethod")
    from .library import FUNCTIONS

    own = entry(FUNCTIONS, function)
    wrapped = get(function, "__wrapped__")  # a kernel, or what a decorator made
    function = own or (function if wrapped is MISSING else wrapped)
    package = str(get(function, "__module__")).partition(".")[0]
    if not isinstance(function, FunctionType) or (package in ("numpy", "usmpy") and own is None):
        allowed = "kernels call Python functions, and those that docs/python-kernels.md names"
        body.refuse(node.func, f"{shown}: {allowed}")
    values = body.many([*node.args, *[keyword.value for keyword in node.keywords]])
    taken = _bound(body, function, values, node)
    try:
        return body.program.call(body, function, taken, node)
    except BuildError:
        if own is None:
            raise
        body.refuse(node, f"{shown} of {' and '.join(map(describe, values))}: not for these types")


def _bound(body: Expressions, function: FunctionType, given: list[Value], node: ast.Call) -> dict[str, Value]:
    """The arguments by name, with defaults."""
    body.program.origin(function)  # refuses *args
    signature = inspect.signature(function)
    n = len(node.args)
    by_name = {keyword.arg or "": value for keyword, value in zip(node.keywords, given[n:], strict=True)}
    try:
        bound = signature.bind(*given[:n], **by_name)
    except TypeError as error:
        body.refuse(node, f"{function.__name__}{signature}: {error}")
    missing = [name for name in signature.parameters if name not in bound.arguments]
    bound.apply_defaults()
    for name in missing:
        default = wrap(bound.arguments[name])
        if isinstance(default, str):
            body.refuse(node, f"the default of {name}: {default}")
        bound.arguments[name] = default
    return bound.arguments
