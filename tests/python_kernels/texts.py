"""Kernels made of texts, and their programs for types of arguments, without a launch."""

from __future__ import annotations

import ast
import itertools
import linecache
from types import FunctionType
from typing import Any

from usmpy._python_kernels import types
from usmpy._python_kernels.program import Program
from usmpy._python_kernels.source import Origin

_COUNT = itertools.count()


def function_of(text: str, called: str = "", /, **names: Any) -> FunctionType:
    """The function of that name, or the last one that the text defines. Its source is a cell's."""
    filename = f"<cell {next(_COUNT)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    found: dict[str, Any] = dict(names)
    exec(compile(text, filename, "exec"), found)
    tree = ast.parse(text)
    return found[called or [node.name for node in tree.body if isinstance(node, ast.FunctionDef)][-1]]


def kind_of(given: str) -> tuple[Any, ...]:
    """An argument's class: `float32[2]` is an array, `float32` a number, `int` a Python int."""
    if given == "None":
        return ("none",)
    name, _, rest = given.partition("[")
    if rest:
        return ("array", name, int(rest[0]), not rest.endswith("strided"))
    return ("number", types.BY_NAME[name] if name in types.BY_NAME else types.Type(name, 0))


def program_of(function: FunctionType, *given: str, real: types.Type | None = None, check=False) -> Program:
    """The kernel's program for arguments of these classes."""
    kinds = [kind_of(one) for one in given]
    reals = [types.real_of(types.ELEMENTS[k[1]]) for k in kinds if k[0] == "array"]
    widest = max((t for t in reals if t.kind == "float"), default=types.FLOAT64)
    return Program(function, Origin(function), kinds, real or widest, check)
