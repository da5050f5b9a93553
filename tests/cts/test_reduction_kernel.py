"""ReductionKernel: values, the same bits on every device and in every layout, and bad input."""

import numpy as np
import pytest
from backends import drawn
from kernel_calls import OPTIONS, on, twice, whole

import usmpy
from usmpy._kernels.reduction import block_length

pytestmark = pytest.mark.usefixtures("quick_options")


def make(
    inputs="T x", outputs="T y", map="x", reduce="a + b", post="y = a", identity=0, name="total", **more
):
    return usmpy.ReductionKernel(inputs, outputs, map, reduce, post, identity, name, **{**OPTIONS, **more})


def combine(values):
    """The documented order of a sum of float32, by NumPy's single additions."""
    block = block_length(len(values))
    parts = []
    for begin in range(0, len(values), block):
        part = values[begin : begin + block]
        lanes = list(part[:32])
        for k, value in enumerate(part[32:]):
            lanes[k % 32] = np.float32(lanes[k % 32] + value)
        half, used = 16, len(lanes)
        while half:
            for t in range(half):
                if t + half < used:
                    lanes[t] = np.float32(lanes[t] + lanes[t + half])
            half //= 2
        parts.append(lanes[0])
    return parts[0] if len(parts) == 1 else combine(np.array(parts, "float32"))


SHAPES = [
    (1,),
    (31,),
    (32,),
    (33,),
    (1023,),
    (1024,),
    (1025,),
    (5000,),
    (3, 5),
    (40, 33),
    (3, 1500),
    (1500, 3),
]
SHAPES += [(70, 90), (4, 5, 6), (2, 3, 4, 5), (2, 40, 3)]


def test_sums(backend, queue):
    for shape in drawn(backend, SHAPES):
        check_sums(queue, shape)


def check_sums(queue, shape):
    kernel = make(options="")
    a = whole(shape)
    axes = [None, 0, -1, *([(0, -1), (1, 0)] if len(shape) > 1 else []), ()]
    for order in "CF":
        x = usmpy.asarray(a, queue=queue, order=order, copy=True)
        for axis in axes:
            for keepdims in (False, True):
                result = twice(kernel, x, axis=axis, keepdims=keepdims)
                wanted = a.sum(axis=axis, keepdims=keepdims)
                assert result.shape == wanted.shape
                assert np.array_equal(result.asnumpy(), wanted), (shape, axis, keepdims)


@pytest.mark.parametrize("shape", [(33,), (1025,), (5000,), (300, 40), (40, 1100)], ids=str)
def test_the_length_alone_decides_the_bits(queue, shape):
    kernel = make()
    a = np.random.default_rng(8).standard_normal(shape).astype("float32")
    if len(shape) == 1:
        wanted = combine(a)
        strided = np.zeros((shape[0], 3), "float32")
        strided[:, 1] = a
        assert twice(kernel, on(queue, a)).item() == wanted
        assert twice(kernel, on(queue, strided)[:, 1]).item() == wanted
        assert twice(kernel, on(queue, a[::-1])[::-1]).item() == wanted
        return
    rows = np.array([combine(row) for row in a])
    columns = np.array([combine(column) for column in a.T])
    for x in (on(queue, a), on(queue, a.T).T, on(queue, np.repeat(a, 2, 1))[:, ::2]):
        assert np.array_equal(twice(kernel, x, axis=1).asnumpy(), rows)
        assert np.array_equal(twice(kernel, x, axis=0).asnumpy(), columns)
        assert twice(kernel, x).item() == combine(a.reshape(-1))


def test_blocks():
    assert [block_length(n) for n in (1, 1024, 1025, 2**22, 2**22 + 1, 2**24, 10**9)] == [
        *(1024, 1024, 1024, 1024, 1056, 4096),
        244160,
    ]
    assert all(-(-n // block_length(n)) <= 4096 for n in (10**6, 2**22 + 1, 10**9, 2**40))


@pytest.mark.only_on("host-accessible")  # drivers in software would take minutes
def test_a_long_axis(queue):
    n = 4096 * 1024 + 77
    x = usmpy.full(n, 3, dtype="int32", queue=queue)
    assert make()(x).item() == 3 * n


def test_types(backend, device, queue):
    for dtype in drawn(backend, ["bool", "int8", "uint16", "int32", "uint64", "float32", "float64"]):
        if dtype != "float64" or device.has_fp64:
            check_types(queue, dtype)


def check_types(queue, dtype):
    a = (whole((50, 7)) % 2).astype(dtype)
    wide = make("T x", "int64 y", "x", reduce_type="int64")
    assert np.array_equal(twice(wide, on(queue, a), axis=0).asnumpy(), a.sum(axis=0, dtype="int64"))
    largest = make("T x", "T y", "x", "a > b ? a : b", identity=None, name="largest")
    result = twice(largest, on(queue, a), axis=1)
    assert result.dtype == dtype
    assert np.array_equal(result.asnumpy(), a.max(axis=1))
    same = make("T x", "bool y", "x == 1", "a && b", "y = a", True, "every", reduce_type=usmpy.bool)
    assert np.array_equal(twice(same, on(queue, a), axis=1).asnumpy(), (a == 1).all(axis=1))


def test_several_inputs_and_outputs(queue):
    a, b = whole((30, 20)), whole(20)
    dot = make("T x, T y, T s", "T z", "s * x * y", post="z = a")
    assert np.array_equal(twice(dot, on(queue, a), on(queue, b), 2, axis=1).asnumpy(), 2 * (a @ b))
    mean = make("T x", "T mean, int64 count", post="mean = a / n; count = n", identity="0")
    average, count = twice(mean, on(queue, a), axis=0)
    assert np.allclose(average.asnumpy(), a.mean(axis=0), rtol=1e-6)
    assert count.tolist() == [30] * 20
    weights = make("raw T w, T x", "T y", "w[i] * x")
    assert np.array_equal(twice(weights, on(queue, b), on(queue, a), axis=1).asnumpy(), a @ b)


PAIR = """
typedef struct { T value; long place; } pair;
pair first(T value, long place) { pair p; p.value = value; p.place = place; return p; }
pair larger(pair a, pair b) { return b.value > a.value || (b.value == a.value && b.place < a.place) ? b : a; }
"""


@pytest.mark.parametrize("shape", [(2500,), (20, 30), (5, 1100)], ids=str)
def test_structs(queue, shape):
    kernel = make(
        "T x",
        "T value, int64 place",
        "first(x, i)",
        "larger(a, b)",
        "value = a.value; place = a.place",
        None,
        "argmax",
        reduce_type="pair",
        preamble=PAIR,
    )
    a = whole(shape)
    for axis in (None, 0, -1):
        value, place = twice(kernel, on(queue, a), axis=axis)
        assert np.array_equal(place.asnumpy(), a.argmax(axis=axis))
        assert np.array_equal(value.asnumpy(), a.max(axis=axis))


def test_nothing_to_reduce(queue):
    x = usmpy.zeros((3, 0, 2), dtype="float32", queue=queue)
    assert make()(x, axis=1).tolist() == [[0, 0]] * 3
    assert make(identity="7")(x).tolist() == 7
    assert make(identity=float("-inf"))(x, axis=(1, 2), keepdims=True).tolist() == [[[-np.inf]]] * 3
    assert make(identity=1.5, post="y = a + n")(x, axis=(0, 1)).tolist() == [1.5, 1.5]
    assert twice(make(), x, axis=0).shape == (0, 2)
    with pytest.raises(ValueError, match="total: no element is reduced, and the kernel has no identity"):
        make(identity=None)(x)
    assert make(identity=None)(x, axis=0).shape == (0, 2)
    assert make("T x", "int64 y", identity=-(2**63), reduce="a")(x, axis=1).tolist()[0] == [-(2**63)] * 2
    assert make("T x", "uint64 y", identity=2**64 - 1, reduce="a")(x, axis=1).tolist()[0] == [2**64 - 1] * 2


def test_where(queue):
    a = whole((30, 40))
    mask = a > 4
    x, where = on(queue, a), on(queue, mask)
    for axis in (None, 0, 1):
        assert np.array_equal(make()(x, axis=axis, where=where).asnumpy(), a.sum(axis=axis, where=mask))
    row = on(queue, mask[0])
    assert np.array_equal(make()(x, axis=1, where=row).asnumpy(), a.sum(axis=1, where=mask[0]))
    with pytest.raises(ValueError, match="total has no identity; where= needs one"):
        make(identity=None)(x, where=where)


def test_out(queue):
    a = whole((6, 50))
    x = on(queue, a)
    big = usmpy.zeros((12, 3), dtype="float32", queue=queue)
    part = big[::-2, 1]
    assert twice(make(), x, axis=1, out=part) is part
    assert np.array_equal(big.asnumpy()[::-2, 1], a.sum(axis=1))
    kept = usmpy.zeros((6, 1), dtype="float32", queue=queue)
    assert make()(x, kept, axis=1, keepdims=True).tolist() == a.sum(axis=1, keepdims=True).tolist()
    assert make()(x, axis=1, out=x[:, 0]).tolist() == a.sum(axis=1).tolist()  # the input is copied first
    with pytest.raises(ValueError, match=r"out \(y\) has the shape \(6,\); the result has \(50,\)"):
        make()(x, axis=0, out=part)
    with pytest.raises(TypeError, match=r"out \(y\) is a USMArray of float32; int64 is allowed"):
        make("T x", "int64 y")(x, axis=1, out=part)


def test_many_axes(queue):
    a = whole((2,) * 11)
    x = on(queue, np.repeat(a, 2, axis=10))[..., ::2]
    axes = (1, 4, 7)
    wanted = a.sum(axis=axes)
    assert np.array_equal(make()(x, axis=axes).asnumpy(), wanted)
    out = usmpy.zeros((2,) * 7 + (4,), dtype="float32", queue=queue)[..., ::-2]
    assert np.array_equal(make()(x, axis=axes, out=out).asnumpy(), wanted)


def test_order_and_placement(device, queue):
    x = on(queue, whole(100))
    kernel = make()
    assert twice(kernel, x, depends=[queue.barrier()]).queue == queue
    other = usmpy.zeros((), dtype="float32", queue=usmpy.Queue(device))
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"y = y.to_device\(x.queue\)"):
        twice(kernel, x, out=other)
    with pytest.raises(TypeError, match="depends is an int"):
        kernel(whole_on(queue), axis=(0, 2), depends=3)


def whole_on(queue):
    return on(queue, whole((3, 4, 5)))


@pytest.mark.parametrize(
    ("axis", "error", "match"),
    [
        (2, usmpy.AxisError, "axis is 2; the arrays have 2 dimensions"),
        (-3, usmpy.AxisError, "axis is -3"),
        ((0, -2), ValueError, r"axis is \(0, -2\), which names an axis twice"),
        (1.0, TypeError, "axis is 1.0; an int"),
        (True, TypeError, "axis is True; an int"),
    ],
)
def test_bad_axes(queue, axis, error, match):
    with pytest.raises(error, match=match):
        make()(on(queue, whole((3, 4))), axis=axis)


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"inputs": "raw T x"}, ValueError, "inputs has no array that is not raw"),
        ({"inputs": ""}, ValueError, "inputs has no array that is not raw"),
        ({"inputs": "T a"}, ValueError, "the name 'a' is reserved; so are a, b, i, n"),
        ({"outputs": ""}, ValueError, "outputs is empty"),
        ({"outputs": "raw T y"}, ValueError, "outputs: 'raw T y' is raw"),
        ({"map": " "}, ValueError, "map is empty"),
        ({"reduce": ""}, ValueError, "reduce is empty"),
        ({"reduce": 3}, TypeError, "reduce is an int; a str"),
        ({"identity": [0]}, TypeError, "identity is a list; a number, an expression or None"),
        ({"reduce_type": 3}, TypeError, "reduce_type is an int; a str, a DType or None"),
        ({"map": "(x"}, usmpy.BuildError, r"<map>:1: error: '\(' is not closed"),
        ({"post": "y = a;\n}"}, usmpy.BuildError, "<post>:2: error: '}' closes nothing"),
    ],
)
def test_bad_declarations(keywords, error, match):
    with pytest.raises(error, match=match):
        make(**keywords)


BROKEN = [
    ({"map": "x +\n absent"}, "total: line 2 of map: absent"),
    ({"map": "x *"}, r"total: line 1 of map: x \*"),
    ({"reduce": "a +"}, r"total: line 1 of reduce: a \+"),
    ({"post": "y = a;\ny ="}, "total: line 2 of post: y ="),
    ({"identity": "-"}, "total: line 1 of identity: -"),
    ({"reduce": "a + c"}, r"total: line 1 of reduce: a \+ c"),
    ({"post": "y = a;\ny = d;"}, "total: line 2 of post: y = d;"),
    ({"identity": "zero"}, "total: line 1 of identity: zero"),
]


def test_broken_texts(backend, queue):
    for keywords, match in drawn(backend, BROKEN):
        out = usmpy.ones((), dtype="float32", queue=queue)
        with pytest.raises(usmpy.BuildError, match=match) as caught:
            make(**keywords)(on(queue, whole(10)), out=out)
        caught.value.__traceback__ = None
        assert out.item() == 1


def test_bad_arguments(queue):
    x = on(queue, whole(10))
    for args, error, match in [
        ((), TypeError, r"total takes 1 argument \(T x\) or 2, with the outputs, by position; 0 were given"),
        ((whole(3),), TypeError, "argument 'x' of total: a numpy.ndarray was given"),
        ((3,), ValueError, "total: all inputs are raw arrays or numbers; one has to be an array"),
        (
            (usmpy.zeros(3, dtype="bfloat16", queue=queue),),
            TypeError,
            "'x' of total: a USMArray of bfloat16",
        ),
    ]:
        with pytest.raises(error, match=match):
            make()(*args)
    with pytest.raises(TypeError, match="reduce_type of total: bfloat16 was given"):
        make(reduce_type="bfloat16")(x)
    assert repr(make()) == "<ReductionKernel total(T x) -> T y>"
    assert make().name == "total"
