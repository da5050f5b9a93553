"""Arguments that few programs give: objects with odd protocols, and results with too many dimensions."""

import bisect

import numpy as np
import pytest

import usmpy

MOST = 64  # dimensions
SURROGATE = "\udc80"  # a str that has no UTF-8


class Odd:
    """An index that is no int."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


class Word(str):
    """A str that is an index too."""

    def __index__(self):
        return 1


@pytest.mark.parametrize("key", [Word("a"), Odd("a")], ids=["a str", "no int"])
def test_a_key_that_is_no_index_after_all(queue, key):
    x = usmpy.arange(4, queue=queue)
    with pytest.raises(IndexError, match="is not an index"):
        x[key, ...]


def test_an_index_beyond_any_array(queue):
    x = usmpy.arange(4, queue=queue)
    for key in (2**70, -(2**70)):
        with pytest.raises(IndexError):
            x[key]
        with pytest.raises(IndexError):
            x[key, ...]


def deep(queue, ndim):
    return usmpy.arange(2, dtype="int32", queue=queue).reshape((2,) + (1,) * (ndim - 1))


def test_results_with_too_many_dimensions(queue):
    x, rows = deep(queue, MOST), usmpy.asarray([[0, 1]], queue=queue)
    calls = [
        lambda: x[rows],
        lambda: usmpy.take(x, rows, axis=0),
        lambda: usmpy.stack([x, x]),
        lambda: usmpy.expand_dims(x, axis=0),
        lambda: usmpy.meshgrid(*[rows[0]] * (MOST + 1)),
        lambda: usmpy.asarray([x], queue=queue),
    ]
    for call in calls:
        with pytest.raises((IndexError, ValueError), match=rf"(more than|at most|deeper than) {MOST}"):
            call()
    assert x.reshape(-1).tolist() == [0, 1]


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


def test_packed_types_have_no_numbers(queue):
    x = usmpy.empty(2, dtype="float4_e2m1fn", queue=queue)
    one = usmpy.empty(1, dtype="float4_e2m1fn", queue=queue)
    calls = [
        lambda: x.item(0),
        lambda: one.item(),
        lambda: one.__index__(),
        lambda: x.real,
        lambda: x.imag,
        lambda: usmpy.eye(2, dtype="float4_e2m1fn", queue=queue),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="float4_e2m1fn"):
            call()


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


@pytest.mark.parametrize(
    "make", [usmpy.Device, usmpy.Queue, usmpy.Context, usmpy.USMArray, usmpy.Program, usmpy.LocalMemory]
)
def test_types_refuse_unknown_keywords(make):
    with pytest.raises(TypeError, match="nonsense"):
        make(nonsense=1)
    with pytest.raises(TypeError):
        make(*range(40))


class NoIndex:
    def __index__(self):
        raise ZeroDivisionError


def test_extents_that_raise():
    for call in (lambda: usmpy.Range(NoIndex()), lambda: usmpy.LocalMemory(NoIndex())):
        with pytest.raises(ZeroDivisionError):
            call()


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


def test_no_common_type(queue):
    x, y = usmpy.zeros(1, dtype="uint64", queue=queue), usmpy.zeros(1, dtype="int8", queue=queue)
    with pytest.raises(TypeError, match=r"arrays\[1\] has dtype int8"):
        usmpy.concat([x, y, x])


def test_sequences_of_fractions(queue):
    assert usmpy.arange(0.5, 3, dtype="int32", queue=queue).tolist() == [0, 1, 2]
    with pytest.raises(OverflowError):
        usmpy.arange(10**400, 0.5, queue=queue)


def test_concat_of_more_elements_than_an_int64(queue):
    huge = usmpy.broadcast_to(usmpy.zeros((), dtype="int8", queue=queue), (2**62,))
    for axis in (0, None):
        with pytest.raises((ValueError, MemoryError), match=r"2\*\*63"):
            usmpy.concat([huge, huge], axis=axis)


def test_shapes_of_vecdot_that_do_not_broadcast(queue):
    with pytest.raises(ValueError, match="do not broadcast"):
        usmpy.vecdot(usmpy.zeros((2, 3), queue=queue), usmpy.zeros((4, 3), queue=queue))


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


def test_exceptions_of_arguments(queue):
    x = usmpy.zeros(2, queue=queue)
    with pytest.raises(ZeroDivisionError):
        usmpy.arange(Raises(), queue=queue)
    with pytest.raises(ZeroDivisionError):
        usmpy.expand_dims(x, axis=Raises())
    with pytest.raises(TypeError, match="queues is a bytearray"):
        usmpy.get_execution_queue(bytearray(b"a"))
