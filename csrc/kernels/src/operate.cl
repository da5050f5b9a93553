/*
 * Elementwise operations of the table csrc/kernels/operations.py: dst[i] = operation(a[i], b[i]), computed in one type
 * a build, which -D USM_COMPUTE=NUMBER names by its number in usm_dtype. Operands of other types are converted
 * as they are read and written. Memory is aligned to the elements.
 *
 * The cheap operations of a type are two kernels, of one and of two arguments, with the operation in `op`: -D
 * USM_ONE=-1. Each costly one is a kernel of its own, by its number: -D USM_ONE=NUMBER.
 */
#include "compute.h"
#include "elements.h"

/* LOAD_B: y of operations of two arguments. */
#define USM_ROW_OF(name, load_b, apply)                                                                          \
    static void S(name##_row)(global char *dst, global const char *a, global const char *b, long from, long end, \
                              const usm_elements *e)                                                             \
    {                                                                                                            \
        long ds = e->strides[0][0], as = e->strides[1][0], bs = e->strides[2][0];                                \
        int dst_type = USM_OPERATE_TYPE(e->extra, 0), a_type = USM_OPERATE_TYPE(e->extra, 1);                    \
        int b_type = USM_OPERATE_TYPE(e->extra, 2), op = (int)e->op;                                             \
        (void)op, (void)bs, (void)b_type, (void)b;                                                               \
        for (long i = from; i < end; i += USM_STEP(0)) {                                                         \
            T x = usm_load(a + i * as, a_type);                                                                  \
            load_b usm_store(dst + i * ds, dst_type, apply);                                                     \
        }                                                                                                        \
    }
#define USM_LOAD_B T y = usm_load(b + i * bs, b_type);
#define USM_KERNEL_1(name, row)                                                                              \
    kernel void S(name)(global char *dst, global const char *a, usm_elements e)                             \
    {                                                                                                        \
        USM_ELEMENTS_WALK(e, S(row)(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2), a,       \
                                    from0, to0, &e))                                                         \
    }
#define USM_KERNEL_2(name, row)                                                                              \
    kernel void S(name)(global char *dst, global const char *a, global const char *b, usm_elements e)        \
    {                                                                                                        \
        USM_ELEMENTS_WALK(e, S(row)(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2),          \
                                    b + usm_offset(&e, 2, i1, i2), from0, to0, &e))                          \
    }

/* The cheap ones by their numbers. The name is joined at once: abs and others are macros of some drivers. */
#define USM_CASE(name, costly, expression) USM_CASE_##costly(USM_OP_##name, expression)
#define USM_CASE_0(number, expression) \
    case number:                       \
        return expression;
#define USM_CASE_1(number, expression)
static T S(apply_1)(int op, T x)
{
    switch (op) {
        USM_ROWS(1)(USM_CASE)
        default:
            return x;
    }
}

static T S(apply_2)(int op, T x, T y)
{
    switch (op) {
        USM_ROWS(2)(USM_CASE)
        default:
            return y;
    }
}

#if USM_ONE == -1
USM_ROW_OF(operate_1, , S(apply_1)(op, x))
USM_ROW_OF(operate_2, USM_LOAD_B, S(apply_2)(op, x, y))
USM_KERNEL_1(operate_1, operate_1_row)
USM_KERNEL_2(operate_2, operate_2_row)
#endif

#define USM_COSTLY_1(name, expression) \
    USM_ROW_OF(name##_all, , expression) USM_KERNEL_1(operate_1_##name, name##_all_row)
#define USM_COSTLY_2(name, expression) \
    USM_ROW_OF(name##_all, USM_LOAD_B, expression) USM_KERNEL_2(operate_2_##name, name##_all_row)
#include "costly.h"
