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
import socket
from multiprocessing import context
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import TYPE_CHECKING, Any

from ._core import USMArray
from ._share import IPCHandle

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

# Smaller arrays travel in the pickle itself: the descriptor alone takes longer than their bytes.
IN_PICKLE = 64 * 1024
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


def duplicate(fds: tuple[int, ...]) -> Any:
    """
    One DupFd for all descriptors, since each takes a connection between the processes and two threads' time:
    several wait in a socket, which is sent in their place.
    """
    if len(fds) == 1:
        return DupFd(fds[0])
    near, far = socket.socketpair()
    with near, far:
        socket.send_fds(near, [b"1"], fds)
        return DupFd(far.fileno())


def detached(sent: Any, count: int) -> tuple[int, ...]:
    fd = sent.detach()
    if count == 1:
        return (fd,)
    with socket.socket(fileno=fd) as far:
        _, fds, _, _ = socket.recv_fds(far, 1, count)
    for fd in fds:
        os.set_inheritable(fd, False)
    return tuple(fds)


def send(handle: IPCHandle) -> Any:
    """What sends the handle's descriptors. A process that is being started takes them later."""
    process: Any = context.get_spawning_popen()
    sent = duplicate(handle.fds)
    if process is None:
        handle.close()
    else:
        process._usmpy_handles = [*getattr(process, "_usmpy_handles", ()), handle]
    return sent


def received(data: bytes, sent: Any, count: int) -> IPCHandle:
    return IPCHandle._make(data, detached(sent, count))


def opened(data: bytes, sent: Any, count: int) -> USMArray:
    with received(data, sent, count) as handle:
        return handle.open()


def reduce_handle(handle: IPCHandle) -> tuple[Any, ...]:
    data, fds = bytes(handle), handle.fds
    return received, (data, send(IPCHandle.from_bytes(data, fds)), len(fds))


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
        count = len(handle.fds)
        return opened, (bytes(handle), send(handle), count)
    if array.nbytes <= IN_PICKLE:
        return array.__reduce_ex__(4)
    make, (buffer, *rest) = array.__reduce_ex__(5)
    assert isinstance(buffer, pickle.PickleBuffer)
    data = buffer.raw()
    sent = send(IPCHandle._make(b"", (sealed_copy(data),)))
    return adopted, (make, sent, data.nbytes, *rest)


ForkingPickler.register(USMArray, reduce_array)
ForkingPickler.register(IPCHandle, reduce_handle)
