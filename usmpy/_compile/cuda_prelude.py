"""The text before a portable program for CUDA: the built-in functions of OpenCL C, in CUDA C++.

They are overloads and templates of a namespace around the user's, so the program's own definitions hide them.
cuda_prelude.cuh has what is written once; what repeats is made here.
"""

from __future__ import annotations

from collections.abc import Iterable

from .included import own_parts
from .parser import COMPLEX
from .portable_builtins import FORMULAS, LIBRARY, TESTS, TYPES
from .portable_front import ATOMICS, COUNT, EXACT, ORDERED_ATOMICS, exactly, operation
from .portable_words import no_bool

_PARTS = own_parts("cuda_prelude.cuh")
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
            f"typedef {'R' if name == 'mix' else 'usm_real<R, float>'} T; T {given}; return {formula}; }}\n"
        )

    for name in (*LIBRARY, "sinpi", "cospi"):
        arguments = ", ".join("xyz"[: COUNT[name]])
        define(name, f"sizeof(T) == 8 ? ::{name}({arguments}) : ::{name}f({arguments})")
    define("nextafter", "usm_nextafter((R)x, (R)y)")
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
        test = f"usm_is_any<X, {', '.join(EXACT[name].split())}>"
        other = "usm_bits_of<X>" if name == "upsample" else "X"
        test += "".join(f" && usm_is_same<{v.upper()}, {other}>::value" for v in letters[1:])
        lines.append(
            f"template <{', '.join(f'class {v.upper()}_' for v in letters)}> USM_F auto {name}"
            f"({', '.join(f'{v.upper()}_ {v}_' for v in letters)}) {{ "
            + "".join(
                f"typedef usm_plain<{v.upper()}_> {v.upper()}; {v.upper()} {v} = {v}_; " for v in letters
            )
            + f'static_assert({test}, "{name}: {exactly(name)}"); if constexpr ({test}) '
            f"{{ return usm_{name}({', '.join(letters)}); }} "
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
        lines.append(
            f"template <class X> USM_F {c} convert_{c}(X x) {{ return ({c})(x * (X)1); }}"
        )  # no pointer
        if c in ("float", "double", "half"):
            lines.append(f"template <class X> USM_F {c} convert_{c}_rte(X x) {{ return ({c})(x * (X)1); }}")
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


def _atomics() -> str:
    """Those of OpenCL C 1, and those of OpenCL C 2, without and with an order."""
    lines = []
    for name in ATOMICS:
        base = operation(name)
        letters, step, result = "xyz"[: COUNT[name]], base.removeprefix("fetch_"), "X"
        body = f"return usm_{step}({', '.join(['x', *(f'(X){v}' for v in letters[1:])])});"
        if base == "init":
            body, result = "*x = (X)y;", "void"
        elif base == "load":
            body = "return *x;"
        elif base in ("store", "exchange"):
            result = "X" if base == "exchange" else "void"
            body = f"{'return' if result == 'X' else '(void)'} usm_xchg(x, (X)y);"
        elif base.startswith("flag"):
            result = "bool" if "set" in base else "void"
            body = f"{'return' if result == 'bool' else '(void)'} usm_xchg(x, (X){int('set' in base)});"
        elif base.startswith("compare"):
            result, body = "bool", "X wanted = *y, old = usm_cmpxchg(x, wanted, (X)z); *y = old; "
            body += "return usm_to_bits(old) == usm_to_bits(wanted);"
        more = ", int order, int = 0, int = 0" * name.endswith("_explicit")
        order = f"usm_ordered ordered({'order' if more else 'memory_order_seq_cst'}); "
        lines.append(_atomic(name, result, more, order * (name in ORDERED_ATOMICS) + body))
    return "".join(lines)


def _atomic(name: str, result: str, more: str, body: str) -> str:
    """A function of a pointer to X, and values that have its type or are integers."""
    letters = "xyz"[: COUNT[name]]
    test = f"usm_is_any<X, {', '.join(EXACT[name].split())}>"
    given = f"{'const ' * name.startswith('atomic_load')}volatile X *x"
    for v in letters[1:]:
        if v == "y" and "_compare_" in name:
            given += ", Y *y"
            test += " && usm_is_same<Y, X>::value"
            continue
        given += f", {v.upper()} {v}"
        one = f"usm_is_any<usm_plain<{v.upper()}>, bool, char, uchar, short, ushort, int, uint, long, ulong>"
        if "float" in EXACT[name]:
            one += f" || usm_is_same<{v.upper()}, X>::value && usm_is_real<X>::value"
        test += f" && ({one})"
    classes = ", ".join(f"class {v.upper()}" for v in letters)
    return (
        f"template <{classes}> USM_F {result} {name}({given}{more}) "
        f'{{ static_assert({test}, "{name}: {exactly(name)}"); if constexpr ({test}) {{ {body} }} '
        f"else {{ return {result}(); }} }}\n"
    )


def text(names: set[str]) -> str:
    """The parts of the prelude that a program with these names needs."""
    exact = _exact(name for name in EXACT if name not in ATOMICS)
    head, half, traits, places = (_PARTS[name] for name in ("head", "half", "traits", "places"))
    parts = [head, FACTS, half, traits, places, _reals(), _PARTS["mixed"], _PARTS["integers"], exact]
    parts += [_PARTS["conversions"], _conversions()]
    if any(name.startswith(("atom", "memory_")) for name in names):
        parts += [_PARTS["atomics"], _atomics()]
    parts += [_PARTS["complex"]] if any(name.endswith(tuple(COMPLEX)) for name in names) else []
    return "".join(parts)
