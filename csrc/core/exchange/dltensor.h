/* DLPack tensors over allocations: how one is filled, how a foreign one is checked. Pure C (dlpack.h 1.3). */
#ifndef USM_CORE_DLTENSOR_H
#define USM_CORE_DLTENSOR_H

#include "core/copy/copy.h"
#include "core/memory/alloc.h"

#include <dlpack/dlpack.h>

#if DLPACK_MAJOR_VERSION != 1 || DLPACK_MINOR_VERSION < 3
#error "usmpy needs dlpack/dlpack.h of version 1.3 or later: the C exchange table came with it"
#endif

/*
 * Fills a tensor that borrows shape and strides from the view. The pointer is the first element, byte_offset
 * 0, as all peers do (docs/design.md, "The exchange").
 */
static inline void usm_dltensor_fill(DLTensor *tensor, const usm_view *view, DLDevice device)
{
    const usm_dtype_info *info = &usm_dtype_table[view->dtype];
    tensor->data = view->data;
    tensor->device = device;
    tensor->ndim = view->ndim;
    tensor->dtype = (DLDataType){info->code, info->bits, 1};
    tensor->shape = (int64_t *)view->shape;
    tensor->strides = (int64_t *)view->strides;
    tensor->byte_offset = 0;
}

/*
 * A tensor with a life of its own: one block with shape and strides, and a count of the allocation. Its
 * deleter runs on any thread, without the GIL and after the interpreter. Where `stream` is not NULL, the
 * consumer works in it (stream.h), and the memory is held until what is enqueued there when the deleter runs
 * has ended. The stream must live at the export; the deleter does not touch it. NULL when memory ran out.
 */
DLManagedTensorVersioned *usm_export_versioned(const usm_view *view, DLDevice device, uint64_t flags,
                                               void *stream);
/* The consumer works in the stream of this queue, which is immortal. The tensor was exported without one. */
void usm_export_in_queue(DLManagedTensorVersioned *tensor, struct usm_queue *queue);
DLManagedTensor *usm_export_legacy(const usm_view *view, DLDevice device, void *stream);

/*
 * Checks a foreign tensor before it is used: USM_BUFFER, with the reason, for lanes other than 1, unknown
 * types, padded or strided sub-byte elements, more than 64 dimensions, missing pointers, sizes that overflow.
 */
usm_status usm_dltensor_check(const DLTensor *tensor, uint64_t flags, usm_dtype *dtype, usm_error *error);
/*
 * Writes its layout into shape and strides of tensor->ndim each; NULL strides are row-major. [*low, *high)
 * are the bytes that the elements span, relative to the first. *wraps: strides were reduced modulo 2**64
 * bytes (CuPy's negative strides). That is right only if all elements are in the allocation: a caller that
 * does not know its bounds must refuse the tensor (usm_dltensor_refuse).
 */
usm_status usm_dltensor_layout(const DLTensor *tensor, usm_dtype dtype, int64_t *shape, int64_t *strides,
                               int64_t *low, int64_t *high, bool *wraps, usm_error *error);
/* USM_BUFFER: the shape and strides are those of no array. */
usm_status usm_dltensor_refuse(const DLTensor *tensor, usm_error *error);

/* The first element. An empty tensor may have any offset from NULL, which C does not allow of pointers. */
static inline char *usm_dltensor_first(const DLTensor *tensor)
{
    return (char *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset);
}

/* Whether the deleter of a tensor, of either form, is one of ours: it needs no Python. */
bool usm_export_is_ours(const DLManagedTensorVersioned *versioned, const DLManagedTensor *legacy);

#endif
