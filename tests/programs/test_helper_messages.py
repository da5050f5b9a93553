"""Errors of the kernel helpers name the user's line, whichever way the compiler counts lines."""

from __future__ import annotations

import pytest

import usmpy
from usmpy._kernels.source import Source


def source() -> Source:
    made = Source()
    made.add("typedef float T;")
    made.add_piece("preamble", "T g(T x) { return x; }\nT f(T x) { return y; }")
    made.add("kernel void add(T x)", "{")
    made.add_piece("operation", "z = x +\n absent", end=";")
    made.add("}")
    return made


@pytest.mark.parametrize("label", ["<{label}>:{own}:3", "<{label}>({own})", "<kernel>:{whole}:3"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T f(T x) { return y; }", "line 2 of preamble: T f(T x) { return y; }"),
        (" absent", "line 2 of operation: absent"),
        (";", "line 2 of operation: absent"),
    ],
)
def test_the_users_line_comes_first(label, text, said):
    made = source()
    whole = str(made).split("\n").index(text) + 1
    place = label.format(label=said.split()[3].rstrip(":"), own=said.split()[1], whole=whole)
    error = made.explain(usmpy.BuildError("no", log=f"{place}: error: no"), "add")
    assert str(error).startswith(f"add: {said}\n")


@pytest.mark.parametrize(
    "place", ["<kernel>:1:1", "<kernel>:99:1", "<usmpy>:2:1", "<operation>:9:1", "text:1:1"]
)
def test_other_lines_are_not_the_users(place):
    error = source().explain(usmpy.BuildError("no", log=f"{place}: error: no"), "add")
    assert str(error) == "add: no"
