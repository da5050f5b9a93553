"""The stub of the extension, usmpy/_core.pyi, out of csrc/py/stubs: types, docstrings and parameters.

python csrc/py/stub.py FILE     writes it to FILE; the build does, and puts it beside the extension

Each file of csrc/py/stubs is a stub of one subject, which imports what it uses of the others. In the result,
these imports are left out and all others stand at the top. The elementwise functions and the operators of
USMArray are those of the table in csrc/kernels/operations.py.
"""

import ast
import runpy
import sys
from pathlib import Path

CSRC = Path(__file__).resolve().parents[1]
STUBS = CSRC / "py" / "stubs"
OPERATORS = "    # The build puts the operators of csrc/kernels/operations.py here.\n"
# Classes of results, which the package has no names for.
NOT_EXPORTED = {"BoundKernel", "Flags", "FloatLimits", "IntegerLimits"}
HEAD = '"""Types of the extension. Written by csrc/py/stub.py; csrc/py/stubs has the sources."""\n'


def parts_of(path):
    """(imports that other files do not serve, as (module or None, name); the text below the imports)."""
    text = path.read_text(encoding="utf-8")
    imports, last = set(), 0
    for node in ast.parse(text, str(path)).body:
        if isinstance(node, ast.Import):
            imports |= {(None, ast.unparse(alias)) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imports |= {(node.module.replace("usmpy.", "."), ast.unparse(alias)) for alias in node.names}
        elif not isinstance(node, (ast.ImportFrom, ast.Expr)):  # below the docstring and the imports
            break
        last = node.end_lineno
    return imports, "".join(text.splitlines(keepends=True)[last:]).strip("\n")


def import_lines(imports):
    yield from sorted(f"import {name}" for module, name in imports if module is None)
    for module in sorted({module for module, _ in imports if module is not None}):
        names = ", ".join(sorted(name for of, name in imports if of == module))
        yield f"from {module} import {names}"


def names_of(text):
    """What it defines."""
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def public_names(text):
    """What a module exports, in order."""
    names = {*names_of(text)} - NOT_EXPORTED
    return sorted(name for name in names if name[0] != "_" or name.startswith("__"))


def stub():
    table = runpy.run_path(str(CSRC / "kernels" / "operations.py"))
    imports, texts, homes = set(), [], {}
    for path in sorted(STUBS.glob("*.pyi")):
        more, text = parts_of(path)
        for name in names_of(text):
            if homes.setdefault(name, path) != path:
                raise SystemExit(f"usmpy: {path} defines {name}, and so does {homes[name]}")
        imports |= more
        texts.append(text)
    texts += map(table["stub"], table["OPERATIONS"])
    text = "\n\n".join(texts)
    if text.count(OPERATORS) != 1:
        raise SystemExit(f"usmpy: one file of csrc/py/stubs must have the line {OPERATORS.strip()!r}")
    names = "".join(f'    "{name}",\n' for name in public_names(text))
    head = "\n".join([HEAD, *import_lines(imports), f"\n__all__ = [\n{names}]"])
    return f"{head}\n\n{text.replace(OPERATORS, table['operators']())}"


def write(path, text):
    """Writes a file, unless it is as it ought to be: what is made of it is made again only after a change."""
    path = Path(path)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1], stub())
