"""Formats of Python's own functions take as many arguments as they are given: no compiler checks those."""

import re
from pathlib import Path

import pytest
from together import together

SOURCES = sorted((Path(__file__).parents[2] / "csrc" / "py").rglob("*.c"))
FORMAT_AT = {  # which argument it is
    "PyErr_Format": 1,
    "PyUnicode_FromFormat": 0,
    "usmpy_error_format": 1,
    "usmpy_refuse": 1,
}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][(){},]|[^][(){},"]+')
pytestmark = pytest.mark.not_sanitized("it reads sources")


def arguments(text, begin):
    """The arguments of the call whose parenthesis opens at `begin`."""
    found, depth = [""], 0
    for token in TOKEN.finditer(text, begin):
        depth += (token[0] in "([{") - (token[0] in ")]}")
        if depth == 0:
            return found
        if token[0] == "," and depth == 1:
            found.append("")
        else:
            found[-1] += token[0]
    raise AssertionError("a call that does not end")


@together("path", SOURCES)
def test_formats_and_arguments_agree(path):
    text, wrong = path.read_text(), []
    for call in re.finditer(rf"\b({'|'.join(FORMAT_AT)})\(", text):
        at = FORMAT_AT[call[1]]
        given = arguments(text, call.end() - 1)
        literals = LITERAL.findall(given[at])
        if not literals or LITERAL.sub("", given[at]).strip(" \n\tABCDEFGHIJKLMNOPQRSTUVWXYZ_"):
            continue  # chosen at run time
        wanted = "".join(literals).replace("%%", "").count("%")
        # USMPY_A(x) is two arguments: the article and the noun.
        have = sum(1 + ("USMPY_A(" in argument) for argument in given[at + 1 :])
        if wanted != have:
            wrong.append((text[: call.start()].count("\n") + 1, "".join(literals)[:60], wanted, have))
    assert wrong == []
