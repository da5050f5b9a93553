"""What the specifications of the exchange say or leave open, one test each: DLPack 1.3 and the array API
standard 2025.12, and what bit users of other libraries. The numbers are those of the
list they were collected in.

Left out here, since they need a driver:

=====  =====================================================================================================
S1-S3  CUDA streams: None, 0, 1, 2, -1 and pointers (what memory of the CPU does with them is S4)
S6     `copy=False` where the memory must move: on the host every placement can use every other's in place
S17    managed and pinned memory
S26    the ordinal of a oneAPI device (what is refused without such a device is here)
S27    queue objects as streams of oneAPI devices
S28    two GPUs and the current device
S32    CUDA host functions that carry no status
S34    handles for other processes
S35    a driver that somebody else started before a fork
S36    OpenCL callbacks that fire inside the caller
S37    launches with a pointer of another context
=====  =====================================================================================================
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import ordering
import producers
import pytest
from asleep import once_asleep
from producers import CPU, IS_COPIED, READ_ONLY, Producer, Tensor, capsule_name, peek

import usmpy


def run_script(text, timeout=60):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(text)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_s04_stream_on_cpu_export_is_none_or_minus_one_and_never_sent():
    x = usmpy.zeros(3)
    for stream in (None, -1):
        assert capsule_name(x.__dlpack__(stream=stream)) == "dltensor"
    for stream in (0, 1, 2, 12345):
        with pytest.raises(BufferError, match="stream"):
            x.__dlpack__(stream=stream)
    producer, _ = producers.producer()
    usmpy.from_dlpack(producer)
    assert "stream" not in producer.calls[0]


def test_s05_the_host_view_waits_and_the_device_of_the_capsule_is_believed():
    x = usmpy.zeros(3, dtype="int64")
    go = threading.Event()
    x.queue.host_task(lambda x: go.wait(60), x)
    once_asleep(go.set)
    assert peek(x.__dlpack__(dl_device=(CPU, 0))).dl_tensor.describe()["device"] == (CPU, 0)
    assert go.is_set()
    # A producer that says one device and hands out another: the capsule counts.
    tensor = Tensor(device=(CPU, 0))
    liar = Producer(tensor.capsule, device=(2, 5))
    assert usmpy.from_dlpack(liar).queue is usmpy.Device("host:cpu:0").queue
    tensor = Tensor(device=(2, 5))
    with pytest.raises(BufferError):
        usmpy.from_dlpack(Producer(tensor.capsule, device=(CPU, 0)))
    assert tensor.deleted == 1


def test_s06_an_impossible_view_is_buffer_error_for_every_copy():
    x = usmpy.zeros(3)
    for copy in (None, False, True):
        with pytest.raises(BufferError):
            x.__dlpack__(dl_device=(2, 0), copy=copy)
    with pytest.raises(BufferError):
        usmpy.from_dlpack(x, device=(2, 0), copy=False)


def test_s07_copy_true_is_marked_writable_and_the_consumers_alone():
    x = usmpy.broadcast_to(usmpy.arange(3, dtype="int32"), (2, 3))
    managed = peek(capsule := x.__dlpack__(max_version=(1, 0), copy=True))
    assert managed.flags == IS_COPIED
    (ctypes.c_int32 * 6).from_address(managed.dl_tensor.data)[0] = 9
    assert x.tolist() == [[0, 1, 2]] * 2
    del capsule


@pytest.mark.parametrize(
    ("max_version", "versioned"),
    [
        (None, 0),
        ((0, 0), 0),
        ((0, 8), 0),
        ((-1, 0), 0),
        ((1, 0), 1),
        ((1, 99), 1),
        ((2, 0), 1),
        ((10**20, 0), 1),
    ],
    ids=str,
)
def test_s08_max_version_names_the_capsule_and_our_own_version_is_in_it(max_version, versioned):
    capsule = usmpy.zeros(3).__dlpack__(max_version=max_version)
    assert capsule_name(capsule) == ("dltensor_versioned" if versioned else "dltensor")
    if versioned:
        assert (peek(capsule).version.major, peek(capsule).version.minor) == (1, 3)
    with pytest.raises(TypeError):
        usmpy.zeros(3).__dlpack__(max_version=list(max_version or (1, 0)))


def test_s09_of_a_foreign_major_version_only_the_deleter_is_called():
    producer, tensor = producers.producer(version=(2, 0), data=8, shape=None, ndim=99)
    with pytest.raises(BufferError, match=r"2\.0"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


def test_s10_an_older_producer_is_asked_again_and_its_capsule_checked_by_name():
    tensor = Tensor(versioned=False)
    old = producers.OldProducer(tensor.capsule)
    assert usmpy.from_dlpack(old).shape == (3,)
    assert old.calls == 1
    with pytest.raises(BufferError, match="neither"):
        usmpy.from_dlpack(producers.OldProducer(lambda: Tensor().capsule("neither")))
    producers._live.clear()


def test_s11_read_only_for_a_legacy_consumer_is_refused_and_a_legacy_capsule_is_writable():
    x = usmpy.broadcast_to(usmpy.zeros(3), (2, 3))
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    producer, _ = producers.producer(versioned=False)
    assert usmpy.from_dlpack(producer).flags.writable
    producer, _ = producers.producer(flags=READ_ONLY)
    assert not usmpy.from_dlpack(producer).flags.writable


def test_s12_strides_are_never_null_on_export_and_may_be_on_import():
    for shape in ((3,), (2, 3), (0,), (1, 1), (2, 0, 3)):
        assert peek(usmpy.zeros(shape).__dlpack__()).dl_tensor.strides
        producer, _ = producers.producer(shape, strides=None)
        assert usmpy.from_dlpack(producer).flags.c_contiguous
    producer, _ = producers.producer(None, strides=None, ndim=0, memory=4)
    assert usmpy.from_dlpack(producer).shape == ()


def test_s13_length_one_has_stride_one_and_any_stride_is_taken_there():
    x = usmpy.zeros((4, 5, 6))[:, 2:3, :1]
    assert peek(x.__dlpack__()).dl_tensor.describe()["strides"] == (30, 1, 1)
    producer, _ = producers.producer((1, 3, 1), strides=(2**62, 1, -(2**62)))
    y = usmpy.from_dlpack(producer)
    assert y.flags.c_contiguous
    assert y.flags.f_contiguous
    odd = (
        ctypes.c_char * 64
    )()  # a byte stride that is not a multiple of the item size, on an axis of length 1
    a = np.ndarray((1, 2), "f4", odd, strides=(3, 4))
    assert usmpy.asarray(a).shape == (1, 2)
    odd = np.ndarray((2, 2), "f4", odd, strides=(3, 4))
    for share in (usmpy.from_dlpack, lambda x: usmpy.asarray(x, copy=False)):
        with pytest.raises((BufferError, ValueError), match=r"multiple|leave copy out"):
            share(odd)
    assert usmpy.asarray(odd).tolist() == odd.tolist()


def test_s14_size_zero_has_no_pointer_and_is_contiguous_both_ways():
    assert peek(usmpy.zeros((2, 0)).__dlpack__()).dl_tensor.data is None
    for data in (0, 1, 2**47):
        producer, _ = producers.producer((2, 0), data=data, strides=(-7, 11))
        x = usmpy.from_dlpack(producer)
        assert (x.flags.c_contiguous, x.flags.f_contiguous, x.tolist()) == (True, True, [[], []])


def test_s15_byte_offset_is_added_and_alignment_not_assumed():
    memory = bytes(range(64))
    for offset in (1, 3, 8, 13):
        producer, tensor = producers.producer((2,), "uint32", memory=memory, byte_offset=offset)
        x = usmpy.from_dlpack(producer)
        assert x.data_ptr == tensor.address + offset
        assert x.tolist() == [int.from_bytes(memory[offset + 4 * i :][:4], "little") for i in (0, 1)]
        exported = peek(x.__dlpack__()).dl_tensor
        assert (exported.data, exported.byte_offset) == (tensor.address + offset, 0)


def test_s16_opaque_memory_of_opencl_is_refused():
    producer, tensor = producers.producer(device=(4, 0))
    with pytest.raises(BufferError, match="kDLOpenCL"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1
    with pytest.raises(BufferError):
        usmpy.zeros(3).__dlpack__(dl_device=(4, 0))


def test_s18_the_exchange_table_is_on_the_type_static_and_complete():
    table = producers.our_table()
    assert (table.version.major, table.version.minor, table.prev_api) == (1, 3, None)
    assert all(getattr(table, field) for field, _ in table._fields_[2:])
    assert "__dlpack_c_exchange_api__" in vars(usmpy.USMArray)
    assert vars(usmpy.USMArray)["__c_dlpack_exchange_api__"] is usmpy.USMArray.__dlpack_c_exchange_api__


def test_s19_a_loan_needs_no_memory_and_is_normalised():
    x = usmpy.zeros((4, 5, 6), dtype="int16")[:, 2:3, ::-2]
    x.wait()
    tensor = producers.DLTensor()
    lend = producers.LEND(producers.our_table().dltensor_from_py_object_no_sync)
    usmpy._core._fault("heap", 1)
    try:
        assert lend(x, ctypes.byref(tensor)) == 0
    finally:
        usmpy._core._fault("heap", 0)
    assert tensor.describe()["strides"] == (30, 1, -2)
    assert tensor.data == x.data_ptr


def test_s20_the_allocator_says_set_error_exactly_when_it_fails_and_needs_no_gil():
    allocator = producers.ALLOCATOR(producers.our_table().managed_tensor_allocator)  # releases the GIL
    told = []
    set_error = producers.SET_ERROR(lambda context, kind, message: told.append(kind))
    for dtype, status in (((2, 32, 1), 0), ((2, 80, 1), -1)):
        out = ctypes.c_void_p()
        prototype = Tensor((3,), dtype, data=0)
        assert (
            allocator(ctypes.byref(prototype.managed.dl_tensor), ctypes.byref(out), None, set_error) == status
        )
        assert len(told) == -status
        if status == 0:
            producers.delete(producers.DLManagedTensorVersioned.from_address(out.value))


def test_s21_an_unconsumed_capsule_ends_its_tensor_and_a_second_consumer_is_refused():
    before = usmpy._core._live_counts()
    x = usmpy.zeros(3)
    twice = Producer(itertools.repeat(x.__dlpack__(max_version=(1, 0))).__next__)
    first = usmpy.from_dlpack(twice)
    with pytest.raises(BufferError, match="used"):
        usmpy.from_dlpack(twice)
    del twice, first
    for _ in range(10):
        x.__dlpack__()
        x.__dlpack__(max_version=(1, 0))
    del x
    gc.collect()
    assert usmpy._core._live_counts() == before
    producer, _ = producers.producer(with_deleter=False)
    usmpy.from_dlpack(producer)
    producers._live.clear()


def test_s22_the_deleter_runs_on_a_thread_that_python_does_not_know():
    """pthread_create with the deleter as the thread's function: no GIL, no thread state."""
    before = usmpy._core._live_counts()
    managed = producers.take(usmpy.zeros(3).__dlpack__(max_version=(1, 0)))
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    address = ctypes.c_void_p(ctypes.addressof(managed))
    deleter = ctypes.c_void_p(managed.deleter)
    assert libc.pthread_create(ctypes.byref(thread), None, deleter, address) == 0
    assert libc.pthread_join(thread, None) == 0
    assert usmpy._core._live_counts() == before


def test_s22_a_deleter_after_the_interpreter_ended_does_no_harm():
    result = run_script("""
        import ctypes, producers, usmpy
        managed = producers.take(usmpy.zeros(3).__dlpack__(max_version=(1, 0)))
        # The C library calls it when Python is gone.
        libc = ctypes.CDLL(None)
        address = ctypes.c_void_p(ctypes.addressof(managed))
        assert libc.__cxa_atexit(ctypes.c_void_p(managed.deleter), address, None) == 0
    """)
    assert (result.returncode, result.stderr) == (0, "")


def test_s23_one_capsule_and_two_threads_one_success_one_error_one_deletion():
    for _ in range(50):
        tensor = Tensor()
        capsule = tensor.capsule()
        outcomes = []
        barrier = threading.Barrier(2)

        def take(capsule=capsule, outcomes=outcomes, barrier=barrier):
            barrier.wait()
            try:
                outcomes.append(usmpy.from_dlpack(Producer(lambda: capsule)).shape)
            except BufferError:
                outcomes.append("refused")

        threads = [threading.Thread(target=take) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes, key=str) == [(3,), "refused"]
        assert tensor.deleted == 1


@pytest.mark.parametrize(
    ("dtype", "taken"),
    [
        ((6, 8, 1), True),
        ((6, 1, 1), False),
        ((4, 16, 1), True),
        ((4, 32, 1), False),
        ((5, 64, 1), True),
        ((5, 128, 1), True),
        ((5, 16, 1), False),
        ((2, 32, 2), False),
        ((0, 64, 0), False),
    ],
    ids=str,
)
def test_s24_dtypes_are_taken_or_refused_by_code_bits_and_lanes(dtype, taken):
    producer, tensor = producers.producer((2,), dtype, memory=64)
    if taken:
        assert usmpy.from_dlpack(producer).dtype.dlpack == dtype
    else:
        with pytest.raises(BufferError, match="code"):
            usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float4_e2m1fn", 4), ("float6_e2m3fn", 6), ("float6_e3m2fn", 6)]
)
def test_s25_packed_elements_take_ceil_of_bits_and_count_logically(dtype, bits):
    for count in range(9):
        x = usmpy.zeros(count, dtype=dtype)
        assert (x.size, x.nbytes) == (count, (count * bits + 7) // 8)
        assert peek(x.__dlpack__()).dl_tensor.describe()["shape"] == (count,)
    code = usmpy.DType(dtype).dlpack[0]
    producer, _ = producers.producer((2,), (code, 8, 1), memory=8)
    with pytest.raises(BufferError):
        usmpy.from_dlpack(producer)
    producer, _ = producers.producer((2,), dtype, flags=4, memory=8)
    with pytest.raises(BufferError, match="padded"):
        usmpy.from_dlpack(producer)


def test_s26_a_oneapi_ordinal_without_such_a_device_is_refused():
    producer, tensor = producers.producer(device=(14, 4321))
    with pytest.raises(BufferError, match="kDLOneAPI"):
        usmpy.from_dlpack(producer)
    assert tensor.deleted == 1


def test_s29_keep_alive_without_depends_holds_until_all_work_so_far_has_ended():
    queue = usmpy.Queue("host")

    class Held:
        alive = True

        def __del__(self):
            Held.alive = False

    go = threading.Event()
    queue.host_task(go.wait, 60)
    event = queue.keep_alive([Held()])
    gc.collect()
    ordering.run_another_task("host")
    assert Held.alive
    assert not event.done
    go.set()
    event.wait()
    del event
    deadline = time.monotonic() + 60
    while Held.alive and time.monotonic() < deadline:
        usmpy._core._live_counts()  # runs what workers put off
        time.sleep(0.001)
    assert not Held.alive


def test_s30_the_interpreter_ends_with_work_under_way():
    result = run_script("""
        import threading, usmpy
        from asleep import until_asleep
        queues = [usmpy.Queue("host") for _ in range(3)]
        x = usmpy.zeros(3_000_000)
        for q in queues:
            q.host_task(until_asleep)  # until the main thread waits for the tasks
            for _ in range(20):
                q.fill(x, 1.0)
        y = usmpy.asarray(bytearray(1_000_000))
        queues[0].fill(y, 3)
        del y
    """)
    assert (result.returncode, result.stderr) == (0, "")


def test_s31_a_deleter_that_wants_the_gil_and_a_waiter_that_holds_it_do_not_meet():
    """A worker ends the last use of memory whose deleter is Python, while Python waits for that worker."""
    queue = usmpy.Queue("host")
    for _ in range(100):
        producer, tensor = producers.producer((64,), "uint8")
        x = usmpy.from_dlpack(producer, device=queue)
        y = usmpy.zeros(64, dtype="uint8", queue=queue)
        queue.host_task(int)
        queue.memcpy(y, x)
        del x
        queue.wait(timeout=60)
        assert y.tolist() == [0] * 64
        deadline = time.monotonic() + 60
        while not tensor.deleted and time.monotonic() < deadline:
            usmpy._core._live_counts()
        assert tensor.deleted == 1


def test_s33_memory_of_a_queue_that_is_gone_is_not_handed_out_while_its_work_runs():
    for _ in range(20):
        go = threading.Event()
        queue = usmpy.Queue("host")
        x = usmpy.zeros(1000, dtype="int64", queue=queue)
        x.wait()
        address = x.data_ptr
        event = queue.host_task(lambda x, go=go: go.wait(60), x)
        del x, queue
        gc.collect(0)
        others = [usmpy.zeros(1000, dtype="int64", queue=usmpy.Queue("host")) for _ in range(4)]
        assert address not in [other.data_ptr for other in others]
        go.set()
        event.wait()
