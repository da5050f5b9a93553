"""docs/from-dpctl.md: its examples run, and no public name of dpctl 0.21 is missing."""

from __future__ import annotations

import doctest
import pathlib
import re
import shutil

import pytest

import usmpy

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
GUIDE = (DOCS / "from-dpctl.md").read_text()
NAMES = [line for line in (DOCS / "from-dpctl-names.txt").read_text().split("\n") if line and line[0] != "#"]
# Examples that need a C compiler, which not every machine has.
COMPILER = doctest.register_optionflag("COMPILER")


def section(title):
    found = re.search(rf"^## {re.escape(title)}.*?(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE)
    assert found, title
    return found.group()


def first_column(text):
    """The names in the first cells of the tables."""
    cells = [row.split("|")[1] for row in text.split("\n") if row.startswith("| `")]
    return {re.sub(r"\(.*", "", name.strip()) for cell in cells for name in re.findall(r"`([^`]*)`", cell)}


SECTIONS = {
    "dpctl": ["dpctl\n"],
    "dpctl.memory": ["dpctl.memory, "],
    "dpctl.program": ["dpctl.memory, "],
    "dpctl.utils": ["dpctl.memory, "],
    "dpctl.tensor": [
        "dpctl.tensor: arrays",
        "dpctl.tensor: what usmpy does not have",
    ],
}


@pytest.mark.parametrize("module", SECTIONS)
def test_every_public_name_is_in_its_table(module):
    listed = {name.rpartition(".")[2] for name in NAMES if name.rpartition(".")[0] == module}
    assert listed
    named = set().union(*(first_column(section(title)) for title in SECTIONS[module]))
    assert not listed - named
    if module == "dpctl.tensor":
        assert not named - listed


def test_names_that_are_said_to_be_the_same_are_there():
    same = [row for row in GUIDE.split("\n") if re.search(r"\| the same[^|]*\|$", row)]
    names = {name for row in same if "`usm_ndarray`" not in row for name in first_column(row)}
    assert len(names) > 70
    assert not [name for name in names if not hasattr(usmpy, name)]


def test_names_that_are_said_to_be_missing_are():
    assert not [
        name
        for name in first_column(section("dpctl.tensor: what usmpy does not have"))
        if hasattr(usmpy, name)
    ]


def test_the_examples_run():
    text = GUIDE
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        text = re.sub(
            r"^>>> .*\n(\.\.\. .*\n)*(?=)", lambda m: "" if "+COMPILER" in m[0] else m[0], text, flags=re.M
        )
    test = doctest.DocTestParser().get_doctest(
        re.sub(r"^```.*$", "", text, flags=re.M), {}, "from-dpctl.md", str(DOCS / "from-dpctl.md"), 0
    )
    assert len(test.examples) > 30
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(
        test, out=said.append, clear_globs=True
    )
    assert not said, "".join(said)
