"""What stands in front of a portable program for drivers: macros of the built-in functions that it calls.

A driver refuses `fmax(x, 1)`, and has native functions of float alone. The macros give all arguments one
type, by the rule of the host (portable_builtins.py) and of CUDA (cuda_prelude.py), and call the driver's
function of that type. A function or macro of the program with the name of a built-in one gets no macro.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .included import files, own_parts
from .portable_words import C_FUNCTION, no_bool

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
WITH_POINTER = {**dict.fromkeys(("frexp", "fract", "lgamma_r", "modf", "sincos"), 2), "remquo": 3}
COUNT |= _ORDERED | _WITH_INTEGER | WITH_POINTER | {"rotate": 2, "select": 3}
# Whose arguments have one type, and which it may be.
_INTEGERS = "char uchar short ushort int uint long ulong"
EXACT: dict[str, str] = {}
for _count, _names, _types in (
    (1, "abs clz ctz popcount", _INTEGERS),
    (1, "all any", "char short int long"),
    (1, "nan", "uint ulong"),
    (2, "abs_diff add_sat hadd mul_hi rhadd sub_sat", _INTEGERS),
    (2, "mul24", "int uint"),
    (2, "upsample", "char uchar short ushort int uint"),
    (3, "mad_hi mad_sat", _INTEGERS),
    (3, "mad24", "int uint"),
    (3, "bitselect", f"{_INTEGERS} half float double"),
):
    COUNT |= dict.fromkeys(_names.split(), _count)
    EXACT |= dict.fromkeys(_names.split(), _types)
# Atomics of OpenCL C 1, by both names: the pointer has the type, and values are converted to it.
_COUNTS = {"inc": 1, "dec": 1, "cmpxchg": 3}
_COUNTS |= dict.fromkeys(("add", "sub", "and", "or", "xor", "min", "max", "xchg"), 2)
ATOMICS = {f"{prefix}_{name}": count for prefix in ("atomic", "atom") for name, count in _COUNTS.items()}
EXACT |= {name: "int uint long ulong" + " float" * name.endswith("_xchg") for name in ATOMICS}
# Atomics of OpenCL C 2, without and with an order, on the same pointers.
_COUNTS = {"init": 2, "load": 1, "store": 2, "exchange": 2, "flag_test_and_set": 1, "flag_clear": 1}
_COUNTS |= dict.fromkeys(("compare_exchange_strong", "compare_exchange_weak"), 3)
_COUNTS |= {f"fetch_{name}": 2 for name in ("add", "sub", "or", "xor", "and", "min", "max")}
ORDERED_ATOMICS = {
    f"atomic_{name}{suffix}": count
    for suffix in ("", "_explicit")
    for name, count in _COUNTS.items()
    if not (suffix and name == "init")
}
for _name in ORDERED_ATOMICS:
    _bits = "flag" in _name or any(f"_{word}" in _name for word in ("or", "xor", "and"))
    EXACT[_name] = "int" if "flag" in _name else "int uint long ulong" + " float double" * (not _bits)
ATOMICS |= ORDERED_ATOMICS
COUNT |= ATOMICS


def operation(name: str) -> str:
    """What an atomic does: "fetch_add" of atomic_fetch_add_explicit, "add" of atom_add."""
    return name.removeprefix("atomic_").removeprefix("atom_").removesuffix("_explicit")


# Their types are plain ones, as on the host.
_TYPES = {"flag": "int", "intptr_t": "long", "uintptr_t": "ulong"}
_TYPES |= {type: type for type in ("int", "uint", "long", "ulong", "float", "double", "size_t", "ptrdiff_t")}
_ENUMS = {"memory_order": "relaxed acquire release acq_rel seq_cst"}
_ENUMS |= {"memory_scope": "work_item sub_group work_group device all_svm_devices all_devices"}
_WORDS = {
    f"{prefix}_{word}": str(i) for prefix in _ENUMS for i, word in enumerate(_ENUMS[prefix].split())
} | {f"atomic_{name}": type for name, type in _TYPES.items()}
# Functions of OpenCL C 2, which drivers have by an option.
_LATER = {
    "true": " 1",
    "false": " 0",
    "atomic_work_item_fence": "(...) usm_fence()",
    "work_group_barrier": "(flags, ...) barrier(flags)",
    "get_enqueued_local_size": "(d) get_local_size(d)",
    # PoCL has 0 for dimensions that there are not.
    "get_global_size": "(d) ({ uint usm_d = (d); usm_d < 3 ? get_global_size(usm_d) : 1; })",
}
for _which in ("global", "local"):
    _id, _size = f"get_{_which}_id", f"get_{_which}_size"
    _LATER[f"get_{_which}_linear_id"] = f"() (({_id}(2) * {_size}(1) + {_id}(1)) * {_size}(0) + {_id}(0))"
NAMES = frozenset([*COUNT, *_WORDS, *_LATER, "as_char", "as_uchar"])
_PARTS = own_parts("portable_front.h")
SAME = _PARTS["same"]
NEXT_HALF, _MAD_SAT = (" ".join(_PARTS[name].split()) for name in ("nextafter of half", "mad_sat"))


def _checked(test: str, name: str, message: str) -> str:
    return f' _Static_assert({test}, "{name}: {message}");'


def exactly(name: str) -> str:
    """What a call of a function of EXACT must have."""
    *others, last = EXACT[name].split()
    one, rest = "the argument has" if COUNT[name] == 1 else "all arguments have", ""
    if name == "upsample":
        one, rest = "the first argument has", ", and the second one its unsigned type"
    elif name in ATOMICS:
        one, rest = "what the pointer points to has", ", and values are integers" * (COUNT[name] > 1)
        rest += " or have that type" * ("float" in EXACT[name])
        rest += ", which what is expected has" * ("compare" in name)
    types = f"one of the types {', '.join(others)} and {last}" if others else f"type {last}"
    return f"{one} {types}{rest}; write a cast"


def _is_one(value: str, types: str) -> str:
    """Whether a value has one of the types. Not by _Generic, which on NVIDIA takes default."""
    tests = {"half": f"USM_IS_HALF({value})", "double": f"USM_IS_DOUBLE({value})"}
    return f"({' | '.join(tests.get(type, f'USM_IS({value}, {type})') for type in types.split())})"


def _is_exact(name: str) -> str:
    letters = "yz"[: COUNT[name] - 1]
    if name == "upsample":
        pairs = [(type, f"u{type.removeprefix('u')}") for type in EXACT[name].split()]
        return " | ".join(f"USM_IS(usm_x_, {type}) & USM_IS(usm_y_, {low})" for type, low in pairs)
    if name in ATOMICS:
        compares = "_compare_" in name
        values = []
        for v in letters[compares:]:
            real = f" | {_is_one(f'usm_{v}_', 'float double')} & USM_SAME(((void)0, *usm_x_), usm_{v}_)"
            values.append(f"({_is_one(f'usm_{v}_', f'bool {_INTEGERS}')}{real * ('float' in EXACT[name])})")
        values += ["USM_SAME(((void)0, *usm_x_), ((void)0, *usm_y_))"] * compares
        return " & ".join([_is_one("*usm_x_", EXACT[name]), *values])
    return " & ".join([_is_one("usm_x_", EXACT[name]), *(f"USM_SAME(usm_x_, usm_{v}_)" for v in letters)])


def definition(name: str, body: str) -> str:
    """The macro of a function. The body sees usm_x, usm_y, usm_z of one type, usm_t, but for a last one."""
    letters = "xyz"[: COUNT[name]]
    last = f"usm_{letters[-1]}"
    with_integer = name in _WITH_INTEGER or name in ("rotate", "select")
    alike = letters[:-1] if with_integer or name in WITH_POINTER else letters
    given = " ".join(f"__auto_type usm_{v}_ = ({v});" for v in letters)
    total = " + ".join(f"usm_{v}_" for v in alike)
    type, values = f"USM_REAL({total})", " ".join(f"usm_t usm_{v} = usm_{v}_;" for v in alike)
    if name in _ORDERED:
        type = f"USM_ONE({' & '.join(f'USM_SAME(usm_x_, usm_{v}_)' for v in letters[1:])}, usm_x_, {total})"
    elif name in WITH_POINTER:
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
    if name in EXACT:
        given += _checked(_is_exact(name), name, exactly(name))
        type, values = "__typeof__(usm_x_)", " ".join(f"__auto_type usm_{v} = usm_{v}_;" for v in letters)
    if name in ATOMICS:
        type = "__typeof__(*usm_x_ + 0)"
        kept = "xy"[: 1 + ("_compare_" in name)]  # pointers
        values = " ".join(f"{'__auto_type' if v in kept else 'usm_t'} usm_{v} = usm_{v}_;" for v in letters)
    if name == "select":
        given += _checked(
            "USM_SAME(usm_x_, usm_y_)", name, "the first two arguments have one type; write a cast"
        )
    typedef = f"typedef {type} usm_t; " if "usm_t" in values + body else ""
    parameters = [*letters, *["..."] * name.endswith("_explicit")]
    return f"#define {name}({', '.join(parameters)}) ({{ {given} {typedef}{values} {body}; }})\n"


_LETTERS = ("usm_x", "usm_y", "usm_z")
# atom_xchg takes no float.
_SWAPS = "".join(
    f"#ifdef cl_khr_{needed}_base_atomics\n__attribute__((overloadable)) {type} "
    f"usm_swap(volatile {space} {type} *usm_x, {type} usm_y)\n"
    f"{{ return {function}_xchg(usm_x, usm_y); }}\n#endif\n"
    for space in ("global", "local")
    for needed in ("global_int32", "int64")
    for type in (("int", "uint", "float") if needed == "global_int32" else ("long", "ulong"))
    for function in ["atomic" if type == "float" else "usm_atom"]
)


_STEPS = {"add": "o + v", "sub": "o - v", "min": "v < o ? v : o", "max": "o < v ? v : o"}


def _support(names: Iterable[str]) -> str:
    """The functions that the macros of these names call, for all types and spaces."""
    lines = [_PARTS["fence"]]
    steps = {name.removeprefix("fetch_") for name in map(operation, names) if name.startswith("fetch_")}
    same_bits = {"float": "int", "double": "long"}
    for type in ("int", "uint", "long", "ulong", *same_bits):
        bits = same_bits.get(type, "")
        short = "atom" if "long" in type + bits else "atomic"
        extended = {"cmpxchg", "xchg", "add", "sub"}.isdisjoint
        guard = {"double": "defined(cl_khr_fp64) || defined(__opencl_c_fp64)"}.get(type, "1")
        lines.append(f"#if ({guard})" + " && defined(cl_khr_int64_base_atomics)" * (short == "atom") + "\n")
        head = f"__attribute__((overloadable)) {type}"
        same = f"as_{bits}(x) == as_{bits}(y)" if bits else "x == y"
        lines.append(
            f"{head.replace(f' {type}', ' int')} usm_same({type} x, {type} y) {{ return {same}; }}\n"
        )
        for space in ("global", "local"):
            p = f"(volatile {space} {bits} *)p" if bits else "p"
            c, v = (f"as_{bits}(c)", f"as_{bits}(v)") if bits else ("c", "v")
            for step in ("cmpxchg", "xchg", *sorted(steps)):
                if step in ("cmpxchg", "xchg"):
                    given = f"{p}, {c}, {v}" if step == "cmpxchg" else f"{p}, {v}"
                    body = f"return {f'as_{type}' if bits else ''}({short}_{step}({given}));"
                elif bits and step in _STEPS:
                    put = f"s = usm_cmpxchg(p, o, {_STEPS[step]})"
                    body = f"{type} o = *p, s; while (!usm_same({put}, o)) o = s; return o;"
                elif not bits:
                    body = f"return {short}_{step}(p, v);"
                else:
                    continue
                needs = short == "atom" and not bits and extended([step])
                more = f"{type} c, " * (step == "cmpxchg")
                line = f"{head} usm_{step}(volatile {space} {type} *p, {more}{type} v) {{ {body} }}\n"
                lines.append(f"#ifdef cl_khr_int64_extended_atomics\n{line}#endif\n" if needs else line)
        lines.append("#endif\n")
    return "".join(lines)


def _ordered(name: str) -> str:
    """The macro of an atomic of OpenCL C 2."""
    base = operation(name)
    step = {"store": "xchg", "exchange": "xchg"}.get(base, base.removeprefix("fetch_"))
    call = f"usm_t usm_r = usm_{step}(usm_x, usm_y)"
    result = "(void)usm_r" if base == "store" else "usm_r"
    if base == "init":
        return definition(name, "(void)(*usm_x = usm_y)")
    if base == "load":
        call = "usm_t usm_r = *(volatile __typeof__(*usm_x) *)usm_x"
    elif base.startswith("flag"):
        call = f"usm_t usm_r = usm_xchg(usm_x, {int('set' in base)})"
        result = "(bool)usm_r" if "set" in base else "(void)usm_r"
    elif base.startswith("compare"):
        call = "usm_t usm_o = *usm_y, usm_r = usm_cmpxchg(usm_x, usm_o, usm_z); *usm_y = usm_r"
        result = "(bool)usm_same(usm_r, usm_o)"
    fence = "usm_fence()"
    if name.endswith("_explicit"):
        fence = f"if (USM_ORDER(__VA_ARGS__, 0) != 0) {fence}"
    return definition(name, f"{fence}; {call}; {fence}; {result}")


def _macro(name: str) -> str:
    if name in _WORDS:
        return f"#undef {name}\n#define {name} {_WORDS[name]}\n"
    if name in _LATER:
        return f"#undef {name}\n#define {name}{_LATER[name]}\n"
    if name in ORDERED_ATOMICS:
        return f"#undef {name}\n{_ordered(name)}"
    if name.startswith("as_"):
        type = name[3:]
        return (
            f"#undef {name}\n#define {name}(x) ({{ _Static_assert(!USM_SAME(((void)0, (x)), bool), "
            f'"{no_bool(type)}"); __builtin_astype((x), {type}); }})\n'
        )
    own = {"dot": "usm_x * usm_y", "length": "fabs(usm_x)", "distance": "fabs(usm_x - usm_y)"}
    own |= {"select": "(usm_t)(usm_z ? usm_y : usm_x)", "normalize": "sign(usm_x)"}  # wrong at Intel for half
    own |= {"mad_sat": _MAD_SAT, "ctz": "popcount((usm_t)(~usm_x & (usm_x - 1)))"}
    native = name.replace("atomic_", "atom_")  # the short name has all types
    swaps = _SWAPS * name.endswith("_xchg")
    call = (
        own.get(name) or f"{'usm_swap' if swaps else f'usm_{native}'}({', '.join(_LETTERS[: COUNT[name]])})"
    )
    if name == "nextafter":  # Intel's of half is that of float
        call = f"_Generic(usm_x, USM_HALF({NEXT_HALF}) default : {call})"
    if name in _FAST:
        call = f"__builtin_choose_expr(USM_IS(usm_x + 0, float), {call}, {_FAST[name]})"
    # PoCL's names are macros.
    found = f"#ifdef {native}\n#undef {native}\n#define usm_{native} _cl_{native}\n"
    found += f"#else\n#define usm_{native} {native}\n#endif\n"
    return f"#ifndef usm_{native}\n{found}{swaps}#endif\n#undef {name}\n{definition(name, call)}"


# Built-in functions that have no macro here, and C's; those of C for float end in f.
_MORE = r"(?:(?:get|convert|as|atomic|vload|vstore|mem)_\w+|barrier|prefetch)\("
_OTHER = re.compile(rf"{_MORE}|(?!\w*f\(){C_FUNCTION.pattern}")


def _defined(text: str, names: set[str]) -> tuple[set[str], set[str]]:
    """The functions, and the macros and kernels, that a program defines; from its text, without a parser."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    any_name, inside = "|".join(sorted(names)), r"(?:[^(){};]|\([^(){};]*\))*"
    function = rf"\b({any_name})\s*\({inside}\)\s*(?:__attribute__\s*\(\({inside}\)\)\s*)*\{{"
    macro = rf"(?:(?:#|%:)\s*(?:define|undef)\s+|-[DU]\s*)({any_name})\b"
    functions: set[str] = set()
    others = set(re.findall(macro, text))
    for match in re.finditer(function, text):
        is_kernel = re.search(r"\bvoid\s+\Z", text[max(0, match.start() - 99) : match.start()])
        (others if is_kernel else functions).add(match[1])
    return functions - others, others


def front(source: str, options: str) -> str:
    """What stands in front of a program."""
    text = "\n".join(
        [source, options, *(part.decode("utf-8", "replace") for part in files(source, options)[0])]
    )
    words = set(re.findall(r"[^\W\d]\w*", text))
    used = NAMES if "##" in text or "%:%:" in text else NAMES & words
    names = {w for w in words if w in NAMES or w.removesuffix("f") in NAMES or _OTHER.match(f"{w}(")}
    functions, others = _defined(text, names) if names else (names, names)
    macros, own = sorted(used - functions - others), []
    if "overloadable" not in words:  # such functions stand beside the built-in ones, and keep their names
        given = re.findall(r"-[DU]\s*(\w+)", options)
        own = [f"#undef {name}\n" for name in sorted(functions | others.difference(given))]
        own += [f"#define {name} usm_own_{name}\n" for name in sorted(functions)]
    common = [_PARTS["common"], SAME, *map(_macro, macros)] if macros else []
    if not ORDERED_ATOMICS.keys().isdisjoint(macros) or "atomic_work_item_fence" in macros:
        common.insert(2, _support(name for name in macros if name in ORDERED_ATOMICS))
    return "".join([*common, *own, "#line 1\n"]) if macros or own else ""
