"""The program of a Python kernel for one set of argument types: its text, and what a launch passes."""

from __future__ import annotations

import ast
import inspect
import keyword
import os
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

from . import functions, types
from .body import Body
from .scope import wrap
from .source import Origin
from .statements import Function
from .types import WEAK_INT, Type, c_name
from .values import Array, Number, Object, Parameter, Tuple, Value, extent_name, filled, known, stride_name

_WORDS = """
auto break case char const constant continue default do double else enum extern float for global goto half
if inline int kernel local long main private register restrict return short signed size_t sizeof static
struct switch typedef typeof uchar uint ulong union unsigned ushort void volatile while bool true false
complex64 complex128 asm kernel printf barrier mem_fence abs fmod pow pown rint floor isnan
vload_half vstore_half as_float as_uint real imag
norm rnorm norm3d norm4d rhypot erfcx normcdf y0 y1 yn j0 j1 jn max min
generic pipe read_only write_only read_write cross distance dot fast_distance fast_length fast_normalize
length normalize vec_step
"""
# Words of the system, types of vectors, and macros.
_UNSAFE = re.compile(
    r"_|usm|CLK|atom|cl_|memory_|.*_t$|[A-Z][A-Z0-9_]+$|(u?(char|short|int|long)|float|double|half|bool)\d+$"
)

# C++'s words, and what CUDA declares: no kernel has such a name.
_OF_CUDA = re.compile(
    r"""(and|and_eq|bitand|bitor|catch|class|compl|concept|delete|explicit|export|friend|
mutable|namespace|new|noexcept|not|not_eq|nullptr|operator|or|or_eq|private|protected|public|requires|signals|
template|this|throw|try|typeid|typename|using|virtual|xor|xor_eq|alignas|alignof|const(_cast|eval|expr|init)|
co_(await|return|yield)|decltype|(dynamic|reinterpret|static)_cast|static_assert|thread_local|(char(8|16|32)|
wchar)_t|(thread|block)Idx|(block|grid)Dim|warpSize|abs|clock64|free|l?labs|malloc|(ull|ll|u)(max|min)|va_(arg|
copy|end|start)|u?(char|short|int|long(long)?)[1-4]|(float|double)[1-4]|((a?(cos|sin|tan)h?|atan2|cbrt|ceil|
copysign|(cos|sin|sincos)pi|cyl_bessel_i[01]|erf(c|cinv|cx|inv)?|exp(10|2|m1)?|fabs|fdim|fdivide|floor|fma|fmax|
fmin|fmod|frexp|hypot|ilogb|[jy][01n]|ldexp|lgamma|ll?(rint|round)|log(10|1p|2|b)?|max|min|modf|nan|nearbyint|
nextafter|r?norm([34]d)?|normcdf(inv)?|pow|rcbrt|remainder|remquo|rhypot|rint|round|rsqrt|scalbl?n|sincos|sqrt|
tgamma|trunc)f?))""".replace("\n", "")
)
_MOST = 200  # letters of a name


class Names:
    """Names of a program in C: those of Python where C has no other use for them."""

    prefix = ""  # of all of them

    def __init__(self) -> None:
        self._reserved = {*_WORDS.split(), *functions.EMITTED}
        self._given: dict[tuple[object, str], str] = {}
        self._taken: set[str] = set()

    def make(self, stem: str, owner: object) -> str:
        """A name that nothing else in the program has; the same one for the same stem and owner."""
        found = self._given.get((owner, stem))
        if found is None:
            clean = self.prefix + re.sub(r"[^A-Za-z0-9_]", "_", stem)[:_MOST]
            clean = f"p{clean}" if _UNSAFE.match(clean) else clean
            found, k = clean, 0
            while found in self._taken or found in self._reserved or keyword.iskeyword(found):
                k += 1
                found = f"{clean}_{k}"
            self._taken.add(found)
            self._given[owner, stem] = found
        return found


class Slot(NamedTuple):
    """What a launch passes for one parameter of the kernel in C."""

    kind: str  # "pointer", "extent", "stride", "value", "local", "count" or "record"
    argument: int = -1
    axis: int = 0


# What an argument is specialised for: ("array", dtype, ndim, contiguous), ("number", Type), ("none",),
# ("local", dtype)
Signature = tuple[Any, ...]


class Unit:
    """Functions that are compiled together.

    real: the type of floating-point numbers that nothing else decides; checked: the backend of a checked
    kernel, else "".
    """

    def __init__(self, real: Type, checked: str = "") -> None:
        self.real, self.checked = real, checked
        self.names = Names()
        self._parts = _parts()
        self._helpers: dict[Any, Helper] = {}
        self._active: list[FunctionType] = []
        self._origins: dict[FunctionType, Origin] = {}
        self._written: set[Any] = set()

    # Calls of functions

    def origin(self, function: FunctionType) -> Origin:
        if function not in self._origins:
            self._origins[function] = Origin(function)
        return self._origins[function]

    def bind(
        self, function: FunctionType, values: list[Value], names: list[str], node: ast.Call, body: Body
    ) -> dict[str, Value]:
        """The arguments by name, with defaults."""
        self.origin(function)  # refuses *args
        signature = inspect.signature(function)
        split = len(values) - len(names)
        try:
            bound = signature.bind(*values[:split], **dict(zip(names, values[split:], strict=True)))
        except TypeError as error:
            body.refuse(node, f"{function.__name__}{signature}: {error}")
        taken = dict(bound.arguments)
        for name, parameter in signature.parameters.items():
            if name not in taken:
                default = wrap(parameter.default)
                if isinstance(default, str):
                    body.refuse(node, f"the default of {name}: {default}")
                taken[name] = default
        return {name: taken[name] for name in signature.parameters}

    def call(self, body: Function, function: FunctionType, values: dict[str, Value], node: ast.Call) -> Value:
        if function in self._active:
            body.refuse(node, f"{function.__name__} calls itself: kernels have no recursion; write a loop")
        key = (function, tuple((name, _key(value)) for name, value in values.items()))
        helper = self._helpers.get(key)
        if helper is None:
            self._active.append(function)
            helper = Helper(self, function, self.origin(function), values)
            helper.compile()
            self._active.pop()
            self._helpers[key] = helper
        return helper.write_call(body, values, node)

    def record_name(self, body: Body) -> str:
        return f"struct {self.names.make(f'{body.function.__name__}_result', body)}"

    def definitions(self, *roots: Function) -> str:
        """What the functions need in front of them, but what was written before."""
        called: list[Helper] = []
        needed: set[tuple[str, Type]] = set()
        waiting = list(roots)
        while waiting:
            function = waiting.pop()
            needed |= function.needed
            new = [helper for helper in dict.fromkeys(function.called) if helper not in called]
            called += new
            waiting += new
        order = list(self._helpers.values())  # a helper is complete before its caller
        found: list[tuple[Any, str]] = [(key, self._part(*key)) for key in sorted(needed)]
        found += [(helper, helper.text()) for helper in sorted(called, key=order.index)]
        texts = [text for key, text in found if key not in self._written]
        self._written |= {key for key, _ in found}
        return "".join(texts)

    def _part(self, name: str, t: Type) -> str:
        c = c_name(t)
        words = {"T": c, "F": f"usm_{name}_{c}", "R": c_name(types.real_of(t))}
        words["U"] = c_name(Type("uint", t.bits)) if t.kind in ("int", "uint") else c
        return re.sub(r"\b[TFRU]\b", lambda word: words[word[0]], self._parts[name])


class Program(Unit):
    """The program of a kernel, for one set of argument types."""

    def __init__(
        self, function: FunctionType, origin: Origin, signature: list[Signature], real: Type, checked: str
    ) -> None:
        super().__init__(real, checked)
        self._active.append(function)
        self._origins[function] = origin
        self.parameters: list[Parameter] = []
        names = list(inspect.signature(function).parameters)
        values = {}
        for name, kind in zip(names, signature, strict=True):
            parameter = Parameter(self.names.make(name, self))
            self.parameters.append(parameter)
            values[name] = self._argument(name, parameter, kind)
        name = function.__name__
        self.name = self.names.make(f"{name}_1" if _OF_CUDA.fullmatch(name) else name, self.names)
        self.kernel = _Kernel(self, function, origin, values)
        self.kernel.compile()
        self._signature = signature

    def _argument(self, name: str, parameter: Parameter, kind: Signature) -> Value:
        if kind[0] == "array":
            _, element, ndim, contiguous = kind
            return Array(name, element, parameter.name, "global", (None,) * ndim, contiguous, parameter)
        if kind[0] == "local":
            return Array(name, kind[1], parameter.name, "local", (None,), True, parameter)
        if kind[0] == "none":
            return Object(None)
        number = known(kind[1], parameter.name)
        if kind[1] == types.BOOL:
            number.text = f"({parameter.name} != 0)"
        if kind[1] == WEAK_INT:
            number.origin = parameter
        return number

    def slots(self) -> list[Slot]:
        found = []
        for k, (parameter, kind) in enumerate(zip(self.parameters, self._signature, strict=True)):
            if kind[0] in ("array", "local"):
                found.append(Slot("local" if kind[0] == "local" else "pointer", k))
                extent = "count" if kind[0] == "local" else "extent"
                found += [Slot(extent, k, axis) for axis in sorted(parameter.extents)]
                found += [Slot("stride", k, axis) for axis in sorted(parameter.strides)]
            elif kind[0] == "number":
                found.append(Slot("value", k))
        return found + [Slot("record")] * bool(self.checked)

    def limits(self) -> list[tuple[int, int, int]]:
        """The arguments that are Python ints, and the numbers that fit into what they meet."""
        found: list[tuple[int, int, int]] = []
        for k, (parameter, kind) in enumerate(zip(self.parameters, self._signature, strict=True)):
            if kind == ("number", WEAK_INT) and parameter.met - {self.value_type(k)}:
                ranges = [types.limits(t) for t in (types.INT64, *parameter.met)]
                found.append((k, max(low for low, _ in ranges), min(high for _, high in ranges)))
        return found

    def value_type(self, k: int) -> Type:
        """The type in which an argument that is a number travels."""
        t: Type = self._signature[k][1]
        if t == WEAK_INT:
            return types.UINT64 if self.parameters[k].met == {types.UINT64} else types.INT64
        if t.weak:
            return self.real if t.kind == "float" else types.complex_of(self.real)
        return t

    def _declare(self, slot: Slot) -> str:
        if slot.kind == "record":
            return "global long *usm_record"
        parameter = self.parameters[slot.argument]
        if slot.kind in ("extent", "count"):
            return f"long {extent_name(parameter, slot.axis)}"
        if slot.kind == "stride":
            return f"long {stride_name(parameter, slot.axis)}"
        if slot.kind == "value":
            t = self.value_type(slot.argument)
            return f"{'uchar' if t == types.BOOL else c_name(t)} {parameter.name}"
        element = types.stored_name(self._signature[slot.argument][1])
        if slot.kind == "local":
            return f"local {element} *{parameter.name}"
        return f"global {'' if parameter.written else 'const '}{element} *{parameter.name}"

    def text(self) -> str:
        """The whole program in the portable language."""
        self._written.clear()
        front = own_checked() if self.checked else ""
        return front + self.definitions(self.kernel) + self.kernel.text()


def _parts() -> dict[str, str]:
    path = os.path.join(os.path.dirname(__file__), "portable_python.h")
    with open(path, encoding="utf-8") as file:
        return dict(part.split("\n", 1) for part in file.read().split("// --- ")[1:])


def own_checked() -> str:
    from .._compile.included import own_text

    return own_text("portable_checked.h")


def _key(value: Value) -> Any:
    if isinstance(value, Array):
        return value.key
    if isinstance(value, Tuple):
        return ("tuple", *map(_key, value.items))
    if isinstance(value, Object):
        return ("object", id(value.value))
    return ("number", value.type, repr(value.value), value.positive)  # 0.0 and -0.0 are equal


def _render(lines: list[tuple[int, str]], filename: str) -> str:
    """Statements, with the numbers of the Python file's lines; those of one line stand in one line."""
    text: list[str] = []
    depth, last, expected = 1, -1, -1
    quoted = types.quoted(os.path.basename(filename))
    for line, statement in lines:
        if line == last:
            text[-1] += f" {statement}"
        else:
            if line != expected:
                text.append(f"#line {line} {quoted}")
            text.append(f"{'    ' * (depth - statement.startswith('}'))}{statement}")
        last, expected = line, line + 1
        depth += statement.endswith("{") - statement.startswith("}")
    return "\n".join(text) + "\n" * bool(text)


class _Kernel(Function):
    is_kernel = True
    program: Program

    def text(self) -> str:
        program = self.program
        parameters = ", ".join(map(program._declare, program.slots())) or "void"
        lines = [(self.origin.line(self.origin.tree), line) for line in self.declarations()]
        if program.checked:
            ids = ", ".join(f"(long)get_global_id({d})" for d in range(3))
            setup = f"struct usm_ck usm_ck_own = {{usm_record, 0, 0, {{{ids}}}}}, *usm_ck = &usm_ck_own;"
            lines.append((self.origin.line(self.origin.tree), setup))
        body = _render([*lines, *self.out], self.origin.filename)
        return f"kernel void {program.name}({parameters})\n{{\n{body}}}\n"


class Helper(Function):
    """A Python function that a kernel calls, for one set of argument types."""

    def __init__(
        self, program: Unit, function: FunctionType, origin: Origin, values: dict[str, Value]
    ) -> None:
        self.name = program.names.make(function.__name__, self)
        # Where an argument is, and its declaration.
        self._taken: list[tuple[tuple[Any, ...], Parameter, str]] = []
        inner = {name: self._own(name, value, (name,), program) for name, value in values.items()}
        super().__init__(program, function, origin, inner)

    def _own(self, name: str, value: Value, where: tuple[Any, ...], program: Unit) -> Value:
        """What the body sees for an argument."""
        if isinstance(value, Tuple):
            return Tuple(
                [self._own(f"{name}_{k}", item, (*where, k), program) for k, item in enumerate(value.items)]
            )
        if isinstance(value, Object) or (isinstance(value, Number) and value.constant):
            return value
        parameter = Parameter(program.names.make(name, (self, where)))
        if isinstance(value, Array):
            self._taken.append((where, parameter, ""))
            extents = tuple(e if e is not None and e.constant else None for e in value.extents)
            return Array(
                name, value.element, parameter.name, value.space, extents, value.contiguous, parameter
            )
        t = value.type
        number = Number(t, parameter.name, None, t.bits or 64, value.positive)
        if t == WEAK_INT:
            number.origin = parameter
            t = types.INT64
        elif t.weak:
            t = program.real if t.kind == "float" else types.complex_of(program.real)
        self._taken.append((where, parameter, f"{c_name(t)} {parameter.name}"))
        return number

    @property
    def parameters(self) -> list[Parameter]:
        """Of the arguments that are passed, in their order."""
        return [parameter for _, parameter, _ in self._taken]

    def _find(self, values: dict[str, Value], where: tuple[Any, ...]) -> Value:
        value = values[where[0]]
        for k in where[1:]:
            assert isinstance(value, Tuple)
            value = value.items[k]
        return value

    def write_call(self, body: Function, values: dict[str, Value], node: ast.Call) -> Value:
        texts = []
        for where, parameter, _ in self._taken:
            value = self._find(values, where)
            if isinstance(value, Number):
                if value.origin is not None:
                    value.origin.met |= parameter.met
                texts.append(value.text)
                continue
            assert isinstance(value, Array)
            if value.parameter is not None:
                value.parameter.written = value.parameter.written or parameter.written
            texts.append(f"{value.pointer} + {value.offset}" if value.offset else value.pointer)
            texts += [value.extent(axis).text for axis in sorted(parameter.extents)]
            texts += [value.stride(axis) for axis in sorted(parameter.strides)]
        for local, element, name, length in self.arrays:
            if local:
                own = body.fresh(name)
                body.arrays.append((True, element, own, length))
                texts.append(own)
        texts += ["usm_ck"] * bool(self.program.checked)
        body.called.append(self)
        body.waits = body.waits or self.waits
        text = f"{self.name}({', '.join(texts)})"
        if self.result is None:
            body.emit(f"{text};")
            return Object(None)
        kinds = self.result_types()
        if not isinstance(self.result, Tuple):
            return body.temp(known(kinds[0], text), copy=True)
        name = body.fresh("r")
        body.emit(f"const {self.program.record_name(self)} {name} = {text};")
        items: Iterator[Value] = iter([known(t, f"{name}.m{k}") for k, t in enumerate(kinds)])
        return filled(self.result, items)

    def text(self) -> str:
        program = self.program
        head, result = "", "void"
        if self.result is not None:
            names = [self.c_type(t) for t in self.result_types()]
            result = names[0]
            if isinstance(self.result, Tuple):
                result = program.record_name(self)
                members = " ".join(f"{t} m{k};" for k, t in enumerate(names))
                head = f"{result} {{ {members} }};\n"
        declared = []
        for where, parameter, text in self._taken:
            value = self._find(self.arguments, where)
            if not isinstance(value, Array):
                declared.append(text)
                continue
            space = "" if value.space == "private" else f"{value.space} "
            constant = "" if parameter.written else "const "
            declared.append(f"{space}{constant}{types.stored_name(value.element)} *{parameter.name}")
            declared += [f"long {extent_name(parameter, axis)}" for axis in sorted(parameter.extents)]
            declared += [f"long {stride_name(parameter, axis)}" for axis in sorted(parameter.strides)]
        declared += [
            f"local {'ushort' if element == 'float16' else types.stored_name(element)} *{name}"
            for local, element, name, _ in self.arrays
            if local
        ]
        declared += ["struct usm_ck *usm_ck"] * bool(program.checked)
        lines = [(self.origin.line(self.origin.tree), line) for line in self.declarations()]
        body = _render([*lines, *self.out], self.origin.filename)
        return f"{head}static inline {result} {self.name}({', '.join(declared) or 'void'})\n{{\n{body}}}\n"
