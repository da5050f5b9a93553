/* What the files of the OpenCL backend share: OpenCL 3.0 and cl_intel_unified_shared_memory. */
#ifndef USM_OPENCL_OPENCL_H
#define USM_OPENCL_OPENCL_H

#include "core/device/backend.h"
#include "core/tasks/stream.h"

#include "core/program/kernels.h"
#include "core/program/launch.h"
#include "core/tasks/habit.h"
#include "core/tasks/worker.h"

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
    _Atomic int shy;     /* waits that are left to the driver at once: wait.c */
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

/* A built-in kernel in one native context. */
typedef struct usm_opencl_kernel {
    struct usm_opencl_kernel *next;
    cl_context context;
    char key[64];
    cl_program program;
    cl_kernel id;
    pthread_mutex_t lock; /* its arguments; a leaf */
} usm_opencl_kernel;

typedef struct usm_opencl_kernel_name {
    const char *file; /* of csrc/kernels */
    char function[32], key[64], options[160];
} usm_opencl_kernel_name;

typedef struct usm_opencl_spare usm_opencl_spare;

/* usm_context.native */
typedef struct usm_opencl_context {
    usm_opencl_platform *platform;
    cl_context id;
    _Atomic(usm_opencl_part_context *) parts; /* only added to, without a lock */
    _Atomic(usm_opencl_kernel *) kernels;     /* the same */
    usm_opencl_spare *spare;                  /* queues for another life */
    usm_opencl_memory memory;                 /* of all its devices: what the weakest has */
    _Atomic bool moves;                       /* arrays do not always begin where the driver's blocks do */
} usm_opencl_context;

/* How looking for the end of tasks before waiting for it went (wait.c): by kernel, as habits are. */
typedef struct usm_opencl_looks {
    _Atomic size_t size;     /* the smallest that was looked for in vain */
    _Atomic unsigned misses; /* in a row */
    _Atomic unsigned waits;  /* since the last look */
} usm_opencl_looks;

/* Of a queue that is out of order: where tasks go that come behind each other all the same. */
typedef struct usm_opencl_chain {
    cl_command_queue id;    /* in order; NULL until it is worth it. Queue lock, as long as there are tasks */
    unsigned wanted;        /* tasks that waited for others of the queue, up to what it takes; queue lock */
    uint64_t last;          /* usm_event.order of the last task in it; queue lock */
    _Atomic unsigned tasks; /* in it that nobody has claimed */
} usm_opencl_chain;

/* usm_queue.native */
typedef struct usm_opencl_queue {
    usm_worker worker; /* threads of host tasks; first: it frees this block */
    cl_command_queue id;
    usm_opencl_chain chain; /* chain.c */
    cl_context context;
    /* times.c: usm_clock_ns() - the device's clock, as the driver told when the queue was made (has_timer),
     * or as the best of its tasks told, at compared_ns; queue lock */
    bool has_timer;
    int64_t clock_ns, compared_ns;
    usm_habits habits;                  /* quick.c */
    usm_opencl_looks looks[USM_HABITS]; /* wait.c */
    bool ticking, awaited; /* queue lock; see event.c: it is looked at soon, or when a callback comes */
    _Atomic int n_quiet;   /* events that are quiet and that nobody has claimed */
    struct usm_queue *owner;
    struct usm_opencl_queue *next_ticking; /* event.c */
} usm_opencl_queue;

typedef struct usm_opencl_event {
    usm_event event;
    /* The driver's event, from the enqueue to the end of this struct; NULL for host tasks and before. */
    _Atomic(cl_event) id;
    usm_strided *strided; /* the plan of `command`; owned */
    usm_launch *launch;   /* the same for a kernel */
    cl_int status;        /* as the driver's callback had it */
    bool late;            /* enqueued after all its links had ended */
    bool chained;         /* enqueued into the queue's chain; final then, and set before id */
    bool final;           /* what fails in its wait list fails it here too: it never goes again */
    bool quick;           /* over in a moment, with all that it waits for; set before id */
    int32_t cost_us;      /* about how long it takes with all that it waits for, where that is quick */
    _Atomic bool quiet;   /* enqueued without a callback */
    _Atomic bool loud;    /* a callback was asked for */
    _Atomic bool claimed; /* by the thread that ends it, whoever was first to see that the driver has */
    _Atomic bool joined;  /* a thread waits for it in the driver, and will look at the list of ended events */
    const void *kernel;   /* of a launch; for comparing alone, as `items` */
    size_t items;
    int64_t enqueued_ns, ended_ns; /* of launches and in profiling queues; of launches */
    cl_event refused; /* the driver's first event where the task went again: others may still wait for it */
    _Atomic unsigned ticks; /* how often the thread found it unended while it was quiet */
    struct usm_opencl_event *next_done, *next_seen, *next_late;
    /* Not zeroed at first, from here on. */
    usm_command command; /* of a task that was not enqueued in its submission, and of one that may go again */
    usm_command copy;    /* what move() does where the command became a host task */
    usm_work work;       /* host tasks */
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

/* chain.c. Queue lock held, all of them but the last two. May this task go into the chain? */
bool usm_opencl_chain_takes(usm_queue *queue, bool follows);
/* Is this the task that the chain ends with? */
bool usm_opencl_chain_ends_with(const usm_queue *queue, const usm_opencl_event *event);
void usm_opencl_chain_add(usm_opencl_event *event);
/* The task has ended, or was refused after all. */
void usm_opencl_chain_drop(usm_opencl_event *event);
/* Others have the driver's queue from now on: what they enqueue there may rely on what is in it. */
void usm_opencl_chain_close(usm_queue *queue);
/* The driver's queue of this task. */
static inline cl_command_queue usm_opencl_queue_of_task(const usm_opencl_event *event)
{
    const usm_opencl_queue *native = usm_opencl_queue_of(event->event.queue);
    return event->chained ? native->chain.id : native->id;
}

/* kernel.c. The first may build for a while: no lock. */
usm_status usm_opencl_kernel_get(const usm_queue *queue, const usm_opencl_kernel_name *name,
                                 usm_opencl_kernel **out, usm_error *error);
void usm_opencl_kernels_free(usm_opencl_context *context);
/* Strided commands and sequences. */
usm_status usm_opencl_launch(const usm_opencl_turn *turn, const usm_command *command, cl_event *id,
                             usm_error *error);

/* The kernel's lock held: arguments belong to the kernel until the launch. */
cl_int usm_opencl_set_pointer(const usm_queue *queue, cl_kernel kernel, cl_uint index, const void *pointer);

/* usm_program.native */
typedef struct usm_opencl_program {
    cl_program id;
    cl_device_id device;
} usm_opencl_program;

/* launch.c: kernels of users. */
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
usm_status usm_opencl_queue_prepare(usm_queue *queue, const usm_command *command, usm_error *error);
void usm_opencl_queue_fork(usm_queue *queue, usm_fork_phase phase);
void usm_opencl_event_join(usm_event *event);
void usm_opencl_event_hurry(usm_event *event);
bool usm_opencl_event_in_driver(usm_event *event);
bool usm_opencl_event_is_running(usm_event *event);
void usm_opencl_event_destroy(usm_event *event);
void usm_opencl_fork(usm_fork_phase phase);

/* here.c: strided commands and built-in kernels of devices that are the host. */
cl_int usm_opencl_strided_here(const usm_opencl_turn *turn, const usm_strided *strided, cl_event *id);
cl_int usm_opencl_block_here(const usm_opencl_turn *turn, const usm_command *command, cl_event *id);
cl_int usm_opencl_builtin_here(const usm_opencl_turn *turn, const usm_launch *launch, cl_event *id);
/* The same on the calling thread, without the driver: nothing has to be waited for. */
void usm_opencl_builtin_now(const usm_launch *launch, unsigned width);
/* A kernel of the host's, which core/program/builtin.c has found for such a device? */
static inline bool usm_opencl_is_builtin_here(const usm_queue *queue, const usm_launch *launch)
{
    return launch->kernel->program->backend != queue->backend;
}
/* queue.c: a queue of the driver's with what `queue` was made with. NULL: `code` says why; the caller's. */
cl_command_queue usm_opencl_driver_queue(const usm_queue *queue, cl_context context, bool in_order,
                                         cl_int *code);
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
/* quick.c. The first before the task is enqueued (queue lock), the second when it has ended. */
bool usm_opencl_is_quick(usm_opencl_event *event, const usm_command *command, int32_t before_us);
void usm_opencl_learn(const usm_opencl_event *event);
/* wait.c: what the driver says of the task: CL_COMPLETE, an error, or one of the states before. */
cl_int usm_opencl_ask_status(const usm_opencl_event *event);
/* wait.c: waits for a quick task; `id` is its driver's event. False: this thread has to wait otherwise. True:
 * it has ended, and *complete says whether it is known to have succeeded. */
bool usm_opencl_wait(const usm_opencl_event *event, cl_event id, bool *complete);
/* times.c: where the driver tells, the queue's clocks are compared once; and of a task that has ended: */
void usm_opencl_compare_clocks(const usm_opencl_platform *platform, cl_device_id device,
                               usm_opencl_queue *queue);
void usm_opencl_read_times(usm_opencl_event *event);
/* event.c: from now on the end of the driver's event is the end of ours. */
usm_status usm_opencl_watch(usm_opencl_event *event, usm_error *error);
/* event.c: the same without a callback, for what is over in a moment and is final. Queue lock. */
void usm_opencl_watch_quietly(usm_opencl_event *event);
/* event.c: the queue ends; it has no events. */
void usm_opencl_forget_queue(usm_opencl_queue *queue);
/* event.c: starts the thread that ends events; once a process. False when the system has no thread. */
bool usm_opencl_watcher_start(void);
/* True in the child of a process that had started the backend: no driver survives that. */
bool usm_opencl_forked(void);
/* USM_FORKED, with what to do about it. */
usm_status usm_opencl_after_fork(usm_error *error);

extern const usm_backend usm_opencl_backend;

#endif
