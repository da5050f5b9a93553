"""Event."""

import builtins
from collections.abc import Callable, Generator, Iterable
from typing import Any, NoReturn, final

from .device import _Immutable
from .types import _Status

@final
class Event(_Immutable):
    """A piece of asynchronous work: what a submission returns (SYCL 2020, 4.6.6).

    Notes
    -----
    An event can be dropped: its work runs all the same. It can be awaited, and gives its result.

    If the work fails, `wait` and `result` raise its error each time. Work that depends on it is skipped, and
    fails with that error as the ``__cause__``. An error that is never retrieved is reported once through
    ``sys.unraisablehook`` when the queue ends, or at exit.

    Examples
    --------
    >>> import usmpy
    >>> event = usmpy.Queue("host").host_task(pow, 2, 10)
    >>> event.result()
    1024
    >>> event.status, event.done
    ('complete', True)
    """
    @property
    def status(self) -> _Status:
        """State of the work: 'submitted', 'running', 'complete' or 'error'."""
    @property
    def done(self) -> builtins.bool:
        """Whether the work has completed or failed."""
    @property
    def submit_time_ns(self) -> int:
        """Time of submission in nanoseconds of ``time.monotonic_ns()`` (SYCL 2020, 4.6.6, command_submit).

        Raises
        ------
        UsmError
            The queue was made without ``profiling=True``.
        """
    @property
    def start_time_ns(self) -> int:
        """Time at which the work began, in nanoseconds (command_start). Blocks until it has completed.

        Raises
        ------
        UsmError
            The queue was made without ``profiling=True``.
        """
    @property
    def end_time_ns(self) -> int:
        """Time at which the work ended, in nanoseconds (command_end). Blocks until then.

        Raises
        ------
        UsmError
            The queue was made without ``profiling=True``.
        """
    def wait(self, timeout: float | None = None) -> None:
        """Block until the work has completed (SYCL 2020, 4.6.6, wait_and_throw).

        Parameters
        ----------
        timeout : float, optional
            Seconds; None waits as long as it takes.

        Raises
        ------
        Exception
            The error of the work, every time (of any class).
        TimeoutError
            The work has not completed when the time runs out; it continues.
        UsmError
            The call is inside a host task that the event waits for.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Examples
        --------
        >>> import usmpy
        >>> event = usmpy.Queue("host").host_task(int, "x")
        >>> try:
        ...     event.wait(timeout=60)
        ... except ValueError as error:
        ...     print(error)
        invalid literal for int() with base 10: 'x'
        """
    def result(self, timeout: float | None = None) -> Any:
        """Wait, and return the value of a host task's function.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None waits as long as it takes.

        Returns
        -------
        object
            The value that the function of `Queue.host_task` returned; None for other work. It lives as long
            as the event.

        Raises
        ------
        Exception
            The error of the work, every time, as `wait` raises it.
        TimeoutError
            The work has not completed when the time runs out; it continues.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            `timeout` is not a number.

        Examples
        --------
        >>> import usmpy
        >>> usmpy.Queue("host").host_task(divmod, 17, 5).result()
        (3, 2)
        """
    def add_done_callback(self, fn: Callable[[Event], object], /) -> None:
        """Call a function with the event once the work has completed or failed.

        Parameters
        ----------
        fn : callable
            Called once, as ``fn(event)``. An exception that it raises goes to ``sys.unraisablehook``.

        Raises
        ------
        TypeError
            `fn` cannot be called.
        RuntimeError
            The interpreter is shutting down.
        MemoryError
            Memory is exhausted.

        Notes
        -----
        The call is made on a thread of usmpy. If the work has already ended, it is made at once, in the
        calling thread. Callbacks of one event are called one after another, in the order in which they were
        added; those of different events may run at the same time. A callback may wait and submit. The event
        and `fn` are kept alive until the call. All callbacks are called before the process ends.

        Examples
        --------
        >>> import threading, usmpy
        >>> called = threading.Event()
        >>> event = usmpy.Queue("host").host_task(pow, 2, 10)
        >>> event.add_done_callback(lambda event: called.set())
        >>> called.wait(timeout=60)
        True
        """
    def exception(self) -> BaseException | None:
        """Return the exception that `wait` raises.

        Returns
        -------
        BaseException or None
            None while the work runs, and if it has succeeded.

        Examples
        --------
        >>> import usmpy
        >>> event = usmpy.Queue("host").host_task(int, "x")
        >>> try:
        ...     event.wait()
        ... except ValueError:
        ...     print(repr(event.exception()))
        ValueError("invalid literal for int() with base 10: 'x'")
        """
    @classmethod
    def wait_all(cls, events: Iterable[Event], timeout: float | None = None) -> None:
        """Block until all events have completed, then raise the error of the first one that failed.

        Parameters
        ----------
        events : sequence of Event
            The events; "first" is meant in this order.
        timeout : float, optional
            Seconds for all of them together; None waits as long as it takes.

        Raises
        ------
        Exception
            The error of that event (of any class).
        TimeoutError
            An event has not completed when the time runs out.
        ValueError
            `timeout` is negative or NaN.
        TypeError
            An argument has a wrong type.

        Examples
        --------
        >>> import usmpy
        >>> queues = [usmpy.Queue("host") for _ in range(2)]
        >>> usmpy.Event.wait_all([queue.barrier() for queue in queues])
        """
    def __await__(self) -> Generator[Any, None, Any]: ...
    def __reduce__(self) -> NoReturn:
        """Events are not pickled: TypeError, since no other process can wait for work of this one.

        Arrays are pickled after the work on them has completed.
        """
