"""Types and values of operators and functions in Python kernels, for all pairs of types."""

import cmath
import itertools
import math
import operator
import re

import numpy as np
import pytest
from python_kernels.texts import function_of, program_of

import usmpy
from usmpy import kernel_api
from usmpy._python_kernels import functions, types

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
STRONG = ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]
HALVES = {"float16": "float32", "bfloat16": "float32"}
WEAK = ["int", "float", "complex"]
REALS = [types.FLOAT32, types.FLOAT64]  # the kernel's float
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "**"]
BITS, SHIFTS = ["&", "|", "^"], ["<<", ">>"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
PYTHON = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod, "**": operator.pow},
    **{
        "&": operator.and_,
        "|": operator.or_,
        "^": operator.xor,
        "<<": operator.lshift,
        ">>": operator.rshift,
    },
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le},
    **{">": operator.gt, ">=": operator.ge},
}
NAMES = {**vars(kernel_api), "math": math, "cmath": cmath, "usmpy": usmpy, "np": np}


OF_TWO = ["min", "usmpy.maximum", "math.hypot", "usmpy.add", "usmpy.less", "usmpy.where", "np.arctan2"]
OF_TWO += ["usmpy.logical_or", "usmpy.logaddexp", "math.gcd", "divmod", "pow"]


# The rules, as issue and documentation state them; names of types, where int, float and complex are weak.


def kind(t):
    return "bool" if t == "bool" else t.rstrip("0123456789")


def bits(t):
    return int(re.sub(r"\D", "", t))


def complex_of(t):
    return {"float32": "complex64", "float64": "complex128"}[t]


def promoted(a, b, real):
    """The common type; None: there is none."""
    order = ["bool", "uint", "int", "float", "complex"]
    a, b = sorted((a, b), key=lambda t: (order.index(kind(t)), t in WEAK))
    if a == b or kind(a) == "bool":  # a bool takes the other's type
        return b
    if (
        b in WEAK and kind(a) in ("int", "uint") and b != "int" and a not in WEAK
    ):  # weak floats beside integers
        return real if b == "float" else complex_of(real)
    if b in WEAK:
        if a in WEAK:
            return b
        return complex_of(a) if kind(a) == "float" and b == "complex" else a
    if a in WEAK:
        return b
    if kind(a) in ("int", "uint") and kind(b) in ("float", "complex"):  # an integer widens none
        return b
    if {kind(a), kind(b)} == {"int", "uint"} and "uint64" in (a, b):
        return None
    return str(np.promote_types(a, b))


def settled(t, real):
    """The type of a number that meets nothing."""
    return {"int": "int64", "float": real, "complex": complex_of(real)}.get(t, t)


def result_type(sign, a, b, real):
    """Of a binary operator on numbers that are no constants; None: refused."""
    if "complex" in (kind(a), kind(b)) and sign in ("//", "%", *BITS, *SHIFTS, "<", "<=", ">", ">="):
        return None
    if sign in COMPARISONS:
        return "bool"
    if sign in (*BITS, *SHIFTS) and "float" in (kind(a), kind(b)):
        return None
    if sign in SHIFTS:  # the left operand's type
        return "int32" if a == "bool" else settled(a, real)
    if sign in BITS and a == b == "bool":
        return "bool"
    t = promoted(a, b, real)
    t = "int32" if t == "bool" else t
    if sign == "/" and t is not None and kind(t) in ("int", "uint"):
        return "float" if {a, b} <= {"bool", *WEAK} and {a, b} != {"bool"} else real
    return "int64" if t == "int" else t


def names_of(t):
    """A parameter for a type: an element of an array, or a Python number."""
    return (t, t) if t in WEAK else (f"{t}[1]", f"{t}_x[0]".replace("_x", "_"))


EVERY = [*STRONG, *HALVES, *WEAK]
KINDS = [names_of(t)[0] for t in EVERY]
PARAMETERS = [f"{t}_" for t in EVERY]
VALUE = {t: f"{t}_" if t in WEAK else f"{t}_[0]" for t in EVERY}


def types_of(expressions, real):
    """The types of the expressions, of which each is assigned to a variable; weak ones as Python's."""
    lines = "".join(f"    r{k} = {text}\n" for k, text in enumerate(expressions))
    function = function_of(f"def kernel({', '.join(PARAMETERS)}):\n{lines}", **NAMES)
    kernel = program_of(function, *KINDS, real=real).kernel
    found = {**kernel.variables, **kernel.static}  # the latter are constants
    return [found[f"r{k}"].type.name for k in range(len(expressions))]


def type_or_error(text, real):
    try:
        return types_of([text], real)[0]
    except usmpy.BuildError as error:
        return error


def check_types(wanted, real):
    """wanted: the type of each expression, or None if it is refused. Returns the messages."""
    built = [text for text, t in wanted.items() if t is not None]
    found = dict(zip(built, types_of(built, real), strict=True))
    assert {text: t for text, t in found.items() if t != wanted[text]} == {}
    errors = {text: type_or_error(text, real) for text, t in wanted.items() if t is None}
    assert [text for text, error in errors.items() if not isinstance(error, usmpy.BuildError)] == []
    return {text: str(error) for text, error in errors.items()}


@pytest.mark.parametrize("real", REALS, ids=str)
@pytest.mark.parametrize("sign", [*ARITHMETIC, *BITS, *SHIFTS, *COMPARISONS])
def test_operators(sign, real):
    wanted = {}
    for a, b in itertools.product(EVERY, EVERY):
        t = result_type(sign, HALVES.get(a, a), HALVES.get(b, b), real.name)
        wanted[f"{VALUE[a]} {sign} {VALUE[b]}"] = t
    refused = check_types(wanted, real)
    for text, message in refused.items():
        assert f"    {'r0 = ' + text}\n         ^" in message
        cast = re.search(r"usmpy\.(u?int64)\(\.\.\.\) of the (left|right) side", message)
        assert (cast is None) == ("no common type" not in message)
        if cast:  # what the message says builds
            a, b = text.split(f" {sign} ")
            a, b = (
                f"usmpy.{cast[1]}({n})" if cast[2] == side else n for n, side in ((a, "left"), (b, "right"))
            )
            assert types_of([f"{a} {sign} {b}"], real) == [cast[1] if sign != "/" else real.name]


@pytest.mark.parametrize("real", REALS, ids=str)
def test_mixed_literals_and_closures_are_weak(real):
    names = {"I": 3, "F": 1.5, "C": 2j}
    wanted = {}
    weak = {
        "3": "int",
        "1.5": "float",
        "2j": "complex",
        "I": "int",
        "F": "float",
        "C": "complex",
        "True": "bool",
    }
    for sign, a, (text, b) in itertools.product([*ARITHMETIC, *BITS, *COMPARISONS], EVERY, weak.items()):
        for pair in (f"{VALUE[a]} {sign} {text}", f"{text} {sign} {VALUE[a]}"):
            left, right = (HALVES.get(a, a), b) if pair.startswith(a) else (b, HALVES.get(a, a))
            wanted[pair] = result_type(sign, left, right, real.name)
            if sign == "**" and left == "float" and right in INTEGERS:
                wanted[pair] = promoted(left, right, real.name)
    NAMES.update(names)
    check_types(wanted, real)


@pytest.mark.parametrize("real", REALS, ids=str)
def test_numpy_scalars_have_their_types(real):
    wanted = {}
    for sign, a, b in itertools.product(["+", "*", "<<", "&"], EVERY, STRONG):
        NAMES[f"S_{b}"] = np.dtype(b).type(3)
        wanted[f"{VALUE[a]} {sign} S_{b}"] = result_type(sign, HALVES.get(a, a), b, real.name)
    check_types(wanted, real)


def unary_type(sign, a, real):
    if sign == "not ":
        return "bool"
    if sign == "~" and kind(a) in ("float", "complex"):
        return None
    return "int32" if a == "bool" else "int64" if a == "int" else a


@pytest.mark.parametrize("real", REALS, ids=str)
def test_unary_operators_and_truth(real):
    every = [(HALVES.get(a, a), VALUE[a]) for a in EVERY]
    wanted = {f"{s}{x}": unary_type(s, a, real.name) for s in ("+", "-", "~", "not ") for a, x in every}
    for (a, x), (b, y) in itertools.product(every, every):
        t = promoted(a, b, real.name)
        for text in (f"{x} and {y}", f"{x} or {y}", f"{x} if bool_[0] else {y}"):
            wanted[text] = "int64" if t == "int" else t
    check_types(wanted, real)


@pytest.mark.parametrize("real", REALS, ids=str)
def test_functions(real):
    wanted = {}
    wide = real.name
    for a in EVERY:
        x, a = VALUE[a], HALVES.get(a, a)
        number, is_complex = kind(a), kind(a) == "complex"
        floating = None if is_complex else {"int": "float"}.get(a, a if number == "float" else wide)
        for name in functions.REAL:
            for module in ("math", "usmpy", "np"):
                if functions.find(getattr({"math": math, "usmpy": usmpy, "np": np}[module], name, None)):
                    t = a if is_complex and name in functions.COMPLEX else floating
                    wanted[f"{module}.{name}({x})"] = t
        for name in ("floor", "ceil", "trunc"):
            wanted[f"math.{name}({x})"] = None if is_complex else "int64"
            kept = number in ("bool", "int", "uint")
            wanted[f"usmpy.{name}({x})"] = ("int64" if a == "int" else a) if kept else floating
        wanted[f"int({x})"] = wanted[f"round({x})"] = None if is_complex else "int64"
        wanted[f"float({x})"] = None if is_complex else wide
        wanted[f"bool({x})"] = "bool"
        wanted[f"complex({x})"] = a if is_complex else complex_of(settled(floating, wide))
        size = settled(a, wide)
        wanted[f"abs({x})"] = (
            {"bool": "int32"}.get(a, a if a == "float" else size)
            if not is_complex
            else "float"
            if a == "complex"
            else f"float{bits(size) // 2}"
        )
        wanted[f"math.isnan({x})"] = None if is_complex else "bool"
        for t in STRONG:
            wanted[f"usmpy.{t}({x})"] = None if is_complex and t != "bool" and kind(t) != "complex" else t
    check_types({text: t for text, t in wanted.items() if t != "skip"}, real)


@pytest.mark.parametrize("real", REALS, ids=str)
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two(name, real):
    wanted, wide = {}, real.name
    for a, b in itertools.product(EVERY, EVERY):
        first = "bool_[0], " * name.endswith("where")
        text = f"{name}({first}{VALUE[a]}, {VALUE[b]}){'[0]' * (name == 'divmod')}"
        a, b = HALVES.get(a, a), HALVES.get(b, b)
        t = promoted(a, b, wide)
        is_complex = "complex" in (kind(a), kind(b))
        if name.startswith(("math.hypot", "np.arctan2", "usmpy.logaddexp")):
            t = None if is_complex or t is None else t if kind(t) == "float" else wide
            t = "float" if {a, b} <= {"bool", *WEAK} and {a, b} != {"bool"} and not is_complex else t
        elif name.startswith(("min", "usmpy.max")):
            t = None if is_complex else "int64" if t == "int" else t
        elif name.startswith("usmpy.less"):
            t = None if is_complex else "bool"
        elif name.startswith("usmpy.logical"):
            t = "bool"
        elif name.startswith("math.gcd"):
            t = None if is_complex or "float" in (kind(a), kind(b)) else result_type("+", a, b, wide)
        elif name.startswith("usmpy.where"):
            t = "int64" if t == "int" else t
        else:
            t = result_type({"u": "+", "d": "//", "p": "**"}[name[0]], a, b, wide)
        wanted[text] = t
    check_types(wanted, real)


# Values, on the host.

REAL_NUMBERS = [-math.inf, -3.5, -1.0, -0.0, 0.0, 0.5, 2.0, 3.7, 1e30, math.inf, math.nan]
COMPLEX_NUMBERS = [0j, 1j, -2.5 + 0.5j, 3 + 0j, 0.25 - 2j]


def values_of(t):
    if kind(t) in ("int", "uint"):
        least, most = np.iinfo(t).min, np.iinfo(t).max
        return sorted(
            {v for v in (least, least + 1, -3, -1, 0, 1, 2, 7, most - 1, most) if least <= v <= most}
        )
    return {"bool": [False, True], "float": REAL_NUMBERS, "complex": COMPLEX_NUMBERS}[kind(t)]


def wrapped(value, t):
    return types.wrap(int(value), types.BY_NAME[t])


def integer_value(sign, a, b, t):
    if sign in SHIFTS:
        return wrapped(PYTHON[sign](wrapped(a, t), int(b) & (bits(t) - 1)), t)
    if sign == "**":
        return wrapped(pow(int(a), int(b), 1 << bits(t)), t) if b >= 0 else 0
    a, b = wrapped(a, t), wrapped(b, t)
    return wrapped(PYTHON[sign](a, b), t) if b or sign not in ("//", "%") else 0


def expected(sign, a, b, ta, tb):
    """What a kernel whose float is float64 stores."""
    t = result_type(sign, ta, tb, "float64")
    common = promoted(ta, tb, "float64")
    if sign in COMPARISONS and (common is None or kind(common) in ("bool", "int", "uint")):
        return bool(PYTHON[sign](a, b))  # exact
    if kind(t) in ("int", "uint"):
        return integer_value(sign, a, b, t)
    if sign in BITS:
        return bool(PYTHON[sign](a, b))
    inner = np.dtype(common if sign in COMPARISONS else t).type
    return PYTHON[sign](inner(a), inner(b))


def signs_for(a, b):
    every = [*ARITHMETIC, *BITS, *SHIFTS, *COMPARISONS]
    signs = [sign for sign in every if result_type(sign, a, b, "float64")]
    return [s for s in signs if s != "**"] if "complex" in (kind(a), kind(b)) else signs


@pytest.mark.parametrize("left", STRONG)
def test_values(left):
    """One kernel computes all operators with all types on the right."""
    arrays, lines, wanted = {}, [], []
    places = dict.fromkeys(STRONG, 0)
    pairs = {right: list(itertools.product(values_of(left), values_of(right))) for right in STRONG}
    for right in STRONG:
        arrays[f"x_{right}"] = np.array([a for a, _ in pairs[right]], left)
        arrays[f"y_{right}"] = np.array([b for _, b in pairs[right]], right)
        lines.append(f"    if i < len(x_{right}):")
        lines.append(f"        x, y = x_{right}[i], y_{right}[i]".replace("x, y", f"a_{right}, b_{right}"))
        for sign in signs_for(left, right):
            t = result_type(sign, left, right, "float64")
            lines.append(f"        out_{t}[{places[t]} + i] = a_{right} {sign} b_{right}")
            wanted.append((sign, right, t, places[t]))
            places[t] += len(pairs[right])
    outs = {f"out_{t}": np.zeros(max(n, 1), t) for t, n in places.items()}
    text = "\n".join([f"def kernel({', '.join([*arrays, *outs])}):", "    i = get_global_id(0)", *lines])
    queue = usmpy.Queue("host")
    given = [usmpy.asarray(array, queue=queue, copy=True) for array in (*arrays.values(), *outs.values())]
    size = max(map(len, pairs.values()))
    usmpy.kernel(function_of(text, **NAMES), options="-O0")[usmpy.Range(size)](*given)
    results = dict(zip([*arrays, *outs], given, strict=True))
    for sign, right, t, place in wanted:
        found = results[f"out_{t}"].asnumpy()[place : place + len(pairs[right])]
        with np.errstate(all="ignore"):
            x, y = arrays[f"x_{right}"].tolist(), arrays[f"y_{right}"].tolist()
            want = np.array([expected(sign, a, b, left, right) for a, b in zip(x, y, strict=True)], t)
        message = f"{left} {sign} {right}"
        if t in INTEGERS or t == "bool":
            np.testing.assert_array_equal(found, want, message)
        else:
            tolerance = 1e-5 if t in ("float32", "complex64") else 1e-12
            exact = kind(t) != "complex"  # divisions of complex numbers by 0 and infinity differ
            kept = [exact or all(map(cmath.isfinite, (a, b, w))) for a, b, w in zip(x, y, want, strict=True)]
            np.testing.assert_allclose(found[kept], want[kept], tolerance, tolerance, err_msg=message)
