"""Arrow's structures of others: all in them is checked before it is believed; each is released once."""

from __future__ import annotations

import contextlib
import gc
import struct
import threading

import arrow_structures
import pytest
from arrow_structures import Capsules, Exported, extension

import usmpy

INT64_MAX = 2**63 - 1


def refused(match, error=BufferError, **fields):
    """The array is refused, and its release was called once."""
    theirs = Exported(**fields)
    with pytest.raises(error, match=match):
        usmpy.from_arrow(theirs)
    gc.collect()
    assert theirs.released == 1
    return theirs


@pytest.mark.parametrize("on_device", [True, False])
def test_a_good_array_is_released_once_at_the_end(on_device):
    theirs = Exported(on_device=on_device)
    x = usmpy.from_arrow(theirs)
    assert x.data_ptr == theirs.address
    assert x.tolist() == [0, 1, 2, 3]
    assert not x.flags.writable
    view = x[1:]
    del x
    assert theirs.released == 0
    del view
    gc.collect()
    assert theirs.released == 1
    assert theirs.calls == ["export"]


def test_offsets_add_up():
    theirs = Exported(array={"offset": 2}, format=b"s", length=3)
    assert usmpy.from_arrow(theirs).tolist() == [5 * 256 + 4, 7 * 256 + 6, 9 * 256 + 8]
    theirs = Exported(list_sizes=(3,), length=2, array={"offset": 1}, child={"offset": 4, "length": 9})
    assert usmpy.from_arrow(theirs).tolist() == [[7, 8, 9], [10, 11, 12]]
    theirs = Exported(list_sizes=(2, 2), length=1)
    theirs.arrays[1].offset = 1
    theirs.arrays[2].offset = 3
    theirs.arrays[2].length = 6
    assert usmpy.from_arrow(theirs).tolist() == [[[5, 6], [7, 8]]]


# Bits of what is not null, the lowest first.
@pytest.mark.parametrize(
    ("validity", "null_count", "offset", "good"),
    [
        (None, 0, 0, True),
        (None, -1, 0, True),
        (None, 1, 0, False),
        (b"\x0f", 0, 0, True),
        (b"\x0f", -1, 0, True),
        (b"\x0e", -1, 0, False),
        (b"\x0e", -1, 1, False),
        (b"\x1e", -1, 1, True),
        (b"\x1e", 1, 1, True),  # the producer counts a null that its slice leaves out
        (b"\xe0\xff\x00", -1, 6, True),
        (b"\xe0\xfe\x00", -1, 6, False),
        (b"\x07", 1, 0, False),
    ],
)
def test_nulls(validity, null_count, offset, good):
    fields = {"validity": validity, "array": {"null_count": null_count, "offset": offset}}
    if good:
        assert usmpy.from_arrow(Exported(**fields)).tolist() == [offset + i for i in range(4)]
    else:
        refused("has nulls.*fill_null", **fields)


def test_nulls_of_lists():
    refused("has nulls", list_sizes=(2,), length=2, validity=b"\x01", array={"null_count": 1})
    refused("has nulls", list_sizes=(2,), length=2, child={"null_count": 1})


def test_extension_types():
    assert usmpy.from_arrow(Exported(format=b"c", metadata=extension("arrow.bool8"))).dtype is usmpy.bool
    assert usmpy.from_arrow(Exported(metadata=struct.pack("=i", 0))).dtype is usmpy.uint8
    plain = struct.pack("=ii1si1s", 1, 1, b"k", 1, b"v")
    assert usmpy.from_arrow(Exported(metadata=plain)).dtype is usmpy.uint8
    refused(r"extension type 'arrow\.bool8'.*obj\.storage", format=b"C", metadata=extension("arrow.bool8"))
    refused("extension type 'my.type'", metadata=extension("my.type"))


MALFORMED = {
    "released": ({"array": {"release": None}}, "released, or another consumer"),
    "schema released": ({"schema": {"release": None}}, "schema is released"),
    "no format": ({"schema": {"format": None}}, "schema is released"),
    "format of nothing": ({"format": b""}, "format ''"),
    "bits": ({"format": b"b"}, "format 'b'.*obj.cast"),
    "text": ({"format": b"u", "array": {"n_buffers": 3}}, "format 'u'"),
    "times": ({"format": b"tss:"}, "format 'tss:'"),
    "longer format": ({"format": b"ii"}, "format 'ii'"),
    "struct": ({"format": b"+s", "schema": {"n_children": 3}}, "record batch of 3 columns"),
    "list of any size": ({"format": b"+l"}, r"format '\+l'"),
    "list size": ({"format": b"+w:-1"}, "lists of fixed size have one"),
    "list size beyond int32": ({"format": b"+w:2147483648"}, "lists of fixed size have one"),
    "list size and more": ({"format": b"+w:2x"}, r"format '\+w:2x'"),
    "list without a child": ({"format": b"+w:2"}, "0 children"),
    "list of lists, 65 deep": ({"list_sizes": (1,) * 64, "length": 1}, "at most 64 dimensions"),
    "array without a child": ({"list_sizes": (2,), "array": {"n_children": 0}}, "0 children"),
    "no children": ({"list_sizes": (2,), "array": {"children": None}}, "1 children"),
    "child released": ({"list_sizes": (2,), "child": {"release": None}}, "released"),
    "child too short": ({"list_sizes": (2,), "child": {"length": 7}}, "length 7.*8 elements are used"),
    "parent offset": ({"list_sizes": (2,), "array": {"offset": 1}}, "length 8.*10 elements are used"),
    "negative length": ({"length": -1}, "length -1"),
    "negative offset": ({"array": {"offset": -1}}, "offset -1"),
    "length and offset": ({"length": INT64_MAX, "array": {"offset": 1}}, "length 9223372036854775807"),
    "bytes overflow": ({"length": 2**61, "format": b"l"}, "beyond any address"),
    "offset overflows": ({"array": {"offset": 2**61}, "format": b"l"}, "beyond any address"),
    "list overflows": (
        {"list_sizes": (2**31 - 1,), "length": 2**40, "child": {"length": INT64_MAX}},
        "more elements than any address",
    ),
    "buffers": ({"array": {"n_buffers": 1}}, "has 1 buffers; its type needs 2"),
    "three buffers": ({"array": {"n_buffers": 3}}, "has 3 buffers"),
    "no buffers": ({"array": {"buffers": None}}, "has 0 buffers"),
    "buffers of a list": ({"list_sizes": (2,), "array": {"n_buffers": 2}}, "has 2 buffers; its type needs 1"),
    "no data": ({"data": None}, "no data buffer"),
    "alignment": ({"format": b"s", "data": 0x1001}, "aligned"),
    "unknown device": ({"device": (10, 0)}, r"kDLROCM \(10\)"),
    "device type of the future": ({"device": (99, 0)}, r"unknown \(99\)"),
    "device id": ({"device": (2, 2**40)}, "device id 1099511627776"),
    "event of the CPU": ({"sync_event": 8}, "sync_event, and backend host cannot"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name):
    fields, match = MALFORMED[name]
    theirs = Exported(**fields)
    with pytest.raises(BufferError, match=match):
        usmpy.from_arrow(theirs)
    gc.collect()
    assert theirs.released == (0 if name == "released" else 1)


def test_dictionaries():
    theirs = Exported()
    theirs.schemas[0].dictionary = arrow_structures.ctypes.pointer(theirs.schemas[0])
    with pytest.raises(BufferError, match="dictionary_decode"):
        usmpy.from_arrow(theirs)
    theirs = Exported()
    theirs.top.array.dictionary = arrow_structures.ctypes.pointer(theirs.arrays[0])
    with pytest.raises(BufferError, match="dictionary_decode"):
        usmpy.from_arrow(theirs)


@pytest.mark.parametrize(
    "names",
    [
        ("arrow_schema", "arrow_array"),
        ("arrow_schema", "arrow_device_array2"),
        ("arrow_array", "arrow_device_array"),
        ("dltensor", "arrow_device_array"),
    ],
)
def test_capsules_of_other_names(names):
    theirs = Exported(names=names)
    with pytest.raises(BufferError, match="the capsule's name is"):
        usmpy.from_arrow(theirs)
    theirs = Exported(on_device=False, names=("arrow_schema", "arrow_device_array"))
    with pytest.raises(BufferError, match="'arrow_array' is needed"):
        usmpy.from_arrow(theirs)


@pytest.mark.parametrize("pair", [None, (), (1, 2), 7, [1, 2]], ids=str)
def test_answers_that_are_no_pair(pair):
    with pytest.raises(TypeError, match="a tuple of two capsules is needed"):
        usmpy.from_arrow(Capsules(pair))


def test_half_a_pair():
    schema, array = Exported().__arrow_c_device_array__()
    for pair in ((schema,), (schema, None), (schema, array, array), [schema, array]):
        with pytest.raises(TypeError, match="a tuple of two capsules"):
            usmpy.from_arrow(Capsules(pair))


def test_exceptions_of_the_producer_are_passed_on():
    class Producer:
        def __arrow_c_device_array__(self):
            raise ZeroDivisionError("mine")

    for take in (usmpy.from_arrow, usmpy.asarray):
        with pytest.raises(ZeroDivisionError, match="mine"):
            take(Producer())


def test_the_device_interface_is_preferred():
    theirs = Exported()
    theirs.__arrow_c_array__ = lambda: pytest.fail("asked")
    usmpy.from_arrow(theirs)


def test_objects_without_the_interface():
    with pytest.raises(TypeError, match="x is an int, which has no __arrow_c_device_array__"):
        usmpy.from_arrow(3)
    with pytest.raises(TypeError, match=r"column\.combine_chunks"):
        usmpy.from_arrow(Capsules(None, "__arrow_c_stream__"))
    with pytest.raises(TypeError, match="from_arrow"):
        usmpy.from_arrow()
    with pytest.raises(TypeError, match="from_arrow"):
        usmpy.from_arrow(Exported(), "host")


def test_an_empty_array_needs_no_data():
    x = usmpy.from_arrow(Exported(data=None, length=0, format=b"g"))
    assert (x.shape, x.dtype) == ((0,), usmpy.float64)
    assert usmpy.from_arrow(Exported(data=None, list_sizes=(0,), length=3)).shape == (3, 0)


def test_the_release_of_a_refused_array_keeps_the_exception():
    class Producer:
        def __arrow_c_device_array__(self):
            theirs = Exported(format=b"u")
            return theirs.__arrow_c_device_array__()

    with pytest.raises(BufferError, match="format 'u'"):
        usmpy.from_arrow(Producer())


def test_many_threads_take_one_pair():
    theirs = Exported()
    pair = theirs.__arrow_c_device_array__()
    taken, start = [], threading.Barrier(4)

    def take():
        start.wait()
        with contextlib.suppress(BufferError):
            taken.append(usmpy.from_arrow(Capsules(pair)))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1
    taken.clear()
    gc.collect()
    assert theirs.released == 1


@pytest.fixture(scope="module")
def queue():
    return usmpy.Queue("host")


def test_a_list_of_arrow_that_is_too_long(queue):
    x = usmpy.zeros((0, 1, 2**31), dtype="int8", queue=queue)  # the schema has begun when axis 2 is refused
    with pytest.raises(BufferError, match="axis 2 has length 2147483648"):
        x.__arrow_c_array__()
