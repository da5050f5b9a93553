/* Single elements as C numbers, at any alignment. */
#include "check.h"
#include "support.h"

#include "core/layout/number.h"

#include <math.h>
#include <string.h>

/* One byte behind an aligned address, between guards. */
typedef struct element {
    _Alignas(16) unsigned char bytes[40];
} element;

enum { AT = 9 };

static void *blank(element *element)
{
    memset(element->bytes, 0xa5, sizeof element->bytes);
    return element->bytes + AT;
}

static void check_guards(const element *element, int itemsize)
{
    for (int i = 0; i < (int)sizeof element->bytes; i++) {
        CHECK((i >= AT && i < AT + itemsize) || element->bytes[i] == 0xa5);
    }
}

/* What every type holds comes back, and nothing beside the element is touched. */
static void there_and_back(void)
{
    static const double values[] = {0, 1, 2, 100, -1, -100, 0.5, -0.25, 3e4};
    for (usm_dtype dtype = 0; dtype < USM_COMPUTED_DTYPES; dtype++) {
        const usm_dtype_info *info = &usm_dtype_table[dtype];
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            double value = values[i], im = info->kind == USM_DTYPE_KIND_COMPLEX ? -value / 2 : 0, got,
                   got_im = 7;
            bool integer = info->kind == USM_DTYPE_KIND_INT || info->kind == USM_DTYPE_KIND_UINT;
            if ((info->kind == USM_DTYPE_KIND_BOOL && value != 0 && value != 1) ||
                (integer && (value != floor(value) || (info->bits == 8 && fabs(value) > 100))) ||
                (info->kind == USM_DTYPE_KIND_UINT && value < 0)) {
                continue;
            }
            element element;
            usm_number_store(dtype, value, im, blank(&element));
            check_guards(&element, info->itemsize);
            usm_number_load(dtype, element.bytes + AT, &got, &got_im);
            double wanted = dtype == USM_BFLOAT16 && value == 3e4 ? 29952 : value; /* eight bits of it */
            if (got != wanted || got_im != im) {
                CHECK_FAIL("%s: %g%+gj came back as %g%+gj", info->name, value, im, got, got_im);
            }
        }
    }
}

/* By their bits: a type's own memory, not what the other direction makes of it. */
static void bits(void)
{
    static const struct {
        usm_dtype dtype;
        double re, im;
        unsigned char bytes[16];
    } cases[] = {
        {USM_BOOL, 1, 0, {1}},
        {USM_INT8, -2, 0, {0xfe}},
        {USM_UINT16, 258, 0, {2, 1}},
        {USM_INT32, -2, 0, {0xfe, 0xff, 0xff, 0xff}},
        {USM_INT64, -2, 0, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
        {USM_FLOAT16, -2, 0, {0, 0xc0}},
        {USM_FLOAT16, 65504, 0, {0xff, 0x7b}},
        {USM_FLOAT16, 65520, 0, {0, 0x7c}},
        {USM_FLOAT16, 0x1p-24, 0, {1, 0}},
        {USM_BFLOAT16, 1, 0, {0x80, 0x3f}},
        {USM_FLOAT32, 1, 0, {0, 0, 0x80, 0x3f}},
        {USM_FLOAT64, 1, 0, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}},
        {USM_COMPLEX64, 1, -2, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}},
        {USM_COMPLEX128, 1, -2, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}},
        /* Rounded once, from the double: a float in between would make it a tie. */
        {USM_FLOAT16, 1 + 0x1p-11 + 0x1p-40, 0, {1, 0x3c}},
        {USM_FLOAT16, 1 + 0x1p-11, 0, {0, 0x3c}},
        {USM_BFLOAT16, 1 + 0x1p-8 + 0x1p-40, 0, {0x81, 0x3f}},
        {USM_BFLOAT16, 1 + 0x1p-8, 0, {0x80, 0x3f}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        element element;
        usm_number_store(cases[i].dtype, cases[i].re, cases[i].im, blank(&element));
        if (memcmp(element.bytes + AT, cases[i].bytes, usm_dtype_table[cases[i].dtype].itemsize) != 0) {
            CHECK_FAIL("case %zu: %s", i, usm_dtype_table[cases[i].dtype].name);
        }
    }
}

static void what_is_not_finite(void)
{
    static const usm_dtype types[] = {USM_FLOAT16, USM_BFLOAT16,  USM_FLOAT32,
                                      USM_FLOAT64, USM_COMPLEX64, USM_COMPLEX128};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        bool complex = usm_dtype_table[types[i]].kind == USM_DTYPE_KIND_COMPLEX;
        element element;
        double re, im;
        usm_number_store(types[i], -INFINITY, complex ? NAN : 0, blank(&element));
        usm_number_load(types[i], element.bytes + AT, &re, &im);
        CHECK(re == -INFINITY && (complex ? isnan(im) : im == 0));
        usm_number_store(types[i], NAN, -0.0, blank(&element));
        usm_number_load(types[i], element.bytes + AT, &re, &im);
        CHECK(isnan(re) && im == 0 && (bool)signbit(im) == complex);
    }
}

/* Integers that a double does not hold, and the ends of each type. */
static void integers(void)
{
    for (usm_dtype dtype = USM_INT8; dtype <= USM_UINT64; dtype++) {
        const usm_dtype_info *info = &usm_dtype_table[dtype];
        bool is_signed = info->kind == USM_DTYPE_KIND_INT;
        uint64_t all = UINT64_MAX >> (64 - info->bits);
        const uint64_t patterns[] = {
            0, 1, all / 2, all / 2 + 1, all - 1, all, all & UINT64_C(0x8123456789abcdef)};
        for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
            element element;
            memcpy(blank(&element), &patterns[i], info->itemsize);
            /* Two's complement: counted down from 2**bits where the sign is set. */
            bool negative = is_signed && patterns[i] > all / 2;
            int64_t wanted = negative ? -(int64_t)(all - patterns[i]) - 1 : (int64_t)patterns[i];
            CHECK_EQ(usm_number_load_int(dtype, element.bytes + AT), wanted);
            double re, im;
            usm_number_load(dtype, element.bytes + AT, &re, &im);
            CHECK(re == (dtype == USM_UINT64 ? (double)patterns[i] : (double)wanted) && im == 0);
        }
    }
    const unsigned char yes = 1;
    CHECK_EQ(usm_number_load_int(USM_BOOL, &yes), 1);
}

int main(void)
{
    RUN(there_and_back);
    RUN(bits);
    RUN(what_is_not_finite);
    RUN(integers);
    return 0;
}
