"""A process that has as many descriptors as it may have: shares are refused with the reason, work goes on."""

import contextlib
import gc
import multiprocessing.reduction
import pathlib
import resource
import subprocess
import sys
import time

import usmpy
from usmpy import _core

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))

from another import no_descriptors

EXPORT = "import sys, usmpy; h = usmpy.share(usmpy.arange(6, device='host')).get_ipc_handle()"
EXPORTER = f"{EXPORT}; print(bytes(h).hex(), flush=True); sys.stdin.read()"
LACKING = "Too many open files"


def settled(before):
    deadline = time.monotonic() + 30
    while _core._live_counts() != before:
        assert time.monotonic() < deadline, (before, _core._live_counts())
        time.sleep(0.005)
        gc.collect()


def refused(call, *arguments):
    try:
        call(*arguments)
    except (MemoryError, OSError) as error:
        if LACKING not in str(error) or (isinstance(error, MemoryError) and "ulimit -n" not in str(error)):
            raise
    else:
        raise AssertionError(f"{call} needs a descriptor")


def exhausted(call, *arguments):
    """Calls while no descriptor is left."""
    with no_descriptors():
        call(*arguments)


def read_other(data):
    """A handle is refused, not believed to come from another machine or from a process that has ended."""
    refused(usmpy.IPCHandle.from_bytes, data)


def use(x, shared, handle):
    refused(usmpy.share, x)
    refused(shared.get_ipc_handle)
    refused(usmpy.IPCHandle.from_bytes, bytes(handle), handle.fds)
    refused(multiprocessing.reduction.ForkingPickler.dumps, shared)
    assert handle.open().tolist() == shared.tolist()
    assert usmpy.sum(usmpy.sort(x, descending=True) + 1).item() == 500_000_500_000
    ran = []
    queue = usmpy.Queue("host")
    queue.host_task(ran.append, 1).wait()
    assert ran == [1]
    assert usmpy.get_devices("host")


child = subprocess.Popen([sys.executable, "-c", EXPORTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
data = bytes.fromhex(child.stdout.readline().decode())
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, hard), hard))
x = usmpy.arange(1_000_000, device="host")
usmpy.Queue("host").host_task(len, "").wait()
settled({**_core._live_counts(), "events": 0})  # the worker has released the task
before = _core._live_counts()
exhausted(read_other, data)  # the first handle of this process
handle = usmpy.share(x).get_ipc_handle()
shared = handle.open()
exhausted(read_other, data)  # what is known of this process is known by now
exhausted(use, x, shared, handle)
with contextlib.suppress(BufferError):  # the kernel's rules, not a lack
    assert usmpy.IPCHandle.from_bytes(data).open().tolist() == [0, 1, 2, 3, 4, 5]
child.communicate(b"")
assert child.wait() == 0
del handle, shared
settled(before)
print("ok")
