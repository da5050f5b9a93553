/* Pools: how much memory each holds, and what it gives back when. */
#include "sim.h"

sim_pool *sim_pool_new(int device, CUmemLocationType location, CUmemAllocationType type)
{
    sim_pool *pool = sim_new(SIM_POOL, sizeof *pool);
    pool->device = device;
    pool->location = location;
    pool->type = type;
    pool->access = 1u << device;
    return pool;
}

static void trim(sim_pool *pool, size_t keep)
{
    keep = keep > pool->used ? keep : pool->used;
    if (pool->reserved > keep) {
        sim.device[pool->device].used -= pool->reserved - keep;
        pool->reserved = keep;
    }
}

static void trim_one(sim_object *object, void *data)
{
    sim_pool *pool = (sim_pool *)object;
    (void)data;
    trim(pool, pool->threshold);
}

void sim_pools_trim(void)
{
    sim_each(SIM_POOL, trim_one, NULL);
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties)
{
    SIM_ENTER(cuMemPoolCreate);
    if (!sim.pools) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (out == NULL || properties == NULL || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE || properties->location.id < 0 ||
        properties->location.id >= sim.devices) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_lock();
    sim_pool *pool = sim_pool_new(properties->location.id, properties->location.type, properties->allocType);
    pool->limit = properties->maxSize;
    *out = (CUmemoryPool)pool;
    return sim_unlock(CUDA_SUCCESS);
}

static sim_pool *pool_of(CUmemoryPool handle)
{
    return sim_find(SIM_POOL, handle);
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    SIM_ENTER(cuMemPoolDestroy);
    sim_lock();
    sim_pool *pool = pool_of(handle);
    if (pool == NULL || pool == sim.device[pool->device].pool) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    pool->base.alive = false;
    trim(pool, 0);
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    SIM_ENTER(cuMemPoolTrimTo);
    sim_lock();
    sim_pool *pool = pool_of(handle);
    if (pool != NULL) {
        trim(pool, keep);
    }
    return sim_unlock(pool == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SIM_ENTER(cuMemPoolSetAttribute);
    CUresult code = CUDA_SUCCESS;
    sim_lock();
    sim_pool *pool = pool_of(handle);
    if (pool == NULL || value == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool->threshold = *(cuuint64_t *)value;
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            pool->reserved_high = pool->reserved;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            pool->used_high = pool->used;
            break;
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            break;
        default:
            code = CUDA_ERROR_INVALID_VALUE;
    }
    return sim_unlock(code);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SIM_ENTER(cuMemPoolGetAttribute);
    CUresult code = CUDA_SUCCESS;
    sim_lock();
    sim_pool *pool = pool_of(handle);
    if (pool == NULL || value == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            *(cuuint64_t *)value = pool->threshold;
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            *(cuuint64_t *)value = pool->reserved;
            break;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            *(cuuint64_t *)value = pool->reserved_high;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            *(cuuint64_t *)value = pool->used;
            break;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            *(cuuint64_t *)value = pool->used_high;
            break;
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            *(int *)value = 1;
            break;
        default:
            code = CUDA_ERROR_INVALID_VALUE;
    }
    return sim_unlock(code);
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t n)
{
    SIM_ENTER(cuMemPoolSetAccess);
    sim_lock();
    sim_pool *pool = pool_of(handle);
    CUresult code = pool == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        int device = map[i].location.id;
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || device < 0 || device >= sim.devices) {
            code = CUDA_ERROR_INVALID_VALUE;
        } else if (device != pool->device && !sim.peers) {
            code = CUDA_ERROR_INVALID_DEVICE;
        } else if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
            pool->access |= 1u << device;
        } else if (device == pool->device) {
            code = CUDA_ERROR_INVALID_DEVICE;
        } else {
            pool->access &= ~(1u << device);
        }
    }
    return sim_unlock(code);
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    SIM_ENTER(cuMemPoolGetAccess);
    sim_lock();
    sim_pool *pool = pool_of(handle);
    if (pool == NULL || location->id < 0 || location->id >= sim.devices) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *flags =
        pool->access >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return sim_unlock(CUDA_SUCCESS);
}
