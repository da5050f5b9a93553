"""The kernels of CuPy's cupyx.jit (guide, examples, tests), written anew in the language of usmpy.kernel.

Kernels that call NVIDIA's library Thrust have no counterpart. Some of its algorithms are written as loops
here. Their source is in UNSUPPORTED, so they do not count as covered kernels.
"""

import math

import numpy as np
from dtypes import DTYPES
from python_kernels.cases import Case, Local

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
)

EXAMPLES = "examples/jit/"
GUIDE = "docs/source/user_guide/kernel.rst::"
RAW = "tests/cupyx_tests/jit_tests/test_raw.py::"
FUNCTIONS = "tests/cupyx_tests/jit_tests/test_device_function.py::"
GROUPS = "tests/cupyx_tests/jit_tests/test_cooperative_groups.py::"
CUB = "tests/cupyx_tests/jit_tests/test_cub.py"
THRUST = "tests/cupyx_tests/jit_tests/test_thrust.py"
CASES: list[Case] = []


def add(name, function, source, make, expect, tolerance=0.0):
    CASES.append(Case(name, function, source, make, expect, tolerance))


def whole(rng, *shape, dtype="int32", high=100):
    return rng.integers(0, high, shape).astype(dtype)


# Examples and guide.


def copy_by_strides(x, y, n):
    first = get_group_id(0) * get_local_size(0) + get_local_id(0)
    step = get_num_groups(0) * get_local_size(0)
    for i in range(first, n, step):
        y[i] = x[i]


def sum_by_atomics(x, total, n):
    scratch = local_array(16, usmpy.float32)
    first = get_global_id(0)
    value = usmpy.float32(0)
    for i in range(first, n, get_global_size(0)):
        value += x[i]
    scratch[get_local_id(0)] = value
    barrier()
    if get_local_id(0) == usmpy.uint32(0):
        value = usmpy.float32(0)
        for k in range(get_local_size(0)):
            value += scratch[k]
        atomic_add(total, 0, value)


def sum_in_one_group(x, total, n):
    scratch = local_array(16, usmpy.float32)
    own = get_local_id(0)
    size = get_local_size(0)
    value = usmpy.float32(0)
    for i in range(own, n, size):
        value += x[i]
    scratch[own] = value
    barrier()
    if own == usmpy.uint32(0):
        value = usmpy.float32(0)
        for k in range(size):
            value += scratch[k]
        total[0] = value


def copied(args):
    return [None, args[0]]


for name, source in (
    ("example", EXAMPLES + "elmentwise_op.py::elementwise_copy"),
    ("guide", GUIDE + "elementwise_copy"),
):
    add(
        f"copy_by_strides_{name}",
        copy_by_strides,
        source,
        lambda rng: (((32,), (8,)), [rng.random(90, "float32"), np.zeros(90, "float32"), np.uint32(90)]),
        copied,
    )
for name, function, groups in (("atomic", sum_by_atomics, 3), ("simple", sum_in_one_group, 1)):
    add(
        f"sum_{name}",
        function,
        EXAMPLES + f"reduction_{name}.py::reduction",
        lambda rng, groups=groups: (
            ((16 * groups,), (16,)),
            [whole(rng, 200, dtype="float32"), np.zeros(1, "float32"), np.uint32(200)],
        ),
        lambda args: [None, args[0].sum()],
    )

# Ids and sizes.


def copy_1d(x, y):
    i = get_global_id(0)
    if i < x.size:
        y[i] = x[i]


def copy_2d(x, y, m, n):
    i, j = get_global_id(0), get_global_id(1)
    if i < m and j < n:
        y[i, j] = x[i, j]


def copy_3d(x, y, m, n, p):
    i, j, k = get_global_id(0), get_global_id(1), get_global_id(2)
    if i < m and j < n and k < p:
        y[i, j, k] = x[i, j, k]


def size_1d(x):
    i = get_global_id(0)
    if i == 0:
        x[i] = get_global_size(0)


def size_2d(x):
    i, j = get_global_id(0), get_global_id(1)
    m, n = get_global_size(0), get_global_size(1)
    if i == 0 and j == 0:
        x[0] = m
        x[1] = n


def size_3d(x):
    i, j, k = get_global_id(0), get_global_id(1), get_global_id(2)
    sizes = (get_global_size(0), get_global_size(1), get_global_size(2))
    if i == 0 and j == 0 and k == 0:
        for place in range(3):
            x[place] = sizes[place]


def copy_first(x, y):
    y[0] = x[0]


def copy_each(x, y):
    i = get_local_id(0) + get_local_size(0) * get_group_id(0)
    y[i] = x[i]


def copy_rows(x, y, rows, columns):
    first = get_local_id(0) + get_local_size(0) * get_group_id(0)
    step = get_local_size(0) * get_num_groups(0)
    n = rows * columns
    for i in range(first, n, step):
        row = i // columns
        column = i % columns
        y[row, column] = x[row, column]


def copy_rows_by_shape(x, y):
    first, step = get_global_id(0), get_global_size(0)
    columns = x.size // len(x)
    for i in range(first, x.size, step):
        row = i // columns
        column = i % columns
        y[row, column] = x[row, column]


def store_ndim(x, y):
    y[0] = x.ndim


def copy_scalar_array(x, y):
    y[()] = x[()]


def store_shape(x):
    if get_global_id(0) == 0:
        shape = x.shape
        x[0, 0, 0] = shape[0]
        x[0, 0, 1] = shape[1]
        x[0, 0, 2] = shape[2]


def stride_result(x):
    x = x.copy(order="K")
    x[0, 0, 3:] = [stride // x.itemsize for stride in x.strides]
    return x


def store_strides(x):
    """Of usmpy, in elements."""
    if get_global_id(0) == 0:
        strides = x.strides
        x[0, 0, 3], x[0, 0, 4], x[0, 0, 5] = strides[0], strides[1], strides[2]


def copy_and_return(x, y):
    i = get_global_id(0)
    y[i] = x[i]
    return


def copy_and_return_none(x, y):
    i = get_global_id(0)
    y[i] = x[i]
    return None


def add_copy(name, function, kernel, given, shape, *more):
    add(
        name,
        function,
        RAW + kernel,
        lambda rng: (given, [whole(rng, *shape), whole(rng, *shape), *more]),
        copied,
    )


def add_sizes(name, function, kernel, given, want):
    add(name, function, RAW + kernel, lambda rng: (given, [np.zeros(len(want))]), lambda args: [want])


ROWS, COLUMNS = np.uint32(12), np.uint32(13)
add_copy("copy_1d", copy_1d, "test_raw_grid_1D", ((10,), (10,)), (10,))
add_copy("copy_2d", copy_2d, "test_raw_grid_2D", ((4, 5), (4, 5)), (4, 5), 4, 5)
add_copy("copy_3d", copy_3d, "test_raw_grid_3D", ((4, 4, 4), (2, 2, 2)), (2, 3, 4), 2, 3, 4)
add_sizes("size_1d", size_1d, "test_raw_gridsize_1D", ((80,), (10,)), [80])
add_sizes("size_2d", size_2d, "test_raw_gridsize_2D", ((6, 35), (3, 5)), [6, 35])
add_sizes("size_3d", size_3d, "test_raw_gridsize_3D", ((4, 6, 8), (2, 3, 4)), [4, 6, 8])
add_copy("copy_each", copy_each, "test_raw_elementwise_single_op", ((30,), (6,)), (30,))
add_copy("copy_in_loop", copy_by_strides, "test_raw_elementwise_loop", ((30,), (6,)), (100,), np.uint32(100))
add_copy(
    "copy_in_loop_again",
    copy_by_strides,
    "test_raw_grid_block_interface",
    ((30,), (6,)),
    (64,),
    np.uint32(64),
)
add_copy("copy_rows", copy_rows, "test_raw_multidimensional_array", ((30,), (6,)), (12, 13), ROWS, COLUMNS)
add_copy(
    "copy_rows_by_shape",
    copy_rows_by_shape,
    "test_raw_multidimensional_array_with_attr",
    ((30,), (6,)),
    (12, 13),
)
add_copy("copy_scalar_array", copy_scalar_array, "test_raw_0dim_array", 1, ())
add_copy("copy_and_return", copy_and_return, "test_return_empty", ((30,), (6,)), (30,))
add_copy("copy_and_return_none", copy_and_return_none, "test_return_none", ((30,), (6,)), (30,))
add(
    "copy_first",
    copy_first,
    RAW + "test_raw_one_thread",
    lambda rng: (1, [np.array([10], "int32"), np.array([20], "int32")]),
    copied,
)
add(
    "store_ndim",
    store_ndim,
    RAW + "test_raw_ndim",
    lambda rng: (1, [np.zeros((1,) * 7, "int32"), np.zeros(1, "int64")]),
    lambda args: [None, 7],
)

# Expressions.


def smallest_of_three(x, y, z, out):
    i = get_global_id(0)
    out[i] = min(x[i], y[i], z[i])


def largest_of_three(x, y, z, out):
    i = get_global_id(0)
    out[i] = max(x[i], y[i], z[i])


def loops_with_continue(x, y, z):
    own = get_global_id(0)
    for k in range(8):
        if k % 3 == 0:
            continue
        x[own] += k
    left = own
    while left > 0:
        left -= 1
        if left == 4:
            continue
        y[own] += left
    for k in range(1, 9):
        if z[own] >= 2 * k:
            continue
        z[own] += k + own


def loops_with_break(x, y, z):
    own = get_global_id(0)
    for k in range(8):
        if k == own:
            break
        x[own] += k + 1
    left = own
    while left > 0:
        left -= 1
        if left == 4:
            break
        y[own] += left
    for k in range(1, 9):
        if z[own] >= 2 * k:
            break
        z[own] += k + own


def add_twos(x):
    i = get_global_id(0)
    y = x[i]
    for _ in range(5):
        y += 2
    x[i] = y


def fill_with(x, value):
    i = get_global_id(0)
    x[i] = value


def constant_of(dtype, value):
    def fill_with_constant(x):
        x[get_global_id(0)] = dtype(value)

    return fill_with_constant


for name, function, both in (("min", smallest_of_three, np.minimum), ("max", largest_of_three, np.maximum)):
    add(
        f"{name}_of_three",
        function,
        RAW + f"test_{name}",
        lambda rng: (((64,), (16,)), [whole(rng, 64) for _ in range(4)]),
        lambda args, both=both: [None, None, None, both(both(args[0], args[1]), args[2])],
    )


def expected_loops(leave):
    """What the two kernels make of zeros; leave is whether they leave a loop."""
    x, y, z = np.zeros((3, 32), int)
    for own in range(32):
        skipped = range(own, 8) if leave else range(0, 8, 3)
        x[own] = sum(k + leave for k in set(range(8)).difference(skipped))
        y[own] = sum(k for k in range(own) if k > 4 or (k < 4 and (not leave or own <= 4)))
        for k in range(1, 9):
            if z[own] < 2 * k:
                z[own] += k + own
            elif leave:
                break
    return [x, y, z]


for name, function in (("continue", loops_with_continue), ("break", loops_with_break)):
    add(
        f"loops_with_{name}",
        function,
        RAW + f"test_loop_{name}",
        lambda rng: (((32,), (32,)), [*np.zeros((3, 32), "int64")]),
        lambda args, leave=(name == "break"): expected_loops(leave),
    )
add(
    "constant_range",
    add_twos,
    RAW + "test_range",
    lambda rng: (((30,), (10,)), [whole(rng, 30, dtype="float32")]),
    lambda args: [args[0] + 10],
)
for value, dtype in ((True, "bool"), (1, "int64"), (1.0, "float64"), (1 + 0j, "complex128")):
    add(
        f"scalar_{type(value).__name__}",
        fill_with,
        RAW + "test_scalar_args",
        lambda rng, value=value, dtype=dtype: (((30,), (6,)), [np.zeros(30, dtype), value]),
        lambda args: [1],
    )
for dtype in DTYPES:
    add(
        f"numpy_scalar_{dtype}",
        fill_with,
        RAW + "test_numpy_scalar_args",
        lambda rng, dtype=dtype: (((30,), (6,)), [np.zeros(30, dtype), np.dtype(dtype).type(1)]),
        lambda args: [1],
    )
for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
    for name in ("inf", "nan"):
        add(
            f"{name}_{dtype}",
            constant_of(getattr(usmpy, dtype), getattr(math, name)),
            RAW + f"test_{name}",
            lambda rng, dtype=dtype: (((30,), (6,)), [np.zeros(30, dtype)]),
            lambda args, name=name: [args[0].dtype.type(getattr(np, name))],
        )

# Barriers and local memory.


def reverse_twice(x, y, buffer):
    own = get_local_id(0) + get_local_id(1) * get_local_size(0)
    n = get_local_size(0) * get_local_size(1)
    buffer[own] = x[n - own - 1]
    barrier()
    y[own] = buffer[n - own - 1]


def reverse_groups(x, y):
    scratch = local_array(16, usmpy.int32)
    own, n = get_local_id(0), get_local_size(0)
    i = own + get_group_id(0) * n
    scratch[own] = x[i]
    barrier()
    y[i] = scratch[n - own - 1]


def reverse_groups_dynamic(x, y, scratch):
    own, n = get_local_id(0), get_local_size(0)
    i = own + get_group_id(0) * n
    scratch[own] = x[i]
    barrier()
    y[i] = scratch[n - own - 1]


def reversed_groups(args):
    return [None, args[0].reshape(-1, 16)[:, ::-1].ravel()]


add(
    "reverse_twice",
    reverse_twice,
    RAW + "test_syncthreads",
    lambda rng: (((8, 8), (8, 8)), [whole(rng, 64) for _ in range(3)]),
    copied,
)
add(
    "reverse_groups",
    reverse_groups,
    RAW + "test_shared_memory_static",
    lambda rng: (((64,), (16,)), [whole(rng, 64), np.zeros(64, "int32")]),
    reversed_groups,
)
add(
    "reverse_groups_dynamic",
    reverse_groups_dynamic,
    RAW + "test_shared_memory_dynamic",
    lambda rng: (((64,), (16,)), [whole(rng, 64), np.zeros(64, "int32"), Local(16, "int32")]),
    reversed_groups,
)

# Atomics.


def add_by_index(x, index, out):
    i = get_global_id(0)
    atomic_add(out, index[i], x[i])


def subtract_all(x, out):
    i = get_global_id(0)
    if i < x.size:
        atomic_sub(out, 0, x[i])


def exchange_backwards(x, out):
    i = get_global_id(0)
    if i < x.size:
        atomic_exchange(out, x.size - i - 1, x[i])


def by_element(operation):
    def update(x, out):
        i = get_global_id(0)
        if i < x.size:
            operation(out, i, x[i])

    return update


def increment_wrapping(x, i, limit):
    """As atomicInc of CUDA: zero follows the limit."""
    old = x[i]
    seen = atomic_compare_exchange(x, i, old, 0 if old >= limit else old + 1)
    while seen != old:
        old = seen
        seen = atomic_compare_exchange(x, i, old, 0 if old >= limit else old + 1)
    return old


def decrement_wrapping(x, i, limit):
    """As atomicDec of CUDA: the limit follows zero, and whatever is above the limit."""
    old = x[i]
    seen = atomic_compare_exchange(x, i, old, limit if old == 0 or old > limit else old - 1)
    while seen != old:
        old = seen
        seen = atomic_compare_exchange(x, i, old, limit if old == 0 or old > limit else old - 1)
    return old


def replace_equal(x, y, out):
    i = get_global_id(0)
    if i < x.size:
        atomic_compare_exchange(out, i, x[i], y[i])


def exclusive_or(x, out):
    i = get_global_id(0)
    if i < x.size:
        out[i] = out[i] ^ x[i]


INTEGERS = ("int32", "uint32", "int64", "uint64")
for dtype in (*INTEGERS, "float32", "float64"):
    add(
        f"atomic_add_{dtype}",
        add_by_index,
        RAW + "test_atomic_add",
        lambda rng, dtype=dtype: (
            ((64,), (16,)),
            [whole(rng, 64, dtype=dtype), whole(rng, 64, high=2), np.zeros(2, dtype)],
        ),
        lambda args: [None, None, [args[0][args[1] == k].sum() for k in range(2)]],
    )
for dtype in ("int32", "uint32"):
    add(
        f"atomic_sub_{dtype}",
        subtract_all,
        RAW + "test_atomic_sub",
        lambda rng, dtype=dtype: (((64,), (16,)), [np.ones(60, dtype), np.full(1, 60, dtype)]),
        lambda args: [None, 0],
    )
for dtype in (*INTEGERS, "float32"):
    add(
        f"atomic_exchange_{dtype}",
        exchange_backwards,
        RAW + "test_atomic_exch",
        lambda rng, dtype=dtype: (((64,), (16,)), [np.arange(60, dtype=dtype), np.zeros(60, dtype)]),
        lambda args: [None, args[0][::-1]],
    )


def add_by_element(name, operation, function, kinds=INTEGERS):
    for dtype in kinds:
        add(
            f"atomic_{name}_{dtype}",
            by_element(operation),
            RAW + f"test_atomic_{name}",
            lambda rng, dtype=dtype: (
                ((64,), (16,)),
                [whole(rng, 60, dtype=dtype), whole(rng, 60, dtype=dtype)],
            ),
            lambda args: [None, function(args[1], args[0])],
        )


add_by_element("min", atomic_min, np.minimum)
add_by_element("max", atomic_max, np.maximum)
add_by_element("and", atomic_and, np.bitwise_and)
add_by_element("or", atomic_or, np.bitwise_or)
add_by_element("xor", atomic_xor, np.bitwise_xor)
add_by_element("inc", increment_wrapping, lambda old, v: np.where(old >= v, 0, old + 1), ["uint32"])
add_by_element(
    "dec",
    decrement_wrapping,
    lambda old, v: np.where((old == 0) | (old > v), v, old - np.uint32(1)),
    ["uint32"],
)
for dtype in INTEGERS:
    add(
        f"atomic_cas_{dtype}",
        replace_equal,
        RAW + "test_atomic_cas",
        lambda rng, dtype=dtype: (
            ((64,), (16,)),
            [
                np.arange(60, dtype=dtype),
                np.arange(60, dtype=dtype) + np.dtype(dtype).type(7),
                np.where(np.arange(60) < 30, 0, np.arange(60)).astype(dtype),
            ],
        ),
        lambda args: [None, None, np.where(args[2] == args[0], args[1], args[2])],
    )
    add(
        f"exclusive_or_{dtype}",
        exclusive_or,
        RAW + "f_no_atomic",
        lambda rng, dtype=dtype: (((64,), (16,)), [whole(rng, 60, dtype=dtype), whole(rng, 60, dtype=dtype)]),
        lambda args: [None, args[0] ^ args[1]],
    )

# Functions.


def changed_product(x, y):
    x *= 2
    y -= 3
    return x * y


def add_with_function(x, y, z):
    i = get_local_id(0)
    z[i] = changed_product(x[i], y[i]) - x[i] * y[i]


def plus_constant(constant):
    def f(x, y):
        return x + y + constant

    return f


plus_10, plus_20, plus_30 = (plus_constant(n) for n in (10, 20, 30))


def functions_of_one_name(x, y, z):
    i = get_local_id(0)
    z[i] = plus_10(x[i], y[i])
    z[i] += plus_20(x[i], y[i])
    z[i] += plus_30(x[i], y[i])


def no_step(x):
    pass


def tree_step(step, n):
    following = tree_step(2 * step, n) if 2 * step < n else no_step

    def f(x):
        i = get_local_id(0)
        if i % (step * 2) == 0:
            x[i] += x[i + step]
        barrier()
        following(x)

    return f


first_step = tree_step(1, 32)


def sum_by_nested_functions(x, y):
    i = get_local_id(0)
    y[i] = x[i]
    barrier()
    first_step(y)


def increment_first(x):
    x[0] += 1
    return 1


def index_by_function(x):
    x[increment_first(x)] += 1


def three_arrays(rng):
    return ((30,), (30,)), [whole(rng, 30) for _ in range(3)]


add(
    "function",
    add_with_function,
    FUNCTIONS + "test_device_function",
    three_arrays,
    lambda args: [None, None, 2 * args[0] * (args[1] - 3) - args[0] * args[1]],
)
add(
    "functions_of_one_name",
    functions_of_one_name,
    FUNCTIONS + "test_device_function_duplicated_names",
    three_arrays,
    lambda args: [None, None, 3 * (args[0] + args[1]) + 60],
)


def expected_tree(args):
    y = args[0].copy()
    for step in (1, 2, 4, 8, 16):
        y[:: 2 * step] += y[step :: 2 * step]
    return [None, y]


add(
    "sum_by_nested_functions",
    sum_by_nested_functions,
    FUNCTIONS + "test_device_function_template_recursion",
    lambda rng: (((32,), (32,)), [whole(rng, 32), np.zeros(32, "int32")]),
    expected_tree,
)
add(
    "index_by_function",
    index_by_function,
    FUNCTIONS + "test_device_function_called_once",
    lambda rng: (1, [np.zeros(2, "int64")]),
    lambda args: [1],
)

# The block of cooperative groups is a work-group.


def describe_group(x):
    own = get_local_id(0)
    ids = (get_group_id(0), get_group_id(1), get_group_id(2))
    sizes = (get_local_size(0), get_local_size(1), get_local_size(2))
    places = (get_local_id(0), get_local_id(1), get_local_id(2))
    if own == 5:
        for k in range(3):
            x[k] = ids[k]
            x[3 + k] = sizes[k]
            x[6 + k] = places[k]
    barrier()
    if own == 6:
        x[9] = x[5] + x[6]


def describe_size(x):
    m, n, p = get_local_size(0), get_local_size(1), get_local_size(2)
    if get_local_id(0) == m - 1:
        x[0] = m * n * p
        x[1], x[2], x[3] = p, n, m
    barrier()


for function, kernel, want in (
    (describe_group, "test_thread_block_group", [0, 0, 0, 32, 1, 1, 5, 0, 0, 6, *[-1] * 6]),
    (describe_size, "test_thread_block_group_cu116_new_APIs", [32, 1, 1, 32, *[-1] * 12]),
):
    add(
        kernel[5:],
        function,
        GROUPS + kernel,
        lambda rng: (((32,), (32,)), [np.full(16, -1, "int64")]),
        lambda args, want=want: [want],
    )

# Algorithms of Thrust as loops, one row for each work-item.

M, N = 5, 12


def count_equal(x, y):
    i = get_global_id(0)
    n = 0
    for k in range(x.shape[1]):
        n += x[i, k] == i
    y[i] = n


def differences(x, y):
    i = get_global_id(0)
    y[i, 0] = x[i, 0]
    for k in range(1, x.shape[1]):
        y[i, k] = x[i, k] - x[i, k - 1]


def lower_place(x, i, value):
    low, high = 0, x.shape[1]
    while low < high:
        middle = (low + high) // 2
        if x[i, middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


def upper_place(x, i, value):
    low, high = 0, x.shape[1]
    while low < high:
        middle = (low + high) // 2
        if value < x[i, middle]:
            high = middle
        else:
            low = middle + 1
    return low


def contains(x, y):
    i = get_global_id(0)
    place = lower_place(x, i, 5)
    y[i] = place < x.shape[1] and x[i, place] == 5


def store_lower(x, y):
    i = get_global_id(0)
    y[i] = lower_place(x, i, 5)


def store_upper(x, y):
    i = get_global_id(0)
    y[i] = upper_place(x, i, 5)


def store_equal_range(x, y):
    i = get_global_id(0)
    ends = (lower_place(x, i, 5), upper_place(x, i, 5))
    y[i] = ends[1] - ends[0]


def scan_inclusive(x, y):
    i = get_global_id(0)
    total = 0
    for k in range(x.shape[1]):
        total += x[i, k]
        y[i, k] = total


def scan_exclusive_from(start):
    def scan_exclusive(x, y):
        i = get_global_id(0)
        total = start
        for k in range(x.shape[1]):
            y[i, k] = total
            total += x[i, k]

    return scan_exclusive


def find_first(x, y):
    i = get_global_id(0)
    y[i] = x.shape[1]
    for k in range(x.shape[1]):
        if x[i, k] == 3:
            y[i] = k
            break


def sorted_until(x, y):
    i = get_global_id(0)
    k = 1
    while k < x.shape[1] and x[i, k - 1] <= x[i, k]:
        k += 1
    y[i] = k


def is_sorted(x, y):
    i = get_global_id(0)
    holds = True
    for k in range(1, x.shape[1]):
        holds = holds and x[i, k - 1] <= x[i, k]
    y[i] = holds


def sum_of_row(x, y):
    i = get_global_id(0)
    total = 0
    for k in range(x.shape[1]):
        total += x[i, k]
    y[i] = total


def sum_of_squares(x, y):
    i = get_global_id(0)
    total = 0
    for k in range(x.shape[1]):
        total += x[i, k] * x[i, k]
    y[i] = total


def reverse_row(x, y):
    i = get_global_id(0)
    n = x.shape[1]
    for k in range(n // 2):
        x[i, k], x[i, n - 1 - k] = x[i, n - 1 - k], x[i, k]


def reverse_row_copy(x, y):
    i = get_global_id(0)
    for k in range(x.shape[1]):
        y[i, k] = x[i, -1 - k + x.shape[1]]


def replace_in_row(x, y):
    i = get_global_id(0)
    for k in range(x.shape[1]):
        if x[i, k] == 0:
            x[i, k] = 999


def replace_copy(x, y):
    i = get_global_id(0)
    for k in range(x.shape[1]):
        y[i, k] = 999 if x[i, k] == 0 else x[i, k]


def remove_copy(x, y):
    i = get_global_id(0)
    n = 0
    for k in range(x.shape[1]):
        if x[i, k] != 1:
            y[i, n] = x[i, k]
            n += 1


def sequence(x, y):
    i = get_global_id(0)
    for k in range(y.shape[1]):
        y[i, k] = i + 10 * k


def sort_row(x, y):
    i = get_global_id(0)
    for k in range(1, x.shape[1]):
        value = x[i, k]
        place = k
        while place > 0 and x[i, place - 1] > value:
            x[i, place] = x[i, place - 1]
            place -= 1
        x[i, place] = value


def sort_by_key(x, y):
    i = get_global_id(0)
    for k in range(1, x.shape[1]):
        key, value = x[i, k], y[i, k]
        place = k
        while place > 0 and x[i, place - 1] > key:
            x[i, place] = x[i, place - 1]
            y[i, place] = y[i, place - 1]
            place -= 1
        x[i, place] = key
        y[i, place] = value


def swap_rows(x, y):
    i = get_global_id(0)
    for k in range(x.shape[1]):
        x[i, k], y[i, k] = y[i, k], x[i, k]


def unique_count(x, y):
    i = get_global_id(0)
    n = 1
    for k in range(1, x.shape[1]):
        if x[i, k] != x[i, n - 1]:
            x[i, n] = x[i, k]
            n += 1
    y[i] = n


def gather_row(x, y):
    i = get_global_id(0)
    for k in range(x.shape[1]):
        y[i, k] = x[i, x[i, k] % x.shape[1]]


def intersection_count(x, y):
    i = get_global_id(0)
    j, k, n = 0, 0, 0
    other = (i + 1) % x.shape[0]
    while j < x.shape[1] and k < x.shape[1]:
        if x[i, j] < x[other, k]:
            j += 1
        elif x[other, k] < x[i, j]:
            k += 1
        else:
            n += 1
            j += 1
            k += 1
    y[i] = n


def ordered_rows(x):
    return np.sort(x, axis=1)


def multiset_common(a, b):
    values = set(a.tolist()) & set(b.tolist())
    return sum(min((a == v).sum(), (b == v).sum()) for v in values)


def expected_removed(x, y):
    after = y.copy()
    for row, kept in zip(after, (r[r != 1] for r in x), strict=True):
        row[: len(kept)] = kept
    return after


def expected_until(x):
    falls = np.diff(x, axis=1) < 0
    return np.where(falls.any(1), falls.argmax(1) + 1, x.shape[1])


def add_rows(name, function, test, expect, per_row=False, in_order=False):
    def make(rng):
        x = whole(rng, M, N, high=9)
        if name == "is_sorted":
            x[::2].sort(1)
        return M, [ordered_rows(x) if in_order else x, whole(rng, *((M,) if per_row else (M, N)))]

    source = f"{THRUST}::{test}"
    add(f"thrust_{name}", function, source, make, lambda args: expect(*args))
    LIBRARY[THRUST, test] = "calls NVIDIA's library Thrust; written as a loop"


LIBRARY: dict[tuple[str, str], str] = {}
add_rows(
    "count", count_equal, "count", lambda x, y: [None, (x == np.arange(M)[:, None]).sum(1)], per_row=True
)
add_rows(
    "adjacent_difference",
    differences,
    "adjacent_difference",
    lambda x, y: [None, np.diff(x, axis=1, prepend=0)],
)
add_rows("binary_search", contains, "binary_search", lambda x, y: [None, (x == 5).any(1)], True, True)
add_rows("lower_bound", store_lower, "lower_bound", lambda x, y: [None, (x < 5).sum(1)], True, True)
add_rows("upper_bound", store_upper, "upper_bound", lambda x, y: [None, (x <= 5).sum(1)], True, True)
add_rows("equal_range", store_equal_range, "equal_range", lambda x, y: [None, (x == 5).sum(1)], True, True)
add_rows("inclusive_scan", scan_inclusive, "inclusive_scan", lambda x, y: [None, x.cumsum(1)])
for start, test in ((0, "exclusive_scan"), (10, "exclusive_scan_init")):
    add_rows(
        test, scan_exclusive_from(start), test, lambda x, y, start=start: [None, x.cumsum(1) - x + start]
    )
add_rows(
    "find",
    find_first,
    "find",
    lambda x, y: [None, np.where((x == 3).any(1), (x == 3).argmax(1), N)],
    per_row=True,
)
add_rows(
    "is_sorted_until", sorted_until, "is_sorted_until", lambda x, y: [None, expected_until(x)], per_row=True
)
add_rows("is_sorted", is_sorted, "is_sorted", lambda x, y: [None, expected_until(x) == N], per_row=True)
add_rows("reduce", sum_of_row, "reduce", lambda x, y: [None, x.sum(1)], per_row=True)
add_rows("inner_product", sum_of_squares, "inner_product", lambda x, y: [None, (x * x).sum(1)], per_row=True)
add_rows("reverse", reverse_row, "reverse", lambda x, y: [x[:, ::-1], None])
add_rows("reverse_copy", reverse_row_copy, "reverse_copy", lambda x, y: [None, x[:, ::-1]])
add_rows("replace", replace_in_row, "replace", lambda x, y: [np.where(x == 0, 999, x), None])
add_rows("replace_copy", replace_copy, "replace_copy", lambda x, y: [None, np.where(x == 0, 999, x)])
add_rows("remove_copy", remove_copy, "remove_copy", lambda x, y: [None, expected_removed(x, y)])
add_rows("sequence", sequence, "sequence", lambda x, y: [None, np.add.outer(np.arange(M), 10 * np.arange(N))])
add_rows("sort", sort_row, "sort", lambda x, y: [ordered_rows(x), None])
add_rows(
    "stable_sort_by_key",
    sort_by_key,
    "stable_sort_by_key",
    lambda x, y: [ordered_rows(x), np.take_along_axis(y, x.argsort(1, kind="stable"), 1)],
)
add_rows("swap_ranges", swap_rows, "swap_ranges", lambda x, y: [y, x])
add_rows(
    "unique", unique_count, "unique", lambda x, y: [None, (np.diff(x, axis=1) != 0).sum(1) + 1], per_row=True
)
add_rows("gather", gather_row, "gather", lambda x, y: [None, np.take_along_axis(x, x % N, 1)])
add_rows(
    "set_intersection",
    intersection_count,
    "set_intersection",
    lambda x, y: [None, [multiset_common(x[k], x[(k + 1) % M]) for k in range(M)]],
    True,
    True,
)

# Kernels that the language refuses, and what has no counterpart.

for order in "CF":
    add(
        f"store_strides_{order}",
        store_strides,
        RAW + "test_shape_strides",
        lambda rng, order=order: (1, [np.zeros((3, 4, 6), order=order)]),
        lambda args: [stride_result(args[0])],
    )

REFUSED = {}

UNSUPPORTED = LIBRARY | {
    (RAW[:-2], "test_raw_grid_invalid1"): "checks an error",
    (RAW[:-2], "test_raw_grid_invalid2"): "checks an error",
    (RAW[:-2], "test_raw_grid_invalid3"): "checks an error",
    (RAW[:-2], "test_error_msg"): "checks an error",
    (FUNCTIONS[:-2], "test_device_function_recursive"): "checks an error",
    (RAW[:-2], "test_device_cache"): "tests the cache of two devices",
    (RAW[:-2], "test_cached_code"): "tests the cache",
    (RAW[:-2], "test_syncwarp"): "warps",
    (RAW[:-2], "test_syncwarp_mask"): "warps",
    (RAW[:-2], "test_shfl"): "warps",
    (RAW[:-2], "test_shfl_width"): "warps",
    (RAW[:-2], "test_shfl_up"): "warps",
    (RAW[:-2], "test_shfl_down"): "warps",
    (RAW[:-2], "test_shfl_xor"): "warps",
    (RAW[:-2], "test_laneid"): "warps",
    (RAW[:-2], "test_warpsize"): "warps",
    (GROUPS[:-2], "test_grid_group"): "a barrier of the whole grid",
    (GROUPS[:-2], "test_grid_group_cu116_new_APIs"): "a barrier of the whole grid",
    (GROUPS[:-2], "test_cg_sync"): "a barrier of the whole grid",
    (GROUPS[:-2], "test_cg_memcpy_async_wait_for_wait"): "asynchronous copies of the hardware",
    (CUB, "all kernels"): "calls NVIDIA's library CUB",
    (THRUST, "other kernels"): "calls NVIDIA's library Thrust",
}
