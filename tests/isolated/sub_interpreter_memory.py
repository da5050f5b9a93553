"""A sub-interpreter that ended leaves no memory behind: its copy of the extension is freed."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1]))

from sub_interpreters import GILS, create, destroy, run

USE = """
import usmpy

x = usmpy.arange(10, device="host")
assert (x + x[::-1]).tolist() == [9] * 10
usmpy.finfo("float32"), usmpy.iinfo("int8"), usmpy.asarray([1, 2]), usmpy.get_devices()
queue = usmpy.Queue("host")
assert queue.host_task(int).result() == 0
kept = [queue, queue.context, queue.device, x, x.dtype, x.queue]
"""
MOST = 40  # KiB for each interpreter; CPython itself keeps some, and a module took about 180


def anonymous():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("RssAnon:")).split()[1])


def use(gil, times):
    for _ in range(times):
        interpreter = create(gil)
        run(interpreter, USE)
        destroy(interpreter)


# From 3.12 on CPython itself keeps 300 KiB and more of each sub-interpreter.
for gil in GILS if sys.version_info < (3, 12) else ():
    use(gil, 10)
    before = anonymous()
    use(gil, 30)
    grown = (anonymous() - before) / 30
    assert grown < MOST, (gil, grown)
print("ok")
