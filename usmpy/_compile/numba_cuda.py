"""Kernels in Python for CUDA devices: Numba makes PTX, from which a program is built.

Numba passes an array as seven or more values: two pointers (null here), the number of elements, their
size, the address of the first element, then the shape and the strides in bytes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import _core
from ..errors import BuildError

_registration_lock = threading.Lock()
_registered: list[Any] = []


def _register(get_global_id: Callable[..., int], get_global_size: Callable[..., int]) -> Any:
    """Numba's module for CUDA, with get_global_id and get_global_size registered."""
    with _registration_lock:
        if _registered:
            return _registered[0]
        try:
            from numba import cuda
            from numba.extending import overload
        except ImportError as error:
            raise ImportError(
                "usmpy.numba compiles for CUDA with the package numba-cuda: pip install numba-cuda",
                name="numba",
            ) from error

        @overload(get_global_id, target="cuda")
        def get_id(dimension):  # type: ignore[no-untyped-def]
            def find(dimension):  # type: ignore[no-untyped-def]
                if dimension == 0:
                    return cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
                if dimension == 1:
                    return cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
                if dimension == 2:
                    return cuda.threadIdx.z + cuda.blockIdx.z * cuda.blockDim.z
                return 0

            return find

        @overload(get_global_size, target="cuda")
        def get_size(dimension):  # type: ignore[no-untyped-def]
            def find(dimension):  # type: ignore[no-untyped-def]
                if dimension == 0:
                    return cuda.gridDim.x * cuda.blockDim.x
                if dimension == 1:
                    return cuda.gridDim.y * cuda.blockDim.y
                if dimension == 2:
                    return cuda.gridDim.z * cuda.blockDim.z
                return 1

            return find

        _registered.append(cuda)
        return cuda


# A work-item of a range that may be rounded up to whole blocks.
_WRAPPERS = {
    1: "if _id(0) < g0:",
    2: "if _id(0) < g0 and _id(1) < g1:",
    3: "if _id(0) < g0 and _id(1) < g1 and _id(2) < g2:",
}


def _divisor(n: int, limit: int) -> int:
    return next(d for d in range(min(n, limit), 0, -1) if n % d == 0)


class Compiled:
    """A kernel for one device and one set of types."""

    def __init__(
        self,
        function: Callable[..., object],
        name: str,
        kinds: list[tuple[Any, ...]],
        ndim: int,
        device: _core.Device,
        functions: tuple[Callable[..., int], Callable[..., int]],
    ) -> None:
        cuda = _register(*functions)
        from numba import types

        given: list[Any] = []
        words: list[str] = []
        for i, kind in enumerate(kinds):
            number = types.boolean if kind[1] == "bool" else getattr(types, kind[1])
            if kind[0] == "value":
                given.append(number)
                words.append(f"{kind[1]} a{i}")
                continue
            _, dtype, dimensions, by_rows, writable = kind
            given.append(types.Array(number, dimensions, "C" if by_rows else "F", readonly=not writable))
            words += ["void*", "void*", "int64", "int64"]
            words += [f"{dtype}* a{i}" if writable else f"const {dtype}* a{i}", *["int64"] * (2 * dimensions)]
        words += ["int64"] * ndim
        arguments = ", ".join(f"a{i}" for i in range(len(kinds)))
        sizes = ", ".join(f"g{d}" for d in range(ndim))
        head = f"{arguments}, {sizes}" if kinds else sizes
        text = f"def wrapper({head}):\n    {_WRAPPERS[ndim]}\n        _body({arguments})\n"
        python = getattr(function, "py_func", function)
        scope = {"_body": cuda.jit(device=True)(python), "_id": functions[0]}
        exec(compile(text, f"<usmpy.numba of {name}>", "exec"), scope)
        signature = types.void(*given, *[types.int64] * ndim)
        try:
            ptx = self._compile(cuda, scope["wrapper"], signature)
        except Exception as error:
            if not type(error).__module__.startswith("numba"):
                raise
            log = str(error)
            raise BuildError(f"Numba does not compile {name}:\n{log}", backend="cuda", log=log) from error
        program = _core.Program(ptx, device=device, language="ptx")
        (symbol,) = program.kernel_names
        # Only get_global_size() reads %nctaid; then the groups must divide the range.
        self._exact = "%nctaid" in ptx
        self._kernel = program[symbol].with_parameters(words)
        self._most = min(256, self._kernel.max_work_group_size())

    @staticmethod
    def _compile(cuda: Any, wrapper: Any, signature: Any) -> str:
        """PTX for Numba's current device, else for its default."""
        try:
            target = cuda.get_current_device().compute_capability
            return str(cuda.compile_ptx(wrapper, signature, cc=target)[0])
        except (RuntimeError, ValueError, ImportError):
            return str(cuda.compile_ptx(wrapper, signature)[0])

    def launch(self, space: tuple[int, ...], depends: Any, arguments: tuple[Any, ...]) -> _core.Event:
        values: list[Any] = []
        for argument in arguments:
            if isinstance(argument, _core.USMArray):
                item = argument.itemsize
                strides = [item * stride for stride in argument.strides]
                values += [None, None, argument.size, item, argument, *argument.shape, *strides]
            else:
                values.append(argument)
        where: _core.Range | _core.NdRange = _core.Range(*space)
        if self._exact:
            local, room = [], self._most
            for d, n in enumerate(space):
                local.append(_divisor(n, min(room, 64) if d == 2 else room) if n else 1)
                room //= local[-1]
            where = _core.NdRange(space, tuple(local))
        return self._kernel[where, depends](*values, *space)
