// Constants of the portable language.
// --- host
#undef linux
#undef unix
#undef i386
#undef __GNUC__
#undef __clang__
#undef __STDC_VERSION__
#undef __STDC_HOSTED__
#define __ENDIAN_LITTLE__ 1
#define cl_khr_fp64 1
#define __opencl_c_fp64 1
#define __opencl_c_int64 1
#define cl_khr_byte_addressable_store 1
#define cl_khr_global_int32_base_atomics 1
#define cl_khr_global_int32_extended_atomics 1
#define cl_khr_local_int32_base_atomics 1
#define cl_khr_local_int32_extended_atomics 1
#define cl_khr_int64_base_atomics 1
#define cl_khr_int64_extended_atomics 1
#define CL_VERSION_1_0 100
#define CL_VERSION_1_1 110
#define CL_VERSION_1_2 120
#define CL_VERSION_2_0 200
#define CL_VERSION_3_0 300
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
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP +4
#define HALF_MAX_EXP +16
#define HALF_MIN_10_EXP -4
#define HALF_MIN_EXP -13
#define HALF_RADIX 2
#define HALF_MAX 0x1.ffcp15h
#define HALF_MIN 0x1.0p-14h
#define HALF_EPSILON 0x1.0p-10h
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP +38
#define FLT_MAX_EXP +128
#define FLT_MIN_10_EXP -37
#define FLT_MIN_EXP -125
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP +308
#define DBL_MAX_EXP +1024
#define DBL_MIN_10_EXP -307
#define DBL_MIN_EXP -1021
#define DBL_RADIX 2
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1.0p-1022
#define DBL_EPSILON 0x1.0p-52
#define M_E 2.718281828459045235360
#define M_E_F 2.718281828459045235360f
#define M_E_H 2.718281828459045235360h
#define M_LOG2E 1.442695040888963407360
#define M_LOG2E_F 1.442695040888963407360f
#define M_LOG2E_H 1.442695040888963407360h
#define M_LOG10E 0.434294481903251827651
#define M_LOG10E_F 0.434294481903251827651f
#define M_LOG10E_H 0.434294481903251827651h
#define M_LN2 0.693147180559945309417
#define M_LN2_F 0.693147180559945309417f
#define M_LN2_H 0.693147180559945309417h
#define M_LN10 2.302585092994045684018
#define M_LN10_F 2.302585092994045684018f
#define M_LN10_H 2.302585092994045684018h
#define M_PI 3.141592653589793238463
#define M_PI_F 3.141592653589793238463f
#define M_PI_H 3.141592653589793238463h
#define M_PI_2 1.570796326794896619231
#define M_PI_2_F 1.570796326794896619231f
#define M_PI_2_H 1.570796326794896619231h
#define M_PI_4 0.785398163397448309616
#define M_PI_4_F 0.785398163397448309616f
#define M_PI_4_H 0.785398163397448309616h
#define M_1_PI 0.318309886183790671538
#define M_1_PI_F 0.318309886183790671538f
#define M_1_PI_H 0.318309886183790671538h
#define M_2_PI 0.636619772367581343076
#define M_2_PI_F 0.636619772367581343076f
#define M_2_PI_H 0.636619772367581343076h
#define M_2_SQRTPI 1.128379167095512573896
#define M_2_SQRTPI_F 1.128379167095512573896f
#define M_2_SQRTPI_H 1.128379167095512573896h
#define M_SQRT2 1.414213562373095048802
#define M_SQRT2_F 1.414213562373095048802f
#define M_SQRT2_H 1.414213562373095048802h
#define M_SQRT1_2 0.707106781186547524401
#define M_SQRT1_2_F 0.707106781186547524401f
#define M_SQRT1_2_H 0.707106781186547524401h
