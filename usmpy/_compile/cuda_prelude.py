"""The text before a portable program for CUDA: the built-in functions of OpenCL C, in CUDA C++.

They are overloads and templates of a namespace around the user's, so the program's own definitions hide them.
cuda_prelude.cuh has what is written once; what repeats is made here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from .portable_builtins import FORMULAS, LIBRARY, TESTS, TYPES
from .portable_front import ATOMICS, COUNT, EXACT, exactly
from .portable_words import no_bool

with open(os.path.join(os.path.dirname(__file__), "cuda_prelude.cuh"), encoding="utf-8") as _file:
    _PARTS = {
        part[: (end := part.index("\n"))]: part[end + 1 :] for part in _file.read().split("// --- ")[1:]
    }
# Descriptions of kernels' parameters, which csrc/backends/cuda/ptx.c reads.
_CODES = {"bool": 1, "char": 2, "signed char": 2, "short": 3, "int": 4, "long": 5, "long long": 5}
_CODES |= {"unsigned char": 6, "unsigned short": 7, "unsigned int": 8, "unsigned long": 9}
_CODES |= {"unsigned long long": 9, "float": 11, "double": 12}
FACTS = "template <class T> struct usm_number { enum : unsigned { code = 0 }; };\n" + "".join(
    f"template <> struct usm_number<{type}> {{ enum : unsigned {{ code = {n} }}; }};\n"
    for type, n in _CODES.items()
)
FACTS += _PARTS["facts"]


def _reals() -> str:
    """Mathematical functions. Half computes with float. Integers alone are double."""
    lines = []

    def define(name: str, formula: str, result: str = "") -> None:
        letters = "xyz"[: COUNT[name]]
        classes, real = (", ".join(f"{word}{v.upper()}" for v in letters) for word in ("class ", ""))
        given = ", ".join(f"{v} = (R){v}_" for v in letters)
        lines.append(
            f"template <{classes}> USM_F {result or f'usm_real<{real}>'} {name}"
            f"({', '.join(f'{v.upper()} {v}_' for v in letters)}) {{ typedef usm_real<{real}> R; "
            f"typedef usm_real<R, float> T; T {given}; return {formula}; }}\n"
        )

    for name in (*LIBRARY, "sinpi", "cospi"):
        arguments = ", ".join("xyz"[: COUNT[name]])
        define(name, f"sizeof(T) == 8 ? ::{name}({arguments}) : ::{name}f({arguments})")
    for name, formula in FORMULAS.items():
        define(name, formula)
    for name, test in TESTS.items():
        define(name, test, "int")
    least = "sizeof(R) == 8 ? 0x1p-1022 : sizeof(R) == 4 ? 0x1p-126 : 0x1p-14"
    define("isnormal", f"x - x == 0 && fabs(x) >= ({least})", "int")
    define("signbit", "copysign((T)1, x) < 0", "int")
    define("ilogb", "x != x ? 2147483647 : x == 0 ? -2147483647 - 1 : ::ilogb((double)x)", "int")
    define("tanpi", "sinpi(x) / cospi(x)")
    define("fmax", "x >= y || y != y ? x : y")
    define("fmin", "x <= y || y != y ? x : y")
    define("smoothstep", "usm_smooth((z - x) / (y - x))")
    return "".join(lines)


def _exact(names: Iterable[str]) -> str:
    """Functions whose arguments have one type."""
    lines = []
    for name in names:
        letters = "xyz"[: COUNT[name]]
        test, pointer, given = f"usm_is_any<X, {', '.join(EXACT[name].split())}>", "", list(letters)
        others = ["usm_is_same<{0}, X>::value"]
        if name == "upsample":
            others = ["usm_is_same<{0}, usm_bits_of<X>>::value"]
        elif name in ATOMICS:
            pointer, given = "volatile X *", ["x", *(f"(X){v}" for v in letters[1:])]
            others = ["usm_is_any<{0}, bool, char, uchar, short, ushort, int, uint, long, ulong>"]
            others += ["usm_is_same<{0}, X>::value && usm_is_real<{0}>::value"] * name.endswith("_xchg")
        for v in letters[1:]:
            test += f" && ({' || '.join(others).format(v.upper())})"
        lines.append(
            f"template <{', '.join(f'class {v.upper()}' for v in letters)}> USM_F auto {name}"
            f"({pointer or 'X '}x{''.join(f', {v.upper()} {v}' for v in letters[1:])}) "
            f'{{ static_assert({test}, "{name}: {exactly(name)}"); if constexpr ({test}) '
            f"{{ return usm_{name.removeprefix('atomic_').removeprefix('atom_')}({', '.join(given)}); }} "
            "else { return x; } }\n"
        )
    return "".join(lines)


def _conversions() -> str:
    lines = []
    for c in TYPES:
        lines.append(
            f"template <class X> USM_F {c} as_{c}(X x) "
            f'{{ static_assert(sizeof x == sizeof({c}), "as_{c}: the argument has another size"); '
            + (f'static_assert((X)2 != (X)1, "{no_bool(c)}"); ' if "char" in c else "")
            + f"{c} y; memcpy(&y, &x, sizeof y); return y; }}"
        )
        lines.append(f"template <class X> USM_F {c} convert_{c}(X x) {{ return ({c})x; }}")
        if c in ("float", "double", "half"):
            lines.append(f"template <class X> USM_F {c} convert_{c}_rte(X x) {{ return ({c})x; }}")
            continue
        for mode in ("", "_rtz", "_rte", "_rtp", "_rtn"):
            how = f"usm_{mode[1:] or 'rtz'}"
            for sat in ("", "_sat"):
                if mode or sat:
                    lines.append(
                        f"template <class X> USM_F {c} convert_{c}{sat}{mode}(X x) "
                        f"{{ return usm_convert{sat}<{c}, {how}>(x); }}"
                    )
    lines.append("template <class P> USM_F float vload_half(size_t i, P p) { return (float)p[i]; }")
    for mode in ("", "_rte"):
        lines.append(
            f"template <class X, class P> USM_F void vstore_half{mode}(X x, size_t i, P p) "
            "{ p[i] = (half)x; }"
        )
    return "\n".join(lines) + "\n"


def _ordered() -> str:
    """Atomics of OpenCL C 2, without and with an order."""
    compare = "T wanted = *c, old = usm_cmpxchg(p, wanted, (T)v); *c = old; "
    compare += "return usm_to_bits(old) == usm_to_bits(wanted);"
    functions = {
        "void init": ("volatile T *p, V v", "*p = (T)v;"),
        "T load": ("const volatile T *p", "return *p;"),
        "void store": ("volatile T *p, V v", "(void)usm_xchg(p, (T)v);"),
        "T exchange": ("volatile T *p, V v", "return usm_xchg(p, (T)v);"),
        "bool compare_exchange_strong": ("volatile T *p, T *c, V v", compare),
        "bool compare_exchange_weak": ("volatile T *p, T *c, V v", compare),
        "bool flag_test_and_set": ("volatile int *p", "return usm_xchg(p, 1);"),
        "void flag_clear": ("volatile int *p", "(void)usm_xchg(p, 0);"),
    }
    for name in ("add", "sub", "or", "xor", "and", "min", "max"):
        functions[f"T fetch_{name}"] = ("volatile T *p, V v", f"return usm_{name}(p, (T)v);")
    lines = []
    for head, (parameters, body) in functions.items():
        result, name = head.split()
        classes = ", ".join(f"class {T}" for T in "TV" if f"{T} " in parameters)
        template = f"template <{classes}> " if classes else ""
        for suffix, more, order in (
            ("", "", "memory_order_seq_cst"),
            ("_explicit", ", int order, int = 0, int = 0", "order"),
        ):
            lines.append(
                f"{template}USM_F {result} atomic_{name}{suffix}({parameters}{more}) "
                f"{{ usm_ordered ordered({order}); {body} }}\n"
            )
    return "".join(lines)


def text(names: set[str]) -> str:
    """The parts of the prelude that a program with these names needs."""
    exact = _exact(name for name in EXACT if name not in ATOMICS)
    head, half, traits, places = (_PARTS[name] for name in ("head", "half", "traits", "places"))
    parts = [head, FACTS, half, traits, places, _reals(), _PARTS["mixed"], _PARTS["integers"], exact]
    parts += [_PARTS["conversions"], _conversions()]
    if any(name.startswith(("atom", "memory_")) for name in names):
        parts += [_PARTS["atomics"], _ordered(), _exact(ATOMICS)]
    return "".join(parts)
