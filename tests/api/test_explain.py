"""explain_copy: the plan in words, for every pair of places, and that copies do what it says."""

import itertools
import os
import re
import subprocess
import sys
import threading

import another
import backends
import numpy as np
import pytest

import usmpy


def devices():
    found = {}
    for backend in backends.BACKENDS:
        try:
            found[backend.name] = backend.device()
        except backends.Absent:
            continue
    return found


@pytest.fixture(scope="module")
def places():
    found = devices()
    found.pop("host-part", None)
    return found


def field(text, name):
    return re.search(rf"^{name}: (.*)$", text, re.MULTILINE)[1]


def layouts(n):
    """Arrays of n * n elements, as their maker from a flat array of as many and as their values."""
    return {
        "contiguous": lambda x: usmpy.reshape(x, (n, n)),
        "transposed": lambda x: usmpy.reshape(x, (n, n)).T,
        "behind": lambda x: usmpy.reshape(x, (n, n))[::-1, ::-1],
        "columns": lambda x: usmpy.reshape(x, (n // 2, 2 * n))[:, ::2][:, :n],
    }


def check_copy(places, first, second, n, layout, dtype):
    flat = np.arange(n * n, dtype="float32") % 1000
    source = layouts(n)[layout](usmpy.asarray(flat, device=places[first], copy=True))
    into = usmpy.zeros((source.shape[0], 2 * source.shape[1]), dtype=dtype, device=places[second])
    target = into[:, 1 : source.shape[1] + 1] if layout != "transposed" else into[:, ::2]
    usmpy.copyto(target, source, casting="unsafe")
    np.testing.assert_array_equal(target.asnumpy(), source.asnumpy(), f"{first} to {second}, {layout}")


def test_copies_between_all_places_in_all_layouts(places):
    for first, second in itertools.product(places, places):
        for layout in layouts(8):
            check_copy(places, first, second, 8, layout, "float32" if layout != "behind" else "float64")


def test_copies_in_pieces_between_places_that_are_not_connected(places):
    # Pieces are the business of each side alone: 13 pairs of 45, in which each place is read and written.
    names = list(places)
    for at, steps in itertools.product(range(len(names)), (1, 3)):
        first, second = names[at], names[(at + steps) % len(names)]
        if usmpy.memory_connection(places[first], places[second]) is usmpy.MemoryConnection.NONE:
            check_copy(places, first, second, 800, "columns", "float32")  # 2.4 MiB


def test_a_direct_copy():
    x, y = (usmpy.zeros((4, 6), dtype="float32", device="host") for _ in range(2))
    text = usmpy.explain_copy(x, y)
    assert text.startswith("copy of 24 elements, 96 bytes in dst; axes merged to (24,)\n")
    assert field(text, "dst") == "float32 in device memory of host:cpu:0, strides (4,) in bytes"
    assert field(text, "connection") == "UNIFIED"
    assert field(text, "path") == "direct, one command"
    assert field(text, "pieces") == "1"
    assert field(text, "runs") == "1 of 24 elements, 96 bytes each in dst"
    assert field(text, "step 1").startswith("src to dst, memmove of 96 bytes, queue 0x")
    assert field(text, "order").startswith("the first step waits for 0 events of src, the last for 0 of dst")
    assert not x.asnumpy().any()


def test_axes_are_sorted_and_merged():
    x, y = (
        usmpy.permute_dims(usmpy.zeros((2, 3, 4, 5), dtype="float32", device="host"), (3, 1, 0, 2))
        for _ in range(2)
    )
    assert "axes merged to (120,)\n" in usmpy.explain_copy(x, y)
    text = usmpy.explain_copy(x[:, :, :, ::2], y[:, :, :, ::2])
    assert "axes merged to (12, 5)\n" in text
    assert field(text, "runs") == "12 of 5 elements, 20 bytes each in dst"
    assert "loop over 2 axes" in field(text, "step 1")
    assert "loop over 1 axis," in field(usmpy.explain_copy(x[0, 0, 0, ::2], y[0, 0, 0, ::2]), "step 1")


def test_a_cast_and_a_transpose():
    x, y = (
        usmpy.zeros((8, 9), dtype="float64", device="host"),
        usmpy.ones((9, 8), dtype="int32", device="host").T,
    )
    text = usmpy.explain_copy(x, y, casting="unsafe")
    assert "cast from int32 to float64" in field(text, "step 1")
    assert field(text, "runs") == "72 of 1 element, 8 bytes each in dst"


def test_overlapping_sides_go_through_a_buffer():
    x = usmpy.arange(20, device="host")
    assert field(usmpy.explain_copy(x[1:], x[:-1]), "path") == "direct, one command"  # as memmove does it
    text = usmpy.explain_copy(x[:10], x[::2])
    assert field(text, "path") == "through a buffer, since the two overlap"
    assert field(text, "buffer 0") == "80 bytes of int64 in device memory of host:cpu:0"
    assert field(text, "step 2").startswith("buffer 0 to dst")


def test_nothing():
    x = usmpy.zeros((0, 3), device="host")
    assert usmpy.explain_copy(x, x.copy()) == "copy of 0 elements: nothing is done\n"


def test_pending_tasks_are_counted():
    gate = threading.Event()
    x, y = usmpy.zeros(20, device="host"), usmpy.zeros(20, device="host")
    try:
        y.queue.host_task(lambda _: gate.wait(60), y)
        assert field(usmpy.explain_copy(x, y), "order").startswith("the first step waits for 1 event of src")
        assert "the last for 1 of dst" in field(usmpy.explain_copy(y, x), "order")
    finally:
        gate.set()
    x.queue.wait()


def pair(places, first, second):
    if first not in places or second not in places:
        pytest.skip(f"this machine lacks {first} or {second}")
    return places[first], places[second]


def test_memory_out_of_reach_is_staged_in_pieces_by_turns(places):
    one, two = pair(places, "cuda-software", "level-zero-sim")
    n = 1 << 20
    values = np.arange(2 * n, dtype="float32")
    source = usmpy.asarray(values, device=one)[::2]
    target = usmpy.zeros(2 * n, dtype="float32", device=two)[1::2]
    text = usmpy.explain_copy(target, source)
    assert field(text, "connection") == "NONE"
    assert field(text, "path") == "staged in pinned memory of the host"
    assert field(text, "pieces") == "4"
    assert field(text, "buffer 0") == "2 by turns, each 1 MiB of float32 in host memory of cuda:gpu:0"
    assert field(text, "step 1").startswith("src to buffer 0, kernel usm_strided_4 over 1 axis")
    assert "on cuda:gpu:0" in field(text, "step 1")
    assert field(text, "step 2").startswith("buffer 0 to buffer 1, driver copy of 1 MiB")
    assert field(text, "step 3").startswith("buffer 1 to dst, kernel usm_strided_4")
    usmpy.copyto(target, source)
    np.testing.assert_array_equal(target.asnumpy(), values[::2])


def test_the_narrower_type_is_transferred_without_repeats(places):
    one, two = pair(places, "cuda-software", "level-zero-sim")
    source, target = (
        usmpy.ones((64, 1), dtype="float64", device=one),
        usmpy.zeros((64, 512), dtype="float32", device=two),
    )
    text = usmpy.explain_copy(target, source)
    assert field(text, "buffer 0") == "256 bytes of float32 in host memory of cuda:gpu:0"
    usmpy.copyto(target, source)
    assert target.asnumpy().min() == 1


def test_a_block_of_the_host_goes_as_it_is(places):
    _, device = pair(places, "host", "cuda-software")
    source = usmpy.reshape(usmpy.arange(12.0, device="host"), (3, 4))
    whole = usmpy.explain_copy(usmpy.zeros((3, 4), dtype=source.dtype, device=device), source)
    assert field(whole, "path") == "direct, one command"
    turned = usmpy.explain_copy(usmpy.zeros((4, 3), dtype=source.dtype, device=device), source.T)
    assert field(turned, "path") == "through memory of the device"
    assert field(turned, "step 1").startswith("src to buffer 0, driver copy of")


def test_two_devices_of_one_driver_by_its_peer_copy():
    devices = usmpy.get_devices("cuda")
    if len(devices) < 2:
        pytest.skip("this machine has no two CUDA devices")
    one, two = devices[:2]
    source, target = usmpy.ones((4, 6), device=one)[:, ::2], usmpy.zeros((4, 6), device=two)[:, ::2]
    text = usmpy.explain_copy(target, source)
    assert field(text, "connection") == usmpy.memory_connection(one, two).name
    usmpy.copyto(target, source)
    assert target.tolist() == [[1.0] * 3] * 4


BAD = {
    "shapes": (ValueError, r"src of shape \(3,\) does not broadcast to shape \(4,\)", (4,), (3,), {}),
    "casting": (TypeError, "src has dtype float64, which casting='safe'", (4,), (4,), {"casting": "safe"}),
    "word": (ValueError, "casting is 'any'", (4,), (4,), {"casting": "any"}),
    "type": (TypeError, "casting is 1", (4,), (4,), {"casting": 1}),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("function", ["copyto", "explain_copy"])
def test_bad_input_leaves_the_target_alone(name, function):
    error, message, dst_shape, src_shape, keywords = BAD[name]
    dst = usmpy.full(dst_shape, 7, dtype="float32", device="host")
    src = usmpy.ones(src_shape, dtype="float64", device="host")
    with pytest.raises(error, match=message):
        getattr(usmpy, function)(dst, src, **keywords)
    assert set(dst.tolist()) == {7.0}


@pytest.mark.parametrize("function", ["copyto", "explain_copy"])
def test_targets_that_cannot_be_written(function):
    call = getattr(usmpy, function)
    read_only = usmpy.broadcast_to(usmpy.zeros(1, device="host"), (4,))
    with pytest.raises(ValueError, match="read-only"):
        call(read_only, 1.0)
    with pytest.raises(TypeError, match=f"{function}\\(\\): dst is an int"):
        call(3, 1.0)


PRODUCT = """
import usmpy
x = usmpy.ones((200, 200), device="host", dtype="float32")
assert "own kernel" in usmpy.explain_matmul(x, x), usmpy.explain_matmul(x, x)
assert ((x @ x).asnumpy() == 200).all()
"""


@pytest.mark.not_sanitized("it runs another program")
def test_a_blas_library_that_is_missing_leaves_the_own_kernel(tmp_path):
    environment = {**os.environ, "USMPY_BLAS_LIBRARY": str(tmp_path / "missing.so")}
    subprocess.run([sys.executable, "-c", PRODUCT], check=True, env=environment, timeout=60)


@pytest.mark.not_sanitized("it runs another program")
def test_a_library_without_products_leaves_the_own_kernel():
    environment = {**os.environ, "USMPY_BLAS_LIBRARY": "libc.so.6"}
    subprocess.run([sys.executable, "-c", PRODUCT], check=True, env=environment, timeout=60)


SMALL_PRODUCT = """
import usmpy
x = usmpy.ones((4, 4), dtype="float32", device="host")
print(usmpy.explain_matmul(x, x).splitlines()[1])
"""


@pytest.mark.parametrize(
    ("library", "said"),
    [("none", "USMPY_BLAS_LIBRARY is none"), ("/nowhere/libblas.so", "/nowhere/libblas.so")],
)
def test_why_there_is_none(library, said):
    text = another.run(SMALL_PRODUCT, {**os.environ, "USMPY_BLAS_LIBRARY": library})
    assert text.startswith("by: usmpy's own kernel; no BLAS library: ")
    assert said in text
