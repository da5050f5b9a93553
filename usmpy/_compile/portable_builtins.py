"""The built-in functions of the portable language, in GNU C. Those that a program uses are written before it.

Arguments are evaluated once, and appear once in what a macro becomes, so that nesting stays small.
"""

from __future__ import annotations

import re
from collections.abc import Set

from .portable_front import COUNT, EXACT, NEXT_HALF, ORDERED_ATOMICS, SAME, definition, operation
from .portable_words import no_bool

# Before everything.
CORE = """\
#undef linux
#undef unix
#undef i386
#define usm_inff() __builtin_inff()
#define usm_inf() __builtin_inf()
#define usm_nanf() __builtin_nanf("")
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Bool bool;
#ifdef __FLT16_MAX__
typedef _Float16 half;
#define USM_HALF(x) _Float16 : (x),
#define USM_IS_HALF(x) USM_IS(x, _Float16)
#else
#define USM_HALF(x)
#define USM_IS_HALF(x) 0
#endif
#define USM_IS_DOUBLE(x) USM_IS(x, double)
struct usm_item {
    size_t g0, g1, g2, l0, l1, l2, w0, w1, w2, gn0, gn1, gn2, ln0, ln1, ln2;
    struct usm_fibers *fibers;
};
#define USM_REAL(x) __typeof__(_Generic((x), float : 0.0f, USM_HALF((_Float16)0) default : 0.0))
#define USM_UNSIGNED(x) __typeof__(_Generic((x), char : (uchar)0, uchar : (uchar)0, short : (ushort)0, \
    ushort : (ushort)0, int : 0u, uint : 0u, default : 0ul))
#define USM_WIDE(x) __typeof__(_Generic((x), uint : 0ul, long : (__int128)0, ulong : (unsigned __int128)0, \
    default : 0l))
#define USM_BITS(x) ((int)(8 * sizeof(x)))
#define USM_SHIFT(x, sign, n) ((x) sign ((n) & (USM_BITS(+(x)) - 1)))
#define USM_SHIFT_ONCE(x, sign, n) ({ __auto_type usm_s = +(x); usm_s sign ((n) & (USM_BITS(usm_s) - 1)); })
#define USM_SIGNED(type) ((type)-1 < (type)1)
#define USM_MOST(type) ((type)(USM_SIGNED(type) ? ((~0ull >> 1) >> (64 - 8 * sizeof(type))) : ~0ull))
#define USM_LEAST(type) ((type)(USM_SIGNED(type) ? ((~0ull << 63) >> 0) >> (64 - 8 * sizeof(type)) : 0))
"""
CORE += SAME

CORE_REAL = "_Generic({x}, float : __builtin_{name}f, USM_HALF(__builtin_{name}f) default : __builtin_{name})"

BUILTINS: dict[str, str] = {}


def _define(signature: str, text: str) -> None:
    BUILTINS[signature.partition("(")[0]] = f"#define {signature} {text}"


# Functions of the index space, which need the hidden parameter.
_PLACES = {"global_id": "g", "local_id": "l", "group_id": "w", "global_size": "gn", "local_size": "ln"}
for _name, _fields in (*_PLACES.items(), ("enqueued_local_size", "ln")):
    _values = ", ".join(f"usm_item.{_fields}{i}" for i in range(3))
    _define(f"get_{_name}(d)", f"usm_pick((d), {_values}, {int('size' in _name)})")
_define(
    "get_num_groups(d)",
    "usm_pick((d), usm_groups(usm_item.gn0, usm_item.ln0), usm_groups(usm_item.gn1, usm_item.ln1),"
    " usm_groups(usm_item.gn2, usm_item.ln2), 1)",
)
_define("get_work_dim()", "(usm_item.gn2 > 1 ? 3u : usm_item.gn1 > 1 ? 2u : 1u)")
_define("get_global_linear_id()", "((usm_item.g2 * usm_item.gn1 + usm_item.g1) * usm_item.gn0 + usm_item.g0)")
_define("get_local_linear_id()", "((usm_item.l2 * usm_item.ln1 + usm_item.l1) * usm_item.ln0 + usm_item.l0)")
for _name in ("barrier", "work_group_barrier"):
    _define(f"{_name}(...)", "usm_barrier(usm_item.fibers)")
ITEM = frozenset(BUILTINS)
BARRIERS = frozenset({"barrier", "work_group_barrier"})
_GROUPS = ["local_id", "group_id", "local_size", "enqueued_local_size", "num_groups", "local_linear_id"]
GROUPS = BARRIERS.union(f"get_{name}" for name in _GROUPS)
PICK = """\
static inline size_t usm_pick(uint usm_d, size_t usm_a, size_t usm_b, size_t usm_c, size_t usm_other)
{
    return usm_d == 0 ? usm_a : usm_d == 1 ? usm_b : usm_d == 2 ? usm_c : usm_other;
}
static inline size_t usm_groups(size_t usm_g, size_t usm_l)
{
    return (usm_g + usm_l - 1) / usm_l;
}
"""
_define("get_global_offset(d)", "usm_pick((d), 0, 0, 0, 0)")
for _name in ("mem_fence", "read_mem_fence", "write_mem_fence", "atomic_work_item_fence"):
    _define(f"{_name}(...)", "__atomic_thread_fence(__ATOMIC_SEQ_CST)")
_define("prefetch(p, n)", "((void)(p), (void)(n))")
_define("printf(...)", "__builtin_printf(__VA_ARGS__)")


# Floating point: the type is float, double or half by the arguments, double where all are integers.
def _real(name: str, body: str, type: str = "usm_t") -> None:
    """body sees usm_x, usm_y, usm_z of one type, usm_t."""
    BUILTINS[name] = definition(name, f"({type})({body})").rstrip()


def _libm(function: str, *args: str) -> str:
    return CORE_REAL.format(x="usm_x", name=function) + f"({', '.join(args)})"


# For CUDA, too, whose T is at least float.
FORMULAS = {"rsqrt": "1 / sqrt(x)", "mad": "x * y + z", "mix": "x + (y - x) * z", "dot": "x * y"}
FORMULAS |= {"step": "y < x ? (T)0 : (T)1", "sign": "x > 0 ? (T)1 : x < 0 ? (T)-1 : x == 0 ? x : (T)0"}
FORMULAS |= {"degrees": "x * (T)57.295779513082320876798", "radians": "x * (T)0.017453292519943295769"}
for _name in ("acos(x)", "asin(x)", "atan(x)", "atan2(x, y)"):
    FORMULAS[f"{_name.partition('(')[0]}pi"] = f"{_name} * (T)0.318309886183790671538"
for _prefix in ("", "fast_"):
    FORMULAS |= {f"{_prefix}length": "fabs(x)", f"{_prefix}distance": "fabs(x - y)"}
    FORMULAS[f"{_prefix}normalize"] = "x > 0 ? (T)1 : x < 0 ? (T)-1 : x"
for _name, _sign in (("maxmag", ">"), ("minmag", "<")):
    _same = f"x {_sign}= y || y != y ? x : y"
    FORMULAS[_name] = f"fabs(x) {_sign} fabs(y) ? x : fabs(y) {_sign} fabs(x) ? y : {_same}"
_DEFINED = "y ? y - y == 0 || (x != 1 && y == y) : x > 0 && x - x == 0"
FORMULAS["powr"] = f"x >= 0 && ({_DEFINED}) ? pow(x, y) : 0 / (T)0"  # NaN where y * log(x) is
FAST = ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan")
for _prefix in ("native_", "half_"):
    FORMULAS |= {f"{_prefix}{name}": FORMULAS.get(name, f"{name}(x)") for name in FAST}
    FORMULAS |= {f"{_prefix}recip": "1 / x", f"{_prefix}divide": "x / y", f"{_prefix}powr": "pow(x, y)"}
TESTS = {"isnan": "x != x", "isfinite": "x - x == 0", "isinf": "x == x && x - x != 0"}
_SIGNS = {"equal": "==", "notequal": "!=", "greater": ">", "greaterequal": ">=", "less": "<"}
TESTS |= {f"is{name}": f"x {sign} y" for name, sign in (*_SIGNS.items(), ("lessequal", "<="))}
TESTS |= {"islessgreater": "x < y || x > y", "isordered": "x == x && y == y"}
TESTS["isunordered"] = "x != x || y != y"


def _in_c(formula: str) -> str:
    """With the names of macros, and functions of the type of usm_x."""
    formula = re.sub(r"\b([xyz])\b", r"usm_\1", formula).replace("(T)", "(usm_t)")
    return re.sub(r"\b([a-z]\w+)(?=\()", lambda match: CORE_REAL.format(x="usm_x", name=match[1]), formula)


for _name, _formula in FORMULAS.items():
    _real(_name, _in_c(_formula))
for _name, _formula in TESTS.items():
    _real(_name, _in_c(_formula), "int")
_real("isnormal", "__builtin_isnormal(usm_x)", "int")
_real("ilogb", f"usm_x != usm_x ? 2147483647 : {_libm('ilogb', 'usm_x')}", "int")
_real("signbit", "__builtin_signbit(usm_x) != 0", "int")
# Not those of libm, which are calls if NaN must be handled.
# Quiet comparisons: GCC 14 does not vectorise a loop with one that may trap if a bound is constant.
_real("fmax", "__builtin_isgreaterequal(usm_x, usm_y) || usm_y != usm_y ? usm_x : usm_y")
_real("fmin", "__builtin_islessequal(usm_x, usm_y) || usm_y != usm_y ? usm_x : usm_y")
_real(
    "smoothstep",
    "({ usm_t usm_r = (usm_z - usm_x) / (usm_y - usm_x); "
    "usm_r = __builtin_isless(usm_r, (usm_t)0) ? (usm_t)0 : "
    "__builtin_isgreater(usm_r, (usm_t)1) ? (usm_t)1 : usm_r; usm_r * usm_r * (3 - 2 * usm_r); })",
)
_ABS_X = _libm("fabs", "usm_x")
# sin(pi * x) by the nearest multiple of a half, which is exact to take away. Large numbers are even.
_TURN = (
    "typedef __typeof__((usm_t)0 + 0.0f) usm_f; "  # not half
    f"usm_f usm_w = {_ABS_X} < (usm_f)0x1p60 ? usm_x : usm_x * 0, usm_q = {_libm('rint', 'usm_w + usm_w')}; "
    "usm_f usm_r = (usm_w - usm_q / 2) * (usm_f)3.141592653589793238463; "
    f"int usm_k = (int)(usm_q - 4 * {_libm('floor', 'usm_q / 4')}); "
    f"usm_f usm_s = {_libm('sin', 'usm_r')}, usm_c = {_libm('cos', 'usm_r')}; "
)
_ZERO = _libm("copysign", "(usm_t)0", "{}")
_SINPI = f"usm_r == 0 && !(usm_k & 1) ? {_ZERO.format('usm_x')} : "
_SINPI += "(usm_k & 1 ? usm_c : usm_s) * (usm_k & 2 ? -1 : 1)"
_COSPI = "(usm_k & 1 ? usm_s : usm_c) * (usm_k == 1 || usm_k == 2 ? -1 : 1) + (usm_t)0"
_TANPI = (
    "usm_r != 0 ? (usm_k & 1 ? -usm_c / usm_s : usm_s / usm_c) : "
    f"usm_k & 1 ? (usm_t)(2 - usm_k) / 0 : {_ZERO.format('usm_k ? -usm_x : usm_x')}"
)
for _name, _value in (("sinpi", _SINPI), ("cospi", _COSPI), ("tanpi", _TANPI)):
    _real(_name, f"({{ {_TURN} {_value}; }})")
# With the sign of x if n is odd, which may be an even float.
_ODD = f"usm_y & 1 ? {_libm('copysign', 'usm_p', 'usm_x')} : "
_real("pown", f"({{ usm_t usm_p = {_libm('pow', _ABS_X, 'usm_y')}; {_ODD}usm_p; }})")
_ROOT = _libm("pow", _ABS_X, "1 / ((usm_t)0 + 0.0f + usm_y)")
_real(
    "rootn",
    f"({{ usm_t usm_p = usm_y ? {_ROOT} : 0 / (usm_t)0; {_ODD}usm_x < 0 ? 0 / (usm_t)0 : usm_p; }})",
)
_real("ldexp", _libm("ldexp", "usm_x", "usm_y"))
_real("frexp", _libm("frexp", "usm_x", "usm_y"))
_real(
    "modf",
    f"({{ usm_t usm_i = {_libm('trunc', 'usm_x')}; *usm_y = usm_i; "
    f"usm_t usm_f = usm_x - usm_i == usm_x - usm_i ? usm_x - usm_i : usm_x != usm_x ? usm_x : (usm_t)0; "
    f"{_libm('copysign', 'usm_f', 'usm_x')}; }})",
)
_real(
    "fract",
    f"({{ usm_t usm_i = {_libm('floor', 'usm_x')}; *usm_y = usm_i; "
    "usm_t usm_f = usm_x - usm_i, usm_m = (usm_t)(sizeof(usm_t) == 8 ? 0x1.fffffffffffffp-1 : "
    "sizeof(usm_t) == 4 ? 0x1.fffffep-1 : 0x1.ffcp-1); "
    "usm_x != usm_x ? usm_x : usm_x - usm_x != 0 ? (usm_t)0 : usm_f < usm_m ? usm_f : usm_m; })",
)
_real("sincos", f"({{ *usm_y = {_libm('cos', 'usm_x')}; {_libm('sin', 'usm_x')}; }})")
_real("lgamma_r", _libm("lgamma_r", "usm_x", "usm_y").replace("_rf", "f_r"))
_real("remquo", _libm("remquo", "usm_x", "usm_y", "usm_z"))
_real("nextafter", f"_Generic(usm_x, USM_HALF({NEXT_HALF}) default : {_libm('nextafter', 'usm_x', 'usm_y')})")
_NAN = "__typeof__(_Generic(usm_x, ulong : 0.0, default : 0.0f))"
_real(
    "nan",
    f'({{ union {{ usm_t usm_i; {_NAN} usm_f; }} usm_u = {{ .usm_f = __builtin_nanf("") }}; '
    "usm_u.usm_i |= usm_x; usm_u.usm_f; })",
    _NAN,
)
_real("any", "usm_x < 0", "int")
_real("all", "usm_x < 0", "int")

# Any arithmetic type.


def _less(a: str, b: str) -> str:
    """a < b, quiet as those of fmax."""
    quiet = ", ".join(f"{t} : __builtin_isless(({t}){a}, ({t}){b})" for t in ("float", "double"))
    return f"_Generic({a} + {b}, {quiet}, default : {a} < {b})"


_real("max", f"{_less('usm_x', 'usm_y')} ? usm_y : usm_x")
_real("min", f"{_less('usm_y', 'usm_x')} ? usm_y : usm_x")
_real(
    "clamp",
    f"({{ usm_t usm_r = {_less('usm_x', 'usm_y')} ? usm_y : usm_x; "
    f"{_less('usm_z', 'usm_r')} ? usm_z : usm_r; }})",
)
_real("select", "usm_z ? usm_y : usm_x")
_real(
    "bitselect",
    "({ union usm_u { usm_t usm_v; __typeof__(_Generic(usm_x, float : 0u, double : 0ul, USM_HALF((ushort)0) "
    "default : usm_x)) usm_i; } usm_a = { usm_x }, usm_b = { usm_y }, usm_c = { usm_z }; "
    "usm_a.usm_i = (usm_a.usm_i & ~usm_c.usm_i) | (usm_b.usm_i & usm_c.usm_i); usm_a.usm_v; })",
)


# Integers of type usm_t, whose unsigned type is usm_u.
def _integer(name: str, body: str, type: str = "usm_t") -> None:
    _real(name, f"({{ typedef USM_UNSIGNED(usm_x) usm_u; {body}; }})", type)


_integer("abs", "usm_x < 0 ? -(usm_u)usm_x : (usm_u)usm_x", "USM_UNSIGNED(usm_x)")
_MINUS = "(usm_u)usm_x - (usm_u)usm_y"
_integer("abs_diff", f"usm_x < usm_y ? -({_MINUS}) : {_MINUS}", "USM_UNSIGNED(usm_x)")
_END = "usm_x < 0 ? USM_LEAST(usm_t) : USM_MOST(usm_t)"
_integer("add_sat", f"usm_t usm_r; __builtin_add_overflow(usm_x, usm_y, &usm_r) ? ({_END}) : usm_r")
_integer(
    "sub_sat",
    "usm_t usm_r; __builtin_sub_overflow(usm_x, usm_y, &usm_r) ? "
    f"(USM_SIGNED(usm_t) ? ({_END}) : (usm_t)0) : usm_r",
)
_integer("hadd", "(usm_x & usm_y) + ((usm_x ^ usm_y) >> 1)")
_integer("rhadd", "(usm_x | usm_y) - ((usm_x ^ usm_y) >> 1)")
_HIGH = "(usm_t)(((USM_WIDE(usm_x))usm_x * (USM_WIDE(usm_x))usm_y) >> USM_BITS(usm_t))"
_integer("mul_hi", _HIGH)
_integer("mad_hi", f"(usm_u){_HIGH} + (usm_u)usm_z")
_integer(
    "mad_sat",
    "usm_t usm_r; USM_WIDE(usm_x) usm_w; int usm_o = __builtin_mul_overflow((USM_WIDE(usm_x))usm_x, "
    "(USM_WIDE(usm_x))usm_y, &usm_w); usm_o |= __builtin_add_overflow(usm_w, usm_z, &usm_w); "
    "usm_r = (usm_t)usm_w; usm_o || usm_r != usm_w ? "
    "(usm_w < 0 ? USM_LEAST(usm_t) : USM_MOST(usm_t)) : usm_r",
)
_SHIFT = "usm_y & (USM_BITS(usm_t) - 1)"
_integer(
    "rotate",
    f"(usm_u)((usm_u)usm_x << ({_SHIFT})) | (usm_u)usm_x >> ({_SHIFT.replace('usm_y', '-usm_y')})",
)
# What is left is in C's library, and in CUDA's.
LIBRARY = [name for name in COUNT if name not in BUILTINS and name not in EXACT]
for _name in LIBRARY:
    _real(_name, _in_c(f"{_name}({', '.join('xyz'[: COUNT[_name]])})"))
_integer(
    "clz",
    "(usm_x ? __builtin_clzl((ulong)(usm_u)usm_x) - (64 - USM_BITS(usm_t)) : USM_BITS(usm_t))",
)
_integer("ctz", "usm_x ? __builtin_ctzl((ulong)(usm_u)usm_x) : USM_BITS(usm_t)")
_integer("popcount", "__builtin_popcountl((ulong)(usm_u)usm_x)")
_integer("mul24", "usm_x * usm_y")
_integer("mad24", "usm_x * usm_y + usm_z")
_real(
    "upsample",
    "((ulong)usm_x << USM_BITS(usm_x)) | usm_y",
    "__typeof__(_Generic(usm_x, char : (short)0, uchar : (ushort)0, short : 0, ushort : 0u, int : 0l, "
    "default : 0ul))",
)

_REALS = ("float", "double", "half")
TYPES = {type: type for type in ("char", "short", "int", "long", *_REALS)}
TYPES |= {f"u{type}": f"unsigned {type}" for type in ("char", "short", "int", "long")}
for _type, _c in TYPES.items():
    _define(
        f"as_{_type}(x)",
        f"({{ __auto_type usm_x = (x); {_c} usm_y; _Static_assert(sizeof usm_x == sizeof usm_y, "
        f'"as_{_type}: the argument has another size"); '
        f'_Static_assert(!__builtin_types_compatible_p(__typeof__(usm_x), bool), "{no_bool(_type)}"); '
        "__builtin_memcpy(&usm_y, &usm_x, sizeof usm_y); usm_y; })",
    )
    _define(f"convert_{_type}(x)", f"(({_c})+(x))")  # + refuses pointers
    if _type in _REALS:
        _define(f"convert_{_type}_rte(x)", f"(({_c})+(x))")
        continue
    _modes = {"": "trunc", "_rtz": "trunc", "_rte": "rint", "_rtp": "ceil", "_rtn": "floor"}
    for _mode, _round in _modes.items():
        if _mode:
            _define(
                f"convert_{_type}{_mode}(x)",
                f"({{ __auto_type usm_x = (x); ({_c})_Generic(usm_x, "
                f"float : __builtin_{_round}f((float)usm_x), "
                f"double : __builtin_{_round}((double)usm_x), USM_HALF(__builtin_{_round}f((float)usm_x)) "
                "default : usm_x); })",
            )
        # Bounds are powers of two, or one less, which becomes the power where the type cannot hold it.
        _define(
            f"convert_{_type}_sat{_mode}(x)",
            f"({{ __auto_type usm_x = (x); typedef {_c} usm_t; __auto_type usm_y = _Generic(usm_x, float : "
            f"__builtin_{_round}f((float)usm_x), double : __builtin_{_round}((double)usm_x), "
            f"USM_HALF(__builtin_{_round}f((float)usm_x)) default : usm_x); "
            "(usm_t)(usm_y != usm_y ? (usm_t)0 : USM_ABOVE(usm_y, usm_t) ? USM_MOST(usm_t) : "
            "USM_BELOW(usm_y, usm_t) ? USM_LEAST(usm_t) : (usm_t)usm_y); })",
        )
CORE += """\
#define USM_ABOVE(x, type) _Generic((x), float : (x) >= 2.0f * (float)(USM_MOST(type) / 2 + 1), \\
    double : (x) >= 2.0 * (double)(USM_MOST(type) / 2 + 1), \\
    ulong : (ulong)(x) > (ulong)USM_MOST(type), \\
    default : (x) > 0 && (ulong)(x) > (ulong)USM_MOST(type))
#define USM_BELOW(x, type) _Generic((x), float : (x) < (float)USM_LEAST(type), \\
    double : (x) < (double)USM_LEAST(type), \\
    ulong : 0, default : (x) < 0 && (!USM_SIGNED(type) || (long)(x) < (long)USM_LEAST(type)))
"""
_define("vload_half(i, p)", "((float)(p)[i])")
for _mode in ("", "_rte"):
    _define(f"vstore_half{_mode}(x, i, p)", "((void)((p)[i] = (_Float16)(x)))")

# Atomics. All are sequentially consistent, whatever order is asked for.
_ORDER = "__ATOMIC_SEQ_CST"
_MIN, _MAX = "usm_v < usm_old ? usm_v : usm_old", "usm_old < usm_v ? usm_v : usm_old"
for _prefix in ("atomic_", "atom_"):
    for _name in ("add", "sub", "and", "or", "xor"):
        _real(f"{_prefix}{_name}", f"__atomic_fetch_{_name}(usm_x, usm_y, {_ORDER})")
    _real(f"{_prefix}inc", f"__atomic_fetch_add(usm_x, 1, {_ORDER})")
    _real(f"{_prefix}dec", f"__atomic_fetch_sub(usm_x, 1, {_ORDER})")
    _real(f"{_prefix}xchg", "USM_EXCHANGE(usm_x, usm_y)")
    _real(f"{_prefix}min", f"USM_FETCH(usm_x, usm_y, {_MIN})")
    _real(f"{_prefix}max", f"USM_FETCH(usm_x, usm_y, {_MAX})")
    _compare = f"__atomic_compare_exchange_n(usm_x, &usm_y, usm_z, 0, {_ORDER}, {_ORDER})"
    _real(f"{_prefix}cmpxchg", f"({{ {_compare}; usm_y; }})")
_STEPS = {"add": "usm_old + usm_v", "sub": "usm_old - usm_v", "min": _MIN, "max": _MAX}
for _name in ORDERED_ATOMICS:
    _base = operation(_name)
    _step = _base.removeprefix("fetch_")
    _body, _type = f"__atomic_fetch_{_step}(usm_x, usm_y, {_ORDER})", "usm_t"
    if _step in _STEPS:
        _body = f"USM_FETCH(usm_x, usm_y, {_STEPS[_step]})"
    elif _base == "init":
        _body, _type = "(*usm_x = usm_y)", "void"
    elif _base == "load":
        _body = "USM_LOAD(usm_x)"
    elif _base in ("exchange", "store"):
        _body, _type = "USM_EXCHANGE(usm_x, usm_y)", "usm_t" if _base == "exchange" else "void"
    elif _base == "flag_test_and_set":
        _body, _type = f"__atomic_exchange_n(usm_x, 1, {_ORDER})", "bool"
    elif _base == "flag_clear":
        _body, _type = f"__atomic_store_n(usm_x, 0, {_ORDER})", "void"
    elif _base.startswith("compare"):
        _body = f"__atomic_compare_exchange(usm_x, usm_y, &usm_z, 0, {_ORDER}, {_ORDER})"
        _type = "bool"
    _real(_name, _body, _type)
ATOMICS = """\
typedef int atomic_int, atomic_flag;
typedef uint atomic_uint;
typedef long atomic_long;
typedef ulong atomic_ulong;
typedef float atomic_float;
typedef double atomic_double;
typedef size_t atomic_size_t;
typedef ptrdiff_t atomic_ptrdiff_t;
typedef intptr_t atomic_intptr_t;
typedef uintptr_t atomic_uintptr_t;
typedef enum {
    memory_order_relaxed, memory_order_acquire, memory_order_release, memory_order_acq_rel,
    memory_order_seq_cst
} memory_order;
typedef enum {
    memory_scope_work_item, memory_scope_sub_group, memory_scope_work_group, memory_scope_device,
    memory_scope_all_svm_devices, memory_scope_all_devices
} memory_scope;
/* The type without volatile, also of floats. */
#define USM_PLAIN(p) __typeof__(_Generic(*(p), int : 0, uint : 0u, long : 0l, ulong : 0ul, \\
    float : 0.0f, double : 0.0))
#define USM_LOAD(p) ({ __auto_type usm_p = (p); USM_PLAIN(usm_p) usm_old; \\
    __atomic_load(usm_p, &usm_old, __ATOMIC_SEQ_CST); usm_old; })
#define USM_EXCHANGE(p, v) ({ __auto_type usm_p = (p); USM_PLAIN(usm_p) usm_v = (v), usm_old; \\
    __atomic_exchange(usm_p, &usm_v, &usm_old, __ATOMIC_SEQ_CST); usm_old; })
#define USM_FETCH(p, v, value) ({ __auto_type usm_p = (p); USM_PLAIN(usm_p) usm_v = (v), usm_old, usm_new; \\
    __atomic_load(usm_p, &usm_old, __ATOMIC_RELAXED); \\
    do { usm_new = (value); } while (!__atomic_compare_exchange(usm_p, &usm_old, &usm_new, 0, \\
        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); usm_old; })
"""


def vector_prototypes(used: str, own: Set[str]) -> str:
    """Declarations by which GCC calls glibc's libmvec in vectorised loops; clang does not know the attribute.

    `used` holds the definitions that call the functions, `own` the names of the program's functions. Macros
    of these names must follow.
    """
    lines = [
        f'__attribute__((simd("notinbranch"))) {real} {name}{suffix}({", ".join([real] * arguments)});\n'
        for name, arguments in (("cos", 1), ("exp", 1), ("log", 1), ("pow", 2), ("sin", 1))
        for real, suffix in (("double", ""), ("float", "f"))
        if f"__builtin_{name}f" in used and name + suffix not in own
    ]
    if not lines:
        return ""
    has_library = "defined(__x86_64__) && __has_attribute(simd) && __has_include(<bits/math-vector.h>)"
    return f"#if {has_library}\n{''.join(lines)}#endif\n"
