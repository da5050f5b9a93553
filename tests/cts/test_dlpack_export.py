"""USMArray.__dlpack__ and __dlpack_device__: what a consumer is given."""

from __future__ import annotations

import ctypes
import gc
import threading

import producers
import pytest
from asleep import once_asleep
from ids import steady
from immortal import freed_elsewhere
from producers import CPU, IS_COPIED, READ_ONLY, capsule_name, delete, lasting_counts, peek, take
from together import together

import usmpy

VERSIONED, LEGACY = "dltensor_versioned", "dltensor"

ALL_DTYPES = [name for name in usmpy.__all__ if isinstance(getattr(usmpy, name), usmpy.DType)]


@pytest.fixture
def shown(backend, device):
    """The DLPack device that arrays of this device show first."""
    host = "host-accessible" in backend.tags and device.device_type == "cpu"
    return (CPU, 0) if host else device.dlpack_device


def read_only(x):
    return usmpy.broadcast_to(x, (2, *x.shape))[0]


# -- max_version -----------------------------------------------------------------------------------

VERSIONS = [
    (None, LEGACY),
    ((0, 0), LEGACY),
    ((0, 99), LEGACY),
    ((-1, 0), LEGACY),
    ((-(10**30), 0), LEGACY),
    ((1, 0), VERSIONED),
    ((1, -5), VERSIONED),
    ((1, 10**30), VERSIONED),
    ((2, 0), VERSIONED),
    ((10**30, 0), VERSIONED),
]


@pytest.mark.parametrize(("max_version", "name"), VERSIONS, ids=str)
def test_max_version_chooses_the_capsule(queue, max_version, name):
    capsule = usmpy.arange(3, queue=queue).__dlpack__(max_version=max_version)
    assert capsule_name(capsule) == name
    if name == VERSIONED:
        version = peek(capsule).version
        assert (version.major, version.minor) == (1, 3)


def test_without_keywords_the_capsule_is_legacy(queue):
    assert capsule_name(usmpy.zeros(2, queue=queue).__dlpack__()) == LEGACY


@pytest.mark.parametrize("bad", [[1, 0], 1, "1.0", (1,), (1, 0, 0), (1.0, 0), ("1", "0")], ids=str)
def test_max_version_of_another_kind_is_type_error(queue, bad):
    with pytest.raises(TypeError, match="max_version"):
        usmpy.zeros(2, queue=queue).__dlpack__(max_version=bad)


def test_all_arguments_are_keyword_only_and_checked(queue):
    x = usmpy.zeros(2, queue=queue)
    with pytest.raises(TypeError):
        x.__dlpack__(None)
    with pytest.raises(TypeError, match="no_such"):
        x.__dlpack__(no_such=1)
    with pytest.raises(TypeError, match="copy"):
        x.__dlpack__(copy=1)


# -- the tensor ------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
def test_fields_of_a_plain_array(queue, shown, versioned):
    x = usmpy.zeros((2, 3), dtype="int16", queue=queue)
    capsule = x.__dlpack__(max_version=(1, 0) if versioned else None)
    assert peek(capsule).dl_tensor.describe() == {
        "data": x.data_ptr,
        "device": shown,
        "dtype": (0, 16, 1),
        "shape": (2, 3),
        "strides": (3, 1),
        "byte_offset": 0,
    }
    assert x.__dlpack_device__() == shown
    if versioned:
        assert peek(capsule).flags == 0


@together("dtype", ALL_DTYPES)
def test_every_dtype_is_exported_under_its_dlpack_type(queue, dtype):
    x = usmpy.empty(4, dtype=dtype, queue=queue)
    assert peek(x.__dlpack__(max_version=(1, 0))).dl_tensor.describe()["dtype"] == x.dtype.dlpack


LAYOUTS = {
    "0-d": (lambda x: x[0, 0, 0], (), None),
    "vector": (lambda x: x[1, 2], (4,), (1,)),
    "offset": (lambda x: x[1:, 2:, 3:], (1, 1, 1), (1, 1, 1)),
    "transposed": (lambda x: x[0].T, (4, 3), (1, 4)),
    "permuted": (lambda x: usmpy.permute_dims(x, (2, 0, 1)), (4, 2, 3), (1, 12, 4)),
    "negative": (lambda x: x[::-1, :, ::-2], (2, 3, 2), (-12, 4, -2)),
    "broadcast": (lambda x: usmpy.broadcast_to(x[0, :, :1], (3, 5)), (3, 5), (4, 0)),
    "length one in the middle": (lambda x: x[:, 1:2, :], (2, 1, 4), (12, 1, 1)),
    "new axes": (lambda x: x[None, :, 0, :, None], (1, 2, 4, 1), (1, 12, 1, 1)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_are_in_elements_and_one_where_the_length_is_one(queue, layout):
    view, shape, strides = LAYOUTS[layout]
    x = usmpy.zeros((2, 3, 4), dtype="float32", queue=queue)
    y = view(x)
    tensor = peek(y.__dlpack__(max_version=(1, 0))).dl_tensor.describe()
    assert (tensor["shape"] or ()) == shape
    assert (tensor["strides"] or ()) == (strides or ())
    assert tensor["data"] == y.data_ptr
    assert tensor["byte_offset"] == 0


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 0, 3)], ids=str)
def test_an_empty_array_has_no_data_pointer(queue, shape):
    for y in (usmpy.zeros(shape, queue=queue), usmpy.zeros((4, *shape), queue=queue)[2]):
        tensor = peek(y.__dlpack__(max_version=(1, 0))).dl_tensor
        assert tensor.data is None
        assert tensor.strides  # never NULL where there are dimensions
        assert tensor.describe()["shape"] == shape


def test_64_dimensions_are_exported(queue):
    x = usmpy.zeros((1,) * 62 + (2, 3), queue=queue)
    assert x.ndim == 64
    assert peek(x.__dlpack__(max_version=(1, 0))).dl_tensor.describe()["shape"] == x.shape


@pytest.mark.parametrize(("nbytes", "alignment"), [(1, 64), (4095, 64), (4096, 256), (100_000, 256)])
def test_memory_is_aligned(queue, nbytes, alignment):
    arrays = [usmpy.empty(nbytes, dtype="uint8", queue=queue) for _ in range(5)]
    assert [x.data_ptr % alignment for x in arrays] == [0] * 5


# -- read-only and copies --------------------------------------------------------------------------


def test_read_only_is_flagged_where_there_are_flags(queue):
    x = read_only(usmpy.zeros(3, queue=queue))
    assert not x.flags.writable
    assert peek(x.__dlpack__(max_version=(1, 0))).flags == READ_ONLY


def test_read_only_is_refused_where_there_are_none(queue):
    x = read_only(usmpy.zeros(3, queue=queue))
    for max_version in (None, (0, 8)):
        with pytest.raises(BufferError, match="read-only"):
            x.__dlpack__(max_version=max_version)


@pytest.mark.parametrize("copy", [None, False])
def test_without_copy_the_memory_is_shared(queue, copy):
    x = usmpy.arange(4, queue=queue)
    managed = peek(x.__dlpack__(max_version=(1, 0), copy=copy))
    assert managed.dl_tensor.data == x.data_ptr
    assert managed.flags & IS_COPIED == 0


@pytest.mark.only_on("host-accessible")
def test_a_copy_is_marked_writable_and_the_consumers_own(queue):
    x = read_only(usmpy.arange(4, dtype="int32", queue=queue))
    capsule = x.__dlpack__(max_version=(1, 0), copy=True)
    managed = peek(capsule)
    assert managed.flags == IS_COPIED
    assert managed.dl_tensor.data != x.data_ptr
    values = (ctypes.c_int32 * 4).from_address(managed.dl_tensor.data)
    assert list(values) == [0, 1, 2, 3]
    values[0] = 99
    assert x.tolist() == [0, 1, 2, 3]


def test_a_copy_for_a_legacy_consumer_is_possible_even_of_read_only_memory(queue):
    x = read_only(usmpy.arange(4, dtype="int32", queue=queue))
    capsule = x.__dlpack__(copy=True)
    assert capsule_name(capsule) == LEGACY
    assert peek(capsule).dl_tensor.data != x.data_ptr


@pytest.mark.only_on("host-accessible")
def test_a_copy_of_a_strided_view_keeps_shape_and_values(queue):
    x = usmpy.reshape(usmpy.arange(12, dtype="int32", queue=queue), (3, 4))[::-1, ::2].T
    back = usmpy.from_dlpack(producers.Producer(lambda: x.__dlpack__(max_version=(1, 0), copy=True)))
    assert back.tolist() == x.tolist()


# -- device and stream -----------------------------------------------------------------------------


@pytest.mark.only_on("host-accessible")
def test_dl_device_may_name_the_own_device_and_the_host_view(queue, shown):
    x = usmpy.zeros(3, queue=queue)
    for device in (None, shown, (CPU, 0)):
        tensor = peek(x.__dlpack__(max_version=(1, 0), dl_device=device)).dl_tensor
        assert tensor.describe()["device"] == (device or shown)
        assert tensor.data == x.data_ptr


@freed_elsewhere
def test_the_drivers_own_view_may_be_asked_for_and_comes_back(device, queue):
    x = usmpy.arange(6, dtype="int32", queue=usmpy.Queue(device))
    view = device.dlpack_device
    home = (device.parent or device).queue

    class Shown:
        def __dlpack__(self, **keywords):
            return x[1:].__dlpack__(**{**keywords, "dl_device": view})

        def __dlpack_device__(self):
            return view

    back = usmpy.from_dlpack(Shown())
    assert back.queue is home
    assert (back.data_ptr, back.dtype, back.shape) == (x.data_ptr + 4, x.dtype, (5,))
    assert back.usm_type == ("host" if view[0] == CPU else x.usm_type)
    assert back.tolist() == [1, 2, 3, 4, 5]
    placed = usmpy.from_dlpack(Shown(), device=view)
    assert placed.queue is home
    placed[0] = 77
    placed.wait()  # x knows nothing of it
    assert x.tolist() == [0, 77, 2, 3, 4, 5]
    moved = usmpy.from_dlpack(Shown(), device=queue)
    assert (moved.queue, moved.data_ptr) == (queue, x.data_ptr + 4)


@pytest.mark.parametrize(
    "pair", [(1, 1), (1, -1), (4, 0), (99, 0), (-1, 0), (2**32 + 1, 0), (10**30, 0)], ids=str
)
def test_any_other_dl_device_is_buffer_error(queue, pair):
    x = usmpy.zeros(3, queue=queue)
    for copy in (None, True, False):
        with pytest.raises(BufferError, match="dl_device"):
            x.__dlpack__(dl_device=pair, copy=copy)


@pytest.mark.parametrize("pair", [1, [1, 0], (1,), (1, 0, 0), (1.0, 0), ("cpu", 0)], ids=str)
def test_dl_device_of_another_kind_is_type_error(queue, pair):
    with pytest.raises(TypeError, match="dl_device"):
        usmpy.zeros(3, queue=queue).__dlpack__(dl_device=pair)


@pytest.mark.only_on("host-accessible")
@pytest.mark.parametrize("stream", [0, 1, 2, -2, 2**40, 10**30, 1.0, "1", object()], ids=steady)
def test_memory_shown_as_cpu_takes_no_stream(queue, stream):
    with pytest.raises(BufferError, match="stream"):
        usmpy.zeros(3, queue=queue).__dlpack__(stream=stream)


@pytest.mark.only_on("host-task", "host-accessible")
def test_a_cpu_consumer_gets_finished_data_unless_it_says_minus_one(queue):
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    go = threading.Event()
    queue.host_task(lambda x: go.wait(60), x)
    unsynchronised = peek(x.__dlpack__(max_version=(1, 0), stream=-1))  # does not hang
    assert unsynchronised.dl_tensor.data == x.data_ptr
    once_asleep(go.set)
    x.__dlpack__(max_version=(1, 0))
    assert go.is_set()  # the call came back only after the task


@pytest.mark.only_on("host-task", "host-accessible")
def test_minus_one_with_copy_false_is_finished_data(queue):
    """mpi4py's request: MPI reads the memory at once."""
    x = usmpy.zeros(3, dtype="int64", queue=queue)
    go = threading.Event()
    queue.host_task(lambda x: go.wait(60), x)
    once_asleep(go.set)
    x.__dlpack__(stream=-1, max_version=(1, 0), copy=False)
    assert go.is_set()


@pytest.mark.only_on("host-task", "host-accessible")
def test_a_failed_task_comes_out_of_the_export(queue):
    x = usmpy.zeros(3, queue=queue)

    def fail(x):
        raise ZeroDivisionError("on purpose")

    event = queue.host_task(fail, x)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        x.__dlpack__(max_version=(1, 0))
    with pytest.raises(ZeroDivisionError):
        event.wait()


# -- lives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
def test_an_unused_capsule_frees_its_tensor(queue, versioned):
    x = usmpy.zeros(3, queue=queue)
    before = lasting_counts()
    capsule = x.__dlpack__(max_version=(1, 0) if versioned else None)
    assert usmpy._core._live_counts()["exports"] == before["exports"] + 1
    del capsule
    assert lasting_counts() == before


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.only_on("host-accessible")
def test_a_taken_tensor_outlives_capsule_and_array(queue, versioned):
    before = usmpy._core._live_counts()
    x = usmpy.arange(4, dtype="int32", queue=queue)
    x.wait()
    managed = take(x.__dlpack__(max_version=(1, 0) if versioned else None))
    del x
    gc.collect()
    usmpy.zeros(4, dtype="int32", queue=queue).wait()  # would reuse the block, were it free
    assert list((ctypes.c_int32 * 4).from_address(managed.dl_tensor.data)) == [0, 1, 2, 3]
    delete(managed)
    assert usmpy._core._live_counts()["exports"] == before["exports"]


def test_the_deleter_runs_on_any_thread_without_the_gil(queue):
    x = usmpy.zeros(3, queue=queue)
    before = lasting_counts()
    taken = [take(x.__dlpack__(max_version=(1, 0))) for _ in range(50)]
    # ctypes calls the C deleter with the GIL released, here from threads of its own.
    threads = [threading.Thread(target=delete, args=(managed,)) for managed in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lasting_counts() == before


def test_many_exports_of_one_array_are_independent(queue):
    x = usmpy.zeros(3, queue=queue)
    first, second = (take(x.__dlpack__(max_version=(1, 0))) for _ in range(2))
    assert ctypes.addressof(first) != ctypes.addressof(second)
    delete(first)
    assert second.dl_tensor.describe()["shape"] == (3,)
    delete(second)
