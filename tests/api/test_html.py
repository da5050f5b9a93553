"""_repr_html_ of arrays: well-formed, with a picture of two-dimensional data, and never an exception."""

import base64
import html.parser
import re
import struct
import zlib

import pytest
from dtypes import DTYPES
from together import together

import usmpy
from usmpy._inspection import html as _html
from usmpy._inspection import repr as _repr


@pytest.fixture
def queue():
    return usmpy.Queue("host")


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
