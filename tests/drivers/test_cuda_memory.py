"""Memory of CUDA that is not in use: what trim() gives to others. On a GPU, or the driver in software."""

import ctypes
import gc
import os
import threading

import pytest
from backends import Absent, cuda

import usmpy

DEVICES = usmpy.get_devices("cuda")
pytestmark = [pytest.mark.leaves_objects("queues of devices are cached")]
if not DEVICES:
    pytestmark.append(pytest.mark.skip(reason="no CUDA device, and no driver in software"))


@pytest.fixture
def free():
    """Free bytes of the first device, as the driver counts them."""
    driver = ctypes.CDLL(os.environ.get("USMPY_CUDA_LIBRARY", "libcuda.so.1"))
    context = ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0

    def ask() -> int:
        left, total = ctypes.c_size_t(), ctypes.c_size_t()
        assert driver.cuCtxPushCurrent_v2(context) == 0
        code = driver.cuMemGetInfo_v2(ctypes.byref(left), ctypes.byref(total))
        assert driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p())) == 0
        assert code == 0
        return left.value

    yield ask
    driver.cuDevicePrimaryCtxRelease_v2(0)


@pytest.mark.parametrize("everything", [False, True])
def test_trim_returns_the_drivers_pool(free, everything):
    device = DEVICES[0]
    size = device.global_mem_size // 8  # more than usmpy's own pool keeps
    gc.collect()
    others = usmpy.memory_stats(device)["device"]["in_use"]  # tracebacks of earlier tests hold arrays
    big = usmpy.empty(size, dtype="uint8", device=device)
    device.queue.wait()
    with_it = free()
    del big
    device.queue.wait()
    assert usmpy.memory_stats(device)["device"]["in_use"] <= others
    usmpy.trim(None if everything else device)
    assert free() >= with_it + size // 2  # other processes may test on the same GPU


PATIENCE = 60


@pytest.fixture
def gpu():
    try:
        return cuda(0)()
    except Absent as absent:
        pytest.skip(str(absent))


@pytest.mark.leaves_objects("queues of devices are cached")
def test_the_platform_of_cuda(gpu):
    platform = gpu.platform
    assert (platform.name, platform.vendor) == ("NVIDIA CUDA", "NVIDIA Corporation")


@pytest.mark.leaves_objects("queues of devices are cached")
def test_all_local_memory_of_cuda_may_be_asked_for(gpu):
    source = "kernel void f(global int *x, local int *t) { x[0] = 7; }"
    kernel = usmpy.Program(source, device=gpu)["f"]
    x = usmpy.zeros(4, dtype="int32", device=gpu)
    kernel[usmpy.NdRange((4,), (4,))](x, usmpy.LocalMemory(gpu.local_mem_size)).wait(PATIENCE)
    assert x[0].item() == 7


@pytest.mark.leaves_objects("queues of devices are cached")
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


@pytest.mark.leaves_objects("queues of devices are cached")
def test_memory_that_nobody_used_has_no_stream_to_wait_for(gpu):
    queue = usmpy.Queue(gpu, context=usmpy.Context(gpu))
    x = usmpy.empty(100, dtype="int32", queue=queue)
    assert x.__cuda_array_interface__["stream"] is None
