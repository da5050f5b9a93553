/* Contexts and unified shared memory: by Intel's extension, else by SVM (docs/design.md, section 6). */
#include "opencl.h"

#include "core/base/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static usm_opencl_memory weakest(const usm_context *context)
{
    usm_opencl_memory weakest = usm_opencl_device_of(context->devices[0])->memory;
    for (size_t i = 1; i < context->n_devices; i++) {
        usm_opencl_memory memory = usm_opencl_device_of(context->devices[i])->memory;
        if (memory == USM_OPENCL_NO_USM || weakest == USM_OPENCL_NO_USM) {
            weakest = USM_OPENCL_NO_USM;
        } else if (memory > weakest) {
            weakest = memory;
        }
    }
    return weakest;
}

usm_status usm_opencl_context_create(usm_context *context, usm_error *error)
{
    usm_opencl_platform *platform = usm_opencl_device_of(context->devices[0])->platform;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform->id, 0};
    usm_opencl_context *native = usm_calloc(1, sizeof *native);
    cl_device_id *ids = usm_calloc(context->n_devices, sizeof *ids);
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    if (native == NULL || ids == NULL) {
        free(ids);
        free(native);
        return usm_error_memory(error, sizeof *native, "a context");
    }
    for (size_t i = 0; i < context->n_devices; i++) {
        const usm_opencl_device *device = usm_opencl_device_of(context->devices[i]);
        if (device->platform != platform) {
            free(ids);
            free(native);
            return usm_error_set(
                error, USM_VALUE,
                "devices[%zu] is of the platform %s and devices[0] of %s; the devices of a context are of "
                "one platform",
                i, device->platform->name, platform->name);
        }
        ids[i] = device->id;
    }
    native->platform = platform;
    native->memory = weakest(context);
    bool foreign = context->foreign != NULL;
    if (foreign) {
        code = platform->api->clRetainContext(context->foreign);
        native->id = code == CL_SUCCESS ? context->foreign : NULL;
    } else {
        native->id = platform->api->clCreateContext(platform->unlisted ? NULL : properties,
                                                    (cl_uint)context->n_devices, ids, NULL, NULL, &code);
    }
    free(ids);
    if (native->id == NULL) {
        free(native);
        return usm_opencl_failed(error, code, foreign ? "clRetainContext" : "clCreateContext");
    }
    context->native = native;
    return USM_OK;
}

/* The context that has the device itself, or one of its own that was made before; NULL for none. */
static cl_context find_context(const usm_context *context, cl_device_id device)
{
    usm_opencl_context *native = usm_opencl_context_of(context);
    for (size_t i = 0; i < context->n_devices; i++) {
        if (usm_opencl_device_of(context->devices[i])->id == device) {
            return native->id;
        }
    }
    usm_opencl_part_context *part = atomic_load_explicit(&native->parts, memory_order_acquire);
    while (part != NULL && part->device != device) {
        part = part->next;
    }
    return part != NULL ? part->id : NULL;
}

usm_status usm_opencl_native_context(const usm_context *context, const usm_device *device, cl_context *out,
                                     usm_error *error)
{
    usm_opencl_context *native = usm_opencl_context_of(context);
    const usm_opencl_platform *platform = native->platform;
    cl_device_id id = usm_opencl_device_of(device)->id;
    *out = find_context(context, id);
    if (*out != NULL) {
        return USM_OK;
    }
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform->id, 0};
    cl_int code = CL_SUCCESS;
    usm_opencl_part_context *part = usm_calloc(1, sizeof *part);
    if (part == NULL) {
        return usm_error_memory(error, sizeof *part, "a context");
    }
    part->device = id;
    part->id =
        platform->api->clCreateContext(platform->unlisted ? NULL : properties, 1, &id, NULL, NULL, &code);
    if (part->id == NULL) {
        free(part);
        return usm_opencl_failed(error, code, "clCreateContext");
    }
    part->next = atomic_load_explicit(&native->parts, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&native->parts, &part->next, part, memory_order_acq_rel,
                                                  memory_order_acquire)) {
        cl_context other = find_context(context, id);
        if (other != NULL) { /* another thread was first */
            platform->api->clReleaseContext(part->id);
            free(part);
            *out = other;
            return USM_OK;
        }
    }
    *out = part->id;
    return USM_OK;
}

void usm_opencl_context_destroy(usm_context *context)
{
    usm_opencl_context *native = usm_opencl_context_of(context);
    if (usm_opencl_forked()) {
        return; /* the parent's driver has all of it */
    }
    usm_opencl_spares_free(native);
    for (usm_opencl_part_context *part = atomic_load_explicit(&native->parts, memory_order_acquire), *next;
         part != NULL; part = next) {
        next = part->next;
        native->platform->api->clReleaseContext(part->id);
        free(part);
    }
    native->platform->api->clReleaseContext(native->id);
    free(native);
}

/* SVM is aligned to 128 at most (clSVMAlloc): a block with room in front keeps how far it was moved. */
enum { ROOM = 256 };

static void *svm_allocate(const usm_opencl_api *api, cl_context context, cl_svm_mem_flags flags,
                          size_t nbytes, bool readable)
{
    if (!readable) {
        return api->clSVMAlloc(context, flags, nbytes, 0);
    }
    char *raw = nbytes <= SIZE_MAX - 2 * ROOM ? api->clSVMAlloc(context, flags, nbytes + ROOM, 0) : NULL;
    if (raw == NULL) {
        return NULL;
    }
    size_t moved = ROOM - (size_t)((uintptr_t)raw % ROOM); /* 8 at least: blocks are aligned to 8 */
    ((size_t *)(raw + moved))[-1] = moved;
    return raw + moved;
}

static void svm_free(const usm_opencl_api *api, cl_context context, void *pointer, bool readable)
{
    char *raw = pointer;
    if (readable) {
        raw -= ((size_t *)pointer)[-1];
    }
    api->clSVMFree(context, raw);
}

static void *usm_ask(const usm_opencl_platform *platform, cl_context context, cl_device_id device,
                     usm_kind kind, size_t nbytes, cl_uint alignment, cl_int *code)
{
    switch (kind) {
        case USM_DEVICE:
            return platform->device_alloc(context, device, NULL, nbytes, alignment, code);
        case USM_SHARED:
            return platform->shared_alloc(context, device, NULL, nbytes, alignment, code);
        default:
            return platform->host_alloc(context, NULL, nbytes, alignment, code);
    }
}

/* PoCL 5 aligns to 128 whatever it is asked for: a block with more room, of which the end is used. */
static void *usm_allocate(usm_opencl_context *native, cl_context context, cl_device_id device, usm_kind kind,
                          size_t nbytes, cl_int *code)
{
    const usm_opencl_platform *platform = native->platform;
    const cl_uint alignment = nbytes >= 4096 ? 256 : 64;
    char *block = usm_ask(platform, context, device, kind, nbytes, alignment, code);
    if (USM_LIKELY((uintptr_t)block % alignment == 0)) { /* none, too */
        return block;
    }
    platform->free(context, block);
    if (nbytes > SIZE_MAX - alignment) {
        return NULL;
    }
    atomic_store_explicit(&native->moves, true, memory_order_relaxed);
    block = usm_ask(platform, context, device, kind, nbytes + alignment, alignment, code);
    return block == NULL ? NULL : block + (-(uintptr_t)block & (alignment - 1));
}

/*
 * Of a processor's memory, as the host does with its own: the first use is several times cheaper, and copies
 * look up fewer pages. A kernel without huge pages says no: nothing is lost.
 */
static void ask_for_huge_pages(void *block, size_t nbytes)
{
    uintptr_t begin = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t end = ((uintptr_t)block + nbytes) / HUGE_PAGE * HUGE_PAGE;
    if (begin < end) {
        madvise((char *)block + (begin - (uintptr_t)block), end - begin, MADV_HUGEPAGE);
    }
}

usm_status usm_opencl_memory_allocate(usm_context *context, usm_device *device, usm_kind kind, size_t nbytes,
                                      void **out, bool *zeroed, usm_error *error)
{
    usm_opencl_context *native = usm_opencl_context_of(context);
    const usm_opencl_platform *platform = native->platform;
    cl_int code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_context id;
    *zeroed = false;
    *out = NULL;
    if (usm_opencl_forked()) {
        return usm_opencl_after_fork(error);
    }
    usm_status status = usm_opencl_native_context(context, device, &id, error);
    if (status != USM_OK) {
        return status;
    }
    switch (native->memory) {
        case USM_OPENCL_INTEL_USM:
            *out = usm_allocate(native, id, usm_opencl_device_of(device)->id, kind, nbytes, &code);
            break;
        case USM_OPENCL_FINE_SVM:
            *out = svm_allocate(platform->api, id, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, nbytes,
                                true);
            break;
        case USM_OPENCL_COARSE_SVM:
            if (kind == USM_DEVICE) {
                *out = svm_allocate(platform->api, id, CL_MEM_READ_WRITE, nbytes, false);
                break;
            }
            /* fall through */
        case USM_OPENCL_NO_USM:
            return usm_error_set(error, USM_VALUE,
                                 "%s has no %s memory: its driver (%s) has neither unified shared memory nor "
                                 "fine-grained SVM%s",
                                 device->info.name, usm_kind_name(kind), platform->name,
                                 native->memory == USM_OPENCL_COARSE_SVM ? "; usm_type='device' works" : "");
    }
    if (*out == NULL) {
        return usm_error_driver(error, USM_MEMORY, "opencl", code, usm_opencl_name(code),
                                "cannot allocate %zu bytes of %s memory on %s (one block holds %llu at most)",
                                nbytes, usm_kind_name(kind), device->info.name,
                                (unsigned long long)device->info.max_alloc_size);
    }
    if (nbytes >= HUGE_PAGE && device->info.is_host) {
        ask_for_huge_pages(*out, nbytes);
    }
    return USM_OK;
}

static bool ask(const usm_opencl_platform *platform, cl_context context, const void *pointer,
                cl_mem_info_intel what, void *value, size_t size)
{
    return platform->alloc_info(context, pointer, what, size, value, NULL) == CL_SUCCESS;
}

void usm_opencl_memory_free(usm_context *context, usm_device *device, usm_kind kind, void *pointer,
                            size_t nbytes)
{
    const usm_opencl_context *native = usm_opencl_context_of(context);
    cl_context id = find_context(context, usm_opencl_device_of(device)->id);
    (void)kind;
    (void)nbytes;
    if (usm_opencl_forked()) {
        return; /* the parent's driver still has it */
    }
    if (native->memory == USM_OPENCL_INTEL_USM) {
        void *block = pointer;
        if (atomic_load_explicit(&((usm_opencl_context *)native)->moves, memory_order_relaxed) &&
            !ask(native->platform, id, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, &block, sizeof block)) {
            block = pointer;
        }
        /* All work on it has ended, and clMemBlockingFreeINTEL may wait for all work of the context. */
        native->platform->free(id, block);
    } else {
        svm_free(native->platform->api, id, pointer, native->memory == USM_OPENCL_FINE_SVM);
    }
}

/* Host memory belongs to no device: the first of the context stands for it. */
static usm_device *device_of_memory(const usm_context *context, cl_device_id id)
{
    for (size_t i = 0; i < context->n_devices; i++) {
        if (usm_opencl_device_of(context->devices[i])->id == id) {
            return context->devices[i];
        }
    }
    return context->devices[0];
}

usm_status usm_opencl_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                                   usm_error *error)
{
    const usm_opencl_context *native = usm_opencl_context_of(context);
    const usm_opencl_platform *platform = native->platform;
    cl_unified_shared_memory_type_intel type = CL_MEM_TYPE_UNKNOWN_INTEL;
    cl_device_id device = NULL;
    *info = (usm_pointer_info){.device = NULL};
    if (usm_opencl_forked()) {
        return usm_opencl_after_fork(error);
    }
    if (native->memory != USM_OPENCL_INTEL_USM || platform->alloc_info == NULL) {
        return USM_OK;
    }
    info->asked = true;
    cl_int code =
        platform->alloc_info(native->id, pointer, CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type, NULL);
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, "clGetMemAllocInfoINTEL");
    }
    switch (type) {
        case CL_MEM_TYPE_HOST_INTEL:
            info->kind = USM_HOST;
            break;
        case CL_MEM_TYPE_SHARED_INTEL:
            info->kind = USM_SHARED;
            break;
        case CL_MEM_TYPE_DEVICE_INTEL:
            info->kind = USM_DEVICE;
            break;
        default:
            return USM_OK;
    }
    (void)ask(platform, native->id, pointer, CL_MEM_ALLOC_DEVICE_INTEL, &device, sizeof device);
    info->device = device_of_memory(context, device);
    if (!ask(platform, native->id, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, &info->base, sizeof info->base) ||
        !ask(platform, native->id, pointer, CL_MEM_ALLOC_SIZE_INTEL, &info->size, sizeof info->size)) {
        info->size = 0;
    }
    return USM_OK;
}

/* A part may have a context of its own, behind the usm_context of the whole. */
static bool one_native_context(const usm_place *a, const usm_place *b)
{
    cl_context first, second;
    return usm_opencl_native_context(a->context, a->device, &first, NULL) == USM_OK &&
           usm_opencl_native_context(b->context, b->device, &second, NULL) == USM_OK && first == second;
}

usm_memory_connection usm_opencl_memory_connection(const usm_place *memory, usm_kind kind,
                                                   const usm_place *user)
{
    if (user->device->info.has_usm_system && usm_place_host_reads(memory, kind)) {
        return USM_CONNECTION_UNIFIED;
    }
    /* A pointer means nothing in another context (SYCL 2020, 4.8). */
    if (memory->context != user->context || !one_native_context(memory, user)) {
        return USM_CONNECTION_NONE;
    }
    bool same = usm_device_root(memory->device) == usm_device_root(user->device);
    bool processors = memory->device->type == USM_CPU && user->device->type == USM_CPU;
    return kind != USM_DEVICE || same || processors ? USM_CONNECTION_UNIFIED : USM_CONNECTION_MIGRATABLE;
}
