"""Dask: sizes of arrays, their frames between workers and on disk, and the array backend "usmpy".

Dask imports this module by the entry points of the package; nobody else has to. What concerns ``dask.array``
is in ``usmpy/_dask_array.py``, which is imported after it.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import USMArray
from ._processes.pickles import make_array
from ._processes.unpickle import find_device

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__: list[str] = []


def stored(x: USMArray) -> USMArray:
    """The elements of a broadcast array that are in memory, one for each that it repeats."""
    return x[tuple(slice(None) if step else slice(1) for step in x.strides)] if 0 in x.strides else x


def size_of(x: USMArray) -> int:
    return stored(x).nbytes


# Arrays that a failed task was to write. distributed waits for ever for a chunk that cannot be serialized, so
# such an array arrives as one that raises the same error where it is read.


def error_of(x: USMArray) -> Exception | None:
    """The error that reading x raises. It stays unretrieved here: each receiver gets it."""
    try:
        part = x[None][:0]
    except TypeError:  # elements that share bytes cannot be indexed
        return None
    try:
        _core._peek(part)
    except Exception as error:
        return error
    return None


def serialize_error(x: USMArray, error: Exception) -> tuple[dict[str, Any], list[bytes]]:
    facts = (x.dtype.name, x.shape, x.device.filter_string, x.usm_type)
    try:
        frame = pickle.dumps((error, *facts))
        pickle.loads(frame)
    except Exception:  # a class of one's own may take other arguments than its `args`
        frame = pickle.dumps((RuntimeError(f"{type(error).__name__:.80}: {error}"), *facts))
    return {"error": True}, [frame]


def deserialize_error(frame: Any) -> USMArray:
    error, dtype, shape, place, usm_type = pickle.loads(frame)

    def again(_: USMArray) -> None:
        raise error

    x = _core.empty(shape, dtype=dtype, usm_type=usm_type, device=find_device(place))
    x.queue.host_task(again, x)
    return x


# Frames of the host: between workers over TCP, on disk, and where dask-cuda spills the memory of GPUs to.


def serialize(x: USMArray) -> tuple[dict[str, Any], list[Any]]:
    """The pickle without its data, and the data, which are the array's memory where the host can read it.

    The first frame is writable: distributed then receives the second one in a buffer of its own, at an
    address that suits every type, and the array can stay there.
    """
    error = error_of(x)
    if error is not None:
        return serialize_error(x, error)
    _, (data, *rest) = stored(x).__reduce_ex__(5)
    return {"shape": x.shape}, [memoryview(bytearray(pickle.dumps(rest))), data.raw()]


def deserialize(header: dict[str, Any], frames: list[Any]) -> USMArray:
    if "error" in header:
        return deserialize_error(frames[0])
    rest, data = pickle.loads(frames[0]), memoryview(frames[1])
    dtype, shape, place, usm_type, order, *flags = rest
    writable = not flags or flags[0]
    x = make_array(data, dtype, shape, place, usm_type, order, writable, not (writable and data.readonly))
    return _core.broadcast_to(x, header["shape"]) if x.shape != header["shape"] else x


# Frames of CUDA devices, for UCXX.


def cuda_serialize(x: USMArray) -> tuple[dict[str, Any], list[USMArray]]:
    if x.device.backend != "cuda" or not x.nbytes or error_of(x) is not None:
        raise NotImplementedError("not sent from memory of a CUDA device")  # distributed goes on to serialize
    flags = x.flags
    order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    if not (flags.c_contiguous or flags.f_contiguous):
        x = x.copy("C")
    x.wait()  # UCXX knows no streams
    header = {"dtype": x.dtype.name, "shape": x.shape, "order": order}
    return header, [USMArray.from_pointer(x.data_ptr, x.nbytes, "uint8", queue=x.queue, owner=x)]


def cuda_deserialize(header: dict[str, Any], frames: list[Any]) -> USMArray:
    """The array over the memory of the frame, on the GPU that has it."""
    data = frames[0] if isinstance(frames[0], USMArray) else _core.asarray(frames[0], copy=False)
    return _core._of_bytes(data, header["dtype"], header["shape"], header["order"])


def register_serialization() -> None:
    from distributed.protocol import cuda
    from distributed.protocol.serialize import (
        dask_deserialize,
        dask_serialize,
        families,
        register_serialization_family,
    )

    dumps, loads, _ = families["dask"]

    def dumps_whole(x: Any, context: dict[str, Any] | None = None) -> tuple[dict[str, Any], list[Any]]:
        """Without shards, for each of which the receiver has a buffer: it would copy them to join them.

        Compressed frames have shards, of ``distributed.comm.shard``, 64 MiB.
        """
        header, frames = dumps(x, context=context)
        if type(x) is USMArray and not (context or {}).get("compression"):
            header["compression"] = (False,) * len(frames)
        return header, frames

    register_serialization_family("dask", dumps_whole, loads)
    dask_serialize.register(USMArray, serialize)
    dask_deserialize.register(USMArray, deserialize)
    cuda.cuda_serialize.register(USMArray, cuda_serialize)
    cuda.cuda_deserialize.register(USMArray, cuda_deserialize)


def register_array_functions() -> None:
    from . import _dask_array  # noqa: F401 (registers at its end, also where it is what imports dask.array)


# The entry points.


class _AfterImport:
    """A finder of modules that calls functions after modules. Dask has no entry points for these."""

    def __init__(self, functions: dict[str, Callable[[], None]]) -> None:
        self.functions = functions

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        function = self.functions.pop(name, None)
        if function is None:
            return None
        spec = importlib.util.find_spec(name)  # by the other finders
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_call(module: ModuleType) -> None:
                execute(module)
                function()

            spec.loader.exec_module = execute_and_call  # type: ignore[method-assign]
        return spec


def register(sizeof: Any) -> None:
    """Entry point "dask.sizeof": called by `import dask`."""
    sizeof.register(USMArray, size_of)
    later = {
        "dask.array.backends": register_array_functions,
        "distributed.protocol.cuda": register_serialization,
    }
    for name in [name for name in later if name in sys.modules]:
        later.pop(name)()
    sys.meta_path.insert(0, _AfterImport(later))


def __getattr__(name: str) -> Any:
    """``Backend``, the entry point "dask.array.backends"."""
    if name == "Backend":
        from ._dask_array import Backend

        return Backend
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
