"""Builds raw.c, the loops that the host's copies and fills are measured against."""

from __future__ import annotations

import ctypes
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def build(folder: str) -> ctypes.CDLL:
    library = pathlib.Path(folder) / "raw.so"
    compiler = os.environ.get("CC", "gcc")
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-pthread"]
    subprocess.run([compiler, *flags, HERE / "raw.c", "-o", library], check=True)
    raw = ctypes.CDLL(str(library))
    address, size = ctypes.c_void_p, ctypes.c_size_t
    raw.raw_copy.argtypes = [address, address, size, ctypes.c_int]
    raw.raw_fill.argtypes = [address, ctypes.c_uint32, size, ctypes.c_int]
    raw.raw_copy_gaps.argtypes = [address, address, size, size, size, ctypes.c_int]
    raw.raw_copy.restype = raw.raw_fill.restype = raw.raw_copy_gaps.restype = None
    return raw
