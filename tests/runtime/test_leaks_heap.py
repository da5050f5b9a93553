"""Objects of each backend, made and dropped many times: the heap of C does not grow.

Python's blocks are counted in test_leaks.py and test_leaks_functions.py, objects of drivers by the drivers in
software. Here are the structures that backends allocate beside them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import cuda_drivers
import pytest
import spirv_modules
from backends import BACKENDS, Absent, cuda, level_zero

import usmpy
from usmpy import _core
from usmpy._compile import drivers

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


class Mallinfo(ctypes.Structure):
    """struct mallinfo2 of malloc.h (glibc 2.33): ten numbers, of which the eighth are the bytes in use."""

    _fields_ = [("numbers", ctypes.c_size_t * 10)]


def bytes_in_use() -> Callable[[], int]:
    """A function that tells the bytes in use, without what the CUDA driver in software never frees."""
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("the C library does not tell (glibc 2.33 does)")
    mallinfo.restype = Mallinfo
    if not os.environ.get("USMPY_CUDA_LIBRARY", "").startswith(tempfile.gettempdir()):
        return lambda: mallinfo().numbers[7]
    handles = ctypes.CDLL(str(cuda_drivers.library())).cudasim_handles
    handles.restype = ctypes.c_ulonglong
    return lambda: mallinfo().numbers[7] - handles()


@pytest.fixture(scope="module")
def used():
    return bytes_in_use()


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


LIST_ROUNDS = 100


@pytest.fixture(scope="module")
def gpu():
    try:
        return cuda(0)()
    except Absent as absent:
        pytest.skip(str(absent))


def least_growth(used, call, rounds=LIST_ROUNDS):
    for _ in range(rounds // 5):
        call()
    sizes = []
    while len(sizes) < 5:  # pools grow now and then; a leak is there each time
        before = used()
        for _ in range(rounds):
            call()
        sizes.append(used() - before)
        if sizes[-1] < 8 * rounds:
            break
    return min(sizes)


def test_parts_that_a_driver_refuses(used, gpu):
    def call():
        with pytest.raises((ValueError, usmpy.UsmError)):
            gpu.create_sub_devices(1)

    assert least_growth(used, call) < 8 * LIST_ROUNDS


def test_a_stream_that_waits_for_work(used, gpu):
    queue, other = usmpy.Queue(gpu), usmpy.Queue(gpu)
    x = usmpy.zeros(1 << 20, dtype="uint8", queue=queue)
    handle = other.native_handle
    driver = ctypes.CDLL(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1"))
    sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)  # void f(void *microseconds), nearly
    time = ctypes.c_void_p(200)

    def call():
        driver.cuCtxPushCurrent_v2(ctypes.c_void_p(queue.context.native_handle))
        assert driver.cuLaunchHostFunc(ctypes.c_void_p(queue.native_handle), sleep, time) == 0
        driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        queue.fill(x, 1)
        capsule = x.__dlpack__(stream=handle)
        queue.wait()
        other.wait()
        del capsule

    assert least_growth(used, call, 4000) < 12 * 4000  # the driver's own heap goes up and down


def test_allocations_that_are_alive(used):
    before = usmpy.track_allocations(True)
    try:
        x = usmpy.zeros(16, device="host")
        assert any(found.address == x.data_ptr and found.where for found in usmpy.live_allocations())
        assert least_growth(used, usmpy.live_allocations) < 8 * LIST_ROUNDS
    finally:
        usmpy.track_allocations(before)


MEMORY_ROUNDS = 200
BUILDS = 4
PATIENCE = 60


def test_threads_that_a_pinned_thread_starts(used):
    """They get the processors that it had before: a set, which is a block."""
    host = usmpy.Device("host:cpu:0")
    if host.max_compute_units < 2:
        pytest.skip("the host has one processor")
    queue = usmpy.Queue(host.create_sub_devices(1)[0])

    def grown():
        before = used()
        for _ in range(MEMORY_ROUNDS):
            usmpy.Queue("host").host_task(int).wait(PATIENCE)
        return used() - before

    sizes = [queue.host_task(grown).result(PATIENCE) for _ in range(8)]
    assert min(sizes[1:]) < 128 * MEMORY_ROUNDS, sizes  # threads end late: a leak is there each time


def test_binaries_of_builtin_kernels(used, monkeypatch):
    try:
        device = level_zero(0)()
    except Absent as absent:
        pytest.skip(str(absent))
    kept = []
    monkeypatch.setattr(drivers, "load_builtin", lambda *_: None)
    monkeypatch.setattr(drivers, "keep_builtin", lambda binary, *_: kept.append(len(binary)))

    def grown():
        before = used()
        for _ in range(BUILDS):
            queue = usmpy.Queue(device, context=usmpy.Context(device))
            x = usmpy.zeros((4, 4), dtype="int32", queue=queue)
            assert usmpy.greater(x, x.mT).tolist()[0] == [False] * 4
            del x, queue
        usmpy.trim()  # programs and contexts end on a thread of their own
        return used() - before

    sizes = [grown() for _ in range(3)]
    assert len(kept) >= 3 * BUILDS
    assert min(sizes[1:]) < sum(kept) / 3 / 2, (sizes, kept)


def test_addresses_around_large_blocks():
    """Blocks begin at huge pages: what was mapped before and behind them is given back."""
    queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host:cpu:0")))

    def mapped():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return pages * os.sysconf("SC_PAGESIZE")

    def grown():
        before = mapped()
        for i in range(64):
            # A mapping of the test's own in between: the next one begins elsewhere within a huge page.
            between = mmap.mmap(-1, (i + 1) * 12345)
            x = usmpy.empty((4 << 20) + i * 4096, dtype="uint8", queue=queue)
            del x
            usmpy.trim(queue)
            between.close()
        return mapped() - before

    assert min(grown() for _ in range(3)) < 16 << 20


def test_blocks_that_pools_give_back(used):
    """With the records of them, of which a block keeps one in the pool."""
    queue = usmpy.Queue("host", context=usmpy.Context(usmpy.Device("host:cpu:0")))

    def grown():
        before = used()
        for _ in range(MEMORY_ROUNDS):
            x = usmpy.empty(1000, dtype="uint8", queue=queue)
            del x
            assert usmpy.trim(queue) > 0
        return used() - before

    sizes = [grown() for _ in range(3)]
    assert min(sizes) < 32 * MEMORY_ROUNDS, sizes
