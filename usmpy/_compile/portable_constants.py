"""Constants of the portable language: macros that are defined while the user's text is preprocessed."""

from __future__ import annotations

_UNDEFINED = "linux unix i386 __GNUC__ __clang__ __STDC_VERSION__ __STDC_HOSTED__"
_ONE = """
__ENDIAN_LITTLE__ cl_khr_fp64 __opencl_c_fp64 __opencl_c_int64 cl_khr_byte_addressable_store
cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics
cl_khr_local_int32_extended_atomics cl_khr_int64_base_atomics cl_khr_int64_extended_atomics
"""
CONSTANTS = "".join(f"#undef {name}\n" for name in _UNDEFINED.split())
CONSTANTS += "".join(f"#define {name} 1\n" for name in _ONE.split())
CONSTANTS += "".join(f"#define CL_VERSION_{v // 100}_{v // 10 % 10} {v}\n" for v in (100, 110, 120, 200, 300))
CONSTANTS += """\
#ifdef __FLT16_MAX__
#define cl_khr_fp16 1
#define __opencl_c_fp16 1
#endif
#define USMPY_HOST 1
#define true 1
#define false 0
#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-127 - 1)
#define SCHAR_MAX 127
#define SCHAR_MIN (-127 - 1)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32767 - 1)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffU
#define LONG_MAX 0x7fffffffffffffffL
#define LONG_MIN (-0x7fffffffffffffffL - 1)
#define ULONG_MAX 0xffffffffffffffffUL
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN 2147483647
#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF usm_inff()
#define HUGE_VAL usm_inf()
#define INFINITY usm_inff()
#define NAN usm_nanf()
#define NULL ((void *)0)
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define CLK_IMAGE_MEM_FENCE 4
#define ATOMIC_VAR_INIT(x) (x)
#define ATOMIC_FLAG_INIT 0
"""

_LIMITS = "DIG MANT_DIG MAX_10_EXP MAX_EXP MIN_10_EXP MIN_EXP RADIX MAX MIN EPSILON"
_OF_TYPES = {
    "HALF": "3 11 +4 +16 -4 -13 2 0x1.ffcp15h 0x1.0p-14h 0x1.0p-10h",
    "FLT": "6 24 +38 +128 -37 -125 2 0x1.fffffep127f 0x1.0p-126f 0x1.0p-23f",
    "DBL": "15 53 +308 +1024 -307 -1021 2 0x1.fffffffffffffp1023 0x1.0p-1022 0x1.0p-52",
}
for _kind, _numbers in _OF_TYPES.items():
    for _name, _number in zip(_LIMITS.split(), _numbers.split(), strict=True):
        CONSTANTS += f"#define {_kind}_{_name} {_number}\n"

_NAMES = "E LOG2E LOG10E LN2 LN10 PI PI_2 PI_4 1_PI 2_PI 2_SQRTPI SQRT2 SQRT1_2"
_NUMBERS = """
2.718281828459045235360 1.442695040888963407360 0.434294481903251827651 0.693147180559945309417
2.302585092994045684018 3.141592653589793238463 1.570796326794896619231 0.785398163397448309616
0.318309886183790671538 0.636619772367581343076 1.128379167095512573896 1.414213562373095048802
0.707106781186547524401
"""
for _name, _number in zip(_NAMES.split(), _NUMBERS.split(), strict=True):
    for _suffix in ("", "_F", "_H"):
        CONSTANTS += f"#define M_{_name}{_suffix} {_number}{_suffix[1:].lower()}\n"


def constants(device: str = "") -> str:
    """For devices that have half, where NULL is an integer. device: instead of the host's macro."""
    text = CONSTANTS.replace("#define USMPY_HOST 1\n", device).replace("((void *)0)", "0")
    return text.replace("#ifdef __FLT16_MAX__", "#if 1")
