/* Copies and fills. Pageable memory of the host is copied as the driver copies it: see submit_copy. */
#include "sim.h"

/* Pageable memory up to this many bytes is read before the call returns; more, and the call waits. */
#define STAGED 65536

/*
 * Copies to pageable memory return when they are done, copies from it when it was read: small ones at once,
 * into a staging buffer, others at their end. In a graph both are read and written when it runs.
 */
static CUresult submit_copy(sim_stream *stream, sim_copy *copy, bool from_pageable, bool to_pageable)
{
    bool wait = stream->capture == NULL && (to_pageable || from_pageable);
    bool flat = copy->rows == 1 && copy->layers == 1;
    if (wait && !to_pageable && flat && copy->width <= STAGED) {
        copy->staged = malloc(copy->width);
        memcpy(copy->staged, copy->from, copy->width);
        copy->from = copy->staged;
        wait = false;
    }
    sim_op op = {.kind = OP_COPY, .u.copy = *copy};
    sim_point at;
    CUresult code = sim_submit(stream, &op, &at);
    if (code != CUDA_SUCCESS) {
        free(copy->staged);
    } else if (wait) {
        code = sim_wait(&at);
    }
    return code;
}

/* One side of a copy: what the user named must be what it is said to be. */
typedef enum sim_side { SIDE_ANY, SIDE_HOST, SIDE_DEVICE } sim_side;

static CUresult find_side(uintptr_t address, size_t size, sim_side side, int device, bool writes, char **out,
                          bool *pageable)
{
    sim_block *block;
    CUresult code = sim_place(address, size, out, &block);
    *pageable = block == NULL;
    if (code == CUDA_SUCCESS &&
        ((side == SIDE_DEVICE && block == NULL) ||
         (block != NULL && (block->freeing || !sim_block_allows(block, device, writes))))) {
        code = CUDA_ERROR_INVALID_VALUE;
    }
    return code;
}

static CUresult copy_flat(uintptr_t to, sim_side to_side, uintptr_t from, sim_side from_side, size_t size,
                          CUstream handle, sim_context *context, bool wait)
{
    sim_stream *stream;
    sim_copy copy = {.width = size, .rows = 1, .layers = 1};
    char *from_place = NULL;
    bool to_pageable = false, from_pageable = false;
    CUresult code = sim_stream_of(handle, context, &stream);
    if (code == CUDA_SUCCESS && wait) {
        code = sim_capture_unsafe();
    }
    if (code != CUDA_SUCCESS || size == 0) {
        return code;
    }
    code = find_side(to, size, to_side, stream->context->device, true, &copy.to, &to_pageable);
    if (code == CUDA_SUCCESS) {
        code = find_side(from, size, from_side, stream->context->device, false, &from_place, &from_pageable);
        copy.from = from_place;
    }
    if (code == CUDA_SUCCESS) {
        code = submit_copy(stream, &copy, from_pageable || wait, to_pageable);
    }
    if (code == CUDA_SUCCESS && wait) {
        sim_point end = {.stream = stream, .at = stream->submitted};
        code = sim_wait(&end);
    }
    return code;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    SIM_ENTER_CURRENT(cuMemcpy, context);
    return sim_unlock(copy_flat(to, SIDE_ANY, from, SIDE_ANY, size, NULL, context, true));
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t size)
{
    SIM_ENTER_CURRENT(cuMemcpyHtoD, context);
    return sim_unlock(copy_flat(to, SIDE_DEVICE, (uintptr_t)from, SIDE_HOST, size, NULL, context, true));
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t size)
{
    SIM_ENTER_CURRENT(cuMemcpyDtoH, context);
    return sim_unlock(copy_flat((uintptr_t)to, SIDE_HOST, from, SIDE_DEVICE, size, NULL, context, true));
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t size)
{
    SIM_ENTER_CURRENT(cuMemcpyDtoD, context);
    return sim_unlock(copy_flat(to, SIDE_DEVICE, from, SIDE_DEVICE, size, NULL, context, true));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpyAsync, context);
    return sim_unlock(copy_flat(to, SIDE_ANY, from, SIDE_ANY, size, stream, context, false));
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpyHtoDAsync, context);
    return sim_unlock(copy_flat(to, SIDE_DEVICE, (uintptr_t)from, SIDE_HOST, size, stream, context, false));
}

CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpyDtoHAsync, context);
    return sim_unlock(copy_flat((uintptr_t)to, SIDE_HOST, from, SIDE_DEVICE, size, stream, context, false));
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpyDtoDAsync, context);
    return sim_unlock(copy_flat(to, SIDE_DEVICE, from, SIDE_DEVICE, size, stream, context, false));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_handle, CUdeviceptr from, CUcontext from_handle,
                           size_t size, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpyPeerAsync, context);
    sim_context *to_context = sim_find(SIM_CONTEXT, to_handle),
                *from_context = sim_find(SIM_CONTEXT, from_handle);
    if (to_context == NULL || from_context == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_CONTEXT);
    }
    sim_block *to_block = sim_block_at(to), *from_block = sim_block_at(from);
    if ((to_block != NULL && to_block->type == CU_MEMORYTYPE_DEVICE &&
         to_block->device != to_context->device) ||
        (from_block != NULL && from_block->type == CU_MEMORYTYPE_DEVICE &&
         from_block->device != from_context->device)) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    return sim_unlock(copy_flat(to, SIDE_ANY, from, SIDE_ANY, size, stream, context, false));
}

/* One side of a copy of rows. */
static CUresult find_rows(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                          size_t z, size_t pitch, size_t height, const sim_copy *copy, int used_by,
                          bool writes, char **out, size_t *layer, bool *pageable)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    *layer = pitch * (height != 0 ? height : copy->rows);
    if ((copy->rows > 1 || copy->layers > 1) && pitch < copy->width + x) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    uintptr_t start = (type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device) + x + y * pitch + z * *layer;
    size_t size = (copy->layers - 1) * *layer + (copy->rows - 1) * pitch + copy->width;
    return find_side(start, size, type == CU_MEMORYTYPE_DEVICE ? SIDE_DEVICE : SIDE_ANY, used_by, writes, out,
                     pageable);
}

static CUresult copy_rows(const CUDA_MEMCPY3D *what, CUstream handle, sim_context *context)
{
    sim_stream *stream;
    sim_copy copy = {.width = what->WidthInBytes,
                     .rows = what->Height,
                     .layers = what->Depth,
                     .to_pitch = what->dstPitch,
                     .from_pitch = what->srcPitch};
    char *from = NULL;
    bool to_pageable, from_pageable;
    CUresult code = sim_stream_of(handle, context, &stream);
    if (code != CUDA_SUCCESS || copy.width * copy.rows * copy.layers == 0) {
        return code;
    }
    code = find_rows(what->dstMemoryType, what->dstHost, what->dstDevice, what->dstXInBytes, what->dstY,
                     what->dstZ, what->dstPitch, what->dstHeight, &copy, stream->context->device, true,
                     &copy.to, &copy.to_layer, &to_pageable);
    if (code == CUDA_SUCCESS) {
        code = find_rows(what->srcMemoryType, what->srcHost, what->srcDevice, what->srcXInBytes, what->srcY,
                         what->srcZ, what->srcPitch, what->srcHeight, &copy, stream->context->device, false,
                         &from, &copy.from_layer, &from_pageable);
    }
    if (code == CUDA_SUCCESS) {
        copy.from = from;
        code = submit_copy(stream, &copy, from_pageable, to_pageable);
    }
    return code;
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpy3DAsync, context);
    return sim_unlock(copy_rows(copy, stream, context));
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemcpy2DAsync, context);
    CUDA_MEMCPY3D whole = {
        .srcXInBytes = copy->srcXInBytes,
        .srcY = copy->srcY,
        .srcMemoryType = copy->srcMemoryType,
        .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice,
        .srcPitch = copy->srcPitch,
        .dstXInBytes = copy->dstXInBytes,
        .dstY = copy->dstY,
        .dstMemoryType = copy->dstMemoryType,
        .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice,
        .dstPitch = copy->dstPitch,
        .WidthInBytes = copy->WidthInBytes,
        .Height = copy->Height,
        .Depth = 1,
    };
    return sim_unlock(copy_rows(&whole, stream, context));
}

static CUresult fill(CUdeviceptr to, size_t pitch, uint32_t value, size_t size, size_t width, size_t rows,
                     CUstream handle, sim_context *context)
{
    sim_stream *stream;
    sim_op op = {.kind = OP_SET, .u.set = {NULL, value, size, width, rows, pitch}};
    bool pageable;
    CUresult code = sim_stream_of(handle, context, &stream);
    if (code != CUDA_SUCCESS || width * rows == 0) {
        return code;
    }
    if (to % size != 0 || (rows > 1 && (pitch % size != 0 || pitch < width * size))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    code = find_side(to, (rows - 1) * pitch + width * size, SIDE_DEVICE, stream->context->device, true,
                     &op.u.set.to, &pageable);
    return code == CUDA_SUCCESS ? sim_submit(stream, &op, NULL) : code;
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t n)
{
    SIM_ENTER_CURRENT(cuMemsetD8, context);
    CUresult code = sim_capture_unsafe();
    return sim_unlock(code != CUDA_SUCCESS ? code : fill(to, 0, value, 1, n, 1, NULL, context));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemsetD8Async, context);
    return sim_unlock(fill(to, 0, value, 1, n, 1, stream, context));
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemsetD16Async, context);
    return sim_unlock(fill(to, 0, value, 2, n, 1, stream, context));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemsetD32Async, context);
    return sim_unlock(fill(to, 0, value, 4, n, 1, stream, context));
}

CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t rows,
                           CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemsetD2D8Async, context);
    return sim_unlock(fill(to, pitch, value, 1, width, rows, stream, context));
}

CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t rows,
                            CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemsetD2D16Async, context);
    return sim_unlock(fill(to, pitch, value, 2, width, rows, stream, context));
}

CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t rows,
                            CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemsetD2D32Async, context);
    return sim_unlock(fill(to, pitch, value, 4, width, rows, stream, context));
}
