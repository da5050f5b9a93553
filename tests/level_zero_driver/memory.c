/*
 * Memory of all kinds: pages of memfd files, so that another process can map them (ipc.c). Small allocations
 * share a file; large ones have their own. What is new holds a pattern, never zeros, in its first page.
 */
#include "driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define CHUNK ((size_t)64 << 20)
#define LARGE ((size_t)16 << 20)
#define MAX_ALIGNMENT ((size_t)2 << 20)
#define PATTERN 0xA5

typedef struct sim_chunk {
    struct sim_chunk *next;
    int fd;
    char *base;
    size_t size, cursor; /* everything behind the cursor is free */
    size_t n_live;
} sim_chunk;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static sim_chunk *chunks;
static sim_allocation *table; /* by address */
static size_t n_table, table_capacity;
static uint64_t last_id, host_used;

/* The first allocation that ends behind the address. */
static size_t place_of(const char *address)
{
    size_t low = 0, high = n_table;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].base + table[middle].size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static sim_allocation *find(const void *address)
{
    size_t i = place_of(address);
    return i < n_table && table[i].base <= (const char *)address ? &table[i] : NULL;
}

bool sim_find(const void *address, sim_allocation *out)
{
    pthread_mutex_lock(&lock);
    const sim_allocation *found = find(address);
    if (found != NULL)
        *out = *found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

void sim_check_range(ze_context_handle_t context, ze_device_handle_t device, const void *address, size_t size,
                     const char *function)
{
    sim_allocation a;
    if (!sim_find(address, &a))
        return; /* the host's own */
    if ((const char *)address + size > a.base + a.size)
        sim_misuse("%s: the range ends %zu bytes behind its allocation", function,
                   (size_t)((const char *)address + size - (a.base + a.size)));
    if (a.context != context)
        sim_misuse("%s: memory of another context", function);
    if (a.type == ZE_MEMORY_TYPE_DEVICE && !sim_peers(device, a.device))
        sim_misuse("%s: memory of a device that is no peer", function);
}

/* --- chunks; the lock is held ------------------------------------------------------------------------- */

static sim_chunk *chunk_map(int fd, size_t offset, size_t size)
{
    sim_chunk *chunk = calloc(1, sizeof(*chunk));
    if (chunk == NULL)
        return NULL;
    chunk->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)offset);
    if (chunk->base == MAP_FAILED) {
        free(chunk);
        return NULL;
    }
    chunk->fd = fd;
    chunk->size = size;
    chunk->next = chunks;
    chunks = chunk;
    return chunk;
}

static sim_chunk *chunk_new(size_t size)
{
    int fd = memfd_create("level-zero-sim", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    sim_chunk *chunk = ftruncate(fd, (off_t)size) == 0 ? chunk_map(fd, 0, size) : NULL;
    if (chunk == NULL)
        close(fd);
    return chunk;
}

static void chunk_free(sim_chunk *chunk)
{
    for (sim_chunk **at = &chunks; *at != NULL; at = &(*at)->next)
        if (*at == chunk) {
            *at = chunk->next;
            break;
        }
    munmap(chunk->base, chunk->size);
    close(chunk->fd);
    free(chunk);
}

static char *take(sim_chunk *chunk, size_t size, size_t alignment)
{
    uintptr_t at = ((uintptr_t)chunk->base + chunk->cursor + alignment - 1) & ~(uintptr_t)(alignment - 1);
    size_t offset = at - (uintptr_t)chunk->base;
    if (offset > chunk->size || chunk->size - offset < size)
        return NULL;
    chunk->cursor = offset + size;
    chunk->n_live++;
    return (char *)at;
}

static char *take_anywhere(size_t size, size_t alignment, sim_chunk **out)
{
    if (size < LARGE)
        for (sim_chunk *chunk = chunks; chunk != NULL; chunk = chunk->next) {
            char *at = chunk->size == CHUNK ? take(chunk, size, alignment) : NULL;
            if (at != NULL) {
                *out = chunk;
                return at;
            }
        }
    /* A chunk of the common size takes small ones too once it is empty: large ones are never as large. */
    size_t room = size < LARGE ? CHUNK : size + alignment + (size + alignment == CHUNK ? PAGE : 0);
    *out = chunk_new(room);
    return *out == NULL ? NULL : take(*out, size, alignment);
}

static void give_back(sim_chunk *chunk)
{
    if (--chunk->n_live > 0)
        return;
    chunk->cursor = 0;
    if (chunk->size != CHUNK)
        chunk_free(chunk);
}

static bool enter(const sim_allocation *allocation)
{
    if (n_table == table_capacity) {
        size_t capacity = table_capacity > 0 ? 2 * table_capacity : 64;
        sim_allocation *grown = realloc(table, capacity * sizeof(*table));
        if (grown == NULL)
            return false;
        table = grown;
        table_capacity = capacity;
    }
    size_t i = place_of(allocation->base);
    memmove(&table[i + 1], &table[i], (n_table - i) * sizeof(*table));
    table[i] = *allocation;
    table[i].id = ++last_id;
    n_table++;
    return true;
}

/* --- allocation --------------------------------------------------------------------------------------- */

static sim_kind kind_of(const sim_allocation *a)
{
    if (a->imported)
        return SIM_IPC_MEMORY;
    return a->type == ZE_MEMORY_TYPE_DEVICE   ? SIM_DEVICE_MEMORY
           : a->type == ZE_MEMORY_TYPE_SHARED ? SIM_SHARED_MEMORY
                                              : SIM_HOST_MEMORY;
}

/* Is the limit of one block lifted? */
static bool is_relaxed(const void *next)
{
    for (const ze_relaxed_allocation_limits_exp_desc_t *at = next; at != NULL; at = at->pNext)
        if (at->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC)
            return (at->flags & ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE) != 0;
    return false;
}

static ze_result_t allocate(ze_context_handle_t context, ze_device_handle_t device, ze_memory_type_t type,
                            size_t size, size_t alignment, const void *next, void **out)
{
    const sim_setup *setup = sim_settings();
    if (device != NULL && !sim_context_has(context, device))
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the device is not one of the context");
    if (device != NULL && sim_lost(device) != ZE_RESULT_SUCCESS)
        return sim_lost(device);
    if (size == 0)
        return sim_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "no bytes");
    if ((alignment & (alignment - 1)) != 0 || alignment > MAX_ALIGNMENT)
        return sim_fail(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT, "an alignment of %zu", alignment);
    if (size > setup->max_alloc_bytes && !is_relaxed(next))
        return sim_fail(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, "%zu bytes: more than maxMemAllocSize", size);
    const ze_result_t full =
        device == NULL ? ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    if (size > setup->memory_bytes)
        return sim_fail(full, "%zu bytes: more than there are", size);
    size_t rounded = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
    sim_allocation a = {.size = size, .type = type, .context = context, .device = device};
    ze_result_t result = full;
    pthread_mutex_lock(&lock);
    uint64_t used = device == NULL ? host_used : atomic_load(&device->root->used);
    if (used + rounded > setup->memory_bytes)
        goto done;
    a.base = take_anywhere(rounded, alignment < PAGE ? PAGE : alignment, &a.chunk);
    if (a.base == NULL)
        goto done;
    if (!enter(&a)) {
        give_back(a.chunk);
        goto done;
    }
    if (device == NULL)
        host_used += rounded;
    else
        atomic_fetch_add(&device->root->used, rounded);
    result = ZE_RESULT_SUCCESS;
done:
    pthread_mutex_unlock(&lock);
    if (result != ZE_RESULT_SUCCESS)
        return sim_fail(result, "%zu bytes of memory are not there", size);
    memset(a.base, PATTERN, size < PAGE ? size : PAGE);
    atomic_fetch_add(&context->children, 1);
    sim_born(kind_of(&a));
    *out = a.base;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                                        size_t size, size_t alignment, ze_device_handle_t device, void **out)
{
    SIM_ENTER(zeMemAllocDevice);
    return allocate(context, device, ZE_MEMORY_TYPE_DEVICE, size, alignment, desc->pNext, out);
}

ze_result_t ZE_APICALL zeMemAllocShared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                                        const ze_host_mem_alloc_desc_t *host, size_t size, size_t alignment,
                                        ze_device_handle_t device, void **out)
{
    (void)host;
    SIM_ENTER(zeMemAllocShared);
    return allocate(context, device, ZE_MEMORY_TYPE_SHARED, size, alignment, desc->pNext, out);
}

ze_result_t ZE_APICALL zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
                                      size_t size, size_t alignment, void **out)
{
    SIM_ENTER(zeMemAllocHost);
    return allocate(context, NULL, ZE_MEMORY_TYPE_HOST, size, alignment, desc->pNext, out);
}

ze_result_t sim_import(ze_context_handle_t context, ze_device_handle_t device, const sim_ipc *ipc, int fd,
                       void **out)
{
    sim_allocation a = {
        .size = ipc->size,
        .type = ZE_MEMORY_TYPE_DEVICE,
        .context = context,
        .device = device,
        .imported = true,
    };
    ze_result_t result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pthread_mutex_lock(&lock);
    size_t rounded = (ipc->size + PAGE - 1) & ~(size_t)(PAGE - 1);
    a.chunk = chunk_map(fd, ipc->offset, rounded);
    if (a.chunk == NULL)
        goto done;
    a.chunk->cursor = rounded;
    a.chunk->n_live = 1;
    a.base = a.chunk->base;
    if (!enter(&a)) {
        a.chunk->fd = -1; /* the caller's */
        chunk_free(a.chunk);
        goto done;
    }
    result = ZE_RESULT_SUCCESS;
done:
    pthread_mutex_unlock(&lock);
    if (result != ZE_RESULT_SUCCESS)
        return result;
    atomic_fetch_add(&context->children, 1);
    sim_born(SIM_IPC_MEMORY);
    *out = a.base;
    return ZE_RESULT_SUCCESS;
}

/* All open handles of an allocation have one descriptor. */
ze_result_t sim_export(ze_context_handle_t context, const void *address, sim_ipc *out)
{
    ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    sim_allocation *a = find(address);
    if (a == NULL || a->base != address || a->imported || a->type != ZE_MEMORY_TYPE_DEVICE ||
        a->context != context) {
        sim_fail(result, "handles are of device memory that this context has allocated");
        goto done;
    }
    if (a->exports == 0)
        a->exported = fcntl(a->chunk->fd, F_DUPFD_CLOEXEC, 0);
    if (a->exported < 0) {
        result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        goto done;
    }
    a->exports++;
    out->fd = a->exported;
    out->offset = (uint64_t)(a->base - a->chunk->base);
    out->size = a->size;
    out->device = a->device->root->index;
    result = ZE_RESULT_SUCCESS;
done:
    pthread_mutex_unlock(&lock);
    if (result == ZE_RESULT_SUCCESS)
        sim_born(SIM_IPC_HANDLE);
    return result;
}

ze_result_t sim_put(ze_context_handle_t context, int fd)
{
    ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_table; i++)
        if (table[i].exports > 0 && table[i].exported == fd && table[i].context == context) {
            if (--table[i].exports == 0)
                close(fd);
            result = ZE_RESULT_SUCCESS;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (result != ZE_RESULT_SUCCESS) {
        sim_misuse("zeMemPutIpcHandle: not an open handle of this context");
        return sim_fail(result, "not an open handle");
    }
    sim_gone(SIM_IPC_HANDLE);
    return result;
}

ze_result_t sim_release(ze_context_handle_t context, const void *address, bool imported)
{
    const char *function = imported ? "zeMemCloseIpcHandle" : "zeMemFree";
    sim_allocation a = {0};
    pthread_mutex_lock(&lock);
    sim_allocation *found = find(address);
    if (found == NULL || found->base != address || found->imported != imported) {
        pthread_mutex_unlock(&lock);
        sim_misuse("%s: %p is not what an allocation gave", function, address);
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "not memory of this driver");
    }
    a = *found;
    size_t i = (size_t)(found - table);
    memmove(&table[i], &table[i + 1], (n_table - i - 1) * sizeof(*table));
    n_table--;
    pthread_mutex_unlock(&lock);
    if (a.context != context)
        sim_misuse("%s: memory of another context", function);
    sim_settle();
    pthread_mutex_lock(&sim_lock);
    bool used = sim_in_use(a.base, a.base + a.size);
    pthread_mutex_unlock(&sim_lock);
    if (used)
        sim_misuse("%s: a command that has not ended uses the memory", function);
    size_t rounded = (a.size + PAGE - 1) & ~(size_t)(PAGE - 1);
    pthread_mutex_lock(&lock);
    if (a.imported || a.device == NULL)
        host_used -= a.imported ? 0 : rounded;
    else
        atomic_fetch_sub(&a.device->root->used, rounded);
    if (rounded >= CHUNK / 64 && !a.imported)
        madvise(a.base, rounded, MADV_REMOVE);
    give_back(a.chunk);
    pthread_mutex_unlock(&lock);
    if (a.exports > 0)
        close(a.exported); /* as drivers do that lack zeMemPutIpcHandle() */
    for (uint32_t i = 0; i < a.exports; i++)
        sim_gone(SIM_IPC_HANDLE);
    atomic_fetch_sub(&a.context->children, 1);
    sim_gone(kind_of(&a));
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemFree(ze_context_handle_t context, void *address)
{
    SIM_ENTER(zeMemFree);
    return sim_release(context, address, false);
}

static bool is_unused(void *of)
{
    const sim_allocation *a = of;
    return !sim_in_use(a->base, a->base + a->size);
}

ze_result_t ZE_APICALL zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t *desc,
                                    void *address)
{
    SIM_ENTER(zeMemFreeExt);
    /* Freeing later is allowed to be freeing after a wait. */
    sim_allocation a;
    if (desc->freePolicy != 0 && sim_find(address, &a))
        sim_wait(is_unused, &a, UINT64_MAX, NULL, context);
    return sim_release(context, address, false);
}

/* --- questions ---------------------------------------------------------------------------------------- */

ze_result_t ZE_APICALL zeMemGetAllocProperties(ze_context_handle_t context, const void *address,
                                               ze_memory_allocation_properties_t *properties,
                                               ze_device_handle_t *device)
{
    SIM_ENTER(zeMemGetAllocProperties);
    sim_allocation a;
    bool known = sim_find(address, &a) && a.context == context;
    properties->type = known ? a.type : ZE_MEMORY_TYPE_UNKNOWN;
    properties->id = known ? a.id : 0;
    properties->pageSize = known ? PAGE : 0;
    if (device != NULL)
        *device = known ? a.device : NULL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t ZE_APICALL zeMemGetAddressRange(ze_context_handle_t context, const void *address, void **base,
                                            size_t *size)
{
    SIM_ENTER(zeMemGetAddressRange);
    sim_allocation a;
    if (!sim_find(address, &a) || a.context != context)
        return sim_fail(ZE_RESULT_ERROR_INVALID_ARGUMENT, "not memory of the context");
    if (base != NULL)
        *base = a.base;
    if (size != NULL)
        *size = (a.size + PAGE - 1) & ~(size_t)(PAGE - 1); /* as drivers do: whole pages */
    return ZE_RESULT_SUCCESS;
}
