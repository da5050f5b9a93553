"""What stands in front of a portable program for drivers: macros of the built-in functions that it calls.

A driver refuses `fmax(x, 1)`, and has native functions of float alone. The macros give all arguments one
type, by the rule of the host (portable_builtins.py) and of CUDA (cuda_prelude.py), and call the driver's
function of that type. A function or macro of the program with the name of a built-in one gets no macro.
"""

from __future__ import annotations

import re

from .included import files
from .portable_words import no_bool

# Functions of reals, by their number of arguments. Where all are integers, they become double.
_ONE = """
acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos cosh cospi degrees erf erfc exp exp10 exp2
expm1 fabs floor ilogb isfinite isinf isnan isnormal length lgamma log log10 log1p log2 logb normalize radians
rint round rsqrt sign signbit sin sinh sinpi sqrt tan tanh tanpi tgamma trunc
"""
_TWO = """
atan2 atan2pi copysign distance dot fdim fmax fmin fmod hypot isequal isgreater isgreaterequal isless
islessequal islessgreater isnotequal isordered isunordered maxmag minmag nextafter pow powr remainder step
"""
COUNT = {**dict.fromkeys(_ONE.split(), 1), **dict.fromkeys(_TWO.split(), 2)}
COUNT |= dict.fromkeys(("fma", "mad", "mix", "smoothstep"), 3)
# Functions of float alone, and what stands for them where the arguments have another type.
_FAST = {
    f"{prefix}_{name}": f"{name}(usm_x)"
    for prefix in ("native", "half")
    for name in ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan")
}
_FAST |= {f"fast_{name}": f"{name}(usm_x)" for name in ("length", "normalize")}
_FAST |= {"fast_distance": "distance(usm_x, usm_y)"}
for _prefix in ("native", "half"):
    _FAST[f"{_prefix}_recip"] = "1 / usm_x"
    _FAST[f"{_prefix}_divide"] = "usm_x / usm_y"
    _FAST[f"{_prefix}_powr"] = "powr(usm_x, usm_y)"
COUNT |= {name: 2 if "usm_y" in other else 1 for name, other in _FAST.items()}
_ORDERED = {"max": 2, "min": 2, "clamp": 3}  # of all types, and of one type narrower than int, too
# Whose last argument is an integer, or a pointer, which is passed on.
_WITH_INTEGER = dict.fromkeys(("ldexp", "pown", "rootn"), 2)
_WITH_POINTER = {**dict.fromkeys(("frexp", "fract", "lgamma_r", "modf", "sincos"), 2), "remquo": 3}
COUNT |= _ORDERED | _WITH_INTEGER | _WITH_POINTER | {"rotate": 2, "select": 3}
NAMES = frozenset([*COUNT, "as_char", "as_uchar"])

_COMMON = """\
#ifdef cl_khr_fp16
#define USM_HALF(x) half : (x),
#else
#define USM_HALF(x)
#endif
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#define USM_REAL(x) __typeof__(_Generic((x), float : 0.0f, USM_HALF(x) default : (double)0))
#else
#define USM_REAL(x) __typeof__(_Generic((x), USM_HALF(x) default : 0.0f))
#endif
"""
# Of the host, too. USM_ONE: the type of x if all have it; else that of the sum, as for bool, which is int.
SAME = """\
#define USM_SAME(x, y) __builtin_types_compatible_p(__typeof__(x), __typeof__(y))
#define USM_ONE(same, x, sum) __typeof__(__builtin_choose_expr((same) > USM_SAME(x, bool), x, sum))
"""


def _checked(test: str, name: str, message: str) -> str:
    return f' _Static_assert({test}, "{name}: {message}");'


def definition(name: str, body: str) -> str:
    """The macro of a function. The body sees usm_x, usm_y, usm_z of one type, usm_t, but for a last one."""
    letters = "xyz"[: COUNT[name]]
    last = f"usm_{letters[-1]}"
    with_integer = name in _WITH_INTEGER or name in ("rotate", "select")
    alike = letters[:-1] if with_integer or name in _WITH_POINTER else letters
    given = " ".join(f"__auto_type usm_{v}_ = ({v});" for v in letters)
    total = " + ".join(f"usm_{v}_" for v in alike)
    type, values = f"USM_REAL({total})", " ".join(f"usm_t usm_{v} = usm_{v}_;" for v in alike)
    if name in _ORDERED:
        type = f"USM_ONE({' & '.join(f'USM_SAME(usm_x_, usm_{v}_)' for v in letters[1:])}, usm_x_, {total})"
    elif name in _WITH_POINTER:
        is_real = name in ("fract", "modf", "sincos")
        to, what = ("usm_t", "the type of the first one") if is_real else ("int", "int")
        values += f" __auto_type {last} = {last}_;"
        values += _checked(
            f"USM_SAME(((void)0, *{last}_), {to})", name, f"the last argument is a pointer to {what}"
        )
    elif with_integer:
        real = f"__builtin_types_compatible_p(USM_REAL({last}_), __typeof__({last}_))"
        given += _checked(f"!{real}", name, "the last argument is an integer; write (int)(n)")
        if name in ("rotate", "select"):
            type = "USM_ONE(1, usm_x_, usm_x_ + 0)"
        to = "usm_t" if name == "rotate" else "int" if name != "select" else "long"
        values += f" {to} {last} = ({to})({last}_ | 0);"
    if name == "select":
        given += _checked(
            "USM_SAME(usm_x_, usm_y_)", name, "the first two arguments have one type; write a cast"
        )
    return f"#define {name}({', '.join(letters)}) ({{ {given} typedef {type} usm_t; {values} {body}; }})\n"


def _macro(name: str) -> str:
    if name.startswith("as_"):
        type = name[3:]
        return (
            f"#undef {name}\n#define {name}(x) ({{ _Static_assert(!USM_SAME(((void)0, (x)), bool), "
            f'"{no_bool(type)}"); __builtin_astype((x), {type}); }})\n'
        )
    own = {"dot": "usm_x * usm_y", "length": "fabs(usm_x)", "distance": "fabs(usm_x - usm_y)"}
    own |= {"select": "(usm_t)(usm_z ? usm_y : usm_x)", "normalize": "sign(usm_x)"}  # wrong at Intel for half
    call = own.get(name) or f"usm_{name}({', '.join(f'usm_{v}' for v in 'xyz'[: COUNT[name]])})"
    if name in _FAST:
        call = f"_Generic(usm_x, float : {call}, default : {_FAST[name]})"
    pocl = f"#ifdef {name}\n#undef {name}\n#define usm_{name} _cl_{name}\n"  # its names are macros
    return f"{pocl}#else\n#define usm_{name} {name}\n#endif\n{definition(name, call)}"


def _defined(text: str, names: set[str]) -> set[str]:
    """The names that a program defines itself, as a function or a macro; from its text, without a parser."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    any_name, inside = "|".join(sorted(names)), r"(?:[^(){};]|\([^(){};]*\))*"
    function = rf"\b({any_name})\s*\({inside}\)\s*(?:__attribute__\s*\(\({inside}\)\)\s*)*\{{"
    macro = rf"(?:(?:#|%:)\s*(?:define|undef)\s+|-[DU]\s*)({any_name})\b"
    return {name for pattern in (function, macro) for name in re.findall(pattern, text)}


def front(source: str, options: str) -> str:
    """What stands in front of a program."""
    text = "\n".join(
        [source, options, *(part.decode("utf-8", "replace") for part in files(source, options)[0])]
    )
    words = NAMES if "##" in text or "%:%:" in text else re.findall(r"[^\W\d]\w*", text)
    used = set(NAMES.intersection(words))
    used -= _defined(text, used) if used else set()
    return "".join([_COMMON, SAME, *map(_macro, sorted(used)), "#line 1\n"]) if used else ""
