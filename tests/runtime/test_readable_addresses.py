"""Handles of other libraries are addresses: what cannot be read is refused, and never read."""

import ctypes
import mmap

import pytest

import usmpy

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

pytestmark = pytest.mark.leaves_objects("queues of devices are cached")


@pytest.fixture
def reserved():
    """A page that is there, and that nobody may read."""
    page = LIBC.mmap(None, mmap.PAGESIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    yield page
    LIBC.munmap(page, mmap.PAGESIZE)


@pytest.mark.parametrize("kind", ["Queue", "Context"])
@pytest.mark.parametrize("interface", ["opencl", "level_zero", "cuda"])
def test_memory_that_may_not_be_read(interface, kind, reserved):
    try:
        found = usmpy.get_devices(interface)
    except usmpy.UsmError:
        found = []
    if not found:
        pytest.skip(f"there is no device of {interface}")
    with pytest.raises((usmpy.UsmError, ValueError)):
        getattr(usmpy, kind).from_native(interface, reserved)
