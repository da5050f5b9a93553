"""Creation functions against NumPy: shapes, dtypes, sequences, nested lists, where results land."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from dtypes import DTYPES
from ids import steady

import usmpy

STORED = ["complex32", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"]
STORED += [
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
]
SHAPES = [(), 0, 5, (0,), (3, 0, 2), (2, 3), (1, 1, 4)]


def same(x, n):
    assert type(x) is usmpy.USMArray
    assert x.shape == n.shape
    assert x.dtype == n.dtype
    assert x.flags.c_contiguous
    assert x.flags.writable
    np.testing.assert_array_equal(x.asnumpy(), n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_ones_full_and_eye(queue, dtype):
    for shape in SHAPES:
        same(usmpy.zeros(shape, dtype=dtype, queue=queue), np.zeros(shape, dtype))
        same(usmpy.ones(shape, dtype=dtype, queue=queue), np.ones(shape, dtype))
        same(usmpy.full(shape, True, dtype=dtype, queue=queue), np.full(shape, True, dtype))
        assert usmpy.empty(shape, dtype=dtype, queue=queue).shape == np.empty(shape).shape
    for rows, columns, k in itertools.product(
        (0, 1, 3, 5), (None, 0, 2, 7), (-9, -2, 0, 1, 9, -(2**63), 2**63)
    ):
        x = usmpy.eye(rows, columns, k=k, dtype=dtype, queue=queue)
        same(x, np.eye(rows, columns, max(min(k, 100), -100), dtype))


@pytest.mark.parametrize("dtype", STORED)
def test_types_without_numbers_can_be_zero(queue, dtype):
    x = usmpy.zeros(9, dtype=dtype, queue=queue)
    out = bytearray(x.nbytes)
    queue.fill(out, 1).wait()
    queue.memcpy(out, x).wait()
    assert not any(out)
    assert x.dtype == dtype
    for make in (
        lambda: usmpy.ones(3, dtype=dtype, queue=queue),
        lambda: usmpy.full(3, 1.0, dtype=dtype, queue=queue),
        lambda: usmpy.arange(3, dtype=dtype, queue=queue),
        lambda: usmpy.linspace(0, 1, 3, dtype=dtype, queue=queue),
        lambda: usmpy.asarray([1.0], dtype=dtype, queue=queue),
    ):
        with pytest.raises(TypeError, match=dtype):
            make()


def test_default_types(device, queue):
    real = "float64" if device.has_fp64 else "float32"
    for x in (usmpy.zeros(1, queue=queue), usmpy.eye(1, queue=queue), usmpy.linspace(0, 1, 2, queue=queue)):
        assert x.dtype == real
    for value, dtype in ((True, "bool"), (1, "int64"), (1.0, real)):
        assert usmpy.full(1, value, queue=queue).dtype == dtype
        assert usmpy.asarray(value, queue=queue).dtype == dtype
        assert usmpy.asarray([[value]], queue=queue).dtype == dtype
    assert usmpy.full(1, 1j, queue=queue).dtype == ("complex128" if device.has_fp64 else "complex64")
    assert usmpy.asarray([], queue=queue).dtype == real
    assert usmpy.arange(1.0, queue=queue).dtype == real


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_like_functions_take_everything_from_their_model(queue, usm_type):
    base = usmpy.USMArray((4, 6), "int16", usm_type=usm_type, queue=queue)
    base[...] = 1
    for model in (base, base.T, base[::2, ::-3], base[0]):
        for make in (
            usmpy.empty_like,
            usmpy.zeros_like,
            usmpy.ones_like,
            lambda x, **more: usmpy.full_like(x, 7, **more),
        ):
            x = make(model)
            assert (x.shape, x.dtype, x.usm_type) == (model.shape, "int16", usm_type)
            assert x.queue is queue
            expected = np.empty_like(np.empty((4, 6), "int16").T if model is base.T else model.asnumpy())
            assert x.strides == tuple(step // 2 for step in expected.strides)  # the order of the model's axes
            for order, flags in (("C", ["C"]), ("F", ["F"]), ("A", ["F" if model.flags.fnc else "C"])):
                assert make(model, order=order).flags[flags[0]]
    assert usmpy.zeros_like(base).asnumpy().any() == False  # noqa: E712
    assert usmpy.full_like(base, 7)[3, 5].item() == 7


def test_like_functions_with_other_wishes(device, queue):
    model = usmpy.zeros((2, 2), dtype="int8", queue=queue)
    other = usmpy.Queue(device)
    assert usmpy.ones_like(model, dtype="float32").dtype == "float32"
    assert usmpy.ones_like(model, queue=other).queue is other
    assert usmpy.ones_like(model, device=other.device).queue == other
    assert usmpy.ones_like(model, usm_type="host").usm_type == "host"


# arange.

RANGES = [
    (5,),
    (0,),
    (-3,),
    (2, 7),
    (7, 2),
    (7, 2, -1),
    (7, 2, -2),
    (0, 10, 3),
    (0, 9, 3),
    (-5, 5, 4),
    (5, -5, -4),
    (3, 3),
    (0, 1, 100),
    (0.0, 1.0, 0.25),
    (1.0, 0.0, -0.25),
    (0, 1, 0.1),
    (0.5, 5),
    (5.0,),
    (-1.5, 1.5, 0.75),
    (10, 0, -2.5),
]


@pytest.mark.parametrize("args", RANGES, ids=repr)
def test_arange(queue, args):
    integral = all(isinstance(a, int) for a in args)
    x, n = usmpy.arange(*args, queue=queue), np.arange(*args)
    assert x.dtype == ("int64" if integral else x.dtype)
    assert x.shape == n.shape
    np.testing.assert_allclose(x.asnumpy(), n, rtol=1e-15)
    if integral:
        assert x.tolist() == list(range(*args))


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_arange_of_every_dtype(queue, dtype):
    for args in ((20,), (1, 100, 7), (100, 1, -9)):
        x = usmpy.arange(*args, dtype=dtype, queue=queue)
        assert x.dtype == dtype
        np.testing.assert_array_equal(x.asnumpy(), np.arange(*args).astype(dtype))
    if np.dtype(dtype).kind != "u":
        assert usmpy.arange(-3, 3, dtype=dtype, queue=queue).asnumpy().tolist() == [-3, -2, -1, 0, 1, 2]


def test_arange_of_bfloat16(queue):
    x = usmpy.arange(0, 300, dtype="bfloat16", queue=queue).asnumpy()
    np.testing.assert_array_equal(x, np.arange(300).astype(ml_dtypes.bfloat16))


def test_arange_at_the_edges_of_integers(queue):
    assert usmpy.arange(2**63 - 2, 2**63, queue=queue).tolist() == [2**63 - 2, 2**63 - 1]
    assert usmpy.arange(-(2**63), -(2**63) + 2, queue=queue).tolist() == [-(2**63), -(2**63) + 1]
    assert usmpy.arange(2**64 - 3, 2**64, dtype="uint64", queue=queue).tolist() == [
        2**64 - 3,
        2**64 - 2,
        2**64 - 1,
    ]
    assert usmpy.arange(2**64 - 1, 0, -(2**63), dtype="uint64", queue=queue).tolist() == [
        2**64 - 1,
        2**63 - 1,
    ]
    assert usmpy.arange(-128, 128, dtype="int8", queue=queue).tolist() == list(range(-128, 128))
    assert usmpy.arange(-(2**63), 2**63 - 1, 2**62, queue=queue).tolist() == [k * 2**62 for k in range(-2, 2)]
    for args, dtype in (
        ((129,), "int8"),
        ((-1, 3), "uint8"),
        ((2**63, 2**63 + 1), "int64"),
        ((300, 0, -1), "uint8"),
    ):
        with pytest.raises(OverflowError, match=dtype):
            usmpy.arange(*args, dtype=dtype, queue=queue)


def test_arange_is_exact_where_addition_would_not_be(queue):
    x = usmpy.arange(0, 100_000, 0.1, dtype="float64", queue=queue)
    assert x.size == 1_000_000
    assert x[-1].item() == pytest.approx(99_999.9, rel=1e-15)
    y = usmpy.arange(200_001, dtype="float32", queue=queue)
    np.testing.assert_array_equal(y.asnumpy(), np.arange(200_001, dtype="float32"))


def test_arange_takes_numpys_numbers(queue):
    x = usmpy.arange(np.int8(1), np.int64(7), np.uint8(2), queue=queue)
    assert (x.tolist(), x.dtype == "int64") == ([1, 3, 5], True)
    assert usmpy.arange(np.float32(0.5), 3, queue=queue).tolist() == [0.5, 1.5, 2.5]


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        ((0, 5, 0), ValueError, "step is 0"),
        ((0, 5, 0.0), ValueError, "step is 0"),
        ((float("inf"),), ValueError, "finite"),
        ((float("nan"),), ValueError, "finite"),
        (("5",), TypeError, "stop is '5'"),
        ((1j,), TypeError, "stop"),
        ((0, 5, "1"), TypeError, "step is '1'"),
        (([1],), TypeError, "stop"),
    ],
    ids=repr,
)
def test_arange_of_invalid_arguments(queue, args, error, match):
    with pytest.raises(error, match=match):
        usmpy.arange(*args, queue=queue)


def test_arange_of_bool_is_refused(queue):
    with pytest.raises(TypeError, match="dtype is bool"):
        usmpy.arange(2, dtype="bool", queue=queue)


# linspace.

LINES = [
    (0, 1, 5),
    (1, 0, 5),
    (0, 1, 1),
    (0, 1, 0),
    (0, 1, 2),
    (-3, 7.5, 11),
    (5, 5, 4),
    (0, 10, 3),
    (1e300, -1e300, 3),
]


@pytest.mark.parametrize("args", LINES, ids=repr)
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(queue, args, endpoint):
    with np.errstate(over="ignore"):
        n = np.linspace(*args, endpoint=endpoint)
    x = usmpy.linspace(*args, endpoint=endpoint, queue=queue)
    assert x.shape == n.shape
    if np.isfinite(n).all():
        np.testing.assert_allclose(x.asnumpy(), n, rtol=1e-15, atol=1e-15)
    if endpoint and args[2] > 1:
        assert x[-1].item() == args[1]
    if args[2] > 0:
        assert x[0].item() == args[0]


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "complex128", "int32", "uint8", "int64"]
)
def test_linspace_of_dtypes(queue, dtype):
    for start, stop, num in ((0, 100, 11), (0, 7, 15), (3, 250, 9)):
        n = np.linspace(start, stop, num)
        x = usmpy.linspace(start, stop, num, dtype=dtype, queue=queue)
        assert x.dtype == dtype
        np.testing.assert_allclose(x.asnumpy(), n.astype(dtype), rtol=2e-3 if dtype == "float16" else 1e-6)


def test_linspace_of_complex_limits(queue):
    x = usmpy.linspace(1 + 2j, -3, 7, queue=queue)
    np.testing.assert_allclose(x.asnumpy(), np.linspace(1 + 2j, -3, 7), rtol=1e-15)
    assert x.dtype == "complex128"
    with pytest.raises(TypeError, match="complex"):
        usmpy.linspace(0, 1j, 3, dtype="float64", queue=queue)


def test_a_long_linspace_ends_at_its_end(queue):
    x = usmpy.linspace(0, 0.1, 1_000_003, dtype="float32", queue=queue)
    assert x[-1].item() == np.float32(0.1)
    assert np.diff(x.asnumpy()).min() >= 0


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((0, 1, -1), ValueError),
        ((0, 1, 2.0), TypeError),
        ((0, 1, None), TypeError),
        (("0", 1, 2), TypeError),
        ((0, [1], 2), TypeError),
    ],
)
def test_linspace_of_invalid_arguments(queue, args, error):
    with pytest.raises(error, match=r"num|start|stop"):
        usmpy.linspace(*args, queue=queue)


# asarray.

NESTED = [
    5,
    True,
    1.5,
    2j,
    [],
    [[]],
    [[], []],
    [1, 2, 3],
    (1, 2.5),
    [[True, False]],
    [[1, 2], [3, 4j]],
    [[[1]], [[2]]],
    range(5),
    [range(3), (1, 2, 3)],
    [np.float32(1.5), 2],
    [np.array(3), 4],
    [2**63 - 1, -(2**63)],
]


@pytest.mark.parametrize("nested", NESTED, ids=repr)
def test_nested_numbers(queue, nested):
    n = np.asarray(nested)
    x = usmpy.asarray(nested, queue=queue)
    assert x.shape == n.shape
    typed = [item.dtype.name for item in nested if hasattr(item, "dtype")] if isinstance(nested, list) else []
    assert x.dtype.name == (typed or [n.dtype.name])[0]
    np.testing.assert_array_equal(x.asnumpy(), n)
    for dtype in ("complex128", "float32") if n.dtype.kind != "c" else ("complex64",):
        np.testing.assert_array_equal(
            usmpy.asarray(nested, dtype=dtype, queue=queue).asnumpy(), n.astype(dtype)
        )


@pytest.mark.parametrize(
    "nested", [[1, [2]], [[1], 2], [[1, 2], [3]], [[[1]], [2]], [[], 1], [[], [[]]], [[[]], []]], ids=repr
)
def test_ragged_lists(queue, nested):
    with pytest.raises(ValueError, match="ragged"):
        usmpy.asarray(nested, queue=queue)


@pytest.mark.parametrize("thing", [None, "text", ["a"], [None], {}, object(), {1, 2}, [b"a"]], ids=steady)
def test_objects_that_are_not_arrays(queue, thing):
    with pytest.raises(TypeError):
        usmpy.asarray(thing, queue=queue)


def test_a_list_that_holds_itself(queue):
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="64"):
        usmpy.asarray(endless, queue=queue)


def test_numbers_that_do_not_fit(queue):
    with pytest.raises(OverflowError):
        usmpy.asarray([2**63], queue=queue)
    with pytest.raises(OverflowError):
        usmpy.asarray([1, 300], dtype="int8", queue=queue)
    with pytest.raises(TypeError, match="int32"):
        usmpy.asarray([1.5], dtype="int32", queue=queue)
    assert usmpy.asarray([2**64 - 1], dtype="uint64", queue=queue).tolist() == [2**64 - 1]


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_lists_in_every_kind_of_memory(queue, usm_type):
    x = usmpy.asarray([[1, 2], [3, 4]], usm_type=usm_type, queue=queue)
    assert x.usm_type == usm_type
    assert x.tolist() == [[1, 2], [3, 4]]


def test_asarray_of_our_own(device, queue):
    x = usmpy.arange(6, queue=queue)
    assert usmpy.asarray(x) is x
    assert usmpy.asarray(x, copy=False) is x
    assert usmpy.asarray(x, dtype="int64", queue=queue, usm_type="device") is x
    copied = usmpy.asarray(x, copy=True)
    assert copied.data_ptr != x.data_ptr
    assert copied.queue is queue
    assert usmpy.asarray(x, dtype="float32").tolist() == [0, 1, 2, 3, 4, 5]
    other = usmpy.Queue(device)
    assert usmpy.asarray(x, queue=other).queue is other
    assert usmpy.asarray(x, usm_type="host").usm_type == "host"
    for wish in ({"dtype": "float32"}, {"usm_type": "host"}):
        with pytest.raises(ValueError, match="copy=False"):
            usmpy.asarray(x, copy=False, **wish)
    with pytest.raises(ValueError, match="copy=False"):
        usmpy.asarray([1, 2], copy=False, queue=queue)
    with pytest.raises(TypeError, match="copy"):
        usmpy.asarray(x, copy=1)


def test_asarray_of_buffers(queue):
    for thing in (bytearray(b"abc"), memoryview(b"abc"), np.frombuffer(b"abc", "uint8")):
        assert usmpy.asarray(thing, queue=queue).tolist() == [97, 98, 99]
    import array

    x = usmpy.asarray(array.array("d", [1, 2]), queue=queue)
    assert (x.dtype == "float64", x.tolist()) == (True, [1, 2])


# Where results land.


def test_device_and_queue(device, queue):
    for kwargs in (
        {"queue": queue},
        {"device": queue},
        {"device": queue.device},
        {"device": queue.device, "queue": queue},
    ):
        assert usmpy.zeros(1, **kwargs).queue is queue or usmpy.zeros(1, **kwargs).queue == queue
    assert usmpy.zeros(1, device=device.filter_string).queue is device.queue
    assert usmpy.zeros(1, device=usmpy.zeros(1, queue=queue)).queue == queue
    for make in (
        lambda **kw: usmpy.zeros(1, **kw),
        lambda **kw: usmpy.arange(1, **kw),
        lambda **kw: usmpy.linspace(0, 1, 2, **kw),
        lambda **kw: usmpy.eye(1, **kw),
        lambda **kw: usmpy.full(1, 1, **kw),
        lambda **kw: usmpy.asarray([1], **kw),
        lambda **kw: usmpy.USMArray(1, **kw),
        lambda **kw: usmpy.zeros_like(usmpy.zeros(1, queue=queue), **kw),
    ):
        assert make(queue=queue).queue is queue
        assert make(device=queue.device, usm_type="shared").usm_type == "shared"
        with pytest.raises(ValueError, match="disagree"):
            make(device=device, queue=queue)


def test_sequences_of_small_types_are_computed_in_double_precision(device, queue):
    """Just above the middle between two numbers of the type, where float32 would be the middle itself."""
    if not device.has_fp64:
        return
    for dtype, tie in (("float16", 2**-11), ("bfloat16", 2**-8)):
        start, above = 1 + tie + 2**-30, 1 + 2 * tie
        x = usmpy.linspace(start, start + 1, 2, dtype=dtype, queue=queue)
        assert x.tolist()[0] == above
        x = usmpy.arange(start, 3, 0.5, dtype=dtype, queue=queue)
        assert x.tolist()[0] == above
    n = np.linspace(-1, 3, 1003)
    x = usmpy.linspace(-1, 3, 1003, dtype="float16", queue=queue)
    np.testing.assert_array_equal(x.asnumpy(), n.astype("float16"))


def test_constants():
    assert (usmpy.pi, usmpy.e, usmpy.inf, usmpy.newaxis) == (math.pi, math.e, math.inf, None)
    assert math.isnan(usmpy.nan)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_copies_by_asarray_keep_the_kind_of_memory(device, queue, kind):
    if not getattr(device, f"has_usm_{kind}"):
        return
    x = usmpy.ones((2, 3), dtype="int32", usm_type=kind, queue=queue)
    for keywords in ({"dtype": "int8"}, {"order": "F"}, {"copy": True}):
        assert usmpy.asarray(x, **keywords).usm_type == kind
    assert usmpy.asarray(np.ones(3, "int32"), dtype="int8", queue=queue).usm_type == "device"
