/* What tests turn and read: configuration, counters, faults, delays. Everything is called with ctypes. */
#include "sim.h"

#include <stdarg.h>
#include <time.h>

sim_state sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER};

__thread bool sim_in_callback;

static const char *const function_names[] = {
#define SIM_FUNCTION(name) #name,
#include "functions.inc"
#undef SIM_FUNCTION
};

static _Atomic bool ended; /* the process is */

static long configured(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text == NULL || text[0] == '\0' ? otherwise : strtol(text, NULL, 0);
}

static int function_named(const char *name, size_t length)
{
    for (int i = 0; i < F_COUNT; i++) {
        if (strlen(function_names[i]) == length && memcmp(function_names[i], name, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* CUDASIM_FAIL="cuMemAlloc:3:2,cuLaunchKernel:1:700": function, which call, code. */
static void read_faults(const char *text)
{
    while (text != NULL && *text != '\0') {
        const char *colon = strchr(text, ':');
        int function = colon == NULL ? -1 : function_named(text, (size_t)(colon - text));
        char *end = NULL;
        if (function < 0) {
            fprintf(stderr, "cudasim: CUDASIM_FAIL is not understood at: %s\n", text);
            abort();
        }
        sim.faults[function].at = strtoull(colon + 1, &end, 10);
        sim.faults[function].code = *end == ':' ? (int)strtol(end + 1, &end, 10) : CUDA_ERROR_UNKNOWN;
        text = *end == ',' ? end + 1 : NULL;
    }
}

static void before_fork(void)
{
    sim_lock();
}

static void in_parent(void)
{
    sim_unlock(CUDA_SUCCESS);
}

/* The driver does not survive a fork: its threads are not here. */
static void in_child(void)
{
    sim.forked = sim.initialized;
    pthread_mutex_init(&sim.lock, NULL);
    pthread_cond_init(&sim.progress, NULL);
}

__attribute__((constructor)) static void load(void)
{
    long devices = configured("CUDASIM_DEVICES", 2);
    sim.devices = devices < 0 ? 0 : devices > SIM_DEVICES ? SIM_DEVICES : (int)devices;
    sim.total = (size_t)configured("CUDASIM_MEMORY", 4L << 30);
    long capability = configured("CUDASIM_CC", 80);
    sim.major = (int)(capability / 10);
    sim.minor = (int)(capability % 10);
    sim.version = (int)configured("CUDASIM_VERSION", 13000);
    sim.kilohertz = (int)configured("CUDASIM_KILOHERTZ", 1000000);
    sim.peers = configured("CUDASIM_PEERS", 1) != 0;
    sim.pools = configured("CUDASIM_POOLS", 1) != 0;
    sim.managed = configured("CUDASIM_MANAGED", 1) != 0;
    sim.pageable = configured("CUDASIM_PAGEABLE", 0) != 0;
    sim.sharing = configured("CUDASIM_SHARING", 1) != 0;
    sim.read_only = configured("CUDASIM_READ_ONLY", 1) != 0;
    sim.ipc_events = configured("CUDASIM_IPC_EVENTS", 1) != 0;
    sim.delay_us = configured("CUDASIM_DELAY_US", 0);
    read_faults(getenv("CUDASIM_FAIL"));
    pthread_atfork(before_fork, in_parent, in_child);
}

__attribute__((destructor)) static void unload(void)
{
    ended = true;
}

int64_t sim_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

unsigned long long sim_next_id(void)
{
    static unsigned long long last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

CUresult sim_enter(sim_function function)
{
    if (sim.forked) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (ended) {
        return CUDA_ERROR_DEINITIALIZED;
    }
    if (sim_in_callback) {
        return CUDA_ERROR_NOT_PERMITTED;
    }
    CUresult code = CUDA_SUCCESS;
    sim_lock();
    sim.calls[function]++;
    if (sim.faults[function].at != 0 && --sim.faults[function].at == 0) {
        code = (CUresult)sim.faults[function].code;
    } else if (!sim.initialized && function > F_cuGetErrorString) {
        code = CUDA_ERROR_NOT_INITIALIZED;
    }
    return sim_unlock(code);
}

void sim_misused(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sim.misuse, sizeof sim.misuse, format, arguments);
    va_end(arguments);
    sim.misuses++;
    fprintf(stderr, "cudasim: %s\n", sim.misuse);
    if (configured("CUDASIM_ABORT", 0) != 0) {
        abort();
    }
}

/* The n-th call of this function from now on fails with this code; 0 takes it back. -1: no such function. */
SIM_EXPORT int cudasim_fail(const char *function, unsigned long long n, int code)
{
    int index = function_named(function, strlen(function));
    if (index < 0) {
        return -1;
    }
    sim_lock();
    sim.faults[index].at = n;
    sim.faults[index].code = code;
    sim_unlock(CUDA_SUCCESS);
    return 0;
}

/* Calls of this function so far, or of all functions (NULL); -1: no such function. */
SIM_EXPORT long long cudasim_calls(const char *function)
{
    long long calls = 0;
    int index = function == NULL ? F_COUNT : function_named(function, strlen(function));
    if (index < 0) {
        return -1;
    }
    sim_lock();
    for (int i = 0; i < F_COUNT; i++) {
        calls += index == F_COUNT || i == index ? (long long)sim.calls[i] : 0;
    }
    sim_unlock(CUDA_SUCCESS);
    return calls;
}

SIM_EXPORT int cudasim_functions(void)
{
    return F_COUNT;
}

SIM_EXPORT const char *cudasim_function(int index)
{
    return index >= 0 && index < F_COUNT ? function_names[index] : NULL;
}

/* Every kernel takes this much longer. */
SIM_EXPORT void cudasim_delay(long microseconds)
{
    sim_lock();
    sim.delay_us = microseconds;
    sim_unlock(CUDA_SUCCESS);
}

/* While it is held, no stream begins another operation. */
SIM_EXPORT void cudasim_hold(int held)
{
    sim_lock();
    sim.held = held != 0;
    pthread_cond_broadcast(&sim.progress);
    sim_unlock(CUDA_SUCCESS);
}

/* A device fails now, as if a kernel of its primary context had. */
SIM_EXPORT void cudasim_lose(int device, int code)
{
    sim_lock();
    if (device >= 0 && device < sim.devices && sim.device[device].primary != NULL) {
        sim_lose(sim.device[device].primary, (CUresult)code);
    }
    sim_unlock(CUDA_SUCCESS);
}

/* What is alive: bytes of memory, its allocations, streams, events, modules, graphs; and misuses so far. */
SIM_EXPORT void cudasim_counts(unsigned long long counts[8])
{
    size_t blocks = 0, bytes = 0;
    sim_lock();
    sim_blocks_of(NULL, &blocks, &bytes);
    sim_virtual_counts(&blocks, &bytes);
    counts[0] = bytes;
    counts[1] = blocks;
    counts[2] = sim_count(SIM_STREAM);
    counts[3] = sim_count(SIM_EVENT);
    counts[4] = sim_count(SIM_MODULE);
    counts[5] = sim_count(SIM_GRAPH) + sim_count(SIM_EXEC);
    counts[6] = sim_count(SIM_USER);
    counts[7] = sim.misuses;
    sim_unlock(CUDA_SUCCESS);
}

/* The last misuse, or "". */
SIM_EXPORT const char *cudasim_misuse(void)
{
    return sim.misuse;
}

/* Where the last kernel that failed did, or "". */
SIM_EXPORT const char *cudasim_fault(void)
{
    return sim.fault;
}

/* Kernels that have run to their end. */
SIM_EXPORT unsigned long long cudasim_launches(void)
{
    sim_lock();
    unsigned long long launches = sim.launches;
    sim_unlock(CUDA_SUCCESS);
    return launches;
}

/* Writes what is alive to the standard error; the number of allocations. */
SIM_EXPORT unsigned long long cudasim_report(void)
{
    static const char *const names[] = {"bytes",   "allocations", "streams",      "events",
                                        "modules", "graphs",      "user objects", "misuses"};
    unsigned long long counts[8];
    cudasim_counts(counts);
    for (int i = 0; i < 8; i++) {
        fprintf(stderr, "cudasim: %llu %s\n", counts[i], names[i]);
    }
    return counts[1];
}

/* Handles: every object that users may name, in one table that never forgets. */

#define BUCKETS 65536
#define OVERHEAD 16 /* of an allocation */

static sim_object *buckets[BUCKETS];
static sim_object *kinds[SIM_KINDS]; /* those that are alive, and some that were */
static unsigned long long n_bytes;

static size_t bucket_of(const void *handle)
{
    return ((uintptr_t)handle >> 4) * 2654435761u % BUCKETS;
}

void *sim_new(sim_kind kind, size_t size)
{
    sim_object *object = calloc(1, size);
    if (object == NULL) {
        abort();
    }
    object->kind = kind;
    object->alive = true;
    size_t bucket = bucket_of(object);
    object->next = buckets[bucket];
    buckets[bucket] = object;
    object->peer = kinds[kind];
    kinds[kind] = object;
    n_bytes += size + OVERHEAD;
    return object;
}

void *sim_find(sim_kind kind, const void *handle)
{
    static const char *const names[] = {
        "?",        "context", "stream",           "event",       "memory pool", "module",
        "function", "graph",   "executable graph", "user object", "allocation"};
    for (sim_object *object = buckets[bucket_of(handle)]; object != NULL; object = object->next) {
        if (object == handle && object->kind == kind) {
            if (object->alive) {
                return object;
            }
            sim_misused("%s %p was used after its end", names[kind], handle);
            return NULL;
        }
    }
    return NULL;
}

void sim_each(sim_kind kind, void (*f)(sim_object *object, void *data), void *data)
{
    for (sim_object **link = &kinds[kind]; *link != NULL;) {
        sim_object *object = *link;
        if (object->alive) {
            f(object, data);
            link = &object->peer;
        } else {
            *link = object->peer;
        }
    }
}

static void count_one(sim_object *object, void *data)
{
    (void)object;
    *(size_t *)data += 1;
}

size_t sim_count(sim_kind kind)
{
    size_t count = 0;
    sim_each(kind, count_one, &count);
    return count;
}

/* Bytes of all handles that there ever were. */
SIM_EXPORT unsigned long long cudasim_handles(void)
{
    sim_lock();
    unsigned long long bytes = n_bytes;
    sim_unlock(CUDA_SUCCESS);
    return bytes;
}

/*
 * Functions under names that cuda.h of CUDA 13 gives to later versions, with other arguments. Libraries keep
 * both, and programs that run with CUDA 12 ask for the older one.
 */

#if CUDA_VERSION >= 13000

#define OLDER(name, call)                          \
    SIM_EXPORT extern CUresult call __asm__(name); \
    CUresult call

OLDER("cuEventElapsedTime", older_elapsed_time(float *milliseconds, CUevent start, CUevent end))
{
    return cuEventElapsedTime(milliseconds, start, end);
}

OLDER("cuMemPrefetchAsync",
      older_prefetch(CUdeviceptr address, size_t size, CUdevice device, CUstream stream))
{
    CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    if (device == CU_DEVICE_CPU) {
        location.type = CU_MEM_LOCATION_TYPE_HOST;
    }
    return cuMemPrefetchAsync(address, size, location, 0, stream);
}

OLDER("cuStreamGetCaptureInfo_v2",
      older_capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                         const CUgraphNode **dependencies, size_t *n))
{
    return cuStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, n);
}

#endif
