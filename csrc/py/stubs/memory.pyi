"""Memory: statistics, limits, and how two places share it."""

import builtins
from typing import SupportsIndex, TypedDict

from usmpy._enums import MemoryConnection

from .device import Device
from .types import _Placement, _UsmType

def memory_connection(a: _Placement, b: _Placement, /) -> MemoryConnection:
    """Tell whether memory of one place can be used from another.

    Parameters
    ----------
    a : USMArray, Device, Queue or str
        The place of the memory. An array stands for its own memory, on any queue; other placements stand
        for memory of kind 'device' that they allocate.
    b : USMArray, Device, Queue or str
        The place of the commands that use it: a device in its context. An array stands for its queue.

    Returns
    -------
    MemoryConnection
        `UNIFIED`: commands use the memory in place. `MIGRATABLE`: they do not, but the driver copies it
        directly from device to device. `NONE`: copies go through memory of the host.

    Raises
    ------
    TypeError
        An argument is not a placement.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    The backend of `b` answers, also for memory of other backends, and each direction has an answer of its
    own. `from_dlpack` and `asarray` with ``copy=False``, `borrow` and the plans of copies (`explain_copy`)
    follow the same answer. The terms are those of SYCL 2020, 4.8.

    Examples
    --------
    >>> import usmpy
    >>> x = usmpy.zeros(3, device="host")
    >>> usmpy.memory_connection(x, "host")
    <MemoryConnection.UNIFIED: 2>
    """

class _KindStats(TypedDict):
    in_use: int
    pooled: int
    peak: int
    blocks: int

class _MemoryStats(TypedDict):
    held: int
    peak: int
    limit: int | None
    device: _KindStats
    shared: _KindStats
    host: _KindStats

def memory_stats(device: _Placement = None) -> _MemoryStats:
    """Count the memory that this process holds of a device, in bytes.

    Parameters
    ----------
    device : str, Device, Queue or USMArray, optional
        A placement as for array creation; it names a (context, device) pair. None is the default placement.

    Returns
    -------
    dict
        `held`, the bytes that the driver gave, in use and pooled; `peak`, the most that it ever was; `limit`,
        that of `set_memory_limit` or None. Under 'device', 'shared' and 'host', the kinds of memory, a dict
        with `in_use`, `pooled` (spare blocks for later allocations), `peak` (the most in use so far), and
        `blocks`, the number of blocks in use.

    Raises
    ------
    TypeError
        `device` is not a placement.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Sizes are those of blocks, which are at most a quarter larger than what was asked for. Imported memory
    belongs to its owner, and is not counted.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    >>> x = usmpy.zeros(1024, dtype="uint8", queue=queue)
    >>> usmpy.memory_stats(queue)["device"]["in_use"]
    1024
    """

def trim(device: _Placement = None) -> int:
    """Give pooled blocks back to the driver.

    Parameters
    ----------
    device : str, Device, Queue or USMArray, optional
        A placement as for array creation; None stands for all devices.

    Returns
    -------
    int
        Bytes given back.

    Raises
    ------
    TypeError
        `device` is not a placement.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Memory in use stays, also by other processes. Memory that the driver itself keeps after it was freed
    (CUDA's pools) becomes available to other libraries and processes, too.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    >>> x = usmpy.zeros(1024, dtype="uint8", queue=queue)
    >>> x.wait()
    >>> del x
    >>> usmpy.trim(queue)
    1024
    """

def set_memory_limit(device: _Placement, nbytes: SupportsIndex | None) -> None:
    """Limit the memory that usmpy takes from the driver of a device.

    Parameters
    ----------
    device : str, Device, Queue or USMArray
        A placement as for array creation; it names a (context, device) pair.
    nbytes : int or None
        The most bytes that may be held, pooled blocks included; None removes the limit.

    Raises
    ------
    ValueError
        `nbytes` is negative.
    TypeError
        An argument has a wrong type.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    An allocation beyond the limit first frees pooled blocks. If that is not enough, it raises a
    `MemoryError` that names the limit. Memory in use is kept, also if it exceeds a new limit.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host")))
    >>> usmpy.set_memory_limit(queue, 1 << 20)
    >>> usmpy.memory_stats(queue)["limit"]
    1048576
    """

def track_allocations(on: builtins.bool, /) -> builtins.bool:
    """Choose whether later allocations remember the line of code that made them.

    Parameters
    ----------
    on : bool
        Whether allocations are recorded from now on.

    Returns
    -------
    bool
        The previous value.

    Raises
    ------
    TypeError
        `on` is not a bool.

    Notes
    -----
    The environment variable ``USMPY_TRACK_ALLOCATIONS=1`` switches it on from the start. An allocation then
    takes about a microsecond longer; switched off, it costs nothing. `live_allocations` lists what was
    remembered.

    Examples
    --------
    >>> import usmpy
    >>> before = usmpy.track_allocations(True)
    >>> x = usmpy.zeros(1024, device="host")
    >>> usmpy.live_allocations()[-1].nbytes >= 8192
    True
    >>> usmpy.track_allocations(before)
    True
    """

def _live_allocations() -> list[tuple[int, _UsmType, Device, int, builtins.bool, int, str | None]]:
    """(nbytes, usm_type, device, address, imported, born_ns, where) of each that is tracked, oldest first."""
