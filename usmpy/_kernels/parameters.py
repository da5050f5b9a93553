"""Declarations of parameters: the text ``"T x, raw float32 y"``."""

from __future__ import annotations

from .. import _core
from .call import with_article
from .types import C_TYPES

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Iterable

_WORDS_OF_C = """
    auto bool break case char complex complex64 complex128 const constant continue default do double else enum
    extern float for global goto half if imaginary inline int kernel local long private quad register restrict
    return short signed sizeof static struct switch typedef uchar uint ulong union unsigned ushort void
    volatile while
"""
_KEYWORDS = frozenset(_WORDS_OF_C.split())


class Parameter:
    """One parameter: a type, which is a dtype or a variable such as T, and a name."""

    __slots__ = ("constant", "dtype", "name", "raw", "variable")

    def __init__(
        self, name: str, variable: str, dtype: _core.DType | None, raw: bool, constant: bool
    ) -> None:
        self.name = name
        self.variable = variable  # "" where the type is a dtype
        self.dtype = dtype
        self.raw = raw
        self.constant = constant  # declared as const

    def __str__(self) -> str:
        return f"{'raw ' if self.raw else ''}{self.dtype or self.variable} {self.name}"


def is_identifier(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name not in _KEYWORDS


def is_variable(word: str) -> bool:
    return len(word) == 1 and word.isascii() and word.isalpha()


def named_dtype(word: str, what: str) -> _core.DType:
    """The dtype of that name. ValueError where there is none, or a kernel has no such type."""
    try:
        dtype = _core.DType(word)
    except TypeError:
        dtype = None
    if dtype is None or dtype.name not in C_TYPES:
        raise ValueError(
            f"{what}: {word!r:.60} is not a type of kernels; one letter, such as T, or one of "
            f"{', '.join(C_TYPES)} is allowed"
        )
    return dtype


def parse(text: str, what: str, reserved: Iterable[str]) -> tuple[Parameter, ...]:
    """The parameters of a declaration. ValueError that quotes the part that is wrong.

    what: the argument's name. reserved: names that the kernel gives a meaning.
    """
    if not isinstance(text, str):
        raise TypeError(f"{what} is {with_article(text)}; a str such as 'T x, float32 y' is allowed")
    if not text.strip():
        return ()
    found = []
    for part in text.split(","):
        *words, name = part.split() or [""]
        raw, constant = "raw" in words, "const" in words
        if words.count("raw") > 1 or words.count("const") > 1:
            raise ValueError(f"{what}: {part.strip()!r:.60} repeats a word; write 'raw T x'")
        words = [word for word in words if word not in ("raw", "const")]
        if len(words) != 1:
            raise ValueError(
                f"{what}: {part.strip()!r:.60} is not a type and a name; write 'T x' or 'float32 x'"
            )
        if not is_identifier(name):
            raise ValueError(
                f"{what}: {name!r:.60} is no name for a parameter; an identifier of C is allowed"
            )
        if words[0] in reserved:
            raise ValueError(
                f"{what}: {words[0]!r:.60} is reserved and no type; use another letter, such as T"
            )
        if name in reserved or name.startswith(("_", "usm_")):
            raise ValueError(
                f"{what}: the name {name!r:.60} is reserved; so are {', '.join(sorted(reserved))}, and names "
                "that begin with _ or usm_"
            )
        dtype = None if is_variable(words[0]) else named_dtype(words[0], what)
        found.append(Parameter(name, words[0] if dtype is None else "", dtype, raw, constant))
    return tuple(found)


def check_names(parameters: Iterable[Parameter]) -> None:
    """ValueError where two parameters have one name, or a parameter that of a type variable."""
    seen: set[str] = set()
    parameters = tuple(parameters)
    variables = {parameter.variable for parameter in parameters}
    for parameter in parameters:
        if parameter.name in seen:
            raise ValueError(f"two parameters are called {parameter.name!r:.60}; names must differ")
        if parameter.name in variables:
            raise ValueError(f"{parameter.name!r:.60} is a parameter and a type variable; names must differ")
        seen.add(parameter.name)
