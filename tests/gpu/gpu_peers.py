"""Libraries with arrays on the GPU, with one interface. Each is imported by the first test that uses it."""

from __future__ import annotations

import contextlib
import importlib
import os
import pathlib
import warnings
from typing import Any

import numpy as np

HERE = pathlib.Path(__file__).parent

# A library that takes most of the GPU's memory for itself when it starts leaves none for the others.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
PLAIN = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"]


class Peer:
    """One library. Arrays are made and read with the GPU idle, so that tests order what they mean to."""

    name: str
    module: str
    dtypes = PLAIN
    has_streams = False  # its work goes into a stream that the caller chooses
    views = True  # its arrays have strides
    writes = True  # `add_one` works in place

    def make(self, a: np.ndarray) -> Any:
        raise NotImplementedError

    def take(self, x: Any) -> Any:
        """Its own from_dlpack, or what comes nearest."""
        raise NotImplementedError

    def address(self, a: Any) -> int:
        raise NotImplementedError

    def numpy(self, a: Any) -> np.ndarray:
        raise NotImplementedError

    def add_one(self, a: Any) -> None:
        """In place, in the current stream."""
        raise NotImplementedError

    def stream(self) -> Any:
        raise NotImplementedError

    def pointer(self, stream: Any) -> int:
        raise NotImplementedError

    def on(self, stream: Any) -> contextlib.AbstractContextManager:
        raise NotImplementedError


class CuPy(Peer):
    name = module = "cupy"
    has_streams = True

    def __init__(self):
        self.cupy = importlib.import_module("cupy")

    def make(self, a):
        made = self.cupy.asarray(a)
        self.cupy.cuda.runtime.deviceSynchronize()
        return made

    def take(self, x):
        return self.cupy.from_dlpack(x)

    def address(self, a):
        return a.data.ptr

    def numpy(self, a):
        self.cupy.cuda.runtime.deviceSynchronize()
        return a.get()

    def add_one(self, a):
        a += 1

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def pointer(self, stream):
        return stream.ptr

    def on(self, stream):
        return stream


class Torch(Peer):
    name = module = "torch"
    has_streams = True

    def __init__(self):
        self.torch = importlib.import_module("torch")

    def make(self, a):
        made = self.torch.tensor(a, device="cuda")
        self.torch.cuda.synchronize()
        return made

    def take(self, x):
        return self.torch.from_dlpack(x)

    def address(self, a):
        return a.data_ptr()

    def numpy(self, a):
        self.torch.cuda.synchronize()
        return a.cpu().numpy()

    def add_one(self, a):
        a.add_(1)

    def stream(self):
        return self.torch.cuda.Stream()

    def pointer(self, stream):
        return stream.cuda_stream

    def on(self, stream):
        return self.torch.cuda.stream(stream)


class Jax(Peer):
    name = module = "jax"
    views = writes = False

    def __init__(self):
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)

    def make(self, a):
        return self.jax.device_put(a, self.jax.devices("gpu")[0]).block_until_ready()

    def take(self, x):
        return self.jax.dlpack.from_dlpack(x)

    def address(self, a):
        return a.unsafe_buffer_pointer()

    def numpy(self, a):
        return np.asarray(a)


class Numba(Peer):
    name, module = "numba", "numba.cuda"
    dtypes = tuple(set(PLAIN) - {"float16"})

    def __init__(self):
        self.cuda = import_numba_cuda()

    def make(self, a):
        made = self.cuda.to_device(a)
        self.cuda.synchronize()
        return made

    def take(self, x):
        return self.cuda.as_cuda_array(x)

    def address(self, a):
        return a.__cuda_array_interface__["data"][0]

    def numpy(self, a):
        self.cuda.synchronize()
        return a.copy_to_host()

    def add_one(self, a):
        _numba_add_one(self.cuda)[1, 1024](a)


class CudaCore(Peer):
    """Its StridedMemoryView, over memory of CuPy's: it makes no arrays of its own."""

    name, module = "cuda_core", "cuda.core"
    writes = False

    def __init__(self):
        self.core = importlib.import_module("cuda.core")
        self.cupy = importlib.import_module("cupy")
        self.view = memory_view(self.core)
        device = self.core.Device(0)
        device.set_current()
        self.queue = device.create_stream()

    def make(self, a):
        made = self.cupy.asarray(a)
        self.cupy.cuda.runtime.deviceSynchronize()
        return self.view.from_any_interface(made, stream_ptr=-1)

    def take(self, x):
        return self.view.from_any_interface(x, stream_ptr=int(self.queue.handle))

    def address(self, a):
        return a.ptr

    def numpy(self, a):
        self.queue.sync()
        return self.cupy.from_dlpack(a).get()


def memory_view(core):
    """StridedMemoryView has moved between the versions."""
    found = getattr(core, "StridedMemoryView", None)
    return found or importlib.import_module("cuda.core.utils").StridedMemoryView


_kernels: list[Any] = []


def _numba_add_one(cuda):
    if not _kernels:

        @cuda.jit
        def add_one(a):
            i = cuda.grid(1)
            if i < a.size:
                a[i] += 1

        _kernels.append(add_one)
    return _kernels[0]


PEERS = {peer.name: peer for peer in (CuPy, Torch, Jax, Numba, CudaCore)}


def import_numba_cuda():
    """Versions that compile nothing with NumPy 2.5, for want of a name that it no longer has, get it here."""
    if not hasattr(np, "row_stack"):
        np.row_stack = np.vstack
    return importlib.import_module("numba.cuda")


def import_all() -> None:
    for peer in PEERS.values():
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about things of their own
            import_numba_cuda() if peer is Numba else importlib.import_module(peer.module)
