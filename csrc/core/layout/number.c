#include "number.h"

#include "half.h"

#include <string.h>

void usm_number_store(usm_dtype dtype, double re, double im, void *element)
{
    const float pair[2] = {(float)re, (float)im};
    const double wide[2] = {re, im};
    const void *from = pair;
    uint16_t half;
    int64_t integer;
    switch (dtype) {
        case USM_FLOAT16:
            half = usm_float_to_half(usm_double_to_odd_float(re));
            from = &half;
            break;
        case USM_BFLOAT16:
            half = usm_float_to_bfloat(usm_double_to_odd_float(re));
            from = &half;
            break;
        case USM_FLOAT32:
        case USM_COMPLEX64:
            break;
        case USM_FLOAT64:
        case USM_COMPLEX128:
            from = wide;
            break;
        default: /* bool and integers: all of them little-endian prefixes of the same bits */
            integer = (int64_t)re;
            from = &integer;
    }
    memcpy(element, from, usm_dtype_table[dtype].itemsize);
}

int64_t usm_number_load_int(usm_dtype dtype, const void *element)
{
    unsigned bits = usm_dtype_table[dtype].bits;
    uint64_t value = 0;
    memcpy(&value, element, bits / 8);
    if (usm_dtype_table[dtype].kind == USM_DTYPE_KIND_INT && bits < 64) {
        uint64_t sign = UINT64_C(1) << (bits - 1);
        value = (value ^ sign) - sign; /* sign extension without an implementation-defined shift */
    }
    return (int64_t)value;
}

void usm_number_load(usm_dtype dtype, const void *element, double *re, double *im)
{
    size_t size = usm_dtype_table[dtype].itemsize;
    uint16_t half;
    float pair[2] = {0, 0};
    double wide[2] = {0, 0};
    *im = 0;
    switch (dtype) {
        case USM_FLOAT16:
        case USM_BFLOAT16:
            memcpy(&half, element, size);
            *re = (double)(dtype == USM_FLOAT16 ? usm_half_to_float(half) : usm_bfloat_to_float(half));
            break;
        case USM_FLOAT32:
        case USM_COMPLEX64:
            memcpy(pair, element, size);
            *re = (double)pair[0];
            *im = (double)pair[1];
            break;
        case USM_FLOAT64:
        case USM_COMPLEX128:
            memcpy(wide, element, size);
            *re = wide[0];
            *im = wide[1];
            break;
        case USM_UINT64:
            *re = (double)(uint64_t)usm_number_load_int(dtype, element);
            break;
        default:
            *re = (double)usm_number_load_int(dtype, element);
            break;
    }
}
