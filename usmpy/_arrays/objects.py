"""What objects of other libraries are as arrays: how NumPy reads them, and the words where nothing does."""

from __future__ import annotations

import operator
import sys

from .. import _core

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

    import numpy as np

# Types of NumPy's ml_dtypes with these names have one byte an element.
PACKED = {"float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"}
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
    try:
        found = list(islice(values, most + 1))
    except NotImplementedError:  # a memoryview of elements that it does not make
        raise TypeError(f"{parameter} is {shown(values)}; a sequence is allowed") from None
    if len(found) > most:
        raise ValueError(f"{parameter} has more than {most} items; at most as many are allowed")
    return found


def as_int(value: Any, parameter: str, allowed: str = "an int is allowed") -> int:
    """The int that a parameter stands for; TypeError with its name for anything else."""
    if isinstance(value, int):
        return operator.index(value)
    try:
        if is_index(value):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{parameter} is {shown(value)}; {allowed}")


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
    hints = []
    if _numpy_reads(obj):
        own = obj.dtype.type.__module__
        bits = f'obj.view("uint{8 * obj.dtype.itemsize}") has its bits'
        hints = ["asarray(obj) copies its elements" if own == "numpy" else bits]
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


def _is_masked(obj: Any) -> bool:
    """Whether it is an array of NumPy, or one like it, with a mask that is set somewhere."""
    import numpy as np

    ma = sys.modules.get("numpy.ma")  # an object with a mask has loaded it
    if ma is not None and isinstance(obj, ma.MaskedArray):
        mask = ma.getmaskarray(obj)
    elif isinstance(obj, np.ndarray) and hasattr(type(obj), "unmasked"):  # astropy's Masked
        mask = obj.mask  # type: ignore[attr-defined]
    else:
        return False
    return bool(np.ascontiguousarray(mask).view("?").any())  # that of records has fields, which are bools


def _unit(obj: Any) -> Any:
    """The unit of an array; None for what has none, such as a frame with a column of this name."""
    import types

    import numpy as np

    is_array = isinstance(obj, np.ndarray)
    methods = (types.MethodType, types.FunctionType, types.BuiltinMethodType)
    for name in ("unit", "units"):
        if is_array or hasattr(getattr(obj, "__class__", None), name):
            unit = getattr(obj, name, None)
            is_word = isinstance(unit, str) and not is_array  # of the times of pandas
            if unit is not None and not is_word and not isinstance(unit, (*methods, np.ndarray)):
                return unit
    return None


def is_index(obj: Any) -> bool:
    """Whether __index__ of an object gives the number that it is: records of NumPy have one, too."""
    check(obj)
    if hasattr(type(obj), "__getitem__") and not isinstance(getattr(obj, "ndim", None), int):
        return False  # it answers whatever it is asked, as mocks do
    kind = getattr(getattr(obj, "dtype", None), "kind", "i")
    return not isinstance(kind, str) or kind in "iu"


def check(obj: Any, text: str = "obj") -> None:
    """Refuse an object whose mask or unit would be lost, or whose memory NumPy reads although it is gone.

    `text` is a call that makes it.
    """
    owner = _behind(obj)
    if _lacks_storage(owner):
        raise BufferError(f"obj is {_one(obj)}: {_TOO_SMALL}")
    if "numpy" not in sys.modules:
        return
    for one in (owner,) if owner is obj else (owner, obj):
        if _is_masked(one):
            way = "filled(0) has 0" if one.dtype.names is None else "filled() has other values"
            way = f"{text}.{way} there"
            raise BufferError(
                f"{text} is {_one(obj)} with masked elements, and arrays here have no mask; {way}"
            )
        if (unit := _unit(one)) is not None:
            names = [name for name in ("magnitude", "value") if hasattr(obj, name)]
            way = f"{f'{text}.{names[0]}' if names else f'numpy.asarray({text})'} has the numbers alone"
            raise BufferError(
                f"{text} is {_one(obj)} with unit {str(unit)[:_MOST]!r}, and arrays here have no units; {way}"
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
    if dtype.kind in _WAYS and dtype.name not in PACKED:
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
    return dtype.isnative and dtype.name not in PACKED and isinstance(known, _core.DType)


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
        whole = np.asanyarray(obj)  # also a mask or unit that it hands out
        array = np.asarray(whole)
    except MemoryError:
        raise
    except Exception as error:
        if refusal is not None:
            raise refusal from None
        raise BufferError(failure("numpy.asarray", obj, error)) from error
    if whole is not obj:
        check(whole, "numpy.asanyarray(obj)")
    dtype = array.dtype
    if not _is_known(dtype):
        message = f"obj is {_one(obj)}, which NumPy reads as {_words(obj, array)}"
        raise (TypeError if refusal is None else type(refusal))(message) from refusal
    if any(stride % dtype.itemsize for stride in array.strides):
        array = array.copy(order="K")
    if dtype.type.__module__ != "numpy":  # of ml_dtypes: by their bits
        bits = _core.from_dlpack(array.view(f"uint{8 * dtype.itemsize}"))
        return _core._reinterpret(bits, dtype.name)
    return array


# Methods that copy an object's elements to where they can be read, and what such objects have, too.
_COPIES = dict.fromkeys(("get", "numpy", "to_numpy", "asnumpy", "toarray", "todense"), "dtype")
_COPIES["collect"] = "collect_schema"


def _way(obj: Any) -> str:
    if isinstance(obj, type):
        return "an instance of it may be one"
    if isinstance(obj, bytes):
        return "asarray(obj) of it alone is an array of uint8"
    if hasattr(type(obj), "getbuffer"):  # of io.BytesIO
        return "obj.getbuffer() is an array of uint8"
    if hasattr(type(obj), "readline"):
        return "its lines may be, one by one"
    copies = [name for name, other in _COPIES.items() if hasattr(type(obj), name) and hasattr(obj, other)]
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
    for number in (float, complex):
        try:
            if hasattr(type(obj), f"__{number.__name__}__") and number(obj) is not None:
                return f"{number.__name__}(obj) is a number"
        except Exception:
            continue
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
    elif format.endswith("Zg"):
        way = 'numpy.asarray(obj).astype("complex128") has another type'
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
