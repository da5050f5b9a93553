"""Built kernels of a helper: one program for each text and place, which lives as long as the helper."""

from __future__ import annotations

from .. import _core
from ..errors import BuildError

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from .source import Source


class Programs:
    """The kernels of one helper, by what they are specialised for, and by place: a context and a device."""

    def __init__(self, name: str, options: str) -> None:
        self._name = name
        self._options = options
        self._kernels: dict[Hashable, _core.Kernel] = {}
        import threading

        self._lock = threading.Lock()

    def find(self, key: Hashable, queue: _core.Queue, write: Callable[[], Source]) -> _core.Kernel:
        """The kernel for that key and the queue's place; built from what `write` returns if it is new."""
        place = (key, queue.context, queue.device.filter_string)
        with self._lock:
            kernel = self._kernels.get(place)
            if kernel is None:
                kernel = self._kernels[place] = self._build(queue, write())
        return kernel

    def _build(self, queue: _core.Queue, source: Source) -> _core.Kernel:
        try:
            program = _core.Program(str(source), device=queue, options=self._options)
        except BuildError as error:
            raise source.explain(error, self._name) from None
        return program[program.kernel_names[0]]
