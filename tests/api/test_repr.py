"""repr and str of arrays: short, cheap for arrays of any size, and never an exception."""

import threading

import pytest
from asleep import once_asleep

import usmpy
from usmpy._inspection import repr as _repr


@pytest.fixture
def queue():
    return usmpy.Queue("host")


def test_the_shown_text(queue):
    x = usmpy.asarray([[1, 2], [3, 4]], dtype="int16", queue=queue)
    assert repr(x) == (
        "USMArray([[1, 2],\n          [3, 4]], shape=(2, 2), dtype=int16, "
        "device='host:cpu:0', usm_type='device')"
    )
    assert str(x) == "[[1, 2],\n [3, 4]]"
    y = usmpy.asarray([0.1, -2.0, float("nan")], queue=queue, usm_type="shared")
    assert (
        repr(y)
        == "USMArray([0.1, -2, nan], shape=(3,), dtype=float64, device='host:cpu:0', usm_type='shared')"
    )
    assert str(usmpy.asarray([True, False], queue=queue)) == "[True, False]"
    assert str(usmpy.asarray(5, queue=queue)) == "5"
    assert str(usmpy.asarray([1 + 2j], queue=queue)) == "[(1+2j)]"


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2, 2)])
def test_no_elements(queue, shape):
    x = usmpy.zeros(shape, queue=queue)
    assert str(x) == "[]"
    assert f"shape={shape}" in repr(x)


def test_three_dimensions_have_blank_lines(queue):
    assert str(usmpy.reshape(usmpy.arange(8, queue=queue), (2, 2, 2))) == (
        "[[[0, 1],\n  [2, 3]],\n\n [[4, 5],\n  [6, 7]]]"
    )


def test_long_arrays_show_their_ends(queue):
    assert str(usmpy.arange(100_000, queue=queue)) == "[0, 1, 2, ..., 99997, 99998, 99999]"
    text = str(usmpy.reshape(usmpy.arange(1_000_000, queue=queue), (1000, 1000)))
    assert text.count("...") == 7
    assert text.splitlines()[0] == "[[0, 1, 2, ..., 997, 998, 999],"
    assert text.splitlines()[-1] == " [999000, 999001, 999002, ..., 999997, 999998, 999999]]"
    assert str(usmpy.arange(7, queue=queue)) == "[0, 1, 2, 3, 4, 5, 6]"
    assert str(usmpy.arange(75, queue=queue)).count("...") == 0
    assert str(usmpy.arange(76, queue=queue)).count("...") == 1


def test_repr_of_views_shows_their_elements(queue):
    x = usmpy.arange(100_000, queue=queue)
    assert str(x[::-1]) == "[99999, 99998, 99997, ..., 2, 1, 0]"
    assert str(x[10:13]) == "[10, 11, 12]"
    assert str(usmpy.broadcast_to(x[5], (2, 2))) == "[[5, 5],\n [5, 5]]"


def test_an_array_larger_than_memory(queue):
    x = usmpy.broadcast_to(usmpy.ones(1, dtype="int8", queue=queue), (1 << 40, 1 << 20))
    assert len(repr(x)) < 1000
    assert "1, 1, 1, ..., 1, 1, 1" in repr(x)


@pytest.mark.parametrize(
    "shape", [(10**9,), (10**6, 10**6), (100,) * 3, (50,) * 4, (20,) * 5, (9,) * 6, (7,) * 9]
)
def test_few_bytes_are_copied_whatever_the_shape(queue, monkeypatch, shape):
    copied = []

    def counted(array):
        copied.append(array.nbytes)
        return read(array)

    read = _repr.read
    monkeypatch.setattr(_repr, "read", counted)
    x = usmpy.broadcast_to(usmpy.ones(1, dtype="complex128", queue=queue), shape)
    assert len(repr(x)) < 8000
    assert sum(copied) <= 8192
    copied.clear()
    assert len(x._repr_html_()) < 16000
    assert sum(copied) <= 16384  # the picture and the values


@pytest.mark.parametrize("ndim", [7, 20, 64])
def test_many_dimensions(queue, ndim):
    text = repr(
        usmpy.broadcast_to(
            usmpy.zeros(1, dtype="int8", queue=queue), (7,) * min(ndim, 20) + (1,) * (ndim - 20)
        )
    )
    assert len(text) < 2000
    assert f"{7 ** min(ndim, 20)} elements" in text


@pytest.mark.parametrize("dtype", ["float4_e2m1fn", "float6_e2m3fn", "float8_e4m3fn", "complex32"])
def test_types_without_python_numbers(queue, dtype):
    for shape in (4, (2, 2), ()):
        text = repr(usmpy.zeros(shape, dtype=dtype, queue=queue))
        assert f"dtype={dtype}" in text
        assert "device='host:cpu:0'" in text


def test_failed_work_is_shown_and_not_raised(queue):
    def fail(x):
        raise LookupError("what went wrong")

    x = usmpy.zeros(4, queue=queue)
    queue.host_task(fail, x)
    text = repr(x)
    assert "what went wrong" in text
    assert "shape=(4,)" in text
    with pytest.raises(LookupError):
        queue.wait()
    assert "[0, 0, 0, 0]" in repr(x)


def test_pending_work_is_waited_for(queue):
    gate = threading.Event()
    x = usmpy.zeros(4, queue=queue)
    queue.host_task(lambda x: gate.wait(60), x)
    queue.fill(x, 2)
    once_asleep(gate.set)
    assert str(x) == "[2, 2, 2, 2]"


def test_an_array_in_a_format(queue):
    assert f"{usmpy.asarray(5, queue=queue)}" == "5"
    assert f"{usmpy.asarray([5], queue=queue)!r}".startswith("USMArray([5]")


def test_the_rest_of_the_objects(queue):
    device = usmpy.Device("host")
    for thing, name in (
        (device, "Device host:cpu:0"),
        (queue, "Queue 0x"),
        (queue.context, "Context 0x"),
        (queue.barrier(), "Event "),
        (usmpy.float32, "usmpy.float32"),
        (usmpy.MemoryConnection.UNIFIED, "UNIFIED"),
    ):
        assert name in repr(thing)
