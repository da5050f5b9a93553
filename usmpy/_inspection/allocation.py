"""The named tuple that live_allocations() returns; imported by its first call."""

from __future__ import annotations

from typing import NamedTuple

from .._core import Device


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
