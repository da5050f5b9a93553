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


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("name", ["nobody", "__builtin_nothing"])
def test_functions_that_nobody_declares(device, name):
    source = (
        f"float g(float a)\n{{\n    return {name}(a);\n}}\nkernel void f(global float *x) {{ x[0] = 1; }}"
    )
    with pytest.raises(usmpy.BuildError, match=rf":3:12.*{name}"):
        usmpy.Program(source, device=device)


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
