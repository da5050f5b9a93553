"""Single answers of backends: names, addresses and values that arrive, each in one short case."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading

import level_zero_drivers
import level_zero_processes
import pytest
from backends import Absent, cuda

import usmpy

PATIENCE = 60

pytestmark = pytest.mark.leaves_objects("queues of devices are cached")


@pytest.fixture
def gpu():
    try:
        return cuda(0)()
    except Absent as absent:
        pytest.skip(str(absent))


def test_the_platform_of_cuda(gpu):
    platform = gpu.platform
    assert (platform.name, platform.vendor) == ("NVIDIA CUDA", "NVIDIA Corporation")


def test_all_local_memory_of_cuda_may_be_asked_for(gpu):
    source = "kernel void f(global int *x, local int *t) { x[0] = 7; }"
    kernel = usmpy.Program(source, device=gpu)["f"]
    x = usmpy.zeros(4, dtype="int32", device=gpu)
    kernel[usmpy.NdRange((4,), (4,))](x, usmpy.LocalMemory(gpu.local_mem_size)).wait(PATIENCE)
    assert x[0].item() == 7


def test_a_handle_of_memory_in_use_leaves_the_thread_s_context_alone(gpu):
    driver = ctypes.CDLL(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1"))
    x = usmpy.share(usmpy.zeros(1 << 22, dtype="uint8", device=gpu))
    found = []

    def current():
        context = ctypes.c_void_p()
        driver.cuCtxGetCurrent(ctypes.byref(context))
        return context.value

    def handles():
        for _ in range(10):  # the work still runs, in most rounds
            x.queue.fill(x, 1)
            x.get_ipc_handle().close()
        found.append(current())

    thread = threading.Thread(target=handles)  # a new thread has none
    thread.start()
    thread.join(PATIENCE)
    assert found == [None]


def test_memory_that_nobody_used_has_no_stream_to_wait_for(gpu):
    queue = usmpy.Queue(gpu, context=usmpy.Context(gpu))
    x = usmpy.empty(100, dtype="int32", queue=queue)
    assert x.__cuda_array_interface__["stream"] is None


@pytest.mark.parametrize(
    ("word", "value"), [("int8", -1), ("int16", -2), ("int32", -3), ("int32", -(2**31)), ("int32", 5)]
)
def test_small_integers_fill_their_register_with_the_sign(word, value):
    got = []
    # The function reads the whole register, as code does that relies on the caller's extension.
    made = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int64)(
        lambda begin, end, wide: got.append(wide)
    )
    kernel = usmpy.Kernel.from_pointer(ctypes.cast(made, ctypes.c_void_p).value, (word,), owner=made)
    usmpy.Device("host").queue.submit(kernel, (value,), 1).wait(PATIENCE)
    assert got == [value]


def test_blocks_of_opencl_are_aligned():
    devices = usmpy.get_devices("opencl")
    if not devices:
        pytest.skip("no device of OpenCL")
    for device in devices:
        for kind in ("device", "shared", "host"):
            with contextlib.suppress(ValueError):  # the device has no such memory
                sizes = range(4096, 40_000, 640)
                x = [usmpy.empty(n, dtype="uint8", device=device, usm_type=kind) for n in sizes]
                assert [a.data_ptr % 256 for a in x] == [0] * len(x)


def test_the_lowest_descriptor_may_be_a_copy():
    x = usmpy.share(usmpy.arange(10, device="host"))
    first = x.get_ipc_handle()
    kept = os.dup(0)
    os.close(0)
    try:
        second = x.get_ipc_handle()  # one of its descriptors is 0 now
        assert second.open()[9].item() == 9
        second.close()
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    first.close()


@pytest.mark.skipif(level_zero_drivers.LIBRARY is None, reason=level_zero_drivers.ABSENT or "built")
def test_a_context_of_level_zero_without_memory_is_closed(tmp_path):
    script = "import usmpy; print(usmpy.get_devices('level_zero')[0].context)"
    done = level_zero_processes.alone(["-c", script], tmp_path / "report")
    assert done.returncode == 0, done.stdout


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


def test_vectors_of_opencl_are_bytes_of_their_size():
    devices = usmpy.get_devices("opencl")
    if not devices:
        pytest.skip("no device of OpenCL")
    source = "kernel void f(global int *x, float2 a, char3 b, short16 c, int4 d) { x[0] = a.x; }"
    kernel = usmpy.Program(source, device=devices[0], language="opencl")["f"]
    assert kernel.parameters == ("int32*", "bytes[8]", "bytes[4]", "bytes[32]", "bytes[16]")
