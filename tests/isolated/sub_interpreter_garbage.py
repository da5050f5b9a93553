"""Objects that the collector finds with their classes and the extension, as a sub-interpreter ends."""

import gc
import pathlib
import sys

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, live, once

KEPT = """
import sys, usmpy
from usmpy import _core

queue = usmpy.Queue("host")
event = queue.host_task(int)
kernel = usmpy.Kernel.from_pointer(1, [])
kept = [queue, event, kernel, queue.device, queue.context, usmpy.float32, usmpy.Range(3)]
kept += [usmpy.zeros(3, queue=queue), usmpy.zeros(3, queue=queue).flags, kernel[1, [event]], kernel[1, event]]
kept += [queue.host_task(len, kept), usmpy.borrow(kept[7]), usmpy.LocalMemory(3), event]
event.wait()
queue.wait()

def fail():  # the traceback of the error has this module's names
    raise LookupError("in a task")

sys.unraisablehook = lambda unraisable: None
failed = queue.host_task(fail)
while not failed.done:
    pass
_core.kept = kept  # so that they end with the module
kept.append(kept)
for item in (usmpy.Event, usmpy.Queue):
    kept.append([item, kept])
"""
gc.collect()
x = usmpy.arange(10, device="host")
for gil in GILS:
    once(gil, KEPT)
    before = live()
    for _ in range(10):
        once(gil, KEPT)
    assert live() == before, (gil, before, live())
assert x.tolist() == list(range(10))
print("ok")
