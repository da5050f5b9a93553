"""Elements as Python objects: item, tolist, number protocols, asnumpy."""

import threading

import ml_dtypes
import numpy as np
import pytest
from asleep import once_asleep
from dtypes import DTYPES
from together import together

import usmpy


def pair(queue, shape=(3, 4), dtype="int32"):
    n = (np.arange(np.prod(shape, dtype=int)) * 3 - 5).astype(dtype).reshape(shape)
    return usmpy.asarray(n, queue=queue, copy=True), n.copy()


@together("dtype", DTYPES, thin=True)
def test_values_have_pythons_own_types(queue, dtype):
    x, n = pair(queue, dtype=dtype)
    assert x.tolist() == n.tolist()
    for got, expected in ((x[1, 2].item(), n[1, 2].item()), (x[0].tolist()[0], n[0].tolist()[0])):
        assert type(got) is type(expected)
        assert got == expected
    m = x.asnumpy()
    assert m.dtype == n.dtype
    assert m.tobytes() == n.tobytes()


def test_extreme_values(queue):
    for dtype, values in {
        "int64": [-(2**63), 2**63 - 1],
        "uint64": [0, 2**64 - 1, 2**53 + 1],
        "float64": [5e-324, 1.7976931348623157e308, float("inf")],
        "float16": [65504.0, 5.960464477539063e-08],
    }.items():
        assert usmpy.asarray(values, dtype=dtype, queue=queue).tolist() == values
    assert str(usmpy.asarray(-0.0, queue=queue).item()) == "-0.0"
    assert usmpy.asarray(float("nan"), queue=queue).item() != 0


def test_bfloat16(queue):
    x = usmpy.asarray([1.0, 1.00390625, 3.0e38], dtype="bfloat16", queue=queue)
    n = np.asarray([1.0, 1.00390625, 3.0e38], ml_dtypes.bfloat16)
    assert x.tolist() == n.astype("float64").tolist()
    assert x.asnumpy().dtype == ml_dtypes.bfloat16
    assert x.asnumpy().tobytes() == n.tobytes()


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_types_without_python_numbers(queue, dtype):
    x = usmpy.zeros(4, dtype=dtype, queue=queue)
    for call in (x.tolist, x[0].item, lambda: float(x[0]), lambda: bool(x[0])):
        with pytest.raises(TypeError, match=dtype):
            call()
    queue.fill(x, b"\x3c")
    m = x.asnumpy()
    assert m.dtype == np.dtype(getattr(ml_dtypes, dtype))
    assert m.tobytes() == b"\x3c" * 4


def test_packed_types_have_no_numpy(queue):
    for dtype in ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"):
        with pytest.raises(TypeError, match=dtype):
            usmpy.zeros(4, dtype=dtype, queue=queue).asnumpy()


def test_item_with_an_index(queue):
    x, n = pair(queue, (3, 4, 5))
    for view, model in (
        (x, n),
        (x[::-1, ::2], n[::-1, ::2]),
        (x.mT, np.swapaxes(n, 1, 2)),
        (x[0, 0], n[0, 0]),
    ):
        for i in (0, 1, model.size - 1, -1, -model.size):
            assert view.item(i) == model.item(i)
        last = [length - 1 for length in model.shape]
        assert view.item(*last) == model[tuple(last)]
        assert view.item(*([-1] * model.ndim)) == model[(-1,) * model.ndim]
    assert usmpy.asarray(5, queue=queue).item(0) == 5
    assert x.item(np.int64(3)) == n.item(3)


def test_item_with_a_bad_index(queue):
    x, n = pair(queue, (3, 4))
    for i in (n.size, -n.size - 1, 2**70):
        with pytest.raises(IndexError):
            x.item(i)
    for args in ((3, 0), (0, 4), (0, -5)):
        with pytest.raises(IndexError, match="out of range"):
            x.item(*args)
    for args in ((0, 0, 0), (1, 2, 3, 4)):
        with pytest.raises(ValueError, match="item"):
            x.item(*args)
    for bad in ("0", 1.0, None, [0]):
        with pytest.raises(TypeError):
            x.item(bad)
    with pytest.raises(IndexError):
        usmpy.zeros((0, 3), queue=queue).item(0)
    with pytest.raises(ValueError, match="exactly one"):
        x.item()


def test_numbers_of_0_dimensions(queue):
    for dtype, value in (("int8", -3), ("uint64", 2**64 - 1), ("float32", 2.75), ("bool", True)):
        x = usmpy.full((), value, dtype=dtype, queue=queue)
        assert int(x) == int(value)
        assert float(x) == float(value)
        assert complex(x) == complex(value)
        assert bool(x) is True
        assert bool(usmpy.zeros((), dtype=dtype, queue=queue)) is False
    z = usmpy.full((), 1 + 2j, queue=queue)
    assert complex(z) == 1 + 2j
    assert bool(z)
    for convert in (int, float):
        with pytest.raises(TypeError, match="complex"):
            convert(z)


@pytest.mark.parametrize("convert", [int, float, complex, bool])
@pytest.mark.parametrize("shape", [(1,), (1, 1, 1)])
def test_one_element_in_dimensions_is_no_number(queue, convert, shape):
    """As the standard has it: a program that relies on one element fails when it meets two."""
    x = usmpy.ones(shape, queue=queue)
    with pytest.raises(TypeError, match=rf"{convert.__name__}\(\) takes only 0-dimensional .*x\.item\(\)"):
        convert(x)
    assert convert(x.item()) == 1


@pytest.mark.parametrize("convert", [int, float, complex, bool])
@pytest.mark.parametrize("shape", [(2,), (0,), (1, 2)])
def test_numbers_of_another_count_of_elements(queue, convert, shape):
    with pytest.raises(ValueError, match="exactly one"):
        convert(usmpy.zeros(shape, queue=queue))


def test_int_of_other_types(queue):
    assert int(usmpy.asarray(-2.9, queue=queue)) == -2
    with pytest.raises(OverflowError):
        int(usmpy.asarray(float("inf"), queue=queue))
    with pytest.raises(ValueError):
        int(usmpy.asarray(float("nan"), queue=queue))


def test_an_array_as_an_index(queue):
    assert "abc"[usmpy.asarray(1, dtype="uint8", queue=queue)] == "b"
    assert list(range(usmpy.asarray(3, queue=queue))) == [0, 1, 2]
    for bad in (
        usmpy.asarray(1.0, queue=queue),
        usmpy.asarray(True, queue=queue),
        usmpy.asarray([1], queue=queue),
    ):
        with pytest.raises(TypeError, match="index"):
            "abc"[bad]


@pytest.mark.parametrize("order", ["C", "F"])
def test_asnumpy_is_a_copy_that_can_be_written(queue, order):
    x = usmpy.USMArray((3, 4), "float64", order=order, queue=queue)
    x[...] = 2
    for view in (x, x[::-1, ::2], x.T, x[1]):
        m = view.asnumpy()
        m[...] = 5
        assert m.flags.writeable
        assert view.tolist() == np.full(view.shape, 2.0).tolist()
    x[...] = 3
    assert (m == 5).all()


def test_asnumpy_outlives_the_array(queue):
    m = usmpy.arange(1000, queue=queue).asnumpy()
    others = [usmpy.full(1000, -1, dtype="int64", queue=queue) for _ in range(5)]
    assert m.tolist() == list(range(1000))
    assert len(others) == 5


@pytest.mark.parametrize("read", ["tolist", "asnumpy", "item"])
def test_values_wait_for_pending_work(queue, read):
    gate = threading.Event()
    x = usmpy.zeros(1, queue=queue)
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 8)
    once_asleep(gate.set)
    value = getattr(x, read)()
    assert np.asarray(value).ravel().tolist() == [8]


def test_a_list_of_many(queue):
    n = np.arange(60_000).reshape(2, 3, 10_000)
    assert usmpy.asarray(n, queue=queue)[:, ::-1].tolist() == n[:, ::-1].tolist()
