"""Lists that calls make for themselves: the heap of C stays flat where a call is refused, or has to wait."""

import ctypes
import os

import c_heap
import pytest
from backends import Absent, cuda

import usmpy

ROUNDS = 100

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("its heap is another"),
]


@pytest.fixture(scope="module")
def used():
    return c_heap.bytes_in_use()


@pytest.fixture(scope="module")
def gpu():
    try:
        return cuda(0)()
    except Absent as absent:
        pytest.skip(str(absent))


def least_growth(used, call, rounds=ROUNDS):
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

    assert least_growth(used, call) < 8 * ROUNDS


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
        assert least_growth(used, usmpy.live_allocations) < 8 * ROUNDS
    finally:
        usmpy.track_allocations(before)
