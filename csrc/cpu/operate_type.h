/* The loops of one type: included once for each, with T, U, USM_TYPE (its name) and USM_KIND. */
#define USM_NAMED_TEXT(name, type) usm_##name##_##type
#define USM_NAMED(name, type) USM_NAMED_TEXT(name, type)
#define S(name) USM_NAMED(name, USM_TYPE)

#include "kernels/src/functions.h"

#define EACH_LOOP(name, n, load, expression)                                          \
    static void S(name##_loop)(void *to, const void *a, const void *b, int64_t count) \
    {                                                                                 \
        T *r = to;                                                                    \
        const T *p = a, *q = b;                                                       \
        (void)q;                                                                      \
        USM_INDEPENDENT                                                               \
        for (int64_t i = 0; i < count; i++) {                                         \
            T x = p[i];                                                               \
            load r[i] = expression;                                                   \
        }                                                                             \
    }
#define LOOP_1(name, costly, expression) EACH_LOOP(name, 1, , expression)
#define LOOP_2(name, costly, expression) EACH_LOOP(name, 2, T y = q[i];, expression)
#define ROW(name, costly, expression) [USM_OP_##name] = S(name##_loop),

USM_ROWS(1)(LOOP_1)
USM_ROWS(2)(LOOP_2)

static const usm_cpu_loop S(loops)[USM_OPERATIONS] = {USM_ROWS(1)(ROW) USM_ROWS(2)(ROW)};

#undef EACH_LOOP
#undef LOOP_1
#undef LOOP_2
#undef ROW
#undef USM_NAMED_TEXT
#undef USM_NAMED
#undef S
#undef T
#undef U
#undef USM_TYPE
#undef USM_ROWS
#undef USM_BITS
#undef USM_SHIFT
#undef USM_CONSTANT
#undef USM_KIND
