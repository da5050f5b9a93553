"""The one table of elementwise operations: C, kernels, stubs, reference pages and tests are made of its rows.

A row says how an operation is computed for each kind of number, as an expression of x (and y) that C,
OpenCL C and CUDA C++ understand alike:

  T, U      the type that is computed in, and the unsigned integer of at least 32 bits that holds it
  S(name)   a function of csrc/kernels/src/functions.h for this type
  anything else: the mathematical functions that the three languages have under one name for each type

`write` puts the rows into a header of macros, which csrc/kernels/src/operate.cl and csrc/cpu/operate_type.h
walk over, and of a table for csrc/core/ops/operation.c.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Types that are computed in, by kind. Others (bool, float16, bfloat16) are converted when they are read and
# written.
COMPUTED = {
    "unsigned": ("uint8", "uint16", "uint32", "uint64"),
    "signed": ("int8", "int16", "int32", "int64"),
    "real": ("float32", "float64"),
    "complex": ("complex64", "complex128"),
}
KINDS = tuple(COMPUTED)
TYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    " bfloat16"
)
NUMBERS = {name: number for number, name in enumerate(TYPES.split())}  # usm_dtype
KIND_NUMBERS = {"signed": 1, "unsigned": 2, "real": 3, "complex": 4}  # USM_KIND of functions.h


@dataclass(frozen=True)
class Operation:
    """One row. `unsigned`, `signed`, `real`, `complex`: the expression for each kind, or None."""

    name: str
    inputs: int
    summary: str
    integer: str | None = None  # for both kinds of integers
    unsigned: str | None = None
    signed: str | None = None
    real: str | None = None
    complex: str | None = None
    truth: bool = False  # takes bool arrays, as the integers 0 and 1
    result: str = "same"  # "same", "bool", or "real": the real type of a complex argument
    costly: bool = False  # built alone, where a driver compiles it
    ulps: float = 0  # largest error that the tests allow, in units in the last place; 0: correctly rounded
    complex_ulps: float = 16  # the same for complex results: of the absolute value
    operator: str | None = None  # of Python, without underscores
    shown: tuple[str, ...] = ("[0.0]",)  # arguments of the example in its documentation
    gives: str = "[0.0]"
    source: str | None = None  # of its docstring: whose function it is, where the standard has none

    def expression(self, kind: str) -> str | None:
        own: str | None = getattr(self, kind)
        return self.integer if own is None and kind in ("unsigned", "signed") else own

    def copies(self, kind: str) -> bool:
        """Is the result the argument itself?"""
        return self.expression(kind) == "x"

    def computes(self, kind: str) -> bool:
        """Is there a loop for it? Those that wrap serve both kinds of integers as unsigned ones."""
        wraps = kind == "signed" and self.modular
        return self.expression(kind) is not None and not self.copies(kind) and not wraps

    def is_alone(self, kind: str) -> bool:
        """Is it a kernel of its own on devices?"""
        return self.costly and kind in ("real", "complex") and self.computes(kind)

    @property
    def modular(self) -> bool:
        """Do signed integers give the same bits as unsigned ones?"""
        return self.integer is not None and self.integer.startswith("(T)(")

    @property
    def promotes(self) -> bool:
        """Are integers computed as floating-point numbers?"""
        return self.expression("signed") is None and self.real is not None


def unary(name: str, summary: str, **columns: object) -> Operation:
    return Operation(name, 1, summary, **columns)  # type: ignore[arg-type]


def binary(name: str, summary: str, **columns: object) -> Operation:
    return Operation(name, 2, summary, **columns)  # type: ignore[arg-type]


def function(name: str, summary: str, ulps: float, **columns: object) -> Operation:
    """A function of the libraries: each has its own errors."""
    columns = {"real": f"{name}(x)", "complex": f"S({name})(x)", **columns}
    return unary(name, summary, costly=True, ulps=ulps, **columns)


def wrapping(expression: str) -> str:
    """Integer arithmetic modulo 2**bits: signed overflow is undefined in C."""
    return f"(T)({expression})"


# fmt: off
OPERATIONS = (
    binary("add", "x1 + x2", integer=wrapping("(U)x + (U)y"), real="x + y", complex="S(add)(x, y)",
           operator="add",
           shown=("[1, 2, 3]", "[10, 20, 30]"), gives="[11, 22, 33]"),
    binary("subtract", "x1 - x2", integer=wrapping("(U)x - (U)y"), real="x - y", complex="S(subtract)(x, y)",
           operator="sub",
           shown=("[10, 20, 30]", "[1, 2, 3]"), gives="[9, 18, 27]"),
    binary("multiply", "x1 * x2", integer=wrapping("(U)x * (U)y"), real="x * y", complex="S(multiply)(x, y)",
           operator="mul",
           shown=("[1, 2, 3]", "[10, 20, 30]"), gives="[10, 40, 90]"),
    binary("divide", "x1 / x2, of floating-point numbers", real="x / y", complex="S(divide)(x, y)",
           operator="truediv",
           shown=("[1.0, 2.0, 3.0]", "2"), gives="[0.5, 1.0, 1.5]"),
    binary("floor_divide", "The largest integer that is not above x1 / x2",
           unsigned="y == 0 ? (T)0 : (T)(x / y)",
           signed="S(floor_divide)(x, y)", real="S(floor_divide)(x, y)", operator="floordiv",
           shown=("[-3, 3, 7]", "2"), gives="[-2, 1, 3]"),
    binary("remainder", "x1 - x2 * floor_divide(x1, x2), with the sign of x2",
           unsigned="y == 0 ? (T)0 : (T)(x % y)",
           signed="S(remainder)(x, y)", real="S(remainder)(x, y)", operator="mod",
           shown=("[-3, 3, 7]", "2"), gives="[1, 1, 1]"),
    binary("pow", "x1 to the power of x2", integer="S(power)(x, y)", real="pow(x, y)", complex="S(pow)(x, y)",
           costly=True, ulps=16, complex_ulps=64, operator="pow",
           shown=("[1.0, 2.0, 3.0]", "2"), gives="[1.0, 4.0, 9.0]"),
    binary("maximum", "The larger of two numbers; NaN where either is", integer="x > y ? x : y",
           real="x >= y || x != x ? x : y",
           shown=("[1, 5, 3]", "[4, 2, 3]"), gives="[4, 5, 3]"),
    binary("minimum", "The smaller of two numbers; NaN where either is", integer="x < y ? x : y",
           real="x <= y || x != x ? x : y",
           shown=("[1, 5, 3]", "[4, 2, 3]"), gives="[1, 2, 3]"),
    binary("atan2", "The angle of the point (x2, x1)", real="atan2(x, y)", costly=True, ulps=6,
           shown=("[0.0, 1.0]", "[1.0, 0.0]"), gives="[0.0, 1.5707963267948966]"),
    binary("hypot", "sqrt(x1**2 + x2**2), without overflow on the way", real="S(hypot)(x, y)", ulps=1,
           shown=("[3.0, 5.0]", "[4.0, 12.0]"), gives="[5.0, 13.0]"),
    binary("logaddexp", "log(exp(x1) + exp(x2))", real="S(logaddexp)(x, y)", costly=True, ulps=8,
           shown=("[0.0, 1.0]", "[0.0, 1.0]"), gives="[0.6931471805599453, 1.6931471805599454]"),
    binary("copysign", "x1 with the sign of x2", real="copysign(x, y)",
           shown=("[1.0, 2.0]", "[-1.0, 3.0]"), gives="[-1.0, 2.0]"),
    binary("nextafter", "The next number after x1 towards x2", real="nextafter(x, y)", costly=True,
           shown=("[1.0]", "[2.0]"), gives="[1.0000000000000002]"),
    binary("bitwise_and", "x1 & x2", integer="(T)(x & y)", truth=True, operator="and",
           shown=("[1, 2, 3]", "[3, 3, 5]"), gives="[1, 2, 1]"),
    binary("bitwise_or", "x1 | x2", integer="(T)(x | y)", truth=True, operator="or",
           shown=("[1, 2, 3]", "[3, 3, 5]"), gives="[3, 3, 7]"),
    binary("bitwise_xor", "x1 ^ x2", integer="(T)(x ^ y)", truth=True, operator="xor",
           shown=("[1, 2, 3]", "[3, 3, 5]"), gives="[2, 1, 6]"),
    binary("bitwise_left_shift", "x1 << x2; 0 where x2 is not below the number of bits",
           integer="S(left_shift)(x, y)", operator="lshift",
           shown=("[1, 2, 3]", "2"), gives="[4, 8, 12]"),
    binary("bitwise_right_shift", "x1 >> x2, which keeps the sign", integer="S(right_shift)(x, y)",
           operator="rshift",
           shown=("[4, 8, -8]", "2"), gives="[1, 2, -2]"),
    unary("abs", "The absolute value", unsigned="x", signed=wrapping("x < 0 ? 0 - (U)x : (U)x"),
          real="fabs(x)", complex="S(abs)(x)", result="real", ulps=0, operator="abs",
           shown=("[-1, 2, -3]",), gives="[1, 2, 3]"),
    unary("negative", "-x", integer=wrapping("0 - (U)x"), real="-x", complex="S(negative)(x)", operator="neg",
           shown=("[1, -2, 3]",), gives="[-1, 2, -3]"),
    unary("positive", "+x", integer="x", real="x", complex="x", operator="pos",
           shown=("[1, -2, 3]",), gives="[1, -2, 3]"),
    unary("bitwise_invert", "~x", integer=wrapping("~(U)x"), truth=True, operator="invert",
           shown=("[0, 1, 2]",), gives="[-1, -2, -3]"),
    unary("sign", "-1, 0 or 1; x / abs(x) of complex numbers", unsigned="(T)(x != 0)",
          signed="(T)((x > 0) - (x < 0))", real="x != x ? x : (T)((x > 0) - (x < 0))", complex="S(sign)(x)",
           shown=("[-2.5, 0.0, 3.0]",), gives="[-1.0, 0.0, 1.0]"),
    unary("signbit", "True where the sign bit is set", real="S(signbit)(x)", result="bool",
           shown=("[-1.0, -0.0, 2.0]",), gives="[True, True, False]"),
    unary("square", "x * x", integer=wrapping("(U)x * (U)x"), real="x * x", complex="S(multiply)(x, x)",
           shown=("[1, 2, 3]",), gives="[1, 4, 9]"),
    unary("reciprocal", "1 / x", real="(T)1 / x", complex="S(reciprocal)(x)",
           shown=("[1.0, 2.0, 4.0]",), gives="[1.0, 0.5, 0.25]"),
    unary("floor", "The largest integer that is not above x", integer="x", real="floor(x)",
           shown=("[-1.5, 0.5, 2.5]",), gives="[-2.0, 0.0, 2.0]"),
    unary("ceil", "The smallest integer that is not below x", integer="x", real="ceil(x)",
           shown=("[-1.5, 0.5, 2.5]",), gives="[-1.0, 1.0, 3.0]"),
    unary("trunc", "x without its fraction", integer="x", real="trunc(x)",
           shown=("[-1.5, 0.5, 2.5]",), gives="[-1.0, 0.0, 2.0]"),
    unary("round", "The nearest integer; the even one half way", integer="x", real="rint(x)",
          complex="S(round)(x)",
           shown=("[-1.5, 0.5, 2.5]",), gives="[-2.0, 0.0, 2.0]"),
    unary("conj", "The complex conjugate", integer="x", real="x", complex="S(conj)(x)",
           shown=("[1 + 2j]",), gives="[(1-2j)]"),
    unary("real", "The real part", integer="x", real="x", complex="S(real)(x)", result="real",
           shown=("[1 + 2j]",), gives="[1.0]"),
    unary("imag", "The imaginary part; 0 of real numbers", integer=wrapping("(void)x, 0"),
          real="(T)((void)x, 0)", complex="S(imag)(x)", result="real",
           shown=("[1 + 2j]",), gives="[2.0]"),
    unary("sqrt", "The square root", real="sqrt(x)", complex="S(sqrt)(x)",
           shown=("[1.0, 4.0, 9.0]",), gives="[1.0, 2.0, 3.0]"),
    function("exp", "e to the power of x", 4,
           gives="[1.0]"),
    function("expm1", "exp(x) - 1, exact near 0", 4),
    function("log", "The natural logarithm", 4,
           shown=("[1.0]",), gives="[0.0]"),
    function("log1p", "log(1 + x), exact near 0", 4),
    function("log2", "The logarithm to base 2", 4,
           shown=("[1.0, 8.0]",), gives="[0.0, 3.0]"),
    function("log10", "The logarithm to base 10", 4,
           shown=("[1.0, 100.0]",), gives="[0.0, 2.0]"),
    function("sin", "The sine of an angle in radians", 4),
    function("cos", "The cosine of an angle in radians", 4,
           gives="[1.0]"),
    function("tan", "The tangent of an angle in radians", 5),
    function("asin", "The angle whose sine is x", 4),
    function("acos", "The angle whose cosine is x", 4,
           gives="[1.5707963267948966]"),
    function("atan", "The angle whose tangent is x", 5),
    function("sinh", "The hyperbolic sine", 4),
    function("cosh", "The hyperbolic cosine", 4,
           gives="[1.0]"),
    function("tanh", "The hyperbolic tangent", 5),
    function("asinh", "The inverse of sinh", 4),
    function("acosh", "The inverse of cosh", 4,
           shown=("[1.0]",), gives="[0.0]"),
    function("atanh", "The inverse of tanh", 5),
)
# What the core takes in place of a row for some types: nobody calls them by name.
HIDDEN = (
    binary("next_half", "nextafter of float16", real="S(next_half)(x, y)"),
    binary("next_bfloat", "nextafter of bfloat16", real="S(next_bfloat)(x, y)"),
)
ALL = OPERATIONS + HIDDEN
# fmt: on


def lists() -> Iterator[str]:
    """USM_OPERATIONS_<kind>_<inputs>(EACH): EACH(name, costly, expression) for each row of the kind.

    USM_CHEAP_OPERATIONS_complex_<inputs>: only those that are not costly.
    """
    for kind, prefix in [*((kind, "USM") for kind in KINDS), ("complex", "USM_CHEAP")]:
        for inputs in (1, 2):
            each = "".join(
                f" \\\n    EACH({row.name}, {int(row.is_alone(kind))}, {row.expression(kind)})"
                for row in ALL
                if row.inputs == inputs and row.computes(kind)
                if prefix == "USM" or not row.is_alone(kind)
            )
            yield f"#define {prefix}_OPERATIONS_{kind}_{inputs}(EACH){each}\n"


def mask(row: Operation, has: Callable[[Operation, str], object]) -> int:
    return sum(1 << bit for bit, kind in enumerate(KINDS) if has(row, kind))


def header() -> str:
    parts = [
        "/* Written by csrc/kernels/operations.py. */\n#ifndef USM_OPERATIONS_H\n#define USM_OPERATIONS_H\n"
    ]
    parts += ["".join(f"#define USM_OP_{row.name} {number}\n" for number, row in enumerate(ALL))]
    parts += [f"#define USM_OPERATIONS {len(ALL)}\n"]
    parts += lists()
    parts += [
        "/* EACH(name, inputs, kinds, copies, modular, truth, promotes, result, costly); kinds: 1, 2, 4, 8, "
        "added up. */\n"
    ]
    for name, group in (("OPERATION", OPERATIONS), ("HIDDEN", HIDDEN)):
        rows = [
            f" \\\n    EACH({row.name}, {row.inputs}, "
            f"{mask(row, Operation.expression)}, {mask(row, Operation.copies)}, {int(row.modular)}, "
            f"{int(row.truth)}, {int(row.promotes)}, USM_RESULT_{row.result.upper()}, {int(row.costly)})"
            for row in group
        ]
        parts += [f"#define USM_{name}_TABLE(EACH){''.join(rows)}\n"]
    parts += ["#endif\n"]
    return "\n".join(parts)


def costly() -> str:
    """The kernels of the costly operations, for operate.cl: all of a kind, or the one that USM_ONE names."""
    parts = []
    for kind, kind_number in KIND_NUMBERS.items():
        parts.append(f"#if USM_KIND == {kind_number}\n")
        for row in OPERATIONS:
            if row.is_alone(kind):
                parts.append(f"#if USM_ONE == USM_OP_{row.name}\n")
                parts.append(f"USM_COSTLY_{row.inputs}({row.name}, {row.expression(kind)})\n#endif\n")
        parts.append("#endif\n")
    return "".join(parts)


def modules() -> dict[str, list[str]]:
    """{"source.variant": options}: of operate.cl the cheap operations of each type, and each costly one."""
    variants = {}
    for kind in KINDS:
        for dtype in COMPUTED[kind]:
            compute = f"-DUSM_COMPUTE={NUMBERS[dtype]}"
            unsigned = kind != "signed"  # which wraps as signed integers do
            if unsigned and kind != "complex":
                variants[f"matmul.{dtype}"] = [compute]
            if dtype.endswith(("int8", "int16")):  # computed in 32 bits (usm_builtin_computed)
                continue
            if unsigned:
                variants[f"scan.{dtype}"] = [compute]
            variants[f"accumulate.{dtype}"] = [compute]
            variants[f"operate.{dtype}"] = [compute, "-DUSM_ONE=-1"]
            for number, row in enumerate(OPERATIONS):
                if row.is_alone(kind):
                    variants[f"operate.{row.name}_{dtype}"] = [compute, f"-DUSM_ONE={number}"]
    return variants


def wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, 110, initial_indent=indent, subsequent_indent=indent)


def accuracy(row: Operation) -> str:
    if not any(row.is_alone(kind) for kind in KINDS):
        return "The result is the same on every device, bit for bit."
    return (
        f"The largest error is {row.ulps:g} units in the last place of the result, or less "
        "(docs/numerics.md)."
    )


def stub(row: Operation) -> str:
    """Its declaration and docstring, for csrc/py/stub.py."""
    newline = "\n"
    names = ["x"] if row.inputs == 1 else ["x1", "x2"]
    allowed = "USMArray" if row.inputs == 1 else "USMArray | complex"
    of = "bool" if row.result == "bool" else "the type of the result"
    summary = row.summary if row.summary[0].isupper() else f"Compute {row.summary}"
    values = [f"usmpy.asarray({value})" if value.startswith("[") else value for value in row.shown]
    call = f"usmpy.{row.name}({', '.join(values)}).tolist()"
    arguments = (
        "x : USMArray"
        if row.inputs == 1
        else "x1, x2 : USMArray or number\n        At least one array. Shapes broadcast, and types are "
        "promoted as in result_type."
    )
    promoted = " Integers are computed as floating-point numbers." if row.promotes else ""
    source = row.source or f"The array API standard 2025.12, {row.name}."
    return f'''def {row.name}(
{"".join(f"    {name}: {allowed},{newline}" for name in names)}    /,
    *,
    out: USMArray | None = None,
    order: _CopyOrder | None = "K",
) -> USMArray:
    """{summary}, element by element.

    Parameters
    ----------
    {arguments}
    out : USMArray, optional
        An array of {of} in its shape, on the same queue, that it is written into.
    order : {{"C", "F", "A", "K"}}, optional
        Row-major, column-major, "F" for column-major arrays and else "C", or the order of the axes of the
        first array.

    Returns
    -------
    USMArray
        `out`, or a new array.

    Raises
    ------
    TypeError
        The operation is not defined for this type, or an argument is not a USMArray.
    ValueError
        Shapes do not broadcast, or `out` has another shape or is read-only.
    ExecutionPlacementError
        The arrays share no queue.
    MemoryError
        Memory is exhausted.

    Notes
    -----
{wrapped(f"{source}{promoted} {accuracy(row)}", "    ")}

    Examples
    --------
    >>> {call}
    {row.gives}
    """
'''


def operators() -> str:
    """The declarations of Python's operators, for the class USMArray in csrc/py/stub.py."""
    lines = []
    for row in OPERATIONS:
        if row.operator is None:
            continue
        if row.inputs == 1:
            lines.append(f"    def __{row.operator}__(self) -> USMArray: ...\n")
            continue
        allowed = "USMArray | complex" if row.expression("real") is not None else "USMArray | int"
        modulus = ", mod: None = None" if row.name == "pow" else ""
        for prefix, more, result in ("", modulus, "USMArray"), ("r", modulus, "USMArray"), ("i", "", "Self"):
            value = allowed.removeprefix("USMArray | ") if prefix == "r" else allowed
            ignored = "  # type: ignore[misc]" if prefix == "i" and modulus else ""  # it has no modulus
            name = f"__{prefix}{row.operator}__"
            lines.append(f"    def {name}(self, value: {value}{more}, /) -> {result}: ...{ignored}\n")
    return "".join(lines)


def write(path: Path | str) -> None:
    """Writes the header if it changed, so that what includes it is compiled again only then."""
    path, text = Path(path), header()
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
