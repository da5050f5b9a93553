#include "compare.h"

#include "elementwise.h"
#include "logic.h"

#include "kernels/abi/compare.h"

static const struct {
    uint8_t orders; /* of two numbers, in which the relation holds */
    uint8_t table;  /* the same for bool, as in logic.h */
} relations[] = {
    [USM_RELATION_LESS] = {USM_LESS, 2},
    [USM_RELATION_LESS_EQUAL] = {USM_LESS | USM_EQUAL, 11},
    [USM_RELATION_EQUAL] = {USM_EQUAL, 9},
    [USM_RELATION_NOT_EQUAL] = {USM_LESS | USM_GREATER | USM_UNORDERED, 6},
    [USM_RELATION_GREATER] = {USM_GREATER, 4},
    [USM_RELATION_GREATER_EQUAL] = {USM_GREATER | USM_EQUAL, 13},
};

bool usm_relation_holds(usm_relation relation, bool less)
{
    return (relations[relation].orders & (less ? USM_LESS : USM_GREATER)) != 0;
}

/* The relation of b to a where a has `relation` to b. */
static usm_relation mirrored(usm_relation relation)
{
    static const usm_relation mirror[] = {USM_RELATION_GREATER, USM_RELATION_GREATER_EQUAL,
                                          USM_RELATION_EQUAL,   USM_RELATION_NOT_EQUAL,
                                          USM_RELATION_LESS,    USM_RELATION_LESS_EQUAL};
    return mirror[relation];
}

static usm_status submit(usm_queue *queue, usm_relation relation, const usm_view *dst, const usm_view *a,
                         const usm_view *b, bool fresh, usm_error *error)
{
    static const struct {
        const char *function, *options;
    } kernels[USM_COMPUTED_DTYPES] = {
        [USM_INT8] = {"usm_compare_int8", "-D USM_ONLY=1"},
        [USM_INT16] = {"usm_compare_int16", "-D USM_ONLY=2"},
        [USM_INT32] = {"usm_compare_int32", "-D USM_ONLY=3"},
        [USM_INT64] = {"usm_compare_int64", "-D USM_ONLY=4"},
        [USM_UINT8] = {"usm_compare_uint8", "-D USM_ONLY=5"},
        [USM_UINT16] = {"usm_compare_uint16", "-D USM_ONLY=6"},
        [USM_UINT32] = {"usm_compare_uint32", "-D USM_ONLY=7"},
        [USM_UINT64] = {"usm_compare_uint64", "-D USM_ONLY=8"},
        [USM_FLOAT16] = {"usm_compare_float16", "-D USM_ONLY=9"},
        [USM_FLOAT32] = {"usm_compare_float32", "-D USM_ONLY=10"},
        [USM_FLOAT64] = {"usm_compare_float64", "-D USM_ONLY=11"},
        [USM_COMPLEX64] = {"usm_compare_complex64", "-D USM_ONLY=12"},
        [USM_COMPLEX128] = {"usm_compare_complex128", "-D USM_ONLY=13"},
        [USM_BFLOAT16] = {"usm_compare_bfloat16", "-D USM_ONLY=14"},
    };
    if (a->ndim == 0 && b->ndim > 0) { /* a number comes second: the kernels have a loop for one that stays */
        return submit(queue, mirrored(relation), dst, b, a, fresh, error);
    }
    const usm_view operands[] = {*dst, *a, *b};
    if (a->dtype == USM_BOOL) {
        return usm_logic_submit(queue, relations[relation].table, operands, 3, fresh, error);
    }
    const usm_elementwise kernel = {.module = "compare",
                                    .function = kernels[a->dtype].function,
                                    .options = kernels[a->dtype].options,
                                    .op = relations[relation].orders};
    return usm_elementwise_submit(queue, &kernel, operands, 3, fresh, error);
}

/*
 * a relation b, of a uint64 and a signed operand: by the bits of b where b is not negative. Beside a negative
 * b, a is greater.
 */
static usm_status submit_signs(usm_queue *queue, usm_relation relation, const usm_view *dst,
                               const usm_view *a, const usm_view *b, usm_error *error)
{
    bool true_beside_negative = usm_relation_holds(relation, false);
    usm_scratch wide, sign, zero;
    wide.view.alloc = sign.view.alloc = zero.view.alloc = NULL;
    usm_status status =
        usm_scratch_copy(queue, b, USM_INT64, b->ndim, b->shape, usm_view_letter(b), &wide, error);
    if (status == USM_OK) {
        status = usm_scratch_create(queue, USM_BOOL, b->ndim, b->shape, usm_view_letter(b), &sign, error);
    }
    if (status == USM_OK) {
        status = usm_scratch_number(queue, USM_INT64, &(int64_t){0}, &zero, error);
    }
    if (status == USM_OK) {
        status = submit(queue, true_beside_negative ? USM_RELATION_LESS : USM_RELATION_GREATER_EQUAL,
                        &sign.view, &wide.view, &zero.view, false, error);
    }
    if (status == USM_OK) {
        wide.view.dtype = USM_UINT64;
        status = submit(queue, relation, dst, a, &wide.view, false, error);
    }
    if (status == USM_OK) {
        const usm_view operands[] = {*dst, *dst, sign.view};
        status = usm_logic_submit(queue, true_beside_negative ? USM_OR : USM_AND, operands, 3, false, error);
    }
    usm_scratch_release(&zero);
    usm_scratch_release(&sign);
    usm_scratch_release(&wide);
    return status;
}

usm_status usm_compare_submit(usm_queue *queue, unsigned relation, const usm_view *views, int n, bool fresh,
                              usm_error *error)
{
    const usm_view *dst = views, *a = views + 1, *b = views + n - 1;
    if (!usm_dtypes_differ_by_sign(a->dtype, b->dtype)) {
        return submit(queue, relation, dst, a, b, fresh, error);
    }
    return a->dtype == USM_UINT64 ? submit_signs(queue, relation, dst, a, b, error)
                                  : submit_signs(queue, mirrored(relation), dst, b, a, error);
}

usm_status usm_truth_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, bool fresh,
                            usm_error *error)
{
    static const unsigned char element[USM_MAX_PATTERN];
    usm_scratch zero;
    if (src->dtype == USM_BOOL) {
        return usm_copy_submit(queue, dst, src, NULL, error);
    }
    usm_status status = usm_scratch_number(queue, src->dtype, element, &zero, error);
    if (status == USM_OK) {
        status = submit(queue, USM_RELATION_NOT_EQUAL, dst, src, &zero.view, fresh, error);
    }
    usm_scratch_release(&zero);
    return status;
}
