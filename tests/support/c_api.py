"""The table of usmpy.h through ctypes, as an extension has it."""

from __future__ import annotations

import ctypes

import usmpy

READ, WRITE, READ_WRITE = 1, 2, 3
DEVICE, SHARED, HOST = 0, 1, 2

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8)]


class Info(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("size", ctypes.c_int64),
        ("ndim", ctypes.c_int32),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dtype", DType),
        ("kind", ctypes.c_int),
        ("writable", ctypes.c_int),
        ("c_contiguous", ctypes.c_int),
        ("host_reads", ctypes.c_int),
    ]


class Access(ctypes.Structure):
    _fields_ = [("array", ctypes.py_object), ("mode", ctypes.c_int)]


obj, pointer, size, int_ = ctypes.py_object, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
FUNCTIONS = [
    ("array_check", int_, obj),
    ("array_info", int_, obj, ctypes.POINTER(Info)),
    ("array_empty", obj, int_, ctypes.POINTER(ctypes.c_int64), DType, int_, pointer),
    ("array_queue", obj, obj),
    ("array_wait", int_, obj, int_),
    ("memory_hold", pointer, obj),
    ("memory_release", None, pointer),
    ("queue_check", int_, obj),
    ("queue_backend", ctypes.c_char_p, obj),
    ("queue_native", pointer, obj),
    ("queue_submit", obj, obj, FUNCTION, pointer, pointer, ctypes.POINTER(Access), size, pointer, size),
    ("queue_begin", int_, obj, ctypes.POINTER(Access), size),
    ("queue_end", obj, obj, ctypes.POINTER(Access), size),
    ("queue_wait", int_, obj, ctypes.c_double),
    ("event_check", int_, obj),
    ("event_done", int_, obj),
    ("event_wait", int_, obj, ctypes.c_double),
]


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("size", ctypes.c_size_t),
        *((name, ctypes.PYFUNCTYPE(result, *arguments)) for name, result, *arguments in FUNCTIONS),
    ]


def table() -> Table:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Table.from_address(get(usmpy._core._C_API, b"usmpy._core._C_API"))


def accesses(*pairs):
    return (Access * max(len(pairs), 1))(*pairs), len(pairs)


def events(*items):
    """depends, n_depends; the array keeps no count: the caller holds the events."""
    return (ctypes.py_object * len(items))(*items), len(items)
