"""A parser of preprocessed C: expressions, statements and declarations, and what each name stands for.

It knows which names are types, which C's grammar needs, and no types of values. It reads each token once.
Brackets in expressions and chains of `else if` need no recursion. Where it does not understand the program,
parse() returns None, and the compiler reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .tokens import Source

_DEEPEST = 120  # of statements in one another

_OPENCL = "global local constant private generic"
_SPACES = frozenset([*_OPENCL.split(), *(f"__{word}" for word in _OPENCL.split())])
CONSTANT = frozenset(["constant", "__constant"])
LOCAL = frozenset(["local", "__local"])
_QUALIFIERS = """
const __const __const__ volatile __volatile __volatile__ restrict __restrict __restrict__ register auto static
extern inline __inline __inline__ __forceinline typedef kernel __kernel _Noreturn __thread _Thread_local
_Atomic
"""
QUALIFIERS = _SPACES.union(_QUALIFIERS.split())
_C_TYPES = "void char short int long signed unsigned __signed __signed__ _Bool __int128"
_REALS = (
    "float double _Complex __complex__ _Float16 _Float32 _Float64 _Float128 __float128 _Float32x _Float64x"
)
_TYPES = frozenset([*_C_TYPES.split(), *_REALS.split(), "__auto_type", "__builtin_va_list"])
# Names of types that a program may also give to something else.
_NUMBERS = "bool uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t"
_ATOMICS = "flag int uint long ulong float double size_t intptr_t uintptr_t ptrdiff_t"
COMPLEX = frozenset(["complex64", "complex128"])
_NAMED = frozenset(["half", *COMPLEX, *_NUMBERS.split(), *(f"atomic_{name}" for name in _ATOMICS.split())])
INTEGERS = frozenset([*_C_TYPES.split(), *_NUMBERS.split()]) - {"void"}
TYPEOF = frozenset(["typeof", "__typeof__", "__typeof", "typeof_unqual", "decltype"])
TYPEDEF = "typedef name"  # among the words of a declaration whose type is a typedef
RECORDS = frozenset(["struct", "union", "enum"])
# What is skipped, with the parenthesis that follows.
_OPAQUE = {"__attribute__", "__attribute", "_Alignas", "alignas", "_Static_assert", "static_assert", "asm"}
_OPAQUE |= {"__asm__", "__asm", "__extension__", "_Pragma"}
# What follows the first word of a statement: E is an expression, which may be missing, and S a statement.
_STATEMENTS = {"while": "( E ) S", "switch": "( E ) S", "do": "S while ( E ) ;", "for": "( S E ; E ) S"}
_STATEMENTS |= {"case": "E :", "default": ":", "goto": "E ;", "return": "E ;", "break": ";", "continue": ";"}
_STATEMENTS |= {";": "", "if": "( E ) S", "else": "", "{": ""}

_SIZES = ("sizeof", "_Alignof", "__alignof__", "__alignof", "alignof")
_PREFIX = frozenset(["&", "*", "+", "-", "~", "!", "++", "--", "&&", "__extension__", "__real__", "__imag__"])
ASSIGNS = frozenset(["=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="])
_SIGNS = ["||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %"]
_BINDS = {sign: level for level, signs in enumerate(_SIGNS, 3) for sign in signs.split()}
_BINDS |= dict.fromkeys(ASSIGNS, 1) | {",": 0}
_UNARY = 14
_CLOSES = {"group": ")", "call": ")", "index": "]", "conditional": ":"}


def is_type_word(text: str) -> bool:
    """Whether a type begins with this word, if no variable has its name."""
    return any(text in words for words in (QUALIFIERS, _TYPES, RECORDS, TYPEOF, _NAMED))


class Declared(NamedTuple):
    """A name that is declared, or the type of a cast."""

    kind: str  # file or block (a variable), parameter, member, typedef, function, constant (of an enum), type
    first: int  # where the declaration begins
    name: int  # -1: it has none
    words: frozenset[str]  # of the declaration, with those of typedefs in it
    parts: tuple[str, ...]  # what the name is, from the inside: "[", "(" and "*", or "*constant"
    bounds: tuple[Node, ...] = ()
    parameters: tuple[Declared, ...] = ()  # of a function
    bits: bool = False  # a bit-field
    begins: int = 0  # the declarator's tokens
    ends: int = 0

    def is_local(self) -> bool:
        return not LOCAL.isdisjoint(self.words) and "*" not in self.parts

    def type(self) -> tuple[frozenset[str], tuple[str, ...]]:
        return self.words, self.parts


class Node(NamedTuple):
    """An expression or a statement: the tokens [first, last)."""

    kind: str
    first: int
    last: int
    at: int  # the operator, or the name
    inner: tuple[Node, ...] = ()
    declares: tuple[Declared, ...] = ()  # of a declaration; the type of a cast, a literal or sizeof

    def bare(self) -> Node:
        """Without parentheses around it."""
        return self.inner[0].bare() if self.kind == "group" else self


class Function(NamedTuple):
    declared: Declared
    body: Node
    nodes: slice  # of Tree.nodes, for its body
    declarations: slice


class Tree(NamedTuple):
    nodes: list[Node]  # all, each after those in it
    declarations: list[Declared]
    names: dict[int, Declared]  # what a name stands for, for the tokens of names
    values: dict[int, Node]  # of variables, by the token that declares them
    functions: dict[int, Function]  # that are defined, by the token of the body's brace


class _Sign(NamedTuple):
    """An operator or a bracket whose operands are not complete."""

    binds: int  # -1 for a bracket
    kind: str
    at: int
    n: int  # of operands before it
    type: tuple[Declared, ...] = ()


def parse(source: Source) -> Tree | None:
    """The program's tree; None if it is not understood."""
    try:
        return _Parser(source).program()
    except (ValueError, IndexError, RecursionError):
        return None


class _Parser:
    def __init__(self, source: Source) -> None:
        self.source, self.text, self.tokens = source, source.text, source.tokens
        self.i = self.depth = 0
        self.scopes: dict[str, list[Declared]] = {}
        self.opened: list[list[str]] = [[]]  # names that each scope declares
        self.tree = Tree([], [], {}, {}, {})

    def program(self) -> Tree:
        while self.tokens[self.i].kind != "end":
            self.attributes()
            if not self.accept(";"):
                self.declaration("file")
        return self.tree

    # Tokens and scopes.

    def expect(self, sign: str) -> int:
        if not self.accept(sign):
            raise ValueError
        return self.i - 1

    def accept(self, sign: str) -> bool:
        found = self.text[self.i] == sign
        self.i += found
        return found

    def until(self, sign: str) -> Iterator[None]:
        """One turn for each element of a list with commas, up to the bracket that closes it."""
        while not self.accept(sign):
            yield
            if self.text[self.i] != sign:
                self.expect(",")

    def meaning(self, i: int) -> Declared | None:
        found = self.scopes.get(self.text[i])
        return found[-1] if found else None

    def declare(self, one: Declared) -> None:
        if one.name >= 0:
            self.tree.names[one.name] = one
            self.scopes.setdefault(self.text[one.name], []).append(one)
            self.opened[-1].append(self.text[one.name])

    def close(self) -> None:
        for name in self.opened.pop():
            self.scopes[name].pop()

    def node(
        self, kind: str, first: int, at: int, inner: tuple[Node, ...] = (), what: tuple[Declared, ...] = ()
    ) -> Node:
        """A node that ends here."""
        node = Node(kind, first, self.i, at, inner, what)
        self.tree.nodes.append(node)
        return node

    def skip_attributes(self, i: int) -> int:
        while self.text[i] in _OPAQUE:
            i += 1
            while self.text[i] in QUALIFIERS or self.text[i] == "goto":
                i += 1
            i = self.source.skip(i) if self.text[i] == "(" and self.text[i - 1] != "__extension__" else i
        return i

    def attributes(self) -> None:
        self.i = self.skip_attributes(self.i)

    def is_type(self, i: int) -> bool:
        """Whether a declaration or the name of a type begins here."""
        i = self.skip_attributes(i)
        text, meaning = self.text[i], self.meaning(i)
        if text in QUALIFIERS or text in _TYPES or text in RECORDS or text in TYPEOF:
            return True
        return meaning.kind == "typedef" if meaning else text in _NAMED and not self.constructs(i)

    def constructs(self, i: int) -> bool:
        """Whether complex64(...) is a value, and no declaration such as complex64 (*p)[2]."""
        is_call = self.text[i] in COMPLEX and self.text[i + 1] == "("
        return is_call and self.text[self.source.skip(i + 1)] not in ("[", "(")

    # Declarations.

    def specifiers(self, level: str) -> tuple[frozenset[str], tuple[str, ...]]:
        """The words of a declaration, and the parts of the typedef that is named."""
        words: set[str] = set()
        parts: tuple[str, ...] = ()
        while True:
            self.attributes()
            text, meaning, behind = self.text[self.i], self.meaning(self.i), self.tokens[self.i + 1]
            is_name = self.tokens[self.i].kind == "name" and meaning is None and text not in _SIZES
            # An unknown name, where it can only be a type.
            is_type = behind.kind == "name" or (level not in ("block", "type") and behind.text == "*")
            if text in QUALIFIERS or text in _TYPES:
                words.add(text)
                self.i += 1
            elif not words <= QUALIFIERS:
                return frozenset(words), parts
            elif text in RECORDS:
                words.add(text)
                self.record(text == "enum")
            elif text in TYPEOF:
                words.add(text)
                self.i += 1
                self.expect("(")
                self.declaration("type") if self.is_type(self.i) else self.expression()
                self.expect(")")
            elif meaning and meaning.kind == "typedef":
                self.tree.names[self.i] = meaning
                words |= meaning.words - {"typedef"} | {TYPEDEF}
                parts = meaning.parts
                self.i += 1
            elif is_name and (text in _NAMED or (is_type and text not in _STATEMENTS)):
                words.add(text)
                self.i += 1
            elif words:
                return frozenset(words), parts
            else:
                raise ValueError

    def declaration(self, level: str) -> tuple[Declared, ...]:
        """With its semicolon; that of a parameter or type has one declarator, and no semicolon."""
        first, n, m = self.i, len(self.tree.nodes), len(self.tree.declarations)
        words, parts = self.specifiers(level)
        alone, body, found = level in ("parameter", "type"), None, []
        while alone or self.text[self.i] != ";":
            one = self.declarator(level)._replace(first=first, words=words)
            one = one._replace(parts=(one.parts + parts)[:8])  # typedefs of one another make no longer types
            if "typedef" in words:
                one = one._replace(kind="typedef")
            elif one.parts[:1] == ("(",) and not alone:
                one = one._replace(kind="function")
            if level == "member" and self.accept(":"):
                one = one._replace(bits=True)
                self.expression(comma=False)
            self.attributes()
            found.append(one)
            self.tree.declarations.append(one)
            if level not in ("member", "type"):
                self.declare(one)
            if self.text[self.i] == "{" and one.kind == "function":
                self.opened.append([])
                for given in one.parameters:
                    self.declare(given)
                body = self.block()
                self.close()
                parts_of = slice(n, len(self.tree.nodes)), slice(m, len(self.tree.declarations))
                self.tree.functions[body.first] = Function(one, body, *parts_of)
                break
            if self.accept("="):
                self.tree.values[one.name] = self.value()
            if alone or not self.accept(","):
                break
        if not alone and not body:
            self.expect(";")
        return tuple(found)

    def record(self, is_enum: bool) -> None:
        """struct, union or enum, up to its brace that closes."""
        self.i = self.skip_attributes(self.i + 1)
        if self.tokens[self.i].kind == "name":
            self.i = self.skip_attributes(self.i + 1)
        if not self.accept("{"):
            return
        for _ in self.until("}") if is_enum else ():
            self.declare(Declared("constant", self.i, self.i, frozenset(["int"]), ()))
            self.i = self.skip_attributes(self.i + 1)
            if self.accept("="):
                self.expression(comma=False)
        while not is_enum and not self.accept("}"):
            self.attributes()
            if not self.accept(";"):
                self.declaration("member")

    def declarator(self, level: str) -> Declared:
        stars: list[str] = []
        begins = self.i
        while True:
            self.attributes()
            text = self.text[self.i]
            if text == "*":
                stars.append(text)
            elif text not in QUALIFIERS:
                break
            elif stars and text in CONSTANT:
                stars[-1] = "*constant"
            self.i += 1
        inner = Declared(level, 0, -1, frozenset(), ())
        is_list = self.text[self.i + 1] == ")" or self.is_type(self.i + 1)
        if text == "(" and not (level in ("parameter", "type") and is_list):
            self.i += 1
            inner = self.declarator(level)
            self.expect(")")
        elif self.tokens[self.i].kind == "name" and text not in _STATEMENTS:
            inner = inner._replace(name=self.i)
            self.i += 1
        elif level in ("file", "block") or (level == "member" and text != ":"):
            raise ValueError
        parts, bounds, parameters = list(inner.parts), list(inner.bounds), inner.parameters
        while True:
            self.attributes()
            if self.accept("("):
                self.opened.append([])
                given = [self.declaration("parameter")[0] for _ in self.until(")") if not self.accept("...")]
                self.close()
                parameters = parameters or tuple(given)
                parts.append("(")
            elif self.accept("["):
                while self.text[self.i] in QUALIFIERS:
                    self.i += 1
                if self.text[self.i] != "]":
                    bounds.append(self.expression())
                self.expect("]")
                parts.append("[")
            else:
                break
        inner = inner._replace(parts=(*parts, *stars[::-1]), bounds=tuple(bounds), parameters=parameters)
        return inner._replace(begins=begins, ends=self.i)

    def value(self) -> Node:
        """What initialises a variable."""
        if self.text[self.i] != "{":
            return self.expression(comma=False)
        first, values = self.expect("{"), []
        for _ in self.until("}"):
            while self.text[self.i] in (".", "["):
                self.i += 1
                if self.text[self.i - 1] == ".":
                    self.i += 1
                    continue
                self.expression()
                if self.accept("..."):
                    self.expression()
                self.expect("]")
            self.accept("=")
            values.append(self.value())
        return self.node("braces", first, first, tuple(values))

    # Statements.

    def block(self) -> Node:
        first, inner = self.expect("{"), []
        self.opened.append([])
        while not self.accept("}"):
            inner.append(self.statement())
        self.close()
        return self.node("block", first, first, tuple(inner))

    def statement(self) -> Node:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError
        first = self.i
        self.attributes()
        word = self.text[self.i]
        begins = self.tokens[self.i].kind == "name" == self.tokens[self.i + 1].kind and word not in _SIZES
        if word == "{":
            node = self.block()
        elif word in _STATEMENTS:
            self.opened.append([])
            inner = self.pattern(word)
            # A chain of `else if` is one node: conditions and statements in turn, and perhaps a last one.
            while word == "if" and self.accept("else"):
                is_last = self.text[self.i] != "if"
                inner += [self.statement()] if is_last else self.pattern("if")
                if is_last:
                    break
            self.close()
            node = self.node(word, first, first, tuple(inner))
        elif self.tokens[self.i].kind == "name" and self.text[self.i + 1] == ":":
            self.i += 2
            node = self.node("label", first, first)
        elif self.is_type(self.i) or (begins and self.meaning(self.i) is None):
            self.i = first
            declared = self.declaration("block")
            node = self.node("declaration", first, first, (), declared)
        else:
            value = self.expression()
            self.expect(";")
            node = self.node("expression", first, first, (value,))
        self.depth -= 1
        return node

    def pattern(self, word: str) -> list[Node]:
        """A statement that begins with this word."""
        found = []
        self.expect(word)
        for what in _STATEMENTS[word].split():
            if what == "S":
                found.append(self.statement())
            elif what != "E":
                self.expect(what)
            elif self.text[self.i] in (";", ")"):
                found.append(self.node("none", self.i, self.i))
            else:
                found.append(self.expression())
                if self.accept("..."):
                    found.append(self.expression())
        return found

    # Expressions.

    def expression(self, comma: bool = True) -> Node:
        """An expression up to the first token that is none of its own. Brackets are on a stack."""
        operands: list[Node] = []
        signs: list[_Sign] = []
        opened: list[str] = []  # brackets, and the question marks of conditions

        def reduce(least: int) -> None:
            while signs and signs[-1].binds >= least:
                binds, kind, at, _, what = signs.pop()
                n = 1 if binds == _UNARY else 3 if kind == "conditional" else 2
                inner = tuple(operands[-n:])
                del operands[-n:]
                operands.append(self.node(kind, at if n == 1 else inner[0].first, at, inner, what))

        def push(binds: int, kind: str) -> None:
            signs.append(_Sign(binds, kind, self.i, len(operands)))
            if binds < 0:
                opened.append(kind)
            self.i += 1

        while True:
            operands.append(self.operand(signs, push))
            while True:
                text = self.text[self.i]
                if text in ("(", "["):
                    push(-1, "call" if text == "(" else "index")
                    if text == "[" or self.text[self.i] != ")":
                        break
                elif text in ("++", "--", ".", "->"):
                    kind = "postfix" if text in ("++", "--") else "member"
                    self.i += 1 + (kind == "member")
                    operands.append(self.node(kind, operands[-1].first, self.i - 1, (operands.pop(),)))
                elif text == "," and opened and opened[-1] == "call":
                    reduce(0)
                    self.i += 1
                    break
                elif text in _BINDS and (text != "," or comma or opened):
                    reduce(_BINDS[text] + (text in ASSIGNS))
                    push(_BINDS[text], "assign" if text in ASSIGNS else "binary")
                    break
                elif text == "?":
                    reduce(3)
                    push(-1, "conditional")
                    if self.text[self.i] != ":":
                        break
                    operands.append(self.node("none", self.i, self.i))  # GNU's x ?: y
                elif opened and text == _CLOSES[opened.pop()]:
                    reduce(0)
                    self.i += 1
                    sign = signs.pop()
                    if sign.kind == "conditional":
                        signs.append(sign._replace(binds=2))
                        break
                    start = sign.n - (sign.kind != "group")
                    inner = tuple(operands[start:])
                    del operands[start:]
                    first = sign.at if sign.kind == "group" else inner[0].first
                    operands.append(self.node(sign.kind, first, sign.at, inner))
                else:
                    reduce(0)
                    if len(operands) != 1 or signs:
                        raise ValueError
                    return operands[0]

    def operand(self, signs: list[_Sign], push: Callable[[int, str], None]) -> Node:
        """Reads an operand, and the signs and casts in front of it."""
        while True:
            i, token = self.i, self.tokens[self.i]
            text, is_argument = token.text, bool(signs) and signs[-1].kind == "call"
            opened = i + (text in _SIZES)
            if self.text[opened] == "(" and self.is_type(opened + 1):
                self.i = opened + 1
                what = self.declaration("type")
                self.expect(")")
                kind = "literal" if self.text[self.i] == "{" else "cast" if text == "(" else "sizeof"
                if kind != "cast":
                    return self.node(kind, i, i, (self.value(),) if kind == "literal" else (), what)
                signs.append(_Sign(_UNARY, kind, i, 0, what))
            elif text == "(" and self.text[i + 1] == "{":
                self.i += 1
                inner = (self.block(),)
                self.expect(")")
                return self.node("statements", i, i, inner)
            elif text == "(":
                push(-1, "group")
            elif text in _PREFIX or text in _SIZES:
                push(_UNARY, "sizeof" if text in _SIZES else "prefix")
            elif is_argument and (text == "default" or self.is_type(i)):  # _Generic(x, int : 1, default : 2)
                what = () if self.accept("default") else self.declaration("type")
                if not self.accept(":"):
                    return self.node("type", i, i, (), what)
            elif token.kind not in ("sign", "end") and text not in _STATEMENTS and not self.is_type(i):
                self.i += 1
                while token.kind == "string" and self.tokens[self.i].kind == "string":
                    self.i += 1
                meaning = self.meaning(i)
                if token.kind == "name" and meaning is not None:
                    self.tree.names[i] = meaning
                return self.node(token.kind, i, i)
            else:
                raise ValueError
