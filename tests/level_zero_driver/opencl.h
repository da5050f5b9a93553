/* The OpenCL driver that kernels run through: a processor's, which takes SPIR-V and any pointer. */
#ifndef SIM_OPENCL_H
#define SIM_OPENCL_H

#include <stdbool.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#define SIM_OPENCL_FUNCTIONS(X)           \
    X(clGetPlatformIDs)                   \
    X(clGetDeviceIDs)                     \
    X(clGetDeviceInfo)                    \
    X(clCreateContext)                    \
    X(clCreateCommandQueueWithProperties) \
    X(clCreateProgramWithIL)              \
    X(clCreateProgramWithBinary)          \
    X(clSetProgramSpecializationConstant) \
    X(clBuildProgram)                     \
    X(clGetProgramInfo)                   \
    X(clGetProgramBuildInfo)              \
    X(clReleaseProgram)                   \
    X(clCreateKernel)                     \
    X(clGetKernelInfo)                    \
    X(clGetKernelWorkGroupInfo)           \
    X(clReleaseKernel)                    \
    X(clSetKernelArg)                     \
    X(clSetKernelArgSVMPointer)           \
    X(clEnqueueNDRangeKernel)             \
    X(clFinish)

typedef struct sim_opencl {
#define SIM_OPENCL_MEMBER(name) __typeof__(name) *name;
    SIM_OPENCL_FUNCTIONS(SIM_OPENCL_MEMBER)
#undef SIM_OPENCL_MEMBER
    cl_device_id device;
    cl_context context;
    bool local; /* queues may run kernels on the thread that asks: cl_intel_exec_by_local_thread */
} sim_opencl;

/* Opened on first use; NULL: there is none, and *why says what was tried. */
const sim_opencl *sim_opencl_get(const char **why);
/* A queue for the caller alone until it is put back; NULL: no memory. Local: if the driver has such. */
cl_command_queue sim_opencl_take_queue(const sim_opencl *cl, bool local);
void sim_opencl_put_queue(cl_command_queue queue, bool local);

#endif
