"""Producers and arguments that fail: in the look-up of their type, in their device, in their streams."""

from __future__ import annotations

import threading

import no_drivers
import numpy as np
import producers
import pytest
from asleep import once_asleep
from producers import CPU, Producer, Tensor, make_table
from test_routes import TABLE, TableMixin

import usmpy

CUDA, SYCL = "__cuda_array_interface__", "__sycl_usm_array_interface__"


class Key(str):
    """A name in a class that is asked whether it is another one, and raises or changes the class."""

    action = staticmethod(lambda: None)
    __hash__ = str.__hash__

    def __eq__(self, other):
        if self is not other:
            type(self).action()
        return False


def fails():
    raise ZeroDivisionError("mine")


@pytest.fixture
def key():
    """A fresh class of keys, so that each test has an action of its own."""
    return type("Key", (Key,), {"__hash__": str.__hash__})


NAMES = ["__dlpack_c_exchange_api__", "__dlpack__", "is_conj", "requires_grad", SYCL, CUDA]


@pytest.mark.parametrize("name", NAMES)
def test_an_error_in_the_look_up_of_a_type(key, name):
    members = {key(name): 0} | ({"__dlpack_c_exchange_api__": TABLE} if name[0] != "_" else {})
    x = type("Hostile", (TableMixin,), members)()
    key.action = staticmethod(fails)
    for take in (usmpy.from_dlpack, usmpy.asarray, lambda x: usmpy.borrow(x).__enter__()):
        with pytest.raises(ZeroDivisionError, match="mine"):
            take(x)
    key.action = staticmethod(lambda: None)
    assert usmpy.from_dlpack(x).shape == (3,)


def test_a_type_that_changes_while_it_is_looked_up(key):
    kind = type("Changing", (TableMixin,), {key(CUDA): 0})
    x = kind()
    key.action = staticmethod(lambda: setattr(kind, "counter", 1))
    for _ in range(2):
        assert usmpy.from_dlpack(x).shape == (3,)
    assert x.routes == ["method", "method"]


def test_a_type_that_changes_while_it_tells_its_device():
    class Changing(TableMixin):
        def __dlpack_device__(self):
            Changing.counter = 1
            return CPU, 0

    x = Changing()
    for _ in range(2):
        assert usmpy.from_dlpack(x).shape == (3,)
    assert x.routes == ["method", "method"]


def test_a_device_that_cannot_be_told():
    class Raises(TableMixin):
        def __dlpack_device__(self):
            fails()

    with pytest.raises(BufferError, match="ZeroDivisionError: mine"):
        usmpy.from_dlpack(Raises())
    for pair in (None, 1, (1,), (1, 0, 0), ("cpu", 0)):
        made, kind = [], type("Fresh", (Producer,), {})  # what is known of a type is remembered
        with pytest.raises(TypeError, match="a pair of ints is needed"):
            usmpy.from_dlpack(kind(lambda made=made: made.append(1), device=pair))
        assert not made


def test_a_tensor_that_is_conjugated_but_never_negated():
    class Lazy(TableMixin):
        __dlpack_c_exchange_api__ = TABLE
        conj = False

        def make_tensor(self):
            self.tensors.append(Tensor(dtype="complex64"))
            return self.tensors[-1]

        def is_conj(self):
            return self.conj

    x = Lazy()
    assert usmpy.from_dlpack(x).tolist() == [0, 0, 0]
    x.conj = True
    with pytest.raises(BufferError, match="conjugate"):
        usmpy.from_dlpack(x)


@producers.WORK_STREAM
def fails_silently(device_type, device_id, out):
    return -1


def test_a_table_whose_stream_fails():
    if not usmpy.get_devices("cuda"):
        pytest.skip("no CUDA device, and no driver in software")

    class Failing(TableMixin):
        __dlpack_c_exchange_api__ = make_table(producers.ask_for_tensor, current_work_stream=fails_silently)

        def make_tensor(self):
            self.tensors.append(Tensor(device=(producers.CUDA, 0)))
            return self.tensors[-1]

    x = Failing()
    with pytest.raises(BufferError, match="failed without an exception"):
        usmpy.from_dlpack(x)
    assert x.tensors[0].deleted == 1


class Interface:
    def __init__(self, name, **members):
        setattr(self, name, members)


@pytest.mark.parametrize("name", [CUDA, SYCL])
def test_typestrs_without_utf8(name):
    members = {
        "version": 3 if name == CUDA else 1,
        "data": (0, False),
        "shape": (0,),
        "typestr": "\udc80",
        "syclobj": "host",
    }
    with pytest.raises((BufferError, UnicodeError)):
        usmpy.asarray(Interface(name, **members))


def test_offsets_beyond_any_address():
    memory = np.zeros(4, "float64")
    members = {
        "version": 1,
        "data": (memory.ctypes.data, False),
        "shape": (4,),
        "typestr": "<f8",
        "syclobj": "host",
    }
    for offset in (2**61, -(2**61), 2**70):
        with pytest.raises(BufferError, match="beyond any address"):
            usmpy.asarray(Interface(SYCL, **members, offset=offset))


def test_a_buffer_whose_strides_leave_the_address_space():
    n = np.lib.stride_tricks.as_strided(np.zeros(4, "int8"), (4,), (2**62,))
    with pytest.raises(BufferError, match="beyond any address"):
        usmpy.asarray(memoryview(n))


def test_native_objects_by_odd_names_and_handles():
    with pytest.raises((ValueError, UnicodeError)):
        usmpy.Queue.from_native("\udc80", 1)

    class Raises:
        @property
        def int_ptr(self):
            fails()

    for cls in (usmpy.Queue, usmpy.Context):
        with pytest.raises(ZeroDivisionError, match="mine"):
            cls.from_native("opencl", Raises())


def test_streams_of_devices_that_are_not_here():
    if not usmpy.get_devices("cuda"):
        pytest.skip("no CUDA device, and no driver in software")

    class Stream:
        cuda_stream = 0
        device_id = 99

    with pytest.raises(
        ValueError, match="the stream is of device 99, and the cuda backend has no such device"
    ):
        usmpy.Queue.from_stream(Stream())
    with pytest.raises(TypeError, match="missing"):
        usmpy.Queue.from_stream()


def test_streams_that_the_driver_does_not_know():
    if not usmpy.get_devices("cuda"):
        pytest.skip("no CUDA device, and no driver in software")
    x = usmpy.zeros(4, dtype="float32", device="cuda")
    x.wait()
    members = {"version": 3, "data": (x.data_ptr, False), "shape": (4,), "typestr": "<f4"}
    with pytest.raises(usmpy.UsmError, match="no stream of CUDA"):
        usmpy.asarray(Interface(CUDA, **members, stream=12345))
    with pytest.raises(usmpy.UsmError, match="no stream of CUDA"):
        usmpy.Queue.from_stream(12345)


def test_the_stream_of_an_array_that_the_host_works_on():
    if not usmpy.get_devices("cuda"):
        pytest.skip("no CUDA device, and no driver in software")
    x = usmpy.zeros(4, device="cuda", usm_type="shared").to_device("host")
    gate = threading.Event()
    x.queue.host_task(lambda x: gate.wait(60), x)
    once_asleep(gate.set)
    interface = x.__cuda_array_interface__
    assert interface["data"] == (x.data_ptr, False)
    assert interface["stream"] == usmpy.Device("cuda").queue.__cuda_stream__()[1]
    x.wait()


def test_a_compiled_producer_whose_stream_cannot_be_read():
    if not usmpy.get_devices("cuda"):
        pytest.skip("no CUDA device, and no driver in software")

    class Compiled:
        __dlpack__ = staticmethod(lambda **keywords: pytest.fail("the device has no stream"))

        def __dlpack_device__(self):
            return producers.CUDA, 0

        @property
        def __cuda_array_interface__(self):
            fails()

    with pytest.raises(ZeroDivisionError, match="mine"):
        usmpy.from_dlpack(Compiled())


def test_streams_without_a_driver():
    no_drivers.run(
        """
        import ctypes

        class Interface:
            __cuda_array_interface__ = {
                "version": 3, "data": (64, False), "shape": (4,), "typestr": "<f4", "stream": 7
            }

        for call in (lambda: usmpy.asarray(Interface()), lambda: usmpy.Queue.from_stream(7)):
            try:
                call()
            except usmpy.BackendUnavailable as error:
                assert "cuda" in str(error).lower(), error
            else:
                raise AssertionError("no exception")
        """
    )


class Raises:
    """A sequence whose length cannot be read, since Ctrl-C arrives in between; and an int."""

    def __len__(self):
        raise KeyboardInterrupt

    def __getitem__(self, i):
        return i

    def __index__(self):
        return 1


class Handle:
    def __index__(self):
        raise KeyboardInterrupt


class Stream:
    synchronize = None
    ptr = Handle()


class Refuses(Exception):
    """Ctrl-C arrives while a second exception of the class is made."""

    armed = False

    def __new__(cls, *args):
        if cls.armed:
            raise KeyboardInterrupt
        return super().__new__(cls, *args)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: usmpy.asarray(Raises()),
        lambda x: usmpy.asarray([Raises()]),
        lambda x: x[Raises()],
        lambda x: x[Raises(),],
        lambda x: x.queue.wait_for(Stream()),
        lambda x: x.device.create_sub_devices(Handle()),
    ],
    ids=["asarray", "nested", "key", "key of a tuple", "stream", "units"],
)
def test_exceptions_of_arguments_propagate(call):
    x = usmpy.ones(4, device="host")
    with pytest.raises(KeyboardInterrupt):
        call(x)


def test_a_sequence_that_cannot_be_iterated_is_a_type_error():
    class Unreadable(Raises):
        __iter__ = None

        def __len__(self):
            return 2

    with pytest.raises(TypeError, match="obj contains a sequence that cannot be iterated"):
        usmpy.asarray(Unreadable())


def test_an_interrupt_while_a_failure_is_copied_propagates(monkeypatch):
    def fail():
        raise Refuses

    event = usmpy.Queue("host").host_task(fail)
    while not event.done:
        pass
    monkeypatch.setattr(Refuses, "armed", True)
    with pytest.raises(KeyboardInterrupt):
        event.wait()
    monkeypatch.undo()
    with pytest.raises(Refuses):
        event.wait()
