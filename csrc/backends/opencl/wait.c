/*
 * How a thread waits for a task that is expected to be short. Most drivers put a waiting thread to sleep, and
 * waking it takes longer than the task. Intel's runtime makes it take part in the work, which its own threads
 * have begun by then. So the thread polls for a few microseconds first, and leaves the processor to the
 * driver's threads in between. Only then, and only for short tasks, does it wait in the driver, where no
 * signal can interrupt it.
 */
#include "opencl.h"

#include <sched.h>

/*
 * Limits of a short task. On any device it takes a few tens of milliseconds at most: no longer than the time
 * after which a blocked thread looks for signals.
 */
#define SHORT_BYTES ((size_t)64 << 20)
#define SHORT_US 39000
/* Strided copies up to this size and kernels that took no longer before (in nanoseconds) are short. */
#define SHORT_ELEMENTS ((size_t)1 << 16)
#define SHORT_NS 1000000

/*
 * How a thread polls, in nanoseconds: for how long, how far apart, and how long it stays away from the driver
 * after the end. On a processor each poll takes locks that the driver's threads want, also for what they do
 * behind the end of a task: a thread that enqueues the next task at once meets them at every lock, and all
 * take up to three times as long. Measured: benchmarks/README.md.
 */
typedef struct pace {
    int64_t longest_ns, between_ns, behind_ns;
} pace;

static const pace where_waits_help = {15000, 0, 500};
static const pace where_waits_sleep = {100000, 2000, 500};
static const pace of_other_devices = {100000, 0, 0};

/*
 * Where other processes want the processors, a yield takes long (in nanoseconds): then this many
 * waits do not poll.
 */
#define LONG_NS 50000
#define SKIPPED_POLLS 100

/*
 * Is the task short, apart from what it waits for? Notes kernel and size of a launch, for usm_opencl_learn.
 */
static bool is_short_alone(usm_opencl_event *event, const usm_command *command)
{
    switch (command->kind) {
        case USM_COMMAND_STRIDED:
            return usm_strided_count(command->as.strided) <= SHORT_ELEMENTS;
        case USM_COMMAND_LAUNCH:
            event->kernel = command->as.launch->kernel;
            event->items = usm_range_items(&command->as.launch->range);
            return usm_runtime_is_short(&usm_opencl_queue_of(event->event.queue)->history, event->kernel,
                                        event->items);
        case USM_COMMAND_PREFETCH:
            return false;
        default: /* copies, fills and points in the order */
            return true;
    }
}

/*
 * About how long copies and fills take on a slow device, in microseconds; 10 for all others, which are short.
 */
static int32_t cost_us(const usm_command *command)
{
    size_t nbytes = command->kind == USM_COMMAND_COPY   ? command->as.copy.nbytes
                    : command->kind == USM_COMMAND_FILL ? command->as.fill.nbytes
                                                        : 0;
    return nbytes > SHORT_BYTES ? SHORT_US + 1 : (int32_t)(nbytes / 2000) + 10;
}

void usm_opencl_expect(usm_opencl_event *event, const usm_command *command, int32_t before_us)
{
    int32_t all_us = before_us + cost_us(command);
    bool is_short = is_short_alone(event, command);
    event->expected_us =
        is_short && before_us >= 0 && all_us <= SHORT_US && !usm_queue_is_shared(event->event.queue) ? all_us
                                                                                                     : -1;
    event->enqueued_ns = event->event.profiled || (event->kernel != NULL && !is_short) ? usm_clock_ns() : 0;
}

/*
 * Keeps whether launches of the kernel over this many items are short. A launch that only waited for others
 * may be counted as long, which costs a poll later, and no more.
 */
void usm_opencl_learn(const usm_opencl_event *event, int64_t took_ns)
{
    usm_runtime_learn(&usm_opencl_queue_of(event->event.queue)->history, event->kernel, event->items,
                      took_ns <= SHORT_NS);
}

/* Spins without a call of the driver: sleeping takes 50 us at least. */
static void leave_alone(int64_t ns)
{
    for (int64_t until = usm_clock_ns() + ns; usm_clock_ns() < until;) {
    }
}

/* True once it has ended. */
static bool poll_for_end(usm_opencl_event *event, cl_event id, const pace *pace)
{
    _Atomic int *skip = &usm_opencl_context_of(event->event.queue->context)->platform->polls_to_skip;
    int left = atomic_load_explicit(skip, memory_order_relaxed);
    if (left > 0) {
        atomic_store_explicit(skip, left - 1, memory_order_relaxed);
        return false;
    }
    for (int64_t last = usm_clock_ns(), now = last, until = last + pace->longest_ns; now < until;) {
        sched_yield();
        leave_alone(pace->between_ns);
        cl_int status = usm_opencl_ask(event, id);
        now = usm_clock_ns();
        if (now - last > LONG_NS) {
            atomic_store_explicit(skip, SKIPPED_POLLS, memory_order_relaxed);
        }
        if (status <= CL_COMPLETE) {
            if (status == CL_COMPLETE) { /* a failure may be that of an event that the task has no longer */
                atomic_store_explicit(&event->status, status, memory_order_relaxed);
            }
            leave_alone(pace->behind_ns);
            return true;
        }
        last = now;
    }
    return false;
}

/*
 * Waits in the driver. Intel's runtime makes waiting threads take part in the work, as extra workers beside
 * its pool; where several wait at once, all of them may sleep on each other for ever. So only one thread at a
 * time waits there (`helps`); false for the others, which the watching thread then wakes.
 */
static bool wait_in_driver(usm_opencl_platform *platform, usm_opencl_event *event, cl_event id, bool helps)
{
    if (helps && atomic_exchange_explicit(&platform->joined, true, memory_order_acquire)) {
        return false;
    }
    if (platform->api->clWaitForEvents(1, &id) == CL_SUCCESS) {
        atomic_store_explicit(&event->status, CL_COMPLETE, memory_order_relaxed);
    }
    if (helps) {
        atomic_store_explicit(&platform->joined, false, memory_order_release);
    }
    return true;
}

bool usm_opencl_wait(usm_opencl_event *event, cl_event id)
{
    const usm_queue *queue = event->event.queue;
    const usm_opencl_context *context = usm_opencl_context_of(queue->context);
    bool is_cpu = queue->device->type == USM_CPU;
    bool helps = is_cpu && context->memory == USM_OPENCL_INTEL_USM;
    const pace *pace = helps ? &where_waits_help : is_cpu ? &where_waits_sleep : &of_other_devices;
    if (poll_for_end(event, id, pace)) {
        return true;
    }
    if (event->expected_us < 0) {
        return false;
    }
    int64_t begun = usm_clock_ns();
    bool ended = wait_in_driver(context->platform, event, id, helps);
    if (ended && event->kernel != NULL && usm_clock_ns() - begun > SHORT_NS) {
        usm_opencl_learn(event, usm_clock_ns() - begun);
    }
    return ended;
}
