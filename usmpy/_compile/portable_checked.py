"""Checked kernels: a portable program becomes one that looks at each index before it uses it.

The bounds of a pointer travel beside it (portable_bounds.py); a parameter of a helper that is a pointer is
followed by two others. A failed check is kept in the record of the launch, which is a last, hidden argument
of the kernel (portable_checked.h); usmpy/_kernels/checked.py reads it when the kernel has ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .entry import c_string
from .included import own_text
from .parser import COMPLEX, CONSTANT, Declared, Node, Tree, parse
from .portable_bounds import ANY_ARGUMENT, GLOBAL, UNCHECKED, Pointers
from .portable_front import ATOMICS, WITH_POINTER
from .tokens import Function, Source

_FIRST_BOUND = 42  # word of the record
_BARRIERS = ("barrier", "work_group_barrier")
_ITEM = ", ".join(f"(long)get_global_id({d})" for d in range(3))
_BODY = "usm_ck_of_"  # in front of the name of a kernel that is called
_VOID = ("atomic_init", "atomic_store", "atomic_flag_clear")
# Macros, each on one line, since the text counts as preprocessed. The smallest integer divided by -1 wraps.
_DIVIDE = """\
#define usm_ck_{name}(a, b, line, where) {opened} \
typedef __typeof__(usm_ck_rvalue(usm_ck_n {sign} usm_ck_d)) usm_ck_t; usm_ck_t usm_ck_q = {{0}}; \
const bool usm_ck_whole = (usm_ck_t)0.5f == 0; \
if (usm_ck_whole && usm_ck_d == 0) usm_ck_fail(usm_ck, 2, -1, 0, 0, 0, line, where); \
else if (usm_ck_whole && (usm_ck_t)-1 < 0 && usm_ck_d + 1 == 0) usm_ck_q = {wraps}; \
else usm_ck_q = usm_ck_n {sign} usm_ck_d; {closed}
"""


def _macros(opened: str, closed: str) -> str:
    """closed: with / for the operator."""
    text = _DIVIDE.format(name="divided", sign="/", wraps="0 - usm_ck_n", opened=opened, closed=closed)
    closed = closed.replace("/", "%")
    return text + _DIVIDE.format(name="remainder", sign="%", wraps="0", opened=opened, closed=closed)


# For the host, for drivers and for CUDA, which also has some in cuda_prelude.cuh.
HOST = _macros("({ __auto_type usm_ck_n = (a); __auto_type usm_ck_d = (b);", "usm_ck_q; })")
HOST += "#define usm_ck_rvalue(x) ((void)0, (x))\n"
DRIVER = HOST + "#define usm_ck_wait(flags, line) (barrier(flags), 0)\n"
_WHOLE = "[&](auto usm_ck_n, auto usm_ck_d) { if constexpr (requires { usm_ck_n % usm_ck_d; }) {"
CUDA = _macros(_WHOLE, "return usm_ck_q; } else return usm_ck_n / usm_ck_d; }((a), (b))")
CUDA = CUDA.replace("__typeof__", "decltype")
_DIVISIONS = {"/": "divided", "%": "remainder", "/=": "divided", "%=": "remainder"}


class _Writer:
    def __init__(self, source: Source, tree: Tree) -> None:
        self.source, self.text, self.tree, self.names = source, source.text, tree, tree.names
        self.pointers = Pointers(source, tree)
        self.n = 0  # of temporary variables
        self.called: set[str] = set()

    # The program.

    def write(self) -> str:
        at, functions = 0, self.source.functions()
        out = "".join(self.source.out[: self.source.index[0]])
        self.called = self.calls_of({function.name for function in functions if function.kernel})
        for function in functions:
            if (one := self.names.get(function.named)) is None or one.kind != "function":
                continue
            is_entry = function.kernel and function.name not in self.called
            if function.kernel and not is_entry:
                out += self.raw(at, function.start) + f"static void {_BODY}{function.name}("
                out += self.blanks(function.start, function.opened + 1)
            else:
                out += self.raw(at, function.opened + 1)
            out += self.head(function, one, is_entry)
            at = function.closed
            if function.body < 0:
                continue
            out += self.raw(at, function.body + 1) + (self.beginning(one) if is_entry else "")
            out += self.inside(self.tree.functions[function.body].body, function.body + 1)
            out += self.entry(function, one) if function.kernel and not is_entry else ""
            at = function.end + 1
        return out + self.raw(at, len(self.text))

    def calls_of(self, kernels: set[str]) -> set[str]:
        """Kernels that other functions call: their bodies become functions."""
        calls = (node.inner[0].at for node in self.tree.nodes if node.kind == "call")
        return {self.text[i] for i in calls if self.text[i] in kernels and i in self.names}

    def head(self, function: Function, one: Declared, is_entry: bool) -> str:
        """The parameters, with those that are hidden."""
        pieces = self.source.split(function.opened + 1, function.closed)
        found = [] if is_entry else ["struct usm_ck *usm_ck"]
        for (first, last), given in zip(pieces, one.parameters, strict=False):
            found += [self.raw(first, last)] * (self.text[first:last] != ["void"])
            if self.pointers.is_pointer_variable(given):
                self.pointers.bounded.add(given.name)
                names = self.pointers.pair(given) if given.name >= 0 else ("", "")
                found += [f"ulong {name}" for name in names] * (not is_entry)
        return ", ".join([*found, *["global long *usm_ck_record"] * is_entry])

    def entry(self, function: Function, one: Declared) -> str:
        """The kernel of a body that is a function, on one line."""
        words = " ".join(self.text[function.start : function.opened + 1])
        given = ["usm_ck"]
        for parameter in one.parameters:
            is_pointer = parameter.name in self.pointers.bounded
            given += [self.text[parameter.name]] * (parameter.name >= 0)
            given += self.pointers.pair(parameter) if is_pointer else ()
        head = " ".join(self.head(function, one, True).split())
        call = f"{_BODY}{function.name}({', '.join(given)});"
        return f" {words}{head}) {{ {self.beginning(one)}{call} }}"

    def beginning(self, one: Declared) -> str:
        """Of a kernel: the bounds of its arguments."""
        ends, variables, n = [], "", len(one.parameters)
        for k, given in enumerate(one.parameters):
            is_pointer, word = given.name in self.pointers.bounded, _FIRST_BOUND + 2 * k
            base = f"(ulong){self.text[given.name]} + " if is_pointer else "0 * "
            ends += [f"{base}(ulong)usm_ck_record[{word}]", f"{base}(ulong)usm_ck_record[{word + 1}]"]
            lo, hi = self.pointers.pair(given)
            if is_pointer:
                variables += f" ulong {lo} = usm_ck_ends[{2 * k}], {hi} = usm_ck_ends[{2 * k + 1}];"
        return (
            f" ulong usm_ck_ends[] = {{{', '.join(ends) or '0'}}};"
            f" struct usm_ck usm_ck_own = {{usm_ck_record, usm_ck_ends, {n}, {{{_ITEM}}}}},"
            " *usm_ck = &usm_ck_own; (void)usm_ck;"
            f"{variables} "
        )

    def inside(self, body: Node, at: int) -> str:
        out = ""
        for statement in body.inner:
            out += self.raw(at, statement.first) + self.value(statement)
            at = statement.last
        return out + self.raw(at, body.last)

    # Tokens.

    def raw(self, first: int, last: int) -> str:
        index = self.source.index
        end = index[last] if last < len(index) else len(self.source.out)
        return "".join(self.source.out[index[first] : end]) if first < last else ""

    def blanks(self, first: int, last: int) -> str:
        """What is between tokens that are not written."""
        all, index = self.source.all, self.source.index
        found = [all[i] for i in range(index[first], index[last])]
        return "".join(token.text for token in found if token.kind in ("blank", "directive"))

    def site(self, node: Node, base: Node | None = None) -> str:
        token, name = self.source.tokens[node.at], self.name_of(base) if base else ""
        return f"{token.line}, {c_string(f'{name[:100]}|{token.file[-150:]}')}"

    def name_of(self, place: Node) -> str:
        """The variable that a place is part of, or "". portable_complex.py writes usm_p for a place."""
        while place.kind in ("group", "index", "member", "prefix", "cast"):
            place = place.inner[0]
        name = self.text[place.at] if place.kind == "name" else ""
        one = self.names.get(place.at) if name == "usm_p" else None
        given = self.tree.values.get(one.name) if one else None
        return self.name_of(given) if given else name

    def number(self) -> int:
        self.n += 1
        return self.n

    # Statements and values.

    def value(self, node: Node) -> str:
        kind, sign = node.kind, self.text[node.at]
        if kind == "case":
            return self.plain(node, 1)
        if kind == "sizeof":
            return self.place(node)
        if kind == "declaration":
            return self.declaration(node)
        if kind == "for" and node.inner[0].kind == "declaration":
            head = node.inner[0]  # in front of the loop, with the bounds of its pointers
            out = f"{{ {self.declaration(head)} {self.raw(node.first, head.first)};"
            return f"{out}{self.parts(node.inner[1:], head.last, node.last)} }}"
        if kind in ("index", "member") or (kind == "prefix" and sign == "*"):
            return self.read(node)
        if kind == "prefix" and sign == "&":
            return self.raw(node.first, node.first + 1) + self.place(node.inner[0])
        if kind == "assign":
            return self.assign(node)
        if kind in ("postfix", "prefix") and sign in ("++", "--"):
            return self.step(node, sign)
        if kind == "binary":
            return self.binary(node)
        return self.call(node) if kind == "call" else self.plain(node)

    def plain(self, node: Node, skipped: int = 0) -> str:
        return self.parts(node.inner[skipped:], node.first, node.last)

    def parts(self, nodes: Sequence[Node], at: int, last: int) -> str:
        out = ""
        for part in nodes:
            out += self.raw(at, part.first) + self.value(part)
            at = part.last
        return out + self.raw(at, last)

    def binary(self, node: Node) -> str:
        chain = []
        while node.kind == "binary":  # a + b + c + ...
            chain.append(node)
            node = node.inner[0]
        out = self.value(node)
        for one in reversed(chain):
            left, right = one.inner
            sign, given = self.text[one.at], self.value(right)
            if sign in ("/", "%") and not self.is_safe(right):
                between = self.blanks(left.last, right.first)
                out = f"usm_ck_{_DIVISIONS[sign]}({out}, {between}{given}, {self.site(one)})"
            else:
                out += self.raw(left.last, right.first) + given
        return out

    def is_safe(self, node: Node) -> bool:
        """Whether a divisor is a number that is not zero."""
        node = node.bare()
        return node.kind == "number" and bool(set(self.text[node.at].lower().rstrip("ul")) - set("0x.fe"))

    def declaration(self, node: Node) -> str:
        """With the bounds of the pointers in it."""
        out, at, more = "", node.first, ""
        for one in node.declares:
            given = self.tree.values.get(one.name)
            is_kept = one.kind == "block" and not one.words & CONSTANT
            if given is not None and is_kept and given.kind != "string":
                out += self.raw(at, given.first) + self.value(given)
                at = given.last
            if is_kept and self.pointers.is_pointer_variable(one):
                name = self.text[one.name]
                if given is None:
                    lo, hi = ANY_ARGUMENT if one.words & GLOBAL else UNCHECKED
                else:
                    lo, hi = self.pointers.bounds(given, f"(ulong){name}")
                self.pointers.bounded.add(one.name)
                more += f" ulong usm_lo_{name} = {lo}, usm_hi_{name} = {hi};"
        return f"{out}{self.raw(at, node.last - 1)};{more}{self.blanks(node.last - 1, node.last)}"

    # Places in memory.

    def place(self, node: Node) -> str:
        """A place whose address is taken, which may be that behind the end."""
        if node.kind == "group":
            inner = node.inner[0]
            return self.raw(node.first, inner.first) + self.place(inner) + self.raw(inner.last, node.last)
        if node.kind == "sizeof" and node.inner:
            return self.raw(node.first, node.inner[0].first) + self.place(node.inner[0])
        if node.kind not in ("index", "member", "prefix"):
            return self.plain(node) if node.kind in ("name", "sizeof") else self.value(node)
        base = node.inner[0]
        is_inside = self.pointers.is_array(base) if node.kind != "member" else self.text[node.at - 1] == "."
        out = self.raw(node.first, base.first)
        out += self.place(base) if is_inside else f"({self.value(base)})"
        return out + self.parts(node.inner[1:], base.last, node.last)

    def checked(self, node: Node) -> tuple[str, list[str], str]:
        """(statements before, tests, the place). The place has no effects."""
        kind, sign = node.kind, self.text[node.at - (node.kind == "member")]
        if kind == "group":
            inner = node.inner[0]
            before, tests, place = self.checked(inner)
            return before, tests, self.blanks(node.first, inner.first) + place
        if kind == "member":
            base, behind = node.inner[0], self.blanks(node.inner[0].last, node.last)
            before, tests, place = self.checked(base) if sign == "." else self.pointed(base, base)
            return before, tests, f"{place}{behind}.{self.text[node.at]}"
        if kind == "index":
            base, index = node.inner
            front, behind = self.blanks(base.last, index.first), self.blanks(index.last, node.last)
            before, tests, place = self.element(base, node, f"({front}{self.value(index)}) | 0")
            return before, tests, place + behind
        if kind == "prefix" and sign == "*":
            return self.pointed(node.inner[0], node)
        return "", [], self.value(node)

    def pointed(self, pointer: Node, at: Node) -> tuple[str, list[str], str]:
        """The same for what a pointer points to: *&x is x, and *(p + i) is p[i]."""
        bare = pointer.bare()
        front = self.blanks(at.first, bare.first)
        if bare.kind == "prefix" and self.text[bare.at] == "&":
            before, tests, place = self.checked(bare.inner[0])
        elif bare.kind == "binary" and self.text[bare.at] in ("+", "-"):
            left, right = bare.inner
            is_right = not self.pointers.sources_of(left) and bool(self.pointers.sources_of(right))
            base, index = (right, left) if is_right else (left, right)
            between = self.blanks(left.last, right.first)
            minus = "-" if self.text[bare.at] == "-" else ""
            before, tests, place = self.element(base, at, f"{between}{minus}(({self.value(index)}) | 0l)")
        else:
            before, tests, place = self.element(pointer, at, "0")
        return front + before, tests, place + self.blanks(bare.last, at.last)

    def element(self, base: Node, at: Node, index: str) -> tuple[str, list[str], str]:
        """The same for an element of an array, or behind a pointer."""
        k, address = self.number(), f"(ulong)usm_ck_p{self.n}"
        if self.pointers.is_array(base):
            before, tests, place = self.checked(base)
            before += f"long usm_ck_i{k} = {index}; "
            where = f"sizeof({place}) / sizeof({place}[0]), {self.axis(base)}, {self.site(at, base)}"
            return before, [*tests, f"usm_ck_in(usm_ck, usm_ck_i{k}, {where})"], f"{place}[usm_ck_i{k}]"
        lo, hi = self.pointers.bounds(base, address)
        before = f"__auto_type usm_ck_p{k} = ({self.value(base)}); long usm_ck_i{k} = {index}; "
        where = f"{address}, sizeof(*usm_ck_p{k}), usm_ck_i{k}, {self.site(at, base)}"
        return before, [f"usm_ck_at(usm_ck, {lo}, {hi}, {where})"], f"usm_ck_p{k}[usm_ck_i{k}]"

    def axis(self, node: Node) -> int:
        node = node.bare()
        return 1 + self.axis(node.inner[0]) if node.kind == "index" else 0

    def guarded(self, node: Node, use: Callable[[str], str]) -> str:
        """use(place) if the place is in bounds, else 0. node is the place."""
        before, tests, place = self.checked(node)
        if not tests:
            return use(place)
        k = self.number()
        return (
            f"({{ {before}__typeof__(usm_ck_rvalue({place})) usm_ck_r{k} = {{0}}; "
            f"if ({' && '.join(tests)}) usm_ck_r{k} = ({use(place)}); usm_ck_r{k}; }})"
        )

    def read(self, node: Node) -> str:
        return self.guarded(node, lambda place: place)

    def step(self, node: Node, sign: str) -> str:
        target, is_prefix = node.inner[0], node.kind == "prefix"
        if target.bare().kind == "name":
            return self.plain(node)
        text = self.guarded(target, lambda place: f"{sign}{place}" if is_prefix else f"{place}{sign}")
        gap = (node.first, target.first) if is_prefix else (target.last, node.last)
        return text + self.blanks(*gap)

    def assign(self, node: Node) -> str:
        target, right = node.inner
        sign, name = self.text[node.at], target.bare()
        gap, given = self.blanks(target.last, right.first), self.value(right)
        type = self.pointers.types.type_of(target)
        is_complex = bool(type and not type[1] and type[0] & COMPLEX)  # on CUDA alone
        is_division = sign in ("/=", "%=") and not is_complex and not self.is_safe(right)
        if name.kind == "name":
            word, one = self.text[name.at], self.names.get(name.at)
            if is_division:
                return f"{word} = usm_ck_{_DIVISIONS[sign]}({word}, {gap}{given}, {self.site(node)})"
            text = f"{self.raw(node.first, right.first)}{given}"
            if sign != "=" or one is None or one.name not in self.pointers.bounded:
                return text
            lo, hi = self.pointers.bounds(right, f"(ulong){word}")
            if (lo, hi) == self.pointers.pair(one):
                return text
            k = self.number()
            return (
                f"({{ {text}; ulong usm_ck_l{k} = {lo}, usm_ck_h{k} = {hi}; "
                f"usm_lo_{word} = usm_ck_l{k}; usm_hi_{word} = usm_ck_h{k}; {word}; }})"
            )
        before, tests, place = self.checked(target)
        if not tests and not is_division:
            return f"{place} {sign} {gap}{given}"
        k = self.number()
        kind = f"__typeof__(usm_ck_rvalue({place}))"
        use = f"{place} {sign} usm_ck_v{k}"
        if is_division:
            use = f"{place} = usm_ck_{_DIVISIONS[sign]}({place}, usm_ck_v{k}, {self.site(node)})"
        of_value = kind if sign == "=" else "__auto_type"
        return (
            f"({{ {before}{of_value} usm_ck_v{k} = {gap}{given}; {kind} usm_ck_r{k} = {{0}}; "
            f"if ({' && '.join(tests) or 1}) usm_ck_r{k} = ({use}); usm_ck_r{k}; }})"
        )

    # Calls.

    def call(self, node: Node) -> str:
        called, *given = node.inner
        name, one = self.text[called.at], self.names.get(called.at)
        if called.kind != "name" or name == "_Generic":
            return self.raw(node.first, node.last)
        if one is not None and one.kind == "function":
            return self.own_call(node, one, given)
        if name in ATOMICS and given:
            return self.atomic(node, name, given)
        if name in WITH_POINTER and len(given) > 1:
            return self.through_pointer(node, given)
        if name.startswith(("vload_half", "vstore_half")) and len(given) > 1:
            return self.half(node, name, given)
        if name == "usm_c_div":  # of portable_complex.h
            return f"usm_ck_div({self.parts(given, called.last + 1, node.last - 1)}, {self.site(node)})"
        if name in _BARRIERS:
            site = self.site(node)
            return (
                f"(usm_ck_wait({self.plain_list(node, given)}, {site.partition(',')[0]}) ? "
                f"usm_ck_fail(usm_ck, 3, -1, 0, 0, 0, {site}) : (void)0)"
            )
        return self.plain(node)

    def plain_list(self, node: Node, given: Sequence[Node]) -> str:
        return self.parts(given[:1], node.inner[0].last + 1, given[0].last) if given else "1"

    def own_call(self, node: Node, one: Declared, given: Sequence[Node]) -> str:
        called = node.inner[0]
        name = self.text[called.at]
        out = (_BODY + name if name in self.called else name) + self.raw(called.last, called.last + 1)
        out, at, before = out + "usm_ck", called.last + 1, ""
        for k, part in enumerate(given):
            out += ", " + self.blanks(at, part.first)
            at, text = part.last, self.value(part)
            if k < len(one.parameters) and self.pointers.is_pointer_variable(one.parameters[k]):
                if len(self.pointers.bases(part)) > 1:
                    n = self.number()
                    before += f"__auto_type usm_ck_a{n} = ({text}); "
                    text = f"usm_ck_a{n}"
                lo, hi = self.pointers.bounds(part, f"(ulong){text}")
                text = f"{text}, {lo}, {hi}"
            out += text
        out += self.blanks(at, node.last - 1) + self.raw(node.last - 1, node.last)
        return f"({{ {before}{out}; }})" if before else out

    def atomic(self, node: Node, name: str, given: Sequence[Node]) -> str:
        before, tests, place = self.pointed(given[0], given[0])
        call = f"{self.raw(node.first, given[0].first)}&{place}"
        call += self.parts(given[1:], given[0].last, node.last)
        return self.result(before, tests, call, place, not name.startswith(_VOID))

    def result(self, before: str, tests: list[str], call: str, place: str, has_value: bool) -> str:
        """A call that is left out where a test fails; its value has the type of the place."""
        k, test = self.number(), " && ".join(tests) or "1"
        if not has_value:
            return f"({{ {before}if ({test}) {call}; }})"
        variable = f"__typeof__(usm_ck_rvalue({place} + 0)) usm_ck_r{k} = {{0}};"
        return f"({{ {before}{variable} if ({test}) usm_ck_r{k} = {call}; usm_ck_r{k}; }})"

    def through_pointer(self, node: Node, given: Sequence[Node]) -> str:
        """A built-in function that writes where its last argument points: by way of a variable."""
        last, k = given[-1], self.number()
        before, tests, place = self.pointed(last, last)
        head, tail = self.parts(given[:-1], node.first, last.first), self.raw(last.last, node.last)
        variable = f"__typeof__(usm_ck_rvalue({place})) usm_ck_d{k} = {{0}};"
        return (
            f"({{ {before}{variable} __auto_type usm_ck_r{k} = {head}&usm_ck_d{k}{tail}; "
            f"if ({' && '.join(tests) or 1}) {place} = usm_ck_d{k}; usm_ck_r{k}; }})"
        )

    def half(self, node: Node, name: str, given: Sequence[Node]) -> str:
        """vload_half(i, p), vstore_half(x, i, p)"""
        index, base = given[-2:]
        before, tests, place = self.element(base, node, f"({self.value(index)}) | 0")
        head = self.parts(given[:-2], node.first, index.first)
        call = f"{head}0, &{place}{self.raw(base.last, node.last)}"
        return self.result(before, tests, call, "0.0f", name.startswith("vload"))


# Behind a program that the parser does not understand: compilers tell first what is wrong with it.
_UNREAD = """
# 1 "<usmpy>" 3
_Static_assert(0, "the program has a construct that cannot be checked; build it without check");
"""


def rewrite(text: str, macros: str) -> str:
    """The checked program, for the text of a preprocessed one. macros: of the backend. Raises Refused."""
    source = Source(text)
    tree = parse(source)
    try:
        body = _Writer(source, tree).write() if tree is not None else text + _UNREAD
    except RecursionError:
        body = text + _UNREAD
    front = re.sub(r"/\*.*?\*/", "", own_text("portable_checked.h"), flags=re.S)
    return f'# 1 "<usmpy>" 3\n{macros}{front}{body}'
