"""Work-items of the interpreter: they run one after another, or in turns from barrier to barrier."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType
from typing import Any

import usmpy

from .. import _core, kernel_api
from .._kernels.call import with_article
from ..errors import KernelError
from .interpreted_arrays import Cast, Elements, undefined
from .interpreted_names import Names
from .numbers import Rules, Typed, operand
from .scope import dtype_of
from .types import INT64

_ATOMICS = {"add": usmpy.add, "sub": usmpy.subtract, "min": min, "max": max}
_ATOMICS |= {"and": usmpy.bitwise_and, "or": usmpy.bitwise_or, "xor": usmpy.bitwise_xor}


class _Stopped(BaseException):
    """Ends a work-item's thread after another one has failed."""


class _Item:
    """A work-item. `usmpy.kernel_api` asks it for ids, memory and barriers."""

    def __init__(self, launch: Launch, group_id: Any, local_id: Any) -> None:
        self.launch, self.turn = launch, threading.Semaphore(0)
        self.barrier: tuple[str, int] | None = None  # the file and line of the one at which it waits
        place = [g * n + i for g, n, i in zip(group_id, launch.local, local_id, strict=True)]
        self.shown = tuple(place[: launch.ndim])
        self.values = {**launch.sizes, "group_id": group_id, "local_id": local_id, "global_id": place}
        for space, (i, j, k) in (("local", local_id), ("global", place)):
            n, m, _ = launch.sizes[f"{space}_size"]
            self.values[f"{space}_linear_id"] = (i + n * (j + m * k),)

    def id(self, name: str, dimension: Any = 0) -> Typed:
        number = operand(dimension)
        if number is None or not number.type.whole or not 0 <= number.value <= 2:
            raise ValueError(f"{name}({dimension}): dimensions are 0, 1 and 2")
        return Typed(self.values[name[4:]][number.value], INT64, self.launch.rules)

    def wait(self, frame: FrameType) -> None:
        """frame: of the call of barrier()."""
        launch = self.launch
        if launch.takes_turns:
            self.barrier = frame.f_code.co_filename, frame.f_lineno
            launch.back.release()
            self.turn.acquire()
            if launch.stopped:
                raise _Stopped
            self.barrier = None
        elif math.prod(launch.local) > 1:
            raise RuntimeError("the interpreter does not find this call: name barrier() in the function")

    def array(self, name: str, shape: Any, dtype: Any, frame: FrameType | None) -> Elements:
        """frame: of the call. In the work-group, calls from the same places share a local array."""
        element = dtype_of(dtype.dtype if isinstance(dtype, Cast) else dtype)
        if element is None:
            raise TypeError(f"the dtype of {name} is one that numbers in kernels have, such as usmpy.float32")
        sites: list[Any] = []
        while frame is not None and sites[-2:-1] != [self.launch.code]:
            sites += [frame.f_code, frame.f_lasti]
            frame = frame.f_back
        key = tuple(sites)
        if name == "private_array" or key not in self.launch.arrays:
            shown = f"the {name.replace('_', ' ')}"
            self.launch.arrays[key] = undefined(shown, shape, element, self.launch.rules)
        return self.launch.arrays[key]

    def atomic(self, name: str, x: Any, index: Any, *values: Any) -> Typed:
        what, rules = name.partition("_")[2], self.launch.rules
        if not isinstance(x, Elements):
            raise TypeError(f"{name} of {with_article(x)}: an array is allowed")
        memory, place = x.memory, x.place(index, x.ndim)
        old, given = x[place], [Typed(rules.element(v, memory.element), memory.type, rules) for v in values]
        if what in _ATOMICS:
            x[place] = rules.call(_ATOMICS[what], old, given[0])
        elif what == "exchange" or old.value == given[0].value:
            x[place] = given[-1]
        return old  # type: ignore[no-any-return]


class Launch:
    """The index space of one launch, and the function that its work-items run."""

    back: threading.Semaphore
    error: BaseException | None

    def __init__(self, name: str, function: FunctionType, space: Any, rules: Rules) -> None:
        self.name, self.code, self.rules = name, function.__code__, rules
        names = Names(rules)
        self.body = names.function(function)
        if isinstance(space, _core.NdRange):
            everything, local = space.global_range, space.local_range
        else:  # the device chooses the work-groups: here they have one work-item
            everything, local = tuple(space[k] for k in range(len(space))), ()
        self.ndim, self.ranged = len(everything), not local
        everything, self.local = ((*sizes, 1, 1, 1)[:3] for sizes in (everything, local))
        self.groups = tuple(n // size for n, size in zip(everything, self.local, strict=True))
        self.sizes = {"global_size": everything, "local_size": self.local, "num_groups": self.groups}
        self.sizes |= {"global_offset": (0, 0, 0), "work_dim": (self.ndim,)}
        self.arrays: dict[Any, Elements] = {}  # local ones of the group that runs
        self.takes_turns = names.waits and math.prod(self.local) > 1

    def run(self, bound: inspect.BoundArguments, values: dict[str, Any]) -> None:
        for group_id in _places(self.groups):
            self.arrays = {}
            bound.arguments.update((name, self._argument(name, value)) for name, value in values.items())
            body = functools.partial(self.body, *bound.args, **bound.kwargs)
            items = [_Item(self, group_id, local_id) for local_id in _places(self.local)]
            if self.takes_turns:
                self._take_turns(items, body)
                continue
            for item in items:
                self._run_item(item, body)

    def _argument(self, name: str, value: Any) -> Any:
        if not isinstance(value, _core.LocalMemory):
            return value
        if self.ranged:
            raise ValueError(f"{self.name} has local memory: an NdRange, which has work-groups, is needed")
        dtype = _core.DType(getattr(value, "dtype", "uint8"))
        return undefined(name, value.nbytes // dtype.itemsize, dtype.name, self.rules)

    def _run_item(self, item: _Item, body: Callable[[], object]) -> None:
        kernel_api._running.item = item
        try:
            body()
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"in work-item {item.shown} of {self.name}")
            raise
        finally:
            kernel_api._running.item = None

    def _take_turns(self, items: list[_Item], body: Callable[[], object]) -> None:
        """A thread for each work-item, of which one runs, from barrier to barrier."""
        self.back = threading.Semaphore(0)  # a work-item has ended, or is at a barrier
        self.stopped, self.error = False, None
        work = [(item, body, sys.gettrace()) for item in items]
        threads = [threading.Thread(target=self._run_thread, args=args, daemon=True) for args in work]
        try:
            for thread in threads:
                thread.start()
            waiting = items
            while waiting:
                for item in waiting:
                    item.turn.release()
                    self.back.acquire()
                    if self.error is not None:
                        raise self.error
                waiting = self._check_barrier(items)
        finally:
            self.stopped = True
            for item, thread in zip(items, threads, strict=True):
                item.turn.release()
                if thread.ident is not None:
                    thread.join()

    def _run_thread(self, item: _Item, body: Callable[[], object], tracer: Any) -> None:
        item.turn.acquire()
        if type(sys.gettrace()) is not type(tracer):  # else threading.settrace() has set one of the same tool
            sys.settrace(tracer)
        try:
            if not self.stopped:
                self._run_item(item, body)
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
        finally:
            self.back.release()

    def _check_barrier(self, items: list[_Item]) -> list[_Item]:
        """The work-items that wait at a barrier: all of them, at the same one, or none."""
        first = next((item for item in items if item.barrier is not None), items[0])
        other = next((item for item in items if item.barrier != first.barrier), None)
        if first.barrier is None or other is None:
            return items if first.barrier else []
        where = "has returned" if other.barrier is None else f"waits at the one at line {other.barrier[1]}"
        file, line = first.barrier
        wrong = f"{self.name}, line {line} of {file}: not all work-items of the group reach this barrier"
        text = f"{wrong}: work-item {first.shown} waits at it, and work-item {other.shown} {where}"
        raise KernelError(
            text, kernel=self.name, reason="barrier", work_item=first.shown, filename=file, lineno=line
        )


def _places(extents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All indices; the first dimension changes fastest."""
    return (place[::-1] for place in itertools.product(*map(range, extents[::-1])))
