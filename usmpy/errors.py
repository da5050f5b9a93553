"""Exceptions of usmpy.

Out of memory is ``MemoryError``, what cannot be exchanged is ``BufferError``, a wait that ran out is
``TimeoutError``, a wrong type is ``TypeError``: what has a class in Python has no other one here.
"""

from __future__ import annotations

__all__ = ["BackendUnavailable", "BuildError", "DeviceNotFound", "ExecutionPlacementError", "UsmError"]


class UsmError(RuntimeError):
    """A driver refused a call, or asynchronous work failed.

    Attributes
    ----------
    backend : str or None
        ``"host"``, ``"opencl"``, ``"level_zero"`` or ``"cuda"``; None where none is involved.
    code : int
        The driver's code; 0 where no driver spoke.
    name : str or None
        The driver's name of the code, such as ``"CL_OUT_OF_RESOURCES"``.
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
    """A backend that was asked for by name has no library or no driver on this machine."""


class DeviceNotFound(UsmError):
    """A filter string is well-formed, and no device fits it."""


class BuildError(UsmError):
    """A program did not build; the message ends with the full log.

    Attributes
    ----------
    log : str or None
        All that the compiler wrote; None where it did not get so far.
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


class ExecutionPlacementError(Exception):
    """Arguments do not share one queue: the message has a line for each, and the call that would fix it."""
