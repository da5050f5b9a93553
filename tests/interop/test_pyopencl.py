"""PyOpenCL: devices, contexts, queues and memory of one side are those of the other."""

from __future__ import annotations

import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import threading
import time
import types
import weakref

import numpy as np
import ordering
import pytest
from asleep import once_asleep, until_others_sleep
from libraries import need

import usmpy

os.environ.setdefault("PYOPENCL_NO_CACHE", "1")  # of programs, in the user's home
cl = need("pyopencl")
# What drivers have to say about programs that they built.
pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")

# The platforms of tests/support/backends.py, by a word of their names.
DRIVERS = {"intel": "Intel", "pocl": "Portable Computing Language"}
SOURCE = "kernel void add(global float *x, float a) { x[get_global_id(0)] += a; }"


class Peer:
    """PyOpenCL's side of one driver."""

    def __init__(self, platform):
        self.device = platform.get_devices()[0]
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context)

    def kernel(self):
        return cl.Program(self.context, SOURCE).build().add

    def svm(self, nbytes):
        flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
        return cl.SVMAllocation(self.context, nbytes, 0, flags, queue=self.queue)

    def gate(self):
        """Later commands do not run before the gate's set_status(0)."""
        gate = cl.UserEvent(self.context)
        cl.enqueue_barrier(self.queue, wait_for=[gate])
        self.queue.flush()
        return gate

    def counts(self):
        return (
            self.queue.get_info(cl.command_queue_info.REFERENCE_COUNT),
            self.context.get_info(cl.context_info.REFERENCE_COUNT),
        )


@pytest.fixture(params=DRIVERS)
def peer(request):
    for platform in cl.get_platforms():
        if DRIVERS[request.param] in platform.name:
            return Peer(platform)
    pytest.skip(f"PyOpenCL lists no platform of {DRIVERS[request.param]}")


def eventually(condition):
    """Threads of drivers release what a task used shortly after its completion is visible."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.002)
    return condition()


def as_svm(pointer, nbytes):
    """The argument by which PyOpenCL's kernels take an address, also one that the host cannot read."""
    return cl.SVM((ctypes.c_ubyte * nbytes).from_address(pointer))


def launch(queue, kernel, pointer, n, value):
    kernel(queue, (n,), None, as_svm(pointer, 4 * n), np.float32(value))


# Devices and contexts.


def test_a_device_is_the_one_that_usmpy_lists(peer):
    device = usmpy.Device.from_native("opencl", peer.device.int_ptr)
    assert device in usmpy.get_devices("opencl")
    assert device == usmpy.Device.from_native("opencl", peer.device)
    assert device.native_handle == peer.device.int_ptr
    assert device.name == peer.device.name.strip()


def test_parts_are_known_where_usmpy_made_them(peer):
    device = usmpy.Device.from_native("opencl", peer.device)
    if device.max_compute_units < 2:
        pytest.skip("the device has one compute unit: it has no part smaller than itself")
    part = device.create_sub_devices(1)[1]
    assert usmpy.Device.from_native("opencl", part.native_handle) == part
    theirs = peer.device.create_sub_devices([cl.device_partition_property.EQUALLY, 1])
    with pytest.raises(usmpy.DeviceNotFound, match="unknown to usmpy"):
        usmpy.Device.from_native("opencl", theirs[0])
    context = cl.Context(theirs)
    if context.devices == theirs:  # PoCL's is of the whole device
        with pytest.raises(usmpy.DeviceNotFound, match="unknown to usmpy"):
            usmpy.Context.from_native("opencl", context)
    with pytest.raises(usmpy.DeviceNotFound, match="unknown to usmpy"):
        usmpy.Queue.from_native("opencl", cl.CommandQueue(context, theirs[0]))


def test_one_native_context_is_one_context(peer):
    first = usmpy.Context.from_native("opencl", peer.context.int_ptr)
    second = usmpy.Context.from_native("opencl", peer.context)
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    assert first == second == queue.context
    assert hash(first) == hash(second)
    assert first != usmpy.Context.from_native("opencl", cl.Context([peer.device]))
    assert not first.is_default
    assert first.native_handle == peer.context.int_ptr
    assert first.devices == [usmpy.Device.from_native("opencl", peer.device)]


def test_our_context_comes_back_as_itself(peer):
    device = usmpy.Device.from_native("opencl", peer.device)
    for ours in (device.context, usmpy.Context(device)):
        theirs = cl.Context.from_int_ptr(ours.native_handle)
        assert theirs.devices == [peer.device]
        assert usmpy.Context.from_native("opencl", theirs) == ours
    queue = usmpy.Queue.from_native(
        "opencl", cl.CommandQueue(cl.Context.from_int_ptr(device.context.native_handle))
    )
    assert queue.context.is_default
    x = usmpy.arange(3, device=device)
    assert usmpy.memory_connection(x, queue) is usmpy.MemoryConnection.UNIFIED


def test_everything_works_in_an_adopted_context(peer):
    context = usmpy.Context.from_native("opencl", peer.context)
    queue = usmpy.Queue(context.devices[0], context=context)
    x = usmpy.reshape(usmpy.arange(1000, dtype="float32", queue=queue), (20, 50))
    y = usmpy.astype(x.T, "int64")
    y[::2] = 7
    joined = usmpy.concat([y, usmpy.full((1, 20), 3, dtype="int64", queue=queue)])
    expected = np.arange(1000).reshape(20, 50).T.copy()
    expected[::2] = 7
    assert joined.asnumpy().tolist() == [*expected.tolist(), [3] * 20]


def test_the_host_has_no_handles():
    assert usmpy.Device("host").native_handle is None
    assert usmpy.Device("host").context.native_handle is None
    assert usmpy.Queue("host").native_handle is None


# Queues.


@pytest.mark.parametrize("bits", range(4))
def test_properties_are_the_drivers(peer, bits):
    flags = cl.command_queue_properties
    properties = (flags.PROFILING_ENABLE if bits & 1 else 0) | (
        flags.OUT_OF_ORDER_EXEC_MODE_ENABLE if bits & 2 else 0
    )
    theirs = cl.CommandQueue(peer.context, properties=properties)
    queue = usmpy.Queue.from_native("opencl", theirs)
    assert (queue.profiling, queue.in_order) == (bool(bits & 1), not bits & 2)
    assert (queue.backend, queue.priority) == ("opencl", "normal")
    assert queue.native_handle == theirs.int_ptr
    assert usmpy.Device.from_native("opencl", queue.device.native_handle).queue != queue
    event = queue.fill(usmpy.empty(1000, dtype="int32", queue=queue), 3)
    event.wait()
    if queue.profiling:
        assert 0 < event.submit_time_ns <= event.start_time_ns <= event.end_time_ns


def test_a_queue_is_new_each_time_and_arrays_know_their_own(peer):
    first, second = (usmpy.Queue.from_native("opencl", peer.queue) for _ in range(2))
    assert first != second
    x, y = usmpy.ones(3, queue=first), usmpy.ones(3, queue=second)
    assert usmpy.get_execution_queue([x, y]) is None
    assert usmpy.memory_connection(x, y) is usmpy.MemoryConnection.UNIFIED
    first.memcpy(x, y)
    assert x.tolist() == [1, 1, 1]
    assert x.queue.device.queue == first


def test_work_of_both_runs_in_the_order_of_the_calls(peer):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    kernel, n = peer.kernel(), 10_000
    memory = peer.svm(4 * n)
    x = usmpy.USMArray.from_pointer(
        memory.svm_ptr, n, "float32", queue=queue, usm_type="shared", owner=memory
    )
    copies = [usmpy.empty(n, dtype="float32", queue=queue) for _ in range(4)]
    gate = peer.gate()  # so that nothing is in order by chance
    queue.fill(x, 1)
    for i, copy in enumerate(copies):
        launch(peer.queue, kernel, memory.svm_ptr, n, 10**i)
        queue.memcpy(copy, x)
    assert not queue.barrier().done
    gate.set_status(cl.command_execution_status.COMPLETE)
    for copy, expected in zip(copies, (2, 12, 112, 1112), strict=True):
        assert set(copy.asnumpy().tolist()) == {expected}
    result = np.empty(n, np.float32)
    cl.enqueue_copy(peer.queue, result, memory)
    assert set(result.tolist()) == {1112}


@pytest.mark.parametrize("in_order", [True, False])
def test_waits_count_the_work_of_others(peer, in_order):
    if not in_order:
        flags = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        peer.queue = cl.CommandQueue(peer.context, properties=flags)
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    later = usmpy.Queue(queue.device, context=queue.context)
    x = usmpy.zeros(3, queue=later)
    x.wait()
    gate = peer.gate()
    barrier = queue.barrier()
    with pytest.raises(TimeoutError):
        queue.wait(0.05)
    later.wait_for(queue)
    event = later.fill(x, 4)
    assert not barrier.done
    assert not event.done
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.wait()
    assert barrier.done
    assert x.tolist() == [4, 4, 4]


def test_an_out_of_order_queue_of_ours_holds_all_of_its_work_for_others(peer):
    """A chain of tasks may use a second native queue, which the owner of the handle does not see."""
    device = usmpy.Context.from_native("opencl", peer.context).devices[0]
    queue = usmpy.Queue(device, in_order=False)
    source = """kernel void one(global int *x, volatile global const int *flag) {
        while (*flag == 0) ; x[0] += 1; }"""
    kernel = usmpy.Program(source, device=device, language="opencl")["one"]
    x, flag, go = (usmpy.full(1, k == 2, dtype="int32", usm_type="host", queue=queue) for k in range(3))
    queue.wait()
    word, count = (ctypes.c_int32.from_address(array.data_ptr) for array in (flag, x))
    events = [kernel[usmpy.Range(1)](x, go)]
    for k in range(40):
        events.append(kernel[usmpy.Range(1), events[-1:]](x, flag if k == 20 else go))
    theirs = cl.CommandQueue.from_int_ptr(queue.native_handle)
    marker = cl.enqueue_marker(theirs)
    theirs.flush()
    ordering.run_another_task(device)
    held = marker.command_execution_status
    word.value = 1
    marker.wait()
    assert count.value == 41
    assert held > cl.command_execution_status.COMPLETE
    later = kernel[usmpy.Range(1), events[-1:]](x, go)
    later.wait()
    assert count.value == 42


# PoCL ends the process where an event fails that others wait for.
@pytest.mark.parametrize("peer", ["intel"], indirect=True)
def test_a_chain_of_tasks_fails_after_a_failed_gate(peer):
    """The driver decides whether they fail: Intel's runs commands after a barrier that failed."""
    theirs = usmpy.Queue.from_native("opencl", peer.queue)
    queue = usmpy.Queue(theirs.device, context=theirs.context, in_order=False)
    add = usmpy.Program(SOURCE, device=queue, language="opencl")["add"]
    x, y = (usmpy.zeros(8, dtype="float32", queue=queue) for _ in range(2))

    def chain(array, first=()):
        events = list(first)
        for _ in range(10):
            events.append(add[usmpy.Range(8), events[-1:]](array, 1.0))
        return events

    chain(x)[-1].wait()
    gate = peer.gate()
    held = theirs.barrier()
    behind = chain(x, [held])
    beside = chain(y)
    gate.set_status(-5)  # CL_OUT_OF_RESOURCES
    beside[-1].wait(60)
    failed = []
    for event in behind:
        try:
            event.wait(60)
        except usmpy.UsmError as error:
            failed.append(error)
    assert len(failed) in (0, len(behind))
    if not failed:
        assert x.tolist() == [20] * 8
    queue.fill(x, 5)
    chain(x)[-1].wait(60)
    assert (x.tolist(), y.tolist()) == ([15] * 8, [10] * 8)


def test_a_barrier_in_an_out_of_order_queue_holds_up_both(peer):
    flags = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    theirs = cl.CommandQueue(peer.context, properties=flags)
    queue = usmpy.Queue.from_native("opencl", theirs)
    gate = cl.UserEvent(peer.context)
    first = cl.enqueue_marker(theirs, wait_for=[gate])
    x = usmpy.empty(1000, dtype="float32", queue=queue)
    filled = queue.fill(x, 1)
    barrier = queue.barrier()  # behind ours and theirs
    second = cl.enqueue_marker(theirs, wait_for=[])
    third = queue.fill(x, 2)
    theirs.flush()
    filled.wait()
    ordering.run_another_task(queue.device)
    complete = cl.command_execution_status.COMPLETE
    states = [event.command_execution_status for event in (first, second)]
    assert complete not in states
    assert (barrier.done, third.done) == (False, False)
    gate.set_status(complete)
    third.wait()
    second.wait()
    assert x.tolist() == [2.0] * 1000


def test_memory_comes_and_goes_while_the_work_of_others_is_held_up(peer):
    """No allocation and no free waits for work on other memory: that may wait for this very thread."""
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    own = usmpy.Queue(queue.device, context=queue.context)
    kinds = [kind for kind in ("device", "shared", "host") if getattr(own.device, f"has_usm_{kind}")]
    gate = peer.gate()
    done = threading.Event()

    def take_and_give_back():
        for size in range(1, 30):
            for kind in kinds:
                usmpy.empty(size << 20, dtype="uint8", usm_type=kind, queue=own)
            usmpy.trim()
        done.set()

    thread = threading.Thread(target=take_and_give_back)
    thread.start()
    in_time = done.wait(60)
    gate.set_status(cl.command_execution_status.COMPLETE)
    thread.join()
    assert in_time


def test_pyopencl_works_in_our_queue(peer):
    device = usmpy.Device.from_native("opencl", peer.device)
    queue = usmpy.Queue(device)
    x = usmpy.zeros(1000, dtype="float32", queue=queue)
    context = cl.Context.from_int_ptr(queue.context.native_handle)
    theirs = cl.CommandQueue.from_int_ptr(queue.native_handle)
    kernel = cl.Program(context, SOURCE).build().add
    gate = cl.UserEvent(context)
    cl.enqueue_barrier(theirs, wait_for=[gate])
    with x.lend(queue) as pointer:
        launch(theirs, kernel, pointer, 1000, 5)
    with pytest.raises(TimeoutError):
        queue.wait(0.02)
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert x.tolist() == [5.0] * 1000


def test_host_tasks_run_in_an_adopted_queue(peer):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    x = usmpy.zeros(4, dtype="int32", queue=queue)
    queue.fill(x, 3)
    seen = []
    queue.host_task(lambda y: seen.append(memoryview(y).tolist()), x).wait()
    assert seen == [[3, 3, 3, 3]]

    def fail():
        raise LookupError("of the task")

    queue.host_task(fail)
    with pytest.raises(LookupError, match="of the task"):
        queue.wait()


# Counts and owners.


def kept_by_the_driver(device):
    """
    Counts of (a queue, a context) that the driver itself never gives back: after a fill in the queue, and
    after an allocation that was freed. PoCL 6 keeps one of each; no library above it can give them back.
    """
    own = Peer(device.platform)
    if "cl_intel_unified_shared_memory" not in device.extensions:
        return 0, 0

    def function(name, restype, *arguments):
        library = ctypes.CDLL("libOpenCL.so.1")
        library.clGetExtensionFunctionAddressForPlatform.restype = ctypes.c_void_p
        find = library.clGetExtensionFunctionAddressForPlatform
        return ctypes.CFUNCTYPE(restype, *arguments)(find(pointer(device.platform.int_ptr), name.encode()))

    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    allocate = function("clDeviceMemAllocINTEL", pointer, pointer, pointer, pointer, size, number, pointer)
    free = function("clMemFreeINTEL", ctypes.c_int32, pointer, pointer)
    fill = function(
        "clEnqueueMemFillINTEL",
        ctypes.c_int32,
        pointer,
        pointer,
        pointer,
        size,
        size,
        number,
        pointer,
        pointer,
    )
    before = own.counts()
    memory = allocate(own.context.int_ptr, device.int_ptr, None, 4096, 64, None)
    assert fill(own.queue.int_ptr, memory, ctypes.byref(number(1)), 4, 4096, 0, None, None) == 0
    own.queue.finish()
    assert free(own.context.int_ptr, memory) == 0
    until_others_sleep()  # what threads of the driver still hold is not kept: see eventually
    return tuple(now - then for now, then in zip(own.counts(), before, strict=True))


@pytest.mark.parametrize("order", ["theirs first", "ours first"])
def test_counts_go_back(peer, order):
    kept_of_queue, kept_of_context = kept_by_the_driver(peer.device)
    before = peer.counts()
    theirs, context = peer.queue, peer.context
    queue = usmpy.Queue.from_native("opencl", theirs)
    adopted = usmpy.Context.from_native("opencl", context)
    assert peer.counts()[0] == before[0] + 1
    assert peer.counts()[1] > before[1]
    x = usmpy.arange(100, dtype="float32", queue=queue)
    view = np.from_dlpack(x)
    if order == "ours first":
        del queue, adopted, x
        assert peer.counts()[1] > before[1]  # the export holds the memory's context
        assert view.tolist() == list(range(100))
        del view
        # PoCL 6 keeps counts of its own fill and allocation, not of what the host did in their place.
        most = (before[0] + kept_of_queue, before[1] + kept_of_context)

        def in_bounds():
            return all(a <= b <= c for a, b, c in zip(before, peer.counts(), most, strict=True))

        assert eventually(in_bounds)
        return
    handle = context.int_ptr
    del theirs, context, peer.queue, peer.context
    gc.collect()
    usmpy.copyto(x, usmpy.full(100, 2, dtype="float32", queue=queue))
    assert x.tolist() == view.tolist() == [2.0] * 100
    again = cl.Context.from_int_ptr(handle)  # held here alone until now
    assert again.devices == [peer.device]
    del queue, adopted, x, view
    gc.collect()
    # PyOpenCL's own count is the last one. A queue that the driver keeps has a count of its context; x and
    # the array of 2 had a block each.
    left = 1 + kept_of_queue + 2 * kept_of_context
    assert eventually(lambda: again.get_info(cl.context_info.REFERENCE_COUNT) == left)


class Owner:
    """Something that can be seen to go."""


def test_owners_live_as_long_as_the_handle_is_used(peer):
    owner = Owner()
    gone = weakref.ref(owner)
    queue = usmpy.Queue.from_native("opencl", peer.queue, owner=owner)
    gate = peer.gate()
    x = usmpy.empty(10, dtype="int32", queue=queue)
    event = queue.fill(x, 3)
    del owner, queue, x
    gc.collect()
    assert gone() is not None  # the task is in the queue
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()
    del event
    assert eventually(lambda: gone() is None)


def test_an_owner_of_a_context_is_kept_once_and_lives_as_long_as_it(peer):
    owner = Owner()
    before = sys.getrefcount(owner)
    contexts = [usmpy.Context.from_native("opencl", peer.context, owner=owner) for _ in range(5)]
    assert sys.getrefcount(owner) == before + 1
    gone = weakref.ref(owner)
    del owner
    queue = usmpy.Queue(contexts[0].devices[0], context=contexts[0])
    contexts.clear()
    gc.collect()
    assert gone() is not None
    del queue
    assert eventually(lambda: gone() is None)


def test_an_owner_is_dropped_where_adoption_fails(peer):
    owner = Owner()
    before = sys.getrefcount(owner)
    for kind in (usmpy.Queue, usmpy.Context):
        with pytest.raises(usmpy.UsmError):
            kind.from_native("opencl", 4096, owner=owner)
    with pytest.raises(ValueError, match="address is 0"):
        usmpy.USMArray.from_pointer(0, 1, queue=usmpy.Queue("host"), owner=owner)
    assert sys.getrefcount(owner) == before


CYCLES = """
import gc, resource, usmpy

def use(handle, context, n):
    for i in range(n):
        queue = usmpy.Queue.from_native("opencl", handle, owner=object())
        assert usmpy.Context.from_native("opencl", context) == queue.context
        if i % 100 == 0:
            x = usmpy.zeros(100, dtype="int32", queue=queue)
            assert usmpy.USMArray.from_pointer(
                x.data_ptr, 100, "int32", queue=queue, usm_type=x.usm_type, owner=x
            ).tolist() == [0] * 100

devices = usmpy.get_devices("opencl")
assert devices
for device in devices:
    root = usmpy.Queue(device, context=usmpy.Context(device))
    use(root.native_handle, root.context.native_handle, 2_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    use(root.native_handle, root.context.native_handle, 10_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2_000, f"{device}: {grown} KiB in 10,000 cycles"
print("ok")
"""


@pytest.mark.not_sanitized("memory that was freed is kept there for a while")
def test_memory_is_flat_over_many_adoptions():
    package = pathlib.Path(usmpy.__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", CYCLES],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": str(package)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


# Memory.


def test_svm_of_pyopencl_becomes_an_array(peer):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    memory = peer.svm(4000)
    cl.enqueue_svm_memfill(peer.queue, memory, np.float32(2))
    x = usmpy.USMArray.from_pointer(
        memory.svm_ptr, (10, 100), "float32", queue=queue, usm_type="shared", owner=memory
    )
    assert (x.data_ptr, x.usm_type, x.queue, x.flags.writable) == (memory.svm_ptr, "shared", queue, True)
    assert set(x.asnumpy().ravel().tolist()) == {2.0}  # behind their fill
    x[:, 1:3] = 7
    total = usmpy.astype(x, "float64").asnumpy().sum()
    result = np.empty((10, 100), np.float32)
    cl.enqueue_copy(peer.queue, result, memory)
    assert total == result.sum() == 2 * 980 + 7 * 20


def test_the_owner_of_memory_goes_after_the_last_array_and_task(peer):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    memory, owner = peer.svm(400), Owner()
    gone = weakref.ref(owner)
    x = usmpy.USMArray.from_pointer(memory.svm_ptr, 100, "int32", queue=queue, usm_type="shared", owner=owner)
    del owner
    view = x[1:]
    gate = peer.gate()
    event = queue.fill(view, 3)
    del x, view
    gc.collect()
    assert gone() is not None
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()
    assert eventually(lambda: gone() is None)


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_the_driver_is_asked_for_the_kind_where_it_can_tell(peer, kind):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    x = usmpy.zeros(1 << 21, dtype="uint8", usm_type=kind, queue=queue)  # beyond the pool's blocks

    def adopt(address, n, **more):
        return usmpy.USMArray.from_pointer(address, n, "uint8", queue=queue, owner=x, **more)

    y = adopt(x.data_ptr + 8, 100, usm_type=kind)
    assert (y.usm_type, y.data_ptr) == (kind, x.data_ptr + 8)
    assert adopt(x.data_ptr, 100).usm_type == kind  # also SVM, of which no driver can be asked
    other = "host" if kind == "device" else "device"
    with pytest.raises(ValueError, match=f"usm_type is '{other}', and 0x[0-9a-f]+ is {kind} memory"):
        adopt(x.data_ptr, 100, usm_type=other)
    for address, n, strides in ((0, x.size + 1, 1), (x.size - 1, 2, 1), (3, 5, -1), (0, 3, x.size // 2)):
        with pytest.raises(ValueError, match=f"of an allocation of {x.size} bytes"):
            adopt(x.data_ptr + address, n, strides=strides)
    assert adopt(x.data_ptr + 4, 5, strides=-1).tolist() == [0] * 5
    elsewhere = usmpy.Queue(queue.device)
    if usmpy.memory_connection(x, elsewhere) is not usmpy.MemoryConnection.UNIFIED:
        with pytest.raises(ValueError, match="cannot use in place"):
            usmpy.USMArray.from_pointer(x.data_ptr, 100, "uint8", queue=elsewhere)


def test_svm_needs_an_explicit_kind(peer):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    memory = peer.svm(400)
    with pytest.raises(ValueError, match="give usm_type"):
        usmpy.USMArray.from_pointer(memory.svm_ptr, 100, "uint8", queue=queue, owner=memory)


def test_layout_and_flags_are_as_given():
    memory = np.arange(24, dtype="int32")
    queue = usmpy.Queue("host")

    def adopt(index, shape, **more):
        return usmpy.USMArray.from_pointer(
            memory.ctypes.data + 4 * index, shape, "int32", queue=queue, owner=memory, **more
        )

    assert adopt(0, (2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert adopt(1, (2, 3), strides=(1, 4)).tolist() == [[1, 5, 9], [2, 6, 10]]
    assert adopt(23, 4, strides=(-2,)).tolist() == [23, 21, 19, 17]
    assert adopt(0, 2).usm_type == "host"
    assert adopt(0, 2, usm_type="shared").usm_type == "shared"
    x = adopt(5, 2, readonly=True)
    assert not x.flags.writable
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    adopt(5, 2)[...] = 70
    assert memory[4:8].tolist() == [4, 70, 70, 7]
    assert usmpy.USMArray.from_pointer(0, (0, 3), queue=queue).shape == (0, 3)
    assert usmpy.USMArray.from_pointer(memory.ctypes.data, (), "int32", queue=queue).item() == 0


class Exporter:
    """Memory with the interface that SYCL libraries share."""

    def __init__(self, array, syclobj, **more):
        self.array = array
        self.interface = {
            "version": 1,
            "data": (array.data_ptr, False),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": "<f4",
            "offset": 0,
            "syclobj": syclobj,
            **more,
        }

    @property
    def __sycl_usm_array_interface__(self):
        return self.interface


@pytest.mark.parametrize("which", ["queue", "device", "context"])
def test_asarray_takes_the_interface_of_sycl(peer, which):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    x = usmpy.reshape(usmpy.arange(12, dtype="float32", queue=queue), (3, 4))
    x.wait()
    exporter = Exporter(x.T, getattr(x, which))
    y = usmpy.asarray(exporter)
    assert (y.data_ptr, y.shape, y.strides, y.context) == (x.data_ptr, (4, 3), (1, 4), x.context)
    assert y.tolist() == x.T.tolist()
    gone = weakref.ref(exporter)
    del exporter
    assert gone() is not None
    del y
    assert eventually(lambda: gone() is None)
    part = usmpy.asarray(Exporter(x, queue, data=(x.data_ptr, True), offset=5, shape=(2,), strides=None))
    assert (part.tolist(), part.flags.writable) == ([5, 6], False)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"syclobj": object()}, BufferError, "'syclobj'"),
        ({"typestr": ">f4"}, BufferError, "typestr"),
        ({"typestr": "<f3"}, BufferError, "typestr"),
        ({"typestr": 4}, BufferError, "typestr"),
        ({"data": 5}, BufferError, "'data'"),
        ({"data": ("x", False)}, TypeError, "address"),
        ({"data": (0, False)}, BufferError, "address is 0"),
        ({"shape": "abc"}, TypeError, "shape"),
        ({"strides": (1, 2)}, ValueError, "strides has 2 entries"),
        ({"offset": 2**62}, BufferError, "'offset'"),
    ],
)
def test_a_wrong_interface_is_refused(change, error, words):
    x = usmpy.arange(4, dtype="float32", device="host")
    with pytest.raises(error, match=words):
        usmpy.asarray(Exporter(x, **{"syclobj": "host", **change}))
    for missing in ("data", "shape", "typestr", "syclobj"):
        exporter = Exporter(x, "host")
        del exporter.interface[missing]
        with pytest.raises(BufferError, match=f"no '{missing}'"):
            usmpy.asarray(exporter)


# What is refused.


def handles(peer):
    """Numbers that are no handle, and handles of something else."""
    return {
        "small": 8,
        "odd": peer.queue.int_ptr + 1,
        "unmapped": 1 << 46,
        "python object": id(peer),
        "device": peer.device.int_ptr,
        "platform": peer.device.platform.int_ptr,
    }


@pytest.mark.parametrize("kind", ["Queue", "Context", "Device"])
def test_invalid_handles_raise_a_named_error(peer, kind):
    adopt = getattr(usmpy, kind).from_native
    wrong = handles(peer)
    wrong["context"] = peer.context.int_ptr
    if kind == "Context":
        del wrong["context"]
    if kind == "Device":
        del wrong["device"]
    for what, handle in wrong.items():
        with pytest.raises(usmpy.UsmError) as caught:
            adopt("opencl", handle)
        if kind == "Device":
            assert isinstance(caught.value, usmpy.DeviceNotFound), what
        else:
            name = {"Queue": "CL_INVALID_COMMAND_QUEUE", "Context": "CL_INVALID_CONTEXT"}[kind]
            assert (caught.value.name, caught.value.backend) == (name, "opencl"), what
    for handle in (0, -1, 1 << 64):
        with pytest.raises(ValueError, match="handle is"):
            adopt("opencl", handle)
    for handle in (None, "x", 1.5, types.SimpleNamespace(int_ptr="x")):
        with pytest.raises(TypeError, match="handle is a"):
            adopt("opencl", handle)


@pytest.mark.parametrize("kind", ["Queue", "Context", "Device"])
def test_other_backends_are_refused(kind):
    adopt = getattr(usmpy, kind).from_native
    for backend, error, words in (
        ("host", ValueError, "no native objects"),
        ("metal", ValueError, "'opencl', 'level_zero' or 'cuda'"),
        (None, TypeError, "backend is a NoneType"),
    ):
        with pytest.raises(error, match=words):
            adopt(backend, 4096)
    with pytest.raises(TypeError, match="handle"):
        adopt("opencl")


@pytest.mark.parametrize(
    ("address", "shape", "more", "error", "words"),
    [
        (0, 1, {}, ValueError, "address is 0"),
        (-8, 1, {}, ValueError, "no address"),
        (1 << 64, 1, {}, ValueError, "no address"),
        ("x", 1, {}, TypeError, "address is 'x'"),
        (4097, 1, {}, ValueError, "not aligned to the 4 bytes"),
        (4096, -1, {}, ValueError, "lengths must be 0 or more"),
        (4096, (1 << 40, 1 << 40), {}, ValueError, "shape"),
        (4096, 3, {"strides": (1, 1)}, ValueError, "strides has 2 entries but shape has 1"),
        (4096, 3, {"strides": "x"}, TypeError, "strides is"),
        (4096, 3, {"strides": 1 << 62}, ValueError, "beyond any address"),
        (4096, 3, {"usm_type": "managed"}, ValueError, "usm_type is"),
        (4096, 3, {"readonly": 1}, TypeError, "readonly is 1"),
        (4096, 3, {"queue": "host"}, TypeError, "queue is a str"),
        (4096, 3, {"dtype": "float4_e2m1fn", "strides": 1}, ValueError, "strides must be None"),
    ],
)
def test_pointers_that_cannot_be_are_refused(address, shape, more, error, words):
    with pytest.raises(error, match=words):
        usmpy.USMArray.from_pointer(
            address, shape, **{"dtype": "float32", "queue": usmpy.Queue("host"), **more}
        )
    with pytest.raises(TypeError, match="queue"):
        usmpy.USMArray.from_pointer(4096, 1)


def test_lend_is_ordered_after_a_host_task(peer):
    """The driver knows nothing of it yet: the loan begins when it has ended."""
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    x = usmpy.zeros(4, dtype="float32", queue=queue)
    x.wait()
    go = threading.Event()

    def late(target):
        go.wait(60)
        np.from_dlpack(target)[...] = 7

    queue.host_task(late, x)
    queue.memcpy(x, x)  # and what the driver could do, but for that task
    once_asleep(go.set)
    with x.lend(queue) as pointer:
        assert go.is_set()
        launch(peer.queue, peer.kernel(), pointer, 4, 1)
    assert x.tolist() == [8] * 4


def test_a_loan_waits_for_nothing_that_the_driver_has(peer):
    queue = usmpy.Queue.from_native("opencl", peer.queue)
    x = usmpy.zeros(4, dtype="float32", queue=queue)
    x.wait()
    gate = peer.gate()
    filled = queue.fill(x, 5)
    with x.lend(queue) as pointer:
        assert not filled.done
        launch(peer.queue, peer.kernel(), pointer, 4, 1)
    gate.set_status(0)
    assert x.tolist() == [6] * 4


# The page for users.

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "interop-opencl.md"


def test_the_examples_of_the_page_run(peer, monkeypatch):
    monkeypatch.setenv("PYOPENCL_CTX", str(cl.get_platforms().index(peer.device.platform)))
    blocks = PAGE.read_text().split("```python\n")[1:]
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(compile(block.split("```")[0], PAGE.name, "exec"), names)
    assert names["queue"].device.native_handle == peer.device.int_ptr
    names.clear()
    gc.collect()


def test_a_queue_on_the_device_is_refused(peer):
    """It takes work from kernels alone."""
    if "Intel" not in peer.device.platform.name:
        pytest.skip("PoCL ends the process where it is asked for one")
    flags = cl.command_queue_properties
    properties = flags.ON_DEVICE | flags.OUT_OF_ORDER_EXEC_MODE_ENABLE
    theirs = cl.CommandQueue(peer.context, properties=[cl.queue_properties.PROPERTIES, properties])
    with pytest.raises(ValueError, match="is a queue on the device"):
        usmpy.Queue.from_native("opencl", theirs)


def test_several_owners_of_a_context_live_as_long_as_it(peer):
    owners = [Owner() for _ in range(4)]
    contexts = [usmpy.Context.from_native("opencl", peer.context, owner=owner) for owner in owners]
    gone = [weakref.ref(owner) for owner in owners]
    owners.clear()
    gc.collect()
    assert None not in [reference() for reference in gone]
    contexts.clear()
    assert eventually(lambda: [reference() for reference in gone] == [None] * 4)
