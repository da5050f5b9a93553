/* Arrays over memory that another library allocated from the same driver, given by its address. */
#include "native.h"
#include "stream.h"

#include "py/args.h"
#include "py/arrays/array.h"
#include "py/deferred.h"
#include "py/errors.h"
#include "py/keep.h"
#include "py/objects/trace.h"

#include "core/exchange/dltensor.h"
#include "core/exchange/native.h"
#include "core/memory/blocks.h"
#include "core/memory/connection.h"

int usmpy_address_of(PyObject *number, const char *parameter, void **address)
{
    PyObject *index = usmpy_index_of(number, parameter, -1, USMPY_AN_INT);
    if (index == NULL) {
        return -1;
    }
    *address = (void *)(uintptr_t)PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    bool fits = PyErr_Occurred() == NULL;
    PyErr_Clear();
    return fits;
}

int usmpy_parse_address(PyObject *argument, void **address)
{
    int found = usmpy_address_of(argument, "address", address);
    if (found == 0) {
        usmpy_error_format(PyExc_ValueError,
                           "address is %.100R, which is no address; 0 to 2**64 - 1 are allowed", argument);
    }
    return found > 0 ? 0 : -1;
}

int usmpy_parse_strides(PyObject *argument, usmpy_claim *claim)
{
    if (!usmpy_given(argument)) {
        usm_layout_compact(claim->ndim, claim->shape, 'C', claim->strides);
        return 0;
    }
    if (usm_dtype_is_packed(claim->dtype)) {
        return usmpy_refuse(PyExc_ValueError,
                            "dtype %s packs several elements into a byte, so strides must be None",
                            usm_dtype_table[claim->dtype].name);
    }
    int n = usmpy_parse_shape(argument, claim->strides, "strides");
    if (n >= 0 && n != claim->ndim) {
        return usmpy_refuse(PyExc_ValueError, "strides has %d entries but shape has %d; they must match", n,
                            claim->ndim);
    }
    return n < 0 ? -1 : 0;
}

/* Bytes that the elements span, from *low to *high relative to the address. */
static usm_status span(const usmpy_claim *claim, int64_t *low, int64_t *high, usm_error *error)
{
    const usm_dtype_info *info = &usm_dtype_table[claim->dtype];
    int64_t size;
    usm_status status = usm_layout_size(claim->ndim, claim->shape, info->itemsize, &size, error);
    if (status != USM_OK) {
        return status;
    }
    if (size > 0 && claim->address == NULL) {
        return usm_error_set(error, claim->refusal,
                             "address is 0; only an array without elements may have it");
    }
    if (!usm_dtype_span(claim->dtype, claim->ndim, claim->shape, claim->strides, size, claim->address, low,
                        high)) {
        return usm_error_set(error, claim->refusal,
                             "shape and strides, beginning at %p, reach beyond any address", claim->address);
    }
    int alignment = info->kind == USM_DTYPE_KIND_COMPLEX ? info->itemsize / 2 : info->itemsize;
    if (size > 0 && (uintptr_t)claim->address % (unsigned)alignment != 0) {
        return usm_error_set(error, claim->refusal,
                             "address %p is not aligned to the %d bytes that an element of %s needs",
                             claim->address, alignment, info->name);
    }
    return USM_OK;
}

static bool has_kind(const usm_device_info *info, usm_kind kind)
{
    return kind == USM_DEVICE   ? info->has_usm_device
           : kind == USM_SHARED ? info->has_usm_shared
                                : info->has_usm_host;
}

/* Checks memory that usmpy or the driver knows: kind, bounds, and access from the queue. */
static usm_status check_known(usmpy_claim *claim, const usm_block *block, int64_t low, int64_t high,
                              usm_error *error)
{
    const usm_queue *queue = usmpy_queue_of(claim->queue);
    if (claim->kind >= 0 && (usm_kind)claim->kind != block->kind) {
        return usm_error_set(
            error, claim->refusal, "usm_type is '%s', and %p is %s memory; leave usm_type out",
            usm_kind_name((usm_kind)claim->kind), claim->address, usm_kind_name(block->kind));
    }
    claim->kind = (int)block->kind;
    if (block->nbytes > 0 && !usm_span_is_within(claim->address, low, high, block->base, block->nbytes)) {
        uintptr_t at = (uintptr_t)claim->address - (uintptr_t)block->base;
        return usm_error_set(
            error, claim->refusal, "the elements are bytes %lld to %lld of an allocation of %zu bytes",
            (long long)(at + (uintptr_t)low), (long long)(at + (uintptr_t)high - 1), block->nbytes);
    }
    if (usm_connection(block->place, block->kind, queue->place) != USM_CONNECTION_UNIFIED) {
        return usm_error_set(error, claim->refusal, "%p is memory of %s, which %s cannot use in place",
                             claim->address, block->place->device->info.name, queue->device->info.name);
    }
    return USM_OK;
}

/* The device's place in the context or, for a device of CUDA that is not in it, in its default context. */
static usm_status place_of(usm_context *context, usm_device *device, usm_place **out, usm_error *error)
{
    return usm_context_place(context, device, out, NULL) == USM_OK
               ? USM_OK
               : usm_context_place(NULL, device, out, error);
}

/*
 * Looks for the memory among usmpy's own blocks, then asks the driver. *found: whether either knows it;
 * *info: the driver's answer.
 */
static usm_status look_up(const usmpy_claim *claim, usm_block *block, bool *found, usm_pointer_info *info,
                          usm_error *error)
{
    const usm_queue *queue = usmpy_queue_of(claim->queue);
    bool ours = usm_blocks_find(claim->address, block);
    *info = (usm_pointer_info){.device = NULL};
    if (ours && block->nbytes == 0) {
        return usm_error_set(error, claim->refusal, "the memory at %p was freed; keep its array alive",
                             claim->address);
    }
    /* Another driver may have given the same address to memory that the host cannot read. */
    *found = ours && block->place->context->backend == queue->backend;
    if (*found) {
        return USM_OK;
    }
    usm_status status = usm_memory_query(queue->context, claim->address, info, error);
    *found = ours;
    if (status == USM_OK && info->device != NULL) {
        *found = true;
        block->kind = info->kind;
        block->base = info->base;
        block->nbytes = info->size;
        status = place_of(queue->context, info->device, &block->place, error);
    }
    return status;
}

/* Determines the place and the kind of the memory. */
static usm_status identify(usmpy_claim *claim, int64_t low, int64_t high, usm_place **place, usm_error *error)
{
    const usm_queue *queue = usmpy_queue_of(claim->queue);
    usm_block block;
    usm_pointer_info info;
    bool found;
    usm_status status = look_up(claim, &block, &found, &info, error);
    *place = status == USM_OK && found ? block.place : queue->place;
    if (status != USM_OK || found) {
        return status != USM_OK ? status : check_known(claim, &block, low, high, error);
    }
    if (!usm_backend_knows_memory(queue->backend)) {
        claim->kind = claim->kind >= 0 ? claim->kind : USM_HOST;
        return USM_OK;
    }
    if (info.identifies == USM_IDENTIFIES_ALL && !queue->device->info.has_usm_system) {
        return usm_error_set(
            error, claim->refusal,
            "the driver does not know %p as memory of the queue's context; use memory of another context "
            "in that context (Context.from_native)",
            claim->address);
    }
    if (claim->usm && info.identifies == USM_IDENTIFIES_NONE) {
        claim->kind = queue->device->info.has_usm_shared ? USM_SHARED : USM_DEVICE;
    }
    if (claim->kind < 0) {
        return usm_error_set(error, claim->refusal,
                             "the driver does not know %p as unified shared memory of the queue's context; "
                             "for SVM, which no driver identifies, give usm_type",
                             claim->address);
    }
    if (!has_kind(&queue->device->info, (usm_kind)claim->kind)) {
        return usm_error_set(error, claim->refusal, "usm_type is '%s', and %s has no such memory",
                             usm_kind_name((usm_kind)claim->kind), queue->device->info.name);
    }
    return USM_OK;
}

usmpy_array *usmpy_array_of_claim(usmpy_state *state, usmpy_claim *claim)
{
    int64_t low, high;
    usm_error error;
    usm_queue *queue = usmpy_queue_of(claim->queue);
    usm_place *place = queue->place;
    usm_keep *keep = NULL;
    usm_status status = span(claim, &low, &high, &error);
    if (status == USM_OK && high > low) {
        status = identify(claim, low, high, &place, &error);
    }
    if (status != USM_OK) {
        return usmpy_raise(state, status, &error);
    }
    usmpy_array *array = usmpy_array_new(state, claim->ndim);
    if (array == NULL) {
        return NULL;
    }
    if (claim->owner != NULL && usmpy_keep_object(&keep, claim->owner) < 0) {
        Py_DECREF(array);
        return NULL;
    }
    status = usm_alloc_import(place, claim->kind >= 0 ? (usm_kind)claim->kind : USM_DEVICE,
                              high > low ? (char *)claim->address + low : NULL, (size_t)(high - low), keep,
                              keep == NULL ? NULL : usmpy_keep_release, &array->alloc, &error);
    if (status != USM_OK) {
        usmpy_keep_drop(keep);
        Py_DECREF(array);
        return usmpy_raise(state, status, &error);
    }
    const usm_access access = {array->alloc, USM_READ_WRITE};
    if (!claim->ordered && usm_queue_is_shared(queue) &&
        usmpy_submit_point(state, queue, USM_COMMAND_MARKER, &access, 1, NULL, NULL) < 0) {
        Py_DECREF(array); /* the marker orders foreign work in the same native queue before ours */
        return NULL;
    }
    memcpy(usmpy_shape(array), claim->shape, (size_t)claim->ndim * sizeof *claim->shape);
    memcpy(usmpy_strides(array), claim->strides, (size_t)claim->ndim * sizeof *claim->strides);
    return usmpy_array_imported(array, claim->address, Py_NewRef(claim->queue), claim->dtype, claim->writable,
                                claim->how);
}

void usmpy_array_prefer_queue(usmpy_array *array, PyObject *queue_object)
{
    if (queue_object != NULL && usm_place_reaches(usmpy_queue_of(queue_object)->place, array->alloc)) {
        Py_SETREF(array->queue, Py_NewRef(queue_object));
    }
}

PyObject *usmpy_array_from_pointer(usmpy_state *state, PyObject *Py_UNUSED(type), PyObject *const *out)
{
    usmpy_claim claim;
    usmpy_deferred_poll();
    if (!Py_IS_TYPE(out[4], state->queue_type)) {
        return usmpy_wrong_type("queue", out[4], "a Queue is allowed");
    }
    claim.queue = out[4];
    claim.owner = usmpy_given(out[6]) ? out[6] : NULL;
    claim.dtype = usmpy_default_float(usmpy_queue_of(out[4])->device);
    claim.kind = -1;
    int readonly = usmpy_bool(out[7], 0, "from_pointer", "readonly");
    if (readonly < 0 || usmpy_parse_address(out[0], &claim.address) < 0 ||
        (claim.ndim = usmpy_parse_shape(out[1], claim.shape, "shape")) < 0 ||
        (usmpy_given(out[2]) && usmpy_dtype_convert(state, out[2], &claim.dtype) < 0) ||
        (usmpy_given(out[5]) && (claim.kind = usmpy_kind(out[5], -1)) < 0) ||
        usmpy_parse_strides(out[3], &claim) < 0) {
        return NULL;
    }
    claim.writable = readonly == 0;
    claim.usm = claim.ordered = false;
    claim.refusal = USM_VALUE;
    claim.how = "pointer";
    return (PyObject *)usmpy_array_of_claim(state, &claim);
}
