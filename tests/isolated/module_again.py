"""usmpy removed from sys.modules and imported again: old and new objects go on working."""

import gc
import sys

import usmpy

old = usmpy
x = old.arange(10, device="host")
event = x.queue.host_task(int)
for name in [name for name in sys.modules if name.partition(".")[0] == "usmpy"]:
    del sys.modules[name]
import usmpy  # noqa: E402

assert usmpy is not old
y = usmpy.arange(10, device="host")
x[...] = 3
y[...] = 4
assert x.tolist() == [3] * 10
assert y.tolist() == [4] * 10
event.wait()
assert usmpy.from_dlpack(x).tolist() == x.tolist()
del old, x, event
gc.collect()
assert usmpy.Queue("host").host_task(int).wait() is None
assert (repr(y), y.copy().tolist()) is not None
print("ok")
