#include "tile.h"

#include <string.h>

/* The axes of one strided copy. */
typedef struct axes {
    int n;
    int64_t shape[USM_MAX_NDIM], dst[USM_MAX_NDIM], src[USM_MAX_NDIM];
    bool full; /* there were more of them */
} axes;

/* Axes of length 1 are left out. */
static void add(axes *axes, int64_t length, int64_t dst, int64_t src)
{
    if (length == 1) {
        return;
    }
    axes->full = axes->n == USM_MAX_NDIM;
    if (!axes->full) {
        axes->shape[axes->n] = length;
        axes->dst[axes->n] = dst;
        axes->src[axes->n++] = src;
    }
}

/* One strided copy over these axes. */
static usm_status copy(usm_queue *queue, const usm_view *dst, const usm_view *src, const axes *axes,
                       usm_error *error)
{
    const usm_view to = {dst->alloc, dst->data, dst->dtype, axes->n, axes->shape, axes->dst};
    const usm_view from = {src->alloc, src->data, src->dtype, axes->n, axes->shape, axes->src};
    return usm_copy_submit(queue, &to, &from, NULL, error);
}

usm_status usm_repeat_elements_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, int axis,
                                      int64_t count, usm_error *error)
{
    axes axes;
    axes.n = 0;
    axes.full = false;
    for (int i = 0; i < src->ndim && !axes.full; i++) {
        add(&axes, src->shape[i], dst->strides[i] * (i == axis ? count : 1), src->strides[i]);
        if (i == axis && !axes.full) {
            add(&axes, count, dst->strides[i], 0);
        }
    }
    if (axes.full) {
        return usm_error_set(
            error, USM_VALUE,
            "repeat(): x has %d dimensions, and the repetitions are one more; %d are allowed", src->ndim,
            USM_MAX_NDIM);
    }
    return copy(queue, dst, src, &axes, error);
}

usm_status usm_tile_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, usm_error *error)
{
    axes axes;
    axes.n = 0;
    axes.full = false;
    int more = dst->ndim - src->ndim;
    for (int i = 0; i < dst->ndim && !axes.full; i++) { /* the copies of an axis, then the axis */
        int64_t length = i < more ? 1 : src->shape[i - more];
        add(&axes, dst->shape[i] / length, dst->strides[i] * length, 0);
        if (i >= more && !axes.full) {
            add(&axes, length, dst->strides[i], src->strides[i - more]);
        }
    }
    if (axes.full) {
        return usm_error_set(
            error, USM_VALUE,
            "tile(): the axes of x and the repetitions are more than %d axes together; reshape x first",
            USM_MAX_NDIM);
    }
    return copy(queue, dst, src, &axes, error);
}

#define AXES_AT_ONCE 4

/* One copy for each corner: of every axis, what stays inside or what comes around. */
static usm_status copy_corners(usm_queue *queue, const usm_view *dst, const usm_view *src, int n,
                               const int *axes, const int64_t *shifts, usm_error *error)
{
    usm_status status = USM_OK;
    int size = usm_view_itemsize(src);
    for (unsigned corner = 0; corner < 1u << n && status == USM_OK; corner++) {
        int64_t shape[USM_MAX_NDIM];
        usm_view to = *dst, from = *src;
        memcpy(shape, src->shape, (size_t)src->ndim * sizeof *shape);
        for (int i = 0; i < n; i++) {
            int axis = axes[i];
            int64_t rest = shape[axis] - shifts[i];
            if ((corner >> i & 1) == 0) {
                to.data += shifts[i] * dst->strides[axis] * size;
                shape[axis] = rest;
            } else {
                from.data += rest * src->strides[axis] * size;
                shape[axis] = shifts[i];
            }
        }
        to.shape = from.shape = shape;
        status = usm_copy_submit(queue, &to, &from, NULL, error);
    }
    return status;
}

/* Several axes at once are several copies of parts; more than a few go one after the other. */
usm_status usm_roll_submit(usm_queue *queue, const usm_view *dst, const usm_view *src, int n, const int *axes,
                           const int64_t *shifts, usm_error *error)
{
    if (n == 0) {
        return usm_copy_submit(queue, dst, src, NULL, error);
    }
    if (n <= AXES_AT_ONCE) {
        return copy_corners(queue, dst, src, n, axes, shifts, error);
    }
    usm_scratch part;
    usm_status status = usm_scratch_create(queue, src->dtype, src->ndim, src->shape, 'C', &part, error);
    if (status == USM_OK) {
        status = copy_corners(queue, &part.view, src, AXES_AT_ONCE, axes, shifts, error);
    }
    if (status == USM_OK) {
        status = usm_roll_submit(queue, dst, &part.view, n - AXES_AT_ONCE, axes + AXES_AT_ONCE,
                                 shifts + AXES_AT_ONCE, error);
    }
    usm_scratch_release(&part);
    return status;
}
