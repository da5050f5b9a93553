"""Kernels with barriers as loops: the code between two barriers runs for all work-items of a group, in a loop
that vectorises, before the code after the second barrier.

Either all work-items of a group take a loop or branch with a barrier in it, or none does. So its
condition is computed for all of them, and the value of the last one is used. A variable that lives across
a barrier becomes an array with an element for each work-item. A work-item that returned is skipped from
then on. Whatever is not simple (jumps, names that hide others, barriers in helpers) is left to
portable_fibers.py, which runs any kernel.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from . import portable_fibers as fibers
from . import portable_loops as loops
from .entry import Kernel
from .portable_builtins import BARRIERS, TYPES
from .tokens import Function, Source

_OPAQUE = {"goto", "struct", "union", "enum", "typedef", "typeof", "__typeof__", "static", "extern", "asm"}
_OPAQUE |= {"__asm__", "__attribute__", "alloca"}
_NO_DECLARATION = {"return", "else", "do", "case", "goto", "sizeof", "if", "for", "while", "switch", "break"}
_ASSIGNS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
_LOCAL = {"local", "__local"}
_SPACES = {"global", "__global", "private", "__private", "__generic", *_LOCAL}
_DEEPEST = 60  # of statements in statements


class _Unsuitable(Exception):
    """The kernel needs fibers."""


class _Variable(NamedTuple):
    name: str
    type: str  # "typedef int {}[3]" with the place of its name
    first: int  # the declarator's tokens
    value: int  # where its value begins; 0: it has none
    last: int


class _Node(NamedTuple):
    kind: str  # run, barrier, block, if, for, while, do
    first: int
    last: int
    inner: tuple[_Node, ...] = ()
    parts: tuple[tuple[int, int], ...] = ()  # of a head: expressions


class _Phases:
    def __init__(self, source: Source, function: Function, kernel: Kernel) -> None:
        from .portable import struct_names

        self.source, self.function, self.kernel = source, function, kernel
        self.text = source.text
        self.scopes: dict[str, list[tuple[int, int]]] = {}
        self.where: dict[str, list[int]] = {}  # the places of each word
        # Variables that live across barriers: scope and number.
        self.kept: dict[str, list[tuple[int, int, int]]] = {}
        self.types: list[str] = []
        self.hoisted = ""  # local variables
        self.local: set[str] = set()  # their names
        self.arrays = struct_names(source)  # types that may be arrays
        self.closed: list[_Node] = []  # without barriers
        self.phase = 0
        self.depth = 0
        # The first kept variable tells whether a work-item has returned.
        self.returns = "return" in source.text[function.body : function.end]
        if self.returns:
            self.types.append("typedef uchar usm_type0")

    # Statements.

    def ends_with(self, i: int, sign: str) -> int:
        while self.text[i] != sign:
            i = self.source.skip(i)
        return i

    def statement(self, i: int) -> _Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _Unsuitable
        node = self.whole_statement(i)
        self.depth -= 1
        return node

    def whole_statement(self, i: int) -> _Node:
        word, start = self.text[i], i
        if word == "{":
            end = self.source.match[i]
            return self.simple(_Node("block", start, end + 1, tuple(self.statements(i + 1, end))))
        if word in BARRIERS:
            end = self.source.skip(i + 1)
            if self.text[end] != ";":
                raise _Unsuitable
            return _Node("barrier", start, end + 1)
        if word == "if":
            close = self.source.match[i + 1]
            inner = [self.statement(close + 1)]
            if self.text[inner[0].last] == "else":
                inner.append(self.statement(inner[0].last + 1))
            return self.simple(_Node("if", start, inner[-1].last, tuple(inner), ((i + 2, close),)))
        if word in ("while", "switch"):
            close = self.source.match[i + 1]
            inner = [self.statement(close + 1)]
            return self.simple(_Node(word, start, inner[0].last, tuple(inner), ((i + 2, close),)))
        if word == "for":
            close = self.source.match[i + 1]
            one = self.ends_with(i + 2, ";")
            two = self.ends_with(one + 1, ";")
            inner = [self.statement(close + 1)]
            parts = ((i + 2, one), (one + 1, two), (two + 1, close))
            return self.simple(_Node("for", start, inner[0].last, tuple(inner), parts))
        if word == "do":
            inner = [self.statement(i + 1)]
            opened = inner[0].last + 1
            close = self.source.match[opened]
            return self.simple(_Node("do", start, close + 2, tuple(inner), ((opened + 1, close),)))
        return _Node("run", start, self.ends_with(i, ";") + 1)

    def simple(self, node: _Node) -> _Node:
        """The statement as it is; as one run if no barrier is in it."""
        words = self.text[node.first : node.last]
        if not BARRIERS & set(words):
            self.closed.append(node)
            return _Node("run", node.first, node.last)
        if node.kind == "switch" or any(BARRIERS & set(self.text[first:last]) for first, last in node.parts):
            raise _Unsuitable
        if node.kind in ("for", "while", "do"):
            for i in range(node.first, node.last):
                ends = {"break": ("for", "while", "do", "switch"), "continue": ("for", "while", "do")}
                kinds = ends.get(self.text[i])
                if kinds and not any(n.kind in kinds and n.first <= i < n.last for n in self.closed):
                    raise _Unsuitable
        return node

    def statements(self, i: int, end: int) -> list[_Node]:
        nodes = []
        while i < end:
            nodes.append(self.statement(i))
            i = nodes[-1].last
        return nodes

    # Variables.

    def declarators(self, first: int, last: int) -> list[_Variable]:
        """The variables of a declaration, without the semicolon; none for another statement."""
        text, tokens = self.text, self.source.tokens
        if tokens[first].kind != "name" or text[first] in _NO_DECLARATION or first + 1 >= last:
            return []
        pointer = text[first + 4 : first + 6] in ([")", "["], [")", "="])  # row (*name) = x;
        if text[first + 1] == "(" and (pointer or text[first] in TYPES):
            raise _Unsuitable
        if tokens[first + 1].kind != "name" and text[first + 1] != "*":
            return []
        i = first
        while i < last and tokens[i].kind == "name":
            i += 1
        # The last of these words is the first name, unless a star follows.
        specifiers = text[first : i if i < last and text[i] == "*" else i - 1]
        start = first + len(specifiers)
        found = []
        for begin, end in self.source.split(start, last):
            value = next((j for j in range(begin, end) if text[j] == "="), 0)
            stop = value or end
            at = begin
            while at < stop and (text[at] == "*" or text[at] in ("const", "restrict", "volatile")):
                at += 1
            if at >= stop or tokens[at].kind != "name" or (at + 1 < stop and text[at + 1] != "["):
                raise _Unsuitable
            if "".join(text[at + 1 : at + 3]) == "[]":
                raise _Unsuitable
            stars = text[begin:at]
            words = ["const" if word in ("constant", "__constant") else word for word in specifiers]
            words = [word for word in words if word not in _SPACES and word != "register"]
            if "*" not in stars:
                words = [word for word in words if word != "const"]
            while stars and stars[-1] != "*":  # the pointer's own const
                stars.pop()
            shape = self.copy(at + 1, stop)
            found.append(
                _Variable(
                    text[at], f"typedef {' '.join(words)} {' '.join(stars)} {{}}{shape}", begin, value, end
                )
            )
        return found

    def check_names(self) -> None:
        """Records the scope of each name. No name may hide another one, and no parameter may change."""
        text, start, end = self.text, self.function.body, self.function.end
        for i in range(start, end):
            self.where.setdefault(text[i], []).append(i)
        for p in self.kernel.parameters:
            self.scopes.setdefault(p.name, []).append((start, end))
        blocks = [start]
        for i in range(start, end):
            if text[i] == "{" and i > start:
                blocks.append(i)
            elif text[i] == "}":
                blocks.pop()
            loop = text[i] == "(" and text[i - 1] == "for"
            if not loop and text[i] not in (";", "{", "}"):
                continue
            last = i + 1
            while last < end and text[last] not in (";", "{", "}"):
                last = self.source.skip(last)
            if last == i + 1 or last >= end:
                continue
            for variable in self.declarators(i + 1, last):
                scope = (i, self.statement(i - 1).last if loop else self.source.match[blocks[-1]])
                others = self.scopes.setdefault(variable.name, [])
                if any(scope[0] < high and low < scope[1] for low, high in others):
                    raise _Unsuitable
                others.append(scope)
        if any(self.changes(i) for p in self.kernel.parameters for i in self.where.get(p.name, ())):
            raise _Unsuitable

    def changes(self, i: int) -> bool:
        """Whether the variable named here may get another value; true in doubt."""
        text = self.text
        if text[i + 1] in _ASSIGNS or text[i - 1] in ("++", "--"):
            return True
        unary = self.source.tokens[i - 2].kind == "sign" and text[i - 2] not in (")", "]")
        return text[i - 1] == "&" and unary and text[i + 1] != "["

    def regions(self, nodes: Sequence[_Node]) -> list[list[_Node]]:
        """Adjacent runs together, other nodes alone."""
        found: list[list[_Node]] = []
        for node in nodes:
            if node.kind == "run" and found and found[-1][0].kind == "run":
                found[-1].append(node)
            else:
                found.append([node])
        return found

    def keep(self, variables: list[_Variable], first: int, last: int) -> None:
        """Keeps variables for each work-item that are used outside of [first, last)."""
        for variable in variables:
            low, high = next(
                scope for scope in self.scopes[variable.name] if scope[0] <= variable.first < scope[1]
            )
            at = self.where[variable.name]
            at = at[bisect_left(at, low) : bisect_left(at, high)]
            if any(self.is_variable(i) and (not first <= i < last or self.escapes(variable, i)) for i in at):
                self.check_shape(variable.first, variable.value or variable.last, {variable.name})
                self.kept.setdefault(variable.name, []).append((low, high, len(self.types)))
                self.types.append(variable.type.format(f"usm_type{len(self.types)}"))

    def escapes(self, variable: _Variable, i: int) -> bool:
        """Whether a pointer to the variable named here is made, which may live longer than a phase."""
        before, j, dimensions = self.text[i - 2], i + 1, variable.type.count("[")
        if self.text[i - 1] == "&" and not (self.source.tokens[i - 2].kind != "sign" or before in (")", "]")):
            return True
        while self.text[j] == "[":
            j, dimensions = self.source.skip(j), dimensions - 1
        declared = variable.first <= i < (variable.value or variable.last)
        return (
            dimensions > 0 or (self.text[i + 1] != "[" and variable.type.split()[1] in self.arrays)
        ) and not declared

    def check_shape(self, first: int, last: int, known: set[str]) -> None:
        """A type that stands outside of the loops, [first, last), names no other variable."""
        if any(word in self.scopes and word not in known for word in self.text[first:last]):
            raise _Unsuitable

    def place(self, i: int) -> int | None:
        """The number of the kept variable that is named here; None for any other."""
        for low, high, number in self.kept.get(self.text[i], ()):
            if low <= i < high and self.is_variable(i):
                return number
        return None

    def is_variable(self, i: int) -> bool:
        return self.text[i - 1] not in (".", "->") and self.text[i + 1] != "("

    def find(self, nodes: Sequence[_Node]) -> None:
        for group in self.regions(nodes):
            for node in group:
                if node.kind == "run":
                    words = self.text[node.first : node.last]
                    if _LOCAL & set(words) and "static __thread" in self.copy(node.first, node.last):
                        self.local |= {v.name for v in self.declarators(node.first, node.last - 1)}
                        self.check_shape(node.first, node.last, self.local)
                        self.hoisted += self.copy(node.first, node.last) + "\n"
                    else:
                        self.keep(self.declarators(node.first, node.last - 1), group[0].first, group[-1].last)
                elif node.kind == "for":
                    self.keep(self.declarators(*node.parts[0]), 0, 0)
                self.find(node.inner)

    # The text that is written.

    def copy(self, first: int, last: int) -> str:
        """The text, with names of kept variables replaced by their array elements."""
        if first >= last:
            return ""
        pieces, source = [], self.source
        at = first
        for i in range(source.index[first], source.index[last - 1] + 1):
            piece = source.out[i]
            if i == source.index[at]:
                number = self.place(at)
                if number is not None:
                    piece = f"usm_kept{number}[usm_li]"
                elif self.text[at] == "return":
                    if self.text[at + 1] != ";":
                        raise _Unsuitable
                    piece = f"do {{ usm_kept0[usm_li] = 1; goto usm_end{self.phase}; }} while (0)"
                at = min(at + 1, last - 1)
            pieces.append(piece)
        return "".join(pieces)

    def declaration(self, first: int, last: int, variables: list[_Variable]) -> str:
        text = ""
        specifiers = self.copy(first, variables[0].first)
        for variable in variables:
            at = next(i for i in range(variable.first, variable.last) if self.text[i] == variable.name)
            number = self.place(at)
            if number is None:
                text += f"{specifiers} {self.copy(variable.first, variable.last)};\n"
            elif variable.value:
                value = self.copy(variable.value + 1, variable.last)
                if value.lstrip().startswith("{") or variable.type.endswith("]"):
                    value = value if value.lstrip().startswith("{") else f"{{{value}}}"  # a string
                    text += (
                        f"__builtin_memcpy(&usm_kept{number}[usm_li], &(usm_type{number}){value}, "
                        f"sizeof(usm_type{number}));\n"
                    )
                else:
                    text += f"usm_kept{number}[usm_li] = {value};\n"
        return text

    def run(self, nodes: list[tuple[int, int]]) -> str:
        """Statements, for all work-items."""
        text = ""
        for first, last in nodes:
            words = self.text[first:last]
            if _LOCAL & set(words) and "static __thread" in self.copy(first, last):
                continue
            variables = self.declarators(first, last - 1)
            text += self.declaration(first, last, variables) if variables else self.copy(first, last) + "\n"
        return self.items(text) if text.strip() else ""

    def items(self, text: str) -> str:
        """For all work-items that have not returned."""
        if not self.returns:
            return f"USM_ITEMS {{\n{text}}} USM_ITEMS_END\n"
        end = f"usm_end{self.phase}:;" if f"goto usm_end{self.phase};" in text else ""
        self.phase += 1
        return f"USM_ITEMS {{\nif (usm_kept0[usm_li]) continue;\n{text}}} {end} USM_ITEMS_END\n"

    def condition(self, part: tuple[int, int]) -> str:
        value = self.copy(*part) or "1"
        return "usm_taken = 0;\n" + self.items(f"usm_taken = !!({value});\n")

    def write(self, nodes: Sequence[_Node]) -> str:
        text = ""
        for group in self.regions(nodes):
            node = group[0]
            if node.kind == "run":
                text += self.run([(one.first, one.last) for one in group])
            elif node.kind == "block":
                text += self.write(node.inner)
            elif node.kind == "if":
                text += self.condition(node.parts[0])
                text += f"if (usm_taken) {{\n{self.write(node.inner[:1])}}}"
                text += f" else {{\n{self.write(node.inner[1:])}}}\n"
            elif node.kind == "while":
                text += f"for (;;) {{\n{self.condition(node.parts[0])}if (!usm_taken) break;\n"
                text += self.write(node.inner) + "}\n"
            elif node.kind == "do":
                text += (
                    f"do {{\n{self.write(node.inner)}{self.condition(node.parts[0])}}} while (usm_taken);\n"
                )
            elif node.kind == "for":
                init, test, step = node.parts
                text += self.run([(init[0], init[1] + 1)]) if init[0] < init[1] else ""
                text += f"for (;;) {{\n{self.condition(test)}if (!usm_taken) break;\n{self.write(node.inner)}"
                if step[0] < step[1]:
                    text += self.items(self.copy(*step) + ";\n")
                text += "}\n"
        return text


def _items(kernel: Kernel) -> str:
    promise = "USM_PROMISE" if kernel.promise else ""
    return f"""\
#undef USM_ITEMS
#undef USM_ITEMS_END
#define USM_ITEMS \\
    for (size_t usm_l2 = 0, usm_row = 0; usm_l2 < usm_n2; usm_l2++) \\
    for (size_t usm_l1 = 0; usm_l1 < usm_n1; usm_l1++, usm_row += usm_n0) {{ \\
        int usm_start = (int)usm_row - usm_b; \\
        {promise} \\
        for (int usm_i = usm_b; usm_i < usm_e; usm_i++) {{ \\
            const int usm_li = usm_start + usm_i; \\
            const struct usm_item usm_item = {{ \\
                (size_t)usm_i, usm_w1 * usm_ln1 + usm_l1, usm_w2 * usm_ln2 + usm_l2, \\
                (size_t)(usm_i - usm_b), usm_l1, usm_l2, usm_w0, usm_w1, usm_w2, \\
                usm_gn0, usm_gn1, usm_gn2, usm_ln0, usm_ln1, usm_ln2, (void *)0 }}; \\
            (void)usm_li, (void)usm_item;
#define USM_ITEMS_END }} }}
"""


def runner(source: Source, function: Function, kernel: Kernel, waiting: set[str]) -> str:
    """The function that runs a box of groups; with fibers if the kernel is unsuitable for loops."""
    words = set(source.text[function.body : function.end])
    if words & _OPAQUE or words & (waiting - {kernel.name}):
        return fibers.runner(kernel)
    phases = _Phases(source, function, kernel)
    try:
        phases.check_names()
        nodes = phases.statements(function.body + 1, function.end)
        phases.find(nodes)
        body = phases.write(nodes)
    except (_Unsuitable, IndexError, KeyError):
        return fibers.runner(kernel)
    types = "".join(f"    {text};\n" for text in phases.types)
    sizes = "".join(f" + (sizeof(usm_type{k}) * usm_n + 63) / 64 * 64" for k in range(len(phases.types)))
    places = "".join(
        f"    usm_type{k} *const usm_kept{k} = (void *)usm_next;\n"
        f"    usm_next += (sizeof(usm_type{k}) * usm_n + 63) / 64 * 64;\n"
        for k in range(len(phases.types))
    )
    names = "".join(
        f"    __auto_type {p.name} = usm_v{i};\n    (void){p.name};\n"
        for i, p in enumerate(kernel.parameters)
    )
    return f"""\
{fibers.runner(kernel, "usm_far_" + kernel.name)}
{_items(kernel)}\
{loops.head(kernel, "usm_next_argument")}\
{types}\
    if (usm_gn0 > 0x7fffffff || usm_ln0 * usm_ln1 * usm_ln2 > 0xffffff) {{
        __builtin_free(usm_memory);
        return usm_far_{kernel.name}(usm_a, usm_g, usm_l, usm_lo, usm_hi);
    }}
    const size_t usm_n = usm_ln0 * usm_ln1 * usm_ln2;
    char *usm_places = __builtin_malloc(64{sizes});
    if (!usm_places) {{
        __builtin_free(usm_memory);
        return 1;
    }}
    char *usm_next = usm_places + (-(size_t)usm_places & 63);
{places}\
    (void)usm_next;
    {phases.hoisted}
    for (size_t usm_w2 = usm_lo[2]; usm_w2 < usm_hi[2]; usm_w2++)
    for (size_t usm_w1 = usm_lo[1]; usm_w1 < usm_hi[1]; usm_w1++)
    for (size_t usm_w0 = usm_lo[0]; usm_w0 < usm_hi[0]; usm_w0++) {{
        size_t usm_n0 = usm_gn0 - usm_w0 * usm_ln0, usm_n1 = usm_gn1 - usm_w1 * usm_ln1;
        size_t usm_n2 = usm_gn2 - usm_w2 * usm_ln2;
        usm_n0 = usm_n0 < usm_ln0 ? usm_n0 : usm_ln0;
        usm_n1 = usm_n1 < usm_ln1 ? usm_n1 : usm_ln1;
        usm_n2 = usm_n2 < usm_ln2 ? usm_n2 : usm_ln2;
        const int usm_b = (int)(usm_w0 * usm_ln0), usm_e = usm_b + (int)usm_n0;
        int usm_taken = 0;
        if (usm_b < 0) {{
            __builtin_unreachable();
        }}
        (void)usm_taken;
        {"__builtin_memset(usm_kept0, 0, usm_n);" if phases.returns else ""}
        {{
{names}{body}
        }}
    }}
    __builtin_free(usm_places);
    __builtin_free(usm_memory);
    return 0;
}}
"""
