"""A sub-interpreter that ended leaves no memory behind: its copy of the extension is freed."""

import pathlib
import sys
import sysconfig

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from sub_interpreters import Pipe, once

USE = """
import usmpy

x = usmpy.arange(10, device="host")
assert (x + x[::-1]).tolist() == [9] * 10
usmpy.finfo("float32"), usmpy.iinfo("int8"), usmpy.asarray([1, 2]), usmpy.get_devices()
queue = usmpy.Queue("host")
assert queue.host_task(int).result() == 0
kept = [queue, queue.context, queue.device, x, x.dtype, x.queue]
"""
# KiB that an interpreter may keep beyond one that imports the same modules without usmpy. CPython itself
# keeps 50 to 65, of names in usmpy's code; a module took about 180.
MOST = 120


def anonymous():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("RssAnon:")).split()[1])


def kept_by(code):
    for _ in range(10):  # caches and spare blocks fill
        once("shared", code)
    before = anonymous()
    for _ in range(30):
        once("shared", code)
    return (anonymous() - before) / 30


# CPython keeps whole arenas of an interpreter with a GIL, and thus an allocator, of its own.
pipe = Pipe()
once("shared", f"{USE}\nimport os\nos.write({pipe.fd}, repr(list(sys.modules)).encode())")
others = [name for name in eval(pipe.read()) if name.partition(".")[0] not in ("usmpy", "__main__")]
bare = kept_by(f"for name in {others!r}:\n    __import__(name)")
used = kept_by(USE)
if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # their limit is not known
    assert used < bare + MOST, (used, bare)
print("ok")
