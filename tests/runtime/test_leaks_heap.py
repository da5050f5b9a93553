"""Objects of each backend, made and dropped many times: the heap of C does not grow.

Python's blocks are counted in test_leaks.py and test_leaks_functions.py, objects of drivers by the drivers in
software. Here are the structures that backends allocate beside them.
"""

from __future__ import annotations

import contextlib
import gc

import c_heap
import pytest
import spirv_modules
from backends import BACKENDS, Absent

import usmpy
from usmpy import _core

ROUNDS = 40
NAMES = ["host", "cuda-software", "level-zero-sim", "opencl-pocl"]
SOURCE = """
kernel void first(global int *x, int n, float a) { x[get_global_id(0)] = n + (int)a; }
kernel void second(global int *x, global const int *y, local int *t) { x[0] = y[0]; }
kernel void many(global int *x, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k,
                 int l, int m) { x[0] = a + b + c + d + e + f + g + h + i + j + k + l + m; }
"""

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("its heap is another"),
]


@pytest.fixture(scope="module")
def used():
    return c_heap.bytes_in_use()


class Things:
    """What the calls use."""

    def __init__(self, device):
        self.device = device
        self.queue = usmpy.Queue(device)
        self.x = usmpy.zeros(64, dtype="int32", queue=self.queue)
        self.y = usmpy.zeros(64, dtype="int32", queue=self.queue)
        self.strided = usmpy.zeros((8, 16), dtype="int32", queue=self.queue)[:, ::2]
        self.bytes = bytearray(self.x.nbytes)
        self.program = usmpy.Program(SOURCE, device=self.queue)
        self.first = self.program["first"]
        self.n = 0
        self.queue.wait()


def use_queue(t, **options):
    queue = usmpy.Queue(t.device, **options)
    x = usmpy.zeros(64, dtype="int32", queue=queue)
    queue.memcpy(x, t.bytes).wait()
    event = queue.barrier()
    usmpy.flip(x).copy()
    queue.wait()
    if options.get("profiling"):
        assert event.start_time_ns <= event.end_time_ns


def use_context(t, n=1):
    devices = [t.device] * n
    context = usmpy.Context(devices)
    queue = usmpy.Queue(t.device, context=context)
    usmpy.zeros(64, dtype="int32", queue=queue, usm_type="host" if t.device.has_usm_host else "device").wait()
    queue.wait()


def refused(call):
    try:
        call()
    except (usmpy.UsmError, ValueError, TypeError, KeyError, IndexError, RuntimeError):
        return
    raise AssertionError("it was not refused")


def refuse(t):
    """Each is refused by the backend, and leaves nothing."""
    refused(lambda: usmpy.Queue.from_native(t.device.backend, 12345))
    refused(lambda: usmpy.Context.from_native(t.device.backend, 12345))


def many_links(t):
    loose = usmpy.Queue(t.device, in_order=False)
    events = [loose.barrier() for _ in range(20)]
    loose.barrier(depends=events).wait()
    loose.wait()


CALLS = {
    "a queue": use_queue,
    "a queue out of order": lambda t: use_queue(t, in_order=False),
    "a profiling queue": lambda t: use_queue(t, profiling=True),
    "a context": use_context,
    "refused things": refuse,
    "kernels": lambda t: [t.program[name] for name in ("first", "second")],
    "no such kernel": lambda t: refused(lambda: t.program["third"]),
    "launches": lambda t: [t.first[64](t.x, i, 1.5) for i in range(3)],
    "launches with many arguments": lambda t: t.program["many"][1](t.x, *range(13)),
    "launches with events": lambda t: t.first[64](t.x, 1, 1.5).wait(),
    "local memory": lambda t: t.program["second"][usmpy.NdRange((4,), (4,))](t.x, t.y, usmpy.LocalMemory(16)),
    "binaries": lambda t: t.program.binary if t.device.backend != "host" else None,
    "copies": lambda t: (t.queue.memcpy(t.x, t.y), t.queue.memcpy(t.bytes, t.x)),
    "copies from the host": lambda t: t.queue.memcpy(t.x, t.bytes),
    "overlapping copies": lambda t: t.queue.memcpy(t.x[1:], t.x[:-1]),
    "strided copies": lambda t: usmpy.copyto(t.strided, t.strided[::-1]),
    "fills": lambda t: t.queue.fill(t.x, 7),
    "prefetches": lambda t: t.queue.prefetch(t.x),
    "many links": many_links,
    "host tasks": lambda t: t.queue.host_task(len, t.x),
    "handles of other processes": lambda t: t.x.share() if hasattr(t.x, "share") else None,
}  # fmt: skip


def settle():
    """What threads of the library were to free is free, also where they had no processor yet."""
    gc.collect()
    _core._live_counts()


def check(used, call, rounds=ROUNDS, before=60):
    for _ in range(before):
        call()
    grown = []
    for _ in range(30):  # pools grow now and then, at first often; a leak is there each time
        settle()
        before = used()
        for _ in range(rounds):
            call()
        settle()
        grown.append(used() - before)
        if grown[-1] < 16 * rounds:
            return
    raise AssertionError(f"bytes in {rounds} calls: {grown}")


@pytest.fixture(scope="module", params=[b for b in BACKENDS if b.name in NAMES], ids=lambda b: b.name)
def things(request):
    try:
        return Things(request.param.device())
    except Absent as absent:
        pytest.skip(str(absent))


def leave_out(things, what):
    """PoCL 6 keeps memory of contexts with USM blocks and of prefetches: in a program in C as well."""
    device = things.device
    pocl = device.backend == "opencl" and "pocl" in device.platform.vendor
    if pocl and what in ("a context", "prefetches") and int(device.driver_version.split(".")[0]) >= 5:
        pytest.skip("the driver keeps memory")


@pytest.mark.parametrize("what", CALLS)
def test_the_heap_does_not_grow(used, things, what):
    leave_out(things, what)

    def call():
        CALLS[what](things)
        things.queue.wait()

    check(used, call)


def without_memory(call):
    """Each allocation of the core fails in turn."""
    for n in range(1, 100):
        _core._fault("heap", n)
        try:
            call()
        except (MemoryError, usmpy.UsmError):
            pass
        finally:
            try:
                reached = _core._fault_calls("heap") >= n
            except MemoryError:  # the fault met this call
                reached = True
            _core._fault("heap", 0)
        if not reached:
            return
    raise AssertionError("it never ends")


@pytest.mark.parametrize("what", CALLS)
def test_calls_that_get_no_memory_leave_none(used, things, what):
    leave_out(things, what)

    def call():
        without_memory(lambda: CALLS[what](things))
        with contextlib.suppress(MemoryError, usmpy.UsmError):
            things.queue.wait()

    call()
    CALLS[what](things)
    check(used, call, 4, before=12)
    things.queue.fill(things.x, 1).wait()  # all goes on
    assert things.x.tolist() == [1] * 64


PTX = """.version 7.8
.target sm_80
.address_size 64
.visible .entry kernel_N(.param .u64 x, .param .u32 n)
{
    ret;
}
.visible .entry other_N() .reqntid 4
{
    ret;
}
"""


def build(t):
    """One of 40 programs in turn: it is built again, as the last 32 of a context are kept."""
    t.n = (t.n + 1) % 40
    if t.device.backend == "cuda":
        program = usmpy.Program(PTX.replace("N", str(t.n)), device=t.queue, language="ptx")
        assert program[f"kernel_{t.n}"].parameters == ("unknown[8]", "unknown[4]")
    elif t.device.backend == "level_zero":
        module = spirv_modules.add(constants=True)
        program = usmpy.Program(module, device=t.queue, language="spirv", options=f"-spec-constant 3={t.n}")
        assert program.kernel_names == ["add"]
    else:
        pytest.skip("only a compiler makes programs")


def refuse_build(t):
    t.n += 1
    if t.device.backend == "cuda":
        text = PTX.replace("N", str(t.n)).replace("ret", "frobnicate")
        refused(lambda: usmpy.Program(text, device=t.queue, language="ptx"))
    elif t.device.backend == "level_zero":
        module = spirv_modules.add(constants=True)
        for options in (f"-spec-constant 3={t.n} -spec-constant", f"-spec-constant 3={t.n}x"):
            refused(lambda o=options: usmpy.Program(module, device=t.queue, language="spirv", options=o))
    else:
        pytest.skip("only a compiler makes programs")


@pytest.mark.parametrize("call", [build, refuse_build], ids=lambda call: call.__name__)
def test_the_heap_does_not_grow_with_builds(used, things, call):
    check(used, lambda: call(things), 20)
