/*
 * The host backend, with calls that fail when a test asks for it. It stands in for the host backend in builds
 * for tests, under the same name: every test runs through it, and the loops of tests/runtime/test_faults.py
 * fail each call of an operation in turn.
 */
#include "core/base/fault.h"
#include "backends/host/host.h"
#include "core/base/heap.h"
#include "core/device/backend.h"
#include "core/program/program.h"
#include "core/tasks/event.h"
#include "cpu/parallel.h"

#include <string.h>

/* What can fail: allocations of the core, and entries of the table. The order is that of the names below. */
enum {
    HEAP,
    CONTEXT_CREATE,
    MEMORY_ALLOCATE,
    QUEUE_CREATE,
    QUEUE_SUBMIT,
    DEVICE_PARTITION,
    PROGRAM_BUILD,
    KERNEL_CREATE,
    ENTRIES
};

const char *const usm_fault_entries[] = {"heap",          "context_create", "memory_allocate",
                                         "queue_create",  "queue_submit",   "device_partition",
                                         "program_build", "kernel_create",  NULL};

static struct {
    _Atomic long left; /* calls until the one that fails; 0: none will */
    _Atomic long calls;
} faults[ENTRIES];

/* Counts the call, and says whether it is the one that is to fail. Several threads may count at once. */
static bool fails(int entry)
{
    atomic_fetch_add(&faults[entry].calls, 1);
    long left = atomic_load(&faults[entry].left);
    while (left > 0) {
        if (atomic_compare_exchange_weak(&faults[entry].left, &left, left - 1)) {
            return left == 1;
        }
    }
    return false;
}

static int find(const char *entry)
{
    for (int i = 0; i < ENTRIES; i++) {
        if (strcmp(usm_fault_entries[i], entry) == 0) {
            return i;
        }
    }
    return -1;
}

bool usm_fault_arm(const char *entry, long n)
{
    int i = find(entry);
    if (i < 0) {
        return false;
    }
    atomic_store(&faults[i].calls, 0);
    atomic_store(&faults[i].left, n);
    return true;
}

long usm_fault_calls(const char *entry)
{
    int i = find(entry);
    return i < 0 ? -1 : atomic_load(&faults[i].calls);
}

int usm_fault_heap(void)
{
    return fails(HEAP);
}

/* The error of a call that a test made fail: with a code, a name and a text, as a driver's. */
static usm_status refuse(usm_error *error, int entry)
{
    return usm_error_driver(error, entry == MEMORY_ALLOCATE ? USM_MEMORY : USM_DRIVER, "host", -1000 - entry,
                            "INJECTED_FAULT", "%s failed because a test asked for it",
                            usm_fault_entries[entry]);
}

/* Devices of the host get this table instead of the host's own. */
static usm_status start(usm_device ***devices, size_t *n_devices, usm_error *error)
{
    extern const usm_backend usm_fault_backend;
    usm_status status = usm_host_start(devices, n_devices, error);
    for (size_t i = 0; status == USM_OK && i < *n_devices; i++) {
        (*devices)[i]->backend = &usm_fault_backend;
    }
    return status;
}

static usm_status device_partition(usm_device *parent, uint32_t units, size_t n, usm_device **parts,
                                   usm_error *error)
{
    return fails(DEVICE_PARTITION) ? refuse(error, DEVICE_PARTITION)
                                   : usm_host_device_partition(parent, units, n, parts, error);
}

static usm_status context_create(usm_context *context, usm_error *error)
{
    (void)context;
    return fails(CONTEXT_CREATE) ? refuse(error, CONTEXT_CREATE) : USM_OK; /* the host needs no entry */
}

/* The core tries a second time when memory runs out: that fails too, and is no call of its own here. */
static usm_status memory_allocate(const usm_place *place, usm_kind kind, size_t nbytes, void **out,
                                  bool *zeroed, usm_error *error)
{
    static _Thread_local bool again;
    bool refused = again || fails(MEMORY_ALLOCATE);
    again = refused && !again;
    return refused ? refuse(error, MEMORY_ALLOCATE)
                   : usm_host_memory_allocate(place, kind, nbytes, out, zeroed, error);
}

static usm_status queue_create(usm_queue *queue, usm_error *error)
{
    return fails(QUEUE_CREATE) ? refuse(error, QUEUE_CREATE) : usm_host_queue_create(queue, error);
}

static usm_status queue_submit(usm_event *event, const usm_command *command, usm_error *error)
{
    (void)event, (void)command;
    return fails(QUEUE_SUBMIT) ? refuse(error, QUEUE_SUBMIT) : USM_ON_HOST;
}

static usm_status program_build(usm_program *program, const usm_program_source *source, char **log,
                                usm_error *error)
{
    return fails(PROGRAM_BUILD) ? refuse(error, PROGRAM_BUILD)
                                : usm_host_program_build(program, source, log, error);
}

static usm_status kernel_create(usm_kernel *kernel, const char *name, usm_error *error)
{
    return fails(KERNEL_CREATE) ? refuse(error, KERNEL_CREATE) : usm_host_kernel_create(kernel, name, error);
}

/* As the host's table; entries that cannot fail are the host's own functions. */
const usm_backend usm_fault_backend = {
    .name = "host",
    .languages = USM_LANGUAGE_BIT(USM_LANGUAGE_PORTABLE) | USM_LANGUAGE_BIT(USM_LANGUAGE_LIBRARY),
    .program_language = USM_LANGUAGE_LIBRARY,
    .builtin_language = USM_LANGUAGE_BUILTIN,
    .event_size = sizeof(usm_event),
    .start = start,
    .device_partition = device_partition,
    .context_create = context_create,
    .memory_allocate = memory_allocate,
    .memory_free = usm_host_memory_free,
    .queue_create = queue_create,
    .queue_run_now = usm_host_queue_run_now,
    .queue_submit = queue_submit,
    .queue_run = usm_host_queue_run,
    .event_wait = usm_host_event_wait,
    .program_build = program_build,
    .program_destroy = usm_host_program_destroy,
    .kernel_create = kernel_create,
    .fork = usm_cpu_parallel_fork,
};
