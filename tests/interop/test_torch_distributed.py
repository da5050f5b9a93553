"""Collectives of torch.distributed on usmpy's memory: two processes with Gloo (docs/collectives.md)."""

from __future__ import annotations

import pathlib
import re

import pytest
from libraries import need
from ranks import two_ranks

torch = need("torch")
if not torch.distributed.is_available():
    pytest.skip("this build of PyTorch has no torch.distributed", allow_module_level=True)

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "collectives.md"


def page_block() -> str:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert code is not None
    return code[1]


COLLECTIVES = """
import numpy as np

def check(device):
    x = usmpy.arange(6, dtype="int64", device=device)
    x += 10 * rank
    dist.broadcast(torch.from_dlpack(x), src=1)             # of work that was pending
    assert x.tolist() == [10, 11, 12, 13, 14, 15]

    everyone = usmpy.zeros((2, 3), dtype="float64", device=device)
    mine = usmpy.full(3, rank + 1, dtype="float64", device=device)
    dist.all_gather(list(torch.from_dlpack(everyone)), torch.from_dlpack(mine))
    assert usmpy.sum(everyone, axis=1).tolist() == [3, 6]

    z = usmpy.zeros(3, dtype="float32", device=device)
    tensor = torch.from_dlpack(z)
    request = dist.isend(tensor, dst=1) if rank == 0 else dist.irecv(tensor, src=0)
    request.wait()
    assert (z + 1).tolist() == [1, 1, 1]

    failed = usmpy.zeros(3, device=device)
    failed.queue.host_task(lambda x: 1 / 0, failed)
    try:
        all_reduce(failed)                                  # nothing is sent
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("the failure of pending work was not raised")

for name in DEVICES:
    check(usmpy.Device(name))
print("checked")
"""


def test_collectives_on_each_device(tmp_path):
    """The block of the page, and more on all devices whose memory PyTorch's CPU tensors can be."""
    import usmpy

    names = [
        device.filter_string
        for device in usmpy.get_devices()
        if device.device_type == "cpu" and device.has_usm_system
    ]
    assert "host:cpu:0" in names
    first, end, _ = page_block().partition("dist.destroy_process_group()")
    code = f"{first}{COLLECTIVES.replace('DEVICES', repr(names))}{end}"
    assert two_ranks(code, tmp_path) == ["checked\n"] * 2
