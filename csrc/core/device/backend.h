/*
 * The single seam between the core and the drivers.
 *
 * A backend is one constant table of functions. It sees the core through this header and what it includes;
 * the core sees the backend through this table only. Each member says who owns what after success, whether it
 * may block, on which threads it runs, what NULL means, and which locks are held when it is called.
 *
 * Rules for all of them:
 *   - A function that returns usm_status fills `error` (never NULL here) exactly when it does not return
 * USM_OK.
 *   - None may call Python or take the GIL, except through usm_command.host, which runs on the queue's own
 * thread.
 *   - "Any thread" means that the core may call it from several threads at once.
 *   - Entries may be NULL only where the comment says so and names what the core does instead.
 */
#ifndef USM_CORE_BACKEND_H
#define USM_CORE_BACKEND_H

#include "context.h"
#include "core/base/library.h"
#include "core/base/sync.h"
#include "properties.h"

typedef struct usm_queue usm_queue;
typedef struct usm_event usm_event;
typedef struct usm_wait usm_wait;
typedef struct usm_command usm_command;
typedef struct usm_strided usm_strided;
typedef struct usm_program usm_program;
typedef struct usm_program_source usm_program_source;
typedef struct usm_kernel usm_kernel;
struct usm_launch;

/*
 * What memory of one (context, device) pair is to commands of another pair (SYCL 2020, 4.8; docs/design.md,
 * "Memory").
 */
typedef enum usm_memory_connection {
    USM_CONNECTION_NONE,       /* out of reach: copies go through memory of the host */
    USM_CONNECTION_MIGRATABLE, /* out of reach, but the driver copies it directly, from device to device */
    USM_CONNECTION_UNIFIED,    /* usable in place */
} usm_memory_connection;

/* What a driver knows about a pointer that somebody else allocated. */
typedef struct usm_pointer_info {
    /* One of the context; NULL: the driver does not know the pointer. No driver tells of SVM. */
    usm_device *device;
    bool asked;    /* the driver knows all of its memory but SVM */
    bool complete; /* and it has no SVM: what it does not know is no memory of the context */
    usm_kind kind;
    void *base; /* the whole allocation; size 0 where the driver does not say */
    size_t size;
} usm_pointer_info;

/* Objects of drivers that other libraries make and use too. */
typedef enum usm_native { USM_NATIVE_DEVICE, USM_NATIVE_CONTEXT, USM_NATIVE_QUEUE } usm_native;

/* What a driver says about a context or queue that another library may have made. */
typedef struct usm_native_facts {
    /* Of a context: the driver's devices, malloc'd; the caller frees the array. */
    void **devices;
    size_t n_devices;
    /* Of a queue: the driver's objects, which live as long as the queue, and its properties. */
    void *context, *device;
    usm_queue_options options;
} usm_native_facts;

/*
 * The optional group of a backend whose driver objects other libraries use too: SYCL runtimes, PyOpenCL,
 * CuPy, PyTorch. Each entry may be called on any thread, with or without locks unless it says otherwise, and
 * none waits for the device.
 */
typedef struct usm_native_entries {
    /*
     * The driver's object behind a usm_device, usm_context or usm_queue, which lives as long as that object.
     * Returns NULL for a queue that others cannot append to. Required.
     */
    void *(*handle)(usm_native what, const void *object);
    /*
     * Describes a context or queue of the driver, and takes no count of it. USM_DRIVER, with the driver's
     * name, if it is none as far as the driver can tell; must not crash if it is no object of a driver at
     * all. No lock. Required.
     */
    usm_status (*inspect)(usm_native what, void *handle, usm_native_facts *facts, usm_error *error);
    /*
     * Adds a count of a context or queue on behalf of another library (`more`), or gives back a count that
     * another library added for usmpy. No lock. NULL: the driver does not count references.
     */
    void (*count)(usm_native what, void *handle, bool more);
    /*
     * Asked about a foreign queue before anything is recorded: may this thread submit work that waits for
     * these events? A refusal leaves no trace for later work. The queue and hazard locks are held. NULL: it
     * always may.
     */
    usm_status (*admit)(usm_queue *queue, const usm_wait *waits, size_t n_waits, usm_error *error);
    /*
     * Describes a stream of another library (stream.h). USM_DRIVER if it is none as far as the driver can
     * tell, USM_VALUE if it belongs to another device. No lock. NULL: the backend has no streams that other
     * libraries could name.
     */
    usm_status (*stream_inspect)(usm_device *device, void *stream, usm_stream_facts *facts, usm_error *error);
    /*
     * Identifies a live stream; changes, as far as can be told, once the stream is destroyed. Computed
     * without the driver, which crashes when it is asked about a destroyed stream. `alive`: the caller knows
     * that the stream exists; the result is then 0 if the stream is being captured. Also 0 if there is no
     * stream. No lock. NULL exactly where stream_inspect is.
     */
    uint64_t (*stream_fingerprint)(usm_device *device, void *stream, bool alive);
} usm_native_entries;

typedef struct usm_backend {
    const char *name; /* of filter strings and messages; static */

    /*
     * What users' programs may be written in: USM_LANGUAGE_BIT of each language. 0: it takes no programs. And
     * the one of them that program_build takes sources in: csrc/py/programs translates the others into it.
     */
    uint32_t languages;
    usm_language program_language;

    /* In which form it takes the built-in kernels (builtin.c): source, SPIR-V, PTX, or the host's own. */
    usm_language builtin_language;

    /*
     * Bytes of an event of this backend; its first member is usm_event. The core allocates it, and zeroes the
     * first event_zeroed of them, but for the inline arrays: the rest is written before it is read. Where the
     * core keeps commands for the backend (completion.h), its usm_later lies at event_zeroed.
     */
    size_t event_size, event_zeroed;

    /* For diagnose(): names of environment variables that filter, NULL-ended. */
    const char *const *environment;
    /* For diagnose() and the error of a start: libraries that start() opened (library.h). NULL: none ever. */
    const usm_library_report *libraries;

    /*
     * Opens the driver and lists the root devices, best first, in a malloc'd array that becomes the core's.
     * Called once a process, before every other entry, with the registry lock. May block for long.
     * USM_UNAVAILABLE where there is no library or no device: the text says what was tried and what to
     * install.
     */
    usm_status (*start)(usm_device ***devices, size_t *n_devices, usm_error *error);

    /*
     * Fills `info`, and where it needs one `native`, of `n` partitions of `units` compute units each. The
     * core has made them (usm_device_new), set parent, partition and index, and checked `units`; they are
     * immortal on success, and freed on failure. Any thread, registry lock held; may call the driver, must
     * not wait for work. NULL: USM_VALUE, the device cannot be partitioned.
     */
    usm_status (*device_partition)(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                   usm_error *error);

    /* Driver objects that other libraries use too. NULL: the backend has none (host). */
    const usm_native_entries *native;

    /*
     * Sets context->native: to a new driver's context, or to context->foreign, which was inspected, with a
     * count of it. Any thread, no lock; may block. NULL: contexts have no part of a driver.
     */
    usm_status (*context_create)(usm_context *context, usm_error *error);
    /* Releases context->native. No memory, queue or event of the context is left. Any thread, no lock. NULL:
     * there is nothing to release. */
    void (*context_destroy)(usm_context *context);
    /*
     * The interpreter has ended. Gives the driver back what it has of a default context and of its cached
     * queues, unless somebody may still need it: memory, a program, pending work. The structs stay. False:
     * nothing was given back. No lock. NULL: what default contexts have is left to the end of the process.
     */
    bool (*context_close)(usm_context *context);

    /*
     * nbytes > 0 bytes, aligned to 64 at least and to 256 from 4 KiB on. *zeroed says that the block is known
     * to hold zeros. USM_MEMORY when the driver has no more. Any thread, no lock; may block.
     */
    usm_status (*memory_allocate)(usm_context *context, usm_device *device, usm_kind kind, size_t nbytes,
                                  void **out, bool *zeroed, usm_error *error);
    /* Gives it back; all work on it has ended. nbytes as at allocation. Any thread, no lock. */
    void (*memory_free)(usm_context *context, usm_device *device, usm_kind kind, void *pointer,
                        size_t nbytes);
    /*
     * Makes the driver return the freed memory that it keeps for later allocations to the system. Waits until
     * frees that were enqueued have taken place, so it may block for long. Any thread, no lock, no GIL. NULL:
     * the driver keeps no freed memory.
     */
    void (*memory_trim)(usm_device *device);
    /*
     * Whose memory is this? Any thread, no lock; does not wait for work. NULL: the backend can use any
     * pointer of the process (host).
     */
    usm_status (*memory_query)(usm_context *context, const void *pointer, usm_pointer_info *info,
                               usm_error *error);
    /*
     * What memory of this kind, allocated in the place `memory`, is to commands of `user`, another place. The
     * backend is that of `user`; the memory may be of any backend. Any thread, no lock; may block on the
     * first call for a pair of devices. The core asks through usm_connection (connection.h), and never for a
     * place's own memory. NULL: memory of the same context is
     * UNIFIED, and for a device with has_usm_system all memory that the host reads; other memory is NONE.
     */
    usm_memory_connection (*memory_connection)(const usm_place *memory, usm_kind kind, const usm_place *user);

    /*
     * Sets queue->native: to a new driver's queue with queue's properties, or to queue->foreign, which was
     * inspected, with a count of it. Any thread, no lock; may block. NULL: queues have no part of a driver.
     */
    usm_status (*queue_create)(usm_queue *queue, usm_error *error);
    /*
     * Releases queue->native; the core releases queue->worker after it. No work is pending. Any thread,
     * including the queue's own worker, no lock; must not block. NULL: there is nothing but the worker.
     */
    void (*queue_destroy)(usm_queue *queue);

    /*
     * Runs a command at once if that is cheaper than handing it over: true when it is done, with the times
     * filled if the queue is profiling. The queue and hazard locks are held (of the host's own the hazard
     * locks alone, and the queue is idle: usm_queue_begin_now), nothing has to be waited for: it must end
     * within tens of microseconds, must not run foreign code, and cannot fail. Never true for a point in the
     * order of a shared queue, where others may be at work. NULL: never.
     */
    bool (*queue_run_now)(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns);

    /*
     * Gives the command to the driver, behind all of event->links, some of which may have ended. Must not
     * wait for the work. Queue lock held; the submitting thread, or, for a command that was late, the one
     * that ended its last link.
     *   USM_OK: the backend owns one count of the event. Where the driver has the command, event_in_driver is
     *     true from now on, and the backend has called usm_completion_watch: the core ends the event once
     *     queue_poll says so. Where it went to usm_later_run_on_host, the core ends it, too. Else the backend
     *     calls usm_event_finish itself, exactly once, with no lock held, after all links have ended
     *     (usm_event_arm), with `start_ns` and `end_ns` set.
     *   USM_LATER: the driver cannot wait for one of the links, or inherits a failure from one. Nothing was
     *     enqueued. The core keeps the command and calls again, with the kept copy, once the driver has what
     *     it waits for (event->lateness is USM_EARLY; USM_LATER is allowed again), or once all links have
     *     ended (USM_FOLLOWED; it is not).
     *   Else: nothing was enqueued, and the error is filled.
     */
    usm_status (*queue_submit)(usm_queue *queue, usm_event *event, const usm_command *command,
                               usm_error *error);

    /*
     * Ends the tasks that the driver has ended, by usm_completion_end; true where it has more. Asks the
     * driver without waiting for it, and leaves a graph capture alone. Any thread, also the watching one and
     * one in a forked child, no lock; event_result is called meanwhile. NULL: no task is ever in a driver.
     */
    bool (*queue_poll)(usm_queue *queue);
    /*
     * Does the driver have this task, so that a stream may be made to wait for it, and comes behind it what
     * others enqueue in its queue? False for work of the host and for what still waits for such work. Any
     * thread, any lock; asks no driver. NULL exactly where queue_poll is.
     */
    bool (*event_in_driver)(usm_event *event);
    /*
     * A thread waits for the task: asks the driver for it, waits for it there, or takes part in it, where
     * that is faster than being woken. Returns once the event has ended, or earlier, where the task is
     * expected to take longer than `budget_ns` or than this is worth; late where an expectation was wrong,
     * since nothing can interrupt it. A budget of less than 10 us means that the caller holds the GIL: then
     * no task may run here, and the thread must not sleep or yield. Any thread, no lock; may end any events.
     * NULL: the thread sleeps at once.
     */
    void (*event_wait)(usm_event *event, int64_t budget_ns);
    /*
     * Somebody sleeps until the task ends, and queue_poll is called often: the driver must be able to tell
     * of this task, apart from later ones. Called once event_in_driver is true. Any thread, any lock but a
     * leaf; ends no event. NULL: the driver always is.
     */
    void (*event_watch)(usm_event *event);
    /*
     * The driver has ended the task, and all links have ended: sets start_ns and end_ns where the event is
     * profiled, and says how the task ended. Where event->cause is set the task fails in any case, and its
     * effects do not count. USM_LATER: the driver has taken the task once more, and it has not ended. Once
     * for each end, any thread, no lock. NULL exactly where queue_poll is.
     */
    usm_status (*event_result)(usm_event *event, usm_error *error);
    /* Has the driver begun with a task that is SUBMITTED here? Any thread, no lock. NULL: never. */
    bool (*event_is_running)(usm_event *event);
    /* Drops native parts of an event that has finished; the core frees the struct. Any thread. NULL: none. */
    void (*event_destroy)(usm_event *event);

    /*
     * Builds, and sets program->native and, where it can, program->kernels. *log is NULL; where it returns
     * USM_BUILD, it may set it to a malloc'd text. Any thread, no lock; may block for long. NULL: this
     * backend takes no programs.
     */
    usm_status (*program_build)(usm_program *program, const usm_program_source *source, char **log,
                                usm_error *error);
    /* Releases program->native; no kernel is left. Any thread. */
    void (*program_destroy)(usm_program *program);
    /* The built program as one malloc'd block. Any thread, no lock. NULL: there is no such form. */
    usm_status (*program_binary)(usm_program *program, void **out, size_t *size, usm_error *error);
    /* Sets kernel->native and the parameters (usm_kernel_set_parameters). USM_INDEX: no such kernel. */
    usm_status (*kernel_create)(usm_kernel *kernel, const char *name, usm_error *error);
    /* Releases kernel->native; launches of it may still run. Any thread. */
    void (*kernel_destroy)(usm_kernel *kernel);

    /*
     * fork() is about to happen, or has. PREPARE: lock what other threads may hold (before the queues are
     * locked). PARENT: unlock. CHILD: unlock, and forget threads that do not exist here; the core then fails
     * pending events. A driver that cannot go on in a child marks itself (usm_fork_guard): its later calls
     * return USM_FORKED. The thread that forks, registry lock held. NULL: nothing.
     */
    void (*fork)(usm_fork_phase phase);
} usm_backend;

/* True where other libraries can name streams of the backend (stream.h). */
static inline bool usm_backend_has_streams(const usm_backend *backend)
{
    return backend->native != NULL && backend->native->stream_inspect != NULL;
}

#endif
