/* Data types: what DLPack can describe with one lane, bit for bit, and how they promote and cast. */
#ifndef USM_CORE_DTYPE_H
#define USM_CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order is the order of the tables in dtype.c. */
typedef enum usm_dtype {
    USM_BOOL,
    USM_INT8,
    USM_INT16,
    USM_INT32,
    USM_INT64,
    USM_UINT8,
    USM_UINT16,
    USM_UINT32,
    USM_UINT64,
    USM_FLOAT16,
    USM_FLOAT32,
    USM_FLOAT64,
    USM_COMPLEX64,
    USM_COMPLEX128,
    USM_BFLOAT16,
    USM_COMPUTED_DTYPES, /* those before it can be cast into each other */
    USM_COMPLEX32 = USM_COMPUTED_DTYPES,
    USM_FLOAT8_E3M4,
    USM_FLOAT8_E4M3,
    USM_FLOAT8_E4M3B11FNUZ,
    USM_FLOAT8_E4M3FN,
    USM_FLOAT8_E4M3FNUZ,
    USM_FLOAT8_E5M2,
    USM_FLOAT8_E5M2FNUZ,
    USM_FLOAT8_E8M0FNU,
    USM_FLOAT6_E2M3FN,
    USM_FLOAT6_E3M2FN,
    USM_FLOAT4_E2M1FN,
    USM_DTYPES,
    USM_NO_DTYPE = 255
} usm_dtype;

typedef enum usm_dtype_kind {
    USM_DTYPE_KIND_BOOL,
    USM_DTYPE_KIND_INT,
    USM_DTYPE_KIND_UINT,
    USM_DTYPE_KIND_FLOAT,
    USM_DTYPE_KIND_COMPLEX,
} usm_dtype_kind;

typedef struct usm_dtype_info {
    const char *name;   /* as importable from usmpy */
    const char *format; /* of the struct module, for the buffer protocol; NULL where it has none */
    uint8_t code;       /* DLDataTypeCode */
    uint8_t bits;       /* one element */
    uint8_t itemsize;   /* bytes, rounded up: 1 for the sub-byte types */
    uint8_t kind;       /* usm_dtype_kind */
} usm_dtype_info;

extern const usm_dtype_info usm_dtype_table[USM_DTYPES];

/* By DLPack type; USM_NO_DTYPE for what this library does not hold (lanes are checked by the caller). */
usm_dtype usm_dtype_from_dlpack(uint8_t code, uint8_t bits);
/* By the name of the array API standard and of ml_dtypes; "bool_" and the like are not names. */
usm_dtype usm_dtype_from_name(const char *name, size_t length);

/*
 * By NumPy's codes ("f4", "<i8", "?", "d") and words ("double", "intp"), which are no words of kernels'
 * parameters. Other than little-endian is no type here.
 */
usm_dtype usm_dtype_from_code(const char *text, size_t length);

static inline bool usm_dtype_is_packed(usm_dtype dtype)
{
    return usm_dtype_table[dtype].bits < 8;
}

/* Bytes of the numbers that an element consists of, half of a complex one: what it is aligned to. */
static inline unsigned usm_dtype_alignment(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    return info->kind == USM_DTYPE_KIND_COMPLEX ? info->itemsize / 2u : info->itemsize;
}

/* Bytes of n elements side by side; packed types share bytes. n >= 0, and n * itemsize must not overflow. */
static inline int64_t usm_dtype_nbytes(usm_dtype dtype, int64_t n)
{
    int bits = usm_dtype_table[dtype].bits;
    return usm_dtype_is_packed(dtype) ? n / 8 * bits + (n % 8 * bits + 7) / 8
                                      : n * usm_dtype_table[dtype].itemsize;
}

/*
 * The bytes [*low, *high) that an array of `size` elements spans, relative to `first`, its first element:
 * none where size is 0. Packed elements lie side by side. False where it reaches beyond any address.
 */
bool usm_dtype_span(usm_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides, int64_t size,
                    const void *first, int64_t *low, int64_t *high);

/*
 * Type promotion of the array API standard 2025.12, with bfloat16 beside float16 (the two give float32).
 * Where the standard leaves it open, since the kinds differ, NumPy's: the smallest type that holds the values
 * of both (bool any, 8-bit integers any floating-point type, 16-bit ones float32, wider ones float64).
 * USM_NO_DTYPE for uint64 with signed integers, and for storage types with others than themselves.
 */
usm_dtype usm_dtype_promote(usm_dtype a, usm_dtype b);

/*
 * The same for any number of types, whose order does not matter: floating-point types are joined with each
 * integer type, as NumPy does, and integers with each other only where there are no others. Starts as zeros.
 */
typedef struct usm_promotion {
    bool any_integer, any_inexact;
    usm_dtype integer, inexact; /* of either kind together */
    usm_dtype widest;           /* among the integers, as bool, int8, int16 or int32 */
    usm_dtype first, second;    /* two that have no common type, where there is no result */
} usm_promotion;

void usm_promotion_add(usm_promotion *promotion, usm_dtype dtype);
/* USM_NO_DTYPE where there is none, also of no types. */
usm_dtype usm_promotion_result(usm_promotion *promotion);

/*
 * The type of an array of this one and a Python number (bool, int, float or complex, by its kind): the
 * array's, or, where the number is of a higher kind, that kind's default type on a device with or without
 * fp64.
 */
usm_dtype usm_dtype_with_number(usm_dtype dtype, usm_dtype_kind number, bool has_fp64);

/* What stands for it on a device without double precision, where none of the arguments has it. */
usm_dtype usm_dtype_without_fp64(usm_dtype dtype);

/* Limits of a floating-point type. */
typedef struct usm_float_limits {
    double eps; /* from 1 to the next */
    double max, min, smallest_normal;
} usm_float_limits;

/* Of every type of USM_DTYPE_KIND_FLOAT. */
const usm_float_limits *usm_dtype_float_limits(usm_dtype dtype);

/* Casting rules, strictest first: each allows what those before it allow. */
typedef enum usm_casting {
    USM_CAST_NO,        /* the same type */
    USM_CAST_SAFE,      /* every value survives */
    USM_CAST_SAME_KIND, /* safe, or within a kind (float64 -> float32), or to a higher kind */
    USM_CAST_UNSAFE,    /* anything that a cast kernel exists for */
} usm_casting;

bool usm_dtype_can_cast(usm_dtype from, usm_dtype to, usm_casting casting);

#endif
