"""12 sub-interpreters, one after another: import, use, exchange, end with work pending. Nothing stays."""

import pathlib
import sys
import threading

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, live, once

CYCLES = 12
PENDING = """
import usmpy
from asleep import until_asleep

# Use, and exchange both ways.
x = usmpy.arange(1000, device="host")
assert (x * 2).tolist()[-1] == 1998
data = bytearray(range(100))
imported = usmpy.asarray(memoryview(data))
again = usmpy.from_dlpack(usmpy.from_dlpack(x))
capsule = x.__dlpack__(max_version=(1, 3))  # never consumed
view = memoryview(x)

# Work that is pending when the interpreter ends: functions, callbacks, and copies that keep objects.
queue = usmpy.Queue("host")
done = []
queue.host_task(until_asleep)  # until the main thread waits for the tasks
event = queue.host_task(done.append, data)
event.add_done_callback(done.append)
queue.memcpy(usmpy.empty(100, dtype="uint8", queue=queue), imported)
other = usmpy.zeros(100, dtype="uint8", queue=queue)
queue.memcpy(other, data, blocking=False)
y = usmpy.ones(100_000, queue=queue)
y += y
cycle = [queue, event, y]
cycle.append(cycle)
"""
x = usmpy.arange(10, device="host")
for gil in GILS:
    for _ in range(3):  # caches and spare blocks fill
        once(gil, PENDING)
    n_threads = threading.active_count()
    before = live()
    for i in range(CYCLES):
        once(gil, PENDING)
        assert (x + i).tolist() == list(range(i, i + 10))
    after = live()
    assert after == before, (gil, before, after)
    assert threading.active_count() == n_threads
print("ok")
