/*
 * Unified shared memory: by cl_intel_unified_shared_memory, else by SVM (docs/design.md, section 6). Both
 * have pointers that kernels use as they are.
 */
#include "opencl.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/*
 * clSVMAlloc aligns to 128 bytes at most, the largest type of OpenCL C (OpenCL API 3.0, 5.6.1). Where the
 * host reaches the block, it is larger by ROOM, and the bytes before the aligned address hold how far that is
 * from the block.
 */
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
    api->clSVMFree(context, readable ? (char *)pointer - ((size_t *)pointer)[-1] : pointer);
}

/* One of the three functions of the extension; NULL with the driver's code where it fails. */
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

/*
 * PoCL 5 aligns to 128 bytes whatever it is asked for. Then a larger block is asked for and its aligned part
 * used; clGetMemAllocInfoINTEL finds the block again when it is freed.
 */
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
 * For memory of processors, as the host backend does for its own: the first use is several times cheaper, and
 * copies look up fewer pages. A kernel without huge pages refuses, which changes nothing.
 */
static void ask_for_huge_pages(void *block, size_t nbytes)
{
    uintptr_t begin = ((uintptr_t)block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uintptr_t end = ((uintptr_t)block + nbytes) / HUGE_PAGE * HUGE_PAGE;
    if (begin < end) {
        madvise((char *)block + (begin - (uintptr_t)block), end - begin, MADV_HUGEPAGE);
    }
}

/*
 * The driver's code is reported as the reason; clSVMAlloc gives none, so CL_MEM_OBJECT_ALLOCATION_FAILURE
 * stands for it.
 */
usm_status usm_opencl_memory_allocate(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                      bool *zeroed, usm_error *error)
{
    const usm_device *device = place->device;
    usm_opencl_context *native = usm_opencl_context_of(place->context);
    const usm_opencl_platform *platform = native->platform;
    cl_int code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_context id;
    *zeroed = false;
    *out = NULL;
    usm_status status = usm_opencl_native_context(place->context, place->device, &id, error);
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

/* One fact of an allocation, by any pointer into it. */
static bool ask(const usm_opencl_platform *platform, cl_context context, const void *pointer,
                cl_mem_info_intel what, void *value, size_t size)
{
    return platform->alloc_info(context, pointer, what, size, value, NULL) == CL_SUCCESS;
}

void usm_opencl_memory_free(const usm_place *place, usm_kind kind, void *pointer, size_t nbytes)
{
    usm_opencl_context *native = usm_opencl_context_of(place->context);
    cl_context id = usm_opencl_find_context(place->context, usm_opencl_device_of(place->device)->id);
    (void)kind;
    (void)nbytes;
    if (native->memory == USM_OPENCL_INTEL_USM) {
        void *block = pointer;
        if (atomic_load_explicit(&native->moves, memory_order_relaxed) &&
            !ask(native->platform, id, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, &block, sizeof block)) {
            block = pointer;
        }
        /* All work on it has ended, and clMemBlockingFreeINTEL may wait for all work of the context. */
        usm_opencl_given_back(native->platform->free(id, block), "clMemFreeINTEL");
    } else {
        svm_free(native->platform->api, id, pointer, native->memory == USM_OPENCL_FINE_SVM);
    }
}

/*
 * The usm_device for a device that the driver names. Host memory belongs to no device, so the first of the
 * context stands for it.
 */
static usm_device *device_of_memory(const usm_context *context, cl_device_id id)
{
    for (size_t i = 0; i < context->n_devices; i++) {
        if (usm_opencl_device_of(context->devices[i])->id == id) {
            return context->devices[i];
        }
    }
    return context->devices[0];
}

/* Only the extension identifies memory; SVM has no such function. */
usm_status usm_opencl_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                                   usm_error *error)
{
    const usm_opencl_context *native = usm_opencl_context_of(context);
    const usm_opencl_platform *platform = native->platform;
    cl_unified_shared_memory_type_intel type = CL_MEM_TYPE_UNKNOWN_INTEL;
    cl_device_id device = NULL;
    if (native->memory != USM_OPENCL_INTEL_USM || platform->alloc_info == NULL) {
        return USM_OK;
    }
    info->identifies = USM_IDENTIFIES_SOME;
    cl_int code =
        platform->alloc_info(native->id, pointer, CL_MEM_ALLOC_TYPE_INTEL, sizeof type, &type, NULL);
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, "clGetMemAllocInfoINTEL");
    }
    if (type < CL_MEM_TYPE_HOST_INTEL || type > CL_MEM_TYPE_SHARED_INTEL) {
        return USM_OK;
    }
    info->kind = type == CL_MEM_TYPE_HOST_INTEL     ? USM_HOST
                 : type == CL_MEM_TYPE_DEVICE_INTEL ? USM_DEVICE
                                                    : USM_SHARED;
    (void)ask(platform, native->id, pointer, CL_MEM_ALLOC_DEVICE_INTEL, &device, sizeof device);
    info->device = device_of_memory(context, device);
    if (!ask(platform, native->id, pointer, CL_MEM_ALLOC_BASE_PTR_INTEL, &info->base, sizeof info->base) ||
        !ask(platform, native->id, pointer, CL_MEM_ALLOC_SIZE_INTEL, &info->size, sizeof info->size)) {
        info->size = 0;
    }
    return USM_OK;
}

/*
 * Pointers work in one context of the driver, and a part of a device may have one of its own (context.c),
 * which is made with its first memory or queue.
 */
static bool one_native_context(const usm_place *a, const usm_place *b)
{
    cl_context first = usm_opencl_find_context(a->context, usm_opencl_device_of(a->device)->id);
    return first != NULL && first == usm_opencl_find_context(b->context, usm_opencl_device_of(b->device)->id);
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
