"""The built-in functions of the portable language, in GNU C: those that a program uses stand before it."""

from __future__ import annotations

import re
from collections.abc import Set
from string import Template

from .included import own_parts
from .portable_front import COUNT, EXACT, NEXT_HALF, ORDERED_ATOMICS, SAME, definition, operation
from .portable_words import no_bool

_PARTS = own_parts("portable_builtins.h")
CORE = _PARTS["core"] + SAME + _PARTS["bounds"]  # before everything
PICK, ATOMICS = _PARTS["pick"], _PARTS["atomics"]
BUILTINS: dict[str, str] = {}


def _lines(part: str) -> list[str]:
    text = re.sub(r"^//.*\n", "", _PARTS[part], flags=re.M)
    return re.sub(r"(?: \\)?\n +", " ", text).splitlines()


def _define(*lines: str) -> None:
    BUILTINS.update((re.findall(r"#define (\w+)", line)[0], line) for line in lines)


def _table(part: str) -> dict[str, tuple[str, str]]:
    """The types and values of a part, by their names."""
    found: dict[str, tuple[str, str]] = {}
    values = {"NEXT_HALF": NEXT_HALF}
    for line in _lines(part):
        line = re.sub(r"\b[A-Z]\w+\b", lambda name: values.get(name[0], name[0]), line)
        type, name, value = re.findall(r"(?:(.*) )?\b(\w+): (.*)", line)[0]
        if name.isupper():
            values[name] = value
        else:
            found[name] = type or "T", value
    return found


def _in_c(text: str) -> str:
    """With the names of macros, and functions of the type of usm_x."""
    text = re.sub(r"\b([a-zT])\b", lambda letter: f"usm_{letter[1].lower()}", text)
    of_type = r"_Generic(usm_x, float : __builtin_\1f, USM_HALF(__builtin_\1f) default : __builtin_\1)"
    return re.sub(r"\b(?!sizeof)([a-z]\w+)(?=\()", of_type, text)


def _real(name: str, body: str, type: str = "T") -> None:
    """body sees x, y, z of one type, T: float, double or half; double where all arguments are integers."""
    BUILTINS[name] = definition(name, _in_c(f"({type})({body})")).rstrip()


# Functions of the index space, which need the hidden parameter.
_define(*_lines("places"))
ITEM = frozenset(BUILTINS)
BARRIERS = frozenset({"barrier", "work_group_barrier", "usm_ck_wait"})
_GROUPS = ["local_id", "group_id", "local_size", "enqueued_local_size", "num_groups", "local_linear_id"]
GROUPS = BARRIERS.union(f"get_{name}" for name in _GROUPS)
_define(*_lines("others"))

# For CUDA, too, whose T is at least float.
FORMULAS = {name: value for name, (_, value) in _table("formulas").items()}
FAST = ("cos", "exp", "exp2", "exp10", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan")
for _prefix in ("native_", "half_"):
    FORMULAS |= {f"{_prefix}{name}": FORMULAS.get(name, f"{name}(x)") for name in FAST}
    FORMULAS |= {f"{_prefix}recip": "1 / x", f"{_prefix}divide": "x / y", f"{_prefix}powr": "pow(x, y)"}
TESTS = {name: value for name, (_, value) in _table("tests").items()}
for _name, _value in FORMULAS.items():
    _real(_name, _value)
for _name, _value in TESTS.items():
    _real(_name, _value, "int")
for _name, (_type, _value) in _table("functions").items():
    _real(_name, _value, _type)
for _name, (_type, _value) in _table("integers").items():
    _real(_name, f"({{ typedef USM_UNSIGNED(x) u; {_value}; }})", _type)
# What is left is in C's library, and in CUDA's.
LIBRARY = [name for name in COUNT if name not in BUILTINS and name not in EXACT]
for _name in LIBRARY:
    _real(_name, f"{_name}({', '.join('xyz'[: COUNT[_name]])})")

_REALS = ("float", "double", "half")
TYPES = {type: type for type in ("char", "short", "int", "long", *_REALS)}
TYPES |= {f"u{type}": f"unsigned {type}" for type in ("char", "short", "int", "long")}
_MODES = {"": "trunc", "_rtz": "trunc", "_rte": "rint", "_rtp": "ceil", "_rtn": "floor"}
_AS, _CONVERT, _ROUND, _SATURATE = map(Template, _lines("conversions"))
for _type, _c in TYPES.items():
    _define(_AS.substitute(type=_type, c=_c, no_bool=no_bool(_type)))
    for _mode, _round in {"": "", "_rte": ""}.items() if _type in _REALS else _MODES.items():
        _given = {"type": _type, "c": _c, "mode": _mode, "round": _round}
        _define((_ROUND if _round and _mode else _CONVERT).substitute(_given))
        if _round:
            _define(_SATURATE.substitute(_given))

for _name, (_type, _value) in _table("atomics of OpenCL 1").items():
    for _prefix in ("atomic_", "atom_"):
        _real(f"{_prefix}{_name}", _value, _type)
_ATOMICS = _table("atomics of OpenCL 2")
for _name in ORDERED_ATOMICS:
    _type, _value = _ATOMICS[operation(_name)]
    _real(_name, _value, _type)


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
