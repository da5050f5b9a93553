"""The calling thread's current context is the caller's: whatever it is, it is the same one afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading

import gpu_mini
import numpy as np
import pytest
from gpu_driver import SOFTWARE, DriverError
from kernel_sources import PORTABLE

import usmpy

N = 32 if SOFTWARE else 1024


@pytest.fixture(params=["none", "primary", "another"])
def context(request, driver):
    """The current context while a test runs."""
    if request.param == "another":
        try:
            other = driver.create_context()
        except DriverError as error:
            pytest.skip(f"the driver makes no more contexts: {error}")
        yield other
        driver.call("cuCtxDestroy_v2", ctypes.c_void_p(other))
        return
    yield None if request.param == "none" else driver.context.value


@pytest.fixture
def theirs(device):
    return gpu_mini.Mini().make(np.arange(16, dtype="float32"))


def entry_points(device, late, theirs):
    """Calls of every kind."""
    x = usmpy.zeros(N, dtype="float32", device=device)
    y = usmpy.zeros(N, dtype="float32", device=device)
    shared = usmpy.zeros(16, dtype="float32", usm_type="shared", device=device)
    program = usmpy.Program(PORTABLE, device=device)
    q = usmpy.Queue(device)
    x.wait()
    pointer = q.native_handle
    return {
        "queue": lambda: usmpy.Queue(device, profiling=True),
        "out of order": lambda: usmpy.zeros(5, queue=usmpy.Queue(device, in_order=False)).wait(),
        "empty": lambda: usmpy.empty(1 << 22, device=device),
        "shared": lambda: usmpy.empty(1 << 16, usm_type="shared", device=device),
        "pinned": lambda: usmpy.empty(1 << 16, usm_type="host", device=device),
        "zeros": lambda: usmpy.zeros(100, device=device),
        "arange": lambda: usmpy.arange(100, device=device).wait(),
        "asarray": lambda: usmpy.asarray([1, 2, 3], device=device).wait(),
        "asnumpy": lambda: x.asnumpy(),
        "setitem": lambda: x.__setitem__(slice(0, 5), 3),
        "copy": lambda: usmpy.flip(x).copy().wait(),
        "fill": lambda: x.queue.fill(x, 2.0).wait(),
        "memcpy": lambda: x.queue.memcpy(x, y).wait(),
        "memcpy host": lambda: x.queue.memcpy(x, np.zeros(N, "float32")).wait(),
        "prefetch": lambda: shared.queue.prefetch(shared).wait(),
        "launch": lambda: late[usmpy.Range(N)](x, N, 1.0, 1000).wait(),
        "launch elsewhere": lambda: late[usmpy.Range(16)](
            usmpy.zeros(16, dtype="float32", queue=q), 16, 1.0, 0
        ),
        "build": lambda: usmpy.Program(f"// {gc.get_count()}\n{PORTABLE}", device=device)["scale"],
        "kernel": lambda: program.scale[usmpy.Range(N)](x, y, 2.0).wait(),
        "barrier": lambda: q.barrier().wait(),
        "wait for": lambda: q.wait_for(x.queue),
        "from_dlpack": lambda: usmpy.from_dlpack(theirs),
        "from_dlpack and use": lambda: usmpy.from_dlpack(theirs).copy().wait(),
        "export": lambda: x.__dlpack__(stream=1, max_version=(1, 0)),
        "pending export": lambda: (
            late[usmpy.Range(N)](x, N, 1.0, 5_000_000),
            x.__dlpack__(stream=pointer, max_version=(1, 0)),
        ),
        "interface": lambda: x.__cuda_array_interface__,
        "from_stream": lambda: usmpy.Queue.from_stream(pointer),
        "borrow": lambda: contextlib.ExitStack().enter_context(usmpy.borrow(x, q)),
        "from_pointer": lambda: usmpy.USMArray.from_pointer(x.data_ptr, (4,), "float32", queue=q),
        "connection": lambda: usmpy.memory_connection(device, "host"),
        "device info": lambda: device.info(),
        "drop": lambda: gc.collect(),
    }


def test_the_current_context_stays(device, driver, late, theirs, context):
    failed = []
    for name, call in entry_points(device, late, theirs).items():
        with driver.current_is(context):
            call()
            gc.collect(0)
            if driver.current() != context:
                failed.append(name)
                driver.call("cuCtxSetCurrent", ctypes.c_void_p(context))
    assert failed == []


def test_new_threads_without_a_context(device, driver, late):
    seen = []

    def run():
        x = usmpy.zeros(N, dtype="float32", device=device)
        late[usmpy.Range(N)](x, N, 4.0, 0).wait()
        seen.append((x.tolist() == [4.0] * N, driver.current()))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(True, None)] * 8


def test_contexts_are_the_primary_ones(device, driver):
    assert device.context.native_handle == driver.context.value
    assert usmpy.Context.from_native("cuda", driver.context.value) == device.context
    assert device.native_handle == driver.device
