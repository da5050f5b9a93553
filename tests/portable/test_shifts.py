"""The count of a shift is taken modulo the width of the promoted left operand, on every device."""

import numpy as np
import pytest

import usmpy
from usmpy._compile import compiler, cuda

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("the compilers are no part of it"),
]

DEVICES = [usmpy.Device("host"), *usmpy.get_devices("opencl"), *usmpy.get_devices("level_zero")[:1]]
DEVICES += usmpy.get_devices("cuda")[:1]
TYPES = {"char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16"}
TYPES |= {"int": "int32", "uint": "uint32", "long": "int64", "ulong": "uint64"}
COUNTS = [0, 1, 7, 8, 15, 16, 31, 32, 33, 40, 63, 64, 65, 100, 127, -1, -2, -31, -32, -33, -64, -128]


def shifted(values, sign, counts, dtype):
    """What the rule says, in the promoted type: of 32 bits at least."""
    width = 64 if dtype.endswith("64") else 32
    unsigned = dtype in ("uint32", "uint64")
    found = []
    for value, count in zip(values, counts, strict=True):
        value, count = int(value), int(count) % width
        whole = (value << count if sign == "<<" else value >> count) % 2**width
        found.append(whole - 2**width if not unsigned and whole >> (width - 1) else whole)
    return np.array(found, dtype=("u" if unsigned else "") + f"int{width}")


def values_of(dtype, n):
    info = np.iinfo(dtype)
    found = np.random.default_rng(7).integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    found[:4] = [info.min, info.max, 1, 0]
    return found


# Ways to shift x by n, which all give the same: `@` is the sign, T the type of x and R that of the result.
WAYS = {
    "operands": "*q = x[i] @ n[i];",
    "variables": "T a = x[i]; N b = n[i]; R c = a @ b; *q = c;",
    "an assignment": "R a = x[i]; a @= n[i]; *q = a;",
    "an element": "R a[2] = { 0, x[i] }; int k = 0; a[++k] @= n[i]; *q = a[k];",
    "parentheses": "*q = (x[i]) @ ((n[i]) + 0 * i);",
    "a function": "*q = itself(x[i]) @ n[i];",
    "nested counts": "*q = x[i] @ (n[i] @ (int)(n[0] @ n[0]));",
    "a chain": "*q = x[i] @ n[i] @ 64 @ n[0] @ -64;",
    "a chain in parentheses": "*q = ((x[i] @ n[i]) @ n[0]) @ (i * 64);",
    "assignments": "R a = x[i]; int k[2] = { 0, n[i] }; k[0 @ 64] @= 64; a @= k[1 + (n[0] @ n[0])]; *q = a;",
    "statements": "*q = ({ T a = x[i]; a @ n[i]; }) @ 64;",
    "a condition": "if (x[i] @ n[i]) *q = x[i] @ n[i]; else *q = 0;",
    "a loop": "for (R a = x[i] @ n[i], k = 0; k < 1; k++) *q = a;",
}
BEHIND_BARRIERS = {
    "a variable": "T a = x[i]; N b = n[i]; BARRIER; R c = 0; if (n[0] == 0) { BARRIER; c = a @ b; } *q = c;",
    "an assignment": "R a = x[i]; N b = n[i]; BARRIER; a @= b; BARRIER; *q = a @ 64;",
}
HEAD = """
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
typedef {left} T;
typedef {right} N;
typedef {result} R;
static T itself(T a) {{ return a; }}
"""
KERNEL = """
kernel void {name}(global const T *x, global const N *n, global R *r)
{{
    int i = get_global_id(0), many = get_global_size(0);
    {body}
}}
"""


def source_of(left, right, sign, kernels):
    """A kernel for each table of ways, which writes a row of r for each way."""
    result = {"long": "long", "ulong": "ulong", "uint": "uint"}.get(left, "int")
    text = HEAD.format(left=left, right=right, result=result)
    for name, ways in kernels.items():
        rows = (
            f"{{ global R *q = r + {k} * many + i; {way.replace('@', sign)} }}"
            for k, way in enumerate(ways.values())
        )
        text += KERNEL.format(name=name, body="\n    ".join(rows))
    return text


# Each type on either side once for each sign.
PAIRS = {
    sign: [(left, list(TYPES)[(step * k + 2) % 8]) for k, left in enumerate(TYPES)]
    for sign, step in (("<<", 3), (">>", 5))
}


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("sign", PAIRS)
def test_shifts_by_any_count(device, sign):
    # NVIDIA's compiler has no statements in expressions.
    ways = {name: way for name, way in WAYS.items() if device.backend != "cuda" or name != "statements"}
    kernels = {"f": ways, "g": BEHIND_BARRIERS}
    for left, right in PAIRS[sign]:
        info = np.iinfo(TYPES[right])
        counts = np.array([c for c in COUNTS if info.min <= c <= info.max] * 3, dtype=TYPES[right])
        values = values_of(TYPES[left], len(counts))
        expected = shifted(values, sign, counts, TYPES[left])
        program = usmpy.Program(source_of(left, right, sign, kernels), device=device)
        x, n = (usmpy.asarray(a, device=device) for a in (values, counts))
        for name, table in kernels.items():
            r = usmpy.zeros((len(table), len(counts)), dtype=expected.dtype.name, device=device)
            device.queue.submit(program[name], [x, n, r], usmpy.NdRange(len(counts), 3)).wait()
            for way, row in zip(table, r.asnumpy(), strict=True):
                np.testing.assert_array_equal(row, expected, err_msg=f"{left} {sign} {right}, {way}")


CONSTANTS = """
constant ulong far = 1ul << 40, farther = (1ul << 40) << 20, table[] = { 3ul << 62, 1ul << 32 };
constant int same = 5 << 2;
enum { A = 1 << 4, B = A >> 2, C = A << B };
kernel void f(global long *r, int n)
{
    int a[1 << 3], b[C >> 6];
    bool yes = n;
    const long c = 1l << 33;
    switch (n) { case 1 << 1: r[0] = 1; break; case A >> 4: r[0] = 2; break; default: r[0] = 3; }
    r[1] = far; r[2] = farther; r[3] = table[0] >> 60; r[4] = table[1]; r[5] = same; r[6] = C;
    r[7] = sizeof(a) + sizeof(b); r[8] = yes << 33; r[9] = c; r[10] = 'a' << 32; r[11] = ~0u >> (n + 32);
    r[12] = sizeof((char)n << 1l) + 0 * (n << 0x1f) + (n << 010); r[13] = 1 << (n << 1 << n << 1 << n);
    r[14] = 1l << 1 << n * 32 << 2;
}
"""


@pytest.mark.parametrize("device", DEVICES, ids=str)
def test_shifts_of_constants(device):
    r = usmpy.zeros(15, dtype="int64", device=device)
    usmpy.Program(CONSTANTS, device=device).f[1](r, 1).wait()
    expected = [
        2,
        1 << 40,
        1 << 60,
        12,
        1 << 32,
        20,
        256,
        48,
        2,
        1 << 33,
        97,
        2**31 - 1,
        260,
        1 << 16,
        1 << 35,
    ]
    assert r.tolist() == expected


@pytest.mark.parametrize("name", ["gcc", "clang"])
def test_a_chain_of_shifts_stays_short(name, monkeypatch):
    if compiler.which(name) is None:
        pytest.skip(f"no {name}")
    monkeypatch.setenv("CC", name)
    operands = " << ".join(["x[0]"] * 200)
    nested = "(" * 100 + "n" + " << n)" * 100
    source = f"kernel void f(global int *x, int n) {{ x[0] = {operands}; x[1] = {nested}; }}"
    assert len(cuda.prepare(source, "portable", "")[0]) < 200_000
    x = usmpy.zeros(2, dtype="int32", device="host")
    usmpy.Program(source, device="host").f[1](x, 32).wait()
    assert x.tolist() == [0, 32]
