"""The interpreter ends while copies, fills and tasks are pending: all of it is done first."""

import atexit
import pathlib
import sys

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from asleep import until_asleep

done = []


def check():
    # Registered after usmpy was imported, so this runs before usmpy's own hook: work may still be pending.
    done.append("mine")


atexit.register(check)

queues = [usmpy.Queue("host", in_order=i % 2 == 0) for i in range(6)]
arrays = [usmpy.zeros(3_000_000, queue=queue) for queue in queues]
for queue in queues:
    queue.host_task(until_asleep)  # until the main thread waits for the tasks
for round_ in range(5):
    for queue, x in zip(queues, arrays, strict=True):
        queue.fill(x, round_)
        usmpy.copyto(x[::2], x[1::2])


def last():
    sys.stdout.write("ok\n")
    sys.stdout.flush()


queues[0].host_task(last)
