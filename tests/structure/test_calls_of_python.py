"""What C calls of the package's Python part: the table of csrc/README.md is complete."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PY = ROOT / "csrc" / "py"
pytestmark = pytest.mark.not_sanitized("it reads sources")

# A module of the package, and what follows: a name, or the variable or macro parameter that has it.
MODULE = re.compile(r'"(usmpy(?:\.\w+)*)"(?:,\s*("?)([a-zA-Z_][\w.\[\]]*))?')
METHOD = re.compile(r'PyObject_CallMethod(?:NoArgs|OneArg|ObjArgs)?\([^;]*?"(_(?!_)\w+)"')
OF_SYCL = {"_get_capsule"}  # a method of dpctl's queues


def called(text):
    """The functions and methods of the package that C source calls."""
    found = {f".{name}" for name in METHOD.findall(text) if name not in OF_SYCL}
    for module, quote, name in MODULE.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        path = ROOT / module.replace(".", "/")
        if not (path.is_dir() or path.with_suffix(".py").is_file()) or (module == "usmpy" and not quote):
            continue  # the name of a type or a capsule, or a text
        members = vars(importlib.import_module(module))
        names = {name} if quote or name in members else set(re.findall(r'"(?!__)(\w+)"', text)) & set(members)
        found |= {f"{module}.{name}".removeprefix("usmpy.") for name in names or {"?"}}
    return found


def listed():
    """(function, file) of each row."""
    text = (ROOT / "csrc" / "README.md").read_text(encoding="utf-8").partition("## Calls of Python")[2]
    rows = re.findall(r"^\| (`.+?) \| `(.+?)` \| \S.* \|$", text.partition("\n## ")[0], flags=re.M)
    return sorted((name, file) for names, file in rows for name in re.findall(r"`([\w.]+)`", names))


def test_the_table_lists_every_call():
    sources = sorted(path for kind in ("*.c", "*.h") for path in PY.rglob(kind))
    found = [(name, str(path.relative_to(PY))) for path in sources for name in called(path.read_text())]
    assert len(found) > 30
    assert sorted(found) == listed()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('usmpy_call("usmpy._arrays.objects", "shown", "(O)", x)', {"_arrays.objects.shown"}),
        ('usmpy_import("usmpy._arrays.objects",\n "gone")', {"_arrays.objects.gone"}),
        ('usmpy_call("usmpy._arrays.objects", name, "O", x); f("shown")', {"_arrays.objects.shown"}),
        ('PYTHON_FUNCTION("usmpy._arrays.statistics", diff)', {"_arrays.statistics.diff"}),
        ('PyImport_ImportModule("usmpy._processes.share")', {"_processes.share.?"}),
        ('usmpy_import("usmpy._inspection", "repr")', {"_inspection.repr"}),
        ('usmpy_call("usmpy", "extract", "(OO)", x, y)', {"extract"}),
        ('PyObject_CallMethod(self->owner, "_build", "O", x)', {"._build"}),
        ('.name = "usmpy.Device",\n .flags = 0', set()),
    ],
)
def test_each_call_is_found(text, names):
    assert called(text) == names
