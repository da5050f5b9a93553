"""At the exit: hooks registered after the import run first and may use all; then host tasks are refused."""

import atexit
import sys


def after():  # registered before the import of usmpy: runs after its hook
    said = ""
    try:
        queue.host_task(print)
    except RuntimeError as error:
        said = str(error)
    assert "shuts down" in said
    x[...] = 4  # work without Python continues
    assert x.tolist() == [4, 4, 4]
    y = usmpy.concat([x, x])
    assert y.tolist() == [4] * 6
    sys.stdout.write("ok\n")


atexit.register(after)

import usmpy  # noqa: E402

queue = usmpy.Queue("host")
x = usmpy.zeros(3, queue=queue)
seen = []


def before():
    queue.host_task(seen.append, 1).wait()
    assert seen == [1]
    x[...] = 3


atexit.register(before)
