"""__sycl_usm_array_interface__ without a SYCL runtime: the dict both ways, and what stands in for syclobj.

With dpctl and dpnp: interop/test_dpctl.py.
"""

from __future__ import annotations

import gc
import pathlib
import weakref

import numpy as np
import pytest
from backends import BACKENDS, Absent

import usmpy


class Exporter:
    """The interface of a SYCL library's array."""

    def __init__(self, interface, **changes):
        self.__dict__["__sycl_usm_array_interface__"] = {**interface, **changes}


class Both(Exporter):
    """An array that has DLPack too, as dpnp's have."""

    def __init__(self, array, **changes):
        super().__init__(array.__sycl_usm_array_interface__, **changes)
        self.array = array

    @property
    def __sycl_usm_array_interface__(self):
        return self.__dict__["__sycl_usm_array_interface__"]

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


SYCLS = [backend for backend in BACKENDS if backend.name.startswith(("opencl", "level-zero"))]


@pytest.fixture(params=SYCLS, ids=lambda backend: backend.name)
def sycl_device(request):
    try:
        return request.param.device()
    except Absent as absent:
        pytest.skip(str(absent))


def dict_of(array):
    return array.__sycl_usm_array_interface__


def test_the_dict_says_what_the_array_is(sycl_device):
    x = usmpy.reshape(usmpy.arange(24, dtype="float32", device=sycl_device), (4, 6))
    assert dict_of(x) == {
        "data": (x.data_ptr, False),
        "shape": (4, 6),
        "strides": None,
        "typestr": "<f4",
        "version": 1,
        "syclobj": x.queue,
        "offset": 0,
    }
    part = x[1:, ::-2]
    assert dict_of(part)["data"][0] == x.data_ptr + 4 * (6 + 5)
    assert (dict_of(part)["shape"], dict_of(part)["strides"]) == ((3, 3), (6, -2))
    assert dict_of(usmpy.broadcast_to(x[0], (3, 6)))["data"][1] is True


@pytest.mark.parametrize(
    ("dtype", "typestr"),
    [("bool", "|b1"), ("uint8", "|u1"), ("int64", "<i8"), ("float16", "<f2"), ("complex64", "<c8")],
)
def test_types_have_numpys_words(sycl_device, dtype, typestr):
    x = usmpy.zeros(3, dtype=dtype, device=sycl_device)
    assert dict_of(x)["typestr"] == typestr
    assert usmpy.asarray(Exporter(dict_of(x))).dtype == x.dtype


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float4_e2m1fn"])
def test_types_without_a_word_have_no_interface(sycl_device, dtype):
    x = usmpy.empty(4, dtype=dtype, device=sycl_device)
    assert not hasattr(x, "__sycl_usm_array_interface__")
    with pytest.raises(AttributeError, match=f"no type string for dtype {dtype}"):
        dict_of(x)


def test_memory_that_is_none_of_sycls_has_no_interface():
    x = usmpy.arange(3, device="host")
    assert not hasattr(x, "__sycl_usm_array_interface__")
    with pytest.raises(AttributeError, match="backend host, which SYCL does not know"):
        dict_of(x)


@pytest.mark.parametrize("take", [usmpy.asarray, usmpy.from_dlpack], ids=lambda take: take.__name__)
def test_there_and_back_is_the_same_memory_on_the_same_queue(sycl_device, take):
    queue = usmpy.Queue(sycl_device)
    x = usmpy.reshape(usmpy.arange(24, dtype="int32", queue=queue), (4, 6))
    y = take(Both(x[::-1, 1:]))
    assert (y.queue, y.strides) == (queue, (-6, 1))
    assert y.usm_type in ("device", "shared")  # of SVM, no driver can be asked
    assert y.data_ptr == x[::-1, 1:].data_ptr
    y[0, 0] = 99
    assert x[3, 1].item() == 99


def test_an_array_with_a_queue_is_borrowed_on_it(sycl_device):
    queue = usmpy.Queue(sycl_device)
    x = usmpy.zeros(8, dtype="int32", queue=queue)
    with usmpy.borrow(Both(x)) as taken:
        assert taken.queue == queue
        taken[...] = 5
    assert x.tolist() == [5] * 8
    with usmpy.borrow(Both(x), queue=sycl_device.queue) as taken:
        assert taken.queue == sycl_device.queue
        assert taken.tolist() == [5] * 8


def test_an_unknown_syclobj_leaves_the_other_protocol(sycl_device):
    x = usmpy.arange(4, dtype="int32", device=sycl_device)
    unknown = Both(x, syclobj=object())
    assert usmpy.from_dlpack(unknown).tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError, match="has an object as 'syclobj'; a SyclQueue or SyclContext of dpctl"):
        usmpy.asarray(Exporter(dict_of(x), syclobj=object()))


def test_the_owner_lives_as_long_as_the_array(sycl_device):
    memory = usmpy.arange(4, dtype="int32", device=sycl_device)
    owner = Exporter(dict_of(memory))
    gone = weakref.ref(owner)
    x = usmpy.asarray(owner)
    del owner
    gc.collect()
    assert gone() is not None
    assert x[1:].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_our_memory_keeps_its_kind_through_a_round_trip(sycl_device, kind):
    """Also SVM, of which no driver tells the kind."""
    x = usmpy.arange(6, dtype="int32", device=sycl_device, usm_type=kind)
    back = usmpy.asarray(Exporter(dict_of(x[::-2])))
    assert (back.usm_type, back.queue, back.data_ptr) == (kind, x.queue, x[::-2].data_ptr)
    assert back.__dlpack_device__() == x.__dlpack_device__()
    assert back.tolist() == [5, 3, 1]
    with pytest.raises(BufferError, match="of an allocation of 24 bytes"):
        usmpy.asarray(Exporter({**dict_of(x), "shape": (7,)}))


def test_the_dict_is_made_of_finished_data(sycl_device):
    if sycl_device.backend == "level_zero":
        pytest.skip("the host does not read memory of kind 'device' there")
    x = usmpy.zeros(1 << 20, dtype="float64", device=sycl_device, usm_type="shared")
    seen = np.from_dlpack(x)
    other = usmpy.Queue(sycl_device)
    for value in range(1, 6):
        other.fill(x, value)
        dict_of(x)
        assert (seen == value).all()


def test_a_failed_write_comes_out_of_the_dict(sycl_device):
    x = usmpy.zeros(4, dtype="int32", queue=usmpy.Queue(sycl_device))

    def fail(x):
        raise OSError("no such luck")

    x.queue.host_task(fail, x)
    for _ in range(2):  # a property does not tell of it: a debugger may have read it
        with pytest.raises(OSError, match="no such luck"):
            dict_of(x)
    with pytest.raises(OSError, match="no such luck"):
        x.queue.wait()


class Giver:
    """Has the method of dpctl's objects."""

    def __init__(self, capsule):
        self.capsule = capsule

    def _get_capsule(self):
        if isinstance(self.capsule, Exception):
            raise self.capsule
        return self.capsule


def test_imitations_of_dpctls_objects_are_refused(sycl_device):
    x = usmpy.arange(4, dtype="int32", device=sycl_device)
    with pytest.raises(BufferError, match="gives None; a capsule named 'SyclQueueRef' or"):
        usmpy.asarray(Exporter(dict_of(x), syclobj=Giver(None)))
    with pytest.raises(BufferError, match="a capsule named"):
        usmpy.Queue.from_native(sycl_device.backend, Giver(x.__dlpack__()))
    with pytest.raises(LookupError, match="not here"):
        usmpy.Context.from_native(sycl_device.backend, Giver(LookupError("not here")))


@pytest.mark.parametrize("version", [0, 2, "1", None])
def test_other_versions_are_refused(version):
    x = usmpy.arange(4, dtype="float32", device="host")
    interface = {
        "version": version,
        "data": (x.data_ptr, False),
        "shape": (4,),
        "typestr": "<f4",
        "syclobj": "host",
    }
    with pytest.raises(BufferError, match=f"has the version {version!r}; 1 is allowed"):
        usmpy.asarray(Exporter(interface))


def test_no_sycl_queue_without_a_sycl_runtime(device):
    if "libsycl.so" in pathlib.Path("/proc/self/maps").read_text():
        pytest.skip("another test has loaded dpctl's SYCL runtime")
    words = "no libsycl.so is loaded" if device.backend == "opencl" else f"not of {device.backend}"
    with pytest.raises(BufferError, match=words):
        device.queue._get_capsule()


def test_an_offset_that_raises():
    class Raises:
        def __index__(self):
            raise ZeroDivisionError

    x = usmpy.arange(4, dtype="float32", device="host")
    interface = {
        "version": 1,
        "typestr": "<f4",
        "shape": (4,),
        "data": (x.data_ptr, False),
        "syclobj": x.queue,
    }
    for offset, error in ((Raises(), ZeroDivisionError), (1 << 70, BufferError)):
        with pytest.raises(error):
            usmpy.asarray(Exporter(interface, offset=offset))


class Dlpack:
    """An array of another library, for which the driver is asked."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_the_driver_tells_the_kind_of_a_capsules_memory(sycl_device, kind):
    x = usmpy.arange(6, dtype="int32", device=sycl_device, usm_type=kind)
    x.wait()
    y = usmpy.from_dlpack(Dlpack(x))
    asked = sycl_device.backend == "level_zero"
    assert y.usm_type == kind or not asked
