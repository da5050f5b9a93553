"""The portable language for the host: preprocessed OpenCL C becomes GNU C that exports usmpy_kernels.

It finds functions among the tokens and changes little in them: qualifiers of OpenCL C are removed or
replaced, functions that use the index space get a hidden parameter, and calls pass it on. Line numbers
stay. A kernel becomes a function for one work-item. A loop over a box of the index space calls it, which the
compiler inlines and vectorises. The id is an int wherever the range allows, since an unsigned long that the
kernel converts to int does not vectorise.

Work-items are independent between barriers, and the loop promises that to the compiler. It does not if a
work-item has memory of its own (arrays, structs, variables whose address is taken), which all work-items
share once the function is inlined.

Kernels with barriers become loops between the barriers (portable_phases.py), or else run each work-item of a
group on a stack of its own (portable_fibers.py). Local variables are thread-local static variables: a thread
runs one group at a time.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import NamedTuple

from . import portable_builtins as builtins
from . import portable_complex
from . import portable_loops as loops
from .entry import Kernel, Parameter, c_string, table
from .parser import COMPLEX, TYPEDEF, TYPEOF
from .portable_words import check
from .tokens import KERNEL, NO_NAMES, Function, Refused, Source, join

__all__ = ["Refused", "for_messages", "translate"]


class Target(NamedTuple):
    """What the translation depends on: replacements of words, and functions that need the hidden
    parameter."""

    half: Callable[[str], str]  # a number in half precision, without its suffix
    local: str  # in front of a local variable
    placed: frozenset[str]
    kernel: str  # in front of a kernel, whose function is inline


HOST = Target(lambda number: f"((_Float16){number}f)", "static __thread", builtins.ITEM, "")

HALF = re.compile(r"(?:0[xX].*[pP].*|(?!0[xX]).*)[hH]\Z")
_LOCAL = {"local", "__local"}
_SPACES = {
    **dict.fromkeys(("global", "__global", "private", "__private", "__generic", *_LOCAL), ""),
    **dict.fromkeys(("constant", "__constant"), "const"),
}
_POINTS_TO = {"global", "__global", "constant", "__constant", *_LOCAL, "__generic"}
_QUALIFIERS = {"const", "volatile", "restrict", "__restrict", "__const", "register", *_SPACES}
_NO_NAMES = {*_QUALIFIERS, *NO_NAMES, *builtins.TYPES, "size_t", "bool"}
# Words of types whose variables may be no registers.
_IN_MEMORY = {"struct", "union", "__auto_type", *COMPLEX, *TYPEOF}
# Attributes of OpenCL C that are ignored.
_HINTS = re.compile(
    r"(?:__)?(?:reqd_work_group_size|work_group_size_hint|vec_type_hint|opencl_unroll_hint|nosvm|"
    r"intel_reqd_sub_group_size|xcl_\w+)(?:__)?\Z"
)


def parameter(source: Source, first: int, last: int) -> Parameter:
    words, i, points_to, pointer = [], first, None, False
    named, array = -1, False
    while i < last:
        text = source.text[i]
        if (behind := source.attribute(i)) != i:
            i = behind
            continue
        if text in _POINTS_TO:
            points_to = text
        pointer = pointer or text in ("*", "[")
        words.append((text, i))
        array = array or text == "["
        if source.tokens[i].kind == "name" and text not in _NO_NAMES and not array:
            named = len(words) - 1
        i += 1
    if named < 1:
        raise source.refuse(first, "a parameter of a kernel needs a name")
    name, at = words[named]
    before = [word for word, _ in words[:named]]
    after = [word for word, _ in words[named + 1 :]]
    if after[:1] == ["["]:  # an array is a pointer
        close = source.match[words[named + 1][1]]
        rest = [word for word, j in words[named + 1 :] if j > close]
        before, after = [*before, *(["(", "*"] if rest else ["*"])], [*([")"] if rest else []), *rest]
    if pointer and points_to is None:
        raise source.refuse(at, f"{name}: a pointer that a kernel is given is global, constant or local")
    shown = [w for w in before + after if w not in _SPACES and w not in ("restrict", "__restrict")]
    spaces = {"constant": "const", "__constant": "const"}
    if points_to in spaces and "const" not in shown:
        shown.insert(0, "const")
    declared = [_SPACES.get(word, word) for word in [*before, name, *after]]
    return Parameter(
        name=name,
        type=join(shown),
        declaration=" ".join(word for word in declared if word),
        local=pointer and points_to in _LOCAL,
    )


def number(source: Source, first: int, last: int) -> int:
    """The value of a constant expression of integers. Raises ValueError for any other."""
    from .conditions import Expression

    if any(token.kind == "name" for token in source.tokens[first:last]):
        raise ValueError
    return Expression(source.text[first:last]).read()


def required_size(source: Source, function: Function) -> tuple[int, int, int]:
    last = function.body if function.body >= 0 else function.end
    for i in range(function.start, last):
        if source.text[i].strip("_") == "reqd_work_group_size" and source.text[i + 1] == "(":
            pieces = source.split(i + 2, source.match[i + 1])
            try:
                x, y, z = (number(source, first, end) for first, end in pieces)
            except ValueError:
                raise source.refuse(i, "reqd_work_group_size takes three numbers") from None
            if min(x, y, z) < 1:
                raise source.refuse(i, "reqd_work_group_size takes three positive numbers")
            return x, y, z
    return 0, 0, 0


def has_own_memory(source: Source, function: Function) -> bool:
    """Whether a work-item may have memory here that is not a register; true in doubt."""
    tree = source.tree
    if tree is None or function.body not in tree.functions:
        return True
    parsed = tree.functions[function.body]
    nodes = tree.nodes[parsed.nodes]
    if any(n.kind == "literal" or (n.kind == "prefix" and source.text[n.at] == "&") for n in nodes):
        return True
    for one in tree.declarations[parsed.declarations]:
        is_array = one.parts[:1] == ("[",) and one.kind == "block"
        is_array = is_array or ("[" in one.parts and TYPEDEF in one.words)
        if (is_array and not one.is_local()) or not one.words.isdisjoint(_IN_MEMORY):
            return True
    return False


def closure(uses: dict[str, set[str]], wanted: frozenset[str] | set[str]) -> set[str]:
    """Functions that use one of the wanted names, directly or through other functions."""
    found = {name for name, names in uses.items() if names & wanted}
    while True:
        more = {name for name, names in uses.items() if names & found} - found
        if not more:
            return found
        found |= more


def rewrite_words(source: Source, functions: list[Function], target: Target) -> None:
    bodies = [(f.body, f.end) for f in functions if f.body >= 0]
    for i, token in enumerate(source.tokens):
        text = token.text
        if token.kind == "number" and HALF.match(text):
            try:
                source.replace(i, target.half(text[:-1]))
            except ValueError:
                raise source.refuse(i, f"{text} is no number") from None
        elif text in KERNEL:
            source.replace(i, target.kernel)
        elif text in _LOCAL and any(first < i < last for first, last in bodies):
            source.replace(i, target.local if is_local_variable(source, i) else "")
        elif text in _SPACES:
            beside = source.text[i - 1 : i] + source.text[i + 1 : i + 2]
            source.replace(i, "" if "const" in beside else _SPACES[text])
        elif (behind := source.attribute(i)) != i:
            names = [source.text[j] for j in range(i + 3, behind - 2) if source.tokens[j].kind == "name"]
            if any(_HINTS.match(name) for name in names):
                source.erase(i, behind - 1)


def is_local_variable(source: Source, i: int) -> bool:
    """Whether the variable is in local memory; else it points there."""
    if source.text[i - 1] == "*":  # float *local p
        return True
    stars, j = [False], i
    while source.text[j] not in (";", "=", ")", "}", ""):
        stars += [False] if source.text[j] == "," else []
        stars[-1] = stars[-1] or source.text[j] == "*"
        j = source.skip(j)
    if source.text[j] in ("}", ""):
        raise source.refuse(i, "local: the declaration has no ';' at its end")
    is_declaration = source.text[j] != ")"  # and no cast or parameter
    if is_declaration and len(set(stars)) > 1:
        raise source.refuse(i, "local: declare pointers to local memory apart from variables in it")
    return is_declaration and not stars[0]


def rewrite_functions(source: Source, functions: list[Function], placed: set[str]) -> None:
    for function in functions:
        words = source.text[function.start : function.named]
        if "typedef" in words:
            continue
        for j in range(function.start, function.named):
            if source.text[j] == "extern":
                source.replace(j, "")
        source.prefix(function.start, ("" if "static" in words else "static ") +
                      ("" if "inline" in words or "__inline" in words else "inline "))  # fmt: skip
        if function.name in placed:
            empty = function.closed == function.opened + 1
            if source.text[function.opened + 1 : function.closed] == ["void"]:
                source.replace(function.opened + 1, "")
                empty = True
            source.suffix(function.opened, "const struct usm_item usm_item" + ("" if empty else ", "))
    for function in functions:
        for i in range(function.body, function.end) if function.body >= 0 else ():
            if (
                source.text[i] in placed
                and source.text[i + 1] == "("
                and source.text[i - 1] not in (".", "->")
            ):
                empty = source.match[i + 1] == i + 2
                source.suffix(i + 1, "usm_item" if empty else "usm_item, ")


def rewrite_shifts(source: Source) -> None:
    """The count of a shift is taken modulo the width of the left operand, as OpenCL C has it."""
    if (tree := source.tree) is None:
        return
    written: list[tuple[int, int]] = []  # the sign, and how many shifts are in one another
    for node in tree.nodes:
        sign = source.text[node.at]
        if node.kind not in ("binary", "assign") or sign not in ("<<", ">>", "<<=", ">>="):
            continue
        left, right = node.inner
        with contextlib.suppress(ValueError):
            if 0 <= number(source, right.first, right.last) < 32:
                continue
        # The form of constants has the left operand twice, and would make long chains long.
        at, depth = next(((at, depth) for at, depth in reversed(written) if at < left.last), (-1, 0))
        depth = depth + 1 if at >= left.first else 1
        once = "_ONCE" if depth > 3 and node.kind == "binary" else ""
        source.prefix(left.first, f"USM_SHIFT{once}((")
        source.replace(node.at, f"), {sign}, (")
        source.suffix(right.last - 1, "))")
        written.append((node.at, depth))


def rewrite_directives(source: Source) -> None:
    for i, token in enumerate(source.all):
        if token.kind != "directive":
            continue
        if re.match(r"\s*#\s*pragma\s+OPENCL\b", token.text):
            source.out[i] = ""
        elif unroll := re.match(r"\s*#\s*pragma\s+unroll\b[\s(]*([0-9]{0,9})", token.text):
            source.out[i] = f"#pragma GCC unroll {min(int(unroll[1]), 65534)}" if unroll[1] else ""


def program(source: Source, target: Target = HOST) -> tuple[str, list[tuple[Kernel, Function]], set[str]]:
    """The user's part in C, its kernels, and the names of functions with barriers."""
    check(source)
    functions = source.functions()
    defined = [function for function in functions if function.body >= 0]
    uses: dict[str, set[str]] = {}
    for function in defined:
        uses.setdefault(function.name, set()).update(source.text[function.body : function.end])
    names = {function.name for function in functions if function.kernel}
    placed = names | closure(uses, target.placed | names)
    grouped = closure(uses, builtins.GROUPS)
    waiting = closure(uses, builtins.BARRIERS)
    with_memory = {f.name for f in defined if has_own_memory(source, f)}
    with_memory |= closure(uses, with_memory)
    kernels: list[tuple[Kernel, Function]] = []
    for function in defined:
        if not function.kernel:
            continue
        before = source.text[function.start : function.named]
        if "void" not in before or before[-1] == "*":
            raise source.refuse(function.named, f"{function.name}: a kernel returns void")
        if function.name in {kernel.name for kernel, _ in kernels}:
            raise source.refuse(function.named, f"{function.name}: defined twice")
        pieces = source.split(function.opened + 1, function.closed)
        if [source.text[first:last] for first, last in pieces] == [["void"]]:
            pieces = []
        parameters = [parameter(source, first, last) for first, last in pieces]
        inside = source.text[function.body : function.end]
        has_local = any(p.local for p in parameters) or not _LOCAL.isdisjoint(inside)
        required = required_size(source, function)
        kernel = Kernel(
            function.name,
            parameters,
            required,
            has_local or function.name in grouped or required != (0, 0, 0),
            function.name in waiting,
            function.name not in with_memory,
        )
        kernels.append((kernel, function))
    rewrite_words(source, functions, target)
    rewrite_functions(source, functions, placed)
    rewrite_shifts(source)
    rewrite_directives(source)
    return "".join(source.out), kernels, waiting


def prelude(source: Source) -> str:
    """The built-in functions that the program uses."""
    names = {token.text for token in source.tokens if token.kind == "name"}
    own = {function.name for function in source.functions()}
    parts = [portable_complex.head(source), builtins.CORE]
    if any(name.startswith(("atom", "memory_")) for name in names):
        parts.append(builtins.ATOMICS)
    if names & builtins.ITEM:
        parts.append(builtins.PICK)
    if names & builtins.BARRIERS:
        from . import portable_fibers

        parts.append(portable_fibers.TEXT)
    used = [builtins.BUILTINS[name] + "\n" for name in sorted(names - own) if name in builtins.BUILTINS]
    return "".join([*parts, builtins.vector_prototypes("".join(used), own), *used])


def runner(source: Source, kernel: Kernel, function: Function, waiting: set[str]) -> str:
    if not kernel.barriers:
        return loops.runner(kernel)
    from . import portable_phases

    return portable_phases.runner(source, function, kernel, waiting)


def translate(text: str, name: str) -> str:
    """C for a preprocessed program whose line markers name the user's file."""
    source = Source(text)
    body, kernels, waiting = program(source)
    tail = table((kernel, runner(source, kernel, function, waiting)) for kernel, function in kernels)
    ours = '# 1 "<usmpy>" 3\n'
    return f"{ours}{prelude(source)}{loops.PARTS['promise']}# 1 {c_string(name)}\n{body}\n{ours}{tail}"


def for_messages(text: str) -> str:
    """Definitions with which a C compiler checks the user's own text, for its messages."""
    words = "".join(f"#define {word} {c}\n" for word, c in _SPACES.items())
    kernels = "".join(f"#define {word}\n" for word in sorted(KERNEL))
    place = "static struct usm_item usm_item;\n"
    return f'# 1 "<usmpy>" 3\n{prelude(Source(text))}{words}{kernels}{place}'
