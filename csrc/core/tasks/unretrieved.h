/*
 * Failures of a queue's tasks that no caller has asked for so far. When the queue ends, and when the process
 * does, what is left is reported once (docs/design.md, "Errors of work"). Only the failure path comes here.
 */
#ifndef USM_CORE_UNRETRIEVED_H
#define USM_CORE_UNRETRIEVED_H

#include "core/base/error.h"

/* All zeros at first. The queue's lock, or its last count, protects it. */
typedef struct usm_unretrieved {
    usm_failure *first; /* oldest first, linked by `next`; one count each */
    unsigned n;
    bool lost; /* there were further failures, which are not kept: a program that never asks must not grow */
} usm_unretrieved;

/*
 * Adds a failure. Left out are skipped tasks, whose cause is in a list or was retrieved; tasks that failed
 * because the process forked, which the parent runs; and usm_failure_no_memory, which stands for many.
 */
void usm_unretrieved_add(usm_unretrieved *list, USM_KEEPS usm_failure *failure);
/* Releases the failures that were retrieved meanwhile. */
void usm_unretrieved_prune(usm_unretrieved *list);
void usm_unretrieved_clear(usm_unretrieved *list);
/*
 * Empties the list. One report stands for all of it, since a lost device fails hundreds of tasks: that of the
 * oldest failure, with `n_reported`, and `reports_more` where some were lost. The report is deferred to a
 * thread that holds the GIL.
 */
void usm_unretrieved_report(usm_unretrieved *list);
/* The same for the failures of one interpreter's functions (`report.home`), which leave the list. */
void usm_unretrieved_report_of(usm_unretrieved *list, const usm_deferred_list *home);
/*
 * The end of a loan could not be recorded, or a driver did not take something back, and no caller can be
 * told: one report a status, whose `n_reported` is 0. Takes over what the error owns. Any thread, any lock.
 */
void usm_unretrieved_report_once(usm_error *error);
#ifdef USM_TESTING
/* The next error of each status is reported again. */
void usm_unretrieved_forget_reports(void);
#endif

/*
 * Runs a report: it gets the member `report` of the failure, and takes its count over. NULL, as at first:
 * nothing is reported.
 */
void usm_unretrieved_set_reporter(void (*reporter)(usm_deferred *report));

#endif
