"""A program that is four times as long takes four times as many steps to translate."""

import sys

import pytest

from usmpy._compile import compiler, host, portable
from usmpy._compile.portable_constants import CONSTANTS

BARRIER = "barrier(CLK_LOCAL_MEM_FENCE);"
HEAD = (
    "kernel void f(global const int *x, global int *y) { local int l[64]; int g = get_global_id(0), s = 0;\n"
)
END = f"{BARRIER} y[g] = s; }}"


def repeated(pattern, n):
    return "".join(pattern.replace("#", str(i)).replace("BARRIER", BARRIER) + "\n" for i in range(n))


SHAPES = {
    "scopes": ("", "{ int v = x[g] + #; l[g & 63] = v; BARRIER s += v; } BARRIER"),
    "branches": (
        "",
        "int v# = x[g] + #; l[g & 63] = v#; BARRIER if (v# > 3) { s += l[v# & 63]; } BARRIER",
    ),
    "loops": ("", "for (int k = 0; k < 3; k++) { l[g & 63] = k; BARRIER s += l[k]; BARRIER }"),
    "loops without barriers": ("", "for (int k = 0; k < 3; k++) s += x[k];"),
    "helpers": ("static int h#(int a) { return a + #; }", "s += h#(s);"),
    "helpers with barriers": ("static int h#(int a) { BARRIER return a + #; }", "s += h#(s);"),
    "kernels": (
        "kernel void f#(global int *y) { local int l[4]; int g = get_local_id(0); l[g & 3] = g; BARRIER"
        " y[g] = l[0] + #; }",
        "",
    ),
    "kernels without barriers": ("kernel void f#(global int *y) { y[get_global_id(0)] = #; }", ""),
    "statements": ("", "s = s * 3 + x[#] * (g + #);"),
    "kept variables": ("", "int a# = x[#]; BARRIER s += a#;"),
    "local variables": ("", "local int b#[4]; b#[g & 3] = #; BARRIER s += b#[0];"),
    "structs": ("struct s# { int a; float b; };", ""),
    "types": ("typedef struct { int a; float b; } t#;", "{ t# t; t.a = s; s += t.a; }"),
    "constants": ("constant int c# = #;", "s += c#;"),
    "shifts": ("", "s = s << g; s <<= (s >> g) >> s;"),
    "chains of shifts": ("", "s = s << g << # << g << s << g << x[0];"),
    "branches in a chain": ("", "if (g == #) s += 1; else"),
    "names that hide": ("", "{ int s = #, v = s; BARRIER { int s = v; l[g & 63] = s; BARRIER } }"),
    "arrays": ("constant int n# = #;", "{ int a[2 * # + 1]; a[0] = n#; s += a[0]; }"),
    "pointers of one another": ("typedef struct { global int *p; } q#;", "y = (global int *)((q# *)0)->p;"),
    "texts": ("", 'printf("%d" "#", s);'),
    "cases": ("", "switch (g) { case #: s += #; break; default: break; }"),
}


def steps(shape, n):
    """Lines and calls of Python that the translation executes."""
    before, within = (repeated(pattern, n) for pattern in SHAPES[shape])
    source = before + HEAD + within + END
    text = host._preprocess(compiler.find_compiler(), host._split_options(""), CONSTANTS, source, "s")
    portable.translate(text, "s")
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        portable.translate(text, "s")
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_translation_is_linear(shape):
    few, many = steps(shape, 30), steps(shape, 120)
    assert many < 4.4 * few, (few, many)
