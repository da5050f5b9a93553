"""Sub-interpreters use a GPU, end with work pending, one after the other and eight at once."""

from sub_interpreters import GILS, at_once, live, once

import usmpy

USE = """
import usmpy

x = usmpy.arange(1000, device="cuda")
y = x + x
assert usmpy.sum(y).item() == 999_000
assert usmpy.from_dlpack(y).data_ptr == y.data_ptr
assert y.to_device("host")[999].item() == 1998

queue = usmpy.Queue("cuda")
z = usmpy.empty(1 << 16, dtype="int32", queue=queue)
for i in range(50):
    queue.fill(z, i)
assert z[-1].item() == 49


def fails():
    raise LookupError


try:
    queue.host_task(fails).wait()
    raise AssertionError("the failure was not raised")
except LookupError:
    pass

for i in range(50):  # pending at the end
    queue.fill(z, i)
queue.host_task(len, z)
"""
x = usmpy.arange(10, device="cuda")
for gil in GILS:
    for _ in range(3):  # caches and spare blocks fill
        once(gil, USE)
    before = live()
    for i in range(20):
        once(gil, USE)
        assert (x + i).tolist() == list(range(i, i + 10))
    assert live() == before, (gil, before, live())
    at_once(8, lambda _, gil=gil: once(gil, USE))
    assert usmpy.sum(x).item() == 45
    assert live() == before, (gil, before, live())
print("ok")
