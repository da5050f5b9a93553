"""ScanKernel: values, the same bits on every device and in every layout, and bad input."""

import numpy as np
import pytest
from backends import drawn
from kernel_calls import OPTIONS, on, twice, whole

import usmpy

pytestmark = pytest.mark.usefixtures("quick_options")


def make(inputs="T x", outputs="T y", map="x", scan="a + b", post=None, identity=0, name="running", **more):
    return usmpy.ScanKernel(inputs, outputs, map, scan, post, identity, name, **{**OPTIONS, **more})


def accumulate(values):
    """The documented order of a running sum of float32: blocks of 256, and the scan of their totals."""
    blocks = [values[begin : begin + 256] for begin in range(0, len(values), 256)]
    totals = np.array([np.add.accumulate(block, dtype="float32")[-1] for block in blocks], "float32")
    before = [] if len(blocks) == 1 else accumulate(totals)
    found = [np.add.accumulate(blocks[0], dtype="float32")]
    for k, block in enumerate(blocks[1:]):
        start = np.concatenate([before[k : k + 1], block])
        found.append(np.add.accumulate(start, dtype="float32")[1:])
    return np.concatenate(found)


SHAPES = [
    (1,),
    (2,),
    (255,),
    (256,),
    (257,),
    (512,),
    (3000,),
    (3, 5),
    (40, 300),
    (300, 40),
    (4, 5, 6),
    (2, 600, 3),
]


def test_sums(backend, queue):
    for shape in drawn(backend, SHAPES):
        check_sums(queue, shape)


def check_sums(queue, shape):
    kernel = make(options="")
    a = whole(shape)
    for order in "CF":
        x = usmpy.asarray(a, queue=queue, order=order, copy=True)
        for axis in range(len(shape)):
            wanted = a.cumsum(axis=axis)
            before = np.zeros_like(wanted.take([0], axis=axis))
            initial = np.concatenate([before, wanted], axis=axis)
            assert np.array_equal(twice(kernel, x, axis=axis).asnumpy(), wanted)
            assert np.array_equal(
                twice(kernel, x, axis=axis - len(shape), include_initial=True).asnumpy(), initial
            )
            exclusive = initial.take(range(shape[axis]), axis=axis)
            assert np.array_equal(twice(kernel, x, axis=axis, exclusive=True).asnumpy(), exclusive)
    if len(shape) == 1:
        assert np.array_equal(twice(kernel, x).asnumpy(), wanted)


@pytest.mark.parametrize("shape", [(257,), (3000,), (70000,), (300, 5), (5, 700)], ids=str)
def test_the_length_alone_decides_the_bits(queue, shape):
    kernel = make()
    a = np.random.default_rng(8).standard_normal(shape).astype("float32")
    for axis in range(len(shape)):
        wanted = np.apply_along_axis(accumulate, axis, a)
        every = (slice(None, None, -2),) * len(shape)
        spread = np.repeat(a[(slice(None, None, -1),) * len(shape)], 2, axis=axis)
        for x in (on(queue, a), usmpy.asarray(a, queue=queue, order="F", copy=True)):
            assert np.array_equal(twice(kernel, x, axis=axis).asnumpy(), wanted)
            both = twice(kernel, x, axis=axis, include_initial=True).asnumpy()
            assert np.array_equal(both.take(range(1, shape[axis] + 1), axis=axis), wanted)
        if len(shape) == 1:
            assert np.array_equal(twice(kernel, on(queue, spread)[every]).asnumpy(), wanted)


def test_types(backend, device, queue):
    for dtype in drawn(backend, ["bool", "int8", "uint16", "int64", "float64"]):
        if dtype != "float64" or device.has_fp64:
            check_types(queue, dtype)


def check_types(queue, dtype):
    a = (whole((300, 3)) % 2).astype(dtype)
    wide = make("T x", "int64 y", scan_type="int64")
    assert np.array_equal(twice(wide, on(queue, a), axis=0).asnumpy(), a.cumsum(axis=0, dtype="int64"))
    largest = make(scan="a > b ? a : b", identity=None)
    result = twice(largest, on(queue, a), axis=1)
    assert result.dtype == dtype
    assert np.array_equal(result.asnumpy(), np.maximum.accumulate(a, axis=1))


PAIR = """
typedef struct { T value; long place; } pair;
pair first(T value, long place) { pair p; p.value = value; p.place = place; return p; }
pair larger(pair a, pair b) { return b.value > a.value ? b : a; }
"""


def test_structs(queue):
    kernel = make(
        "T x",
        "T value, int64 place",
        "first(x, i)",
        "larger(a, b)",
        "value = a.value; place = a.place",
        None,
        scan_type="pair",
        preamble=PAIR,
    )
    a = np.random.default_rng(5).standard_normal((600, 2)).astype("float32")
    value, place = twice(kernel, on(queue, a), axis=0)
    assert np.array_equal(value.asnumpy(), np.maximum.accumulate(a, axis=0))
    assert np.array_equal(np.take_along_axis(a, place.asnumpy(), 0), value.asnumpy())


def test_several_inputs_and_outputs(queue):
    a, b = whole((3, 400)), whole(400)
    kernel = make("T x, T y, T s", "T total, int64 left", "s * x * y", post="total = a; left = n - 1 - i")
    total, left = twice(kernel, on(queue, a), on(queue, b), 2, axis=1)
    assert np.array_equal(total.asnumpy(), (2 * a * b).cumsum(axis=1))
    assert np.array_equal(left.asnumpy(), np.tile(np.arange(400)[::-1], (3, 1)))
    weights = make("raw T w, T x", "T y, T z", "w[i] * x")
    for result in twice(weights, on(queue, b), on(queue, a), axis=1):
        assert np.array_equal(result.asnumpy(), (a * b).cumsum(axis=1))


def test_no_elements(queue):
    x = usmpy.zeros((3, 0), dtype="float32", queue=queue)
    assert make()(x, axis=1).shape == (3, 0)
    assert twice(make(), x, axis=0).shape == (3, 0)
    assert make(identity=4)(x, axis=1, include_initial=True).tolist() == [[4]] * 3
    assert make()(x, axis=0, include_initial=True).shape == (4, 0)
    assert make(identity=None)(x, axis=1).shape == (3, 0)


def test_where(queue):
    a = whole((5, 300))
    mask = a > 4
    result = make()(on(queue, a), axis=1, where=on(queue, mask))
    assert np.array_equal(result.asnumpy(), np.where(mask, a, 0).cumsum(axis=1))
    with pytest.raises(ValueError, match="running has no identity; where= needs one"):
        make(identity=None)(on(queue, a), axis=1, where=on(queue, mask))


def test_out(queue):
    a = whole((4, 300))
    x = on(queue, a)
    big = usmpy.zeros((8, 302), dtype="float32", queue=queue)
    part = big[::-2, 1:301]
    assert twice(make(), x, axis=1, out=part) is part
    assert np.array_equal(big.asnumpy()[::-2, 1:301], a.cumsum(axis=1))
    assert make()(x, axis=0, out=x) is x
    assert np.array_equal(x.asnumpy(), a.cumsum(axis=0))
    with pytest.raises(ValueError, match=r"out \(y\) has the shape \(4, 300\); the result has \(4, 301\)"):
        make()(x, axis=1, out=part, include_initial=True)


def test_many_axes(queue):
    a = whole((2,) * 11)
    x = on(queue, np.repeat(a, 2, axis=10))[..., ::2]
    every = (slice(None, None, 2),) * 11
    out = usmpy.zeros((4,) * 11, dtype="uint8", queue=queue)
    kernel = make("T x", "uint8 y")
    assert np.array_equal(
        twice(kernel, x.astype("uint8"), axis=4, out=out[every]).asnumpy(), a.cumsum(axis=4)
    )
    assert np.array_equal(out.asnumpy()[every], a.cumsum(axis=4))


def test_order_and_placement(device, queue):
    x = on(queue, whole(300))
    assert make()(x, depends=[queue.barrier()]).queue == queue
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"y = y.to_device\(x.queue\)"):
        make()(x, out=usmpy.zeros(300, dtype="float32", queue=usmpy.Queue(device)))
    with pytest.raises(TypeError, match="depends is an int"):
        make()(x, out=x, depends=3)


@pytest.mark.parametrize(
    ("shape", "keywords", "error", "match"),
    [
        ((3, 4), {}, ValueError, "the arrays have 2 dimensions; pass the axis to scan along"),
        ((), {}, ValueError, "the arrays have 0 dimensions; at least one is needed"),
        ((3,), {"axis": 1}, usmpy.AxisError, "axis is 1; the arrays have 1 dimension$"),
        ((3,), {"axis": (0,)}, TypeError, r"axis is \(0,\); an int or None"),
        ((3,), {"axis": 0.0}, TypeError, "axis is 0.0; an int"),
        ((3,), {"exclusive": True, "include_initial": True}, ValueError, "are both true"),
    ],
)
def test_bad_axes(queue, shape, keywords, error, match):
    with pytest.raises(error, match=match):
        make()(on(queue, whole(shape)), **keywords)


def test_no_identity(queue):
    x = on(queue, whole(3))
    for name in ("exclusive", "include_initial"):
        with pytest.raises(ValueError, match=f"running has no identity; {name}=True needs one"):
            make(identity=None)(x, **{name: True})


BROKEN = [
    ({"map": "x +\n absent"}, "running: line 2 of map: absent"),
    ({"scan": "a + c"}, r"running: line 1 of scan: a \+ c"),
    ({"post": "y = a;\ny = d;"}, "running: line 2 of post: y = d;"),
    ({"identity": "zero"}, "running: line 1 of identity: zero"),
]


def test_broken_texts(backend, queue):
    for keywords, match in drawn(backend, BROKEN):
        with pytest.raises(usmpy.BuildError, match=match) as caught:
            make(**keywords)(on(queue, whole(10)))
        caught.value.__traceback__ = None


def test_bad_declarations():
    with pytest.raises(ValueError, match="outputs is empty"):
        make(outputs="")
    with pytest.raises(ValueError, match="scan is empty"):
        make(scan=" ")
    with pytest.raises(TypeError, match="scan_type is an int; a str, a DType or None"):
        make(scan_type=3)
    with pytest.raises(TypeError, match="outputs is an int; a str"):
        make(outputs=3)
    assert repr(make()) == "<ScanKernel running(T x) -> T y>"
    assert make().name == "running"
