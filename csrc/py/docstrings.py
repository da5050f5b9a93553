"""The docstrings of usmpy/_core.pyi as C macros: what setup.py writes for csrc/py to include.

python csrc/py/docstrings.py FILE     writes docstrings.h to FILE

Docstrings are written in the stub alone. The one of `Queue.wait` becomes USMPY_DOC_Queue_wait. The text of
functions, methods and classes begins with the signature that `inspect` reads, made from the parameters
and defaults in the stub. Of overloads, the first one has the docstring.
"""

import ast
import inspect
import sys
from pathlib import Path

STUB = Path(__file__).resolve().parents[2] / "usmpy" / "_core.pyi"


def text_signature(function, name, owner):
    """Such as `wait($self, timeout=None)`, as CPython's own functions have it."""
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    arguments = function.args
    for group in (arguments.posonlyargs, arguments.args, arguments.kwonlyargs):
        for argument in group:
            argument.annotation = None
    for argument in (arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    text = ast.unparse(arguments)
    if owner and function.name == "__new__":
        text = text.removeprefix("cls").removeprefix(", ")
    elif owner:
        text = ("$type" if "classmethod" in decorators else "$self") + text.removeprefix("self").removeprefix(
            "cls"
        )
    return f"{name}({text})"


def docstrings(tree, owner=""):
    """(macro, text) of each docstring below a class or the module."""
    previous = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            is_property = any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)
            signature = "" if is_property else text_signature(node, node.name, owner) + "\n--\n\n"
            yield f"{owner}{node.name}", signature + text
        elif isinstance(node, ast.ClassDef) and not owner:
            if text := ast.get_docstring(node):
                made = [
                    new for new in node.body if isinstance(new, ast.FunctionDef) and new.name == "__new__"
                ]
                signature = text_signature(made[0], node.name, node.name) + "\n--\n\n" if made else ""
                yield node.name, signature + text
            yield from docstrings(node, f"{node.name}_")
        elif isinstance(previous, ast.AnnAssign) and isinstance(node, ast.Expr):
            yield f"{owner}{previous.target.id}", inspect.cleandoc(node.value.value)
        previous = node


def literal(text):
    """A C string literal, a line of text a line."""
    lines = [line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") for line in text.split("\n")]
    return '"' + '\\n" \\\n    "'.join(lines) + '"'


def c_header():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    macros = [f"#define USMPY_DOC_{name} \\\n    {literal(text)}\n" for name, text in docstrings(tree)]
    head = "/* Written by csrc/py/docstrings.py from usmpy/_core.pyi. */\n#ifndef USMPY_DOCSTRINGS_H\n"
    return f"{head}#define USMPY_DOCSTRINGS_H\n\n{''.join(macros)}\n#endif\n"


def write(path):
    """Writes the header, unless it is as it ought to be: sources are compiled again only after a change."""
    path, text = Path(path), c_header()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
