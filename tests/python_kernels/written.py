"""Functions of texts, whose source Python finds as it finds that of a notebook's cell."""

from __future__ import annotations

import itertools
import linecache
import textwrap
from types import FunctionType

import usmpy
from usmpy import kernel_api

_number = itertools.count()


def functions(text: str, **names: object) -> dict[str, FunctionType]:
    """The functions that a text defines; it sees usmpy, the names of kernel_api, and `names`."""
    text = textwrap.dedent(text)
    filename = f"<text {next(_number)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    known = {name: getattr(kernel_api, name) for name in dir(kernel_api) if not name.startswith("_")}
    scope: dict[str, object] = {"usmpy": usmpy, **known, **names}
    exec(compile(text, filename, "exec"), scope)
    return {
        name: f
        for name, f in scope.items()
        if isinstance(f, FunctionType) and f.__module__ != "usmpy.kernel_api"
    }
