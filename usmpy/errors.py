"""Exceptions of usmpy.

Python's own classes are used where there is one: ``MemoryError`` if memory is exhausted, ``BufferError`` for
memory that cannot be exchanged, ``TimeoutError`` for a wait that does not end in time, ``TypeError`` for a
wrong type.
"""

from __future__ import annotations

__all__ = [
    "AxisError",
    "BackendUnavailable",
    "BuildError",
    "DeviceNotFound",
    "ExecutionPlacementError",
    "KernelError",
    "UsmError",
]


class UsmError(RuntimeError):
    """A driver refused a call, or a task failed or was skipped.

    Parameters
    ----------
    *args : object
        The message.
    backend : {"host", "opencl", "level_zero", "cuda"}, optional
        The backend that is involved; also an attribute.
    code : int, default 0
        The driver's code; 0 if the error is not from a driver. Also an attribute.
    name : str, optional
        The driver's name of the code, such as ``"CL_OUT_OF_RESOURCES"``; also an attribute.

    Examples
    --------
    >>> import usmpy
    >>> try:
    ...     usmpy.Queue("host").barrier().end_time_ns
    ... except usmpy.UsmError as error:
    ...     print(error)
    this event has no times: its queue was made without profiling=True
    """

    backend: str | None
    code: int
    name: str | None

    def __init__(
        self, *args: object, backend: str | None = None, code: int = 0, name: str | None = None
    ) -> None:
        super().__init__(*args)
        self.backend = backend
        self.code = code
        self.name = name


class BackendUnavailable(UsmError):
    """A backend that was selected by name has no library or no driver on this machine.

    The message names the libraries that were tried and the packages to install.

    Examples
    --------
    >>> import usmpy
    >>> def queue_of(backend):
    ...     try:
    ...         return usmpy.Queue(backend)
    ...     except usmpy.BackendUnavailable:
    ...         return usmpy.Queue("host")
    >>> queue_of("cuda").backend in ("cuda", "host")
    True
    """


class DeviceNotFound(UsmError):
    """No device matches a well-formed filter string, or has the aspects that were asked for.

    Examples
    --------
    >>> import usmpy
    >>> try:
    ...     usmpy.Device("host:gpu")
    ... except usmpy.DeviceNotFound as error:
    ...     print(error.backend)
    host
    """


class BuildError(UsmError):
    """A program did not build; the message ends with the complete log.

    Parameters
    ----------
    *args, backend, code, name
        As in `UsmError`.
    log : str, optional
        The complete output of the compiler; None if the build failed before it ran. Also an attribute.

    Examples
    --------
    >>> import usmpy
    >>> try:
    ...     usmpy.Program("kernel void f(global int *x) { x[0] = y; }", device="host")
    ... except usmpy.BuildError as error:
    ...     print("undeclared" in error.log)
    True
    """

    log: str | None

    def __init__(
        self,
        *args: object,
        backend: str | None = None,
        code: int = 0,
        name: str | None = None,
        log: str | None = None,
    ) -> None:
        super().__init__(*args, backend=backend, code=code, name=name)
        self.log = log


def _build_error(message: str, log: str | None, backend: str, where: str = "") -> BuildError:
    """The error with the message first, and with all of the log."""
    text = (
        message if log is None or log in message else log if log.startswith(message) else f"{message}\n{log}"
    )
    return BuildError(f"the program does not build{where}: {text}", backend=backend, log=log)


class KernelError(UsmError):
    """A work-item of a checked kernel did what it may not (`Program` or `kernel` with ``check=True``).

    `Event.wait` raises it, for the first failure of the launch.

    Parameters
    ----------
    *args, backend, code, name
        As in `UsmError`.
    kernel : str
        The kernel's name; also an attribute, as all that follow.
    reason : {"index", "division", "barrier", "assertion"}
        An index outside of its array, an integer that is divided by zero, a barrier that other work-items
        of the group do not reach, or an assertion of a kernel in Python that does not hold.
    argument : str, optional
        The argument of the kernel, or the array in the source, that the index is outside of; None for a
        pointer that was loaded from memory.
    index : int, optional
        The index, in elements from the array's beginning.
    axis : int, optional
        The dimension of an array in the source; 0 for an argument.
    extent : int, optional
        The number of elements that there are; None if the array is unknown.
    work_item : tuple of int
        The global id, of as many numbers as the range has.
    filename : str
        ``"<source>"``, or the file that was included, or that ``#line`` names.
    lineno : int
        The line in it.

    Examples
    --------
    >>> import usmpy
    >>> queue = usmpy.Queue("host")
    >>> source = "kernel void f(global int *x) { x[get_global_id(0) + 1] = 1; }"
    >>> program = usmpy.Program(source, device=queue, check=True)
    >>> try:
    ...     program.f[3](usmpy.zeros(3, dtype="int32", device=queue)).wait()
    ... except usmpy.KernelError as error:
    ...     print(error, error.index, sep="; ")
    f, line 1 of <source>: index 3 is outside of x, which has 3 elements, in work-item (2,); 3
    """

    kernel: str
    reason: str
    argument: str | None
    index: int | None
    axis: int | None
    extent: int | None
    work_item: tuple[int, ...]
    filename: str
    lineno: int

    def __init__(
        self,
        *args: object,
        kernel: str = "",
        reason: str = "",
        argument: str | None = None,
        index: int | None = None,
        axis: int | None = None,
        extent: int | None = None,
        work_item: tuple[int, ...] = (),
        filename: str = "",
        lineno: int = 0,
        backend: str | None = None,
        code: int = 0,
        name: str | None = None,
    ) -> None:
        super().__init__(*args, backend=backend, code=code, name=name)
        self.kernel, self.reason, self.argument = kernel, reason, argument
        self.index, self.axis, self.extent = index, axis, extent
        self.work_item, self.filename, self.lineno = work_item, filename, lineno


class ExecutionPlacementError(Exception):
    """Arguments do not share one queue.

    The message has a line for each argument, and the call that gives them a common queue.

    Examples
    --------
    >>> import usmpy
    >>> x, y = (usmpy.zeros(3, device=usmpy.Queue("host")) for _ in range(2))
    >>> try:
    ...     usmpy.concat([x, y])
    ... except usmpy.ExecutionPlacementError:
    ...     print(usmpy.concat([x, y.to_device(x.queue)]).shape)
    (6,)
    """


class AxisError(ValueError, IndexError):
    """An axis is out of range for an array's dimensions; a ValueError and an IndexError, as NumPy's is.

    Examples
    --------
    >>> import usmpy
    >>> try:
    ...     usmpy.flip(usmpy.zeros(3, device="host"), axis=1)
    ... except usmpy.AxisError as error:
    ...     print(isinstance(error, ValueError), isinstance(error, IndexError))
    True True
    """
