"""Copies and fills that leave the caches: by lines, in squares, by converted rows, on all threads."""

import numpy as np
import pytest

import usmpy

N = 1 << 20  # elements of 8 bytes: twice what counts as large
LAYOUTS = {
    "every other line": (lambda x: x.reshape(-1, 2, 8)[:, 0], (N // 8, 8), lambda x: x),
    "into every other line": (lambda x: x[:N].reshape(-1, 8), (N // 8, 2, 8), lambda x: x[:, 0]),
    "lines between others": (lambda x: x[:N].reshape(-1, 8), (N // 8 + 2, 3, 8), lambda x: x[1:-1, 1]),
    "long runs": (lambda x: x.reshape(-1, 2, 512)[:, 1], (N // 512, 512), lambda x: x),
    "rows from behind": (lambda x: x[:N].reshape(-1, 512)[::-1], (N // 512, 512), lambda x: x),
    "runs that are no lines": (lambda x: x.reshape(-1, 2, 8)[:, 0, :7], (N // 8, 7), lambda x: x),
    "a frame": (lambda x: x[:N].reshape(1024, 1024), (1100, 1031), lambda x: x[50:1074, 3:1027]),
    "axes swapped": (lambda x: x[:N].reshape(256, 512, 8).transpose(1, 0, 2), (512, 256, 8), lambda x: x),
    "three axes turned": (
        lambda x: x[:N].reshape(64, 128, 128).transpose(2, 1, 0),
        (128, 128, 64),
        lambda x: x,
    ),
    "transposed": (lambda x: x[: 1000 * 1021].reshape(1000, 1021).T, (1021, 1000), lambda x: x),
    "single elements": (lambda x: x[::2], (N,), lambda x: x),
    "from behind": (lambda x: x[N - 1 :: -1], (N,), lambda x: x),
    "repeated": (lambda x: np.broadcast_to(x[:1024], (1024, 1024)), (1024, 1024), lambda x: x),
}
CASTS = [
    ("float32", "float64"),
    ("float64", "float32"),
    ("uint8", "int16"),
    ("int32", "uint8"),
    ("int32", "float32"),
]


def same(x, view, parts):
    """The view of x that NumPy has of `parts`, by offset and strides."""
    offset = view.__array_interface__["data"][0] - parts.__array_interface__["data"][0]
    strides = tuple(stride // parts.itemsize for stride in view.strides)
    return usmpy.USMArray.from_pointer(
        x.data_ptr + offset, view.shape, x.dtype, strides=strides, queue=x.queue, owner=x
    )


def check_copy(queue, layout, dst_type, src_type):
    source, shape, target = LAYOUTS[layout]
    values = (np.arange(2 * N) % 120).astype(src_type)
    into = np.full(shape, 121, dst_type)
    x = usmpy.asarray(values, queue=queue, copy=True)
    y = usmpy.asarray(into, queue=queue, copy=True)
    usmpy.copyto(same(y, target(into), into), same(x, source(values), values), casting="unsafe")
    target(into)[...] = source(values)
    y.queue.wait()
    np.testing.assert_array_equal(y.asnumpy(), into)


@pytest.mark.only_on("host-accessible")  # the others, in software, have no path of their own for large copies
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_copies(queue, layout):
    check_copy(queue, layout, "float64", "float64")


@pytest.mark.parametrize("types", CASTS, ids="-".join)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_casts_on_the_host(layout, types):
    check_copy(usmpy.Queue("host"), layout, *types)


LARGE = 4 << 20  # bytes from which on the host's processors go past the caches
SIZE = LARGE + 1003


@pytest.mark.only_on("host-accessible")
@pytest.mark.parametrize("offset", [0, 1, 16, 61])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64", "complex128"])
def test_large_fills(queue, dtype, offset):
    n = LARGE // np.dtype(dtype).itemsize + offset + 77
    x = usmpy.zeros(n + 9, dtype=dtype, queue=queue)
    queue.fill(x[offset : offset + n], 93)
    expected = np.zeros(n + 9, dtype)
    expected[offset : offset + n] = 93
    np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.only_on("host-accessible")
@pytest.mark.parametrize("size", [SIZE, 2 * LARGE, 3 * LARGE + 1])
def test_large_contiguous_copies(queue, size):
    values = np.arange(size, dtype="uint8")
    x = usmpy.asarray(values, queue=queue, copy=True)
    y = usmpy.full(size + 5, 7, dtype="uint8", queue=queue)
    event = queue.memcpy(y[3 : 3 + size], x)
    event.wait()
    assert event.done
    got = y.asnumpy()
    np.testing.assert_array_equal(got[3:-2], values)
    assert got[[0, 1, 2, -2, -1]].tolist() == [7] * 5


@pytest.mark.only_on("host-accessible")
@pytest.mark.parametrize("distance", [1, 64, 1 << 20])
@pytest.mark.parametrize("forward", [True, False])
def test_large_copies_that_overlap(queue, distance, forward):
    values = np.random.default_rng(3).integers(0, 256, SIZE + distance, dtype="uint8")
    x = usmpy.asarray(values, queue=queue, copy=True)
    first, second = x[:SIZE], x[distance : distance + SIZE]
    queue.memcpy(*((second, first) if forward else (first, second)))
    expected = values.copy()
    if forward:
        expected[distance:] = values[:SIZE]
    else:
        expected[:SIZE] = values[distance:]
    np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.only_on("host-accessible")
def test_large_blocks_are_in_order(queue):
    """Each is ordered after the one before, also with short work in between."""
    x, y = (usmpy.zeros(SIZE, dtype="uint8", queue=queue) for _ in range(2))
    for i in range(1, 9):
        queue.fill(x, i)
        queue.memcpy(y, x)
        queue.fill(x[:16], 0)
        queue.memcpy(x[:8], y[8:16])
    assert y.asnumpy().tolist()[::4096] == [8] * len(range(0, SIZE, 4096))
    assert x.asnumpy()[:17].tolist() == [8] * 8 + [0] * 8 + [8]
