/* Threads that run a queue's tasks: how many, in which order, when they come and go; refusals. */
#include "check.h"
#include "jobs.h"

#include <signal.h>

enum { MANY = 64 };

static void threads_start_on_first_need(void)
{
    usm_worker *worker = new_worker(2, NULL);
    CHECK_EQ(worker->threads, 0);
    announce(worker);
    expect_threads("usmpy-queue", 1);
    job job = {.order = 0};
    put(worker, &job);
    await_ran(1);
    CHECK_EQ(worker->threads, 1);
    usm_worker_drop(worker);
}

static void an_unused_worker_is_freed(void)
{
    usm_worker_drop(new_worker(1, NULL));
    CHECK_EQ(threads_named("usmpy-queue"), 0);
}

static void tasks_begin_in_the_order_in_which_they_became_ready(void)
{
    usm_worker *worker = new_worker(1, NULL);
    gate held = GATE_CLOSED;
    job first = {.gate = &held}, jobs[MANY] = {{.order = 0}};
    for (int i = 0; i <= MANY; i++) {
        announce(worker);
    }
    put(worker, &first);
    gate_await(&held, 1);
    for (int i = 0; i < MANY; i++) {
        put(worker, &jobs[i * 5 % MANY]);
    }
    gate_open(&held);
    await_ran(1 + MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(jobs[i * 5 % MANY].order, 2 + i);
    }
    usm_worker_drop(worker);
}

static void as_many_threads_as_there_are_tasks_up_to_the_limit(void)
{
    usm_worker *worker = new_worker(3, NULL);
    gate held = GATE_CLOSED;
    job jobs[8] = {{.order = 0}};
    for (int i = 0; i < 8; i++) {
        jobs[i].gate = &held;
        submit(worker, &jobs[i]);
        gate_await(&held, i < 3 ? i + 1 : 3);
        expect_threads("usmpy-queue", i < 3 ? i + 1 : 3);
    }
    run_another_job();
    expect_threads("usmpy-queue", 3);
    CHECK_EQ(gate_arrived(&held), 3);
    gate_open(&held);
    await_ran(9);
    usm_worker_drop(worker);
}

/* A task that waits gives its place to another one, which gives it back. */
static void tasks_that_wait_do_not_count(void)
{
    usm_worker *worker = new_worker(1, NULL);
    gate held = GATE_CLOSED, next = GATE_CLOSED;
    job waiting = {.gate = &held, .waits = true}, second = {.gate = &next}, third = {.order = 0};
    announce(worker);
    submit(worker, &waiting);
    gate_await(&held, 1);
    put(worker, &second);
    gate_await(&next, 1);
    submit(worker, &third);
    run_another_job();
    CHECK_EQ(third.order, 0); /* one waits, one runs */
    gate_open(&held);
    gate_open(&next);
    await_ran(4);
    expect_threads("usmpy-queue", 1);
    usm_worker_drop(worker);
}

/* The same where the other task is there first. */
static void a_task_that_begins_to_wait_lets_others_run(void)
{
    usm_worker *worker = new_worker(1, NULL);
    gate first = GATE_CLOSED, held = GATE_CLOSED;
    job holding = {.gate = &first}, waiting = {.gate = &held, .waits = true}, last = {.order = 0};
    submit(worker, &holding);
    gate_await(&first, 1);
    submit(worker, &waiting);
    submit(worker, &last);
    gate_open(&first);
    await_ran(2);
    CHECK(last.order == 3);
    gate_open(&held);
    await_ran(3);
    usm_worker_drop(worker);
}

static void waits_of_other_threads_are_nothing_to_a_worker(void)
{
    usm_worker_block(true);
    usm_worker_block(false);
    tasks_begin_in_the_order_in_which_they_became_ready();
}

static void a_dropped_worker_runs_what_was_announced(void)
{
    usm_worker *worker = new_worker(2, NULL);
    gate held = GATE_CLOSED;
    job first = {.gate = &held}, ready = {.order = 0}, late = {.order = 0};
    submit(worker, &first);
    gate_await(&held, 1);
    submit(worker, &ready);
    announce(worker);
    usm_worker_drop(worker);
    gate_open(&held);
    await_ran(2);
    CHECK(threads_named("usmpy-queue") > 0);
    put(worker, &late);
    await_ran(3);
}

static void the_last_task_drops_its_worker(void)
{
    for (int round = 0; round < 50; round++) {
        n_ran = 0;
        usm_worker *worker = new_worker(2, NULL);
        gate held = GATE_CLOSED;
        job first = {.gate = &held}, second = {.gate = &held}, last = {.drops = true};
        submit(worker, &first);
        submit(worker, &second);
        gate_await(&held, 2);
        gate_open(&held);
        await_ran(2);
        submit(worker, &last);
        await_ran(3);
        expect_threads("usmpy-queue", 0);
    }
}

/* What the thread of a task looks like from inside. */
typedef struct look {
    job job;
    sigset_t blocked;
    cpu_set_t processors;
    usm_worker *elsewhere; /* runs `next` */
    struct look *next;
} look;

static void look_around(usm_work *work)
{
    look *look = (struct look *)work;
    pthread_sigmask(SIG_SETMASK, NULL, &look->blocked);
    pthread_getaffinity_np(pthread_self(), sizeof look->processors, &look->processors);
    if (look->elsewhere != NULL) {
        announce(look->elsewhere);
        look->next->job.work.run = look_around;
        usm_worker_put(look->elsewhere, &look->next->job.work);
    }
    atomic_fetch_add(&n_ran, 1);
}

static void no_signal_comes_to_a_thread(void)
{
    usm_worker *worker = new_worker(1, NULL);
    look look = {.elsewhere = NULL};
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    announce(worker);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < 32; signal++) {
        CHECK_EQ(sigismember(&before, signal), sigismember(&after, signal));
    }
    look.job.work.run = look_around;
    usm_worker_put(worker, &look.job.work);
    await_ran(1);
    for (int signal = 1; signal < 32; signal++) {
        if (signal != SIGKILL && signal != SIGSTOP) {
            CHECK(sigismember(&look.blocked, signal));
        }
    }
    usm_worker_drop(worker);
}

static _Thread_local int begun_here;

static void begin_counted(usm_worker *worker)
{
    begun_here++;
    atomic_fetch_add(&((owner *)worker)->begun, 1);
}

static void run_begun(usm_work *work)
{
    CHECK_EQ(begun_here, 1);
    run_job(work);
}

static void each_thread_begins_once_before_its_tasks(void)
{
    usm_worker *worker = new_worker(2, begin_counted);
    gate held = GATE_CLOSED, more = GATE_CLOSED;
    job jobs[4] = {{.gate = &held}, {.gate = &held}, {.gate = &more}, {.gate = &more}};
    for (int i = 0; i < 4; i++) {
        announce(worker);
        jobs[i].work.run = run_begun;
        usm_worker_put(worker, &jobs[i].work);
    }
    gate_await(&held, 2);
    gate_open(&held);
    gate_await(&more, 2);
    CHECK_EQ(((owner *)worker)->begun, 2);
    gate_open(&more);
    await_ran(4);
    usm_worker_drop(worker);
}

static void begin_pinned(usm_worker *worker)
{
    cpu_set_t processors;
    (void)worker;
    CHECK_EQ(sched_getaffinity(0, sizeof processors, &processors), 0);
    int first = 0;
    while (!CPU_ISSET(first, &processors)) {
        first++;
    }
    CPU_ZERO(&processors);
    CPU_SET(first, &processors);
    usm_thread_pin(&processors);
}

static void run_unrested(usm_work *work)
{
    CHECK_EQ(((owner *)((job *)work)->worker)->rested, 0);
    run_job(work);
}

/* A thread tells that it has nothing to do once all that was ready is done, and before it ends. */
static void a_thread_rests_behind_its_tasks(void)
{
    usm_worker *worker = new_worker(1, NULL);
    owner *of = (owner *)worker;
    gate held = GATE_CLOSED;
    job jobs[3] = {{.gate = &held, .worker = worker}, {.worker = worker}, {.worker = worker}};
    for (int i = 0; i < 3; i++) {
        announce(worker);
        jobs[i].work.run = run_unrested;
    }
    of->rested = 0; /* of a thread that began before it had something to do */
    usm_worker_put(worker, &jobs[0].work);
    gate_await(&held, 1);
    of->rested = 0;
    usm_worker_put(worker, &jobs[1].work);
    usm_worker_put(worker, &jobs[2].work);
    gate_open(&held);
    await_ran(3);
    while (of->rested == 0) {
        sleep_ms(1);
    }
    CHECK_EQ(of->rested, 1);
    usm_worker_drop(worker);
}

/* Each is one too many, but not both: the task that is left has a thread. */
static void of_two_that_could_end_one_stays(void)
{
    usm_worker *worker = new_worker(1, NULL);
    gate held = GATE_CLOSED;
    job jobs[3] = {{.gate = &held, .waits = true}, {.gate = &held}, {.order = 0}};
    for (int i = 0; i < 2; i++) {
        submit(worker, &jobs[i]);
        gate_await(&held, i + 1);
    }
    announce(worker);
    put(worker, &jobs[2]);
    ((owner *)worker)->rest_ms = 50;
    gate_open(&held);
    await_ran(3);
    usm_worker_drop(worker);
    await_threads("usmpy-queue", 0); /* they sleep meanwhile */
}

/* Threads that are started on a pinned one, and on one of those, are not bound to its processor. */
static void a_pinned_thread_starts_others_that_are_not(void)
{
    usm_worker *pinned = new_worker(1, begin_pinned), *again = new_worker(1, begin_pinned),
               *plain = new_worker(1, NULL);
    look last = {.elsewhere = NULL}, second = {.elsewhere = plain, .next = &last},
         first = {.elsewhere = again, .next = &second};
    cpu_set_t all;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    announce(pinned);
    first.job.work.run = look_around;
    usm_worker_put(pinned, &first.job.work);
    await_ran(3);
    CHECK_EQ(CPU_COUNT(&first.processors), 1);
    CHECK_EQ(CPU_COUNT(&second.processors), 1);
    CHECK(CPU_EQUAL(&last.processors, &all));
    usm_worker_drop(pinned);
    usm_worker_drop(again);
    usm_worker_drop(plain);
}

/* From now on the system has no thread, or has them again: none has room for so large a stack. */
static void refuse_threads(bool refuse)
{
    static pthread_attr_t plain, huge;
    if (refuse) {
        CHECK_EQ(pthread_getattr_default_np(&plain), 0);
        CHECK_EQ(pthread_getattr_default_np(&huge), 0);
        CHECK_EQ(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
    }
    CHECK_EQ(pthread_setattr_default_np(refuse ? &huge : &plain), 0);
}

static void a_refused_thread_is_an_error(void)
{
    usm_worker *worker = new_worker(2, NULL), *unused = new_worker(2, NULL);
    usm_error error;
    job job = {.order = 0};
    refuse_threads(true);
    CHECK_EQ(usm_worker_announce(worker, "cuda", &error), USM_DRIVER);
    CHECK_EQ(strcmp(error.backend, "cuda"), 0);
    CHECK(strstr(error.text, "refused a thread") != NULL);
    CHECK_EQ(usm_worker_announce(unused, "host", &error), USM_DRIVER);
    usm_worker_drop(unused);
    refuse_threads(false);
    submit(worker, &job);
    await_ran(1);
    usm_worker_drop(worker);
    expect_threads("usmpy-queue", 0); /* it does not wait for what was refused */
}

static void without_more_threads_those_that_are_there_do_it(void)
{
    usm_worker *worker = new_worker(4, NULL);
    gate held = GATE_CLOSED;
    job first = {.gate = &held}, jobs[4] = {{.order = 0}};
    submit(worker, &first);
    gate_await(&held, 1);
    refuse_threads(true);
    for (int i = 0; i < 4; i++) {
        submit(worker, &jobs[i]);
    }
    refuse_threads(false);
    gate_open(&held);
    await_ran(5);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(jobs[i].order, 2 + i);
    }
    usm_worker_drop(worker);
}

static void idle_threads_end_unless_a_task_is_announced(void)
{
    usm_worker *expecting = new_worker(1, NULL), *idle = new_worker(2, NULL);
    gate held = GATE_CLOSED;
    job jobs[2] = {{.gate = &held}, {.gate = &held}}, late = {.order = 0}, again = {.order = 0};
    announce(expecting);
    submit(idle, &jobs[0]);
    submit(idle, &jobs[1]);
    gate_await(&held, 2);
    expect_threads("usmpy-queue", 3);
    gate_open(&held);
    await_threads("usmpy-queue", 1); /* the one that is left was the first to be idle */
    put(expecting, &late);
    await_ran(3);
    submit(idle, &again);
    await_ran(4);
    usm_worker_drop(expecting);
    usm_worker_drop(idle);
}

/* Several threads submit to one worker and to their own, which come and go; tasks wait and submit others. */
static bool any(const usm_work *work, const void *argument)
{
    (void)work;
    (void)argument;
    return true;
}

static bool none(const usm_work *work, const void *argument)
{
    (void)work;
    (void)argument;
    return false;
}

/* Where the worker's only thread is in another task: in order, what fits, and each once. */
static void others_take_what_is_ready(void)
{
    usm_worker *worker = new_worker(1, NULL);
    gate held = GATE_CLOSED;
    job first = {.gate = &held}, jobs[3] = {{.order = 0}};
    CHECK(usm_worker_take(worker, true, any, NULL) == NULL);
    submit(worker, &first);
    gate_await(&held, 1);
    for (int i = 0; i < 3; i++) {
        submit(worker, &jobs[i]);
    }
    CHECK(usm_worker_take(worker, true, none, NULL) == NULL);
    for (int i = 0; i < 2; i++) {
        usm_work *work = usm_worker_take(worker, i == 0, any, NULL);
        CHECK(work == &jobs[i].work);
        work->run(work);
        usm_worker_done(worker);
    }
    CHECK_EQ(worker->tasks, 2); /* the one at the gate and the last */
    gate_open(&held);
    await_ran(4);
    CHECK_EQ(jobs[2].order, 4);
    CHECK(usm_worker_take(worker, true, any, NULL) == NULL);
    usm_worker_drop(worker);
}

enum { SUBMITTERS = 4, ROUNDS = 30, JOBS = 40 };

typedef struct burst {
    usm_work work;
    usm_worker *worker;
    struct burst *next; /* submitted by this one */
    bool waits;
} burst;

static usm_worker *shared;

static void run_burst(usm_work *work)
{
    burst *burst = (struct burst *)work;
    if (burst->next != NULL) {
        announce(burst->next->worker);
        usm_worker_put(burst->next->worker, &burst->next->work);
    }
    if (burst->waits) {
        usm_worker_block(true);
        sched_yield();
        usm_worker_block(false);
    }
    free(burst);
    atomic_fetch_add(&n_ran, 1);
}

static void *submit_bursts(void *argument)
{
    uint64_t seed = (uint64_t)(intptr_t)argument;
    for (long round = scaled(ROUNDS); round > 0; round--) {
        CHECK_STEP(round, seed);
        usm_worker *own = new_worker(1 + (unsigned)random_below(&seed, 3), NULL);
        for (int i = 0; i < JOBS; i++) {
            burst *first = malloc(sizeof *first), *next = malloc(sizeof *next);
            /* `own` is alive in a task of its own, `shared` in all of them. */
            usm_worker *worker = random_below(&seed, 3) == 0 ? shared : own;
            *next = (burst){{.run = run_burst}, shared, NULL, random_below(&seed, 4) == 0};
            *first = (burst){{.run = run_burst}, worker, next, random_below(&seed, 4) == 0};
            announce(worker);
            usm_worker_put(worker, &first->work);
            usm_worker *from = random_below(&seed, 2) == 0 ? shared : own;
            usm_work *taken = usm_worker_take(from, random_below(&seed, 2) == 0, any, NULL);
            if (taken != NULL) {
                taken->run(taken);
                usm_worker_done(from);
            }
        }
        usm_worker_drop(own);
    }
    return NULL;
}

static void many_threads_and_workers(void)
{
    pthread_t submitters[SUBMITTERS];
    shared = new_worker(3, NULL);
    for (intptr_t i = 0; i < SUBMITTERS; i++) {
        CHECK_EQ(pthread_create(&submitters[i], NULL, submit_bursts, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < SUBMITTERS; i++) {
        pthread_join(submitters[i], NULL);
    }
    await_ran(2 * SUBMITTERS * JOBS * (int)scaled(ROUNDS));
    usm_worker_drop(shared);
}

int main(void)
{
    watchdog(600);
    RUN_ALONE(threads_start_on_first_need);
    RUN_ALONE(an_unused_worker_is_freed);
    RUN_ALONE(tasks_begin_in_the_order_in_which_they_became_ready);
    RUN_ALONE(as_many_threads_as_there_are_tasks_up_to_the_limit);
    RUN_ALONE(tasks_that_wait_do_not_count);
    RUN_ALONE(a_task_that_begins_to_wait_lets_others_run);
    RUN_ALONE(waits_of_other_threads_are_nothing_to_a_worker);
    RUN_ALONE(a_dropped_worker_runs_what_was_announced);
    RUN_ALONE(the_last_task_drops_its_worker);
    RUN_ALONE(no_signal_comes_to_a_thread);
    RUN_ALONE(each_thread_begins_once_before_its_tasks);
    RUN_ALONE(a_thread_rests_behind_its_tasks);
    RUN_ALONE(of_two_that_could_end_one_stays);
    RUN_ALONE(a_pinned_thread_starts_others_that_are_not);
    RUN_ALONE(a_refused_thread_is_an_error);
    RUN_ALONE(without_more_threads_those_that_are_there_do_it);
    RUN_ALONE(others_take_what_is_ready);
    RUN_ALONE(many_threads_and_workers);
    RUN_ALONE(idle_threads_end_unless_a_task_is_announced);
    return 0;
}
