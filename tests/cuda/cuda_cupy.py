"""CuPy 14 as usmpy meets it, over the driver in software.

Its arrays are worked on in the calling thread's current stream of each device, which a C function of
``cupy_backends.cuda.stream`` tells; ``__dlpack__`` divides strides in bytes by a size_t, so that those of
reversed arrays come out modulo 2**64.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import types

import cuda_peers
import numpy as np
import producers
from cuda_peers import LEGACY

MODULE = "cupy_backends.cuda.stream"


class Capi:
    """The module with the C function, while it is there. `asked` has the devices that it was asked for."""

    def __init__(self, peer, name="get_stream_ptr", signature=b"intptr_t (int)"):
        self.asked = []

        @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int)
        def get_stream_ptr(device):
            self.asked.append(device)
            stream = peer.stream(device)
            return 0 if stream == LEGACY else stream

        self.function = get_stream_ptr
        self.module = types.ModuleType(MODULE)
        self.module.__pyx_capi__ = {
            name: producers.api.PyCapsule_New(
                producers.function_pointer(get_stream_ptr), producers.static_name(signature), None
            )
        }

    @contextlib.contextmanager
    def loaded(self):
        sys.modules[MODULE] = self.module
        try:
            yield self
        finally:
            del sys.modules[MODULE]


def array_type():
    """A new class: what is known of a type is remembered with it."""

    class ndarray(cuda_peers.Array):
        """Over all or a part of the memory of `cuda_peers.Peer.array`; `shape` and `strides` in bytes."""

        dtype, shape, strides, offset = np.dtype("int8"), None, None, 0

        def view(self, array, base):
            """As NumPy's `array` lies in `base`."""
            view = type(self)(self.peer, self.address, self.n, self.device, self.kind)
            view.dtype, view.shape, view.strides = array.dtype, array.shape, array.strides
            view.offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            return view

        def dlpack(self, *, stream=None, max_version=None, dl_device=None, copy=None):
            self.calls.append(("dlpack", stream))
            driver = self.peer.driver
            if stream not in (-1, self.stream):
                with driver.on(self.device):
                    driver.wait_for(LEGACY if stream is None else stream, self.stream)
            shape = (self.n,) if self.shape is None else self.shape
            size = self.dtype.itemsize
            told = [size] if self.shape is None else self.strides
            tensor = producers.Tensor(
                shape,
                {"i": (0,), "f": (2,), "c": (5,)}[self.dtype.kind] + (8 * size, 1),
                strides=[ctypes.c_int64(stride % 2**64 // size).value for stride in told],
                data=self.address + self.offset,
                memory=0,
                device=self.dlpack_device,
                versioned=max_version is not None,
            )
            self.tensors.append(tensor)
            return tensor.capsule()

        __dlpack__ = cuda_peers._Call(dlpack)

        def __dlpack_device__(self):
            self.calls.append("device")
            return self.dlpack_device

        @property
        def __cuda_array_interface__(self):
            self.calls.append("interface")
            return {
                "shape": (self.n,) if self.shape is None else self.shape,
                "strides": self.strides,
                "typestr": self.dtype.str,
                "descr": [("", self.dtype.str)],
                "data": (self.address + self.offset, False),
                "version": 3,
                "stream": self.stream,
            }

    ndarray.__module__ = "cupy"
    return ndarray
