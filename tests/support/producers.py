"""DLPack structures in ctypes, tensors made of them, and producers that hand them out, right and wrong.

Layouts are those of dlpack/dlpack.h 1.3. A ``Tensor`` counts the calls of its deleter, which then fills its
structure with 0xff: whoever looks at it later sees nonsense.
"""

from __future__ import annotations

import ctypes
import itertools
import threading

import usmpy

CPU, CUDA, ONEAPI = 1, 2, 14
READ_ONLY, IS_COPIED, PADDED = 1, 2, 4
VERSIONED, LEGACY = b"dltensor_versioned", b"dltensor"
TABLE_NAME = b"dlpack_exchange_api"

FLOAT32 = (2, 32, 1)


class DLVersion(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]

    def describe(self) -> dict:
        """The fields as Python values; shape and strides are None where the pointer is NULL."""
        return {
            "data": self.data,
            "device": (self.device.type, self.device.id),
            "dtype": (self.dtype.code, self.dtype.bits, self.dtype.lanes),
            "shape": tuple(self.shape[: self.ndim]) if self.shape else None,
            "strides": tuple(self.strides[: self.ndim]) if self.strides else None,
            "byte_offset": self.byte_offset,
        }


class DLManagedTensor(ctypes.Structure):
    _fields_ = [
        ("dl_tensor", DLTensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("version", DLVersion),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    ]


SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DLPackExchangeAPI(ctypes.Structure):
    _fields_ = [
        ("version", DLVersion),
        ("prev_api", ctypes.c_void_p),
        ("managed_tensor_allocator", ctypes.c_void_p),
        ("managed_tensor_from_py_object_no_sync", ctypes.c_void_p),
        ("managed_tensor_to_py_object_no_sync", ctypes.c_void_p),
        ("dltensor_from_py_object_no_sync", ctypes.c_void_p),
        ("current_work_stream", ctypes.c_void_p),
    ]


# Types of the functions in the table. The Python ones run with the GIL held; the allocator needs none.
ALLOCATOR = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(DLTensor), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, SET_ERROR
)
FROM_PY_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
TO_PY_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.py_object))
LEND = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
WORK_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.restype = ctypes.c_int
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
# The capsule's destructor meets a capsule without references: it is passed as an address.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", api))
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", api)
)

# Capsules keep the pointer of their name, so each name is made once.
_names: dict[str, bytes] = {}


def static_name(name: str | bytes) -> bytes:
    text = name.decode() if isinstance(name, bytes) else name
    return _names.setdefault(text, text.encode())


# -- tensors ---------------------------------------------------------------------------------------

_live: dict[int, Tensor] = {}


@DELETER
def _delete(address):
    tensor = _live.pop(address)
    tensor.deletions.append(threading.get_ident())
    ctypes.memset(address, 0xFF, ctypes.sizeof(tensor.managed))


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy_capsule(capsule):
    for name, struct in ((VERSIONED, DLManagedTensorVersioned), (LEGACY, DLManagedTensor)):
        if _is_valid(capsule, name):
            address = _get_pointer(capsule, name)
            deleter = struct.from_address(address).deleter
            if deleter:
                DELETER(deleter)(address)


def _array(values):
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)


def compact(shape) -> tuple[int, ...]:
    """Row-major strides in elements."""
    steps = itertools.accumulate((max(n, 1) for n in reversed(shape[1:])), lambda a, b: a * b, initial=1)
    return tuple(reversed(list(steps))) if shape else ()


def dlpack_dtype(dtype) -> tuple[int, int, int]:
    return dtype if isinstance(dtype, tuple) else usmpy.DType(dtype).dlpack


class Tensor:
    """A managed tensor over a copy of `memory` (an int: that many zero bytes), with any field set."""

    def __init__(
        self,
        shape=(3,),
        dtype=FLOAT32,
        *,
        memory: bytes | int | None = None,
        strides="compact",
        data: int | None = None,
        byte_offset=0,
        device=(CPU, 0),
        versioned=True,
        version=(1, 3),
        flags=0,
        ndim: int | None = None,
        with_deleter=True,
    ):
        dtype = dlpack_dtype(dtype)
        if memory is None:
            count = 1
            for length in shape or ():
                count *= max(length, 0)
            memory = (count * dtype[1] + 7) // 8 + byte_offset
        content = bytes(memory) if isinstance(memory, int) else memory
        self.memory = ctypes.create_string_buffer(content, max(len(content), 1))
        self.address = ctypes.addressof(self.memory)
        self._shape = _array(shape)
        if strides == "compact":
            strides = None if shape is None else compact(shape)
        self._strides = _array(strides)
        self.versioned = versioned
        self.managed = DLManagedTensorVersioned() if versioned else DLManagedTensor()
        self.deletions: list[int] = []
        if versioned:
            self.managed.version = DLVersion(*version)
            self.managed.flags = flags
        tensor = self.managed.dl_tensor
        tensor.data = self.address if data is None else data
        tensor.device = DLDevice(*device)
        tensor.ndim = len(shape or ()) if ndim is None else ndim
        tensor.dtype = DLDataType(*dtype)
        if self._shape is not None:
            tensor.shape = ctypes.cast(self._shape, ctypes.POINTER(ctypes.c_int64))
        if self._strides is not None:
            tensor.strides = ctypes.cast(self._strides, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = byte_offset
        if with_deleter:
            self.managed.deleter = ctypes.cast(_delete, ctypes.c_void_p).value

    @property
    def deleted(self) -> int:
        return len(self.deletions)

    def give(self) -> int:
        """The address, on its way to a new owner."""
        assert not self.deletions, "a tensor that its owner has deleted is handed out again"
        address = ctypes.addressof(self.managed)
        _live[address] = self
        return address

    def capsule(self, name=None):
        name = static_name(name if name is not None else VERSIONED if self.versioned else LEGACY)
        return api.PyCapsule_New(self.give(), name, ctypes.cast(_destroy_capsule, ctypes.c_void_p))


# -- producers -------------------------------------------------------------------------------------


class Producer:
    """Hands out one capsule a call, by the rules of today; keeps the keywords of each call."""

    def __init__(self, make_capsule, device=(CPU, 0)):
        self.make_capsule = make_capsule
        self.device = device
        self.calls: list[dict] = []

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        return self.make_capsule()

    def __dlpack_device__(self):
        return self.device


class OldProducer:
    """Knows the call without keywords but `stream`, as libraries did before DLPack 1.0."""

    def __init__(self, make_capsule):
        self.make_capsule = make_capsule
        self.calls = 0

    def __dlpack__(self, stream=None):
        self.calls += 1
        return self.make_capsule()

    def __dlpack_device__(self):
        return (CPU, 0)


def producer(*args, name=None, **kwargs) -> tuple[Producer, Tensor]:
    """A producer of one tensor, and the tensor."""
    tensor = Tensor(*args, **kwargs)
    return Producer(lambda: tensor.capsule(name)), tensor


# -- capsules from the consumer's side -------------------------------------------------------------


def capsule_name(capsule) -> str:
    return api.PyCapsule_GetName(capsule).decode()


def structure_of(capsule):
    name = api.PyCapsule_GetName(capsule)
    struct = DLManagedTensorVersioned if name == VERSIONED else DLManagedTensor
    return struct.from_address(api.PyCapsule_GetPointer(capsule, name))


def peek(capsule):
    """The structure in an unused capsule; the returned object, or a part of it, keeps it alive."""
    managed = structure_of(capsule)
    managed.capsule = capsule
    return managed


def take(capsule):
    """Takes the structure over, as a consumer does: delete() it later."""
    managed = structure_of(capsule)
    name = api.PyCapsule_GetName(capsule)
    api.PyCapsule_SetName(capsule, static_name(b"used_" + name))
    return managed


def delete(managed):
    """Calls the deleter without the GIL."""
    DELETER(managed.deleter)(ctypes.addressof(managed))


# -- exchange tables -------------------------------------------------------------------------------


def function_pointer(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value


@WORK_STREAM
def no_stream(device_type, device_id, out):
    out[0] = None
    return 0


# A C function with the signature of a table's, which fails with the exception that x.__bool__() raises.
FAILS_WITH_EXCEPTION_OF_BOOL = function_pointer(api.PyObject_IsTrue)

_tables: list = []  # a table lives as long as the process


def make_table(from_py_object, *, version=(1, 3), prev_api=None, name=TABLE_NAME, **functions):
    """A capsule with a table whose producer function is a FROM_PY_OBJECT or an address."""
    table = DLPackExchangeAPI()
    table.version = DLVersion(*version)
    table.prev_api = prev_api
    filled = {"current_work_stream": no_stream, "managed_tensor_from_py_object_no_sync": from_py_object}
    filled.update(functions)
    for field, function in filled.items():
        setattr(
            table,
            field,
            function if function is None or isinstance(function, int) else function_pointer(function),
        )
    _tables.append((table, filled))
    return api.PyCapsule_New(ctypes.addressof(table), static_name(name), None)


def our_table() -> DLPackExchangeAPI:
    capsule = usmpy.USMArray.__dlpack_c_exchange_api__
    return DLPackExchangeAPI.from_address(api.PyCapsule_GetPointer(capsule, TABLE_NAME))


@FROM_PY_OBJECT
def ask_for_tensor(x, out):
    """A table's producer function: the Tensor of x.make_tensor(); None fails without an exception."""
    tensor = x.make_tensor()
    if tensor is None:
        return -1
    out[0] = tensor.give()
    return 0


def lasting_counts():
    """Live counts without events: the queue's thread releases the event of a fill some time after its end."""
    return {name: count for name, count in usmpy._core._live_counts().items() if name != "events"}


class Buffer(ctypes.Structure):
    """Py_buffer."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]
