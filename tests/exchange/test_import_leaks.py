"""A thousand imports of each kind, and a thousand refused ones, leak no Python object."""

from __future__ import annotations

import array
import contextlib
import ctypes
import gc
import operator
import sys

import numpy as np
import producers
import pytest

import usmpy
from usmpy import _core

try:
    import torch
except ImportError:  # the extra "test" has it
    torch = None

TIMES = 1000
ODD = np.zeros(8, dtype=[("a", "<f4"), ("b", "i1")])["a"]  # a stride of 5 bytes
SYCL, CUDA = "__sycl_usm_array_interface__", "__cuda_array_interface__"


class Interface:
    def __init__(self, name, **members):
        self.name, self.members = name, members

    def __getattr__(self, name):
        if name == self.__dict__.get("name"):
            return dict(self.members)
        raise AttributeError(name)


class Raises:
    def __index__(self):
        raise ZeroDivisionError

    __bool__ = __index__


def interface(memory, **changes):
    """New objects wherever Python makes them anew."""
    common = {"version": 1, "typestr": "<f" + str(4), "shape": memory.shape, "data": (memory.data_ptr, False)}
    return Interface(SYCL, **{**common, "strides": list(memory.strides), "syclobj": memory.queue, **changes})


def cuda_interface(memory, **changes):
    typestr = "<f" + str(4)
    return Interface(
        CUDA,
        **{
            "version": 3,
            "typestr": typestr,
            "shape": memory.shape,
            "data": (memory.data_ptr, False),
            "strides": tuple(4 * stride for stride in memory.strides),
            "descr": [("", typestr)],
            "stream": 1,
            **changes,
        },
    )


class Table:
    __dlpack_c_exchange_api__ = producers.make_table(producers.ask_for_tensor)

    def __init__(self, **fields):
        self.fields = fields

    def make_tensor(self):
        return producers.Tensor(**self.fields)


def produce(**fields):
    return lambda: usmpy.from_dlpack(producers.producer(**fields)[0])


class OnGpu(producers.Producer):
    """Of a type of its own: where the memory of a type's arrays is, is remembered."""


def produce_on_gpu(**fields):
    return lambda: usmpy.from_dlpack(
        OnGpu(producers.Tensor(device=(2, 0), memory=0, **fields).capsule, device=(2, 0))
    )


def enter(x, queue=None):
    with usmpy.borrow(x, queue) as y:
        return y.shape


HOST = usmpy.asarray(np.arange(6, dtype="float32"), device="host", copy=True)
FROM = HOST.data_ptr
QUEUE = HOST.queue
pointer = usmpy.USMArray.from_pointer

# What is called, and the exception that it raises, if any.
CALLS = {
    "NumPy": (lambda: usmpy.from_dlpack(np.zeros((2, 3))), None),
    "NumPy, strided": (lambda: usmpy.from_dlpack(np.zeros((4, 6))[::2, ::-1]), None),
    "NumPy, copied": (lambda: usmpy.from_dlpack(np.zeros(3), copy=True), None),
    "NumPy, dtype": (lambda: usmpy.from_dlpack(np.zeros(3, dtype=">f4")), BufferError),
    "NumPy, object": (lambda: usmpy.from_dlpack(np.array([None])), BufferError),
    "NumPy, stride": (lambda: usmpy.from_dlpack(ODD), BufferError),
    "capsule": (produce(), None),
    "legacy capsule": (produce(versioned=False), None),
    "capsule, lanes": (produce(dtype=(2, 32, 4)), BufferError),
    "capsule, shape": (produce(shape=(3, -1), memory=16), BufferError),
    "capsule, strides": (produce(strides=(2**62,)), BufferError),
    "capsule, device": (produce(device=(99, 0)), BufferError),
    "capsule, version": (produce(version=(2, 0)), BufferError),
    "table": (lambda: usmpy.from_dlpack(Table()), None),
    "table, dtype": (lambda: usmpy.from_dlpack(Table(dtype=(2, 32, 4))), BufferError),
    "pair": (lambda: usmpy.from_dlpack(HOST, device=(1, 0)), None),
    "no pair": (lambda: usmpy.from_dlpack(HOST, device=(1,)), TypeError),
    "pair that is no device": (lambda: usmpy.from_dlpack(HOST, device=(2**70, 0)), BufferError),
    "pair that raises": (lambda: usmpy.from_dlpack(HOST, device=(1, Raises())), ZeroDivisionError),
    "no producer": (lambda: usmpy.from_dlpack(object()), TypeError),
    "bytes": (lambda: usmpy.asarray(b"abc"), None),
    "bytearray": (lambda: usmpy.asarray(bytearray(5)), None),
    "array": (lambda: usmpy.asarray(array.array("d", [1, 2])), None),
    "memoryview": (lambda: usmpy.asarray(memoryview(bytearray(6))[::-2]), None),
    "ctypes": (lambda: usmpy.asarray((ctypes.c_int32 * 4)()), None),
    "buffer, format": (lambda: usmpy.asarray(memoryview(np.zeros(2, dtype="S3"))), BufferError),
    "buffer, byte order": (lambda: usmpy.asarray(memoryview(np.zeros(2, dtype=">i4"))), BufferError),
    "buffer, stride": (lambda: usmpy.asarray(memoryview(ODD)), BufferError),
    "buffer, dtype": (lambda: usmpy.asarray(b"abc", dtype="no"), TypeError),
    "SYCL": (lambda: usmpy.asarray(interface(HOST)), None),
    "SYCL, member": (lambda: usmpy.asarray(interface(HOST, typestr=4)), BufferError),
    "SYCL, strides": (lambda: usmpy.asarray(interface(HOST, strides=(1, 2))), ValueError),
    "SYCL, bounds": (lambda: usmpy.asarray(interface(HOST, shape=(7,))), BufferError),
    "SYCL, raises": (lambda: usmpy.asarray(interface(HOST, shape=(Raises(),))), ZeroDivisionError),
    "SYCL, version": (lambda: usmpy.asarray(interface(HOST, version=2)), BufferError),
    "SYCL, syclobj": (lambda: usmpy.asarray(interface(HOST, syclobj="nowhere:7")), ValueError),
    "pointer": (lambda: pointer(FROM, 6, "float32", queue=QUEUE, owner=HOST), None),
    "pointer, bounds": (lambda: pointer(FROM, 7, "float32", queue=QUEUE, owner=HOST), ValueError),
    "pointer, strides": (
        lambda: pointer(FROM, 2, "float32", strides=(2**62,), queue=QUEUE, owner=HOST),
        ValueError,
    ),
    "pointer, kind": (
        lambda: pointer(FROM, 2, "float32", usm_type="shared", queue=QUEUE, owner=HOST),
        ValueError,
    ),
    "pointer, raises": (lambda: pointer(Raises(), 2, "float32", queue=QUEUE), ZeroDivisionError),
    "borrow": (lambda: enter(np.zeros(3)), None),
    "borrow of ours": (lambda: enter(HOST), None),
    "borrow, stride": (lambda: enter(ODD), BufferError),
    "export": (lambda: HOST.__dlpack__(max_version=(1, 0), dl_device=(1, 0)), None),
    "export, copied": (lambda: HOST.__dlpack__(max_version=(1, 0), copy=True), None),
    "export, legacy": (lambda: HOST.__dlpack__(), None),
    "export, device": (lambda: HOST.__dlpack__(dl_device=(2, 0)), BufferError),
    "export, stream": (lambda: HOST.__dlpack__(stream=1), BufferError),
    "export, version": (lambda: HOST.__dlpack__(max_version=1), TypeError),
    "connection": (lambda: usmpy.memory_connection(HOST, QUEUE), None),
    "no connection": (lambda: usmpy.memory_connection(HOST, 3), TypeError),
    "move": (lambda: HOST.to_device(QUEUE), None),
    "plan": (lambda: usmpy.explain_copy(HOST, 1.0), None),
}
if torch is not None:
    TENSOR, GROWS = torch.arange(4.0), torch.ones(3, requires_grad=True)
    CALLS |= {
        "PyTorch": (lambda: usmpy.from_dlpack(TENSOR), None),
        "PyTorch, gradients": (lambda: usmpy.from_dlpack(GROWS), BufferError),
        "PyTorch, conjugate": (
            lambda: usmpy.from_dlpack(torch.ones(2, dtype=torch.complex64).conj()),
            BufferError,
        ),
        "borrow of PyTorch": (lambda: enter(GROWS), None),
    }
if usmpy.get_devices("cuda"):
    GPU = usmpy.arange(6, dtype="float32", device="cuda")
    GPU.wait()
    ADDRESS = GPU.data_ptr
    CALLS |= {
        "CUDA": (lambda: usmpy.asarray(cuda_interface(GPU)), None),
        "CUDA, bounds": (lambda: usmpy.asarray(cuda_interface(GPU, shape=(7,))), BufferError),
        "CUDA, strides": (lambda: usmpy.asarray(cuda_interface(GPU, strides=(3,))), BufferError),
        "CUDA, mask": (lambda: usmpy.asarray(cuda_interface(GPU, mask=1)), BufferError),
        "CUDA, raises": (
            lambda: usmpy.asarray(cuda_interface(GPU, data=(Raises(), False))),
            ZeroDivisionError,
        ),
        "CUDA, stream": (lambda: usmpy.asarray(cuda_interface(GPU, stream=0)), ValueError),
        "CUDA capsule": (produce_on_gpu(shape=(6,), data=ADDRESS), None),
        "CUDA capsule, bounds": (
            produce_on_gpu(shape=(1 << 40,), data=ADDRESS),
            BufferError,
        ),
        "CUDA interface of ours": (lambda: GPU.__cuda_array_interface__, None),
    }


def call(function, error):
    if error is None:
        function()
        return
    try:
        function()
    except error:
        return
    raise AssertionError(f"not refused with {error.__name__}")


def collect():
    """Collects twice: without the GIL, the first collection leaves the keys of the dicts that it frees.

    Other threads may still read them, so CPython frees them once each thread has passed a safe point (QSBR),
    which the next collection makes sure of.
    """
    gc.collect()
    gc.collect()


def left_behind(function, error):
    """The growth of the blocks of Python's memory over TIMES calls."""
    before = sys.getallocatedblocks()
    for _ in range(TIMES):
        call(function, error)
    producers._live.clear()
    collect()
    usmpy.empty(0)  # releases that wait for the GIL
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("name", CALLS)
def test_nothing_leaks(name):
    function, error = CALLS[name]
    for _ in range(50):  # caches are filled, and free lists
        call(function, error)
    collect()
    left = []
    # A leak grows in each round. Other threads and caches of CPython may allocate hundreds of blocks in one.
    while not left or (left[-1] >= TIMES // 4 and len(left) < 3):
        left.append(left_behind(function, error))
    assert left[-1] < TIMES // 4, f"{left} blocks after {TIMES} calls each"


# What calls refer to, and never make anew: a reference too many to it is no block.
METHODS = [np.ndarray.__dlpack__, usmpy.USMArray.__dlpack__, np.ndarray.__mro__, usmpy.USMArray.__mro__]
TYPES = [usmpy.USMArray, usmpy.Queue, usmpy.Device, TypeError, ValueError, BufferError, ZeroDivisionError]
SHARED = [HOST, QUEUE, usmpy.empty(0).queue, QUEUE.device, ODD, *METHODS, *TYPES]
SHARED += [Raises, Interface, Table, producers.Producer, True, False, None]
SHARED += [] if torch is None else [TENSOR, GROWS, torch.Tensor.__dlpack__]
SHARED += [GPU, GPU.queue] if usmpy.get_devices("cuda") else []
ROUNDS = 100


def references():
    producers._live.clear()
    usmpy.empty(0)
    collect()
    return [*map(sys.getrefcount, SHARED), *_core._live_counts().values()]


@pytest.mark.skipif(
    not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="counts of references are spread over threads"
)
@pytest.mark.parametrize("name", CALLS)
def test_no_reference_is_left(name):
    function, error = CALLS[name]
    for _ in range(5):
        call(function, error)
    for _ in range(3):  # a leak is there each time
        before = references()
        for _ in range(ROUNDS):
            call(function, error)
        grown = [b - a for a, b in zip(before, references(), strict=True)]
        if max(grown) < ROUNDS // 2:
            return
    names = [*(repr(thing)[:40] for thing in SHARED), *_core._live_counts()]
    raise AssertionError({name: n for name, n in zip(names, grown, strict=True) if n >= ROUNDS // 2})


@pytest.mark.parametrize(
    "make", [lambda: bytearray(8), lambda: array.array("d", [1.0])], ids=["bytearray", "array"]
)
def test_a_buffer_that_was_given_for_a_number_can_be_resized(make):
    x, value = usmpy.ones(3, dtype="float64", device="host"), make()
    for call in (
        lambda: usmpy.full(2, value, device="host"),
        lambda: x.fill(value),
        lambda: x + value,
        lambda: x == value,
        lambda: usmpy.clip(x, value),
        lambda: usmpy.where(x > 0, x, value),
        lambda: x.queue.fill(x, value),
        lambda: operator.setitem(x, 0, value),
    ):
        with contextlib.suppress(TypeError, ValueError):
            call()
        x.wait()
        value.append(1)  # BufferError while somebody has a view of it
        value.pop()
