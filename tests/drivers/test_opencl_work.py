"""Work of OpenCL's drivers that is under way: waits, signals, forks, other threads."""

from __future__ import annotations

import contextlib
import ctypes
import random
import signal
import textwrap
import threading
import time

import another
import numpy as np
import pytest
from backends import BACKENDS, Absent
from draws import seeds
from interrupts import interrupt

import usmpy

PATIENCE = 60
SPIN = "kernel void spin(volatile global int *flag) { while (*flag == 0) ; }"


@pytest.fixture(
    params=[backend for backend in BACKENDS if backend.name.startswith("opencl")], ids=lambda b: b.name
)
def device(request):
    try:
        device = request.param.device()
    except Absent as absent:
        pytest.skip(str(absent))
    _ = device.queue
    return device


@contextlib.contextmanager
def spinning(device, **options):
    """(queue, event) of a kernel that runs until the block is left."""
    queue = usmpy.Queue(device, **options)
    program = usmpy.Program(SPIN, device=device, language="opencl")
    flag = usmpy.zeros(1, dtype="int32", usm_type="host", queue=queue)
    queue.wait()
    word = ctypes.c_int32.from_address(flag.data_ptr)
    event = program["spin"][usmpy.Range(1)](flag)
    try:
        yield queue, event
    finally:
        word.value = 1
        event.wait()


@pytest.mark.not_sanitized("it runs another program")
def test_queues_end_and_begin_after_a_fork(device):
    """Those of tasks in any order are kept for the next one, under a lock that a fork holds."""
    script = f"""
        import os
        import usmpy
        device = next(each for each in usmpy.get_devices("opencl") if each.name == {device.name!r})

        def use():
            queue = usmpy.Queue(device, in_order=False)
            x = usmpy.arange(4, dtype="int32", queue=queue)
            assert (x + x).tolist() == [0, 2, 4, 6]

        use()
        for _ in range(3):
            child = os.fork()
            if child == 0:
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            use()
            use()
    """
    another.run(textwrap.dedent(script))


def test_a_task_that_the_driver_has_begun_is_running(device):
    with spinning(device) as (queue, event):
        later = queue.barrier()
        deadline = time.monotonic() + PATIENCE
        while event.status != "running" and time.monotonic() < deadline:
            time.sleep(0.001)
        assert (event.status, event.done) == ("running", False)
        assert later.status == "submitted"
    assert event.status == "complete"
    later.wait()


def test_a_wait_for_the_driver_has_its_timeout(device):
    with spinning(device) as (queue, event):
        for wait in (event.wait, queue.wait, queue.barrier().wait):
            with pytest.raises(TimeoutError):
                wait(0.02)


def test_a_wait_in_the_driver_handles_signals(device):
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with spinning(device) as (queue, event):
            for wait in (event.wait, queue.wait, queue.barrier().wait):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                with pytest.raises(Alarm):
                    wait()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_allocation_that_waits_for_memory_handles_signals(device):
    """Memory ran out, and the driver's work may give some back."""
    x = usmpy.zeros(1 << 20, dtype="uint8", device=device)
    x.wait()
    with spinning(device) as (_, event):
        usmpy.set_memory_limit(device, 1)
        try:
            assert interrupt(lambda: usmpy.empty_like(x)) is not None
        finally:
            usmpy.set_memory_limit(device, None)
        assert not event.done
    assert usmpy.empty_like(x).nbytes == x.nbytes


def test_a_kernel_that_was_short_is_not_taken_for_short_when_it_waits_for_others(device):
    """Short work is waited for inside the driver, which has no timeout."""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(64, dtype="int32", queue=queue)
    program = usmpy.Program("kernel void one(global int *x) { x[get_global_id(0)] += 1; }", device=device)
    for _ in range(5):
        program["one"][usmpy.Range(64)](x).wait()
    with spinning(device) as (_, event):
        late = program["one"][usmpy.Range(64), [event]](x)
        for wait in (late.wait, queue.wait):
            with pytest.raises(TimeoutError):
                wait(0.02)
        old = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                late.wait()
        finally:
            signal.signal(signal.SIGALRM, old)
    late.wait()
    assert x.tolist() == [6] * 64


COUNT = """kernel void one(global int *x, volatile global const int *flag)
{
    while (*flag == 0)
        ;
    x[0] += 1;
}
"""


@pytest.mark.parametrize("in_order", [True, False], ids=["in order", "out of order"])
def test_short_kernels_complete_without_a_waiter(device, in_order):
    """No callback is registered for short tasks; a poll finds that they have completed."""
    queue = usmpy.Queue(device, in_order=in_order)
    x = usmpy.zeros(1, dtype="int32", usm_type="host", queue=queue)
    flag = usmpy.ones(1, dtype="int32", usm_type="host", queue=queue)
    kernel = usmpy.Program(COUNT, device=device, language="opencl")["one"]
    one = usmpy.Range(1)
    for _ in range(4):
        kernel[one](x, flag).wait()
    for n in (1, 7, 300):
        events = [kernel[one](x, flag)]
        for _ in range(n - 1):
            events.append(kernel[one, events[-3:]](x, flag))
        deadline = time.monotonic() + PATIENCE
        while not all(event.done for event in events) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert [event.status for event in events] == ["complete"] * n
    assert x.tolist() == [4 + 308]


def test_a_short_kernel_that_takes_long_this_time_holds_up_no_other(device):
    """In a queue that is out of order, where others end before it."""
    queue = usmpy.Queue(device, in_order=False)
    kernel = usmpy.Program(COUNT, device=device, language="opencl")["one"]
    one = usmpy.Range(1)

    def numbers(n):
        return usmpy.full(1, n, dtype="int32", usm_type="host", queue=queue)

    x, y, flag, go = numbers(0), numbers(0), numbers(0), numbers(1)
    for _ in range(4):
        kernel[one](x, go).wait()
    word, count = (ctypes.c_int32.from_address(array.data_ptr) for array in (flag, y))
    long = kernel[one](x, flag)
    try:
        behind = kernel[one, [long]](x, go)
        beside = [kernel[one](y, go) for _ in range(100)]
        deadline = time.monotonic() + 2  # with few processors, the driver may have no thread for these
        while count.value < 100 and time.monotonic() < deadline:
            time.sleep(0.001)
        ran = count.value == 100
        deadline = time.monotonic() + PATIENCE
        while ran and not all(event.done for event in beside) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert all(event.done for event in beside) or not ran
        assert (long.done, behind.done) == (False, False)
    finally:
        word.value = 1
    behind.wait()
    queue.wait()
    assert (long.status, x.item(), y.item()) == ("complete", 6, 100)


def chained(kernel, x, go, n, first=None):
    """The events of n runs, each ordered after the one before."""
    events = [] if first is None else [first]
    while len(events) < n:
        events.append(kernel[usmpy.Range(1), events[-1:]](x, go))
    return events


def test_a_chain_of_tasks_does_not_delay_others(device):
    """In an out-of-order queue they go to the driver in order, but only after their dependencies."""
    queue = usmpy.Queue(device, in_order=False)
    kernel = usmpy.Program(COUNT, device=device, language="opencl")["one"]

    def numbers(n):
        return usmpy.full(1, n, dtype="int32", usm_type="host", queue=queue)

    x, y, z, flag, go = numbers(0), numbers(0), numbers(0), numbers(0), numbers(1)
    queue.wait()
    chained(kernel, x, go, 20)[-1].wait()
    word, free, count = (ctypes.c_int32.from_address(array.data_ptr) for array in (flag, y, z))
    stuck = chained(kernel, x, go, 10, first=kernel[usmpy.Range(1)](x, flag))
    try:
        others = chained(kernel, z, go, 30)
        tried = 0
        deadline = time.monotonic() + PATIENCE
        # With few processors, the driver may have no thread for anything, and does not run these either.
        while count.value < 30 and (tried < 100 or free.value >= tried - 1) and time.monotonic() < deadline:
            tried += 1
            kernel[usmpy.Range(1)](y, go)  # which waits for none of them
            time.sleep(0.02)
        assert count.value == 30 or free.value < tried - 1
        assert not any(event.done for event in stuck)
    finally:
        word.value = 1
    for event in (*stuck, *others):
        event.wait(PATIENCE)
    queue.wait()
    assert (x.item(), y.item(), z.item()) == (30, tried, 30)


@pytest.mark.parametrize("profiling", [False, True])
@pytest.mark.parametrize("seed", seeds(3))
def test_chains_of_kernels_and_copies_agree_with_sequential_execution(device, seed, profiling):
    """Through events, through memory, through barriers; some of the events are waited for on the way."""
    chance = random.Random(seed)
    n = 3000
    source = """kernel void axpy(global uint *y, volatile global const uint *x, int a)
    {
        for (int k = 0; k < a; k++) /* long enough to be overtaken */
            y[get_global_id(0)] += x[get_global_id(0)];
    }"""
    kernel = usmpy.Program(source, device=device, language="opencl")["axpy"]
    queue = usmpy.Queue(device, in_order=False, profiling=profiling)
    other = usmpy.Queue(device, context=queue.context, profiling=profiling)
    arrays = [usmpy.full(n, k, dtype="uint32", queue=queue) for k in range(5)]
    model = [np.full(n, k, "uint32") for k in range(5)]
    theirs, of_theirs = usmpy.zeros(n, dtype="uint32", queue=other), np.zeros(n, "uint32")
    events = [queue.barrier()]
    for k in range(400):
        i, j = chance.sample(range(5), 2)
        depends = chance.sample(events, min(len(events), chance.choice([0, 1, 1, 2, 4])))
        what = chance.choice(["launch"] * 6 + ["copy", "fill", "barrier", "other", "wait"])
        if what == "launch":
            events.append(kernel[usmpy.Range(n), depends](arrays[i], arrays[j], (k % 4) * 300))
            model[i] += model[j] * ((k % 4) * 300)
        elif what == "copy":
            events.append(queue.memcpy(arrays[i], arrays[j], depends=depends))
            model[i][...] = model[j]
        elif what == "fill":
            events.append(queue.fill(arrays[i], k, depends=depends))
            model[i][...] = k
        elif what == "barrier":
            events.append(queue.barrier(depends))
        elif what == "other":
            events.append(other.fill(theirs, k, depends=depends))
            of_theirs[...] = k
        else:
            chance.choice(events).wait(PATIENCE)
        del events[:-12]
    for array, values in zip((*arrays, theirs), (*model, of_theirs), strict=True):
        np.testing.assert_array_equal(array.asnumpy(), values)
    if profiling:
        assert all(event.submit_time_ns <= event.start_time_ns <= event.end_time_ns for event in events)


def test_threads_that_wait_at_once_all_hear_of_the_end(device):
    """Some wait in the driver, some for another's look at the list of what has ended."""
    ended = []

    def work(k):
        queue = usmpy.Queue(device, in_order=k % 2 == 0)
        x = usmpy.zeros(50_000, dtype="int32", queue=queue)
        y = usmpy.zeros(50_000, dtype="int32", queue=queue)
        for i in range(50):
            queue.fill(x, i)
            queue.memcpy(y, x).wait()
            usmpy.flip(x).copy()
            queue.wait() if i % 3 else queue.barrier().wait(PATIENCE)
        ended.append(y[7].item())

    for _ in range(10):  # a driver whose threads sleep on each other does so now and then
        threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert ended == [49] * 4
        ended.clear()


LOOPS = """kernel void count(volatile global int *x, int loops)
{
    for (int i = 0; i < loops; i++)
        x[1] = i;
    x[0] += 1;
}"""


@pytest.mark.parametrize("in_order", [True, False], ids=["in order", "out of order"])
def test_awaited_work_is_done_after_the_wait(device, in_order):
    """Whether the kernel ends while the thread looks for it, or long after, or now this and now that."""
    program = usmpy.Program(LOOPS, device=device, language="opencl")
    wrong = []

    def work():
        queue = usmpy.Queue(device, in_order=in_order)
        x = usmpy.zeros(2, dtype="int32", usm_type="host", queue=queue)
        queue.wait()
        word, n = ctypes.c_int32.from_address(x.data_ptr), 0
        for loops in [1] * 20 + [300_000] * 20 + [1] * 300 + [1, 300_000] * 10:
            program["count"][usmpy.Range(1)](x, loops).wait()
            n += 1
            if word.value != n:
                wrong.append((loops, n, word.value))
        for loops in (1, 300_000):
            for _ in range(5):
                program["count"][usmpy.Range(1)](x, loops)
            queue.wait()
            n += 5
            if word.value != n:
                wrong.append((loops, n, word.value))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert wrong == []


def test_out_of_order_queues_come_and_go(device):
    """Releasing a queue right after its last task hangs a driver."""
    for i in range(200):
        queue = usmpy.Queue(device, in_order=False, profiling=i % 2 == 0)
        x = usmpy.full(40_000, i, dtype="int32", queue=queue)
        y = usmpy.empty(40_000, dtype="int32", queue=queue)
        queue.memcpy(y, x).wait(PATIENCE)
        del queue, x, y


def ticks_while_a_kernel_is_built(part):
    """How often another thread runs in the middle half of that time.

    It runs at both ends of the call in any case: Python switches threads there.
    """
    queue = usmpy.Queue(part, context=usmpy.Context(part))  # which has no kernels yet
    x = usmpy.arange(100_000, dtype="int32", queue=queue)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = time.monotonic()
    y = usmpy.less(x, usmpy.flip(x))  # built here
    after = time.monotonic()
    stop.set()
    thread.join(PATIENCE)
    assert y[0].item()
    assert not y[-1].item()
    quarter = (after - before) / 4
    return len([t for t in ticks if before + quarter < t < after - quarter])


def test_other_threads_run_while_a_kernel_is_built(device):
    part = device.create_sub_devices(1)[0]  # the whole device has the host's kernels, which are built
    # On a busy machine the thread may sleep through one build.
    assert any(ticks_while_a_kernel_is_built(part) > 0 for _ in range(50))


def test_strided_copies_of_a_device_and_of_its_parts_agree(device):
    """The host's loops do them for the whole, kernels for parts; either way in the queue's order."""
    values = np.arange(-(1 << 19), 1 << 19, dtype="int32").reshape(64, 128, 128)
    for place in (device, device.create_sub_devices(1)[0]):
        queue = usmpy.Queue(place)
        x = usmpy.asarray(values, queue=queue, copy=True)
        for axes in ((2, 0, 1), (1, 0, 2)):
            moved = usmpy.permute_dims(x, axes)
            y = usmpy.astype(usmpy.flip(moved, axis=1), "float64")  # each waits for the one before
            z = usmpy.less(usmpy.permute_dims(y, np.argsort(axes).tolist()), 0.0)
            expected = np.flip(values.transpose(axes), axis=1).astype("float64")
            np.testing.assert_array_equal(y.asnumpy(), expected)
            np.testing.assert_array_equal(z.asnumpy(), expected.transpose(np.argsort(axes)) < 0)


def test_times_are_those_of_the_monotonic_clock(device):
    queue = usmpy.Queue(device, profiling=True)
    x = usmpy.zeros(32 << 20, dtype="uint8", queue=queue)
    y = usmpy.empty_like(x)
    queue.wait()
    before = time.monotonic_ns()
    event = queue.memcpy(y, x)
    event.wait()
    after = time.monotonic_ns()
    assert before <= event.submit_time_ns <= event.start_time_ns < event.end_time_ns
    # Clocks are compared to within microseconds, where the thread does not lose its processor meanwhile.
    assert event.end_time_ns <= after + 100_000_000


def test_prefetch_is_a_hint_for_any_memory(device):
    queue = usmpy.Queue(device)
    for kind in ("device", "shared", "host"):
        x = usmpy.full(5000, 3, dtype="int32", usm_type=kind, queue=queue)
        queue.prefetch(x).wait(PATIENCE)
        assert x[4999].item() == 3
    taken = usmpy.from_dlpack(np.array([1, 2, 3]), device=queue)
    queue.prefetch(taken).wait(PATIENCE)
    assert taken.tolist() == [1, 2, 3]


@pytest.mark.parametrize("priority", ["low", "normal", "high"])
def test_queues_of_any_priority_work(device, priority):
    queue = usmpy.Queue(device, priority=priority)
    assert queue.priority == priority
    assert usmpy.flip(usmpy.arange(4, queue=queue)).copy().tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize("n", [100, 400_000])
def test_built_in_kernels_of_a_device_and_of_its_parts_agree(device, n):
    """The host's for the whole, done at once where they are short; the driver's own for parts."""
    rng = np.random.default_rng(n)
    values = rng.integers(-1000, 1000, n, dtype="int32")
    index = rng.integers(-n, n, n)
    for place in (device, device.create_sub_devices(1)[0]):
        queue = usmpy.Queue(place)
        x = usmpy.asarray(values, queue=queue, copy=True)
        for _ in range(3):  # each behind work that has not ended
            x = usmpy.take(x, usmpy.asarray(index % n, queue=queue))
        expected = values[index][index][index]
        mask = usmpy.less(x, usmpy.flip(x))
        expected_mask = expected < expected[::-1]
        np.testing.assert_array_equal(x.asnumpy(), expected)
        np.testing.assert_array_equal(mask.asnumpy(), expected_mask)
        np.testing.assert_array_equal(x[mask].asnumpy(), expected[expected_mask])
        np.testing.assert_array_equal(
            usmpy.where(mask, x, usmpy.zeros_like(x)).asnumpy(), np.where(expected_mask, expected, 0)
        )
        np.testing.assert_array_equal(usmpy.nonzero(mask)[0].asnumpy(), np.nonzero(expected_mask)[0])
        assert bool(usmpy.any(mask)) == expected_mask.any()


def test_a_built_in_kernel_that_depends_on_failed_work_does_not_run(device):
    """Nor is anything left of it, which would be its arguments."""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(3_000_000, dtype="int32", queue=queue)
    gate = threading.Event()

    def fail(array):
        assert gate.wait(PATIENCE)
        raise ValueError("on purpose")

    failed = queue.host_task(fail, x)
    y = usmpy.where(usmpy.equal(x, 0), x, x)
    gate.set()
    with pytest.raises(ValueError, match="on purpose"):
        failed.wait(PATIENCE)
    with pytest.raises(usmpy.UsmError, match="not run") as caught:
        y.wait()
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises((ValueError, usmpy.UsmError)):
        queue.wait()


def asked(function, handle, what):
    """A number that the driver tells about one of its objects."""
    value = ctypes.c_uint64()
    library = ctypes.CDLL("libOpenCL.so.1")
    code = library[function](ctypes.c_void_p(handle), what, ctypes.c_size_t(8), ctypes.byref(value), None)
    assert code == 0, (function, code)
    return value.value


CONTEXT_REFERENCE_COUNT, QUEUE_DEVICE, QUEUE_PROPERTIES = 0x1080, 0x1091, 0x1093


@pytest.mark.parametrize("in_order", [False, True])
def test_driver_s_queues_hold_a_context_no_longer(device, in_order):
    """
    Those out of order are kept for reuse, since the runtime of Intel cannot always release them. PoCL 6
    keeps a count for each allocation that was freed: the growth is compared with that of queues that stay.
    """
    context = usmpy.Context(device)

    def make():
        how = {"context": context, "in_order": in_order}
        return [usmpy.Queue(device, profiling=profiling, **how) for profiling in (False, True)]

    def use(queues):
        for queue in queues:
            queue.fill(usmpy.empty(1 << 18, dtype="int32", queue=queue), 1).wait()
            x = usmpy.zeros(64, dtype="int32", queue=queue)
            usmpy.flip(x).copy().wait()
            queue.wait()

    def growth(queues):
        counts = []
        for _ in range(11):
            use(queues())
            usmpy.trim()  # queues end on a thread of their own
            counts.append(asked("clGetContextInfo", context.native_handle, CONTEXT_REFERENCE_COUNT))
        return counts[-1] - counts[0]

    stay = make()
    assert growth(make) <= growth(lambda: stay) + 4


def test_a_used_queue_of_the_driver_goes_to_its_own_device_and_properties_alone(device):
    if device.max_compute_units < 2:
        pytest.skip("the device has one compute unit")
    parts = device.create_sub_devices(1)[:2]
    context = usmpy.Context(parts)
    for i in range(12):
        part, profiling = parts[i % 2], i % 3 == 0
        queue = usmpy.Queue(part, context=context, in_order=False, profiling=profiling)
        queue.barrier().wait()
        if i >= 6:  # others may know it from now on: it is not given out again
            assert asked("clGetCommandQueueInfo", queue.native_handle, QUEUE_DEVICE) == part.native_handle
            properties = asked("clGetCommandQueueInfo", queue.native_handle, QUEUE_PROPERTIES)
            assert properties & 3 == 1 + 2 * profiling
        del queue


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_memory_that_was_used_before_is_zeroed_again(device, kind):
    """Also after the driver had it back, which hands it out again as it is."""
    if not getattr(device, f"has_usm_{kind}"):
        pytest.skip("the device has no such memory")
    sizes = [3, 1000, 4096, 50_000, 300_000]
    for _ in range(3):
        dirty = [
            usmpy.full(n, 255, dtype="uint8", device=device, usm_type=kind) for n in sizes for _ in "abc"
        ]
        device.queue.wait()
        del dirty
        usmpy.trim()
        for n in sizes:
            clean = [usmpy.zeros(n, dtype="uint8", device=device, usm_type=kind) for _ in "abc"]
            assert not any(x.asnumpy().any() for x in clean)


def test_memory_of_a_part_is_not_the_whole_device_s_where_the_driver_needs_two_contexts(device):
    part = device.create_sub_devices(1)[0]
    whole, cut = usmpy.Queue(device), usmpy.Queue(part, context=device.context)
    handles = {queue.native_handle for queue in (whole, cut)}
    contexts = {asked("clGetCommandQueueInfo", handle, 0x1090) for handle in handles}  # CL_QUEUE_CONTEXT
    one = device.has_usm_system or len(contexts) == 1
    wanted = usmpy.MemoryConnection.UNIFIED if one else usmpy.MemoryConnection.NONE
    assert usmpy.memory_connection(whole, cut) == usmpy.memory_connection(cut, whole) == wanted
    x = usmpy.arange(100, dtype="int32", queue=whole)
    assert x.to_device(cut).tolist() == list(range(100))
