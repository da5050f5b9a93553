"""PythonKernel: a Python function as a kernel, built for each set of argument types at its first launch."""

from __future__ import annotations

import enum
import functools
import inspect
import os
import threading
from collections.abc import Callable
from inspect import BoundArguments, Signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

from .. import _core
from .._kernels.call import with_article
from ..errors import BuildError
from . import types
from .program import Program
from .source import Origin
from .types import Type

if TYPE_CHECKING:
    from .._core import Device, Event, Kernel, Queue
    from .interpreter import Interpreter


class PythonKernel(_core._Immutable):
    """A Python function as a kernel; the decorator `kernel` makes it.

    A launch is written as that of a `Kernel`: ``add[range](*args)`` or ``add[range, events](*args)`` returns
    the Event of the launch. Arguments may also be given by name, and have defaults.

    Parameters
    ----------
    function : function
        The body of one work-item, in the language of `docs/python-kernels.md`.
    check : bool, optional
        Whether indices, divisions and assertions are checked, as in `Program`; by default as
        ``USMPY_CHECK`` says.
    options : str, optional
        Options of the compiler, as `Program` takes them.

    Raises
    ------
    BuildError
        The function has no source, or uses what kernels do not have; at a launch with new types: an
        operation is not defined for them. The message shows the line.
    TypeError
        An argument has a wrong type.

    Examples
    --------
    >>> import usmpy
    >>> from usmpy.kernel_api import get_global_id
    >>> @usmpy.kernel
    ... def axpy(a, x, y):
    ...     i = get_global_id(0)
    ...     y[i] += a * x[i]
    >>> x, y = usmpy.ones((2, 3), dtype="float32", device="host")
    >>> event = axpy[usmpy.Range(3)](2.0, x, y)
    >>> y.tolist()
    [3.0, 3.0, 3.0]
    """

    def __init__(
        self, function: Callable[..., object], *, check: bool | None = None, options: str = ""
    ) -> None:
        if isinstance(function, staticmethod):
            function = function.__func__
        if not isinstance(function, FunctionType):
            raise TypeError(f"function is {with_article(function)}; a Python function is allowed")
        if check is not None and not isinstance(check, bool):
            raise TypeError(f"check is {check!r:.80}; a bool is allowed")
        if not isinstance(options, str):
            raise TypeError(f"options is {options!r:.80}; a str is allowed")
        wish = os.environ.get("USMPY_CHECK", "")
        self._check = wish not in ("", "0") if check is None else check
        self._options = options
        self._origin = Origin(function)
        self._signature = inspect.signature(function)
        self._name, self._function = function.__name__, function
        self._lock, self._build_lock = threading.Lock(), threading.Lock()
        self._built: dict[Any, Any] = {}
        self._texts: dict[Any, Program] = {}
        count = len(self._signature.parameters)
        self._dispatch = _core._Dispatch(self, self._name, count, self._check)
        functools.update_wrapper(self, function)

    def __repr__(self) -> str:
        return f"<PythonKernel {self._name}{self._signature}>"

    def __reduce__(self) -> str:
        return self._function.__qualname__

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise TypeError(f"{self._name} needs a range in brackets: {self._name}[range](...)")

    def __getitem__(self, key: Any) -> Callable[..., Event]:
        return self._dispatch[key]

    @property
    def check(self) -> bool:
        """Whether indices, divisions and assertions are checked."""
        return self._check

    @property
    def options(self) -> str:
        """Options of the compiler."""
        return self._options

    @property
    def python(self) -> Interpreter:
        """The kernel in the interpreter: ``kernel.python[range](*args)`` runs the function itself.

        It runs work-item by work-item in the calling thread, on copies of the arrays on the host, and
        returns a completed Event. Breakpoints, `pdb` and coverage work. Errors are Python's own.
        """
        from .interpreter import Interpreter

        return Interpreter(self._function, self._name)

    @property
    def specialisations(self) -> list[Kernel]:
        """The kernels that were built so far, the oldest first."""
        return self._dispatch.built

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The program for these arguments, in the portable language.

        Parameters
        ----------
        *args, **kwargs
            As in a launch, which is not made.

        Returns
        -------
        str

        Examples
        --------
        >>> import usmpy
        >>> from usmpy.kernel_api import get_global_id
        >>> @usmpy.kernel
        ... def double(x):
        ...     x[get_global_id(0)] *= 2
        >>> print(double.source(usmpy.ones(3, dtype="int32", device="host")).splitlines()[0])
        kernel void double_1(global int *x)
        """
        arguments = self._order(args, kwargs)
        queue = next((a.queue for a in arguments if isinstance(a, _core.USMArray)), None)
        return self._program(arguments, None if queue is None else queue.device).text()

    def _order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments by position."""
        return tuple(bound_arguments(self._signature, self._name, args, kwargs).arguments.values())

    def _describe(self, k: int, value: Any) -> tuple[Any, ...]:
        """What an argument is specialised for. The C of dispatch.c has the same classes."""
        if isinstance(value, _core.USMArray):
            if value.dtype.name in types.ELEMENTS:
                return ("array", value.dtype.name, value.ndim, value.flags.c_contiguous)
            given = f"a USMArray of {value.dtype} was given; kernels have {', '.join(types.ELEMENTS)}"
        elif value is None:
            return ("none",)
        elif isinstance(value, _core.LocalMemory):
            if value.dtype.name in types.BY_NAME:
                return ("local", value.dtype.name)
            given = f"LocalMemory of {value.dtype} was given; {', '.join(types.BY_NAME)} are allowed"
        else:
            name = str(getattr(value, "dtype", ""))
            if name in types.ELEMENTS and getattr(value, "ndim", None) == 0:
                return ("number", types.ELEMENTS[name])
            for kind in (bool, int, float, complex):
                if isinstance(value, kind):
                    return ("number", types.BOOL if kind is bool else Type(kind.__name__, 0))
            if (found := number_in_memory(value)) is not None:
                return ("number", found[0])
            given = f"{with_article(value)} was given; "
            given += "a USMArray, a number, LocalMemory or None is allowed"
            if isinstance(value, enum.Enum):
                given += "; pass its value"
            if hasattr(value, "__dlpack__"):
                given += "; usmpy.from_dlpack(x) or usmpy.asarray(x, device=...) makes an array"
        name = list(self._signature.parameters)[k]
        raise TypeError(f"argument {k} ({name}) of {self._name}: {given}")

    def _program(self, arguments: tuple[Any, ...], device: Device | None) -> Program:
        kinds = [self._describe(k, value) for k, value in enumerate(arguments)]
        elements = [kind[1] for kind in kinds if kind[0] == "array"]
        real = types.kernel_real(elements, device is None or device.has_fp64)
        checked = "" if not self._check else "host" if device is None else device.backend
        key = (*kinds, real, checked)
        with self._lock:
            found = self._texts.get(key)
            if found is None:
                found = self._texts[key] = Program(self._function, self._origin, kinds, real, checked)
        return found

    def _build(self, arguments: tuple[Any, ...], queue: Queue) -> tuple[Kernel, bytes, tuple[Any, ...], str]:
        """The Kernel for these arguments, its slots, limits of Python ints, and its name in traces."""
        kinds = map(self._describe, range(len(arguments)), arguments)
        key = (*kinds, queue.context, queue.device.filter_string)
        with self._build_lock:  # of several threads, one builds
            found: tuple[Kernel, bytes, tuple[Any, ...], str] | None = self._built.get(key)
            if found is None:
                found = self._built[key] = self._build_program(self._program(arguments, queue.device), queue)
        return found

    def _build_program(self, program: Program, queue: Queue) -> tuple[Kernel, bytes, tuple[Any, ...], str]:
        try:
            built = _core.Program(program.text(), device=queue, options=self._options, check=False)
        except BuildError as error:
            error.args = (f"{self._name}: {error.args[0]}", *error.args[1:])
            raise
        slots = bytes(value for slot in program.slots() for value in slot)
        place = f"{os.path.basename(self._origin.filename)}:{self._origin.line(self._origin.tree)}"
        return built[program.name], slots, tuple(program.limits()), f"{self._name} ({place})"


def bound_arguments(signature: Signature, name: str, args: Any, kwargs: Any) -> BoundArguments:
    """The arguments of a launch, with defaults. name: the kernel's."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}{signature}: {error}") from None
    bound.apply_defaults()
    return bound


def number_in_memory(value: Any) -> tuple[Type, Any] | None:
    """The type and the number of a ctypes or NumPy object that is no number of Python. None: it is none."""
    try:
        if memoryview(value).ndim:
            return None
        kind = getattr(getattr(value, "dtype", None), "char", "")
        if kind in ("g", "G"):  # long double
            return (types.FLOAT64, float(value)) if kind == "g" else (types.COMPLEX128, complex(value))
        read = _core.asarray(value, device="host")
    except (TypeError, ValueError, BufferError):
        return None
    found = types.ELEMENTS.get(read.dtype.name)
    return None if found is None else (found, read.item())


def kernel(
    function: Callable[..., Any] | None = None, /, *, check: bool | None = None, options: str = ""
) -> Any:
    if function is None:
        return lambda function: PythonKernel(function, check=check, options=options)
    return PythonKernel(function, check=check, options=options)
