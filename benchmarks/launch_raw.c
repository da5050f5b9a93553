/*
 * What usmpy is measured against: the same work on the same driver, without a library in between; and plain C
 * loops on all processors for kernels of the host. Compiled by launch.py; every function repeats n times.
 */
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 1024, LAUNCHES = 100, MAX_DEPENDS = 4, MAX_THREADS = 256 };

typedef struct raw {
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_command_queue in_order, out_of_order;
    cl_program program;
    cl_kernel kernel;
    char *x, *y; /* room for the largest copy */
    size_t room;
    clDeviceMemAllocINTEL_fn allocate; /* NULL: SVM */
    clMemBlockingFreeINTEL_fn release;
    clEnqueueMemcpyINTEL_fn copy;
    clEnqueueMemFillINTEL_fn fill;
    clSetKernelArgMemPointerINTEL_fn pointer;
} raw;

static void *address(const raw *r, const char *name)
{
    return clGetExtensionFunctionAddressForPlatform(r->platform, name);
}

static int find_device(raw *r, const char *name)
{
    cl_platform_id platforms[16];
    cl_uint n_platforms = 0;
    clGetPlatformIDs(16, platforms, &n_platforms);
    for (cl_uint i = 0; i < n_platforms && i < 16; i++) {
        cl_device_id devices[16];
        cl_uint n_devices = 0;
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 16, devices, &n_devices);
        for (cl_uint k = 0; k < n_devices && k < 16; k++) {
            char text[256] = "";
            clGetDeviceInfo(devices[k], CL_DEVICE_NAME, sizeof text, text, NULL);
            if (strcmp(text, name) == 0) {
                r->platform = platforms[i];
                r->device = devices[k];
                return 1;
            }
        }
    }
    return 0;
}

static void *allocate(const raw *r, size_t nbytes)
{
    cl_int code;
    return r->allocate != NULL
               ? r->allocate(r->context, r->device, NULL, nbytes, 0, &code)
               : clSVMAlloc(r->context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, nbytes, 0);
}

static void release(const raw *r, void *pointer)
{
    if (r->allocate != NULL) {
        r->release(r->context, pointer);
    } else {
        clSVMFree(r->context, pointer);
    }
}

static cl_program build(const raw *r, const char *source)
{
    cl_int code;
    cl_program program = clCreateProgramWithSource(r->context, 1, &source, NULL, &code);
    if (program == NULL || clBuildProgram(program, 1, &r->device, "", NULL, NULL) != CL_SUCCESS) {
        abort();
    }
    return program;
}

/* NULL where the device is not found. The process ends with the memory in use. */
raw *raw_open(const char *device, const char *source, size_t room)
{
    raw *r = calloc(1, sizeof *r);
    cl_int code;
    const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                                0};
    char extensions[16384] = "";
    if (r == NULL || !find_device(r, device)) {
        free(r);
        return NULL;
    }
    clGetDeviceInfo(r->device, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL);
    if (strstr(extensions, "cl_intel_unified_shared_memory") != NULL) {
        r->allocate = (clDeviceMemAllocINTEL_fn)address(r, "clDeviceMemAllocINTEL");
        r->release = (clMemBlockingFreeINTEL_fn)address(r, "clMemBlockingFreeINTEL");
        r->copy = (clEnqueueMemcpyINTEL_fn)address(r, "clEnqueueMemcpyINTEL");
        r->fill = (clEnqueueMemFillINTEL_fn)address(r, "clEnqueueMemFillINTEL");
        r->pointer = (clSetKernelArgMemPointerINTEL_fn)address(r, "clSetKernelArgMemPointerINTEL");
    }
    r->context = clCreateContext(NULL, 1, &r->device, NULL, NULL, &code);
    r->in_order = clCreateCommandQueueWithProperties(r->context, r->device, NULL, &code);
    r->out_of_order = clCreateCommandQueueWithProperties(r->context, r->device, out_of_order, &code);
    r->program = build(r, source);
    r->kernel = clCreateKernel(r->program, "axpy", &code);
    r->room = room;
    r->x = allocate(r, room);
    r->y = allocate(r, room);
    if (r->x == NULL || r->y == NULL || r->in_order == NULL || r->out_of_order == NULL || r->kernel == NULL) {
        abort();
    }
    memset(r->x, 0, room);
    memset(r->y, 0, room);
    return r;
}

static cl_event launch(const raw *r, cl_command_queue queue, cl_uint n_waits, const cl_event *waits)
{
    const size_t global = ELEMENTS;
    const cl_float a = 2;
    const cl_int n = ELEMENTS;
    cl_event event = NULL;
    if (r->pointer != NULL) {
        r->pointer(r->kernel, 0, r->x);
        r->pointer(r->kernel, 1, r->y);
    } else {
        clSetKernelArgSVMPointer(r->kernel, 0, r->x);
        clSetKernelArgSVMPointer(r->kernel, 1, r->y);
    }
    clSetKernelArg(r->kernel, 2, sizeof a, &a);
    clSetKernelArg(r->kernel, 3, sizeof n, &n);
    if (clEnqueueNDRangeKernel(queue, r->kernel, 1, NULL, &global, NULL, n_waits, waits, &event) !=
        CL_SUCCESS) {
        abort();
    }
    clFlush(queue);
    return event;
}

static void wait_for(cl_event event)
{
    clWaitForEvents(1, &event);
    clReleaseEvent(event);
}

void raw_launches(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < LAUNCHES; k++) {
            clReleaseEvent(launch(r, r->in_order, 0, NULL));
        }
        clFinish(r->in_order);
    }
}

void raw_launch_wait(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        wait_for(launch(r, r->in_order, 0, NULL));
    }
}

/* Each launch waits for the `depends` before it. */
void raw_launches_depends(const raw *r, int n, int depends)
{
    for (int i = 0; i < n; i++) {
        cl_event events[LAUNCHES];
        for (int k = 0; k < LAUNCHES; k++) {
            int waits = k < depends ? k : depends;
            events[k] = launch(r, r->out_of_order, (cl_uint)waits, waits > 0 ? &events[k - waits] : NULL);
        }
        clFinish(r->out_of_order);
        for (int k = 0; k < LAUNCHES; k++) {
            clReleaseEvent(events[k]);
        }
    }
}

void raw_wait_ended(const raw *r, int n)
{
    cl_event event = launch(r, r->in_order, 0, NULL);
    clWaitForEvents(1, &event);
    for (int i = 0; i < n; i++) {
        clWaitForEvents(1, &event);
    }
    clReleaseEvent(event);
}

void raw_barrier_wait(const raw *r, int n)
{
    for (int i = 0; i < n; i++) {
        cl_event event;
        clEnqueueBarrierWithWaitList(r->in_order, 0, NULL, &event);
        clFlush(r->in_order);
        wait_for(event);
    }
}

void raw_copy_wait(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        cl_event event;
        if (r->copy != NULL) {
            r->copy(r->in_order, CL_FALSE, r->y, r->x, nbytes, 0, NULL, &event);
        } else {
            clEnqueueSVMMemcpy(r->in_order, CL_FALSE, r->y, r->x, nbytes, 0, NULL, &event);
        }
        clFlush(r->in_order);
        wait_for(event);
    }
}

void raw_fill_wait(const raw *r, int n, size_t nbytes)
{
    const cl_uint pattern = 7;
    for (int i = 0; i < n; i++) {
        cl_event event;
        if (r->fill != NULL) {
            r->fill(r->in_order, r->y, &pattern, sizeof pattern, nbytes, 0, NULL, &event);
        } else {
            clEnqueueSVMMemFill(r->in_order, r->y, &pattern, sizeof pattern, nbytes, 0, NULL, &event);
        }
        clFlush(r->in_order);
        wait_for(event);
    }
}

void raw_allocate_free(const raw *r, int n, size_t nbytes)
{
    for (int i = 0; i < n; i++) {
        release(r, allocate(r, nbytes));
    }
}

void raw_build(const raw *r, const char *source)
{
    cl_int code;
    cl_program program = build(r, source);
    clReleaseKernel(clCreateKernel(program, "axpy", &code));
    clReleaseProgram(program);
}

/* From the binary of the program that raw_open built. */
void raw_build_binary(const raw *r, int n)
{
    size_t size = 0;
    clGetProgramInfo(r->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL);
    unsigned char *binary = malloc(size);
    const unsigned char *read_only = binary;
    clGetProgramInfo(r->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL);
    for (int i = 0; i < n; i++) {
        cl_int code;
        cl_program program =
            clCreateProgramWithBinary(r->context, 1, &r->device, &size, &read_only, NULL, &code);
        if (program == NULL || clBuildProgram(program, 1, &r->device, "", NULL, NULL) != CL_SUCCESS) {
            abort();
        }
        clReleaseKernel(clCreateKernel(program, "axpy", &code));
        clReleaseProgram(program);
    }
    free(binary);
}

typedef struct loop {
    const float *x;
    float *y;
    float a;
    size_t n;
    int heavy;
} loop;

static void *run(void *argument)
{
    const loop *part = argument;
    const float *restrict x = part->x;
    float *restrict y = part->y;
    const float a = part->a;
    if (part->heavy) {
        for (size_t i = 0; i < part->n; i++) {
            y[i] = sqrtf(x[i] * x[i] + a) / (sqrtf(y[i]) + a);
        }
    } else {
        for (size_t i = 0; i < part->n; i++) {
            y[i] += a * x[i];
        }
    }
    return NULL;
}

/* Threads at most MAX_THREADS; starting them is a thousandth of the work on 16 M elements. */
void raw_loop(const float *x, float *y, float a, size_t n, int heavy, int threads)
{
    pthread_t ids[MAX_THREADS];
    loop parts[MAX_THREADS];
    for (int i = 0; i < threads; i++) {
        size_t begin = n / (size_t)threads * (size_t)i;
        size_t end = i == threads - 1 ? n : n / (size_t)threads * (size_t)(i + 1);
        parts[i] = (loop){x + begin, y + begin, a, end - begin, heavy};
        if (i == threads - 1 || pthread_create(&ids[i], NULL, run, &parts[i]) != 0) {
            run(&parts[i]);
            ids[i] = pthread_self();
        }
    }
    for (int i = 0; i < threads; i++) {
        if (!pthread_equal(ids[i], pthread_self())) {
            pthread_join(ids[i], NULL);
        }
    }
}
