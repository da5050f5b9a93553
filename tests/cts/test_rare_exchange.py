"""Exchange that few programs make: old producers, empty tensors, addresses of memory of others."""

import gc
import weakref

import numpy as np
import producers
import pytest
from producers import Producer, Tensor, make_table

import usmpy


class Oldest:
    """Knows neither the stream nor the version of a consumer."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_a_producer_without_any_keyword(queue):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    x.wait()
    for _ in range(2):
        assert usmpy.from_dlpack(Oldest(x)).tolist() == [0, 1, 2, 3]


def test_empty_tensors(queue):
    x = usmpy.zeros((0, 3), dtype="int32", queue=queue)
    y = usmpy.from_dlpack(Producer(lambda: x.__dlpack__(max_version=(1, 3)), device=x.__dlpack_device__()))
    assert (y.shape, y.tolist()) == ((0, 3), [])


class WithTable:
    __dlpack_c_exchange_api__ = make_table(producers.ask_for_tensor)

    def __init__(self, array):
        self.array = array

    def make_tensor(self):
        x = self.array
        return Tensor(x.shape, x.dtype.name, data=x.data_ptr, device=x.__dlpack_device__())


def test_a_table_on_every_device(queue):
    x = usmpy.arange(6, dtype="int32", queue=queue).reshape(2, 3)
    x.wait()
    assert usmpy.from_dlpack(WithTable(x)).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_borrow_that_the_collector_clears_first(queue):
    """A dict is tracked once it has an object that is: here, after the borrow."""

    class Sentinel:
        pass

    sentinel, cycle = Sentinel(), {}
    gone = weakref.ref(sentinel)
    borrow = usmpy.borrow(cycle, queue)
    cycle["borrow"], cycle["sentinel"] = borrow, sentinel
    del borrow, sentinel, cycle
    gc.collect()
    assert gone() is None


def test_an_owner_whose_memory_is_given_back_without_the_gil(queue):
    class Owner:
        pass

    memory, owner = usmpy.zeros(4, dtype="int32", queue=queue), Owner()
    memory.wait()
    gone = weakref.ref(owner)
    x = usmpy.USMArray.from_pointer(memory.data_ptr, 4, "int32", queue=queue, owner=owner)
    managed = producers.take(x.__dlpack__(max_version=(1, 3)))
    del x, owner
    gc.collect()
    assert gone() is not None
    producers.delete(managed)
    usmpy.zeros(1, queue=queue).wait()  # a call of usmpy releases what other threads could not
    assert gone() is None


def test_arguments_of_from_pointer(queue):
    x = usmpy.zeros(4, dtype="uint8", queue=queue)
    make = usmpy.USMArray.from_pointer
    with pytest.raises(TypeError, match="queue is an int; a Queue is allowed"):
        make(x.data_ptr, 4, "uint8", queue=1)
    with pytest.raises(ValueError, match="packs several elements into a byte"):
        make(x.data_ptr, 4, "float4_e2m1fn", strides=(1,), queue=queue)
    for shape in ((2**40, 2**40), (2**62, 4)):
        with pytest.raises((ValueError, MemoryError)):
            make(x.data_ptr, shape, "uint8", queue=queue)


class Exporter:
    """Has an array's interface of SYCL, with another object that names the queue."""

    def __init__(self, array, syclobj):
        self.__sycl_usm_array_interface__ = {**array.__sycl_usm_array_interface__, "syclobj": syclobj}


def test_a_context_stands_for_a_queue_of_it(queue):
    x = usmpy.arange(4, dtype="int32", queue=queue)
    if not hasattr(x, "__sycl_usm_array_interface__"):
        with pytest.raises(AttributeError, match="which SYCL does not know"):
            _ = x.__sycl_usm_array_interface__
        return
    for place in (queue.context, queue, queue.device):
        y = usmpy.asarray(Exporter(x, place))
        assert (y.data_ptr, y.queue.context, y.tolist()) == (x.data_ptr, queue.context, [0, 1, 2, 3])


def test_the_syclobj_is_of_the_context_of_the_memory(queue):
    other = usmpy.Queue(queue.device, context=usmpy.Context([queue.device]))
    x = usmpy.zeros(4, queue=queue)
    x.wait()
    y = x.to_device(other)
    if hasattr(y, "__sycl_usm_array_interface__"):
        owner = queue if y.data_ptr == x.data_ptr else other
        assert y.__sycl_usm_array_interface__["syclobj"].context == owner.context


def test_addresses_of_other_memory(queue):
    """Memory that the driver does not know is of the kind that is given, if the device has it."""
    n = np.zeros(4, "uint8")
    for kind in ("device", "shared", "host"):
        refused = ""
        try:
            x = usmpy.USMArray.from_pointer(n.ctypes.data, 4, "uint8", queue=queue, usm_type=kind, owner=n)
        except ValueError as error:
            refused = str(error)
        if getattr(queue.device, f"has_usm_{kind}"):
            assert "the driver does not know" in refused if refused else x.usm_type == kind
        else:
            assert refused


def test_an_interface_over_other_memory(queue):
    """The same, where the producer's interface says that it is unified shared memory."""
    n, x = np.zeros(4, "uint8"), usmpy.zeros(4, dtype="uint8", queue=queue)
    if not hasattr(x, "__sycl_usm_array_interface__"):
        return
    exporter = Exporter(x, queue)
    exporter.__sycl_usm_array_interface__["data"] = (n.ctypes.data, False)
    try:
        y = usmpy.asarray(exporter)
    except BufferError:
        y = None
    assert y is None or (y.data_ptr == n.ctypes.data and y.usm_type in ("shared", "device"))


def test_strides_modulo_the_address_space(queue):
    """CuPy's, of reversed arrays: they are taken where the driver knows the bounds of the memory."""
    x = usmpy.arange(3, dtype="float32", queue=queue)
    x.wait()
    device = x.__dlpack_device__()

    def capsule():
        return Tensor((3,), strides=(2**62 - 1,), data=x.data_ptr + 8, device=device).capsule()

    try:
        y = usmpy.from_dlpack(Producer(capsule, device=device))
    except BufferError as error:
        y, text = None, str(error)
    if y is None:
        assert text.endswith("reach beyond any address")
    else:
        assert y.tolist() == [2, 1, 0]
