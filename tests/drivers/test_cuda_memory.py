"""Memory of CUDA that is not in use: what trim() gives to others. On a GPU, or the driver in software."""

import ctypes
import gc
import os

import pytest

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
