"""docs/errors.md: each cause raises what the page says, in the words that it says, and each fix runs."""

from __future__ import annotations

import builtins
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys

import pytest

import usmpy
from usmpy import errors

pytest.importorskip("numpy", reason="the page uses it")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "errors.md"
pytestmark = pytest.mark.not_sanitized("it runs a program of its own")


def blocks():
    """(line, language, text) of each, in order."""
    text = PAGE.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, found.start(2)), found[1], found[2])
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.S | re.M)
    ]


def examples():
    """(line of the cause, what it raises, line of the fix): a cause is a block before a block of text."""
    found = blocks()
    return [
        (cause[0], said[2].rstrip("\n"), fix[0])
        for cause, said, fix in zip(found, found[1:], [*found[2:], (0, "", "")], strict=False)
        if said[1] == "text"
    ]


EXAMPLES = examples()

# In a process of its own: drivers are missing there that are here, and Ctrl-C is its own.
RUN = """
import json, signal, sys, traceback
signal.signal(signal.SIGINT, signal.default_int_handler)
page, said = json.load(sys.stdin), {}
names = {"__name__": "page"}
stdout, sys.stdout = sys.stdout, sys.stderr
for line, language, text in page:
    if language != "python":
        continue
    try:
        exec(compile("\\n" * line + text, "errors.md", "exec"), names)
    except BaseException as error:
        message = str(error)
        said[line] = type(error).__name__ + (": " + message if message else "")
        traceback.print_exc()
    else:
        said[line] = None
print(json.dumps(said), file=stdout)
"""


@pytest.fixture(scope="module")
def raised(tmp_path_factory):
    """The exception of each block, by its line."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "USMPY_DEVICE": "host",
        "USMPY_CUDA_LIBRARY": "/nowhere/libcuda.so.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(blocks()),
        cwd=tmp_path_factory.mktemp("page"),
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return {int(line): said for line, said in json.loads(done.stdout).items()}


@pytest.mark.parametrize(
    ("cause", "said", "fix"),
    EXAMPLES,
    ids=[f"line-{line + 1}-{said.split(':')[0]}" for line, said, _ in EXAMPLES],
)
def test_the_cause_raises_what_the_page_says_and_the_fix_runs(raised, cause, said, fix):
    assert raised[cause] is not None, "nothing was raised"
    pattern = "(?s:.*)".join(re.escape(part) for part in said.split("..."))
    assert re.fullmatch(pattern, raised[cause].rstrip("\n")), raised[cause]
    assert fix in raised, "there is no fix after the text"
    assert raised[fix] is None, raised[fix]


def test_nothing_else_on_the_page_raises(raised):
    causes = {line for line, _, _ in EXAMPLES}
    assert {line: said for line, said in raised.items() if said and line not in causes} == {}


def shown():
    """Classes on the page, and those that they are kinds of."""
    names = {said.split(":")[0] for _, said, _ in EXAMPLES}
    classes = [
        getattr(usmpy, name, None) or getattr(builtins, name, None) or getattr(pickle, name) for name in names
    ]
    return names, {parent.__name__ for one in classes for parent in one.__mro__}


def test_every_exception_of_the_package_is_shown():
    public = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert public == set(errors.__all__)
    assert public <= shown()[0]


# What is raised inside alone, or never seen by who calls the public functions.
INSIDE = {
    "AssertionError": "python -m usmpy check shows it in its table",
    "Skipped": "the same",
    "CompileError": "becomes BuildError",
    "CompilerMissing": "becomes BuildError",
    "Unreadable": "another way of reading is taken",
    "SystemExit": "the command line's status",
    "StopIteration": "the end of an iteration",
    "ArgumentTypeError": "argparse shows its text",
    "NotImplementedError": "for libraries that call __arrow_c_device_array__ (Arrow's specification)",
}


def raised_in_the_sources():
    names = set()
    for path in (ROOT / "csrc" / "py").rglob("*.c"):
        text = path.read_text(encoding="utf-8")
        names |= set(re.findall(r"(?:PyErr_(?:Set\w+|Format)\(|return |\] = )PyExc_(\w+)", text))
    for path in (ROOT / "usmpy").rglob("*.py"):
        names |= set(re.findall(r"^\s+raise (?:\w+\.)?([A-Z]\w+)", path.read_text(encoding="utf-8"), re.M))
    return names


def test_every_class_that_the_sources_raise_is_shown():
    found = raised_in_the_sources()
    assert {"BufferError", "DeviceNotFound", "TimeoutError"} <= found
    assert found - shown()[1] - set(INSIDE) == set()


def test_every_section_is_in_the_table_and_has_an_example():
    text = PAGE.read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.M)
    links = re.findall(r"\]\(#([\w-]+)\) \|", text)
    assert links == [title.lower().replace(",", "").replace(" ", "-") for title in titles]
    sections = re.split(r"^## ", text, flags=re.M)[1:]
    assert all("```text" in section for section in sections)
    assert len(EXAMPLES) >= 30
