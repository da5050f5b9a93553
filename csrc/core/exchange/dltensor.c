#include "dltensor.h"

#include "core/base/heap.h"
#include "core/base/live.h"
#include "core/device/rule.h"
#include "core/memory/reclaim.h"
#include "core/streams/lend.h"
#include "core/streams/stream.h"
#include "core/tasks/unretrieved.h"
#include "core/trace/trace.h"

/* The version that this file implements, which need not be the header's. */
#define VERSION_MAJOR 1
#define VERSION_MINOR 3

/* A tensor of either form and what its deleter needs; dims has the shape, then the strides. */
typedef struct export
{
    union {
        DLManagedTensorVersioned versioned;
        DLManagedTensor legacy;
    } managed; /* first: the consumer's pointer is ours */
    usm_alloc *alloc;
    void *stream; /* the consumer's; NULL: none, or none that was told */
    uint64_t id;  /* of the stream, as for usm_alloc_lend_ended */
    int64_t dims[];
}
export;

/* Any thread; the stream may be gone. */
static void end_export(export *export)
{
    usm_alloc *alloc = export->alloc;
    void *stream = export->stream;
    if (USM_UNLIKELY(stream != NULL)) {
        usm_device *device = alloc->place->device;
        usm_error error;
        if (export->id != 0 || !usm_alloc_has(alloc, USM_ALLOC_FOREIGN)) {
            usm_alloc_lend_ended(alloc, device, stream, export->id);
        } else if (usm_alloc_stream_retain(alloc, USM_READ_WRITE, device, stream, &error) != USM_OK) {
            usm_unretrieved_report_once(&error); /* the owner of the memory cannot be made to wait so */
            usm_alloc_lend_ended(alloc, device, stream, USM_STREAM_NO_ID);
        }
    }
    free(export);
    usm_live_add(USM_LIVE_EXPORT, -1);
    usm_alloc_release(alloc);
}

static void delete_versioned(DLManagedTensorVersioned *self)
{
    end_export((export *)self);
}

static void delete_legacy(DLManagedTensor *self)
{
    end_export((export *)self);
}

/*
 * The consumer's stream lives now. In one that is being captured nothing runs: the end of the export has
 * nothing to wait for there.
 */
static uint64_t identify(const usm_alloc *alloc, void **stream)
{
    usm_device *device = alloc->place->device;
    if (*stream == NULL || *stream == USM_STREAM_LEGACY || usm_is_forked(device->backend)) {
        return 0;
    }
    uint64_t id = USM_CALL(device->backend->native, stream_id)(device, *stream);
    if (id == 0 || id == USM_STREAM_IN_LEGACY) {
        *stream = id == 0 ? NULL : USM_STREAM_LEGACY;
        return 0;
    }
    usm_reclaim_stream_lives(device, *stream, id);
    return id;
}

/* NULL: memory ran out. In line, since it is most of what an export takes. */
static inline __attribute__((always_inline)) export *new_export(const usm_view *view, void *stream)
{
    export *export = usm_malloc(sizeof *export + 2 * (size_t)view->ndim * sizeof(int64_t));
    if (export != NULL) {
        export->alloc = view->alloc;
        export->id = identify(view->alloc, &stream);
        export->stream = stream;
    }
    return export;
}

static void fill(DLTensor *tensor, int64_t *dims, const usm_view *view, DLDevice device)
{
    size_t n = (size_t)view->ndim;
    usm_view own = *view;
    own.shape = dims;
    own.strides = dims + n;
    for (size_t i = 0; i < n; i++) {
        dims[i] = view->shape[i];
        dims[n + i] = view->strides[i];
    }
    usm_dltensor_fill(tensor, &own, device);
    usm_alloc_retain(view->alloc);
    usm_live_add(USM_LIVE_EXPORT, 1);
    if (USM_UNLIKELY(usm_trace_is_on())) {
        usm_trace_passing(USM_TRACE_EXPORT, view, "DLPack");
    }
}

DLManagedTensorVersioned *usm_export_versioned(const usm_view *view, DLDevice device, uint64_t flags,
                                               void *stream)
{
    export *export = new_export(view, stream);
    if (export == NULL) {
        return NULL;
    }
    DLManagedTensorVersioned *managed = &export->managed.versioned;
    managed->version.major = VERSION_MAJOR;
    managed->version.minor = VERSION_MINOR;
    managed->manager_ctx = export;
    managed->deleter = delete_versioned;
    managed->flags = flags;
    fill(&managed->dl_tensor, export->dims, view, device);
    return managed;
}

DLManagedTensor *usm_export_legacy(const usm_view *view, DLDevice device, void *stream)
{
    export *export = new_export(view, stream);
    if (export == NULL) {
        return NULL;
    }
    DLManagedTensor *managed = &export->managed.legacy;
    managed->manager_ctx = export;
    managed->deleter = delete_legacy;
    fill(&managed->dl_tensor, export->dims, view, device);
    return managed;
}

void usm_export_in_queue(DLManagedTensorVersioned *tensor, usm_queue *queue)
{
    ((export *)tensor)->stream = usm_queue_stream(queue);
}

bool usm_export_is_ours(const DLManagedTensorVersioned *versioned, const DLManagedTensor *legacy)
{
    return versioned != NULL ? versioned->deleter == delete_versioned : legacy->deleter == delete_legacy;
}

static usm_status refuse_dtype(const DLDataType *type, usm_error *error)
{
    return usm_error_set(
        error, USM_BUFFER,
        "the DLPack type (code %u, bits %u, lanes %u) is not supported; one lane of bool 8, int and uint 8 "
        "to 64, float 16 to 64, complex 32 to 128, bfloat 16, float8, float6 and float4 are allowed",
        type->code, type->bits, type->lanes);
}

usm_status usm_dltensor_check(const DLTensor *tensor, uint64_t flags, usm_dtype *dtype, usm_error *error)
{
    *dtype = usm_dtype_from_dlpack(tensor->dtype.code, tensor->dtype.bits);
    if (USM_UNLIKELY(*dtype == USM_NO_DTYPE || tensor->dtype.lanes != 1)) {
        return refuse_dtype(&tensor->dtype, error);
    }
    if (USM_UNLIKELY(usm_dtype_is_packed(*dtype) &&
                     (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0)) {
        return usm_error_set(error, USM_BUFFER,
                             "the elements of type %s are padded to whole bytes; packed elements are allowed",
                             usm_dtype_table[*dtype].name);
    }
    if (USM_UNLIKELY(tensor->ndim < 0 || tensor->ndim > USM_MAX_NDIM)) {
        return usm_error_set(error, USM_BUFFER, "the tensor has %d dimensions; 0 to %d are allowed",
                             tensor->ndim, USM_MAX_NDIM);
    }
    if (USM_UNLIKELY(tensor->ndim > 0 && tensor->shape == NULL)) {
        return usm_error_set(
            error, USM_BUFFER,
            "ndim of the tensor is %d and its shape is NULL; a shape of that length is needed", tensor->ndim);
    }
    return USM_OK;
}

static usm_status check_packed(const DLTensor *tensor, const int64_t *strides, int64_t size, usm_error *error)
{
    int64_t compact[USM_MAX_NDIM];
    usm_layout_compact(tensor->ndim, tensor->shape, 'C', compact);
    for (int i = 0; i < tensor->ndim; i++) {
        if (size > 0 && tensor->shape[i] > 1 && strides[i] != compact[i]) {
            return usm_error_set(error, USM_BUFFER, "packed elements must be contiguous and row-major");
        }
    }
    return USM_OK;
}

/*
 * Strides that are too large for bytes, as producers tell negative ones that divide bytes as an unsigned
 * number (CuPy 14): product by product, modulo 2**64, they are right. False where there are none.
 */
static bool wrap_strides(int ndim, int64_t *strides, int itemsize)
{
    bool wraps = false;
    for (int i = 0; i < ndim; i++) {
        int64_t nbytes;
        if (__builtin_mul_overflow(strides[i], itemsize, &nbytes)) {
            wraps = true;
            strides[i] = nbytes / itemsize; /* the low 64 bits; types have powers of two as sizes */
        }
    }
    return wraps;
}

usm_status usm_dltensor_refuse(const DLTensor *tensor, usm_error *error)
{
    char shape[300], strides[300] = "compact";
    usm_layout_text(tensor->ndim, tensor->shape, shape, sizeof shape);
    for (int i = 0; i < tensor->ndim; i++) {
        if (tensor->shape[i] < 0) {
            return usm_error_set(error, USM_BUFFER, "the tensor's shape %s has a negative length", shape);
        }
    }
    if (tensor->strides != NULL) {
        usm_layout_text(tensor->ndim, tensor->strides, strides, sizeof strides);
    }
    return usm_error_set(error, USM_BUFFER,
                         "the tensor's elements, of shape %s and strides %s, reach beyond any address", shape,
                         strides);
}

usm_status usm_dltensor_layout(const DLTensor *tensor, usm_dtype dtype, int64_t *shape, int64_t *strides,
                               int64_t *low, int64_t *high, bool *wraps, usm_error *error)
{
    int ndim = tensor->ndim;
    int64_t size = 1;
    int itemsize = usm_dtype_table[dtype].itemsize;
    *wraps = false;
    if (USM_LIKELY(ndim == 1 && tensor->shape[0] > 0 && tensor->shape[0] < INT32_MAX &&
                   (intptr_t)tensor->data > 0 && tensor->byte_offset == 0 && !usm_dtype_is_packed(dtype) &&
                   (tensor->strides == NULL || tensor->strides[0] == 1))) {
        shape[0] = tensor->shape[0]; /* a compact vector: nothing below could find fault with it */
        strides[0] = 1;
        *low = 0;
        *high = shape[0] * itemsize;
        return USM_OK;
    }
    bool empty = false, overflow = false;
    for (int i = 0; i < ndim; i++) {
        int64_t length = tensor->shape[i];
        shape[i] = length;
        if (USM_UNLIKELY(length < 0)) {
            goto impossible;
        }
        empty = empty || length == 0;
        overflow = overflow || __builtin_mul_overflow(size, length, &size);
    }
    int64_t nbytes;
    overflow = overflow || __builtin_mul_overflow(size, itemsize, &nbytes);
    if (USM_UNLIKELY(overflow && !empty)) { /* no elements take no bytes, however long the other axes are */
        goto impossible;
    }
    size = empty ? 0 : size;
    if (USM_LIKELY(tensor->strides != NULL)) {
        for (int i = 0; i < ndim; i++) {
            strides[i] = tensor->strides[i];
        }
    } else {
        usm_layout_compact(ndim, shape, 'C', strides);
    }
    if (USM_UNLIKELY(size > 0 && tensor->data == NULL)) {
        return usm_error_set(error, USM_BUFFER, "the tensor has elements and no data pointer");
    }
    uintptr_t first;
    if (USM_UNLIKELY(tensor->byte_offset > INT64_MAX ||
                     __builtin_add_overflow((uintptr_t)tensor->data, tensor->byte_offset, &first))) {
        return usm_error_set(error, USM_BUFFER, "the tensor's byte_offset is %llu, beyond any address",
                             (unsigned long long)tensor->byte_offset);
    }
    if (usm_dtype_is_packed(dtype)) {
        usm_status status = check_packed(tensor, strides, size, error);
        if (status != USM_OK) {
            return status;
        }
    }
    if (USM_LIKELY(usm_dtype_span(dtype, ndim, shape, strides, size, (void *)first, low, high))) {
        return USM_OK;
    }
    *wraps = wrap_strides(ndim, strides, itemsize);
    if (*wraps && usm_dtype_span(dtype, ndim, shape, strides, size, (void *)first, low, high)) {
        return USM_OK;
    }
impossible:
    return usm_dltensor_refuse(tensor, error);
}
