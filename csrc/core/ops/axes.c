#include "axes.h"

#include "compare.h"

void usm_axes_plan_make(const usm_view *src, uint64_t reduced_axes, bool rows, usm_axes_plan *plan)
{
    uint64_t outer = 1, reduced = 1, inner = 1; /* beside a length of 0, others may have any product */
    int changes = 0;                            /* from axes that stay to those that go, and back */
    for (int i = 0; i < src->ndim; i++) {
        bool goes = (reduced_axes >> i & 1) != 0;
        changes += goes != (changes == 1);
        uint64_t *part = goes ? &reduced : changes == 0 ? &outer : &inner;
        *part *= (uint64_t)src->shape[i];
    }
    plan->together = changes < 2 || (changes == 2 && !rows);
    plan->any_order = changes < 2 && (src->ndim == 0 || (reduced_axes & 1) != 0);
    if (!plan->together) {
        outer *= inner;
        inner = 1;
    }
    plan->outer = (int64_t)outer;
    plan->reduced = (int64_t)reduced;
    plan->inner = (int64_t)inner;
}

usm_status usm_axes_scratch(usm_queue *queue, const usm_view *src, uint64_t reduced_axes,
                            const usm_axes_plan *plan, usm_dtype dtype, usm_scratch *out, usm_view *view,
                            int64_t *room, usm_error *error)
{
    int64_t shape[USM_MAX_NDIM];
    int order[USM_MAX_NDIM], n = 0;
    for (int pass = 0; pass < 2; pass++) { /* where axes have to move, those that go come last */
        for (int i = 0; i < src->ndim; i++) {
            bool last = !plan->together && (reduced_axes >> i & 1) != 0;
            if (last == (pass == 1)) {
                shape[n] = src->shape[i];
                order[n++] = i;
            }
        }
    }
    char letter = plan->any_order ? usm_view_letter(src) : 'C';
    usm_status status = usm_scratch_create(queue, dtype, src->ndim, shape, letter, out, error);
    if (status == USM_OK) {
        for (int i = 0; i < n; i++) { /* the same memory, seen along src's axes */
            room[order[i]] = out->strides[i];
        }
        *view = (usm_view){out->view.alloc, out->view.data, dtype, src->ndim, src->shape, room};
    }
    return status;
}

usm_status usm_axes_operand(usm_queue *queue, const usm_view *src, uint64_t reduced_axes,
                            const usm_axes_plan *plan, usm_dtype dtype, usm_scratch *copy, usm_view *out,
                            usm_error *error)
{
    int64_t room[USM_MAX_NDIM], size;
    usm_view along;
    bool usable = plan->together && (usm_view_is_row_major(src, &size) ||
                                     (plan->any_order && (usm_view_order(src) & USM_F_CONTIGUOUS) != 0));
    *out = *src;
    copy->view.alloc = NULL;
    if (usable && src->dtype == dtype && usm_view_is_aligned(src)) {
        return USM_OK;
    }
    usm_status status = usm_axes_scratch(queue, src, reduced_axes, plan, dtype, copy, &along, room, error);
    if (status == USM_OK) {
        *out = copy->view;
        status = dtype == USM_BOOL ? usm_truth_submit(queue, &along, src, true, error)
                                   : usm_copy_submit(queue, &along, src, NULL, error);
    }
    return status;
}
