"""Kernels in Python, compiled by Numba for the host device and for CUDA devices.

The decorated function is the body of one work-item. It runs on the threads of the queue without the GIL,
or on the GPU.

Examples
--------
>>> import usmpy
>>> from usmpy.numba import get_global_id, kernel
>>> @kernel
... def add(a, b, c):
...     i = get_global_id(0)
...     c[i] = a[i] + b[i]
>>> a, b = (usmpy.arange(4, dtype="float32", device="host") for _ in range(2))
>>> c = usmpy.empty_like(a)
>>> event = add[usmpy.Range(4)](a, b, c)
>>> c.tolist()
[0.0, 2.0, 4.0, 6.0]

Notes
-----
A body cannot raise: an exception ends its part of the index space and is printed (on a GPU it is not),
and the event completes. Division follows NumPy (``1 / 0`` is inf). Indices are not checked.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
import operator
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _brackets, _core
from .errors import BuildError

if TYPE_CHECKING:
    from ._core import Event

__all__ = ["Kernel", "get_global_id", "get_global_size", "kernel"]

_POINTED = {"bool", "complex64", "complex128"}  # beside these, Numba's names are ours
_VALUES = {
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
}


def get_global_id(dimension: int) -> int:
    """The index of this work-item along a dimension of the range.

    Parameters
    ----------
    dimension : int
        Which entry of the range, from 0 on.

    Returns
    -------
    int
        From 0 to the entry of the range minus 1; 0 for a dimension that the range does not have.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.numba import get_global_id, kernel
    >>> @kernel
    ... def number(x):
    ...     x[get_global_id(1), get_global_id(0)] = 10 * get_global_id(1) + get_global_id(0)
    >>> x = usmpy.zeros((2, 3), dtype="int64", device="host")
    >>> number[usmpy.Range(3, 2)](x).wait()
    >>> x.tolist()
    [[0, 1, 2], [10, 11, 12]]
    """
    raise RuntimeError("get_global_id() was called outside of a kernel")


def get_global_size(dimension: int) -> int:
    """The number of work-items along a dimension of the range.

    Parameters
    ----------
    dimension : int
        Which entry of the range, from 0 on.

    Returns
    -------
    int
        The entry; 1 for a dimension that the range does not have.

    Raises
    ------
    RuntimeError
        The call is neither in a kernel nor in a function that a kernel calls.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.numba import get_global_id, get_global_size, kernel
    >>> @kernel
    ... def mirror(x, y):
    ...     i = get_global_id(0)
    ...     y[get_global_size(0) - 1 - i] = x[i]
    >>> x = usmpy.arange(3, device="host")
    >>> y = usmpy.empty_like(x)
    >>> mirror[3](x, y).wait()
    >>> y.tolist()
    [2, 1, 0]
    """
    raise RuntimeError("get_global_size() was called outside of a kernel")


_registration_lock = threading.Lock()
_registered: list[Any] = []


def _numba() -> Any:
    """The module numba with our functions registered, and the names that wrappers use."""
    with _registration_lock:
        if not _registered:
            _registered.append(_register())
        return _registered[0]


def _register() -> Any:
    try:
        import numba
    except ImportError as error:
        raise ImportError(
            "usmpy.numba compiles with the package numba: pip install numba", name="numba"
        ) from error
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic, overload

    # The thread-local key of the work-item: three ids and three sizes, in memory of the wrapper.
    key = ctypes.c_uint()
    if ctypes.CDLL(None).pthread_key_create(ctypes.byref(key), None) != 0:
        raise MemoryError("pthread_key_create has no key left")
    words, word, byte = ir.IntType(64).as_pointer(), ir.IntType(64), ir.IntType(8).as_pointer()
    number = ir.IntType(32)

    @intrinsic
    def begin(typing: Any, address: Any) -> Any:
        """Set the address of this thread's work-item."""

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(number, [number, byte])
            function = cgutils.get_or_insert_function(builder.module, kind, "pthread_setspecific")
            builder.call(function, [number(key.value), builder.inttoptr(arguments[0], byte)])
            return context.get_dummy_value()

        return types.void(types.uintp), code

    @intrinsic
    def read(typing: Any, index: Any) -> Any:
        """Read a word of this thread's work-item; 0 if none runs."""

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.FunctionType(byte, [number])
            function = cgutils.get_or_insert_function(builder.module, kind, "pthread_getspecific")
            # Within a wrapper the value is constant after `begin`, and no pass moves the call before `begin`.
            # `readnone` lets LLVM move the call out of the loop over the work-items.
            function.attributes.add("readnone")
            function.attributes.add("nounwind")
            item = builder.call(function, [number(key.value)])
            result = cgutils.alloca_once_value(builder, word(0))
            with builder.if_then(cgutils.is_not_null(builder, item)):
                place = builder.gep(builder.bitcast(item, words), [arguments[0]])
                builder.store(builder.load(place), result)
            return builder.load(result)

        return types.int64(types.int64), code

    @intrinsic
    def read_only(typing: Any, array: Any) -> Any:
        """Return the same array with a read-only type."""
        return array.copy(readonly=True)(array), lambda context, builder, signature, arguments: arguments[0]

    @overload(get_global_id)
    def get_id(dimension):  # type: ignore[no-untyped-def]
        return lambda dimension: read(dimension) if 0 <= dimension < 3 else 0

    @overload(get_global_size)
    def get_size(dimension):  # type: ignore[no-untyped-def]
        return lambda dimension: read(dimension + 3) if 0 <= dimension < 3 else 1

    return numba, {"_begin": begin, "_read_only": read_only, "_numba": numba}


def _describe(argument: object) -> tuple[Any, ...]:
    """Return the key that a kernel is specialised for."""
    if isinstance(argument, _core.USMArray):
        dtype = str(argument.dtype)
        if dtype not in _VALUES | _POINTED:
            raise TypeError(f"a USMArray of {dtype} was given, which Numba does not know")
        flags = argument.flags
        return ("array", dtype, argument.ndim, flags.c_contiguous or not flags.f_contiguous, flags.writable)
    if isinstance(argument, bool):
        return ("value", "bool")
    dtype = str(getattr(argument, "dtype", "")) if getattr(argument, "ndim", None) == 0 else ""
    if dtype in _VALUES | {"bool"}:
        return ("value", dtype)
    if isinstance(argument, int):
        return ("value", "int64")
    if isinstance(argument, float):
        return ("value", "float64")
    raise TypeError(
        f"a {type(argument).__name__:.80} was given; a USMArray, bool, int, float or NumPy scalar is allowed"
    )


class _Source:
    """Source of the wrapper that runs a part of the linear index space, with its types and parameters."""

    def __init__(self, kinds: list[tuple[Any, ...]], ndim: int, numba: Any) -> None:
        types = numba.types
        self.types: list[Any] = [types.uintp, types.uintp]
        self.parameters: list[str] = []
        self.names: list[str] = []
        lines = []
        for i, kind in enumerate(kinds):
            number_type = types.boolean if kind[1] == "bool" else getattr(types, kind[1])
            if kind[0] == "value":
                self._add(f"a{i}", number_type, kind[1])
                continue
            _, dtype, dimensions, by_rows, writable = kind
            self._add(f"p{i}", types.CPointer(number_type), f"{dtype}*" if writable else f"const {dtype}*")
            for d in range(dimensions):
                self._add(f"n{i}_{d}", types.intp, "int64")
            shape = "".join(f"n{i}_{d}, " for d in range(dimensions))
            array = f"_numba.{'carray' if by_rows else 'farray'}(p{i}, ({shape}))"
            lines.append(f"    a{i} = {array if writable else f'_read_only({array})'}")
        for d in range(ndim):
            self._add(f"g{d}", types.intp, "int64")
        arguments = ", ".join(f"a{i}" for i in range(len(kinds)))
        lines += ["    item = _empty(6, _int64)", "    item[1:3] = 0", "    item[3:] = 1"]
        lines += [f"    item[{3 + d}] = g{d}" for d in range(ndim)]
        lines += ["    _begin(item.ctypes.data)", "    for i in range(begin, end):"]
        lines += {
            1: ["        item[0] = i"],
            2: ["        item[0] = i % g0", "        item[1] = i // g0"],
            3: [
                "        item[0] = i % g0",
                "        item[1] = i // g0 % g1",
                "        item[2] = i // (g0 * g1)",
            ],
        }[ndim]
        lines += [f"        _body({arguments})", "    _begin(0)"]
        head = ", ".join(["begin", "end", *self.names])
        self.text = f"def wrapper({head}):\n" + "\n".join(lines) + "\n"

    def _add(self, name: str, number_type: Any, parameter: str) -> None:
        self.names.append(name)
        self.types.append(number_type)
        self.parameters.append(f"{parameter} {name}")


def _find_device(arguments: tuple[Any, ...]) -> _core.Device | None:
    """The CUDA device of the first array; None if the array is on the host."""
    for argument in arguments:
        if isinstance(argument, _core.USMArray):
            device = argument.device
            return device if device.backend == "cuda" else None
    return None


class Kernel(_core._Immutable):
    """A Python function as a kernel; the decorator `kernel` makes it.

    A launch is written as that of a `usmpy.Kernel`: ``add[range](*args)`` or ``add[range, events](*args)``
    returns the Event of the launch. The range is a Range or an int, without work-groups. The arguments, by
    position or by name, are

    - contiguous USMArrays on one queue of the host device or of a CUDA device; the body sees arrays of their
      shape, which are read-only where they are;
    - numbers: bool, int (as int64), float (as float64) and scalars of NumPy.

    Parameters
    ----------
    function : callable
        The body of one work-item: a Python function that Numba can compile, or one that it has compiled
        (``numba.njit``). What it returns is ignored.

    Raises
    ------
    BuildError
        At the first launch with a new set of types: Numba refuses the function; ``log`` has all that it
        wrote.
    ImportError
        At the first launch: Numba is not installed.
    TypeError
        function is not callable; at a launch, as `usmpy.Kernel` says.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.numba import Kernel, get_global_id
    >>> def double(x):
    ...     x[get_global_id(0)] *= 2
    >>> x = usmpy.arange(3, device="host")
    >>> Kernel(double)[3](x).wait()
    >>> x.tolist()
    [0, 2, 4]
    """

    def __init__(self, function: Callable[..., object]) -> None:
        if not callable(function):
            raise TypeError(f"function is a {type(function).__name__:.80}; a Python function is allowed")
        self._function = function
        self._compiled: dict[Any, _core.Kernel] = {}
        self._for_cuda: dict[Any, Any] = {}
        self._lock = threading.Lock()
        python = getattr(function, "py_func", function)
        self._name: str = getattr(python, "__name__", "kernel")
        functools.update_wrapper(self, python)

    def __repr__(self) -> str:
        return f"<usmpy.numba.Kernel {self._name}>"

    def __call__(self, *args: object, **kwargs: object) -> Event:
        raise TypeError(f"{self._name} needs a range in brackets: {self._name}[range](...)")

    def __getitem__(self, key: Any) -> Callable[..., Event]:
        space, depends = key if type(key) is tuple and len(key) == 2 else (key, ())
        if isinstance(space, _core.NdRange):
            raise ValueError(f"{self._name} has no work-groups; a Range or an int is allowed")
        ints = depends[:1] if type(depends) is tuple else (depends,)
        if any(hasattr(item, "__index__") for item in ints) or not (
            isinstance(space, _core.Range) or hasattr(space, "__index__")
        ):
            _brackets.refuse(self._name, key)
        if hasattr(depends, "__next__"):
            depends = tuple(depends)
        extents = _core.Range(space)
        return functools.partial(self._launch, tuple(extents[i] for i in range(len(extents))), depends)

    def _launch(self, space: tuple[int, ...], depends: Any, *args: Any, **named: Any) -> Event:
        if named:
            signature = inspect.signature(self)
            try:
                args = signature.bind(*args, **named).args
            except TypeError as error:
                raise TypeError(f"{self._name}{signature}: {error}") from None
        kinds = []
        values: list[Any] = []
        for i, argument in enumerate(args):
            try:
                kind = _describe(argument)
            except TypeError as error:
                raise TypeError(f"argument {i} of {self._name}: {error}") from None
            kinds.append(kind)
            values.append(argument)
            if kind[0] == "array":
                values += argument.shape
        key: tuple[Any, ...] = (len(space), *kinds)
        device = _find_device(args)
        if device is not None:
            return self._launch_cuda(device, key, kinds, space, depends, args)
        kernel = self._compiled.get(key)
        if kernel is None:
            with self._lock:
                kernel = self._compiled.get(key) or self._compile(kinds, len(space))
                self._compiled[key] = kernel
        return kernel[math.prod(space), depends](*values, *space)

    def _launch_cuda(
        self,
        device: _core.Device,
        key: tuple[Any, ...],
        kinds: list[tuple[Any, ...]],
        space: tuple[int, ...],
        depends: Any,
        args: tuple[Any, ...],
    ) -> Event:
        from ._compile import numba_cuda

        key = (device.filter_string, device.context, *key)
        compiled = self._for_cuda.get(key)
        if compiled is None:
            functions = (get_global_id, get_global_size)
            with self._lock:
                compiled = self._for_cuda.get(key) or numba_cuda.Compiled(
                    self._function, self._name, kinds, len(space), device, functions
                )
                self._for_cuda[key] = compiled
        return compiled.launch(space, depends, args)

    def _compile(self, kinds: list[tuple[Any, ...]], ndim: int) -> _core.Kernel:
        numba, names = _numba()
        import numpy

        source = _Source(kinds, ndim, numba)
        try:
            body = self._function
            if not hasattr(body, "py_func"):  # the function is not compiled yet
                body = numba.njit(error_model="numpy", nogil=True)(body)
            scope = {**names, "_body": body, "_empty": numpy.empty, "_int64": numpy.int64}
            exec(compile(source.text, f"<usmpy.numba of {self._name}>", "exec"), scope)
            entry = numba.cfunc(numba.types.void(*source.types), error_model="numpy")(scope["wrapper"])
        except numba.core.errors.NumbaError as error:
            log = str(error)
            raise BuildError(
                f"Numba does not compile {self._name}:\n{log}", backend="host", log=log
            ) from error
        address = operator.index(entry.address)
        return _core.Kernel.from_pointer(address, source.parameters, name=self._name, owner=entry)


def kernel(function: Callable[..., object]) -> Kernel:
    """Decorator: the function becomes a kernel, whose work-item `get_global_id` numbers.

    Parameters
    ----------
    function : callable
        The body of one work-item: a Python function that Numba can compile, or one that it has compiled
        (``numba.njit``). What it returns is ignored.

    Returns
    -------
    Kernel
        Compiled at its first launch with each set of types.

    Raises
    ------
    TypeError
        function is not callable.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.numba import get_global_id, kernel
    >>> @kernel
    ... def scale(x, a):
    ...     i = get_global_id(0)
    ...     x[i] *= a
    >>> x = usmpy.ones(3, dtype="float32", device="host")
    >>> scale[3](x, a=2.5).wait()
    >>> x.tolist()
    [2.5, 2.5, 2.5]
    """
    return Kernel(function)
