"""The interpreter: a Python kernel run by Python itself, on copies of the arrays, for debugging."""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import inspect
import itertools
import math
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CellType, FrameType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import usmpy

from .. import _brackets, _core, kernel_api
from .._kernels.call import common_queue, with_article
from ..errors import KernelError
from . import calls, types
from .functions import find
from .kernel import number_in_memory
from .library import FUNCTIONS
from .scope import number_of, wrap
from .types import BOOL, INT64

try:
    import numpy
except ImportError:
    raise ImportError("kernel.python needs NumPy: pip install numpy", name="numpy") from None

from .numbers import Operand, Rules, Typed, operand

if TYPE_CHECKING:
    from .._core import Event, USMArray

# Packages whose Python functions are called as they are.
_LIBRARIES = ("numpy", "usmpy", "pdb", "ipdb", "pudb", "IPython", "debugpy")
_ATOMICS = {"add": usmpy.add, "sub": usmpy.subtract, "min": min, "max": max}
_ATOMICS |= {"and": usmpy.bitwise_and, "or": usmpy.bitwise_or, "xor": usmpy.bitwise_xor}


class Interpreter:
    """Runs a kernel's function in Python: ``interpreter[range](*args)``, work-item by work-item.

    A launch takes what the kernel takes, and returns a completed Event. Arrays are copied to the host, and
    those that the function wrote to are copied back; after an exception, none is.

    Parameters
    ----------
    function : function
        The kernel's Python function.
    name : str
        The kernel's name, for messages.
    """

    def __init__(self, function: FunctionType, name: str) -> None:
        self._function, self._name = function, name

    def __getitem__(self, key: Any) -> Callable[..., Event]:
        space, depends = key if type(key) is tuple and len(key) == 2 else (key, ())
        nd = isinstance(space, _core.NdRange)
        try:
            events = [depends] if isinstance(depends, _core.Event) else list(depends)
            if not (nd or isinstance(space, (_core.Range, bool))):
                space = _core.Range(operator.index(space))
        except TypeError:
            _brackets.refuse(self._name, key)
        if isinstance(space, bool) or not all(isinstance(event, _core.Event) for event in events):
            _brackets.refuse(self._name, key)
        return lambda *args, **kwargs: self._launch(space, events, args, kwargs)

    def _launch(self, space: Any, depends: list[Event], args: Any, kwargs: Any) -> Event:
        if kernel_api._current() is not None:
            raise RuntimeError(f"{self._name} is launched in a kernel: call the function instead")
        signature = inspect.signature(self._function)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._name}{signature}: {error}") from None
        bound.apply_defaults()
        arrays = {name: value for name, value in bound.arguments.items() if isinstance(value, _core.USMArray)}
        queue = common_queue(self._name, list(arrays.items()), None)
        elements = [x.dtype.name for x in arrays.values()]
        rules = Rules(types.kernel_real(elements, queue.device.has_fp64))
        values = {name: self._value(name, value, rules) for name, value in bound.arguments.items()}
        launch = _Launch(self._name, self._function, space, rules)
        for event in depends:
            event.wait()
        begun = queue.barrier()
        begun.wait()
        copies = _copies(arrays, rules)
        launch.run(bound, {**values, **copies})
        for name, copy in copies.items():
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
            raise TypeError(
                f"{name} of {self._name}: {given} was given; a number, LocalMemory, None, or a USMArray of "
                f"{', '.join(types.ELEMENTS)} is allowed"
            )
        t = types.strong(found.type, rules.real)
        travels = found.constant and t.kind in ("float", "complex")  # as a number of that type
        return Typed(rules.element(value, t.name) if travels else found.value, found.type, rules)


# Arrays


class _Memory:
    """What an array and its rows have in common."""

    def __init__(self, name: str, element: str, rules: Rules, writable: bool = True) -> None:
        self.name, self.element, self.rules, self.writable = name, element, rules, writable
        self.type, self.written = types.ELEMENTS[element], False


class Elements:
    """An array in the interpreter. Its elements are read as Typed, and stored as the kernel stores them."""

    __slots__ = ("data", "memory")
    __iter__ = __contains__ = None

    def __init__(self, data: Any, memory: _Memory) -> None:
        self.data, self.memory = data, memory

    def __repr__(self) -> str:
        return f"{self.memory.name}: {self.data!r}"

    def __bool__(self) -> bool:
        raise TypeError(f"{self.memory.name} is an array: write {self.memory.name}[i]")

    @property
    def ndim(self) -> int:
        return int(self.data.ndim)

    @property
    def shape(self) -> tuple[Typed, ...]:
        return tuple(Typed(extent, INT64, self.memory.rules) for extent in self.data.shape)

    @property
    def strides(self) -> tuple[Typed, ...]:
        """In elements, as USMArray.strides."""
        data = self.data
        return tuple(Typed(step // data.itemsize, INT64, self.memory.rules) for step in data.strides)

    @property
    def size(self) -> Typed:
        return Typed(self.data.size, INT64, self.memory.rules)

    @property
    def dtype(self) -> Any:
        return _Cast(_core.DType(self.memory.element), self.memory.rules)

    def place(self, key: Any, least: int = 0) -> tuple[int, ...]:
        """The indices, in range. A constant, but no computed one, counts from the end if it is negative."""
        keys = key if isinstance(key, tuple) else (key,)
        name, shape = self.memory.name, self.data.shape
        if not least <= len(keys) <= len(shape):
            raise IndexError(f"{name}: {len(keys)} given of {len(shape)} indices")
        found = []
        for axis, (index, extent) in enumerate(zip(keys, shape, strict=False)):
            number = operand(index)
            if number is None or not number.type.whole:
                shown = str(number.type) if number else with_article(index)
                raise TypeError(f"{shown} as an index of {name}: integers are allowed")
            at = number.value + (extent if number.constant and number.value < 0 else 0)
            if not 0 <= at < extent:
                hint = "; computed indices do not count from the end" * (at < 0 and not number.constant)
                raise IndexError(
                    f"index {number.value} is outside axis {axis} of {name}, whose length is {extent}{hint}"
                )
            found.append(at)
        return tuple(found)

    def __getitem__(self, key: Any) -> Any:
        place, memory = self.place(key), self.memory
        if len(place) < self.data.ndim:
            return Elements(self.data[place], memory)
        value = self.data[place].item()
        return Typed(float(value) if memory.type.kind == "float" else value, memory.type, memory.rules)

    def __setitem__(self, key: Any, value: Any) -> None:
        place, memory = self.place(key, self.data.ndim), self.memory
        if not memory.writable:
            raise ValueError(f"{memory.name} is read-only")
        number = numpy.dtype(memory.type.name).type(memory.rules.element(value, memory.element))
        memory.written = True
        with numpy.errstate(all="ignore"):
            self.data[place] = number


def _copies(arrays: dict[str, USMArray], rules: Rules) -> dict[str, Elements]:
    """Copies on the host. Arrays whose memory overlaps have one buffer, in which they overlap as well."""
    spans = []
    for name, x in arrays.items():
        steps = [(n - 1) * stride * x.itemsize for n, stride in zip(x.shape, x.strides, strict=True)]
        if x.size:
            begin, end = (x.data_ptr + sum(pick(step, 0) for step in steps) for pick in (min, max))
            spans.append((begin, end + x.itemsize, name))
    buffers: list[tuple[int, int, list[str]]] = []
    for begin, end, name in sorted(spans):
        if buffers and begin < buffers[-1][1]:
            first, last, names = buffers.pop()
            buffers.append((first, max(last, end), [*names, name]))
        else:
            buffers.append((begin, end, [name]))
    places: dict[str, Any] = {}
    for begin, end, names in buffers:
        buffer = bytearray(end - begin)
        places |= {name: (buffer, arrays[name].data_ptr - begin) for name in names}
    copies = {}
    for name, x in arrays.items():
        data: Any = x.asnumpy()
        if x.size:
            place, strides = places[name], [stride * x.itemsize for stride in x.strides]
            values, data = data, numpy.ndarray(x.shape, data.dtype, place[0], place[1], strides)
            data[...] = values
        copies[name] = Elements(data, _Memory(name, x.dtype.name, rules, x.flags.writable))
    return copies


def _undefined(name: str, shape: Any, element: str, rules: Rules) -> Elements:
    """A new array: its elements are NaN, or 85."""
    t = types.ELEMENTS[element]
    data = numpy.full(shape, math.nan if t.kind in ("float", "complex") else 85, _core.DType(element).type)
    return Elements(data, _Memory(name, element, rules))


# Names of the function


class _Cast:
    """A dtype: it converts numbers, and is compared."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, dtype: Any, rules: Rules) -> None:
        self.dtype, self.rules = dtype, rules

    def __call__(self, value: Any) -> Any:
        return self.rules.call(self.dtype, value)

    def __eq__(self, other: object) -> bool:
        other = other.dtype if isinstance(other, _Cast) else other
        return calls.dtype_of(self.dtype) == calls.dtype_of(other)


class _Attributes:
    """A module or a class, whose attributes are as a kernel sees them."""

    def __init__(self, value: Any, names: _Names) -> None:
        self._value, self._names = value, names

    def __getattr__(self, name: str) -> Any:
        return self._names.replaced(getattr(self._value, name))


class _Names:
    """Makes copies of functions: they have the same code, and their names stand for what a kernel sees.

    Functions of numbers follow the rules of the language, and a kernel is its function.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.waits = False  # whether a function may reach a barrier
        self._made: dict[FunctionType, FunctionType] = {}

    def function(self, function: FunctionType) -> FunctionType:
        if function in self._made:
            return self._made[function]
        code, names = function.__code__, {**vars(builtins), **function.__globals__}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(code, names, function.__name__, None, cells)
        self._made[function] = copy
        read = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
        for name in read.intersection(names):
            if name[0] != "@":  # of pytest
                names[name] = self._found(names[name], code.co_names)
        for cell, own in zip(function.__closure__ or (), cells, strict=True):
            own.cell_contents = self._found(cell.cell_contents, code.co_names)
        copy.__defaults__ = self.replaced(function.__defaults__)
        copy.__kwdefaults__ = {k: self.replaced(v) for k, v in (function.__kwdefaults__ or {}).items()}
        return copy

    def _found(self, value: Any, names: tuple[str, ...]) -> Any:
        """names: of the attributes that the code may read, where barriers may be."""
        if isinstance(value, (ModuleType, type)):
            for name in {*names} & {*vars(value)}:
                inner = vars(value)[name]
                function = isinstance(getattr(inner, "__wrapped__", inner), FunctionType)
                if function or isinstance(inner, (ModuleType, type)):
                    self._found(inner, tuple(n for n in names if n != name))
        return self.replaced(value)

    def replaced(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.replaced, value))
        if (found := find(value)) is not None:
            special: dict[str, Any] = {"len": self._len, "range": self._range, "print": print}
            return special.get(found) or functools.partial(self.rules.call, value)
        if not isinstance(value, str) and calls.dtype_of(value) is not None:
            return _Cast(value, self.rules)
        if isinstance(value, BuiltinFunctionType) and value in FUNCTIONS:
            return self.function(FUNCTIONS[value])
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            self.waits = self.waits or value is kernel_api.barrier
            own = str(inner.__module__).partition(".")[0] not in _LIBRARIES
            return self.function(inner) if own else value
        if isinstance(value, (ModuleType, type)) and value not in vars(builtins).values():
            return _Attributes(value, self)
        wrapped = wrap(value)
        if isinstance(wrapped, str):
            raise TypeError(wrapped)
        number = number_of(wrapped)
        if number is None:
            return value
        if isinstance(value, enum.Enum) and (kind := type(number.value)) in (int, float, complex):
            return type(kind.__name__, (kind,), {"value": property(kind)})(number.value)
        return self.rules.unwrapped(number)

    def _len(self, value: Any) -> Any:
        return value.shape[0] if isinstance(value, Elements) and value.shape else len(value)

    def _range(self, *limits: Any) -> Iterator[Typed]:
        for limit in limits:
            if (number := operand(limit)) and not (number.type.whole or number.type == BOOL):
                raise TypeError(f"range of {number.type}: integers are allowed")
        given = [self.rules.call(int, limit) if operand(limit) else limit for limit in limits]
        return (Typed(k, INT64, self.rules) for k in range(*map(int, given)))


# Work-items


class _Stopped(BaseException):
    """Ends a work-item's thread after another one has failed."""


class _Item:
    """A work-item. `usmpy.kernel_api` asks it for ids, memory and barriers."""

    def __init__(self, launch: _Launch, group_id: Any, local_id: Any) -> None:
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
        element = calls.dtype_of(dtype.dtype if isinstance(dtype, _Cast) else dtype)
        if element is None:
            raise TypeError(f"the dtype of {name} is one that numbers in kernels have, such as usmpy.float32")
        sites: list[Any] = []
        while frame is not None and sites[-2:-1] != [self.launch.code]:
            sites += [frame.f_code, frame.f_lasti]
            frame = frame.f_back
        key = tuple(sites)
        if name == "private_array" or key not in self.launch.arrays:
            shown = f"the {name.replace('_', ' ')}"
            self.launch.arrays[key] = _undefined(shown, shape, element, self.launch.rules)
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


class _Launch:
    """The index space of one launch, and the function that its work-items run."""

    back: threading.Semaphore
    error: BaseException | None

    def __init__(self, name: str, function: FunctionType, space: Any, rules: Rules) -> None:
        self.name, self.code, self.rules = name, function.__code__, rules
        names = _Names(rules)
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
        return _undefined(name, value.nbytes // dtype.itemsize, dtype.name, self.rules)

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
        filename, line = first.barrier
        raise KernelError(
            f"{self.name}, line {line} of {filename}: not all work-items of the group reach this barrier: "
            f"work-item {first.shown} waits at it, and work-item {other.shown} {where}",
            kernel=self.name,
            reason="barrier",
            work_item=first.shown,
            filename=filename,
            lineno=line,
        )


def _places(extents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All indices; the first dimension changes fastest."""
    return (place[::-1] for place in itertools.product(*map(range, extents[::-1])))
