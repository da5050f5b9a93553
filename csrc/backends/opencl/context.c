/*
 * Contexts of the driver: one for each usm_context, and further ones for parts of devices that the driver
 * refuses there. A context owns its memory, and events cannot be waited for across contexts (OpenCL API 3.0,
 * 4.4 and 5.11).
 */
#include "opencl.h"

#include "core/base/heap.h"

#include <stdlib.h>

/*
 * Memory of a context must work on all of its devices, so the device with the least decides. The enum is in
 * the order of falling abilities but for NO_USM, which is the least.
 */
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

/*
 * A driver that the loader does not list is given no platform in the properties: the loader would not know
 * it, and takes the platform of the devices then (OpenCL API 3.0, 4.4, CL_CONTEXT_PLATFORM).
 */
static cl_context new_context(const usm_opencl_platform *platform, size_t n, const cl_device_id *ids,
                              cl_int *code)
{
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)platform->id, 0};
    return platform->api->clCreateContext(platform->unlisted ? NULL : properties, (cl_uint)n, ids, NULL, NULL,
                                          code);
}

usm_status usm_opencl_context_create(usm_context *context, usm_error *error)
{
    usm_opencl_platform *platform = usm_opencl_device_of(context->devices[0])->platform;
    for (size_t i = 1; i < context->n_devices; i++) {
        const usm_opencl_device *device = usm_opencl_device_of(context->devices[i]);
        if (device->platform != platform) {
            return usm_error_set(
                error, USM_VALUE,
                "devices[%zu] is of the platform %s and devices[0] of %s; the devices of a context are of "
                "one platform",
                i, device->platform->name, platform->name);
        }
    }
    usm_opencl_context *native = usm_calloc(1, sizeof *native);
    cl_device_id *ids = usm_calloc(context->n_devices, sizeof *ids);
    if (native == NULL || ids == NULL) {
        free(ids);
        free(native);
        return usm_error_memory(error, sizeof *native, "a context");
    }
    for (size_t i = 0; i < context->n_devices; i++) {
        ids[i] = usm_opencl_device_of(context->devices[i])->id;
    }
    native->platform = platform;
    native->memory = weakest(context);
    bool foreign = context->foreign != NULL;
    cl_int code = foreign ? platform->api->clRetainContext(context->foreign) : CL_SUCCESS;
    native->id = !foreign             ? new_context(platform, context->n_devices, ids, &code)
                 : code == CL_SUCCESS ? context->foreign
                                      : NULL;
    free(ids);
    if (native->id == NULL) {
        free(native);
        return usm_opencl_failed(error, code, foreign ? "clRetainContext" : "clCreateContext");
    }
    context->native = native;
    return USM_OK;
}

cl_context usm_opencl_find_context(const usm_context *context, cl_device_id device)
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

/*
 * Two threads may both make a context for a part; the second one finds that of the first when it adds its
 * own, and releases its own again.
 */
usm_status usm_opencl_native_context(const usm_context *context, const usm_device *device, cl_context *out,
                                     usm_error *error)
{
    usm_opencl_context *native = usm_opencl_context_of(context);
    const usm_opencl_platform *platform = native->platform;
    cl_device_id id = usm_opencl_device_of(device)->id;
    *out = usm_opencl_find_context(context, id);
    if (*out != NULL) {
        return USM_OK;
    }
    cl_int code = CL_SUCCESS;
    usm_opencl_part_context *part = usm_calloc(1, sizeof *part);
    if (part == NULL) {
        return usm_error_memory(error, sizeof *part, "a context");
    }
    part->device = id;
    part->id = new_context(platform, 1, &id, &code);
    if (part->id == NULL) {
        free(part);
        return usm_opencl_failed(error, code, "clCreateContext");
    }
    part->next = atomic_load_explicit(&native->parts, memory_order_acquire);
    while (!atomic_compare_exchange_weak_explicit(&native->parts, &part->next, part, memory_order_acq_rel,
                                                  memory_order_acquire)) {
        cl_context other = usm_opencl_find_context(context, id);
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

/*
 * Queues that are kept have a reference to the context each, so they go first; so do the contexts of parts.
 */
void usm_opencl_context_destroy(usm_context *context)
{
    usm_opencl_context *native = usm_opencl_context_of(context);
    usm_opencl_queue_cache_free(native);
    for (usm_opencl_part_context *part = atomic_load_explicit(&native->parts, memory_order_acquire), *next;
         part != NULL; part = next) {
        next = part->next;
        native->platform->api->clReleaseContext(part->id);
        free(part);
    }
    native->platform->api->clReleaseContext(native->id);
    free(native);
}
