"""result_type, can_cast, isdtype, finfo, iinfo, __array_namespace_info__: against NumPy and ml_dtypes."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import usmpy

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64", "complex64", "complex128"]
SHORT = ["bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"]
SHORT += [
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]


def promoted(a, b):
    """By NumPy, whose rules are the standard's where it has the pair; None for what would lose integers."""
    name = np.result_type(a, b).name
    return None if a in INTEGERS and b in INTEGERS and name not in INTEGERS else name


@pytest.mark.parametrize("a", ["bool", *INTEGERS, "float16", *FLOATS])
def test_promotion_is_numpys(a):
    for b in ["bool", *INTEGERS, "float16", *FLOATS]:
        expected = promoted(a, b)
        assert usmpy.can_cast(a, b) is (expected == b)
        assert usmpy.can_cast(usmpy.empty(1, dtype=a), getattr(usmpy, b)) is (expected == b)
        if expected is None:
            with pytest.raises(TypeError, match="no common type"):
                usmpy.result_type(a, b)
        else:
            assert usmpy.result_type(getattr(usmpy, a), getattr(usmpy, b)) == expected


def test_promotion_of_short_types():
    for a, b, expected in [
        ("float16", "bfloat16", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float16", "float64", "float64"),
        ("bfloat16", "complex64", "complex64"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("bfloat16", "int8", "bfloat16"),
        ("uint8", "bfloat16", "bfloat16"),
        ("bfloat16", "int16", "float32"),
        ("bfloat16", "uint32", "float64"),
        ("bool", "bfloat16", "bfloat16"),
        ("float8_e5m2", "float8_e5m2", "float8_e5m2"),
    ]:
        assert usmpy.result_type(a, b) == usmpy.result_type(b, a) == expected
    for a, b in [
        ("float8_e5m2", "float32"),
        ("complex32", "complex64"),
        ("float8_e5m2", "bool"),
        ("uint64", "int8"),
    ]:
        with pytest.raises(TypeError, match="no common type"):
            usmpy.result_type(a, b)


def test_promotion_is_associative_and_commutative():
    names = ["bool", *INTEGERS, "float16", "bfloat16", *FLOATS]
    for a, b in itertools.product(names, repeat=2):
        try:
            both = usmpy.result_type(a, b)
        except TypeError:
            with pytest.raises(TypeError):
                usmpy.result_type(b, a)
            continue
        assert usmpy.result_type(b, a) == both
        assert usmpy.result_type(both, a) == both


def test_promotion_does_not_depend_on_the_order():
    for names in itertools.combinations(
        ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"], 3
    ):
        results = {usmpy.result_type(*order) for order in itertools.permutations(names)}
        assert results == {np.result_type(*names).name}


@pytest.mark.parametrize(
    ("dtype", "number", "expected"),
    [
        ("bool", True, "bool"),
        ("bool", 1, "int64"),
        ("bool", 1.5, "float64"),
        ("bool", 1j, "complex128"),
        ("int8", 1, "int8"),
        ("int8", True, "int8"),
        ("int8", 1.0, "float64"),
        ("uint8", 1j, "complex128"),
        ("uint64", -1, "uint64"),
        ("float32", 1, "float32"),
        ("float32", 1.0, "float32"),
        ("float32", 1j, "complex64"),
        ("float64", 1j, "complex128"),
        ("float16", 1j, "complex64"),
        ("bfloat16", 2.0, "bfloat16"),
        ("complex64", 1.0, "complex64"),
        ("float32", True, "float32"),
    ],
)
def test_python_numbers_follow_the_others(dtype, number, expected):
    x = usmpy.empty(1, dtype=dtype)
    assert usmpy.result_type(x, number) == usmpy.result_type(number, x) == expected


def test_result_type_of_nothing():
    for arguments in ((), (1,), (1.0, 2j)):
        with pytest.raises(TypeError, match="at least one array or dtype"):
            usmpy.result_type(*arguments)
    with pytest.raises(TypeError, match="dtype is"):
        usmpy.result_type(usmpy.float32, object())


KINDS = {
    "bool": ["bool"],
    "signed integer": INTEGERS[:4],
    "unsigned integer": INTEGERS[4:],
    "integral": INTEGERS,
    "real floating": ["float16", "float32", "float64", *SHORT],
    "complex floating": ["complex32", "complex64", "complex128"],
}
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


@pytest.mark.parametrize("kind", KINDS)
def test_isdtype(kind):
    for name in {name for names in KINDS.values() for name in names}:
        assert usmpy.isdtype(getattr(usmpy, name), kind) is (name in KINDS[kind])
    assert usmpy.isdtype(usmpy.int8, (kind, usmpy.int8))
    assert not usmpy.isdtype(usmpy.int8, ())
    assert usmpy.isdtype(dtype="int8", kind=usmpy.int8)
    with pytest.raises(ValueError, match="kind is 'float'"):
        usmpy.isdtype(usmpy.int8, "float")
    with pytest.raises(TypeError, match="dtype is"):
        usmpy.isdtype(1.5, kind)


@pytest.mark.parametrize("name", ["float16", "float32", "float64", *SHORT])
def test_finfo(name):
    ours, theirs = usmpy.finfo(name), ml_dtypes.finfo(getattr(np, name, None) or getattr(ml_dtypes, name))
    for attribute in ("bits", "eps", "max", "min", "smallest_normal"):
        value = getattr(ours, attribute)
        assert type(value) is (int if attribute == "bits" else float)
        assert value == float(getattr(theirs, attribute))
    assert ours.dtype is getattr(usmpy, name)


def test_finfo_of_complex_types_and_arrays():
    assert usmpy.finfo(usmpy.complex64) == usmpy.finfo(usmpy.float32)
    assert usmpy.finfo(usmpy.empty(1, dtype="complex128")).dtype is usmpy.float64
    for bad in ("int8", "bool"):
        with pytest.raises(TypeError, match="floating"):
            usmpy.finfo(bad)


@pytest.mark.parametrize("name", INTEGERS)
def test_iinfo(name):
    ours, theirs = usmpy.iinfo(name), np.iinfo(name)
    assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert usmpy.iinfo(usmpy.empty(1, dtype=name)).dtype is getattr(usmpy, name)
    for bad in ("float32", "bool", "complex64"):
        with pytest.raises(TypeError, match="integer"):
            usmpy.iinfo(bad)


def test_capabilities_of_the_namespace():
    info = usmpy.__array_namespace_info__()
    assert info.capabilities()["max dimensions"] == usmpy.zeros((1,) * 64).ndim
    assert info.default_device() == usmpy.select_default_device() == usmpy.empty(1).device
    assert info.devices() == tuple(usmpy.get_devices())
    for device in (None, *info.devices()):
        chosen = info.default_dtypes(device=device)
        assert set(chosen) == {"real floating", "complex floating", "integral", "indexing"}
        assert usmpy.empty(1, device=device).dtype == chosen["real floating"]
        assert usmpy.asarray([1], device=device).dtype == chosen["integral"]
        known = info.dtypes(device=device)
        assert ("float64" in known) is usmpy.zeros(1, device=device).device.has_fp64
        assert all(dtype == name for name, dtype in known.items())
    assert list(info.dtypes(kind="signed integer")) == INTEGERS[:4]
    assert list(info.dtypes(kind=("bool", "integral"))) == ["bool", *INTEGERS]
    assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="kind is 'real'"):
        info.dtypes(kind="real")
    with pytest.raises(ValueError, match="selector"):
        info.dtypes(device="nonsense:1:2:3:4")
