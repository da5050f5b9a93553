"""Names of types of elements, and the buffer protocol's letters for them."""

from __future__ import annotations

# The types that NumPy has itself.
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]

# Those that have values: with bfloat16 beside float16.
NUMBERS = [*DTYPES[:10], "bfloat16", *DTYPES[10:]]

FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}
