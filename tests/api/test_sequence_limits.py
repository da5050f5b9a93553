"""Which numbers arange and linspace take: Python's, and zero-dimensional ones of any library, as they are."""

from decimal import Decimal
from fractions import Fraction

import pytest

import usmpy

np = pytest.importorskip("numpy")

# One number in many forms.
TWO = {
    "int": 2,
    "float": 2.0,
    "bool": True + True,
    "numpy scalar": np.float32(2),
    "numpy int": np.int8(2),
    "numpy long double": np.longdouble(2),
    "numpy 0-d": np.array(2.0),
    "usmpy 0-d": usmpy.asarray,  # made in the test: the fixtures count objects
    "Fraction": Fraction(2),
    "Decimal": Decimal(2),
}
COMPLEX = {
    "complex": 1j,
    "numpy complex64": np.complex64(1j),
    "numpy complex128": np.complex128(1j),
    "numpy 0-d": np.array(1j, dtype="complex64"),
    "usmpy 0-d": usmpy.asarray,
}
NO_NUMBERS = {"str": "2", "bytes": b"2", "list": [2], "vector": np.ones(2), "object": object()}


def cases(table):
    return pytest.mark.parametrize("number", table.values(), ids=list(table))


@cases(TWO)
def test_real_limits_in_any_form(number):
    number = number(2.0) if number is usmpy.asarray else number
    assert usmpy.arange(number).tolist() == [0, 1]
    assert usmpy.arange(0, number, number).tolist() == [0]
    assert usmpy.linspace(0, number, 3).tolist() == [0, 1, 2]
    assert usmpy.linspace(number, 0, 3).tolist() == [2, 1, 0]


@cases(COMPLEX)
def test_linspace_keeps_the_imaginary_part_of_a_limit(number):
    number = number(1j) if number is usmpy.asarray else number
    result = usmpy.linspace(number, 2, 3)
    assert result.dtype == "complex128"
    assert result.tolist() == [1j, 1 + 0.5j, 2]
    assert usmpy.linspace(0, number, 2).tolist() == [0, 1j]
    with pytest.raises(TypeError, match="complex"):
        usmpy.linspace(0, number, 2, dtype="float64")


@cases(COMPLEX)
def test_arange_refuses_complex_limits(number):
    number = number(1j) if number is usmpy.asarray else number
    for arguments, name in (((number,), "stop"), ((number, 3), "start"), ((0, 3, number), "step")):
        with pytest.raises(TypeError, match=f"^{name} is .*real number"):
            usmpy.arange(*arguments)


@cases(NO_NUMBERS)
def test_other_objects_are_refused_by_the_name_of_the_parameter(number):
    with pytest.raises(TypeError, match=r"^start is "):
        usmpy.arange(number, 3)
    with pytest.raises(TypeError, match=r"^start is "):
        usmpy.linspace(number, 3, 4)
    with pytest.raises(TypeError, match=r"^stop is "):
        usmpy.linspace(3, number, 4)


def test_errors_of_a_number_of_its_own_kind_come_out():
    class Broken:
        def __float__(self):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        usmpy.linspace(Broken(), 1, 2)
    with pytest.raises(RuntimeError, match="broken"):
        usmpy.arange(Broken())
