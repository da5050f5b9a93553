"""The calls of built-in functions that builtin_table.py makes: each function with arguments of every type."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

INTEGERS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
REALS = ("half", "float", "double")
TYPES = ("bool", *INTEGERS, *REALS)
LITERALS = ("'a'", "1", "1u", "1l", "1ul", "true", "1.5", "1.5f", "1.5h")
POINTERS = tuple(f"{space} {type}*" for space in ("private", "global") for type in ("int", "float", "double"))
FAMILIES = {"any": TYPES, "integer": INTEGERS, "real": REALS, "literal": LITERALS, "pointer": POINTERS}
FAMILIES |= {"whole": LITERALS[:6], "fraction": LITERALS[6:]}


class Function(NamedTuple):
    """A built-in function, and how its results are compared."""

    name: str
    ulp: float | None = 0  # the error that OpenCL C allows; 0: equal bits; None: the type alone counts
    half: float | None = 0  # the same in half precision
    defined: str = ""  # of x, y, z (arrays): where the result is defined
    reals: bool = False  # arguments are reals: integers become double
    void: bool = False
    options: str = ""


class Call(NamedTuple):
    function: Function
    arguments: tuple[str, ...]  # a type, a literal, or a pointer as "space type*"

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(self.arguments)})"


Maker = Callable[[], Iterator[tuple[str, ...]]]


def one() -> Iterator[tuple[str, ...]]:
    yield from ((a,) for a in (*TYPES, *LITERALS, *POINTERS))


def places() -> Iterator[tuple[str, ...]]:
    """Without constants, and without get_work_dim(), of which PoCL 3.1 ends the process."""
    yield from ((a,) for a in (*TYPES, *POINTERS))


def two() -> Iterator[tuple[str, ...]]:
    yield from itertools.product(TYPES, TYPES)
    yield from ((t, a) for t in TYPES for a in LITERALS)
    yield from ((a, t) for t in ("int", "float", "double") for a in LITERALS)
    yield from ((t, a) for t in ("int", "float") for a in POINTERS)


def three() -> Iterator[tuple[str, ...]]:
    """One argument differs from the other two; literals; three types."""
    for t, s in itertools.product(TYPES, TYPES):
        yield from dict.fromkeys([(t, t, s), (t, s, t), (s, t, t)])
    yield from ((t, a, a) for t in TYPES for a in LITERALS)
    yield from ((t, t, a) for t in ("char", "uint", "float", "half") for a in LITERALS)
    yield from itertools.permutations(("int", "float", "double"))
    yield from itertools.permutations(("bool", "long", "float"))


def cells(second: Iterable[str]) -> Maker:
    """A value, and a pointer to its type or another one."""

    def make() -> Iterator[tuple[str, ...]]:
        for t, p in itertools.product((*TYPES, "1", "1.5", "1.5f"), second):
            yield from ((t, f"{space} {p}*") for space in ("private", "global"))
        yield from (("int", t) for t in TYPES)

    return make


def quotients() -> Iterator[tuple[str, ...]]:
    for t, s in itertools.product(TYPES, TYPES):
        yield (t, s, "private int*")
    yield from (("float", "float", f"{space} {p}*") for space in ("private", "global") for p in INTEGERS)


def atomic(arguments: int, targets: Iterable[str]) -> Maker:
    def make() -> Iterator[tuple[str, ...]]:
        values = [("int",) * arguments] if not arguments else [
            *((t,) * arguments for t in (*TYPES, "1")),
            *((("int", "long"), ("float", "int")) if arguments == 2 else ()),
        ]  # fmt: skip
        for p, value in itertools.product(targets, values):
            yield (f"global {p}*", *value)
        yield from ((f"local {p}*", *values[0]) for p in ("int", "uint", "long"))
        yield ("float", *values[0])

    return make


def compared(arguments: Iterable[str]) -> Maker:
    """Pointers to the object and to the expected value, and a new one."""
    return lambda: (
        (f"global {p}*", f"private {e}*", v)
        for p in arguments
        for e in ("int", "uint", "long", "float")
        for v in ("int", "long", "float", "1")
    )


_NOT_NAN = "(x == x) & (y == y)"
_FINITE = "isfinite(x) & isfinite(y) & isfinite(z)"
_ULP = {
    **dict.fromkeys(["acos", "asin", "acosh", "asinh", "cos", "cosh", "cospi", "sin", "sinh", "sinpi"], 4),
    **dict.fromkeys(["acospi", "asinpi", "atan", "atanpi", "atanh", "tan", "tanh"], 5),
    **dict.fromkeys(["exp", "exp2", "exp10", "expm1", "log", "log2", "log10"], 3),
    **dict.fromkeys(["cbrt", "log1p", "rsqrt", "degrees", "radians"], 2),
    **dict.fromkeys(["erf", "erfc", "tgamma"], 16), "tanpi": 6,
}  # fmt: skip
_HALF = {**dict.fromkeys(["erf", "erfc", "tgamma"], 4), "rsqrt": 1}
_FAST = ["cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan", "recip"]
_EXACT_1 = ["ceil", "fabs", "floor", "rint", "round", "trunc", "sqrt", "sign", "logb", "ilogb"]
_EXACT_1 += ["isnan", "isinf", "isfinite", "isnormal", "signbit"]
_RELATIONS = ["isequal", "isnotequal", "isgreater", "isgreaterequal", "isless", "islessequal"]
_RELATIONS += ["islessgreater", "isordered", "isunordered"]
_ATOMS = ("int", "uint", "long", "ulong", "float", "double", "short")
_ATOMIC_TYPES = ("atomic_int", "atomic_uint", "atomic_long", "atomic_ulong", "atomic_float", "int")


def functions() -> Iterator[tuple[Function, Maker]]:
    for name, ulp in _ULP.items():
        yield Function(name, ulp, _HALF.get(name, 2), reals=True), one
    for name in _EXACT_1:
        yield Function(name, reals=True), one
    for name in ("length", "normalize"):
        yield Function(name, 4, 4, "isfinite(x)", reals=True), one
    for name in ("lgamma", "fast_length", "fast_normalize"):
        yield Function(name, None, None, reals=True), one
    for prefix, name in itertools.product(("native_", "half_"), _FAST):
        yield Function(prefix + name, None, None, reals=True), one
    for name, bound in (("atan2", 6), ("atan2pi", 6), ("hypot", 4), ("pow", 16), ("powr", 16)):
        yield Function(name, bound, 4 if name[0] == "p" else 2, reals=True), two
    for name in ("copysign", "fdim", "fmod", "nextafter", "remainder", *_RELATIONS):
        yield Function(name, reals=True), two
    for name in ("fmax", "fmin", "maxmag", "minmag"):
        yield Function(name, defined="(x != 0) | (y != 0)", reals=True), two
    yield Function("step", defined=_NOT_NAN, reals=True), two
    for name in ("dot", "distance"):
        yield Function(name, 16, 16, _FINITE, reals=True), two
    for name in ("fast_distance", "native_divide", "native_powr", "half_divide", "half_powr"):
        yield Function(name, None, None, reals=True), two
    yield Function("fma", reals=True), three
    yield Function("mad", None, None, reals=True), three
    yield Function("mix", 64, 64, f"{_FINITE} & (z >= 0) & (z <= 1)", reals=True), three
    yield Function("smoothstep", 64, 64, f"{_FINITE} & (x < y)", reals=True), three
    for name in ("max", "min"):
        yield Function(name, defined=f"{_NOT_NAN} & ((x != 0) | (y != 0))"), two
    yield Function("clamp", defined=f"{_NOT_NAN} & (z == z) & (y <= z) & ((x != 0) | (y != 0))"), three
    for name in ("pown", "rootn"):
        yield Function(name, 16, 4, "y != 0" if name == "rootn" else "", reals=True), two
    yield Function("ldexp", reals=True), two
    yield Function("select"), three
    yield Function("bitselect"), three
    for name in ("abs", "clz", "ctz", "popcount", "any", "all", "nan"):
        yield Function(name), one
    for name in ("abs_diff", "add_sat", "sub_sat", "hadd", "rhadd", "mul_hi", "rotate", "upsample"):
        yield Function(name), two
    small = "(abs(x) < 8388608) & (abs(y) < 8388608)"
    yield Function("mul24", defined=small), two
    for name in ("mad_hi", "mad_sat"):
        yield Function(name), three
    yield Function("mad24", defined=small), three
    for t in (*INTEGERS, *REALS):
        yield Function(f"as_{t}"), one
        modes = ("", "_sat") if t in INTEGERS else ("",)
        for sat, mode in itertools.product(modes, ("", "_rte", "_rtz", "_rtp", "_rtn")):
            if t in INTEGERS or mode in ("", "_rte"):
                yield Function(f"convert_{t}{sat}{mode}", defined="" if sat or t in REALS else "fits"), one
    yield Function("frexp", defined="isfinite(x)", reals=True), cells(("int", "uint", "long", "float"))
    for name, defined in (("modf", ""), ("fract", "isfinite(x) & (x % 1 != 0)")):  # either zero
        yield Function(name, defined=defined, reals=True), cells(("float", "double", "half", "int"))
    yield Function("sincos", 4, 2, reals=True), cells(("float", "double", "half", "int"))
    yield Function("lgamma_r", None, None, reals=True), cells(("int", "uint", "float"))
    yield Function("remquo", None, None, reals=True), quotients
    for prefix in ("atomic_", "atom_"):
        for name in ("add", "sub", "and", "or", "xor", "xchg", "min", "max"):
            yield Function(prefix + name), atomic(1, _ATOMS)
        for name in ("inc", "dec"):
            yield Function(prefix + name), atomic(0, _ATOMS)
        yield Function(f"{prefix}cmpxchg"), atomic(2, _ATOMS)
    for name in ("add", "sub", "and", "or", "xor", "min", "max"):
        yield Function(f"atomic_fetch_{name}"), atomic(1, _ATOMIC_TYPES)
    yield Function("atomic_exchange"), atomic(1, _ATOMIC_TYPES)
    yield Function("atomic_load"), atomic(0, _ATOMIC_TYPES)
    for name in ("atomic_store", "atomic_init"):
        yield Function(name, void=True), atomic(1, _ATOMIC_TYPES)
    for name in ("strong", "weak"):
        yield Function(f"atomic_compare_exchange_{name}"), compared(_ATOMIC_TYPES)
    for name in ("id", "size", "offset"):
        yield Function(f"get_global_{name}"), places
    for name in ("local_id", "local_size", "group_id", "num_groups"):  # the device chooses the groups
        yield Function(f"get_{name}", None), places
    yield Function("get_enqueued_local_size", None), places
    for name in ("global", "local"):
        yield Function(f"get_{name}_linear_id", None), lambda: iter([(), ("int",)])
    yield Function("get_work_dim"), lambda: iter([("int",)])


def calls() -> list[Call]:
    made = [Call(function, arguments) for function, make in functions() for arguments in make()]
    return list(dict.fromkeys(made))


def sample(made: list[Call], number: int) -> list[Call]:
    """A fixed choice, which a new function changes little."""
    chosen = sorted(made, key=lambda call: zlib.crc32(str(call).encode()))[:number]
    return [call for call in made if call in set(chosen)]
