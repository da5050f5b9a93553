#include "strided.h"

#include "core/base/heap.h"

#include <stdlib.h>
#include <string.h>

static inline bool is_slower(const usm_axis *a, const usm_axis *b, int n_operands)
{
    for (int i = 0; i < n_operands; i++) {
        int64_t x = llabs(a->strides[i]), y = llabs(b->strides[i]);
        if (x != y) {
            return x > y;
        }
    }
    return false;
}

static inline bool continues(const usm_axis *outer, const usm_axis *inner, int n_operands)
{
    for (int i = 0; i < n_operands; i++) {
        if (outer->strides[i] != inner->strides[i] * inner->length) {
            return false;
        }
    }
    return true;
}

/* In line, since most calls have two operands: the compiler then unrolls the loops over them. */
static inline __attribute__((always_inline)) int merge_axes(usm_axis *axes, int n, int n_operands)
{
    for (int i = 1; i < n; i++) {
        usm_axis moving = axes[i];
        int k = i;
        for (; k > 0 && is_slower(&moving, &axes[k - 1], n_operands); k--) {
            axes[k] = axes[k - 1];
        }
        axes[k] = moving;
    }
    int kept = 0;
    for (int i = 1; i < n; i++) {
        usm_axis *outer = &axes[kept], *inner = &axes[i];
        if (continues(outer, inner, n_operands)) {
            inner->length *= outer->length;
            *outer = *inner;
        } else {
            axes[++kept] = *inner;
        }
    }
    return n == 0 ? 0 : kept + 1;
}

int usm_axes_merge(usm_axis *axes, int n, int n_operands)
{
    return merge_axes(axes, n, n_operands);
}

/* The bits of the strides of the first two operands: a power of two that divides all of them divides this. */
static uint64_t stride_bits(const usm_axis *axes, int n)
{
    uint64_t bits = 0;
    for (int i = 0; i < n; i++) {
        bits |= (uint64_t)axes[i].strides[0] | (uint64_t)axes[i].strides[1];
    }
    return bits;
}

/* Elements lie side by side in the first two operands, and the others stay where they are. */
static bool is_row(const usm_axis *axis, int n_operands, int size)
{
    bool row = axis->strides[0] == size && axis->strides[1] == size;
    for (int i = 2; i < n_operands; i++) {
        row = row && axis->strides[i] == 0;
    }
    return row;
}

int usm_axes_choose_unit(usm_axis *axes, int *n, int n_operands, uint64_t addresses, int size)
{
    bool row = is_row(&axes[0], n_operands, size);
    int unit = size < 8 ? size : 8; /* no element asks for more than 8 */
    int64_t length = row ? axes[0].length : 1;
    uint64_t others = addresses | stride_bits(axes + 1, *n - 1), all = others | stride_bits(axes, 1);
    if (all % (uint64_t)unit != 0) {
        while (all % (uint64_t)unit != 0) {
            unit /= 2;
        }
        if (!row) { /* the element becomes an axis */
            memmove(axes + 1, axes, (size_t)*n * sizeof *axes);
            *n += 1;
        }
        axes[0] = (usm_axis){length * (size / unit), {unit, unit}};
        return unit;
    }
    if (row) {
        for (; size < 8 && length % 2 == 0 && others % (2 * (uint64_t)size) == 0; size *= 2) {
            length /= 2;
        }
        axes[0] = (usm_axis){length, {size, size}};
    }
    return size;
}

/* Axes in any order become a plan. dst and src are moved along where an axis is walked from its other end. */
static void plan_axes(usm_plan *plan, const usm_strided *whole, usm_axis *axes, int n)
{
    if (n == 0) {
        axes[n++] = (usm_axis){
            1, {usm_dtype_table[whole->dst_dtype].itemsize, usm_dtype_table[whole->src_dtype].itemsize}};
    }
    uintptr_t dst = (uintptr_t)whole->dst,
              src = (uintptr_t)whole->src; /* layouts are planned without memory too */
    for (int i = 0; i < n; i++) {
        usm_axis *next = &axes[i];
        if (next->strides[0] < 0) {
            dst += (uintptr_t)(next->strides[0] * (next->length - 1));
            src += (uintptr_t)(next->strides[1] * (next->length - 1));
            next->strides[0] = -next->strides[0];
            next->strides[1] = -next->strides[1];
        }
    }
    n = merge_axes(axes, n, 2);
    plan->strided = *whole;
    usm_strided *strided = &plan->strided;
    strided->dst = (char *)dst;
    strided->src = (const char *)src;
    strided->ndim = n;
    strided->shape = plan->numbers;
    strided->dst_strides = plan->numbers + n;
    strided->src_strides = plan->numbers + 2 * n;
    for (int i = 0; i < n; i++) {
        strided->shape[i] = axes[i].length;
        strided->dst_strides[i] = axes[i].strides[0];
        strided->src_strides[i] = axes[i].strides[1];
    }
}

void usm_copy_plan(usm_plan *plan, const usm_view *dst, const usm_view *src)
{
    usm_axis axes[USM_MAX_NDIM];
    int n = 0, dst_size = usm_dtype_table[dst->dtype].itemsize,
        src_size = usm_dtype_table[src->dtype].itemsize;
    for (int i = 0; i < dst->ndim; i++) {
        if (dst->shape[i] != 1) {
            axes[n++] = (usm_axis){dst->shape[i], {dst->strides[i] * dst_size, src->strides[i] * src_size}};
        }
    }
    const usm_strided whole = {
        .dst = dst->data, .src = src->data, .dst_dtype = dst->dtype, .src_dtype = src->dtype};
    plan_axes(plan, &whole, axes, n);
}

void usm_strided_plan(usm_plan *plan, const usm_strided *whole)
{
    usm_axis axes[USM_MAX_NDIM];
    int n = 0;
    for (int i = 0; i < whole->ndim; i++) {
        if (whole->shape[i] != 1) {
            axes[n++] = (usm_axis){whole->shape[i], {whole->dst_strides[i], whole->src_strides[i]}};
        }
    }
    plan_axes(plan, whole, axes, n);
}

bool usm_strided_is_block(const usm_strided *strided)
{
    int size = usm_dtype_table[strided->dst_dtype].itemsize;
    return strided->dst_dtype == strided->src_dtype && strided->ndim == 1 &&
           strided->dst_strides[0] == size && strided->src_strides[0] == size;
}

usm_strided *usm_strided_clone(const usm_strided *plan)
{
    size_t numbers = 3 * (size_t)plan->ndim * sizeof(int64_t);
    usm_strided *clone = usm_malloc(sizeof *clone + numbers);
    if (clone != NULL) {
        *clone = *plan;
        clone->shape = (int64_t *)(clone + 1);
        clone->dst_strides = clone->shape + plan->ndim;
        clone->src_strides = clone->dst_strides + plan->ndim;
        memcpy(clone->shape, plan->shape, numbers / 3);
        memcpy(clone->dst_strides, plan->dst_strides, numbers / 3);
        memcpy(clone->src_strides, plan->src_strides, numbers / 3);
    }
    return clone;
}

bool usm_views_overlap(const usm_view *dst, const usm_view *src)
{
    int64_t dst_low, dst_high, src_low, src_high;
    int dst_size = usm_dtype_table[dst->dtype].itemsize, src_size = usm_dtype_table[src->dtype].itemsize;
    if (!usm_layout_span(dst->ndim, dst->shape, dst->strides, dst_size, &dst_low, &dst_high) ||
        !usm_layout_span(src->ndim, src->shape, src->strides, src_size, &src_low, &src_high)) {
        return true;
    }
    if (dst->data + dst_high <= src->data + src_low || src->data + src_high <= dst->data + dst_low) {
        return false;
    }
    bool same = dst->data == src->data && dst_size == src_size;
    for (int i = 0; i < dst->ndim && same; i++) {
        same = dst->shape[i] == 1 || dst->strides[i] == src->strides[i];
    }
    return !same;
}
