/* What the files of the OpenCL backend share: OpenCL 3.0 and cl_intel_unified_shared_memory. */
#ifndef USM_OPENCL_OPENCL_H
#define USM_OPENCL_OPENCL_H

#include "core/device/backend.h"
#include "core/tasks/event.h"

#include "core/program/launch.h"
#include "core/tasks/link.h"
#include "core/tasks/runtime_history.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

/* One library's functions: the ICD loader's, or those of a driver that was opened directly. */
typedef struct usm_opencl_api {
#define USM_OPENCL_FUNCTION(required, name) __typeof__(name) *name;
#include "symbols.inc"
#undef USM_OPENCL_FUNCTION
} usm_opencl_api;

/* Where memory of a device comes from (docs/design.md, section 6). */
typedef enum usm_opencl_memory {
    USM_OPENCL_NO_USM,
    USM_OPENCL_INTEL_USM,  /* cl_intel_unified_shared_memory */
    USM_OPENCL_FINE_SVM,   /* fine-grained SVM buffers: all kinds */
    USM_OPENCL_COARSE_SVM, /* coarse-grained: kind "device" only */
} usm_opencl_memory;

typedef struct usm_opencl_platform {
    const usm_opencl_api *api;
    cl_platform_id id;
    unsigned version;          /* 100 * major + minor */
    bool unlisted;             /* the loader does not list it, and takes its objects, but not `id` */
    _Atomic bool joined;       /* wait.c: a thread waits in the driver; only one at a time may */
    _Atomic int polls_to_skip; /* wait.c: waits that do not poll, as other processes need the processors */
    char name[64], vendor[64], version_text[128];
    /* cl_intel_unified_shared_memory; NULL where the platform lacks it. */
    clDeviceMemAllocINTEL_fn device_alloc;
    clSharedMemAllocINTEL_fn shared_alloc;
    clHostMemAllocINTEL_fn host_alloc;
    clMemFreeINTEL_fn free;
    clGetMemAllocInfoINTEL_fn alloc_info;
    clEnqueueMemcpyINTEL_fn enqueue_memcpy;
    clEnqueueMemFillINTEL_fn enqueue_fill;
    clEnqueueMigrateMemINTEL_fn enqueue_migrate;
    clSetKernelArgMemPointerINTEL_fn set_pointer;
} usm_opencl_platform;

/* usm_device.native of root devices and parts. */
typedef struct usm_opencl_device {
    usm_opencl_platform *platform;
    cl_device_id id;
    usm_opencl_memory memory;
    bool has_priorities; /* cl_khr_priority_hints */
} usm_opencl_device;

/*
 * A driver may refuse a part of a device in a context of the whole device (SYCL 2020 allows it, OpenCL leaves
 * it open): such parts get contexts of their own behind the same usm_context.
 */
typedef struct usm_opencl_part_context {
    struct usm_opencl_part_context *next;
    cl_device_id device;
    cl_context id;
} usm_opencl_part_context;

typedef struct usm_opencl_cached_queue usm_opencl_cached_queue;

/* usm_context.native */
typedef struct usm_opencl_context {
    usm_opencl_platform *platform;
    cl_context id;
    _Atomic(usm_opencl_part_context *) parts; /* only added to, without a lock */
    usm_opencl_cached_queue *cached;          /* queue_cache.c */
    usm_opencl_memory memory;                 /* of all its devices: what the weakest has */
    _Atomic bool moves;                       /* arrays do not always begin where the driver's blocks do */
} usm_opencl_context;

/* usm_queue.native */
typedef struct usm_opencl_queue {
    cl_command_queue id;
    cl_context context;
    /*
     * profiling.c: usm_clock_ns() less the device's clock, as the driver reported it when the queue was made
     * (has_timer), or as the best of its tasks showed at compared_ns. Queue lock.
     */
    bool has_timer;
    int64_t clock_ns, compared_ns;
    usm_runtime_history history; /* wait.c */
} usm_opencl_queue;

/* What the driver's event of a task means; of tasks in the driver alone. */
typedef enum usm_opencl_state {
    USM_OPENCL_BEHIND, /* enqueued again if an event fails that is in its wait list for the order alone */
    USM_OPENCL_FINAL,  /* fails with every event of its wait list, which may be empty */
} usm_opencl_state;

typedef struct usm_opencl_event {
    usm_event event;
    /* The driver's event, from the enqueue to the end of this struct; NULL for host tasks and before. */
    _Atomic(cl_event) id;
    usm_opencl_state state;
    _Atomic cl_int status; /* as the driver had it last */
    int32_t expected_us;   /* with all that it waits for; below 0: it may take long */
    const void *kernel;    /* of a launch; compared, never dereferenced, as `items` */
    size_t items;
    int64_t enqueued_ns; /* in profiling queues, and of launches that nothing is known of; else 0 */
    cl_event refused; /* the driver's first event where the task went again: others may still wait for it */
} usm_opencl_event;

USM_NATIVE_OF(usm_opencl, queue)
USM_NATIVE_OF(usm_opencl, device)
USM_NATIVE_OF(usm_opencl, context)

static inline const usm_opencl_platform *usm_opencl_platform_of(const usm_queue *queue)
{
    return usm_opencl_context_of(queue->context)->platform;
}

static inline const usm_opencl_platform *usm_opencl_platform_of_program(const usm_program *program)
{
    return usm_opencl_context_of(program->context)->platform;
}

/* The specification's name of a code: "CL_INVALID_VALUE"; "CL_UNKNOWN_ERROR" for other codes. */
const char *usm_opencl_name(cl_int code);
/* The status of a failed call, with function and code in the error. */
usm_status usm_opencl_failed(usm_error *error, cl_int code, const char *function);
/* The code of a call that gave something back: a failure is reported once (unretrieved.h). */
void usm_opencl_given_back(cl_int code, const char *function);

/* library.c: platforms of the loader, and of drivers in the Python environment that it does not list. */
usm_status usm_opencl_platforms(usm_opencl_platform ***platforms, size_t *n, usm_error *error);

/*
 * context.c: the driver's context for a device, if there is one already, as for all memory; else
 * NULL. No lock.
 */
cl_context usm_opencl_find_context(const usm_context *context, cl_device_id device);
/* context.c: the driver's context for work and memory of this device. Any thread, no lock. */
usm_status usm_opencl_native_context(const usm_context *context, const usm_device *device, cl_context *out,
                                     usm_error *error);

/* The events that a command waits for, and the driver's queue that it is enqueued in. */
typedef struct usm_opencl_turn {
    const usm_queue *queue;
    cl_command_queue id;
    cl_uint n_waits;
    const cl_event *waits; /* NULL where there are none */
} usm_opencl_turn;

/* usm_kernel.native */
typedef struct usm_opencl_kernel {
    cl_kernel id;
    /*
     * An OpenCL kernel holds its arguments, and clSetKernelArg is not thread-safe on one kernel (OpenCL API
     * 3.0, 5.9.2): locked from the first argument to the enqueue. Nothing of ours is locked under it.
     */
    pthread_mutex_t lock;
    uint64_t free_generation; /* usm_context.free_generation when the pointers in `set` were handed over */
    bool had_pointer;         /* `id` was given an SVM pointer other than NULL */
    usm_argument set[];       /* what the driver has, one a parameter; kind UNKNOWN: not known */
} usm_opencl_kernel;

/* launch.c: enqueues the launch and gives out the driver's event. Queue lock held; takes the kernel's. */
usm_status usm_opencl_launch_kernel(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *out,
                                    usm_error *error);

/* Entries of the table, each in the file that its first word names. */
USM_DRIVER_ENTRIES(USM_ENTRY_DECLARE, usm_opencl)
USM_NATIVE_ENTRY(usm_opencl, handle);
USM_NATIVE_ENTRY(usm_opencl, inspect);
USM_NATIVE_ENTRY(usm_opencl, count);
USM_ENTRY(usm_opencl, context_destroy);

/* A built-in kernel that csrc/cpu has: core/builtin/builtin.c gives these to devices that are the host's. */
static inline bool usm_opencl_is_cpu_kernel(const usm_queue *queue, const usm_launch *launch)
{
    return launch->kernel->program->backend != queue->backend;
}
/* native_kernel.c: the command is done by csrc/cpu, called by the driver in its order. */
bool usm_opencl_is_native_kernel(const usm_queue *queue, const usm_command *command);
/* native_kernel.c: enqueues such a command. It is borrowed until the driver's event has ended. */
cl_int usm_opencl_enqueue_native(const usm_opencl_turn *turn, const usm_command *command, cl_event *id);
/* native_kernel.c: does such a command, or a smaller one, on the calling thread and up to `width` others. */
void usm_opencl_run_on_cpu(const usm_command *command, unsigned width);
/* command.c: gives the command to the driver behind `waits`, and sets the event's id. Queue lock at most. */
usm_status usm_opencl_enqueue(usm_opencl_event *event, const usm_command *command, cl_uint n_waits,
                              const cl_event *waits, usm_error *error);
/*
 * queue_cache.c: a queue of the driver with these properties that no usm_queue uses any more; the caller owns
 * it. NULL: there is none. Any thread.
 */
cl_command_queue usm_opencl_queue_cache_take(const usm_queue *queue, cl_context context);
/* queue_cache.c: keeps the driver's queue until its context is destroyed. False: the caller releases it. */
bool usm_opencl_queue_cache_put(const usm_queue *queue);
void usm_opencl_queue_cache_free(usm_opencl_context *context);
void usm_opencl_queue_cache_fork(usm_fork_phase phase);
/* event.c: what the driver says of the task; its own errors count as the task's. Any thread. */
cl_int usm_opencl_ask(const usm_opencl_event *event, cl_event id);
/* wait.c: fills what is expected of the task's time, behind tasks that take `before_us`. Queue lock held. */
void usm_opencl_expect(usm_opencl_event *event, const usm_command *command, int32_t before_us);
/* wait.c: records how long a launch has taken. */
void usm_opencl_learn(const usm_opencl_event *event, int64_t took_ns);
/* wait.c: polls briefly, then waits in the driver if the task is expected to be short. True: it has ended. */
bool usm_opencl_wait(usm_opencl_event *event, cl_event id);
/* profiling.c: compares the clocks once, where the driver can read its own. The queue is new. */
void usm_opencl_compare_clocks(const usm_opencl_platform *platform, cl_device_id device,
                               usm_opencl_queue *queue);
/* profiling.c: fills start_ns and end_ns of a task that has ended. No lock. */
void usm_opencl_read_times(usm_opencl_event *event);
extern usm_fork_guard usm_opencl_guard; /* library.c */

extern const usm_backend usm_opencl_backend;

#endif
