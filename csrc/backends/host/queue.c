#include "host.h"

#include "../../core/copy.h"
#include "../../core/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A thread without work for so long ends; the next task starts another. */
#define IDLE_NS INT64_C(5000000000)
/* What costs less than handing it to another thread (a few microseconds) is done by the submitting one. */
#define RUN_NOW_BYTES ((size_t)64 << 10)

/*
 * Threads and what they may run. Outlives the queue: its last thread may be the one that drops the queue.
 * The lock is a leaf: nothing is locked under it.
 */
typedef struct host_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    usm_host_task *first, *last; /* ready: everything they wait for has ended */
    unsigned n_ready;
    unsigned tasks; /* submitted, not yet finished */
    unsigned threads, idle, max_threads;
    unsigned blocked; /* threads whose tasks are stuck in waits; they do not count against max_threads */
    bool stopping;
    const usm_device *device;
    usm_priority priority;
} host_queue;

static void finish(usm_host_task *task, usm_status status, usm_error *error)
{
    usm_failure *failure = NULL;
    if (status != USM_OK) {
        failure = usm_failure_from_error(error);
        failure = failure != NULL ? failure : usm_failure_no_memory();
        usm_error_clear(error);
    }
    usm_event_finish(&task->event, failure);
}

static void run(usm_host_task *task, unsigned width)
{
    usm_event *event = &task->event;
    usm_error error;
    usm_status status = USM_OK;
    error.failure = NULL;
    event->start_ns = event->profiled ? usm_clock_ns() : 0;
    if (atomic_load_explicit(&event->cause, memory_order_acquire) == NULL) {
        atomic_store_explicit(&event->state, USM_EVENT_RUNNING, memory_order_release);
        usm_event_set_current(event);
        status = usm_host_execute(&task->command, width, &error);
        usm_event_set_current(NULL);
    }
    event->end_ns = event->profiled ? usm_clock_ns() : 0;
    finish(task, status, &error);
}

/* A thread may go when nothing is left that could become ready later. Lock held. */
static usm_host_task *next_task(host_queue *host)
{
    int64_t deadline = usm_clock_ns() + IDLE_NS;
    while (host->first == NULL) {
        if (host->stopping && host->tasks == 0) {
            return NULL;
        }
        host->idle++;
        bool in_time = usm_cond_wait_until(&host->changed, &host->lock, deadline);
        host->idle--;
        if (!in_time && host->first == NULL) {
            if (host->tasks == 0) {
                return NULL;
            }
            deadline = usm_clock_ns() + IDLE_NS;
        }
    }
    usm_host_task *task = host->first;
    host->first = task->next_ready;
    host->n_ready--;
    if (host->first == NULL) {
        host->last = NULL;
    }
    return task;
}

static void free_host_queue(host_queue *host)
{
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->lock);
    free(host);
}

static void *work(void *argument)
{
    host_queue *host = argument;
    unsigned width = host->device->info.max_compute_units;
    pthread_setname_np(pthread_self(), "usmpy-queue");
    usm_host_pin_thread(host->device);
    if (host->priority == USM_PRIORITY_LOW) {
        setpriority(PRIO_PROCESS, 0, 10); /* Linux: of this thread alone; raising it would need a privilege */
        width = 1;                        /* helpers inherit it, and would stay slow for everybody */
    }
    pthread_mutex_lock(&host->lock);
    for (usm_host_task *task; (task = next_task(host)) != NULL;) {
        pthread_mutex_unlock(&host->lock);
        run(task, width); /* may drop the queue; the task is gone afterwards */
        pthread_mutex_lock(&host->lock);
        if (--host->tasks == 0 && host->stopping) {
            pthread_cond_broadcast(&host->changed); /* the others found it stopping with this task left */
        }
        if (host->threads > host->max_threads + host->blocked) {
            break; /* it stood in for another, which goes on */
        }
    }
    host->threads--;
    bool last = host->stopping && host->threads == 0;
    pthread_mutex_unlock(&host->lock);
    if (last) {
        free_host_queue(host);
    }
    return NULL;
}

/* Lock held. False when the system has no thread for us. */
static bool add_thread(host_queue *host)
{
    bool started = usm_host_start_thread(work, host);
    host->threads += started;
    return started;
}

usm_status usm_host_queue_create(usm_queue *queue, usm_error *error)
{
    host_queue *host = usm_calloc(1, sizeof *host);
    if (host == NULL) {
        return usm_error_memory(error, sizeof *host, "a queue");
    }
    pthread_mutex_init(&host->lock, NULL);
    usm_cond_init(&host->changed);
    host->device = queue->device;
    host->priority = queue->priority;
    /* Two at least, so that one stuck task does not stop the others of an out-of-order queue. */
    unsigned units = queue->device->info.max_compute_units;
    host->max_threads = queue->in_order ? 1 : units < 2 ? 2 : units;
    queue->native = host;
    return USM_OK;
}

void usm_host_queue_destroy(usm_queue *queue)
{
    host_queue *host = queue->native;
    pthread_mutex_lock(&host->lock);
    host->stopping = true;
    bool unused = host->threads == 0;
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
    if (unused) {
        free_host_queue(host);
    }
}

bool usm_host_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns)
{
    if (command->kind == USM_COMMAND_HOST || usm_host_command_cost(command) > RUN_NOW_BYTES) {
        return false;
    }
    *start_ns = queue->profiling ? usm_clock_ns() : 0;
    usm_host_execute(command, 1, NULL);
    *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}

/* Lock held: the task is ready, some thread of the queue must take it. */
static void put(host_queue *host, usm_host_task *task)
{
    task->next_ready = NULL;
    *(host->last != NULL ? &host->last->next_ready : &host->first) = task;
    host->last = task;
    host->n_ready++;
    if (host->n_ready <= host->idle) { /* idle threads that were signalled before still count as idle */
        pthread_cond_signal(&host->changed);
    } else if (host->threads < host->max_threads + host->blocked) {
        add_thread(host); /* without it the threads that are there will come to it later */
    }
}

/* Waits that this thread is in: a signal handler may wait inside of one, or fork. */
static _Thread_local unsigned waits_here;

void usm_host_queue_blocks(usm_queue *queue, bool begins)
{
    host_queue *host = queue->native;
    if (begins ? waits_here++ > 0 : --waits_here > 0) {
        return;
    }
    pthread_mutex_lock(&host->lock);
    host->blocked += begins ? 1u : -1u;
    if (begins && host->n_ready > host->idle) {
        add_thread(host);
    }
    pthread_mutex_unlock(&host->lock);
}

static void ready(usm_event *event)
{
    host_queue *host = event->queue->native; /* the event holds the queue */
    pthread_mutex_lock(&host->lock);
    put(host, (usm_host_task *)event);
    pthread_mutex_unlock(&host->lock);
}

usm_status usm_host_queue_submit(usm_queue *queue, usm_event *event, const usm_command *command,
                                 usm_error *error)
{
    host_queue *host = queue->native;
    usm_host_task *task = (usm_host_task *)event;
    task->command = *command;
    if (command->kind == USM_COMMAND_STRIDED) {
        task->strided = usm_strided_clone(command->as.strided);
        if (task->strided == NULL) {
            return usm_error_memory(error, sizeof(usm_strided), "a copy's plan");
        }
        task->command.as.strided = task->strided;
    }
    pthread_mutex_lock(&host->lock);
    bool enough = host->threads > 0 || add_thread(host);
    host->tasks += enough;
    pthread_mutex_unlock(&host->lock);
    if (!enough) {
        return usm_error_driver(error, USM_DRIVER, "host", 0, "",
                                "the system refused a thread for this queue; see ulimit -u");
    }
    if (usm_event_arm(event, ready)) {
        ready(event);
    }
    return USM_OK;
}

void usm_host_queue_fork(usm_queue *queue, usm_fork_phase phase)
{
    host_queue *host = queue->native;
    if (phase == USM_FORK_PREPARE) {
        pthread_mutex_lock(&host->lock);
        return;
    }
    if (phase == USM_FORK_CHILD) { /* its threads are in the parent, but for one that forks inside a task */
        const usm_event *current = usm_event_current();
        host->first = host->last = NULL;
        host->n_ready = host->idle = 0;
        host->tasks = host->threads = current != NULL && current->queue == queue;
        host->blocked = host->threads > 0 && waits_here > 0;
        usm_cond_init(&host->changed);
    }
    pthread_mutex_unlock(&host->lock);
}
