"""live_allocations(): allocations that are alive, and the lines of code that made them."""

from __future__ import annotations

import time
from typing import NamedTuple

from .._core import Device, _live_allocations


class Allocation(NamedTuple):
    """One allocation that is alive."""

    nbytes: int
    """Size of its block, or of the imported memory, in bytes."""
    usm_type: str
    device: Device
    address: int | None
    imported: bool
    """Whether the memory belongs to another library."""
    age_s: float
    """Time since the allocation, in seconds."""
    where: str | None
    """The line outside of usmpy that allocated it; None if no Python code did."""

    def __str__(self) -> str:
        what = "imported" if self.imported else self.usm_type
        where = self.where or "a place that is not in Python"
        place = f"{what} memory on {self.device.filter_string}"
        return f"{self.nbytes} bytes of {place}, {self.age_s:.3f} s old: {where}"


def live_allocations() -> list[Allocation]:
    now = time.monotonic_ns()
    return [
        Allocation(nbytes, usm_type, device, address, imported, (now - born_ns) / 1e9, where)
        for nbytes, usm_type, device, address, imported, born_ns, where in _live_allocations()
    ]
