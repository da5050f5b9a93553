#include "registry.h"

#include "core/base/detach.h"
#include "core/base/sync.h"
#include "device.h"
#include "rule.h"

#include <stdio.h>
#include <string.h>

#ifdef USM_TESTING
extern const usm_backend usm_fault_backend;   /* the host backend, with calls that fail when a test says so */
extern const usm_backend usm_minimal_backend; /* the fewest entries: found by its name alone */
#define HOST_BACKEND (&usm_fault_backend)
#define N_SLOTS (USM_N_BACKENDS + 1)
#else
extern const usm_backend usm_host_backend;
#define HOST_BACKEND (&usm_host_backend)
#define N_SLOTS USM_N_BACKENDS
#endif
/* Their addresses are NULL in a build without the headers of the driver. */
extern const usm_backend usm_cuda_backend __attribute__((weak));
extern const usm_backend usm_level_zero_backend __attribute__((weak));
extern const usm_backend usm_opencl_backend __attribute__((weak));

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
    SLOT("cuda", &usm_cuda_backend),       SLOT("level_zero", &usm_level_zero_backend),
    SLOT("opencl", &usm_opencl_backend),   SLOT("host", HOST_BACKEND),
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
        [USM_INTERFACE_STREAMS] = "cuda",
        [USM_INTERFACE_SYCL_OPENCL] = "opencl",
        [USM_INTERFACE_SYCL_LEVEL_ZERO] = "level_zero",
    };
    for (int i = 0; interface == USM_INTERFACE_STREAMS && i < USM_N_BACKENDS; i++) {
        const usm_backend *backend = slots[i].report.backend;
        if (backend != NULL && usm_backend_has_streams(backend) && usm_backend_start(i)->absent == NULL) {
            return usm_backend_start(i);
        }
    }
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

const usm_backend_report *usm_backend_next(int *index)
{
    for (; *index < N_SLOTS; (*index)++) {
        if (slots[*index].report.backend != NULL &&
            (*index < USM_N_BACKENDS || atomic_load_explicit(&slots[*index].started, memory_order_acquire))) {
            return usm_backend_start((*index)++);
        }
    }
    return NULL;
}

static bool is_native(const usm_device *device, const void *handle)
{
    return USM_CALL(device->backend->native, handle)(USM_NATIVE_DEVICE, device) == handle;
}

/* Registry lock held. A part that is its whole has its handle: parts of the whole come before parts of it. */
static usm_device *find_native(usm_device *device, void *handle)
{
    usm_device *found = is_native(device, handle) ? device : NULL;
    for (usm_device *part = device->partitions; part != NULL && found == NULL; part = part->sibling) {
        found = is_native(part, handle) ? part : NULL;
    }
    for (usm_device *part = device->partitions; part != NULL && found == NULL; part = part->sibling) {
        found = find_native(part, handle);
    }
    return found;
}

usm_status usm_device_adopt(const usm_backend *backend, void *handle, usm_device **out, usm_error *error)
{
    const usm_backend_report *report =
        usm_backend_start(usm_backend_index(backend->name, strlen(backend->name)));
    *out = NULL;
    usm_registry_lock();
    for (size_t i = 0; i < report->n_devices && *out == NULL; i++) {
        *out = find_native(report->devices[i], handle);
    }
    usm_registry_unlock();
    return *out != NULL ? USM_OK
                        : usm_error_set(error, USM_NOT_FOUND,
                                        "the device %p is unknown to usmpy: it is neither a root device that "
                                        "get_devices('%s') lists nor a part that create_sub_devices() made",
                                        handle, backend->name);
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
