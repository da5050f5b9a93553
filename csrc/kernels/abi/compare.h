/* What `op` of usm_elements says in compare.cl, logic.cl and classify.cl. */
#ifndef USM_ABI_COMPARE_H
#define USM_ABI_COMPARE_H

/* compare.cl: the relations of a to b that make the result true, added up. */
#define USM_LESS 1
#define USM_EQUAL 2
#define USM_GREATER 4
#define USM_UNORDERED 8

/* logic.cl: the table of the results; bit 2 * a + b is that of a and b. */
#define USM_NOR 1
#define USM_XOR 6
#define USM_AND 8
#define USM_OR 14

/* classify.cl: what a number is asked to be. */
#define USM_NAN 0
#define USM_INFINITE 1
#define USM_FINITE 2

#endif
