#include "completion.h"

#include "core/base/thread.h"
#include "core/device/rule.h"
#include "deferral.h"

#include <pthread.h>

/* Nanoseconds from one poll of the queues to the next. */
#define TICK_NS 1000000
/*
 * The same, at first, while a thread sleeps until a task ends; and the pause above which the watching thread
 * is woken early.
 */
#define CLOSE_NS 20000
#define LATE_NS 100000
/*
 * After this many polls without work a queue leaves the list. It is not earlier, since putting it back costs
 * a lock.
 */
#define IDLE_TICKS 20
/* Queues in one poll. */
#define BATCH 32
/*
 * Tasks of a queue out of order end in about the order of submission: a poll passes at most this many that
 * have not ended.
 */
#define MOST_UNENDED 64
/* Nanoseconds that the end of the process waits for the thread. */
#define STOP_NS 1000000000

static _Atomic int64_t pause_ns = TICK_NS; /* between two polls */

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t changed;
    bool ready;        /* `changed` was made in this process */
    _Atomic bool runs; /* read without the lock, too */
    bool stop;
    bool called;      /* poll now */
    bool asleep;      /* until it is signalled: no queue has work */
    usm_queue *first; /* queues with work in a driver, without counts; linked by watch.next */
    usm_work *work, *last_work;
} thread = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Ends a task that the driver and all links have ended. `ended` may be NULL. No lock. */
static void finish(usm_event *event, usm_ended *ended)
{
    bool inherits = atomic_load_explicit(&event->cause, memory_order_acquire) != NULL;
    if (USM_UNLIKELY(event->skipped) && !inherits && usm_deferral_submit_again(event)) {
        return;
    }
    /* The driver's clock, converted to the host's, is exact to about a microsecond. */
    if (event->profiled) {
        event->start_ns = event->start_ns < event->submit_ns ? event->submit_ns : event->start_ns;
        event->end_ns = event->end_ns < event->start_ns ? event->start_ns : event->end_ns;
    }
    usm_failure *failure = event->failure;
    event->failure = NULL;
    if (USM_UNLIKELY(failure != NULL) && inherits) { /* the first failure is the cause of this one */
        usm_failure_release(failure);
        failure = NULL;
    }
    usm_event_finish_among(event, failure, ended);
}

void usm_completion_finish(usm_event *event)
{
    finish(event, NULL);
}

/* Ends events that were claimed, linked by next_ended. No lock. */
static void end_all(usm_event *event)
{
    usm_ended ended = {NULL, NULL};
    while (event != NULL) {
        usm_event *next = event->next_ended;
        event->next_ended = NULL;
        /*
         * Most waits are for the last task: by then the others have given back their parts of the driver, of
         * which the next submission may find no other ones.
         */
        if (next == NULL) {
            usm_events_forget(&ended);
        }
        /* Tasks of other queues that it waited for have ended too, but may not have been ended here. */
        if (usm_event_arm(event, usm_completion_finish)) {
            finish(event, &ended);
        }
        event = next;
    }
    usm_events_forget(&ended);
}

/* The driver has not ended it, as far as was seen. Queue lock held. */
static bool is_with_driver(const usm_event *event)
{
    usm_task_state state = usm_event_task_state(event);
    return state == USM_TASK_SENT_AHEAD || state == USM_TASK_IN_DRIVER;
}

/*
 * Asks the driver about a task that it has. Once the driver has ended it, the caller ends it here, or its
 * links do (DRIVER_ENDED). Queue lock held.
 */
static usm_progress ask(usm_event *event)
{
    usm_error error;
    error.failure = NULL;
    usm_progress progress = usm_is_forked(event->queue->backend)
                                ? USM_PROGRESS_PENDING
                                : USM_CALL(event->queue->backend, event_poll)(event, &error);
    if (progress >= USM_PROGRESS_COMPLETE) {
        event->failure = progress == USM_PROGRESS_FAILED ? usm_failure_take(&error) : NULL;
        event->skipped = progress == USM_PROGRESS_SKIPPED;
        usm_event_enter(event, usm_event_task_state(event) == USM_TASK_SENT_AHEAD ? USM_TASK_DRIVER_ENDED
                                                                                  : USM_TASK_ENDING);
    }
    return progress;
}

bool usm_completion_poll(usm_queue *queue)
{
    usm_event *claimed = NULL, **last = &claimed;
    unsigned unended = 0, most = queue->in_order ? 1 : MOST_UNENDED;
    usm_lock_take(&queue->lock);
    for (usm_event *event = queue->first; event != NULL && unended < most; event = event->following) {
        if (!is_with_driver(event)) {
            continue;
        }
        if (ask(event) < USM_PROGRESS_COMPLETE) {
            unended++;
            continue;
        }
        if (usm_event_task_state(event) == USM_TASK_ENDING) {
            *last = event;
            last = &event->next_ended;
        }
    }
    *last = NULL;
    /*
     * All that the driver has of the queue ends here. The submitting thread need not poll for it
     * (usm_completion_reap), and no thread sleeps until a later task ends: else the watching thread would go
     * on polling often, and compete for the driver's locks with the next submissions.
     */
    if (unended == 0) {
        uint64_t submitted = atomic_load_explicit(&queue->watch.submitted, memory_order_relaxed);
        atomic_store_explicit(&queue->watch.polled, submitted, memory_order_relaxed);
        atomic_store_explicit(&queue->watch.has_sleeper, false, memory_order_relaxed);
    }
    usm_lock_give(&queue->lock);
    end_all(claimed);
    return unended > 0;
}

bool usm_completion_is_running(usm_event *event)
{
    usm_queue *queue = event->queue;
    usm_progress progress = USM_PROGRESS_PENDING;
    usm_lock_take(&queue->lock);
    if (is_with_driver(event)) {
        progress = ask(event);
    }
    bool ends = progress >= USM_PROGRESS_COMPLETE && usm_event_task_state(event) == USM_TASK_ENDING;
    usm_lock_give(&queue->lock);
    if (ends) {
        event->next_ended = NULL;
        end_all(event);
    }
    return progress == USM_PROGRESS_RUNNING;
}

bool usm_completion_wait(usm_event *event)
{
    const usm_backend *backend = event->queue->backend;
    bool in_driver = usm_event_in_driver(event);
    if ((in_driver || backend->event_poll == NULL) && backend->event_wait != NULL &&
        !usm_is_forked(backend)) {
        USM_CALL(backend, event_wait)(event);
        if (in_driver && !usm_event_ended(event)) {
            (void)usm_completion_poll(event->queue);
        }
    }
    return usm_event_ended(event);
}

static bool start_locked(void);

/* The thread's lock held. Where the system refuses a thread, what waits for it waits for the next call. */
static void signal_thread(void)
{
    (void)start_locked(); /* it may have ended with an interpreter before this one */
    if (!thread.called) {
        thread.called = true;
        pthread_cond_signal(&thread.changed);
    }
}

void usm_completion_run(usm_work *work)
{
    usm_mutex_lock(&thread.lock);
    work->next = NULL;
    *(thread.work != NULL ? &thread.last_work->next : &thread.work) = work;
    thread.last_work = work;
    signal_thread();
    usm_mutex_unlock(&thread.lock);
}

/* From now on the watching thread polls the queue, which may be on its list already. Queue lock held. */
static void watch_list_add(usm_queue *queue)
{
    usm_mutex_lock(&thread.lock);
    if (!queue->watch.listed) {
        queue->watch.listed = true;
        queue->watch.idle_ticks = 0;
        queue->watch.next = thread.first;
        thread.first = queue;
    }
    if (thread.asleep) {
        pthread_cond_signal(&thread.changed);
    }
    (void)start_locked();
    usm_mutex_unlock(&thread.lock);
}

/* A thread waits for a task of the queue: polls it often, and soon. Any lock but a leaf. */
static void wake_watcher(usm_queue *queue)
{
    bool known = atomic_exchange(&queue->watch.has_sleeper, true);
    if (!known || atomic_load_explicit(&pause_ns, memory_order_relaxed) > LATE_NS) {
        usm_mutex_lock(&thread.lock);
        signal_thread();
        usm_mutex_unlock(&thread.lock);
    }
}

void usm_completion_watch(usm_event *event)
{
    usm_queue *queue = event->queue;
    uint64_t submitted = atomic_load_explicit(&queue->watch.submitted, memory_order_relaxed);
    atomic_store_explicit(&queue->watch.submitted, submitted + 1, memory_order_relaxed);
    usm_task_state before = usm_event_task_state(event);
    usm_event_enter(event, before == USM_TASK_DEFERRED ? USM_TASK_SENT_AHEAD : USM_TASK_IN_DRIVER);
    if (!queue->watch.listed || USM_UNLIKELY(!atomic_load_explicit(&thread.runs, memory_order_relaxed))) {
        watch_list_add(queue);
    }
    if (before != USM_TASK_RECORDED) { /* a thread may have begun to wait before the driver had the task */
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load(&event->watched)) {
            wake_watcher(queue);
        }
    }
}

void usm_completion_poll_often(usm_event *event)
{
    if (usm_event_in_driver(event)) {
        wake_watcher(event->queue);
    } /* else the thread that runs it ends it, and usm_completion_watch wakes the watching thread */
}

void usm_completion_reap(usm_queue *queue)
{
    uint64_t submitted = atomic_load_explicit(&queue->watch.submitted, memory_order_relaxed);
    uint64_t polled = atomic_load_explicit(&queue->watch.polled, memory_order_relaxed);
    if (submitted - polled >= USM_COMPLETION_BATCH &&
        atomic_compare_exchange_strong(&queue->watch.polled, &polled, submitted)) {
        (void)usm_completion_poll(queue);
    }
}

/* The thread's lock held. */
static void take_off(usm_queue *queue)
{
    for (usm_queue **at = &thread.first; *at != NULL; at = &(*at)->watch.next) {
        if (*at == queue) {
            *at = queue->watch.next;
            break;
        }
    }
    queue->watch.listed = false;
}

void usm_queue_unwatch(usm_queue *queue)
{
    if (queue->watch.listed) {
        usm_mutex_lock(&thread.lock);
        take_off(queue);
        usm_mutex_unlock(&thread.lock);
    }
}

/* Polls one queue. True if a thread sleeps until a task of the queue ends. No lock. */
static bool look_after(usm_queue *queue)
{
    uint64_t submitted = atomic_load_explicit(&queue->watch.submitted, memory_order_relaxed);
    bool has_sleeper = atomic_exchange(&queue->watch.has_sleeper, false);
    if (usm_completion_poll(queue)) {
        queue->watch.idle_ticks = 0;
        if (has_sleeper) {
            atomic_store(&queue->watch.has_sleeper, true);
        }
        return has_sleeper;
    }
    if (++queue->watch.idle_ticks > IDLE_TICKS) {
        usm_lock_take(&queue->lock);
        if (submitted == atomic_load_explicit(&queue->watch.submitted, memory_order_relaxed)) {
            usm_mutex_lock(&thread.lock);
            take_off(queue);
            usm_mutex_unlock(&thread.lock);
        }
        usm_lock_give(&queue->lock);
    }
    return false;
}

/*
 * The thread's lock held. Takes up to BATCH queues, each with a count, so that none is destroyed while it is
 * polled. If the list is longer, they move to its end.
 */
static int take_queues(usm_queue **out)
{
    int n = 0;
    usm_queue **at = &thread.first, *first = thread.first;
    for (; *at != NULL && n < BATCH; at = &(*at)->watch.next) {
        if (usm_refcount_up_unless_zero(&(*at)->refs)) {
            out[n++] = *at;
        }
    }
    if (*at != NULL) {
        usm_queue **end = at;
        while (*end != NULL) {
            end = &(*end)->watch.next;
        }
        thread.first = *at;
        *at = NULL;
        *end = first;
    }
    return n;
}

/* The thread's lock held. Sleeps until the next poll is due. Whether the thread was called for it. */
static bool sleep_until_needed(int64_t pause)
{
    while (thread.first == NULL && !thread.called && !thread.stop) {
        thread.asleep = true;
        usm_cond_wait_until(&thread.changed, &thread.lock, INT64_MAX);
    }
    thread.asleep = false;
    if (!thread.called && !thread.stop) {
        usm_cond_wait_until(&thread.changed, &thread.lock, usm_clock_ns() + pause);
    }
    bool called = thread.called;
    thread.called = false;
    return called;
}

/* The next pause. While a thread waits, a task is noticed late by about a sixtieth of its duration. */
static int64_t next_pause(int64_t pause, bool closely, bool called)
{
    if (!closely) {
        return TICK_NS;
    }
    return called ? CLOSE_NS : pause + pause / 64 < TICK_NS ? pause + pause / 64 : TICK_NS;
}

/* The watching thread. */
static void *watch(void *unused)
{
    usm_queue *queues[BATCH];
    int64_t pause = TICK_NS;
    (void)unused;
    pthread_setname_np(pthread_self(), "usmpy-watch");
    usm_mutex_lock(&thread.lock);
    for (;;) {
        bool called = sleep_until_needed(pause), closely = false;
        if (thread.stop && thread.work == NULL) {
            break;
        }
        usm_work *work = thread.work;
        thread.work = NULL;
        int n = take_queues(queues);
        usm_mutex_unlock(&thread.lock);
        for (usm_work *next; work != NULL; work = next) {
            next = work->next;
            work->run(work);
        }
        for (int i = 0; i < n; i++) {
            closely |= look_after(queues[i]);
            usm_queue_release(queues[i]);
        }
        pause = next_pause(pause, closely, called);
        atomic_store_explicit(&pause_ns, pause, memory_order_relaxed);
        usm_mutex_lock(&thread.lock);
    }
    thread.runs = false;
    pthread_cond_broadcast(&thread.changed);
    usm_mutex_unlock(&thread.lock);
    return NULL;
}

/* The thread's lock held. */
static bool start_locked(void)
{
    if (!thread.ready) {
        usm_cond_init(&thread.changed);
        thread.ready = true;
    }
    if (!thread.runs) {
        thread.stop = false;
        thread.runs = usm_thread_start(watch, NULL);
    }
    return thread.runs;
}

usm_status usm_completion_start(usm_error *error)
{
    usm_mutex_lock(&thread.lock);
    bool runs = start_locked();
    usm_mutex_unlock(&thread.lock);
    return runs
               ? USM_OK
               : usm_error_set(error, USM_DRIVER, "the system refused a thread; see ulimit -u and ulimit -v");
}

bool usm_completion_stop(void)
{
    int64_t until = usm_clock_ns() + STOP_NS;
    usm_mutex_lock(&thread.lock);
    thread.stop = true;
    if (thread.ready) {
        pthread_cond_broadcast(&thread.changed);
    }
    while (thread.runs && thread.stop && usm_clock_ns() < until) {
        usm_cond_wait_until(&thread.changed, &thread.lock, until);
    }
    bool ended = !thread.runs;
    usm_mutex_unlock(&thread.lock);
    return ended;
}

/* In the child there is no such thread, and no driver whose queues it would look after. */
void usm_completion_fork(usm_fork_phase phase)
{
    if (phase == USM_FORK_PREPARE) {
        usm_mutex_lock(&thread.lock);
        return;
    }
    if (phase == USM_FORK_CHILD) {
        thread.ready = false;
        thread.runs = false;
        thread.called = false;
        thread.asleep = false;
        thread.first = NULL;
        thread.work = NULL;
    }
    usm_mutex_unlock(&thread.lock);
}
