"""Complex numbers of portable programs: operators, calls and conversions become calls of macros.

C has no operators of structs. The macros of portable_complex.h find out what their arguments are, and do for
real ones what the operator does, so only what is surely real stays as it is. CUDA has operators of its own.
"""

from __future__ import annotations

from .included import own_text
from .parser import COMPLEX, CONSTANT, TYPEOF, Function, Node, parse
from .portable_builtins import ITEM
from .portable_refusals import Refusals, Type, names_complex
from .tokens import KERNEL, Source

_SIGNS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "==": "eq", "!=": "ne"}
_FUNCTIONS = ("conj", "imag", "real")  # of complex numbers alone
_UNKNOWN = {*TYPEOF, "__auto_type"}
_REAL: Type = frozenset(["real"]), ()
_COMPLEX: Type = frozenset(["complex"]), ()  # of any width


def rewrite(text: str, operators: bool = True) -> str:
    """The text of a preprocessed program, with macros for complex numbers if it names their types."""
    source = Source(text if "complex" in text else "")
    if not head(source) or source.tree is None:
        return text
    program = _Program(source, source.tree)
    program.write(operators)
    return "".join(source.out)


def head(source: Source) -> str:
    """What stands in front of such a program for drivers and the host; "" for others."""
    source.tree = source.tree or parse(source)
    return own_text("portable_complex.h") if names_complex(source) else ""


class _Program(Refusals):
    def write(self, operators: bool) -> None:
        nodes = [n for function in self.tree.functions.values() for n in self.tree.nodes[function.nodes]]
        self.known: dict[int, Type | None] = {}
        for node in nodes:  # inner ones first, so that the search is not deep
            self.type_of(node)
        written = {id(node) for node in nodes if operators and self.is_written(node)}
        # The left operand of one is a step before it, in one statement: long chains do not nest.
        chains = {id(node) for node in nodes if id(node) in written and node.kind == "binary"}
        self.steps = dict.fromkeys(chains & {id(node.inner[0]) for node in nodes if id(node) in chains}, 0)
        wanted = {id(value): name for type, value in self.given() if (name := self.converted(type, value))}
        for function in self.tree.functions.values() if operators else ():
            self.copy_parameters(function)
        for node in nodes:
            if id(node) in written:
                self.operate(node)
            elif node.kind == "call":
                self.call(node, operators)
            elif node.kind == "cast" and self.name_of(node.declares[0].type()) in COMPLEX:
                self.source.erase(node.first, node.inner[0].first - 1)
            if id(node) in wanted:
                self.around(node, f"usm_to_{wanted[id(node)]}((", "))")

    def copy_parameters(self, function: Function) -> None:
        """For each work-item: PoCL has one struct for all of a group, which one with a barrier may change."""
        body = function.body
        for one in function.declared.parameters if function.declared.words & {*KERNEL} else ():
            if (type := self.name_of(one.type())) in COMPLEX and one.name >= 0:
                copy, const = f"usm_of_{self.text[one.name]}", "const " * ("const" in one.words)
                for i in range(body.first, body.last):
                    if self.tree.names.get(i) is one:
                        self.source.replace(i, copy)
                self.source.suffix(body.first, f" {const}{type} {copy} = {self.text[one.name]};")

    def type_of(self, node: Node) -> Type | None:
        if id(node) not in self.known:
            self.known[id(node)] = self.find_type(node)
        return self.known[id(node)]

    def find_type(self, node: Node) -> Type | None:
        kind, word, inner = node.kind, self.text[node.at], node.inner
        found = super().type_of(node)
        if found or kind in ("statements", "postfix"):
            return found
        if kind == "literal":
            return node.declares[0].type()
        if kind == "prefix" and word == "&" and (type := self.type_of(inner[0])):
            return type[0], ("*", *type[1])
        if kind == "call":
            name = self.text[inner[0].at]
            if name in ("conj", "exp") and self.name_of(self.type_of(inner[-1])) != "real":
                return self.type_of(inner[-1])
            is_builtin = inner[0].kind == "name" and not name.startswith(("_", "usm_"))
            return (frozenset([name]), ()) if name in COMPLEX else _REAL if is_builtin else None
        if kind == "binary" and word == ",":
            return self.type_of(inner[1])
        if kind in ("binary", "conditional"):
            names = {self.name_of(self.type_of(part)) for part in inner[-2:]}
            return None if "" in names else _REAL if names == {"real"} else _COMPLEX
        return _REAL if kind == "number" or (kind == "member" and word in ("real", "imag")) else None

    def name_of(self, type: Type | None) -> str:
        """complex64, complex128, complex for one of these, real for anything else; "" if it is not known."""
        if type is None or (not type[1] and not type[0].isdisjoint(_UNKNOWN)):
            return ""
        names = [name for name in ("complex64", "complex128", "complex") if name in type[0] and not type[1]]
        return names[0] if names else "real"

    def is_written(self, node: Node) -> bool:
        word = self.text[node.at].removesuffix("=" if node.kind == "assign" else "\n")
        if node.kind not in ("binary", "assign", "prefix") or word not in _SIGNS:
            return False
        if node.kind != "binary" and word not in "+-*/"[: 2 if node.kind == "prefix" else 4]:
            return False
        return any(self.name_of(self.type_of(part)) != "real" for part in node.inner)

    def converted(self, type: Type | None, value: Node) -> str:
        """The complex type to which a value must be converted; "" if it has it."""
        name = self.name_of(type) if type and type[0].isdisjoint(CONSTANT) else ""
        if name not in COMPLEX or value.kind in ("braces", "none"):
            return ""
        return "" if self.name_of(self.type_of(value)) == name else name

    def around(self, node: Node, before: str = "(", behind: str = ")") -> None:
        """Also against commas in braces, which macros see."""
        self.source.prefix(node.first, before)
        self.source.suffix(node.last - 1, behind)

    def operate(self, node: Node) -> None:
        source, left, last, sign = self.source, node.inner[0], node.inner[-1].last - 1, self.text[node.at]
        if node.kind == "prefix":
            source.replace(node.at, f"usm_c_{'minus' if sign == '-' else 'plus'}((")
            source.suffix(last, "))")
        elif node.kind == "assign":
            place, before, behind = "*usm_p", "({ __auto_type usm_p = &(", "); "
            if self.is_plain(left):  # a checked program looks at each index of it
                place = " ".join(source.out[source.index[i]] for i in range(left.first, left.last))
                before, behind = f"({{ __auto_type usm_1 = usm_c_{_SIGNS[sign[0]]}((", "), ("
            else:
                behind += f"__auto_type usm_1 = usm_c_{_SIGNS[sign[0]]}({place}, ("
            source.prefix(left.first, before)
            source.replace(node.at, behind)
            source.suffix(last, f")); {place} = usm_c_like({place}, usm_1); }})")
        else:
            step = self.steps.get(id(left), 0)
            source.prefix(left.first, "" if step else "({ __auto_type usm_0 = (")
            source.replace(node.at, f"); __auto_type usm_{step + 1} = usm_c_{_SIGNS[sign]}(usm_{step}, (")
            source.suffix(last, ")" if id(node) in self.steps else f")); usm_{step + 1}; }})")
            if id(node) in self.steps:
                self.steps[id(node)] = step + 1

    def is_plain(self, node: Node) -> bool:
        """Whether a place may be written twice: what is in it has no effect."""
        text = self.text
        for i in range(node.first, node.last):
            is_name = i > node.first and self.source.tokens[i - 1].kind == "name"
            is_own = is_name and (i - 1 in self.tree.names or text[i - 1] not in ITEM)
            is_assignment = text[i].endswith("=") and text[i] not in ("==", "!=", "<=", ">=")
            if (text[i] == "(" and is_own) or is_assignment or text[i] in ("++", "--", "{"):
                return False
        return True

    def call(self, node: Node, operators: bool) -> None:
        """Constructors, and the functions of complex numbers."""
        name, at = self.text[node.inner[0].at], node.inner[0].at
        if at in self.tree.names:
            return
        macro = f"usm_c_{name}"
        if name in COMPLEX:
            macro = f"usm_{'to' if len(node.inner) < 3 else 'make'}_{name}"
        elif name in ("abs", "exp") and self.name_of(self.type_of(node.inner[-1])) != "real":
            self.source.suffix(at + 1, f"{name}, " if operators else "")  # for a real number
        elif name not in _FUNCTIONS:
            return
        self.source.replace(at, macro)
        for value in node.inner[1:]:
            self.around(value)
