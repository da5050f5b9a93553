"""Functions of math that are written in the language of kernels, and compiled as a user's functions are."""

from __future__ import annotations

import math
from types import FunctionType
from typing import Any

import usmpy


def lcm(a: Any, b: Any) -> Any:
    return abs(a // math.gcd(a, b) * b)


def factorial(n: Any) -> Any:
    assert n >= 0, "factorial of a negative number"
    result = usmpy.int64(1)  # type: ignore[operator]
    for k in range(2, n + 1):
        result *= k
    return result


def perm(n: Any, k: Any) -> Any:
    result = usmpy.int64(1)  # type: ignore[operator]
    for i in range(k):
        result *= n - i
    return result if k <= n else 0


def comb(n: Any, k: Any) -> Any:
    result = usmpy.int64(1)  # type: ignore[operator]
    for i in range(min(k, n - k)):
        result = result * (n - i) // (i + 1)
    return result if k <= n else 0


def isqrt(n: Any) -> Any:
    n = usmpy.int64(n)  # type: ignore[operator]
    low, high = usmpy.int64(0), usmpy.int64(3037000499)  # type: ignore[operator]
    while low < high:
        middle = (low + high + 1) // 2
        if middle * middle <= n:
            low = middle
        else:
            high = middle - 1
    return low


def isclose(a: Any, b: Any, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol)


def modf(x: Any) -> Any:
    whole = usmpy.trunc(x)
    return math.copysign(0.0 if math.isinf(x) else x - whole, x), whole


def frexp(x: Any) -> Any:
    if x == 0 or not math.isfinite(x):
        return x, 0
    exponent = math.floor(math.log2(abs(x))) + 1
    part = math.ldexp(x, -exponent)
    if abs(part) >= 1:  # log2 was rounded
        return part / 2, exponent + 1
    if abs(part) < 0.5:
        return part * 2, exponent - 1
    return part, exponent


def dist(p: Any, q: Any) -> Any:
    total = 0.0
    for k in range(len(p)):
        total += (p[k] - q[k]) * (p[k] - q[k])
    return math.sqrt(total)


def ulp(x: Any) -> Any:
    a = abs(x)
    if not math.isfinite(a):
        return a
    following = math.nextafter(a, math.inf)
    return a - math.nextafter(a, 0.0) if math.isinf(following) else following - a


_ALL: tuple[Any, ...] = (lcm, factorial, perm, comb, isqrt, isclose, modf, frexp, dist, ulp)
FUNCTIONS: dict[Any, FunctionType] = {getattr(math, function.__name__): function for function in _ALL}
