/* The host backend: several queues at once, partitions, priorities, times, threads that come and go. */
#include "check.h"
#include "support.h"

#include "backends/host/host.h"
#include "core/builtin/kernel_command.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MS INT64_C(1000000)

/* From here on copies and fills are cut into pieces for several threads (csrc/cpu/block.c). */
#define LARGE ((size_t)4 << 20)
/* Several large commands at a time: one gets the helpers, the others do without. */
static void large_copies_of_several_queues(void)
{
    enum { QUEUES = 4 };
    size_t nbytes = 3 * LARGE + 123;
    usm_queue *queues[QUEUES];
    usm_alloc *src = new_alloc(nbytes), *dst[QUEUES];
    for (size_t i = 0; i < nbytes; i++) {
        ((char *)src->pointer)[i] = (char)(i * 31 + (i >> 12));
    }
    for (int i = 0; i < QUEUES; i++) {
        queues[i] = new_queue(i % 2);
        dst[i] = new_alloc(nbytes);
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < QUEUES; i++) {
            const usm_command command = {
                .kind = USM_COMMAND_COPY,
                .as.copy = {.dst = dst[i]->pointer, .src = src->pointer, .nbytes = nbytes}};
            const usm_access accesses[] = {{dst[i], USM_WRITE}, {src, USM_READ}};
            const usm_submission submission = {.command = &command, .accesses = accesses, .n_accesses = 2};
            usm_error error;
            memset(dst[i]->pointer, 0, nbytes);
            CHECK_OK(usm_queue_submit(queues[i], &submission, NULL, &error));
        }
        for (int i = 0; i < QUEUES; i++) {
            CHECK_EQ(wait_alloc(dst[i], USM_READ_WRITE), USM_OK);
            CHECK_SAME(dst[i]->pointer, src->pointer, nbytes);
        }
    }
    for (int i = 0; i < QUEUES; i++) {
        usm_alloc_release(dst[i]);
        usm_queue_release(queues[i]);
    }
    usm_alloc_release(src);
}

static void sequences(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *alloc = new_alloc(80000);
    usm_error error;
    for (int large = 0; large < 2; large++) {
        int64_t count = large ? 10000 : 1000;
        const usm_access access = {alloc, USM_WRITE};
        usm_command command = {.kind = USM_COMMAND_SEQUENCE};
        const usm_submission submission = {.command = &command, .accesses = &access, .n_accesses = 1};
        const usm_dtype dtypes[] = {USM_INT8,  USM_UINT8,  USM_INT16,  USM_UINT16,  USM_INT32,
                                    USM_INT64, USM_UINT64, USM_UINT32, USM_FLOAT32, USM_FLOAT64};
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
            command.as.sequence = (usm_sequence){.dst = alloc->pointer,
                                                 .count = count,
                                                 .dtype = dtypes[k],
                                                 .istart = -100,
                                                 .istep = 3,
                                                 .start = 0.1,
                                                 .step = 0.3,
                                                 .last = 12345.5,
                                                 .has_last = large};
            CHECK_OK(usm_command_submit(queue, &submission, NULL, &error));
            CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
            for (int64_t i = 0; i < count; i++) {
                uint64_t integer = (uint64_t)(-100 + 3 * i), got = 0;
                double real = large && i == count - 1 ? 12345.5 : 0.1 + (double)i * 0.3;
                int size = usm_dtype_table[dtypes[k]].itemsize;
                if (dtypes[k] == USM_FLOAT32) {
                    CHECK(((float *)alloc->pointer)[i] == (float)real);
                } else if (dtypes[k] == USM_FLOAT64) {
                    CHECK(((double *)alloc->pointer)[i] == real);
                } else {
                    memcpy(&got, (char *)alloc->pointer + i * size, (size_t)size);
                    CHECK_EQ(got, size == 8 ? integer : integer & ((UINT64_C(1) << (8 * size)) - 1));
                }
            }
        }
    }
    usm_alloc_release(alloc);
    usm_queue_release(queue);
}

/* Where a task may run, and how urgently. */
typedef struct whereabouts {
    cpu_set_t processors;
    int nice;
    usm_queue *submit_to; /* submits a task like itself, as its argument `next` */
    struct whereabouts *next;
    usm_event *event;
} whereabouts;

static usm_status look_around(void *argument, usm_error *error)
{
    whereabouts *here = argument;
    (void)error;
    CHECK_EQ(sched_getaffinity(0, sizeof here->processors, &here->processors), 0);
    here->nice = getpriority(PRIO_PROCESS, 0);
    if (here->submit_to != NULL) {
        here->event = submit_task(here->submit_to, look_around, here->next);
    }
    return USM_OK;
}

static usm_queue *queue_on(usm_device *device, usm_priority priority)
{
    const usm_queue_options options = {.in_order = true, .priority = priority};
    usm_error error;
    usm_place *place;
    usm_queue *queue;
    CHECK_OK(usm_context_place(host_place()->context, device, &place, &error));
    CHECK_OK(usm_queue_create(place, &options, &queue, &error));
    return queue;
}

static void tasks_of_a_partition_stay_in_it(void)
{
    usm_error error;
    usm_device **parts;
    size_t n;
    cpu_set_t all, seen;
    CPU_ZERO(&seen);
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CHECK_OK(usm_device_partition(host_device(), 1, &parts, &n, &error));
    for (size_t i = 0; i < n; i++) {
        usm_queue *queue = queue_on(parts[i], USM_PRIORITY_NORMAL), *root = new_queue(true);
        whereabouts outer = {.submit_to = root}, inner = {.submit_to = NULL};
        outer.next = &inner;
        expect_end(submit_task(queue, look_around, &outer), USM_EVENT_COMPLETE);
        expect_end(outer.event, USM_EVENT_COMPLETE);
        CHECK_EQ(CPU_COUNT(&outer.processors), 1);
        CPU_OR(&seen, &seen, &outer.processors);
        /* A thread that was started from there for another queue is not bound to it. */
        CHECK(CPU_EQUAL(&inner.processors, &all));
        usm_queue_release(queue);
        usm_queue_release(root);
    }
    CHECK(CPU_EQUAL(&seen, &all)); /* each processor in one of them */
    free(parts);
}

static void low_priority(void)
{
    usm_queue *low = queue_on(host_device(), USM_PRIORITY_LOW);
    usm_queue *normal = queue_on(host_device(), USM_PRIORITY_NORMAL);
    usm_queue *high = queue_on(host_device(), USM_PRIORITY_HIGH);
    int nice = getpriority(PRIO_PROCESS, 0);
    whereabouts here = {.submit_to = NULL};
    expect_end(submit_task(low, look_around, &here), USM_EVENT_COMPLETE);
    CHECK(here.nice > nice || nice > 9);
    expect_end(submit_task(normal, look_around, &here), USM_EVENT_COMPLETE);
    CHECK_EQ(here.nice, nice);
    expect_end(submit_task(high, look_around, &here), USM_EVENT_COMPLETE);
    CHECK_EQ(here.nice, nice);
    CHECK_EQ(getpriority(PRIO_PROCESS, 0), nice);
    usm_queue_release(low);
    usm_queue_release(normal);
    usm_queue_release(high);
}

/* Large copies of a queue of low priority ask for no helpers: those would stay slow for everybody. */
static void low_priority_starts_no_helpers(void)
{
    await_threads("usmpy-helper", 0);
    size_t nbytes = 4 * LARGE;
    usm_alloc *dst = new_alloc(nbytes), *src = new_alloc(nbytes);
    for (int low = 1; low >= 0; low--) {
        usm_queue *queue = queue_on(host_device(), low ? USM_PRIORITY_LOW : USM_PRIORITY_NORMAL);
        const usm_command command = {.kind = USM_COMMAND_COPY,
                                     .as.copy = {.dst = dst->pointer, .src = src->pointer, .nbytes = nbytes}};
        const usm_submission submission = {.command = &command};
        usm_error error;
        CHECK_OK(usm_queue_submit(queue, &submission, NULL, &error));
        CHECK_EQ(wait_queue(queue), USM_OK);
        await_rest();
        CHECK_EQ(threads_named("usmpy-helper") > 0, !low && host_device()->info.max_compute_units > 1);
        usm_queue_release(queue);
    }
    usm_alloc_release(dst);
    usm_alloc_release(src);
}

static void times(void)
{
    usm_queue *queue = new_profiling_queue(true), *other = new_queue(true);
    usm_error error;
    gate held = GATE_CLOSED;
    int64_t before = usm_clock_ns();
    usm_event *slow = submit_task(queue, task_gate, &held);
    usm_event *fails = submit_task(queue, task_fail, NULL);
    usm_event *heir = submit_after(queue, task_fail, NULL, fails, true);
    gate_await(&held, 1);
    gate_open(&held);
    CHECK_EQ(wait_queue(queue), USM_FAILED);
    usm_event *late = submit_after(queue, task_fail, NULL, fails, true);
    usm_event *now = submit_barrier(queue, NULL, 0);
    CHECK_EQ(wait_event(late), USM_FAILED);
    usm_event *events[] = {slow, fails, heir, late, now};
    for (int i = 0; i < 5; i++) {
        CHECK(events[i]->profiled);
        CHECK(before <= events[i]->submit_ns);
        CHECK(events[i]->submit_ns <= events[i]->start_ns);
        CHECK(events[i]->start_ns <= events[i]->end_ns);
        CHECK(i == 0 || events[i - 1]->submit_ns <= events[i]->submit_ns);
        CHECK(events[i]->end_ns <= usm_clock_ns());
    }
    for (int i = 0; i < 5; i++) {
        usm_event_release(events[i]);
    }
    usm_event *plain = submit_barrier(other, NULL, 0);
    CHECK(!plain->profiled);
    usm_event_release(plain);
    CHECK(usm_queues_drain(NULL, &error) == USM_OK);
    usm_queue_release(queue);
    usm_queue_release(other);
}

static void slow_times(void)
{
    usm_queue *queue = new_profiling_queue(true);
    gate held = GATE_CLOSED;
    usm_event *event = submit_task(queue, task_gate, &held);
    gate_await(&held, 1);
    int64_t running = usm_clock_ns();
    int64_t still = usm_clock_ns();
    gate_open(&held);
    CHECK_EQ(wait_event(event), USM_OK);
    CHECK(event->start_ns <= running && still <= event->end_ns);
    usm_event_release(event);
    usm_queue_release(queue);
}

/* The threads of a queue that was dropped end at once, whichever of them gave the last count back. */
static void threads_end_with_their_queue(void)
{
    await_threads("usmpy-queue", 0);
    for (int round = 0; round < 50; round++) {
        gate held = GATE_CLOSED;
        usm_queue *queue = new_queue(false);
        usm_event *a = submit_task(queue, task_gate, &held), *b = submit_task(queue, task_gate, &held);
        gate_await(&held, 2);
        gate_open(&held);
        expect_end(a, USM_EVENT_COMPLETE);
        if (round % 2 == 0) {
            usm_error error;
            /* The gate is this round's alone; and both threads are idle by then. */
            CHECK_OK(usm_event_wait_end(b, NULL, &error));
            await_rest();
            _Atomic int ran = 0;
            usm_event *last = submit_task(queue, task_count, &ran);
            usm_event_release(b);
            usm_queue_release(queue);
            expect_end(last, USM_EVENT_COMPLETE);
        } else {
            usm_queue_release(queue);
            expect_end(b, USM_EVENT_COMPLETE);
        }
    }
    expect_threads("usmpy-queue", 0);
}

/* Threads without work end after a while, and come back with the next task. */
static void idle_threads_end(void)
{
    usm_queue *ordered = new_queue(true), *unordered = new_queue(false);
    _Atomic int ran = 0;
    for (int round = 0; round < 2; round++) {
        gate held = GATE_CLOSED;
        usm_event *a = submit_task(unordered, task_gate, &held),
                  *b = submit_task(unordered, task_gate, &held);
        gate_await(&held, 2);
        gate_open(&held);
        expect_end(a, USM_EVENT_COMPLETE);
        expect_end(b, USM_EVENT_COMPLETE);
        expect_end(submit_task(ordered, task_count, &ran), USM_EVENT_COMPLETE);
        CHECK_EQ(threads_named("usmpy-queue"), 3);
        if (round == 0) {
            await_threads("usmpy-queue", 0);
            await_threads("usmpy-helper", 0);
        }
    }
    usm_queue_release(ordered);
    usm_queue_release(unordered);
}

int main(void)
{
    watchdog(600);
    host_place();
    RUN_SETTLED(large_copies_of_several_queues);
    RUN_SETTLED(sequences);
    RUN_SETTLED(tasks_of_a_partition_stay_in_it);
    RUN_SETTLED(low_priority);
    RUN_SETTLED(times);
    RUN_SETTLED(slow_times);
    RUN_SETTLED(threads_end_with_their_queue);
    RUN_SETTLED(idle_threads_end);
    RUN_SETTLED(low_priority_starts_no_helpers);
    return 0;
}
