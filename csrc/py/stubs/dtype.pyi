"""DType, the data types, their limits and promotion."""

import builtins
from typing import Any, Final, Literal, final

import numpy as np
from _typeshed import structseq

from .array import USMArray
from .types import _DTypeLike

@final
class DType:
    """A data type, such as usmpy.float32: one object for each type.

    Held and exchanged bit for bit are the types of DLPack 1.3 with one lane: bool, integers, float16 to
    float64, complex32 to complex128, bfloat16, float8, and the packed float6 and float4.

    Parameters
    ----------
    name : DType, str, type or numpy.dtype
        A name (``"float32"``), a code or word of NumPy (``"f4"``, ``"<f4"``, ``"?"``, ``"double"``), a scalar
        type of Python, NumPy or ctypes, or a numpy.dtype, in little-endian byte order.

    Raises
    ------
    TypeError
        For anything else, big-endian types among it.

    Notes
    -----
    A DType is equal to what DType() makes it from, and has the hash of its name.

    Examples
    --------
    >>> usmpy.DType("f4")
    usmpy.float32
    >>> usmpy.float32 == "float32", usmpy.float32.itemsize, usmpy.float32.kind
    (True, 4, 'f')
    """
    def __new__(cls, name: _DTypeLike, /) -> DType: ...
    @property
    def name(self) -> builtins.str:
        """The name, such as 'float32'."""
    @property
    def kind(self) -> Literal["b", "i", "u", "f", "c"]:
        """The kind of numbers in one letter, as NumPy has it: bool 'b', signed 'i' and unsigned integers 'u',
        real 'f' and complex 'c' floating-point numbers (all of them: bfloat16 is 'f').
        """
    @property
    def char(self) -> builtins.str:
        """NumPy's letter for the type, such as 'f'.

        Raises
        ------
        AttributeError
            For types that NumPy has no letter for.
        """
    @property
    def str(self) -> builtins.str:
        """NumPy's code with byte order, kind and size in bytes, such as '<f4'.

        Raises
        ------
        AttributeError
            For types that NumPy has no code for.
        """
    @property
    def type(self) -> builtins.type[Any]:
        """The class of NumPy's scalars, such as numpy.float32.

        Raises
        ------
        TypeError
            As `dtype` raises it.
        """
    @property
    def itemsize(self) -> int:
        """Size of one element in bytes, rounded up: 1 for the packed types of 4 and 6 bits."""
    @property
    def bits(self) -> int:
        """Size of one element in bits."""
    @property
    def hasobject(self) -> builtins.bool:
        """False: no element is a Python object. For code that was written for numpy.dtype."""
    @property
    def fields(self) -> None:
        """None: no type has fields. For code that was written for numpy.dtype."""
    @property
    def names(self) -> None:
        """None, as `fields`."""
    @property
    def dlpack(self) -> tuple[int, int, int]:
        """(type code, bits, lanes) of the elements (DLPack 1.3, DLDataType)."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy.dtype of the same elements, for which numpy.dtype(self) asks.

        bfloat16, float8 and narrower types need the package ml_dtypes.

        Raises
        ------
        TypeError
            Neither NumPy nor ml_dtypes has the type.
        ImportError
            NumPy is not installed.
        """
    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """The numpy.dtype of the same elements (the protocol of NumPy 2.4).

        Raises
        ------
        TypeError, ImportError
            As `dtype` does.
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by name: unpickling gives the same object."""

bool: Final[DType]
int8: Final[DType]
int16: Final[DType]
int32: Final[DType]
int64: Final[DType]
uint8: Final[DType]
uint16: Final[DType]
uint32: Final[DType]
uint64: Final[DType]
float16: Final[DType]
float32: Final[DType]
float64: Final[DType]
complex32: Final[DType]
complex64: Final[DType]
complex128: Final[DType]
bfloat16: Final[DType]
float8_e3m4: Final[DType]
float8_e4m3: Final[DType]
float8_e4m3b11fnuz: Final[DType]
float8_e4m3fn: Final[DType]
float8_e4m3fnuz: Final[DType]
float8_e5m2: Final[DType]
float8_e5m2fnuz: Final[DType]
float8_e8m0fnu: Final[DType]
float6_e2m3fn: Final[DType]
float6_e3m2fn: Final[DType]
float4_e2m1fn: Final[DType]

@final
class FloatLimits(structseq[Any], tuple[int, float, float, float, float, DType]):
    """Limits of a floating-point type, from finfo()."""

    __match_args__: Final = ("bits", "eps", "max", "min", "smallest_normal", "dtype")
    @property
    def bits(self) -> int:
        """The size of one number in bits."""
    @property
    def eps(self) -> float:
        """The distance from 1 to the next larger number."""
    @property
    def max(self) -> float:
        """The largest finite number."""
    @property
    def min(self) -> float:
        """The smallest finite number."""
    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with full precision."""
    @property
    def dtype(self) -> DType:
        """The type of real numbers."""

@final
class IntegerLimits(structseq[Any], tuple[int, int, int, DType]):
    """Limits of an integer type, from iinfo()."""

    __match_args__: Final = ("bits", "max", "min", "dtype")
    @property
    def bits(self) -> int:
        """The size of one number in bits."""
    @property
    def max(self) -> int:
        """The largest number."""
    @property
    def min(self) -> int:
        """The smallest number."""
    @property
    def dtype(self) -> DType:
        """The type."""

def result_type(*arrays_and_dtypes: USMArray | _DTypeLike | complex) -> DType:
    """The type that arrays, types and Python numbers promote to.

    Parameters
    ----------
    *arrays_and_dtypes : USMArray, DType, str, type or number
        At least one array or type among them. Python numbers follow these: they decide only by being of a
        higher kind.

    Returns
    -------
    DType
        The common type; it does not depend on the order of the arguments.

    Raises
    ------
    TypeError
        There is no common type (uint64 with signed integers, types that are only stored with others), no
        array or type, or an argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, result_type. Where it leaves the result open, since the kinds differ,
    NumPy's rules hold: bool with any type is that type; integers of 8 bits go into every floating-point
    type, of 16 bits into float32, wider ones into float64, on devices that have it. bfloat16 promotes as
    float16 does; the two give float32.

    Examples
    --------
    >>> usmpy.result_type("int8", "uint8"), usmpy.result_type("int32", "float32")
    (usmpy.int16, usmpy.float64)
    >>> usmpy.result_type(usmpy.zeros(1, dtype="float32"), 1.5)
    usmpy.float32
    """

def can_cast(from_: _DTypeLike | USMArray, to: _DTypeLike, /) -> builtins.bool:
    """Whether promotion turns one type into another.

    Parameters
    ----------
    from_ : DType, str, type or USMArray
        The type to cast.
    to : DType, str or type
        The type that it is cast to.

    Returns
    -------
    bool
        ``result_type(from_, to) == to``.

    Raises
    ------
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, can_cast.

    Examples
    --------
    >>> usmpy.can_cast("int8", "int16"), usmpy.can_cast("float64", "float32")
    (True, False)
    """

def isdtype(dtype: _DTypeLike, kind: _DTypeLike | tuple[_DTypeLike, ...]) -> builtins.bool:
    """Whether a type is of a kind.

    Parameters
    ----------
    dtype : DType, str or type
        The type.
    kind : str, DType or tuple of these
        "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating",
        "numeric", a type, or several, one of which is enough.

    Returns
    -------
    bool
        Whether the type is of this kind.

    Raises
    ------
    ValueError
        `kind` is another word.
    TypeError
        An argument has a wrong type.

    Notes
    -----
    The array API standard 2025.12, isdtype.

    Examples
    --------
    >>> usmpy.isdtype(usmpy.float32, "real floating"), usmpy.isdtype(usmpy.int8, ("bool", usmpy.int8))
    (True, True)
    """

def finfo(type: _DTypeLike | USMArray, /) -> FloatLimits:
    """Limits of a floating-point type.

    Parameters
    ----------
    type : DType, str, type or USMArray
        A real or complex floating-point type, or an array of one.

    Returns
    -------
    FloatLimits
        bits, eps, max, min, smallest_normal and dtype; of a complex type those of its parts.

    Raises
    ------
    TypeError
        `type` is not such a type.

    Notes
    -----
    The array API standard 2025.12, finfo.

    Examples
    --------
    >>> usmpy.finfo("float32").bits, usmpy.finfo("float16").max
    (32, 65504.0)
    """

def iinfo(type: _DTypeLike | USMArray, /) -> IntegerLimits:
    """Limits of an integer type.

    Parameters
    ----------
    type : DType, str, type or USMArray
        An integer type, or an array of one.

    Returns
    -------
    IntegerLimits
        bits, max, min and dtype.

    Raises
    ------
    TypeError
        `type` is not an integer type.

    Notes
    -----
    The array API standard 2025.12, iinfo.

    Examples
    --------
    >>> usmpy.iinfo("int8").min, usmpy.iinfo("uint16").max
    (-128, 65535)
    """
