/*
 * The single seam between the core and the drivers.
 *
 * A backend is one constant table of functions. A backend sees the core through this header and what it
 * includes; the core sees a backend through this table only. The comment of each entry says what the entry
 * does and who owns what after success, then:
 *   Thread  on which threads the core calls it. "Any" means several threads at once.
 *   Locks   which locks of the core the caller holds. "None" is a promise; "queue" is usm_queue.lock;
 *           "any" means that the entry may take no lock of the core but a leaf (core/base/sync.h).
 *   Blocks  what the entry may wait for, in one word, and then when or for how long:
 *           never   for nothing: it may call the driver, but for calls that answer without waiting
 *           driver  for the driver itself: its locks, a start, a compiler, a file
 *           work    for tasks, too
 *           Only entries that never block are called with the GIL or a lock of the core held, which builds
 *           for tests check at every call (rule.h). A backend's own locks are its own affair.
 *   NULL    what the core does instead. Entries without this line are required.
 *
 * Rules for all of them:
 *   - A function that returns usm_status fills `error` exactly when it does not return USM_OK. `error` may be
 *     NULL, which usm_error_set and the like accept, but not in queue_create and queue_submit.
 *   - None may call Python or take the GIL. Only the function of usm_command.host does, on a thread of the
 *     queue.
 *   - A call that failed has changed nothing.
 *   - Calls come from any thread, also one that uses the driver by another library. What a driver keeps for
 *     each thread (a current device or context, a mode of captures, the last error) is set at the beginning
 *     of an entry, and is at its end as it was found.
 *   - Times are in nanoseconds of usm_clock_ns. A driver's own clock is converted by the backend.
 */
#ifndef USM_CORE_BACKEND_H
#define USM_CORE_BACKEND_H

#include "core/base/error.h"
#include "core/base/library.h"
#include "core/base/sync.h"
#include "properties.h"

typedef struct usm_device usm_device;
typedef struct usm_context usm_context;
typedef struct usm_place usm_place;
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
    USM_CONNECTION_UNASKED,    /* of memory_connection alone: memory_connect is to ask the driver */
    USM_CONNECTION_NONE,       /* not accessible: copies go through memory of the host */
    USM_CONNECTION_MIGRATABLE, /* not accessible, but the driver copies it directly between the devices */
    USM_CONNECTION_UNIFIED,    /* usable in place */
} usm_memory_connection;

/* Which memory of a context its driver identifies by a pointer, and so what an unknown pointer may be. */
typedef enum usm_identifies {
    USM_IDENTIFIES_NONE, /* an unknown pointer may be any memory of the context */
    USM_IDENTIFIES_SOME, /* an unknown pointer may be memory of another call of the driver (OpenCL: SVM) */
    USM_IDENTIFIES_ALL,  /* an unknown pointer is no memory of the context */
} usm_identifies;

/* What a driver knows about a pointer that somebody else allocated. */
typedef struct usm_pointer_info {
    usm_identifies identifies; /* set also where the question fails, if the driver was asked */
    /*
     * One of the context or, where pointers mean the same in all contexts, any root device of the backend.
     * NULL: the driver does not know the pointer, and what follows is not set.
     */
    usm_device *device;
    usm_kind kind;
    void *base;  /* of the whole allocation */
    size_t size; /* of the whole allocation; 0 where the driver does not report it */
} usm_pointer_info;

/* How far a driver has come with a task. */
typedef enum usm_progress {
    USM_PROGRESS_PENDING,  /* it has not begun, as far as the driver tells */
    USM_PROGRESS_RUNNING,  /* it has begun */
    USM_PROGRESS_COMPLETE, /* this and what follows: the driver has ended it */
    /*
     * It did not run, since a task in front of it failed. The command was kept (usm_event_keep_command), and
     * the driver gets it once more if the task does not inherit that failure.
     */
    USM_PROGRESS_SKIPPED,
    USM_PROGRESS_FAILED,
} usm_progress;

/* Objects of drivers that other libraries make and use too. */
typedef enum usm_native {
    USM_NATIVE_DEVICE,
    USM_NATIVE_CONTEXT,
    USM_NATIVE_QUEUE,
    USM_NATIVE_EVENT, /* for `handle` of backends with stream_inspect alone */
} usm_native;

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
 * CuPy, PyTorch. Thread: any. Locks: none, unless an entry says otherwise.
 */
typedef struct usm_native_entries {
    /*
     * The driver's object behind a usm_device, usm_context, usm_queue or usm_event, which lives as long as
     * that object. Returns NULL for a queue that others cannot append to, and for an event of which the
     * driver knows nothing. One thread at a time asks for that of an event. Locks: the registry's, or none.
     * Blocks: never.
     */
    void *(*handle)(usm_native what, const void *object);
    /*
     * Describes a context or queue of the driver, and takes no reference to it. USM_DRIVER, with the driver's
     * name, if the handle is none as far as the driver can tell; USM_VALUE if it is one that usmpy cannot
     * use. Must not crash if it is no object of a driver at all. Blocks: never.
     */
    usm_status (*inspect)(usm_native what, void *handle, usm_native_facts *facts, usm_error *error);
    /*
     * Adds a reference to a context or queue on behalf of another library (`more`), or drops a reference that
     * another library added for usmpy. Blocks: never. NULL: the driver does not count references.
     */
    void (*count)(usm_native what, void *handle, bool more);
    /*
     * For a driver with queues that take work from one thread alone, such as default streams of a thread. The
     * core asks about a foreign queue before anything is recorded: may the calling thread submit work that
     * waits for these events, without help by another thread? USM_VALUE, with the reason, where it may not:
     * the refused task leaves no trace for later work. Locks: queue and hazards. Blocks: never.
     * NULL: every thread may submit to every queue.
     */
    usm_status (*admit)(usm_queue *queue, const usm_wait *waits, size_t n_waits, usm_error *error);
    /*
     * Describes a stream of another library (stream.h): a queue of the driver in order, which protocols of
     * exchange pass as a number. Does not disturb a graph capture, and asks nothing of a capturing stream
     * that would end its capture. USM_DRIVER if it is none as far as the driver can tell, USM_VALUE if it
     * belongs to another device. Blocks: never. NULL: the backend has no streams that other libraries could
     * name.
     */
    usm_status (*stream_inspect)(usm_device *device, void *stream, usm_stream_facts *facts, usm_error *error);
    /*
     * The number of a stream that the caller knows to live: no other stream of the process has, had or will
     * have it, although handles come again. USM_STREAM_IN_LEGACY for a stream that the device's default
     * stream waits for, which can be asked instead at any time; 0 while it is being captured;
     * USM_STREAM_NO_ID where the driver cannot tell: the core then never takes a stream for one that it saw
     * before. Blocks: never. NULL exactly where stream_inspect is.
     */
    uint64_t (*stream_id)(usm_device *device, void *stream);
    /*
     * Waits for all work that the device has at the call, also that of other libraries, in any stream; their
     * submissions may be kept out meanwhile, but their graph captures stay valid. The core calls it for
     * memory whose stream is unknown or has gone. USM_OK where no work can be left: a lost device.
     * Blocks: work. NULL exactly where stream_inspect is.
     */
    usm_status (*synchronize)(usm_device *device, usm_error *error);
} usm_native_entries;

/* A block of memory that several processes have open, as one of them sees it. */
typedef struct usm_shared_memory {
    void *pointer;
    size_t nbytes;
    usm_kind kind;
    void *native; /* the backend's own; freed by `close` */
} usm_shared_memory;

#define USM_SHARE_BYTES 256
#define USM_SHARE_DESCRIPTORS 4
/*
 * What a driver's handle of an event for other processes takes: CU_IPC_HANDLE_SIZE, HIP_IPC_HANDLE_SIZE and
 * ZE_MAX_IPC_HANDLE_SIZE (of a pool of events) are all 64.
 */
#define USM_SHARE_ORDER 64

/* How other processes find a block: bytes and file descriptors, which travel with each handle. */
typedef struct usm_share_record {
    uint8_t bytes[USM_SHARE_BYTES];
    uint32_t n_bytes;
    uint32_t n_descriptors;
    int descriptors[USM_SHARE_DESCRIPTORS]; /* close-on-exec */
} usm_share_record;

/*
 * The optional group of a backend whose driver shares memory between processes. The core (core/share/) has
 * the handle's format and its checks, one block a process for each handle (the exporter's own open gives its
 * block back), counts, and the order of tasks; core/share/memfd.c is such a group for memory of the host.
 * The place of every call is the same for one block in one process: that of its `create` or `open`. Thread:
 * any, several at once, also for one block, but `close` is the last call for it. Locks: none.
 */
typedef struct usm_share_entries {
    uint32_t kinds; /* of memory that `create` makes: 1u << usm_kind each */
    /*
     * The memory ends with the exporter's block, although others have it open. The write end of a pipe then
     * travels as the last descriptor of every handle (and of the record that `open` gets), and each importer
     * holds it while it has the block open; the core calls `close` in the exporter only once all of them are
     * closed, also by SIGKILL. False where kernel or driver count: then the block ends with the last process
     * that has it open.
     */
    bool ends_with_exporter;
    /*
     * Allocates a block that can be shared: memory->nbytes (above 0) bytes of memory->kind, aligned as by
     * memory_allocate; sets `pointer` and `native`, and may increase `nbytes`, to whole pages. Fills the
     * record, which serves all handles of the block: its descriptors become the core's, which gives every
     * handle duplicates, and closes them after `close`. *zeroed as in memory_allocate. USM_MEMORY as there;
     * USM_BUFFER, with the reason, where this machine cannot share such memory (a driver without the call, a
     * sandbox that passes no descriptors). Blocks: driver.
     */
    usm_status (*create)(const usm_place *place, usm_shared_memory *memory, usm_share_record *record,
                         bool *zeroed, usm_error *error);
    /*
     * Writes what tells a process that opens the block when the work that `queue` has so far has ended: as a
     * rule the handle of an event for several processes, which is recorded in the queue. The queue is in
     * order, of the block's place, and ordered after all that is pending on the block: the driver has that
     * work, or it has ended. One event a block, recorded again each time, is enough: an older handle then
     * waits for more. `close` releases it. Called for blocks that were opened here, too. `order` is zeros,
     * and stays so where that work has ended. USM_LATER: the driver cannot tell other processes, and the core
     * waits as for NULL. Blocks: never. NULL: the core waits, before it makes a handle, until all work on the
     * block has ended.
     */
    usm_status (*signal)(usm_queue *queue, const usm_shared_memory *memory, uint8_t order[USM_SHARE_ORDER],
                         usm_error *error);
    /*
     * Makes the block of another process usable by `place`: `nbytes` and `kind` are set, the exporter's; sets
     * `pointer` and `native`. The record's descriptors stay the core's, open while the block is; a block that
     * was opened is handed on with the record that it came with. `readonly`: the device must not write to the
     * memory, where the driver can forbid that. USM_VALUE, which says why, where the record is not of a block
     * of this size and kind, or the exporter has ended and the memory with it: nothing is mapped then.
     * Blocks: driver.
     */
    usm_status (*open)(const usm_place *place, const usm_share_record *record, bool readonly,
                       usm_shared_memory *memory, usm_error *error);
    /*
     * A second handle of the block allows what that of `open` forbade by `readonly`: the device may write to
     * the memory from now on, at the same pointer. May be called twice, and by several threads at once.
     * Blocks: driver. NULL: `open` never forbids writes.
     */
    usm_status (*make_writable)(const usm_place *place, const usm_shared_memory *memory, usm_error *error);
    /*
     * Orders later work of `queue`, in order and of the block's place, after what `signal` recorded. The
     * core calls it at every open, unless `order` is zeros, or the process that made the handle is this one
     * or has ended: then nothing is left to wait for. Then it submits a marker that accesses the block, so
     * that work of other queues is ordered, too. `queue_run_now` must not do that marker before the wait has
     * ended. Blocks: never. NULL exactly where signal is NULL.
     */
    usm_status (*wait)(usm_queue *queue, const usm_shared_memory *memory,
                       const uint8_t order[USM_SHARE_ORDER], usm_error *error);
    /*
     * Gives back a block that was created or opened here. All work of this process on it has ended; that of
     * others may not have. Thread: also one of a queue. Blocks: driver; never without has_driver.
     */
    void (*close)(const usm_place *place, const usm_shared_memory *memory);
} usm_share_entries;

/*
 * Of a driver that does not survive fork(). In a child of a process that used it the core calls no entry of
 * its backend, but `handle` of objects that have one: calls fail with USM_FORKED, and what the driver has is
 * left to the parent.
 */
typedef struct usm_fork_guard {
    const char *driver; /* in messages */
    _Atomic bool used;  /* set by the backend */
    _Atomic bool forked;
} usm_fork_guard;

/* The driver is in use from now on. */
static inline void usm_fork_guard_use(usm_fork_guard *guard)
{
    atomic_store_explicit(&guard->used, true, memory_order_release);
}

typedef struct usm_backend {
    const char *name; /* of filter strings and messages; static */

    usm_fork_guard *fork_guard; /* NULL: the backend goes on in the child of a fork */

    /*
     * What users' programs may be written in: USM_LANGUAGE_BIT of each language. 0: it takes no programs. And
     * the one of them that program_build takes sources in: csrc/py/programs translates the others into it.
     */
    uint32_t languages;
    usm_language program_language;

    /*
     * In which form it takes the built-in kernels (builtin.c): source, SPIR-V, PTX, or USM_LANGUAGE_BUILTIN,
     * the loops of csrc/cpu. A backend of these loops that has queue_run_now also lets the submitting thread
     * run short work that is no command (usm_queue_begin_now), and keeps no facts about pointers, so that
     * usm_context.free_generation stays as it is.
     */
    usm_language builtin_language;

    /*
     * Bytes of an event of this backend; its first member is usm_event. The core allocates it, and zeroes
     * what follows that member.
     */
    size_t event_size;

    /*
     * A driver is behind the backend, which may wait for its own locks or for work where memory is allocated
     * and where objects are created or end: the core then calls these entries without the GIL, the ends on
     * the thread of core/base/reclaimer.h. Without a driver they never block.
     */
    bool has_driver;

    /* For diagnose(): names of environment variables that filter, NULL-ended. NULL: none. */
    const char *const *environment;
    /* For diagnose() and the error of a start: libraries that start() opened (library.h). NULL: none ever. */
    const usm_library_report *libraries;

    /*
     * Opens the driver and lists the root devices, best first, in a malloc'd array that becomes the core's.
     * Called once a process, before every other entry but `fork`. USM_UNAVAILABLE where there is no library
     * or no device: the text says what was tried and what to install. Every other failure means that the
     * driver is broken.
     *   Thread: the first that needs the backend; it may fork. Locks: none, but one for this start alone.
     *   Blocks: driver, for long.
     */
    usm_status (*start)(usm_device ***devices, size_t *n_devices, usm_error *error);

    /*
     * Fills `info`, and where the backend needs one `native`, of `n` partitions of `units` compute units
     * each. The core has made them (usm_device_new), set parent, partition and index, and checked `units`;
     * they are immortal on success, and freed on failure.
     *   Thread: any. Locks: the registry's. Blocks: never. NULL: USM_VALUE, the device cannot be partitioned.
     */
    usm_status (*device_partition)(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                   usm_error *error);

    /* Driver objects that other libraries use too. NULL: the backend has none (host). */
    const usm_native_entries *native;
    /*
     * Memory for several processes. NULL, and for other kinds than it has: memory of the host where the
     * device uses all of it (has_usm_system), else memory of the device cannot be shared.
     */
    const usm_share_entries *share;

    /*
     * Sets context->native: to a new driver's context, or to context->foreign, which was inspected, with a
     * reference to it.
     *   Thread: any. Locks: none. Blocks: driver; never without has_driver.
     *   NULL: contexts have no driver part.
     */
    usm_status (*context_create)(usm_context *context, usm_error *error);
    /*
     * Releases context->native. No memory, program, queue or event of the context is left.
     *   Thread: any, also one of the driver or of a queue. Locks: none.
     *   Blocks: driver; never without has_driver. NULL: there is nothing to release.
     */
    void (*context_destroy)(usm_context *context);
    /*
     * Of a driver whose objects must be released while its library still works, before the process ends. The
     * interpreter has ended, and the core has given back the memory that nobody uses. Gives the driver back
     * what it has of a default context and of its cached queues (usm_place.queue), unless memory, a program
     * or pending work still needs it, which the backend counts. The structs stay. Returns false if nothing
     * was given back.
     *   Thread: the one that ends the interpreter. Locks: none. Blocks: work, for a second or so at most.
     *   NULL: the end of the process releases what default contexts have.
     */
    bool (*context_close)(usm_context *context);

    /*
     * Allocates nbytes > 0 bytes, aligned to 64 at least and to 256 from 4 KiB on. *zeroed says that the
     * block is known to hold zeros. USM_MEMORY when the driver has no more: the core then gives back spare
     * blocks and calls again.
     *   Thread: any. Locks: none. Blocks: work; never without has_driver.
     */
    usm_status (*memory_allocate)(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                  bool *zeroed, usm_error *error);
    /*
     * Frees a block; nbytes as at allocation. All work on it has ended. What the driver does not take back
     * the backend reports, here and in the entries that destroy (usm_unretrieved_report_once).
     *   Thread: any, also one of the driver or of a queue. Locks: none. Blocks: work, until the driver has
     *   none on the device; never for kinds that are not in device->info.frees_wait.
     */
    void (*memory_free)(const usm_place *place, usm_kind kind, void *pointer, size_t nbytes);
    /*
     * Makes the driver return the freed memory that it keeps for later allocations to the system.
     *   Thread: any. Locks: none. Blocks: work, until frees that were enqueued have taken place.
     *   NULL: the driver keeps no freed memory.
     */
    void (*memory_trim)(const usm_place *place);
    /*
     * Says what the driver knows about a pointer. *info is zeros at the call.
     *   Thread: any. Locks: none. Blocks: never. NULL: the backend can use any pointer of the process (host).
     */
    usm_status (*memory_query)(usm_context *context, const void *pointer, usm_pointer_info *info,
                               usm_error *error);
    /*
     * What memory of this kind, allocated in the place `memory`, is to commands of `user`, another place of
     * the same backend. The core calls it through usm_connection (connection.h), which answers for a place's
     * own memory and for memory of other backends.
     *   Thread: any. Locks: none. Blocks: never.
     *   NULL: UNIFIED for memory of the same context, and on a device with has_usm_system for all memory that
     *   the host reads; NONE for other memory.
     */
    usm_memory_connection (*memory_connection)(const usm_place *memory, usm_kind kind, const usm_place *user);
    /*
     * The answer for memory of kind `device` that memory_connection does not have yet, and has from now on.
     * May enable access between the two devices. Several threads may ask the same at once.
     *   Thread: any. Locks: none. Blocks: driver. NULL: memory_connection has all answers.
     */
    usm_memory_connection (*memory_connect)(const usm_place *memory, const usm_place *user);

    /*
     * Sets queue->native: to a new driver's queue with the queue's properties, or to queue->foreign, which
     * was inspected, with a reference to it. May set queue->worker, else the core makes one.
     *   Thread: any. Locks: none. Blocks: driver; never without has_driver.
     *   NULL: queues have no driver part.
     */
    usm_status (*queue_create)(usm_queue *queue, usm_error *error);
    /*
     * Releases queue->native; the core releases queue->worker after it. No work is pending.
     *   Thread: any, also one of the driver or the queue's own worker. Locks: none.
     *   Blocks: driver; never without has_driver. NULL: there is nothing to release.
     */
    void (*queue_destroy)(usm_queue *queue);

    /*
     * Runs a command at once if that is cheaper than enqueuing it. Returns true when the command is done,
     * with the times filled if the queue is profiling. Nothing has to be waited for. The command must end
     * within tens of microseconds, must not run foreign code, and cannot fail. Never true for a point in the
     * order of a shared queue, in which others may have work. Thread: the submitting one. Locks: queue and
     * hazards; for the host's own queues only the hazards, and the queue is then idle (usm_queue_begin_now).
     * Blocks: never. NULL: it never does.
     */
    bool (*queue_run_now)(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns);

    /*
     * Enqueues the command, ordered after all of event->links, some of which may have ended (usm_link_look).
     * A link may be a task of any queue, context, device or backend: link->event is an event of this backend
     * only where usm_link_look answers USM_LINK_IN_DRIVER, and may then still be one of another context.
     *
     * Commands hold what a driver may not take, and the backend then goes another way (USM_ON_HOST, a block
     * in between): a copy may overlap itself (usm_command_overlaps), and either side may be memory of the
     * host that the driver does not know, such as pageable memory. A fill of the device's memory has an
     * address that is a multiple of the pattern, which is no longer than max_fill; one of memory that the
     * device does not reach has any address and pattern. A prefetch is a hint. A marker may have an event of
     * another library (command->event) to wait for, if the backend has streams.
     *
     * What the command points to is the caller's (usm_event_keep_command copies it). Where the driver does
     * not keep a kernel that it runs, the backend holds a count of it until the launch has ended
     * (usm_kernel_retain): the caller's may go before.
     *
     *   USM_OK: the driver has it.
     *   USM_ON_HOST: a thread of the queue runs it once all links have ended: the function of a host command,
     *     queue_run for others. Host commands of a queue that is not shared always get this answer.
     *   USM_LATER: the driver cannot wait for one of the links, or the task inherits a failure from one.
     *     Nothing was enqueued. The core keeps the command and calls again, with the kept copy, once the
     *     driver has what the task waits for (state DEFERRED; USM_LATER is allowed again), or once all links
     *     have ended (UNBLOCKED; it is not).
     *   Else: nothing was enqueued, and the error is filled.
     *   Thread: the submitting one or, for a deferred command, the one that ended its last link, which may be
     *   the watching thread. Locks: queue. Blocks: never. NULL: the answer is always USM_ON_HOST.
     */
    usm_status (*queue_submit)(usm_event *event, const usm_command *command, usm_error *error);

    /*
     * Does a command, not one of the host's, for which queue_submit answered USM_ON_HOST. All links have
     * ended.
     *   Thread: one of the queue, or one that waits (usm_worker_take). Locks: none. Blocks: work.
     *   NULL: queue_submit gives this answer for host commands alone.
     */
    usm_status (*queue_run)(usm_event *event, const usm_command *command, usm_error *error);

    /*
     * How far has the driver come with a task that it has? Called for the tasks of a queue in the order of
     * their submission, and no more once the driver has ended the task: then sets start_ns and end_ns if the
     * event is profiled (the core raises times that lie before the submission), and fills the error if it
     * failed. Leaves a graph capture alone.
     *   Thread: any, also the watching thread. Locks: queue. Blocks: never.
     *   NULL: no task is ever in a driver.
     */
    usm_progress (*event_poll)(usm_event *event, usm_error *error);
    /*
     * A thread waits for a task that the driver has, or, without event_poll, for any: waits in the driver, or
     * takes part in the work, where that is faster than being woken. The core polls afterwards.
     * Returns early where the task is expected to take longer than this pays, which is less than the 50 ms
     * after which Ctrl-C must have an effect; later where an expectation was wrong, since nothing can
     * interrupt a wait in the driver.
     *   Thread: any. Locks: none. Blocks: work. NULL: the thread sleeps at once.
     */
    void (*event_wait)(usm_event *event);
    /*
     * Releases the driver part of an event that has ended or was refused; the core frees the struct.
     *   Thread: any. Locks: any. Blocks: never. NULL: there is nothing to release.
     */
    void (*event_destroy)(usm_event *event);

    /*
     * Builds, and sets program->native and, where it can, program->kernels. *log is NULL at the call; on
     * USM_BUILD the entry may set it to a malloc'd text.
     *   Thread: any. Locks: none. Blocks: driver, for long. NULL: the backend takes no programs.
     */
    usm_status (*program_build)(usm_program *program, const usm_program_source *source, char **log,
                                usm_error *error);
    /*
     * Releases program->native; no kernel of it is left.
     *   Thread: any. Locks: none. Blocks: driver; never without has_driver.
     *   NULL exactly where program_build is.
     */
    void (*program_destroy)(usm_program *program);
    /*
     * The built program as one malloc'd block, which the caller frees.
     *   Thread: any. Locks: none. Blocks: driver. NULL: there is no such form.
     */
    usm_status (*program_binary)(usm_program *program, void **out, size_t *size, usm_error *error);
    /*
     * Sets kernel->native, the parameters (usm_kernel_set_parameters), and `computed_by` of a built-in
     * kernel. USM_INDEX: no such kernel.
     *   Thread: any. Locks: none. Blocks: driver, for long where a library is opened; never without
     *   has_driver. NULL exactly where program_build is.
     */
    usm_status (*kernel_create)(usm_kernel *kernel, const char *name, usm_error *error);
    /*
     * Releases kernel->native; launches of it may still run.
     *   Thread: any. Locks: any. Blocks: never. NULL: there is nothing to release.
     */
    void (*kernel_destroy)(usm_kernel *kernel);

    /*
     * fork() is about to happen, or has. PREPARE: lock what other threads may hold (before the queues are
     * locked). PARENT: unlock. CHILD: unlock, and forget threads that do not exist here; the core then fails
     * pending events.
     *   Thread: the one that forks. Locks: the registry's. Blocks: never, since those are held for a few
     *   steps. NULL: nothing to do.
     */
    void (*fork)(usm_fork_phase phase);
} usm_backend;

/*
 * Declares a backend's function for an entry of the table, by the type that the entry has there:
 * USM_ENTRY(usm_minimal, memory_free) is usm_minimal_memory_free. The others are for `native` and `share`.
 */
#define USM_ENTRY(backend, entry) __typeof__(*((const usm_backend *)0)->entry) backend##_##entry
#define USM_NATIVE_ENTRY(backend, entry) \
    __typeof__(*((const usm_native_entries *)0)->entry) backend##_native_##entry
#define USM_SHARE_ENTRY(backend, entry) \
    __typeof__(*((const usm_share_entries *)0)->entry) backend##_share_##entry

/* The entries that every backend of a driver has: for its header, and as rows of its table. */
/* clang-format off */
#define USM_DRIVER_ENTRIES(EACH, backend)                                                     \
    EACH(backend, start) EACH(backend, device_partition) EACH(backend, context_create)        \
    EACH(backend, memory_allocate) EACH(backend, memory_free) EACH(backend, memory_query)     \
    EACH(backend, memory_connection) EACH(backend, queue_create) EACH(backend, queue_destroy) \
    EACH(backend, queue_run_now) EACH(backend, queue_submit) EACH(backend, queue_run)         \
    EACH(backend, event_poll) EACH(backend, event_wait) EACH(backend, event_destroy)          \
    EACH(backend, program_build) EACH(backend, program_destroy) EACH(backend, program_binary) \
    EACH(backend, kernel_create) EACH(backend, kernel_destroy)
/* clang-format on */
#define USM_ENTRY_DECLARE(backend, entry) USM_ENTRY(backend, entry);
#define USM_ENTRY_ROW(backend, entry) .entry = backend##_##entry,
#define USM_DRIVER_ROWS(backend) USM_DRIVER_ENTRIES(USM_ENTRY_ROW, backend).has_driver = true

/* Defines <backend>_device_of(device), or of another object: what the backend keeps in its `native`. */
#define USM_NATIVE_OF(backend, object)                                                    \
    static inline backend##_##object *backend##_##object##_of(const usm_##object *object) \
    {                                                                                     \
        return object->native;                                                            \
    }

/* True where other libraries can name streams of the backend (stream.h). */
static inline bool usm_backend_has_streams(const usm_backend *backend)
{
    return backend->native != NULL && backend->native->stream_inspect != NULL;
}

#endif
