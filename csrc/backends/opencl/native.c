/*
 * Contexts and queues that other libraries made with the same driver, such as PyOpenCL or a SYCL runtime, and
 * ours for them. OpenCL's objects count references.
 */
#include "opencl.h"

#include "core/base/readable.h"
#include "core/device/registry.h"

#include <stdlib.h>

/* Of one context; more is no context at all. */
enum { MOST_DEVICES = 1024 };

void *usm_opencl_native_handle(usm_native what, const void *object)
{
    switch (what) {
        case USM_NATIVE_DEVICE:
            return usm_opencl_device_of(object)->id;
        case USM_NATIVE_CONTEXT:
            return usm_opencl_context_of(object)->id;
        default:
            return usm_opencl_queue_of(object)->id;
    }
}

/*
 * The platform of an object. Every object of a driver that a loader can list, also the platform itself,
 * begins with the address of the driver's table of functions (cl_khr_icd), so it does not matter which loader
 * the other library uses, or whether usmpy opened the driver without one. NULL for any other address,
 * readable or not.
 */
static const usm_opencl_platform *platform_of_handle(const void *handle)
{
    const usm_backend_report *report = usm_backend_start(usm_backend_index("opencl", 6));
    if (handle == NULL || !usm_is_readable(handle)) {
        return NULL;
    }
    for (size_t i = 0; i < report->n_devices; i++) {
        const usm_opencl_platform *platform = usm_opencl_device_of(report->devices[i])->platform;
        if (*(void *const *)handle == *(void *const *)platform->id) {
            return platform;
        }
    }
    return NULL;
}

/* What every refusal says: the handle, what it should have been, and where the drivers are listed. */
static usm_status refuse(const void *handle, const char *what, cl_int code, usm_error *error)
{
    return usm_error_driver(error, USM_DRIVER, "opencl", code, usm_opencl_name(code),
                            "%p is no %s of an OpenCL driver that usmpy has opened (%s); usmpy.diagnose() "
                            "lists them",
                            handle, what, usm_opencl_name(code));
}

/*
 * Not every driver checks the type of an object: its answers must make sense before any reference is taken. A
 * context has a number of devices that fits the size of their list, and each of them is of the same platform.
 */
static usm_status inspect_context(const usm_opencl_platform *platform, cl_context context,
                                  usm_native_facts *facts, usm_error *error)
{
    const usm_opencl_api *api = platform->api;
    cl_uint n = 0;
    size_t size = 0;
    cl_int code = api->clGetContextInfo(context, CL_CONTEXT_NUM_DEVICES, sizeof n, &n, NULL);
    if (code == CL_SUCCESS) {
        code = api->clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size);
    }
    if (code == CL_SUCCESS && (n == 0 || n > MOST_DEVICES || size != n * sizeof(cl_device_id))) {
        code = CL_INVALID_CONTEXT;
    }
    if (code == CL_SUCCESS) {
        facts->devices = malloc(size);
        if (facts->devices == NULL) {
            return usm_error_memory(error, size, "a list of devices");
        }
        facts->n_devices = n;
        code = api->clGetContextInfo(context, CL_CONTEXT_DEVICES, size, facts->devices, NULL);
    }
    for (size_t i = 0; code == CL_SUCCESS && i < n; i++) {
        if (platform_of_handle(facts->devices[i]) != platform) {
            code = CL_INVALID_CONTEXT;
        }
    }
    return code == CL_INVALID_CONTEXT ? refuse(context, "cl_context", code, error)
           : code != CL_SUCCESS       ? usm_opencl_failed(error, code, "clGetContextInfo")
                                      : USM_OK;
}

/* As the queue's creator set it by cl_khr_priority_hints; drivers before OpenCL 3.0 do not report it. */
static usm_priority priority_of(const usm_opencl_api *api, cl_command_queue queue)
{
    cl_queue_properties pairs[32];
    size_t size = 0;
    if (api->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof pairs, pairs, &size) !=
        CL_SUCCESS) {
        return USM_PRIORITY_NORMAL;
    }
    for (size_t i = 0; i + 1 < size / sizeof *pairs && pairs[i] != 0; i += 2) {
        if (pairs[i] == CL_QUEUE_PRIORITY_KHR) {
            return pairs[i + 1] == CL_QUEUE_PRIORITY_HIGH_KHR  ? USM_PRIORITY_HIGH
                   : pairs[i + 1] == CL_QUEUE_PRIORITY_LOW_KHR ? USM_PRIORITY_LOW
                                                               : USM_PRIORITY_NORMAL;
        }
    }
    return USM_PRIORITY_NORMAL;
}

/*
 * Its context and device must be of the same platform. Queues on the device (OpenCL API 3.0, 5.1) cannot be
 * enqueued to by the host.
 */
static usm_status inspect_queue(const usm_opencl_platform *platform, cl_command_queue queue,
                                usm_native_facts *facts, usm_error *error)
{
    const usm_opencl_api *api = platform->api;
    cl_command_queue_properties bits = 0;
    cl_int code =
        api->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof facts->context, &facts->context, NULL);
    if (code == CL_SUCCESS) {
        code = api->clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof facts->device, &facts->device, NULL);
    }
    if (code == CL_SUCCESS) {
        code = api->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, NULL);
    }
    if (code == CL_SUCCESS &&
        (platform_of_handle(facts->context) != platform || platform_of_handle(facts->device) != platform)) {
        code = CL_INVALID_COMMAND_QUEUE;
    }
    if (code == CL_INVALID_COMMAND_QUEUE) {
        return refuse(queue, "cl_command_queue", code, error);
    }
    if (code != CL_SUCCESS) {
        return usm_opencl_failed(error, code, "clGetCommandQueueInfo");
    }
    if ((bits & CL_QUEUE_ON_DEVICE) != 0) {
        return usm_error_set(error, USM_VALUE,
                             "%p is a queue on the device, which takes work from kernels alone",
                             (void *)queue);
    }
    facts->options = (usm_queue_options){
        .in_order = (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0,
        .profiling = (bits & CL_QUEUE_PROFILING_ENABLE) != 0,
        .priority = priority_of(api, queue),
    };
    return USM_OK;
}

usm_status usm_opencl_native_inspect(usm_native what, void *handle, usm_native_facts *facts, usm_error *error)
{
    const usm_opencl_platform *platform = platform_of_handle(handle);
    if (what == USM_NATIVE_CONTEXT) {
        return platform == NULL ? refuse(handle, "cl_context", CL_INVALID_CONTEXT, error)
                                : inspect_context(platform, handle, facts, error);
    }
    return platform == NULL ? refuse(handle, "cl_command_queue", CL_INVALID_COMMAND_QUEUE, error)
                            : inspect_queue(platform, handle, facts, error);
}

void usm_opencl_native_count(usm_native what, void *handle, bool more)
{
    const usm_opencl_platform *platform = platform_of_handle(handle);
    if (platform == NULL) {
        return;
    }
    const usm_opencl_api *api = platform->api;
    if (what == USM_NATIVE_QUEUE) {
        (more ? api->clRetainCommandQueue : api->clReleaseCommandQueue)(handle);
    } else {
        (more ? api->clRetainContext : api->clReleaseContext)(handle);
    }
}
