"""Functions of NumPy over USMArrays that sort or count: quantiles, histograms, and indices that they need.

usmpy/_numpy/functions.py gives them to NumPy, with those of usmpy/_numpy/composed.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import usmpy

from .._arrays.objects import as_int, items, shown
from .._core import USMArray
from .composed import UNSET, finish, refused, sorting

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _beside(x: USMArray, values: Any) -> USMArray:
    """Parameters of a function, such as edges of bins, on the queue of its array."""
    return values if isinstance(values, USMArray) else usmpy.asarray(values, queue=x.queue)


def _ints(values: Any, parameter: str) -> list[int]:
    """One int, or one for each dimension."""
    if not hasattr(type(values), "__iter__") or getattr(values, "ndim", 1) == 0:
        return [as_int(values, parameter)]
    return [as_int(value, f"{parameter}[{i}]") for i, value in enumerate(items(values, parameter, 64))]


def _reduced_last(x: USMArray, axis: Any) -> tuple[USMArray, tuple[int, ...]]:
    """The axes that a function reduces as one, the last one; the shape of the result with keepdims."""
    axes = range(x.ndim) if axis is None else [range(x.ndim)[i] for i in _ints(axis, "axis")]
    rest = [i for i in range(x.ndim) if i not in axes]
    moved = usmpy.permute_dims(x, (*rest, *axes))
    shape = tuple(x.shape[i] for i in rest)
    count = math.prod(x.shape[i] for i in axes)
    kept = tuple(1 if i in axes else length for i, length in enumerate(x.shape))
    return usmpy.reshape(moved, (*shape, count)), kept


def _between(low: USMArray, high: USMArray, part: Any, method: str) -> USMArray:
    if method == "nearest":
        return usmpy.where(part > 0.5, high, low)
    if method in ("lower", "higher"):
        return high if method == "higher" else low
    distance = high - low
    near_low, near_high = low + distance * part, high - distance * (1 - part)
    return usmpy.where(usmpy.equal(low, high), low, usmpy.where(part < 0.5, near_low, near_high))


def _quantile_of(ordered: USMArray, p: float, real: Any, method: str, skip_nan: bool) -> USMArray:
    """Of sorted elements along the last axis, at whose end the NaN are; means are of type `real`."""
    dtype, length = ordered.dtype, ordered.shape[-1]
    if method in ("linear", "midpoint"):
        ordered = usmpy.astype(ordered, real, copy=False)
    if length == 0:
        return usmpy.full(ordered.shape[:-1], usmpy.nan, dtype=real, queue=ordered.queue)
    if not skip_nan or dtype.kind != "f":
        at = p * (length - 1)
        first = round(at) if method == "nearest" else math.floor(at)
        last = first if method == "nearest" else math.ceil(at)
        part = usmpy.full((), 0.5 if method == "midpoint" else at - first, dtype=real, queue=ordered.queue)
        result = _between(ordered[..., first], ordered[..., last], part, method)
        if dtype.kind == "f":
            result = usmpy.where(usmpy.isnan(ordered[..., -1]), usmpy.nan, result)
        return result
    count = usmpy.count_nonzero(usmpy.logical_not(usmpy.isnan(ordered)), axis=-1, keepdims=True)
    place = usmpy.maximum(usmpy.astype(count, real) - 1, 0) * p
    near = (usmpy.round(place),) * 2 if method == "nearest" else (usmpy.floor(place), usmpy.ceil(place))
    low, high = (usmpy.take_along_axis(ordered, usmpy.astype(i, usmpy.int64), axis=-1)[..., 0] for i in near)
    part = (
        usmpy.full((), 0.5, dtype=real, queue=ordered.queue)
        if method == "midpoint"
        else (place - near[0])[..., 0]
    )
    return _between(low, high, part, method)


def _quantiles(name: str, scale: float, skip_nan: bool) -> Callable[..., Any]:
    """quantile, percentile and those that skip NaN."""

    def call(
        a: USMArray,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: Any = False,
        method: str = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
        interpolation: Any = None,
    ) -> Any:
        for parameter, value in (("weights", weights), ("interpolation", interpolation)):
            if value is not None:
                raise refused(name, parameter, value)
        if method not in _METHODS:
            raise ValueError(
                f"numpy.{name}: method is {shown(method, 60)}; one of {', '.join(_METHODS)} is allowed"
            )
        fractions = np.asarray(q.tolist() if isinstance(q, USMArray) else q, "float64") / scale
        if not ((fractions >= 0) & (fractions <= 1)).all():
            raise ValueError(f"numpy.{name}: q is {q}; values from 0 to {scale:g} are allowed")
        if a.dtype.kind not in "iuf":
            raise TypeError(f"numpy.{name}: a is of type {a.dtype}; integers and real numbers are allowed")
        x, kept = _reduced_last(a, axis)
        ordered = usmpy.sort(x, axis=-1)
        real = a.dtype if a.dtype.kind == "f" else usmpy.float64
        if fractions.ndim:  # an array, whose type takes part
            given = getattr(q, "dtype", usmpy.float64)
            real = usmpy.result_type(real, given if given.kind == "f" else usmpy.float64)
        shape = kept if keepdims is not UNSET and keepdims else x.shape[:-1]
        found = [
            usmpy.reshape(_quantile_of(ordered, p, real, method, skip_nan), shape)
            for p in fractions.ravel().tolist()
        ]
        result = usmpy.reshape(usmpy.stack(found), fractions.shape + shape) if fractions.ndim else found[0]
        return finish(result, out, name)

    return call


def _medians(name: str, skip_nan: bool) -> Callable[..., Any]:
    quantile = _quantiles(name, 1, skip_nan)
    return lambda a, axis=None, out=None, overwrite_input=False, keepdims=False: quantile(
        a, 0.5, axis, out, overwrite_input, "midpoint", keepdims
    )


def _partition(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """partition and argpartition: sorted arrays are partitioned everywhere."""
    ordered = sorting(function)

    def call(a: USMArray, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
        length = a.size if axis is None else a.shape[axis]
        for k in np.ravel(kth).tolist():
            if length and not -length <= k < length:
                raise ValueError(f"numpy.{name}: kth is {k}; {-length} to {length - 1} is allowed")
        return ordered(a, axis, None, order)

    return call


def _digitize(x: USMArray, bins: Any, right: bool = False) -> USMArray:
    edges = _beside(x, bins)
    dtype = usmpy.result_type(x, edges)
    x, edges = usmpy.astype(x, dtype, copy=False), usmpy.astype(edges, dtype, copy=False)
    if not usmpy.any(edges[1:] < edges[:-1]):  # a NaN may be the last one
        return usmpy.searchsorted(edges, x, side="left" if right else "right")
    if usmpy.any(edges[1:] > edges[:-1]):
        raise ValueError("numpy.digitize: bins neither increase nor decrease")
    return edges.size - usmpy.searchsorted(usmpy.flip(edges), x, side="left" if right else "right")


def _counts(ordered: USMArray, edges: USMArray) -> USMArray:
    """How many elements are in each bin; the last edge belongs to the last bin."""
    cuts = usmpy.searchsorted(ordered, edges, side="left")
    cuts[-1:] = usmpy.searchsorted(ordered, edges[-1:], side="right")
    return usmpy.diff(cuts)


def _histogram(
    a: USMArray, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[USMArray, USMArray]:
    for parameter, value in (("density", density), ("weights", weights), ("bins", bins)):
        if isinstance(value, str) or (parameter != "bins" and value is not None and value is not False):
            raise refused("histogram", parameter, value)
    x = usmpy.reshape(a, (-1,))
    dtype = x.dtype if x.dtype.kind == "f" else usmpy.float64
    if not isinstance(bins, USMArray) and np.ndim(bins) == 0:
        low, high = range or ((usmpy.min(x).item(), usmpy.max(x).item()) if x.size else (0, 1))
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ValueError(
                f"numpy.histogram: range is ({low}, {high}); finite numbers are allowed, in order"
            )
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        edges = _beside(x, np.linspace(low, high, as_int(bins, "bins") + 1, dtype=dtype.name))
    else:
        edges = _beside(x, bins)
        if usmpy.any(edges[1:] < edges[:-1]):
            raise ValueError("numpy.histogram: bins does not increase")
        dtype = usmpy.result_type(x, edges)
    ordered = usmpy.sort(usmpy.astype(x, dtype, copy=False))
    return _counts(ordered, usmpy.astype(edges, dtype, copy=False)), edges


def _bincount(x: USMArray, /, weights: Any = None, minlength: Any = 0) -> USMArray:
    if weights is not None:
        raise refused("bincount", "weights", weights)
    if x.ndim != 1 or x.dtype.kind not in "iu":
        raise TypeError(
            f"numpy.bincount: x is {x.ndim}-dimensional of {x.dtype}; 1 dimension of integers is allowed"
        )
    ordered = usmpy.sort(x)
    if x.size and ordered[0].item() < 0:
        raise ValueError(f"numpy.bincount: x has {ordered[0].item()}; 0 and more are allowed")
    length = max(ordered[-1].item() + 1 if x.size else 0, as_int(minlength, "minlength"))
    numbers = usmpy.arange(length + 1, dtype=usmpy.int64, queue=x.queue)
    return usmpy.diff(usmpy.searchsorted(usmpy.astype(ordered, usmpy.int64), numbers))


def _check_indices(name: str, parameter: str, indices: Any, length: int) -> None:
    outside = (indices < 0) | (indices >= length)
    if usmpy.any(outside) if isinstance(outside, USMArray) else outside:
        raise ValueError(
            f"numpy.{name}: an index in {parameter} is out of bounds; 0 to {length - 1} is allowed"
        )


def _unravel_index(indices: USMArray, shape: Any, order: str = "C") -> tuple[USMArray, ...]:
    lengths = _ints(shape, "shape")
    _check_indices("unravel_index", "indices", indices, math.prod(lengths))
    indices, found = usmpy.astype(indices, usmpy.int64), []
    for length in lengths if order == "F" else lengths[::-1]:
        found.append(usmpy.remainder(indices, length))
        indices = usmpy.floor_divide(indices, length)
    return tuple(found if order == "F" else found[::-1])


def _ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    if mode != "raise":
        raise refused("ravel_multi_index", "mode", mode)
    pairs = list(zip(items(multi_index, "multi_index", 64), _ints(dims, "dims"), strict=True))
    total: Any = 0
    for index, length in pairs[::-1] if order == "F" else pairs:
        _check_indices("ravel_multi_index", "multi_index", index, length)
        total = (usmpy.astype(index, usmpy.int64) if isinstance(index, USMArray) else index) + total * length
    return total


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(
            f"numpy.select: {len(condlist)} conditions and {len(choicelist)} choices; as many are allowed"
        )
    result: Any = default
    pairs = zip(items(condlist, "condlist"), items(choicelist, "choicelist"), strict=True)
    for condition, choice in list(pairs)[::-1]:
        result = usmpy.where(condition, choice, result)
    return result


def _choose(a: USMArray, choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    if mode != "raise":
        raise refused("choose", "mode", mode)
    choices = items(choices, "choices")
    _check_indices("choose", "a", a, len(choices))
    result = choices[0]
    for number, choice in enumerate(choices):
        result = usmpy.where(usmpy.equal(a, number), choice, result)
    return finish(result, out, "choose")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantile": _quantiles("quantile", 1, False),
    "percentile": _quantiles("percentile", 100, False),
    "nanquantile": _quantiles("nanquantile", 1, True),
    "nanpercentile": _quantiles("nanpercentile", 100, True),
    "median": _medians("median", False),
    "nanmedian": _medians("nanmedian", True),
    "partition": _partition(usmpy.sort, "partition"),
    "argpartition": _partition(usmpy.argsort, "argpartition"),
    "digitize": _digitize,
    "histogram": _histogram,
    "bincount": _bincount,
    "unravel_index": _unravel_index,
    "ravel_multi_index": _ravel_multi_index,
    "select": _select,
    "choose": _choose,
}
