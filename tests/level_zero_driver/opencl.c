#include "opencl.h"

#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE 64

static sim_opencl opencl;
static bool works;
static char problem[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* spare queues; a leaf */
static cl_command_queue spare[2][SPARE];                 /* [1]: local */
static int n_spare[2];

static bool runs_locally(cl_device_id device)
{
    char names[8192] = "";
    return opencl.clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(names), names, NULL) == CL_SUCCESS &&
           strstr(names, "cl_intel_exec_by_local_thread") != NULL;
}

/* A processor that takes SPIR-V, of any platform. */
static bool find_device(void)
{
    cl_platform_id platforms[16];
    cl_uint n_platforms = 0;
    if (opencl.clGetPlatformIDs(16, platforms, &n_platforms) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n_platforms && i < 16; i++) {
        cl_device_id device;
        size_t length = 0;
        if (opencl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL) != CL_SUCCESS)
            continue;
        if (opencl.clGetDeviceInfo(device, CL_DEVICE_IL_VERSION, 0, NULL, &length) != CL_SUCCESS ||
            length < 2)
            continue;
        cl_int code;
        opencl.device = device;
        opencl.local = runs_locally(device);
        opencl.context = opencl.clCreateContext(NULL, 1, &device, NULL, NULL, &code);
        if (code == CL_SUCCESS)
            return true;
    }
    return false;
}

static bool open_library(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    size_t used = strlen(problem);
    if (library == NULL) {
        snprintf(problem + used, sizeof(problem) - used, "%s; ", dlerror());
        return false;
    }
    bool whole = true;
#define RESOLVE(function)                                                     \
    opencl.function = (__typeof__(opencl.function))dlsym(library, #function); \
    whole = whole && opencl.function != NULL;
    SIM_OPENCL_FUNCTIONS(RESOLVE)
#undef RESOLVE
    if (whole && find_device())
        return true;
    snprintf(problem + used, sizeof(problem) - used, "%s has no processor that takes SPIR-V; ", name);
    return false; /* stays loaded: OpenCL drivers do not survive their unloading */
}

static void open_opencl(void)
{
    const char *named = sim_settings()->opencl;
    if (named != NULL && *named != '\0')
        works = open_library(named);
    else
        works = open_library("libintelocl.so") || open_library("libOpenCL.so.1");
}

const sim_opencl *sim_opencl_get(const char **why)
{
    pthread_once(&once, open_opencl);
    *why = problem;
    return works ? &opencl : NULL;
}

cl_command_queue sim_opencl_take_queue(const sim_opencl *cl, bool local)
{
    static const cl_queue_properties here[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL,
                                               0};
    cl_command_queue queue = NULL;
    local = local && cl->local;
    pthread_mutex_lock(&lock);
    if (n_spare[local] > 0)
        queue = spare[local][--n_spare[local]];
    pthread_mutex_unlock(&lock);
    cl_int code;
    return queue != NULL
               ? queue
               : cl->clCreateCommandQueueWithProperties(cl->context, cl->device, local ? here : NULL, &code);
}

void sim_opencl_put_queue(cl_command_queue queue, bool local)
{
    local = local && opencl.local;
    pthread_mutex_lock(&lock);
    if (n_spare[local] < SPARE)
        spare[local][n_spare[local]++] =
            queue; /* else it is lost: more threads than this never run at once */
    pthread_mutex_unlock(&lock);
}
