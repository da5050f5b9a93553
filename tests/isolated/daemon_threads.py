"""Daemon threads that submit and wait while the interpreter ends."""

import threading
import time

import usmpy


def work():
    queue = usmpy.Queue("host")
    x = usmpy.zeros(1000, queue=queue)
    try:
        while True:
            queue.fill(x, 1)
            queue.host_task(len, x)
            x.tolist()
    except RuntimeError as error:  # host tasks are refused from a certain moment on
        if "shuts down" not in str(error):
            raise


def stuck():
    gate = threading.Event()
    usmpy.Queue("host").barrier().wait()
    usmpy.Queue("host").host_task(gate.wait, 0.3).wait()


for target in [work] * 3 + [stuck] * 3:
    threading.Thread(target=target, daemon=True).start()
time.sleep(0.2)
print("ok", flush=True)
