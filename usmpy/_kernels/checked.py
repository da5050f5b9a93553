"""The record of a checked launch: made before the kernel runs, read by a host task after it.

Its words are described in usmpy/_compile/portable_checked.h. The host task counts as one that writes to the
arrays which the kernel may write to, so that what depends on them is skipped after a failure.
"""

from __future__ import annotations

from typing import Any

from .._core import Event, Kernel, LocalMemory, Queue, USMArray, asarray
from ..errors import KernelError

_FIRST_NAME, _FIRST_BOUND = 10, 42
_OF_HELPERS = "usm_p_"  # in front of the names of arguments of ElementwiseKernel and the like
_REASONS = {1: "index", 2: "division", 3: "barrier", 4: "assertion"}


def _bounds(argument: Any, room: tuple[int, int], name: str | None) -> list[int]:
    """Where the argument begins and ends, in bytes from its pointer."""
    of_helper = (name or "").startswith(_OF_HELPERS)
    if of_helper and isinstance(argument, USMArray) and argument.size == 1:  # the first element of a view
        return [-room[0], room[1]]
    return [0, argument.nbytes if isinstance(argument, (USMArray, LocalMemory)) else 0]


def record(
    kernel: Kernel, queue: Queue | None, args: tuple[Any, ...], rooms: tuple[tuple[int, int], ...]
) -> USMArray | None:
    """The array for a launch; None if no argument has a queue. rooms: of the arrays' allocations."""
    if queue is None:
        queue = next((argument.queue for argument in args if isinstance(argument, USMArray)), None)
    if queue is None:
        return None
    words = [0] * _FIRST_BOUND
    for argument, room, name in zip(args, rooms, kernel.parameter_names, strict=False):
        words += _bounds(argument, room, name)
    return asarray(words, dtype="int64", queue=queue)


def watch(kernel: Kernel, event: Event, record: USMArray, args: tuple[Any, ...], ndim: int) -> Event:
    """The event of the task that reads the record."""
    queue, seen = record.queue, bytearray(8 * _FIRST_BOUND)
    pairs = zip(args, kernel.parameters, strict=True)
    arrays = [x for x, kind in pairs if isinstance(x, USMArray) and not kind.startswith("const ")]
    copied = queue.memcpy(seen, record, len(seen), depends=event, blocking=False)
    return queue.host_task(_read, kernel, seen, ndim, *arrays, depends=copied)


def _read(kernel: Kernel, seen: bytearray, ndim: int, *arrays: USMArray) -> None:
    words = memoryview(seen).cast("q")
    if not words[0]:
        return
    kind, at, axis, index, extent, line = words[1:7]
    text = bytes(seen[8 * _FIRST_NAME :]).split(b"\0")[0].decode("utf-8", "replace")
    name, _, filename = text.rpartition("|")
    found: dict[str, Any] = {"kernel": kernel.name, "reason": _REASONS[kind], "lineno": line}
    found |= {"work_item": tuple(words[7 : 7 + ndim]), "filename": filename, "backend": kernel.device.backend}
    if kind == 1:
        argument = kernel.parameter_names[at] if at >= 0 else None if at == -2 else name or None
        argument = argument and argument.removeprefix(_OF_HELPERS)
        found |= {"argument": argument, "index": index, "axis": axis}
        found["extent"] = extent if extent >= 0 else None
    raise KernelError(_message(words=name, **found), **found)


def _message(
    *,
    kernel: str,
    reason: str,
    work_item: tuple[int, ...],
    filename: str,
    lineno: int,
    backend: str,
    words: str,
    argument: str | None = None,
    index: int | None = None,
    axis: int | None = None,
    extent: int | None = None,
) -> str:
    what = "an integer is divided by zero"
    if reason == "assertion":
        what = f"the assertion failed{': ' * bool(words)}{words}"
    elif reason == "barrier":
        what = "not all work-items of the group reach this barrier"
    elif reason == "index" and extent is None:
        what = f"index {index} of a pointer that was loaded from memory is in no argument of the launch"
    elif reason == "index":
        where = f"axis {axis} of " * bool(axis) + (argument or "its array")
        what = f"index {index} is outside of {where}, which has {extent} element{'s' * (extent != 1)}"
    return f"{kernel}, line {lineno} of {filename}: {what}, in work-item {work_item}"
