"""Two GPUs: ids, placement, copies from one to the other, and whatever GPU is current."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest
from gpu_driver import LATE, LATE_PARAMETERS, SOFTWARE, Driver

import usmpy

N = 64 if SOFTWARE else 1 << 16


@pytest.fixture(scope="module")
def drivers(two_gpus):
    return [Driver(0), Driver(1)]


@pytest.fixture(autouse=True)
def quiet(two_gpus, drivers):
    yield
    for driver in drivers:
        driver.synchronize()


def test_ids(two_gpus, torch):
    for i, gpu in enumerate(two_gpus):
        assert gpu.filter_string == f"cuda:gpu:{i}"
        assert gpu.dlpack_device == (2, i)
        x = usmpy.arange(10, device=gpu)
        assert tuple(x.__dlpack_device__()) == (2, i)
        assert torch.from_dlpack(x).device.index == i
        assert x.device == gpu
    assert two_gpus[0] != two_gpus[1]
    assert two_gpus[0].uuid != two_gpus[1].uuid
    assert two_gpus[0].queue != two_gpus[1].queue
    assert two_gpus[0].context != two_gpus[1].context


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("where", [0, 1])
def test_imports_with_any_current_gpu(two_gpus, cupy, torch, current, where):
    with cupy.cuda.Device(where):
        theirs = cupy.arange(100, dtype="float32")
        cupy.cuda.runtime.deviceSynchronize()
    tensor = torch.arange(100, dtype=torch.float32, device=f"cuda:{where}")
    torch.cuda.synchronize(where)
    with cupy.cuda.Device(current), torch.cuda.device(current):
        for array, address in ((tensor, tensor.data_ptr()), (theirs, theirs.data.ptr)):
            x = usmpy.from_dlpack(array)
            assert x.queue is two_gpus[where].queue
            assert x.data_ptr == address
            assert x.copy().tolist() == list(range(100))
        assert cupy.cuda.runtime.getDevice() == current
        assert torch.cuda.current_device() == current


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("where", [0, 1])
def test_exports_with_any_current_gpu(two_gpus, torch, current, where):
    x = usmpy.arange(100, dtype="float32", device=two_gpus[where])
    with torch.cuda.device(current):
        tensor = torch.from_dlpack(x)
        assert tensor.device.index == where
        assert tensor.data_ptr() == x.data_ptr
        assert torch.cuda.current_device() == current
    assert tensor.tolist() == list(range(100))


def test_a_late_producer_on_the_other_gpu(two_gpus, drivers, torch):
    tensor = torch.zeros(N, device="cuda:1")
    stream = torch.cuda.Stream(device=1)
    torch.cuda.synchronize(1)
    with torch.cuda.stream(stream):
        drivers[1].delay(stream.cuda_stream, 0.5)
        drivers[1].add(stream.cuda_stream, tensor.data_ptr(), N, 1)
        x = usmpy.from_dlpack(tensor)
    y = x.to_device(two_gpus[0])
    assert not drivers[1].idle(stream.cuda_stream)
    assert y.device == two_gpus[0]
    assert y.tolist() == [1.0] * N


@pytest.mark.parametrize("memory", [0, 1])
def test_the_connection_agrees_with_the_driver(two_gpus, torch, memory):
    """Device memory: peer access, per direction. Pinned and managed memory: all GPUs use it in place."""
    user = 1 - memory
    peer = torch.cuda.can_device_access_peer(user, memory)
    unified, migratable = usmpy.MemoryConnection.UNIFIED, usmpy.MemoryConnection.MIGRATABLE
    answer = usmpy.memory_connection(two_gpus[memory], two_gpus[user])
    assert answer is (unified if peer else migratable)
    for kind in ("shared", "host"):
        x = usmpy.arange(N, dtype="float32", usm_type=kind, device=two_gpus[memory])
        assert usmpy.memory_connection(x, two_gpus[user]) is unified
        view = usmpy.from_dlpack(x, device=two_gpus[user], copy=False)
        assert view.data_ptr == x.data_ptr
        assert view.copy().tolist() == list(range(N))


def where_is(driver, address):
    ordinal = ctypes.c_int()
    driver.call_entered("cuPointerGetAttribute", ctypes.byref(ordinal), 9, ctypes.c_uint64(address))
    return ordinal.value


@pytest.mark.parametrize("theirs", ["usmpy", "torch", "cupy"])
@pytest.mark.parametrize("memory", [0, 1])
def test_moves_between_gpus_copy_and_peer_views_are_asked_for(two_gpus, drivers, torch, cupy, theirs, memory):
    here, there = two_gpus[memory], two_gpus[1 - memory]
    with cupy.cuda.Device(memory):
        makers = {
            "usmpy": lambda: usmpy.arange(N, dtype="float32", device=here),
            "torch": lambda: torch.arange(N, dtype=torch.float32, device=f"cuda:{memory}"),
            "cupy": lambda: cupy.arange(N, dtype="float32"),
        }
        source = makers[theirs]()
    x = usmpy.from_dlpack(source)
    for moved in (
        x.to_device(there),
        usmpy.from_dlpack(source, device=there),
        usmpy.from_dlpack(source, device=there.dlpack_device),
        usmpy.asarray(source, device=there),
    ):
        assert moved.device == there
        assert where_is(drivers[0], moved.data_ptr) == 1 - memory
        assert tuple(moved.__dlpack_device__()) == there.dlpack_device
        assert moved.tolist() == list(range(N))
    if usmpy.memory_connection(here, there) is usmpy.MemoryConnection.UNIFIED:
        view = usmpy.from_dlpack(source, device=there, copy=False)
        assert (view.device, view.data_ptr) == (there, x.data_ptr)
        assert tuple(view.__dlpack_device__()) == here.dlpack_device
        assert view.copy().tolist() == list(range(N))  # a kernel or copy of the other GPU
    else:
        with pytest.raises(BufferError, match="copy=False"):
            usmpy.from_dlpack(source, device=there, copy=False)


@pytest.mark.parametrize("nbytes", [1, 8 << 10, 100 << 20])
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_copies_from_one_gpu_to_the_other(two_gpus, nbytes, kind):
    data = np.random.default_rng(3).integers(0, 255, nbytes, dtype=np.uint8)
    x = usmpy.empty(nbytes, dtype="uint8", usm_type=kind, device=two_gpus[0])
    x.queue.memcpy(x, data)
    y = x.to_device(two_gpus[1])
    assert y.queue is two_gpus[1].queue
    z = usmpy.empty(nbytes, dtype="uint8", device=two_gpus[0])
    usmpy.copyto(z, y)
    np.testing.assert_array_equal(y.asnumpy(), data)
    np.testing.assert_array_equal(z.asnumpy(), data)


def test_a_copy_between_gpus_is_ordered_on_both_sides(two_gpus):
    kernels = [
        usmpy.Program(LATE, device=gpu, language="ptx")["late"].with_parameters(LATE_PARAMETERS)
        for gpu in two_gpus
    ]
    x = usmpy.zeros(N, dtype="float32", device=two_gpus[0])
    event = kernels[0][usmpy.Range(N)](x, N, 3.0, 300_000_000)
    y = usmpy.empty(N, dtype="float32", device=two_gpus[1])
    copied = y.queue.memcpy(y, x)
    kernels[0][usmpy.Range(N)](x, N, 5.0, 0)  # behind the copy, which reads
    assert not copied.done
    assert not event.done
    kernels[1][usmpy.Range(N)](y, N // 2, 7.0, 0)
    found = y.asnumpy()
    assert set(found[: N // 2]) == {7.0}
    assert set(found[N // 2 :]) == {3.0}
    assert set(x.tolist()) == {5.0}


def test_kernels_with_arrays_of_both_gpus_name_each_placement(two_gpus, late_copy):
    x = usmpy.zeros(16, dtype="float32", device=two_gpus[0])
    y = usmpy.zeros(16, dtype="float32", device=two_gpus[1])
    with pytest.raises(usmpy.ExecutionPlacementError, match="cuda:gpu:1"):
        late_copy[usmpy.Range(16)](x, y, 16, 0)


def test_a_context_over_both(two_gpus):
    context = usmpy.Context(two_gpus)
    queues = [usmpy.Queue(gpu, context=context) for gpu in two_gpus]
    x = usmpy.arange(100, dtype="int32", queue=queues[0])
    y = usmpy.zeros(100, dtype="int32", queue=queues[1])
    queues[1].memcpy(y, x).wait()
    assert y.tolist() == list(range(100))
    assert context.devices == list(two_gpus)


def test_frees_leave_the_current_gpu(two_gpus, cupy):
    x = usmpy.zeros(N, device=two_gpus[1])
    with cupy.cuda.Device(0):
        del x
        gc.collect()
        assert cupy.cuda.runtime.getDevice() == 0
        usmpy.zeros(N, device=two_gpus[1]).wait()
        assert cupy.cuda.runtime.getDevice() == 0


def test_streams_of_the_other_gpu(two_gpus, cupy):
    with cupy.cuda.Device(1):
        stream = cupy.cuda.Stream(non_blocking=True)
    q = usmpy.Queue.from_stream(stream)
    assert q.device.filter_string == "cuda:gpu:1"
    assert usmpy.ones(5, queue=q).tolist() == [1.0] * 5
    x = usmpy.zeros(4, device=two_gpus[0])
    with x.lend(stream) as pointer:  # kernels of the other GPU use it in place
        assert pointer == x.data_ptr
    assert x.tolist() == [0.0] * 4
