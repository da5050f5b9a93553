"""Kernels give what CPython gives: random ones (random_kernels.py), and single statements."""

import itertools
import math

import numpy as np
import pytest
from python_kernels import random_kernels
from python_kernels.texts import function_of

import usmpy
from usmpy import kernel_api

SEEDS = [*range(40), 196, 304, 365, 380, 455]  # the latter found errors


@pytest.mark.parametrize("seed", SEEDS)
def test_random_kernels(seed):
    random_kernels.check(seed, usmpy.Queue("host"), check=seed % 5 == 0, options="-O0")


HELPERS = """
def sign_of(a):
    return math.copysign(1.0, a)
def put(x):
    x[0] = 9.0
    return 1
"""
CASES = {
    "break leaves the loop's names as they are": """
    for a in (1, 2, 3):
        t = a * 2
        if x[a] > 1:
            break
    y[0], y[1] = t, a""",
    "another item may be no constant": """
    n = x[1]
    for a in (1, n, 3):
        t = a
        y[2] += t
    y[0] = t""",
    "rows keep their places": """
    for j in range(3):
        row = z[j]
        k = j
    k = 0
    y[0] = row[1] + row[-1] + z[k][2]""",
    "tuples keep what they read": """
    t = ((x[0], 1), put(x))
    y[0] = t[0][0] + t[1]
    a = 1
    for k in (a, 5, a):
        a = k + 1
    y[1] = a""",
    "each function of a loop over functions has its own effects": """
    for f in (abs, put):
        y[0] = x[0] + (f(x) if f == put else f(-2))""",
    "helpers tell zeros apart": "y[0], y[1] = sign_of(0.0), sign_of(-0.0)",
    "each operand of a chain is read once, and only if it is needed": """
    y[0] = x[0] < x[1] < x[2] > put(x) == 1
    y[1] = 5 < x[1] < put(x)
    i = 0
    while 0 <= i < len(x) and x[i] != 2:
        i += 1
    y[2] = i""",
    "tuples by conditions": """
    a, (b, c) = (x[0], (x[1], 1.0)) if x[1] > 5 else (x[2], (put(x), x[0]))
    y[0] = a + b * 10 + c * 100""",
    "names of C and macros": """
    t1 = x[1] + 1
    linux, M_PI, NAN, int8, event_t, INT_MAX, cross, half2 = 1, 2, 3, 4, 5, 6, 7, 8
    cl_khr_fp64, memory_order, R, struct = 9, 10, 11, 12
    y[0] = t1 + linux + M_PI + NAN + int8 + event_t + INT_MAX + cross + half2
    y[1] = cl_khr_fp64 + memory_order + R + struct""",
    "texts": """
    print("a\\rb\\tc %d ??/ \\\\ \\" \\x07f", x[0])
    assert x[0] < 1, 'a|b "%d"'""",
    "magnitudes": """
    n = int(x[1])
    for k in range(-3, 3):
        y[k + 3] = (k % -7) * 3 // 2 + (k & -3) % 5 + (k * n - 1) // 4""",
    "the range's variable stays": """
    for k in range(5, -1, -2):
        pass
    y[0] = k""",
    "None and branches known when it is compiled": """
    first = None
    if first is None:
        second = 3
    else:
        second = first[7].nothing
    y[0] = second""",
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_statements(name, check):
    body = CASES[name] if CASES[name].startswith("\n") else f"\n    {CASES[name]}"
    function = function_of(f"{HELPERS}\ndef kernel(x, y, z):{body}\n", math=math)
    arrays = [np.arange(6.0), np.zeros(8), np.arange(12.0).reshape(3, 4)]
    given = [usmpy.asarray(array, device="host", copy=True) for array in arrays]
    usmpy.kernel(function, check=check)[usmpy.Range(1)](*given)
    function(*arrays)
    for found, wanted in zip(given, arrays, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), wanted)


def test_magnitudes_of_unsigned_numbers():
    def kernel(x, y):
        small = usmpy.uint32(x[0] & 7)
        y[0] = usmpy.int32(small - usmpy.uint32(7)) // 4
        y[1] = usmpy.int32(usmpy.uint32(usmpy.int32(x[0]) % 7 - 3)) // 2
        y[2] = usmpy.int64(usmpy.uint32(usmpy.int32(x[0]) % 7 - 3)) % 1000

    x, y = usmpy.ones(1, dtype="int64", device="host"), usmpy.zeros(3, dtype="int64", device="host")
    usmpy.kernel(kernel)[usmpy.Range(1)](x, y)
    assert y.tolist() == [-2, -1, (2**32 - 2) % 1000]


def test_types_settle_in_long_chains():
    """Each pass over the loop widens one variable more."""
    names = [f"v{k}" for k in range(60)]
    moves = "".join(f"        {a} = {b}\n" for a, b in itertools.pairwise(names))
    starts = "".join(f"    {name} = 0\n" for name in names)
    loop = f"    for k in range(70):\n{moves}        v59 = x[1] + 0.5\n"
    text = f"def kernel(x, y):\n{starts}{loop}    y[0] = v0\n"
    x, y = usmpy.ones(2, device="host"), usmpy.zeros(1, device="host")
    usmpy.kernel(function_of(text), options="-O0")[usmpy.Range(1)](x, y)
    assert y.tolist() == [1.5]


def test_order_of_evaluation_with_atomics():
    def kernel(x, y):
        y[0] = x[0] * 100 + kernel_api.atomic_add(x, 0, 1) * 10 + x[0]
        y[1] = (x[0], kernel_api.atomic_add(x, 0, 1), x[0])[kernel_api.atomic_add(x, 0, 1) % 3]
        y[kernel_api.atomic_add(x, 0, -1)] += x[0]
        y[2] = x[0] < kernel_api.atomic_add(x, 0, 1) + 1 <= x[0]

    x, y = usmpy.ones(1, dtype="int32", device="host"), usmpy.zeros(8, dtype="int32", device="host")
    usmpy.kernel(kernel)[usmpy.Range(1)](x, y)
    assert y.tolist() == [112, 2, 1, 0, 3, 0, 0, 0]
