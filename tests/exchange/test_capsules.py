"""Capsules of others: all in them is checked before it is believed; each has one owner and one end."""

from __future__ import annotations

import gc
import struct
import sys
import threading

import no_drivers
import producers
import pytest
from ids import steady
from producers import CPU, LEGACY, PADDED, VERSIONED, Producer, Tensor, capsule_name, producer

import usmpy

BOTH = pytest.mark.parametrize("versioned", [True, False], ids=["versioned", "legacy"])


def refused(error, match, **fields):
    """The tensor is refused, and its deleter was called once."""
    source, tensor = producer(**fields)
    with pytest.raises(error, match=match):
        usmpy.from_dlpack(source)
    assert tensor.deleted == 1
    assert len(source.calls) == 1


# -- fields ----------------------------------------------------------------------------------------

MALFORMED = {
    "ndim -1": ({"ndim": -1}, "-1 dimensions"),
    "ndim 65": ({"shape": (1,) * 65}, "65 dimensions"),
    "ndim 2**31 - 1": ({"ndim": 2**31 - 1}, "2147483647 dimensions"),
    "no shape": ({"shape": None, "ndim": 1}, "its shape is NULL"),
    "negative length": ({"shape": (3, -1)}, "negative length"),
    "smallest length": ({"shape": (-(2**63),)}, "negative length"),
    "size overflows": ({"shape": (2**32, 2**32), "memory": 8}, "beyond any address"),
    "bytes overflow": ({"shape": (2**61, 2), "memory": 8}, "beyond any address"),
    "strides overflow": ({"shape": (3,), "strides": (2**62,)}, "beyond any address"),
    "negative strides overflow": ({"shape": (3,), "strides": (-(2**63),)}, "beyond any address"),
    "strides and size overflow": ({"shape": (3, 3), "strides": (2**61, 2**61)}, "beyond any address"),
    "no data": ({"data": 0}, "no data pointer"),
    "no data, with offset": ({"data": 0, "byte_offset": 64}, "no data pointer"),
    "byte_offset": ({"byte_offset": 2**63, "memory": 16}, "byte_offset"),
    "lanes 0": ({"dtype": (2, 32, 0), "memory": 16}, "lanes 0"),
    "lanes 4": ({"dtype": (2, 32, 4), "memory": 64}, "lanes 4"),
    "bool of one bit": ({"dtype": (6, 1, 1)}, "code 6, bits 1"),
    "float128": ({"dtype": (2, 128, 1)}, "bits 128"),
    "float of 80 bits": ({"dtype": (2, 80, 1)}, "bits 80"),
    "int of 4 bits": ({"dtype": (0, 4, 1)}, "bits 4"),
    "bfloat of 32 bits": ({"dtype": (4, 32, 1)}, "code 4"),
    "complex of 256 bits": ({"dtype": (5, 0, 1)}, "code 5"),
    "opaque": ({"dtype": (3, 64, 1)}, "code 3"),
    "float8 of 16 bits": ({"dtype": (10, 16, 1)}, "code 10"),
    "float6 of 8 bits": ({"dtype": (15, 8, 1)}, "code 15"),
    "float4 of 8 bits": ({"dtype": (17, 8, 1)}, "code 17"),
    "a code of the future": ({"dtype": (18, 4, 1)}, "code 18"),
    "code 255": ({"dtype": (255, 8, 1)}, "code 255"),
}


@BOTH
@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_tensor_is_buffer_error(what, versioned):
    fields, match = MALFORMED[what]
    refused(BufferError, match, versioned=versioned, **fields)


def test_every_dtype_code_and_width_is_taken_or_refused():
    taken = set()
    for code in range(32):
        for bits in range(256):
            source, tensor = producer((2,), (code, bits, 1), memory=64)
            try:
                x = usmpy.from_dlpack(source)
            except BufferError:
                assert tensor.deleted == 1
            else:
                assert x.dtype.dlpack == (code, bits, 1)
                taken.add(x.dtype.name)
                del x
                assert tensor.deleted == 1
    assert taken == {name for name in usmpy.__all__ if isinstance(getattr(usmpy, name), usmpy.DType)}


@BOTH
@pytest.mark.parametrize(
    "fields",
    [
        {"data": 0},
        {"data": 1},
        {"strides": None},
        {"strides": (2**63 - 1, -(2**63), 7)},
        {"byte_offset": 12345},
    ],
    ids=str,
)
def test_the_pointer_of_an_empty_tensor_is_ignored(fields, versioned):
    source, tensor = producer((2, 0, 3), "int16", memory=0, versioned=versioned, **fields)
    x = usmpy.from_dlpack(source)
    assert (x.shape, x.size, x.nbytes, x.tolist()) == ((2, 0, 3), 0, 0, [[], []])
    assert x.flags.c_contiguous
    assert x.flags.f_contiguous
    assert x.data_ptr == 0
    copied = usmpy.from_dlpack(x, copy=True)
    assert copied.shape == (2, 0, 3)
    del x
    gc.collect()
    assert tensor.deleted == 1


@BOTH
def test_an_empty_tensor_may_have_lengths_whose_product_overflows(versioned):
    for shape in ((0, 2**40, 2**40), (2**40, 2**40, 0)):
        source, tensor = producer(shape, memory=0, versioned=versioned)
        x = usmpy.from_dlpack(source)
        assert (x.shape, x.size) == (shape, 0)
        del x
        assert tensor.deleted == 1


@BOTH
def test_a_scalar_needs_neither_shape_nor_strides(versioned):
    source, _ = producer(None, "int32", memory=struct.pack("<i", 42), ndim=0, versioned=versioned)
    assert usmpy.from_dlpack(source).item() == 42


def test_a_device_whose_backend_is_absent_is_buffer_error():
    no_drivers.run(
        r"""
        import test_capsules
        for kind in (2, 3, 13, 14):
            for versioned in (True, False):
                said = rf"device type kDL\w+ \({kind}\)"
                test_capsules.refused(BufferError, said, device=(kind, 0), versioned=versioned)
        """
    )


@pytest.mark.parametrize("device", [(0, 0), (4, 0), (5, 0), (10, 1), (99, 3), (-1, 0)], ids=str)
@BOTH
def test_an_unknown_device_type_is_buffer_error(device, versioned):
    refused(BufferError, rf"\({device[0]}\), id {device[1]}", device=device, versioned=versioned)


@pytest.mark.parametrize("device_id", [1, -1, 2**31 - 1])
def test_the_id_of_a_cpu_is_ignored(device_id):
    source, _ = producer(device=(CPU, device_id))
    x = usmpy.from_dlpack(source)
    assert x.queue is usmpy.Device("host:cpu:0").queue
    assert x.__dlpack_device__() == (CPU, 0)


# -- packed types ----------------------------------------------------------------------------------

PACKED = ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"]


@pytest.mark.parametrize("dtype", PACKED)
def test_packed_types_are_imported_as_a_whole(dtype):
    bits = usmpy.DType(dtype).bits
    for shape, count in (((5,), 5), ((), 1), ((2, 3), 6), ((0,), 0), ((1, 7, 1), 7)):
        nbytes = (count * bits + 7) // 8
        memory = bytes((37 * i + 5) % 256 for i in range(nbytes))
        source, tensor = producer(shape, dtype, memory=memory)
        x = usmpy.from_dlpack(source)
        assert (x.shape, x.size, x.nbytes) == (shape, count, nbytes)
        back = usmpy.from_dlpack(Producer(lambda x=x: x.__dlpack__(max_version=(1, 0))))
        assert (back.dtype, back.data_ptr) == (x.dtype, x.data_ptr)
        copied = usmpy.from_dlpack(x, copy=True)
        assert producers.ctypes.string_at(copied.data_ptr, nbytes) == memory
        del x, back
        gc.collect()
        assert tensor.deleted == 1


@pytest.mark.parametrize("dtype", PACKED)
@pytest.mark.parametrize("strides", [(1, 3), (6, 2), (0, 1), (-3, 1)], ids=str)
def test_packed_types_with_strides_are_refused(dtype, strides):
    refused(BufferError, "packed", shape=(2, 3), dtype=dtype, strides=strides, memory=64)


@pytest.mark.parametrize("dtype", PACKED)
def test_packed_types_padded_to_bytes_are_refused(dtype):
    refused(BufferError, "padded", shape=(3,), dtype=dtype, memory=64, flags=PADDED)


def test_the_padding_flag_means_nothing_for_whole_bytes():
    source, _ = producer((3,), "uint8", memory=b"abc", flags=PADDED)
    x = usmpy.from_dlpack(source)
    assert x.tolist() == [97, 98, 99]
    assert producers.peek(x.__dlpack__(max_version=(1, 0))).flags == 0


def test_a_packed_type_may_begin_at_an_offset_of_whole_bytes():
    source, tensor = producer((4,), "float4_e2m1fn", memory=b"\x00\x21\x43", byte_offset=1)
    x = usmpy.from_dlpack(source)
    assert x.data_ptr == tensor.address + 1
    copied = usmpy.from_dlpack(x, copy=True)
    assert producers.ctypes.string_at(copied.data_ptr, 2) == b"\x21\x43"


# -- versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(0, 9), (2, 0), (2**32 - 1, 7)], ids=str)
def test_of_another_major_version_only_the_deleter_is_touched(version):
    # Were anything else believed, these fields would be a crash.
    refused(
        BufferError,
        rf"{version[0]}\.{version[1]}",
        version=version,
        shape=None,
        ndim=64,
        data=8,
        dtype=(2, 32, 1),
    )


@pytest.mark.parametrize("minor", [0, 3, 4, 2**32 - 1])
def test_any_minor_version_of_one_is_taken(minor):
    source, _ = producer(version=(1, minor))
    assert usmpy.from_dlpack(source).shape == (3,)


def test_versions_up_to_1_1_may_have_no_strides():
    source, _ = producer((2, 2), "uint8", memory=b"abcd", strides=None, version=(1, 0))
    x = usmpy.from_dlpack(source)
    assert x.strides == (2, 1)
    assert x.tolist() == [[97, 98], [99, 100]]


# -- names and ends of capsules --------------------------------------------------------------------


@BOTH
def test_a_consumed_capsule_is_renamed_and_its_destructor_does_nothing(versioned):
    tensor = Tensor(versioned=versioned)
    capsule = tensor.capsule()
    kept = [capsule]
    x = usmpy.from_dlpack(Producer(lambda: kept[0]))
    assert capsule_name(capsule) == ("used_dltensor_versioned" if versioned else "used_dltensor")
    kept.clear()
    del capsule
    gc.collect()
    assert tensor.deleted == 0
    del x
    assert tensor.deleted == 1


@BOTH
def test_a_used_capsule_is_buffer_error(versioned):
    tensor = Tensor(versioned=versioned)
    capsule = tensor.capsule()
    x = usmpy.from_dlpack(Producer(lambda: capsule))
    with pytest.raises(BufferError, match="used before"):
        usmpy.from_dlpack(Producer(lambda: capsule))
    assert tensor.deleted == 0
    assert x.shape == (3,)


@pytest.mark.parametrize("name", ["dltensor_versioned2", "dltensor ", "used_dltensor", "arrow_array", ""])
def test_a_capsule_of_another_name_is_buffer_error_and_stays_the_producers(name):
    tensor = Tensor()
    capsule = tensor.capsule(name)
    with pytest.raises(BufferError, match=name or "name is"):
        usmpy.from_dlpack(Producer(lambda: capsule))
    assert tensor.deleted == 0
    assert capsule_name(capsule) == name
    producers._live.clear()  # no deleter runs otherwise


def test_a_capsule_without_a_name_is_buffer_error():
    tensor = Tensor()
    capsule = producers.api.PyCapsule_New(tensor.give(), None, None)
    with pytest.raises(BufferError):
        usmpy.from_dlpack(Producer(lambda: capsule))
    producers._live.clear()


@pytest.mark.parametrize("thing", [None, 3, "dltensor", object(), b""], ids=steady)
def test_an_object_that_is_not_a_capsule_is_type_error(thing):
    with pytest.raises(TypeError, match=r"__dlpack__\(\) returned"):
        usmpy.from_dlpack(Producer(lambda: thing))


@BOTH
def test_a_bare_capsule_is_type_error_and_stays_untouched(versioned):
    tensor = Tensor(versioned=versioned)
    capsule = tensor.capsule()
    for take in (usmpy.from_dlpack, usmpy.asarray):
        with pytest.raises(TypeError):
            take(capsule)
    assert capsule_name(capsule).encode() == (VERSIONED if versioned else LEGACY)
    del capsule
    assert tensor.deleted == 1


def test_a_legacy_capsule_under_the_new_name_from_an_old_producer_is_believed_by_name():
    tensor = Tensor((2,), "int32", memory=struct.pack("<2i", 5, 6), versioned=True)
    old = producers.OldProducer(tensor.capsule)
    assert usmpy.from_dlpack(old).tolist() == [5, 6]


# -- threads ---------------------------------------------------------------------------------------


@BOTH
def test_two_threads_and_one_capsule_give_one_success_one_error_one_deletion(versioned):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            tensor = Tensor(versioned=versioned)
            capsule = tensor.capsule()
            source = Producer(lambda capsule=capsule: capsule)
            results = []
            barrier = threading.Barrier(2)

            def take(source=source, results=results, barrier=barrier):
                barrier.wait()
                try:
                    results.append(usmpy.from_dlpack(source))
                except BufferError as error:
                    results.append(str(error))

            threads = [threading.Thread(target=take) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(type(result).__name__ for result in results) == ["USMArray", "str"]
            results.clear()
            del capsule, source, take, threads
            gc.collect(0)
            assert tensor.deleted == 1
    finally:
        sys.setswitchinterval(interval)


def test_the_foreign_deleter_runs_on_the_thread_that_drops_the_last_array():
    source, tensor = producer()
    kept = [usmpy.from_dlpack(source)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert tensor.deleted == 1
    if getattr(sys, "_is_gil_enabled", lambda: True)():  # else the thread that made the array ends it
        assert tensor.deletions != [threading.get_ident()]


def test_a_deleter_that_runs_python_does_not_lose_the_error_in_flight():
    source, tensor = producer(dtype=(2, 80, 1))  # its deleter, in ctypes, is Python code
    with pytest.raises(BufferError, match="bits 80"):
        usmpy.from_dlpack(source)
    assert tensor.deleted == 1
