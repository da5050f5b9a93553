"""ElementwiseKernel: results as NumPy has them, in all layouts and types; bad input changes nothing."""

import random

import numpy as np
import pytest
from backends import drawn
from draws import seeds

import usmpy

TYPES = [
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
]


def make(inputs="T x, T y", outputs="T z", operation="z = x + y", name="add", **keywords):
    return usmpy.ElementwiseKernel(inputs, outputs, operation, name, **keywords)


def numbers(shape, dtype="float32"):
    """Small numbers that every type holds, in no order."""
    values = np.random.default_rng(3).integers(0, 50, size=shape)
    return (values % 2 if dtype == "bool" else values).astype(dtype)


def on(queue, array):
    return usmpy.asarray(array, queue=queue, copy=True)


def supported(device, dtype):
    return (device.has_fp64 or dtype != "float64") and (device.has_fp16 or dtype != "float16")


# Results.


def test_types(backend, device, queue):
    for dtype in drawn(backend, TYPES):
        if supported(device, dtype):
            check_types(queue, dtype)


def check_types(queue, dtype):
    kernel = make(operation="z = x == y ? x : y")
    a, b = numbers(100, dtype), numbers(100, dtype)[::-1]
    result = kernel(on(queue, a), on(queue, b))
    assert result.dtype == dtype
    assert np.array_equal(result.asnumpy(), b)
    both = make("T x", "bool odd", "odd = ((int)x & 1) * 6")
    assert np.array_equal(both(on(queue, a)).asnumpy(), a.astype("int32") % 2 == 1)


def test_half_precision(device, queue):
    kernel = make(operation="z = x * y + 1")
    x = on(queue, numbers(10, "float16"))
    if device.has_fp16:
        assert kernel(x, 2).tolist() == [2 * float(v) + 1 for v in x.tolist()]
        return
    with pytest.raises(TypeError, match=r"argument 'x' of add: float16 needs half precision, which .* lacks"):
        kernel(x, 2)


def test_double_precision(device, queue):
    x = usmpy.zeros(3, dtype="float64", queue=queue)
    if device.has_fp64:
        assert make()(x, 0.1).tolist() == [0.1] * 3
        return
    with pytest.raises(TypeError, match="argument 'x' of add: float64 needs double precision"):
        make()(x, 1)


def views(x, chance):
    """A random view of an array: slices, reversed and permuted axes."""
    x = x[tuple(slice(None, None, chance.choice([1, 1, 2, -1, -2])) for _ in x.shape)]
    axes = list(range(x.ndim))
    if chance.random() < 0.5:
        chance.shuffle(axes)
    return x, axes


@pytest.mark.parametrize("seed", seeds(4))
def test_layouts(queue, seed):
    kernel = make("T x, T y", "T z, int64 k", "z = x - 2 * y; k = i + 1000000 * n", "both")
    chance = random.Random(seed)
    for ndim in (1, 2, 3, 4, 5, 7):
        shape = tuple(chance.choice([1, 2, 3, 5]) for _ in range(ndim))
        a = numbers(shape)
        x = on(queue, a)
        (a, axes), chance_of_x = views(a, random.Random(seed)), random.Random(seed)
        x, _ = views(x, chance_of_x)
        a, x = a.transpose(axes), usmpy.permute_dims(x, tuple(axes))
        b = a[..., :1] if chance.random() < 0.5 else a[chance.choice([0, -1])]
        y = on(queue, b)
        z, k = kernel(x, y)
        assert np.array_equal(z.asnumpy(), a - 2 * b), (shape, axes)
        assert np.array_equal(k.asnumpy().reshape(-1), np.arange(a.size) + 1000000 * a.size)


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 255, 256, 257, 1000, 65537])
def test_sizes(queue, n):
    a = numbers(n)
    assert np.array_equal(make()(on(queue, a), on(queue, a[::-1])).asnumpy(), a + a[::-1])


def test_more_axes_than_a_kernel_has(queue):
    a = numbers((3,) * 10)
    x = on(queue, a)
    every = (slice(None, None, 2),) * 10
    kernel = make()
    assert np.array_equal(kernel(x[every], 1).asnumpy(), a[every] + 1)
    out = usmpy.zeros((3,) * 10, dtype="float32", queue=queue)
    mask = np.zeros((2,) * 10, "bool")
    mask[0] = True
    assert kernel(x[every], 1, out=out[every], where=on(queue, mask)).shape == (2,) * 10
    wanted = np.zeros((3,) * 10, "float32")
    wanted[every] = np.where(mask, a[every] + 1, 0)
    assert np.array_equal(out.asnumpy(), wanted)


def test_many_rows(queue):
    a = numbers((70000, 3))
    assert np.array_equal(make()(on(queue, a)[:, ::2], 1).asnumpy(), a[:, ::2] + 1)


def test_order_of_new_arrays(queue):
    x = usmpy.zeros((3, 4), dtype="float32", queue=queue, order="F")
    kernel = make()
    assert kernel(x, x).flags.f_contiguous
    assert kernel(x, usmpy.zeros((3, 4), dtype="float32", queue=queue)).flags.c_contiguous


def test_no_elements(queue):
    kernel = make()
    for shape in ((0,), (3, 0), (0, 1)):
        x = usmpy.zeros(shape, dtype="float32", queue=queue)
        assert kernel(x, 1).shape == shape
    assert kernel(x, usmpy.zeros((1, 5), dtype="float32", queue=queue)).shape == (0, 5)


def test_no_dimensions(queue):
    x = usmpy.full((), 3, dtype="int32", queue=queue)
    assert make()(x, 4).tolist() == 7
    assert make()(x, x[None]).tolist() == [6]


# Types of arguments.


def test_casts_to_declared_types(device, queue):
    wide = "float64" if device.has_fp64 else "float32"
    kernel = make("float32 x, int32 y", "float32 z", "z = x * y")
    a, b = numbers(10, wide) + 0.5, numbers(10, "int64") + 1
    wanted = a.astype("float32") * b.astype("float32")
    assert np.array_equal(kernel(on(queue, a), on(queue, b)).asnumpy(), wanted)
    assert np.array_equal(kernel(on(queue, a)[::2], on(queue, b)[::2]).asnumpy(), wanted[::2])
    flags = on(queue, np.array([True, False]))
    assert make("int32 x", "int32 z", "z = x + 1")(flags).tolist() == [2, 1]
    with pytest.raises(
        TypeError, match="argument 'y' of add: a USMArray of float32 was given for int32 y; pass"
    ):
        kernel(on(queue, a), on(queue, numbers(10)))
    with pytest.raises(
        TypeError, match=r"argument 'x' of add: .* of int64 .* for uint8 x; pass x.astype\('uint8'\)"
    ):
        make("uint8 x", "T z", "z = x")(on(queue, b), out=on(queue, numbers(10)))


def test_numbers_bind_weakly(device, queue):
    kernel = make()
    x = on(queue, numbers(4))
    assert kernel(x, 2).dtype == usmpy.float32
    assert kernel(x, 0.5).dtype == usmpy.float32
    assert kernel(x, np.float64(0.5)).dtype == usmpy.float32
    assert kernel(2, x).tolist() == (numbers(4) + 2).tolist()
    assert kernel(on(queue, numbers(4, "uint8")), True).dtype == usmpy.uint8
    assert kernel(2, 3, queue=queue).dtype == usmpy.int64
    assert kernel(2, 3, queue=queue).tolist() == 5
    wide = usmpy.float64 if device.has_fp64 else usmpy.float32
    assert kernel(2, 0.5, queue=queue).dtype == wide
    assert kernel(np.int16(2), 3, queue=queue).dtype == usmpy.int16
    assert kernel(np.int16(2), np.int8(3), queue=queue).dtype == usmpy.int16
    assert make("T x, bool b", "T z", "z = b ? x : -x")(x, False).tolist() == (-numbers(4)).tolist()
    with pytest.raises(OverflowError, match=r"argument 1 \(y\) of add: 300"):
        kernel(on(queue, numbers(4, "uint8")), 300)
    with pytest.raises(TypeError, match=r"argument 1 \(y\) of add: .*float"):
        kernel(on(queue, numbers(4, "int32")), 0.5)


def test_type_variables(queue):
    kernel = make("T x, U y", "T z, U w", "T t = x; U u = y; z = t + 1; w = u + 2")
    z, w = kernel(on(queue, numbers(3, "int32")), on(queue, numbers(3)))
    assert (z.dtype, w.dtype) == (usmpy.int32, usmpy.float32)
    with pytest.raises(
        TypeError, match="'x' and 'y' of add: both are declared as T, and int32 and float32 were"
    ):
        make()(on(queue, numbers(3, "int32")), on(queue, numbers(3)))
    with pytest.raises(TypeError, match="argument 'z' of add: no argument decides its type T"):
        make("int32 x", "T z", "z = x")(on(queue, numbers(3, "int32")))
    out = usmpy.empty(3, dtype="float32", queue=queue)
    assert make("int32 x", "T z", "z = x")(on(queue, numbers(3, "int32")), out).dtype == usmpy.float32


def test_preamble_and_names(queue):
    kernel = make(
        "T x",
        "T y",
        "y = twice(x) + A",
        "sqrt",
        preamble="#define A 3\nT twice(T x) { return 2 * x; }",
        options="-D B=2",
    )
    assert kernel(on(queue, numbers(3))).tolist() == (2 * numbers(3) + 3).tolist()
    assert repr(kernel) == "<ElementwiseKernel sqrt(T x) -> T y>"
    # The kernel's own name is a function of the language that the operation calls.
    assert make("T x", "T y", "y = sqrt(x)", "sqrt")(on(queue, np.float32([4, 9]))).tolist() == [2, 3]


def test_the_size_in_the_words_of_cupy(queue):
    reverse = make("T x, raw T y", operation="z = x + y[_ind.size() - i - 1]")
    x = on(queue, numbers(5))
    assert reverse(x, x).tolist() == (numbers(5) + numbers(5)[::-1]).tolist()


def test_statements_of_several_lines(queue):
    kernel = make(
        "T x", "T y", "if (x > 10)\n  y = 10; // at most\nelse {\n  y = x;\n  y += 1;\n}\nif (y < 5) return"
    )
    a = numbers(20)
    assert np.array_equal(kernel(on(queue, a)).asnumpy(), np.where(a > 10, 10, a + 1))


# Raw arrays.


def test_raw_arrays(queue):
    reverse = make("T x, raw T y", "T z", "z = x + y[n - i - 1]", "add_reverse")
    a = numbers(10)
    assert np.array_equal(reverse(on(queue, a), on(queue, a)).asnumpy(), a + a[::-1])
    # With gaps, it is copied: the kernel sees row-major elements.
    b = numbers((4, 20))
    x = on(queue, b)[:, ::2]
    gather = make("int64 k, raw T table", "T z", "z = table[k]")
    for _ in range(2):  # the second call finds its plan
        assert (
            gather(on(queue, np.array([11, 0, 39])), x).tolist()
            == b[:, ::2].reshape(-1)[[11, 0, 39]].tolist()
        )
    scatter = make("raw T x", "raw T y", "y[n - 1 - i] = x[i]")
    assert scatter(on(queue, a), size=10).tolist() == a[::-1].tolist()
    assert scatter(on(queue, a), size=4).tolist() == a[:4][::-1].tolist()
    out = on(queue, a)
    assert scatter(out, size=10, out=out) is out  # the input is copied first
    assert out.tolist() == a[::-1].tolist()


def test_size(queue):
    count = make("", "int64 z", "z = i", "count")
    assert count(size=4, queue=queue).tolist() == [0, 1, 2, 3]
    assert count(size=0, queue=queue).tolist() == []
    assert count(queue=queue).tolist() == 0
    out = usmpy.empty((2, 2), dtype="int64", queue=queue)
    assert count(out).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match="size is -1; 0 or more"):
        count(size=-1, queue=queue)
    with pytest.raises(TypeError, match="size is a float; an int is allowed"):
        count(size=1.5, queue=queue)
    with pytest.raises(ValueError, match="size is given, and x has a shape"):
        make()(on(queue, numbers(3)), 1, size=3)
    with pytest.raises(ValueError, match="all inputs are raw arrays or numbers; pass size= or out="):
        make("raw T x", "T y", "y = x[i]")(on(queue, numbers(3)))


# Results of the caller.


def test_out(queue):
    kernel = make()
    a = numbers((4, 6))
    x = on(queue, a)
    out = usmpy.zeros((8, 12), dtype="float32", queue=queue)
    part = out[::2, ::-2]
    for _ in range(2):
        assert kernel(x, 1, out=part) is part
    wanted = np.zeros((8, 12), "float32")
    wanted[::2, ::-2] = a + 1
    assert np.array_equal(out.asnumpy(), wanted)
    z = usmpy.empty((4, 6), dtype="float32", queue=queue)
    assert kernel(x, x, z) is z
    assert kernel(x, x, out=(None,)).tolist() == z.tolist() == (2 * a).tolist()
    both = make("T x", "T y, T z", "y = x + 1; z = x - 1")
    y, z = both(x, out=(part, None))
    assert y is part
    assert z.tolist() == (a - 1).tolist()


def test_results_over_inputs(queue):
    kernel = make(operation="z = x - 2 * y")
    a = numbers(100)
    x = on(queue, a)
    for _ in range(2):
        a = a - 2 * a
        assert kernel(x, x, out=x) is x
        assert np.array_equal(x.asnumpy(), a)
    kernel(x[:-1], x[1:], out=x[1:])
    a[1:] = a[:-1] - 2 * a[1:]
    assert np.array_equal(x.asnumpy(), a)
    kernel(x[::-1], 1, out=x)
    assert np.array_equal(x.asnumpy(), a[::-1] - 2)
    m = on(queue, numbers((4, 4)))
    kernel(m, m[0], out=m)
    assert np.array_equal(m.asnumpy(), numbers((4, 4)) - 2 * numbers((4, 4))[0])


def test_the_old_value_of_a_result(queue):
    kernel = make("T x", "T y, bool b", "y += x; if (x > 20) b = 1", "accumulate")
    y, b = on(queue, numbers(30)), on(queue, np.arange(30) % 2 == 1)
    kernel(on(queue, numbers(30)), y, b)
    assert np.array_equal(y.asnumpy(), 2 * numbers(30))
    assert np.array_equal(b.asnumpy(), (np.arange(30) % 2 == 1) | (numbers(30) > 20))


def test_where(queue):
    kernel = make()
    a = numbers((5, 6))
    x, mask = on(queue, a), np.arange(6) % 3 == 0
    assert np.array_equal(kernel(x, 1, where=on(queue, mask)).asnumpy(), np.where(mask, a + 1, 0))
    out = usmpy.full((5, 6), 7, dtype="float32", queue=queue)
    kernel(x[:, ::-1], 1, out=out, where=on(queue, mask))
    assert np.array_equal(out.asnumpy(), np.where(mask, a[:, ::-1] + 1, 7))
    tall = on(queue, np.array([[True], [False]]))
    assert np.array_equal(kernel(x[0], 1, where=tall).asnumpy(), [a[0] + 1, np.zeros(6)])
    flags = on(queue, mask)
    invert = make("bool x", "bool y", "y = !x")
    assert np.array_equal(invert(flags, out=flags, where=flags).asnumpy(), np.zeros(6, "bool"))


def test_kinds_of_memory(device, queue):
    if not device.has_usm_shared:
        pytest.skip("the device has no shared memory")
    x = usmpy.zeros(3, dtype="float32", queue=queue, usm_type="shared")
    assert make()(x, 1).usm_type == "shared"
    assert make()(usmpy.zeros(3, dtype="float32", queue=queue), x).usm_type == "shared"


# Order and placement.


def test_depends(queue):
    kernel = make()
    x = on(queue, numbers(50))
    first = queue.barrier()
    assert np.array_equal(kernel(x, x, depends=first).asnumpy(), 2 * numbers(50))
    assert np.array_equal(kernel(x, x, depends=[first, first]).asnumpy(), 2 * numbers(50))
    kernel(x[:-1], 1, out=x[1:], depends=iter([first]))
    assert np.array_equal(x.asnumpy()[1:], numbers(50)[:-1] + 1)
    with pytest.raises(TypeError, match="depends"):
        kernel(x, x, depends=3)


def test_work_on_the_same_memory_is_ordered(device, queue):
    other = usmpy.Queue(device, in_order=False)
    x = usmpy.zeros(1000, dtype="int32", queue=other)
    kernel = make("int32 x", "int32 y", "y = x + 1")
    for _ in range(20):
        kernel(x, out=x)
    assert (x.asnumpy() == 20).all()


def test_mixed_queues(device, queue):
    x, y = on(queue, numbers(3)), on(usmpy.Queue(device), numbers(3))
    with pytest.raises(
        usmpy.ExecutionPlacementError,
        match=r"add: the arguments do not share one queue\n  x: shape \(3,\), device",
    ):
        make()(x, y)
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"x = x.to_device\(queue\)"):
        make()(x, 1, queue=y.queue)
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"z = z.to_device\(x.queue\)"):
        make()(x, 1, out=y)
    assert make()(x, 1, queue=queue).queue == queue
    with pytest.raises(TypeError, match="queue is a str; a Queue or None"):
        make()(x, 1, queue="host")


def test_one_kernel_in_several_queues(device, queue):
    kernel = make()
    for one in (queue, usmpy.Queue(device), queue):
        assert kernel(on(one, numbers(9)), 1).queue == one


def test_an_input_that_a_raw_output_overwrites(queue):
    flip = make("T x", "raw T z", "z[n - 1 - i] = x", "flip")
    for _ in range(2):
        n = numbers(1000)
        y = on(queue, n)
        assert flip(y, out=y) is y
        assert y.asnumpy().tolist() == n[::-1].tolist()


# Without outputs.


def test_a_kernel_without_outputs_writes_to_its_raw_inputs(queue):
    operation = "y[at] = x; atomic_add(&count[at], 1)"
    scatter = usmpy.ElementwiseKernel("T x, int64 at, raw T y, raw int32 count", "", operation, "scatter")
    for turn in range(2):  # the second time with what was seen before
        x, at = numbers(6), np.array([8, 0, 3, 3, 5, 1])
        y, count = on(queue, np.zeros(9, x.dtype)), on(queue, np.zeros(9, "int32"))
        assert scatter(on(queue, x), on(queue, at), y, count) is None
        assert y.asnumpy()[at[[0, 1, 4, 5]]].tolist() == x[[0, 1, 4, 5]].tolist()
        assert count.tolist() == np.bincount(at, minlength=9).tolist(), turn
    mask = on(queue, np.array([True] + [False] * 5))
    count[...] = 0
    assert scatter(on(queue, x), on(queue, at), y, count, where=mask) is None
    assert count.tolist() == [0] * 8 + [1]
    fill = usmpy.ElementwiseKernel("raw int32 y, int32 v", "", "y[i] = v * (int)n", "fill")
    assert fill(count, 3, size=4) is None
    assert count.tolist() == [12, 12, 12, 12, 0, 0, 0, 0, 1]
    assert fill(count, 3, size=0) is None
    with pytest.raises(ValueError, match=r"raw arrays or numbers; pass size=$"):
        fill(count, 3)


def test_what_is_written_to_without_outputs_may_be_read_as_well(queue):
    flip = usmpy.ElementwiseKernel("T x, raw T y", "", "y[n - 1 - i] = x", "flip")
    for _ in range(2):
        n = numbers(1000)
        y = on(queue, n)
        assert flip(y, y) is None  # x is copied first
        assert y.asnumpy().tolist() == n[::-1].tolist()
    add = usmpy.ElementwiseKernel("T x, const raw T table, raw T y", "", "y[i] = x + table[n - 1 - i]", "add")
    for x in (n, n[::2]):  # the table may be read-only, have gaps, and be what is written to
        table = on(queue, n)[:: 1000 // len(x)]
        table.flags.writable = False
        y = on(queue, np.zeros_like(x))
        assert add(on(queue, x), table, y) is None
        assert y.asnumpy().tolist() == (x + x[::-1]).tolist()
    y = on(queue, n)
    assert add(on(queue, n), y, y) is None
    assert y.asnumpy().tolist() == (n + n[::-1]).tolist()


def test_writes_without_outputs_are_ordered(device, queue):
    """The raw inputs are read and written: other work on the same memory is ordered before and after."""
    other = usmpy.Queue(device, in_order=False)
    step = usmpy.ElementwiseKernel("raw int32 y", "", "y[i] = 2 * y[i] + 1", "step")
    y = on(other, np.zeros(5000, "int32"))
    event = other.barrier()
    for k in range(6):
        assert step(y, size=5000, depends=event) is None
        assert y[k].item() == 2 ** (k + 1) - 1


def test_what_cannot_be_written_to_without_outputs(queue):
    double = usmpy.ElementwiseKernel("T x, raw T y, raw T z", "", "y[i] = x; z[i] = 2 * x", "double_")
    x, y, z = (on(queue, numbers(8)) for _ in range(3))
    double(x, y, z)
    before = y.tolist()
    fixed = y[:]
    fixed.flags.writable = False
    wide = on(queue, numbers(16))
    for arguments, match in (
        ((x, fixed, z), "argument 'y' of double_ is read-only; .* declare it as const"),
        ((x, y, wide[::2]), "argument 'z' of double_ is written to, and is not contiguous"),
        ((x, y, usmpy.broadcast_to(z[0], (8,))), "argument 'z' of double_ is read-only"),
        ((x, wide[:8], wide[4:12]), "argument 'z' of double_ shares memory with 'y'"),
    ):
        with pytest.raises(ValueError, match=match):
            double(*arguments)
    with pytest.raises(TypeError, match="double_ has no outputs; out=None is allowed"):
        double(x, y, z, out=y)
    with pytest.raises(TypeError, match="was given for a raw array; a USMArray"):
        double(x, 1, z)
    with pytest.raises(ValueError, match="outputs is empty, and inputs has no raw array to write to"):
        usmpy.ElementwiseKernel("T x, const raw T y", "", "y[i] = x")
    assert y.tolist() == before


# Bad input.


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "match"),
    [
        ("T x, y", "T z", ValueError, "inputs: 'y' is not a type and a name"),
        ("T x,", "T z", ValueError, "inputs: '' is not a type and a name"),
        ("T x", "", ValueError, "outputs is empty"),
        ("T i", "T z", ValueError, "inputs: the name 'i' is reserved; so are i, n"),
        ("i x", "T z", ValueError, "inputs: 'i' is reserved and no type"),
        ("T _x", "T z", ValueError, "the name '_x' is reserved"),
        ("T usm_x", "T z", ValueError, "the name 'usm_x' is reserved"),
        ("T x", "T x", ValueError, "two parameters are called 'x'"),
        ("T x", "T T", ValueError, "'T' is a parameter and a type variable"),
        ("T for", "T z", ValueError, "'for' is no name"),
        ("T 2x", "T z", ValueError, "'2x' is no name"),
        ("raw raw T x", "T z", ValueError, "repeats a word"),
        ("fast T x", "T z", ValueError, "'fast T x' is not a type and a name"),
        ("float31 x", "T z", ValueError, "inputs: 'float31' is not a type of kernels; one letter, such as T"),
        ("bfloat16 x", "T z", ValueError, "'bfloat16' is not a type of kernels"),
        (b"T x", "T z", TypeError, "inputs is a bytes; a str"),
        ("T x", None, TypeError, "outputs is a NoneType; a str"),
    ],
)
def test_bad_declarations(inputs, outputs, error, match):
    with pytest.raises(error, match=match):
        usmpy.ElementwiseKernel(inputs, outputs, "z = x")


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"name": "a b"}, ValueError, "name is 'a b'; an identifier of C"),
        ({"name": 3}, TypeError, "name is an int; a str"),
        ({"operation": 3}, TypeError, "operation is an int; a str"),
        ({"preamble": b""}, TypeError, "preamble is a bytes; a str"),
        ({"operation": "z = x\0"}, ValueError, "operation contains a null character"),
    ],
)
def test_bad_texts(keywords, error, match):
    with pytest.raises(error, match=match):
        make(**keywords)


BROKEN = [
    ("z = x +\n  absent", "", r"(?s)add: line 2 of operation: absent.*absent"),
    ("z = x +", "", r"add: line 1 of operation: z = x \+"),
    ("T t = x;\nz = (T)\n\n", "", r"add: line 2 of operation: z = \(T\)"),
    ("z = x +;", "", r"add: line 1 of operation: z = x \+;"),
    ("float4 v; z = x", "", "(?s)line 1 of operation.*float4: the portable language has no vector types"),
    ("z = f(x)", "T g(T x) { return x; }\nT f(T x) { return y; }", r"line 2 of preamble: T f\(T x\)"),
]


def test_broken_operations(backend, queue):
    for operation, preamble, match in drawn(backend, BROKEN):
        kernel = make(operation=operation, preamble=preamble)
        x = on(queue, numbers(3))
        out = usmpy.zeros(3, dtype="float32", queue=queue)
        for _ in range(2):
            with pytest.raises(usmpy.BuildError, match=match) as caught:
                kernel(x, x, out=out)
            assert caught.value.log
            caught.value.__traceback__ = None
        assert out.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("operation", "match"),
    [
        ("z = (x + y", r"<operation>:1: error: '\(' is not closed"),
        ("z = x;\n}", "<operation>:2: error: '}' closes nothing"),
        ("z = x; /* and", "<operation>:1: error: the comment is not closed"),
        ("z = x[0)", r"'\)' closes nothing"),
    ],
)
def test_brackets_that_are_not_closed(operation, match):
    with pytest.raises(usmpy.BuildError, match=match):
        make(operation=operation)
    make(operation="z = x; /* ( */ // [\n printf(\"(\"); char c = '{'")


def test_bad_arguments(queue):
    kernel = make()
    x = on(queue, numbers((2, 3)))
    out = usmpy.zeros((2, 3), dtype="float32", queue=queue)
    for args, keywords, error, match in [
        (
            (x,),
            {},
            TypeError,
            r"add takes 2 arguments \(T x, T y\) or 3, with the outputs, by position; 1 was",
        ),
        ((x, x, out), {"out": out}, TypeError, r"add takes 2 arguments \(T x, T y\) by position; 3 were"),
        ((x, "y"), {}, TypeError, "argument 'y' of add: a str was given; .*asarray"),
        ((x, numbers(3)), {}, TypeError, "argument 'y' of add: a numpy.ndarray was given; .*asarray"),
        ((x, None), {}, TypeError, "argument 'y' of add: a NoneType was given"),
        ((x, 1j), {}, TypeError, "argument 'y' of add: a complex was given"),
        ((x, x[:, :2]), {}, ValueError, r"add: the shapes do not broadcast: x \(2, 3\), y \(2, 2\)"),
        (
            (x, usmpy.zeros(3, dtype="complex64", queue=queue)),
            {},
            TypeError,
            r"both are declared as T, .*; pass x.astype\('complex64'\)",
        ),
        (
            (x, usmpy.zeros(3, dtype="bfloat16", queue=queue)),
            {},
            TypeError,
            "'y' of add: a USMArray of bfloat16",
        ),
        ((x, x), {"out": out[0]}, ValueError, r"out \(z\) has the shape \(3,\); the result has \(2, 3\)"),
        ((x, x), {"out": out.astype("int32")}, TypeError, "'x' and 'z' of add: both are declared as T"),
        ((x, x), {"out": numbers((2, 3))}, TypeError, r"out \(z\) is a numpy.ndarray; a USMArray"),
        ((x, x), {"out": (out, out)}, TypeError, r"out has 2 arrays; 1 \(z\) is allowed"),
        ((x, x), {"out": usmpy.broadcast_to(out[0], (2, 3))}, ValueError, r"out \(z\) is read-only"),
        ((x, x), {"where": x}, TypeError, "where is a USMArray of float32; a USMArray of bool"),
        ((x, x), {"where": True}, TypeError, "where is a bool; a USMArray of bool"),
    ]:
        with pytest.raises(error, match=match):
            kernel(*args, out=keywords.pop("out", None), **keywords)
    assert out.tolist() == np.zeros((2, 3)).tolist()
    both = make("T x", "T y, T z", "y = x; z = x")
    with pytest.raises(ValueError, match=r"out \(y\) and out \(z\) share memory"):
        both(x, out=(out, out))
    with pytest.raises(TypeError, match=r"out \(z\) is a USMArray of int32; float32 is allowed"):
        make("T x", "float32 z", "z = x")(x, out=out.astype("int32"))
    with pytest.raises(TypeError, match="argument 'x' of add: an int was given for a raw array"):
        make("raw T x", "T z", "z = x[i]")(3, out=out)
    with pytest.raises(ValueError, match=r"out \(y\) is a raw array, and is not contiguous"):
        make("raw T x", "raw T y", "y[i] = x[i]")(x, out=usmpy.zeros((3, 2), dtype="float32", queue=queue).T)


def test_a_result_that_was_read_only_after_the_first_call(queue):
    kernel = make()
    x = on(queue, numbers(3))
    out = usmpy.zeros(3, dtype="float32", queue=queue)
    kernel(x, x, out=out)
    out.flags.writable = False
    with pytest.raises(ValueError, match=r"out \(z\) is read-only"):
        kernel(x, x, out=out)
