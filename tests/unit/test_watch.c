/* The watching thread: what it is handed runs, and queues are polled, also beside its end and after it. */
#include "check.h"
#include "support.h"

#include "core/tasks/completion.h"

enum { MANY = 8 };

typedef struct handed {
    usm_work work;
    gate *gate;
} handed;

static void pass(usm_work *work)
{
    gate_pass(((handed *)work)->gate); /* its first member */
}

static void hand(handed *work, gate *gate)
{
    *work = (handed){.work.run = pass, .gate = gate};
    usm_watch_run(&work->work);
}

static void start(void)
{
    usm_error error;
    CHECK_OK(usm_watch_start(&error));
}

static void work_runs_after_the_end_of_the_thread(void)
{
    gate open = GATE_CLOSED;
    handed work[MANY];
    gate_open(&open);
    for (int i = 0; i < MANY; i++) {
        start();
        CHECK(usm_watch_stop());
        hand(&work[i], &open);
        gate_await(&open, i + 1);
    }
    CHECK(usm_watch_stop());
    for (int i = 0; i < MANY; i++) { /* the first starts the thread */
        hand(&work[i], &open);
    }
    gate_await(&open, 2 * MANY);
    CHECK(usm_watch_stop());
}

static void *stop(void *unused)
{
    (void)unused;
    (void)usm_watch_stop(); /* false where this takes more than a second, and the thread ends later */
    return NULL;
}

/* usm_watch_stop is called while the thread runs work. What is put before the thread ends runs too. */
static void work_runs_that_comes_before_the_end(void)
{
    gate held = GATE_CLOSED, open = GATE_CLOSED;
    handed first, work[MANY];
    pthread_t stopping;
    start();
    hand(&first, &held);
    gate_await(&held, 1);
    for (int i = 0; i < MANY / 2; i++) {
        hand(&work[i], &open);
    }
    CHECK_EQ(pthread_create(&stopping, NULL, stop, NULL), 0);
    for (int i = MANY / 2; i < MANY; i++) {
        hand(&work[i], &open);
    }
    gate_open(&open);
    gate_open(&held);
    pthread_join(stopping, NULL);
    gate_await(&open, MANY);
    CHECK(usm_watch_stop());
}

static void *stop_often(void *ended)
{
    while (!atomic_load((_Atomic bool *)ended)) {
        (void)usm_watch_stop();
    }
    return NULL;
}

static void work_runs_beside_ends(void)
{
    _Atomic bool ended = false;
    pthread_t stopping;
    gate open = GATE_CLOSED;
    handed work;
    gate_open(&open);
    CHECK_EQ(pthread_create(&stopping, NULL, stop_often, &ended), 0);
    for (int i = 0; i < (int)scaled(500); i++) {
        hand(&work, &open);
        gate_await(&open, i + 1);
    }
    atomic_store(&ended, true);
    pthread_join(stopping, NULL);
    CHECK(usm_watch_stop());
}

static gate polled = GATE_CLOSED;

static usm_progress poll_and_count(usm_event *event, usm_error *error)
{
    (void)event, (void)error;
    gate_pass(&polled);
    return USM_PROGRESS_PENDING; /* the queue has work: it stays on the list */
}

/* Whether the thread ended with the queue on its list or not, the next task has it polled. */
static void queues_are_polled_after_the_end_of_the_thread(void)
{
    usm_queue *queue = new_queue(true);
    const usm_backend *host = queue->backend;
    usm_backend polling = *host;
    polling.event_poll = poll_and_count;
    queue->backend = &polling;
    gate_open(&polled);
    usm_event event = {.queue = queue};
    queue->first = &event;
    for (int i = 0; i < MANY; i++) {
        int before = gate_arrived(&polled);
        atomic_store(&event.task_state, USM_TASK_IN_DRIVER);
        usm_lock_take(&queue->lock);
        atomic_fetch_add(&queue->submitted, 1);
        usm_watch_add(&queue->watched);
        usm_lock_give(&queue->lock);
        gate_await(&polled, before + 1);
        CHECK(usm_watch_stop());
        if (i % 2 == 1) {
            usm_lock_take(&queue->lock);
            usm_watch_remove(&queue->watched);
            usm_lock_give(&queue->lock);
        }
    }
    queue->first = NULL;
    queue->backend = host;
    usm_queue_release(queue);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(work_runs_after_the_end_of_the_thread);
    RUN_SETTLED(work_runs_that_comes_before_the_end);
    RUN_SETTLED(work_runs_beside_ends);
    RUN_SETTLED(queues_are_polled_after_the_end_of_the_thread);
    return 0;
}
