#include "mask.h"

#include "compare.h"

#include "core/builtin/builtin.h"

#define CHUNK 4096
#define MOST_CHUNKS 16384
/*
 * How many bytes a processor counts in the time in which it moves one; and how many are enough for one
 * thread.
 */
#define COUNTED_AT_ONCE 16
#define CHUNK_OF_PROCESSOR ((int64_t)2 << 20)
#define FEW_ROWS 32 /* of a long axis each: a work-item for each row would leave most of a device idle */

/* Axes from the fastest to the slowest, merged where the steps allow it. False where they are too many. */
static bool lay_out(const usm_view *mask, const int64_t *steps, usm_mask *out)
{
    int n = 0;
    for (int i = mask->ndim - 1; i >= 0; i--) {
        int64_t length = mask->shape[i];
        if (length == 1) {
            continue;
        }
        if (n > 0 && steps[i] == out->steps[n - 1] * out->shape[n - 1]) {
            out->shape[n - 1] *= length;
            continue;
        }
        if (n == USM_MASK_AXES) {
            return false;
        }
        out->shape[n] = length;
        out->steps[n++] = steps[i];
    }
    out->ndim = n == 0 ? 1 : n;
    for (; n < USM_MASK_AXES; n++) {
        out->shape[n] = 1;
        out->steps[n] = 0;
    }
    return true;
}

/* The first of the views is written, and where it is the only one, read too. */
static usm_status submit(usm_queue *queue, const char *function, const usm_view *views, int n, int64_t items,
                         const usm_mask *layout, size_t cost, usm_error *error)
{
    usm_builtin builtin;
    usm_builtin_init(&builtin, "mask", function, NULL);
    builtin.n[0] = items;
    builtin.cost = cost;
    return usm_builtin_submit_views(queue, &builtin, views, n, USM_READ_WRITE, layout, sizeof *layout, error);
}

static size_t count_cost(const usm_mask *layout)
{
    return (size_t)(layout->n / COUNTED_AT_ONCE + (layout->n < COUNTED_AT_ONCE));
}

/* Where the results of each chunk begin, and, behind these, how many there are: chunks + 1 numbers. */
static usm_status count_chunks(usm_queue *queue, const usm_view *bytes, int64_t n, usm_mask *layout,
                               usm_scratch *counts, usm_error *error)
{
    layout->n = n;
    layout->chunk = (n + MOST_CHUNKS - 1) / MOST_CHUNKS;
    layout->chunk = layout->chunk < CHUNK ? CHUNK : layout->chunk;
    layout->chunks = (n + layout->chunk - 1) / layout->chunk;
    usm_status status = usm_scratch_vector(queue, USM_INT64, layout->chunks + 1, counts, error);
    const usm_view views[] = {counts->view, *bytes};
    if (status == USM_OK) {
        status = submit(queue, "usm_mask_count", views, 2, layout->chunks, layout, count_cost(layout), error);
    }
    return status != USM_OK
               ? status
               : submit(queue, "usm_mask_scan", views, 1, 1, layout, (size_t)layout->chunks * 8, error);
}

static usm_view total_of(const usm_scratch *counts, const usm_mask *layout)
{
    return (usm_view){.alloc = counts->view.alloc,
                      .data = counts->view.data + layout->chunks * (int64_t)sizeof(int64_t),
                      .dtype = USM_INT64};
}

/*
 * Few truth values of a processor, readable by the host: launches of three kernels would take longer than
 * the host's loop.
 */
static bool are_few(const usm_view *bytes, int64_t n)
{
    return n <= CHUNK && bytes->alloc->place->device->type == USM_CPU && usm_alloc_host_reads(bytes->alloc);
}

usm_status usm_mask_begin(usm_queue *queue, const usm_view *mask, const int64_t *steps,
                          usm_true_elements *out, usm_error *error)
{
    usm_scratch bytes, counts;
    usm_status status = USM_OK;
    counts.view.alloc = NULL;
    out->total = (usm_view){.alloc = NULL};
    if (!lay_out(mask, steps, &out->layout)) {
        return usm_error_set(error, USM_VALUE,
                             "the mask and the array have more than %d axes that cannot be merged; copy both "
                             "first",
                             USM_MASK_AXES);
    }
    out->layout.n = usm_view_size(mask);
    if (mask->dtype == USM_BOOL && (usm_view_order(mask) & USM_C_CONTIGUOUS) != 0) {
        out->bytes = *mask;
        usm_alloc_retain(mask->alloc);
    } else {
        status = usm_scratch_create(queue, USM_BOOL, mask->ndim, mask->shape, 'C', &bytes, error);
        status = status == USM_OK ? usm_truth_submit(queue, &bytes.view, mask, true, error) : status;
        out->bytes = bytes.view;
    }
    out->bytes.shape = out->bytes.strides = NULL; /* of the caller, or of this call */
    if (status == USM_OK && !are_few(&out->bytes, out->layout.n)) {
        status = count_chunks(queue, &out->bytes, out->layout.n, &out->layout, &counts, error);
        out->total = total_of(&counts, &out->layout);
    }
    out->counts = counts.view.alloc;
    if (status != USM_OK) {
        usm_mask_end(out);
    }
    return status;
}

void usm_mask_end(usm_true_elements *mask)
{
    if (mask->bytes.alloc != NULL) {
        usm_alloc_release(mask->bytes.alloc);
    }
    if (mask->counts != NULL) {
        usm_alloc_release(mask->counts);
    }
}

int64_t usm_mask_sum(const usm_true_elements *mask)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < mask->layout.n; i++) {
        sum += mask->bytes.data[i] != 0;
    }
    return sum;
}

static void place_here(const usm_true_elements *mask, int64_t *offsets, int64_t sum)
{
    const usm_mask *layout = &mask->layout;
    int64_t at[USM_MASK_AXES] = {0}, offset = 0, n = 0;
    for (int64_t i = 0; i < layout->n; i++) {
        if (mask->bytes.data[i] != 0 && n < sum) { /* a thread that writes meanwhile may add some */
            offsets[n++] = offset;
        }
        offset += layout->steps[0];
        for (int k = 0; ++at[k] == layout->shape[k] && k + 1 < USM_MASK_AXES; k++) {
            offset += layout->steps[k + 1] - at[k] * layout->steps[k];
            at[k] = 0;
        }
    }
    while (n < sum) { /* or take some away */
        offsets[n++] = 0;
    }
}

usm_status usm_mask_place(usm_queue *queue, const usm_true_elements *mask, const usm_view *offsets,
                          int64_t sum, usm_error *error)
{
    if (mask->counts == NULL) {
        place_here(mask, (int64_t *)offsets->data, sum);
        return USM_OK;
    }
    const usm_view counts = {mask->counts, mask->counts->pointer, USM_INT64, 0, NULL, NULL};
    const usm_view views[] = {*offsets, mask->bytes, counts};
    return submit(queue, "usm_mask_place", views, 3, mask->layout.chunks, &mask->layout,
                  (size_t)(mask->layout.n + sum * (int64_t)sizeof(int64_t)), error);
}

/* A long row in chunks. */
static usm_status count_row(usm_queue *queue, const usm_view *dst, const usm_view *row, int64_t n,
                            usm_error *error)
{
    usm_mask layout = {0};
    usm_scratch counts;
    usm_status status = count_chunks(queue, row, n, &layout, &counts, error);
    if (status == USM_OK) {
        const usm_view total = total_of(&counts, &layout);
        status = usm_copy_submit(queue, dst, &total, NULL, error);
    }
    usm_scratch_release(&counts);
    return status;
}

usm_status usm_count_rows_submit(usm_queue *queue, const usm_view *dst, const usm_view *bytes, int64_t rows,
                                 int64_t length, usm_error *error)
{
    bool processor = bytes->alloc->place->device->type == USM_CPU;
    if (rows > FEW_ROWS || length <= (processor ? CHUNK_OF_PROCESSOR : CHUNK)) {
        const usm_mask layout = {.n = rows * length, .chunk = length, .chunks = rows};
        const usm_view views[] = {*dst, *bytes};
        return submit(queue, "usm_mask_count", views, 2, rows, &layout, count_cost(&layout), error);
    }
    usm_status status = USM_OK;
    for (int64_t i = 0; status == USM_OK && i < rows; i++) {
        const usm_view row = {bytes->alloc, bytes->data + i * length, USM_BOOL, 0, NULL, NULL};
        const usm_view count = {
            .alloc = dst->alloc, .data = dst->data + i * (int64_t)sizeof(int64_t), .dtype = USM_INT64};
        status = count_row(queue, &count, &row, length, error);
    }
    return status;
}
