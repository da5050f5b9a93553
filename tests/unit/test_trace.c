/* Traces: windows of one log, tasks that outlive them, threads; what is held of drivers, and by whom. */
#include "check.h"
#include "support.h"

#include "core/memory/reclaim.h"
#include "core/memory/track.h"
#include "core/trace/trace.h"

#include <stdlib.h>

#define THREADS 4

static usm_trace *start(size_t limit)
{
    usm_trace *trace = NULL;
    usm_error error;
    CHECK_EQ(usm_trace_start(limit, &trace, &error), USM_OK);
    return trace;
}

static usm_trace_list read_all(usm_trace *trace)
{
    usm_trace_list list;
    usm_error error;
    CHECK_EQ(usm_trace_read(trace, &list, &error), USM_OK);
    return list;
}

static void windows(void)
{
    usm_queue *queue = new_queue(true);
    int ran = 0;
    CHECK(!usm_trace_is_on());
    usm_trace *outer = start(3);
    usm_event_release(submit_task(queue, task_count, &ran));
    usm_trace *inner = start(100);
    for (int i = 0; i < 4; i++) {
        usm_event_release(submit_task(queue, task_count, &ran));
    }
    usm_trace_stop(outer);
    CHECK(usm_trace_is_on());
    usm_event_release(submit_task(queue, task_count, &ran));
    usm_trace_stop(inner);
    CHECK(!usm_trace_is_on());
    CHECK_EQ(usm_queue_wait(queue, NULL, NULL), USM_OK);
    usm_trace_counts counts = usm_trace_count(outer);
    CHECK_EQ(counts.n, 3);
    CHECK_EQ(counts.dropped, 2);
    CHECK_EQ(counts.pending, 0);
    counts = usm_trace_count(inner);
    CHECK_EQ(counts.n, 5);
    CHECK_EQ(counts.dropped, 0);
    usm_trace_free(outer);
    usm_trace_list list = read_all(inner);
    CHECK_EQ(list.n, 5);
    for (size_t i = 0; i < list.n; i++) {
        const usm_record *record = &list.records[i];
        CHECK_EQ(record->what, USM_COMMAND_HOST);
        CHECK_EQ(record->state, USM_EVENT_COMPLETE);
        CHECK_EQ(record->queue, queue->number);
        CHECK(counts.start_ns <= record->submit_ns && record->start_ns <= record->end_ns);
        CHECK(i == 0 || list.records[i - 1].order < record->order);
    }
    uint32_t first = (uint32_t)(list.records[0].order - list.first);
    uint32_t fourth = (uint32_t)(list.records[3].order - list.first);
    CHECK_EQ(usm_trace_find(&list, fourth | USM_WAIT_EXPLICIT), 3);
    CHECK_EQ(usm_trace_find(&list, first - 1), list.n); /* the outer one's alone */
    usm_trace_list_free(&list);
    usm_trace_free(inner);
    usm_queue_release(queue);
}

static void tasks_outlive_their_trace(void)
{
    usm_queue *queue = new_queue(true);
    gate held = GATE_CLOSED;
    usm_trace *trace = start(10);
    usm_event *event = submit_task(queue, task_gate, &held);
    usm_trace_stop(trace);
    CHECK_EQ(usm_trace_count(trace).pending, 1);
    usm_trace_list list = read_all(trace);
    CHECK_EQ(list.records[0].state, USM_EVENT_SUBMITTED);
    CHECK_EQ(list.records[0].end_ns, 0);
    usm_trace_list_free(&list);
    usm_trace_free(trace);
    gate_open(&held);
    CHECK_EQ(usm_event_wait(event, NULL, NULL), USM_OK);
    usm_event_release(event);
    usm_queue_release(queue);
}

static void *submit_many(void *argument)
{
    usm_queue *queue = new_queue(true);
    int ran = 0;
    for (int i = 0; i < (int)scaled(200); i++) {
        usm_event_release(submit_task(queue, task_count, &ran));
    }
    CHECK_EQ(usm_queue_wait(queue, NULL, NULL), USM_OK);
    usm_queue_release(queue);
    return argument;
}

/* Traces come, are read while tasks end, and go. */
static void *trace_many(void *argument)
{
    for (int i = 0; i < (int)scaled(60); i++) {
        usm_trace *trace = start(50);
        usm_trace_list list = read_all(trace);
        for (size_t k = list.n; k-- > 0;) {
            CHECK_EQ(list.records[k].what, USM_COMMAND_HOST);
        }
        usm_trace_list_free(&list);
        usm_trace_free(trace);
    }
    return argument;
}

static void many_threads(void)
{
    pthread_t threads[2 * THREADS];
    for (int i = 0; i < 2 * THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, i < THREADS ? submit_many : trace_many, NULL), 0);
    }
    for (int i = 0; i < 2 * THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(!usm_trace_is_on());
}

/* More than the log has room for at first, and a task with many waits: all of it is read again. */
static void much(void)
{
    enum { TASKS = 3000, WIDE = 100 };
    usm_queue *queue = new_queue(true), *other = new_queue(false);
    usm_event *events[WIDE];
    usm_event *last;
    usm_error error;
    int ran = 0;
    usm_wait waits[WIDE];
    usm_trace *trace = start(TASKS + WIDE + 1);
    for (int i = 0; i < TASKS; i++) {
        usm_event_release(submit_task(queue, task_count, &ran));
    }
    for (int i = 0; i < WIDE; i++) {
        events[i] = submit_task(queue, task_count, &ran);
        waits[i] = (usm_wait){events[i], true};
    }
    const usm_command barrier = {.kind = USM_COMMAND_BARRIER};
    const usm_submission submission = {.command = &barrier, .waits = waits, .n_waits = WIDE};
    CHECK_EQ(usm_queue_submit(other, &submission, &last, &error), USM_OK);
    CHECK_EQ(usm_event_wait(last, NULL, NULL), USM_OK);
    usm_trace_list list = read_all(trace);
    CHECK_EQ(list.n, TASKS + WIDE + 1);
    CHECK_EQ(usm_trace_count(trace).dropped, 0);
    for (size_t i = 0; i < list.n; i++) {
        CHECK_EQ(list.records[i].state, USM_EVENT_COMPLETE);
        CHECK_EQ(list.records[i].what, i < TASKS + WIDE ? USM_COMMAND_HOST : USM_COMMAND_BARRIER);
    }
    const usm_record *wide = &list.records[list.n - 1];
    CHECK(wide->n_waits >= WIDE);
    for (size_t i = 0; i < WIDE; i++) {
        uint32_t word = list.words[wide->first_word + i];
        CHECK(word & USM_WAIT_EXPLICIT);
        CHECK_EQ(usm_trace_find(&list, word), TASKS + i);
    }
    usm_trace_list_free(&list);
    usm_trace_free(trace);
    for (int i = 0; i < WIDE; i++) {
        usm_event_release(events[i]);
    }
    usm_event_release(last);
    usm_queue_release(queue);
    usm_queue_release(other);
}

/* Each name is kept once, and outlives the text that was given. */
static void names(void)
{
    usm_queue *queue = new_queue(true);
    usm_error error;
    int ran = 0;
    char text[32];
    usm_trace *trace = start(400);
    for (int i = 0; i < 400; i++) {
        snprintf(text, sizeof text, "name %d", i % 200);
        const usm_command command = {.kind = USM_COMMAND_HOST, .as.host = {task_count, &ran}};
        const usm_submission submission = {.command = &command, .name = text};
        CHECK_EQ(usm_queue_submit(queue, &submission, NULL, &error), USM_OK);
    }
    CHECK_EQ(usm_queue_wait(queue, NULL, NULL), USM_OK);
    usm_trace_list list = read_all(trace);
    CHECK_EQ(list.n, 400);
    usm_trace_free(trace);
    for (int i = 0; i < 400; i++) {
        snprintf(text, sizeof text, "name %d", i % 200);
        CHECK(strcmp(list.records[i].name, text) == 0);
        CHECK(list.records[i].name == list.records[i % 200].name);
    }
    usm_trace_list_free(&list);
    usm_queue_release(queue);
}

static void what_is_held(void)
{
    usm_place *place = host_place();
    usm_reclaim_place(place);
    size_t before = atomic_load(&place->held);
    usm_alloc *a = new_alloc(3 << 20), *b = new_alloc(1000);
    CHECK(atomic_load(&place->held) >= before + (3 << 20) + 1000);
    usm_alloc_release(a);
    usm_alloc_release(b);
    CHECK(usm_reclaim_place(place) >= 1000);
    CHECK_EQ(atomic_load(&place->held), before);
}

static char *here(void)
{
    return strdup("here");
}

static void who_has_it(void)
{
    usm_tracked_info *list;
    usm_error error;
    size_t n;
    usm_track_set_place(here);
    usm_track_set(true);
    usm_alloc *a = new_alloc(100), *b = new_alloc(200);
    usm_track_set(false);
    usm_alloc *c = new_alloc(300);
    CHECK_EQ(usm_track_list(&list, &n, &error), USM_OK);
    CHECK_EQ(n, 2);
    CHECK(list[0].pointer == a->pointer && list[1].pointer == b->pointer);
    CHECK(strcmp(list[1].where, "here") == 0);
    usm_track_list_free(list, n);
    usm_alloc_release(a);
    usm_alloc_release(b);
    usm_alloc_release(c);
    CHECK_EQ(usm_track_list(&list, &n, &error), USM_OK);
    CHECK_EQ(n, 0);
    usm_track_list_free(list, n);
    usm_track_set_place(NULL);
}

int main(void)
{
    watchdog(600);
    RUN_SETTLED(windows);
    RUN_SETTLED(tasks_outlive_their_trace);
    RUN_SETTLED(many_threads);
    RUN_SETTLED(much);
    RUN_SETTLED(names);
    RUN_SETTLED(what_is_held);
    RUN_SETTLED(who_has_it);
    return 0;
}
