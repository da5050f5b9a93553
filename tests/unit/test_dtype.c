/* Data types: their tables against each other and against the text of the array API standard. */
#include "check.h"
#include "support.h"

#include "core/layout/dtype.h"

#include <dlpack/dlpack.h>
#include <string.h>

static void every_type_is_found_by_its_dlpack_pair_and_name(void)
{
    for (int d = 0; d < USM_DTYPES; d++) {
        const usm_dtype_info *info = &usm_dtype_table[d];
        CHECK(info->name != NULL);
        CHECK_EQ(usm_dtype_from_dlpack(info->code, info->bits), d);
        CHECK_EQ(usm_dtype_from_name(info->name, strlen(info->name)), d);
        CHECK_EQ(info->itemsize, (info->bits + 7) / 8);
    }
    CHECK_EQ(usm_dtype_from_name("float3", 6), USM_NO_DTYPE);
    CHECK_EQ(usm_dtype_from_name("float32", 6), USM_NO_DTYPE);
    CHECK_EQ(usm_dtype_from_name("float32x", 8), USM_NO_DTYPE);
    CHECK_EQ(usm_dtype_from_name("", 0), USM_NO_DTYPE);
}

static void no_other_dlpack_pair_is_known(void)
{
    int found = 0;
    for (int code = 0; code < 256; code++) {
        for (int bits = 0; bits < 256; bits++) {
            usm_dtype dtype = usm_dtype_from_dlpack((uint8_t)code, (uint8_t)bits);
            if (dtype != USM_NO_DTYPE) {
                CHECK(usm_dtype_table[dtype].code == code && usm_dtype_table[dtype].bits == bits);
                found++;
            }
        }
    }
    CHECK_EQ(found, USM_DTYPES);
    CHECK_EQ(usm_dtype_from_dlpack(kDLOpaqueHandle, 64), USM_NO_DTYPE);
    CHECK_EQ(usm_dtype_from_dlpack(kDLBool, 1), USM_NO_DTYPE);
}

static void bytes_of_packed_types(void)
{
    CHECK_EQ(usm_dtype_nbytes(USM_FLOAT4_E2M1FN, 0), 0);
    CHECK_EQ(usm_dtype_nbytes(USM_FLOAT4_E2M1FN, 3), 2);
    CHECK_EQ(usm_dtype_nbytes(USM_FLOAT6_E2M3FN, 3), 3);
    CHECK_EQ(usm_dtype_nbytes(USM_FLOAT6_E3M2FN, 4), 3);
    CHECK_EQ(usm_dtype_nbytes(USM_FLOAT6_E3M2FN, INT64_MAX), INT64_MAX / 8 * 6 + 6);
    CHECK_EQ(usm_dtype_nbytes(USM_FLOAT4_E2M1FN, INT64_MAX), INT64_MAX / 2 + 1);
    CHECK_EQ(usm_dtype_nbytes(USM_COMPLEX128, 3), 48);
    CHECK(usm_dtype_is_packed(USM_FLOAT6_E3M2FN) && !usm_dtype_is_packed(USM_FLOAT8_E5M2));
}

/* "Type Promotion Rules" of the standard, 2025.12: the tables, row by row; - is undefined. */
static void promotion(void)
{
    static const struct {
        usm_dtype a, b, result;
    } rows[] = {
        {USM_INT8, USM_INT16, USM_INT16},
        {USM_INT8, USM_INT64, USM_INT64},
        {USM_INT32, USM_INT16, USM_INT32},
        {USM_UINT8, USM_UINT16, USM_UINT16},
        {USM_UINT32, USM_UINT64, USM_UINT64},
        {USM_INT8, USM_UINT8, USM_INT16},
        {USM_INT8, USM_UINT16, USM_INT32},
        {USM_INT8, USM_UINT32, USM_INT64},
        {USM_INT16, USM_UINT8, USM_INT16},
        {USM_INT16, USM_UINT16, USM_INT32},
        {USM_INT16, USM_UINT32, USM_INT64},
        {USM_INT32, USM_UINT8, USM_INT32},
        {USM_INT32, USM_UINT16, USM_INT32},
        {USM_INT32, USM_UINT32, USM_INT64},
        {USM_INT64, USM_UINT8, USM_INT64},
        {USM_INT64, USM_UINT16, USM_INT64},
        {USM_INT64, USM_UINT32, USM_INT64},
        {USM_INT8, USM_UINT64, USM_NO_DTYPE},
        {USM_INT64, USM_UINT64, USM_NO_DTYPE},
        {USM_FLOAT32, USM_FLOAT64, USM_FLOAT64},
        {USM_FLOAT32, USM_COMPLEX64, USM_COMPLEX64},
        {USM_FLOAT32, USM_COMPLEX128, USM_COMPLEX128},
        {USM_FLOAT64, USM_COMPLEX64, USM_COMPLEX128},
        {USM_FLOAT64, USM_COMPLEX128, USM_COMPLEX128},
        {USM_COMPLEX64, USM_COMPLEX128, USM_COMPLEX128},
        {USM_FLOAT16, USM_FLOAT32, USM_FLOAT32},
        {USM_FLOAT16, USM_BFLOAT16, USM_FLOAT32},
        {USM_BFLOAT16, USM_FLOAT64, USM_FLOAT64},
        {USM_BFLOAT16, USM_COMPLEX64, USM_COMPLEX64},
        {USM_FLOAT16, USM_COMPLEX128, USM_COMPLEX128},
        {USM_BOOL, USM_INT8, USM_INT8},
        {USM_BOOL, USM_BFLOAT16, USM_BFLOAT16},
        {USM_INT32, USM_FLOAT32, USM_FLOAT64},
        {USM_UINT8, USM_FLOAT16, USM_FLOAT16},
        {USM_INT16, USM_BFLOAT16, USM_FLOAT32},
        {USM_UINT8, USM_COMPLEX64, USM_COMPLEX64},
        {USM_UINT64, USM_COMPLEX64, USM_COMPLEX128},
        {USM_COMPLEX32, USM_COMPLEX64, USM_NO_DTYPE},
        {USM_FLOAT8_E4M3, USM_FLOAT8_E5M2, USM_NO_DTYPE},
        {USM_FLOAT8_E4M3, USM_FLOAT32, USM_NO_DTYPE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_EQ(usm_dtype_promote(rows[i].a, rows[i].b), rows[i].result);
    }
    for (int a = 0; a < USM_DTYPES; a++) {
        CHECK_EQ(usm_dtype_promote((usm_dtype)a, (usm_dtype)a), a);
        for (int b = 0; b < USM_DTYPES; b++) {
            usm_dtype result = usm_dtype_promote((usm_dtype)a, (usm_dtype)b);
            CHECK_EQ(usm_dtype_promote((usm_dtype)b, (usm_dtype)a), result);
            if (result != USM_NO_DTYPE) { /* float64 does not hold all of int64 */
                CHECK(usm_dtype_can_cast(
                    (usm_dtype)a, result,
                    a == USM_INT64 || a == USM_UINT64 ? USM_CAST_SAME_KIND : USM_CAST_SAFE));
                CHECK(usm_dtype_can_cast(
                    (usm_dtype)b, result,
                    b == USM_INT64 || b == USM_UINT64 ? USM_CAST_SAME_KIND : USM_CAST_SAFE));
            }
        }
    }
}

static void several(void)
{
    static const usm_dtype types[] = {USM_INT8, USM_UINT16, USM_FLOAT32};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) { /* float32 holds both, whose int32 it does not hold */
        usm_promotion promotion = {0};
        CHECK_EQ(usm_promotion_result(&promotion), USM_NO_DTYPE);
        for (int k = 0; k < 3; k++) {
            usm_promotion_add(&promotion, types[orders[i][k]]);
        }
        CHECK_EQ(usm_promotion_result(&promotion), USM_FLOAT32);
        usm_promotion_add(&promotion, USM_UINT64);
        CHECK_EQ(usm_promotion_result(&promotion), USM_FLOAT64);
    }
    usm_promotion none = {0};
    usm_promotion_add(&none, USM_UINT64);
    usm_promotion_add(&none, USM_INT8);
    CHECK_EQ(usm_promotion_result(&none), USM_NO_DTYPE);
    CHECK_EQ(none.first, USM_UINT64);
    CHECK_EQ(none.second, USM_INT8);
    CHECK_EQ(usm_dtype_with_number(USM_INT8, USM_DTYPE_KIND_INT, true), USM_INT8);
    CHECK_EQ(usm_dtype_with_number(USM_UINT8, USM_DTYPE_KIND_INT, true), USM_UINT8);
    CHECK_EQ(usm_dtype_with_number(USM_BOOL, USM_DTYPE_KIND_INT, true), USM_INT64);
    CHECK_EQ(usm_dtype_with_number(USM_INT8, USM_DTYPE_KIND_FLOAT, true), USM_FLOAT64);
    CHECK_EQ(usm_dtype_with_number(USM_INT8, USM_DTYPE_KIND_FLOAT, false), USM_FLOAT32);
    CHECK_EQ(usm_dtype_with_number(USM_FLOAT16, USM_DTYPE_KIND_COMPLEX, true), USM_COMPLEX64);
    CHECK_EQ(usm_dtype_with_number(USM_FLOAT64, USM_DTYPE_KIND_COMPLEX, true), USM_COMPLEX128);
    CHECK_EQ(usm_dtype_with_number(USM_BOOL, USM_DTYPE_KIND_COMPLEX, false), USM_COMPLEX64);
}

static void codes(void)
{
    static const struct {
        const char *code;
        usm_dtype dtype;
    } rows[] = {
        {"?", USM_BOOL},         {"b1", USM_BOOL},      {"|b1", USM_BOOL},         {"b", USM_INT8},
        {"i1", USM_INT8},        {">i1", USM_INT8},     {"<i8", USM_INT64},        {"=u2", USM_UINT16},
        {"f2", USM_FLOAT16},     {"f4", USM_FLOAT32},   {"d", USM_FLOAT64},        {"c8", USM_COMPLEX64},
        {"c16", USM_COMPLEX128}, {"F", USM_COMPLEX64},  {"l", USM_INT64},          {"L", USM_UINT64},
        {"double", USM_FLOAT64}, {"intp", USM_INT64},   {"half", USM_FLOAT16},     {">f4", USM_NO_DTYPE},
        {"f3", USM_NO_DTYPE},    {"f", USM_FLOAT32},    {"f04", USM_NO_DTYPE},     {"c4", USM_NO_DTYPE},
        {"f1", USM_NO_DTYPE},    {"i16", USM_NO_DTYPE}, {"<", USM_NO_DTYPE},       {"", USM_NO_DTYPE},
        {"f99", USM_NO_DTYPE},   {"f4 ", USM_NO_DTYPE}, {"<double", USM_NO_DTYPE}, {"V2", USM_NO_DTYPE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_EQ(usm_dtype_from_code(rows[i].code, strlen(rows[i].code)), rows[i].dtype);
        CHECK_EQ(usm_dtype_from_name(rows[i].code, strlen(rows[i].code)), USM_NO_DTYPE);
    }
}

static void casting(void)
{
    static const struct {
        usm_dtype from, to;
        usm_casting strictest;
    } rows[] = {
        {USM_INT8, USM_INT8, USM_CAST_NO},
        {USM_FLOAT8_E4M3, USM_FLOAT8_E4M3, USM_CAST_NO},
        {USM_BOOL, USM_INT8, USM_CAST_SAFE},
        {USM_BOOL, USM_BFLOAT16, USM_CAST_SAFE},
        {USM_UINT8, USM_INT16, USM_CAST_SAFE},
        {USM_UINT8, USM_BFLOAT16, USM_CAST_SAFE},
        {USM_INT8, USM_BFLOAT16, USM_CAST_SAFE},
        {USM_INT16, USM_FLOAT16, USM_CAST_SAME_KIND},
        {USM_INT16, USM_FLOAT32, USM_CAST_SAFE},
        {USM_INT32, USM_FLOAT32, USM_CAST_SAME_KIND},
        {USM_INT32, USM_FLOAT64, USM_CAST_SAFE},
        {USM_INT64, USM_FLOAT64, USM_CAST_SAME_KIND},
        {USM_INT64, USM_COMPLEX64, USM_CAST_SAME_KIND},
        {USM_FLOAT16, USM_BFLOAT16, USM_CAST_SAME_KIND},
        {USM_FLOAT64, USM_FLOAT32, USM_CAST_SAME_KIND},
        {USM_FLOAT64, USM_COMPLEX64, USM_CAST_SAME_KIND},
        {USM_COMPLEX128, USM_COMPLEX64, USM_CAST_SAME_KIND},
        {USM_UINT8, USM_INT8, USM_CAST_SAME_KIND},
        {USM_UINT64, USM_INT8, USM_CAST_SAME_KIND},
        {USM_INT8, USM_UINT8, USM_CAST_UNSAFE},
        {USM_INT8, USM_UINT64, USM_CAST_UNSAFE},
        {USM_INT8, USM_BOOL, USM_CAST_UNSAFE},
        {USM_FLOAT32, USM_INT64, USM_CAST_UNSAFE},
        {USM_COMPLEX64, USM_FLOAT64, USM_CAST_UNSAFE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int rule = USM_CAST_NO; rule <= USM_CAST_UNSAFE; rule++) {
            CHECK_EQ(usm_dtype_can_cast(rows[i].from, rows[i].to, (usm_casting)rule),
                     rule >= (int)rows[i].strictest);
        }
    }
    for (int rule = USM_CAST_NO; rule <= USM_CAST_UNSAFE; rule++) {
        CHECK(!usm_dtype_can_cast(USM_COMPLEX32, USM_COMPLEX64, (usm_casting)rule));
        CHECK(!usm_dtype_can_cast(USM_FLOAT32, USM_FLOAT8_E5M2, (usm_casting)rule));
    }
}

int main(void)
{
    watchdog(600);
    RUN(every_type_is_found_by_its_dlpack_pair_and_name);
    RUN(no_other_dlpack_pair_is_known);
    RUN(bytes_of_packed_types);
    RUN(promotion);
    RUN(several);
    RUN(codes);
    RUN(casting);
    return 0;
}
