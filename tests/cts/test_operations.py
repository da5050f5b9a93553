"""Elementwise operations of the table csrc/kernels/operations.py, against NumPy."""

import runpy
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from accuracy import NUMPY
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from standard_calls import random_calls, source
from together import together

import usmpy
from usmpy import _core

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "csrc/kernels/operations.py"))
ROWS = {row.name: row for row in TABLE["OPERATIONS"]}
PARTS = {"add", "subtract", "negative", "positive", "round", "conj", "real", "imag", "equal", "not_equal"}
REAL = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def values(dtype, seed):
    """Special values beside each other in all pairs, and random ones."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        special, rest = [False, True], rng.random(500) < 0.5
    elif np.dtype(dtype).kind == "f":
        info = np.finfo(dtype)
        special = [0.0, -0.0, 1, -1, 0.5, -2.5, np.nan, np.inf, -np.inf, info.max, info.min, info.tiny, 3, -7]
        rest = rng.standard_normal(500) * rng.choice([1e-3, 1, 30], 500)
    else:
        info = np.iinfo(dtype)
        special = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, 7, 3, 2, 64, 31, 8, 63, 16]
        rest = rng.integers(0, 120, 500) * (1 if info.min == 0 else rng.choice([-1, 1], 500))
    special = np.array(special, dtype)
    a, b = np.repeat(special, special.size), np.tile(special, special.size)
    rest = rest.astype(dtype)
    return np.concatenate([a, rest]), np.concatenate([b, rest[::-1]])


def put(array, queue):
    return usmpy.asarray(array, queue=queue, copy=True)


def real_type(row, argument, has_fp64=True):
    """What integers are computed as."""
    if argument.itemsize <= 2 and row.name != "divide":
        return "float16" if argument.itemsize == 1 else "float32"
    return "float64" if has_fp64 else "float32"


def expected(row, arguments, has_fp64=True):
    first = arguments[0]
    if row.name == "positive" or (row.name in ("conj", "real") and first.dtype.kind != "c"):
        return first
    if row.name == "round" and first.dtype.kind in "iu":
        return first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if row.promotes and first.dtype.kind in "biu":
            arguments = [x.astype(real_type(row, first, has_fp64)) for x in arguments]
        function = NUMPY.get(row.name, row.name)
        if callable(function):  # of Python's floats
            result = np.vectorize(function, otypes=[arguments[0].dtype])(*arguments)
        else:
            result = getattr(np, function)(*arguments)
        if row.name == "floor_divide" and result.dtype.kind == "f":
            # The standard prefers floor(x / y) of infinite operands; NumPy has Python's NaN and -1.
            infinite = np.isinf(arguments[0]) | np.isinf(arguments[1])
            result = np.where(infinite, np.floor(np.divide(*arguments)), result)
        return result


def takes(row, kind, dtype):
    """Is the operation defined for a type?"""
    if dtype == "bool":
        return row.truth or row.promotes
    return row.expression(kind) is not None or (row.promotes and kind in ("signed", "unsigned"))


def agree(row, result, wanted, arguments):
    result = result.asnumpy()
    assert result.dtype == wanted.dtype
    if row.name not in PARTS and "c" in {x.dtype.kind for x in arguments}:
        # NumPy's loops contract some products. tests/cts/test_semantics.py has the bits, infinities and NaN.
        finite = np.isfinite(wanted) & np.isfinite(result)
        near = 8 * np.finfo(wanted.dtype).eps * abs(wanted[finite])
        assert (abs(result[finite] - wanted[finite]) <= near).all()
        return
    if wanted.dtype.kind != "f" or row.ulps == 0:
        np.testing.assert_array_equal(result, wanted)
        return
    assert (np.isnan(result) == np.isnan(wanted)).all()
    finite = np.isfinite(wanted) & np.isfinite(result)
    near = np.abs(result[finite].astype("f8") - wanted[finite].astype("f8"))
    step = np.spacing(np.abs(wanted[finite])).astype("f8")
    if row.name == "logaddexp":  # near 0 it cancels: the error is that of the larger argument
        step = np.maximum(step, np.spacing(np.abs(np.maximum(*arguments)[finite])).astype("f8"))
    assert (near <= (row.ulps + 1) * step).all(), (near / step).max()
    np.testing.assert_array_equal(result[~finite], wanted[~finite])


def refuses(function, arguments, dtype):
    with pytest.raises(TypeError, match=rf"is not defined for dtype {dtype}, .* are allowed"):
        function(*arguments)


@together("dtype", ["bool", *INTEGERS, *REAL])
@pytest.mark.parametrize("name", ROWS)
def test_numpys_results(name, dtype, queue):
    row, has_fp64 = ROWS[name], queue.device.has_fp64
    if dtype == "float64" and not has_fp64:
        pytest.skip("no float64")
    kind = {"f": "real", "i": "signed", "u": "unsigned", "b": "unsigned"}[np.dtype(dtype).kind]
    a, b = values(dtype, 1)
    if name == "pow" and kind != "real":
        b = np.abs(b.astype("i8")).astype(dtype) % np.array(9, dtype) if dtype != "bool" else b
    arguments = [a, b][: row.inputs]
    function = getattr(usmpy, name)
    if not takes(row, kind, dtype):
        refuses(function, [put(x, queue) for x in arguments], dtype)
        return
    with np.errstate(all="ignore"):
        agree(
            row, function(*[put(x, queue) for x in arguments]), expected(row, arguments, has_fp64), arguments
        )


@pytest.mark.parametrize("name", ROWS)
def test_bfloat16_is_computed_as_float32(name, queue):
    row, function = ROWS[name], getattr(usmpy, name)
    wide = [put(x, queue).astype("bfloat16").astype("float32") for x in values("float32", 2)[: row.inputs]]
    arguments = [x.astype("bfloat16") for x in wide]
    if not takes(row, "real", "bfloat16"):
        refuses(function, arguments, "bfloat16")
        return
    result = function(*arguments)
    assert result.dtype == ("bool" if row.result == "bool" else "bfloat16")
    if name == "nextafter":  # the next number of bfloat16, not of float32
        halves = [x.asnumpy().astype(ml_dtypes.bfloat16) for x in wide]
        wanted = np.nextafter(*halves).astype("float32")
    else:
        wanted = function(*wide).astype(result.dtype).astype("float32").asnumpy()
    np.testing.assert_array_equal(result.astype("float32").asnumpy(), wanted)


# --- layouts, types and sizes -------------------------------------------------------------------------------

EXACT = [name for name, row in ROWS.items() if not any(map(row.is_alone, ("real", "complex")))]
COMPLEX = ["complex64"] if "operate.complex64" in TABLE["modules"]() else []


def test_random_layouts_and_types(backend, device):
    @random_calls(backend, device, few=20, many=120)
    def check(draw):
        name = draw(st.sampled_from(EXACT))
        row, function = ROWS[name], getattr(usmpy, name)
        dtypes = [*draw.dtypes, "float16"]
        dtypes = [dtype for dtype in dtypes if not dtype.startswith("complex") or dtype in COMPLEX]
        sources = [source(draw, dtypes=dtypes)]
        if row.inputs == 2:
            wider = hnp.broadcastable_shapes(sources[0].shape, max_dims=4, min_side=0, max_side=4)
            sources.append(source(draw, wider, dtypes))
        if any(x.dtype == "float64" and not device.has_fp64 for x in sources):
            return
        theirs = [x.seen(np, x.base.copy()) for x in sources]
        ours = [x.seen(usmpy, usmpy.asarray(x.base, device=device, copy=True)) for x in sources]
        try:
            common = usmpy.result_type(*ours)
        except TypeError:
            with pytest.raises(TypeError, match="there is no common type"):
                function(*ours)
            return
        kind = {
            "bool": "unsigned",
            "uint": "unsigned",
            "int": "signed",
            "float": "real",
            "complex": "complex",
        }
        kind = kind[common.name.rstrip("0123456789")]
        if not takes(row, kind, common.name):
            refuses(function, ours, common.name)
            return
        with np.errstate(all="ignore"):
            wanted = expected(row, [x.astype(common.name) for x in theirs], device.has_fp64)
            if row.inputs == 2 and wanted is theirs[0]:
                wanted = np.broadcast_to(wanted, np.broadcast_shapes(*[x.shape for x in theirs]))
        order = draw(st.sampled_from("CFAK"))
        agree(row, function(*ours, order=order), np.asarray(wanted), theirs)
        out = usmpy.empty(wanted.shape[::-1], dtype=wanted.dtype.name, device=device)
        out = usmpy.permute_dims(out, tuple(range(out.ndim))[::-1])
        assert function(*ours, out=out) is out
        agree(row, out, np.asarray(wanted), theirs)


@pytest.mark.parametrize(
    "types", [("float32", "float32"), ("int8", "float32"), ("int16", "int64"), ("uint8", "bool")]
)
@pytest.mark.parametrize("n", [1, 1023, 1024, 1025, 2047, 2048, 2049, 8191, 8192, 8193, 100_003])
def test_sizes_around_those_of_blocks_and_buffers(types, n, queue):
    a, b = (np.arange(n) % 119 % (2 if dtype == "bool" else 200) for dtype in types)
    a, b = a.astype(types[0]), b[::-1].astype(types[1])
    x, y = put(a, queue), put(b, queue)
    common = usmpy.result_type(x, y).name
    for p, q, u, v in ((x, y, a, b), (y, x, b, a), (x, y[:1], a, b[:1]), (x[::-1], y, a[::-1], b)):
        result = usmpy.subtract(p, q)
        assert result.dtype == common
        np.testing.assert_array_equal(result.asnumpy(), u.astype(common) - v.astype(common))
    if queue.device.has_fp64 or common != "int64":
        np.testing.assert_array_equal(usmpy.sqrt(x).asnumpy(), np.sqrt(a))
    own = x.copy()
    own -= own
    assert not own.any()


def test_no_elements_no_dimensions_and_many(queue):
    empty = usmpy.empty((0, 3), dtype="float32", queue=queue)
    assert usmpy.add(empty, 1).shape == usmpy.add(empty, empty[:, :1]).shape == (0, 3)
    assert usmpy.exp(empty).shape == (0, 3)
    assert (empty + usmpy.ones((1, 3), dtype="float32", queue=queue)).shape == (0, 3)
    empty += 1
    number = put(np.float32(3), queue)
    assert (number + number).shape == ()
    assert float(usmpy.sqrt(number + 6)) == 3
    number += 1
    assert float(number) == 4
    n = np.arange(8, dtype="int32").reshape((2, 1) * 3 + (1,) * 58)
    x = put(n, queue)
    assert x.ndim == 64
    y, m = (usmpy.permute_dims(x, range(64)[::-1]), n.transpose())
    assert (x + y).shape == (n + m).shape
    np.testing.assert_array_equal((x + y).asnumpy(), n + m)
    wide = np.arange(2**12, dtype="int16").reshape((2,) * 12)
    order = (11, 0, 10, 1, 9, 2, 8, 3, 7, 4, 6, 5)
    np.testing.assert_array_equal(
        (put(wide, queue) - put(wide, queue).transpose(order)).asnumpy(), wide - wide.transpose(order)
    )


@pytest.mark.only_on("host-accessible")
def test_memory_that_is_not_aligned(device):
    for dtype in ("int16", "float32", "int64"):
        n = np.arange(10, dtype=dtype)
        x = usmpy.from_dlpack(np.frombuffer(b"0" + n.tobytes(), dtype=dtype, offset=1), device=device)
        np.testing.assert_array_equal((x + x[::-1]).asnumpy(), n + n[::-1])
        np.testing.assert_array_equal((x * x.copy()).asnumpy(), n * n)
        assert x.sum().item() == n.sum()


# --- out=, and what is refused ------------------------------------------------------------------------------


def views_of(memory):
    """Views of 64 int32, of 16 elements each."""
    square = memory[:16].reshape(4, 4)
    yield from (memory[:16], memory[1:17], memory[3:19], memory[16:32], memory[15::-1], memory[:32:2])
    yield from (memory[1:33:2], memory[31:15:-1], square.T.reshape(4, 4), square)


def test_out_may_overlap_in_any_way(queue):
    n = np.arange(64, dtype="int32")
    for i, _ in enumerate(views_of(n)):
        for j, _ in enumerate(views_of(n)):
            for k, _ in enumerate(views_of(n)):
                theirs, ours = n.copy(), put(n, queue)
                x, y, out = (list(views_of(ours))[index] for index in (i, j, k))
                a, b, to = (list(views_of(theirs))[index] for index in (i, j, k))
                if not a.shape == b.shape == to.shape:
                    continue
                assert usmpy.subtract(x, y, out=out) is out
                to[...] = a - b
                np.testing.assert_array_equal(ours.asnumpy(), theirs, f"{i} {j} {k}")


def test_out_of_another_type_over_the_same_bytes(queue):
    n = np.arange(16, dtype="float32")
    x = put(n, queue)
    bits = _core._reinterpret(x, "int32")
    assert usmpy.add(bits, 1, out=bits) is bits
    np.testing.assert_array_equal(x.asnumpy(), (n.view("int32") + 1).view("float32"))
    n = x.asnumpy()
    usmpy.signbit(x - 8, out=(truth := usmpy.empty(16, dtype="bool", queue=queue)))
    assert truth.tolist() == [True] * 8 + [False] * 8
    usmpy.multiply(x, x, out=x[::-1])
    np.testing.assert_array_equal(x.asnumpy(), (n * n)[::-1])


@pytest.mark.only_on("host-accessible")
def test_out_of_another_import_of_the_same_memory(device):
    n = np.arange(16, dtype="int32")
    x, y = usmpy.from_dlpack(n, device=device), usmpy.from_dlpack(n[::-1], device=device)
    if x.queue != y.queue:
        pytest.skip("two imports have two queues")
    wanted = n - n[::-1]
    usmpy.subtract(x, y, out=y)
    np.testing.assert_array_equal(y.asnumpy(), wanted)


def test_out_and_arguments_that_do_not_fit(queue):
    x = put(np.arange(4, dtype="float32"), queue)
    other = usmpy.Queue(queue.device)
    cases = [
        ({"out": x[:3]}, ValueError, r"out has shape \(3,\); \(4,\) is needed"),
        ({"out": x.astype("int32")}, TypeError, "out has dtype int32; float32 is needed"),
        ({"out": usmpy.broadcast_to(x[:1], (4,))}, ValueError, "read-only"),
        ({"out": usmpy.empty(4, dtype="float32", queue=other)}, usmpy.ExecutionPlacementError, "out"),
        ({"out": np.empty(4, "float32")}, TypeError, "out is a numpy.ndarray"),
        ({"order": "Z"}, ValueError, "order is 'Z'"),
    ]
    for keywords, error, match in cases:
        for call in (lambda k: usmpy.add(x, x, **k), lambda k: usmpy.sqrt(x, **k)):
            with pytest.raises(error, match=match):
                call(keywords)
    for call, error, match in [
        (lambda: usmpy.add(x, x.to_device(other)), usmpy.ExecutionPlacementError, "do not share one queue"),
        (lambda: usmpy.add(x, x[:3]), ValueError, r"add\(\): shapes \(4,\) and \(3,\) do not broadcast"),
        (lambda: usmpy.add(1, 2), TypeError, "at least one argument must be a USMArray"),
        (lambda: usmpy.add(x, [1]), TypeError, r"add\(\): x2 is a list"),
        (lambda: usmpy.sqrt([1.0]), TypeError, r"sqrt\(\): x is a list"),
        (lambda: usmpy.add(x), TypeError, "x2"),
        (lambda: usmpy.add(put(np.int8([1]), queue), 128), OverflowError, "128 does not fit into dtype int8"),
        (lambda: usmpy.bitwise_and(x, 1), TypeError, "bool and integers are allowed"),
        (lambda: usmpy.subtract(x > 1, x > 2), TypeError, "not defined for dtype bool"),
        (lambda: usmpy.add(x.astype("float8_e5m2"), 1), TypeError, "only stored and exchanged"),
        (
            lambda: usmpy.add(put(np.uint64([1]), queue), put(np.int8([1]), queue)),
            TypeError,
            "no common type",
        ),
    ]:
        with pytest.raises(error, match=match):
            call()
    assert x.tolist() == [0, 1, 2, 3]
    for order, letter in (("C", "C"), ("F", "F"), ("A", "C"), ("K", "C")):
        square = usmpy.ones((3, 4), dtype="float32", queue=queue)
        assert usmpy.add(square, 1, order=order).flags[letter]
    assert usmpy.add(square.T, square.T).flags["F"]


@pytest.mark.skipif(not COMPLEX, reason="complex numbers are not in the table's modules")
def test_complex_numbers_have_no_order(queue):
    x = put(np.complex64([1, 2j]), queue)
    for function in (usmpy.maximum, usmpy.minimum, usmpy.floor_divide, usmpy.remainder, usmpy.atan2):
        refuses(function, (x, x), "complex64")
    for function in (usmpy.floor, usmpy.signbit):
        refuses(function, (x,), "complex64")


class Unanswered(float):
    def __bool__(self):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "function", [usmpy.logical_and, usmpy.logical_or, usmpy.logical_xor], ids=lambda f: f.__name__
)
def test_an_error_of_a_truth_value_is_raised(queue, function):
    x = usmpy.ones(3, dtype="bool", queue=queue)
    for arguments in [(x, Unanswered(1)), (Unanswered(1), x)]:
        with pytest.raises(ZeroDivisionError):
            function(*arguments)
    with pytest.raises(ZeroDivisionError):
        usmpy.logical_not(Unanswered(1))
    for wrong in (None, "a", [True], object()):
        for arguments in [(x, wrong), (wrong, x)]:
            with pytest.raises(TypeError, match=rf"^{function.__name__}\(\): x[12] is an? "):
                function(*arguments)
