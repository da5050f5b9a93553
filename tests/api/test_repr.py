"""repr and str of arrays: short, cheap for arrays of any size, and never an exception."""

import base64
import html.parser
import re
import struct
import threading
import zlib

import pytest
from asleep import once_asleep
from dtypes import DTYPES
from together import together

import usmpy
from usmpy._inspection import html as _html
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


class Checker(html.parser.HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(array):
    checker = Checker()
    checker.feed(array._repr_html_())
    checker.close()
    assert checker.open == []
    return checker.text


def picture(array):
    """Rows of colours, read back from the PNG."""
    source = re.search(r"data:image/png;base64,([^\"]+)", array._repr_html_())
    if source is None:
        return None
    data, chunks = base64.b64decode(source[1]), {}
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 3, 0, 0, 0]
    raw, colours = zlib.decompress(chunks[b"IDAT"]), chunks[b"PLTE"]
    assert len(raw) == height * (width + 1)
    lines = [raw[i * (width + 1) : (i + 1) * (width + 1)] for i in range(height)]
    assert all(line[0] == 0 for line in lines)
    return [[tuple(colours[3 * k : 3 * k + 3]) for k in line[1:]] for line in lines]


def test_properties_and_values(queue):
    text = shown(usmpy.asarray([[1, 2], [3, 4]], dtype="int16", queue=queue, usm_type="shared"))
    for word in ("(2, 2)", "int16", "host:cpu:0", "shared", "[[1, 2],\n [3, 4]]"):
        assert word in text


@together("shape", [(), (0,), (5,), (0, 3), (1, 1), (2, 2), (3, 4, 5), (1,) * 64])
@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16", "complex32", "float8_e4m3fn", "float4_e2m1fn"])
def test_every_type_and_shape(queue, dtype, shape):
    assert dtype in shown(usmpy.zeros(shape, dtype=dtype, queue=queue))


def test_a_picture_is_for_two_dimensions(queue):
    assert picture(usmpy.zeros(100, queue=queue)) is None
    assert picture(usmpy.zeros((1, 100), queue=queue)) is None
    rows = picture(usmpy.asarray([[0.0, 1.0], [0.5, float("nan")]], queue=queue))
    assert rows == [[_html.STOPS[0], _html.STOPS[-1]], [_html._colour(127 / 254), _html.NAN]]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_low_and_high_have_the_ends_of_the_colours(queue, dtype):
    rows = picture(usmpy.asarray([[0, 1], [1, 0]], queue=queue).astype(dtype))
    assert rows == [[_html.STOPS[0], _html.STOPS[-1]], [_html.STOPS[-1], _html.STOPS[0]]]


def test_numbers_that_are_hard_to_scale(queue):
    infinite = usmpy.asarray([[float("inf"), -float("inf")], [1.0, 2.0]], queue=queue)
    assert picture(infinite) == [[_html.STOPS[-1], _html.STOPS[0]], [_html.STOPS[0], _html.STOPS[-1]]]
    assert len(picture(usmpy.asarray([[1e308, -1e308], [0.0, 1.0]], queue=queue))) == 2
    assert len(picture(usmpy.full((2, 2), float("nan"), queue=queue))) == 2
    same = picture(usmpy.full((2, 2), 7, queue=queue))
    assert same[0][0] == same[1][1]
    assert len(picture(usmpy.full((2, 2), 2**64 - 1, dtype="uint64", queue=queue))) == 2


def test_a_large_picture_is_thinned_on_the_device(queue):
    x = usmpy.reshape(usmpy.arange(1_000_000, dtype="float32", queue=queue), (1000, 1000))
    rows = picture(x)
    assert 30 < len(rows) <= 64
    assert rows[0][0] == _html.STOPS[0]
    assert "every" in shown(x)


def test_texts_are_escaped(queue, monkeypatch):
    monkeypatch.setattr(_repr, "elements", lambda array, indent: "<script>&")
    assert "<script>" not in usmpy.zeros(3, queue=queue)._repr_html_()


def test_failed_work_and_ended_loans_are_shown(queue):
    def fail(x):
        raise LookupError("<what went wrong>")

    x = usmpy.zeros((4, 4), queue=queue)
    queue.host_task(fail, x)
    text = x._repr_html_()  # the error is retrieved, so reads work again
    assert "what went wrong" in text
    assert "&lt;what" in text
    assert "image/png" not in text
    with pytest.raises(LookupError):
        queue.wait()
    with usmpy.borrow(bytearray(16)) as lent:
        pass
    assert "ValueError" in shown(lent)
    assert "ValueError" in repr(lent)
