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

/* What a driver says of a context or queue that may be somebody else's. */
typedef struct usm_native_facts {
    /* A context's: the driver's devices, malloc'd; the caller's. */
    void **devices;
    size_t n_devices;
    /* A queue's: the driver's objects, alive as long as it is; and what it is like. */
    void *context, *device;
    usm_queue_options options;
} usm_native_facts;

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
     * first event_zeroed of them, but for the inline arrays: the rest is written before it is read.
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
     * Makes `n` immortal partitions of `units` compute units each (usm_device_new), with `info` filled; the
     * core has set parent, partition, index, and checked units. Registry lock held.
     */
    usm_status (*device_partition)(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                   usm_error *error);

    /*
     * The driver's object behind a usm_device, usm_context or usm_queue, alive as long as that; NULL for a
     * queue that others cannot append to. Any thread, any lock. NULL: there are none that another library
     * could use (host).
     */
    void *(*native_handle)(usm_native what, const void *object);
    /*
     * What a driver's context or queue is, with no count taken. USM_DRIVER, named, where it is none as far as
     * the driver can tell; must not crash for what is no object of a driver at all. Any thread, no lock. NULL
     * exactly where native_handle is.
     */
    usm_status (*native_inspect)(usm_native what, void *handle, usm_native_facts *facts, usm_error *error);
    /*
     * Adds a count of a context or queue for somebody else (`more`), or gives back one that somebody added
     * for us. Any thread, no lock. NULL: the driver does not count.
     */
    void (*native_count)(usm_native what, void *handle, bool more);

    /*
     * Sets context->native: of a new driver's context, or of context->foreign, which was inspected, with a
     * count of it. Any thread, no lock; may block.
     */
    usm_status (*context_create)(usm_context *context, usm_error *error);
    /* Releases context->native. No memory, queue or event of the context is left. Any thread. */
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
    /* What the driver keeps of memory that it was given back is for others too. May block; as memory_free. */
    void (*memory_trim)(usm_device *device);
    /* Whose memory is this? Any thread, no lock. NULL: the backend can use any pointer of
     * the process (host). */
    usm_status (*memory_query)(usm_context *context, const void *pointer, usm_pointer_info *info,
                               usm_error *error);
    /*
     * What memory of this kind, allocated in the place `memory`, is to commands of `user`, another place. The
     * backend is that of `user`; the memory may be of any backend. Any thread, no lock; may block on the
     * first call for a pair of devices. The core asks through usm_connection (connection.h).
     */
    usm_memory_connection (*memory_connection)(const usm_place *memory, usm_kind kind, const usm_place *user);

    /*
     * Sets queue->native: of a new driver's queue with queue's properties, or of queue->foreign, which was
     * inspected, with a count of it. Any thread, no lock; may block.
     */
    usm_status (*queue_create)(usm_queue *queue, usm_error *error);
    /* Releases queue->native. No work is pending. Any thread, including the queue's own worker;
     * must not block. */
    void (*queue_destroy)(usm_queue *queue);

    /*
     * Builds what the command needs, such as a kernel that was never used in this context. No lock; may block
     * for long, between usm_detach() and usm_attach(). NULL: nothing ever.
     */
    usm_status (*queue_prepare)(usm_queue *queue, const usm_command *command, usm_error *error);

    /*
     * Asked of queues that are foreign, before anything is recorded: can work that waits for these events be
     * taken from this thread? What is refused here leaves no trace for later work to wait for. The queue and
     * hazard locks are held. NULL: always.
     */
    usm_status (*queue_admit)(usm_queue *queue, const usm_wait *waits, size_t n_waits, usm_error *error);

    /*
     * Runs a command at once if that is cheaper than handing it over: true when it is done, with the times
     * filled if the queue is profiling. The queue and hazard locks are held (of the host's own the hazard
     * locks alone, and the queue is idle: usm_queue_begin_now), nothing has to be waited for: it must end
     * within tens of microseconds, must not run foreign code, and cannot fail. Never true for a point in the
     * order of a shared queue, where others may be at work. NULL: never.
     */
    bool (*queue_run_now)(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns);

    /*
     * Takes the command for execution after all of event->links (they may have ended meanwhile; usm_event_arm
     * waits for those that the driver cannot). Must not wait for the work. On success the backend owns one
     * count of the event and calls usm_event_finish exactly once, from any thread, with no lock held, after
     * all links have ended; it sets `start_ns` and `end_ns` before. On failure nothing was enqueued and it
     * calls nothing. Queue lock held.
     */
    usm_status (*queue_submit)(usm_queue *queue, usm_event *event, const usm_command *command,
                               usm_error *error);

    /*
     * Can the event, the last of a queue in order, stand for this command too, behind what it stands for?
     * Nobody but the backend has it. True: until event_repeat, which follows, it is as if the driver did not
     * have it. Queue and hazard locks held. NULL: never.
     */
    bool (*event_may_repeat)(usm_event *event, const usm_command *command);
    /* Takes that command as queue_submit does; on failure the event is what it was. Queue lock held. */
    usm_status (*event_repeat)(usm_event *event, const usm_command *command, usm_error *error);

    /*
     * Ends the tasks that the driver has ended, so that what is pending here is pending there. Asks the
     * driver without waiting for it, and leaves a graph capture alone. Any thread, no lock. NULL: nothing is
     * late.
     */
    void (*queue_settle)(usm_queue *queue);
    /*
     * Does the driver have this task, so that a stream may be made to wait for it, and comes behind it what
     * others enqueue in its queue? False for work of the host and for what still waits for such work. Any
     * thread, no lock. NULL: no task ever is with a driver.
     */
    bool (*event_in_driver)(usm_event *event);
    /*
     * What another library's stream is (stream.h). USM_DRIVER where it is none as far as the driver can tell,
     * USM_VALUE where it is of another device. Any thread, no lock; does not wait. NULL: this backend has no
     * streams that others could name.
     */
    usm_status (*stream_inspect)(usm_device *device, void *stream, usm_stream_facts *facts, usm_error *error);
    /*
     * A number that is another one, as far as can be told, once the stream was destroyed: found out without
     * the driver, which crashes where it is asked about such a stream. `alive`: it was not; then 0 where it
     * is being captured. 0 as well where there is no stream. Any thread, no lock. NULL exactly where
     * stream_inspect is.
     */
    uint64_t (*stream_print)(usm_device *device, void *stream, bool alive);

    /*
     * Looks for a few microseconds whether the task, somebody's wait for which is about to let go of the
     * GIL, ends meanwhile: so long the shortest tasks take. Any thread, no lock; may finish any events. NULL:
     * no driver is as fast.
     */
    void (*event_peek)(usm_event *event);
    /*
     * Takes part in a task that is over in a moment, or waits for it in the driver, which may be faster than
     * being woken; returns at once for others. A few milliseconds at most: nothing can interrupt it. Any
     * thread, no lock, no GIL; may finish any events. NULL: there is no faster way.
     */
    void (*event_join)(usm_event *event);
    /*
     * Somebody will hear of the end, or sleeps until then: from now on the backend must not be late with it.
     * Any thread, any lock but a leaf stripe; ends no event. NULL: it never is.
     */
    void (*event_hurry)(usm_event *event);
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
     * fork() is about to happen, or has. PREPARE: lock what other threads may hold, queue by queue (their
     * core locks are held). PARENT: unlock. CHILD: unlock, and forget threads that do not exist here; the
     * core then fails the queue's pending events. A driver that cannot go on in a child marks itself: its
     * later calls return USM_FORKED.
     */
    void (*queue_fork)(usm_queue *queue, usm_fork_phase phase);
    /* The same, once for the whole backend, before (PREPARE) or after (others) the queues. */
    void (*fork)(usm_fork_phase phase);
} usm_backend;

#endif
