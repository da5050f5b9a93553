"""Kernels with barriers as loops: the code between two barriers runs for all work-items of a group, in a loop
that vectorises, before the code after the second barrier.

Either all work-items of a group take a loop or branch with a barrier in it, or none does. So its
condition is computed for all of them, and the value of the last one is used. A variable that lives across
a barrier becomes an array with an element for each work-item. A work-item that returned is skipped from
then on. Jumps and barriers in helpers are left to portable_fibers.py, which runs any kernel.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from . import portable_fibers as fibers
from . import portable_loops as loops
from .entry import Kernel
from .parser import QUALIFIERS, RECORDS, Declared, Node, Tree
from .portable_builtins import BARRIERS
from .tokens import Function, Source

_OPAQUE = {"goto", "struct", "union", "enum", "typedef", "typeof", "__typeof__", "static", "extern", "asm"}
_OPAQUE |= {"__asm__", "__attribute__", "alloca"}
_LOOPS = ("for", "while", "do")
_PARTS = {"block": (0, None), "while": (1, None), "switch": (1, None), "do": (0, 1), "for": (3, None)}


class _Unsuitable(Exception):
    """The kernel needs fibers."""


def _statements(node: Node) -> list[Node]:
    """The statements of a statement, without its expressions."""
    if node.kind == "if":  # a chain, with or without a last statement
        return [*node.inner[1::2], *(node.inner[-1:] if len(node.inner) % 2 else ())]
    return list(node.inner[slice(*_PARTS.get(node.kind, (0, 0)))])


class _Phases:
    def __init__(self, source: Source, tree: Tree, function: Function, kernel: Kernel) -> None:
        self.source, self.kernel, self.text = source, kernel, source.text
        self.names, self.values = tree.names, tree.values
        within = range(function.body, function.end)
        self.barriers = [i for i in within if self.text[i] in BARRIERS]
        self.uses: dict[int, list[int]] = {}  # of variables, by the token that declares them
        for i in within:
            if i in self.names:
                self.uses.setdefault(self.names[i].name, []).append(i)
        self.kept: dict[int, int] = {}  # numbers of variables that live across barriers
        self.types: list[str] = []
        self.hoisted = ""  # local variables
        self.local: set[int] = set()
        self.phase = 0
        # The first kept variable tells whether a work-item has returned.
        self.returns = any(self.text[i] == "return" for i in within)
        if self.returns:
            self.types.append("typedef uchar usm_type0")
        parsed = tree.functions[function.body]
        jumps = sum(node.kind in ("break", "continue") for node in tree.nodes[parsed.nodes])
        if jumps != self.check(parsed.body, ()):  # one is in a statement in an expression
            raise _Unsuitable
        signs = [node for node in tree.nodes[parsed.nodes] if node.kind in ("assign", "postfix", "prefix")]
        changing = [one for one in signs if one.kind != "prefix" or self.text[one.at] in ("&", "++", "--")]
        changed = {self.variable(node.inner[0]) for node in changing}
        if any(i in changed for p in parsed.declared.parameters for i in self.uses.get(p.name, ())):
            raise _Unsuitable
        self.nodes = parsed.body.inner
        self.find(self.nodes)

    def waits(self, node: Node) -> bool:
        at = bisect_left(self.barriers, node.first)
        return at < len(self.barriers) and self.barriers[at] < node.last

    def variable(self, node: Node) -> int:
        """The name of the variable that a value is, or is a part of; -1 for memory elsewhere."""
        node = node.bare()
        if node.kind == "name":
            return node.at
        is_part = node.kind == "member" and self.text[node.at - 1] == "."
        is_part = is_part or (node.kind == "index" and node.inner[0].bare().kind != "name")
        return self.variable(node.inner[0]) if is_part else -1

    def check(self, node: Node, bound: tuple[str, ...]) -> int:
        """The number of jumps in a statement. They stay in loops without barriers, as those of `bound` do."""
        if node.kind in ("break", "continue"):
            if node.kind not in bound:
                raise _Unsuitable
            return 1
        statements = _statements(node)
        if not self.waits(node):
            bound = ("break", "continue") if node.kind in _LOOPS else bound
            bound = (*bound, "break") if node.kind == "switch" else bound
        elif self.text[node.first] not in BARRIERS or [part.kind for part in node.inner] != ["call"]:
            inside = [part.first for part in statements]
            others = [part for part in node.inner if part.first not in inside]
            if node.kind not in ("block", "if", *_LOOPS) or any(self.waits(part) for part in others):
                raise _Unsuitable
        return sum(self.check(statement, bound) for statement in statements)

    def regions(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Adjacent statements without barriers together, other ones alone."""
        found: list[list[Node]] = []
        for node in nodes:
            if not self.waits(node) and found and not self.waits(found[-1][0]):
                found[-1].append(node)
            else:
                found.append([node])
        return found

    def keep(self, declares: tuple[Declared, ...], first: int, last: int) -> None:
        """Keeps variables for each work-item that are used outside of [first, last)."""
        for one in declares:
            uses = self.uses.get(one.name, ())
            if any(not first <= i < last or self.escapes(one, i) for i in uses):
                text, low = self.text[one.begins : one.ends], one.name
                if "[]" in "".join(text):
                    raise _Unsuitable
                self.check_shape(one.begins, one.ends, {one.name})
                while self.text[low - 1] in QUALIFIERS:  # the pointer's own const
                    low -= 1
                dropped = ("register",) if "*" in text else ("register", "const")
                words = [w for w in self.copy(one.first, declares[0].begins).split() if w not in dropped]
                self.kept[one.name] = len(self.types)
                before, behind = (
                    self.copy(one.begins, max(low, one.begins)),
                    self.copy(one.name + 1, one.ends),
                )
                self.types.append(f"typedef {' '.join(words)} {before} usm_type{len(self.types)}{behind}")

    def escapes(self, one: Declared, i: int) -> bool:
        """Whether a pointer to the variable named here is made, which may live longer than a phase."""
        before, j, parts = self.text[i - 2], i + 1, list(one.parts)
        if self.text[i - 1] == "&" and not (self.source.tokens[i - 2].kind != "sign" or before in (")", "]")):
            return True
        while self.text[j] == "[" and parts:
            j = self.source.skip(j)
            parts.pop(0)
        is_record = not one.words.isdisjoint(RECORDS) and not one.parts
        return i != one.name and (parts[:1] == ["["] or is_record)

    def check_shape(self, first: int, last: int, known: set[int]) -> None:
        """A type that stands outside of the loops, [first, last), names no other variable."""
        for one in (self.names[i] for i in range(first, last) if i in self.names):
            if one.kind in ("block", "parameter") and one.name not in known:
                raise _Unsuitable

    def find(self, nodes: Sequence[Node]) -> None:
        for group in self.regions(nodes):
            for node in group:
                if self.waits(node):
                    if node.kind == "for":
                        self.keep(node.inner[0].declares, 0, 0)
                    for part in [node.inner] if node.kind == "block" else [[n] for n in _statements(node)]:
                        self.find(part)
                elif any(one.is_local() for one in node.declares):
                    self.local |= {one.name for one in node.declares}
                    self.check_shape(node.first, node.last, self.local)
                    self.hoisted += self.copy(node.first, node.last) + "\n"
                else:
                    self.keep(node.declares, group[0].first, group[-1].last)

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
                number = self.kept.get(self.names[at].name) if at in self.names else None
                if number is not None:  # what stands around the name stays
                    piece = re.sub(
                        rf"(?<!\w){re.escape(self.text[at])}(?!\w)", f"usm_kept{number}[usm_li]", piece
                    )
                elif self.text[at] == "return":
                    if self.text[at + 1] != ";":
                        raise _Unsuitable
                    piece = f"do {{ usm_kept0[usm_li] = 1; goto usm_end{self.phase}; }} while (0)"
                at = min(at + 1, last - 1)
            pieces.append(piece)
        return "".join(pieces)

    def declaration(self, node: Node) -> str:
        text = ""
        specifiers = self.copy(node.first, node.declares[0].begins)
        for one in node.declares:
            number, given = self.kept.get(one.name), self.values.get(one.name)
            if number is None:
                text += f"{specifiers} {self.copy(one.begins, given.last if given else one.ends)};\n"
            elif given:
                value = self.copy(given.first, given.last)
                if one.parts[:1] == ("[",) or given.kind == "braces":
                    value = value if given.kind == "braces" else f"{{{value}}}"  # a string
                    text += (
                        f"__builtin_memcpy(&usm_kept{number}[usm_li], &(usm_type{number}){value}, "
                        f"sizeof(usm_type{number}));\n"
                    )
                else:
                    text += f"usm_kept{number}[usm_li] = {value};\n"
        return text

    def run(self, nodes: list[Node]) -> str:
        """Statements, for all work-items."""
        text = ""
        for node in nodes:
            if not any(one.is_local() for one in node.declares):
                variables = [one for one in node.declares if one.kind == "block"]
                text += self.declaration(node) if variables else self.copy(node.first, node.last) + "\n"
        return self.items(text) if text.strip() else ""

    def items(self, text: str) -> str:
        """For all work-items that have not returned."""
        if not self.returns:
            return f"USM_ITEMS {{\n{text}}} USM_ITEMS_END\n"
        end = f"usm_end{self.phase}:;" if f"goto usm_end{self.phase};" in text else ""
        self.phase += 1
        return f"USM_ITEMS {{\nif (usm_kept0[usm_li]) continue;\n{text}}} {end} USM_ITEMS_END\n"

    def condition(self, node: Node) -> str:
        value = "1" if node.kind == "none" else self.copy(node.first, node.last)
        return "usm_taken = 0;\n" + self.items(f"usm_taken = !!({value});\n")

    def write(self, nodes: Sequence[Node]) -> str:
        text = ""
        for group in self.regions(nodes):
            node, inner = group[0], group[0].inner
            if not self.waits(node):
                text += self.run(group)
            elif node.kind == "block":
                text += self.write(inner)
            elif node.kind == "if":
                chain = self.write(inner[-1:]) if len(inner) % 2 else ""
                for k in range(len(inner) // 2 * 2 - 2, -1, -2):
                    chain = (
                        f"{self.condition(inner[k])}if (usm_taken) {{\n{self.write(inner[k + 1 : k + 2])}}}"
                        f" else {{\n{chain}}}\n"
                    )
                text += chain
            elif node.kind == "while":
                text += f"for (;;) {{\n{self.condition(inner[0])}if (!usm_taken) break;\n"
                text += self.write(inner[1:]) + "}\n"
            elif node.kind == "do":
                text += f"do {{\n{self.write(inner[:1])}{self.condition(inner[1])}}} while (usm_taken);\n"
            elif node.kind == "for":
                text += self.run([inner[0]]) if inner[0].kind != ";" else ""
                text += f"for (;;) {{\n{self.condition(inner[1])}if (!usm_taken) break;\n"
                text += self.write(inner[3:])
                if inner[2].kind != "none":
                    text += self.items(self.copy(inner[2].first, inner[2].last) + ";\n")
                text += "}\n"
        return text


def runner(source: Source, function: Function, kernel: Kernel, waiting: set[str]) -> str:
    """The function that runs a box of groups; with fibers if the kernel is unsuitable for loops."""
    words = set(source.text[function.body : function.end])
    if source.tree is None or "usm_ck_wait" in words or words & _OPAQUE or words & (waiting - {kernel.name}):
        return fibers.runner(kernel)
    try:
        phases = _Phases(source, source.tree, function, kernel)
        body = phases.write(phases.nodes)
    except (_Unsuitable, KeyError):
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
    return loops.fill(
        "phases",
        far=fibers.runner(kernel, "usm_far_" + kernel.name),
        promise="USM_PROMISE" if kernel.promise else "",
        head=loops.head(kernel, "usm_next_argument"),
        types=types,
        name=kernel.name,
        sizes=sizes,
        places=places,
        hoisted=phases.hoisted,
        cleared="__builtin_memset(usm_kept0, 0, usm_n);" if phases.returns else "",
        names=names,
        body=body,
    )
