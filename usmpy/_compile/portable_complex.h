/* Complex numbers of portable programs, for drivers and the host; portable_complex.py writes the calls. */
typedef struct { float real, imag; } usm_complex64;
#define complex64 usm_complex64
#define USM_IS_64(x) __builtin_types_compatible_p(__typeof__(((void)0, x)), usm_complex64)
#ifdef __OPENCL_C_VERSION__
#define USM_C_NAME(name, f) name
#else
#define USM_C_NAME(name, f) __builtin_##name##f
#endif
/* Functions, since a macro of the program may have the name of a built-in one. */
#define USM_C_FUNCTIONS(type, f) \
    static inline type usm_part_hypot##f(type usm_x, type usm_y) { return USM_C_NAME(hypot, f)(usm_x, usm_y); } \
    static inline type usm_part_exp##f(type usm_x) { return USM_C_NAME(exp, f)(usm_x); } \
    static inline type usm_part_cos##f(type usm_x) { return USM_C_NAME(cos, f)(usm_x); } \
    static inline type usm_part_sin##f(type usm_x) { return USM_C_NAME(sin, f)(usm_x); }
USM_C_FUNCTIONS(float, f)
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64) || !defined(__OPENCL_C_VERSION__)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef struct { double real, imag; } usm_complex128;
#define complex128 usm_complex128
#define USM_IS_128(x) __builtin_types_compatible_p(__typeof__(((void)0, x)), usm_complex128)
USM_C_FUNCTIONS(double, )
#else
#define usm_part_hypot usm_part_hypotf
#define usm_part_exp usm_part_expf
#define usm_part_cos usm_part_cosf
#define usm_part_sin usm_part_sinf
#define USM_C_WIDE usm_complex64
#define USM_IS_128(x) 0
#endif
#ifndef USM_C_WIDE
#define USM_C_WIDE usm_complex128
#endif
#define USM_COMPLEXES USM_OF(usm_complex64, "complex64") USM_OF(usm_complex128, "complex128")
#define USM_IS_C(x) (USM_IS_64(x) | USM_IS_128(x))
/* x as it is where it has that kind, else a number, with which the other branches have a type. */
#define USM_AS_C(x) __builtin_choose_expr(USM_IS_C(x), x, ((usm_complex64){0, 0}))
#define USM_AS_REAL(x) __builtin_choose_expr(USM_IS_C(x), 1, x)
/* The parts of x, where a number is complex; 0 where none is. */
#define USM_RE(is, x) __builtin_choose_expr(USM_IS_C(x), USM_AS_C(x).real, \
    __builtin_choose_expr((is) & !USM_IS_C(x), x, 0))
#define USM_IM(x) USM_AS_C(x).imag
/* The type of the parts of a result. */
#define USM_C_PART(is, x, y) __typeof__(0.0f + USM_RE(is, x) + USM_RE(is, y))
#define USM_C_TYPE(part) __typeof__(__builtin_choose_expr(sizeof(part) == 8, ((USM_C_WIDE){0, 0}), \
    ((usm_complex64){0, 0})))
/* usm_a and usm_b are complex or real; the body sees the parts of both, and writes usm_r. */
#define USM_C_REAL(sign) USM_AS_REAL(usm_a) sign USM_AS_REAL(usm_b)
#define USM_C_OPERATE(x, y, otherwise, ...) ({ \
    __auto_type usm_a = (x); __auto_type usm_b = (y); \
    enum { usm_any = USM_IS_C(usm_a) | USM_IS_C(usm_b) }; \
    __builtin_choose_expr(USM_IS_C(usm_a) | USM_IS_C(usm_b), ({ \
    typedef USM_C_PART(usm_any, usm_a, usm_b) usm_part; \
    const usm_part usm_ar = USM_RE(usm_any, usm_a), usm_ai = USM_IM(usm_a); \
    const usm_part usm_br = USM_RE(usm_any, usm_b), usm_bi = USM_IM(usm_b); \
    const int usm_ca = USM_IS_C(usm_a), usm_cb = USM_IS_C(usm_b); \
    (void)usm_ai, (void)usm_bi, (void)usm_ca, (void)usm_cb; \
    __VA_ARGS__ }), otherwise); })
/* A product: GCC contracts sums of them in vectors, whatever -ffp-contract says. */
#if !defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 12
#define USM_TIMES(x, y) __builtin_assoc_barrier((x) * (y))
#else
#define USM_TIMES(x, y) (x) * (y)
#endif
#define USM_C_MAKE(re, im) (USM_C_TYPE(usm_part)){re, im};
#define usm_c_add(x, y) USM_C_OPERATE(x, y, USM_C_REAL(+), USM_C_MAKE(usm_ar + usm_br, \
    usm_ca & usm_cb ? usm_ai + usm_bi : usm_ca ? usm_ai : usm_bi))
#define usm_c_sub(x, y) USM_C_OPERATE(x, y, USM_C_REAL(-), USM_C_MAKE(usm_ar - usm_br, \
    usm_ca & usm_cb ? usm_ai - usm_bi : usm_ca ? usm_ai : -usm_bi))
#define usm_c_mul(x, y) USM_C_OPERATE(x, y, USM_C_REAL(*), USM_C_MAKE( \
    usm_ca & usm_cb ? USM_TIMES(usm_ar, usm_br) - USM_TIMES(usm_ai, usm_bi) : usm_ar * usm_br, \
    usm_ca & usm_cb ? USM_TIMES(usm_ar, usm_bi) + USM_TIMES(usm_ai, usm_br) \
    : usm_ca ? usm_ai * usm_br : usm_ar * usm_bi))
#define usm_c_div(x, y) USM_C_DIVIDE(x, y, USM_C_REAL(/))
#define usm_ck_div(x, y, line, where) USM_C_DIVIDE(x, y, \
    usm_ck_divided(USM_AS_REAL(usm_a), USM_AS_REAL(usm_b), line, where)) /* of checked programs */
#define USM_C_DIVIDE(x, y, otherwise) USM_C_OPERATE(x, y, otherwise, \
    const usm_part usm_d = USM_TIMES(usm_br, usm_br) + USM_TIMES(usm_bi, usm_bi); \
    USM_C_MAKE(!usm_cb ? usm_ar / usm_br : \
    (usm_ca ? USM_TIMES(usm_ar, usm_br) + USM_TIMES(usm_ai, usm_bi) : usm_ar * usm_br) / usm_d, \
    !usm_cb ? usm_ai / usm_br : \
    (usm_ca ? USM_TIMES(usm_ai, usm_br) - USM_TIMES(usm_ar, usm_bi) : -(usm_ar * usm_bi)) / usm_d))
#define usm_c_eq(x, y) USM_C_OPERATE(x, y, USM_C_REAL(==), (usm_ar == usm_br) & (usm_ai == usm_bi);)
#define usm_c_ne(x, y) USM_C_OPERATE(x, y, USM_C_REAL(!=), (usm_ar != usm_br) | (usm_ai != usm_bi);)
/* Of one argument. */
#define USM_C_APPLY(x, otherwise, ...) ({ __auto_type usm_a = (x); \
    __builtin_choose_expr(USM_IS_C(usm_a), ({ typedef __typeof__(USM_AS_C(usm_a).real) usm_part; \
    const usm_part usm_ar = USM_AS_C(usm_a).real, usm_ai = USM_AS_C(usm_a).imag; \
    (void)usm_ar, (void)usm_ai; __VA_ARGS__ }), otherwise); })
#define usm_c_minus(x) USM_C_APPLY(x, -USM_AS_REAL(usm_a), USM_C_MAKE(-usm_ar, -usm_ai))
#define usm_c_plus(x) USM_C_APPLY(x, +USM_AS_REAL(usm_a), USM_C_MAKE(usm_ar, usm_ai))
#define usm_c_conj(x) USM_C_APPLY(x, +USM_AS_REAL(usm_a), USM_C_MAKE(usm_ar, -usm_ai))
#define usm_c_real(x) USM_C_APPLY(x, +USM_AS_REAL(usm_a), usm_ar;)
#define usm_c_imag(x) USM_C_APPLY(x, (__typeof__(+USM_AS_REAL(usm_a)))0, usm_ai;)
#define USM_C_CALL(name, x) (sizeof(usm_part) == 8 ? usm_part_##name(x) : usm_part_##name##f(x))
#define usm_c_abs(name, x) USM_C_APPLY(x, name(USM_AS_REAL(usm_a)), \
    (usm_part)(sizeof(usm_part) == 8 ? usm_part_hypot(usm_ar, usm_ai) : usm_part_hypotf(usm_ar, usm_ai));)
#define usm_c_exp(name, x) USM_C_APPLY(x, name(USM_AS_REAL(usm_a)), const usm_part usm_e = \
    USM_C_CALL(exp, usm_ar); USM_C_MAKE(usm_e * USM_C_CALL(cos, usm_ai), usm_e * USM_C_CALL(sin, usm_ai)))
/* Conversions: from a real or complex number, from two parts, and to the type of a target. */
#define usm_to_complex64(x) ({ __auto_type usm_a = (x); \
    (usm_complex64){(float)USM_RE(1, usm_a), (float)USM_IM(usm_a)}; })
#define usm_to_complex128(x) ({ __auto_type usm_a = (x); \
    (usm_complex128){(double)USM_RE(1, usm_a), (double)USM_IM(usm_a)}; })
#define usm_make_complex64(x, y) ((usm_complex64){(float)(x), (float)(y)})
#define usm_make_complex128(x, y) ((usm_complex128){(double)(x), (double)(y)})
#define usm_c_like(target, x) ({ __auto_type usm_t = (x); \
    __builtin_choose_expr(USM_IS_C(target), ({ \
    (__typeof__(__builtin_choose_expr(USM_IS_C(target), ((void)0, target), ((usm_complex64){0, 0})))) \
    {USM_RE(USM_IS_C(target), usm_t), USM_IM(usm_t)}; }), USM_AS_REAL(usm_t)); })
