"""Arrays that cross interpreters, and outlive the one that they come from."""

import os
import pathlib
import pickle
import sys

import usmpy

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import GILS, HAS_CTYPES, Pipe, create, destroy, live, once, run
from tensor_addresses import Tensor, tensor_of

EXPORT = """
import os, usmpy
from tensor_addresses import tensor_of

own = usmpy.arange(1000, device="host")
own.queue.host_task(int)
imported = usmpy.asarray(memoryview(bytearray(range(250))), device="host")
os.write({fd}, repr([tensor_of(view) for view in (own, own[::2], imported)]).encode())
"""
IMPORT = """
import usmpy
from tensor_addresses import Tensor

x = usmpy.from_dlpack(Tensor({address}))
assert x.tolist() == list(range(1000))
x += 1
x.wait()
"""
PICKLE = """
import os, pickle, usmpy

os.write({fd}, pickle.dumps(usmpy.arange(100, device="host")))
assert pickle.loads({data!r}).tolist() == list(range(10))
"""
HANDLE = """
import usmpy

x = usmpy.IPCHandle.from_bytes({data!r}, {fds!r}).open()
assert x.tolist() == list(range(100))
x[0] = 77
x.wait()
"""
# The queue, which the process has once, has a failure whose exception belongs to the interpreter.
FAIL = """
import usmpy

def fail():
    raise LookupError("elsewhere")

sys.unraisablehook = lambda unraisable: None
event = usmpy.zeros(1, device="host").queue.host_task(fail)
while not event.done:
    pass
"""


def received(gil, code):
    """Exports of an interpreter, imported here while it is alive: (interpreter, arrays)."""
    pipe = Pipe()
    interpreter = create(gil)
    run(interpreter, code.format(fd=pipe.fd))
    return interpreter, [usmpy.from_dlpack(Tensor(address)) for address in eval(pipe.read())]


def check(arrays):
    whole, half, imported = arrays
    assert whole.tolist() == list(range(1000))
    assert half.tolist() == list(range(0, 1000, 2))
    assert imported.tolist() == list(range(250))
    assert (whole + 1).tolist() == list(range(1, 1001))


def cycle(gil):
    # The interpreter ends first, then the exports do.
    interpreter, arrays = received(gil, EXPORT)
    check(arrays)
    destroy(interpreter)
    check(arrays)
    del arrays
    # The exports end first: their owners are released in the interpreter.
    interpreter, arrays = received(gil, EXPORT)
    del arrays
    run(interpreter, "usmpy = sys.modules['usmpy']\nusmpy.zeros(1, device='host')\nimported.tolist()")
    destroy(interpreter)
    # A failure in the other interpreter: its exception is not for this one, alive or not.
    for ends_first in (False, True):
        interpreter = create(gil)
        run(interpreter, FAIL)
        if ends_first:
            destroy(interpreter)
        text = ""
        try:
            usmpy.zeros(1, device="host").queue.wait()
        except usmpy.UsmError as error:
            text = str(error)
        assert "LookupError" in text
        if not ends_first:
            destroy(interpreter)
    # The other direction.
    x = usmpy.arange(1000, device="host")
    once(gil, IMPORT.format(address=tensor_of(x)))
    assert x.tolist() == list(range(1, 1001))


for gil in GILS:
    pipe = Pipe()
    once(gil, PICKLE.format(fd=pipe.fd, data=pickle.dumps(usmpy.arange(10, device="host"))))
    assert pickle.loads(pipe.read()).tolist() == list(range(100))
    shared = usmpy.share(usmpy.arange(100, device="host"))
    with shared.get_ipc_handle() as handle:
        once(gil, HANDLE.format(data=bytes(handle), fds=tuple(map(os.dup, handle.fds))))
    assert shared[0].item() == 77
    if HAS_CTYPES[gil]:
        cycle(gil)
        before = live()
        for _ in range(3):
            cycle(gil)
        after = live()
        assert after == before, (gil, before, after)
print("ok")
