#include "number.h"

#include "half.h"

#include <string.h>

#define STORE(type, value)                       \
    do {                                         \
        type stored = (type)(value);             \
        memcpy(element, &stored, sizeof stored); \
    } while (0)

void usm_number_store(usm_dtype dtype, double re, double im, void *element)
{
    float pair[2] = {(float)re, (float)im};
    double wide[2] = {re, im};
    switch (dtype) {
        case USM_FLOAT16:
            STORE(uint16_t, usm_float_to_half(usm_double_to_odd_float(re)));
            break;
        case USM_BFLOAT16:
            STORE(uint16_t, usm_float_to_bfloat(usm_double_to_odd_float(re)));
            break;
        case USM_FLOAT32:
            STORE(float, re);
            break;
        case USM_FLOAT64:
            STORE(double, re);
            break;
        case USM_COMPLEX64:
            memcpy(element, pair, sizeof pair);
            break;
        case USM_COMPLEX128:
            memcpy(element, wide, sizeof wide);
            break;
        default: { /* bool and integers: all of them little-endian prefixes of the same bits */
            int64_t value = (int64_t)re;
            memcpy(element, &value, usm_dtype_table[dtype].itemsize);
        }
    }
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
    uint16_t half;
    float pair[2];
    double wide[2];
    *im = 0;
    switch (dtype) {
        case USM_FLOAT16:
            memcpy(&half, element, sizeof half);
            *re = (double)usm_half_to_float(half);
            break;
        case USM_BFLOAT16:
            memcpy(&half, element, sizeof half);
            *re = (double)usm_bfloat_to_float(half);
            break;
        case USM_FLOAT32:
            memcpy(pair, element, sizeof(float));
            *re = (double)pair[0];
            break;
        case USM_FLOAT64:
            memcpy(re, element, sizeof *re);
            break;
        case USM_COMPLEX64:
            memcpy(pair, element, sizeof pair);
            *re = (double)pair[0];
            *im = (double)pair[1];
            break;
        case USM_COMPLEX128:
            memcpy(wide, element, sizeof wide);
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
