"""The parser understands every program that a compiler builds, and tells apart what C spells alike."""

import ast
import json
import pathlib
import random
import re

import pytest
from draws import seeds
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import PROGRAMS

from usmpy import _core
from usmpy._compile import compiler, cuda, host, portable
from usmpy._compile.parser import parse
from usmpy._compile.portable_constants import CONSTANTS
from usmpy._compile.preprocessor import preprocess
from usmpy._compile.tokens import Refused, Source

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = re.compile(r"\bkernel\s[^;{}]*\bvoid\b")


class Wishes:
    version, defined, folders, included = "120", [], [str(ROOT / "csrc" / "kernels" / "src")], []


def in_python(text):
    """Strings of a Python file."""
    parsed = ast.parse(text)
    within = {
        id(value) for node in ast.walk(parsed) if isinstance(node, ast.JoinedStr) for value in node.values
    }
    return [
        node.value
        for node in ast.walk(parsed)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within
    ]


def in_page(text):
    """C's blocks of a page, and the strings of Python's blocks."""
    found = []
    for language, block in re.findall(r"^```(\w+)[^\n]*\n(.*?)^```", text, re.M | re.S):
        if language in ("c", "opencl"):
            found.append(block)
        elif language == "python" and ">>>" not in block:
            found += in_python(block)
    return found


def in_notebook(text):
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return [
        string for cell in cells for string in in_python(re.sub(r"(?m)^[%!].*", "", "".join(cell["source"])))
    ]


READERS = {".py": in_python, ".md": in_page, ".ipynb": in_notebook, ".cl": lambda text: [text]}
FOLDERS = ["tests", "docs", "benchmarks", "usmpy", "csrc/kernels"]


def collected():
    """All programs in the repository that could be portable."""
    paths = [ROOT / "README.md"]
    paths += sorted(
        path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in READERS
    )
    found = {}
    for path in paths:
        for text in READERS[path.suffix](path.read_text(encoding="utf-8")):
            if KERNEL.search(text):
                found.setdefault(text, str(path.relative_to(ROOT)))
    return found


def tree_of(text, translate=lambda text: text):
    return parse(Source(translate(preprocess(text, CONSTANTS, Wishes))))


def test_every_program_is_understood_or_does_not_build():
    understood = 0
    for text, place in collected().items():
        try:
            tree, in_cuda = tree_of(text), tree_of(text, cuda._in_cpp)
        except Refused:
            continue
        assert (tree is None) == (in_cuda is None), (place, text)
        understood += tree is not None
        if tree is None:
            with pytest.raises(compiler.CompileError):
                compiler.build(text, "portable")
    assert understood > 180


@pytest.mark.parametrize("compute", [1, 3, 6, 8, 10, 11, 12, 13])
def test_kernels_of_our_own(compute):
    for name, source in _core._kernel_sources()[0].items():
        for mode in ("#define USM_HAS_FP64\n", "#define USM_SERIAL\n"):
            types = f"#define USM_DST int32\n#define USM_SRC float32\n#define USM_COMPUTE {compute}\n"
            assert tree_of(mode + types + source.decode()) is not None, name


HEADERS = ["stdint", "stddef", "stdio", "stdlib", "string", "math", "limits", "float", "complex", "time"]


def test_headers_of_the_system():
    source = (
        "".join(f"#include <{name}.h>\n" for name in HEADERS) + "kernel void f(global int *x) { x[0] = 1; }"
    )
    text = host._preprocess(compiler.find_compiler(), host._split_options(""), CONSTANTS, source, "s")
    tree = parse(Source(text))
    assert tree is not None
    assert len(tree.declarations) > 500
    assert len(list(tree.functions.values())[-1].declared.parameters) == 1


def shown(node, text):
    """An expression with a parenthesis around each part."""
    inner = [shown(part, text) for part in node.inner]
    if node.kind in ("name", "number", "char", "string", "none"):
        return "".join(text[node.first : node.last])
    if node.declares:
        sizes = sum(len(one.bounds) for one in node.declares)
        return f"{node.kind}{sizes or ''}({', '.join(inner)})"
    if node.kind in ("binary", "assign"):
        return f"({inner[0]} {text[node.at]} {inner[1]})"
    if node.kind == "block":
        return "block()"
    if node.kind in ("prefix", "postfix", "member"):
        return f"{node.kind} {text[node.at]}({inner[0]})"
    return f"{node.kind}({', '.join(inner)})"


EXPRESSIONS = {
    # T is a type, and the other names are variables.
    "(T) - a": "cast(prefix -(a))",
    "(a) - b": "(group(a) - b)",
    "(T) & a": "cast(prefix &(a))",
    "(T) * a[1]": "cast(prefix *(index(a, 1)))",
    "(a)(b)": "call(group(a), b)",
    "(T)(a)(b)": "cast(call(group(a), b))",
    "sizeof(T) * a": "(sizeof() * a)",
    "sizeof(a) * b": "(sizeof(group(a)) * b)",
    "sizeof a[0] - 1": "(sizeof(index(a, 0)) - 1)",
    "sizeof(T[4])": "sizeof1()",
    "sizeof(T){1}.x": "member x(literal(braces(1)))",
    "(T[2]){a, b}[1]": "index(literal1(braces(a, b)), 1)",
    "(T (*)[3])a": "cast1(a)",
    "a = b = c += 1": "(a = (b = (c += 1)))",
    "a ? b : c ? d : e": "conditional(a, b, conditional(c, d, e))",
    "a ? b, c : d": "conditional(a, (b , c), d)",
    "a ?: b": "conditional(a, , b)",
    "a + b << c - d < e == f & g": "(((((a + b) << (c - d)) < e) == f) & g)",
    "a & b ^ c | d && e || f": "(((((a & b) ^ c) | d) && e) || f)",
    "a - b - c": "((a - b) - c)",
    "a << b << c": "((a << b) << c)",
    "-a * !b & ~c": "((prefix -(a) * prefix !(b)) & prefix ~(c))",
    "a && &b": "(a && prefix &(b))",
    "*a++ = --*b": "(prefix *(postfix ++(a)) = prefix --(prefix *(b)))",
    "a.b->c[1].d++": "postfix ++(member d(index(member c(member b(a)), 1)))",
    "f(a, (b, c), g())": "call(f, a, group((b , c)), call(g))",
    "f(a ? b, c : d, e)": "call(f, conditional(a, (b , c), d), e)",
    "_Generic(a, T : b, default : c, T * : d)": "call(_Generic, a, b, c, d)",
    "vec_step(T) + f((T)a, (b))": "(call(vec_step, type()) + call(f, cast(a), group(b)))",
    "({ T a = 1; a; }) + b": "(statements(block()) + b)",
    "(__extension__ ({ 1; }))": "group(prefix __extension__(statements(block())))",
    '"a" "b"[0] + \'c\'': '(index("a""b", 0) + \'c\')',
    "(__typeof__(a))b": "cast(b)",
    "(__attribute__((x)) const T *)b": "cast(b)",
    "a, b": "(a , b)",
}


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items(), ids=EXPRESSIONS)
def test_expressions(text, expected):
    source = Source(f"typedef int T; void f(void) {{ {text}; }}")
    tree = parse(source)
    assert tree is not None
    (statement,) = next(iter(tree.functions.values())).body.inner
    assert shown(statement.inner[0], source.text) == expected


def test_a_name_is_what_the_innermost_scope_says():
    source = Source(
        "typedef int T; void f(int x) { T * a; { int T = 3; T * x; for (float x; ; ) x; } T * b; x; T: ; }"
    )
    tree = parse(source)
    assert [node.kind for node in next(iter(tree.functions.values())).body.inner] == [
        "declaration", "block", "declaration", "expression", "label", ";",
    ]  # fmt: skip
    kinds = [tree.names[i].kind for i, word in enumerate(source.text) if word == "x" and i in tree.names]
    assert kinds == ["parameter", "parameter", "block", "block", "parameter"]


# What is declared: kind and parts, from the inside, of each name.
DECLARATIONS = {
    "int a, *b, c[2], (*d)[3], *e[4], (f), **g[1][2];": "file;file *;file [;file *[;file [*;file;file [[**",
    "int f(int, int a[4], ...), (*g)(T), *h(void), (*i[2])(int (*)(int), T (*)[3]);": "function (;file *(;"
    "function (*;file [*(",
    "int (*f(int))[3];": "function (*[",
    "T a; P b; P *c, d[2];": "file;file *;file **;file [*",
    "typedef P Q[2];": "typedef [*",
    "int constant *constant a; int *restrict const b;": "file *constant;file *",
    '__attribute__((aligned(64))) int a __attribute__((unused)), b __asm__("c") = 3;': "file;file",
    "_Alignas(16) const unsigned long long int a; long unsigned b;": "file;file",
    "static inline int g(void) { return 1; } int (*h)(void);": "function (;file *(",
    "undefined a; undefined *b; const c = 3;": "file;file *;file",
    "int uint; uint * b;": None,
    "struct s { int x; } a; union u *b; enum e { A, B = A + 1, } c; enum { C };": "file;file *;file",
    "kernel __attribute__((vec_type_hint(T))) void f(global const T *restrict x, T) {}": "function (",
    "typeof(int[3]) a; __typeof__(1 + 2) *b; __auto_type c = 1;": "file;file *;file",
    '_Static_assert(1, "a"); ;; struct s;': "",
    "int a[] = { [2] = 1, [4 ... 6] = 2, { 3 } }, b = { .x.y[1] = 3 };": "file [;file",
}


@pytest.mark.parametrize(("text", "expected"), DECLARATIONS.items(), ids=DECLARATIONS)
def test_declarations(text, expected):
    tree = parse(Source("typedef int T, *P;\n" + text))
    if expected is None:
        assert tree is None
        return
    declared = [one for one in tree.declarations[2:] if one.kind not in ("parameter", "member", "type")]
    assert ";".join(f"{one.kind} {''.join(one.parts)}".strip() for one in declared) == expected


STATEMENTS = {
    '_Pragma("unroll 2") for (;;) ; { _Pragma("unroll") while (0) ; }': "for block",
    "if (a) if (b) c; else d; else if (e) f; else { g; }": "if",
    "for (int i = 0, j; i < 3; i++, j--) for (;;) ;": "for",
    "do x++; while (0); while (x) ;": "do while",
    "switch (a) { case 1 ... 3: float t[4]; case (T)4: break; default: T x; }": "switch",
    "l: __attribute__((unused)) int a; goto l; return; return (1);": "label declaration goto return return",
    '__attribute__((opencl_unroll_hint(2))) for (;;) continue; asm volatile("" : : : "memory");': "for ;",
    "undefined y; y = 1; T (x) = 3;": "declaration expression declaration",
    '__extension__ T b; _Static_assert(1, "a"); { }': "declaration ; block",
    "T g(int); goto *p; struct s { int a : 3, : 0, b[2]; } v;": "declaration goto declaration",
}


@pytest.mark.parametrize(("text", "expected"), STATEMENTS.items(), ids=STATEMENTS)
def test_statements(text, expected):
    tree = parse(Source(f"typedef int T; void f(void) {{ {text} }}"))
    assert " ".join(node.kind for node in next(iter(tree.functions.values())).body.inner) == expected


# A text, what is repeated in place of its @, and # for the number.
LONG = {
    "assignments": ("x = @c;", "y = "),
    "conditions": ("x = @c;", "a ? b : "),
    "signs": ("x = @1;", "- !"),
    "branches": ("@;", "if (a) b; else "),
    "arguments": ("f(@1);", "1, (2), "),
    "operands": ("x = @1;", "1 + 2 << "),
    "names": ("int @z;", "a# = #, "),
    "blocks": ("@", "{ int b = 1; b; }"),
    "types": ("@", "typedef int t#; t# v#;"),
}


@pytest.mark.parametrize("shape", LONG)
def test_long_programs_are_understood(shape):
    text, repeated = LONG[shape]
    text = text.replace("@", "".join(repeated.replace("#", str(i)) for i in range(3000)))
    assert parse(Source(f"void f(int x, int y) {{ {text} }}")) is not None


# What opens, what is innermost, and what closes.
DEEP = {
    "parentheses": ("x = ", "(", "1", ")", ";"),
    "calls": ("x = f", "(", "1", ")", ";"),
    "casts": ("x = ", "(int)(3 + ", "1", ")", ";"),
    "signs": ("x = ", "- ", "1", "", ";"),
    "blocks": ("", "{", ";", "}", ""),
    "loops": ("", "for (;;) ", ";", "", ""),
    "branches": ("", "if (x) ", ";", "", ""),
    "declarators": ("int ", "(", "a", ")", ";"),
    "braces": ("int a[] = ", "{", "1", "}", ";"),
    "statements in expressions": ("x = ", "({ ", "1", "; })", ";"),
    "structs": ("", "struct { ", "int a;", "} b;", ""),
}


@pytest.mark.parametrize("shape", DEEP)
def test_programs_that_nest_deeply(shape):
    before, opens, within, closes, behind = DEEP[shape]
    for depth in (40, 120, 240, 400, 5000):
        text = f"void f(int x) {{ {before}{opens * depth}{within}{closes * depth}{behind} }}"
        try:
            source = Source(text)
        except Refused as error:
            refused = error.message
        else:
            assert parse(source) is not None or depth > 100
            continue
        assert depth > 100
        assert refused == "brackets are nested more than 250 deep"


@pytest.mark.parametrize("seed", seeds(2))
def test_programs_with_changes_raise_nothing(seed):
    rng = random.Random(seed)
    for program in PROGRAMS:
        words = re.findall(r"\w+|[^\w\s]|\n", program.source)
        for _ in range(10):
            changed = list(words)
            changed[rng.randrange(len(words))] = rng.choice([*words, "", "(", ")", "{", "}", "=", "int"])
            try:
                source = Source(" ".join(changed))
            except Refused:
                continue
            parse(source)


@given(st.lists(st.sampled_from([*"(){}[];,*&=:?.+-", "int", "x", "1", "struct", "sizeof", "->", "if", "T"])))
@settings(max_examples=300)
def test_any_tokens_raise_nothing(words):
    try:
        source = Source("typedef int T; void f(void) { " + " ".join(words) + " }")
    except Refused:
        return
    parse(source)


def test_what_the_parser_lacks_still_builds():
    lacking = "struct { int a; } s = { a: 3 };"
    source = f"kernel void f(global int *x) {{ {lacking} int t[2]; t[1] = s.a; x[0] = t[1]; }}"
    assert parse(Source(source)) is None
    assert "kernel void" not in portable.translate(source, "s")
    compiler.build(source, "portable")
