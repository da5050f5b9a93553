"""Unretrieved errors do not disturb the exit."""

import usmpy

queue = usmpy.Queue("host")
x = usmpy.zeros(1000, queue=queue)


def fail(x):
    raise KeyboardInterrupt


event = queue.host_task(fail, x)
later = queue.host_task(print, x, depends=event)
spoilt = x.copy()
print("ok")
