"""Makes each call of the software Level Zero driver fail in turn; run by test_level_zero_failures.py.

    python tests/support/level_zero_sweep.py work 0x70000003      the functions of work, one call at a time
    python tests/support/level_zero_sweep.py work 0x70000003 1    the same, the odd ones (0: even)
    python tests/support/level_zero_sweep.py without 0x78000003   the same, all calls of one function
    python tests/support/level_zero_sweep.py ends 0x7ffffffe    those that give something back, one at a time

For every function and n, the n-th call from the start of a small workload on fails, once. The workload may
then be right, or fail with an error of usmpy's that is named; nothing may be left behind, and the work that
follows is right.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parents[1]
sys.path[:0] = [str(HERE), str(TREE / "tests"), str(TREE)]

import level_zero_drivers  # noqa: E402, F401
from asleep import until_others_sleep  # noqa: E402
from share_peer import Peer  # noqa: E402

import usmpy  # noqa: E402

N = 300
MOST = 40  # failures of one function
SECONDS = 60
SPIRV = (TREE / "tests" / "level_zero_programs" / "kernels.spv").read_bytes()
SYMBOLS = TREE / "csrc" / "backends" / "level_zero" / "symbols.inc"
# Optional functions: without them usmpy is slower or reports less.
OPTIONAL = {
    "zeCommandListAppendMemAdvise",
    "zeCommandListAppendMemoryPrefetch",
    "zeCommandListCreateImmediate",
    "zeContextCreateEx",
    "zeDeviceCanAccessPeer",
    "zeEventQueryKernelTimestamp",
    "zeKernelSetIndirectAccess",
    "zeKernelSuggestGroupSize",
    "zeModuleBuildLogGetString",
    "zeModuleGetKernelNames",
}
ENDS = re.compile("Destroy|zeMemFree|zeMemPut|zeMemClose")
# Of the start (test_level_zero_failures.py): they were called before the first workload.
START = re.compile("zeInit|zeDriver|zeDevice(?!CanAccess)|zeContextGetStatus")


def workload(device, sent=None):
    """All that a program does, from its context on; nothing of it is left afterwards."""
    context = usmpy.Context([device])
    queue = usmpy.Queue(device, context=context)
    other = usmpy.Queue(device, context=context, in_order=False, profiling=True)
    axpy = usmpy.Program(SPIRV, device=queue, language="spirv")["axpy"]
    x = usmpy.full(N, 2.0, dtype="float32", queue=queue)
    y = usmpy.zeros(N, dtype="float32", queue=queue)
    axpy[usmpy.Range(N)](x, y, 3.0, N)
    queue.memcpy(y[1:], y[:-1])  # they overlap: through memory of its own
    u = usmpy.empty(N, dtype="float32", usm_type="shared", queue=other)
    u[::2] = usmpy.arange(N // 2, dtype="float32", queue=other)
    copy = other.memcpy(u[:10], u[20:30])
    events = [other.fill(u[100:], 1.0, depends=[copy]), other.prefetch(u), other.barrier()]
    other.wait_for(queue)
    host = usmpy.empty(16, dtype="int32", usm_type="host", queue=queue)
    done = other.host_task(lambda: None, depends=events)
    queue.fill(host, 5, depends=[done])
    wide = usmpy.zeros((2, 2, 2, 2, 2, 2, 3), dtype="int8", queue=queue)
    wide[:, ::-1, :, ::-1, :, ::-1] = 1
    z = usmpy.share(x)
    with z.get_ipc_handle() as handle:
        assert handle.open().data_ptr == z.data_ptr
    theirs = usmpy.arange(N, dtype="int32", queue=queue)
    if sent is not None:
        with usmpy.IPCHandle.from_bytes(*sent) as handle:  # of another process
            theirs = handle.open(device=queue)
    queue.wait()
    other.wait()
    assert z.tolist() == [2.0] * N
    assert theirs.tolist() == list(range(N))
    assert y.tolist() == [6.0] * N
    assert u.tolist()[:10] == [
        10.0,
        u.item(21),
        11.0,
        u.item(23),
        12.0,
        u.item(25),
        13.0,
        u.item(27),
        14.0,
        u.item(29),
    ]
    assert u.tolist()[100:] == [1.0] * (N - 100)
    assert host.tolist() == [5] * 16
    assert wide.tolist() == usmpy.ones((2, 2, 2, 2, 2, 2, 3), dtype="int8", queue=queue).tolist()
    assert copy.end_time_ns >= copy.start_time_ns >= copy.submit_time_ns


def attempt(device, sent):
    """The messages of usmpy's errors with their causes; None if there was no error."""
    try:
        workload(device, sent)
    except (usmpy.UsmError, MemoryError, BufferError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
        while (error := error.__cause__) is not None:
            said += f" <- {error}"
        return said
    return None


def main(which, code, turn=None):
    sim = ctypes.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"])
    sim.zesimFail.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32]
    sim.zesimCalls.restype = sim.zesimLive.restype = ctypes.c_int64
    names = re.findall(r"\((?:true, |false, )?(ze\w+)", SYMBOLS.read_text())
    chosen = [
        name for name in names if bool(ENDS.search(name)) == (which == "ends") and not START.match(name)
    ]
    if which == "without":  # how else would lists of loaders before 1.9 be waited for, and plain queues?
        chosen.remove("zeCommandListAppendBarrier")
        chosen.remove("zeCommandQueueSynchronize")
    assert len(chosen) > 5
    device = usmpy.get_devices("level_zero")[0]
    peer = Peer()
    peer(f"x = usmpy.share(usmpy.arange({N}, dtype='int32', device={device.filter_string!r}))")
    peer("h = x.get_ipc_handle()")
    peer.start("send(h)")
    sent = peer.receive()
    for _ in range(2):
        assert attempt(device, sent) is None
    gc.collect()

    def told_by(function):
        text = ctypes.create_string_buffer(4096)
        function(text, ctypes.c_size_t(len(text)))
        return text.value.decode()

    def left():
        return told_by(sim.zesimReport)

    failed, right = 0, 0

    def calls(name):
        return sim.zesimCalls(name and name.encode())

    def settle():
        """Threads may still be releasing objects."""
        seen = None
        while seen != (seen := calls(None)):
            gc.collect()
            until_others_sleep()

    settle()
    before = left()
    first = {name: calls(name) for name in chosen}
    assert attempt(device, sent) is None
    settle()
    most = {name: min(calls(name) - first[name], MOST) for name in chosen}
    once = 1 if which != "without" else 1 << 40
    numbers = {name: range(1, (most[name] if once == 1 else 1) + 1) for name in chosen}
    tries = [(name, n) for name in chosen for n in numbers[name] if n == 1 or turn in (None, n % 2)]
    for name, n in tries:
        begin = calls(name)
        assert sim.zesimFail(name.encode(), n, once, code) == 0
        said = attempt(device, sent)
        if which == "ends":
            settle()
        sim.zesimFail(name.encode(), 1, 0, 0)
        gc.collect()
        if os.environ.get("SWEEP_TELL"):
            print(f"{name} {n} of {most[name]}: {said}", flush=True)
        assert said is None or calls(name) - begin >= n, (name, n, said)
        assert said is None or "ZE_RESULT" in said, (name, n, said)
        assert said is None or which != "without" or name not in OPTIONAL, (name, said)
        assert which == "ends" or not (told := told_by(sim.zesimMisuse)), (name, n, told)
        until = time.monotonic() + SECONDS
        while which != "ends" and left() != before:  # threads may still be letting go
            assert time.monotonic() < until, f"{name} {n}: {said}\n{before}\n--\n{left()}"
            time.sleep(0.001)
            gc.collect()
        failed += said is not None
        right += said is None
    if which != "ends":
        assert attempt(device, sent) is None
    peer.kill()
    print(f"{failed} failed, {right} right")
    assert failed > 10 or which == "ends"


if __name__ == "__main__":
    main(sys.argv[1], *(int(argument, 0) for argument in sys.argv[2:]))
