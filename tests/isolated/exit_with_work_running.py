"""The interpreter ends while copies, fills and tasks are pending: all of it is done first."""

import atexit
import sys
import time

import usmpy

done = []


def check():
    # Registered after usmpy was imported, so this runs before usmpy's own hook: work may still be pending.
    done.append("mine")


atexit.register(check)

queues = [usmpy.Queue("host", in_order=i % 2 == 0) for i in range(6)]
arrays = [usmpy.zeros(3_000_000, queue=queue) for queue in queues]
for round_ in range(5):
    for queue, x in zip(queues, arrays, strict=True):
        queue.host_task(time.sleep, 0.01)
        queue.fill(x, round_)
        usmpy.copyto(x[::2], x[1::2])


def last():
    time.sleep(0.2)
    sys.stdout.write("ok\n")
    sys.stdout.flush()


queues[0].host_task(last)
