"""Lists that calls make for themselves: the heap of C stays flat where a call is refused, or has to wait."""

import ctypes
import os
import tempfile

import cuda_drivers
import pytest
from backends import Absent, cuda

import usmpy

ROUNDS = 100

pytestmark = [
    pytest.mark.leaves_objects("queues of devices are cached"),
    pytest.mark.not_sanitized("its heap is another"),
]


class Mallinfo(ctypes.Structure):
    """struct mallinfo2 of malloc.h (glibc 2.33): ten numbers, of which the eighth are the bytes in use."""

    _fields_ = [("numbers", ctypes.c_size_t * 10)]


@pytest.fixture(scope="module")
def used():
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("the C library does not tell (glibc 2.33 does)")
    mallinfo.restype = Mallinfo
    if not os.environ.get("USMPY_CUDA_LIBRARY", "").startswith(tempfile.gettempdir()):
        return lambda: mallinfo().numbers[7]
    handles = ctypes.CDLL(str(cuda_drivers.library())).cudasim_handles  # which that driver never frees
    handles.restype = ctypes.c_ulonglong
    return lambda: mallinfo().numbers[7] - handles()


@pytest.fixture(scope="module")
def gpu():
    try:
        return cuda(0)()
    except Absent as absent:
        pytest.skip(str(absent))


def least_growth(used, call):
    for _ in range(20):
        call()
    sizes = []
    for _ in range(5):  # pools grow now and then; a leak is there each time
        before = used()
        for _ in range(ROUNDS):
            call()
        sizes.append(used() - before)
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

    def call():
        queue.fill(x, 1)  # still runs, in most rounds
        capsule = x.__dlpack__(stream=handle)
        queue.wait()
        other.wait()
        del capsule

    assert least_growth(used, call) < 8 * ROUNDS
