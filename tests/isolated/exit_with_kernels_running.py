"""The interpreter ends while kernels run, whose arguments and queues are gone: all of it is done first."""

import pathlib
import sys

import usmpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import opencl_drivers  # noqa: F401 (loaders read its variable at their first call)
from kernel_sources import spun

SOURCE = """
kernel void spin(global uint *x, ulong n) {
    uint seed = x[get_global_id(0)];
    for (ulong i = 0; i < n; i++) { seed = seed * 1664525u + 1013904223u; }
    x[get_global_id(0)] = seed;
}
"""
ROUNDS = 100_000_000  # a good part of a second
results = []


def launch(device):
    queue = usmpy.Queue(device)
    x, y = usmpy.ones(1, dtype="uint32", queue=queue), usmpy.zeros(1, dtype="uint32", queue=queue)
    usmpy.Program(SOURCE, device=queue).spin[1](x, ROUNDS)
    event = queue.memcpy(y, x)
    queue.host_task(check, y)
    assert not event.done
    for i in range(100):
        usmpy.Program(SOURCE, device=queue).spin[1](usmpy.full(1, i, dtype="uint32", queue=queue), 10)


def check(y):
    results.append(y.tolist() == [spun(1, ROUNDS)])
    if len(results) == len(devices):
        sys.stdout.write("ok\n" if all(results) else "wrong\n")
        sys.stdout.flush()


# A task reads what the host reads in place.
devices = [each for each in usmpy.get_devices("host") + usmpy.get_devices("opencl") if each.has_usm_shared]
for device in devices:
    launch(device)
