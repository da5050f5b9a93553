"""Daemon threads that submit and wait while the interpreter ends."""

import pathlib
import sys
import threading

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from asleep import until_asleep

turns, held, ends = threading.Semaphore(0), threading.Semaphore(0), threading.Event()


def work():
    queue = usmpy.Queue("host")
    x = usmpy.zeros(1000, queue=queue)
    try:
        while True:
            queue.fill(x, 1)
            queue.host_task(len, x)
            x.tolist()
            turns.release()
    except RuntimeError as error:  # host tasks are refused from a certain moment on
        if "shuts down" not in str(error):
            raise


def stuck():
    usmpy.Queue("host").barrier().wait()
    usmpy.Queue("host").host_task(wait_for_exit).wait()


def wait_for_exit():
    held.release()
    ends.wait()
    until_asleep()  # the main thread waits for this task


for target in [work] * 3 + [stuck] * 3:
    threading.Thread(target=target, daemon=True).start()
for _ in range(3):
    held.acquire()
for _ in range(100):
    turns.acquire()
ends.set()
print("ok", flush=True)
