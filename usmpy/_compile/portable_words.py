"""Words of OpenCL C that the portable language does not have.

They are refused on every backend in the same words, also where a driver would take them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tokens import Source

_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long)|float|double|half|quad|bool)(?:2|3|4|8|16)(?:x(?:2|3|4|8|16))?\Z"
)
_CUDA = re.compile(r"__(?:global|device|shared|host|launch_bounds)__\Z|__syncthreads\Z")
_WORDS = [
    (_CUDA, "CUDA"),
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


# A declared name follows a type, a star or a comma; an operand follows one of these.
_BEFORE_TEXT = """
bool char uchar short ushort int uint long ulong float double half size_t ptrdiff_t intptr_t uintptr_t
void unsigned signed * + - / % & | ^ ! ~ = < > ? : == != <= >= << >> && || += -= *= /= ++ -- return
"""
_BEFORE_A_NAME = frozenset(_BEFORE_TEXT.split())
_BEFORE_A_CALL = ("return", "else", "do", "case", "__extension__")
_AFTER_A_NAME = frozenset(["=", ";", "++", "--", "+=", "-=", "*=", "/=", "+", "-", "/", "%", "?", ":", "."])


# Calls of functions of C, for drivers: their compilers refuse other functions that nobody declares.
C_FUNCTION = re.compile(
    r"\b(?:(?!(?:if|sizeof|typeof|__typeof__|erf|modf|printf)\b)\w*f|(?:str|wcs|mem(?!_fence))\w+|f?puts|[fs]n?printf|"
    r"f?putc(?:har)?|f?getc(?:har)?|f?gets|s?rand|[mc]alloc|realloc|free|exit|abort|assert|ato[fil]|l?labs|time|"
    r"clock|qsort|bsearch|is[a-z]{5}|to(?:upper|lower)|f(?:open|close|read|write|flush))\s*\("
)
_BLOCK = re.compile(r"\{[^{}]*\}")


def any_in(text: str) -> bool:
    """Whether a text may have something that check() refuses; also in comments and strings."""
    words = set(re.findall(r"[^\W\d]\w*", text))
    if "half" in words or any(pattern.match(word) for word in words for pattern, _ in _WORDS + _FUNCTIONS):
        return True
    if C_FUNCTION.search(text):
        return True
    while (outside := _BLOCK.sub(" ", text)) != text:
        text = outside
    return re.search(r"\)\s*;", text) is not None  # a function is declared, and perhaps not defined


def no_bool(type: str) -> str:
    """The message for as_char and as_uchar of a bool, of which Intel's compiler ends the process."""
    return f"as_{type}: the argument is a bool; write ({type})(x)"


def _is_a_name(source: Source, i: int) -> bool:
    """Whether `half` at token i names a variable, a parameter or a function, and is not the type."""
    before, behind = source.text[i - 1] if i else "", source.text[i + 1]
    return (before in _BEFORE_A_NAME and behind != "*") or behind in _AFTER_A_NAME


def _why(what: str) -> str:
    if what == "CUDA":
        return (
            'a word of CUDA C++, which CUDA devices take with language="cuda"; a portable kernel is '
            "'kernel void name(...)'"
        )
    return (
        f'the portable language has no {what}; OpenCL and Level Zero devices take them with language="opencl"'
    )


# Words that a parenthesis may follow, besides NO_NAMES and types.
_KEYWORDS = ["restrict", "global", "local", "constant", "private", "bool", "_Alignof", "_Generic", "_Pragma"]
_KEYWORDS += ["_Atomic", "_Noreturn", "alignas", "static_assert"]


def check(source: Source) -> None:
    """Raises Refused for the first word or function that the portable language does not have."""
    from .portable_builtins import BUILTINS
    from .tokens import NO_NAMES

    functions = source.functions()
    declared = {function.named for function in functions}
    known = {*BUILTINS, *NO_NAMES, *_BEFORE_A_NAME, *_KEYWORDS}
    known |= {function.name for function in functions if function.body >= 0}
    i = 0
    while i < len(source.text):
        token, at = source.tokens[i], i
        i = max(i + 1, source.attribute(i))
        word, before = token.text, source.tokens[at - 1] if at else source.tokens[-1]
        if word == "typedef":
            end = i
            while source.text[end : end + 1] not in ([";"], []):
                end = source.skip(end)
            known.update(source.text[i:end])
        if token.kind != "name" or before.text in (".", "->"):
            continue
        if word == "half" and _is_a_name(source, at):
            raise source.refuse(
                at, "half: a type of OpenCL C, which cannot be the name of a variable; give it another name"
            )
        is_call = source.text[i : i + 1] == ["("] and word not in known and at not in declared
        is_call = is_call and (before.kind != "name" or before.text in _BEFORE_A_CALL)
        for pattern, what in _WORDS + _FUNCTIONS if is_call else _WORDS:
            if pattern.match(word):
                raise source.refuse(at, f"{word}: {_why(what)}")
        if is_call and not word.startswith("__") and not token.system:
            plain = word[:-1] if word[-1] in "fl" else ""
            raise source.refuse(
                at,
                f"{word}: not a built-in function of the portable language, and not defined by the program"
                + (f"; write {plain}" if plain in BUILTINS else ""),
            )
