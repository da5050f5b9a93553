/*
 * Memory for several processes (CUDA driver API, Virtual Memory Management): the driver exports an allocation
 * as a file descriptor, and each process maps it at an address of its own. The driver frees it when no
 * process has it mapped or has a descriptor of it. share_order.c has the events that order the processes.
 *
 * A second descriptor goes along, a sealed file that says what the block is: the driver tells neither the
 * size of what a descriptor stands for, nor one block's descriptor from that of another.
 */
#include "share.h"

#include "core/base/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define POSIX CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

enum { MEMORY, DESCRIPTION, N_DESCRIPTORS };

typedef struct description {
    char magic[16];
    uint64_t nbytes;
    uint8_t uuid[16]; /* of the device */
} description;

static const char magic[16] = "usmpy CUDA block";

/* The process's mappings, and which devices may use them: held from cuMemSetAccess to the change here. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static usm_cuda_mapping *mappings;

static bool has_functions(void)
{
    return usm_cuda.cuMemAddressReserve != NULL && usm_cuda.cuMemAddressFree != NULL &&
           usm_cuda.cuMemCreate != NULL && usm_cuda.cuMemRelease != NULL && usm_cuda.cuMemMap != NULL &&
           usm_cuda.cuMemUnmap != NULL && usm_cuda.cuMemSetAccess != NULL &&
           usm_cuda.cuMemGetAllocationGranularity != NULL && usm_cuda.cuMemExportToShareableHandle != NULL &&
           usm_cuda.cuMemImportFromShareableHandle != NULL;
}

/* May this device share memory at all, in this process? Then its context becomes current. */
static usm_status enter(usm_device *device, usm_cuda_scope *scope, usm_error *error)
{
    CUdevice id = usm_cuda_device_of(device)->id;
    int maps = 0, passes = 0;
    if (usm_cuda_is_lost(device)) {
        return usm_cuda_lost(device, error);
    }
    (void)usm_cuda.cuDeviceGetAttribute(&maps, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, id);
    (void)usm_cuda.cuDeviceGetAttribute(&passes,
                                        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, id);
    if (!has_functions() || maps == 0 || passes == 0) {
        return usm_error_set(
            error, USM_BUFFER,
            "%s cannot share device memory between processes: the driver %s; share an array of the host "
            "and copy it here",
            device->info.name,
            maps == 0 || !has_functions() ? "has no virtual memory management"
                                          : "passes no file descriptors of memory, as in some sandboxes and "
                                            "virtual machines");
    }
    usm_status status = usm_cuda_enter(device, scope, error);
    if (status == USM_OK) {
        usm_cuda_relax(scope);
    }
    return status;
}

/* A call that other machines allow: what the driver or a sandbox refuses is no failure of the driver. */
static usm_status refused(usm_device *device, CUresult code, const char *function, usm_error *error)
{
    if (code != CUDA_ERROR_NOT_SUPPORTED && code != CUDA_ERROR_NOT_PERMITTED &&
        code != CUDA_ERROR_OPERATING_SYSTEM) {
        return usm_cuda_failed_on(device, error, code, function);
    }
    return usm_error_driver(
        error, USM_BUFFER, "cuda", (int)code, usm_cuda_name(code),
        "%s cannot share device memory between processes: %s failed with %s (%d), as where a sandbox or a "
        "container passes no file descriptors of the driver; share an array of the host and copy it here",
        device->info.name, function, usm_cuda_name(code), (int)code);
}

static CUresult set_access(const usm_cuda_mapping *mapping, const usm_device *user)
{
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = usm_cuda_device_of(user)->id},
        .flags = mapping->readonly ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    return usm_cuda.cuMemSetAccess(mapping->at, mapping->nbytes, &access, 1);
}

/* For the memory's own device, and all that were found to reach it. `mutex` held. */
static CUresult set_all_access(usm_cuda_mapping *mapping)
{
    usm_device *user;
    CUresult code = set_access(mapping, mapping->device);
    if (mapping->readonly && (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_INVALID_VALUE)) {
        mapping->readonly = false; /* the driver has no memory that may be read alone */
        code = set_access(mapping, mapping->device);
    }
    for (int i = 0; code == CUDA_SUCCESS && (user = usm_cuda_device_at(i)) != NULL; i++) {
        if (user != mapping->device &&
            atomic_load(&usm_cuda_device_of(user)->peers[mapping->device->index]) == USM_CONNECTION_UNIFIED) {
            code = set_access(mapping, user);
        }
    }
    return code;
}

bool usm_cuda_share_reach(usm_device *user, usm_device *memory)
{
    CUresult code = CUDA_SUCCESS;
    pthread_mutex_lock(&mutex);
    for (usm_cuda_mapping *mapping = mappings; mapping != NULL && code == CUDA_SUCCESS;
         mapping = mapping->next) {
        if (mapping->device == memory) {
            code = set_access(mapping, user);
        }
    }
    if (code == CUDA_SUCCESS) {
        atomic_store(&usm_cuda_device_of(user)->peers[memory->index], USM_CONNECTION_UNIFIED);
    }
    pthread_mutex_unlock(&mutex);
    return code == CUDA_SUCCESS;
}

static void unmap(const usm_cuda_mapping *mapping)
{
    CUresult code = usm_cuda.cuMemUnmap(mapping->at, mapping->nbytes);
    usm_cuda_given_back(mapping->device, code, "cuMemUnmap");
    if (code == CUDA_SUCCESS) { /* addresses that are still mapped must stay reserved */
        USM_CUDA_GIVE_BACK(mapping->device, cuMemAddressFree, mapping->at, mapping->nbytes);
    }
}

/* Maps the allocation and lists the mapping. The context is current. *function: the call that failed. */
static CUresult map(usm_cuda_mapping *mapping, CUmemGenericAllocationHandle handle, const char **function)
{
    *function = "cuMemAddressReserve";
    CUresult code = usm_cuda.cuMemAddressReserve(&mapping->at, mapping->nbytes, 0, 0, 0);
    if (code != CUDA_SUCCESS) {
        return code;
    }
    *function = "cuMemMap";
    code = usm_cuda.cuMemMap(mapping->at, mapping->nbytes, 0, handle, 0);
    if (code != CUDA_SUCCESS) {
        (void)usm_cuda.cuMemAddressFree(mapping->at, mapping->nbytes);
        return code;
    }
    *function = "cuMemSetAccess";
    pthread_mutex_lock(&mutex);
    code = set_all_access(mapping);
    if (code == CUDA_SUCCESS) {
        mapping->next = mappings;
        mappings = mapping;
    }
    pthread_mutex_unlock(&mutex);
    if (code != CUDA_SUCCESS) {
        unmap(mapping);
    }
    return code;
}

static usm_cuda_mapping *new_mapping(usm_device *device, size_t nbytes, bool readonly)
{
    usm_cuda_mapping *mapping = usm_calloc(1, sizeof *mapping);
    if (mapping != NULL) {
        mapping->device = device;
        mapping->nbytes = nbytes;
        mapping->readonly = readonly;
        pthread_mutex_init(&mapping->lock, NULL);
    }
    return mapping;
}

static void free_mapping(usm_cuda_mapping *mapping)
{
    pthread_mutex_destroy(&mapping->lock);
    free(mapping);
}

static void publish(const usm_cuda_mapping *mapping, usm_shared_memory *memory)
{
    memory->pointer = (void *)(uintptr_t)mapping->at;
    memory->nbytes = mapping->nbytes;
    memory->native = (void *)mapping;
}

/* The file that describes the block. */
static usm_status describe(const usm_cuda_mapping *mapping, int *out, usm_error *error)
{
    description text = {.nbytes = mapping->nbytes};
    memcpy(text.magic, magic, sizeof magic);
    memcpy(text.uuid, mapping->device->info.uuid, sizeof text.uuid);
    int file = memfd_create("usmpy CUDA", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && pwrite(file, &text, sizeof text, 0) == (ssize_t)sizeof text &&
        fcntl(file, F_ADD_SEALS, SEALS) == 0) {
        *out = file;
        return USM_OK;
    }
    int code = errno;
    if (file >= 0) {
        close(file);
    }
    return usm_error_set(error, code == ENOSYS || code == EPERM ? USM_BUFFER : USM_MEMORY,
                         "cannot describe shared memory in a file (memfd_create): %s", usm_error_errno(code));
}

/* Is it a file of `describe`, of a block of this device and size? */
static usm_status check(const usm_cuda_mapping *mapping, int file, usm_error *error)
{
    description text;
    int seals = fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || pread(file, &text, sizeof text, 0) != (ssize_t)sizeof text ||
        memcmp(text.magic, magic, sizeof magic) != 0) {
        return usm_error_set(error, USM_VALUE,
                             "the handle's file %d does not describe memory of CUDA: usmpy did not make it",
                             DESCRIPTION);
    }
    if (text.nbytes != mapping->nbytes) {
        return usm_error_set(error, USM_VALUE, "the handle is of %zu bytes and its file says %llu",
                             mapping->nbytes, (unsigned long long)text.nbytes);
    }
    if (memcmp(text.uuid, mapping->device->info.uuid, sizeof text.uuid) != 0) {
        return usm_error_set(error, USM_VALUE, "the handle's memory is on another device than %s",
                             mapping->device->info.name);
    }
    return USM_OK;
}

/* A new allocation of whole granules, not mapped. If memory runs out, the pool gives back its own. */
static CUresult allocate(const usm_place *place, usm_cuda_mapping *mapping, CUmemGenericAllocationHandle *out,
                         const char **function)
{
    size_t granularity = 0;
    const CUmemAllocationProp properties = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = POSIX,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = usm_cuda_device_of(place->device)->id},
    };
    *function = "cuMemGetAllocationGranularity";
    CUresult code = usm_cuda.cuMemGetAllocationGranularity(&granularity, &properties,
                                                           CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (code != CUDA_SUCCESS) {
        return code;
    }
    *function = "cuMemCreate";
    if (mapping->nbytes > SIZE_MAX - granularity) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mapping->nbytes = (mapping->nbytes + granularity - 1) / granularity * granularity;
    code = usm_cuda.cuMemCreate(out, mapping->nbytes, &properties, 0);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
        usm_cuda_memory_trim(place);
        code = usm_cuda.cuMemCreate(out, mapping->nbytes, &properties, 0);
    }
    return code;
}

/* The descriptor and the mapping keep the memory: the driver's handle is not needed any more. */
static usm_status create(const usm_place *place, usm_cuda_mapping *mapping, int descriptors[N_DESCRIPTORS],
                         usm_error *error)
{
    CUmemGenericAllocationHandle handle;
    const char *function;
    CUresult code = allocate(place, mapping, &handle, &function);
    if (code == CUDA_SUCCESS) {
        function = "cuMemExportToShareableHandle";
        code = usm_cuda.cuMemExportToShareableHandle(&descriptors[MEMORY], handle, POSIX, 0);
        if (code == CUDA_SUCCESS) {
            (void)fcntl(descriptors[MEMORY], F_SETFD, FD_CLOEXEC);
            code = map(mapping, handle, &function);
            if (code != CUDA_SUCCESS) {
                close(descriptors[MEMORY]);
            }
        }
        (void)usm_cuda.cuMemRelease(handle);
    }
    return code == CUDA_SUCCESS ? USM_OK : refused(mapping->device, code, function, error);
}

usm_status usm_cuda_share_create(const usm_place *place, usm_shared_memory *memory, usm_share_record *record,
                                 bool *zeroed, usm_error *error)
{
    usm_cuda_scope scope;
    *zeroed = false;
    usm_cuda_mapping *mapping = new_mapping(place->device, memory->nbytes, false);
    if (mapping == NULL) {
        return usm_error_memory(error, sizeof *mapping, "a shared block");
    }
    usm_status status = enter(place->device, &scope, error);
    if (status == USM_OK) {
        status = create(place, mapping, record->descriptors, error);
        usm_cuda_leave(&scope);
    }
    if (status != USM_OK) {
        free_mapping(mapping);
        return status;
    }
    status = describe(mapping, &record->descriptors[DESCRIPTION], error);
    publish(mapping, memory);
    if (status != USM_OK) {
        close(record->descriptors[MEMORY]);
        usm_cuda_share_close(place, memory);
        return status;
    }
    record->n_descriptors = N_DESCRIPTORS;
    return USM_OK;
}

/* The driver checks that the descriptor is one of its own. */
static usm_status import(usm_cuda_mapping *mapping, int descriptor, usm_error *error)
{
    CUmemGenericAllocationHandle handle;
    const char *function = "cuMemImportFromShareableHandle";
    CUresult code =
        usm_cuda.cuMemImportFromShareableHandle(&handle, (void *)(uintptr_t)(unsigned)descriptor, POSIX);
    if (code == CUDA_SUCCESS) {
        code = map(mapping, handle, &function);
        (void)usm_cuda.cuMemRelease(handle);
    }
    if (code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_INVALID_HANDLE) {
        return usm_error_driver(
            error, USM_VALUE, "cuda", (int)code, usm_cuda_name(code),
            "the handle's descriptor is no memory of %zu bytes on %s: %s failed with %s (%d)",
            mapping->nbytes, mapping->device->info.name, function, usm_cuda_name(code), (int)code);
    }
    return code == CUDA_SUCCESS ? USM_OK : refused(mapping->device, code, function, error);
}

usm_status usm_cuda_share_open(const usm_place *place, const usm_share_record *record, bool readonly,
                               usm_shared_memory *memory, usm_error *error)
{
    usm_cuda_scope scope;
    if (memory->kind != USM_DEVICE || record->n_descriptors != N_DESCRIPTORS) {
        return usm_error_set(
            error, USM_VALUE,
            "the handle is of %s memory with %u descriptors; CUDA shares device memory, with %d",
            usm_kind_name(memory->kind), record->n_descriptors, N_DESCRIPTORS);
    }
    usm_cuda_mapping *mapping = new_mapping(place->device, memory->nbytes, readonly);
    if (mapping == NULL) {
        return usm_error_memory(error, sizeof *mapping, "a shared block");
    }
    usm_status status = check(mapping, record->descriptors[DESCRIPTION], error);
    if (status == USM_OK) {
        status = enter(place->device, &scope, error);
    }
    if (status == USM_OK) {
        status = import(mapping, record->descriptors[MEMORY], error);
        usm_cuda_leave(&scope);
    }
    if (status != USM_OK) {
        free_mapping(mapping);
        return status;
    }
    publish(mapping, memory);
    return USM_OK;
}

usm_status usm_cuda_share_make_writable(const usm_place *place, const usm_shared_memory *memory,
                                        usm_error *error)
{
    usm_cuda_mapping *mapping = memory->native;
    usm_cuda_scope scope;
    usm_status status = enter(place->device, &scope, error);
    if (status != USM_OK) {
        return status;
    }
    pthread_mutex_lock(&mutex);
    bool before = mapping->readonly;
    mapping->readonly = false;
    CUresult code = before ? set_all_access(mapping) : CUDA_SUCCESS;
    mapping->readonly = before && code != CUDA_SUCCESS;
    pthread_mutex_unlock(&mutex);
    usm_cuda_leave(&scope);
    return code == CUDA_SUCCESS ? USM_OK : usm_cuda_failed_on(place->device, error, code, "cuMemSetAccess");
}

/* What a lost context had went with it. */
void usm_cuda_share_close(const usm_place *place, const usm_shared_memory *memory)
{
    usm_cuda_mapping *mapping = memory->native;
    usm_cuda_scope scope;
    pthread_mutex_lock(&mutex);
    usm_cuda_mapping **at = &mappings;
    while (*at != mapping) {
        at = &(*at)->next;
    }
    *at = mapping->next;
    pthread_mutex_unlock(&mutex);
    bool entered = usm_cuda_enter_to_give_back(place->device, &scope);
    usm_cuda_share_end_order(mapping, entered);
    if (entered) {
        unmap(mapping);
        usm_cuda_leave(&scope);
    }
    free_mapping(mapping);
}
