"""The heap of C: blocks that no Python object stands for, and that no count of live objects has."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable

import cuda_drivers
import pytest


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
