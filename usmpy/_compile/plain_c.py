"""Kernels in C for the host: void NAME(size_t begin, size_t end, <parameters>), called for parts of a range.

A range of more dimensions is numbered through, dimension 0 first.
"""

from __future__ import annotations

from .entry import Kernel, Parameter, table
from .portable_loops import fill
from .tokens import NO_NAMES, Function, Refused, Source, join

_SIZES = {"size_t", "unsigned long", "unsigned long int", "long unsigned int", "uint64_t", "uintptr_t"}
_DROPPED = {"const", "register", "volatile"}


class Unreadable(Exception):
    """Brackets do not match; the compiler will report it."""


def tail(text: str) -> str:
    """The text after a program, from its preprocessed text."""
    try:
        source = Source(text)
    except Refused as error:
        raise Unreadable from error
    kernels = []
    for function in source.functions():
        words = source.text[function.start : function.named]
        if function.body < 0 or source.tokens[function.named].system or {"static", "inline"} & set(words):
            continue
        if "void" in words and "*" not in words:
            kernel = Kernel(function.name, parameters(source, function))
            kernels.append((kernel, runner(kernel.name, kernel.parameters)))
    return '\n# 1 "<usmpy>" 3\n' + table(kernels)


def parameters(source: Source, function: Function) -> list[Parameter]:
    pieces = source.split(function.opened + 1, function.closed)
    sizes = [
        join([w for w in source.text[first : last - 1] if w not in _DROPPED]) for first, last in pieces[:2]
    ]
    if len(sizes) < 2 or not set(sizes) <= _SIZES:
        raise source.refuse(
            function.named,
            f"{function.name}: a kernel's parameters begin with size_t begin, size_t end; "
            "functions that are none are static",
        )
    return [parameter(source, first, last) for first, last in pieces[2:]]


def parameter(source: Source, first: int, last: int) -> Parameter:
    words = source.text[first:last]
    end = words.index("[") if "[" in words else len(words)
    inner = [i for i in range(2, end) if words[i - 2] == "(" and words[i - 1] == "*"]  # float (*x)[4]
    names = [i for i in range(1, end) if source.tokens[first + i].kind == "name"]
    names = inner or [i for i in names if words[i] not in NO_NAMES]
    if not names:
        raise source.refuse(first, "a parameter of a kernel needs a name")
    at = names[-1]
    before, after = words[:at], words[at + 1 :]
    if after[:1] == ["["]:  # an array is a pointer
        rest = words[source.match[first + at + 1] - first + 1 :]
        before, after = [*before, *(["(", "*"] if rest else ["*"])], [*([")"] if rest else []), *rest]
    shown = [word for word in before + after if word not in ("restrict", "__restrict", "__restrict__")]
    return Parameter(words[at], join(shown), " ".join([*before, words[at], *after]))


def runner(name: str, given: list[Parameter]) -> str:
    values = "".join(
        f", ((const struct usm_arg_{name}_{i} *)usm_a[{i}])->{p.name}" for i, p in enumerate(given)
    )
    return fill("plain", name=name, values=values)
