"""memcpy, copyto, copy and astype: any strides, any overlap, any size; test_casts.py has the types."""

import itertools
import re
import threading

import numpy as np
import pytest
from ids import steady
from together import together

import usmpy

SIZES = [1, 2, 3, 15, 64, 1023, 4096, 65_537, (1 << 20) + 7, (4 << 20) - 1, (4 << 20) + 1, (9 << 20) + 13]


@pytest.mark.parametrize("target", ["float32", "int16"])
def test_more_axes_than_a_kernel_takes(queue, target):
    n = np.arange(3 * 2**11, dtype="float32").reshape(3, *(2,) * 11)
    key = (slice(None, None, -1), *(slice(None),) * 10, slice(0, 1))
    axes = tuple(range(11, -1, -1))
    x, y = usmpy.asarray(n, queue=queue), usmpy.zeros((2,) * 11 + (3,), dtype=target, queue=queue)
    usmpy.copyto(y[:1], usmpy.permute_dims(x[key], axes), casting="unsafe")
    m = np.zeros(y.shape, target)
    m[:1] = n[key].transpose(axes)
    np.testing.assert_array_equal(y.asnumpy(), m)


def test_astype_of_the_same_type(queue):
    x = usmpy.arange(5, queue=queue)
    assert x.astype("int64", copy=False) is x
    assert usmpy.astype(x, "int64", copy=False) is x
    assert x.astype("int64").data_ptr != x.data_ptr
    assert x.astype("int32", copy=False).dtype == "int32"


def test_astype_to_a_device(device, queue):
    x = usmpy.arange(5, queue=queue)
    other = usmpy.Queue(device)
    y = usmpy.astype(x, "float32", device=other.device)
    assert y.queue == other
    assert y.tolist() == [0, 1, 2, 3, 4]
    assert usmpy.astype(x, "int64", copy=False, device=other.device).queue == other


def test_astype_keeps_the_kind_of_memory_and_the_order_of_axes(queue):
    x = usmpy.USMArray((3, 4), "int32", order="F", usm_type="shared", queue=queue)
    y = x.astype("float64")
    assert y.usm_type == "shared"
    assert y.flags.f_contiguous


def test_copyto_between_queues_and_kinds(device):
    for kinds in itertools.product(["device", "shared", "host"], repeat=2):
        x = usmpy.arange(10, queue=usmpy.Queue(device), usm_type=kinds[0])
        y = usmpy.zeros(10, dtype="int64", queue=usmpy.Queue(device), usm_type=kinds[1])
        usmpy.copyto(y, x)
        assert y.tolist() == list(range(10))


def test_copyto_with_foreign_ends(queue):
    n = np.zeros((3, 4))
    usmpy.copyto(n, usmpy.arange(4, queue=queue))
    assert n.tolist() == [[0, 1, 2, 3]] * 3
    x = usmpy.zeros((3, 4), queue=queue)
    usmpy.copyto(x, n[::-1])
    assert x.tolist() == n.tolist()
    usmpy.copyto(x, 7)
    usmpy.copyto(x[0], [1, 2, 3, 4])
    assert x.tolist() == [[1, 2, 3, 4], [7] * 4, [7] * 4]
    usmpy.copyto(n[:, ::2], np.ones((3, 2)))
    assert n.tolist() == [[1, 1, 1, 3]] * 3


# memcpy.


@together("nbytes", SIZES)
def test_memcpy_of_any_size(queue, nbytes):
    n = np.random.default_rng(nbytes).integers(0, 256, nbytes, dtype="uint8")
    x = usmpy.zeros(nbytes, dtype="uint8", queue=queue)
    y = usmpy.zeros(nbytes, dtype="uint8", queue=queue)
    out = np.zeros(nbytes, "uint8")
    queue.memcpy(x, n)
    queue.memcpy(y, x)
    queue.memcpy(out, y).wait()
    assert out.tobytes() == n.tobytes()


@together(
    "nbytes, shift",
    [*itertools.product([5, 4000, 100_001], [0, 1, 3, 64, 4097]), ((5 << 20) + 3, 3), ((5 << 20) + 3, 4097)],
)
def test_memcpy_of_overlapping_memory(queue, nbytes, shift):
    n = np.random.default_rng(shift).integers(0, 256, nbytes + shift, dtype="uint8")
    for forward in (True, False):
        x = usmpy.asarray(n, queue=queue, copy=True)
        low, high = x[:nbytes], x[shift:]
        m = n.copy()
        if forward:
            queue.memcpy(high, low)
            m[shift:] = n[:nbytes]
        else:
            queue.memcpy(low, high)
            m[:nbytes] = n[shift:]
        np.testing.assert_array_equal(x.asnumpy(), m)


def test_memcpy_of_a_part(queue):
    x, y = usmpy.full(10, 1, dtype="uint8", queue=queue), usmpy.zeros(20, dtype="uint8", queue=queue)
    queue.memcpy(y, x, 4).wait()
    queue.memcpy(y[10:], x, nbytes=3)
    queue.memcpy(y, x, 0)
    assert y.tolist() == [1] * 4 + [0] * 6 + [1] * 3 + [0] * 7


def test_memcpy_takes_bits_as_they_are(queue):
    x = usmpy.asarray([1.5, -2.0], dtype="float32", queue=queue)
    y = usmpy.empty(2, dtype="int32", queue=queue)
    through = usmpy.empty(8, dtype="uint8", queue=queue)
    queue.memcpy(through, x)
    queue.memcpy(y, through)
    assert y.tolist() == np.array([1.5, -2.0], "float32").view("int32").tolist()
    f = usmpy.USMArray((2, 3), "int8", order="F", queue=queue)
    queue.memcpy(f, bytes(range(6)))
    assert f.tolist() == [[0, 2, 4], [1, 3, 5]]


def sides(queue, dtype):
    """Valid sides of memcpy: a USMArray, and buffers."""
    return usmpy.zeros(6, dtype=dtype, queue=queue), np.zeros(6, dtype), np.zeros((2, 3), dtype, order="F")


@pytest.mark.parametrize(
    ("to", "source"), [("int32", "float32"), ("float64", "int64"), ("int8", "bool"), ("complex64", "float64")]
)
def test_memcpy_does_not_reinterpret_elements(queue, to, source):
    for dst in sides(queue, to):
        for src in sides(queue, source):
            with pytest.raises(TypeError, match=f"dtype {to} but src of dtype {source}.*copyto") as caught:
                queue.memcpy(dst, src)
            message = str(caught.value)
            is_buffer = [isinstance(side, np.ndarray) for side in (dst, src)]
            assert ("numpy.asarray" in message) == any(is_buffer)
            advice = re.search(r"usmpy\.copyto\(.*?\)", message)[0]
            ravel = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in (dst, src)]
            exec(advice, {"usmpy": usmpy, "dst": ravel[0], "src": ravel[1]})
            for i, name in enumerate(("dst", "src")):
                if found := re.search(rf"pass (numpy\..*) as {name}$", message):
                    both = [dst, src]
                    both[i] = eval(found[1], {"numpy": np, "dst": dst, "src": src})
                    assert np.shares_memory(both[i], (dst, src)[i])
                    queue.memcpy(*both, nbytes=6).wait()


def test_memcpy_of_bytes_to_any_elements(queue):
    for view in (bytearray(24), np.arange(24, dtype="uint8"), memoryview(bytes(24)).cast("c")):
        for dst in sides(queue, "float32"):
            queue.memcpy(dst, view).wait()


def test_memcpy_of_elements_that_no_dtype_describes(queue):
    records, same, other = (np.zeros(6, code) for code in ("i4,f4", "i4,f4", "f4,i4"))
    records["f0"] = 3
    queue.memcpy(same, records).wait()
    assert same.tolist() == records.tolist()
    raw = usmpy.empty(records.nbytes, dtype="uint8", queue=queue)
    queue.memcpy(raw, records).wait()
    assert raw.asnumpy().tobytes() == records.tobytes()
    for src in (records, np.zeros(6, ">f8")):
        with pytest.raises(TypeError, match="format"):
            queue.memcpy(other, src)
    with pytest.raises(TypeError, match="dtype float64 but src of format '>d'"):
        queue.memcpy(usmpy.zeros(6, dtype="float64", queue=queue), np.zeros(6, ">f8"))


def test_memcpy_in_a_queue_of_another_place(queue, backend):
    """The queue of the host takes memory of any device, and brings it there."""
    host = usmpy.Queue("host")
    here = usmpy.arange(5_000, dtype="int32", queue=host)
    there = usmpy.zeros(5_000, dtype="int32", queue=queue)
    first = host.memcpy(there, here)
    assert there.asnumpy().tolist() == list(range(5_000))
    back = usmpy.zeros(5_000, dtype="int32", queue=host)
    host.memcpy(back, there, depends=[first]).wait(30)
    assert back.asnumpy().tolist() == list(range(5_000))
    if "host-accessible" in backend.tags:
        buffer = bytearray(there.nbytes)
        host.memcpy(buffer, there).wait(30)
        assert buffer == here.asnumpy().tobytes()
    else:
        for submit in (lambda: host.memcpy(bytearray(there.nbytes), there), lambda: host.fill(there, 3)):
            with pytest.raises(usmpy.ExecutionPlacementError, match="own queue"):
                submit()
        assert there[-1].item() == 4_999


@pytest.mark.parametrize(
    "make", [bytearray, lambda n: memoryview(bytearray(n)), lambda n: np.zeros(n, "uint8")]
)
def test_memcpy_to_buffers(queue, make):
    out = make(100)
    queue.memcpy(out, usmpy.full(100, 6, dtype="uint8", queue=queue)).wait()
    assert bytes(out) == b"\6" * 100


def test_memcpy_of_nothing(queue):
    empty = usmpy.empty(0, queue=queue)
    queue.memcpy(empty, b"").wait()
    queue.memcpy(bytearray(), empty).wait()
    queue.memcpy(empty, empty).wait()


@pytest.mark.parametrize(
    ("nbytes", "error"),
    [(-1, ValueError), (11, ValueError), (2**70, ValueError), (1.0, TypeError), ("1", TypeError)],
)
def test_memcpy_of_a_bad_number_of_bytes(queue, nbytes, error):
    x, y = usmpy.full(10, 1, dtype="uint8", queue=queue), usmpy.zeros(20, dtype="uint8", queue=queue)
    with pytest.raises(error, match="nbytes"):
        queue.memcpy(y, x, nbytes)
    assert y.tolist() == [0] * 20


def test_memcpy_refuses_sizes_that_differ(queue):
    with pytest.raises(ValueError, match="dst has 20 bytes and src has 10"):
        queue.memcpy(bytearray(20), bytes(10))


def test_memcpy_refuses_strided_arrays(queue):
    x = usmpy.zeros((4, 4), queue=queue)
    n = np.zeros((4, 4))
    for part in (x[:, :2], n[:, :2], x[::2], n[::-1]):
        for call in (
            lambda part=part: queue.memcpy(part, bytes(64)),
            lambda part=part: queue.memcpy(bytearray(64), part),
        ):
            with pytest.raises(BufferError, match="copyto"):
                call()


def test_memcpy_refuses_read_only_destinations(queue):
    for dst in (bytes(4), memoryview(b"abcd"), np.frombuffer(b"abcd", "uint8")):
        with pytest.raises(ValueError, match="dst is a read-only buffer"):
            queue.memcpy(dst, b"1234")


@pytest.mark.parametrize("bad", [None, 1, "text", [1], object()], ids=steady)
def test_memcpy_of_objects_without_memory(queue, bad):
    with pytest.raises(TypeError, match="dst"):
        queue.memcpy(bad, b"1234")
    with pytest.raises(TypeError, match="src"):
        queue.memcpy(bytearray(4), bad)


def test_both_buffers_of_a_copy_are_released(queue):
    """Those of a small one, of a large one, and of one that waits."""
    gate = threading.Event()
    for size, depends in ((16, []), (1 << 22, []), (16, [usmpy.Queue("host").host_task(gate.wait, 60)])):
        there, here = bytearray(size), bytearray(b"1" * size)
        event = queue.memcpy(there, here, depends=depends, blocking=False)
        if depends:
            gate.set()
        event.wait()
        queue.wait()
        assert there == here
        there.append(1)  # BufferError where somebody still has it
        here.append(1)


# Large strided copies (several threads).


@pytest.mark.parametrize(("dtype", "order"), [("uint8", "F"), ("float32", "C"), ("complex128", "F")])
def test_large_strided_copies(backend, queue, order, dtype):
    # Several threads take part, but of drivers in software, which take long.
    rows, columns = (1201, 1003) if "host-accessible" in backend.tags else (201, 303)
    n = np.arange(rows * columns).reshape(rows, columns).astype(dtype)
    x = usmpy.asarray(n, queue=queue, copy=True)
    y = usmpy.USMArray((columns, rows), dtype, order=order, queue=queue)
    usmpy.copyto(y, x.T)
    np.testing.assert_array_equal(y.asnumpy(), n.T)
    usmpy.copyto(y[::-1, ::-1], x.T)
    np.testing.assert_array_equal(y.asnumpy(), n.T[::-1, ::-1])
    np.testing.assert_array_equal(x[::3, ::-2].copy().asnumpy(), n[::3, ::-2])


VIEWS = {  # pairs of keys of a 6 x 6 array, with elements in common
    "reversed": (np.s_[:], np.s_[::-1]),
    "reversed columns": (np.s_[:], np.s_[:, ::-1]),
    "shifted rows": (np.s_[1:], np.s_[:-1]),
    "shifted columns": (np.s_[:, 1:], np.s_[:, :-1]),
    "steps": (np.s_[:3], np.s_[::2]),
    "steps of columns": (np.s_[:, :3], np.s_[:, 1::2]),
    "into steps": (np.s_[::2], np.s_[2:5]),
    "repeated": (np.s_[:], np.s_[2:3]),
}


@together(
    "views, form, turned", itertools.product(VIEWS, ("NumPy", "from_dlpack", "memoryview"), (False, True))
)
@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("source_type", ["int32", "float32"])
def test_overlapping_copies_by_way_of_another_library(queue, source_type, usm_type, views, form, turned):
    """One memory in two allocations: the array's own, and that of an import."""
    try:
        x = usmpy.empty((6, 6), dtype="int32", queue=queue, usm_type=usm_type)
    except usmpy.UsmError:
        return  # the device has no memory of this kind
    n = np.arange(36, dtype=source_type).view("int32").reshape(6, 6)
    usmpy.copyto(x, n)
    try:
        view = np.asarray(memoryview(x)) if form == "memoryview" else np.from_dlpack(x, device="cpu")
    except (BufferError, TypeError, RuntimeError):
        return  # the host does not read it
    to, source = VIEWS[views]
    given = view.view(source_type).T if turned else view.view(source_type)
    value = usmpy.from_dlpack(given)[source] if form == "from_dlpack" else given[source]
    own = n.view(source_type).T if turned else n.view(source_type)
    usmpy.copyto(x[to], value, casting="unsafe")
    n[to] = own[source].copy()
    assert x.asnumpy().tolist() == n.tolist()


def test_depends_of_a_copy_between_arrays_of_another_device(device):
    """The queue reaches neither array, so that the copy has several steps."""
    others = [d for d in usmpy.get_devices() if d.backend != device.backend]
    x = usmpy.zeros(4, device=device)
    for other in others:
        queue = usmpy.Queue(other)
        with pytest.raises(TypeError, match="depends"):
            queue.memcpy(x, x, depends=[1])
