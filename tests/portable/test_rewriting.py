"""Sources in any spelling: blanks, comments, continued lines, and text that is no program at all."""

import random

import numpy as np
import pytest
from draws import seeds
from host_kernels import Local, build
from hypothesis import given, settings
from hypothesis import strategies as st

from usmpy._compile import compiler, portable
from usmpy._compile.tokens import Source, tokenize

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")

PIECES = [
    "kernel",
    "__kernel",
    "void",
    "f",
    "g",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ",",
    "*",
    "global",
    "local",
]
PIECES += [
    "int",
    "x",
    "=",
    "1",
    "&",
    "return",
    "get_global_id",
    "barrier",
    "constant",
    "const",
    "struct",
    "1.0h",
]
PIECES += [
    '"a{"',
    "'('",
    "__attribute__((aligned(4)))",
    "__attribute__",
    "typedef",
    "\n",
    '\n# 7 "a"\n',
    "->",
]
PIECES += [
    "\n#pragma unroll 3\n",
    "if",
    "for",
    "static",
    "__local",
    "0x1p3",
    "\\",
    "...",
    "sizeof",
    "float4",
    "\f",
]
PIECES += ["reqd_work_group_size", "\n#pragma OPENCL EXTENSION x : enable\n", "extern", "é", "$", "\0", '"']


@given(st.text())
def test_tokens_cover_the_whole_text(text):
    assert "".join(token.text for token in tokenize(text)) == text


def translate(text):
    """The result of a text; None if it is refused, with a line and a reason."""
    try:
        return portable.translate(text, "<source>")
    except portable.Refused as error:
        refused = error
    assert refused.line >= 0
    assert refused.message
    return None


@given(st.lists(st.sampled_from(PIECES)).map(" ".join))
@settings(max_examples=400)
def test_no_text_breaks_the_translator(text):
    assert "".join(token.text for token in tokenize(text)) == text
    translated = translate(text)
    if translated is not None:
        # Lines stay where they were.
        body = translated.partition('# 1 "<source>"\n')[2].rpartition('\n# 1 "<usmpy>" 3\n')[0]
        assert body.count("\n") == text.count("\n")


@given(st.text(alphabet="(){}[];,*&=#\"'\\ \n\tabkernel01.", max_size=60))
@settings(max_examples=300)
def test_no_signs_break_the_translator(text):
    translate(text)


TOKENS = """
static int helper ( int v ) { return v * 2 + ( int ) get_global_id ( 0 ) ; }
__attribute__ ( ( reqd_work_group_size ( 4 , 1 , 1 ) ) ) kernel void f ( global const int * restrict x ,
global int y [ ] , local int * tmp , const int n ) {
local int sum [ 4 ] , one ; size_t l = get_local_id ( 0 ) ;
private int keep = helper ( x [ get_global_id ( 0 ) ] ) ; tmp [ l ] = keep ; sum [ l ] = n ; one = 1 ;
barrier ( CLK_LOCAL_MEM_FENCE ) ; constant char * text = "a // b { \\" /* " ; int c = '"' + '{' ;
y [ get_global_id ( 0 ) ] = tmp [ 3 - l ] + sum [ l ] + keep + one + ( text != 0 ) + c + max ( 1 , 2 ) ; }
"""
BETWEEN = [" ", "  ", "\t", "\n", "\r\n", "/* a { comment ( */", "// to the end } )\n", " \\\n "]
BETWEEN += ["/*\n*\n*/", "\f"]


def tokens():
    return [token.text for token in tokenize(TOKENS) if token.kind != "blank"]


@pytest.mark.parametrize("seed", seeds(6))
def test_blanks_and_comments_do_not_matter(seed):
    rng = random.Random(seed)
    text = "".join(token + rng.choice(BETWEEN) for token in tokens())
    x, y = np.arange(12, dtype="i4"), np.zeros(12, "i4")
    build(text, options="-O1").f(12, x, y, Local(16), 5, local=4)
    keep = x * 3
    expected = keep.reshape(3, 4)[:, ::-1].ravel() + 5 + keep + 1 + 1 + ord('"') + ord("{") + 2
    np.testing.assert_array_equal(y, expected)


def test_without_blanks_but_where_words_meet():
    text, before = "", " "
    for token in tokens():
        meet = (before[-1] + token[0]).replace("_", "a").isalnum()
        text += " " * meet + token
        before = token
    build(text)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_of_messages_with_either_newline(newline):
    text = newline.join(["#define X \\", "    1", "/*", "*/ kernel void f(global int *x) {", "x[0] = y; }"])
    with pytest.raises(compiler.CompileError, match=r"<source>:5:8: error: 'y' undeclared"):
        compiler.build(text, "portable")


def test_programs_without_kernels():
    assert build("").kernels == {}
    assert build("// nothing\nstatic int f(int x) { return x; }").kernels == {}


def test_functions_are_found_at_file_scope_alone():
    source = Source(
        """
        struct s { int (*member)(int); } value;
        typedef int (*pointer)(int, int);
        int table[] = { sizeof(int) };
        static float one(int x);
        __attribute__((noinline)) static float one(int x) { return inner(x); }
        kernel __attribute__((vec_type_hint(float))) void two(global int *x) { three(x); }
        float (brackets)(int x) { return x; }
        """
    )
    found = [(function.name, function.body >= 0, function.kernel) for function in source.functions()]
    assert ("one", False, False) in found
    assert ("one", True, False) in found
    assert ("two", True, True) in found
    assert not {"inner", "three", "sizeof"} & {name for name, _, _ in found}


LONG = "kernel void f(global int *x) { x[0] = " + "+".join(["1"] * 20000) + "; }"
DEEP = "kernel void f(global int *x) { x[0] = " + "(" * 150 + "1" + ")" * 150 + "; }"
NESTED = "kernel void f(global float *x) { x[0] = " + "fma(x[1], " * 40 + "x[2]" + ", 1.0f)" * 40 + "; }"
WIDE = "kernel void f(global float *x) { x[0] = " + "max(min(x[1], 2.0f), " * 30 + "x[2]" + ")" * 30 + "; }"


@pytest.mark.parametrize("source", [LONG, DEEP, NESTED, WIDE], ids=["long", "deep", "nested", "wide"])
def test_large_expressions_build(source):
    build(source, options="-O0")
