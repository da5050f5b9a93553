"""OpenCL's drivers where they refuse: no memory, a forked child; and contexts of parts of a device."""

from __future__ import annotations

import gc
import os
import textwrap

import another
import pytest
from backends import BACKENDS, Absent

import usmpy


@pytest.fixture(
    params=[backend for backend in BACKENDS if backend.name.startswith("opencl")], ids=lambda b: b.name
)
def device(request):
    try:
        return request.param.device()
    except Absent as absent:
        pytest.skip(str(absent))


START = """
import ctypes, gc, os, resource, sys
import numpy as np
from another import in_child, said
import usmpy
device = next(each for each in usmpy.get_devices("opencl") if each.name == NAME)
"""


def run(device, script, **variables):
    start = START.replace("NAME", repr(device.name))
    another.run(start + textwrap.dedent(script), {**os.environ, **variables})


@pytest.mark.not_sanitized("its allocator reserves more addresses than the limit")
def test_memory_that_the_driver_does_not_have(device):
    """The system refuses the driver's request, which the device's own limits allow."""
    run(
        device,
        """
        queue = usmpy.Queue(device)
        usmpy.zeros(10, queue=queue).wait()
        pages = int(open("/proc/self/statm").read().split()[0])
        room = min(device.max_alloc_size, 4 << 30)
        for kind in ("device", "shared", "host"):
            resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room // 2, -1))
            text = said(lambda: usmpy.empty(room, dtype="uint8", usm_type=kind, queue=queue), MemoryError)
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
            assert f"cannot allocate {room} bytes of {kind} memory on {device.name}" in text, text
            assert usmpy.zeros(10, usm_type=kind, queue=queue).tolist() == [0] * 10
        """,
    )


@pytest.mark.not_sanitized("its allocator's locks stay as they are at a fork: a child may hang")
def test_every_call_of_a_forked_child_names_the_remedy(device):
    run(
        device,
        """
        queue = usmpy.Queue(device)
        x = usmpy.arange(10, dtype="int32", queue=queue)
        big = usmpy.zeros(30_000_000, dtype="uint8", queue=queue)
        source = "kernel void f(global int *x) { x[get_global_id(0)] += 1; }"
        program = usmpy.Program(source, device=device)
        own = usmpy.Context(device)
        theirs = usmpy.Queue(device, context=own)
        foreign = usmpy.Queue.from_native("opencl", theirs.native_handle)
        memory = np.zeros(9, "int32")
        address = memory.ctypes.data
        queue.wait()
        big.wait()

        def child():
            global x, big, foreign, theirs, own
            for call in (
                lambda: usmpy.Program(source.replace("1", "2"), device=device),
                lambda: program["f"],
                lambda: program.binary,
                lambda: usmpy.Context(device),
                lambda: device.create_sub_devices(1),
                lambda: usmpy.Queue.from_native("opencl", theirs.native_handle),
                lambda: usmpy.USMArray.from_pointer(address, (9,), "int32", queue=queue, owner=memory),
            ):
                assert "spawn" in said(call, RuntimeError)
            del x, big, foreign, theirs, own
            gc.collect()
            usmpy.trim()

        in_child(child)
        assert x.tolist() == list(range(10))
        """,
    )


def test_a_part_of_a_device_in_the_whole_s_context(device):
    """A driver may need a context of its own for the part; it goes with the context that it belongs to."""
    part = device.create_sub_devices(1)[0]
    for _ in range(3):
        context = usmpy.Context(device)
        queue = usmpy.Queue(part, context=context)
        x = usmpy.arange(100, dtype="int32", queue=queue)
        assert usmpy.flip(x).tolist() == list(range(100))[::-1]
        del queue, x, context
        gc.collect()


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_parts_of_one_context_reach_each_other_s_memory(device, kind):
    parts = device.create_sub_devices(1)[:2]
    if len(parts) < 2:
        pytest.skip("the device has one compute unit")
    context = usmpy.Context(parts)
    first, second = (usmpy.Queue(part, context=context) for part in parts)
    x = usmpy.arange(100, dtype="int32", usm_type=kind, queue=first)
    assert usmpy.memory_connection(x, second) == usmpy.MemoryConnection.UNIFIED
    y = usmpy.empty(100, dtype="int32", usm_type=kind, queue=second)
    second.memcpy(y, x).wait()
    assert y.tolist() == list(range(100))
