"""The bounds of the memory that a pointer may point into, as text of a checked program.

A pointer p has usm_lo_p and usm_hi_p, which are addresses: those of the array, kernel argument or variable
from which it was computed. A pointer that was loaded from memory may point into any argument of the launch.
"""

from __future__ import annotations

from .parser import Declared, Node, Tree
from .portable_refusals import Refusals
from .tokens import Source

Bounds = tuple[str, str]
ANY_ARGUMENT: Bounds = ("1ul", "0ul")
UNCHECKED: Bounds = ("0ul", "~0ul")
GLOBAL = frozenset(["global", "__global"])


class Pointers:
    def __init__(self, source: Source, tree: Tree) -> None:
        self.text, self.tree, self.names = source.text, tree, tree.names
        self.types = Refusals(source, tree)
        self.bounded: set[int] = set()  # variables that have bounds, by the token that declares them

    def pair(self, one: Declared) -> Bounds:
        return f"usm_lo_{self.text[one.name]}", f"usm_hi_{self.text[one.name]}"

    def is_pointer_variable(self, one: Declared) -> bool:
        if one.kind == "parameter" and one.parts[:1] == ("[",):
            return True
        return one.parts[:1] in (("*",), ("*constant",)) or self.is_deduced(one)

    def is_deduced(self, one: Declared) -> bool:
        """__auto_type p = x + i"""
        value = self.tree.values.get(one.name)
        if value is None or "__auto_type" not in one.words:
            return False
        type, bare = self.types.type_of(value), value.bare()
        return bool(type and type[1]) or (bare.kind == "prefix" and self.text[bare.at] == "&")

    def is_array(self, node: Node) -> bool:
        """Whether it is an array, and no pointer."""
        node = node.bare()
        if node.kind == "name":
            one = self.names.get(node.at)
            return one is not None and one.kind != "parameter" and one.parts[:1] == ("[",)
        type = self.types.type_of(node)
        return node.kind in ("index", "member", "prefix") and type is not None and type[1][:1] == ("[",)

    def bounds(self, node: Node, address: str) -> Bounds:
        """Those of a pointer. address: of where it points, an expression without effects."""
        found = self.bases(node)
        (lo, hi) = found[-1]
        for other_lo, other_hi in reversed(found[:-1]):
            picked = f"usm_ck_either({address}, {other_lo}, {other_hi}, "
            lo, hi = f"{picked}{other_lo}, {lo})", f"{picked}{other_hi}, {hi})"
        return lo, hi

    def bases(self, node: Node) -> list[Bounds]:
        """What a pointer may have been computed from, each once; unknown memory last."""
        found = dict.fromkeys(self.sources_of(node))
        unknown = ANY_ARGUMENT if self.is_global(node) else UNCHECKED
        known = [one for one in found if one is not None]
        return [*known, *[unknown] * (None in found or not known)]

    def is_global(self, node: Node) -> bool:
        node = node.bare()
        type = self.types.type_of(node)
        if type is None and node.inner:
            return any(map(self.is_global, node.inner))
        return type is not None and not type[0].isdisjoint(GLOBAL)

    def sources_of(self, node: Node) -> list[Bounds | None]:
        node = node.bare()
        kind, sign, inner = node.kind, self.text[node.at], node.inner
        if kind == "name":
            one = self.names.get(node.at)
            if one is not None and one.name in self.bounded:
                return [self.pair(one)]
            return self.place_of(node) if self.is_array(node) else []
        if kind == "prefix" and sign == "&":
            return self.place_of(inner[0])
        if kind in ("index", "member", "prefix") and sign not in ("++", "--"):
            return self.place_of(node) if self.is_array(node) else [None]
        if kind in ("cast", "assign", "postfix", "prefix"):
            return self.sources_of(inner[0])
        if kind == "binary" and sign in ("+", "-"):
            return [*self.sources_of(inner[0]), *self.sources_of(inner[1])]
        if kind == "binary" and sign == ",":
            return self.sources_of(inner[1])
        if kind == "conditional":
            return [one for part in inner[-2:] for one in self.sources_of(part) or [None]]
        if kind == "call":
            return [*(one for part in inner[1:] for one in self.sources_of(part)), None]
        return []

    def place_of(self, node: Node) -> list[Bounds | None]:
        """The memory that an element or a member belongs to."""
        node = node.bare()
        is_arrow = node.kind == "member" and self.text[node.at - 1] == "->"
        if node.kind == "name":
            name = self.text[node.at]
            return [(f"(ulong)&{name}", f"(ulong)&{name} + sizeof({name})")]
        if is_arrow or node.kind in ("index", "prefix"):
            base = node.inner[0]
            return self.place_of(base) if self.is_array(base) else self.sources_of(base) or [None]
        return self.place_of(node.inner[0]) if node.kind == "member" else [None]
