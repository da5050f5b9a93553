"""What objects of other libraries are as arrays: how NumPy reads them, and the words where nothing does."""

from __future__ import annotations

import operator
import sys

from . import _core
from ._numpy import _PACKED

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

    import numpy as np

_MOST = 80  # characters of a name or a representation in a message

# What arrays here do not have, by the kind of NumPy's type, and the call that makes an array which they are.
_WAYS = {
    "M": ("times", '{array}.view("int64") has their counts'),
    "m": ("times", '{array}.view("int64") has their counts'),
    "S": ("text", '{block}.view("uint8") has its bytes'),
    "U": ("text", '{array}.astype("float64") has numbers that are written in it'),
    "T": ("text", '{array}.astype("float64") has numbers that are written in it'),
    "O": ("Python objects", 'numpy.asarray(obj, dtype="float64") has the numbers that they are'),
    "V": ("records", '{block}.view("uint8") has their bytes, which kernels take as an array of structs'),
}


def shown(value: object, most: int = 100) -> str:
    """The beginning of an object's representation; its class where that raises."""
    try:
        return repr(value)[:most]
    except Exception:
        return _one(value)


def items(values: Any, parameter: str, most: int = 1 << 20) -> list[Any]:
    """The items of an iterable, which may have no end; ValueError if it has more than `most`."""
    from itertools import islice

    if isinstance(values, (str, bytes)) or not hasattr(type(values), "__iter__"):
        raise TypeError(f"{parameter} is {shown(values)}; a sequence is allowed")
    found = list(islice(values, most + 1))
    if len(found) > most:
        raise ValueError(f"{parameter} has more than {most} items; at most as many are allowed")
    return found


def as_int(value: Any, parameter: str, allowed: str = "an int is allowed") -> int:
    """The int that a parameter stands for; TypeError with its name for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{parameter} is {shown(value)}; {allowed}") from None


def _package(obj: object) -> str:
    return str(type(obj).__module__).split(".")[0]  # a class may have anything there


def _named(obj: object) -> str:
    package = _package(obj)
    module = "" if package in ("builtins", "__main__") else f"{package}."
    return f"{module}{type(obj).__qualname__}"[:_MOST]


def _one(obj: object) -> str:
    name = _named(obj)
    return f"{'an' if name[:1] in tuple('aeioAEIO') else 'a'} {name}"


def _first_line(error: BaseException) -> str:
    try:
        return (str(error).splitlines() or [""])[0][:160]
    except Exception:  # of a __str__ that raises
        return ""


# What arrays of PyTorch that have no plain memory are, and the call that makes one: by attributes that are
# true, and by classes.
_HINTS = {
    "is_mkldnn": "obj.to_dense() is an array",
    "is_quantized": "obj.dequantize() is an array of its values",
    "is_nested": "obj.to_padded_tensor(0) is an array",
    "is_meta": "it has no elements",
}
_CLASSES = {
    "MaskedTensor": "obj.to_tensor(0) is an array, with 0 where it is masked",
    "FakeTensor": "it has no elements",
}
_TOO_SMALL = "its storage has been resized, and does not hold its elements"


def _attribute(obj: Any, name: str) -> Any:
    try:
        return getattr(obj, name, None)
    except Exception:
        return None


def _lacks_storage(obj: Any) -> bool:
    """Whether an array of PyTorch has a storage that ``resize_`` has made too small for it."""
    try:
        last = sum((n - 1) * step for n, step in zip(obj.shape, obj.stride(), strict=True))
        elements = 0 if 0 in obj.shape else obj.storage_offset() + last + 1
        return bool(obj.untyped_storage().nbytes() < elements * obj.element_size())
    except Exception:  # it is another object, or has no storage
        return False


def _hint(obj: Any) -> str:
    hints = ["asarray(obj) copies its elements"] if _numpy_reads(obj) else []
    layout = _attribute(obj, "layout")
    if type(layout).__module__ == "torch" and "sparse" in str(layout):
        hints.append("obj.to_dense() is an array")
    hints += [hint for name, hint in _HINTS.items() if _attribute(obj, name) is True]
    hints += [_CLASSES[each.__name__] for each in type(obj).__mro__ if each.__name__ in _CLASSES]
    hints += [_TOO_SMALL] if _lacks_storage(obj) else []
    return hints[0] if hints else ""


def failure(what: str, obj: Any, error: BaseException) -> str:
    """The message where a library's own protocol has raised an error."""
    line, hint = _first_line(error), _hint(obj)
    return "".join(
        [
            f"{what} of {_named(obj)} failed: {type(error).__name__[:_MOST]}",
            f": {line}" if line else "",
            f"; {hint}" if hint else "",
        ]
    )


def _numpy_reads(obj: Any) -> bool:
    """Whether it is an array or scalar of NumPy with elements that arrays here have."""
    if _package(obj) not in ("numpy", "ml_dtypes"):
        return False
    import numpy as np

    return isinstance(obj, (np.ndarray, np.generic)) and _is_known(obj.dtype)


def _behind(obj: Any) -> Any:
    """The object whose protocol a proxy hands out: the one that a method is bound to."""
    for name in ("__array__", "__dlpack__"):
        try:
            owner = getattr(getattr(obj, name, None), "__self__", None)
        except Exception:  # of a property of the object
            owner = None
        if owner is not None:
            return owner
    return obj


def _is_masked(obj: np.ma.MaskedArray[Any, Any]) -> bool:
    import numpy as np

    mask = np.ma.getmaskarray(obj)  # of records, whose fields are bools
    return bool(np.ascontiguousarray(mask).view("?").any())


def is_index(obj: Any) -> bool:
    """Whether __index__ of an object gives the number that it is: records of NumPy have one, too."""
    check(obj)
    if hasattr(type(obj), "__getitem__") and not isinstance(getattr(obj, "ndim", None), int):
        return False  # it answers whatever it is asked, as mocks do
    kind = getattr(getattr(obj, "dtype", None), "kind", "i")
    return not isinstance(kind, str) or kind in "iu"


def check(obj: Any) -> None:
    """Refuse an object whose mask or unit would be lost, or whose memory NumPy reads although it is gone."""
    owner = _behind(obj)
    if _lacks_storage(owner):
        raise BufferError(f"obj is {_one(obj)}: {_TOO_SMALL}")
    ma = sys.modules.get("numpy.ma")  # an object with a mask has loaded it
    if ma is not None and isinstance(owner, ma.MaskedArray) and _is_masked(owner):
        way = "obj.filled(0) has 0" if owner.dtype.names is None else "obj.filled() has other values"
        raise BufferError(
            f"obj is {_one(obj)} with masked elements, and arrays here have no mask; {way} there"
        )
    for name in ("unit", "units"):
        kind = getattr(owner, "__class__", None)
        unit = getattr(owner, name, None) if hasattr(kind, name) else None  # no column of this name
        if unit is not None and not isinstance(unit, str) and not callable(unit):
            raise BufferError(
                f"obj is {_one(obj)} with unit {str(unit)[:_MOST]!r}, and arrays here have no units; "
                f"obj.{'magnitude' if hasattr(obj, 'magnitude') else 'value'} has the numbers alone"
            )


def _has_numbers(array: np.ndarray[Any, Any]) -> bool:
    """Whether its objects or texts are numbers."""
    try:
        return array.astype("float64") is not None
    except Exception:
        return False


def _words(obj: Any, array: np.ndarray[Any, Any]) -> str:
    dtype = array.dtype
    shown = str(dtype)[:_MOST]
    text = "obj" if type(obj) is type(array) else "numpy.asarray(obj)"
    block = text if array.ndim and array.flags.c_contiguous else "numpy.ascontiguousarray(obj)"
    if dtype.kind in _WAYS and dtype.name not in _PACKED:
        what, way = _WAYS[dtype.kind]
        way = (
            "; " + way.format(array=text, block=block) if "float64" not in way or _has_numbers(array) else ""
        )
        return f"dtype {shown}; arrays here have no {what}{way}"
    if not dtype.isnative:
        native = dtype.newbyteorder("=")
        return f'dtype {shown}, of another byte order; {text}.astype("{native}") has that of this machine'
    nearest = "complex128" if dtype.kind == "c" else "float64" if dtype.itemsize > 2 else "float32"
    return f'dtype {shown}, which arrays here lack; {text}.astype("{nearest}") has another'


def _is_known(dtype: np.dtype[Any]) -> bool:
    known = getattr(_core, dtype.name, None)
    return dtype.isnative and dtype.name not in _PACKED and isinstance(known, _core.DType)


def read(obj: Any, refusal: Exception | None) -> Any:
    """Return what NumPy makes of an object in one call: an array that usmpy takes. Else raise.

    `refusal` is what the protocols that share memory have said, and None for an object that has none.
    """
    try:
        import numpy as np
    except ImportError:
        text = f"obj is {_one(obj)}, which NumPy reads; NumPy is not installed"
        raise refusal or TypeError(text) from None
    check(obj)
    try:
        array = np.asarray(obj)
    except MemoryError:
        raise
    except Exception as error:
        if refusal is not None:
            raise refusal from None
        raise BufferError(failure("numpy.asarray", obj, error)) from error
    dtype = array.dtype
    if not _is_known(dtype):
        message = f"obj is {_one(obj)}, which NumPy reads as {_words(obj, array)}"
        raise (TypeError if refusal is None else type(refusal))(message) from refusal
    if dtype.type.__module__ != "numpy":  # of ml_dtypes: by their bits
        bits = _core.from_dlpack(array.view(f"uint{8 * dtype.itemsize}"))
        return _core._reinterpret(bits, dtype.name)
    return array.copy() if any(stride % dtype.itemsize for stride in array.strides) else array


# Methods that copy an object's elements to where they can be read, and what their results are.
_COPIES = ("get", "numpy", "to_numpy", "asnumpy", "toarray", "todense", "collect")


def _way(obj: Any) -> str:
    if isinstance(obj, type):
        return "an instance of it may be one"
    if isinstance(obj, bytes):
        return "asarray(obj) of it alone is an array of uint8"
    if hasattr(type(obj), "getbuffer"):  # of io.BytesIO
        return "obj.getbuffer() is an array of uint8"
    if hasattr(type(obj), "readline"):
        return "its lines may be, one by one"
    copies = [name for name in _COPIES if hasattr(type(obj), name)]
    if copies and not hasattr(obj, "keys"):
        return f"numpy.asarray(obj.{copies[0]}()) is one"
    if hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__dataframe__"):
        return "its columns are, one by one (pyarrow: column.combine_chunks(), others: column.to_numpy())"
    if hasattr(type(obj), "keys") and hasattr(type(obj), "values"):
        return "list(obj.values()) is a sequence"
    if isinstance(obj, (set, frozenset)):
        return "sorted(obj) is a sequence"
    if hasattr(obj, "shape"):
        return "it has no protocol that says how to read it"
    if hasattr(type(obj), "__float__"):
        return "float(obj) is a number"
    if hasattr(type(obj), "__complex__"):
        return "complex(obj) is a number"
    if hasattr(type(obj), "__iter__") and not isinstance(obj, str):
        return "list(obj) is a sequence"
    return ""


def refuse_buffer(format: str, size: int, ndim: int) -> NoReturn:
    """Raise the BufferError of a buffer whose elements arrays here do not have."""
    letter = format.lstrip("@=<>!|^0123456789")[:1]
    of_ctypes = format[:1] == "<"  # which no format of NumPy begins with where it may be left out
    way = 'numpy.ascontiguousarray(obj).view("uint8") has its bytes'
    if format[:1] in (">", "!"):
        way = f'numpy.asarray(obj).astype("={format[1:]}") has that'
    elif letter in "PzZO&X" or (letter == "u" and of_ctypes):
        way = ""
    elif letter == "g":
        way = 'numpy.asarray(obj).astype("float64") has another type'
        if of_ctypes:
            way = "list(obj) has numbers" if ndim else "obj.value is a number"
    elif letter in "wu":
        way = 'numpy.ascontiguousarray(obj).view("uint32") has the codes of its characters'
    raise BufferError(
        f"the buffer has format {format[:100]!r} and item size {size}; bool, integers, float16 to float64 "
        f"and complex numbers in native byte order are allowed{': ' if way else ''}{way}"
    )


def name_item(error: BaseException, path: str) -> None:
    """Let a message about `obj`, or about `x`, say the path to the item of a sequence that it is about."""
    import re

    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (re.sub(r"\b(?:obj|x)\b(?!:|\()", path, error.args[0]),)


def refuse_number(number: int, dtype: _core.DType, items: list[Any]) -> NoReturn:
    """Raise the OverflowError of a number in a sequence, with the type that holds all of its items."""
    limits, sign = _core.iinfo(dtype), "u" * (dtype.kind == "u")
    bounds = [(item, item) for item in items if isinstance(item, int)]
    for item in items:
        if isinstance(item, _core.USMArray) and item.dtype.kind in "iu":
            bounds.append((_core.iinfo(item.dtype).min, _core.iinfo(item.dtype).max))
    lowest, highest = min(low for low, _ in bounds), max(high for _, high in bounds)
    names = [f"{s}int{bits}" for s in (sign, "" if sign else "u") for bits in (8, 16, 32, 64)]
    holds = [name for name in names if _core.iinfo(name).min <= lowest and highest <= _core.iinfo(name).max]
    text = repr(number) if number.bit_length() < 200 else f"an int of {number.bit_length()} bits"
    raise OverflowError(
        f"{text} does not fit into dtype {dtype}; {limits.min} to {limits.max} are allowed: "
        + (
            f'dtype="{holds[0]}" holds all'
            if holds
            else 'no integer type holds all, dtype="float64" rounds them'
        )
    )


def refuse(obj: Any) -> NoReturn:
    """Raise the TypeError of an object that is neither an array nor a number nor a sequence."""
    way = _way(obj)
    raise TypeError(
        f"obj is {_one(obj)}, which is neither an array nor a number nor a sequence; only these "
        f"can be made into an array{'; ' if way else ''}{way}"
    )
