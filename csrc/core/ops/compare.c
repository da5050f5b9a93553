#include "compare.h"

#include "elementwise.h"
#include "logic.h"

#include "core/builtin/builtin.h"
#include "kernels/abi/compare.h"

static const struct {
    uint8_t orders; /* of two numbers, in which the relation holds */
    uint8_t table;  /* the same for bool, as in logic.h */
    uint8_t mirror; /* the relation of b to a where a has this one to b */
} relations[] = {
    [USM_RELATION_LESS] = {USM_LESS, 2, USM_RELATION_GREATER},
    [USM_RELATION_LESS_EQUAL] = {USM_LESS | USM_EQUAL, 11, USM_RELATION_GREATER_EQUAL},
    [USM_RELATION_EQUAL] = {USM_EQUAL, 9, USM_RELATION_EQUAL},
    [USM_RELATION_NOT_EQUAL] = {USM_LESS | USM_GREATER | USM_UNORDERED, 6, USM_RELATION_NOT_EQUAL},
    [USM_RELATION_GREATER] = {USM_GREATER, 4, USM_RELATION_LESS},
    [USM_RELATION_GREATER_EQUAL] = {USM_GREATER | USM_EQUAL, 13, USM_RELATION_LESS_EQUAL},
};

bool usm_relation_holds(usm_relation relation, bool less)
{
    return (relations[relation].orders & (less ? USM_LESS : USM_GREATER)) != 0;
}

#define NAMES(type, number)                        \
    {                                              \
        "usm_compare_" type, "-D USM_ONLY=" number \
    }
static const struct {
    const char *function, *options;
} kernels[USM_COMPUTED_DTYPES] = {
    USM_SIGNED_ROWS(NAMES), USM_REAL_ROWS(NAMES),
    USM_COMPLEX_ROWS(NAMES), [USM_FLOAT16] = NAMES("float16", "9"), [USM_BFLOAT16] = NAMES("bfloat16", "14")};

static usm_status submit(usm_queue *queue, usm_relation relation, const usm_view *dst, const usm_view *a,
                         const usm_view *b, bool fresh, usm_error *error)
{
    if (a->ndim == 0 && b->ndim > 0) { /* a number comes second: the kernels have a loop for one that stays */
        return submit(queue, relations[relation].mirror, dst, b, a, fresh, error);
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
                                  : submit_signs(queue, relations[relation].mirror, dst, b, a, error);
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
