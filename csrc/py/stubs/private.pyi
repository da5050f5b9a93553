"""What the Python part of usmpy calls, and other extensions."""

import builtins
from typing import Any, Final, NoReturn, TypeAlias, TypedDict, final

from typing_extensions import Buffer, CapsuleType, Self

from .array import USMArray
from .device import Device
from .event import Event
from .queue import Queue
from .types import _Backend, _DTypeLike, _Order, _Placement, _UsmType

# The table of usmpy/include/usmpy.h.
_C_API: Final[CapsuleType]

def _number(value: object, /) -> Any:
    """The Python number that a number of Python, NumPy or ctypes stands for; None for anything else."""

def _raise_placement(function: str, /, **arrays: USMArray) -> NoReturn:
    """Raise ExecutionPlacementError for arguments of a function, by name, that are on different queues."""

class _BackendReport(TypedDict):
    name: _Backend
    built: builtins.bool
    absent: str | None
    broken: builtins.bool
    devices: list[Device]
    environment: list[str]
    libraries: str

@final
class _Notifier:
    """Wakes an event loop when events end; for usmpy._asyncio."""
    def __new__(cls) -> Self: ...
    def fileno(self) -> int:
        """The descriptor, which is readable while collect() has objects."""
    def watch(self, event: Event, object: object, /) -> builtins.bool:
        """Have collect() return `object` once the event has ended. Returns False if it has ended already."""
    def collect(self) -> list[Any]:
        """The objects whose events ended since the last call, in the order of their ends."""

_TraceRecord: TypeAlias = tuple[
    str,  # what
    str,  # state
    str | None,  # name
    Device,
    int,  # queue
    int,  # thread
    int,  # submit_ns
    int,  # start_ns
    int,  # end_ns
    int,  # amount
    builtins.bool,  # profiled
    builtins.bool,  # in_order
    list[tuple[int, builtins.bool]],  # waits
    list[tuple[int, int]],  # accesses
]

@final
class _Trace:
    """Records the first `limit` things from now on; for usmpy._inspection.trace."""
    def __new__(cls, limit: int, /) -> Self: ...
    def stop(self) -> None:
        """Nothing new is recorded; how tasks end still is. May be called again."""
    def counts(self) -> tuple[int, int, int, int, int]:
        """(records, dropped, pending, start in nanoseconds, stop in nanoseconds or 0)."""
    def read(self) -> list[_TraceRecord]:
        """(what, state, name, device, queue, thread, submit_ns, start_ns, end_ns, amount, profiled, in_order,
        waits, accesses) of each record; waits are (record, explicit), accesses (allocation, mode).
        """

def _finish() -> None:
    """Waits for all tasks and reports errors that nobody retrieved, as the end of the process does."""

def _backends(name: str | None = None, /) -> list[_BackendReport]:
    """One dict for each backend, or for that of this name alone, which are started: name, built, absent (why,
    or None), broken, devices, environment (variables that filter), libraries (that were opened, a line each).
    """

def _share_descriptors(data: bytes, fds: tuple[int, ...] | None, /) -> tuple[int, ...]:
    """Duplicates of the handle's descriptors, the caller's to close; without fds those of the exporter."""

def _share_exporter(data: bytes, device: _Placement, /) -> Queue | tuple[str, bytes]:
    """The exporter for _share_open, or the filter string and the identity of its device."""

def _share_open(
    data: bytes, fds: tuple[int, ...], exporter: _Placement, device: _Placement, readonly: builtins.bool, /
) -> USMArray:
    """The array of a handle; the descriptors stay the caller's. exporter: where it was exported."""

def _read_only(x: USMArray, /) -> USMArray:
    """View of x that cannot be written. TypeError for other objects."""

def _peek(x: USMArray, /) -> Any:
    """x.tolist() for display: an error of a task that it raises stays unretrieved.
    TypeError for other objects.
    """

def _reinterpret(x: USMArray, dtype: _DTypeLike, /) -> USMArray:
    """View of x with elements of another dtype of as many bits. ValueError where the sizes differ."""

def _to_bytes(x: USMArray, /) -> USMArray:
    """The bytes of x in one dimension, which the host reads and on which no work is pending.

    x's own memory if the host reads it and x is contiguous, else a copy, column-major if x is only that.
    """

def _adopt_bytes(data: Buffer, usm_type: _UsmType, /) -> USMArray:
    """The bytes of a contiguous buffer in one dimension, without a copy; read-only if the buffer is.

    Memory of a USMArray of this kind stays memory of that array's allocation; other memory becomes memory of
    the host device. BufferError, or what else its exporter raises, if the buffer has gaps.
    """

def _of_bytes(x: USMArray, dtype: _DTypeLike, shape: tuple[int, ...], order: _Order, /) -> USMArray:
    """The bytes of x as elements of a type and shape. ValueError where their numbers of bytes differ."""

def _set_default_device(device: Device, /) -> None:
    """Creation functions that name no place use `device` from now on. TypeError for other objects."""
