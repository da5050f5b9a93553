/* Events: notification of completion, waits that end in other ways, and waits that would never end. */
#include "check.h"
#include "support.h"

#include "core/exchange/native.h"

#include <stdlib.h>

#define MS INT64_C(1000000)

static void states(void)
{
    gate first_gate = GATE_CLOSED, second_gate = GATE_CLOSED;
    usm_queue *queue = new_queue(true);
    usm_event *first = submit_task(queue, task_gate, &first_gate);
    usm_event *second = submit_task(queue, task_gate, &second_gate);
    gate_await(&first_gate, 1);
    CHECK_EQ(usm_event_get_state(first), USM_EVENT_RUNNING);
    CHECK_EQ(usm_event_get_state(second), USM_EVENT_SUBMITTED);
    CHECK(first->order < second->order);
    gate_open(&first_gate);
    expect_end(first, USM_EVENT_COMPLETE);
    gate_open(&second_gate);
    expect_end(second, USM_EVENT_COMPLETE);
    usm_event *third = submit_task(queue, task_fail, NULL);
    expect_end(third, USM_EVENT_ERROR);
    usm_queue_release(queue);
}

typedef struct listener {
    usm_waiter waiter;
    int number;
    usm_event *event;
} listener;

static _Atomic int heard;
static int order_heard[8];

/* Without a lock held: the event can be asked for anything. */
static void hear(usm_waiter *self, usm_event *event)
{
    listener *listener = (struct listener *)self;
    CHECK_EQ((intptr_t)event, (intptr_t)listener->event);
    CHECK(usm_event_ended(event));
    CHECK(!usm_event_notify(event, self));
    CHECK_EQ(wait_event(event), usm_event_get_state(event) == USM_EVENT_ERROR ? USM_FAILED : USM_OK);
    order_heard[atomic_load(&heard)] = listener->number;
    atomic_fetch_add(&heard, 1);
}

static void await_heard(int n)
{
    while (atomic_load(&heard) < n) {
        sleep_ms(1);
    }
}

static void waiters_hear_once_in_the_order_they_came(void)
{
    usm_queue *queue = new_queue(true);
    for (int fails = 0; fails < 2; fails++) {
        gate held = GATE_CLOSED;
        listener listeners[4];
        usm_event *event = submit_task(queue, fails ? task_fail : task_gate, &held);
        atomic_store(&heard, 0);
        for (int i = 0; i < 4; i++) {
            listeners[i] = (listener){.waiter.done = hear, .number = i, .event = event};
            CHECK(usm_event_notify(event, &listeners[i].waiter));
        }
        gate_open(&held);
        await_heard(4);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(order_heard[i], i);
        }
        CHECK(!usm_event_notify(event, &listeners[0].waiter));
        usm_event_release(event);
    }
    CHECK_EQ(wait_queue(queue), USM_FAILED);
    usm_queue_release(queue);
}

static void ignore(usm_waiter *self, usm_event *event)
{
    (void)event;
    atomic_fetch_add(&heard, 1);
    free(self); /* the waiter's memory may go with its call */
}

/* Each waiter is either refused or called, also when the event ends at that moment. */
static void notifying_while_it_ends(void)
{
    usm_queue *queue = new_queue(true);
    int refused = 0;
    for (long round = 0; round < scaled(3000); round++) {
        _Atomic int ran = 0;
        usm_event *event = submit_task(queue, task_count, &ran);
        int taken = 0;
        atomic_store(&heard, 0);
        for (;;) {
            if (taken == 100) { /* the event's thread may have no processor for long */
                CHECK_EQ(wait_event(event), USM_OK);
            }
            usm_waiter *waiter = malloc(sizeof *waiter);
            waiter->done = ignore;
            if (!usm_event_notify(event, waiter)) {
                free(waiter);
                refused++;
                break;
            }
            taken++;
        }
        await_heard(taken);
        expect_end(event, USM_EVENT_COMPLETE);
        CHECK_EQ(heard, taken);
    }
    CHECK(refused > 0);
    usm_queue_release(queue);
}

static bool count_polls(void *argument)
{
    return ++*(int *)argument == 3;
}

static void waits_end_in_other_ways(void)
{
    usm_error error;
    gate held = GATE_CLOSED;
    usm_queue *queue = new_queue(true);
    usm_event *event = submit_task(queue, task_gate, &held);

    int64_t start = usm_clock_ns();
    CHECK_EQ(usm_event_wait(event, &(const usm_patience){start + 30 * MS, NULL, NULL}, &error), USM_TIMEOUT);
    CHECK(usm_clock_ns() - start >= 30 * MS);
    CHECK_EQ(usm_event_wait(event, &(const usm_patience){0, NULL, NULL}, &error), USM_TIMEOUT);
    CHECK_EQ(usm_event_wait(event, &(const usm_patience){INT64_MIN, NULL, NULL}, &error), USM_TIMEOUT);

    int polls = 0;
    start = usm_clock_ns();
    CHECK_EQ(usm_event_wait(event, &(const usm_patience){INT64_MAX, count_polls, &polls}, &error),
             USM_INTERRUPTED);
    CHECK_EQ(polls, 3);
    CHECK(usm_clock_ns() - start >= 55 * MS);

    /* A deadline that is nearer than the next poll. */
    polls = 0;
    CHECK_EQ(
        usm_event_wait(event, &(const usm_patience){usm_clock_ns() + 10 * MS, count_polls, &polls}, &error),
        USM_TIMEOUT);
    CHECK_EQ(polls, 0);
    CHECK_EQ(
        usm_event_wait(event, &(const usm_patience){usm_clock_ns() + 50 * MS, count_polls, &polls}, &error),
        USM_TIMEOUT);
    CHECK(polls <= 2); /* 0 where this thread had no processor for 50 ms */

    gate_open(&held);
    CHECK_EQ(wait_event(event), USM_OK);
    CHECK_EQ(usm_event_wait(event, &(const usm_patience){0, NULL, NULL}, &error), USM_OK);
    usm_event_release(event);
    usm_queue_release(queue);
}

typedef struct noise {
    usm_event *event;
    _Atomic bool stop;
} noise;

/* What other events that share the condition variable do when they end. */
static void *make_noise(void *argument)
{
    noise *noise = argument;
    usm_leaf *leaf = usm_leaf_of(noise->event);
    while (!atomic_load(&noise->stop)) {
        pthread_mutex_lock(&leaf->mutex);
        pthread_cond_broadcast(&leaf->changed);
        pthread_mutex_unlock(&leaf->mutex);
        sleep_ms(5);
    }
    return NULL;
}

static void polls_come_in_spite_of_other_events(void)
{
    usm_error error;
    gate held = GATE_CLOSED;
    usm_queue *queue = new_queue(true);
    noise noise = {.event = submit_task(queue, task_gate, &held)};
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, make_noise, &noise), 0);
    int polls = 0;
    CHECK_EQ(usm_event_wait(noise.event,
                            &(const usm_patience){usm_clock_ns() + 10000 * MS, count_polls, &polls}, &error),
             USM_INTERRUPTED);
    atomic_store(&noise.stop, true);
    pthread_join(thread, NULL);
    gate_open(&held);
    expect_end(noise.event, USM_EVENT_COMPLETE);
    usm_queue_release(queue);
}

static void *wait_for_it(void *event)
{
    CHECK_EQ(wait_event(event), USM_OK);
    return NULL;
}

static void many_threads_wait(void)
{
    pthread_t threads[8];
    gate held = GATE_CLOSED;
    usm_queue *queue = new_queue(true);
    usm_event *event = submit_task(queue, task_gate, &held);
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, wait_for_it, event), 0);
    }
    usm_leaf *leaf = usm_leaf_of(event);
    unsigned sleepers = 0;
    while (sleepers < 8) {
        sleep_ms(1);
        pthread_mutex_lock(&leaf->mutex);
        sleepers = event->sleepers;
        pthread_mutex_unlock(&leaf->mutex);
    }
    gate_open(&held);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
    }
    usm_event_release(event);
    usm_queue_release(queue);
}

/* Always, however often. */
static void the_failure_comes_out_of_every_wait(void)
{
    usm_queue *queue = new_queue(true);
    usm_event *event = submit_task(queue, task_fail, NULL);
    for (int i = 0; i < 3; i++) {
        usm_error error;
        CHECK_EQ(usm_event_wait(event, NULL, &error), USM_FAILED);
        CHECK(strcmp(error.text, "this task was made to fail") == 0);
        CHECK_EQ((intptr_t)error.failure, (intptr_t)event->failure);
        CHECK_EQ(error.failure->code, 42);
        CHECK_EQ(error.failure->status, USM_DRIVER);
        CHECK(error.failure->delivered);
        usm_error_clear(&error);
    }
    usm_event_release(event);
    usm_queue_release(queue);
}

/* A task with more dependencies than fit into the event runs after all of them. */
static void many_dependencies(void)
{
    enum { N = 200 };
    usm_queue *queue = new_queue(false), *other = new_queue(true);
    gate held = GATE_CLOSED;
    _Atomic int ran = 0;
    usm_wait waits[N];
    for (int i = 0; i < N; i++) {
        waits[i].data = true;
        waits[i].event = i == 0 ? submit_task(other, task_gate, &held)
                                : submit_after(i % 2 ? queue : other, task_count, &ran, waits[0].event, true);
    }
    usm_event *last = submit_barrier(queue, waits, N);
    run_another_task();
    CHECK(!usm_event_ended(last));
    CHECK_EQ(ran, 0);
    gate_open(&held);
    CHECK_EQ(wait_event(last), USM_OK);
    CHECK_EQ(ran, N - 1);
    for (int i = 0; i < N; i++) {
        CHECK(usm_event_ended(waits[i].event));
        usm_event_release(waits[i].event);
    }
    usm_event_release(last);
    usm_queue_release(queue);
    usm_queue_release(other);
}

/* Waits of a task for itself: `meet` is passed once `event` can be read. */
typedef struct self_wait {
    gate meet;
    usm_event *event;
    usm_status status, checked; /* of the wait, and of the check of a submission that depends on the event */
    bool needs;
} self_wait;

static usm_status wait_inside(void *argument, usm_error *error)
{
    self_wait *self = argument;
    usm_error refused;
    (void)error;
    gate_pass(&self->meet);
    const usm_wait wait = {self->event, false};
    const usm_command marker = {.kind = USM_COMMAND_MARKER};
    const usm_submission submission = {.command = &marker, .waits = &wait, .n_waits = 1};
    usm_queue *queue = new_queue(false);
    self->needs = usm_event_needs_current(self->event);
    self->checked = usm_queue_check_wait(queue, &submission, &refused);
    usm_queue_release(queue);
    self->status = wait_event(self->event);
    return USM_OK;
}

static void a_task_cannot_wait_for_itself(void)
{
    usm_queue *queue = new_queue(true);
    self_wait self = {.meet = GATE_CLOSED};
    self.event = submit_task(queue, wait_inside, &self);
    gate_open(&self.meet);
    expect_end(self.event, USM_EVENT_COMPLETE);
    CHECK(self.needs);
    CHECK_EQ(self.status, USM_DEADLOCK);
    CHECK_EQ(self.checked, USM_DEADLOCK);
    usm_queue_release(queue);
}

/* Through the order of its queue, a dependency and memory, over three queues. */
static void nor_for_what_waits_for_it(void)
{
    usm_queue *a = new_queue(true), *b = new_queue(false), *c = new_queue(true);
    usm_alloc *alloc = new_alloc(64);
    _Atomic int ran = 0;
    self_wait self = {.meet = GATE_CLOSED};
    usm_event *task = submit_task(a, wait_inside, &self);
    usm_event *next = submit_access(a, task_count, &ran, alloc, USM_WRITE);
    usm_event *reader = submit_access(b, task_count, &ran, alloc, USM_READ);
    self.event = submit_after(c, task_count, &ran, reader, false);
    gate_open(&self.meet);
    expect_end(task, USM_EVENT_COMPLETE);
    CHECK_EQ(self.status, USM_DEADLOCK);
    CHECK_EQ(self.checked, USM_DEADLOCK);
    expect_end(self.event, USM_EVENT_COMPLETE);
    CHECK_EQ(ran, 3);
    usm_event_release(next);
    usm_event_release(reader);
    usm_alloc_release(alloc);
    usm_queue_release(a);
    usm_queue_release(b);
    usm_queue_release(c);
}

/* Later work that does not need the task, and earlier work, may be waited for. */
static void but_for_other_work(void)
{
    usm_queue *a = new_queue(true), *b = new_queue(true), *c = new_queue(true);
    gate held = GATE_CLOSED;
    for (int later = 0; later < 2; later++) {
        self_wait self = {.meet = GATE_CLOSED};
        usm_event *task = NULL;
        gate opened = GATE_CLOSED;
        if (later) {
            task = submit_task(a, wait_inside, &self);
        }
        self.event = submit_task(b, task_gate, &opened);
        if (!later) {
            task = submit_task(a, wait_inside, &self);
        }
        gate_open(&self.meet);
        run_another_task();
        CHECK(!usm_event_ended(task));
        gate_open(&opened);
        expect_end(task, USM_EVENT_COMPLETE);
        CHECK(!self.needs);
        CHECK_EQ(self.status, USM_OK);
        CHECK_EQ(self.checked, USM_OK);
        usm_event_release(self.event);
    }
    gate_open(&held);
    usm_queue_release(a);
    usm_queue_release(b);
    usm_queue_release(c);
}

/* A task, its memory, and a queue in which a later task follows it. */
typedef struct loan {
    gate meet;
    usm_alloc *alloc, *other;
    usm_queue *queue;
    usm_status wait, loaned, again, by_memory, by_order, beside;
} loan;

static usm_status check_access(usm_queue *queue, usm_alloc *alloc, usm_access_mode mode, usm_error *error)
{
    const usm_command command = {.kind = USM_COMMAND_COPY};
    const usm_access access = {alloc, mode};
    const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
    return usm_queue_check_wait(queue, &submission, error);
}

static usm_status use_loan(void *argument, usm_error *error)
{
    loan *self = argument;
    usm_error refused;
    (void)error;
    gate_pass(&self->meet);
    usm_queue *apart = new_queue(true);
    self->wait = usm_alloc_wait(self->alloc, USM_READ_WRITE, true, NULL, &refused);
    usm_alloc_set_loaned(self->alloc, true);
    self->loaned = usm_alloc_wait(self->alloc, USM_READ_WRITE, true, NULL, &refused);
    usm_alloc_set_loaned(self->alloc, false);
    self->again = usm_alloc_wait(self->alloc, USM_READ_WRITE, true, NULL, &refused);
    self->by_memory = check_access(apart, self->alloc, USM_WRITE, &refused);
    self->by_order = check_access(self->queue, self->other, USM_READ, &refused);
    self->beside = check_access(apart, self->other, USM_WRITE, &refused);
    usm_queue_release(apart);
    return USM_OK;
}

/* The wait for memory skips the task's followers, unless it is loaned; a check says what would follow. */
static void a_loan_is_waited_for(void)
{
    usm_queue *a = new_queue(true), *b = new_queue(true);
    _Atomic int ran = 0;
    loan self = {.meet = GATE_CLOSED, .alloc = new_alloc(64), .other = new_alloc(64), .queue = b};
    usm_event *task = submit_task(a, use_loan, &self);
    usm_event *follower = submit_after(b, task_count, &ran, task, false);
    usm_event *reader = submit_access(b, task_count, &ran, self.alloc, USM_READ);
    gate_open(&self.meet);
    expect_end(task, USM_EVENT_COMPLETE);
    CHECK_EQ(self.wait, USM_OK);
    CHECK_EQ(self.loaned, USM_DEADLOCK);
    CHECK_EQ(self.again, USM_OK);
    CHECK_EQ(self.by_memory, USM_DEADLOCK);
    CHECK_EQ(self.by_order, USM_DEADLOCK);
    CHECK_EQ(self.beside, USM_OK);
    usm_alloc_set_loaned(self.alloc, true); /* outside of tasks nothing is refused */
    CHECK(!usm_alloc_is_loaned(self.alloc));
    expect_end(follower, USM_EVENT_COMPLETE);
    expect_end(reader, USM_EVENT_COMPLETE);
    CHECK_EQ(ran, 2);
    usm_alloc_release(self.alloc);
    usm_alloc_release(self.other);
    usm_queue_release(a);
    usm_queue_release(b);
}

/* A diamond of many layers has more paths than anybody could walk: each event is looked at once. */
static void a_wide_graph_is_walked_in_time(void)
{
    enum { LAYERS = 40 };
    usm_queue *queue = new_queue(false);
    _Atomic int ran = 0;
    self_wait self = {.meet = GATE_CLOSED};
    usm_event *task = submit_task(queue, wait_inside, &self);
    usm_event *layer[2] = {usm_event_retain(task), usm_event_retain(task)};
    for (int i = 0; i < LAYERS; i++) {
        const usm_wait waits[] = {{layer[0], false}, {layer[1], false}};
        const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
        const usm_submission submission = {.command = &command, .waits = waits, .n_waits = 2};
        usm_event *next[2];
        usm_error error;
        CHECK_OK(usm_queue_submit(queue, &submission, &next[0], &error));
        CHECK_OK(usm_queue_submit(queue, &submission, &next[1], &error));
        usm_event_release(layer[0]);
        usm_event_release(layer[1]);
        layer[0] = next[0];
        layer[1] = next[1];
    }
    self.event = layer[0];
    gate_open(&self.meet);
    expect_end(task, USM_EVENT_COMPLETE);
    CHECK_EQ(self.status, USM_DEADLOCK);
    CHECK_EQ(self.checked, USM_DEADLOCK);
    expect_end(layer[0], USM_EVENT_COMPLETE);
    expect_end(layer[1], USM_EVENT_COMPLETE);
    CHECK_EQ(ran, 2 * LAYERS);
    usm_queue_release(queue);
}

static void *handle_of(usm_native what, const void *object)
{
    CHECK_EQ(what, USM_NATIVE_EVENT);
    return (void *)object;
}

static usm_status inspect(usm_device *device, void *stream, usm_stream_facts *facts, usm_error *error)
{
    (void)device, (void)stream, (void)facts, (void)error;
    CHECK_FAIL("a stream was inspected");
    return USM_OK;
}

static void tasks_of_drivers_with_streams_have_events_of_the_driver(void)
{
    usm_native_entries native = {.handle = handle_of};
    usm_backend backend = {.native = &native};
    usm_queue queue = {.backend = &backend};
    usm_event event = {.queue = &queue, .task_state = USM_TASK_IN_DRIVER};
    CHECK(usm_native_event(&event) == NULL);
    native.stream_inspect = inspect;
    CHECK(usm_native_event(&event) == &event);
    event.task_state = USM_TASK_RECORDED;
    CHECK(usm_native_event(&event) == NULL);
}

int main(void)
{
    watchdog(600);
    RUN(tasks_of_drivers_with_streams_have_events_of_the_driver);
    RUN_SETTLED(states);
    RUN_SETTLED(waiters_hear_once_in_the_order_they_came);
    RUN_SETTLED(notifying_while_it_ends);
    RUN_SETTLED(waits_end_in_other_ways);
    RUN_SETTLED(polls_come_in_spite_of_other_events);
    RUN_SETTLED(many_threads_wait);
    RUN_SETTLED(the_failure_comes_out_of_every_wait);
    RUN_SETTLED(many_dependencies);
    RUN_SETTLED(a_task_cannot_wait_for_itself);
    RUN_SETTLED(nor_for_what_waits_for_it);
    RUN_SETTLED(but_for_other_work);
    RUN_SETTLED(a_loan_is_waited_for);
    RUN_SETTLED(a_wide_graph_is_walked_in_time);
    return 0;
}
