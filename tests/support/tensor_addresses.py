"""Addresses of DLPack tensors, which cross interpreters as numbers. Sub-interpreters import this too."""

from __future__ import annotations

import ctypes

_get = ctypes.pythonapi.PyCapsule_GetPointer
_get.restype, _get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_set = ctypes.pythonapi.PyCapsule_SetName
_set.argtypes = (ctypes.py_object, ctypes.c_char_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_NAME, _USED = b"dltensor_versioned", b"used_dltensor_versioned"


def tensor_of(array) -> int:
    """Export an array: the address of a tensor, which the receiver owns."""
    capsule = array.__dlpack__(max_version=(1, 3))
    address = _get(capsule, _NAME)
    _set(capsule, _USED)
    return address


class Tensor:
    """The tensor at an address on the host, for `from_dlpack`."""

    def __init__(self, address: int):
        self.address = address

    def __dlpack__(self, **_options) -> object:
        address, self.address = self.address, None
        return _new(address, _NAME, None)  # once: the consumer owns the tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0
