"""The examples in docstrings of public names run; every public function, class and method has one."""

import enum
import inspect
import json
import os
import subprocess
import sys

import pytest

import usmpy
import usmpy.kernel_api
import usmpy.multiprocessing
import usmpy.random
from usmpy import _core, errors, selectors
from usmpy._python_kernels.kernel import PythonKernel

pytestmark = pytest.mark.not_sanitized("it runs a C compiler")

# Modules whose names are public beside those of the package; "" is the package.
MODULES = {
    "": usmpy,
    "errors.": errors,
    "selectors.": selectors,
    "kernel_api.": usmpy.kernel_api,
    "random.": usmpy.random,
}
# Classes that no name of the package stands for, but that its functions return.
RETURNED = [type(_core.empty(1).lend()), PythonKernel]


def public():
    """(qualified name, object) of functions and classes of each module, and methods of the classes."""
    for prefix, module in MODULES.items():
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type):
                yield prefix + name, value
                if issubclass(value, (BaseException, enum.Enum)):
                    continue
                for key, member in vars(value).items():
                    if not key.startswith("_") and (callable(member) or isinstance(member, classmethod)):
                        yield f"{prefix}{name}.{key}", member
            elif inspect.isroutine(value):
                yield prefix + name, value


PUBLIC = dict(public())
# Properties, special methods and modules may have examples too.
EVERYTHING = {
    f"{cls.__name__}.{key}": member
    for cls in [*(value for value in PUBLIC.values() if isinstance(value, type)), *RETURNED]
    for key, member in vars(cls).items()
    if type(member).__name__ not in ("wrapper_descriptor", "int", "PyCapsule", "str", "NoneType")
}
EVERYTHING |= PUBLIC | {f"usmpy.{name}": getattr(usmpy, name) for name in ("multiprocessing", "random")}
WITH = sorted(name for name, value in EVERYTHING.items() if ">>>" in (inspect.getdoc(value) or ""))

RUN = """
import doctest, inspect, json, sys
import numpy, usmpy
sys.path.insert(0, {folder!r})
import test_doctests

failures = {{}}
for name in test_doctests.WITH:
    text = inspect.getdoc(test_doctests.EVERYTHING[name])
    test = doctest.DocTestParser().get_doctest(text, {{"usmpy": usmpy, "np": numpy}}, name, None, 0)
    lines = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=lines.append)
    failures[name] = "".join(lines)
print("\\n" + json.dumps(failures), flush=True)
"""


@pytest.fixture(scope="module")
def failures():
    """The failures that doctest reports for each example, on the host device, in a process of its own."""
    program = RUN.format(folder=os.path.dirname(__file__))
    environment = {**os.environ, "USMPY_DEVICE": "host"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_examples_give_what_they_show(failures):
    assert sorted(failures) == WITH
    assert not "".join(failures.values())


def test_every_public_name_has_an_example():
    assert set(PUBLIC) <= set(WITH)
    texts = {name: inspect.getdoc(value) for name, value in PUBLIC.items()}
    assert not [name for name, text in texts.items() if "\nExamples\n--------\n" not in text]
