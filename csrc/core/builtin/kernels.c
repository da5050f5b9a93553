#include "kernels.h"

#include <stdlib.h>
#include <string.h>

/* The least elements for a work-item of a processor. */
#define SERIAL_ELEMENTS 4096
/* Bytes of a line of a processor's caches; and bytes from which results leave the caches anyway. */
#define LINE 64
#define LINES_FROM ((int64_t)4 << 20)
/* More groups than this along one dimension are walked by the kernels themselves: CUDA's limit. */
#define GROUPS 65535

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Whether the address and the strides of an operand are multiples of the size of the type's numbers. */
static bool is_aligned(const usm_kernel_plan *plan, int operand, const void *address, usm_dtype dtype)
{
    uint64_t all = (uint64_t)(uintptr_t)address;
    for (int i = 0; i < plan->ndim; i++) {
        all |= (uint64_t)plan->axes[i].strides[operand];
    }
    return all % usm_dtype_alignment(dtype) == 0;
}

/* One launch for each point of the axes that a kernel has no room for. */
static void count_launches(usm_kernel_plan *plan)
{
    plan->launches = 1;
    for (int i = USM_KERNEL_AXES; i < plan->ndim; i++) {
        plan->launches *= plan->axes[i].length;
    }
}

static uint64_t addresses(const usm_kernel_plan *plan)
{
    return (uint64_t)(uintptr_t)plan->dst | (uint64_t)(uintptr_t)plan->src;
}

void usm_kernel_plan_strided(usm_kernel_plan *plan, const usm_strided *strided)
{
    int ndim = strided->ndim;
    plan->dst = strided->dst;
    plan->src = strided->src;
    plan->size = 0;
    plan->unaligned = false;
    plan->ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        int k = ndim - 1 - i;
        plan->axes[i] = (usm_axis){strided->shape[k], {strided->dst_strides[k], strided->src_strides[k]}};
    }
    if (strided->dst_dtype == strided->src_dtype) {
        plan->size = usm_axes_choose_unit(plan->axes, &plan->ndim, 2, addresses(plan),
                                          usm_dtype_table[strided->dst_dtype].itemsize);
    } else {
        plan->unaligned = !is_aligned(plan, 0, plan->dst, strided->dst_dtype) ||
                          !is_aligned(plan, 1, plan->src, strided->src_dtype);
    }
    count_launches(plan);
}

void usm_kernel_plan_lines(usm_kernel_plan *plan)
{
    usm_axis *first = &plan->axes[0];
    int64_t row = first->length * plan->size, bytes = row;
    uint64_t others = addresses(plan);
    for (int i = 1; i < plan->ndim; i++) {
        bytes *= plan->axes[i].length;
        others |= (uint64_t)plan->axes[i].strides[0] | (uint64_t)plan->axes[i].strides[1];
    }
    if (plan->size == 0 || bytes < LINES_FROM || first->strides[0] != plan->size ||
        first->strides[1] != plan->size || row % LINE != 0 || others % LINE != 0) {
        return;
    }
    plan->size = LINE;
    *first = (usm_axis){row / LINE, {LINE, LINE}};
    if (row == LINE && plan->ndim > 1) { /* the row is the element now */
        plan->ndim -= 1;
        memmove(plan->axes, plan->axes + 1, (size_t)plan->ndim * sizeof *plan->axes);
        count_launches(plan);
    }
}

static size_t power_of_two_from(int64_t n, int64_t limit)
{
    size_t power = 1;
    while ((int64_t)power < n && (int64_t)power * 2 <= limit) {
        power *= 2;
    }
    return power;
}

/* Few work-items with long runs, and as many as the device runs at once several times over. */
static void share_serially(const int64_t *n, unsigned units, usm_kernel_range *range)
{
    int64_t items = n[0] * n[1] * n[2] / SERIAL_ELEMENTS, most = 4 * (int64_t)units;
    items = items < 1 ? 1 : least(items, most);
    for (int i = 2; i >= 0; i--) {
        int64_t here = least(n[i], items);
        range->global[i] = (size_t)here;
        range->local[i] = 1;
        items /= here;
    }
}

/*
 * Neighbours along axis 0, then along axis 1. Where a copy transposes, the group is a square, so that what it
 * reads lies together as well as what it writes.
 */
static void share_in_groups(const int64_t *n, bool transposes, unsigned group, usm_kernel_range *range)
{
    int64_t room = group < 256 ? group : 256;
    for (int i = 0; i < 3; i++) {
        size_t local = power_of_two_from(n[i], transposes && i == 0 ? least(room, 16)
                                               : i == 2             ? least(room, 64)
                                                                    : room);
        range->local[i] = local;
        int64_t groups = (n[i] + (int64_t)local - 1) / (int64_t)local;
        range->global[i] = local * (size_t)(i == 0 ? groups : least(groups, GROUPS));
        room /= (int64_t)local;
    }
}

void usm_kernel_range_over(const int64_t n[3], bool transposes, const usm_kernel_device *device,
                           usm_kernel_range *range)
{
    if (device->serial) {
        share_serially(n, device->units, range);
    } else {
        share_in_groups(n, transposes, device->group, range);
    }
}

void usm_kernel_plan_launch(const usm_kernel_plan *plan, int64_t index, usm_kernel_launch *launch)
{
    usm_kernel_axes *axes = &launch->axes;
    launch->dst = plan->dst;
    launch->src = plan->src;
    for (int i = USM_KERNEL_AXES; i < plan->ndim; i++) {
        const usm_axis *axis = &plan->axes[i];
        int64_t at = index % axis->length;
        launch->dst += at * axis->strides[0];
        launch->src += at * axis->strides[1];
        index /= axis->length;
    }
    launch->n[0] = launch->n[1] = launch->n[2] = 1;
    for (int i = 0; i < USM_KERNEL_AXES; i++) {
        const usm_axis axis = i < plan->ndim ? plan->axes[i] : (usm_axis){.length = 1};
        axes->shape[i] = axis.length;
        axes->dst[i] = axis.strides[0];
        axes->src[i] = axis.strides[1];
        launch->n[i < 2 ? i : 2] *= axes->shape[i];
    }
    launch->transposes = axes->src[1] != 0 && llabs(axes->src[0]) > llabs(axes->src[1]);
}
