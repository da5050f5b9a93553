"""Programs with what NumPy says that they do: (source, kernel, size, local size, arguments)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from host_kernels import Local


class Program(NamedTuple):
    name: str
    source: str
    size: tuple[int, ...]
    local: tuple[int, ...] | None
    arguments: list
    expected: list  # of the arrays among the arguments, in order; None: whatever


def rng():
    return np.random.default_rng(3)


PROGRAMS: list[Program] = []


def program(name, source, size, local, arguments, expected):
    PROGRAMS.append(Program(name, source, size, local, arguments, expected))


X = rng().normal(0, 10, 960).astype("f4")
INTS = rng().integers(0, 100, 960, dtype="i4")
ZEROS = np.zeros(960, "f4")

program(
    "early returns",
    """
    kernel void f(global const float *x, global float *y, int n)
    {
        int i = get_global_id(0);
        if (i >= n) return;
        if (x[i] < 0) {
            y[i] = 1;
            return;
        }
        y[i] = x[i] * 2;
    }
    """,
    (960,),
    None,
    [X, ZEROS, np.int32(900)],
    [X, np.where(np.arange(960) < 900, np.where(X < 0, 1, X * 2), 0).astype("f4")],
)
program(
    "three dimensions",
    """
    kernel void f(global int *out)
    {
        size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
        size_t at = (z * get_global_size(1) + y) * get_global_size(0) + x;
        out[at] = x + 100 * y + 10000 * z + 1000000 * get_work_dim() + get_global_offset(1);
    }
    """,
    (5, 3, 4),
    None,
    [np.zeros((4, 3, 5), "i4")],
    [np.fromfunction(lambda z, y, x: x + 100 * y + 10000 * z + 3000000, (4, 3, 5)).astype("i4")],
)
program(
    "an id by a variable dimension",
    """
    kernel void f(global int *out)
    {
        int sum = 0;
        for (uint d = 0; d < 3; d++) {
            sum = sum * 10 + get_global_id(d) + get_global_size(d) * 2;
        }
        out[get_global_id(0)] = sum;
    }
    """,
    (7,),
    None,
    [np.zeros(7, "i4")],
    [(np.arange(7) + 14) * 100 + 22],
)
program(
    "places in groups",
    """
    kernel void f(global int *out)
    {
        int x = get_global_id(0), y = get_global_id(1);
        out[y * get_global_size(0) + x] = get_local_id(0) + 10 * get_local_id(1) + 100 * get_group_id(0)
            + 1000 * get_group_id(1) + 10000 * get_local_size(0) + 100000 * get_local_size(1)
            + 1000000 * get_num_groups(0) + 10000000 * get_num_groups(1);
    }
    """,
    (6, 4),
    (3, 2),
    [np.zeros((4, 6), "i4")],
    [
        np.fromfunction(
            lambda y, x: x % 3 + 10 * (y % 2) + 100 * (x // 3) + 1000 * (y // 2) + 22230000, (4, 6)
        ).astype("i4")
    ],
)
program(
    "helpers that ask for ids, and helpers of helpers, declared first",
    """
    static int place(void);
    int twice(int x);
    inline size_t id() { return get_global_id(0); }
    static int place(void) { return (int)id() + 1; }
    int twice(int x) { return x * 2 + place(); }
    kernel void f(global int *out, int unused) { out[id()] = twice(place()); }
    """,
    (50,),
    None,
    [np.zeros(50, "i4"), np.int32(1)],
    [(np.arange(50) + 1) * 3],
)
program(
    "a kernel that calls a kernel",
    """
    kernel void add(global int *out, int n) { out[get_global_id(0)] += n; }
    kernel void f(global int *out) { add(out, 3); add(out, 4); }
    """,
    (50,),
    None,
    [np.arange(50, dtype="i4")],
    [np.arange(50) + 7],
)
program(
    "parameters are variables of the work-item",
    """
    kernel void f(global int *out, int n, global const int *in)
    {
        in += get_global_id(0);
        n++;
        n *= *in;
        out[get_global_id(0)] = n;
    }
    """,
    (960,),
    None,
    [np.zeros(960, "i4"), np.int32(4), INTS],
    [INTS * 5, INTS],
)
program(
    "arrays of the work-item",
    """
    kernel void f(global const int *x, global int *y)
    {
        int i = get_global_id(0), tmp[13], other, more[2][3] = {{0}};
        for (int k = 0; k < 13; k++) tmp[k] = x[i] * k;
        for (int k = 12; k > 0; k--) tmp[k - 1] += tmp[k] % (x[i] + 2);
        other = tmp[x[i] % 13];
        more[x[i] % 2][x[i] % 3] = other;
        y[i] = other + more[0][0] + more[1][2];
    }
    """,
    (960,),
    None,
    [INTS, np.zeros(960, "i4")],
    None,
)
program(
    "structs of the work-item, and addresses of variables",
    """
    #pragma OPENCL FP_CONTRACT OFF
    typedef struct { float re, im; } complex_t;
    struct point { int x; int y[3]; };
    static complex_t multiply(complex_t a, complex_t b)
    {
        complex_t r = { a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
        return r;
    }
    static void swap(int *a, int *b) { int t = *a; *a = *b; *b = t; }
    kernel void f(global const float *x, global float *y, complex_t by)
    {
        int i = get_global_id(0), first = i, second = 7;
        struct point p;
        complex_t z;
        z.re = x[i]; z.im = 2;
        z = multiply(z, by);
        swap(&first, &second);
        p.x = first;
        p.y[i % 3] = second;
        y[i] = z.re + z.im + p.x + p.y[i % 3];
    }
    """,
    (960,),
    None,
    [X, ZEROS, np.array((1.5, 2.0), [("re", "f4"), ("im", "f4")])],
    [X, None],
)
program(
    "one place that several work-items write the same to",
    """
    kernel void f(global const int *x, global int *found, global int *y)
    {
        int i = get_global_id(0);
        if (x[i] == 77) found[0] = 5;
        if (x[i] == 1000) found[1] = 6;
        found[x[i] % 2 + 2] = 7;
        y[i] = x[i] > 50 ? x[i] : y[i];
    }
    """,
    (960,),
    None,
    [INTS, np.zeros(4, "i4"), np.full(960, 3, "i4")],
    [INTS, np.array([5, 0, 7, 7]), np.where(INTS > 50, INTS, 3)],
)
program(
    "gathers and scatters",
    """
    kernel void f(global const int *order, global const float *x, global float *y, global float *z)
    {
        size_t i = get_global_id(0);
        y[order[i]] = x[i];
        z[i] = x[order[i]];
        z[order[i] + 960] += 1;
    }
    """,
    (960,),
    None,
    [np.random.default_rng(5).permutation(960).astype("i4"), X, ZEROS, np.zeros(1920, "f4")],
    [
        None,
        X,
        X[np.argsort(np.random.default_rng(5).permutation(960))],
        np.concatenate([X[np.random.default_rng(5).permutation(960)], np.ones(960, "f4")]),
    ],
)
program(
    "loops and conditions of the work-item",
    """
    kernel void f(global const int *x, global int *y, global int *z)
    {
        int i = get_global_id(0), n = x[i], steps = 0;
        while (n > 1 && steps < 50) {
            n = n % 2 ? 3 * n + 1 : n / 2;
            steps++;
            if (steps == 49) break;
        }
        for (int k = 0; k < x[i] % 7; k++) {
            if (k == 3) continue;
            z[i] += k * steps;
        }
        y[i] = steps ? steps : -1;
    }
    """,
    (960,),
    None,
    [INTS, np.zeros(960, "i4"), np.zeros(960, "i4")],
    None,
)
program(
    "in place",
    """
    kernel void f(global float *x, global float *y)
    {
        size_t i = get_global_id(0);
        y[i] = x[i] + 1;
        x[i] = y[i] * 2;
    }
    """,
    (960,),
    None,
    [X, ZEROS],
    [(X + np.float32(1)) * np.float32(2), X + np.float32(1)],
)
program(
    "a reduction in local memory, barriers in a loop",
    """
    __kernel void f(__global const float *x, __global float *sums, __local float *tmp)
    {
        uint l = get_local_id(0);
        tmp[l] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
            if (l < s) tmp[l] += tmp[l + s];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (l == 0) sums[get_group_id(0)] = tmp[0];
    }
    """,
    (960,),
    (32,),
    [np.round(X), np.zeros(30, "f4"), Local(32 * 4)],
    [np.round(X), np.round(X).reshape(30, 32).sum(1)],
)
program(
    "a transposition through a tile",
    """
    #define SIDE 8
    kernel void f(global const int *x, global int *y, int w, int h)
    {
        local int tile[SIDE][SIDE + 1];
        int lx = get_local_id(0), ly = get_local_id(1);
        tile[ly][lx] = x[get_global_id(1) * w + get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        int tx = get_group_id(1) * SIDE + lx, ty = get_group_id(0) * SIDE + ly;
        y[ty * h + tx] = tile[lx][ly];
    }
    """,
    (40, 24),
    (8, 8),
    [INTS, np.zeros(960, "i4"), np.int32(40), np.int32(24)],
    [INTS, np.ascontiguousarray(INTS.reshape(24, 40).T).ravel()],
)
program(
    "a scan, with a barrier in a helper",
    """
    static int exchange(local int *tmp, int l, int value)
    {
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[l] = value;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        return l;
    }
    kernel void f(global int *x, local int *tmp)
    {
        int l = get_local_id(0), n = get_local_size(0), value = x[get_global_id(0)];
        exchange(tmp, l, value);
        for (int step = 1; step < n; step *= 2) {
            int more = l >= step ? tmp[l - step] : 0;
            value += more;
            exchange(tmp, l, value);
        }
        x[get_global_id(0)] = value;
    }
    """,
    (960,),
    (60,),
    [INTS, Local(60 * 4)],
    [np.cumsum(INTS.reshape(16, 60), axis=1, dtype="i4").ravel()],
)
program(
    "private variables live across barriers",
    """
    kernel void f(global const int *x, global int *y, local int *a, local long *b)
    {
        int l = get_local_id(0), n = get_local_size(0), keep[4], k = 0;
        for (int round = 0; round < 4; round++) {
            a[l] = x[get_global_id(0)] + round;
            b[(l + 1) % n] = a[l];
            barrier(CLK_LOCAL_MEM_FENCE);
            keep[round] = a[(l + round) % n] + (int)b[l];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int round = 0; round < 4; round++) k = k * 3 + keep[round];
        y[get_global_id(0)] = k;
    }
    """,
    (96,),
    (12,),
    [INTS[:96].copy(), np.zeros(96, "i4"), Local(48), Local(96)],
    None,
)
program(
    "groups of one work-item, and a required size",
    """
    __attribute__((reqd_work_group_size(1, 1, 1)))
    kernel void f(global int *x)
    {
        local int tmp;
        tmp = get_global_id(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] = tmp + get_local_size(0);
    }
    """,
    (20,),
    (1,),
    [np.zeros(20, "i4")],
    [np.arange(20) + 1],
)
program(
    "atomics of 32 bits",
    """
    #pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable
    kernel void f(global const int *x, volatile global int *r, global uint *u, global volatile float *swapped)
    {
        int i = get_global_id(0);
        atomic_add(&r[0], x[i]);
        atomic_sub(r + 1, x[i]);
        atomic_inc(r + 2);
        atomic_dec(&r[3]);
        atomic_min(&r[4], x[i] - 50);
        atomic_max(&r[5], x[i] + 1);
        atomic_and(&r[6], ~(1 << (x[i] % 8)));
        atomic_or(&r[7], 1 << (x[i] % 8));
        atomic_xor(&r[8], x[i]);
        atomic_max(u, (uint)x[i] + 0x80000000u);
        while (1) {
            int old = r[9];
            if (atomic_cmpxchg(&r[9], old, old + 3) == old) break;
        }
        if (i == 5) atomic_xchg(swapped, 2.5f);
    }
    """,
    (960,),
    None,
    [INTS, np.array([0, 0, 0, 0, 9, 9, 255, 0, 0, 0], "i4"), np.zeros(1, "u4"), np.zeros(1, "f4")],
    [
        INTS,
        np.array(
            [
                INTS.sum(),
                -INTS.sum(),
                960,
                -960,
                INTS.min() - 50,
                INTS.max() + 1,
                0,
                255,
                np.bitwise_xor.reduce(INTS),
                2880,
            ]
        ),
        np.array([int(INTS.max()) + 0x80000000], "u4"),
        np.array([2.5]),
    ],
)
program(
    "atomics of 64 bits",
    """
    #pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
    #pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
    kernel void f(global const int *x, volatile global long *r)
    {
        long v = (long)x[get_global_id(0)] << 33;
        atom_add(&r[0], v);
        atom_min(&r[1], -v);
        atom_max(&r[2], v);
        atom_inc(&r[3]);
    }
    """,
    (960,),
    None,
    [INTS, np.zeros(4, "i8")],
    [INTS, np.array([int(INTS.sum()) << 33, -(int(INTS.max()) << 33), int(INTS.max()) << 33, 960])],
)
program(
    "a histogram with local atomics",
    """
    kernel void f(global const int *x, global int *bins)
    {
        local int mine[10];
        int l = get_local_id(0);
        if (l < 10) mine[l] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_inc(&mine[x[get_global_id(0)] / 10]);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < 10) atomic_add(&bins[l], mine[l]);
    }
    """,
    (960,),
    (48,),
    [INTS, np.zeros(10, "i4")],
    [INTS, np.bincount(INTS // 10, minlength=10)],
)
program(
    "constants at file scope, switches, unsigned ids and the preprocessor",
    """
    #define JOIN2(a, b) a##b
    #define JOIN(a, b) JOIN2(a, b)
    #define KERNEL(name, type) kernel void JOIN(name, _x)(global type *y, constant const int *weights)
    __constant int primes[4] = { 2, 3, 5, 7 };
    constant float ratio = 1.5f;
    enum { FIRST = 4, SECOND };
    KERNEL(f, int)  /* { a comment with ( brackets */
    {
        uint i = get_global_id(0);  // and another } one
        constant int *p = primes;
        constant char *text = "a \\"string\\" with { and \\\\";
        int v;
        switch (i % 3) {
        case 0: v = p[i % 4]; break;
        case 1: v = weights[1] * FIRST; break;
        default: v = (int)(ratio * SECOND); break;
        }
    #if defined(__OPENCL_VERSION__) && __OPENCL_VERSION__ >= 110 && !defined(__GNUC_NOT__)
        y[i] = v + (text != 0) + '}' - 125 + INT_MAX % 2;
    #else
    #error not OpenCL
    #endif
    }
    """,
    (30,),
    None,
    [np.zeros(30, "i4"), np.array([0, 5], "i4")],
    [
        np.array([[2, 3, 5, 7][i % 4] if i % 3 == 0 else 20 if i % 3 == 1 else 7 for i in range(30)]) + 2,
        None,
    ],
)
program(
    "names that are C's and not OpenCL C's, or functions of OpenCL C as variables",
    """
    static float y1(float index) { return index + 1; }
    static int linux_(int unix) { return unix; }
    kernel void f(global float *x)
    {
        float step = 0.5f, max = 3, signbit = 1, log = 2, printf = 4, main = 1, NULLS = 0, j0 = 1;
        struct { float length, sin; } v;
        v.length = step; v.sin = log;
        x[get_global_id(0)] = y1(max) + linux_(2) + v.length * v.sin + signbit + printf + main + NULLS + j0;
    }
    """,
    (3,),
    None,
    [np.zeros(3, "f4")],
    [np.full(3, 14.0)],
)
program(
    "names in the body of a loop that hide its counter",
    """
    kernel void f(global int *x)
    {
        int i = get_global_id(0), sum = 0;
        for (int i = 0, j = 5; i < 3; i++) { float k = 1, i = 2; sum += i + k + j; }
        for (int i = 0; i < 3; i++) for (int j = 0; j < 2; j++) { int i = 10, j = 20; sum += i + j; }
        x[i] = sum + i;
    }
    """,
    (3,),
    None,
    [np.zeros(3, "i4")],
    [np.arange(3) + 3 * 8 + 6 * 30],
)
