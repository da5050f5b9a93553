"""DType: names, sizes, equality, what is taken for one, NumPy's types."""

import copy
import ctypes
import pickle

import ml_dtypes
import numpy as np
import pytest
from together import together

import usmpy

# name: (code, bits) of DLPack 1.3
TYPES = {
    "bool": (6, 8),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "float16": (2, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "bfloat16": (4, 16),
    "complex32": (5, 32),
    "complex64": (5, 64),
    "complex128": (5, 128),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": (15, 6),
    "float6_e3m2fn": (16, 6),
    "float4_e2m1fn": (17, 4),
}
IN_NUMPY = [
    n
    for n in TYPES
    if n[0] in "iu" or n in ("bool", "float16", "float32", "float64", "complex64", "complex128")
]
IN_ML_DTYPES = [n for n in TYPES if n in ("bfloat16", "complex32") or n.startswith("float8")]
IN_ML_DTYPES = [n for n in IN_ML_DTYPES if hasattr(ml_dtypes, n)]  # older ones lack complex32


@pytest.mark.parametrize("name", TYPES)
def test_a_type_says_what_it_is(name):
    dtype = getattr(usmpy, name)
    code, bits = TYPES[name]
    assert type(dtype) is usmpy.DType
    assert dtype.name == str(dtype) == name
    assert repr(dtype) == f"usmpy.{name}"
    assert dtype.bits == bits
    assert dtype.itemsize == (bits + 7) // 8
    assert dtype.dlpack == (code, bits, 1)


def test_there_are_no_others():
    found = {name for name in dir(usmpy) if isinstance(getattr(usmpy, name), usmpy.DType)}
    assert found == set(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_one_object_for_each(name):
    dtype = getattr(usmpy, name)
    assert usmpy.DType(name) is usmpy.DType(dtype) is dtype
    assert copy.copy(dtype) is copy.deepcopy(dtype) is dtype
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype


@pytest.mark.parametrize("name", TYPES)
def test_equality_and_hash(name):
    dtype = getattr(usmpy, name)
    assert dtype == name
    assert name == dtype
    assert hash(dtype) == hash(name)
    assert {dtype: 1}[name] == 1
    for other in TYPES:
        assert (dtype == getattr(usmpy, other)) is (name == other)
        assert (dtype != other) is (name != other)
    for thing in (None, 1, "floot", object(), [name], type):
        assert dtype != thing
    with pytest.raises(TypeError):
        _ = dtype < dtype


@pytest.mark.parametrize("name", IN_NUMPY)
def test_numpys_types(name):
    dtype, numpy_dtype = getattr(usmpy, name), np.dtype(name)
    assert np.dtype(dtype) == numpy_dtype
    assert dtype.dtype == numpy_dtype
    assert dtype == numpy_dtype
    assert dtype == numpy_dtype.type
    assert usmpy.DType(numpy_dtype) is usmpy.DType(numpy_dtype.type) is dtype
    assert np.zeros(2, dtype).dtype == numpy_dtype
    assert numpy_dtype.itemsize == dtype.itemsize


@pytest.mark.parametrize("name", IN_ML_DTYPES)
def test_types_of_ml_dtypes(name):
    dtype, theirs = getattr(usmpy, name), getattr(ml_dtypes, name)
    assert np.dtype(dtype) == np.dtype(theirs)
    assert usmpy.DType(np.dtype(theirs)) is usmpy.DType(theirs) is dtype


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
def test_types_that_numpy_lacks(name):
    with pytest.raises(TypeError, match=name):
        np.dtype(getattr(usmpy, name))


@pytest.mark.parametrize(
    ("kind", "name"), [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")]
)
def test_pythons_own_types(kind, name):
    assert usmpy.DType(kind) is getattr(usmpy, name)
    assert usmpy.zeros(1, dtype=kind, device="host").dtype == name


@pytest.mark.parametrize("name", IN_NUMPY)
def test_numpys_codes_and_words(name):
    dtype, theirs = getattr(usmpy, name), np.dtype(name)
    codes = [
        theirs.str,
        theirs.str[1:],
        theirs.char,
        f"={theirs.str[1:]}",
        f"<{theirs.str[1:]}",
        theirs.type.__name__,
    ]
    for code in codes:
        assert usmpy.DType(code) is dtype
        assert dtype == code
        assert usmpy.zeros(1, dtype=code, device="host").dtype is dtype
    if theirs.itemsize > 1:
        with pytest.raises(TypeError, match="little-endian"):
            usmpy.DType(f">{theirs.str[1:]}")
    assert (dtype.kind, dtype.char, dtype.str, dtype.type) == (
        theirs.kind,
        theirs.char,
        theirs.str,
        theirs.type,
    )


def test_every_word_and_letter_of_numpy_means_the_same():
    words = (
        "bool_ byte short intc int int_ long longlong intp ubyte ushort uintc uint ulong ulonglong uintp half"
    )
    for word in [*f"{words} single double float csingle cdouble complex".split(), *"?bBhHiIlLqQpPefdFD"]:
        assert usmpy.DType(word) == np.dtype(word).name, word
    for kind in (
        np.longlong,
        np.ulonglong,
        np.intc,
        np.intp,
        np.half,
        ctypes.c_int,
        ctypes.c_double,
        ctypes.c_bool,
    ):
        assert usmpy.DType(kind) == np.dtype(kind).name


def test_types_that_numpy_has_no_code_for():
    for name in TYPES:
        if name not in IN_NUMPY:
            for attribute in ("char", "str"):
                with pytest.raises(AttributeError, match=name):
                    getattr(getattr(usmpy, name), attribute)
            assert getattr(usmpy, name).kind == ("c" if "complex" in name else "f")


@pytest.mark.parametrize(
    "thing",
    [
        "floot",
        ">f4",
        "=>f4",
        "f3",
        "f04",
        "c4",
        "Float32",
        " float32",
        "float32\0",
        "",
        "int128",
        "float128",
        None,
        1,
        1.5,
        b"float32",
        str,
        object,
        list,
        np.dtype(">i4"),
        np.dtype("U3"),
        np.dtype("M8[s]"),
        np.dtype([("a", "i4")]),
        np.dtype("V4"),
        np.longdouble,
        np.str_,
    ],
    ids=repr,
)
def test_invalid_types(thing):
    with pytest.raises(TypeError, match="dtype is"):
        usmpy.DType(thing)
    if thing is not None:
        with pytest.raises(TypeError, match="dtype is"):
            usmpy.zeros(1, dtype=thing, device="host")
        with pytest.raises(TypeError, match="dtype is"):
            usmpy.zeros(1, device="host").astype(thing)


def test_a_type_is_immutable():
    with pytest.raises(AttributeError):
        usmpy.float32.name = "x"
    with pytest.raises(AttributeError):
        usmpy.float32.mine = "x"
    with pytest.raises(TypeError):
        type("Mine", (usmpy.DType,), {})


def test_an_error_while_comparing_is_not_lost():
    class Broken:
        @property
        def isnative(self):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        _ = usmpy.float32 == Broken()


@together("name", TYPES, thin=True)
def test_sizes_of_arrays(queue, name):
    dtype = getattr(usmpy, name)
    for n in (0, 1, 2, 3, 8, 9):
        x = usmpy.zeros(n, dtype=name, queue=queue)
        assert x.dtype is dtype
        assert x.itemsize == dtype.itemsize
        assert x.nbytes == (n * dtype.bits + 7) // 8


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
