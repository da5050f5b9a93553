"""Hints for programs without a kernel, or with a misspelled word `kernel`."""

from __future__ import annotations

import re

from ..errors import BuildError

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_OPENCL = ("portable", "opencl")
_FORMS = {
    "c": "a function 'void name(size_t begin, size_t end, ...)' that is not static",
    "cuda": "a function '__global__ void name(...)', or an instance of a template of one",
}


def _misspelled(source: str, language: str) -> str:
    """A hint about a word before void that looks like kernel; '' if there is none."""
    if language not in _OPENCL:
        return ""
    from difflib import get_close_matches

    for word in re.findall(r"\b(\w+)\s+void\b", source):
        if word not in ("kernel", "__kernel") and get_close_matches(word, ["kernel", "__kernel"], 1, 0.7):
            return f"write 'kernel' instead of '{word}'"
    return ""


def no_kernel(source: str, language: str, backend: str) -> BuildError:
    """The error for a program that builds but has no kernel."""
    text = _COMMENT.sub(" ", source)
    hint = _misspelled(text, language)
    if not hint and language in _OPENCL:
        found = re.search(r"\bvoid\s+([^\W\d]\w*)\s*\(", text)
        hint = f"write 'kernel void {found[1] if found else 'name'}(...)'"
    hint = hint or f"a kernel is {_FORMS[language]}"
    return BuildError(f"the program has no kernel: {hint}", backend=backend, log="")


def explain(error: BuildError, source: str, language: str) -> None:
    """Adds a hint after the first line of the message if the source has a misspelled word."""
    if hint := _misspelled(_COMMENT.sub(" ", source), language):
        first, newline, rest = str(error).partition("\n")
        error.args = (f"{first}\n(hint: {hint}){newline}{rest}",)
