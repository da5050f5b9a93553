"""Arrow's C device data interface on a GPU: the event that orders both sides, and pyarrow."""

from __future__ import annotations

import ctypes
import gc
import importlib.util

import numpy as np
import pytest
from arrow_structures import move, release, structure
from gpu_driver import NOT_READY

import usmpy

N = 1 << 10
LATE_NS = 300_000_000


class Pair:
    """Hands out the structures of the interface, and nothing else."""

    def __init__(self, capsules):
        self.capsules = capsules

    def __arrow_c_device_array__(self, requested_schema=None, **_):
        return self.capsules


@pytest.fixture(scope="session")
def pa(gpus):
    return pytest.importorskip("pyarrow")


@pytest.fixture
def pending(device, late):
    """An array of the GPU's memory that a kernel fills with 7 later on."""
    queue = usmpy.Queue(device)
    x = usmpy.zeros(N, dtype="float32", queue=queue)
    x.wait()
    late[usmpy.Range(N)](x, N, 7.0, LATE_NS)
    return x


def test_a_consumer_waits_for_pending_work_on_the_gpu(driver, pending):
    capsules = pending.__arrow_c_device_array__()
    whole = move(structure(capsules[1]))
    event = ctypes.c_void_p.from_address(whole.sync_event)
    assert (whole.device_type, whole.device_id) == (2, 0)
    assert driver.code("cuEventQuery", event) == NOT_READY, "the export waited"
    del pending, capsules
    gc.collect()
    out = np.zeros(N, "float32")
    with driver.stream() as stream:
        driver.call_entered("cuStreamWaitEvent", ctypes.c_void_p(stream), event, 0)
        driver.add(stream, whole.array.buffers[1], N, 1.0)
        driver.synchronize(stream)
    source = ctypes.c_uint64(whole.array.buffers[1])
    driver.call_entered("cuMemcpyDtoH_v2", ctypes.c_void_p(out.ctypes.data), source, out.nbytes)
    assert set(out.tolist()) == {8.0}
    release(whole)


def test_an_import_is_ordered_after_the_event(pending):
    copied = usmpy.from_arrow(Pair(pending.__arrow_c_device_array__()))
    assert copied.data_ptr == pending.data_ptr
    assert not pending.queue.barrier().done, "the import waited"
    assert (copied + 1).tolist() == [8.0] * N


def test_finished_data_have_no_event(device):
    x = usmpy.ones(N, dtype="int16", device=device)
    x.wait()
    capsules = x.__arrow_c_device_array__()
    assert structure(capsules[1]).sync_event is None
    assert usmpy.from_arrow(Pair(capsules)).tolist() == [1] * N


@pytest.mark.parametrize("kind", ["shared", "host"])
def test_pyarrow_reads_what_the_host_can_read_in_place(pa, device, kind):
    x = usmpy.arange(N, dtype="int32", device=device, usm_type=kind)
    theirs = pa.array(x)
    theirs.validate(full=True)
    assert theirs.buffers()[1].address == x.data_ptr
    assert theirs.to_pylist() == list(range(N))
    del x
    gc.collect()
    assert theirs[N - 1].as_py() == N - 1


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_arrays_of_pyarrow_are_copied_to_the_gpu(pa, device, dtype):
    values = np.arange(100).astype(dtype)
    x = usmpy.from_arrow(pa.array(values)[10:], device=device)
    assert (x.device, x.usm_type, x.dtype.name) == (device, "device", dtype)
    assert x.tolist() == values[10:].tolist()


def test_memory_of_the_gpu_and_pyarrow(pa, device):
    """pyarrow's wheels are built without CUDA and refuse the memory; other builds take it."""
    x = usmpy.arange(N, dtype="int32", device=device)
    if importlib.util.find_spec("pyarrow._cuda") is None:
        with pytest.raises((pa.ArrowException, NotImplementedError, TypeError, ValueError)):
            pa.array(x)
    else:
        theirs = pa.array(x)
        assert theirs.buffers()[1].address == x.data_ptr
        assert not theirs.buffers()[1].is_cpu
    assert x.tolist() == list(range(N))
    assert pa.array(x.to_device("host")).to_pylist() == list(range(N))
