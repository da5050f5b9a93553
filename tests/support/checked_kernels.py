"""Kernels that reach memory in each way, made of two tables: bases and uses.

Each kernel takes `int *x` of 8 elements, `int *out` of 1, an index `i` and a pointer to local memory of 8
elements, which it fills. All elements of the arrays are their index plus 10.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

PROGRAM = """\
struct row { int first; int cells[8]; };
#define EACH(k) for (int k = 0; k < 8; k++)
constant int table[8] = {10, 11, 12, 13, 14, 15, 16, 17};
#define FILL(a) EACH(k) (a)[k] = k + 10
int element(global int *p, int i) { return p[i]; }
int of_array(global int p[], int i) { return *(p + i); }
int deeper(global int *p, int unused, int i) { return element(p + 1, i - 1); }
int own(const int *p, int i) { return p[i]; }
int shared(local int *p, int i) { return p[i]; }
global int *second(global int *p) { return p + 1; }
int flag(void) { return get_global_id(0) == 0; }
int nothing(int unused);
int nothing(int unused) { return 0; }
"""


@dataclasses.dataclass(frozen=True)
class Base:
    """An array of `n` elements in the program: statements that declare it, and the place of element i."""

    before: str
    place: str
    name: str | None
    n: int = 8
    axis: int = 0
    first: int = 0  # of the index that the array sees for i = 0
    writable: bool = True
    space: str = "global"


BASES = {
    "argument": Base("", "x[i]", "x"),
    "star": Base("", "(*(x + i))", "x"),
    "reversed": Base("", "(i + x)[0]", "x"),
    "moved": Base("global int *p = x + 2;", "p[i - 2]", "x"),
    "assigned": Base("global int *p; p = x; p += 3; p--;", "p[i - 2]", "x"),
    "twice": Base("global int *p = out, *q = p; q = p = x;", "q[i]", "x"),
    "chosen": Base("global int *p = flag() ? x : out;", "p[i]", "x"),
    "chosen once": Base("", "(flag() ? x : out)[i]", "x"),
    "cast": Base("global char *p = (global char *)x;", "((global int *)(p + 4))[i - 1]", "x"),
    "auto": Base("__auto_type p = x + 1;", "p[i - 1]", "x"),
    "loop": Base("global int *e = x; for (global int *p = x; p < x + 3; p++) e = p;", "e[i - 2]", "x"),
    "address": Base("global int *p = &x[4];", "p[i - 4]", "x"),
    "behind": Base("global int *p = &x[8];", "p[i - 8]", "x"),
    "of pointers": Base("global int *rows[2] = {out, x};", "rows[flag()][i]", None),
    "result": Base("", "second(x)[i - 1]", "x"),
    "local": Base("", "t[i]", "t", space="local"),
    "local array": Base("local int a[8]; FILL(a);", "a[i]", "a", space="local"),
    "private": Base("int a[8]; FILL(a);", "a[i]", "a", space="private"),
    "rows": Base("int a[4][8]; FILL(a[2]);", "a[2][i]", "a", axis=1, space="private"),
    "columns": Base("int a[8][2]; EACH(k) a[k][1] = k + 10;", "a[i][1]", "a", space="private"),
    "row": Base("int a[8]; FILL(a); int *p = a;", "p[i]", "p", space="private"),
    "pointer to array": Base(
        "int a[3][8]; FILL(a[1]); int (*p)[8] = a;", "p[1][i]", "p", axis=1, space="private"
    ),
    "member": Base("struct row r; FILL(r.cells);", "r.cells[i]", "r", space="private"),
    "arrow": Base("struct row r; FILL(r.cells); struct row *p = &r;", "p->cells[i]", "p", space="private"),
    "records": Base(
        "struct row r[8]; EACH(k) r[k].first = k + 10;", "r[i].first", "r", space="private"
    ),
    "record pointer": Base(
        "struct row r[8]; EACH(k) r[k].first = k + 10; struct row *p = r;",
        "(p + i)->first", "p", space="private",
    ),
    "constant": Base("", "table[i]", "table", writable=False, space="constant"),
}  # fmt: skip
# What is done with the place, for a name of the result: the value that is right, and whether it writes.
USES = {
    "read": ("out[0] = {};", lambda v: v, False),
    "in parts": ("out[0] = ({}) * 2 + ({} > 0 ? {} : 0);", lambda v: 3 * v, False),
    "assign": ("out[0] = ({} = 5) + 1;", lambda v: 6, True),
    "add": ("out[0] = {} += 7;", lambda v: v + 7, True),
    "divide": ("out[0] = {} /= 2;", lambda v: v // 2, True),
    "shift": ("{} <<= 1; out[0] = {};", lambda v: 2 * v, True),
    "after": ("out[0] = {}++; out[0] += {};", lambda v: 2 * v + 1, True),
    "before": ("out[0] = --{};", lambda v: v - 1, True),
    "address": ("out[0] = *&({});", lambda v: v, False),
    "sizes": ("out[0] = sizeof({}) + {};", lambda v: v + 4, False),
}
GLOBAL_USES = {
    "atomic": ("out[0] = atomic_add(&({}), 3) + {};", lambda v: 2 * v + 3, True),
    "ordered": (
        "atomic_store(&({}), 4); out[0] = atomic_load(&({}));",
        lambda v: 4,
        True,
    ),
    "exchange": (
        "int held = {}; out[0] = atomic_compare_exchange_strong(&({}), &held, 9);",
        lambda v: 1,
        True,
    ),
}
# Other ways, with the place of the failure.
WAYS = {
    "helper": ("out[0] = element(x, i);", "x"),
    "array parameter": ("out[0] = of_array(x, i);", "x"),
    "two helpers": ("out[0] = deeper(x, 3, i);", "x"),
    "chosen for a helper": ("out[0] = element(flag() ? x : out, i);", "x"),
    "private for a helper": ("int a[8]; FILL(a); out[0] = own(a, i);", "p"),
    "local for a helper": ("out[0] = shared(t, i);", "t"),
    "another type": (
        "global char *p = (global char *)x; out[0] = atomic_add((volatile global int *)(p + 4 * i), 0);",
        "x",
    ),
    "nested": ("int a[8]; FILL(a); out[0] = x[a[i] - 10];", "a"),
    "floats": ("float f = 2.5f; int k; out[0] = frexp(f, &k) > 0 ? x[i] : 0;", "x"),
    "through a pointer": ("frexp(4.0f, &x[i]); out[0] = x[i] + i + 7;", "x"),
    "switch": ("switch (i) { case 2 + 1: out[0] = x[i]; break; default: out[0] = x[i]; }", "x"),
    "while": ("int k = i + 3; while (k != i) k--; do out[0] = x[k]; while (0);", "x"),
    "comma": ("int k = (nothing(1), i); out[0] = (k++, x[k - 1]);", "x"),
}


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    body: str
    argument: str | None
    n: int
    axis: int
    value: object  # of the number at i: what out[0] is


def cases() -> Iterator[Case]:
    for base_name, base in BASES.items():
        uses = {**USES, **GLOBAL_USES} if base.space in ("global", "local") else USES
        for use_name, (text, value, writes) in uses.items():
            if writes and not base.writable:
                continue
            body = f"{base.before} {text.replace('{}', base.place)}"
            yield Case(f"{base_name}, {use_name}", body, base.name, base.n, base.axis, value)
    for name, (body, argument) in WAYS.items():
        yield Case(name, body, argument, 8, 0, lambda v: v)


def source(cases: list[Case]) -> str:
    """A kernel a case, k0 and so on, each on one line."""
    lines = [
        f"kernel void k{k}(global int *x, global int *out, int i, local int *t) {{ FILL(t); {case.body} }}\n"
        for k, case in enumerate(cases)
    ]
    return PROGRAM + "".join(lines)
