/* Allocations of all kinds, and what is known about an address. */
#include "sim.h"

#include "arena.h"

#define FRESH 0xCB /* the bytes of new memory, so that a test that relies on zeros fails */
#define FRESH_UP_TO (256u << 10)

static sim_arena device_arena[SIM_DEVICES], managed_arena, pinned_arena;
static sim_block **blocks; /* sorted by start */
static size_t n_blocks, room;
static size_t pinned_used;
static sim_map *map; /* NULL: blocks have changed since */

void sim_memory_start(void)
{
    size_t size = sim.total * 2 + (16UL << 30);
    for (int i = 0; i < sim.devices; i++) {
        sim_arena_start(&device_arena[i], size, true);
    }
    sim_arena_start(&managed_arena, size, false);
    sim_arena_start(&pinned_arena, size, false);
}

/* The number of blocks that start at or before the address. */
static size_t blocks_until(uintptr_t address)
{
    size_t low = 0, high = n_blocks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle]->start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

sim_block *sim_block_at(uintptr_t address)
{
    size_t until = blocks_until(address);
    sim_block *block = until > 0 ? blocks[until - 1] : NULL;
    return block != NULL && address < block->start + block->size ? block : NULL;
}

static bool in_arena(const sim_arena *arena, uintptr_t address)
{
    return address >= arena->start && address < arena->start + arena->size;
}

static bool is_ours(uintptr_t address)
{
    for (int i = 0; i < sim.devices; i++) {
        if (in_arena(&device_arena[i], address)) {
            return true;
        }
    }
    return in_arena(&managed_arena, address) || in_arena(&pinned_arena, address) || sim_is_virtual(address);
}

CUresult sim_place(uintptr_t address, size_t size, char **out, sim_block **found)
{
    sim_block *block = *found = sim_block_at(address);
    if (block == NULL && (address == 0 || is_ours(address))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (block != NULL && size > block->start + block->size - address) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = (char *)address + (block != NULL ? block->shadow : 0);
    return CUDA_SUCCESS;
}

void sim_blocks_changed(void)
{
    if (map != NULL) {
        sim_map_drop(map);
        map = NULL;
    }
}

sim_map *sim_map_take(void)
{
    if (map == NULL) {
        map = malloc(sizeof *map + n_blocks * sizeof *map->blocks);
        map->refs = 1;
        map->n = n_blocks;
        for (size_t i = 0; i < n_blocks; i++) {
            map->blocks[i] = *blocks[i];
        }
    }
    map->refs++;
    return map;
}

void sim_map_drop(sim_map *dropped)
{
    if (--dropped->refs == 0) {
        free(dropped);
    }
}

void sim_block_add(const sim_block *block)
{
    sim_block *own = malloc(sizeof *own);
    *own = *block;
    if (n_blocks == room) {
        room = room == 0 ? 64 : room * 2;
        blocks = realloc(blocks, room * sizeof *blocks);
    }
    size_t index = blocks_until(own->start);
    memmove(&blocks[index + 1], &blocks[index], (n_blocks - index) * sizeof *blocks);
    blocks[index] = own;
    n_blocks++;
    sim_blocks_changed();
}

void sim_block_drop(sim_block *block)
{
    size_t index = blocks_until(block->start) - 1;
    memmove(&blocks[index], &blocks[index + 1], (n_blocks - index - 1) * sizeof *blocks);
    n_blocks--;
    sim_blocks_changed();
    free(block);
}

static sim_block *block_new(sim_arena *arena, size_t size, CUmemorytype type, int device)
{
    uintptr_t at = sim_arena_take(arena, size);
    if (at == 0) {
        return NULL;
    }
    sim_block_add(&(sim_block){.start = at,
                               .size = size,
                               .shadow = arena->shadow,
                               .type = type,
                               .device = device,
                               .id = sim_next_id()});
    memset((char *)at + arena->shadow, FRESH, size < FRESH_UP_TO ? size : FRESH_UP_TO);
    return sim_block_at(at);
}

void sim_block_free(sim_block *block)
{
    sim_arena *arena = block->managed                      ? &managed_arena
                       : block->type == CU_MEMORYTYPE_HOST ? &pinned_arena
                                                           : &device_arena[block->device];
    if (block->pool != NULL) {
        block->pool->used -= block->size;
    } else if (arena == &pinned_arena) {
        pinned_used -= block->size;
    } else {
        sim.device[block->device].used -= block->size;
    }
    sim_arena_give(arena, block->start, block->size);
    sim_block_drop(block);
}

void sim_blocks_of(sim_context *context, size_t *count, size_t *bytes)
{
    for (size_t i = 0; i < n_blocks; i++) {
        if (!blocks[i]->of_module && blocks[i]->physical == NULL &&
            (context == NULL || blocks[i]->context == context)) {
            *count += 1;
            *bytes += blocks[i]->size;
        }
    }
}

sim_block *sim_block_for_module(sim_context *context, size_t size)
{
    sim_block *block = block_new(&device_arena[context->device], size, CU_MEMORYTYPE_DEVICE, context->device);
    if (block != NULL) {
        block->context = context;
        block->of_module = true;
        sim.device[context->device].used += size;
    }
    return block;
}

/* Of the device's own or managed memory. */
static CUresult take(sim_context *context, size_t size, bool managed, CUdeviceptr *out)
{
    sim_device *device = &sim.device[context->device];
    CUresult code = sim_capture_unsafe();
    if (code != CUDA_SUCCESS) {
        return code;
    }
    if (out == NULL || size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (size > sim.total - device->used) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_arena *arena = managed ? &managed_arena : &device_arena[context->device];
    sim_block *block = block_new(arena, size, CU_MEMORYTYPE_DEVICE, context->device);
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->context = context;
    block->managed = managed;
    device->used += size;
    *out = block->start;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t size)
{
    SIM_ENTER_CURRENT(cuMemAlloc, context);
    return sim_unlock(take(context, size, false, out));
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t size, unsigned flags)
{
    SIM_ENTER_CURRENT(cuMemAllocManaged, context);
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    return sim_unlock(take(context, size, true, out));
}

static CUresult take_pinned(sim_context *context, void **out, size_t size, unsigned flags)
{
    CUresult code = sim_capture_unsafe();
    if (code != CUDA_SUCCESS) {
        return code;
    }
    if (out == NULL || size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_wait_alone(context);
    sim_block *block = NULL;
    if (size <= sim.total - pinned_used) {
        block = block_new(&pinned_arena, size, CU_MEMORYTYPE_HOST, context->device);
    }
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->context = context;
    block->flags = flags;
    pinned_used += size;
    *out = (void *)block->start;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    SIM_ENTER_CURRENT(cuMemHostAlloc, context);
    return sim_unlock(take_pinned(context, out, size, flags));
}

CUresult cuMemAllocHost(void **out, size_t size)
{
    SIM_ENTER_CURRENT(cuMemAllocHost, context);
    return sim_unlock(take_pinned(context, out, size, 0));
}

/* Waits for all work of the block's context, as the driver does, then frees. */
static CUresult give(uintptr_t address, bool pinned)
{
    CUresult code = sim_capture_unsafe();
    if (code != CUDA_SUCCESS) {
        return code;
    }
    sim_block *block = sim_block_at(address);
    if (block == NULL || block->start != address || block->freeing || block->physical != NULL ||
        (block->type == CU_MEMORYTYPE_HOST) != pinned) {
        if (block == NULL && is_ours(address)) {
            sim_misused("%#zx was freed, and is no allocation: freed before?", (size_t)address);
        }
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_context *context = block->context;
    block->freeing = true;
    sim_wait_alone(context);
    sim_block_free(block);
    return (CUresult)context->sticky;
}

CUresult cuMemFree(CUdeviceptr address)
{
    SIM_ENTER_CURRENT(cuMemFree, context);
    return sim_unlock(address == 0 ? CUDA_SUCCESS : give(address, false));
}

CUresult cuMemFreeHost(void *pointer)
{
    SIM_ENTER_CURRENT(cuMemFreeHost, context);
    return sim_unlock(give((uintptr_t)pointer, true));
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *pointer, unsigned flags)
{
    SIM_ENTER_CURRENT(cuMemHostGetDevicePointer, context);
    sim_block *block = sim_block_at((uintptr_t)pointer);
    if (block == NULL || block->type != CU_MEMORYTYPE_HOST || flags != 0) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *out = (CUdeviceptr)(uintptr_t)pointer;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned *flags, void *pointer)
{
    SIM_ENTER_CURRENT(cuMemHostGetFlags, context);
    sim_block *block = sim_block_at((uintptr_t)pointer);
    if (block == NULL || block->type != CU_MEMORYTYPE_HOST) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemGetInfo(size_t *free, size_t *total)
{
    SIM_ENTER_CURRENT(cuMemGetInfo, context);
    *total = sim.total;
    *free = sim.total - sim.device[context->device].used;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    SIM_ENTER_CURRENT(cuMemGetAddressRange, context);
    sim_block *block = sim_block_at(address);
    if (block == NULL || block->freeing) {
        return sim_unlock(CUDA_ERROR_NOT_FOUND);
    }
    if (base != NULL) {
        *base = block->start;
    }
    if (size != NULL) {
        *size = block->size;
    }
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemAdvise(CUdeviceptr address, size_t size, CUmem_advise advice,
#if CUDA_VERSION >= 13000
                     CUmemLocation location
#else
                     CUdevice location
#endif
)
{
    SIM_ENTER_CURRENT(cuMemAdvise, context);
    sim_block *block = sim_block_at(address);
    (void)size;
    (void)advice;
    (void)location;
    return sim_unlock(block != NULL && block->managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* Memory in the order of streams. */
static CUresult take_pooled(sim_pool *pool, size_t size, CUstream handle, sim_context *context,
                            CUdeviceptr *out)
{
    sim_stream *stream;
    CUresult code = sim_stream_of(handle, context, &stream);
    if (code != CUDA_SUCCESS) {
        return code;
    }
    if (out == NULL || size == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->capture != NULL) {
        sim_capture_invalidate(stream);
        return CUDA_ERROR_NOT_SUPPORTED; /* memory nodes: not here */
    }
    sim_device *device = &sim.device[pool->device];
    size_t more = pool->used + size > pool->reserved ? pool->used + size - pool->reserved : 0;
    if (more > sim.total - device->used || (pool->limit != 0 && pool->used + size > pool->limit)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_block *block = block_new(&device_arena[pool->device], size, CU_MEMORYTYPE_DEVICE, pool->device);
    if (block == NULL) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    block->pool = pool;
    pool->used += size;
    pool->reserved += more;
    device->used += more;
    pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    pool->reserved_high = pool->reserved > pool->reserved_high ? pool->reserved : pool->reserved_high;
    *out = block->start;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemAllocFromPoolAsync, context);
    sim_pool *pool = sim_find(SIM_POOL, handle);
    return sim_unlock(pool == NULL ? CUDA_ERROR_INVALID_VALUE
                                   : take_pooled(pool, size, stream, context, out));
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
    SIM_ENTER_CURRENT(cuMemAllocAsync, context);
    return sim_unlock(!sim.pools ? CUDA_ERROR_NOT_SUPPORTED
                                 : take_pooled(sim.device[context->device].pool, size, stream, context, out));
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    SIM_ENTER_CURRENT(cuMemFreeAsync, context);
    sim_stream *stream;
    CUresult code = sim_stream_of(handle, context, &stream);
    if (code != CUDA_SUCCESS || address == 0) {
        return sim_unlock(code);
    }
    sim_block *block = sim_block_at(address);
    if (block == NULL || block->start != address || block->freeing || block->type == CU_MEMORYTYPE_HOST ||
        block->managed || block->physical != NULL) {
        if (block == NULL && is_ours(address)) {
            sim_misused("%#zx was freed, and is no allocation: freed before?", (size_t)address);
        } else if (block != NULL && block->freeing) {
            sim_misused("%#zx was freed twice", (size_t)address);
        }
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    sim_op op = {.kind = OP_FREE, .u.freed = address};
    code = sim_submit(stream, &op, NULL);
    block->freeing = code == CUDA_SUCCESS;
    return sim_unlock(code);
}

/* One attribute; false: there is no such. An unknown pointer has none of the values. */
static bool attribute_of(const sim_block *block, CUpointer_attribute attribute, uintptr_t address, void *out)
{
    bool known = block != NULL, device = known && block->type == CU_MEMORYTYPE_DEVICE;
    switch ((int)attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *(CUcontext *)out = known ? (CUcontext)block->context : NULL;
            return true;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(unsigned *)out = known ? block->type : 0;
            return true;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *)out = known ? address : 0;
            return true;
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *(void **)out = known && (!device || block->managed) ? (void *)address : NULL;
            return true;
        case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
            *(unsigned *)out = 0;
            return true;
        case CU_POINTER_ATTRIBUTE_BUFFER_ID:
            *(unsigned long long *)out = known ? block->id : 0;
            return true;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *(unsigned *)out = known && block->managed;
            return true;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)out = known ? block->device : -2;
            return true;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *)out = known ? block->start : 0;
            return true;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *)out = known ? block->size : 0;
            return true;
        case CU_POINTER_ATTRIBUTE_MAPPED:
            *(unsigned *)out = known;
            return true;
        case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            *(unsigned *)out = !known ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
                               : sim_block_allows(block, block->device, true)
                                   ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                                   : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ;
            return true;
        case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
            *(CUmemoryPool *)out = known ? (CUmemoryPool)block->pool : NULL;
            return true;
        default:
            return false;
    }
}

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr address)
{
    SIM_ENTER_CURRENT(cuPointerGetAttribute, context);
    sim_block *block = sim_block_at(address);
    bool valid = block != NULL && !block->freeing && attribute_of(block, attribute, address, out);
    return sim_unlock(valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **out, CUdeviceptr address)
{
    SIM_ENTER_CURRENT(cuPointerGetAttributes, context);
    sim_block *block = sim_block_at(address);
    bool valid = true;
    for (unsigned i = 0; i < n; i++) {
        valid &= attribute_of(block != NULL && block->freeing ? NULL : block, attributes[i], address, out[i]);
    }
    return sim_unlock(valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}
