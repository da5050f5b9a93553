"""Interface dicts and buffers with hostile members: refused with a plain error, or taken as described."""

import ctypes
import gc
import math
import sys

import pytest
from fuzz_settings import examples
from hypothesis import given
from hypothesis import strategies as st
from producers import Buffer

import usmpy

MEMORY = 1 << 12
PLAIN = (BufferError, TypeError, ValueError, OverflowError)
ODD = [0, 1, 2, 3, -1, -2, 64, 65, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, 10**30]
number = st.one_of(st.integers(-4, 8), st.integers(0, 4), st.sampled_from(ODD))
thing = st.one_of(number, st.none(), st.booleans(), st.floats(), st.text(max_size=3), st.binary(max_size=3))
numbers = st.lists(st.one_of(number, number, number, thing), max_size=4)
lists = st.one_of(numbers.map(tuple), numbers.map(tuple), numbers, thing)
codes = [*"?bhilqefdBHILQgO", "<f4", ">f4", "|u1", "<i8", "<c8", "|V4", "<f2", "=i4", "<M8[s]", "|b1", "<U3"]


def memory():
    return usmpy.zeros(MEMORY, dtype="uint8", device="host", usm_type="shared")


def inside(x, begin):
    """All bytes of the array are in the memory: it may be read."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(x.shape, x.strides, strict=True)) * x.itemsize
    high = sum(max(0, (n - 1) * s) for n, s in zip(x.shape, x.strides, strict=True)) * x.itemsize
    return begin <= x.data_ptr + low and x.data_ptr + high + x.itemsize <= begin + MEMORY


def as_told(x, shape, begin):
    assert isinstance(x, usmpy.USMArray)
    assert x.shape == tuple(int(n) for n in shape)
    assert x.size == math.prod(x.shape)
    if x.size and x.size < 5000 and inside(x, begin):
        assert x.asnumpy().shape == x.shape


@st.composite
def dicts(draw, begin):
    pointer = st.one_of(st.just(begin), st.just(begin + 8), number)
    members = {
        "version": draw(st.one_of(st.just(1), st.just(3), thing)),
        "typestr": draw(st.one_of(st.sampled_from(codes), thing)),
        "shape": draw(lists),
        "data": draw(
            st.one_of(st.tuples(pointer, st.booleans()), st.tuples(pointer, thing), st.tuples(pointer), thing)
        ),
        "strides": draw(st.one_of(st.none(), lists)),
        "offset": draw(st.one_of(st.just(0), number, thing)),
        "syclobj": draw(st.one_of(st.just("host"), thing)),
        "stream": draw(st.one_of(st.none(), thing)),
        "mask": draw(st.one_of(st.none(), st.none(), thing)),
        "descr": draw(st.one_of(st.just([]), lists)),
    }
    for name in draw(st.lists(st.sampled_from(sorted(members)), max_size=2)):
        members.pop(name, None)
    return members


@pytest.mark.parametrize("name", ["__cuda_array_interface__", "__sycl_usm_array_interface__"])
def test_dicts(name):
    kept = memory()
    kept.wait()

    @examples(150)
    @given(dicts(kept.data_ptr))
    def check(interface):
        source = type("Source", (), {name: interface})()
        try:
            x = usmpy.asarray(source, copy=False)
        except PLAIN:
            return
        as_told(x, interface["shape"], kept.data_ptr)

    check()
    gc.collect()


class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(Slot)),
    ]


GET = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)
RELEASE = ctypes.PYFUNCTYPE(None, ctypes.py_object, ctypes.POINTER(Buffer))
ANSWER = {}  # what the next buffer says, and how many are open
OPEN = []


@GET
def get_buffer(exporter, view, flags):
    answer = view.contents
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(exporter))
    answer.obj = id(exporter)
    for name, value in ANSWER.items():
        setattr(answer, name, value)
    OPEN.append(1)
    return 0


@RELEASE
def release_buffer(exporter, view):
    OPEN.pop()


def exporter_type():
    """A type whose buffers are what ANSWER says, made as an extension makes one."""
    slots = (Slot * 3)(
        Slot(1, ctypes.cast(get_buffer, ctypes.c_void_p)),
        Slot(2, ctypes.cast(release_buffer, ctypes.c_void_p)),
    )
    spec = Spec(b"fuzz.Exporter", object.__basicsize__, 0, 1 << 18, slots)  # Py_TPFLAGS_DEFAULT
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(Spec)]
    made = make(ctypes.byref(spec))
    made_of.append((slots, spec))
    return made


made_of = []
lengths = st.one_of(st.integers(0, 4), st.integers(0, 4), st.sampled_from([n for n in ODD if abs(n) < 2**63]))
formats = [
    code.encode()
    for code in [*"?cbBhHiIlLqQnNefdgspPO", "Zf", "Zd", "<i", ">i", "=d", "@h", "4B", "T{i:a:}", ""]
]


@st.composite
def buffers(draw, begin):
    ndim = draw(st.one_of(st.integers(0, 4), st.integers(0, 4), st.sampled_from([64, 65, -1])))
    count = max(ndim, 0)

    def row(values):
        picked = draw(st.lists(values, min_size=min(count, 4), max_size=min(count, 4)))
        return (ctypes.c_ssize_t * max(count, 1))(*(picked + [1] * (count - len(picked))))

    strides = st.one_of(st.sampled_from([1, 2, 4, 8, -4, 0, 16]), lengths)
    return {
        "buf": draw(st.sampled_from([begin, begin + 512, begin + 513, None])),
        "len": draw(st.one_of(st.sampled_from([0, 4, 64, MEMORY]), lengths)),
        "itemsize": draw(st.one_of(st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from([0, -1, 3, 2**62]))),
        "readonly": draw(st.integers(0, 1)),
        "ndim": ndim,
        "format": draw(st.one_of(st.none(), st.sampled_from(formats), st.binary(max_size=4))),
        "shape": draw(st.sampled_from([row(lengths), row(lengths), row(lengths), None])),
        "strides": draw(st.sampled_from([row(strides), row(strides), None])),
        "suboffsets": draw(st.sampled_from([None, None, None, row(st.sampled_from([-1, 0, 8]))])),
    }


def test_buffers():
    block = (ctypes.c_char * MEMORY)()
    begin = ctypes.addressof(block)
    made = exporter_type()

    @examples(200)
    @given(buffers(begin))
    def check(answer):
        ANSWER.clear()
        ANSWER.update(answer, internal=None)
        exporter = made()
        before = sys.getrefcount(exporter)
        try:
            x = usmpy.asarray(exporter, copy=False)
        except PLAIN:
            pass
        else:
            assert x.ndim == answer["ndim"]
            suboffsets = (answer["suboffsets"] or ())[: x.ndim]
            assert all(n < 0 for n in suboffsets)
            assert x.size == 0 or answer["buf"] is not None
            if x.size and inside(x, begin):
                x.asnumpy()
            assert not x.flags.writable or not answer["readonly"]
            del x
        gc.collect(0)
        assert not OPEN
        assert sys.getrefcount(exporter) == before

    check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ndim": -1}, "-1 dimensions; 0 to 64 dimensions"),
        ({"ndim": 65}, "65 dimensions; 0 to 64 dimensions"),
        ({"shape": None}, "no shape but ndim is 1"),
        ({"buf": None}, "elements and no memory"),
        ({"itemsize": -8}, "item size -8"),
    ],
)
def test_buffers_that_break_the_protocol(change, message):
    one = (ctypes.c_ssize_t * 65)(*[1] * 65)
    block = (ctypes.c_double * 1)()
    plain = {
        "buf": ctypes.addressof(block),
        "len": 8,
        "itemsize": 8,
        "readonly": 0,
        "ndim": 1,
        "format": b"d",
    }
    ANSWER.clear()
    ANSWER.update({**plain, "shape": one, "strides": None, "suboffsets": None, "internal": None} | change)
    with pytest.raises(BufferError, match=message):
        usmpy.asarray(exporter_type()(), copy=False)
    assert not OPEN
