"""The launches of one call, recorded for later calls with the same shapes, strides, types and place."""

from __future__ import annotations

from .. import _core
from . import call

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import Queue, USMArray

_NUMBERS = (int, float, bool, complex)
_MOST = 1024


class Script:
    """Launches that take the arguments of a call, its results and scratch memory.

    A slot of a launch is an index into the arguments, the results, the scratch memory and the constants, one
    behind the other.
    """

    __slots__ = ("constants", "dtypes", "launches", "result_views", "scratch", "shape", "usm_type", "views")

    def __init__(self, shape: tuple[int, ...], dtypes: Sequence[_core.DType], usm_type: Any) -> None:
        self.shape = shape
        self.dtypes = dtypes
        self.usm_type = usm_type
        # The indices that make views of the arguments and of the results; None: the array itself.
        self.views: list[Any] = []
        self.result_views: list[Any] = []
        self.scratch: list[int] = []  # bytes
        self.constants: list[Any] = []
        self.launches: list[tuple[_core.Kernel, Any, _core.BoundKernel, tuple[int, ...]]] = []

    def run(
        self, args: Sequence[Any], given: Sequence[USMArray | None] | None, queue: Queue, depends: Any
    ) -> list[USMArray]:
        results: list[USMArray] = []
        for k, dtype in enumerate(self.dtypes):
            x = None if given is None else given[k]
            if x is None:
                x = _core.empty(self.shape, dtype=dtype, queue=queue, usm_type=self.usm_type)
            results.append(x)
        slots = [x if view is None else x[view] for x, view in zip(args, self.views, strict=True)]
        slots += [x if view is None else x[view] for x, view in zip(results, self.result_views, strict=True)]
        slots += [_core.empty(n, dtype=_core.uint8, queue=queue) for n in self.scratch]
        slots += self.constants
        for kernel, space, bound, taken in self.launches:
            if depends != ():
                bound = kernel[space, depends]
            bound(*[slots[k] for k in taken])
            depends = ()
        return results


class Recorder:
    """Launches kernels, and records how. values: the arguments of the call; targets: its results."""

    def __init__(self, queue: Queue, values: Sequence[Any], targets: Sequence[USMArray]) -> None:
        self._queue = queue
        self._values, self._targets = values, targets
        self._scratch: list[USMArray] = []
        self._taken: list[tuple[_core.Kernel, Any, list[Any]]] = []

    def scratch(self, nbytes: int) -> USMArray:
        """Memory for the launches of this call."""
        self._scratch.append(_core.empty(nbytes, dtype=_core.uint8, queue=self._queue))
        return self._scratch[-1]

    def launch(self, kernel: _core.Kernel, space: Any, rest: Sequence[Any], depends: Any = ()) -> None:
        """Launch with all values, and what follows them: results, scratch memory and constants."""
        kernel[space, depends](*self._values, *rest)
        self._taken.append((kernel, space, list(rest)))

    def write(self, script: Script) -> Script:
        """Put the launches into a script."""
        arrays = [*self._targets, *self._scratch]
        script.scratch = [x.nbytes for x in self._scratch]
        n = len(self._values)
        for kernel, space, rest in self._taken:
            slots = list(range(n))
            for value in rest:
                if isinstance(value, _core.USMArray):
                    slots.append(n + next(k for k, x in enumerate(arrays) if x is value))
                else:
                    slots.append(n + len(arrays) + len(script.constants))
                    script.constants.append(value)
            script.launches.append((kernel, space, kernel[space], tuple(slots)))
        return script


class Scripts:
    """The scripts of one helper."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._scripts: dict[tuple[Any, ...], Script] = {}

    def replay(
        self,
        inputs: int,
        args: tuple[Any, ...],
        out: Any,
        axis: Any,
        options: tuple[bool, bool],
        depends: Any,
    ) -> tuple[list[USMArray] | None, tuple[Any, ...] | None]:
        """(the results, or None without a script; the key under which one may be kept, or None).

        inputs: how many there are. There are scripts for arrays of one queue and numbers alone.
        """
        if len(args) != inputs or not (out is None or type(out) is _core.USMArray):
            return None, None
        if axis is not None and type(axis) is not int and set(map(type, _items(axis))) != {int}:
            return None, None
        queue: Queue | None = None
        key: list[Any] = []
        for value in args if out is None else (*args, out):
            if type(value) is _core.USMArray:
                key += (value.dtype, value.shape, value.strides, value.usm_type)
                if queue is None:
                    queue = value.queue
                elif value.queue is not queue:
                    return None, None
            elif type(value) in _NUMBERS:
                key.append(type(value))
            else:
                return None, None
        if queue is None:
            return None, None
        full = (*key, out is None, axis, options, queue.context, queue.device.filter_string)
        script = self._scripts.get(full)
        if script is None or (out is not None and not call.may_write(out, args)):
            return None, full
        depends = () if depends == () else call.check_depends(depends, self._name)
        return script.run(args, None if out is None else (out,), queue, depends), full

    def keep(self, key: tuple[Any, ...], script: Script) -> None:
        if len(self._scripts) >= _MOST:
            self._scripts.clear()
        self._scripts[key] = script


def _items(axis: object) -> tuple[object, ...]:
    return axis if isinstance(axis, tuple) else (axis,)
