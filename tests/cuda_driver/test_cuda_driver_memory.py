"""The CUDA driver in software: allocations, pools, pointers, copies and fills."""

from __future__ import annotations

import ctypes
import signal

import numpy as np
import pytest
from cuda_calls import INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY, pointer, size_t, u64

# Memory.


@pytest.mark.not_sanitized("ends a process by a signal, which sanitizers take")
def test_memory_of_the_device_is_not_the_hosts(driver, script):
    memory = driver.put(np.arange(100, dtype="int32"))
    assert driver.get(memory, 100, "int32").tolist() == list(range(100))
    driver.call("cuMemFree", memory)
    done = script(
        """
        driver.call("cuInit", 0)
        driver.call("cuCtxPushCurrent", driver.out(pointer, "cuDevicePrimaryCtxRetain", 0))
        memory = driver.allocate(100)
        print("allocated", flush=True)
        ctypes.string_at(memory.value, 4)
        """
    )
    assert (done.stdout, done.returncode) == ("allocated\n", -signal.SIGSEGV)


def test_pinned_and_managed_memory_is_the_hosts_too(driver):
    pinned = driver.out(pointer, "cuMemHostAlloc", size_t(100), 0)
    managed = driver.out(u64, "cuMemAllocManaged", size_t(100), 1)
    device = driver.put(np.arange(25, dtype="int32"))
    driver.call("cuMemcpyAsync", u64(pinned.value), device, size_t(100), None)
    driver.call("cuMemcpyAsync", managed, u64(pinned.value), size_t(100), None)
    driver.call("cuStreamSynchronize", None)
    seen = np.ctypeslib.as_array(ctypes.cast(managed.value, ctypes.POINTER(ctypes.c_int32)), (25,))
    assert seen.tolist() == list(range(25))
    driver.call("cuMemFreeHost", pinned)
    driver.call("cuMemFree", managed)
    driver.call("cuMemFree", device)


def test_new_memory_holds_no_zeros(driver):
    memory = driver.allocate(1000)
    assert driver.get(memory, 1000, "uint8").all()
    driver.call("cuMemFree", memory)


def attributes(driver, address):
    kinds = {
        1: pointer,  # context
        2: ctypes.c_uint,  # type of memory
        8: ctypes.c_uint,  # managed
        9: ctypes.c_int,  # device
        11: u64,  # start
        12: size_t,  # size
    }
    values = [kind() for kind in kinds.values()]
    driver.call(
        "cuPointerGetAttributes",
        len(kinds),
        (ctypes.c_int * len(kinds))(*kinds),
        (pointer * len(kinds))(*map(ctypes.addressof, values)),
        u64(address),
    )
    return [value.value for value in values]


def test_attributes_of_pointers(driver, primary):
    device = driver.allocate(1000)
    pinned = driver.out(pointer, "cuMemHostAlloc", size_t(100), 0)
    managed = driver.out(u64, "cuMemAllocManaged", size_t(100), 1)
    context = primary[0].value
    assert attributes(driver, device.value + 10) == [context, 2, 0, 0, device.value, 1000]
    assert attributes(driver, pinned.value + 99) == [context, 1, 0, 0, pinned.value, 100]
    assert attributes(driver, managed.value) == [context, 2, 1, 0, managed.value, 100]
    assert attributes(driver, device.value + 1000) == [None, 0, 0, -2, 0, 0]
    assert attributes(driver, id(driver)) == [None, 0, 0, -2, 0, 0]
    assert driver.code("cuPointerGetAttribute", ctypes.byref(u64()), 2, u64(id(driver))) == INVALID_VALUE
    start, size = u64(), size_t()
    driver.call("cuMemGetAddressRange", ctypes.byref(start), ctypes.byref(size), u64(device.value + 500))
    assert (start.value, size.value) == (device.value, 1000)
    driver.call("cuMemFree", device)
    driver.call("cuMemFreeHost", pinned)
    driver.call("cuMemFree", managed)


def test_memory_runs_out_and_comes_back(driver):
    free, total = size_t(), size_t()
    driver.call("cuMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    assert driver.code("cuMemAlloc", ctypes.byref(u64()), size_t(free.value + 1)) == OUT_OF_MEMORY
    for _ in range(3):
        driver.call("cuMemFree", driver.allocate(free.value))


def test_pools_keep_memory_up_to_their_threshold(driver):
    properties = (ctypes.c_ubyte * 88)()
    ctypes.memmove(properties, (ctypes.c_int * 4)(1, 0, 1, 0), 16)  # pinned, no handles, device 0
    pool = driver.out(pointer, "cuMemPoolCreate", properties)

    def held(which):
        return driver_pool(driver, pool, which)

    memory = u64()
    driver.call("cuMemAllocFromPoolAsync", ctypes.byref(memory), size_t(1 << 20), pool, None)
    driver.call("cuMemPoolSetAttribute", pool, 4, ctypes.byref(u64(2**64 - 1)))
    driver.call("cuMemFreeAsync", memory, None)
    driver.call("cuStreamSynchronize", None)
    assert (held(7), held(5)) == (0, 1 << 20)  # used, reserved
    driver.call("cuMemPoolTrimTo", pool, size_t(0))
    assert held(5) == 0
    driver.call("cuMemPoolDestroy", pool)


def driver_pool(driver, pool, which):
    value = u64()
    driver.call("cuMemPoolGetAttribute", pool, which, ctypes.byref(value))
    return value.value


def test_memory_is_freed_in_the_order_of_the_stream(driver):
    stream = driver.stream()
    memory, copied = u64(), driver.allocate(400)
    driver.call("cuMemAllocAsync", ctypes.byref(memory), size_t(400), stream)
    with driver.held():
        driver.call("cuMemsetD32Async", memory, 7, size_t(100), stream)
        driver.call("cuMemcpyAsync", copied, memory, size_t(400), stream)
        driver.call("cuMemFreeAsync", memory, stream)
        assert driver.code("cuMemcpyAsync", copied, memory, size_t(4), stream) == INVALID_VALUE
    driver.call("cuStreamSynchronize", stream)
    assert driver.get(copied, 100, "int32").tolist() == [7] * 100
    driver.call("cuMemFree", copied)
    driver.call("cuStreamDestroy", stream)


def test_freed_memory_is_detected(opened, primary, capfd):
    before = opened.counts()["misuses"]
    with opened.current(primary[0]):
        memory, stream, event = opened.allocate(100), opened.stream(), opened.event()
        opened.call("cuMemFree", memory)
        opened.call("cuStreamDestroy", stream)
        opened.call("cuEventDestroy", event)
        assert opened.code("cuMemFree", memory) == INVALID_VALUE
        assert opened.code("cuStreamQuery", stream) == INVALID_HANDLE
        assert opened.code("cuEventQuery", event) == INVALID_HANDLE
        assert opened.code("cuMemsetD8Async", memory, 0, size_t(1), None) == INVALID_VALUE
    assert opened.counts()["misuses"] == before + 3
    assert b"event" in opened.library.cudasim_misuse()
    assert capfd.readouterr().err.count("cudasim: ") == 3


# Copies and fills.


def test_copies_stay_inside_of_allocations(driver):
    memory, host = driver.allocate(100), np.zeros(200, "uint8")
    at = u64(host.ctypes.data)
    assert driver.code("cuMemcpyAsync", memory, at, size_t(101), None) == INVALID_VALUE
    assert driver.code("cuMemcpyAsync", u64(memory.value + 50), at, size_t(51), None) == INVALID_VALUE
    assert driver.code("cuMemsetD32Async", memory, 0, size_t(26), None) == INVALID_VALUE
    assert driver.code("cuMemsetD32Async", u64(memory.value + 1), 0, size_t(2), None) == INVALID_VALUE
    assert driver.code("cuMemsetD8Async", at, 0, size_t(1), None) == INVALID_VALUE  # the host's
    assert driver.code("cuMemcpyAsync", memory, u64(0), size_t(0), None) == 0
    driver.call("cuMemFree", memory)


@pytest.mark.parametrize("n", [1000, 1 << 20])
def test_pageable_memory_is_read_before_the_call_returns(driver, n):
    stream, memory = driver.stream(), driver.allocate(n)
    host = np.arange(n, dtype="uint8")
    driver.call("cuMemcpyAsync", memory, u64(host.ctypes.data), size_t(n), stream)
    expected = host.copy()
    host[:] = 0
    driver.call("cuStreamSynchronize", stream)
    assert (driver.get(memory, n, "uint8") == expected).all()
    driver.call("cuMemcpyAsync", u64(host.ctypes.data), memory, size_t(n), stream)
    assert (host == expected).all()  # and written
    driver.call("cuMemFree", memory)
    driver.call("cuStreamDestroy", stream)


def test_copies_between_devices(driver, primary):
    here = driver.put(np.arange(10, dtype="int32"))
    with driver.current(primary[1]):
        there = driver.allocate(40)
        driver.call("cuMemcpyPeerAsync", there, primary[1], here, primary[0], size_t(40), None)
        driver.call("cuStreamSynchronize", None)
        assert driver.get(there, 10, "int32").tolist() == list(range(10))
        code = driver.code("cuMemcpyPeerAsync", there, primary[0], here, primary[0], size_t(40), None)
        assert code == INVALID_VALUE
        driver.call("cuMemFree", there)
    driver.call("cuMemFree", here)
