"""What a host task raised: kept once, and raised as often as somebody waits, each time as a copy.

The failure of a task is held by its event, its queue and its memory, which Python's garbage collector cannot
look into. An exception holds the frames that it went through. If the same object were raised to a caller, the
caller's frame would hold the event, the event the exception and the exception the frame, for ever.
"""

from __future__ import annotations

import contextlib
from types import MemberDescriptorType
from typing import NoReturn


def settle(exception: BaseException) -> None:
    """Lets the ended frames of the task go of their variables; files and lines stay for the traceback."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [exception]
    while pending:
        current = pending.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        traceback = current.__traceback__
        while traceback is not None:
            with contextlib.suppress(RuntimeError):  # somebody's frame that still runs
                traceback.tb_frame.clear()
            traceback = traceback.tb_next
        pending += (current.__cause__, current.__context__)


def again(exception: BaseException) -> BaseException:
    """A copy to be raised. The class's own __init__ does not run: it may want other arguments than `args`."""
    kind = type(exception)
    copy = kind.__new__(kind, *exception.args)
    if type(copy) is not kind:
        return exception
    copy.args = exception.args
    for base in kind.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                # What is not set stays so; what is read-only was set by __new__.
                with contextlib.suppress(AttributeError, TypeError):
                    value = getattr(exception, name)
                    if getattr(copy, name, None) is not value:
                        setattr(copy, name, value)
    if vars(exception):
        vars(copy).update(vars(exception))
    copy.__context__ = exception.__context__
    copy.__cause__ = exception.__cause__
    copy.__suppress_context__ = exception.__suppress_context__
    return copy.with_traceback(exception.__traceback__)


def raise_unretrieved(exception: BaseException) -> NoReturn:
    """Raises the error of a driver, for sys.unraisablehook: without a traceback it would show any line."""
    raise exception from None
