/* A Level Zero driver in software: what its files share. README.md says what it does and how it is set up. */
#ifndef SIM_DRIVER_H
#define SIM_DRIVER_H

#include "newer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_EXPORT __attribute__((visibility("default")))

/* Bits that came with version 1.7 of the interface: the header may be older. */
#define SIM_QUEUE_IN_ORDER (1u << 1)
#define SIM_LIST_IN_ORDER (1u << 3)

/* --- count.c: calls, failures on demand, living objects, and what callers did wrong ------------------- */

typedef enum sim_function {
#define SIM_ENTRY(table, place, since, name) SIM_FN_##name,
#define SIM_EMPTY(table, place, since)
#include "tables.inc"
#undef SIM_ENTRY
#undef SIM_EMPTY
    SIM_FN_command, /* a command that a worker runs */
    SIM_N_FUNCTIONS,
} sim_function;

typedef enum sim_kind {
    SIM_CONTEXT,
    SIM_COMMAND_QUEUE,
    SIM_COMMAND_LIST,
    SIM_EVENT_POOL,
    SIM_EVENT,
    SIM_FENCE,
    SIM_MODULE,
    SIM_BUILD_LOG,
    SIM_KERNEL,
    SIM_DEVICE_MEMORY,
    SIM_SHARED_MEMORY,
    SIM_HOST_MEMORY,
    SIM_IPC_HANDLE,
    SIM_IPC_MEMORY,
    SIM_COMMAND, /* appended and not yet run, or recorded */
    SIM_N_KINDS,
} sim_kind;

/* Counts the call; not ZE_RESULT_SUCCESS where it is to fail. */
ze_result_t sim_enter(sim_function function);
#define SIM_ENTER(name)                                  \
    do {                                                 \
        ze_result_t injected = sim_enter(SIM_FN_##name); \
        if (injected != ZE_RESULT_SUCCESS)               \
            return injected;                             \
    } while (0)
void sim_born(sim_kind kind);
void sim_gone(sim_kind kind);
/* The caller broke a rule that the interface leaves to it: kept for zesimMisuse(), and shown on stderr. */
void sim_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Sets what zeDriverGetLastErrorDescription() tells this thread; gives `result` back. */
ze_result_t sim_fail(ze_result_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *sim_last_error(void);
/* -1 for a name that is not in the tables. */
int sim_function_index(const char *name, size_t length);
void sim_count_setup(void);

/* --- context.c: the environment, read at the first zeInit() ----------------------------------------- */

#define SIM_ANY_PROCESSOR UINT32_MAX

typedef struct sim_setup {
    uint32_t devices, sub_devices, units, copy_engines, overlap, timestamp_bits, api_minor, fill_bytes;
    uint64_t memory_bytes, max_alloc_bytes;
    uint64_t jitter_ns, look_ns;
    uint32_t processor; /* SIM_ANY_PROCESSOR: not set */
    ze_device_type_t type;
    bool peer, optimize, relaxed, immediate, fp64, ipc, ipc_process;
    bool flat, combined; /* ZE_FLAT_DEVICE_HIERARCHY */
    const char *opencl;  /* NULL: not set */
    const char *cache;   /* the same */
    bool without[SIM_N_FUNCTIONS];
} sim_setup;

const sim_setup *sim_settings(void);

/* --- device.c ---------------------------------------------------------------------------------------- */

#define SIM_NS_PER_TICK 80 /* of the device's clock: 12.5 MHz */

struct _ze_driver_handle_t {
    int unused;
};

struct _ze_device_handle_t {
    uint32_t index; /* of cards; of tiles within theirs */
    ze_device_handle_t root, parts;
    uint32_t n_parts;
    _Atomic uint32_t lost; /* of root devices: the code that all work on it ends in */
    _Atomic uint64_t used; /* of root devices: bytes of memory */
};

extern struct _ze_driver_handle_t sim_driver;

/* hierarchy.c. Called by sim_settings(), once. */
void sim_devices_setup(const sim_setup *setup);
/* All cards, an array of them, also those that a mask hides; how many. */
uint32_t sim_cards(ze_device_handle_t *cards);
/* What zeDeviceGet() lists; how many. */
uint32_t sim_shown(ze_device_handle_t **devices);
/* Does the driver say that it is a part of another device? */
bool sim_is_sub_device(ze_device_handle_t device);
static inline ze_result_t sim_lost(ze_device_handle_t device)
{
    return (ze_result_t)atomic_load(&device->root->lost);
}
static inline bool sim_is_part(ze_device_handle_t device)
{
    return device->root != device;
}
bool sim_peers(ze_device_handle_t a, ze_device_handle_t b);
uint64_t sim_now_ns(void);
/* The device's clock at a time of the host's. */
uint64_t sim_ticks(uint64_t ns);
/* As many low bits as a timestamp of a kernel has. */
uint64_t sim_kernel_ticks(uint64_t ns);
/* Group 0 computes and copies, group 1 copies alone. */
#define SIM_COPY_GROUP 1
#define SIM_FILL_COMPUTE 128
#define SIM_FILL_COPY 16
uint32_t sim_n_groups(void);
/* Bytes of a fill's pattern in a list of the group. */
size_t sim_fill_most(uint32_t group);

/* --- context.c --------------------------------------------------------------------------------------- */

struct _ze_context_handle_t {
    uint32_t n_devices;
    ze_device_handle_t *devices; /* roots, or parts that were named */
    _Atomic int children;        /* what was made in it and still lives */
};

/* Is it one of the context's, or a part of one? */
bool sim_context_has(ze_context_handle_t context, ze_device_handle_t device);
/* The code of a lost device of the context. */
ze_result_t sim_context_lost(ze_context_handle_t context);

/* --- memory.c ---------------------------------------------------------------------------------------- */

typedef struct sim_allocation {
    char *base;
    size_t size;
    ze_memory_type_t type;
    ze_context_handle_t context;
    ze_device_handle_t device; /* NULL: host memory */
    uint64_t id;
    struct sim_chunk *chunk;
    bool imported; /* by zeMemOpenIpcHandle() */
    /* A duplicate of the chunk's descriptor in handles, of which `exports` are open. */
    int exported;
    uint32_t exports;
} sim_allocation;

/* A copy of what is known about the allocation that holds this address; false: memory of others. */
bool sim_find(const void *address, sim_allocation *out);
/* Reports ranges that end behind their allocation, and memory that this device must not touch. */
void sim_check_range(ze_context_handle_t context, ze_device_handle_t device, const void *address, size_t size,
                     const char *function);

/* What handles hold (ipc.c), in the order of Intel's driver. */
typedef struct sim_ipc {
    int32_t fd, unused;
    uint64_t offset;
    int32_t process; /* 0, or the one in which `fd` is (ZESIM_IPC_PROCESS) */
    uint32_t device;
    uint64_t size;
} sim_ipc;

/* memory.c */
ze_result_t sim_export(ze_context_handle_t context, const void *address, sim_ipc *out);
ze_result_t sim_put(ze_context_handle_t context, int fd);
ze_result_t sim_import(ze_context_handle_t context, ze_device_handle_t device, const sim_ipc *ipc, int fd,
                       void **out);
ze_result_t sim_release(ze_context_handle_t context, const void *address, bool imported);

/* --- event.c ----------------------------------------------------------------------------------------- */

struct _ze_event_pool_handle_t {
    ze_context_handle_t context;
    ze_event_pool_flags_t flags;
    uint32_t count;
    _Atomic uint32_t live;
    _Atomic uint8_t *taken; /* by index */
};

struct _ze_event_handle_t {
    ze_event_pool_handle_t pool;
    uint32_t index;
    _Atomic bool signalled;
    _Atomic uint32_t signals, waits; /* commands that will do so */
    uint64_t start_ns, end_ns;       /* of the command that signalled it; written before `signalled` */
};

struct _ze_fence_handle_t {
    ze_command_queue_handle_t queue;
    _Atomic bool signalled;
    _Atomic uint32_t pending;
};

/* --- engine.c: threads that run commands ------------------------------------------------------------- */

typedef enum sim_verb {
    SIM_NOTHING, /* barriers, prefetch, advice */
    SIM_COPY,
    SIM_REGION,
    SIM_FILL,
    SIM_RESET,
    SIM_CLOCK,
    SIM_TIMESTAMPS,
    SIM_LAUNCH,
} sim_verb;

typedef struct sim_region {
    ze_copy_region_t to, from;
    uint32_t to_pitch, to_slice, from_pitch, from_slice;
} sim_region;

typedef struct sim_command {
    struct sim_command *next;
    sim_verb verb;
    bool joins; /* begins when all earlier ones have ended */
    bool holds; /* later ones begin when it has ended */
    bool started;
    ze_event_handle_t signal;
    ze_fence_handle_t fence;
    uint32_t n_waits;
    ze_event_handle_t *waits; /* in this block */
    void *to;
    const void *from;
    size_t size;
    union {
        struct {
            size_t width;
            unsigned char bytes[SIM_FILL_COMPUTE];
        } pattern;
        sim_region region;
        ze_event_handle_t reset;
        struct {
            uint32_t n;
            ze_event_handle_t *events; /* in a block of its own, with the offsets behind it */
            size_t *offsets;
        } stamps;
        struct sim_launch *launch; /* owned */
    } as;
} sim_command;

typedef struct sim_engine {
    struct sim_engine *next; /* of all engines */
    ze_context_handle_t context;
    ze_device_handle_t device;
    uint32_t n_workers, n_started, n_running;
    _Atomic uint32_t n_came;   /* lists of commands, so far */
    uint32_t n_seen;           /* of them, when a worker began to look for more */
    uint32_t n_held;           /* workers that sleep */
    sim_command *first, *last; /* not yet ended */
    pthread_cond_t wake;
    pthread_t *workers;
    bool closing, lingers; /* one worker looks, and is not asleep */
    int32_t process;       /* that started the workers */
} sim_engine;

/* Guards engines, their commands, the counts of events, and the hosts that sleep. */
extern pthread_mutex_t sim_lock;

ze_result_t sim_engine_init(sim_engine *engine, ze_context_handle_t context, ze_device_handle_t device,
                            bool in_order);
/* Waits for what is pending, which the caller should have done. */
void sim_engine_free(sim_engine *engine, const char *function);
/* Takes the commands, a list of them. */
ze_result_t sim_engine_submit(sim_engine *engine, sim_command *first, sim_command *last);
bool sim_engine_idle(void *engine);
/* Has a lost device commands left? sim_lock is held. */
bool sim_engines_drop(void);
/* The event becomes signalled, with the times of a command. */
void sim_signal(ze_event_handle_t event, uint64_t start_ns, uint64_t end_ns);
/* Something has changed that engines and hosts may wait for. */
void sim_tell(void);
/* Does a command that has not ended use memory between these addresses? sim_lock is held. */
bool sim_in_use(const char *begin, const char *end);
bool sim_kernel_in_use(ze_kernel_handle_t kernel);
void sim_command_free(sim_command *command);
/* The same command once more; NULL: no memory. */
sim_command *sim_command_copy(const sim_command *command);
/* queue.c: does it, on a worker. */
ze_result_t sim_command_run(const sim_command *command, const sim_engine *engine);

/* --- wait.c ------------------------------------------------------------------------------------------- */

/*
 * Looks for ZESIM_LOOK_US, and no longer than the time, which it shortens by that, whether `done(of)`, which
 * needs no lock: sim_wait() sleeps, and is slow to wake up. A device takes its next command without being
 * woken, and a host in Intel's driver sees the end of one like that. Both leave the processor to others in
 * between: here all have few of them.
 */
bool sim_poll(bool (*done)(void *of), void *of, uint64_t *timeout_ns);
/* Waits until `done(of)` or the time is over, or the device of the engine or the context is lost. */
ze_result_t sim_wait(bool (*done)(void *of), void *of, uint64_t timeout_ns, ze_device_handle_t device,
                     ze_context_handle_t context);
/*
 * Commands of a lost device are dropped one after the other, while hosts know of the loss already: who takes
 * away what they name waits until the last is gone, for five seconds at most.
 */
void sim_settle(void);
/* Wakes the threads that wait for something that has completed. sim_lock is held. */
void sim_tell_hosts(void);

/* --- queue.c, list.c --------------------------------------------------------------------------------- */

struct _ze_command_queue_handle_t {
    sim_engine engine;
    uint32_t ordinal, index;
    bool synchronous;
};

struct _ze_command_list_handle_t {
    ze_context_handle_t context;
    ze_device_handle_t device;
    uint32_t ordinal, index;
    bool immediate, synchronous, in_order, closed;
    sim_engine engine;         /* of immediate lists */
    sim_command *first, *last; /* recorded, of others */
};

ze_result_t sim_check_queue(ze_context_handle_t context, ze_device_handle_t device,
                            const ze_command_queue_desc_t *desc);
/* Copies of what closed lists recorded, in one list; on failure the caller frees what there is. */
ze_result_t sim_gather(uint32_t n, ze_command_list_handle_t *lists, sim_command **first, sim_command **last);
void sim_scatter(sim_command *first);
/* ZE_RESULT_SUCCESS where the group and index exist. */
ze_result_t sim_check_group(ze_device_handle_t device, uint32_t ordinal, uint32_t index);
/* A zeroed command with room for its events; NULL: no memory. */
sim_command *sim_command_new(sim_verb verb, ze_event_handle_t signal, uint32_t n_waits,
                             ze_event_handle_t *waits);
/* Takes the command: records it, or hands it to the list's engine. */
ze_result_t sim_append(ze_command_list_handle_t list, sim_command *command);

/* --- module.c, kernel.c, opencl.c -------------------------------------------------------------------- */

struct sim_launch;
void sim_launch_free(struct sim_launch *launch);
struct sim_launch *sim_launch_copy(const struct sim_launch *launch);
ze_result_t sim_launch_run(const struct sim_launch *launch, const sim_engine *engine);
bool sim_launch_uses(const struct sim_launch *launch, const char *begin, const char *end);
bool sim_launch_is_of(const struct sim_launch *launch, ze_kernel_handle_t kernel);

#endif
