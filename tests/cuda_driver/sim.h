/*
 * A CUDA driver in software, for tests: what its files share.
 *
 * One lock guards all state. Workers, one a stream, let it go while they run an operation. Every entry of the
 * driver begins with SIM_ENTER, which counts the call and makes it fail where a test asked for that.
 */
#ifndef SIM_H
#define SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only what cuda.h declares leaves the library, and the functions of control.c. */
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#define SIM_EXPORT __attribute__((visibility("default")))
#define SIM_DEVICES 8

typedef enum sim_function {
#define SIM_FUNCTION(name) F_##name,
#include "functions.inc"
#undef SIM_FUNCTION
    F_COUNT
} sim_function;

/* What a handle is. Objects are never freed, so that a handle of a dead one is known for what it is. */
typedef enum sim_kind {
    SIM_CONTEXT = 1,
    SIM_STREAM,
    SIM_EVENT,
    SIM_POOL,
    SIM_MODULE,
    SIM_KERNEL,
    SIM_GRAPH,
    SIM_EXEC,
    SIM_USER,
    SIM_PHYSICAL,
    SIM_KINDS
} sim_kind;

typedef struct sim_object {
    sim_kind kind;
    bool alive;
    struct sim_object *next; /* in the table of handles */
    struct sim_object *peer; /* of the same kind */
} sim_object;

typedef struct sim_context sim_context;
typedef struct sim_stream sim_stream;
typedef struct sim_event sim_event;
typedef struct sim_pool sim_pool;
typedef struct sim_graph sim_graph;
typedef struct sim_capture sim_capture;
typedef struct sim_past sim_past;
typedef struct sim_module sim_module;
typedef struct sim_kernel sim_kernel;
typedef struct sim_physical sim_physical;
typedef struct sim_shared sim_shared;

struct sim_context {
    sim_object base;
    int device;
    bool primary;
    unsigned retained; /* primary: 0 is inactive */
    unsigned flags;
    int sticky; /* an error that no later call survives */
    unsigned long long id;
    uint32_t peers; /* devices whose memory kernels of this context may use */
    sim_stream *legacy;
    sim_stream *streams; /* all of them, dead ones too */
    unsigned alone;      /* calls that wait for its work, and keep others out (sim_wait_alone) */
};

/* A point in a stream: everything up to operation `at`. Or a record of an event for several processes. */
typedef struct sim_point {
    sim_stream *stream;
    uint64_t at;
    sim_shared *shared;
    uint64_t generation;
} sim_point;

typedef enum sim_op_kind {
    OP_RECORD,
    OP_WAIT,
    OP_COPY,
    OP_SET,
    OP_KERNEL,
    OP_FREE,
    OP_HOST,
    OP_GRAPH
} sim_op_kind;

typedef struct sim_launch {
    sim_kernel *kernel;
    uint32_t grid[3], block[3];
    uint32_t dynamic;    /* bytes of shared memory beside those of the kernel */
    uint8_t *parameters; /* the operation's own */
} sim_launch;

/* Rows of `width` bytes; addresses are those that the driver reads (sim_place). */
typedef struct sim_copy {
    char *to;
    const char *from;
    size_t width, rows, layers;
    size_t to_pitch, from_pitch, to_layer, from_layer;
    void *staged; /* freed after the operation */
} sim_copy;

typedef struct sim_set {
    char *to;
    uint32_t value;
    size_t size; /* of an element */
    size_t width, rows, pitch;
} sim_set;

typedef struct sim_op {
    struct sim_op *next;
    sim_op_kind kind;
    uint64_t at;
    union {
        struct {
            sim_event *event;
            uint64_t generation, shared;
        } record;
        sim_point wait;
        sim_copy copy;
        sim_set set;
        sim_launch launch;
        uintptr_t freed;
        struct {
            CUhostFn call;
            void *data;
        } host;
        sim_graph *graph;
    } u;
} sim_op;

struct sim_stream {
    sim_object base;
    sim_context *context;
    sim_stream *sibling;
    unsigned flags;
    int priority;
    unsigned long long id;
    bool legacy, per_thread;
    bool started;                 /* it has a worker */
    uint64_t submitted, finished; /* operations */
    sim_op *head, *tail;
    pthread_cond_t work;
    sim_capture *capture;
    sim_past *past; /* what its capture has before its next operation */
};

struct sim_event {
    sim_object base;
    sim_context *context;
    unsigned flags;
    bool recorded;
    sim_point point;
    sim_shared *shared;  /* of an event for several processes: instead of the point */
    uint64_t generation; /* counts records */
    uint64_t timed;      /* the generation whose time is known */
    int64_t ns;
    unsigned long long capture; /* the id of the capture that recorded it last; 0: none */
    sim_past *past;
};

struct sim_pool {
    sim_object base;
    int device;
    CUmemLocationType location;
    CUmemAllocationType type;
    uint32_t access; /* devices */
    uint64_t threshold;
    size_t used, reserved, used_high, reserved_high, limit;
};

/* One allocation. */
typedef struct sim_block {
    uintptr_t start; /* what users see */
    size_t size;
    ptrdiff_t shadow; /* start + shadow is what the driver reads */
    CUmemorytype type;
    bool managed;
    bool freeing; /* cuMemFreeAsync was called */
    bool of_module;
    int device;
    unsigned flags;
    sim_context *context;
    sim_pool *pool; /* NULL: none */
    /* Of a mapping (virtual.c): what is mapped, and the devices that may use it. */
    sim_physical *physical;
    uint32_t readers, writers;
    unsigned long long id;
} sim_block;

typedef struct sim_device {
    CUuuid uuid;
    sim_context *primary;
    sim_pool *pool; /* the default one */
    size_t used;    /* of the configured total */
} sim_device;

typedef struct sim_state {
    pthread_mutex_t lock;
    pthread_cond_t progress; /* some operation ended */
    bool initialized, forked;
    int devices;
    size_t total; /* bytes a device */
    int major, minor, version, kilohertz;
    bool peers, pools, managed, pageable, sharing, read_only, ipc_events;
    sim_device device[SIM_DEVICES];
    /* control.c */
    uint64_t calls[F_COUNT];
    struct {
        uint64_t at; /* calls until it fails; 0: never */
        int code;
    } faults[F_COUNT];
    long delay_us;
    bool held;
    uint64_t misuses, launches;
    char misuse[256];
    char fault[200]; /* where the last kernel that failed did */
} sim_state;

extern sim_state sim;
/* This thread runs a user's function, which must not call the driver. */
extern __thread bool sim_in_callback;

/* control.c. Counts the call; what it returns, if not CUDA_SUCCESS, the function returns. */
CUresult sim_enter(sim_function function);
/* A handle or pointer was used after its end: counted, reported, fatal with CUDASIM_ABORT=1. Lock held. */
void sim_misused(const char *format, ...) __attribute__((format(printf, 1, 2)));
int64_t sim_now(void);
unsigned long long sim_next_id(void);

/* Lock held. */
void *sim_new(sim_kind kind, size_t size);
/* The object, if the handle is one, of this kind, alive; else NULL. */
void *sim_find(sim_kind kind, const void *handle);
/* Calls f for each live object of the kind. */
void sim_each(sim_kind kind, void (*f)(sim_object *object, void *data), void *data);
size_t sim_count(sim_kind kind);

/* context.c. Lock held. */
sim_context *sim_top(void);
/* The calling thread's current context, if it still works; else what the call returns. */
CUresult sim_current(sim_context **out);
/* Before a call's own checks: waits while another call keeps this one out of the context. */
void sim_let_in(sim_context *context, sim_function function);
/* Waits for the context's work. Calls that put work into it or make objects of it wait meanwhile. */
void sim_wait_alone(sim_context *context);
/* A kernel of the context failed. */
void sim_lose(sim_context *context, CUresult code);

/* stream.c. Lock held by callers of all but sim_run_copy and sim_run_set. */
sim_stream *sim_stream_new(sim_context *context, unsigned flags, int priority);
/* It takes no more work, and ends once it has done what it has. */
void sim_stream_end(sim_stream *stream);
/* What a handle names, with the default streams, in the current context. */
CUresult sim_stream_of(CUstream handle, sim_context *current, sim_stream **out);
/* Appends an operation, or a node to the graph that the stream captures. Takes a copy; `at` may be NULL. */
CUresult sim_submit(sim_stream *stream, const sim_op *op, sim_point *at);
bool sim_reached(const sim_point *point);
/* Waits until something may have changed. Nobody tells of what happens in other processes (`shared`). */
void sim_pause(bool shared);
/* Waits with the lock released. Returns the code that the point's context has afterwards. */
CUresult sim_wait(const sim_point *point);
void sim_wait_context(sim_context *context);
void sim_execute(sim_stream *stream, sim_op *op);
void sim_op_drop(sim_op *op);

/* capture.c. Lock held. */
CUresult sim_capture_add(sim_stream *stream, const sim_op *op);
/* What cuEventRecord and cuStreamWaitEvent do in captures; *done: nothing is left to do. */
CUresult sim_capture_record(sim_stream *stream, sim_event *event, bool *done);
CUresult sim_capture_wait(sim_stream *stream, sim_event *event, bool *done);
/* A call that captures forbid, on the calling thread: CUDA_SUCCESS where no capture minds. */
CUresult sim_capture_unsafe(void);
void sim_capture_invalidate(sim_stream *stream);
void sim_capture_invalidate_id(unsigned long long id);
/* Work for the legacy stream while a stream that it waits for captures. */
CUresult sim_capture_implicit(sim_context *context);
void sim_graph_run(sim_stream *stream, sim_graph *graph);

/* memory.c. Lock held. */
void sim_memory_start(void);
sim_block *sim_block_at(uintptr_t address);
/* Where the driver reaches `size` bytes at this address: of a block, or anything else of the process. */
CUresult sim_place(uintptr_t address, size_t size, char **out, sim_block **block);
/* Takes a copy. */
void sim_block_add(const sim_block *block);
void sim_block_drop(sim_block *block);
void sim_blocks_changed(void);
/* May commands of the device use a mapping so? True of other blocks. */
static inline bool sim_block_allows(const sim_block *block, int device, bool writes)
{
    return block->physical == NULL || ((writes ? block->writers : block->readers) >> device & 1) != 0;
}
void sim_block_free(sim_block *block);
/* For a module's variables: no user's allocation. NULL: no memory. */
sim_block *sim_block_for_module(sim_context *context, size_t size);
void sim_blocks_of(sim_context *context, size_t *count, size_t *bytes);
sim_pool *sim_pool_new(int device, CUmemLocationType location, CUmemAllocationType type);
/* A list of blocks for kernels, sorted; valid until sim_map_drop. */
typedef struct sim_map {
    unsigned refs;
    size_t n;
    sim_block blocks[];
} sim_map;
sim_map *sim_map_take(void);
void sim_map_drop(sim_map *map);
/* Pools give unused memory back where the host waited. */
void sim_pools_trim(void);

/* virtual.c. Lock held. */
bool sim_is_virtual(uintptr_t address);
/* Adds allocations and reserved ranges of addresses, and the bytes of the former. */
void sim_virtual_counts(size_t *count, size_t *bytes);

/* Lock held. */
sim_shared *sim_shared_new(void);
void sim_shared_hold(sim_shared *shared);
void sim_shared_drop(sim_shared *shared);
void sim_shared_destroy(sim_shared *shared);
/* Counts a record: its number, which sim_shared_reach takes when its stream has come there. */
uint64_t sim_shared_record(sim_shared *shared);
void sim_shared_reach(sim_shared *shared, uint64_t generation);
sim_point sim_shared_point(sim_shared *shared);
bool sim_shared_reached(const sim_point *point);

/* module.c and the interpreter. No lock held; CUDA_SUCCESS or a sticky code. */
CUresult sim_kernel_run(sim_context *context, const sim_launch *launch);
size_t sim_kernel_parameters(const sim_kernel *kernel);

static inline void sim_lock(void)
{
    pthread_mutex_lock(&sim.lock);
}

static inline CUresult sim_unlock(CUresult code)
{
    pthread_mutex_unlock(&sim.lock);
    return code;
}

/* F_##name comes first of all: a name that went through another macro is that of cuda.h, with its version. */
#define SIM_ENTER(name) SIM_ENTER_BY(F_##name)
/* Enters, takes the lock, and finds the current context. */
#define SIM_ENTER_CURRENT(name, context) SIM_ENTER_CURRENT_BY(F_##name, context)

#define SIM_ENTER_BY(function)                  \
    do {                                        \
        CUresult entered = sim_enter(function); \
        if (entered != CUDA_SUCCESS) {          \
            return entered;                     \
        }                                       \
    } while (0)

#define SIM_ENTER_CURRENT_BY(function, context)   \
    SIM_ENTER_BY(function);                       \
    sim_context *context;                         \
    sim_lock();                                   \
    do {                                          \
        CUresult current = sim_current(&context); \
        if (current != CUDA_SUCCESS) {            \
            return sim_unlock(current);           \
        }                                         \
        sim_let_in(context, function);            \
    } while (0)

#endif
