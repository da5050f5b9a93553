/* Queues: order, barriers, snapshots, waits (also inside tasks), and what a failed
 * submission leaves behind. */
#include "check.h"
#include "support.h"

#include "core/base/fault.h"

#include <stdlib.h>

/* A task that notes its number when it runs. */
typedef struct note {
    int number;
    int *list;
    _Atomic int *next;
} note;

static usm_status task_note(void *argument, usm_error *error)
{
    const note *note = argument;
    (void)error;
    note->list[atomic_fetch_add(note->next, 1)] = note->number;
    return USM_OK;
}

static void in_order_runs_in_order(void)
{
    enum { N = 500 };
    int list[N];
    _Atomic int next = 0;
    note notes[N];
    usm_queue *queue = new_queue(true);
    for (int i = 0; i < N; i++) {
        notes[i] = (note){i, list, &next};
        usm_event_release(submit_task(queue, task_note, &notes[i]));
        if (i % 50 == 0) {
            CHECK_EQ(wait_queue(queue), USM_OK); /* the next finds the queue idle */
        }
    }
    CHECK_EQ(wait_queue(queue), USM_OK);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(list[i], i);
    }
    usm_queue_release(queue);
}

/* Also what is short enough to be done by the submitting thread waits for its turn. */
static void short_work_waits_for_its_turn(void)
{
    gate held = GATE_CLOSED;
    usm_queue *queue = new_queue(true);
    usm_alloc *alloc = new_alloc(16);
    memset(alloc->pointer, 0, 16);
    usm_event *first = submit_task(queue, task_gate, &held);
    const usm_command command = {
        .kind = USM_COMMAND_FILL,
        .as.fill = {.dst = alloc->pointer, .nbytes = 16, .pattern_size = 1, .pattern = {7}}};
    const usm_access access = {alloc, USM_WRITE};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    usm_error error;
    usm_event *event;
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    CHECK_OK(usm_queue_submit(queue, &submission, NULL, &error));
    CHECK(!usm_event_ended(event));
    run_another_task();
    CHECK_EQ(*(char *)alloc->pointer, 0);
    gate_open(&held);
    expect_end(event, USM_EVENT_COMPLETE);
    CHECK_EQ(wait_queue(queue), USM_OK); /* the second writes the same */
    CHECK_EQ(*(char *)alloc->pointer, 7);

    /* On an idle queue it is done when the call returns. */
    memset(alloc->pointer, 0, 16);
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    CHECK_EQ(*(char *)alloc->pointer, 7);
    expect_end(event, USM_EVENT_COMPLETE);
    expect_end(first, USM_EVENT_COMPLETE);
    usm_alloc_release(alloc);
    usm_queue_release(queue);
}

/* One task that is stuck stops neither the others of an out-of-order queue nor other queues. */
static void out_of_order(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_queue *queue = new_queue(false), *other = new_queue(true);
    usm_event *stuck = submit_task(queue, task_gate, &held);
    for (int i = 0; i < 100; i++) {
        expect_end(submit_task(queue, task_count, &ran), USM_EVENT_COMPLETE);
        expect_end(submit_task(other, task_count, &ran), USM_EVENT_COMPLETE);
    }
    CHECK_EQ(ran, 200);
    CHECK(!usm_event_ended(stuck));
    gate_open(&held);
    expect_end(stuck, USM_EVENT_COMPLETE);
    usm_queue_release(queue);
    usm_queue_release(other);
}

static void barriers(void)
{
    gate first = GATE_CLOSED, second = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_queue *queue = new_queue(false), *other = new_queue(true);
    usm_event *a = submit_task(queue, task_gate, &first);
    usm_event *b = submit_task(other, task_gate, &second);
    usm_event *barrier = submit_barrier(queue, NULL, 0);
    /* With a list: behind the listed events, and behind the barrier before. */
    usm_event *listed = submit_barrier(queue, &(usm_wait){b, false}, 1);
    usm_event *after = submit_task(queue, task_count, &ran);
    run_another_task();
    CHECK(!usm_event_ended(barrier) && !usm_event_ended(listed) && ran == 0);
    gate_open(&first);
    CHECK_EQ(wait_event(barrier), USM_OK);
    CHECK(usm_event_ended(a));
    run_another_task();
    CHECK(!usm_event_ended(listed) && ran == 0);
    gate_open(&second);
    expect_end(after, USM_EVENT_COMPLETE);
    CHECK(usm_event_ended(listed));
    CHECK_EQ(ran, 1);
    usm_event_release(a);
    usm_event_release(b);
    usm_event_release(barrier);
    usm_event_release(listed);
    usm_queue_release(queue);
    usm_queue_release(other);
}

/* A barrier with a list does not wait for the rest of its queue. */
static void a_listed_barrier_passes_other_work(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_queue *queue = new_queue(false);
    usm_event *stuck = submit_task(queue, task_gate, &held);
    usm_event *done = submit_task(queue, task_count, &ran);
    expect_end(submit_barrier(queue, &(usm_wait){done, false}, 1), USM_EVENT_COMPLETE);
    CHECK(!usm_event_ended(stuck));
    gate_open(&held);
    expect_end(stuck, USM_EVENT_COMPLETE);
    usm_event_release(done);
    usm_queue_release(queue);
}

/*
 * A dependency that failed before the call makes the barrier fail; the others must be waited for all the
 * same, or what is submitted later would overtake them.
 */
static void a_failed_barrier_still_holds(void)
{
    for (int in_order = 0; in_order < 2; in_order++) {
        gate held = GATE_CLOSED;
        _Atomic int ran = 0;
        usm_queue *queue = new_queue(in_order), *other = new_queue(true);
        usm_event *failed = submit_task(other, task_fail, NULL);
        CHECK_EQ(wait_event(failed), USM_FAILED);
        usm_event *pending = submit_task(other, task_gate, &held);
        usm_event *barrier = submit_barrier(queue, (usm_wait[]){{failed, true}, {pending, true}}, 2);
        usm_event *after = submit_task(queue, task_count, &ran);
        run_another_task();
        CHECK_EQ(ran, 0);
        CHECK(!usm_event_ended(barrier));
        gate_open(&held);
        expect_end(after, USM_EVENT_COMPLETE);
        CHECK_EQ(ran, 1);
        expect_end(barrier, USM_EVENT_ERROR);
        usm_event_release(failed);
        usm_event_release(pending);
        usm_queue_release(queue);
        usm_queue_release(other);
    }
}

static void snapshots(void)
{
    for (int in_order = 0; in_order < 2; in_order++) {
        gate held = GATE_CLOSED;
        usm_queue *queue = new_queue(in_order);
        usm_error error;
        usm_wait_list waits;
        CHECK_OK(usm_queue_snapshot(queue, &waits, &error));
        CHECK_EQ(waits.n, 0);
        usm_wait_list_clear(&waits);
        usm_event *events[3];
        for (int i = 0; i < 3; i++) {
            events[i] = submit_task(queue, task_gate, &held);
        }
        CHECK_OK(usm_queue_snapshot(queue, &waits, &error));
        CHECK_EQ(waits.n, in_order ? 1 : 3);
        CHECK_EQ((intptr_t)waits.items[0].event, (intptr_t)events[2]);
        for (size_t i = 0; i < waits.n; i++) {
            CHECK(!waits.items[i].data);
        }
        usm_wait_list_clear(&waits);
        gate_open(&held);
        for (int i = 0; i < 3; i++) {
            expect_end(events[i], USM_EVENT_COMPLETE);
        }
        usm_queue_release(queue);
    }
}

/* The first failure since the last call, once; a wait that ran out leaves it there. */
static void a_failure_comes_out_of_the_queue_once(void)
{
    gate held = GATE_CLOSED;
    usm_error error;
    usm_queue *queue = new_queue(false);
    usm_event *first = submit_task(queue, task_fail, NULL);
    CHECK_EQ(wait_event(first), USM_FAILED);
    usm_event *second = submit_task(queue, task_fail, NULL);
    CHECK_EQ(wait_event(second), USM_FAILED);
    usm_event *slow = submit_task(queue, task_gate, &held);
    CHECK_EQ(usm_queue_wait(queue, &(const usm_patience){usm_clock_ns() + 5000000, NULL, NULL}, &error),
             USM_TIMEOUT);
    gate_open(&held);
    CHECK_EQ(usm_queue_wait(queue, NULL, &error), USM_FAILED);
    CHECK_EQ((intptr_t)error.failure, (intptr_t)first->failure);
    usm_error_clear(&error);
    CHECK_EQ(wait_queue(queue), USM_OK);
    CHECK_EQ(wait_event(first), USM_FAILED);
    usm_event_release(first);
    usm_event_release(second);
    usm_event_release(slow);
    usm_queue_release(queue);
}

/* A queue that is released with an unretrieved failure. */
static void a_dropped_queue_finishes_its_work(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_queue *queue = new_queue(true);
    usm_event_release(submit_task(queue, task_fail, &held));
    usm_event_release(submit_task(queue, task_count, &ran));
    usm_queue_release(queue);
    CHECK_EQ(ran, 0);
    gate_open(&held);
    while (ran == 0) {
        sleep_ms(1);
    }
}

/* Waits of a task for whole queues. */
typedef struct inside {
    gate meet;
    usm_queue *queue;
    usm_event *before, *after; /* of the queue: must have ended; must not have */
    usm_status status;
    bool right;
} inside;

static usm_status wait_for_queue(void *argument, usm_error *error)
{
    inside *inside = argument;
    (void)error;
    gate_pass(&inside->meet);
    inside->status = wait_queue(inside->queue);
    inside->right = (inside->before == NULL || usm_event_ended(inside->before)) &&
                    (inside->after == NULL || !usm_event_ended(inside->after));
    return USM_OK;
}

static void a_task_waits_for_its_own_queue(void)
{
    for (int in_order = 0; in_order < 2; in_order++) {
        gate held = GATE_CLOSED;
        _Atomic int ran = 0;
        inside inside = {.meet = GATE_CLOSED, .queue = new_queue(in_order)};
        inside.before = submit_task(inside.queue, task_gate, &held);
        usm_event *task = submit_task(inside.queue, wait_for_queue, &inside);
        inside.after = submit_after(inside.queue, task_count, &ran, task, false);
        gate_open(&inside.meet);
        run_another_task();
        CHECK(!usm_event_ended(task));
        gate_open(&held);
        expect_end(task, USM_EVENT_COMPLETE);
        CHECK_EQ(inside.status, USM_OK);
        CHECK(inside.right);
        expect_end(inside.before, USM_EVENT_COMPLETE);
        expect_end(inside.after, USM_EVENT_COMPLETE);
        usm_queue_release(inside.queue);
    }
}

/* What the other queue did before the work that needs this task is waited for, whatever comes last there. */
static void a_task_waits_for_another_queue(void)
{
    for (int in_order = 0; in_order < 2; in_order++) {
        gate held = GATE_CLOSED;
        _Atomic int ran = 0;
        usm_queue *queue = new_queue(true);
        inside inside = {.meet = GATE_CLOSED, .queue = new_queue(in_order)};
        inside.before = submit_task(inside.queue, task_gate, &held);
        usm_event *task = submit_task(queue, wait_for_queue, &inside);
        inside.after = submit_after(inside.queue, task_count, &ran, task, false);
        gate_open(&inside.meet);
        run_another_task();
        CHECK(!usm_event_ended(task));
        gate_open(&held);
        expect_end(task, USM_EVENT_COMPLETE);
        CHECK_EQ(inside.status, USM_OK);
        CHECK(inside.right);
        expect_end(inside.before, USM_EVENT_COMPLETE);
        expect_end(inside.after, USM_EVENT_COMPLETE);
        usm_queue_release(inside.queue);
        usm_queue_release(queue);
    }
}

/* However many tasks of a queue wait for another one of it: that one finds a thread. */
static usm_status wait_for_event(void *argument, usm_error *error)
{
    return usm_event_wait(argument, NULL, error);
}

static void many_tasks_wait_for_one_of_their_queue(void)
{
    enum { WAITING = 20 };
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_queue *queue = new_queue(false), *other = new_queue(true);
    usm_event *gate = submit_task(other, task_gate, &held), *waiting[WAITING];
    usm_event *last = submit_after(queue, task_count, &ran, gate, true);
    for (int i = 0; i < WAITING; i++) {
        waiting[i] = submit_task(queue, wait_for_event, last);
    }
    for (int i = 0; i < WAITING; i++) {
        while (usm_event_get_state(waiting[i]) != USM_EVENT_RUNNING) {
            sleep_ms(1);
        }
    }
    gate_open(&held);
    for (int i = 0; i < WAITING; i++) {
        expect_end(waiting[i], USM_EVENT_COMPLETE);
    }
    CHECK_EQ(ran, 1);
    expect_end(submit_task(queue, task_count, &ran), USM_EVENT_COMPLETE);
    usm_event_release(last);
    usm_event_release(gate);
    usm_queue_release(queue);
    usm_queue_release(other);
}

/* A task that submits to its own queue and to another, and waits for the other. */
typedef struct nested {
    usm_queue *own, *other;
    _Atomic int ran;
    usm_status status;
    int seen;
} nested;

static usm_status submit_inside(void *argument, usm_error *error)
{
    nested *nested = argument;
    (void)error;
    usm_event_release(submit_task(nested->own, task_count, &nested->ran));
    usm_event_release(submit_task(nested->other, task_count, &nested->ran));
    usm_event_release(submit_task(nested->other, task_count, &nested->ran));
    nested->status = wait_queue(nested->other);
    nested->seen = nested->ran;
    return USM_OK;
}

static void a_task_submits_tasks(void)
{
    nested nested = {.own = new_queue(true), .other = new_queue(true)};
    usm_event *task = submit_task(nested.own, submit_inside, &nested);
    expect_end(task, USM_EVENT_COMPLETE);
    CHECK_EQ(nested.status, USM_OK);
    CHECK_EQ(nested.seen, 2);
    CHECK_EQ(wait_queue(nested.own), USM_OK);
    CHECK_EQ(nested.ran, 3);
    usm_queue_release(nested.own);
    usm_queue_release(nested.other);
}

/* A wait for a queue that meets a failure inside a task: passed on, it is the task's own failure too. */
static usm_status pass_on(void *queue, usm_error *error)
{
    return usm_queue_wait(queue, NULL, error);
}

static void a_failure_that_a_task_passes_on(void)
{
    usm_queue *queue = new_queue(true), *other = new_queue(true);
    usm_alloc *alloc = new_alloc(8);
    usm_event *failed = submit_task(other, task_fail, NULL);
    CHECK_EQ(wait_event(failed), USM_FAILED);
    usm_event *task = submit_access(queue, pass_on, other, alloc, USM_WRITE);
    usm_error error;
    CHECK_EQ(usm_queue_wait(queue, NULL, &error), USM_FAILED);
    CHECK_EQ((intptr_t)error.failure->cause, (intptr_t)failed->failure);
    CHECK_EQ(error.failure->code, 42);
    usm_error_clear(&error);
    usm_event_release(task);
    usm_event_release(failed);
    usm_alloc_release(alloc);
    usm_queue_release(queue);
    usm_queue_release(other);
}

static usm_queue *make_busy(gate *held, bool in_order)
{
    usm_queue *queue = new_queue(in_order);
    usm_event_release(submit_task(queue, task_gate, held));
    return queue;
}

static void draining_all_queues(void)
{
    gate held = GATE_CLOSED;
    usm_error error;
    usm_queue *a = make_busy(&held, true), *b = make_busy(&held, false), *c = new_queue(true);
    usm_event *failed = submit_task(c, task_fail, NULL);
    CHECK_EQ(usm_queues_drain(&(const usm_patience){usm_clock_ns() + 5000000, NULL, NULL}, &error),
             USM_TIMEOUT);
    gate_open(&held);
    CHECK_OK(usm_queues_drain(NULL, &error));
    CHECK(usm_event_ended(failed));
    CHECK(!usm_failure_is_retrieved(failed->failure)); /* a drain at the exit asks for nothing */
    CHECK_EQ(wait_queue(c), USM_FAILED);
    usm_event_release(failed);
    usm_queue_release(a);
    usm_queue_release(b);
    usm_queue_release(c);
}

/* A task releases what it keeps for its caller after completion; a submission that fails keeps nothing. */
typedef struct keep {
    usm_keep keep;
    int *dropped;
} keep;

static void drop_keep(usm_deferred *self)
{
    keep *keep = (struct keep *)self;
    ++*keep->dropped;
    free(keep);
}

static usm_keep *make_keep(int *dropped, usm_keep *next)
{
    keep *keep = calloc(1, sizeof *keep);
    keep->keep.deferred.run = drop_keep;
    keep->keep.next = next;
    keep->dropped = dropped;
    return &keep->keep;
}

static void what_a_task_keeps(void)
{
    gate held = GATE_CLOSED;
    int dropped = 0;
    usm_error error;
    usm_event *event;
    usm_queue *queue = new_queue(true);
    const usm_command host = {.kind = USM_COMMAND_HOST, .as.host = {task_gate, &held}};
    const usm_command nothing = {.kind = USM_COMMAND_BARRIER};
    usm_submission submission = {.command = &host, .keeps = make_keep(&dropped, make_keep(&dropped, NULL))};
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(dropped, 0);
    gate_open(&held);
    expect_end(event, USM_EVENT_COMPLETE);
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(dropped, 2);

    /* Done at once, with and without an event. */
    CHECK_EQ(wait_queue(queue), USM_OK);
    submission = (usm_submission){.command = &nothing, .keeps = make_keep(&dropped, NULL)};
    CHECK_OK(usm_queue_submit(queue, &submission, NULL, &error));
    submission.keeps = make_keep(&dropped, NULL);
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    usm_event_release(event);
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(dropped, 4);

    /* Not run, since a dependency had failed. */
    usm_event *failed = submit_task(queue, task_fail, NULL);
    CHECK_EQ(wait_queue(queue), USM_FAILED);
    submission = (usm_submission){.command = &host,
                                  .keeps = make_keep(&dropped, NULL),
                                  .waits = &(usm_wait){failed, true},
                                  .n_waits = 1};
    CHECK_OK(usm_queue_submit(queue, &submission, &event, &error));
    expect_end(event, USM_EVENT_ERROR);
    usm_event_release(failed);
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(dropped, 5);

    submission = (usm_submission){.command = &host, .keeps = make_keep(&dropped, NULL)};
    CHECK(usm_fault_arm("queue_submit", 1));
    CHECK_EQ(usm_queue_submit(queue, &submission, &event, &error), USM_DRIVER);
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(dropped, 5);
    submission.keeps->deferred.run(&submission.keeps->deferred);
    CHECK_EQ(wait_queue(queue), USM_FAILED); /* of the task that inherited */
    CHECK_EQ(wait_queue(queue), USM_OK);
    usm_queue_release(queue);
}

/* The driver refuses a task that other tasks wait for by then: it ends in its turn, and no wait hangs. */
static void a_refused_submission(void)
{
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_error error;
    usm_event *event;
    usm_queue *queue = new_queue(true);
    usm_event *first = submit_task(queue, task_gate, &held);
    const usm_command host = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
    const usm_submission submission = {.command = &host};
    CHECK(usm_fault_arm("queue_submit", 1));
    CHECK_EQ(usm_queue_submit(queue, &submission, &event, &error), USM_DRIVER);
    CHECK(strcmp(error.name, "INJECTED_FAULT") == 0);
    usm_event *after = submit_task(queue, task_count, &ran);
    run_another_task();
    CHECK_EQ(ran, 0);
    gate_open(&held);
    expect_end(after, USM_EVENT_COMPLETE);
    CHECK_EQ(ran, 1);
    CHECK_EQ(wait_queue(queue), USM_OK); /* the call itself has returned the failure */
    usm_event_release(first);
    usm_queue_release(queue);
}

/* A driver whose objects are our own, and whose queues are numbers; the host's backend for all else. */
static void *native_handle(usm_native what, const void *object)
{
    return what == USM_NATIVE_QUEUE ? ((const usm_queue *)object)->foreign : (void *)object;
}

static void *take_registry(void *unused)
{
    usm_registry_lock();
    usm_registry_unlock();
    return unused;
}

static pthread_barrier_t inspecting; /* both threads are in here, so neither has found the other's queue */

static usm_status inspect(usm_native what, void *handle, usm_native_facts *facts, usm_error *error)
{
    pthread_t other;
    (void)handle;
    (void)error;
    CHECK_EQ(what, USM_NATIVE_QUEUE);
    CHECK_EQ(pthread_create(&other, NULL, take_registry, NULL), 0); /* as a driver's own thread may */
    pthread_join(other, NULL);
    pthread_barrier_wait(&inspecting);
    facts->device = host_device();
    facts->context = host_place()->context;
    facts->options.in_order = true;
    return USM_OK;
}

static const usm_native_entries native = {.handle = native_handle, .inspect = inspect};
static usm_backend with_queues;

static char handle;
static int n_dropped;

static void note_drop(usm_deferred *unused)
{
    (void)unused;
    n_dropped++;
}

static void *adopt(void *out)
{
    usm_error error;
    CHECK_OK(usm_queue_adopt_once(&with_queues, &handle, NULL, out, &error));
    return NULL;
}

static void two_threads_adopt_one_queue(void)
{
    usm_context *context = host_place()->context;
    const usm_backend *host = context->backend;
    with_queues = *host;
    with_queues.native = &native;
    context->backend = host_device()->backend = &with_queues;
    for (long i = 0; i < scaled(200); i++) {
        usm_queue *first, *second, *third;
        pthread_t thread;
        pthread_barrier_init(&inspecting, NULL, 2);
        CHECK_EQ(pthread_create(&thread, NULL, adopt, &first), 0);
        (void)adopt(&second);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&inspecting);
        CHECK_EQ((intptr_t)first, (intptr_t)second);
        usm_error error;
        usm_keep keep = {.deferred = {.run = note_drop}};
        /* It is there: the driver is not asked, and what a new one would keep is dropped. */
        CHECK_OK(usm_queue_adopt_once(&with_queues, &handle, &keep, &third, &error));
        usm_deferred_drain(&usm_deferred_main);
        CHECK_EQ(n_dropped, i + 1);
        CHECK_EQ((intptr_t)first, (intptr_t)third);
        usm_queue_release(first);
        usm_queue_release(second);
        usm_queue_release(third);
    }
    context->backend = host_device()->backend = host;
}

static gate starting = GATE_CLOSED;

static void be_slow(void)
{
    gate_pass(&starting);
}

static void *start(void *out)
{
    *(const usm_backend_report **)out = start_driver();
    return NULL;
}

/* Threads that need another backend do not wait for one that starts, those that need it do. */
static void queues_come_and_go_while_a_driver_starts(void)
{
    enum { STARTERS = 3 };
    pthread_t threads[STARTERS];
    const usm_backend_report *reports[STARTERS];
    driver_start = be_slow;
    for (int i = 0; i < STARTERS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, start, &reports[i]), 0);
    }
    gate_await(&starting, 1);
    run_another_task();
    CHECK(usm_backend_start(usm_backend_index("minimal", strlen("minimal")))->absent == NULL);
    CHECK_EQ(gate_arrived(&starting), 1);
    gate_open(&starting);
    for (int i = 0; i < STARTERS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ((intptr_t)reports[i], (intptr_t)start_driver());
        CHECK(strstr(reports[i]->absent, "the driver of these tests has no device") != NULL);
    }
    CHECK_EQ(gate_arrived(&starting), 1);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(in_order_runs_in_order);
    RUN_SETTLED(short_work_waits_for_its_turn);
    RUN_SETTLED(out_of_order);
    RUN_SETTLED(barriers);
    RUN_SETTLED(a_listed_barrier_passes_other_work);
    RUN_SETTLED(a_failed_barrier_still_holds);
    RUN_SETTLED(snapshots);
    RUN_SETTLED(a_failure_comes_out_of_the_queue_once);
    RUN_SETTLED(a_dropped_queue_finishes_its_work);
    RUN_SETTLED(a_task_waits_for_its_own_queue);
    RUN_SETTLED(a_task_waits_for_another_queue);
    RUN_SETTLED(many_tasks_wait_for_one_of_their_queue);
    RUN_SETTLED(a_task_submits_tasks);
    RUN_SETTLED(a_failure_that_a_task_passes_on);
    RUN_SETTLED(draining_all_queues);
    RUN_SETTLED(what_a_task_keeps);
    RUN_SETTLED(a_refused_submission);
    RUN_SETTLED(two_threads_adopt_one_queue);
    RUN_SETTLED(queues_come_and_go_while_a_driver_starts);
    return 0;
}
