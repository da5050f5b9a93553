#include "elementwise.h"

#include "core/builtin/builtin.h"
#include "core/layout/elements.h"
#include "kernels/abi/operate.h"

static usm_status submit(usm_queue *queue, const usm_elementwise *kernel, usm_elements *elements,
                         const usm_view *operands, int n, bool fresh, usm_error *error)
{
    usm_builtin builtin;
    size_t bytes = 0;
    usm_builtin_init(&builtin, kernel->module, kernel->function, kernel->options);
    for (int i = 0; i < n; i++) {
        bytes += (size_t)usm_view_itemsize(&operands[i]);
    }
    elements->op = kernel->op;
    elements->extra = kernel->extra;
    builtin.fresh = fresh;
    usm_elements_range(elements, builtin.n);
    builtin.cost = bytes * (size_t)(builtin.n[0] * builtin.n[1] * builtin.n[2]);
    return usm_builtin_submit_views(queue, &builtin, operands, n, USM_WRITE, elements, sizeof *elements,
                                    error);
}

static bool is_packed(const usm_view *view)
{
    const int size = usm_view_itemsize(view);
    return (uintptr_t)view->data % (uintptr_t)(size * USM_PACK(size)) == 0;
}

/* Whether the kernel for packs takes operands planned as contiguous ones. */
static bool suits_packs(const usm_elementwise *kernel, const usm_elements *elements, const usm_view *operands,
                        int n)
{
    bool suits = kernel->packs != NULL;
    for (int i = 0; i < n && suits; i++) {
        suits = USM_OPERATE_TYPE(kernel->extra, i) == (int)kernel->computed &&
                (elements->strides[i][0] == 0 || is_packed(&operands[i]));
    }
    return suits;
}

static usm_status submit_packs(usm_queue *queue, const usm_elementwise *kernel, const usm_elements *elements,
                               const usm_view *operands, int n, bool fresh, usm_error *error)
{
    usm_builtin builtin;
    int64_t in_pack = USM_PACK(usm_view_itemsize(&operands[0]));
    usm_packs packs = {.n = elements->shape[0], .op = kernel->op};
    usm_builtin_init(&builtin, kernel->module, kernel->packs, kernel->options);
    for (int i = 1; i < n; i++) {
        packs.fixed |= (long)(elements->strides[i][0] == 0) << (i - 1);
    }
    builtin.fresh = fresh;
    builtin.n[0] = (packs.n + in_pack - 1) / in_pack;
    builtin.cost = (size_t)(packs.n * n * usm_view_itemsize(&operands[0]));
    return usm_builtin_submit_views(queue, &builtin, operands, n, USM_WRITE, &packs, sizeof packs, error);
}

/*
 * The commonest layout, written down at once: every operand is contiguous in the same order, or is one
 * element. Sets only those strides that the kernels read in this case. False for any other layout.
 */
static inline __attribute__((always_inline)) bool plan_contiguous(usm_elements *elements,
                                                                  const usm_view *operands, int n,
                                                                  bool by_row)
{
    int64_t whole = 0, size;
    for (int i = 0; i < n; i++) {
        if (by_row) {
            if (!usm_view_is_row_major(&operands[i], &size)) {
                return false;
            }
        } else {
            if ((usm_view_order(&operands[i]) & USM_F_CONTIGUOUS) == 0) {
                return false;
            }
            size = usm_view_size(&operands[i]);
        }
        whole = i == 0 ? size : whole;
        if (size != whole && size != 1) {
            return false;
        }
        /* Of equal size, the shapes differ in leading lengths of 1 alone. */
        elements->strides[i][0] = size == whole ? usm_view_itemsize(&operands[i]) : 0;
        elements->strides[i][1] = 0;
    }
    elements->shape[0] = whole;
    for (int i = 1; i < USM_ELEMENTS_AXES; i++) {
        elements->shape[i] = 1;
    }
    return true;
}

/* Any layout whose axes merge into as many as a kernel has. False: they do not. */
static bool plan_strided(usm_elements *elements, const usm_view *operands, int n)
{
    int64_t room[USM_ELEMENTS_OPERANDS][USM_MAX_NDIM];
    const int64_t *strides[USM_ELEMENTS_OPERANDS] = {operands[0].strides};
    int sizes[USM_ELEMENTS_OPERANDS];
    for (int i = 0; i < n; i++) {
        sizes[i] = usm_view_itemsize(&operands[i]);
        if (i > 0) {
            usm_layout_broadcast(operands[i].ndim, operands[i].shape, operands[i].strides, operands[0].ndim,
                                 operands[0].shape, room[i]);
            strides[i] = room[i];
        }
    }
    return usm_elements_plan(elements, 0, operands[0].ndim, operands[0].shape, n, strides, sizes);
}

/* Through row-major copies of all operands, and a copy of the result: those that kernels of packs take as
 * they are stay. */
static usm_status submit_copies(usm_queue *queue, const usm_elementwise *kernel, const usm_view *operands,
                                int n, usm_error *error)
{
    usm_scratch copies[USM_ELEMENTS_OPERANDS];
    usm_view views[USM_ELEMENTS_OPERANDS] = {{.alloc = NULL}};
    usm_elements elements;
    const bool packs = kernel->function == NULL;
    const int64_t whole = usm_view_size(&operands[0]);
    int64_t size;
    int made = 0;
    usm_status status = USM_OK;
    for (; made < n && status == USM_OK; made++) {
        const usm_view *own = &operands[made];
        const usm_dtype dtype = packs ? kernel->computed : own->dtype;
        copies[made].view.alloc = NULL;
        if (packs && own->dtype == dtype && usm_view_is_row_major(own, &size) && size == whole &&
            is_packed(own)) {
            views[made] = *own;
            continue;
        }
        status = made == 0 ? usm_scratch_create(queue, dtype, own->ndim, own->shape, 'C', &copies[0], error)
                           : usm_scratch_copy(queue, own, dtype, operands[0].ndim, operands[0].shape, 'C',
                                              &copies[made], error);
        views[made] = copies[made].view;
    }
    if (status == USM_OK) {
        plan_contiguous(&elements, views, n, true);
        status = packs ? submit_packs(queue, kernel, &elements, views, n, false, error)
                       : submit(queue, kernel, &elements, views, n, false, error);
    }
    if (status == USM_OK && copies[0].view.alloc != NULL) {
        status = usm_copy_submit(queue, &operands[0], &views[0], NULL, error);
    }
    for (int i = 0; i < made; i++) {
        usm_scratch_release(&copies[i]);
    }
    return status;
}

usm_status usm_elementwise_submit(usm_queue *queue, const usm_elementwise *kernel, const usm_view *operands,
                                  int n, bool fresh, usm_error *error)
{
    usm_elements elements;
    bool aligned = true;
    for (int i = 0; i < n; i++) {
        aligned = aligned && usm_view_is_aligned(&operands[i]);
    }
    bool planned = aligned && plan_contiguous(&elements, operands, n, true);
    if ((planned ? elements.shape[0] : usm_view_size(&operands[0])) == 0) {
        return USM_OK;
    }
    planned = planned || (aligned && plan_contiguous(&elements, operands, n, false));
    if (planned && suits_packs(kernel, &elements, operands, n)) {
        return submit_packs(queue, kernel, &elements, operands, n, fresh, error);
    }
    return kernel->function != NULL && (planned || (aligned && plan_strided(&elements, operands, n)))
               ? submit(queue, kernel, &elements, operands, n, fresh, error)
               : submit_copies(queue, kernel, operands, n, error);
}
