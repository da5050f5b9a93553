"""Arrays of other libraries and other processes."""

import builtins
from typing import Literal, final

from typing_extensions import Buffer, Self

from .array import USMArray
from .queue import Queue
from .types import _Array, _Arrow, _Pair, _Placement, _SupportsCudaInterface

@final
class _Loan:
    """What `USMArray.lend` returns.

    Entering it gives the pointer; leaving it orders later work on the array after the borrower's.
    """
    def __enter__(self) -> int:
        """The pointer, an int: the address of the first element.

        Raises RuntimeError the second time, and the error of work on the memory.
        """
    def __exit__(self, *exception: object) -> Literal[False]:
        """End of the loan: later work on the array waits for the stream.

        exception: passed by the with statement; it propagates.

        Raises RuntimeError unless it was entered.
        """

@final
class borrow:
    """Use another library's array, or a buffer, as a USMArray for the time of a with block.

    Parameters
    ----------
    x : array or buffer
        An object with DLPack's C exchange table or `__dlpack__` (DLPack 1.3), with
        `__cuda_array_interface__`, or with the buffer protocol (PEP 3118).
    queue : Queue, optional
        Queue of the array; None is the cached queue of the device that the memory is on.

    Raises
    ------
    TypeError
        `x` has none of these protocols, or `queue` is not a Queue.

    Notes
    -----
    Entering it gives the array. On entry, the queue is ordered after the owner's work. On exit, the owner's
    later work is ordered after work here: on the device where the owner has streams, otherwise by a wait on
    the host. The owner may change or free the memory right after the block. The array cannot be used then:
    `ValueError`.

    The memory is never copied. PyTorch's tensors that require grad are taken, and gradients do not see what
    is written.

    Examples
    --------
    >>> import numpy as np
    >>> import usmpy
    >>> a = np.zeros(4)
    >>> with usmpy.borrow(a) as x:
    ...     x[1:3] = 5
    >>> a
    array([0., 5., 5., 0.])
    """
    def __new__(cls, x: _Array | Buffer | _SupportsCudaInterface, queue: Queue | None = None) -> Self: ...
    def __enter__(self) -> USMArray:
        """Begin the borrow.

        Returns
        -------
        USMArray
            The borrowed array.

        Raises
        ------
        BufferError
            The queue cannot use the memory in place, or the memory cannot be exchanged.
        RuntimeError
            The borrow was entered before.

        Notes
        -----
        The error of work on the memory is raised here, too.
        """
    def __exit__(self, *exception: object) -> Literal[False]:
        """End the borrow: the owner's later work is ordered after work here.

        Parameters
        ----------
        exception : object
            Passed by the with statement. An exception propagates.

        Returns
        -------
        bool
            Always False.

        Raises
        ------
        RuntimeError
            The borrow is not entered.

        Notes
        -----
        The error of work on the memory is raised here, too.
        """

def from_arrow(
    x: _Arrow, /, *, device: _Placement | _Pair = None, copy: builtins.bool | None = None
) -> USMArray:
    """Take an array of Arrow as a USMArray (Arrow's C data interface and C device data interface).

    Parameters
    ----------
    x : array
        An object with the method `__arrow_c_device_array__` or `__arrow_c_array__`. The first is preferred.
    device : str, Device, Queue, USMArray or tuple of two ints, optional
        As in `from_dlpack`.
    copy : bool, optional
        As in `from_dlpack`.

    Returns
    -------
    USMArray
        Over the memory of `x`, which it keeps alive, and read-only; or over a copy. Lists of fixed size
        become further dimensions.

    Raises
    ------
    BufferError
        The array has nulls, or a type that is not here, or its memory cannot be used; or a copy is necessary
        and `copy` is False.
    TypeError
        `x` has no such method, or an argument has a wrong type.
    MemoryError
        Memory is exhausted.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Integers, float16 to float64, lists of fixed size of them, and the extension type 'arrow.bool8' are taken.
    Work on the result is ordered after the `sync_event` of `x`, on the device. Exceptions of the methods of
    `x` are passed on.

    Examples
    --------
    >>> import usmpy
    >>> import pyarrow as pa
    >>> x = usmpy.from_arrow(pa.array([1, 2, 3]))
    >>> x.tolist()
    [1, 2, 3]
    >>> pa.array(usmpy.ones(3, dtype="int8", device="host")).type
    DataType(int8)
    """

def from_dlpack(
    x: _Array, /, *, device: _Placement | _Pair = None, copy: builtins.bool | None = None
) -> USMArray:
    """Take any library's array as a USMArray (array API standard 2025.12, from_dlpack; DLPack 1.3).

    Parameters
    ----------
    x : array
        An object with DLPack's C exchange table or the method `__dlpack__`.
    device : str, Device, Queue, USMArray or tuple of two ints, optional
        Anything that `Device.create_device` takes, or a DLPack device such as (1, 0). None leaves the memory
        where it is, on the cached queue of its device; so does the DLPack device of the memory.
    copy : bool, optional
        True always copies. False never copies, and takes every memory that the device can use in place. None
        copies where memory of the device would be closer to it, as `USMArray.to_device` does.

    Returns
    -------
    USMArray
        Over the memory of `x`, which it keeps alive, or over a copy.

    Raises
    ------
    BufferError
        The memory cannot be exchanged, or a copy is necessary and `copy` is False.
    TypeError
        `x` has no such protocol, or an argument has a wrong type.
    MemoryError
        Memory is exhausted.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Work on the result is ordered after work that was pending in the stream of `x`. Exceptions of the methods
    of `x` are passed on. A PyTorch tensor that requires grad is refused with `BufferError`, since work here
    is not recorded: pass ``x.detach()``.

    Examples
    --------
    >>> import numpy as np
    >>> import usmpy
    >>> a = np.arange(3)
    >>> x = usmpy.from_dlpack(a)
    >>> x[0] = 7
    >>> x.wait()
    >>> a
    array([7, 1, 2])
    """

def share(x: USMArray, /) -> USMArray:
    """Return `x` in memory that other processes of this machine can open.

    Parameters
    ----------
    x : USMArray
        Any array.

    Returns
    -------
    USMArray
        `x` itself if its memory can be opened by others, as `x.shareable` says; otherwise a copy in new
        memory, on the same queue, with the same kind of memory and order of axes.

    Raises
    ------
    BufferError
        The device shares no memory between processes; the message says why.
    TypeError
        `x` is not a USMArray.
    MemoryError
        Memory is exhausted.

    See Also
    --------
    USMArray.get_ipc_handle

    Notes
    -----
    On the host, and on devices that use all of the host's memory (`Device.has_usm_system`), the new memory is
    a sealed file in memory (memfd_create), which needs no ``/dev/shm``. Level Zero devices share memory of
    kind 'device', which belongs to this process. The copy is asynchronous.

    Examples
    --------
    >>> x = usmpy.share(usmpy.arange(3, device="host"))
    >>> x.shareable, usmpy.share(x) is x
    (True, True)
    """
