/*
 * Which tasks are over in a moment. A thread that waits for one of these does so in the driver, where it may
 * run the task itself (Intel's runtime does that), which is several times faster than being woken; but
 * nothing can call it back from there, so longer tasks are waited for by usm_event_wait_end alone.
 */
#include "opencl.h"

/* On any device a few tens of milliseconds at most: no longer than a blocked thread looks for signals. */
#define QUICK_BYTES ((size_t)64 << 20)
#define QUICK_US 40000
/* What takes less than a millisecond. */
#define QUICK_ELEMENTS ((int64_t)1 << 16)
#define QUICK_NS 1000000
/* A kernel is trusted after so many quick runs of as many work-items. */
#define QUICK_RUNS 2

static usm_opencl_habit *habit_of(const usm_queue *queue, const void *kernel)
{
    uintptr_t bits = (uintptr_t)kernel >> 4;
    return &usm_opencl_queue_of(queue)->habits[(bits ^ (bits >> 7)) % USM_OPENCL_HABITS];
}

static size_t items_of(const usm_launch *launch)
{
    return launch->range.global[0] * launch->range.global[1] * launch->range.global[2];
}

static int64_t elements_of(const usm_strided *strided)
{
    int64_t n = 1;
    for (int i = 0; i < strided->ndim; i++) {
        n *= strided->shape[i];
    }
    return n;
}

/* About how long copies and fills take on a slow device; the rest is quick beside what this is for. */
static int32_t cost_us(const usm_command *command)
{
    size_t nbytes = command->kind == USM_COMMAND_COPY   ? command->as.copy.nbytes
                    : command->kind == USM_COMMAND_FILL ? command->as.fill.nbytes
                                                        : 0;
    return nbytes > QUICK_BYTES ? QUICK_US + 1 : (int32_t)(nbytes / 2000) + 10;
}

static bool is_quick_alone(usm_opencl_event *event, const usm_command *command)
{
    switch (command->kind) {
        case USM_COMMAND_COPY:
        case USM_COMMAND_FILL:
            return true;
        case USM_COMMAND_STRIDED:
            return elements_of(command->as.strided) <= QUICK_ELEMENTS;
        case USM_COMMAND_SEQUENCE:
            return command->as.sequence.count <= QUICK_ELEMENTS;
        case USM_COMMAND_LAUNCH: {
            event->kernel = command->as.launch->kernel;
            event->items = items_of(command->as.launch);
            const usm_opencl_habit *habit = habit_of(event->event.queue, event->kernel);
            return atomic_load_explicit(&habit->kernel, memory_order_relaxed) == event->kernel &&
                   event->items <= atomic_load_explicit(&habit->items, memory_order_relaxed) &&
                   atomic_load_explicit(&habit->runs, memory_order_relaxed) >= QUICK_RUNS;
        }
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
            return true;
        case USM_COMMAND_PREFETCH:
        case USM_COMMAND_HOST:
            break;
    }
    return false;
}

bool usm_opencl_is_quick(usm_opencl_event *event, const usm_command *command, int32_t before_us)
{
    event->cost_us = before_us + cost_us(command);
    return is_quick_alone(event, command) && event->cost_us <= QUICK_US;
}

/*
 * Kernels are compared by address alone, and threads may write here at once: what is learnt may be wrong, and
 * then a wait is slower, or deaf to Ctrl-C for as long as the kernel runs, once.
 */
void usm_opencl_learn(const usm_opencl_event *event)
{
    if (event->kernel == NULL) {
        return;
    }
    usm_opencl_habit *habit = habit_of(event->event.queue, event->kernel);
    bool same = atomic_load_explicit(&habit->kernel, memory_order_relaxed) == event->kernel &&
                atomic_load_explicit(&habit->items, memory_order_relaxed) == event->items;
    if (event->ended_ns - event->enqueued_ns > QUICK_NS) { /* or it waited for others: then nothing is lost */
        if (same) {
            atomic_store_explicit(&habit->runs, 0, memory_order_relaxed);
        }
    } else if (same) {
        unsigned runs = atomic_load_explicit(&habit->runs, memory_order_relaxed);
        atomic_store_explicit(&habit->runs, runs < QUICK_RUNS ? runs + 1 : runs, memory_order_relaxed);
    } else {
        atomic_store_explicit(&habit->runs, 1, memory_order_relaxed);
        atomic_store_explicit(&habit->items, event->items, memory_order_relaxed);
        atomic_store_explicit(&habit->kernel, event->kernel, memory_order_relaxed);
    }
}
