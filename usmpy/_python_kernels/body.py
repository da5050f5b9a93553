"""One function while it is compiled: the lines in C, the names that it has given, and values of nodes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from . import calls, functions, types
from .arithmetic import Arithmetic
from .c_text import bare, c_name, quoted
from .scope import MISSING, attribute, dtype_of, find_name, get, number_of, wrap
from .types import Type
from .values import Array, Number, Object, Tuple, Value, describe

if TYPE_CHECKING:
    from .program import Unit

_FILE = 150  # bytes of a file's name that errors show
_LONG = 300  # characters of an expression, from which on it gets a name

Lines = list[tuple[int, str]]  # with the number of the Python file's line
Names = frozenset[str] | None  # that have a value; None: no way leads here
_Read = TypeVar("_Read", Number, Value)


class Body(Arithmetic):
    """One function, for one set of argument types. Subclasses have methods for each class of nodes.

    It is compiled several times, until the types of its variables do not change.
    """

    def __init__(self, program: Unit, function: FunctionType, values: dict[str, Value]) -> None:
        self.program, self.function, self.origin = program, function, program.origin(function)
        self.real, self.line, self.arguments = program.real, self.origin.first, values
        self.refuse = self.origin.refuse
        self.variables: dict[str, Number] = {}  # of the promotion of all types that are assigned
        self.first_sites: dict[str, ast.AST] = {}  # of the assignments
        self.grown = Counter[str]()
        self.reset()

    def reset(self) -> None:
        """Before each compilation."""
        self.changed = False
        self.out: Lines = []
        self.static: dict[str, Value] = {}
        self.assigned: Names = frozenset(self.arguments)
        self.count = 0
        self.arrays: list[tuple[bool, str, str, int]] = []  # local or private, element, name, length
        self.called: list[Any] = []
        self.needed: set[tuple[str, Type]] = set()
        self.ok = ""  # in checked kernels, the name of the test of the last place
        self.waits = False

    # Output

    def emit(self, text: str) -> None:
        self.out.append((self.line, text))

    def fresh(self, stem: str) -> str:
        self.count += 1
        return self.program.names.make(f"{stem}{self.count}", (self, "fresh"))

    def need(self, part: str, number: Type) -> str:
        part = f"{part}_real" if number.kind == "float" and part in ("floordiv", "mod") else part
        self.needed.add((part, number))
        return f"usm_{part}_{c_name(number)}"

    def temp(self, number: Number, copy: bool = False) -> Number:
        """The number with a name, so that it may be written twice; a copy: it does not change later."""
        if number.constant or (number.simple and not copy):
            return number
        name = self.fresh("t")
        self.emit(f"const {self.c_type(number.type)} {name} = {bare(number.text)};")
        return Number(number.type, name, None, number.bits, number.positive, number.origin)

    def short(self, number: Number) -> Number:
        """The number, with a name if its text is long: compilers limit how deep brackets are nested."""
        return self.temp(number) if len(number.text) > _LONG else number

    def c_type(self, number: Type) -> str:
        return c_name(types.strong(number, self.real))

    def captured(self, read: Callable[[ast.expr], _Read], node: ast.expr) -> tuple[_Read, Lines]:
        """What is read from a node, and the lines that this emits, which are kept apart."""
        kept, self.out = self.out, []
        found = read(node)
        lines, self.out = self.out, kept
        return found, lines

    # Checked kernels

    def fail_if(self, node: ast.AST, test: str) -> None:
        if self.program.checked:
            self.fail(test, 2, self.origin.line(node))

    def fail(self, test: str, reason: int, line: int, words: str = "") -> None:
        self.emit(f"if ({test}) usm_ck_fail(usm_ck, {reason}, -1, 0, 0, 0, {line}, {self._where(words)});")

    def in_range(self, index: Number, extent: Number, axis: int, name: str, node: ast.AST) -> str:
        """A test that keeps the first failure."""
        number = f"{index.text}, (ulong){extent.text}, {axis}"
        return f"usm_ck_in(usm_ck, {number}, {self.origin.line(node)}, {self._where(name)})"

    def _where(self, words: str) -> str:
        """The last argument of usm_ck_fail: what is wrong, and the file. The record keeps 255 bytes of it."""
        file = self.origin.filename.replace("|", " ").encode()[-_FILE:].decode(errors="ignore")
        words = words.encode(errors="replace")[: 254 - len(file.encode())].decode(errors="ignore")
        return quoted(f"{words}|{file}".replace("\n", " ").replace("\0", " "))

    def wait(self, barrier: bool, text: str, node: ast.AST) -> None:
        self.waits = self.waits or barrier
        if barrier and self.program.checked == "host":  # which alone can tell who does not reach it
            line = self.origin.line(node)
            self.fail(f"usm_ck_wait{text[len('barrier') : -2]}, {line})", 3, line)
        else:
            self.emit(text)

    # Values

    def read(self, name: str) -> Value | None:
        """What was assigned to a name."""
        return self.static.get(name) or self.variables.get(name)

    def visit(self, node: ast.AST) -> Any:
        """What the method for nodes of this class returns."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None:
            self.refuse(node, f"{type(node).__name__}: not in the language of kernels")
        return method(node)

    def value(self, node: ast.expr) -> Value:
        found: Value = self.visit(node)
        return self.short(found) if isinstance(found, Number) else found

    def number(self, node: ast.expr) -> Number:
        return self.as_number(self.value(node), node)

    def as_number(self, value: Value, node: ast.AST) -> Number:
        number = number_of(value)
        if number is None:
            hint = ""
            if isinstance(value, Array):
                hint = ": write x[i]" if value.ndim else ": write x[()]"
            self.refuse(node, f"{describe(value)} where a number is allowed{hint}")
        return number

    def text_or_value(self, node: ast.expr) -> Value:
        """A text, which is allowed in a few places, or any other value."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Object(node.value)
        return self.value(node)

    def wrapped(self, value: Any, node: ast.AST) -> Value:
        found = wrap(value)
        if isinstance(found, str):
            self.refuse(node, found)
        return found

    def raw(self, node: ast.expr) -> Any:
        """The Python object of a dotted name that is not of the function's own; else MISSING."""
        if isinstance(node, ast.Name):
            if node.id in self.origin.sites:
                static = self.static.get(node.id, self.arguments.get(node.id))
                return static.value if isinstance(static, Object) else MISSING
            return find_name(self.function, node.id)
        if isinstance(node, ast.Attribute):
            base = self.raw(node.value)
            return MISSING if base is MISSING else attribute(base, node.attr)
        return MISSING

    # The order of evaluation

    def has_effects(self, node: ast.AST) -> bool:
        """Whether evaluating it may change what other expressions read."""
        return any(self._is_effect(inner.func) for inner in ast.walk(node) if isinstance(inner, ast.Call))

    def _is_effect(self, node: ast.expr) -> bool:
        function = self.raw(node)
        if function is MISSING or functions.find(function) or dtype_of(function):
            return bool(get(function, "__name__") == "print")
        return not calls.is_pure(function)

    def many(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Values from left to right: what is read before a call is not changed by it."""
        effects, values = [*map(self.has_effects, nodes[1:])], []  # of those behind each node
        for k, node in enumerate(nodes):
            value = self.value(node)
            values.append(self.frozen(value) if any(effects[k:]) else value)
        return values

    def frozen(self, value: Value, copy: bool = False) -> Value:
        """The value, which nothing that comes later changes; a copy: assignments neither."""
        if isinstance(value, Tuple):
            return Tuple([self.frozen(item, copy) for item in value.items])
        return self.temp(value, copy) if isinstance(value, Number) else value
