#include "sequence.h"

#include "core/builtin/kernel_command.h"

usm_dtype usm_sequence_dtype(usm_dtype dtype, const usm_device *device)
{
    const usm_dtype_info *info = &usm_dtype_table[dtype];
    if (info->kind == USM_DTYPE_KIND_INT || info->kind == USM_DTYPE_KIND_UINT) {
        return dtype;
    }
    bool single = usm_dtype_alignment(dtype) <= 4;
    return dtype == USM_FLOAT32 || (single && !device->info.has_fp64) ? USM_FLOAT32 : USM_FLOAT64;
}

static usm_status submit(usm_queue *queue, const usm_view *dst, const usm_sequence *sequence,
                         usm_error *error)
{
    usm_command command = {.kind = USM_COMMAND_SEQUENCE, .as.sequence = *sequence};
    const usm_access access = usm_write_view(dst);
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    command.as.sequence.dst = dst->data;
    return usm_command_submit(queue, &submission, NULL, error);
}

/* Through memory of the queue that computes it. */
static usm_status submit_copy(usm_queue *queue, usm_queue *computing, const usm_view *dst,
                              const usm_sequence *sequence, usm_error *error)
{
    usm_scratch made;
    usm_status status = usm_scratch_vector(computing, sequence->dtype, sequence->count, &made, error);
    if (status == USM_OK) {
        status = submit(computing, &made.view, sequence, error);
    }
    if (status == USM_OK) {
        status = usm_copy_submit(queue, dst, &made.view, NULL, error);
    }
    usm_scratch_release(&made);
    return status;
}

usm_status usm_sequence_submit(usm_queue *queue, const usm_view *dst, const usm_sequence *sequence,
                               usm_error *error)
{
    usm_queue *host;
    if (sequence->count == 0) {
        return USM_OK;
    }
    if (sequence->dtype == USM_FLOAT64 && !queue->device->info.has_fp64) {
        usm_place *place;
        usm_status status = usm_host_place(&place, error);
        status = status == USM_OK ? usm_place_queue(place, &host, error) : status;
        if (status == USM_OK) {
            status = submit_copy(queue, host, dst, sequence, error);
            usm_queue_release(host);
        }
        return status;
    }
    return dst->dtype == sequence->dtype && (usm_view_order(dst) & USM_C_CONTIGUOUS) != 0
               ? submit(queue, dst, sequence, error)
               : submit_copy(queue, queue, dst, sequence, error);
}

usm_status usm_linspace_submit(usm_queue *queue, const usm_view *dst, const double start[2],
                               const double stop[2], bool endpoint, usm_error *error)
{
    const usm_dtype_info *info = &usm_dtype_table[dst->dtype];
    bool is_complex = info->kind == USM_DTYPE_KIND_COMPLEX, is_integer = info->kind <= USM_DTYPE_KIND_UINT;
    int64_t count = dst->shape[0], steps = endpoint ? count - 1 : count;
    const int64_t stride = is_complex ? 2 * dst->strides[0] : dst->strides[0];
    usm_status status = USM_OK;
    for (int i = 0; i < 1 + is_complex && status == USM_OK; i++) { /* each part is a sequence of its own */
        usm_view part = *dst;
        part.strides = &stride;
        if (is_complex) {
            part.dtype = dst->dtype == USM_COMPLEX64 ? USM_FLOAT32 : USM_FLOAT64;
            part.data += i * usm_view_itemsize(&part);
        }
        const usm_sequence sequence = {
            .count = count,
            .dtype = is_integer ? USM_FLOAT64 : usm_sequence_dtype(part.dtype, queue->device),
            .start = start[i],
            .step = steps > 0 ? (stop[i] - start[i]) / (double)steps : 0,
            .last = stop[i],
            .has_last = endpoint && count > 1,
        };
        status = usm_sequence_submit(queue, &part, &sequence, error);
    }
    return status;
}
