"""Calls that the driver refuses once: the error names the function, and the next attempt works.

Each test has a process of its own, since a failure may leave a device without its context.
"""

from __future__ import annotations

import textwrap

import another
import cuda_drivers
import pytest

import usmpy

START = """
import ctypes, gc, os, resource, sys
import numpy as np
from another import in_child, said
import usmpy
sim = ctypes.CDLL(os.environ["USMPY_CUDA_LIBRARY"])
sys.excepthook = lambda *error: (sim.cudasim_hold(0), sys.__excepthook__(*error))  # the exit waits for work
device = usmpy.Device("cuda:gpu:0")

def refused(name, code, call, kind, words):
    '''The next call of the driver's function returns the code; then the same call works.'''
    for _ in range(20):  # a thread that polls may have made the driver's call
        usmpy.trim()  # the one that gives back has nothing to do
        assert sim.cudasim_fail(name.encode(), 1, code) == 0
        try:
            call()
        except kind as error:
            assert words in str(error), error
            break
        finally:
            sim.cudasim_fail(name.encode(), 0, 0)
    else:
        raise AssertionError(f"{name} was not called, or its failure was not raised")
    return call()
"""


def run(script, start=START, **settings):
    # A stored program that the driver refuses is built again; here each build makes its calls.
    environment = {**cuda_drivers.environment(**settings), "USMPY_CACHE": "0"}
    return another.run(start + textwrap.dedent(script), environment)


@pytest.mark.parametrize("name", ["cuDeviceGetCount", "cuDeviceGet"])
def test_a_driver_that_cannot_list_its_devices_is_reported(name):
    said = run("import usmpy; print(usmpy.diagnose())", start="", fail=f"{name}:1:999")
    assert f"\ncuda: broken: {name} failed with CUDA_ERROR_UNKNOWN (999)" in said


def test_a_device_without_a_name_or_a_uuid_has_others():
    run(
        """
        first, second = usmpy.get_devices("cuda")
        assert first.name == "NVIDIA device 0", first.name
        assert first.uuid != second.uuid
        assert usmpy.arange(3, device=first).tolist() == [0, 1, 2]
        """,
        fail="cuDeviceGetName:1:999,cuDeviceGetUuid:1:999",
    )


def test_the_first_uses_of_a_device():
    """What a device has once: its context, its pool and that pool's stream, memory for small copies."""
    run(
        """
        other = usmpy.Device("cuda:gpu:1")
        refused("cuMemHostAlloc", 2, lambda: usmpy.Context(other), MemoryError, "cuMemHostAlloc failed")
        refused("cuDevicePrimaryCtxRetain", 999, lambda: usmpy.Context(device), usmpy.UsmError, "(999)")
        queue = usmpy.Queue(device)
        for number, name in enumerate(("cuStreamCreateWithPriority", "cuMemPoolCreate")):
            fresh = usmpy.Queue(f"cuda:gpu:{number}")
            x = refused(name, 999, lambda: usmpy.zeros(9, queue=fresh), usmpy.UsmError, "(999)")
            assert x.tolist() == [0] * 9
        x = usmpy.asarray(np.arange(10), queue=queue)
        assert x.tolist() == list(range(10))
        """
    )


def test_a_context_that_the_driver_does_not_make_current():
    run(
        """
        queue = usmpy.Queue(device)
        x = usmpy.arange(10, dtype="int32", queue=queue)
        shared = usmpy.share(x)
        source = "kernel void f(global int *x) { x[get_global_id(0)] += 1; }"
        program = usmpy.Program(source, device=device)
        queue.wait()
        for call in (
            lambda: usmpy.Program(source.replace("1", "2"), device=device),
            lambda: program["f"],
            lambda: usmpy.Context(device),
            lambda: usmpy.Queue(device),
            lambda: usmpy.Queue.from_native("cuda", 1),
            lambda: queue.wait_for(1),
            lambda: usmpy.empty(1 << 22, queue=queue),
            lambda: usmpy.share(x),
            lambda: queue.memcpy(x, shared),
            lambda: queue.memcpy(bytearray(40), x).wait(),
        ):
            refused("cuCtxPushCurrent", 999, call, usmpy.UsmError, "cuCtxPushCurrent failed")
        assert x.tolist() == shared.tolist() == list(range(10))
        """
    )


def test_programs_and_launches():
    run(
        """
        source = '''
        extern "C" __global__ void turn(int *x)
        {
            extern __shared__ int t[];
            t[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
        }
        '''
        for code, kind in ((2, MemoryError), (999, usmpy.UsmError)):
            build = lambda: usmpy.Program(source + " " * code, device=device, language="cuda")
            program = refused("cuModuleLoadDataEx", code, build, kind, "cuModuleLoadDataEx failed")
        refused("cuModuleGetFunction", 500, lambda: program["turn"], KeyError, "no kernel 'turn'")
        x = usmpy.arange(64, dtype="int32", device=device)
        space, local = usmpy.NdRange(64, 64), usmpy.LocalMemory(50 << 10)
        launch = lambda: program["turn"][space](x, local).wait()
        refused("cuFuncSetAttribute", 999, launch, usmpy.UsmError, "cuFuncSetAttribute failed")
        assert x.tolist() == list(range(64))[::-1]
        """
    )


def test_codes_of_a_capture_are_no_failures_of_the_device():
    """While any stream is captured, the driver refuses functions that may synchronize."""
    run(
        """
        x = usmpy.zeros(64, dtype="int32", device=device)
        x.wait()
        empty = lambda: usmpy.empty(1 << 22, device=device)
        empty = lambda: usmpy.empty(1 << 22, device=device)
        refused("cuMemAllocFromPoolAsync", 900, empty, BufferError, "captured")
        for name in ("cuEventQuery", "cuStreamQuery"):
            sim.cudasim_fail(name.encode(), 1, 900)
            event = device.queue.fill(x, 3)
            event.wait()
            x.queue.wait()
            sim.cudasim_fail(name.encode(), 0, 0)
        assert x.tolist() == [3] * 64
        """
    )


def test_a_handle_for_other_processes_is_not_made_during_a_capture():
    """Its event would become a part of the graph."""
    run(
        """
        x = usmpy.share(usmpy.zeros(64, dtype="int32", device=device))
        x.wait()
        stream, graph = ctypes.c_void_p(x.queue.native_handle), ctypes.c_void_p()
        assert sim.cuCtxPushCurrent_v2(ctypes.c_void_p(device.context.native_handle)) == 0
        sim.cudasim_hold(1)
        x.fill(3)
        assert sim.cuStreamBeginCapture_v2(stream, 2) == 0
        assert "captured into a graph" in said(x.get_ipc_handle, BufferError)
        assert sim.cuStreamEndCapture(stream, ctypes.byref(graph)) == 0
        assert sim.cuGraphDestroy(graph) == 0
        sim.cudasim_hold(0)
        assert x.tolist() == [3] * 64
        x.get_ipc_handle().close()
        """
    )


def test_a_context_that_another_library_lost():
    """The first call that meets it says what happened, and later ones that it is lost."""
    run(
        """
        queue = usmpy.Queue(device)
        x = usmpy.zeros(64, dtype="int32", queue=queue)
        program = usmpy.Program("kernel void f(global int *x) { x[0] = 1; }", device=device)
        x.wait()
        stream = usmpy.Queue(device)
        own = usmpy.Queue.from_native("cuda", stream.native_handle)
        queue.wait_for(stream.native_handle)
        sim.cudasim_hold(1)
        event = own.fill(usmpy.empty(64, dtype="int32", queue=own), 1)
        assert not event.done
        sim.cudasim_lose(0, 700)
        sim.cudasim_hold(0)
        assert "(700" in said(lambda: queue.fill(x, 3))
        for call in (
            lambda: queue.fill(x, 3),
            lambda: usmpy.share(x),
            lambda: usmpy.empty(1 << 22, queue=queue),
            lambda: usmpy.Queue.from_native("cuda", 1),
            lambda: program["f"],
        ):
            assert "is lost" in (text := said(call)), text
        said(lambda: event.wait(30))
        del event, own, stream
        gc.collect()
        sim.cudasim_fail(b"cuGetErrorString", 1, 1)
        assert "the driver does not say what that means" in said(lambda: usmpy.Queue(device))
        """
    )


def test_a_copy_by_the_host_whose_context_fails_before_it_begins():
    """It was submitted while the context worked."""
    run(
        """
        import threading
        queue = usmpy.Queue(device)
        x = usmpy.zeros(3_000_000, dtype="int32", queue=queue)
        data = bytearray(x.nbytes)
        x.wait()

        def waiting_copy():
            gate = threading.Event()
            gates.append(gate)
            return queue.memcpy(data, x, depends=[queue.host_task(gate.wait, 30)], blocking=False)

        gates = []
        copy = waiting_copy()
        sim.cudasim_fail(b"cuCtxPushCurrent", 1, 999)
        gates[0].set()
        assert "cuCtxPushCurrent failed" in said(lambda: copy.wait(30))
        said(queue.wait)
        copy = waiting_copy()
        sim.cudasim_lose(0, 700)
        assert "(700)" in said(lambda: usmpy.Queue(device).fill(usmpy.empty(4, device=device), 1))
        gates[1].set()
        assert "lost" in said(lambda: copy.wait(30))
        """
    )


def test_files_that_the_process_may_not_open():
    """Sharing needs several descriptors: however many are left, an error leaves none of them open."""
    run(
        """
        x = usmpy.zeros(64, dtype="int32", device=device)
        usmpy.share(x).wait()
        usmpy.trim()  # it is closed
        opened = lambda: len(os.listdir("/proc/self/fd"))
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        last = os.dup(0)
        os.close(last)
        before = opened()
        failures = 0
        for room in range(8):
            resource.setrlimit(resource.RLIMIT_NOFILE, (last + room, most))
            try:
                y = usmpy.share(x)
                y.wait()
                del y
            except (usmpy.UsmError, MemoryError, BufferError):
                failures += 1
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            gc.collect()
            usmpy.trim()
            assert opened() <= before, (room, opened(), before)
        assert 0 < failures < 8
        assert usmpy.share(x).tolist() == [0] * 64
        """
    )


def test_fences_that_a_capture_refuses_are_recorded_later():
    """The stream is another library's, so that its work has a fence each."""
    run(
        """
        stream = usmpy.Queue(device)
        queue = usmpy.Queue.from_native("cuda", stream.native_handle)
        x = usmpy.zeros(64, dtype="int32", queue=queue)
        x.wait()
        sim.cudasim_fail(b"cuEventRecord", 1, 900)
        queue.fill(x, 3).wait(30)
        sim.cudasim_fail(b"cuEventRecord", 0, 0)
        assert x.tolist() == [3] * 64
        """
    )


def test_the_primary_context_that_another_library_made_first():
    """It becomes ours, and current contexts of others name the device of the default streams."""
    run(
        """
        context, other, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        assert sim.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
        make = lambda: usmpy.Context.from_native("cuda", context.value)
        queue = lambda: usmpy.Queue.from_native("cuda", stream.value)
        assert sim.cuCtxPushCurrent_v2(context) == 0
        assert sim.cuStreamCreate(ctypes.byref(stream), 1) == 0
        for call in (queue, make):  # each asks for the primary contexts of devices
            assert sim.cudasim_fail(b"cuDevicePrimaryCtxRetain", 1, 999) == 0
            assert "cuDevicePrimaryCtxRetain failed" in said(call)
        ours = make()
        assert [each.filter_string for each in ours.devices] == ["cuda:gpu:1"]
        assert ours == usmpy.Device("cuda:gpu:1").context
        assert sim.cuCtxCreate_v4(ctypes.byref(other), None, 0, 1) == 0  # it is current now
        assert usmpy.Queue.from_native("cuda", 1).device.filter_string == "cuda:gpu:1"
        """
    )


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
def test_every_call_of_a_forked_child_names_the_remedy():
    run(
        """
        queue = usmpy.Queue(device)
        x = usmpy.arange(10, dtype="int32", queue=queue)
        shared = usmpy.share(x)
        source = "kernel void f(global int *x) { x[get_global_id(0)] += 1; }"
        program = usmpy.Program(source, device=device)
        own = usmpy.Queue(device)
        foreign = usmpy.Queue.from_native("cuda", own.native_handle)
        event = queue.fill(x, 3)
        foreign.wait()
        queue.wait()
        memory = np.zeros(9, "int32")
        address = memory.ctypes.data

        def child():
            global x, shared, foreign, own
            for call in (
                lambda: usmpy.Program(source.replace("1", "2"), device=device),
                lambda: program["f"],
                lambda: usmpy.Context(device),
                lambda: usmpy.Context(usmpy.Device("cuda:gpu:1")),
                lambda: usmpy.Queue.from_native("cuda", 1),
                lambda: queue.wait_for(own.native_handle),
                lambda: usmpy.USMArray.from_pointer(address, (9,), "int32", queue=queue, owner=memory),
                lambda: usmpy.share(x),
                lambda: shared.get_ipc_handle(),
            ):
                assert "spawn" in said(call, RuntimeError)
            for stream in (own.native_handle, 1):  # all work has ended, so that no call is needed
                x.__dlpack__(stream=stream)
            assert event.done
            del x, shared, foreign, own
            gc.collect()
            usmpy.trim()

        in_child(child)
        assert x.tolist() == [3] * 10
        """
    )


@pytest.mark.parametrize("n", [1, 2])
def test_a_device_whose_peer_s_context_fails_is_no_peer(n):
    """Copies between the two go through the host then."""
    run(
        f"""
        x = usmpy.arange(10, dtype="int32", device=device)
        other = usmpy.Queue("cuda:gpu:1")
        x.wait()
        sim.cudasim_fail(b"cuCtxPushCurrent", {n}, 999)
        assert usmpy.memory_connection(x, other) == usmpy.MemoryConnection.MIGRATABLE
        sim.cudasim_fail(b"cuCtxPushCurrent", 0, 0)
        assert x.to_device(other).tolist() == list(range(10))
        """
    )


@pytest.mark.parametrize("peers", [0, 1])
def test_the_driver_is_asked_once_about_two_devices(peers):
    """By the first call that needs the answer, here a copy; that call does not hold the GIL meanwhile."""
    run(
        """
        def asked():
            return sim.cudasim_calls(b"cuDeviceCanAccessPeer")

        other = usmpy.Queue("cuda:gpu:1")
        x = usmpy.arange(10, dtype="int32", device=device)
        assert asked() == 0
        y = x.to_device(other)
        assert 1 <= asked() <= 2, asked()  # one question a direction
        for _ in range(3):
            assert x.to_device(other).tolist() == y.tolist() == list(range(10))
            usmpy.memory_connection(x, other), usmpy.memory_connection(y, device)
        assert asked() == 2
        """,
        peers=peers,
    )


def test_a_wait_whose_context_the_driver_does_not_make_current():
    """The thread that looks after all queues ends it."""
    run(
        """
        queue = usmpy.Queue(device)
        x = usmpy.zeros(10, dtype="int32", queue=queue)
        x.wait()
        sim.cudasim_hold(1)
        event = queue.fill(x, 3)
        sim.cudasim_fail(b"cuCtxPushCurrent", 1, 999)
        try:
            event.wait(0.001)
        except TimeoutError:
            sim.cudasim_hold(0)
        event.wait(30)
        sim.cudasim_fail(b"cuCtxPushCurrent", 0, 0)
        assert x.tolist() == [3] * 10
        """
    )


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
def test_a_task_that_is_pending_at_a_fork_is_the_parent_s():
    run(
        """
        x = usmpy.zeros(10, dtype="int32", device=device)
        x.wait()
        sim.cudasim_hold(1)
        event = x.queue.fill(x, 3)

        def child():
            assert event.status == "error"
            assert "in the parent" in said(event.wait, RuntimeError)

        in_child(child)
        assert not event.done
        sim.cudasim_hold(0)
        event.wait(30)
        assert x.tolist() == [3] * 10
        """
    )


def test_the_default_stream_of_a_thread_without_a_number():
    """cuStreamGetId fails: the stream is known by its handle and the thread."""
    run(
        """
        queue = usmpy.Queue(device)
        x = usmpy.zeros(10, dtype="int32", queue=queue)
        for stream in (1, 2):
            sim.cudasim_fail(b"cuStreamGetId", 1, 801)
            queue.wait_for(stream)
            sim.cudasim_fail(b"cuStreamGetId", 1, 801)
            x.__dlpack__(stream=stream)
            sim.cudasim_fail(b"cuStreamGetId", 0, 0)
        queue.fill(x, 3)
        assert x.tolist() == [3] * 10
        """
    )


@pytest.mark.parametrize("call", [2, 3])
def test_a_copy_that_is_refused_while_it_is_early_leaves_no_memory(call):
    run(
        f"""
        from another import copy_while_refused
        name, counts = b"cuMemcpyAsync", (ctypes.c_ulonglong * 8)()
        sim.cudasim_calls.restype = ctypes.c_longlong
        copy_while_refused(usmpy.Queue(device), {call}, lambda: sim.cudasim_calls(name),
                           lambda n: sim.cudasim_fail(name, n, 999 if n else 0), sim.cudasim_hold,
                           lambda: (sim.cudasim_counts(counts), counts[1])[1])
        """,
        pools=0,
    )


LENT = """
import producers
reports = []
sys.unraisablehook = lambda args: reports.append(str(args.exc_value))
other = usmpy.Queue(device)
N = 1 << 20

def lent():
    '''The only reference to a block is a loan, whose stream may be destroyed before it ends.'''
    x = usmpy.zeros(N, dtype="int8", queue=device.queue)
    x.wait()
    return producers.take(x.__dlpack__(stream=other.native_handle, max_version=(1, 0)))

def held():
    usmpy.trim()
    return usmpy.memory_stats(device)["held"]

nothing = held()
"""


@pytest.mark.parametrize(("function", "code"), [("cuMemAlloc", 2), ("cuMemAlloc", 999), ("cuMemFree", 999)])
def test_a_device_that_cannot_be_waited_for_keeps_the_block(function, code):
    """The report names the function of the driver that failed."""
    run(
        f"""
        for i in range(2):
            producers.delete(lent())
            assert sim.cudasim_fail(b"{function}", 1, {code}) == 0
            assert held() == nothing + (N if i == 0 or "{function}" == "cuMemFree" else 0)
            assert sim.cudasim_fail(b"{function}", 0, 0) == 0
            assert held() == nothing
            if i == 0:
                gc.collect()
                assert len(reports) == 1, reports
                assert reports[0].startswith("{function} failed with CUDA_ERROR_"), reports
        assert len(reports) == 1, reports
        assert usmpy.arange(3, device=device).tolist() == [0, 1, 2]
        """,
        start=START + LENT,
    )


def test_a_full_device_can_be_waited_for():
    run(
        """
        producers.delete(lent())
        assert held() == nothing  # from here on a wait needs no further memory
        loan, full = lent(), []
        for size in (N, 1 << 10, 1):
            try:
                while True:
                    full.append(usmpy.empty(size, dtype="int8", device=device))
            except MemoryError:
                pass
        producers.delete(loan)
        full.append(usmpy.empty(N, dtype="int8", device=device))
        assert not reports, reports
        """,
        start=START + LENT,
        memory=32 << 20,
    )


def test_every_refusal_of_a_capture_is_of_the_exchange():
    """CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, ISOLATION, IMPLICIT and WRONG_THREAD."""
    run(
        """
        x = usmpy.zeros(4, dtype="int32", device=device)
        for code in range(900, 909):
            kind = BufferError if code in (900, 905, 906, 908) else usmpy.UsmError
            words = "a stream is being captured into a graph" if kind is BufferError else f"({code})"
            refused("cuMemsetD32Async", code, lambda: x.queue.fill(x, 7), kind, words)
            assert x.tolist() == [7] * 4
        """
    )


def test_built_in_kernels_that_the_driver_does_not_load():
    """Where the kernels are at fault, with what the driver says; else with the driver's error alone."""
    run(
        """
        x = usmpy.arange(6, dtype="float32", device=device)
        found, plain = "the driver does not build the kernels ", "cuModuleLoadDataEx failed"
        refused("cuModuleLoadDataEx", 218, lambda: usmpy.sin(x), usmpy.UsmError, found)
        refused("cuModuleLoadDataEx", 2, lambda: usmpy.sort(x), MemoryError, plain)
        refused("cuModuleLoadDataEx", 999, lambda: usmpy.matmul(x, x), usmpy.UsmError, plain)
        """
    )


SIZE = 3_000_001


@pytest.mark.parametrize(
    ("usm_type", "function"), [("host", "cuMemHostAlloc"), ("shared", "cuMemAllocManaged")]
)
def test_the_function_is_named(device, driver, usm_type, function):
    usmpy.trim(device)  # else a block that another test has freed is used again, and the driver is not asked
    with driver.failing(function, 999), pytest.raises(usmpy.UsmError, match=function):
        usmpy.empty(SIZE, dtype="uint8", device=device, usm_type=usm_type)
    assert usmpy.empty(SIZE, dtype="uint8", device=device, usm_type=usm_type).nbytes == SIZE
