/*
 * Virtual memory: allocations that other processes can have, reserved addresses, and mappings of the first to
 * the second. An allocation is a file in memory, with a head that says what it is; its descriptor is what
 * processes pass on.
 */
#include "sim.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULE ((size_t)2 << 20)
#define ADDRESSES ((size_t)256 << 30) /* handed out once each: what was freed is not used again */
#define HEAD ((off_t)4096)
#define FRESH ((size_t)256 << 10) /* bytes that are no zeros; the rest of the file takes no memory */
#define POSIX CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

typedef struct head {
    char magic[8];
    uint64_t size;
    int device;
} head;

static const char magic[8] = "cudasim";

struct sim_physical {
    sim_object base;
    int file, device;
    size_t size;
    unsigned handles, mappings;
    bool exports, created;
};

typedef struct reserved {
    struct reserved *next;
    uintptr_t start;
    size_t size;
} reserved;

static reserved *all_reserved;
static uintptr_t addresses, cursor;

bool sim_is_virtual(uintptr_t address)
{
    return addresses != 0 && address >= addresses && address < addresses + ADDRESSES;
}

static void count_physical(sim_object *object, void *bytes)
{
    *(size_t *)bytes += ((sim_physical *)object)->size;
}

void sim_virtual_counts(size_t *count, size_t *bytes)
{
    *count += sim_count(SIM_PHYSICAL);
    sim_each(SIM_PHYSICAL, count_physical, bytes);
    for (reserved *one = all_reserved; one != NULL; one = one->next) {
        *count += 1;
    }
}

static sim_physical *new_physical(int file, size_t size, int device)
{
    sim_physical *physical = sim_new(SIM_PHYSICAL, sizeof *physical);
    physical->file = file;
    physical->size = size;
    physical->device = device;
    physical->handles = 1;
    physical->exports = true;
    return physical;
}

static void drop(sim_physical *physical)
{
    if (physical->handles == 0 && physical->mappings == 0) {
        physical->base.alive = false;
        close(physical->file);
        sim.device[physical->device].used -= physical->created ? physical->size : 0;
    }
}

static bool is_device(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && location->id >= 0 && location->id < sim.devices;
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
    SIM_ENTER(cuMemGetAllocationGranularity);
    if (out == NULL || properties == NULL || !is_device(&properties->location) || (unsigned)option > 1) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *out = GRANULE;
    return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *properties)
{
    if (!sim.sharing) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (out == NULL || properties == NULL || size == 0 || size % GRANULE != 0 ||
        properties->type != CU_MEM_ALLOCATION_TYPE_PINNED || !is_device(&properties->location) ||
        (properties->requestedHandleTypes & ~POSIX) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int id = properties->location.id;
    if (size > sim.total - sim.device[id].used) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    head head = {.size = size, .device = id};
    static char fresh[FRESH];
    memcpy(head.magic, magic, sizeof magic);
    memset(fresh, 0xCB, sizeof fresh);
    int file = memfd_create("cudasim", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, HEAD + (off_t)size) != 0 ||
        pwrite(file, &head, sizeof head, 0) != sizeof head ||
        pwrite(file, fresh, sizeof fresh, HEAD) != sizeof fresh) {
        close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    sim_physical *physical = new_physical(file, size, id);
    physical->created = true;
    physical->exports = (properties->requestedHandleTypes & POSIX) != 0;
    sim.device[id].used += size;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)physical;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags)
{
    SIM_ENTER(cuMemCreate);
    sim_lock();
    return sim_unlock(flags != 0 ? CUDA_ERROR_INVALID_VALUE : create(out, size, properties));
}

static sim_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    sim_physical *physical = sim_find(SIM_PHYSICAL, (void *)(uintptr_t)handle);
    if (physical != NULL && physical->handles == 0) {
        sim_misused("the allocation %p was used after its release", (void *)physical);
        return NULL;
    }
    return physical;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    SIM_ENTER(cuMemRelease);
    sim_lock();
    sim_physical *physical = physical_of(handle);
    if (physical == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    physical->handles--;
    drop(physical);
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    SIM_ENTER(cuMemGetAllocationPropertiesFromHandle);
    sim_lock();
    sim_physical *physical = physical_of(handle);
    if (physical != NULL) {
        *out = (CUmemAllocationProp){
            .type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = physical->exports ? POSIX : CU_MEM_HANDLE_TYPE_NONE,
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = physical->device},
        };
    }
    return sim_unlock(physical != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    SIM_ENTER(cuMemExportToShareableHandle);
    sim_lock();
    sim_physical *physical = physical_of(handle);
    if (physical == NULL || out == NULL || type != POSIX || flags != 0 || !physical->exports) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *(int *)out = dup(physical->file);
    return sim_unlock(*(int *)out < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
                                        CUmemAllocationHandleType type)
{
    SIM_ENTER(cuMemImportFromShareableHandle);
    head head;
    int file = (int)(uintptr_t)handle;
    if (!sim.sharing) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (out == NULL || type != POSIX || pread(file, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.magic, magic, sizeof magic) != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || head.device >= sim.devices) {
        close(own);
        return own < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_DEVICE;
    }
    sim_lock();
    *out = (CUmemGenericAllocationHandle)(uintptr_t)new_physical(own, head.size, head.device);
    return sim_unlock(CUDA_SUCCESS);
}

static CUresult reserve(CUdeviceptr *out, size_t size)
{
    if (addresses == 0) {
        void *at = mmap(NULL, ADDRESSES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        addresses = (uintptr_t)at;
        cursor = (addresses + GRANULE - 1) / GRANULE * GRANULE;
    }
    if (size > addresses + ADDRESSES - cursor) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    reserved *one = malloc(sizeof *one);
    *one = (reserved){all_reserved, cursor, size};
    all_reserved = one;
    *out = cursor;
    cursor += size;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t alignment, CUdeviceptr wish,
                             unsigned long long flags)
{
    SIM_ENTER(cuMemAddressReserve);
    (void)wish;
    if (out == NULL || size == 0 || size % GRANULE != 0 || alignment > GRANULE || flags != 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_lock();
    return sim_unlock(reserve(out, size));
}

/* The mapping that has exactly this range. */
static sim_block *mapping_at(uintptr_t start, size_t size)
{
    sim_block *block = sim_block_at(start);
    return block != NULL && block->physical != NULL && block->start == start && block->size == size ? block
                                                                                                    : NULL;
}

CUresult cuMemAddressFree(CUdeviceptr start, size_t size)
{
    SIM_ENTER(cuMemAddressFree);
    sim_lock();
    for (reserved **at = &all_reserved; *at != NULL; at = &(*at)->next) {
        reserved *one = *at;
        if (one->start == start && one->size == size && mapping_at(start, size) == NULL) {
            *at = one->next;
            free(one);
            return sim_unlock(CUDA_SUCCESS);
        }
    }
    sim_misused("%#zx was given back, and is not reserved, or still mapped", (size_t)start);
    return sim_unlock(CUDA_ERROR_INVALID_VALUE);
}

static CUresult map(uintptr_t start, size_t size, sim_physical *physical)
{
    bool found = false;
    for (reserved *one = all_reserved; one != NULL; one = one->next) {
        found |= start >= one->start && size <= one->size && start - one->start <= one->size - size;
    }
    if (!found || size == 0 || size % GRANULE != 0 || size > physical->size || sim_block_at(start) != NULL) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    void *shadow = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, physical->file, HEAD);
    if (shadow == MAP_FAILED) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    physical->mappings++;
    sim_block_add(&(sim_block){.start = start,
                               .size = size,
                               .shadow = (ptrdiff_t)((uintptr_t)shadow - start),
                               .type = CU_MEMORYTYPE_DEVICE,
                               .device = physical->device,
                               .physical = physical,
                               .id = sim_next_id()});
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr start, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
    SIM_ENTER(cuMemMap);
    sim_lock();
    sim_physical *physical = physical_of(handle);
    return sim_unlock(physical == NULL || offset != 0 || flags != 0 ? CUDA_ERROR_INVALID_VALUE
                                                                    : map(start, size, physical));
}

/* Work that is pending there loses its memory at once, which ends the process. */
CUresult cuMemUnmap(CUdeviceptr start, size_t size)
{
    SIM_ENTER(cuMemUnmap);
    sim_lock();
    sim_block *block = mapping_at(start, size);
    if (block == NULL) {
        sim_misused("%#zx was unmapped, and is no mapping: unmapped before?", (size_t)start);
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    sim_physical *physical = block->physical;
    munmap((char *)start + block->shadow, size);
    sim_block_drop(block);
    physical->mappings--;
    drop(physical);
    return sim_unlock(CUDA_SUCCESS);
}

static CUresult set_access(sim_block *block, const CUmemAccessDesc *access)
{
    unsigned id = (unsigned)access->location.id, bit = 1u << id;
    if (!is_device(&access->location)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if ((int)id != block->device && !sim.peers) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    if (access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ && !sim.read_only) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    bool reads = access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    bool writes = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    block->readers = reads ? block->readers | bit : block->readers & ~bit;
    block->writers = writes ? block->writers | bit : block->writers & ~bit;
    sim_blocks_changed();
    return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr start, size_t size, const CUmemAccessDesc *access, size_t n)
{
    SIM_ENTER(cuMemSetAccess);
    sim_lock();
    sim_block *block = mapping_at(start, size);
    CUresult code = block == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        code = set_access(block, &access[i]);
    }
    return sim_unlock(code);
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    SIM_ENTER(cuMemGetAccess);
    sim_lock();
    sim_block *block = sim_block_at(address);
    if (block == NULL || block->physical == NULL || !is_device(location)) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    *flags = block->writers >> location->id & 1   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : block->readers >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                                  : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return sim_unlock(CUDA_SUCCESS);
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    SIM_ENTER(cuMemRetainAllocationHandle);
    sim_lock();
    sim_block *block = sim_block_at((uintptr_t)address);
    if (block == NULL || block->physical == NULL) {
        return sim_unlock(CUDA_ERROR_INVALID_VALUE);
    }
    block->physical->handles++;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)block->physical;
    return sim_unlock(CUDA_SUCCESS);
}
