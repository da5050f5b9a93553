"""NumPy's functions and ufuncs of USMArrays: what ``__array_function__`` and ``__array_ufunc__`` do.

NumPy calls them; nothing else imports this module. A function of NumPy is carried out by that of usmpy, with
NumPy's names of parameters and under usmpy's rules (placement, types, 0-dimensional arrays instead of
scalars). Whatever has no counterpart raises a TypeError: nothing is ever converted.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np

import usmpy

from .._core import USMArray
from .composed import CREATIONS, FUNCTIONS, REDUCTIONS, UNSET, finish, reduce, refused, typed
from .ordered import FUNCTIONS as ORDERED

# NumPy's name, ours, NumPy's parameters: those before the | are passed by position. `!` marks a parameter
# that has to have its default, which follows it; `~` one that changes nothing here. finish() writes to `out`.
_TABLE = """
all              all              a | axis out keepdims !where=True
any              any              a | axis out keepdims !where=True
argmax           argmax           a | axis out keepdims
argmin           argmin           a | axis out keepdims
count_nonzero    count_nonzero    a | axis keepdims
nonzero          nonzero          a |
cumulative_sum   cumulative_sum   x | axis dtype out include_initial
cumulative_prod  cumulative_prod  x | axis dtype out include_initial
diff             diff             a | n axis prepend append
searchsorted     searchsorted     a v | side sorter
isin             isin             element test_elements | ~assume_unique invert ~kind
unique_all       unique_all       x |
unique_counts    unique_counts    x |
unique_inverse   unique_inverse   x |
unique_values    unique_values    x |
concatenate      concat           arrays | axis out !dtype=None !casting=same_kind
stack            stack            arrays | axis out !dtype=None !casting=same_kind
unstack          unstack          x | axis
reshape          reshape          a shape | order copy
matrix_transpose matrix_transpose x |
moveaxis         moveaxis         a source destination |
swapaxes         swapaxes         a axis1 axis2 |
squeeze          squeeze          a | axis
expand_dims      expand_dims      a axis |
flip             flip             m | axis
roll             roll             a shift | axis
repeat           repeat           a repeats | axis
tile             tile             A reps |
broadcast_to     broadcast_to     array shape | ~subok
take_along_axis  take_along_axis  arr indices | axis
put              put              a ind v | !mode=raise
put_along_axis   put_along_axis   arr indices values | axis
place            place            arr mask vals |
extract          extract          condition arr |
tril             tril             m | k
triu             triu             m | k
astype           astype           x dtype | copy
copyto           copyto           dst src | casting !where=True
can_cast         can_cast         from_ to | !casting=safe
real             real             val |
imag             imag             val |
linalg.matmul           matmul           x1 x2 |
linalg.vecdot           vecdot           x1 x2 | axis
linalg.matrix_transpose matrix_transpose x |
"""

# Ufuncs whose names differ from usmpy's, and did so before NumPy 2.
_RENAMED_UFUNCS = {
    "power": "pow",
    "absolute": "abs",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "conjugate": "conj",
    "rint": "round",
    **{"arc" + name[1:]: name for name in ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh")},
}
_UFUNCS = {
    getattr(np, name): getattr(usmpy, ours)
    for name, ours in [*((name, name) for name in usmpy.__all__), *_RENAMED_UFUNCS.items()]
    if isinstance(getattr(np, name, None), np.ufunc)
}
_ACCUMULATIONS: dict[Any, Callable[..., Any]] = {
    np.add: usmpy.cumulative_sum,
    np.multiply: usmpy.cumulative_prod,
}


def _from_table(name: str, ours: str, text: str) -> Callable[..., Any]:
    function = getattr(usmpy, ours)
    first, _, rest = text.partition("|")
    leading, other = first.split(), rest.split()
    names = [word.lstrip("!~").partition("=")[0] for word in leading + other]
    ignored = {word[1:] for word in other if word[0] == "~"}
    fixed = dict(word[1:].split("=") for word in other if word[0] == "!")

    def call(*args: Any, **keywords: Any) -> Any:
        given = dict(zip(names, args, strict=False))
        if len(args) > len(names) or keywords.keys() & given.keys():
            raise TypeError(f"numpy.{name}: too many arguments")
        given.update(keywords)
        if not set(leading) <= given.keys() <= set(names):
            raise TypeError(f"numpy.{name}: other parameters")  # _without_defaults() says which
        for word in fixed.keys() & given.keys():
            if given[word] is not UNSET and str(given[word]) != fixed[word]:
                raise refused(name, word, given[word])
        positional = [given.pop(word) for word in leading]
        out = given.pop("out", None)
        passed = {
            word: value
            for word, value in given.items()
            if word not in ignored | fixed.keys() and value is not UNSET
        }
        return finish(function(*positional, **passed), out, name)

    parameters = [
        Parameter(word, Parameter.POSITIONAL_OR_KEYWORD, default=Parameter.empty if word in leading else None)
        for word in names
    ]
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def _of_numpy(name: str) -> Any:
    """NumPy's function; None where this version has none of the name."""
    try:
        return operator.attrgetter(name)(np)
    except AttributeError:
        return None


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    _of_numpy(name): _from_table(name, ours, parameters)
    for name, ours, parameters in (line.split(maxsplit=2) for line in _TABLE.strip().splitlines())
} | {_of_numpy(name): call for name, call in {**FUNCTIONS, **ORDERED}.items()}
_CREATIONS = {_of_numpy(name): call for name, call in CREATIONS.items()}


def _no_counterpart(name: str) -> TypeError:
    return TypeError(
        f"{name} has no counterpart in usmpy, and USMArrays are never converted implicitly; pass x.asnumpy() "
        "(a copy on the host), or numpy.from_dlpack(x) (the same memory, if the host can access it)"
    )


def _without_defaults(func: Any, function: Callable[..., Any], args: Any, keywords: Any) -> Any:
    """The keywords without those of NumPy's that usmpy lacks, which have to have their defaults.

    None if the function takes the call as it is.
    """
    ours, name = signature(function), f"{func.__module__}.{func.__name__}".removeprefix("numpy.")
    try:
        ours.bind(*args, **keywords)
        return None
    except TypeError:
        pass
    try:
        theirs = dict(signature(func).parameters)
    except ValueError:  # functions in C before NumPy 2.4 have none
        theirs = {}
    unknown = keywords.keys() - ours.parameters.keys()
    for word in unknown:
        if word not in theirs or keywords[word] is not theirs[word].default:
            raise refused(name, word, keywords[word])
    known = {word: value for word, value in keywords.items() if word not in unknown}
    try:
        ours.bind(*args, **known)
    except TypeError as error:
        raise TypeError(f"numpy.{name}: {error}, of the parameters that USMArrays support") from None
    return known


def array_function(x: USMArray, func: Any, types: Any, args: Any, keywords: Any) -> Any:
    """``USMArray.__array_function__``"""
    if not all(issubclass(kind, (USMArray, np.ndarray)) for kind in types):
        return NotImplemented  # the other class may know what to do
    function: Callable[..., Any] | None = _CREATIONS.get(func)
    if function is not None:
        args = (x, *args)
    elif (function := _FUNCTIONS.get(func)) is None:
        raise _no_counterpart(f"{func.__module__}.{func.__name__}")
    try:
        return function(*args, **keywords)
    except TypeError:
        if (keywords := _without_defaults(func, function, args, keywords)) is None:
            raise
    return function(*args, **keywords)


def _cast(name: str, inputs: Any, dtype: Any, casting: Any) -> Any:
    """The inputs in the type that `dtype` of a ufunc asks to compute in."""
    for value in inputs:
        if isinstance(value, USMArray) and not np.can_cast(value.dtype.dtype, dtype.dtype, casting):
            raise TypeError(f"numpy.{name}: casting {casting!r:.100} does not allow {value.dtype} to {dtype}")
    return [typed(value, dtype) if isinstance(value, USMArray) else value for value in inputs]


def _call(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: Any = "same_kind",
    order: Any = "K",
    subok: Any = True,
    **keywords: Any,
) -> Any:
    name, function = ufunc.__name__, _UFUNCS[ufunc]
    if isinstance(out, tuple):
        (out,) = out
    if order != "K":
        keywords["order"] = order
    if dtype is not None:
        dtype = usmpy.DType(dtype)
        inputs = inputs if dtype == usmpy.bool else _cast(name, inputs, dtype, casting)
    elif isinstance(out, USMArray) and where is True:
        try:
            return function(*inputs, out=out, **keywords)
        except (TypeError, ValueError):
            pass  # another type or shape, or a fault of the inputs that is raised below
    result = function(*inputs, **keywords)
    if dtype is not None and result.dtype != dtype:
        raise refused(name, "dtype", dtype)
    if where is not True:
        result = usmpy.where(where, result, result if out is None else out)
        result = result if out is None else typed(result, out.dtype)
    return finish(result, out, name, casting)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **keywords: Any) -> Any:
    return _call(ufunc, usmpy.reshape(a, a.shape + (1,) * b.ndim), b, **keywords)


def _accumulate(ufunc: np.ufunc, array: USMArray, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    return finish(_ACCUMULATIONS[ufunc](array, axis=axis, dtype=dtype), out, f"{ufunc.__name__}.accumulate")


_METHODS: dict[str, tuple[Any, Callable[..., Any]]] = {
    "__call__": (_UFUNCS, _call),
    "reduce": (REDUCTIONS, reduce),
    "accumulate": (_ACCUMULATIONS, _accumulate),
    "outer": ({ufunc for ufunc in _UFUNCS if ufunc.nin == 2 and ufunc.signature is None}, _outer),
}


def array_ufunc(x: USMArray, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
    """``USMArray.__array_ufunc__``"""
    for value in (*inputs, *keywords.get("out", ())):
        if hasattr(type(value), "__array_ufunc__") and not isinstance(value, (USMArray, np.ndarray)):
            return NotImplemented  # the other class may know what to do
    if any(isinstance(value, np.ndarray) and value.ndim for value in (*inputs, *keywords.get("out", ()))):
        raise TypeError(
            f"numpy.{ufunc.__name__} of a USMArray and a numpy.ndarray: nothing is converted implicitly; "
            "usmpy.asarray(a, device=x.device) makes a USMArray, numpy.from_dlpack(x) an array of NumPy over "
            "the same memory, if the host can access it, and x.asnumpy() a copy"
        )
    if ufunc is np.divmod and method == "__call__" and not keywords:
        return usmpy.floor_divide(*inputs), usmpy.remainder(*inputs)
    known, carry_out = _METHODS.get(method, ((), None))
    if carry_out is None or ufunc not in known:
        where = "numpy" if getattr(np, ufunc.__name__, None) is ufunc else "the ufunc "
        suffix = "" if method == "__call__" else f".{method}"
        raise _no_counterpart(f"{where}{'.' * (where == 'numpy')}{ufunc.__name__}{suffix}")
    return carry_out(ufunc, *inputs, **keywords)
