"""Libraries that arrays are exchanged with, with one interface: make from NumPy, import, address, bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from libraries import need

import usmpy

ml_dtypes = need("ml_dtypes")

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
PLAIN = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
FLOAT8_TORCH = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
FLOAT8 = [*FLOAT8_TORCH, "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz"]


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, name))


def pattern(shape, dtype: str) -> np.ndarray:
    """Elements of all sorts of bits, NaNs among them; booleans are 0 and 1."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == "bool":
        return (np.arange(count) % 3 == 0).reshape(shape)
    if dtype == "complex32":
        return pattern((*shape, 2), "float16")
    dtype = numpy_dtype(dtype)
    nbytes = count * dtype.itemsize
    return (np.arange(nbytes, dtype=np.uint64) * 73 % 251).astype(np.uint8).view(dtype).reshape(shape)


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    dtypes: list[str]
    make: Callable[[np.ndarray], Any]  # an array of its own with these elements
    take: Callable[[Any], Any]  # its from_dlpack
    address: Callable[[Any], int]
    tobytes: Callable[[Any], bytes]  # in row-major order
    strides: frozenset[str] = frozenset({"transposed", "stepped", "repeated"})  # of those that it takes
    read_only: bool = True  # it takes read-only arrays
    views: bool = True  # its own arrays have strides


def numpy_peer() -> Peer:
    return Peer(
        "numpy",
        PLAIN,
        make=lambda a: a.copy(),
        take=np.from_dlpack,
        address=lambda a: a.__array_interface__["data"][0],
        tobytes=lambda a: a.tobytes(),
        strides=frozenset({"transposed", "stepped", "repeated", "negative"}),
    )


def torch_peer() -> Peer:
    torch = need("torch")

    def bits(tensor):
        flat = tensor.detach().resolve_conj().contiguous().reshape(-1)
        return (flat.view(torch.uint8) if flat.numel() else flat.to(torch.uint8)).numpy().tobytes()

    def make(a):
        if a.dtype.name in PLAIN:
            return torch.tensor(a)
        raw = torch.tensor(a.reshape(a.shape or (1,)).view(f"u{a.dtype.itemsize}"))
        return raw.view(getattr(torch, a.dtype.name)).reshape(a.shape)

    return Peer(
        "torch",
        [*PLAIN, "bfloat16", "complex32", *FLOAT8_TORCH],
        make=make,
        take=torch.from_dlpack,
        address=lambda t: t.data_ptr(),
        tobytes=bits,
        # Negative strides from any producer end the process inside torch 2.13.
    )


def jax_peer() -> Peer:
    jax = need("jax")
    version = tuple(int(number) for number in need("jaxlib").__version__.split(".")[:2])
    jax.config.update("jax_enable_x64", True)
    return Peer(
        "jax",
        [*PLAIN, "bfloat16", *FLOAT8],
        make=jax.numpy.asarray,
        take=jax.dlpack.from_dlpack,
        address=lambda a: a.unsafe_buffer_pointer(),
        tobytes=lambda a: np.asarray(a).tobytes(),
        strides=frozenset({"transposed"}),
        read_only=version >= (0, 12),  # the first that asks for DLPack with a version
        views=False,
    )


def tvm_ffi_peer() -> Peer:
    tvm_ffi = need("tvm_ffi")

    def make(a):
        # It makes no arrays of its own: it holds NumPy's, and torch's where NumPy has no code for the dtype.
        return tvm_ffi.from_dlpack(a.copy() if a.dtype.name in PLAIN else torch_peer().make(a))

    return Peer(
        "tvm_ffi",
        ["bool", *INTEGERS, *FLOATS, "bfloat16", *FLOAT8_TORCH],
        make=make,
        take=tvm_ffi.from_dlpack,
        address=lambda t: t.data_ptr(),
        # Through NumPy where it can, else through torch.
        tobytes=lambda t: (
            np.ascontiguousarray(np.from_dlpack(t)).tobytes()
            if str(t.dtype) in PLAIN
            else torch_peer().tobytes(torch_peer().take(t))
        ),
        strides=frozenset({"transposed", "stepped", "repeated", "negative"}),
    )


def _made() -> dict[str, Peer | str]:
    """Made while tests are collected, so that what the imports leave is not looked at around each test."""
    made: dict[str, Peer | str] = {}
    for make in (numpy_peer, torch_peer, jax_peer, tvm_ffi_peer):
        name = make.__name__.removesuffix("_peer")
        try:
            made[name] = make()
        except pytest.skip.Exception as absent:
            made[name] = str(absent)
    return made


PEERS = _made()


def peer_of(name: str) -> Peer:
    peer = PEERS[name]
    if isinstance(peer, str):
        pytest.skip(peer)
    return peer


def ours(a: np.ndarray, dtype: str | None = None) -> usmpy.USMArray:
    """An array of ours with these elements, bit for bit, also of dtypes that NumPy has no DLPack code for."""
    dtype = dtype or a.dtype.name
    shape = a.shape[:-1] if dtype == "complex32" else a.shape
    x = usmpy.empty(shape, dtype=dtype)
    if x.size:
        x.queue.memcpy(x, np.ascontiguousarray(a).reshape(-1).view("u1")).wait()
    return x


def our_bytes(x: usmpy.USMArray) -> bytes:
    """The elements in row-major order."""
    if x.size == 0:
        return b""
    compact = usmpy.empty(x.shape, dtype=x.dtype)
    usmpy.copyto(compact, x)
    into = bytearray(x.nbytes)
    x.queue.memcpy(into, compact).wait()
    return bytes(into)
