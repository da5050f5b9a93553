"""The kernels of numba-cuda's user guide and of many of its tests, written anew in usmpy.kernel's language.

Only the user guide and its examples count as promised (`PROMISED`). The kernels of the compiler's own tests
(folder cudapy) are a selection: they add constructs that the guide does not show.
"""

import enum
import math
import types

import numpy as np
from python_kernels.cases import Case, Local, View

import usmpy
from usmpy.kernel_api import (
    atomic_add,
    atomic_and,
    atomic_compare_exchange,
    atomic_exchange,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    barrier,
    get_global_id,
    get_global_size,
    get_group_id,
    get_local_id,
    get_local_size,
    get_num_groups,
    local_array,
    mem_fence,
    private_array,
)

GUIDE = "docs/source/user/"
DOCS = "numba_cuda/numba/cuda/tests/doc_examples/"
TESTS = "numba_cuda/numba/cuda/tests/cudapy/"
PROMISED = (GUIDE, DOCS)
CASES: list[Case] = []


def add(name, function, source, make, expect, tolerance=0.0):
    CASES.append(Case(name, function, source, make, expect, tolerance))


# User guide: kernels, functions, memory.


def increment_by_position(x):
    i = get_local_id(0) + get_group_id(0) * get_local_size(0)
    if i < x.size:
        x[i] += 1


def increment(x):
    i = get_global_id(0)
    if i < x.size:
        x[i] += 1


def increment_matrix(x):
    i, j = get_global_id(0), get_global_id(1)
    if i < x.shape[0] and j < x.shape[1]:
        x[i, j] += 1


def plus(a, b):
    return a + b


def sum_by_function(x, y, z):
    i = get_global_id(0)
    z[i] = plus(x[i], y[i])


def reverse_in_local(x, scratch):
    i, own = get_global_id(0), get_local_id(0)
    scratch[own] = x[i]
    barrier()
    x[i] = scratch[get_local_size(0) - 1 - own]


def two_local_types(floats, integers, x, n):
    if get_local_id(0) == 0:
        floats[0] = 3.5
        integers[0] = 1
    barrier()
    x[get_global_id(0)] = floats[0]
    n[get_global_id(0)] = integers[0]


def largest(result, values):
    i = get_group_id(0) * get_local_size(0) + get_local_id(0)
    atomic_max(result, 0, values[i])


def largest_in_cube(result, values):
    i, j, k = get_global_id(0), get_global_id(1), get_global_id(2)
    atomic_max(result, (0, 1, 2), values[i, j, k])


for name, function in (("position", increment_by_position), ("grid", increment)):
    add(
        f"increment_by_{name}",
        function,
        GUIDE + f"kernels.rst::increment_by_one ({name})",
        lambda rng: (((24,), (8,)), [np.arange(20, dtype="float64")]),
        lambda args: [args[0] + 1],
    )
add(
    "increment_matrix",
    increment_matrix,
    GUIDE + "kernels.rst::increment_a_2D_array",
    lambda rng: (((8, 8), (4, 4)), [np.arange(35.0).reshape(5, 7)]),
    lambda args: [args[0] + 1],
)
add(
    "sum_by_function",
    sum_by_function,
    GUIDE + "device-functions.rst::a_device_function",
    lambda rng: (9, [rng.random(9), rng.random(9), np.zeros(9)]),
    lambda args: [None, None, args[0] + args[1]],
)
add(
    "dynamic_local_memory",
    reverse_in_local,
    GUIDE + "memory.rst::kernel_func",
    lambda rng: (((32,), (8,)), [rng.random(32, "float32"), Local(8, "float32")]),
    lambda args: [args[0].reshape(4, 8)[:, ::-1].ravel()],
)
add(
    "two_local_types",
    two_local_types,
    GUIDE + "memory.rst::f_with_view",
    lambda rng: (
        ((4,), (4,)),
        [Local(1, "float32"), Local(1, "int32"), np.zeros(4, "float32"), np.zeros(4, "int32")],
    ),
    lambda args: [None, None, 3.5, 1],
)
add(
    "atomic_largest",
    largest,
    GUIDE + "intrinsics.rst::max_example",
    lambda rng: (((64,), (16,)), [np.zeros(1), rng.random(64)]),
    lambda args: [args[1].max()],
)
add(
    "atomic_largest_in_cube",
    largest_in_cube,
    GUIDE + "intrinsics.rst::max_example_3d",
    lambda rng: (((4, 4, 4), (2, 2, 2)), [np.zeros((3, 3, 3)), rng.random((4, 4, 4))]),
    lambda args: [np.where(np.arange(27).reshape(3, 3, 3) == 5, args[1].max(), 0)],
)

# User guide: random numbers.


def next_state(state):
    state ^= state << 13
    state ^= state >> 17
    state ^= state << 5
    return state


def uniform(state):
    return usmpy.float32(state >> 8) * usmpy.float32(1 / 2**24)


def draw(states, i):
    states[i] = next_state(states[i])
    return uniform(states[i])


def share_in_circle(states, iterations, out):
    i = get_global_id(0)
    inside = 0
    for _ in range(iterations):
        x = draw(states, i)
        y = draw(states, i)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[i] = 4.0 * inside / iterations


def random_cube(x, states):
    i0, j0, k0 = get_global_id(0), get_global_id(1), get_global_id(2)
    ni, nj, nk = get_global_size(0), get_global_size(1), get_global_size(2)
    own = (i0 * nj + j0) * nk + k0
    for i in range(i0, x.shape[0], ni):
        for j in range(j0, x.shape[1], nj):
            for k in range(k0, x.shape[2], nk):
                x[i, j, k] = draw(states, own)


def integrand(x):
    return 1.0 / x


def sample_integrand(out, states, low, high):
    i = get_global_id(0)
    if i < len(out):
        point = draw(states, i) * (high - low) + low
        out[i] = integrand(point)


def stepped(states):
    """The next states and numbers, as the kernels draw them."""
    s = states.copy()
    s ^= s << np.uint32(13)
    s ^= s >> np.uint32(17)
    s ^= s << np.uint32(5)
    return s, (s >> np.uint32(8)).astype("float32") * np.float32(1 / 2**24)


def seeds(rng, n):
    return rng.integers(1, 2**32, n, dtype="uint32")


def expected_circle(args):
    states, iterations, out = args
    inside = np.zeros(out.shape)
    for _ in range(iterations):
        states, x = stepped(states)
        states, y = stepped(states)
        inside += x * x + y * y <= 1
    return [states, None, 4 * inside / iterations]


def expected_cube(args):
    x, states = args
    after = np.zeros_like(x)
    for start in np.ndindex(2, 2, 2):
        own = np.ravel_multi_index(start, (2, 2, 2))
        for place in np.ndindex(*x[start[0] :: 2, start[1] :: 2, start[2] :: 2].shape):
            states[own], after[tuple(s + 2 * p for s, p in zip(start, place, strict=True))] = (
                part[0] for part in stepped(states[own : own + 1])
            )
    return [after, states]


def expected_samples(args):
    _, states, low, high = args
    states, x = stepped(states)
    return [1 / (x * (high - low) + low), states]


add(
    "monte_carlo_pi",
    share_in_circle,
    GUIDE + "random.rst::compute_pi",
    lambda rng: (((16,), (8,)), [seeds(rng, 16), 20, np.zeros(16, "float32")]),
    expected_circle,
    1e-6,
)
add(
    "random_cube",
    random_cube,
    DOCS + "test_random.py::random_3d",
    lambda rng: (((2, 2, 2), (2, 1, 2)), [np.zeros((5, 3, 4), "float32"), seeds(rng, 8)]),
    lambda args: expected_cube([args[0], args[1].copy()]),
)
add(
    "monte_carlo_integral",
    sample_integrand,
    DOCS + "test_montecarlo.py::mc_integrator_kernel",
    lambda rng: (((40,), (8,)), [np.zeros(37, "float32"), seeds(rng, 37), 1, 2]),
    expected_samples,
    1e-6,
)

# User guide: reductions and universal functions.


def tree_of(function, dtype):
    def reduce_group(x, results):
        scratch = local_array(16, dtype)
        own = get_local_id(0)
        scratch[own] = x[get_global_id(0)]
        barrier()
        step = 8
        while step:
            if own < step:
                scratch[own] = function(scratch[own], scratch[own + step])
            barrier()
            step //= 2
        if own == 0:
            results[get_group_id(0)] = scratch[0]

    return reduce_group


def reduce_serially(x, total):
    value = total[0]
    for i in range(len(x)):
        value = plus(value, x[i])
    total[0] = value


def discriminant(a, b, c):
    return math.sqrt(b**2 - 4 * a * c)


def map_discriminant(a, b, c, out):
    i = get_global_id(0)
    out[i] = discriminant(a[i], b[i], c[i])


def power_over(x, y, z):
    return x**y / z


def map_power_over(x, y, z, out):
    i = get_global_id(0)
    out[i] = power_over(x[i], y[i], z[i])


def product_of_one(a, b, c):
    m, n = a.shape
    n, p = b.shape
    for i in range(m):
        for j in range(p):
            c[i, j] = 0
            for k in range(n):
                c[i, j] += a[i, k] * b[k, j]


add(
    "reduce_sum",
    tree_of(plus, usmpy.float64),
    GUIDE + "reduction.rst::sum_reduce",
    lambda rng: (((32,), (16,)), [np.arange(32.0) + 1, np.zeros(2)]),
    lambda args: [None, args[0].reshape(2, 16).sum(1)],
)
add(
    "reduce_serially",
    reduce_serially,
    DOCS + "test_montecarlo.py::sum_reduce",
    lambda rng: (1, [np.arange(32, dtype="float32"), np.zeros(1, "float32")]),
    lambda args: [None, args[0].sum()],
)
for dtype in ("float32", "float64"):
    add(
        f"discriminant_{dtype}",
        map_discriminant,
        GUIDE + "ufunc.rst::cu_discriminant",
        lambda rng, dtype=dtype: (
            12,
            [rng.random(12).astype(dtype) + shift for shift in (0, 10, 0)] + [np.zeros(12, dtype)],
        ),
        lambda args: [None, None, None, np.sqrt(args[1] ** 2 - 4 * args[0] * args[2])],
        1e-5,
    )
add(
    "power_over",
    map_power_over,
    GUIDE + "ufunc.rst::cu_ufunc",
    lambda rng: (12, [*(rng.random((3, 12), "float32") + 1), np.zeros(12, "float32")]),
    lambda args: [None, None, None, args[0] ** args[1] / args[2]],
    1e-5,
)
for source in (GUIDE + "ufunc.rst::matmulcore", TESTS + "test_gufunc.py::matmulcore"):
    add(
        f"product_of_one_{source.partition('.')[0].rpartition('/')[2]}",
        product_of_one,
        source,
        lambda rng: (
            1,
            [rng.random((3, 4), "float32"), rng.random((4, 2), "float32"), np.zeros((3, 2), "float32")],
        ),
        lambda args: [None, None, args[0] @ args[1]],
        1e-5,
    )

# User guide: interoperability, debugging, the simulator.


def sum_by_strides(x, y, out):
    for i in range(get_global_id(0), x.shape[0], get_global_size(0)):
        out[i] = x[i] + y[i]


def store_ids(x):
    i = get_global_id(0)
    if i < len(x):
        x[i] = i


def copy_with_exit(x, y):
    i = get_global_id(0)
    n = len(x)
    if i >= n:
        return
    y[i] = x[i]


def sum_by_position(x, y, out):
    own = get_local_id(0)
    group = get_group_id(0)
    i = group * get_local_size(0) + own
    out[i] = x[i] + y[i]


def sum_if_inside(x, y, z):
    i = get_global_id(0)
    n = len(z)
    if i < n:
        z[i] = x[i] + y[i]


def increment_bytes(x, n):
    i = get_global_id(0)
    if i < n:
        x[i] += 1


def combined(x, y, z):
    return z / 8 + (x - y / 4 * math.pi) * 3


def apply_combined(out, x, y, z):
    i = get_global_id(0)
    if i < len(x):
        out[i] = combined(x[i], y[i], z[i])


FEE = 0.25
RATES = (2.5, 4.0, 0.5, 12.0, 7.0, 1.5)


def total_rates(hours, totals):
    i = get_global_id(0)
    if i < totals.size:
        totals[i] = (hours[i] + FEE) * RATES[i]


def sines_by_one(out, x):
    for i in range(x.size):
        out[i] = math.sin(x[i])


def sum_in_place(x):
    own = get_local_id(0)
    n = len(x)
    if own < n:
        scratch = local_array(64, usmpy.int32)
        scratch[own] = x[get_global_id(0)]
        barrier()
        step = 1
        while step < get_local_size(0):
            if own % (2 * step) == 0:
                scratch[own] += scratch[own + step]
            step *= 2
            barrier()
        if own == 0:
            x[own] = scratch[own]


def product(a, b, c):
    i, j = get_global_id(0), get_global_id(1)
    if i < c.shape[0] and j < c.shape[1]:
        value = 0.0
        for k in range(a.shape[1]):
            value += a[i, k] * b[k, j]
        c[i, j] = value


TILE = 4


def product_by_tiles(a, b, c):
    left = local_array(shape=(TILE, TILE), dtype=usmpy.float32)
    right = local_array(shape=(TILE, TILE), dtype=usmpy.float32)
    i, j = get_global_id(0), get_global_id(1)
    r, s = get_local_id(0), get_local_id(1)
    value = usmpy.float32(0.0)
    for tile in range((a.shape[1] + TILE - 1) // TILE):
        left[r, s] = 0
        right[r, s] = 0
        if i < a.shape[0] and (s + tile * TILE) < a.shape[1]:
            left[r, s] = a[i, s + tile * TILE]
        if j < b.shape[1] and (r + tile * TILE) < b.shape[0]:
            right[r, s] = b[r + tile * TILE, j]
        barrier()
        for k in range(TILE):
            value += left[r, k] * right[k, s]
        barrier()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = value


def product_case(name, function, source, shape, given, dtypes=("float32",) * 3, tolerance=1e-5):
    m, n, p = shape

    def make(rng):
        a, b = rng.integers(0, 9, (m, n)), rng.integers(0, 9, (n, p))
        return given, [a.astype(dtypes[0]), b.astype(dtypes[1]), np.zeros((m, p), dtypes[2])]

    add(name, function, source, make, lambda args: [None, None, args[0] @ args[1]], tolerance)


add(
    "sum_by_strides",
    sum_by_strides,
    GUIDE + "cuda_array_interface.rst::add",
    lambda rng: (((8,), (8,)), [np.arange(21), 2 * np.arange(21), np.zeros(21, "int64")]),
    lambda args: [None, None, args[0] + args[1]],
)
add(
    "store_ids",
    store_ids,
    GUIDE + "cuda_array_interface.rst::initialize_array",
    lambda rng: (((32,), (8,)), [np.zeros(30, "int32")]),
    lambda args: [np.arange(30)],
)
add(
    "copy_with_exit",
    copy_with_exit,
    GUIDE + "debugging.rst::hello",
    lambda rng: (((16,), (8,)), [np.arange(9.0), np.zeros(9)]),
    lambda args: [None, args[0]],
)
add(
    "sum_by_position",
    sum_by_position,
    GUIDE + "simulator.rst::vec_add",
    lambda rng: (((32,), (8,)), [rng.random(32), rng.random(32), np.zeros(32)]),
    lambda args: [None, None, args[0] + args[1]],
)
add(
    "sum_if_inside",
    sum_if_inside,
    DOCS + "test_vecadd.py::f",
    lambda rng: (((48,), (16,)), [rng.random(41), rng.random(41), np.zeros(41)]),
    lambda args: [None, None, args[0] + args[1]],
)
add(
    "increment_bytes",
    increment_bytes,
    DOCS + "test_cpointer.py::add_one",
    lambda rng: (((16,), (16,)), [np.array([*range(9), 255], "uint8"), np.uint32(10)]),
    lambda args: [[*range(1, 10), 0]],
)
add(
    "function_of_both",
    apply_combined,
    DOCS + "test_cpu_gpu_compat.py::f",
    lambda rng: (9, [np.zeros(8), *(rng.integers(0, 999, 8) for _ in range(3))]),
    lambda args: [args[3] / 8 + (args[1] - args[2] / 4 * math.pi) * 3],
    1e-12,
)
add(
    "global_constants",
    total_rates,
    DOCS + "test_globals.py::compute_totals (constants)",
    lambda rng: (((8,), (8,)), [np.arange(6.0), np.zeros(6)]),
    lambda args: [None, (args[0] + 0.25) * np.array(RATES)],
    1e-12,
)
add(
    "sum_in_place",
    sum_in_place,
    DOCS + "test_reduction.py::array_sum",
    lambda rng: (((64,), (64,)), [np.arange(64)]),
    lambda args: [[2016, *range(1, 64)]],
)
product_case(
    "product",
    product,
    DOCS + "test_matmul.py::matmul",
    (4, 4, 4),
    ((16, 16), (4, 4)),
    ("int64", "float64", "float64"),
)
for name, shape, sizes in (("square", (4, 4, 4), (4, 4)), ("ragged", (5, 23, 7), (8, 8))):
    product_case(
        f"product_by_tiles_{name}",
        product_by_tiles,
        DOCS + "test_matmul.py::fast_matmul",
        shape,
        (sizes, (TILE, TILE)),
        ("int64", "float64", "float64"),
    )

# Tests: indices.


def first_id(x):
    x[0] = get_local_id(0)


def fill_local_ids(x):
    i = get_local_id(0)
    x[i] = i


def fill_cube(x):
    i = get_local_id(0)
    j = get_local_id(1)
    k = get_local_id(2)
    x[i, j, k] = (i + 1) * (j + 1) * (k + 1)


def sum_of_ids(x):
    i, j = get_global_id(0), get_global_id(1)
    x[i, j] = i + j


def size_into_first(x):
    if get_global_id(0) == 0:
        x[0] = get_global_size(0)


def sizes_into_first(x):
    i, j = get_global_id(0), get_global_id(1)
    m, n = get_global_size(0), get_global_size(1)
    if i == 0 and j == 0:
        x[0] = m
        x[1] = n


def fill_by_strides(x):
    first_row, first_column = get_global_id(0), get_global_id(1)
    rows, columns = get_num_groups(0) * get_local_size(0), get_num_groups(1) * get_local_size(1)
    height, width = x.shape
    for i in range(first_row, height, rows):
        for j in range(first_column, width, columns):
            x[i, j] = i + j


def scale_diagonal(c, a, b):
    height, width = c.shape
    for j in range(get_global_id(0), width, get_global_size(0)):
        for i in range(get_global_id(1), height, get_global_size(1)):
            c[i, j] = a[i, j] * b[j]


def ids_after_loops(x):
    for _ in range(2):
        i = get_local_id(0)
    for _ in range(3):
        j = get_local_id(1)
    scratch = local_array((2, 3), usmpy.float64)
    scratch[i, j] = 1.0
    x[i, j] = scratch[i, j]


def add_filled(name, function, source, given, shape, dtype, want):
    add(name, function, TESTS + source, lambda rng: (given, [np.full(shape, 9, dtype)]), lambda args: [want])


GRID = np.add.outer(np.arange(6), np.arange(8))
CUBE = np.einsum("i,j,k->ijk", *(np.arange(1, n + 1) for n in (2, 3, 4)))
INTRINSICS = "test_intrinsics.py::"
add_filled("first_id", first_id, INTRINSICS + "simple_threadidx", ((1,), (1,)), 1, "int32", 0)
add_filled(
    "fill_local_ids",
    fill_local_ids,
    INTRINSICS + "fill_threadidx",
    ((10,), (10,)),
    10,
    "int32",
    np.arange(10),
)
add_filled(
    "fill_cube", fill_cube, INTRINSICS + "fill3d_threadidx", ((2, 3, 4), (2, 3, 4)), (2, 3, 4), "int32", CUBE
)
add_filled("grid_1d", store_ids, INTRINSICS + "simple_grid1d", ((12,), (4,)), 12, "int32", np.arange(12))
add_filled("grid_2d", sum_of_ids, INTRINSICS + "simple_grid2d", ((6, 8), (3, 2)), (6, 8), "int32", GRID)
add_filled("grid_size_1d", size_into_first, INTRINSICS + "simple_gridsize1d", ((12,), (4,)), 1, "int32", 12)
add_filled(
    "grid_size_2d", sizes_into_first, INTRINSICS + "simple_gridsize2d", ((6, 8), (3, 2)), 2, "int32", [6, 8]
)
add_filled(
    "grid_strides",
    fill_by_strides,
    INTRINSICS + "intrinsic_forloop_step",
    ((4, 2), (2, 2)),
    (6, 8),
    "int32",
    GRID,
)
add_filled(
    "ids_after_loops",
    ids_after_loops,
    "test_lang.py::cuda_kernel_api_in_multiple_blocks",
    ((2, 3), (2, 3)),
    (2, 3),
    "float64",
    1,
)
add(
    "scale_diagonal",
    scale_diagonal,
    TESTS + "test_nondet.py::diagproduct",
    lambda rng: (
        ((8, 4), (8, 4)),
        [np.zeros((6, 6), "float32"), rng.random((6, 6), "float32"), rng.random(6, "float32")],
    ),
    lambda args: [args[1] * args[2]],
)

# Tests: local and private memory.

N = 20


def copy_by_private(n, dtype):
    def copy_private(x, y):
        own = private_array(n, dtype)
        for i in range(own.shape[0]):
            own[i] = x[i]
        for i in range(own.shape[0]):
            y[i] = own[i]

    return copy_private


def size_of_local(shape, dtype):
    def store_size(x):
        scratch = local_array(shape, dtype)
        x[0] = scratch.size

    return store_size


def size_of_private(shape, dtype):
    def store_size(x):
        own = private_array(shape, dtype)
        x[0] = own.size

    return store_size


def through_private(dtype):
    def pass_through(x):
        own = private_array(10, dtype)
        own[0] = x[0]
        x[1] = own[0]

    return pass_through


def use_local():
    scratch = local_array(1, usmpy.int32)
    scratch[0] = 7
    return scratch[0]


def local_in_both(x):
    scratch = local_array(1, usmpy.int32)
    scratch[0] = 3
    x[1] = use_local()
    x[0] = scratch[0] + x[1]


def chunk_copy(dtype):
    def copy_chunk(x, y):
        scratch = local_array(16, dtype)
        own, size = get_local_id(0), get_local_size(0)
        start = get_group_id(0) * size
        if start + own < len(x):
            scratch[own] = x[start + own]
        barrier()
        if own == 0:
            for k in range(16):
                y[start + k] = scratch[k]

    return copy_chunk


def fill_local_by_one(x):
    scratch = local_array(N, usmpy.int32)
    i = get_global_id(0)
    if i == 0:
        for k in range(N):
            scratch[k] = k
    barrier()
    x[i] = scratch[i]


def fill_local_by_name(x):
    n = 20
    scratch = local_array(n, "int32")
    i = get_global_id(0)
    if i == 0:
        for k in range(n):
            scratch[k] = k
    barrier()
    x[i] = scratch[i]


ROWS, COLUMNS = 6, 8


def ratios_in_local(x):
    i, j = get_global_id(0), get_global_id(1)
    scratch = local_array((ROWS, COLUMNS), usmpy.float32)
    scratch[i, j] = (i + 1) / (j + 1)
    barrier()
    x[i, j] = scratch[i, j]


def one_of_local(size, dtype):
    def store_one(x, i):
        scratch = local_array(size, dtype=dtype)
        scratch[i] = i + 0.5
        x[i] = scratch[i]

    return store_one


def twice_in_local(x, scratch):
    i = get_global_id(0)
    scratch[i] = i * 2
    barrier()
    x[i] = scratch[i]


for name, n, dtype in (
    ("int32", 50, "int32"),
    ("complex128", 20, "complex128"),
    ("one_tuple", (5,), "int32"),
):
    kernel = {"int32": "culocal", "complex128": "culocalcomplex", "one_tuple": "culocal1tuple"}[name]
    add(
        f"copy_by_private_{name}",
        copy_by_private(n, getattr(usmpy, dtype)),
        TESTS + f"test_localmem.py::{kernel}",
        lambda rng, dtype=dtype: (
            1,
            [((np.arange(50) - 1) / (2j if dtype[0] == "c" else 1)).astype(dtype), np.zeros(50, dtype)],
        ),
        lambda args, n=n: [None, np.where(np.arange(50) < np.prod(n), args[0], 0)],
    )
for name, dtype in (("numba", usmpy.int32), ("numpy", np.int32), ("string", "int32")):
    add(
        f"private_dtype_{name}",
        through_private(dtype),
        TESTS + f"test_localmem.py::test_{name}_dtype",
        lambda rng: (1, [np.array([5, 6], "int32")]),
        lambda args: [args[0][:1]],
    )
for shape, number in ((2, 2), ((2, 3), 6), ((2, 3, 4), 24)):
    add(
        f"size_of_local_{number}",
        size_of_local(shape, usmpy.int32),
        TESTS + f"test_sm.py::test_issue_1051_shared_size_broken_{np.size(shape)}d",
        lambda rng: (((1,), (1,)), [np.zeros(1, "int32")]),
        lambda args, number=number: [number],
    )
for name, file, function in (("local", "sm", size_of_local), ("private", "localmem", size_of_private)):
    add(
        f"size_of_{name}_float16",
        function(2, usmpy.float16),
        TESTS + f"test_{file}.py::test_issue_fp16_support",
        lambda rng: (((1,), (1,)), [np.zeros(1, "float16")]),
        lambda args: [2],
    )
add(
    "local_in_both",
    local_in_both,
    TESTS + "test_sm.py::test_issue_953_sm_linkage_conflict",
    lambda rng: (((1,), (1,)), [np.zeros(2, "int32")]),
    lambda args: [[10, 7]],
)
for dtype in ("bool", "int64", "float32", "complex64"):
    add(
        f"chunk_copy_{dtype}",
        chunk_copy(getattr(usmpy, dtype)),
        TESTS + "test_sm.py::use_sm_chunk_copy",
        lambda rng, dtype=dtype: (
            ((64,), (16,)),
            [rng.integers(0, 2, 64).astype(dtype), np.zeros(64, dtype)],
        ),
        lambda args: [None, args[0]],
    )
for file, function in (("globals", fill_local_by_one), ("sync", fill_local_by_name)):
    add_filled(
        f"fill_local_{file}", function, f"test_{file}.py::simple_smem", ((N,), (N,)), N, "int32", np.arange(N)
    )
    add(
        f"ratios_in_local_{file}",
        ratios_in_local,
        TESTS + f"test_{file}.py::coop_smem2d",
        lambda rng: (((ROWS, COLUMNS), (ROWS, COLUMNS)), [np.zeros((ROWS, COLUMNS), "float32")]),
        lambda args: [np.outer(np.arange(1, 7), 1 / np.arange(1, 9))],
        1e-6,
    )
add(
    "local_of_closure",
    one_of_local(64, usmpy.float32),
    TESTS + "test_freevar.py::foo",
    lambda rng: (((1,), (1,)), [np.zeros(2, "float32"), 1]),
    lambda args: [[0, 1.5]],
)
add(
    "twice_in_local",
    twice_in_local,
    TESTS + "test_sync.py::dyn_shared_memory",
    lambda rng: (((50,), (50,)), [np.zeros(50, "float32"), Local(50, "float32")]),
    lambda args: [2 * np.arange(50)],
)

# Tests: barriers and fences.


def id_after_barrier(x):
    i = get_global_id(0)
    barrier()
    x[i] = i


def fenced(x):
    x[0] += 123
    mem_fence()
    x[0] += 321


def vote(kind):
    def vote_of_group(x, out, counts):
        own = get_local_id(0)
        if own == 0:
            counts[0] = 0
        barrier()
        if x[get_global_id(0)] != 0:
            atomic_add(counts, 0, 1)
        barrier()
        n = counts[0]
        if kind == 1:
            out[get_global_id(0)] = n == get_local_size(0)
        elif kind == 2:
            out[get_global_id(0)] = n > 0
        else:
            out[get_global_id(0)] = n

    return vote_of_group


add_filled(
    "id_after_barrier",
    id_after_barrier,
    "test_sync.py::useless_syncthreads",
    ((10,), (10,)),
    10,
    "int32",
    np.arange(10),
)
for suffix in ("", "_block", "_system"):
    add_filled(
        f"fenced{suffix}", fenced, f"test_sync.py::use_threadfence{suffix}", 1, 3, "int32", [453, 9, 9]
    )
for kind, (name, want) in enumerate((("count", 12), ("and", 0), ("or", 1))):
    add(
        f"vote_{name}",
        vote(kind),
        TESTS + f"test_sync.py::use_syncthreads_{name}",
        lambda rng: (
            ((16,), (16,)),
            [np.array([1, 1, 0, 1] * 4, "int32"), np.full(16, -1, "int32"), Local(1, "int32")],
        ),
        lambda args, want=want: [None, want],
    )

# Tests: atomics.


def binned(operation, dtype, start):
    def bin_in_local(x, op):
        scratch = local_array(32, dtype)
        own = get_local_id(0)
        scratch[own] = start
        barrier()
        operation(scratch, int(x[own]) % 32, op)
        barrier()
        x[own] = scratch[own]

    return bin_in_local


def tiled(operation, dtype):
    def update_in_local(x, op):
        scratch = local_array((4, 8), dtype)
        i, j = get_local_id(0), get_local_id(1)
        scratch[i, j] = x[i, j]
        barrier()
        place = (i, j)
        operation(scratch, place, op)
        barrier()
        x[i, j] = scratch[i, j]

    return update_in_local


def placed(operation):
    def update_at(places, x, op):
        i = get_global_id(0)
        operation(x, places[i] % 32, op)

    return update_at


def replace_if(result, old, new, fill):
    i = get_global_id(0)
    if i < result.size:
        old[i] = atomic_compare_exchange(result, i, fill, new[i])


def replace_if_2d(result, old, new, fill):
    place = (get_global_id(0), get_global_id(1))
    if place[0] < result.shape[0] and place[1] < result.shape[1]:
        old[place] = atomic_compare_exchange(result, place, fill, new[place])


def atomic_increment(x, i, limit):
    old = x[i]
    while True:
        seen = atomic_compare_exchange(x, i, old, 0 if old >= limit else old + 1)
        if seen == old:
            return old
        old = seen


def atomic_decrement(x, i, limit):
    old = x[i]
    while True:
        seen = atomic_compare_exchange(x, i, old, limit if old == 0 or old > limit else old - 1)
        if seen == old:
            return old
        old = seen


def extreme(operation):
    def update_extreme(result, x):
        operation(result, 0, x[get_local_id(0), get_group_id(0)])

    return update_extreme


def extreme_in_local(operation):
    def update_extreme(result, x):
        values = local_array(32, usmpy.float64)
        best = local_array(1, usmpy.float64)
        own = get_local_id(0)
        values[own] = x[own]
        if own == 0:
            best[0] = result[0]
        barrier()
        operation(best, 0, values[own])
        barrier()
        if own == 0:
            result[0] = best[0]

    return update_extreme


def extreme_without_nan(operation):
    def update_extreme(result, x):
        v = x[get_local_id(0), get_group_id(0)]
        if not math.isnan(v):
            operation(result, 0, v)

    return update_extreme


BITS = {
    "add": (atomic_add, lambda a, b: a + b),
    "sub": (atomic_sub, lambda a, b: a - b),
    "and": (atomic_and, np.bitwise_and),
    "or": (atomic_or, np.bitwise_or),
    "xor": (atomic_xor, np.bitwise_xor),
    "exch": (atomic_exchange, lambda a, b: b),
    "inc": (atomic_increment, lambda a, b: a.dtype.type(0) if a >= b else a + a.dtype.type(1)),
    "dec": (atomic_decrement, lambda a, b: b if a == 0 or a > b else a - a.dtype.type(1)),
}


def folded(places, start, function, op):
    after = start.copy()
    for place in places:
        after[place] = function(after[place], after.dtype.type(op))
    return after


for name, (operation, function) in BITS.items():
    signed = "int32" if name == "sub" else "uint32"
    kinds = [(signed, "")] + (
        [("float32", "_float"), ("float64", "_double")] if name in ("add", "sub") else []
    )
    for dtype, suffix in kinds:
        width = "_32" if name in ("inc", "dec") else ""
        op = np.dtype(dtype).type(1 if name in ("add", "sub") else 5)
        start = 1 if name == "and" else 0
        if name not in ("inc", "dec", "exch"):
            add(
                f"binned_{name}_{dtype}",
                binned(operation, getattr(usmpy, dtype), start),
                TESTS + f"test_atomics.py::atomic_{name}{suffix}",
                lambda rng, dtype=dtype, op=op: (((32,), (32,)), [rng.integers(0, 32, 32).astype(dtype), op]),
                lambda args, function=function, start=start: [
                    folded(args[0].astype(int), np.full_like(args[0], start), function, args[1])
                ],
            )
        add(
            f"tiled_{name}_{dtype}",
            tiled(operation, getattr(usmpy, dtype)),
            TESTS + f"test_atomics.py::atomic_{name}{suffix + '_' * bool(suffix)}2{width}",
            lambda rng, dtype=dtype, op=op: (
                ((4, 8), (4, 8)),
                [rng.integers(0, 9, (4, 8)).astype(dtype), op],
            ),
            lambda args, function=function: [
                folded(np.ndindex(4, 8), args[0], function, args[1]),
            ],
        )
        if dtype != "float32" and not (dtype == "float64" and name == "and"):
            add(
                f"placed_{name}_{dtype}",
                placed(operation),
                TESTS + f"test_atomics.py::atomic_{name}{suffix}_global",
                lambda rng, dtype=dtype, op=op: (
                    32,
                    [rng.integers(0, 64, 32), rng.integers(0, 9, 32).astype(dtype), op],
                ),
                lambda args, function=function: [None, folded(args[0] % 32, args[1], function, args[2])],
            )
for dtype in ("int32", "uint32", "int64", "uint64"):
    add(
        f"replace_if_{dtype}",
        replace_if,
        TESTS + "test_atomics.py::atomic_cas_1dim",
        lambda rng, dtype=dtype: (
            ((16,), (8,)),
            [
                np.array([3, 9] * 5, dtype),
                np.zeros(10, dtype),
                np.arange(10, 20, dtype=dtype),
                np.dtype(dtype).type(3),
            ],
        ),
        lambda args: [np.where(args[0] == 3, args[2], 9), args[0]],
    )
add(
    "replace_if_2d",
    replace_if_2d,
    TESTS + "test_atomics.py::atomic_cas_2dim",
    lambda rng: (
        ((4, 4), (2, 2)),
        [
            np.array([[3, 9, 3]] * 3, "int32"),
            np.zeros((3, 3), "int32"),
            np.arange(9, dtype="int32").reshape(3, 3),
            3,
        ],
    ),
    lambda args: [np.where(args[0] == 3, args[2], 9), args[0]],
)
for name, operation in (("max", atomic_max), ("min", atomic_min)):
    reduce = getattr(np, name)
    for dtype in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
        add(
            f"extreme_{name}_{dtype}",
            extreme(operation),
            TESTS + f"test_atomics.py::atomic_{name}",
            lambda rng, dtype=dtype: (
                ((32,), (8,)),
                [np.full(1, 50, dtype), rng.integers(0, 99, (8, 4)).astype(dtype)],
            ),
            lambda args, reduce=reduce: [reduce([args[0][0], reduce(args[1])])],
        )
    add(
        f"extreme_in_local_{name}",
        extreme_in_local(operation),
        TESTS + f"test_atomics.py::atomic_{name}_double_shared",
        lambda rng: (((32,), (32,)), [np.full(1, 0.5), rng.random(32)]),
        lambda args, reduce=reduce: [reduce(args[1])],
    )
    add(
        f"extreme_without_nan_{name}",
        extreme_without_nan(operation),
        TESTS + f"test_atomics.py::atomic_nan{name}",
        lambda rng: (
            ((32,), (8,)),
            [np.full(1, 0.5), np.where(rng.random((8, 4)) < 0.2, np.nan, rng.random((8, 4)))],
        ),
        lambda args, name=name: [getattr(np, f"nan{name}")([args[0][0], getattr(np, f"nan{name}")(args[1])])],
    )

# Tests: functions.


def doubled_by_function(x):
    i = get_global_id(0)
    x[i] = plus(x[i], x[i])


def indirect_plus(a, b):
    return plus(a, b)


def doubled_by_two_functions(x):
    i = get_global_id(0)
    x[i] = indirect_plus(x[i], x[i])


def pack_colour(r, g, b, a):
    return ((r & 0xFF) << 16) | ((g & 0xFF) << 8) | ((b & 0xFF) << 0) | ((a & 0xFF) << 24)


def pack_first(x, channels):
    x[0] = pack_colour(int(channels[0]), int(channels[1]), int(channels[2]), int(channels[3]))


def element(x, i):
    return x[i]


def copy_by_function(x, y):
    i = get_global_id(0)
    y[i] = element(x, i)


for name, function in (("device_add2f", doubled_by_function), ("indirect_add2f", doubled_by_two_functions)):
    add(
        name,
        function,
        TESTS + f"test_device_func.py::{name}",
        lambda rng: (10, [np.arange(10, dtype="float32")]),
        lambda args: [2 * args[0]],
    )
add(
    "pack_colour",
    pack_first,
    TESTS + "test_device_func.py::rgba_caller",
    lambda rng: (1, [np.zeros(1, "int32"), np.array([1, 2, 3, 4], "float32")]),
    lambda args: [0x04010203],
)
add(
    "array_to_function",
    copy_by_function,
    TESTS + "test_array_args.py::device_function",
    lambda rng: (((10,), (1,)), [np.arange(10.0), np.zeros(10)]),
    lambda args: [None, args[0]],
)

# Tests: control flow and local variables.


def parameter_reused(result, x):
    x += 1
    result[0] = x


def redefined(result, x, y):
    distance = 0
    if x < y:  # noqa: SIM108
        distance = y - x
    else:
        distance = x - y
    result[0] = distance


def sum_to(result, n):
    c = 0
    for i in range(n):
        c += i
    result[0] = c


def two_sums(result, n):
    c = 0
    d = n
    for i in range(n):
        c += i
        d += n
    result[0] = c
    result[1] = d


def nested_sum(result, n):
    c = 0
    for i in range(n):
        for j in range(n):
            c += j
        c += i
    result[0] = c


def drain(result, jars):
    turns, place, moved = 2, 0, 0
    while turns > 0 and place < jars.size:
        turns -= 1
        while jars[place] > 0:
            if jars[place] % 2 == 1:
                if jars[place] > 2:
                    turns += 1
                jars[place] -= 1
            else:
                jars[place] //= 2
            moved += turns
        place += 1
        moved += 1
    result[0] = moved
    result[1] = turns


def choose_by_flag(result, flag):
    if flag:  # noqa: SIM108
        chosen = 3
    else:
        chosen = 8
    result[0] = chosen


def unused_start(result, q, line):
    value = 0.0
    value = q[0, 0]
    result[0] = line[0] + value


def small_range(result, v):
    s = usmpy.uint32(1)
    for i in range(s):
        v[i] = 1
    for _ in range(s, 1):
        pass
    result[0] = v[0]


def copy_or_increment(result, x):
    if len(x) == 5:
        for i in range(len(x)):
            result[i] = x[i]
    else:
        for i in range(len(x)):
            result[i] = x[i] + 1


def push_twice(flag, stack):
    top = 0
    value = 4
    if flag:
        stack[top] = value
        top += 1
        stack[top] = value
        top += 1
    stack[top] = -1


def python_result(function):
    """Expect what Python makes of the arguments, with the casts of NumPy."""
    names = {**function.__globals__, "usmpy": np}
    in_python = types.FunctionType(function.__code__, names, closure=function.__closure__)

    def expect(args):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        in_python(*args)
        return [a if isinstance(a, np.ndarray) else None for a in args]

    return expect


def add_serial(name, function, source, *given):
    add(name, function, TESTS + source, lambda rng: (1, [*given]), python_result(function))


def nines(n=1, dtype="float64"):
    return np.full(n, 9, dtype)


add_serial("parameter_reused", parameter_reused, "test_ssa.py::test_argument_name_reused", nines(), 123)
add_serial("redefined_2", redefined, "test_ssa.py::test_if_else_redefine", nines(), 3, 2)
add_serial("redefined_3", redefined, "test_ssa.py::test_if_else_redefine", nines(), 2, 3)
for n in (0, 10):
    add_serial(f"sum_to_{n}", sum_to, "test_ssa.py::test_sum_loop", nines(), n)
    add_serial(f"two_sums_{n}", two_sums, "test_ssa.py::test_sum_loop_2vars", nines(2), n)
    add_serial(f"nested_sum_{n}", nested_sum, "test_ssa.py::test_sum_2d_loop", nines(), n)
add_serial(
    "nested_whiles", drain, "test_ssa.py::test_phi_propagation", nines(2, "int64"), np.array([9, 0, 6, 5])
)
add_serial("choose_by_flag", choose_by_flag, "test_ssa.py::test_issue3094", nines(1, "int64"), False)
add_serial(
    "unused_start",
    unused_start,
    "test_ssa.py::test_issue5243",
    nines(),
    np.zeros((2, 2)),
    np.array([0.1, 0.6]),
)
add_serial("small_range", small_range, "test_ssa.py::test_issue2194", nines(), nines(2))
for n in (5, 4):
    add_serial(
        f"copy_or_increment_{n}", copy_or_increment, "test_ssa.py::test_issue5223", nines(5), np.ones(n)
    )
add_serial(
    "push_twice",
    push_twice,
    "test_ssa.py::test_issue5623_equal_statements_in_same_bb",
    True,
    np.array([5, 6, 7]),
)


def loop_to(x, y, out):
    total = 0
    for i in range(x):
        total += i
    out[0] = total


def loop_in_loop(x, y, out):
    total = 0
    for i in range(x):
        for _ in range(y):
            total += i
    out[0] = total


def loop_with_break(x, y, out):
    total = 0
    for i in range(x):
        total += i
        if total >= y:
            break
    out[0] = total


def loop_with_continue(x, y, out):
    total = 0
    for i in range(x):
        if i % 3 == y:
            continue
        total += i
    out[0] = total


def loop_with_step(x, y, out):
    total = 0
    for _ in range(x, y, y - x + 1):
        total += 1
    out[0] = total


def while_less(x, y, out):
    total = 0
    i = 0
    while i < x:
        total += i
        i += 1
    out[0] = total


def while_unequal(x, y, out):
    total = 0
    while total != x:
        total += 1
    out[0] = total


def while_in_while(x, y, out):
    total, i = 0, 0
    while i < x:
        k = i
        while k < y:
            total += k
            k += 2
        i += 1
    out[0] = total


def while_true(x, y, out):
    total = 0
    while True:
        total += 1
        if total > x:
            break
    out[0] = total


def while_with_continue(x, y, out):
    total = 0
    turns = 0
    while total < x:
        turns += 1
        if turns % 4 == y:
            total += 5
            continue
        total += turns
    out[0] = total
    out[1] = turns


def empty_branches(x, y, out):
    if x > 0 or y > 0:
        pass
    else:
        pass
    out[0] = True


def three_branches(x, y, out):
    if x < 0 or y < 0:
        out[0] = -1
    elif x >= y:
        out[0] = x - y
    else:
        out[0] = y


def nested_branches(x, y, out):
    if x == 0:
        out[0] = 4
    elif x > 0:
        if y == 0:
            out[0] = 6
        elif y > x:
            out[0] = 7
        else:
            out[0] = 8
    else:
        out[0] = 5


def one_branch(x, y, out):
    if x == y:
        out[0] = 1


def conditional(x, y, out):
    out[0] = True if x > y else False  # noqa: SIM210


def two_endless_loops(x, y, out):
    steps = 0
    v = x
    while True:
        while True:
            if v % 2 == 1:
                break
            v //= 2
            steps += 1
        if v <= y:
            break
        v = 3 * v + 1
        steps += 1
    out[0] = steps
    out[1] = v


for function, kernel, pairs in (
    (loop_to, "for_loop_usecase1", [(-10, 0), (0, 0), (10, 0)]),
    (loop_in_loop, "for_loop_usecase4", [(10, 10)]),
    (loop_with_break, "for_loop_usecase5", [(100, 50)]),
    (loop_with_continue, "for_loop_usecase6", [(20, 1), (20, 5)]),
    (loop_with_step, "for_loop_usecase8", [(0, 2), (1, 10), (1, 2)]),
    (while_less, "while_loop_usecase1", [(10, 0)]),
    (while_unequal, "while_loop_usecase2", [(10, 0)]),
    (while_in_while, "while_loop_usecase3", [(7, 10), (0, 10)]),
    (while_true, "while_loop_usecase4", [(10, 0)]),
    (while_with_continue, "while_loop_usecase5", [(100, 3), (60, 0)]),
    (empty_branches, "ifelse_usecase1", [(-1, 0), (1, 1)]),
    (three_branches, "ifelse_usecase2", [(-1, 0), (2, 1), (1, 2)]),
    (nested_branches, "ifelse_usecase3", [(0, 1), (1, 0), (1, -1), (-1, 1)]),
    (one_branch, "ifelse_usecase4", [(0, 1), (1, 1)]),
    (conditional, "ternary_ifelse_usecase1", [(0, 1), (1, 0)]),
    (two_endless_loops, "double_infinite_loop", [(12, 1), (8, 3)]),
):
    for x, y in pairs:
        add_serial(f"{kernel}_{x}_{y}", function, f"test_flow_control.py::{kernel}", x, y, nines(2, "int64"))

# Tests: types and operators.


class Level(enum.IntEnum):
    LOW = 40
    HIGH = 90


class Step(enum.IntEnum):
    SMALL = 1
    LARGE = 6


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


def enum_as_number(x, out):
    if x >= Level.HIGH:
        out[0] = x - Level.LOW
    else:
        out[0] = Step.LARGE * x


def enum_cast(x, out):
    if x >= usmpy.int16(Level.HIGH):
        out[0] = x - usmpy.int32(Level.LOW)
    else:
        out[0] = usmpy.int16(Step.LARGE) * x


def enum_members(out):
    out[0] = Colour.RED == Colour.GREEN
    out[1] = Colour.RED != Colour.GREEN


for x in (30, 90, 120):
    add_serial(f"enum_as_number_{x}", enum_as_number, "test_enums.py::test_int_coerce", x, nines(1, "int32"))
    add_serial(f"enum_cast_{x}", enum_cast, "test_enums.py::test_int_cast", x, nines(1, "int32"))
add_serial("enum_members", enum_members, "test_enums.py::test_getattr_getitem", nines(2, "bool"))


def halve_in_place(x, rows, columns):
    for i in range(rows):
        for j in range(columns):
            x[i, j] /= 2.0


def power_by_function(x, power, out):
    i, j = get_global_id(0), get_global_id(1)
    m, n = out.shape
    if i >= m or j >= n:
        return
    out[i, j] = math.pow(x[i, j], usmpy.int32(power))


def power_by_operator(x, power, out):
    i, j = get_global_id(0), get_global_id(1)
    m, n = out.shape
    if i >= m or j >= n:
        return
    out[i, j] = x[i, j] ** power


def powers(out, x, y):
    i = get_global_id(0)
    if i < len(out):
        out[i] = pow(x[i], y[i])


def powers_by_operator(out, x, y):
    i = get_global_id(0)
    if i < len(out):
        out[i] = x[i] ** y[i]


def powers_in_place(out, x):
    i = get_global_id(0)
    if i < len(out):
        out[i] **= x[i]


def scaled_ids(y, y_times, y_over, n):
    i = get_global_id(0)
    _ = i % n
    value = usmpy.float32(0.375 * usmpy.float32(i))
    y[i] = value
    y_times[i] = value * 1.0
    y_over[i] = value / 1.0


def number_by_flag(x, flag):
    if flag:
        x[0] = 123
    else:
        x[0] = 321


def divide_first(out, x, y):
    out[0] = y[0] / x[0]
    out[1] = y[0]


def add_complex(x, b):
    i = get_global_id(0)
    x[i] += b


for dtype, suffix in (("float32", ""), ("float64", "_double")):
    add(
        f"halve_in_place_{dtype}",
        halve_in_place,
        TESTS + f"test_idiv.py::div{suffix}",
        lambda rng, dtype=dtype: (1, [np.ones((2, 2), dtype), np.int32(2), np.int32(2)]),
        lambda args: [0.5],
    )
for function, kernel in ((power_by_function, "cu_mat_power"), (power_by_operator, "cu_mat_power_binop")):
    add(
        kernel,
        function,
        TESTS + f"test_powi.py::{kernel}",
        lambda rng: (((2, 5), (2, 5)), [np.arange(10.0).reshape(2, 5), np.int8(2), np.zeros((2, 5))]),
        lambda args: [None, None, args[0] ** 2],
        1e-12,
    )
for dtype, close in (("float32", 1e-5), ("float64", 1e-12), ("complex64", 1e-5), ("complex128", 1e-12)):

    def make_powers(rng, dtype=dtype):
        x, y = (rng.random(16) + 0.25 + (1j * rng.random(16) if dtype[0] == "c" else 0) for _ in range(2))
        return ((16,), (16,)), [np.zeros(16, dtype), x.astype(dtype), y.astype(dtype)]

    for function, kernel in ((powers, "vec_pow"), (powers_by_operator, "vec_pow_binop")):
        add(
            f"{kernel}_{dtype}",
            function,
            TESTS + f"test_powi.py::{kernel}",
            make_powers,
            lambda args: [args[1] ** args[2]],
            close,
        )
    add(
        f"powers_in_place_{dtype}",
        powers_in_place,
        TESTS + "test_powi.py::vec_pow_inplace_binop",
        lambda rng, make=make_powers: (make(rng)[0], make(rng)[1][1:]),
        lambda args: [args[0] ** args[1]],
        close,
    )
add(
    "scaled_ids",
    scaled_ids,
    TESTS + "test_py2_div_issue.py::preCalc",
    lambda rng: (((15,), (15,)), [*np.zeros((3, 15), "float32"), np.int32(15)]),
    lambda args: [np.float32(0.375) * np.arange(15, dtype="float32")] * 3,
    1e-6,
)
for flag in (True, False):
    add(
        f"number_by_flag_{flag}",
        number_by_flag,
        TESTS + "test_boolean.py::boolean_func",
        lambda rng, flag=flag: (1, [np.zeros(1), flag]),
        lambda args: [123 if args[1] else 321],
    )
add(
    "divide_by_zero",
    divide_first,
    TESTS + "test_exception.py::f",
    lambda rng: (1, [np.zeros(2), np.zeros(1), np.ones(1)]),
    lambda args: [[np.inf, 1]],
)
add(
    "add_complex",
    add_complex,
    TESTS + "test_complex_kernel.py::foo",
    lambda rng: (5, [np.arange(5, dtype="complex128"), 2j]),
    lambda args: [args[0] + 2j],
)


def cast_to(dtype):
    def cast_each(x, y):
        i = get_global_id(0)
        y[i] = dtype(x[i])

    return cast_each


def halved_as(dtype):
    def halve_each(x, y):
        i = get_global_id(0)
        y[i] = dtype(x[i]) / dtype(2)

    return halve_each


FLOATS = np.array([0.0, 1.5, 3.9, 100.25])
for dtype in (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
):
    add(
        f"cast_to_{dtype}",
        cast_to(getattr(usmpy, dtype)),
        TESTS + f"test_casting.py::to_{dtype}",
        lambda rng, dtype=dtype: (4, [FLOATS.copy(), np.zeros(4, dtype)]),
        lambda args, dtype=dtype: [None, args[0].astype(dtype)],
    )
for dtype in ("float16", "float32", "float64"):
    add(
        f"halved_as_{dtype}",
        halved_as(getattr(usmpy, dtype)),
        TESTS + f"test_casting.py::to_{dtype}",
        lambda rng, dtype=dtype: (4, [np.arange(4), np.zeros(4, dtype)]),
        lambda args: [None, args[0] / 2],
    )


def added(x, y):
    x[0] = x[0] + y[0]


def subtracted(x, y):
    x[0] = x[0] - y[0]


def multiplied(x, y):
    x[0] = x[0] * y[0]


def divided(x, y):
    x[0] = x[0] / y[0]


def floor_divided(x, y):
    x[0] = x[0] // y[0]


def remainder(x, y):
    x[0] = x[0] % y[0]


def negated(x, y):
    x[0] = -y[0]


def absolute(x, y):
    x[0] = abs(-y[0])


def added_in_place(x, y):
    x[0] += y[0]


def multiplied_in_place(x, y):
    x[0] *= y[0]


for function in (
    added,
    subtracted,
    multiplied,
    divided,
    floor_divided,
    remainder,
    added_in_place,
    multiplied_in_place,
):
    add(
        f"operator_{function.__name__}",
        function,
        TESTS + "test_operator.py::foo",
        lambda rng: (1, [np.array([7.5]), np.array([2.0])]),
        python_result(function),
    )
for function, kernel in (
    (added, "simple_fp16add"),
    (subtracted, "simple_fp16sub"),
    (multiplied, "simple_fp16mul"),
    (divided, "simple_fp16_div_scalar"),
    (negated, "simple_fp16neg"),
    (absolute, "simple_fp16abs"),
    (added_in_place, "simple_fp16_iadd"),
    (multiplied_in_place, "simple_fp16_imul"),
):
    add(
        kernel,
        function,
        TESTS + f"test_operator.py::{kernel}",
        lambda rng: (1, [np.array([7.5], "float16"), np.array([2.25], "float16")]),
        python_result(function),
        1e-3,
    )


def ordered(x, y):
    return x < y


def compare_halves(out, x):
    a, b, c = x[0], x[1], x[2]
    out[0] = a < b
    out[1] = a <= b
    out[2] = a > b
    out[3] = a >= b
    out[4] = a == b
    out[5] = a != b
    out[6] = ordered(a, b) and ordered(b, c)
    out[7] = ordered(a, b) and c >= b
    out[8] = a < b < c


add(
    "compare_halves",
    compare_halves,
    TESTS + "test_operator.py::multiple_hcmp",
    lambda rng: (1, [np.zeros(9, "bool"), np.array([1, 2, 3], "float16")]),
    lambda args: [[1, 1, 0, 0, 0, 1, 1, 1, 1]],
)

# Tests: math.


def unary(function):
    def map_each(x, y):
        i = get_global_id(0)
        y[i] = function(x[i])

    return map_each


def binary(function):
    def map_pairs(x, y, z):
        i = get_global_id(0)
        z[i] = function(x[i], y[i])

    return map_pairs


OF_NUMPY = {
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "acosh": np.arccosh,
    "asinh": np.arcsinh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc),
    "gamma": np.vectorize(math.gamma),
    "lgamma": np.vectorize(math.lgamma),
    "atan2": np.arctan2,
    "pow": np.power,
}
UNARY = "acos asin atan acosh asinh atanh cos sin tan cosh sinh tanh exp erf erfc expm1 fabs gamma lgamma "
WHOLE = ("ceil", "floor")
TESTED = ("isnan", "isinf", "isfinite")


def make_unary(name, dtype):
    result = "bool" if name in TESTED else "int64" if name in WHOLE else dtype

    def make(rng):
        x = np.linspace(0.05, 0.95, 9) + (name == "acosh")
        if name in WHOLE:
            x = np.linspace(-2.75, 2.75, 9)
        if name in TESTED:
            x[:3] = np.nan, np.inf, -np.inf
        return 9, [x.astype(dtype), np.zeros(9, result)]

    return make


for name in (*(UNARY + "log log2 log10 log1p sqrt").split(), *TESTED, *WHOLE):
    function = OF_NUMPY.get(name, getattr(np, name, None))
    for dtype, close in (("float32", 1e-5), ("float64", 1e-12)):
        add(
            f"math_{name}_{dtype}",
            unary(getattr(math, name)),
            TESTS + f"test_math.py::math_{name}",
            make_unary(name, dtype),
            lambda args, function=function: [None, function(args[0].astype("float64"))],
            0 if name in TESTED + WHOLE else close,
        )
for name in ("atan2", "hypot", "fmod", "copysign", "pow"):
    for dtype, close in (("float32", 1e-5), ("float64", 1e-12)):
        add(
            f"math_{name}_{dtype}",
            binary(getattr(math, name)),
            TESTS + f"test_math.py::math_{name}",
            lambda rng, dtype=dtype: (
                9,
                [
                    np.linspace(0.3, 5, 9).astype(dtype),
                    np.linspace(2, 0.7, 9).astype(dtype),
                    np.zeros(9, dtype),
                ],
            ),
            lambda args, name=name: [
                None,
                None,
                OF_NUMPY.get(name, getattr(np, name, None))(*(a.astype("float64") for a in args[:2])),
            ],
            close,
        )

# Tests: whole programs.


def mandelbrot(counts, low, step, width, limit):
    i = get_global_id(0)
    c = complex(low.real + i % width * step.real, low.imag + i // width * step.imag)
    z = 0j
    counts[i] = limit
    for k in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            counts[i] = k
            return


def expected_mandelbrot(args):
    counts, low, step, width, limit = args
    i = np.arange(len(counts))
    c, z = low + i % width * step.real + i // width * step.imag * 1j, np.zeros(len(counts), complex)
    after = np.full(len(counts), limit)
    for k in range(limit):
        z = np.where(after == limit, z * z + c, 0)
        after[(abs(z) >= 2) & (after == limit)] = k
    return [after]


SIDE = 4


def larger(a, b):
    if b > a:
        return b
    return a


def relax(old, new, errors):
    changes = local_array(SIDE * SIDE, usmpy.float64)
    own = get_local_id(0) * SIDE + get_local_id(1)
    i, j = get_global_id(0), get_global_id(1)
    change = 0.0
    if 0 < i < old.shape[0] - 1 and 0 < j < old.shape[1] - 1:
        new[i, j] = (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]) / 4
        change = new[i, j] - old[i, j]
    changes[own] = change
    barrier()
    step = SIDE * SIDE // 2
    while step > 0:
        if own < step:
            changes[own] = larger(changes[own], changes[own + step])
        barrier()
        step >>= 1
    if own == 0:
        errors[get_group_id(0), get_group_id(1)] = changes[0]


def expected_relaxed(args):
    old, new, _ = args
    new, change = new.copy(), np.zeros_like(old)
    new[1:-1, 1:-1] = (old[1:-1, 2:] + old[1:-1, :-2] + old[:-2, 1:-1] + old[2:, 1:-1]) / 4
    change[1:-1, 1:-1] = (new - old)[1:-1, 1:-1]
    return [None, new, change.reshape(2, 4, 2, 4).max((1, 3))]


def square_product(a, b, c):
    left = local_array((SIDE, SIDE), usmpy.float32)
    right = local_array((SIDE, SIDE), usmpy.float32)
    r, s = get_local_id(0), get_local_id(1)
    i = r + get_group_id(0) * get_local_size(0)
    j = s + get_group_id(1) * get_local_size(1)
    n = a.shape[0]
    value = usmpy.float32(0)
    for tile in range(n // SIDE):
        if i < n and j < n:
            left[r, s] = a[i, s + tile * SIDE]
            right[r, s] = b[r + tile * SIDE, j]
        barrier()
        if i < n and j < n:
            for k in range(SIDE):
                value += left[r, k] * right[k, s]
        barrier()
    if i < n and j < n:
        c[i, j] = value


COEFFICIENTS = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
DENSITY = 0.39894228040143267794


def cumulative(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    series = 0.0
    for n in range(4, -1, -1):
        series = k * (COEFFICIENTS[n] + series)
    value = DENSITY * math.exp(-0.5 * d * d) * series
    if d > 0:
        value = 1.0 - value
    return value


def price_options(call, put, spot, strike, years, rate, volatility):
    i = get_global_id(0)
    if i >= spot.shape[0]:
        return
    s, x, t = spot[i], strike[i], years[i]
    root = math.sqrt(t)
    first = (math.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / (volatility * root)
    second = first - volatility * root
    above, below = cumulative(first), cumulative(second)
    discount = math.exp(-rate * t)
    call[i] = s * above - x * discount * below
    put[i] = x * discount * (1.0 - below) - s * (1.0 - above)


def expected_prices(args):
    _, _, spot, strike, years, rate, volatility = args
    root = volatility * np.sqrt(years)
    first = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / root
    erf = np.vectorize(math.erf)
    above, below = ((1 + erf(d / math.sqrt(2))) / 2 for d in (first, first - root))
    discounted = strike * np.exp(-rate * years)
    return [spot * above - discounted * below, discounted * (1 - below) - spot * (1 - above)]


def price_step(last, paths, dt, c0, c1, noise):
    i = get_global_id(0)
    if i >= paths.shape[0]:
        return
    draw = noise[i]
    paths[i] = last[i] * math.exp(c0 * dt + c1 * draw)


def transpose(x, y):
    scratch = local_array((SIDE, SIDE + 1), usmpy.float64)
    r, c = get_local_id(0), get_local_id(1)
    row, column = get_group_id(0) * SIDE, get_group_id(1) * SIDE
    if row + r < x.shape[0] and column + c < x.shape[1]:
        scratch[c, r] = x[row + r, column + c]
    barrier()
    if row + c < x.shape[0] and column + r < x.shape[1]:
        y[column + r, row + c] = scratch[r, c]


CONSTANTS = tuple(k / 2 for k in range(10))
BYTES = (7, 11, 13)


def constants_plus_one(x):
    i = get_global_id(0)
    x[i] = CONSTANTS[i] + 1.0


def two_constants(x):
    i = get_global_id(0)
    x[i] = BYTES[i] + CONSTANTS[i]


for dtype in ("complex64", "complex128"):
    add(
        f"mandelbrot_{dtype}",
        mandelbrot,
        TESTS + "test_mandel.py::mandel",
        lambda rng, dtype=dtype: (
            48,
            [
                np.zeros(48, "int32"),
                np.dtype(dtype).type(-2.0625 - 1.0625j),
                np.dtype(dtype).type(0.375 + 0.375j),
                8,
                12,
            ],
        ),
        expected_mandelbrot,
    )
add(
    "relax",
    relax,
    TESTS + "test_laplace.py::jocabi_relax_core",
    lambda rng: (((8, 8), (SIDE, SIDE)), [rng.random((8, 8)), np.zeros((8, 8)), np.zeros((2, 2))]),
    expected_relaxed,
    1e-12,
)
product_case(
    "square_product",
    square_product,
    TESTS + "test_matmul.py::cu_square_matrix_mul",
    (8, 8, 8),
    ((8, 8), (SIDE, SIDE)),
)
add(
    "black_scholes",
    price_options,
    TESTS + "test_blackscholes.py::black_scholes_cuda",
    lambda rng: (
        ((40,), (8,)),
        [
            *np.zeros((2, 35)),
            *(rng.uniform(*ends, 35) for ends in ((5, 30), (1, 100), (0.25, 10))),
            0.02,
            0.3,
        ],
    ),
    expected_prices,
    1e-5,
)
add(
    "price_step",
    price_step,
    TESTS + "test_montecarlo.py::step",
    lambda rng: (((24,), (8,)), [rng.random(20), np.zeros(20), 0.1, 0.5, 0.25, rng.random(20)]),
    lambda args: [None, args[0] * np.exp(args[3] * args[2] + args[4] * args[5])],
    1e-12,
)
for rows, columns in ((2, 3), (8, 8), (7, 9)):
    add(
        f"transpose_{rows}x{columns}",
        transpose,
        TESTS + "test_transpose.py::transpose",
        lambda rng, rows=rows, columns=columns: (
            ((-(-rows // 4) * 4, -(-columns // 4) * 4), (SIDE, SIDE)),
            [rng.random((rows, columns)), np.zeros((columns, rows))],
        ),
        lambda args: [None, args[0].T],
    )
add(
    "transpose_of_view",
    transpose,
    TESTS + "test_transpose.py::test_transpose_view",
    lambda rng: (
        ((4, 8), (SIDE, SIDE)),
        [View(rng.random((12, 8)), (slice(None, None, 2), slice(None, None, 2)), True), np.zeros((6, 4))],
    ),
    lambda args: [None, args[0].view(args[0].base).T],
)
add_filled(
    "constants_plus_one",
    constants_plus_one,
    "test_constmem.py::cuconst",
    ((10,), (5,)),
    10,
    "float64",
    np.arange(10) / 2 + 1,
)
add_filled("two_constants", two_constants, "test_constmem.py::cuconstAlign", 3, 3, "float64", [7, 11.5, 14])

# Kernels that the language refuses, and what has no counterpart.

REFUSED = {
    (GUIDE + "memory.rst", "f"): "two arrays that alias one block of local memory with two types",
    (GUIDE + "cudapysupported.rst", "fib"): "recursion: write a loop",
    (GUIDE + "reduction.rst", "sum_reduce (lambda)"): "lambda: write def",
    (
        DOCS + "test_globals.py",
        "compute_totals (device array)",
    ): "an array as a global: pass it as an argument",
    (DOCS + "test_ufunc.py", "f"): "a function of whole arrays: write a loop over elements",
    (TESTS + "test_lang.py", "test_enumerate"): "enumerate: write a loop over range(len(t))",
    (TESTS + "test_lang.py", "test_zip"): "zip: write a loop over range(len(t))",
    (TESTS + "test_iterators.py", "enumerator"): "a loop over an array: write one over its indices",
    (TESTS + "test_iterators.py", "zipper"): "a loop over arrays: write one over their indices",
    (TESTS + "test_iterators.py", "enumerator_zipper"): "a loop over arrays: write one over their indices",
    (TESTS + "test_iterators.py", "zipper_enumerator"): "a loop over arrays: write one over their indices",
    (TESTS + "test_enums.py", "test_compare"): "Enum members as arguments, and `is` of them",
    (TESTS + "test_ssa.py", "test_undefined_var"): "a variable that is not assigned on every path",
    (
        TESTS + "test_ssa.py",
        "test_issue5482_missing_variable_init",
    ): "a variable that is not assigned on every path",
    (TESTS + "test_ssa.py", "test_unhandled_undefined"): "a variable that is not assigned on every path",
    (TESTS + "test_ssa.py", "test_issue3931"): "reshape in a kernel",
    (TESTS + "test_ssa.py", "test_issue3979"): "a loop over an array: write one over its indices",
    (TESTS + "test_ssa.py", "test_issue5493_unneeded_phi"): "a tuple of arrays as an argument",
    (TESTS + "test_flow_control.py", "for_loop_usecase2"): "enumerate",
    (TESTS + "test_flow_control.py", "for_loop_usecase7"): "for … else",
    (TESTS + "test_flow_control.py", "for_loop_usecase9"): "for … else",
    (TESTS + "test_flow_control.py", "for_loop_usecase10"): "for … else",
    (TESTS + "test_array_args.py", "f (tuples)"): "tuples and named tuples as arguments",
    (TESTS + "test_sm.py", "slice_write"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_read"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_diff_sizes"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_overlap"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_gaps"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_write_backwards"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_nonunit_stride"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "slice_nonunit_reverse_stride"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "sm_slice_copy"): "a slice of an array: write the index",
    (TESTS + "test_sm.py", "test_shared_recarray"): "records",
    (TESTS + "test_localmem.py", "test_struct_model_type_arr"): "records",
    (TESTS + "test_constmem.py", "cuconstRec"): "records",
    (
        TESTS + "test_atomics.py",
        "atomic_binary_1dim_shared",
    ): "functions as arguments of functions: use closures",
    (TESTS + "test_operator.py", "operators of the module operator"): "operator.add and others as names",
}

UNSUPPORTED = {
    (DOCS + "test_cg.py", "sequential_rows"): "a barrier of the whole grid",
    (DOCS + "test_laplace.py", "solve_heat_equation"): "a barrier of the whole grid",
    (DOCS + "test_sessionize.py", "sessionize"): "a barrier of the whole grid",
    (DOCS + "test_ffi.py", "multiply_vectors"): "links CUDA C",
    (DOCS + "test_ffi.py", "reduction_caller"): "links CUDA C",
    (DOCS + "test_ffi.py", "vector_saxpy"): "links CUDA C",
    (GUIDE + "cuda_ffi.rst", "multiply_vectors"): "links CUDA C",
    (GUIDE + "cuda_compilation.rst", "add"): "tests the output of the compiler",
    (GUIDE + "cudapysupported.rst", "type_change_self"): "the peer refuses it",
    (TESTS + "test_sync.py", "useless_syncwarp"): "warps",
    (TESTS + "test_sync.py", "coop_syncwarp"): "warps",
    (TESTS + "test_warp_ops.py", "all kernels"): "warps",
    (TESTS + "test_cooperative_groups.py", "all kernels"): "a barrier of the whole grid",
    (TESTS + "test_bfloat16.py", "all kernels"): "NVIDIA's own intrinsic functions",
    (TESTS + "test_fp8_bindings.py", "all kernels"): "NVIDIA's own types",
    (TESTS + "test_libdevice.py", "all kernels"): "NVIDIA's own library",
    (TESTS + "test_vector_type.py", "all kernels"): "NVIDIA's own vector types",
}
