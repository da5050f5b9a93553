"""A long loop creates nothing new in the driver: events, lists and memory are reused."""

from __future__ import annotations

import os
import shlex
import subprocess

import level_zero_drivers
import level_zero_processes
import pytest

pytestmark = level_zero_processes.needs_driver

LAUNCHES = 10_000

# What each turn of the loop does, the wait for a hundred of them, and the queue's properties.
LOOPS = {
    "launches": ("axpy[r](x, y, 1.0, 64)", "queue.wait()", ""),
    "launches that are waited for one by one": ("axpy[r](x, y, 1.0, 64).wait()", "pass", ""),
    "launches that depend on each other": (
        "last = axpy[r, [last] if last else []](x, y, 1.0, 64)",
        "queue.wait(); last = None",
        "in_order=False",
    ),
    "launches with times": ("axpy[r](x, y, 1.0, 64)", "queue.wait()", "profiling=True"),
    "copies": ("queue.memcpy(y, x)", "queue.wait()", ""),
    "fills": ("queue.fill(y, 2.0)", "queue.wait()", ""),
    "barriers": ("queue.barrier()", "queue.wait()", "in_order=False"),
    "strided copies": ("y[::2] = x[::2]", "queue.wait()", ""),
    "arrays that come and go": (
        "t = usmpy.empty(64, dtype='float32', queue=queue); queue.memcpy(t, x)",
        "queue.wait()",
        "",
    ),
    "host tasks": ("queue.host_task(int); axpy[r](x, y, 1.0, 64)", "queue.wait()", ""),
}
FEWER = {"host tasks": 1000}


@pytest.mark.parametrize("what", LOOPS)
def test_a_loop_makes_nothing_new(what):
    turn, wait, properties = LOOPS[what]
    program = f"""

    device = usmpy.get_devices("level_zero")[0]
    spirv = open({str(level_zero_processes.SPIRV)!r}, "rb").read()
    queue = usmpy.Queue(device, {properties})
    axpy = usmpy.Program(spirv, device=queue, language="spirv").axpy
    x, y = (usmpy.ones(64, dtype="float32", queue=queue) for _ in range(2))
    r, last = usmpy.Range(64), None

    def turns(n):
        global last, t
        for i in range(n):
            {turn}
            if i % 100 == 99:
                {wait}
        queue.wait()

    FUNCTIONS = [
        "zeMemAllocDevice", "zeMemAllocShared", "zeMemAllocHost", "zeMemFree", "zeEventPoolCreate",
        "zeEventCreate", "zeEventDestroy", "zeCommandListCreateImmediate", "zeCommandListCreate",
        "zeCommandQueueCreate", "zeFenceCreate", "zeModuleCreate", "zeKernelCreate", "zeContextCreate",
    ]
    KINDS = ["context", "command_queue", "command_list", "event_pool", "event", "fence", "module", "kernel",
             "device_memory", "shared_memory", "host_memory"]

    def counts():
        return {{name: calls(name) for name in FUNCTIONS}} | {{kind: made(kind) for kind in KINDS}}

    # The largest backlog of events that a late release can leave to the next hundred.
    _ask("zesimPause", 1)
    for _ in range(400):
        queue.fill(y, 1.0)
    _ask("zesimPause", 0)
    queue.wait()
    turns(500)
    before, commands = counts(), made("command")
    turns({FEWER.get(what, LAUNCHES)})
    new = {{name: n - before[name] for name, n in counts().items() if n != before[name]}}
    assert new == {{}}, new
    assert {what!r} == "barriers" or made("command") - commands >= {FEWER.get(what, LAUNCHES)}
    """
    level_zero_processes.run(program)


def test_the_hosts_memory_does_not_grow():
    """By malloc's own account: what 10,000 launches leave in use is less than a byte for ten."""
    program = f"""
    class Mallinfo(ctypes.Structure):
        _fields_ = [(name, ctypes.c_size_t) for name in
                    "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        print("no mallinfo2")
        raise SystemExit
    mallinfo.restype = Mallinfo
    device = usmpy.get_devices("level_zero")[0]
    spirv = open({str(level_zero_processes.SPIRV)!r}, "rb").read()
    queue = usmpy.Queue(device)
    axpy = usmpy.Program(spirv, device=queue, language="spirv").axpy
    x, y = (usmpy.ones(64, dtype="float32", queue=queue) for _ in range(2))

    def turns(n):
        for i in range(n):
            axpy[usmpy.Range(64)](x, y, 1.0, 64)
            if i % 100 == 99:
                queue.wait()
        queue.wait()

    turns(3000)
    grown = []
    for _ in range(5):  # pools grow once when threads let go late; a leak is there each time
        before = mallinfo().uordblks
        turns({LAUNCHES})
        grown.append(mallinfo().uordblks - before)
    assert min(grown) < {LAUNCHES} / 10, grown
    """
    level_zero_processes.run(program)


def test_idle_engines_of_other_queues_sleep_on():
    """They were woken by every end, and took the processors from those that had something to do."""
    level_zero_processes.run("""

    import os
    from asleep import until_asleep

    def threads():
        return set(os.listdir("/proc/self/task"))

    def sleeps(thread):
        with open(f"/proc/self/task/{thread}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["voluntary_ctxt_switches"])

    device = usmpy.get_devices("level_zero")[0]
    busy, idle = usmpy.Queue(device), usmpy.Queue(device, in_order=False)
    x = usmpy.zeros(64, dtype="float32", queue=busy)
    busy.fill(x, 1.0).wait()
    before = threads()
    usmpy.zeros(64, dtype="float32", queue=idle).wait()
    engines = threads() - before
    assert engines
    for thread in engines:
        until_asleep(thread=int(thread))
    slept = {thread: sleeps(thread) for thread in engines}
    for _ in range(2000):
        busy.fill(x, 2.0).wait()
    woken = {thread: sleeps(thread) - slept[thread] for thread in engines & threads()}
    assert max(woken.values(), default=0) < 200, woken
    """)


# A clock that is ten microseconds later each time it is read: every call of the driver seems to take long.
SLOW_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    static _Atomic long reads;
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(clock, time);
    long later = ++reads * 10000 + time->tv_nsec;
    time->tv_sec += later / 1000000000;
    time->tv_nsec = later % 1000000000;
    return code;
}
"""


def test_a_slow_clock_is_read_a_few_times(tmp_path):
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(SLOW_CLOCK)
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    subprocess.run([*compiler, "-fPIC", "-shared", str(source), "-o", str(library), "-ldl"], check=True)
    program = """
    queue = usmpy.Queue(usmpy.get_devices("level_zero")[0], profiling=True)
    x = usmpy.zeros(64, dtype="float32", queue=queue)
    queue.wait()
    before = calls("zeDeviceGetGlobalTimestamps")
    event = queue.fill(x, 1.0)
    assert event.start_time_ns <= event.end_time_ns
    assert 1 <= calls("zeDeviceGetGlobalTimestamps") - before <= 4
    """
    level_zero_processes.run(program, preload=str(library))


@pytest.mark.leaves_objects("queues of devices are cached")
@pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built")
def test_events_of_level_zero_share_pools():
    level_zero_processes.run(
        """
        import threading
        device = usmpy.get_devices("level_zero")[0]
        queue = usmpy.Queue(device)
        x = usmpy.zeros(64, dtype="int32", queue=queue)
        queue.wait()
        before = made("event_pool")
        events = [queue.fill(x, i) for i in range(40)]
        queue.wait()
        assert made("event_pool") - before <= 4
        """
    )
