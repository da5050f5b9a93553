"""asarray of sequences that hold arrays: where the result is, of which type, and its elements."""

import array
import itertools

import layouts
import numpy as np
import pytest

import usmpy


@pytest.fixture
def put(queue):
    return lambda values, **more: usmpy.asarray(np.asarray(values), queue=queue, copy=True, **more)


def test_it_is_a_stack(queue, put):
    n = np.arange(24, dtype="int16").reshape(2, 3, 4)
    for kind, x, m in layouts.pairs(n, usmpy, put):
        for ours, theirs in [
            ([x, x], [m, m]),
            ((x,), (m,)),
            ([[x, x], [x, x], [x, x]], [[m, m], [m, m], [m, m]]),
            ([x, m, m.tolist(), [m[0], m[1].tolist()]], [m, m, m, m]),
            ([x[0], [x[1, 0], m[1, 1], [1, 2, 3, 4]]], [m[0], [m[1, 0], m[1, 1], [1, 2, 3, 4]]]),
            ([x[0, 0, 0], 7, x[1, 1, 1], m[0, 0, 1]], [m[0, 0, 0], 7, m[1, 1, 1], m[0, 0, 1]]),
            ([x[:, :0], x[:, :0]], [m[:, :0], m[:, :0]]),
        ]:
            result = usmpy.asarray(ours)
            assert (result.queue, result.dtype) == (queue, "int16"), kind
            np.testing.assert_array_equal(result.asnumpy(), np.asarray(theirs), kind)
            by_column = usmpy.asarray(ours, order="F")
            assert by_column.flags["F"]
            np.testing.assert_array_equal(by_column.asnumpy(), np.asarray(theirs))


def test_the_widest_kind_of_memory_wins(queue):
    kinds = ["device", "shared", "host"]
    for a, b in itertools.product(kinds, kinds):
        x, y = (usmpy.zeros(2, usm_type=kind, queue=queue) for kind in (a, b))
        assert usmpy.asarray([x, [y[0], 1]]).usm_type == kinds[max(kinds.index(a), kinds.index(b))]
        assert usmpy.asarray([x, y], usm_type="shared").usm_type == "shared"


def test_arguments_are_honoured(device, queue, put):
    x, other = put([1, 2]), usmpy.Queue(device)
    for target in ({"queue": other}, {"device": other}, {"device": usmpy.zeros(1, queue=other)}):
        result = usmpy.asarray([x, [3, 4]], **target)
        assert result.queue == other
        assert result.tolist() == [[1, 2], [3, 4]]
    far = usmpy.asarray([5, 6], queue=other)
    assert usmpy.asarray([x, far], queue=queue).tolist() == [[1, 2], [5, 6]]
    assert usmpy.asarray([x, x], dtype="f4").dtype == "float32"
    assert usmpy.asarray([x, [0.5, 1]], dtype="complex64").tolist() == [[1, 2], [0.5, 1]]
    with pytest.raises(ValueError, match="copy=False"):
        usmpy.asarray([x, x], copy=False)
    with pytest.raises(usmpy.ExecutionPlacementError, match=r"(?s)^asarray: .*obj\[0\]: .*obj\[1\]\[1\]: "):
        usmpy.asarray([x, [1, far[0]]])


def test_types_are_promoted(put):
    for names in itertools.product(["bool", "int8", "uint16", "float16", "float32", "complex64"], repeat=2):
        n = [np.array([0, 1], name) for name in names]
        result = usmpy.asarray([put(n[0]), n[1]])
        assert result.dtype == np.result_type(*n)
        np.testing.assert_array_equal(result.asnumpy(), np.asarray(n))
    assert usmpy.asarray([put(np.float32([1, 2])), [1, 2.5]]).dtype == "float32"  # Python numbers follow
    assert usmpy.asarray([put(np.int8([1, 2])), [1, 2]]).dtype == "int8"
    assert usmpy.asarray([put([True]), [2]]).dtype == "int64"
    with pytest.raises(TypeError, match="no common type"):
        usmpy.asarray([put(np.uint64([1])), put(np.int64([1]))])
    with pytest.raises(OverflowError, match="int8"):
        usmpy.asarray([put(np.int8([1])), [1000]])
    with pytest.raises(TypeError, match="imaginary part"):
        usmpy.asarray([put(np.complex64([1])), [1]], dtype="float32")


def test_scalars_of_numpy_keep_their_types(queue):
    wide = "float64" if queue.device.has_fp64 else "float32"
    for values, dtype in [
        ([np.float32(1)], "float32"),
        ([np.float32(1), 2], "float32"),
        ([np.int8(1), 2.5], wide),
        ([np.int8(1), np.uint8(200)], "int16"),
        ([[np.bool_(True)]], "bool"),
        ([np.float16(1), np.complex64(1j)], "complex64"),
        ([array.array("f", [1, 2]), [3, 4]], "float32"),
        ([1, 2.5, True], wide),
        ([True], "bool"),
    ]:
        result = usmpy.asarray(values, queue=queue)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.asnumpy(), np.asarray(values))


def test_arrays_of_the_host_alone_go_to_the_default_place():
    result = usmpy.asarray([np.float32([1, 2]), np.float32([3, 4])])
    assert result.device == usmpy.select_default_device()
    assert result.dtype == "float32"
    assert result.tolist() == [[1, 2], [3, 4]]


def test_owners_may_change_their_memory_as_soon_as_it_returns(queue):
    a, b = np.arange(100_000.0), np.arange(100_000.0)
    result = usmpy.asarray([a, b], queue=queue)
    a[...] = b[...] = -1
    np.testing.assert_array_equal(result.asnumpy(), np.stack([np.arange(100_000.0)] * 2))


@pytest.mark.parametrize(
    "make", [list, lambda x: [x, 1], lambda x: [[x], x], lambda x: [x, x[0]], lambda x: [1, x]]
)
def test_ragged(put, make):
    with pytest.raises(ValueError, match="ragged"):
        usmpy.asarray([make(put([[1, 2], [3, 4]])), make(put([[1, 2, 3]]))])


def test_rows_are_copied_as_rows(put):
    """A regression made of two arrays of 300 by 300 elements 180,000 numbers of Python's."""
    x = np.ones((300, 300))
    y = put(x)
    usmpy.asarray([y, y]).wait()
    calls = []

    class Counted(np.ndarray):
        def __iter__(self):
            calls.append(1)
            return super().__iter__()

        def __getitem__(self, key):
            calls.append(1)
            return super().__getitem__(key)

    assert usmpy.asarray([x.view(Counted), y]).shape == (2, 300, 300)
    assert not calls


def test_lists_of_odd_numbers(queue):
    class Number(float):
        pass

    class Raises:
        def __dlpack__(self, **options):
            raise ZeroDivisionError

        def __dlpack_device__(self):
            return 1, 0

    class Grows:
        def __index__(self):
            numbers.append(0)
            return 1

    assert usmpy.asarray([Number(1.5), 2], queue=queue).tolist() == [1.5, 2]
    with pytest.raises(BufferError, match="ZeroDivisionError"):
        usmpy.asarray([1, Raises()], queue=queue)
    numbers = [0, Grows()]
    with pytest.raises(RuntimeError, match="changed its size"):
        usmpy.asarray(numbers, queue=queue)


def test_sequences_of_fractions(queue):
    assert usmpy.arange(0.5, 3, dtype="int32", queue=queue).tolist() == [0, 1, 2]
    with pytest.raises(OverflowError):
        usmpy.arange(10**400, 0.5, queue=queue)


def test_full_of_an_array_of_the_host(queue):
    assert usmpy.full((2, 2), np.array([1, 2], "int32"), queue=queue).tolist() == [[1, 2], [1, 2]]


class Raises:
    """An argument whose own exception goes through."""

    @property
    def ndim(self):
        raise ZeroDivisionError

    def __len__(self):
        raise ZeroDivisionError

    def __getitem__(self, i):
        return 0
