/* Unretrieved failures: which are reported, when, and how often. */
#include "check.h"
#include "support.h"

#include "core/base/deferred.h"
#include "core/tasks/unretrieved.h"

/* Of the reports that were run. */
static struct {
    int reports;
    unsigned tasks;
    bool more;
    usm_status status;
    int code;
} seen;

static void note_report(usm_deferred *node)
{
    usm_failure *failure = (usm_failure *)((char *)node - offsetof(usm_failure, report));
    seen.reports++;
    seen.tasks = failure->n_reported;
    seen.more = failure->reports_more;
    seen.status = failure->status;
    seen.code = failure->code;
    usm_failure_release(failure);
}

/* Waits for this number of reports since the last call, and checks that no more follow. */
static void expect_reports(int reports)
{
    while (seen.reports < reports) { /* the watchdog ends it */
        usm_deferred_drain(&usm_deferred_main);
        sleep_ms(1);
    }
    run_another_task();
    usm_deferred_drain(&usm_deferred_main);
    CHECK_EQ(seen.reports, reports);
    seen.reports = 0;
}

static void end_of(usm_event *event)
{
    usm_error error;
    CHECK_OK(usm_event_wait_end(event, NULL, &error));
}

static void the_queue_reports_when_it_ends(void)
{
    usm_queue *queue = new_queue(true);
    usm_event *event = submit_task(queue, task_fail, NULL);
    end_of(event);
    expect_reports(0);
    usm_queue_release(queue);
    expect_reports(0); /* the event may still be asked */
    usm_event_release(event);
    expect_reports(1);
    CHECK_EQ(seen.tasks, 1);
    CHECK(!seen.more);
    CHECK_EQ(seen.status, USM_DRIVER);
    CHECK_EQ(seen.code, 42);
}

static void work_that_outlives_its_queue_is_reported(void)
{
    gate held = GATE_CLOSED;
    usm_queue *queue = new_queue(false);
    usm_event_release(submit_task(queue, task_fail, &held));
    usm_queue_release(queue);
    expect_reports(0);
    gate_open(&held);
    expect_reports(1);
}

static void what_was_asked_for_is_not_reported(void)
{
    usm_queue *queue = new_queue(true), *other = new_queue(true);
    usm_alloc *alloc = new_alloc(16);
    usm_event_release(submit_task(queue, task_fail, NULL));
    CHECK_EQ(wait_queue(queue), USM_FAILED);
    usm_event *event = submit_task(queue, task_fail, NULL);
    CHECK_EQ(wait_event(event), USM_FAILED);
    usm_event_release(event);
    usm_event_release(submit_access(queue, task_fail, NULL, alloc, USM_WRITE));
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_FAILED);
    event = submit_task(queue, task_fail, NULL); /* its skipped successor tells of it */
    usm_event *skipped = submit_after(other, task_fail, NULL, event, true);
    CHECK_EQ(wait_event(skipped), USM_FAILED);
    usm_event_release(skipped);
    usm_event_release(event);
    event = submit_task(queue, task_fail, NULL);
    end_of(event);
    usm_failure_cover(event->failure);
    CHECK_EQ(wait_event(event), USM_FAILED); /* as before */
    usm_event_release(event);
    usm_queue_release(queue);
    usm_queue_release(other);
    usm_alloc_release(alloc);
    expect_reports(0);
}

static void a_look_at_the_memory_asks_for_nothing(void)
{
    usm_queue *queue = new_queue(true);
    usm_alloc *alloc = new_alloc(16);
    usm_error error;
    usm_event_release(submit_access(queue, task_fail, NULL, alloc, USM_WRITE));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(usm_alloc_wait(alloc, USM_READ, false, NULL, &error), USM_FAILED);
        usm_error_clear(&error);
    }
    usm_queue_release(queue);
    expect_reports(1);
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_FAILED); /* a report does not make the memory good */
    CHECK_EQ(wait_alloc(alloc, USM_READ), USM_OK);
    CHECK_OK(usm_alloc_wait(alloc, USM_READ, false, NULL, &error));
    usm_alloc_release(alloc);
}

static void skipped_work_is_not_reported(void)
{
    for (int told = 0; told < 2; told++) {
        usm_queue *queue = new_queue(true), *other = new_queue(true);
        usm_event *failed = submit_task(queue, task_fail, NULL);
        usm_event *skipped = submit_after(other, task_fail, NULL, failed, true);
        end_of(skipped);
        if (told) {
            CHECK_EQ(wait_event(failed), USM_FAILED);
            usm_event_release(submit_after(other, task_fail, NULL, failed, true)); /* skipped at once */
        }
        usm_event_release(skipped);
        usm_event_release(failed);
        usm_queue_release(other);
        usm_queue_release(queue);
        expect_reports(told ? 0 : 1);
    }
}

static void many_failures_are_one_report(void)
{
    static const struct {
        int tasks, asked;
        unsigned reported;
        bool more;
    } cases[] = {{3, 1, 2, false}, {32, 0, 32, false}, {33, 0, 32, true}, {200, 40, 32, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        usm_queue *queue = new_queue(true);
        for (int k = 0; k < cases[i].tasks; k++) {
            usm_event *event = submit_task(queue, task_fail, NULL);
            if (k < cases[i].asked) {
                CHECK_EQ(wait_event(event), USM_FAILED);
            }
            usm_event_release(event);
        }
        usm_queue_release(queue);
        expect_reports(1);
        CHECK_EQ(seen.tasks, cases[i].reported);
        CHECK_EQ(seen.more, cases[i].more);
    }
}

static void all_queues_report_at_the_exit(void)
{
    usm_queue *queue = new_queue(true), *other = new_queue(false);
    usm_event *event = submit_task(queue, task_fail, NULL);
    usm_event_release(submit_task(other, task_fail, NULL));
    usm_error error;
    CHECK_OK(usm_queues_drain(NULL, &error));
    usm_queues_report(NULL);
    expect_reports(2);
    usm_queues_report(NULL);
    CHECK_EQ(wait_event(event), USM_FAILED); /* a report is no answer */
    usm_event_release(event);
    usm_queue_release(queue);
    usm_queue_release(other);
    expect_reports(0);
}

/* Reports from queues that end on all threads at once, while their failures are asked for. */
static void *make_failures(void *argument)
{
    for (long i = 0; i < scaled(300); i++) {
        usm_queue *queue = new_queue(i % 2 == 0);
        usm_event *event = submit_task(queue, task_fail, NULL);
        usm_event_release(submit_task(queue, task_fail, NULL));
        usm_queue_release(queue);
        if (i % 3 == 0) {
            CHECK_EQ(wait_event(event), USM_FAILED);
        } else if (i % 3 == 1) {
            usm_queues_report(NULL);
        }
        usm_event_release(event);
    }
    return argument;
}

static void threads(void)
{
    enum { THREADS = 4 };
    in_threads(THREADS, make_failures, NULL, 0);
    while (live_now().counts[USM_LIVE_QUEUE] > 0) {
        sleep_ms(1);
    }
    usm_deferred_drain(&usm_deferred_main);
    CHECK(seen.reports >= THREADS * scaled(300)); /* usm_queues_report may tell of a queue twice */
    seen.reports = 0;
}

/* Of failures that no task has. */
static void each_kind_of_failure_is_reported_once(void)
{
    static const usm_status kinds[] = {USM_DRIVER, USM_MEMORY, USM_DRIVER, USM_MEMORY};
    usm_error error;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        (void)usm_error_set(&error, kinds[i], "a failure");
        usm_unretrieved_report_once(&error);
        expect_reports(i < 2 ? 1 : 0);
    }
}

int main(void)
{
    watchdog(600);
    usm_unretrieved_set_reporter(note_report);
    RUN_SETTLED(the_queue_reports_when_it_ends);
    RUN_SETTLED(work_that_outlives_its_queue_is_reported);
    RUN_SETTLED(what_was_asked_for_is_not_reported);
    RUN_SETTLED(a_look_at_the_memory_asks_for_nothing);
    RUN_SETTLED(skipped_work_is_not_reported);
    RUN_SETTLED(many_failures_are_one_report);
    RUN_SETTLED(all_queues_report_at_the_exit);
    RUN_SETTLED(each_kind_of_failure_is_reported_once);
    RUN_SETTLED(threads);
    return 0;
}
