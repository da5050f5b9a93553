/*
 * How a thread waits for what is over in a moment. Most drivers put a thread to sleep that waits, and waking
 * it takes longer than the task; Intel's has it take part in the work, which its own threads have begun by
 * then. So first it looks for itself, and leaves the processor to the driver's threads in between.
 */
#include "opencl.h"

#include <sched.h>

/*
 * How a thread looks. On a processor every look takes locks that the driver's threads want, and behind the
 * end of a task those have something left to do: who is at the next one by then meets them everywhere, and
 * all take up to three times as long. Measured: benchmarks/README.md.
 */
typedef struct pace {
    int64_t longest_ns, between_ns, behind_ns;
} pace;

static const pace where_waits_help = {15000, 0, 500};
static const pace where_waits_sleep = {100000, 2000, 500};
static const pace of_other_devices = {100000, 0, 0};

/* Where others want the processor, they have it for long: so many waits are then the driver's at once. */
#define LONG_NS 50000
#define SHY_WAITS 100
/* After so many looks without an end in a row, so many waits are the driver's at once. */
#define MOST_MISSES 4
#define MISSED_WAITS 100

cl_int usm_opencl_ask_status(const usm_opencl_event *event)
{
    const usm_opencl_api *api = usm_opencl_context_of(event->event.queue->context)->platform->api;
    cl_int status = CL_QUEUED;
    cl_int code = api->clGetEventInfo(atomic_load_explicit(&event->id, memory_order_relaxed),
                                      CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return code == CL_SUCCESS ? status : code;
}

static usm_opencl_looks *looks_of(const usm_opencl_event *event)
{
    return &usm_opencl_queue_of(event->event.queue)->looks[usm_habit_place(event->kernel)];
}

static size_t size_of(const usm_opencl_event *event)
{
    return event->kernel != NULL ? event->items : (size_t)event->cost_us;
}

/* Any thread: what is lost between two of them is a look more or less. */
static bool is_worth_a_look(const usm_opencl_event *event)
{
    usm_opencl_looks *looks = looks_of(event);
    if (atomic_load_explicit(&looks->misses, memory_order_relaxed) < MOST_MISSES ||
        size_of(event) < atomic_load_explicit(&looks->size, memory_order_relaxed)) {
        return true;
    }
    unsigned waits = atomic_load_explicit(&looks->waits, memory_order_relaxed);
    atomic_store_explicit(&looks->waits, (waits + 1) % MISSED_WAITS, memory_order_relaxed);
    return waits + 1 == MISSED_WAITS;
}

static void learn(const usm_opencl_event *event, bool ended)
{
    usm_opencl_looks *looks = looks_of(event);
    unsigned misses = atomic_load_explicit(&looks->misses, memory_order_relaxed);
    size_t size = atomic_load_explicit(&looks->size, memory_order_relaxed);
    if (misses == 0 && ended) {
        return;
    }
    if (ended && size_of(event) >= size) {
        atomic_store_explicit(&looks->misses, 0, memory_order_relaxed);
    } else if (!ended) {
        if (misses == 0 || size_of(event) < size) {
            atomic_store_explicit(&looks->size, size_of(event), memory_order_relaxed);
        }
        atomic_store_explicit(&looks->misses, misses < MOST_MISSES ? misses + 1 : misses,
                              memory_order_relaxed);
    }
}

static void leave_alone(int64_t ns)
{
    for (int64_t until = usm_clock_ns() + ns; usm_clock_ns() < until;) {
    }
}

/* True once it has ended. */
static bool look_for_end(const usm_opencl_event *event, const pace *pace, bool *complete)
{
    _Atomic int *shy = &usm_opencl_context_of(event->event.queue->context)->platform->shy;
    int left = atomic_load_explicit(shy, memory_order_relaxed);
    if (left > 0) {
        atomic_store_explicit(shy, left - 1, memory_order_relaxed);
        return false;
    }
    if (!is_worth_a_look(event)) {
        return false;
    }
    for (int64_t first = 0, last = 0;;) {
        cl_int status = usm_opencl_ask_status(event);
        int64_t now = usm_clock_ns();
        first = first != 0 ? first : now;
        if (last != 0 && now - last > LONG_NS) {
            atomic_store_explicit(shy, SHY_WAITS, memory_order_relaxed);
        }
        if (status <= CL_COMPLETE || now - first > pace->longest_ns) {
            *complete = status == CL_COMPLETE;
            learn(event, status <= CL_COMPLETE);
            if (*complete && last != 0) { /* just now */
                leave_alone(pace->behind_ns);
            }
            return status <= CL_COMPLETE;
        }
        last = now;
        sched_yield();
        leave_alone(pace->between_ns);
    }
}

/*
 * Intel's runtime has threads that wait take part in the work, as guests of its own few; where several wait
 * at once, they may all sleep on each other for good. So one at a time does; false for the others.
 */
bool usm_opencl_wait(const usm_opencl_event *event, cl_event id, bool *complete)
{
    const usm_queue *queue = event->event.queue;
    const usm_opencl_context *context = usm_opencl_context_of(queue->context);
    usm_opencl_platform *platform = context->platform;
    bool is_cpu = queue->device->type == USM_CPU;
    bool helps = is_cpu && context->memory == USM_OPENCL_INTEL_USM;
    const pace *pace = helps ? &where_waits_help : is_cpu ? &where_waits_sleep : &of_other_devices;
    if (look_for_end(event, pace, complete)) {
        return true;
    }
    if (helps && atomic_exchange_explicit(&platform->joined, true, memory_order_acquire)) {
        return false;
    }
    *complete = platform->api->clWaitForEvents(1, &id) == CL_SUCCESS;
    if (helps) {
        atomic_store_explicit(&platform->joined, false, memory_order_release);
    }
    return true;
}
