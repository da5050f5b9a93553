#include "dtype.h"

#include "layout.h"

#include <dlpack/dlpack.h>
#include <string.h>

#if !defined(DLPACK_MAJOR_VERSION) || DLPACK_MAJOR_VERSION != 1 || DLPACK_MINOR_VERSION < 3
#error "usmpy needs dlpack/dlpack.h 1.3 or newer (the build requirement apache-tvm-ffi brings it)"
#endif

/* X(dtype, and the members of usm_dtype_info), of types of whole bytes and of others. */
#define WHOLE_TYPES(X)                                                                                       \
    X(USM_BOOL, "bool", "?", kDLBool, 8, 1, USM_DTYPE_KIND_BOOL)                                             \
    X(USM_INT8, "int8", "b", kDLInt, 8, 1, USM_DTYPE_KIND_INT)                                               \
    X(USM_INT16, "int16", "h", kDLInt, 16, 2, USM_DTYPE_KIND_INT)                                            \
    X(USM_INT32, "int32", "i", kDLInt, 32, 4, USM_DTYPE_KIND_INT)                                            \
    X(USM_INT64, "int64", "q", kDLInt, 64, 8, USM_DTYPE_KIND_INT)                                            \
    X(USM_UINT8, "uint8", "B", kDLUInt, 8, 1, USM_DTYPE_KIND_UINT)                                           \
    X(USM_UINT16, "uint16", "H", kDLUInt, 16, 2, USM_DTYPE_KIND_UINT)                                        \
    X(USM_UINT32, "uint32", "I", kDLUInt, 32, 4, USM_DTYPE_KIND_UINT)                                        \
    X(USM_UINT64, "uint64", "Q", kDLUInt, 64, 8, USM_DTYPE_KIND_UINT)                                        \
    X(USM_FLOAT16, "float16", "e", kDLFloat, 16, 2, USM_DTYPE_KIND_FLOAT)                                    \
    X(USM_FLOAT32, "float32", "f", kDLFloat, 32, 4, USM_DTYPE_KIND_FLOAT)                                    \
    X(USM_FLOAT64, "float64", "d", kDLFloat, 64, 8, USM_DTYPE_KIND_FLOAT)                                    \
    X(USM_COMPLEX64, "complex64", "Zf", kDLComplex, 64, 8, USM_DTYPE_KIND_COMPLEX)                           \
    X(USM_COMPLEX128, "complex128", "Zd", kDLComplex, 128, 16, USM_DTYPE_KIND_COMPLEX)                       \
    X(USM_BFLOAT16, "bfloat16", NULL, kDLBfloat, 16, 2, USM_DTYPE_KIND_FLOAT)                                \
    X(USM_COMPLEX32, "complex32", NULL, kDLComplex, 32, 4, USM_DTYPE_KIND_COMPLEX)                           \
    X(USM_FLOAT8_E3M4, "float8_e3m4", NULL, kDLFloat8_e3m4, 8, 1, USM_DTYPE_KIND_FLOAT)                      \
    X(USM_FLOAT8_E4M3, "float8_e4m3", NULL, kDLFloat8_e4m3, 8, 1, USM_DTYPE_KIND_FLOAT)                      \
    X(USM_FLOAT8_E4M3B11FNUZ, "float8_e4m3b11fnuz", NULL, kDLFloat8_e4m3b11fnuz, 8, 1, USM_DTYPE_KIND_FLOAT) \
    X(USM_FLOAT8_E4M3FN, "float8_e4m3fn", NULL, kDLFloat8_e4m3fn, 8, 1, USM_DTYPE_KIND_FLOAT)                \
    X(USM_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", NULL, kDLFloat8_e4m3fnuz, 8, 1, USM_DTYPE_KIND_FLOAT)          \
    X(USM_FLOAT8_E5M2, "float8_e5m2", NULL, kDLFloat8_e5m2, 8, 1, USM_DTYPE_KIND_FLOAT)                      \
    X(USM_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", NULL, kDLFloat8_e5m2fnuz, 8, 1, USM_DTYPE_KIND_FLOAT)          \
    X(USM_FLOAT8_E8M0FNU, "float8_e8m0fnu", NULL, kDLFloat8_e8m0fnu, 8, 1, USM_DTYPE_KIND_FLOAT)
#define PACKED_TYPES(X)                                                                       \
    X(USM_FLOAT6_E2M3FN, "float6_e2m3fn", NULL, kDLFloat6_e2m3fn, 6, 1, USM_DTYPE_KIND_FLOAT) \
    X(USM_FLOAT6_E3M2FN, "float6_e3m2fn", NULL, kDLFloat6_e3m2fn, 6, 1, USM_DTYPE_KIND_FLOAT) \
    X(USM_FLOAT4_E2M1FN, "float4_e2m1fn", NULL, kDLFloat4_e2m1fn, 4, 1, USM_DTYPE_KIND_FLOAT)

#define INFO(dtype, name, format, code, bits, itemsize, kind) \
    [dtype] = {name, format, code, bits, itemsize, kind},
const usm_dtype_info usm_dtype_table[USM_DTYPES] = {WHOLE_TYPES(INFO) PACKED_TYPES(INFO)};

/* [code][log2(itemsize)], plus one: 0 means none. */
#define WHOLE(dtype, name, format, code, bits, itemsize, kind) [code][__builtin_ctz(itemsize)] = (dtype) + 1,
static const uint8_t whole_bytes[kDLFloat4_e2m1fn + 1][5] = {WHOLE_TYPES(WHOLE)};

usm_dtype usm_dtype_from_dlpack(uint8_t code, uint8_t bits)
{
    if (code > kDLFloat4_e2m1fn) {
        return USM_NO_DTYPE;
    }
    if (bits >= 8 && (bits & (bits - 1)) == 0) {
        uint8_t found = whole_bytes[code][__builtin_ctz(bits) - 3];
        return found == 0 ? USM_NO_DTYPE : (usm_dtype)(found - 1);
    }
    for (usm_dtype dtype = USM_FLOAT6_E2M3FN; dtype < USM_DTYPES; dtype++) {
        if (usm_dtype_table[dtype].code == code && usm_dtype_table[dtype].bits == bits) {
            return dtype;
        }
    }
    return USM_NO_DTYPE;
}

usm_dtype usm_dtype_from_name(const char *name, size_t length)
{
    for (int i = 0; i < USM_DTYPES; i++) {
        if (strlen(usm_dtype_table[i].name) == length && memcmp(usm_dtype_table[i].name, name, length) == 0) {
            return (usm_dtype)i;
        }
    }
    return USM_NO_DTYPE;
}

/* NumPy's words for types, sorted by nothing but what belongs together. */
static const struct {
    const char *word;
    uint8_t dtype;
} words[] = {
    {"bool_", USM_BOOL},         {"byte", USM_INT8},          {"short", USM_INT16},
    {"intc", USM_INT32},         {"int", USM_INT64},          {"int_", USM_INT64},
    {"long", USM_INT64},         {"longlong", USM_INT64},     {"intp", USM_INT64},
    {"ubyte", USM_UINT8},        {"ushort", USM_UINT16},      {"uintc", USM_UINT32},
    {"uint", USM_UINT64},        {"ulong", USM_UINT64},       {"ulonglong", USM_UINT64},
    {"uintp", USM_UINT64},       {"half", USM_FLOAT16},       {"single", USM_FLOAT32},
    {"double", USM_FLOAT64},     {"float", USM_FLOAT64},      {"csingle", USM_COMPLEX64},
    {"cdouble", USM_COMPLEX128}, {"complex", USM_COMPLEX128},
};

/* By one letter of NumPy's; 'l' and 'L' are long, of 64 bits on every system that this runs on. */
static usm_dtype from_letter(char letter)
{
    static const struct {
        char letter;
        uint8_t dtype;
    } others[] = {
        {'l', USM_INT64},  {'p', USM_INT64},  {'n', USM_INT64},     {'L', USM_UINT64},
        {'P', USM_UINT64}, {'N', USM_UINT64}, {'F', USM_COMPLEX64}, {'D', USM_COMPLEX128},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].letter == letter) {
            return (usm_dtype)others[i].dtype;
        }
    }
    for (int i = 0; i < USM_COMPUTED_DTYPES; i++) {
        const char *format = usm_dtype_table[i].format;
        if (format != NULL && format[0] == letter && format[1] == '\0') {
            return (usm_dtype)i;
        }
    }
    return USM_NO_DTYPE;
}

/* A letter and the size in bytes: "f4", "c16". */
static usm_dtype from_size(const char *text, size_t length)
{
    static const char letters[] = "iufcb";
    static const uint8_t codes[] = {kDLInt, kDLUInt, kDLFloat, kDLComplex, kDLBool};
    const char *found = memchr(letters, text[0], sizeof letters - 1);
    unsigned bytes = 0;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || (i == 1 && text[i] == '0')) {
            return USM_NO_DTYPE;
        }
        bytes = 10 * bytes + (unsigned)(text[i] - '0');
    }
    usm_dtype dtype = found == NULL || length > 3 || bytes > 16
                          ? USM_NO_DTYPE
                          : usm_dtype_from_dlpack(codes[found - letters], (uint8_t)(8 * bytes));
    return dtype < USM_COMPUTED_DTYPES ? dtype : USM_NO_DTYPE; /* "c4" is no type of NumPy */
}

usm_dtype usm_dtype_from_code(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) == length && memcmp(words[i].word, text, length) == 0) {
            return (usm_dtype)words[i].dtype;
        }
    }
    bool swapped = length > 1 && text[0] == '>';
    if (length > 1 && memchr("<=|>", text[0], 4) != NULL) {
        text++;
        length--;
    }
    usm_dtype dtype = length == 1  ? from_letter(text[0])
                      : length > 1 ? from_size(text, length)
                                   : USM_NO_DTYPE;
    return dtype != USM_NO_DTYPE && swapped && usm_dtype_table[dtype].itemsize > 1 ? USM_NO_DTYPE : dtype;
}

/*
 * Type promotion: the tables of the array API standard, bfloat16, and NumPy's rules where the kinds differ.
 * Both arguments are in the order of usm_dtype.
 */
#define B USM_BOOL
#define I1 USM_INT8
#define I2 USM_INT16
#define I4 USM_INT32
#define I8 USM_INT64
#define U1 USM_UINT8
#define U2 USM_UINT16
#define U4 USM_UINT32
#define U8 USM_UINT64
#define F2 USM_FLOAT16
#define F4 USM_FLOAT32
#define F8 USM_FLOAT64
#define C4 USM_COMPLEX64
#define C8 USM_COMPLEX128
#define BF USM_BFLOAT16
#define NO USM_NO_DTYPE
/* clang-format off */
static const uint8_t promotion[USM_COMPUTED_DTYPES][USM_COMPUTED_DTYPES] = {
    /*          bool int8 16  32  64 uint8 16  32  64 float16 32 64 complex64 128 bfloat16 */
    [USM_BOOL]       = { B, I1, I2, I4, I8, U1, U2, U4, U8, F2, F4, F8, C4, C8, BF},
    [USM_INT8]       = {I1, I1, I2, I4, I8, I2, I4, I8, NO, F2, F4, F8, C4, C8, BF},
    [USM_INT16]      = {I2, I2, I2, I4, I8, I2, I4, I8, NO, F4, F4, F8, C4, C8, F4},
    [USM_INT32]      = {I4, I4, I4, I4, I8, I4, I4, I8, NO, F8, F8, F8, C8, C8, F8},
    [USM_INT64]      = {I8, I8, I8, I8, I8, I8, I8, I8, NO, F8, F8, F8, C8, C8, F8},
    [USM_UINT8]      = {U1, I2, I2, I4, I8, U1, U2, U4, U8, F2, F4, F8, C4, C8, BF},
    [USM_UINT16]     = {U2, I4, I4, I4, I8, U2, U2, U4, U8, F4, F4, F8, C4, C8, F4},
    [USM_UINT32]     = {U4, I8, I8, I8, I8, U4, U4, U4, U8, F8, F8, F8, C8, C8, F8},
    [USM_UINT64]     = {U8, NO, NO, NO, NO, U8, U8, U8, U8, F8, F8, F8, C8, C8, F8},
    [USM_FLOAT16]    = {F2, F2, F4, F8, F8, F2, F4, F8, F8, F2, F4, F8, C4, C8, F4},
    [USM_FLOAT32]    = {F4, F4, F4, F8, F8, F4, F4, F8, F8, F4, F4, F8, C4, C8, F4},
    [USM_FLOAT64]    = {F8, F8, F8, F8, F8, F8, F8, F8, F8, F8, F8, F8, C8, C8, F8},
    [USM_COMPLEX64]  = {C4, C4, C4, C8, C8, C4, C4, C8, C8, C4, C4, C8, C4, C8, C4},
    [USM_COMPLEX128] = {C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8, C8},
    [USM_BFLOAT16]   = {BF, BF, F4, F8, F8, BF, F4, F8, F8, F4, F4, F8, C4, C8, BF},
};
/* clang-format on */

usm_dtype usm_dtype_promote(usm_dtype a, usm_dtype b)
{
    if (a >= USM_COMPUTED_DTYPES || b >= USM_COMPUTED_DTYPES) {
        return a == b ? a : USM_NO_DTYPE;
    }
    return (usm_dtype)promotion[a][b];
}

void usm_promotion_add(usm_promotion *promotion, usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    bool integer = info->kind < USM_DTYPE_KIND_FLOAT;
    bool *any = integer ? &promotion->any_integer : &promotion->any_inexact;
    usm_dtype *fold = integer ? &promotion->integer : &promotion->inexact, before = *fold;
    if (!*any) {
        *fold = dtype;
    } else if (before != USM_NO_DTYPE) {
        *fold = usm_dtype_promote(before, dtype);
    }
    if (*fold == USM_NO_DTYPE && promotion->first == promotion->second) {
        promotion->first = before;
        promotion->second = dtype;
    }
    *any = true;
    if (integer) { /* what decides how wide a floating-point type has to be */
        usm_dtype like = info->kind == USM_DTYPE_KIND_BOOL ? USM_BOOL
                         : info->bits == 8                 ? USM_INT8
                         : info->bits == 16                ? USM_INT16
                                                           : USM_INT32;
        promotion->widest = like > promotion->widest ? like : promotion->widest;
    }
}

usm_dtype usm_promotion_result(usm_promotion *promotion)
{
    if (!promotion->any_inexact) {
        return promotion->any_integer ? promotion->integer : USM_NO_DTYPE;
    }
    if (!promotion->any_integer || promotion->inexact == USM_NO_DTYPE) {
        return promotion->inexact;
    }
    usm_dtype result = usm_dtype_promote(promotion->inexact, promotion->widest);
    if (result == USM_NO_DTYPE) {
        promotion->first = promotion->inexact;
        promotion->second = promotion->integer;
    }
    return result;
}

usm_dtype usm_dtype_with_number(usm_dtype dtype, usm_dtype_kind number, bool has_fp64)
{
    usm_dtype_kind kind = usm_dtype_table[dtype].kind;
    if (dtype >= USM_COMPUTED_DTYPES || number <= kind) { /* an int goes into unsigned types */
        return dtype;
    }
    if (kind == USM_DTYPE_KIND_FLOAT) { /* the number is complex */
        return usm_dtype_promote(dtype, USM_COMPLEX64);
    }
    return number == USM_DTYPE_KIND_INT     ? USM_INT64
           : number == USM_DTYPE_KIND_FLOAT ? (has_fp64 ? USM_FLOAT64 : USM_FLOAT32)
                                            : (has_fp64 ? USM_COMPLEX128 : USM_COMPLEX64);
}

usm_dtype usm_dtype_without_fp64(usm_dtype dtype)
{
    return dtype == USM_FLOAT64 ? USM_FLOAT32 : dtype == USM_COMPLEX128 ? USM_COMPLEX64 : dtype;
}

static const usm_float_limits float_limits[USM_DTYPES] = {
    [USM_FLOAT16] = {0x1p-10, 65504, -65504, 0x1p-14},
    [USM_BFLOAT16] = {0x1p-7, 0x1.fep127, -0x1.fep127, 0x1p-126},
    [USM_FLOAT32] = {0x1p-23, 0x1.fffffep127, -0x1.fffffep127, 0x1p-126},
    [USM_FLOAT64] = {0x1p-52, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, 0x1p-1022},
    [USM_FLOAT8_E3M4] = {0x1p-4, 15.5, -15.5, 0x1p-2},
    [USM_FLOAT8_E4M3] = {0x1p-3, 240, -240, 0x1p-6},
    [USM_FLOAT8_E4M3B11FNUZ] = {0x1p-3, 30, -30, 0x1p-10},
    [USM_FLOAT8_E4M3FN] = {0x1p-3, 448, -448, 0x1p-6},
    [USM_FLOAT8_E4M3FNUZ] = {0x1p-3, 240, -240, 0x1p-7},
    [USM_FLOAT8_E5M2] = {0x1p-2, 57344, -57344, 0x1p-14},
    [USM_FLOAT8_E5M2FNUZ] = {0x1p-2, 57344, -57344, 0x1p-15},
    [USM_FLOAT8_E8M0FNU] = {1, 0x1p127, 0x1p-127, 0x1p-127},
    [USM_FLOAT6_E2M3FN] = {0x1p-3, 7.5, -7.5, 1},
    [USM_FLOAT6_E3M2FN] = {0x1p-2, 28, -28, 0x1p-2},
    [USM_FLOAT4_E2M1FN] = {0x1p-1, 6, -6, 1},
};

const usm_float_limits *usm_dtype_float_limits(usm_dtype dtype)
{
    return &float_limits[dtype];
}

/* Promotion keeps all values, but for integers of 64 bits, which no floating-point type holds. */
static bool cast_is_safe(usm_dtype from, usm_dtype to)
{
    const usm_dtype_info *x = &usm_dtype_table[from];
    bool rounds =
        x->kind <= USM_DTYPE_KIND_UINT && x->bits == 64 && usm_dtype_table[to].kind >= USM_DTYPE_KIND_FLOAT;
    return !rounds && usm_dtype_promote(from, to) == to;
}

bool usm_dtype_can_cast(usm_dtype from, usm_dtype to, usm_casting casting)
{
    if (from == to) {
        return true;
    }
    if (casting == USM_CAST_NO || from >= USM_COMPUTED_DTYPES || to >= USM_COMPUTED_DTYPES) {
        return false;
    }
    if (casting == USM_CAST_UNSAFE || cast_is_safe(from, to)) {
        return true;
    }
    if (casting == USM_CAST_SAFE) {
        return false;
    }
    /* Same kind: never from signed to unsigned, never down the chain bool < integer < float < complex. */
    usm_dtype_kind x = usm_dtype_table[from].kind, y = usm_dtype_table[to].kind;
    return x == y || (x == USM_DTYPE_KIND_UINT && y == USM_DTYPE_KIND_INT) ||
           (x <= USM_DTYPE_KIND_UINT && y >= USM_DTYPE_KIND_FLOAT) ||
           (x == USM_DTYPE_KIND_FLOAT && y == USM_DTYPE_KIND_COMPLEX);
}

bool usm_dtype_span(usm_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides, int64_t size,
                    const void *first, int64_t *low, int64_t *high)
{
    *low = 0;
    *high = usm_dtype_is_packed(dtype) ? usm_dtype_nbytes(dtype, size) : 0;
    if (!usm_dtype_is_packed(dtype) &&
        !usm_layout_span(ndim, shape, strides, usm_dtype_table[dtype].itemsize, low, high)) {
        return false;
    }
    return *low == *high || usm_span_is_addressable(first, *low, *high);
}
