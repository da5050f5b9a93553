/* Functions of two truth values, by a table of four bits (`op`): bit 2 * a + b is the result, one byte of 0
 * or 1. */
#include "elements.h"
#include "kernels/abi/compare.h"

#ifdef USM_SERIAL
#define USM_TRUTHS(expression)                        \
    for (long i = from; i < end; i++) {               \
        uchar x = a[i * as] != 0, y = b[i * bs] != 0; \
        dst[i * ds] = (uchar)(expression);            \
    }
#define USM_TRUTHS_SIDE_BY_SIDE(expression) \
    for (long i = from; i < end; i++) {     \
        uchar x = a[i] != 0, y = b[i] != 0; \
        dst[i] = (uchar)(expression);       \
    }
#endif

static void usm_row_logic(global uchar *dst, global const char *a, global const char *b, long from, long end,
                          const usm_elements *e)
{
    long ds = e->strides[0][0], as = e->strides[1][0], bs = e->strides[2][0], op = e->op;
#ifdef USM_SERIAL
    if (ds == 1 && as == 1 && bs == 1) {
        switch (op) {
            case USM_AND:
                USM_TRUTHS_SIDE_BY_SIDE(x & y)
                return;
            case USM_OR:
                USM_TRUTHS_SIDE_BY_SIDE(x | y)
                return;
            case USM_XOR:
                USM_TRUTHS_SIDE_BY_SIDE(x ^ y)
                return;
            case 15 - USM_XOR:
                USM_TRUTHS_SIDE_BY_SIDE((x ^ y) ^ 1)
                return;
            case USM_NOR:
                USM_TRUTHS_SIDE_BY_SIDE((x | y) ^ 1)
                return;
        }
    }
    USM_TRUTHS(op >> (2 * x + y) & 1)
#else
    for (long i = from; i < end; i += USM_STEP(0)) {
        int which = 2 * (a[i * as] != 0) + (b[i * bs] != 0);
        dst[i * ds] = (uchar)(op >> which & 1);
    }
#endif
}

kernel void usm_logic(global uchar *dst, global const char *a, global const char *b, usm_elements e)
{
    USM_ELEMENTS_WALK(e, usm_row_logic(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2),
                                       b + usm_offset(&e, 2, i1, i2), from0, to0, &e))
}
