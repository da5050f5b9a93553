"""Random kernels whose results Python knows: whole numbers, and floating-point ones without rounding."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
from python_kernels.texts import function_of

import usmpy
from usmpy import kernel_api

ITEMS, WIDTH = 5, 8  # work-items, and elements of each array that one of them has

HELPERS = """
def clamp(v, low=-50, high=50):
    if v < low:
        return low
    elif v > high:
        return high
    return v


def pair(a, b):
    return a - b, (a + b) * 0.5


def put(x, k, v):
    old = x[k]
    x[k] = v
    return old


def total(n, step=1, *, most=40):
    s = 0
    for j in range(0, n, step):
        if j == 7:
            continue
        if s > most:
            break
        s += j
    return s


def either(v):
    if v % 2:
        result = (v, 1)
    else:
        result = (0, v)
    return result
"""


class _Text:
    """The text of one kernel. Everything is drawn, and every name has a value where it is read."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.lines, self.count = draw, [], 0
        self.integers, self.reals = ["a", "b", "c", "i"], ["f", "g"]
        self.loops: list[str] = []

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self) -> str:
        self.count += 1
        return f"k{self.count}"

    def place(self) -> str:
        return f"i * {WIDTH} + {self.draw.randrange(WIDTH)}"

    def whole(self, depth: int = 3) -> str:
        """An integer of moderate size."""
        if depth == 0 or self.draw.random() < 0.25:
            return self.draw.choice(
                [str(self.draw.randrange(-9, 10)), self.draw.choice(self.integers), f"x[{self.place()}]"]
            )
        e = [self.whole(depth - 1) for _ in range(3)]
        f, test, place = self.real(depth - 1), self.test(depth - 1), self.place()
        return self.draw.choice(
            [
                f"({e[0]} + {e[1]})",
                f"({e[0]} - {e[1]})",
                f"{e[0]} * {e[1]} % 1009",
                f"({e[0]} // {self.draw.choice((-7, -2, 3, 5))})",
                f"({e[0]} % {self.draw.choice((-7, -2, 3, 5))})",
                f"({e[0]} // (abs({e[1]}) + 1))",
                f"({e[0]} % -(abs({e[1]}) + 1))",
                f"({e[0]} if {test} else {e[1]})",
                f"({e[0]} and {e[1]})",
                f"({e[0]} or {e[1]} or {e[2]})",
                f"min({e[0]}, {e[1]}, {e[2]})",
                f"max({e[0]}, {e[1]})",
                f"abs({e[0]})",
                f"-{e[0]}",
                f"~{e[0]}",
                f"({e[0]} & {e[1]})",
                f"({e[0]} ^ {e[1]})",
                f"({e[0]} >> 2)",
                f"({e[0]} << 2) % 4096",
                f"int(min(max({f}, -99.0), 99.0))",
                f"clamp({e[0]})",
                f"clamp({e[0]}, high={e[1]})",
                f"total({e[0]} % 12, {self.draw.choice(('1', '3', '-2'))}, most=20)",
                f"pair({e[0]}, {e[1]})[0]",
                f"put(x, {place}, {e[0]} % 100)",
                f"atomic_add(x, {place}, {e[0]} % 10)",
                f"({e[0]}, {e[1]}, {e[2]})[abs({e[0]}) % 3]",
                f"either({e[0]})[{self.draw.randrange(2)}]",
                f"divmod({e[0]}, 5)[1]",
            ]
        )

    def real(self, depth: int = 2) -> str:
        if depth <= 0 or self.draw.random() < 0.25:
            return self.draw.choice(["0.5", "-1.75", *self.reals, f"y[{self.place()}]"])
        e, other, whole = self.real(depth - 1), self.real(depth - 1), self.whole(depth - 1)
        return self.draw.choice(
            [
                f"({e} + {other})",
                f"({e} - {whole})",
                f"{e} * 0.5",
                f"float({whole})",
                f"({e} if {self.test(depth - 1)} else {other})",
                f"min({e}, {other})",
                f"abs({e})",
                f"-{e}",
                f"pair({whole}, {whole})[1]",
                f"({whole} / 4)",
                f"clamp({e}, -8.0)",
                f"put(y, {self.place()}, {e})",
            ]
        )

    def test(self, depth: int = 2) -> str:
        if depth <= 0:
            return f"{self.whole(0)} {self.draw.choice(('<', '>=', '==', '!='))} {self.whole(0)}"
        a, b = self.test(depth - 1), self.test(depth - 1)
        e = [self.whole(depth - 1) for _ in range(4)]
        return self.draw.choice(
            [
                f"({a} and {b})",
                f"({a} or {b})",
                f"not {a}",
                f"({e[0]} < {e[1]} <= {e[2]})",
                f"({e[0]} > {e[1]} != {e[2]} < {e[3]})",
                f"{self.real(depth - 1)} < {self.real(depth - 1)}",
                e[0],
                f"({e[0]}, {e[1]}) == ({e[2]}, {e[3]})",
            ]
        )

    def block(self, depth: int, nested: int) -> None:
        for _ in range(self.draw.randrange(1, 4)):
            self.statement(depth, nested)

    def statement(self, depth: int, nested: int) -> None:
        draw = self.draw
        a, b = draw.sample(("a", "b", "c"), 2)  # CPython 3.11.2 mixes up `a, a = 1, f()`
        what = draw.randrange(16 if nested else 9)
        if what <= 2:
            self.emit(depth, f"{a} = {self.whole()} % {draw.choice((97, -31, 1009))}")
        elif what == 3:
            self.emit(depth, f"{draw.choice(('f', 'g'))} = {self.real()}")
        elif what == 4:
            self.emit(depth, f"{a}, {b} = {self.whole(2)} % 50, {self.whole(2)} % 50")
        elif what == 5:
            self.emit(depth, f"x[{self.place()}] {draw.choice(('', '+', '-', '|'))}= {self.whole(2)} % 100")
        elif what == 6:
            self.emit(depth, f"y[{self.place()}] {draw.choice(('', '+', '-'))}= {self.real()}")
        elif what == 7:
            name = self.fresh()
            self.emit(depth, f"{name} = ({self.whole(1)} % 9, ({self.real(1)}, {a}))")
            self.emit(depth, f"{a}, ({draw.choice('fg')}, {b}) = {name}")
        elif what == 8:
            self.emit(depth, f"{a} {draw.choice(('+', '-', '^'))}= {self.whole(1)} % 9")
        elif what in (9, 10):
            self.emit(depth, f"if {self.test()}:")
            self.block(depth + 1, nested - 1)
            for _ in range(draw.randrange(2)):
                self.emit(depth, f"elif {self.test()}:")
                self.block(depth + 1, nested - 1)
            if draw.random() < 0.5:
                self.emit(depth, "else:")
                self.block(depth + 1, nested - 1)
        elif what in (11, 12):
            self.loop(depth, nested)
        elif what == 13:
            name = self.fresh()
            self.emit(depth, f"{name} = 0")
            self.emit(depth, f"while {name} < {draw.randrange(1, 6)} and {self.test(1)}:")
            self.emit(depth + 1, f"{name} += 1")
            self.body(depth + 1, nested, name)
        elif what == 14 and self.loops:
            self.emit(depth, f"if {self.test(1)}:")
            self.emit(depth + 1, draw.choice(("break", "continue")))
        else:
            self.emit(depth, f"if {self.test(1)} and {self.test(1)} and {self.test(1)}:")
            self.emit(depth + 1, draw.choice(("return", "pass", "a = 1")))

    def body(self, depth: int, nested: int, name: str) -> None:
        self.loops.append(name)
        self.integers.append(name)
        self.block(depth, nested - 1)
        self.integers.remove(name)
        self.loops.pop()

    def loop(self, depth: int, nested: int) -> None:
        draw, name = self.draw, self.draw.choice((self.fresh(), "a"))
        bounds = [self.whole(1) + " % 6" for _ in range(2)]
        step = draw.choice(("", ", 1", ", 2", ", -1", ", -3", f", clamp({self.whole(1)} % 5 - 2) or 1"))
        ranges = [f"range({bounds[0]})", "range(4)", "range(5, 0, -2)", "range(0)"]
        ranges += [f"range({bounds[0]}, {bounds[1]}{step})"] * 3
        tuples = ["(1, 2, 5)", f"({self.whole(1)} % 9, 4, {self.whole(1)} % 9)", "(3,)"]
        self.emit(depth, f"for {name} in {draw.choice(ranges + tuples)}:")
        if name == "a":
            self.loops.append(name)
            self.block(depth + 1, nested - 1)
            self.loops.pop()
        else:
            self.body(depth + 1, nested, name)

    def kernel(self) -> str:
        self.emit(0, "def kernel(x, y):")
        self.emit(1, "i = get_global_id(0)")
        self.emit(1, f"a, b, c = 1, i, x[i * {WIDTH}]")
        self.emit(1, "f = 0.0")
        self.emit(1, f"g = y[i * {WIDTH} + 1]")
        for _ in range(7):
            self.statement(1, 3)
        for k, name in enumerate(("a", "b", "c")):
            self.emit(1, f"x[i * {WIDTH} + {k}] = {name}")
        for k, name in enumerate(("f", "g")):
            self.emit(1, f"y[i * {WIDTH} + {k}] = {name}")
        return HELPERS + "\n\n" + "\n".join(self.lines) + "\n"


def text_of(seed: int) -> str:
    return _Text(random.Random(seed)).kernel()


def _atomic_add(x: list[Any], k: int, v: Any) -> Any:
    x[k] += v
    return x[k] - v


def check(seed: int, queue: usmpy.Queue, **options: Any) -> None:
    """Runs the kernel on the queue, and in Python, and compares."""
    text = text_of(seed)
    item = 0
    real = {name: getattr(kernel_api, name) for name in ("get_global_id", "atomic_add")}
    plain = function_of(text, get_global_id=lambda dimension: item, atomic_add=_atomic_add, math=math)
    numbers = np.random.default_rng(seed)
    x = numbers.integers(-20, 20, ITEMS * WIDTH)
    y = numbers.integers(-20, 20, ITEMS * WIDTH) / 4
    wanted = (x.tolist(), y.tolist())
    for item in range(ITEMS):  # noqa: B007 (the closure reads it)
        plain(*wanted)
    given = [usmpy.asarray(array, queue=queue, copy=True) for array in (x, y)]
    usmpy.kernel(function_of(text, **real), **options)[usmpy.Range(ITEMS)](*given)
    for array, want in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(array.asnumpy(), want, f"seed {seed}\n{text}")
