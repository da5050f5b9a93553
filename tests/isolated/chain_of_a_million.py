"""A chain of a million dependent tasks ends, fails and is freed without recursion: all stacks are small."""

import os
import resource
import sys
import threading
import time

KIB = 1024
STACK = 512 * KIB  # also of the threads that usmpy starts: glibc takes the limit of the process

if resource.getrlimit(resource.RLIMIT_STACK)[0] != STACK:
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    os.execv(sys.executable, [sys.executable, *sys.argv])

import usmpy  # noqa: E402
from usmpy import _core  # noqa: E402

N = 1_000_000


class Trouble(Exception):
    pass


def chain(in_order, fails, n, hold=False):
    """The last event of a chain that began behind a closed gate, and the gate."""
    gate = threading.Event()
    queues = [usmpy.Queue("host", in_order=in_order) for _ in range(2)]

    def first():
        gate.wait()
        if fails:
            raise Trouble

    event = queues[0].host_task(first)
    kept = [event] if hold else None
    for i in range(n):
        event = queues[i & 1].barrier(depends=event)
        if hold:
            kept.append(event)
    return event, gate, kept


def cause(event):
    try:
        event.wait()
    except usmpy.UsmError as error:
        return error.__cause__
    raise AssertionError("no error came through the chain")


def settled(before):
    deadline = time.monotonic() + 60
    while _core._live_counts() != before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert _core._live_counts() == before, (before, _core._live_counts())


def run():
    usmpy.Queue("host").barrier().wait()
    before = _core._live_counts()
    # Out of order, so that the dependencies alone make the order.
    event, gate, _ = chain(in_order=False, fails=False, n=N)
    gate.set()
    event.wait()
    del event
    settled(before)
    # In order, on two queues by turns; every event is held, and all are dropped at once.
    event, gate, kept = chain(in_order=True, fails=False, n=N // 10, hold=True)
    gate.set()
    event.wait()
    del event, kept
    settled(before)
    # Dropped while everything is pending.
    event, gate, _ = chain(in_order=False, fails=False, n=N // 10)
    del event
    gate.set()
    settled(before)
    # The first one fails, so that all others are skipped.
    event, gate, _ = chain(in_order=False, fails=True, n=N // 10)
    gate.set()
    assert isinstance(cause(event), Trouble)
    del event
    settled(before)


failures = []


def guarded():
    try:
        run()
    except BaseException as error:
        failures.append(error)
        raise


# The tasks also run in the thread that waits.
threading.stack_size(STACK)
thread = threading.Thread(target=guarded)
thread.start()
thread.join()
assert not failures
with open("/proc/self/status") as status:
    peak = next(line for line in status if line.startswith("VmHWM"))
assert int(peak.split()[1]) < 2_000_000, peak
print("ok")
