#include "accumulate.h"

#include "axes.h"

#include "core/builtin/builtin.h"
#include "core/layout/number.h"
#include "kernels/abi/operate.h"

/* Below, more reads under way at once (usm_groups_*) are better than wider ones (usm_packs_*). */
#define MANY_BLOCKS 64

/* By what a place knows the kernels of a type: texts that last. */
typedef struct names {
    const char *module, *options, *accumulate, *groups, *packs, *columns, *rows;
} names;

#define NAMES(type, number)                                                                             \
    {                                                                                                   \
        .module = "accumulate." type, .options = "-D USM_COMPUTE=" number,                              \
        .accumulate = "usm_accumulate_" type, .groups = "usm_groups_" type, .packs = "usm_packs_" type, \
        .columns = "usm_columns_" type, .rows = "usm_rows_" type                                        \
    }
static const names kernels[USM_COMPUTED_DTYPES] = {USM_SIGNED_ROWS(NAMES), USM_REAL_ROWS(NAMES),
                                                   USM_COMPLEX_ROWS(NAMES)};

/* The least power of 2 that is n or more, or `most`. */
static long power_of_2(int64_t n, long most)
{
    long power = 1;
    while (power < most && power < n) {
        power *= 2;
    }
    return power;
}

/* One element for each block into dst, which has the computed type. */
static usm_status reduce_blocks(usm_queue *queue, usm_dtype computed, const usm_view *dst,
                                const usm_view *src, usm_accumulation *r, usm_error *error)
{
    const names *names = &kernels[computed];
    const char *function = names->accumulate;
    usm_builtin builtin;
    const usm_access accesses[] = {usm_write_view(dst), {src->alloc, USM_READ}};
    bool in_groups =
        queue->place->device->type != USM_CPU && queue->device->info.max_work_group_size >= USM_GROUPS_ITEMS;
    const int64_t itemsize = usm_dtype_table[computed].itemsize, in_pack = USM_PACK(itemsize);
    /* What is innermost begins with a pack everywhere. */
    bool in_packs = r->type == (long)computed &&
                    (uintptr_t)src->data % (uintptr_t)(in_pack * itemsize) == 0 &&
                    (r->inner > 1 ? r->inner % in_pack == 0 : r->outer == 1 || r->reduced % in_pack == 0);
    const long columns = USM_GROUPS_ITEMS / power_of_2(r->reduced, USM_LANES);
    const int64_t blocks = r->outer * r->blocks;
    int64_t items = r->inner; /* along dimension 0, the only one where there are groups */
    unsigned group = USM_GROUPS_ITEMS;
    if (in_groups && in_packs && r->inner / in_pack >= columns) {
        function = names->columns;
        r->columns = columns;
        items = blocks * ((r->inner / in_pack + columns - 1) / columns) * USM_GROUPS_ITEMS;
    } else if (in_groups && in_packs && r->inner == 1 && r->reduced >= USM_BLOCK && blocks >= MANY_BLOCKS) {
        function = names->packs;
        r->columns = USM_LANES / in_pack;
        items = blocks * r->columns;
    } else if (in_groups && r->reduced > USM_LANES) {
        function = names->groups;
        r->columns = power_of_2(r->inner, 32);
        items = blocks * ((r->inner + r->columns - 1) / r->columns) * r->columns *
                (USM_GROUPS_ITEMS / r->columns < USM_LANES ? USM_GROUPS_ITEMS / r->columns : USM_LANES);
    } else if (in_groups && r->inner == 1) {
        function = names->rows;
        group = USM_ROWS_ITEMS(itemsize);
        items = r->outer;
    } else {
        group = 0;
    }
    usm_builtin_init(&builtin, names->module, function, names->options);
    usm_builtin_pointer(&builtin, dst->data);
    usm_builtin_pointer(&builtin, src->data);
    usm_builtin_value(&builtin, r, sizeof *r);
    builtin.group = group;
    builtin.n[0] = items;
    builtin.n[1] = r->blocks;
    builtin.n[2] = r->outer;
    builtin.cost = (size_t)(r->outer * r->reduced * r->inner * usm_dtype_table[r->type].itemsize);
    return usm_builtin_submit(queue, &builtin, accesses, 2, error);
}

/* Blocks, then blocks of their results: as deep as the logarithm of r.reduced. */
static usm_status reduce(usm_queue *queue, usm_dtype computed, const usm_view *dst, const usm_view *src,
                         usm_accumulation r, usm_error *error)
{
    usm_scratch part;
    r.blocks = (r.reduced + USM_BLOCK - 1) / USM_BLOCK;
    r.type = src->dtype;
    if (r.blocks == 1) {
        return reduce_blocks(queue, computed, dst, src, &r, error);
    }
    usm_status status = usm_scratch_vector(queue, computed, r.outer * r.blocks * r.inner, &part, error);
    if (status == USM_OK) {
        status = reduce_blocks(queue, computed, &part.view, src, &r, error);
    }
    if (status == USM_OK) {
        r.reduced = r.blocks;
        status = reduce(queue, computed, dst, &part.view, r, error);
    }
    usm_scratch_release(&part);
    return status;
}

/* Kernels read the type that they compute in, and narrower ones; of real numbers, all but the widest. */
static bool is_read(usm_dtype dtype, usm_dtype computed)
{
    usm_dtype_kind kind = usm_dtype_table[dtype].kind, own = usm_dtype_table[computed].kind;
    return dtype == computed || kind <= USM_DTYPE_KIND_UINT ||
           (kind == USM_DTYPE_KIND_FLOAT && own == USM_DTYPE_KIND_FLOAT && dtype != USM_FLOAT64);
}

usm_status usm_identity_submit(usm_queue *queue, int op, const usm_view *dst, usm_error *error)
{
    unsigned char element[USM_MAX_PATTERN];
    usm_number_store(dst->dtype, op == USM_PROD, 0, element);
    return usm_fill_submit(queue, dst, element, NULL, error);
}

usm_status usm_accumulate_submit(usm_queue *queue, usm_accumulate_kind kind, const usm_view *dst,
                                 const usm_view *src, uint64_t reduced_axes, usm_error *error)
{
    usm_axes_plan plan;
    usm_scratch copy, wide;
    usm_view from, to = *dst;
    usm_dtype computed = usm_builtin_computed(queue, dst->dtype);
    usm_axes_plan_make(src, reduced_axes, false, &plan);
    bool rounds = (kind == USM_ACCUMULATE_SUM || kind == USM_ACCUMULATE_PROD) &&
                  usm_dtype_table[computed].kind >= USM_DTYPE_KIND_FLOAT;
    plan.any_order &= !rounds; /* the bits do not depend on the layout */
    if (plan.outer * plan.inner == 0) {
        return USM_OK;
    }
    if (plan.reduced == 0) {
        return usm_identity_submit(queue, kind, dst, error);
    }
    wide.view.alloc = NULL;
    usm_status status =
        usm_axes_operand(queue, src, reduced_axes, &plan,
                         is_read(src->dtype, computed) ? src->dtype : computed, &copy, &from, error);
    if (status == USM_OK && computed != dst->dtype) {
        status = usm_scratch_create(queue, computed, dst->ndim, dst->shape, 'C', &wide, error);
        to = wide.view;
    }
    if (status == USM_OK) {
        const usm_accumulation r = {.outer = plan.outer,
                                    .reduced = plan.reduced,
                                    .inner = plan.inner,
                                    .block = USM_BLOCK,
                                    .op = kind};
        status = reduce(queue, computed, &to, &from, r, error);
    }
    if (status == USM_OK && computed != dst->dtype) {
        status = usm_copy_submit(queue, dst, &to, NULL, error);
    }
    usm_scratch_release(&wide);
    usm_scratch_release(&copy);
    return status;
}
