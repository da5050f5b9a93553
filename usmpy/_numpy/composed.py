"""Functions of NumPy over USMArrays that are made of functions of usmpy, with NumPy's signatures.

usmpy/_numpy/functions.py gives them to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import usmpy

from .._arrays.objects import as_int, items, shown
from .._core import USMArray

UNSET = np._NoValue

# ufunc.reduce: the function, and the value that elements outside of `where` take.
REDUCTIONS: dict[Any, tuple[Callable[..., Any], Any]] = {
    np.add: (usmpy.sum, 0),
    np.multiply: (usmpy.prod, 1),
    np.logical_and: (usmpy.all, True),
    np.logical_or: (usmpy.any, False),
    np.maximum: (usmpy.max, None),
    np.minimum: (usmpy.min, None),
}
_WITH_INITIAL: dict[Any, Callable[..., Any]] = {
    np.add: usmpy.add,
    np.multiply: usmpy.multiply,
    np.logical_and: usmpy.logical_and,
    np.logical_or: usmpy.logical_or,
    np.maximum: usmpy.maximum,
    np.minimum: usmpy.minimum,
}


def finish(result: Any, out: Any, name: str, casting: Any = "same_kind") -> Any:
    """The result, written to `out` if there is one."""
    if isinstance(out, tuple):
        (out,) = out
    if out is None or out is UNSET:
        return result
    if not isinstance(out, USMArray):
        raise TypeError(f"numpy.{name}: out is a {type(out).__name__:.80}; a USMArray is allowed")
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(f"numpy.{name}: out has shape {out.shape}; the result has shape {result.shape}")
    usmpy.copyto(out, result, casting=casting)
    return out


def refused(name: str, parameter: str, value: Any) -> TypeError:
    given = f"{parameter}={value!r:.60}" if isinstance(value, (str, bool, int, float)) else parameter
    return TypeError(
        f"numpy.{name}: {given} is not supported for USMArrays; NumPy's own function takes x.asnumpy(), "
        "a copy on the host"
    )


def typed(x: USMArray, dtype: Any) -> USMArray:
    return x if dtype is None or x.dtype == dtype else usmpy.astype(x, dtype)


def reduce(
    ufunc: np.ufunc,
    x: USMArray,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = UNSET,
    where: Any = True,
) -> Any:
    function, identity = REDUCTIONS[ufunc]
    name = f"{ufunc.__name__}.reduce"
    if where is not True and where is not UNSET:
        identity = identity if identity is not None or initial is UNSET else initial
        if identity is None:
            raise ValueError(f"numpy.{name}: where needs initial, since the operation has no identity")
        x = usmpy.where(where, x, identity)
    words = {} if dtype is None else {"dtype": dtype}
    result = function(x, axis=axis, keepdims=False if keepdims is UNSET else keepdims, **words)
    if initial is not UNSET and initial is not None:
        result = _WITH_INITIAL[ufunc](result, initial)
    return finish(result, out, name)


def _reduction(ufunc: np.ufunc, has_dtype: bool) -> Callable[..., Any]:
    if has_dtype:
        return lambda a, axis=None, dtype=None, out=None, keepdims=False, initial=UNSET, where=True: reduce(
            ufunc, a, axis, dtype, out, keepdims, initial, where
        )
    return lambda a, axis=None, out=None, keepdims=False, initial=UNSET, where=True: reduce(
        ufunc, a, axis, None, out, keepdims, initial, where
    )


def _flat(x: USMArray, axis: Any) -> tuple[USMArray, int]:
    """NumPy's axis=None: the array flattened."""
    return (usmpy.reshape(x, (-1,)), 0) if axis is None else (x, axis)


def _accumulation(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(a: USMArray, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x, along = _flat(a, axis)
        return finish(function(x, axis=along, dtype=dtype), out, function.__name__)

    return call


def _take(a: USMArray, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    if mode != "raise":
        raise refused("take", "mode", mode)
    x, along = _flat(a, axis)
    return finish(usmpy.take(x, indices, axis=along), out, "take")


def sorting(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        a: USMArray,
        axis: Any = -1,
        kind: Any = None,
        order: Any = None,
        *,
        stable: Any = None,
        descending: Any = UNSET,  # from NumPy 2.5 on
    ) -> Any:
        if order is not None:
            raise refused(function.__name__, "order", order)
        x, along = _flat(a, axis)
        # always stable
        return function(x, axis=along, descending=descending is not UNSET and bool(descending))

    return call


def _mean(a: USMArray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    x = typed(a, dtype)
    return finish(usmpy.mean(x, axis=axis, keepdims=keepdims is not UNSET and keepdims), out, "mean")


def _variance(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        a: USMArray,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        correction: Any = UNSET,
    ) -> Any:
        result = function(
            typed(a, dtype),
            axis=axis,
            correction=ddof if correction is UNSET else correction,
            keepdims=keepdims is not UNSET and keepdims,
        )
        return finish(result, out, function.__name__)

    return call


def _without_nan(x: USMArray, value: Any) -> USMArray:
    return usmpy.where(usmpy.isnan(x), value, x) if x.dtype.kind in "fc" else x


def _nan_accumulation(function: Callable[..., Any], value: int) -> Callable[..., Any]:
    accumulate = _accumulation(function)
    return lambda a, axis=None, dtype=None, out=None: accumulate(_without_nan(a, value), axis, dtype, out)


def _nan_sum(ufunc: np.ufunc) -> Callable[..., Any]:
    value = REDUCTIONS[ufunc][1]
    return lambda a, axis=None, dtype=None, out=None, keepdims=False, initial=UNSET, where=True: reduce(
        ufunc, _without_nan(a, value), axis, dtype, out, keepdims, initial, where
    )


def _nan_extreme(function: Callable[..., Any], least: float) -> Callable[..., Any]:
    """nanmax and nanmin: NaN where all elements are."""

    def call(a: USMArray, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        words = {"axis": axis, "keepdims": keepdims is not UNSET and keepdims}
        result = function(_without_nan(a, least), **words)
        if a.dtype.kind == "f":
            result = usmpy.where(usmpy.all(usmpy.isnan(a), **words), usmpy.nan, result)
        return finish(result, out, "nan" + function.__name__)

    return call


def _nan_place(function: Callable[..., Any], least: float) -> Callable[..., Any]:
    def call(a: USMArray, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        empty = usmpy.any(usmpy.all(usmpy.isnan(a), axis=axis)) if a.dtype.kind == "f" else False
        if empty:
            raise ValueError("All-NaN slice encountered")
        words = {"axis": axis, "keepdims": keepdims is not UNSET and keepdims}
        return finish(function(_without_nan(a, least), **words), out, "nan" + function.__name__)

    return call


def _nan_variance(root: bool) -> Callable[..., Any]:
    def call(
        a: USMArray,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
    ) -> Any:
        x = typed(a, dtype)
        keep = keepdims is not UNSET and keepdims
        if x.dtype.kind != "f":
            result = (usmpy.std if root else usmpy.var)(x, axis=axis, correction=ddof, keepdims=keep)
            return finish(result, out, "nanstd" if root else "nanvar")
        distance = x - _nan_mean(x, axis, keepdims=True)
        total = usmpy.sum(_without_nan(distance * distance, 0), axis=axis, keepdims=keep)
        count = _nan_count(x, axis, keep) - ddof
        result = total / usmpy.where(count > 0, count, usmpy.nan)
        return finish(usmpy.sqrt(result) if root else result, out, "nanstd" if root else "nanvar")

    return call


def _nan_count(x: USMArray, axis: Any, keepdims: bool) -> USMArray:
    count = usmpy.count_nonzero(usmpy.logical_not(usmpy.isnan(x)), axis=axis, keepdims=keepdims)
    return usmpy.astype(count, x.dtype)


def _nan_mean(
    a: USMArray, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    x = typed(a, dtype)
    if x.dtype.kind not in "fc":
        return _mean(x, axis, None, out, keepdims)
    keep = keepdims is not UNSET and keepdims
    total = usmpy.sum(_without_nan(x, 0), axis=axis, keepdims=keep)
    return finish(total / _nan_count(x, axis, keep), out, "nanmean")


def _nan_to_num(
    x: USMArray, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> USMArray:
    result = usmpy.astype(x, x.dtype) if copy else x
    if x.dtype.kind == "f":
        limits = usmpy.finfo(x.dtype)
        high, low = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
        replaced = usmpy.where(x == usmpy.inf, high, usmpy.where(x == -usmpy.inf, low, _without_nan(x, nan)))
        usmpy.copyto(result, replaced)
    elif x.dtype.kind == "c":
        for part in (result.real, result.imag):
            _nan_to_num(part, False, nan, posinf, neginf)
    return result


def _unique(
    ar: USMArray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    if axis is not None:
        raise refused("unique", "axis", axis)
    found = usmpy.unique_all(ar)
    values, index, inverse, counts = found.values, found.indices, found.inverse_indices, found.counts
    nans = int(usmpy.count_nonzero(usmpy.isnan(values))) if equal_nan and ar.dtype.kind in "fc" else 0
    if nans > 1:  # the last ones: they become one value
        last = values.size - nans
        values, index = values[: last + 1], index[: last + 1]
        inverse = usmpy.minimum(inverse, last)
        counts = usmpy.concat([counts[:last], usmpy.sum(counts[last:], keepdims=True)])
    chosen = (values, index, inverse, counts)
    wanted = (True, return_index, return_inverse, return_counts)
    results = tuple(part for part, is_wanted in zip(chosen, wanted, strict=True) if is_wanted)
    return results if len(results) > 1 else values


def _close(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    b = b * 1.0  # integers, whose differences would wrap
    near = usmpy.less_equal(usmpy.abs(a - b), usmpy.abs(b) * rtol + atol)
    result = usmpy.equal(a, b) | (near & _is(usmpy.isfinite, b))
    return result | (_is(usmpy.isnan, a) & _is(usmpy.isnan, b)) if equal_nan else result


def _is(function: Callable[..., Any], x: Any) -> Any:
    """isfinite or isnan, also of a number."""
    return function(x) if isinstance(x, USMArray) else bool(getattr(np, function.__name__)(x))


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    if np.shape(a1) != np.shape(a2):
        return False
    same = usmpy.equal(a1, a2)
    return bool(usmpy.all(same | (usmpy.isnan(a1) & usmpy.isnan(a2)) if equal_nan else same))


def _at_least(ndim: int) -> Callable[..., Any]:
    def one(x: USMArray) -> USMArray:
        if ndim == 3 and x.ndim == 2:
            return usmpy.expand_dims(x, 2)
        if ndim == 3 and x.ndim == 1:
            return usmpy.expand_dims(x, (0, 2))
        return usmpy.reshape(x, (1,) * (ndim - x.ndim) + x.shape) if x.ndim < ndim else x

    def call(*arys: USMArray) -> Any:
        results = tuple(map(one, arys))
        return results[0] if len(results) == 1 else results

    return call


def _joining(ndim: int, axis: int) -> Callable[..., Any]:
    """vstack, hstack and dstack."""

    def call(tup: Any) -> USMArray:
        parts = [_at_least(ndim)(part) for part in tup]
        return usmpy.concat(parts, axis=0 if parts and parts[0].ndim == 1 else axis)

    return call


def _array_split(
    ary: USMArray, indices_or_sections: Any, axis: int = 0, equal: bool = False
) -> list[USMArray]:
    name, given, length = "indices_or_sections", indices_or_sections, ary.shape[axis]
    if hasattr(type(given), "__iter__") and getattr(given, "ndim", 1) != 0:
        cuts = [as_int(cut, f"{name}[{i}]") for i, cut in enumerate(items(given, name))]
    else:
        sections = as_int(given, name, "an int, or a sequence of ints, is allowed")
        if sections < 1 or (equal and length % sections):
            raise ValueError(
                f"{name} is {shown(sections, 60)}; {length} elements cannot be split into equal parts"
            )
        each, more = divmod(length, sections)
        cuts = [part * each + min(part, more) for part in items(range(1, sections), name)]
    before = (slice(None),) * range(ary.ndim)[axis]
    return [
        ary[(*before, slice(first, last))] for first, last in zip([0, *cuts], [*cuts, length], strict=True)
    ]


def _split(ary: USMArray, indices_or_sections: Any, axis: int = 0) -> list[USMArray]:
    return _array_split(ary, indices_or_sections, axis, equal=True)


def _round(a: USMArray, decimals: int = 0, out: Any = None) -> Any:
    if decimals and a.dtype.kind in "fc":
        scale = 10.0 ** abs(decimals)
        result = usmpy.round(a * scale) / scale if decimals > 0 else usmpy.round(a / scale) * scale
    elif decimals < 0:
        raise refused("round", "decimals", decimals)
    else:
        result = usmpy.round(a)
    return finish(result, out, "round")


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low, high = (None if bound is UNSET else bound for bound in (a_min, a_max))
    least, most = (None if bound is UNSET else bound for bound in (min, max))
    return finish(usmpy.clip(a, least if low is None else low, most if high is None else high), out, "clip")


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    if not isinstance(a, USMArray) or not isinstance(b, USMArray) or not a.ndim or not b.ndim:
        result = usmpy.multiply(a, b)
    elif a.ndim < 3 and b.ndim < 3:
        result = usmpy.matmul(a, b)
    else:
        result = usmpy.tensordot(a, b, axes=([a.ndim - 1], [max(b.ndim - 2, 0)]))
    return finish(result, out, "dot")


def _inner(a: Any, b: Any, /) -> Any:
    if not isinstance(a, USMArray) or not isinstance(b, USMArray) or not a.ndim or not b.ndim:
        return usmpy.multiply(a, b)
    return usmpy.tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))


def _tensordot(a: USMArray, b: USMArray, axes: Any = 2) -> USMArray:
    if hasattr(axes, "__len__"):
        left, right = (list(pair) if hasattr(pair, "__len__") else [pair] for pair in axes)
        axes = (left, right)
    return usmpy.tensordot(a, b, axes=axes)


def _diagonal(a: USMArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> USMArray:
    x = usmpy.moveaxis(a, (axis1, axis2), (-2, -1))
    length = max(min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0)), 0)
    rows = range(max(-offset, 0), max(-offset, 0) + length)
    return x[..., rows, range(max(offset, 0), max(offset, 0) + length)]


def _diag(v: USMArray, k: int = 0) -> USMArray:
    if v.ndim == 2:
        return _diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"numpy.diag: v has {v.ndim} dimensions; 1 or 2 are allowed")
    size = v.size + abs(k)
    x = usmpy.zeros((size, size), dtype=v.dtype, queue=v.queue, usm_type=v.usm_type)
    x[range(max(-k, 0), max(-k, 0) + v.size), range(max(k, 0), max(k, 0) + v.size)] = v
    return x


def _contract(a: USMArray, left: str, b: USMArray, right: str, kept: str) -> tuple[USMArray, str]:
    """Two operands of einsum as one: sums of products over the labels that nothing else needs."""
    a, left = _summed(a, left, right + kept)
    b, right = _summed(b, right, left + kept)
    both = [label for label in left if label in right]
    batch = "".join(label for label in both if label in kept)
    inner = "".join(label for label in both if label not in kept)
    rows = "".join(label for label in left if label not in both)
    columns = "".join(label for label in right if label not in both)
    length = dict(zip(left + right, a.shape + b.shape, strict=True))
    sizes = [tuple(length[label] for label in labels) for labels in (batch, rows, inner, columns)]
    flat = [int(np.prod(size)) for size in sizes]
    x = usmpy.permute_dims(a, tuple(left.index(label) for label in batch + rows + inner))
    y = usmpy.permute_dims(b, tuple(right.index(label) for label in batch + inner + columns))
    x, y = usmpy.reshape(x, (flat[0], flat[1], flat[2])), usmpy.reshape(y, (flat[0], flat[2], flat[3]))
    return usmpy.reshape(usmpy.matmul(x, y), sizes[0] + sizes[1] + sizes[3]), batch + rows + columns


def _summed(x: USMArray, labels: str, kept: str) -> tuple[USMArray, str]:
    """Without the labels that nothing else needs."""
    axes = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    x = usmpy.sum(x, axis=axes, dtype=x.dtype) if axes else x
    return x, "".join(label for label in labels if label in kept)


def _einsum(
    subscripts: Any,
    *operands: USMArray,
    out: Any = None,
    dtype: Any = None,
    order: Any = "K",
    casting: Any = "safe",
    optimize: Any = False,
) -> Any:
    if not isinstance(subscripts, str) or "." in subscripts:
        raise refused("einsum", "subscripts", subscripts)
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if not arrow:
        output = "".join(sorted(label for label in set(inputs) - {","} if inputs.count(label) == 1))
    shapes = [np.shape(operand) for operand in operands]
    if [len(label) for label in labels] != [len(shape) for shape in shapes] or set(output) - set(inputs):
        raise ValueError(
            f"numpy.einsum: subscripts {subscripts!r:.60} do not fit operands of shapes {shapes}"
        )
    parts = []
    for x, word in zip(operands, labels, strict=True):
        x = typed(x, dtype)
        for label in sorted(set(word)):
            while word.count(label) > 1:  # a diagonal
                first, second = word.index(label), word.rindex(label)
                x = _diagonal(x, 0, first, second)
                word = word[:first] + word[first + 1 : second] + word[second + 1 :] + label
        parts.append((x, word))
    x, word = parts[0]
    for number, (y, other) in enumerate(parts[1:], 2):
        kept = output + "".join(later for _, later in parts[number:])
        x, word = _contract(x, word, y, other, kept)
    x, word = _summed(x, word, output)
    return finish(usmpy.permute_dims(x, tuple(map(word.index, output))), out, "einsum")


def _like(function: str) -> Callable[..., Any]:
    """zeros_like and its family, whose shape NumPy takes as well."""
    value = function == "full_like"

    def call(
        a: USMArray, *args: Any, shape: Any = None, subok: Any = True, device: Any = None, **keywords: Any
    ) -> Any:
        words = dict(zip([*["fill_value"] * value, "dtype", "order"], args, strict=False)) | keywords
        filled = (words.pop("fill_value"),) if value else ()
        if device not in (None, "cpu"):
            raise refused(function, "device", device)
        if shape is None:
            return getattr(usmpy, function)(a, *filled, **words)
        order = "F" if words.pop("order", "K") == "F" else "C"
        dtype = words.pop("dtype", None)
        words |= {"dtype": a.dtype if dtype is None else dtype, "queue": a.queue, "usm_type": a.usm_type}
        return getattr(usmpy, function.removesuffix("_like"))(shape, *filled, order=order, **words)

    return call


def _beside(like: USMArray) -> dict[str, Any]:
    return {"queue": like.queue, "usm_type": like.usm_type}


def _array(like: USMArray, obj: Any, dtype: Any, order: Any, copy: Any, ndmin: int = 0) -> USMArray:
    x = usmpy.asarray(obj, dtype=dtype, order=order, copy=copy, **_beside(like))
    return usmpy.reshape(x, (1,) * (ndmin - x.ndim) + x.shape) if x.ndim < ndmin else x


def _arange(like: USMArray, *args: Any, **keywords: Any) -> USMArray:
    names = ["stop"] if len(args) == 1 else ["start", "stop", "step", "dtype"]
    keywords = dict(zip(names, args, strict=False)) | keywords
    keywords.pop("device", None)
    return usmpy.arange(keywords.pop("start", 0), **keywords, **_beside(like))


# With `like=`: the result is on the queue of that array, the first argument here, and in its kind of memory.
CREATIONS: dict[str, Callable[..., USMArray]] = {
    "empty": lambda like, shape, dtype=None, order="C", *, device=None: usmpy.empty(
        shape, dtype=dtype, order=order, **_beside(like)
    ),
    "zeros": lambda like, shape, dtype=None, order="C", *, device=None: usmpy.zeros(
        shape, dtype=dtype, order=order, **_beside(like)
    ),
    "ones": lambda like, shape, dtype=None, order="C", *, device=None: usmpy.ones(
        shape, dtype=dtype, order=order, **_beside(like)
    ),
    "full": lambda like, shape, fill_value, dtype=None, order="C", *, device=None: usmpy.full(
        shape, fill_value, dtype=dtype, order=order, **_beside(like)
    ),
    "array": lambda like, object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0: _array(
        like, object, dtype, order, copy, ndmin
    ),
    "asarray": lambda like, a, dtype=None, order="K", *, device=None, copy=None: _array(
        like, a, dtype, order, copy
    ),
    "asanyarray": lambda like, a, dtype=None, order="K", *, device=None, copy=None: _array(
        like, a, dtype, order, copy
    ),
    "ascontiguousarray": lambda like, a, dtype=None: _array(like, a, dtype, "C", None, 1),
    "arange": _arange,
    "eye": lambda like, N, M=None, k=0, dtype=None, order="C", *, device=None: usmpy.eye(
        N, M, k=k, dtype=dtype, order=order, **_beside(like)
    ),
    "identity": lambda like, n, dtype=None: usmpy.eye(n, dtype=dtype, **_beside(like)),
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": _reduction(np.add, True),
    "prod": _reduction(np.multiply, True),
    "max": _reduction(np.maximum, False),
    "min": _reduction(np.minimum, False),
    "amax": _reduction(np.maximum, False),
    "amin": _reduction(np.minimum, False),
    "ptp": lambda a, axis=None, out=None, keepdims=False: finish(
        reduce(np.maximum, a, axis, keepdims=keepdims) - reduce(np.minimum, a, axis, keepdims=keepdims),
        out,
        "ptp",
    ),
    "cumsum": _accumulation(usmpy.cumulative_sum),
    "cumprod": _accumulation(usmpy.cumulative_prod),
    "take": _take,
    "sort": sorting(usmpy.sort),
    "argsort": sorting(usmpy.argsort),
    "mean": _mean,
    "var": _variance(usmpy.var),
    "std": _variance(usmpy.std),
    "nansum": _nan_sum(np.add),
    "nanprod": _nan_sum(np.multiply),
    "nanmax": _nan_extreme(usmpy.max, -usmpy.inf),
    "nanmin": _nan_extreme(usmpy.min, usmpy.inf),
    "nanargmax": _nan_place(usmpy.argmax, -usmpy.inf),
    "nanargmin": _nan_place(usmpy.argmin, usmpy.inf),
    "nancumsum": _nan_accumulation(usmpy.cumulative_sum, 0),
    "nancumprod": _nan_accumulation(usmpy.cumulative_prod, 1),
    "nanmean": _nan_mean,
    "nanvar": _nan_variance(False),
    "nanstd": _nan_variance(True),
    "nan_to_num": _nan_to_num,
    "unique": _unique,
    "isclose": _close,
    "allclose": lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: bool(
        usmpy.all(_close(a, b, rtol, atol, equal_nan))
    ),
    "array_equal": _array_equal,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
    "vstack": _joining(2, 0),
    "hstack": _joining(1, 1),
    "dstack": _joining(3, 2),
    "array_split": _array_split,
    "split": _split,
    "transpose": lambda a, axes=None: usmpy.permute_dims(
        a, tuple(range(a.ndim))[::-1] if axes is None else axes
    ),
    "ravel": lambda a, order="C": a.ravel(order=order),
    "fliplr": lambda m: usmpy.flip(m, axis=1),
    "flipud": lambda m: usmpy.flip(m, axis=0),
    "broadcast_arrays": lambda *args, subok=False: tuple(usmpy.broadcast_arrays(*args)),
    "meshgrid": lambda *xi, copy=True, sparse=False, indexing="xy": usmpy.meshgrid(*xi, indexing=indexing),
    "where": lambda condition, *xy: usmpy.where(condition, *xy),
    "copy": lambda a, order="K", subok=False: usmpy.astype(a, a.dtype, order=order),
    "round": _round,
    "around": _round,
    "clip": _clip,
    "dot": _dot,
    "inner": _inner,
    "outer": lambda a, b, out=None: finish(
        usmpy.multiply(usmpy.reshape(a, (-1, 1)), usmpy.reshape(b, (1, -1))), out, "outer"
    ),
    "vdot": lambda a, b, /: usmpy.vecdot(usmpy.reshape(a, (-1,)), usmpy.reshape(b, (-1,))),
    "tensordot": _tensordot,
    "linalg.tensordot": lambda x1, x2, /, *, axes=2: _tensordot(x1, x2, axes),
    "einsum": _einsum,
    "diagonal": _diagonal,
    "diag": _diag,
    "trace": lambda a, offset=0, axis1=0, axis2=1, dtype=None, out=None: finish(
        usmpy.sum(_diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype), out, "trace"
    ),
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "result_type": lambda *arrays_and_dtypes: usmpy.result_type(*arrays_and_dtypes),
    **{name: _like(name) for name in ("empty_like", "zeros_like", "ones_like", "full_like")},
}
