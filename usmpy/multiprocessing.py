"""Arrays between processes of multiprocessing: by handle where their memory is shared, else by value.

Importing this module registers how multiprocessing sends arrays and handles through queues, pipes and
arguments of processes, with each of its start methods. An array in shared memory (`usmpy.share`,
``USMArray.shareable``) arrives as an array over the same memory. Any other array arrives as a copy, which
travels in a sealed file in memory instead of through the pipe. File descriptors travel as
``multiprocessing.reduction.DupFd``, which needs the sender to run until the receiver has the object.

Examples
--------
>>> import multiprocessing
>>> import usmpy
>>> import usmpy.multiprocessing
>>> queue = multiprocessing.get_context("spawn").Queue()
>>> x = usmpy.share(usmpy.zeros(3, device="host"))
>>> queue.put(x)
>>> y = queue.get(timeout=60)
>>> y[0] = 1
>>> x.tolist()
[1.0, 0.0, 0.0]
>>> queue.close()
>>> queue.join_thread()

Notes
-----
The receiver trusts the sender, as with every pickle.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import pickle
from multiprocessing import context
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import TYPE_CHECKING, Any

from ._core import USMArray
from ._processes.share import IPCHandle

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

# Smaller arrays travel in the pickle itself: the descriptor alone takes longer than their bytes.
IN_PICKLE = 64 * 1024
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def duplicates(handle: IPCHandle) -> list[Any]:
    """What sends the handle's descriptors. A process that is being started takes them later."""
    process: Any = context.get_spawning_popen()
    sent = [DupFd(fd) for fd in handle.fds]
    if process is None:
        handle.close()
    else:
        process._usmpy_handles = [*getattr(process, "_usmpy_handles", ()), handle]
    return sent


def received(data: bytes, sent: list[Any]) -> IPCHandle:
    return IPCHandle._make(data, tuple(duplicate.detach() for duplicate in sent))


def opened(data: bytes, sent: list[Any]) -> USMArray:
    with received(data, sent) as handle:
        return handle.open()


def reduce_handle(handle: IPCHandle) -> tuple[Any, ...]:
    data = bytes(handle)
    return received, (data, duplicates(IPCHandle.from_bytes(data, handle.fds)))


def sealed_copy(data: memoryview) -> int:
    """A file in memory with these bytes, which nobody can change."""
    fd = os.memfd_create("usmpy", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        done = 0
        while done < data.nbytes:
            done += os.write(fd, data[done:])
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd


def adopted(make: Callable[..., USMArray], sent: Any, nbytes: int, *rest: Any) -> USMArray:
    """The array over a private mapping of the file: what is written to it is copied, page by page."""
    fd = sent.detach()
    try:
        if os.fstat(fd).st_size != nbytes or fcntl.fcntl(fd, fcntl.F_GET_SEALS) & SEALS != SEALS:
            raise ValueError(f"the file of an array of {nbytes} bytes has another size, or is not sealed")
        data = mmap.mmap(fd, nbytes, flags=mmap.MAP_PRIVATE)
    finally:
        os.close(fd)
    return make(data, *rest)


def reduce_array(array: USMArray) -> tuple[Any, ...]:
    if array.shareable and array.nbytes:
        handle = array.get_ipc_handle()
        return opened, (bytes(handle), duplicates(handle))
    if array.nbytes <= IN_PICKLE:
        return array.__reduce_ex__(4)
    make, (buffer, *rest) = array.__reduce_ex__(5)
    assert isinstance(buffer, pickle.PickleBuffer)
    data = buffer.raw()
    handle = IPCHandle._make(b"", (sealed_copy(data),))
    (sent,) = duplicates(handle)
    return adopted, (make, sent, data.nbytes, *rest)


ForkingPickler.register(USMArray, reduce_array)
ForkingPickler.register(IPCHandle, reduce_handle)
