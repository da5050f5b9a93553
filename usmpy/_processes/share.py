"""Handles of arrays that other processes of this machine open."""

from __future__ import annotations

import os

from .. import _core
from .._arrays.objects import items

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Buffer, Self

    from .._core import Device, USMArray, _Placement


class IPCHandle:
    """How another process of this machine opens an array's memory.

    `USMArray.get_ipc_handle` makes handles. A handle is a few hundred bytes, ``bytes(handle)``, and file
    descriptors, `fds`, which multiprocessing and Unix sockets send; `from_bytes` joins them again.
    ``import usmpy.multiprocessing`` lets multiprocessing send handles, and arrays by handle.

    A handle keeps the array's memory, also when the array has ended, and memory of the host and of CUDA
    devices also when its process has. It orders the exporter's past: work that was pending when the handle
    was made comes before all work on the opened array. Nothing orders what comes afterwards: tell the other
    process, through the channel that sent the handle, when it may read what you wrote.

    Notes
    -----
    Open handles of senders that you trust alone: a handle says where in the memory the array is, and its
    check only finds damage.

    Examples
    --------
    >>> import usmpy
    >>> x = usmpy.share(usmpy.arange(4, device="host"))
    >>> with x.get_ipc_handle() as handle:
    ...     y = handle.open()
    >>> y.data_ptr == x.data_ptr
    True
    """

    __slots__ = ("__weakref__", "_data", "_fds")

    _data: bytes
    _fds: tuple[int, ...] | None  # None once closed

    def __init__(self) -> None:
        raise TypeError("IPCHandle() cannot be called; use x.get_ipc_handle() or IPCHandle.from_bytes(data)")

    @classmethod
    def _make(cls, data: bytes, fds: tuple[int, ...]) -> Self:
        """A handle that closes the descriptors."""
        handle = object.__new__(cls)
        handle._data = data
        handle._fds = fds
        return handle

    @staticmethod
    def _close_descriptor(fd: int, close: Callable[[int], None] = os.close) -> None:
        """Close it, also while the process ends, when names of this module may be None."""
        close(fd)

    @classmethod
    def from_bytes(cls, data: Buffer, fds: Sequence[int] | None = None) -> Self:
        """Join a handle's bytes and descriptors.

        Parameters
        ----------
        data : bytes
            ``bytes(handle)`` of the exporter.
        fds : sequence of int, optional
            The handle's descriptors as they arrived in this process, in their order. They stay yours: the
            handle has duplicates. By default they are taken out of the exporter, which must run and have the
            handle open, by ``pidfd_getfd``.

        Returns
        -------
        IPCHandle

        Raises
        ------
        ValueError
            The bytes are no handle, truncated, damaged, of another version of usmpy or another boot of the
            machine; the descriptors are not the handle's; or the exporter has ended or closed the handle.
        BufferError
            The kernel does not let this process take descriptors of the other one (ptrace_scope).
        MemoryError
            This process has as many descriptors as it may have (``ulimit -n``).
        TypeError
            An argument is of another type.

        Examples
        --------
        >>> import usmpy
        >>> with usmpy.share(usmpy.zeros(3, device="host")).get_ipc_handle() as handle:
        ...     usmpy.IPCHandle.from_bytes(bytes(handle), handle.fds).open().tolist()
        [0.0, 0.0, 0.0]
        """
        with memoryview(data) as view:
            own = view.tobytes()
        return cls._make(
            own, _core._share_descriptors(own, None if fds is None else tuple(items(fds, "fds", 1000)))
        )

    @property
    def fds(self) -> tuple[int, ...]:
        """The file descriptors that go with the bytes; the handle's, until it is closed.

        Raises
        ------
        ValueError
            The handle is closed.
        """
        if self._fds is None:
            raise ValueError("the handle is closed")
        return self._fds

    def open(self, *, device: _Placement = None, readonly: bool = False) -> USMArray:
        """Open the array in this process.

        Parameters
        ----------
        device : Device, Queue, USMArray or str, optional
            Where the array is used; the default is the exporter's device. The device must be able to use the
            memory in place. A driver's memory is opened in the context of the queue.
        readonly : bool, default False
            Make a read-only array. If nothing in this process opened the block to write to it, the memory is
            mapped read-only, where the driver has such mappings. Handles of read-only arrays always open so.

        Returns
        -------
        USMArray
            An array over the same memory, on the device's cached queue. Work on it is ordered after the work
            that was pending in the exporter when the handle was made. A process has each block once: further
            opens, and those of the exporter itself, share the memory that is mapped already.

        Raises
        ------
        ValueError
            The handle is closed, or does not fit its descriptors, or its exporter has ended and the memory
            with it. Nothing is mapped then.
        DeviceNotFound
            The exporter's device is not visible here.
        BufferError
            The device cannot use the memory in place.
        TypeError
            An argument is of another type.

        Examples
        --------
        >>> import usmpy
        >>> x = usmpy.share(usmpy.arange(3, device="host"))
        >>> with x.get_ipc_handle() as handle:
        ...     handle.open(readonly=True).flags.writable
        False
        """
        fds = self.fds
        found = _core._share_exporter(self._data, device)
        exporter = _find_device(*found) if isinstance(found, tuple) else found
        return _core._share_open(self._data, fds, exporter, device, readonly)

    def close(self) -> None:
        """Close the descriptors. Arrays that were opened stay; later calls do nothing.

        Examples
        --------
        >>> import usmpy
        >>> handle = usmpy.share(usmpy.zeros(3, device="host")).get_ipc_handle()
        >>> handle.close()
        """
        fds, self._fds = self._fds, None
        for fd in fds or ():
            self._close_descriptor(fd)

    def __bytes__(self) -> bytes:
        return self._data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fds", None):
            self.close()

    def __repr__(self) -> str:
        return f"<usmpy.IPCHandle, {'closed' if self._fds is None else f'fds={self._fds}'}>"

    def __reduce__(self) -> tuple[object, ...]:
        import pickle

        raise pickle.PicklingError(
            "an IPCHandle has file descriptors, which a pickle cannot carry: import usmpy.multiprocessing "
            "and send it by multiprocessing, or send bytes(handle) and handle.fds"
        )


make_handle = IPCHandle._make
_found: dict[tuple[str, bytes], Device] = {}  # a search takes longer than to open a block again


def _find_device(filter_string: str, uuid: bytes) -> Device:
    """The device with this identity, by its filter string in the exporter or wherever it is here."""
    if (filter_string, uuid) in _found:
        return _found[filter_string, uuid]
    from ..errors import DeviceNotFound, UsmError
    from ..selectors import _all_devices, _available, select_device

    backend = filter_string.partition(":")[0]
    reason = "its identity differs"
    # Sub-devices have the identity of their device.
    found = [] if "@" in filter_string else _all_devices(backend)
    try:
        found.insert(0, select_device(filter_string, "the handle's device"))
    except UsmError as error:
        reason = str(error)
    for device in found:
        if device.uuid.bytes == uuid:
            return _found.setdefault((filter_string, uuid), device)
    raise DeviceNotFound(
        f"the handle's memory is on the exporter's {filter_string}, which is not among the devices here: "
        f"{_available(False)} ({reason})",
        backend=backend,
    )
