#include "indices.h"

#include <string.h>

/*
 * Whether all of a row are in [-length, length): the sign of index + length, or of length - 1 - index, says
 * what is not, and that of an unsigned index beyond 63 bits. Without a branch, so that it vectorises.
 */
#define OUTSIDE(type, i)                                  \
    memcpy(&value, data + (i), sizeof value);             \
    outside |= ((uint64_t)length - 1 - (uint64_t)value) | \
               ((uint64_t)value + ((type)-1 > 0 ? 0 : (uint64_t)length));

#define IN_RANGE(name, type)                                                                 \
    static bool in_range_##name(const char *data, int64_t n, int64_t stride, int64_t length) \
    {                                                                                        \
        uint64_t outside = 0;                                                                \
        type value;                                                                          \
        if (stride == sizeof(type)) {                                                        \
            for (int64_t i = 0; i < n; i++) {                                                \
                OUTSIDE(type, i *(int64_t)sizeof(type))                                      \
            }                                                                                \
        } else {                                                                             \
            for (int64_t i = 0; i < n; i++) {                                                \
                OUTSIDE(type, i *stride)                                                     \
            }                                                                                \
        }                                                                                    \
        return outside >> 63 == 0;                                                           \
    }

IN_RANGE(int8, int8_t)
IN_RANGE(int16, int16_t)
IN_RANGE(int32, int32_t)
IN_RANGE(int64, int64_t)
IN_RANGE(uint8, uint8_t)
IN_RANGE(uint16, uint16_t)
IN_RANGE(uint32, uint32_t)
IN_RANGE(uint64, uint64_t)

typedef bool (*row_check)(const char *data, int64_t n, int64_t stride, int64_t length);

bool usm_indices_in_range(const usm_view *indices, int64_t length)
{
    static const row_check checks[] = {
        [USM_INT8] = in_range_int8,     [USM_INT16] = in_range_int16,   [USM_INT32] = in_range_int32,
        [USM_INT64] = in_range_int64,   [USM_UINT8] = in_range_uint8,   [USM_UINT16] = in_range_uint16,
        [USM_UINT32] = in_range_uint32, [USM_UINT64] = in_range_uint64,
    };
    usm_plan plan;
    if (usm_view_size(indices) == 0) {
        return true;
    }
    usm_copy_plan(&plan, indices, indices);
    const usm_strided *rows = &plan.strided;
    int last = rows->ndim - 1;
    int64_t at[USM_MAX_NDIM] = {0};
    const char *data = rows->src;
    for (;;) {
        if (!checks[indices->dtype](data, rows->shape[last], rows->src_strides[last], length)) {
            return false;
        }
        int i = last - 1;
        for (; i >= 0 && at[i] == rows->shape[i] - 1; i--) {
            data -= at[i] * rows->src_strides[i];
            at[i] = 0;
        }
        if (i < 0) {
            return true;
        }
        at[i]++;
        data += rows->src_strides[i];
    }
}

usm_status usm_indices_of_counts(const usm_view *counts, int64_t n, int64_t *begins, usm_error *error)
{
    int64_t total = 0, step = usm_view_size(counts) == 1 ? 0 : (int64_t)sizeof(int64_t);
    for (int64_t i = 0; i < n; i++) {
        int64_t count;
        memcpy(&count, counts->data + i * step, sizeof count);
        begins[i] = total;
        if (count < 0) {
            return usm_error_set(error, USM_VALUE, "repeat(): repeats[%lld] is below 0 or above 2**63 - 1",
                                 (long long)i);
        }
        if (__builtin_add_overflow(total, count, &total)) {
            return usm_error_set(
                error, USM_VALUE,
                "repeat(): the result would have more than 2**63 - 1 elements, at repeats[%lld]",
                (long long)i);
        }
    }
    begins[n] = total;
    return USM_OK;
}
