"""The host's loop over work-items promises that they are independent, but not if they have own memory."""

import itertools

import numpy as np
import pytest
from host_kernels import build

import usmpy
from usmpy._compile import portable
from usmpy._compile.compiler import which
from usmpy._compile.tokens import Source

pytestmark = pytest.mark.not_sanitized("the system's compiler is no part of it")

TYPES = """
typedef int three[3];
typedef struct { int a[4]; } pair;
typedef pair other;
union both { int a[4]; float b; };
"""
# In front of a declaration.
ATTRIBUTES = [
    "",
    "__attribute__((aligned(64))) ",
    "__attribute__((unused)) __attribute__((aligned(16))) ",
    "_Alignas(32) ",
    "__extension__ ",
    "const volatile ",
    "private ",
]
# A declaration of memory, and an element of it that can be written.
IN_MEMORY = {
    "int t[4]": "t[{}]",
    "int a = 1, t[4]": "t[{}]",
    "int *q, t[4]": "t[{}]",
    "int t[2][2]": "t[({}) / 2][({}) % 2]",
    "int (t)[4]": "t[{}]",
    "int __attribute__((aligned(64))) t[4]": "t[{}]",
    "int t[4] __attribute__((aligned(64)))": "t[{}]",
    "int t[] = { 1, 2, 3, 4 }": "t[{}]",
    "int t[4] = { [2] = 1 }": "t[{}]",
    "three t[2]": "t[({}) / 3][({}) % 3]",
    "pair t": "t.a[{}]",
    "other t": "t.a[{}]",
    "struct { int a[4]; } t": "t.a[{}]",
    "union both t": "t.a[{}]",
    "int *t = (int[4]){ 1, 2, 3, 4 }": "t[{}]",
    "int *t = (three){ 1, 2, 3 }": "t[({}) % 3]",
    "__typeof__(int[4]) t": "t[{}]",
    "int b[4], (*t)[4] = &b": "(*t)[{}]",
}
# Where the declaration stands.
PLACES = [
    "{declare}; {use}",
    "{{ {declare}; {use} }}",
    "if (n) {{ {declare}; {use} }}",
    "for (int k = 0; k < 1; k++) {{ {declare}; {use} }}",
    "do {{ {declare}; {use} }} while (0);",
    "switch (n) {{ case 1: {declare}; {use} }}",
    "switch (n) {{ default: {declare}; {use} }}",
    "here: {declare}; {use}",
    "int s = ({{ {declare}; {use} 1; }});",
    "if (!n) {{ }} else if (n) {{ {declare}; {use} }}",
    "int z = 1; ; {declare}; {use}",
]
HELPED = "static void g(global int *y, int i, int n)\n{{ {body} }}\n"
KERNEL = "kernel void f{k}(global int *y, int n)\n{{ int i = get_global_id(0); {body} }}\n"


def kernels(source):
    found = portable.program(Source(source))[1]
    return [kernel.promise for kernel, _ in found]


def test_memory_in_all_places_is_found():
    bodies = [
        place.format(declare=attribute + declare, use=f"{element.format(0, 0)} = n;")
        for place, attribute, (declare, element) in itertools.product(PLACES, ATTRIBUTES, IN_MEMORY.items())
    ]
    assert len(bodies) > 1000
    source = TYPES + "".join(KERNEL.format(k=k, body=body) for k, body in enumerate(bodies))
    promised = [body for body, promise in zip(bodies, kernels(source), strict=True) if promise]
    assert not promised


@pytest.mark.parametrize("declare", [*IN_MEMORY, "int a, *t = &a", "int a; n = *&a"])
def test_memory_in_a_helper_is_found(declare):
    helper = (
        HELPED.format(body=declare + ";") + "static void h(global int *y, int i, int n) { g(y, i, n); }\n"
    )
    assert kernels(TYPES + helper + KERNEL.format(k=0, body="h(y, i, n);")) == [False]


@pytest.mark.parametrize(
    "body",
    [
        "int a = n, *p = y, b; global int (*q)[4] = (global int (*)[4])y; y[i] = a & n; b = (a) & n;",
        "y[i] = n && i; int t = (int)(n) & i; n = sizeof(int[4]) + sizeof(y[0]); if (n & i) return;",
        "local int t[4]; local float u; local three v; t[0] = 1; u = v[0] = 2;",
        "int struct_ = 1, three = 2; y[i] = struct_ & three; { int pair = 3; y[i] = pair; }",
        "const float a = 1; switch (n) { case 1: case 2 & 3: break; default: y[i] = (int)a; }",
    ],
)
def test_registers_are_no_memory(body):
    assert kernels(TYPES + KERNEL.format(k=0, body=body)) == [True]


def test_work_items_keep_their_values():
    """Each kernel writes an element that depends on the data and reads another one, for many work-items."""
    n = 1 << 12
    x = np.random.default_rng(5).integers(0, 1 << 30, n, dtype="i4")
    body = "for (int k = 0; k < 4; k++) {at_k} = k; {at_x} = x[i]; y[i] = {at_1} * 3 + {at_0};"
    source, expected = TYPES, {}
    for k, (declare, element) in enumerate(IN_MEMORY.items()):
        text = element.replace("{}", "@")
        uses = {f"at_{name}": text.replace("@", index) for name, index in
                {"k": "k", "x": "x[i] & 3", "1": "1", "0": "0"}.items()}  # fmt: skip
        # Before C23, no declaration follows a label.
        place = (
            PLACES[k % len(PLACES)]
            .replace(": {declare}", ": ; {declare}")
            .format(declare=declare, use=body.format(**uses))
        )
        source += (
            f"kernel void f{k}(global const int *x, global int *y, int n)\n"
            f"{{ int i = get_global_id(0); {place} }}\n"
        )
        cell = (lambda at: at % 3) if "% 3" in element and "[({}) / 3]" not in element else (lambda at: at)
        values = np.zeros((n, 4), "i4")
        for at in range(4):
            values[:, cell(at)] = at
        values[np.arange(n), [cell(at) for at in x & 3]] = x
        expected[k] = values[:, cell(1)] * 3 + values[:, cell(0)]
    library = build(source)
    for k, values in expected.items():
        y = np.zeros(n, "i4")
        library.kernels[f"f{k}"](n, x, y, 1)
        np.testing.assert_array_equal(y, values, err_msg=list(IN_MEMORY)[k])


SOURCE = """
static void meet(void) { barrier(CLK_LOCAL_MEM_FENCE); }

__attribute__((noinline)) static int helped(int of)
{
    int t[N / 2 + 1];
    for (int k = 0; k <= N / 2; k++) t[k] = of + k % 7;
    MEET;
    int sum = 0;
    for (int k = 0; k <= N / 2; k += 501) sum += t[k];
    return sum;
}

kernel void f(global const int *x, global int *y)
{
    int t[N], i = get_global_id(0);
    for (int k = 0; k < N; k++) t[k] = x[i] + k % 5;
    MEET;
    int sum = HELPED;
    for (int k = 0; k < N; k += 501) sum += t[k];
    y[i] = sum;
}
"""
WAYS = {
    "plain": "-DMEET= -DHELPED=helped(x[i])",
    "phases": "-DMEET=barrier(CLK_LOCAL_MEM_FENCE) -DHELPED=0",
    "stacks": "-DMEET=meet() -DHELPED=helped(x[i])",
}
ITEMS = 16


@pytest.fixture(params=["gcc", "clang"])
def compiler(request, monkeypatch):
    if which(request.param) is None:
        pytest.skip(f"no {request.param}")
    monkeypatch.setenv("CC", request.param)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [10, 20_000, 600_000])
def test_work_items_keep_their_arrays(compiler, n, way):
    """Frames of 40 bytes to 2.4 MB: those of a chain of calls are in the stacks' size together."""
    queue = usmpy.Queue("host")
    kernel = usmpy.Program(SOURCE, device=queue, options=f"-DN={n} {WAYS[way]}")["f"]
    x, y = usmpy.arange(ITEMS, dtype="int32", queue=queue), usmpy.zeros(ITEMS, dtype="int32", queue=queue)
    kernel[usmpy.NdRange(ITEMS, ITEMS // 2)](x, y)
    steps = np.arange(0, n, 501)
    expected = np.arange(ITEMS) * steps.size + (steps % 5).sum()
    if "helped" in WAYS[way]:
        steps = np.arange(0, n // 2 + 1, 501)
        expected += np.arange(ITEMS) * steps.size + (steps % 7).sum()
    assert y.tolist() == expected.tolist()


@pytest.mark.parametrize("way", ["plain", "stacks"])
def test_more_than_a_thread_has_is_refused(compiler, way):
    with pytest.raises(usmpy.BuildError, match=r"has \d{7} bytes of private variables, .* at most 4194304"):
        usmpy.Program(SOURCE, device="host", options=f"-DN=1100000 {WAYS[way]}")
