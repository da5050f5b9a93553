/*
 * Import of DLPack tensors with hostile members. A tensor that is accepted has a known type, the given shape,
 * and a span that 128-bit arithmetic confirms; reduced strides are equal modulo 2**64 bytes, and are
 * reported. What is exported is accepted again, with the same layout, and leaves nothing behind.
 */
#include "fuzz.h"

#include "core/base/live.h"
#include "core/exchange/dlpack_types.h"
#include "core/exchange/dltensor.h"

#include "support.h"

/* A type of the table in most cases, else any numbers. */
static DLDataType take_type(input *input)
{
    unsigned form = take_below(input, 8);
    const usm_dtype_info *info = &usm_dtype_table[take_below(input, USM_DTYPES)];
    return form < 6
               ? (DLDataType){info->code, info->bits, 1}
               : (DLDataType){(uint8_t)take(input, 1), (uint8_t)take(input, 1), (uint16_t)take(input, 2)};
}

static void check_accepted(const DLTensor *tensor, usm_dtype dtype, const int64_t *shape,
                           const int64_t *strides, int64_t low, int64_t high, bool wraps)
{
    const int itemsize = usm_dtype_table[dtype].itemsize;
    __int128 first = 0, last = itemsize;
    bool empty = false;
    for (int i = 0; i < tensor->ndim; i++) {
        HOLDS(shape[i] == tensor->shape[i] && shape[i] >= 0);
        empty = empty || shape[i] == 0;
        if (tensor->strides != NULL) {
            HOLDS(wraps ? (uint64_t)strides[i] * (unsigned)itemsize ==
                              (uint64_t)tensor->strides[i] * (unsigned)itemsize
                        : strides[i] == tensor->strides[i]);
        }
    }
    HOLDS(!wraps || tensor->strides != NULL);
    if (empty) {
        HOLDS(low == high);
        return;
    }
    HOLDS(tensor->data != NULL);
    for (int i = 0; i < tensor->ndim; i++) {
        __int128 reach = (__int128)(shape[i] - 1) * strides[i];
        HOLDS(reach >= INT64_MIN && reach <= INT64_MAX);
        reach *= itemsize;
        first += reach < 0 ? reach : 0;
        last += reach > 0 ? reach : 0;
    }
    if (usm_dtype_is_packed(dtype)) {
        first = 0;
        last = (last * usm_dtype_table[dtype].bits + 7) / 8;
    }
    HOLDS(low == (int64_t)first && high == (int64_t)last && first >= INT64_MIN && last <= INT64_MAX);
    const __int128 at = (__int128)(uintptr_t)tensor->data + tensor->byte_offset;
    HOLDS(at + first >= 0 && at + last < (__int128)1 << 64);
    HOLDS((uintptr_t)usm_dltensor_first(tensor) == (uintptr_t)at);
}

static void check_import(input *input)
{
    int64_t given_shape[USM_MAX_NDIM + 1], given_strides[USM_MAX_NDIM + 1];
    int64_t shape[USM_MAX_NDIM], strides[USM_MAX_NDIM], low, high;
    unsigned form = (unsigned)take(input, 1);
    bool wraps;
    usm_dtype dtype;
    usm_error error;
    char text[64];
    DLTensor tensor = {.dtype = take_type(input)};
    tensor.ndim = (form & 3) != 0 ? (int)take_below(input, 5) : (int)take_hostile(input);
    tensor.data = (form & 4) != 0 ? (void *)4096 : (void *)(uintptr_t)take_hostile(input);
    tensor.byte_offset = (form & 8) != 0 ? 0 : (uint64_t)take_hostile(input);
    tensor.shape = (form & 48) == 48 ? NULL : given_shape;
    tensor.strides = (form & 64) != 0 ? NULL : given_strides;
    for (int i = 0; i < tensor.ndim && i <= USM_MAX_NDIM; i++) {
        given_shape[i] = take_hostile(input);
        given_strides[i] = take_hostile(input);
    }
    if ((form & 128) != 0 && tensor.ndim >= 0 && tensor.ndim <= USM_MAX_NDIM) { /* compact in most axes */
        usm_layout_compact(tensor.ndim, given_shape, 'C', given_strides);
    }
    error.text[0] = 0;
    if (usm_dltensor_check(&tensor, take(input, 1) & 15, &dtype, &error) != USM_OK) {
        HOLDS(error.text[0] != 0);
        return;
    }
    HOLDS(dtype < USM_DTYPES && tensor.ndim >= 0 && tensor.ndim <= USM_MAX_NDIM);
    HOLDS(tensor.ndim == 0 || tensor.shape != NULL);
    if (usm_dltensor_layout(&tensor, dtype, shape, strides, &low, &high, &wraps, &error) != USM_OK) {
        HOLDS(error.text[0] != 0);
        return;
    }
    check_accepted(&tensor, dtype, shape, strides, low, high, wraps);
    usm_dldevice_text((int32_t)take(input, 4), text, 1 + take_below(input, sizeof text));
}

static void check_export(input *input)
{
    static usm_alloc *alloc;
    if (alloc == NULL) {
        alloc = new_alloc(1 << 16);
    }
    int64_t shape[4], strides[4], seen_shape[4], seen_strides[4], low, high;
    const int64_t before = usm_live_count(USM_LIVE_EXPORT);
    bool wraps;
    usm_dtype dtype;
    usm_error error;
    usm_view view = {.alloc = alloc, .dtype = (usm_dtype)take_below(input, USM_DTYPES)};
    view.ndim = (int)take_below(input, 5);
    view.data = (char *)alloc->pointer + (1 << 15);
    view.shape = shape;
    view.strides = strides;
    for (int i = 0; i < view.ndim; i++) {
        shape[i] = take_below(input, 5);
        strides[i] = usm_dtype_is_packed(view.dtype) ? 0 : (int8_t)take(input, 1);
    }
    if (usm_dtype_is_packed(view.dtype)) {
        usm_layout_compact(view.ndim, shape, 'C', strides);
    }
    DLManagedTensorVersioned *versioned = usm_export_versioned(&view, (DLDevice){kDLCPU, 0}, 0, NULL);
    DLManagedTensor *legacy = usm_export_legacy(&view, (DLDevice){kDLCPU, 0}, NULL);
    HOLDS(versioned != NULL && legacy != NULL);
    const DLTensor *tensors[] = {&versioned->dl_tensor, &legacy->dl_tensor};
    for (int k = 0; k < 2; k++) {
        HOLDS(usm_dltensor_check(tensors[k], 0, &dtype, &error) == USM_OK && dtype == view.dtype);
        HOLDS(usm_dltensor_layout(tensors[k], dtype, seen_shape, seen_strides, &low, &high, &wraps, &error) ==
              USM_OK);
        HOLDS(!wraps && usm_dltensor_first(tensors[k]) == view.data);
        HOLDS(memcmp(shape, seen_shape, (size_t)view.ndim * sizeof *shape) == 0);
        HOLDS(memcmp(strides, seen_strides, (size_t)view.ndim * sizeof *shape) == 0);
    }
    versioned->deleter(versioned);
    legacy->deleter(legacy);
    HOLDS(usm_live_count(USM_LIVE_EXPORT) == before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input input = {data, size};
    if (take_below(&input, 8) == 0) {
        check_export(&input);
    } else {
        check_import(&input);
    }
    return 0;
}
