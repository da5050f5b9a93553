"""50,000 submissions and 5,000 queues: memory and the counts of live objects stay flat."""

import contextlib
import gc
import time

import usmpy
from usmpy import _core


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def submissions(n):
    queue = usmpy.Queue("host")
    x = usmpy.zeros(1000, queue=queue)
    y = usmpy.zeros(1000, queue=queue)
    for i in range(n):
        queue.fill(x, i)
        queue.memcpy(y, x, depends=queue.barrier())
        if i % 4 == 0:
            queue.host_task(int, i)
            queue.keep_alive([i])
        if i % 100 == 0:
            queue.wait()
    queue.wait()


def queues(n):
    for i in range(n):
        queue = usmpy.Queue("host", in_order=i % 3 != 0, profiling=i % 2 == 0)
        x = usmpy.full(10, i, queue=queue)
        if i % 8 == 0:
            queue.host_task(len, x)
            assert x[0].item() == i


def failures(n):
    def fail(x):
        raise ValueError(len(x))

    queue = usmpy.Queue("host")
    for _ in range(n):
        event = queue.host_task(fail, usmpy.zeros(100, queue=queue))
        late = queue.host_task(int, depends=event)
        for each in (event, late):
            with contextlib.suppress(ValueError, usmpy.UsmError):
                each.wait()
    with contextlib.suppress(ValueError):
        queue.wait()


def arrays(n):
    x = usmpy.arange(1000, device="host")
    for i in range(n):
        views = [x[i % 900 :], x[::2], usmpy.reshape(x, (10, 100)).T, usmpy.flip(x)]
        views.append(usmpy.from_dlpack(x))
        views.append(usmpy.concat(views[:2]))
        assert memoryview(views[0])[0] == i % 900
        repr(x)


def settled():
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        gc.collect()
        counts = _core._live_counts()
        if counts["events"] == 0 and counts["queues"] <= 1:
            break
        time.sleep(0.01)
    return _core._live_counts()


for work, warm, n in (
    (submissions, 5_000, 50_000),
    (queues, 1_000, 5_000),
    (failures, 500, 5_000),
    (arrays, 500, 5_000),
):
    work(warm)
    counts = settled()
    before = resident()
    work(n)
    assert settled() == counts, (work.__name__, counts, settled())
    grown = resident() - before
    assert grown < 8 << 20, (work.__name__, grown)
print("ok")
