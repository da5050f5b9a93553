"""Methods, formats, flags, real and imaginary parts of arrays, and hints for missing methods."""

import bisect
import operator
import weakref

import layouts
import numpy as np
import pytest
from dtypes import DTYPES

import usmpy


@pytest.fixture
def put(queue):
    return lambda values: usmpy.asarray(np.asarray(values), queue=queue, copy=True)


def same(x, n, kind=None):
    assert (x.shape, x.dtype) == (n.shape, n.dtype)
    np.testing.assert_array_equal(x.asnumpy(), n, kind)


N = np.arange(24, dtype="float32").reshape(2, 3, 4)


def test_reshape_in_both_orders(put):
    for kind, x, n in layouts.pairs(N, usmpy, put):
        for shape in ((24,), (4, 6), (6, -1), (2, 2, 3, 2), (4, 3, 2), (1, 24, 1)):
            for order in ("C", "F", "A"):
                expected = n.reshape(shape, order=order)
                same(usmpy.reshape(x, shape, order=order), expected, kind)
                same(x.reshape(shape, order=order, copy=True), expected, kind)
                same(x.reshape(*shape, order=order), expected, kind)
                if order != "A" or kind in "CF":
                    shares = np.shares_memory(expected, n)
                    view = usmpy.reshape(x, shape, order=order)
                    assert (x.data_ptr <= view.data_ptr < x.data_ptr + 96 or kind == "reversed") or not shares
        for order in ("C", "F"):
            same(x.ravel(order), n.ravel(order), kind)
            same(x.flatten(order=order), n.flatten(order), kind)
    x = put(N)
    assert x.ravel().data_ptr == x.data_ptr
    assert x.flatten().data_ptr != x.data_ptr
    with pytest.raises(ValueError, match="copy=False"):
        x.transpose().reshape(24, copy=False)


def test_copies_and_casts_in_an_order(put):
    for kind, x, n in layouts.pairs(N, usmpy, put):
        for order in ("C", "F", "A", "K"):
            expected = n.copy(order=order)
            for copy in (
                x.copy(order=order),
                x.astype("float32", order=order),
                usmpy.asarray(x, copy=True, order=order),
            ):
                same(copy, n, kind)
                if kind not in ("reversed", "strided", "broadcast") or order in "CF":
                    assert copy.strides == tuple(step // 4 for step in expected.strides), (kind, order)
            cast = usmpy.astype(x, "int16", order=order)
            same(cast, n.astype("int16"), kind)
    x = put(N)
    assert usmpy.asarray(x, order="C") is x
    assert usmpy.asarray(x, order="F").flags["F"]
    assert x.astype("f4", copy=False, order="C") is x
    assert x.astype("f4", copy=False, order="F") is not x
    with pytest.raises(ValueError, match="copy=False"):
        usmpy.asarray(x, order="F", copy=False)


def test_creation_in_an_order(queue):
    for make in (usmpy.empty, usmpy.zeros, usmpy.ones, lambda *a, **k: usmpy.full(*a, 3, **k)):
        assert make((2, 3), order="F", queue=queue).flags.fnc
        assert make((2, 3), order=None, queue=queue).flags["C"]
    same(usmpy.ones((2, 3), order="F", queue=queue, dtype="int8"), np.ones((2, 3), "int8"))
    for rows, columns, k in ((3, 4, 1), (4, 3, -2), (3, 3, 0), (2, 5, 4), (2, 2, 5)):
        same(
            usmpy.eye(rows, columns, k=k, order="F", dtype="f4", queue=queue), np.eye(rows, columns, k, "f4")
        )
    for value in ([1, 2, 3], [[1], [2]], np.float32([1, 2, 3]), 2.5):
        expected = np.full((2, 3), value)
        for order in ("C", "F"):
            fill = value if np.ndim(value) == 0 else usmpy.asarray(value, queue=queue)
            x = usmpy.full((2, 3), fill, order=order, queue=queue, dtype=expected.dtype)
            same(x, expected)
            assert x.flags[order]
            same(usmpy.full_like(x, fill), expected)
    assert usmpy.full(3, usmpy.ones(1, queue=queue, usm_type="host")).queue is queue


def test_axes_that_people_leave_out(put):
    n = np.zeros((1, 3, 1, 2))
    x = put(n)
    same(usmpy.squeeze(x), n.squeeze())
    same(x.squeeze(), n.squeeze())
    same(x.squeeze(axis=(0, -2)), n.squeeze((0, -2)))
    for axis in ((0, 2), (-1, 0), [1], range(2), (), (5, 0, -2)):
        same(usmpy.expand_dims(put(N), axis=axis), np.expand_dims(N, tuple(axis)))
    same(usmpy.flip(x, axis=range(2)), np.flip(n, (0, 1)))
    same(usmpy.permute_dims(x, range(3, -1, -1)), n.transpose(3, 2, 1, 0))
    same(usmpy.zeros(range(2, 4), queue=x.queue), np.zeros((2, 3)))
    same(x.repeat(2, axis=1), n.repeat(2, axis=1))
    same(x.take([1], axis=3), n.take([1], axis=3))
    assert [i.tolist() for i in put([[0, 1]]).nonzero()] == [[0], [1]]
    assert put([1, 0]).any().item() is True
    assert put([[1, 0]]).all(1).tolist() == [False]
    x.fill(7)
    assert set(x.ravel().tolist()) == {7}


@pytest.mark.parametrize("dtype", DTYPES)
def test_bytes_and_parts(put, dtype):
    for kind, x, n in layouts.pairs(np.array([[0, 1, 2], [1, 0, 1]], dtype), usmpy, put):
        for order in ("C", "F", "A"):
            assert x.tobytes(order) == n.tobytes(order), kind
        same(x.real, n.real, kind)
        same(x.imag, n.imag, kind)
    if "complex" in dtype:
        x, n = put(np.array([[1 + 2j, 3j]], dtype)), np.array([[1 + 2j, 3j]], dtype)
        x.imag[...] = 5
        x.real[0, 0] = -1
        n.imag = 5
        n.real[0, 0] = -1
        same(x, n)
        same(x.T.real[::-1], n.T.real[::-1])


def test_formats(put):
    x = put(np.float64([1.23456, -2]))
    assert f"{x[0]:.2f} {x[1]:>8}" == f"{1.23456:.2f} {-2.0:>8}"
    assert f"{put(np.int32(255))[()]:#x}" == "0xff"
    assert f"{x}" == str(x)
    assert format(put(True), "") == "True"
    with pytest.raises(TypeError, match="0 dimensions, and this one has 1"):
        f"{x:.2f}"
    with pytest.raises(ValueError, match="format"):
        f"{x[0]:d}"


def test_flags(put):
    for kind, x, n in layouts.pairs(np.zeros((2, 3)), usmpy, put):
        flags = x.flags
        for ours, theirs in (("C", "C"), ("F", "F"), ("FNC", "FNC"), ("FORC", "FORC"), ("C_CONTIGUOUS", "C")):
            assert flags[ours] is n.flags[theirs], kind
        assert (flags.c_contiguous, flags.f_contiguous) == (n.flags.c_contiguous, n.flags.f_contiguous)
        assert (flags.forc, flags.fnc, flags.contiguous) == (n.flags.forc, n.flags.fnc, n.flags.c_contiguous)
        assert flags.fc is (flags["C"] and flags["F"])
        assert flags.writable is flags.writeable is flags["W"] is (kind != "broadcast")
    x = put([1, 2])
    y = x[:1]
    assert x.flags == put([3]).flags
    assert x.flags == y.flags
    assert x.flags != (True, True, True)
    assert repr(x.flags) == "usmpy.Flags(c_contiguous=True, f_contiguous=True, writable=True)"
    x.flags.writable = True
    x.flags["W"] = False
    assert not x.flags.writable
    for write in (lambda: x.__setitem__(0, 1), lambda: usmpy.copyto(x, 1), lambda: x[:1].fill(2)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    y[0] = 9  # a view that was made before keeps its own
    assert x.tolist() == [9, 2]
    for error, change in [
        (ValueError, lambda: setattr(x.flags, "writable", True)),
        (ValueError, lambda: setattr(x.flags, "c_contiguous", False)),
        (TypeError, lambda: setattr(x.flags, "writable", 1)),
        (TypeError, lambda: delattr(x.flags, "writable")),
        (KeyError, lambda: x.flags["X"]),
        (KeyError, lambda: x.flags[" "]),
        (KeyError, lambda: x.flags[0]),
        (TypeError, lambda: hash(x.flags)),
    ]:
        with pytest.raises(error):
            change()


def test_the_array_interface(put):
    for kind, x, n in layouts.pairs(np.arange(6, dtype="int16").reshape(2, 3), usmpy, put):
        if not hasattr(x, "__array_interface__"):
            with pytest.raises(AttributeError, match="cannot read"):
                x.__array_interface__  # noqa: B018 (it raises)
            continue
        interface = x.__array_interface__
        assert interface["typestr"] == "<i2"
        assert interface["strides"] == (None if n.flags["C"] else n.strides)
        assert interface["data"] == (x.data_ptr, not x.flags.writable)

        class Only:
            __array_interface__ = interface

        same(x, np.asarray(Only()), kind)


def test_pictures_of_pillow(put, backend):
    image = pytest.importorskip("PIL.Image", reason="an extra of its own: tour")
    values = np.arange(24, dtype="uint8").reshape(4, 6)
    x = put(values)
    if "host-accessible" not in backend.tags:
        assert image.fromarray(x.asnumpy()).size == (6, 4)
        return
    for kind, x, n in layouts.pairs(values, usmpy, put):
        np.testing.assert_array_equal(np.asarray(image.fromarray(x)), n, err_msg=kind)


def test_the_array_interface_exports_finished_data():
    queue = usmpy.Queue("host")
    for _ in range(20):
        x = usmpy.zeros(200_000, dtype="int32", queue=queue)
        x[...] = 3
        interface = x.__array_interface__

        class Only:
            __array_interface__ = interface

        assert (np.asarray(Only()) == 3).all()
    assert not hasattr(usmpy.zeros(1, dtype="bfloat16", device="host"), "__array_interface__")


@pytest.mark.parametrize("compute", [operator.matmul, operator.imatmul], ids=lambda f: f.__name__)
def test_the_matrix_product_takes_arrays_alone(put, compute):
    x = put(np.int32([1, 2, 3]))
    for other in ([1, 2, 3], (1, 2, 3), 2):
        with pytest.raises(TypeError, match="unsupported operand"):
            compute(x, other)


def test_another_class_may_have_the_operator(put):
    class Other:
        def __radd__(self, x):
            return "mine"

        def __eq__(self, x):
            return "equal"

        __hash__ = None

    assert put([1]) + Other() == "mine"
    assert (put([1]) == Other()) == "equal"


@pytest.mark.parametrize("name", ["sort", "dot", "cumsum", "cumprod", "round", "conj"])
def test_missing_methods_name_the_function(put, name):
    x = put([1.0, 2.0])
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}': use usmpy\.\w+\(x"):
        getattr(x, name)
    assert not hasattr(x, name)
    with pytest.raises(AttributeError) as caught:
        x.nonsense  # noqa: B018
    assert "use usmpy" not in str(caught.value)


def test_methods_that_reduce_are_functions(put):
    n = np.float32([[1, 5, 2], [4, 3, 6]])
    x = put(n)
    for name in ("sum", "prod", "max", "min"):
        for keywords in ({}, {"axis": 0}, {"axis": (0, 1)}, {"axis": -1, "keepdims": True}):
            same(getattr(x, name)(**keywords), getattr(n, name)(**keywords))
        same(getattr(x, name)(1), getattr(n, name)(1))
    same(x.sum(dtype="int64"), n.sum(dtype="int64"))


def test_numpys_functions_compute_on_the_device(put):
    x = put(np.float32([1, 4]))
    for result, values in (
        (np.sqrt(x), [1, 2]),
        (np.add(x, 1), [2, 5]),
        (np.hypot(0.0, x), [1, 4]),
        (np.add.reduce(x), 5),
        (np.cumsum(x), [1, 5]),
        (np.concatenate([x, x]), [1, 4, 1, 4]),
        (np.ones_like(x, shape=3), [1, 1, 1]),
    ):
        assert type(result) is usmpy.USMArray
        assert result.queue == x.queue
        assert result.dtype == x.dtype
        assert result.tolist() == values
    with pytest.raises(TypeError, match=r"numpy\.fmod has no counterpart in usmpy"):
        np.fmod(x, 2)


@pytest.mark.parametrize("dtype", ["complex32", "float8_e3m4", "float8_e4m3", "float8_e5m2", "float4_e2m1fn"])
def test_stored_types_have_no_parts(queue, dtype):
    x = usmpy.empty(4, dtype=dtype, queue=queue)
    for part in ("real", "imag"):
        with pytest.raises(TypeError, match="no real and imaginary part"):
            getattr(x, part)


@pytest.mark.parametrize("shape", [(3,), (1,) * 9])  # memory of small arrays is used again
def test_weak_references_end_with_the_array(queue, shape):
    x, ends = usmpy.zeros(shape, queue=queue), []
    gone = weakref.ref(x, ends.append)
    assert gone() is x
    del x
    assert gone() is None
    assert ends == [gone]


@pytest.mark.parametrize(
    "keywords", [{"order": "F", "copy": True}, {"copy": True, "order": "F"}, {"copy": False}]
)
def test_lengths_side_by_side_and_keywords(queue, keywords):
    x = usmpy.arange(6, queue=queue)
    y = x.reshape(2, 3, **keywords)
    order = keywords.get("order", "C")
    assert y.tolist() == x.asnumpy().reshape((2, 3), order=order).tolist()
    assert y.tolist() == x.reshape((2, 3), **keywords).tolist()
    x[0] = 9
    assert (y[0, 0].item() == 9) == (not keywords["copy"])


SURROGATE = "\udc80"  # a str that has no UTF-8


def test_flags_have_no_such_key(queue):
    with pytest.raises((KeyError, UnicodeError)):
        usmpy.zeros(1, queue=queue).flags[SURROGATE]


def test_methods_with_many_arguments(queue):
    x = usmpy.zeros(1, queue=queue)
    with pytest.raises(TypeError):
        x.sum(*range(40))
    with pytest.raises(TypeError):
        x.__array_namespace__(nonsense=1)
    with pytest.raises(TypeError):
        x.__format__(1)
    with pytest.raises(TypeError, match="0 dimensions"):
        bisect.bisect(x[0], 0, 0, 1)  # asks for an item as of a sequence


def test_orders_and_kinds_of_results(queue):
    x = usmpy.zeros((2, 2), queue=queue)
    with pytest.raises(ValueError, match="order"):
        usmpy.tril(x, order="X")
    with pytest.raises(ValueError, match="order"):
        usmpy.where(x > 0, x, x, order="X")
    for call in (lambda: usmpy.tril(x, device="x:y"), lambda: usmpy.tril(x, usm_type="texture")):
        with pytest.raises(ValueError):
            call()
    for device in ("nonsense", 1):  # both placements are read
        with pytest.raises((TypeError, ValueError)):
            usmpy.zeros(1, queue=queue, device=device)
