"""float64, complex128 and float16 on every device: held and exchanged everywhere, computed where it can.

Where a device has no fp64, what needs it says so: the aspect, the types, and the way out, which works. Such
devices are registered with --without-fp64 (test_rounding.py).
"""

import re

import numpy as np
import pytest

import usmpy

WIDE = ["float64", "complex128", "float16"]


def values(dtype, shape=(3, 4)):
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal(shape) * 1e3
    return (numbers + 1j * numbers[::-1] if dtype == "complex128" else numbers).astype(dtype)


def same(x, n):
    assert x.dtype == n.dtype
    assert x.asnumpy().tobytes() == n.tobytes()


def refused(device, call, dtype):
    """Works, or says what is missing and for what."""
    if device.has_fp64:
        return call()
    with pytest.raises(ValueError, match=r"has no aspect fp64 \(Device.has_fp64\)") as raised:
        call()
    text = str(raised.value)
    assert device.name in text
    assert dtype in text
    assert re.search(r'to_device\("host"\)\.astype\("\w+"\)', text)
    return None


@pytest.mark.parametrize("dtype", WIDE)
def test_data_is_made_moved_and_given_out_bit_for_bit(queue, dtype):
    n = values(dtype)
    x = usmpy.asarray(n, queue=queue, copy=True)
    same(x, n)
    same(x.copy(), n)
    same(usmpy.asarray(n.tolist(), dtype=dtype, queue=queue), n)
    same(x.astype(dtype), n)
    same(usmpy.concat([x, x], axis=1), np.concatenate([n, n], axis=1))
    same(usmpy.permute_dims(x, (1, 0))[::-1].copy(), n.T[::-1].copy())
    same(usmpy.take(x, usmpy.asarray([2, 0], queue=queue), axis=0), n[[2, 0]])
    same(usmpy.where(x == x, x, x), n)
    same(x.to_device("host"), n)
    y = usmpy.zeros(n.shape, dtype=dtype, queue=queue)
    usmpy.copyto(y, n)
    same(y, n)
    y[1] = 2.5
    y[:, 0] = usmpy.asarray(n[:, 0].copy(), queue=queue)
    n[1, 1:] = 2.5
    same(y, n)
    assert y.tolist() == n.tolist()
    assert y[1, 1].item() == 2.5
    if dtype != "float16":
        assert y[1, 1].__dlpack__(max_version=(1, 3))
    assert np.array_equal(usmpy.from_dlpack(x, device="host").asnumpy(), values(dtype))
    assert str(y)


@pytest.mark.parametrize("dtype", WIDE)
def test_data_is_created(queue, dtype):
    for name, arguments in [
        ("zeros", (5,)),
        ("ones", ((2, 3),)),
        ("full", ((2, 3), 1.1)),
        ("eye", (3,)),
        ("linspace", (0.1, 7.3, 50)),
    ]:
        ours = getattr(usmpy, name)(*arguments, dtype=dtype, queue=queue)
        theirs = getattr(np, name)(*arguments, dtype=dtype)
        assert ours.queue == queue
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours.asnumpy(), theirs, rtol=2e-3 if dtype == "float16" else 1e-15)
    if dtype != "complex128":
        x = usmpy.arange(0.1, 40, 0.7, dtype=dtype, queue=queue, usm_type="device").asnumpy()
        n = np.arange(0.1, 40, 0.7).astype(dtype)
        np.testing.assert_allclose(x, n, rtol=2e-3 if dtype == "float16" else 1e-15)
    exact = usmpy.linspace(0, 123456789123, 4, dtype="int64", queue=queue).tolist()
    assert exact == [0, 41152263041, 82304526082, 123456789123]


def test_data_is_compared_by_value(queue):
    n = np.array([0.1, np.nan, -np.inf, 1e300, np.nextafter(0.1, 1), -0.0])
    m = np.array([0.1, np.nan, np.inf, 1e300, 0.1, 0.0])
    x, y = (usmpy.asarray(a, queue=queue, copy=True) for a in (n, m))
    for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
        np.testing.assert_array_equal(getattr(usmpy, name)(x, y).asnumpy(), getattr(np, name)(n, m))
    np.testing.assert_array_equal((x > 0.1).asnumpy(), n > 0.1)
    for name in ("isnan", "isinf", "isfinite"):
        np.testing.assert_array_equal(getattr(usmpy, name)(x).asnumpy(), getattr(np, name)(n))
    assert usmpy.count_nonzero(x).item() == 5
    assert not usmpy.all(x).item()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("float32", "float64"),
        ("float64", "float32"),
        ("int32", "float64"),
        ("float64", "int8"),
        ("float64", "float16"),
        ("bool", "complex128"),
        ("complex128", "complex64"),
        ("float64", "complex128"),
        ("float64", "bool"),
    ],
)
def test_casts_work_or_name_the_missing_aspect(queue, source, target):
    n = np.array([0, 1, 2, 3, 100]).astype(source)
    x = usmpy.asarray(n, queue=queue, copy=True)
    wide = next(name for name in (source, target) if name in ("float64", "complex128"))
    y = refused(queue.device, lambda: x.astype(target), wide)
    if y is None:  # the way out that the message names
        y = x.to_device("host").astype(target).to_device(queue.device)
    same(y, n.astype(target))
    # What passes through the host is cast there.
    same(usmpy.asarray(n, dtype=target, queue=queue), n.astype(target))
    back = usmpy.empty(5, dtype=target, device="host")
    usmpy.copyto(back, x, casting="unsafe")
    same(back, n.astype(target))


def test_promotion_without_fp64_raises_and_keeps_the_destination(queue):
    x = usmpy.asarray(np.float32([1, 2, 3]), queue=queue, copy=True)
    y = usmpy.asarray(np.array([1.0, 5, 3]), queue=queue, copy=True)
    result = refused(queue.device, lambda: x == y, "float64")
    assert result is None or result.tolist() == [True, False, True]
    condition = usmpy.asarray([True, False, True], queue=queue)
    result = refused(queue.device, lambda: usmpy.where(condition, x, y), "float64")
    assert result is None or result.tolist() == [1, 5, 3]
    joined = refused(queue.device, lambda: usmpy.concat([x, y]), "float64")
    assert joined is None or joined.tolist() == [1, 2, 3, 1, 5, 3]

    def assign():
        y[:2] = x[1:]

    refused(queue.device, assign, "float64")
    assert y.tolist() == ([2, 3, 3] if queue.device.has_fp64 else [1, 5, 3])
    if not queue.device.has_fp64:
        with pytest.raises(ValueError, match="has no aspect fp64"):
            usmpy.explain_copy(y, x)


def test_types_by_default(queue):
    real = "float64" if queue.device.has_fp64 else "float32"
    assert usmpy.zeros(1, queue=queue).dtype == usmpy.linspace(0, 1, 3, queue=queue).dtype == real
    chosen = usmpy.__array_namespace_info__().default_dtypes(device=queue.device)
    assert chosen["real floating"] == real
    known = usmpy.__array_namespace_info__().dtypes(device=queue.device, kind="real floating")
    assert ("float64" in known) is queue.device.has_fp64


def test_a_build_error_names_the_aspect(queue):
    if queue.device.has_fp64 or queue.backend == "host":
        return
    source = "kernel void f(global double *x) { x[get_global_id(0)] = (double)missing; }"
    with pytest.raises(usmpy.BuildError) as raised:
        usmpy.Program(source, device=queue.device, language="opencl").f  # noqa: B018
    text = str(raised.value)
    assert "missing" in text
    # The compilers here that know of the device say so themselves; the others take double.
    if "double" in text.partition("\n")[2]:
        assert "aspect fp64" in text or "cl_khr_fp64" in text


def test_functions_of_integers_give_the_widest_type_that_is_computed(queue):
    i = usmpy.ones(3, dtype="int32", queue=queue)
    real, complex_ = ("float64", "complex128") if queue.device.has_fp64 else ("float32", "complex64")
    for x in (usmpy.sqrt(i), usmpy.exp(i), i / i, usmpy.mean(i), i * 1.5):
        assert x.dtype.name == real
    assert (i * 1.5j).dtype.name == complex_


def test_functions_of_float64(queue):
    n = values("float64")
    x = usmpy.asarray(n, queue=queue, copy=True)
    same(usmpy.sort(x), np.sort(n))
    same(usmpy.where(x < x[0], x, x[1]), np.where(n < n[0], n, n[1]))
    same(usmpy.isnan(x), np.isnan(n))
    device = queue.device
    for call in (
        usmpy.negative,
        usmpy.exp,
        usmpy.sum,
        usmpy.cumulative_prod,
        usmpy.argmax,
        lambda x: x @ x.mT,
    ):
        row = x[0] if call is usmpy.cumulative_prod else x
        if device.has_fp64 or device.device_type == "cpu":
            call(row).asnumpy()
        else:
            with pytest.raises(usmpy.UsmError, match="does not build the kernels"):
                call(row)
    same(x, n)


def test_what_would_be_done_where_float64_is_missing(queue):
    x = usmpy.zeros(4, dtype="float64", queue=queue)
    y, i = usmpy.zeros(4, dtype="float32", queue=queue), usmpy.zeros(4, dtype="int32", queue=queue)
    refused(queue.device, lambda: usmpy.explain_copy(y, x, casting="unsafe"), "float64")
    assert usmpy.explain_copy(x, x)
    wide = "float64" if queue.device.has_fp64 else "float32"
    assert usmpy.result_type(i, 1.5).name == wide
