/* Sequences on the host: the one source of csrc/kernels, compiled as C. */
#include "cpu.h"

#include "portable.h"

#include "kernels/src/sequence.cl"

void usm_cpu_sequence(const usm_sequence *sequence)
{
    void *out = sequence->dst;
    uint64_t n = (uint64_t)sequence->count;
    uint64_t start = (uint64_t)sequence->istart, step = (uint64_t)sequence->istep;
    double from = sequence->start, by = sequence->step;
    double last = sequence->has_last ? sequence->last : from + (double)(n - 1) * by;
    switch (sequence->dtype) {
        case USM_INT8:
        case USM_UINT8:
            usm_sequence_uint8(out, start, step, n);
            break;
        case USM_INT16:
        case USM_UINT16:
            usm_sequence_uint16(out, start, step, n);
            break;
        case USM_INT32:
        case USM_UINT32:
            usm_sequence_uint32(out, start, step, n);
            break;
        case USM_INT64:
        case USM_UINT64:
            usm_sequence_uint64(out, start, step, n);
            break;
        case USM_FLOAT32:
            usm_sequence_float32(out, from, by, last, n);
            break;
        default:
            usm_sequence_float64(out, from, by, last, n);
            break;
    }
}
