"""Exceptions of host tasks: stored once, and raised as a copy by each wait.

The event, the queue and the memory of a failed task refer to its exception. Python's garbage collector sees
the references of events, if nothing but events has the failure, and none of queues and memory. An exception
refers to the frames that it passed through. If the stored object itself were raised, the caller's frame would
refer to the queue, the queue to the exception and the exception to the frame: a cycle that is not freed
before the next wait for the queue.
"""

from __future__ import annotations

from types import MemberDescriptorType

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from typing import NoReturn


def settle(exception: BaseException) -> None:
    """Clear the local variables of the task's frames; files and lines stay for the traceback."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [exception]
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        traceback = current.__traceback__
        while traceback is not None:
            try:  # noqa: SIM105 - contextlib would be one more import of each program
                traceback.tb_frame.clear()
            except RuntimeError:  # a frame that still runs
                pass
            traceback = traceback.tb_next
        pending += (current.__cause__, current.__context__)


def again(exception: BaseException) -> BaseException:
    """Return a copy to raise. The class's __init__ does not run: it may take other arguments than `args`."""
    kind = type(exception)
    copy = kind.__new__(kind, *exception.args)
    if type(copy) is not kind:
        return exception
    copy.args = exception.args
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                # A member that is not set stays unset; a read-only one was set by __new__.
                try:
                    value = getattr(exception, name)
                    if getattr(copy, name, None) is not value:
                        setattr(copy, name, value)
                except (AttributeError, TypeError):
                    pass
    if vars(exception):
        vars(copy).update(vars(exception))
    copy.__context__ = exception.__context__
    copy.__cause__ = exception.__cause__
    copy.__suppress_context__ = exception.__suppress_context__
    return copy.with_traceback(exception.__traceback__)


def raise_unretrieved(exception: BaseException) -> NoReturn:
    """Raise a driver's error for sys.unraisablehook, which needs a traceback of this place."""
    raise exception from None
