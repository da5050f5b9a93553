"""``await event``: one eventfd wakes each event loop when events complete; no event needs a thread."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from ._core import _Notifier

if TYPE_CHECKING:
    from ._core import Event

_Waiting = set[asyncio.Future[None]]
# A future keeps its loop, so the loop alone keeps the future: an event that did would keep a loop that ended.
_notifiers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[_Notifier, weakref.ref[_Waiting]]] = (
    weakref.WeakKeyDictionary()
)


def _collect(notifier: _Notifier, waiting: _Waiting) -> None:
    for reference in notifier.collect():
        future = reference()
        if future is not None:
            waiting.discard(future)
            if not future.done():  # else it was cancelled
                future.set_result(None)


def _watch(loop: asyncio.AbstractEventLoop, event: Event, future: asyncio.Future[None]) -> bool:
    """Whether the loop will set the future's result; else the event has ended."""
    known = _notifiers.get(loop)
    waiting = known[1]() if known else None
    if known is None or waiting is None:
        notifier, waiting = _Notifier(), set()
        loop.add_reader(notifier.fileno(), _collect, notifier, waiting)
        _notifiers[loop] = notifier, weakref.ref(waiting)
    else:
        notifier = known[0]
    if not notifier.watch(event, weakref.ref(future)):
        return False
    waiting.add(future)
    return True


def wait_for_event(event: Event) -> Generator[Any, None, Any]:
    """Return the iterator of ``Event.__await__``, which returns or raises as ``event.result()`` does."""
    if not event.done:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if _watch(loop, event, future):
            yield from future
    return event.result()
