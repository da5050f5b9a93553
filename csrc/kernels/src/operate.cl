/*
 * Elementwise operations of the table csrc/kernels/operations.py: dst[i] = operation(a[i], b[i]), computed in one type
 * a build, which -D USM_COMPUTE=NUMBER names by its number in usm_dtype. Operands of other types are converted
 * as they are read and written. Memory is aligned to the elements.
 *
 * The cheap operations of a type are two kernels, of one and of two arguments, with the operation in `op`: -D
 * USM_ONE=-1. Each costly one is a kernel of its own, by its number: -D USM_ONE=NUMBER.
 */
#include "elements.h"
#include "half.h"
#include "kernels/abi/operate.h"
#include "operations.h"

#if USM_COMPUTE == 1
#define T char
#define U uint
#define USM_TYPE int8
#define USM_KIND 1
#elif USM_COMPUTE == 2
#define T short
#define U uint
#define USM_TYPE int16
#define USM_KIND 1
#elif USM_COMPUTE == 3
#define T int
#define U uint
#define USM_TYPE int32
#define USM_KIND 1
#elif USM_COMPUTE == 4
#define T long
#define U ulong
#define USM_TYPE int64
#define USM_KIND 1
#elif USM_COMPUTE == 5
#define T uchar
#define U uint
#define USM_TYPE uint8
#define USM_KIND 2
#elif USM_COMPUTE == 6
#define T ushort
#define U uint
#define USM_TYPE uint16
#define USM_KIND 2
#elif USM_COMPUTE == 7
#define T uint
#define U uint
#define USM_TYPE uint32
#define USM_KIND 2
#elif USM_COMPUTE == 8
#define T ulong
#define U ulong
#define USM_TYPE uint64
#define USM_KIND 2
#elif USM_COMPUTE == 10
#define T float
#define USM_TYPE float32
#define USM_KIND 3
#define USM_CONSTANT(x) x##f
#else
#define T double
#define USM_TYPE float64
#define USM_KIND 3
#define USM_CONSTANT(x) x
#endif

#define USM_PASTE_TEXT(a, b, c) a##b##_##c
#define USM_PASTE(a, b, c) USM_PASTE_TEXT(a, b, c)
#define S(name) USM_PASTE(usm_, name, USM_TYPE)
#if USM_KIND == 1
#define USM_ROWS(inputs) USM_OPERATIONS_signed_##inputs
#elif USM_KIND == 2
#define USM_ROWS(inputs) USM_OPERATIONS_unsigned_##inputs
#else
#define USM_ROWS(inputs) USM_OPERATIONS_real_##inputs
#endif

#include "functions.h"

#define USM_AS(type) (T)(*(global const type *)from)
static T usm_load(global const char *from, int type)
{
    switch (type) {
        case 0:
            return (T)(*(global const uchar *)from != 0);
        case 1:
            return USM_AS(signed char);
        case 2:
            return USM_AS(short);
        case 3:
            return USM_AS(int);
        case 4:
            return USM_AS(long);
        case 5:
            return USM_AS(uchar);
        case 6:
            return USM_AS(ushort);
        case 7:
            return USM_AS(uint);
        case 8:
            return USM_AS(ulong);
#if USM_KIND == 3
        case 9:
            return (T)usm_half_to_float(*(global const ushort *)from);
        case 14:
            return (T)usm_bfloat_to_float(*(global const ushort *)from);
        case 10:
            return USM_AS(float);
#endif
        default:
            return *(global const T *)from;
    }
}

static void usm_store(global char *to, int type, T value)
{
    switch (type) {
        case 0:
            *(global uchar *)to = value != 0;
            return;
#if USM_COMPUTE == 10
        case 9:
            *(global ushort *)to = usm_float_to_half(value);
            return;
        case 14:
            *(global ushort *)to = usm_float_to_bfloat(value);
            return;
#endif
        default:
            *(global T *)to = value;
    }
}

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

/* The cheap ones by their numbers. */
#define USM_CASE(name, costly, expression) USM_CASE_##costly(name, expression)
#define USM_CASE_0(name, expression) \
    case USM_OP_##name:              \
        return expression;
#define USM_CASE_1(name, expression)
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
