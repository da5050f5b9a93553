"""A kernel writes where nothing is: the wait names it, later calls say what is lost, the process ends."""

import sys
import time

import numpy as np

import usmpy

WILD = """
kernel void innocent(global int *x) { x[get_global_id(0)] += 1; }
kernel void writes_wildly(global int *x, ulong far) { x[get_global_id(0) + far] = 1; }
"""

device = usmpy.get_devices("cuda")[0]
program = usmpy.Program(WILD, device=device)
x, y = (usmpy.zeros(64, dtype="int32", device=device) for _ in range(2))
pinned = usmpy.zeros(64, dtype="int32", usm_type="host", device=device)
other = usmpy.Queue(device)
z = usmpy.zeros(64, dtype="int32", queue=other)
program.innocent[usmpy.Range(64)](y).wait()
other.wait()


def said(call):
    """The error of a call; None where it ends well."""
    try:
        call()
    except (usmpy.UsmError, BufferError, MemoryError) as error:
        return error
    return None


event = program.writes_wildly[usmpy.Range(64)](x, 1 << 44)
start = time.monotonic()

error = said(lambda: event.wait(60))
print("wait:", error)
assert isinstance(error, usmpy.UsmError)
assert error.backend == "cuda"
assert "writes_wildly" in str(error)
assert event.status == "error"
assert isinstance(event.exception(), usmpy.UsmError)

CALLS = {
    "the same memory": lambda: program.innocent[usmpy.Range(64)](x).wait(30),
    "launch": lambda: program.innocent[usmpy.Range(64)](y).wait(30),
    "launch elsewhere": lambda: program.innocent[usmpy.Range(64)](z).wait(30),
    "copy": lambda: y.asnumpy(),
    "memcpy": lambda: y.queue.memcpy(y, np.zeros(64, "int32")).wait(30),
    "fill": lambda: y.queue.fill(y, 1).wait(30),
    "zeros": lambda: usmpy.zeros(1 << 20, device=device).wait(30),
    "queue": lambda: usmpy.zeros(5, queue=usmpy.Queue(device)).wait(30),
    "program": lambda: usmpy.Program(WILD + "\n", device=device)["innocent"][usmpy.Range(64)](y).wait(30),
}
for name, call in CALLS.items():
    error = said(call)
    print(f"{name}:", error)
    assert error is not None, name
    assert "lost" in str(error), (name, str(error))
for call in (lambda: device.queue.wait(30), lambda: other.wait(30), lambda: y.__dlpack__(stream=1)):
    said(call)  # any answer but none
assert time.monotonic() - start < 60

host = usmpy.zeros(5, device="host")  # the rest of the process is well
host[...] = 3
assert host.tolist() == [3] * 5
sys.stdout.write("ok\n")
