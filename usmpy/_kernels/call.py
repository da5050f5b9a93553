"""What the calls of all helpers check: arrays, types, queues and results."""

from __future__ import annotations

from .. import _core
from .._arrays import objects as _objects
from .._arrays.objects import shown
from ..errors import ExecutionPlacementError
from . import layout
from .types import C_TYPES, check_device, may_cast

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .parameters import Parameter

_WIDTH = {"device": 0, "shared": 1, "host": 2}


def with_article(value: object) -> str:
    """The value's type with its article, for messages."""
    name = type(value).__name__
    if type(value).__module__ not in ("builtins", "usmpy"):
        name = f"{type(value).__module__}.{name}"
    name = name[:80]
    return f"{'an' if name[0] in 'aeiouAEIO' else 'a'} {name}"


def _scalar(value: Any) -> Any:
    """A number of Python or ctypes as one of Python; NumPy's keep their type, where kernels have it."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    if getattr(value, "ndim", None) == 0 and getattr(getattr(value, "dtype", None), "name", None) in C_TYPES:
        _objects.check(value)
        return value
    return _core._number(value)


def scalars_dtype(values: Sequence[Any], device: _core.Device) -> _core.DType:
    """The type of scalars that no array decides: numbers of Python follow those of NumPy."""
    typed = [_core.DType(value.dtype) for value in values if hasattr(value, "dtype")]
    plain = [value for value in values if not hasattr(value, "dtype")]
    if typed:
        return _core.result_type(*typed, *plain)
    if all(isinstance(value, bool) for value in plain):
        return _core.bool
    if all(isinstance(value, int) for value in plain):
        return _core.int64
    if any(isinstance(value, complex) for value in plain):
        return _core.complex128 if device.has_fp64 else _core.complex64
    return _core.float64 if device.has_fp64 else _core.float32


def input_of(value: Any, parameter: Parameter, name: str) -> Any:
    """The array, or the number, that a kernel takes; TypeError for anything else."""
    who = f"argument {parameter.name!r} of {name}"
    if isinstance(value, _core.USMArray):
        if value.dtype.name not in C_TYPES:
            raise TypeError(
                f"{who}: a USMArray of {value.dtype} was given; one of {', '.join(C_TYPES)} is allowed"
            )
    elif parameter.raw:
        raise TypeError(
            f"{who}: {with_article(value)} was given for a raw array; a USMArray is allowed, such as "
            f"usmpy.asarray({parameter.name}, device=x.device) of another argument x"
        )
    else:
        number = _scalar(value)
        if number is not None:
            return number
        way = f"usmpy.asarray({parameter.name}, device=x.device) of another argument x makes one"
        hint = f"; {way}" if hasattr(value, "__len__") or hasattr(value, "shape") else ""
        raise TypeError(f"{who}: {with_article(value)} was given; a USMArray or a number is allowed{hint}")
    return value


def common_queue(
    name: str, arrays: Sequence[tuple[str, _core.USMArray]], queue: _core.Queue | None
) -> _core.Queue:
    """The queue that all arrays are on, and `queue` where it is given; the default one without any."""
    if queue is not None and not isinstance(queue, _core.Queue):
        raise TypeError(f"{name}: queue is {with_article(queue)}; a Queue or None is allowed")
    if not arrays:
        return queue if queue is not None else _core.Device().queue
    chosen = arrays[0][1].queue if queue is None else queue
    if all(x.queue == chosen for _, x in arrays):
        return chosen
    if queue is None:
        _core._raise_placement(name, **dict(arrays))
    who, x = next(pair for pair in arrays if pair[1].queue != queue)
    raise ExecutionPlacementError(
        f"{name}: {who} is on {x.queue!r}, and queue is {queue!r}\n"
        f"to bring them together: {who} = {who}.to_device(queue)"
    )


def widest(arrays: Iterable[_core.USMArray]) -> str:
    """The widest kind of memory."""
    return max((x.usm_type for x in arrays), key=_WIDTH.__getitem__, default="device")


def resolve(
    name: str,
    parameters: Sequence[Parameter],
    inputs: int,
    values: Sequence[object],
    device: _core.Device,
) -> tuple[list[_core.DType], dict[str, _core.DType]]:
    """(the declared type of each parameter, the type of each variable).

    inputs: how many of the parameters are inputs. values: None stands for no argument.

    Arrays decide the variables first, then scalars do, all of them together.
    """
    variables: dict[str, _core.DType] = {}
    deciding: dict[str, str] = {}
    for parameter, value in zip(parameters, values, strict=True):
        letter = parameter.variable
        if not letter or not isinstance(value, _core.USMArray):
            continue
        known = variables.setdefault(letter, value.dtype)
        first = deciding.setdefault(letter, parameter.name)
        if known != value.dtype:
            changed, to = parameter.name, known
            if value.dtype.kind == "c" != known.kind:  # a complex array has no real type
                changed, to = first, value.dtype
            raise TypeError(
                f"arguments {first!r} and {parameter.name!r} of {name}: both are declared as {letter}, and "
                f"{known} and {value.dtype} were given; pass {changed}.astype('{to}')"
            )
    scalars: dict[str, list[object]] = {}
    for parameter, value in zip(parameters, values, strict=True):
        if value is not None and parameter.variable and parameter.variable not in variables:
            scalars.setdefault(parameter.variable, []).append(value)
    for letter, found in scalars.items():
        variables[letter] = scalars_dtype(found, device)
    declared = []
    for k, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        who = f"argument {parameter.name!r} of {name}"
        dtype = parameter.dtype or variables.get(parameter.variable)
        if dtype is None:
            raise TypeError(
                f"{who}: no argument decides its type {parameter.variable}; pass out= or declare a dtype"
            )
        if dtype.name not in C_TYPES:
            raise TypeError(f"{who}: {dtype} was given; one of {', '.join(C_TYPES)} is allowed")
        check_device(dtype, device, who)
        if isinstance(value, complex) and dtype.kind != "c":
            raise TypeError(
                f"{who}: a complex was given for {dtype}; a real number is allowed, such as z.real"
            )
        if k < inputs and isinstance(value, _core.USMArray) and value.dtype != dtype:
            check_device(value.dtype, device, who)
            if parameter.raw or not may_cast(value.dtype, dtype):
                part = "real" if value.dtype.kind == "c" and dtype.kind != "c" else f"astype('{dtype}')"
                raise TypeError(
                    f"{who}: a USMArray of {value.dtype} was given for {parameter}; pass "
                    f"{parameter.name}.{part}"
                )
        declared.append(dtype)
    return declared, variables


def check_where(where: object, name: str) -> None:
    if not isinstance(where, _core.USMArray) or where.dtype != _core.bool:
        given = f"a USMArray of {where.dtype}" if isinstance(where, _core.USMArray) else with_article(where)
        raise TypeError(f"{name}: where is {given}; a USMArray of bool or None is allowed")


def given_outputs(name: str, outputs: Sequence[Parameter], out: object) -> tuple[_core.USMArray | None, ...]:
    """out= as a tuple with one entry for each output. TypeError for anything but arrays."""
    if out is None:
        return (None,) * len(outputs)
    if not outputs:
        raise TypeError(f"{name} has no outputs; out=None is allowed")
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != len(outputs):
        listed = ", ".join(parameter.name for parameter in outputs)
        raise TypeError(
            f"{name}: out has {len(given)} {'array' if len(given) == 1 else 'arrays'}; "
            f"{len(outputs)} ({listed}) {'is' if len(outputs) == 1 else 'are'} allowed"
        )
    for parameter, x in zip(outputs, given, strict=True):
        if x is not None and not isinstance(x, _core.USMArray):
            raise TypeError(
                f"{name}: out ({parameter.name}) is {with_article(x)}; a USMArray or None is allowed"
            )
    return given


def check_output_types(
    name: str,
    outputs: Sequence[Parameter],
    given: Sequence[_core.USMArray | None],
    declared: Sequence[_core.DType],
    shape: tuple[int, ...],
) -> None:
    """ValueError or TypeError for results whose type or layout cannot take the elements."""
    for parameter, x, dtype in zip(outputs, given, declared, strict=True):
        if x is None:
            continue
        who = f"{name}: out ({parameter.name})"
        if x.dtype != dtype:
            raise TypeError(f"{who} is a USMArray of {x.dtype}; {dtype} is allowed")
        if x.shape != shape and not parameter.raw:
            raise ValueError(f"{who} has the shape {x.shape}; the result has {shape}")
        if parameter.raw and not x.flags.c_contiguous:
            raise ValueError(
                f"{who} is a raw array, and is not contiguous in row-major order; pass one that is"
            )
        if layout.repeats(x):
            raise ValueError(f"{who} has elements that share memory; pass an array whose elements do not")


def check_output_memory(
    name: str, outputs: Sequence[Parameter], given: Sequence[_core.USMArray | None]
) -> None:
    """ValueError for results that are read-only, or share memory."""
    for k, (parameter, x) in enumerate(zip(outputs, given, strict=True)):
        if x is None:
            continue
        if not x.flags.writable:
            raise ValueError(
                f"{name}: out ({parameter.name}) is read-only; pass an array that can be written"
            )
        for other, y in zip(outputs[:k], given[:k], strict=True):
            if y is not None and layout.overlap(x, y):
                raise ValueError(f"{name}: out ({other.name}) and out ({parameter.name}) share memory")


def check_changed(name: str, inputs: Sequence[Parameter], values: Sequence[Any]) -> None:
    """ValueError for raw inputs that a kernel cannot write to, or that share memory."""
    for k, (parameter, x) in enumerate(zip(inputs, values, strict=True)):
        who = f"argument {parameter.name!r} of {name}"
        if not x.flags.writable:
            raise ValueError(f"{who} is read-only; pass an array that can be written, or declare it as const")
        if not x.flags.c_contiguous:
            raise ValueError(
                f"{who} is written to, and is not contiguous in row-major order; pass one that is"
            )
        for other, y in zip(inputs[:k], values[:k], strict=True):
            if layout.overlap(x, y):
                raise ValueError(f"{who} shares memory with {other.name!r}, and both are written to")


def split(
    name: str, inputs: Sequence[Parameter], outputs: Sequence[Parameter], args: tuple[Any, ...], out: object
) -> tuple[tuple[Any, ...], object]:
    """(the inputs, out) from arguments by position: inputs, or inputs and outputs. TypeError otherwise."""
    n, both = len(inputs), len(inputs) + len(outputs)
    if len(args) == n:
        return args, out
    if len(args) == both and out is None:
        return args[:n], args[n:]
    listed = ", ".join(map(str, inputs))
    also = f" or {both}, with the outputs," if out is None else ""
    raise TypeError(
        f"{name} takes {n} argument{'' if n == 1 else 's'} ({listed}){also} by position; "
        f"{len(args)} {'was' if len(args) == 1 else 'were'} given"
    )


def arrays_of(
    inputs: Sequence[Parameter],
    args: Sequence[object],
    outputs: Sequence[Parameter],
    given: Sequence[_core.USMArray | None],
    where: object,
) -> list[tuple[str, _core.USMArray]]:
    """All arrays of a call with the names of their parameters."""
    pairs = [(p.name, x) for p, x in zip(inputs, args, strict=True) if isinstance(x, _core.USMArray)]
    pairs += [(p.name, x) for p, x in zip(outputs, given, strict=True) if x is not None]
    if isinstance(where, _core.USMArray):
        pairs.append(("where", where))
    return pairs


def is_overwritten(
    x: _core.USMArray,
    given: Sequence[_core.USMArray | None],
    parameter: Parameter | None,
    outputs: Sequence[Parameter],
) -> bool:
    """Whether a result may overwrite an input before it is read.

    An input that shares each element with a result at the same index is safe, unless one of them is raw.
    """
    for output, y in zip(outputs, given, strict=True):
        if y is None or not layout.overlap(x, y):
            continue
        same = x.data_ptr == y.data_ptr and x.itemsize == y.itemsize
        raw = output.raw or (parameter is not None and parameter.raw)
        if raw or not same or x.shape != y.shape or x.strides != y.strides:
            return True
    return False


def may_write(out: _core.USMArray, args: Sequence[Any]) -> bool:
    """Whether a result is writable, and no argument lies in its memory."""
    return out.flags.writable and not any(
        type(value) is _core.USMArray and layout.overlap(value, out) for value in args
    )


def check_depends(depends: Any, name: str) -> Any:
    """TypeError for what is neither an Event nor a collection; its items are checked at the launch."""
    if not isinstance(depends, _core.Event) and not hasattr(depends, "__iter__"):
        raise TypeError(
            f"{name}: depends is {with_article(depends)}; an Event or a sequence of Events is allowed"
        )
    return depends


def order_after(queue: _core.Queue, depends: Any, name: str) -> tuple[()]:
    """Order what the queue gets from now on after `depends`, for calls of several commands."""
    if depends != ():
        queue.barrier(check_depends(depends, name))
    return ()


def check_texts(name: object, **texts: object) -> None:
    """TypeError or ValueError for texts of a kernel that are none, and for a name that C does not take."""
    for what, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{what} is {with_article(text)}; a str is allowed")
        if "\0" in text:
            raise ValueError(f"{what} contains a null character")
    if not isinstance(name, str):
        raise TypeError(f"name is {with_article(name)}; a str is allowed")
    if not (name.isascii() and name.isidentifier()):
        raise ValueError(f"name is {shown(name, 60)}; an identifier of C is allowed")


def key_of(value: Any) -> tuple[Any, ...]:
    """What plans depend on in one argument."""
    if isinstance(value, _core.USMArray):
        return value.dtype, value.shape, value.strides, value.usm_type
    if isinstance(value, (bool, int, float, complex)) or value is None:
        return (type(value),)
    return type(value), str(getattr(value, "dtype", ""))
