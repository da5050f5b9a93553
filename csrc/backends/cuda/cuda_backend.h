/* What the files of the CUDA backend share: the driver interface of CUDA 12 and later, opened at run time. */
#ifndef USM_CUDA_CUDA_BACKEND_H
#define USM_CUDA_CUDA_BACKEND_H

#include "core/base/freelist.h"
#include "core/device/backend.h"
#include "core/tasks/event.h"

#include "core/program/launch.h"
#include "core/tasks/link.h"

#include <cuda.h>

/* Functions of libcuda. Optional ones are NULL where the driver is older than they are. */
typedef struct usm_cuda_api {
#define USM_CUDA_FUNCTION(required, name) __typeof__(name) *name;
#define USM_CUDA_NAMED(required, name, member, parameters) CUresult(CUDAAPI *member) parameters;
#include "symbols.inc"
#undef USM_CUDA_FUNCTION
#undef USM_CUDA_NAMED
} usm_cuda_api;

/* Filled by start(), constant from then on. */
extern usm_cuda_api usm_cuda;

/* usm_device.native. CUDA's devices have no parts here, so all are root devices. */
typedef struct usm_cuda_device {
    CUdevice id;
    _Atomic(CUcontext)
        context;            /* the primary one, retained at first use and kept for the life of the process */
    bool has_pools;         /* memory that is allocated in stream order */
    bool has_managed;       /* managed memory that the host may touch while the device works */
    bool has_pageable;      /* kernels use any memory of the process */
    int major, minor;       /* compute capability */
    _Atomic int lost;       /* a CUresult that no call of this context survives, once one was seen */
    _Atomic uint64_t byte;  /* a CUdeviceptr to free for usm_cuda_native_synchronize, if memory has run out */
    _Atomic uint8_t *peers; /* by ordinal: a usm_memory_connection each */
    pthread_mutex_t lock;   /* a leaf: what follows */
    CUmemoryPool pool;      /* has_pools; made at first use */
    CUstream allocations;   /* where memory comes from and goes to; nothing else is enqueued there */
    usm_freelist fences;    /* of timelines that were closed */
    usm_freelist exported;  /* events for other processes, of blocks that were closed (share_order.c) */
    _Atomic(struct usm_cuda_blas *) blas; /* cublas.c; NULL: not asked for yet, or there is no library */
} usm_cuda_device;

/* A driver's event behind all tasks of a timeline up to a number. */
typedef struct usm_cuda_fence {
    struct usm_cuda_fence *next;
    CUevent id;
    uint64_t number;
} usm_cuda_fence;

/*
 * A stream of the driver as one queue uses it (timeline.c). Its tasks are numbered from 1 as they are
 * enqueued; where a number is read from `submitted`, whatever is recorded afterwards lies behind the task of
 * that number.
 */
typedef struct usm_cuda_timeline {
    CUstream stream; /* NULL: not made yet */
    usm_device *device;
    bool foreign;       /* another library made it */
    _Atomic bool eager; /* every task gets its fence at once: later the stream may be destroyed or captured */
    _Atomic uint64_t submitted;    /* written under the queue lock, read by any thread */
    _Atomic uint64_t completed;    /* the driver has ended this task and all before */
    _Atomic uint64_t fenced;       /* the last fence's number */
    usm_lock lock;                 /* what follows; nothing but a device's lock and the driver under it */
    usm_cuda_fence *first, *last;  /* unended, in order */
    usm_freelist spare;            /* fences that have ended */
    struct usm_cuda_event *latest; /* queue lock: the last task, NULL once it was seen to have ended */
} usm_cuda_timeline;

#define USM_CUDA_TIMELINES 4

/* usm_queue.native */
typedef struct usm_cuda_queue {
    usm_cuda_timeline timelines[USM_CUDA_TIMELINES]; /* the first one is the queue's handle */
    _Atomic unsigned n_timelines;                    /* only grows, under the queue's lock, as what follows */
    unsigned next_timeline;
    pthread_t thread; /* of the per-thread default stream */
    bool per_thread;
    _Atomic bool waits;                 /* for another process, and no task is behind that yet */
    struct usm_cuda_captured *captured; /* queue lock: records that no graph took (capture.c) */
    CUevent base;                       /* profiling: an event, and when it was by our clock */
    int64_t base_ns;
    char *
        suspect_kernel; /* queue lock: how the context was lost, as far as the queue's tasks show; malloc'd */
} usm_cuda_queue;

/* A piece of pinned memory of the process, for copies from and to pageable memory. */
typedef struct usm_cuda_pinned usm_cuda_pinned;
typedef struct usm_cuda_captured usm_cuda_captured; /* capture.c */

typedef struct usm_cuda_event {
    usm_event event;
    /* Both set once the driver has it: 0 before, and for work of the host. */
    _Atomic uint64_t number;
    usm_cuda_timeline *timeline;
    CUevent start, end;       /* of profiling queues */
    usm_kernel *kernel;       /* of a launch: one count, for messages and so that its module stays */
    usm_cuda_pinned *landing; /* a small copy from or to pageable memory, whose command is kept: its data */
    bool landed;              /* nothing has to be moved from `landing` at the end */
    CUdeviceptr block;        /* freed with the event; 0 for none */
    int lost;                 /* the code of the context that was lost with it */
} usm_cuda_event;

/* The task's number in its timeline; 0: the driver does not have it. Any thread. */
static inline uint64_t usm_cuda_number_of(const usm_event *event)
{
    return atomic_load_explicit(&((usm_cuda_event *)event)->number, memory_order_acquire);
}

static inline CUdeviceptr usm_cuda_address(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

USM_NATIVE_OF(usm_cuda, device)
USM_NATIVE_OF(usm_cuda, queue)

/* status.c. The driver's name of a code: "CUDA_ERROR_INVALID_VALUE". */
const char *usm_cuda_name(CUresult code);
/*
 * The status of a failed call, with function and code in the error; CUDA_ERROR_OUT_OF_MEMORY is USM_MEMORY.
 * The text says so where no later call of the context can succeed.
 */
usm_status usm_cuda_failed(usm_error *error, CUresult code, const char *function);
/* The same for a call in the device's context, which may be lost with it. */
usm_status usm_cuda_failed_on(usm_device *device, usm_error *error, CUresult code, const char *function);
/* Marks the device as lost if the code is such a one. */
void usm_cuda_note(usm_device *device, CUresult code);
/*
 * The code of a call that gave something back in the device's context. What the driver refuses stays with it,
 * and is reported once (unretrieved.h).
 */
void usm_cuda_given_back(usm_device *device, CUresult code, const char *function);
/* Calls the driver's function, and passes its code there. */
#define USM_CUDA_GIVE_BACK(device, function, ...) \
    usm_cuda_given_back(device, usm_cuda.function(__VA_ARGS__), #function)
/* Marks the device as lost with this code, unless it is lost already. */
void usm_cuda_lose(usm_device *device, CUresult code);
static inline bool usm_cuda_is_lost(const usm_device *device)
{
    return USM_UNLIKELY(atomic_load_explicit(&usm_cuda_device_of(device)->lost, memory_order_acquire) != 0);
}
/* USM_DRIVER: the context was lost before. */
usm_status usm_cuda_lost(const usm_device *device, usm_error *error);

/*
 * context.c. Makes the device's primary context current on this thread, for a few calls; what was current
 * before is so again after usm_cuda_leave. Any thread, any lock. A failure changes nothing.
 */
typedef struct usm_cuda_scope {
    bool pushed, relaxed;
    CUstreamCaptureMode mode;
} usm_cuda_scope;
usm_status usm_cuda_retain_primary(usm_device *device, usm_error *error);
usm_status usm_cuda_push(CUcontext context, usm_error *error);

static inline usm_status usm_cuda_enter(usm_device *device, usm_cuda_scope *scope, usm_error *error)
{
    usm_cuda_device *native = usm_cuda_device_of(device);
    CUcontext own = atomic_load_explicit(&native->context, memory_order_acquire), current = NULL;
    scope->pushed = scope->relaxed = false;
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

/*
 * Until usm_cuda_leave, calls that a graph capture in the global mode forbids, such as allocations, are
 * allowed on this thread and do not invalidate the capture (cuThreadExchangeStreamCaptureMode).
 */
static inline void usm_cuda_relax(usm_cuda_scope *scope)
{
    scope->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    scope->relaxed = usm_cuda.cuThreadExchangeStreamCaptureMode(&scope->mode) == CUDA_SUCCESS;
}

static inline void usm_cuda_leave(usm_cuda_scope *scope)
{
    if (scope->relaxed) {
        (void)usm_cuda.cuThreadExchangeStreamCaptureMode(&scope->mode);
    }
    if (scope->pushed) {
        CUcontext ours;
        (void)usm_cuda.cuCtxPopCurrent(&ours);
    }
}

/*
 * usm_cuda_enter and usm_cuda_relax, to give something back. False: nothing can be, since it went with a lost
 * context, or the parent's driver has it, or the driver refuses, which is reported as by usm_cuda_given_back.
 */
bool usm_cuda_enter_to_give_back(usm_device *device, usm_cuda_scope *scope);

/* The root device of a driver's ordinal, or of its primary context; NULL where there is none. No lock. */
usm_device *usm_cuda_device_at(int ordinal);
usm_device *usm_cuda_device_of_context(CUcontext context);
/* Makes memory of `to` accessible to `from`, now and later. False: the hardware or the driver refuses. */
bool usm_cuda_enable_access(usm_device *from, usm_device *to);
/*
 * share.c: memory of other processes, or for them, becomes accessible to `user`, too, now and later, and the
 * answer of memory_connection is UNIFIED from now on. False: the driver refuses.
 */
bool usm_cuda_share_reach(usm_device *user, usm_device *memory);
/* The device's context is current. */
CUresult usm_cuda_enable_pool_access(usm_device *device, usm_device *peer);
CUresult usm_cuda_get_pool(usm_cuda_device *native);

/* staging.c: pinned memory for copies, from a list that the process keeps. */
struct usm_cuda_pinned {
    void *link; /* of the free list */
    char *data;
    bool large;
};
#define USM_CUDA_PINNED_SMALL ((size_t)64 << 10)
#define USM_CUDA_PINNED_LARGE ((size_t)16 << 20)
/* Makes small pieces where there are none; may wait for the driver. The device's context is current. */
CUresult usm_cuda_pinned_prepare(void);
/* NULL where none is spare: a copy on a thread of the queue then makes new ones. */
usm_cuda_pinned *usm_cuda_pinned_spare(bool large);
void usm_cuda_pinned_put(usm_cuda_pinned *pinned);
/* Is this a range that the driver copies from and to without looking at it first? */
bool usm_cuda_knows(const usm_event *event, const void *pointer);

/* timeline.c. Queue lock for the first two. */
usm_status usm_cuda_timeline_open(usm_queue *queue, usm_cuda_timeline *timeline, CUstream foreign,
                                  usm_error *error);
void usm_cuda_timeline_close(usm_cuda_timeline *timeline);
/* A fence for the task `number` or later, which is in the driver, if none is there. Any lock but a leaf. */
CUresult usm_cuda_timeline_fence(usm_cuda_timeline *timeline, uint64_t number);
/* Makes later work of the stream wait for the task. Any lock but a leaf. */
CUresult usm_cuda_timeline_follow(CUstream stream, usm_cuda_timeline *timeline, uint64_t number);
/* Asks the driver which fences have ended. No context has to be current. */
void usm_cuda_timeline_poll(usm_cuda_timeline *timeline);
/* The same for work that has no fence: asks the stream itself. */
void usm_cuda_timeline_settle(usm_cuda_timeline *timeline);

static inline bool usm_cuda_timeline_ended(const usm_cuda_timeline *timeline, uint64_t number)
{
    return atomic_load_explicit(&((usm_cuda_timeline *)timeline)->completed, memory_order_acquire) >= number;
}

/* All tasks that were submitted have ended, as far as was polled. */
static inline bool usm_cuda_timeline_is_idle(const usm_cuda_timeline *timeline)
{
    return usm_cuda_timeline_ended(
        timeline, atomic_load_explicit(&((usm_cuda_timeline *)timeline)->submitted, memory_order_acquire));
}

/* From now on others may capture the stream, or enqueue there. Any lock but a leaf. */
void usm_cuda_timeline_share(usm_cuda_timeline *timeline);

/* profiling.c. All three with the device's context current, or making it so; the queue's lock held. */
CUresult usm_cuda_start_clock(usm_cuda_queue *native);
CUresult usm_cuda_record_timer(CUevent *timer, const usm_cuda_timeline *timeline);
/* Fills start_ns and end_ns of a task that the driver has ended. */
void usm_cuda_read_times(usm_cuda_event *event);

/* command.c. Gives the command to the driver. The context is current, the queue's lock held. */
usm_status usm_cuda_enqueue(usm_cuda_event *event, CUstream stream, const usm_command *command,
                            usm_error *error);
/* staging.c: copies from or to pageable memory. */
typedef enum usm_cuda_staging {
    USM_CUDA_DIRECT,
    USM_CUDA_FROM_DEVICE,
    USM_CUDA_FROM_HOST,
    USM_CUDA_BETWEEN_HOST
} usm_cuda_staging;
usm_cuda_staging usm_cuda_staging_of(const usm_event *event, const usm_command *command);
/*
 * On a thread of the queue. All that the task depends on has ended, so any stream will do. The thread waits
 * in the driver, without a lock.
 */
usm_status usm_cuda_copy_on_host(usm_event *event, const usm_command *command, usm_error *error);
/* Is the copy staged in the stream? False: a thread of the queue's worker does it. */
bool usm_cuda_is_small(const usm_command *command);
usm_status usm_cuda_copy_small(usm_cuda_event *event, usm_cuda_timeline *timeline, const usm_command *command,
                               usm_error *error);

/* capture.c. Is the stream being captured into a graph? The context is current. */
bool usm_cuda_is_capturing(CUstream stream);
/* The task becomes a part of the graph, which keeps what it uses. Queue lock held. */
usm_status usm_cuda_capture(usm_cuda_event *event, usm_cuda_timeline *timeline, const usm_command *command,
                            usm_error *error);
void usm_cuda_captures_free(usm_cuda_queue *native);

/*
 * cublas.c. The product of matrices that a launch of usm_matmul_float32 or usm_matmul_float64 stands for, by
 * the library, if there is one and it takes the layout; false: the kernel is to be launched. The device's
 * context is current, the queue's lock may be held; does not wait.
 */
bool usm_cuda_multiply(CUstream stream, const usm_launch *launch);
/* Its file (usm_computed_by). The first call for a device takes long. Any thread, no lock. */
const char *usm_cuda_multiply_library(usm_device *device);

/* launch.c. The device's context is current (usm_cuda_enter), the queue's lock may be held; does not wait. */
usm_status usm_cuda_launch(CUstream stream, const usm_launch *launch, usm_error *error);
/* command.c: the driver has a call for the fill. */
bool usm_cuda_fills(const usm_command *command);

/* stream.c: the device whose primary context the stream is of, by name where there is none. */
usm_status usm_cuda_stream_device(CUstream stream, usm_device **out, usm_error *error);

extern usm_fork_guard usm_cuda_guard; /* library.c */

/* library.c: opens libcuda and starts the driver in this process. */
usm_status usm_cuda_open(usm_error *error);

/*
 * Entries of the table, each in the file that its first word names; what the
 * native entries say of streams in stream.c, and share_signal and share_wait in share_order.c.
 */
USM_DRIVER_ENTRIES(USM_ENTRY_DECLARE, usm_cuda)
USM_SHARE_ENTRY(usm_cuda, create);
USM_SHARE_ENTRY(usm_cuda, signal);
USM_SHARE_ENTRY(usm_cuda, open);
USM_SHARE_ENTRY(usm_cuda, make_writable);
USM_SHARE_ENTRY(usm_cuda, wait);
USM_SHARE_ENTRY(usm_cuda, close);
USM_NATIVE_ENTRY(usm_cuda, handle);
USM_NATIVE_ENTRY(usm_cuda, inspect);
USM_NATIVE_ENTRY(usm_cuda, admit);
USM_NATIVE_ENTRY(usm_cuda, stream_inspect);
USM_NATIVE_ENTRY(usm_cuda, stream_id);
USM_NATIVE_ENTRY(usm_cuda, synchronize);
USM_ENTRY(usm_cuda, memory_trim);
USM_ENTRY(usm_cuda, memory_connect);

extern const usm_backend usm_cuda_backend;

#endif
