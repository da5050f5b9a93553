"""Threads that need the default queue, or that of the host, for the first time at once get one object."""

import gc
import sys
import threading

import numpy as np

import usmpy

N = 8


def at_once(function):
    results, barrier = [], threading.Barrier(N)

    def run():
        barrier.wait()
        results.append(function())

    threads = [threading.Thread(target=run) for _ in range(N)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# The first thread starts the drivers without the GIL, so all come to the end of it.
for function in (lambda: usmpy.empty(1), lambda: usmpy.from_dlpack(np.ones(1))):
    results = at_once(function)
    assert len(results) == N
    assert len({id(x.queue) for x in results}) == 1
    queue = results[0].queue
    results.clear()
    gc.collect()
    assert sys.getrefcount(queue) < N  # one for each place that keeps it, not one for each thread

print("ok")
