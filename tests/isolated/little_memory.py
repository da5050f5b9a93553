"""A process whose address space may not grow: calls are refused with the reason, and leave nothing behind.

Products of matrices are left out: OpenBLAS ends the process where it gets no memory.
"""

import gc
import resource
import time

import usmpy
from usmpy import _core


def run(call):
    """What a call gives, or None for a refusal that says why."""
    try:
        return call()
    except MemoryError:
        return None
    except usmpy.UsmError as error:
        if "the system refused a thread" not in str(error):
            raise
        return None


large = usmpy.zeros(1 << 22, device="host")
usmpy.sum(large + 1).item()
queue = usmpy.Queue("host")
queue.host_task(len, "").wait()
while _core._live_counts()["events"] > 0:  # the worker releases the task
    time.sleep(0.005)
before = _core._live_counts()
with open("/proc/self/statm") as pages:
    size = int(pages.read().split()[0]) * resource.getpagesize()
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
calls = {
    "empty": lambda: usmpy.empty(1 << 28, device="host"),
    "zeros": lambda: usmpy.zeros(1 << 28, device="host"),
    "share": lambda: usmpy.share(large),
    "tolist": lambda: large[: 1 << 19].tolist(),
    "asarray": lambda: usmpy.asarray(range(300_000), device="host"),
    "add": lambda: large + 1,
    "sort": lambda: usmpy.sort(large),
    "sum": lambda: usmpy.sum(large).item() + 1,
    "nonzero": lambda: usmpy.nonzero(large == 0),
    "cumulative_sum": lambda: usmpy.cumulative_sum(large),
    "pickle": lambda: large.__reduce_ex__(2),
    "queues": lambda: [usmpy.Queue("host").host_task(len, "").wait() or 1 for _ in range(8)],
    "waiting queue": lambda: queue.host_task(len, "").wait() or 1,
}
# Without a byte more than there is, and with room for a part of what the calls need. Lists are not longer:
# where pages are refused, each further object costs several calls of the system.
for room in (0, 1 << 20, 20 << 20):
    resource.setrlimit(resource.RLIMIT_AS, (size + room, hard))
    missed = [name for name, call in calls.items() if run(call) is None]
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert {"empty", "zeros"} <= {*missed}, missed
    assert all(run(call) is not None for name, call in calls.items() if name not in ("empty", "zeros"))
    run(queue.wait)  # which keeps the first failure until then
    deadline = time.monotonic() + 30
    while _core._live_counts() != before:
        assert time.monotonic() < deadline, (before, _core._live_counts())
        time.sleep(0.005)
        gc.collect()
print("ok")
