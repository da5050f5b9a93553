"""Portable kernels that several test files launch."""

from __future__ import annotations

C_TYPES = {
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float32": "float",
    "float64": "double",
}

PORTABLE = (
    """
kernel void scale(global const float *x, global float *y, float a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i];
}
kernel void add_one(global int *x) { x[get_global_id(0)] += 1; }
kernel void ids(global int *out) {
    size_t i = get_global_id(0), j = get_global_id(1), k = get_global_id(2);
    out[(k * get_global_size(1) + j) * get_global_size(0) + i] = 10000 * i + 100 * j + k;
}
kernel void groups(global int *group, global int *local_id, global int *size) {
    size_t i = get_global_id(0);
    group[i] = get_group_id(0);
    local_id[i] = get_local_id(0);
    size[i] = get_local_size(0);
}
kernel void reverse(global int *x, local int *t) {
    size_t l = get_local_id(0), n = get_local_size(0);
    t[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[n - 1 - l];
}
kernel void fours(global int *x) __attribute__((reqd_work_group_size(4, 1, 1))) {
    x[get_global_id(0)] = get_local_size(0);
}
kernel void reverse_fours(global int *x, local int *t) __attribute__((reqd_work_group_size(4, 1, 1))) {
    size_t l = get_local_id(0);
    t[l] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[get_global_id(0)] = t[3 - l];
}
kernel void is_null(global const float *x, global int *out) { out[get_global_id(0)] = x == 0; }
kernel void nothing(int n) {}
typedef struct { int a; float b; double c[4]; uchar d; } record;
kernel void unpack(global double *out, record r) {
    out[0] = r.a; out[1] = r.b; out[2] = r.c[0]; out[3] = r.c[3]; out[4] = r.d;
}
kernel void spin(global uint *x, ulong n) {
    uint seed = x[get_global_id(0)];
    for (ulong i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
    }
    x[get_global_id(0)] = seed;
}
"""
    + f"kernel void many(global int *out, {', '.join(f'int a{i}' for i in range(31))}) "
    + f"{{ out[get_global_id(0)] = {' + '.join(f'{i + 1} * a{i}' for i in range(31))}; }}\n"
    + "".join(
        f"kernel void put_{dtype}(global {c} *out, {c} v) {{ out[get_global_id(0)] = v; }}\n"
        for dtype, c in C_TYPES.items()
    )
)

KERNELS = [
    "scale", "add_one", "ids", "groups", "reverse", "fours", "reverse_fours", "is_null", "nothing", "unpack",
    "spin", "many",
    *(f"put_{dtype}" for dtype in C_TYPES),
]  # fmt: skip


def spun(seed: int, n: int) -> int:
    """The result of `spin` for `seed` after n rounds, by repeated squaring."""
    a, c, total_a, total_c = 1664525, 1013904223, 1, 0
    while n:
        if n & 1:
            total_a, total_c = total_a * a % 2**32, (total_c * a + c) % 2**32
        a, c = a * a % 2**32, (a + 1) * c % 2**32
        n >>= 1
    return (total_a * seed + total_c) % 2**32
