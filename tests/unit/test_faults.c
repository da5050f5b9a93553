/* Every call that can fail is made to fail, one after the other, in a program that uses all of the core. */
#include "check.h"
#include "support.h"

#include "core/base/fault.h"
#include "core/device/registry.h"
#include "core/exchange/dltensor.h"
#include "core/exchange/native.h"

#include <stdlib.h>
#include <sys/wait.h>

/* Large enough for the worker of a queue; more than lists inside of structs hold. */
enum { ROWS = 140, COLUMNS = 130, N = ROWS * COLUMNS, MANY = 20 };

/* One pass through the program below. */
typedef struct pass {
    const char *entry; /* of which one call fails */
    bool goes_on;      /* a step that failed is done again, and the rest of the program must not notice */
    int failures;
} pass;

static void note(pass *pass, usm_status status, usm_error *error)
{
    bool heap = strcmp(pass->entry, "heap") == 0;
    CHECK_EQ(error->status, status);
    CHECK(error->text[0] != '\0');
    if (status == USM_FAILED) { /* memory ran out while the failure of a task was recorded */
        CHECK(heap && error->failure == usm_failure_no_memory());
        usm_error_clear(error);
    } else {
        CHECK_EQ(status, heap || strcmp(pass->entry, "memory_allocate") == 0 ? USM_MEMORY : USM_DRIVER);
        CHECK(heap || strcmp(error->name, "INJECTED_FAULT") == 0);
        CHECK(error->failure == NULL);
    }
    pass->failures++;
}

/* Leaves the function through its label `out` where the pass gives up. */
#define STEP(pass, call)                          \
    do {                                          \
        usm_status step_status = (call);          \
        if (step_status != USM_OK) {              \
            note(pass, step_status, &error);      \
            if (!(pass)->goes_on) {               \
                goto out;                         \
            }                                     \
            CHECK_OK(call); /* one call failed */ \
        }                                         \
    } while (0)

static usm_status submit(usm_queue *queue, const usm_command *command, const usm_access *accesses,
                         size_t n_accesses, const usm_wait *waits, size_t n_waits, usm_event **out,
                         usm_error *error)
{
    const usm_submission submission = {.command = command,
                                       .accesses = accesses,
                                       .n_accesses = n_accesses,
                                       .waits = waits,
                                       .n_waits = n_waits};
    return usm_queue_submit(queue, &submission, out, error);
}

static void release_events(usm_event **events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (events[i] != NULL) {
            usm_event_release(events[i]);
        }
    }
}

/* Fills, casts, copies that overlap, all behind a task that is held up: nothing is done at once. */
static void copies(pass *pass, usm_place *place, usm_queue *queue)
{
    const int64_t shape[] = {ROWS, COLUMNS}, strides[] = {COLUMNS, 1}, shorter[] = {ROWS - 1, COLUMNS};
    const int64_t half[] = {ROWS, COLUMNS / 2}, every_second[] = {COLUMNS, 2};
    const int32_t three = 3, four = 4;
    gate held = GATE_CLOSED;
    usm_error error;
    usm_alloc *ints = NULL, *doubles = NULL;
    usm_event *events[7] = {NULL};
    STEP(pass, usm_alloc_create(place, USM_DEVICE, N * sizeof(int32_t), false, &ints, &error));
    STEP(pass, usm_alloc_create(place, USM_SHARED, N * sizeof(double), true, &doubles, &error));
    const usm_command host = {.kind = USM_COMMAND_HOST, .as.host = {task_gate, &held}};
    STEP(pass, submit(queue, &host, NULL, 0, NULL, 0, &events[0], &error));

    const usm_view whole = {ints, ints->pointer, USM_INT32, 2, shape, strides};
    const usm_view odd = {ints, (char *)ints->pointer + sizeof(int32_t), USM_INT32, 2, half, every_second};
    const usm_view first = {ints, ints->pointer, USM_INT32, 2, shorter, strides};
    const usm_view second = {ints,   (char *)ints->pointer + COLUMNS * sizeof(int32_t), USM_INT32, 2, shorter,
                             strides};
    const usm_view cast = {doubles, doubles->pointer, USM_FLOAT64, 2, shape, strides};
    STEP(pass, usm_fill_submit(queue, &whole, &three, &events[1], &error));
    STEP(pass, usm_fill_submit(queue, &odd, &four, &events[2], &error));
    STEP(pass, usm_copy_submit(queue, &second, &first, &events[3], &error)); /* through a third place */
    STEP(pass, usm_copy_submit(queue, &cast, &whole, &events[4], &error));
    STEP(pass, usm_copy_submit(queue, &whole, &cast, &events[5], &error));
    const usm_command barrier = {.kind = USM_COMMAND_BARRIER};
    STEP(pass, submit(queue, &barrier, NULL, 0, NULL, 0, &events[6], &error));
    gate_open(&held);
    STEP(pass, usm_alloc_wait(doubles, USM_READ, true, NULL, &error));
    STEP(pass, usm_queue_wait(queue, NULL, &error));
    for (int i = 0; i < N; i++) {
        CHECK_EQ(((double *)doubles->pointer)[i], i % 2 ? 4 : 3);
        CHECK_EQ(((int32_t *)ints->pointer)[i], i % 2 ? 4 : 3);
    }
out:
    gate_open(&held);
    /* Whatever was submitted runs to its end. */
    for (int i = 0; i < 7; i++) {
        CHECK(events[i] == NULL || wait_event(events[i]) == USM_OK);
    }
    release_events(events, 7);
    if (doubles != NULL) {
        usm_alloc_release(doubles);
    }
    if (ints != NULL) {
        usm_alloc_release(ints);
    }
}

/* More readers, dependencies and arguments than fit into an event. */
static void tasks(pass *pass, usm_place *place, usm_queue *queue)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_error error;
    usm_alloc *allocs[MANY] = {NULL};
    usm_event *readers[MANY] = {NULL}, *last[2] = {NULL};
    usm_access accesses[MANY];
    usm_wait waits[MANY];
    const usm_command wait_here = {.kind = USM_COMMAND_HOST, .as.host = {task_gate, &held}};
    const usm_command count = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
    for (int i = 0; i < MANY; i++) {
        STEP(pass, usm_alloc_create(place, USM_HOST, 64, false, &allocs[i], &error));
        accesses[i] = (usm_access){allocs[i], USM_READ_WRITE};
    }
    const usm_access read = {allocs[0], USM_READ};
    for (int i = 0; i < MANY; i++) {
        STEP(pass, submit(queue, i == 0 ? &wait_here : &count, &read, 1, NULL, 0, &readers[i], &error));
        waits[i] = (usm_wait){readers[i], true};
    }
    STEP(pass, submit(queue, &count, accesses, MANY, NULL, 0, &last[0], &error));
    STEP(pass, submit(queue, &count, NULL, 0, waits, MANY, &last[1], &error));
    gate_open(&held);
    STEP(pass, usm_event_wait(last[0], NULL, &error));
    STEP(pass, usm_event_wait(last[1], NULL, &error));
    CHECK_EQ(ran, MANY + 1);
out:
    gate_open(&held);
    for (int i = 0; i < MANY; i++) {
        CHECK(readers[i] == NULL || wait_event(readers[i]) == USM_OK);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(last[i] == NULL || wait_event(last[i]) == USM_OK);
    }
    release_events(readers, MANY);
    release_events(last, 2);
    for (int i = 0; i < MANY; i++) {
        if (allocs[i] != NULL) {
            usm_alloc_release(allocs[i]);
        }
    }
}

/*
 * A task that fails, one that reads what it should have written and is there already, one that comes later.
 * The failure is reported even if memory is exhausted at that moment.
 */
static void failures(pass *pass, usm_place *place, usm_queue *queue)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_error error;
    usm_alloc *alloc = NULL;
    usm_event *events[3] = {NULL};
    usm_access writes = {NULL, USM_WRITE}, reads = {NULL, USM_READ};
    const usm_command fail = {.kind = USM_COMMAND_HOST, .as.host = {task_fail, &held}};
    const usm_command count = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
    STEP(pass, usm_alloc_create(place, USM_DEVICE, 64, false, &alloc, &error));
    writes.alloc = reads.alloc = alloc;
    STEP(pass, submit(queue, &fail, &writes, 1, NULL, 0, &events[0], &error));
    STEP(pass, submit(queue, &count, &reads, 1, NULL, 0, &events[1], &error));
    gate_open(&held);
    CHECK_OK(usm_event_wait_end(events[1], NULL, &error));
    STEP(pass, submit(queue, &count, &reads, 1, NULL, 0, &events[2], &error));
    CHECK_OK(usm_event_wait_end(events[2], NULL, &error));
    CHECK_EQ(ran, 0);
out:
    gate_open(&held);
    for (int i = 0; i < 3; i++) {
        if (events[i] == NULL) {
            continue;
        }
        CHECK_EQ(usm_event_wait(events[i], NULL, &error), USM_FAILED);
        if (error.failure == usm_failure_no_memory()) {
            note(pass, USM_FAILED, &error);
        } else {
            CHECK_EQ(error.failure->code, i == 0 || error.failure->cause != usm_failure_no_memory() ? 42 : 0);
            usm_error_clear(&error);
        }
    }
    /* The queue tells it once, unless a wait for one of the events was faster. */
    for (usm_status told; (told = usm_queue_wait(queue, NULL, &error)) != USM_OK;) {
        if (told == USM_FAILED) {
            usm_error_clear(&error);
        } else {
            note(pass, told, &error);
        }
    }
    release_events(events, 3);
    if (alloc != NULL) {
        usm_alloc_release(alloc);
    }
}

static void count_deletion(void *owner)
{
    ++*(int *)owner;
}

/* Tensors over an allocation that the caller has left, foreign memory that a task outlives. */
static void exchange(pass *pass, usm_place *place, usm_queue *queue)
{
    const int64_t shape[] = {2, 4}, strides[] = {4, 1};
    const DLDevice device = {kDLCPU, 0};
    const float one = 1;
    float foreign[8] = {0};
    int deleted = 0;
    usm_error error;
    usm_alloc *alloc = NULL, *imported = NULL;
    DLManagedTensorVersioned *versioned = NULL;
    DLManagedTensor *legacy = NULL;
    STEP(pass, usm_alloc_create(place, USM_HOST, sizeof foreign, false, &alloc, &error));
    const usm_view view = {alloc, alloc->pointer, USM_FLOAT32, 2, shape, strides};
    usm_error_set(&error, USM_MEMORY, "an export has no words of its own");
    STEP(pass, (versioned = usm_export_versioned(&view, device, 0, NULL)) == NULL ? USM_MEMORY : USM_OK);
    STEP(pass, (legacy = usm_export_legacy(&view, device, NULL)) == NULL ? USM_MEMORY : USM_OK);
    STEP(pass, usm_fill_submit(queue, &view, &one, NULL, &error));
    STEP(pass, usm_alloc_import(place, USM_HOST, foreign, sizeof foreign, &deleted, count_deletion, &imported,
                                &error));
    CHECK_EQ(deleted, 0);
    const usm_view there = {imported, imported->pointer, USM_FLOAT32, 2, shape, strides};
    STEP(pass, usm_copy_submit(queue, &there, &view, NULL, &error));
    STEP(pass, usm_alloc_wait(imported, USM_READ, true, NULL, &error));
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(foreign[i], 1);
    }
out:
    if (alloc != NULL) {
        usm_alloc_release(alloc);
    }
    if (imported != NULL) {
        usm_alloc_release(imported);
    }
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(deleted, imported != NULL);
    if (versioned != NULL) {
        versioned->deleter(versioned);
    }
    if (legacy != NULL) {
        legacy->deleter(legacy);
    }
}

static void program(pass *pass)
{
    static void (*const parts[])(struct pass *, usm_place *, usm_queue *) = {copies, tasks, failures};
    usm_device *device = host_device();
    usm_error error;
    usm_context *context = NULL;
    usm_place *place;
    usm_queue *queues[3] = {NULL};
    STEP(pass, usm_context_create(&device, 1, &context, &error));
    STEP(pass, usm_context_place(context, device, &place, &error));
    STEP(pass, usm_place_queue(place, &queues[0], &error));
    for (int in_order = 0; in_order < 2; in_order++) {
        const usm_queue_options options = {.in_order = in_order, .priority = USM_PRIORITY_NORMAL};
        STEP(pass, usm_queue_create(place, &options, &queues[1 + in_order], &error));
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        for (int k = 1; k < 3 && (pass->goes_on || pass->failures == 0); k++) {
            parts[i](pass, place, queues[k]);
        }
    }
    if (pass->goes_on || pass->failures == 0) {
        exchange(pass, place, queues[0]);
    }
out:
    for (int k = 0; k < 3; k++) {
        if (queues[k] != NULL) {
            usm_queue_release(queues[k]);
        }
    }
    if (context != NULL) {
        usm_context_release(context);
    }
}

/* `least`: calls of the entry that the program makes at the least, so that the loop is known to meet them. */
static void fail_each_call(const char *entry, bool goes_on, long least)
{
    live before = live_now();
    long n = 1;
    for (bool reached = true; reached; n++) {
        pass pass = {.entry = entry, .goes_on = goes_on};
        CHECK(usm_fault_arm(entry, n));
        program(&pass);
        reached = usm_fault_calls(entry) >= n;
        CHECK(usm_fault_arm(entry, 0));
        if ((pass.failures > 0) != reached) {
            CHECK_FAIL("%s: call %ld %s, and %d failures were reported", entry, n,
                       reached ? "failed" : "did not come", pass.failures);
        }
        settle(&before);
        if (!goes_on) { /* in the same process, and with the same pools */
            pass = (struct pass){.entry = entry};
            program(&pass);
            CHECK_EQ(pass.failures, 0);
            settle(&before);
        }
    }
    if (n - 2 < least) {
        CHECK_FAIL("%s: only %ld calls", entry, n - 2);
    }
}

static const struct {
    const char *entry;
    long least;
} entries[] = {
    {"heap", 100}, {"context_create", 1}, {"memory_allocate", 6}, {"queue_create", 3}, {"queue_submit", 60}};

/* The caller gives up at the first failure, and gives back what it has. */
static void giving_up(void)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        fail_each_call(entries[i].entry, false, entries[i].least);
    }
}

/* The caller tries the step once more: what failed has left no trace. */
static void going_on(void)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        fail_each_call(entries[i].entry, true, entries[i].least);
    }
}

/*
 * What the process makes once and keeps: fails as often as it can, then works, and is not counted. The child
 * of a fork has not done it yet.
 */
static void in_child(void (*test)(const char *entry), const char *entry)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        watchdog(600);
        test(entry);
        fflush(NULL);
        _exit(0);
    }
    int how;
    CHECK_EQ(waitpid(child, &how, 0), child);
    CHECK(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static void start_backend(const char *entry)
{
    usm_core_start();
    CHECK(usm_fault_arm(entry, 1));
    const usm_backend_report *report = usm_backend_start(usm_backend_index("host", 4));
    CHECK(report->absent != NULL && report->broken && strstr(report->absent, "cannot allocate") != NULL);
    CHECK_EQ(report->n_devices, 0);
    CHECK(usm_device_from_dlpack(kDLCPU, 0, NULL) == NULL);
}

static void first_use(const char *entry)
{
    usm_device *device = host_device();
    pass pass = {.entry = entry, .goes_on = true};
    live before = live_now();
    usm_error error;
    usm_context *context, *again;
    usm_place *place;
    usm_queue *queue;
    bool done = false;
    for (long n = 1; !done; n++) {
        CHECK(usm_fault_arm(entry, n));
        usm_status status = usm_context_default(device, &context, &error);
        status = status != USM_OK ? status : usm_context_place(context, device, &place, &error);
        status = status != USM_OK ? status : usm_place_queue(place, &queue, &error);
        done = status == USM_OK;
        if (!done) {
            note(&pass, status, &error);
        }
    }
    CHECK(usm_fault_arm(entry, 0));
    CHECK(pass.failures > 0);
    settle(&before); /* immortal things are not counted */
    CHECK_OK(usm_context_default(device, &again, &error));
    CHECK(again == context);
    _Atomic int ran = 0;
    expect_end(submit_task(queue, task_count, &ran), USM_EVENT_COMPLETE);
    CHECK_EQ(ran, 1);
}

static void partition(const char *entry)
{
    usm_device *device = host_device(), **parts, **again;
    pass pass = {.entry = entry, .goes_on = true};
    usm_error error;
    size_t n_parts;
    usm_status status;
    long n = 1;
    do {
        CHECK(usm_fault_arm(entry, n++));
        status = usm_device_partition(device, 1, &parts, &n_parts, &error);
        if (status != USM_OK) {
            note(&pass, status, &error);
        }
    } while (status != USM_OK);
    CHECK(usm_fault_arm(entry, 0));
    /* One for the list and one for each part; the backend is asked once. */
    CHECK_EQ(pass.failures, strcmp(entry, "heap") == 0 ? 1 + (int)n_parts : 1);
    CHECK_EQ(n_parts, device->info.max_compute_units);
    CHECK_OK(usm_device_partition(device, 1, &again, &n_parts, &error));
    CHECK(memcmp(parts, again, n_parts * sizeof *parts) == 0);
    free(parts);
    free(again);
}

static void doubled(size_t begin, size_t end, const float *x, float *y)
{
    for (size_t i = begin; i < end; i++) {
        y[i] = 2 * x[i];
    }
}

/* A program and its kernel; each goes back whole where the other fails. */
static usm_status make_kernel(usm_place *place, usm_kernel **kernel, usm_error *error)
{
    const usm_parameter parameters[] = {
        {.name = "x", .type = "const float32*", .kind = USM_PARAMETER_POINTER, .read_only = true, .size = 8},
        {.name = "y", .type = "float32*", .kind = USM_PARAMETER_POINTER, .size = 8},
    };
    const usm_pointer_source pointer = {
        .function = (void (*)(void))doubled, .name = "doubled", .parameters = parameters, .n_parameters = 2};
    const usm_program_source source = {
        .language = USM_LANGUAGE_POINTER, .data = &pointer, .size = sizeof pointer, .options = ""};
    usm_program *program;
    char *log;
    usm_status status = usm_program_create(place, &source, &program, &log, error);
    CHECK(status != USM_OK || log == NULL);
    if (status == USM_OK) {
        status = usm_kernel_create(program, "doubled", kernel, error);
        usm_program_release(program);
    }
    return status;
}

static void programs(const char *entry)
{
    usm_place *place = host_place();
    pass pass = {.entry = entry, .goes_on = true};
    usm_kernel *kernel;
    usm_error error;
    usm_status status;
    long n = 1;
    do {
        CHECK(usm_fault_arm(entry, n++));
        status = make_kernel(place, &kernel, &error);
        if (status != USM_OK) {
            note(&pass, status, &error);
        }
    } while (status != USM_OK);
    CHECK(usm_fault_arm(entry, 0));
    CHECK(pass.failures >= 1);
    CHECK_EQ(usm_live_count(USM_LIVE_PROGRAM), 1);
    CHECK_EQ(usm_live_count(USM_LIVE_KERNEL), 1);
    CHECK_EQ(kernel->n_parameters, 2);
    usm_kernel_release(kernel);
    CHECK_EQ(usm_live_count(USM_LIVE_PROGRAM), 0);
    CHECK_EQ(usm_live_count(USM_LIVE_KERNEL), 0);
}

static void what_the_process_keeps(void)
{
    in_child(start_backend, "heap");
    in_child(first_use, "heap");
    in_child(first_use, "context_create");
    in_child(first_use, "queue_create");
    in_child(partition, "heap");
    in_child(partition, "device_partition");
    in_child(programs, "heap");
    in_child(programs, "program_build");
    in_child(programs, "kernel_create");
}

static void names_of_entries(void)
{
    size_t n = 0;
    for (; usm_fault_entries[n] != NULL; n++) {
        CHECK_EQ(usm_fault_calls(usm_fault_entries[n]), 0);
    }
    /* Those above, device_partition, and those of programs: a new one needs a loop here. */
    CHECK_EQ(n, sizeof entries / sizeof entries[0] + 3);
    CHECK(!usm_fault_arm("malloc", 1));
    CHECK_EQ(usm_fault_calls("malloc"), -1);
}

int main(void)
{
    watchdog(600);
    RUN(names_of_entries);
    RUN(what_the_process_keeps); /* first: the core has not started in this process */
    host_place();
    RUN_SETTLED(giving_up);
    RUN_SETTLED(going_on);
    return 0;
}
