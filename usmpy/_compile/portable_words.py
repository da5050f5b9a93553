"""Words of OpenCL C that the portable language does not have.

They are refused on every backend in the same words, also where a driver would take them.
"""

from __future__ import annotations

import contextlib
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container

    from .tokens import Source

_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long)|float|double|half|quad|bool)(?:2|3|4|8|16)(?:x(?:2|3|4|8|16))?\Z"
)
_CUDA = re.compile(r"__(?:global|device|shared|host|launch_bounds)__\Z|__syncthreads\Z")
_WORDS = [
    (_CUDA, "CUDA"),
    (re.compile(r"_Complex\Z|__complex(?:__)?\Z|_Imaginary\Z"), "complex"),
    (_VECTOR, "vector types"),
    (re.compile(r"(?:as|convert)_\w*?[a-z](?:2|3|4|8|16)(?:_\w+)?\Z"), "vector types"),
    (re.compile(r"vec_step\Z"), "vector types"),
    (re.compile(r"image[123]d\w*_t\Z|sampler_t\Z"), "images"),
    (re.compile(r"(?:__)?(?:read_only|write_only|read_write)\Z|CLK_(?:ADDRESS|FILTER|NORMALIZED)_\w+\Z"),
     "images"),
    (re.compile(r"(?:__)?pipe\Z|reserve_id_t\Z"), "pipes"),
    (re.compile(r"(?:clk_event_t|queue_t|ndrange_t)\Z"), "kernels that launch others"),
    (re.compile(r"event_t\Z"), "asynchronous copies"),
]  # fmt: skip
# Functions of OpenCL C: elsewhere these are names, of variables and members and of the program's functions.
_FUNCTIONS = [
    (re.compile(r"v(?:load|store)a?(?:2|3|4|8|16|_half(?:2|3|4|8|16)\w*|a_half\w*)\Z|shuffle2?\Z|cross\Z"),
     "vector types"),
    (re.compile(r"(?:read|write)_image\w+\Z|get_image_\w+\Z"), "images"),
    (re.compile(r"(?:read|write)_pipe\Z|\w*reserve_(?:read|write)_pipe\Z"), "pipes"),
    (re.compile(r"(?:enqueue_kernel|get_default_queue)\Z"), "kernels that launch others"),
    (re.compile(r"(?:async_work_group_\w+|wait_group_events)\Z"), "asynchronous copies"),
    (re.compile(r"(?:work_group_(?!barrier\Z)\w+|(?:intel_)?sub_group_\w+|get_\w*sub_group\w*)\Z"),
     "functions of whole work-groups or sub-groups"),
    (re.compile(r"convert_(?:float|double|half)_(?:sat|rtz|rtp|rtn)\w*\Z"),
     "conversions to floating point but to the nearest"),
    (re.compile(r"(?:to_global|to_local|to_private|get_fence)\Z"), "generic address space"),
]  # fmt: skip


# Calls of functions of C, for drivers: their compilers refuse other functions that nobody declares.
C_FUNCTION = re.compile(
    r"\b(?:(?!(?:if|sizeof|typeof|__typeof__|erf|modf|printf)\b)\w*f|(?:str|wcs|mem(?!_fence))\w+|f?puts|[fs]n?printf|"
    r"f?putc(?:har)?|f?getc(?:har)?|f?gets|s?rand|[mc]alloc|realloc|free|exit|abort|assert|ato[fil]|l?labs|time|"
    r"clock|qsort|bsearch|is[a-z]{5}|to(?:upper|lower)|f(?:open|close|read|write|flush))\s*\("
)


def no_bool(type: str) -> str:
    """The message for as_char and as_uchar of a bool, of which Intel's compiler ends the process."""
    return f"as_{type}: the argument is a bool; write ({type})(x)"


def _why(what: str) -> str:
    cuda = 'a word of CUDA C++, which CUDA devices take with language="cuda"; a portable kernel is '
    if what == "complex":
        return "a complex type of C; write complex64 or complex128"
    taken = 'OpenCL and Level Zero devices take them with language="opencl"'
    return (
        cuda + "'kernel void name(...)'"
        if what == "CUDA"
        else f"the portable language has no {what}; {taken}"
    )


def undefined(word: str, built_in: Container[str]) -> str:
    """The message for a call of a function that is neither built in nor defined by the program."""
    for pattern, what in _FUNCTIONS:
        if pattern.match(word):
            return f"{word}: {_why(what)}"
    names = [word.removeprefix("__builtin_"), word.removeprefix("__builtin_")[:-1]]
    hint = next((f"; write {name}" for name in names if name in built_in and name != word), "")
    return f"{word}: not a built-in function of the portable language, and not defined by the program{hint}"


def check(source: Source) -> None:
    """Raises Refused for the first word or function that the portable language does not have."""
    from .parser import parse
    from .portable_refusals import Refusals

    behind = 0  # the last attribute
    for i, token in enumerate(source.tokens):
        behind = max(behind, source.attribute(i))
        if i < behind or token.kind != "name" or (i and source.text[i - 1] in (".", "->")):
            continue
        around = source.text[i - 1 : i] + source.text[i + 1 : i + 2]
        is_type = token.text == "complex" and not {"float", "double"}.isdisjoint(around)
        is_type = is_type and (around[-1] in ("*", "float", "double") or source.tokens[i + 1].kind == "name")
        for pattern, what in [*_WORDS, (re.compile("complex"), "complex")] if is_type else _WORDS:
            if pattern.match(token.text):
                raise source.refuse(i, f"{token.text}: {_why(what)}")
    source.tree = source.tree or parse(source)
    if source.tree is not None:
        with contextlib.suppress(RecursionError):  # of a type that is no pointer, most likely
            found = [one for one in Refusals(source, source.tree).all() if not source.tokens[one[0]].system]
            if found:
                raise source.refuse(*min(found))
