"""matmul and its operators, tensordot and vecdot, against NumPy."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

import usmpy

REAL = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [
    ((1, 1), (1, 1)),
    ((2, 3), (3, 4)),
    ((5, 1), (1, 7)),
    ((1, 9), (9, 1)),
    ((50, 70), (70, 33)),
    ((33, 200), (200, 3)),
    ((3, 200), (200, 130)),
    ((97, 65), (65, 129)),
    ((4,), (4,)),
    ((4,), (4, 3)),
    ((3, 4), (4,)),
    ((1,), (1,)),
    ((6, 2, 3), (3, 4)),
    ((2, 3), (6, 3, 4)),
    ((2, 1, 5, 3), (7, 3, 2)),
    ((2, 1, 3, 1, 2, 3), (1, 4, 1, 5, 3, 2)),
    ((4,), (2, 4, 3)),
    ((2, 3, 4), (4,)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((2, 0, 3), (3, 4)),
    ((0, 2, 3), (1, 3, 4)),
]


def values(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype, endpoint=True)


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def skip_without_fp64(dtype, queue):
    if dtype in ("float64", "complex128") and not queue.device.has_fp64:
        pytest.skip("no float64")


def tolerance(a, b, inner):
    """Of sums in any order (Higham, Accuracy and Stability, 3.1), and of one rounding to float16."""
    computed = np.result_type(a, b)
    unit = float(np.finfo("f4" if computed == np.float16 else computed).eps)
    rounding = float(np.finfo(computed).eps)
    return lambda size: 2 * (inner + 2) * unit * size + rounding * size + 1e-7 * (computed == np.float16)


def agree(result, function, a, b, inner):
    result = result.asnumpy()
    with np.errstate(all="ignore"):
        if np.result_type(a, b).kind in "iu":
            wanted = function(a, b)
            assert result.dtype == wanted.dtype
            np.testing.assert_array_equal(result, wanted)
            return
        wide = "c16" if np.result_type(a, b).kind == "c" else "f8"
        wanted = function(a.astype(wide), b.astype(wide))
        size = function(np.abs(a.astype(wide)), np.abs(b.astype(wide)))
    assert result.dtype == np.result_type(a, b)
    assert result.shape == wanted.shape
    assert (np.abs(result.astype(wide) - wanted) <= tolerance(a, b, inner)(size)).all()


@together("dtype", INTEGERS + REAL + COMPLEX)
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul_has_numpys_results(dtype, left, right, queue):
    skip_without_fp64(dtype, queue)
    a, b = values(dtype, left, 1), values(dtype, right, 2)
    result = usmpy.matmul(put(a, queue), put(b, queue))
    agree(result, np.matmul, a, b, left[-1])
    assert result.flags.c_contiguous


# By name: the memory of a view, and the view of that memory; both of usmpy's or NumPy's arrays.
LAYOUTS = {
    "transposed": (lambda a: np.swapaxes(a, -1, -2).copy(), lambda m: m.mT),
    "reversed": (lambda a: a[..., ::-1, ::-1].copy(), lambda m: m[..., ::-1, ::-1]),
    "spaced": (lambda a: np.repeat(np.repeat(a, 3, -1), 2, -2), lambda m: m[..., ::2, ::3]),
    "padded": (lambda a: np.concatenate([a, a], -1), lambda m: m[..., : m.shape[-1] // 2]),
    "batch inside": (lambda a: np.moveaxis(a, 0, -1).copy(), lambda m: usmpy.permute_dims(m, (2, 0, 1))),
    "batch reversed": (lambda a: a[::-1].copy(), lambda m: m[::-1]),
    "one row": (lambda a: a[:, :1].copy(), lambda m: usmpy.broadcast_to(m, (3, 12, 12))),
    "one matrix": (lambda a: a[:1].copy(), lambda m: usmpy.broadcast_to(m, (3, 12, 12))),
}


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "float16", "complex64"])
@together("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_any_layout(left, right, dtype, queue):
    skip_without_fp64(dtype, queue)
    views = []
    for layout, seed in ((left, 1), (right, 2)):
        make, view = LAYOUTS[layout]
        views.append(view(put(make(values(dtype, (3, 12, 12), seed)), queue)))
    a, b = (view.asnumpy() for view in views)
    agree(views[0] @ views[1], np.matmul, a, b, 12)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("step", [1, -1, 3])
def test_vectors_in_any_steps(step, dtype, queue):
    a, v = values(dtype, (40, 60), 1), values(dtype, 180, 2)
    x, y = put(a, queue), put(v, queue)
    agree(x @ y[::step][:60], np.matmul, a, v[::step][:60], 60)
    agree(y[::step][:40] @ x, np.matmul, v[::step][:40], a, 40)
    agree(x.mT @ y[::step][:40], np.matmul, a.T, v[::step][:40], 40)
    agree(y[::step][:60] @ x.mT, np.matmul, v[::step][:60], a.T, 60)


def test_a_batch_of_axes_that_do_not_merge(queue):
    a, b = values("float32", (2, 3, 2, 3, 2, 4, 5), 1), values("float32", (2, 3, 2, 3, 2, 5, 4), 2)
    order = (4, 3, 2, 1, 0, 5, 6)
    x = usmpy.permute_dims(put(a.transpose(order).copy(), queue), order)
    agree(x @ put(b, queue), np.matmul, a, b, 5)
    agree(put(b, queue) @ x, np.matmul, b, a, 4)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("int8", "int64"),
        ("uint8", "int8"),
        ("int16", "float32"),
        ("float16", "float32"),
        ("float32", "complex64"),
        ("complex64", "float16"),
    ],
)
def test_types_are_promoted(left, right, queue):
    a, b = values(left, (7, 9), 1), values(right, (9, 4), 2)
    agree(usmpy.matmul(put(a, queue), put(b, queue)), np.matmul, a, b, 9)
    agree(usmpy.vecdot(put(a, queue), put(b.T.copy(), queue)[:1]), np.vecdot, a, b.T[:1], 9)


def test_bfloat16(queue):
    a, b = values("float32", (20, 30), 1), values("float32", (30, 10), 2)
    x, y = put(a, queue).astype(usmpy.bfloat16), put(b, queue).astype(usmpy.bfloat16)
    result = usmpy.matmul(x, y)
    assert result.dtype == usmpy.bfloat16
    a, b = x.astype(usmpy.float32).asnumpy(), y.astype(usmpy.float32).asnumpy()
    wanted, size = a.astype("f8") @ b.astype("f8"), np.abs(a) @ np.abs(b)
    assert (np.abs(result.astype(usmpy.float32).asnumpy() - wanted) <= size * 2**-8).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_nan_stay_where_they_are(dtype, queue):
    skip_without_fp64(dtype, queue)
    a, b = np.ones((9, 9), dtype), np.ones((9, 9), dtype)
    a[2, 3], a[8, 8], b[4, 8] = np.inf, np.nan, -np.inf
    result = (put(a, queue) @ put(b, queue)).asnumpy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result, a @ b)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 2), (2, 1)), ((), ()), ((-1,), (0,)), ((2, 0, 1), (0, 2, 1))])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "complex64"])
def test_tensordot(axes, dtype, queue):
    shapes = {2: ((5, 3, 4), (3, 4, 2)), ((0, 2), (2, 1)): ((3, 5, 4), (2, 4, 3))}
    shapes[((2, 0, 1), (0, 2, 1))] = ((3, 2, 4), (4, 2, 3))
    left, right = shapes.get(axes, ((2, 3, 4), (4, 5)))
    a, b = values(dtype, left, 1), values(dtype, right, 2)

    def reference(x, y):
        return np.tensordot(x, y, axes=axes)

    agree(usmpy.tensordot(put(a, queue), put(b, queue), axes=axes), reference, a, b, 24)


def test_tensordot_of_numbers_and_of_nothing(queue):
    three = put(np.array(3, "int32"), queue)
    assert usmpy.tensordot(three, three, axes=0).tolist() == 9
    empty = put(np.zeros((2, 0), "float32"), queue)
    assert usmpy.tensordot(empty, empty, axes=((1,), (1,))).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "complex64"])
@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [
        ((5,), (5,), -1),
        ((3, 5), (5,), -1),
        ((5, 3), (5, 1), -2),
        ((4, 1, 5), (3, 5), -1),
        ((2, 0), (2, 0), -1),
        ((5, 3), (5, 3), 0),
    ],
)
def test_vecdot(left, right, axis, dtype, queue):
    a, b = values(dtype, left, 1), values(dtype, right, 2)
    result = usmpy.vecdot(put(a, queue), put(b, queue), axis=axis)

    def reference(x, y):
        return np.sum(np.moveaxis(x.conj(), axis, -1) * np.moveaxis(y, axis, -1), -1, dtype=x.dtype)

    agree(result, reference, a, b, 5)


def test_vecdot_of_many_has_the_bits_of_sum(queue):
    a, b = values("float32", 5000, 1), values("float32", 5000, 2)
    host = usmpy.Device("host").queue
    wanted = usmpy.vecdot(put(a, host), put(b, host)).asnumpy()
    assert usmpy.vecdot(put(a, queue), put(b, queue)).asnumpy().tobytes() == wanted.tobytes()


def test_operators(queue):
    a, b = values("float32", (4, 6), 1), values("float32", (6, 6), 2)
    x, y = put(a, queue), put(b, queue)
    agree(x @ y, np.matmul, a, b, 6)
    kept = x
    x @= y
    assert x is kept
    agree(x, np.matmul, a, b, 6)
    y @= y
    agree(y, np.matmul, b, b, 6)
    with pytest.raises(ValueError, match=r"shape \(6, 4\), and x1 has dtype float32 and shape \(6, 6\)"):
        y @= y[:, :4]
    z = put(values("int32", (6, 6), 1), queue)
    with pytest.raises(
        TypeError, match=r"the product has dtype int64 and shape \(6, 6\), and x1 has dtype int32"
    ):
        z @= z.astype(usmpy.int64)
    for other in (2, 2.5, [1], "a"):
        with pytest.raises(TypeError):
            y @ other
        with pytest.raises(TypeError):
            other @ y
        with pytest.raises(TypeError):
            y @= other


def test_errors_name_the_arguments(queue):
    x, y = (
        usmpy.zeros((2, 3), queue=queue, dtype="float32"),
        usmpy.zeros((4, 2), queue=queue, dtype="float32"),
    )
    with pytest.raises(ValueError, match=r"x1 has 3 columns and x2 4 rows; they must match"):
        usmpy.matmul(x, y)
    with pytest.raises(ValueError, match="x1 has 3 columns and x2 1 element; they must match"):
        usmpy.matmul(x, y[:1, 0])
    with pytest.raises(ValueError, match="x2 has 0 dimensions; 1 or more are needed"):
        usmpy.matmul(x, y[0, 0])
    with pytest.raises(ValueError, match=r"the other axes of x1 and x2, \(2,\) and \(3,\), do not broadcast"):
        usmpy.matmul(usmpy.zeros((2, 3, 3), queue=queue), usmpy.zeros((3, 3, 3), queue=queue))
    with pytest.raises(TypeError, match="x2 is an int; a USMArray is allowed"):
        usmpy.matmul(x, 2)
    with pytest.raises(TypeError, match="the common type of x1 and x2 is bool"):
        usmpy.matmul(x.astype(usmpy.bool), y.astype(usmpy.bool))
    with pytest.raises(
        ValueError, match="axis 1 of x1 has length 3 and axis 1 of x2 length 2; they must match"
    ):
        usmpy.tensordot(x, y, axes=((1,), (1,)))
    with pytest.raises(ValueError, match="axes is 3; x1 has 2 dimensions and x2 2"):
        usmpy.tensordot(x, y, axes=3)
    with pytest.raises(ValueError, match="axes are an int, or a pair"):
        usmpy.tensordot(x, y, axes=((0, 1), (0,)))
    with pytest.raises(ValueError, match="x1 has length 3 along the axis and x2 2"):
        usmpy.vecdot(x, y)
    with pytest.raises(ValueError, match="axis must be negative"):
        usmpy.vecdot(x, y[0], axis=0)
    with pytest.raises((ValueError, IndexError)):
        usmpy.vecdot(x, y[0], axis=-2)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x @= usmpy.zeros((3, 3), queue=queue, dtype="float32")


def test_arrays_of_two_queues_are_refused(device):
    x = usmpy.zeros((2, 2), queue=usmpy.Queue(device))
    with pytest.raises(usmpy.ExecutionPlacementError, match="x1"):
        usmpy.matmul(x, usmpy.zeros((2, 2), queue=usmpy.Queue(device)))


def test_products_are_ordered_after_what_they_read(queue):
    x = usmpy.zeros((300, 300), queue=queue, dtype="float32")
    x[...] = 1
    y = x @ x
    x[...] = 7
    z = y @ y
    assert (y.asnumpy() == 300).all()
    assert (z.asnumpy() == 300 * 300 * 300).all()
    assert (x.asnumpy() == 7).all()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_shapes(data, device):
    queue = device.queue
    m, k, n = (data.draw(st.integers(0, 140), label=name) for name in "mkn")
    batch = data.draw(st.sampled_from([(), (1,), (3,), (2, 3)]), label="batch")
    dtype = data.draw(st.sampled_from(["float32", "int64", "uint8"]), label="dtype")
    flips = data.draw(st.tuples(st.booleans(), st.booleans()), label="transposed")
    a, b = values(dtype, (*batch, m, k), 1), values(dtype, (k, n), 2)
    x = put(np.swapaxes(a, -1, -2).copy(), queue).mT if flips[0] else put(a, queue)
    y = put(b.T.copy(), queue).mT if flips[1] else put(b, queue)
    agree(x @ y, np.matmul, a, b, k)


def test_explain_matmul_names_the_library(queue):
    x = usmpy.ones((4, 6), queue=queue, dtype="float32")
    text = usmpy.explain_matmul(x, x.mT)
    assert text.startswith("matmul of (4, 6) and (6, 4), computed in float32\nby: ")
    if queue.device.backend == "host":
        assert "openblas" in text  # NumPy's own copy
    assert "in place" in text
    text = usmpy.explain_matmul(x.astype(usmpy.int32), x.astype(usmpy.int8).mT)
    assert text.splitlines()[1:] == ["by: usmpy's own kernel", "x1: in place", "x2: through a compact copy"]
    assert "products element by element" in usmpy.explain_matmul(x[0], x[0])
    text = usmpy.explain_matmul(x, x.mT.astype(usmpy.complex64))
    assert "computed in float32: four products of real and imaginary parts\n" in text
    assert "x1: through a compact copy" in text
    own = "by: usmpy's own kernel" in text  # a library takes no parts of complex numbers
    assert ("x2: in place" in text) == own
    text = usmpy.explain_matmul(x.astype(usmpy.complex64), x.mT)
    assert "x2: through a compact copy" in text
    assert ("x1: in place" in text) == own


def test_a_product_of_two_complex_vectors_takes_no_conjugate(queue):
    x, y = put(np.array([1j, 2j, 3j], "complex64"), queue), put(np.array([1, 2j, 3], "complex64"), queue)
    assert usmpy.matmul(x, y).item() == usmpy.tensordot(x, y, axes=1).item() == -4 + 10j
    assert usmpy.vecdot(x, y).item() == 4 - 10j


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cublas(dtype, queue):
    x = usmpy.ones((6, 6), queue=queue, dtype=dtype if queue.device.has_fp64 else "float32")
    if "libcublas" not in usmpy.explain_matmul(x, x):
        pytest.skip("no CUDA device with cuBLAS: the software driver cannot run it")
    a, b = values(dtype, (3, 500, 300), 1), values(dtype, (3, 300, 700), 2)
    x, y = put(a, queue), put(b, queue)
    agree(x @ y, np.matmul, a, b, 300)
    agree(y.mT @ x.mT, lambda p, q: np.matmul(np.swapaxes(p, 1, 2), np.swapaxes(q, 1, 2)), b, a, 300)
    agree(x[0] @ y, np.matmul, a[0], b, 300)
    exact = np.full((64, 64), 1 + 2.0**-20, dtype)  # TF32 would lose it
    assert (put(exact, queue) @ put(np.eye(64, dtype=dtype), queue)).asnumpy().tobytes() == exact.tobytes()


OWN = """
import numpy as np, usmpy
for dtype in ("float32", "float64"):
    for m, k, n in ((1, 300, 50), (130, 64, 70), (50, 129, 1), (200, 70, 300), (7, 1, 9)):
        rng = np.random.default_rng(m)
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        x, y = usmpy.asarray(a, device="host"), usmpy.asarray(b, device="host")
        assert "own kernel" in usmpy.explain_matmul(x, y)
        sums = np.zeros((m, n), dtype)
        for p in range(k):  # the order that docs/numerics.md promises
            sums += a[:, p : p + 1] * b[p : p + 1]
        assert (x @ y).asnumpy().tobytes() == sums.tobytes(), (dtype, m, k, n)
        assert (y.mT @ x.mT).asnumpy().tobytes() == sums.T.tobytes(), (dtype, m, k, n)
"""


@pytest.mark.not_sanitized("it runs another program")
def test_the_own_kernel_adds_in_order():
    subprocess.run([sys.executable, "-c", OWN], check=True, env={**os.environ, "USMPY_BLAS_LIBRARY": "none"})


FORK = """
import os, numpy as np, usmpy
x = usmpy.ones((200, 200), device="host", dtype="float32")
assert "openblas" in usmpy.explain_matmul(x, x) and (x @ x).asnumpy()[0, 0] == 200
child = os.fork()
if child == 0:
    y = usmpy.ones((200, 200), device="host", dtype="float32")
    os._exit(0 if ((y @ y).asnumpy() == 200).all() else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.not_sanitized("it runs another program")
def test_a_child_of_fork_multiplies():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True, timeout=60)


def test_importing_opens_no_library():
    text = "import usmpy; print('blas' in open('/proc/self/maps').read())"
    done = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_several_threads_multiply_at_once(device):
    rights = []

    def work(seed):
        queue = usmpy.Queue(device)
        a = values("float32", (80, 80), seed)
        x = put(a, queue)
        for _ in range(20):
            result = (x @ x).asnumpy()
            rights.append(bool(np.allclose(result, a @ a, rtol=1e-3, atol=1e-3)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rights == [True] * 80


def test_lengths_beyond_32_bits_are_for_libraries_with_wider_numbers():
    x, y = (usmpy.zeros(shape, dtype="float32", device="host") for shape in ((1, 3), (3, 2)))
    few = usmpy.explain_matmul(x, y)
    many = usmpy.explain_matmul(usmpy.broadcast_to(x, (2**31 + 1, 3)), y)
    assert "openblas" in few
    assert ("openblas" in many) == ("openblas64" in few)


def test_shapes_of_vecdot_that_do_not_broadcast(queue):
    with pytest.raises(ValueError, match="do not broadcast"):
        usmpy.vecdot(usmpy.zeros((2, 3), queue=queue), usmpy.zeros((4, 3), queue=queue))
