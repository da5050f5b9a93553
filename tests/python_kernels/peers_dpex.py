"""The kernels of numba-dpex's examples and kernel tests, written anew in the language of usmpy.kernel."""

import enum
import math

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
    private_array,
)

EXAMPLES = "numba_dpex/examples/kernel/"
TESTS = "numba_dpex/tests/kernel_tests/"
CASES: list[Case] = []


def add(name, function, source, make, expect, tolerance=0.0):
    CASES.append(Case(name, function, source, make, expect, tolerance))


# Examples.


def total_by_atomics(values, total):
    i = get_global_id(0)
    atomic_add(total, 0, values[i])


def price_options(spot, strike, years, rate, volatility, call, put):
    i = get_global_id(0)
    s = spot[i]
    x = strike[i]
    discounted = x * math.exp(-rate * years[i])
    variance = 2.0 * volatility * volatility * years[i]
    drift = math.log(s / x) + rate * years[i]
    scale = 1.0 / math.sqrt(variance)
    above = 0.5 + 0.5 * math.erf((drift + 0.25 * variance) * scale)
    below = 0.5 + 0.5 * math.erf((drift - 0.25 * variance) * scale)
    worth = s * above - discounted * below
    call[i] = worth
    put[i] = worth - s + discounted


def expected_prices(args):
    spot, strike, years, rate, volatility = args[:5]
    erf = np.vectorize(math.erf)
    root = volatility * np.sqrt(years)
    first = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / root
    first, second = ((1 + erf(d / math.sqrt(2))) / 2 for d in (first, first - root))
    discounted = strike * np.exp(-rate * years)
    call = spot * first - discounted * second
    return [None] * 5 + [call, call - spot + discounted]


def successor(v):
    return v + 1


def apply_successor(x, y):
    i = get_global_id(0)
    y[i] = successor(x[i])


def double_and_gather(x):
    i = get_global_id(0)
    x[i] *= 2
    barrier()
    if i == 0:
        total = x[0]
        for k in range(1, x.size):
            total += x[k]
        x[0] = total


def delegate_all(x):
    double_and_gather(x)


def expected_gathered(args):
    after = args[0] * 2
    after[0] = after.sum()
    return [after]


POINTS = 4  # that each work-item evaluates


def cubic_by_segment(x, y, table):
    weights = private_array(4, usmpy.float32)
    point = private_array(1, usmpy.float32)
    segment = get_group_id(0)
    for k in range(4):
        weights[k] = table[segment, k]
    first = get_global_id(0) * POINTS
    for i in range(first, first + POINTS, 1):
        point[0] = x[i]
        y[i] = ((weights[0] * point[0] + weights[1]) * point[0] + weights[2]) * point[0] + weights[3]


def make_cubic(rng):
    return ((16,), (4,)), [
        np.linspace(0, 4, 64, dtype="float32"),
        np.zeros(64, "float32"),
        rng.random((4, 4)).astype("float32"),
    ]


def expected_cubic(args):
    x, _, table = args
    return [None, np.concatenate([np.polyval(table[k], x[16 * k : 16 * k + 16]) for k in range(4)])]


def twice_through_private(x):
    own = private_array(1, usmpy.float32)
    i = get_global_id(0)
    own[0] = i
    barrier()
    x[i] = own[0] * 2


def sum_of_two(x, y, z):
    i = get_global_id(0)
    z[i] = x[i] + y[i]


def sum_of_two_typed(x, y, z):
    i = get_global_id(0)
    total = x[i] + y[i]
    z[i] = total


TILE = 2


def product_by_windows(a, b, out):
    left = local_array((TILE, TILE), usmpy.float32)
    right = local_array((TILE, TILE), usmpy.float32)
    rows, inner, columns = a.shape[0], a.shape[1], b.shape[1]
    row, column = get_global_id(0), get_global_id(1)
    r, c = get_local_id(0), get_local_id(1)
    windows = inner // TILE
    if inner % TILE > 0:
        windows += 1
    value = usmpy.float32(0)
    for window in range(windows):
        start = window * TILE
        left[r, c] = 0
        right[r, c] = 0
        if row < rows and start + c < inner:
            left[r, c] = a[row, start + c]
        if column < columns and start + r < inner:
            right[r, c] = b[start + r, column]
        barrier()
        for k in range(TILE):
            value += left[r, k] * right[k, c]
        barrier()
    if row < rows and column < columns:
        out[row, column] = value


def distances(points, out):
    i = get_global_id(0)
    zero = points[i, 0] - points[i, 0]
    for j in range(points.shape[0]):
        squared = zero
        for k in range(points.shape[1]):
            d = points[i, k] - points[j, k]
            squared += d * d
        out[i, j] = math.sqrt(squared)


def cubic_series(x, terms):
    i = get_global_id(0)
    for k in range(terms):
        n = usmpy.float32(k + 1)
        x[i] += 1 / (n * n * n)


def scan_of_group(x, before, after):
    i = get_global_id(0)
    own = get_local_id(0)
    after[own] = x[i]
    before[own] = x[i]
    barrier()
    step = 1
    while step < get_local_size(0):
        if own >= step:
            after[own] = before[own] + before[own - step]
        else:
            after[own] = before[own]
        barrier()
        before[own] = after[own]
        barrier()
        step *= 2
    x[i] = before[own]


def partial_sums_guarded(x, n, sums, scratch):
    own = get_local_id(0)
    i = get_global_id(0)
    scratch[own] = 0
    if i < n:
        scratch[own] = x[i]
    step = get_local_size(0) // 2
    while step > 0:
        barrier()
        if own < step:
            scratch[own] += scratch[own + step]
        step >>= 1
    if own == 0:
        sums[get_group_id(0)] = scratch[0]


def partial_sums(x, sums, scratch):
    own = get_local_id(0)
    scratch[own] = x[get_global_id(0)]
    step = get_local_size(0) // 2
    while step > 0:
        barrier()
        if own < step:
            scratch[own] += scratch[own + step]
        step >>= 1
    if own == 0:
        sums[get_group_id(0)] = scratch[0]


def sum_of_matrices(x, y, z):
    i = get_global_id(0)
    j = get_global_id(1)
    z[i, j] = x[i, j] + y[i, j]


def two_and_sum(dtype, n=24):
    return lambda rng: (n, [rng.integers(0, 99, n).astype(dtype) for _ in range(2)] + [np.zeros(n, dtype)])


def first_two(args):
    return [None, None, args[0] + args[1]]


add(
    "atomic_total",
    total_by_atomics,
    EXAMPLES + "atomic_op.py::atomic_reduction",
    lambda rng: (64, [np.arange(64), np.zeros(1, "int64")]),
    lambda args: [None, args[0].sum()],
)
for dtype, close in (("float64", 1e-12), ("float32", 1e-4)):
    add(
        f"black_scholes_{dtype}",
        price_options,
        EXAMPLES + "black_scholes.py::kernel_black_scholes",
        lambda rng, dtype=dtype: (
            32,
            [
                *(rng.uniform(*ends, 32).astype(dtype) for ends in ((10, 50), (10, 50), (1, 2))),
                0.1,
                0.2,
                *np.zeros((2, 32), dtype),
            ],
        ),
        expected_prices,
        close,
    )
add(
    "function_successor",
    apply_successor,
    EXAMPLES + "device_func.py::kernel1",
    lambda rng: (20, [np.ones(20, "int32"), np.zeros(20, "int32")]),
    lambda args: [None, 2],
)
add(
    "function_with_barrier",
    delegate_all,
    EXAMPLES + "device_func.py::kernel2",
    lambda rng: (((20,), (20,)), [rng.integers(0, 9, 20).astype("int32")]),
    expected_gathered,
)
add(
    "interpolation",
    cubic_by_segment,
    EXAMPLES + "interpolation.py::kernel_polynomial",
    make_cubic,
    expected_cubic,
    1e-5,
)
add(
    "private_memory",
    twice_through_private,
    EXAMPLES + "kernel_private_memory.py::private_memory_kernel",
    lambda rng: (((25,), (25,)), [np.zeros(25, "float32")]),
    lambda args: [2 * np.arange(25)],
)
add(
    "specialised_sum",
    sum_of_two_typed,
    EXAMPLES + "kernel_specialization.py::data_parallel_sum",
    two_and_sum("int64"),
    first_two,
)
for dtype in ("int64", "float32"):
    add(
        f"specialised_sum_{dtype}",
        sum_of_two_typed,
        EXAMPLES + "kernel_specialization.py::data_parallel_sum2",
        two_and_sum(dtype),
        first_two,
    )
for name, rows, inner, columns in (("square", 4, 4, 4), ("ragged", 3, 5, 4)):
    add(
        f"matmul_{name}",
        product_by_windows,
        EXAMPLES + "matmul.py::matmul",
        lambda rng, rows=rows, inner=inner, columns=columns: (
            ((4, 4), (TILE, TILE)),
            [
                rng.random((rows, inner), "float32"),
                rng.random((inner, columns), "float32"),
                np.zeros((rows, columns), "float32"),
            ],
        ),
        lambda args: [None, None, args[0] @ args[1]],
        1e-5,
    )
add(
    "pairwise_distance",
    distances,
    EXAMPLES + "pairwise_distance.py::pairwise_distance",
    lambda rng: (((10,), (1,)), [rng.random((10, 3), "float32"), np.zeros((10, 10), "float32")]),
    lambda args: [None, np.linalg.norm(args[0][:, None] - args[0], axis=2)],
    1e-5,
)
add(
    "pipelined_series",
    cubic_series,
    EXAMPLES + "pipelining.py::async_kernel",
    lambda rng: (8, [np.arange(8, dtype="float32"), 30]),
    lambda args: [args[0] + sum(1 / k**3 for k in range(1, 31))],
    1e-5,
)
add(
    "hillis_steele_scan",
    scan_of_group,
    EXAMPLES + "scan.py::kernel_hillis_steele_scan",
    lambda rng: (((32,), (32,)), [np.arange(32), Local(32, "int64"), Local(32, "int64")]),
    lambda args: [np.cumsum(args[0])],
)
add(
    "sum_recursive",
    partial_sums_guarded,
    EXAMPLES + "sum_reduction_recursive.py::sum_reduction_kernel",
    lambda rng: (
        ((64,), (16,)),
        [np.arange(50, dtype="int32"), 50, np.zeros(4, "int32"), Local(16, "int32")],
    ),
    lambda args: [None, None, np.pad(args[0], (0, 14)).reshape(4, 16).sum(1)],
)
add(
    "sum_tree",
    partial_sums,
    EXAMPLES + "sum_reduction_tree.py::sum_reduction_kernel",
    lambda rng: (((64,), (16,)), [np.arange(64, dtype="int32"), np.zeros(4, "int32"), Local(16, "int32")]),
    lambda args: [None, args[0].reshape(4, 16).sum(1)],
)
add(
    "vector_sum",
    sum_of_two,
    EXAMPLES + "vector_sum.py::kernel_vector_sum",
    lambda rng: (10, [rng.random(10), rng.random(10), np.ones(10)]),
    first_two,
)
add(
    "vector_sum_2d",
    sum_of_matrices,
    EXAMPLES + "vector_sum2D.py::data_parallel_sum",
    lambda rng: ((8, 8), [*rng.random((2, 8, 8), "float32"), np.zeros((8, 8), "float32")]),
    first_two,
)

# Launches.


def sum_of_firsts(x, y, z):
    z[0] = y[0] + x[0]


def square_of_first(x, y):
    x[0] = y[0] * y[0]


def call_overloaded(x, y, z):
    i = get_global_id(0)
    z[i] = plus(x[i], y[i])


def plus(a, b):
    return a + b


add("async_sum", sum_of_two, TESTS + "test_async_kernel.py::add", two_and_sum("float64"), first_two)
for file in ("test_exec_queue_inference.py", "test_kernel_dispatcher.py"):
    add(
        f"sum_of_firsts_{file[5:-3]}",
        sum_of_firsts,
        f"{TESTS}{file}::add",
        lambda rng: (16, [np.ones(16), np.full(16, 2.0), np.zeros(16)]),
        lambda args: [None, None, [3.0] + [0.0] * 15],
    )
add(
    "square_of_first",
    square_of_first,
    TESTS + "test_kernel_dispatcher.py::sq",
    lambda rng: (16, [np.ones(16), np.full(16, 3.0)]),
    lambda args: [[9.0] + [1.0] * 15],
)
add(
    "sum_int64",
    sum_of_two_typed,
    TESTS + "test_kernel_specialization.py::data_parallel_sum",
    two_and_sum("int64", 16),
    first_two,
)
add(
    "overload",
    call_overloaded,
    TESTS + "test_target_specific_overload.py::kernel_calling_overload",
    two_and_sum("int64", 10),
    first_two,
)
for dtype in ("int32", "int64", "float32", "float64"):
    add(
        f"sum_of_matrices_{dtype}",
        sum_of_matrices,
        TESTS + "test_usm_ndarray_args.py::sum_2d",
        lambda rng, dtype=dtype: (
            (6, 7),
            [
                np.arange(42, dtype=dtype).reshape(6, 7),
                np.arange(42, dtype=dtype).reshape(6, 7),
                np.zeros((6, 7), dtype),
            ],
        ),
        first_two,
    )


def sum_of_rows(a, b, c):
    i, j = get_global_id(0), get_global_id(1)
    row, other, out = a[i], b[i], c[i]
    out[j] = row[j] + other[j]


add(
    "sum_of_rows",
    sum_of_rows,
    TESTS + "test_usm_ndarray_args.py::sum_2d_slice",
    lambda rng: (
        (6, 7),
        [np.arange(42).reshape(6, 7), rng.integers(0, 9, (6, 7)), np.zeros((6, 7), "int64")],
    ),
    first_two,
)

# Atomics.


def folded(operation):
    def fold(x, total, place):
        i = get_global_id(0)
        operation(total, place, x[i])

    return fold


def folded_each(operation):
    def fold_each(x, y, before):
        i = get_global_id(0)
        before[i] = operation(y, i, x[i])

    return fold_each


OPERATIONS = {
    "add": (atomic_add, np.add),
    "sub": (atomic_sub, np.subtract),
    "min": (atomic_min, np.minimum),
    "max": (atomic_max, np.maximum),
    "and": (atomic_and, np.bitwise_and),
    "or": (atomic_or, np.bitwise_or),
    "xor": (atomic_xor, np.bitwise_xor),
}


def expected_fold(function):
    def expect(args):
        x, total, place = args
        after = total.copy()
        for v in x:
            after[place] = function(after[place], v)
        return [None, after, None]

    return expect


for name, (operation, function) in OPERATIONS.items():
    fold = folded(operation)
    kinds = ["int32", "int64"] if name in ("and", "or", "xor") else ["int32", "int64", "float32", "float64"]
    for dtype in kinds:
        for place in (0, 5):
            add(
                f"fetch_{name}_{dtype}_{place}",
                fold,
                TESTS + "test_atomic_fetch_phi.py::test_fetch_phi_fn",
                lambda rng, dtype=dtype, place=place: (
                    10,
                    [np.arange(10, dtype=dtype), np.ones(10, dtype), place],
                ),
                expected_fold(function),
            )
    add(
        f"fetched_{name}",
        folded_each(operation),
        TESTS + "test_atomic_fetch_phi.py::test_fetch_phi_retval",
        lambda rng: (10, [np.arange(10, dtype="int32"), np.ones(10, "int32"), np.zeros(10, "int32")]),
        lambda args, function=function: [None, function(args[1], args[0]), args[1]],
    )


def add_tail_to(place):
    def add_tail(x):
        i = get_global_id(0)
        atomic_add(x, place, x[i + 2])

    return add_tail


for place in (0, 1):
    add(
        f"atomic_tail_{place}",
        add_tail_to(place),
        TESTS + f"test_atomic_fetch_phi.py::atomic_ref_{place}",
        lambda rng: (8, [np.ones(10, "float32")]),
        lambda args, place=place: [np.where(np.arange(10) == place, 9, 1)],
    )


def largest_into_first(x):
    i = get_global_id(0)
    if i != 0:
        atomic_max(x, 0, x[i])


for number in (0, 1):
    add(
        f"atomic_largest_{number}",
        largest_into_first,
        TESTS + f"test_atomic_fetch_phi.py::atomic_max_{number}",
        lambda rng: (10, [np.arange(10, dtype="float32")]),
        lambda args: [[9, *range(1, 10)]],
    )


def load_and_store(x, y):
    i = get_global_id(0)
    atomic_exchange(x, i, atomic_add(y, i, 0))


def exchange_all(x, y):
    i = get_global_id(0)
    y[i] = atomic_exchange(x, i, y[i])


def compare_and_report(x):
    expected = x[2]
    old = atomic_compare_exchange(x, 1, expected, x[3])
    if old == expected:
        x[0] = 1
    else:
        x[0] = 0
        x[2] = old


for dtype in ("int32", "int64", "float32", "float64"):
    add(
        f"atomic_load_store_{dtype}",
        load_and_store,
        TESTS + "test_atomic_load_store_cmp_exchg.py::test_load_store_fn",
        lambda rng, dtype=dtype: (10, [np.zeros(20, dtype), np.arange(10, dtype=dtype)]),
        lambda args: [[*range(10)] + [0] * 10, args[1]],
    )
    add(
        f"atomic_exchange_{dtype}",
        exchange_all,
        TESTS + "test_atomic_load_store_cmp_exchg.py::test_exchange_fn",
        lambda rng, dtype=dtype: (10, [np.zeros(20, dtype), np.arange(10, dtype=dtype)]),
        lambda args: [[*range(10)] + [0] * 10, 0],
    )
    add(
        f"atomic_compare_exchange_fails_{dtype}",
        compare_and_report,
        TESTS + "test_atomic_load_store_cmp_exchg.py::test_compare_exchange_fns",
        lambda rng, dtype=dtype: (1, [np.arange(4, dtype=dtype)]),
        lambda args: [[0, 1, 1, 3]],
    )
    add(
        f"atomic_compare_exchange_holds_{dtype}",
        compare_and_report,
        TESTS + "test_atomic_load_store_cmp_exchg.py::test_compare_exchange_fns",
        lambda rng, dtype=dtype: (1, [np.array([0, 1, 1, 3], dtype)]),
        lambda args: [[1, 3, 1, 3]],
    )


def total_in_cube(x, cube):
    i = get_global_id(0)
    atomic_add(cube, (1, 1, 1), x[i])


def total_in_local(x, total):
    if get_local_id(0) == 0:
        total[0] = 0
    barrier()
    atomic_add(total, 0, 5)
    barrier()
    x[get_global_id(0)] = total[0]


add(
    "atomic_float64",
    total_by_atomics,
    TESTS + "test_atomic_ref.py::test_atomic_ref_compilation",
    lambda rng: (10, [np.ones(10), np.zeros(10)]),
    lambda args: [None, [10.0] + [0.0] * 9],
)
add(
    "atomic_in_three_dimensions",
    total_in_cube,
    TESTS + "test_atomic_ref.py::test_atomic_ref_3_dim_compilation",
    lambda rng: (8, [np.ones(8), np.zeros((2, 2, 2))]),
    lambda args: [None, np.where(np.arange(8).reshape(2, 2, 2) == 7, 8.0, 0.0)],
)
for dtype in ("int32", "float32", "float64"):
    add(
        f"atomic_in_local_memory_{dtype}",
        total_in_local,
        TESTS + "test_atomic_ref.py::test_atomic_ref_compilation_local_accessor",
        lambda rng, dtype=dtype: (((32,), (32,)), [np.zeros(32, dtype), Local(1, dtype)]),
        lambda args: [160],
    )

# Barriers.

for name, function in (("group_barrier", double_and_gather), ("group_barrier_device_func", delegate_all)):
    add(
        name,
        function,
        TESTS + f"test_barriers.py::test_{name}",
        lambda rng: (((16,), (16,)), [np.ones(16, "int32")]),
        expected_gathered,
    )

# Types of arguments.


def scaled(x, y, factor):
    i = get_global_id(0)
    y[i] = x[i] * factor


def scaled_by_array(x, y, factors):
    i = get_global_id(0)
    y[i] = x[i] * factors[i]


def doubled_or_zero(x, y, doubled):
    i = get_global_id(0)
    if doubled:
        y[i] = x[i] + x[i]
    else:
        y[i] = x[i] - x[i]


def table_into_private(table):
    row = private_array(4, usmpy.float32)
    group = get_group_id(0)
    row[0] = table[group, 0]
    row[1] = table[group, 1]
    row[2] = table[group, 2]
    row[3] = table[group, 3]


def fill_with_one(x):
    x[get_global_id(0)] = 1


for dtype in ("complex64", "complex128"):
    add(
        f"complex_scalar_{dtype}",
        scaled,
        TESTS + "test_complex_array_kernel_arg.py::kernel_scalar",
        lambda rng, dtype=dtype: (
            16,
            [np.ones(16, dtype), np.zeros(16, dtype), np.dtype(dtype).type(2 + 1j)],
        ),
        lambda args: [None, 2 + 1j],
    )
    add(
        f"complex_array_{dtype}",
        scaled_by_array,
        TESTS + "test_complex_array_kernel_arg.py::kernel_array",
        lambda rng, dtype=dtype: (
            8,
            [
                np.array([1, 1j, -1, 2 + 3j] * 2, dtype),
                np.zeros(8, dtype),
                np.array([0, 1j, 2, 4 - 1j] * 2, dtype),
            ],
        ),
        lambda args: [None, args[0] * args[2]],
    )
for dtype in ("int32", "int64", "float32", "float64", "complex64", "complex128"):
    add(
        f"scalar_{dtype}",
        scaled,
        TESTS + "test_scalar_arg_types.py::scaling_kernel",
        lambda rng, dtype=dtype: (16, [np.ones(16, dtype), np.zeros(16, dtype), np.dtype(dtype).type(2)]),
        lambda args: [None, 2],
    )
    for flag in (True, False):
        add(
            f"bool_{flag}_{dtype}",
            doubled_or_zero,
            TESTS + "test_scalar_arg_types.py::kernel_with_bool_arg",
            lambda rng, dtype=dtype, flag=flag: (16, [np.ones(16, dtype), np.ones(16, dtype), flag]),
            lambda args: [None, 2 * args[2]],
        )
for dtype in ("int32", "int64", "float32", "float64"):
    add(
        f"ones_{dtype}",
        fill_with_one,
        TESTS + "test_supported_array_types_as_kernel_args.py::set_ones",
        lambda rng, dtype=dtype: (10, [np.zeros(10, dtype)]),
        lambda args: [1],
    )
add(
    "table_into_private",
    table_into_private,
    TESTS + "test_dpnp_ndarray_args.py::_kernel",
    lambda rng: (((16,), (4,)), [rng.random((4, 4), "float32")]),
    lambda args: [args[0]],
)

# Functions.


def plus_one_single(v):
    return v + usmpy.float32(1)


def add_one_single(x, y):
    i = get_global_id(0)
    y[i] = plus_one_single(x[i])


def rows_of(n):
    odd, even = columns_of(2), columns_of(4)

    def mark(x, row, is_even):
        if is_even:
            even(x, row)
        else:
            odd(x, row)

    def mark_rows(x):
        for row in range(n):
            mark(x, row, row % 2 == 0)

    return mark_rows


def columns_of(n):
    def mark_columns(x, row):
        for column in range(n):
            x[row, column] = 1

    return mark_columns


def expected_marks(args):
    after = np.zeros((6, 5))
    after[:, :2] = after[::2, :4] = 1
    return [after]


add(
    "function_with_cast",
    add_one_single,
    TESTS + "test_func.py::f",
    lambda rng: (16, [np.ones(16), np.ones(16)]),
    lambda args: [None, 2],
)
add(
    "functions_of_one_name",
    rows_of(6),
    TESTS + "test_func_qualname_disambiguation.py::write_values_kernel",
    lambda rng: (((1,), (1,)), [np.zeros((6, 5), "int64")]),
    expected_marks,
)
for kernel, dtype in (
    ("kernel_function", "int32"),
    ("kernel_function2", "int32"),
    ("kernel_function2", "int64"),
):
    add(
        f"function_{kernel}_{dtype}",
        apply_successor,
        TESTS + f"test_func_specialization.py::{kernel}",
        lambda rng, dtype=dtype: (16, [np.ones(16, dtype), np.zeros(16, dtype)]),
        lambda args: [None, 2],
    )

# Ids and sizes.


def one_into_first(x):
    x[0] = 1


def one_into_each(x):
    i = get_global_id(0)
    x[i] = 1


def one_into_last(x):
    last = get_global_size(0) - 1
    x[last] = 1


def number_of_items():
    return get_global_size(0) * get_global_size(1) * get_global_size(2)


def group_items():
    return get_local_size(0) * get_local_size(1) * get_local_size(2)


def linear_id():
    return (get_global_id(0) * get_global_size(1) + get_global_id(1)) * get_global_size(2) + get_global_id(2)


def linear_local_id():
    return (get_local_id(0) * get_local_size(1) + get_local_id(1)) * get_local_size(2) + get_local_id(2)


def linear_group_id():
    return (get_group_id(0) * get_num_groups(1) + get_group_id(1)) * get_num_groups(2) + get_group_id(2)


def one_into_last_linear(x):
    x[number_of_items() - 1] = 1


def last_into_first_linear(x):
    last = number_of_items() - 1
    x[0] = last
    x[last] = 1


def last_into_first(x):
    if get_global_id(0) == 0:
        last = get_global_size(0) - 1
        x[0] = last
        x[last] = 1


def last_of_group_linear(x):
    last = group_items() - 1
    x[0] = last
    x[last] = 1


def last_of_group(x):
    if get_global_id(0) == 0:
        last = get_local_size(0) - 1
        x[0] = last
        x[last] = 1


def one_by_local_id(x):
    x[get_local_id(0)] = 1


def group_of_each(x):
    x[get_global_id(0)] = get_group_id(0)


def linear_group_of_each(x):
    x[linear_id()] = linear_group_id()


def groups_of_each(x):
    x[get_global_id(0)] = get_num_groups(0)


def linear_groups_of_each(x):
    x[linear_id()] = get_num_groups(0) * get_num_groups(1) * get_num_groups(2)


def group_size_of_each(x):
    x[get_global_id(0)] = get_local_size(0)


def one_by_three_ids(x):
    x[get_global_id(0) + 2 * (get_global_id(1) + 3 * get_global_id(2))] = 1


def one_by_linear_id(x):
    x[linear_id()] = 1


def one_by_linear_local_id(x):
    x[linear_local_id()] = 1


def add_ids(kernel, function, dtype, ranges, want):
    for number, given in enumerate(ranges):
        add(
            f"ids_{kernel}_{number}",
            function,
            TESTS + f"test_index_space_ids.py::{kernel}",
            lambda rng, given=given: (given, [np.zeros(len(want), dtype)]),
            lambda args: [want],
        )


ONE_D, THREE_D = ((40,), (8,)), ((1, 1, 40), (1, 1, 8))
BY_GROUP = np.repeat(range(5), 8)
add_ids("set_ones_no_item", one_into_first, "float32", [40], [1] + [0] * 39)
add_ids("set_ones_item", one_into_each, "float32", [40], [1] * 40)
add_ids("set_last_one_item", one_into_last, "float32", [40], [0] * 39 + [1])
add_ids("set_last_one_linear_item", one_into_last_linear, "float32", [40, (1, 8, 5)], [0] * 39 + [1])
add_ids("set_last_one_nd_item", last_into_first, "float32", [ONE_D], [39] + [0] * 38 + [1])
add_ids(
    "set_last_one_linear_nd_item", last_into_first_linear, "float32", [ONE_D, THREE_D], [39] + [0] * 38 + [1]
)
LAST_OF_GROUP = [7] + [0] * 6 + [1] + [0] * 32
add_ids("set_last_group_one_nd_item", last_of_group, "float32", [ONE_D], LAST_OF_GROUP)
for kernel in ("set_last_group_one_linear_nd_item", "set_last_group_one_group_linear_nd_item"):
    add_ids(kernel, last_of_group_linear, "float32", [ONE_D, THREE_D], LAST_OF_GROUP)
add_ids("set_ones_nd_item", one_into_each, "float32", [ONE_D], [1] * 40)
add_ids("set_local_ones_nd_item", one_by_local_id, "float32", [ONE_D], [1] * 8 + [0] * 32)
add_ids("_get_group_id_driver", group_of_each, "int32", [ONE_D], BY_GROUP)
add_ids("_get_group_linear_id_driver", linear_group_of_each, "int32", [ONE_D, THREE_D], BY_GROUP)
add_ids("_get_group_range_driver", groups_of_each, "int32", [ONE_D], [5] * 40)
add_ids("_get_group_linear_range_driver", linear_groups_of_each, "int32", [ONE_D, THREE_D], [5] * 40)
add_ids("_get_group_local_range_driver", group_size_of_each, "int32", [ONE_D], [8] * 40)
add_ids("set_3d_ones_item", one_by_three_ids, "int32", [(2, 3, 4)], [1] * 24)
add_ids("set_3d_ones_item_linear", one_by_linear_id, "int32", [(2, 3, 4)], [1] * 24)
add_ids("set_3d_ones_nd_item_linear", one_by_linear_id, "int32", [((2, 3, 4), (1, 1, 4))], [1] * 24)
add_ids(
    "set_local_3d_ones_nd_item_linear",
    one_by_linear_local_id,
    "int32",
    [((2, 3, 4), (1, 1, 4))],
    [1] * 4 + [0] * 20,
)

# Local memory.


def weighted_in_1d(x, scratch):
    own = get_local_id(0)
    scratch[own] = 0
    for k in range(20):
        scratch[own] += (get_global_id(0) + 1) * k
    x[get_global_id(0)] = scratch[own]


def weighted_in_2d(x):
    scratch = local_array((32, 1), x.dtype)
    i = linear_id()
    own = (get_local_id(0), get_local_id(1))
    scratch[own] = 0
    for k in range(20):
        scratch[own] += (i + 1) * k
    x[i] = scratch[own]


def weighted_in_3d(x):
    scratch = local_array((1, 32, 1), x.dtype)
    i = linear_id()
    own = (get_local_id(0), get_local_id(1), get_local_id(2))
    scratch[own] = 0
    for k in range(20):
        scratch[own] += (i + 1) * k
    x[i] = scratch[own]


def call_weighted(x, scratch):
    weighted_in_1d(x, scratch)


for dtype in ("int32", "int64", "float32", "float64"):
    for kernel, function, given, scratch in (
        ("_kernel1", weighted_in_1d, ((32,), (32,)), [Local(32, dtype)]),
        ("_kernel2", weighted_in_2d, ((32, 1), (32, 1)), []),
        ("_kernel3", weighted_in_3d, ((1, 32, 1), (1, 32, 1)), []),
        ("device_func_kernel", call_weighted, ((32,), (32,)), [Local(32, dtype)]),
    ):
        add(
            f"local{kernel}_{dtype}",
            function,
            TESTS + f"test_local_accessors.py::{kernel}",
            lambda rng, dtype=dtype, given=given, scratch=scratch: (given, [np.zeros(32, dtype), *scratch]),
            lambda args: [190 * np.arange(1, 33)],
        )

# Mathematical functions.


def mapped(function):
    def map_each(x, y):
        i = get_global_id(0)
        y[i] = function(x[i])

    return map_each


for name in ("fabs", "exp", "log", "sqrt", "sin", "cos", "tan"):
    for dtype, close in (("float32", 1e-5), ("float64", 1e-12)):
        add(
            f"math_{name}_{dtype}",
            mapped(getattr(math, name)),
            TESTS + "test_math_functions.py::f",
            lambda rng, dtype=dtype: (32, [np.arange(32).astype(dtype) / 4 + 0.5, np.zeros(32, dtype)]),
            lambda args, name=name: [None, getattr(np, name)(args[0])],
            close,
        )

# Enums.


class Order(enum.IntEnum):
    RELAXED = 0
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4
    SEQ_CST = 5


class Scope(enum.IntEnum):
    WORK_ITEM = 0
    SUB_GROUP = 1
    WORK_GROUP = 2
    DEVICE = 3
    SYSTEM = 4


class Space(enum.IntEnum):
    PRIVATE = 0
    GLOBAL = 1
    CONSTANT = 2
    LOCAL = 3


def store_orders(x):
    x[0] = Order.RELAXED
    x[1] = Order.ACQ_REL
    x[2] = Order.ACQUIRE
    x[3] = Order.RELEASE
    x[4] = Order.SEQ_CST


def store_scopes(x):
    x[0] = Scope.DEVICE
    x[1] = Scope.SUB_GROUP
    x[2] = Scope.WORK_GROUP
    x[3] = Scope.SYSTEM
    x[4] = Scope.WORK_ITEM


def store_spaces(x):
    x[0] = Space.CONSTANT
    x[1] = Space.GLOBAL
    x[2] = Space.LOCAL
    x[3] = Space.PRIVATE


for kernel, function, want in (
    ("store_memory_order_flag", store_orders, [0, 4, 2, 3, 5, 9]),
    ("store_memory_scope_flag", store_scopes, [3, 1, 2, 4, 0, 9]),
    ("store_address_space_flag", store_spaces, [2, 1, 3, 0, 9, 9]),
):
    add(
        f"enum_{kernel}",
        function,
        TESTS + f"test_memory_enum_compilation.py::{kernel}",
        lambda rng: (1, [np.full(6, 9, "int64")]),
        lambda args, want=want: [want],
    )

# print. The output is not compared.


def print_with_text(x):
    print("the value is", x[0])


def print_value(x):
    print(x[0])


def print_text(x):
    print("no value")


for kernel, function in (
    ("test_print_scalar_with_string", print_with_text),
    ("test_print_scalar", print_value),
    ("test_print_only_str", print_text),
):
    for dtype in ("int32", "int64", "float32", "float64"):
        add(
            f"{kernel[5:]}_{dtype}",
            function,
            TESTS + f"test_print.py::{kernel}",
            lambda rng, dtype=dtype: (1, [np.array([10], dtype)]),
            lambda args: [10],
        )

# Private arrays.


def sequence_in_private(x):
    i = get_global_id(0)
    own = private_array(10, x.dtype)
    for k in range(10):
        own[k] = 3 * k + 1
    x[i] = 0
    for k in range(10):
        x[i] += own[k]


def sequence_in_zeros(x):
    i = get_global_id(0)
    own = private_array(10, x.dtype)
    for k in range(10):
        own[k] = 0
    for k in range(10):
        own[k] += 3 * k + 1
    x[i] = 0
    for k in range(10):
        x[i] += own[k]


def sequence_in_2d(x):
    i = get_global_id(0)
    own = private_array(shape=(5, 2), dtype=x.dtype)
    for k in range(10):
        own[k % 5, k // 5] = 3 * k + 1
    x[i] = 0
    for k in range(10):
        x[i] += own[k % 5, k // 5]


def called(function):
    def call(x):
        function(x)

    return call


for kernel, function in (
    ("private_array_kernel", sequence_in_private),
    ("private_array_kernel_fill_true", sequence_in_zeros),
    ("private_array_kernel_fill_false", sequence_in_private),
    ("private_2d_array_kernel", sequence_in_2d),
):
    add(
        kernel,
        function,
        TESTS + f"test_private_array.py::{kernel}",
        lambda rng: (10, [np.zeros(10, "float32")]),
        lambda args: [145],
    )
    add(
        f"{kernel}_called",
        called(function),
        TESTS + "test_private_array.py::test_private_array_in_device_func",
        lambda rng: (10, [np.zeros(10, "float32")]),
        lambda args: [145],
    )

# Strides.


def assign_1d(x, v):
    x[get_global_id(0)] = v


def assign_2d(x, v):
    i = get_global_id(0)
    j = get_global_id(1)
    x[i, j] = v


def assign_3d(x, v):
    i = get_global_id(0)
    j = get_global_id(1)
    k = get_global_id(2)
    x[i, j, k] = v


def expected_assigned(args):
    view, value = args
    after = view.base.copy()
    view.view(after)[...] = value
    return [after]


def add_strided(function, kernel, shape, steps, transposed):
    def make(rng):
        base = np.arange(math.prod(shape)).reshape(shape)
        view = View(base, tuple(slice(None, None, step) for step in steps), transposed)
        return view.view(base).shape, [view, -3]

    name = "x".join(map(str, steps)) + ("_transposed" if transposed else "")
    source = TESTS + f"test_strided_dpnp_array_in_kernel.py::{kernel}"
    add(f"strided_{name}", function, source, make, expected_assigned)


for step in (1, 2, 3, 7, 25):
    add_strided(assign_1d, "change_values_1d", (64,), (step,), False)
for transposed in (False, True):
    for steps in ((2, 1), (4, 3), (6, 5)):
        add_strided(assign_2d, "change_values_2d", (13, 17), steps, transposed)
    for steps in ((1, 2, 3), (3, 4, 5)):
        add_strided(assign_3d, "change_values_3d", (7, 9, 11), steps, transposed)

# Kernels that the language refuses, and what has no counterpart.

REFUSED = {
    (TESTS + "test_index_space_ids.py", "set_dimensions_item"): "get_work_dim leaves out trailing sizes of 1",
    (
        TESTS + "test_index_space_ids.py",
        "set_dimensions_nd_item",
    ): "get_work_dim leaves out trailing sizes of 1",
    (
        TESTS + "test_index_space_ids.py",
        "set_dimensions_group",
    ): "get_work_dim leaves out trailing sizes of 1",
}

UNSUPPORTED = {
    (TESTS + "test_atomic_fence.py", "_kernel"): "a work-item spins until another one stores a flag",
    (TESTS + "test_atomic_fetch_phi.py", "test_fetch_phi_diff_types"): "checks an error",
    (TESTS + "test_atomic_load_store_cmp_exchg.py", "test_store_exchange_diff_types"): "checks an error",
    (TESTS + "test_atomic_ref.py", "test_atomic_ref_compilation_failure"): "checks an error",
    (TESTS + "test_atomic_ref.py", "test_atomic_ref_creation"): "runs outside of a kernel",
    (TESTS + "test_atomic_ref.py", "test_atomic_ref_creation_expected_failure"): "checks an error",
    (TESTS + "test_async_kernel.py", "test_async_dependent_add_list_exception"): "checks an error",
    (TESTS + "test_async_kernel.py", "kernel_cache_size"): "tests the cache",
    (TESTS + "test_compiler_warnings.py", "_kernel"): "tests an option of the decorator",
    (TESTS + "test_dump_kernel_llvm.py", "data_parallel_sum"): "tests the output of the compiler",
    (TESTS + "test_exec_queue_inference.py", "test_execution_queue_inference_error"): "checks an error",
    (TESTS + "test_exec_queue_inference.py", "test_error_when_no_array_args"): "checks an error",
    (TESTS + "test_func_specialization.py", "test_calling_specialized_device_func_wrong_signature"): (
        "tests that a signature converts floats to integers silently"
    ),
    (TESTS + "test_index_space_ids.py", "test_error_item_get_global_id"): "checks an error",
    (TESTS + "test_inline_threshold_config.py", "kernel_func"): "tests an option of the compiler",
    (TESTS + "test_invalid_kernel_args.py", "vecadd_kernel"): "checks an error",
    (TESTS + "test_kernel_dispatcher.py", "test_call_kernel_from_dpjit"): "launches in compiled host code",
    (TESTS + "test_kernel_has_return_value_error.py", "f"): "checks an error",
    (TESTS + "test_kernel_specialization.py", "test_invalid_specialization_error"): "checks an error",
    (TESTS + "test_kernel_specialization.py", "test_missing_specialization_error"): "checks an error",
    (TESTS + "test_kernel_specialization.py", "test_string_specialization"): "checks an error",
    (TESTS + "test_local_accessors.py", "test_local_accessor_argument_to_range_kernel"): "checks an error",
    (TESTS + "test_ndrange_exceptions.py", "kernel_vector_sum"): "checks an error",
    (TESTS + "test_print.py", "test_print_array"): "checks an error",
    (TESTS + "test_print.py", "test_print_only_str"): "checks an error; usmpy prints text alone",
    (TESTS + "test_target_specific_overload.py", "test_overload_registration"): "tests the compiler's tables",
}
