"""The docstrings and signatures of the stub as C macros: what the build writes for csrc/py to include.

python csrc/py/docstrings.py FILE     writes docstrings.h to FILE, from _core.pyi beside it (csrc/py/stub.py)

Docstrings and parameters are written in csrc/py/stubs alone. The docstring of `Queue.wait` becomes
USMPY_DOC_Queue_wait, and its parameters USMPY_SIGNATURE_Queue_wait, a usmpy_signature (csrc/py/args.h).
The text of functions, methods and classes begins with the signature that `inspect` reads, made from the
parameters and defaults in the stub. Of overloads, the one with the docstring has the parameters.
USMPY_PUBLIC_NAMES are the names of the stub's __all__, between commas.
"""

import ast
import inspect
import sys
from pathlib import Path


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


def is_property(function):
    return any(ast.unparse(decorator) == "property" for decorator in function.decorator_list)


def docstrings(tree, owner=""):
    """(macro, text) of each docstring below a class or the module."""
    previous = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            signature = "" if is_property(node) else text_signature(node, node.name, owner) + "\n--\n\n"
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


def parameters(function, name, owner):
    """A usmpy_signature as a C initializer: usmpy_parse reads the same parameters as `inspect`."""
    arguments = function.args
    given = arguments.posonlyargs + arguments.args
    n_only = len(arguments.posonlyargs)
    if owner:  # self or cls
        given, n_only = given[1:], max(n_only - 1, 0)
    required = str(len(given) - len(arguments.defaults))
    for i, default in enumerate(arguments.kw_defaults):
        if default is None:
            required += f" | USMPY_AND({len(given) + i})"
    names = [f"USMPY_{argument.arg}" for argument in given + arguments.kwonlyargs] or ["0"]
    n = len(given) + len(arguments.kwonlyargs)
    return f'{{"{name}", {n}, {len(given)}, {n_only}, {required}, {{{", ".join(names)}}}}}'


def signatures(tree, owner=""):
    """(macro, initializer) of each function and method, under the names of their docstrings."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from signatures(node, node.name)
        elif not isinstance(node, ast.FunctionDef) or is_property(node):
            continue
        elif owner and node.name == "__new__":
            yield owner, parameters(node, owner, owner)
        elif ast.get_docstring(node):
            name = f"{owner}_{node.name}" if owner else node.name
            yield name, parameters(node, node.name, owner)


def literal(text):
    """A C string literal, a line of text a line."""
    lines = [line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") for line in text.split("\n")]
    return '"' + '\\n" \\\n    "'.join(lines) + '"'


def c_header(stub):
    """The header, of the text of the stub."""
    tree = ast.parse(stub)
    macros = [f"#define USMPY_DOC_{name} \\\n    {literal(text)}\n" for name, text in docstrings(tree)]
    macros += [f"#define USMPY_SIGNATURE_{name} \\\n    {text}\n" for name, text in signatures(tree)]
    (names,) = (node.value for node in tree.body if isinstance(node, ast.Assign))  # __all__
    listed = ", ".join(f'"{name}"' for name in ast.literal_eval(names))
    macros.append(f"#define USMPY_PUBLIC_NAMES {listed}\n")
    head = "/* Written by csrc/py/docstrings.py from _core.pyi. */\n#ifndef USMPY_DOCSTRINGS_H\n"
    return f"{head}#define USMPY_DOCSTRINGS_H\n\n{''.join(macros)}\n#endif\n"


def write(path):
    """Writes the header, unless it is as it ought to be: sources are compiled again only after a change."""
    path = Path(path)
    text = c_header(path.with_name("_core.pyi").read_text(encoding="utf-8"))
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
