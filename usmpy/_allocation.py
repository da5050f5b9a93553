"""What live_allocations() returns; imported when it is called."""

from __future__ import annotations

from typing import NamedTuple

from ._core import Device


class Allocation(NamedTuple):
    """One allocation that is alive."""

    nbytes: int
    """Size of its block, or of the imported memory, in bytes."""
    usm_type: str
    device: Device
    address: int | None
    imported: bool
    """Whether it is another library's memory."""
    age_s: float
    """Time since it was made, in seconds."""
    where: str | None
    """The line that made it, outside of usmpy; None where no Python code did."""

    def __str__(self) -> str:
        what = "imported" if self.imported else self.usm_type
        where = self.where or "a place that is not in Python"
        place = f"{what} memory on {self.device.filter_string}"
        return f"{self.nbytes} bytes of {place}, {self.age_s:.3f} s old: {where}"
