"""usmpy in a sub-interpreter: arrays, functions, kernels, tasks, callbacks, await, errors, reports."""

import pathlib
import sys

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, Pipe, create, destroy, once, run

USE = """
import usmpy

x = usmpy.arange(10, device="host")
assert (x + x).tolist() == [2 * i for i in range(10)]
assert usmpy.sum(x).item() == 45
assert usmpy.sort(usmpy.asarray([3, 1, 2], device="host"), descending=True).tolist() == [3, 2, 1]
assert (x @ x).item() == 285
assert x.queue is usmpy.zeros(1, device="host").queue

# Exchange within the interpreter.
assert usmpy.from_dlpack(x).tolist() == x.tolist()
assert memoryview(x)[3] == 3
data = bytearray(b"1234")
view = usmpy.asarray(memoryview(data))
assert view.tolist() == list(data)

# Functions as tasks and as callbacks.
queue = usmpy.Queue("host")
assert queue.host_task(lambda a, b: a + b, 2, 3).result() == 5
seen = []
event = queue.host_task(seen.append, 1)
event.add_done_callback(lambda event: seen.append(event.done))
event.wait()
import time
while len(seen) < 2:
    time.sleep(0.001)
assert seen == [1, True], seen

# Errors, with classes of this interpreter.
def fail():
    raise LookupError("in a task")

event = queue.host_task(fail)
for _ in range(2):
    try:
        event.wait()
    except LookupError as error:
        assert error.args == ("in a task",)
    else:
        raise AssertionError("no error")
for call, expected in (
    (lambda: usmpy.sum(x, axis=5), usmpy.AxisError),
    (lambda: usmpy.Device("host:gpu:7"), usmpy.DeviceNotFound),
    (lambda: x + "a", TypeError),
):
    try:
        call()
    except expected:
        pass
    else:
        raise AssertionError(expected)

assert usmpy.memory_stats(device="host")["held"] >= 0
with usmpy.trace() as trace:
    (x + 1).wait()
"""
# For interpreters that have _ctypes and asyncio.
AWAIT = """
import asyncio
import usmpy

async def main():
    event = usmpy.Queue("host").host_task(lambda: 7)
    await event
    return event.result()

assert asyncio.run(main()) == 7
"""
SOURCE = "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }"
KERNEL = """
import usmpy

program = usmpy.Program({source!r}, device={device!r})
x = usmpy.arange(8, dtype="int32", device={device!r})
program.twice[8](x)
assert x.tolist() == [2 * i for i in range(8)]
"""
UNRAISABLE = """
import os, sys, usmpy

def hook(unraisable):
    os.write({fd}, b"%s;" % repr(unraisable.exc_value).encode())

sys.unraisablehook = hook
queue = usmpy.Queue("host")

def fail(text):
    raise ValueError(text)

event = queue.host_task(fail, "own queue")
while not event.done:
    pass
del event, queue
cached = usmpy.zeros(1, device="host").queue
event = cached.host_task(int)
event.wait()
event.add_done_callback(lambda event: fail("callback"))
cached.host_task(fail, "cached queue")
"""

here = []
sys.unraisablehook = here.append
x = usmpy.arange(10, device="host")
devices = [d for d in usmpy.get_devices() if d.backend != "minimal"]
for device in devices[:2]:  # compiled here: CPython lets no isolated interpreter start a compiler
    usmpy.Program(SOURCE, device=device).twice[8](usmpy.arange(8, dtype="int32", device=device))
for gil in GILS:
    interpreter = create(gil)
    run(interpreter, USE)
    run(interpreter, "import usmpy\nassert 'usmpy' in sys.modules")
    assert x.tolist() == list(range(10))
    assert usmpy.Queue("host").host_task(lambda: 3).result() == 3
    destroy(interpreter)
    if gil == "shared" or sys.version_info >= (3, 13):
        once(gil, AWAIT)
    for device in devices[:2]:
        if gil == "shared":
            once(gil, KERNEL.format(source=SOURCE, device=f"{device.backend}:{device.device_type}"))
    pipe = Pipe()
    once(gil, UNRAISABLE.format(fd=pipe.fd))
    said = pipe.read().decode()
    for text in ("own queue", "callback", "cached queue"):
        assert said.count(text) == 1, (text, said)
    assert not here, here
    x[...] = 5
    assert x.tolist() == [5] * 10
    x[...] = usmpy.arange(10, device="host")
print("ok")
