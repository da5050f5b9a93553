"""The source of a Python function: its syntax tree, what the language refuses, and messages with a caret."""

from __future__ import annotations

import ast
import inspect
import warnings
from collections import Counter
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import NoReturn

from ..errors import BuildError

# Of classes of nodes that the language does not have: what to write instead.
_REFUSED = """
Match = match: write if and elif
Try = try: kernels raise nothing; test the values with if
Raise = raise: kernels raise nothing; write assert, which check=True looks at
With = with: kernels have no context managers
AsyncFunctionDef = an asynchronous function: write def
AsyncFor = async for: write for
AsyncWith = async with: kernels have no context managers
Await = await: kernels have no coroutines
Yield YieldFrom = yield: a kernel is no generator; store the values in an array
FunctionDef = a function in a function: define it outside of the kernel, and call it
Lambda = lambda: define a function outside of the kernel, and call it
ClassDef = a class in a kernel: pass its values as arguments
Global = global: globals are constants in a kernel; pass an array to write to
Nonlocal = nonlocal: variables of outer functions are constants; pass an array to write to
Import ImportFrom = import in a kernel: import outside of the kernel
Delete = del: kernels have no objects to delete; leave it out
List = a list: write a tuple, or private_array(shape, dtype)
Set = a set: write a tuple, or private_array(shape, dtype)
Dict = a dict: write variables or tuples
ListComp = a list: write a loop, and private_array(shape, dtype)
SetComp = a set: write a loop, and private_array(shape, dtype)
DictComp = a dict: write a loop, and private_array(shape, dtype)
GeneratorExp = a generator: write a loop
NamedExpr = ':=': assign in a statement of its own
JoinedStr = an f-string: give print the values, print('i =', i)
Starred = '*': write the values one by one
Slice = a slice: write a loop over the indices
MatMult = '@': write a loop over the products
In = 'in': compare with each value
NotIn = 'not in': compare with each value
TryStar = TryStar: not in the language of kernels
TypeAlias = TypeAlias: not in the language of kernels
TemplateStr = TemplateStr: not in the language of kernels
"""
_ROWS = [row.split(" = ", 1) for row in _REFUSED.strip().splitlines()]
_INSTEAD = {name: text for names, text in _ROWS for name in names.split()}
_CHANGED = "the file has changed; import it anew"


class Origin:
    """Where a function comes from: the file, its lines, and its syntax tree with the file's line numbers."""

    def __init__(self, function: FunctionType) -> None:
        self.name = function.__name__
        self.filename = function.__code__.co_filename
        unknown = f"{self.name} does not build: its source is not known; write def in a file or a cell"
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise BuildError(unknown) from None
        self.first = max(first, 1)
        self._lines = "".join(lines).splitlines()
        try:
            parsed = _parsed(lines)
        except (SyntaxError, LookupError):  # a lambda in the middle of an expression
            parsed = ast.Pass(lineno=1, col_offset=0)
        own = function.__code__.co_name
        if getattr(parsed, "name", "") != own and self.filename == "<string>":  # of exec() or another's
            raise BuildError(unknown)
        if own == "<lambda>" or isinstance(parsed, ast.AsyncFunctionDef):
            self.refuse(parsed, _INSTEAD["Lambda" if own == "<lambda>" else "AsyncFunctionDef"])
        if not isinstance(parsed, ast.FunctionDef) or parsed.name != own:
            replaced = hasattr(function, "__wrapped__") and isinstance(parsed, ast.FunctionDef)
            why = "a decorator has replaced this function: write the kernel's decorator below it"
            self.refuse(parsed, why if replaced else f"this is not {own}: {_CHANGED}")
        self.tree = parsed
        self._check()
        self._check_source(function)
        self.sites = _count_sites(parsed)

    def line(self, node: ast.AST) -> int:
        """The line in the file."""
        return self.first + int(getattr(node, "lineno", 1)) - 1

    def message(self, node: ast.AST, text: str) -> str:
        text, *more = text.split("\n", 1)  # another place goes behind this one
        at = getattr(node, "lineno", 1)
        line = self._lines[at - 1] if at <= len(self._lines) else ""
        start, stop = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", None)
        if stop is None or getattr(node, "end_lineno", at) != at:
            stop = len(line.encode())
        before = len(line.encode()[:start].decode("utf-8", "replace"))
        width = max(1, len(line.encode()[start:stop].decode("utf-8", "replace")))
        shown = line.lstrip()
        caret = " " * (before - (len(line) - len(shown))) + "^" + "~" * (width - 1)
        where = f"{self.filename}:{self.line(node)}:{before + 1}"
        return "\n".join([f"{where}: {text}", f"    {shown}", f"    {caret.rstrip()}", *more])

    def refuse(self, node: ast.AST, text: str, kind: Callable[[str], Exception] | None = None) -> NoReturn:
        raise (kind or BuildError)(f"{self.name} does not build: {self.message(node, text)}") from None

    def _check_source(self, function: FunctionType) -> None:
        """Refuses a file that has changed since it was imported. pytest may have added to the function."""
        alone = ast.FunctionDef(**{**vars(self.tree), "decorator_list": []})
        with warnings.catch_warnings():  # Python has given them
            warnings.simplefilter("ignore")
            module = compile(ast.Module([alone], []), self.filename, "exec", dont_inherit=True)
        now = next((c for c in module.co_consts if isinstance(c, CodeType)), None)
        own = function.__code__
        same = now is not None and now.co_varnames[: now.co_argcount] == own.co_varnames[: now.co_argcount]
        if now is None or not same or not _marks(now) <= _marks(own):
            self.refuse(self.tree, _CHANGED)

    def _check(self) -> None:
        """Refuses what needs neither types nor names."""
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg:
            self.refuse(arguments.vararg or arguments.kwarg or self.tree, "'*': name each argument")
        for first in [*arguments.posonlyargs, *arguments.args][:1]:
            if first.arg in ("self", "cls"):
                self.refuse(first, f"{first.arg}: kernels have no objects; use @staticmethod")
        for statement in self.tree.body:
            for node in ast.walk(statement):
                self._check_node(node)

    def _check_node(self, node: ast.AST) -> None:
        for inner in (node, *ast.iter_child_nodes(node)):
            found = (
                _INSTEAD.get(type(inner).__name__) if inner is node or not hasattr(inner, "lineno") else None
            )
            if found is not None and hasattr(node, "lineno"):  # an operator has no place of its own
                self.refuse(node, found)
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            word = "for" if isinstance(node, ast.For) else "while"
            instead = "set a variable before break, and test it after the loop"
            self.refuse(node.orelse[0], f"{word} ... else: {instead}")
        if isinstance(node, ast.Compare):
            values = [node.left, *node.comparators]
            for k, sign in enumerate(node.ops):
                nones = [isinstance(v, ast.Constant) and v.value is None for v in values[k : k + 2]]
                if isinstance(sign, (ast.Is, ast.IsNot)) and not any(nones):
                    self.refuse(node, "'is' is for None: write ==")
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
            self.refuse(node, "bytes: kernels have numbers")
        if isinstance(node, ast.keyword) and node.arg is None:
            self.refuse(node.value, "'**': name each argument")


def _parsed(lines: list[str]) -> ast.stmt:
    """The statement in these lines, which may be indented."""
    if not lines[0][:1].isspace():
        return ast.parse("".join(lines)).body[0]
    block = ast.parse("if 1:\n" + "".join(lines)).body[0]
    assert isinstance(block, ast.If)
    ast.increment_lineno(block, -1)
    return block.body[0]


def _breaks_from(node: ast.AST) -> bool:
    """Whether it is a loop over a tuple that break may leave, so that names differ after its rounds."""
    if not isinstance(node, ast.For) or ast.unparse(node.iter).startswith("range("):
        return False
    return any(isinstance(inner, ast.Break) for inner in ast.walk(node))


def _marks(code: CodeType) -> set[object]:
    """Names and constants of a function."""
    names = {*code.co_names, *code.co_freevars, *code.co_varnames, *code.co_cellvars}
    names = {name.lstrip("_").rpartition("__")[2] for name in names}  # classes change private names
    return names | {(type(c), repr(c)) for c in code.co_consts if not isinstance(c, CodeType)}


def _names_in(tree: ast.AST) -> list[ast.Name]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _count_sites(tree: ast.FunctionDef) -> dict[str, int]:
    """How many places give each of the function's own names a value."""
    arguments = tree.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.append(node.id)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names.append(node.target.id)
            if _breaks_from(node):
                inside, everywhere = map(_names_in, (node, tree))
                outside = {n.id for n in everywhere if n not in inside}
                names += [n.id for n in inside if isinstance(n.ctx, ast.Store) and n.id in outside]
    return Counter(names)
