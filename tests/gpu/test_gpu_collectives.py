"""Collectives of two processes, a GPU each: torch.distributed over NCCL, and nccl4py."""

from __future__ import annotations

import importlib.util
import pathlib

import pytest
from gpu_driver import SOFTWARE
from ranks import two_ranks

BEGIN = """
import os, time
import usmpy

rank, ranks, meeting = int(os.environ["RANK"]), 2, os.environ["MEETING"]
device = usmpy.Device(f"cuda:gpu:{rank}")
N = 1 << 20

def late(queue):
    "Work that the next task of the queue has to wait for."
    queue.host_task(time.sleep, 0.2)

def check(all_reduce):
    for times in range(3):
        x = usmpy.zeros(N, dtype="float32", device=device)
        late(x.queue)
        x += rank + 1 + times
        all_reduce(x)
        x *= 2
        assert x.asnumpy().tolist() == [2.0 * (3 + 2 * times)] * N, times
    other = usmpy.Queue(device)
    x = usmpy.full(N, rank + 1, dtype="float32", device=device)
    all_reduce(x)
    other.wait_for(x.queue)
    y = usmpy.zeros(N, dtype="float32", queue=other)
    other.memcpy(y, x).wait()
    assert y.asnumpy().tolist() == [3.0] * N
"""
TORCH = """
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank, world_size=ranks)

def all_reduce(x):
    tensor = torch.from_dlpack(x)
    dist.all_reduce(tensor)
    x.queue.wait_for(torch.cuda.current_stream())

check(all_reduce)
dist.destroy_process_group()
print("ok")
"""
NCCL = """
import nccl.core as nccl

path = meeting
if rank == 0:
    with open(path + ".part", "wb") as file:
        file.write(bytes(nccl.get_unique_id()))
    os.rename(path + ".part", path)
while not os.path.exists(path):
    time.sleep(0.01)
with open(path, "rb") as file:
    identifier = nccl.UniqueId.from_bytes(file.read())

from cuda.core import Device
Device(rank).set_current()
communicator = nccl.Communicator.init(nranks=ranks, rank=rank, unique_id=identifier)
check(lambda x: communicator.allreduce(x, x, nccl.SUM, stream=x.queue))
communicator.destroy()
print("ok")
"""


def run(code: str, folder: pathlib.Path) -> None:
    assert two_ranks(BEGIN + code, folder) == ["ok\n", "ok\n"]


@pytest.fixture(autouse=True)
def real_gpus(two_gpus):
    if SOFTWARE:
        pytest.skip("NCCL needs NVIDIA's driver")


def test_torch_distributed(torch, tmp_path):
    run(TORCH, tmp_path)


def test_nccl4py(tmp_path):
    if importlib.util.find_spec("nccl") is None:
        pytest.skip("nccl4py is not installed")
    run(NCCL, tmp_path)
