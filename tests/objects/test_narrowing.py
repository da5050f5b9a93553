"""Integers at the entries that have a type of their own: they fit it, or mean what the entry's rule says.

Python's ints must fit the type, as in NumPy 2, alone and in lists. Integers of NumPy and ctypes that meet
`dtype=` in `asarray` are cast as NumPy casts them; where an array or a `fill_value` gets them, they must fit.
"""

import ctypes

import numpy as np
from together import together

import usmpy

TYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
EDGES = sorted({edge for name in TYPES for edge in (np.iinfo(name).min, np.iinfo(name).max)})
VALUES = sorted({value + off for value in EDGES for off in (-1, 0, 1)} | {2**64 + 5, -(2**70)})


def made(change):
    """An entry that changes an array of two zeros of the type."""

    def entry(namespace, value, dtype):
        x = namespace.zeros(2, dtype=dtype)
        change(namespace, x, value)
        return x

    return entry


MASK, PLACES = [True, True], [0, 1]
# What gives an array of two equal elements, in NumPy's namespace and in usmpy's.
ENTRIES = {
    "full": lambda m, v, dtype: m.full(2, v, dtype=dtype),
    "full_like": lambda m, v, dtype: m.full_like(m.zeros(2, dtype=dtype), v),
    "x[...] =": made(lambda m, x, v: x.__setitem__(..., v)),
    "x[1] =": made(lambda m, x, v: (x.__setitem__(0, v), x.__setitem__(1, v))),
    "x[indices] =": made(lambda m, x, v: x.__setitem__(m.asarray(PLACES), v)),
    "x[mask] =": made(lambda m, x, v: x.__setitem__(m.asarray(MASK), v)),
    "copyto": made(lambda m, x, v: m.copyto(x, v)),
    "copyto unsafe": made(lambda m, x, v: m.copyto(x, v, casting="unsafe")),
    "copyto no": made(lambda m, x, v: m.copyto(x, v, casting="no")),
    "fill": made(lambda m, x, v: x.fill(v)),
    "put": made(lambda m, x, v: m.put(x, m.asarray(PLACES), v)),
    "place": made(lambda m, x, v: m.place(x, m.asarray(MASK), v)),
    "put_along_axis": made(lambda m, x, v: m.put_along_axis(x, m.asarray(PLACES), v, 0)),
}


def result(entry, namespace, value, dtype):
    try:
        return np.asarray(entry(namespace, value, dtype)).tolist()
    except Exception as error:
        return type(error)


@together("name, dtype", [(name, dtype) for name in ENTRIES for dtype in TYPES])
def test_ints_of_python_fit_or_overflow(name, dtype):
    limits = np.iinfo(dtype)
    for value in VALUES:
        fits = limits.min <= value <= limits.max
        got = result(ENTRIES[name], usmpy, value, dtype)
        assert got == ([value, value] if fits else OverflowError), value
        if fits:
            assert got == result(ENTRIES[name], np, value, dtype), value


LISTS = [name for name in ENTRIES if name not in ("x[1] =", "fill") and "copyto" not in name]


@together("name, dtype", [(name, dtype) for name in LISTS for dtype in TYPES])
def test_ints_in_lists_fit_or_overflow(name, dtype):
    limits = np.iinfo(dtype)
    for value in VALUES:
        fits = limits.min <= value <= limits.max
        got = result(ENTRIES[name], usmpy, [value, value], dtype)
        assert got == ([value, value] if fits else OverflowError), value


def scalars():
    for source in TYPES:
        for value in VALUES:
            if np.iinfo(source).min <= value <= np.iinfo(source).max:
                yield np.dtype(source).type(value)
                yield np.array(value, source)
                yield getattr(ctypes, f"c_{source}")(value)


@together("dtype", TYPES)
def test_typed_integers_are_cast_by_dtype_as_numpy_casts_them(dtype):
    for scalar in scalars():
        x = usmpy.asarray(scalar, dtype=dtype)
        assert (x.dtype, x.shape) == (dtype, ()), scalar
        assert x.tolist() == np.asarray(scalar).astype(dtype).tolist(), scalar


@together("name, dtype", [(name, dtype) for name in ENTRIES for dtype in TYPES])
def test_typed_integers_fit_elsewhere(name, dtype):
    limits = np.iinfo(dtype)
    for scalar in scalars():
        value = np.asarray(scalar).item()
        got = result(ENTRIES[name], usmpy, scalar, dtype)
        if "copyto" in name:  # which goes by their types alone
            assert got == result(ENTRIES[name], np, scalar, dtype), scalar
        else:
            assert got == ([value, value] if limits.min <= value <= limits.max else OverflowError), scalar
