"""What the elementwise functions are compared with: NumPy, and mpmath for their largest errors.

For tests/cts/test_operations.py, tests/cts/test_function_errors.py and docs/make_numerics.py. Errors are in
units in the last place (ulp) of the exact result: the distance of the numbers of its type there. That of a
complex result is the absolute value of the difference, in units of the last place of the result's absolute
value. logaddexp cancels where its result is near 0: its unit is that of its larger argument, if that is
larger.
"""

from __future__ import annotations

import functools
import runpy
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

import usmpy
from usmpy import _core

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "csrc/kernels/operations.py"))
ROWS = {row.name: row for row in TABLE["OPERATIONS"]}
EXACT = ("add", "subtract", "multiply", "divide", "sqrt", "reciprocal", "square", "abs", "sign")
FUNCTIONS = [name for name, row in ROWS.items() if (row.ulps and row.real) or name in EXACT]
TYPES = {
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float32": (24, -126),
    "float64": (53, -1022),
    "complex64": (24, -126),
    "complex128": (53, -1022),
}  # bits of the significand, the least exponent of normal numbers
LARGEST = {
    "float16": 15,
    "bfloat16": 127,
    "float32": 127,
    "float64": 1023,
    "complex64": 127,
    "complex128": 1023,
}
HALF_PI = np.pi / 2
# Names of NumPy's functions where they differ, or a function of Python's floats where NumPy has none.
NUMPY = {
    "round": "rint", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
    "atan2": "arctan2", "pow": "power", "bitwise_invert": "invert", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
# Where a function has results that are neither overflown nor all the same, for the dense grid; others take
# (-8, 8).
RANGES = {
    "exp": (-80, 80),
    "expm1": (-20, 80),
    "sinh": (-80, 80),
    "cosh": (-80, 80),
    "log": (1e-3, 4),
    "log2": (1e-3, 4),
    "log10": (1e-3, 4),
    "log1p": (-0.999, 3),
    "sqrt": (0, 10),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-1, 1),
    "acosh": (1, 5),
    "tanh": (-10, 10),
    "sin": (-20, 20),
    "cos": (-20, 20),
    "tan": (-20, 20),
}
# mpmath's functions where their names differ.
MP = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "pow": mpmath.power,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "sign": lambda x: x / abs(x),
    "abs": abs,
    "expm1": lambda x: mpmath.exp(x) - 1,
    "log1p": lambda x: mpmath.log(1 + x),
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
}


def is_defined(name: str, dtype: str) -> bool:
    return bool(ROWS[name].expression("complex" if dtype.startswith("complex") else "real"))


def bound(name: str, dtype: str) -> float:
    """What the table of operations promises."""
    row = ROWS[name]
    if dtype in ("float16", "bfloat16"):
        return 0.51 if row.ulps < 8 else 0.55  # computed in float32, and rounded once more
    if dtype.startswith("complex"):
        return float(row.complex_ulps if row.costly else 4)
    return float(row.ulps or 0.5)


def _reals(rng: np.random.Generator, name: str, n: int, exponents: float) -> np.ndarray[Any, Any]:
    """A dense grid, numbers of all magnitudes, and those close to 1 and to multiples of a quarter turn."""
    grid = np.linspace(*RANGES.get(name, (-8, 8)), n)
    signs = rng.choice([-1, 1], n)
    powers = 2.0 ** rng.uniform(-exponents, exponents, n)
    near = rng.choice([0, 1, HALF_PI, 2 * HALF_PI, 100 * HALF_PI], n // 2)
    near = near + rng.choice([-1, 1], n // 2) * 2.0 ** rng.uniform(-24, -2, n // 2)
    return np.concatenate([grid, signs * powers, near])


def arguments(name: str, dtype: str, n: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng([len(name), ord(name[0]), n])
    whole = "float32" if dtype == "bfloat16" else dtype  # NumPy has no bfloat16: these are cut to its 8 bits
    exponents = {"float16": 14, "float64": 300, "complex128": 60, "complex64": 30}.get(dtype, 60)
    inputs = []
    for _ in range(ROWS[name].inputs):
        values = _reals(rng, name, n, 6 if name in ("pow", "logaddexp") else exponents)
        if dtype.startswith("complex"):
            turned = _reals(rng, name, n, 6 if name == "pow" else exponents)
            circle = np.exp(1j * rng.uniform(0, 7, n)) * (1 + rng.normal(0, 1e-4, n))
            values = np.concatenate([values + 1j * rng.permutation(turned), circle])
        inputs.append((rng.permutation(values) if inputs else values).astype(whole))
        if dtype == "bfloat16":
            inputs[-1] = (inputs[-1].view("uint32") & 0xFFFF0000).view("float32")
    return inputs


def _number(x: complex) -> Any:
    return mpmath.mpc(float(x.real), float(x.imag)) if isinstance(x, complex) else mpmath.mpf(float(x))


def _exponent(exact: Any) -> int:
    """Of the power of two at or below its absolute value."""
    with mpmath.workprec(680):  # results of sign() lie on the unit circle but for the last of their 700 bits
        squares = exact.real**2 + exact.imag**2
    return (int(mpmath.mag(squares)) - 1) // 2  # 2**mag() is the power above its argument


@functools.cache
def references(name: str, dtype: str, n: int) -> tuple[np.ndarray[Any, Any], ...]:
    """Where there is a result that is a normal number: number of the case, ulp, and the exact result in ulps.

    The latter is the sum of two numbers of double precision, of 106 bits together.
    """
    inputs = arguments(name, dtype, n)
    kind = complex if dtype.startswith("complex") else float
    function = MP.get(name) or getattr(mpmath, name)
    bits, least = TYPES[dtype]
    found = []
    with mpmath.workprec(700):
        for i, raw in enumerate(zip(*inputs, strict=True)):
            x = [_number(kind(v)) for v in raw]
            if name == "pow" and kind is float and x[0] < 0:
                continue
            if name == "pow" and kind is complex and abs(x[1] * mpmath.log(x[0])) > 20:
                continue  # its error grows with this product
            try:
                exact = function(*x)
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            real = isinstance(exact, mpmath.mpf)
            if (kind is float and not real) or not mpmath.isfinite(exact) or exact == 0:
                continue
            exponent = _exponent(exact)
            if not least <= exponent < LARGEST[dtype]:
                continue
            largest = max(x) if name == "logaddexp" else exact
            unit = max(exponent, _exponent(largest) if largest else least, least) - bits + 1
            scaled = exact * mpmath.ldexp(1, -unit)
            high = kind(scaled)
            found.append((i, np.ldexp(1.0, unit), high, kind(scaled - high)))
    return tuple(np.array(column) for column in zip(*found, strict=True))


def with_kernels(queue: usmpy.Queue) -> usmpy.Queue:
    """A queue on which the driver's compiler builds the built-in kernels.

    The host's loops replace these on OpenCL devices that are the host's processors, but not on parts of them.
    """
    device = queue.device
    if device.backend != "opencl" or device.device_type != "cpu" or device.max_compute_units < 2:
        return queue
    return usmpy.Queue(device.create_sub_devices(1)[0])


def largest_error(name: str, dtype: str, queue: usmpy.Queue, n: int, function: Any = None) -> float:
    """In ulps; infinite where a result is NaN or infinite and ought not to be. `function`: not usmpy's."""
    arrays = [usmpy.asarray(x, queue=queue, copy=True) for x in arguments(name, dtype, n)]
    if dtype == "bfloat16":
        arrays = [usmpy.astype(x, usmpy.bfloat16) for x in arrays]
    result = (function or getattr(_core, name))(*arrays)
    if dtype == "bfloat16":
        result = usmpy.astype(result, usmpy.float32)
    numbers, unit, high, low = references(name, dtype, n)
    # Differences of neighbours are exact, and so is the division by a power of two.
    with np.errstate(all="ignore"):
        errors = np.abs(result.asnumpy()[numbers].astype(high.dtype) / unit - high - low)
    return float(np.nan_to_num(errors, nan=np.inf, posinf=np.inf).max(initial=0))
