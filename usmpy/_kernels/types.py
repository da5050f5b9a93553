"""Types of elements in kernels: their names in C, and the casts that calls do."""

from __future__ import annotations

from .. import _core

# The type of a variable, by dtype.
C_TYPES = {
    "bool": "bool",
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulong",
    "float16": "half",
    "float32": "float",
    "float64": "double",
    "complex64": "complex64",
    "complex128": "complex128",
}
_RANKS = {"b": 0, "u": 1, "i": 2, "f": 3, "c": 4}
# What a device must have for a type.
_ASPECTS = {"float16": ("has_fp16", "half"), "float64": ("has_fp64", "double")}
_ASPECTS["complex128"] = _ASPECTS["float64"]


def stored(name: str) -> str:
    """The type of an element in memory: pointers to bool are not allowed in OpenCL C."""
    return "uchar" if name == "bool" else C_TYPES[name]


def load(place: str, name: str) -> str:
    """The expression that reads an element of that dtype."""
    return f"({place} != 0)" if name == "bool" else place


def may_cast(source: _core.DType, target: _core.DType) -> bool:
    """Whether ``casting="same_kind"`` allows the cast; both are types of kernels."""
    return _RANKS[source.kind] <= _RANKS[target.kind]


def check_device(dtype: _core.DType, device: _core.Device, who: str) -> None:
    """TypeError where the device lacks the type's precision. who: the argument, for the message."""
    aspect = _ASPECTS.get(dtype.name)
    if aspect is not None and not getattr(device, aspect[0]):
        raise TypeError(
            f"{who}: {dtype.name} needs {aspect[1]} precision, which {device.name} lacks; "
            f"pass elements of {'complex64' if dtype.kind == 'c' else 'float32'}"
        )


def literal(value: object, dtype: _core.DType | None) -> str:
    """A Python number as an expression of C. dtype: the type that it becomes; None: unknown."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        if value > 2**63 - 1:
            return f"{value}UL"
        if value < -(2**63) or value >= 2**64:
            raise OverflowError(f"identity is {value!r:.60}; 64 bits are allowed")
        return f"({value + 1}L - 1)" if value == -(2**63) else f"({value}L)"
    if isinstance(value, complex):
        if dtype is not None and dtype.kind != "c":
            raise TypeError(f"identity is {value!r:.60}; a real number is allowed for {dtype}")
        parts = (literal(part, dtype) for part in (value.real, value.imag))
        return f"{dtype or 'complex128'}({', '.join(parts)})"
    assert isinstance(value, float)
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    digits = repr(value) if set(repr(value)) & set(".e") else f"{value!r}.0"
    return f"({digits}f)" if _is_single(dtype) else f"({digits})"


def _is_single(dtype: _core.DType | None) -> bool:
    return dtype is not None and dtype.name in ("float16", "float32", "complex64")
