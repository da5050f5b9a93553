#include "rule.h"

usm_status usm_refuse_after_fork(const usm_backend *backend, usm_error *error)
{
    return usm_error_set(error, USM_FORKED,
                         "%s was used before this process was forked, and drivers do not survive that; "
                         "start processes with multiprocessing's method 'spawn'",
                         backend->fork_guard->driver);
}

#ifdef USM_TESTING

#include <stdio.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#define GIL (1u << USM_LOCK_KINDS)

static bool (*is_attached)(void);

void usm_rule_set(bool (*hook)(void))
{
    is_attached = hook;
}

static void print_stack(void)
{
#ifdef __GLIBC__
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
#endif
}

void usm_rule_check(const char *entry)
{
    static const char *const names[] = {
        [USM_LOCK_REGISTRY] = "the registry lock", [USM_LOCK_QUEUE] = "a queue's lock",
        [USM_LOCK_HAZARD] = "a hazard stripe",     [USM_LOCK_LEAF] = "a leaf lock",
        [USM_LOCK_SPINLOCK] = "a spinlock stripe", [USM_LOCK_KINDS] = "the GIL",
    };
    unsigned held = usm_locks_held() | (is_attached != NULL && is_attached() ? GIL : 0);
    if (held == 0) {
        return;
    }
    (void)fprintf(stderr, "usmpy: %s may block, and is called with", entry);
    for (unsigned kind = 0; kind <= USM_LOCK_KINDS; kind++) {
        if ((held >> kind & 1) != 0) {
            (void)fprintf(stderr, " %s%s", names[kind], held >> (kind + 1) != 0 ? " and" : "\n");
        }
    }
    print_stack();
    abort();
}

#else
typedef int usm_no_rule; /* an empty translation unit is not C */
#endif
