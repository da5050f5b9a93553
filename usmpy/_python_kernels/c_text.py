"""How names, types, numbers and texts of a Python function are written in C."""

from __future__ import annotations

import keyword
import math
import re
import struct

from . import functions
from .types import ELEMENTS, FLOAT32, Type, limits, real_of

_WORDS = """
auto break case char const constant continue default do double else enum extern float for global goto half
if inline int kernel local long main private register restrict return short signed size_t sizeof static
struct switch typedef typeof uchar uint ulong union unsigned ushort void volatile while bool true false
complex64 complex128 asm kernel printf barrier mem_fence abs fmod pow pown rint floor isnan
vload_half vstore_half as_float as_uint real imag
norm rnorm norm3d norm4d rhypot erfcx normcdf y0 y1 yn j0 j1 jn max min
generic pipe read_only write_only read_write cross distance dot fast_distance fast_length fast_normalize
length normalize vec_step
"""
# Words of the system, types of vectors, and macros.
_UNSAFE = re.compile(
    r"_|usm|CLK|atom|cl_|memory_|.*_t$|[A-Z][A-Z0-9_]+$|(u?(char|short|int|long)|float|double|half|bool)\d+$"
)

# C++'s words, and what CUDA declares: no kernel has such a name.
_OF_CUDA = re.compile(
    r"""(and|and_eq|bitand|bitor|catch|class|compl|concept|delete|explicit|export|friend|
mutable|namespace|new|noexcept|not|not_eq|nullptr|operator|or|or_eq|private|protected|public|requires|signals|
template|this|throw|try|typeid|typename|using|virtual|xor|xor_eq|alignas|alignof|const(_cast|eval|expr|init)|
co_(await|return|yield)|decltype|(dynamic|reinterpret|static)_cast|static_assert|thread_local|(char(8|16|32)|
wchar)_t|(thread|block)Idx|(block|grid)Dim|warpSize|abs|clock64|free|l?labs|malloc|(ull|ll|u)(max|min)|va_(arg|
copy|end|start)|u?(char|short|int|long(long)?)[1-4]|(float|double)[1-4]|((a?(cos|sin|tan)h?|atan2|cbrt|ceil|
copysign|(cos|sin|sincos)pi|cyl_bessel_i[01]|erf(c|cinv|cx|inv)?|exp(10|2|m1)?|fabs|fdim|fdivide|floor|fma|fmax|
fmin|fmod|frexp|hypot|ilogb|[jy][01n]|ldexp|lgamma|ll?(rint|round)|log(10|1p|2|b)?|max|min|modf|nan|nearbyint|
nextafter|r?norm([34]d)?|normcdf(inv)?|pow|rcbrt|remainder|remquo|rhypot|rint|round|rsqrt|scalbl?n|sincos|sqrt|
tgamma|trunc)f?))""".replace("\n", "")
)
_MOST = 200  # letters of a name


def of_kernel(name: str) -> str:
    """The name for a kernel, which is visible to the compiler of CUDA."""
    return f"{name}_1" if _OF_CUDA.fullmatch(name) else name


class Names:
    """Names of one program in C. prefix: of all of them."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self._reserved = {*_WORDS.split(), *functions.EMITTED}
        self._given: dict[tuple[object, str], str] = {}
        self._taken: set[str] = set()

    def make(self, stem: str, owner: object) -> str:
        """A name that nothing else in the program has; the same one for the same stem and owner."""
        found = self._given.get((owner, stem))
        if found is None:
            clean = self.prefix + re.sub(r"[^A-Za-z0-9_]", "_", stem)[:_MOST]
            clean = f"p{clean}" if _UNSAFE.match(clean) else clean
            found, k = clean, 0
            while found in self._taken or found in self._reserved or keyword.iskeyword(found):
                k += 1
                found = f"{clean}_{k}"
            self._taken.add(found)
            self._given[owner, stem] = found
        return found


_C = {("int", 8): "char", ("int", 16): "short", ("int", 32): "int", ("int", 64): "long"}
_C |= {("uint", bits): f"u{_C['int', bits]}" for bits in (8, 16, 32, 64)}
_C |= {("bool", 8): "bool", ("float", 32): "float", ("float", 64): "double"}
STORED = {"bool": "uchar", "float16": "half", "bfloat16": "ushort"}  # in memory, where it differs


def c_name(number: Type) -> str:
    """The type of a variable in the portable language."""
    return _C.get(number) or number.name


def stored_name(element: str) -> str:
    """The type of an array's element in the portable language. element: the name of a dtype."""
    return STORED.get(element) or c_name(ELEMENTS[element])


def declared_name(element: str) -> str:
    """The same of an array that a function declares: OpenCL C has no arrays of half without cl_khr_fp16."""
    return "ushort" if element == "float16" else stored_name(element)


def literal(value: complex, number: Type) -> str:
    """A Python number, which the type can hold, in the portable language."""
    if number.kind == "bool":
        return str(int(bool(value)))
    if number.kind == "complex":
        value, part = complex(value), real_of(number)
        return f"{number.name}({literal(value.real, part)}, {literal(value.imag, part)})"
    assert not isinstance(value, complex)
    if number.kind == "float":
        return _real(float(value), number)
    value = int(value)
    if number.bits < 32:
        return f"(({c_name(number)}){value})" if value >= 0 else f"(({c_name(number)})({value}))"
    suffix = "u" * (number.kind == "uint") + "l" * (number.bits == 64)
    if value == limits(number)[0] < 0:
        return f"({value + 1}{suffix} - 1{suffix})"
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def quoted(text: str) -> str:
    """A text in the portable language."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "?": "\\?"}  # "??/" may be a trigraph
    return '"' + "".join(escapes.get(c) or (c if c >= " " else rf"\{ord(c):03o}") for c in text) + '"'


def _real(value: float, number: Type) -> str:
    single = number == FLOAT32
    if math.isnan(value):
        return "NAN" if single else "((double)NAN)"
    if single and math.isfinite(value):
        value = struct.unpack("f", struct.pack("f", value))[0]
    if math.isinf(value):
        text = "INFINITY" if single else "((double)INFINITY)"
        return text if value > 0 else f"(-{text})"
    text = f"{value!r}{'f' * single}"
    return f"({text})" if text[0] == "-" else text


def bare(text: str) -> str:
    """An expression of C without parentheses around all of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 else text
    return text
