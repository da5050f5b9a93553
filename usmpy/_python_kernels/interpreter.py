"""The interpreter: a Python kernel run by Python itself, on copies of the arrays, for debugging."""

from __future__ import annotations

import enum
import inspect
import operator
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .. import _core, kernel_api
from .._kernels import brackets as _brackets
from .._kernels.call import common_queue, with_article
from . import types
from .kernel import bound_arguments, number_in_memory
from .types import BOOL

try:
    import numpy  # noqa: F401
except ImportError:
    raise ImportError("kernel.python needs NumPy: pip install numpy", name="numpy") from None

from .interpreted_arrays import copies
from .numbers import Operand, Rules, Typed, operand
from .work_items import Launch

if TYPE_CHECKING:
    from .._core import Event


class Interpreter:
    """Runs a kernel's function in Python: ``interpreter[range](*args)``, work-item by work-item.

    A launch takes what the kernel takes, and returns a completed Event. Arrays are copied to the host, and
    those that the function wrote to are copied back; after an exception, none is.
    """

    def __init__(self, function: FunctionType, name: str) -> None:
        self._function, self._name = function, name

    def __getitem__(self, key: Any) -> Callable[..., Event]:
        space, depends = key if type(key) is tuple and len(key) == 2 else (key, ())
        try:
            events = [depends] if isinstance(depends, _core.Event) else list(depends)
            if isinstance(space, bool) or not all(isinstance(event, _core.Event) for event in events):
                raise TypeError
            if not isinstance(space, (_core.Range, _core.NdRange)):
                space = _core.Range(operator.index(space))
        except TypeError:
            _brackets.refuse(self._name, key)
        return lambda *args, **kwargs: self._launch(space, events, args, kwargs)

    def _launch(self, space: Any, depends: list[Event], args: Any, kwargs: Any) -> Event:
        if kernel_api._current() is not None:
            raise RuntimeError(f"{self._name} is launched in a kernel: call the function instead")
        bound = bound_arguments(inspect.signature(self._function), self._name, args, kwargs)
        arrays = {name: value for name, value in bound.arguments.items() if isinstance(value, _core.USMArray)}
        queue = common_queue(self._name, list(arrays.items()), None)
        elements = [x.dtype.name for x in arrays.values()]
        rules = Rules(types.kernel_real(elements, queue.device.has_fp64))
        values = {name: self._value(name, value, rules) for name, value in bound.arguments.items()}
        launch = Launch(self._name, self._function, space, rules)
        for event in depends:
            event.wait()
        begun = queue.barrier()
        begun.wait()
        copied = copies(arrays, rules)
        launch.run(bound, {**values, **copied})
        for name, copy in copied.items():
            if copy.memory.written:
                arrays[name][...] = copy.data
                arrays[name].wait()
        ended = queue.barrier([begun])
        ended.wait()
        return ended

    def _value(self, name: str, value: Any, rules: Rules) -> Any:
        """An argument that is no array, as the kernel sees it."""
        array = isinstance(value, _core.USMArray)
        if value is None or isinstance(value, _core.LocalMemory):
            return value
        if array and value.dtype.name in types.ELEMENTS:
            return value
        bare = array or (isinstance(value, enum.Enum) and not isinstance(value, (int, float)))
        found = None if bare else operand(value)
        if found is None and not bare and (number := number_in_memory(value)) is not None:
            found = Operand(number[0], number[0] == BOOL, number[1])
        if found is None:
            given = f"a USMArray of {value.dtype}" if array else with_article(value)
            allowed = f"a number, LocalMemory, None, or a USMArray of {', '.join(types.ELEMENTS)} is allowed"
            raise TypeError(f"{name} of {self._name}: {given} was given; {allowed}")
        t = types.strong(found.type, rules.real)
        travels = found.constant and t.kind in ("float", "complex")  # as a number of that type
        return Typed(rules.element(value, t.name) if travels else found.value, found.type, rules)
