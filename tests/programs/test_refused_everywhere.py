"""Programs that every device refuses in the same words, at the same line."""

import pytest

import usmpy
from usmpy._compile import cuda

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the compilers are no part of it"),
]

DEVICES = ["host", *usmpy.get_devices("opencl"), *usmpy.get_devices("level_zero")[:1]]

# Of C's library and of the compilers' own, and the built-in function to write where there is one.
CALLS = {
    **{f"{name}f(x[0])": name for name in ["sin", "cos", "exp", "sqrt", "fabs", "floor", "trunc", "tgamma"]},
    **{"powf(x[0], 2)": "pow", "fmaxf(x[0], 2)": "fmax", "fmodl(x[0], 2)": "fmod"},
    **dict.fromkeys(["rand()", 'strlen("a")', 'puts("a")', "malloc(4)", "abort()", "memset(x, 0, 4)"], ""),
    **dict.fromkeys(["labs(3)", "isalpha('a')", "time(0)", "declared(x[0])"], ""),
    **{
        "__builtin_popcount(4)": "popcount",
        "__builtin_sqrtf(x[0])": "sqrt",
        "__builtin_trap()": "",
        "nobody(x)": "",
    },
}
PLACES = {
    "a statement": "kernel void f(global float *x)\n{{\n    {};\n}}\n",
    "an operand": "kernel void f(global float *x)\n{{\n    x[0] = 2 * (int)\n{};\n}}\n",
    "a helper that nothing calls": "float g(global float *x)\n{{\n    {}; return 1;\n}}\n"
    "kernel void f(global float *x) {{ x[0] = 1; }}\n",
    "a macro": "#define CALL(a) {}\nkernel void f(global float *x)\n{{\n    x[0] = 1;\n    CALL(1);\n}}\n",
    "behind functions that libmvec has": "kernel void f(global float *x) {{ int i = get_global_id(0); "
    "x[i] = sin(x[i]) + cos(x[i]) + exp(x[i]); }}\n"
    "kernel void g(global float *x)\n{{\n    x[0] = pow(x[0], 3); {};\n}}\n",
}


def refusals(source, options=""):
    """What each device says, by its name; CUDA's part needs no driver."""
    said = {}
    for device in DEVICES:
        with pytest.raises(usmpy.BuildError) as caught:
            usmpy.Program(source, device=device, options=options)
        said[str(device)] = str(caught.value)
    with pytest.raises(usmpy.BuildError) as caught:
        cuda.prepare(source, "portable", options)
    return said | {"cuda": str(caught.value)}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("call", CALLS)
def test_functions_that_are_not_built_in(place, call):
    source = "static float declared(float a);\n" + PLACES[place].format(call)
    name, plain = call.partition("(")[0], CALLS[call]
    at = source.index("CALL(1)" if place == "a macro" else call)
    line = source[:at].count("\n") + 1
    column = "" if place == "a macro" else f"{at - source.rfind(chr(10), 0, at)}:"
    (message,) = set(refusals(source).values())
    hint = f"; write {plain}" if plain else ""
    assert message.startswith(
        f"the program does not build: <source>:{line}:{column} error: {name}: not a built-in function of the "
        f"portable language, and not defined by the program{hint}\n"
    )


def test_what_looks_like_a_call():
    source = """
    typedef float real, row[3];
    typedef struct { int a[2]; } pair;
    struct one { int b; };
    static real twice(real x);
    static void unused(row *r);
    /* sinf(x) */
    kernel __attribute__((reqd_work_group_size(1, 1, 1))) void f(global real *x)
    {
        real (*p)[3], m[2][3] = { { 1 } };
        pair (*q), a;
        struct one (*s), b = { 3 };
        constant char *text = "rand()";
        p = m, q = &a, s = &b;
        int sinf = sizeof(m), __attribute__((aligned(16))) c = 1;
        if (sinf) (void)(c);
        x[0] = twice((*p)[0] + (*s).b) + (text[0] == 'r') + twice(sinf);
    }
    static real twice(real x) { return (x) * (real)(2); }
    """
    for device in DEVICES:
        x = usmpy.zeros(1, dtype="float32", device=device)
        usmpy.Program(source, device=device).f[1](x).wait()
        assert x.tolist() == [8 + 1 + 48]
    cuda.prepare(source, "portable", "")


# What stands outside of functions, and in a function with the parameters x and n. The line with @ is refused.
OUTSIDE = {
    "variable outside of functions": [
        "@int t = 3;",
        "@const int t[2] = { 1, 2 };",
        "@static const float t = 1;",
        "constant int a = 1;\n@static\tint t;",
        "@global int t;",
        "@local int t[4];",
        '@constant char *t = "abc";',
        "@struct { int a; } t;",
        "typedef int row[2];\n@const row t = { 1, 2 };",
        "struct s { int a; };\nconstant struct s a = { 1 };\n@struct s t = { 1 };",
    ],
    "function pointer": [
        "@typedef int (*t)(int);",
        "struct s\n{\n    int a;\n@    int (*t[2])(int);\n};",
        "static int g(int a) { return a; }\n@static int h(int (*t)(int)) { return t(1); }",
        "@static int t(int g(int)) { return 1; }",
        "typedef int f_t(int);\n@static int h(f_t *t) { return 1; }",
        "@static int (*t(void))(int) { return 0; }",
    ],
    "bit-field": [
        "struct s\n{\n@    int a : 3;\n};",
        "struct s { int a, b; };\nstruct t { int a;\n@    uint : 0; int b; };",
        "typedef union { int a;\n    struct {\n@ int t : 1; } b; } u;",
    ],
    "size of an array": [
        "@static int t(int n, int a[n]) { return a[0]; }",
        "@static int t(int n, int (*a)[n + 1]) { return 1; }",
    ],
    "no register variables": ["@static int t(register int n) { return n; }"],
}
INSIDE = {
    "size of an array": [
        "@int t[n];",
        "@float a = 1, t[2][n + 1];",
        "const int m = n;\n@int t[m];",
        "int m = 4;\n@int t[2 * m];",
        "@int t[x[0]];",
        "@x[0] = sizeof(int[n]);",
        "@global int (*t)[n] = 0;",
        "@int t[get_local_size(0)];",
        "const float m = 4;\n@int t[(int)m];",
        "for (int k = 0; k < 2; k++) {\n@    int t[k + 1];\n}",
    ],
    "function pointer": [
        "@int (*t)(int) = 0;",
        "@x[0] = (&other)(1);",
        "@x[0] = (*other)(1);",
        "@x[0] = (other)(1);",
        "@x[0] = other ? 1 : 2;",
        "typedef int f_t(int);\n@f_t *t = 0;",
    ],
    "static variable": [
        "@static int t;",
        "@static const int t[2] = { 1, 2 };",
        "@static constant int t[2] = { 1, 2 };",
        "{\n@    static local int t;\n}",
    ],
    "no register variables": [
        "@register int t = 1;",
        "for (int k = 0; k < 2; k++) {\n@int register t = 1; }",
    ],
    "no auto variables": ["@auto int t = 1;", "@const auto float t = 1, u = 2;"],
    "no extern variables": ["@extern int t;"],
    "function in a function": ["@int t(int a) { return a; }", "if (n) {\n@    int t(void) { return n; }\n}"],
    "pointer made of an integer": [
        "@global int *t = (global int *)n;",
        "@global int *t = (global int *)(16);",
        "ulong m = 3;\n@x[0] = *(global int *)(m + n * 4);",
        "@x[0] = ((global int *)(uintptr_t)x)[0];",
        "@global int *t = (global int *)((ulong)x + 4);",
        "@global int *t = (global int *)x[0];",
        "@global int *t = (global int *)get_global_id(0);",
        "@global int *t = (global int *)as_int(1.0f);",
        "struct { ulong a; } s = { 3 };\n@global int *t = (global int *)s.a;",
        "typedef ulong word; typedef global int *to; word m = 3;\n@to t = (to)m;",
        "@global int *t = (global int *)(n ? n : -1);",
        "@global int *t = (global int *)(x - x);",
        "@global int *t = (global int *)(n << 3 | 1);",
        "int L = 3;\n@global int *t = (global int *)L;",
        "@global int *t = (global int *)other(3);",
    ],
    "string literal": [
        '@char *t = "abc";',
        '@const char *t = n ? "abc" : "d" "e";',
        'const char *t;\n@t = "abc";',
        '@const char *t[] = { "a", "b" };',
        '@x[0] = *(char *)"abc";',
        '@x[0] = taken("abc");',
        '@const void *t = ("a");',
    ],
    "not a built-in function": [
        "@__builtin_prefetch(x);",
        "@x[0] = __builtin_popcount(n);",
        "@x[0] = __unknown(n);",
        "@x[0] = unknown(n);",
        "@x[0] = 1 + sinf(n);",
    ],
}
HELPERS = "static int other(int a) { return a; }\nstatic int taken(const char *a) { return 1; }\n"
KERNEL = "kernel void f(global int *x, int n)\n{\n%s\n}\n"
AROUND = {
    "a kernel": KERNEL,
    "a helper": "static void g(global int *x, int n)\n{\n%s\n}\n" + KERNEL.replace("%s", "g(x, n);"),
    "a helper that nothing calls": "void g(global int *x, int n)\n{\n%s\n}\n" + KERNEL.replace("%s", ""),
    "statements in an expression": KERNEL.replace("%s", "n = ({\n%s\n1; });"),
    "a kernel with barriers": KERNEL.replace("%s", "barrier(1);\n%s\nbarrier(1);"),
}
CASES = [(why, text, "%s\n" + KERNEL.replace("%s", "")) for why, texts in OUTSIDE.items() for text in texts]
# Each statement in two of the places: each kind of refusal meets all of them.
PLACES_OF = list(AROUND.values())
CASES += [
    (why, text, HELPERS + place)
    for why, texts in INSIDE.items()
    for k, text in enumerate(texts)
    for place in (PLACES_OF[k % 5], PLACES_OF[(k + 2) % 5])
]


def only_refusal(source, options=""):
    (message,) = {said.split("\n")[0] for said in refusals(source, options).values()}
    return message.removeprefix("the program does not build: ")


def test_what_is_refused_everywhere():
    assert len(CASES) > 100
    for why, text, place in CASES:
        source = place.replace("%s", text)
        line = source[: source.index("@")].count("\n") + 1
        message = only_refusal(source.replace("@", ""))
        assert message.startswith(f"<source>:{line}:"), (message, source)
        assert why in message, (message, source)


@pytest.mark.parametrize(
    ("why", "marked", "place"),
    [
        *((why, texts[0], "%s\n" + KERNEL.replace("%s", "")) for why, texts in OUTSIDE.items()),
        *((why, texts[0], HELPERS + KERNEL) for why, texts in INSIDE.items()),
    ],
)
def test_what_a_macro_or_a_file_has_is_refused_everywhere(why, marked, place, tmp_path):
    """The line is that of the macro's use, and that in the file."""
    text = marked.replace("@", "")
    source = "#define IT(unused) " + " ".join(text.split("\n")) + "\n" + place.replace("%s", "IT(1)")
    message = only_refusal(source)
    assert message.startswith(f"<source>:{source[: source.index('IT(1)')].count(chr(10)) + 1}:")
    assert why in message
    (tmp_path / "its.h").write_text(f"\n{text}\n")
    message = only_refusal(place.replace("%s", '#include "its.h"'), f"-I {tmp_path}")
    assert message.startswith(f"{tmp_path}/its.h:{2 + marked[: marked.index('@')].count(chr(10))}:")
    assert why in message


def test_brackets_in_one_another_are_refused_everywhere():
    for opened, closed, n in (("(", ")", 260), ("x[", "]", 252), ("(int)(1 + ", ")", 5000)):
        source = f"kernel void f(global int *x)\n{{\n    x[0] =\n{opened * n}0{closed * n};\n}}\n"
        assert only_refusal(source).startswith("<source>:4:")
        assert "error: brackets are nested more than 250 deep" in only_refusal(source)


ALLOWED = """
enum { N = 4 };
#define TWICE(a) ((a) + (a))
constant int size = 4, table[2] = { 1, 2 };
static constant int more[N] = { 1, 2 };
extern constant int late[2];
constant int late[2] = { 3, 4 };
constant char *constant names[] = { "a", "b" };
typedef int function(int);
typedef global int *to;
struct s { int a[N], b; constant char *name; };
static int later(int);
static inline int twice(int a) { return TWICE(a); }
inline static int last(constant char *text) { return text[1] == 0 ? text[0] : 0; }
static constant char *name(int a) { return a ? "one" : "two"; }
kernel void f(global int *x, int n)
{
    const int m = 2 * N;
    const uint k = m + sizeof(int);
    int a[m], b[size], c[k], d[sizeof(a) / sizeof(a[0])], e[N > 2 ? 3 : 4], g[(int)sizeof(struct s)];
    int earlier(int);
    char text[] = "abc", pair[2][2] = { "a", "b" };
    constant char *word = "abc", *words[] = { "de", n ? "f" : "g" };
    const constant char *other;
    other = "xyz";
    struct s s = { { 1 }, 2, "s" };
    global int *none = (global int *)0, *no = (global int *)(0x00ul), *null = NULL;
    global int *next = (global int *)(x + 1);
    global char *bytes = (global char *)x;
    to same = (to)(void global *)bytes;
    ulong address = (ulong)x + (uintptr_t)next;
    __typeof__(n) o = ({ int p = n; p + 1; });
    int sinf = 3, strlen = (sinf) + 1;
    switch (n) { case N: a[0] = 1; break; default: a[0] = 2; }
    if (n < 0) goto twice;
twice:
    if (n > 100) printf("%s %d\\n", "text", n);
    x[0] = twice(n) + later(1) + last("c");
}
static int later(int a) { return a; }
"""


def test_what_is_allowed_everywhere():
    for device in DEVICES:
        x = usmpy.zeros(1, dtype="int32", device=device)
        usmpy.Program(ALLOWED, device=device).f[1](x, 3).wait()
        assert x.tolist() == [6 + 1 + ord("c")]
    cuda.prepare(ALLOWED, "portable", "")


# Warnings of C compilers that are errors: what the strictest driver refuses.
CONVERSIONS = {
    "an int from a pointer": "int a = x;",
    "a pointer from an int": "global int *p = n;",
    "a pointer to another type": "global float *p = x;",
    "an assigned pointer": "global int *p = 0; p = y;",
    "an argument": "n = g(x);",
    "a returned pointer": "n = h(x)[0];",
}


@pytest.mark.parametrize("body", CONVERSIONS.values(), ids=CONVERSIONS)
def test_conversions_of_pointers(body):
    source = (
        "static int g(global float *p) { return 1; }\n"
        "static global int *h(global int *p)\n{\n    return p;\n}\n"
        f"kernel void f(global int *x, global float *y, int n)\n{{\n    {body}\n    x[0] = n;\n}}\n"
    )
    line = 8
    if "h(x)" in body:
        source, line = source.replace("return p", "return *p"), 4
    with pytest.raises(usmpy.BuildError, match=rf"<source>:{line}:\d+: error: "):
        usmpy.Program(source)


BOOLS = {
    "a variable": "bool b = n;\n    n = {}(b);",
    "a constant": "const bool b = n;\n    n = {}(b);",
    "a cast": "\n    n = {}((bool)n);",
    "an element": "bool b[2];\n    b[1] = n; n = {}(b[1]);",
    "local memory": "local bool b;\n    b = n; n = {}(b);",
    "a member": "struct {{ bool b; }} s = {{ n }};\n    n = {}(s.b);",
    "a result": "\n    n = {}(truth(n));",
    "true": "\n    n = 1 + {}((bool)true);",
}


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_bits_of_a_bool(device):
    """Intel's compiler ends the process if it is asked for them."""
    for i, text in enumerate(BOOLS.values()):
        name = ("as_char", "as_uchar")[i % 2]
        source = (
            "static bool truth(int n) { return n; }\n"
            f"kernel void f(global int *x, int n)\n{{\n    {text.format(name)}\n    x[0] = n;\n}}\n"
        )
        with pytest.raises(usmpy.BuildError) as caught:
            usmpy.Program(source, device=device)
        column = source.split("\n")[4].index(name) + 1
        assert f":5:{column}" in str(caught.value)
        assert f"{name}: the argument is a bool; write ({name[3:]})(x)" in str(caught.value)


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("begin", ["", "\ufeff", "\n\n"])
def test_bits_of_other_bytes(device, begin):
    source = begin + (
        "#define TWICE(f, x) f(f(x))\n"
        "kernel void f(global int *x, global const char *a, global const uchar *b)\n{\n"
        "    char c = as_char(b[0]); const uchar d = as_uchar(a[0]);\n"
        "    x[0] = c; x[1] = d; x[2] = TWICE(as_char, a[0]); x[3] = as_uchar(as_char(d)); x[4] = __LINE__;\n"
        "    x[5] = as_char((uchar)(true ? 255 : 0)) + sizeof(as_uchar(c));\n}\n"
    )
    x, a, b = (
        usmpy.asarray(value, dtype=dtype, device=device)
        for value, dtype in [([0] * 6, "int32"), ([-3], "int8"), ([200], "uint8")]
    )
    usmpy.Program(source, device=device).f[1](x, a, b).wait()
    assert x.tolist() == [-56, 253, -3, 253, 5 + begin.count("\n"), 0]
