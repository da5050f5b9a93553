"""Functions whose results are exact, for any bits of integers and floats, against NumPy and ml_dtypes.

tests/properties draws layouts, axes and sizes with small whole numbers. Here the numbers are any: infinities,
NaN, zeros of both signs, subnormal numbers, and the ends of the integers.
"""

import ml_dtypes
import numpy as np
import pytest
from fuzz_settings import examples
from hypothesis import given
from hypothesis import strategies as st

import usmpy

INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
TYPES = {name: np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name) for name in INTEGERS + FLOATS}
UNARY = [
    "negative",
    "positive",
    "abs",
    "square",
    "floor",
    "ceil",
    "trunc",
    "sign",
    "isnan",
    "isinf",
    "isfinite",
]
UNARY += ["signbit", "logical_not", "bitwise_invert"]
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal"]
BINARY += ["greater", "greater_equal", "copysign", "divide", "logical_and", "logical_or", "logical_xor"]
BINARY += ["bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder"]
BITS = ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert")
OF_FLOATS = ("signbit", "copysign", "divide")
OF_INTEGERS = ("floor_divide", "remainder")  # of floating-point numbers they are rounded


def applies(name, dtype):
    is_float = dtype in FLOATS
    return not ((name in BITS or name in OF_INTEGERS) and is_float) and not (
        name in OF_FLOATS and not is_float
    )


def drawn(data, dtype):
    """Any bits, and the corners of the type."""
    size = data.draw(st.integers(1, 70))
    itemsize = TYPES[dtype].itemsize
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    x = np.frombuffer(rng.bytes(size * itemsize), TYPES[dtype]).copy()
    if dtype in FLOATS:
        info = ml_dtypes.finfo(TYPES[dtype])
        corners = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            np.inf,
            -np.inf,
            np.nan,
            info.max,
            info.tiny,
            info.smallest_subnormal,
        ]
    else:
        info = np.iinfo(dtype)
        corners = [info.min, info.max, 0, 1, info.max - 1, info.min + 1, info.max // 2]
    for at in data.draw(st.lists(st.integers(0, size - 1), max_size=12)):
        x[at] = np.array(corners[rng.integers(len(corners))]).astype(x.dtype)
    return x


def ours_of(n):
    if n.dtype != ml_dtypes.bfloat16:
        return usmpy.asarray(n, device="host", copy=True)
    x = usmpy.empty(n.shape, dtype="bfloat16", device="host")
    x.queue.memcpy(x, memoryview(n.view("uint8"))).wait()
    return x


def same_bits(ours, theirs, why):
    ours = ours.asnumpy()
    with np.errstate(invalid="ignore"):
        nan, other_nan = ours != ours, theirs != theirs
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), why
    np.testing.assert_array_equal(nan, other_nan, err_msg=why)
    one, other = (
        np.where(nan, np.zeros((), ours.dtype), ours),
        np.where(nan, np.zeros((), ours.dtype), theirs),
    )
    assert one.tobytes() == other.tobytes(), (why, one, other)


def expected(name, *operands):
    with np.errstate(all="ignore"):
        if name == "bitwise_invert":
            return np.invert(*operands)
        if operands[0].dtype == TYPES["bfloat16"] and name in ("square", "trunc", "sign"):
            return getattr(np, name)(*(x.astype("float32") for x in operands)).astype(operands[0].dtype)
        return getattr(np, name)(*operands)


@np.errstate(all="ignore")  # NumPy warns of what is compared here
@pytest.mark.parametrize("dtype", TYPES)
def test_any_bits(dtype):
    @examples(40)
    @given(st.data())
    def check(data):
        name = data.draw(st.sampled_from([name for name in UNARY + BINARY if applies(name, dtype)]))
        x = drawn(data, dtype)
        operands = [x] if name in UNARY else [x, np.resize(drawn(data, dtype), x.shape)]
        if name in OF_INTEGERS:
            operands[1][operands[1] == 0] = 1
            if not dtype.startswith("u"):
                operands[1][operands[1] == -1] = 1
        ours = getattr(usmpy, name)(*(ours_of(operand) for operand in operands))
        theirs = np.asarray(expected(name, *operands))
        if name in ("maximum", "minimum") and dtype in FLOATS:  # which zero is the greater one is open
            ours, theirs = ours + usmpy.zeros_like(ours), theirs + np.zeros_like(theirs)
        same_bits(ours, theirs, f"{name} of {dtype}")

    check()


@np.errstate(all="ignore")  # NumPy warns of what is compared here
@pytest.mark.parametrize("dtype", TYPES)
def test_casts_of_any_bits(dtype):
    @examples(30)
    @given(st.data())
    def check(data):
        to = data.draw(st.sampled_from(FLOATS if dtype in FLOATS else list(TYPES)))
        x = drawn(data, dtype)
        with np.errstate(all="ignore"):
            theirs = x.astype(TYPES[to])
        if to == "bfloat16" and dtype in ("float64", "int64", "uint64", "int32", "uint32"):
            return  # ml_dtypes rounds twice, by way of float32
        same_bits(usmpy.astype(ours_of(x), to), theirs, f"{dtype} to {to}")

    check()
