"""Assignments in Python kernels: variables and their types, names of constants, and stores into arrays."""

from __future__ import annotations

import ast
from dataclasses import replace

from . import types
from .arithmetic import sign_of
from .c_text import bare
from .expressions import Expressions
from .types import INT64, promote
from .values import UNKNOWN, Array, Number, Tuple, Value, alike, describe, known


class Assignments(Expressions):
    """Statements that give names and elements a value, in one function."""

    def assign_name(self, name: str, value: Value, node: ast.AST, alias: bool = False) -> None:
        root = name.partition(".")[0]
        single = self.origin.sites.get(root, 2) == 1
        if alias and single:
            self.static[name] = value
        elif isinstance(value, Tuple):
            parts = [f"{name}.{k}" for k in range(len(value.items))]
            for part, item in zip(parts, value.items, strict=True):
                self.assign_name(part, item, node)
            self._keep(name, Tuple([v for part in parts if (v := self.read(part)) is not None]), node, single)
        elif isinstance(value, Number) and not (value.constant and single):
            if self.static.pop(name, None) is not None and not single:
                self._refuse_other(root, value, node)
            self._variable(name, value, node)
        else:
            if isinstance(value, Array) and value.offset:
                value = self._kept_row(name, value, node)
            self._keep(name, value, node, single)
        if self.assigned is not None:
            self.assigned |= {name}

    def _kept_row(self, name: str, row: Array, node: ast.AST) -> Array:
        """The row, whose place and sizes the name keeps."""
        offset = self._variable(f"{name}.place", known(INT64, row.offset), node).text
        extents = list(row.extents)
        for k, n in enumerate(row.extents):
            if n is not None and not n.constant:
                extents[k] = self._variable(f"{name}.n{k}", n, node)
        return replace(row, offset=offset, extents=tuple(extents))

    def _refuse_other(self, name: str, value: Value, node: ast.AST) -> None:
        here = f"and is {describe(value)} here: use another name"
        self.refuse(node, f"{name} was something else before, {here}")

    def _keep(self, name: str, value: Value, node: ast.AST, single: bool) -> None:
        """A name for what is no variable in C. Each round of an unrolled loop may give it another meaning."""
        old = self.static.get(name)
        if not single and (name in self.variables or (old is not None and not alike(old, value))):
            self._refuse_other(name, value, node)
        self.static[name] = value

    def _variable(self, name: str, value: Number, node: ast.AST) -> Number:
        text = self.widen(name, value, node)
        variable = self.variables[name]
        self.emit(f"{variable.text} = {text};")
        return variable

    def widen(self, name: str, value: Number, node: ast.AST) -> str:
        """Widens the variable's type; the text to assign."""
        old = self.variables.get(name)
        if old is None:
            self.first_sites[name], self.changed = node, True
            text = self.program.names.make(name.replace(".", "_"), self)
            old = Number(value.type, text, None, value.bits, value.positive)
        t = promote(old.type, value.type, self.real)
        if t is None:
            first = self.first_sites[name]
            before = f"{name} is {old.type} at line {self.origin.line(first)}, and {value.type} here"
            hint = "they have no common type; cast one, such as usmpy.int64(...)"
            self.refuse(node, f"{before}: {hint}\n{self.origin.message(first, f'{old.type} here')}")
        new = replace(old, type=t, bits=max(old.bits, value.bits), positive=old.positive and value.positive)
        if new != old:
            self.grown[name] += 1
            if self.grown[name] > 4:
                new = replace(new, bits=UNKNOWN, positive=False)
            self.changed = self.changed or new != old
        self.variables[name] = new
        return bare(self.cast(value, types.strong(t, self.real), node).text)

    def _Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        if isinstance(value, Tuple):
            value = self.frozen(value, copy=True)  # the assignments do not change one another's values
        elif len(node.targets) > 1 and isinstance(value, Number):
            value = self.temp(value)
        for target in node.targets:
            self.store(target, value, node)

    def _AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.store(node.target, self.value(node.value), node)

    def store(self, target: ast.expr, value: Value, node: ast.AST, alias: bool = False) -> None:
        """alias: names that nothing else assigns are the value itself."""
        if isinstance(target, ast.Name):
            self.assign_name(target.id, value, node, alias)
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, Tuple) or len(value.items) != len(target.elts):
                self.refuse(target, f"{len(target.elts)} names for {describe(value)}")
            for inner, item in zip(target.elts, value.items, strict=True):
                self.store(inner, item, node, alias)
        elif isinstance(target, ast.Subscript):
            if isinstance(value, Number) and (self.has_effects(target) or self.program.checked):
                value = self.temp(value)
            array = self._target(target)
            offset = self.place(array, target.slice, target)
            number = self.as_number(value, getattr(node, "value", node))
            self.write(array, offset, number, node, ast.unparse(target))
        else:
            self.refuse(target, f"{ast.unparse(target)}: names, x[i] and tuples of them can be assigned")

    def _target(self, target: ast.Subscript) -> Array:
        array = self.value(target.value)
        if not isinstance(array, Array):
            self.refuse(target.value, f"{describe(array)}: elements of arrays can be assigned")
        return array

    def _AugAssign(self, node: ast.AugAssign) -> None:
        sign, target = sign_of(node.op), node.target
        if isinstance(target, ast.Name):
            read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            joined = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            self.assign_name(target.id, self.value(joined), node)
            return
        if not isinstance(target, ast.Subscript):
            self.refuse(target, f"{ast.unparse(target)}: names and x[i] can be assigned")
        array = self._target(target)
        offset = self.temp(known(INT64, self.place(array, target.slice, target))).text
        ok, old = self.ok, self.load(array, offset)
        if self.has_effects(node.value):
            old = self.temp(old)
        result = self.binary(sign, old, self.number(node.value), node)
        self.ok = ok
        self.write(array, offset, result, node, ast.unparse(target))
