"""Context and Queue."""

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex, final

from typing_extensions import Buffer, CapsuleType, Self

from .array import USMArray
from .device import Device, _Immutable
from .event import Event
from .program import Kernel
from .types import (
    _Backend,
    _Depends,
    _HandleOrSycl,
    _KernelArgument,
    _Number,
    _Placement,
    _Priority,
    _Range,
    _Stream,
)

@final
class Context(_Immutable):
    """Several devices of one platform that share memory and events (SYCL 2020, 4.6.3).

    Parameters
    ----------
    devices : Device or sequence of Device
        Devices of one backend, without repeats.

    Raises
    ------
    ValueError
        There are no devices, one is repeated, or they are of different backends or platforms.
    TypeError
        `devices` is something else.

    Notes
    -----
    Contexts are equal if they are the same native context. Each call makes a new one, so two
    ``Context(devices)`` differ; ``device.context`` is the default context of the platform.

    Examples
    --------
    >>> import usmpy
    >>> context = usmpy.Context(usmpy.Device("host"))
    >>> usmpy.Queue("host", context=context).context == context
    True
    >>> context.is_default, usmpy.Device("host").context.is_default
    (False, True)
    """
    def __new__(cls, devices: Device | Iterable[Device]) -> Self: ...
    @property
    def devices(self) -> list[Device]:
        """The devices of the context."""
    @property
    def backend(self) -> _Backend:
        """Name of the backend: 'host', 'opencl', 'level_zero' or 'cuda'."""
    @property
    def is_default(self) -> builtins.bool:
        """Whether this is the default context of the platform."""
    @property
    def native_handle(self) -> int | None:
        """The driver's context as an int, for other libraries.

        A cl_context, ze_context_handle_t or CUcontext; None on the host. Valid for the life of this context:
        a library that keeps it longer must retain it, as PyOpenCL's from_int_ptr does.
        """
    @classmethod
    def from_native(cls, backend: _Backend, handle: _HandleOrSycl, *, owner: object = None) -> Context:
        """Make a context over a driver's context of another library.

        Parameters
        ----------
        backend : str
            ``"opencl"``, ``"level_zero"`` or ``"cuda"``.
        handle : int or object
            The driver's context as an int, such as a cl_context; an object whose `int_ptr` is one, such as
            PyOpenCL's Context; or a SyclContext of dpctl.
        owner : object, optional
            Kept alive as long as the context. It must not reference the context: the garbage collector cannot
            break that cycle.

        Returns
        -------
        Context
            There is one Context for each native context: those of one handle are equal, and memory of one
            is memory of the other. The handle is retained, and never destroyed.

        Raises
        ------
        ValueError
            The handle is 0, or the backend has no native contexts.
        TypeError
            An argument has a wrong type.
        UsmError
            The handle is not a context, as far as the driver can tell (CL_INVALID_CONTEXT).
        DeviceNotFound
            The context has a device that usmpy does not list.
        BackendUnavailable
            The backend is missing.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import usmpy
        >>> for device in usmpy.get_devices("opencl"):
        ...     context = usmpy.Context.from_native("opencl", device.context.native_handle)
        ...     assert context == device.context
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...

@final
class Queue(_Immutable):
    """Where work is submitted (SYCL 2020, 4.6.5).

    Each call makes a new queue, which compares equal only to itself.

    Parameters
    ----------
    device : str, Device, Queue or USMArray, optional
        Anything that `Device.create_device` takes.
    context : Context, optional
        A context that has the device; None stands for the context of `device`.
    in_order : bool, default True
        Whether work runs in the order of submission. With False, only `depends` and the memory that tasks use
        order them.
    profiling : bool, default False
        Whether events have times.
    priority : {'normal', 'low', 'high'}, default 'normal'
        Priority of the work. On the host, 'low' lowers the priority of the threads, and 'high' is 'normal',
        since raising it needs a privilege.

    Raises
    ------
    ValueError
        The context does not have the device, or the priority is none of the three.
    TypeError
        An argument has a wrong type.
    UsmError
        The driver refuses to make a queue.
    MemoryError
        Memory is exhausted.
    DeviceNotFound, BackendUnavailable
        As `Device` raises them.

    Notes
    -----
    Every submission returns an `Event` at once, and keeps the memory that it uses alive until it completes.
    It is ordered after earlier work on the same memory, also in other queues. Errors of the work are raised
    by `Event.wait` and `Queue.wait`.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host")
    >>> x = usmpy.zeros(4, dtype="int32", queue=queue)
    >>> event = queue.fill(x, 7)
    >>> event.wait()
    >>> x.tolist()
    [7, 7, 7, 7]
    """
    def __new__(
        cls,
        device: _Placement = None,
        *,
        context: Context | None = None,
        in_order: builtins.bool = True,
        profiling: builtins.bool = False,
        priority: _Priority = "normal",
    ) -> Self: ...
    @property
    def device(self) -> Device:
        """The device, with this queue: arrays that are made with it are on this queue."""
    @property
    def context(self) -> Context:
        """The context of the queue's device and memory."""
    @property
    def backend(self) -> _Backend:
        """Name of the backend: 'host', 'opencl', 'level_zero' or 'cuda'."""
    @property
    def in_order(self) -> builtins.bool:
        """Whether work runs in the order of submission (SYCL 2020, property::queue::in_order)."""
    @property
    def profiling(self) -> builtins.bool:
        """Whether events have times (SYCL 2020, property::queue::enable_profiling)."""
    @property
    def priority(self) -> _Priority:
        """Priority of the work: 'low', 'normal' or 'high'."""
    @property
    def native_handle(self) -> int | None:
        """The driver's queue or stream as an int, in which other libraries can enqueue.

        A cl_command_queue, a ze_command_list_handle_t or a CUstream. None on the host, whose queues are
        threads, and for queues over plain command lists of Level Zero. Valid for the life of this queue: a
        library that keeps it longer must retain it, as PyOpenCL's from_int_ptr does. Tasks of the host, and
        work behind them, are not in the driver's queue until they run: `wait` for them first.
        """
    @classmethod
    def from_native(cls, backend: _Backend, handle: _HandleOrSycl, *, owner: object = None) -> Queue:
        """Make a queue that enqueues in a driver's queue of another library.

        Parameters
        ----------
        backend : str
            ``"opencl"``, ``"level_zero"`` or ``"cuda"``.
        handle : int or object
            The driver's queue as an int, such as a cl_command_queue; an object whose `int_ptr` is one, such
            as PyOpenCL's CommandQueue; or a SyclQueue of dpctl.
        owner : object, optional
            Kept alive as long as the queue. It must not reference the queue: the garbage collector cannot
            break that cycle.

        Returns
        -------
        Queue
            Always a new one. The handle is retained, and never destroyed.

        Raises
        ------
        ValueError
            The handle is 0, or the backend has no native queues.
        TypeError
            An argument has a wrong type.
        UsmError
            The handle is not a queue, as far as the driver can tell (CL_INVALID_COMMAND_QUEUE).
        DeviceNotFound
            The queue is on a device that usmpy does not list.
        BackendUnavailable
            The backend is missing.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        Work of both libraries runs in the order of the calls, except for host tasks, and for work that
        waits for them or for other drivers: such work is enqueued when its dependencies have completed.
        `wait`, `wait_for` and `barrier` include the work of other libraries.

        Examples
        --------
        >>> import usmpy
        >>> for device in usmpy.get_devices("opencl"):
        ...     queue = usmpy.Queue.from_native("opencl", device.queue.native_handle)
        ...     assert queue.native_handle == device.queue.native_handle
        """
    @classmethod
    def from_stream(cls, stream: _Stream) -> Queue:
        """Make a queue that enqueues in a CUDA stream of another library.

        Parameters
        ----------
        stream : object or int
            An object with ``__cuda_stream__`` (cuda.core, PyTorch, CuPy); a stream of CuPy, PyTorch or Numba;
            or an int: the address of a stream, 1 (the legacy default stream) or 2 (that of the calling
            thread).

        Returns
        -------
        Queue
            A queue on the stream's device, as `from_native` makes it; a Queue is returned as it is. The
            object is kept alive as long as the stream is used, and the stream is never destroyed.

        Raises
        ------
        TypeError
            `stream` is something else.
        ValueError
            `stream` is 0, or belongs to no primary context of a device.
        UsmError
            The address is not a stream, as far as the driver can tell.
        BackendUnavailable
            CUDA is missing.

        Examples
        --------
        >>> import usmpy
        >>> if usmpy.get_devices("cuda"):
        ...     assert usmpy.Queue.from_stream(1).backend == "cuda"  # the legacy default stream
        """
    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, the driver's stream as an int), by which other libraries enqueue in this queue.

        What was submitted so far is in the stream when this returns. Tasks of the host, and work behind them,
        cannot be, so the call waits for their end.

        Raises
        ------
        TypeError
            The queue is not a CUDA stream.
        """
    def _get_capsule(self) -> CapsuleType:
        """Return a capsule 'SyclQueueRef' as dpctl takes it: a SYCL queue that enqueues in this one.

        For queues of backend opencl, in a process that has loaded dpctl, and for queues that `from_native`
        made of a SyclQueue.

        Raises
        ------
        BufferError
            There can be no such SYCL queue.
        """
    def memcpy(
        self,
        dst: USMArray | Buffer,
        src: USMArray | Buffer,
        nbytes: SupportsIndex | None = None,
        *,
        depends: _Depends = (),
        blocking: builtins.bool | None = None,
    ) -> Event:
        """Copy bytes between contiguous pieces of memory (SYCL 2020, 4.6.5, memcpy).

        Parameters
        ----------
        dst, src : USMArray or buffer
            Contiguous arrays, or objects with the buffer protocol (PEP 3118). They may overlap, and are kept
            alive until the copy completes.
        nbytes : int, optional
            Number of bytes; None stands for all, and the sizes must be equal then.
        depends : Event or sequence of Event, optional
            Events that must complete before the copy begins.
        blocking : bool, optional
            Whether the call returns only once the copy has completed. None stands for True if a side is a
            buffer, since usmpy cannot order what its owner does with the memory, and for False between
            USMArrays. With False, the caller must not write `src`, nor use `dst`, before the event completes.

        Returns
        -------
        Event
            The copy. It has completed if the call blocks.

        Raises
        ------
        Exception
            The call blocks, and the copy fails: the error that ``event.wait()`` raises.
        UsmError
            The call blocks, and is made inside a host task after which the copy would be ordered.
        TypeError
            The elements have different types, unless those of one side are uint8 or bytes; or an argument has
            a wrong type. `copyto` converts elements.
        ValueError
            The sizes do not fit, or `dst` is read-only.
        BufferError
            A side is not contiguous; `copyto` takes any strides.
        ExecutionPlacementError
            The memory is not accessible to the queue's device, and the other side is a buffer.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> x = usmpy.arange(4, dtype="uint8", queue=queue)
        >>> data = bytearray(4)
        >>> queue.memcpy(data, x).done
        True
        >>> data
        bytearray(b'\\x00\\x01\\x02\\x03')
        >>> event = queue.memcpy(data, x, blocking=False)  # other work of the host may overlap the copy
        >>> event.wait()
        """
    def fill(
        self,
        dst: USMArray | Buffer,
        value: _Number | bytes,
        *,
        depends: _Depends = (),
        blocking: builtins.bool | None = None,
    ) -> Event:
        """Set every element of contiguous memory to one value (SYCL 2020, 4.6.5, fill).

        Parameters
        ----------
        dst : USMArray or buffer
            A contiguous array, or a writable object with the buffer protocol. The elements of a buffer have
            the type that its format says; those of bytearray and memoryview are bytes.
        value : number or bytes
            A number that the type of the elements can hold, or the bytes of one element.
        depends : Event or sequence of Event, optional
            Events that must complete before the memory is written.
        blocking : bool, optional
            Whether the call returns only once the fill has completed. None stands for True if `dst` is a
            buffer, since usmpy cannot order what its owner does with the memory, and for False otherwise.
            With False, the caller must not use the buffer before the event completes.

        Returns
        -------
        Event
            The fill. It has completed if the call blocks.

        Raises
        ------
        Exception
            The call blocks, and the fill fails: the error that ``event.wait()`` raises.
        UsmError
            The call blocks, and is made inside a host task after which the fill would be ordered.
        TypeError
            The type of the elements cannot hold the number, no DType describes the buffer's format, or an
            argument has a wrong type.
        OverflowError
            The number is out of range for the type.
        ValueError
            `dst` is read-only, or `value` has not as many bytes as an element.
        BufferError
            `dst` is not contiguous; ``x[...] = value`` and `copyto` take any strides.
        ExecutionPlacementError
            The memory is not accessible to the queue's device.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import array, usmpy
        >>> numbers = array.array("d", [0, 0, 0])
        >>> usmpy.Queue("host").fill(numbers, 1.5).done
        True
        >>> numbers
        array('d', [1.5, 1.5, 1.5])
        """
    def submit(
        self, kernel: Kernel, args: Iterable[_KernelArgument], range: _Range, *, depends: _Depends = ()
    ) -> Event:
        """Launch a kernel in this queue.

        Parameters
        ----------
        kernel : Kernel
            A kernel that was built for this queue's device.
        args : sequence
            One argument for each parameter, as `Kernel` takes them. The arrays may be on other queues whose
            memory is accessible to this one; work on the same memory is ordered.
        range : Range, NdRange, int or sequence of int
            The index space.
        depends : Event or sequence of Event, optional
            Events that must complete before the kernel runs.

        Returns
        -------
        Event
            The launch, which is asynchronous.

        Raises
        ------
        TypeError, ValueError, OverflowError, BufferError, ExecutionPlacementError
            As `Kernel` says, before anything is enqueued.

        Examples
        --------
        >>> import usmpy
        >>> source = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }"
        >>> program = usmpy.Program(source, device="host")
        >>> queue = usmpy.Queue("host")
        >>> x = usmpy.arange(3, dtype="int32", device=queue)
        >>> event = queue.submit(program.twice, [x], 3)
        >>> x.tolist()
        [0, 2, 4]
        """
    def prefetch(self, x: USMArray) -> Event:
        """Ask for memory to be moved to the queue's device (SYCL 2020, 4.6.5, prefetch).

        Parameters
        ----------
        x : USMArray
            The array whose memory is wanted there. A hint: on the host nothing moves.

        Returns
        -------
        Event

        Raises
        ------
        TypeError
            `x` is something else.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> queue.prefetch(usmpy.zeros(3, device=queue, usm_type="shared")).wait()
        """
    def barrier(self, depends: _Depends = ()) -> Event:
        """Make later work in this queue wait (SYCL, ext_oneapi_submit_barrier).

        Parameters
        ----------
        depends : Event or sequence of Event, optional
            Events that the barrier waits for; without any, it waits for all work submitted so far.

        Returns
        -------
        Event
            Completes when the barrier is passed. Later work of the queue is ordered after it, also if the
            queue is out of order.

        Raises
        ------
        TypeError
            `depends` is something else.
        MemoryError
            Memory is exhausted.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host", in_order=False)
        >>> tasks = [queue.host_task(pow, 2, n) for n in range(3)]
        >>> queue.barrier().wait()
        >>> all(task.done for task in tasks)
        True
        """
    def host_task(self, fn: Callable[..., object], /, *args: Any, depends: _Depends = ()) -> Event:
        """Call a Python function on a thread of the queue, in the order of its work (SYCL 2020, 4.10).

        Parameters
        ----------
        fn : callable
            Called as ``fn(*args)``. `Event.result` returns its value or raises its exception.
        *args : object
            Arguments of the function. Arrays among them count as read and written.
        depends : Event or sequence of Event, optional
            Events that must complete before the call, besides earlier work of an in-order queue and work on
            the same memory.

        Returns
        -------
        Event
            The call, which is asynchronous.

        Raises
        ------
        TypeError
            `fn` cannot be called, or `depends` is something else.
        RuntimeError
            The interpreter is shutting down.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        A wait inside `fn` skips this task and everything that depends on it. What `fn` submits on its own
        arguments (``x[0] = 1`` too) runs after it. To use their memory inside `fn`, take a view of it:
        ``numpy.from_dlpack(x)`` or ``memoryview(x)``.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> x = usmpy.arange(4, dtype="int32", queue=queue)
        >>> queue.host_task(lambda x: sum(memoryview(x)), x).result()
        6
        """
    def keep_alive(self, objects: object, depends: _Depends = ()) -> Event:
        """Keep objects alive until work has completed.

        Parameters
        ----------
        objects : object
            Anything.
        depends : Event or sequence of Event, optional
            Events that must complete first (in an in-order queue, earlier work too); without any, all work
            submitted so far.

        Returns
        -------
        Event
            Completes when the objects are released.

        Raises
        ------
        TypeError
            `depends` is something else.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        `memcpy`, `host_task` and the other submissions do this for their own arguments.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> buffer = bytearray(8)
        >>> queue.keep_alive(buffer).wait()
        """
    def wait(self, timeout: float | None = None) -> None:
        """Block until all work submitted so far has completed (SYCL 2020, 4.6.5, wait_and_throw).

        Parameters
        ----------
        timeout : float, optional
            Seconds; None waits as long as it takes.

        Raises
        ------
        Exception
            The first error of the queue's work since this method raised last (of any class).
        TimeoutError
            The work has not completed when the time runs out; it continues.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Notes
        -----
        Inside a host task of this queue, the wait skips that task and everything that depends on it.

        Examples
        --------
        >>> import usmpy
        >>> queue = usmpy.Queue("host")
        >>> event = queue.host_task(pow, 2, 10)
        >>> queue.wait(timeout=60)
        >>> event.done
        True
        """
    def wait_for(self, other: Event | _Stream, /) -> None:
        """Make later work in this queue wait for work elsewhere. Does not block.

        Parameters
        ----------
        other : Queue, Event, object or int
            An event; a queue, of which all work submitted so far counts; or a CUDA stream, as `from_stream`
            takes it (the ints 1 and 2 are the default streams of this queue's device).

        Raises
        ------
        TypeError
            `other` is something else.
        ValueError
            `other` is the stream 0.
        BufferError
            The stream is being captured into a graph.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        Only the order is affected: if the other work fails, work in this queue still runs.

        Examples
        --------
        >>> import usmpy
        >>> first, second = usmpy.Queue("host"), usmpy.Queue("host")
        >>> values = []
        >>> event = first.host_task(values.append, 1)
        >>> second.wait_for(event)
        >>> second.host_task(values.append, 2).wait()
        >>> values
        [1, 2]
        """
    def __eq__(self, value: object, /) -> builtins.bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by device and properties; the cached queue of a device stays the cached one.

        Raises
        ------
        PicklingError
            The queue is in a private context, which other processes lack.
        """

def get_execution_queue(queues: Sequence[Queue | USMArray], /) -> Queue | None:
    """The queue that queues and arrays share, in which a function of them runs.

    Parameters
    ----------
    queues : sequence of Queues and USMArrays
        An array stands for its queue.

    Returns
    -------
    Queue or None
        None if they differ, or if there are none.

    Raises
    ------
    TypeError
        `queues` is not a sequence, or an item is neither a Queue nor a USMArray.

    Examples
    --------
    >>> x = usmpy.zeros(3)
    >>> usmpy.get_execution_queue([x, x.queue]) == x.queue
    True
    >>> usmpy.get_execution_queue([x, usmpy.zeros(3, queue=usmpy.Queue())]) is None
    True
    """
