#include "scratch.h"

#include <string.h>

usm_view usm_view_element(const usm_view *view, int ndim, const int64_t *shape, int64_t number)
{
    int64_t strides[USM_MAX_NDIM], at = 0;
    usm_layout_broadcast(view->ndim, view->shape, view->strides, ndim, shape, strides);
    for (int i = ndim - 1; i >= 0; i--) {
        at += number % shape[i] * strides[i];
        number /= shape[i];
    }
    return (usm_view){view->alloc,  view->data + at * usm_view_itemsize(view), view->dtype, 0, view->shape,
                      view->strides};
}

usm_status usm_broadcast_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_error *error)
{
    int64_t strides[USM_MAX_NDIM];
    usm_layout_broadcast(src->ndim, src->shape, src->strides, dst->ndim, dst->shape, strides);
    const usm_view whole = {src->alloc, src->data, src->dtype, dst->ndim, dst->shape, strides};
    return usm_copy_submit(queue, dst, &whole, NULL, error);
}

usm_status usm_scratch_create(usm_queue *queue, usm_dtype dtype, int ndim, const int64_t *shape, char order,
                              usm_scratch *out, usm_error *error)
{
    int64_t size;
    out->view = (usm_view){NULL, NULL, dtype, ndim, out->shape, out->strides};
    usm_status status = usm_layout_size(ndim, shape, usm_dtype_table[dtype].itemsize, &size, error);
    if (status == USM_OK) {
        status = usm_alloc_create(queue->place, USM_DEVICE, (size_t)usm_dtype_nbytes(dtype, size), false,
                                  &out->view.alloc, error);
    }
    if (status != USM_OK) {
        out->view.alloc = NULL;
        return status;
    }
    out->view.data = out->view.alloc->pointer;
    if (ndim > 0) {
        memcpy(out->shape, shape, (size_t)ndim * sizeof *shape);
    }
    usm_layout_compact(ndim, shape, order, out->strides);
    return USM_OK;
}

usm_status usm_scratch_copy(usm_queue *queue, const usm_view *source, usm_dtype dtype, int ndim,
                            const int64_t *shape, char order, usm_scratch *out, usm_error *error)
{
    usm_status status = usm_scratch_create(queue, dtype, ndim, shape, order, out, error);
    return status == USM_OK ? usm_broadcast_submit(queue, &out->view, source, error) : status;
}

usm_status usm_scratch_compact(usm_queue *queue, const usm_view *source, usm_dtype dtype, int ndim,
                               const int64_t *shape, usm_scratch *copy, usm_view *out, usm_error *error)
{
    const usm_view whole = {.ndim = ndim, .shape = shape};
    int64_t size;
    *out = *source;
    copy->view.alloc = NULL;
    if (source->dtype == dtype && usm_view_is_row_major(source, &size) && size == usm_view_size(&whole) &&
        usm_view_is_aligned(source)) {
        return USM_OK;
    }
    usm_status status = usm_scratch_copy(queue, source, dtype, ndim, shape, 'C', copy, error);
    *out = copy->view;
    return status;
}

usm_status usm_scratch_vector(usm_queue *queue, usm_dtype dtype, int64_t n, usm_scratch *out,
                              usm_error *error)
{
    return usm_scratch_create(queue, dtype, 1, &n, 'C', out, error);
}

usm_status usm_scratch_number(usm_queue *queue, usm_dtype dtype, const void *element, usm_scratch *out,
                              usm_error *error)
{
    usm_status status = usm_scratch_create(queue, dtype, 0, NULL, 'C', out, error);
    return status == USM_OK ? usm_fill_submit(queue, &out->view, element, NULL, error) : status;
}
