#include "kernels.h"

#include <string.h>

/* Fewer elements than this are not worth a work-item of a processor. */
#define SERIAL_ELEMENTS 4096
/* Lines of a processor's caches; results from this many bytes on leave the caches anyway. */
#define LINE 64
#define LINES_FROM ((int64_t)4 << 20)
/* More groups than this along one dimension are walked by the kernels themselves: CUDA's limit. */
#define GROUPS 65535

static const usm_kernel_source *find(const usm_kernel_source *source, const char *name)
{
    while (source->name != NULL && strcmp(source->name, name) != 0) {
        source++;
    }
    return source->name != NULL ? source : NULL;
}

const usm_kernel_source *usm_kernel_source_named(const char *name)
{
    return find(usm_kernel_sources, name);
}

const usm_kernel_source *usm_kernel_ptx_named(const char *name)
{
    return find(usm_kernel_ptx, name);
}

const usm_kernel_source *usm_kernel_spirv_named(const char *name)
{
    return find(usm_kernel_spirv, name);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The bits of every address and stride: what divides all of them divides this (powers of two). */
static uint64_t together(const usm_kernel_plan *plan, int from)
{
    uint64_t all = (uint64_t)(uintptr_t)plan->dst | (uint64_t)(uintptr_t)plan->src;
    for (int i = from; i < plan->ndim; i++) {
        all |= (uint64_t)plan->dst_strides[i] | (uint64_t)plan->src_strides[i];
    }
    return all;
}

static bool has_rows(const usm_kernel_plan *plan, int size)
{
    return plan->dst_strides[0] == size && plan->src_strides[0] == size;
}

static void set_rows(usm_kernel_plan *plan, int size, int64_t length)
{
    plan->size = size;
    plan->shape[0] = length;
    plan->dst_strides[0] = plan->src_strides[0] = size;
}

/* Elements of parts, where memory is aligned to the parts alone. */
static void narrow(usm_kernel_plan *plan, int size, int part)
{
    int64_t length = size / part;
    if (has_rows(plan, size)) {
        length *= plan->shape[0];
    } else { /* the element becomes an axis */
        size_t kept = (size_t)plan->ndim * sizeof(int64_t);
        memmove(plan->shape + 1, plan->shape, kept);
        memmove(plan->dst_strides + 1, plan->dst_strides, kept);
        memmove(plan->src_strides + 1, plan->src_strides, kept);
        plan->ndim += 1;
    }
    set_rows(plan, part, length);
}

static void choose_size(usm_kernel_plan *plan, int size)
{
    uint64_t all = together(plan, 0);
    int part = size < 8 ? size : 8; /* no element asks for more than 8 */
    if (all % (uint64_t)part != 0) {
        while (all % (uint64_t)part != 0) {
            part /= 2;
        }
        narrow(plan, size, part);
        return;
    }
    plan->size = size;
    if (has_rows(plan, size)) {
        uint64_t others = together(plan, 1);
        while (plan->size < 8 && plan->shape[0] % 2 == 0 && others % (2 * (uint64_t)plan->size) == 0) {
            set_rows(plan, 2 * plan->size, plan->shape[0] / 2);
        }
    }
}

/* Of the numbers that an element is made of. */
static uint64_t alignment(usm_dtype dtype)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    return info->kind == USM_KIND_COMPLEX ? info->itemsize / 2u : info->itemsize;
}

static bool is_aligned(const void *address, const int64_t *strides, int ndim, uint64_t to)
{
    uint64_t all = (uint64_t)(uintptr_t)address;
    for (int i = 0; i < ndim; i++) {
        all |= (uint64_t)strides[i];
    }
    return all % to == 0;
}

static void count_launches(usm_kernel_plan *plan)
{
    plan->launches = 1;
    for (int i = USM_KERNEL_AXES; i < plan->ndim; i++) {
        plan->launches *= plan->shape[i];
    }
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
        plan->shape[i] = strided->shape[ndim - 1 - i];
        plan->dst_strides[i] = strided->dst_strides[ndim - 1 - i];
        plan->src_strides[i] = strided->src_strides[ndim - 1 - i];
    }
    if (strided->dst_dtype == strided->src_dtype) {
        choose_size(plan, usm_dtype_table[strided->dst_dtype].itemsize);
    } else {
        plan->unaligned = !is_aligned(plan->dst, plan->dst_strides, ndim, alignment(strided->dst_dtype)) ||
                          !is_aligned(plan->src, plan->src_strides, ndim, alignment(strided->src_dtype));
    }
    count_launches(plan);
}

void usm_kernel_plan_lines(usm_kernel_plan *plan)
{
    int64_t row = plan->shape[0] * plan->size, bytes = plan->size;
    for (int i = 0; i < plan->ndim; i++) {
        bytes *= plan->shape[i];
    }
    if (plan->size == 0 || bytes < LINES_FROM || !has_rows(plan, plan->size) || row % LINE != 0 ||
        together(plan, 1) % LINE != 0) {
        return;
    }
    set_rows(plan, LINE, row / LINE);
    if (row == LINE && plan->ndim > 1) { /* the row is the element now */
        plan->ndim -= 1;
        size_t kept = (size_t)plan->ndim * sizeof(int64_t);
        memmove(plan->shape, plan->shape + 1, kept);
        memmove(plan->dst_strides, plan->dst_strides + 1, kept);
        memmove(plan->src_strides, plan->src_strides + 1, kept);
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

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

void usm_kernel_plan_launch(const usm_kernel_plan *plan, int64_t index, usm_kernel_launch *launch)
{
    usm_kernel_axes *axes = &launch->axes;
    launch->dst = plan->dst;
    launch->src = plan->src;
    for (int i = USM_KERNEL_AXES; i < plan->ndim; i++) {
        int64_t at = index % plan->shape[i];
        launch->dst += at * plan->dst_strides[i];
        launch->src += at * plan->src_strides[i];
        index /= plan->shape[i];
    }
    launch->n[0] = launch->n[1] = launch->n[2] = 1;
    for (int i = 0; i < USM_KERNEL_AXES; i++) {
        bool used = i < plan->ndim;
        axes->shape[i] = used ? plan->shape[i] : 1;
        axes->dst[i] = used ? plan->dst_strides[i] : 0;
        axes->src[i] = used ? plan->src_strides[i] : 0;
        launch->n[i < 2 ? i : 2] *= axes->shape[i];
    }
    launch->transposes = axes->src[1] != 0 && magnitude(axes->src[0]) > magnitude(axes->src[1]);
}
