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
        case USM_COMMAND_LAUNCH: {
            event->kernel = command->as.launch->kernel;
            event->items = usm_range_items(&command->as.launch->range);
            return usm_habit_is_quick(&usm_opencl_queue_of(event->event.queue)->habits, event->kernel,
                                      event->items);
        }
        case USM_COMMAND_BARRIER:
        case USM_COMMAND_MARKER:
            return true;
        case USM_COMMAND_SEQUENCE:
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

/* What took long may have waited for others: then nothing is lost. */
void usm_opencl_learn(const usm_opencl_event *event)
{
    if (event->kernel != NULL) {
        usm_habit_learn(&usm_opencl_queue_of(event->event.queue)->habits, event->kernel, event->items,
                        event->ended_ns - event->enqueued_ns <= QUICK_NS);
    }
}
