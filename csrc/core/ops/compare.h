/* Comparisons and truth values of elements. Types and shapes are checked by the caller. */
#ifndef USM_CORE_COMPARE_H
#define USM_CORE_COMPARE_H

#include "scratch.h"

/* In the order of Python's Py_LT to Py_GE. */
typedef enum usm_relation {
    USM_RELATION_LESS,
    USM_RELATION_LESS_EQUAL,
    USM_RELATION_EQUAL,
    USM_RELATION_NOT_EQUAL,
    USM_RELATION_GREATER,
    USM_RELATION_GREATER_EQUAL,
} usm_relation;

/* Whether the relation holds of a and b where a is less (else greater) than b. */
bool usm_relation_holds(usm_relation relation, bool less);

/* uint64 and a signed type: no integer type has all values of both, so usm_compare_submit takes both. */
static inline bool usm_dtypes_differ_by_sign(usm_dtype a, usm_dtype b)
{
    return (a == USM_UINT64 && usm_dtype_table[b].kind == USM_DTYPE_KIND_INT) ||
           (b == USM_UINT64 && usm_dtype_table[a].kind == USM_DTYPE_KIND_INT);
}

/*
 * The result, a and b are views[0 .. 2]: a relation b, as bool. `relation` is a usm_relation; a and b are of
 * one type, or differ by sign. Otherwise as usm_logic_submit.
 */
usm_status usm_compare_submit(usm_queue *queue, unsigned relation, const usm_view *views, int n, bool fresh,
                              usm_error *error);

/* dst[...] = src[...] is not 0. dst has elements of bool, and src's shape. */
usm_status usm_truth_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, bool fresh,
                            usm_error *error);

#endif
