"""Another library on the same CUDA driver: its streams, its memory, and arrays with every protocol.

Everything goes through the driver in software (tests/cuda_driver), by ctypes, in primary contexts, as CuPy
and PyTorch do. ``Peer`` has a current stream, which its arrays are worked on in.
"""

from __future__ import annotations

import contextlib
import ctypes
import time
from typing import ClassVar

import cuda_drivers
import dlpack_type
import producers
from asleep import once_asleep

LEGACY, PER_THREAD = 1, 2
CUDA, CUDA_HOST, CUDA_MANAGED = dlpack_type.TYPE, dlpack_type.HOST, dlpack_type.MANAGED
NOT_READY = 600
RELAXED = 2
PIECE = 1 << 16  # bytes

_u64, _pointer = ctypes.c_uint64, ctypes.c_void_p
_libc = ctypes.CDLL(None)
_sleep = ctypes.cast(_libc.usleep, ctypes.c_void_p)  # void f(void *microseconds), nearly


def until(condition):
    """Waits for what a thread does soon."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Driver:
    """libcuda, as another program in the process uses it. Addresses and streams are ints."""

    def __init__(self):
        self.library = ctypes.CDLL(str(cuda_drivers.library()))
        self.library.cudasim_calls.restype = ctypes.c_longlong
        self.library.cudasim_misuse.restype = ctypes.c_char_p
        self.call("cuInit", 0)
        self.contexts, self.semaphores = [], []
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        for device in range(count.value):
            context = _pointer()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.contexts.append(context.value)
        with self.on(0):
            pinned = self.allocate(64 * PIECE, "host")
        self.pieces = [pinned + number * PIECE for number in range(64)]

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        assert code == 0, f"{name} returned {code}"

    def made(self, name, *arguments):
        out = _pointer()
        self.call(name, ctypes.byref(out), *arguments)
        return out.value

    @contextlib.contextmanager
    def on(self, device):
        """The device's context is current; None: no context is."""
        popped = _pointer()
        if device is None:
            self.call("cuCtxPopCurrent_v2", ctypes.byref(popped))
        else:
            self.call("cuCtxPushCurrent_v2", _pointer(self.contexts[device]))
        try:
            yield
        finally:
            if device is None:
                self.call("cuCtxPushCurrent_v2", popped)
            else:
                self.call("cuCtxPopCurrent_v2", ctypes.byref(popped))

    def current(self):
        out = _pointer()
        self.call("cuCtxGetCurrent", ctypes.byref(out))
        return out.value

    # Memory and streams; the context is the caller's business.
    def allocate(self, nbytes, kind="device"):
        if kind == "managed":
            return self.made("cuMemAllocManaged", ctypes.c_size_t(nbytes), 1)
        if kind == "host":
            return self.made("cuMemHostAlloc", ctypes.c_size_t(nbytes), 0)
        return self.made("cuMemAlloc_v2", ctypes.c_size_t(nbytes))

    @contextlib.contextmanager
    def landing(self, nbytes):
        """Pinned memory to copy to. It was there before: cuMemHostAlloc waits for the device's work."""
        assert nbytes <= PIECE
        address = self.pieces.pop()
        yield address
        self.pieces.append(address)

    def stream(self):
        return self.made("cuStreamCreate", 1)

    def destroy_stream(self, stream):
        self.call("cuStreamDestroy_v2", _pointer(stream))

    def fill(self, stream, address, nbytes, byte):
        self.call(
            "cuMemsetD8Async", _u64(address), ctypes.c_ubyte(byte), ctypes.c_size_t(nbytes), _pointer(stream)
        )

    def copy(self, stream, to, source, nbytes):
        self.call("cuMemcpyAsync", _u64(to), _u64(source), ctypes.c_size_t(nbytes), _pointer(stream))

    def brief(self, stream, seconds):
        """A kernel of that length."""
        self.call("cuLaunchHostFunc", _pointer(stream), _sleep, _pointer(int(seconds * 1e6)))

    def waiting(self, stream):
        """The semaphore that a kernel waits for."""
        semaphore = ctypes.create_string_buffer(64)  # a sem_t is smaller
        _libc.sem_init(semaphore, 0, 0)
        self.call("cuLaunchHostFunc", _pointer(stream), ctypes.cast(_libc.sem_wait, _pointer), semaphore)
        return semaphore

    def late(self, stream):
        """A kernel that ends once this thread waits for something."""
        semaphore = self.waiting(stream)
        self.semaphores.append(semaphore)  # the driver may use it until the end
        once_asleep(lambda: _libc.sem_post(semaphore))

    @contextlib.contextmanager
    def gate(self, stream):
        """A kernel that ends with the block. What waits for it inside never returns."""
        semaphore = self.waiting(stream)
        try:
            yield
        finally:
            _libc.sem_post(semaphore)
            self.synchronize(stream)  # which may use the semaphore until then

    def wait_for(self, stream, other):
        """Later work of the stream waits for what is in the other."""
        event = self.made("cuEventCreate", 2)
        self.call("cuEventRecord", _pointer(event), _pointer(other))
        self.call("cuStreamWaitEvent", _pointer(stream), _pointer(event), 0)
        self.call("cuEventDestroy_v2", _pointer(event))

    def is_busy(self, stream):
        code = self.library.cuStreamQuery(_pointer(stream))
        assert code in (0, NOT_READY), code
        return code == NOT_READY

    def synchronize(self, stream):
        self.call("cuStreamSynchronize", _pointer(stream))

    def begin_capture(self, stream, mode=RELAXED):
        self.call("cuStreamBeginCapture_v2", _pointer(stream), mode)

    def end_capture(self, stream):
        graph = _pointer()
        self.call("cuStreamEndCapture", _pointer(stream), ctypes.byref(graph))
        nodes = ctypes.c_size_t()
        self.call("cuGraphGetNodes", graph, None, ctypes.byref(nodes))
        self.call("cuGraphDestroy", graph)
        return nodes.value

    # What the driver in software knows of itself.
    def calls(self, name):
        count = self.library.cudasim_calls(name.encode())
        assert count >= 0, name
        return count

    @contextlib.contextmanager
    def held(self):
        """No stream begins another operation: whatever is enqueued stays pending."""
        self.library.cudasim_hold(1)
        try:
            yield
        finally:
            self.library.cudasim_hold(0)

    @contextlib.contextmanager
    def failing(self, name, code):
        """The function's next call returns the code, and does nothing."""
        assert self.library.cudasim_fail(name.encode(), 1, code) == 0
        try:
            yield
        finally:
            self.library.cudasim_fail(name.encode(), 0, 0)

    def counts(self):
        counts = (ctypes.c_ulonglong * 8)()
        self.library.cudasim_counts(counts)
        return counts

    def streams(self):
        return self.counts()[2]

    def misuses(self):
        return self.counts()[7]

    def misuse(self):
        return self.library.cudasim_misuse().decode()


class Peer:
    """The library: arrays of int8, and a current stream for each device."""

    def __init__(self, driver):
        self.driver = driver
        self.streams = {}
        self.memory = []

    def close(self):
        for stream in self.streams.values():
            self.driver.synchronize(stream)
        for address, kind in self.memory:
            self.driver.call("cuMemFreeHost" if kind == "host" else "cuMemFree_v2", _u64(address))
        for stream in self.streams.values():
            self.driver.destroy_stream(stream)

    def stream(self, device=0):
        if device not in self.streams:
            with self.driver.on(device):
                self.streams[device] = self.driver.stream()
        return self.streams[device]

    def array(self, n, byte, *, cls=None, device=0, kind="device", late=False):
        """n bytes, filled in the current stream after a late kernel."""
        with self.driver.on(device):
            address = self.driver.allocate(max(n, 1), kind)
        self.memory.append((address, kind))
        array = (cls or Cupy)(self, address, n, device, kind)
        array.fill(byte, late)
        return array


class Array:
    """The common base of all libraries' arrays here, without a protocol."""

    def __init__(self, peer, address, n, device, kind):
        self.peer, self.address, self.n, self.device, self.kind = peer, address, n, device, kind
        self.calls = []
        self.tensors = []

    @property
    def dlpack_device(self):
        kind = {"device": CUDA, "managed": CUDA_MANAGED, "host": CUDA_HOST}[self.kind]
        return kind, self.device if kind == CUDA else 0

    @property
    def stream(self):
        return self.peer.stream(self.device)

    def fill(self, byte, late=False):
        """In the library's current stream; returns at once."""
        driver = self.peer.driver
        with driver.on(self.device):
            if late:
                driver.late(self.stream)
            driver.fill(self.stream, self.address, self.n, byte)

    def read(self):
        """The data that a reader in the library's stream sees."""
        driver = self.peer.driver
        with driver.on(self.device), driver.landing(self.n) as out:
            driver.copy(self.stream, out, self.address, self.n)
            driver.synchronize(self.stream)
            return ctypes.string_at(out, self.n)

    def tensor(self, **keywords):
        tensor = producers.Tensor(
            (self.n,), (0, 8, 1), data=self.address, memory=0, device=self.dlpack_device, **keywords
        )
        self.tensors.append(tensor)
        tensor.owner = self
        return tensor


class Dlpack(Array):
    """__dlpack__ alone, as the standard has it."""

    def order(self, stream):
        driver = self.peer.driver
        if stream not in (-1, self.stream):
            with driver.on(self.device):
                driver.wait_for(dlpack_type.DEFAULT_STREAMS.get(stream, stream), self.stream)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.calls.append(stream)
        self.order(stream)
        return self.tensor(versioned=max_version is not None).capsule()

    def __dlpack_device__(self):
        return self.dlpack_device


class Legacy(Dlpack):
    """As before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        self.calls.append(stream)
        self.order(stream)
        return self.tensor(versioned=False).capsule()


class Interface(Array):
    """__cuda_array_interface__ alone, as Numba has it; `version` 2 tells no stream."""

    version = 3
    changes: ClassVar[dict] = {}

    @property
    def __cuda_array_interface__(self):
        self.calls.append("interface")
        interface = {
            "shape": (self.n,),
            "typestr": "|i1",
            "data": (self.address if self.n else 0, False),
            "version": self.version,
        }
        if self.version >= 3:
            interface["stream"] = self.stream
        return {**interface, **self.changes}


class _Call:
    """A callable like a compiled method, which is not a Python function."""

    def __init__(self, function):
        self.function = function

    def __get__(self, instance, owner):
        return self if instance is None else self.function.__get__(instance, owner)


class Cupy(Dlpack, Interface):
    """Both, and compiled."""

    __dlpack__ = _Call(Dlpack.__dlpack__)


class Torch(Dlpack):
    """The exchange table, whose current_work_stream is the library's stream."""

    peers: ClassVar[dict] = {}

    def __init__(self, peer, *arguments):
        super().__init__(peer, *arguments)
        Torch.peers[0] = peer

    def make_tensor(self):
        self.calls.append("table")
        return self.tensor()

    @producers.WORK_STREAM
    @staticmethod
    def _work_stream(device_type, device_id, out):
        out[0] = Torch.peers[0].stream(device_id) if device_type != producers.CPU else None
        return 0

    __dlpack_c_exchange_api__ = producers.make_table(
        producers.ask_for_tensor, current_work_stream=_work_stream
    )


# -- stream objects, as libraries make them ----------------------------------------------------------


def number(handle):
    """As __dlpack__(stream=) numbers it; ROCm has no number for the stream of the thread."""
    return {at: number for number, at in dlpack_type.DEFAULT_STREAMS.items()}.get(handle, handle)


class Protocol:
    def __init__(self, handle, version=0):
        self.answer = (version, handle)

    def __cuda_stream__(self):
        return self.answer


class ProtocolAsProperty(Protocol):
    @property
    def __cuda_stream__(self):
        return self.answer


class StreamOfCupy:
    def __init__(self, handle):
        self.ptr = 0 if handle == LEGACY else handle

    def synchronize(self): ...


class StreamOfTorch:
    def __init__(self, handle, index=0):
        self.cuda_stream = 0 if handle == LEGACY else handle
        self.device = type("device", (), {"type": "cuda", "index": index})()


class StreamOfNumba:
    def __init__(self, handle):
        self.handle = ctypes.c_void_p(None if handle == LEGACY else handle)

    def synchronize(self): ...


STREAMS = [number, Protocol, ProtocolAsProperty, StreamOfCupy, StreamOfTorch, StreamOfNumba]
