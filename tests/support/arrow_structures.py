"""Structures of Arrow's C data interface in ctypes, arrays made of them, and objects that hand them out.

An ``Exported`` counts the calls of its release, which then fills its structure with 0xff but for `release`:
whoever looks at it later sees nonsense.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading

import producers

SCHEMA, ARRAY, DEVICE_ARRAY = "arrow_schema", "arrow_array", "arrow_device_array"


class ArrowSchema(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class ArrowDeviceArray(ctypes.Structure):
    _fields_ = (
        ("array", ArrowArray),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    )


STRUCTURES = {SCHEMA: ArrowSchema, ARRAY: ArrowArray, DEVICE_ARRAY: ArrowDeviceArray}
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def structure(capsule):
    """The structure in a capsule, which must be kept."""
    name = producers.capsule_name(capsule)
    address = producers.api.PyCapsule_GetPointer(capsule, producers.static_name(name))
    return STRUCTURES[name].from_address(address)


def released(item) -> bool:
    return not (item.array if isinstance(item, ArrowDeviceArray) else item).release


def release(item) -> None:
    """What a consumer does at the end, on any thread."""
    item = item.array if isinstance(item, ArrowDeviceArray) else item
    RELEASE(item.release)(ctypes.addressof(item))
    assert not item.release


def move(item):
    """What a consumer does at first: a copy of the structure, whose source counts as released."""
    moved = type(item)()
    ctypes.memmove(ctypes.byref(moved), ctypes.byref(item), ctypes.sizeof(moved))
    (item.array if isinstance(item, ArrowDeviceArray) else item).release = None
    return moved


def extension(name: str, metadata: bytes = b"") -> bytes:
    """Metadata that name an extension type."""
    pairs = [(b"ARROW:extension:name", name.encode()), (b"ARROW:extension:metadata", metadata)]
    text = b"".join(struct.pack("=i", len(part)) + part for pair in pairs for part in pair)
    return struct.pack("=i", len(pairs)) + text


_live: dict[int, Exported] = {}


@RELEASE
def _release_schema(address):
    ArrowSchema.from_address(address).release = None


@RELEASE
def _release_array(address):
    array = ArrowArray.from_address(address)
    exported = _live.pop(array.private_data)
    ctypes.memset(address, 0xFF, ctypes.sizeof(array))
    array.release = None
    exported.releases.append(threading.get_ident())


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy_capsule(capsule):
    for name, kind in STRUCTURES.items():
        if producers._is_valid(capsule, name.encode()):
            item = kind.from_address(producers._get_pointer(capsule, name.encode()))
            if not released(item):
                release(item)


def make_capsule(item, name: str):
    destroy = ctypes.cast(_destroy_capsule, ctypes.c_void_p)
    return producers.api.PyCapsule_New(ctypes.addressof(item), producers.static_name(name), destroy)


def address_of(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value


class Exported:
    """An array with any field set; `list_sizes` puts its elements into lists of fixed size.

    It hands out one pair of capsules, as a device array unless `on_device` is False.
    """

    def __init__(
        self,
        data: int | bytes | None = bytes(range(32)),
        format: bytes = b"C",
        length: int = 4,
        *,
        list_sizes=(),
        metadata: bytes | None = None,
        validity: bytes | None = None,
        device=(1, -1),
        sync_event: int | None = None,
        on_device: bool = True,
        names=(SCHEMA, None),
        schema=None,
        array=None,
        child=None,
    ):
        self.memory = ctypes.create_string_buffer(data) if isinstance(data, bytes) else None
        self.address = ctypes.addressof(self.memory) if self.memory is not None else data
        self.validity = None if validity is None else ctypes.create_string_buffer(validity)
        self.metadata = None if metadata is None else ctypes.create_string_buffer(metadata)
        self.releases: list[int] = []
        self.calls: list[str] = []
        self.names = (names[0], names[1] or (DEVICE_ARRAY if on_device else ARRAY))
        self.parts = []  # what the structures point to
        sizes = list(list_sizes)
        formats = [b"+w:%d" % size for size in sizes] + [format]
        self.schemas, self.arrays = [], []
        n = length
        for depth, text in enumerate(formats):
            self.schemas.append(
                ArrowSchema(format=text, name=b"", flags=2, release=address_of(_release_schema))
            )
            is_list = depth < len(sizes)
            buffers = (ctypes.c_void_p * 2)()
            if not is_list:
                buffers[1] = self.address
            self.parts.append(buffers)
            self.arrays.append(
                ArrowArray(
                    length=n,
                    n_buffers=1 if is_list else 2,
                    buffers=buffers,
                    release=address_of(_release_schema if depth else _release_array),
                )
            )
            n *= sizes[depth] if is_list else 1
        for items, kind in ((self.schemas, ArrowSchema), (self.arrays, ArrowArray)):
            for item, below in itertools.pairwise(items):
                children = (ctypes.POINTER(kind) * 1)(ctypes.pointer(below))
                self.parts.append(children)
                item.n_children, item.children = 1, children
        if self.validity is not None:
            self.parts[0][0] = ctypes.addressof(self.validity)
        if self.metadata is not None:
            self.schemas[-1].metadata = ctypes.addressof(self.metadata)
        self.arrays[0].private_data = id(self)
        for item, changes in ((self.schemas[0], schema), (self.arrays[0], array), (self.arrays[-1], child)):
            for name, value in (changes or {}).items():
                setattr(item, name, value)
        self.top = self.arrays[0]
        if on_device:
            self.top = ArrowDeviceArray(
                array=self.arrays[0], device_type=device[0], device_id=device[1], sync_event=sync_event
            )
            self.__arrow_c_device_array__ = self._export
        else:
            self.__arrow_c_array__ = self._export

    @property
    def released(self) -> int:
        return len(self.releases)

    def _export(self):
        self.calls.append("export")
        if not released(self.top):
            _live[id(self)] = self
        return make_capsule(self.schemas[0], self.names[0]), make_capsule(self.top, self.names[1])


class Capsules:
    """An object that hands out a given pair, whatever it is."""

    def __init__(self, pair, method="__arrow_c_device_array__"):
        setattr(self, method, lambda: pair)
