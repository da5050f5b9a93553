#include "layout.h"

#include <stdio.h>

usm_status usm_layout_size(int ndim, const int64_t *shape, int itemsize, int64_t *size, usm_error *error)
{
    int64_t count = 1, bytes;
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            return usm_error_set(error, USM_VALUE, "shape[%d] is %lld; lengths must be 0 or more", i,
                                 (long long)shape[i]);
        }
        if (shape[i] == 0) {
            empty = true;
        } else if (__builtin_mul_overflow(count, shape[i], &count)) {
            goto overflow;
        }
    }
    if (__builtin_mul_overflow(count, itemsize, &bytes)) {
        goto overflow;
    }
    *size = empty ? 0 : count;
    return USM_OK;
overflow:;
    char text[200];
    return usm_error_set(
        error, USM_VALUE,
        "the shape %s has more bytes than an address can reach; at most 2**63 - 1 are allowed",
        usm_layout_text(ndim, shape, text, sizeof text));
}

void usm_layout_compact(int ndim, const int64_t *shape, char order, int64_t *strides)
{
    int64_t step = 1;
    for (int i = 0; i < ndim; i++) {
        int axis = order == 'F' ? i : ndim - 1 - i;
        strides[axis] = step;
        if (shape[axis] > 1 && __builtin_mul_overflow(step, shape[axis], &step)) {
            step = INT64_MAX; /* only where another length is 0: no stride of it is ever used */
        }
    }
}

unsigned usm_layout_normalize(int ndim, const int64_t *shape, int64_t *strides)
{
    uint64_t c = 1, f = 1; /* the lengths in front of a 0 may have any product */
    bool is_c = true, is_f = true;
    for (int i = ndim - 1; i >= 0; i--) {
        if (shape[i] == 0) {
            usm_layout_compact(ndim, shape, 'C', strides);
            for (int k = 0; k < ndim; k++) {
                strides[k] = shape[k] == 1 ? 1 : strides[k];
            }
            return USM_C_CONTIGUOUS | USM_F_CONTIGUOUS;
        }
        if (shape[i] == 1) {
            strides[i] = 1;
        } else {
            is_c = is_c && strides[i] == (int64_t)c;
            c *= (uint64_t)shape[i];
        }
    }
    for (int i = 0; i < ndim && is_f; i++) {
        if (shape[i] != 1) {
            is_f = strides[i] == (int64_t)f;
            f *= (uint64_t)shape[i];
        }
    }
    return (is_c ? USM_C_CONTIGUOUS : 0) | (is_f ? USM_F_CONTIGUOUS : 0);
}

void usm_layout_shown_strides(int ndim, const int64_t *shape, const int64_t *strides, int64_t *shown)
{
    bool empty = false;
    for (int i = 0; i < ndim; i++) {
        empty = empty || shape[i] == 0;
    }
    usm_layout_compact(ndim, shape, 'C', shown);
    for (int i = 0; i < ndim && !empty; i++) {
        if (shape[i] > 1) {
            shown[i] = strides[i];
        }
    }
}

bool usm_layout_span(int ndim, const int64_t *shape, const int64_t *strides, int itemsize, int64_t *low,
                     int64_t *high)
{
    int64_t first = 0, last = 0;
    *low = *high = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0) {
            return true; /* whatever the other axes say: their strides are never used */
        }
    }
    for (int i = 0; i < ndim; i++) {
        int64_t reach;
        if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) ||
            __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) {
            return false;
        }
    }
    return !__builtin_mul_overflow(first, itemsize, low) && !__builtin_mul_overflow(last, itemsize, high) &&
           !__builtin_add_overflow(*high, itemsize, high);
}

bool usm_span_is_addressable(const void *first, int64_t low, int64_t high)
{
    uintptr_t at = (uintptr_t)first, past;
    int64_t size;
    return low <= 0 && at >= 0 - (uint64_t)low && high >= 0 && !__builtin_add_overflow(at, high, &past) &&
           !__builtin_sub_overflow(high, low, &size);
}

bool usm_span_is_within(const void *first, int64_t low, int64_t high, const void *base, size_t size)
{
    uintptr_t at = (uintptr_t)first, from = (uintptr_t)base;
    return usm_span_is_addressable(first, low, high) && at >= from && at - from >= 0 - (uint64_t)low &&
           (uint64_t)high <= size && at - from <= size - (uint64_t)high;
}

bool usm_layout_reshape(int ndim, const int64_t *shape, const int64_t *strides, int new_ndim,
                        const int64_t *new_shape, int64_t *new_strides)
{
    /* Axes of length 1 carry no information; what is left is cut into groups of equal element counts. */
    int64_t old_shape[USM_MAX_NDIM], old_strides[USM_MAX_NDIM];
    int old_ndim = 0;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0) {
            usm_layout_compact(new_ndim, new_shape, 'C', new_strides);
            return true;
        }
        if (shape[i] != 1) {
            old_shape[old_ndim] = shape[i];
            old_strides[old_ndim++] = strides[i];
        }
    }
    int i = 0, j = 0;
    while (i < old_ndim && j < new_ndim) {
        int first = i, new_first = j;
        int64_t old_count = old_shape[i++], new_count = new_shape[j++];
        while (old_count != new_count) {
            if (new_count < old_count) {
                new_count *= new_shape[j++];
            } else {
                old_count *= old_shape[i++];
            }
        }
        for (int k = first; k + 1 < i; k++) {
            if (old_strides[k] != old_strides[k + 1] * old_shape[k + 1]) {
                return false;
            }
        }
        int64_t step = old_strides[i - 1];
        for (int k = j - 1; k >= new_first; k--) {
            new_strides[k] = step;
            step *= new_shape[k];
        }
    }
    for (; j < new_ndim; j++) {
        new_strides[j] = 1; /* only lengths of 1 are left */
    }
    return true;
}

bool usm_layout_broadcast(int ndim, const int64_t *shape, const int64_t *strides, int target_ndim,
                          const int64_t *target_shape, int64_t *target_strides)
{
    if (ndim > target_ndim) {
        return false;
    }
    int lead = target_ndim - ndim;
    for (int i = 0; i < target_ndim; i++) {
        int64_t length = i < lead ? 1 : shape[i - lead];
        if (length == target_shape[i]) {
            target_strides[i] = i < lead ? 0 : strides[i - lead];
        } else if (length == 1) {
            target_strides[i] = 0;
        } else {
            return false;
        }
    }
    return true;
}

bool usm_layout_repeats(int ndim, const int64_t *shape, const int64_t *strides)
{
    for (int i = 0; i < ndim; i++) {
        if (shape[i] > 1 && strides[i] == 0) {
            return true;
        }
    }
    return false;
}

char *usm_layout_text(int ndim, const int64_t *values, char *text, size_t size)
{
    size_t used = 0;
    const char *separator = "(";
    text[0] = '\0';
    for (int i = 0; i < ndim && used < size; i++, separator = ", ") {
        int wrote = snprintf(text + used, size - used, "%s%lld", separator, (long long)values[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    if (used < size) {
        snprintf(text + used, size - used, ndim == 0 ? "()" : ndim == 1 ? ",)" : ")");
    }
    return text;
}
