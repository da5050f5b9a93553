"""Programs that are nearly right: each builds or is refused as a BuildError, and nothing else is raised."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from programs import PROGRAMS

import usmpy
from usmpy._compile import compiler as _compiler
from usmpy._compile import cuda, host, kernel_hints, portable_check, preprocessor
from usmpy._compile import included as _included
from usmpy._compile.portable_constants import CONSTANTS
from usmpy._compile.tokens import Refused

pytestmark = [
    pytest.mark.not_sanitized("the system's compiler is no part of it"),
    pytest.mark.release("it builds thousands of programs"),
]

RICH = r"""
#if defined(A) && (B == 'b' || N % 3 ? -1 : 0x2f) && !defined C
#  define V(x, ...) f_##x(#x, __VA_ARGS__)
#elif 1
#define V(x) ((x) * 2)
#else
#error never
#endif
#pragma unroll 4
#line 20
typedef struct __attribute__((packed)) { int a[3]; half h; } pair;
typedef enum { ONE, TWO } number;
constant float table[] = { 1.5f, 0x1p3f, 'a', sizeof(int) };
static inline int helper(int v) { return v * V(2) + (int)get_global_id(0); }
kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void f(global const int *restrict x, __global int y[], local int *tmp, const pair p, constant float *c)
{
    local int sum[4], one;
    size_t l = get_local_id(0), i = get_global_id(0);
    private half q = 1.5h + p.h;
    for (int k = 0, t[2]; k < 3; k++) { t[k & 1] = k; if (k > 2) break; else continue; }
    tmp[l] = x[i]; sum[l] = *(&one);
    barrier(CLK_LOCAL_MEM_FENCE);
    do { sum[l] += tmp[3 - l]; } while (0);
    switch (p.a[0]) { case ONE: y[i] = 1; default: return; }
    while (one) { barrier(1); one--; }
    y[i] = helper((struct s){1, 2}.a) + max(1, 2) ; goto end;
end: ;
}
kernel void g(void) { f(0, 0, 0, (pair){0}, 0); atomic_add((volatile global int *)0, 1); }
"""
C = """#include <stdint.h>
static int twice(int x) { return 2 * x; }
void f(size_t begin, size_t end, const double *restrict x, int (*rows)[4], float y[], int n) {
    for (size_t i = begin; i < end; i++) y[i] = twice(n) + x[i] + rows[0][1];
}
"""
CUDA = """template <class T> __global__ void t(T *x) { x[0] = 1; }
extern "C" { __global__ void __launch_bounds__(64, 2) f(const float *x, int n = sizeof(int[3])) {} }
struct s { int a; }; /* __global__ */ __global__ void g(struct s v, float (*p)[2], ...) { "}"; R"x()x"; }
"""
WORDS = re.compile(r"\w+|\s+|[^\w\s]")
PIECES = ["(", ")", "[", "]", "{", "}", ";", ",", "*", "&", "=", "'", '"', "\\", "\n", "#", "##", '# 9 "a"\n']
PIECES += [
    "#if ",
    "#if '",
    "#if ''\n",
    "#if '\\777777'\n",
    "#else\n",
    "#endif\n",
    "#define ",
    "#include ",
    "#line ",
]
PIECES += [
    "local",
    "kernel",
    "constant",
    "barrier",
    "void",
    "for",
    "if",
    "else",
    "do",
    "return",
    "struct",
    "typedef",
]
PIECES += [
    "__attribute__",
    "reqd_work_group_size",
    "float4",
    "1.5h",
    "0x1p9999h",
    "1abch",
    "9" * 5000,
    "...",
    "->",
]
PIECES += [
    "get_global_id",
    "V(",
    "V",
    "defined",
    "u8'x'",
    "\0",
    "é",
    "²",
    "/*",
    "*/",
    "//",
    "_Pragma",
    "goto",
    "switch",
]
PIECES += [
    "(" * 3000,
    "{" * 3000,
    "for(;;)" * 3000,
    "if(x)" * 500 + "barrier(1);",
    "V(" * 300,
    "\\ \n",
    "??/\n",
]


class Wishes:
    version, defined, folders, included = "120", [("-D", "A")], [], []


def preprocess(compiler, options, prelude, source, name):
    try:
        return preprocessor.preprocess(source, CONSTANTS, Wishes)
    except Refused as error:
        raise host._refused(error, source, name) from None


def attempt(function, *arguments):
    try:
        function(*arguments)
    except usmpy.BuildError as error:
        refused = str(error)
    else:
        return
    assert re.match(r"the program does not build: .+:\d+:", refused), refused


def build(source):
    """All that is done with a program before a compiler sees it."""
    attempt(cuda.prepare, source, "portable", "-D A")
    attempt(cuda.prepare, source, "cuda", "")
    attempt(portable_check.check, source, "-D A", "opencl")
    for language in ("portable", "c"):
        attempt(_compiler.program, source, language, "")
    _included.contents(source, ["."])
    for language in ("portable", "c", "cuda"):
        kernel_hints.no_kernel(source, language, "host")
        kernel_hints.explain(usmpy.BuildError("first\nsecond"), source, language)


@pytest.fixture(autouse=True, scope="module")
def no_compiler():
    """The compiler takes everything: what reaches it is its business."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("USMPY_CACHE", "0")
        patch.setattr(host, "_preprocess", preprocess)
        patch.setattr(host, "_compile", lambda *_: (b"", "", []))
        patch.setattr(_compiler.cache, "store", lambda *_: "file")
        yield


@pytest.mark.parametrize("source", [RICH, C, CUDA], ids=["portable", "c", "cuda"])
def test_programs_that_end_early(source):
    ends = [match.end() for match in WORDS.finditer(source) if not match[0].isspace()]
    assert len(ends) > 90
    for end in ends:
        build(source[:end])
        build(source[:end] + "\n}")


def mutate(source, changes):
    words = WORDS.findall(source)
    for kind, at, other, piece in changes:
        i, j = at % len(words), other % len(words)
        if kind == "remove":
            words[i : i + 1 + other % 3] = [""]
        elif kind == "double":
            words.insert(i, words[i])
        elif kind == "swap":
            words[i], words[j] = words[j], words[i]
        else:
            words.insert(i, piece)
    return "".join(words)


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["remove", "double", "swap", "insert", "insert"]),
        st.integers(0, 5000),
        st.integers(0, 5000),
        st.sampled_from(PIECES),
    ),
    min_size=1,
    max_size=4,
)


@given(st.sampled_from([RICH, RICH, C, CUDA, *(program.source for program in PROGRAMS)]), CHANGES)
@settings(max_examples=200, deadline=None)
@example("kernel void f(global float*x){x[0]=1;local}", [("remove", 5000, 0, "")])
def test_programs_with_changes(source, changes):
    build(mutate(source, changes))


@given(st.lists(st.sampled_from([*PIECES, " ", "x", "1", "int", "global"]), max_size=40).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_words_in_any_order(source):
    build(source)


N = 3000
F = "kernel void f(global int *x) { "
DEEP = {
    "loops": F + "for(;;)" * N + "barrier(1); }",
    "branches": F + "if(x[0])" * N + "barrier(1); }",
    "blocks": F + "{" * N + "barrier(1);" + "}" * N + "}",
    "parentheses": F + "x[0] = " + "(" * N + "1" + ")" * N + "; barrier(1); }",
    "condition": "#if " + "(" * N + "1" + ")" * N + f"\n{F} }}\n#endif",
    "signs": "#if " + "!-~" * N + f"1\n{F} }}\n#endif",
    "macros": f"#define V(x) x\n{F} x[0] = " + "V(" * N + "1" + ")" * N + "; }",
    "definitions": "".join(f"#define A{i + 1} A{i} A{i}\n" for i in range(64)) + F + "A64; }",
    "parameters": "kernel void f(" + ", ".join(f"global int *x{i}" for i in range(N)) + ") {}",
    "structs": "struct s { struct s" * N + " x; } x" * N + f"; {F} }}",
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_programs_that_nest_deeply(source):
    build(source)
