"""A library of arrays as small as it can be, which keeps every rule of DLPack on CUDA to the letter.

Its memory comes from the driver's asynchronous pool and goes back there in the stream that was current when
it was made, as in larger libraries. It needs no package, and runs on the driver in software, too.
"""

from __future__ import annotations

import contextlib
import ctypes

import numpy as np
import producers
from gpu_driver import LEGACY, Driver
from gpu_peers import Peer

CUDA = (producers.CUDA, 0)
SHARED: list[Driver] = []


def driver() -> Driver:
    if not SHARED:
        SHARED.append(Driver(0))
    return SHARED[0]


class Stream:
    def __init__(self):
        self.pointer = driver().create_stream()

    def __cuda_stream__(self):
        return (0, self.pointer)

    def __del__(self):
        driver().synchronize(self.pointer)
        driver().destroy_stream(self.pointer)


class Memory:
    def __init__(self, nbytes: int, stream: int, keep: object):
        self.stream, self.keep, self.pointer = stream, keep, ctypes.c_uint64()
        with driver().entered():
            driver().call(
                "cuMemAllocAsync",
                ctypes.byref(self.pointer),
                ctypes.c_size_t(max(nbytes, 1)),
                ctypes.c_void_p(stream),
            )

    def __del__(self):
        with driver().entered():
            driver().call("cuMemFreeAsync", self.pointer, ctypes.c_void_p(self.stream))


class Array:
    def __init__(self, owner: object, pointer: int, shape: tuple[int, ...], dtype: str, strides=None):
        self.owner, self.pointer, self.shape, self.dtype, self.strides = owner, pointer, shape, dtype, strides

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    def __dlpack_device__(self):
        return CUDA

    @property
    def __cuda_array_interface__(self):
        dtype = np.dtype(self.dtype)
        strides = None if self.strides is None else tuple(step * dtype.itemsize for step in self.strides)
        facts = {"shape": self.shape, "typestr": dtype.str, "strides": strides, "version": 3}
        return {**facts, "data": (self.pointer, False), "stream": Mini.current}

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        consumer = LEGACY if stream is None else stream
        if consumer not in (-1, Mini.current):
            driver().follow(consumer, Mini.current)
        tensor = producers.Tensor(
            self.shape,
            self.dtype,
            data=self.pointer,
            device=CUDA,
            strides="compact" if self.strides is None else self.strides,
            versioned=max_version is not None,
        )
        tensor.keep = self.owner
        return tensor.capsule()


class Mini(Peer):
    name, module = "mini", "ctypes"
    has_streams = True
    dtypes = ("int32", "float32", "float64", "complex64", "bool")
    current = LEGACY  # the stream that its work goes into
    owner: object = None  # of that stream, which lives as long as its memory

    def make(self, a):
        a = np.ascontiguousarray(a)
        memory = Memory(a.nbytes, Mini.current, Mini.owner)
        driver().synchronize()
        if a.nbytes:
            driver().call_entered(
                "cuMemcpyHtoD_v2", memory.pointer, ctypes.c_void_p(a.ctypes.data), ctypes.c_size_t(a.nbytes)
            )
        return Array(memory, memory.pointer.value, a.shape, a.dtype.name)

    def full(self, n: int, value: float) -> Array:
        """Float32, filled in the current stream."""
        memory = Memory(4 * n, Mini.current, Mini.owner)
        made = Array(memory, memory.pointer.value, (n,), "float32")
        self.fill(made, value)
        return made

    def fill(self, a: Array, value: float) -> None:
        bits = ctypes.c_uint32.from_buffer(ctypes.c_float(value))
        pointer, stream = ctypes.c_uint64(a.pointer), ctypes.c_void_p(Mini.current)
        driver().call_entered("cuMemsetD32Async", pointer, bits, ctypes.c_size_t(a.size), stream)

    def take(self, x):
        capsule = x.__dlpack__(stream=Mini.current, max_version=(1, 3))
        facts = producers.peek(capsule).dl_tensor.describe()
        dtype = next(d for d in self.dtypes if producers.dlpack_dtype(d) == facts["dtype"])
        return Array(
            capsule, (facts["data"] or 0) + facts["byte_offset"], facts["shape"], dtype, facts["strides"]
        )

    def address(self, a):
        return a.pointer

    def numpy(self, a):
        driver().synchronize()
        strides = producers.compact(a.shape) if a.strides is None else a.strides
        span = 1 + sum((n - 1) * step for n, step in zip(a.shape, strides, strict=True)) if a.size else 0
        flat = np.zeros(span, a.dtype)
        if a.size:
            driver().call_entered(
                "cuMemcpyDtoH_v2",
                ctypes.c_void_p(flat.ctypes.data),
                ctypes.c_uint64(a.pointer),
                ctypes.c_size_t(flat.nbytes),
            )
        in_bytes = tuple(step * flat.itemsize for step in strides)
        return np.lib.stride_tricks.as_strided(flat, a.shape, in_bytes).copy() if a.size else flat

    def add_one(self, a):
        driver().add(Mini.current, a.pointer, a.size, 1)

    def stream(self):
        return Stream()

    def pointer(self, stream):
        return stream.pointer

    @contextlib.contextmanager
    def on(self, stream):
        before = Mini.current, Mini.owner
        Mini.current, Mini.owner = stream.pointer, stream
        try:
            yield
        finally:
            Mini.current, Mini.owner = before
