"""Complex numbers of the portable language: the same results on every backend, by the plain formulas."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import usmpy
from usmpy._compile import portable_complex

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the compilers are no part of it"),
    pytest.mark.filterwarnings("ignore:overflow|invalid:RuntimeWarning"),
]

DEVICES = [
    "host",
    *usmpy.get_devices("opencl"),
    *usmpy.get_devices("level_zero")[:1],
    *usmpy.get_devices("cuda")[:1],
]
on_devices = pytest.mark.parametrize("device", DEVICES, ids=str)
# Types of operands, and of NumPy.
COMPLEX = {"complex64": "c8", "complex128": "c16"}
REALS = {"char": "i1", "uint": "u4", "int": "i4", "long": "i8", "float": "f4", "double": "f8"}
TYPES = COMPLEX | REALS
PAIRS = [pair for pair in itertools.product(TYPES, TYPES) if not COMPLEX.keys().isdisjoint(pair)]
WIDE = {"double", "complex128"}


def part_of(*types):
    """The type in which an operation computes the parts."""
    return np.float64 if WIDE.intersection(types) else np.float32


def parts(value, part):
    """(real, imaginary), the latter None for a real number."""
    is_complex = np.iscomplexobj(value)
    return part(value.real), part(value.imag) if is_complex else None


def add(x, y, sign=1):
    (a, b), (c, d) = x, y
    imag = b if d is None else (d if sign > 0 else -d) if b is None else b + d if sign > 0 else b - d
    return a + c if sign > 0 else a - c, imag


def subtract(x, y):
    return add(x, y, -1)


def multiply(x, y):
    (a, b), (c, d) = x, y
    if d is None:
        return a * c, b * c
    return (a * c, a * d) if b is None else (a * c - b * d, a * d + b * c)


def divide(x, y):
    (a, b), (c, d) = x, y
    if d is None:
        return a / c, b / c
    n = c * c + d * d
    return (a * c / n, -(a * d) / n) if b is None else ((a * c + b * d) / n, (b * c - a * d) / n)


OPERATIONS = {"+": add, "-": subtract, "*": multiply, "/": divide}


def numbers(type, n=24):
    generator = np.random.default_rng(sum(type.encode()))
    if type in COMPLEX:
        return (generator.normal(size=n) + 1j * generator.normal(size=n)).astype(TYPES[type])
    if type in ("float", "double"):
        return generator.normal(size=n).astype(TYPES[type])
    return generator.integers(1, 100, n).astype(TYPES[type])


def has(device, *types):
    return usmpy.Device(device).has_fp64 or WIDE.isdisjoint(types)


def run(device, source, *arguments, n=1, options=""):
    """The arguments after the kernel f has run."""
    given = [
        usmpy.asarray(x, device=device, copy=True) if isinstance(x, np.ndarray) and x.ndim else x
        for x in arguments
    ]
    usmpy.Program(source, device=device, options=options)["f"][usmpy.Range(n)](*given)
    return [x.asnumpy() if isinstance(x, usmpy.USMArray) else x for x in given]


@on_devices
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_operators(device, left, right):
    """Equal bits: each step is rounded, and none is contracted."""
    if not has(device, left, right):
        return
    part = part_of(left, right)
    wide = "complex128" if part is np.float64 else "complex64"
    rows = "".join(f"    out[{k} * n + i] = x[i] {sign} y[i];\n" for k, sign in enumerate(OPERATIONS))
    source = f"kernel void f(global const {left} *x, global const {right} *y, global {wide} *out, int n)\n"
    source += f"{{\n    int i = get_global_id(0);\n{rows}}}\n"
    x, y = numbers(left), numbers(right)
    n = len(x)
    *_, found, _ = run(device, source, x, y, np.zeros(4 * n, COMPLEX[wide]), n, n=n)
    config = usmpy.Device(device).single_fp_config
    correct = part is np.float64 or "correctly_rounded_divide_sqrt" in config or device == "host"
    for sign, row in zip(OPERATIONS, found.reshape(4, n), strict=True):
        pairs = zip(x, y, strict=True)
        expected = [OPERATIONS[sign](parts(a, part), parts(b, part)) for a, b in pairs]
        if sign == "/" and not correct:
            assert np.allclose(row, [complex(*pair) for pair in expected], rtol=1e-6)
        else:
            assert [*zip(row.real, row.imag, strict=True)] == expected, sign


@on_devices
@pytest.mark.parametrize(("left", "right"), [pair for pair in PAIRS if pair[0] in COMPLEX])
def test_compound_assignments_convert_to_the_left_type(device, left, right):
    if not has(device, left, right):
        return
    rows = "".join(f"    z = x[i]; out[{k} * n + i] = (z {sign}= y[i]);\n" for k, sign in enumerate("+-*"))
    source = f"kernel void f(global const {left} *x, global const {right} *y, global {left} *out, int n)\n"
    source += f"{{\n    int i = get_global_id(0);\n    {left} z;\n{rows}    out[i] /= complex64(1);\n}}\n"
    x, y = numbers(left), numbers(right)
    n, part = len(x), part_of(left, right)
    *_, found, _ = run(device, source, x, y, np.zeros(3 * n, COMPLEX[left]), n, n=n)
    for sign, row in zip("+-*", found.reshape(3, n), strict=True):
        expected = [
            complex(*OPERATIONS[sign](parts(a, part), parts(b, part))) for a, b in zip(x, y, strict=True)
        ]
        assert row.tolist() == np.array(expected).astype(COMPLEX[left]).tolist(), sign


# Expressions of complex z, w, real r and int k, and their values.
VALUES = {
    "-z": lambda z, w, r, k: -z,
    "+w": lambda z, w, r, k: w,
    "conj(z)": lambda z, w, r, k: z.conjugate(),
    "conj(r)": lambda z, w, r, k: r,
    "real(z) + imag(w)": lambda z, w, r, k: z.real + w.imag,
    "real(r) + imag(r) + real(k) - conj(k)": lambda z, w, r, k: r,
    "z == w": lambda z, w, r, k: z == w,
    "(z != w) + 2 * (z == z)": lambda z, w, r, k: 3,
    "(complex64(r) == r) + 2 * (r != z)": lambda z, w, r, k: 3,
    "complex64(k, r)": lambda z, w, r, k: complex(k, r),
    "complex64(w)": lambda z, w, r, k: w,
    "(complex64)k": lambda z, w, r, k: k,
    "(complex64){1, 2} * (complex64){.imag = 1}": lambda z, w, r, k: -2 + 1j,
    "conj((complex64){1, 2})": lambda z, w, r, k: 1 - 2j,
    "-(complex64){1, 2}": lambda z, w, r, k: -1 - 2j,
    "w.imag * 2": lambda z, w, r, k: w.imag * 2,
    "k > 2 ? z : conj(z)": lambda z, w, r, k: z,
    "twice(2 * twice(w))": lambda z, w, r, k: 8 * w,
    "twice(k)": lambda z, w, r, k: 2 * k,
    "pair.z * pair.w + pair.all[1]": lambda z, w, r, k: z * w + w,
    "table[1] * table[k & 1]": lambda z, w, r, k: -1,
    "*&z + *(&w + 0)": lambda z, w, r, k: z + w,
    "(z, w) * 2": lambda z, w, r, k: 2 * w,
    "z * (w - z) * 2 - (z + 1) * -w": lambda z, w, r, k: z * (w - z) * 2 + (z + 1) * w,
    "({ complex64 t = z; t *= 2; t; })": lambda z, w, r, k: 2 * z,
    "sizeof(z * w) + sizeof(2.0f * r) + sizeof(complex64[3])": lambda z, w, r, k: 36,
    "k << 2 | k % 2": lambda z, w, r, k: 13,
    "max(k, 5) + fmax(r, 9)": lambda z, w, r, k: 14,
}
HEAD = """\
typedef complex64 number;
struct pair { number z, w, all[2]; };
constant number table[2] = {{1, 0}, {0, 1}};
static number twice(number x) { return x + x; }
kernel void f(global complex64 *out, const complex64 z_, complex64 w, float r, int k)
{
    number z = z_;
    struct pair pair = {z, w, {z, w}};
"""


@on_devices
def test_values(device):
    """Of expressions that are exact, on small integers."""
    z, w, r, k = 3 - 1j, 2 + 5j, 0.5, 3
    texts = [t for t in VALUES if "({" not in t or not str(device).startswith("<Device cuda")]
    rows = "".join(f"    out[{k}] = {text};\n" for k, text in enumerate(texts))
    found, *_ = run(device, f"{HEAD}{rows}}}\n", np.zeros(len(texts), "c8"), z, w, r, k)
    assert dict(zip(texts, found.tolist(), strict=True)) == {t: VALUES[t](z, w, r, k) for t in texts}


@on_devices
def test_types_that_are_not_known(device):
    """Of variables with C's typeof: pointers and real numbers, too, do what the operator does."""
    source = """
    kernel void f(global complex64 *out, int k)
    {
        __typeof__(out + 0) p = out;
        __typeof__(k * 2.5f) r = k;
        __typeof__(out[0] + 0) z = out[0];
        p += 1;
        p = p + 1 - 1;
        r *= 2;
        r = -r + k;
        z += r;
        p[0] = z * r;
        p[1] = complex64(p - out, r == -3);
    }"""
    found = run(device, source, np.array([1j, 0, 0], "c8"), 3)[0]
    assert found.tolist() == [1j, 9 - 3j, 1 + 1j]


@on_devices
@pytest.mark.parametrize("type", COMPLEX)
def test_functions(device, type):
    if not has(device, type):
        return
    real = "float" if type == "complex64" else "double"
    source = f"""
    kernel void f(global const {type} *x, global {real} *y, global {type} *z)
    {{
        int i = get_global_id(0);
        y[i] = abs(x[i]) + abs(i - 3);
        z[i] = exp(x[i]) * exp(({real})i) + exp(-x[i] * conj(x[i]));
    }}"""
    x = numbers(type)
    _, y, z = run(device, source, x, np.zeros(len(x), x.real.dtype), np.zeros_like(x), n=len(x))
    i = np.arange(len(x))
    assert np.allclose(y, np.abs(x) + abs(i - 3), rtol=1e-6)
    assert np.allclose(z, np.exp(x) * np.exp(i) + np.exp(-x * x.conj()), rtol=1e-5)


@on_devices
def test_mandelbrot(device):
    source = """
    kernel void f(global int *counts, int n, complex64 low, complex64 high)
    {
        int i = get_global_id(0), k = 0;
        complex64 step = (high - low) / (float)(n - 1), z = 0;
        complex64 c = low + complex64(i % n * step.real, i / n * step.imag);
        for (; k < 50 && real(z * conj(z)) <= 4; k++) z = z * z + c;
        counts[i] = k;
    }"""
    n, low, high = 16, np.complex64(-2 - 1.5j), np.complex64(1 + 1.5j)
    counts, *_ = run(device, source, np.zeros(n * n, "i4"), n, low, high, n=n * n)
    single = np.float32
    step_x, step_y = single(3) / single(n - 1), single(3) / single(n - 1)
    expected = []
    for row, column in itertools.product(range(n), range(n)):
        c = (single(-2) + single(column) * step_x, single(-1.5) + single(row) * step_y)
        z, k = (single(0), single(0)), 0
        while k < 50 and multiply(z, (z[0], -z[1]))[0] <= 4:
            z, k = add(multiply(z, z), c), k + 1
        expected.append(k)
    assert counts.tolist() == expected
    assert {1, 50} <= set(expected)


@on_devices
@pytest.mark.parametrize("given", ["variable", "parameter"])
def test_local_memory_and_barriers(device, given):
    """A private variable lives across a barrier, and a parameter is changed."""
    parameter = ", local complex64 *shared" * (given == "parameter")
    variable = "local complex64 shared[8];" * (given == "variable")
    source = f"""
    kernel void f(global complex64 *x, complex64 scale{parameter})
    {{
        {variable}
        int i = get_local_id(0);
        complex64 own = x[get_global_id(0)], sums[2] = {{own, {{0, 1}}}};
        scale *= 2;
        shared[i] = own * scale;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 4; k > 0; k /= 2) {{
            if (i < k) shared[i] += shared[i + k];
            barrier(CLK_LOCAL_MEM_FENCE);
        }}
        sums[1] += shared[0];
        x[get_global_id(0)] = sums[1] - own;
    }}"""
    x = np.arange(16) + 1j
    array = usmpy.asarray(x, dtype="complex64", device=device)
    local = [usmpy.LocalMemory(64)] if given == "parameter" else []
    usmpy.Program(source, device=device)["f"][usmpy.NdRange(16, 8)](array, 1j, *local)
    sums = (x.reshape(2, 8) * 2j).sum(axis=1)
    assert array.tolist() == (sums.repeat(8) + 1j - x).tolist()


SIGNATURE = """kernel void f(global complex64 *x, global const complex64 *y, complex64 z, const complex64 w,
    local complex64 *t, constant complex64 *u, float r) { x[0] = y[0] * z + u[0] - w; t[0] = r; }"""
SHOWN = (
    *("complex64*", "const complex64*", "complex64", "complex64", "local complex64*", "const complex64*"),
    "float32",
)


@on_devices
def test_signatures_name_the_types(device):
    program = usmpy.Program(SIGNATURE, device=device)
    assert program.f.parameters == SHOWN
    x, y, u = (usmpy.asarray([k, k], dtype="complex64", device=device) for k in (1j, 2, 3))
    at, memory = usmpy.NdRange(1, 1), usmpy.LocalMemory(8)
    for z in (2j, np.complex64(2j), np.complex128(2j)):
        program.f[at](x, y, z, 1, memory, u, 1)
        assert x.tolist() == [2 + 4j, 1j]
    program.f[at](x, y, 2.5, True, memory, u, 1)
    assert x.tolist()[0] == 7
    for dtype in ("float32", "int64"):
        wrong = usmpy.zeros(2, dtype=dtype, device=device)
        with pytest.raises(TypeError, match=r"was given for complex64 ?\*.*astype\('complex64'\)"):
            program.f[at](wrong, y, 1, 1, memory, u, 1)
    if usmpy.Device(device).has_fp64:
        with pytest.raises(TypeError, match=r"a USMArray of complex128 was given for"):
            program.f[at](x, y.astype("complex128"), 1, 1, memory, u, 1)
    with pytest.raises(OverflowError, match="does not fit into complex64"):
        program.f[at](x, y, 1e300j, 1, memory, u, 1)
    with pytest.raises(TypeError, match="complex"):
        program.f[at](x, y, 1, 1, memory, u, 1j)
    with pytest.raises(TypeError, match="complex64"):
        program.f[at](x, y, "1", 1, memory, u, 1)


@on_devices
def test_complex128_by_value(device):
    if not has(device, "complex128"):
        return
    source = "kernel void f(global complex128 *x, complex128 z) { x[0] = z * 2.5f + x[0] * complex64(z); }"
    program = usmpy.Program(source, device=device)
    assert program.f.parameters == ("complex128*", "complex128")
    x = usmpy.asarray([1j], device=device)
    program.f[usmpy.Range(1)](x, 2 + 1j)
    assert x.tolist() == [4 + 4.5j]


OWN = {
    "typedef": """typedef struct { float im, re; } complex64;
        static complex64 conj(complex64 x) { return x; }""",
    "macro": """#define complex64 struct pair
        #define conj(x) (x)
        struct pair { float im, re; };""",
}


@on_devices
@pytest.mark.parametrize("own", OWN)
def test_a_type_of_the_program_wins(device, own):
    source = f"""{OWN[own]}
    kernel void f(global complex64 *x, complex64 z)
    {{
        complex64 y = conj(z);
        x[0].im = y.re + 1;
        x[0].re = y.im * 2;
    }}"""
    program = usmpy.Program(source, device=device)
    assert program.f.parameters[0] == "void*"
    x = usmpy.zeros(2, dtype="float32", device=device)
    program.f[usmpy.Range(1)](x, np.array([3, 4], "f4").tobytes())
    assert x.tolist() == [5, 6]


@on_devices
@pytest.mark.parametrize("name", ["conj", "abs", "exp", "real"])
def test_a_function_of_the_program_wins(device, name):
    source = f"""
    static complex64 {name}(complex64 x) {{ return x * 3; }}
    kernel void f(global complex64 *x) {{ x[0] = {name}(x[0]) + {name}(1.0f); }}"""
    assert run(device, source, np.array([1j], "c8"))[0].tolist() == [3 + 3j]


@on_devices
def test_names_of_the_options_and_of_the_source(device):
    """The options' macros are not those of the text in front, which has members of these names."""
    source = "kernel void f(global T *x) { real y = 2; x[0] = T(y) * x[0] + N; }"
    options = "-DT=complex64 -Dreal=float -Dimag=2 -Dx=usm_x -DN=1"
    assert run(device, source, np.array([1j], "c8"), options=options)[0].tolist() == [1 + 2j]


REFUSED = {
    "a C complex type": ("_Complex float z", 2, "a complex type of C; write complex64"),
    "the word complex": ("double complex z", 2, "a complex type of C; write complex64"),
    "the word in front": ("complex float *z", 2, "a complex type of C; write complex64"),
    "a function of C": ("complex64 z = csqrt(x[0])", 2, "not a built-in function"),
    "a comparison": ("int z = x[0] < x[1]", 2, ""),
    "a remainder": ("complex64 z = x[0] % x[0]", 2, ""),
    "a truth": ("if (x[0]) ;", 2, ""),
    "a negation": ("int z = !x[0]", 2, ""),
    "a conversion to real": ("float z = x[0]", 2, ""),
    "a result that is real": ("float z = x[0] * 2", 2, ""),
    "a pointer": ("complex64 z = x * x[0]", 2, ""),
    "an increment": ("complex64 z = x[0]; z++", 2, ""),
    "a conversion of a pointer": ("complex64 z = complex64(x)", 2, ""),
    "an imaginary unit": ("complex64 z = x[0] * I", 2, ""),
    "three parts": ("complex64 z = complex64(1, 2, 3)", 2, ""),
}


@on_devices
@pytest.mark.parametrize("check", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(device, case, check):
    text, line, said = REFUSED[case]
    source = f"kernel void f(global complex64 *x) {{\n    {text};\n}}\n"
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(source, device=device, check=check)
    assert said in str(caught.value)
    shown = f"{caught.value}\n{caught.value.log}"
    assert re.search(rf"(:{line}:|<source>\({line}\)|line {line} of <source>)", shown)


@pytest.mark.parametrize("name", ["real", "imag", "conj"])
@on_devices
def test_only_programs_with_complex_numbers_have_their_functions(device, name):
    with pytest.raises(usmpy.BuildError, match=f"{name}: not a built-in function"):
        usmpy.Program(f"kernel void f(global float *x) {{ x[0] = {name}(x[0]); }}", device=device)


def test_complex_stays_a_name():
    source = "kernel void f(global float *complex, float real) { float imag = 2; complex[0] = real * imag; }"
    for device in DEVICES:
        assert run(device, source, np.zeros(1, "f4"), 3)[0].tolist() == [6]


def test_real_code_stays_as_it_is():
    source = """
    static complex64 f(complex64 z, global float *p, int n) {
        int i = n * 2 + n, a[2 + 3]; float x = p[i] * 2.0f + sin(p[i]) / n; p += n; p[0] *= x;
        switch (i) { case 1 + 1: x = -x; }
        return z; }"""
    assert portable_complex.rewrite(source) == source


@pytest.mark.parametrize("n", [2000])
def test_long_chains_are_written_in_linear_time(n):
    chain = " ".join(f"{'+-*/'[k % 4]} z" for k in range(n))
    short, long = (
        portable_complex.rewrite(f"complex64 f(complex64 z) {{ return z {text}; }}")
        for text in (chain[: len(chain) // 2], chain)
    )
    assert len(long) < 2.1 * len(short)
    depth = longest = 0
    for c in long:
        depth += (c in "({") - (c in ")}")
        longest = max(depth, longest)
    assert longest < 16


@on_devices
def test_long_chains_build(device):
    chain = " ".join(f"{'+-'[k % 2]} z" for k in range(600))
    source = f"kernel void f(global complex64 *x) {{ complex64 z = x[0]; x[0] = z {chain}; }}"
    assert run(device, source, np.array([1 + 2j], "c8"))[0].tolist() == [1 + 2j]


# Random expressions of small integers, which are exact.

LEAVES = {
    "z": 1 - 2j, "w": 2 + 1j, "pair.z": 1 - 2j, "pair.all[1]": 2 + 1j, "table[1]": 1j, "r": 3, "k": 2,
    "(z)": 1 - 2j, "1": 1, "2.0f": 2, "*&w": 2 + 1j, "complex64(k, 1)": 2 + 1j, "w.imag": 1,
}  # fmt: skip
CALLS = {
    "conj": lambda x: complex(x).conjugate() if isinstance(x, complex) else x,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "twice": lambda x: complex(2 * x),
    "complex64": complex,
    "-": lambda x: -x,
}
SIGNS = {"+": (1, lambda x, y: x + y), "-": (1, lambda x, y: x - y), "*": (2, lambda x, y: x * y)}


def expression(generator, depth):
    """(text, how tightly it binds, value) of a random expression, with few parentheses."""
    kind = generator.integers(8) if depth else 0
    if kind == 0:
        text = list(LEAVES)[generator.integers(len(LEAVES))]
        return text, 4, LEAVES[text]
    if kind < 3:
        name = list(CALLS)[generator.integers(len(CALLS))]
        text, binds, value = expression(generator, depth - 1)
        if name == "-":
            return f"- {text if binds > 2 else f'({text})'}", 3, -value
        return f"{name}({text})", 4, CALLS[name](value)
    sign = list(SIGNS)[generator.integers(len(SIGNS))]
    own, apply = SIGNS[sign]
    left, binds, x = expression(generator, depth - 1)
    right, other, y = expression(generator, depth - 1)
    if kind == 7:
        test, _, value = expression(generator, 1)
        equal = generator.integers(2) == 1
        chosen = x if (value == y) == equal else y
        return (
            f"({test} {'==' if equal else '!='} {right} ? complex64({left}) : complex64({right}))",
            4,
            complex(chosen),
        )
    left, right = left if binds >= own else f"({left})", right if other > own else f"({right})"
    return f"{left} {sign} {right}", own, apply(x, y)


@on_devices
@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(device, seed):
    generator = np.random.default_rng(seed)
    found = [expression(generator, 1 + i % 4) for i in range(60)]
    exact = [(text, complex(value)) for text, _, value in found if abs(value) < 1 << 22]
    rows = "".join(f"    out[{i}] = {text};\n" for i, (text, _) in enumerate(exact))
    given = (np.zeros(len(exact), "c8"), LEAVES["z"], LEAVES["w"], LEAVES["r"], LEAVES["k"])
    values, *_ = run(device, f"{HEAD}{rows}}}\n", *given)
    assert dict(zip(exact, values.tolist(), strict=True)) == {one: one[1] for one in exact}
    assert len(exact) > 40


@on_devices
def test_constructors_alone_name_the_types(device):
    source = "kernel void f(global float *x) { x[0] = abs(complex64(3, 4)) + complex64(x[0]).real; }"
    assert run(device, source, np.array([2], "f4"))[0].tolist() == [7]


# Checked kernels.

CHECKED = {  # of kernels with global complex64 *x, int i, int k
    "assigned": "x[i] = x[0] + k;",
    "added": "x[i] += 2 * x[0];",
    "divided": "x[i] /= 2.0f + x[0];",
    "by_call": "x[get_global_id(0) + i] *= x[0];",
    "taken": "complex64 z = x[i] / (x[i] + 1); x[0] = z;",
    "member": "x[0].real = x[i].imag;",
    "functions": "x[0] = conj(x[i]) * abs(x[i]);",
    "helped": "x[0] = square(x, i);",
    "pointer": "global complex64 *p = x + 1; *(p + i - 1) -= 1;",
    "own": "complex64 t[4] = {{1, 2}}; t[i] += k; x[0] = t[i];",
    "stepped": "complex64 t[4] = {{1, 2}}; t[i++] += k; x[0] = t[0];",
    "rows": "complex64 t[2][4] = {{{1, 2}}}; t[0][i] += k; x[0] = t[0][i];",
    "quotient": "x[0] = x[0] + 7 / k;",
    "remainder_": "x[0] = x[7 % k];",
    "unknown": "__typeof__(k + 0) n = 7; n = n / k; x[0] = complex64(n, 0);",
    "unknown_too": "__typeof__(k + 0) n = 7; n /= k; x[0] = complex64(n, 0);",
}
DIVIDING = ("quotient", "remainder_", "unknown", "unknown_too")
CHECKED_SOURCE = "complex64 square(global complex64 *x, int i) { return x[i] * x[i]; }\n" + "".join(
    f"kernel void {name}(global complex64 *x, int i, int k) {{ {body} }}\n" for name, body in CHECKED.items()
)


@on_devices
def test_checked_programs(device):
    checked, plain = (usmpy.Program(CHECKED_SOURCE, device=device, check=check) for check in (True, False))
    lines, queue = CHECKED_SOURCE.split("\n"), usmpy.Queue(device)  # which others do not wait for
    for name, i, k in itertools.product(CHECKED, (0, 3, 4, -1), (2, 0)):
        x = usmpy.asarray(np.array([1 + 2j, 3 - 1j, 0.5j, 4], "c8"), device=queue)
        y, error = x.copy(), None
        try:
            checked[name][1](x, i, k).wait()
        except usmpy.KernelError as failure:
            error = failure.with_traceback(None)
        if name in DIVIDING and not k:
            assert (error.reason, lines[error.lineno - 1].split("(")[0]) == (
                "division",
                f"kernel void {name}",
            )
        elif name in DIVIDING or 0 <= i < 4:
            assert error is None
        else:
            array = "t" if name in ("own", "stepped", "rows") else "x"
            assert (error.reason, error.argument, error.index, error.extent) == ("index", array, i, 4)
            assert lines[error.lineno - 1].split("(")[0] in (f"kernel void {name}", "complex64 square")
            assert error.axis == (1 if name == "rows" else 0)
        if error is None:
            plain[name][1](y, i, k).wait()
            assert x.tolist() == y.tolist()


@on_devices
def test_checked_programs_with_macros_of_options(device):
    """Names of the macros are in the texts of complex numbers and of checks."""
    source = "kernel void f(global complex64 *x, int j) { x[j] = complex64(n, record) / x[0]; }"
    for check in (True, False):
        program = usmpy.Program(source, device=device, options="-Dn=4 -Drecord=8", check=check)
        x = array([2, 1], device)
        program.f[1](x, 1).wait()
        assert x.tolist() == [2, 2 + 4j]


# The helpers of kernels.


def array(values, device, dtype="complex64"):
    return usmpy.asarray(np.array(values, dtype), device=device)


@on_devices
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_elementwise_kernels(device, dtype):
    if not has(device, dtype):
        return
    kernel = usmpy.ElementwiseKernel("T x, T y, float32 r", "T z, float32 w", "z = x * y + r; w = abs(y);")
    x = array([[1 + 2j, 3], [-1j, 0.5]], device, dtype)
    for y, plain in (
        (x, x.asnumpy()),
        (x.T, x.asnumpy().T),
        (3 + 4j, 3 + 4j),
        (2, 2),
        (np.complex64(1j), 1j),
    ):
        z, w = kernel(x, y, 0.5)
        assert z.dtype == dtype
        assert np.array_equal(z.asnumpy(), x.asnumpy() * plain + 0.5)
        assert np.allclose(w.asnumpy(), np.broadcast_to(np.abs(plain), (2, 2)))
    masked = usmpy.ElementwiseKernel("T x", "T y", "if (i == 1) return; y = x - 1;")(x, where=x == x)
    assert masked.tolist() == [[2j, 0], [-1 - 1j, -0.5]]
    swapped = usmpy.ElementwiseKernel("raw T x", "T y", "y = conj(x[n - 1 - i]) / 2.0f")(x, size=4)
    assert swapped.tolist() == [0.25, 0.5j, 1.5, 0.5 - 1j]
    wide = usmpy.ElementwiseKernel("T x", "complex64 y", "y = x")(usmpy.asarray([1, 2], device=device))
    assert wide.tolist() == [1, 2]
    made = usmpy.ElementwiseKernel("", f"{dtype} y", "y = complex64(i, -i)")(size=2, queue=x.queue)
    assert made.tolist() == [0, 1 - 1j]


@on_devices
def test_reduction_and_scan_kernels(device):
    x = array([[1 + 2j, 3, 1j], [-1j, 0.5, 2]], device)
    norm = usmpy.ReductionKernel("T x", "float32 y", "x * conj(x)", "a + b", "y = sqrt(a.real)", 0, "length2",
                                 reduce_type="T")  # fmt: skip
    assert np.allclose(norm(x, axis=1).asnumpy(), np.linalg.norm(x.asnumpy(), axis=1))
    product = usmpy.ReductionKernel("T x, T y", "T z", "x - y", "a * b", "z = a / n", 1, "product")
    assert product(x, 0).item() == np.prod(x.asnumpy()) / 6
    assert product(x, 1j, axis=0).tolist() == (np.prod(x.asnumpy() - 1j, axis=0) / 2).tolist()
    shifted = usmpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", 0j, "total")
    left_out = usmpy.asarray([True, False, False], device=device)
    assert shifted(x, where=left_out).item() == 1 + 1j
    large = array(np.arange(5000) * (1 - 2j), device)
    assert shifted(large).item() == sum(range(5000)) * (1 - 2j)
    scan = usmpy.ScanKernel("T x", "T y", "x", "a + b", identity=0)
    assert scan(x, axis=0).tolist() == np.cumsum(x.asnumpy(), axis=0).tolist()
    assert scan(x, axis=1, exclusive=True).tolist() == [[0, 1 + 2j, 4 + 2j], [0, -1j, 0.5 - 1j]]


def test_what_helpers_refuse():
    x = usmpy.zeros(2, dtype="float32", device="host")
    with pytest.raises(TypeError, match="'y' of kernel: a complex was given for float32; a real number"):
        usmpy.ElementwiseKernel("T x, T y", "T z", "z = x * y")(x, 1j)
    with pytest.raises(TypeError, match="'x' of kernel: a USMArray of complex64 was given for float32 x"):
        usmpy.ElementwiseKernel("float32 x", "T z", "z = x")(x.astype("complex64"), out=x)
    with pytest.raises(TypeError, match=r"was given for float32 x; pass x\.real"):
        usmpy.ElementwiseKernel("float32 x", "T z", "z = x")(x.astype("complex64"), out=x)
    with pytest.raises(TypeError, match=r"float32 and complex64 were given; pass x\.astype\('complex64'\)"):
        usmpy.ElementwiseKernel("T x, T y", "T z", "z = x")(x, x.astype("complex64"))
    with pytest.raises(TypeError, match="identity is 1j; a real number is allowed for float32"):
        usmpy.ReductionKernel("T x", "T y", "x", "a + b", "y = a", 1j)(x)
    with pytest.raises(ValueError, match="'complex64' is no name for a parameter"):
        usmpy.ElementwiseKernel("T complex64", "T z", "z = 1")
    with pytest.raises(usmpy.BuildError, match="line 2 of operation: z = sum;"):
        usmpy.ElementwiseKernel("complex64 x", "float32 z", "complex64 sum = x + x;\nz = sum;")(x)
