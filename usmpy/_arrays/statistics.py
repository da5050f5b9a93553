"""mean, var, std, clip and diff: each is a few operations of the table, one after the other."""

from __future__ import annotations

from .. import _core
from .indexing import _axis_of, _checked
from .objects import as_int

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import SupportsIndex

    from .._core import DType, USMArray

# What elements are added up in; integers take the widest real type of the device.
_WIDE = {
    _core.float16: _core.float32,
    _core.bfloat16: _core.float32,
    _core.float32: _core.float32,
    _core.float64: _core.float64,
    _core.complex64: _core.complex64,
    _core.complex128: _core.complex128,
}
_COMPLEX = (_core.complex64, _core.complex128)


def _numbers(x: object, function: str, parameter: str = "x") -> USMArray:
    """An array of a type that is computed with."""
    array = _checked(x, function, parameter)
    if array.dtype.kind not in "biu" and array.dtype not in _WIDE:
        raise TypeError(
            f"{function}(): {parameter} has dtype {array.dtype.name}, which is only stored and exchanged; "
            "nothing is computed with its values"
        )
    return array


def _common(function: str, *arguments: USMArray | complex) -> DType:
    """result_type for a function, which the exception names."""
    try:
        return _core.result_type(*arguments)
    except TypeError as error:
        raise TypeError(str(error).replace("result_type", function)) from None


def _types(x: object, function: str, has_complex: bool) -> tuple[DType, DType]:
    """The type that the elements of `x` are added up in, and that of the result."""
    array = _checked(x, function)
    wide = _WIDE.get(array.dtype)
    if wide is None and array.dtype.kind in "biu":
        wide = _core.float64 if array.device.has_fp64 else _core.float32
        return wide, wide
    if wide is None or (wide in _COMPLEX and not has_complex):
        raise TypeError(
            f"{function}(): x has dtype {array.dtype.name}; integers and real{' and complex' * has_complex} "
            "numbers are allowed"
        )
    return wide, array.dtype


def _divided(total: USMArray, count: float, dtype: DType) -> USMArray:
    result = _core.divide(total, count)
    return result if result.dtype == dtype else _core.astype(result, dtype)


def mean(x: USMArray, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> USMArray:
    wide, own = _types(x, "mean", True)
    total = _core.sum(x, axis, keepdims=keepdims, dtype=wide)
    return _divided(total, x.size // total.size if total.size else 1, own)


def _variance(
    x: USMArray,
    axis: int | tuple[int, ...] | None,
    correction: float,
    keepdims: bool,
    function: str,
) -> tuple[USMArray, DType]:
    """In the type that is added up in, and the type of the result."""
    wide, own = _types(x, function, False)
    number = _core._number(correction)
    if not isinstance(number, (int, float)):
        raise TypeError(f"{function}(): correction is a {type(correction).__name__:.80}; a number is allowed")
    if x.dtype != wide:
        x = _core.astype(x, wide)
    total = _core.sum(x, axis, keepdims=True)
    count = x.size // total.size if total.size else 1
    apart = _core.subtract(x, _core.divide(total, count))
    squares = _core.sum(_core.square(apart, out=apart), axis, keepdims=keepdims)
    return _core.divide(squares, max(count - number, 0)), own


def var(
    x: USMArray,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
) -> USMArray:
    result, own = _variance(x, axis, correction, keepdims, "var")
    return result if result.dtype == own else _core.astype(result, own)


def std(
    x: USMArray,
    /,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
) -> USMArray:
    result, own = _variance(x, axis, correction, keepdims, "std")
    result = _core.sqrt(result, out=result)
    return result if result.dtype == own else _core.astype(result, own)


def clip(
    x: USMArray,
    /,
    min: USMArray | float | None = None,
    max: USMArray | float | None = None,
) -> USMArray:
    dtype = _checked(x, "clip").dtype
    min, max = (bound if (number := _core._number(bound)) is None else number for bound in (min, max))
    if dtype.kind in "iu":
        limits = _core.iinfo(dtype)
        if type(min) is int and min <= limits.min:
            min = None
        if type(max) is int and max >= limits.max:
            max = None
    elif dtype not in _WIDE or dtype in _COMPLEX:
        raise TypeError(f"clip(): x has dtype {dtype.name}; integers and real numbers have an order")
    for name, bound in (("min", min), ("max", max)):
        if not (bound is None or isinstance(bound, (bool, int, float, complex, _core.USMArray))):
            _checked(bound, "clip", name)
        if bound is None or (type(bound) is float and dtype.kind == "f"):
            continue
        if type(bound) is int:
            if dtype.kind in "iu" and not limits.min <= bound <= limits.max:
                raise OverflowError(f"clip(): {name} does not fit into dtype {dtype.name} of x")
            continue
        if isinstance(bound, _core.USMArray) and bound.queue != x.queue:
            _core._raise_placement("clip", **{"x": x, name: bound})
        if isinstance(bound, _core.USMArray):
            _numbers(bound, "clip", name)
        if _common("clip", x, bound) != dtype:
            raise TypeError(f"clip(): {name} is of a wider type than x, which has dtype {dtype.name}")
    if min is None:
        return x.copy() if max is None else _core.minimum(x, max)
    result = _core.maximum(x, min)
    if max is None:
        return result
    return _core.minimum(result, max, out=None if isinstance(max, _core.USMArray) else result)


def diff(
    x: USMArray,
    /,
    *,
    axis: SupportsIndex = -1,
    n: int = 1,
    prepend: USMArray | None = None,
    append: USMArray | None = None,
) -> USMArray:
    at = _axis_of(_numbers(x, "diff"), axis)
    n = as_int(n, "diff(): n")
    if n < 0:
        raise ValueError(f"diff(): n is {n}; 0 or more is allowed")
    for name, part in (("prepend", prepend), ("append", append)):
        if part is None:
            continue
        if _numbers(part, "diff", name).queue != x.queue:
            _core._raise_placement("diff", **{"x": x, name: part})
        if part.shape[:at] + part.shape[at + 1 :] != x.shape[:at] + x.shape[at + 1 :]:
            raise ValueError(
                f"diff(): {name} has shape {part.shape} and x {x.shape}; they may differ along axis {at} only"
            )
        _common("diff", x, part)
    if n > 0 and (prepend is not None or append is not None):
        x = _core.concat([part for part in (prepend, x, append) if part is not None], axis=at)
    before = (slice(None),) * at
    for _ in range(min(n, max(x.shape[at], 1))):  # then nothing is left
        first, second = x[(*before, slice(None, -1))], x[(*before, slice(1, None))]
        x = (_core.not_equal if first.dtype == _core.bool else _core.subtract)(second, first)
    return x if n > 0 else x.copy()
