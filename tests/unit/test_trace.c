/* Traces: windows of one log, tasks that outlive them, threads; what is held of drivers, and by whom. */
#include "check.h"
#include "support.h"

#include "core/base/names.h"
#include "core/memory/track.h"
#include "core/tasks/reclaim.h"
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
    CHECK_EQ(usm_queue_wait(queue, INT64_MAX, NULL, NULL, NULL), USM_OK);
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
        usm_trace_entry entry = usm_trace_entry_at(&list, i);
        CHECK_EQ(entry.record->what, USM_COMMAND_HOST);
        CHECK_EQ(entry.state, USM_EVENT_COMPLETE);
        CHECK_EQ(entry.segment->queue, queue->number);
        CHECK(counts.start_ns <= entry.submit_ns && entry.start_ns <= entry.end_ns);
        CHECK(i == 0 || list.places[i - 1].at < list.places[i].at);
    }
    CHECK_EQ(usm_trace_find(&list, list.places[3].at | USM_WAIT_EXPLICIT), 3);
    CHECK_EQ(usm_trace_find(&list, list.places[0].at - 1), list.n); /* the outer one's alone */
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
    CHECK_EQ(usm_trace_entry_at(&list, 0).state, USM_EVENT_SUBMITTED);
    CHECK_EQ(usm_trace_entry_at(&list, 0).end_ns, 0);
    usm_trace_list_free(&list);
    usm_trace_free(trace);
    gate_open(&held);
    CHECK_EQ(usm_event_wait(event, INT64_MAX, NULL, NULL, NULL), USM_OK);
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
    CHECK_EQ(usm_queue_wait(queue, INT64_MAX, NULL, NULL, NULL), USM_OK);
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
            CHECK_EQ(usm_trace_entry_at(&list, k).record->what, USM_COMMAND_HOST);
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

/* More than a segment holds, and more words than a record: all of it is read again. */
static void much(void)
{
    enum { TASKS = 3 * USM_SEGMENT_SLOTS, WIDE = 100 };
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
    CHECK_EQ(usm_event_wait(last, INT64_MAX, NULL, NULL, NULL), USM_OK);
    usm_trace_list list = read_all(trace);
    CHECK_EQ(list.n, TASKS + WIDE + 1);
    CHECK_EQ(usm_trace_count(trace).dropped, 0);
    for (size_t i = 0; i < list.n; i++) {
        usm_trace_entry entry = usm_trace_entry_at(&list, i);
        CHECK_EQ(entry.state, USM_EVENT_COMPLETE);
        CHECK_EQ(entry.record->what, i < TASKS + WIDE ? USM_COMMAND_HOST : USM_COMMAND_BARRIER);
    }
    const usm_record *wide = list.places[list.n - 1].record;
    CHECK(wide->n_waits >= WIDE);
    for (size_t i = 0; i < WIDE; i++) {
        uint32_t word = usm_record_words(wide)[i];
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

static void names(void)
{
    char text[32];
    uint32_t numbers[200];
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "name %d", i);
        numbers[i] = usm_name_number(text);
    }
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof text, "name %d", i);
        CHECK_EQ(usm_name_number(text), numbers[i]);
        CHECK(strcmp(usm_name_text(numbers[i]), text) == 0);
    }
    CHECK(usm_name_text(0) == NULL);
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
    watchdog(60);
    RUN_SETTLED(windows);
    RUN_SETTLED(tasks_outlive_their_trace);
    RUN_SETTLED(many_threads);
    RUN_SETTLED(much);
    RUN_SETTLED(names);
    RUN_SETTLED(what_is_held);
    RUN_SETTLED(who_has_it);
    return 0;
}
