"""Python's operators of arrays: results, in place, with numbers and with objects of other libraries."""

import contextlib
import gc
import operator
import sys

import numpy as np
import pytest
from together import together

import usmpy

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
BITS = ["and_", "or_", "xor"]
SHIFTS = ["lshift", "rshift"]
IN_PLACE = {name: getattr(operator, "i" + name.rstrip("_")) for name in ARITHMETIC + BITS + SHIFTS}


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def same(x, n):
    n = np.asarray(n)
    assert (x.dtype, x.shape) == (n.dtype.name, n.shape)
    np.testing.assert_array_equal(x.asnumpy(), n)


def pair(dtype):
    """Numbers whose powers and quotients are exact in every type."""
    a, b = np.array([6, 1, 2, 4, 3]), np.array([2, 1, 2, 4, 1])
    return a.astype(dtype), b.astype(dtype)


@together("dtype", ["int8", "uint16", "int64", "float32"])
@pytest.mark.parametrize("name", ARITHMETIC + BITS + SHIFTS)
def test_two_operands(put, name, dtype):
    compute, a_and_b = getattr(operator, name), pair(dtype)
    a, b = a_and_b
    x, y = put(a), put(b)
    if dtype == "float32" and name in BITS + SHIFTS:
        for operands in ((x, y), (x, 1), (1, x)):
            with pytest.raises(TypeError, match=r"not defined for dtype float32, .*integers are allowed"):
                compute(*operands)
        return
    if name == "truediv" and not x.device.has_fp64:
        a, b = a.astype("float32"), b.astype("float32")
    same(compute(x, y), compute(a, b))
    same(compute(x, 2), compute(a, 2))
    same(compute(3, y), compute(3, b))
    same(compute(put(a[:1]), y), compute(a[:1], b))
    assert compute(x, y).queue == x.queue
    if name == "truediv" and dtype != "float32":
        with pytest.raises(TypeError, match=rf"does not cast to {dtype}, the dtype of x1, in place"):
            IN_PLACE[name](x, y)
        same(x, pair(dtype)[0])
        return
    same(IN_PLACE[name](x, y), compute(a, b))
    same(x, compute(a, b))
    same(IN_PLACE[name](y, 2), compute(b, 2))


@pytest.mark.parametrize("dtype", ["int16", "uint32", "float32"])
def test_one_operand(put, dtype):
    a = np.array([3, 0, 5]).astype(dtype)
    x = put(a)
    same(-x, -a)
    same(+x, a)
    same(abs(-x), np.abs(-a))
    assert (+x).data_ptr != x.data_ptr
    if dtype == "float32":
        with pytest.raises(
            TypeError, match=r"bitwise_invert\(\) is not defined for dtype float32, which x has"
        ):
            operator.invert(x)
    else:
        same(~x, ~a)
    for ours, theirs in zip(divmod(x, 2), divmod(a, 2), strict=True):
        same(ours, theirs)
    for ours, theirs in zip(divmod(7, x + 1), divmod(7, a + 1), strict=True):
        same(ours, theirs)


def test_masks(put):
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    x, y = put(a), put(b)
    for name in BITS:
        compute = getattr(operator, name)
        same(compute(x, y), compute(a, b))
        same(compute(x, True), compute(a, True))
        same(compute(False, y), compute(False, b))
        same(compute(x, 3), compute(a, 3))  # an int makes numbers of truth values
        same(compute(x, put(np.uint8([1, 2, 3, 4]))), compute(a, np.uint8([1, 2, 3, 4])))
        own = put(a)
        assert IN_PLACE[name](own, y) is own
        same(own, compute(a, b))
        with pytest.raises(TypeError, match=r"does not cast to bool, the dtype of x1"):
            IN_PLACE[name](own, put([1, 2, 3, 4]))
    same(~x, ~a)
    same(x + 1, a + 1)
    for compute in (operator.add, operator.sub, operator.mul, operator.pow):
        with pytest.raises(
            TypeError, match=r"not defined for dtype bool, the common type of x1 and x2; integ"
        ):
            compute(x, y)
    with pytest.raises(TypeError, match=r"not defined for dtype bool, which x has"):
        operator.neg(x)
    with pytest.raises(TypeError, match="does not cast to bool"):
        x += 1
    same(x, a)


def test_in_place_changes_the_array_or_raises(put, queue):
    a = np.arange(12, dtype="float32").reshape(3, 4)
    x = put(a)
    same_x, view = x, x[1]
    x += 1
    x *= x
    x -= put(np.float32([1, 2, 3, 4]))
    x /= put(np.full((3, 1), 2.0, "float32"))
    x **= 2
    assert x is same_x
    n = (((a + 1) ** 2 - np.float32([1, 2, 3, 4])) / 2) ** 2
    same(x, n)
    same(view, n[1])
    view %= 5  # a view changes what it is a view of
    same(x[1], n[1] % 5)
    x.T[...] = 1
    part = x[:, ::2]
    part += x[:, 1::2]
    same(x, np.float32([[2, 1, 2, 1]] * 3))
    with pytest.raises(ValueError, match=r"x1 has shape \(4,\); \(3, 4\) is needed"):
        view += x
    with pytest.raises(ValueError, match="do not broadcast"):
        x += put(np.ones(3, "float32"))
    locked = usmpy.broadcast_to(x[:1], (3, 4))
    with pytest.raises(ValueError, match="read-only"):
        locked += 1
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"x2\.to_device\(x1\.queue\)"):
        x += usmpy.ones((3, 4), dtype="float32", queue=usmpy.Queue(queue.device))
    same(x, np.float32([[2, 1, 2, 1]] * 3))


def test_in_place_casts_within_a_kind(put):
    for own, other in (("int8", "int64"), ("uint8", "uint32"), ("int16", "bool"), ("float32", "int16")):
        a, b = np.array([1, 2, 3]).astype(own), np.array([100, 0, 1]).astype(other)
        x = put(a)
        x += put(b)
        a += b
        same(x, a)
    x = put(np.int8([100, -100]))
    x += put(np.int32([100, 1000]))  # computed as int32, and cut to 8 bits
    same(x, np.int8([-56, -124]))
    for own, other in (("int32", "float32"), ("uint8", "int8"), ("bool", "int16")):
        x, y = put(np.ones(3, own)), put(np.ones(3, other))
        with pytest.raises(TypeError, match=rf"casting='same_kind' does not cast to {own}"):
            x += y
        same(x, np.ones(3, own))


def test_in_place_on_its_own_memory(put):
    n = np.arange(10, dtype="int32")
    for left, right in ((np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[:], np.s_[::-1])):
        a, x = n.copy(), put(n)
        a[left] += a[right]
        x[left] += x[right]
        same(x, a)
    a, x = n[:9].reshape(3, 3).copy(), put(n[:9].reshape(3, 3))
    a -= a.T
    x -= x.T
    same(x, a)


def test_numbers_follow_the_array(put):
    for dtype in ("int8", "uint64", "float16", "float32"):
        x = put(np.ones(2, dtype))
        assert (x + 1).dtype == (2 * x).dtype == (x - True).dtype == dtype
        wide = "float64" if x.device.has_fp64 else "float32"
        assert (x * 1.5).dtype == (dtype if dtype.startswith("float") else wide)
    x = put(np.uint8([1, 2]))
    for call in (
        lambda: x + 256,
        lambda: -1 - x,
        lambda: x & 300,
        lambda: x**-1,
        lambda: operator.iadd(x, 999),
    ):
        with pytest.raises(OverflowError, match=r"(256|-1|300|999) does not fit into dtype uint8"):
            call()
    same(x, np.uint8([1, 2]))
    for number in (np.float32(2), np.int64(2), np.array(2), np.sqrt(4.0)):  # also scalars of NumPy
        same(x * number, x.asnumpy() * (2.0 if "float" in str(number.dtype) else 2))
        assert (number - put(np.float32([1, 2]))).tolist() == [1, 0]
        assert (number**x).tolist() == [2, 4]
        assert (number > x).tolist() == [True, False]


def test_x_squared_has_no_rounding_of_pow(put):
    n = np.float32([0.1, 1e-30, -3.3, np.nan])
    same(put(n) ** 2, n * n)
    same(put(np.int8([100, -7])) ** 2, np.int8([16, 49]))
    with pytest.raises(TypeError, match="modulus"):
        pow(put(n), 2, 3)


class Other:
    """Another library's class, which has the operators."""

    def __radd__(self, x):
        return "mine"

    def __rmatmul__(self, x):
        return "product"


class Nothing:
    pass


def test_other_classes_may_have_the_operator(put):
    x = put([1, 2])
    assert x + Other() == "mine"
    for call in (
        lambda: operator.iadd(x, Other()),
        lambda: operator.ior(x, None),
        lambda: operator.iadd(x, "1"),
    ):
        with pytest.raises(
            TypeError, match=r"cannot be combined with an? \w+; a USMArray or a number is allowed"
        ):
            call()
    for other in (Nothing(), None, "text", b"1", int):
        for operands in ((x, other), (other, x)):
            with pytest.raises(TypeError):
                operator.add(*operands)
    same(x, [1, 2])


@pytest.mark.parametrize("name", ARITHMETIC + BITS + SHIFTS)
def test_arrays_of_other_libraries_are_refused_with_advice(put, name):
    x = put([1, 2])
    for other in (np.ones(2, int), [1, 2], (1, 2)):
        calls = [(getattr(operator, name), x, other), (IN_PLACE[name], x, other)]
        calls.append((getattr(operator, name), other, x))
        for compute, a, b in calls:
            with pytest.raises(TypeError, match=r"numpy\.from_dlpack\(x\)"):
                compute(a, b)
    theirs = np.ones(2, int)
    with pytest.raises(TypeError, match=r"numpy\.\w+ of a USMArray and a numpy\.ndarray"):
        IN_PLACE[name](theirs, x)
    same(x, [1, 2])
    assert theirs.tolist() == [1, 1]


def test_references_after_errors(put):
    x, y = put(np.ones(4, "float32")), put(np.ones(3, "float32"))
    number = 10**30
    calls = [
        lambda: x + y,
        lambda: x & x,
        lambda: operator.iadd(x, y),
        lambda: operator.iadd(y, x[:1, None]),
        lambda: operator.add(x, [1]),
        lambda: put([1]) + number,
        lambda: usmpy.add(x, x, out=y),
        lambda: np.add(x, np.ones(4)),
        lambda: divmod(x, None),
    ]
    for call in calls:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            call()
    gc.collect()
    before = [sys.getrefcount(object) for object in (x, y, number, x.queue)]
    for call in calls * 20:
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            call()
    gc.collect()
    assert [sys.getrefcount(object) for object in (x, y, number, x.queue)] == before


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
def test_numbers_beside_rows_of_any_length(dtype, queue):
    """A loop repeats a number as often as it needs it."""
    if dtype == "float64" and not queue.device.has_fp64:
        pytest.skip("no float64")
    for shape in ((1,), (3,), (1023,), (1024,), (1025,), (2, 1025), (3, 5, 2049), (5000,)):
        x = (np.arange(np.prod(shape)) % 50).reshape(shape).astype(dtype)
        array = usmpy.asarray(x, queue=queue, copy=True)
        assert (array * 2).asnumpy().tolist() == (x * 2).tolist()
        assert (3 - array[..., ::2]).asnumpy().tolist() == (3 - x[..., ::2]).tolist()
        column = usmpy.asarray(x[..., :1].copy(), queue=queue)
        assert (array + column).asnumpy().tolist() == (x + x[..., :1]).tolist()


@pytest.mark.parametrize("name", ["add", "mul", "and_", "matmul"])
def test_a_sequence_with_one_operator_is_asked(queue, name):
    """A class that has any arithmetic of its own may take arrays on its left."""
    reflected = f"__r{name.rstrip('_')}__"
    kind = type("Kind", (list,), {reflected: lambda self, other: (name, len(other))})
    x = usmpy.ones(4, dtype="int32", queue=queue)
    assert getattr(operator, name)(x, kind([1, 2, 3, 4])) == (name, 4)
