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
    "UsmError",
]


class UsmError(RuntimeError):
    """A driver refused a call, or a task failed or was skipped.

    Attributes
    ----------
    backend : str or None
        ``"host"``, ``"opencl"``, ``"level_zero"`` or ``"cuda"``; None if no backend is involved.
    code : int
        The driver's code; 0 if the error is not from a driver.
    name : str or None
        The driver's name of the code, such as ``"CL_OUT_OF_RESOURCES"``.

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

    The message names what was tried and what to install.
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

    Attributes
    ----------
    log : str or None
        The complete output of the compiler; None if the build failed before it ran.
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
    said = (
        message if log is None or log in message else log if log.startswith(message) else f"{message}\n{log}"
    )
    return BuildError(f"the program does not build{where}: {said}", backend=backend, log=log)


class ExecutionPlacementError(Exception):
    """Arguments do not share one queue.

    The message has a line for each argument, and the call that gives them a common queue.
    """


class AxisError(ValueError, IndexError):
    """An axis is out of range for an array's dimensions; a ValueError and an IndexError, as NumPy's is."""
