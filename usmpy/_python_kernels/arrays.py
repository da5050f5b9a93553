"""Arrays in Python kernels: the place of an element, rows, attributes, and arrays of the kernel's own."""

from __future__ import annotations

import ast
import math
from dataclasses import replace

import usmpy

from . import types
from .body import Body
from .c_text import bare, literal
from .types import FLOAT32, INT64, UINT64
from .values import Array, Number, Object, Tuple, Value, boolean, constant, describe, known, size


class Arrays(Body):
    """Subscripts and attributes of arrays, in one function."""

    def _Subscript(self, node: ast.Subscript) -> Value:
        value = self.value(node.value)
        if isinstance(value, Tuple):
            return self._item(self.frozen(value) if self.has_effects(node.slice) else value, node)
        if not isinstance(value, Array):
            self.refuse(node.value, f"{describe(value)} has no elements")
        indices = self.indices(node.slice)
        if len(indices) < value.ndim:
            return self._row(value, indices, node)
        return self.load(value, self.offset(value, indices, node))

    def _item(self, value: Value, node: ast.Subscript) -> Value:
        assert isinstance(value, Tuple)
        index, n = self.number(node.slice), len(value.items)
        if not index.type.whole:
            self.refuse(node.slice, f"{describe(index)} as the index of a tuple: an integer is allowed")
        if index.constant:
            if not -n <= index.value < n:
                self.refuse(node.slice, f"index {index.value} of a tuple of {n}")
            return value.items[int(index.value)]
        if not n:
            self.refuse(node, "an empty tuple has no items")
        index = self.temp(self.strong(index, node))
        *others, result = [self.as_number(item, node) for item in value.items]
        if self.program.checked:
            self.emit(f"{self.in_range(index, constant(n, INT64), 0, 'the tuple', node)};")
        for k, number in reversed([*enumerate(others)]):
            result = self.choose(boolean(f"({index.text} == {k})"), number, self.short(result), node)
        return result

    def indices(self, node: ast.expr) -> list[Number]:
        values = self.many(node.elts) if isinstance(node, ast.Tuple) else [self.value(node)]
        if len(values) == 1 and isinstance(values[0], Tuple):
            values = values[0].items
        found = [self.as_number(value, node) for value in values]
        for number in found:
            if not number.type.whole:
                self.refuse(node, f"{describe(number)} as an index: integers are allowed")
        return found

    def offset(self, array: Array, indices: list[Number], node: ast.AST, whole: bool = True) -> str:
        """The element's number from the pointer on; not whole: that of the first element of a row."""
        if len(indices) > array.ndim or (whole and len(indices) < array.ndim):
            dimensions = f"{array.ndim} dimension{'s' * (array.ndim != 1)}"
            given = f"{len(indices)} ind{'ices were' if len(indices) != 1 else 'ex was'} given"
            self.refuse(node, f"{array.name} has {dimensions}, {given}")
        texts, tests = [], []
        for axis, index in enumerate(indices):
            extent, given = array.extents[axis], index.value
            n = extent.value if extent is not None else None
            if index.constant and index.value < 0 and n is not None:
                index = constant(index.value + n, INT64)
            elif index.constant and index.value < 0:
                index = self.binary("+", array.extent(axis), constant(index.value), node)
            if index.constant and n is not None and not 0 <= index.value < n:
                self.refuse(node, f"index {given} of {array.name}, whose axis {axis} has {n}")
            number = self.cast(index, INT64, node) if index.type != UINT64 else index
            text = number.text if number.type == INT64 else f"((long){number.text})"
            if self.program.checked:
                number = self.temp(Number(INT64, text, number.value))
                text = number.text
                tests.append(self.in_range(number, array.extent(axis), axis, array.name, node))
            texts.append(text)
        if self.program.checked:
            self.ok = self.fresh("ok")
            self.emit(f"const bool {self.ok} = {' & '.join(tests) or '1'};")
        return self._sum(array, texts)

    def _sum(self, array: Array, texts: list[str]) -> str:
        terms = [array.offset] if array.offset else []
        if array.contiguous:
            found = ""
            for axis in range(array.ndim):
                part = texts[axis] if axis < len(texts) else ""
                if found:
                    scaled = f"({found})" if " " in found else found
                    part = f"{scaled} * {array.extent(axis).text}" + (f" + {part}" if part else "")
                found = part
            terms += [found] if found else []
        else:
            terms += [f"{text} * {array.stride(axis)}" for axis, text in enumerate(texts)]
        return " + ".join(terms) or "0"

    def _row(self, array: Array, indices: list[Number], node: ast.AST) -> Array:
        offset = self.temp(Number(INT64, self.offset(array, indices, node, False))).text
        n, extents = len(indices), array.extents[len(indices) :]
        if self.program.checked:  # a row that does not exist has no elements
            kept = [array.extent(axis).text for axis in range(n, array.ndim)]
            extents = tuple(self.temp(size(f"({self.ok} ? {text} : 0)")) for text in kept)
        return replace(array, extents=extents, first=array.first + n, offset=offset)

    def place(self, array: Array, index_node: ast.expr, node: ast.AST) -> str:
        """The offset of an element that is written."""
        offset = self.offset(array, self.indices(index_node), node)
        if array.parameter is not None:
            array.parameter.written = True
        return offset

    def load(self, array: Array, offset: str) -> Number:
        t = types.ELEMENTS[array.element]
        text = f"{array.pointer}[{offset}]"
        if array.element == "bool":
            text = f"({text} != 0)"
        elif array.element == "float16":
            text = f"vload_half({offset}, {array.pointer})"
        elif array.element == "bfloat16":
            text = f"as_float((uint){text} << 16)"
        if self.program.checked:
            return self.temp(known(t, f"({self.ok} ? {text} : {literal(0, t)})"))
        return known(t, text)

    def write(self, array: Array, offset: str, value: Number, node: ast.AST, shown: str) -> None:
        """Assigns an element. shown: the target, for messages."""
        text = self.stored(value, array.element, node, shown)
        statement = f"{array.pointer}[{offset}] = {bare(text)};"
        if array.element == "float16":
            statement = f"vstore_half({text}, {offset}, {array.pointer});"
        elif array.element == "bfloat16":
            statement = f"{array.pointer}[{offset}] = {self.need('bfloat16', FLOAT32)}({text});"
        self.guarded(statement)

    def kept(self, number: Number) -> Number:
        """The result of a call with an effect, at once."""
        if self.program.checked:
            number = replace(number, text=f"({self.ok} ? {number.text} : {literal(0, number.type)})")
        return self.temp(number, copy=True)

    def guarded(self, statement: str) -> None:
        """In a checked kernel, only if the last place is in range."""
        self.emit(f"if ({self.ok}) {{ {statement} }}" if self.program.checked else statement)

    def declare_array(self, local: bool, element: str, extents: list[int]) -> Array:
        space = "local" if local else "private"
        name = self.fresh(space)
        self.arrays.append((local, element, name, math.prod(extents)))
        sizes = tuple(constant(extent, INT64) for extent in extents)
        pointer = f"(({'local ' * local}half *){name})" if element == "float16" else name
        return Array(f"the {space} array", element, pointer, space, sizes, True)

    def array_attribute(self, array: Array, name: str, node: ast.Attribute) -> Value:
        extents = range(array.ndim)
        if name == "ndim":
            return constant(array.ndim)
        if name == "shape":
            return Tuple([array.extent(axis) for axis in extents])
        if name == "strides":
            return Tuple([self._stride(array, axis, node) for axis in extents])
        if name == "size":
            return self._product([array.extent(axis) for axis in extents], node)
        if name == "dtype":
            return Object(getattr(usmpy, array.element))
        self.refuse(node, f"arrays have shape, strides, size, ndim and dtype in a kernel, not {name}")

    def _stride(self, array: Array, axis: int, node: ast.AST) -> Number:
        """In elements, as USMArray.strides."""
        if not array.contiguous:
            return known(INT64, array.stride(axis))
        return self._product([array.extent(inner) for inner in range(axis + 1, array.ndim)], node)

    def _product(self, extents: list[Number], node: ast.AST) -> Number:
        product = constant(1, INT64)
        for k, extent in enumerate(extents):
            product = self.binary("*", product, extent, node) if k else extent
        return replace(product, positive=True)
