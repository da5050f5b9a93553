"""Names in C: those of Python, unless the portable language, its compilers or CUDA use them."""

from __future__ import annotations

import keyword
import re

from . import functions

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
