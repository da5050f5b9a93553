"""The exchanges that docs/make_exchange_matrix.py runs: one entry for each call that a reader would write."""

from __future__ import annotations

import array
import ctypes
import dataclasses
import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any

import usmpy

COUNT = 16


@dataclasses.dataclass(frozen=True)
class Since:
    """What a cell of the page says where a version of a package changed the answer."""

    column: str
    package: str
    version: str
    new: str
    old: str

    def text(self, found: str) -> str:
        """The page's text, if this is what the installed version gives; else what was found."""
        numbers = [int(n) for n in importlib.metadata.version(self.package).split(".")[:2]]
        is_new = numbers >= [int(n) for n in self.version.split(".")]
        page = f"{self.new} ({self.package} before {self.version}: {self.old})"
        return page if found == (self.new if is_new else self.old) else found


@dataclasses.dataclass(frozen=True)
class In:
    """Somebody's array to usmpy. take(theirs, device) gives a USMArray; None leaves memory where it is."""

    library: str
    call: str  # as a reader writes it, with theirs and x
    needs: tuple[str, ...]  # modules
    make: Callable[[], Any]
    take: Callable[[Any, Any], Any]
    address: Callable[[Any], int]
    # An array whose elements become 7 when the threading.Event is set; None where the library has no queues.
    pending: Callable[[Any], Any] | None = None
    elsewhere: bool = True  # the call has a device=
    since: Since | None = None


@dataclasses.dataclass(frozen=True)
class Out:
    """An export of a USMArray; `take(x)` returns the other library's array."""

    library: str
    call: str
    needs: tuple[str, ...]
    take: Callable[[Any], Any]
    address: Callable[[Any], int]
    first: Callable[[Any], float]  # of theirs
    dtype: str = "float32"


def module(name: str) -> Any:
    return importlib.import_module(name)


def take_dlpack(theirs: Any, device: Any) -> Any:
    return usmpy.from_dlpack(theirs, device=device)


def take_arrow(theirs: Any, device: Any) -> Any:
    return usmpy.from_arrow(theirs, device=device)


def take_any(theirs: Any, device: Any) -> Any:
    return usmpy.asarray(theirs, device=device)


def share_any(theirs: Any, device: Any) -> Any:
    return usmpy.asarray(theirs, device=device, copy=False)


def numpy_address(a: Any) -> int:
    return int(a.ctypes.data)


def make_numpy() -> Any:
    return module("numpy").arange(COUNT, dtype="float32")


def make_bfloat16() -> Any:
    return module("numpy").arange(COUNT).astype(module("ml_dtypes").bfloat16)


def take_bfloat16(theirs: Any, _device: Any) -> Any:
    return usmpy.USMArray.from_pointer(
        theirs.ctypes.data, theirs.shape, "bfloat16", queue=usmpy.Device("host").queue, owner=theirs
    )


def pending_jax(gate: Any) -> Any:
    jax, np = module("jax"), module("numpy")

    def late(a: Any) -> Any:
        gate.wait(10)
        return np.full_like(a, 7)

    start = jax.numpy.zeros(COUNT, "float32")
    return jax.jit(lambda a: jax.pure_callback(late, jax.ShapeDtypeStruct(a.shape, a.dtype), a))(start)


def make_arrow() -> Any:
    return module("pyarrow").array([float(i) for i in range(COUNT)], type=module("pyarrow").float32())


def make_array() -> Any:
    return array.array("f", range(COUNT))


IN = [
    In("NumPy", "usmpy.from_dlpack(theirs)", ("numpy",), make_numpy, take_dlpack, numpy_address),
    In(
        "PyTorch",
        "usmpy.from_dlpack(theirs)",
        ("torch",),
        lambda: module("torch").arange(COUNT, dtype=module("torch").float32),
        take_dlpack,
        lambda t: int(t.data_ptr()),
    ),
    In(
        "JAX",
        "usmpy.from_dlpack(theirs)",
        ("jax",),
        lambda: module("jax").numpy.arange(COUNT, dtype="float32"),
        take_dlpack,
        lambda a: int(a.unsafe_buffer_pointer()),
        pending_jax,
        since=Since("writable", "jaxlib", "0.12", new="no", old="yes"),
    ),
    In(
        "tvm-ffi",
        "usmpy.from_dlpack(theirs)",
        ("tvm_ffi",),
        lambda: module("tvm_ffi").from_dlpack(make_numpy()),
        take_dlpack,
        lambda t: int(t.data_ptr()),
    ),
    In(
        "Arrow",
        "usmpy.from_dlpack(theirs)",
        ("pyarrow",),
        make_arrow,
        take_dlpack,
        lambda a: int(a.buffers()[1].address),
    ),
    In(
        "Arrow",
        "usmpy.from_arrow(theirs)",
        ("pyarrow",),
        make_arrow,
        take_arrow,
        lambda a: int(a.buffers()[1].address),
    ),
    In(
        "any of these, buffers, and what NumPy reads",
        "usmpy.asarray(theirs)",
        (),
        make_array,
        take_any,
        lambda a: int(a.buffer_info()[0]),
    ),
    In(
        "buffer protocol",
        "usmpy.asarray(theirs, copy=False)",
        (),
        make_array,
        share_any,
        lambda a: int(a.buffer_info()[0]),
    ),
    In(
        "ml_dtypes",
        "usmpy.asarray(theirs)",
        ("numpy", "ml_dtypes"),
        make_bfloat16,
        take_any,
        numpy_address,
    ),
    In(
        "ml_dtypes",
        'USMArray.from_pointer(theirs.ctypes.data, ..., "bfloat16", owner=theirs)',
        ("numpy", "ml_dtypes"),
        make_bfloat16,
        take_bfloat16,
        numpy_address,
        elsewhere=False,
    ),
]


def address_of_numba(x: Any) -> Any:
    """What a compiled function sees as its argument."""
    np, numba = module("numpy"), module("numba")
    seen = np.zeros(2)

    @numba.njit
    def look(a: Any, seen: Any) -> None:
        seen[0] = a.ctypes.data
        seen[1] = a[0]

    look(np.from_dlpack(x), seen)
    return seen


def sent(x: Any) -> Any:
    """The address that MPI gets, and what arrives."""
    np, mpi = module("numpy"), module("mpi4py.MPI")
    into = np.zeros(x.size, "float32")
    mpi.COMM_SELF.Sendrecv(x, 0, recvbuf=into, source=0)
    return mpi.buffer(x).address, into


OUT = [
    Out(
        "NumPy",
        "np.from_dlpack(x)",
        ("numpy",),
        lambda x: module("numpy").from_dlpack(x),
        numpy_address,
        lambda a: a[0],
    ),
    Out("NumPy", "x.asnumpy()", ("numpy",), lambda x: x.asnumpy(), numpy_address, lambda a: a[0]),
    Out(
        "PyTorch",
        "torch.from_dlpack(x)",
        ("torch",),
        lambda x: module("torch").from_dlpack(x),
        lambda t: int(t.data_ptr()),
        lambda t: t[0].item(),
    ),
    Out(
        "JAX",
        "jax.dlpack.from_dlpack(x)",
        ("jax",),
        lambda x: module("jax").dlpack.from_dlpack(x),
        lambda a: int(a.unsafe_buffer_pointer()),
        lambda a: a[0].item(),
    ),
    Out(
        "tvm-ffi",
        "tvm_ffi.from_dlpack(x)",
        ("tvm_ffi", "numpy"),
        lambda x: module("tvm_ffi").from_dlpack(x),
        lambda t: int(t.data_ptr()),
        lambda t: module("numpy").from_dlpack(t)[0],
    ),
    Out(
        "Numba",
        "f(np.from_dlpack(x)), f an njit function",
        ("numba", "numpy"),
        address_of_numba,
        lambda seen: int(seen[0]),
        lambda seen: seen[1],
    ),
    Out(
        "Arrow",
        "pa.array(x)",
        ("pyarrow",),
        lambda x: module("pyarrow").array(x),
        lambda a: int(a.buffers()[1].address),
        lambda a: a[0].as_py(),
    ),
    Out(
        "mpi4py",
        "comm.Send(x, ...)",
        ("mpi4py.MPI", "numpy"),
        sent,
        lambda got: int(got[0]),
        lambda got: got[1][0],
    ),
    Out(
        "buffer protocol",
        "memoryview(x)",
        (),
        memoryview,
        lambda view: ctypes.addressof(ctypes.c_char.from_buffer(view)),
        lambda view: view[0],
    ),
    Out(
        "ml_dtypes",
        "x.asnumpy()",
        ("numpy", "ml_dtypes"),
        lambda x: x.asnumpy(),
        numpy_address,
        lambda a: float(a[0]),
        dtype="bfloat16",
    ),
]
