/* Work on the same memory: order between queues, where failures spread and where they do not. */
#include "check.h"
#include "support.h"

#include "core/base/fault.h"
#include "core/tasks/hazard.h"

#include <stdlib.h>

static usm_queue *ordered, *unordered, *other;

static void make_queues(void)
{
    ordered = new_queue(true);
    unordered = new_queue(false);
    other = new_queue(true);
}

/* Failures that a test left in them are thrown away. */
static void drop_queues(void)
{
    wait_queue(ordered);
    wait_queue(unordered);
    wait_queue(other);
    usm_queue_release(ordered);
    usm_queue_release(unordered);
    usm_queue_release(other);
}

static void readers_meet_and_writers_do_not(void)
{
    gate reading = GATE_CLOSED, writing = GATE_CLOSED;
    _Atomic int ran = 0;
    make_queues();
    usm_alloc *alloc = new_alloc(64);
    usm_event *a = submit_access(ordered, task_gate, &reading, alloc, USM_READ);
    usm_event *b = submit_access(other, task_gate, &reading, alloc, USM_READ);
    usm_event *c = submit_access(unordered, task_gate, &reading, alloc, USM_READ);
    gate_await(&reading, 3);
    usm_event *writer = submit_access(unordered, task_gate, &writing, alloc, USM_WRITE);
    usm_event *reader = submit_access(other, task_count, &ran, alloc, USM_READ);
    usm_event *last = submit_access(unordered, task_count, &ran, alloc, USM_WRITE);
    run_another_task();
    CHECK_EQ(gate_arrived(&writing), 0);
    gate_open(&reading);
    gate_await(&writing, 1);
    CHECK(usm_event_ended(a) && usm_event_ended(b) && usm_event_ended(c));
    run_another_task();
    CHECK_EQ(ran, 0);
    gate_open(&writing);
    expect_end(last, USM_EVENT_COMPLETE);
    CHECK(usm_event_ended(reader));
    CHECK_EQ(ran, 2);
    usm_event_release(a);
    usm_event_release(b);
    usm_event_release(c);
    usm_event_release(writer);
    usm_event_release(reader);
    usm_alloc_release(alloc);
    drop_queues();
}

/* The same allocation several times among the arguments of one task, as in f(x, x, x), and
 * many such tasks. */
static void an_allocation_named_repeatedly(void)
{
    for (size_t repeats = 1; repeats <= 7; repeats++) {
        gate held = GATE_CLOSED;
        usm_access accesses[7];
        usm_event *events[60];
        make_queues();
        usm_alloc *alloc = new_alloc(64);
        for (int i = 0; i < 60; i++) {
            for (size_t k = 0; k < repeats; k++) {
                accesses[k] = (usm_access){alloc, i == 40 && k == repeats / 2 ? USM_WRITE : USM_READ};
            }
            const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_gate, &held}};
            const usm_submission submission = {
                .command = &command, .accesses = accesses, .n_accesses = repeats};
            usm_error error;
            CHECK_OK(usm_queue_submit(unordered, &submission, &events[i], &error));
        }
        CHECK_EQ(alloc->hazards.n_readers, 19);
        CHECK_EQ((intptr_t)alloc->hazards.writer, (intptr_t)events[40]);
        gate_open(&held);
        CHECK_EQ(wait_queue(unordered), USM_OK);
        CHECK(!usm_alloc_is_busy(alloc));
        for (int i = 0; i < 60; i++) {
            usm_event_release(events[i]);
        }
        usm_alloc_release(alloc);
        drop_queues();
    }
}

static void more_memory_than_fits_into_an_event(void)
{
    enum { N = 20 };
    usm_access accesses[N];
    gate held = GATE_CLOSED;
    usm_error error;
    usm_event *event;
    make_queues();
    for (int i = 0; i < N; i++) {
        accesses[i] = (usm_access){new_alloc(64), i % 2 ? USM_READ : USM_WRITE};
    }
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_gate, &held}};
    const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = N};
    CHECK_OK(usm_queue_submit(unordered, &submission, &event, &error));
    for (int i = 0; i < N; i++) {
        CHECK(usm_alloc_is_busy(accesses[i].alloc));
        usm_alloc_release(accesses[i].alloc);
    }
    gate_open(&held);
    expect_end(event, USM_EVENT_COMPLETE);
    drop_queues();
}

static uint32_t places(const usm_event *event)
{
    return atomic_load(&((usm_event *)event)->places);
}

/* Where later tasks have taken all places of a task, its end has nothing to look for. */
static void places_that_later_tasks_take(void)
{
    gate held = GATE_CLOSED;
    usm_error error;
    usm_event *first, *second;
    make_queues();
    usm_alloc *a = new_alloc(64), *b = new_alloc(64);
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_gate, &held}};
    const usm_access written_and_read[] = {{a, USM_WRITE}, {b, USM_READ}},
                     both[] = {{a, USM_READ_WRITE}, {b, USM_WRITE}};
    const usm_submission one = {.command = &command, .accesses = written_and_read, .n_accesses = 2};
    const usm_submission two = {.command = &command, .accesses = both, .n_accesses = 2};
    CHECK_OK(usm_queue_submit(ordered, &one, &first, &error));
    CHECK_EQ(places(first), 2);
    CHECK_OK(usm_queue_submit(ordered, &two, &second, &error));
    CHECK_EQ(places(first), 0);
    CHECK(usm_hazard_is_forgotten(first, NULL));
    usm_event *reader = submit_access(other, task_gate, &held, a, USM_READ);
    usm_event *again =
        submit_access(other, task_gate, &held, a, USM_READ); /* of one queue in order: the last */
    CHECK_EQ(places(second), 2);
    CHECK_EQ(places(reader), 0);
    CHECK_EQ(places(again), 1);
    usm_event *writer = submit_access(unordered, task_gate, &held, a, USM_WRITE);
    CHECK_EQ(places(second), 1);
    CHECK_EQ(places(again), 0);
    CHECK(!usm_hazard_is_forgotten(second, NULL));
    gate_open(&held);
    expect_end(writer, USM_EVENT_COMPLETE);
    CHECK(!usm_alloc_is_busy(a));
    usm_event *events[] = {first, second, reader, again};
    for (int i = 0; i < 4; i++) {
        usm_event_release(events[i]);
    }
    usm_alloc_release(a);
    usm_alloc_release(b);
    drop_queues();
}

/* A reader of memory that a failed task should have written does not run: pending, or submitted later. */
static void reading_what_failed(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    make_queues();
    usm_alloc *alloc = new_alloc(64), *next = new_alloc(64);
    usm_event *writer = submit_access(ordered, task_fail, &held, alloc, USM_WRITE);
    usm_event *pending = submit_access(other, task_count, &ran, alloc, USM_READ);
    gate_open(&held);
    expect_end(usm_event_retain(pending), USM_EVENT_ERROR);
    usm_event *later = submit_access(other, task_count, &ran, alloc, USM_READ_WRITE);
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
    const usm_access accesses[] = {{alloc, USM_READ}, {next, USM_WRITE}};
    const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = 2};
    usm_error error;
    usm_event *further;
    CHECK_OK(usm_queue_submit(unordered, &submission, &further, &error));
    expect_end(usm_event_retain(later), USM_EVENT_ERROR);
    expect_end(usm_event_retain(further), USM_EVENT_ERROR);
    CHECK_EQ(ran, 0);
    usm_event *followers[] = {pending, later, further};
    for (int i = 0; i < 3; i++) {
        CHECK_EQ((intptr_t)followers[i]->failure->cause, (intptr_t)writer->failure);
        CHECK_EQ(followers[i]->failure->code, 42);
        usm_event_release(followers[i]);
    }
    /* What they would have written is spoiled as well. */
    CHECK_EQ(wait_alloc(next, USM_WRITE), USM_OK);
    CHECK_EQ(wait_alloc(next, USM_READ), USM_FAILED);
    CHECK_EQ(wait_alloc(next, USM_READ), USM_OK);
    usm_event_release(writer);
    usm_alloc_release(alloc);
    usm_alloc_release(next);
    drop_queues();
}

/* A write after a failed read or a failed write is a matter of order alone. */
static void overwriting_what_failed(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    make_queues();
    usm_alloc *alloc = new_alloc(64);
    usm_event *reader = submit_access(unordered, task_fail, &held, alloc, USM_READ);
    usm_event *writer = submit_access(other, task_fail, NULL, alloc, USM_WRITE);
    usm_event *again = submit_access(unordered, task_count, &ran, alloc, USM_WRITE);
    usm_event *last = submit_access(other, task_count, &ran, alloc, USM_READ);
    gate_open(&held);
    expect_end(last, USM_EVENT_COMPLETE);
    CHECK_EQ(usm_event_get_state(reader), USM_EVENT_ERROR);
    CHECK_EQ(usm_event_get_state(writer), USM_EVENT_ERROR);
    CHECK_EQ(ran, 2);
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
    usm_event_release(reader);
    usm_event_release(writer);
    usm_event_release(again);

    /* The same with short work that is done at once. */
    expect_end(submit_access(other, task_fail, NULL, alloc, USM_WRITE), USM_EVENT_ERROR);
    const usm_command fill = {.kind = USM_COMMAND_FILL,
                              .as.fill = {.dst = alloc->pointer, .nbytes = 64, .pattern_size = 1}};
    const usm_access access = {alloc, USM_WRITE};
    const usm_submission submission = {.command = &fill, .accesses = &access, .n_accesses = 1};
    usm_error error;
    CHECK_OK(usm_queue_submit(unordered, &submission, NULL, &error));
    CHECK(usm_alloc_is_clean(alloc));
    expect_end(submit_access(other, task_count, &ran, alloc, USM_READ), USM_EVENT_COMPLETE);
    usm_alloc_release(alloc);
    drop_queues();
}

/* Order within a queue spreads no failure; explicit dependencies do where they are about data. */
static void explicit_dependencies_on_failures(void)
{
    for (int pending = 0; pending < 2; pending++) {
        gate held = GATE_CLOSED;
        _Atomic int ran = 0;
        make_queues();
        usm_event *failing = submit_task(ordered, task_fail, &held);
        if (!pending) {
            gate_open(&held);
            expect_end(usm_event_retain(failing), USM_EVENT_ERROR);
        }
        usm_event *next = submit_task(ordered, task_count, &ran);
        usm_event *order = submit_after(other, task_count, &ran, failing, false);
        usm_event *data = submit_after(unordered, task_count, &ran, failing, true);
        gate_open(&held);
        expect_end(next, USM_EVENT_COMPLETE);
        expect_end(order, USM_EVENT_COMPLETE);
        usm_event *third = submit_after(unordered, task_count, &ran, data, true);
        expect_end(usm_event_retain(data), USM_EVENT_ERROR);
        expect_end(usm_event_retain(third), USM_EVENT_ERROR);
        CHECK_EQ((intptr_t)third->failure->cause, (intptr_t)failing->failure);
        CHECK_EQ(ran, 2);
        usm_event_release(data);
        usm_event_release(third);
        usm_event_release(failing);
        drop_queues();
    }
}

/* Once the failure was retrieved, reading is allowed again; each way of retrieving it counts. */
static void reading_after_delivery(void)
{
    _Atomic int ran = 0;
    for (int way = 0; way < 4; way++) {
        make_queues();
        usm_alloc *alloc = new_alloc(64);
        usm_event *event = submit_access(ordered, task_fail, NULL, alloc, USM_WRITE);
        expect_end(usm_event_retain(event), USM_EVENT_ERROR);
        CHECK(!usm_alloc_is_clean(alloc));
        if (way == 0) {
            CHECK_EQ(wait_event(event), USM_FAILED);
        } else if (way == 1) {
            CHECK_EQ(wait_queue(ordered), USM_FAILED);
        } else if (way == 2) {
            CHECK_EQ(wait_alloc(alloc, USM_READ), USM_FAILED);
        } else { /* retrieves the failure of a task that depends on it */
            usm_event *follower = submit_after(other, task_count, &ran, event, true);
            CHECK_EQ(wait_event(follower), USM_FAILED);
            usm_event_release(follower);
        }
        expect_end(submit_access(other, task_count, &ran, alloc, USM_READ), USM_EVENT_COMPLETE);
        CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
        CHECK(usm_alloc_is_clean(alloc));
        usm_event_release(event);
        usm_alloc_release(alloc);
        drop_queues();
    }
    CHECK_EQ(ran, 4);
}

/* A wait for access to write does not read, and retrieves nothing. */
static void waiting_to_write_retrieves_nothing(void)
{
    make_queues();
    usm_alloc *alloc = new_alloc(64);
    expect_end(submit_access(ordered, task_fail, NULL, alloc, USM_WRITE), USM_EVENT_ERROR);
    CHECK_EQ(wait_alloc(alloc, USM_WRITE), USM_OK);
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_FAILED);
    usm_alloc_release(alloc);
    drop_queues();
}

/*
 * A task that inherits a failure while other work is pending on its memory ends in its turn: what is recorded
 * on the memory is what came last.
 */
static void inheriting_behind_pending_work(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    make_queues();
    usm_alloc *alloc = new_alloc(64);
    usm_event *failed = submit_task(ordered, task_fail, NULL);
    expect_end(usm_event_retain(failed), USM_EVENT_ERROR);
    usm_event *writer = submit_access(unordered, task_gate, &held, alloc, USM_WRITE);
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
    const usm_access access = {alloc, USM_WRITE};
    const usm_wait wait = {failed, true};
    const usm_submission submission = {
        .command = &command, .accesses = &access, .n_accesses = 1, .waits = &wait, .n_waits = 1};
    usm_error error;
    usm_event *inherits;
    CHECK_OK(usm_queue_submit(other, &submission, &inherits, &error));
    CHECK(!usm_event_ended(inherits));
    usm_event *reader = submit_access(unordered, task_count, &ran, alloc, USM_READ);
    gate_open(&held);
    expect_end(inherits, USM_EVENT_ERROR);
    expect_end(reader, USM_EVENT_ERROR);
    expect_end(writer, USM_EVENT_COMPLETE);
    CHECK_EQ(ran, 0);
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_FAILED);
    usm_event_release(failed);
    usm_alloc_release(alloc);
    drop_queues();
}

static void submit_refused(usm_alloc *alloc, usm_access_mode mode)
{
    const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_fail, NULL}};
    const usm_access access = {alloc, mode};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    usm_error error;
    CHECK(usm_fault_arm("queue_submit", 1));
    CHECK_EQ(usm_queue_submit(unordered, &submission, NULL, &error), USM_DRIVER);
}

/* A submission that the driver refused leaves no trace on the memory: what stood there before, stands. */
static void a_refused_write_leaves_no_trace(void)
{
    make_queues();
    usm_alloc *clean = new_alloc(64), *spoiled = new_alloc(64), *spoiled_soon = new_alloc(64);
    submit_refused(clean, USM_WRITE);
    submit_refused(clean, USM_READ);
    CHECK_EQ(wait_alloc(clean, USM_READ_WRITE), USM_OK);
    CHECK(usm_alloc_is_clean(clean));

    expect_end(submit_access(ordered, task_fail, NULL, spoiled, USM_WRITE), USM_EVENT_ERROR);
    submit_refused(spoiled, USM_WRITE);
    CHECK_EQ(wait_alloc(spoiled, USM_READ), USM_FAILED);

    gate held = GATE_CLOSED;
    usm_event *writer = submit_access(ordered, task_fail, &held, spoiled_soon, USM_WRITE);
    submit_refused(spoiled_soon, USM_WRITE);
    gate_open(&held);
    expect_end(writer, USM_EVENT_ERROR);
    CHECK_EQ(wait_alloc(spoiled_soon, USM_READ), USM_FAILED);
    usm_alloc_release(clean);
    usm_alloc_release(spoiled);
    usm_alloc_release(spoiled_soon);
    drop_queues();
}

/* Nor do later tasks that read the memory fail: for them it is as if the task had never been submitted. */
static void reading_behind_a_refused_write(void)
{
    make_queues();
    for (int fails = 0; fails < 2; fails++) {
        gate held = GATE_CLOSED;
        _Atomic int ran = 0;
        usm_alloc *alloc = new_alloc(64);
        usm_event *writer = submit_access(ordered, fails ? task_fail : task_gate, &held, alloc, USM_WRITE);
        submit_refused(alloc, USM_WRITE);
        submit_refused(alloc, USM_READ_WRITE);
        usm_event *reader = submit_access(unordered, task_count, &ran, alloc, USM_READ);
        usm_event *next = submit_access(other, task_count, &ran, alloc, USM_READ_WRITE);
        gate_open(&held);
        /* Both have ended before a failure is retrieved: later tasks may read the memory again. */
        usm_error error;
        CHECK_OK(usm_event_wait_end(reader, NULL, &error));
        CHECK_OK(usm_event_wait_end(next, NULL, &error));
        CHECK_EQ(wait_event(reader), fails ? USM_FAILED : USM_OK);
        CHECK_EQ(wait_event(next), fails ? USM_FAILED : USM_OK);
        CHECK_EQ(ran, fails ? 0 : 2);
        CHECK(!fails || reader->failure->code == 42);
        usm_event_release(writer);
        usm_event_release(reader);
        usm_event_release(next);
        usm_alloc_release(alloc);
    }
    drop_queues();
}

/*
 * A failure that a pending write is going to end is nobody's: what stands on the memory counts once all
 * writes before the reader have ended, whichever of them ends first.
 */
static void a_refused_write_beside_a_pending_one(void)
{
    make_queues();
    for (int later_refused = 0; later_refused < 2; later_refused++) {
        gate first = GATE_CLOSED, second = GATE_CLOSED;
        _Atomic int ran = 0;
        usm_alloc *beside = new_alloc(64), *written = new_alloc(64);
        expect_end(submit_access(ordered, task_fail, NULL, written, USM_WRITE), USM_EVENT_ERROR);
        usm_event *task = submit_access(other, task_gate, &first, beside, USM_WRITE);
        usm_event *writer = submit_access(ordered, task_gate, &second, written, USM_WRITE);
        submit_refused(beside, USM_WRITE);
        const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
        const usm_access accesses[] = {{written, USM_READ}, {beside, USM_READ}};
        const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = 2};
        usm_error error;
        usm_event *reader;
        CHECK_OK(usm_queue_submit(unordered, &submission, &reader, &error));
        gate_open(later_refused ? &second : &first);
        expect_end(later_refused ? writer : task, USM_EVENT_COMPLETE);
        gate_open(later_refused ? &first : &second);
        expect_end(later_refused ? task : writer, USM_EVENT_COMPLETE);
        expect_end(reader, USM_EVENT_COMPLETE);
        CHECK_EQ(ran, 1);
        usm_alloc_release(beside);
        usm_alloc_release(written);
    }
    drop_queues();
}

/* A failed task of a pooled block: the block's next life begins clean. */
static void a_failure_does_not_outlive_its_allocation(void)
{
    make_queues();
    usm_alloc *alloc = new_alloc(3000);
    void *pointer = alloc->pointer;
    expect_end(submit_access(ordered, task_fail, NULL, alloc, USM_WRITE), USM_EVENT_ERROR);
    usm_alloc_release(alloc);
    alloc = new_alloc(3000);
    CHECK_EQ((intptr_t)alloc->pointer, (intptr_t)pointer);
    CHECK(usm_alloc_is_clean(alloc));
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
    usm_alloc_release(alloc);
    drop_queues();
}

/*
 * Randomised programs. One thread submits copies, fills and host tasks on a few allocations to three queues;
 * a sequential model of the same program says what the memory holds at the end, which tasks ended in error,
 * and which memory is refused to readers.
 */
enum { ALLOCS = 4, STEPS = 60, MOST_ARGUMENTS = 5 };

typedef struct step {
    uint64_t constant;
    unsigned microseconds;
    bool fails;
    size_t words;
    int n;
    uint64_t *data[MOST_ARGUMENTS];
    usm_access_mode modes[MOST_ARGUMENTS];
} step;

/* A number from all that is read, and every written word from it: an error of order shows in
 * all later ones. */
static void compute(const step *step)
{
    uint64_t sum = step->constant;
    for (int i = 0; i < step->n; i++) {
        for (size_t k = 0; (step->modes[i] & USM_READ) != 0 && k < step->words; k++) {
            sum = (sum ^ step->data[i][k]) * UINT64_C(0x9E3779B97F4A7C15);
        }
    }
    for (int i = 0; i < step->n; i++) {
        for (size_t k = 0; (step->modes[i] & USM_WRITE) != 0 && k < step->words; k++) {
            step->data[i][k] = sum + k + (uint64_t)i;
        }
    }
}

static usm_status task_step(void *argument, usm_error *error)
{
    const step *step = argument;
    if (step->microseconds > 0) {
        usleep(step->microseconds);
    }
    compute(step);
    return step->fails ? task_fail(NULL, error) : USM_OK;
}

typedef struct program {
    uint64_t seed;
    size_t words;
    usm_alloc *allocs[ALLOCS];
    uint64_t *model[ALLOCS];
    bool spoiled[ALLOCS];
    usm_event *events[STEPS];
    bool failed[STEPS];
    step steps[STEPS], model_steps[STEPS];
    char texts[STEPS][160];
} program;

/* For a check that fails: what each step did, in which queue, to which memory. */
static void describe(program *program, int at, int queue, const usm_command *command,
                     const usm_access *accesses, const int *which, int n, const usm_wait *waits,
                     const int *waited, int n_waits)
{
    static const char *const kinds[] = {[USM_COMMAND_COPY] = "copy",
                                        [USM_COMMAND_FILL] = "fill",
                                        [USM_COMMAND_BARRIER] = "barrier",
                                        [USM_COMMAND_HOST] = "host task"};
    static const char *const modes[] = {"", "reads", "writes", "reads and writes"}, *const names[] = {
                                                                                        "ordered",
                                                                                        "unordered", "other"};
    char *text = program->texts[at];
    size_t size = sizeof program->texts[at], used = 0;
    used += (size_t)snprintf(text, size, "%s in queue %s%s:", kinds[command->kind], names[queue],
                             program->steps[at].fails ? ", which fails" : "");
    for (int i = 0; i < n && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, " %s %d", modes[accesses[i].mode], which[i]);
    }
    for (int i = 0; i < n_waits && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, ", %s step %d", waits[i].data ? "needs" : "after",
                                 waited[i]);
    }
}

static void print_program(const program *program)
{
    fprintf(stderr, "the program with seed %" PRIu64 ", of %zu words:\n", program->seed, program->words);
    for (int at = 0; at < STEPS; at++) {
        fprintf(stderr, "  step %d%s: %s\n", at, program->failed[at] ? " (fails or is skipped)" : "",
                program->texts[at]);
    }
}

/* The model's side of any step: true when it runs. */
static bool model_runs(program *program, int at, const usm_access *accesses, const int *which, int n,
                       const usm_wait *waits, const int *waited, int n_waits)
{
    bool runs = true;
    for (int i = 0; i < n; i++) {
        runs = runs && !((accesses[i].mode & USM_READ) != 0 && program->spoiled[which[i]]);
    }
    for (int i = 0; i < n_waits; i++) {
        runs = runs && !(waits[i].data && program->failed[waited[i]]);
    }
    program->failed[at] = !runs || program->steps[at].fails;
    for (int i = 0; i < n; i++) {
        if ((accesses[i].mode & USM_WRITE) != 0) {
            program->spoiled[which[i]] = program->failed[at];
        }
    }
    return runs;
}

static void run_step(program *program, uint64_t *seed, int at, bool with_failures)
{
    usm_queue *queues[] = {ordered, unordered, other};
    int queue = (int)random_below(seed, 3);
    usm_command command;
    usm_access accesses[MOST_ARGUMENTS];
    usm_wait waits[2];
    int which[MOST_ARGUMENTS] = {0}, waited[2], n = 0, n_waits = 0;
    size_t nbytes = program->words * 8;
    step *step = &program->steps[at];
    *step = (struct step){.words = program->words, .constant = random_next(seed)};
    for (; n_waits < 2 && at > 0 && random_below(seed, 4) == 0; n_waits++) {
        waited[n_waits] = (int)random_below(seed, (uint64_t)at);
        waits[n_waits] = (usm_wait){program->events[waited[n_waits]], random_below(seed, 2)};
    }
    uint64_t kind = random_below(seed, 8);
    if (kind < 2) {
        which[0] = (int)random_below(seed, ALLOCS);
        which[1] = (which[0] + 1 + (int)random_below(seed, ALLOCS - 1)) % ALLOCS;
        accesses[n++] = (usm_access){program->allocs[which[0]], USM_WRITE};
        accesses[n++] = (usm_access){program->allocs[which[1]], USM_READ};
        command.kind = USM_COMMAND_COPY;
        command.as.copy.dst = accesses[0].alloc->pointer;
        command.as.copy.src = accesses[1].alloc->pointer;
        command.as.copy.nbytes = nbytes;
        if (model_runs(program, at, accesses, which, n, waits, waited, n_waits)) {
            memcpy(program->model[which[0]], program->model[which[1]], nbytes);
        }
    } else if (kind == 2) {
        which[0] = (int)random_below(seed, ALLOCS);
        accesses[n++] = (usm_access){program->allocs[which[0]], USM_WRITE};
        command.kind = USM_COMMAND_FILL;
        command.as.fill.dst = accesses[0].alloc->pointer;
        command.as.fill.nbytes = nbytes;
        command.as.fill.pattern_size = 8;
        memcpy(command.as.fill.pattern, &step->constant, 8);
        bool runs = model_runs(program, at, accesses, which, n, waits, waited, n_waits);
        for (size_t k = 0; runs && k < program->words; k++) {
            program->model[which[0]][k] = step->constant;
        }
    } else if (kind == 3) {
        command.kind = USM_COMMAND_BARRIER;
        model_runs(program, at, accesses, which, n, waits, waited, n_waits);
    } else {
        n = 1 + (int)random_below(seed, MOST_ARGUMENTS);
        step->n = n;
        step->microseconds = random_below(seed, 4) == 0 ? (unsigned)random_below(seed, 200) : 0;
        step->fails = with_failures && random_below(seed, 6) == 0;
        for (int i = 0; i < n; i++) {
            which[i] = (int)random_below(seed, ALLOCS);
            accesses[i] =
                (usm_access){program->allocs[which[i]], (usm_access_mode)(1 + random_below(seed, 3))};
            step->data[i] = accesses[i].alloc->pointer;
            step->modes[i] = accesses[i].mode;
        }
        command.kind = USM_COMMAND_HOST;
        command.as.host.run = task_step;
        command.as.host.argument = step;
        struct step *model = &program->model_steps[at];
        *model = *step;
        for (int i = 0; i < n; i++) {
            model->data[i] = program->model[which[i]];
        }
        if (model_runs(program, at, accesses, which, n, waits, waited, n_waits)) {
            compute(model);
        }
    }
    const usm_submission submission = {.command = &command,
                                       .accesses = accesses,
                                       .n_accesses = (size_t)n,
                                       .waits = waits,
                                       .n_waits = (size_t)n_waits};
    usm_error error;
    describe(program, at, queue, &command, accesses, which, n, waits, waited, n_waits);
    CHECK_OK(usm_queue_submit(queues[queue], &submission, &program->events[at], &error));
}

/* What a task left in memory, or how it ended, is not what the model says. */
static void check_model(const program *program)
{
    for (int at = 0; at < STEPS; at++) {
        usm_event_state wanted = program->failed[at] ? USM_EVENT_ERROR : USM_EVENT_COMPLETE;
        usm_error error;
        CHECK_OK(usm_event_wait_end(program->events[at], NULL, &error));
        if (usm_event_get_state(program->events[at]) != wanted) {
            print_program(program);
            CHECK_FAIL("step %d ended in state %d", at, usm_event_get_state(program->events[at]));
        }
    }
    for (int i = 0; i < ALLOCS; i++) {
        /* All of them before the first failure is retrieved: they may share one. */
        if (usm_alloc_is_clean(program->allocs[i]) == program->spoiled[i]) {
            print_program(program);
            CHECK_FAIL("memory %d is %sclean", i, program->spoiled[i] ? "" : "not ");
        }
    }
    for (int i = 0; i < ALLOCS; i++) {
        size_t nbytes = program->words * 8;
        wait_alloc(program->allocs[i], USM_READ);
        if (!program->spoiled[i] &&
            check_difference(program->allocs[i]->pointer, program->model[i], nbytes) != nbytes) {
            print_program(program);
            fprintf(stderr, "memory %d:\n", i);
            CHECK_SAME(program->allocs[i]->pointer, program->model[i], nbytes);
        }
    }
}

static void run_program(uint64_t seed, bool with_failures)
{
    static program program;
    program.seed = seed;
    make_queues();
    /* Large enough that copies go to the queue's threads, in every fourth program. */
    program.words = seed % 4 == 0 ? 10000 : 64;
    for (int i = 0; i < ALLOCS; i++) {
        program.allocs[i] = new_alloc(program.words * 8);
        program.model[i] = calloc(program.words, 8);
        program.spoiled[i] = false;
        memset(program.allocs[i]->pointer, 0, program.words * 8);
    }
    for (int at = 0; at < STEPS; at++) {
        run_step(&program, &seed, at, with_failures);
    }
    check_model(&program);
    for (int at = 0; at < STEPS; at++) {
        usm_event_release(program.events[at]);
    }
    for (int i = 0; i < ALLOCS; i++) {
        usm_alloc_release(program.allocs[i]);
        free(program.model[i]);
    }
    drop_queues();
}

static void random_programs(void)
{
    for (long seed = 1; seed <= scaled(300); seed++) {
        run_program((uint64_t)seed, false);
    }
}

static void random_programs_with_failures(void)
{
    for (long seed = 1; seed <= scaled(300); seed++) {
        run_program((uint64_t)seed + 1000000, true);
    }
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(readers_meet_and_writers_do_not);
    RUN_SETTLED(an_allocation_named_repeatedly);
    RUN_SETTLED(more_memory_than_fits_into_an_event);
    RUN_SETTLED(places_that_later_tasks_take);
    RUN_SETTLED(reading_what_failed);
    RUN_SETTLED(overwriting_what_failed);
    RUN_SETTLED(explicit_dependencies_on_failures);
    RUN_SETTLED(reading_after_delivery);
    RUN_SETTLED(waiting_to_write_retrieves_nothing);
    RUN_SETTLED(inheriting_behind_pending_work);
    RUN_SETTLED(a_refused_write_leaves_no_trace);
    RUN_SETTLED(reading_behind_a_refused_write);
    RUN_SETTLED(a_refused_write_beside_a_pending_one);
    RUN_SETTLED(a_failure_does_not_outlive_its_allocation);
    RUN_SETTLED(random_programs);
    RUN_SETTLED(random_programs_with_failures);
    return 0;
}
