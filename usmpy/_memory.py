"""Which allocations are alive, and who made them."""

from __future__ import annotations

from ._core import _live_allocations

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from ._allocation import Allocation


def live_allocations() -> list[Allocation]:
    """Allocations that are alive and were made while track_allocations(True) held, oldest first.

    Each is a named tuple: nbytes, usm_type, device, address, imported (another library's memory), age_s
    (seconds), and where, the line that made it, as ``file.py:12 in function``; None where no Python code did.
    """
    import time

    from ._allocation import Allocation

    now = time.monotonic_ns()
    return [
        Allocation(nbytes, usm_type, device, address, imported, (now - born_ns) / 1e9, where)
        for nbytes, usm_type, device, address, imported, born_ns, where in _live_allocations()
    ]
