/*
 * IPC handles: any bytes, and handles of a block of this process with members that the input chooses, sealed
 * again. The array of a handle that is accepted lies in its block, and can be read from its first byte to its
 * last once it is opened. A handle that was not sealed again is refused if any of its bytes differ.
 */
#include "fuzz.h"

#include "core/layout/dtype.h"
#include "core/share/export.h"
#include "core/share/opening.h"
#include "core/share/share.h"

#include "support.h"

static usm_share_handle original;
static int descriptors[USM_HANDLE_DESCRIPTORS];
static usm_alloc *block; /* kept: other processes could have it open */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    usm_error error;
    HOLDS(usm_share_create(host_place(), USM_DEVICE, 4096, NULL, &block, &error) == USM_OK);
    HOLDS(usm_share_export(block, &original, descriptors, NULL, &error) == USM_OK);
    original.dtype = USM_FLOAT32;
    original.ndim = 2;
    original.dims[0] = original.dims[1] = 4;
    original.dims[2] = 4;
    original.dims[3] = 1;
    HOLDS(usm_handle_seal(&original, &error) == USM_OK);
    return 0;
}

/* The bytes of the array, by 128-bit arithmetic. */
static void check_opened(const usm_share_handle *handle, const usm_alloc *alloc)
{
    const int itemsize = usm_dtype_table[handle->dtype].itemsize;
    __int128 first = handle->offset, last = first + itemsize, size = 1;
    for (int i = 0; i < handle->ndim; i++) {
        HOLDS(handle->dims[i] >= 0);
        size *= handle->dims[i] > 0 && size > 0 && size < ((__int128)1 << 62) ? handle->dims[i]
                                                                              : handle->dims[i] != 0;
    }
    HOLDS(first >= 0 && first <= (__int128)handle->nbytes);
    if (size == 0) {
        return;
    }
    HOLDS(alloc->pointer != NULL && alloc->nbytes >= handle->nbytes);
    if (usm_dtype_is_packed(handle->dtype)) {
        last = first + (size * usm_dtype_table[handle->dtype].bits + 7) / 8;
    } else {
        for (int i = 0; i < handle->ndim; i++) {
            __int128 reach = (__int128)(handle->dims[i] - 1) * handle->dims[handle->ndim + i] * itemsize;
            first += reach < 0 ? reach : 0;
            last += reach > 0 ? reach : 0;
        }
    }
    HOLDS(first >= 0 && last <= (__int128)alloc->nbytes);
    const volatile char *bytes = alloc->pointer;
    (void)bytes[(size_t)first];
    (void)bytes[(size_t)last - 1];
}

/* Members that the input chooses. */
static void change(input *input, usm_share_handle *handle)
{
    for (unsigned changes = take_below(input, 6); changes > 0; changes--) {
        switch (take_below(input, 10)) {
            case 0:
                handle->dtype = (uint8_t)take(input, 1);
                break;
            case 1:
                handle->ndim = (uint8_t)take(input, 1);
                break;
            case 2:
                handle->offset = take_hostile(input);
                break;
            case 3:
                handle->nbytes = (uint64_t)take_hostile(input);
                break;
            case 4:
                handle->rule = (uint8_t)take_below(input, 4);
                break;
            case 5:
                handle->block[0] ^= 1; /* a block that this process does not know yet */
                break;
            case 6:
                handle->n_descriptors = (uint32_t)take_below(input, 3);
                break;
            case 7:
                ((uint8_t *)handle)[take(input, 2) % sizeof *handle] = (uint8_t)take(input, 1);
                break;
            default:
                handle->dims[take_below(input, 8)] = take_hostile(input);
                break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input input = {data, size};
    unsigned form = take_below(&input, 8);
    usm_share_handle given = original, read;
    usm_error error;
    if (form == 0) {
        uint8_t *bytes = malloc(input.left > 0 ? input.left : 1);
        HOLDS(bytes != NULL);
        memcpy(bytes, input.at, input.left);
        (void)usm_handle_read(bytes, input.left, &read, &error);
        free(bytes);
        return 0;
    }
    if (form == 1) { /* damaged on its way */
        size_t n = original.size;
        ((uint8_t *)&given)[take(&input, 2) % n] ^= (uint8_t)(1 + take_below(&input, 255));
        HOLDS(usm_handle_read(&given, n, &read, &error) != USM_OK);
        n = (size_t)take(&input, 2) % original.size;
        HOLDS(usm_handle_read(&original, n, &read, &error) != USM_OK);
        return 0;
    }
    change(&input, &given);
    if (given.ndim <= USM_MAX_NDIM) {
        HOLDS(usm_handle_seal(&given, &error) == USM_OK);
    }
    size_t n = given.size <= sizeof given ? given.size : sizeof given;
    error.text[0] = 0;
    if (usm_handle_read(&given, n, &read, &error) != USM_OK) {
        HOLDS(error.text[0] != 0);
        return 0;
    }
    HOLDS(memcmp(&read, &given, n) == 0);
    if (!usm_handle_is_within(&read)) {
        return 0;
    }
    int own[USM_HANDLE_DESCRIPTORS];
    usm_alloc *alloc;
    if (form == 2 && usm_handle_fetch(&read, own, &error) == USM_OK) {
        usm_descriptors_close(own, read.n_descriptors);
    }
    if (usm_handle_check(&read, descriptors, original.n_descriptors, &error) != USM_OK) {
        return 0; /* csrc/py asks this first */
    }
    if (usm_share_open(host_place(), &read, descriptors, take_below(&input, 2) != 0, &alloc, &error) ==
        USM_OK) {
        check_opened(&read, alloc);
        usm_alloc_release(alloc);
    }
    return 0;
}
