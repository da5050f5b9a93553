"""What stands in front of programs for drivers: where it applies, and what a program may define itself."""

from __future__ import annotations

import itertools

import pytest

import usmpy
from usmpy._compile import portable_front
from usmpy._compile.portable_front import EXACT, NAMES, definition, exactly, front

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the compilers are no part of it"),
]

DEVICES = [
    "host",
    *usmpy.get_devices("opencl"),
    *usmpy.get_devices("level_zero")[:1],
    *usmpy.get_devices("cuda")[:1],
]
KERNEL = """\
kernel void f(global float *x, global char *c, int n)
{
    int i = get_global_id(0);
    x[i] = %s;
}
"""
# Expressions of x[i] = 2.5, c[i] = 3 and n = 7, and their values.
CALLS = {
    "fmax(fmax(x[i], 1), fmin(n, fmax(c[i], 4.0f)))": 4,
    "max(max(c[i], c[i]), min(n, 9)) + sizeof(max(c[i], c[i]))": 8,
    "pow(x[i], 2) + pown(x[i], c[i])": 21.875,
    "clamp(n, 0, 5) + clamp(x[i], 0, 1)": 6,
    "sqrt(n + 9) + native_sqrt(n + 9)": 8,
    "step(x[i], n) + isless(x[i], n)": 2,
    "TWICE(max)": 14,
    "PASTE(ma, x)(n, c[i])": 7,
    "LIMIT(x[i])": 1,
    "select(x[i], 4.0f, n > 3)": 4,
    "rotate(n, 1l)": 14,
    "abs(c[i] - 5) + popcount((uint)n) + abs(abs_diff(n, -1))": 13,
    "add_sat(c[i], (char)125) + mad_sat(n, n, -1)": 175,
    "hadd(n, 2) + mul24(n, n) + upsample(c[i], (uchar)1)": 822,
    "clz(ONE) + max(TEN, n) + select(ONE, n, TEN) + rotate(TEN, ONE) + sqrt(ONE)": 69,
    "bitselect(n, 8, 12) + any(c[i]) + all(-c[i]) + isnan(nan(0u))": 13,
}
MACROS = """\
#define TWICE(function) (function(n, c[i]) + function(c[i], n))
#define PASTE(a, b) a##b
#define LIMIT(a) fmin(fmax(a, 0), 1)
enum { ONE = 1, TEN = 10 };
"""


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_calls_of_several_types(device):
    rows = "".join(f"    y[{k}] = {text};\n" for k, text in enumerate(CALLS))
    head = "kernel void f(global float *x, global char *c, int n, global float *y)\n{\n"
    source = f"{MACROS}{head}    int i = get_global_id(0);\n{rows}}}\n"
    program = usmpy.Program(source, device=device)
    x, c = usmpy.full(1, 2.5, dtype="float32", device=device), usmpy.full(1, 3, dtype="int8", device=device)
    y = usmpy.empty(len(CALLS), dtype="float32", device=device)
    program.f[usmpy.Range(1)](x, c, 7, y)
    assert dict(zip(CALLS, y.tolist(), strict=True)) == pytest.approx(
        CALLS, rel=1e-6
    )  # pow need not be exact


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("type", ["char", "int", "ulong", "float", "double"])
def test_types_of_results(device, type):
    calls = [
        "sqrt(v)",
        "fmax(v, v)",
        "fma(v, v, v)",
        "pow(v, v)",
        "native_sin(v)",
        "fast_length(v)",
        "mad(v, v, v)",
    ]
    calls += ["ldexp(v, 1)", "max(v, v)", "clamp(v, v, v)"]
    rows = "".join(f"    y[{k}] = sizeof({call});\n" for k, call in enumerate(calls))
    source = f"kernel void f(global int *y) {{\n    {type} v = 1;\n{rows}}}\n"
    y = usmpy.zeros(len(calls), dtype="int32", device=device)
    usmpy.Program(source, device=device).f[1](y)
    size = {"char": 1, "int": 4, "ulong": 8, "float": 4, "double": 8}[type]
    assert y.tolist() == [4 if type == "float" else 8] * (len(calls) - 2) + [size] * 2


ATOMIC_CALLS = {  # of cells that are 0
    "int": [
        "atomic_add(p, (char)3)",
        "atom_sub(p, 1ul)",
        "atomic_min(p, -5)",
        "atomic_cmpxchg(p, true, 9)",
        "atomic_or(p, FIVE)",
    ],
    "uint": ["atomic_inc(p)", "atom_dec(p)", "atomic_max(p, 7l)", "atomic_xor(p, n)"],
    "long": ["atomic_add(p, n)", "atom_xchg(p, n + 1l)", "atomic_cmpxchg(p, 0, n)", "atomic_dec(p)"],
    "ulong": ["atomic_xchg(p, 1ul << 40)", "atomic_or(p, 6)", "atom_add(p, n)", "atomic_and(p, n)"],
    "float": ["atomic_xchg(p, 1.5f)", "atom_xchg(p, n)"],
}
RESULTS = {"int": [3, -1, -5, 0, 5], "uint": [1, 2**32 - 1, 7, 7], "long": [7, 8, 7, -1]}
TYPES = {"int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64", "float": "float32"}
RESULTS |= {"ulong": [1 << 40, 6, 7, 0], "float": [1.5, 7]}


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("type", ATOMIC_CALLS)
def test_the_pointer_of_an_atomic_has_the_type(device, type):
    rows = "".join(f"    {{ volatile global {type} *p = a + {k}; {call}; }}\n"
                   for k, call in enumerate(ATOMIC_CALLS[type]))  # fmt: skip
    size = f"    a[{len(RESULTS[type])}] = sizeof({ATOMIC_CALLS[type][0].replace('(p', '(a')});\n"
    head = f"enum {{ FIVE = 5 }};\nkernel void f(global {type} *a, int n)\n"
    program = usmpy.Program(f"{head}{{\n{rows}{size}}}\n", device=device)
    a = usmpy.zeros(6, dtype=TYPES[type], device=device)
    program.f[usmpy.Range(1)](a, 7)
    assert a.tolist()[: len(RESULTS[type]) + 1] == [*RESULTS[type], a.itemsize]


ORDERED_CALLS = {  # what each gives, and what is in the cell afterwards; it was 5
    "atomic_load(p)": (5, 5),
    "atomic_load_explicit(p, memory_order_acquire, memory_scope_device)": (5, 5),
    "(atomic_store(p, 7), 1)": (1, 7),
    "(atomic_store_explicit(p, n, memory_order_release), 1)": (1, 3),
    "(atomic_init(p, 9), 1)": (1, 9),
    "atomic_exchange(p, n)": (5, 3),
    "atomic_fetch_add(p, n)": (5, 8),
    "atomic_fetch_sub_explicit(p, 2, memory_order_relaxed)": (5, 3),
    "atomic_fetch_min(p, n)": (5, 3),
    "atomic_fetch_max_explicit(p, 9, memory_order_acq_rel, memory_scope_work_group)": (5, 9),
    "atomic_compare_exchange_strong(p, &five, 4)": (1, 4),
    "atomic_compare_exchange_weak_explicit(p, &six, 4, memory_order_seq_cst, memory_order_relaxed)": (0, 5),
}
BIT_CALLS = {
    "atomic_fetch_or(p, 2)": (5, 7),
    "atomic_fetch_xor_explicit(p, 1, memory_order_seq_cst)": (5, 4),
    "atomic_fetch_and(p, 4u)": (5, 4),
}
FLAG_CALLS = {
    "atomic_flag_test_and_set(p)": (1, 1),
    "(atomic_flag_clear_explicit(p, memory_order_release), 1)": (1, 0),
}


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("space", ["global", "local"])
@pytest.mark.parametrize("type", [*TYPES, "double"])
def test_atomics_of_opencl_2_need_no_option(device, type, space):
    """On drivers of OpenCL C 1.2, too."""
    calls = dict(ORDERED_CALLS)
    if type not in ("float", "double"):
        calls |= BIT_CALLS
    if type == "int":
        calls |= FLAG_CALLS
    if type == "double" and not usmpy.Device(device).has_fp64:
        return
    rows = "".join(
        f"    {{ volatile {space} atomic_{type} *p = cells; *p = 5; {type} five = 5, six = 6;\n"
        f"      y[{2 * k}] = {call}; y[{2 * k + 1}] = *p; }}\n"
        for k, call in enumerate(calls)
    )
    cells = (
        f"local atomic_{type} cells[1];"
        if space == "local"
        else f"global {type} *cells = y + {2 * len(calls)};"
    )
    program = usmpy.Program(
        f"kernel void f(global {type} *y, int n)\n{{\n    {cells}\n{rows}}}\n", device=device
    )
    y = usmpy.zeros(2 * len(calls) + 1, dtype=TYPES.get(type, "float64"), device=device)
    program.f[usmpy.NdRange(1, 1)](y, 3)
    found = y.tolist()[:-1]
    assert dict(zip(calls, zip(found[::2], found[1::2], strict=True), strict=True)) == calls


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_functions_of_opencl_2_need_no_option(device):
    program = usmpy.Program(
        """
        kernel void f(global int *y)
        {
            size_t i = get_global_linear_id();
            work_group_barrier(CLK_GLOBAL_MEM_FENCE);
            atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
            y[i] = (int)(get_local_linear_id() + 100 * get_enqueued_local_size(1)) + 1000 * ctz((uint)i | 8u)
                + 10000 * (int)get_global_size(3 + y[i]) + 20000 * true;
        }""",
        device=device,
    )
    y = usmpy.zeros(24, dtype="int32", device=device)
    program.f[usmpy.NdRange((4, 6), (2, 3))](y)
    expected = []
    for row, column in itertools.product(range(6), range(4)):  # dimension 0 is the last one here
        low = (4 * row + column) | 8
        expected.append(row % 3 * 2 + column % 2 + 300 + 1000 * ((low & -low).bit_length() - 1) + 30000)
    assert y.tolist() == expected


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_a_lock_of_atomics_of_opencl_2(device):
    """What is written before a release is seen after an acquire: no count is lost."""
    program = usmpy.Program(
        """
        kernel void f(global atomic_int *lock, global int *count)
        {
            for (int done = 0; !done;) {
                int expected = 0;
                if (atomic_compare_exchange_strong_explicit(lock, &expected, 1, memory_order_acquire,
                                                            memory_order_relaxed, memory_scope_device)) {
                    *(volatile global int *)count += 1;
                    atomic_store_explicit(lock, 0, memory_order_release, memory_scope_device);
                    done = 1;
                }
            }
        }""",
        device=device,
    )
    lock, count = (usmpy.zeros(1, dtype="int32", device=device) for _ in range(2))
    program.f[usmpy.Range(2000)](lock, count)
    assert count.tolist() == [2000]


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize(
    "call",
    [
        *("atomic_fetch_add(x, 1.5)", "atomic_load(c)", "atomic_fetch_or(x, 1)", "atomic_store(x, 1.5)"),
        *("pown(x[i], 2.5f)", "rootn(n, x[i])", "ldexp(x[i], 2.0)", "fmax(x[i], x)", "max(n, c)"),
        *("abs(x[i])", "hadd(n, c[i])", "mul24(c[i], c[i])", "upsample(n, n)", "nan(0)", "any(3u)"),
        *("atomic_add(x, 1.5f)", "atom_max(x, 1)", "atomic_inc(c)", "atomic_xchg(x, 1.5)"),
    ],
)
def test_refused_at_the_line_of_the_call(device, call):
    with pytest.raises(usmpy.BuildError) as caught:
        usmpy.Program(KERNEL % call, device=device)
    said = str(caught.value)
    assert any(f"{mark}4" in said for mark in (":", "(", "at line ")), said
    name = call.partition("(")[0]
    assert name not in EXACT or exactly(name) in said
    if call.startswith(("pown", "rootn", "ldexp")):
        assert f"{call.partition('(')[0]}: the last argument is an integer; write (int)(n)" in said


def test_a_program_that_calls_none_has_nothing_in_front():
    assert front("kernel void f(global float *x) { x[0] += 1; }", "-D N=4") == ""
    assert front("kernel void f(global float *x) { x[0] += get_global_id(0); }", "") == ""


# What a program defines itself has no macro; what it only calls has one.
OWN = [
    "float mix(float a, float b)\n{ return a; }",
    "static float mix(float a, float b) // half of each\n{ return a; }",
    "float mix(float (*a)[3]) /* the first */ { return a[0][0]; }",
    "float mix(struct pair a) __attribute__((overloadable)) { return a.x; }",
    "#define mix(a, b) (a)",
    "#  undef mix",
    "kernel void mix(global float *x)\n{ }",
]
OTHERS = [
    "return mix(a, b, 1);",
    "if (mix(a, b, 1) > 2) { a = 1; }",
    "// float mix(float a) {\n",
    "#define f(a) mix(a, a, a)",
]


@pytest.mark.parametrize("text", OWN)
def test_what_a_program_defines_has_no_macro(text):
    assert "#define mix(" not in front(text, "")
    assert ("#undef mix" in front(text, "")) is ("overloadable" not in text)
    assert "#define mix(" in front("mix", "")


@pytest.mark.parametrize("text", OTHERS)
def test_what_a_program_calls_has_a_macro(text):
    assert "#define mix(" in front(f"{text} mix(a, b, 1)", "")


OWN_FUNCTIONS = """\
struct pair { int first; int min; };
int abs(int a);
int add_sat(int a, int b) { return a - b; }
int mix(int a) { return 2 * a; }
static int clamp(int a, int b) { return a < b ? a : b; }
int length(struct pair a) { return a.first + a.min; }
int popcount(global int *p) { return p[0]; }
int get_local_id(int d) { return d + 40; }
float erff(float x) { return x; }
kernel void sign(global int *x) { x[0] = -1; }
kernel void f(global int *x, int n)
{
    struct pair a = {n, 1};
    int max = 3;
    x[0] = abs(n); x[1] = add_sat(n, 1); x[2] = mix(n); x[3] = clamp(n, max); x[4] = length(a);
    x[5] = popcount(x); x[6] = get_local_id(2); x[7] = erff(n);
}
int abs(int a) { return a + 5; }
"""


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_functions_of_a_program_may_have_the_names_of_others(device):
    program = usmpy.Program(OWN_FUNCTIONS, device=device)
    x = usmpy.zeros(8, dtype="int32", device=device)
    program.f[usmpy.Range(1)](x, 7)
    assert x.tolist() == [12, 6, 14, 3, 8, 12, 42, 7]
    program.sign[usmpy.Range(1)](x)
    assert x[0].item() == -1


def test_options_and_included_files(tmp_path):
    assert "#define mix(" not in front("mix(a)", "-Dmix(a)=(a)")
    assert "#define fmax(" in front("CALL(1, 2)", "-DCALL=fmax")
    (tmp_path / "own.h").write_text("#define mix(a) (a)\nfloat g(float x) { return fmin(x, 1); }\n")
    text = front('#include "own.h"\nmix(1)', f"-I{tmp_path}")
    assert "#define mix(" not in text
    assert "#define fmin(" in text


def test_names_made_by_pasting_are_all_in_front():
    text = front("#define CALL(a, b) a##b(x, 1)\nCALL(f, max)", "")
    assert all(f"#define {name}(" in text or f"#define {name} " in text for name in NAMES)


def test_a_macro_has_each_argument_once():
    for name in portable_front.COUNT:
        text = definition(name, "BODY")
        for letter in "xyz"[: portable_front.COUNT[name]]:
            assert text.count(f"({letter});") == 1, text
