/* What the files of the OpenCL backend share: OpenCL 3.0 and cl_intel_unified_shared_memory. */
#ifndef USM_OPENCL_OPENCL_H
#define USM_OPENCL_OPENCL_H

#include "core/device/backend.h"
#include "core/tasks/stream.h"

#include "core/program/launch.h"
#include "core/tasks/completion.h"
#include "core/tasks/fork.h"
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
    unsigned version;    /* 100 * major + minor */
    bool unlisted;       /* the loader's functions work on it, but those that are given the platform itself */
    _Atomic bool joined; /* a thread waits in the driver, where that is for one alone: wait.c */
    _Atomic int polls_to_skip; /* wait.c: the processors are wanted by others */
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

typedef struct usm_opencl_spare usm_opencl_spare;

/* usm_context.native */
typedef struct usm_opencl_context {
    usm_opencl_platform *platform;
    cl_context id;
    _Atomic(usm_opencl_part_context *) parts; /* only added to, without a lock */
    usm_opencl_spare *spare;                  /* queues for another life */
    usm_opencl_memory memory;                 /* of all its devices: what the weakest has */
    _Atomic bool moves;                       /* arrays do not always begin where the driver's blocks do */
} usm_opencl_context;

/* usm_queue.native */
typedef struct usm_opencl_queue {
    cl_command_queue id;
    cl_context context;
    /* times.c: usm_clock_ns() - the device's clock, as the driver told when the queue was made (has_timer),
     * or as the best of its tasks told, at compared_ns; queue lock */
    bool has_timer;
    int64_t clock_ns, compared_ns;
    usm_runtime_history history; /* wait.c */
} usm_opencl_queue;

/* What the driver's event of a task means; of tasks in the driver alone. */
typedef enum usm_opencl_state {
    USM_OPENCL_BEHIND, /* it may fail because a task in its wait list did: then it goes again, alone */
    USM_OPENCL_FINAL,  /* what fails in its wait list fails it too, or nothing is in there */
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
    /* Not zeroed at first, from here on. */
    usm_later later;
} usm_opencl_event;

static inline usm_opencl_queue *usm_opencl_queue_of(const usm_queue *queue)
{
    return queue->native;
}

static inline usm_opencl_device *usm_opencl_device_of(const usm_device *device)
{
    return device->native;
}

static inline usm_opencl_context *usm_opencl_context_of(const usm_context *context)
{
    return context->native;
}

static inline const usm_opencl_platform *usm_opencl_platform_of(const usm_queue *queue)
{
    return usm_opencl_context_of(queue->context)->platform;
}

/* The specification's name of a code: "CL_INVALID_VALUE"; "CL_<number>" for one that is not in it. */
const char *usm_opencl_name(cl_int code);
/* The status of a failed call, with function and code in the error. */
usm_status usm_opencl_failed(usm_error *error, cl_int code, const char *function);

/* library.c: platforms of the loader, and of drivers in the Python environment that it does not list. */
usm_status usm_opencl_platforms(usm_opencl_platform ***platforms, size_t *n, usm_error *error);

/* memory.c: the driver's context for work and memory of this device. Any thread, no lock. */
usm_status usm_opencl_native_context(const usm_context *context, const usm_device *device, cl_context *out,
                                     usm_error *error);

/* What a command comes behind, and in which of the driver's queues. */
typedef struct usm_opencl_turn {
    const usm_queue *queue;
    cl_command_queue id;
    cl_uint n_waits;
    const cl_event *waits; /* NULL where there are none */
} usm_opencl_turn;

/* usm_program.native */
typedef struct usm_opencl_program {
    cl_program id;
    cl_device_id device;
} usm_opencl_program;

/* kernel.c: kernels, of users and built-in ones. */
usm_status usm_opencl_launch_kernel(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *out,
                                    usm_error *error);
usm_status usm_opencl_program_build(usm_program *base, const usm_program_source *source, char **log,
                                    usm_error *error);
void usm_opencl_program_destroy(usm_program *base);
usm_status usm_opencl_program_binary(usm_program *base, void **out, size_t *size, usm_error *error);
usm_status usm_opencl_kernel_create(usm_kernel *base, const char *name, usm_error *error);
void usm_opencl_kernel_destroy(usm_kernel *base);

/* Entries of the table, by file. */
usm_status usm_opencl_start(usm_device ***devices, size_t *n_devices, usm_error *error);
usm_status usm_opencl_device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                       usm_error *error);
void *usm_opencl_native_handle(usm_native what, const void *object);
void usm_opencl_native_count(usm_native what, void *handle, bool more);
usm_status usm_opencl_native_inspect(usm_native what, void *handle, usm_native_facts *facts,
                                     usm_error *error);
usm_status usm_opencl_context_create(usm_context *context, usm_error *error);
void usm_opencl_context_destroy(usm_context *context);
usm_status usm_opencl_memory_allocate(usm_context *context, usm_device *device, usm_kind kind, size_t nbytes,
                                      void **out, bool *zeroed, usm_error *error);
void usm_opencl_memory_free(usm_context *context, usm_device *device, usm_kind kind, void *pointer,
                            size_t nbytes);
usm_status usm_opencl_memory_query(usm_context *context, const void *pointer, usm_pointer_info *info,
                                   usm_error *error);
usm_memory_connection usm_opencl_memory_connection(const usm_place *memory, usm_kind kind,
                                                   const usm_place *user);
usm_status usm_opencl_queue_create(usm_queue *queue, usm_error *error);
void usm_opencl_queue_destroy(usm_queue *queue);
bool usm_opencl_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns,
                              int64_t *end_ns);
usm_status usm_opencl_queue_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                                   usm_error *error);
bool usm_opencl_queue_poll(usm_queue *queue);
void usm_opencl_event_wait(usm_event *event, int64_t budget_ns);
usm_status usm_opencl_event_result(usm_event *event, usm_error *error);
bool usm_opencl_event_in_driver(usm_event *event);
bool usm_opencl_event_is_running(usm_event *event);
void usm_opencl_event_destroy(usm_event *event);

/* here.c: strided commands and built-in kernels of devices that are the host. */
cl_int usm_opencl_strided_here(const usm_opencl_turn *turn, const usm_strided *strided, cl_event *id);
cl_int usm_opencl_block_here(const usm_opencl_turn *turn, const usm_command *command, cl_event *id);
cl_int usm_opencl_builtin_here(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *id);
/* The same on the calling thread, without the driver: nothing has to be waited for. */
void usm_opencl_builtin_now(const usm_launch *launch, unsigned width);
/* A kernel of the host's, which core/builtin/builtin.c has found for such a device? */
static inline bool usm_opencl_is_builtin_here(const usm_queue *queue, const usm_launch *launch)
{
    return launch->kernel->program->backend != queue->backend;
}
/* command.c: a copy between regions that overlap. */
bool usm_opencl_overlaps(const usm_command *command);
/* command.c: gives the command to the driver behind `waits`, and sets the event's id. Queue lock at most. */
usm_status usm_opencl_enqueue(usm_opencl_event *event, const usm_command *command, cl_uint n_waits,
                              const cl_event *waits, usm_error *error);
/* spare.c. NULL: there is none; the caller's. */
cl_command_queue usm_opencl_spare_take(const usm_queue *queue, cl_context context);
/* False: the driver's queue is to be released. */
bool usm_opencl_spare_put(const usm_queue *queue);
void usm_opencl_spares_free(usm_opencl_context *context);
void usm_opencl_spares_fork(usm_fork_phase phase);
/* event.c: what the driver says of the task; its own errors count as the task's. Any thread. */
cl_int usm_opencl_ask(const usm_opencl_event *event, cl_event id);
/* wait.c: below this budget the caller holds the GIL, and may not yield. */
#define USM_OPENCL_YIELD_NS 10000
/* wait.c: fills what is expected of the task's time, behind tasks that take `before_us`. Queue lock held. */
void usm_opencl_expect(usm_opencl_event *event, const usm_command *command, int32_t before_us);
/* wait.c: a launch has taken so long. */
void usm_opencl_learn(const usm_opencl_event *event, int64_t took_ns);
/* wait.c: asks for a moment, then waits in the driver for a task that is short. True once it has ended. */
bool usm_opencl_wait(usm_opencl_event *event, cl_event id, int64_t budget_ns);
/* times.c: where the driver tells, the queue's clocks are compared once; and of a task that has ended: */
void usm_opencl_compare_clocks(const usm_opencl_platform *platform, cl_device_id device,
                               usm_opencl_queue *queue);
void usm_opencl_read_times(usm_opencl_event *event);
extern usm_fork_guard usm_opencl_guard; /* library.c */
static inline bool usm_opencl_forked(void)
{
    return usm_fork_guard_is_child(&usm_opencl_guard);
}
static inline usm_status usm_opencl_after_fork(usm_error *error)
{
    return usm_fork_guard_refuse(&usm_opencl_guard, error);
}

extern const usm_backend usm_opencl_backend;

#endif
