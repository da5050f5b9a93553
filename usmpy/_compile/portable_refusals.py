"""What only some compilers take, found in the tree of a program, so that all backends refuse it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .parser import COMPLEX, CONSTANT, INTEGERS, QUALIFIERS, RECORDS, TYPEDEF, Node, Tree
from .portable_builtins import BUILTINS
from .portable_words import undefined
from .tokens import Source

Type = tuple[frozenset[str], tuple[str, ...]]  # words and parts
_INT: Type = frozenset(["int"]), ()
_WHOLE = re.compile(r"(?:0[xXbB])?[0-9a-fA-F]+[uUlL]*\Z")
_WHOLE_CALL = re.compile(r"get_\w+\Z|(?:as|convert)_u?(?:char|short|int|long)(?:_\w+)?\Z")
_TRUTHS = frozenset(["==", "!=", "<", ">", "<=", ">=", "&&", "||"])
_POINTER = "a pointer made of an integer; pass the array to the kernel, and write an index"
_FUNCTION = "a function pointer; call functions by their names, and choose between them with if or switch"
_HALF = "a type of OpenCL C, which cannot be the name of a variable; give it another name"
_STRING = "a string literal is for printf and 'constant char *'; write constant, or an array: char s[] = ..."
_STATIC = "a static variable; write 'constant' for a table, and pass an array to the kernel for what changes"
_STORAGE = frozenset(["register", "auto", "extern"])
_COMPLEX = COMPLEX | {f"usm_{how}_{name}" for how in ("to", "make") for name in COMPLEX}
_FILE = "a variable outside of functions is in constant memory; write 'constant', or pass it to the kernel"


def _is_whole(type: Type | None) -> bool:
    words = type[0] - QUALIFIERS - {TYPEDEF} if type and not type[1] else frozenset()
    return bool(words) and words <= INTEGERS | {"enum"}


def names_complex(source: Source) -> bool:
    """Whether a program names complex64 or complex128, and gives the names no meaning of its own."""
    text, names = source.text, source.tree.names if source.tree else ()
    uses = (i for i, word in enumerate(text) if word in _COMPLEX and text[i - 1] not in (".", "->", *RECORDS))
    return any(True for _ in uses) and not any(text[i] in COMPLEX for i in names)


class Refusals:
    def __init__(self, source: Source, tree: Tree) -> None:
        self.source, self.text, self.tree = source, source.text, tree
        self.defined = {self.text[function.declared.name] for function in tree.functions.values()}
        self.constants: dict[int, bool] = {}
        self.members: dict[str, Type | None] = {}  # None: of several types
        for one in tree.declarations:
            if one.kind == "member" and one.name >= 0:
                other = self.members.setdefault(self.text[one.name], one.type())
                self.members[self.text[one.name]] = other if other == one.type() else None

    def all(self) -> Iterator[tuple[int, str]]:  # tokens and reasons, in no order
        yield from self.calls()
        for one in self.tree.declarations:
            at, name = (one.name, f"{self.text[one.name]}: ") if one.name >= 0 else (one.first, "")
            if name == "half: ":
                yield at, name + _HALF
            if "*(" in "*" * (one.kind == "parameter") + "".join(one.parts).replace("*constant", "*"):
                yield at, name + _FUNCTION
            if one.bits:
                yield at, name + "a bit-field; write an integer, with shifts and masks"
            star = next((part for part in one.parts if part != "[" and TYPEDEF not in one.words), "")
            is_constant = star == "*constant" if star else CONSTANT & one.words
            if (one.kind == "file" and not is_constant) or (one.kind == "block" and "static" in one.words):
                yield at, name + (_FILE if one.kind == "file" else _STATIC)
            if one.kind in ("block", "parameter") and (lacking := one.words & _STORAGE):
                yield at, f"{name}OpenCL C has no {min(lacking)} variables; leave the word out"
            if not all(map(self.is_constant, one.bounds)):
                yield at, name + "the size of an array is a constant; write a number or a macro (-DN=64)"
        for node in self.tree.nodes:
            if node.kind == "declaration" and self.text[node.last - 1] == "}":
                at = node.declares[0].name
                yield at, f"{self.text[at]}: a function in a function; write it in front of the kernel"
            if node.kind == "cast" and node.declares[0].parts[:1] in (("*",), ("*constant",)):
                value = node.inner[0].bare()
                is_zero = value.kind == "number" and set(self.text[value.at]) <= set("0xXuUlL")
                if not is_zero and _is_whole(self.type_of(value)):
                    yield node.first + 1, _POINTER
        for type, value in self.given():
            if type and any(part[0] == "*" for part in type[1]) and not type[0] & {*CONSTANT, "__auto_type"}:
                yield from ((string.first, _STRING) for string in self.strings(value))

    def calls(self) -> Iterator[tuple[int, str]]:
        """Calls of functions that are not built in and not defined by the program; functions as values."""
        values = set()
        built_in = {*BUILTINS, *(("conj", "imag", "real", *COMPLEX) if names_complex(self.source) else ())}
        for node in self.tree.nodes:
            name = node.inner[0] if node.kind == "call" else node
            word, meaning = self.text[name.at], self.tree.names.get(name.at)
            is_function = meaning is not None and meaning.kind == "function"
            if node.kind == "name" and is_function and self.text[name.at - 1] != "goto":
                values.add(node.at)
            elif node.kind == "call" and name.kind != "name":
                yield name.first, _FUNCTION
            elif node.kind == "call":
                values.discard(name.at)
                known = word in built_in or word in self.defined or word.startswith(("usm_", "_Generic"))
                if not known and (meaning is None or is_function):
                    yield name.at, undefined(word, built_in)
        yield from ((at, f"{self.text[at]}: {_FUNCTION}") for at in values)

    def is_constant(self, node: Node) -> bool:
        """Whether the size of an array may be this; true in doubt."""
        if node.kind == "name":
            one = self.tree.names.get(node.at)
            if one is None or one.kind == "constant":
                return True
            if one.name not in self.constants:
                value = self.tree.values.get(one.name)
                known = one.kind in ("file", "block") and _is_whole(one.type())
                known = known and not one.words.isdisjoint({"const", "__const", *CONSTANT})
                self.constants[one.name] = known and value is not None and self.is_constant(value)
            return self.constants[one.name]
        if node.kind == "cast" and not _is_whole(node.declares[0].type()):
            return False
        if node.kind in ("cast", "group", "prefix", "binary", "conditional"):
            return all(map(self.is_constant, node.inner))
        is_generic = node.kind == "call" and self.text[node.inner[0].at] == "_Generic"
        return is_generic or node.kind in ("number", "char", "sizeof", "none")

    def type_of(self, node: Node) -> Type | None:
        """What is known of a value's type."""
        kind, word, inner = node.kind, self.text[node.at], node.inner
        kind = f"prefix {word}" if kind == "prefix" else "truth" if word in _TRUTHS else kind
        if kind == "name":
            return one.type() if (one := self.tree.names.get(node.at)) else None
        if kind == "call" and (called := self.tree.names.get(inner[0].at)):
            return called.words, called.parts[1:]
        if kind in ("char", "sizeof", "truth", "prefix !") or (kind == "number" and _WHOLE.match(word)):
            return _INT
        if kind == "call":
            return _INT if _WHOLE_CALL.match(self.text[inner[0].at]) else None
        if kind in ("cast", "member"):
            return node.declares[0].type() if kind == "cast" else self.members.get(word)
        if kind in ("index", "prefix *"):
            type = self.type_of(inner[0])
            return (type[0], type[1][1:]) if type and type[1][:1] not in ((), ("(",)) else None
        if kind in (
            "group",
            "assign",
            "postfix",
            "prefix +",
            "prefix -",
            "prefix ~",
            "prefix ++",
            "prefix --",
        ):
            return self.type_of(inner[0])
        if kind not in ("binary", "conditional") or word == ",":
            return None
        types = [self.type_of(part) for part in inner[-2:]]
        pointers = [type for type in types if type and type[1]]
        if len(pointers) == 2 and word == "-":
            return _INT
        return pointers[0] if pointers else _INT if all(map(_is_whole, types)) else None

    def given(self) -> Iterator[tuple[Type | None, Node]]:
        """Values that are converted to a type: that of a variable, parameter, cast or result."""
        for name, value in self.tree.values.items():
            if one := self.tree.names.get(name):
                yield one.type(), value
        for node in self.tree.nodes:
            if node.kind == "assign" and self.text[node.at] == "=":
                yield self.type_of(node.inner[0]), node.inner[1]
            elif node.kind == "cast":
                yield node.declares[0].type(), node.inner[0]
            elif node.kind == "call" and (called := self.tree.names.get(node.inner[0].at)):
                for one, value in zip(called.parameters, node.inner[1:], strict=False):
                    yield one.type(), value
        for function in self.tree.functions.values():
            for node in self.tree.nodes[function.nodes]:
                if node.kind == "return" and node.inner:
                    yield (function.declared.words, function.declared.parts[1:]), node.inner[0]

    def strings(self, node: Node) -> Iterator[Node]:
        """String literals that a value may be."""
        if node.kind == "string":
            yield node
        parts = {"group": node.inner, "conditional": node.inner[1:], "braces": node.inner}
        for part in parts.get(node.kind, ()):
            yield from self.strings(part)
