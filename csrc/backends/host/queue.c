/*
 * Queues of the host: threads that run tasks once their links have ended. Short tasks run at once on the
 * submitting thread, or on a thread that waits for them.
 */
#include "host.h"

#include "core/base/heap.h"
#include "core/tasks/deferral.h"
#include "core/tasks/runtime_history.h"
#include "core/tasks/worker.h"

#include <string.h>
#include <sys/resource.h>

/*
 * Commands up to this size, in bytes, cost less than handing them to another thread, which takes a few
 * microseconds: the submitting thread runs them.
 */
#define RUN_NOW_BYTES ((size_t)64 << 10)
/*
 * Commands up to this size, in bytes, take a millisecond or two at most: a waiting thread may run them,
 * although it cannot be interrupted meanwhile.
 */
#define SHORT_BYTES ((size_t)8 << 20)
/*
 * The same limit for kernels of users, in nanoseconds, of which only is known how long they took before: no
 * longer than a signal may wait.
 */
#define QUICK_NS 10000000

/*
 * usm_queue.native, which outlives the queue, as its worker does. The worker comes first: its threads begin
 * with a pointer to it.
 */
typedef struct host_queue {
    usm_worker worker;
    usm_runtime_history history;
    const usm_device *device;
    usm_priority priority;
} host_queue;

/* Commands of usmpy, whose time is known; not foreign code: host tasks and kernels of users. */
static bool is_ours(const usm_command *command)
{
    return command->kind != USM_COMMAND_HOST &&
           !(command->kind == USM_COMMAND_LAUNCH && command->as.launch->cost == 0);
}

/*
 * A kernel of a user whose times are remembered. A function that was given as a pointer may be Python's and
 * stays with the queue's thread: in a waiting thread, a signal would be raised inside of it.
 */
static bool has_history(const usm_command *command)
{
    return command->kind == USM_COMMAND_LAUNCH && command->as.launch->cost == 0 &&
           !command->as.launch->kernel->program->any_place;
}

usm_status usm_host_queue_run(usm_event *event, const usm_command *command, usm_error *error)
{
    const usm_queue *queue = event->queue;
    /* Helpers would inherit a low priority, and keep it for tasks of other queues. */
    unsigned width = queue->priority == USM_PRIORITY_LOW ? 1 : queue->device->info.max_compute_units;
    bool learns = has_history(command);
    int64_t begun_ns = learns ? usm_clock_ns() : 0;
    usm_status status = usm_host_execute(command, width, error);
    if (learns) {
        const usm_launch *launch = command->as.launch;
        usm_runtime_learn(&((host_queue *)queue->native)->history, launch->kernel,
                          usm_range_items(&launch->range), usm_clock_ns() - begun_ns <= QUICK_NS);
    }
    return status;
}

/*
 * A user's kernel may spin until the waiting thread does something after its wait. The waiting thread
 * therefore runs only the kernels that must complete before the awaited event can.
 */
static bool is_awaited(const usm_event *event, const usm_event *awaited)
{
    return event == awaited || (awaited->queue->in_order && event->order < awaited->order);
}

/* For usm_worker_take: may the thread that waits for `awaited` run this task? */
static bool is_short(const usm_work *work, const void *awaited)
{
    const usm_event *event = (const usm_event *)((const char *)work - offsetof(usm_event, work));
    const usm_command *command = &event->command;
    if (has_history(command)) {
        const host_queue *host = event->queue->native;
        const usm_launch *launch = command->as.launch;
        return is_awaited(event, awaited) &&
               usm_runtime_is_short(&host->history, launch->kernel, usm_range_items(&launch->range));
    }
    return is_ours(command) && usm_host_command_cost(command) <= SHORT_BYTES;
}

bool usm_host_queue_help(const usm_event *event, bool awake_too)
{
    host_queue *host = event->queue->native;
    if (host->device->parent != NULL || host->priority == USM_PRIORITY_LOW) {
        return false; /* its threads are pinned, or have a low priority */
    }
    usm_work *work = usm_worker_take(&host->worker, awake_too, is_short, event);
    if (work == NULL) {
        return false;
    }
    usm_deferral_run(work);
    usm_deferral_forget_ended();
    usm_worker_done(&host->worker);
    return true;
}

/* On each new thread of the queue, before its first task. */
static void begin_thread(usm_worker *worker)
{
    const host_queue *host = (host_queue *)worker;
    usm_host_pin_thread(host->device);
    if (host->priority == USM_PRIORITY_LOW) {
        setpriority(PRIO_PROCESS, 0, 10); /* Linux: of this thread alone; raising it would need a privilege */
    }
}

usm_status usm_host_queue_create(usm_queue *queue, usm_error *error)
{
    host_queue *host = usm_malloc(sizeof *host);
    if (host == NULL) {
        return usm_error_memory(error, sizeof *host, "a queue");
    }
    /* Two at least, so that one stuck task does not stop the others of an out-of-order queue. */
    unsigned units = queue->device->info.max_compute_units;
    usm_worker_init(&host->worker, queue->in_order ? 1 : units < 2 ? 2 : units, begin_thread);
    memset(&host->history, 0, sizeof host->history);
    host->device = queue->device;
    host->priority = queue->priority;
    queue->native = host;
    queue->worker = &host->worker;
    return USM_OK;
}

bool usm_host_queue_run_now(usm_queue *queue, const usm_command *command, int64_t *start_ns, int64_t *end_ns)
{
    if (!is_ours(command) || usm_host_command_cost(command) > RUN_NOW_BYTES) {
        return false;
    }
    *start_ns = queue->profiling ? usm_clock_ns() : 0;
    usm_host_execute(command, 1, NULL);
    *end_ns = queue->profiling ? usm_clock_ns() : 0;
    return true;
}
