"""Kinds of memory on a GPU, memory that runs out, pointers and streams that are not what they should be."""

from __future__ import annotations

import gc
import re

import numpy as np
import producers
import pytest
from gpu_driver import DriverError

import usmpy


def test_kinds_of_memory(device):
    for kind in ("device", "shared", "host"):
        x = usmpy.arange(1000, dtype="int32", usm_type=kind, device=device)
        assert x.usm_type == kind
        assert x.asnumpy().tolist() == list(range(1000))
        if kind == "device":
            with pytest.raises(BufferError):
                memoryview(x)
        else:
            assert memoryview(x).tolist() == list(range(1000))
    assert device.has_usm_device
    assert device.has_usm_host
    assert device.has_usm_shared


def test_shared_and_pinned_memory_in_kernels(device, late):
    for kind in ("shared", "host"):
        x = usmpy.zeros(1024, dtype="float32", usm_type=kind, device=device)
        late[usmpy.Range(1024)](x, 1024, 2.0, 0).wait()
        assert np.asarray(memoryview(x)).tolist() == [2.0] * 1024


def test_copies_between_all_kinds_and_the_host(device):
    data = np.random.default_rng(1).integers(0, 255, 3 << 20, dtype=np.uint8)
    for source in ("device", "shared", "host"):
        for target in ("device", "shared", "host"):
            x = usmpy.empty(data.size, dtype="uint8", usm_type=source, device=device)
            x.queue.memcpy(x, data)
            y = usmpy.empty(data.size, dtype="uint8", usm_type=target, device=device)
            y.queue.memcpy(y, x)
            back = np.zeros_like(data)
            y.queue.memcpy(back, y).wait()
            np.testing.assert_array_equal(back, data, err_msg=f"{source} to {target}")


def test_pageable_memory_may_change_after_the_event(device):
    """memcpy from pageable memory: when its event has ended the source is the caller's again."""
    q = usmpy.Queue(device)
    source = np.zeros(16 << 20, dtype=np.uint8)
    x = usmpy.empty(source.size, dtype="uint8", queue=q)
    for i in range(1, 6):
        source[:] = i
        event = q.memcpy(x, source, blocking=False)
        event.wait()
        source[:] = 0
        assert set(np.unique(x.asnumpy())) == {i}


def test_facts_of_the_device(device, torch):
    assert device.backend == "cuda"
    assert device.device_type == "gpu"
    properties = torch.cuda.get_device_properties(0)
    assert device.name == properties.name
    assert device.global_mem_size == properties.total_memory
    assert device.max_compute_units == properties.multi_processor_count
    assert str(device.uuid) == str(properties.uuid)
    assert device.sub_group_sizes == (32,)
    assert device.max_work_group_size == 1024
    assert device.has_fp16
    assert device.has_fp64
    assert usmpy.Device(device.filter_string) == device
    assert re.fullmatch(r"\d+(\.\d+)*", device.driver_version)


# -- memory that runs out ----------------------------------------------------------------------------------


def test_too_much_memory_is_a_memory_error_with_sizes(device):
    before = usmpy.arange(10, dtype="int32", device=device)
    with pytest.raises(MemoryError, match=r"\d") as caught:
        usmpy.empty(1 << 45, dtype="uint8", device=device)
    text = str(caught.value)
    assert str(1 << 45) in text.replace(",", "") or "TiB" in text, text
    assert before.tolist() == list(range(10))
    assert usmpy.zeros(1000, device=device).tolist() == [0] * 1000


def test_the_pool_frees_blocks_for_another_size(device):
    """Blocks of three sizes, each of a third of the free memory; then one of nearly all of it."""
    share = device.global_mem_size // 4
    blocks = [usmpy.empty(share + i * 4096, dtype="uint8", device=device) for i in range(3)]
    device.queue.wait()
    del blocks
    gc.collect()
    whole = usmpy.empty(3 * share, dtype="uint8", device=device)
    whole.queue.fill(whole[: 1 << 20], 7).wait()
    assert whole[: 1 << 20].asnumpy().min() == 7
    del whole


def test_other_libraries_get_the_memory_that_we_no_longer_use(device, torch):
    """Blocks that were freed a moment ago must not stand in the way of another library for good."""
    size = device.global_mem_size // 4  # other processes may test on the same GPU
    big = usmpy.empty(size, dtype="uint8", device=device)
    with_it, _ = torch.cuda.mem_get_info()
    del big
    gc.collect()
    device.queue.wait()
    usmpy.trim(device)  # what usmpy keeps, and what the driver keeps for it
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    assert free > with_it + size // 2


# -- invalid pointers and streams --------------------------------------------------------------------------


def test_pointers_that_the_driver_does_not_know(device):
    for address in (0x7FFF_DEAD_0000, 4096):
        with pytest.raises((ValueError, BufferError, usmpy.UsmError)) as caught:
            usmpy.USMArray.from_pointer(address, (4,), "float32", queue=device.queue)
        assert f"{address:#x}" in str(caught.value)
    host = np.zeros(4, dtype="float32")
    producer, tensor = producers.producer((4,), "float32", data=host.ctypes.data, device=(2, 0))
    with pytest.raises(BufferError):
        usmpy.from_dlpack(producer).copy().wait()
    gc.collect()
    assert tensor.deleted == 1


def test_memory_beyond_an_allocation(device, driver):
    address = driver.allocate(4096)
    x = usmpy.USMArray.from_pointer(address, (1024,), "float32", queue=device.queue)
    assert x.usm_type == "device"
    x.queue.fill(x, 2.0).wait()
    with pytest.raises((ValueError, BufferError)):
        usmpy.USMArray.from_pointer(address, (1 << 40,), "uint8", queue=device.queue)
    del x
    driver.free(address)


def test_a_missing_device(device):
    producer, tensor = producers.producer((4,), "float32", device=(2, 63))
    with pytest.raises(BufferError, match="63"):
        usmpy.from_dlpack(producer)
    gc.collect()
    assert tensor.deleted in (0, 1)


def test_a_stream_of_another_context(device, driver, late):
    try:
        context = driver.create_context()
    except DriverError as error:
        pytest.skip(f"the driver makes no more contexts: {error}")
    stream = driver.create_stream(context)
    x = usmpy.zeros(32, dtype="float32", device=device)
    for use in (
        lambda: usmpy.Queue.from_stream(stream),
        lambda: usmpy.Queue.from_native("cuda", stream),
        lambda: device.queue.wait_for(stream),
        lambda: x.__dlpack__(stream=stream, max_version=(1, 0)),
        lambda: x.lend(stream).__enter__(),
    ):
        late[usmpy.Range(32)](x, 32, 5.0, 20_000_000)  # where nothing is pending no stream is looked at
        with pytest.raises((ValueError, BufferError, usmpy.UsmError), match="context"):
            use()
    with pytest.raises((ValueError, usmpy.UsmError), match="primary"):
        usmpy.Context.from_native("cuda", context)
    assert x.tolist() == [5.0] * 32
    driver.call("cuStreamDestroy_v2", producers.ctypes.c_void_p(stream))
    driver.call("cuCtxDestroy_v2", producers.ctypes.c_void_p(context))
