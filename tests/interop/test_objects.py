"""Objects of other libraries: one order of protocols, one call of NumPy, or refusals with words that help."""

from __future__ import annotations

import array
import collections
import ctypes
import decimal

import ml_dtypes
import numpy as np
import pytest

import usmpy

READ = {
    "asarray": usmpy.asarray,
    "copyto": lambda obj: _written(obj, lambda x: usmpy.copyto(x, obj, casting="unsafe")),
    "setitem": lambda obj: _written(obj, lambda x: x.__setitem__(..., obj)),
    "full": lambda obj: usmpy.full(np.asarray(obj).shape, obj),
}


def _written(obj, write):
    value = np.asarray(obj)
    x = usmpy.zeros(value.shape, dtype=value.dtype.name)
    write(x)
    return x


class Says:
    """An object with some protocols, and a sequence that nobody may read."""

    def __init__(self, value, **protocols):
        self.value, self.asked = value, 0
        self.__dict__.update(protocols)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise AssertionError("its items were read")


class ByArray(Says):
    def __array__(self, dtype=None, copy=None):
        self.asked += 1
        return self.value


class ByInterface(Says):
    @property
    def __array_interface__(self):
        self.asked += 1
        return self.value.__array_interface__


class ByStruct(Says):
    @property
    def __array_struct__(self):
        return self.value.__array_struct__


class Proxy:
    """Passes attributes on, as a wrapper does."""

    def __init__(self, value):
        self._value = value

    def __getattr__(self, name):
        return getattr(self._value, name)


class Beside(ByArray):
    """Other things that it is, too."""

    __dlpack__ = None

    def __index__(self):
        return 7

    def __float__(self):
        return 7.0

    def keys(self):
        return []


MATRIX = np.arange(6, dtype="float32").reshape(2, 3)
RECORDS = np.zeros(3, dtype=[("a", "i1"), ("b", "f4")])
OBJECTS = {
    "__array__": lambda: ByArray(MATRIX),
    "__array_interface__": lambda: ByInterface(MATRIX),
    "__array_struct__": lambda: ByStruct(MATRIX),
    "proxy": lambda: Proxy(ByArray(MATRIX)),
    "also a number": lambda: Beside(MATRIX),
    "0 dimensions": lambda: ByArray(np.array(3, "int16")),
    "empty": lambda: ByArray(np.zeros((0, 3), "int8")),
    "field of records": lambda: RECORDS["b"],
    "half a type apart": lambda: np.ndarray((3, 2), "f4", bytes(64), strides=(10, 4)),
    "read-only": lambda: np.frombuffer(bytes(16), "int32"),
    "no element masked": lambda: np.ma.array([1, 2], mask=[False, False]),
    "class derived from ndarray": lambda: MATRIX.view(type("Derived", (np.ndarray,), {})),
    "list of them": lambda: [ByArray(MATRIX), ByArray(MATRIX + 1)],
}


@pytest.mark.parametrize("entry", READ)
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_are_what_numpy_reads(name, entry):
    expected = np.asarray(OBJECTS[name]())
    result = READ[entry](OBJECTS[name]())
    assert (result.dtype.name, result.shape) == (expected.dtype.name, expected.shape)
    np.testing.assert_array_equal(result.asnumpy(), expected)


@pytest.mark.parametrize("kind", [ByArray, ByInterface])
def test_an_object_is_read_once(kind):
    obj = kind(MATRIX)
    usmpy.asarray(obj)
    assert obj.asked == 1


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("shape", [(), (2, 3), (0, 3)])
def test_types_of_ml_dtypes_come_back(dtype, shape):
    values = np.ones(shape, dtype)
    for value in (values, values.T.copy().T, values[..., ::-1] if shape else values):
        x = usmpy.asarray(value)
        assert (x.dtype.name, x.shape) == (value.dtype.name, shape)
        np.testing.assert_array_equal(x.asnumpy(), value)
    if shape == ():
        assert usmpy.asarray(dtype(1)).dtype.name == values.dtype.name


def masked():
    return np.ma.array([1.5, 2], mask=[True, False])


class Unit(np.ndarray):
    unit = b"m"  # not a str: units of libraries are objects
    value = property(lambda self: self.view(np.ndarray))


REFUSED = {
    "records": (lambda: RECORDS.copy(), 'view("uint8")'),
    "void": (lambda: RECORDS[0], 'view("uint8")'),
    "datetime64": (lambda: np.zeros(3, "M8[s]"), 'view("int64")'),
    "datetime64 scalar": (lambda: np.datetime64(3, "s"), 'view("int64")'),
    "timedelta64 scalar": (lambda: np.timedelta64(3, "s"), 'view("int64")'),
    "bytes_": (lambda: np.bytes_(b"12"), 'view("uint8")'),
    "S": (lambda: np.array([b"ab", b"c"]), 'view("uint8")'),
    "U": (lambda: np.array(["1.5", "2"]), 'astype("float64")'),
    "str_": (lambda: np.str_("1.5"), 'astype("float64")'),
    "object": (lambda: np.array([1, 2.5], object), 'dtype="float64"'),
    "byte order": (lambda: np.ones(3, ">f4"), 'astype("float32")'),
    "longdouble": (lambda: np.ones(3, "g"), 'astype("float64")'),
    "clongdouble": (lambda: np.ones(3, "G"), 'astype("complex128")'),
    "float4": (lambda: np.ones(3, ml_dtypes.float4_e2m1fn), 'astype("float32")'),
    "masked": (masked, "obj.filled(0)"),
    "unit": (lambda: np.ones(3).view(Unit), "obj.value"),
    "mapping": (lambda: collections.UserDict({5: 7}), "list(obj.values())"),
    "dict": (lambda: {5: 7}, "list(obj.values())"),
    "set": (lambda: {5, 7}, "sorted(obj)"),
}


@pytest.mark.parametrize("entry", READ)
@pytest.mark.parametrize("name", REFUSED)
def test_what_arrays_lack_is_refused_with_the_call_that_works(name, entry):
    make, call = REFUSED[name]
    obj = make()
    x = usmpy.zeros(3)
    read = {"setitem": lambda v: x.__setitem__(..., v), "copyto": lambda v: usmpy.copyto(x, v)}
    with pytest.raises((TypeError, BufferError)) as caught:
        read.get(entry, lambda v: usmpy.full(3, v) if entry == "full" else usmpy.asarray(v))(obj)
    text = str(caught.value)
    assert len(text) <= 400
    assert call in text
    advice = text.rpartition("; ")[2]
    expression = advice.partition(" has ")[0].partition(" is ")[0]
    taken = usmpy.asarray(eval(expression, {"obj": make(), "numpy": np}))  # the advice works as it is typed
    assert taken.size > 0
    assert not x.any().item()


@pytest.mark.parametrize("make", [masked, lambda: np.ones(3).view(Unit)])
@pytest.mark.parametrize(
    "share",
    [usmpy.from_dlpack, lambda x: usmpy.asarray(x, copy=False), lambda x: usmpy.borrow(x).__enter__()],
)
def test_what_shares_memory_refuses_masks_and_units_too(make, share):
    with pytest.raises(BufferError, match="obj"):
        share(make())


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("error", [TypeError, ValueError, RuntimeError, OSError])
def test_an_object_whose_array_raises_is_no_sequence(error, nested):
    class Raises(Says):
        def __array__(self, dtype=None, copy=None):
            raise error("not like this\nand more")

    with pytest.raises(BufferError, match="not like this") as caught:
        usmpy.asarray([Raises(0)] if nested else Raises(0))
    assert isinstance(caught.value.__cause__, error)
    assert "and more" not in str(caught.value)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_no_refusal_passes(error):
    class Raises:
        def __array__(self, dtype=None, copy=None):
            raise error

    with pytest.raises(error):
        usmpy.asarray(Raises())


def test_the_first_refusal_is_told():
    class Both:
        def __dlpack__(self, **keywords):
            raise RuntimeError("not now")

        def __dlpack_device__(self):
            return (1, 0)

    class Three(Both):
        def __array__(self, dtype=None, copy=None):
            raise TypeError("not here")

    class Taken(Both):
        def __array__(self, dtype=None, copy=None):
            return MATRIX

    for obj in (Both(), Three()):
        with pytest.raises(BufferError, match="not now"):
            usmpy.asarray(obj)
    assert usmpy.asarray(Taken()).tolist() == MATRIX.tolist()
    with pytest.raises(ValueError, match="leave copy out") as caught:
        usmpy.asarray(Taken(), copy=False)
    assert "not now" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "obj",
    [
        object(),
        None,
        "abc",
        decimal.Decimal(3),
        (3).__class__,
        type("Long", (), {"__repr__": lambda s: "x" * 10**6})(),
    ],
)
def test_a_message_is_short_whatever_the_object_prints(obj):
    for call in (usmpy.asarray, lambda v: usmpy.asarray([v])):
        with pytest.raises(TypeError) as caught:
            call(obj)
        assert len(str(caught.value)) <= 400


def test_a_frame_without_numpy_is_no_sequence():
    class Frame(Says):
        def __dataframe__(self):
            raise AssertionError

    with pytest.raises(TypeError, match="columns"):
        usmpy.asarray(Frame(0))


def test_indices_are_read_the_same_way():
    x = usmpy.arange(5)
    assert x[ByArray(np.array([3, 1]))].tolist() == [3, 1]
    assert x[ByArray(np.array([True, False] * 2 + [True]))].tolist() == [0, 2, 4]
    assert usmpy.take(x, usmpy.asarray(ByArray(np.array([4])))).tolist() == [4]
    usmpy.put(x, ByArray(np.array([0])), ByArray(np.array([9])))
    assert x.tolist()[0] == 9
    for key in (np.datetime64(3, "s"), np.timedelta64(3, "s"), np.bytes_(b"1")):
        with pytest.raises((TypeError, IndexError)):
            x[key]


def test_plain_objects_stay_what_they_were():
    assert usmpy.asarray(array.array("h", [1, 2])).dtype.name == "int16"
    assert usmpy.asarray((ctypes.c_float * 2)(1, 2)).tolist() == [1, 2]
    assert usmpy.asarray(b"12").tolist() == [49, 50]
    assert usmpy.asarray(collections.deque([1, 2])).tolist() == [1, 2]
    assert usmpy.asarray(range(3)).tolist() == [0, 1, 2]
    assert usmpy.asarray(type("Index", (), {"__index__": lambda s: 4})()).tolist() == 4


OWN = {
    "ndarray": lambda a: a,
    "read-only": lambda a: _read_only(a),
    "scalar": lambda a: a.flat[0],
    "array.array": lambda a: array.array("f", a.ravel()),
    "bytes": lambda a: a.tobytes(),
    "bytearray": lambda a: bytearray(a),
    "memoryview": lambda a: memoryview(a),
    "ctypes": lambda a: (ctypes.c_float * a.size)(*a.ravel()),
    "__array__": ByArray,
    "__array_interface__": ByInterface,
}


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("copy", [None, True])
def test_what_asarray_makes_of_memory_of_the_host_is_the_callers_own(queue, name, copy):
    source = np.arange(6, dtype="float32").reshape(2, 3)
    obj = OWN[name](source)
    x = usmpy.asarray(obj, queue=queue, copy=copy)
    expected = np.asarray(obj).copy() if name != "bytes" else np.frombuffer(obj, "uint8")
    source += 10
    if name in ("array.array", "bytearray", "ctypes"):
        memoryview(obj).cast("B")[:] = bytes(len(memoryview(obj).cast("B")))
    assert (x.flags.writable, x.usm_type, x.queue is queue) == (True, "device", True)
    np.testing.assert_array_equal(x.asnumpy(), expected)
    x[...] = 1
    assert x.asnumpy().min() == 1
    np.testing.assert_array_equal(source, np.arange(10, 16, dtype="float32").reshape(2, 3))


@pytest.mark.parametrize("order", ["C", "F", "K"])
def test_the_copy_keeps_the_order_of_axes(queue, order):
    a = np.arange(24, dtype="int16").reshape(2, 3, 4)
    for view in (a, a.T, a.transpose(1, 2, 0), a[:, ::-1], a[::2], np.broadcast_to(a[:1], a.shape)):
        x = usmpy.asarray(view, queue=queue, order=order)
        np.testing.assert_array_equal(x.asnumpy(), view)
        if order != "K":
            assert x.flags[f"{order}_CONTIGUOUS"]
    assert usmpy.asarray(a.T, queue=queue).flags.f_contiguous
