"""What reductions and scans share: the functions that their texts make, and the operands of a call."""

from __future__ import annotations

from .. import _core
from . import call, layout, parameters
from .script import Script
from .source import Source, check_brackets, result, scalar, split, words, write_types
from .types import C_TYPES, check_device, literal, load, stored

TYPE_CHECKING = False  # typing itself takes a millisecond to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import Queue, USMArray
    from .program import Programs

RESERVED = ("a", "b", "i", "n")


class Fold:
    """The declarations and texts of a kernel that combines elements along an axis."""

    def __init__(
        self,
        inputs: str,
        outputs: str,
        map: Any,
        combine: tuple[str, Any],
        post: Any,
        identity: object,
        name: str,
        combined_type: Any,
        preamble: str,
        options: str,
    ) -> None:
        self.label = combine[0]  # the argument's name
        # Texts, or Python functions in their place.
        map, self.map_function = split(map)
        self.combine, self.combine_function = split(combine[1])
        post, self.post_function = split(post)
        call.check_texts(name, map=map, post=post or "", preamble=preamble, options=options)
        call.check_texts(name, **{self.label: self.combine})
        self.inputs = parameters.parse(inputs, "inputs", RESERVED)
        self.outputs = parameters.parse(outputs, "outputs", RESERVED)
        if not self.outputs:
            raise ValueError("outputs is empty; a kernel needs at least one, such as 'T y'")
        if all(parameter.raw for parameter in self.inputs):
            raise ValueError("inputs has no array that is not raw; at least one is needed, such as 'T x'")
        for parameter in self.outputs:
            if parameter.raw:
                raise ValueError(f"outputs: {str(parameter)!r:.60} is raw; outputs are single elements here")
        parameters.check_names((*self.inputs, *self.outputs))
        if post is None:
            post = "; ".join(f"{parameter.name} = a" for parameter in self.outputs)
        texts = (("map", map, self.map_function), (self.label, self.combine, self.combine_function))
        for what, text, function in texts:
            if not text.strip() and function is None:
                raise ValueError(f"{what} is empty; an expression is needed, such as 'x'")
            check_brackets(text, what)
        check_brackets(post, "post")
        if isinstance(identity, str):
            check_brackets(identity, "identity")
        elif identity is not None:
            number = _core._number(identity)
            if not isinstance(number, (int, float, complex)):
                raise TypeError(
                    f"identity is {call.with_article(identity)}; a number, an expression or None is allowed"
                )
            kind: Any = next(kind for kind in (bool, int, float, complex) if isinstance(number, kind))
            identity = kind(number)  # a subclass may write itself in another way
        self.map, self.post, self.identity, self.name, self.preamble = map, post, identity, name, preamble
        self.words = words(map) | words(self.combine) | words(post)
        self.combined_type = combined_type
        if combined_type is not None and not isinstance(combined_type, (str, _core.DType)):
            raise TypeError(
                f"{self.label}_type is {call.with_article(combined_type)}; a str, a DType or None is allowed"
            )

    def describe(self) -> str:
        inputs, outputs = (", ".join(map(str, part)) for part in (self.inputs, self.outputs))
        return f"{self.name}({inputs}) -> {outputs}"

    def combined(
        self, declared: Sequence[_core.DType], variables: dict[str, _core.DType], device: _core.Device
    ) -> tuple[str, _core.DType | None]:
        """(the type that is combined, in C; its dtype, or None for a type that the preamble defines)."""
        of = self.combined_type
        dtype: _core.DType | None = None
        if of is None:
            dtype = declared[len(self.inputs)]
        elif isinstance(of, _core.DType):
            dtype = of
        elif parameters.is_variable(of) and of in variables:
            dtype = variables[of]
        else:
            try:
                dtype = _core.DType(of)
            except TypeError:
                return str(of), None
        who = f"{self.label}_type of {self.name}"
        if dtype.name not in C_TYPES:
            raise TypeError(f"{who}: {dtype} was given; one of {', '.join(C_TYPES)} is allowed")
        check_device(dtype, device, who)
        return stored(dtype.name), dtype

    def write(
        self,
        source: Source,
        types: Sequence[str],
        declared: Sequence[_core.DType],
        variables: dict[str, _core.DType],
        combined: tuple[str, _core.DType | None],
        device: _core.Device,
    ) -> None:
        """The types, the preamble and the functions usm_map, usm_combine, usm_identity and usm_post."""
        names = [dtype.name for dtype in declared]
        used = {*types, *names} | ({combined[1].name} if combined[1] is not None else set())
        write_types(source, used, variables)
        source.add_piece("preamble", self.preamble)
        source.add(f"typedef {combined[0]} usm_r;")
        map, combine, post = self._texts(source, names, combined[1], device)
        shared = [
            f"global const {stored(names[k])} *{p.name}" if p.raw else f"const {C_TYPES[names[k]]} {p.name}"
            for k, p in enumerate(self.inputs)
            if p.raw or types[k] == "scalar"
        ]
        elements = [
            f"const {C_TYPES[names[k]]} {p.name}"
            for k, p in enumerate(self.inputs)
            if not p.raw and types[k] != "scalar"
        ]
        index = ["const long i", "const long n"]
        source.add(f"static usm_r usm_map({', '.join([*elements, *shared, *index])}) {{ return (")
        source.add_piece("map", map, "); }")
        source.add("static usm_r usm_combine(const usm_r a, const usm_r b) { return (")
        source.add_piece(self.label, combine, "); }")
        if self.identity is not None:
            source.add("static usm_r usm_identity(void) { return (")
            if isinstance(self.identity, str):
                source.add_piece("identity", self.identity, "); }")
            else:
                source.add(literal(self.identity, combined[1]), "); }")
        results = [
            f"global {stored(names[k])} *usm_p_{p.name}" for k, p in enumerate(self.outputs, len(self.inputs))
        ]
        parts = ["const usm_r a", *index, *shared, *results]
        source.add(f"static void usm_post({', '.join(parts)}) {{")
        stores = []
        for k, p in enumerate(self.outputs, len(self.inputs)):
            begin, end = result(p.name, names[k], f"(*usm_p_{p.name})", "return" in self.words)
            source.add(begin)
            stores.append(end)
        source.add("{")
        source.add_piece("post", post, ";")
        source.add("}", *stores, "}")

    def _texts(
        self, source: Source, names: Sequence[str], combined: _core.DType | None, device: _core.Device
    ) -> tuple[str, str, str]:
        """map, combine and post, with calls for Python functions."""
        functions = (self.map_function, self.combine_function, self.post_function)
        if combined is None and any(function is not None for function in functions):
            raise TypeError(
                f"{self.label}_type of {self.name} is defined by the preamble, which Python functions do not "
                "see; a dtype is allowed"
            )
        texts = [self.map, self.combine, self.post]
        value = combined.name if combined is not None else ""
        given = [(p.name, names[k], p.raw) for k, p in enumerate(self.inputs)]
        for k, arguments in enumerate([given, [("a", value, False), ("b", value, False)]]):
            if (function := functions[k]) is not None:
                texts[k] = source.add_function(function, arguments, [value], device)[1][0]
        if (function := functions[2]) is not None:
            arguments = [("a", value, False), ("n", "int64", False)][: function.__code__.co_argcount or 1]
            results = names[len(self.inputs) :]
            statement, values = source.add_function(function, arguments, results, device)
            stores = [f"{p.name} = {found};" for p, found in zip(self.outputs, values, strict=True)]
            texts[2] = " ".join([statement, *stores])
        return texts[0], texts[1], texts[2]

    def parameters(
        self, types: Sequence[str], declared: Sequence[_core.DType]
    ) -> tuple[list[str], list[str]]:
        """(the kernel's parameters for the inputs, the lines that make variables of numbers)."""
        found, lines = [], []
        for k, p in enumerate(self.inputs):
            if types[k] == "scalar":
                text, more = scalar(p.name, declared[k].name)
                found.append(text)
                lines += more
            elif p.raw:
                found.append(f"global const {stored(types[k])} *{p.name}")
            else:
                found.append(f"global const {stored(types[k])} *usm_p_{p.name}")
        return found, lines

    def results(self, declared: Sequence[_core.DType]) -> list[str]:
        """The kernel's parameters for the outputs."""
        return [
            f"global {stored(declared[k].name)} *usm_p_{p.name}"
            for k, p in enumerate(self.outputs, len(self.inputs))
        ]

    def call_map(
        self,
        types: Sequence[str],
        declared: Sequence[_core.DType],
        places: Sequence[str],
        position: str,
        masked: str,
    ) -> str:
        """The expression for one element. places: its index in each input that is not raw nor a number."""
        values, shared, k = [], [], 0
        for position_of, p in enumerate(self.inputs):
            of = C_TYPES[declared[position_of].name]
            if p.raw or types[position_of] == "scalar":
                shared.append(p.name)
                continue
            values.append(f"({of}){load(f'usm_p_{p.name}[{places[k]}]', types[position_of])}")
            k += 1
        mapped = f"usm_map({', '.join([*values, *shared, position, 'usm_n'])})"
        return f"(usm_where[{masked}] != 0 ? {mapped} : usm_identity())" if masked else mapped

    def call_post(self, value: str, position: str, places: Sequence[str], types: Sequence[str]) -> str:
        """The statement that stores the results. places: the index in each output."""
        shared = [p.name for k, p in enumerate(self.inputs) if p.raw or types[k] == "scalar"]
        outputs = [f"usm_p_{p.name} + ({place})" for p, place in zip(self.outputs, places, strict=True)]
        return f"usm_post({', '.join([value, position, 'usm_n', *shared, *outputs])});"


class Operands:
    """The arrays of one call: what the loop walks over, and their common shape."""

    def __init__(self, fold: Fold, args: tuple[Any, ...], out: Any, where: Any, queue: Queue | None) -> None:
        name = fold.name
        args, out = call.split(name, fold.inputs, fold.outputs, args, out)
        self.given = call.given_outputs(name, fold.outputs, out)
        args = tuple(
            call.input_of(value, parameter, name) for parameter, value in zip(fold.inputs, args, strict=True)
        )
        if where is not None:
            call.check_where(where, name)
            if fold.identity is None:
                raise ValueError(f"{name} has no identity; where= needs one")
        arrays = call.arrays_of(fold.inputs, args, fold.outputs, self.given, where)
        self.queue = call.common_queue(name, arrays, queue)
        call.check_output_memory(name, fold.outputs, self.given)
        self.args: list[Any] = list(args)
        self.copied = False  # whether copy_overlapped() has replaced an argument
        self.where: USMArray | None = where
        self.declared, self.variables = call.resolve(
            name, (*fold.inputs, *fold.outputs), len(args), (*args, *self.given), self.queue.device
        )
        self.combined = fold.combined(self.declared, self.variables, self.queue.device)
        self.types = [value.dtype.name if isinstance(value, _core.USMArray) else "scalar" for value in args]
        self.looped = [
            k
            for k, (parameter, value) in enumerate(zip(fold.inputs, args, strict=True))
            if isinstance(value, _core.USMArray) and not parameter.raw
        ]
        operands = [(fold.inputs[k].name, args[k].shape) for k in self.looped]
        if where is not None:
            operands.append(("where", where.shape))
        if not self.looped:
            raise ValueError(f"{name}: all inputs are raw arrays or numbers; one has to be an array")
        self.shape = layout.broadcast(name, operands)
        self.usm_type: Any = call.widest([x for _, x in arrays])

    def copy_overlapped(self, fold: Fold, depends: Any) -> Any:
        """Copy the inputs that a result overlaps, and raw inputs with gaps; what is left of `depends`."""
        copied: list[int] = []
        for k, x in enumerate(self.args):
            if isinstance(x, _core.USMArray):
                gaps = fold.inputs[k].raw and not x.flags.c_contiguous
                if gaps or any(y is not None and layout.overlap(x, y) for y in self.given):
                    copied.append(k)
        masked = self.where is not None and any(
            y is not None and layout.overlap(self.where, y) for y in self.given
        )
        if not copied and not masked:
            return depends
        self.copied = True
        depends = call.order_after(self.queue, depends, fold.name)
        for k in copied:
            self.args[k] = self.args[k].copy()
        if masked and self.where is not None:
            self.where = self.where.copy()
        return depends

    def walked(self) -> list[USMArray]:
        """The inputs that are not raw, and the mask."""
        found = [self.args[k] for k in self.looped]
        return found if self.where is None else [*found, self.where]

    def replace(self, arrays: Sequence[USMArray]) -> None:
        """Take other arrays for those of walked()."""
        for k, x in zip(self.looped, arrays, strict=False):
            self.args[k] = x
        if self.where is not None:
            self.where = arrays[-1]

    def results(self, fold: Fold, shape: tuple[int, ...]) -> list[USMArray]:
        """The arrays of the caller, and new ones for the others."""
        dtypes = self.declared[len(fold.inputs) :]
        call.check_output_types(fold.name, fold.outputs, self.given, dtypes, shape)
        return [
            _core.empty(shape, dtype=dtype, queue=self.queue, usm_type=self.usm_type) if x is None else x
            for x, dtype in zip(self.given, dtypes, strict=True)
        ]

    def script(self, results: Sequence[USMArray]) -> Script:
        """An empty script for calls like this one."""
        script = Script(results[0].shape, [x.dtype for x in results], self.usm_type)
        script.views = [first_index(x) for x in self.args]
        script.result_views = [first_index(x) for x in results]
        return script

    def values(self) -> list[Any]:
        """The arguments of a kernel for the inputs and the mask."""
        values = [
            start(x) if isinstance(x, _core.USMArray) else x
            for x in (self.args if self.where is None else [*self.args, self.where])
        ]
        return values


def first_index(x: object) -> tuple[int, ...] | None:
    """The index of the first element of an array with gaps; None for others."""
    return (0,) * x.ndim if isinstance(x, _core.USMArray) and not x.flags.forc else None


def start(x: USMArray) -> USMArray:
    """The array, or a view of its first element if it has gaps: a kernel takes no other array."""
    return x if x.flags.forc else x[(0,) * x.ndim]


def combined_size(fold: Fold, operands: Operands, programs: Programs, sizes: dict[Any, int]) -> int:
    """The bytes of one combined element. A kernel tells those of a type that the preamble defines."""
    dtype = operands.combined[1]
    if dtype is not None:
        return dtype.itemsize
    queue = operands.queue
    names = tuple(dtype.name for dtype in operands.declared)
    key = (names, queue.context, queue.device.filter_string)
    size = sizes.get(key)
    if size is None:

        def write() -> Source:
            source = Source()
            made = (operands.declared, operands.variables, operands.combined, queue.device)
            fold.write(source, operands.types, *made)
            source.add("kernel void usm_size(global ulong *usm_out) { usm_out[0] = sizeof(usm_r); }")
            return source

        kernel = programs.find(("size", tuple(operands.types), names), queue, write)
        found = _core.empty(1, dtype=_core.uint64, queue=queue)
        kernel[1](found)
        size = sizes[key] = int(found.item())
    return size
