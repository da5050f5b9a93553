"""Shared objects of usmpy._compile.compiler, called through ctypes as csrc/cpu/kernel.h says."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np

from usmpy._compile import compiler

SIZES = ctypes.c_size_t * 3


class ParameterRow(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_char_p),
        ("dtype", ctypes.c_char_p),
        ("kind", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("read_only", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, SIZES, SIZES, SIZES, SIZES)


class EntryRow(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("run", RUN),
        ("parameters", ctypes.POINTER(ParameterRow)),
        ("n_parameters", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("required_local", SIZES),
    ]


class Table(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("n", ctypes.c_uint32),
        ("entries", ctypes.POINTER(EntryRow)),
    ]


VALUE, POINTER, LOCAL = range(3)
GROUPS = 1


class Local:
    """An argument: bytes of local memory."""

    def __init__(self, nbytes):
        self.nbytes = nbytes


class Kernel:
    def __init__(self, library, row):
        self.library, self.row = library, row
        self.name = row.name.decode()
        self.groups = bool(row.flags & GROUPS)
        self.required_local = tuple(row.required_local)
        self.parameters = [row.parameters[i] for i in range(row.n_parameters)]

    def describe(self):
        """(name, type, dtype, kind, size, read_only) of each parameter."""
        return [
            (p.name.decode(), p.type.decode(), p.dtype and p.dtype.decode(), p.kind, p.size, p.read_only)
            for p in self.parameters
        ]

    def __call__(self, size, *given, local=None, boxes=1, box=None):
        """Run the kernel over the range, or over the given one-dimensional box.

        ``boxes``: into how many parts the range is divided, along its last dimension of more than one unit.
        """
        assert len(given) == len(self.parameters)
        kept, pointers = [], (ctypes.c_void_p * max(len(given), 1))()
        for i, (value, p) in enumerate(zip(given, self.parameters, strict=True)):
            if p.kind == POINTER:
                cell = ctypes.c_void_p(value.ctypes.data)
            elif p.kind == LOCAL:
                cell = ctypes.c_size_t(value.nbytes)
            else:
                data = (
                    value
                    if isinstance(value, bytes)
                    else np.asarray(value, p.dtype and p.dtype.decode()).tobytes()
                )
                assert len(data) == p.size
                cell = ctypes.create_string_buffer(data, len(data) + 8)
            kept.append(cell)
            pointers[i] = ctypes.addressof(cell)
        size = (size,) if isinstance(size, int) else size
        local = (local,) if isinstance(local, int) else local
        whole = [*size, 1, 1][:3]
        local = [*(local or [1]), 1, 1][:3]
        units = [-(-n // m) for n, m in zip(whole, local, strict=True)] if self.groups else whole
        cut = [1, 1, 1]
        cut[max((i for i in range(3) if units[i] > 1), default=0)] = boxes
        for parts in itertools.product(*(range(n) for n in cut)):
            lo = [u * p // c for u, p, c in zip(units, parts, cut, strict=True)]
            hi = [u * (p + 1) // c for u, p, c in zip(units, parts, cut, strict=True)]
            if box is not None:
                lo[0], hi[0] = box
            status = self.row.run(pointers, SIZES(*whole), SIZES(*local), SIZES(*lo), SIZES(*hi))
            if status:
                raise MemoryError


class Library:
    def __init__(self, path):
        self.path = path
        self.dll = ctypes.CDLL(path)
        self.table = Table.in_dll(self.dll, "usmpy_kernels")
        assert self.table.version == 1
        rows = [self.table.entries[i] for i in range(self.table.n)]
        self.kernels = {row.name.decode(): Kernel(self, row) for row in rows}

    def __getattr__(self, name):
        try:
            return self.kernels[name]
        except KeyError:
            raise AttributeError(name) from None


def build(source, language="portable", options="", **more):
    return Library(compiler.build(source, language, options, **more))
