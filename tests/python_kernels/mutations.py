"""Random changes of a function's syntax tree (tests/python_kernels/test_refused_functions.py)."""

from __future__ import annotations

import ast
import copy
import random
from typing import Any

VALUES = [0, 1, -1, 3, 255, 2**31, 2**63, -(2**63), 2**64, 0.0, 0.5, 1e300, 1j, True, None, "text", ..., b"b"]
OPERATORS = ["Add", "Sub", "Mult", "Div", "FloorDiv", "Mod", "Pow", "LShift", "RShift"]
OPERATORS += ["BitAnd", "BitOr", "BitXor", "MatMult"]
COMPARISONS = ["Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In", "NotIn"]
TEXTS = """
abs({0}) | min({0}, {1}) | max({0}) | round({0}) | int({0}) | float({0}) | bool({0}) | complex({0}, {1})
divmod({0}, {1}) | pow({0}, {1}) | len({0}) | range({0}) | print({0}) | math.sqrt({0}) | math.floor({0})
usmpy.int8({0}) | usmpy.float64({0}) | usmpy.uint64({0}) | usmpy.bool({0}) | usmpy.complex64({0})
({0}, {1}) | ({0},) | () | {0}[{1}] | {0}[{1}, {1}] | {0}[()] | {0}[-1] | {0}.shape | {0}.shape[{1}] | {0}.T
{0}.real | {0}.dtype | {0}.size | {0}.nothing | {0}({1}) | {0} if {1} else {0} | {0} and {1} | not {0} | -{0}
~{0} | {0} < {1} < {0} | {0} == {1} | {0} is None | [{0}] | {{}} | lambda: {0} | nothing | {0}[{1}:]
usmpy | usmpy.float32 | get_global_id | get_global_id({0}) | get_global_id(0) | math.pi | math | self
atomic_add({0}, {1}, {1}) | atomic_add({0}, 0, 1) | local_array({0}, usmpy.float32) | private_array(4, {0})
private_array((2, 3), "float16") | usmpy.where({0}, {1}, {0}) | usmpy.sign({0}) | usmpy.clip({0}, {1}, {1})
{0} ** {1} | {0} // {1} | {0} % {1} | {0} << {1} | (yield {0}) | (x := {0}) | {0}.conjugate()
"""
STATEMENTS = """
{0} = {1} | {0}, {1} = {1}, {0} | {0} += {1} | {0}[{1}] = {0} | {0} = {1}, {0} | return | return {0} | pass
break | continue | del {0} | assert {0}, {1} | for {0} in {1}: {0} | for k in range({0}): {1} = k | {0}
while {0}: break | if {0}: {1} = {0} | global g | {0}: int = {1} | barrier() | for k in ({0}, {1}): {0} = k
for k in range({0}, {1}, {0}): {0} = {0} + k | print({0}, {1}) | {0} = {1} = {0} | {0}.a = {1}
({0}, {1}), g = {0}
while {0} < {1}: {0} += 1 | for k, m in (({0}, {1}), ({1}, {0})): {0} = k
"""
EXPRESSIONS, STATEMENTS_ = ([one.strip() for line in text.strip().splitlines() for one in line.split(" | ")]
                            for text in (TEXTS, STATEMENTS))  # fmt: skip


def places(tree: ast.AST, kind: type) -> list[tuple[ast.AST, str, int | None]]:
    """Where the tree has a node of that kind: the parent, its field and the place in a list."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, kind):
                found.append((parent, field, None))
            elif isinstance(value, list):
                found += [(parent, field, k) for k, one in enumerate(value) if isinstance(one, kind)]
    return found


def _get(place: tuple[ast.AST, str, int | None]) -> Any:
    parent, field, k = place
    value = getattr(parent, field)
    return value if k is None else value[k]


def _set(place: tuple[ast.AST, str, int | None], node: Any) -> None:
    parent, field, k = place
    if k is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[k] = node


def change(tree: ast.FunctionDef, draw: random.Random) -> None:
    """One random change."""
    expressions = [p for p in places(tree, ast.expr) if not (p[0] is tree or isinstance(p[0], ast.arg))]
    statements = places(tree, ast.stmt)
    what = draw.randrange(8)
    if what == 0 and expressions:  # swap two expressions
        one, other = draw.choice(expressions), draw.choice(expressions)
        first, second = copy.deepcopy(_get(one)), copy.deepcopy(_get(other))
        _set(one, second)
        _set(other, first)
    elif what == 1:
        names = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
        draw.choice(names).id = draw.choice(names).id
    elif what == 2:
        kinds = {ast.operator: OPERATORS, ast.cmpop: COMPARISONS}
        base = draw.choice([*kinds])
        if found := places(tree, base):
            _set(draw.choice(found), getattr(ast, draw.choice(kinds[base]))())
    elif what == 3 and statements:  # delete, double or move
        place = draw.choice(statements)
        body = getattr(place[0], place[1])
        if isinstance(body, list) and place[2] is not None:
            moved = body[place[2]]
            if draw.random() < 0.6 or len(body) == 1:
                body[place[2]] = ast.Pass()
            else:
                del body[place[2]]
            if draw.random() < 0.5:
                body.insert(draw.randrange(len(body) + 1), copy.deepcopy(moved))
    elif what == 4 and expressions:
        _set(draw.choice(expressions), ast.Constant(draw.choice(VALUES)))
    elif what in (5, 6) and expressions:
        texts = [ast.unparse(_get(draw.choice(expressions))) for _ in range(2)]
        _set(
            draw.choice(expressions), ast.parse(f"({draw.choice(EXPRESSIONS).format(*texts)})").body[0].value
        )
    elif expressions:
        texts = [ast.unparse(_get(draw.choice(expressions))) for _ in range(2)]
        place = draw.choice([p for p in statements if p[2] is not None])
        getattr(place[0], place[1]).insert(
            place[2], ast.parse(draw.choice(STATEMENTS_).format(*texts)).body[0]
        )


def mutant(tree: ast.FunctionDef, draw: random.Random) -> str | None:
    """The text of a changed function; None: it is no Python."""
    tree = copy.deepcopy(tree)
    try:
        for _ in range(draw.choice((1, 1, 2, 3))):
            change(tree, draw)
        text = ast.unparse(ast.fix_missing_locations(tree))
        compile(text, "<mutant>", "exec")
    except (SyntaxError, ValueError, TypeError, AttributeError, LookupError):
        return None
    return text
