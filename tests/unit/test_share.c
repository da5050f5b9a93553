/*
 * Memory for several processes: a driver whose memory ends with the exporter, the order that its entries
 * record, and threads that open and close one block at once.
 */
#include "check.h"
#include "support.h"

#include "core/base/sync.h"
#include "core/device/rule.h"
#include "core/share/export.h"
#include "core/share/memfd.h"
#include "core/share/opening.h"
#include "core/share/share.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

/*
 * What the core asks the system in place of the C library's: events share the locks of small things, and no
 * thread that waits for one may wait for the system too.
 */
static void expect_no_lock(void)
{
    for (uintptr_t i = 0; i < USM_STRIPES; i++) {
        pthread_mutex_t *mutex = &usm_leaf_of((const void *)(i << 6))->mutex;
        CHECK_EQ(pthread_mutex_trylock(mutex), 0);
        pthread_mutex_unlock(mutex);
    }
}

static bool only_thread; /* of this process: no other one holds a lock */

int poll(struct pollfd *asked, nfds_t n, int timeout)
{
    int (*real)(struct pollfd *, nfds_t, int) = dlsym(RTLD_NEXT, "poll");
    if (only_thread) {
        expect_no_lock();
    }
    return real(asked, n, timeout);
}

int close(int fd)
{
    int (*real)(int) = dlsym(RTLD_NEXT, "close");
    if (only_thread) {
        expect_no_lock();
    }
    return real(fd);
}

/* A backend with the host's entries, whose driver shares memory as files and counts the calls. */
static _Atomic int n_open, n_signals, n_waits;
static _Atomic bool dead_exporter;

static usm_status create(const usm_place *place, usm_shared_memory *memory, usm_share_record *record,
                         bool *zeroed, usm_error *error)
{
    usm_status status = USM_CALL(&usm_memfd_entries, create)(place, memory, record, zeroed, error);
    n_open += status == USM_OK;
    return status;
}

static usm_status open_block(const usm_place *place, const usm_share_record *record, bool readonly,
                             usm_shared_memory *memory, usm_error *error)
{
    usm_share_record own = *record;
    own.n_descriptors = 1; /* without the pipe */
    if (dead_exporter) {
        return usm_error_set(error, USM_VALUE, "the exporter has ended");
    }
    usm_status status = USM_CALL(&usm_memfd_entries, open)(place, &own, readonly, memory, error);
    n_open += status == USM_OK;
    return status;
}

static bool cannot_signal;

static usm_status signal_end(usm_queue *queue, const usm_shared_memory *memory,
                             uint8_t order[USM_SHARE_ORDER], usm_error *error)
{
    (void)memory;
    (void)error;
    CHECK(queue->in_order);
    if (cannot_signal) {
        return USM_LATER;
    }
    order[0] = (uint8_t)++n_signals;
    return USM_OK;
}

static usm_status wait_for_end(usm_queue *queue, const usm_shared_memory *memory,
                               const uint8_t order[USM_SHARE_ORDER], usm_error *error)
{
    (void)memory;
    (void)error;
    CHECK(queue->in_order);
    CHECK_EQ(order[0], n_signals);
    n_waits++;
    return USM_OK;
}

static void close_block(const usm_place *place, const usm_shared_memory *memory)
{
    USM_CALL(&usm_memfd_entries, close)(place, memory);
    n_open--;
}

static const usm_share_entries entries = {
    .kinds = 1u << USM_DEVICE,
    .ends_with_exporter = true,
    .create = create,
    .signal = signal_end,
    .open = open_block,
    .wait = wait_for_end,
    .close = close_block,
};

static usm_backend backend;

/* The place of a device of that backend, in a context of its own: one count of the context. */
static usm_place *new_place(void)
{
    static usm_device *device;
    usm_context *context;
    usm_place *place;
    usm_error error;
    if (device == NULL) {
        backend = *host_place()->context->backend;
        backend.share = &entries;
        device = usm_device_new(&backend, USM_CPU);
        CHECK(device != NULL);
        device->info = host_device()->info;
        device->info.has_usm_system = false;
        device->native = host_device()->native;
    }
    CHECK_OK(usm_context_create(&device, 1, &context, &error));
    CHECK_OK(usm_context_place(context, device, &place, &error));
    return place;
}

static usm_alloc *new_shared(usm_place *place, size_t nbytes)
{
    usm_alloc *alloc;
    usm_error error;
    CHECK_OK(usm_share_create(place, USM_DEVICE, nbytes, NULL, &alloc, &error));
    CHECK(usm_share_has(alloc));
    return alloc;
}

static void export_block(usm_alloc *alloc, usm_share_handle *handle, int *descriptors)
{
    usm_error error;
    memset(handle, 0, sizeof *handle);
    CHECK_OK(usm_share_export(alloc, handle, descriptors, NULL, &error));
    CHECK_OK(usm_handle_seal(handle, &error));
    CHECK_OK(usm_handle_check(handle, descriptors, handle->n_descriptors, &error));
}

static usm_alloc *open_handle(usm_place *place, const usm_share_handle *handle, const int *descriptors)
{
    usm_alloc *alloc;
    usm_error error;
    CHECK_OK(usm_share_open(place, handle, descriptors, false, &alloc, &error));
    return alloc;
}

/* The handle as another process would have made it, of a block that this process does not have. */
static void make_foreign(usm_share_handle *handle)
{
    handle->block[0] ^= 1;
    handle->process = INT32_MAX; /* above the system's highest number: no process will ever have it */
    handle->processes++;         /* of a container, in which the process may run */
}

static void the_pipe_keeps_the_block(void)
{
    usm_share_handle handle;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place = new_place();
    usm_alloc *alloc = new_shared(place, 100);
    export_block(alloc, &handle, descriptors);
    CHECK_EQ(handle.n_descriptors, 2);
    *(char *)alloc->pointer = 7;
    void *pointer = alloc->pointer;
    usm_alloc_release(alloc);
    CHECK_EQ(usm_share_sweep(), 1);
    CHECK_EQ(n_open, 1);
    /* The exporter's own open gives the block that it keeps for others. */
    alloc = open_handle(place, &handle, descriptors);
    CHECK_EQ((intptr_t)alloc->pointer, (intptr_t)pointer);
    CHECK_EQ(*(char *)pointer, 7);
    CHECK_EQ(n_waits, 0);
    usm_alloc_release(alloc);
    CHECK_EQ(usm_share_sweep(), 1);
    usm_descriptors_close(descriptors, 2);
    CHECK_EQ(usm_share_sweep(), 0);
    CHECK_EQ(n_open, 0);
    usm_context_release(place->context);
}

/* Each export forgets the handles that are closed; those that are open stay known. */
static void handles_come_and_go(void)
{
    usm_share_handle handle;
    int kept[USM_HANDLE_DESCRIPTORS], descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place = new_place();
    usm_alloc *alloc = new_shared(place, 100);
    export_block(alloc, &handle, kept);
    for (int i = 0; i < 2000; i++) { /* more than a process may have open, were they all to stay */
        export_block(alloc, &handle, descriptors);
        usm_descriptors_close(descriptors, 2);
    }
    CHECK(descriptors[1] < kept[1] + 64);
    usm_alloc_release(alloc);
    CHECK_EQ(usm_share_sweep(), 1);
    usm_descriptors_close(kept, 2);
    CHECK_EQ(usm_share_sweep(), 0);
    CHECK_EQ(n_open, 0);
    usm_context_release(place->context);
}

static void a_killed_importer_gives_the_block_back(void)
{
    usm_share_handle handle;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place = new_place();
    usm_alloc *alloc = new_shared(place, 100);
    export_block(alloc, &handle, descriptors);
    /* No fork, whose handlers ThreadSanitizer does not support. */
    pid_t child;
    char *const arguments[] = {"sleep", "1000", NULL};
    posix_spawn_file_actions_t actions;
    CHECK_EQ(posix_spawn_file_actions_init(&actions), 0);
    CHECK_EQ(posix_spawn_file_actions_adddup2(&actions, descriptors[1], 100), 0);
    CHECK_EQ(posix_spawnp(&child, "sleep", &actions, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    usm_descriptors_close(descriptors, 2);
    usm_alloc_release(alloc);
    CHECK_EQ(usm_share_sweep(), 1);
    CHECK_EQ(n_open, 1);
    kill(child, SIGKILL);
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK_EQ(usm_share_sweep(), 0);
    CHECK_EQ(n_open, 0);
    usm_context_release(place->context);
}

static void the_order_goes_along(void)
{
    usm_share_handle handle;
    usm_error error;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place = new_place();
    usm_alloc *alloc = new_shared(place, 100);
    gate gate = GATE_CLOSED;
    usm_queue *queue;
    const usm_queue_options options = {.in_order = true};
    CHECK_OK(usm_queue_create(place, &options, &queue, &error));
    n_signals = 0;
    n_waits = 0;
    usm_event *event = submit_access(queue, task_gate, &gate, alloc, USM_WRITE);
    gate_await(&gate, 1);
    gate_open(&gate);
    export_block(alloc, &handle, descriptors);
    CHECK(usm_event_ended(event)); /* work of the host is waited for, not signalled */
    CHECK_EQ(n_signals, 1);
    usm_event_release(event);
    make_foreign(&handle);
    usm_alloc *first = open_handle(place, &handle, descriptors);
    usm_alloc *again = open_handle(place, &handle, descriptors);
    CHECK(first == again && first != alloc);
    CHECK_EQ(n_waits, 2); /* every open, cached or not */
    handle.processes--;   /* in this namespace there is no such process */
    usm_alloc_release(open_handle(place, &handle, descriptors));
    CHECK_EQ(n_waits, 2);
    CHECK_OK(wait_alloc(first, USM_READ_WRITE));
    usm_alloc_release(first);
    usm_alloc_release(again);
    usm_alloc_release(alloc);
    usm_descriptors_close(descriptors, 2);
    CHECK_OK(wait_queue(queue));
    usm_queue_release(queue);
    while (usm_share_sweep() != 0 || n_open != 0) {
        sleep_ms(1); /* the thread of a marker gives its count back last */
    }
    usm_context_release(place->context);
}

static void a_driver_that_cannot_signal(void)
{
    usm_share_handle handle;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place = new_place();
    usm_alloc *alloc = new_shared(place, 100);
    cannot_signal = true;
    export_block(alloc, &handle, descriptors);
    cannot_signal = false;
    CHECK_EQ(handle.order[0], 0);
    usm_alloc_release(alloc);
    usm_descriptors_close(descriptors, 2);
    CHECK_EQ(usm_share_sweep(), 0);
    usm_context_release(place->context);
}

static void a_refused_open_leaves_nothing(void)
{
    usm_share_handle handle;
    usm_error error;
    int descriptors[USM_HANDLE_DESCRIPTORS];
    usm_place *place = new_place();
    usm_alloc *opened, *alloc = new_shared(place, 100);
    export_block(alloc, &handle, descriptors);
    make_foreign(&handle);
    dead_exporter = true;
    CHECK_EQ(usm_share_open(place, &handle, descriptors, false, &opened, &error), USM_VALUE);
    dead_exporter = false;
    CHECK_EQ(usm_share_create(place, USM_HOST, 100, NULL, &opened, &error), USM_BUFFER);
    int next = dup(0);
    close(next);
    CHECK_EQ(next, descriptors[1] + 1); /* no descriptor is left open */
    usm_descriptors_close(descriptors, 2);
    usm_alloc_release(alloc);
    CHECK_EQ(usm_share_sweep(), 0);
    CHECK_EQ(n_open, 0);
    usm_context_release(place->context);
}

/* Only sealed again could a handle say any of this; then it must not lead beyond the block. */
static void arrays_of_handles(void)
{
    static const struct {
        uint8_t rule, dtype;
        uint64_t nbytes;
        int64_t offset, length, stride;
        bool within;
    } cases[] = {
        {USM_SHARE_MEMFD, USM_INT32, 4096, 0, 1024, 1, true},
        {USM_SHARE_MEMFD, USM_INT32, 4096, 0, 1025, 1, false},
        {USM_SHARE_MEMFD, USM_INT32, 4096, 4, 1024, 1, false},
        {USM_SHARE_MEMFD, USM_INT32, 4096, 4092, 1024, -1, true},
        {USM_SHARE_MEMFD, USM_INT32, 4096, 4088, 1024, -1, false},
        {USM_SHARE_MEMFD, USM_INT32, 4096, -4, 1, 1, false},
        {USM_SHARE_MEMFD, USM_DTYPES, 4096, 0, 1, 1, false},
        {USM_SHARE_MEMFD, USM_INT32, 4096, 4096, 0, 1, true},
        {USM_SHARE_MEMFD, USM_INT32, 4096, 4097, 0, 1, false},
        {USM_SHARE_MEMFD, USM_INT32, 4096, INT64_MIN, 0, 1, false},
        {USM_SHARE_NOTHING, USM_INT32, 0, 0, 0, 1, true},
        {USM_SHARE_NOTHING, USM_INT32, 0, 0, 1, 1, false},
        {USM_SHARE_NOTHING, USM_INT32, 4096, 0, 1024, 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const usm_share_handle handle = {.rule = cases[i].rule,
                                         .dtype = cases[i].dtype,
                                         .nbytes = cases[i].nbytes,
                                         .offset = cases[i].offset,
                                         .ndim = 1,
                                         .dims = {cases[i].length, cases[i].stride}};
        if (usm_handle_is_within(&handle) != cases[i].within) {
            CHECK_FAIL("case %zu", i);
        }
    }
}

static usm_place *common_place;
static usm_share_handle common_handle;
static int common_descriptors[USM_HANDLE_DESCRIPTORS];

static void *open_and_close(void *argument)
{
    (void)argument;
    for (long i = 0; i < scaled(2000); i++) {
        usm_alloc *alloc = open_handle(common_place, &common_handle, common_descriptors);
        usm_alloc *same = usm_share_find(&common_handle);
        CHECK(same == alloc); /* one allocation while anybody has it */
        usm_alloc_release(same);
        usm_alloc_release(alloc);
    }
    return NULL;
}

static void threads_that_open_at_once(void)
{
    for (int foreign = 0; foreign < 2; foreign++) {
        common_place = new_place();
        usm_alloc *alloc = new_shared(common_place, 100);
        export_block(alloc, &common_handle, common_descriptors);
        if (foreign) {
            common_handle.block[0] ^= 1;
        } else {
            usm_alloc_release(alloc); /* so that each open may give a kept block a new allocation */
        }
        in_threads(4, open_and_close, NULL, 0);
        if (foreign) {
            usm_alloc_release(alloc);
        }
        usm_descriptors_close(common_descriptors, 2);
        CHECK_EQ(usm_share_sweep(), 0);
        CHECK_EQ(n_open, 0);
        usm_context_release(common_place->context);
    }
}

/* A process that cannot look at the exporter does not take it for one that has ended, whose order is void. */
static void nothing_is_known_without_descriptors(void)
{
    usm_share_handle handle;
    int descriptors[USM_HANDLE_DESCRIPTORS], taken[USM_HANDLE_DESCRIPTORS];
    usm_error error;
    struct rlimit all, none;
    usm_place *place = new_place();
    usm_alloc *alloc = new_shared(place, 100);
    export_block(alloc, &handle, descriptors);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool ended = usm_handle_maker_ended(&handle);
    usm_status status = usm_handle_fetch(&handle, taken, &error);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &all), 0);
    CHECK(!ended);
    CHECK_EQ(status, USM_MEMORY);
    CHECK(!usm_handle_maker_ended(&handle));
    handle.started++; /* of another process of that number, which has ended */
    CHECK(usm_handle_maker_ended(&handle));
    CHECK_EQ(usm_handle_fetch(&handle, taken, &error), USM_VALUE);
    usm_descriptors_close(descriptors, handle.n_descriptors);
    usm_alloc_release(alloc);
    CHECK_EQ(usm_share_sweep(), 0);
    usm_context_release(place->context);
}

static void *sweep_often(void *ended)
{
    while (!atomic_load((_Atomic bool *)ended)) {
        (void)usm_share_sweep();
    }
    return NULL;
}

/* Whichever thread finds the last handle closed closes the block, once. */
static void sweeps_beside_handles_and_ends(void)
{
    _Atomic bool ended = false;
    pthread_t thread;
    usm_place *place = new_place();
    CHECK_EQ(pthread_create(&thread, NULL, sweep_often, &ended), 0);
    for (long i = 0; i < scaled(200); i++) {
        enum { HANDLES = 3 };
        usm_share_handle handle;
        int descriptors[HANDLES][USM_HANDLE_DESCRIPTORS];
        usm_alloc *alloc = new_shared(place, 100);
        for (int k = 0; k < HANDLES; k++) {
            export_block(alloc, &handle, descriptors[k]);
        }
        usm_descriptors_close(descriptors[0], 2);
        if (i % 2 == 0) {
            usm_alloc_release(alloc);
            alloc = open_handle(place, &handle, descriptors[HANDLES - 1]);
        }
        usm_descriptors_close(descriptors[1], 2);
        if (i % 3 == 0) {
            usm_alloc_release(alloc);
            alloc = NULL;
        }
        usm_descriptors_close(descriptors[2], 2);
        if (alloc != NULL) {
            usm_alloc_release(alloc);
        }
    }
    atomic_store(&ended, true);
    pthread_join(thread, NULL);
    CHECK_EQ(usm_share_sweep(), 0);
    CHECK_EQ(n_open, 0);
    usm_context_release(place->context);
}

int main(void)
{
    watchdog(600);
    (void)host_place();
    only_thread = true;
    RUN_SETTLED(the_pipe_keeps_the_block);
    RUN_SETTLED(handles_come_and_go);
    only_thread = false;
    RUN_SETTLED(sweeps_beside_handles_and_ends);
    RUN_SETTLED(a_killed_importer_gives_the_block_back);
    RUN_SETTLED(the_order_goes_along);
    RUN_SETTLED(a_driver_that_cannot_signal);
    RUN_SETTLED(a_refused_open_leaves_nothing);
    RUN_SETTLED(arrays_of_handles);
    RUN_SETTLED(threads_that_open_at_once);
    RUN_SETTLED(nothing_is_known_without_descriptors);
    return 0;
}
