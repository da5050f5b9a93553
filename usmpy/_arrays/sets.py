"""searchsorted, isin and the unique functions, which are put together from sorts, scans and indexing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from .. import _core
from .indexing import _checked
from .objects import shown
from .statistics import _common, _numbers

if TYPE_CHECKING:
    import builtins

    from .._core import USMArray


class UniqueAll(NamedTuple):
    """What unique_all returns."""

    values: USMArray
    indices: USMArray
    inverse_indices: USMArray
    counts: USMArray


class UniqueCounts(NamedTuple):
    """What unique_counts returns."""

    values: USMArray
    counts: USMArray


class UniqueInverse(NamedTuple):
    """What unique_inverse returns."""

    values: USMArray
    inverse_indices: USMArray


def _pair(x1: object, x2: object, function: str) -> tuple[USMArray, USMArray]:
    """Both as arrays of one type and queue; one of them may be a number."""
    if not (isinstance(x1, _core.USMArray) and isinstance(x2, _core.USMArray)):
        is_second = isinstance(x1, _core.USMArray) or _core._number(x1) is None
        number = _core._number(x2 if is_second else x1)
        if number is not None:
            like = _numbers(x1 if is_second else x2, function, "x1" if is_second else "x2")
            try:
                other = _core.asarray(number, dtype=_common(function, like, number), queue=like.queue)
            except OverflowError as error:
                raise OverflowError(f"{function}(): {'x2' if is_second else 'x1'}: {error}") from None
            x1, x2 = (like, other) if is_second else (other, like)
    a, b = _numbers(x1, function, "x1"), _numbers(x2, function, "x2")
    if a.queue != b.queue:
        _core._raise_placement(function, x1=a, x2=b)
    dtype = _common(function, a, b)
    return _core.astype(a, dtype, copy=False), _core.astype(b, dtype, copy=False)


def searchsorted(
    x1: USMArray,
    x2: USMArray | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: USMArray | None = None,
) -> USMArray:
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(): side is {shown(side)}; 'left' or 'right' is allowed")
    row, values = _pair(_checked(x1, "searchsorted", "x1"), x2, "searchsorted")
    if row.ndim != 1:
        raise ValueError(f"searchsorted(): x1 has {row.ndim} dimensions; 1 is needed")
    if sorter is not None:
        if _checked(sorter, "searchsorted", "sorter").shape != row.shape or not _core.isdtype(
            sorter.dtype, "integral"
        ):
            raise ValueError(
                f"searchsorted(): sorter has shape {sorter.shape} and dtype {sorter.dtype}; integers in the "
                f"shape {row.shape} of x1 are allowed"
            )
        if sorter.queue != row.queue:
            _core._raise_placement("searchsorted", x1=row, sorter=sorter)
    return _core._search(row, values, sorter, side == "right")


def _order(flat: USMArray) -> USMArray:
    """argsort; complex numbers by their real parts, then by their imaginary ones."""
    if not _core.isdtype(flat.dtype, "complex floating"):
        return _core.argsort(flat)
    order = _core.argsort(flat.imag)
    return _core.take(order, _core.argsort(_core.take(flat.real, order)))


def _ordered(flat: USMArray) -> USMArray:
    """The elements in that order."""
    if _core.isdtype(flat.dtype, "complex floating"):
        return _core.take(flat, _order(flat))
    return _core.sort(flat)


def _firsts(ordered: USMArray) -> USMArray:
    """Which elements of a vector in order differ from those before them."""
    first = _core.ones(ordered.shape, dtype="bool", queue=ordered.queue, usm_type=ordered.usm_type)
    if ordered.size > 1:
        first[1:] = _core.not_equal(ordered[1:], ordered[:-1])
    return first


def _flat(x: object, function: str) -> USMArray:
    return _core.reshape(_numbers(x, function), (-1,))


def _inverse(order: USMArray, first: USMArray, shape: tuple[int, ...]) -> USMArray:
    """For each element, the number of its value."""
    inverse = _core.empty(order.shape, dtype="int64", queue=order.queue, usm_type=order.usm_type)
    if order.size > 0:
        steps = _core.astype(first, "int64")
        steps[0] = 0
        inverse[order] = _core.cumulative_sum(steps)
    return _core.reshape(inverse, shape)


def _counts(first: USMArray) -> USMArray:
    """How many elements each value has."""
    begins = _core.nonzero(first)[0]
    ends = _core.empty(begins.shape, dtype="int64", queue=first.queue, usm_type=first.usm_type)
    if begins.size > 0:
        ends[:-1] = begins[1:]
        ends[-1] = first.size
    return _core.subtract(ends, begins)


def unique_values(x: USMArray, /) -> USMArray:
    ordered = _ordered(_flat(x, "unique_values"))
    return ordered[_firsts(ordered)]


def unique_counts(x: USMArray, /) -> UniqueCounts:
    ordered = _ordered(_flat(x, "unique_counts"))
    first = _firsts(ordered)
    return UniqueCounts(ordered[first], _counts(first))


def unique_inverse(x: USMArray, /) -> UniqueInverse:
    flat = _flat(x, "unique_inverse")
    order = _order(flat)
    ordered = _core.take(flat, order)
    first = _firsts(ordered)
    return UniqueInverse(ordered[first], _inverse(order, first, x.shape))


def unique_all(x: USMArray, /) -> UniqueAll:
    flat = _flat(x, "unique_all")
    order = _order(flat)
    ordered = _core.take(flat, order)
    first = _firsts(ordered)
    return UniqueAll(ordered[first], order[first], _inverse(order, first, x.shape), _counts(first))


def isin(x1: USMArray | complex, x2: USMArray | complex, /, *, invert: builtins.bool = False) -> USMArray:
    if not isinstance(invert, bool):
        raise TypeError(f"isin(): invert is a {type(invert).__name__:.80}; a bool is allowed")
    a, b = _pair(x1, x2, "isin")
    values = _core.reshape(b, (-1,))
    if a.size == 0 or values.size == 0:
        return _core.full(a.shape, invert, dtype="bool", queue=a.queue, usm_type=a.usm_type)
    if _core.isdtype(a.dtype, "complex floating"):
        both = unique_inverse(_core.concat([_core.reshape(a, (-1,)), values]))
        has = _core.zeros(both.values.shape, dtype="bool", queue=a.queue, usm_type=a.usm_type)
        has[both.inverse_indices[a.size :]] = True
        found = _core.reshape(_core.take(has, both.inverse_indices[: a.size]), a.shape)
    else:
        values = _core.sort(values)
        places = _core._search(values, a, None, False)
        nearest = _core.reshape(_core.minimum(places, values.size - 1), (-1,))
        found = _core.equal(_core.reshape(_core.take(values, nearest), a.shape), a)
    return _core.logical_not(found) if invert else found
