#include "unretrieved.h"

/* Of one queue. */
#define MOST 32

static _Atomic(void (*)(usm_deferred *)) reporter;

static bool is_reportable(const usm_failure *failure)
{
    return failure->cause == NULL && failure->status != USM_FORKED && failure != usm_failure_no_memory();
}

void usm_unretrieved_add(usm_unretrieved *list, usm_failure *failure)
{
    usm_failure **end = &list->first;
    if (!is_reportable(failure) || atomic_exchange(&failure->listed, true)) {
        return;
    }
    usm_unretrieved_prune(list);
    if (list->n == MOST) {
        list->lost = true;
        return;
    }
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = usm_failure_retain(failure);
    list->n++;
}

void usm_unretrieved_prune(usm_unretrieved *list)
{
    for (usm_failure **at = &list->first; *at != NULL;) {
        usm_failure *failure = *at;
        if (usm_failure_is_retrieved(failure)) {
            *at = failure->next;
            list->n--;
            usm_failure_release(failure);
        } else {
            at = &failure->next;
        }
    }
}

void usm_unretrieved_clear(usm_unretrieved *list)
{
    for (usm_failure *failure = list->first, *next; failure != NULL; failure = next) {
        next = failure->next;
        usm_failure_release(failure);
    }
    *list = (usm_unretrieved){NULL, 0, false};
}

static void push(USM_TAKES usm_failure *failure, void (*run)(usm_deferred *))
{
    failure->report.run = run;
    if (failure->report.home == NULL && usm_deferred_has_many()) { /* a driver's: of no interpreter */
        failure->report.home = usm_deferred_ask_here(false);
    }
    usm_deferred_push(&failure->report);
}

static _Atomic uint64_t reported; /* by usm_unretrieved_report_once: a bit a status */

#ifdef USM_TESTING
void usm_unretrieved_forget_reports(void)
{
    atomic_store(&reported, 0);
}
#endif

void usm_unretrieved_report_once(usm_error *error)
{
    uint64_t bit = UINT64_C(1) << error->status;
    void (*run)(usm_deferred *) = atomic_load_explicit(&reporter, memory_order_acquire);
    if (run == NULL || (atomic_fetch_or(&reported, bit) & bit) != 0) {
        usm_error_clear(error);
        return;
    }
    push(usm_failure_take(error), run);
}

void usm_unretrieved_report(usm_unretrieved *list)
{
    usm_unretrieved_prune(list);
    usm_failure *failure = list->first;
    void (*run)(usm_deferred *) = atomic_load_explicit(&reporter, memory_order_acquire);
    if (failure != NULL && run != NULL) {
        failure->n_reported = list->n;
        failure->reports_more = list->lost;
        push(usm_failure_retain(failure), run);
    }
    usm_unretrieved_clear(list);
}

void usm_unretrieved_report_of(usm_unretrieved *list, const usm_deferred_list *home)
{
    usm_unretrieved found = {NULL, 0, list->lost};
    usm_failure **end = &found.first;
    for (usm_failure **at = &list->first; *at != NULL;) {
        usm_failure *failure = *at;
        if (failure->report.home == home) {
            *at = failure->next;
            list->n--;
            failure->next = NULL;
            *end = failure;
            end = &failure->next;
            found.n++;
        } else {
            at = &failure->next;
        }
    }
    usm_unretrieved_report(&found);
}

void usm_unretrieved_set_reporter(void (*function)(usm_deferred *report))
{
    atomic_store_explicit(&reporter, function, memory_order_release);
}
