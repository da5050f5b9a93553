"""Collectives of two processes, a GPU each: torch.distributed over NCCL, and nccl4py."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest
from gpu_driver import SOFTWARE

ROOT = pathlib.Path(__file__).parents[2]
BEGIN = """
import os, sys, time
import usmpy

rank, ranks, folder = int(sys.argv[1]), 2, sys.argv[2]
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
dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)

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

path = os.path.join(folder, "identifier")
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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", BEGIN + code, str(rank), str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        ended = [(process.communicate(timeout=180), process.returncode) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    for (out, err), status in ended:
        assert (status, out) == (0, "ok\n"), out + err


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
