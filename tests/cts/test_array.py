"""USMArray: constructor, attributes, flags, strides, views of it, protocols of the object."""

import gc
import os
import signal
import threading
import weakref

import numpy as np
import pytest
from asleep import once_asleep
from together import together

import usmpy

SHAPES = [
    (),
    (0,),
    (1,),
    (5,),
    (2, 3),
    (3, 1, 4),
    (1, 1),
    (0, 3),
    (2, 0),
    (1, 5),
    (5, 1),
    (2, 3, 4, 5),
    (1,) * 10,
]


def elements(strides, itemsize):
    return tuple(stride // itemsize for stride in strides)


@together("shape", SHAPES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128"])
def test_attributes(queue, shape, order, dtype):
    x = usmpy.USMArray(shape, dtype, queue=queue, order=order)
    n = np.empty(shape, dtype, order=order)
    assert x.shape == n.shape
    assert x.ndim == n.ndim
    assert x.size == n.size
    assert x.nbytes == n.nbytes
    assert x.itemsize == n.itemsize
    assert x.dtype == n.dtype
    assert x.flags.c_contiguous == n.flags.c_contiguous
    assert x.flags.f_contiguous == n.flags.f_contiguous
    assert x.flags.writable
    assert x.queue is queue
    assert x.device == queue.device
    assert x.context == queue.context
    assert all(type(length) is int for length in x.shape + x.strides)
    if n.size and 1 not in shape:
        assert x.strides == elements(n.strides, n.itemsize)


@pytest.mark.parametrize("shape", SHAPES)
def test_shown_strides_are_compact_where_they_do_not_matter(queue, shape):
    x = usmpy.USMArray(shape, "int32", queue=queue)
    expected = np.empty([max(n, 1) for n in shape], "int32")
    assert x.strides == elements(np.ascontiguousarray(expected).reshape(expected.shape).strides, 4)


def test_shown_strides_of_views(queue):
    x = usmpy.empty((4, 6), dtype="int16", queue=queue)
    assert x.strides == (6, 1)
    assert x.T.strides == (1, 6)
    assert x[::2, ::3].strides == (12, 3)
    assert x[::-1, ::-1].strides == (-6, -1)
    assert usmpy.broadcast_to(x[0], (5, 6)).strides == (0, 1)
    assert x[0:1, ::2].strides == (3, 2)  # the first as in a compact array of this shape


@pytest.mark.parametrize(
    "attribute",
    [
        "shape",
        "strides",
        "ndim",
        "size",
        "nbytes",
        "itemsize",
        "dtype",
        "device",
        "queue",
        "context",
        "usm_type",
    ],
)
def test_attributes_are_read_only(queue, attribute):
    with pytest.raises(AttributeError):
        setattr(usmpy.empty((2, 2), queue=queue), attribute, 1)


def test_no_new_attributes(queue):
    with pytest.raises(AttributeError):
        usmpy.empty(1, queue=queue).mine = 1


@pytest.mark.parametrize("shape", [3, (3,), [3], np.int64(3), (np.int32(3),), iter, range(3, 4)])
def test_forms_of_a_shape(queue, shape):
    shape = iter([3]) if shape is iter else shape
    assert usmpy.USMArray(shape, queue=queue).shape == (3,)


def test_sixty_four_dimensions(queue):
    x = usmpy.ones((1,) * 64, queue=queue)
    assert x.ndim == 64
    assert x.item() == 1
    with pytest.raises(ValueError, match="64"):
        usmpy.USMArray((1,) * 65, queue=queue)


def test_default_dtype_is_a_float(device, queue):
    assert usmpy.USMArray(1, queue=queue).dtype == ("float64" if device.has_fp64 else "float32")


def test_transposition(queue):
    n = np.arange(24).reshape(2, 3, 4)
    x = usmpy.asarray(n, queue=queue, copy=True)
    np.testing.assert_array_equal(x.mT.asnumpy(), np.swapaxes(n, -1, -2))
    np.testing.assert_array_equal(x[0].T.asnumpy(), n[0].T)
    np.testing.assert_array_equal(x[0].mT.asnumpy(), n[0].T)
    assert x[0].T.data_ptr == x.data_ptr
    assert x[0].T.flags.f_contiguous
    for array, name in ((x, "T"), (x[0, 0], "T"), (x[0, 0], "mT")):
        with pytest.raises(ValueError, match=name):
            getattr(array, name)


def test_flags_are_named_and_shown(queue):
    flags = usmpy.empty((2, 2), queue=queue).flags
    assert (flags.c_contiguous, flags.f_contiguous, flags.writable) == (True, False, True)
    assert "c_contiguous=True" in repr(flags)


def test_contiguity_of_views(queue):
    n = np.empty((4, 5, 6))
    x = usmpy.empty((4, 5, 6), queue=queue)
    keys = [
        np.s_[:],
        np.s_[1],
        np.s_[:, 1],
        np.s_[..., 1],
        np.s_[1:3],
        np.s_[:, :2],
        np.s_[::2],
        np.s_[0:1, 2:3],
        np.s_[:, 0:1, 0:1],
        np.s_[::-1],
        np.s_[0:0, ::3],
        np.s_[1, 1, 1],
        np.s_[None, :, None],
    ]
    for key in keys:
        for a, b in ((x[key], n[key]), (x.mT[key], np.swapaxes(n, -1, -2)[key])):
            assert a.flags.c_contiguous == b.flags.c_contiguous, key
            assert a.flags.f_contiguous == b.flags.f_contiguous, key


def test_weak_references(queue):
    x = usmpy.empty(3, queue=queue)
    called = []
    reference = weakref.ref(x, called.append)
    assert reference() is x
    del x
    gc.collect()
    assert reference() is None
    assert called == [reference]
    holder = weakref.WeakValueDictionary()
    arrays = [usmpy.empty(1, queue=queue) for _ in range(200)]  # spare objects are used again
    for i, array in enumerate(arrays):
        holder[i] = array
    del array, arrays
    gc.collect()
    assert len(holder) == 0


def test_arrays_have_no_hash_since_they_are_equal_by_element(queue):
    x = usmpy.empty(3, queue=queue)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert weakref.ref(x)() is x


def test_iteration_and_length(queue):
    x = usmpy.asarray([[1, 2], [3, 4], [5, 6]], queue=queue)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    a, b = x[0]
    assert (a.item(), b.item()) == (1, 2)
    zero = usmpy.asarray(1, queue=queue)
    with pytest.raises(TypeError, match="0 dimensions"):
        len(zero)
    with pytest.raises(TypeError, match="0 dimensions"):
        list(zero)


def test_read_only_arrays(queue):
    base = usmpy.zeros((2, 3), queue=queue)
    x = usmpy._core._read_only(base)
    assert not x.flags.writable
    assert base.flags.writable
    for view in (x, x[0], x.T, usmpy.reshape(x, (6,)), x[None], usmpy.flip(x)):
        assert not view.flags.writable
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 1
    for write in (
        lambda: usmpy.copyto(x, base),
        lambda: queue.fill(x, 1),
        lambda: queue.memcpy(x, base),
        lambda: memoryview(x).__setitem__((0, 0), 1),
        lambda: np.from_dlpack(x).__setitem__(0, 1),
    ):
        with pytest.raises((ValueError, TypeError), match="read-only"):
            write()
    assert x.copy().flags.writable
    assert x.asnumpy().flags.writeable
    assert base.tolist() == [[0] * 3] * 2


def test_the_buffer_protocol(queue):
    n = np.arange(24, dtype="int16").reshape(2, 3, 4)
    x = usmpy.asarray(n, queue=queue, usm_type="shared", copy=True)
    for a, b in (
        (x, n),
        (x[:, ::2], n[:, ::2]),
        (x[::-1], n[::-1]),
        (x[0, 0], n[0, 0]),
        (x[0, 0, 0], n[0, 0, 0]),
    ):
        view = memoryview(a)
        assert (view.shape, view.strides, view.format) == (b.shape, b.strides, "h")
        assert view.itemsize == 2
        assert not view.readonly
        assert view.tolist() == b.tolist()
    memoryview(x)[1, 2, 3] = -5
    assert x[1, 2, 3].item() == -5
    assert bytes(x[0, 0]) == x[0, 0].asnumpy().tobytes()


def test_a_buffer_waits_for_pending_work(queue):
    import threading

    gate = threading.Event()
    x = usmpy.zeros(4, dtype="uint8", queue=queue, usm_type="shared")
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 7)
    once_asleep(gate.set)
    assert bytes(x) == b"\7" * 4


def test_a_buffer_keeps_the_memory(queue):
    view = memoryview(usmpy.full(1000, 3, dtype="uint8", queue=queue, usm_type="shared"))
    gc.collect()
    usmpy.full(1000, 9, dtype="uint8", queue=queue, usm_type="shared").wait()
    assert view.tolist() == [3] * 1000


def test_numpy_does_not_take_an_array_with_array(queue):
    with pytest.raises(TypeError, match=r"asnumpy\(\)"):
        usmpy.empty(3, dtype="float8_e5m2", queue=queue).__array__()


def test_the_namespace(queue):
    x = usmpy.empty(1, queue=queue)
    assert x.__array_namespace__() is usmpy
    assert x.__array_namespace__(api_version=usmpy.__array_api_version__) is usmpy
    assert x.__array_namespace__(api_version="2024.12") is usmpy
    with pytest.raises(ValueError, match=r"1999\.01"):
        x.__array_namespace__(api_version="1999.01")


def test_wait_of_an_array(queue):
    import threading

    gate = threading.Event()
    x = usmpy.zeros(4, queue=queue)
    assert x.wait() is None
    queue.host_task(lambda x: gate.wait(60), x)
    with pytest.raises(TimeoutError):
        x.wait(0.01)
    gate.set()
    x.wait(timeout=60)


def test_to_device(device, queue):
    x = usmpy.arange(6, queue=queue)
    assert x.to_device(queue) is x
    assert x.to_device(x.device) is x
    assert x.to_device(x) is x
    other = usmpy.Queue(device)
    y = x[::2].to_device(other, stream=None)
    assert y.queue == other
    assert y.tolist() == [0, 2, 4]
    y[0] = 9
    assert x.tolist() == [9 if y.data_ptr == x.data_ptr else 0, 1, 2, 3, 4, 5]
    assert y.to_device(queue).queue == queue


def test_to_device_is_ordered_after_pending_work(device, queue):
    import threading

    gate = threading.Event()
    x = usmpy.zeros(1000, queue=queue)
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 4)
    for target in (usmpy.Queue(device), usmpy.Queue(device, context=usmpy.Context(device))):
        y = x.to_device(target)
        gate.set()
        assert y.tolist() == [4] * 1000


@pytest.mark.only_on("host-task")
@pytest.mark.parametrize("in_place", [True, False])
def test_to_device_with_a_stream_is_ordered_in_it(device, queue, in_place):
    import threading

    gate = threading.Event()
    x = usmpy.full(1000, 3, dtype="int32", queue=queue)
    x.wait()
    stream = usmpy.Queue(device)
    context = None if in_place else usmpy.Context(device)
    seen = []
    stream.host_task(gate.wait, 60)  # of which x knows nothing
    y = x.to_device(usmpy.Queue(device, context=context), stream=stream)
    stream.host_task(lambda: seen.append(np.asarray(y).tolist() if y.queue else None))
    later = y.queue.host_task(lambda: seen.append("target"))
    assert not later.done
    assert seen == []
    gate.set()
    stream.wait()
    later.wait()
    assert sorted(map(str, seen)) == sorted([str([3] * 1000), "target"])
    assert x.to_device(x.device, stream=stream).tolist() == [3] * 1000


def test_copy_is_row_major_and_new(queue):
    x = usmpy.arange(12, queue=queue, usm_type="shared")
    y = usmpy.reshape(x, (3, 4)).T
    c = y.copy()
    assert c.flags.c_contiguous
    assert c.usm_type == "shared"
    assert c.queue is queue
    assert c.tolist() == y.tolist()
    c[...] = 0
    assert x.tolist() == list(range(12))


def test_arrays_cannot_be_subclassed():
    with pytest.raises(TypeError):
        type("Mine", (usmpy.USMArray,), {})


PATIENCE = 60


class Callable:
    """A task without a name, as functools.partial is."""

    def __init__(self, exception=None):
        self.exception = exception

    def __call__(self, *args):
        if self.exception is not None:
            raise self.exception


@pytest.mark.only_on("host-accessible")
def test_a_handler_in_python_ends_the_wait_for_a_buffer(queue):
    x, gate = usmpy.zeros(4, queue=queue), threading.Event()
    queue.host_task(lambda x: gate.wait(PATIENCE), x)
    before = signal.signal(signal.SIGUSR1, lambda *_: Callable(ZeroDivisionError())())
    once_asleep(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    try:
        with pytest.raises(ZeroDivisionError):
            memoryview(x)
    finally:
        gate.set()
        queue.wait(PATIENCE)
        signal.signal(signal.SIGUSR1, before)
    assert memoryview(x).tolist() == [0] * 4
