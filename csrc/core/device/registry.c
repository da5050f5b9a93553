#include "registry.h"

#include "core/base/detach.h"
#include "core/base/sync.h"
#include "rule.h"

#include <dlpack/dlpack.h>
#include <stdio.h>
#include <string.h>

#ifdef USM_TESTING
extern const usm_backend usm_fault_backend; /* the host backend, with calls that fail when a test says so */
#define HOST_BACKEND (&usm_fault_backend)
#else
extern const usm_backend usm_host_backend;
#define HOST_BACKEND (&usm_host_backend)
#endif

#ifdef USM_TESTING
extern const usm_backend usm_minimal_backend; /* the fewest entries: found by its name alone */
#define N_SLOTS (USM_N_BACKENDS + 1)
#else
#define N_SLOTS USM_N_BACKENDS
#endif

#ifdef USM_OPENCL
extern const usm_backend usm_opencl_backend;
#define OPENCL_BACKEND (&usm_opencl_backend)
#else
#define OPENCL_BACKEND NULL
#endif

#ifdef USM_CUDA
extern const usm_backend usm_cuda_backend;
#define CUDA_BACKEND (&usm_cuda_backend)
#else
#define CUDA_BACKEND NULL
#endif

#ifdef USM_LEVEL_ZERO
extern const usm_backend usm_level_zero_backend;
#define LEVEL_ZERO_BACKEND (&usm_level_zero_backend)
#else
#define LEVEL_ZERO_BACKEND NULL
#endif

/* The only list of backends. The order is that of preference among devices of one type. */
typedef struct slot {
    usm_backend_report report;
    _Atomic bool started;     /* set under the registry lock, too: no fork sees it change */
    pthread_mutex_t starting; /* for those who need this backend, without the GIL */
    char text[sizeof((usm_error *)NULL)->text + sizeof(usm_library_report)];
} slot;

#define SLOT(words, table)                                                                 \
    {                                                                                      \
        .report = {.name = words, .backend = table}, .starting = PTHREAD_MUTEX_INITIALIZER \
    }
static slot slots[N_SLOTS] = {
    SLOT("cuda", CUDA_BACKEND),
    SLOT("level_zero", LEVEL_ZERO_BACKEND),
    SLOT("opencl", OPENCL_BACKEND),
    SLOT("host", HOST_BACKEND),
#ifdef USM_TESTING
    SLOT("minimal", &usm_minimal_backend),
#endif
};

static _Thread_local slot *own_start; /* that the thread is in */

/* Filter strings count root devices of one backend and type. */
static void number(const usm_backend_report *report)
{
    uint32_t next[USM_ACCELERATOR + 1] = {0};
    for (size_t i = 0; i < report->n_devices; i++) {
        report->devices[i]->index = next[report->devices[i]->type]++;
    }
}

/* Which libraries were open when it went wrong: "...; loader: /usr/lib/libX.so.1". */
static void add_libraries(slot *slot)
{
    const usm_library_report *libraries = slot->report.backend->libraries;
    size_t used = strlen(slot->text);
    for (const char *line = libraries != NULL ? libraries->text : ""; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        used += (size_t)snprintf(slot->text + used, sizeof slot->text - used, "; %.*s", (int)length, line);
        line += length + 1;
    }
}

static void start(slot *slot)
{
    usm_backend_report *report = &slot->report;
    usm_error error;
    if (report->backend == NULL) {
        snprintf(slot->text, sizeof slot->text,
                 "this build of usmpy has no %s backend; python -c \"import usmpy; print(usmpy.diagnose())\" "
                 "lists what it has",
                 report->name);
        report->absent = slot->text;
        return;
    }
    report->environment = report->backend->environment;
    report->libraries = report->backend->libraries;
    usm_status status = USM_CALL(report->backend, start)(&report->devices, &report->n_devices, &error);
    if (status == USM_OK) {
        number(report);
        return;
    }
    report->broken = status != USM_UNAVAILABLE;
    if (error.name[0] != '\0') {
        snprintf(slot->text, sizeof slot->text, "%.600s (%s, %d)", error.text, error.name, error.code);
    } else {
        snprintf(slot->text, sizeof slot->text, "%s", error.text);
    }
    add_libraries(slot);
    report->absent = slot->text;
}

const usm_backend_report *usm_backend_start_for(usm_interface interface)
{
    static const char *const names[] = {
        [USM_INTERFACE_PROCESS] = "host",
        [USM_INTERFACE_CUDA] = "cuda",
        [USM_INTERFACE_SYCL_OPENCL] = "opencl",
        [USM_INTERFACE_SYCL_LEVEL_ZERO] = "level_zero",
    };
    return usm_backend_start(usm_backend_index(names[interface], strlen(names[interface])));
}

const usm_backend_report *usm_backend_start(int index)
{
    slot *slot = &slots[index];
    if (!atomic_load_explicit(&slot->started, memory_order_acquire)) {
        void *held = usm_detach();
        pthread_mutex_lock(&slot->starting);
        if (!atomic_load_explicit(&slot->started, memory_order_relaxed)) {
            own_start = slot;
            start(slot);
            own_start = NULL;
            usm_registry_lock();
            atomic_store_explicit(&slot->started, true, memory_order_release);
            usm_registry_unlock();
        }
        pthread_mutex_unlock(&slot->starting);
        usm_attach(held);
    }
    return &slot->report;
}

usm_status usm_host_place(usm_place **out, usm_error *error)
{
    const usm_backend_report *host = usm_backend_start_for(USM_INTERFACE_PROCESS);
    usm_context *context;
    if (host->absent != NULL) {
        return usm_error_set(error, USM_UNAVAILABLE, "%s", host->absent);
    }
    usm_status status = usm_context_default(host->devices[0], &context, error);
    return status == USM_OK ? usm_context_place(context, host->devices[0], out, error) : status;
}

int usm_backend_index(const char *name, size_t length)
{
    for (int i = 0; i < N_SLOTS; i++) {
        const char *known = slots[i].report.name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

/*
 * A driver that is being started may fork, to run a helper program. Such a fork does not wait for starts of
 * other threads, whose drivers may do the same.
 */
void usm_backends_fork_starts(usm_fork_phase phase)
{
    for (slot *slot = slots; slot < slots + N_SLOTS; slot++) {
        if (own_start == NULL && phase == USM_FORK_PREPARE) {
            pthread_mutex_lock(&slot->starting);
        } else if (own_start == NULL) {
            pthread_mutex_unlock(&slot->starting);
        } else if (phase == USM_FORK_CHILD && slot != own_start) {
            pthread_mutex_init(&slot->starting, NULL); /* its thread does not exist here */
        }
    }
}

/* The host's threads may be at work for others, also where nobody has started it. */
void usm_backends_fork(usm_fork_phase phase)
{
    for (int i = 0; i < N_SLOTS; i++) {
        const usm_backend *backend = slots[i].report.backend;
        if (backend == HOST_BACKEND ||
            (backend != NULL && atomic_load_explicit(&slots[i].started, memory_order_acquire))) {
            if (backend->fork != NULL) {
                USM_CALL(backend, fork)(phase);
            }
            usm_fork_guard *guard = backend->fork_guard;
            if (phase == USM_FORK_CHILD && guard != NULL &&
                atomic_load_explicit(&guard->used, memory_order_acquire)) {
                atomic_store_explicit(&guard->forked, true, memory_order_release);
            }
        }
    }
}

usm_status usm_refuse_after_fork(const usm_backend *backend, usm_error *error)
{
    return usm_error_set(error, USM_FORKED,
                         "%s was used before this process was forked, and drivers do not survive that; "
                         "start processes with multiprocessing's method 'spawn'",
                         backend->fork_guard->driver);
}

/* Of several devices with memory of one name, the one that this memory is of; else `device`. */
static usm_device *device_of(usm_device *device, const void *pointer)
{
    usm_context *context;
    usm_pointer_info info = {.device = NULL};
    if (pointer == NULL || device->backend->memory_query == NULL || usm_is_forked(device->backend) ||
        usm_context_default(device, &context, NULL) != USM_OK ||
        USM_CALL(device->backend, memory_query)(context, pointer, &info, NULL) != USM_OK ||
        info.device == NULL) {
        return device;
    }
    return info.device;
}

/*
 * Is this memory of the device? Of a name that devices of several backends have: Level Zero and OpenCL count
 * theirs as kDLOneAPI each by themselves, and others may have it as a view, which only we give them. A driver
 * that identifies memory knows whose it is.
 */
typedef enum match { NO, UNKNOWN, YES } match;

static match device_owns_pointer(usm_device *device, const void *pointer)
{
    usm_pointer_info info = {.device = NULL};
    usm_registry_lock();
    usm_context *context = device->context;
    usm_registry_unlock();
    if (pointer == NULL) {
        return UNKNOWN;
    }
    if (context == NULL) { /* nothing of it was ever used */
        return NO;
    }
    if (device->backend->memory_query == NULL || usm_is_forked(device->backend) ||
        USM_CALL(device->backend, memory_query)(context, pointer, &info, NULL) != USM_OK) {
        return UNKNOWN;
    }
    return info.device == device ? YES : info.identifies == USM_IDENTIFIES_NONE ? UNKNOWN : NO;
}

usm_device *usm_device_from_dlpack(int32_t type, int32_t id, const void *pointer)
{
    usm_device *best = NULL;
    int best_rank = -2;
    for (int i = 0; i < N_SLOTS; i++) {
        if (slots[i].report.backend == NULL ||
            (i >= USM_N_BACKENDS && !atomic_load_explicit(&slots[i].started, memory_order_acquire))) {
            continue;
        }
        const usm_backend_report *report = usm_backend_start(i);
        for (size_t k = 0; k < report->n_devices; k++) {
            const usm_device_info *info = &report->devices[k]->info;
            bool named = info->dlpack_type == type && info->dlpack_id == id;
            if (named && type != kDLOneAPI) {
                return report->devices[k];
            }
            if (named || usm_device_info_has_view(info, type, id)) {
                match match = device_owns_pointer(report->devices[k], pointer);
                int rank = match == YES || named ? (int)match : -1;
                if (rank > best_rank) {
                    best = report->devices[k];
                    best_rank = rank;
                }
                continue;
            }
            if (id == 0 && type != 0 &&
                (info->dlpack_shared_type == type || info->dlpack_host_type == type)) {
                return device_of(report->devices[k], pointer);
            }
        }
    }
    return best;
}
