"""ElementwiseKernel: an expression for each element of arrays that broadcast."""

from __future__ import annotations

from .. import _core
from . import call, layout, parameters
from .program import Programs
from .source import (
    Source,
    check_brackets,
    function_name,
    result,
    scalar,
    split,
    with_size,
    words,
    write_types,
)
from .types import C_TYPES, load, stored

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from .._core import Event, Queue, USMArray

RESERVED = ("i", "n")
_NUMBERS = (int, float, bool, complex)
_MOST_PLANS = 1024
# How a kernel finds its elements: each operand is one block; up to three axes, which are those of the range;
# more axes, or more work-groups along the second or third one than CUDA launches; such axes on a processor,
# where a work-item does all of the fastest axis, so that the index of the others is taken apart once.
_CONTIGUOUS, _STRIDED, _DEEP, _ROWS = "contiguous", "strided", "deep", "rows"
_MOST_ROWS = 65535
# So that the layouts fit into the 1,024 bytes of arguments that every device takes.
_MOST_OPERANDS = 10


class _Plan:
    """What calls with the same shapes, strides, types and place have in common."""

    __slots__ = (
        *("bound", "compact", "copies", "dtypes", "extra", "kernel", "order", "plain", "shape", "space"),
        *("usm_type", "views"),
    )

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self.dtypes: list[_core.DType] = []  # of the results
        self.usm_type: Any = "device"
        self.order: Any = "C"
        self.kernel: _core.Kernel | None = None  # None: there are no elements
        self.space = _core.Range(1)
        self.bound: _core.BoundKernel | None = None
        # For each argument, the index that makes a view of its first element; None: the array itself.
        self.views: list[tuple[int, ...] | None] = []
        self.plain = True  # no argument needs a view
        self.copies: list[int] = []  # raw inputs with gaps, which a kernel takes as contiguous copies
        self.compact = False  # the axes are too many: the kernel gets contiguous copies of everything
        self.extra: tuple[int | bytes, ...] = ()  # the arguments behind the arrays


class Elementwise:
    """What an ElementwiseKernel does."""

    def __init__(
        self,
        inputs: str,
        outputs: str,
        operation: str | Callable[..., Any],
        name: str,
        *,
        preamble: str,
        options: str,
    ) -> None:
        self._inputs = parameters.parse(inputs, "inputs", RESERVED)
        self._outputs = parameters.parse(outputs, "outputs", RESERVED)
        operation, self._function = split(operation)
        call.check_texts(name, operation=operation, preamble=preamble, options=options)
        # The inputs that a kernel without outputs writes to, by position.
        self._written = [
            k
            for k, parameter in enumerate(() if self._outputs else self._inputs)
            if parameter.raw and not parameter.constant
        ]
        if not self._outputs and not self._written:
            raise ValueError(
                "outputs is empty, and inputs has no raw array to write to; declare an output, such as "
                "'T z', or a raw input, such as 'raw T y'"
            )
        parameters.check_names((*self._inputs, *self._outputs))
        check_brackets(operation, "operation")
        self.name = name
        self._operation = operation = with_size(operation)
        self._preamble = preamble
        self._words = words(operation)
        self._programs = Programs(name, options)
        self._plans: dict[tuple[Any, ...], _Plan] = {}

    def describe(self) -> str:
        inputs, outputs = (", ".join(map(str, part)) for part in (self._inputs, self._outputs))
        return f"{self.name}({inputs}) -> {outputs}"

    def run(
        self,
        args: tuple[Any, ...],
        out: USMArray | tuple[USMArray | None, ...] | None,
        size: int | None,
        where: USMArray | None,
        depends: Event | Iterable[Event],
        queue: Queue | None,
    ) -> Any:
        # The fast path: arrays of one queue and numbers, in shapes and types that were seen before.
        if size is None and where is None and queue is None and (out is None or type(out) is _core.USMArray):
            shared: Queue | None = None
            key: list[Any] = []
            for value in args if out is None else (*args, out):
                if type(value) is _core.USMArray:
                    key += (value.dtype, value.shape, value.strides, value.usm_type)
                    if shared is None:
                        shared = value.queue
                    elif value.queue is not shared:
                        break
                elif type(value) in _NUMBERS:
                    key.append(type(value))
                else:
                    break
            else:
                if shared is not None:
                    key += (out is None, shared.context, shared.device.filter_string)
                    plan = self._plans.get(tuple(key))
                    if plan is not None and not self._written and (out is None or self._may_write(out, args)):
                        return self._run(plan, args, None, shared, depends, None if out is None else (out,))
        return self._call(args, out, size, where, depends, queue)

    def _may_write(self, out: USMArray, args: Sequence[Any]) -> bool:
        """Whether a result is writable, and no input lies in its memory but the array itself."""
        return out.flags.writable and not any(
            type(value) is _core.USMArray
            and layout.overlap(value, out)
            and (value is not out or self._inputs[k].raw or self._outputs[0].raw)
            for k, value in enumerate(args)
        )

    def _call(
        self,
        args: tuple[Any, ...],
        out: Any,
        size: Any,
        where: Any,
        depends: Event | Iterable[Event],
        queue: Queue | None,
    ) -> Any:
        """A call with new shapes or types, or with results, a mask or a queue that the caller names."""
        args, out = call.split(self.name, self._inputs, self._outputs, args, out)
        given = call.given_outputs(self.name, self._outputs, out)
        args = tuple(
            call.input_of(value, parameter, self.name)
            for parameter, value in zip(self._inputs, args, strict=True)
        )
        if where is not None:
            call.check_where(where, self.name)
        arrays = call.arrays_of(self._inputs, args, self._outputs, given, where)
        chosen = call.common_queue(self.name, arrays, queue)
        call.check_output_memory(self.name, self._outputs, given)
        written, changed = self._outputs, given
        if self._written:
            written = tuple(self._inputs[k] for k in self._written)
            changed = tuple(args[k] for k in self._written)
            call.check_changed(self.name, written, changed)
        overlaps = [
            k not in self._written
            and isinstance(value, _core.USMArray)
            and call.is_overwritten(value, changed, parameter, written)
            for k, (parameter, value) in enumerate(zip((*self._inputs, None), (*args, where), strict=True))
        ]
        values = list(args)
        if any(overlaps):
            depends = call.order_after(chosen, depends, self.name)
            if where is not None and overlaps.pop():
                where = where.copy()
            values = [
                x.copy() if copied else x for x, copied in zip(values, overlaps[: len(args)], strict=True)
            ]
        device = chosen.device
        key: list[Any] = []
        for value in values:
            key += call.key_of(value)
        if out is not None:
            for value in given:
                key += call.key_of(value)
        key += (out is None, chosen.context, device.filter_string)
        if size is not None or where is not None or not arrays:
            key += (*call.key_of(where), size)
        plan = self._plans.get(tuple(key))
        if plan is None:
            plan = self._plan(values, given, size, where, chosen)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[tuple(key)] = plan
        return self._run(plan, values, where, chosen, depends, given)

    def _plan(
        self,
        args: Sequence[Any],
        given: Sequence[USMArray | None],
        size: Any,
        where: USMArray | None,
        queue: Queue,
    ) -> _Plan:
        everything = (*self._inputs, *self._outputs)
        values = (*args, *given)
        declared, variables = call.resolve(self.name, everything, len(args), values, queue.device)
        plan = _Plan()
        plan.dtypes = declared[len(args) :]
        plan.shape = self._shape(args, given, size, where)
        call.check_output_types(self.name, self._outputs, given, plan.dtypes, plan.shape)
        operands = [value for value in (*args, *given, where) if isinstance(value, _core.USMArray)]
        plan.usm_type = call.widest(operands)
        looped = [  # arrays that the loop walks over
            value
            for parameter, value in zip(everything, values, strict=True)
            if isinstance(value, _core.USMArray) and not parameter.raw
        ]
        fortran = [x.shape == plan.shape and x.flags.f_contiguous for x in looped]
        whole = [x.shape == plan.shape and x.flags.c_contiguous for x in looped]
        raw = any(parameter.raw for parameter in self._outputs)
        if fortran and all(fortran) and not all(whole) and not raw and "i" not in self._words:
            plan.order = "F"
        if layout.size(plan.shape) == 0:
            return plan
        fresh = layout.row_major(plan.shape if plan.order == "C" else plan.shape[::-1])
        fresh = fresh if plan.order == "C" else fresh[::-1]
        strides: list[tuple[int, ...]] = []
        slots: list[int | None] = []  # of each parameter, its operand
        for parameter, value in [*zip(everything, values, strict=True)][::-1]:
            if parameter.raw or (value is not None and not isinstance(value, _core.USMArray)):
                slots.append(None)
                continue
            slots.append(len(strides))
            strides.append(
                fresh if value is None else layout.broadcast_strides(plan.shape, value.shape, value.strides)
            )
        slots.reverse()
        mask = None
        if where is not None:
            mask = len(strides)
            strides.append(layout.broadcast_strides(plan.shape, where.shape, where.strides))
        if "i" in self._words:
            strides.append(layout.row_major(plan.shape))
        axes = layout.merge(plan.shape, strides)
        form = self._choose(plan, axes, len(strides), queue.device)
        for k, (parameter, value) in enumerate(zip(everything, values, strict=True)):
            view = _first(value)
            if parameter.raw and isinstance(value, _core.USMArray) and not value.flags.c_contiguous:
                plan.copies.append(k)
                view = None
            plan.views.append(view)
        if where is not None:
            plan.views.append(_first(where))
        plan.plain = not any(view is not None for view in plan.views)
        stored_types = tuple(
            value.dtype.name
            if isinstance(value, _core.USMArray)
            else ("scalar" if k < len(args) else str(declared[k]))
            for k, value in enumerate(values)
        )
        names = tuple(dtype.name for dtype in declared)
        kernel_key = (form, stored_types, names, where is not None)
        plan.kernel = self._programs.find(
            kernel_key,
            queue,
            lambda: self._write(
                form, stored_types, names, variables, slots, mask, len(strides), queue.device
            ),
        )
        plan.bound = plan.kernel[plan.space]
        return plan

    def _shape(
        self, args: Sequence[Any], given: Sequence[USMArray | None], size: Any, where: USMArray | None
    ) -> tuple[int, ...]:
        """The shape of the loop. ValueError if the arguments do not broadcast, or none has a shape."""
        operands = [
            (parameter.name, value.shape)
            for parameter, value in zip(self._inputs, args, strict=True)
            if not parameter.raw and isinstance(value, _core.USMArray)
        ]
        if where is not None:
            operands.append(("where", where.shape))
        if size is not None:
            if isinstance(size, bool) or not hasattr(size, "__index__"):
                raise TypeError(f"{self.name}: size is {call.with_article(size)}; an int is allowed")
            if size.__index__() < 0:
                raise ValueError(f"{self.name}: size is {size}; 0 or more is allowed")
            if operands:
                raise ValueError(
                    f"{self.name}: size is given, and {operands[0][0]} has a shape; size is for calls whose "
                    "inputs are all raw arrays or numbers"
                )
            return (size.__index__(),)
        if not operands:
            operands = [
                (parameter.name, value.shape)
                for parameter, value in zip(self._outputs, given, strict=True)
                if value is not None
            ][:1]
        if not operands and any(parameter.raw for parameter in (*self._inputs, *self._outputs)):
            results = " or out=" if self._outputs else ""
            raise ValueError(f"{self.name}: all inputs are raw arrays or numbers; pass size={results}")
        return layout.broadcast(self.name, operands) if operands else ()

    def _choose(self, plan: _Plan, axes: list[layout.Axis], operands: int, device: _core.Device) -> str:
        """The form of the kernel, its range and its arguments behind the arrays."""
        if layout.is_contiguous(axes):
            plan.space = _core.Range(layout.size(plan.shape))
            return _CONTIGUOUS
        lengths = [length for length, _ in axes]
        if len(axes) <= 3 and max(lengths[1:], default=0) <= _MOST_ROWS:
            plan.space = _core.Range(lengths)
            padded = [*axes, *[(1, (0,) * operands)] * (3 - len(axes))]
            plan.extra = tuple(padded[d][1][k] for k in range(operands) for d in range(3))
            return _STRIDED
        if len(axes) > layout.MOST_AXES or operands > _MOST_OPERANDS:
            plan.compact = True
            plan.space = _core.Range(layout.size(plan.shape))
            return _CONTIGUOUS
        plan.extra = (layout.pack(axes, operands),)
        n = layout.size(plan.shape)
        rows = device.device_type == "cpu" and "return" not in self._words
        plan.space = _core.Range(n // lengths[0] if rows else n)
        return _ROWS if rows else _DEEP

    def _run(
        self,
        plan: _Plan,
        args: Sequence[Any],
        where: USMArray | None,
        queue: Queue,
        depends: Event | Iterable[Event],
        given: Sequence[USMArray | None] | None = None,
    ) -> Any:
        results: list[USMArray] = []
        for k, parameter in enumerate(self._outputs):
            x = None if given is None else given[k]
            if x is None:
                make = _core.zeros if where is not None or parameter.raw else _core.empty
                x = make(
                    plan.shape, dtype=plan.dtypes[k], queue=queue, usm_type=plan.usm_type, order=plan.order
                )
            results.append(x)
        if plan.bound is not None and plan.kernel is not None:
            values: list[Any] = [*args, *results]
            if where is not None:
                values.append(where)
            if plan.compact or plan.copies:
                depends = call.order_after(queue, depends, self.name)
                self._launch_copies(plan, values, len(args), given)
            else:
                if not plan.plain:
                    values = [
                        value if view is None else value[view]
                        for value, view in zip(values, plan.views, strict=True)
                    ]
                bound = plan.bound
                if depends != ():
                    bound = plan.kernel[plan.space, call.check_depends(depends, self.name)]
                bound(*values, *plan.extra)
        if not results:
            return None
        return results[0] if len(results) == 1 else tuple(results)

    def _launch_copies(
        self, plan: _Plan, values: list[Any], n: int, given: Sequence[USMArray | None] | None
    ) -> None:
        """Launch with contiguous copies of the arguments that need them."""
        back: list[tuple[USMArray, USMArray]] = []
        for k, value in enumerate(values):
            if k in plan.copies:
                values[k] = value.copy()
            elif plan.views[k] is None and not plan.compact:
                continue
            elif not plan.compact:
                values[k] = value[plan.views[k]]
            elif isinstance(value, _core.USMArray) and not self._is_raw(k):
                if n <= k < n + len(self._outputs):
                    if value.flags.c_contiguous:
                        continue
                    values[k] = value.copy()
                    back.append((value, values[k]))
                else:
                    values[k] = _core.broadcast_to(value, plan.shape).copy()
        assert plan.bound is not None
        plan.bound(*values, *plan.extra)
        for target, source in back:
            _core.copyto(target, source)

    def _call_function(self, source: Source, names: Sequence[str], device: _core.Device) -> str:
        """The statements that call the Python function."""
        assert self._function is not None
        given = [(p.name, names[k], p.raw) for k, p in enumerate(self._inputs)]
        results = list(names[len(given) :]) if self._outputs else None
        statement, values = source.add_function(self._function, given, results, device)
        stores = [f"{p.name} = {value};" for p, value in zip(self._outputs, values, strict=True)]
        return " ".join([statement, *stores])

    def _is_raw(self, k: int) -> bool:
        everything = (*self._inputs, *self._outputs)
        return k < len(everything) and everything[k].raw

    def _write(
        self,
        form: str,
        types: Sequence[str],
        names: Sequence[str],
        variables: dict[str, _core.DType],
        slots: Sequence[int | None],
        mask: int | None,
        operands: int,
        device: _core.Device,
    ) -> Source:
        """The program. types: of the elements in memory, or "scalar"; names: the declared ones."""
        source = Source()
        write_types(source, (*types, *names), variables)
        source.add_piece("preamble", self._preamble)
        operation = self._operation if self._function is None else self._call_function(source, names, device)
        counter = "i" in self._words
        declared, loads, stores = [], [], []
        for k, parameter in enumerate((*self._inputs, *self._outputs)):
            name, of = parameter.name, C_TYPES[names[k]]
            written = k >= len(self._inputs) or k in self._written
            if types[k] == "scalar":
                text, value = scalar(name, names[k])
                declared.append(text)
                loads += value
            elif parameter.raw:
                declared.append(f"global {'' if written else 'const '}{stored(names[k])} *{name}")
            else:
                place = f"usm_p_{name}[{place_of(form, slots[k])}]"
                declared.append(f"global {'' if written else 'const '}{stored(types[k])} *usm_p_{name}")
                if not written:
                    loads.append(f"const {of} {name} = ({of}){load(place, types[k])};")
                else:
                    begin, end = result(name, names[k], place, "return" in self._words)
                    loads.append(begin)
                    stores.append(end)
        if mask is not None:
            declared.append("global const uchar *usm_where")
        if form == _STRIDED:
            declared += [f"long usm_s{k}_{d}" for k in range(operands) for d in range(3)]
        if form in (_DEEP, _ROWS):
            source.add(
                f"typedef struct {{ long ndim, shape[{layout.MOST_AXES}], "
                f"strides[{operands}][{layout.MOST_AXES}]; }} usm_layout;"
            )
            declared.append("usm_layout usm_l")
        source.add(f"kernel void {function_name(self.name, self._words)}({', '.join(declared)})", "{")
        if form in (_DEEP, _ROWS):
            source.add("long usm_rest = (long)get_global_id(0);")
            source.add("".join(f"long usm_o{k} = 0; " for k in range(operands)))
            source.add(
                f"for (int usm_d = {int(form == _ROWS)}; usm_d < (int)usm_l.ndim; usm_d++) {{",
                "long usm_q = usm_rest / usm_l.shape[usm_d], usm_c = usm_rest - usm_q * usm_l.shape[usm_d];",
                *[f"usm_o{k} += usm_c * usm_l.strides[{k}][usm_d];" for k in range(operands)],
                "usm_rest = usm_q;",
                "}",
            )
            if form == _ROWS:
                source.add("for (long usm_0 = 0; usm_0 < usm_l.shape[0]; usm_0++) {")
        elif form == _STRIDED:
            source.add(
                "const long usm_0 = (long)get_global_id(0), usm_1 = (long)get_global_id(1), "
                "usm_2 = (long)get_global_id(2);"
            )
        else:
            source.add("const long usm_0 = (long)get_global_id(0);")
        if counter:
            source.add(f"const long i = {place_of(form, operands - 1)};")
        if "n" in self._words:
            sizes = " * ".join(f"get_global_size({d})" for d in range(3 if form == _STRIDED else 1))
            sizes += " * usm_l.shape[0]" if form == _ROWS else ""
            source.add(f"const long n = (long)({sizes});")
        if mask is not None:
            source.add(f"if (usm_where[{place_of(form, mask)}] != 0) {{")
        source.add(*loads, "{")
        source.add_piece("operation", operation, ";")
        source.add("}", *stores, "}" if mask is not None else "", "}" if form == _ROWS else "", "}")
        return source


def _first(value: object) -> tuple[int, ...] | None:
    """The index of a view of the first element, for an array with gaps, which a kernel does not take."""
    if not isinstance(value, _core.USMArray) or value.flags.forc:
        return None
    return (0,) * value.ndim


def place_of(form: str, slot: int | None) -> str:
    """The index of an operand's element."""
    if form == _CONTIGUOUS:
        return "usm_0"
    if form == _DEEP:
        return f"usm_o{slot}"
    if form == _ROWS:
        return f"usm_o{slot} + usm_0 * usm_l.strides[{slot}][0]"
    return " + ".join(f"usm_{d} * usm_s{slot}_{d}" for d in range(3))
