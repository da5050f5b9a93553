"""Dicts of __cuda_array_interface__ and __sycl_usm_array_interface__ whose members change the dict while
they are read: the members stay what they were. AddressSanitizer sees what does not.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import mmap

import numpy as np
import pytest

import usmpy

N = 6
CUDA, SYCL = "__cuda_array_interface__", "__sycl_usm_array_interface__"


class Exporter:
    """An object whose interface is one dict, which its members may change."""

    def __init__(self, name):
        self.name = name
        self.interface = {}
        self.kept = []

    def __getattr__(self, name):
        if name == self.__dict__.get("name"):
            return self.interface
        raise AttributeError(name)

    def change(self):
        """Drops the members; what is made next takes their memory."""
        self.interface.clear()
        gc.collect()
        self.kept += (
            [[i] for i in range(2000)] + [(i, i) for i in range(2000)] + [str(i) for i in range(2000)]
        )


class Acts:
    """An int, a truth value, and equal to anything, that changes the dict whenever it is asked."""

    def __init__(self, exporter, value):
        self.exporter, self.value = exporter, value
        self.asked = 0

    def act(self):
        self.asked += 1
        self.exporter.change()

    def __index__(self):
        self.act()
        return self.value

    def __bool__(self):
        self.act()
        return bool(self.value)

    def __eq__(self, other):
        self.act()
        return True

    def __hash__(self):
        return hash(self.value)


class Key(str):
    """In the way of a member: equal by its hash, so that the look-up asks it."""

    __slots__ = ("exporter",)

    def __hash__(self):
        return super().__hash__()

    def __eq__(self, other):
        self.exporter.change()
        return False


def members(name, memory, where):
    """Fresh objects, so that the dict holds the last references."""
    common = {
        "version": int("3" if name == CUDA else "1"),
        "typestr": "".join(["<", "f4"]),
        "shape": (N // 2, int("2")),
        "data": (memory.data_ptr + 0, False),
    }
    if name == CUDA:
        return {
            **common,
            "strides": (int("8"), int("4")),
            "descr": [("", "".join(["<", "f4"]))],
            "mask": None,
            "stream": int("1"),
        }
    return {**common, "strides": [int("2"), int("1")], "offset": int("0"), "syclobj": where}


PLACES = {
    "length": lambda e, d: d.update(shape=(Acts(e, N // 2), int("2"))),
    "last length": lambda e, d: d.update(shape=(N // 2, Acts(e, 2))),
    "list of strides": lambda e, d: d.update(
        strides=type(d["strides"])([Acts(e, d["strides"][0]), d["strides"][1]])
    ),
    "pointer": lambda e, d: d.update(data=(Acts(e, d["data"][0]), False)),
    "read-only": lambda e, d: d.update(data=(d["data"][0], Acts(e, 0))),
    "both of data": lambda e, d: d.update(data=(Acts(e, d["data"][0]), Acts(e, 0))),
    "offset": lambda e, d: d.update(offset=Acts(e, 0)),
    "stream": lambda e, d: d.update(stream=Acts(e, 1)),
    "descr": lambda e, d: d.update(descr=[("", Acts(e, 0))]),
}
ONLY = {"offset": SYCL, "stream": CUDA, "descr": CUDA}
NAMES = {"sycl": SYCL, "cuda": CUDA}
CASES = [
    (name, place, take)
    for name in NAMES
    for place in PLACES
    for take in ("asarray", "borrow", "copyto")
    if ONLY.get(place, NAMES[name]) == NAMES[name] and (take, name) != ("borrow", "sycl")
]


@pytest.fixture(params=NAMES)
def source(request):
    """(name of the interface, array whose memory it shows, syclobj)"""
    if request.param == "cuda":
        devices = usmpy.get_devices("cuda")
        if not devices:
            pytest.skip("no CUDA device, and no driver in software")
        memory = usmpy.asarray(np.arange(N, dtype="float32"), device=devices[0])
        memory.wait()
        return CUDA, memory, None
    return SYCL, usmpy.asarray(np.arange(N, dtype="float32"), device="host", copy=True), "host"


@pytest.mark.parametrize(("source", "place", "take"), CASES, indirect=["source"])
def test_a_member_that_changes_the_dict(source, place, take):
    name, memory, where = source
    exporter = Exporter(name)
    exporter.interface.update(members(name, memory, where))
    PLACES[place](exporter, exporter.interface)
    expected = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    if take == "asarray":
        assert usmpy.asarray(exporter).tolist() == expected
    elif take == "borrow":
        with usmpy.borrow(exporter) as x:
            # The exit asks for the stream: the members are back.
            exporter.interface.update(members(name, memory, where))
            assert x.tolist() == expected
    else:
        x = usmpy.zeros((3, 2), dtype="float32", device="host")
        with contextlib.suppress(BufferError):  # nothing is left that tells the stream
            usmpy.copyto(x, exporter)
        assert x.tolist() == expected
    assert exporter.kept


@pytest.mark.parametrize("member", ["version", "data", "shape", "typestr", "strides"])
def test_a_key_in_the_way_that_changes_the_dict(source, member):
    name, memory, where = source
    exporter = Exporter(name)
    key = Key(member)
    key.exporter = exporter
    exporter.interface[key] = 1
    for other, value in members(name, memory, where).items():
        dict.__setitem__(exporter.interface, other + "", value)
    with contextlib.suppress(BufferError, TypeError):  # where a member has gone
        assert usmpy.asarray(exporter).shape == (3, 2)


def test_an_error_of_a_member_goes_through(source):
    name, memory, where = source

    class Raises:
        def __index__(self):
            raise KeyError("mine")

        __bool__ = __index__

    for change in ({"shape": (Raises(),)}, {"data": (Raises(), False)}, {"data": (1, Raises())}):
        exporter = Exporter(name)
        exporter.interface.update(members(name, memory, where) | change)
        with pytest.raises(KeyError, match="mine"):
            usmpy.asarray(exporter)


LIBC = ctypes.CDLL(None, use_errno=True)


@pytest.fixture
def reserved():
    """A page that is there, and that nobody may read."""
    page = LIBC.mmap(None, mmap.PAGESIZE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    yield page
    LIBC.munmap(page, mmap.PAGESIZE)


@pytest.mark.leaves_objects("queues of devices are cached")
@pytest.mark.parametrize("kind", ["Queue", "Context"])
@pytest.mark.parametrize("interface", ["opencl", "level_zero", "cuda"])
def test_memory_that_may_not_be_read(interface, kind, reserved):
    try:
        found = usmpy.get_devices(interface)
    except usmpy.UsmError:
        found = []
    if not found:
        pytest.skip(f"there is no device of {interface}")
    with pytest.raises((usmpy.UsmError, ValueError)):
        getattr(usmpy, kind).from_native(interface, reserved)
