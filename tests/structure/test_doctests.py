"""The examples in docstrings of public names run, and every public name that can be called has one."""

import inspect
import json
import os
import subprocess
import sys

import pytest

import usmpy
from usmpy import _core, errors

pytestmark = pytest.mark.not_sanitized("it runs a C compiler")

# Classes that no name of the package stands for, but that its functions give.
GIVEN = [type(_core.empty(1).lend())]
# What has no example: what only a machinery calls, and what its text alone explains.
WITHOUT = {
    "get_include": "for C compilers",
}
# Docstrings whose examples are still to be written.
LATER = """
    borrow from_dlpack live_allocations memory_connection memory_stats set_memory_limit trace
    track_allocations trim Context.from_native Device.from_native Device.info Event.exception Event.wait
    Kernel.with_parameters
    Queue.barrier Queue.from_native Queue.from_stream Queue.keep_alive Queue.prefetch Queue.submit Queue.wait
    Queue.wait_for Trace Trace.save Trace.to_chrome Trace.to_dot Trace.to_svg USMArray.from_pointer
    USMArray.lend
""".split()  # noqa: SIM905


def public():
    """(qualified name, object) of functions and classes of the package, and methods of the classes."""
    for name in usmpy.__all__:
        value = getattr(usmpy, name)
        if isinstance(value, type) and not issubclass(value, (BaseException, usmpy.MemoryConnection)):
            yield name, value
            for key, member in vars(value).items():
                if callable(member) and not key.startswith("_"):
                    yield f"{name}.{key}", member
        elif inspect.isroutine(value):
            yield name, value


PUBLIC = dict(public())
# Properties, special methods and errors may have examples too.
EVERYTHING = {
    f"{cls.__name__}.{key}": member
    for cls in [*(value for value in PUBLIC.values() if isinstance(value, type)), *GIVEN]
    for key, member in vars(cls).items()
    if type(member).__name__ not in ("wrapper_descriptor", "int", "PyCapsule", "str", "NoneType")
}
EVERYTHING |= {name: getattr(errors, name) for name in errors.__all__} | PUBLIC
WITH = sorted(name for name, value in EVERYTHING.items() if ">>>" in (inspect.getdoc(value) or ""))

RUN = """
import doctest, inspect, json, sys
import numpy, usmpy
sys.path.insert(0, {folder!r})
import test_doctests

said = {{}}
for name in test_doctests.WITH:
    text = inspect.getdoc(test_doctests.EVERYTHING[name])
    test = doctest.DocTestParser().get_doctest(text, {{"usmpy": usmpy, "np": numpy}}, name, None, 0)
    lines = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=lines.append)
    said[name] = "".join(lines)
print("\\n" + json.dumps(said), flush=True)
"""


@pytest.fixture(scope="module")
def said():
    """What doctest says of each example, on the host's device, in a process of its own."""
    program = RUN.format(folder=os.path.dirname(__file__))
    environment = {**os.environ, "USMPY_DEVICE": "host"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", WITH)
def test_examples_give_what_they_show(said, name):
    assert not said[name], said[name]


def test_every_public_name_has_an_example():
    assert {*LATER, *WITHOUT} <= set(PUBLIC)
    missing = set(PUBLIC) - set(WITH)
    assert missing <= {*LATER, *WITHOUT}
