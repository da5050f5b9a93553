/*
 * Elementwise operations of the table csrc/kernels/operations.py: dst[i] = operation(a[i], b[i]), computed in
 * one type a build, which -D USM_COMPUTE=NUMBER names by its number in usm_dtype. Operands of other types are
 * converted as they are read and written. Memory is aligned to the elements.
 *
 * The cheap operations of a type are two kernels, of one and of two arguments, with the operation in `op`: -D
 * USM_ONE=-1. Each costly one is a kernel of its own, by its number: -D USM_ONE=NUMBER.
 */
#include "compute.h"
#include "elements.h"

/* LOAD_B: y of operations of two arguments. */
#define USM_ROW_OF(name, load_b, apply)                                                                \
    static void S(name##_row)(global char *dst, global const char *a, global const char *b, long from, \
                              long end, const usm_elements *e)                                         \
    {                                                                                                  \
        long ds = e->strides[0][0], as = e->strides[1][0], bs = e->strides[2][0];                      \
        int dst_type = USM_OPERATE_TYPE(e->extra, 0), a_type = USM_OPERATE_TYPE(e->extra, 1);          \
        int b_type = USM_OPERATE_TYPE(e->extra, 2), op = (int)e->op;                                   \
        (void)op, (void)bs, (void)b_type, (void)b;                                                     \
        for (long i = from; i < end; i += USM_STEP(0)) {                                               \
            T x = usm_load(a + i * as, a_type);                                                        \
            load_b usm_store(dst + i * ds, dst_type, apply);                                           \
        }                                                                                              \
    }
#define USM_LOAD_B T y = usm_load(b + i * bs, b_type);
#define USM_KERNEL_1(name, row)                                                                           \
    kernel void S(name)(global char *dst, global const char *a, usm_elements e)                           \
    {                                                                                                     \
        USM_ELEMENTS_WALK(                                                                                \
            e, S(row)(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2), a, from0, to0, &e)) \
    }
#define USM_KERNEL_2(name, row)                                                                       \
    kernel void S(name)(global char *dst, global const char *a, global const char *b, usm_elements e) \
    {                                                                                                 \
        USM_ELEMENTS_WALK(e, S(row)(dst + usm_offset(&e, 0, i1, i2), a + usm_offset(&e, 1, i1, i2),   \
                                    b + usm_offset(&e, 2, i1, i2), from0, to0, &e))                   \
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
        USM_ROWS(1)(USM_CASE) default : return x;
    }
}

static T S(apply_2)(int op, T x, T y)
{
    switch (op) {
        USM_ROWS(2)(USM_CASE) default : return y;
    }
}

static usm_pack S(load_pack)(global const T *from, long i, long n, long fixed)
{
    usm_pack pack;
    if (!fixed && (i + 1) * USM_IN_PACK <= n) {
        return ((global const usm_pack *)from)[i];
    }
    for (int k = 0; k < USM_IN_PACK; k++) {
        pack.at[k] = from[fixed ? 0 : USM_LESSER(i * USM_IN_PACK + k, n - 1)];
    }
    return pack;
}

static void S(store_pack)(global T *to, long i, long n, usm_pack pack)
{
    if ((i + 1) * USM_IN_PACK <= n) {
        ((global usm_pack *)to)[i] = pack;
        return;
    }
    for (int k = 0; k < USM_IN_PACK; k++) { /* a constant number: the pack stays in registers */
        if (i * USM_IN_PACK + k < n) {
            to[i * USM_IN_PACK + k] = pack.at[k];
        }
    }
}

/* EACH(function): statements that make the pack packed_z of packed_x and packed_y. */
#define USM_PACKS(LOAD_Y, EACH, function)                                            \
    USM_FOR_EACH (i, (p.n + USM_IN_PACK - 1) / USM_IN_PACK) {                        \
        usm_pack packed_x = S(load_pack)(a, i, p.n, p.fixed & 1), packed_z = packed_x; \
        usm_pack packed_y = LOAD_Y;                                                  \
        EACH(function)                                                               \
        S(store_pack)(dst, i, p.n, packed_z);                                        \
    }
#define USM_PACKS_1(name, EACH, function)                                        \
    kernel void S(name)(global T *dst, global const T *a, usm_packs p) \
    {                                                                  \
        USM_PACKS(packed_x, EACH, function)                                        \
    }
#define USM_PACKS_2(name, EACH, function)                                                           \
    kernel void S(name)(global T *dst, global const T *a, global const T *b, usm_packs p) \
    {                                                                                     \
        USM_PACKS(S(load_pack)(b, i, p.n, p.fixed & 2), EACH, function)                             \
    }
#define USM_IN_ALL(expression)                    \
    for (int k = 0; k < USM_IN_PACK; k++) {       \
        T x = packed_x.at[k], y = packed_y.at[k]; \
        (void)y, packed_z.at[k] = expression;     \
    }

#if USM_ONE == -1
USM_ROW_OF(operate_1, , S(apply_1)(op, x))
USM_ROW_OF(operate_2, USM_LOAD_B, S(apply_2)(op, x, y))
USM_KERNEL_1(operate_1, operate_1_row)
USM_KERNEL_2(operate_2, operate_2_row)

#define USM_PACKED(name, costly, expression) USM_PACKED_##costly(USM_OP_##name, expression)
#define USM_PACKED_0(number, expression) \
    case number:                         \
        USM_IN_ALL(expression) break;
#define USM_PACKED_1(number, expression)
#define USM_SWITCH_1(function)            \
    switch (p.op) {             \
        USM_ROWS(1)(USM_PACKED) \
    }
#define USM_SWITCH_2(function)            \
    switch (p.op) {             \
        USM_ROWS(2)(USM_PACKED) \
    }
USM_PACKS_1(packs_1, USM_SWITCH_1, )
USM_PACKS_2(packs_2, USM_SWITCH_2, )
#endif

/* Functions of complex numbers are long: both kernels of one call the same. */
#if USM_KIND == USM_COMPLEX_KIND
#define USM_LONG USM_NOINLINE
#else
#define USM_LONG
#endif
#define USM_CALL_1(function) USM_IN_ALL(function(x))
#define USM_CALL_2(function) USM_IN_ALL(function(x, y))
#define USM_COSTLY_1(name, expression)        \
    static USM_LONG T S(name##_of)(T x)   \
    {                                         \
        return expression;                    \
    }                                         \
    USM_PACKS_1(packs_1_##name, USM_CALL_1, S(name##_of))
#define USM_COSTLY_2(name, expression)                     \
    static USM_LONG T S(name##_of)(T x, T y)           \
    {                                                      \
        return expression;                                 \
    }                                                      \
    USM_PACKS_2(packs_2_##name, USM_CALL_2, S(name##_of))
#include "costly.h"
