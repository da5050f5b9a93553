"""``await event``: one eventfd wakes each event loop when events complete; no event needs a thread."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from ._core import _Notifier

if TYPE_CHECKING:
    from ._core import Event

_notifiers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Notifier] = weakref.WeakKeyDictionary()


def _collect(notifier: _Notifier) -> None:
    for future in notifier.collect():
        if not future.done():  # else it was cancelled
            future.set_result(None)


def _notifier_of(loop: asyncio.AbstractEventLoop) -> _Notifier:
    notifier = _notifiers.get(loop)
    if notifier is None:
        notifier = _Notifier()
        loop.add_reader(notifier.fileno(), _collect, notifier)
        _notifiers[loop] = notifier
    return notifier


def wait_for_event(event: Event) -> Generator[Any, None, Any]:
    """Return the iterator of ``Event.__await__``, which returns or raises as ``event.result()`` does."""
    if not event.done:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        if _notifier_of(loop).watch(event, future):
            yield from future
    return event.result()
