"""live_allocations(): allocations that are alive, and the lines of code that made them."""

from __future__ import annotations

from .._core import _live_allocations

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from .allocation import Allocation


def live_allocations() -> list[Allocation]:
    """List the allocations that are alive and were made under ``track_allocations(True)``, oldest first.

    Returns
    -------
    list of Allocation
        Named tuples: `nbytes`; `usm_type`; `device`; `address`; `imported`, whether the memory belongs to
        another library; `age_s` in seconds; and `where`, the line that allocated it, as
        ``file.py:12 in function``, or None if no Python code did.

    Examples
    --------
    >>> import usmpy
    >>> before = usmpy.track_allocations(True)
    >>> x = usmpy.zeros(1024, dtype="uint8", device="host")
    >>> usmpy.live_allocations()[-1].usm_type
    'device'
    >>> usmpy.track_allocations(before)
    True
    """
    import time

    from .allocation import Allocation

    now = time.monotonic_ns()
    return [
        Allocation(nbytes, usm_type, device, address, imported, (now - born_ns) / 1e9, where)
        for nbytes, usm_type, device, address, imported, born_ns, where in _live_allocations()
    ]
