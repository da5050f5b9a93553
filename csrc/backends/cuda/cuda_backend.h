/* What the files of the CUDA backend share: the driver interface of CUDA 12 and later, opened at run time. */
#ifndef USM_CUDA_CUDA_BACKEND_H
#define USM_CUDA_CUDA_BACKEND_H

#include "../../core/backend.h"

#include "../../core/kernels.h"
#include "../../core/launch.h"
#include "../../core/worker.h"

#include <cuda.h>

/* Functions of libcuda. Optional ones are NULL where the driver is older than they are. */
typedef struct usm_cuda_api {
#define USM_CUDA_FUNCTION(required, name) __typeof__(name) *name;
#include "symbols.inc"
#undef USM_CUDA_FUNCTION
} usm_cuda_api;

/* Filled by start(), constant from then on. */
extern usm_cuda_api usm_cuda;

/* usm_device.native. CUDA's devices have no parts here, so all are root devices. */
typedef struct usm_cuda_device {
    CUdevice id;
    _Atomic(CUcontext)
        context;          /* the primary one, retained at first use and kept for the life of the process */
    bool has_pools;       /* memory that is allocated in stream order */
    bool has_managed;     /* managed memory that the host may touch while the device works */
    bool has_pageable;    /* kernels use any memory of the process */
    int major, minor;     /* compute capability */
    _Atomic int lost;     /* a CUresult that no call of this context survives, once one was seen */
    CUmemoryPool pool;    /* has_pools */
    CUstream allocations; /* has_pools: where memory comes from and goes to; nothing else is enqueued there */
} usm_cuda_device;

static inline usm_cuda_device *usm_cuda_device_of(const usm_device *device)
{
    return device->native;
}

/* status.c. The driver's name of a code: "CUDA_ERROR_INVALID_VALUE". */
const char *usm_cuda_name(CUresult code);
/* The status of a failed call, with function and code in the error; CUDA_ERROR_OUT_OF_MEMORY is USM_MEMORY.
 */
usm_status usm_cuda_failed(usm_error *error, CUresult code, const char *function);

/*
 * device.c. Makes the device's primary context current on this thread, for a few calls; what was current
 * before is so again after usm_cuda_leave. Any thread, any lock. Fails without a trace.
 */
typedef struct usm_cuda_scope {
    bool pushed;
} usm_cuda_scope;
usm_status usm_cuda_retain_primary(usm_device *device, usm_error *error);
usm_status usm_cuda_push(CUcontext context, usm_error *error);

static inline usm_status usm_cuda_enter(usm_device *device, usm_cuda_scope *scope, usm_error *error)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    CUcontext own = atomic_load_explicit(&native->context, memory_order_acquire), current = NULL;
    scope->pushed = false;
    if (USM_UNLIKELY(own == NULL)) {
        usm_status status = usm_cuda_retain_primary(device, error);
        if (status != USM_OK) {
            return status;
        }
        own = atomic_load_explicit(&native->context, memory_order_acquire);
    }
    if (USM_LIKELY(usm_cuda.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == own)) {
        return USM_OK;
    }
    usm_status status = usm_cuda_push(own, error);
    scope->pushed = status == USM_OK;
    return status;
}

static inline void usm_cuda_leave(const usm_cuda_scope *scope)
{
    if (scope->pushed) {
        CUcontext ours;
        (void)usm_cuda.cuCtxPopCurrent(&ours);
    }
}

/* program.c, kernel.c and launch.c: programs and launches of users. */
usm_status usm_cuda_program_build(usm_program *base, const usm_program_source *source, char **log,
                                  usm_error *error);
void usm_cuda_program_destroy(usm_program *base);
usm_status usm_cuda_program_binary(usm_program *base, void **out, size_t *size, usm_error *error);
usm_status usm_cuda_kernel_create(usm_kernel *base, const char *name, usm_error *error);
void usm_cuda_kernel_destroy(usm_kernel *base);
/*
 * Enqueues a user's kernel (launch.c), or a strided copy, sequence, or fill that the driver has no call for
 * (builtin.c). The device's context is current (usm_cuda_enter), the queue's lock may be held; does not wait.
 */
usm_status usm_cuda_launch(const usm_queue *queue, CUstream stream, const usm_launch *launch,
                           usm_error *error);
usm_status usm_cuda_run_builtin(const usm_queue *queue, CUstream stream, const usm_command *command,
                                usm_error *error);
/* builtin.c: loads the modules that the command needs, with no lock held; may take long the first time. */
usm_status usm_cuda_prepare(usm_queue *queue, const usm_command *command, usm_error *error);

/* True in the child of a process that had started the backend: the driver does not survive that. */
bool usm_cuda_forked(void);
/* USM_FORKED, with what to do about it. */
usm_status usm_cuda_after_fork(usm_error *error);

extern const usm_backend usm_cuda_backend;

#endif
