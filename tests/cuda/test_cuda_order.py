"""The order of work when arrays are handed over, on the device, in every protocol."""

from __future__ import annotations

import ctypes

import cuda_peers
import numpy as np
import producers
import pytest
from dlpack_type import DEFAULT_STREAMS, NO_STREAM

import usmpy

N = 1000
EVERY = [cuda_peers.Torch, cuda_peers.Cupy, cuda_peers.Dlpack, cuda_peers.Legacy]
# What enqueues anything, or waits.
ENQUEUES = ("cuEventRecord", "cuStreamWaitEvent", "cuMemcpyAsync", "cuLaunchKernel", "cuLaunchHostFunc")
WAITS = ("cuStreamSynchronize", "cuEventSynchronize", "cuCtxSynchronize")


@pytest.fixture
def queue(device):
    return device.queue


def counted(driver, names):
    return {name: driver.calls(name) for name in names}


# -- as consumer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_work_of_the_producer_comes_before_ours(peer, driver, queue, cls):
    """The call returns while the producer's kernel runs, and what we do with the array comes after it."""
    y = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    before = counted(driver, WAITS)
    theirs = peer.array(N, 7, cls=cls, late=True)
    x = usmpy.from_dlpack(theirs)
    queue.memcpy(y, x)
    assert driver.is_busy(theirs.stream)
    assert counted(driver, WAITS) == before
    assert (x.data_ptr, x.queue, x.usm_type) == (theirs.address, queue, "device")
    assert y.asnumpy().tolist() == [7] * N


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_the_host_reads_the_producers_writes(peer, cls):
    theirs = peer.array(N, 7, cls=cls, late=True)
    assert usmpy.from_dlpack(theirs).asnumpy().tolist() == [7] * N


def test_an_import_enqueues_nothing(peer, driver):
    theirs = peer.array(N, 7, cls=cuda_peers.Torch, late=True)
    before = counted(driver, (*ENQUEUES, *WAITS))
    x = usmpy.from_dlpack(theirs)
    del x
    assert counted(driver, (*ENQUEUES, *WAITS)) == before
    assert theirs.tensors[-1].deleted == 1


def test_an_import_from_a_temporary_stream_records_its_pending_work(peer, driver, queue):
    """No table told of the stream, so it may be destroyed before the array is used."""
    theirs = peer.array(N, 7, cls=cuda_peers.Cupy, late=True)
    names = ("cuEventRecord", "cuStreamWaitEvent", *WAITS)
    before = [driver.calls(name) for name in names]
    x = usmpy.from_dlpack(theirs)
    assert [driver.calls(name) for name in names] == [before[0] + 1, *before[1:]]
    driver.synchronize(theirs.stream)
    driver.destroy_stream(theirs.stream)
    peer.streams.clear()
    queue.fill(x, 3).wait()
    assert x.asnumpy().tolist() == [3] * N


@pytest.mark.parametrize("cls", [cuda_peers.Torch, cuda_peers.Cupy])
def test_the_first_use_of_finished_memory_enqueues_no_wait(peer, driver, queue, cls):
    theirs = peer.array(N, 7, cls=cls)
    driver.synchronize(theirs.stream)
    x = usmpy.from_dlpack(theirs)
    before = driver.calls("cuStreamWaitEvent")
    queue.fill(x, 3)
    queue.wait()
    assert driver.calls("cuStreamWaitEvent") == before


def test_a_producer_without_a_table_is_given_the_stream_of_the_queue_that_takes_the_array(peer, device):
    theirs = peer.array(N, 7, cls=cuda_peers.Dlpack)
    x = usmpy.from_dlpack(theirs)
    other = usmpy.Queue(device)
    y = usmpy.from_dlpack(theirs, device=usmpy.Device.create_device(other))
    assert theirs.calls == [device.queue.native_handle, other.native_handle]
    assert (x.queue, y.queue) == (device.queue, other)
    assert type(theirs.calls[0]) is int


def test_a_compiled_producer_is_passed_the_stream_that_it_names(peer):
    """It has nothing to enqueue then; the order is ours, and made at the first use."""
    theirs = peer.array(N, 7, cls=cuda_peers.Cupy)
    usmpy.from_dlpack(theirs)
    assert theirs.calls == ["interface", theirs.stream]


def test_an_old_producer_is_given_the_stream_alone(peer, queue):
    theirs = peer.array(N, 7, cls=cuda_peers.Legacy)
    usmpy.from_dlpack(theirs)
    usmpy.from_dlpack(theirs)
    assert theirs.calls == [queue.native_handle] * 2


def test_producers_on_the_cpu_are_given_no_stream(peer, queue):
    """Of a type with memory of both kinds; whichever comes first."""
    for order in ("host first", "device first"):

        class Both(cuda_peers.Dlpack):
            on_host = False

            def __dlpack_device__(self):
                return (1, 0) if self.on_host else self.dlpack_device

            def __dlpack__(self, **keywords):
                self.calls.append(keywords.get("stream", "none"))
                if self.on_host:
                    return producers.Tensor((3,), "int8", memory=b"abc").capsule()
                return self.tensor().capsule()

        theirs, host = peer.array(N, 7, cls=Both), peer.array(N, 7, cls=Both)
        host.on_host = True
        for producer in (host, theirs, host) if order == "host first" else (theirs, host, theirs):
            usmpy.from_dlpack(producer)
        # The first on the device was not known to be one, after a host array: it was asked again.
        asked = ["none", queue.native_handle] if order == "host first" else [queue.native_handle] * 2
        assert (theirs.calls, set(host.calls)) == (asked, {"none"}), order


def test_numpy_arrays_are_not_asked_where_they_are(peer):
    asked = []

    class Host(np.ndarray):
        def __dlpack_device__(self):
            asked.append(1)
            return super().__dlpack_device__()

    for _ in range(5):
        usmpy.from_dlpack(np.arange(3).view(Host))
    assert len(asked) == 1


def test_a_queue_of_several_streams_comes_after_the_producer(peer, device):
    queue = usmpy.Queue(device, in_order=False)
    for cls in EVERY:
        theirs = peer.array(N, 7, cls=cls, late=True)
        x = usmpy.from_dlpack(theirs, device=queue)
        copies = [usmpy.zeros(N, dtype="int8", queue=queue) for _ in range(8)]
        events = [queue.memcpy(copy, x) for copy in copies]
        usmpy.Event.wait_all(events)
        assert all(copy.tolist() == [7] * N for copy in copies)


def test_another_queue_comes_after_the_producer_too(peer, device):
    for cls in EVERY:
        theirs = peer.array(N, 7, cls=cls, late=True)
        x = usmpy.from_dlpack(theirs)
        other = usmpy.Queue(device)
        y = usmpy.zeros(N, dtype="int8", queue=other)
        other.memcpy(y, x)
        assert y.tolist() == [7] * N


# -- as producer -----------------------------------------------------------------------------------


def pending(queue, driver, value=7):
    """An array with a pending write after a slow kernel of ours."""
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    driver.late(queue.native_handle)
    queue.fill(x, value)
    return x


def seen_by(peer, x, stream):
    """The data that a copy in the stream reads."""
    theirs = cuda_peers.Array(peer, x.data_ptr, N, 0, "device")
    own, peer.streams = peer.streams, {0: stream}
    try:
        return theirs.read()
    finally:
        peer.streams = own


@pytest.mark.parametrize("how", ["pointer", *DEFAULT_STREAMS])
def test_the_consumers_stream_waits_for_our_work_on_the_device(peer, driver, queue, how):
    stream = peer.stream() if how == "pointer" else how
    x = pending(queue, driver)
    before = counted(driver, WAITS)
    capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    assert counted(driver, WAITS) == before
    assert not x.queue.barrier().done
    with driver.on(0):
        assert seen_by(peer, x, DEFAULT_STREAMS.get(stream, stream)) == b"\7" * N
    del capsule


def test_minus_one_asks_for_no_order(peer, driver, queue):
    x = pending(queue, driver)
    before = counted(driver, ("cuStreamWaitEvent", *WAITS))
    x.__dlpack__(stream=-1, max_version=(1, 0))
    assert counted(driver, ("cuStreamWaitEvent", *WAITS)) == before


def test_minus_one_with_copy_false_is_finished_data(peer, driver, queue):
    """mpi4py's request: an MPI library has no stream that could be made to wait."""
    x = pending(queue, driver)
    with driver.on(0):
        capsule = x.__dlpack__(stream=-1, max_version=(1, 0), copy=False)
        assert not driver.is_busy(queue.native_handle)
        assert seen_by(peer, x, peer.stream()) == b"\7" * N
    del capsule


@pytest.mark.parametrize("stream", ["pointer", *DEFAULT_STREAMS, -1])
def test_nothing_is_enqueued_where_nothing_is_pending(peer, driver, queue, stream):
    stream = peer.stream() if stream == "pointer" else stream
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    before = counted(driver, (*ENQUEUES, *WAITS))
    for _ in range(3):
        x.__dlpack__(stream=stream, max_version=(1, 0))
        x.__dlpack__(stream=stream, max_version=(1, 0), copy=False)
        x.__dlpack__(stream=stream)
    assert counted(driver, (*ENQUEUES, *WAITS)) == before


@pytest.mark.parametrize(
    ("stream", "error", "match"),
    [
        (NO_STREAM, ValueError, f"stream is {NO_STREAM}"),
        (-2, ValueError, "stream is -2"),
        (1 << 70, ValueError, "stream is"),
        (True, TypeError, "bool"),
        (1.0, TypeError, "float"),
        ("1", TypeError, "str"),
        (object(), TypeError, "object"),
    ],
)
@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_streams_that_cannot_be(queue, usm_type, stream, error, match):
    x = usmpy.zeros(3, queue=queue, usm_type=usm_type)
    with pytest.raises(error, match=match):
        x.__dlpack__(stream=stream)


def test_streams_of_another_device_and_other_objects_are_refused_by_name(peer, driver, queue):
    x = pending(queue, driver)
    with pytest.raises(ValueError, match="cuda:gpu:1"):
        x.__dlpack__(stream=peer.stream(1))


@pytest.mark.parametrize("usm_type", ["shared", "host"])
def test_managed_and_pinned_memory_without_a_stream_is_finished(driver, queue, usm_type):
    x = usmpy.zeros(N, dtype="int8", queue=queue, usm_type=usm_type)
    queue.wait()
    driver.late(queue.native_handle)
    event = queue.fill(x, 7)
    x.__dlpack__(max_version=(1, 0))
    assert event.done


@pytest.mark.parametrize("usm_type", ["shared", "host"])
def test_the_host_view_is_finished_and_has_no_stream(driver, queue, usm_type):
    x = usmpy.zeros(N, dtype="int8", queue=queue, usm_type=usm_type)
    queue.wait()
    driver.late(queue.native_handle)
    queue.fill(x, 7)
    assert np.from_dlpack(x, device="cpu").tolist() == [7] * N
    with pytest.raises(BufferError, match="no streams"):
        x.__dlpack__(stream=1, dl_device=(1, 0))


def test_memory_outlasts_the_consumers_work(peer, driver, queue):
    """The deleter runs while the consumer's kernel is pending: the block is not handed out meanwhile."""
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    address, stream = x.data_ptr, peer.stream()
    managed = producers.take(x.__dlpack__(stream=stream, max_version=(1, 0)))
    del x
    driver.late(stream)
    driver.fill(stream, address, N, 9)
    producers.delete(managed)
    other = usmpy.Queue(queue.device)
    later = [usmpy.empty(N, dtype="int8", queue=q) for q in (queue, other) for _ in range(3)]
    assert driver.is_busy(stream)
    assert address not in [y.data_ptr for y in later]


TOUCHES = (
    *ENQUEUES,
    *WAITS,
    "cuStreamQuery",
    "cuStreamIsCapturing",
    "cuStreamGetCtx",
    "cuStreamGetId",
    "cuStreamGetFlags",
)


def exported(peer, driver, queue, stream):
    """The address of an array that only its consumer has, who works on it, and its tensor."""
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    managed = producers.take(x.__dlpack__(stream=stream, max_version=(1, 0)))
    driver.late(stream)
    driver.fill(stream, x.data_ptr, N, 9)
    return x.data_ptr, managed


@pytest.mark.parametrize("kept", [True, False])
def test_a_deleter_makes_no_call_about_the_stream(peer, driver, queue, kept):
    stream = peer.stream()
    x = usmpy.zeros(N, dtype="int8", queue=queue)
    queue.wait()
    managed = producers.take(x.__dlpack__(stream=stream, max_version=(1, 0)))
    driver.late(stream)
    driver.fill(stream, x.data_ptr, N, 9)
    if not kept:
        del x
    before = counted(driver, TOUCHES)
    producers.delete(managed)
    assert counted(driver, TOUCHES) == before
    assert driver.is_busy(stream)
    assert not kept or x.tolist() == [9] * N


def test_the_stream_may_be_destroyed_before_the_deleter(peer, driver, queue):
    """The memory waits for the device, which `trim` does, and for no stream."""
    stream = driver.stream()
    address, managed = exported(peer, driver, queue, stream)
    driver.synchronize(stream)
    driver.destroy_stream(stream)
    producers.delete(managed)
    assert usmpy.empty(N, dtype="int8", queue=queue).data_ptr != address
    held = usmpy.memory_stats(queue.device)["held"]
    usmpy.trim()
    assert usmpy.memory_stats(queue.device)["held"] < held


def test_a_block_is_used_again_once_its_stream_is_named_again(peer, driver, queue):
    stream = peer.stream()
    address, managed = exported(peer, driver, queue, stream)
    producers.delete(managed)
    driver.synchronize(stream)
    assert usmpy.empty(N, dtype="int8", queue=queue).data_ptr != address
    other = usmpy.zeros(N, dtype="int8", queue=queue)
    other.wait()
    other.__dlpack__(stream=stream, max_version=(1, 0))
    assert usmpy.empty(N, dtype="int8", queue=queue).data_ptr == address


def test_copy_true_is_a_copy_in_the_consumers_order(peer, driver, queue):
    x = pending(queue, driver)
    capsule = x.__dlpack__(stream=peer.stream(), max_version=(1, 0), copy=True)
    managed = producers.peek(capsule)
    assert managed.flags & producers.IS_COPIED
    address = managed.dl_tensor.data
    assert address != x.data_ptr
    copy = cuda_peers.Array(peer, address, N, 0, "device")
    assert driver.is_busy(peer.stream())
    assert copy.read() == b"\7" * N
    del capsule, managed


# -- our table -------------------------------------------------------------------------------------


def table_functions():
    table = producers.our_table()
    return (
        producers.FROM_PY_OBJECT(table.managed_tensor_from_py_object_no_sync),
        producers.LEND(table.dltensor_from_py_object_no_sync),
        producers.WORK_STREAM(table.current_work_stream),
    )


def test_our_table_names_the_stream_of_the_cached_queue(device):
    stream = ctypes.c_void_p()
    for each in usmpy.get_devices("cuda"):
        number = each.dlpack_device[1]
        assert table_functions()[2](cuda_peers.CUDA, number, ctypes.byref(stream)) == 0
        assert stream.value == each.queue.native_handle
    with pytest.raises(BufferError):
        table_functions()[2](cuda_peers.CUDA, 77, ctypes.byref(stream))


@pytest.mark.parametrize("whose", ["cached", "another"])
def test_consumers_of_our_table_work_in_its_stream(peer, driver, device, whose):
    """Work of any queue comes before, without a wait on the host; and memory outlasts what follows."""
    queue = device.queue if whose == "cached" else usmpy.Queue(device)
    x = pending(queue, driver)
    before = counted(driver, (*WAITS, "cuStreamWaitEvent"))
    tensor = ctypes.c_void_p()
    assert table_functions()[0](x, ctypes.byref(tensor)) == 0
    after = counted(driver, (*WAITS, "cuStreamWaitEvent"))
    assert [name for name in after if after[name] != before[name]] == (
        [] if whose == "cached" else ["cuStreamWaitEvent"]
    )
    assert seen_by(peer, x, device.queue.native_handle) == b"\7" * N
    producers.DELETER(producers.DLManagedTensorVersioned.from_address(tensor.value).deleter)(tensor.value)


def test_a_loan_from_our_table_is_work_on_the_array(driver, device):
    """A kernel that another library put into our stream is ordered before later uses in other queues."""
    x = usmpy.zeros(N, dtype="int8", device=device)
    x.wait()
    loan = producers.DLTensor()
    assert table_functions()[1](x, loan) == 0
    driver.late(device.queue.native_handle)
    driver.fill(device.queue.native_handle, loan.data, N, 9)
    other = usmpy.Queue(device)
    y = usmpy.zeros(N, dtype="int8", queue=other)
    other.memcpy(y, x)
    assert driver.is_busy(device.queue.native_handle)
    assert y.tolist() == [9] * N
    address = x.data_ptr
    assert table_functions()[1](x, loan) == 0
    driver.late(device.queue.native_handle)
    driver.fill(device.queue.native_handle, loan.data, N, 1)
    del x, loan
    z = usmpy.empty(N, dtype="int8", queue=other)
    assert z.data_ptr != address
    device.queue.wait()
